#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_faults.sh - allocations and copies fail, one after the other, on a kernel with fault injection; then the module goes
. "${SRC:?}/kernel-nal/test/g_lib.sh"
[ -d /sys/kernel/debug/failslab ] || skip_all "no fault injection in this kernel"
tap faults 900 "$(prog kernel-nal/test/faults)" "$KO"
kmod rmmod portals_gp
ok $? "the module is unloaded"
echo 1 > /proc/sys/vm/stat_refresh
awk '/^nr_foll_pin_/ { n[$1] = $2 } END { got = n["nr_foll_pin_acquired"]; given = n["nr_foll_pin_released"]
	print "# pages that were pinned: " got ", given back: " given; exit !(got > 100 && got == given) }' /proc/vmstat
ok $? "and no page is pinned"
kernel_finish

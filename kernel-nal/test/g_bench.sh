#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_bench.sh - figures of an interface in the kernel, as ratios, and their limits
. "${SRC:?}/kernel-nal/test/g_lib.sh"
kmod insmod "$KO"
ok $? "the module is loaded"
export PTL_KERNEL=yes
tap bench 120 "$multi" -n 2 "$(prog kernel-nal/test/bench)"
kmod rmmod portals_gp
ok $? "the module is unloaded"
kernel_finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_api.sh [long] - the API suite on an interface in the kernel, by two ranks; the conformance scripts; then
# the module goes
. "${SRC:?}/kernel-nal/test/g_lib.sh"
kmod insmod "$KO"
ok $? "the module is loaded"
export PTL_KERNEL=yes
short="t_put t_match t_get t_iovec t_eq t_atomic t_rules t_swap t_wild t_init"
long="t_update t_bad t_again t_fork t_waiters t_exit t_told t_polled"
for t in $short ${1:+$long}; do
	tap "$t" 300 "$multi" -n 2 "$(prog tests/api/$t)"
done
if [ -n "$1" ]; then
	for t in t_put t_init t_fork; do
		tap "$t alone" 120 "$(prog tests/api/$t)"
	done
	tap "t_put by 4" 120 "$multi" -n 4 "$(prog tests/api/t_put)"
	T_PATH=kernel P3_SRC=$SRC
	export T_PATH P3_SRC
	tap conform 300 "$multi" -n 2 "$(prog tests/conform/t_conform)"
fi
kmod rmmod portals_gp
ok $? "the module is unloaded"
kernel_finish

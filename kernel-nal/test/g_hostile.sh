#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_hostile.sh [long] - bad input, death and vanishing memory; then nothing is left, and the module can go
. "${SRC:?}/kernel-nal/test/g_lib.sh"
kmod insmod "$KO" netdev=lo
ok $? "the module is loaded"
chmod 666 /dev/portals
HOSTILE_SECONDS=${1:+60}
export HOSTILE_SECONDS=${HOSTILE_SECONDS:-4}
tap hostile 400 "$(prog kernel-nal/test/hostile)"
tap eth_hostile 400 "$(prog kernel-nal/test/eth_hostile)"
tap eth_edge 200 "$(prog kernel-nal/test/eth_edge)"
exec 9< /dev/portals
PTL_KERNEL=yes timeout 100 "$multi" -n 2 "$(prog tests/api/t_put)" > said 2>&1 9<&- &
job=$! tries=0 went=0
while kill -0 $job 2> /dev/null; do
	kmod rmmod portals_gp 2> /dev/null && went=1
	tries=$((tries + 1))
done
wait $job && [ $tries -gt 3 ] && [ $went = 0 ]
ok $? "it cannot be unloaded while somebody has it ($tries times, during a job)"
exec 9<&-
kmod rmmod portals_gp
ok $? "the module is unloaded"
echo 1 > /proc/sys/vm/stat_refresh	# each processor has counts of its own, which are added up now and then
awk '/^nr_foll_pin_/ { n[$1] = $2 } END { got = n["nr_foll_pin_acquired"]; given = n["nr_foll_pin_released"]
	print "# pages that were pinned: " got ", given back: " given; exit !(got > 100 && got == given) }' /proc/vmstat
ok $? "and no page is pinned"
for i in 1 2 3 4 5; do
	kmod insmod "$KO" && PTL_KERNEL=yes timeout 30 "$(prog tests/api/t_init)" > out 2>&1 &&
		kmod rmmod portals_gp || break
done
ok $([ "$i" = 5 ]; echo $?) "loaded, used and unloaded five times"
kernel_finish

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_eth.sh [long] - interfaces in the kernel on several (virtual) nodes of one machine: frames by Ethernet, here over
# the loopback device, as it is, with frames of usual length, and with losses; then between two network namespaces
. "${SRC:?}/kernel-nal/test/g_lib.sh"
ip link set lo up
# netem NAME...: the loopback device loses frames, doubles them, and changes their order
netem() { tc qdisc replace dev lo root netem "$@" 2>&1; }
modprobe -a sch_netem veth 2>/dev/null		# or built in
kmod insmod "$KO"
ok $? "the module is loaded"
echo lo >/sys/module/portals_gp/parameters/netdev	# as the README has it
ok $? "and told its device"
export PTL_KERNEL=yes
two="$multi -n 2 -N 1"
# Frames of all ranks, as the library's debug log has them.
frames() { sed -n 's/.*kernel: frames out \([0-9]*\).*/\1/p' err | awk '{ n += $1 } END { print n + 0 }'; }

short="t_put t_match t_get t_iovec t_eq t_atomic t_rules t_swap"
long="t_update t_wild t_init t_bad t_again t_waiters t_exit t_told t_polled t_fork t_nodes"
export PTL_LOG=debug
tap t_put 120 $two "$(prog tests/api/t_put)"
[ "$(frames)" -gt 100 ]
ok $? "t_put: by frames"
unset PTL_LOG
for t in ${short#t_put} ${1:+$long}; do
	tap "$t" 120 $two "$(prog tests/api/$t)"
done
T_PATH=eth P3_SRC=$SRC
export T_PATH P3_SRC
tap conform 300 $two "$(prog tests/conform/t_conform)"

ip link set lo mtu 1500
tap "t_get, frames of 1500 bytes" 120 $two "$(prog tests/api/t_get)"
tap "t_put by 4, frames of 1500 bytes" 120 "$multi" -n 4 -N 2 "$(prog tests/api/t_put)"
# A debug kernel is some ten times slower, and the tests have time limits.
case ${GUEST_KERNEL:-} in
debug-*) loss="loss 0.3% duplicate 1%" ;;
*) loss="loss 3% duplicate 3% reorder 10% delay 1ms" ;;
esac
if netem $loss; then
	for t in t_put t_get t_iovec t_swap t_atomic ${1:+t_match t_eq t_told}; do
		tap "$t, with losses" 300 $two "$(prog tests/api/$t)"
	done
	tc qdisc del dev lo root
else
	ok 0 "with losses # SKIP no netem in this kernel"
fi
kmod rmmod portals_gp
ok $? "the module is unloaded"
kernel_finish

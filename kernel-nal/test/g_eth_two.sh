#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_eth_two.sh - in two guests: interfaces in the kernel, with the wire between them; MPI and SHMEM jobs of a rank in
# each; losses; then one guest's wire is cut
. "${SRC:?}/kernel-nal/test/g_lib.sh"
hydra || skip_all "no mpiexec.hydra (./mpt build makes one)"
ip link set eth0 mtu 1500 up
modprobe sch_netem 2>/dev/null			# or built in
kmod insmod "$KO" netdev=eth0 peer_timeout=5
ok $? "the module is loaded in guest $GUEST"
guest_end()
{
	kmod rmmod portals_gp
	ok $? "the module is unloaded in guest 1"
}
. "$SRC/tests/guest/two.sh"
export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$PWD/ssh HYDRA_IFACE=eth0 PTL_KERNEL=yes PTL_LOG=debug
export SHMEM_SYMMETRIC_SIZE=32m
lt="$P3_BUILD/libtool --mode=execute"
frames() { sed -n 's/.*kernel: frames out \([0-9]*\).*/\1/p' err | awk '{ n += $1 } END { print n + 0 }'; }
again() { sed -n 's/.*frames out.*again \([0-9]*\).*/\1/p' err | awk '{ n += $1 } END { print n + 0 }'; }
[ ! -x "$MPT_BUILD/mpich-portals/bin/mpicc" ] ||
	"$MPT_BUILD/mpich-portals/bin/mpicc" -o "$SHARED/there" "$SRC/tests/guest/mpi_there.c" >&2

# job NAME COMMAND...
job()
{
	local name=$1
	shift
	built 150 "$SRC/tools/aprun" -cc none -L 10.77.0.1,10.77.0.2 -n 2 -N 1 "$@" &&
		grep -q '^there and back: ' said && [ "$(frames)" -gt 1000 ]
	ok $? "$name on two guests: $(head -n 1 said), $(frames) frames, $(again) sent again"
}
both()	# NAME
{
	job "SHMEM$1" $lt "$P3_BUILD/tests/guest/shmem_there"
	if [ -x "$SHARED/there" ]; then
		job "MPI$1" "$SHARED/there"
	else
		ok 0 "MPI$1 on two guests # SKIP no mpicc (./mpt build makes one)"
	fi
}
both ""
if tc qdisc replace dev eth0 root netem loss 2% duplicate 2% reorder 10% delay 1ms; then
	both ", with losses,"
	tc qdisc del dev eth0 root
else
	ok 0 "with losses # SKIP no netem in this kernel"
fi
# The wire itself, of which neither guest's device is told but guest 0's.
cut()	# NAME ARG...
{
	local name=$1
	shift
	built 120 "$SRC/tools/aprun" -cc none -L 10.77.0.1,10.77.0.2 -n 2 -N 1 $lt "$P3_BUILD/kernel-nal/test/eth_cut" \
		"$SRC/tests/guest/wire off $SHARED" "$SRC/tests/guest/wire on $SHARED" "$@"
	[ "$(grep -c '^rank [01] good' said)" = 2 ]
	ok $? "$name: $(tr '\n' ';' <said)"
}
cut "the wire is cut among many messages for 3 s, and mended" 3
cut "the wire is cut during a put, for good"
kmod rmmod portals_gp
ok $? "the module is unloaded in guest 0"
kernel_finish

# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# rxe_two.sh - in two guests: soft-RoCE over the wire between them; verbs' own ping-pong, then jobs with a rank in each
. "$SRC/tests/guest/rxe.sh"
bb=$CACHE/6.1/root/bin/busybox
grep -q 'define HAVE_VERBS' "$P3_BUILD/config.h" || skip_all "this build has no RDMA (Debian package libibverbs-dev)"
hydra || skip_all "no mpiexec.hydra (./mpt build makes one)"
rxe_up >&2
ok $? "rxe0 is up in guest $GUEST"

. "$SRC/tests/guest/two.sh"
./ssh 10.77.0.2 "timeout 60 ibv_rc_pingpong -d rxe0 -g 1 -n 200" >there 2>&1 &
for i in 1 2 3 4 5; do
	sleep 2
	timeout 60 ibv_rc_pingpong -d rxe0 -g 1 -n 200 10.77.0.2 >here 2>&1 && break
done
grep -q '200 iters in' here
ok $? "verbs' ping-pong between the guests: $(grep iters here)"
export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$PWD/ssh HYDRA_IFACE=eth0 PTL_IFACE=eth0 PTL_VERBS=yes
lt="$P3_BUILD/libtool --mode=execute"
job() { built 120 "$SRC/tools/aprun" -cc none -L 10.77.0.1,10.77.0.2 -n 2 -N 1 "$@"; }
[ ! -x "$MPT_BUILD/mpich-portals/bin/mpicc" ] ||
	"$MPT_BUILD/mpich-portals/bin/mpicc" -o "$SHARED/there" "$SRC/tests/guest/mpi_there.c" >&2
for PTL_NAL in ap gp; do
	export PTL_NAL
	for what in "SHMEM:$lt $P3_BUILD/tests/guest/shmem_there" "MPI:$SHARED/there"; do
		name=${what%%:*} cmd=${what#*:}
		if [ "$name" = MPI ] && [ ! -x "$SHARED/there" ]; then
			ok 0 "MPI on two guests, $PTL_NAL # SKIP no mpicc (./mpt build makes one)"
			continue
		fi
		before=$(rxe_packets)
		job $cmd && grep -q '^there and back: ' said
		ok $? "$name on two guests, $PTL_NAL: $(head -n 1 said)"
		[ "$(rxe_packets)" -gt "$before" ]
		ok $? "$name on two guests, $PTL_NAL: by RDMA ($(($(rxe_packets) - before)) packets)"
	done
done
finish

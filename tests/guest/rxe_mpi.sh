# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# rxe_mpi.sh - in a guest: SHMEM and MPI over soft-RoCE, each rank on a virtual node of its own
. "$SRC/tests/guest/rxe.sh"
grep -q 'define HAVE_VERBS' "$P3_BUILD/config.h" || skip_all "this build has no RDMA (Debian package libibverbs-dev)"
hydra || skip_all "no mpiexec.hydra (./mpt build makes one)"
rxe_up >&2
ok $? "rxe0 is up"
export PTL_VERBS=yes
lt="$P3_BUILD/libtool --mode=execute"
job() { built 200 "$SRC/tools/aprun" -cc none -n 2 -N 1 "$@"; }
for PTL_NAL in ap gp; do
	export PTL_NAL
	before=$(rxe_packets)
	job $lt "$P3_BUILD/tests/guest/shmem_there" && grep -q '^there and back: ' said
	ok $? "a SHMEM program, $PTL_NAL over rxe: $(head -n 1 said)"
	[ "$(rxe_packets)" -gt $((before + 500)) ]
	ok $? "a SHMEM program, $PTL_NAL: by RDMA ($(($(rxe_packets) - before)) packets)"
	if ! mpi_program tests/guest/mpi_there.c there; then
		ok 0 "an MPI program, $PTL_NAL over rxe # SKIP no mpicc (./mpt build makes one)"
		continue
	fi
	before=$(rxe_packets)
	job ./there && grep -q '^there and back: ' said
	ok $? "an MPI program, $PTL_NAL over rxe: $(head -n 1 said)"
	[ "$(rxe_packets)" -gt $((before + 500)) ]
	ok $? "an MPI program, $PTL_NAL: by RDMA ($(($(rxe_packets) - before)) packets)"
done
finish

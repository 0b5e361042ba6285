#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# MPI over Portals: instructions per 8-byte MPI_Send and MPI_Recv, and no system call in a ping-pong
#
#	t_mpi.sh counts|syscalls
src=$P3_SRC/tests/counts
mpicc=${MPT_BUILD:-/nonexistent}/bin/mpicc
if [ ! -x "$mpicc" ] || [ ! -x "$MPT_BUILD/bin/mpiexec" ]; then
	echo "1..0 # SKIP MPICH over Portals has not been built (./mpt build)"
	exit 0
fi
"$mpicc" -O2 -g -D_GNU_SOURCE -o mpi_ops "$src/mpi_ops.c" >log 2>&1 || { cat log >&2; echo "1..1"; echo "not ok 1 - mpicc"; exit 1; }
if [ "$1" = syscalls ]; then
	[ "$(nproc)" -ge 2 ] || { echo "1..0 # SKIP needs two cores"; exit 0; }
	exec "$MPT_BUILD/bin/mpiexec" -bind-to core -n 2 ./mpi_ops syscalls
fi
. "$src/report.sh"
[ -z "$counts_skip" ] || { echo "1..0 # SKIP $counts_skip"; exit 0; }
# Matched in CH3's queues: a receive that is matched in Portals is posted there, too, which is counted apart (memdpost);
# or taken from the inbox.
export MPICH_PTL_MATCH_OFF=1
echo 1..3
N=32
for op in send recv take; do
	who=0
	[ $op = send ] || who=1
	[ $op = take ] && unset MPICH_PTL_MATCH_OFF
	"$MPT_BUILD/bin/mpiexec" -n 2 "$src/as_rank" $who valgrind --tool=callgrind --callgrind-out-file=cg.$op \
		--collect-atstart=no --toggle-collect=counted -- ./mpi_ops $op $N >out 2>&1 </dev/null || cat out >&2
	report mpi_$op instructions "$(per_op cg.$op $N)"
done
exit $failed

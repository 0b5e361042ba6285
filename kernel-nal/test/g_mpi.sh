#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_mpi.sh - in a guest: SHMEM and MPI programs on interfaces in the kernel
. "${SRC:?}/kernel-nal/test/g_lib.sh"
hydra || skip_all "no mpiexec.hydra (./mpt build makes one)"
kmod insmod "$KO"
ok $? "the module is loaded"
export PTL_KERNEL=yes PTL_LOG=debug
lt="$P3_BUILD/libtool --mode=execute"

# It says so, and each rank has made so many calls of the module.
job()	# RANKS CALLS COMMAND...
{
	local ranks=$1 calls=$2
	shift 2
	built 100 "$SRC/tools/aprun" -cc none -n "$ranks" "$@" && grep -q '^there and back: ' said &&
		sed -n 's/.*kernel: \([0-9]*\) calls.*/\1/p' err |
		awk -v least="$calls" -v ranks="$ranks" '$1 >= least { n++ } END { exit n != ranks }'
}
for ranks in 2 4; do
	job $ranks 40 $lt "$P3_BUILD/tests/guest/shmem_there"
	ok $? "a SHMEM program of $ranks PEs, all by the kernel: $(grep '^there' said)"
done
for ranks in 2 4; do
	if ! mpi_program tests/guest/mpi_there.c there; then
		ok 0 "an MPI program of $ranks ranks # SKIP no mpicc (./mpt build makes one)"
		continue
	fi
	job $ranks 20 ./there
	ok $? "an MPI program of $ranks ranks, all by the kernel: $(grep '^there' said)"
done
kmod rmmod portals_gp
ok $? "the module is unloaded"
kernel_finish

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_gp.sh - "default Portals", in the kernel, against SMARTMAP: the same programs in the same boot, as ratios
. "${SRC:?}/kernel-nal/test/g_lib.sh"
hydra || skip_all "no mpiexec.hydra (./mpt build makes one)"
kmod insmod "$KO"
ok $? "the module is loaded"
lt="$P3_BUILD/libtool --mode=execute"
export SHMEM_SYMMETRIC_SIZE=32m		# of which a descriptor is pinned

# Records of both, as lines: PROGRAM FIGURE BYTES KERNEL SMARTMAP UNIT
both()	# PROGRAM COMMAND...
{
	local name=$1 how
	shift
	for how in yes no; do
		PTL_KERNEL=$how built 120 "$SRC/tools/aprun" -n 2 "$@" --json --quick || return 1
		sed -n 's/^round trip of 8 bytes: \([0-9]*\) ns$/round_trip 8 \1 ns/p
			/^{"figure"/{s/,"slices".*//; s/"[a-z]*"://g; s/[]{}"]//g; s/,*$//; s/,/ /gp}' said >$how
		[ -s $how ] || return 1
	done
	awk -v name="$name" 'NR == FNR { value[$1 " " $2] = $3; next }
		($1 " " $2) in value { print name, $1, $2, value[$1 " " $2], $3, $4; delete value[$1 " " $2] }
		END { for (i in value) exit 1 }' yes no >>figures
}
: >figures
both portals $lt "$P3_BUILD/tests/bench/portals_pingpong" --only put_eqget,get
ok $? "Portals, both ways"
both shmem $lt "$P3_BUILD/tests/bench/shmem_put" --only put
ok $? "SHMEM, both ways"
if mpi_program tests/guest/mpi_there.c there; then
	both mpi ./there
	ok $? "MPI, both ways"
else
	ok 0 "MPI, both ways # SKIP no mpicc (./mpt build makes one)"
fi
awk '$6 == "ns" { printf "# figure %s %s %d B: kernel %.1f us, SMARTMAP %.1f us: %.2f times\n",
		  $1, $2, $3, $4 / 1e3, $5 / 1e3, $4 / $5 }' figures
cp figures "$OUT/gp_smartmap"
# what the papers found: a short message costs several times as much by way of the kernel
awk '$1 == "portals" && $2 == "put_eqget" && $3 == 8 && $4 > 1.5 * $5 { found = 1 } END { exit !found }' figures
ok $? "8 bytes by the kernel take longer than by SMARTMAP"
kmod rmmod portals_gp
ok $? "the module is unloaded"
kernel_finish

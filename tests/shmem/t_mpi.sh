#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# MPI and SHMEM in one program (with_mpi.c), with the MPICH that ./mpt built on this build's libraries: on a node, with
# more ranks than cores, over virtual nodes, through Portals alone; either starts first, either ends first.
src=$(cd "$(dirname "$0")" && pwd) top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/common/tap.sh"
mpi=${P3_MPICH:-${MPT_BUILD:-}/mpich-portals}
[ -x "$mpi/bin/mpicc" ] || skip_all "MPICH with ch3:portals is not built (./mpt build)"
libs=$P3_BUILD/shmem-portals/.libs:$P3_BUILD/portals/.libs:$P3_BUILD/nal/smartmap/.libs
"$mpi/bin/mpicc" -std=gnu11 -O2 -Wall -Wextra -Werror -I"$top/shmem-portals/include" "$src/with_mpi.c" -o with_mpi \
	-L"$P3_BUILD/shmem-portals/.libs" -lsma -Wl,-rpath-link,"$libs" || exit 1
export LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
explain() { sed 's/^/# /' out >&2; }

ways="2: 4: 2:PTL_SMARTMAP=no"
# virtual nodes, where the build has a network
grep -q 'define HAVE_LIBEV' "$P3_BUILD/config.h" &&
	ways="$ways 2:PTL_PES_PER_NODE=1 4:PTL_PES_PER_NODE=2 4:PTL_PES_PER_NODE=2+PTL_NAL=ap"
for way in $ways; do
	ranks=${way%%:*} set=${way#*:}
	for start in mpi shmem; do
		for end in mpi shmem; do
			# shellcheck disable=SC2086
			env ${set//+/ } timeout 40 "$mpi/bin/mpiexec" -n "$ranks" ./with_mpi $start $end \
				>out 2>&1 </dev/null &&
				[ "$(grep -c 'is right$' out)" = "$ranks" ]
			ok $? "$ranks ranks $set, $start starts first, $end ends first"
		done
	done
done
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# MPI and DMAPP in one program (with_mpi.c), with the MPICH that ./mpt built on this build's libraries: on a node, with
# more ranks than cores, over virtual nodes, through Portals alone; either starts first.
src=$(cd "$(dirname "$0")" && pwd) top=$(cd "$(dirname "$0")/../.." && pwd)
mpi=${P3_MPICH:-${MPT_BUILD:-}/mpich-portals}
[ -x "$mpi/bin/mpicc" ] || { echo "1..0 # SKIP MPICH with ch3:portals is not built (./mpt build)"; exit 0; }
libs=$P3_BUILD/dmapp-portals/.libs:$P3_BUILD/shmem-portals/.libs:$P3_BUILD/portals/.libs:$P3_BUILD/nal/smartmap/.libs
"$mpi/bin/mpicc" -std=gnu11 -O2 -Wall -Wextra -Werror -I"$top/dmapp-portals/include" "$src/with_mpi.c" -o with_mpi \
	-L"$P3_BUILD/dmapp-portals/.libs" -ldmapp -Wl,-rpath-link,"$libs" || exit 1
export LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

ways="2: 4: 2:PTL_SMARTMAP=no"
# virtual nodes, where the build has a network
grep -q 'define HAVE_LIBEV' "$P3_BUILD/config.h" && ways="$ways 2:PTL_PES_PER_NODE=1 4:PTL_PES_PER_NODE=2"
n=0 failed=0
for way in $ways; do
	for first in mpi dmapp; do
		n=$((n + 1))
		env ${way#*:} timeout 40 "$mpi/bin/mpiexec" -n ${way%%:*} ./with_mpi $first >out 2>&1 </dev/null
		if [ $? = 0 ] && grep -qx 'all is right' out; then
			echo "ok $n - ${way%%:*} ranks ${way#*:}, $first first"
		else
			echo "not ok $n - ${way%%:*} ranks ${way#*:}, $first first"
			failed=1
			sed 's/^/# /' out
		fi
	done
done
echo "1..$n"
exit $failed

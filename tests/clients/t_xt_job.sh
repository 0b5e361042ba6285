#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# A program for the XT under the real Hydra: cnos and PMI over the launcher's own connection.
for h in "${MPT_HYDRA:-}" "${MPT_BUILD:+$MPT_BUILD/mpich-portals/bin/mpiexec.hydra}" "$(command -v mpiexec.hydra)"; do
	[ -n "$h" ] && [ -x "$h" ] && break
	h=
done
[ -n "$h" ] || { echo "mpiexec.hydra is not there (./mpt build makes one; Debian package mpich)" >&2; exit 77; }
export MPT_HYDRA=$h
echo 1..5
"$P3_SRC/tools/aprun" -n 4 "$P3_BUILD/tests/clients/job" >out 2>err </dev/null
[ $? = 0 ] && [ "$(grep -c 'of 4 is well$' out)" = 4 ] && [ ! -s err ] &&
	echo "ok 1 - words, maps and barriers of four ranks" ||
	{ echo "not ok 1 - words, maps and barriers of four ranks"; sed 's/^/# /' out err >&2; }
"$P3_BUILD/tests/clients/job" >out 2>err </dev/null
[ $? = 1 ] && grep -q 'cnos_launcher' out && echo "ok 2 - alone there is no launcher" ||
	{ echo "not ok 2 - alone there is no launcher"; sed 's/^/# /' out err >&2; }
MPICH_RANK_REORDER_METHOD=0 "$P3_SRC/tools/yod" -sz 2 "$P3_BUILD/tests/clients/job" >out 2>err </dev/null
[ $? = 0 ] && [ "$(grep -c 'of 2 is well$' out)" = 2 ] && echo "ok 3 - under yod" ||
	{ echo "not ok 3 - under yod"; sed 's/^/# /' out err >&2; }
if grep -qs 'define HAVE_LIBEV' "$P3_BUILD/config.h"; then
	# so many that they tell each other in bundles where they listen (nal/gp)
	"$P3_SRC/tools/aprun" -n 70 -N 24 "$P3_BUILD/tests/clients/job" >out 2>err </dev/null
	[ $? = 0 ] && [ "$(grep -c 'of 70 is well$' out)" = 70 ] && [ ! -s err ] &&
		echo "ok 4 - 70 ranks on three nodes" ||
		{ echo "not ok 4 - 70 ranks on three nodes"; sed 's/^/# /' out err >&2; }
else
	echo "ok 4 - 70 ranks on three nodes # SKIP no libev: no network"
fi
PTL_ADOPT=none PTL_CMA=no "$P3_SRC/tools/aprun" -n 4 "$P3_BUILD/tests/api/t_between" >out 2>err </dev/null
[ $? = 0 ] && [ ! -s err ] && echo "ok 5 - copies left to ranks that wait in the launcher's barrier" ||
	{ echo "not ok 5 - copies left to ranks that wait in the launcher's barrier"; sed 's/^/# /' out err >&2; }

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# One of four ranks is killed, at a different moment each time; the others go on, and nothing is left behind.
# With a NAL as argument: two virtual nodes of two ranks.
[ -z "$1" ] || export PTL_NAL=$1
rounds=${T_ROUNDS:-20}
seed=${T_SEED:-$((RANDOM * 32768 + RANDOM))}
echo "# T_SEED=$seed" >&2
echo "1..$rounds"
bad=0
RANDOM=$((seed % 32768))
for ((i = 1; i <= rounds; i++)); do
	us=$((RANDOM * 6 % 150000 + (i % 4 == 0 ? 0 : 500)))
	T_SEED=$((seed + i)) T_KILL_US=$us "$P3_BUILD/tests/common/limit" -t 60 \
		"$P3_BUILD/tests/common/multi" -n 4 ${1:+-N 2} -k 3 "$P3_BUILD/libtool" --mode=execute "$P3_BUILD/tests/fault/t_kill" >out 2>err
	rc=$?
	if [ $rc = 0 ] && [ "$(grep -c '^ok' out)" = 3 ]; then
		echo "ok $i - killed after $us us"
		grep -h 'were ended for it' err | sed 's/^/# /'
	else
		echo "not ok $i - killed after $us us (T_SEED=$((seed + i)) T_KILL_US=$us, exit status $rc)"
		cat out err | sed 's/^/# /' >&2
		bad=1
	fi
done
exit $bad

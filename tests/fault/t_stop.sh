#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Ranks are stopped at random moments for up to a tenth of a second: nothing is lost, and all goes on afterwards.
# "nodes": each is on a virtual node of its own.
if [ "$1" = nodes ]; then
	if ! grep -q 'define HAVE_LIBEV' "$P3_BUILD/config.h"; then
		echo "this build has no network (Debian package libev-dev)" >&2
		exit 77
	fi
	nodes="-N 1"
fi
echo 1..1
seed=${T_SEED:-$RANDOM}
RANDOM=$seed
echo "# T_SEED=$seed" >&2
T_SEED=$seed T_SECONDS=6 "$P3_BUILD/tests/common/multi" -n 3 $nodes "$P3_BUILD/libtool" --mode=execute "$P3_BUILD/tests/stress/t_mix" \
	>out 2>err &
multi=$!
stops=0
while kill -0 $multi 2>/dev/null; do
	ranks=($(cat /proc/$multi/task/$multi/children 2>/dev/null))
	[ ${#ranks[@]} = 3 ] || { read -r -t 0.05 <> <(:); kill -0 $multi 2>/dev/null && continue; break; }
	p=${ranks[RANDOM % 3]}
	kill -STOP $p 2>/dev/null && stops=$((stops + 1))
	read -r -t 0.0$((RANDOM % 10))1 <> <(:)
	kill -CONT $p 2>/dev/null
	read -r -t 0.0$((RANDOM % 10))1 <> <(:)
done
wait $multi
rc=$?
echo "# $stops stops" >&2
if [ $rc = 0 ] && [ $stops -gt 3 ]; then
	echo "ok 1 - t_stopped_ranks_hold_up_nobody_for_good"
else
	echo "not ok 1 - t_stopped_ranks_hold_up_nobody_for_good"
	cat out err >&2
	exit 1
fi

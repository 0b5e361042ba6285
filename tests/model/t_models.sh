#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_models - check each Promela model, and that each bug that can be put into it is found
#
#	t_models.sh [MODEL...]
#
# A bug is a -DBUG_name that the model's text mentions. A model that does not find it proves nothing: the test fails.
src=${P3_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/model
command -v spin >/dev/null || { echo "1..0 # SKIP spin is not installed (Debian package spin)"; exit 0; }
cc=${CC:-cc}
command -v "${cc%% *}" >/dev/null || { echo "1..0 # SKIP no C compiler"; exit 0; }
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
[ $# = 0 ] && set -- attention sleep eq lane together polled unlink attach
tests=()
for m in "$@"; do
	tests+=("$m:")
	for bug in $(grep -o 'BUG_[A-Z_]*' "$src/$m.pml" | sort -u); do tests+=("$m:$bug"); done
done
echo "1..${#tests[@]}"
n=0 failed=0
for t in "${tests[@]}"; do
	m=${t%%:*} bug=${t#*:}
	n=$((n + 1))
	rm -rf "$tmp/w"
	mkdir "$tmp/w"
	cd "$tmp/w" || exit 2
	# a search in depth, states in 512 MiB at most; the store buffers have valid end states, all others must end. A bug is
	# soon found: then compiling takes the time
	if ! { spin -a ${bug:+-D$bug} "$src/$m.pml" && $cc -O$([ "$bug" ] && echo 0 || echo 1) -w -DSAFETY -DCOLLAPSE -DMEMLIM=512 -o pan pan.c; } >log 2>&1; then
		echo "not ok $n - $m $bug: does not compile"
		sed 's/^/# /' log >&2
		failed=1
		continue
	fi
	timeout 120 ./pan -m100000 >log 2>&1
	rc=$?
	states=$(awk '/states, stored/ { print $1 }' log)
	if ! grep -q 'errors: ' log || grep -q 'max search depth too small\|out of memory' log && [ -z "$bug" ]; then
		echo "not ok $n - $m $bug: not searched to the end (status $rc)"
		tail -n 20 log | sed 's/^/# /' >&2
		failed=1
	elif [ -z "$bug" ]; then
		if grep -q 'errors: 0' log; then
			echo "ok $n - $m: holds in all $states states"
		else
			echo "not ok $n - $m: fails"
			sed 's/^/# /' log >&2
			spin -k "$m.pml.trail" -t -p -g "$src/$m.pml" 2>/dev/null | tail -n 60 | sed 's/^/# /' >&2
			failed=1
		fi
	elif grep -q 'errors: 0' log; then
		echo "not ok $n - $m: $bug is not found"
		failed=1
	else
		echo "ok $n - $m: $bug is found"
	fi
done
exit $failed

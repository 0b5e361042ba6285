# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# report.sh - compare a count with its limit; sourced by the scripts of this folder
limits=$P3_SRC/tests/counts/limits
n=0 failed=0 counts_skip=
cc=$(sed -n "s/^CC = //p" "$P3_BUILD/Makefile" | head -n 1)
version=$($cc -dumpversion 2>/dev/null | cut -d. -f1)
slack=$(sed -n 's/^slack //p' "$limits")
[ "$version" = "$(sed -n 's/^gcc //p' "$limits")" ] || slack=30	# percent: another compiler
if ! command -v valgrind >/dev/null; then
	counts_skip="valgrind is not installed (Debian package valgrind)"
elif [ "$(uname -m)" != x86_64 ]; then
	counts_skip="the limits are those of x86_64"
elif grep -q 'P3_DEBUG 1' "$P3_BUILD/config.h"; then
	counts_skip="the limits are those of an optimised build"
elif $cc --version 2>/dev/null | head -n 1 | grep -q clang; then
	counts_skip="the limits are those of gcc"
fi

per_op() {	# CALLGRIND-FILE N
	awk -v n="$2" '/^(summary|totals):/ { i = $2 } END { printf "%.1f", i / n }' "$1" 2>/dev/null || echo 0
}

report() {	# NAME WHAT VALUE: one TAP line
	local limit
	n=$((n + 1))
	[ "$T_COUNTS" = show ] && echo "# $1 $2 $3" >&2
	limit=$(awk -v a="$1" -v b="$2" '$1 == a && $2 == b { print $3 }' "$limits")
	if [ -z "$limit" ]; then
		echo "not ok $n - $1: $3 $2 (no limit in tests/counts/limits)"
		failed=1
	elif awk -v v="$3" -v l="$limit" -v s="$slack" -v w="$2" \
		'BEGIN { exit !(v + 0 > 0 && v <= (w == "instructions" ? l * (1 + s / 100) + 2 : l + 0)) }'; then
		echo "ok $n - $1: $3 $2, limit $limit"
	else
		echo "not ok $n - $1: $3 $2, limit $limit"
		failed=1
	fi
}

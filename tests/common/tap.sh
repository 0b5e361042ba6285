# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# tap.sh - lines of TAP, for scripts; sourced
#
#	ok STATUS NAME		0: it is so; else it is not, and explain, which a script may define, says more on stderr
#	skip NAME WHY		one line; skip_all WHY: instead of all, and the end
#	finish			the plan, and the end: 1 if a line was not ok
n=0 failed=0
explain() { :; }
ok()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
		explain
	fi
}
skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
skip_all() { echo "1..0 # SKIP $*"; exit 0; }
finish() { echo "1..$n"; exit $failed; }

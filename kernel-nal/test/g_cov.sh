#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_cov.sh - which lines of the module are run by the other scripts, on a kernel with gcov; coverage.sh reads what
# this leaves
. "${SRC:?}/kernel-nal/test/g_lib.sh"
[ -d /sys/kernel/debug/gcov ] || skip_all "no gcov in this kernel"
for s in ${T_ONLY:-g_api g_hostile g_eth g_eth_jobs g_faults}; do
	OPTIONS= bash "$SRC/kernel-nal/test/$s.sh" >out 2>err </dev/null
	grep -E '^not ok' out | sed 's/^/# /'	# this kernel is too slow for some of their time limits
	[ "$(grep -c "^ok" out)" -gt 7 ]
	ok $? "$s.sh has run ($(grep -c '^ok' out) lines are ok, $(grep -c '^not ok' out) not)"
done
mkdir -p "$OUT/gcov"
find /sys/kernel/debug/gcov -name '*.gcda' | while read -r f; do
	cat "$f" >"$OUT/gcov/${f##*/}"
done
[ -s "$OUT/gcov/gptl_far.gcda" ]
ok $? "counts were left"
kernel_finish

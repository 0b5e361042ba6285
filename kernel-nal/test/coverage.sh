#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# coverage.sh FOLDER COUNTS - lines of the module's own files (gptl_*.c) that were run: FOLDER is where build.sh built
# it with GPTL_GCOV=1, COUNTS what g_cov.sh left. A line for each file, and the percentage of all as the last; the
# files with marks, *.gcov, in COUNTS.
cd "$2" || exit 2
for f in gptl_*.gcda; do
	cp "$1/${f%.gcda}.gcno" . || exit 2
done
gcov gptl_*.gcda 2>/dev/null | awk '
	/^File/ { f = $2; gsub(/.*\/|\047/, "", f); ours = f ~ /^gptl_.*\.c$/ }
	/^Lines executed/ && ours { split($2, p, /[:%]/); n = $4; run += n * p[2] / 100; all += n
		printf "%-14s %6.1f %% of %d lines\n", f, p[2], n; ours = 0 }
	END { if (!all) exit 1; printf "%.1f\n", 100 * run / all }'

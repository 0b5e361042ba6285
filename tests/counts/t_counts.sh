#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# counts - instructions and distinct shared cache lines of the small operations, compared with tests/counts/limits
#
# These counts repeat exactly, whatever else the machine does. T_COUNTS=show prints lines for the file of limits.
src=$P3_SRC/tests/counts
. "$src/report.sh"
[ -z "$counts_skip" ] || { echo "1..0 # SKIP $counts_skip"; exit 0; }
multi=$P3_BUILD/tests/common/multi
lt=("$P3_BUILD/libtool" --mode=execute)
N=64

ops="put_direct put_inbox get_direct eqget_direct eqget_inbox eqget_empty receive_inbox take_inbox memdpost memdpost_long"
echo 1..$(($(set -- $ops; echo $#) * 2))
for op in $ops; do
	case $op in eqget* | receive* | take* | memdpost*) who=1 ;; *) who=0 ;; esac
	"$multi" -n 2 "$src/as_rank" $who "${lt[@]}" valgrind --tool=callgrind --callgrind-out-file=cg.$op \
		--collect-atstart=no --toggle-collect=counted -- "$P3_BUILD/tests/counts/ops" $op $N >out 2>err </dev/null ||
		{ cat out err >&2; }
	report $op instructions "$(per_op cg.$op $N)"
	rm -f trace
	mkfifo trace
	rm -f info result
	perl "$src/lines.pl" info trace >result &
	awk_pid=$!
	"$multi" -n 2 "$src/as_rank" $who "${lt[@]}" valgrind --tool=lackey --trace-mem=yes --basic-counts=no \
		--log-file=trace -- "$P3_BUILD/tests/counts/ops" $op 1 "$PWD/info" >out 2>err </dev/null || cat out err >&2
	wait $awk_pid
	report $op lines "$(cat result 2>/dev/null || echo 0)"
done
exit $failed

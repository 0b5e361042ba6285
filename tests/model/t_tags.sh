#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_tags - the steps of the models stand in the source, and the other way round
#
# A step carries a tag, M:model.step, in a comment on its line; so does its line in the source. A tag that stands on one
# side only is an error. So is one in the source beside no atomic access (nor a system call or a function of those that
# are one); or, where it ends in -plain, beside no code; and a step of a model that has none.
cd "${P3_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}" || exit 2
failed=0 n=0
result() {	# NAME: what is wrong on stdin
	local bad
	bad=$(cat)
	n=$((n + 1))
	if [ -z "$bad" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		head -n 30 <<<"$bad" | sed 's/^/# /' >&2
		failed=1
	fi
}
shopt -s lastpipe
echo 1..5
tag='M:[a-z]+\.[a-z0-9-]+'
models=$(ls tests/model/*.pml | grep -v /tso.pml)
source=$(find portals/lib portals/api nal -name '*.[ch]')
# shellcheck disable=SC2086
{
	steps=$(grep -ohE "$tag" $models | sort -u)
	lines=$(grep -ohE "$tag" $source | sort -u)
	comm -23 <(echo "$steps") <(echo "$lines") | result "each step of a model stands in the source"
	comm -13 <(echo "$steps") <(echo "$lines") | result "each tag in the source is a step of a model"
	grep -nE "$tag" $source | awk '
		{
			text = $0
			sub(/^[^:]*:[0-9]*:/, "", text)
			code = text
			sub(/\/\*.*/, "", code)
			plain = text ~ /M:[a-z]+\.[a-z0-9-]+-plain/
			good = "p3_(load|store|cas32|xchg|fetch_|add|fence)|atomic_(load|store|fetch)|syscall[(]"
			good = good "|smartmap_membarrier[(]|p3l_pt_polled[(]"
			if (code !~ (plain ? "[a-z]" : good))
				print
		}' | result "each tag stands beside an atomic access"
	# the steps in capitals, outside of what a bug puts in
	awk '
		FNR == 1 { depth = 0 }
		/^#if/ { depth++; bug[depth] = $2 ~ /^BUG_/ ? ($1 == "#ifdef" ? 1 : 2) : 0; next }
		/^#else/ { bug[depth] = bug[depth] ? 3 - bug[depth] : 0; next }
		/^#endif/ { depth--; next }
		/^#/ { next }
		{ in_bug = 0; for (i = 1; i <= depth; i++) in_bug += bug[i] == 1 }
		!in_bug && /(^|[^A-Z_])(LOAD|STORE|CAS|XCHG|ADD|FENCE|MEMBARRIER)\(/ && !/M:[a-z]+\.[a-z0-9-]+/ {
			print FILENAME ":" FNR ": " $0
		}' $models | result "each step of a model has a tag"
	for m in $models; do
		grep -qE "$tag" "$m" || echo "$m"
	done | result "no model is without"
}
exit $failed

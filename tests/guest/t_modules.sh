#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_modules.sh - the modules compile against the headers of Debian's kernels, 6.1 and 6.12
set -u
. "$(dirname "$0")/lib.sh"
: "${P3_BUILD:?where it was built}"
n=0 failed=0
for k in 6.1 6.12; do
	why=$("$here/prepare" $k 2>&1 >/dev/null)
	rc=$?
	for what in "self-test:$here/selftest_ko.sh:self" "portals_gp:$src/kernel-nal/build.sh:ko"; do
		IFS=: read -r name script to <<<"$what"
		n=$((n + 1))
		line="$name for $k"
		if [ $rc != 0 ]; then
			echo "ok $n - $line # SKIP $(tail -n 1 <<<"$why")"
		elif [ ! -x "$script" ]; then
			echo "ok $n - $line # SKIP there is no ${script#"$src"/}"
		else
			mkdir -p "$P3_BUILD/tests/guest/$to-$k"
			ko=$("$script" "$(cat "$CACHE/$k/kdir")" "$P3_BUILD/tests/guest/$to-$k" 2>log | tail -n 1)
			if [ -s "$ko" ]; then
				echo "ok $n - $line ($(cat "$CACHE/$k/kver"))"
			else
				echo "not ok $n - $line ($(cat "$CACHE/$k/kver"))"
				failed=1
				tail -n 30 log >&2
			fi
		fi
	done
done
echo "1..$n"
exit $failed

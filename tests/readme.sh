#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# readme - the programs and commands of README.md do what it says
#
# Each "```c" block whose first line is "/* name.c: ..." becomes that file; each "```sh" block behind it is run as it
# stands, in a folder with a link named mpt.
readme=$P3_SRC/README.md
if [ -z "${MPT_BUILD:-}" ] || [ ! -x "$MPT_BUILD/bin/mpicc" ]; then
	echo "1..0 # SKIP MPICH over Portals has not been built (./mpt build)"
	exit 0
fi
ln -s "$P3_SRC/mpt" mpt
ln -s "$MPT_BUILD" build
awk '
	/^```c$/ { code = 1; name = ""; next }
	/^```sh$/ { sh = ++n; next }
	/^```$/ { code = sh = 0; next }
	code && !name { if (match($0, /[a-z_0-9]+\.c/)) name = substr($0, RSTART, RLENGTH); else name = "unnamed.c" }
	code { print > name }
	sh { print > ("run" sh ".sh") }' "$readme"
runs=(run*.sh)
[ -e "${runs[0]}" ] || { echo "1..0 # SKIP README.md has no sh blocks"; exit 0; }
echo "1..${#runs[@]}"
i=0 bad=0
for r in "${runs[@]}"; do
	i=$((i + 1))
	if bash -e "$r" >log 2>&1 </dev/null; then
		echo "ok $i - $(tail -n 1 "$r")"
	else
		echo "not ok $i - $(tail -n 1 "$r")"
		cat "$r" log >&2
		bad=1
	fi
done
exit $bad

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_guest.sh - one run of guest.list, or kernel-nal/test/guest.list, in a guest; its TAP, and what its kernel has said
#
#	t_guest.sh NAME			t_guest.sh --list [long]: names and time limits of all
#
# GUEST_OUT=FOLDER keeps what the guest leaves there.
set -u
. "$(dirname "$0")/lib.sh"
lists=()
for f in "$src/kernel-nal/test/guest.list" "$here/guest.list"; do
	[ -r "$f" ] && lists+=("$f")
done
# option NAME DEFAULT
option()
{
	local o
	for o in "${options[@]}"; do
		case $o in "$1="*) echo "${o#*=}"; return ;; esac
	done
	echo "$2"
}
has() { case " ${options[*]} " in *" $1 "*) return 0 ;; esac; return 1; }
skip() { echo "$*" >&2; exit 77; }

if [ "$1" = --list ]; then
	sed 's/#.*//' "${lists[@]}" | while read -r name script line; do
		read -r -a options <<<"$line"
		[ -n "$name" ] || continue
		has long && [ "${2:-}" != long ] && continue
		echo "$name $(option limit 120)"
	done
	exit
fi
name=$1 P3_BUILD=${P3_BUILD:?where it was built}
read -r _ script line < <(sed 's/#.*//' "${lists[@]}" | awk -v n="$name" '$1 == n')
[ -n "${script:-}" ] || { echo "Bail out! no run '$name' in ${lists[*]}"; exit 1; }
read -r -a options <<<"$line"

why=$("$here/prepare" 6.1 user qemu 2>&1 >/dev/null) || skip "$(tail -n 1 <<<"$why")"
find_qemu || skip "qemu-system-x86_64 is not installed (Debian package qemu-system-x86)"
kernel=$(option kernel 6.1)
[ -e "$CACHE/$kernel/.ready" ] || skip "no kernel $kernel in the cache (tests/guest/debug-kernel ${kernel#debug-})"
out=${GUEST_OUT:-$PWD/guest}
mkdir -p "$out"

# the module, for this kernel
ko=
if [ -x "$src/kernel-nal/build.sh" ]; then
	ko_dir=$P3_BUILD/tests/guest/ko-$kernel
	has gcov && ko_dir=$ko_dir-gcov && export GPTL_GCOV=1
	mkdir -p "$ko_dir"
	ko=$("$src/kernel-nal/build.sh" "$(cat "$CACHE/$kernel/kdir")" "$ko_dir" 2>"$out/ko.log" | tail -n 1)
	[ -s "$ko" ] || { echo "not ok 1 - the module is built"; echo 1..1; tail -n 30 "$out/ko.log" >&2; exit 1; }
fi
self=$("$here/selftest_ko.sh" "$(cat "$CACHE/$kernel/kdir")" "$P3_BUILD/tests/guest/self-$kernel" 2>"$out/self.log" |
	tail -n 1)

args=(-o "$out" -k "$kernel" -s "$(option smp 2)" -m "$(option mem 1G)" -t "$(option limit 120)")
has two && args+=(-2)
"$here/run" "${args[@]}" "$src/$script" "KO=$ko" "SELFTEST_KO=$self" "NAME=$name" "OPTIONS=${options[*]}" \
	"T_SCALE=${T_SCALE:-1}" "T_ONLY=${T_ONLY:-}" "RXE_ONLY=${RXE_ONLY:-}" 2>"$out/run.err"
rc=$?

# What the script has printed, renumbered, as there is something to add.
taps=("$out/tap")
has two && taps+=("$out/2/tap")
awk -v rc=$rc '
function end() {
	if (file != "" && !planned && !skipped) printf "not ok %d - it has come to its end\n", ++n
	else if (planned != seen && !skipped) printf "not ok %d - %d lines of %d\n", ++n, seen, planned
	planned = seen = 0
}
FNR == 1 { end(); file = FILENAME }
/^1\.\.0.*SKIP/ { skipped = 1; why = $0; sub(/^1\.\.0[^#]*# *SKIP */, "", why); next }
/^1\.\.[0-9]+/ { split($1, p, /\.\./); planned = p[2] + 0; next }
/^(not )?ok/ { sub(/^ok( [0-9]+)?/, "ok " ++n) || sub(/^not ok( [0-9]+)?/, "not ok " n); seen++ }
{ print }
END { end(); if (skipped) printf "ok %d # SKIP %s\n", ++n, why; exit }' "${taps[@]}" >tap 2>/dev/null
cat tap
n=$(grep -c '^\(not \)\?ok' tap) failed=0
grep -q '^not ok' tap && failed=1
ok()	# STATUS NAME
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; fi
}
[ $rc = 0 ] || [ $failed = 1 -a $rc -lt 97 ]
ok $? "the guest ends well ($rc)"
report='BUG:|BUG |Oops|KASAN|KCSAN|UBSAN|WARNING:|INFO: |cut here|possible (recursive|circular)|overwritten|'
report+='unreferenced object|general protection|stack-protector|double free|Bad page|Objects remaining|'
report+='unregister_netdevice: waiting'
bad=0
for d in "$out" "$out/2"; do
	[ "$d" = "$out" ] || has two || continue
	[ -s "$d/dmesg" ] || { bad=1; continue; }
	has verbose && continue
	if grep -Eq "$report" "$d/dmesg" "$d/console" || [ -s "$d/kmemleak" ]; then
		bad=1
		{
			grep -E -A 30 "$report" "$d/dmesg" || tail -n 60 "$d/console"
			head -n 60 "$d/kmemleak"
		} 2>/dev/null | head -n 120 >&2
	fi
done
ok $bad "the kernel has nothing to complain of"
if has gcov && [ -n "$ko" ]; then
	"$src/kernel-nal/test/coverage.sh" "$ko_dir" "$out/gcov" >"$out/coverage" 2>&1
	sed 's/^/# /' "$out/coverage"
	awk 'END { exit !($1 >= 90) }' "$out/coverage"
	ok $? "lines of the module that were run: $(tail -n 1 "$out/coverage") %"
fi
[ $failed = 0 ] || tail -n 60 "$out/run.err" "$out/err" >&2
echo "1..$n"
exit $failed

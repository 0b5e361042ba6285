#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# ptl_info, and that the manual page has exactly the settings that the parser has.
info=$P3_BUILD/tools/ptl_info man=$P3_SRC/tools/man
n=0 failed=0
ok() {	# STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; fi
}
for v in ${!PTL_@}; do unset "$v"; done
perl "$P3_SRC/portals/man/generate" --knobs --src "$P3_SRC" >have
"$info" --man >want
[ -s have ] && cmp -s have want
ok $? t_manual_page_has_the_settings
cmp -s have want || diff have want | sed 's/^/# /' >&2
"$info" >out 2>&1 && grep -q '^smartmap: ' out; ok $? t_paths
PTL_SMARTMAP=no "$info" >out 2>&1 && grep -q '^smartmap: off for your memory (PTL_SMARTMAP=no)' out &&
	grep -q '^  data  *no ' out; ok $? t_paths_when_off
PTL_CMA=no "$info" >out 2>&1 && grep -q '^  cma  *no   PTL_CMA=no' out; ok $? t_path_that_a_setting_switches_off
PTL_SPIN=9 "$info" -c >out 2>&1 && grep -q '^PTL_SPIN=9  (default 2000, from: environment)' out; ok $? t_settings
PTL_SPIN=x "$info" >out 2>&1; [ $? = 1 ] && grep -q 'PTL_SPIN=x: must be' out; ok $? t_bad_setting
PTL_SPIN=x "$info" -c >out 2>&1; [ $? = 1 ] && grep -q '^PTL_SPIN=x  (BAD' out; ok $? t_bad_setting_in_the_table
"$info" --job >out 2>&1 && grep -q '^rank 0 local 0' out; ok $? t_job_of_one
"$info" --nonsense >out 2>&1; [ $? = 2 ]; ok $? t_usage
"$info" --help >out 2>&1 && grep -q -- '--job' out; ok $? t_help
for t in aprun yod; do	# each option of the usage text is in the page
	bad=
	for o in $("$P3_SRC/tools/$t" --help | sed -n 's/^ \{2,6\}\(-[^ ].*\)/\1/p' | grep -oE '(^|[ ,])--?[A-Za-z-]+' | tr -d ' ,' | sort -u); do
		grep -qE -- "${o}([ ,\"]|\$)" "$man/$t.1" || bad="$bad $o"
	done
	[ -z "$bad" ]; ok $? "t_manual_page_of_$t"
	[ -z "$bad" ] || echo "# not in $t.1:$bad" >&2
done
echo "1..$n"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# ptl_info, and that the manual page has exactly the settings that the parser has.
info=$P3_BUILD/tools/ptl_info man=$P3_SRC/tools/man
. "${0%/*}/../common/tap.sh"
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
"$info" -l >out 2>&1 && grep -q '^  max_pt_index  *127 ' out; ok $? t_limits
"$info" -c -l >out 2>&1; [ $? = 2 ]; ok $? t_one_thing_at_a_time
"$info" -p 1 >out 2>&1; [ $? = 1 ] && grep -q '1 is no running job here' out; ok $? t_no_such_job
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$info" 2>/dev/null; then
	setpriv --reuid 65534 --regid 65534 --clear-groups "$info" -p >out 2>&1
	[ $? = 1 ] && grep -qE 'no job .* runs here; [1-9][0-9]* processes of other users may not be looked at' out
	ok $? t_processes_of_others_are_named
else
	echo "ok $((n += 1)) - t_processes_of_others_are_named # SKIP needs root, and a build that others can read"
fi
if command -v python3 >/dev/null; then
	PTL_SPIN=9 "$info" --json >out 2>&1 && python3 - <<'END' >out2 2>&1
import json
d = json.load(open("out"))
assert {p["name"] for p in d["pair"]["paths"]} >= {"windows", "data", "stack", "heap", "cma", "fork"}
assert all(p["has"] or p["why"] for p in d["pair"]["paths"])
s = {k["name"]: k for k in d["settings"]}
assert s["PTL_SPIN"]["value"] == "9" and s["PTL_SPIN"]["origin"] == "environment" and s["PTL_SPIN"]["default"] == "2000"
assert s["PTL_YIELD"]["origin"] == "default" and s["PTL_YIELD"]["help"]
assert d["limits"]["max_mes"] == 65536 and isinstance(d["jobs"], list)
END
	ok $? t_json
else
	echo "ok $((n += 1)) - t_json # SKIP no python3"
fi
"$info" -p abc >out 2>&1; [ $? = 2 ] && grep -q "'abc' is neither a job id nor a process id" out
ok $? t_an_id_that_is_none
"$info" foo >out 2>&1; [ $? = 2 ] && grep -q "'foo': no word is expected" out; ok $? t_a_word_too_many
"$info" --nonsense >out 2>&1; [ $? = 2 ]; ok $? t_usage
"$info" --help >out 2>&1 && grep -q -- '--job' out; ok $? t_help
for t in aprun yod ptl_info ptl_check; do	# each option of the usage text is in the page
	bad=
	tool=$P3_SRC/tools/$t
	[ -x "$tool" ] || tool=$P3_BUILD/tools/$t
	for o in $("$tool" --help | sed -n 's/^ \{2,6\}\(-[^ ].*\)/\1/p' | grep -oE '(^|[ ,])--?[A-Za-z-]+' | tr -d ' ,' | sort -u); do
		grep -qE -- "${o}([ ,\"]|\$)" "$man/$t.1" || bad="$bad $o"
	done
	[ -z "$bad" ]; ok $? "t_manual_page_of_$t"
	[ -z "$bad" ] || echo "# not in $t.1:$bad" >&2
done
finish

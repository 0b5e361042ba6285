#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Running jobs from outside: what went by which path is counted right, memory is told, lists are.
. "${0%/*}/look.sh"
# talk PATTERN PER_NODE WHAT N LENGTH: a job does that, and -p says so
talk() {
	local pattern=$1 pernode=$2 multi rc
	shift 2
	rm -f go err
	"$P3_BUILD/tests/common/multi" -n 2 -N "$pernode" "$P3_BUILD/libtool" --mode=execute \
		"$P3_BUILD/tests/look/t_talk" "$@" >out 2>err &
	multi=$!
	soon 10 grep -qs ready err
	"$info" -p $multi >said 2>&1 && grep -qE -- "$pattern" said
	rc=$?
	if [ ! -f all ]; then	# of the first job
		job=$multi
		"$info" >all 2>&1
		"$info" -p $multi --json >json 2>&1
	fi
	: >go
	wait $multi || rc=1
	return $rc
}
line='^ +1 -> 0 .* '
talk "$line direct 20 \\(640\\.0 KiB\\)" 99 puts 20 32768
ok $? t_puts_straight_through_the_window
grep -qE "^job $job: .*t_talk, 2 ranks on 1 node, smartmap" all
ok $? t_the_list_names_it
grep -qE '^ +[01] +0 +[0-9]+ +open [RSD] .* [1-9][0-9.]* [KM]iB .* [1-9][0-9.]* KiB +1$' said &&
	grep -q 'page tables of all: ' said && grep -q '65536 match entries' said
ok $? t_memory_and_limits_of_ranks
if command -v python3 >/dev/null; then
	python3 - "$("$info" -l --json)" <<'END' 2>>err
import json, sys
d, mine = json.load(open("json")), json.loads(sys.argv[1])["limits"]
assert d["ranks"] == 2 and len(d["rank"]) == 2
for r in d["rank"]:
    assert r["rss"] > r["private"] > 0 and r["page_tables"] > 0 and r["phase"] == "open"
    assert all(mine[k] == v for k, v in r["limits"].items())
assert d["rank"][1]["windows"] == 1 and d["rank"][1]["peer_files"] > 0	# it has sent
t = [x for x in d["talk"] if x["from"] == 1 and x["to"] == 0][0]
assert t["direct"] == 20 and t["direct_bytes"] == 20 * 32768 and t["dropped"] == 0
END
	ok $? t_json_of_a_job
else
	skip t_json_of_a_job 'no python3'
fi
talk "$line?inbox 50 \\(400 B\\)" 99 polled 50 8
ok $? t_puts_left_in_the_inbox
talk "$line?get 30 \\(29\\.3 KiB\\)" 99 gets 30 1000
ok $? t_gets
PTL_ADOPT=none talk "$line direct 10 \\(156\\.2 KiB\\)  cma 10 \\(156\\.2 KiB\\)" 99 puts 10 16000
ok $? t_copies_of_the_kernel
PTL_ADOPT=none PTL_CMA=no talk "$line direct 7 \\(109\\.4 KiB\\)  bounce 7 \\(109\\.4 KiB\\)" 99 puts 7 16000
ok $? t_copies_left_to_the_owner
if has_net; then
	talk "$line?network 12 \\(46\\.9 KiB\\)" 1 puts 12 4000
	ok $? t_to_another_node
else
	skip t_to_another_node "$no_net"
fi
finish

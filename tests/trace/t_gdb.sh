#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_gdb - what gdb shows of the library: in a running rank, and in a core file of it
src=$P3_SRC b=$P3_BUILD
py=$src/portals/gdb/libportals-gdb.py
n=0 failed=0
command -v gdb >/dev/null || { echo "1..0 # SKIP no gdb"; exit 0; }
gdb -nx -batch -ex 'python print("python", "here")' 2>/dev/null | grep -q "python here" ||
	{ echo "1..0 # SKIP gdb has no python"; exit 0; }
rank()	# NUMBER JOB ARGUMENTS: under gdb, with the commands of stdin
{
	local number=$1
	shift
	printf 'set breakpoint pending on\nset pagination off\nset confirm off\nsource %s\n' "$py" >cmds
	cat >>cmds
	"$b/tests/common/multi" -n 2 "$src/tests/counts/as_rank" "$number" "$b/libtool" --mode=execute \
		gdb -nx -q -batch -x cmds --args -- "$b/tests/trace/job" "$@" 2>&1 </dev/null |
		sed 's/^# rank [01]: //' >got
}
has()	# PATTERN NAME: a line of what gdb said
{
	n=$((n + 1))
	if grep -Eq "$1" got; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		{ echo "no line '$1' in"; cat got; } | sed 's/^/# /' | head -n 60 >&2
		failed=1
	fi
}

# All five have come, none is fetched: the rank is where it begins with that.
rank 1 put 5 100 <<END
break take_all
run
ptl ni
ptl portals
ptl me 1
ptl eq
ptl peers
ptl ops
generate-core-file core.rank1
delete
break PtlEQWait
ignore 2 4
continue
up
print ev
print ev.md
print ev.initiator
print ev.md_handle
print eq
delete
continue
END
state()
{
	has '^ni 0: 1:[0-9]+ slot 1 of 2, up, by smartmap' "$1: the interface"
	has '^  entries 2 of 65536, descriptors 3 of 65536, queues 5 of 1024, portals 0-127' "$1: what is in use"
	has '^  sent 0, received 5 .*dropped 0' "$1: its counters"
	has '^portal 4: 1 entries \(1 at most\)$' "$1: a portal with a list"
	has '^me 1\.0: pt 4 bits 0x1234 ignore 0x0 from any:any USED, md [0-9]+$' "$1: a match entry"
	has '^  md [0-9]+\.0: \[0x[0-9a-f]+, \+100\) at 0 threshold inf pending 0 .* eq 4\.0 USED\|DIRECT\|MADE$' \
		"$1: its descriptor"
	has '^eq 4\.0: 16 slots, 0 read, 5 reserved$' "$1: a queue"
	has '^  4: PUT_END of 0 pt 4 bits 0x1234 mlength 100 of 100 offset 0 hdr_data 0x5 ' "$1: its last event"
	has "^slot 0: id .*; took 5, dropped 0 here" "$1: who has sent"
}
state "running"
has '= PUT_END from 1:[0-9]+ pt 4 bits 0x1234 rlength 100 mlength 100 offset 0 hdr_data 0x4 md [0-9]+\.0 of ni 0 ' \
	"an event"
has '= \[0x[0-9a-f]+, \+100\) threshold inf max_size 0 options 0x[0-9a-f]+ user_ptr 0x5eed eq eq 4\.0 of ni 0$' \
	"a descriptor"
has '= 1:[0-9]+$' "a process"
has '= md [0-9]+\.0 of ni 0$' "a handle"
has '= eq 4\.0 of ni 0$' "and another"

gdb -nx -q -batch -ex "source $py" -ex "ptl ni" -ex "ptl portals" -ex "ptl me 1" -ex "ptl eq" -ex "ptl peers" \
	"$b/tests/trace/.libs/job" core.rank1 >got 2>&1 </dev/null
state "core file"
rm -f core.rank1

# A copy that its owner has not made yet: rank 1 is in a barrier, and rank 0 cannot reach its memory.
PTL_ADOPT=none PTL_CMA=no rank 0 put 1 20000 <<END
break PtlPut
run
finish
ptl peers
up
print p3a_table[0]->peer[1].l->magic
python r = Region(gdb.parse_and_eval("p3a_table[0]->peer[1].l"))
python print(OpPrinter(r.row(0)["op"][0]).to_string())
kill
quit 1
END
has '^HAND PUT of 0: md [0-9]+, 20000 of 20000 bytes at 0$' "the record of an operation in progress"
echo 1..$n
exit $failed

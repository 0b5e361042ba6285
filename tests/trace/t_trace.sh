#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_trace - ptl_trace: each message on each path has its call, match, copy and event, and its own
src=$P3_SRC/tests/trace b=$P3_BUILD
export LD_LIBRARY_PATH=$b/nal/smartmap/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
perl -MJSON::PP -e 1 2>/dev/null || { echo "1..0 # SKIP perl has no JSON::PP (Debian package perl)"; exit 0; }
. "${0%/*}/../common/tap.sh"
job()	# [-N 1] MODE COUNT BYTES: traced
{
	local multi=()
	case $1 in -*) multi=("$1" "$2"); shift 2 ;; esac
	"$b/tools/ptl_trace" -o trace.json ${pass[@]+"${pass[@]}"} "$b/tests/common/multi" -n 2 "${multi[@]}" \
		${killed[@]+"${killed[@]}"} "$b/tests/trace/.libs/job" "$@" >out 2>err </dev/null
}
pass=() killed=()
net=; grep -q "define HAVE_LIBEV" "$b/config.h" && net=yes
path()	# NAME OPERATION WAY KEYS -- JOB ARGUMENTS
{
	local name=$1 op=$2 way=$3 keys=()
	shift 3
	while [ "$1" != -- ]; do keys+=("$1"); shift; done
	shift
	local count=$(($# - 1)); count=${!count}
	job "$@" && perl "$src/check.pl" trace.json "$op" "$count" "$way" "${keys[@]}"
	local rc=$?
	[ $rc = 0 ] || { sed 's/^/# /' out err | tail -n 30 >&2; }
	ok $rc "$name"
}

path "direct: the initiator matches and copies through the window" PtlPut window -- put 200 1000
path "long puts, with acknowledgements" PtlPut window answer=ACK -- acked 20 20000
T_POLL=1 path "inbox: thousands of puts that are alike, each arrow its own" PtlPut inbox,window -- put 2000 8
T_POLL=1 path "inbox: some lines each, with acknowledgements" PtlPut inbox,window answer=ACK -- acked 200 300
T_POLL=1 path "inbox: a polled entry" PtlPut inbox -- polled 2000 8
path "two threads at once" PtlPut window -- threads 1000 200
path "gets" PtlGet window answer=REPLY_END -- get 200 1000
path "exchanges" PtlGetPut exchange answer=REPLY_END -- swap 200 8
path "dropped ones say why" PtlPut - drop="no entry matches" -- drop 50 8
PTL_ADOPT=none path "memory out of reach: by the kernel's copy" PtlPut CMA -- put 100 20000
PTL_ADOPT=none PTL_CMA=no T_POLL=1 path "and by a bounce buffer" PtlPut "bounce buffer" -- acked 50 20000
if [ -n "$net" ]; then
	path "frames: between two nodes" PtlPut frame -- -N 1 put 300 1000
	T_POLL=1 path "frames, thousands that are alike" PtlPut frame -- -N 1 put 2000 8
	path "frames: an acknowledgement comes back" PtlPut frame answer=ACK -- -N 1 acked 50 100
	path "frames: a reply comes back" PtlGet frame answer=REPLY_END -- -N 1 get 50 100
fi

job polled 1 9000	# longer than a polled entry takes
grep -q '"messages":0,"dropped":0,"refused":1,' trace.json && grep -q '"name":"PtlPut (refused)"' trace.json &&
	grep -q ' 0 messages, 0 of them dropped; 1 calls were refused' err
ok $? "a call that is refused is named so, and is no message"

killed=(-k 1)
T_POLL=1 job die 400 8
perl "$src/check.pl" trace.json PtlPut 400 inbox,window some=1 &&
	perl -MJSON::PP -e 'local $/; my $t = decode_json(<>); my $n = grep { $_->{ph} eq "X" && $_->{pid} == 1 &&
		$_->{args}{step} eq "fetch" &&
				$_->{name} eq "PUT_END" } @{ $t->{traceEvents} }; exit($n == 200 ? 0 : 1)' trace.json
ok $? "a rank that was killed: what it did until then is there"
killed=()

pass=(-n 100)
T_POLL=1 job put 400 8
grep -q "records are missing" err && grep -q '"lost":[1-9]' trace.json &&
	perl -MJSON::PP -e 'local $/; decode_json(<>)' trace.json
ok $? "what does not fit is counted and said"
pass=()

"$b/tools/ptl_trace" -k -o trace.json "$b/tests/common/multi" -n 2 "$b/tests/trace/.libs/job" put 5 8 >out 2>err
kept=$(sed -n 's/^ptl_trace: the records are in //p' err)
[ -d "$kept" ] && "$b/tools/ptl_trace" -m "$kept" -o again.json 2>/dev/null && cmp -s trace.json again.json
ok $? "records that were kept give the same picture"

"$b/tools/ptl_trace" -o none.json sh -c 'exit 3' >out 2>err
[ $? = 3 ] && grep -q "nothing was recorded" err && [ ! -e none.json ]
ok $? "a command without Portals: said, and its exit status kept"
"$b/tools/ptl_trace" -o none.json true >out 2>err
[ $? = 1 ] && grep -q "nothing was recorded" err
ok $? "nothing recorded is no success"
"$b/tools/ptl_trace" -o nowhere/x.json touch ran >out 2>err
[ $? = 2 ] && grep -q "nowhere/x.json: No such file" err && [ ! -e ran ]
ok $? "a trace that cannot be written is said before the command runs"
"$b/tools/ptl_trace" --help 2>/dev/null | grep -q -- '--help'
ok $? "--help"

# the other library says that it does not record
PTL_TRACE=$PWD LD_LIBRARY_PATH=$b/portals/.libs:$LD_LIBRARY_PATH \
	"$b/tests/common/multi" -n 2 "$b/tests/trace/.libs/job" put 1 8 >out 2>err.quiet
grep -q "not the recording library" err.quiet && ! ls ./*.ptr >/dev/null 2>&1
ok $? "without the recording library a warning, and no record"
[ -z "$(ls -d "${TMPDIR:-/tmp}"/ptl_trace.* 2>/dev/null | grep -vxF "$kept")" ]
ok $? "nothing is left behind"
echo 1..$n
exit $failed

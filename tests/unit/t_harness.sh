#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The harness itself: what it must notice, it notices.
limit=$P3_BUILD/tests/common/limit multi=$P3_BUILD/tests/common/multi
echo 1..12
n=0 failed=0
is() {	# GOT WANT NAME
	n=$((n + 1))
	if [ "$1" = "$2" ]; then echo "ok $n - $3"; else echo "not ok $n - $3"; echo "# got '$1', want '$2'" >&2; failed=1; fi
}
"$limit" -t 20 sh -c 'exit 3' 2>/dev/null; is $? 3 "t_exit_status_is_passed_on"
"$limit" -t 1 sleep 50 2>/dev/null; is $? 124 "t_hang_is_ended"
"$limit" -t 20 sh -c 'setsid sh -c "sleep 50 & sleep 51" & exit 0' 2>/dev/null; is $? 125 "t_process_left_behind_is_noticed"
f=/dev/shm/p3-harness-$$
"$limit" -t 20 sh -c "echo > $f" 2>/dev/null; is $? 125 "t_shared_memory_left_behind_is_noticed"
rm -f "$f"
# sockets of others that come and go all the time are theirs, whatever moment we look at them
others=()
for i in 1 2 3 4; do
	perl -MSocket -e 'my $end = time + 40; while (getppid() == $ARGV[0] && time < $end) {
			my $pid = fork; waitpid($pid, 0), next if $pid; socket(my $s, AF_UNIX, SOCK_STREAM, 0);
			bind($s, pack_sockaddr_un("\0p3-harness.$$")); listen($s, 1); socket(my $c, AF_UNIX, SOCK_STREAM, 0);
			connect($c, pack_sockaddr_un("\0p3-harness.$$")); select(undef, undef, undef, 0.002); exit }' $$ &
	others+=($!)
done
alarms=0
for i in 1 2 3 4 5 6 7 8 9 10; do "$limit" -t 20 true 2>/dev/null || alarms=$((alarms + 1)); done
kill "${others[@]}"
wait "${others[@]}" 2>/dev/null
is $alarms 0 "t_sockets_of_others_are_theirs"
"$limit" -t 20 sh -c 'kill -9 $$' 2>/dev/null; is $? 137 "t_death_by_signal_is_passed_on"
is "$("$multi" -n 3 sh -c 'echo 1..1; echo "ok 1 - x"' 2>/dev/null | tail -n 1)" 1..3 "t_lines_of_all_ranks_are_counted"
"$multi" -n 2 sh -c 'echo 1..1; [ $PTL_MY_RID = 0 ] && kill -9 $$; echo "ok 1 - x"' >/dev/null 2>&1
is $? 1 "t_rank_that_dies_is_noticed"
"$multi" -n 2 sh -c 'echo 1..2; echo "ok 1 - x"' >/dev/null 2>&1; is $? 1 "t_broken_plan_is_noticed"

# the count: a record that keeps only the last hundred lines must tell what was wrong
count() { perl "$P3_SRC/tests/common/count" res 61 1 "$@"; }
mkdir -p res/stress
result() {	# NAME STATUS: TAP from stdin
	cat >"res/$1.tap"
	echo "$2" >"res/$1.rc"
}
printf 'ok 1 - rank 0: t_x\nnot ok 2 - rank 1: t_x\n1..2\n' | result stress/mix 1
{
	echo "# T_SEED=4711"
	for i in $(seq 500); do echo "# something of no interest $i"; done
	echo "# rank 1: t_mix.c:77: n is 3 (0x3), want 4 (0x4)"
} >res/stress/mix.err
said=$(count stress/mix)
is "$(grep -c -e 'stress/mix: not ok 2 - rank 1: t_x' -e 'T_SEED=4711' -e 't_mix.c:77: n is 3' <<<"$said")$(tail -n 1 <<<"$said")" \
	"31 passed, 1 failed" "t_count_says_why"
for i in $(seq 60); do
	for k in $(seq 50); do echo "not ok $k - t_$k"; done | { cat; echo 1..50; } | result "stress/$i" 1
	cp res/stress/mix.err "res/stress/$i.err"
done
said=$(count $(seq -f 'stress/%g' 60))
[ "$(wc -l <<<"$said")" -lt 95 ] && [ "$(grep -c 'stress/[0-9]*: not ok 1 - t_1' <<<"$said")" = 60 ]
is $? 0 "t_count_fits_into_the_end_of_a_record"
echo 1..1 | result stress/hang 124
echo '# time is up: x ran for 1 s' >res/stress/hang.err
is "$(count stress/hang | grep -c -e 'stress/hang: time limit' -e 'time is up: x ran')" 2 "t_count_tells_a_hang"
exit $failed

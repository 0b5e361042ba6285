#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The harness itself: what it must notice, it notices.
limit=$P3_BUILD/tests/common/limit multi=$P3_BUILD/tests/common/multi
echo 1..8
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
"$limit" -t 20 sh -c 'kill -9 $$' 2>/dev/null; is $? 137 "t_death_by_signal_is_passed_on"
is "$("$multi" -n 3 sh -c 'echo 1..1; echo "ok 1 - x"' 2>/dev/null | tail -n 1)" 1..3 "t_lines_of_all_ranks_are_counted"
"$multi" -n 2 sh -c 'echo 1..1; [ $PTL_MY_RID = 0 ] && kill -9 $$; echo "ok 1 - x"' >/dev/null 2>&1
is $? 1 "t_rank_that_dies_is_noticed"
"$multi" -n 2 sh -c 'echo 1..2; echo "ok 1 - x"' >/dev/null 2>&1; is $? 1 "t_broken_plan_is_noticed"
exit $failed

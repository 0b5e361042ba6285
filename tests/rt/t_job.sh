#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Jobs under the real Hydra: ranks, rank orders, binding, exit status, and the end of the job when something dies.
for h in "${MPT_HYDRA:-}" "${MPT_BUILD:+$MPT_BUILD/mpich-portals/bin/mpiexec.hydra}" "$(command -v mpiexec.hydra)"; do
	[ -n "$h" ] && [ -x "$h" ] && break
	h=
done
[ -n "$h" ] || { echo "mpiexec.hydra is not there (./mpt build makes one; Debian package mpich)" >&2; exit 77; }
export MPT_HYDRA=$h
aprun=$P3_SRC/tools/aprun rank=$P3_BUILD/tests/rt/rank
. "${0%/*}/../common/tap.sh"
explain() { sed 's/^/# /' out err >&2; }
run() { "$aprun" "$@" >out 2>err </dev/null; }
lines() { grep -c "$1" out; }

run -n 3 "$rank"
[ $? = 0 ] && [ "$(lines '^rank [012] of 3')" = 3 ] && [ "$(cut -d' ' -f14 out | sort -u | wc -l)" = 1 ]
ok $? t_ranks_and_one_job_id
run -n 1 -e T_VAR=a "$rank" : -n 2 -e T_VAR=b "$rank"
[ $? = 0 ] && grep -q '^rank 0 of 3.*env a' out && [ "$(lines 'env b')" = 2 ]; ok $? t_parts_of_one_job
if grep -qs 'define HAVE_LIBEV' "$P3_BUILD/config.h"; then
	run -n 4 -N 2 "$rank"
	[ $? = 0 ] && grep -q '^rank 1 of 4 launch 1 local 1' out && grep -q '^rank 2 of 4 launch 2 local 0' out
	ok $? t_virtual_nodes
fi
"$MPT_HYDRA" -pmi-port -n 2 "$rank" >out 2>err </dev/null
[ $? = 0 ] && [ "$(lines '^rank [01] of 2')" = 2 ]; ok $? t_pmi_by_port
echo 3-0 >MPICH_RANK_ORDER
MPICH_RANK_REORDER_METHOD=3 run -n 4 "$rank"
[ $? = 0 ] && grep -q '^rank 3 of 4 launch 0' out && grep -q '^rank 0 of 4 launch 3' out; ok $? t_rank_order_file
printf '0,1\n2,17\n' >other
MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=other run -n 4 "$rank"
[ $? != 0 ] && [ "$(grep -c . err)" = 1 ] &&
	grep -q 'error: other:2: rank 17 is out of range: the job has ranks 0 to 3$' err && [ ! -s out ]
ok $? t_bad_rank_order_is_one_line
MPICH_RANK_REORDER_METHOD=7 run -n 4 "$rank"
[ $? != 0 ] && [ "$(grep -c . err)" = 1 ] && [ ! -s out ] &&
	grep -q 'rank 0 .*error: MPICH_RANK_REORDER_METHOD=7: must be a number from 0 to 3$' err
ok $? t_bad_setting_is_one_line
run -n 1 "$rank" : -n 3 -e PTL_SPIN=much "$rank"
[ $? != 0 ] && [ "$(grep -c . err)" = 1 ] && grep -q 'rank 1 .*error: PTL_SPIN=much: must be' err
ok $? t_bad_setting_of_some_ranks_is_one_line
PTL_NAL=smartmap "$MPT_HYDRA" -launcher fork -hosts A,B -ppn 2 -n 4 "$rank" >out 2>err </dev/null
[ $? != 0 ] && grep -q 'ranks on 2 (virtual) nodes; ranks of different nodes need a network' err && [ ! -s out ]
ok $? t_several_nodes_end_with_the_sentence
"$MPT_HYDRA" -n 251 "$rank" >out 2>err </dev/null
[ $? != 0 ] && [ "$(grep -c error err)" = 1 ] && grep -q 'windows for at most 250' err; ok $? t_more_ranks_than_windows
cores=$(nproc)
run -n "$cores" "$rank"
[ $? = 0 ] && [ "$(lines 'over 0')" = "$cores" ]; ok $? t_a_rank_for_each_core_is_not_oversubscribed
run -n $((cores + 1)) "$rank"
[ $? = 0 ] && [ "$(lines 'over 1')" = $((cores + 1)) ]; ok $? t_one_more_is
first=$(sed -n 's/^Cpus_allowed_list:[ \t]*\([0-9]*\).*/\1/p' /proc/self/status)
run -n 2 -cc "$first" "$rank"
[ $? = 0 ] && [ "$(lines 'cores 1 over 1')" = 2 ]; ok $? t_two_ranks_bound_to_one_core_are

run -n 2 "$rank" exit=5 1
[ $? = 5 ] && grep -q 'rank 1 .*exits with status 5' err; ok $? t_failing_rank_ends_the_job_with_its_status
run -n 2 "$rank" done=5
[ $? = 5 ] && ! grep -q error err; ok $? t_status_of_a_rank_that_has_closed
run -n 2 "$P3_BUILD/tests/rt/close"
[ $? = 5 ] && ! grep -q error err; ok $? t_status_after_ptlfini_is_the_programs
run -n 2 "$P3_BUILD/tests/rt/close" early
[ $? = 5 ] && grep -q 'exits with status 5 without PtlFini' err; ok $? t_status_without_ptlfini_ends_the_job
run -n 3 "$rank" kill 1
rc=$?
[ $rc != 0 ] && [ -s err -o "$(lines 'KILLED\|Killed\|signal 9')" != 0 ]; ok $? t_killed_rank_ends_the_job_with_a_message

# How a rank leaves. Whoever has the launcher end the job must first see that what was written has been read: here the
# reader takes its time.
leave=$P3_BUILD/tests/rt/leave
mkfifo to
slowly() {	# STREAM COMMAND...: aprun, where what the ranks write to stream 1 or 2 is read late, to said
	local rc stream=$1
	shift
	{ sleep 0.2; cat; } <to >said &
	run -n 2 sh -c 'exec "$@" '"$stream"'>to' x "$@"
	rc=$?
	wait $!
	return $rc
}
SMARTMAP_FORCE_OFF=windows slowly 2 "$leave" start
[ $? = 1 ] && grep -q 'error: joining the job.*forced off by SMARTMAP_FORCE_OFF' said
ok $? t_failing_start_is_said_before_the_job_ends
SMARTMAP_FORCE_OFF=data PTL_SMARTMAP=yes slowly 2 "$leave" start
[ $? = 1 ] && grep -q 'error: PTL_SMARTMAP=yes cannot be had: ' said
ok $? t_what_one_rank_says_for_all_is_said_before_the_job_ends
said=0
for ((k = 0; k < 8; k++)); do
	SMARTMAP_FORCE_OFF=windows run -n 2 "$leave" start
	grep -q 'forced off by' err && said=$((said + 1))
done
[ $said = 8 ]; ok $? t_each_failing_start_is_said
for how in print locked; do		# locked: while a thread holds the lock of a stream
	slowly 1 "$leave" $how
	[ $? = 1 ] && grep -q '^the last line of rank 1$' said && grep -q 'rank 1 .*exits with status 1 without PtlFini' err
	ok $? "t_last_line_survives_the_end_of_the_job ($how)"
done
run -n 2 "$leave" zero
[ $? = 1 ] && grep -q 'rank 1 .*exits with status 0 without MPI_Finalize' err; ok $? t_mpi_rank_that_exits_early_with_0_ends_the_job
run -n 2 "$leave" late
[ $? = 0 ] && [ ! -s err ]; ok $? t_exit_handler_may_close

# ends HOW NAME: a job of sleeping ranks, something happens to aprun; after that no rank lives
ends() {
	local p i pids left
	: >out		# the ranks of the job before stand there until the shell in the background has emptied it
	"$aprun" -n 3 "$rank" sleep >out 2>err </dev/null &
	p=$!
	for ((i = 0; i < 100; i++)); do
		[ "$(lines '^rank')" = 3 ] && break
		sleep 0.1
	done
	pids=$(sed 's/.* pid //' out)
	kill "-$1" $p
	wait $p 2>/dev/null
	for ((i = 0; i < 50; i++)); do
		left=
		for q in $pids; do
			[ -r /proc/$q/stat ] && ! grep -q '^State:[[:space:]]*[ZX]' /proc/$q/status 2>/dev/null && left="$left $q"
		done
		[ -z "$left" ] && break
		sleep 0.1
	done
	[ "$(wc -w <<<"$pids")" = 3 ] && [ -z "$left" ]
	rc=$?
	ok $rc "$2"
	[ $rc = 0 ] || { echo "# $2: ranks that had started: $(echo $pids), still there:$left"; sed 's/^/# /' out err; } >&2
}
ends KILL t_killed_aprun_leaves_no_rank
ends TERM t_terminated_aprun_leaves_no_rank
ends HUP t_hung_up_aprun_leaves_no_rank
set -m		# a shell without job control starts its background jobs with the interrupt ignored
ends INT t_interrupted_aprun_leaves_no_rank
set +m
# at any moment of the start: no process with our mark is left
bad=
for ((k = 0; k < 16; k++)); do
	"$aprun" -n 3 "$rank" sleep 0 "mark-$$" >out 2>err </dev/null &
	p=$!
	sleep "0.0$(printf %02d $((k * 6)))"
	kill -KILL $p 2>/dev/null
	wait $p 2>/dev/null
	for ((i = 0; i < 50; i++)); do
		left=
		for q in /proc/[0-9]*; do
			grep -qsaF "mark-$$" "$q/cmdline" && grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "$q/status" &&
				left="$left ${q#/proc/}"
		done
		[ -z "$left" ] && break
		sleep 0.1
	done
	[ -z "$left" ] || bad="$bad after-$((k * 6))ms:$left"
done
[ -z "$bad" ]; ok $? t_killed_during_the_start_leaves_no_rank
[ -z "$bad" ] || echo "#$bad" >&2
run -n 2 "$P3_BUILD/tools/ptl_info" --job
[ $? = 0 ] && grep -q '^rank 0 local 0' out && grep -q '^rank 1 local 1' out && grep -q '^job ' out; ok $? t_ptl_info_of_a_job
finish

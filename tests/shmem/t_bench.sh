#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The benchmarks of SHMEM run to their end, with all figures, and find what they check to be right. No time is judged.
build=${P3_BUILD:-.}
build=$(cd "$build" && pwd)

. "${0%/*}/../common/tap.sh"
job()	# RANKS PROGRAM ARGUMENTS
{
	ranks=$1 program=$build/tests/bench/$2 nids= pids= i=0
	shift 2
	rm -f out.* err.* rc.*
	while [ $i -lt "$ranks" ]; do nids=$nids:1; pids=$pids:$((256 + i)); i=$((i + 1)); done
	i=0
	while [ $i -lt "$ranks" ]; do
		(export PTL_MY_RID=$i PTL_NIDMAP=${nids#:} PTL_PIDMAP=${pids#:} PTL_MY_JID=$$
		 timeout 100 "$program" "$@" > out.$i 2> err.$i
		 echo $? > rc.$i) &
		i=$((i + 1))
	done
	wait
	sed 's/^/# /' err.*
}
# run RANKS PROGRAM FIGURE[@BYTES]...: one record at least of each, none without a value
run()
{
	ranks=$1 program=$2 missing=
	shift 2
	job "$ranks" "$program" --quick --json
	for f; do
		case $f in *@*) bytes=${f#*@} ;; *) bytes='[0-9]*' ;; esac
		grep -q "^{\"figure\":\"${f%@*}\",\"bytes\":$bytes,\"value\":[0-9][0-9.e+]*,\"unit\":\"ns\"" \
			out.0 || missing="$missing $f"
	done
	[ -z "$missing" ] || echo "# missing:$missing"
	[ -z "$missing" ] && [ "$(sort -u rc.*)" = 0 ] && [ "$(tail -n 1 out.0)" = "]}" ]
	ok $? "$program on $ranks PEs"
}

BENCH_LINE=$PWD/line
export BENCH_LINE
head -c $((288 * 1024)) /dev/zero > line
run 2 shmem_put put_pingpong get_pingpong barrier put_call p_call get_call fetch_inc bare_inc \
	put_pingpong@1 get_latency@1 get_latency@4096 \
	amo_add amo_inc amo_set amo_fetch amo_fetch_add amo_fetch_inc amo_swap amo_cswap
run 2 shmem_bw memcpy put memcpy_from get memcpy_fresh put_fresh get_fresh put_odd get_odd
run 2 shmem_gups gups gups_ptr gups_threads
run 4 shmem_gups gups
run 2 shmem_stencil stencil stencil_alone
run 3 shmem_stencil stencil
run 1 shmem_stencil stencil
run 2 shmem_coll barrier broadcast fcollect alltoall sum max
run 5 shmem_coll barrier broadcast fcollect alltoall sum max
job 2 shmem_put --only nothing
[ "$(cat rc.0)" = 2 ] && grep -q "no part 'nothing'" err.0
ok $? "an argument that nobody knows is named"
job 3 shmem_put --quick
grep -q 'run it on 2 PEs' err.0
ok $? "so is a wrong number of PEs"
echo "1..$n"

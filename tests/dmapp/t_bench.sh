#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The benchmark of DMAPP runs to its end on 2 and 3 PEs, with all figures, and finds what it checks to be right. No time
# is judged.
build=${P3_BUILD:-.}
build=$(cd "$build" && pwd)
n=0

job()	# RANKS ARGUMENTS
{
	ranks=$1 nids= pids= i=0
	shift
	rm -f out.* err.* rc.*
	while [ $i -lt "$ranks" ]; do nids=$nids:1; pids=$pids:$((256 + i)); i=$((i + 1)); done
	i=0
	while [ $i -lt "$ranks" ]; do
		(export PTL_MY_RID=$i PTL_NIDMAP=${nids#:} PTL_PIDMAP=${pids#:} PTL_MY_JID=$$
		 timeout 50 "$build/tests/bench/dmapp_rma" "$@" > out.$i 2> err.$i
		 echo $? > rc.$i) &
		i=$((i + 1))
	done
	wait
	sed 's/^/# /' err.*
}
for ranks in 2 3; do
	job $ranks --quick --json
	missing=
	for f in put_pingpong shmem_pingpong get put_call put_nbi_call get_call shmem_put_call shmem_put_quiet_call \
		shmem_get_call bw_1 bw_all flight stride_8 stride_64 stride_512 amo_one amo_8k afadd bare \
		rate rate_nb; do
		grep -q "^{\"figure\":\"$f\",\"bytes\":[0-9]*,\"value\":[0-9.e+]*,\"unit\":\"ns\"" out.0 ||
			missing="$missing $f"
	done
	i=0
	while [ $((i += 1)) -le "$ranks" ]; do	# a point for so many PEs
		for f in amo_one amo_8k; do
			grep -q "^{\"figure\":\"$f\",\"bytes\":$i," out.0 || missing="$missing $f:$i"
		done
	done
	[ -z "$missing" ] || echo "# missing:$missing"
	n=$((n + 1))
	if [ -z "$missing" ] && [ "$(sort -u rc.*)" = 0 ] && [ "$(tail -n 1 out.0)" = "]}" ]; then
		echo "ok $n - on $ranks PEs"
	else
		echo "not ok $n - on $ranks PEs"
	fi
done
echo "1..$n"

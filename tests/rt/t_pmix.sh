#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# PMIx through a library that misbehaves (fake_pmix.c): bounded time and a sentence. (Real launchers: t_launchers.sh.)
rank=$P3_BUILD/tests/rt/rank
unset PMI_FD PMI_PORT PMI_ID PMI_RANK PMI_SIZE PTL_PMI
export PMIX_NAMESPACE=fake PMIX_RANK=0 PTL_INIT_TIMEOUT_S=1
. "${0%/*}/../common/tap.sh"
explain() { sed 's/^/# /' out err >&2; }
run() {	# HOW [COMMAND...]
	local how=$1
	shift
	T_PMIX=$how LD_LIBRARY_PATH=$PWD/lib:${LD_LIBRARY_PATH:-} timeout 20 "${@:-$rank}" >out 2>err </dev/null
}
says() {	# HOW TEXT
	run "$1"
	rc=$?
	[ $rc != 0 ] && [ $rc -lt 124 ] && grep -qF -- "$2" out err; ok $? "t_sentence ($1)"
}
mkdir lib
echo 'this is no library' >lib/libpmix.so.2
says none "the launcher speaks PMIx, and its library cannot be loaded"
grep -q 'package libpmix2' out err; ok $? t_the_package_is_named
cp "$P3_BUILD/tests/look/.libs/spoil.so" lib/libpmix.so.2
says other "libpmix.so.2 has no PMIx_Init"
cp "$P3_BUILD/tests/rt/.libs/fake_pmix.so" lib/libpmix.so.2
run well
[ $? = 0 ] && grep -q '^rank 0 of 1 ' out && [ "$(cat err)" = finalized ]; ok $? t_a_job_of_one
says init-hangs "the launcher's PMIx did not answer (PMIx_Init) within 1000 ms"
says init-fails "the launcher's PMIx refused PMIx_Init: UNREACHABLE (-25)"
says no-name "gives no name, rank or size that makes sense"
says rank-outside "gives no name, rank or size that makes sense"
says no-size "gives no name, rank or size that makes sense"
says huge "gives no name, rank or size that makes sense"
says size-is-text "refused PMIx_Init: NOT-FOUND"
says get-gives-nothing "refused PMIx_Init: NOT-FOUND"
says get-fails "refused PMIx_Init: UNREACHABLE"
says no-nodes "refused the nodes of the ranks"
says fence-hangs "the launcher's PMIx did not answer (a fence) within 1000 ms"
says fence-fails "joining the job: the launcher's PMIx refused a fence: UNREACHABLE"
run long-name
[ $? = 0 ] || grep -q 'makes sense' out err; ok $? t_name_without_an_end
run hosts env PTL_LOG=debug "$rank"
grep -q 'rank map: 0=0@0.0 1=1@1.0' err; ok $? t_nodes_by_names_of_hosts
run well "$rank" exit=5
[ $? = 9 ] && grep -q 'aborted with 5' err; ok $? t_failing_rank_ends_the_job
run abort-hangs "$rank" exit=5
[ $? = 5 ] && grep -q 'aborted with 5' err; ok $? t_end_that_hangs_is_given_up
run finalize-hangs
[ $? = 0 ]; ok $? t_goodbye_that_hangs_is_given_up
unset PMIX_RANK
run well
[ $? != 0 ] && grep -q 'PMIX_NAMESPACE is set but PMIX_RANK is not' out err; ok $? t_half_set
finish

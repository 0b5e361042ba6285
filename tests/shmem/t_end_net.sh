#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# A PE of another node is killed, or ends the job, while the others wait, meet, put, get or add there: they end, soon,
# with the right status, and those that found a dead one say which. PEs whose heaps differ do not start.
#
# With "node" instead of a NAL: PEs of one node that reach each other by Portals.
#
#	t_end_net.sh NAL|node

[ "$1" = node ] || export PTL_NAL=${1:-gp}
prog="$P3_BUILD/libtool --mode=execute $P3_BUILD/tests/shmem/end"

. "${0%/*}/../common/tap.sh"
explain() { sed 's/^/# /' out >&2; }

run() {	# WHAT HOW
	local rc

	timeout 40 "$P3_BUILD/tests/common/multi" -n 4 -N 2 $prog "$1" "$2" >out 2>err
	rc=$?
	cat err >>out
	return $rc
}

# how many ranks have ended with this status
ended() {
	grep -c "exit status $1\$" out
}

# What PE 1 of two has to do, or to answer, is never done: who waits for it hears of its end, and of whose.
alone() {	# WHAT SENTENCE [MULTI'S OPTION...]
	local what=$1 says=$2 status

	shift 2
	timeout 30 "$P3_BUILD/tests/common/multi" -n 2 "$@" $prog "$what" kill >out 2>err
	status=$?
	cat err >>out
	[ $status -ne 124 ] && grep -q "PE 1 has ended while $says" err && ! grep -q 'PE 0 has ended' err
}

if [ "$1" = node ]; then
	export PTL_SMARTMAP=no
	for cma in yes no; do
		export PTL_CMA=$cma
		for what in amo late add put get p; do
			alone $what ''
			ok $? "$what, PTL_CMA=$cma: the other PE of the node is killed, this one ends and says so"
		done
	done
	# by an event: what its owner has not done
	alone amo 'operations on it are under way'
	ok $? "what is left to a PE that is dead fails"
	timeout 30 "$P3_BUILD/tests/common/multi" -n 3 $prog idle kill >out 2>err
	[ $? -ne 124 ] && grep -q 'PE 2 has ended while this one waits' err
	ok $? "a PE is killed while another waits for the third"
	echo "1..$n"
	exit $failed
fi
for what in late add put p; do
	alone $what 'operations on it are under way' -N 1
	ok $? "$what: the PE of another node is killed, and named"
done
for what in wait barrier put get amo; do
	run "$what" kill
	status=$?
	[ $status -ne 124 ] && [ "$(grep -c 'has come to its end' out)" = 0 ] &&
		grep -q 'PE 3 has ended' err && grep -q 'rank 3 died of signal 9' out
	ok $? "$what: a PE of another node is killed, the others end"
	run "$what" exit
	status=$?
	[ $status -ne 124 ] && [ "$(grep -c 'has come to its end' out)" = 0 ] && [ "$(ended 7)" -ge 2 ] &&
		[ "$(($(ended 7) + $(grep -c 'died of signal 15' out)))" = 4 ] && ! grep -q 'PE 3 has ended' err
	ok $? "$what: a PE of another node ends the job with 7"
done
run sizes ''
[ $? -ne 124 ] && grep -q 'SHMEM_SYMMETRIC_SIZE is .* on PE' err && [ "$(grep -c 'has come to its end' out)" = 0 ]
ok $? "heaps of different sizes do not start"
finish

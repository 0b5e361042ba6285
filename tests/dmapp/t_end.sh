#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# A PE is killed while another one of its node, or of another node, is in a call of DMAPP that concerns it. Operations
# on a PE of another node return DMAPP_RC_TRANSACTION_ERROR (3). Who waits for memory that the dead one does not write
# any more, or asks for it again and again, ends with a sentence that names it. Nobody hangs.
prog="$P3_BUILD/libtool --mode=execute $P3_BUILD/tests/dmapp/end"
n=0 failed=0

start() {	# PLACE CASE...: all at once
	local place=$1 what options=

	shift
	case $place in nodes*) options='-N 1' ;; esac
	for what; do
		(case $place in
		 nodes-ap) export PTL_NAL=ap ;;
		 node-portals) export PTL_SMARTMAP=no ;;
		 esac
		 timeout 30 "$P3_BUILD/tests/common/multi" -n 2 -k 1 $options $prog $what >out.$place.$what 2>&1
		 echo $? >rc.$place.$what) &
	done
	wait
}

check() {	# SENTENCE PLACE CASE...
	local sentence=$1 place=$2 what f

	shift 2
	start "$place" "$@"
	for what; do
		f=$place.$what
		n=$((n + 1))
		if [ "$(cat rc.$f)" != 124 ] && grep -q "$sentence" out.$f; then
			echo "ok $n - $place: $what"
		else
			echo "not ok $n - $place: $what"
			failed=1
			sed 's/^/# /' out.$f
		fi
	done
}

check 'PE 1 has ended while this one' node lock try set set_test queue progress finalize
check 'PE 1 has ended while' nodes lock set_test finalize
check ': said 3$' nodes put put8 get iput amo nb nb_test nbi nbi_test queue
check ': said 3$' nodes-ap put get amo nb_test nbi
# the memory of a dead PE of the node can be there still; where its part is missing, that is noticed
check 'PE 1 has ended while this one\|: said 3$' node-portals put put8 amo nbi lock
echo "1..$n"
exit $failed

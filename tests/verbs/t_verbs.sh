#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_verbs.sh - RDMA where the device fails, or is not there
#
# Each injection of soft.h under programs of the API suite, which must not notice; the device's log says that it has
# happened. Then: no library, no device, a device on one side only.
b=${P3_BUILD:?} src=${P3_SRC:?}
if [ ! -e "$b/tests/verbs/.libs/libibverbs.so.1" ]; then
	echo "this build has no RDMA (Debian package libibverbs-dev)" >&2
	exit 77
fi
soft=$b/tests/verbs/.libs
here=$PWD log=$PWD/soft.log n=0

ok()	# STATUS NAME
{
	n=$((n + 1))
	[ "$1" = 0 ] || sed 's/^/# /' out err 2>/dev/null | tail -n 40
	[ "$1" = 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

# NAL PROGRAM [VARIABLE=VALUE...]: two ranks on two nodes; its status, its output in out and err
run()
{
	local nal=$1 program=$2
	shift 2
	rm -f "$log"
	(cd "$b" && env PTL_NAL="$nal" LD_LIBRARY_PATH="$soft" SOFT_VERBS_LOG="$log" "$@" \
		"$b/tests/common/multi" -n 2 -N 1 ./libtool --mode=execute "tests/$program") >out 2>err
}

# What the devices have said, but for the last words.
happened()
{
	cut -d' ' -f2- "$log" 2>/dev/null | grep -c "^$1"
}

cases="ap:rnr=7:rnr ap:qp=40:qp ap:late=40:late ap:cq=60:cq ap:qp=11-rnr=3:qp
	ap:late=9:late
	gp:rnr=5:rnr gp:qp=30:qp gp:late=30:late gp:cq=60:cq"
programs="api/t_put api/t_get verbs/t_long"
echo "1..$(($(wc -w <<<"$cases") * $(wc -w <<<"$programs") + 8))"
for c in $cases; do
	IFS=: read -r nal fault what <<<"$c"
	for p in $programs; do
		run "$nal" "$p" PTL_VERBS=yes SOFT_VERBS="${fault//-/:}"
		rc=$?
		times=$(happened "$what")
		[ $rc = 0 ] && [ "$times" -gt 0 ]
		ok $? "$p by $nal, $fault: it happens, and nobody notices"
	done
done

run ap verbs/t_long PTL_VERBS=yes SOFT_VERBS=stale=5
rc=$?
[ $rc = 0 ] && [ "$(happened stale)" -gt 0 ]
ok $? "verbs/t_long by ap: memory that a card does not take is registered again"

for nal in ap gp; do
	run $nal api/t_put PTL_VERBS=yes SOFT_VERBS=none
	[ $? != 0 ] && grep -q "PTL_VERBS=yes: there is no RDMA device here" err && ! grep -q "hang" err
	ok $? "$nal, yes, no device: a sentence, and no job"
	run $nal api/t_put PTL_VERBS=try SOFT_VERBS=none && ! [ -e "$log" ]
	ok $? "$nal, try, no device: by TCP"
done
# from memory to memory, registered once
run ap verbs/t_long PTL_VERBS=yes
[ $? = 0 ] && awk '/end:/ { n++; for (i = 1; i < NF; i++) {
	if ($(i + 1) == "reads") bad += $i < 100
	if ($(i + 1) == "registrations") bad += $i > 20 } } END { exit n != 2 || bad }' "$log"
ok $? "verbs/t_long by ap: cards read, and memory is registered once"
# the device of one rank only: which has a log
cat >one_side <<-END
	#!/bin/sh
	[ "\$PTL_MY_RID" = 0 ] || export SOFT_VERBS=none
	exec "\$@"
END
chmod +x one_side
rm -f "$log"
for nal in ap gp; do
	(cd "$b" && env PTL_NAL=$nal PTL_VERBS=try LD_LIBRARY_PATH="$soft" SOFT_VERBS_LOG="$log" \
		"$b/tests/common/multi" -n 2 -N 1 "$here/one_side" ./libtool --mode=execute tests/api/t_put) >out 2>err
	[ $? = 0 ] && grep -q "end: 0 requests" "$log"
	ok $? "$nal, try, a device on one side: by TCP"
	rm -f "$log"
done

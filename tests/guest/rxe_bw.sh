# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# rxe_bw.sh - in a guest: puts of 1 MiB over soft-RoCE beside ib_write_bw on the same device, in turns; the ratio
#
# RXE_RATIO (0.8) is what is asked of the better of the two NALs. Nothing is asked where ib_write_bw itself falls below
# 20 MB/s: then the guest's processors stand still for longer than the device's time limits, and both measure that.
. "$SRC/tests/guest/rxe.sh"
grep -q 'define HAVE_VERBS' "$P3_BUILD/config.h" || skip_all "this build has no RDMA (Debian package libibverbs-dev)"
rxe_up >&2 || skip_all "no rxe0"
command -v ib_write_bw >/dev/null || skip_all "no ib_write_bw (Debian package perftest)"
export PTL_VERBS=yes
lt="$P3_BUILD/libtool --mode=execute"
retries() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/completer_retry_err; }

# MB/s (10^6) of ib_write_bw, 1 MiB
write_bw()
{
	timeout 60 ib_write_bw -d rxe0 -x 1 -F -s 1048576 -n 100 >/dev/null 2>&1 &
	local server=$!
	for ((i = 0; i < 100; i++)); do
		grep -q ' 00000000:4853 .* 0A ' /proc/net/tcp && break		# port 18515
		sleep 0.1
	done
	timeout 60 ib_write_bw -d rxe0 -x 1 -F -s 1048576 -n 100 --report_gbits 10.2.0.1 |
		awk '$1 == 1048576 { printf "%.1f\n", $4 * 125 }'
	wait $server
}
# the same of puts; in other words than a number: none
put_bw()	# NAL
{
	PTL_NAL=$1 built 120 "$P3_BUILD/tests/common/multi" -n 2 -N 1 $lt "$P3_BUILD/tests/guest/put_bw" || return
	grep -q 'ok .* 1048576 bytes are right' said && sed -n 's/.* \([0-9.]*\) MB.s$/\1/p' said
}
for round in 1 2; do
	for what in "write_bw" "put_bw ap" "put_bw gp"; do
		before=$(retries)
		mbs=$($what)
		echo "# $what: ${mbs:-none} MB/s, $(($(retries) - before)) retries of the device"
		echo "$what:${mbs:-0}" >>all
	done
done
best() { awk -F: -v w="$1" '$1 == w && $2 + 0 > m { m = $2 + 0 } END { print m + 0 }' all; }
ib=$(best write_bw) ap=$(best "put_bw ap") gp=$(best "put_bw gp")
cp all "$OUT/bandwidth"
[ "${ap:-0}" != 0 ] && [ "${gp:-0}" != 0 ] && [ "${ib:-0}" != 0 ]
ok $? "1 MiB over rxe: ib_write_bw $ib MB/s, put by ap $ap, by gp $gp"
line="a put reaches ${RXE_RATIO:-0.8} of ib_write_bw: $(
	awk "BEGIN { if ($ib) printf \"%.2f, %.2f\", $ap / $ib, $gp / $ib }")"
if awk "BEGIN { exit !($ib < 20) }"; then
	ok 0 "$line # SKIP ib_write_bw itself has $ib MB/s: the machine is busy"
else
	awk "BEGIN { exit !(($ap > $gp ? $ap : $gp) >= ${RXE_RATIO:-0.8} * $ib) }"
	ok $? "$line"
fi
finish

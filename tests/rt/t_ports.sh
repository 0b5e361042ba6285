#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# PTL_DEF_PORTLIST and PTL_PID2PORT_FILE say where a process listens; a job with them talks as any other, also directly
# after one that had the same ports; what cannot be is a sentence. Likewise PTL_IFACE: devices, addresses, networks.
build=${P3_BUILD:-.} src=${P3_SRC:-$(dirname "$0")/../..}
cc=$(sed -n 's/^CC = //p' "$build/Makefile")
. "${0%/*}/../common/tap.sh"
explain() { sed 's/^/# /' err.0 err.1 >&2; }
if ! grep -q 'define HAVE_LIBEV' "$build/config.h"; then
	echo "1..0 # SKIP no libev"
	exit 0
fi
# The ring of portals(7), with two ranks on two virtual nodes. Their ports: in $got.
job() {	# VARIABLE=VALUE...
	for r in 0 1; do
		env "$@" PTL_MY_RID=$r PTL_NIDMAP=1:2 PTL_PIDMAP=300:301 PTL_MY_JID=$$ PTL_LOG=info \
			timeout 30 ./ring > out.$r 2> err.$r &
		eval p$r=$!
	done
	rc=0
	wait "$p0" || rc=$?
	wait "$p1" || rc=$?
	got=$(sed -n 's/.*process id \([0-9]*\) listens on TCP port \([0-9]*\)$/\1=\2/p' err.0 err.1)
	got=$(echo $got)
}
awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0 } on' "$src/portals/man/portals.7" |
	sed 's/\\e/\\/g' > ring.c
$cc -I"$src/portals/include" -o ring ring.c -L"$build/portals/.libs" -lportals \
	-Wl,-rpath,"$build/portals/.libs:$build/nal/smartmap/.libs" -Wl,-rpath-link,"$build/nal/smartmap/.libs" || exit
both() { [ "$got" = "300=$a 301=$((a + 1))" ] || [ "$got" = "300=$((a + 1)) 301=$a" ]; }
free() { ! grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$1") [0-9A-F:]* 0A" /proc/net/tcp; }
a=$((20000 + $$ % 9000))
while ! free $a || ! free $((a + 1)) || ! free $((a + 2)); do a=$((a + 3)); done

job PTL_DEF_PORTLIST=any
[ $rc = 0 ] && [ -n "$got" ]; ok $? t_any_port
job PTL_DEF_PORTLIST=$a:$((a + 1))
[ $rc = 0 ] && both; ok $? t_the_ports_of_the_list
job PTL_DEF_PORTLIST=$a-$((a + 1))
[ $rc = 0 ] && both; ok $? t_again_at_once_and_as_a_range
printf '# pid port\n300 %d\n\n7 9\n301\t%d\n' $((a + 1)) $a > map
job PTL_PID2PORT_FILE=map PTL_DEF_PORTLIST=1
[ $rc = 0 ] && [ "$got" = "300=$((a + 1)) 301=$a" ]; ok $? t_the_ports_of_the_file
printf '301 %d\n' $a > map
job PTL_PID2PORT_FILE=map PTL_DEF_PORTLIST=$((a + 2))
[ $rc = 0 ] && [ "$got" = "300=$((a + 2)) 301=$a" ]; ok $? t_who_is_not_in_the_file_takes_one_of_the_list
job PTL_DEF_PORTLIST=$a PTL_INIT_TIMEOUT_S=5
[ $rc != 0 ] && cat err.? | grep -q 'no port to listen at (PTL_DEF_PORTLIST, PTL_PID2PORT_FILE): Address already'
ok $? t_too_few_ports
job PTL_DEF_PORTLIST=$a:x PTL_INIT_TIMEOUT_S=5
[ $rc != 0 ] && grep -q "PTL_DEF_PORTLIST=$a:x: must be ports from 1 to 65535" err.0; ok $? t_a_list_that_is_none
printf '300\n' > map
job PTL_PID2PORT_FILE=map PTL_INIT_TIMEOUT_S=5
[ $rc != 0 ] && grep -q 'PTL_PID2PORT_FILE=map: line 1 is not a process id and a port' err.0
ok $? t_a_file_that_is_none
job PTL_PID2PORT_FILE=nowhere PTL_INIT_TIMEOUT_S=5
[ $rc != 0 ] && grep -q 'PTL_PID2PORT_FILE=nowhere: No such file' err.0; ok $? t_no_file

for i in lo 127.0.0.1 127.7.8.9 127.0.0.0/8 10.255.0.0/16,lo; do
	job PTL_IFACE=$i
	[ $rc = 0 ]; ok $? t_iface_$i
	job PTL_IFACE=$i PTL_NAL=ap PTL_NIC="$build/nal/ap/ptl-nic"
	[ $rc = 0 ]; ok $? t_iface_${i}_of_the_engine
done
if grep -q '^00000000000000000000000000000001 ' /proc/net/if_inet6 2>/dev/null; then
	for i in ::1 ::/64,127.0.0.1 ::1/128; do
		job PTL_IFACE=$i
		[ $rc = 0 ]; ok $? t_iface_$i
		job PTL_IFACE=$i PTL_NAL=ap PTL_NIC="$build/nal/ap/ptl-nic"
		[ $rc = 0 ]; ok $? t_iface_${i}_of_the_engine
	done
else
	n=$((n + 1))
	echo "ok $n - t_iface_of_ipv6 # SKIP no ::1 here"
fi
for i in nosuch0 10.255.0.0/16 2001:db8::/32; do
	job PTL_IFACE=$i PTL_INIT_TIMEOUT_S=5
	[ $rc != 0 ] &&
		grep -q "PTL_IFACE=$i: no device that is up has such a name or address; there are lo 127.0.0.1" err.0
	ok $? t_nothing_is_$i
done
for i in 10.0.0.0/33 10.0.0.0/x lo, eth0/8 ::1/129; do
	job PTL_IFACE=$i PTL_INIT_TIMEOUT_S=5
	[ $rc != 0 ] && grep -q "PTL_IFACE=$i: must be devices, addresses or networks" err.0; ok $? t_no_list_$i
done
echo "1..$n"

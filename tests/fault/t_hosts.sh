#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Jobs on two hosts: network namespaces of our own, which see neither each other's sockets nor each other's 127.0.0.1,
# joined by a pair of Ethernet devices ("data"); each has another to the place where aprun runs ("boss"). Ranks are
# started as on real hosts, with nsenter for ssh. The link is taken down, for a while and for good; is slow; a host is
# killed.
#
#	t_hosts.sh gp|ap whole|again|cut|kill|slow
nal=$1 how=$2
skip() { echo "$*" >&2; exit 77; }

if [ "${T_HOSTS_APART:-}" != yes ]; then
	grep -q 'define HAVE_LIBEV' "$P3_BUILD/config.h" || skip "this build has no network (Debian package libev-dev)"
	for hydra in "${MPT_HYDRA:-}" "${MPT_BUILD:+$MPT_BUILD/mpich-portals/bin/mpiexec.hydra}" \
		"$(command -v mpiexec.hydra)"; do
		[ -n "$hydra" ] && [ -x "$hydra" ] && break
		hydra=
	done
	[ -n "$hydra" ] || skip "mpiexec.hydra is not there (./mpt build makes one; Debian package mpich)"
	command -v nsenter >/dev/null || skip "no nsenter (Debian package util-linux)"
	apart=(unshare -n)
	"${apart[@]}" ip link add a-end type veth peer name b-end 2>/dev/null || apart=(unshare -Urn)
	"${apart[@]}" ip link add a-end type veth peer name b-end 2>/dev/null ||
		skip "no network namespaces joined by veth (root or user namespaces; Debian package iproute2)"
	export MPT_HYDRA=$hydra
	T_HOSTS_APART=yes exec "${apart[@]}" "$0" "$@"
fi

n=0 failed=0 hosts=()
ok() {	# STATUS NAME
	n=$((n + 1))
	[ "$1" = 0 ] && { echo "ok $n - $2"; return; }
	echo "not ok $n - $2"
	failed=1
	tail -n 20 said* err.* out.* >&2
}
die() { echo "Bail out! $*"; exit 1; }
inside() { nsenter -t "${hosts[$1]}" -n "${@:2}"; }
# All that runs on a host, but for what keeps it there.
on_host() {
	local p pid net
	net=$(readlink "/proc/${hosts[$1]}/ns/net")
	for p in /proc/[0-9]*; do
		pid=${p#/proc/}
		[ "$(readlink "$p/ns/net" 2>/dev/null)" = "$net" ] && [ "$pid" != "${hosts[$1]}" ] && echo "$pid"
	done
}
trap 'for h in 0 1; do kill -9 $(on_host $h) "${hosts[$h]}"; done 2>/dev/null' EXIT

ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward	# whoever takes an address of "boss" gets there, too
for h in 0 1; do
	unshare -n sleep 600 &
	hosts[h]=$!
	for ((i = 0; i < 100; i++)); do
		[ "$(readlink "/proc/${hosts[h]}/ns/net")" != "$(readlink /proc/$$/ns/net)" ] && break
		sleep 0.01
	done
	ip link add "boss$h" type veth peer name boss netns "${hosts[h]}" || die "no veth"
	ip addr add "10.53.$h.1/24" dev "boss$h"
	ip link set "boss$h" up
	inside $h ip link set lo up
	inside $h ip addr add "10.53.$h.2/24" dev boss
	inside $h ip link set boss up
	inside $h ip route add default via "10.53.$h.1"
done
inside 0 ip link add data type veth peer name data netns "${hosts[1]}" || die "no veth"
for h in 0 1; do
	inside $h ip addr add "10.54.0.$((h + 1))/24" dev data
	inside $h ip link set data up
done
cat >ssh <<END
#!/bin/sh
# options HOST COMMAND...
while :; do
	case \$1 in
	-o) shift 2 ;;
	-*) shift ;;
	*) break ;;
	esac
done
case \$1 in
10.53.0.2) host=${hosts[0]} ;;
10.53.1.2) host=${hosts[1]} ;;
*) echo "no host \$1" >&2; exit 255 ;;
esac
shift
exec nsenter -t \$host -n sh -c "\$*"
END
cat >one <<'END'
#!/bin/sh
exec "$@" >out.$PMI_RANK 2>err.$PMI_RANK
END
chmod +x ssh one
export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$PWD/ssh HYDRA_IFACE=boss0 PTL_NAL=$nal PTL_IFACE=data T_PAGE=$PWD/page
export T_DOWN="ip link set data down" T_UP="ip link set data up"

# job RANKS PER_HOST PROGRAM...: 0 when it has ended well, in time
job() {
	local ranks=$1 each=$2
	shift 2
	rm -f out.* err.* said
	printf "\\$(printf %03o "$ranks")\\0\\0\\0" >page
	truncate -s 4096 page
	timeout -k 5 60 "$P3_SRC/tools/aprun" -cc none -L 10.53.0.2,10.53.1.2 -n "$ranks" -N "$each" ./one "$@" \
		>said 2>&1 </dev/null
}
# lines NAME: what all ranks have said
lines() {
	local r bad=0
	for r in out.*; do
		grep -q '^1\.\.[1-9]' "$r" && ! grep -q '^not ok\|^Bail' "$r" || bad=1
	done
	ok $bad "$1"
}
quiet() { ! grep -h ' warn: \| error: ' err.* | grep -v "${1:-nothing at all}" >&2; }

# strangers HOST: half of them send what makes no sense, half of them nothing at all, to the first port there: a hundred
# of these, more than are let in at a time. They stay, and the job sends nothing before all of them are there.
strangers() {
	rm -f all.$1
	inside $((1 - $1)) bash -c '
		for ((i = 0; i < 200;)); do
			if { exec {f}<>/dev/tcp/$0/4711; } 2>/dev/null; then
				i=$((i + 1))
				[ $((i % 2)) = 0 ] || head -c 300 /dev/urandom >&$f
			else
				sleep 0.01
			fi
		done
		>all.$1
		sleep 30' "10.54.0.$(($1 + 1))" "$1" >/dev/null 2>&1 &
}

prog=$P3_BUILD/tests/fault/t_hosts
case $how in
whole)
	job 4 2 "$prog" whole && quiet && grep -q . out.3; ok $? "t_a_job_on_two_hosts ($nal)"
	lines "t_each_byte_arrives ($nal)"
	# both listen at the same ports, on all their devices: 127.0.0.1 is somebody else's there
	(unset PTL_IFACE; export PTL_DEF_PORTLIST=4711:4712; job 4 2 "$prog" whole && quiet)
	ok $? "t_the_same_ports_on_both ($nal)"
	lines "t_each_byte_arrives_where_ports_are_the_same ($nal)"
	strangers 0
	strangers 1
	(export PTL_DEF_PORTLIST=4711:4712 T_AFTER=$PWD/all; job 4 2 "$prog" whole && quiet) &&
		[ -e all.0 ] && [ -e all.1 ]
	ok $? "t_strangers_come_to_nothing ($nal)"
	lines "t_each_byte_arrives_among_strangers ($nal)"
	for t in put get nodes; do
		each=1
		[ $t = nodes ] && each=2
		job $((2 * each)) $each "$P3_BUILD/tests/api/t_$t"; ok $? "t_$t on two hosts ($nal)"
		lines "t_all_rules_of_$t ($nal)"
	done
	mpicc=${MPT_BUILD:+$MPT_BUILD/mpich-portals/bin/mpicc}
	if [ -x "$mpicc" ]; then
		"$mpicc" -O2 -pthread "$P3_SRC/tests/mpich/t_order.c" -o mpi >out.cc 2>&1 && job 4 2 ./mpi && quiet
		ok $? "t_an_mpi_program_on_two_hosts ($nal)"
	else
		n=$((n + 1))
		echo "ok $n - t_an_mpi_program_on_two_hosts ($nal) # SKIP no mpicc of ours (./mpt build)"
	fi
	export T_PATH=$([ "$nal" = ap ] && echo ap || echo net)
	job 2 1 "$P3_BUILD/tests/conform/t_conform"; ok $? "t_conform on two hosts ($nal)"
	lines "t_all_scripts ($nal)" ;;
again)
	job 4 2 "$prog" again && quiet; ok $? "t_the_link_is_down_for_a_while ($nal)"
	lines "t_all_arrives ($nal)" ;;
cut)
	export PTL_INIT_TIMEOUT_S=1
	job 4 2 "$prog" cut; ok $? "t_the_link_is_down_for_good ($nal)"
	lines "t_each_host_goes_on_by_itself ($nal)"
	grep -q 'warn: the connection to .*node 1 has failed: ' err.* &&
		grep -q 'warn: the connection to .*node 0 has failed: ' err.*
	ok $? "t_both_say_whom_they_have_lost ($nal)"
	quiet 'warn: the connection to .*node [01] has failed: '; ok $? "t_nothing_else_is_said ($nal)" ;;
kill)
	job 4 2 "$prog" kill &
	pid=$!
	for ((i = 0; i < 300; i++)); do		# word 0 of the page
		[ "$(od -An -tu8 -j16 -N8 page 2>/dev/null | tr -d ' ')" = 1 ] && break
		sleep 0.1
	done
	[ $i -lt 300 ]; ok $? "t_the_job_runs ($nal)"
	begin=$SECONDS
	kill -9 $(on_host 1)
	wait $pid
	rc=$?
	[ $rc != 0 ] && [ $rc != 124 ] && [ $((SECONDS - begin)) -lt 15 ]
	ok $? "t_a_host_is_killed_and_the_job_ends ($nal)"
	for ((i = 0; i < 100; i++)); do
		[ -z "$(on_host 0)" ] && break
		sleep 0.1
	done
	[ -z "$(on_host 0)" ]; ok $? "t_nothing_is_left_on_the_other_host ($nal)" ;;
slow)
	for h in 0 1; do
		inside $h tc qdisc add dev data root netem delay 20ms 2>tc.err ||
			skip "no netem in this kernel (sch_netem): $(head -n 1 tc.err)"
	done
	job 4 2 "$prog" whole && quiet; ok $? "t_a_slow_link ($nal)"
	lines "t_each_byte_arrives_late ($nal)" ;;
esac
echo "1..$n"
exit $failed

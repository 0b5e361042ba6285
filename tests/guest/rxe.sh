# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# rxe.sh - soft-RoCE in a guest; sourced by the scripts of this folder that run there
#
#	rxe_up			rxe0 on a dummy device (10.2.0.1), or, of two guests, on the wire between them
#	rxe_packets		how many it has sent so far
#	check STATUS NAME	a line of TAP; done_: the plan

n=0 failed=0
check()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
	fi
}
done_() { echo "1..$n"; exit $failed; }
skip_all() { echo "1..0 # SKIP $*"; exit 0; }

# What the user side needs and this machine lacks: links into the unpacked tree, in the guest's own layer.
user_side()
{
	local t=$CACHE/user/root m
	m=$(cd "$t/usr/lib" && ls -d ./*-linux-gnu)
	mkdir -p /etc/libibverbs.d "/usr/lib/$m/libibverbs"
	cp -sn "$t"/etc/libibverbs.d/* /etc/libibverbs.d/
	cp -sn "$t/usr/lib/$m/libibverbs"/* "/usr/lib/$m/libibverbs/"
	cp -sn "$t/usr/lib/$m"/*.so.* "/usr/lib/$m/"
} 2>/dev/null

rxe_up()
{
	local dev=dm0
	user_side
	modprobe -a rdma_rxe ib_uverbs rdma_ucm		# or built in
	[ -d /sys/module/rdma_rxe ] || return 1
	if [ -n "$(ls -d /sys/class/net/eth0 2>/dev/null)" ]; then
		dev=eth0
		ip link set eth0 mtu 1500
	else
		ip link add dm0 type dummy && ip addr add 10.2.0.1/24 dev dm0 && ip link set dm0 mtu 4200 up || return 1
	fi
	rdma link add rxe0 type rxe netdev $dev || return 1
	for ((i = 0; i < 100; i++)); do
		grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state && return 0
		sleep 0.1
	done
	return 1
}

rxe_packets() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; }

# A launcher: ours, or Debian's.
hydra()
{
	for MPT_HYDRA in "$MPT_BUILD/mpich-portals/bin/mpiexec.hydra" "$CACHE/user/root/usr/bin/mpiexec.hydra"; do
		[ -x "$MPT_HYDRA" ] && export MPT_HYDRA && return
	done
	return 1
}

# built SECONDS COMMAND...: its output in said, its errors in err
built()
{
	local limit=$1
	shift
	timeout -k 5 "$limit" "$@" >said 2>err </dev/null
	local rc=$?
	[ $rc = 0 ] || { echo "#### $* ($rc)"; tail -n 20 said; tail -n 40 err; } >&2
	return $rc
}

# The engine of this build.
export PTL_NIC=$P3_BUILD/nal/ap/ptl-nic

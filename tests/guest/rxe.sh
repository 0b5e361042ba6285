# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# rxe.sh - soft-RoCE in a guest; sourced by the scripts of this folder that run there
#
#	rxe_up			rxe0 on a dummy device (10.2.0.1), or, of two guests, on the wire between them
#	rxe_packets		how many it has sent so far
#	and what in_guest.sh has

. "$SRC/tests/guest/in_guest.sh"

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

# The engine of this build.
export PTL_NIC=$P3_BUILD/nal/ap/ptl-nic

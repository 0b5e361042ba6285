#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_eth_jobs.sh - MPI and SHMEM by interfaces in the kernel on virtual nodes of one machine; ranks in network
# namespaces that a pair of devices joins; ranks that are killed; the device that goes
. "${SRC:?}/kernel-nal/test/g_lib.sh"
hydra || skip_all "no mpiexec.hydra (./mpt build makes one)"
ip link set lo up
modprobe veth 2>/dev/null			# or built in
kmod insmod "$KO" netdev=lo
ok $? "the module is loaded, with a device"
export PTL_KERNEL=yes PTL_LOG=debug
lt="$P3_BUILD/libtool --mode=execute"
frames() { sed -n 's/.*kernel: frames out \([0-9]*\).*/\1/p' err | awk '{ n += $1 } END { print n + 0 }'; }
held() { sed -n 's/.*held for a page \([0-9]*\).*/\1/p' err | awk '{ n += $1 } END { print n + 0 }'; }
mpi_program tests/guest/mpi_there.c there

# job NAME RANKS PER_NODE FRAMES COMMAND...: at least so many frames
job()
{
	local name=$1 ranks=$2 per=$3 least=$4
	shift 4
	built 100 "$SRC/tools/aprun" -cc none -n "$ranks" -N "$per" "$@" && grep -q '^there and back: ' said &&
		[ "$(frames)" -ge "$least" ]
	ok $? "$name, $ranks ranks, $per on a node: $(head -n 1 said), $(frames) frames"
}
export SHMEM_SYMMETRIC_SIZE=32m
job SHMEM 2 1 1000 $lt "$P3_BUILD/tests/guest/shmem_there"
job SHMEM 4 2 1000 $lt "$P3_BUILD/tests/guest/shmem_there"
SHMEM_SYMMETRIC_SIZE=128m job "SHMEM, a heap that is not pinned" 2 1 1000 $lt "$P3_BUILD/tests/guest/shmem_there"
[ "$(held)" -gt 0 ]
ok $? "pages of it were looked up ($(held) times)"
if [ -x there ]; then
	job MPI 2 1 1000 ./there
	job MPI 4 2 1000 ./there
else
	ok 0 "MPI # SKIP no mpicc (./mpt build makes one)"
fi

# t_kill: one of four is killed, the others go on
for us in 2000 20000 90000; do
	T_SEED=$us T_KILL_US=$us timeout 60 "$multi" -n 4 -N 2 -k 3 "$(prog tests/fault/t_kill)" >said 2>err
	[ $? = 0 ] && [ "$(grep -c '^ok' said)" = 3 ]
	ok $? "a rank that is killed after $us us"
done

# The device goes: what is under way ends, and nothing keeps it.
kmod rmmod portals_gp
ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up
kmod insmod "$KO" netdev=v0
timeout 200 "$multi" -n 2 -N 1 "$(prog tests/api/t_put)" >said 2>err &
sleep 2
timeout 20 ip link del v0
ok $? "the device can go while interfaces are bound to it"
wait $!
rc=$?
[ $rc != 0 ] && [ $rc != 124 ]
ok $? "and the job ends, not well ($rc)"
kmod rmmod portals_gp

# Two namespaces, each with a device of the same name
ip link add e0 type veth peer name e1
for i in 0 1; do
	ip netns add ns$i && ip link set e$i netns ns$i && ip -n ns$i link set e$i name eth9 up
	ip -n ns$i link set lo up
done
kmod insmod "$KO" netdev=eth9
cat >inside <<'END'
#!/bin/bash
# In the namespace of our rank.
exec ip netns exec ns$((PMI_RANK % 2)) "$@"
END
chmod +x inside
job "SHMEM, a namespace each" 2 1 1000 ./inside $lt "$P3_BUILD/tests/guest/shmem_there"
[ ! -x there ] || job "MPI, a namespace each" 2 1 1000 ./inside ./there
ip -n ns0 -s link show eth9 | awk '/RX/ { getline; n = $2 } END { exit !(n > 1000) }'
ok $? "by the wire between them"
echo 3 >/sys/module/portals_gp/parameters/peer_timeout
built 100 "$SRC/tools/aprun" -cc none -n 2 -N 1 ./inside $lt "$P3_BUILD/kernel-nal/test/eth_cut" \
	"ip link set eth9 down" "ip link set eth9 up"
[ "$(grep -c '^rank [01] good' said)" = 2 ]
ok $? "the wire is cut during a put: $(tr '\n' ';' <said)"
kmod rmmod portals_gp
ok $? "the module is unloaded"
kernel_finish

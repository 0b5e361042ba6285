#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The same jobs under each launcher that there is: Hydra, srun with a Slurm of our own (root; one machine, nothing
# of the system's is touched), Open MPI's mpirun, Hydra over ssh with an sshd of our own. An argument says which:
#	hydra | slurm | openmpi | ssh
rank=$P3_BUILD/tests/rt/rank job=$P3_BUILD/tests/clients/job
unset PMI_FD PMI_PORT PMI_ID PMI_RANK PMI_SIZE PMIX_NAMESPACE PMIX_RANK PTL_PMI
. "${0%/*}/../common/tap.sh"
explain() { sed 's/^/# /' out err >&2; }
skip() { echo "$*" >&2; exit 77; }
need() {	# PACKAGE PROGRAM...
	local p=$1 f
	shift
	for f; do
		command -v "$f" >/dev/null || skip "no $f (Debian: $p)"
	done
}
find_hydra() {
	local built=${MPT_BUILD:+$MPT_BUILD/mpich-portals/bin/mpiexec.hydra}
	for hydra in "${MPT_HYDRA:-}" "$built" "$(command -v mpiexec.hydra)"; do
		[ -n "$hydra" ] && [ -x "$hydra" ] && return
	done
	skip "mpiexec.hydra is not there (./mpt build makes one; Debian package mpich)"
}
# ends NAME STATUS COMMAND...: shmem_global_exit() is the status of the job, each time, and what was written is seen
ends() {
	local name=$1 status=$2 how good=0 seen=0 zero=0 end=$P3_BUILD/tests/shmem/end
	shift 2
	for how in wait wait test; do
		timeout 60 "$@" -n 3 "$end" $how exit >out 2>err </dev/null
		rc=$?
		[ $rc != 0 ] && [ $rc != 124 ] && { [ "$status" = any ] || [ $rc = 7 ]; } &&
			! grep -q 'has come to its end' out && good=$((good + 1))
		timeout 60 "$@" -n 3 "$end" $how exit0 >out 2>err </dev/null && [ ! -s err ] && zero=$((zero + 1))
		[ "$(grep -c 'PE [012] was here' out)" = 3 ] && seen=$((seen + 1))
	done
	[ $good = 3 ]; ok $? "t_status_of_global_exit ($name)"
	[ $zero = 3 ]; ok $? "t_global_exit_with_0 ($name)"
	[ $seen = 3 ]; ok $? "t_global_exit_flushes ($name)"
}
# jobs NAME STATUS COMMAND...: what each launcher must be able to do; STATUS: of a rank that fails with 5 (any: not 0)
jobs() {
	local name=$1 status=$2 rc
	shift 2
	timeout 60 "$@" -n 3 "$rank" >out 2>err </dev/null
	[ $? = 0 ] && [ "$(grep -c '^rank [012] of 3 launch [012] local [012] ' out)" = 3 ] &&
		[ "$(cut -d' ' -f14 out | sort -u | wc -l)" = 1 ] && [ ! -s err ]
	ok $? "t_ranks_of_one_job ($name)"
	timeout 60 "$@" -n 2 "$rank" exit=5 1 >out 2>err </dev/null
	rc=$?
	[ $rc != 0 ] && [ $rc != 124 ] && { [ "$status" = any ] || [ $rc = "$status" ]; } &&
		grep -q 'rank 1 .*exits with status 5 without PtlFini' err
	ok $? "t_failing_rank_ends_the_job ($name)"
	timeout 60 "$@" -n 2 "$rank" done=5 >out 2>err </dev/null
	[ $? = 5 ] && ! grep -q ' error: this rank' err; ok $? "t_status_of_a_rank_that_has_closed ($name)"
	echo 2,0,1 >MPICH_RANK_ORDER
	MPICH_RANK_REORDER_METHOD=3 timeout 60 "$@" -n 3 "$rank" >out 2>err </dev/null
	[ $? = 0 ] && grep -q '^rank 2 of 3 launch 0' out && grep -q '^rank 0 of 3 launch 1' out &&
		grep -q '^rank 1 of 3 launch 2' out
	ok $? "t_rank_order ($name)"
	rm MPICH_RANK_ORDER
	timeout 60 "$@" -n 2 "$job" >out 2>err </dev/null
	[ $? = 0 ] && [ "$(grep -c '^rank [01] of 2 is well' out)" = 2 ] && [ ! -s err ]
	ok $? "t_words_and_messages ($name)"
	ends "$name" "$status" "$@"
	grep -qs 'define HAVE_LIBEV' "$P3_BUILD/config.h" || return
	PTL_PES_PER_NODE=1 timeout 60 "$@" -n 2 "$job" >out 2>err </dev/null
	[ $? = 0 ] && [ "$(grep -c '^rank [01] of 2 is well' out)" = 2 ] && [ ! -s err ]
	ok $? "t_between_virtual_nodes ($name)"
	PTL_PES_PER_NODE=1 ends "$name, nodes" "$status" "$@"
	PTL_PES_PER_NODE=1 timeout 60 "$@" -n 2 "$P3_BUILD/tools/ptl_info" --job >out 2>err </dev/null
	[ $? = 0 ] && grep -q '^job .* 2 ranks on 2 nodes' out && grep -q '^rank 1 local 0 node 1 .*; windows' out
	ok $? "t_values_with_any_character ($name)"
}
killed_rank() {	# NAME COMMAND...
	local name=$1
	shift
	timeout 60 "$@" -n 2 "$rank" kill 1 >out 2>err </dev/null
	rc=$?
	[ $rc != 0 ] && [ $rc != 124 ]; ok $? "t_killed_rank_ends_the_job ($name)"
}
# A file of our own in /tmp: sockets there have short names.
own_folder() {
	d=$(mktemp -d /tmp/p3-launch.XXXXXX) || exit 1
	trap cleanup EXIT
}
cleanup() {
	[ -z "${daemons:-}" ] || kill $daemons 2>/dev/null
	[ ! -s "$d/munged.pid" ] || kill "$(cat "$d/munged.pid")" 2>/dev/null
	wait
	for ((i = 0; i < 100; i++)); do		# what the daemons have started ends by itself
		grep -qslaF "$d" /proc/[0-9]*/cmdline || break
		sleep 0.1
	done
	rm -rf "$d"
}

do_hydra() {
	find_hydra
	jobs PMI-1 5 "$hydra"
	# Hydra's PMI-2 does not know "abort": it ends the job for that, with a status of its own
	export PTL_PMI=pmi2
	jobs PMI-2 any "$hydra"
	killed_rank PMI-2 "$hydra"
	"$hydra" -pmi-port -n 2 "$rank" >out 2>err </dev/null
	[ $? != 0 ] && grep -q 'PTL_PMI=pmi2, but the launcher has not set PMI_FD' out err; ok $? t_no_pmi2_by_port
	export PTL_PMI=pmix
	"$hydra" -n 2 "$rank" >out 2>err </dev/null
	[ $? != 0 ] && grep -q 'PTL_PMI=pmix, but the launcher has not set PMIX_NAMESPACE' out err
	ok $? t_no_pmix_of_hydra
	unset PTL_PMI		# a job inside a process of another one: what is inside wins
	PMIX_NAMESPACE=outer PMIX_RANK=7 timeout 60 "$hydra" -n 2 "$rank" >out 2>err </dev/null
	[ $? = 0 ] && [ "$(grep -c '^rank [01] of 2 ' out)" = 2 ]; ok $? t_launcher_inside_wins
}

do_openmpi() {
	need openmpi-bin mpirun.openmpi
	ldconfig -p | grep -q 'libpmix\.so\.2' || skip "no libpmix.so.2 (Debian: libpmix2)"
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
	export OMPI_MCA_orte_tmpdir_base=/tmp
	jobs PMIx 5 mpirun.openmpi
	killed_rank PMIx mpirun.openmpi
	timeout 60 mpirun.openmpi -n 2 env PTL_PMI=pmi1 "$rank" >out 2>err </dev/null
	[ $? != 0 ] && grep -q 'PTL_PMI=pmi1, but the launcher has not set PMI_FD' out err; ok $? t_no_pmi1_of_openmpi
}

start_slurm() {
	local host key
	need slurm-wlm srun slurmctld slurmd sinfo
	need munge munged
	[ "$(id -u)" = 0 ] || skip "slurmd wants to be root"
	own_folder
	host=$(hostname -s) key=$((20000 + $$ % 10000))
	chmod 755 "$d"
	mkdir "$d/spool" "$d/state"
	head -c 1024 /dev/urandom >"$d/munge.key"
	chmod 400 "$d/munge.key"
	munged --force --key-file="$d/munge.key" --socket="$d/munge.sock" --pid-file="$d/munged.pid" \
		--log-file="$d/munged.log" --seed-file="$d/munge.seed" >"$d/munged.out" 2>&1 ||
		skip "munged does not start: $(tail -n 1 "$d/munged.out")"
	cat >"$d/slurm.conf" <<-END
		ClusterName=p3
		SlurmctldHost=$host(127.0.0.1)
		SlurmUser=root
		SlurmdUser=root
		SlurmctldPort=$key
		SlurmdPort=$((key + 1))
		AuthType=auth/munge
		AuthInfo=socket=$d/munge.sock
		CredType=cred/munge
		StateSaveLocation=$d/state
		SlurmdSpoolDir=$d/spool
		SlurmctldPidFile=$d/slurmctld.pid
		SlurmdPidFile=$d/slurmd.pid
		SlurmctldLogFile=$d/slurmctld.log
		SlurmdLogFile=$d/slurmd.log
		ProctrackType=proctrack/pgid
		TaskPlugin=task/none
		SwitchType=switch/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		JobAcctGatherType=jobacct_gather/none
		ReturnToService=2
		SlurmdParameters=config_overrides
		MailProg=/bin/true
		NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
		PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
	END
	echo CgroupPlugin=cgroup/v1 >"$d/cgroup.conf"
	export SLURM_CONF=$d/slurm.conf
	slurmctld -D >"$d/ctld.out" 2>&1 &
	daemons=$!
	slurmd -D -N "$host" >"$d/slurmd.out" 2>&1 &
	daemons="$daemons $!"
	for ((i = 0; i < 100; i++)); do
		sinfo -h -o %t 2>/dev/null | grep -q idle && return
		sleep 0.1
	done
	skip "Slurm does not start here: $(grep -h 'error' "$d"/slurmd.out "$d"/ctld.out | tail -n 1)"
}

# MPICH's own client and ours on one connection, with the libraries of this build.
mpi_program() {
	local cc=${MPT_BUILD:-}/mpich-portals/bin/mpicc
	[ -x "$cc" ] || { echo "no MPI program: ./mpt build makes mpicc" >&2; return; }
	cat >mpi.c <<-END
		#include <mpi.h>
		#include <stdio.h>
		int main(int argc, char **argv)
		{
			int rank, sum;

			MPI_Init(&argc, &argv);
			MPI_Comm_rank(MPI_COMM_WORLD, &rank);
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			printf("sum %d\n", sum);
			MPI_Finalize();
			return 0;
		}
	END
	"$cc" mpi.c -o mpi >out 2>err || { ok 1 t_mpi_program_is_built; return; }
	local libs=$P3_BUILD/portals/.libs:$P3_BUILD/nal/smartmap/.libs
	LD_LIBRARY_PATH=$libs timeout 60 srun -Q --mpi=pmi2 -n 3 ./mpi >out 2>err </dev/null
	[ $? = 0 ] && [ "$(grep -c '^sum 3' out)" = 3 ]; ok $? t_mpi_under_srun
	LD_LIBRARY_PATH=$libs timeout 60 srun -Q --mpi=pmix -n 2 ./mpi >out 2>err </dev/null
	[ $? != 0 ] && grep -q 'MPI joins its job by PMI-1, and this launcher speaks PMIx' out err
	ok $? t_mpi_under_pmix_ends_with_the_sentence
}

do_slurm() {
	start_slurm
	local kinds
	kinds=$(srun --mpi=list 2>&1)
	# srun's own words about a job that it ends are no errors of ours: only in the first test stderr must be empty
	if grep -q pmi2 <<<"$kinds"; then
		jobs "srun PMI-1" any srun -Q -K --mpi=pmi2
		PTL_PMI=pmi2 jobs "srun PMI-2" any srun -Q -K --mpi=pmi2
		PTL_PMI=pmi2 killed_rank "srun PMI-2" srun -Q -K --mpi=pmi2
		killed_rank "srun PMI-1" srun -Q -K --mpi=pmi2
	fi
	if grep -q pmix <<<"$kinds"; then
		jobs "srun PMIx" any srun -Q --mpi=pmix
		killed_rank "srun PMIx" srun -Q --mpi=pmix
	fi
	mpi_program
	timeout 60 srun -Q --mpi=none -n 2 "$rank" >out 2>err </dev/null
	[ $? != 0 ] && grep -q 'srun has started 2 tasks that cannot find each other: .*--mpi=pmi2' out err
	ok $? t_tasks_without_pmi_are_refused
	timeout 60 srun -Q --mpi=none -n 1 "$rank" >out 2>err </dev/null
	[ $? = 0 ] && grep -q '^rank 0 of 1' out; ok $? t_one_task_is_alone
}

# Hosts by ssh: two names of this machine, an sshd for us alone.
do_ssh() {
	local sshd port
	find_hydra
	sshd=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd) || skip "no sshd (Debian: openssh-server)"
	need openssh-client ssh ssh-keygen
	own_folder
	port=$((30000 + $$ % 10000))
	ssh-keygen -q -t ed25519 -N '' -f "$d/host" &&
		ssh-keygen -q -t ed25519 -N '' -f "$d/user" || skip "ssh-keygen fails"
	cp "$d/user.pub" "$d/keys"
	local apart=()
	if [ "$(id -u)" = 0 ] && [ ! -d /run/sshd ]; then	# sshd as root wants that folder: in a /run of its own
		apart=(unshare -m sh -c 'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec "$@"' sh)
		"${apart[@]}" true 2>/dev/null || skip "no /run/sshd, which sshd wants where it runs as root"
	fi
	cat >"$d/sshd_config" <<-END
		Port $port
		ListenAddress 127.0.0.1
		HostKey $d/host
		PidFile $d/sshd.pid
		AuthorizedKeysFile $d/keys
		StrictModes no
		UsePAM no
		PasswordAuthentication no
		PermitRootLogin prohibit-password
	END
	# names that nobody but this ssh knows: Hydra takes what has an address of this machine for local, and forks
	printf 'Host p3-one p3-two localhost\nHostName 127.0.0.1\n' >"$d/ssh_config"
	cat >"$d/ssh" <<-END
		#!/bin/sh
		exec ssh -F $d/ssh_config -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
			-o LogLevel=ERROR -o IdentitiesOnly=yes -i $d/user -p $port "\$@"
	END
	chmod +x "$d/ssh"
	"${apart[@]}" "$sshd" -D -e -f "$d/sshd_config" 2>"$d/sshd.err" &
	daemons=$!
	for ((i = 0; i < 50; i++)); do
		"$d/ssh" localhost true 2>err </dev/null && break
		kill -0 $daemons 2>/dev/null || break
		sleep 0.1
	done
	"$d/ssh" localhost true >out 2>err </dev/null ||
		skip "no login at an sshd of our own: $(cat "$d/sshd.err" err | tail -n 1)"
	export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$d/ssh MPT_HYDRA=$hydra
	# -iface: the ranks' hosts find the launcher by its address
	local a=$P3_SRC/tools/aprun logins
	logins=$(grep -c 'Accepted publickey' "$d/sshd.err")
	HYDRA_IFACE=lo timeout 60 "$a" -cc none -L p3-one,p3-two -n 2 "$rank" >out 2>err </dev/null
	[ $? = 0 ] && [ "$(grep -c '^rank [01] of 2 .* local 0 ' out)" = 2 ] &&
		[ "$(grep -c 'Accepted publickey' "$d/sshd.err")" -ge $((logins + 4)) ]	# our question, and Hydra
	ok $? t_hosts_by_ssh
	printf 'p3-one\np3-two\n' >hosts
	HYDRA_IFACE=lo timeout 60 "$a" -cc none -l hosts -n 4 -N 2 "$rank" >out 2>err </dev/null
	[ $? = 0 ] && grep -q '^rank 1 of 4 launch 1 local 1' out && grep -q '^rank 2 of 4 launch 2 local 0' out
	ok $? t_file_of_hosts
	grep -qs 'define HAVE_LIBEV' "$P3_BUILD/config.h" || return
	HYDRA_IFACE=lo timeout 60 "$a" -cc none -L p3-one,p3-two -n 2 "$job" >out 2>err </dev/null
	[ $? = 0 ] && [ "$(grep -c '^rank [01] of 2 is well' out)" = 2 ] && [ ! -s err ]; ok $? t_messages_between_hosts
	HYDRA_IFACE=lo timeout 60 "$a" -cc none -L p3-one,p3-two -n 2 "$rank" exit=5 1 >out 2>err </dev/null
	[ $? = 5 ] && grep -q 'rank 1 .*exits with status 5' err; ok $? t_failing_rank_on_another_host
	timeout 60 "$a" -L p3-one,no-such-host.invalid -n 2 "$rank" >out 2>err </dev/null
	[ $? = 2 ] && grep -q '^aprun: host no-such-host.invalid cannot be reached by ssh: .' err && [ ! -s out ]
	ok $? t_unknown_host_is_said_before_anything_starts
}

case ${1:-} in
hydra | slurm | openmpi | ssh) "do_$1" ;;
*) echo "which launcher: hydra, slurm, openmpi, ssh?" >&2; exit 2 ;;
esac
finish

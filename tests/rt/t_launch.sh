#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# aprun and yod: what they make of their options (--dry-run), and what they refuse.
tools=$P3_SRC/tools
printf '#!/bin/sh\nexit 0\n' >hydra
chmod +x hydra
export MPT_HYDRA=$PWD/hydra
unset MPT_FRONT
. "${0%/*}/../common/tap.sh"
# gives NAME WANT COMMAND...: standard output, without the path of Hydra
gives() {
	local name=$1 want=$2 got
	shift 2
	got=$("$@" 2>err </dev/null)
	got=${got#"$MPT_HYDRA "}
	[ "$got" = "$want" ] && [ ! -s err ]
	ok $? "$name"
	[ "$got" = "$want" ] && [ ! -s err ] || { echo "# got: $got"; echo "# want: $want"; cat err; } >&2
}
# refuses NAME PART COMMAND...: one line with PART on stderr, status 2, nothing on stdout
refuses() {
	local name=$1 part=$2 rc
	shift 2
	"$@" >out 2>err </dev/null
	rc=$?
	[ $rc = 2 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$part" err
	ok $? "$name"
	[ $rc = 2 ] && [ ! -s out ] && grep -qF -- "$part" err || { echo "# status $rc, want '$part' in:"; cat err; } >&2
}
a() { "$tools/aprun" --dry-run "$@"; }
y() { "$tools/yod" -dry-run "$@"; }

gives t_defaults '-bind-to none -n 1 ./p' a -cc none ./p
gives t_ranks '-bind-to none -n 4 ./p a b' a -cc none -n 4 ./p a b
gives t_attached_and_long_forms '-bind-to none -n 4 ./p' a -cc none --pes=4 -N8 ./p
gives t_program_options_stay_the_programs '-bind-to none -n 1 ./p -n 7 --help -N' a -cc none ./p -n 7 --help -N
gives t_virtual_nodes '-bind-to none -genv PTL_PES_PER_NODE 2 -n 8 ./p' a -cc none -n 8 -N 2 ./p
gives t_virtual_nodes_count_all_parts '-bind-to none -genv PTL_PES_PER_NODE 2 -n 2 ./p : -n 2 ./q' \
	a -cc none -n 2 -N 2 ./p : -n 2 ./q
gives t_two_dashes_end_the_options '-bind-to none -n 2 -p' a -cc none -n 2 -- -p
gives t_quoting_survives "-bind-to none -n 1 ./p a\\ b \\'c \\* ''" a -cc none ./p 'a b' "'c" '*' ''
gives t_parts_of_one_job '-bind-to none -n 1 ./a x : -n 2 -env V w ./b' a -cc none -n 1 ./a x : -n 2 -e V=w ./b
gives t_variables "-bind-to none -n 1 -env A b=c -env D '' ./p" a -cc none -e A=b=c --environment-override D= ./p
gives t_list_of_processors '-bind-to user:3\,0\,1\,2\,3 -n 5 ./p' a -cc 3,0-2 -n 5 ./p
gives t_list_for_each_rank '-bind-to user:0+1\,2+3\,0+1 -n 3 ./p' a -cc 0,1:2-3 -n 3 ./p
gives t_numa_nodes '-bind-to numa -n 2 ./p' a -cc numa_node -n 2 ./p
gives t_quiet_bypass_share '-bind-to none -n 1 ./p' a -q -b -F share -cc none ./p
gives t_debug '-bind-to none -verbose -n 1 ./p' a -D 1 -cc none ./p
gives t_many_ranks_are_not_bound "-bind-to none -n 250 ./p" a -n 250 ./p
first=$(sed -n 's/^Cpus_allowed_list:[ \t]*\([0-9]*\).*/\1/p' /proc/self/status)
gives t_own_affinity_is_obeyed "-bind-to user:$first -n 1 ./p" taskset -c "$first" "$tools/aprun" --dry-run ./p
gives t_one_rank_more_than_cores "-bind-to none -n 2 ./p" taskset -c "$first" "$tools/aprun" --dry-run -n 2 ./p
"$tools/aprun" --dry-run -v -cc none -n 2 ./p 2>&1 >/dev/null | grep -q '^aprun: 2 ranks, not bound'
ok $? t_binding_is_said_on_request
"$tools/aprun" --help | grep -q -- '--pes-per-node'; ok $? t_help

refuses t_no_program 'no program to run' a -n 2
refuses t_no_program_before_colon 'no program to run' a -n 2 : ./p
refuses t_nothing_after_colon "nothing follows ':'" a -n 2 ./p :
refuses t_zero_ranks "-n wants a number of at least 1, not '0'" a -n 0 ./p
refuses t_ranks_no_number "-n wants a number of at least 1, not 'x'" a -n x ./p
refuses t_value_missing '-n wants a value' a -n
refuses t_unknown_option 'unknown option -Q' a -Q ./p
refuses t_bad_variable '-e wants VAR=VALUE' a -e 1A=b ./p
refuses t_bad_list '-cc 5-2: must be' a -cc 5-2 ./p
refuses t_bad_list_for_a_rank "'x' is no list" a -cc 0:x ./p
refuses t_cores_do_not_suffice 'do not fit; use -cc none' a -cc cpu -n 250 ./p
gives t_hosts '-bind-to none -hosts a\,b -ppn 1 -n 2 ./p' a -L a,b -n 2 ./p
gives t_hosts_with_ranks_on_each '-bind-to core:2 -hosts a\,b -ppn 4 -n 8 ./p' a --node-list=a,b -n 8 -N 4 -d 2 -cc cpu ./p
echo a >hosts
gives t_file_of_hosts '-bind-to none -f hosts -ppn 2 -n 2 ./p' a -l hosts -n 2 -N 2 ./p
refuses t_hosts_must_be_names "names of hosts" a -L 'a;b' ./p
refuses t_file_of_hosts_must_be_there 'nowhere: no file' a -l nowhere ./p
refuses t_exclusive_has_no_meaning '-F exclusive has no meaning here' a -F exclusive ./p
refuses t_memory_has_no_meaning '-m has no meaning here' a -m 1G ./p
refuses t_more_ranks_than_windows '251 ranks on this machine: at most 250 fit' a -n 250 ./p : ./p
refuses t_more_ranks_fit_on_virtual_nodes '; -N 200 makes virtual nodes' a -n 260 ./p
refuses t_program_of_this_folder 'the one in this folder is ./hydra' "$tools/aprun" hydra
"$tools/aprun" -e PATH=/elsewhere no-such-program; ok $? t_program_in_the_path_of_the_ranks
refuses t_bad_hydra 'is not a program' env MPT_HYDRA="$PWD/none" "$tools/aprun" ./p
MPT_HYDRA= PATH=$PWD:/usr/bin:/bin "$tools/aprun" ./p >/dev/null 2>err; rc=$?
if [ -x /usr/bin/mpiexec.hydra ] || [ -x "$tools/mpiexec.hydra" ]; then
	n=$((n + 1)); echo "ok $n - t_no_hydra # SKIP this machine has one in its path"
else
	[ $rc = 2 ] && grep -q 'no mpiexec.hydra beside this program' err; ok $? t_no_hydra
fi

gives t_yod_ranks '-bind-to none -n 249 ./p -sz 3' y -sz 249 ./p -sz 3
gives t_yod_np_and_vn '-bind-to none -n 249 ./p' y -np 249 -VN -target linux -list 0 ./p
gives t_yod_single_node '-bind-to none -genv PTL_PES_PER_NODE 1 -n 249 ./p' y -SN -sz 249 ./p
printf '# load\n-sz 249 ./a x y  # first\n\n-np 1 ./b\n' >load
gives t_yod_load_file '-bind-to none -n 249 ./a x y : -n 1 ./b' y -F load
refuses t_yod_list_of_nodes "all ranks run on this machine" y -list 1..3 ./p
refuses t_yod_no_program 'yod: no program to run' y -sz 2
refuses t_yod_says_its_own_name 'yod: MPT_HYDRA' env MPT_HYDRA="$PWD/none" "$tools/yod" ./p
refuses t_yod_bad_size "-sz wants a number of at least 1, not 'two'" y -sz two ./p
refuses t_yod_heap '-heap has no meaning here' y -heap 3 ./p
refuses t_yod_bad_stack "-stack wants a size" y -stack much ./p
refuses t_yod_load_file_missing 'cannot be read' y -F none
refuses t_yod_unknown 'unknown option -Q' y -Q ./p
printf '#!/bin/sh\necho "$SHMEM_SYMMETRIC_SIZE $MPIEXEC_TIMEOUT $(ulimit -s)"\n' >hydra
[ "$("$tools/yod" -shmem 2M -tlimit 9 -stack 256k /bin/sh)" = "2097152 9 256" ]; ok $? t_yod_limits_reach_the_ranks
printf '#!/bin/sh\nexit 37\n' >hydra
"$tools/yod" /bin/sh; [ $? = 37 ]; ok $? t_exit_status_is_passed_on
refuses t_no_such_program "'./gone' is not a program: there is no such file" "$tools/aprun" -n 2 ./gone
refuses t_not_executable "it cannot be executed" "$tools/aprun" -n 2 /bin
refuses t_program_not_in_path "no program 'gone' in PATH" "$tools/aprun" -n 1 /bin/sh : gone
finish

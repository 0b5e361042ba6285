# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# eval.sh - the evaluation: build, measure all libraries in turn, make table and report
#
# Rounds: each benchmark is run once per round by every library, A B C D, A B C D, ..., with the bare hand-over h before
# and after each run; ratios are formed inside a round. A virtual machine that changes its state between rounds thus
# changes it for all. The shortest figures have short rounds of their own, so that the libraries' turns are less than a
# second apart. Nothing of ours runs meanwhile: no spinner, no second benchmark. All output is kept under
# build/report/raw; report.pl makes the rest of it and can be repeated.

REPORT=$BUILD/report

eval_progress()	# a line that is redrawn on a terminal, a new line elsewhere
{
	local line="[$((SECONDS - EVAL_T0)) s] $1${2:+: $2}"
	if [ -t 2 ]; then
		printf '\r\033[K%s' "$line" >&2
	else
		printf '%s\n' "$line" >&2
	fi
}

# one ROUND LIB RANKS NAME[:AS] LIMIT ARGS... -> raw/ROUND.LIB.AS[-RANKS].{json,err,meta}
one()
{
	local round=$1 lib=$2 n=$3 name=${4%:*} as=${4#*:} limit=$5 f h0 h1 rc why
	shift 5
	f=$REPORT/raw/$round.$lib.$as
	case $name:$n in mpi_coll:*|mpi_rate:*|mpi_halo:*|mpi_job:*|mpi_imb:[!2]*|dart_*:[!2]*|portals_many:*|portals_rate:[!2]*|shmem_coll:*|shmem_*:[!2]*|dmapp_*:[!2]*) f=$f-$n ;; esac
	why=${WHY[$lib]:-${WHY[$lib:$as:$n]:-}}
	case $lib:$name in *:smartmap_pingpong|*:portals_*|*:harm|ours:shmem_*|ours-*:shmem_*|*:dmapp_*) why=${WHY[$lib:$as:$n]:-} ;; esac	# no MPI in them
	case $BENCH_CPUS:$name in
	*,*:*) ;;
	*:*_p2p|*:*_pingpong|*:shmem_put|*:shmem_bw|*:dmapp_rma|*:mpi_rma|*:mpi_queue|*:mpi_imb|*:dart_*) why="it needs two cores, this process may use one" ;;
	esac
	if [ -n "$why" ]; then
		printf 'rc=-1\nwhy=%s\n' "$why" >"$f.meta"
		return 0
	fi
	h0=$(handover)
	# aprun and mpiexec end their ranks at SIGTERM; -k for those that do not
	MPT_BENCH_LIMIT=$limit bench_limited "$lib" "$n" "$name" --json "$@" >"$f.json" 2>"$f.err" </dev/null
	rc=$?
	h1=$(handover)
	why=
	if [ $rc -eq 124 ] || [ $rc -eq 137 ]; then
		why="not done after $limit s"
	elif [ $rc -ne 0 ]; then
		why=$(grep -v '^[[:space:]]*$' "$f.err" | grep -iE 'error|fail|cannot|refus|not |no ' | head -n 1 | cut -c1-300)
		[ -n "$why" ] || why=$(grep -v '^[[:space:]]*$' "$f.err" | head -n 1 | cut -c1-300)
		why="exit code $rc${why:+: $why}"
	fi
	printf 'rc=%d\nh_before=%s\nh_after=%s\nwhy=%s\n' "$rc" "$h0" "$h1" "$why" >"$f.meta"
	EVAL_RAN=$((EVAL_RAN + 1))
	[ $rc -eq 0 ] && return 0
	[ -t 2 ] && printf '\n' >&2
	note "  $name with ${LABEL[$lib]:-$lib}: $why"
	# what fails once will fail again, and would cost the time limit each time
	WHY[$lib:$as:$n]=$why
}

handover() { "$BUILD/make/tests/bench/handover" --json 2>/dev/null | sed -n 's/.*"value":\([0-9.e+-]*\).*/\1/p'; }

# bench_run under a time limit; its process group is ended as a whole
bench_limited()
{
	local pid rc=0 watch
	set -m
	bench_run "$@" &
	pid=$!
	( sleep "$MPT_BENCH_LIMIT"; kill -TERM -- -$pid; sleep 3; kill -KILL -- -$pid ) >/dev/null 2>&1 &
	watch=$!
	set +m
	trap 'kill -TERM -- -$pid; kill -KILL -- -$watch; exit 130' INT TERM HUP
	wait $pid || rc=$?
	trap - INT TERM HUP
	if kill -0 $watch 2>/dev/null; then
		kill -KILL -- -$watch 2>/dev/null
		wait $watch 2>/dev/null
	else
		rc=124
	fi
	[ $rc -eq 143 ] && rc=124
	return $rc
}

# Share of all cores that others keep busy, in percent, over one second.
busy()
{
	local a b
	a=$(head -n 1 /proc/stat)
	sleep 1
	b=$(head -n 1 /proc/stat)
	printf '%s\n%s\n' "$a" "$b" | awk '{ idle = $5 + $6; all = 0; for (i = 2; i <= 9; i++) all += $i
		if (NR == 1) { i0 = idle; a0 = all } else printf "%d", (all > a0) ? 100 - 100 * (idle - i0) / (all - a0) : 0 }'
}

machine()
{
	local f
	printf 'processor\t%s\n' "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
	printf 'cores used\t%s (of %s)\n' "$BENCH_CPUS" "$(nproc --all)"
	f=$(lscpu 2>/dev/null | sed -n 's/^Hypervisor vendor:[[:space:]]*//p')
	[ -n "$f" ] && printf 'virtual machine\t%s\n' "$f"
	lscpu 2>/dev/null | sed -n 's/^\(L1d\|L2\|L3\|NUMA node(s)\)\( cache\)\{0,1\}:[[:space:]]*/\1\t/p'
	printf 'memory\t%s\n' "$(sed -n 's/^MemTotal:[[:space:]]*//p' /proc/meminfo)"
	printf 'kernel\t%s\n' "$(uname -srm)"
	printf 'distribution\t%s\n' "$(. /etc/os-release 2>/dev/null; echo "${PRETTY_NAME:-unknown}")"
	printf 'compiler\t%s\n' "$("${CC:-gcc}" --version 2>/dev/null | head -n 1)"
	for f in transparent_hugepage/enabled:/sys/kernel/mm/transparent_hugepage/enabled \
		transparent_hugepage/shmem_enabled:/sys/kernel/mm/transparent_hugepage/shmem_enabled \
		yama/ptrace_scope:/proc/sys/kernel/yama/ptrace_scope overcommit_memory:/proc/sys/vm/overcommit_memory \
		scaling_governor:/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor \
		clocksource:/sys/devices/system/clocksource/clocksource0/current_clocksource; do
		printf '%s\t%s\n' "${f%%:*}" "$(cat "${f#*:}" 2>/dev/null || echo 'not there')"
	done
	printf 'busy before the start\t%s %% of all cores\n' "$BUSY"
	printf 'commit\t%s\n' "$(git -C "$ROOT" log -1 --format='%h %s' 2>/dev/null || echo unknown)"
}

# What is about many messages, threads and ranks: queues, MPI_THREAD_MULTIPLE, waiting, more ranks than cores. Some
# libraries spin there for their whole time slice, and are left out where that would take minutes.
eval_jobs()
{
	local quick=$1 rounds=$2 r lib n

	for ((r = 1; r <= (rounds > 3 ? 3 : 1); r++)); do
		for lib in ours nemesis; do
			eval_progress "long queues, round $r" "${LABEL[$lib]}"
			one $r $lib 2 mpi_queue 60 --quick
		done
		for lib in "${LIBS[@]}"; do
			case $lib in ours-off|nemesis-yield) continue ;; esac
			eval_progress "threads, round $r" "${LABEL[$lib]}"
			one $r "$lib" 2 mpi_rate:mpi_threads 30 --quick --threads 2
		done
		for lib in ours-ap ours-gp mpich-tcp openmpi-tcp; do
			eval_progress "between nodes, round $r" "${LABEL[$lib]}"
			if [ -n "$quick" ]; then
				one $r $lib 2 mpi_p2p:mpi_net 30 --quick --only latency
			else
				one $r $lib 2 mpi_p2p:mpi_net 120 --only latency,fresh,bandwidth,rate
			fi
		done
		eval_progress "waiting and sharing cores, round $r"
		n=${BENCH_CPUS//[^,]/}
		n=$((4 * (${#n} + 1)))
		one $r ours 2 mpi_job:mpi_idle 30 --only memory,idle
		one $r nemesis 2 mpi_job:mpi_idle 30 --only memory
		one $r ours $n mpi_job:mpi_share 60 --only share
		for lib in "${LIBS[@]}"; do
			eval_progress "4 ranks, round $r" "${LABEL[$lib]}"
			if [ -n "$quick" ]; then
				one $r "$lib" 4 mpi_coll 15 --tiny --ms 6
			else
				one $r "$lib" 4 mpi_coll 120 --quick --ms 30
			fi
		done
		[ -z "$quick" ] || continue
		for lib in ours openmpi nemesis-yield; do
			eval_progress "8 and 64 ranks, round $r" "${LABEL[$lib]}"
			one $r $lib 8 mpi_coll 120 --quick --ms 30
			one $r $lib 64 mpi_job 120 --only start,memory
			one $r $lib $n mpi_job:mpi_share 60 --only share
		done
	done
}

# SHMEM: ours, all through Portals, with linear collectives; Open MPI's, of which a failure is told in words.
eval_shmem()
{
	local quick=$1 r lib b

	for b in $BENCH_SHMEM; do
		bench_shmem_build openmpi "$b" >"$LOGS/bench-openmpi-$b.log" 2>&1 ||
			WHY[openmpi:$b:2]="$b.c does not compile with it: $(grep -m1 -iE 'error|not found' \
				"$LOGS/bench-openmpi-$b.log" | cut -c1-200)"
		WHY[openmpi:$b:4]=${WHY[openmpi:$b:2]:-}
	done
	for ((r = 1; r <= (${#quick} ? 1 : 3); r++)); do
		for lib in ours ours-off openmpi; do
			eval_progress "SHMEM, round $r" "${LABEL[$lib]}"
			one $r $lib 2 shmem_put 120
			[ -n "$quick" ] || one $r $lib 2 shmem_bw 120
			# by messages only small ones: all of RandomAccess takes two minutes
			one $r $lib 2 shmem_gups 120 $([ $lib != ours-off ] || echo --quick)
			[ -n "$quick" ] || one $r $lib 2 shmem_stencil 120 $([ $lib != ours-off ] || echo --quick)
		done
		[ -z "$quick" ] || continue
		for lib in ours ours-linear openmpi; do
			eval_progress "SHMEM's collectives, round $r" "${LABEL[$lib]}"
			one $r $lib 2 shmem_coll 120
			one $r $lib 4 shmem_coll 120
		done
	done
}

# DMAPP: what its paper measures; also all through Portals, and with more PEs.
eval_dmapp()
{
	local quick=$1 r

	for ((r = 1; r <= (${#quick} ? 1 : 3); r++)); do
		eval_progress "DMAPP, round $r"
		one $r ours 2 dmapp_rma 60 ${quick:+--only put,call,amo}
		[ -z "$quick" ] || continue
		one $r ours 4 dmapp_rma 60 --only bw,amo
		one $r ours-off 2 dmapp_rma 60 --only put
	done
}

# DART with each MPI, and each way of its windows.
eval_dart()
{
	local quick=$1 r lib b qa=()

	[ -z "$quick" ] || qa=(--quick)
	for lib in ours mpich openmpi nemesis; do
		for b in $BENCH_DART; do
			[ -z "${WHY[$lib]:-}" ] || continue
			bench_dart_build $lib "$b" >"$LOGS/bench-$lib-$b.log" 2>&1 ||
				WHY[$lib:$b:2]="$b.c does not compile with it: $(grep -m1 -iE 'error|not found' \
					"$LOGS/bench-$lib-$b.log" | cut -c1-200)"
		done
	done
	for ((r = 1; r <= (${#quick} ? 1 : 3); r++)); do
		for lib in ours mpich openmpi nemesis; do
			eval_progress "DART, round $r" "${LABEL[$lib]}"
			one $r $lib 2 dart_rma 60 "${qa[@]+"${qa[@]}"}" ${quick:+--only call}
			one $r $lib 2 dart_stencil 60 "${qa[@]+"${qa[@]}"}"
			[ -n "$quick" ] || one $r $lib 2 dart_gups 120
		done
		[ -z "$quick" ] || continue
		for lib in ours-nested ours-rma ours-apart; do
			eval_progress "DART, round $r" "${LABEL[$lib]}"
			one $r $lib 2 dart_rma 60 --quick
			[ $lib = ours-apart ] || one $r $lib 2 dart_stencil 60 --quick
		done
		for lib in ours ours-nodes; do
			eval_progress "DART by distance, round $r" "${LABEL[$lib]}"
			one $r $lib 4 dart_rma 60 --only distance
		done
	done
}

# What the papers' figures need beside the rest (tools/mpt/papers.pl says what is drawn from it).
eval_papers()
{
	local r lib

	for r in 1 2 3; do
		for lib in "${LIBS[@]}" ours-nomatch ours-hybrid ours-twocopy ours-onecopy; do
			[ "$lib" != nemesis-yield ] || continue
			eval_progress "the papers' figures, round $r" "${LABEL[$lib]}"
			one $r "$lib" 2 mpi_imb 120
			one $r "$lib" 2 mpi_rate 60
			case $lib in mpich|nemesis|ours-nomatch|ours-hybrid) ;; *) one $r "$lib" 4 mpi_rate 60 --quick ;; esac
		done
		one $r nemesis-yield 4 mpi_rate 60 --quick
		for lib in ours mpich openmpi nemesis; do
			eval_progress "collectives with new data, round $r" "${LABEL[$lib]}"
			one $r $lib 2 mpi_coll:mpi_fresh 120 --quick --fresh --ms 30
		done
		for lib in ours mpich openmpi nemesis; do one $r $lib 2 mpi_rma:mpi_rma_sizes 60; done
		for lib in ours-twocopy ours-onecopy; do one $r $lib 4 mpi_coll 120 --quick --ms 30; done
		for lib in ours-serial ours-parallel; do one $r $lib 4 mpi_coll 120 --quick --ms 30 --only reduce; done
		for lib in ours-nodes ours-nodes-opt ours-nodes-rr ours-nodes-smp; do
			eval_progress "the papers' figures, round $r" "${LABEL[$lib]}"
			one $r $lib 4 mpi_coll 120 --quick --ms 30
		done
		for lib in ours-fastcopy ours-plaincopy; do
			one $r $lib 2 mpi_copy 60
			one $r $lib 2 mpi_coll 120 --quick --ms 30 --only allreduce
		done
		for lib in ours-nodes4 ours-nodes4-off; do one $r $lib 16 mpi_halo 120 --quick; done
	done
}

# What the test of counts counts: instructions and shared cache lines of the small operations. Nothing is timed.
eval_counts()
{
	rm -f "$BUILD"/make/tests/out/res/counts/{counts,mpi}.err
	command -v valgrind >/dev/null || return 0
	eval_progress "instructions and cache lines of each layer"
	(cd "$BUILD/make" && T_COUNTS=show P3_BUILD=$PWD MPT_BUILD=$BUILD "$ROOT/tests/run" counts/counts counts/mpi) >"$LOGS/counts.log" 2>&1
	cat "$BUILD"/make/tests/out/res/counts/{counts,mpi}.err 2>/dev/null |
		sed -n 's/^# \(\w*\) \(instructions\|lines\) \([0-9.]*\)$/\1\t\2\t\3/p' >"$REPORT/counts.tsv"
}

# The kernel module against SMARTMAP, in one boot of a guest; left out, with a reason in the log, where there is none.
eval_guest()
{
	local from=$REPORT/guest

	eval_progress "the kernel module and SMARTMAP, in a guest"
	rm -rf "$from"
	mkdir -p "$from"
	(
		cd "$from" && make -s -C "$BUILD/make" tests/common/multi tests/bench/portals_pingpong tests/bench/shmem_put </dev/null &&
			GUEST_OUT=$from P3_BUILD=$BUILD/make MPT_BUILD=$BUILD "$ROOT/tests/guest/t_guest.sh" gp-smartmap
	) >"$LOGS/guest.log" 2>&1 </dev/null
	if [ -s "$from/gp_smartmap" ]; then
		cp "$from/gp_smartmap" "$REPORT/guest.tsv"
	else
		note "the kernel module is not compared with SMARTMAP: $(grep -v '^$' "$LOGS/guest.log" | tail -n 1)"
	fi
}

cmd_eval()
{
	local quick= json= peers=() rounds=5 short=9 lib n r t1 qa=() paper=

	take_options "$@"
	set -- "${REST[@]+"${REST[@]}"}"
	while [ $# -gt 0 ]; do
		case $1 in
		--quick) quick=1 rounds=3 short=5 qa=(--quick) ;;
		--json) json=1 ;;
		--paper) paper=1 ;;
		-h|--help) usage; return ;;
		--rounds) rounds=${2:-}; shift ;;
		--peer=*) peers+=("${1#--peer=}") ;;
		--peer) peers+=("${2:-}"); shift ;;
		*) die "eval: unknown argument '$1'" ;;
		esac
		[ $# -gt 0 ] && shift
	done
	case $rounds in *[!0-9]*|''|0) die "eval: --rounds wants a number from 1" ;; esac
	for r in "${peers[@]+"${peers[@]}"}"; do check_peer "$r"; done
	exec 3>&1
	[ -z "$json" ] || exec >&2	# then nothing else goes there

	provide_packages && build_all || exit 1
	PAPER=$paper
	[ -n "$quick" ] || WANT_YIELD=1
	provide_libs "${peers[@]+"${peers[@]}"}"
	step "compile the benchmarks" bench bench_ours_build || exit 1
	for lib in "${LIBS[@]}"; do
		[ "$lib" != ours-off ] || continue
		for r in $BENCH_MPI; do
			[ -n "${WHY[$lib]}" ] && continue
			mkdir -p "$LOGS"
			bench_mpi_build "$lib" "$r" >"$LOGS/bench-$lib.log" 2>&1 ||
				WHY[$lib]="$r.c does not compile with it: $(grep -m1 -iE 'error|not found' "$LOGS/bench-$lib.log" | cut -c1-200)"
		done
		[ -z "${WHY[$lib]}" ] || note "${LABEL[$lib]}: ${WHY[$lib]}"
	done
	bench_env
	rm -rf "$REPORT.new"
	mkdir -p "$REPORT/raw"
	rm -f "$REPORT"/raw/* "$REPORT"/{counts,guest}.tsv
	BUSY=$(busy)
	[ "$BUSY" -le 10 ] || note "Other programs keep $BUSY % of the cores busy: the figures will be disturbed."
	machine >"$REPORT/machine.tsv"
	{
		printf 'mode\t%s\n' "$([ -n "$quick" ] && echo quick || echo full)"
		printf 'cpus\t%s\n' "$BENCH_CPUS"
		printf 'date\t%s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
		# shellcheck disable=SC2086
		[ -z "$paper" ] || printf 'paper\t%s\n' "$(echo $PAPER_ENV)"
		for lib in "${LIBS[@]}"; do printf 'lib\t%s\t%s\t%s\n' "$lib" "${LABEL[$lib]}" "${WHY[$lib]}"; done
		for lib in $VARIANTS; do
			[ "$lib" = ours-off ] || printf 'variant\t%s\t%s\t%s\n' "$lib" "${LABEL[$lib]}" "${VARIANT_ENV[$lib]}"
		done
	} >"$REPORT/run.tsv"
	case $BENCH_CPUS in
	*,*) ;;
	*) note "This process may use one core only. Latencies between ranks need two: they are recorded as not measured." ;;
	esac

	EVAL_T0=$SECONDS EVAL_RAN=0
	# --quick keeps its two minutes on a slow machine: by fewer rounds, and the results say how many there were
	for ((r = 1; r <= short; r++)); do
		if [ -n "$quick" ] && [ $r -gt 1 ] && [ $(((SECONDS - EVAL_T0) * r / (r - 1))) -gt 25 ]; then
			note "short round $r is left out: --quick has no time for it"
			break
		fi
		eval_progress "short round $r of $short" "latency and message rate of all"
		for lib in "${LIBS[@]}" ours-nomatch ours-hybrid; do
			[ "$lib" != nemesis-yield ] || continue
			one $r "$lib" 2 mpi_p2p:mpi_short 60 --only latency8,rate
		done
		one $r ours 2 mpi_rma 60 --only put8
		one $r ours 2 portals_rate 60
	done
	t1=$SECONDS
	for ((r = 1; r <= rounds; r++)); do
		if [ -n "$quick" ] && [ $r -gt 1 ] && [ $(((SECONDS - t1) * r / (r - 1))) -gt 50 ]; then
			note "round $r is left out: --quick has no time for it"
			break
		fi
		eval_progress "round $r of $rounds" "SMARTMAP and Portals"
		one $r ours 2 smartmap_pingpong 60
		one $r ours 2 portals_pingpong 120 "${qa[@]+"${qa[@]}"}"
		one $r ours 2 portals_match 60 "${qa[@]+"${qa[@]}"}"
		if [ -z "$quick" ] || [ $r -eq 1 ]; then
			one $r ours 2 portals_copy 120 "${qa[@]+"${qa[@]}"}"
			for way in gp ap off smartmap; do
				one $r ours 2 portals_net_$way 60 "${qa[@]+"${qa[@]}"}"
			done
		fi
		one $r ours-off 2 portals_pingpong 120 "${qa[@]+"${qa[@]}"}"
		for lib in "${LIBS[@]}"; do
			[ "$lib" != nemesis-yield ] || continue
			eval_progress "round $r of $rounds" "point to point: ${LABEL[$lib]}"
			one $r "$lib" 2 mpi_p2p 120 "${qa[@]+"${qa[@]}"}"
		done
		for lib in "${LIBS[@]}"; do
			case $BENCH_CPUS in *,*) ;; *) break ;; esac	# as oversubscribed as those of 4 ranks below
			[ "$lib" != nemesis-yield ] || continue
			eval_progress "round $r of $rounds" "collectives: ${LABEL[$lib]}"
			one $r "$lib" 2 mpi_coll 120 "${qa[@]+"${qa[@]}"}" --ms "$([ -n "$quick" ] && echo 6 || echo 30)"
		done
	done
	printf 'rounds\t%s\n' "$((r - 1))" >>"$REPORT/run.tsv"
	eval_progress "what it costs a program that only computes"
	if [ -n "$quick" ]; then
		one 1 ours 2 harm 60 --rounds 3 --mb 128
	else
		one 1 ours 2 harm 300 --rounds 5 --mb 256
	fi
	eval_progress "many ranks"
	for n in 3 5 9; do one 1 ours $n portals_rate 60 "${qa[@]+"${qa[@]}"}"; done
	eval_progress "locks, overlap"
	one 1 ours 2 portals_locks 120 "${qa[@]+"${qa[@]}"}"
	one 1 ours 2 portals_overlap 60 "${qa[@]+"${qa[@]}"}"
	for lib in ours-dma ours-nodma; do one 1 $lib 2 portals_crossover 60 "${qa[@]+"${qa[@]}"}"; done
	eval_progress "many ranks"
	one 1 ours 2 portals_many 60
	one 1 ours 250 portals_many 120
	[ -n "$quick" ] || one 1 ours 600 portals_many 600
	eval_shmem "$quick"
	eval_dmapp "$quick"
	eval_dart "$quick"
	eval_jobs "$quick" "$rounds"
	[ -n "$quick" ] || { eval_papers; eval_counts; eval_guest; }
	[ -t 2 ] && printf '\r\033[K' >&2
	note "measured: $((SECONDS - EVAL_T0)) s"
	perl "$LIBDIR/report.pl" "$REPORT" "$ROOT" || exit 1
	[ -z "$json" ] || cat "$REPORT/results.json" >&3
}

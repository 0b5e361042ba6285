# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# bench.sh - compile and run one benchmark of tests/bench
#
#	build/make/tests/bench/NAME	those of Portals and SMARTMAP, with this project's make
#	build/bench/LIB/NAME		those of MPI, with each library's own mpicc; those of SHMEM with another's oshcc; those
#					of DART with DART built by that mpicc, in build/dart/LIB

BENCH_OURS="handover smartmap_pingpong portals_pingpong portals_match portals_rate portals_copy portals_many portals_locks portals_overlap harm"
# one program, by way of each NAL: an interrupt thread; an engine, where ranks that poll help; the engine alone; one node
BENCH_OURS="$BENCH_OURS portals_net_gp portals_net_ap portals_net_off portals_net_smartmap"
BENCH_OURS="$BENCH_OURS portals_crossover"		# portals_overlap, more lengths and less about each
BENCH_MPI="mpi_p2p mpi_coll mpi_imb mpi_rate mpi_queue mpi_rma mpi_halo mpi_job mpi_copy"
BENCH_SHMEM="shmem_put shmem_bw shmem_gups shmem_stencil shmem_coll"
BENCH_DMAPP="dmapp_rma"
BENCH_DART="dart_rma dart_stencil dart_gups"
BENCH_LINE_BYTES=$((288 * 1024))	# two struct bench_lines of tests/bench/bench.h

bench_ours_build()
{
	(cd "$ROOT" && newer "$BUILD/stamp.bench" tests/bench portals nal shmem-portals dmapp-portals) || return 0
	touch "$BUILD/stamp.bench.new"
	# one that does not build is missing in the results, and named there; without h there is nothing to measure
	if make -k -C "$BUILD/make" bench; then
		mv "$BUILD/stamp.bench.new" "$BUILD/stamp.bench"
	else
		[ -x "$BUILD/make/tests/bench/handover" ]
	fi
}

# bench_mpi_build LIB NAME - only when a source or the library is newer
bench_mpi_build()
{
	local lib=$1 name=$2 out
	lib=$(program_of "$lib")
	out=$BUILD/bench/$lib/$name
	[ -z "${WHY[$lib]}" ] || return 1
	if [ -x "$out" ] && ! newer "$out" "$ROOT/tests/bench/$name.c" "$ROOT/tests/bench/bench.h" "${MPICC[$lib]}"; then
		return 0
	fi
	mkdir -p "${out%/*}"
	"${MPICC[$lib]}" -std=gnu11 -O2 -w -pthread -I"$ROOT/tests/bench" -o "$out" "$ROOT/tests/bench/$name.c"
}

# bench_dart_build LIB NAME - DART itself with that library's mpicc, and the program
bench_dart_build()
{
	local lib=$1 name=$2 out d g=2 l=dart with=()
	lib=$(program_of "$lib")
	out=$BUILD/bench/$lib/$name d=$BUILD/dart/$lib
	[ -z "${WHY[$lib]}" ] || return 1
	[ "$name" != dart_gups ] || g=3 l=dart3
	# SHMEM and DMAPP in the same run: they join our MPI's job
	[ "$lib:$name" != ours:dart_rma ] || with=(-DBENCH_DMAPP -I"$BUILD/prefix/include" -L"$BUILD/prefix/lib" -ldmapp -lsma
		-Wl,-rpath,"$BUILD/prefix/lib")
	if [ -x "$out" ] && ! newer "$out" "$ROOT/tests/bench/$name.c" "$ROOT/tests/bench/dart_bench.h" "$ROOT/tests/bench/bench.h" \
		"$ROOT/dart-mpi" "${MPICC[$lib]}"; then
		return 0
	fi
	mkdir -p "${out%/*}" "$d"
	make -C "$ROOT/dart-mpi" MPICC="${MPICC[$lib]}" B="$d" &&
		"${MPICC[$lib]}" -std=gnu11 -O2 -w -pthread -I"$ROOT/tests/bench" -I"$ROOT/dart-mpi/include$g" -o "$out" \
			"$ROOT/tests/bench/$name.c" -L"$d" -l$l -Wl,-rpath,"$d" "${with[@]+"${with[@]}"}"
}

# bench_shmem_build LIB NAME - with the oshcc beside its mpicc; ours are built by make
bench_shmem_build()
{
	local lib=$1 name=$2 out oshcc
	case $lib in ours|ours-*) return 0 ;; esac
	out=$BUILD/bench/$lib/$name oshcc=${MPICC[$lib]%/*}/oshcc
	[ -x "$oshcc" ] || { echo "error: no oshcc in $(short "${oshcc%/*}")"; return 1; }
	if [ -x "$out" ] && ! newer "$out" "$ROOT/tests/bench/$name.c" "$ROOT/tests/bench/shmem_bench.h" "$ROOT/tests/bench/bench.h" \
		"$oshcc"; then
		return 0
	fi
	mkdir -p "${out%/*}"
	"$oshcc" -std=gnu11 -O2 -w -pthread -I"$ROOT/tests/bench" -o "$out" "$ROOT/tests/bench/$name.c"
}

# What a benchmark needs of the surroundings: which cores, and a line for h that its ranks share.
bench_env()
{
	BENCH_CPUS=$(bench_cpus)
	BENCH_LINE=$BUILD/bench/line.$$
	mkdir -p "$BUILD/bench"
	export BENCH_CPUS BENCH_LINE
	trap 'rm -f "$BUILD/bench/line.$$"' EXIT
}

# bench_run LIB RANKS NAME ARGS... - in the foreground; for handover and smartmap_pingpong LIB and RANKS say nothing
bench_run()
{
	local lib=$1 n=$2 name=$3 f
	shift 3
	rm -f "$BENCH_LINE"
	head -c "$BENCH_LINE_BYTES" /dev/zero >"$BENCH_LINE"
	case $name in
	handover|smartmap_pingpong|portals_match)
		"$BUILD/make/tests/bench/$name" "$@" ;;
	harm)
		run_harm "$@" ;;
	portals_pingpong)
		if [ "$lib" = ours-off ]; then
			PTL_SMARTMAP=no "$BUILD/bin/aprun" -n 2 "$BUILD/make/tests/bench/$name" "$@"
		else
			"$BUILD/bin/aprun" -n 2 "$BUILD/make/tests/bench/$name" "$@"
		fi ;;
	portals_net_off)	# who waits looks at nothing, and sleeps at once
		PTL_NAL=ap PTL_NIC_POLL=0 PTL_SPIN=0 "$BUILD/bin/aprun" -n 2 -N 1 "$BUILD/make/tests/bench/portals_net" "$@" ;;
	portals_net_smartmap)
		"$BUILD/bin/aprun" -n 2 "$BUILD/make/tests/bench/portals_net" --node "$@" ;;
	portals_net_*)
		PTL_NAL=${name##*_} "$BUILD/bin/aprun" -n 2 -N 1 "$BUILD/make/tests/bench/portals_net" "$@" ;;
	portals_crossover)
		# shellcheck disable=SC2086
		env ${VARIANT_ENV[$lib]:-} "$BUILD/bin/aprun" -n 2 "$BUILD/make/tests/bench/portals_overlap" --crossover "$@" ;;
	portals_locks|portals_overlap)
		run_ways "$name" "$@" ;;
	portals_rate|portals_copy)
		"$BUILD/bin/aprun" -n "$n" "$BUILD/make/tests/bench/$name" "$@" ;;
	portals_many)
		# on one node as many as it takes, more on nodes of 200; launched by Hydra alone, whose time is in the figure
		f=$("$BUILD/make/tests/bench/$name" --now)
		BENCH_T0=$f "$BUILD/bin/aprun" -n "$n" $([ "$n" -le 250 ] || echo -N 200) "$BUILD/make/tests/bench/$name" "$@" ;;
	shmem_*|dmapp_*)
		case $lib in
		ours|ours-*)
			# shellcheck disable=SC2086
			env ${VARIANT_ENV[$lib]:-} "$BUILD/bin/aprun" -n "$n" "$BUILD/make/tests/bench/$name" "$@" ;;
		*)
			(launch "$lib" "$n" "$BUILD/bench/$lib/$name" "$@") ;;
		esac ;;
	mpi_job)
		f=$("$BUILD/bench/$(program_of "$lib")/$name" --now)
		(export BENCH_T0=$f; launch "$lib" "$n" "$BUILD/bench/$(program_of "$lib")/$name" "$@") ;;
	*)
		(launch "$lib" "$n" "$BUILD/bench/$(program_of "$lib")/$name" "$@") ;;
	esac
}

# The library whose programs NAME runs: its variants differ in the environment.
program_of() { case $1 in ours-*) echo ours ;; *-tcp) echo "${1%-tcp}" ;; *) echo "$1" ;; esac; }

# By itself, as most programs that only compute, and as two ranks of a job, whose memory is adopted. The program prints a
# JSON record a line.
run_harm()
{
	local json= a=() f line

	for f in "$@"; do [ "$f" = --json ] && json=1 || a+=("$f"); done
	for f in 1 2; do
		"$BUILD/make/tests/bench/harm" --with "$BUILD/prefix/lib/libsmartmap-malloc.so" --ranks $f "${a[@]+"${a[@]}"}" || return
	done | if [ -n "$json" ]; then
		# each record at once (awk may wait for more): a hang shows where
		echo '{"bench":"harm","records":['
		for ((f = 0; ; f++)); do
			IFS= read -r line || break
			[ $f -eq 0 ] || echo ,
			printf '%s' "$line"
		done
		printf '\n]}\n'
	else
		IFS= read -r line || return 0
		printf '%-24s %5s %-9s %12s %12s %6s %12s %12s %6s\n' '# harm' ranks unit plain with ratio 'plain kB' 'with kB' ratio
		while :; do
			printf '%s\n' "$line" | awk -F'[:,]' '{ gsub(/["}]/, ""); $0 = $0
				printf "%-24s %5s %-9s %12s %12s %6s %12s %12s %6s\n", $2, $4, $8, $10, $12, $14, $16, $18, $20 }'
			IFS= read -r line || break
		done
	fi
}

# A program of Portals with several settings; their records together, a line each.
run_ways()
{
	local name=$1 json= a=() f n way
	shift
	for f in "$@"; do [ "$f" = --json ] && json=1 || a+=("$f"); done
	case $name in
	portals_locks)
		for n in 2 4 8; do
			for way in entry node master; do
				PTL_LOCKS=$way "$BUILD/bin/aprun" -n $n "$BUILD/make/tests/bench/$name" --json "${a[@]+"${a[@]}"}" || return
			done
		done ;;
	portals_overlap)
		for way in 0 32768; do
			PTL_NAL=ap PTL_SELF_DMA_MIN=$way "$BUILD/bin/aprun" -n 2 "$BUILD/make/tests/bench/$name" --json \
				"${a[@]+"${a[@]}"}" || return
		done ;;
	esac >"$BUILD/bench/ways.$$" || { rm -f "$BUILD/bench/ways.$$"; return 1; }
	if [ -n "$json" ]; then
		printf '{"bench":"%s","records":[\n' "$name"
		grep '^{"figure"' "$BUILD/bench/ways.$$" | sed -e 's/,$//' -e '$!s/$/,/'
		echo ']}'
	else
		printf '# %-27s %10s %14s  %s\n' "$name" bytes value unit
		sed -n 's/^{"figure":"\([^"]*\)","bytes":\([0-9]*\),"value":\([^,]*\),"unit":"\([a-z]*\)"},*$/\1 \2 \3 \4/p' \
			"$BUILD/bench/ways.$$" | while read -r f n way a; do printf '%-29s %10s %14s  %s\n' "$f" "$n" "$way" "$a"; done
		[ "$name" != portals_locks ] || draw_locks <"$BUILD/bench/ways.$$"
	fi
	rm -f "$BUILD/bench/ways.$$"
}

# The rates as bars, for those who do not make the report.
draw_locks()
{
	awk -F'[":,{}]+' '/^{"figure"/ { split($3, f, "_"); rate = $7 > 0 ? 1e3 / $7 : 0; if (rate > most) most = rate
			k[++n] = sprintf("%-5s %-7s %2d ranks", f[1], f[2], $5); r[n] = rate }
		END { for (i = 1; i <= n; i++) { bar = ""; for (j = 0; j < r[i] / most * 50; j++) bar = bar "#"
			printf "%s %8.3f M/s %s\n", k[i], r[i], bar } }'
}

# check_peer NAME=PREFIX
check_peer()
{
	case ${1%%=*} in
	ours|ours-*|mpich|openmpi|nemesis|nemesis-yield|*-tcp|*[!a-zA-Z0-9_-]*|'') die "--peer NAME=PREFIX: '$1' will not do as NAME" ;;
	esac
	case $1 in *=/*) ;; *) die "--peer NAME=PREFIX, with the whole path of PREFIX, not '$1'" ;; esac
	[ -x "${1#*=}/bin/mpicc" ] && [ -x "${1#*=}/bin/mpiexec" ] ||
		note "--peer $1: no bin/mpicc or bin/mpiexec there; it will be recorded as missing"
}

cmd_bench()
{
	local name= lib=ours n=2 args=() peers=() p

	take_options "$@"
	set -- "${REST[@]+"${REST[@]}"}"
	while [ $# -gt 0 ]; do
		case $1 in
		--lib) lib=${2:-}; shift ;;
		-n) n=${2:-}; shift ;;
		--peer=*) peers+=("${1#--peer=}") ;;
		--peer) peers+=("${2:-}"); shift ;;
		-h|--help) usage; return ;;
		-*) args+=("$1"); case $1 in --only|--ms|--rounds|--mb|--secs|--threads|--partners) [ $# -gt 1 ] && { args+=("$2"); shift; } ;; esac ;;
		*) [ -z "$name" ] || die "bench: one at a time, not '$name' and '$1'"; name=$1 ;;
		esac
		[ $# -gt 0 ] && shift
	done
	if [ -z "$name" ]; then
		say "benchmarks (the head of tests/bench/NAME.c says what each measures):"
		for name in $BENCH_OURS $BENCH_SHMEM $BENCH_DMAPP $BENCH_DART $BENCH_MPI; do say "  $name"; done
		say "SHMEM's take --lib ours|ours-off|ours-linear|openmpi (or a name given by --peer) and -n PES."
		say "MPI's and DART's take --lib ours|mpich|openmpi|nemesis|nemesis-yield (or a name given by --peer) and -n RANKS; -n is"
		say "also for portals_rate (3 and more: a crowd at one target) and portals_many. Variants, for --lib:"
		for name in $VARIANTS; do say "  $name: ${VARIANT_ENV[$name]}"; done
		return 0
	fi
	# all of it before anything is built; nothing but the result goes to the standard output
	for p in "${peers[@]+"${peers[@]}"}"; do check_peer "$p"; done
	case $n in *[!0-9]*|''|0*) die "bench: -n wants a number from 1, not '$n'" ;; esac
	case $lib in
	ours|mpich|openmpi|nemesis|nemesis-yield) ;;
	ours-*|*-tcp) [ -n "${VARIANT_ENV[$lib]:-}" ] || die "bench: no variant '$lib'; there are $VARIANTS" ;;
	*) case " ${peers[*]+"${peers[*]}"}" in
	   *" $lib="*) ;;
	   *) die "bench: no library '$lib'; there are ours, mpich, openmpi, nemesis, nemesis-yield and those given by --peer" ;;
	   esac ;;
	esac
	case $name in
	mpi_coll|mpi_imb|mpi_rate|mpi_halo|mpi_job|mpi_copy|portals_rate|portals_many|shmem_gups|shmem_stencil|shmem_coll|dmapp_rma|dart_*) ;;
	mpi_p2p|mpi_queue|mpi_rma|portals_pingpong|portals_copy|portals_net_*|shmem_put|shmem_bw) [ "$n" = 2 ] || die "bench: $name is for 2 ranks, not $n" ;;
	*) [ "$n" = 2 ] || die "bench: $name starts its processes by itself; -n says nothing to it" ;;
	esac
	case " $BENCH_SHMEM $BENCH_DMAPP " in
	*" $name "*)
		{ provide_packages && build_all && step "compile the benchmarks" bench bench_ours_build; } >&2 || exit 1
		case $lib in
		ours|ours-off|ours-linear) ;;
		ours-*) die "bench: $name has no MPI in it; --lib $lib says nothing to it" ;;
		*)
			[ "${name%%_*}" = shmem ] || die "bench: no other library has what $name measures"
			provide_libs "${peers[@]+"${peers[@]}"}" >&2
			[ -z "${WHY[$lib]}" ] || die "bench: $lib cannot be measured: ${WHY[$lib]}"
			step "compile $name with $lib" "bench-$lib-$name" bench_shmem_build "$lib" "$name" || exit 1 ;;
		esac
		bench_env
		bench_run "$lib" "$n" "$name" "${args[@]+"${args[@]}"}"
		return ;;
	esac
	case " $BENCH_OURS " in
	*" $name "*)
		case $name:$lib in
		*:ours|portals_pingpong:ours-off|portals_crossover:ours-dma|portals_crossover:ours-nodma) ;;
		*) false ;;
		esac || die "bench: $name has no MPI in it; --lib $lib says nothing to it"
		{ provide_packages && build_all && step "compile the benchmarks" bench bench_ours_build; } >&2 || exit 1 ;;
	*)
		case " $BENCH_MPI $BENCH_DART " in *" $name "*) ;; *) die "no benchmark '$name'; ./mpt bench lists them" ;; esac
		{ provide_packages && build_all; } >&2 || exit 1
		[ "$lib" != nemesis-yield ] || WANT_YIELD=1
		provide_libs "${peers[@]+"${peers[@]}"}" >&2
		[ -z "${WHY[$lib]}" ] || die "bench: $lib cannot be measured: ${WHY[$lib]}"
		case $name in dart_*) p=dart ;; *) p=mpi ;; esac
		step "compile $name with $lib" "bench-$lib-$name" bench_${p}_build "$lib" "$name" || exit 1 ;;
	esac
	bench_env
	bench_run "$lib" "$n" "$name" "${args[@]+"${args[@]}"}"
}

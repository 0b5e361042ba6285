# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# placement.sh - where ranks sit: the MPT paper's experiment, and halo exchange over all ways of moving a message
#
#	./mpt placement	PingPong, Allreduce, Alltoall, Bcast (and a 2-D halo) under MPICH_RANK_REORDER_METHOD 0 to 3
#	./mpt halo	16 ranks on 4 virtual nodes: each network NAL, SMARTMAP on and off (SMARTMAP paper, fig. 7)
#	./mpt hier	reduce, bcast, allreduce on 8 nodes of 4: flat, in two levels, in two levels without SMARTMAP
#
# Virtual nodes of one machine are equally near, so the links between them are a model (PTL_LINKS), checked against its
# own settings before use. The file of method 3 is made for each benchmark from its own traffic, by ptl_rank_order.
# Everything is kept under build/placement: raw output, one table per benchmark (.tsv), a gnuplot script and, where
# there is gnuplot, its picture.

PLACE=$BUILD/placement
PLACE_BENCHES="pingpong allreduce alltoall bcast halo2"
HALO_NALS="gp ap"		# network NALs to compare, as PTL_NAL calls them

# place_command BENCH QUICK - the program of a benchmark, and its arguments
place_command()
{
	case $1 in
	pingpong) echo "mpi_imb --only pingpong --secs 0.2 --quick" ;;
	halo2|halo3) echo "mpi_halo --dims ${1#halo} --quick" ;;
	*) echo "mpi_coll --only $1 --ms $([ -n "${2:-}" ] && echo 10 || echo 50) --quick" ;;
	esac
}

# place_run OUT RANKS PER_NODE COMMAND... - one run, with the environment of the caller; its table, or a reason
place_run()
{
	local out=$1 n=$2 per=$3 name=$4 rc
	shift 4
	: >"$BENCH_LINE"
	head -c "$BENCH_LINE_BYTES" /dev/zero >"$BENCH_LINE"
	timeout -k 5 "$PLACE_LIMIT" "$BUILD/bin/aprun" -n "$n" -N "$per" "$BUILD/bench/ours/$name" "$@" \
		>"$out" 2>"$out.err" </dev/null
	rc=$?
	[ $rc -eq 0 ] && grep -q '^[a-z]' "$out" && return 0
	[ $rc -ne 124 ] || echo "not ended after $PLACE_LIMIT s" >>"$out.err"
	note "$(short "$out"): failed ($rc): $(tail -n 1 "$out.err")"
	return 1
}

# place_least FILE... - figure, bytes, the least value in us of several runs
place_least()
{
	awk '!/^#/ && NF >= 3 { k = $1 "\t" $2; if (!(k in v)) key[++n] = k; if (!(k in v) || $3 < v[k]) v[k] = $3 }
		END { for (i = 1; i <= n; i++) printf "%s\t%.3f\n", key[i], v[key[i]] / 1000 }' "$@"
}

# Does the model keep what it was asked for? Two ranks on two nodes; only where the setting is LATENCY:BANDWIDTH.
place_check()
{
	local lat bw got try
	rm -f "$PLACE"/raw/check*
	case $1 in *[!0-9.:]*|*:*:*|:*|*:) note "PTL_LINKS=$1 is a file: its links are not checked"; return 0 ;; esac
	lat=${1%:*} bw=${1#*:}
	for try in 1 2 3 4 5 6; do	# the least of all so far: other programs only add
		PTL_LINKS=$1 place_run "$PLACE/raw/check.$try" 2 1 mpi_imb --only pingpong --secs 0.05 --quick ||
			return 1
		got=$(place_least "$PLACE"/raw/check.[0-9] | awk -v lat="$lat" -v bw="$bw" '
			$2 == 8 { l = $3 } $2 == 65536 { a = $3 } $2 == 1048576 { b = $3 }
			END {
				want = lat + (bw > 0 ? 128 / bw : 0)
				m = b > a ? 983040 / (b - a) : 0
				good = lat == 0 || (l > want * 0.98 && l < want * 1.1)
				good = good && (bw == 0 || (m < bw * 1.02 && m > bw * 0.9))
				printf "%s latency %.1f us (asked for %s), bandwidth %.1f MB/s (asked for %s)",
					good ? "kept:" : "not kept:", l, lat, m, bw
			}')
		case $got in kept*) say "the model of links${PTL_NAL:+ (PTL_NAL=$PTL_NAL)} is $got"; return 0 ;; esac
	done
	note "the model of links${PTL_NAL:+ (PTL_NAL=$PTL_NAL)} is $got"
	return 1
}

# place_plot BENCH RANKS PER_NODE - gnuplot script beside the table
place_plot()
{
	local f=$PLACE/$1
	cat >"$f.gp" <<-END
	# gnuplot $1.gp
	set terminal svg size 800,500
	set output '$1.svg'
	set title '$1, $2 ranks on nodes of $3, links $PLACE_LINKS (us:MB/s)'
	set logscale xy
	set xlabel 'bytes'
	set ylabel 'microseconds'
	set key left top
	set datafile separator '\\t'
	set datafile missing '-'
	plot for [i=2:$4] '$1.tsv' using (column(1) > 0 ? column(1) : 0.5):i with linespoints title columnheader(i)
	END
	command -v gnuplot >/dev/null && (cd "$PLACE" && gnuplot "$1.gp" 2>"raw/$1.gnuplot")
	return 0
}

# place_join OUT NAME=FILE... - columns side by side, by bytes; what a run does not have is -
place_join()
{
	local out=$1 f names=
	shift
	for f in "$@"; do names="$names ${f%%=*}"; done
	{
		printf 'bytes'
		for f in "$@"; do printf '\t%s' "${f%%=*}"; done
		printf '\n'
		for f in "$@"; do sed "s/^/${f%%=*}\t/" "${f#*=}"; done | awk -F'\t' -v names="$names" '
			{ v[$1, $3] = $4; if (!($3 in seen)) { seen[$3]; size[++n] = $3 } }
			END {
				c = split(names, name, " ")
				for (i = 1; i <= n; i++) {
					printf "%s", size[i]
					for (k = 1; k <= c; k++)
						printf "\t%s", (name[k], size[i]) in v ? v[name[k], size[i]] : "-"
					printf "\n"
				}
			}'
	} >"$out"
}

# Options of both commands; sets n, per, links, rounds, quick, benches of the caller.
place_options()
{
	take_options "$@"
	set -- "${REST[@]+"${REST[@]}"}"
	while [ $# -gt 0 ]; do
		case $1 in
		-n) n=${2:-}; shift ;;
		-N) per=${2:-}; shift ;;
		--links) links=${2:-}; shift ;;
		--rounds) rounds=${2:-}; shift ;;
		--only) benches=${2:-}; benches=${benches//,/ }; shift ;;
		--quick) quick=1 rounds=1 ;;
		-h|--help) usage; exit 0 ;;
		*) die "$cmd: unknown argument '$1'" ;;
		esac
		[ $# -gt 0 ] && shift
	done
	case $n:$per:$rounds in
	*[!0-9:]*|*::*|:*|*:|0*|*:0*) die "$cmd: -n, -N and --rounds want numbers from 1" ;;
	esac
	[ "$n" -gt "$per" ] || die "$cmd: $n ranks on nodes of $per are on one node: there is nothing between nodes"
}

place_begin()
{
	provide_packages && build_all || exit 1
	add_lib ours "ours" "$BUILD/mpich-portals"
	[ -z "${WHY[ours]}" ] || die "$cmd: ${WHY[ours]}"
	for b in mpi_imb mpi_coll mpi_halo; do
		mkdir -p "$LOGS"
		bench_mpi_build ours $b >"$LOGS/bench-ours.log" 2>&1 ||
			die "$b.c does not compile: $(tail -n 1 "$LOGS/bench-ours.log")"
	done
	bench_env
	PLACE_LIMIT=${PLACE_LIMIT:-120} PLACE_LINKS=$links
	mkdir -p "$PLACE/raw"
	rm -f "$PLACE"/raw/* "$PLACE"/*.tsv "$PLACE"/*.gp "$PLACE"/*.svg
}

cmd_placement()
{
	local n=16 per=4 links=1000:50 rounds=3 quick= benches=$PLACE_BENCHES b m r c cols=() failed=

	place_options "$@"
	for b in $benches; do
		case " $PLACE_BENCHES halo3 reduce allgather barrier " in
		*" $b "*) ;;
		*) die "placement: no benchmark '$b'; there are $PLACE_BENCHES halo3 reduce allgather barrier" ;;
		esac
	done
	place_begin
	say "$n ranks on virtual nodes of $per, links $links (us:MB/s); times in us, the least of $rounds"
	place_check "$links" || die "placement: with these links nothing would be learnt on this machine; larger" \
		"latencies and smaller bandwidths (--links US:MBPS) are disturbed less"
	for b in $benches; do
		# shellcheck disable=SC2046
		set -- $(place_command "$b" "$quick")
		# who talks to whom, each rank on a node of its own; then the order for nodes of $per
		PTL_TRAFFIC=$PLACE/raw/$b.traffic place_run "$PLACE/raw/$b.record" "$n" 1 "$@" &&
			"$BUILD/bin/ptl_rank_order" -N "$per" -p 5 -o "$PLACE/raw/$b.order" "$PLACE/raw/$b.traffic" \
				>"$PLACE/$b.txt" 2>&1 ||
			note "$b: no order from its traffic: $(tail -n 1 "$PLACE/$b.txt" 2>/dev/null)"
		for ((r = 1; r <= rounds; r++)); do
			for m in 0 1 2 3; do
				[ $m -lt 3 ] || [ -e "$PLACE/raw/$b.order" ] || continue
				c=$PLACE/raw/$b.$m.$r
				MPICH_RANK_REORDER_METHOD=$m MPICH_RANK_REORDER_FILE=$PLACE/raw/$b.order \
					PTL_LINKS=$links place_run "$c" "$n" "$per" "$@" || { rm -f "$c"; failed=1; }
			done
		done
		cols=()
		for m in 0=round-robin 1=SMP 2=folded 3=traffic; do
			c=$PLACE/raw/$b.${m%=*}
			find "$PLACE/raw" -name "$b.${m%=*}.[0-9]*" ! -name '*.err' -exec cat {} + >"$c.all"
			[ -s "$c.all" ] || continue
			place_least "$c.all" >"$c.least"
			cols+=("${m#*=}=$c.least")
		done
		place_join "$PLACE/$b.tsv" "${cols[@]+"${cols[@]}"}"
		place_plot "$b" "$n" "$per" $((${#cols[@]} + 1))
		say
		say "$b"
		awk -F'\t' '
			NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; rr = col["round-robin"]; smp = col["SMP"] }
			{ for (i = 1; i <= NF; i++) printf i == 1 ? "%10s" : "%14s", $i
			  if (NR == 1) printf "   SMP against round-robin"
			  else if (rr && smp && $rr > 0 && $smp > 0) printf "   %+.0f %%", 100 * ($smp / $rr - 1)
			  printf "\n" }' "$PLACE/$b.tsv"
		sed -n -e 's/^Against/  against/p' -e 's/^.* is as good as/  &/p' "$PLACE/$b.txt"
	done
	say
	say "tables, scripts for gnuplot and raw output: $(short "$PLACE")"
	[ -z "$failed" ]
}

# place_matrix - the benchmarks of the caller, a column for each of its $columns: NAME:VARIABLE=VALUE,...
place_matrix()
{
	local b r c col cols=() failed=
	for b in $benches; do
		# shellcheck disable=SC2046
		set -- $(place_command "$b" "$quick")
		cols=()
		for col in $columns; do
			c=$PLACE/raw/$b.${col%%:*}
			: >"$c.all"
			for ((r = 1; r <= rounds; r++)); do
				# shellcheck disable=SC2046,SC2163
				(export $(tr , ' ' <<<"${col#*:}") PTL_LINKS="$links" &&
					place_run "$c.$r" "$n" "$per" "$@") &&
					cat "$c.$r" >>"$c.all" || failed=1
			done
			place_least "$c.all" >"$c.least"
			cols+=("${col%%:*}=$c.least")
		done
		place_join "$PLACE/$b.tsv" "${cols[@]}"
		place_plot "$b" "$n" "$per" $((${#cols[@]} + 1))
		say
		say "$b"
		awk -F'\t' '{ for (i = 1; i <= NF; i++) printf i == 1 ? "%10s" : "%15s", $i; printf "\n" }' \
			"$PLACE/$b.tsv"
	done
	say
	say "tables, scripts for gnuplot and raw output: $(short "$PLACE")"
	[ -z "$failed" ]
}

cmd_halo()
{
	local n=16 per=4 links=none rounds=3 quick= benches="halo2 halo3" columns= nal b

	place_options "$@"
	for b in $benches; do
		case $b in halo2|halo3) ;; *) die "halo: there are halo2 and halo3, not '$b'" ;; esac
	done
	for nal in $HALO_NALS; do
		columns="$columns $nal+smartmap:PTL_NAL=$nal,PTL_SMARTMAP=try $nal:PTL_NAL=$nal,PTL_SMARTMAP=no"
	done
	place_begin
	say "$n ranks on virtual nodes of $per; us per exchange with all neighbours of a torus, the least of $rounds"
	for nal in $HALO_NALS; do
		[ "$links" = none ] || PTL_NAL=$nal place_check "$links" ||
			die "halo: the links of PTL_NAL=$nal are not what was asked for"
	done
	place_matrix
}

cmd_hier()
{
	local n=32 per=4 links=none rounds=3 quick= benches="reduce bcast allreduce" columns b

	place_options "$@"
	for b in $benches; do
		case $b in
		reduce|bcast|allreduce|barrier) ;;
		*) die "hier: there are reduce, bcast, allreduce and barrier, not '$b'" ;;
		esac
	done
	columns="flat:MPI_COLL_OPT_ON=0 two-level:MPI_COLL_OPT_ON=1 two-level-off:MPI_COLL_OPT_ON=1,PTL_SMARTMAP=no"
	place_begin
	say "$n ranks on virtual nodes of $per; us per call, the least of $rounds. two-level-off: with SMARTMAP off"
	[ "$links" = none ] || place_check "$links" || die "hier: the links are not what was asked for"
	place_matrix
}

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# t_report - the verdicts of the evaluation, on runs made up here: each rule of report.pl, the failing ones first
set -u
src=${P3_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0 bad=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi; }

# run ROUND LIB BENCH H0 H1 "FIGURE BYTES VALUE [H0,T,H1xCOUNT...]"...: with slices where there are any
run()
{
	local f=$work/raw/$1.$2.$3 h0=$4 h1=$5 r s i list
	shift 5
	printf 'rc=0\nh_before=%s\nh_after=%s\nwhy=\n' "$h0" "$h1" >"$f.meta"
	for r; do
		# shellcheck disable=SC2086
		set -- $r
		printf '{"figure":"%s","bytes":%d,"value":%s,"unit":"ns"' "$1" "$2" "$3"
		shift 3
		list=
		for s; do for ((i = ${s#*x}; i > 0; i--)); do list=$list,[${s%x*}]; done; done
		printf '%s}\n' "${list:+,\"slices\":[${list#,}]}"
	done >"$f.json"
}
fail() { printf 'rc=-1\nwhy=%s\n' "$4" >"$work/raw/$1.$2.$3.meta"; }
fresh()
{
	rm -rf "$work"/*
	mkdir "$work/raw"
	printf 'mode\tquick\nrounds\t3\ncpus\t0,1\ndate\tnow\n' >"$work/run.tsv"
	printf 'lib\t%s\t%s\t\n' ours Ours mpich "MPICH \"x\" <y>" openmpi OpenMPI >>"$work/run.tsv"
	printf 'processor\tA\\B "C"\t\001\n' >"$work/machine.tsv"
}
report() { perl "$src/tools/mpt/report.pl" "$work" "$src" --plain >"$work/out" 2>"$work/err"; }
record() { grep "^{\"figure\": \"$1\"" "$work/results.json"; }
says() { record "$1" | grep -qF "\"$2\": $3"; ok $? "$4"; }

echo 1..86

fresh
for r in 1 2 3; do
	run $r ours portals_pingpong 50 50 "put_eqget 8 109 50,109,50x9" "put_eqwait 8 111 50,111,50x9" "memdpost 0 100"
	run $r ours portals_match 50 50 "match_exact 17 60" "match_exact_walk 17 82" "match_wild 32 90" "match_wild_walk 32 80"
	run $r ours portals_net_ap 50 50 "put 8 15" "tcp 8 10" "put_wait 8 90" "tcp_relay 8 10" "compute 0 100" "compute_hit 0 120"
	run $r ours portals_net_off 50 50 "put_wait 8 $((12 + r % 2))" "tcp_relay 8 10" "compute 0 100" "compute_hit 0 130"
	run $r ours portals_net_smartmap 50 50 "put 8 777" "compute 0 100" "compute_hit 0 100"
	run $r ours mpi_short 50 50 "latency 8 100 50,100,50x9" "message_gap 8 100 50,100,50x9"
	run $r mpich mpi_short 50 50 "latency 8 100 50,100,50x9" "message_gap 8 125 50,125,50x9"
	run $r openmpi mpi_short 50 50 "latency 8 120 50,120,50x9" "message_gap 8 80 50,80,50x9"
	run $r ours shmem_put 50 50 "put_pingpong 8 66 50,66,50x9" "barrier 0 114 50,114,50x9"
	run $r ours shmem_coll-4 50 50 "sum 2048 70" "sum 32768 73" "max 2048 70"
	run $r ours-linear shmem_coll-4 50 50 "sum 2048 100" "sum 32768 100" "max 2048 100"
	run $r ours shmem_coll-2 50 50 "max 2048 80"
	run $r ours-linear shmem_coll-2 50 50 "max 2048 100"
	run $r ours shmem_gups 50 50 "gups 67108864 20" "gups_ptr 67108864 15" "gups_threads 67108864 20"
	run $r ours-off shmem_gups 50 50 "gups 131072 5000"
	run $r ours shmem_stencil 50 50 "stencil 32768 1000" "stencil 8388608 9000"
	run $r ours-off shmem_stencil 50 50 "stencil 32768 5000"
	run $r openmpi shmem_stencil 50 50 "stencil 8388608 18000"
	run $r ours-dma portals_crossover 50 50 "put 1048576 300"
	run $r ours-nodma portals_crossover 50 50 "put 1048576 200"
	run $r ours dart_rma 50 50 "put_call 8 4"
	run $r ours dart_stencil 50 50 "stencil 16384 1400"
	run $r mpich dart_rma 50 50 "mpi_put_call 8 1250"
	run $r mpich dart_stencil 50 50 "mpi_stencil 16384 2100"
	run $r openmpi dart_rma 50 50 "mpi_put_call 8 41"
	run $r openmpi dart_stencil 50 50 "mpi_stencil 16384 1500"
done
printf 'variant\tours-linear\tlinear\tA=1\n' >>"$work/run.tsv"
fail 1 openmpi shmem_put "exit code 139: it crashed in its first barrier"
fail 1 openmpi shmem_gups "exit code 139: it crashed in its first barrier"
report
ok $? "a report is made"
[ ! -s "$work/err" ]; ok $? "without a warning"
says portals_put_8B_eqget met true "h + 59 is within h + 60"
says portals_put_8B_eqwait met false "h + 61 is not"
says portals_put_8B_eqwait why '"missed: near: 1 ns above the bar"' "and it is said by how much"
says shmem_put_8B met false "a put of h + 16 is not within h + 15"
says shmem_barrier_2 met true "1.5 h + 39 is within 1.5 h + 40"
says shmem_sum_2KiB met true "0.7 x the linear algorithm is 1.4 times as fast"
says shmem_sum_32KiB met false "0.73 x is not"
says shmem_max_2KiB met true "another reduction is judged, too"
says shmem_max_2PEs_2KiB met false "and on 2 PEs"
says shmem-stencil ratio 0.5 "the stencil stands beside Open MPI's"
says shmem-stencil_64 ratio 0.2 "and, where it is small, beside Portals"
says shmem-gups value 20 "RandomAccess has a row of its own"
says shmem_gups_ptr ratio 0.75 "beside it what a table in parts costs by itself"
says shmem-gups why '"nothing to compare with: OpenMPI: exit code 139: it crashed in its first barrier' "a peer that crashes is told of there"
says shmem-gups_off value 5000 "all through Portals it is a small table"
says smartmap-dma_crossover ratio 1.5 "a long put by the engine is compared with one by the sender"
says dart_put_8B_mpi_rma met true "a tenth of the best peer's one-sided call"
says dart_stencil_64 met false "1.07 times as fast as the best peer is not 1.35 times"
says dart_stencil_64 why '"missed: 0.933 x where 0.741 is asked; MPI_Put and MPI_Win_flush of openmpi take 41 ns: they are loads and stores, too"' \
	"and it is said that the peer's calls are no messages"
grep -q 'crashed in its first barrier' "$work/results.json"; ok $? "a peer's crash is told in words"
says net_off_put_8B_asleep met false "the engine alone is judged against the relay, not where ranks help"
says net_ap_put_8B met true "and those that help against TCP"
grep -q '<td class="n">777.0 ns</td>' "$work/index.html" && grep -q '<td class="n">30 %</td>' "$work/index.html"
ok $? "the ways of a message stand side by side, with what they steal"
says portals_memdpost met true "the bar itself is met"
says portals_ring_600ranks why '"not measured with --quick"' "what a quick report leaves out is said"
says portals_match_exact_17_to_walk met true "an index just above its least length is judged against the walk"
says portals_match_wild_32_to_walk met false "one with wildcards that costs more fails"
says mpi_latency_8B met true "as fast as the best peer is no slower"
says mpi_latency_8B reference '"mpich"' "the reference is the faster peer"
says mpi_message_rate_8B met false "a lower rate than one of the peers fails"
says mpi_message_rate_8B value 1e+07 "ns per message are reported as a rate"
says smartmap_store_pingpong met false "what was not measured is not met"
record smartmap_store_pingpong | grep -q '"value": null.*"why": '; ok $? "and is recorded with the reason"

# near slices pass, far ones do not: the median of all would hide it
fresh
run 1 ours portals_pingpong 50 50 "put_eqget 8 140 50,140,52x30 220,330,220x6"
# medians of t and h would be 78 and 70
run 1 ours smartmap_pingpong 50 50 "smartmap_store_arena 4 78 30,78,30x5 50,90,90x20 80,78,80x4"
run 1 ours mpi_p2p 220 220 "latency 65536 400"
run 1 mpich mpi_p2p 50 50 "latency 65536 200"
run 2 ours mpi_p2p 50 50 "latency 65536 100"
run 2 mpich mpi_p2p 50 50 "latency 65536 200"
run 1 ours mpi_short 50 50 "latency 8 100 50,100,50x9"
run 1 mpich mpi_short 80 80 "latency 8 90 80,90,80x9"
run 2 ours mpi_short 50 50 "latency 8 100 50,100,50x9 220,330,220x9"
run 2 mpich mpi_short 50 50 "latency 8 101 50,101,50x9 225,320,225x9"
run 3 ours mpi_short 50 50 "latency 8 100 50,100,50x9"
run 3 mpich mpi_short 220 220 "latency 8 101 220,200,220x9"
fail 1 openmpi mpi_short "not there: \"why\" \\ never"
report
says portals_put_8B_eqget met false "a bar must hold in each state that was seen"
record portals_put_8B_eqget | grep -q '"far": {"h": 220, .*"over_h": 110'; ok $? "each state is recorded"
says portals_put_8B_eqget state '"far"' "the figure is that of the worse state"
says smartmap_store_pingpong slices_left_out 20 "a slice during which h moved is left out"
says smartmap_store_pingpong over_h 48 "t - h is formed inside a slice, not between medians"
says smartmap_store_pingpong met false "and the verdict follows it"
grep -q '^smartmap_store_pingpong  *near  *78.0 ns *30/30  *48.0 ns .*<= h + 15 ns  *NO' "$work/out"; ok $? "t, h, t - h, bar and verdict stand in one row"
says mpi_time_64KiB met true "rounds in which two libraries saw different states are not compared"
record mpi_latency_8B | grep -q '"near": {[^}]*"ratio": 0.990099, "reference": "mpich"'; ok $? "nor those in which h differed between them"
record mpi_latency_8B | grep -q '"far": {[^}]*"met": false, [^}]*"ratio": 1.03125'; ok $? "a state that both saw in one run is compared"
says mpi_latency_8B met false "a peer that is faster in one state is faster"
grep -q '"library": "openmpi".*"status": "failed"' "$work/results.json"; ok $? "a peer that fails is recorded as such"

# a few slices beside very many are the border between two states; where there are no others they count
fresh
run 1 ours portals_pingpong 98 98 "put_eqget 8 140 98,140,98x30 101,330,101x4" "put_eqwait 8 140 101,330,101x4"
report
says portals_put_8B_eqget met true "a handful of slices is no state"
says portals_put_8B_eqwait met false "unless there are no others"

fresh
run 1 ours portals_pingpong 900 40 "put_eqget 8 100 900,100,40x30" "put_eqwait 8 100 900,1000,900x30"
run 1 ours mpi_short 50 50 "latency 8 100 50,100,50x9"
run 1 mpich mpi_short 50 5000 "latency 8 200 5000,200,5000x9"
report
says portals_put_8B_eqget met null "nothing is judged while h moves all the time"
says portals_put_8B_eqwait met null "nor while other programs have the cores"
says mpi_latency_8B met null "nor compared"

# the machine changed its state during our run, and not during the peer's: still a comparison
fresh
for r in 1 2 3; do
	run $r ours mpi_p2p 50 200 "latency 65536 1000"
	run $r mpich mpi_p2p 50 50 "latency 65536 2500"
done
report
ok $? "a run of two states is compared with one of one"
says mpi_time_64KiB ratio 0.4 "by what both came to"

# MPI: the difference to a peer, many lengths in one row, peers above the number of cores, the papers' figures
fresh
printf 'lib\tnemesis\tNemesis\t\nlib\tnemesis-yield\tYield\t\nvariant\tours-nomatch\tNo match\tA=1\n' >>"$work/run.tsv"
rate=2.7
for r in 1 2 3; do
	run $r ours mpi_short 50 50 "latency 8 139 50,139,50x9" "message_gap 8 100 50,100,50x9"
	run $r ours-nomatch mpi_short 50 50 "latency 8 111 50,111,50x9"
	run $r nemesis mpi_short 50 50 "latency 8 100 50,100,50x9" "message_gap 8 110 50,110,50x9"
	run $r ours mpi_coll-2 50 50 "bcast 8 50" "bcast 1024 90" "bcast 8192 49"
	run $r nemesis mpi_coll-2 50 50 "bcast 8 100" "bcast 1024 100" "bcast 8192 100"
	run $r ours mpi_p2p 50 50 "latency 1024 100" "latency 32768 100" "fresh 8 104" "fresh 1024 100" "fresh 65533 100"
	run $r nemesis mpi_p2p 50 50 "latency 1024 101" "latency 32768 110" "fresh 8 100" "fresh 1024 110" "fresh 65533 110"
	run $r ours mpi_fresh-2 50 50 "fresh_bcast 8 76" "fresh_bcast 1024 78" "fresh_bcast 8192 49"
	run $r nemesis mpi_fresh-2 50 50 "fresh_bcast 8 100" "fresh_bcast 1024 100" "fresh_bcast 8192 100"
	run $r ours mpi_imb 50 50 "pingpong 1024 90" "bidir 1048576 90"
	run $r ours-nomatch mpi_imb 50 50 "pingpong 1024 100"
	run $r ours mpi_coll-4 50 50 "barrier 0 50"
	run $r nemesis mpi_coll-4 50 50 "barrier 0 60"
	run $r nemesis-yield mpi_coll-4 50 50 "barrier 0 200"
	# beside SHMEM's call of the same run, whatever that of another one took
	run $r ours dart_rma 50 50 "put_call 8 9" "get_call 8 8" "mpi_put_call 8 1" "shmem_put_call 8 6" "shmem_get_call 8 5" "dmapp_put_call 8 4.5" \
		"put 64 9" "dmapp_put 64 8" "shmem_put 64 7" "shmem_put_quiet 64 11" "mpi_put 64 300"
	run $r ours shmem_put 50 50 "put_call 8 1" "get_call 8 50"
	run $r ours dmapp_rma 50 50 "rate 1 4" "rate 2 $rate" "rate_nb 1 30" "rate_nb 2 45" "bw_1 64 10" "bw_all 64 12" "amo_one 1 5" "amo_one 2 20"
	run $r ours dmapp_rma-4 50 50 "bw_all 64 30" "amo_one 1 5" "amo_one 2 20" "amo_one 3 30" "amo_one 4 40"
	run $r openmpi dart_rma 50 50 "put_call 8 1" "mpi_put_call 8 91" "mpi_get_call 8 200"
	run $r nemesis dart_rma 50 50 "put_call 8 1" "mpi_put_call 8 100" "mpi_get_call 8 79"
	run $r ours dart_stencil 50 50 "stencil 16384 75" "mpi_stencil 16384 1"
	run $r nemesis dart_stencil 50 50 "stencil 16384 1" "mpi_stencil 16384 100"
done
printf 'mode\tfull\n' >>"$work/run.tsv"
report
[ ! -s "$work/err" ]; ok $? "no warning"
says mpi_time_any_1KiB met true "a length at which we are a little faster stands for all"
says mpi_time_fresh_any_8B met false "with data that are new no length may be slower, either"
says mpi_fresh_bcast_short_2ranks_1KiB met false "new data: a short broadcast has the bar of short ones"
says mpi_fresh_bcast_long_2ranks_8KiB met true "and a long one that of long ones"
says mpt-match_latency ratio 0.9 "a paper's figure is compared with the other setting"
says mpt-match_bandwidth why '"nothing to compare with: No match: ' "and where that is not there it is said"
says mpi_latency_8B_nemesis met true "39 ns more than nemesis are within 40"
says mpi_latency_8B_match_off_nemesis met false "11 ns more are not within 10"
says mpi_bcast_short_2ranks_1KiB met false "the length that is furthest from its bar stands for all"
says mpi_bcast_long_2ranks_8KiB met true "long ones have a bar of their own"
says mpi_barrier_short_4ranks_0B met true "above the number of cores a peer that spins does not count"
record mpi_barrier_short_4ranks_0B | grep -q '"nemesis": {[^}]*"value": 60'; ok $? "but is shown"
says mpi_message_rate_8B met false "1.1 x the rate where 1.2 x is asked"
says dart_put_8B met true "DART's put takes 1.5 x SHMEM's"
says dart_get_8B met false "DART's get takes 1.6 x SHMEM's"
says dart_put_8B_dmapp ratio 2 "and beside it what DMAPP's takes"
says dmapp_rate_2_threads met true "a put of two threads in 0.675 of the time of one's is within 0.7"
says dmapp_rate_nb_2_threads met null "those with a syncid are not judged"
drawn=0
for t in 'in one run: put' 'two processes at once' 'four at once' 'SHMEM, and quiet' 'nb, and a wait for each' 'of 4 PEs'; do
	grep -q "text-anchor=\"start\">$t<\|>$t<\|$t</h3>" "$work/index.html" || { echo "# not drawn: $t"; drawn=1; }
done
ok $drawn "several figures are drawn in one"
says dart_put_8B_mpi_rma met true "the peers' own put takes 10 times as long as DART's"
says dart_get_8B_mpi_rma met false "the get of one of them does not"
says dart_stencil_64 met false "1.33 x where 1.35 x is asked"
for r in 1 2 3; do run $r ours dmapp_rma 50 50 "rate 1 4" "rate 2 3.2"; done
report
says dmapp_rate_2_threads met false "0.8 x is not"
printf 'busy before the start\t40 %% of all cores\n' >>"$work/machine.tsv"
report
says dmapp_rate_2_threads met null "where others keep cores busy it is not judged"
record smartmap_coll-reduce_128 | grep -q '"why": "not shown: '; ok $? "a figure that one machine cannot show has its reason"

grep -q 'What tests/counts holds each operation to' "$work/index.html" && grep -q 'MPI_Send.*<td class="n">[1-9]' "$work/index.html"
ok $? "what each layer costs is a table, of the limits where nothing was counted"
printf 'put_inbox\t%s\t%s\n' instructions 301.0 lines 8 >"$work/counts.tsv"
report
grep -q 'Counted in this run' "$work/index.html" && grep -q 'into an inbox</td><td class="n">301</td><td class="n">8</td>' "$work/index.html" &&
	! grep -q 'PtlGet, done by the initiator' "$work/index.html"
ok $? "and of what was"

if command -v python3 >/dev/null; then
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/results.json"; ok $? "results.json is valid JSON"
else
	n=$((n + 1)); echo "ok $n - results.json is valid JSON # SKIP no python3 to check with"
fi
# what the papers' figures are drawn from, against what a full evaluation runs: its loops, with nothing behind them
mkdir "$work/eval"
(
	BUILD=$work/eval LOGS=$work/eval ROOT=$src LIBDIR=$src/tools/mpt DEPS=$work/eval
	. "$LIBDIR/peers.sh"
	. "$LIBDIR/bench.sh"
	. "$LIBDIR/eval.sh"
	for f in take_options note provide_packages build_all provide_peer build_mpich step bench_{mpi,dart,shmem}_build machine \
		handover bench_limited perl git eval_progress; do eval "$f() { :; }"; done
	add_lib() { LIBS+=("$1"); LABEL[$1]=$1 MPICC[$1]=x MPIEXEC[$1]=x WHY[$1]=; }
	busy() { echo 0; }
	bench_env() { BENCH_CPUS=0,1; }
	cmd_eval
) >"$work/eval.out" 2>&1
perl -we 'our (@libs, %label, %libwhy, %variant, @peers, @records, $cpus) = ();
	my ($work, $src) = @ARGV;
	open my $f, "<", "$work/eval/report/run.tsv" or die "run.tsv: $!\n";
	while (<$f>) { my @w = split /\t/; $label{$w[1]} = 1 if $w[0] =~ /^(?:lib|variant)$/; push @libs, $w[1] if $w[0] eq "lib" }
	@peers = grep { !/^ours/ && $_ ne "nemesis-yield" } @libs;
	$cpus = 2;
	require "$src/tools/mpt/papers.pl";
	my $n = 0;
	for my $e (grep { @$_ > 4 } entries()) {
		my ($name, $bench, $from, $against, $mine) = @$e[0, 3, 5, 7, 9];
		for my $lib (@$from, $against, $mine // "ours") {
			$n++;
			print "$name: nobody runs $bench with $lib\n" unless -e "$work/eval/report/raw/1.$lib.$bench.meta";
		}
	}
	print "only $n\n" if $n < 300;' "$work" "$src" >"$work/drawn" 2>&1
[ ! -s "$work/drawn" ]; ok $? "a full evaluation runs what the papers' figures show"
[ ! -s "$work/drawn" ] || head -n 20 "$work/drawn" "$work/eval.out" | sed 's/^/# /' >&2
# ./mpt eval asks for these by name after `make bench`
eval "$(grep '^BENCH_[A-Z]*="' "$src/tools/mpt/bench.sh")"
made=$(make -C "$P3_BUILD" -pnq bench 2>/dev/null | sed -n 's/^bench: //p')
missing=
for b in $(sed 's/portals_net_[a-z]*/portals_net/g; s/portals_crossover/portals_overlap/' <<<"$BENCH_OURS") $BENCH_SHMEM $BENCH_DMAPP; do
	case " $made " in *" tests/bench/$b "*) ;; *) missing="$missing $b" ;; esac
done
[ -z "$missing" ]; ok $? "make bench builds what the evaluation runs${missing:+: not$missing}"
! grep -q '<y>' "$work/index.html" && ! grep -qE '(src|href)="?https?:' "$work/index.html"; ok $? "the page escapes text and needs no other file"
exit $bad

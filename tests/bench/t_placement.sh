#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# t_placement - ./mpt placement, halo and hier with a launcher that is made up here: what is run under which settings,
# which figures the tables have, and that nothing is shown where the links are not what was asked for
set -uo pipefail
src=${P3_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0 bad=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi; }

ROOT=$src BUILD=$work/build LIBDIR=$src/tools/mpt
mkdir -p "$BUILD/bin" "$BUILD/bench/ours" "$BUILD/mpich-portals/bin"
ln -s "$P3_BUILD/tools/ptl_rank_order" "$BUILD/bin/ptl_rank_order"
# The launcher: 8 bytes take 100 us plus 10 for each step from the best method (2); PingPong has what PTL_LINKS says, or
# what MODEL says. It notes its settings, and writes the traffic of a ring of pairs.
cat >"$BUILD/bin/aprun" <<'END'
#!/bin/bash
n=$2 per=$4 prog=${5##*/} a=("${@:6}")
echo "$n $per $prog ${a[*]} method=${MPICH_RANK_REORDER_METHOD-} links=${PTL_LINKS-} nal=${PTL_NAL-}" \
	"smartmap=${PTL_SMARTMAP-} opt=${MPI_COLL_OPT_ON-}" >>"$RUNS"
if [ -n "${PTL_TRAFFIC-}" ]; then
	for ((r = 0; r < n; r++)); do
		echo "# portals traffic 1 job 1 ranks $n rank $r node $r"
		echo "$r $(((r + n / 2) % n)) 10 1000"
	done >"$PTL_TRAFFIC"
fi
echo "# figure bytes value"
m=${MPICH_RANK_REORDER_METHOD-2}
case $prog in
mpi_imb)
	links=${MODEL:-${PTL_LINKS:-1:1000}}
	awk -v l="${links%:*}" -v b="${links#*:}" 'BEGIN { for (n = 8; n <= 1048576; n *= 8) {
		printf "pingpong %d %f ns\n", n, (l + (n + 128) / b) * 1000
		if (n == 32768) printf "pingpong 65536 %f ns\n", (l + 65536 / b) * 1000
		if (n == 262144) printf "pingpong 1048576 %f ns\n", (l + 1048576 / b) * 1000 } }' ;;
*)	[ "$prog $m" != "${FAILS-} 3" ] || exit 3
	echo "allreduce 8 $((100000 + 10000 * (m > 2 ? m - 2 : 2 - m))) ns" ;;
esac
END
chmod +x "$BUILD/bin/aprun"
for f in lib deps build peers bench eval placement; do . "$LIBDIR/$f.sh"; done
provide_packages() { :; }
build_all() { :; }
add_lib() { WHY[ours]=; }
bench_mpi_build() { :; }
usage() { :; }
run() {	# COMMAND ARGS...: its output to `out`
	RUNS=$work/runs
	export RUNS
	: >"$RUNS"
	cmd=$1
	("cmd_$@") >"$work/out" 2>"$work/err"
}

run placement -n 8 -N 2 --rounds 2 --only allreduce
rc=$?
[ $rc = 0 ] && for m in 0 1 2 3; do
	[ "$(grep -c "^8 2 mpi_coll --only allreduce .*method=$m links=1000:50 " "$work/runs")" = 2 ] || exit 1
done
ok $? every_method_runs_in_every_round_over_the_links
grep -qE '^ +8 +120.000 +110.000 +100.000 +110.000 +-8 %$' "$work/out" && grep -q 'SMP against round-robin' "$work/out"
ok $? the_table_has_a_column_for_each_method
grep -q '^8 1 mpi_coll --only allreduce .*method= links= ' "$work/runs" &&
	grep -q 'saves 8000 bytes (100.0 %)' "$work/out"
ok $? traffic_is_recorded_one_rank_a_node_and_gives_the_order
grep -q '^the model of links is kept: latency 1002.7 us (asked for 1000), bandwidth 50.0' "$work/out"
ok $? the_model_is_checked_first
[ "$(head -n 1 "$BUILD/placement/allreduce.tsv")" = "$(printf 'bytes\tround-robin\tSMP\tfolded\ttraffic')" ] &&
	grep -q "plot for \[i=2:5\] 'allreduce.tsv'" "$BUILD/placement/allreduce.gp"
ok $? a_table_and_a_plot_are_left

MODEL=1200:50 run placement -n 8 -N 2 --rounds 1 --only allreduce
[ $? != 0 ] && ! grep -q mpi_coll "$work/runs" && grep -q 'not kept: latency 1202' "$work/err"
ok $? a_latency_beyond_a_tenth_stops_it
export MODEL=1000:40
run placement -n 8 -N 2 --rounds 1 --only allreduce
[ $? != 0 ] && grep -q 'not kept.*bandwidth 40' "$work/err"
ok $? a_bandwidth_beyond_a_tenth_stops_it
unset MODEL

export FAILS=mpi_coll
run placement -n 8 -N 2 --rounds 1 --only allreduce
[ $? != 0 ] && grep -q 'failed (3)' "$work/err" && grep -qE '^ +8 +120.000 +110.000 +100.000 +-8 %$' "$work/out"
ok $? a_method_that_fails_is_left_out_and_told
unset FAILS

run hier --rounds 1 --only allreduce
[ $? = 0 ] && grep -q '^32 4 mpi_coll .*links=none .*smartmap= opt=0$' "$work/runs" &&
	grep -q 'smartmap=no opt=1$' "$work/runs"
ok $? two_levels_are_switched_by_the_papers_variable
run halo --rounds 1 --only halo2
grep -q '^16 4 mpi_halo --dims 2 .*nal=gp smartmap=try' "$work/runs" && grep -q 'nal=gp smartmap=no' "$work/runs" &&
	[ "$(head -n 1 "$BUILD/placement/halo2.tsv")" = "$(printf 'bytes\tgp+smartmap\tgp\tap+smartmap\tap')" ]
ok $? a_column_for_each_network_with_smartmap_and_without
run halo --rounds 1 --only halo2 --links 1000:50
[ $? = 0 ] && grep -q 'mpi_halo .*links=1000:50 nal=gp' "$work/runs" &&
	grep -q 'mpi_halo .*links=1000:50 nal=ap' "$work/runs" &&
	grep -q 'mpi_imb .*links=1000:50 nal=ap' "$work/runs" &&
	grep -q 'links (PTL_NAL=ap) is kept' "$work/out"
ok $? links_are_checked_for_each_network
run placement -n 4 -N 4
[ $? != 0 ] && grep -q 'are on one node' "$work/err"
ok $? ranks_of_one_node_are_refused
run placement --only fish
[ $? != 0 ] && grep -q "no benchmark 'fish'" "$work/err"
ok $? an_unknown_benchmark_is_refused
# The model itself, by real ranks: links so slow that no busy machine hides them. "Two ranks on two nodes" as above.
mpi=${MPT_BUILD:+$MPT_BUILD/mpich-portals/bin/mpicc}
if [ -x "$mpi" ] && [ -x "$MPT_BUILD/bin/aprun" ] && grep -q 'define HAVE_LIBEV' "$P3_BUILD/config.h"; then
	rm -f "$BUILD/bin/aprun"
	printf '#!/bin/sh\nexec "%s" -cc none "$@"\n' "$MPT_BUILD/bin/aprun" >"$BUILD/bin/aprun"
	chmod +x "$BUILD/bin/aprun"
	"$mpi" -std=gnu11 -O2 -w -pthread -I"$src/tests/bench" -o "$BUILD/bench/ours/mpi_imb" \
		"$src/tests/bench/mpi_imb.c"
	PLACE=$BUILD/placement PLACE_LIMIT=60 BENCH_LINE=$work/line
	for nal in gp ap; do
		(export PTL_NAL=$nal && place_check 20000:5) >"$work/out" 2>&1
		ok $? "real_ranks_find_the_links_that_were_asked_for_$nal"
		sed 's/^/# /' "$work/out" >&2
	done
else
	n=$((n + 1))
	echo "ok $n - real_ranks_find_the_links_that_were_asked_for # SKIP no mpicc of ours, or no network" \
		"(./mpt build)"
fi
echo "1..$n"
exit $bad

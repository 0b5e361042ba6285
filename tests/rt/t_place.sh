#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# From a job's traffic to an order of its ranks: what PTL_TRAFFIC writes is what was sent, by every path; what
# ptl_rank_order and grid_order promise is what comes out when their files are used.
. "${0%/*}/../look/look.sh"
multi=$P3_BUILD/tests/common/multi place=$P3_BUILD/tools/ptl_rank_order grid=$P3_BUILD/tools/grid_order
program=("$P3_BUILD/libtool" --mode=execute "$P3_BUILD/tests/look/t_talk")
: >said
: >err
# talk PER_NODE WHAT N LENGTH: rank 1 sends to rank 0
talk() {
	: >go
	rm -f traffic
	PTL_TRAFFIC=traffic "$multi" -n 2 -N "$1" "${program[@]}" "${@:2}" >out 2>err
	cp traffic said
}
lines() { grep -c '^# portals traffic 1 job [1-9][0-9]* ranks 2 rank [01] node' traffic; }

talk 99 puts 20 32768
[ "$(lines)" = 2 ] && [ "$(grep -v '^#' traffic)" = '1 0 20 655360' ]
ok $? t_puts_within_a_node_are_told_once
talk 99 gets 30 1000
[ "$(grep -v '^#' traffic)" = '1 0 30 30000' ]
ok $? t_gets_within_a_node
talk 99 polled 50 8
[ "$(grep -v '^#' traffic)" = '1 0 50 400' ]
ok $? t_puts_left_in_an_inbox
PTL_SMARTMAP=no talk 99 puts 7 16000
[ "$(grep -v '^#' traffic)" = '1 0 7 112000' ]
ok $? t_puts_without_smartmap
if has_net; then
	talk 1 puts 12 4000
	[ "$(grep -v '^#' traffic)" = '1 0 12 48000' ]
	ok $? t_puts_to_another_node
	talk 1 gets 5 100
	[ "$(grep -v '^#' traffic)" = '1 0 5 500' ]
	ok $? t_gets_from_another_node
else
	skip t_puts_to_another_node "$no_net"
	skip t_gets_from_another_node "$no_net"
fi
# the next job begins the file anew; %j; a place that cannot be had is a warning, and no more
talk 99 puts 3 100
talk 99 puts 4 100
[ "$(lines)" = 2 ] && [ "$(grep -v '^#' traffic)" = '1 0 4 400' ]
ok $? t_a_job_begins_the_file_anew
PTL_TRAFFIC=of.%j "$multi" -n 2 "${program[@]}" puts 1 1 >out 2>err
of=$(echo of.*)
grep -q "job ${of#of.} ranks 2" "$of"
ok $? t_the_number_of_the_job_in_the_name
PTL_TRAFFIC=none/such "$multi" -n 2 "${program[@]}" puts 1 1 >out 2>err &&
	grep -q 'PTL_TRAFFIC=none/such: No such file or directory' err
ok $? t_a_file_that_cannot_be_written

# An 8 x 8 grid that was measured, on nodes of 16.
awk 'BEGIN { for (r = 0; r < 64; r++) {
	print "# portals traffic 1 job 5 ranks 64 rank", r, "node", r
	if (r % 8) print r, r - 1, 10, 1000
	if (r % 8 < 7) print r, r + 1, 10, 1000
	if (r > 7) print r, r - 8, 10, 1000
	if (r < 56) print r, r + 8, 10, 1000 } }' >traffic
"$place" -N 16 -o order traffic >said 2>err
grep -qE '^proposed +32\.0 kB +14\.3 +320 +14\.3 ' said && grep -qE '^method 1 .* 48\.0 kB' said &&
	grep -q 'saves 16000 bytes (33.3 %) and saves 160 messages (33.3 %)' said
ok $? t_a_grid_gets_its_best_order
"$place" -N 16 -f order traffic >said 2>err
grep -qE '^order +32\.0 kB' said && grep -q '^order is as good as what was found' said
ok $? t_the_file_gives_what_was_promised
# a job that ran on nodes of 16 in that order: what is counted there is what was promised
awk 'NR == FNR { if (!/^#/) { n = split($0, r, ","); for (i = 1; i <= n; i++) node[r[i]] = line; line++ } next }
	/^#/ { $NF = node[$(NF - 2)] + 0 } { print }' order traffic >placed
"$place" -N 16 placed >said 2>err
grep -qE '^as it ran +32\.0 kB +14\.3 +320 ' said
ok $? t_a_job_in_that_order_has_that_traffic
"$grid" -R -g 8,8 -N 16 >grid 2>err && "$place" -N 16 -f grid traffic >said 2>>err
grep -q 'different nodes: 16 of 112; without this order 24' grid && grep -qE '^grid +32\.0 kB' said
ok $? t_grid_order_gives_what_it_promises
# random traffic: never worse than any method
rc=0
for seed in 1 2 3 4 5 6 7 8; do
	awk -v s=$seed 'BEGIN { srand(s); n = 7 + int(rand() * 40); for (r = 0; r < n; r++) {
		print "# portals traffic 1 job 5 ranks", n, "rank", r, "node", r
		for (k = 0; k < 5; k++) print r, int(rand() * n), int(rand() * 20), int(rand() * 1e6) } }' >random
	"$place" -N 5 -b messages -o order random >said 2>err &&
		awk '/^(method|proposed)/ { v = $(NF - 2); if (!n++ || v < least) least = v; last = v }
			END { exit !(n == 4 && last == least) }' said || rc=1
done
ok $rc t_random_traffic_is_never_made_worse

# what is wrong is told
bad() {	# NAME STATUS PATTERN COMMAND...
	"${@:4}" >said 2>err
	[ $? = "$2" ] && grep -q -- "$3" err
	ok $? "$1"
}
head -n 100 traffic >half
bad t_ranks_that_have_not_reported 1 'ranks have written nothing, rank' "$place" -N 4 half
sed 's/job 5/job 6/' half >two
bad t_traffic_of_two_jobs 1 'of job 6 with 64 ranks; what came before is of job 5' "$place" -N 4 traffic two
printf '# portals traffic 1 job 5 ranks 2 rank 0 node 0\n0 2 1 1\n' >bad
bad t_a_rank_that_is_not_there 1 'bad:2: not a line of traffic: 0 2 1 1' "$place" -N 4 bad
printf '# portals traffic 2 job 5 ranks 2 rank 0 node 0\n' >bad
bad t_another_version 1 'bad:1: of version 2' "$place" -N 4 bad
: >bad
bad t_an_empty_file 1 'there is no traffic' "$place" -N 4 bad
bad t_no_nodes 2 '-N: how many' "$place" traffic
bad t_no_such_unit 2 'wants bytes, messages, or' "$place" -N 4 -b feet traffic
printf '0-62\n' >holes
bad t_an_order_with_holes 1 'rank 63 is missing' "$place" -N 4 -f holes traffic
bad t_no_grid 2 'which grid' "$grid" -R
bad t_row_or_column 2 'either -R' "$grid" -g 4,4 -c 2,2
bad t_cells_of_another_shape 2 'as many dimensions' "$grid" -R -g 4,4 -c 2
bad t_cells_too_large 2 'larger than the grid' "$grid" -R -g 4,4 -c 8,1
bad t_a_curve_too_long 2 'too many dimensions' "$grid" -R -H -g 1000,2,2,2,2,2,2,2
bad t_a_grid_too_large 2 'more than a million' "$grid" -R -g 1000,1000,1000 -c 1,1,1
finish

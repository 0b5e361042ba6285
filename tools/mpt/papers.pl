# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# papers.pl - the figures of the papers, for report.pl: what each shows there and here, or why one machine cannot show it
#
# smartmap: "SMARTMAP: Operating System Support for Efficient Data Sharing Among Processes on a Multi-Core Processor" (2008);
# smartmap_coll: the collectives over it; mpt: the MPT's MPI on dual-core nodes; shmem: what is measured of SHMEM beside
# the papers. A name is PAPER-FIGURE. Each entry is a
# record of results.json: value is ours at the length of the paper's own sentence, reference what it is compared with
# there. The curves are in the report. Most need a full evaluation. There is no bar here: mpi_bars.pl has them.
use strict;
use warnings;

our (@libs, %label, %libwhy, %variant, @peers, @records, $cpus);

my @transports = ('ours', 'ours-twocopy', 'ours-onecopy', 'ours-off');
my $network = 'it needs more nodes than one machine has; nodes of 2 ranks on this one share its cores and its loopback device';

# [NAME, TITLE, WHAT THE PAPER SAYS, BENCH, FIGURE, LIBRARIES, BYTES, AGAINST (a library), UNIT] or [NAME, TITLE, PAPER, WHY NOT]
sub entries {
	my @all = (@transports, @peers);
	return (
	['smartmap-netpipe_latency', 'NetPIPE, put: latency', '230 ns at 1 byte, through Portals above 5 us', 'portals_pingpong', 'put_spin',
		['ours', 'ours-off'], 8, 'ours-off', 'ns'],
	['smartmap-netpipe_bandwidth', 'NetPIPE, put: long ones, data new', 'a dip at 32 KiB, a jump at 2 MiB', 'portals_pingpong', 'put_fresh',
		['ours', 'ours-off'], 1 << 20, 'ours-off', 'ns'],
	['smartmap-pingpong_latency', 'IMB PingPong: latency', '630 ns; two copies 830 ns; Portals about 3 us', 'mpi_imb', 'pingpong', \@all, 0, 'ours-twocopy', 'ns'],
	['smartmap-pingpong_bandwidth', 'IMB PingPong: long messages', '9.4 GB/s against 5.7 GB/s through Portals', 'mpi_imb', 'pingpong', \@all, 1 << 20, 'ours-off', 'ns'],
	['smartmap-sendrecv', 'IMB Sendrecv', 'curve', 'mpi_imb', 'sendrecv', \@all, 65536, 'ours-twocopy', 'ns'],
	['smartmap-exchange', 'IMB Exchange', 'curve', 'mpi_imb', 'exchange', \@all, 65536, 'ours-twocopy', 'ns'],
	['smartmap-rate_1pair', 'message rate, one pair', 'two copies above 3.5 M/s, one copy 2.4 M/s, others below 0.3 M/s', 'mpi_rate-2', 'pairs_gap', \@all, 1, 'ours-off', 'ns'],
	['smartmap-rate_2pairs', 'message rate, two pairs', 'one copy 4.6 M/s, twice that of one pair; two copies as with one', 'mpi_rate-4', 'pairs_gap',
		['ours', 'ours-twocopy', 'ours-onecopy', 'ours-off', above_cores(4)], 1, 'ours-off', 'ns'],
	['smartmap-n_half', 'length of half the bandwidth, one pair', 'published beside the rate', 'mpi_rate-2', 'pairs_n_half', \@all, 0, 'ours-off', 'B'],
	(map { ["smartmap-$_", "IMB $_, 4 ranks of one node", 'faster than two copies and than Portals', 'mpi_coll-4', $_, ['ours', 'ours-twocopy', 'ours-onecopy', 'ours-off', above_cores(4)],
		$_ eq 'barrier' ? 0 : 8192, 'ours-twocopy', 'ns'] } 'bcast', 'reduce', 'allreduce', 'alltoall', 'barrier'),
	['smartmap-halo', 'halo exchange, 16 ranks on 4 nodes', 'best with SMARTMAP on the node and Portals between nodes', 'mpi_halo-16', 'halo', ['ours-nodes4', 'ours-nodes4-off'],
		512, 'ours-nodes4-off', 'ns', 'ours-nodes4'],
	['smartmap_coll-reduce', 'reduce on one node', '7 x at 32 KiB over shared-memory copies, from 1 KiB on in parallel', 'mpi_coll-4', 'reduce',
		['ours', 'ours-serial', 'ours-parallel', 'ours-twocopy', above_cores(4)],
		32768, 'ours-twocopy', 'ns'],
	['smartmap_coll-bcast', 'broadcast on one node', 'about 10 x at 8 KiB', 'mpi_coll-4', 'bcast', ['ours', 'ours-twocopy', above_cores(4)], 8192, 'ours-twocopy', 'ns'],
	['smartmap_coll-allreduce', 'allreduce on one node', '2 to 3 x for 1 KiB to 1 MiB', 'mpi_coll-4', 'allreduce', ['ours', 'ours-twocopy', above_cores(4)], 8192, 'ours-twocopy', 'ns'],
	['smartmap_coll-alltoall', 'alltoall on one node', 'more than 5 x for 4 to 128 KiB', 'mpi_coll-4', 'alltoall', ['ours', 'ours-twocopy', above_cores(4)], 32768, 'ours-twocopy', 'ns'],
	['smartmap_coll-reduce_128', 'reduce, 128 ranks on 32 nodes', 'up to 30 % at 2 MiB', $network],
	['smartmap_coll-bcast_128', 'broadcast, 128 ranks on 32 nodes', '5 to 20 % for 4 to 512 KiB', $network],
	['mpt-match_latency', 'matching in Portals, in MPI, and both: latency', 'matching in MPI is faster on the node', 'mpi_imb', 'pingpong', ['ours', 'ours-nomatch', 'ours-hybrid'], 1024,
		'ours-nomatch', 'ns'],
	['mpt-match_bandwidth', 'both directions at once, matching in Portals and in MPI', 'matching in MPI is worse for long messages', 'mpi_imb', 'bidir',
		['ours', 'ours-nomatch', 'ours-hybrid'], 1 << 20, 'ours-nomatch', 'ns'],
	(map { ["mpt-placement_$_->[0]", "$_->[0]: SMP order against round-robin, 4 ranks on nodes of 2", $_->[1], 'mpi_coll-4', $_->[0], ['ours-nodes-smp', 'ours-nodes-rr'], $_->[2],
		'ours-nodes-rr', 'ns', 'ours-nodes-smp'] } ['allreduce', '7 to 32 % better', 8], ['alltoall', '13 to 36 % better above 16 KiB', 8192], ['bcast', '12 % at 8 bytes, 45 % at 1 MiB', 1 << 20]),
	(map { ["mpt-coll_opt_$_->[0]", "MPI_COLL_OPT_ON: $_->[0], 4 ranks on nodes of 2", $_->[1], 'mpi_coll-4', $_->[0], ['ours-nodes-opt', 'ours-nodes'], $_->[2], 'ours-nodes',
		'ns', 'ours-nodes-opt'] } ['allreduce', '5 % at 1 MiB to 40 % at 8 bytes', 8], ['barrier', 'about 30 %', 0]),
	['mpt-fast_memcpy', 'MPICH_FAST_MEMCPY: copies inside MPI', 'about 4 x at 1 MiB', 'mpi_copy', 'copy_pack', ['ours-fastcopy', 'ours-plaincopy'], 1 << 20, 'ours-plaincopy', 'ns', 'ours-fastcopy'],
	['mpt-fast_memcpy_allreduce', 'MPICH_FAST_MEMCPY in allreduce, 2 ranks', '13 % above 256 KiB', 'mpi_coll-2', 'allreduce', ['ours-fastcopy', 'ours-plaincopy'], 1 << 20, 'ours-plaincopy', 'ns',
		'ours-fastcopy'],
	['mpt-scaling', 'allreduce, alltoall, barrier up to 256 ranks on 128 nodes', 'curves', $network],
	['smartmap-shmem_latency', 'Figure 4: SHMEM put, latency, SMARTMAP on and off', '230 ns at 1 byte, through Portals above 5 us', 'shmem_put', 'put_pingpong',
		['ours', 'ours-off', 'openmpi'], 8, 'ours-off', 'ns'],
	['smartmap-shmem_bandwidth', 'Figure 4: SHMEM put, long ones, SMARTMAP on and off', 'a dip at 32 KiB, a jump at 2 MiB', 'shmem_bw', 'put_fresh',
		['ours', 'ours-off', 'openmpi'], 1 << 20, 'ours-off', 'ns'],
	['smartmap-dma_crossover', 'Figure 4: long puts on the node copied by the engine from 512 KiB on (PTL_SELF_DMA_MIN)',
		'a switch at 512 KiB, where Portals leaves the copy to the network interface', 'portals_crossover', 'put', ['ours-dma', 'ours-nodma'], 1 << 20, 'ours-nodma', 'ns',
		'ours-dma'],
	['shmem-get', 'SHMEM: a blocking get', 'OSU, no figure', 'shmem_put', 'get_latency', ['ours', 'ours-off', 'openmpi'], 8, 'openmpi', 'ns'],
	(map { ["shmem-$_->[0]", "SHMEM: $_->[1], by one PE on its peer", 'OSU, no figure', 'shmem_put', $_->[0], ['ours', 'ours-off', 'openmpi'], 8, 'openmpi', 'ns'] }
		['amo_fetch_add', 'fetch-add'], ['amo_add', 'add'], ['amo_cswap', 'compare-and-swap'], ['amo_swap', 'swap']),
	['shmem-fetch_inc', 'SHMEM: fetch-increment by two PEs of one variable', 'no figure', 'shmem_put', 'fetch_inc', ['ours', 'ours-off', 'openmpi'], 8, 'openmpi', 'ns'],
	['shmem-gups', 'SHMEM: RandomAccess, 2 PEs', 'no figure', 'shmem_gups', 'gups', ['ours', 'openmpi'], 1 << 26, 'openmpi', 'ns'],
	['shmem-gups_off', 'SHMEM: RandomAccess in a small table, all through Portals', 'no figure', 'shmem_gups', 'gups', ['ours-off'], 1 << 17, 'ours-off', 'ns', 'ours-off'],
	['shmem-stencil', 'SHMEM: 5-point stencil of 1024 x 1024 on each of 2 PEs', 'no figure', 'shmem_stencil', 'stencil', ['ours', 'ours-off', 'openmpi'], 1 << 23, 'openmpi', 'ns'],
	['shmem-stencil_64', 'SHMEM: 5-point stencil of 64 x 64, SMARTMAP on and off', 'no figure', 'shmem_stencil', 'stencil', ['ours', 'ours-off', 'openmpi'], 1 << 15, 'ours-off', 'ns'],
	(map { ["mpt-shmem_$_", "SHMEM: $_ of 4 PEs against the linear algorithm", '40 % better than the release before', 'shmem_coll-4', $_, ['ours', 'ours-linear', 'openmpi'],
		32768, 'ours-linear', 'ns'] } 'broadcast', 'sum'),
	['dmapp-put_latency', 'DMAPP, figure 2: half round trip of a put', 'curves only', 'dmapp_rma', 'put_pingpong', ['ours', 'ours-off'], 8, 'ours-off', 'ns'],
	['dmapp-get_latency', 'DMAPP, figure 2: a blocking get', 'curves only', 'dmapp_rma', 'get', ['ours', 'ours-off'], 8, 'ours-off', 'ns'],
	['dmapp-bandwidth', 'DMAPP, figure 3: time of a put of each of 1, 2 and 4 processes', 'curves only; the engine is seen at 4 KiB', 'dmapp_rma', 'bw_1', ['ours'], 65536, 'ours', 'ns',
		'ours', [['one of two processes', 'dmapp_rma', 'bw_1'], ['two processes at once', 'dmapp_rma', 'bw_all'], ['four at once', 'dmapp_rma-4', 'bw_all']]],
	['dmapp-puts_in_flight', 'DMAPP, figure 4: so many puts of 64 bytes, and gsync', 'curves only', 'dmapp_rma', 'flight', ['ours'], 64, 'ours', 'ns'],
	(map { ["dmapp-strided_$_", "DMAPP, figure 5: an element of an iput of $_, against the target's stride in elements", 'curves only', 'dmapp_rma', "stride_$_", ['ours'], 8,
		'ours', 'ns'] } 8, 64, 512),
	(map { ["dmapp-$_", 'DMAPP, figure 6: an atomic operation of so many PEs on ' . (/one/ ? 'one word' : '8192 words'), 'curves only; the cache has 64 words',
		'dmapp_rma-4', $_, ['ours'], 4, 'ours', 'ns', 'ours', [['of 4 PEs', 'dmapp_rma-4', $_], ['of 2 PEs', 'dmapp_rma', $_]]] } 'amo_one', 'amo_8k'),
	['dmapp-threads', 'DMAPP: puts by 1 and 2 threads of a process', "the paper's concern for the future", 'dmapp_rma', 'rate', ['ours'], 2, 'ours', 'ns',
		'ours', [['nbi', 'dmapp_rma', 'rate'], ['nb, and a wait for each', 'dmapp_rma', 'rate_nb']]],
	(map { my $op = $_; map { ["dart-${op}_$_->[0]", "DART: blocking $op, $_->[1]", 'native MPI RMA more than 10 x slower for short ones; flat below 1 KB', 'dart_rma', $op,
		['ours', 'ours-nested', 'ours-rma', 'ours-apart', 'mpich', 'openmpi', 'nemesis'], $_->[2], 'ours-rma', 'ns'] } ['short', 'short ones', 128], ['long', 'long ones', 16384] }
		'put', 'get'),
	(map { my $op = $_; ["dart-one_run_$op", "DART, DMAPP, SHMEM and MPI in one run: $op", 'native MPI RMA more than 10 x slower for short ones', 'dart_rma', $op, ['ours'], 8, 'ours', 'ns',
		'ours', [['DART', 'dart_rma', $op], ['DMAPP', 'dart_rma', "dmapp_$op"], ['SHMEM', 'dart_rma', "shmem_$op"],
			$op eq 'put' ? ['SHMEM, and quiet', 'dart_rma', 'shmem_put_quiet'] : (), ['MPI, and flush', 'dart_rma', "mpi_$op"]]] } 'put', 'get'),
	['dart-native', 'MPI_Put and MPI_Win_flush, in the runs of the last', 'more than 10 x slower than DART on the node', 'dart_rma', 'mpi_put', ['ours', 'mpich', 'openmpi', 'nemesis'], 128, 'mpich', 'ns'],
	(map { my $op = $_; map { ["dart-distance_${op}_$_", "DART: blocking $op of $_ bytes by unit 0, against the distance; 4 units on nodes of 2, and on one",
		'by distance across nodes, curves only', 'dart_rma-4', "${op}_distance_$_", ['ours-nodes', 'ours'], 3, 'ours', 'ns', 'ours-nodes'] } '8', '1M' } 'put', 'get'),
	['dart-gups', 'DART: RandomAccess, 2 units', 'as SHMEM on one node', 'dart_gups', 'gups', ['ours', 'mpich', 'openmpi', 'nemesis'], 1 << 25, 'mpich', 'ns'],
	(map { ["dart-stencil_$_", "DART: 5-point stencil of $_ x $_, 2 units", 'about 35 % better than MPI for 64 x 64, 16 processes', 'dart_stencil', 'stencil',
		['ours', 'ours-nested', 'ours-rma', 'mpich', 'openmpi', 'nemesis'], $_ * $_ * 4, 'ours-rma', 'ns'] } 64, 1024),
	);
}

# Libraries that give up their core, or all where there are cores enough.
sub above_cores {
	my ($n) = @_;
	return @peers if $n <= $cpus;
	return grep { exists $label{$_} } 'openmpi', 'nemesis-yield';
}

sub paper_figures {
	my @out;
	for my $e (entries()) {
		my ($name, $title, $says, @rest) = @$e;
		my %r = (figure => $name, paper => $says, library => 'ours', value => undef, reference => undef, reference_value => undef, ratio => undef, met => undef, bar => undef);
		my %i = (name => $name, title => $title, says => $says);
		if (@rest == 1) {
			$i{why} = $rest[0];
			push @records, { %r, unit => '', why => "not shown: $rest[0]", command => '' };
			push @out, { %i };
			next;
		}
		my ($bench, $fig, $from, $bytes, $against, $unit, $mine, $lines) = @rest;
		$mine //= 'ours';
		my ($v, $w) = map { value_of($_, $bench, $fig, $bytes) } $mine, $against;
		my ($program, $ranks) = $bench =~ /^(\w+?)(?:-(\d+))?$/;
		my $rec = { %r, library => $mine, unit => $unit, value => $v, bytes => $bytes, reference => $against, reference_value => $w,
			    ratio => defined $v && defined $w && $w ? $v / $w : undef, command => "./mpt bench $program --lib $mine" . ($ranks ? " -n $ranks" : '') };
		my ($missing) = grep { !defined value_of($_, $bench, $fig, $bytes) } $mine, $against;
		$rec->{why} = ($missing eq $mine ? 'not measured: ' : "nothing to compare with: " . ($label{$missing} // $missing) . ': ') . why_not($missing, $bench, $fig) .
			      ' (a full evaluation has all of them)' if defined $missing;
		push @records, $rec;
		push @out, { %i, rec => $rec, bench => $bench, fig => $fig, from => $from, unit => $unit, lines => $lines };
	}
	return @out;
}

# What a figure is drawn against, where the number behind it is no length.
my %axis = (flight => 'puts in flight', amo_one => 'PEs', amo_8k => 'PEs', rate => 'threads', stencil => 'bytes of the grid', gups => 'bytes of the table',
	    map { ("stride_$_" => 'stride in elements') } 8, 64, 512);
sub axis_of {
	my ($p) = @_;
	return 'distance in units' if $p->{fig} =~ /_distance_/;
	return $axis{$p->{fig}} if $p->{bench} =~ /^(dmapp|dart|shmem)_/;
}

# As HTML, by report.pl's own plot, series and escape.
sub paper_html {
	my ($p, $plot, $series, $h, $lines) = @_;
	my $text = '<h3>' . $h->("$p->{name}: $p->{title}") . '</h3><p>' . $h->("The paper: $p->{says}.");
	if ($p->{why}) {
		return { html => $text . ' ' . $h->("Not shown: $p->{why}.") . '</p>' };
	}
	my ($r, $axis) = ($p->{rec}, axis_of($p));
	$text .= ' ' . $h->(defined $r->{value} ? 'Here: ' . quantity($r->{value}, $r->{unit}) . (!$r->{bytes} ? '' : defined $axis ? " at $r->{bytes} ($axis)" : ' at ' . size_name($r->{bytes})) .
			    (defined $r->{ratio} ? sprintf(', %.2f of %s', $r->{ratio}, $label{$r->{reference}} // $r->{reference}) :
			    $r->{why} ? "; $r->{why}" : '') : ucfirst $r->{why}) . '.</p>';
	my $ns = $p->{unit} eq 'ns';
	if ($p->{lines}) {	# several figures in one drawing
		my @lines = $lines->($ns ? 1e-3 : 1, map { [@$_, $r->{library}] } @{$p->{lines}});
		$text .= $plot->($p->{title}, $axis // 'message length', $ns ? 'microseconds' : $p->{unit}, @lines) if grep { @{$_->[1]} } @lines;
		return { html => $text };
	}
	my @from = grep { exists $label{$_} } @{$p->{from}};
	my @points = map { sizes($p->{bench}, $p->{fig}, $_) } @from;
	$text .= $plot->($p->{title}, $axis // 'message length', $ns ? 'microseconds' : $p->{unit}, $series->($p->{bench}, $p->{fig}, $ns ? 1e-3 : 1, @from))
		if grep { $_ > 0 } @points;
	return { html => $text };
}

1;

# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# mpi_bars.pl - what MPI must reach here, for report.pl: against the peers, in the same rounds
#
# Above the number of cores only those peers count that give up their core while they wait (nemesis built to yield, Open MPI
# told to); others are shown. A bar for several lengths is one row: that of the length that is furthest from it. What
# only a full evaluation measures has no row in a quick one.
use strict;
use warnings;

our (@libs, %label, %libwhy, @peers, @records, $cpus);

my @big = map { $_ << 10 } 64, 256, 1024, 4096;
my %share = (65536 => 0.5, map { $_ << 10 => 0.25 } 256, 1024, 4096);

sub bench_p2p { return sprintf './mpt bench mpi_p2p --lib %s --only %s', @_; }

# t of @$us minus t of the peer at most @$margin ns: slices of the same round and state, whose h are alike.
sub figure_diff {
	my ($name, $lib, $peer, $bench, $fig, $bytes, $margin, $cmd) = @_;
	my ($p, $q) = (points($lib, $bench, $fig, $bytes), points($peer, $bench, $fig, $bytes));
	my $rec = { figure => $name, library => $lib, bytes => $bytes, value => undef, unit => 'ns', reference => $peer, reference_value => undef,
		    ratio => undef, bar => "at most $peer + $margin ns", met => 0, command => $cmd };
	my %rows;
	push @records, $rec;
	common($rec, $p);
	$rec->{value} = median(map { $p->{$_}{value} } keys %$p);
	$rec->{reference_value} = median(map { $q->{$_}{value} } keys %$q);
	if (!%$p || !%$q) {
		$rec->{why} = !%$p ? why_not($lib, $bench, $fig) : "$peer: " . why_not($peer, $bench, $fig);
		return;
	}
	for my $r (grep { $q->{$_} } keys %$p) {
		my %a = run_states($p->{$r});
		my %b = run_states($q->{$r});
		for my $s (grep { $b{$_} && $_ ne 'disturbed' } keys %a) {
			my ($x, $y) = ($a{$s}, $b{$s});
			next if !defined $x->{h} || !defined $y->{h} || $x->{h} > $y->{h} * 1.15 || $y->{h} > $x->{h} * 1.15;
			push @{$rows{$s}}, { value => $x->{value}, reference_value => $y->{value}, h_before => $x->{h0}, h_after => $x->{h1},
					     h => $x->{h}, over_h => $x->{value} - $x->{h}, diff => $x->{value} - $y->{value} };
		}
	}
	my (@missed, $worst);
	for my $s (sort keys %rows) {
		my $m = middle('diff', 1, @{$rows{$s}});
		$m->{met} = $m->{diff} <= $margin ? 1 : 0;
		$m->{reference} = $peer;
		$m->{rounds} = @{$rows{$s}};
		$rec->{by_state}{$s} = $m;
		push @missed, sprintf('%s: %s + %.0f ns', $s, $peer, $m->{diff}) unless $m->{met};
		$worst = $m if !$worst || $m->{diff} > $worst->{diff};
	}
	if (!$worst) {
		$rec->{met} = undef;
		$rec->{why} = 'not judged: h was not alike beside the two in any round';
		return;
	}
	@$rec{'value', 'reference_value', 'h_before', 'h_after', 'over_h'} = @$worst{'value', 'reference_value', 'h_before', 'h_after', 'over_h'};
	$rec->{met} = @missed ? 0 : 1;
	$rec->{why} = 'missed: ' . join('; ', @missed) if @missed;
}

# One row for several lengths: $one->(LENGTH) makes the record of each.
sub figure_worst {
	my ($name, $one, @bytes) = @_;
	my ($worst, $far);
	for my $n (@bytes) {
		$one->($n);
		my $rec = pop @records;
		my ($limit) = ($rec->{bar} // '') =~ /at (?:most|least) ([\d.]+) x/ or next;
		my $miss = !defined $rec->{ratio} ? 1e9 : !defined $rec->{met} ? -1 :
			   $rec->{bar} =~ /^at most/ ? $rec->{ratio} / $limit : $limit / $rec->{ratio};
		($worst, $far) = ($rec, $miss) if !$worst || $miss > $far;
	}
	return unless $worst;
	$worst->{figure} = $name . '_' . size_name($worst->{bytes});
	push @records, $worst;
}

# A figure of one run against one of another, both of ours, in the same round.
sub figure_limit {
	my ($name, $from, $limit, $max, $cmd) = @_;
	my ($p, $q) = (points(@$from), points(@$limit));
	my $rec = { figure => $name, library => $from->[0], bytes => $from->[3], unit => 'ns', reference => $limit->[2], reference_value => undef,
		    ratio => undef, bar => sprintf('at most %.3g x', $max), met => 0, command => $cmd };
	push @records, $rec;
	common($rec, $p);
	$rec->{value} = median(map { $p->{$_}{value} } keys %$p);
	$rec->{reference_value} = median(map { $q->{$_}{value} } keys %$q);
	if (!defined $rec->{value} || !defined $rec->{reference_value}) {
		$rec->{why} = why_not(@{defined $rec->{value} ? $limit : $from}[0 .. 2]);
		return;
	}
	$rec->{ratio} = $rec->{value} / $rec->{reference_value};
	$rec->{met} = $rec->{ratio} <= $max ? 1 : 0;
	$rec->{why} = sprintf('missed: %.2f x where %.3g is asked', $rec->{ratio}, $max) unless $rec->{met};
}

# An absolute bar with its own unit.
sub figure_max {
	my ($name, $bench, $fig, $bytes, $unit, $max, $cmd) = @_;
	my $p = points('ours', $bench, $fig, $bytes);
	my $rec = { figure => $name, library => 'ours', bytes => $bytes, unit => $unit, reference => 'the bar', reference_value => $max, ratio => undef,
		    bar => "at most $max $unit", met => 0, command => $cmd };
	push @records, $rec;
	common($rec, $p);
	$rec->{value} = median(map { $p->{$_}{value} } keys %$p);
	if (!defined $rec->{value}) {
		$rec->{why} = why_not('ours', $bench, $fig);
		return;
	}
	$rec->{ratio} = $max ? $rec->{value} / $max : undef;
	$rec->{met} = $rec->{value} <= $max ? 1 : 0;
	$rec->{why} = sprintf('missed: %.3g %s', $rec->{value}, $unit) unless $rec->{met};
}

sub collective_bars {
	my ($n) = @_;
	my @against = $n > $cpus ? grep { exists $label{$_} } 'openmpi', 'nemesis-yield' : @peers;
	my %extra = (ranks => $n, oversubscribed => $n > $cpus ? 'yes' : 'no');
	for my $coll ('barrier', 'bcast', 'reduce', 'allreduce', 'alltoall', 'allgather') {
		my $cmd = "./mpt bench mpi_coll -n $n --only $coll";
		my @sizes = sizes("mpi_coll-$n", $coll, 'ours');
		if (!@against) {
			push @records, { figure => "mpi_${coll}_${n}ranks", library => 'ours', unit => 'ns', bar => 'at most 0.5 x the best peer', met => undef,
					 command => $cmd, why => 'not judged: no peer that gives up its core was measured' };
			next;
		}
		for my $part (['short', 0.769, grep { $_ < 8192 } @sizes], ['long', 0.5, grep { $_ >= 8192 } @sizes]) {
			my ($word, $bar, @some) = @$part;
			@some = ($coll eq 'barrier' ? 0 : 8) if !@some && $word eq 'short';
			figure_worst("mpi_${coll}_${word}_${n}ranks", sub {
				figure_ratio('', 'ours', "mpi_coll-$n", $coll, $_[0], 'ns', 'lower', \@against, $bar, $cmd, \%extra);
			}, @some);
		}
	}
}

# Over a network device, the loopback one: the peers by TCP, their shared memory off. Where the engine is the interrupt thread
# (gp) there is no bar.
sub net_bars {
	my ($full) = @_;
	my @tcp = grep { exists $label{$_} } 'mpich-tcp', 'openmpi-tcp';
	for my $n (8, 1024, 65536, 1 << 20, 4 << 20) {
		for my $lib ('ap', 'gp') {
			figure_ratio("mpi_net_${lib}_" . size_name($n), "ours-$lib", 'mpi_net', 'latency', $n, 'ns', 'lower', \@tcp, $lib eq 'ap' ? 1.0 : undef,
				     bench_p2p("ours-$lib", 'latency'));
		}
	}
	return unless $full;
	figure_ratio('mpi_net_ap_rate_8B', 'ours-ap', 'mpi_net', 'message_gap', 8, 'msg/s', 'higher', \@tcp, 1.0, bench_p2p('ours-ap', 'rate'), { gap => 1 });
	figure_ratio('mpi_net_ap_bandwidth_' . size_name($_), 'ours-ap', 'mpi_net', 'bandwidth', $_, 'ns', 'lower', \@tcp, 1.0, bench_p2p('ours-ap', 'bandwidth'))
		for 65536, 1 << 20;
}

# A figure of ours against another one of the peers', the best of them: medians of all rounds.
sub figure_other {
	my ($name, $from, $peers, $fig, $max, $cmd) = @_;
	my ($lib, $bench, $own, $bytes) = @$from;
	my $p = points($lib, $bench, $own, $bytes);
	my $rec = { figure => $name, library => $lib, bytes => $bytes, unit => 'ns', reference => undef, reference_value => undef, ratio => undef,
		    bar => sprintf('at most %.3g x %s of the best of %s', $max, $fig, join(', ', @$peers)), met => 0, command => $cmd };
	push @records, $rec;
	common($rec, $p);
	$rec->{value} = value_of($lib, $bench, $own, $bytes);
	for my $peer (@$peers) {
		my $v = value_of($peer, $bench, $fig, $bytes);
		$rec->{peers}{$peer} = { value => $v, ratio => defined $v && defined $rec->{value} ? $rec->{value} / $v : undef };
		$rec->{peers}{$peer}{why} = why_not($peer, $bench, $fig) unless defined $v;
		@$rec{'reference', 'reference_value'} = ($peer, $v) if defined $v && (!defined $rec->{reference_value} || $v < $rec->{reference_value});
	}
	if (!defined $rec->{value} || !defined $rec->{reference_value}) {
		$rec->{why} = defined $rec->{value} ? 'no peer was measured' : why_not($lib, $bench, $own);
		return;
	}
	$rec->{ratio} = $rec->{value} / $rec->{reference_value};
	$rec->{met} = $rec->{ratio} <= $max ? 1 : 0;
	$rec->{why} = sprintf('missed: %.3g x where %.3g is asked', $rec->{ratio}, $max) unless $rec->{met};
}

# The last record, where it missed a peer whose own one-sided calls are no messages on this machine: that is why.
sub explain_direct {
	my $rec = $records[-1];
	return unless $rec->{why} && defined $rec->{ratio} && !$rec->{met};
	my $ns = value_of($rec->{reference}, 'dart_rma', 'mpi_put_call', 8);
	$rec->{why} .= sprintf('; MPI_Put and MPI_Win_flush of %s take %.0f ns: they are loads and stores, too', $rec->{reference}, $ns) if defined $ns && $ns < 200;
}

# DART: a blocking call beside SHMEM's and DMAPP's in the same run, and what the peers' own one-sided calls take.
sub dart_bars {
	for my $op ('put', 'get') {
		my $cmd = './mpt bench dart_rma --only call';
		figure_self("dart_${op}_8B", 'dart_rma', "${op}_call", 8, ["shmem_${op}_call", 8], 1.5, $cmd);
		figure_self("dart_${op}_8B_dmapp", 'dart_rma', "${op}_call", 8, ["dmapp_${op}_call", 8], undef, $cmd);
		figure_other("dart_${op}_8B_mpi_rma", ['ours', 'dart_rma', "${op}_call", 8], \@peers, "mpi_${op}_call", 0.1, "$cmd; $cmd --lib openmpi");
		explain_direct();
	}
	figure_other('dart_stencil_64', ['ours', 'dart_stencil', 'stencil', 64 * 64 * 4], \@peers, 'mpi_stencil', 1 / 1.35, './mpt bench dart_stencil');
	explain_direct();
}

sub mpi_bars {
	my ($mode) = @_;
	my @debian = grep { exists $label{$_} } 'mpich', 'openmpi';
	my $full = $mode ne 'quick';

	figure_ratio('mpi_latency_8B_match_off', 'ours-nomatch', 'mpi_short', 'latency', 8, 'ns', 'lower', \@debian, 1.0, bench_p2p('ours-nomatch', 'latency'));
	figure_diff('mpi_latency_8B_nemesis', 'ours', 'nemesis', 'mpi_short', 'latency', 8, 40, bench_p2p('ours', 'latency'));
	figure_diff('mpi_latency_8B_match_off_nemesis', 'ours-nomatch', 'nemesis', 'mpi_short', 'latency', 8, 10, bench_p2p('ours-nomatch', 'latency'));
	for my $fig ('latency', 'fresh') {
		figure_ratio('mpi_time_' . ($fig eq 'fresh' ? 'fresh_' : '') . size_name($_), 'ours', 'mpi_p2p', $fig, $_, 'ns', 'lower', \@peers, $share{$_},
			     bench_p2p('ours', $fig)) for @big;
	}
	for my $fig ('latency', 'fresh') {	# whatever the length, and whether the buffers were used before or not
		figure_worst('mpi_time_' . ($fig eq 'fresh' ? 'fresh_' : '') . 'any', sub {
			figure_ratio('', 'ours', 'mpi_p2p', $fig, $_[0], 'ns', 'lower', \@peers, 1.0, bench_p2p('ours', $fig));
		}, grep { !$share{$_} && ($_ != 8 || $fig eq 'fresh') } sizes('mpi_p2p', $fig, 'ours'));
	}
	figure_limit('mpi_time_of_two_movers_' . size_name($_), ['ours', 'mpi_p2p', 'latency', $_], ['ours', 'portals_copy', 'put_both', $_], 1.25,
		     './mpt bench mpi_p2p --only latency; ./mpt bench portals_copy --only put_both') for grep { $_ >= 262144 } @big;
	figure_ratio('mpi_message_rate_8B', 'ours', 'mpi_short', 'message_gap', 8, 'msg/s', 'higher', \@peers, 1.2, bench_p2p('ours', 'rate'), { gap => 1 });
	figure_ratio('mpi_threads_rate_2', 'ours', 'mpi_threads-2', 'threads_gap', 2, 'ns', 'lower', \@peers, 1.0, './mpt bench mpi_rate --threads 2');
	figure_ratio("mpi_queue_$_", 'ours', 'mpi_queue', $_, 10000, 'ns', 'lower', ['nemesis'], 0.2, "./mpt bench mpi_queue --only $_")
		for 'behind_posted', 'behind_unexpected', 'drain_posted', 'drain_unexpected';
	figure_h('mpi_put_8B', 'ours', 'mpi_rma', 'rma_put8', 8, 60, './mpt bench mpi_rma --only put8');
	net_bars($full);
	dart_bars();
	collective_bars($_) for 2, 4, $full ? 8 : ();
	my $over = 4 * ($cpus > 1 ? $cpus : 1);
	figure_max('mpi_share_of_cores_4x', "mpi_share-$over", 'job_share', $over, 'x', 2, "./mpt bench mpi_job -n $over --only share");
	figure_max('mpi_waiting_cpu', 'mpi_idle-2', 'job_idle', 2, '%', 1, './mpt bench mpi_job --only idle');
	figure_ratio('mpi_memory_2ranks', 'ours', 'mpi_idle-2', 'job_memory', 2, 'kB', 'lower', ['nemesis'], 1.0, './mpt bench mpi_job --only memory');
	return unless $full;
	figure_ratio('mpi_memory_64ranks', 'ours', 'mpi_job-64', 'job_memory', 64, 'kB', 'lower', ['nemesis-yield'], 1.0, './mpt bench mpi_job -n 64 --only memory');
	figure_ratio('mpi_start_64ranks', 'ours', 'mpi_job-64', 'job_start', 64, 's', 'lower', ['nemesis-yield'], 1.0, './mpt bench mpi_job -n 64 --only start');
	for my $coll ('bcast', 'reduce', 'allreduce', 'alltoall', 'allgather') {
		my @sizes = sizes('mpi_fresh-2', "fresh_$coll", 'ours');
		for my $part (['short', 0.769, grep { $_ < 8192 } @sizes], ['long', 0.5, grep { $_ >= 8192 } @sizes]) {
			my ($word, $bar, @some) = @$part;
			figure_worst("mpi_fresh_${coll}_${word}_2ranks", sub {
				figure_ratio('', 'ours', 'mpi_fresh-2', "fresh_$coll", $_[0], 'ns', 'lower', \@peers, $bar, "./mpt bench mpi_coll --fresh --only $coll");
			}, @some);
		}
	}
}

1;

#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# report.pl REPORT-FOLDER ROOT [--plain] - from build/report/raw: the table, results.json and index.html
#
# Every number comes from the raw files of this run. h is the bare hand-over of a cache line; a state is "near" or "far",
# by h below or above 100 ns; above 600 ns other programs had the cores: "disturbed".
#
# Latencies of 8 bytes and below, and the message rate, come as slices of about a millisecond with h from just before and
# just after each (tests/bench/bench.h). A slice whose two h differ by more than a tenth says nothing. A latency is quoted
# as t - h. What stands for a state is its median slice by t - h: t, h and t - h of one row belong to one measurement.
# A bar is met when it is met in each state that was seen.
#
# Ratios are formed between runs of one round, in the same state, and where both have slices only if their h differ by at
# most 15 %; what stands for a state is the round with the median ratio. Where no round was wholly in one state, those in
# which it changed ("mixed") serve. From disturbed ones nothing is judged.
#
# Needs nothing but perl-base; gnuplot draws the plots where it is there.
use strict;
use warnings;

my ($dir, $root, $style) = (@ARGV, "");
die "usage: report.pl REPORT-FOLDER ROOT\n" unless defined $root && -d $dir;
my $DISTURBED = 600;	# ns; no hand-over between cores takes so long
my $FAR = 100;		# ns; near is about 50, far 110 to 220 on the machines seen
my $MOVED = 1.10;	# h before and after a slice
my $PAIR = 1.15;	# h of two libraries that are compared
my $ENOUGH = 5;		# slices; a state with fewer counts only where no other has more

# --- input -----------------------------------------------------------------------------------------------------------

my (%run, @machine);
our (@libs, %label, %libwhy, %variant);		# mpi_bars.pl and papers.pl look at them
open my $in, '<', "$dir/run.tsv" or die "$dir/run.tsv: $!\n";
while (<$in>) {
	chomp;
	my @f = split /\t/, $_, -1;
	if ($f[0] eq 'lib') {
		push @libs, $f[1];
		$label{$f[1]} = $f[2];
		$libwhy{$f[1]} = $f[3] // '';
	} elsif ($f[0] eq 'variant') {		# ours with other settings
		$label{$f[1]} = $f[2];
		$variant{$f[1]} = $f[3];
	} else {
		$run{$f[0]} = $f[1];
	}
}
close $in;
if (open $in, '<', "$dir/machine.tsv") {
	while (<$in>) { chomp; push @machine, [split /\t/, $_, 2]; }
	close $in;
}
our $cpus = () = ($run{cpus} // '') =~ /\d+/g;

# $data{LIB}{BENCH}{FIGURE}{BYTES}{ROUND} = { value, h0, h1 }; $why{LIB}{BENCH} = sentence when a run failed
my (%data, %why, @h_all, @harm);
opendir my $d, "$dir/raw" or die "$dir/raw: $!\n";
for my $meta (sort grep { /\.meta$/ } readdir $d) {
	my ($round, $lib, $bench) = $meta =~ /^(\d+)\.([\w-]+)\.(\w+(?:-\d+)?)\.meta$/ or next;
	my %m;
	open my $f, '<', "$dir/raw/$meta" or next;
	while (<$f>) { chomp; $m{$1} = $2 if /^(\w+)=(.*)/; }
	close $f;
	my $fail = ($m{rc} // -1) != 0 ? $m{why} || "exit code $m{rc}" : '';
	$why{$lib}{$bench} //= $fail if $fail ne '';
	push @h_all, grep { defined && /^[\d.]/ } $m{h_before}, $m{h_after};
	(my $json = $meta) =~ s/meta$/json/;
	open $f, '<', "$dir/raw/$json" or next;
	while (<$f>) {		# one record a line, see tests/bench/bench.h
		if (/"bench":"harm_(\w+)","ranks":(\d+).*"unit":"([^"]*)","plain":([-+.\deE]+),"with":([-+.\deE]+),"ratio":([-+.\deE]+),"rss_plain_kb":(\d+),"rss_with_kb":(\d+),"rss_ratio":([-+.\deE]+)/) {
			push @harm, { name => ($2 == 1 ? 'alone' : 'job') . "_$1", unit => $3, plain => $4, with => $5, ratio => $6, rss_plain => $7, rss_with => $8, rss_ratio => $9 };
			next;
		}
		my ($fig, $bytes, $value) = /"figure":"(\w+)","bytes":(\d+),"value":([-+.\deE]+)/ or next;
		my ($h0, $h1) = map { defined && /^[\d.]/ ? $_ + 0 : undef } $m{h_before}, $m{h_after};
		my $p = $data{$lib}{$bench}{$fig}{$bytes}{$round} = { value => $value, h0 => $h0, h1 => $h1 };
		next unless /"slices":\[(\[.*?\])\]/;
		$p->{slices} = [map { my ($a, $t, $b) = split /,/; { h0 => $a + 0, value => $t + 0, h1 => $b + 0, h => ($a + $b) / 2, over_h => $t - ($a + $b) / 2 } }
				$1 =~ /\[([^\[\]]+)\]/g];
		push @h_all, map { $_->{h} } @{$p->{slices}};
	}
	close $f;
}
closedir $d;

sub median {
	my @v = sort { $a <=> $b } grep { defined } @_;
	return undef unless @v;
	return @v & 1 ? $v[@v / 2] : ($v[@v / 2 - 1] + $v[@v / 2]) / 2;
}

# of a whole run
sub state_of {
	my ($p) = @_;
	return 'unknown' unless defined $p->{h0} && defined $p->{h1};
	return 'disturbed' if $p->{h0} > $DISTURBED || $p->{h1} > $DISTURBED;
	my $n = grep { $_ >= $FAR } $p->{h0}, $p->{h1};
	return $n == 2 ? 'far' : $n == 0 ? 'near' : 'mixed';
}

# of a slice
sub slice_state {
	my ($s) = @_;
	my ($lo, $hi) = sort { $a <=> $b } $s->{h0}, $s->{h1};
	return 'disturbed' if $hi > $DISTURBED || $lo <= 0 || $hi > $lo * $MOVED;
	return $s->{h} >= $FAR ? 'far' : 'near';
}

# Slices by state, as far as a state can be judged: ({near => [...], far => [...]}, how many are left out).
sub judged_slices {
	my (@s) = @_;
	my (%g, $kept);
	push @{$g{slice_state($_)}}, $_ for @s;
	delete $g{disturbed};
	my $most = (sort { $b <=> $a } map { scalar @$_ } values %g)[0] // 0;
	for (keys %g) { delete $g{$_} if @{$g{$_}} < $ENOUGH && $most >= $ENOUGH; }
	$kept += @$_ for values %g;
	return (\%g, @s - ($kept // 0));
}

# The one in the middle by $key; of two in the middle the greater (less favourable) one, or with $sign -1 the lesser.
sub middle {
	my ($key, $sign, @s) = @_;
	return (sort { $sign * ($a->{$key} <=> $b->{$key}) } @s)[@s / 2];
}

# What a run says of each state it saw: (state => { value, h0, h1, h }).
sub run_states {
	my ($p) = @_;
	return (state_of($p) => { value => $p->{value}, h0 => $p->{h0}, h1 => $p->{h1},
				  h => defined $p->{h0} && defined $p->{h1} ? ($p->{h0} + $p->{h1}) / 2 : undef }) unless $p->{slices};
	my ($g) = judged_slices(@{$p->{slices}});
	return map { $_ => middle('value', 1, @{$g->{$_}}) } keys %$g if %$g;
	return (disturbed => middle('value', 1, @{$p->{slices}}));
}

sub points { my ($lib, $bench, $fig, $bytes) = @_; return $data{$lib}{$bench}{$fig}{$bytes} // {}; }
sub value_of { my $p = points(@_); return median(map { $p->{$_}{value} } keys %$p); }

sub why_not {
	my ($lib, $bench, $fig) = @_;
	return $libwhy{$lib} if $libwhy{$lib} && $bench =~ /^shmem/ && $lib !~ /^ours/;
	return $libwhy{$lib} if $libwhy{$lib} && $bench =~ /^(mpi|dart)/;	# the others need no MPI library
	return $why{$lib}{$bench} if $why{$lib}{$bench};
	return 'not measured: it needs two cores' if $cpus < 2;
	return "the program did not report it";
}

# --- figures ---------------------------------------------------------------------------------------------------------

our @records;

# Group rounds by state: (near => [...], far => [...]), or, when no round was wholly in one, those of the next best.
sub by_state {
	my (@rows) = @_;
	my %g;
	push @{$g{$_->{state}}}, $_ for @rows;
	for my $wanted (['near', 'far'], ['mixed', 'unknown']) {
		my %some = map { $_ => $g{$_} } grep { $g{$_} } @$wanted;
		return %some if %some;
	}
	return %g;
}
my $disturbed = "not judged: h was above $DISTURBED ns or moved all the time, other programs had the cores";

# of runs without slices, and how many rounds there were
sub common {
	my ($rec, $p) = @_;
	my @r = sort { $a <=> $b } keys %$p;
	$rec->{h_before} = median(map { $p->{$_}{h0} } @r);
	$rec->{h_after} = median(map { $p->{$_}{h1} } @r);
	$rec->{rounds} = scalar @r;
	$rec->{round_values} = [map { $p->{$_}{value} } @r];
	$rec->{round_states} = [map { state_of($p->{$_}) } @r];
}

# A latency judged against h: t - h <= $margin (no bar when $margin is undefined), over the slices of all rounds. $hands: how
# many h it may take, where that is not 1.
sub figure_h {
	my ($name, $lib, $bench, $fig, $bytes, $margin, $cmd, $hands) = @_;
	$hands //= 1;
	my $p = points($lib, $bench, $fig, $bytes);
	my $rec = { figure => $name, library => $lib, bytes => $bytes, value => undef, unit => 'ns', reference => 'h',
		    reference_value => undef, ratio => undef, bar => defined $margin ? 'at most ' . ($hands == 1 ? '' : "$hands ") . "h + $margin ns" : undef,
		    margin => $margin, met => undef, command => $cmd, rounds => scalar keys %$p };
	push @records, $rec;
	if (!%$p) {
		$rec->{why} = why_not($lib, $bench, $fig);
		$rec->{met} = 0 if defined $margin;
		return;
	}
	my @slices = map { @{$_->{slices} // []} } values %$p;
	my ($g, $dropped) = judged_slices(@slices);
	@$rec{'slices', 'slices_left_out'} = (scalar @slices, $dropped);
	if (!%$g) {
		$rec->{value} = median(map { $_->{value} } values %$p);
		$rec->{why} = @slices ? $disturbed : 'not judged: h could not be measured beside it' if defined $margin;
		return;
	}
	my ($worst, @why);
	for my $s (sort { $b cmp $a } keys %$g) {
		my $m = middle('above', 1, map { { %$_, above => $_->{value} - $hands * $_->{h} } } @{$g->{$s}});
		my $i = $rec->{by_state}{$s} = { slices => scalar @{$g->{$s}}, value => $m->{value}, h => $m->{h}, h_before => $m->{h0},
						 h_after => $m->{h1}, over_h => $m->{over_h} };
		$i->{met} = $m->{above} <= $margin ? 1 : 0 if defined $margin;
		push @why, sprintf('%s: %.0f ns above the bar', $s, $m->{above} - $margin) if defined $margin && !$i->{met};
		$worst = $s if !defined $worst || $i->{over_h} > $rec->{by_state}{$worst}{over_h};
	}
	my $i = $rec->{by_state}{$worst};
	@$rec{'value', 'reference_value', 'ratio', 'h_before', 'h_after', 'over_h', 'state'} =
		(@$i{'value', 'h'}, $i->{value} / $i->{h}, @$i{'h_before', 'h_after', 'over_h'}, $worst);
	$rec->{met} = @why ? 0 : 1 if defined $margin;
	$rec->{why} = 'missed: ' . join('; ', @why) if @why;
}

# An absolute bar.
sub figure_abs {
	my ($name, $lib, $bench, $fig, $bytes, $max, $cmd) = @_;
	my $p = points($lib, $bench, $fig, $bytes);
	my $rec = { figure => $name, library => $lib, bytes => $bytes, unit => 'ns', reference => undef,
		    reference_value => $max, ratio => undef, bar => defined $max ? "at most $max ns" : undef, met => undef,
		    command => $cmd };
	push @records, $rec;
	common($rec, $p);
	$rec->{value} = median(map { $p->{$_}{value} } keys %$p);
	if (!defined $rec->{value}) {
		$rec->{why} = why_not($lib, $bench, $fig);
		$rec->{met} = 0 if defined $max;
		return;
	}
	return unless defined $max;
	$rec->{reference} = 'the bar';
	$rec->{ratio} = $rec->{value} / $max;
	$rec->{met} = $rec->{value} <= $max ? 1 : 0;
	$rec->{why} = sprintf('missed: %.0f ns above the bar', $rec->{value} - $max) unless $rec->{met};
}

# A figure judged against another of ours, in the same runs: @$from is its name in the run and its bytes.
sub figure_self {
	my ($name, $bench, $fig, $bytes, $from, $max, $cmd) = @_;
	my ($p, $q) = (points('ours', $bench, $fig, $bytes), points('ours', $bench, @$from));
	my $rec = { figure => $name, library => 'ours', bytes => $bytes, unit => 'ns', reference => "$from->[0] $from->[1]", reference_value => undef,
		    ratio => undef, bar => defined $max ? sprintf('at most %.3g x', $max) : undef, met => defined $max ? 0 : undef,
		    command => $cmd };
	push @records, $rec;
	common($rec, $p);
	$rec->{value} = median(map { $p->{$_}{value} } keys %$p);
	$rec->{reference_value} = median(map { $q->{$_}{value} } keys %$q);
	$rec->{ratio} = median(map { $p->{$_}{value} / $q->{$_}{value} } grep { $q->{$_} } keys %$p);
	if (!defined $rec->{ratio}) {
		$rec->{why} = why_not('ours', $bench, $fig);
		return;
	}
	return unless defined $max;
	$rec->{met} = $rec->{ratio} <= $max ? 1 : 0;
	$rec->{why} = sprintf('missed: %.2f x where %.3g is asked', $rec->{ratio}, $max) unless $rec->{met};
}

# A figure judged against the best of @$peers. $better: 'lower' or 'higher'. $bar: limit of ours / peer, or undef. What a
# row says of a state is the round with the median ratio; the peer with the ratio least favourable to us is the
# reference. The other peers of this run are recorded beside it. $gap: the runs have ns per message, the figure is a rate.
sub figure_ratio {
	my ($name, $lib, $bench, $fig, $bytes, $unit, $better, $peers, $bar, $cmd, $extra) = @_;
	my %extra = %{$extra // {}};
	my $gap = delete $extra{gap};
	my $p = points($lib, $bench, $fig, $bytes);
	my $sign = $better eq 'lower' ? 1 : -1;
	my $shown = sub { defined $_[0] && $gap ? 1e9 / $_[0] : $_[0] };
	my $rec = { figure => $name, library => $lib, bytes => $bytes, value => undef, unit => $unit, reference => undef,
		    reference_value => undef, ratio => undef, met => undef, command => $cmd,
		    bar => defined $bar ? sprintf('%s %s x the best of %s', $better eq 'lower' ? 'at most' : 'at least', $bar,
						  join(', ', @$peers)) : undef, %extra };
	push @records, $rec;
	common($rec, $p);
	$rec->{value} = $shown->(median(map { $p->{$_}{value} } keys %$p));
	delete $rec->{round_values} if $gap;
	$rec->{why} = why_not($lib, $bench, $fig) unless defined $rec->{value};
	$rec->{met} = 0 if defined $bar && !defined $rec->{value};
	delete @$rec{'h_before', 'h_after'} unless defined $rec->{value};
	my (%judge, %worst, $no_h, $any, @missed);
	@judge{@$peers} = ();
	for my $peer (@$peers, grep { !exists $judge{$_} } peer_names()) {
		my $q = points($peer, $bench, $fig, $bytes);
		next if $peer eq 'nemesis-yield' && !%$q && !exists $judge{$peer};	# it is for more ranks than cores
		my $info = $rec->{peers}{$peer} = { value => $shown->(median(map { $q->{$_}{value} } keys %$q)), ratio => undef };
		if (!defined $info->{value}) {
			$info->{why} = why_not($peer, $bench, $fig);
			next;
		}
		$any = 1 if exists $judge{$peer};
		my (@rows, $apart);
		for my $r (grep { $q->{$_} && $q->{$_}{value} > 0 } keys %$p) {
			my (%a, %b);
			%a = run_states($p->{$r});
			%b = run_states($q->{$r});
			my @common = grep { $b{$_} } keys %a;
			my $bad = $a{disturbed} || $b{disturbed};
			@common = ('mixed') if !@common && ($bad || !$p->{$r}{slices} || !$q->{$r}{slices});
			for my $s (@common) {
				my ($x, $y) = $a{$s} && $b{$s} ? ($a{$s}, $b{$s}) : ((values %a)[0], (values %b)[0]);
				if ($p->{$r}{slices} && $q->{$r}{slices} && !$bad &&
				    ($x->{h} > $y->{h} * $PAIR || $y->{h} > $x->{h} * $PAIR)) {
					$apart++;
					next;
				}
				$s = 'disturbed' if $bad;
				my ($mine, $theirs) = ($shown->($x->{value}), $shown->($y->{value}));
				push @rows, { state => $s, ours => $mine, value => $theirs, ratio => $mine / $theirs, h0 => $x->{h0}, h1 => $x->{h1},
					      h => $x->{h}, h_peer => $y->{h} };
			}
		}
		if (!@rows) {
			$info->{why} = 'not compared: ' . ($apart ? 'h moved between ours and it' : 'another state of the machine') . ' in each round';
			next;
		}
		my %g = by_state(@rows);
		my $out;
		for my $s (sort keys %g) {
			my $m = middle('ratio', $sign, @{$g{$s}});
			my $i = $info->{by_state}{$s} = { rounds => scalar @{$g{$s}}, ratio => $m->{ratio}, ours => $m->{ours}, value => $m->{value},
							  h_before => $m->{h0}, h_after => $m->{h1}, h => $m->{h}, h_peer => $m->{h_peer} };
			$i->{met} = $sign * $m->{ratio} <= $sign * $bar ? 1 : 0 if defined $bar && exists $judge{$peer} && $s ne 'disturbed';
			$out = $i if !$out || $sign * $i->{ratio} > $sign * $out->{ratio};
			next unless exists $judge{$peer};
			$worst{$s} = $peer if !$worst{$s} || $sign * $i->{ratio} > $sign * $rec->{peers}{$worst{$s}}{by_state}{$s}{ratio};
		}
		$info->{ratio} = $out->{ratio};
		$info->{why} = $disturbed if $g{disturbed} && defined $bar;
	}
	if (!$any) {
		$rec->{why} //= 'no peer could be measured';
		return;
	}
	# a row for each state: the peer that is best there
	my $top;
	for my $s (sort { $b cmp $a } keys %worst) {
		my $i = { %{$rec->{peers}{$worst{$s}}{by_state}{$s}} };
		$rec->{by_state}{$s} = { value => $i->{ours}, reference => $worst{$s}, reference_value => $i->{value}, ratio => $i->{ratio},
					 rounds => $i->{rounds}, h => $i->{h}, h_before => $i->{h_before}, h_after => $i->{h_after}, h_reference => $i->{h_peer},
					 defined $i->{met} ? (met => $i->{met}) : () };
		$rec->{by_state}{$s}{over_h} = $i->{ours} - $i->{h} if $unit eq 'ns' && $bytes == 8 && defined $i->{h};
		push @missed, sprintf('%s: %.2f x %s', $s, $i->{ratio}, $worst{$s}) if defined $i->{met} && !$i->{met};
		$top = $rec->{by_state}{$s} if !$top || $sign * $i->{ratio} > $sign * $top->{ratio};
		$rec->{state} = $s if $top == $rec->{by_state}{$s};
	}
	if (!$top) {
		my ($why) = grep { defined } map { $rec->{peers}{$_}{why} } @$peers;
		$rec->{why} //= $why;
		return;
	}
	@$rec{'value', 'reference', 'reference_value', 'ratio', 'h_before', 'h_after'} =
		@$top{'value', 'reference', 'reference_value', 'ratio', 'h_before', 'h_after'};
	$rec->{over_h} = $top->{over_h} if defined $top->{over_h};
	return unless defined $bar;
	my @judged = grep { defined $_->{met} } values %{$rec->{by_state}};
	$rec->{met} = @judged ? @missed ? 0 : 1 : undef;
	$rec->{why} //= 'missed: ' . join('; ', @missed) . " where $bar is asked" if @missed;
	$rec->{why} //= $disturbed if !@judged;
}

sub size_name {
	my ($n) = @_;
	return $n >= 1 << 20 && $n % (1 << 20) == 0 ? ($n >> 20) . 'MiB' :
	       $n >= 1024 && $n % 1024 == 0 ? ($n >> 10) . 'KiB' : "${n}B";
}

sub peer_names { return grep { !/^ours/ } @libs; }

sub sizes {
	my ($bench, $fig, @from) = @_;
	my %s;
	$s{$_} = 1 for map { keys %{$data{$_}{$bench}{$fig} // {}} } @from;
	return sort { $a <=> $b } keys %s;
}

my @debian = grep { exists $label{$_} } 'mpich', 'openmpi';
our @peers = grep { $_ ne 'nemesis-yield' } peer_names();
my @big = map { $_ << 10 } 64, 256, 1024, 4096;
my $p2p = './mpt bench mpi_p2p --lib %s --only %s';

# The bars first, in the order of the table.
figure_h('smartmap_store_pingpong', 'ours', 'smartmap_pingpong', 'smartmap_store_arena', 4, 15, './mpt bench smartmap_pingpong');
figure_h("smartmap_store_pingpong_$_", 'ours', 'smartmap_pingpong', "smartmap_store_$_", 4, 15, './mpt bench smartmap_pingpong')
	for 'data', 'bss', 'heap';
figure_h('portals_put_8B_eqget', 'ours', 'portals_pingpong', 'put_eqget', 8, 60, './mpt bench portals_pingpong --only put_eqget');
figure_h('portals_put_8B_eqwait', 'ours', 'portals_pingpong', 'put_eqwait', 8, 60, './mpt bench portals_pingpong --only put_eqwait');
figure_h('portals_put_8B_spin', 'ours', 'portals_pingpong', 'put_spin', 8, 160, './mpt bench portals_pingpong --only put_spin');
# A put of 8 bytes after the other, against the messages of MPI over its own shared memory: both are ns for one.
for my $how ('eqget', 'eqwait') {
	$data{ours}{"put_rate_$how"}{gap}{8} = points('ours', 'portals_rate', "put_gap_$how", 8);
	$data{$_}{"put_rate_$how"}{gap}{8} = points($_, 'mpi_short', 'message_gap', 8) for peer_names();
	figure_ratio("portals_put_rate_8B_$how", 'ours', "put_rate_$how", 'gap', 8, 'msg/s', 'higher', ['nemesis'], 1.2,
		     "./mpt bench portals_rate --only put_gap_$how", { gap => 1 });
}
figure_abs('portals_memdpost', 'ours', 'portals_pingpong', 'memdpost', 0, 100, './mpt bench portals_pingpong --only memdpost');
figure_self("portals_match_exact_$_", 'portals_match', 'match_exact', $_, ['match_exact', 1], 2, './mpt bench portals_match') for 16, 256, 16384;
# Just above the length from which on a list has an index (PTL_INDEX_FROM): that must not cost more than the walk.
for my $n (17, 24, 32, 48) {
	figure_self("portals_match_${_}_${n}_to_walk", 'portals_match', "match_$_", $n, ["match_${_}_walk", $n], 1.1,
		    './mpt bench portals_match') for 'exact', 'wild';
}
figure_self("portals_crowd_${_}_apart", 'portals_rate-' . ($_ + 1), 'crowd_apart', $_, ['crowd_same', $_], 1, "./mpt bench portals_rate -n " . ($_ + 1))
	for 2, 4, 8;
# Copies: by the mover alone, by a put with one mover (where a call is no large part of it), and by both sides.
my @long = map { 64 * 4 ** $_ } 0 .. 10;
my $copy = './mpt bench portals_copy --only memcpy,';
figure_self('copy_mover_' . size_name($_), 'portals_copy', 'mover', $_, ['memcpy', $_], 1 / 0.95, "${copy}mover") for @long;
figure_self('copy_put_' . size_name($_), 'portals_copy', 'put_one', $_, ['memcpy', $_], 1 / 0.95, "${copy}put_one") for @long[5 .. 10];
figure_self('copy_put_both_' . size_name($_), 'portals_copy', 'put_both', $_, ['put_one', $_], 1 / 1.6, "${copy}put_one,put_both")
	for 262144, 1048576, 4194304;
figure_self("copy_$_", 'portals_copy', $_, 1, [$_, 100], 1.2, "./mpt bench portals_copy --only $_") for 'first_use', 'first_use_part';
# Between two nodes of this machine: an engine for each against TCP between the same two processes, in the same run.
my $net = './mpt bench portals_net_ap';
figure_self('net_ap_put_8B', 'portals_net_ap', 'put', 8, ['tcp', 8], 1.5, $net);
# The engine does all of it, and both ranks sleep (PTL_NIC_POLL=0, PTL_SPIN=0): four processes, as the relay is.
figure_self('net_off_put_8B_asleep', 'portals_net_off', 'put_wait', 8, ['tcp_relay', 8], 1.25, './mpt bench portals_net_off');
figure_self('net_ap_stream_' . size_name($_), 'portals_net_ap', 'put_stream', $_, ['tcp_stream', $_], 1 / 0.85, $net) for 1 << 20, 4 << 20;
figure_self('net_ap_away_8B', 'portals_net_ap', 'put_stream_away', 8, ['put_stream', 8], 1.1, $net);
# Several streams and MSG_ZEROCOPY, which the transport has not: what they would bring here.
figure_self("net_$_->[0]_" . size_name($_->[1]), 'portals_net_ap', $_->[0], $_->[1], ['tcp_stream', $_->[1]], undef, $net)
	for map { my $n = $_; ['tcp_stream_two', $n], ['tcp_stream_zc', $n] } 1 << 20, 4 << 20;
for my $way ('ap', 'off', 'smartmap') {
	figure_abs("net_${way}_${_}_8B", 'ours', "portals_net_$way", $_, 8, undef, "./mpt bench portals_net_$way") for 'put', 'put_wait', 'put_stream', 'put_stream_away';
	figure_abs("net_${way}_stream_time_" . size_name($_), 'ours', "portals_net_$way", 'put_stream', $_, undef, "./mpt bench portals_net_$way") for 1 << 20, 4 << 20;
}
figure_abs("net_gp_${_}_8B", 'ours', 'portals_net_gp', $_, 8, undef, './mpt bench portals_net_gp') for 'put', 'put_wait', 'put_stream', 'put_stream_away';
figure_abs("net_gp_stream_" . size_name($_), 'ours', 'portals_net_gp', 'put_stream', $_, undef, './mpt bench portals_net_gp') for 1 << 20, 4 << 20;
figure_self("net_${_}_stolen", "portals_net_$_", 'compute_hit', 0, ['compute', 0], undef, "./mpt bench portals_net_$_") for 'gp', 'ap', 'off', 'smartmap';
# SHMEM: what the processor does by itself is the measure.
my $shmem = './mpt bench shmem_';
my @shmem_sizes = map { 256 * 4 ** $_ } 0 .. 9;
figure_h('shmem_put_8B', 'ours', 'shmem_put', 'put_pingpong', 8, 15, "${shmem}put --only put");
figure_abs('shmem_put_call_8B', 'ours', 'shmem_put', 'put_call', 8, 10, "${shmem}put --only call");
figure_self('shmem_fetch_inc', 'shmem_put', 'fetch_inc', 8, ['bare_inc', 8], 1.2, "${shmem}put --only inc");
figure_h('shmem_barrier_2', 'ours', 'shmem_put', 'barrier', 0, 40, "${shmem}put --only barrier", 1.5);
# what only a full evaluation measures has no row in a quick one
my $asked = sub { ($run{mode} // '') ne 'quick' || %{points('ours', @_)} };
for my $how ('', '_fresh', '_odd') {
	for my $n (grep { (!$how || $_ >= 65536) && $asked->('shmem_bw', "put$how", $_) } @shmem_sizes) {
		figure_self("shmem_put${how}_" . size_name($n), 'shmem_bw', "put$how", $n, ["memcpy$how", $n], 1 / 0.95, "${shmem}bw");
		figure_self("shmem_get${how}_" . size_name($n), 'shmem_bw', "get$how", $n, ["memcpy_from$how", $n], 1 / 0.95, "${shmem}bw");
	}
}
figure_self('shmem_gups', 'shmem_gups', 'gups', 1 << 26, ['gups_threads', 1 << 26], 1 / 0.8, "${shmem}gups");
# what of it is the table's being in parts, whoever finds the address
figure_self('shmem_gups_ptr', 'shmem_gups', 'gups_ptr', 1 << 26, ['gups_threads', 1 << 26], undef, "${shmem}gups")
	if %{points('ours', 'shmem_gups', 'gups_ptr', 1 << 26)};
for my $op ('broadcast', 'sum', 'max') {
	for my $n (4, 2) {
		figure_ratio("shmem_${op}_" . ($n == 4 ? '' : "${n}PEs_") . size_name($_), 'ours', "shmem_coll-$n", $op, $_, 'ns', 'lower',
			     ['ours-linear'], 1 / 1.4, "${shmem}coll -n $n --only $op")
			for grep { $asked->("shmem_coll-$n", $op, $_) } 2048, 32768, 524288;
	}
}
# DMAPP: a call beside SHMEM's, in the same run
my $dmapp = './mpt bench dmapp_rma --only ';
figure_self('dmapp_put_8B', 'dmapp_rma', 'put_pingpong', 8, ['shmem_pingpong', 8], 1.5, "${dmapp}put");
figure_self('dmapp_put_call_8B', 'dmapp_rma', 'put_call', 8, ['shmem_put_call', 8], 1.5, "${dmapp}call");
figure_self('dmapp_put_nbi_call_8B', 'dmapp_rma', 'put_nbi_call', 8, ['shmem_put_call', 8], 1.5, "${dmapp}call");
figure_self('dmapp_get_call_8B', 'dmapp_rma', 'get_call', 8, ['shmem_get_call', 8], 1.5, "${dmapp}call");
figure_self('dmapp_afadd', 'dmapp_rma', 'afadd', 2, ['bare', 2], 1.2, "${dmapp}amo");
# Two threads share no lock and no counter: with a core for each they take half the time, or little more. Those with syncids
# change one word by turns, and have no bar. Where others keep cores busy, nothing is judged.
my ($busy) = map { ($_->[1] // '') =~ /^(\d+)/ ? $1 : () } grep { $_->[0] =~ /^busy/ } @machine;
if ($asked->('dmapp_rma', 'rate', 2)) {
	figure_self('dmapp_rate_2_threads', 'dmapp_rma', 'rate', 2, ['rate', 1], $cpus > 1 && ($busy // 0) <= 10 ? 0.7 : undef, "${dmapp}rate");
	figure_self('dmapp_rate_nb_2_threads', 'dmapp_rma', 'rate_nb', 2, ['rate_nb', 1], undef, "${dmapp}rate");
}
figure_abs('portals_start_250', 'ours', 'portals_many-250', 'start', 250, 1e10, './mpt bench portals_many -n 250');
figure_ratio('mpi_latency_8B', 'ours', 'mpi_short', 'latency', 8, 'ns', 'lower', \@debian, 1.0, sprintf($p2p, 'ours', 'latency'));
require "$root/tools/mpt/mpi_bars.pl";
mpi_bars($run{mode} // '');

# Do no harm: speed of programs that only compute, alone and as ranks of a job, against plain Linux, and their peak memory.
for my $p (@harm) {
	my %r = (library => 'ours', reference => 'plain Linux', command => './mpt bench harm', rounds => 1);
	push @records, { %r, figure => "harm_$p->{name}_speed", value => $p->{with}, unit => $p->{unit}, reference_value => $p->{plain},
			 ratio => $p->{ratio}, bar => 'at least 0.97 x plain Linux', met => $p->{ratio} >= 0.97 ? 1 : 0 };
	$records[-1]{why} = sprintf 'missed: %.3f x where 0.97 is asked', $p->{ratio} unless $records[-1]{met};
	push @records, { %r, figure => "harm_$p->{name}_memory", value => $p->{rss_with}, unit => 'kB', reference_value => $p->{rss_plain},
			 ratio => $p->{rss_ratio}, bar => 'at most 1.05 x plain Linux', met => $p->{rss_ratio} <= 1.05 ? 1 : 0 };
	$records[-1]{why} = sprintf 'missed: %.3f x where 1.05 is asked, %.1f MB more', $p->{rss_ratio}, ($p->{rss_with} - $p->{rss_plain}) / 1024
		unless $records[-1]{met};
}
if (@harm && defined median(@h_all) && median(@h_all) > $DISTURBED) {
	($_->{met}, $_->{why}) = (undef, $disturbed) for grep { $_->{figure} =~ /^harm_/ } @records;
}
push @records, { figure => 'harm', library => 'ours', unit => '', reference => 'plain Linux', bar => 'at least 0.97 x plain Linux', met => 0,
		 why => why_not('ours', 'harm', ''), command => './mpt bench harm' } unless @harm;
my $barred = @records;

# What is known about figures that are missed: FIGURE (may end in *), a tab, a sentence.
if (open $in, '<', "$root/tools/mpt/causes") {
	while (<$in>) {
		next unless /^([\w*]+)\t+(\S.*)/;
		my ($figure, $cause) = ($1, $2);
		$figure =~ s/\*/.*/g;
		$_->{cause} //= $cause for grep { defined $_->{met} && !$_->{met} && defined $_->{value} && $_->{figure} =~ /^$figure$/ } @records;
	}
	close $in;
}

# Everything else, without a bar.
my %done = map { $_ => 1 } 'ours latency 8', 'ours message_rate 8', map { ("ours latency $_", "ours fresh $_") } @big;
figure_h('portals_put_8B_polled', 'ours', 'portals_pingpong', 'put_polled', 8, undef, './mpt bench portals_pingpong --only put_polled');
for my $fig ('event_gap', 'get_8', 'swap_8', 'swap_gap') {
	figure_h("portals_$fig", 'ours', 'portals_rate', $fig, 8, undef, "./mpt bench portals_rate --only $fig");
}
for my $n (2, 4, 8) {
	figure_abs("portals_${_}_$n", 'ours', 'portals_rate-' . ($n + 1), $_, $n, undef, './mpt bench portals_rate -n ' . ($n + 1)) for 'crowd_same', 'crowd_apart';
}
for my $fig ('memcpy', 'mover', 'put_one', 'put_both', 'memcpy_fresh', 'put_one_fresh', 'put_both_fresh') {
	figure_abs("copy_time_${fig}_" . size_name($_), 'ours', 'portals_copy', $fig, $_, undef, "./mpt bench portals_copy --only $fig")
		for sizes('portals_copy', $fig, 'ours');
}
for my $way ('entry', 'node', 'master') {
	figure_abs("portals_locks_${_}_$way", 'ours', 'portals_locks', "ring_$way", $_, undef, './mpt bench portals_locks --only ring'),
	figure_abs("portals_locks_one_${_}_$way", 'ours', 'portals_locks', "one_$way", $_, undef, './mpt bench portals_locks --only one') for 2, 4, 8;
}
for my $who ('sender', 'engine') {
	for my $n (map { 65536 * 4 ** $_ } 0 .. 4) {
		figure_abs("overlap_${_}_${who}_" . size_name($n), 'ours', 'portals_overlap', "${_}_$who", $n, undef, './mpt bench portals_overlap') for 'put', 'both';
		figure_abs("overlap_${who}_" . size_name($n), 'ours', 'portals_overlap', "overlap_$who", $n, undef, './mpt bench portals_overlap');
		$records[-1]{unit} = 'percent';
	}
}
my $only_quick = 'not measured with --quick';
for my $n (2, 250, 600) {
	for my $fig ('start', 'ring', 'barrier') {
		next if $fig eq 'start' && $n == 250;
		figure_abs("portals_${fig}_${n}ranks", 'ours', "portals_many-$n", $fig, $n, undef, "./mpt bench portals_many -n $n");
		$records[-1]{why} = $only_quick if $n == 600 && $run{mode} eq 'quick';
	}
}
# What a rank takes, and what one more peer adds to it.
for my $fig ('memory', 'tables') {
	my ($two, $many) = map { value_of('ours', "portals_many-$_", $fig, $_) } 2, 250;
	push @records, { figure => "portals_${fig}_per_rank", library => 'ours', unit => 'B', value => $two, command => './mpt bench portals_many -n 2' },
		{ figure => "portals_${fig}_per_peer", library => 'ours', unit => 'B', value => defined $two && defined $many ? ($many - $two) / 248 : undef,
		  why => 'of a peer in its window; a rank talked to one of them', command => './mpt bench portals_many -n 250' };
}
figure_abs('portals_eqget_empty', 'ours', 'portals_pingpong', 'eqget_empty', 0, undef, './mpt bench portals_pingpong --only eqget_empty');
for my $fig ('match_exact', 'match_wild', 'match_exact_walk', 'match_wild_walk') {
	figure_abs("portals_${fig}_$_", 'ours', 'portals_match', $fig, $_, undef, './mpt bench portals_match') for sizes('portals_match', $fig, 'ours');
}
for my $lib (@libs) {
	figure_h("mpi_latency_8B_over_h_$lib", $lib, 'mpi_short', 'latency', 8, undef, sprintf($p2p, $lib, 'latency'))
		if $lib ne 'nemesis-yield';
}
for my $lib ('ours', 'ours-off') {
	for my $fig ('put_eqget', 'put_eqwait', 'put_spin', 'put_polled', 'put_fresh', 'get') {
		my @s = sizes('portals_pingpong', $fig, 'ours', 'ours-off');
		figure_abs("portals_${fig}_" . size_name($_) . ($lib eq 'ours' ? '' : '_smartmap_off'), $lib, 'portals_pingpong', $fig, $_,
			   undef, ($lib eq 'ours' ? '' : 'PTL_SMARTMAP=no ') . "./mpt bench portals_pingpong --only $fig")
			for @s ? @s : (8);
	}
}
figure_abs('smartmap_copy_fresh_' . size_name($_), 'ours', 'smartmap_pingpong', 'smartmap_copy_fresh', $_, undef,
	   './mpt bench smartmap_pingpong') for sizes('smartmap_pingpong', 'smartmap_copy_fresh', 'ours');
for my $lib ('ours', 'ours-off') {
	my $tail = $lib eq 'ours' ? '' : '_smartmap_off';
	for my $fig ('latency', 'fresh', 'fresh_touch', 'window_time', 'bandwidth', 'message_rate') {
		my $only = { window_time => 'bandwidth', fresh_touch => 'fresh', message_rate => 'rate' }->{$fig} // $fig;
		my ($unit, $better) = $fig eq 'bandwidth' ? ('MB/s', 'higher') : $fig eq 'message_rate' ? ('msg/s', 'higher') : ('ns', 'lower');
		figure_ratio("mpi_${fig}_" . size_name($_) . $tail, $lib, 'mpi_p2p', $fig, $_, $unit, $better, \@peers, undef,
			     sprintf($p2p, $lib, $only)) for grep { !$done{"$lib $fig $_"} } sizes('mpi_p2p', $fig, @libs);
	}
	for my $n (2, 4) {
		for my $fig ('barrier', 'bcast', 'reduce', 'allreduce', 'alltoall', 'allgather') {
			figure_ratio("mpi_${fig}_" . size_name($_) . "_${n}ranks$tail", $lib, "mpi_coll-$n", $fig, $_, 'ns', 'lower', \@peers,
				     undef, "./mpt bench mpi_coll -n $n --lib $lib --only $fig",
				     { ranks => $n, oversubscribed => $n > $cpus ? 'yes' : 'no' })
				for sizes("mpi_coll-$n", $fig, @libs);
		}
	}
}

# What a layer costs without a clock: as counted in this run, else what tests/counts holds it to. [LAYER, OPERATION, NAME]
my @layers = (
	['Portals', 'PtlPut, the initiator matches and copies', 'put_direct'], ['Portals', 'PtlPut into an inbox', 'put_inbox'],
	['Portals', 'PtlGet, done by the initiator', 'get_direct'], ['Portals', 'PtlMEMDPost', 'memdpost'],
	['Portals', 'PtlMEMDPost, the list has an index', 'memdpost_long'], ['Portals', 'PtlEQGet of an event of such a put', 'eqget_direct'],
	['Portals', 'PtlEQGet that takes a message from the inbox', 'eqget_inbox'], ['Portals', 'PtlEQGet, nothing there', 'eqget_empty'],
	['Portals', 'a receive: PtlMEMDPost and PtlEQGet', 'receive_inbox'], ['Portals', 'a receive: PtlMEMDTake_np', 'take_inbox'],
	['MPI and Portals', 'MPI_Send, matching in MPI', 'mpi_send'], ['MPI and Portals', 'MPI_Recv, matching in MPI, of an unexpected message', 'mpi_recv'],
	['MPI and Portals', 'MPI_Recv of a message in the inbox', 'mpi_take']);
my (%count, $counted);
for my $f ("$dir/counts.tsv", "$root/tests/counts/limits") {
	open $in, '<', $f or next;
	while (<$in>) { $count{$1}{$2} = $3 if /^(\w+)\s(instructions|lines)\s([\d.]+)$/; }
	close $in;
	$counted = $f =~ /tsv$/;
	last if %count;
}
sub layers_html {
	my $n = sub { my ($v) = @_; return '<td class="n">' . (defined $v ? sprintf('%.0f', $v) : '-') . '</td>' };
	return '<table><tr><th>layer</th><th>operation, 8 bytes</th><th>instructions</th><th>shared cache lines touched</th></tr>' .
		join('', map { my ($layer, $what, $name) = @$_; '<tr><td>' . h($layer) . '</td><td>' . h($what) . '</td>' . $n->($count{$name}{instructions}) .
			       $n->($count{$name}{lines}) . "</tr>\n" } grep { $count{$_->[2]} } @layers) . '</table>';
}

require "$root/tools/mpt/papers.pl";
my @papers = paper_figures();		# after them: their records are at the end

# --- results.json ----------------------------------------------------------------------------------------------------

sub json_string {
	my ($s) = @_;
	$s =~ s/([\\"])/\\$1/g;
	$s =~ s/\t/\\t/g;
	$s =~ s/\n/\\n/g;
	$s =~ s/([\x00-\x1f\x7f])/sprintf '\\u%04x', ord $1/ge;
	# a byte that is not part of valid UTF-8 would make the file unreadable
	$s =~ s/((?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+)|([\x80-\xff])/defined $1 ? $1 : sprintf '\\u%04x', ord $2/ge;
	return "\"$s\"";
}

my %is_text = map { $_ => 1 } qw(paper figure library unit reference bar why cause command label oversubscribed state);
my %is_bool = (met => 1);
sub json_value {
	my ($v, $key) = @_;
	return 'null' unless defined $v;
	return '[' . join(', ', map { json_value($_, $key) } @$v) . ']' if ref $v eq 'ARRAY';
	return '{' . join(', ', map { json_string($_) . ': ' . json_value($v->{$_}, $_) } sort keys %$v) . '}' if ref $v eq 'HASH';
	return $v ? 'true' : 'false' if $is_bool{$key};
	return json_string($v) if $is_text{$key} || $v !~ /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/;
	my $n = sprintf '%.6g', $v;
	return $n =~ /^-?\d/ ? $n : 'null';
}

my @order = qw(figure value unit reference reference_value ratio bar met h_before h_after over_h state library bytes rounds
	       round_values round_states slices slices_left_out by_state peers paper ranks oversubscribed why cause command);
sub json_record {
	my ($r) = @_;
	my @always = qw(figure value unit reference reference_value ratio bar met h_before h_after);
	my %a = map { $_ => 1 } @always;
	return '{' . join(', ', map { json_string($_) . ': ' . json_value($r->{$_}, $_) } grep { $a{$_} || defined $r->{$_} } @order) . '}';
}

open my $out, '>', "$dir/results.json.new" or die "$dir/results.json.new: $!\n";
print $out '{"mode": ', json_string($run{mode} // ''), ', "date": ', json_string($run{date} // ''), ', "rounds": ', ($run{rounds} // 0) + 0,
	",\n\"machine\": {", join(', ', map { json_string($_->[0]) . ': ' . json_string($_->[1] // '') } @machine), "},\n";
print $out "\"libraries\": [\n", join(",\n", map {
	my $l = $_;
	my %w = map { $_ => $why{$l}{$_} } keys %{$why{$l} // {}};
	'{"library": ' . json_string($l) . ', "label": ' . json_string($label{$l}) . ', "status": ' .
	($libwhy{$l} ? '"missing", "why": ' . json_string($libwhy{$l}) : %w ? '"failed", "why": {' .
	 join(', ', map { json_string($_) . ': ' . json_string($w{$_}) } sort keys %w) . '}' : '"measured"') . '}'
} @libs), "\n],\n";
print $out "\"figures\": [\n", join(",\n", map { json_record($_) } @records), "\n]}\n";
close $out or die "$dir/results.json.new: $!\n";
rename "$dir/results.json.new", "$dir/results.json" or die "$dir/results.json: $!\n";

# --- table -----------------------------------------------------------------------------------------------------------

sub quantity {
	my ($v, $unit) = @_;
	return '-' unless defined $v;
	return sprintf('%.2f M/s', $v / 1e6) if $unit eq 'msg/s';
	return sprintf('%.0f %s', $v, $unit) if $unit eq 'MB/s';
	return sprintf('%.1f MB', $v / 1024) if $unit eq 'kB';
	return sprintf('%.2f GB/s', $v / 1e9) if $unit eq 'B/s';
	return sprintf('%.2f M/s', $v / 1e6) if $unit =~ m{/s$};
	return sprintf('%.4g %s', $v, $unit) unless $unit eq 'ns';
	return $v < 1000 ? sprintf('%.1f ns', $v) : $v < 1e6 ? sprintf('%.2f us', $v / 1e3) : sprintf('%.2f ms', $v / 1e6);
}
sub verdict { my ($r) = @_; return !defined $r->{bar} ? '' : defined $r->{met} ? ($r->{met} ? 'yes' : 'NO') : 'not judged'; }
sub short_bar {
	my ($r) = @_;
	my $b = $r->{bar} // return '';
	$b =~ s/^at most /<= /;
	$b =~ s/^at least />= /;
	$b =~ s/ x the best of .*/ x best/;
	$b =~ s/ x plain Linux/ x plain/;
	return $b;
}
sub number { return defined $_[0] ? sprintf('%.0f', $_[0]) : '-'; }

# The rows of a record: one for each state it was judged in. Everything a verdict rests on is in its row.
sub rows_of {
	my ($r) = @_;
	my %base = (%$r, name => $r->{figure}, state => '-');
	my @states = sort { $b cmp $a } keys %{$r->{by_state} // {}};
	return { %base, state => $r->{state} // '-' } unless @states;
	my $n = 0;
	return map { { %base, h_before => undef, h_after => undef, over_h => undef, %{$r->{by_state}{$_}}, state => $_,
		       name => $n++ ? '' : $r->{figure}, met => $r->{by_state}{$_}{met} } } @states;
}
sub reference_of {
	my ($r) = @_;
	return '-' if !defined $r->{reference} || $r->{reference} =~ /^(?:h|the bar)$/;
	my $name = $r->{reference} eq 'plain Linux' ? 'plain' : $r->{reference};
	return "$name " . quantity($r->{reference_value}, $r->{unit});
}
sub cells {
	my ($r) = @_;
	return ($r->{name}, $r->{state}, quantity($r->{value}, $r->{unit}),
		defined $r->{h_before} ? number($r->{h_before}) . '/' . number($r->{h_after}) : '-',
		defined $r->{over_h} ? sprintf('%.1f ns', $r->{over_h}) : '-', reference_of($r),
		defined $r->{ratio} && ($r->{reference} // '') !~ /^(?:h|the bar)$/ ? sprintf('%.2f', $r->{ratio}) : '-', short_bar($r), verdict($r));
}

my @h = sort { $a <=> $b } map { $_ + 0 } @h_all;
my %states;
$states{$_ > $DISTURBED ? 'disturbed' : $_ >= $FAR ? 'far' : 'near'}++ for @h;
my $h_line = @h ? sprintf('h, the bare hand-over of a cache line: median %.1f ns, %.1f to %.1f ns, seen %s', median(@h), $h[0], $h[-1],
			  join(' and ', map { "$_ ($states{$_}x)" } sort keys %states)) : 'h was not measured';

print "\n$h_line\n\n";
my $fmt = "%-30s %-5s %10s %7s %9s  %-17s %5s  %-15s %s\n";
printf $fmt, 'figure', 'state', 'ours (t)', 'h b/a', 't - h', 'reference', 'ratio', 'bar', 'met';
my (@notes, %note, $met);
for my $r (@records[0 .. $barred - 1]) {
	printf $fmt, cells($_) for rows_of($r);
	$met++ if $r->{met};
	next unless $r->{why};
	my $text = $r->{why} . ($r->{cause} ? " ($r->{cause})" : '');
	push @notes, $text unless $note{$text};
	push @{$note{$text}}, $r->{figure};
}
@notes = map { join(', ', @{$note{$_}}) . ": $_" } @notes;
my @left_out = map { $_->{figure} } grep { ($_->{why} // '') eq $only_quick } @records;
push @notes, join(', ', @left_out) . ": $only_quick" if @left_out;
for (grep { $_->[0] =~ /^busy/ } @machine) {
	push @notes, "the machine was not idle: $1 % of its cores were busy before the start; the figures are disturbed"
		if ($_->[1] // '') =~ /^(\d+)/ && $1 > 10;
}
my %said;
for my $l (@libs) {
	for my $b (sort keys %{$why{$l} // {}}) {
		my $s = "$label{$l}" . ($libwhy{$l} ? '' : ", $b") . ": $why{$l}{$b}";
		push @notes, $s unless $said{$libwhy{$l} ? "$l" : $s}++;
	}
}
print "\n", ($met // 0), ' of ', $barred, " bars met\n";
print "\nnotes:\n", map { "  $_\n" } @notes if @notes;

# --- plots -----------------------------------------------------------------------------------------------------------

my @colour = ('#0b6e4f', '#9ccc9c', '#c8553d', '#2a6f97', '#8d6a9f', '#b08900', '#555555', '#e08fb0');
my $gnuplot = $style ne "--plain" && grep { -x "$_/gnuplot" } split /:/, $ENV{PATH} // '';

sub h { my ($s) = @_; $s //= ''; $s =~ s/&/&amp;/g; $s =~ s/</&lt;/g; $s =~ s/>/&gt;/g; $s =~ s/"/&quot;/g; return $s; }

# Series: [label, [[x, y], ...], colour]. Both axes logarithmic (x: base 2 where $log2).
sub plot {
	my ($title, $xlabel, $ylabel, @series) = @_;
	@series = grep { @{$_->[1]} } @series;
	return '<p class="none">nothing measured for: ' . h($title) . '</p>' unless @series;
	my $svg = $gnuplot ? plot_gnuplot($title, $xlabel, $ylabel, @series) : undef;
	$svg //= plot_plain($title, $xlabel, $ylabel, @series);
	return "<figure>$svg</figure>";
}

my $plots = 0;
sub plot_gnuplot {
	my ($title, $xlabel, $ylabel, @series) = @_;
	my $base = sprintf '%s/raw/plot%02d', $dir, ++$plots;
	my $q = sub { my $s = shift; $s =~ s/['\\\n]/ /g; return "'$s'"; };
	open my $g, '>', "$base.gp" or return undef;
	# names of libraries have underscores and colons: no markup in texts
	my $rows = int((@series + 1) / 2);
	print $g 'set terminal svg size 760,', 440 + 22 * $rows, " dynamic noenhanced font 'sans-serif,16' background 'white'\n";
	print $g "set output '$base.svg'\nset title ", $q->($title), " font ',18'\nset xlabel ", $q->($xlabel), "\nset ylabel ", $q->($ylabel), "\n";
	print $g "set logscale x 2\nset logscale y 10\nset key at screen 0.02, 0.01 left bottom reverse Left font ',14' maxrows $rows samplen 2\n",
		'set bmargin ', 4 + $rows * 0.9, "\nset rmargin 6\nset grid lt 1 lw 0.6 lc rgb '#cccccc'\nset border 3\nset xtics nomirror rotate by -25\nset format y '%g'\nset ytics nomirror\n";
	my %x = map { $_->[0] => 1 } map { @{$_->[1]} } @series;
	my @x = sort { $a <=> $b } keys %x;
	if (@x > 14) { my $i = 0; @x = grep { !($i++ % 2) } @x; }
	print $g 'set xtics (', join(', ', map { $q->(size_label($_)) . " $_" } @x), ")\n";
	print $g 'plot ', join(', ', map { "'-' with linespoints pt 7 ps 0.6 lw 2.5 lc rgb '$_->[2]' title " . $q->($_->[0]) } @series), "\n";
	for my $s (@series) { print $g "$_->[0] $_->[1]\n" for @{$s->[1]}; print $g "e\n"; }
	close $g;
	system("gnuplot '$base.gp' 2>'$base.err'") == 0 or return undef;
	open my $f, '<', "$base.svg" or return undef;
	local $/;
	my $svg = <$f>;
	close $f;
	$svg =~ s/^.*?(?=<svg)//s;
	# several drawings in one page: their ids must differ
	$svg =~ s/\b(id=['"]|url\(#|xlink:href=['"]#)/$1p${plots}_/g;
	return $svg;
}

sub plot_plain {
	my ($title, $xlabel, $ylabel, @series) = @_;
	my ($w, $ht, $left, $right, $top, $bottom) = (760, 440 + 22 * int((@series + 1) / 2), 95, 740, 40, 370);	# the drawing and its frame
	my @x = sort { $a <=> $b } map { $_->[0] } map { @{$_->[1]} } @series;
	my @y = sort { $a <=> $b } map { $_->[1] } map { @{$_->[1]} } @series;
	my $lg = sub { log($_[0]) / log($_[1]) };
	my ($x0, $x1) = (int($lg->($x[0], 2) + 1e-9), $lg->($x[-1], 2));
	my ($y0, $y1) = ($lg->($y[0], 10), int($lg->($y[-1], 10) + 9) - 8);
	$y0 = int($y0 + 9) - 9;
	$x1 = $x0 + 1 if $x1 <= $x0;
	$y1 = $y0 + 1 if $y1 <= $y0;
	my $px = sub { $left + ($lg->($_[0], 2) - $x0) / ($x1 - $x0) * ($right - $left) };
	my $py = sub { $bottom - ($lg->($_[0], 10) - $y0) / ($y1 - $y0) * ($bottom - $top) };
	my $line = sub { sprintf '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>', @_ };
	my $text = sub { sprintf '<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>', @_[0 .. 2], h($_[3]) };
	my $o = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 $w $ht\" font-family=\"sans-serif\" font-size=\"16\">" .
		"<rect width=\"$w\" height=\"$ht\" fill=\"white\"/>" . $text->($w / 2, 22, 'middle', $title);
	for my $e ($y0 .. $y1) {
		my $y = $py->(10 ** $e);
		$o .= $line->($left, $y, $right, $y, '#ddd') . $text->($left - 6, $y + 5, 'end', 10 ** $e);
	}
	my $step = ($x1 - $x0) > 12 ? 4 : ($x1 - $x0) > 6 ? 2 : 1;
	for (my $e = $x0; $e <= $x1 + 1e-9; $e += $step) {
		my $x = $px->(2 ** $e);
		$o .= $line->($x, $top, $x, $bottom, '#eee') . $text->($x, $bottom + 20, 'middle', size_label(2 ** $e));
	}
	$o .= $text->(($left + $right) / 2, $bottom + 44, 'middle', $xlabel);
	$o .= sprintf '<text transform="translate(20 %.1f) rotate(-90)" text-anchor="middle">%s</text>', ($top + $bottom) / 2, h($ylabel);
	my $n = 0;
	for my $s (@series) {
		my ($kx, $key) = ($n % 2 ? 390 : 30, $bottom + 70 + 22 * int($n / 2));
		$n++;
		$o .= sprintf '<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>', $s->[2],
			join ' ', map { sprintf '%.1f,%.1f', $px->($_->[0]), $py->($_->[1]) } @{$s->[1]};
		$o .= sprintf '<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>', $px->($_->[0]), $py->($_->[1]), $s->[2] for @{$s->[1]};
		$o .= sprintf('<rect x="%d" y="%d" width="26" height="4" fill="%s"/>', $kx, $key - 2, $s->[2]) . $text->($kx + 34, $key + 5, 'start', $s->[0]);
	}
	return $o . '</svg>';
}

sub size_label { my $s = size_name($_[0]); $s =~ s/(?<=\d)(?=[A-Z])/ /; return $s; }

# lengths that are drawn: those beside a power of two (-3, +3) would lie on it
sub drawn { return grep { $_ > 0 && !($_ & ($_ - 1)) } sizes(@_); }

my %lib_colour;
{
	my @all = (@libs, sort keys %variant);
	@lib_colour{@all} = map { $colour[$_ % @colour] } 0 .. $#all;
}
sub series {
	my ($bench, $fig, $scale, @from) = @_;
	return map {
		my $l = $_;
		[$label{$l}, [map { [$_, value_of($l, $bench, $fig, $_) * $scale] } drawn($bench, $fig, $l)], $lib_colour{$l}]
	} @from;
}

# One line for each [TEXT, BENCH, FIGURE, LIBRARY], as [TEXT, points, colour]; of all points, since they may be no lengths.
sub lines {
	my ($scale, @from) = @_;
	my $i = 0;
	return map {
		my ($text, $bench, $fig, $lib) = @$_;
		[$text, [map { [$_, value_of($lib, $bench, $fig, $_) * $scale] } grep { $_ > 0 } sizes($bench, $fig, $lib)], $colour[$i++ % @colour]]
	} @from;
}

my @sections;
push @sections, ['Point to point', 'Two ranks on two cores, half round trips; medians over the rounds. Both axes of each plot are logarithmic.',
	plot('MPI latency: half round trip, buffers reused', 'message length', 'microseconds', series('mpi_p2p', 'latency', 1e-3, @libs)),
	plot('MPI large messages: data written before and read behind each (transfer only)', 'message length', 'microseconds', series('mpi_p2p', 'fresh', 1e-3, @libs)),
	plot('MPI bandwidth: windows of 64 messages', 'message length', 'MB/s', series('mpi_p2p', 'bandwidth', 1, @libs))];
{
	my $i = 0;
	my $us = sub { my ($text, $bench, $fig) = @_;
		[$text, [map { [$_, value_of('ours', $bench, $fig, $_) / 1e3] } drawn($bench, $fig, 'ours')], $colour[$i++ % @colour]] };
	my @s = map { $us->($_->[0], 'portals_pingpong', $_->[1]) } ['PtlPut, target in PtlEQGet', 'put_eqget'], ['PtlPut, target in PtlEQWait', 'put_eqwait'],
		['PtlPut, target looks at its buffer', 'put_spin'], ['PtlPut, polled portal', 'put_polled'], ['PtlPut, data new each time', 'put_fresh'],
		['PtlGet (round trip)', 'get'];
	push @s, $us->('store through SMARTMAP, data new', 'smartmap_pingpong', 'smartmap_copy_fresh'), $us->("MPI ($label{ours})", 'mpi_p2p', 'latency') if exists $label{ours};
	push @sections, ['Portals and SMARTMAP', 'PtlPut half round trips; PtlGet a whole one, with the target outside of the library.',
		plot('Portals and SMARTMAP', 'message length', 'microseconds', @s)];
}
{
	my $i = 0;
	my @s = map { my ($text, $fig) = @$_;
		[$text, [map { [$_, value_of('ours', 'portals_match', $fig, $_) / 1e3] } drawn('portals_match', $fig, 'ours')], $colour[$i++ % @colour]] }
		['entries that compare all bits', 'match_exact'], ['every eighth is a wildcard', 'match_wild'],
		['all bits, list walked', 'match_exact_walk'], ['wildcards, list walked', 'match_wild_walk'];
	push @sections, ['Match lists', 'PtlPut of 8 bytes to the own process, taken by the last entry of a list; PTL_INDEX_FROM=0 walks it.',
		plot('Match lists', 'entries', 'microseconds', @s)];
}
# "Default Portals" in the kernel, against SMARTMAP, by the same programs in one boot of a guest (kernel-nal/test/g_gp.sh)
if (open $in, '<', "$dir/guest.tsv") {
	my (%by, $i);
	while (<$in>) {
		my ($program, $figure, $bytes, $kernel, $smartmap, $unit) = split;
		next unless defined $unit && $unit eq 'ns' && $bytes > 0;
		push @{$by{"$program $figure"}{kernel}}, [$bytes, $kernel / 1e3];
		push @{$by{"$program $figure"}{SMARTMAP}}, [$bytes, $smartmap / 1e3];
	}
	close $in;
	my %text = ('portals put_eqget' => 'PtlPut, PtlEQGet', 'portals get' => 'PtlGet', 'shmem put' => 'shmem_putmem');
	my @s = map { my $f = $_; map { ["$text{$f}, $_", $by{$f}{$_}, $colour[$i++ % @colour]] } 'kernel', 'SMARTMAP' } grep { $by{$_} } sort keys %text;
	push @sections, ['Portals in the kernel', 'The same programs by the kernel module (a system call per call, matching and copies in the kernel) ' .
		'and by SMARTMAP, in the same boot of a guest without hardware support: of these times only ratios say something.',
		plot('The kernel module against SMARTMAP', 'message length', 'microseconds', @s)] if @s;
}
if (my @over = grep { $data{$_}{mpi_net} } 'ours-ap', 'ours-gp', 'mpich-tcp', 'openmpi-tcp') {
	push @sections, ['Between nodes', 'Two ranks, each a (virtual) node of its own, by TCP over the loopback device; the shared memory of the peers is off.',
		plot('MPI latency between nodes: half round trip', 'message length', 'microseconds', series('mpi_net', 'latency', 1e-3, @over))];
}
if (my @ways = grep { $data{ours}{"portals_net_$_->[0]"} } ['smartmap', 'SMARTMAP (one node)'], ['ap', 'engine, ranks help'],
    ['off', 'engine alone'], ['gp', 'interrupt thread']) {
	my @rows = (['half round trip of 8 bytes, both polling', 'put', 8], ['the same, both asleep', 'put_wait', 8],
		    ['each of a stream of 8 bytes, taken', 'put_stream', 8], ['the same, the target computing', 'put_stream_away', 8],
		    ['each of a stream of 1 MiB', 'put_stream', 1 << 20], ['each of a stream of 4 MiB', 'put_stream', 4 << 20]);
	my $cell = sub { '<td class="n">' . h(quantity($_[0], $_[1] // 'ns')) . '</td>' };
	push @sections, ['One message, three ways', 'PtlPut through shared memory, by an engine for each node, by an interrupt thread in each ' .
		'process; the last two by TCP over the loopback device. Stolen: what a computation at the target takes longer while messages ' .
		'come in' . ($cpus < 4 ? "; with $cpus cores the engine, the thread and the target share them." : '.'),
		'<table><tr><th></th>' . join('', map { '<th>' . h($_->[1]) . '</th>' } @ways) . "</tr>\n" .
		join('', map { my $r = $_; '<tr><td>' . h($r->[0]) . '</td>' .
			join('', map { $cell->(value_of('ours', "portals_net_$_->[0]", @$r[1, 2])) } @ways) . "</tr>\n" } @rows) .
		'<tr><td>stolen from the target</td>' . join('', map {
			my ($hit, $alone) = (value_of('ours', "portals_net_$_->[0]", 'compute_hit', 0), value_of('ours', "portals_net_$_->[0]", 'compute', 0));
			'<td class="n">' . (defined $hit && $alone ? sprintf('%.0f %%', 100 * ($hit / $alone - 1)) : '-') . '</td>' } @ways) . "</tr></table>\n"];
}
if ($data{ours}{portals_locks}) {
	for my $part (['each rank puts to the next one', 'ring'], ['all others put to one entry of rank 0', 'one']) {
		my $i = 0;
		my @s = map { my ($text, $way) = @$_;
			[$text, [map { my $v = value_of('ours', 'portals_locks', "$part->[1]_$way", $_); $v ? [$_, 1e3 / $v] : () } drawn('portals_locks', "$part->[1]_$way", 'ours')], $colour[$i++ % @colour]] }
			['the lock of the entry', 'entry'], ['one lock for the node', 'node'], ['one process makes all calls', 'master'];
		push @sections, ["Locks: $part->[0]", 'Acknowledged puts of 8 bytes, of all ranks of a node together, by what excludes them (PTL_LOCKS): ' .
			'the virtual node modes of Catamount, and the locks of this library. ' . ($cpus < 8 ? "More ranks than $cpus have no core of their own." : ''),
			plot("Message rate: $part->[0]", 'ranks', 'million puts a second', @s)];
	}
}
for my $n (2, 4, grep { $data{ours}{"mpi_coll-$_"} } 8) {
	my $over = $n > $cpus ? "$n ranks on $cpus cores: oversubscribed. Libraries that spin without giving up the core wait for their time slices." : "$n ranks, each on its core.";
	push @sections, ["Collectives, $n ranks", "$over Time of one call, averaged over the ranks; the root rotates.",
		map { plot("MPI_" . ucfirst($_) . ", $n ranks", 'vector or block length', 'microseconds per call', series("mpi_coll-$n", $_, 1e-3, @libs)) } 'bcast', 'reduce', 'allreduce', 'alltoall', 'allgather'];
}

push @sections, ['What each layer costs', ($counted ? 'Counted in this run, under valgrind' : 'What tests/counts holds each operation to (not counted in this run)') .
	': instructions of the process that makes the call, and distinct cache lines of memory that others see, each of which is a transfer where the other ' .
	'rank had it last. Those of MPI are not counted.', layers_html()] if %count;
push @sections, ['Figures of the papers', 'What the two SMARTMAP papers and the MPT paper show, by the same definitions, on this machine.',
	map { $_->{html} } map { paper_html($_, \&plot, \&series, \&h, \&lines) } @papers];

# --- index.html ------------------------------------------------------------------------------------------------------

sub row {
	my ($r) = @_;
	my $p = join '; ', map { my $i = $r->{peers}{$_}; "$_ " . (defined $i->{value} ? quantity($i->{value}, $r->{unit}) : "- ($i->{why})") } sort keys %{$r->{peers} // {}};
	my @rows = rows_of($r);
	my $out = '';
	for my $i (0 .. $#rows) {
		my ($name, $state, $value, $h, $over, $reference, $ratio, $bar, $v) = map { h($_) } cells($rows[$i]);
		my $c = $v eq 'yes' ? 'yes' : $v eq 'NO' ? 'no' : '';
		$out .= "<tr class=\"$c\"><td>$name</td><td>$state</td><td class=\"n\">$value</td><td class=\"n\">$h</td><td class=\"n\">$over</td><td>$reference</td>" .
			"<td class=\"n\">$ratio</td><td>$bar</td><td class=\"v\">" . ($v eq 'NO' ? 'missed' : $v) . '</td><td>' . ($i ? '' : '<code>' . h($r->{command}) . '</code>' .
			($r->{why} ? '<br><b>' . h($r->{why}) . '</b>' : '') . ($r->{cause} ? '<br>' . h($r->{cause}) : '') . ($p ? "<br><small>" . h("medians: $p") . "</small>" : '')) . "</td></tr>\n";
	}
	return $out;
}
my $head = '<table><tr><th>figure</th><th>state</th><th>ours (t)</th><th>h, ns</th><th>t &minus; h</th><th>reference</th><th>ratio</th>' .
	"<th>bar</th><th>met</th><th>repeat it with; why it is missed; the peers</th></tr>\n";

open $out, '>', "$dir/index.html.new" or die "$dir/index.html.new: $!\n";
print $out <<'END';
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>MPI over Portals over SMARTMAP: evaluation</title>
<style>
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 96em; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; width: 100%; font-size: 13px } td, th { border-bottom: 1px solid #ddd; padding: .25em .5em; text-align: left; vertical-align: top }
td.n { text-align: right } td:not(:last-child) { white-space: nowrap } th { white-space: nowrap } code { white-space: nowrap } tr.yes td.v { background: #d7f0dc } tr.no td.v { background: #f7d4cf; font-weight: bold }
figure { display: inline-block; width: 49%; min-width: 30em; margin: 0; vertical-align: top } figure svg { width: 100%; height: auto } code { font-size: 12px }
.none { color: #777 } dt { float: left; clear: left; width: 16em; color: #555 } dd { margin-left: 17em }
</style></head><body>
<h1>MPI over Portals over SMARTMAP: evaluation</h1>
END
print $out '<p>', h($run{mode} // ''), ' run of ', h($run{date} // ''), ', ', h($run{rounds} // ''), ' rounds, repeat it with <code>./mpt eval', ($run{mode} // '') eq 'quick' ? ' --quick' : '', '</code>. ',
	h($h_line), ".</p>\n<p>Libraries take turns within a round; ratios are formed within a round and a state. Short latencies are measured in slices with h between them; a row shows the median slice by t &minus; h, h from just before and just after it. A bar is met when it is met in each state (near: h below $FAR ns, far) of the machine that was seen.</p>\n";
print $out '<h2>Figures with a bar</h2>', $head, (map { row($_) } @records[0 .. $barred - 1]), '</table>', '<p>', ($met // 0), " of $barred met.</p>\n";
print $out '<h2>Notes</h2><ul>', (map { '<li>' . h($_) . '</li>' } @notes), "</ul>\n" if @notes;
for my $s (@sections) {
	my ($t, $text, @p) = @$s;
	print $out '<h2>', h($t), '</h2><p>', h($text), "</p>\n", @p, "\n";
}
print $out '<h2>Machine</h2><dl>', (map { '<dt>' . h($_->[0]) . '</dt><dd>' . h($_->[1]) . '</dd>' } @machine), "</dl>\n";
print $out '<h2>Libraries</h2><dl>', (map { '<dt>' . h($_) . '</dt><dd>' . h($label{$_}) . ($libwhy{$_} ? ': ' . h($libwhy{$_}) : '') . '</dd>' } @libs), "</dl>\n";
print $out '<h2>All figures</h2><details><summary>', scalar(@records) - $barred, ' more</summary>', $head, (map { row($_) } @records[$barred .. $#records]), "</table></details>\n</body></html>\n";
close $out or die "$dir/index.html.new: $!\n";
rename "$dir/index.html.new", "$dir/index.html" or die "$dir/index.html: $!\n";
print "\nreport: $dir/index.html\nnumbers: $dir/results.json\n";

#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# report.pl REPORT-FOLDER ROOT [--plain] - from build/report/raw: the table, results.json and index.html
#
# Every number comes from the raw files of this run. Rounds: a ratio is formed between runs of one round, and the median
# over the rounds is reported. Each run has h, the bare hand-over of a cache line, from just before and just after (for
# the 8-byte latencies measured inside the program, else by a run of its own); a round is "near" or "far" when both are
# on the same side of 100 ns, else "mixed"; above 600 ns other programs had the cores: "disturbed". A bar is met when it
# is met in each of near and far that was seen; mixed rounds count only where there are none of these, and from
# disturbed ones nothing is judged. Needs nothing but perl-base; gnuplot draws the plots where it is there.
use strict;
use warnings;

my ($dir, $root, $style) = (@ARGV, "");
die "usage: report.pl REPORT-FOLDER ROOT\n" unless defined $root && -d $dir;
my $DISTURBED = 600;	# ns; no hand-over between cores takes so long
my $FAR = 100;		# ns; near is about 50, far about 220 on the machines seen

# --- input -----------------------------------------------------------------------------------------------------------

my (%run, @libs, %label, %libwhy, @machine);
open my $in, '<', "$dir/run.tsv" or die "$dir/run.tsv: $!\n";
while (<$in>) {
	chomp;
	my @f = split /\t/, $_, -1;
	if ($f[0] eq 'lib') {
		push @libs, $f[1];
		$label{$f[1]} = $f[2];
		$libwhy{$f[1]} = $f[3] // '';
	} else {
		$run{$f[0]} = $f[1];
	}
}
close $in;
if (open $in, '<', "$dir/machine.tsv") {
	while (<$in>) { chomp; push @machine, [split /\t/, $_, 2]; }
	close $in;
}
my $cpus = () = ($run{cpus} // '') =~ /\d+/g;

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
		my $h0 = /"h_before":([-+.\deE]+)/ ? $1 : $m{h_before};
		my $h1 = /"h_after":([-+.\deE]+)/ ? $1 : $m{h_after};
		$data{$lib}{$bench}{$fig}{$bytes}{$round} = {
			value => $value,
			h0 => defined $h0 && $h0 =~ /^[\d.]/ ? $h0 + 0 : undef,
			h1 => defined $h1 && $h1 =~ /^[\d.]/ ? $h1 + 0 : undef,
		};
	}
	close $f;
}
closedir $d;

sub median {
	my @v = sort { $a <=> $b } grep { defined } @_;
	return undef unless @v;
	return @v & 1 ? $v[@v / 2] : ($v[@v / 2 - 1] + $v[@v / 2]) / 2;
}

sub state_of {
	my ($p) = @_;
	return 'unknown' unless defined $p->{h0} && defined $p->{h1};
	return 'disturbed' if $p->{h0} > $DISTURBED || $p->{h1} > $DISTURBED;
	my $n = grep { $_ >= $FAR } $p->{h0}, $p->{h1};
	return $n == 2 ? 'far' : $n == 0 ? 'near' : 'mixed';
}

sub points { my ($lib, $bench, $fig, $bytes) = @_; return $data{$lib}{$bench}{$fig}{$bytes} // {}; }
sub value_of { my $p = points(@_); return median(map { $p->{$_}{value} } keys %$p); }

sub why_not {
	my ($lib, $bench, $fig) = @_;
	return $libwhy{$lib} if $libwhy{$lib} && $bench =~ /^mpi/;	# the others need no MPI library
	return $why{$lib}{$bench} if $why{$lib}{$bench};
	return 'not measured: it needs two cores' if $cpus < 2;
	return "the program did not report it";
}

# --- figures ---------------------------------------------------------------------------------------------------------

my @records;

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
my $disturbed = "not judged: h was above $DISTURBED ns in every round, other programs had the cores";

sub common {
	my ($rec, $p) = @_;
	my @r = sort { $a <=> $b } keys %$p;
	$rec->{h_before} = median(map { $p->{$_}{h0} } @r);
	$rec->{h_after} = median(map { $p->{$_}{h1} } @r);
	$rec->{rounds} = scalar @r;
	$rec->{round_values} = [map { $p->{$_}{value} } @r];
	$rec->{round_states} = [map { state_of($p->{$_}) } @r];
}

# A figure judged against h: value <= h + $margin (no bar when $margin is undefined).
sub figure_h {
	my ($name, $lib, $bench, $fig, $bytes, $margin, $cmd) = @_;
	my $p = points($lib, $bench, $fig, $bytes);
	my $rec = { figure => $name, library => $lib, bytes => $bytes, value => undef, unit => 'ns', reference => 'h',
		    reference_value => undef, ratio => undef, bar => defined $margin ? "at most h + $margin ns" : undef,
		    met => undef, command => $cmd };
	push @records, $rec;
	common($rec, $p);
	if (!%$p) {
		$rec->{why} = why_not($lib, $bench, $fig);
		$rec->{met} = 0 if defined $margin;
		return;
	}
	my @rows;
	for my $r (sort { $a <=> $b } keys %$p) {
		my ($h0, $h1) = ($p->{$r}{h0}, $p->{$r}{h1});
		next unless defined $h0 && defined $h1;
		my $h = ($h0 + $h1) / 2;
		push @rows, { state => state_of($p->{$r}), value => $p->{$r}{value}, h => $h, over => $p->{$r}{value} - $h,
			      ratio => $h > 0 ? $p->{$r}{value} / $h : undef };
	}
	$rec->{value} = median(map { $p->{$_}{value} } keys %$p);
	return unless @rows;
	$rec->{reference_value} = median(map { $_->{h} } @rows);
	$rec->{ratio} = median(map { $_->{ratio} } @rows);
	my %g = by_state(@rows);
	$rec->{met} = 1 if defined $margin;
	for my $s (sort keys %g) {
		my $over = median(map { $_->{over} } @{$g{$s}});
		$rec->{by_state}{$s} = { rounds => scalar @{$g{$s}}, value => median(map { $_->{value} } @{$g{$s}}),
					 h => median(map { $_->{h} } @{$g{$s}}), over_h => $over };
		$rec->{met} = 0 if defined $margin && $over > $margin;
	}
	($rec->{met}, $rec->{why}) = (undef, $disturbed) if $g{disturbed} && defined $margin;
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
}

# A figure judged against the best of @$peers. $better: 'lower' or 'higher'. $bar: limit of ours / peer, or undef.
# Per peer, the ratio is the median over the rounds that both were in the same state; the peer with the ratio least
# favourable to us is the reference. The other peers of this run are recorded beside it.
sub figure_ratio {
	my ($name, $lib, $bench, $fig, $bytes, $unit, $better, $peers, $bar, $cmd, $extra) = @_;
	my $p = points($lib, $bench, $fig, $bytes);
	my $sign = $better eq 'lower' ? 1 : -1;
	my $rec = { figure => $name, library => $lib, bytes => $bytes, value => undef, unit => $unit, reference => undef,
		    reference_value => undef, ratio => undef, met => undef, command => $cmd,
		    bar => defined $bar ? sprintf('%s %s x the best of %s', $better eq 'lower' ? 'at most' : 'at least', $bar,
						  join(', ', @$peers)) : undef, %{$extra // {}} };
	push @records, $rec;
	common($rec, $p);
	$rec->{value} = median(map { $p->{$_}{value} } keys %$p);
	$rec->{why} = why_not($lib, $bench, $fig) unless defined $rec->{value};
	$rec->{met} = 0 if defined $bar && !defined $rec->{value};
	my ($best, %judge);
	@judge{@$peers} = ();
	for my $peer (@$peers, grep { !exists $judge{$_} } peer_names()) {
		my $q = points($peer, $bench, $fig, $bytes);
		my $info = $rec->{peers}{$peer} = { value => median(map { $q->{$_}{value} } keys %$q), ratio => undef };
		if (!defined $info->{value}) {
			$info->{why} = why_not($peer, $bench, $fig);
			next;
		}
		my @rows;
		for my $r (keys %$p) {
			next unless $q->{$r} && $q->{$r}{value} > 0;
			my ($mine, $theirs) = (state_of($p->{$r}), state_of($q->{$r}));
			push @rows, { state => $mine eq $theirs ? $mine : "$mine $theirs" =~ /disturbed/ ? 'disturbed' : 'mixed', ratio => $p->{$r}{value} / $q->{$r}{value} };
		}
		if (@rows) {
			my %g = by_state(@rows);
			my $all = 1;
			for my $s (sort keys %g) {
				my $x = median(map { $_->{ratio} } @{$g{$s}});
				$info->{by_state}{$s} = { rounds => scalar @{$g{$s}}, ratio => $x };
				$all = 0 if defined $bar && $sign * $x > $sign * $bar;
			}
			$all = undef unless exists $judge{$peer};
			($all, $info->{why}) = (undef, $disturbed) if $g{disturbed};
			$info->{ratio} = median(map { $_->{ratio} } map { @{$g{$_}} } keys %g);
			$info->{met} = $all if defined $bar && defined $all;
		}
		next unless exists $judge{$peer};
		$best = $peer if !defined $best ||
			(defined $info->{ratio} && defined $rec->{peers}{$best}{ratio} ?
			 $sign * $info->{ratio} > $sign * $rec->{peers}{$best}{ratio} :
			 $sign * $info->{value} < $sign * $rec->{peers}{$best}{value});
	}
	if (!defined $best) {
		$rec->{why} //= 'no peer could be measured';
		return;
	}
	$rec->{reference} = $best;
	$rec->{reference_value} = $rec->{peers}{$best}{value};
	$rec->{ratio} = $rec->{peers}{$best}{ratio};
	if (defined $bar && defined $rec->{value}) {
		my @judged = grep { defined $rec->{peers}{$_}{met} } @$peers;
		$rec->{met} = @judged ? ((grep { !$rec->{peers}{$_}{met} } @judged) ? 0 : 1) : undef;
		$rec->{why} //= $rec->{peers}{$best}{why} if !@judged;
	}
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
my @peers = peer_names();
my @big = map { $_ << 10 } 64, 256, 1024, 4096;
my $p2p = './mpt bench mpi_p2p --lib %s --only %s';

# The bars first, in the order of the table.
figure_h('smartmap_store_pingpong', 'ours', 'smartmap_pingpong', 'smartmap_store_arena', 4, 15, './mpt bench smartmap_pingpong');
figure_h('smartmap_store_pingpong_bss', 'ours', 'smartmap_pingpong', 'smartmap_store_bss', 4, 15, './mpt bench smartmap_pingpong');
figure_h('portals_put_8B_eqget', 'ours', 'portals_pingpong', 'put_eqget', 8, 100, './mpt bench portals_pingpong --only put_eqget');
figure_h('portals_put_8B_eqwait', 'ours', 'portals_pingpong', 'put_eqwait', 8, 100, './mpt bench portals_pingpong --only put_eqwait');
figure_h('portals_put_8B_spin', 'ours', 'portals_pingpong', 'put_spin', 8, 160, './mpt bench portals_pingpong --only put_spin');
figure_abs('portals_memdpost', 'ours', 'portals_pingpong', 'memdpost', 0, 100, './mpt bench portals_pingpong --only memdpost');
figure_ratio('mpi_latency_8B', 'ours', 'mpi_p2p', 'latency', 8, 'ns', 'lower', \@debian, 1.0, sprintf($p2p, 'ours', 'latency'));
figure_ratio('mpi_time_' . size_name($_), 'ours', 'mpi_p2p', 'latency', $_, 'ns', 'lower', \@debian, 0.5,
	     sprintf($p2p, 'ours', 'latency')) for @big;
figure_ratio('mpi_time_fresh_' . size_name($_), 'ours', 'mpi_p2p', 'fresh', $_, 'ns', 'lower', \@debian, 0.5,
	     sprintf($p2p, 'ours', 'fresh')) for @big;
figure_ratio('mpi_message_rate_8B', 'ours', 'mpi_p2p', 'message_rate', 8, 'msg/s', 'higher', \@peers, 1.0,
	     sprintf($p2p, 'ours', 'rate'));

# Do no harm: speed of programs that only compute, alone and as ranks of a job, against plain Linux, and their peak memory.
for my $p (@harm) {
	my %r = (library => 'ours', reference => 'plain Linux', command => './mpt bench harm', rounds => 1);
	push @records, { %r, figure => "harm_$p->{name}_speed", value => $p->{with}, unit => $p->{unit}, reference_value => $p->{plain},
			 ratio => $p->{ratio}, bar => 'at least 0.97 x plain Linux', met => $p->{ratio} >= 0.97 ? 1 : 0 };
	push @records, { %r, figure => "harm_$p->{name}_memory", value => $p->{rss_with}, unit => 'kB', reference_value => $p->{rss_plain},
			 ratio => $p->{rss_ratio}, bar => 'at most 1.05 x plain Linux', met => $p->{rss_ratio} <= 1.05 ? 1 : 0 };
}
if (@harm && defined median(@h_all) && median(@h_all) > $DISTURBED) {
	($_->{met}, $_->{why}) = (undef, $disturbed) for grep { $_->{figure} =~ /^harm_/ } @records;
}
push @records, { figure => 'harm', library => 'ours', unit => '', reference => 'plain Linux', bar => 'at least 0.97 x plain Linux', met => 0,
		 why => why_not('ours', 'harm', ''), command => './mpt bench harm' } unless @harm;
my $barred = @records;

# Everything else, without a bar.
my %done = map { $_ => 1 } 'ours latency 8', 'ours message_rate 8', map { ("ours latency $_", "ours fresh $_") } @big;
figure_h('portals_put_8B_polled', 'ours', 'portals_pingpong', 'put_polled', 8, undef, './mpt bench portals_pingpong --only put_polled');
figure_abs('portals_eqget_empty', 'ours', 'portals_pingpong', 'eqget_empty', 0, undef, './mpt bench portals_pingpong --only eqget_empty');
for my $lib (@libs) {
	figure_h("mpi_latency_8B_over_h_$lib", $lib, 'mpi_p2p', 'latency', 8, undef, sprintf($p2p, $lib, 'latency'));
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
		for my $fig ('barrier', 'bcast', 'reduce', 'allreduce', 'alltoall') {
			figure_ratio("mpi_${fig}_" . size_name($_) . "_${n}ranks$tail", $lib, "mpi_coll-$n", $fig, $_, 'ns', 'lower', \@peers,
				     undef, "./mpt bench mpi_coll -n $n --lib $lib --only $fig",
				     { ranks => $n, oversubscribed => $n > $cpus ? 'yes' : 'no' })
				for sizes("mpi_coll-$n", $fig, @libs);
		}
	}
}

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

my %is_text = map { $_ => 1 } qw(figure library unit reference bar why command label oversubscribed state);
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

my @order = qw(figure value unit reference reference_value ratio bar met h_before h_after library bytes rounds round_values
	       round_states by_state peers ranks oversubscribed why command);
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
	return sprintf('%.0f %s', $v, $unit) if $unit =~ m{^(?:MB/s|kB)$};
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

my @h = sort { $a <=> $b } map { $_ + 0 } @h_all;
my %states;
$states{$_ > $DISTURBED ? 'disturbed' : $_ >= $FAR ? 'far' : 'near'}++ for @h;
my $h_line = @h ? sprintf('h, the bare hand-over of a cache line: median %.1f ns, %.1f to %.1f ns, seen %s', median(@h), $h[0], $h[-1],
			  join(' and ', map { "$_ ($states{$_}x)" } sort keys %states)) : 'h was not measured';

print "\n$h_line\n\n";
my $fmt = "%-28s %12s  %-22s %7s  %-14s %s\n";
printf $fmt, 'figure', 'ours', 'reference', 'ratio', 'bar', 'met';
my (@notes, %note, $met);
for my $r (@records[0 .. $barred - 1]) {
	printf $fmt, $r->{figure}, quantity($r->{value}, $r->{unit}),
		defined $r->{reference} && $r->{reference} ne 'the bar' ? "$r->{reference} " . quantity($r->{reference_value}, $r->{unit}) : '-',
		defined $r->{ratio} ? sprintf('%.2f', $r->{ratio}) : '-', short_bar($r), verdict($r);
	$met++ if $r->{met};
	next unless $r->{why};
	push @notes, $r->{why} unless $note{$r->{why}};
	push @{$note{$r->{why}}}, $r->{figure};
}
@notes = map { join(', ', @{$note{$_}}) . ": $_" } @notes;
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

my @colour = ('#0b6e4f', '#9ccc9c', '#c8553d', '#2a6f97', '#8d6a9f', '#b08900', '#555555');
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
	print $g "set terminal svg size 760,430 dynamic noenhanced font 'sans-serif,13' background 'white'\n";
	print $g "set output '$base.svg'\nset title ", $q->($title), "\nset xlabel ", $q->($xlabel), "\nset ylabel ", $q->($ylabel), "\n";
	print $g "set logscale x 2\nset logscale y 10\nset key left top reverse Left\nset grid lc rgb '#dddddd'\nset border 3\nset xtics nomirror rotate by -40\nset ytics nomirror\n";
	my %x = map { $_->[0] => 1 } map { @{$_->[1]} } @series;
	my @x = sort { $a <=> $b } keys %x;
	if (@x > 14) { my $i = 0; @x = grep { !($i++ % 2) } @x; }
	print $g 'set xtics (', join(', ', map { $q->(size_name($_)) . " $_" } @x), ")\n";
	print $g 'plot ', join(', ', map { "'-' with linespoints pt 7 ps 0.5 lw 2 lc rgb '$_->[2]' title " . $q->($_->[0]) } @series), "\n";
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
	my ($w, $ht, $left, $right, $top, $bottom) = (760, 430, 80, 740, 40, 370);	# the drawing and its frame
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
	my $o = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 $w $ht\" font-family=\"sans-serif\" font-size=\"13\">" .
		"<rect width=\"$w\" height=\"$ht\" fill=\"white\"/>" . $text->($w / 2, 22, 'middle', $title);
	for my $e ($y0 .. $y1) {
		my $y = $py->(10 ** $e);
		$o .= $line->($left, $y, $right, $y, '#ddd') . $text->($left - 6, $y + 4, 'end', 10 ** $e);
	}
	my $step = ($x1 - $x0) > 12 ? 4 : ($x1 - $x0) > 6 ? 2 : 1;
	for (my $e = $x0; $e <= $x1 + 1e-9; $e += $step) {
		my $x = $px->(2 ** $e);
		$o .= $line->($x, $top, $x, $bottom, '#eee') . $text->($x, $bottom + 18, 'middle', size_name(2 ** $e));
	}
	$o .= $text->(($left + $right) / 2, $ht - 12, 'middle', $xlabel);
	$o .= sprintf '<text transform="translate(18 %.1f) rotate(-90)" text-anchor="middle">%s</text>', $ht / 2, h($ylabel);
	my $n = 0;
	for my $s (@series) {
		my $key = $top + 14 + 18 * $n++;
		$o .= sprintf '<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>', $s->[2],
			join ' ', map { sprintf '%.1f,%.1f', $px->($_->[0]), $py->($_->[1]) } @{$s->[1]};
		$o .= $line->($left + 10, $key, $left + 34, $key, $s->[2]) . $text->($left + 40, $key + 4, 'start', $s->[0]);
	}
	return $o . '</svg>';
}

my %lib_colour;
@lib_colour{@libs} = map { $colour[$_ % @colour] } 0 .. $#libs;
sub series {
	my ($bench, $fig, $scale, @from) = @_;
	return map {
		my $l = $_;
		[$label{$l}, [map { [$_, value_of($l, $bench, $fig, $_) * $scale] } grep { $_ > 0 } sizes($bench, $fig, $l)], $lib_colour{$l}]
	} @from;
}

my @sections;
push @sections, ['Point to point', 'Two ranks on two cores, half round trips; medians over the rounds.',
	plot('MPI latency: half round trip, buffers reused', 'bytes', 'microseconds', series('mpi_p2p', 'latency', 1e-3, @libs)),
	plot('MPI large messages: data written before and read behind each (transfer only)', 'bytes', 'microseconds', series('mpi_p2p', 'fresh', 1e-3, @libs)),
	plot('MPI bandwidth: windows of 64 messages', 'bytes', 'MB/s', series('mpi_p2p', 'bandwidth', 1, @libs))];
{
	my $i = 0;
	my @s = map { my $f = $_; [$f, [map { [$_, value_of('ours', 'portals_pingpong', $f, $_) / 1e3] } sizes('portals_pingpong', $f, 'ours')], $colour[$i++ % @colour]] }
		'put_eqget', 'put_eqwait', 'put_spin', 'put_polled', 'put_fresh', 'get';
	push @s, ['smartmap copy', [map { [$_, value_of('ours', 'smartmap_pingpong', 'smartmap_copy_fresh', $_) / 1e3] } sizes('smartmap_pingpong', 'smartmap_copy_fresh', 'ours')], '#000000'];
	push @s, ["MPI ($label{ours})", [map { [$_, value_of('ours', 'mpi_p2p', 'latency', $_) / 1e3] } grep { $_ > 0 } sizes('mpi_p2p', 'latency', 'ours')], '#999999'] if exists $label{ours};
	push @sections, ['Portals and SMARTMAP', 'PtlPut half round trips; PtlGet a whole one, with the target outside of the library.',
		plot('Portals', 'bytes', 'microseconds', @s)];
}
for my $n (2, 4) {
	my $over = $n > $cpus ? "$n ranks on $cpus cores: oversubscribed. Libraries that spin without giving up the core wait for their time slices." : "$n ranks, each on its core.";
	push @sections, ["Collectives, $n ranks", "$over Time of one call, averaged over the ranks; the root rotates.",
		map { plot("MPI_" . ucfirst($_) . ", $n ranks", 'bytes', 'microseconds', series("mpi_coll-$n", $_, 1e-3, @libs)) } 'bcast', 'reduce', 'allreduce', 'alltoall'];
}

# --- index.html ------------------------------------------------------------------------------------------------------

sub row {
	my ($r) = @_;
	my $v = verdict($r);
	my $c = $v eq 'yes' ? 'yes' : $v eq 'NO' ? 'no' : '';
	my $p = join '; ', map { my $i = $r->{peers}{$_}; "$_ " . (defined $i->{value} ? quantity($i->{value}, $r->{unit}) : "- ($i->{why})") } sort keys %{$r->{peers} // {}};
	my $s = join '; ', map { my $i = $r->{by_state}{$_}; sprintf '%s: %s, h + %.1f', $_, quantity($i->{value}, 'ns'), $i->{over_h} } sort keys %{$r->{by_state} // {}};
	return "<tr class=\"$c\"><td>" . h($r->{figure}) . '</td><td class="n">' . h(quantity($r->{value}, $r->{unit})) . '</td><td>' .
		h($p || $s || (defined $r->{reference} ? "$r->{reference} " . quantity($r->{reference_value}, $r->{unit}) : '')) . '</td><td class="n">' .
		(defined $r->{ratio} ? sprintf('%.2f', $r->{ratio}) : '-') . '</td><td>' . h(short_bar($r)) . "</td><td>$v</td><td class=\"n\">" .
		join(' / ', map { defined $_ ? sprintf('%.0f', $_) : '-' } $r->{h_before}, $r->{h_after}) . '</td><td><code>' . h($r->{command}) . '</code>' .
		($r->{why} ? '<br>' . h($r->{why}) : '') . "</td></tr>\n";
}
my $head = "<table><tr><th>figure</th><th>ours</th><th>reference</th><th>ratio</th><th>bar</th><th>met</th><th>h before / after, ns</th><th>repeat it with</th></tr>\n";

open $out, '>', "$dir/index.html.new" or die "$dir/index.html.new: $!\n";
print $out <<'END';
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>MPI over Portals over SMARTMAP: evaluation</title>
<style>
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; width: 100%; font-size: 13px } td, th { border-bottom: 1px solid #ddd; padding: .25em .5em; text-align: left; vertical-align: top }
td.n { text-align: right; white-space: nowrap } tr.yes td:nth-child(6) { background: #d7f0dc } tr.no td:nth-child(6) { background: #f7d4cf }
figure { display: inline-block; width: 49%; min-width: 30em; margin: 0 } figure svg { width: 100%; height: auto } code { font-size: 12px }
.none { color: #777 } dt { float: left; clear: left; width: 16em; color: #555 } dd { margin-left: 17em }
</style></head><body>
<h1>MPI over Portals over SMARTMAP: evaluation</h1>
END
print $out '<p>', h($run{mode} // ''), ' run of ', h($run{date} // ''), ', ', h($run{rounds} // ''), ' rounds, repeat it with <code>./mpt eval', ($run{mode} // '') eq 'quick' ? ' --quick' : '', '</code>. ',
	h($h_line), ".</p>\n<p>Libraries take turns within a round; ratios are formed within a round; medians are shown. A bar is met when it is met in each state (near, far) of the machine that was seen.</p>\n";
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

#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# check.pl - is this trace right?
#
#	check.pl TRACE OPERATION COUNT WAY [KEY=VALUE]...
#
# Events have what the format asks, and boxes nest. Each of COUNT messages of OPERATION by rank 0 to rank 1: the call at rank 0; matched once, copied once to (a get:
# from) the target by WAY (one of A,B; some by A), fetched once at rank 1, each not before the one before; the
# fetched event has the call's hdr_data, which the tool has not looked at to join them. Its arrow touches its boxes
# in their order, and ends. Keys: answer=ACK|REPLY_END (fetched at rank 0, last), drop=REASON (in place of match,
# copy and event), some=1 (COUNT is a maximum, and messages may end anywhere).
use strict;
use warnings;
use JSON::PP;

my ($file, $op, $count, $way, @keys) = @ARGV;
my ($best, @others) = split /,/, $way;
my %way = map { ($_, 1) } $best, @others;
my $by_best = 0;
my %key = map { split /=/, $_, 2 } @keys;
my ($bad, $said) = (0, 0);
sub wrong { $bad++; print STDERR "# ", @_, "\n" if $said++ < 8 }

open(my $h, '<', $file) or do { print STDERR "# $file: $!\n"; exit 1 };
my $trace = do { local $/; decode_json(<$h>) };
my (%box, %arrow, %row, %in);
# what each has; one that lacks something is wrong, and is not looked at any further
my %fields = (X => ['ts', 'dur'], s => ['ts', 'id'], t => ['ts', 'id'], f => ['ts', 'id']);
my %args = (call => ['initiator', 'target', 'pt', 'hdr_data'], match => ['owner', 'mlength'],
	    copy => ['way', 'direction', 'bytes'], fetch => ['event', 'hdr_data'], drop => ['reason']);
sub lacks
{
	my ($e) = @_;
	for ('name', 'ph', 'pid', 'tid') { return $_ unless defined $e->{$_} }
	for (@{ $fields{ $e->{ph} } || [] }) { return $_ unless defined $e->{$_} }
	return undef unless $e->{ph} eq 'X' && defined $e->{args}{message};
	return 'step' unless defined $e->{args}{step};
	for (@{ $args{ $e->{args}{step} } || [] }) { return $_ unless defined $e->{args}{$_} }
	return undef;
}
for my $e (@{ $trace->{traceEvents} }) {
	my $lacking = lacks($e);
	if (defined $lacking) { wrong("an event without $lacking: ", encode_json($e)); next }
	if ($e->{ph} eq 'M') { $row{ $e->{pid} } = $e->{args}{name} if $e->{name} eq 'process_name'; next }
	wrong("no time: ", encode_json($e)) unless ($e->{ts} // 0) >= 0;
	if ($e->{ph} eq 'X') {
		wrong("negative length: ", encode_json($e)) unless $e->{dur} >= 0;
		push @{ $in{"$e->{pid} $e->{tid}"} }, [ int($e->{ts} * 1000 + .5), int(($e->{ts} + $e->{dur}) * 1000 + .5) ];
		push @{ $box{ $e->{args}{message} } }, $e if defined $e->{args}{message};
	} elsif ($e->{ph} =~ /^[stf]$/) {
		push @{ $arrow{ $e->{id} } }, $e;
	} else {
		wrong("what is ph '$e->{ph}'?");
	}
}
for my $rank (0, 1) {
	wrong("rank $rank has no row of its name") unless ($row{$rank} || '') =~ /^rank $rank: /;
}
# boxes of a row lie within each other, or apart: viewers drop others
for my $in (values %in) {
	my @open;
	for my $e (sort { $a->[0] <=> $b->[0] || $b->[1] <=> $a->[1] } @$in) {
		pop @open while @open && $open[-1] <= $e->[0];
		wrong("a box crosses the one around it at $e->[0]") if @open && $e->[1] > $open[-1];
		push @open, $e->[1];
	}
}
wrong("$trace->{otherData}{lost} records are lost") if $trace->{otherData}{lost};

my (%hdr, $n);
for my $m (sort { $a <=> $b } keys %box) {
	my @b = sort { $a->{ts} <=> $b->{ts} } grep { $_->{args}{step} !~ /sleep|unlink/ } @{ $box{$m} };
	my ($call) = grep { $_->{args}{step} eq 'call' } @b;
	next unless $call && $call->{name} eq $op && $call->{args}{pt} == 4;
	next if $call->{args}{returned};	# refused: no message
	my $what = "message $m (hdr_data $call->{args}{hdr_data})";
	$n++;
	wrong("$what: two calls") if grep({ $_->{args}{step} eq 'call' } @b) != 1;
	wrong("$what: the call is in row $call->{pid}") if $call->{pid} != 0 || $call->{args}{initiator} != 0;
	wrong("$what: goes to $call->{args}{target}") if $call->{args}{target} != 1;
	wrong("$what: hdr_data twice") if $op ne 'PtlGet' && $hdr{ $call->{args}{hdr_data} }++;

	# its arrow: one touch for each box, in their order
	my @a = @{ $arrow{$m} || [] };
	my $ph = join '', map { $_->{ph} } @a;
	if (@b > 1) {
		wrong("$what: its arrow is '$ph' for ", scalar(@b), " boxes") unless $ph eq 's' . 't' x (@b - 2) . 'f';
		my %at = map { ("$_->{ts} $_->{pid} $_->{tid}", 1) } @b;
		for (@a) {
			wrong("$what: the arrow touches nothing at $_->{ts}")
				unless $at{"$_->{ts} $_->{pid} $_->{tid}"};
		}
		for (1 .. $#a) { wrong("$what: the arrow goes back in time") if $a[$_]{ts} < $a[ $_ - 1 ]{ts} }
	}

	my @match = grep { $_->{args}{step} eq 'match' } @b;
	my @copy = grep { $_->{args}{step} eq 'copy' && $way{ $_->{args}{way} } &&
			  $_->{args}{direction} eq ($op eq 'PtlGet' &&
					$best ne 'frame' ? 'from target' : 'to target') } @b;
	my @event = grep { $_->{args}{step} eq 'fetch' && $_->{args}{event} =~ /^(PUT|GET|GETPUT)_END$/ } @b;
	my @answer = grep { $_->{args}{step} eq 'fetch' && $_->{args}{event} =~ /^(ACK|REPLY_END)$/ } @b;
	my @drop = grep { $_->{args}{step} eq 'drop' } @b;
	if ($key{drop}) {
		wrong("$what: not dropped once") unless @drop == 1;
		wrong("$what: dropped: $drop[0]{args}{reason}") if @drop && $drop[0]{args}{reason} ne $key{drop};
		wrong("$what: dropped, but there is a match or an event") if @match || @event;
		next;
	}
	wrong("$what: dropped") if @drop;
	if (!$key{some} || @event) {
		wrong("$what: ", scalar(@match), " matches, ", scalar(@copy), " copies by $way, ", scalar(@event),
				" events: ",
		      join(', ', map { $_->{name} } @b)) if @match != 1 || @copy != 1 || @event != 1;
		next if !@match || !@copy || !@event;
		$by_best++ if $copy[0]{args}{way} eq $best;
		my @chain = ($call, $match[0], $copy[0], $event[0]);
		for (1 .. 3) {
			wrong("$what: $chain[$_]{name} before $chain[$_ - 1]{name}")
				if $chain[$_]{ts} < $chain[ $_ - 1 ]{ts};
		}
		wrong("$what: fetched in row $event[0]{pid}") if $event[0]{pid} != 1;
		wrong("$what: matched at $match[0]{args}{owner}") if $match[0]{args}{owner} != 1;
		wrong("$what: ends as $event[0]{args}{hdr_data}")
			if $op ne 'PtlGet' && $event[0]{args}{hdr_data} ne $call->{args}{hdr_data};
		wrong("$what: $match[0]{args}{mlength} and $copy[0]{args}{bytes} bytes")
			if $match[0]{args}{mlength} != $copy[0]{args}{bytes};
	}
	if ($key{answer}) {
		wrong("$what: no $key{answer} comes back") unless @answer == 1 &&
				$answer[0]{args}{event} eq $key{answer} &&
			$answer[0]{pid} == 0 && @match && $answer[0]{ts} > $match[0]{ts};
	}
}
$n = 0 unless $n;
wrong("$n messages, not $count") if $key{some} ? !$n || $n > $count : $n != $count;
wrong("only $by_best by $best") if !$key{drop} && $by_best < 5;
exit($bad ? 1 : 0);

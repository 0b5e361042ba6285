#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# lines.pl INFO TRACE - distinct cache lines of shared memory that lackey's trace touches between two stores to "mark"
use strict;
use warnings;
no warnings 'portable';

my ($info, $trace) = @ARGV;
my ($mark, $on, @shared, %seen);

open(my $t, '<', $trace) or die "$trace: $!";
while (<$t>) {
	next unless /^ ([LSM]) ([0-9a-f]+),/;
	if (!defined $mark) {
		next unless open(my $f, '<', $info);	# written just before the operation
		my @l = <$f>;
		close $f;
		next unless @l && $l[-1] =~ /^end/;
		for (@l) {
			$mark = hex $1 if /^mark (\S+)/;
			push @shared, [hex $1, hex $2] if /^shared (\S+) (\S+)/;
		}
	}
	my $a = hex $2;
	if ($a == $mark && $1 eq 'S') {
		$on = !$on;
	} elsif ($on) {
		$seen{$a >> 6} = 1 if grep { $a >= $_->[0] && $a < $_->[1] } @shared;
	}
}
print scalar(keys %seen), "\n";
print STDERR map { sprintf "# line %x\n", $_ << 6 } sort { $a <=> $b } keys %seen if $ENV{T_LINES};

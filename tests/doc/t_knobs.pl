#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Every variable of the environment that the tree reads stands in a table of portals/rt/p3_knobs.h, with the file that
# reads it, and is told in portals-knobs(7); nothing stands there that is not read.
use strict;
use warnings;

my $src = $ENV{P3_SRC} || $ENV{srcdir};
my $build = $ENV{P3_BUILD} || '.';
# These call getenv() with a name that they are given: each string of theirs that looks like a variable must be one.
my %given = map { $_ => 1 } qw(mpich-ch3-portals/src/ch3_env.c portals/rt/p3_knobs.c portals/rt/p3_env.c portals/rt/p3_pmi_wire.c portals/rt/p3_log.c
	shmem-portals/src/init.c dmapp-portals/src/env.c);
my ($n, $failed) = (0, 0);

sub slurp { my ($f) = @_; local $/; open(my $h, '<', $f) or die "$f: $!"; my $t = <$h>; return $t }
sub report
{
	my ($name, @bad) = @_;

	print @bad ? 'not ok ' : 'ok ', ++$n, " - $name\n";
	print "# $_\n" for @bad;
	$failed ||= @bad;
}

# ---- the tables ----
my $text = slurp("$src/portals/rt/p3_knobs.h");
my (%where, %field);
my $str = qr/"(?:\\.|[^"\\])*"/;
while ($text =~ /\bK\((\w+), "(\w+)",(?:[^()"]|$str|\([^()]*\))*?($str)\)/g) { $where{$2} = $3; $field{$2} = $1 }
while ($text =~ /\bV\("(\w+)",(?:[^()"]|$str)*?($str)\)/g) { $where{$1} = $2 }
s/"//g for values %where;
report('the tables are understood', keys %where > 30 ? () : 'too few');

# ---- the code ----
sub complaints	# FILE TEXT
{
	my ($f, $t) = @_;
	my @bad;

	$t =~ s{/\*.*?\*/}{}gs;
	while ($t =~ /\b(?:secure_)?getenv\(([^)]*)\)/g) {
		my ($v) = $1 =~ /^"(\w+)"$/;
		if (!defined $v) { push @bad, "$f: getenv($1): of which variables?" unless $given{$f} }
		elsif (!defined $where{$v}) { push @bad, "$f reads $v, which is in no table" }
		elsif (index($where{$v}, $f) < 0) { push @bad, "$f reads $v: the table says $where{$v}" }
	}
	return @bad unless $given{$f};
	while ($t =~ /"((?:PTL|PMI|SMA|SHMEM|_?DMAPP|_DMAPPI|MPICH|SMARTMAP)_[A-Z][A-Z0-9_]*)"/g) {
		push @bad, "$f reads $1, which is in no table" unless defined $where{$1} || $1 eq 'MPICH_RANK_ORDER';
	}
	return @bad;
}

my @dir = map { "'$src/$_'" } qw(portals nal shmem-portals dmapp-portals mpich-ch3-portals kernel-nal tools);
my @file = map { chomp; s{^\Q$src\E/}{}r } `find @dir -name '*.[ch]' -not -path '*/kernel-nal/test/*' | sort`;
my @bad = map { complaints($_, slurp("$src/$_")) } @file;
while (my ($f) = each %given) { push @bad, "$f: is not there" unless grep { $_ eq $f } @file }
report('every getenv() is of a variable in the tables', @bad);

@bad = ();
for my $v (sort keys %where) {
	for my $f (split /, /, $where{$v}) {
		my $t = eval { slurp("$src/$f") } // (push(@bad, "$v: no file $f"), next);
		(my $cvar = $v) =~ s/^MPICH_/MPIR_CVAR_/;
		push @bad, "$v is not read in $f" unless defined $field{$v} && $t =~ /(?:->|\.)$field{$v}\b/ ||
			$t =~ (defined $field{$v} ? qr/getenv\("$v"\)/ : qr/\b(?:$v|$cvar)\b/);
	}
}
report('each is read where the tables say', @bad);

# A setting of MPI stands in its table, and so in intro_mpi(3), only if a test shows what it does.
@bad = ();
my $channel = slurp("$src/mpich-ch3-portals/include/mpidi_ptl_env.h");
my $intro = slurp("$build/man/man3/intro_mpi.3");
my $tests = join '', map { slurp($_) } glob("$src/tests/mpich/own $src/tests/mpich/env $src/tests/mpich/t_*.c");
my @mpi = $channel =~ /^\s*X\(\w+, [A-Z]+, "(\w+)"/mg;
for my $v (@mpi) {
	push @bad, "$v is not in intro_mpi(3)" unless $intro =~ /^\.It Ev $v Ta /m && $intro =~ /^\.It Ev $v$/m;
	push @bad, "$v is in no test of tests/mpich" unless $tests =~ /\b$v\b/;
	my $own = $channel =~ /^\s*X\(\w+, [A-Z]+, "$v"(?:, [^,]+){3}, OWN\(/m;
	push @bad, "$v: its default of the papers" unless $own == ($intro =~ /^\.It Ev $v Ta - Ta /m);
}
push @bad, 'orders of ranks' if 2 > (() = $intro =~ /^\.It (?:Ev MPICH_RANK_REORDER_METHOD|Pa MPICH_RANK_ORDER)$/mg);
report('settings of MPI are in intro_mpi(3), and a test sets each', @mpi > 5 ? @bad : 'too few');

@bad = ();
my $page = slurp("$build/man/man7/portals-knobs.7");
for my $v (sort keys %where) {
	push @bad, "$v is not in portals-knobs(7)" unless $page =~ /^\.It (?:Ev \w+ , )*Ev $v\b/m;
}
report('portals-knobs(7) has all of them', @bad);

# The check must be able to find something.
report('a variable that is in no table is found, and one that another file reads',
       complaints('nal/wire/wire.c', 'x = getenv("PTL_ZZ");') == 1 && complaints('nal/wire/wire.c', 'getenv("PTL_MY_RID")') == 1 &&
       complaints('nal/wire/wire.c', 'getenv(name)') == 1 && !complaints('portals/rt/p3_env.c', 'getenv("PTL_MY_RID")') ? () : 'not');
print "1..$n\n";
exit($failed ? 1 : 0);

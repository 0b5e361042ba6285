#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The return codes that the comment of a call gives, and so its manual page, are those that its code can return.
#
# "Can return": PTL_ and PMI_ codes that stand in the function, or in one that it calls and that returns an int, unless they
# are compared with. A code that is found so and cannot come stands in %never, with the reason. What the comments say tells
# portals/man/generate --codes, which has made the pages; that these have the same is looked at, too.
use strict;
use warnings;

my $src = $ENV{P3_SRC} || "$ENV{srcdir}";
my %never = (
	PtlMEAttach => { PTL_ME_INVALID => 'there is no base' },
	PtlMEAttachAny => { PTL_ME_INVALID => 'there is no base',
			    PTL_PT_INDEX_INVALID => 'we choose the index',
			    PTL_ME_LIST_TOO_LONG => 'the list is empty' },
	PtlMEMDAttach => { PTL_ME_INVALID => 'there is no base', PTL_MD_NO_UPDATE => 'there is no test queue' },
	PtlMEMDInsert => { PTL_NI_INVALID => 'it is that of the base', PTL_MD_NO_UPDATE => 'there is no test queue' },
	PtlMDMDCopy => { PTL_MD_ILLEGAL => 'it is the whole descriptor' },
	PtlProgress => { PTL_EQ_DROPPED => 'its wait fetches no event', PTL_EQ_EMPTY => 'its wait fetches no event',
			 PTL_SEGV => 'the event of its wait is its own' },
	PtlEQWait => { PTL_EQ_EMPTY => 'it waits for ever' },
);
# In these functions the codes of those are looked at, and others returned.
my %swallows = (get_job => { PtlNIHandle => 1 }, library_closed => { PtlNIHandle => 1 });

sub slurp { my ($f) = @_; local $/; open(my $h, '<', $f) or die "$f: $!"; my $t = <$h>; return $t }

my $types = slurp("$src/portals/include/p3/errno.h");
my ($enum) = $types =~ /typedef enum \{([^}]*PTL_MAX_ERRNO[^}]*)\} ptl_err_t/ or die "no ptl_err_t";
$enum =~ s{/\*.*?\*/}{}gs;
my %is_code = map { $_ => 1 } grep { $_ ne 'PTL_MAX_ERRNO' } $enum =~ /\b(PTL_\w+)/g;
my $pmi = slurp("$src/portals/include/pmi.h");
$is_code{$_} = 1 for $pmi =~ /^#define (PMI_(?:SUCCESS|FAIL|ERR_\w+))/mg;

# ---- the code ----
my (%codes, %calls, %global);	# by "file:function"; %global: function => that
for my $file (glob("$src/portals/api/*.[ch] $src/portals/lib/*.[ch] $src/nal/smartmap/nal_*.c $src/portals/rt/*.c $src/portals/pmi/*.c")) {
	my $text = slurp($file);
	$text =~ s{/\*.*?\*/}{ }gs;
	$text =~ s{"(?:\\.|[^"\\])*"}{""}g;
	while ($text =~ /^((?:[A-Za-z_][^;{}#=]*?))\n\{\n(.*?)\n\}/gms) {
		my ($head, $body) = ($1, $2);
		$head =~ s/__attribute__\(\(\w+\)\)//g;
		my ($type, $name) = $head =~ /\A(.*?)\b(\w+)\s*\(/s or next;
		next unless $type =~ /\bint\s*$/ || $head =~ /\bint \*rc\b/;
		my $id = "$file:$name";
		$global{$name} = $id;
		$codes{$id}{PTL_NO_INIT} = 1 if $body =~ s/P3A_CHECK_UP//;
		$body =~ s/[=!]=\s*(?:PTL|PMI)_\w+//g;
		$body =~ s/case PTL_\w+//g;
		$codes{$id}{$_} = 1 for grep { $is_code{$_} } $body =~ /\b((?:PTL|PMI)_[A-Z_]+)\b/g;
		$calls{$id}{$_} = 1 for $body =~ /\b(\w+)\s*\(/g;
		$calls{$id}{"nal_$_"} = 1 for $body =~ /nal->(\w+)\s*\(/g;
		$calls{$id}{p3a_put_any} = 1 if $body =~ /->put_(?:usual|any|long)\s*\(/;	# where all of them end
		delete $calls{$id}{$_} for keys %{ $swallows{$name} || {} };
	}
}

sub reachable
{
	my ($id, $seen) = @_;
	my %all;

	return () if $seen->{$id}++;
	my ($file) = $id =~ /(.*):/;
	$all{$_} = 1 for keys %{ $codes{$id} || {} };
	for my $g (keys %{ $calls{$id} || {} }) {
		my $to = exists $calls{"$file:$g"} ? "$file:$g" : $global{$g} or next;
		$all{$_} = 1 for reachable($to, $seen);
	}
	return keys %all;
}

sub can_return
{
	my ($f) = @_;
	my %s = map { $_ => 1 } reachable($global{$f} || die("no $f"), {});

	delete $s{$_} for keys %{ $never{$f} || {} }, grep { substr($_, 0, 3) ne ($f =~ /^PMI/ ? 'PMI' : 'PTL') } keys %s;
	return %s;
}

# ---- what is said: by call, and which calls share a page ----
my (%said, %page, @order);
for (`perl '$src/portals/man/generate' --codes --src '$src'`) {
	my ($f, @c) = split;
	$said{$f} = { map { $_ => 1 } grep { $is_code{$_} } @c };
	push @order, $f if grep { $is_code{$_} } @c;
}
for (`perl '$src/portals/man/generate' --names --src '$src'`) {
	my ($p, $kind, $f) = split;
	$page{$f} = $p if $kind eq 'call';
}
die "nothing is said" unless @order > 50;

my $n = 0;
sub report { my ($bad, $name) = @_; print $bad ? 'not ok ' : 'ok ', ++$n, " - $name\n"; print "# $_\n" for @{ $_[2] || [] } }
sub compare	# WHAT, SAID, CAN: complaints
{
	my ($what, $said, $can) = @_;
	my @out;

	push @out, "$what: can return $_, and does not say so" for sort grep { !$said->{$_} } keys %$can;
	push @out, "$what: says $_, and never returns it" for sort grep { !$can->{$_} } keys %$said;
	return @out;
}

my @bad;
for my $f (@order) {
	my %can;		# of all calls of this page
	for my $g (grep { $page{$_} eq $page{$f} } @order) {
		my %c = can_return($g);
		@can{ keys %c } = values %c;
	}
	push @bad, compare($f, $said{$f}, \%can);
}
report(scalar(@bad), 'the comments of the headers give the codes of the calls', \@bad);

@bad = ();
for my $f (sort keys %page) {
	next if $said{$f} || !$global{$f} || $f !~ /^(?:Ptl|PMI_)/;
	my %c = can_return($f);
	push @bad, "$f: returns codes, and says none" if keys %c;
}
report(scalar(@bad), 'no call has codes of which nothing is said', \@bad);

@bad = ();
for my $f (@order) {
	my $text = slurp(($ENV{P3_BUILD} || '.') . "/man/man3/$page{$f}.3");
	my ($list) = $text =~ /^\.Sh RETURN VALUES\n(.*?)(?=^\.Sh )/ms;
	my %in = map { $_ => 1 } grep { $is_code{$_} } map { /\b((?:PTL|PMI)_\w+)/g } ($list // '') =~ /^\.It (.*)/gm;
	push @bad, map { "$page{$f}.3 lacks $_" } grep { !$in{$_} } keys %{$said{$f}};
}
report(scalar(@bad), 'the manual pages have these codes', \@bad);

# The check must be able to find something.
my %never_said = %{ $said{PtlPut} };
delete $never_said{PTL_NO_SPACE};
my %can = can_return('PtlPut');
report(scalar(grep { /can return PTL_NO_SPACE/ } compare('PtlPut', \%never_said, \%can)) != 1, 'a code that is not said is found');
print "1..$n\n";

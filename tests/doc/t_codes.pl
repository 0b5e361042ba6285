#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The return codes that a header's comment and a manual page give a call are those that its code can return.
#
# "Can return": PTL_ codes that stand in the function, or in one that it calls and that returns an int, unless they are
# compared with. A code that is found so and cannot come stands in %never, with the reason. PTL_OK and PTL_NO_INIT go
# without saying in the comments (the header's first paragraph has them).
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
	PtlEQWait => { PTL_EQ_EMPTY => 'it waits for ever' },
);
# In these functions the codes of those are looked at, and others returned.
my %swallows = (get_job => { PtlNIHandle => 1 }, library_closed => { PtlNIHandle => 1 });

sub slurp { my ($f) = @_; local $/; open(my $h, '<', $f) or die "$f: $!"; my $t = <$h>; return $t }

my $types = slurp("$src/portals/include/p3/errno.h");
my ($enum) = $types =~ /typedef enum \{([^}]*PTL_MAX_ERRNO[^}]*)\} ptl_err_t/ or die "no ptl_err_t";
my %is_code = map { $_ => 1 } grep { $_ ne 'PTL_MAX_ERRNO' } $enum =~ /\b(PTL_\w+)/g;

# ---- the code ----
my (%codes, %calls, %global);	# by "file:function"; %global: function => that
for my $file (glob("$src/portals/api/*.[ch] $src/portals/lib/*.[ch] $src/nal/smartmap/nal_*.c $src/portals/rt/*.c")) {
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
		$body =~ s/[=!]=\s*PTL_\w+//g;
		$body =~ s/case PTL_\w+//g;
		$codes{$id}{$_} = 1 for grep { $is_code{$_} } $body =~ /\b(PTL_[A-Z_]+)\b/g;
		$calls{$id}{$_} = 1 for $body =~ /\b(\w+)\s*\(/g;
		$calls{$id}{"nal_$_"} = 1 for $body =~ /nal->(\w+)\s*\(/g;
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

	delete $s{$_} for keys %{ $never{$f} || {} };
	return %s;
}

# ---- the comments: each belongs to the prototypes that follow it ----
my (%said, %group, @order);
for my $file ("$src/portals/include/p3api/api.h", "$src/portals/include/p3rt/p3rt.h") {
	my $comment;
	for my $piece (slurp($file) =~ m{(/\*\*.*?\*/|^[a-z][\w ]*\bPtl\w+\([^;]*;)}gms) {
		if ($piece =~ m{^/\*\*}) {
			$comment = $piece;
			next;
		}
		my ($f) = $piece =~ /^int\b.*?(Ptl\w+)\(/ or next;
		push @order, $f;
		$group{$f} = $comment;
	}
}
for my $f (@order) {
	my ($list) = $group{$f} =~ /Return:(.*)/s;
	my %s = map { $_ => 1 } grep { $is_code{$_} } ($list || $group{$f}) =~ /\b(PTL_[A-Z_]+)\b/g;
	my $without = '';

	if ($group{$f} =~ /[Cc]odes (?:as|of) (Ptl\w+)(?: without (PTL_\w+))?/) {
		die "$f: codes as $1, which comes later" unless $said{$1};
		$without = $2 || '';
		$s{$_} = 1 for keys %{ $said{$1} };
	}
	delete @s{'PTL_OK', 'PTL_NO_INIT', $without};
	$said{$f} = \%s;
}

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
	my %can;		# of all calls under this comment
	for my $g (grep { $group{$_} eq $group{$f} } @order) {
		my %c = can_return($g);
		@can{ keys %c } = values %c;
	}
	delete @can{'PTL_OK', 'PTL_NO_INIT'};
	push @bad, compare($f, $said{$f}, \%can);
}
report(scalar(@bad), 'the comments of the headers give the codes of the calls', \@bad);

@bad = ();
my %exported = map { $_ => 1 } @order;
for my $page (glob("$src/portals/man/Ptl*.3")) {
	my $text = slurp($page);
	next if $text =~ /^\.so /m;
	my ($list) = $text =~ /^\.Sh RETURN VALUES\n(.*?)(?=^\.Sh )/ms;
	my @calls = grep { $exported{$_} } $text =~ /^\.Fo (Ptl\w+)/gm;
	my (%said, %can, $name);

	next unless @calls && $list;
	$said{$_} = 1 for grep { $is_code{$_} } map { /\b(PTL_\w+)/g } $list =~ /^\.It (.*)/gm;
	next unless %said;
	for my $f (@calls) {
		my %c = can_return($f);
		@can{ keys %c } = values %c;
	}
	delete $_->{PTL_OK} for \%can, \%said;
	($name) = $page =~ m{([^/]+)$};
	push @bad, compare($name, \%said, \%can);
}
report(scalar(@bad), 'the manual pages give the codes of the calls', \@bad);

# The check must be able to find something.
my %never_said = %{ $said{PtlPut} };
delete $never_said{PTL_NO_SPACE};
my %can = can_return('PtlPut');
report(scalar(grep { /can return PTL_NO_SPACE/ } compare('PtlPut', \%never_said, \%can)) != 1, 'a code that is not said is found');
print "1..$n\n";

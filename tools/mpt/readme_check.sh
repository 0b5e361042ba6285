#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# readme_check.sh - the programs printed in README.md compile and run with the commands printed under them (TAP)
#
# Each C block of the README becomes the file that its first line names; the sh block after it is run line by line in a
# folder where ./mpt and build/ are those of this tree. In a build that has no MPICH the MPI program is skipped.
set -u
src=${P3_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${MPT_BUILD:-$src/build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

perl -e '
	my ($file, $block, $lang, $n) = ("", "", "", 0);
	open my $in, "<", shift or die $!;
	while (<$in>) {
		if (/^```(\w*)$/) {
			if ($lang eq "" && $1 ne "") { ($lang, $block) = ($1, ""); next; }
			if ($lang eq "c" && $block =~ m{^/\* (\w+\.c):}) { $file = $1; open my $o, ">", $file or die; print $o $block; close $o; }
			if ($lang eq "sh" && $file ne "") { open my $o, ">", "$file.sh" or die; print $o $block; close $o; $file = ""; }
			$lang = "";
		} elsif ($lang ne "") { $block .= $_; }
	}' "$src/README.md"
programs=(*.c)
echo "1..$((2 * ${#programs[@]}))"
if [ ! -e "${programs[0]}" ]; then
	echo "# README.md has no C programs with a name"
	exit 1
fi
ln -s "$build" build
printf '#!/bin/sh\nMPT_BUILD=%s exec %s/mpt "$@"\n' "$build" "$src" >mpt
chmod +x mpt

n=0 failed=0
for c in "${programs[@]}"; do
	skip=
	if grep -q mpi.h "$c" && [ ! -x "$build/bin/mpicc" ]; then
		skip="no MPICH in this build"
	elif [ ! -x "$build/bin/mpiexec.hydra" ]; then
		skip="no mpiexec.hydra in this build"
	elif [ ! -d "$build/prefix" ]; then
		skip="not built by ./mpt build"
	fi
	for what in compiles runs; do
		n=$((n + 1))
		if [ -n "$skip" ]; then
			echo "ok $n - $c $what # SKIP $skip"
			continue
		fi
		# the last line of the commands runs the program, those before it compile it
		if [ $what = compiles ]; then
			sed '$d' "$c.sh" >cmd
		else
			{ grep '^export ' "$c.sh"; tail -n 1 "$c.sh"; } >cmd
		fi
		if timeout 60 bash -e ./cmd >out 2>&1 </dev/null && { [ $what = compiles ] || [ -s out ]; }; then
			echo "ok $n - $c $what as printed"
		else
			echo "not ok $n - $c $what as printed"
			sed 's/^/# /' cmd out
			failed=1
		fi
	done
done
exit $failed

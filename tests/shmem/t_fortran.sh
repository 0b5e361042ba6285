#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The Fortran bindings: programs in fixed and in free form, with a default INTEGER of 4 and of 8 bytes, as jobs of one
# and of three; shmem.fh against shmem.h; the names against each other.
build=${P3_BUILD:-.} src=$(cd "${P3_SRC:-$(dirname "$0")/../..}" && pwd)
build=$(cd "$build" && pwd)
lib=$build/shmem-portals/.libs
cc=$(sed -n 's/^CC = //p' "$build/Makefile")

. "${0%/*}/../common/tap.sh"

for l in libsma libsma_d64; do
	nm -D --defined-only "$lib/$l.so" | awk '$3 ~ /_$/ && $3 !~ /^shmemi_/ { t[$3] = $2 }
		END {
			for (x in t) {
				k++
				good = t[x] == "W" ? t["p" x] == "T" : substr(x, 1, 1) == "p" && t[substr(x, 2)] == "W"
				if (!good) { print "# " x; bad = 1 }
			}
			exit bad || k < 200
		}'
	ok $? "$l: each Fortran name is weak and has its twin"
	nm -D --defined-only "$lib/$l.so" | sed -n 's/.* \([a-z0-9_]*_\)$/\1/p' | grep -v '^shmemi_' | sort > "$l.names"
done
cmp libsma.names libsma_d64.names
ok $? "both libraries have the same names"
for name in $(sed 's/#.*//' "$src/tests/shmem/fortran.names"); do
	grep -qx "${name}_" libsma.names || echo "# $name" >> missing
done
cat missing 2>/dev/null
[ ! -e missing ]
ok $? "all names of the table are there"

fc=$(command -v "${FC:-gfortran}") || {
	[ -z "${FC:-}" ] || echo "# no $FC"
	n=$((n + 1))
	echo "ok $n - programs # SKIP no Fortran compiler (gfortran, or what FC names)"
	echo "1..$n"
	exit 0
}
inc=$src/shmem-portals/include
# The constants, as both languages see them.
{
	echo "      program k"
	echo "      include 'shmem.fh'"
	sed -n 's/^ *PARAMETER (\(.*\))$/\1/p' "$inc/shmem.fh" | tr ',' '\n' |
		sed -n 's/^ *\(SHMEM_[A-Z_]*\) = [-0-9A-Z].*/\1/p' |
		while read -r c; do echo "print '(a,i0)', '$c ', $c"; done
	echo "      end"
} > k.f90
{
	echo "#include <stdio.h>"
	echo "#include <shmem.h>"
	echo "#define TWICE (sizeof(long) / sizeof(int))"
	echo "int main(void) {"
	sed -n "s/.*'\(SHMEM_[A-Z_]*\) '.*/\1/p" k.f90 | while read -r c; do
		case $c in *_SYNC_SIZE) two="* TWICE" ;; *) two= ;; esac
		printf 'printf("%s %%ld\\n", (long)(%s %s));\n' "$c" "$c" "$two"
	done
	echo "return 0; }"
} > k.c
$fc -I"$inc" -o kf k.f90 && ./kf > kf.out && $cc -I"$inc" -o kc k.c && ./kc > kc.out &&
	[ "$(wc -l < kc.out)" -gt 20 ] && diff kf.out kc.out
ok $? "shmem.fh has the values of shmem.h"

link()	# NAME SOURCE ARGUMENTS: with the wrapper, against the build
{
	name=$1 source=$2
	shift 2
	below=$build/portals/.libs:$build/nal/smartmap/.libs
	set -- $(sh "$build/shmem-portals/oshfort" -show "$@" -I"$inc" -Wall -O1 -o "$name" "$source" |
		 sed "s|-L[^ ]* -Wl,-rpath,[^ ]*|-L$lib -Wl,-rpath,$lib:$below|")
	"$@" -Wl,-rpath-link,"$below"
}
job()	# RANKS PROGRAM
{
	i=0 nids= pids=
	rm -f out.* err.* rc.*
	while [ $i -lt "$1" ]; do nids=$nids:1; pids=$pids:$((256 + i)); i=$((i + 1)); done
	i=0
	while [ $i -lt "$1" ]; do
		(export PTL_MY_RID=$i PTL_NIDMAP=${nids#:} PTL_PIDMAP=${pids#:} PTL_MY_JID=$$
		 timeout 30 "./$2" > out.$i 2> err.$i
		 echo $? > rc.$i) &
		i=$((i + 1))
	done
	wait
}
for form in fixed.f free.f90 sets.f90; do
	for d64 in "" -default64; do
		link "t$d64" "$src/tests/shmem/t_$form" $d64 2> link.err
		rc=$?
		grep -iE 'error|undefined' link.err | sed 's/^/# /'
		ok $rc "$form compiles ${d64:-without an option}"
		for ranks in 1 3; do
			job $ranks "t$d64"
			grep -h wrong out.* | sort | uniq -c | sed 's/^/# /'
			cat err.* | sed 's/^/# /'
			[ "$(cat out.* | grep -c 'all right')" = $ranks ] && [ "$(sort -u rc.*)" = 0 ]
			ok $? "$form ${d64:+$d64 }on $ranks PEs"
		done
	done
done
echo "1..$n"

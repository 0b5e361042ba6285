#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The names of libsma: as many of each family as there must be (tables: symbols and those given), each with its twin and
# weak, each declared, and nothing declared that is not there.
build=${P3_BUILD:-.} src=$(cd "${P3_SRC:-$(dirname "$0")/../..}" && pwd)
build=$(cd "$build" && pwd)
here=$src/tests/shmem
cc=$(sed -n 's/^CC = //p' "$build/Makefile")
inc="-I$src/shmem-portals/include"

. "${0%/*}/../common/tap.sh"

nm -D --defined-only "$build/shmem-portals/.libs/libsma.so" | awk '{ print $2, $3 }' > all
# Routines of C: no capital letters, no underscore behind.
awk '$2 ~ /^shmemx?_[a-z0-9_]*[a-z0-9]$/ { sub(/^shmem_/, "", $2); sub(/^shmemx_/, "x_", $2); print $2 }' all |
	sort > names

for t in symbols "$@"; do
	while IFS='	' read -r want re; do
		case $want in '' | \#*) continue ;; esac
		full=$(printf '%s\n' "$re" | sed \
			-e 's/{SIZE}/(8|16|32|64|128)/g' \
			-e 's/{IX}/(short|int|long|longlong|float|double|longdouble|complexf|complexd)/g' \
			-e 's/{EXT}/({AMO}|float|double)/g' \
			-e 's/{AMO}/({BIT}|int|long|longlong|size|ptrdiff)/g' \
			-e 's/{BIT}/(uint|ulong|ulonglong|int32|int64|uint32|uint64)/g' \
			-e 's/{RMA}/(float|double|longdouble|char|schar|short|int|long|longlong|ptrdiff|{UNS})/g' \
			-e 's/{UNS}/(uchar|ushort|uint|ulong|ulonglong|u?int(8|16|32|64)|size)/g')
		grep -xE "$full" names > found
		cat found >> told
		have=$(wc -l < found)
		[ "$have" -eq "$want" ]
		ok $? "$re: $have of $want"
	done < "$here/$t"
done

# With all tables every routine is counted, and none twice.
if [ $# -ge 2 ]; then
	sort told | uniq -d | sed 's/^/# twice: /'
	[ "$(sort -u told | wc -l)" = "$(wc -l < told)" ]
	ok $? "no routine belongs to two families"
	sort -u told | comm -13 - names > untold
	sed 's/^/# in no family: /' untold
	[ ! -s untold ]
	ok $? "each routine belongs to a family"
fi

heads() { for h in pshmem.h pshmemx.h mpp/pshmem.h; do echo "#include <$h>"; done; }
{
	heads
	echo "void *names[] = {"
	awk '$2 ~ /[a-z]/ && $2 !~ /_$/ && $2 !~ /^shmemi_/ { print "(void *)" $2 "," }' all
	echo "};"
} > declared.c
$cc $inc -std=gnu11 -fsyntax-only declared.c 2> declared.err
rc=$?
grep undeclared declared.err | sed 's/^/# /' | head -n 20
ok $rc "each name that is exported is declared"
heads > heads.c
old='start_pes|_?my_pe|_?num_pes|barrier|globalexit|shmalloc|shfree|shrealloc|shmemalign'
$cc $inc -std=gnu11 -E -P heads.c | grep -oE "\\bp?(shmemx?_[a-z0-9_]+|$old)\\(" | tr -d '(' | sort -u > promised
awk '{ print $2 }' all | sort > exported
comm -23 promised exported > missing
sed 's/^/# /' missing | head -n 20
[ ! -s missing ] && [ "$(wc -l < promised)" -gt 1000 ]
ok $? "each name that is declared is exported"
echo "1..$n"

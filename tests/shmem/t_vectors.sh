#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The kernels of reductions for AVX2: each uses its registers, whatever type and operation; long double has none.
build=${P3_BUILD:-.}

. "${0%/*}/../common/tap.sh"
grep -q '^#define __OPTIMIZE__' <<X || skip_all "this build is not optimised"
$($(sed -n 's/^CC = //p' "$build/Makefile") $(sed -n 's/^CFLAGS = //p' "$build/Makefile") -dM -E - < /dev/null)
X
command -v objdump > /dev/null || skip_all "no objdump (Debian package binutils)"
cd "$build/shmem-portals/src" || exit 1
o=$PWD/$(ls .libs/libsma_la-reduce_avx2.o libsma_la-reduce_avx2.o 2> /dev/null | head -n 1)
cd "$OLDPWD" || exit 1
objdump -d "$o" > code || exit 1
grep -q 'file format elf64-x86-64' code || skip_all "for x86-64 alone"
awk '/^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); wide[name] += 0 } /%ymm/ { wide[name]++ }
	END { for (f in wide) print f, wide[f] }' code > wide

# what reduce_kernel.h has: 5 operations on bits of 4 sizes, order of 8 integers, 4 of 3 reals, 2 of 2 complex types
for size in 8 16 32 64; do
	for op in and or xor sum prod; do echo "${op}_$size"; done
	for op in max min; do echo "${op}_s$size"; echo "${op}_u$size"; done
done > names
for t in float double longdouble; do
	for op in max min sum prod; do echo "${op}_$t"; done
done >> names
for t in complexf complexd; do echo "sum_$t"; echo "prod_$t"; done >> names
# the compiler may name a part of a function after it: max_s64.cold
sed 's/[. ].*//' wide | sort -u > there
sort -u names | cmp -s - there
ok $? "the kernels are those of the list"
sort names | comm -3 - there | sed 's/^/# /' >&2
while read -r f; do
	k=$(sed -n "s/^$f //p" wide)
	case $f in
	*_longdouble) [ "${k:-0}" = 0 ]; ok $? "$f: one at a time" ;;
	*) [ "${k:-0}" -gt 0 ]; ok $? "$f" ;;
	esac
done < names
finish

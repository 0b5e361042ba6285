#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The core and the frame engine compile as the kernel compiles it: freestanding, no vector registers, kernel code
# model; linked into one object it needs memcpy, memmove, memset and memcmp and nothing else. The same with the
# kernel's own atomics (kernel-nal/p3_atomic.h), over a shim, which also runs the self-test; and, where kernel headers
# are installed, against these, as a module.
src=$(cd "${P3_SRC:-$(dirname "$0")/../..}" && pwd)

. "${0%/*}/../../tests/common/tap.sh"
explain() { sed 's/^/# /' log >&2; }


case $(uname -m) in
x86_64) arch="-mno-sse -mno-sse2 -mno-mmx -mno-80387 -mcmodel=kernel -mno-red-zone" ;;
aarch64) arch="-mgeneral-regs-only -mno-outline-atomics" ;;
*) echo "1..0 # SKIP no list of kernel compiler flags for $(uname -m)"; exit 0 ;;
esac
flags="-std=gnu11 -O2 -ffreestanding -nostdlib -fno-pic -fno-pie -fno-stack-protector $arch -Wall -Wextra -Werror"
flags="$flags -Wno-unused-parameter -Wframe-larger-than=2048"

# The kernel's header names, empty: kshim.h has what is used of them.
for h in linux/types linux/atomic linux/compiler linux/prefetch linux/processor linux/bottom_half linux/smp \
	 linux/vmalloc asm/barrier; do
	mkdir -p "shim/$(dirname $h)"
	: > "shim/$h.h"
done
kernel="-Ishim -I$src/kernel-nal -include $src/kernel-nal/test/kshim.h -include $src/kernel-nal/p3_atomic.h"

# Compile every source of the core with $1 and the further flags, link into $2.o, and list what is undefined beyond
# the four.
core()
{
	cc=$1 out=$2
	shift 2
	rm -rf "$out" "$out.o"
	mkdir "$out"
	for f in "$src"/portals/lib/*.c "$src"/nal/wire/*.c "$src"/nal/frame/*.c "$extra"; do
		[ -n "$f" ] || continue
		$cc $flags "$@" -I"$src/portals/include" -I"$src/portals/lib" -I"$src/nal" -c "$f" -o "$out/$(basename "$f" .c).o" || return 1
	done
	ld -r -o "$out.o" "$out"/*.o || return 1
	! nm -u "$out.o" | grep -vE ' U (memcpy|memmove|memset|memcmp)$'
}

for cc in gcc clang; do
	if ! command -v $cc > /dev/null; then
		skip "the core is freestanding ($cc)" "no $cc"
		continue
	fi
	extra=
	core $cc plain-$cc > log 2>&1
	ok $? "the core is freestanding ($cc)"
	core $cc kern-$cc $kernel > log 2>&1
	ok $? "the same with the kernel's atomics ($cc)"
	extra=$PWD/libc.c
	echo 'int puts(const char *); int core_prints(void); int core_prints(void) { return puts("x"); }' > libc.c
	! core $cc bad-$cc > log 2>&1 && grep -q ' U puts' log
	ok $? "a call of the C library is noticed ($cc)"
	$cc -std=gnu11 -O1 -g -Wall -Wextra -Werror -Wno-unused-parameter $kernel -I"$src/portals/lib" \
		-I"$src/portals/include" -o selftest-$cc "$src/kernel-nal/test/selftest.c" "$src"/portals/lib/*.c > log 2>&1 &&
		timeout 20 ./selftest-$cc > log 2>&1
	ok $? "one exchange through the core with the kernel's atomics ($cc)"
done

# Against real headers: any that are installed, not the running kernel's. KDIR names others.
kdir=${KDIR:-$(ls -d /lib/modules/*/build 2> /dev/null | tail -n 1)}
if [ -z "$kdir" ] || [ ! -e "$kdir/Makefile" ]; then
	skip "the core is a kernel module" "no kernel headers (Debian: linux-headers-$(dpkg --print-architecture 2> /dev/null || echo amd64))"
else
	rm -rf module
	mkdir module
	cp "$src/kernel-nal/test/Kbuild" "$src/kernel-nal/test/selftest.c" module
	cp -r "$src/portals/lib" "$src/portals/include" module
	cp -r "$src/kernel-nal" module/knal
	${MAKE:-make} -C "$kdir" M="$PWD/module" MAKEFLAGS= KBUILD_MODPOST_WARN= modules > log 2>&1 &&
		[ -s module/portals_core_test.ko ] && ! grep -iE 'warning|undefined' log | grep -v 'vmlinux\|compiler differs' > warnings
	rc=$?
	[ $rc = 0 ] || cat warnings 2> /dev/null
	ok $rc "the core is a kernel module ($(basename "$(readlink -f "$kdir")"))"
fi
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_heap_alone - libsmartmap-malloc in programs that know nothing of it: what it exports, preloaded, linked, C++, limits
lib=${P3_BUILD:-.}/nal/smartmap/.libs/libsmartmap-malloc.so
if [ ! -e "$lib" ]; then echo "1..0 # SKIP libsmartmap-malloc is not built (libmimalloc-dev is missing, or sanitizers)"; exit 0; fi
lib=$(readlink -f "$lib")
cc=${CC:-cc} cxx=${CXX:-c++}
n=0 failed=0
echo 1..9
check() {	# NAME STATUS
	n=$((n + 1))
	if [ "$2" = 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; failed=1; fi
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }

family='aligned_alloc calloc cfree free malloc malloc_usable_size memalign posix_memalign pvalloc realloc reallocarray valloc'
got=$(nm -D --defined-only "$lib" | awk '$2 ~ /[A-Z]/ { print $3 }' | LC_ALL=C sort | tr '\n' ' ')
[ "${got% }" = "$family" ] || echo "# exports: $got" >&2
[ "${got% }" = "$family" ]; check "the malloc family is exported, and nothing else" $?

cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char *early = malloc(100), *big = malloc(50 << 20), line[256];
	unsigned long lo, hi, in = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	memset(big, 1, 50 << 20);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && hi - lo >= 1ul << 30)
			in |= (lo <= (unsigned long)early && (unsigned long)early < hi) |
			      (lo <= (unsigned long)big && (unsigned long)big < hi) << 1;
	free(early);
	free(big);
	printf("%s\n", in == 3 ? "arena" : in ? "mixed" : "glibc");
	return 0;
}
END
if command -v "$cc" >/dev/null && "$cc" -w -o prog prog.c; then
	[ "$(LD_PRELOAD=$lib ./prog)" = arena ]; check "preloaded: first and large blocks are in one arena" $?
	"$cc" -w -o linked prog.c -Wl,--no-as-needed "$lib" -Wl,-rpath,"$(dirname "$lib")" && [ "$(./linked)" = arena ]
	check "linked: the same" $?
	# glibc takes over where there is no address space, and says so once
	out=$(ulimit -v 3000000; ./linked 2>err); rc=$?
	[ $rc = 0 ] && [ "$out" = glibc ] && [ "$(wc -l <err)" = 1 ]; check "ulimit -v: glibc's malloc, and one sentence" $?
	out=$(ulimit -d 500000; ./linked 2>err); rc=$?
	[ $rc = 0 ] && [ "$out" = glibc ]; check "ulimit -d: glibc's malloc" $?
	[ "$(SMARTMAP_MALLOC=no ./linked 2>&1)" = glibc ]; check "SMARTMAP_MALLOC=no: glibc's malloc, in silence" $?
else
	for i in 1 2 3 4 5; do skip "arena" "no C compiler"; done
fi
cat >prog.cc <<'END'
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>
struct alignas(256) wide { char c[256]; };
int main()
{
	std::map<std::string, std::vector<int>> m;
	std::thread t([&] { for (int i = 0; i < 1000; i++) m[std::to_string(i)].assign(i, i); });
	t.join();
	long sum = 0;
	for (auto &p : m)
		for (int i : p.second)
			sum += i;
	wide *w = new wide[10];
	bool aligned = !((unsigned long)w & 255);
	delete[] w;
	bool thrown = false;
	volatile size_t huge = size_t(1) << 46;
	try { char *p = new char[huge]; std::printf("%p\n", (void *)p); } catch (const std::bad_alloc &) { thrown = true; }
	std::printf("%ld %d %d\n", sum, aligned, thrown);
	return 0;
}
END
if command -v "$cxx" >/dev/null && "$cxx" -std=c++17 -w -o progcc prog.cc -pthread; then
	want='332833500 1 1'
	[ "$(LD_PRELOAD=$lib ./progcc)" = "$want" ]; check "C++, preloaded: containers, aligned new, bad_alloc" $?
	"$cxx" -std=c++17 -w -o linkedcc prog.cc -pthread -Wl,--no-as-needed "$lib" -Wl,-rpath,"$(dirname "$lib")" &&
		[ "$(./linkedcc)" = "$want" ]; check "C++, linked: the same" $?
else
	for i in 1 2; do skip "C++" "no C++ compiler"; done
fi
[ "$(LD_PRELOAD=$lib sh -c 'sort /etc/passwd | wc -l')" = "$(sort /etc/passwd | wc -l)" ]
check "programs of the system run under it" $?
exit $failed

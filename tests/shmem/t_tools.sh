#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# SHMEM as a user meets it: names exported, headers alone in C and C++, oshcc, the program of shmem(7), and how a job
# ends when something is wrong.
build=${P3_BUILD:-.} src=$(cd "${P3_SRC:-$(dirname "$0")/../..}" && pwd)
build=$(cd "$build" && pwd)
cc=$(sed -n 's/^CC = //p' "$build/Makefile")
san=$(sed -n 's/^P3_LDFLAGS = //p' "$build/Makefile")
n=0

ok()	# STATUS NAME
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

nm -D --defined-only "$build/shmem-portals/.libs/libsma.so" > names
awk '$3 ~ /^pshmem_/ { p[substr($3, 2)] = $2 } $3 ~ /^shmem_/ { s[$3] = $2 }
	END { for (x in p) { k++; if (s[x] != "W") bad = 1 } for (x in s) if (!p[x]) bad = 1; exit bad || k < 400 }' names
ok $? "each routine has a pshmem_ name, and is weak under its own"
! awk '{ print $3 }' names | grep -vE '^p?shmem_'
ok $? "nothing else is exported"

for h in shmem.h pshmem.h mpp/shmem.h; do echo "#include <$h>"; done > heads.c
cp heads.c heads.cc
inc="-I$src/shmem-portals/include"
$cc $inc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only heads.c && $cc $inc -std=c99 -Wall -Werror -fsyntax-only heads.c
ok $? "the headers compile alone (C99, C11)"
if command -v g++ > /dev/null; then
	g++ $inc -Wall -Wextra -Werror -fsyntax-only heads.cc
	ok $? "the headers compile alone (C++)"
else
	n=$((n + 1))
	echo "ok $n - the headers compile alone (C++) # SKIP no g++"
fi

sh "$build/shmem-portals/oshcc" -show -O2 x.c -o x | grep -q -- '-O2 x.c -o x .*-lsma$'
ok $? "oshcc -show: files first, libraries last"
! sh "$build/shmem-portals/oshcc" -show -c x.c | grep -q -- -lsma
ok $? "oshcc -c links nothing"

# Programs against the build.
link()	# NAME
{
	$cc $san $inc -Wall -Werror -o "$1" "$1.c" -L"$build/shmem-portals/.libs" -lsma \
		-Wl,-rpath,"$build/shmem-portals/.libs:$build/portals/.libs:$build/nal/smartmap/.libs" \
		-Wl,-rpath-link,"$build/portals/.libs:$build/nal/smartmap/.libs"
}
job()	# RANKS PROGRAM: as started by hand; the status of the last rank in rc.N
{
	i=0 nids= pids=
	while [ $i -lt "$1" ]; do nids=$nids:1; pids=$pids:$((256 + i)); i=$((i + 1)); done
	i=0
	while [ $i -lt "$1" ]; do
		(PTL_MY_RID=$i PTL_NIDMAP=${nids#:} PTL_PIDMAP=${pids#:} PTL_MY_JID=$$ timeout 30 "./$2" > out.$i 2> err.$i
		 echo $? > rc.$i) &
		i=$((i + 1))
	done
	wait
}

awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0 } on' "$src/shmem-portals/man/shmem.7" | sed 's/\\e/\\/g' > count.c
if [ -n "$san" ]; then		# static data are not adopted: no atomics on them
	n=$((n + 1))
	echo "ok $n - the program of shmem(7) # SKIP sanitizers: static data are not adopted"
else
	link count && job 3 count && [ "$(cat out.0)" = "3 of 3 PEs" ]
	ok $? "the program of shmem(7)"
fi

cat > ends.c <<'X'
#include <shmem.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	const char *how = getenv("HOW");
	static long never;
	char here[8];
	int me;

	shmem_init();
	me = shmem_my_pe();
	if (me == 1) {
		if (!strcmp(how, "exit0")) shmem_global_exit(0);
		if (!strcmp(how, "exit5")) shmem_global_exit(5);
		if (!strcmp(how, "dies")) abort();
		if (!strcmp(how, "pe")) shmem_long_p(&never, 1, 3);
		if (!strcmp(how, "address")) shmem_putmem(here, &never, 8, 0);
		if (!strcmp(how, "free")) free(malloc(1));
		if (!strcmp(how, "heap")) shmem_malloc(100);
	} else if (!strcmp(how, "heap")) {
		shmem_malloc(200);
	}
	shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
	return 0;
}
X
link ends
export HOW
HOW=exit0; job 3 ends
[ "$(cat rc.0 rc.1 rc.2 | tr '\n' ' ')" = "0 0 0 " ]
ok $? "global_exit(0) ends all PEs, with status 0"
HOW=exit5; job 3 ends
[ "$(cat rc.1)" = 5 ] && [ "$(cat rc.0)" != 0 ] && [ "$(cat rc.0)" != 124 ] && [ "$(cat rc.2)" != 124 ]
ok $? "global_exit(5) ends all PEs"
HOW=dies; job 3 ends 2> /dev/null
cat err.0 err.2 | grep -q 'PE 1 has ended' && [ "$(cat rc.0)" != 124 ] && [ "$(cat rc.2)" != 124 ]
ok $? "a PE that waits notices that another has died"
HOW=pe; job 3 ends
grep -q 'shmem_long_p: there is no PE 3; there are 0 to 2' err.1
ok $? "a PE that does not exist is named"
HOW=address; job 3 ends
grep -q 'neither in the symmetric heap nor a global' err.1
ok $? "an address that is not symmetric is named"
HOW=heap; job 3 ends
grep -q 'must be the same' err.0 err.1 err.2
ok $? "allocations that differ between PEs are named"
echo "1..$n"

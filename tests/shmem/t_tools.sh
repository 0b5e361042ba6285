#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# SHMEM as a user meets it: names exported, headers alone in C and C++, oshcc, the program of shmem(7), and how a job
# ends when something is wrong.
build=${P3_BUILD:-.} src=$(cd "${P3_SRC:-$(dirname "$0")/../..}" && pwd)
build=$(cd "$build" && pwd)
cc=$(sed -n 's/^CC = //p' "$build/Makefile")
san=$(sed -n 's/^P3_LDFLAGS = //p' "$build/Makefile")

. "${0%/*}/../common/tap.sh"

nm -D --defined-only "$build/shmem-portals/.libs/libsma.so" > names
bare='start_pes _my_pe _num_pes my_pe num_pes barrier globalexit shmalloc shfree shrealloc shmemalign'
cat > others <<X
p?shmemx_.*
SHMEM_(CTX_DEFAULT|TEAM_WORLD|TEAM_SHARED)
shmemi_(near_2|lower_)
p?(start_pes|my_pe|num_pes|shpalloc|shpdeallc|shpclmove)_
p?($(echo $bare | tr ' ' '|'))
X
awk '$3 ~ /^pshmem_/ { p[substr($3, 2)] = $2 } $3 ~ /^shmem_/ { s[$3] = $2 }
	END { for (x in p) { k++; if (s[x] != "W") bad = 1 } for (x in s) if (!p[x]) bad = 1; exit bad || k < 400 }' names
ok $? "each routine has a pshmem_ name, and is weak under its own"
# a sanitizer has names of its own for what is exported
! awk '{ print $3 }' names | grep -vE '^(p?shmem_|__odr_asan\.)' | grep -vxEf others
ok $? "nothing else is exported"

for h in shmem.h pshmem.h shmemx.h pshmemx.h mpp/shmem.h mpp/pshmem.h mpp/shmemx.h mpp/pshmemx.h; do echo "#include <$h>"; done > heads.c
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

awk '$3 ~ /^pshmemx_/ { p[substr($3, 2)] = $2 } $3 ~ /^shmemx_/ { s[$3] = $2 }
	END { for (x in p) { k++; if (s[x] != "W") bad = 1 } for (x in s) if (!p[x]) bad = 1; exit bad || k < 40 }' names
ok $? "so has each extension"
awk -v bare="$bare" '{ t[$3] = $2 } END { k = split(bare, b); for (i = 1; i <= k; i++)
	if (t[b[i]] != "W" || t["p" b[i]] != "T") { print "# " b[i]; bad = 1 } exit bad }' names
ok $? "so have the names without a prefix"

w=$build/shmem-portals
for c in oshcc oshc++ oshcxx oshfort; do
	sh "$w/$c" -show -O2 x.c -o x | grep -q -- '-I[^ ]* .*-O2 x.c -o x .*-lsma$'
	ok $? "$c -show: files first, libraries last"
	! sh "$w/$c" -show -c x.c | grep -q -- -lsma
	ok $? "$c -c links nothing"
done
SHMEM_CC=true SHMEM_CXX=true SHMEM_FC=true
export SHMEM_CC SHMEM_CXX SHMEM_FC
for c in oshcc oshc++ oshfort; do
	sh "$w/$c" -show x | grep -q '^true ' && sh "$w/$c" x
	ok $? "$c: another compiler"
done
unset SHMEM_CC SHMEM_CXX SHMEM_FC
sh "$w/oshfort" -default64 -show x.f | grep -q -- '-fdefault-integer-8.* x.f .*-lsma_d64 -lsma$' && ! sh "$w/oshcc" -default64 x.c 2> err &&
	grep -q 'for Fortran' err
ok $? "-default64 is for Fortran"
sh "$w/oshrun" -show -np 3 ./x y | grep -qE '(^|/)aprun -n 3 ./x y$'
ok $? "oshrun -show"
for p in sma shmem-portals; do
	grep -q "^Name: $p$" "$w/$p.pc" && grep -q -- '^Libs: .*-lsma$' "$w/$p.pc"
	ok $? "$p.pc"
done

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

# What the compiler has inline, a tool sees all the same.
cat > inline.c <<'X'
#include <shmem.h>
#include <stdio.h>
int main(void)
{
	long *p, sum = 0;
	double *d;

	shmem_init();
	p = shmem_calloc(2, sizeof(*p));
	d = shmem_calloc(1, sizeof(*d));
	for (int i = 0; i < 100; i++) {
		shmem_long_atomic_inc(p, 0);
		shmem_double_p(d, i, shmem_my_pe());
		sum += *d == i;
	}
	shmem_barrier_all();
	printf("%ld %ld\n", shmem_long_g(p, 0), sum);
	shmem_finalize();
	return 0;
}
X
cat > tool.c <<'X'
#include <pshmem.h>
#include <stdio.h>
static int calls;
void shmem_long_atomic_inc(long *dest, int pe)
{
	calls++;
	pshmem_long_atomic_inc(dest, pe);
}
void shmem_finalize(void)
{
	printf("%d calls\n", calls);
	pshmem_finalize();
}
X
if [ -n "$san" ]; then
	n=$((n + 1))
	echo "ok $n - a tool sees what is inline # SKIP sanitizers: not optimised"
else
	san=-O2
	link inline && nm inline | grep -q shmemi_near_2 && job 2 inline && [ "$(cat out.0)" = "200 100" ]
	ok $? "a program with inline operations"
	cp inline.c both.c && cat tool.c >> both.c && sed -i '/#include <shmem.h>/d' both.c && sed -i '1i #include <shmem.h>' both.c &&
		link both && job 2 both && [ "$(cat out.0 | tr '\n' ' ')" = "200 100 100 calls " ]
	ok $? "a tool in the program sees what is inline"
	$cc -O2 $inc -shared -fPIC -o libtool.so tool.c && tool=$PWD/libtool.so &&
		LD_PRELOAD=$tool job 2 inline && [ "$(cat out.1 | tr '\n' ' ')" = "200 100 100 calls " ]
	ok $? "a tool that is preloaded sees what is inline"
	san=
fi
cat > ends.c <<'X'
#include <mpp/shmem.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void shmem_set_lock_(void *lock);	/* the Fortran names */
int shmem_test_lock_(void *lock);
int main(void)
{
	const char *how = getenv("HOW");
	long *lock, *event;
	int *flock;
	static long never, vector[2000], sync[SHMEM_SYNC_SIZE];
	char here[8];
	int me;

	shmem_init();
	me = shmem_my_pe();
	lock = shmem_calloc(3, sizeof(*lock));	/* a sanitizer keeps static data for itself */
	event = lock + 1;
	flock = (int *)(lock + 2);
	if (me == 1) {
		shmem_set_lock(lock);
		shmem_set_lock_(flock);
	}
	shmem_barrier_all();
	if (me == 1) {
		if (!strcmp(how, "exit0")) shmem_global_exit(0);
		if (!strcmp(how, "exit5")) shmem_global_exit(5);
		if (!strncmp(how, "dies", 4)) abort();
		if (!strcmp(how, "pe")) shmem_long_p(&never, 1, 3);
		if (!strcmp(how, "address")) shmem_putmem(here, &never, 8, 0);
		if (!strcmp(how, "heap")) shmem_malloc(100);
	} else if (!strcmp(how, "heap")) {
		shmem_malloc(200);
	}
	if (!strcmp(how, "dies-lock")) shmem_set_lock(lock);
	while (!strcmp(how, "dies-test_lock") && shmem_test_lock(lock)) { }
	while (!strcmp(how, "dies-test_event") && !shmem_test_event(event)) { }
	if (!strcmp(how, "dies-lock_")) shmem_set_lock_(flock);
	while (!strcmp(how, "dies-test_lock_") && shmem_test_lock_(flock)) { }
	if (!strcmp(how, "dies-barrier")) shmem_barrier_all();
	if (!strcmp(how, "dies-reduce")) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, vector, vector + 1000, 1000);
	if (!strcmp(how, "dies-set")) shmem_broadcast64(vector, vector + 1000, 1000, 0, 0, 0, 3, sync);
	if (!strcmp(how, "root")) shmem_long_broadcast(SHMEM_TEAM_WORLD, vector, vector + 1000, 1, 3);
	if (!strcmp(how, "set") && me == 1) shmem_barrier(1, 1, 2, sync);
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
bad=0
for HOW in dies-barrier dies-reduce dies-set; do
	job 3 ends 2> /dev/null
	cat err.0 err.2 | grep -q 'PE 1 has ended' && [ "$(cat rc.0)" != 124 ] && [ "$(cat rc.2)" != 124 ] || bad=1
done
ok $bad "a PE that waits in a collective does, too"
bad=0
for HOW in dies-lock dies-test_lock dies-test_event dies-lock_ dies-test_lock_; do
	job 3 ends 2> /dev/null
	cat err.0 err.2 | grep -q 'PE 1 has ended' && [ "$(cat rc.0)" != 124 ] && [ "$(cat rc.2)" != 124 ] ||
		{ bad=1; echo "# $HOW"; }
done
ok $bad "so does one that wants a dead PE's lock, or its event"
HOW=root; job 3 ends
grep -q 'shmem_long_broadcast: PE_root 3: there are 0 to 2' err.0 err.1 err.2
ok $? "a root that is not in the team is named"
HOW=set; job 3 ends
grep -q 'shmem_barrier: PE_start 1, logPE_stride 1, PE_size 2: there are PEs 0 to 2' err.0 err.1 err.2
ok $? "an active set that is larger than the job is named"
HOW=pe; job 3 ends
grep -q 'shmem_long_p: there is no PE 3; there are 0 to 2' err.1
ok $? "a PE that does not exist is named"
HOW=address; job 3 ends
grep -q 'neither in the symmetric heap nor a global' err.1
ok $? "an address that is not symmetric is named"
HOW=heap; job 3 ends
grep -q 'must be the same' err.0 err.1 err.2
ok $? "allocations that differ between PEs are named"

# Active sets of one PE (31 strides), and of neighbours: of 29 PEs the middle one is in 255 of them, of 30 in 270.
cat > sets.c <<'X'
#include <mpp/shmem.h>
#include <stdio.h>
int main(void)
{
	static long sync[SHMEM_BARRIER_SYNC_SIZE];
	int me, n;

	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	for (int stride = 0; stride < 31; stride++)
		shmem_barrier(me, stride, 1, sync);
	for (int size = 2; size <= n; size++)
		for (int start = 0; start + size <= n; start++)
			if (me >= start && me < start + size)
				shmem_barrier(start, 0, size, sync);
	shmem_finalize();
	puts("end");
	return 0;
}
X
link sets
job 29 sets
[ "$(cat out.* | sort | uniq -c | tr -s ' ')" = " 29 end" ]
ok $? "255 active sets"
job 30 sets
cat err.* | grep -q 'error: shmem_barrier: more than 256 different active sets; teams can be destroyed' &&
	! cat rc.* | grep -q 124 && ! cat out.* | grep -q end
ok $? "270"
rm -f out.* err.* rc.*

# PE 1 runs a program whose data are of another size.
cat > one.c <<'X'
#include <shmem.h>
int main(void)
{
	static char data[SIZE] = { 1 };

	shmem_init();
	shmem_barrier_all();
	shmem_putmem(data, data, 1, (shmem_my_pe() + 1) % shmem_n_pes());
	shmem_barrier_all();
	return 0;
}
X
sed 's/SIZE/100/' one.c > other0.c && sed 's/SIZE/9000/' one.c > other1.c && link other0 && link other1
printf '#!/bin/sh\nexec ./other$PTL_MY_RID\n' > other && chmod +x other
job 2 other
cat err.* | grep -qE "the data of PE [01]'s program have [0-9]* bytes, here [0-9]*: all PEs must run the same program"
ok $? "PEs that run different programs are told so"

# Settings that make no sense.
bad=0
for e in SHMEM_COLL_OPT_OFF=broadcast,nothing:'0, 1, or names of broadcast' SHMEM_COLL_OPT_OFF=2:'0, 1, or names' \
	SHMEM_BARRIER_ALGORITHM=tree:'auto, counter or dissem' SHMEM_BARRIER_ALGORITHM=:'auto, counter or dissem' \
	SHMEM_ALLTOALLV_TSIZE_CHK=yes:'none, abort or trunc'; do
	env "${e%%:*}" ./other0 2> err
	[ $? = 1 ] && grep -q "^shmem error: ${e%%:*}: must be ${e#*:}" err || { bad=1; echo "# $e"; }
done
ok $bad "settings that make no sense are named, with what there is"
bad=0
for e in SHMEM_COLL_OPT_OFF=0 SHMEM_COLL_OPT_OFF=1 SHMEM_COLL_OPT_OFF=broadcast,reduce SHMEM_COLL_OPT_OFF=collect,scan \
	SHMEM_COLL_OPT_OFF=fcollect,alltoall,alltoalls SHMEM_BARRIER_ALGORITHM=counter SHMEM_ALLTOALLV_TSIZE_CHK=trunc; do
	env "$e" ./other0 2> err && [ ! -s err ] || { bad=1; echo "# $e"; }
done
ok $bad "settings that do, also a list"

# What is printed at the start: once for a job, and every variable of the page.
awk '/^\.Sh ENVIRONMENT/ { on = 1; next } /^\.Sh/ { on = 0 } on && /^\.(It )?Ev/' "$src/shmem-portals/man/shmem.7" |
	grep -oE '(SHMEM|SMA|XT|DMAPP)_[A-Z_]*' | sort -u > page
grep -vxE 'SHMEM_(CC|CXX|FC)' page > vars	# those are the compilers' wrappers'
[ "$(wc -l < vars)" -ge 14 ]
ok $? "variables of shmem(7)"
for e in SHMEM_INFO SMA_INFO; do
	export $e=1
	job 2 other0
	unset $e
	missing=
	while read -r v; do grep -qE "(^|[ ,])$v([ ,]|\$)" out.0 || missing="$missing $v"; done < vars
	[ -z "$missing" ] && [ "$(grep -c '^SHMEM_SYMMETRIC_SIZE .*; now 268435456$' out.0)" = 1 ] &&
		! grep -q SHMEM_SYMMETRIC_SIZE out.1
	ok $? "$e prints each of them, once for the job${missing:+; not$missing}"
done
for e in SHMEM_VERSION SMA_VERSION; do
	export $e=1
	job 2 other0
	unset $e
	[ "$(grep -c ', OpenSHMEM 1\.5$' out.0)" = 1 ] && ! grep -q OpenSHMEM out.1
	ok $? "$e, too"
done
job 2 other0
! grep -qE 'SHMEM_|OpenSHMEM' out.0
ok $? "nothing is printed otherwise"

# A large block is of huge pages, and resident, at once; or not.
cat > huge.c <<'X'
#include <shmem.h>
#include <stdio.h>
static long resident(void)
{
	char line[256];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RssShmem: %ld", &kb);
	return kb;
}
int main(void)
{
	long before;

	shmem_init();
	before = resident();
	shmem_malloc((size_t)32 << 20);
	printf("%ld\n", (resident() - before) >> 10);
	shmem_finalize();
	return 0;
}
X
link huge
small=$(SHMEM_HUGE_PAGES=no ./huge) large=$(SHMEM_HUGE_PAGES=yes ./huge)
[ "$small" = 0 ]
ok $? "SHMEM_HUGE_PAGES=no: a block is taken as it is used (MiB at first: $small)"
if [ "$large" -lt 32 ]; then
	skip "without it, at once" "no huge pages of shared memory here ($large MiB)"
else
	ok 0 "without it, at once ($large MiB)"
fi

# Programs that begin with start_pes() have no end of their own.
cat > old.c <<'X'
#include <mpp/shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static long late;
/* Registered before start_pes(), so it runs behind the library's end: what came from the others must be there. */
static void look(void)
{
	printf("%ld\n", late);
}
int main(void)
{
	const char *how = getenv("HOW");

	atexit(look);
	start_pes(0);
	if (!strcmp(how, "again"))
		start_pes(0);
	if (!strcmp(how, "fails") && _my_pe() == 1)
		exit(3);
	if (!strcmp(how, "global"))
		shmem_global_exit(_my_pe() ? 0 : 6);
	if (!strcmp(how, "both"))
		shmem_finalize();
	else
		usleep(_my_pe() * 30000);
	if (!strcmp(how, "fails"))
		barrier();
	if (strcmp(how, "both"))
		shmem_long_p(&late, 10 + _my_pe(), (_my_pe() + 1) % _num_pes());
	if (!strcmp(how, "exit"))
		exit(0);
	return 0;
}
X
link old
for how in main exit again; do
	HOW=$how; job 3 old
	[ "$(cat rc.0 rc.1 rc.2 out.0 out.1 out.2 err.0 err.1 err.2 | tr '\n' ' ')" = "0 0 0 12 10 11 " ]
	ok $? "start_pes: the end comes by itself, behind the last put ($how)"
done
HOW=both; job 3 old
[ "$(cat rc.0 rc.1 rc.2 err.0 err.1 err.2 | tr '\n' ' ')" = "0 0 0 " ]
ok $? "start_pes: a finalize of the program's own is enough"
HOW=global; job 3 old
[ "$(cat rc.0)" = 6 ] && ! cat rc.1 rc.2 | grep -q 124
ok $? "start_pes: global_exit is not followed by another end"
HOW=fails; job 3 old
[ "$(cat rc.1)" = 3 ] && cat err.0 err.2 | grep -q 'PE 1 has ended' && ! cat rc.0 rc.2 | grep -qx 124
ok $? "start_pes: who fails does not wait, and the others notice"
cat > size.c <<'X'
#include <mpp/shmem.h>
#include <stdio.h>
int main(void)
{
	start_pes(0);
	printf("%d ", shmalloc(3 << 20) != NULL);
	printf("%d\n", shmalloc(2 << 20) != NULL);
	return 0;
}
X
link size
[ "$(XT_SYMMETRIC_HEAP_SIZE=4M ./size) $(XT_SYMMETRIC_HEAP_SIZE=1m SHMEM_SYMMETRIC_SIZE=8m ./size)" = "1 0 1 1" ]
ok $? "XT_SYMMETRIC_HEAP_SIZE, where no newer name is set"
older= bad=0
for name in DMAPP_SHEAP_SIZE XT_SYMMETRIC_HEAP_SIZE SMA_SYMMETRIC_SIZE SHMEM_SYMMETRIC_SIZE; do
	# its value holds, whatever the older ones say; one that makes no sense is told by its own name
	[ "$(env $older $name=4m ./size)" = "1 0" ] && ! env $older $name=junk ./size 2> err &&
		grep -qx "shmem error: $name=junk: not a size such as .*" err || { bad=1; echo "# $name"; }
	older="$older $name=64m"
done
ok $bad "all four names of the heap's size, the newest first"
echo "1..$n"

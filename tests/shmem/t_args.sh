#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# What compilers say to the headers, and what the library says to wrong arguments: PE, routine and argument.
build=${P3_BUILD:-.} src=$(cd "${P3_SRC:-$(dirname "$0")/../..}" && pwd)
build=$(cd "$build" && pwd)
cc=$(sed -n 's/^CC = //p' "$build/Makefile")
san=$(sed -n 's/^P3_LDFLAGS = //p' "$build/Makefile")
inc="-I$src/shmem-portals/include"

. "${0%/*}/../common/tap.sh"

# ---- compilers ----

cat > calls.c <<'X'
#include <shmem.h>
#include <pshmem.h>
static long h[4];
int calls(shmem_ctx_t ctx);
int calls(shmem_ctx_t ctx)
{
	uint64_t sig = 0;
	long l[2] = { 1, 2 };
	int made = shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);

	shmem_ctx_long_put(ctx, h, l, 2, 0);
	shmem_long_put_signal(h, l, 2, &sig, 1, SHMEM_SIGNAL_SET, 0);
	shmem_ctx_ibput64(SHMEM_CTX_DEFAULT, h, l, 1, 1, 1, 2, 0);
	pshmem_ctx_long_p(ctx, h, 3, 0);
	pshmem_set_lock(h);
	shmem_long_wait_until_any_vector(h, 2, NULL, SHMEM_CMP_EQ, l);
	shmem_wait_until(h, SHMEM_CMP_EQ, 3);
	shmem_signal_add(&sig, 1, 0);
	shmem_pcontrol(1);
	return made + (int)shmem_long_atomic_fetch_add(h, 1, 0);
}
X
cp calls.c calls.cc
warn="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
for std in c99 c11 c17; do
	$cc $inc -std=$std $warn -Wmissing-prototypes -Wstrict-prototypes -fsyntax-only calls.c
	ok $? "$std with all warnings"
done
if command -v g++ > /dev/null; then
	g++ $inc -std=c++11 $warn -Wno-missing-declarations -c -o cc.o calls.cc
	ok $? "C++11 with all warnings"
	# every routine that the program calls has the name that C gives it
	! nm cc.o | grep -E ' U .*_Z.*shmem'
	ok $? "C++ finds the routines of C"
else
	n=$((n + 2))
	echo "ok $((n - 1)) - C++11 with all warnings # SKIP no g++"
	echo "ok $n - C++ finds the routines of C # SKIP no g++"
fi
$cc $inc -I"$src/tests/common" -D_GNU_SOURCE -std=c11 -Wall -Wextra -Werror -fsyntax-only "$src/tests/shmem/t_generic.c"
ok $? "all names without a type compile without a warning"
if command -v clang > /dev/null; then
	clang $inc -I"$src/tests/common" -D_GNU_SOURCE -std=c11 -Wall -Wextra -Werror -fsyntax-only \
		"$src/tests/shmem/t_generic.c" &&
		clang $inc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only calls.c
	ok $? "the same for clang"
else
	n=$((n + 1))
	echo "ok $n - the same for clang # SKIP no clang"
fi
wrong()	# EXPRESSION NAME: does not compile
{
	{
		echo '#include <shmem.h>'
		echo 'struct s { int x; } s;'
		echo 'float f;'
		echo "void call(void) { $1; }"
	} > wrong.c
	! $cc $inc -std=c11 -fsyntax-only wrong.c 2> wrong.err && grep -q 'shmemi_no_such_type' wrong.err
	ok $? "$2"
}
wrong 'shmem_put(&s, &s, 1, 0)' "a type without a routine does not compile"
wrong 'shmem_atomic_inc(&f, 0)' "nor one without this routine"
wrong 'shmem_put(SHMEM_CTX_DEFAULT, &s, &s, 1, 0)' "nor behind a context"

# ---- wrong arguments, two PEs ----

cat > args.c <<'X'
#include <mpp/shmemx.h>
#include <mpp/shmem.h>
#include <stdlib.h>
#include <string.h>
#define CASE(name, ...) if (!strcmp(how, name)) { __VA_ARGS__; }
static long stat, far[2];
static char bytes[64];
int main(void)
{
	const char *how = getenv("HOW");
	long here[4] = { 0 }, *h, *gone;
	uint64_t *sig;
	int index[2] = { 0, 9 }, me;

	/* before the start, one of each group of routines */
	CASE("early-put", shmem_putmem(far, here, 8, 0))
	CASE("early-p", shmem_long_p(far, 1, 0))
	CASE("early-amo", shmem_long_atomic_inc(far, 0))
	CASE("early-malloc", shmem_malloc(8))
	CASE("early-calloc", shmem_calloc(1, 8))
	CASE("early-align", shmem_align(64, 8))
	CASE("early-hints", shmem_malloc_with_hints(8, 0))
	CASE("early-realloc", shmem_realloc(here, 8))
	CASE("early-free", shmem_free(here))
	CASE("early-barrier", shmem_barrier_all())
	CASE("early-set", shmem_barrier(0, 0, 1, far))
	CASE("early-broadcast", shmem_long_broadcast(SHMEM_TEAM_WORLD, far, far, 1, 0))
	CASE("early-reduce", shmem_long_sum_reduce(SHMEM_TEAM_WORLD, far, far, 1))
	CASE("early-lock", shmem_set_lock(far))
	CASE("early-ctx", shmem_ctx_t c; shmem_ctx_create(0, &c))
	CASE("early-signal", shmem_signal_add((uint64_t *)far, 1, 0))
	shmem_init();
	h = shmem_calloc(8, sizeof(long));
	sig = shmem_calloc(1, sizeof(*sig));
	gone = shmem_malloc(64);
	shmem_free(gone);
	me = shmem_my_pe();
	/* on both PEs, and not the same */
	CASE("heapsize", shmem_malloc(me ? 200 : 100))
	CASE("heapalign", shmem_align(me ? 64 : 128, 100))
	CASE("heaphints", shmem_malloc_with_hints(100, me ? SHMEM_MALLOC_SIGNAL_REMOTE : 0))
	CASE("heapcalloc", shmem_calloc(me ? 2 : 4, me ? 4 : 2))
	CASE("heapfree", shmem_free(me ? (void *)h : sig))
	CASE("heapgrow", shmem_realloc(sig, me ? 5000 : 60))
	CASE("heapmove", shmem_realloc(me ? (void *)h : sig, 60))
	CASE("heaporder", if (me) shmem_free(h); else shmem_malloc(64))
	CASE("heapend", if (me) shmem_realloc(h, 0); else shmem_realloc(h, 8))
	CASE("heapbarrier", if (me) shmem_malloc(64); else shmem_barrier_all())
	CASE("heapsame", h = shmem_realloc(h, 100); h = shmem_realloc(h, 10000); shmem_free(h); shmem_free(NULL);
	     h = shmem_align(4096, 50); shmem_free(sig); h = shmem_realloc(h, 0); shmem_barrier_all();
	     shmem_global_exit(0))
	CASE("dirty", h[0] = 99; shmem_barrier_all(); if (me) shmem_set_lock(h))
	CASE("ctxteam", shmem_team_t t; shmem_ctx_t c;
	     shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, 1, NULL, 0, &t);
	     if (me) { shmem_team_create_ctx(t, 0, &c); shmem_ctx_long_p(c, h, 1, 1); })
	if (me == 1) {
		CASE("notin", shmem_barrier(0, 0, 1, far))
		CASE("notinreduce", shmem_long_sum_to_all(h, h, 1, 0, 0, 1, far, far))
		CASE("negative", shmem_long_sum_to_all(h, h + 1, -1, 1, 0, 1, far, far))
		CASE("negativemax", shmem_double_max_to_all((double *)h, (double *)h, -5, 0, 0, 2, (double *)far, far))
		CASE("stride0", shmem_long_alltoalls(SHMEM_TEAM_WORLD, h, h, 0, 1, 1))
		CASE("stride0old", shmem_alltoalls64(h, h, 1, -2, 1, 1, 0, 1, far))
		CASE("free", shmem_free((char *)h + 64 - 8))
		CASE("freestack", shmem_free(here))
		CASE("freetwice", shmem_free(gone))
		CASE("realloc", shmem_realloc((char *)h + 8, 8))
		CASE("aligned", shmem_align(48, 8))
		CASE("alignsmall", shmem_align(4, 8))
		CASE("put", shmem_putmem(h, here, 8, 2))
		CASE("get", shmem_long_get(here, h, 3, -1))
		CASE("g", here[0] = shmem_long_g(here, 0))
		CASE("iput", shmem_long_iput(here, here, 1, 1, 2, 0))
		CASE("iget", shmem_ctx_int_iget(SHMEM_CTX_DEFAULT, (int *)here, (int *)h, 1, 1, 2, 7))
		CASE("ibput", shmem_ibput32(h, here, 1, 1, (size_t)1 << 62, 8, 0))
		CASE("many", shmem_long_put(h, here, (size_t)1 << 62, 0))
		CASE("stride", shmem_long_iput(h, here, PTRDIFF_MAX / 2, 1, 3, 0))
		CASE("ctx", shmem_ctx_long_p(SHMEM_CTX_INVALID, h, 1, 0))
		CASE("ctxquiet", shmem_ctx_quiet(SHMEM_CTX_INVALID))
		CASE("ctxdefault", shmem_ctx_destroy(SHMEM_CTX_DEFAULT))
		CASE("ctxtwice", shmem_ctx_t c; shmem_ctx_create(0, &c); shmem_ctx_destroy(c); shmem_ctx_destroy(c))
		CASE("amo", shmem_uint_atomic_add((unsigned *)h, 1, 2))
		CASE("amonbi", shmem_ctx_long_atomic_fetch_add_nbi(SHMEM_CTX_DEFAULT, here, here, 1, 0))
		CASE("align", shmem_long_atomic_inc((long *)((char *)h + 4), 0))
		CASE("sigop", shmem_long_put_signal(h, here, 1, sig, 1, 7, 0))
		CASE("sigpe", shmem_signal_add(sig, 1, 9))
		CASE("cmp", shmem_long_wait_until(h, 0, 1))
		CASE("cmpany", shmem_int_test_any_vector((int *)h, 2, NULL, 17, (int *)here))
		CASE("pequiet", shmem_pe_quiet((int[]){ 0, 5 }, 2))
		CASE("unlock", shmem_clear_lock(h))
		CASE("lockat", shmem_set_lock(here))
		CASE("stretch", shmem_long_alltoalls(SHMEM_TEAM_WORLD, h, h, 1, PTRDIFF_MAX / 8 + 1, 2))
		CASE("two", shmem_collect128(h, h, (size_t)1 << 63, 0, 0, 2, far))
		CASE("root", shmem_broadcast128(h, h, (size_t)1 << 60, 0, 0, 0, 2, far))
		CASE("hint", shmem_malloc_with_hints(8, 64))
		CASE("color", shmem_team_t t; shmemx_team_split(SHMEM_TEAM_WORLD, -2, 0, &t))
		CASE("space", shmem_team_t t, u; shmemx_team_split_2d(SHMEM_TEAM_WORLD, 1, 3, &t, &u))
		CASE("noteam", shmemx_team_barrier(SHMEM_TEAM_NULL, far))
		CASE("world", shmem_team_t t = SHMEM_TEAM_WORLD; shmemx_team_destroy(&t))
		CASE("v", size_t *s = (size_t *)h; s[0] = 9;
		     shmemx_alltoallv(bytes, s + 1, s + 2, bytes, s + 1, s, 1, 0, 1, far))
		CASE("vpacked", size_t *s = (size_t *)h; s[0] = 9;
		     shmemx_alltoallv_packed(bytes, 8, s + 2, bytes, s + 1, s, 1, 0, 1, far))
		/* only SHMEM_DEBUG sees these */
		CASE("end", shmem_putmem((char *)h + 60, here, 8, 0))
		CASE("freed", shmem_long_p(gone, 1, 0))
		CASE("own", shmem_putmem(h, gone, 8, 0))
		CASE("ownend", shmem_getmem((char *)h + 60, far, 8, 0))
		CASE("null", shmem_putmem(NULL, here, 8, 0))
		CASE("ownnull", shmem_putmem(h, NULL, 8, 0))
		CASE("strideend", shmem_long_iput(h, here, 3, 1, 4, 0))
		CASE("amofreed", shmem_long_atomic_inc(gone, 0))
		CASE("ixput", shmem_long_ixput(h, far, index, 2, 0))
		CASE("ixget", shmem_long_ixget(far, h, index, 2, 0))
		CASE("bcast", shmem_long_broadcast(SHMEM_TEAM_WORLD, h, h, 12, 0))
		CASE("bcaststack", shmem_long_broadcast(SHMEM_TEAM_WORLD, here, here, 1, 0))
		CASE("reduce", shmem_long_sum_reduce(SHMEM_TEAM_WORLD, h, h, 12))
		CASE("scan", shmem_long_sum_inscan(SHMEM_TEAM_WORLD, h, h, 12))
		CASE("fcollect", shmem_long_fcollect(SHMEM_TEAM_WORLD, h, h, 5))
		CASE("collect", shmem_long_collect(SHMEM_TEAM_WORLD, h, h, 9))
		CASE("alltoall", shmem_long_alltoall(SHMEM_TEAM_WORLD, h, h, 5))
		CASE("alltoalls", shmem_long_alltoalls(SHMEM_TEAM_WORLD, h, h, 3, 1, 2))
		CASE("fadd", shmem_short_fadd((short *)h + 40, 1, 0))
		CASE("mswap", shmem_long_mswap(h + 9, 1, 1, 0))
		CASE("fetchend", shmem_long_atomic_fetch_add_nbi(h + 9, h, 1, 0))
		CASE("sigstack", here[0] = (long)shmem_signal_fetch((uint64_t *)here))
		CASE("waitstack", shmem_long_wait_until(here, SHMEM_CMP_EQ, 0))
		CASE("ok", shmem_set_lock(h); shmem_clear_lock(h); shmem_putmem((char *)h + 56, here, 8, 0);
		     shmem_putmem(bytes, bytes + 32, 32, 0); shmem_long_p(&stat, 1, 0);
		     shmem_long_iput(h, here, 2, 1, 4, 0); shmem_putmem(NULL, NULL, 0, 0); shmem_global_exit(0))
	}
	shmem_long_wait_until(&stat, SHMEM_CMP_EQ, -1);
	return 0;
}
X
$cc $san $inc -Wall -Werror -Wno-stringop-overread -Wno-nonnull -o args args.c -L"$build/shmem-portals/.libs" -lsma \
	-Wl,-rpath,"$build/shmem-portals/.libs:$build/portals/.libs:$build/nal/smartmap/.libs" \
	-Wl,-rpath-link,"$build/portals/.libs:$build/nal/smartmap/.libs" || exit 1

says()	# HOW SENTENCE [ENVIRONMENT]: PE 1 says it, and both PEs end
{
	for i in 0 1; do
		(env $3 HOW="$1" PTL_MY_RID=$i PTL_NIDMAP=1:1 PTL_PIDMAP=256:257 PTL_MY_JID=$$ \
			timeout 30 ./args > out.$i 2> err.$i
		 echo $? > rc.$i) &
	done
	wait
	grep -q "PE 1 pid [0-9]*\] error: .*$2" err.1 && [ "$(cat rc.0)" != 124 ] && [ "$(cat rc.1)" = 1 ]
	if [ $? -eq 0 ]; then ok 0 "${3:+$3 }$1: $2"; else sed 's/^/# /' err.1 >&2; ok 1 "${3:+$3 }$1: $2"; fi
}
says free 'shmem_free: 0x[0-9a-f]* is no block of the symmetric heap'
says freestack 'shmem_free: 0x[0-9a-f]* is no block of the symmetric heap'
says freetwice 'shmem_free: 0x[0-9a-f]* is no block of the symmetric heap'
says realloc 'shmem_realloc: 0x[0-9a-f]* is no block of the symmetric heap'
says aligned 'shmem_align: an alignment of 48 is not a power of two'
says alignsmall 'shmem_align: an alignment of 4 is not a power of two and a multiple of 8'
for x in put:shmem_putmem p:shmem_long_p amo:shmem_long_atomic_inc malloc:shmem_malloc calloc:shmem_calloc \
	align:shmem_align hints:shmem_malloc_with_hints realloc:shmem_realloc free:shmem_free \
	barrier:shmem_barrier_all set:shmem_barrier \
	broadcast:shmem_long_broadcast reduce:shmem_long_sum_reduce lock:shmem_set_lock \
	ctx:shmem_ctx_create signal:shmem_signal_add; do
	(HOW=early-${x%%:*} PTL_MY_RID=0 PTL_NIDMAP=1 PTL_PIDMAP=256 PTL_MY_JID=$$ \
		timeout 30 ./args > out.0 2> err.0
	 echo $? > rc.0)
	[ "$(cat rc.0)" = 1 ] && grep -q "PE -1 pid [0-9]*\] error: ${x#*:}: shmem_init() has not been called" err.0
	ok $? "${x#*:} before shmem_init()"
done
says dirty 'shmem_set_lock: the lock at 0x[0-9a-f]* holds 0x63: it was not zero on all PEs at first'
says ctxteam "shmem_ctx_long_p: there is no PE 1 in the context's team; there are 0 to 0"
says notin 'shmem_barrier: PE_start 0, stride 1, PE_size 1: this PE is not in it'
says notinreduce 'shmem_long_sum_to_all: PE_start 0, stride 1, PE_size 1: this PE is not in it'
says negative 'shmem_long_sum_to_all: -1 elements'
says negativemax 'shmem_double_max_to_all: -5 elements'
says stride0 'shmem_long_alltoalls: strides 0 and 1: they must be 1 or more'
says stride0old 'shmem_alltoalls64: strides 1 and -2: they must be 1 or more'
says put 'shmem_putmem: there is no PE 2; there are 0 to 1'
says get 'shmem_long_get: there is no PE -1'
says g 'shmem_long_g: 8 bytes at 0x[0-9a-f]* are neither'
says iput 'shmem_long_iput: 16 bytes at 0x[0-9a-f]* are neither'
says iget 'shmem_ctx_int_iget: there is no PE 7'
says ibput 'shmem_ibput32: 4611686018427387904 elements of 4 bytes'
says many 'shmem_long_put: 4611686018427387904 elements of 8 bytes'
says stride 'shmem_long_iput: a stride of'
says ctx 'shmem_ctx_long_p: SHMEM_CTX_INVALID is no context'
says ctxquiet 'shmem_ctx_quiet: SHMEM_CTX_INVALID is no context'
says ctxdefault 'shmem_ctx_destroy: SHMEM_CTX_DEFAULT'
says ctxtwice 'shmem_ctx_destroy: .* has been destroyed before'
says amo 'shmem_uint_atomic_add: there is no PE 2'
says amonbi 'shmem_ctx_long_atomic_fetch_add_nbi: 8 bytes at 0x[0-9a-f]* are neither'
says align 'shmem_long_atomic_inc: 0x[0-9a-f]* is not aligned to 8 bytes'
says sigop 'shmem_long_put_signal: 7 is no operation on a signal'
says sigpe 'shmem_signal_add: there is no PE 9'
says cmp 'shmem_long_wait_until: 0 is no comparison'
says cmpany 'shmem_int_test_any_vector: 17 is no comparison'
says pequiet 'shmem_pe_quiet: there is no PE 5'
says unlock 'shmem_clear_lock: this PE has not set the lock'
says lockat 'shmem_set_lock: 4 bytes at 0x[0-9a-f]* are neither'
says hint 'shmem_malloc_with_hints: 0x40 is no hint'
says stretch 'shmem_long_alltoalls: 2 elements of 8 bytes for each of 2 PEs, with a stride of 1152921504606846976'
says two 'shmem_collect128: 9223372036854775808 elements of 16 bytes'
says root 'shmem_broadcast128: 1152921504606846976 elements of 16 bytes'
says color 'shmemx_team_split: colour -2'
says space 'shmemx_team_split_2d: 1 x 3 x 1 members of a team of 2'
says noteam 'shmemx_team_barrier: this is no team'
says world 'shmemx_team_destroy: a team that is always there'
says v 'shmemx_alltoallv: 9 bytes of PE 1, where there is room for 0' SHMEM_ALLTOALLV_TSIZE_CHK=abort
says vpacked 'shmemx_alltoallv_packed: 9 bytes of PE 1, where there is room for 8'

# Calls on the heap that are not the same: whichever PE is first says it, and ends both.
rule='calls on the symmetric heap must be the same, in the same order, on all PEs'
pair()	# PROGRAM HOW: the two PEs of a job
{
	for i in 0 1; do
		(env HOW="$2" PTL_MY_RID=$i PTL_NIDMAP=1:1 PTL_PIDMAP=256:257 PTL_MY_JID=$$ \
			timeout 30 "./$1" > out.$i 2> err.$i
		 echo $? > rc.$i) &
	done
	wait
}
differ()	# HOW SENTENCE-OF-PE-0 SENTENCE-OF-PE-1 [PROGRAM]
{
	pair "${4:-args}" "$1"
	{ grep -qE "PE 0 pid [0-9]*\] error: $2: $rule\$" err.0 ||
		grep -qE "PE 1 pid [0-9]*\] error: $3: $rule\$" err.1; } && ! cat rc.0 rc.1 | grep -qxE '0|124'
	if [ $? -eq 0 ]; then ok 0 "$1: $2"; else sed 's/^/# /' err.0 err.1 >&2; ok 1 "$1: $2"; fi
}
differ heapsize 'shmem_malloc\(100\): PE 1 calls shmem_malloc\(200\)' \
	'shmem_malloc\(200\): PE 0 calls shmem_malloc\(100\)'
differ heapalign 'shmem_align\(128, 100\): PE 1 calls shmem_align\(64, 100\)' \
	'shmem_align\(64, 100\): PE 0 calls shmem_align\(128, 100\)'
differ heaphints 'shmem_malloc_with_hints\(100, 0\): PE 1 calls .*\(100, 0x2\)' \
	'shmem_malloc_with_hints\(100, 0x2\): PE 0 calls .*\(100, 0\)'
differ heapcalloc 'shmem_calloc\(4, \.\.\.\) of 8 bytes: PE 1 calls shmem_calloc\(2, .*' \
	'shmem_calloc\(2, .*: PE 0 calls shmem_calloc\(4, .*'
at='block at [0-9]* of the heap'
differ heapfree 'shmem_free\(block at 64 of the heap\): PE 1 calls shmem_free\(block at 0 of the heap\)' \
	'shmem_free\(block at 0 of the heap\): PE 0 calls shmem_free\(block at 64 of the heap\)'
differ heapgrow "shmem_realloc\($at, 60\): PE 1 calls shmem_realloc\($at, 5000\)" \
	"shmem_realloc\($at, 5000\): PE 0 calls shmem_realloc\($at, 60\)"
differ heapmove 'shmem_realloc\(block at 64 of .*: PE 1 calls shmem_realloc\(block at 0 .*' \
	'shmem_realloc\(block at 0 .*: PE 0 calls shmem_realloc\(block at 64 .*'
differ heaporder "shmem_malloc\(64\): PE 1 calls shmem_free\($at\)" "shmem_free\($at\): PE 0 calls shmem_malloc\(64\)"
differ heapend "shmem_realloc\($at, 8\): PE 1 calls shmem_realloc\($at, 0\)" \
	"shmem_realloc\($at, 0\): PE 0 calls shmem_realloc\($at, 8\)"
differ heapbarrier 'nothing' "shmem_malloc\(64\): PE 0 is in a barrier that is none of the heap's"
pair args heapsame
[ "$(cat rc.0 rc.1 err.0 err.1)" = "0
0" ]
ok $? "nor is anything said where they are the same"

# DMAPP takes of the same heap, and compares nothing.
cat > dm.c <<'X'
#include <dmapp.h>
#include <shmem.h>
#include <stdlib.h>
int main(void)
{
	int all = getenv("HOW")[0] == 'a', me;

	shmem_init();
	dmapp_init(NULL, NULL);
	me = shmem_my_pe();
	dmapp_sheap_malloc(me ? 64 : all ? (size_t)255 << 20 : 128);
	shmem_malloc((size_t)4 << 20);
	return 0;
}
X
dmapp=$build/dmapp-portals/.libs
if $cc $san $inc -I"$src/dmapp-portals/include" -Wall -Werror -o dm dm.c -L"$dmapp" \
	-L"$build/shmem-portals/.libs" -ldmapp -lsma \
	-Wl,-rpath,"$dmapp:$build/shmem-portals/.libs:$build/portals/.libs:$build/nal/smartmap/.libs" \
	-Wl,-rpath-link,"$build/portals/.libs:$build/nal/smartmap/.libs"; then
	before='they have not done the same before'
	differ before "shmem_malloc\(4194304\): the block is at 128 of the heap here, and at 64 on PE 1: $before" \
		"shmem_malloc\(4194304\): the block is at 64 of the heap here, and at 128 on PE 0: $before" dm
	differ all "shmem_malloc\(4194304\): the result is NULL here, and a block on PE 1: $before" \
		"shmem_malloc\(4194304\): the result is a block here, and NULL on PE 0: $before" dm
else
	ok 1 "a program of both libraries"
fi

d=SHMEM_DEBUG=1
says end 'shmem_putmem: the symmetric object on PE 0: 8 bytes at .* end 4 bytes behind the end .* has 64 bytes' $d
says freed 'shmem_long_p: the symmetric object on PE 0: .* in no block of it: it has been freed' $d
says own 'shmem_putmem: the own side: .* in no block' $d
says ownend 'shmem_getmem: the own side: 8 bytes at .* end 4 bytes behind' $d
says null 'shmem_putmem: the symmetric object on PE 0: the address is NULL' $d
says ownnull 'shmem_putmem: the own side: 8 bytes at address NULL' $d
says strideend 'shmem_long_iput: the symmetric object on PE 0: 80 bytes at .* end 16 bytes behind' $d
says amofreed 'shmem_long_atomic_inc: the symmetric object on PE 0: .* in no block' $d
says ixput 'shmem_long_ixput: the symmetric object on PE 0: .* in no block' $d
says ixget 'shmem_long_ixget: the symmetric object on PE 0: .* in no block' $d
says bcast 'shmem_long_broadcast: .* 96 bytes at .* end 32 bytes behind' $d
says bcaststack 'shmem_long_broadcast: 8 bytes at 0x[0-9a-f]* are neither' $d
says reduce 'shmem_long_sum_reduce: .* 96 bytes at .* end 32 bytes behind' $d
says scan 'shmem_long_sum_inscan: .* 96 bytes at .* end 32 bytes behind' $d
says fcollect 'shmem_long_fcollect: .* 80 bytes at .* end 16 bytes behind' $d
says collect 'shmem_long_collect: .* 72 bytes at .* end 8 bytes behind' $d
says alltoall 'shmem_long_alltoall: .* 80 bytes at .* end 16 bytes behind' $d
says alltoalls 'shmem_long_alltoalls: .* 80 bytes at .* end 16 bytes behind' $d
says fadd 'shmem_short_fadd: .* in no block' $d
says mswap 'shmem_long_mswap: .* in no block' $d
says fetchend 'shmem_long_atomic_fetch_add_nbi: the own side: .* in no block' $d
says sigstack 'shmem_signal_fetch: 8 bytes at 0x[0-9a-f]* are neither' $d
says waitstack 'shmem_long_wait_until: 8 bytes at 0x[0-9a-f]* are neither' $d
says put 'shmem_putmem: there is no PE 2; there are 0 to 1' $d
for e in NONE=1 SHMEM_DEBUG=1 SMA_DEBUG=1; do
	for i in 0 1; do
		(env $e HOW=ok PTL_MY_RID=$i PTL_NIDMAP=1:1 PTL_PIDMAP=256:257 PTL_MY_JID=$$ \
			timeout 30 ./args > out.$i 2> err.$i
		 echo $? > rc.$i) &
	done
	wait
	[ "$(cat rc.0 rc.1 | tr -d '\n')" = 00 ] && ! grep -q 'error' err.0 err.1
	ok $? "what is right is not complained of ($e)"
done
echo "1..$n"

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_forms.c - put, get, strided, blocks, signals: every type and size, plain and with contexts, every byte looked at
 *
 * Each PE writes to the next, into memory full of GUARD, and looks at what the one before must have written: the same
 * done slowly, to memory of its own.
 */
#include "ctx.h"
#include "sm.h"

enum { N = 61, ROOM = 4 * N, GUARD = 0xa5 };
static uint64_t *sig;

/* @blocks of @b elements: @dest and @src in elements of @size. */
static void slowly(void *dest, const void *src, ptrdiff_t dst, ptrdiff_t sst, size_t b, size_t blocks, size_t size)
{
	for (size_t k = 0; k < blocks; k++)
		for (size_t i = 0; i < b; i++)
			memcpy((char *)dest + ((size_t)dst * k + i) * size,
			       (const char *)src + ((size_t)sst * k + i) * size, size);
}

/* @call writes to h of the next PE; the one before had @theirs as source. */
#define PUTS(SIZE, call, ...)								\
	do {										\
		memset(h, GUARD, ROOM * (SIZE));					\
		shmem_barrier_all();							\
		call;									\
		shmem_quiet();								\
		if (form != PLAIN)							\
			shmem_ctx_quiet(t_ctx[form]);					\
		shmem_barrier_all();							\
		memset(want, GUARD, ROOM * (SIZE));					\
		slowly(__VA_ARGS__, SIZE);						\
		CHECK_MEM(h, want, ROOM * (SIZE));					\
		shmem_barrier_all();							\
	} while (0)

/* @call reads h of the next PE, which holds @theirs, into `got'. */
#define GETS(SIZE, call, ...)								\
	do {										\
		memset(got, GUARD, ROOM * (SIZE));					\
		call;									\
		shmem_quiet();								\
		if (form != PLAIN)							\
			shmem_ctx_quiet(t_ctx[form]);					\
		memset(want, GUARD, ROOM * (SIZE));					\
		slowly(__VA_ARGS__, SIZE);						\
		CHECK_MEM(got, want, ROOM * (SIZE));					\
		shmem_barrier_all();							\
	} while (0)

#define SIGNALLED(call, PUTCALL, SIZE, ...)						\
	do {										\
		shmem_barrier_all();							\
		*sig = 5;								\
		PUTS(SIZE, call, __VA_ARGS__);						\
		CHECK(shmem_signal_fetch(sig) == (PUTCALL));				\
	} while (0)

/* All routines of one type or size; PUT, GET: names without shmem_; ELEMENTS(h, i): address of an element. */
#define COPIES(PUT, GET, SIGNAL, SIGNAL_NBI, SIZE, E)					\
	PUTS(SIZE, CALL(PUT, E(h, 3), mine, N, t_pe(to)), E(want, 3), theirs, 1, 1, N, 1);	\
	PUTS(SIZE, CALL(PUT, E(h, 3), mine, 1, t_pe(to)), E(want, 3), theirs, 1, 1, 1, 1);	\
	PUTS(SIZE, CALL(PUT, E(h, 3), mine, 0, t_pe(to)), E(want, 3), theirs, 1, 1, 0, 1);	\
	PUTS(SIZE, CALL(PUT##_nbi, E(h, 1), mine, N, t_pe(to)), E(want, 1), theirs, 1, 1, N, 1);	\
	PUTS(SIZE, CALL(PUT##_nbi, E(h, 1), mine, 1, t_pe(to)), E(want, 1), theirs, 1, 1, 1, 1);	\
	SIGNALLED(CALL(SIGNAL, E(h, 2), mine, N, sig, 7, SHMEM_SIGNAL_SET, t_pe(to)), 7, SIZE,	\
		  E(want, 2), theirs, 1, 1, N, 1);					\
	SIGNALLED(CALL(SIGNAL, E(h, 2), mine, 0, sig, 9, SHMEM_SIGNAL_ADD, t_pe(to)), 14, SIZE,	\
		  E(want, 2), theirs, 1, 1, 0, 1);					\
	SIGNALLED(CALL(SIGNAL_NBI, E(h, 2), mine, 1, sig, 8, SHMEM_SIGNAL_ADD, t_pe(to)), 13, SIZE, \
		  E(want, 2), theirs, 1, 1, 1, 1);					\
	SIGNALLED(CALL(SIGNAL_NBI, E(h, 0), mine, N, sig, 1, SHMEM_SIGNAL_SET, t_pe(to)), 1, SIZE, \
		  E(want, 0), theirs, 1, 1, N, 1);					\
	memcpy(h, mine, N * (SIZE));							\
	fill(next, to, N);								\
	shmem_barrier_all();								\
	GETS(SIZE, CALL(GET, E(got, 3), E(h, 1), N - 1, t_pe(to)), E(want, 3), E(next, 1), 1, 1, N - 1, 1); \
	GETS(SIZE, CALL(GET, E(got, 3), E(h, 1), 1, t_pe(to)), E(want, 3), E(next, 1), 1, 1, 1, 1);	\
	GETS(SIZE, CALL(GET, E(got, 3), E(h, 1), 0, t_pe(to)), E(want, 3), E(next, 1), 1, 1, 0, 1);	\
	GETS(SIZE, CALL(GET##_nbi, got, h, N, t_pe(to)), want, next, 1, 1, N, 1);	\
	GETS(SIZE, CALL(GET##_nbi, got, h, 1, t_pe(to)), want, next, 1, 1, 1, 1)

#define STRIDED(PREFIX, SUFFIX, SIZE, E)						\
	PUTS(SIZE, CALL(PREFIX##iput##SUFFIX, E(h, 1), mine, 4, 3, N / 3, t_pe(to)),	\
	     E(want, 1), theirs, 4, 3, 1, N / 3);					\
	PUTS(SIZE, CALL(PREFIX##iput##SUFFIX, E(h, 1), mine, 1, 1, N, t_pe(to)), E(want, 1), theirs, 1, 1, 1, N); \
	PUTS(SIZE, CALL(PREFIX##iput##SUFFIX, E(h, 1), mine, 1, 5, N / 5, t_pe(to)),	\
	     E(want, 1), theirs, 1, 5, 1, N / 5);					\
	PUTS(SIZE, CALL(PREFIX##iput##SUFFIX, E(h, 1), mine, 2, 1, 0, t_pe(to)), E(want, 1), theirs, 2, 1, 1, 0); \
	PUTS(SIZE, CALL(PREFIX##ibput##SUFFIX, E(h, 1), mine, 7, 5, 3, N / 5, t_pe(to)),	\
	     E(want, 1), theirs, 7, 5, 3, N / 5);					\
	PUTS(SIZE, CALL(PREFIX##ibput##SUFFIX, E(h, 1), mine, 4, 4, 4, N / 4, t_pe(to)),	\
	     E(want, 1), theirs, 4, 4, 4, N / 4);					\
	memcpy(h, mine, N * (SIZE));							\
	shmem_barrier_all();								\
	GETS(SIZE, CALL(PREFIX##iget##SUFFIX, E(got, 1), E(h, 1), 3, 4, N / 4, t_pe(to)),	\
	     E(want, 1), E(next, 1), 3, 4, 1, N / 4);					\
	GETS(SIZE, CALL(PREFIX##iget##SUFFIX, E(got, 1), h, 1, 1, N, t_pe(to)), E(want, 1), next, 1, 1, 1, N);	\
	GETS(SIZE, CALL(PREFIX##ibget##SUFFIX, E(got, 1), h, 6, 5, 4, N / 5, t_pe(to)),	\
	     E(want, 1), next, 6, 5, 4, N / 5);						\
	GETS(SIZE, CALL(PREFIX##ibget##SUFFIX, E(got, 1), h, 6, 5, 0, N / 5, t_pe(to)), E(want, 1), next, 6, 5, 0, 0)

#define TYPED(NAME, TYPE)								\
static void fill_##NAME(TYPE *p, int pe, int k)						\
{											\
	memset(p, 0, (size_t)k * sizeof(*p));						\
	for (int i = 0; i < k; i++)							\
		p[i] = (TYPE)(pe * 7 + 3 * i + 1);					\
}											\
static void t_of_##NAME(void)								\
{											\
	TYPE *h = shmem_malloc(ROOM * sizeof(TYPE)), mine[N], theirs[N], next[N], want[ROOM], got[ROOM];	\
											\
	REQUIRE(h != NULL);								\
	fill_##NAME(mine, me, N);							\
	fill_##NAME(theirs, from, N);							\
	for (form = 0; form < FORMS; form++) {						\
		COPIES(NAME##_put, NAME##_get, NAME##_put_signal, NAME##_put_signal_nbi, sizeof(TYPE),	\
		       ELEMENT);							\
		STRIDED(NAME##_, , sizeof(TYPE), ELEMENT);				\
		shmem_barrier_all();							\
		h[1] = h[3] = (TYPE)99;							\
		shmem_barrier_all();							\
		CALL(NAME##_p, h + 2, (TYPE)(me + 5), t_pe(to));			\
		shmem_barrier_all();							\
		CHECK(h[1] == (TYPE)99 && h[2] == (TYPE)(from + 5) && h[3] == (TYPE)99);	\
		CHECK(CALL(NAME##_g, h + 2, t_pe(to)) == (TYPE)(me + 5));		\
		shmem_barrier_all();							\
	}										\
	shmem_free(h);									\
}
#define ELEMENT(p, i) ((p) + (i))
#define fill(p, pe, k) _Generic((p),							\
	float *: fill_float, double *: fill_double, long double *: fill_longdouble,	\
	char *: fill_char, signed char *: fill_schar, short *: fill_short, int *: fill_int, long *: fill_long,	\
	long long *: fill_longlong, unsigned char *: fill_uchar, unsigned short *: fill_ushort,	\
	unsigned *: fill_uint, unsigned long *: fill_ulong, unsigned long long *: fill_ulonglong)(p, pe, k)
static void fill_float(float *p, int pe, int k);
static void fill_double(double *p, int pe, int k);
static void fill_longdouble(long double *p, int pe, int k);
static void fill_char(char *p, int pe, int k);
static void fill_schar(signed char *p, int pe, int k);
static void fill_short(short *p, int pe, int k);
static void fill_int(int *p, int pe, int k);
static void fill_long(long *p, int pe, int k);
static void fill_longlong(long long *p, int pe, int k);
static void fill_uchar(unsigned char *p, int pe, int k);
static void fill_ushort(unsigned short *p, int pe, int k);
static void fill_uint(unsigned *p, int pe, int k);
static void fill_ulong(unsigned long *p, int pe, int k);
static void fill_ulonglong(unsigned long long *p, int pe, int k);
SHMEMI_TYPES_RMA(TYPED)
#undef fill
#undef ELEMENT

static void fill_bytes(unsigned char *p, int pe, size_t k)
{
	for (size_t i = 0; i < k; i++)
		p[i] = (unsigned char)((size_t)pe * 31 + i * 7 + 1);
}

/* Sizes have no type: also at addresses that are not aligned. */
#define SIZED(BITS)									\
static void t_size_##BITS(void)								\
{											\
	enum { B = BITS / 8 };								\
	unsigned char *base = shmem_malloc(ROOM * B + 1), mine[N * B], theirs[N * B], next[N * B];	\
	unsigned char want[ROOM * B], got[ROOM * B];					\
											\
	REQUIRE(base != NULL);								\
	fill_bytes(mine, me, N * B);							\
	fill_bytes(theirs, from, N * B);						\
	for (form = 0; form < FORMS; form++) {						\
		unsigned char *h = base + form % 2;					\
											\
		COPIES(put##BITS, get##BITS, put##BITS##_signal, put##BITS##_signal_nbi, B, ELEMENT);	\
		STRIDED(, BITS, B, ELEMENT);						\
	}										\
	shmem_free(base);								\
}
#define ELEMENT(p, i) ((p) + (size_t)(i) * B)
#define fill(p, pe, k) fill_bytes(p, pe, (k) * B)
SIZED(8) SIZED(16) SIZED(32) SIZED(64) SIZED(128)

static void t_mem(void)
{
	enum { B = 1 };
	unsigned char *h = shmem_malloc(ROOM), mine[N], theirs[N], next[N], want[ROOM], got[ROOM];

	REQUIRE(h != NULL);
	fill_bytes(mine, me, N);
	fill_bytes(theirs, from, N);
	for (form = 0; form < FORMS; form++) {
		COPIES(putmem, getmem, putmem_signal, putmem_signal_nbi, 1, ELEMENT);
		for (size_t k = 2; k < 20; k++) {
			PUTS(1, CALL(putmem, h + k % 3, mine, k, t_pe(to)), want + k % 3, theirs, 1, 1, k, 1);
			memcpy(h, mine, N);
			shmem_barrier_all();
			GETS(1, CALL(getmem, got + k % 3, h + 1, k, t_pe(to)), want + k % 3, next + 1, 1, 1, k, 1);
		}
	}
	shmem_free(h);
}

/* Beyond the sizes that a processor moves at once, up to where a put loads ahead; odd lengths, fresh memory. */
static void t_long_copies(void)
{
	static const size_t len[] = { 255, 4096, 65537, (256 << 10) - 1, 256 << 10, (1 << 20) + 3, 3000001 };
	unsigned char *mine = malloc(3 << 20), *got = malloc(3 << 20);

	REQUIRE(mine && got);
	for (size_t k = 0; k < sizeof(len) / sizeof(*len); k++) {
		unsigned char *h = shmem_malloc(len[k] + 2);
		int bad = 0;

		REQUIRE(h != NULL);
		form = (int)k % FORMS;
		h[0] = h[len[k] + 1] = GUARD;
		fill_bytes(mine, me, len[k]);
		shmem_barrier_all();
		CALL(putmem, h + 1, mine, len[k], t_pe(to));
		shmem_barrier_all();
		for (size_t i = 0; i < len[k]; i++)
			bad += h[i + 1] != (unsigned char)((size_t)from * 31 + i * 7 + 1);
		CHECK_INT(bad, 0);
		CHECK(h[0] == GUARD && h[len[k] + 1] == GUARD);
		CALL(getmem, got, h + 1, len[k], t_pe(to));
		CHECK_MEM(got, mine, len[k]);
		shmem_free(h);
	}
	free(mine);
	free(got);
}

/* What older programs do, and nothing forbids it here. */
static void t_strides_may_run_backwards(void)
{
	long *h = shmem_malloc(20 * sizeof(long)), src[10], got[10];

	REQUIRE(h != NULL);
	for (int i = 0; i < 10; i++)
		src[i] = 100 * me + i;
	shmem_long_iput(h + 9, src, -1, 1, 10, to);
	shmem_barrier_all();
	for (int i = 0; i < 10; i++)
		CHECK_INT(h[9 - i], 100 * from + i);
	shmem_long_iget(got + 9, h + 9, -1, -1, 10, to);
	for (int i = 0; i < 10; i++)
		CHECK_INT(got[9 - i], src[i]);
	shmem_free(h);
}

static void t_contexts_are_made_and_ended(void)
{
	enum { MANY = 500 };
	static shmem_ctx_t c[MANY];
	static long *h;
	shmem_team_t team, world;
	int me_in[2] = { me, to };

	h = shmem_calloc(MANY, sizeof(long));
	REQUIRE(h != NULL);
	for (int i = 0; i < MANY; i++) {
		REQUIRE(shmem_ctx_create(i % 8, &c[i]) == 0 && c[i] != SHMEM_CTX_INVALID);
		shmem_ctx_long_p(c[i], &h[i], me + i, to);
	}
	for (int i = 0; i < MANY; i += 2)
		shmem_ctx_destroy(c[i]);
	for (int i = 1; i < MANY; i += 2) {
		shmem_ctx_fence(c[i]);
		shmem_ctx_pe_quiet(c[i], me_in, 2);
		shmem_ctx_pe_quiet(c[i], NULL, 0);
		shmem_ctx_session_start(c[i], SHMEM_CTX_SESSION_BATCH,
					&(shmem_ctx_session_config_t){ .total_ops = 1 }, SHMEM_CTX_SESSION_TOTAL_OPS);
		shmem_ctx_session_stop(c[i]);
		shmem_ctx_destroy(c[i]);
	}
	shmem_pe_quiet(me_in, 2);
	shmem_pe_quiet(NULL, 0);
	shmem_barrier_all();
	for (int i = 0; i < MANY; i++)
		CHECK_INT(h[i], from + i);
	shmem_ctx_destroy(SHMEM_CTX_INVALID);
	CHECK(shmem_ctx_create(1l << 20, &c[0]) != 0 && c[0] == SHMEM_CTX_INVALID);
	CHECK(shmem_team_create_ctx(NULL, 0, &c[0]) != 0 && c[0] == SHMEM_CTX_INVALID);
	CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == NULL);
	CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &world) == 0 && world != NULL);
	CHECK(shmem_ctx_get_team(t_ctx[CTX_MADE], &team) == 0 && team == world);
	CHECK(shmem_ctx_get_team(t_ctx[CTX_TEAM], &team) == 0 && team != NULL);
	shmem_free(h);
}

static void t_heap_with_hints(void)
{
	long *h = shmem_malloc_with_hints(8 * sizeof(*h), SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);

	REQUIRE(h != NULL);
	h[0] = 0;
	shmem_barrier_all();
	shmem_long_atomic_inc(h, to);
	shmem_barrier_all();
	CHECK_INT(h[0], 1);
	h = shmem_realloc(h, 100000);
	CHECK(h && h[0] == 1);
	shmem_free(h);
	CHECK(shmem_malloc_with_hints(0, 0) == NULL);
	shmem_pcontrol(1);
	shmem_pcontrol(3, "for a tool", 2);
}

int main(void)
{
	static const struct t_case cases[] = {
#define ONE(NAME, TYPE) T(t_of_##NAME),
		SHMEMI_TYPES_RMA(ONE)
		T(t_size_8), T(t_size_16), T(t_size_32), T(t_size_64), T(t_size_128), T(t_mem), T(t_long_copies),
		T(t_strides_may_run_backwards), T(t_contexts_are_made_and_ended), T(t_heap_with_hints), { 0 }
	};
	int rc;

	sm_start();
	sig = shmem_calloc(1, sizeof(*sig));
	if (!sig || t_ctx_start())
		return 2;
	rc = t_run(cases);
	t_ctx_end();
	shmem_finalize();
	return rc;
}

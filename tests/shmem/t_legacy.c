/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_legacy.c - names older than OpenSHMEM, and Cray's extensions; the program has no end but start_pes()'s own */
#include <mpp/pshmem.h>
#include <mpp/shmemx.h>
#include <string.h>

#include "multi.h"
#include "tap.h"

static int me, n, to, from;
static long words[64], event;
static short halves[8];

static void t_names_of_the_pe(void)
{
	CHECK_INT(me, shmem_my_pe());
	CHECK_INT(n, shmem_n_pes());
	CHECK_INT(my_pe(), me);
	CHECK_INT(num_pes(), n);
	CHECK_INT(pmy_pe(), me);
	CHECK_INT(p_num_pes(), n);
	start_pes(17);
	CHECK_INT(_num_pes(), n);
	CHECK_INT(shmemx_query_thread(), SHMEM_THREAD_MULTIPLE);
}

static void t_heap_by_old_names(void)
{
	long *a = shmalloc(100 * sizeof(*a)), *b = shmemalign(4096, 64);

	REQUIRE(a && b);
	CHECK(!((uintptr_t)b & 4095));
	a[99] = me;
	a = shrealloc(a, 5000 * sizeof(*a));
	REQUIRE(a != NULL);
	CHECK_INT(a[99], me);
	CHECK(shmem_addr_accessible(a, to));
	shfree(b);
	shfree(a);
}

/* A barrier, as Cray's: nobody leaves before all have come. */
static void t_free_of_null_is_a_barrier(void)
{
	for (int r = 1; r <= 20; r++) {
		atomic_fetch_add(t_word(0), 1);
		shfree(NULL);
		CHECK(atomic_load(t_word(0)) >= (uint64_t)(r * n));
		barrier();
	}
}

static void t_words_of_64_bits(void)
{
	long mine[8], back[8] = { 0 };

	for (int i = 0; i < 8; i++)
		mine[i] = 100 * me + i;
	(shmem_put)(words, mine, 8, to);
	barrier();
	for (int i = 0; i < 8; i++)
		CHECK_INT(words[i], 100 * from + i);
	(shmem_get)(back, words, 8, to);
	for (int i = 0; i < 8; i++)
		CHECK_INT(back[i], 100 * me + i);
	barrier();
	(shmem_iput)(words + 8, mine, 3, 2, 4, to);
	barrier();
	for (int i = 0; i < 4; i++)
		CHECK_INT(words[8 + 3 * i], 100 * from + 2 * i);
	(shmem_iget)(back, words + 8, 2, 3, 4, to);
	for (int i = 0; i < 4; i++)
		CHECK_INT(back[2 * i], 100 * me + 2 * i);
	barrier();
	words[0] = 1000 + me;
	barrier();
	CHECK_INT((shmem_swap)(words, 2000 + me, to), 1000 + to);
	barrier();
	CHECK_INT(words[0], 2000 + from);
	barrier();
}

#define INDEXED(N, T, I, PUT, GET)							\
static void t_indexed_##N(void)								\
{											\
	enum { LEN = 40 };								\
	T *room = shmem_calloc(LEN, sizeof(T)), mine[5], back[5];			\
	static const I at[5] = { 39, 0, 7, 21, 8 };					\
											\
	REQUIRE(room != NULL);								\
	memset(mine, 0, sizeof(mine));							\
	for (int i = 0; i < 5; i++)							\
		mine[i] = (T)(me * 5 + i + 1);						\
	PUT(room, mine, at, 5, to);							\
	barrier();									\
	for (int i = 0; i < LEN; i++) {							\
		T want = 0;								\
											\
		for (int k = 0; k < 5; k++)						\
			if (at[k] == i)							\
				want = (T)(from * 5 + k + 1);				\
		CHECK(room[i] == want);							\
	}										\
	GET(back, room, at, 5, to);							\
	for (int i = 0; i < 5; i++)							\
		CHECK(back[i] == mine[i]);						\
	PUT(room, mine, at, 0, to);							\
	shmem_free(room);								\
}
#define INDEXED_TYPE(N, T) INDEXED(N, T, int, shmem_##N##_ixput, shmem_##N##_ixget)
SHMEMI_TYPES_IX(INDEXED_TYPE)
INDEXED(words, long, long long, shmem_ixput, shmem_ixget)
INDEXED(32, int, int, shmem_ixput32, shmem_ixget32)
INDEXED(64, double, int, shmem_ixput64, shmem_ixget64)
INDEXED(128, double _Complex, int, shmem_ixput128, shmem_ixget128)

#define MSWAP(N, T)									\
static void t_masked_swap_##N(void)							\
{											\
	T *v = shmem_calloc(1, sizeof(T));						\
	T got;										\
											\
	REQUIRE(v != NULL);								\
	*v = (T)0x1234;									\
	barrier();									\
	got = shmem_##N##_mswap(v, 0x0ff0, (T)~0, to);					\
	CHECK_INT(got, 0x1234);								\
	barrier();									\
	CHECK_INT(*v, 0x1ff4);								\
	/* all PEs set and clear a bit of their own: nobody's change is lost */		\
	barrier();									\
	*v = 0;										\
	barrier();									\
	for (int i = 0; me < 14 && i < 501; i++)					\
		shmem_##N##_mswap(v, (T)(1 << me), (T)(i & 1 ? 0 : -1), 0);		\
	barrier();									\
	if (!me)									\
		CHECK_INT(*v, (1 << (n < 14 ? n : 14)) - 1);				\
	shmem_free(v);									\
}
MSWAP(int, int)
MSWAP(long, long)
MSWAP(short, short)

static void t_atomics_of_16_bits(void)
{
	short *mine = &halves[3];

	*mine = -7;
	barrier();
	CHECK_INT(shmem_short_swap(&halves[3], 5, to), -7);
	CHECK_INT(shmem_short_cswap(&halves[3], 4, 9, to), 5);
	CHECK_INT(shmemx_short_cswap(&halves[3], 5, 9, to), 5);
	CHECK_INT(shmem_short_fadd(&halves[3], 30000, to), 9);
	CHECK_INT(shmem_short_finc(&halves[3], to), 30009);
	barrier();
	CHECK_INT(*mine, 30010);
	*mine = 0;
	barrier();
	for (int i = 0; i < 1000; i++) {
		shmem_short_inc(&halves[3], 0);
		shmemx_short_add(&halves[3], 2, 0);
	}
	barrier();
	if (!me)
		CHECK_INT(halves[3], (short)(3000 * n));
	CHECK_INT(halves[2], 0);
	CHECK_INT(halves[4], 0);
	barrier();
}

static void t_nonblocking_with_handles(void)
{
	long mine[4] = { me, me + 1, me + 2, me + 3 };
	void *handle = &handle;

	shmem_long_put_nb(words, mine, 4, to, &handle);
	CHECK(handle == NULL);
	shmem_put64_nb(words + 4, mine, 4, to, NULL);
	shmem_putmem_nb(words + 8, mine, 9, to, NULL);
	shmemx_long_put_nb(words + 12, mine, 4, to);
	shmem_quiet();
	barrier();
	for (int i = 0; i < 4; i++) {
		CHECK_INT(words[i], from + i);
		CHECK_INT(words[4 + i], from + i);
		CHECK_INT(words[12 + i], from + i);
	}
	CHECK_INT(words[8], from);
	shmemx_long_get_nb(mine, words + 12, 2, to);
	shmemx_thread_quiet();
	CHECK_INT(mine[1], me + 1);
	barrier();
}

static void t_put_signal_of_the_extensions(void)
{
	enum { LEN = 300 };
	static uint64_t seen;
	int *data = shmem_calloc(LEN, sizeof(*data)), mine[LEN], bad = 0;

	REQUIRE(data != NULL);
	for (int r = 1; r <= 100; r++) {
		for (int i = 0; i < LEN; i++)
			mine[i] = r;
		shmemx_int_put_signal(data, mine, LEN, &seen, (uint64_t)r, to);
		shmem_uint64_wait_until(&seen, SHMEM_CMP_EQ, (uint64_t)r);
		for (int i = 0; i < LEN; i++)
			bad += data[i] != r;
		barrier();
	}
	CHECK_INT(bad, 0);
	shmemx_pe_quiet(to);
	shmemx_local_complete();
	shmem_free(data);
}

/* The last PE posts; all others see what it put before. */
static void t_events(void)
{
	for (int r = 1; r <= 50; r++) {
		CHECK_INT(shmem_test_event(&event), 0);
		barrier();
		if (me == n - 1) {
			for (int pe = 0; pe < n; pe++)
				shmem_long_p(&words[20], r, pe);
			shmem_set_event(&event);
		}
		shmem_wait_event(&event);
		CHECK_INT(words[20], r);
		CHECK_INT(shmem_test_event(&event), 1);
		barrier();
		shmem_clear_event(&event);
		shmem_clear_event(&event);
		barrier();
	}
}

static void t_caches_are_coherent(void)
{
	shmem_set_cache_inv();
	shmem_set_cache_line_inv(words);
	shmem_long_p(words, 77 + me, to);
	barrier();
	shmem_udcflush();
	shmem_udcflush_line(words);
	CHECK_INT(words[0], 77 + from);
	shmem_clear_cache_line_inv(words);
	shmem_clear_cache_inv();
	barrier();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_names_of_the_pe), T(t_heap_by_old_names), T(t_free_of_null_is_a_barrier), T(t_words_of_64_bits),
		T(t_indexed_words), T(t_indexed_32), T(t_indexed_64), T(t_indexed_128),
		T(t_indexed_short), T(t_indexed_int), T(t_indexed_long), T(t_indexed_longlong), T(t_indexed_float),
		T(t_indexed_double), T(t_indexed_longdouble), T(t_indexed_complexf), T(t_indexed_complexd),
		T(t_masked_swap_int), T(t_masked_swap_long), T(t_masked_swap_short), T(t_atomics_of_16_bits),
		T(t_nonblocking_with_handles), T(t_put_signal_of_the_extensions), T(t_events),
		T(t_caches_are_coherent), { 0 }
	};

	start_pes(0);
	me = _my_pe();
	n = _num_pes();
	to = (me + 1) % n;
	from = (me + n - 1) % n;
	return t_run(cases);
}

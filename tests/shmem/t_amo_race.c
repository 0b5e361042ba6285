/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_amo_race.c - one variable, and operations on it by its own PE, by PEs of its node, and by those of other nodes, all
 * at once: processors on the one hand, what Portals does in another thread or process on the other. Nothing is lost.
 */
#include <mpp/shmem.h>
#include <pthread.h>

#include "sm.h"

enum { ROUNDS = 1500, THREADS = 3 };

/* Increments that are waited for and ones that are not; adds; of each size. */
static void t_the_sum_is_exact(void)
{
	long *l = shmem_calloc(1, sizeof(*l));
	int *i = shmem_calloc(2, sizeof(*i));
	static unsigned long u;

	REQUIRE(l && i);
	for (int r = 0; r < ROUNDS; r++) {
		shmem_long_atomic_inc(l, 0);
		shmem_int_atomic_add(i + 1, me + 1, 0);	/* the upper half of a word of 8 bytes */
		shmem_ulong_atomic_add(&u, 3, 0);
		if (r % 8 == 0)
			CHECK(shmem_long_atomic_fetch_inc(l, 0) >= r);
	}
	shmem_barrier_all();
	CHECK_INT(shmem_long_g(l, 0), (long)n * (ROUNDS + (ROUNDS + 7) / 8));
	CHECK_INT(shmem_int_g(i + 1, 0), ROUNDS * n * (n + 1) / 2);
	CHECK_INT(shmem_int_g(i, 0), 0);
	CHECK_INT(shmem_ulong_g(&u, 0), 3ul * ROUNDS * (unsigned long)n);
	shmem_barrier_all();
	shmem_free(i);
	shmem_free(l);
}

/* A word that is swapped by all, each with values of its own: none is lost, none is got twice. */
#define SWAPS(NAME, TYPE, EACH)									\
static void t_swap_##NAME(void)									\
{												\
	TYPE *v = shmem_calloc(4, sizeof(TYPE));						\
	long *sum = shmem_calloc(1, sizeof(long)), mine = 0;					\
												\
	REQUIRE(v && sum);									\
	/* the numbers from 1 on, once each; 0 stands there at first; [1] has a neighbour on each side */	\
	for (int r = 0; r < (EACH); r++)							\
		mine += (long)shmem_##NAME##_atomic_swap(&v[1], (TYPE)(1 + me * (EACH) + r), 0);	\
	shmem_long_atomic_add(sum, mine, 0);							\
	shmem_barrier_all();									\
	if (!me) {										\
		long all = (long)n * (EACH);							\
												\
		CHECK_INT(*sum + (long)v[1], all * (all + 1) / 2);				\
		CHECK(v[0] == 0 && v[2] == 0 && v[3] == 0);					\
	}											\
	shmem_barrier_all();									\
	shmem_free(sum);									\
	shmem_free(v);										\
}
SWAPS(int, int, ROUNDS) SWAPS(float, float, ROUNDS) SWAPS(double, double, ROUNDS)

/* Words of 16 bits are there under their older names; neighbours in one word of 4 bytes are counted at once. */
static void t_the_sum_of_short_words(void)
{
	short *s = shmem_calloc(4, sizeof(*s));

	REQUIRE(s != NULL);
	for (int r = 0; r < ROUNDS; r++) {
		shmem_short_finc(&s[me & 1], 0);
		shmem_short_fadd(&s[2], 2, 0);
	}
	shmem_barrier_all();
	if (!me) {
		CHECK_INT(s[0], (short)((n + 1) / 2 * ROUNDS));
		CHECK_INT(s[1], (short)(n / 2 * ROUNDS));
		CHECK_INT(s[2], (short)(2 * n * ROUNDS));
		CHECK_INT(s[3], 0);
	}
	shmem_barrier_all();
	shmem_free(s);
}

/* Each value of the counter is given to one PE, once. */
static void t_each_ticket_is_given_once(void)
{
	long *next = shmem_calloc(1, sizeof(*next));
	int *taken = shmem_calloc((size_t)(ROUNDS * n), sizeof(*taken)), bad = 0;

	REQUIRE(next && taken);
	for (int r = 0; r < ROUNDS; r++)
		shmem_int_atomic_inc(&taken[shmem_long_atomic_fetch_inc(next, 0)], 0);
	shmem_barrier_all();
	for (int r = 0; !me && r < ROUNDS * n; r++)
		bad += taken[r] != 1;
	CHECK_INT(bad, 0);
	shmem_free(taken);
	shmem_free(next);
}

/* A lock of compare-and-swap, given back by a set: what it protects is plain memory. */
static void t_a_lock_keeps_all_others_out(void)
{
	struct {
		int lock, pad;
		long a, b;
	} *s = shmem_calloc(1, sizeof(*s));
	long a, b;

	REQUIRE(s != NULL);
	for (int r = 0; r < ROUNDS / 10; r++) {
		while (shmem_int_atomic_compare_swap(&s->lock, 0, me + 1, 0))
			sched_yield();
		a = shmem_long_g(&s->a, 0);
		b = shmem_long_g(&s->b, 0);
		CHECK(a == b);
		shmem_long_p(&s->a, a + 1, 0);
		shmem_long_p(&s->b, b + 1, 0);
		shmem_quiet();
		shmem_int_atomic_set(&s->lock, 0, 0);
	}
	shmem_barrier_all();
	CHECK_INT(shmem_long_g(&s->a, 0), (long)n * (ROUNDS / 10));
	CHECK_INT(shmem_long_g(&s->b, 0), (long)n * (ROUNDS / 10));
	shmem_barrier_all();
	shmem_free(s);
}

/* Each PE owns a bit and turns it on and off: nobody else's changes by that. */
static void t_bits_are_their_owners(void)
{
	uint64_t *w = shmem_calloc(1, sizeof(*w)), bit = 1ull << (unsigned)me;
	int bad = 0;

	REQUIRE(w != NULL);
	for (int r = 0; r < ROUNDS / 2; r++) {
		bad += !!(shmem_uint64_atomic_fetch_or(w, bit, 0) & bit);
		bad += !(shmem_uint64_atomic_fetch_and(w, ~bit, 0) & bit);
		bad += !!(shmem_uint64_atomic_fetch_xor(w, bit, 0) & bit);
		bad += !(shmem_uint64_atomic_fetch_xor(w, bit, 0) & bit);
	}
	CHECK_INT(bad, 0);
	shmem_barrier_all();
	CHECK(shmem_uint64_g(w, 0) == 0);
	shmem_barrier_all();
	shmem_free(w);
}

static long *by_threads, *of_threads;

static void *work(void *arg)
{
	long k = (long)(uintptr_t)arg, v;

	for (long r = 1; r <= ROUNDS / 5; r++) {
		shmem_long_atomic_inc(by_threads, 0);
		shmem_long_p(&of_threads[k], r, (me + 1) % n);
		shmem_quiet();			/* of this thread's own, whatever the others do */
		v = shmem_long_g(&of_threads[k], (me + 1) % n);
		if (!CHECK(v == r))
			break;
	}
	return NULL;
}

/* Threads at once; a quiet of one is not kept by those of the others. */
static void t_threads(void)
{
	pthread_t t[THREADS];

	by_threads = shmem_calloc(1, sizeof(long));
	of_threads = shmem_calloc(THREADS, sizeof(long));
	REQUIRE(by_threads && of_threads);
	for (uintptr_t k = 0; k < THREADS; k++)
		REQUIRE(!pthread_create(&t[k], NULL, work, (void *)k));
	for (int k = 0; k < THREADS; k++)
		pthread_join(t[k], NULL);
	shmem_barrier_all();
	CHECK_INT(shmem_long_g(by_threads, 0), (long)n * THREADS * (ROUNDS / 5));
	shmem_barrier_all();
	shmem_free(of_threads);
	shmem_free(by_threads);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_the_sum_is_exact), T(t_the_sum_of_short_words), T(t_swap_int), T(t_swap_float), T(t_swap_double),
		T(t_each_ticket_is_given_once), T(t_a_lock_keeps_all_others_out),
		T(t_bits_are_their_owners), T(t_threads), { 0 }
	};

	sm_start();
	return sm_end(t_run(cases));
}

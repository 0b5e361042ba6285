/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_amo.c - each atomic operation in its forms and names; none is lost when all PEs work on one word */
#include <pthread.h>

#include "dm.h"

static uint64_t in_data[8];
static uint64_t *word, *count;

/* The word of the next PE, which only this one changes. */
static uint64_t there(void)
{
	uint64_t v = 0;

	OK(dmapp_get(&v, word, sheap, to, 1, DMAPP_QW));
	return v;
}

static void put_there(uint64_t v)
{
	OK(dmapp_put(word, sheap, to, &v, 1, DMAPP_QW));
}

#define A	0x123456789abcdef0u
#define B	0x0ff0a5a5c3c31117u

/* @name without a result: from A, with B, to @new. */
#define PUT_LIKE(name, new)								\
	for (int form = 0; form < 3; form++) {						\
		put_there(A);								\
		OK(FORM(form, dmapp_##name##_qw, word, sheap, to, (int64_t)B));		\
		CHECK_INT(there(), new);						\
		put_there(A);								\
		OK(FORM(form, dmapp_qw_##name, word, sheap, to, (int64_t)B));		\
		CHECK_INT(there(), new);						\
	}
#define GET_LIKE(name, new)								\
	for (int form = 0; form < 3; form++) {						\
		int64_t old = 0;							\
											\
		put_there(A);								\
		OK(FORM(form, dmapp_##name##_qw, &old, word, sheap, to, (int64_t)B));	\
		CHECK_INT(old, A);							\
		CHECK_INT(there(), new);						\
		put_there(A);								\
		old = 0;								\
		OK(FORM(form, dmapp_qw_##name, &old, word, sheap, to, (int64_t)B));	\
		CHECK_INT(old, A);							\
		CHECK_INT(there(), new);						\
	}

static void t_put_like(void)
{
	PUT_LIKE(aadd, A + B);
	PUT_LIKE(aand, A & B);
	PUT_LIKE(aor, A | B);
	PUT_LIKE(axor, A ^ B);
}

static void t_get_like(void)
{
	GET_LIKE(afadd, A + B);
	GET_LIKE(afand, A & B);
	GET_LIKE(afor, A | B);
	GET_LIKE(afxor, A ^ B);
}

/* All the ways that afax takes: swap, and, xor, masked swap, a loop. */
static void t_afax(void)
{
	static const uint64_t masks[][2] = { { 0, B }, { B, 0 }, { ~0ull, B }, { 0xffff, 0xabcd0000 },
						{ B, A ^ 0xff00ff }, { 0, 0 } };

	for (unsigned i = 0; i < 6; i++)
		for (int form = 0; form < 3; form++) {
			int64_t old = 0;

			put_there(A);
			OK(FORM(form, dmapp_afax_qw, &old, word, sheap, to, (int64_t)masks[i][0],
				(int64_t)masks[i][1]));
			CHECK_INT(old, A);
			CHECK_INT(there(), (A & masks[i][0]) ^ masks[i][1]);
			OK(FORM(form, dmapp_qw_afax, &old, word, sheap, to, 0, 7));
			CHECK_INT(there(), 7);
		}
}

static void t_acswap(void)
{
	for (int form = 0; form < 3; form++) {
		int64_t old = 0;

		put_there(A);
		OK(FORM(form, dmapp_acswap_qw, &old, word, sheap, to, 5, 6));
		CHECK_INT(old, A);
		CHECK_INT(there(), A);
		OK(FORM(form, dmapp_acswap_qw, &old, word, sheap, to, (int64_t)A, 6));
		CHECK_INT(old, A);
		CHECK_INT(there(), 6);
		OK(FORM(form, dmapp_qw_acswap, &old, word, sheap, to, 6, 9));
		CHECK_INT(there(), 9);
	}
}

static void t_in_a_block(void)
{
	static const uint64_t new[] = { A + B, A & B, A | B, A ^ B, (A & B) ^ 3, 3 };

	for (int form = 0; form < 3; form++)
		for (unsigned op = 0; op < 6; op++) {
			dmapp_amo_t amo = { (dmapp_amo_op_t)op, (int64_t)(op == DMAPP_ACSWAP ? A : B), 3 };
			int64_t old = 0;

			put_there(A);
			OK(FORM(form, dmapp_amo_get, &old, word, sheap, to, &amo));
			CHECK_INT(old, A);
			CHECK_INT(there(), new[op]);
			put_there(A);
			if (op <= DMAPP_AXOR) {
				OK(FORM(form, dmapp_amo_put, word, sheap, to, &amo));
				CHECK_INT(there(), new[op]);
			} else {
				IS(dmapp_amo_put(word, sheap, to, &amo), INVALID_PARAM);
			}
		}
	OK(dmapp_amo_flush(to, 0));
	IS(dmapp_amo_flush(n, 0), INVALID_PARAM);
}

static void t_bad_places(void)
{
	int64_t old;

	IS(dmapp_aadd_qw((char *)word + 4, sheap, to, 1), ALIGNMENT_ERROR);
	IS(dmapp_afadd_qw(&old, (char *)word + 1, sheap, to, 1), ALIGNMENT_ERROR);
	IS(dmapp_afadd_qw(NULL, word, sheap, to, 1), INVALID_PARAM);
	IS(dmapp_aadd_qw(word, data, to, 1), INVALID_PARAM);
	IS(dmapp_aadd_qw(word, sheap, n, 1), INVALID_PARAM);
	IS(dmapp_aadd_qw(word, sheap, -1, 1), INVALID_PARAM);
	IS(dmapp_aadd_qw(word, NULL, to, 1), INVALID_PARAM);
	IS(dmapp_aadd_qw_nb(word, sheap, to, 1, NULL), INVALID_PARAM);
	IS(dmapp_aadd_qw((char *)sheap->addr + sheap->len, sheap, to, 1), INVALID_PARAM);
}

/* All PEs, all operations that add one way or another, on one word of PE 0 and one of its static data. */
static void t_none_is_lost(void)
{
	enum { TIMES = 300 };
	int64_t old, seen;

	if (me == 0)
		*count = in_data[0] = 0;
	dm_barrier();
	for (int i = 0; i < TIMES; i++) {
		OK(dmapp_aadd_qw_nbi(count, sheap, 0, 1));
		OK(dmapp_afadd_qw(&old, count, sheap, 0, 1));
		OK(dmapp_aadd_qw(in_data, data, 0, 1));
		/* by hand */
		OK(dmapp_get(&old, count, sheap, 0, 1, DMAPP_QW));
		do {
			seen = old;
			OK(dmapp_acswap_qw(&old, count, sheap, 0, seen, seen + 1));
		} while (old != seen);
		/* the own processor's */
		if (me == 0)
			__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	}
	OK(dmapp_gsync_wait());
	dm_barrier();
	OK(dmapp_get(&old, count, sheap, 0, 1, DMAPP_QW));
	CHECK_INT(old, TIMES * (3 * n + 1));
	OK(dmapp_get(&old, in_data, data, 0, 1, DMAPP_QW));
	CHECK_INT(old, TIMES * n);
	dm_barrier();
}

/* A bit of each PE, flipped by afax by way of a loop, while the others flip theirs. */
static void t_afax_is_atomic(void)
{
	uint64_t mine = UINT64_C(1) << (me % 32), v;
	int64_t old;

	if (me == 0)
		*count = 0;
	dm_barrier();
	for (int i = 0; i < 301; i++) {
		/* clears and sets: (old & ~(mine << 32)) ^ (mine | mine << 32) */
		OK(dmapp_afax_qw(&old, count, sheap, 0, (int64_t)~(mine << 32), (int64_t)(mine | mine << 32)));
		CHECK(!!((uint64_t)old & mine) == (i & 1));
	}
	dm_barrier();
	OK(dmapp_get(&v, count, sheap, 0, 1, DMAPP_QW));
	for (int pe = 0; pe < n && pe < 32; pe++)
		CHECK((v >> pe & 1) && (v >> (pe + 32) & 1));
	dm_barrier();
}

enum { THREADS = 3, EACH = 400 };

static void *add(void *arg)
{
	int64_t old;

	for (int i = 0; i < EACH; i++) {
		dmapp_aadd_qw(count, sheap, to, 1);
		dmapp_afadd_qw_nbi(&old, count, sheap, to, 1);
		dmapp_thread_gsync_wait();
	}
	return NULL;
}

static void t_from_threads(void)
{
	pthread_t t[THREADS];

	*count = 0;
	dm_barrier();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, add, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	dm_barrier();
	CHECK_INT(*count, 2 * THREADS * EACH);
	dm_barrier();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_put_like), T(t_get_like), T(t_afax), T(t_acswap), T(t_in_a_block), T(t_bad_places),
			T(t_none_is_lost),
		T(t_afax_is_atomic), T(t_from_threads), { 0 }
	};
	int rc;

	dm_start(NULL);
	word = dmapp_heap_malloc(64);
	count = dmapp_heap_malloc(64);
	rc = t_run(cases);
	dm_barrier();
	return dmapp_finalize() == DMAPP_RC_SUCCESS ? rc : 1;
}

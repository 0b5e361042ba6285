/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_order.c - litmus tests of the memory model, as stress: random lengths, places and routines, from a printed seed
 *
 * What must never be seen: a flag without the data before the fence; a signal without its data; both sides of a quiet
 * missing the other's store; old data behind a flag that a third PE has got; an entry of a queue that is not whole.
 */
#include <stdbool.h>

#include "sm.h"

enum { LEN = 3000, ROUNDS = 1500 };
static uint64_t seed;			/* the same on all PEs */
static shmem_ctx_t ctx;

/* Data for a round; who writes and who reads compute the same. */
static void fill(uint32_t *p, size_t len, uint32_t mark)
{
	for (size_t i = 0; i < len; i++)
		p[i] = mark ^ (uint32_t)i * 2654435761u;
}

static bool whole(const uint32_t *p, size_t len, uint32_t mark)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != (mark ^ (uint32_t)i * 2654435761u)) {
			diag("element %zu of %zu is %#x, want %#x", i, len, p[i], mark ^ (uint32_t)i * 2654435761u);
			return false;
		}
	return true;
}

static void fence(uint64_t how)
{
	switch (how % 3) {
	case 0:
		shmem_fence();
		break;
	case 1:
		shmem_quiet();
		break;
	default:
		shmem_ctx_fence(SHMEM_CTX_DEFAULT);
	}
}

static void set_flag(uint64_t *flag, uint64_t v, int pe, uint64_t how)
{
	switch (how % 5) {
	case 0:
		shmem_uint64_p(flag, v, pe);
		break;
	case 1:
		shmem_uint64_atomic_set(flag, v, pe);
		break;
	case 2:
		shmem_uint64_put(flag, &v, 1, pe);
		break;
	case 3:
		shmem_uint64_atomic_inc(flag, pe);	/* flags go up by one a round */
		break;
	default:
		shmem_putmem(flag, &v, sizeof(v), pe);
	}
}

static void wait_flag(uint64_t *flag, uint64_t v, uint64_t how)
{
	switch (how % 4) {
	case 0:
		shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, v);
		break;
	case 1:
		while (!shmem_uint64_test(flag, SHMEM_CMP_GE, v))
			sched_yield();
		break;
	case 2:
		shmem_signal_wait_until(flag, SHMEM_CMP_GE, v);
		break;
	default:
		shmem_uint64_wait_until_any(flag, 1, NULL, SHMEM_CMP_NE, v - 1);
	}
}

static void t_flag_behind_fence(void)
{
	uint32_t *data = shmem_calloc(LEN + 8, sizeof(*data)), mine[LEN];
	uint64_t *flag = shmem_calloc(2, sizeof(*flag)), s = seed;

	REQUIRE(data && flag);
	for (uint64_t r = 1; r <= ROUNDS; r++) {
		size_t at = t_random(&s) % 8, len = t_random(&s) % 4 ? t_random(&s) % 40 + 1 : t_random(&s) % LEN + 1;
		uint64_t how = t_random(&s) >> 8;

		fill(mine, len, (uint32_t)r + (uint32_t)me);
		switch (how % 4) {
		case 0:
			shmem_uint32_put(data + at, mine, len, to);
			break;
		case 1:
			shmem_uint32_put_nbi(data + at, mine, len, to);
			break;
		case 2:
			shmem_uint32_iput(data + at, mine, 1, 1, len, to);
			break;
		default:
			for (size_t i = 0; i < len; i++)
				shmem_uint32_p(data + at + i, mine[i], to);
		}
		fence(how >> 2);
		set_flag(&flag[0], r, to, how >> 8);
		wait_flag(&flag[0], r, how >> 16);
		REQUIRE(whole(data + at, len, (uint32_t)r + (uint32_t)from));
		set_flag(&flag[1], r, from, how >> 24);		/* read: the next may come */
		wait_flag(&flag[1], r, how >> 32);
	}
	shmem_barrier_all();
	shmem_free(flag);
	shmem_free(data);
}

static void t_signal_behind_data(void)
{
	uint32_t *data = shmem_calloc(LEN + 8, sizeof(*data)), mine[LEN];
	uint64_t *sig = shmem_calloc(2, sizeof(*sig)), s = seed + 1;

	REQUIRE(data && sig);
	for (uint64_t r = 1; r <= ROUNDS; r++) {
		size_t at = t_random(&s) % 8, len = t_random(&s) % 4 ? t_random(&s) % 40 : t_random(&s) % LEN + 1;
		uint64_t how = t_random(&s) >> 8, v = how & 1 ? r : 1;
		int op = how & 1 ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;

		fill(mine, len, (uint32_t)r + (uint32_t)me);
		switch (how >> 1 & 3) {
		case 0:
			shmem_uint32_put_signal(data + at, mine, len, &sig[0], v, op, to);
			break;
		case 1:
			shmem_uint32_put_signal_nbi(data + at, mine, len, &sig[0], v, op, to);
			break;
		case 2:
			shmem_ctx_putmem_signal(ctx, data + at, mine, 4 * len, &sig[0], v, op, to);
			break;
		default:
			shmem_put32_signal(data + at, mine, len, &sig[0], v, op, to);
		}
		wait_flag(&sig[0], r, how >> 8);
		REQUIRE(whole(data + at, len, (uint32_t)r + (uint32_t)from));
		shmem_quiet();					/* nbi: mine is filled again */
		shmem_ctx_quiet(ctx);
		shmem_signal_add(&sig[1], 1, from);
		wait_flag(&sig[1], r, how >> 16);
	}
	shmem_barrier_all();
	shmem_free(sig);
	shmem_free(data);
}

/* Each stores to the other and looks, behind a quiet, for what the other has stored: one of them sees it. */
static void t_quiet_is_seen_by_one_of_two(void)
{
	long *x = shmem_calloc(1, sizeof(*x)), *saw = shmem_calloc(2, sizeof(*saw));
	uint64_t *go = shmem_calloc(2, sizeof(*go)), s = seed + 2;
	int other = me ^ 1;

	REQUIRE(x && saw && go);
	if (other < n)
		for (uint64_t r = 1; r <= 10 * ROUNDS; r++) {
			uint64_t how = t_random(&s);
			long mine, warm;

			/* both begin at the same time, as well as they can */
			shmem_uint64_p(&go[0], r, other);
			for (int i = 0; i < 2000 && !shmem_uint64_test(&go[0], SHMEM_CMP_GE, r); i++)
				;
			shmem_uint64_wait_until(&go[0], SHMEM_CMP_GE, r);
			/* own line in the cache: the load is early, the store, which must fetch the other line, late */
			warm = __atomic_load_n(x, __ATOMIC_RELAXED);
			if ((how >> 16 & 1) == (unsigned)(me & 1))
				for (uint64_t i = how >> 8 & 63; i; i--)
					shmem_fence();
			if (warm > (long)r)
				break;
			if (how & 1)
				shmem_long_p(x, (long)r, other);
			else
				shmem_long_put_nbi(x, &(long){ (long)r }, 1, other);
			if (how & 2)
				shmem_quiet();
			else
				shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
			mine = how & 4 ? shmem_long_g(x, me) : __atomic_load_n(x, __ATOMIC_RELAXED);
			shmem_long_p(&saw[1], mine, other);
			shmem_fence();
			shmem_uint64_p(&go[1], r, other);
			shmem_uint64_wait_until(&go[1], SHMEM_CMP_GE, r);
			REQUIRE(mine == (long)r || saw[1] == (long)r);
		}
	shmem_barrier_all();
	shmem_free(go);
	shmem_free(saw);
	shmem_free(x);
}

/* Data to one PE, quiet, a flag to another: who gets the flag gets the data from the first. */
static void t_quiet_before_a_third(void)
{
	uint32_t *data = shmem_calloc(LEN, sizeof(*data)), mine[LEN], got[LEN];
	uint64_t *flag = shmem_calloc(2, sizeof(*flag)), s = seed + 3;
	int third = (me + 2) % n, whose = (me + n - 2) % n, at = (whose + 1) % n;

	REQUIRE(data && flag);
	for (uint64_t r = 1; r <= ROUNDS; r++) {
		size_t len = t_random(&s) % 100 + 1;
		uint64_t how = t_random(&s) >> 8;

		fill(mine, len, (uint32_t)r + (uint32_t)me);
		shmem_ctx_uint32_put_nbi(ctx, data, mine, len, to);
		shmem_ctx_quiet(ctx);
		set_flag(&flag[0], r, third, how);
		wait_flag(&flag[0], r, how >> 8);
		if (how >> 16 & 1)
			shmem_uint32_get(got, data, len, at);
		else
			shmem_uint32_iget(got, data, 1, 1, len, at);
		REQUIRE(whole(got, len, (uint32_t)r + (uint32_t)whose));
		set_flag(&flag[1], r, whose, how >> 24);
		wait_flag(&flag[1], r, how >> 32);
	}
	shmem_barrier_all();
	shmem_free(flag);
	shmem_free(data);
}

/* All PEs put into a queue of PE 0, whose places are given out by an atomic; PE 0 takes out what is marked. */
static void t_queue(void)
{
	enum { PLACES = 64, WORDS = 5 };
	uint64_t *tail = shmem_calloc(1, sizeof(*tail)), *head = shmem_calloc(1, sizeof(*head));
	uint64_t *full = shmem_calloc(PLACES, sizeof(*full)), total = (uint64_t)n * (ROUNDS / 2), sum = 0;
	uint64_t s = seed + (uint64_t)me;
	uint32_t (*entry)[WORDS] = shmem_calloc(PLACES, sizeof(*entry));
	uint32_t mine[WORDS];

	REQUIRE(tail && head && full && entry);
	for (uint64_t k = 0, taken = 0; me ? k < ROUNDS / 2 : taken < total;) {
		if (k < ROUNDS / 2) {
			uint64_t place = 0;
			bool have = false;

			while (!have) {		/* PE 0 must not wait for itself */
				uint64_t h = shmem_uint64_atomic_fetch(head, 0);

				place = shmem_uint64_atomic_fetch(tail, 0);
				if (place - h < PLACES)
					have = shmem_uint64_atomic_compare_swap(tail, place, place + 1, 0) == place;
				else if (!me)
					break;
				else
					sched_yield();
			}
			if (have) {
				fill(mine, WORDS, (uint32_t)place);
				shmem_uint32_put(entry[place % PLACES], mine, WORDS, 0);
				fence(t_random(&s));
				shmem_uint64_atomic_set(&full[place % PLACES], place + 1, 0);
				k++;
			}
		}
		while (!me && taken < total && shmem_uint64_test(&full[taken % PLACES], SHMEM_CMP_EQ, taken + 1)) {
			REQUIRE(whole(entry[taken % PLACES], WORDS, (uint32_t)taken));
			sum += taken++;
			shmem_uint64_atomic_set(head, taken, 0);
		}
	}
	shmem_barrier_all();
	if (!me)
		CHECK(sum == total * (total - 1) / 2);
	shmem_free(entry);
	shmem_free(full);
	shmem_free(head);
	shmem_free(tail);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_flag_behind_fence), T(t_signal_behind_data), T(t_quiet_is_seen_by_one_of_two),
		T(t_quiet_before_a_third), T(t_queue), { 0 }
	};
	int rc;

	sm_start();
	seed = t_seed();
	if (shmem_ctx_create(0, &ctx))
		return 2;
	rc = t_run(cases);
	shmem_ctx_destroy(ctx);
	shmem_finalize();
	return rc;
}

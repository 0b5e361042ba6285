/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_lock.c - locks: one at a time, in the order of coming, by any PE, thread and number of locks */
#include <pthread.h>
#include <stdbool.h>

#include "sm.h"

enum { LOCKS = 16 };
static long lock;			/* static data */

/* Plain loads and stores of others' memory under the lock: two at once would lose a step. */
static void t_one_at_a_time(void)
{
	enum { ROUNDS = 400 };
	long *lck = shmem_calloc(LOCKS, sizeof(*lck)), *count = shmem_calloc(LOCKS, sizeof(*count));
	uint64_t seed = t_seed() + (uint64_t)me;
	long sum = 0;

	REQUIRE(lck && count);
	for (int r = 0; r < ROUNDS; r++) {
		int i = (int)(t_random(&seed) % LOCKS), home = i % n;

		shmem_set_lock(&lck[i]);
		shmem_long_p(&count[i], shmem_long_g(&count[i], home) + 1, home);
		shmem_clear_lock(&lck[i]);
	}
	shmem_barrier_all();
	for (int i = 0; i < LOCKS; i++) {
		sum += shmem_long_g(&count[i], i % n);
		CHECK_INT(lck[i], 0);			/* free again, so the memory may be used for anything */
	}
	CHECK_INT(sum, (long)ROUNDS * n);
	shmem_free(count);
	shmem_free(lck);
}

/* Under one lock that all want all the time. */
static void t_crowded(void)
{
	enum { ROUNDS = 300 };
	static long inside, count;
	long *cannot = shmem_calloc(1, sizeof(*cannot));
	bool skip;

	REQUIRE(cannot != NULL);
	for (int pe = 0; pe < n; pe++)		/* PEs of other nodes do it themselves */
		if (shmem_ptr(cannot, pe) && !shmem_ptr(&inside, pe))
			shmem_long_atomic_inc(cannot, 0);
	shmem_barrier_all();
	skip = shmem_long_g(cannot, 0) != 0;
	shmem_free(cannot);
	if (skip)
		SKIP("static data are not adopted here");
	for (int r = 0; r < ROUNDS; r++) {
		shmem_set_lock(&lock);
		CHECK(shmem_long_atomic_fetch_inc(&inside, 0) == 0);
		shmem_long_p(&count, shmem_long_g(&count, 0) + 1, 0);
		shmem_long_atomic_add(&inside, -1, 0);
		shmem_clear_lock(&lock);
	}
	shmem_barrier_all();
	CHECK_INT(shmem_long_g(&count, 0), (long)ROUNDS * n);
	shmem_barrier_all();
}

/* PE 0 holds it; the others come one after the other, which its queue shows; they get it in that order. */
static void t_first_come_first_served(void)
{
	long *lck = shmem_calloc(1, sizeof(*lck)), *order = shmem_calloc((size_t)n, sizeof(*order));
	long *next = shmem_calloc(1, sizeof(*next)), *coming = shmem_calloc(1, sizeof(*coming));

	REQUIRE(lck && order && next && coming);
	if (!me)
		shmem_set_lock(lck);
	shmem_barrier_all();
	if (!me) {
		for (int pe = n - 1; pe > 0; pe--) {
			shmem_long_p(coming, 1, pe);
			/* it is in the queue when another one finds it there: the lock's word of that PE is not 0 */
			while (!shmem_long_g(lck, pe))
				sched_yield();
			usleep(20000);			/* from its own word to the queue's end it is a step */
		}
		shmem_clear_lock(lck);
	} else {
		shmem_long_wait_until(coming, SHMEM_CMP_EQ, 1);
		shmem_set_lock(lck);
		shmem_long_p(&order[me], shmem_long_atomic_fetch_inc(next, 0), 0);
		shmem_clear_lock(lck);
	}
	shmem_barrier_all();
	if (!me)
		for (int pe = 1; pe < n; pe++)
			CHECK_INT(order[pe], n - 1 - pe);
	shmem_free(coming);
	shmem_free(next);
	shmem_free(order);
	shmem_free(lck);
}

static void t_test_lock(void)
{
	long *lck = shmem_calloc(1, sizeof(*lck)), *got = shmem_calloc(1, sizeof(*got)), tries = 0;

	REQUIRE(lck && got);
	if (!me) {
		CHECK_INT(shmem_test_lock(lck), 0);
		CHECK_INT(shmem_test_lock(lck), 1);	/* also of who has it */
	}
	shmem_barrier_all();
	if (me)
		CHECK_INT(shmem_test_lock(lck), 1);
	shmem_barrier_all();
	if (!me)
		shmem_clear_lock(lck);
	for (int r = 0; r < 50; r++) {
		while (shmem_test_lock(lck))
			tries++, sched_yield();
		shmem_long_p(got, shmem_long_g(got, 0) + 1, 0);
		shmem_clear_lock(lck);
	}
	shmem_barrier_all();
	CHECK_INT(shmem_long_g(got, 0), 50L * n);
	CHECK_INT(*lck, 0);
	shmem_free(got);
	shmem_free(lck);
}

/* Those that test and those that set, mixed. */
static void t_mixed(void)
{
	enum { ROUNDS = 200 };
	long *lck = shmem_calloc(1, sizeof(*lck)), *count = shmem_calloc(1, sizeof(*count));

	REQUIRE(lck && count);
	for (int r = 0; r < ROUNDS; r++) {
		if ((r + me) % 3 || shmem_test_lock(lck))
			shmem_set_lock(lck);
		shmem_long_p(count, shmem_long_g(count, n - 1) + 1, n - 1);
		shmem_clear_lock(lck);
	}
	shmem_barrier_all();
	CHECK_INT(shmem_long_g(count, n - 1), (long)ROUNDS * n);
	shmem_free(count);
	shmem_free(lck);
}

static long *shared_lock, *shared_count;

static void *worker(void *arg)
{
	for (int r = 0; r < 150; r++) {
		shmem_set_lock(shared_lock);
		shmem_long_p(shared_count, shmem_long_g(shared_count, 0) + 1, 0);
		shmem_clear_lock(shared_lock);
	}
	return arg;
}

static void t_threads_of_one_pe(void)
{
	pthread_t t[3];

	shared_lock = shmem_calloc(1, sizeof(long));
	shared_count = shmem_calloc(1, sizeof(long));
	REQUIRE(shared_lock && shared_count);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	shmem_barrier_all();
	CHECK_INT(shmem_long_g(shared_count, 0), 450L * n);
	shmem_free(shared_count);
	shmem_free(shared_lock);
}

/* What was put under the lock is seen by the next that has it. */
static void t_clear_is_a_quiet(void)
{
	enum { LEN = 200, ROUNDS = 200 };
	long *lck = shmem_calloc(1, sizeof(*lck)), *data = shmem_calloc(LEN, sizeof(*data)), mine[LEN], got[LEN];
	int bad = 0;

	REQUIRE(lck && data);
	for (int r = 0; r < ROUNDS; r++) {
		shmem_set_lock(lck);
		shmem_long_get(got, data, LEN, n - 1);
		for (int i = 0; i < LEN; i++) {
			bad += got[i] != got[0];
			mine[i] = got[0] + 1;
		}
		shmem_long_put_nbi(data, mine, LEN, n - 1);
		shmem_clear_lock(lck);
	}
	shmem_barrier_all();
	CHECK_INT(bad, 0);
	CHECK_INT(shmem_long_g(&data[LEN - 1], n - 1), (long)ROUNDS * n);
	shmem_free(data);
	shmem_free(lck);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_one_at_a_time), T(t_crowded), T(t_first_come_first_served), T(t_test_lock), T(t_mixed),
		T(t_threads_of_one_pe), T(t_clear_is_a_quiet), { 0 }
	};

	sm_start();
	return sm_end(t_run(cases));
}

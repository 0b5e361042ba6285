/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * sync.c - fence, quiet, barrier, waiting for a variable
 *
 * Barrier: a counter and a number in memory of the first PE. Whoever comes last puts the counter back to 0 and then
 * moves the number on (release); the others wait for that (acquire).
 *
 * Waiting spins, then yields, then sleeps in short pieces: the store that ends it comes from a processor and wakes
 * nobody. While it sleeps it looks whether another PE has ended the job, or has died.
 */
#include <sched.h>
#include <smartmap.h>
#include <time.h>
#include <unistd.h>

#include "shmemi.h"

#define SPINS	2000u
#define YIELDS	2000u

/* The PE that has ended, or -1. Ends this one when the job is leaving. */
static int look_round(void)
{
	uint32_t leaving;

	if (!shmemi.shared)
		return -1;		/* not between init and finalize: nobody to look for */
	leaving = __atomic_load_n(&shmemi.shared->leaving, __ATOMIC_ACQUIRE);
	if (leaving)
		_exit((int)(leaving & 255));
	for (int i = 0; i < shmemi.n_pes; i++)
		if (shmemi.peer[i].local >= 0 && i != shmemi.pe && !smartmap_alive(shmemi.peer[i].local))
			return i;
	return -1;
}

/* A PE may do what we wait for and then end: its end counts only when the caller has looked once more behind it. */
void shmemi_wait_step(struct shmemi_wait *w)
{
	unsigned n = w->steps++;

	if (w->dead)
		shmemi_fatal("PE %d has ended while this one waits", w->dead - 1);
	if (n < (shmemi.impatient ? 20u : SPINS)) {
		shmemi_pause();
	} else if (n < SPINS + YIELDS) {
		sched_yield();
	} else {
		struct timespec t = { 0, n < SPINS + YIELDS + 1000 ? 20000 : 200000 };

		nanosleep(&t, NULL);
		if (n % 16 == 0)
			w->dead = look_round() + 1;
	}
}

void shmemi_barrier(void)
{
	struct shmemi_shared *s = shmemi.shared;
	uint32_t turn = __atomic_load_n(&s->turn, __ATOMIC_ACQUIRE);
	struct shmemi_wait w = { 0 };

	if (__atomic_add_fetch(&s->arrived, 1, __ATOMIC_ACQ_REL) == (uint32_t)shmemi.n_pes) {
		__atomic_store_n(&s->arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&s->turn, turn + 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) == turn)
		shmemi_wait_step(&w);
}

static void check_up(const char *routine)
{
	if (!shmemi.inits)
		shmemi_fatal("%s: shmem_init() has not been called", routine);
}

void pshmem_fence(void)
{
	shmemi_fence_stores();
}
SHMEMI_ALIAS(fence);

void pshmem_quiet(void)
{
	shmemi_fence_all();
}
SHMEMI_ALIAS(quiet);

void pshmem_barrier_all(void)
{
	check_up("shmem_barrier_all");
	shmemi_fence_all();
	shmemi_barrier();
}
SHMEMI_ALIAS(barrier_all);

void pshmem_sync_all(void)
{
	check_up("shmem_sync_all");
	shmemi_barrier();
}
SHMEMI_ALIAS(sync_all);

#define HOLDS(v, cmp, c, routine)								\
	((cmp) == SHMEM_CMP_EQ ? (v) == (c) : (cmp) == SHMEM_CMP_NE ? (v) != (c) :		\
	 (cmp) == SHMEM_CMP_GT ? (v) > (c) : (cmp) == SHMEM_CMP_GE ? (v) >= (c) :		\
	 (cmp) == SHMEM_CMP_LT ? (v) < (c) : (cmp) == SHMEM_CMP_LE ? (v) <= (c) : bad_cmp(routine, cmp))

static __attribute__((noinline, cold)) bool bad_cmp(const char *routine, int cmp)
{
	shmemi_fatal("%s: %d is no comparison (SHMEM_CMP_EQ ... SHMEM_CMP_LE)", routine, cmp);
}

#define WAIT(N, T)										\
	void pshmem_##N##_wait_until(T *ivar, int cmp, T value)					\
	{											\
		struct shmemi_wait w = { 0 };							\
												\
		for (;;) {									\
			T v = __atomic_load_n(ivar, __ATOMIC_ACQUIRE);				\
												\
			if (HOLDS(v, cmp, value, "shmem_" #N "_wait_until"))			\
				return;								\
			shmemi_wait_step(&w);							\
		}										\
	}											\
	SHMEMI_ALIAS(N##_wait_until);								\
	int pshmem_##N##_test(T *ivar, int cmp, T value)					\
	{											\
		T v = __atomic_load_n(ivar, __ATOMIC_ACQUIRE);					\
												\
		return HOLDS(v, cmp, value, "shmem_" #N "_test");				\
	}											\
	SHMEMI_ALIAS(N##_test);
SHMEMI_TYPES_AMO(WAIT)

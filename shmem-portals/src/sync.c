/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * sync.c - fence, quiet; a step of waiting
 *
 * Waiting spins, then yields, then sleeps in short pieces: the store that ends it comes from a processor and wakes
 * nobody. While it sleeps it looks whether another PE has ended the job, or has died.
 */
#include <sched.h>
#include <smartmap.h>
#include <time.h>
#include <unistd.h>

#include "net.h"
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
		shmemi_leave((int)(leaving & 255), false);
	if (shmemi.net)
		shmemi_net_look();
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
	if (shmemi.net)
		shmemi_net_progress();
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

void shmemi_looked(void)
{
	static __thread unsigned n;
	static __thread int dead;

	if (__builtin_expect(++n % 4096 != 0, 1))
		return;
	if (dead)
		shmemi_fatal("PE %d has ended while this one looks for what it does not find", dead - 1);
	dead = look_round() + 1;
}

void shmemi_fence(void)
{
	shmemi_fence_stores();
	if (__builtin_expect(shmemi.net, 0))
		shmemi_net_fence();
}

void shmemi_quiet(void)
{
	if (__builtin_expect(shmemi.net, 0))
		shmemi_net_quiet();
	shmemi_fence_all();
}

void pshmem_fence(void)
{
	shmemi_fence();
}
SHMEMI_ALIAS(fence);

void pshmem_quiet(void)
{
	shmemi_quiet();
}
SHMEMI_ALIAS(quiet);

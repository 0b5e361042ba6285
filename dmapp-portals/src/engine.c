/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * engine.c - a thread that copies: what the block transfer engine of the network was
 *
 * It takes nonblocking contiguous copies of offload_threshold bytes and more between windows, so that the caller
 * computes meanwhile. It is worth a processor of its own, and there only where DMAPP_ENGINE=yes says so, or auto (the
 * default) finds at least two processors for each PE of the node. Without it, and for what finds its queue full, the
 * caller copies. Off the node all copies are Portals' anyway.
 *
 * One ring; `lock' keeps it. The copy is followed by a fence, then counted as done (release; who waits acquires).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>

#include "dmappi.h"

#define RING	256u

struct job {
	void *d;
	const void *s;
	size_t n;
	struct shmemi_waiter *w;
};

static struct job ring[RING];
static uint32_t first, last;		/* run freely */
static bool stop, runs;
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

static void *run(void *arg)
{
	struct job j;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (first == last && !stop)
			pthread_cond_wait(&more, &lock);
		if (first == last)
			break;
		j = ring[first++ % RING];
		pthread_mutex_unlock(&lock);
		L->copy_out(j.d, j.s, j.n);
		dmappi_fence();
		__atomic_sub_fetch(&j.w->left, 1, __ATOMIC_RELEASE);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static bool wanted(void)
{
	cpu_set_t set;

	if (dmappi.env.engine != DMAPPI_ENGINE_AUTO)
		return dmappi.env.engine == DMAPPI_ENGINE_YES;
	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) >= 2 * JOB->n_local;
}

int dmappi_engine_start(void)
{
	first = last = 0;
	stop = runs = false;
	dmappi.engine = wanted();
	return 0;
}

bool dmappi_thread(pthread_t *t, void *(*body)(void *))
{
	sigset_t all, old;
	bool made;

	sigfillset(&all);		/* signals are the program's */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	made = !pthread_create(t, NULL, body, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return made;
}

void dmappi_engine_end(void)
{
	pthread_mutex_lock(&lock);
	stop = true;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
	if (runs)
		pthread_join(thread, NULL);
	runs = dmappi.engine = false;
}

bool dmappi_engine_copy(void *d, const void *s, size_t n, struct shmemi_waiter *w)
{
	bool room;

	pthread_mutex_lock(&lock);
	/* the thread comes with its first copy: a process of one thread can have more of its memory adopted */
	room = last - first < RING && (runs || (runs = dmappi_thread(&thread, run)));
	if (room) {
		__atomic_add_fetch(&w->left, 1, __ATOMIC_RELAXED);
		ring[last++ % RING] = (struct job){ d, s, n, w };
		pthread_cond_signal(&more);
	}
	pthread_mutex_unlock(&lock);
	return room;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_sync.c - barrier, liveness, membarrier
 *
 * Liveness: every rank holds its own robust mutex in rank 0's control page from start to end. When its process dies by
 * any means, the kernel walks the robust list and clears the owner in the mutex's word: peers read that word, no call.
 * The file of a dead rank 0 lives on as long as one window on it does, so its page serves until the last one leaves.
 *
 * Barrier: one counter and one generation in rank 0's page. Whoever arrives last resets the counter and moves the
 * generation (release); the others wait for it (acquire): spin, yield, sleep on the futex. A sleeper wakes every
 * 50 ms to look for dead peers that have not arrived. `arrived' is stored after the counter: a peer that dies between
 * makes the others give up although all had come, which is the safe side. The last one, who opens, never stores it: dead
 * before it has opened, it must not count as one for whom the others can wait. And who has given up and calls again has
 * arrived already: counted once more, it would open for those who have not come. Who has work to do while he waits is
 * called for it now and then, while he spins and between short sleeps.
 */
#include "smap_sync.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "smap_window.h"

/* linux/membarrier.h, which older headers lack */
#define MB_QUERY			0
#define MB_GLOBAL_EXPEDITED		(1 << 1)
#define MB_REGISTER_GLOBAL_EXPEDITED	(1 << 2)

static int mb_here;
int smap_mb_all;

int smap_membarrier_setup(void)
{
	long have;

	mb_here = smap_mb_all = 0;
	if (smap_forced_off(SMAP_OFF_MEMBARRIER)) {
		smap_why_set(SMARTMAP_F_MEMBARRIER, "forced off by SMARTMAP_FORCE_OFF");
		return 0;
	}
	have = syscall(SYS_membarrier, MB_QUERY, 0, 0);
	if (have < 0 || (have & (MB_GLOBAL_EXPEDITED | MB_REGISTER_GLOBAL_EXPEDITED)) !=
	    (MB_GLOBAL_EXPEDITED | MB_REGISTER_GLOBAL_EXPEDITED)) {
		smap_why_set(SMARTMAP_F_MEMBARRIER, "the kernel has no membarrier(GLOBAL_EXPEDITED) (Linux 4.16)");
		return 0;
	}
	if (syscall(SYS_membarrier, MB_REGISTER_GLOBAL_EXPEDITED, 0, 0) || syscall(SYS_membarrier, MB_GLOBAL_EXPEDITED, 0, 0)) {
		smap_why_set(SMARTMAP_F_MEMBARRIER, "membarrier(GLOBAL_EXPEDITED) is refused");
		return 0;
	}
	mb_here = 1;
	return 1;
}

void smap_membarrier_all(int all)
{
	smap_mb_all = mb_here && all;
	if (mb_here && !all)
		smap_why_set(SMARTMAP_F_MEMBARRIER, "another rank has no membarrier(GLOBAL_EXPEDITED)");
}

SMAP_EXPORT int smartmap_membarrier_ok(void)
{
	return smap_mb_all;
}

SMAP_EXPORT void smartmap_membarrier(void)
{
	if (!smap_mb_all || syscall(SYS_membarrier, MB_GLOBAL_EXPEDITED, 0, 0))
		atomic_thread_fence(memory_order_seq_cst);
}

/* ---- liveness ----------------------------------------------------------------------------------------------- */

int smap_live_init(struct smap_ctl *ctl0, int size)
{
	pthread_mutexattr_t a;
	int i, ret;

	pthread_mutexattr_init(&a);
	ret = pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	if (!ret)
		ret = pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	for (i = 0; i < size && !ret; i++)
		ret = pthread_mutex_init(&ctl0->live[i].held, &a);
	pthread_mutexattr_destroy(&a);
	return -ret;
}

int smap_live_hold(void)
{
	return -pthread_mutex_lock(&smap.ctl0->live[smap.rank].held);
}

/* As smap_live_hold() for one of several that follow each other: 0; -EBUSY: there is one who lives. */
int smap_live_take(void)
{
	struct smap_live *l = &smap.ctl0->live[smap.rank];
	int ret = pthread_mutex_trylock(&l->held);

	if (ret == EOWNERDEAD)
		ret = pthread_mutex_consistent(&l->held);
	if (!ret)
		atomic_store_explicit(&l->left, 0, memory_order_release);
	return -ret;
}

/* 1: let go; 0: another thread of ours holds it (it began), so that the page must stay mapped. */
int smap_live_drop(void)
{
	struct smap_live *l = &smap.ctl0->live[smap.rank];

	atomic_store_explicit(&l->left, 1, memory_order_release);	/* M:attach.left */
	return !pthread_mutex_unlock(&l->held);
}

SMAP_EXPORT int smartmap_alive(int peer)
{
	struct smap_live *l;
	uint32_t word;

	if ((unsigned)peer >= (unsigned)(smap.size + smap.guests))
		return 0;
	if (peer == smap.rank)
		return 1;
	l = &smap.ctl0->live[peer];
	/* glibc keeps the futex word of a robust mutex here: the owner's thread id, which the kernel clears. */
	word = (uint32_t)__atomic_load_n(&l->held.__data.__lock, __ATOMIC_ACQUIRE);	/* M:attach.alive */
	return (word & FUTEX_TID_MASK) && !atomic_load_explicit(&l->left, memory_order_relaxed);
}

SMAP_EXPORT int smartmap_pid(int peer)
{
	const struct smap_member *m;

	if ((unsigned)peer >= (unsigned)(smap.size + smap.guests))
		return -1;
	if (peer == smap.rank)
		return getpid();
	m = &smap.ctl0->member[peer];
	return m->pid_ns == smap.ctl0->member[smap.rank].pid_ns && m->pid > 0 ? m->pid : -1;
}

/* ---- barrier ------------------------------------------------------------------------------------------------ */

static int cores(void)
{
	static int n;
	cpu_set_t set;

	if (!n)
		n = sched_getaffinity(0, sizeof(set), &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT(&set);
	/* A rank bound to one core says nothing about the others. */
	return n > 1 ? n : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static int somebody_died(uint32_t number)
{
	int i;

	for (i = 0; i < smap.size; i++) {
		const _Atomic uint32_t *arrived = &smap.ctl0->live[i].arrived;

		if (!smartmap_alive(i) &&
		    atomic_load_explicit(arrived, memory_order_acquire) != number)	/* M:attach.bar-dead */
			return 1;
	}
	return 0;
}

SMAP_EXPORT int smartmap_barrier_between(smartmap_meantime_t *meantime, void *arg)
{
	struct smap_ctl *c = smap.ctl0;
	uint32_t gen, me, spins, limit;
	_Atomic uint32_t *arrived;

	if (!smap.inits)
		return -EINVAL;
	if (smap.size == 1)
		return 0;
	gen = atomic_load_explicit(&c->bar_gen, memory_order_relaxed);	/* M:attach.bar-gen cannot move before we arrive */
	arrived = &c->live[smap.rank].arrived;
	me = 0;
	if (atomic_load_explicit(arrived, memory_order_relaxed) != gen + 1)		/* M:attach.bar-again */
		me = atomic_fetch_add_explicit(&c->bar_count, 1, memory_order_acq_rel);	/* M:attach.bar-count */
	if (me + 1 >= (uint32_t)smap.size) {
		atomic_store_explicit(&c->bar_count, 0, memory_order_relaxed);		/* M:attach.bar-reset */
		atomic_store_explicit(&c->bar_gen, gen + 1, memory_order_release);	/* M:attach.bar-open */
		syscall(SYS_futex, &c->bar_gen, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
		return 0;
	}
	atomic_store_explicit(arrived, gen + 1, memory_order_release);			/* M:attach.bar-arrived */
	limit = smap.size <= cores() ? 2000 : 20;
	for (spins = 0; atomic_load_explicit(&c->bar_gen, memory_order_acquire) == gen; spins++) { /* M:attach.bar-wait */
		struct timespec ts = { 0, 50000000 };

		if (meantime && (spins % 64 == 0 || spins >= limit + 20)) {
			int64_t ns = meantime(arg);

			if (ns < ts.tv_nsec)
				ts.tv_nsec = ns;
		}
		if (spins < limit) {
			smap_pause();
		} else if (spins < limit + 20) {
			sched_yield();
		} else {
			syscall(SYS_futex, &c->bar_gen, FUTEX_WAIT, gen, &ts, NULL, 0);
			if (atomic_load_explicit(&c->bar_gen, memory_order_acquire) == gen && somebody_died(gen + 1) &&
			    atomic_load_explicit(&c->bar_gen, memory_order_acquire) == gen)	/* M:attach.bar-still */
				return -ESRCH;
		}
	}
	return 0;
}

SMAP_EXPORT int smartmap_barrier(void)
{
	return smartmap_barrier_between(NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmemi_order.h - what fence, quiet and waiting mean for direct stores
 *
 * A put is a copy by this thread into the target's memory, and finished when it returns; what is left to do is order.
 * But to PEs of other nodes: net.c.
 *
 *	put, p, nbi	plain stores; one aligned element of 1, 2, 4 or 8 bytes is one store, so that who waits for it never
 *			sees half of it. Large copies of the C library may use streaming stores; it ends them with sfence.
 *	atomics		acquire and release. Not more is promised, and on x86-64 nothing less is to be had.
 *	fence		release: earlier stores before later ones. Pairs with the acquire of wait_until and test.
 *	quiet		a full fence: earlier stores are seen by all before later loads and stores of this thread.
 *	wait_until,	acquire loads: what was ordered before the store that ended the wait is seen behind it.
 *	test
 *	barrier		its counter is acquire and release; barrier_all does a quiet first.
 *	copies by the kernel (memory that is not in the window)	are finished, and seen, when the system call returns.
 *	Portals		(PEs of other nodes) makes what one thread asks of one PE in the order of the calls, each behind the lock
 *			of its portal: so a flag is never seen before the data. quiet waits for acknowledgements.
 */
#ifndef SHMEMI_ORDER_H
#define SHMEMI_ORDER_H

#define shmemi_fence_stores()	__atomic_thread_fence(__ATOMIC_RELEASE)
#define shmemi_fence_all()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define SHMEMI_AMO_ORDER	__ATOMIC_ACQ_REL

static inline void shmemi_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield" ::: "memory");
#endif
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lock.c - locks: a queue of PEs, whose links are the lock's own variables on these PEs
 *
 * A lock is a symmetric long, so there is one on every PE. It has two halves of 32 bits:
 *
 *	tail	of the lock's home only: PE + 1 of the last in the queue; 0: nobody has the lock. The home is one PE,
 *		chosen by the variable's place, so that an array of locks is spread over the PEs.
 *	node	of every PE: its place in the queue. 0: not in it. TAKEN: it holds the lock or waits for it. GRANTED:
 *		its turn has come. NEXT: PE + 1 of the one behind it.
 *
 *	set	node: 0 -> TAKEN (another thread of this PE may be in: wait). Swap itself into tail. Nobody there: it
 *		has the lock. Otherwise add itself to NEXT of the one before, and wait for GRANTED in its own node.
 *	clear	nobody behind: tail from itself to 0; if somebody has come meanwhile, wait for NEXT. Own node to 0, then
 *		GRANTED into the next one's.
 *	test	as set, but tail only from 0.
 *
 * First come, first served by the order of the swaps. A PE waits for a word in its own memory. Own node is given up
 * before the next one is granted, for the next one may end the queue and this PE come again at once. Who writes: TAKEN
 * and 0 the owner, NEXT the one behind, once, GRANTED the one before, once; all by atomic operations. GRANTED is
 * written with release and read with acquire, tail is both, so what was done under the lock is seen by the next that
 * has it.
 */
#include "amo.h"
#include "team.h"

#define TAKEN	(1u << 31)
#define GRANTED	(1u << 30)
#define NEXT	(GRANTED - 1)

enum half { TAIL, NODE };

/* An operation on one half of @lock on @pe; on the node or not. Returns the old value. */
static uint32_t amo(const char *routine, enum shmemi_amo op, long *lock, enum half half, uint32_t value, uint32_t cond,
		    int pe)
{
	uint32_t *sym = (uint32_t *)(void *)lock + half, *p = shmemi_amo_at(routine, sym, sizeof(*sym), pe);

	if (__builtin_expect(!p, 0))
		return (uint32_t)shmemi_far_amo(routine, op, sym, sizeof(*sym), value, cond, pe);
	switch (op) {
	case SHMEMI_AMO_SWAP:
		return __atomic_exchange_n(p, value, __ATOMIC_ACQ_REL);
	case SHMEMI_AMO_CSWAP:
		__atomic_compare_exchange_n(p, &cond, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		return cond;
	default:
		return __atomic_fetch_or(p, value, __ATOMIC_ACQ_REL);
	}
}

/* The lock's home: scattered by its place, which is the same on all PEs. */
static int home(const long *lock)
{
	uintptr_t off = (uintptr_t)lock - shmemi.heap;

	if (off >= shmemi.heap_size) {
		off = (uintptr_t)lock - shmemi.data;
		if (off >= shmemi.data_size)
			return 0;
	}
	return (int)(((uint64_t)((uint32_t)(off >> 3) * 2654435769u) * (uint32_t)shmemi.n_pes) >> 32);
}

static uint32_t *own_node(const char *routine, long *lock)
{
	if (!shmemi.inits)
		shmemi_fatal("%s: shmem_init() has not been called", routine);
	if (__builtin_expect((uintptr_t)lock & (sizeof(*lock) - 1), 0))
		shmemi_fatal("%s: %p is not aligned to %zu bytes", routine, (void *)lock, sizeof(*lock));
	return (uint32_t *)(void *)lock + NODE;
}

void pshmem_set_lock(long *lock)
{
	static const char routine[] = "shmem_set_lock";
	uint32_t *node = own_node(routine, lock), old = 0, me = (uint32_t)shmemi.pe + 1, before;
	struct shmemi_wait w = { 0 };

	while (!__atomic_compare_exchange_n(node, &old, TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		shmemi_wait_step(&w);
		old = 0;
	}
	before = amo(routine, SHMEMI_AMO_SWAP, lock, TAIL, me, 0, home(lock));
	if (!before)
		return;
	if (before > (uint32_t)shmemi.n_pes)
		shmemi_fatal("%s: the lock at %p holds %#x: it was not zero on all PEs at first", routine, (void *)lock,
			     before);
	amo(routine, SHMEMI_AMO_OR, lock, NODE, me, 0, (int)before - 1);
	w = (struct shmemi_wait){ 0 };
	while (!(__atomic_load_n(node, __ATOMIC_ACQUIRE) & GRANTED))
		shmemi_wait_step(&w);
}
SHMEMI_ALIAS(set_lock);

int pshmem_test_lock(long *lock)
{
	static const char routine[] = "shmem_test_lock";
	uint32_t *node = own_node(routine, lock), old = 0, me = (uint32_t)shmemi.pe + 1;

	if (!__atomic_compare_exchange_n(node, &old, TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		shmemi_looked();
		return 1;
	}
	if (!amo(routine, SHMEMI_AMO_CSWAP, lock, TAIL, me, 0, home(lock)))
		return 0;
	__atomic_store_n(node, 0, __ATOMIC_RELEASE);	/* never in the queue, so nobody knows it */
	shmemi_looked();
	return 1;
}
SHMEMI_ALIAS(test_lock);

void pshmem_clear_lock(long *lock)
{
	static const char routine[] = "shmem_clear_lock";
	uint32_t *node = own_node(routine, lock), me = (uint32_t)shmemi.pe + 1, v;
	struct shmemi_wait w = { 0 };

	v = __atomic_load_n(node, __ATOMIC_ACQUIRE);
	if (!(v & TAKEN))
		shmemi_fatal("%s: this PE has not set the lock at %p", routine, (void *)lock);
	shmemi_quiet();
	if (!(v & NEXT)) {
		if (amo(routine, SHMEMI_AMO_CSWAP, lock, TAIL, 0, me, home(lock)) == me) {
			__atomic_store_n(node, 0, __ATOMIC_RELEASE);
			return;
		}
		while (!((v = __atomic_load_n(node, __ATOMIC_ACQUIRE)) & NEXT))
			shmemi_wait_step(&w);
	}
	__atomic_store_n(node, 0, __ATOMIC_RELEASE);
	amo(routine, SHMEMI_AMO_OR, lock, NODE, GRANTED, 0, (int)(v & NEXT) - 1);
}
SHMEMI_ALIAS(clear_lock);

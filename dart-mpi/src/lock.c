/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lock.c - mutual exclusion over a team: a queue of units (Mellor-Crummey and Scott)
 *
 * A segment of three words on each unit: tail (of relative unit 0: the last in the queue, -1: free), next (who is
 * behind this unit) and wait (1 until the unit before has gone). Where all parts are direct these are words in shared
 * memory and a unit spins on its own. Otherwise they are changed by MPI's atomic operations, and the turn is a
 * message without data, for which the team's communicator is duplicated. Threads of a unit first exclude each other
 * by a mutex.
 */
#include "dartc.h"

#include <stdlib.h>

enum { TAIL, NEXT, WAIT, WORDS };

struct dartc_lock {
	struct dartc_seg *seg;
	struct dartc_team *team;
	MPI_Comm comm;
	pthread_mutex_t mutex;
	pthread_mutex_t owner_mutex;
	pthread_t owner;
	bool held;
};

int dartc_lock_team(const struct dartc_lock *l)
{
	return l->team->id;
}

static _Atomic int32_t *word(struct dartc_lock *l, int rel, int i)
{
	return (_Atomic int32_t *)(void *)(l->seg->part[rel].base + 64 * i);
}

/* Collective over @t. */
int dartc_lock_new(struct dartc_team *t, struct dartc_lock **out)
{
	struct dartc_lock *l = calloc(1, sizeof(*l));
	int32_t first[WORDS] = { -1, -1, 0 };
	int rc, bad, any;

	bad = !l;
	MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, t->comm);
	if (any) {
		free(l);
		return DARTC_NOMEM;
	}
	rc = dartc_seg_new(t, 64 * WORDS, &l->seg);
	if (rc) {
		free(l);
		return rc;
	}
	l->team = t;
	MPI_Comm_dup(t->comm, &l->comm);
	pthread_mutex_init(&l->mutex, NULL);
	pthread_mutex_init(&l->owner_mutex, NULL);
	for (int i = 0; i < WORDS; i++) {
		dartc_atomic(l->seg, t->rank, 64 * (size_t)i, &first[i], NULL, 1, K_INT, O_REPLACE);
		dartc_flush(l->seg, t->rank, false);
	}
	*out = l;
	return dartc_barrier(t);
}

/* Collective over the team. DARTC_INVAL: it is held by this unit. */
int dartc_lock_end(struct dartc_lock *l)
{
	int bad = l->held, any, rc;

	rc = dartc_mpi(MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, l->comm));
	if (rc)
		return rc;
	if (any)
		return DARTC_INVAL;
	rc = dartc_seg_end(l->seg);
	MPI_Comm_free(&l->comm);
	pthread_mutex_destroy(&l->mutex);
	pthread_mutex_destroy(&l->owner_mutex);
	free(l);
	return rc;
}

/* An atomic operation on a word of another unit, or our own, over now. */
static int32_t far_op(struct dartc_lock *l, int rel, int i, int32_t value, enum dartc_op op)
{
	int32_t old = 0;

	dartc_atomic(l->seg, rel, 64 * (size_t)i, &value, &old, 1, K_INT, op);
	dartc_far_flush(l->seg, rel, false);
	return old;
}

static int32_t far_cas(struct dartc_lock *l, int32_t value, int32_t compare)
{
	int32_t old = 0;

	dartc_cas(l->seg, 0, 0, &value, &compare, &old, K_INT);
	dartc_far_flush(l->seg, 0, false);
	return old;
}

static void far_acquire(struct dartc_lock *l)
{
	int me = l->team->rank, before;

	far_op(l, me, NEXT, -1, O_REPLACE);
	before = far_op(l, 0, TAIL, me, O_REPLACE);
	if (before < 0)
		return;
	far_op(l, before, NEXT, me, O_REPLACE);
	MPI_Recv(NULL, 0, MPI_BYTE, before, 1, l->comm, MPI_STATUS_IGNORE);
}

static void far_release(struct dartc_lock *l)
{
	int me = l->team->rank, behind = far_op(l, me, NEXT, 0, O_NO_OP);
	unsigned turn = 0;

	if (behind < 0 && far_cas(l, -1, me) == me)
		return;
	while (behind < 0) {
		dartc_relax(&turn);
		behind = far_op(l, me, NEXT, 0, O_NO_OP);
	}
	MPI_Send(NULL, 0, MPI_BYTE, behind, 1, l->comm);
}

static void near_acquire(struct dartc_lock *l)
{
	int me = l->team->rank, before;
	unsigned turn = 0;

	atomic_store_explicit(word(l, me, NEXT), -1, memory_order_relaxed);
	atomic_store_explicit(word(l, me, WAIT), 1, memory_order_relaxed);
	before = atomic_exchange_explicit(word(l, 0, TAIL), me, memory_order_acq_rel);
	if (before < 0)
		return;
	/* pairs with the load-acquire of NEXT in near_release() */
	atomic_store_explicit(word(l, before, NEXT), me, memory_order_release);
	/* pairs with the store-release of WAIT in near_release() */
	while (atomic_load_explicit(word(l, me, WAIT), memory_order_acquire))
		dartc_relax(&turn);
}

static void near_release(struct dartc_lock *l)
{
	int me = l->team->rank, behind = atomic_load_explicit(word(l, me, NEXT), memory_order_acquire);
	int32_t expected = me;
	unsigned turn = 0;

	if (behind < 0 && atomic_compare_exchange_strong_explicit(word(l, 0, TAIL), &expected, -1, memory_order_acq_rel,
								  memory_order_relaxed))
		return;
	while (behind < 0) {
		dartc_relax(&turn);
		behind = atomic_load_explicit(word(l, me, NEXT), memory_order_acquire);
	}
	atomic_store_explicit(word(l, behind, WAIT), 0, memory_order_release);
}

static bool is_mine(struct dartc_lock *l)
{
	bool mine;

	pthread_mutex_lock(&l->owner_mutex);
	mine = l->held && pthread_equal(l->owner, pthread_self());
	pthread_mutex_unlock(&l->owner_mutex);
	return mine;
}

static void note(struct dartc_lock *l, bool held)
{
	pthread_mutex_lock(&l->owner_mutex);
	l->held = held;
	l->owner = pthread_self();
	pthread_mutex_unlock(&l->owner_mutex);
}

/* DARTC_INVAL: this thread holds it already */
int dartc_lock_acquire(struct dartc_lock *l)
{
	if (is_mine(l))
		return DARTC_INVAL;
	pthread_mutex_lock(&l->mutex);
	if (l->seg->all_direct)
		near_acquire(l);
	else
		far_acquire(l);
	note(l, true);
	return DARTC_OK;
}

int dartc_lock_try(struct dartc_lock *l, int *got)
{
	int32_t none = -1;

	if (is_mine(l))
		return DARTC_INVAL;
	*got = 0;
	if (pthread_mutex_trylock(&l->mutex))
		return DARTC_OK;
	if (l->seg->all_direct) {
		atomic_store_explicit(word(l, l->team->rank, NEXT), -1, memory_order_relaxed);
		*got = atomic_compare_exchange_strong_explicit(word(l, 0, TAIL), &none, l->team->rank,
							       memory_order_acq_rel, memory_order_relaxed);
	} else {
		far_op(l, l->team->rank, NEXT, -1, O_REPLACE);
		*got = far_cas(l, l->team->rank, -1) == -1;
	}
	if (*got)
		note(l, true);
	else
		pthread_mutex_unlock(&l->mutex);
	return DARTC_OK;
}

/* DARTC_INVAL: this thread does not hold it */
int dartc_lock_release(struct dartc_lock *l)
{
	if (!is_mine(l))
		return DARTC_INVAL;
	note(l, false);
	if (l->seg->all_direct)
		near_release(l);
	else
		far_release(l);
	pthread_mutex_unlock(&l->mutex);
	return DARTC_OK;
}

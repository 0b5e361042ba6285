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
	int team_id;
	MPI_Comm comm;
	pthread_mutex_t mutex;
	pthread_mutex_t owner_mutex;
	pthread_t owner;
	bool held;
};

/* The team's number; -1: the team is gone, and the lock's memory with it. */
int dartc_lock_team(const struct dartc_lock *l)
{
	return dartc_team(l->team_id) == l->team ? l->team_id : -1;
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
	l->team_id = t->id;
	pthread_mutex_init(&l->mutex, NULL);
	pthread_mutex_init(&l->owner_mutex, NULL);
	rc = dartc_mpi(MPI_Comm_dup(t->comm, &l->comm));
	for (int i = 0; !rc && i < WORDS; i++) {
		rc = dartc_atomic(l->seg, t->rank, 64 * (size_t)i, &first[i], NULL, 1, K_INT, O_REPLACE);
		if (!rc)
			rc = dartc_flush(l->seg, t->rank, false);
	}
	if (!rc)
		*out = l;
	return rc ? rc : dartc_barrier(t);
}

/* Collective over the team. DARTC_INVAL: it is held by this unit. */
int dartc_lock_end(struct dartc_lock *l)
{
	int bad, any, rc;

	if (dartc_lock_team(l) < 0)
		return DARTC_INVAL;
	pthread_mutex_lock(&l->owner_mutex);
	bad = l->held;
	pthread_mutex_unlock(&l->owner_mutex);
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

/* An atomic operation on a word of another unit, or our own, over now; *@old: what was there. */
static int far_op(struct dartc_lock *l, int rel, int i, int32_t value, enum dartc_op op, int32_t *old)
{
	int rc = dartc_atomic(l->seg, rel, 64 * (size_t)i, &value, old, 1, K_INT, op);

	return rc ? rc : dartc_far_flush(l->seg, rel, false);
}

static int far_cas(struct dartc_lock *l, int32_t value, int32_t compare, int32_t *old)
{
	int rc = dartc_cas(l->seg, 0, 0, &value, &compare, old, K_INT);

	return rc ? rc : dartc_far_flush(l->seg, 0, false);
}

static int far_acquire(struct dartc_lock *l)
{
	int32_t old, before;
	int me = l->team->rank, rc = far_op(l, me, NEXT, -1, O_REPLACE, &old);

	if (!rc)
		rc = far_op(l, 0, TAIL, me, O_REPLACE, &before);
	if (rc || before < 0)
		return rc;
	rc = far_op(l, before, NEXT, me, O_REPLACE, &old);
	return rc ? rc : dartc_mpi(MPI_Recv(NULL, 0, MPI_BYTE, before, 1, l->comm, MPI_STATUS_IGNORE));
}

static int far_release(struct dartc_lock *l)
{
	int32_t behind, tail;
	int me = l->team->rank, rc = far_op(l, me, NEXT, 0, O_NO_OP, &behind);
	unsigned turn = 0;

	if (!rc && behind < 0) {
		rc = far_cas(l, -1, me, &tail);
		if (rc || tail == me)
			return rc;
	}
	while (!rc && behind < 0) {
		dartc_relax(&turn);
		rc = far_op(l, me, NEXT, 0, O_NO_OP, &behind);
	}
	return rc ? rc : dartc_mpi(MPI_Send(NULL, 0, MPI_BYTE, behind, 1, l->comm));
}

static int far_try(struct dartc_lock *l, int *got)
{
	int32_t old;
	int rc = far_op(l, l->team->rank, NEXT, -1, O_REPLACE, &old);

	if (!rc)
		rc = far_cas(l, l->team->rank, -1, &old);
	*got = !rc && old == -1;
	return rc;
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

/* DARTC_INVAL: this thread holds it already, its team is gone */
int dartc_lock_acquire(struct dartc_lock *l)
{
	int rc = DARTC_OK;

	if (dartc_lock_team(l) < 0 || is_mine(l))
		return DARTC_INVAL;
	pthread_mutex_lock(&l->mutex);
	if (l->seg->all_direct)
		near_acquire(l);
	else
		rc = far_acquire(l);
	if (rc)
		pthread_mutex_unlock(&l->mutex);
	else
		note(l, true);
	return rc;
}

int dartc_lock_try(struct dartc_lock *l, int *got)
{
	int32_t none = -1;
	int rc = DARTC_OK;

	if (dartc_lock_team(l) < 0 || is_mine(l))
		return DARTC_INVAL;
	*got = 0;
	if (pthread_mutex_trylock(&l->mutex))
		return DARTC_OK;
	if (l->seg->all_direct) {
		atomic_store_explicit(word(l, l->team->rank, NEXT), -1, memory_order_relaxed);
		*got = atomic_compare_exchange_strong_explicit(word(l, 0, TAIL), &none, l->team->rank,
							       memory_order_acq_rel, memory_order_relaxed);
	} else {
		rc = far_try(l, got);
	}
	if (*got)
		note(l, true);
	else
		pthread_mutex_unlock(&l->mutex);
	return rc;
}

/* DARTC_INVAL: this thread does not hold it, its team is gone */
int dartc_lock_release(struct dartc_lock *l)
{
	int rc = DARTC_OK;

	if (dartc_lock_team(l) < 0 || !is_mine(l))
		return DARTC_INVAL;
	note(l, false);
	if (l->seg->all_direct)
		near_release(l);
	else
		rc = far_release(l);
	pthread_mutex_unlock(&l->mutex);
	return rc;
}

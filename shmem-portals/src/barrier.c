/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * barrier.c - all members of a team arrive before one of them leaves
 *
 * On a node by dissemination (in round k each tells the member 2^k behind it; after log2(n) rounds all have heard of
 * all), or by a counter of the first member, which takes one turn of each processor where PEs share them. Over nodes:
 * those of the node, then the first of each node by dissemination, then those of the node again.
 *
 * Stores before a barrier are seen behind it: each step is a release, and an acquire of who waits for it.
 */
#include "coll.h"
#include "far.h"
#include "net.h"

#define SPINS	100

void shmemi_wait_slow(const uint64_t *word, uint64_t value)
{
	struct shmemi_wait w = { 0 };

	/* About as long as a hand-over takes; a pause would be longer than what is left of it. */
	for (int i = 0; i < SPINS && !shmemi.impatient; i++)
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= value)
			return;
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
		shmemi_wait_step(&w);
}

static void dissem(struct shmemi_team *t)
{
	uint64_t turn = ++t->turn;

	for (int k = 0, d = 1; d < t->n; k++, d *= 2) {
		int to = t->rank + d;

		if (to >= t->n)
			to -= t->n;
		__atomic_store_n(&t->blk[to]->round[k].turn, turn, __ATOMIC_RELEASE);
		shmemi_wait_ge(&t->own->round[k].turn, turn);
	}
}

/* The counter is 0 again before anybody can come to the next barrier: nobody leaves this one earlier. */
static void counter(struct shmemi_team *t)
{
	struct shmemi_block *b = t->blk[0];
	uint64_t turn = ++t->turn;

	if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == (uint32_t)t->n) {
		__atomic_store_n(&b->arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&b->open, turn, __ATOMIC_RELEASE);
	} else {
		shmemi_wait_ge(&b->open, turn);
	}
}

void shmemi_sync_here(struct shmemi_team *t)
{
	bool by_counter = shmemi_barrier_how == SHMEMI_BARRIER_COUNTER ||
		(shmemi_barrier_how == SHMEMI_BARRIER_AUTO && shmemi.impatient && t->n > 2);

	if (t->n < 2)
		return;
	if (by_counter)
		counter(t);
	else
		dissem(t);
}

/* Among the first members of the nodes. far_put is seen there behind a quiet, or earlier. */
static void dissem_far(struct shmemi_team *t)
{
	uint64_t turn = ++t->far_turn;

	for (int k = 0, d = 1; d < t->nodes; k++, d *= 2) {
		int to = (t->node + d) % t->nodes;

		shmemi_far_put("barrier", &shmemi_block_of(t, t->first[to])->far[k], &turn, sizeof(turn),
			       shmemi_team_pe(t, t->first[to]));
		shmemi_wait_ge(&t->own->far[k], turn);
	}
}

void shmemi_sync_slow(struct shmemi_team *t)
{
	shmemi_sync_here(t);
	if (t->nodes == 1)
		return;
	if (!t->rank)
		dissem_far(t);
	shmemi_sync_here(t);
}

void shmemi_sync_dissem(struct shmemi_team *t)
{
	dissem(t);
	if (t->nodes == 1)
		return;
	if (!t->rank)
		dissem_far(t);
	dissem(t);
}

/* At the start and at the end, when there are no teams, the word that the node shares. */
void shmemi_barrier(void)
{
	struct shmemi_shared *s = shmemi.shared;
	struct shmemi_wait w = { 0 };
	uint32_t turn;

	if (shmemi_team_world.blk) {
		shmemi_team_sync(&shmemi_team_world);
		return;
	}
	turn = __atomic_load_n(&s->turn, __ATOMIC_ACQUIRE);
	if (__atomic_add_fetch(&s->arrived, 1, __ATOMIC_ACQ_REL) == (uint32_t)shmemi.n_local) {
		if (shmemi.n_nodes > 1)
			shmemi_net_barrier(turn + 1);
		__atomic_store_n(&s->arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&s->turn, turn + 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) == turn)
		shmemi_wait_step(&w);
}

void pshmem_barrier_all(void)
{
	shmemi_check_up("shmem_barrier_all");
	pshmem_quiet();
	shmemi_team_sync(&shmemi_team_world);
}
SHMEMI_ALIAS(barrier_all);

void pshmem_sync_all(void)
{
	shmemi_check_up("shmem_sync_all");
	shmemi_team_sync(&shmemi_team_world);
}
SHMEMI_ALIAS(sync_all);

int pshmem_team_sync(shmem_team_t team)
{
	shmemi_check_up("shmem_team_sync");
	if (!team)
		return -1;
	shmemi_team_sync(team);
	return 0;
}
SHMEMI_ALIAS(team_sync);

void pshmem_barrier(int start, int log_stride, int size, long *psync)
{
	struct shmemi_team *t = shmemi_set("shmem_barrier", start, log_stride, size, psync);

	pshmem_quiet();
	shmemi_team_sync(t);
}
SHMEMI_ALIAS(barrier);

void pshmem_sync(int start, int log_stride, int size, long *psync)
{
	shmemi_team_sync(shmemi_set("shmem_sync", start, log_stride, size, psync));
}
SHMEMI_ALIAS(sync);

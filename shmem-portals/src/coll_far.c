/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * coll_far.c - short vectors over nodes: combined by the first members of the nodes, who send them to each other
 *
 * The members of a node tell the first of them by their slots; it combines what they say. The first ones then exchange
 * what they have by recursive doubling, and tell the members of their nodes. That is one way of the network for each
 * doubling, and nobody waits for an answer. Neighbours are combined first, the lower one on the left: all nodes
 * compute the same in the same order, so all PEs get the same bits. Nodes beyond a power of two are taken in by the one
 * before them at the start, and told at the end.
 *
 * A message is its data, and then (fence) its number. Messages of even and odd numbers have places of their own: who
 * sends number s + 2 has had ours of number s + 1 in the same round, which we have sent after we had read number s.
 */
#include "coll.h"
#include "far.h"
#include "reduce.h"

struct vector {
	char b[SHMEMI_INLINE];
} __attribute__((aligned(16)));

static void send(struct shmemi_team *t, int node, int round, const struct vector *v, size_t bytes)
{
	struct shmemi_far_slot *slot = &shmemi_block_of(t, t->first[node])->from[t->far_seq & 1][round];
	int pe = shmemi_team_pe(t, t->first[node]);

	shmemi_far_put("collective", slot->data, v->b, bytes, pe);
	pshmem_fence();
	shmemi_far_put("collective", &slot->seq, &t->far_seq, sizeof(slot->seq), pe);
}

static const void *receive(struct shmemi_team *t, int round)
{
	struct shmemi_far_slot *slot = &t->own->from[t->far_seq & 1][round];

	shmemi_wait_ge(&slot->seq, t->far_seq);
	return slot->data;
}

/* Among the first members. The power of two is made of the even ones of the first 2 * @more nodes, and all others. */
static void exchange(struct shmemi_team *t, struct vector *v, size_t bytes, shmemi_kernel f, size_t n)
{
	int core = 1 << (31 - __builtin_clz((unsigned)t->nodes)), more = t->nodes - core;
	bool paired = t->node < 2 * more;
	int at = paired ? t->node / 2 : t->node - more;

	t->far_seq++;
	if (paired && t->node & 1) {
		send(t, t->node - 1, SHMEMI_FAR_IN, v, bytes);
		memcpy(v->b, receive(t, SHMEMI_FAR_OUT), bytes);
		return;
	}
	if (paired)
		f(v->b, v->b, receive(t, SHMEMI_FAR_IN), n);
	for (int k = 0; 1 << k < core; k++) {
		int other = at ^ 1 << k;

		send(t, other < more ? 2 * other : other + more, k, v, bytes);
		if (other > at)
			f(v->b, v->b, receive(t, k), n);
		else
			f(v->b, receive(t, k), v->b, n);
	}
	if (paired)
		send(t, t->node + 1, SHMEMI_FAR_OUT, v, bytes);
}

bool shmemi_short_nodes(struct shmemi_team *t, const void *source, void *dest, size_t bytes, shmemi_kernel f, size_t n)
{
	struct shmemi_slot *slot;
	struct vector v;

	if (bytes > SHMEMI_INLINE || t->nodes > 1 << SHMEMI_FAR_ROUNDS)
		return false;
	slot = shmemi_begin(t);
	memcpy(slot->data, source, bytes);
	shmemi_post(t, slot);
	if (t->rank) {
		shmemi_end(t);
		shmemi_begin(t);
		memcpy(v.b, shmemi_heard(t, 0)->data, bytes);
	} else {
		memcpy(v.b, slot->data, bytes);
		for (int i = 1; i < t->n; i++)
			f(v.b, v.b, shmemi_heard(t, i)->data, n);
		shmemi_heard_all(t);
		shmemi_end(t);
		exchange(t, &v, bytes, f, n);
		slot = shmemi_begin(t);
		memcpy(slot->data, v.b, bytes);
		shmemi_post(t, slot);
	}
	if (dest)
		memcpy(dest, v.b, bytes);
	shmemi_end(t);
	return true;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fr_heir.c - an engine whose mover was killed in the middle of a step goes on with another one; see struct fr_log
 *
 * What the engine has by itself is rolled back to where the step began: its frame comes again, since it has not been
 * acknowledged, and its calls still stand in the ring. The core's part cannot be rolled back, others have seen it. But
 * its records say how far it has come (struct p3l_op), and p3l_inherit() brings each to one of three: nothing has
 * happened; matched, and ours to go on with; has ended. So each step of the core is in one of these when the frame
 * comes again, and is then skipped or made:
 *
 *	begin	found.on: there is a record in MOVE that no peer's message names
 *	place	found.placed; else again, the same bytes to the same place
 *	end	found.over: the record that in.op or an answer's op names is not in MOVE any more
 *	ack	wait.acked: its event is there, or p3l_env.said
 *	step	found.swapped
 *
 * Sends and replies of the owner's, and the step itself, have no records: the log is torn from there to fr_done(). A
 * reply is matched with its first frame owed (fr_in.c), so that this is short.
 */
#include "fr_int.h"

struct entry {				/* behind its bytes */
	void *at;
	uint32_t n;
};

static uint32_t padded(uint32_t n)
{
	return (n + 7) & ~7u;
}

void fr_keep_bytes(struct fr_log *g, void *at, uint32_t n)
{
	uint32_t size = padded(n) + (uint32_t)sizeof(struct entry);

	if (size > FR_LOG - g->n) {
		p3_store(&g->torn, true);	/* more than any usual step: this one cannot be undone */
		p3_barrier();
		return;
	}
	p3l_copy(g->b + g->n, at, n);
	*(struct entry *)(void *)(g->b + g->n + padded(n)) = (struct entry){ at, n };
	p3_barrier();
	p3_store(&g->n, g->n + size);
	p3_barrier();
}

void fr_txn_begin(struct fr_engine *e, struct fr_peer *p)
{
	struct fr_log *g = e->log;

	fr_done(e);
	g->torn = g->swapped = g->fault = g->placed = false;
	g->peer = NULL;
	g->op = 0;
	g->acks = NULL;
	g->acked = 0;
	p3_barrier();
	fr_keep_bytes(g, &e->ops, offsetof(struct fr_engine, stats) - offsetof(struct fr_engine, ops));
	fr_keep_bytes(g, &p->open, offsetof(struct fr_peer, next_peer) - offsetof(struct fr_peer, open));
	for (struct fr_chan *c = p->ch; c < p->ch + 2; c++)
		fr_keep_bytes(g, c, offsetof(struct fr_chan, out));
}

static void undo(struct fr_log *g)
{
	uint32_t at = g->n;

	while (at >= sizeof(struct entry)) {
		struct entry *n;

		at -= (uint32_t)sizeof(*n);
		n = (struct entry *)(void *)(g->b + at);
		at -= padded(n->n);
		p3l_copy(n->at, g->b + at, n->n);
	}
}

static bool moves(const struct fr_engine *e, uint64_t op)
{
	return p3_load_acq(&fr_op(e, op)->state) == P3L_OP_MOVE;
}

/* Its records have not been used again so far. */
static void look(struct fr_engine *e, struct fr_peer *p)
{
	const struct fr_in *in = &p->ch[FR_REQUEST].in;

	if (in->on && in->op && !p->found.over && !moves(e, in->op)) {
		const struct p3l_op *op = fr_op(e, in->op);

		p->found.over = true;
		p->found.ack = p3l_op_acks(op, in->fail);
		p->found.off = op->moff;
		p->found.mlength = op->mlength;
	}
	for (uint32_t i = 0; i < FR_REQS; i++) {
		struct fr_msg *m = &p->ans[i];

		if (m->answer && m->op && !moves(e, m->op)) {
			m->op = 0;
			e->ops--;
		}
	}
}

void fr_inherit(struct fr_engine *e)
{
	struct fr_log *g = e->log;
	bool acked = p3l_inherit(&e->env, e->l);

	if (g->n) {
		undo(g);
		if (g->op && moves(e, g->op)) {
			g->peer->found.on = true;
			g->peer->found.op = g->op;
			g->peer->found.swapped = g->swapped;
			g->peer->found.fault = g->fault;
		}
		if (g->placed) {
			g->peer->found.placed = true;
			g->peer->found.fault = g->fault;
		}
		if (g->acks && (acked || p3_load(&g->acked) == 1))
			g->acks->acked = true;
	}
	for (struct fr_peer *p = e->peers; p; p = p->next_peer)
		look(e, p);
	fr_done(e);
	e->logged = true;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * reap.c - what a dead mover left half done is undone or finished
 *
 * Every operation in progress at a target has a record (struct p3l_op), written before each step. By its state:
 *
 *	TAKEN	nothing changed: free the record
 *	PREP	died under the lock: values of the MD before the charge are in the record: put them back
 *	MOVE	matched; the data may be half there: END with PTL_NI_DIED_NP
 *	HAND	waits for us: END with PTL_NI_DIED_NP (the source is gone)
 *	END	post the event unless its slot holds it already
 *
 * A ticket that was reserved and not recorded would stop the queue for ever: after a PREP the queue of that MD is
 * searched for tickets that nobody owns, and these get a failed END. The number of pending operations is counted
 * anew from the records.
 */
#include "p3l.h"

static bool in_progress(uint32_t state)
{
	return state == P3L_OP_MOVE || state == P3L_OP_HAND || state == P3L_OP_END;
}

static bool owned(const struct p3l_ni *ni, uint32_t eq, uint32_t ticket)
{
	for (uint32_t s = 0; s < ni->n_slots; s++)
		for (uint32_t k = 0; k < P3L_OPS; k++) {
			const struct p3l_op *op = &p3l_row(ni, s)->op[k];

			if (in_progress(p3_load_acq(&op->state)) && op->has_ticket && op->ticket == ticket &&
			    p3l_eq_of(ni, op->eq) == (int)eq)
				return true;
		}
	return false;
}

/* Fill tickets of queue @eq that no living operation will post. */
static void fill_holes(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq, const struct p3l_op *op)
{
	struct p3l_eq *q = &ni->eq[eq];
	uint32_t n = 1u << q->log2, tail = p3_load_acq(&q->tail), t = p3_load(&q->head);
	struct p3l_slot ev = { 0 };

	if (tail - t > n)
		t = tail - n;
	ev.md = (uint16_t)op->md;
	ev.md_gen = (uint16_t)op->md_gen;
	ev.initiator = (uint16_t)op->src;
	ev.pt = op->pt;
	ev.match_bits = op->match_bits;
	ev.kind_fail = (uint8_t)((op->type == P3L_PUT ? PTL_EVENT_PUT_END : PTL_EVENT_GET_END) |
				 PTL_NI_DIED_NP << 4);
	for (; t != tail; t++) {
		struct p3l_slot *s = (struct p3l_slot *)((char *)ni + q->slots) + (t & (n - 1));

		if ((int32_t)(p3_load_acq(&s->word) - (t << 1 | 1)) >= 0 || owned(ni, eq, t))
			continue;
		ev.link = t;
		p3_store(&s->word, (t - n) << 1 | 1);	/* the dead writer may have left it busy */
		p3l_eq_post(env, ni, eq, t, &ev);
	}
}

static void recount(struct p3l_ni *ni, uint32_t md)
{
	for (;;) {
		uint32_t old = p3_load_acq(&p3l_md(ni, md)->pending), n = 0;

		for (uint32_t s = 0; s < ni->n_slots; s++)
			for (uint32_t k = 0; k < P3L_OPS; k++) {
				const struct p3l_op *op = &p3l_row(ni, s)->op[k];

				n += in_progress(p3_load_acq(&op->state)) && op->md == md;
			}
		if (p3_cas32(&p3l_md(ni, md)->pending, old, n))
			return;
	}
}

/* We hold the lock of @pt, which @dead held. */
void p3l_repair(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt, uint32_t dead)
{
	if (dead >= ni->n_slots)
		return;
	for (uint32_t k = 0; k < P3L_OPS; k++) {
		struct p3l_op *op = &p3l_row(ni, dead)->op[k];
		struct p3l_md *md;
		int eq;

		if (p3_load_acq(&op->state) != P3L_OP_PREP || op->pt != pt || op->md >= ni->max_md)
			continue;
		md = p3l_md(ni, op->md);
		md->offset = op->old_offset;
		md->threshold = op->old_threshold;
		md->flags = op->old_flags;
		p3_store_rel(&op->state, P3L_OP_IDLE);
		recount(ni, op->md);
		eq = p3l_eq_of(ni, op->eq);
		if (eq >= 0)
			fill_holes(env, ni, (uint32_t)eq, op);
	}
}

static void finish(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_op *op)
{
	int eq = p3l_eq_of(ni, op->eq);
	uint32_t n;

	op->lockless = 0;
	if (p3_load(&op->state) == P3L_OP_END && eq >= 0 && op->has_ticket) {
		struct p3l_eq *q = &ni->eq[eq];
		struct p3l_slot *s = (struct p3l_slot *)((char *)ni + q->slots) + (op->ticket & ((1u << q->log2) - 1));

		n = 1u << q->log2;
		if ((int32_t)(p3_load_acq(&s->word) - (op->ticket << 1 | 1)) >= 0)
			op->options |= PTL_MD_EVENT_END_DISABLE;	/* it was posted */
		else
			p3_store(&s->word, (op->ticket - n) << 1 | 1);
	}
	op->ack = 0;
	recount(ni, op->md);			/* it may have died before or after its own step */
	if (p3_load(&op->state) == P3L_OP_END && p3_load(&p3l_md(ni, op->md)->pending) == 0)
		p3_fetch_add(&p3l_md(ni, op->md)->pending, 1);
	p3l_target_end(env, ni, op, PTL_NI_DIED_NP);
}

/* Owner: finish what dead movers began. Returns how many operations. */
unsigned p3l_reap(const struct p3l_env *env, struct p3l_ni *ni)
{
	unsigned done = 0;

	if (!p3_cas32(&ni->reap_lock, 0, env->self))
		return 0;
	for (uint32_t s = 0; s < ni->n_slots; s++) {
		struct p3l_row *row = p3l_row(ni, s);
		bool dead = false;

		if (s == env->self - 1)
			continue;
		for (uint32_t k = 0; k < P3L_OPS; k++) {
			struct p3l_op *op = &row->op[k];
			uint32_t state = p3_load_acq(&op->state);

			if (state == P3L_OP_IDLE)
				continue;
			if (!dead && env->alive(s))
				break;
			dead = true;
			if (state >= P3L_OP_MAX || op->md >= ni->max_md || op->pt >= P3L_MAX_PT) {
				p3l_count(env, &p3l_row(ni, env->self - 1)->stats.corrupt, 1);
				p3_store_rel(&op->state, P3L_OP_IDLE);
				continue;
			}
			if (state == P3L_OP_PREP) {
				p3l_lock(env, ni, op->pt);	/* taken over from the dead, and repaired */
				p3l_unlock(ni, op->pt);
			}
			if (in_progress(p3_load_acq(&op->state)))
				finish(env, ni, op);
			p3_store_rel(&op->state, P3L_OP_IDLE);
			p3l_count(env, &p3l_row(ni, env->self - 1)->stats.reaped, 1);
			done++;
		}
	}
	p3_store_rel(&ni->reap_lock, 0);
	return done;
}

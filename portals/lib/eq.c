/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * eq.c - event queues: many writers in several processes, one reading process
 *
 * A writer reserves a ticket (one atomic add) and later posts the event into its slot (p3l_eq_place). A reserved ticket
 * is a promise: PtlMDUpdate's test counts it as "not empty", and the reader waits for it, so that events come in the
 * order of their tickets. Writers never wait for the reader: an unread event is overwritten by the one a lap later.
 * Slot words are in p3l_layout.h. Invariants: head <= tail; the word of a slot only grows; a slot is written by one
 * writer at a time, because each waits for its predecessor of the lap before.
 */
#include "p3l.h"

/* Queue @i was freed and has not been given back yet. */
static bool in_limbo(const struct p3l_ni *ni, uint32_t i)
{
	return (p3_load_acq(&ni->eq[i].flags) & (P3L_EQ_USED | P3L_EQ_LIMBO)) == P3L_EQ_LIMBO;
}

/* An operation may be about to log to freed queue @i: its record says so. */
static bool recorded(const struct p3l_ni *ni, uint32_t i)
{
	uint32_t was = (i + 1) | ((ni->eq[i].gen - 1) & P3L_GEN_MASK) << 16;

	for (uint32_t s = 0; s < p3l_slots(ni); s++)
		for (uint32_t k = 0; k < P3L_OPS; k++) {
			const struct p3l_op *op = &p3l_row(ni, s)->op[k];
			uint32_t state = p3_load_acq(&op->state);

			if (state >= P3L_OP_PREP && state < P3L_OP_LEAVE && p3_load(&op->eq) == was)
				return true;
		}
	return false;
}

/*
 * Give freed queues back, each as soon as nobody can post into it any more. Whoever found it by its old generation did
 * so under the lock of a portal table entry, which we have had since; or has a record that names it; or is a send or
 * reply of our own. Whoever comes later finds that it is gone, so its MDs may stay. own_lock, and reap_lock, so that
 * nobody fills its holes
 */
static bool give_back(const struct p3l_env *env, struct p3l_ni *ni)
{
	bool some = false;

	if (!p3l_writers_out(env, ni))
		return false;
	for (uint32_t i = 0; i < P3L_MAX_EQ && i < ni->max_eq; i++) {
		struct p3l_eq *q = &ni->eq[i];

		if (!in_limbo(ni, i) || recorded(ni, i))
			continue;
		if (p3_likely(p3l_eq_slot(ni, q, 0)))	/* not overwritten */
			p3l_space_free(ni, q->slots, q->log2 + 6);
		p3_store_rel(&q->flags, 0);
		some = true;
	}
	return some;
}

bool p3l_eq_give_back(const struct p3l_env *env, struct p3l_ni *ni)
{
	bool some = false;

	for (uint32_t i = 0; i < P3L_MAX_EQ && i < ni->max_eq && !some; i++)
		some = in_limbo(ni, i);
	if (!some || !p3l_reap_hold(env, ni))
		return false;
	p3l_own_lock(env, ni);
	some = give_back(env, ni);
	p3_store_rel(&ni->reap_lock, 0);
	p3l_own_unlock(env, ni);
	return some;
}

int p3l_eq_alloc(const struct p3l_env *env, struct p3l_ni *ni, uint64_t count, struct p3l_ref *out)
{
	uint32_t log2 = 2, i, n;	/* fewer slots than an operation has events would never have room */
	struct p3l_eq *q;
	uint64_t off;
	int rc = PTL_NO_SPACE;

	while (log2 < 25 && ((uint64_t)1 << log2) < count)
		log2++;
	if (((uint64_t)1 << log2) < count)
		return PTL_NO_SPACE;
	p3l_eq_give_back(env, ni);
	p3l_own_lock(env, ni);
	for (i = 0; i < P3L_MAX_EQ && i < ni->max_eq && ni->eq[i].flags; i++)
		;
	if (i == P3L_MAX_EQ || i == ni->max_eq)
		goto out;
	off = p3l_md_room(ni, log2 + 6);
	if (!off)
		goto out;
	q = &ni->eq[i];
	q->head = q->tail = 0;
	q->log2 = log2;
	q->slots = off;
	q->dropped = 0;
	q->rlock = 0;
	n = 1u << log2;
	for (uint32_t t = 0; t < n; t++) {	/* as if a lap before had been posted */
		struct p3l_slot *s = p3l_eq_slot(ni, q, t);

		if (p3_unlikely(!s))
			goto out;	/* overwritten since */
		s->word = (t - n) << 1 | 1;
	}
	p3_store_rel(&q->flags, P3L_EQ_USED);
	*out = (struct p3l_ref){ i, q->gen & P3L_GEN_MASK };
	rc = PTL_OK;
out:
	p3l_own_unlock(env, ni);
	return rc;
}

bool p3l_eq_valid(const struct p3l_ni *ni, struct p3l_ref r)
{
	return r.idx < P3L_MAX_EQ && (p3_load_acq(&ni->eq[r.idx].flags) & P3L_EQ_USED) &&
	       (ni->eq[r.idx].gen & P3L_GEN_MASK) == r.gen;
}

/*
 * MDs that still name the queue keep its index; their generation no longer fits, so they log nothing. A mover that
 * has found it already may still take a ticket and post: the queue is in limbo until p3l_eq_alloc() finds that there
 * is none.
 */
int p3l_eq_free(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r)
{
	struct p3l_eq *q = &ni->eq[r.idx % P3L_MAX_EQ];
	int rc = PTL_EQ_INVALID;

	p3l_own_lock(env, ni);
	if (p3l_eq_valid(ni, r)) {
		p3_store(&q->gen, q->gen + 1);
		p3_store_rel(&q->flags, P3L_EQ_LIMBO);
		rc = PTL_OK;
	}
	p3l_own_unlock(env, ni);
	return rc;
}

uint32_t p3l_eq_reserve(struct p3l_ni *ni, uint32_t eq)
{
	return p3_fetch_add(&ni->eq[eq].tail, 1);	/* M:eq.reserve */
}

void p3l_eq_post(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq, uint32_t ticket,
		 const struct p3l_slot *ev)
{
	struct p3l_eq *q = &ni->eq[eq];
	struct p3l_slot *s = p3l_eq_slot(ni, q, ticket);
	uint32_t prev = (ticket - (1u << (p3_load(&q->log2) & 31))) << 1 | 1;
	unsigned spins = 0;

	if (p3_unlikely(!s)) {
		p3l_count(env, &p3l_row(ni, env->self - 1)->stats.corrupt, 1);
		return;
	}
	while (p3_unlikely(p3_load_acq(&s->word) != prev)) {	/* M:eq.lap */
		if ((int32_t)(p3_load(&s->word) - prev) > 0 || ++spins > (1u << 22)) {
			p3l_count(env, &p3l_row(ni, env->self - 1)->stats.eq_overruns, 1);
			if ((int32_t)(p3_load(&s->word) - prev) <= 0) {	/* M:eq.late */
				p3_store(&q->dropped, 1);		/* M:eq.lost */
				p3_store_rel(&ni->holes, 1);		/* M:eq.hole */
			}
			return;			/* a newer lap is there, or the writer before us is stopped or dead */
		}
		env->relax(spins);
	}
	p3_prefetchw(p3l_eq_slot(ni, q, ticket + 1));	/* where the next one of a stream goes */
	p3_store(&s->word, ticket << 1);	/* M:eq.busy */
	P3L_POINT("slot busy");
	p3_fence_rel();	/* a reader that sees the fields below sees "busy" */
	s->link = ev->link;
	s->match_bits = ev->match_bits;	/* M:eq.fill-plain */
	s->hdr_data = ev->hdr_data;
	s->rlength = ev->rlength;
	s->mlength = ev->mlength;
	s->offset = ev->offset;
	s->md = ev->md;
	s->md_gen = ev->md_gen;
	s->threshold = ev->threshold;
	s->initiator = ev->initiator;
	s->kind_fail = ev->kind_fail;
	s->pt = ev->pt;
	P3L_POINT("slot filled");
	P3_PROBE_M5(event_log, s, s->kind_fail, s->md, s->initiator, s->mlength);
	P3_TRACED(log(ni, eq, ticket, ev->kind_fail));
	p3_store_rel(&s->word, ticket << 1 | 1);	/* M:eq.valid pairs with the acquire in p3l_eq_read() */
}

/* Told: what a writer notes from here on is another loss; a plain store might reach memory behind that and erase it. */
void p3l_eq_took(struct p3l_ni *ni, uint32_t eq, bool told)
{
	struct p3l_eq *q = &ni->eq[eq];

	if (p3_unlikely(told))
		p3_xchg(&q->dropped, 0);	/* M:eq.told */
	p3_store_rel(&q->head, q->head + 1);
}

int p3l_eq_next(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq, struct p3l_slot *out, bool take)
{
	struct p3l_eq *q = &ni->eq[eq];
	uint32_t n = 1u << (p3_load(&q->log2) & 31), word, tail;
	int rc = 0;

	for (;;) {
		struct p3l_slot *s = p3l_eq_slot(ni, q, q->head);
		int32_t ahead;

		if (p3_unlikely(!s)) {
			p3l_count(env, &p3l_row(ni, env->self - 1)->stats.corrupt, 1);
			break;
		}
		word = p3_load_acq(&s->word);	/* M:eq.look */
		ahead = (int32_t)(word - (q->head << 1 | 1));
		if (p3_likely(p3l_eq_early(word, q->head, n)))
			break;				/* not posted yet */
		if (p3_likely(ahead == 0)) {
			p3l_copy(out, s, sizeof(*out));		/* M:eq.copy-plain */
			p3_fence_acq();
			if (p3_likely(p3_load(&s->word) == word)) {	/* M:eq.again */
				if (p3_unlikely(out->kind_fail == P3L_VOID)) {
					p3_store_rel(&q->head, q->head + 1);
					continue;
				}
				out->ticket = q->head;
				rc = q->dropped ? -1 : 1;	/* M:eq.dropped-plain */
				if (take)
					p3l_eq_took(ni, eq, rc < 0);
				break;
			}
		}
		/* overrun: the oldest survivor is a lap behind the newest ticket (SPEC-NOTES: overrun) */
		tail = p3_load(&q->tail);	/* M:eq.tail */
		if (p3_unlikely(ahead < 0 ? tail - q->head <= n : tail == q->head))
			break;		/* not posted, nor what stood there laps before; or a peer wrote there */
		q->dropped = 1;			/* M:eq.overrun-plain */
		p3_store_rel(&q->head, tail - q->head > n ? tail - n : q->head + 1);
	}
	return rc;
}

int p3l_eq_read(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq, struct p3l_slot *out, bool take)
{
	int rc;

	p3l_eq_lock(env, ni, eq);
	rc = p3l_eq_next(env, ni, eq, out, take);
	p3l_eq_unlock(env, ni, eq);
	return rc;
}

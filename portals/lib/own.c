/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * own.c - the initiator's side of an operation: its MD is charged for the send, the ack and the reply
 *
 * Run on the initiator's NI: by the initiator itself, or, for an ack of a message taken from an inbox, by the target.
 */
#include "p3l.h"

static void slot_fill(struct p3l_slot *ev, const struct p3l_ni *ni, struct p3l_ref md, uint8_t kind)
{
	ev->md = (uint16_t)md.idx;
	ev->md_gen = (uint16_t)p3l_md(ni, md.idx)->gen;
	ev->kind_fail = kind;
}

/* One unit of the threshold; [lock] */
static void charge(struct p3l_md *md, uint32_t link)
{
	if (md->threshold != PTL_MD_THRESH_INF && --md->threshold == 0) {
		p3_store(&md->flags, md->flags | P3L_MD_SPENT);
		md->spent_link = link;
	}
}

/*
 * Sends and replies have no record: nobody can finish them but their own process. So that the tickets they hold are not
 * taken for lost ones, p3l_reap() waits until those that were under way have ended: two counters, used in turn.
 */
static uint8_t enter(const struct p3l_env *env, struct p3l_ni *ni)
{
	uint32_t e;

	if (env->single)
		return 0;
	e = p3_load(&ni->own_epoch) & 1;
	p3_fetch_add(&ni->own_ops[e], 1);
	return (uint8_t)(e + 1);
}

static void leave(struct p3l_ni *ni, uint8_t busy)
{
	if (busy)
		p3_fetch_add(&ni->own_ops[busy - 1], (uint32_t)-1);
}

static void unpend(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx, const struct p3l_slot *ev)
{
	struct p3l_md *md = p3l_md(ni, idx);

	if (p3_fetch_add(&md->pending, -P3L_PEND_OWN) == P3L_PEND_OWN && (p3_load(&md->flags) & P3L_MD_SPENT))
		p3l_md_done(env, ni, idx, ev);
}

static void send_slot(const struct p3l_ni *ni, const struct p3l_send *s, uint8_t kind, uint32_t fail,
		      struct p3l_slot *ev)
{
	slot_fill(ev, ni, s->md, (uint8_t)(kind | fail << 4));
	ev->link = s->link;
	ev->match_bits = s->match_bits;
	ev->hdr_data = s->hdr_data;
	ev->rlength = ev->mlength = s->len;
	ev->offset = s->loff;			/* 3.11.4: inside the MD of the event (SPEC-NOTES: SEND_END offset) */
	ev->threshold = s->threshold;
	ev->initiator = (uint16_t)ni->slot;
	ev->pt = (uint8_t)s->pt;
	if (p3_unlikely(s->pt > 0xff)) {	/* nobody has it; the event says what was asked for all the same */
		ev->initiator = P3L_WIDE_PT;
		ev->mlength = s->pt;
	}
}

/*
 * Check the MD and its region, charge one send, log SEND_START. Nothing is recorded of a plain send by the only thread
 * of its process: it ends before another call begins, so nobody updates the MD meanwhile or asks whether it is in use.
 * (Who sends later than in the call, as for other nodes, has another thread.)
 */
int p3l_send_begin(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_send *s)
{
	struct p3l_slot ev;
	struct p3l_md *md;
	uint32_t pt;
	int rc, eq;

	if (s->md.idx >= P3L_MAX_MD)
		return PTL_MD_INVALID;
	md = p3l_md(ni, s->md.idx);
	if (env->single && (p3_load_acq(&md->flags) & (P3L_MD_PLAIN | P3L_MD_USED)) == (P3L_MD_PLAIN | P3L_MD_USED) &&
	    (p3_load(&md->gen) & P3L_GEN_MASK) == s->md.gen) {
		s->plain = true;
		s->start = md->start;
		s->iov = 0;
		s->flags = md->flags;
		if (s->len == P3L_WHOLE)
			s->len = md->length;
		return s->loff <= md->length && s->len <= md->length - s->loff ? PTL_OK : PTL_MD_ILLEGAL;
	}
	rc = p3l_md_lock(env, ni, s->md, &pt);
	if (rc != PTL_OK)
		return rc;
	s->busy = 0;
	if (s->len == P3L_WHOLE)
		s->len = md->length;
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT))
		rc = PTL_MD_INVALID;
	else if (p3_unlikely(s->whole && s->len != md->length))
		rc = P3L_AGAIN;
	else if (p3_unlikely(p3_load(&md->pending) > P3L_PEND_MOST))
		rc = PTL_NO_SPACE;
	else if (s->loff > md->length || s->len > md->length - s->loff)
		rc = PTL_MD_ILLEGAL;
	if (rc != PTL_OK)
		goto out;
	s->plain = false;
	s->has_ticket = false;
	s->start = md->start;
	s->iov = md->iov;
	s->iov_n = md->iov_n;
	s->flags = md->flags;
	s->eq = md->eq;
	s->options = md->options;
	s->link = 0;
	s->busy = enter(env, ni);
	p3_fetch_add(&md->pending, P3L_PEND_OWN);
	eq = p3l_eq_of(ni, s->eq);
	if (eq >= 0 && (s->options & (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)) !=
			       (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)) {
		s->link = s->ticket = p3l_eq_reserve(ni, (uint32_t)eq);
		p3l_md_note(md, s->eq, s->ticket);
	}
	charge(md, s->link);
	s->threshold = md->threshold;
	if (eq >= 0 && !(s->options & PTL_MD_EVENT_START_DISABLE)) {
		send_slot(ni, s, PTL_EVENT_SEND_START, PTL_NI_OK, &ev);
		p3l_eq_post(env, ni, (uint32_t)eq, s->ticket, &ev);
	} else if (eq >= 0 && !(s->options & PTL_MD_EVENT_END_DISABLE)) {
		s->has_ticket = true;
	}
out:
	p3l_unlock(ni, pt);
	return rc;
}

void p3l_send_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_send *s, uint32_t fail)
{
	struct p3l_stats *stats = &p3l_row(ni, env->self - 1)->stats;
	struct p3l_slot ev;
	int eq;

	p3l_count(env, &stats->send_count, 1);
	p3l_count(env, &stats->send_length, s->len);
	if (s->plain)
		return;
	send_slot(ni, s, PTL_EVENT_SEND_END, fail, &ev);
	eq = p3l_eq_of(ni, s->eq);
	if (eq >= 0 && !(s->options & PTL_MD_EVENT_END_DISABLE)) {
		if (!s->has_ticket) {
			s->ticket = p3l_eq_reserve(ni, (uint32_t)eq);
			p3l_md_note(p3l_md(ni, s->md.idx), s->eq, s->ticket);
		}
		p3l_eq_post(env, ni, (uint32_t)eq, s->ticket, &ev);
	}
	leave(ni, s->busy);
	unpend(env, ni, s->md.idx, &ev);
}

int p3l_get_begin(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_reply *r, bool *xt)
{
	struct p3l_md *md;
	uint32_t pt;
	int rc = p3l_md_lock(env, ni, r->md, &pt);

	if (p3_unlikely(rc != PTL_OK))
		return rc;
	md = p3l_md(ni, r->md.idx);
	if (r->mlength == P3L_WHOLE)
		r->mlength = md->length;
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT))
		rc = PTL_MD_INVALID;
	else if (r->off > md->length || r->mlength > md->length - r->off)
		rc = PTL_MD_ILLEGAL;
	*xt = md->flags & P3L_MD_XT;
	p3l_unlock(ni, pt);
	return rc;
}

void p3l_get_sent(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref md, uint64_t off, uint64_t len,
		  const struct p3l_hdr *h, uint32_t fail)
{
	struct p3l_send s = { .md = md, .loff = off, .len = len, .match_bits = h->match_bits, .pt = h->pt };

	if (p3l_send_begin(env, ni, &s) == PTL_OK) {
		p3l_send_end(env, ni, &s, fail);
		p3l_count(env, &p3l_row(ni, env->self - 1)->stats.send_length, -len);	/* a request carries none */
	}
}

static void drop(const struct p3l_env *env, struct p3l_ni *ni, uint32_t from, uint32_t pt, uint64_t bits)
{
	P3_PROBE5(drop, ni, from, pt, bits, P3_DROP_GONE);
	P3_TRACED(drop(ni, pt, bits, 0, P3_DROP_GONE));
	p3l_count(env, &p3l_row(ni, env->self - 1)->stats.drop_count, 1);
}

/*
 * 4.7: an ack finds its MD by handle and generation; too late, or inactive: dropped and counted. Brought by a peer, it
 * has a record, so that the owner can make good what a peer that dies here leaves behind.
 */
static inline __attribute__((always_inline)) void ack(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r,
						      uint32_t target_slot, uint32_t pt, uint64_t match_bits,
						      uint64_t roffset, uint64_t rlength, uint64_t mlength,
						      uint32_t fail)
{
	bool foreign = env->self - 1 != ni->slot;
	struct p3l_op *op = foreign ? p3l_op_get(env, ni) : NULL;
	struct p3l_slot ev = { 0 };
	struct p3l_md *md;
	uint32_t lpt, one = op ? 1 : P3L_PEND_OWN;
	int eq;

	if (p3l_md_lock(env, ni, r, &lpt) != PTL_OK) {
		drop(env, ni, target_slot, pt, match_bits);
		goto out;
	}
	md = p3l_md(ni, r.idx);
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT)) {
		p3l_unlock(ni, lpt);
		drop(env, ni, target_slot, pt, match_bits);
		goto out;
	}
	if (op) {
		op->type = P3L_ACK;
		p3_store(&op->md, r.idx);	/* leaving() may still look at what was before */
		op->md_gen = md->gen;
		op->eq = md->eq;
		op->pt = (uint8_t)lpt;
		op->has_ticket = 0;
		p3_store(&op->lockless, 0);
		op->me = md->me;
		op->me_gen = md->me ? p3l_me(ni, md->me - 1)->gen : 0;
		op->old_threshold = md->threshold;
		op->old_flags = md->flags;
		p3_store_rel(&op->state, P3L_OP_PREP);
	}
	P3L_POINT("ack prep");
	p3_fetch_add(&md->pending, one);
	eq = p3l_eq_of(ni, md->eq);
	slot_fill(&ev, ni, r, (uint8_t)(PTL_EVENT_ACK | fail << 4));
	if (eq >= 0) {
		ev.link = p3l_eq_reserve(ni, (uint32_t)eq);
		P3L_POINT("ack reserved");
		p3l_md_note(md, md->eq, ev.link);
		if (op) {
			op->link = ev.link;
			p3_store_rel(&op->has_ticket, P3L_TICKET_START);
		}
	}
	charge(md, ev.link);
	P3L_POINT("ack charged");
	ev.match_bits = match_bits;
	ev.rlength = p3_unlikely(md->flags & P3L_MD_XT) ? mlength : rlength;
	ev.mlength = mlength;
	ev.offset = roffset;
	ev.threshold = md->threshold;
	ev.initiator = (uint16_t)target_slot;
	ev.pt = (uint8_t)pt;
	if (eq >= 0)
		p3l_eq_post(env, ni, (uint32_t)eq, ev.link, &ev);
	P3L_POINT("ack posted");
	if (op)
		p3_store_rel(&op->state, P3L_OP_LEAVE);
	p3l_unlock(ni, lpt);
	if (p3_fetch_add(&md->pending, -one) == one && (p3_load(&md->flags) & P3L_MD_SPENT))
		p3l_md_done(env, ni, r.idx, &ev);
out:
	if (op)
		p3_store_rel(&op->state, P3L_OP_IDLE);
}

void p3l_ack(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r, uint32_t target_slot, uint32_t pt,
	     uint64_t match_bits, uint64_t roffset, uint64_t rlength, uint64_t mlength)
{
	ack(env, ni, r, target_slot, pt, match_bits, roffset, rlength, mlength, PTL_NI_OK);
}

void p3l_ack_failed(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r, uint32_t target_slot, uint32_t pt,
		    uint64_t match_bits, uint64_t rlength, uint32_t fail)
{
	ack(env, ni, r, target_slot, pt, match_bits, 0, rlength, 0, fail);
}

static void reply_slot(const struct p3l_ni *ni, const struct p3l_reply *r, uint8_t kind, uint32_t fail,
		       struct p3l_slot *ev)
{
	slot_fill(ev, ni, r->md, (uint8_t)(kind | fail << 4));
	ev->link = r->link;
	ev->match_bits = r->match_bits;
	ev->hdr_data = 0;
	ev->rlength = r->rlength;
	ev->mlength = r->mlength;
	ev->offset = r->off;
	ev->threshold = r->threshold;
	ev->initiator = (uint16_t)r->target_slot;
	ev->pt = (uint8_t)r->pt;
}

/* 4.8: a reply is never rejected for its length, but cut; dropped when the MD is gone or inactive. */
bool p3l_reply_begin(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_reply *r)
{
	struct p3l_slot ev;
	struct p3l_md *md;
	uint32_t pt;
	int eq;

	if (p3l_md_lock(env, ni, r->md, &pt) != PTL_OK)
		goto drop;
	md = p3l_md(ni, r->md.idx);
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT)) {
		p3l_unlock(ni, pt);
		goto drop;
	}
	if (r->off > md->length)
		r->mlength = 0;
	else if (r->mlength > md->length - r->off)
		r->mlength = md->length - r->off;
	r->start = md->start;
	r->iov = md->iov;
	r->iov_n = md->iov_n;
	r->eq = md->eq;
	r->options = md->options;
	r->flags = md->flags;
	r->link = 0;
	r->has_ticket = false;
	r->busy = enter(env, ni);
	p3_fetch_add(&md->pending, P3L_PEND_OWN);
	eq = p3l_eq_of(ni, r->eq);
	if (eq >= 0 && (r->options & (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)) !=
			       (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)) {
		r->link = r->ticket = p3l_eq_reserve(ni, (uint32_t)eq);
		p3l_md_note(md, r->eq, r->ticket);
	}
	charge(md, r->link);
	r->threshold = md->threshold;
	if (eq >= 0 && !(r->options & PTL_MD_EVENT_START_DISABLE)) {
		reply_slot(ni, r, PTL_EVENT_REPLY_START, PTL_NI_OK, &ev);
		p3l_eq_post(env, ni, (uint32_t)eq, r->ticket, &ev);
	} else if (eq >= 0 && !(r->options & PTL_MD_EVENT_END_DISABLE)) {
		r->has_ticket = true;
	}
	p3l_unlock(ni, pt);
	return true;
drop:
	drop(env, ni, r->target_slot, r->pt, r->match_bits);
	return false;
}

void p3l_reply_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_reply *r, uint32_t fail)
{
	struct p3l_slot ev;
	int eq = p3l_eq_of(ni, r->eq);

	reply_slot(ni, r, PTL_EVENT_REPLY_END, fail, &ev);
	if (eq >= 0 && !(r->options & PTL_MD_EVENT_END_DISABLE)) {
		if (!r->has_ticket) {
			r->ticket = p3l_eq_reserve(ni, (uint32_t)eq);
			p3l_md_note(p3l_md(ni, r->md.idx), r->eq, r->ticket);
		}
		p3l_eq_post(env, ni, (uint32_t)eq, r->ticket, &ev);
	}
	leave(ni, r->busy);
	unpend(env, ni, r->md.idx, &ev);
}

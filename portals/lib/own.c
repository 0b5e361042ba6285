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
		md->flags |= P3L_MD_SPENT;
		md->spent_link = link;
	}
}

static void unpend(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx, const struct p3l_slot *ev)
{
	struct p3l_md *md = p3l_md(ni, idx);

	if (p3_fetch_add(&md->pending, (uint32_t)-1) == 1 && (p3_load(&md->flags) & P3L_MD_SPENT))
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
}

/* Check the MD and its region, charge one send, log SEND_START. */
int p3l_send_begin(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_send *s)
{
	struct p3l_slot ev;
	struct p3l_md *md;
	uint32_t pt;
	int rc, eq;

	if (s->md.idx >= ni->max_md)
		return PTL_MD_INVALID;
	md = p3l_md(ni, s->md.idx);
	if ((p3_load_acq(&md->flags) & (P3L_MD_PLAIN | P3L_MD_USED)) == (P3L_MD_PLAIN | P3L_MD_USED) &&
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
	if (s->len == P3L_WHOLE)
		s->len = md->length;
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT))
		rc = PTL_MD_INVALID;
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
	p3_fetch_add(&md->pending, 1);
	eq = p3l_eq_of(ni, s->eq);
	if (eq >= 0 && (s->options & (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)) !=
			       (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)) {
		s->link = s->ticket = p3l_eq_reserve(ni, (uint32_t)eq);
		md->last_ticket = s->ticket;
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
	unpend(env, ni, s->md.idx, &ev);
}

static void drop(const struct p3l_env *env, struct p3l_ni *ni)
{
	p3l_count(env, &p3l_row(ni, env->self - 1)->stats.drop_count, 1);
}

/* 4.7: an ack finds its MD by handle and generation; too late, or inactive: dropped and counted. */
void p3l_ack(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r, uint32_t target_slot, uint32_t pt,
	     uint64_t match_bits, uint64_t roffset, uint64_t rlength, uint64_t mlength)
{
	struct p3l_slot ev = { 0 };
	struct p3l_md *md;
	uint32_t lpt;
	int eq;

	if (p3l_md_lock(env, ni, r, &lpt) != PTL_OK) {
		drop(env, ni);
		return;
	}
	md = p3l_md(ni, r.idx);
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT)) {
		p3l_unlock(ni, lpt);
		drop(env, ni);
		return;
	}
	p3_fetch_add(&md->pending, 1);
	eq = p3l_eq_of(ni, md->eq);
	slot_fill(&ev, ni, r, PTL_EVENT_ACK);
	if (eq >= 0) {
		ev.link = p3l_eq_reserve(ni, (uint32_t)eq);
		md->last_ticket = ev.link;
	}
	charge(md, ev.link);
	ev.match_bits = match_bits;
	ev.rlength = rlength;
	ev.mlength = mlength;
	ev.offset = roffset;
	ev.threshold = md->threshold;
	ev.initiator = (uint16_t)target_slot;
	ev.pt = (uint8_t)pt;
	if (eq >= 0)
		p3l_eq_post(env, ni, (uint32_t)eq, ev.link, &ev);
	p3l_unlock(ni, lpt);
	unpend(env, ni, r.idx, &ev);
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
	r->link = 0;
	r->has_ticket = false;
	p3_fetch_add(&md->pending, 1);
	eq = p3l_eq_of(ni, r->eq);
	if (eq >= 0 && (r->options & (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)) !=
			       (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)) {
		r->link = r->ticket = p3l_eq_reserve(ni, (uint32_t)eq);
		md->last_ticket = r->ticket;
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
	drop(env, ni);
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
	unpend(env, ni, r->md.idx, &ev);
}

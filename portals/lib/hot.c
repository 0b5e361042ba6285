/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * hot.c - the usual case of an inbox message, straight through
 *
 * A short message without ack or offset, whose first ME takes it into a plain buffer, and the caller waits for just this
 * event: matched, copied and handed over in one piece. Everything that differs in any point is left as it is, for the long
 * way (p3l_target_short), which is the reference: whatever this function does, that one would have done too. The only step
 * that could fail half-way, the ticket of the event, comes before the first change.
 */
#include "p3l.h"

#define FETCH 4		/* lines */
#define OPTIONS (PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)

static inline int take(struct p3l_ni *ni, uint32_t slot, struct p3l_lane_hdr *lane, uint32_t head, struct p3l_line *m,
		       uint32_t f, uint32_t pt, uint32_t n, struct p3l_sink *sink)
{
	const uint8_t *from = m->body;
	const struct p3l_ac *ac = &ni->ac[0];
	uint64_t off, bits = 0, hdr_data = 0;
	struct p3l_stats *stats;
	const struct p3l_me *me;
	struct p3l_md *md;
	struct p3l_eq *q;
	uint32_t t, i;

	if (f & P3L_LF_MATCH) {
		p3l_copy(&bits, from, 8);
		from += 8;
	}
	if (f & P3L_LF_HDR) {
		p3l_copy(&hdr_data, from, 8);
		from += 8;
	}
	if (ac->uid != ni->uid || ac->jid != PTL_JID_ANY || ac->nid != PTL_NID_ANY || ac->pid != PTL_PID_ANY ||
	    ac->pt != PTL_PT_INDEX_ANY)
		return -1;
	i = ni->pt[pt].head - 1;
	if (i >= ni->max_me)
		return -1;
	me = p3l_me(ni, i);
	i = me->md - 1;
	if (((me->match_bits ^ bits) & ~me->ignore_bits) || me->match_nid != PTL_NID_ANY || me->match_pid != PTL_PID_ANY ||
	    i >= ni->max_md)
		return -1;
	md = p3l_md(ni, i);
	off = md->options & PTL_MD_MANAGE_REMOTE ? 0 : md->offset;
	if ((md->options & OPTIONS) != (PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE) ||
	    (md->flags & (P3L_MD_USED | P3L_MD_SPENT)) != P3L_MD_USED || md->threshold != PTL_MD_THRESH_INF || md->iov ||
	    off > md->length || n > md->length - off ||
	    ((md->options & PTL_MD_MAX_SIZE) && md->length - off - n < md->max_size) ||
	    md->eq != sink->packed)
		return -1;
	q = &ni->eq[sink->eq];
	t = q->head;
	if (!p3l_sink_due(sink, t) || q->dropped || !p3_cas32(&q->tail, t, t + 1))
		return -1;

	p3l_sink_pass(ni, sink, t);
	if (!(md->options & PTL_MD_MANAGE_REMOTE))
		md->offset = off + n;
	if (p3_likely(!p3_load(&md->pending)))	/* nobody else can note one */
		p3_store(&md->last_ticket, t);
	else
		p3l_md_note(md, md->eq, t);
	sink->ev.word = t << 1 | 1;
	sink->ev.link = t;
	sink->ev.match_bits = bits;
	sink->ev.hdr_data = hdr_data;
	sink->ev.rlength = n;
	sink->ev.mlength = n;
	sink->ev.offset = off;
	sink->ev.md = (uint16_t)i;
	sink->ev.md_gen = (uint16_t)md->gen;
	sink->ev.threshold = PTL_MD_THRESH_INF;
	sink->ev.initiator = (uint16_t)slot;
	sink->ev.kind_fail = PTL_EVENT_PUT_END;
	sink->ev.pt = (uint8_t)pt;
	sink->got = true;
	stats = &p3l_row(ni, ni->slot)->stats;
	stats->recv_count++;
	stats->recv_length += n;
	stats->lane_msgs++;
	p3l_copy_line((uint8_t *)(uintptr_t)(md->start + off), from, n);
	p3_store_rel(&lane->head, head + 1);
	if (p3_unlikely(head + 1 - lane->head_pub >= ni->lane_lines / 4))
		p3_store_rel(&lane->head_pub, head + 1);
	return 1;
}

/*
 * Owner with one thread. @burst: messages come faster than they are taken, so the next lines are written already: fetch
 * ahead (a line not yet written would be taken from the initiator). 1: taken, in @sink. 0: nothing at the head of lane
 * @slot. -1: take the long way.
 *
 * A message of a polled entry needs no lock, since nobody else takes it or matches there. For any other the lock of the
 * lane and of the entry are taken, each by one try.
 */
int p3l_inbox_hot(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_lane_hdr *lane, uint32_t slot,
		  struct p3l_sink *sink, bool burst)
{
	uint32_t head = p3_load(&lane->head), pt, n, f;
	struct p3l_line *m = p3l_lane_line(ni, lane, head);
	bool polled;
	int rc = -1;

	if (p3_load_acq(&m->word) != p3l_word(P3L_W_FULL, head))
		return 0;
	if (burst)
		__builtin_prefetch(p3l_lane_line(ni, lane, head + FETCH));
	pt = p3_load(&m->pt);
	n = p3_load(&m->len);
	f = p3_load(&m->flags);
	if (f & ~(uint32_t)(P3L_LF_MATCH | P3L_LF_HDR) || pt > ni->max_pt ||
	    n + 8 * ((f & P3L_LF_MATCH) + ((f & P3L_LF_HDR) >> 1)) > sizeof(m->body))
		return -1;
	polled = p3l_pt_polled(ni, pt);
	if (p3_likely(polled))
		return take(ni, slot, lane, head, m, f, pt, n, sink);
	if (!p3_cas32(&lane->lock, 0, env->self))
		return -1;
	if (p3_likely(p3_load(&lane->head) == head) &&	/* else its initiator has emptied it meanwhile */
	    p3_likely(p3_cas32(&ni->pt[pt].lock, 0, env->self))) {
		rc = take(ni, slot, lane, head, m, f, pt, n, sink);
		p3l_unlock(ni, pt);
	}
	p3l_lane_unlock(lane);
	return rc;
}

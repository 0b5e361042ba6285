/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * hot.c - the usual case of an inbox message, straight through
 *
 * A message without ack or offset, whose first ME takes it into a plain buffer, and the caller waits for just this
 * event: matched, copied and handed over in one piece. Everything that differs in any point is left as it is, for the long
 * way (p3l_target_short), which is the reference: whatever this function does, that one would have done too. What depends
 * on the list and the descriptor alone is looked up once and kept (p3l_known); pt.changes says how long it is true. A
 * descriptor for one message, as MPI posts it, is looked up for that message, before it comes if there is nothing else to
 * do, and goes with its ME. A message of several lines is taken so only where no lock would be held meanwhile.
 */
#include "p3l_line.h"

#define OPTIONS (PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)

bool p3l_open_to_all(const struct p3l_ni *ni)
{
	const struct p3l_ac *ac = &ni->ac[0];

	return ac->uid == ni->uid && ac->jid == PTL_JID_ANY && ac->nid == PTL_NID_ANY && ac->pid == PTL_PID_ANY &&
	       ac->pt == PTL_PT_INDEX_ANY;
}

/* Look at the first ME of list @pt, under its lock or as its only user. False: it is for the long way. */
static __attribute__((__noinline__)) bool learn(struct p3l_ni *ni, uint32_t pt, const struct p3l_sink *sink)
{
	uint32_t i = p3_load(&ni->pt[pt].head) - 1;
	struct p3l_known *k = sink->known;
	const struct p3l_me *me;
	struct p3l_md *md;
	bool one;

	k->pt = P3L_MAX_PT;
	k->last = pt;
	k->changes = p3_load(&ni->pt[pt].changes);
	if (!p3l_open_to_all(ni) || i >= P3L_MAX_ME)
		return false;
	me = p3l_me(ni, i);
	i = p3_load(&me->md) - 1;
	if (me->match_nid != PTL_NID_ANY || me->match_pid != PTL_PID_ANY || i >= P3L_MAX_MD)
		return false;
	md = p3l_md(ni, i);
	if ((md->options & OPTIONS) != (PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE) ||
	    (md->flags & (P3L_MD_USED | P3L_MD_SPENT)) != P3L_MD_USED || md->iov || md->eq != sink->packed)
		return false;
	one = md->threshold != PTL_MD_THRESH_INF;
	if (one && (md->threshold != 1 || !(md->flags & P3L_MD_UNLINK) || p3l_md_tells(md) || p3_load_acq(&md->pending)))
		return false;
	k->match_bits = me->match_bits;
	k->mask = ~me->ignore_bits;
	k->start = md->start;
	k->length = md->length;
	k->min_free = md->options & PTL_MD_MAX_SIZE ? md->max_size : 0;
	k->remote = md->options & PTL_MD_MANAGE_REMOTE;
	k->md = md;
	k->md_idx = (uint16_t)i;
	k->md_gen = (uint16_t)md->gen;
	k->fresh = true;
	k->one = one;
	k->pt = pt;
	return true;
}

void p3l_inbox_learn(struct p3l_ni *ni, uint32_t pt, const struct p3l_sink *sink)
{
	learn(ni, pt, sink);
}

/* What takes a message of list @pt is known, or is looked up now. */
static inline bool known(struct p3l_ni *ni, uint32_t pt, bool alone, struct p3l_sink *sink)
{
	const struct p3l_known *k = sink->known;

	if (p3_likely(k->pt == pt && k->changes == p3_load(&ni->pt[pt].changes)) &&
	    (!k->one || (alone && p3_likely(k->md->threshold == 1))))
		return true;
	return !k->given && learn(ni, pt, sink);
}

/* MD @i, for one message, has had it. What p3l_md_free_own() does, of the first ME of list @pt. */
static inline void goes(struct p3l_ni *ni, uint32_t pt, struct p3l_md *md, uint32_t i)
{
	struct p3l_pt *p = &ni->pt[pt];
	uint32_t m = p->head - 1, next;
	struct p3l_me *me;

	if (p3_unlikely(m >= P3L_MAX_ME || p->index_log2))
		goto long_way;
	me = p3l_me(ni, m);
	next = me->next;
	if (p3_unlikely(!(me->flags & P3L_ME_UNLINK) || next > P3L_MAX_ME))
		goto long_way;
	P3_PROBE3(unlink, ni, i, m + 1);
	P3_TRACED(unlink(ni, i));
	p3l_changes(ni, pt);
	p3_store_rel(&p->head, next);
	if (next)
		p3l_me(ni, next - 1)->prev = 0;
	else
		p->tail = 0;
	p3_store(&p->len, p->len - 1);
	md->flags = 0;
	md->gen++;
	md->free_next = ni->md_spare;
	ni->md_spare = i + 1;
	me->flags = 0;
	me->gen++;
	me->free_next = ni->me_spare;
	ni->me_spare = m + 1;
	return;
long_way:
	p3l_md_free_own(ni, i);
}

void p3l_known_event(const struct p3l_known *k, struct p3l_slot *ev)
{
	ev->word = ev->ticket = ev->link = 0;
	ev->mlength = ev->rlength;
	ev->md = k->md_idx;
	ev->md_gen = k->md_gen;
	ev->threshold = PTL_MD_THRESH_INF;
	ev->kind_fail = PTL_EVENT_PUT_END;
	ev->pt = (uint8_t)k->pt;
}

/* Payload that begins at @from in line @head and goes on in the lines behind it. */
static __attribute__((__noinline__)) void read_lines(const struct p3l_ni *ni, struct p3l_lane_hdr *lane, uint32_t head,
						     const struct p3l_line *m, const uint8_t *from, uint8_t *to, uint32_t n)
{
	struct p3l_data d = { from, (uint32_t)(m->body + P3L_BODY - from), head + 1, p3l_lane_mask(ni),
			      p3l_lane_line(ni, lane, 0) };

	p3l_data_read_more(&d, to, n);
}

static inline int take(struct p3l_ni *ni, uint32_t slot, struct p3l_lane_hdr *lane, uint32_t head, struct p3l_line *m,
		       uint32_t lines, uint32_t f, uint32_t pt, uint32_t n, bool alone, struct p3l_sink *sink)
{
	struct p3l_known *k = sink->known;
	const uint8_t *from = m->body;
	uint64_t off, bits = 0, hdr_data = 0;

	if (!known(ni, pt, alone, sink))
		return -1;
	if (f & P3L_LF_MATCH) {
		p3l_copy(&bits, from, 8);
		from += 8;
	}
	if (f & P3L_LF_HDR) {
		p3l_copy(&hdr_data, from, 8);
		from += 8;
	}
	off = k->remote ? 0 : p3_load(&k->md->offset);
	if (p3_unlikely(((k->match_bits ^ bits) & k->mask) || ((k->hdr_data ^ hdr_data) & k->hdr_mask) ||
			off > k->length || n > k->length - off || k->length - off - n < k->min_free ||
			!p3l_sink_open(ni, sink)))
		return -1;
	if (!k->remote)
		p3_store(&k->md->offset, off + n);
	sink->ev.match_bits = bits;
	sink->ev.hdr_data = hdr_data;
	sink->ev.rlength = n;
	sink->ev.offset = off;
	sink->ev.initiator = (uint16_t)slot;
	sink->got = P3L_SINK_KNOWN;
	P3_PROBE_ADD(match, lane->hot_count, 1, P3_F5, P3_ARG(1, ni), P3_ARG(2, slot), P3_ARGM(3, k->pt),
		     P3_ARGM(4, k->md_idx), P3_ARG(5, n));
	P3_PROBE_ADD(copy, lane->hot_length, n, P3_F3, P3_ARG(1, P3_WAY_INBOX), P3_ARG(2, 1), P3_ARG(3, n));
	P3_PROBE3(inbox_take, ni, slot, head);
	P3_TRACED(match(ni, pt, k->md_idx, bits, n, n));
	P3_TRACE_BEGAN(began);
	if (p3_likely(lines == 1))
		p3l_copy_line((uint8_t *)(uintptr_t)(k->start + off), from, n);
	else
		read_lines(ni, lane, head, m, from, (uint8_t *)(uintptr_t)(k->start + off), n);
	P3_TRACED(copy(began, P3_WAY_INBOX, true, n));
	P3_TRACED(sunk());
	P3_TRACED(take(ni));
	p3_store_rel(&lane->head, head + lines);
	if (p3_unlikely(head + lines - lane->head_pub >= ni->lane_lines / 4))
		p3_store_rel(&lane->head_pub, head + lines);
	if (k->one) {
		p3l_known_event(k, &sink->ev);
		sink->ev.threshold = k->md->threshold = 0;
		sink->got = P3L_SINK_EVENT;
		if (p3_likely(alone))
			goes(ni, pt, k->md, k->md_idx);
		else
			p3l_md_free_locked(ni, k->md_idx);
	}
	return 1;
}

/*
 * Owner with one thread. @burst: messages come faster than they are taken, so the next lines are written already: fetch
 * ahead (a line not yet written would be taken from the initiator). 1: taken, in @sink. 0: nothing at the head of lane
 * @slot. -1: take the long way.
 *
 * Where the owner is alone a message needs no lock, since nobody else takes it or matches there. For any other the lock of the
 * lane and of the entry are taken, each by one try.
 */
int p3l_inbox_hot(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_lane_hdr *lane, uint32_t slot,
		  struct p3l_sink *sink, bool burst)
{
	uint32_t head = p3_load(&lane->head), pt, n, f, bytes, lines = 1;
	struct p3l_line *m = p3l_lane_line(ni, lane, head);
	bool alone;
	int rc = -1;

	if (p3_load_acq(&m->word) != p3l_word(P3L_W_FULL, head))
		return 0;
	if (burst)
		__builtin_prefetch(p3l_lane_line(ni, lane, head + P3L_FETCH));
	pt = p3_load(&m->pt);
	n = p3_load(&m->len);
	f = p3_load(&m->flags);
	if (p3_unlikely(f & ~(uint32_t)(P3L_LF_MATCH | P3L_LF_HDR) || pt >= P3L_MAX_PT))
		return -1;
	alone = p3l_pt_alone(env, pt);
	bytes = n + 8 * ((f & P3L_LF_MATCH) + ((f & P3L_LF_HDR) >> 1));
	if (p3_unlikely(bytes > P3L_BODY)) {
		lines = p3l_lines(bytes);
		if (!alone || n > P3L_LANE_MAX || lines > p3l_lane_mask(ni) + 1 - (head & p3l_lane_mask(ni)))
			return -1;
		for (uint32_t i = 1; i < lines && i < 16; i++)
			__builtin_prefetch(p3l_lane_line(ni, lane, head + i));
	}
	if (p3_unlikely(!alone)) {
		if (!p3_cas32(&lane->lock, 0, env->self))
			return -1;
		if (p3_unlikely(p3_load(&lane->head) != head) ||	/* its initiator has emptied it meanwhile */
		    p3_unlikely(!p3_cas32(&ni->pt[pt].lock, 0, env->self)))
			goto unlock_lane;
	}
	P3_TRACED(lane(ni, slot, head));
	rc = take(ni, slot, lane, head, m, lines, f, pt, n, alone, sink);
	P3_TRACED(pop());
	if (alone)
		return rc;
	p3l_unlock(ni, pt);
unlock_lane:
	p3l_lane_unlock(lane);
	return rc;
}

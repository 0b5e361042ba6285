/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_smartmap.c - the NAL of the node: the initiator runs the core on the target's state, and copies once
 *
 * Ways of a put, by preference:
 *   inbox    the target polls (or its entry is polled by promise): one burst of lines into our lane in its region, and
 *            the target matches with warm caches
 *   direct   otherwise, and for all but the first of a stream: match in the target's lists, copy straight into its
 *            buffer, log its event; it does nothing
 *   lent     long ones, where there is an engine to copy, and it is wanted (PTL_SELF_DMA_MIN): matched as direct ones
 *   handed   its buffer is neither in its window nor reachable by CMA: we match, put the bytes where it sees them, and
 *            the owner copies when it next makes progress
 * A get is direct, or handed.
 *
 * In this folder: nal_inbox.c takes messages, nal_move.c copies, nal_together.c copies with the peer, nal_hand.c
 * leaves a copy to the owner, nal_start.c begins and ends.
 */
#include <sched.h>

#include "nal_smap.h"
#include "p3l_line.h"
#include "p3_log.h"

#define OP_PATIENCE	65536		/* looks for a free record, with yields */
#define PATIENCE	200		/* pauses that an initiator gives an owner who polls now and then */
#define MAX_PAUSES	32		/* before the first look */
#define LATE		4		/* pauses after it: the same owner, a little slower; more: he is busy */
#define TRUST		4		/* first looks in time before it is made earlier */

void nal_relax(unsigned spins)
{
	if (spins % 64 == 0 && (spins > 4096 || p3_rt_oversubscribed()))
		sched_yield();
	else
		p3_pause();
}

struct nal_peer *nal_peer_lookup(struct nal_ni *ni, uint32_t slot)
{
	struct nal_peer *p = &ni->peer[slot];
	uint64_t mask = smartmap_view_.mask;
	uintptr_t addr;
	struct p3l_ni *l;

	if (slot == ni->l->slot) {
		l = ni->l;
	} else {
		addr = (uintptr_t)smartmap_lookup((int)slot, ROOT_KEY);
		if (!addr)
			return NULL;
		l = smartmap_remote((int)slot, (void *)addr);
		if (!l || !p3l_ni_sane(l, (mask + 1) - (addr & mask)) || l->slot != slot ||
		    l->n_slots != ni->n_peers + ni->guests) {
			p3_warn("the Portals state of local rank %u makes no sense (version %u, ours %u): not used",
				slot, l ? l->version : 0, P3L_VERSION);
			return NULL;
		}
	}
	p->lane = p3l_lane(l, ni->l->slot);
	p3_store_rel(&p->l, l);
	return p;
}

/* The rank with @pid, very likely: pids count up from the first rank's, most times. Else the one searched for last. */
static inline uint32_t guess_slot(const struct nal_ni *ni, uint32_t pid)
{
	const struct priv *pv = priv_of(ni);
	uint32_t slot = pid - p3_load(&pv->pids[0]);

	return p3_likely(slot < ni->n_peers && pv->pids[slot] == pid) ? slot : pv->searched;
}

static int nal_find(struct nal_ni *ni, ptl_process_id_t id)
{
	struct priv *pv = priv_of(ni);
	uint32_t slot = guess_slot(ni, id.pid);

	if (p3_unlikely(id.nid != ni->l->nid))
		return -1;
	if (p3_likely(pv->pids[slot] == id.pid))
		return (int)slot;
	for (slot = 0; slot < ni->n_peers; slot++)
		if (pv->pids[slot] == id.pid) {
			p3_store(&pv->searched, slot);
			return (int)slot;
		}
	return -1;
}

ptl_process_id_t nal_id(struct nal_ni *ni, uint32_t slot)
{
	uint32_t pid = p3_likely(slot < ni->n_peers) ? priv_of(ni)->pids[slot] : PTL_PID_ANY;

	return (ptl_process_id_t){ ni->l->nid, pid };
}

static int nal_dist(struct nal_ni *ni, uint32_t slot, unsigned long *d)
{
	*d = slot == ni->l->slot ? 0 : 1;
	return PTL_OK;
}

static uint32_t nal_direct(const void *start, uint64_t len)
{
	return len && smartmap_adopted(start, len) ? P3L_MD_DIRECT : 0;
}

/* ---- put and get ---- */

/* Before something of ours for an entry goes straight to the target's lists. */
enum flushed { CLEAR, BEHIND /* a message for that entry waits in our lane */, NO_RECORD /* one has found none */ };

/* Does a message for @pt wait in our lane? We have written it, so each line can be told from its word. */
static bool waits(struct p3l_ni *l, const struct nal_peer *p, uint32_t pt)
{
	uint32_t n = p3_load_acq(&p->lane->head);	/* M:polled.left */

	while ((int32_t)(p->tx.tail - n) > 0) {
		const struct p3l_line *m = p3l_lane_line(l, p->lane, n);

		if (p3_unlikely(p->tx.tail - n > P3L_MAX_LINES))
			break;			/* a peer wrote over the head */
		if (p3_load(&m->word) != p3l_word(P3L_W_FULL, n)) {
			n++;
			continue;
		}
		if (m->pt == pt)
			return true;
		n += p3l_lines(p3_load(&m->len));	/* at least: past its payload */
	}
	return false;
}

static __attribute__((noinline)) enum flushed flush_full(struct nal_ni *ni, uint32_t slot, struct nal_peer *p,
							 uint32_t pt)
{
	struct p3l_lane_hdr *lane = p->lane;
	enum flushed f = CLEAR;
	uint32_t head;
	bool took;

	p3l_lane_lock(&ni->env, p->l, lane, true);
	head = lane->head;
	if (!nal_drain(ni, slot, p->l, lane, ni->l->slot, NULL, true))
		f = NO_RECORD;
	took = lane->head != head;
	if (f == CLEAR && waits(p->l, p, pt))
		f = BEHIND;
	p3l_lane_unlock(lane);
	if (took)
		wake(ni, p->l);		/* it may have found us here, and gone to sleep before the event was there */
	return f;
}

/* Our messages in the target's lane go first, up to one for a polled entry. What is behind that waits with it. */
static inline enum flushed flush_lane(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, uint32_t pt)
{
	if (!p->tx.used || p3_load_acq(&p->lane->head) == p->tx.tail)	/* M:polled.head */
		return CLEAR;
	return flush_full(ni, slot, p, pt);
}

/*
 * All our records there are in use: by other threads, or by copies that we have left to their owner, and may have been
 * made since we last looked, or are made in a moment if it polls. Meanwhile we make those that were left to us: it may
 * wait for these.
 */
__attribute__((noinline)) struct p3l_op *nal_op_wait(struct nal_ni *ni, struct p3l_ni *l)
{
	struct p3l_op *op = NULL;

	for (unsigned n = 0; !op && n < OP_PATIENCE && (priv_of(ni)->hands || !ni->env.single); n++) {
		if (n)
			nal_relax(n);
		nal_hands_collect(ni);
		if (p3_load(&ni->l->handed) != priv_of(ni)->handed_seen)
			nal_hands_serve(ni);
		op = p3l_op_get(&ni->env, l);
	}
	return op;
}

/* A record of ours in NI @l; NULL: none is free. */
static inline struct p3l_op *op_get(struct nal_ni *ni, struct p3l_ni *l)
{
	struct p3l_op *op = p3l_op_get(&ni->env, l);

	return p3_likely(op != NULL) ? op : nal_op_wait(ni, l);
}

static __attribute__((noinline)) void gather_iov(struct nal_ni *ni, const struct p3l_send *s, char *buf)
{
	struct region o = { s->start, s->iov, s->iov_n, s->loff };
	struct region b = { (uintptr_t)buf, 0, 0, 0 };

	nal_move(ni, ni->l->slot, ni->l, true, &b, &o, s->len, true);
}

/*
 * Bytes of a send in one piece: in place, or gathered into @buf. The usual case must not read start and iov as one:
 * just written one by one, they would keep the processor waiting until its queue of stores is empty.
 */
static inline const void *gather(struct nal_ni *ni, const struct p3l_send *s, char *buf)
{
	if (p3_likely(!s->iov))
		return (const void *)(uintptr_t)(s->start + s->loff);
	gather_iov(ni, s, buf);
	return buf;
}

/* p3l_send_begin() of @len bytes, what the MD had: another thread may have made it longer, than there is room for. */
static inline int begin_of(struct nal_ni *ni, struct p3l_send *s, uint64_t len)
{
	bool whole = s->len == P3L_WHOLE;
	int rc;

	s->whole = whole;
	s->len = len;
	rc = p3l_send_begin(&ni->env, ni->l, s);
	if (p3_unlikely(rc == P3L_AGAIN))
		s->len = P3L_WHOLE;
	return rc;
}

/*
 * The mark was there after @i pauses. Looking takes the line from the owner who is about to write it, and holds him up
 * by as long as a message takes; looking late holds us up. How long he needs depends on the distance between the cores,
 * which changes: the first look is made later when it was too early, and now and then a little earlier.
 */
static void first_look(struct nal_peer *p, int i)
{
	if (i == p->pauses) {
		if (++p->in_time < TRUST || !p->pauses)
			return;
		p->pauses--;
	} else if (i <= p->pauses + LATE && p->pauses < MAX_PAUSES) {
		p->pauses++;
	}
	p->in_time = 0;
}

/*
 * We have left a message and the owner was not inside a polling call. If it was there before (AWAY) it may be back at
 * once: its mark behind our message says that it has taken it. Otherwise we do its work.
 */
static __attribute__((noinline)) void not_polling(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, uint32_t was)
{
	struct p3l_lane_hdr *lane = p->lane;
	struct p3l_line *next = p3l_lane_line(p->l, lane, p->tx.tail);

	for (int i = 0; was == P3L_W_AWAY && i < PATIENCE; i++) {
		uint32_t w;

		p3_pause();
		if (i < p->pauses)
			continue;
		w = p3_load_acq(&next->word);	/* M:attention.first-look */
		if (w == p3l_word(P3L_W_POLL, p->tx.tail) || w == p3l_word(P3L_W_AWAY, p->tx.tail)) {
			first_look(p, i);
			return;
		}
	}
	flush_lane(ni, slot, p, P3L_MAX_PT);
	p->polls = false;
	p->small = p->polled;
}

/*
 * We have left a message for an entry that was polled when we looked, by a store that says nothing to its owner. If it
 * is so no longer we take it ourselves.
 */
static inline void still_polled(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, uint32_t pt)
{
	if (p3_unlikely(!p3l_pt_polled(p->l, pt)))	/* M:polled.second */
		flush_lane(ni, slot, p, pt);
}

/* There is room for @len bytes. */
static int put_inbox(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, struct p3l_hdr *h, struct p3l_send *s,
		     uint64_t len, bool polled)
{
	char buf[P3L_LANE_MAX];
	int rc = begin_of(ni, s, len);
	uint32_t was;

	if (p3_unlikely(rc != PTL_OK))
		return rc;
	h->rlength = s->len;
	P3_PROBE4(inbox_write, p->l, ni->l->slot, p->tx.tail, s->len);
	was = p3l_lane_put(p->l, ni->l->slot, &p->tx, h, gather(ni, s, buf), !polled);
	if (!polled && was != P3L_W_POLL)
		not_polling(ni, slot, p, was);
	p3l_send_end(&ni->env, ni->l, s, PTL_NI_OK);
	wake(ni, p->l);				/* with a fence where membarrier is not to be had */
	if (polled)
		still_polled(ni, slot, p, h->pt);
	return PTL_OK;
}

/* An entry has become polled since we looked: the message waits in the inbox, where it fits. False: it does not. */
static __attribute__((noinline)) bool put_polled_late(struct nal_ni *ni, uint32_t slot, struct nal_peer *p,
						      struct p3l_hdr *h, struct p3l_send *s)
{
	char buf[P3L_LANE_MAX];

	if (s->len > P3L_LANE_MAX || !p3l_lane_room(p->l, ni->l->slot, &p->tx, s->len)) {
		p3l_count(&ni->env, &p3l_row(p->l, ni->l->slot)->stats.drop_count, 1);
		p3l_count(&ni->env, &p3l_row(p->l, ni->l->slot)->stats.drop_length, s->len);
		P3_PROBE5(drop, p->l, h->src, h->pt, h->match_bits, P3_DROP_INBOX);
		P3_TRACED(drop(p->l, h->pt, h->match_bits, s->len, P3_DROP_INBOX));
		return false;
	}
	P3_PROBE4(inbox_write, p->l, ni->l->slot, p->tx.tail, s->len);
	p3l_lane_put(p->l, ni->l->slot, &p->tx, h, gather(ni, s, buf), false);
	p->polled = p->small = true;
	p->polled_end = p->tx.tail;
	wake(ni, p->l);
	still_polled(ni, slot, p, h->pt);
	return true;
}

/* A short one, both sides plain: no need of nal_move(). The peer's bytes as seen from here; NULL: not for this. */
static inline uint8_t *short_of(uint32_t slot, const struct p3l_op *op, uint64_t n, uint64_t own_iov)
{
	if (n > P3L_SHORT || !(op->mdflags & P3L_MD_DIRECT) || op->iov || own_iov)
		return NULL;
	return smartmap_remote((int)slot, (void *)(uintptr_t)(op->start + op->moff));	/* ours: as it is */
}

/* A message for the same entry waits in the lane for its owner: this one waits behind it. */
static __attribute__((noinline)) int put_behind(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, struct p3l_hdr *h,
						struct p3l_send *s)
{
	uint64_t len = p3l_send_length(ni->l, s);
	int rc;

	if (len > P3L_LANE_MAX || !p3l_lane_room(p->l, ni->l->slot, &p->tx, len))
		return PTL_NO_SPACE;
	rc = begin_of(ni, s, len);
	if (rc != PTL_OK)
		return rc;
	h->rlength = s->len;
	put_polled_late(ni, slot, p, h, s);
	p3l_send_end(&ni->env, ni->l, s, PTL_NI_OK);
	return PTL_OK;
}

static int put_direct(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, struct p3l_hdr *h, struct p3l_send *s)
{
	struct p3l_ni *l = p->l;
	struct p3l_op *op;
	uint64_t mlength = 0, off = 0;
	enum p3l_verdict v;
	enum flushed f;
	bool ack = false;
	uint8_t *far;
	int rc = 0;

	f = flush_lane(ni, slot, p, h->pt);
	if (p3_unlikely(f != CLEAR))
		return f == BEHIND ? put_behind(ni, slot, p, h, s) : PTL_NO_SPACE;
	op = op_get(ni, l);
	if (p3_unlikely(!op))
		return PTL_NO_SPACE;
	rc = p3l_send_begin(&ni->env, ni->l, s);
	if (p3_unlikely(rc != PTL_OK)) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		return rc;
	}
	h->rlength = s->len;
	v = p3l_target_begin(&ni->env, l, h, op, false);
	if (p3_likely(v == P3L_MATCHED)) {
		struct region o = { s->start, s->iov, s->iov_n, s->loff };

		mlength = op->mlength;
		off = op->moff;
		far = short_of(slot, op, mlength, s->iov);
		if (p3_likely(far != NULL)) {
			P3_PROBE3(copy, P3_WAY_WINDOW, 1, mlength);
			P3_TRACE_BEGAN(began);
			p3l_copy_short(far, (const uint8_t *)(uintptr_t)(s->start + s->loff), (uint32_t)mlength);
			P3_TRACED(copy(began, slot == ni->l->slot ? P3_WAY_SELF : P3_WAY_WINDOW, true, mlength));
		} else {
			struct region t = { op->start, op->iov, op->iov_n, op->moff };

			rc = nal_move(ni, slot, l, true, &t, &o, mlength, op->mdflags & P3L_MD_DIRECT);
		}
		if (p3_unlikely(rc == -EAGAIN) && nal_hand_over(ni, slot, l, op, &o, NULL))
			rc = 0;
		else
			ack = p3l_target_end(&ni->env, l, op, fail_of(rc));
		wake(ni, l);
	} else if (p3_unlikely(v == P3L_WAIT) && !put_polled_late(ni, slot, p, h, s)) {
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_FAIL);
		return PTL_OK;
	}
	p3l_send_end(&ni->env, ni->l, s, fail_of(rc));
	if (ack)
		p3l_ack(&ni->env, ni->l, s->md, slot, h->pt, h->match_bits, off, h->rlength, mlength);
	return PTL_OK;
}

/* Nobody there: the send completes with a failure (SPEC-NOTES: unreachable target). */
static int put_nowhere(struct nal_ni *ni, struct p3l_send *s)
{
	int rc = p3l_send_begin(&ni->env, ni->l, s);

	if (rc == PTL_OK) {
		P3_PROBE5(drop, ni->l, ni->l->slot, s->pt, s->match_bits, P3_DROP_NOWHERE);
		P3_TRACED(drop(ni->l, s->pt, s->match_bits, s->len, P3_DROP_NOWHERE));
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_FAIL);
	}
	wake(ni, ni->l);
	return rc;
}

/* After a direct put: would the inbox have done? The owner's marks say so; without any we knock, once. */
static inline void look_at_owner(struct nal_ni *ni, struct nal_peer *p)
{
	struct p3l_lane_hdr *lane = p->lane;
	uint32_t w = p3_load(&p3l_lane_line(p->l, lane, p->tx.tail)->word), me = ni->l->slot;

	if (w == p3l_word(P3L_W_POLL, p->tx.tail) || w == p3l_word(P3L_W_AWAY, p->tx.tail))
		p->polls = p->small = true;
	else if (!(p3_load(&p->l->knock[me >> 6]) >> (me & 63) & 1))
		p3_fetch_or(&p->l->knock[me >> 6], (uint64_t)1 << (me & 63));
}

/*
 * We have put to it and not looked at anything since: a stream. Its messages are made directly. In the inbox each would
 * wait for the owner to come back and mark the next line; directly he reads them off his queue, as many as there are.
 */
static inline bool streams(struct nal_ni *ni, struct nal_peer *p)
{
	uint32_t calls = priv_of(ni)->calls;
	bool same = p->last_put == calls;

	p->last_put = calls;
	return same;
}

/* Has the owner taken our last message to a polled entry? */
static bool polled_gone(struct nal_ni *ni, const struct nal_peer *p)
{
	return (int32_t)(p3_load_acq(&p->lane->head) - p->polled_end) >= 0;
}

static int nal_put(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s)
{
	struct nal_peer *p = peer_of(ni, slot);
	bool polled, stream = false;
	int rc;

	if (p3_unlikely(!p || !p3_load(&p->l->up)))	/* M:attach.is-up */
		return put_nowhere(ni, s);
	lock_word(ni, &p->lock);
	polled = h->pt < P3L_MAX_PT && p3l_pt_polled(p->l, h->pt);
	/* an ordinary put never goes behind a polled one: it would wait with it, and a later direct put overtake it */
	if (!polled)
		stream = streams(ni, p);
again:
	if (polled || (p->polls && !stream && (!p->polled || polled_gone(ni, p)))) {
		uint64_t len = p3l_send_length(ni->l, s);
		bool fits = len <= (polled ? P3L_LANE_MAX : priv_of(ni)->inbox_max) && h->pt < 256 &&
			    p3l_lane_room(p->l, ni->l->slot, &p->tx, len);

		if (p3_likely(fits)) {
			rc = put_inbox(ni, slot, p, h, s, len, polled);
			if (p3_unlikely(rc == P3L_AGAIN))
				goto again;
			if (polled) {
				p->polled = p->small = true;
				p->polled_end = p->tx.tail;
			}
			goto out;
		}
		if (polled) {
			rc = len > P3L_LANE_MAX ? PTL_MD_ILLEGAL : PTL_NO_SPACE;
			if (rc == PTL_NO_SPACE)
				p3l_row(p->l, ni->l->slot)->stats.refused++;
			goto out;
		}
	}
	rc = put_direct(ni, slot, p, h, s);
	if (p3_unlikely(rc == P3L_AGAIN))
		goto again;
	if (slot != ni->l->slot && !stream)
		look_at_owner(ni, p);
out:
	unlock_told(ni, &p->lock);
	return rc;
}

/* One of several lines, where there is room for it. False: there is none. */
static __attribute__((noinline)) bool put_lines(struct nal_ni *ni, struct nal_peer *p, uint32_t pt, uint64_t match_bits,
						uint64_t hdr_data, const void *data, uint64_t len, bool polled,
						uint32_t *was)
{
	struct p3l_hdr h = { .type = P3L_PUT, .pt = pt, .match_bits = match_bits, .rlength = len,
			     .hdr_data = hdr_data };

	if (len > (polled ? P3L_LANE_MAX : priv_of(ni)->inbox_max) || !p3l_lane_room(p->l, ni->l->slot, &p->tx, len))
		return false;
	*was = p3l_lane_put(p->l, ni->l->slot, &p->tx, &h, data, !polled);
	return true;
}

/*
 * The usual put into the inbox, straight: as nal_put(), put_inbox(), p3l_send_begin() and p3l_send_end() together would
 * do it. What differs in any point is left to them.
 */
static bool nal_put_small(struct nal_ni *ni, uint32_t slot, struct p3l_ref ref, uint64_t loff, uint64_t len,
			  uint32_t pt,
			  uint64_t match_bits, uint64_t hdr_data)
{
	uint32_t self = ni->l->slot, was;
	const struct p3l_md *md;
	struct p3l_stats *stats;
	struct nal_peer *p;
	const void *data;
	struct p3l_ni *l;
	bool polled;

	if (p3_unlikely(slot >= ni->n_peers || pt >= P3L_MAX_PT))
		return false;
	p = &ni->peer[slot];
	l = p->l;
	if (p3_unlikely(!l))
		return false;
	polled = p3l_pt_polled(l, pt);	/* M:polled.look */
	if (!polled && (!p->polls || p->last_put == priv_of(ni)->calls || (p->polled && !polled_gone(ni, p))))
		return false;
	md = p3l_md(ni->l, ref.idx);
	if (p3_unlikely(!ni->env.single || slot == self || ref.idx >= P3L_MAX_MD || !p3_load(&l->up) ||
			(p3_load_acq(&md->flags) & (P3L_MD_PLAIN | P3L_MD_USED)) != (P3L_MD_PLAIN | P3L_MD_USED) ||
			(p3_load(&md->gen) & P3L_GEN_MASK) != ref.gen))
		return false;
	if (len == P3L_WHOLE)
		len = md->length;
	if (p3_unlikely(loff > md->length || len > md->length - loff))
		return false;
	data = (const void *)(uintptr_t)(md->start + loff);
	if (p3_likely(p3l_one_line(match_bits, hdr_data, len))) {
		if (p3_unlikely(!p3l_lane_room_line(l, p->lane, &p->tx)))
			return false;
		was = p3l_lane_put_line(l, p->lane, self, &p->tx, pt, match_bits, hdr_data, data, (uint32_t)len,
					!polled);
	} else if (!put_lines(ni, p, pt, match_bits, hdr_data, data, len, polled, &was)) {
		return false;
	}
	if (polled) {
		p->polled = true;
		p->polled_end = p->tx.tail;
	} else {
		p->last_put = priv_of(ni)->calls;
		if (was != P3L_W_POLL)
			not_polling(ni, slot, p, was);
	}
	stats = &p3l_row(ni->l, self)->stats;
	P3_PROBE_ADD(inbox_write, stats->send_count, 1, P3_F4, P3_ARG(1, l), P3_ARG(2, self), P3_ARGM(3, p->tx.tail),
		     P3_ARG(4, len));
	stats->send_length += len;
	wake(ni, l);
	if (polled)
		still_polled(ni, slot, p, pt);
	return true;
}

/* What may be left to do behind a put of nal_put_usual(). */
static __attribute__((noinline)) int put_followed(struct nal_ni *ni, uint32_t slot, uint32_t pt, uint32_t was,
						  bool polled)
{
	struct nal_peer *p = &ni->peer[slot];

	if (was != P3L_W_POLL)
		not_polling(ni, slot, p, was);
	wake(ni, p->l);
	if (polled)
		still_polled(ni, slot, p, pt);
	return PTL_OK;
}

/*
 * The usual put, straight: a message of one line, from a descriptor that has nothing to record, by the only thread, to
 * another rank's polled entry, or (@asks) to a rank that sits in polling calls. As nal_put_small() would do it. These
 * have PtlPutRegion's arguments as they stand, and call nothing on their way, so nothing has to be put aside;
 * what differs in any point is handed on as it came.
 */
#define PUT_ARGS ptl_handle_md_t mdh, ptl_size_t loff, ptl_size_t len, ptl_ack_req_t ack, ptl_process_id_t target,    \
		 ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset,		      \
		 ptl_hdr_data_t hdr_data
#define AS_IT_CAME mdh, loff, len, ack, target, pt, ac, bits, roffset, hdr_data

static inline __attribute__((always_inline)) int put_line(bool asks, struct nal_ni *ni, uint32_t slot, PUT_ARGS)
{
	struct priv *pv = priv_of(ni);
	struct nal_peer *p = &ni->peer[slot];
	struct p3l_ref ref = nal_ref(ni, mdh);
	const struct p3l_md *md = p3l_md(ni->l, ref.idx);
	const uint32_t plain = P3L_MD_PLAIN | P3L_MD_USED;
	uint32_t was = P3L_W_POLL, mask;
	struct p3l_ni *l = p->l;
	struct p3l_line *lines, *m;

	if (p3_unlikely(ack == PTL_ACK_REQ || (ac | roffset) || target.nid != ni->l->nid ||
			pv->pids[slot] != target.pid || slot == ni->l->slot || !ni->env.single || !p->tx.used ||
			!p3_load(&l->up)))
		goto any;
	if (p3_unlikely((p3_load_acq(&md->flags) & plain) != plain || (p3_load(&md->gen) & P3L_GEN_MASK) != ref.gen))
		goto any;
	if (len == P3L_WHOLE)
		len = md->length;
	if (p3_unlikely(len > P3L_BODY - 16 || loff > md->length || len > md->length - loff ||
			!p3l_lane_room_line(l, p->lane, &p->tx)))
		goto any;
	mask = p3l_lane_mask(l);
	lines = p3l_lane_lines(p->lane);
	m = &lines[p->tx.tail & mask];
	p3l_line_fill(m, pt, bits, hdr_data, (const void *)(uintptr_t)(md->start + loff), (uint32_t)len);
	P3_TRACED(write(l, ni->l->slot, p->tx.tail, (uint32_t)len));
	was = p3l_line_publish(&p->tx, m, 1, asks);
	if (asks) {
		p->last_put = pv->calls;
	} else {
		was = P3L_W_POLL;
		p->polled = true;
		p->polled_end = p->tx.tail;
		p3_prefetchw(&lines[(p->tx.tail + P3L_AHEAD) & mask]);
	}
	P3_PROBE_ADD(inbox_write, pv->stats->send_count, 1, P3_F4, P3_ARG(1, l), P3_ARG(2, ni->l->slot),
		     P3_ARGM(3, p->tx.tail), P3_ARG(4, len));
	pv->stats->send_length += len;
	P3_PROBE1(put_return, PTL_OK);
	P3_TRACED(ret(PTL_OK));
	if (p3_unlikely(p3_load(&l->sleeping)) || (asks && p3_unlikely(was != P3L_W_POLL)) ||	/* M:sleep.look */
	    (!asks && p3_unlikely(!p3l_pt_polled(l, pt))))					/* M:polled.second */
		return put_followed(ni, slot, pt, was, !asks);
	return PTL_OK;
any:
	return ni->put_any(AS_IT_CAME);
}

static __attribute__((noinline)) int put_line_asks(PUT_ARGS)
{
	struct nal_ni *ni = p3a_open_ni;

	return put_line(true, ni, guess_slot(ni, target.pid), AS_IT_CAME);
}

int nal_put_usual(PUT_ARGS)
{
	struct nal_ni *ni = p3a_open_ni;
	uint32_t slot = guess_slot(ni, target.pid);
	const struct nal_peer *p = &ni->peer[slot];

	if (p3_unlikely(pt >= P3L_MAX_PT || !p->small || !p->l))
		return ni->put_any(AS_IT_CAME);
	if (p3l_pt_polled(p->l, pt))		/* M:polled.look */
		return put_line(false, ni, slot, AS_IT_CAME);
	if (!p->polls || p->last_put == priv_of(ni)->calls)
		return ni->put_long(AS_IT_CAME);
	return p3_unlikely(p->polled) ? ni->put_any(AS_IT_CAME) : put_line_asks(AS_IT_CAME);
}
#undef AS_IT_CAME

/* From window to window, in one piece, and worth it. */
static bool may_lend(const struct nal_lend *to, const struct p3l_op *op, uint64_t own, uint64_t own_iov, uint64_t n)
{
	return n >= to->min && (op->mdflags & P3L_MD_DIRECT) && !op->iov && !own_iov &&
	       smartmap_adopted((const void *)(uintptr_t)own, n);
}

static bool lend(struct nal_ni *ni, const struct nal_lend *to, uint32_t slot, struct p3l_ni *l, struct p3l_op *op,
		 const struct p3l_send *s, const struct p3l_reply *r)
{
	return to->lend(to->arg, slot, op, (uint32_t)(op - p3l_row(l, ni->l->slot)->op), s, r);
}

/* @to: somebody who may make the copy; a constant where this is inlined */
static inline __attribute__((always_inline)) int get_with(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h,
							  struct p3l_reply *r, const struct nal_lend *to)
{
	const struct p3l_env *env = to ? to->env : &ni->env;
	struct nal_peer *p = peer_of(ni, slot);
	struct p3l_ni *l;
	struct p3l_op *op;
	bool xt;
	int rc;

	rc = p3l_get_begin(&ni->env, ni->l, r, &xt);
	if (p3_unlikely(rc != PTL_OK) || p3_unlikely(!p || !p3_load(&p->l->up))) {
		if (rc == PTL_OK) {
			P3_PROBE5(drop, ni->l, h->src, h->pt, h->match_bits, P3_DROP_NOWHERE);
			P3_TRACED(drop(ni->l, h->pt, h->match_bits, r->mlength, P3_DROP_NOWHERE));
		}
		if (rc == PTL_OK && xt)
			p3l_get_sent(&ni->env, ni->l, r->md, r->off, r->mlength, h, PTL_NI_FAIL);
		return rc;			/* nobody there: no reply ever comes */
	}
	l = p->l;
	h->rlength = r->rlength = r->mlength;
	r->target_slot = slot;
	lock_word(ni, &p->lock);
	op = flush_lane(ni, slot, p, h->pt) == CLEAR ? op_get(ni, l) : NULL;
	if (p3_unlikely(xt) && op)
		p3l_get_sent(&ni->env, ni->l, r->md, r->off, r->mlength, h, PTL_NI_OK);
	if (p3_unlikely(!op)) {
		rc = PTL_NO_SPACE;
	} else if (p3l_target_begin(&ni->env, l, h, op, false) == P3L_MATCHED) {
		struct region t = { op->start, op->iov, op->iov_n, op->moff };
		bool direct = op->mdflags & P3L_MD_DIRECT;

		r->mlength = op->mlength;
		op->gets++;
		op->get_length += op->mlength;
		if (p3_unlikely(slot != ni->l->slot && !direct && !priv_of(ni)->cma && op->mlength) &&
		    (t.iov || !smartmap_reachable((int)slot, (void *)(uintptr_t)(t.start + t.off), op->mlength)) &&
		    nal_hand_over(ni, slot, l, op, NULL, r))
			goto out;
		if (p3l_reply_begin(env, ni->l, r)) {
			struct region o = { r->start, r->iov, r->iov_n, r->off };
			uint8_t *far = short_of(slot, op, r->mlength, r->iov);
			uint32_t fail = PTL_NI_OK;

			if (to && may_lend(to, op, r->start + r->off, r->iov, r->mlength) &&
			    lend(ni, to, slot, l, op, NULL, r))
				goto out;
			if (p3_likely(far != NULL)) {
				P3_PROBE3(copy, P3_WAY_WINDOW, 0, r->mlength);
				P3_TRACE_BEGAN(began);
				p3l_copy_line((uint8_t *)(uintptr_t)(r->start + r->off), far, (uint32_t)r->mlength);
				P3_TRACED(copy(began, slot == ni->l->slot ? P3_WAY_SELF : P3_WAY_WINDOW, false,
					       r->mlength));
			} else {
				fail = fail_of(nal_move(ni, slot, l, false, &t, &o, r->mlength, direct));
			}
			p3l_target_end(&ni->env, l, op, fail);
			p3l_reply_end(env, ni->l, r, fail);
		} else {
			p3l_target_end(&ni->env, l, op, PTL_NI_OK);
		}
		wake(ni, l);
	}
out:
	unlock_told(ni, &p->lock);
	return rc;
}

static int nal_get(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r)
{
	return get_with(ni, slot, h, r, NULL);
}

int nal_get_lent(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r, const struct nal_lend *to)
{
	return get_with(ni, slot, h, r, to);
}

/* As put_direct(). */
int nal_put_lent(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, const struct nal_lend *to)
{
	struct nal_peer *p = peer_of(ni, slot);
	int rc = PTL_NO_SPACE, moved = 0;
	struct p3l_op *op = NULL;
	uint64_t off, mlength;
	enum p3l_verdict v;
	bool ack = false;
	enum flushed f;

	if (p3_unlikely(!p || !p3_load(&p->l->up)))
		return put_nowhere(ni, s);
	if (h->pt < P3L_MAX_PT && p3l_pt_polled(p->l, h->pt))
		return nal_put(ni, slot, h, s);
	lock_word(ni, &p->lock);
	f = flush_lane(ni, slot, p, h->pt);
	if (f == CLEAR)
		op = op_get(ni, p->l);
	if (f == BEHIND || !op)
		goto out;
	rc = p3l_send_begin(to->env, ni->l, s);
	if (rc != PTL_OK) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		goto out;
	}
	h->rlength = s->len;
	v = p3l_target_begin(&ni->env, p->l, h, op, false);
	if (v == P3L_MATCHED) {
		struct region t = { op->start, op->iov, op->iov_n, op->moff };
		struct region o = { s->start, s->iov, s->iov_n, s->loff };

		mlength = op->mlength;
		off = op->moff;
		if (may_lend(to, op, s->start + s->loff, s->iov, mlength) && lend(ni, to, slot, p->l, op, s, NULL))
			goto out;
		moved = nal_move(ni, slot, p->l, true, &t, &o, mlength, op->mdflags & P3L_MD_DIRECT);
		if (moved == -EAGAIN && nal_hand_over(ni, slot, p->l, op, &o, NULL))
			moved = 0;
		else
			ack = p3l_target_end(&ni->env, p->l, op, fail_of(moved));
		wake(ni, p->l);
	} else if (v == P3L_WAIT && !put_polled_late(ni, slot, p, h, s)) {
		p3l_send_end(to->env, ni->l, s, PTL_NI_FAIL);
		goto out;
	}
	p3l_send_end(to->env, ni->l, s, fail_of(moved));
	if (ack)
		p3l_ack(&ni->env, ni->l, s->md, slot, h->pt, h->match_bits, off, h->rlength, mlength);
out:
	unlock_told(ni, &p->lock);
	return f == BEHIND ? nal_put(ni, slot, h, s) : rc;
}

struct p3l_ni *nal_region(struct nal_ni *ni, uint32_t slot)
{
	struct nal_peer *p = peer_of(ni, slot);

	return p ? p->l : NULL;
}

/* Old bytes, or what is left of them, into the get MD. */
static void swap_reply(struct nal_ni *ni, struct p3l_reply *r, const char *buf, uint32_t fail)
{
	struct region b = { (uintptr_t)buf, 0, 0, 0 }, o;

	o = (struct region){ r->start, r->iov, r->iov_n, r->off };
	if (!fail)
		fail = fail_of(nal_move(ni, ni->l->slot, ni->l, false, &b, &o, r->mlength, true));
	p3l_reply_end(&ni->env, ni->l, r, fail);
}

static void swap_at_target(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, struct p3l_op *op, struct p3l_send *s,
			   struct p3l_reply *r)
{
	struct region t = { op->start, op->iov, op->iov_n, op->moff };
	struct region o = { s->start, s->iov, s->iov_n, s->loff };
	bool direct = op->mdflags & P3L_MD_DIRECT;
	char buf[P3L_MAX_GETPUT];
	struct region b = { (uintptr_t)buf, 0, 0, 0 };
	struct nal_step what = { op->type, op->rlength, op->hdr_data };
	uint32_t fail;

	r->mlength = op->mlength;
	if (p3_unlikely(!nal_may_swap(ni, slot, p->l, &t, op->mlength, direct, what.type)) &&
	    nal_hand_over(ni, slot, p->l, op, &o, r)) {
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_OK);	/* the bytes are in the bounce buffer */
		return;
	}
	nal_move(ni, ni->l->slot, ni->l, true, &b, &o, op->mlength, true);
	fail = fail_of(nal_swap(ni, slot, p->l, &t, buf, op->mlength, direct, &what));
	p3l_send_end(&ni->env, ni->l, s, fail);
	if (p3l_reply_begin(&ni->env, ni->l, r)) {
		p3l_target_end(&ni->env, p->l, op, fail);
		swap_reply(ni, r, buf, fail);
	} else {
		p3l_target_end(&ni->env, p->l, op, fail);
	}
	wake(ni, p->l);
}

static int nal_getput(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r)
{
	struct nal_peer *p = peer_of(ni, slot);
	struct p3l_op *op;
	int rc;

	if (p3_unlikely(!p || !p3_load(&p->l->up)))
		return put_nowhere(ni, s);
	lock_word(ni, &p->lock);
	op = flush_lane(ni, slot, p, h->pt) == CLEAR ? op_get(ni, p->l) : NULL;
	if (p3_unlikely(!op)) {
		rc = PTL_NO_SPACE;
		goto out;
	}
	rc = p3l_send_begin(&ni->env, ni->l, s);
	if (p3_unlikely(rc != PTL_OK)) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		goto out;
	}
	h->rlength = r->rlength = s->len;
	r->target_slot = slot;
	if (p3l_target_begin(&ni->env, p->l, h, op, false) == P3L_MATCHED) {
		swap_at_target(ni, slot, p, op, s, r);
	} else {
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_OK);
	}
out:
	unlock_told(ni, &p->lock);
	return rc;
}

const struct nal_ops nal_smartmap = {
	.name = "smartmap",
	.start = nal_start,
	.stop = nal_stop,
	.find = nal_find,
	.id = nal_id,
	.dist = nal_dist,
	.put = nal_put,
	.put_small = nal_put_small,
	.get = nal_get,
	.getput = nal_getput,
	.direct = nal_direct,
	.polled = nal_polled,
	.progress = nal_progress,
	.take = nal_take,
	.attend = nal_attend,
	.wait = nal_wait,
	.wake = nal_wake,
	.agree = nal_agree,
};

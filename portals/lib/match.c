/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * match.c - a put, get, getput or atomic operation at its target: find the MD, charge it, and finish
 *
 * Run by any mover. begin holds the lock of the portal table entry, decides, charges the MD and reserves the events;
 * the data move without a lock; end posts the END event and unlinks a spent MD. Order of tests: portals 3.3, section
 * 4.2 ("translation"). A test that fails passes the request on to the next entry, never drops it.
 */
#include "p3l.h"

static bool admits(const struct p3l_ac *a, const struct p3l_hdr *h)
{
	return (a->uid == h->uid || a->uid == PTL_UID_ANY) && (a->jid == PTL_JID_ANY || a->jid == h->jid) &&
	       (a->nid == PTL_NID_ANY || a->nid == h->nid) && (a->pid == PTL_PID_ANY || a->pid == h->pid) &&
	       (a->pt == PTL_PT_INDEX_ANY || a->pt == h->pt);
}

#define FEW	2U		/* entries that a search walks before it asks whether there should be an index */

static const uint32_t needs[] = {
	[P3L_PUT] = PTL_MD_OP_PUT,
	[P3L_GET] = PTL_MD_OP_GET,
	[P3L_GETPUT] = PTL_MD_OP_PUT | PTL_MD_OP_GET,
	[P3L_FETCH ... P3L_MSWAP] = PTL_MD_OP_PUT | PTL_MD_OP_GET,
};

static const uint8_t start_kind[] = {
	[P3L_PUT] = PTL_EVENT_PUT_START,
	[P3L_GET] = PTL_EVENT_GET_START,
	[P3L_GETPUT] = PTL_EVENT_GETPUT_START,
	[P3L_FETCH ... P3L_MSWAP] = PTL_EVENT_GETPUT_START,
};

/* Does the request fit? Sets offset and mlength. Offsets and lengths are 64-bit values from strangers. */
static inline bool fits(const struct p3l_md *md, const struct p3l_hdr *h, uint64_t *off, uint64_t *mlength)
{
	uint64_t o = md->options & PTL_MD_MANAGE_REMOTE ? h->roffset : md->offset;

	if (p3_unlikely(o > md->length))
		return false;
	*off = o;
	*mlength = h->rlength;
	if (p3_likely(h->rlength <= md->length - o))
		return true;
	*mlength = md->length - o;
	return md->options & PTL_MD_TRUNCATE;
}

static inline bool matches(const struct p3l_me *me, const struct p3l_hdr *h)
{
	return ((me->match_bits ^ h->match_bits) & ~me->ignore_bits) == 0 &&
	       (me->match_nid == h->nid || me->match_nid == PTL_NID_ANY) &&
	       (me->match_pid == h->pid || me->match_pid == PTL_PID_ANY);
}

/*
 * Does @me take @h? MD index + 1, or 0. @later: it lacks only an MD, or one with room: where the owner has promised to
 * poll, he is about to post one.
 */
static inline uint32_t takes(struct p3l_ni *ni, const struct p3l_me *me, const struct p3l_hdr *h, uint64_t *off,
			     uint64_t *mlength, bool *later, bool *corrupt)
{
	const struct p3l_md *md;
	uint32_t i = p3_load(&me->md);

	if (!matches(me, h))
		return 0;
	if (!i) {
		*later = true;
		return 0;
	}
	if (p3_unlikely(i > P3L_MAX_MD)) {
		*corrupt = true;
		return 0;
	}
	md = p3l_md(ni, i - 1);
	if ((md->options & needs[h->type]) != needs[h->type])
		return 0;
	if (md->threshold == 0 || (md->flags & (P3L_MD_SPENT | P3L_MD_USED)) != P3L_MD_USED) {
		*later = true;
		return 0;
	}
	if (fits(md, h, off, mlength))
		return i;
	*later |= !(md->options & PTL_MD_MANAGE_REMOTE) && h->rlength <= md->length;
	return 0;
}

static __attribute__((__noinline__)) uint32_t find_among(const struct p3l_env *env, struct p3l_ni *ni,
							 const struct p3l_hdr *h, uint64_t *off, uint64_t *mlength,
							 bool *later)
{
	struct p3l_among a;
	uint32_t i, steps = 0;
	bool corrupt = false;

	p3l_index_start(ni, h->pt, h->match_bits, &a);
	while ((i = p3l_index_next(ni, &a)) && !corrupt) {
		uint32_t md = takes(ni, p3l_me(ni, i - 1), h, off, mlength, later, &corrupt);

		if (md)
			return md;
		corrupt |= ++steps > P3L_MAX_ME;
	}
	if (p3_unlikely(corrupt))
		p3l_count(env, &p3l_row(ni, env->self - 1)->stats.corrupt, 1);
	return 0;
}

/* First MD of the list that takes @h: index + 1, or 0. [lock] @later: as above, or the list is empty. */
static uint32_t find(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_hdr *h, uint64_t *off,
		     uint64_t *mlength, bool *later)
{
	uint32_t i = ni->pt[h->pt].head, steps = 0;	/* M:unlink.head-plain */
	uint32_t most = p3_load(&ni->pt[h->pt].index_room) ? FEW : P3L_MAX_ME;
	bool corrupt = false;

	*later = !i;
	if (p3_unlikely(ni->pt[h->pt].index_log2))
		return find_among(env, ni, h, off, mlength, later);
	while (i && !corrupt) {
		const struct p3l_me *me;
		uint32_t md;

		if (p3_unlikely(i > P3L_MAX_ME || ++steps > most)) {
			if (i > P3L_MAX_ME || steps > P3L_MAX_ME) {
				corrupt = true;
				break;
			}
			most = p3_load(&ni->index_from);	/* here, not before: another line */
			if (steps > most) {
				if (p3l_index_make(ni, h->pt))
					return find_among(env, ni, h, off, mlength, later);
				most = P3L_MAX_ME;
			}
		}
		me = p3l_me(ni, i - 1);
		md = takes(ni, me, h, off, mlength, later, &corrupt);
		if (p3_likely(md))
			return md;
		i = me->next;
	}
	if (p3_unlikely(corrupt))
		p3l_count(env, &p3l_row(ni, env->self - 1)->stats.corrupt, 1);
	return 0;
}

/* 4.5: local offset, max_size, threshold; in this order. [lock] */
static inline void charge(struct p3l_md *md, uint64_t off, uint64_t mlength)
{
	if (!(md->options & PTL_MD_MANAGE_REMOTE)) {
		md->offset = off + mlength;
		if ((md->options & PTL_MD_MAX_SIZE) && md->length - md->offset < md->max_size)
			p3_store(&md->flags, md->flags | P3L_MD_SPENT);
	}
	if (md->threshold != PTL_MD_THRESH_INF && --md->threshold == 0)	/* M:unlink.charge-plain */
		p3_store(&md->flags, md->flags | P3L_MD_SPENT);	/* M:unlink.spent */
}

static inline void slot_from_op(const struct p3l_op *op, uint8_t kind, uint32_t fail, struct p3l_slot *ev)
{
	ev->link = op->link;
	ev->match_bits = op->match_bits;
	ev->hdr_data = op->hdr_data;
	ev->rlength = op->rlength;
	ev->mlength = op->mlength;
	ev->offset = op->moff;
	ev->md = (uint16_t)op->md;
	ev->md_gen = (uint16_t)op->md_gen;
	ev->threshold = op->threshold;
	ev->initiator = (uint16_t)op->src;
	ev->kind_fail = (uint8_t)(kind | fail << 4);
	ev->pt = op->pt;
}

/* The event of a record, for those who finish it. */
void p3l_op_event(const struct p3l_op *op, bool end, uint32_t fail, struct p3l_slot *ev)
{
	slot_from_op(op, op->type == P3L_ACK ? PTL_EVENT_ACK : (uint8_t)(start_kind[op->type] + end), fail, ev);
}

struct p3l_op *p3l_op_get(const struct p3l_env *env, struct p3l_ni *ni)
{
	struct p3l_row *row = p3l_row(ni, env->self - 1);

	for (unsigned k = 0; k < P3L_OPS; k++) {
		struct p3l_op *op = &row->op[k];

		if (p3_load_acq(&op->state) != P3L_OP_IDLE)
			continue;
		if (env->single)
			op->state = P3L_OP_TAKEN;	/* M:polled.record-plain */
		else if (!p3_cas32(&op->state, P3L_OP_IDLE, P3L_OP_TAKEN))
			continue;
		op->lane = 0;
		return op;
	}
	return NULL;
}

/* What is noted of a request that found no place. @later: as in find(), where that was asked */
static __attribute__((__noinline__, __cold__)) void dropped(const struct p3l_ni *ni, const struct p3l_hdr *h, bool later)
{
	unsigned why = h->pt >= P3L_MAX_PT || h->pt > ni->max_pt ? P3_DROP_PT :
		       h->ac >= P3L_MAX_AC || !admits(&ni->ac[h->ac], h) ? P3_DROP_AC :
		       h->type != P3L_PUT && p3l_pt_polled(ni, h->pt) ? P3_DROP_POLLED :
		       !later ? P3_DROP_NOMATCH : p3_load(&ni->pt[h->pt].head) ? P3_DROP_NOROOM : P3_DROP_EMPTY;

	P3_PROBE5(drop, ni, h->src, h->pt, h->match_bits, why);
	P3_TRACED(drop(ni, h->pt, h->match_bits, h->rlength, why));
}

enum p3l_verdict p3l_target_begin(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_hdr *h,
				  struct p3l_op *op, bool may_wait)
{
	struct p3l_stats *stats = &p3l_row(ni, env->self - 1)->stats;
	struct p3l_slot ev;
	struct p3l_md *md;
	uint64_t off, mlength;
	uint32_t i;
	bool later, own = ni->slot == env->self - 1, lockless;	/* not to be asked of the record: a peer may write there */
	int eq;

	if (p3_unlikely(h->pt >= P3L_MAX_PT || h->pt > ni->max_pt || h->ac >= P3L_MAX_AC || !admits(&ni->ac[h->ac], h))) {
		dropped(ni, h, false);
		goto drop;
	}
	lockless = own && p3l_pt_alone(env, h->pt);
	p3_store(&op->lockless, lockless);	/* p3l_lent() of others looks here */
	if (!lockless)
		p3l_lock(env, ni, h->pt);
	if (p3_unlikely(p3l_pt_polled(ni, h->pt))) {	/* M:polled.behind looked at behind the lock: see polled.c */
		if (h->type != P3L_PUT) {
			dropped(ni, h, false);
			goto drop_unlock;
		}
		if (!own)
			goto wait;
	}
	i = find(env, ni, h, &off, &mlength, &later);
	if (p3_unlikely(!i)) {
		if (may_wait && later)
			goto wait;
		dropped(ni, h, later);
		goto drop_unlock;
	}
	md = p3l_md(ni, i - 1);
	eq = p3l_eq_of(ni, md->eq);
	if (may_wait && eq >= 0 && !p3l_eq_room(ni, (uint32_t)eq, 3))
		goto wait;

	P3_PROBE5(match, ni, h->src, h->pt, i - 1, mlength);
	P3_TRACED(match(ni, h->pt, i - 1, h->match_bits, h->rlength, mlength));
	p3_store(&op->md, i - 1);	/* leaving() may still look at what was before */
	op->md_gen = md->gen;	/* M:unlink.op-gen-plain */
	op->eq = md->eq;
	op->type = h->type;
	op->pt = (uint8_t)h->pt;
	op->ack = h->ack;
	op->options = md->options;
	op->mdflags = md->flags & P3L_MD_DIRECT;
	op->start = md->start;
	op->iov = md->iov;
	op->iov_n = md->iov_n;
	op->moff = off;
	op->mlength = mlength;
	op->rlength = h->rlength;
	op->match_bits = h->match_bits;
	op->hdr_data = h->hdr_data;
	op->src = h->src;
	op->src_md = h->md;
	op->src_md_gen = h->md_gen;
	op->has_ticket = 0;
	op->me = p3_load(&md->me);
	op->me_gen = op->me - 1 < P3L_MAX_ME ? p3l_me(ni, op->me - 1)->gen : 0;
	op->link = 0;
	op->old_offset = md->offset;
	op->old_threshold = md->threshold;
	op->old_flags = md->flags;
	p3_store_rel(&op->state, P3L_OP_PREP);	/* M:polled.prep */
	P3L_POINT("prep");

	if (lockless)
		md->pending++;
	else
		p3_fetch_add(&md->pending, 1);	/* M:unlink.pend */
	charge(md, off, mlength);
	op->threshold = md->threshold;
	P3L_POINT("charged");
	if (eq >= 0) {
		bool start = !(md->options & PTL_MD_EVENT_START_DISABLE);

		if (start || !(md->options & PTL_MD_EVENT_END_DISABLE)) {
			uint32_t t = p3l_eq_reserve(ni, (uint32_t)eq);

			P3L_POINT("start reserved");
			op->link = op->ticket = t;
			p3_store_rel(&op->has_ticket, start ? P3L_TICKET_START : P3L_TICKET_END);
			if (p3_likely(p3_load(&md->pending) == 1))	/* ours: nobody else can note one */
				p3_store(&md->last_ticket, t);
			else
				p3l_md_note(md, op->eq, t);
			if (start) {
				slot_from_op(op, start_kind[h->type], PTL_NI_OK, &ev);
				p3l_eq_post(env, ni, (uint32_t)eq, t, &ev);
				P3L_POINT("start posted");
			}
		}
	}
	if (p3_unlikely(md->flags & P3L_MD_SPENT) && !(op->old_flags & P3L_MD_SPENT))
		md->spent_link = op->link;
	p3_store_rel(&op->state, P3L_OP_MOVE);
	P3L_POINT("matched");
	if (!lockless)
		p3l_unlock(ni, h->pt);
	if (h->type != P3L_GET) {
		p3l_count(env, &stats->recv_count, 1);
		p3l_count(env, &stats->recv_length, mlength);
	}
	return P3L_MATCHED;

wait:
	if (!lockless)
		p3l_unlock(ni, h->pt);
	p3_store_rel(&op->state, P3L_OP_IDLE);	/* M:polled.wait */
	return P3L_WAIT;

drop_unlock:
	if (!lockless)
		p3l_unlock(ni, h->pt);
drop:
	p3_store_rel(&op->state, P3L_OP_IDLE);
	p3l_count(env, &stats->drop_count, 1);
	p3l_count(env, &stats->drop_length, h->rlength);
	return P3L_DROPPED;
}

/*
 * The state of a record that has ended. Left to us by another mover, it is that one's until it has seen DONE. Whose it is
 * says its place, where no peer can write.
 */
static inline uint32_t over(const struct p3l_env *env, const struct p3l_ni *ni, const struct p3l_op *op)
{
	size_t at = (size_t)((const char *)op - (const char *)p3l_row(ni, env->self - 1));

	return p3_likely(at < sizeof(struct p3l_row)) ? P3L_OP_IDLE : P3L_OP_DONE;
}

static __attribute__((__noinline__)) bool spoilt(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_op *op)
{
	p3l_count(env, &p3l_row(ni, env->self - 1)->stats.corrupt, 1);
	op->fail = PTL_NI_FAULT_NP;
	p3_store_rel(&op->state, over(env, ni, op));
	p3l_op_spoilt(ni);
	return false;
}

bool p3l_target_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_op *op, uint32_t fail)
{
	uint32_t i = p3_load(&op->md), type = p3_load(&op->type), left;
	struct p3l_md *md = p3l_md(ni, i);
	bool ack = op->ack && !fail && type == P3L_PUT && !(op->options & PTL_MD_ACK_DISABLE);
	int eq = p3l_eq_of(ni, op->eq);
	struct p3l_slot ev;

	if (p3_unlikely(!p3l_op_names(ni, i, type, p3_load(&op->md_gen))))
		return spoilt(env, ni, op);
	slot_from_op(op, (uint8_t)(start_kind[type] + 1), fail, &ev);	/* END follows START in the enum */
	op->fail = fail;
	p3_store_rel(&op->state, P3L_OP_END);
	P3L_POINT("end");
	if (eq >= 0 && !(op->options & PTL_MD_EVENT_END_DISABLE)) {
		if (op->has_ticket != P3L_TICKET_END) {
			op->ticket = p3l_eq_reserve(ni, (uint32_t)eq);
			P3L_POINT("end reserved");
			p3_store_rel(&op->has_ticket, P3L_TICKET_END);
			p3l_md_note(md, op->eq, op->ticket);
		}
		p3l_eq_post(env, ni, (uint32_t)eq, op->ticket, &ev);
	}
	P3L_POINT("posted");
	p3_store_rel(&op->state, P3L_OP_LEAVE);
	P3L_POINT("leave");
	if (op->lockless & P3L_ALONE)
		left = --md->pending;
	else
		left = p3_fetch_add(&md->pending, (uint32_t)-1) - 1;	/* M:unlink.unpend */
	P3L_POINT("unpended");
	if (p3_unlikely((left & (P3L_PEND_OWN - 1)) == P3L_PEND_OWN - 1)) {	/* not of this MD: the record names another one than at the match */
		p3_fetch_add(&md->pending, 1);
		p3l_count(env, &p3l_row(ni, env->self - 1)->stats.corrupt, 1);
		p3l_op_spoilt(ni);
	} else if (p3_unlikely(left == 0 && (p3_load(&md->flags) & P3L_MD_SPENT)))	/* M:unlink.last */
		p3l_md_done(env, ni, i, &ev);
	P3L_POINT("done");
	p3_store_rel(&op->state, over(env, ni, op));	/* M:polled.end */
	return ack;
}

enum p3l_verdict p3l_target_short(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_hdr *h,
				  const struct p3l_data *data, struct p3l_short *done, struct p3l_sink *sink)
{
	struct p3l_stats *stats = &p3l_row(ni, env->self - 1)->stats;
	enum p3l_verdict v = P3L_MATCHED;
	struct p3l_slot ev;
	struct p3l_md *md;
	bool polled, alone, was_spent, later;
	uint64_t off, mlength;
	uint32_t i, t;
	int eq;

	if (p3_unlikely(h->pt >= P3L_MAX_PT || h->pt > ni->max_pt || h->ac >= P3L_MAX_AC || !admits(&ni->ac[h->ac], h))) {
		v = P3L_DROPPED;
		dropped(ni, h, false);
		goto count;
	}
	polled = p3l_pt_polled(ni, h->pt);
	alone = p3l_pt_alone(env, h->pt);
	if (!alone)
		p3l_lock(env, ni, h->pt);
	i = find(env, ni, h, &off, &mlength, &later);
	if (p3_unlikely(!i)) {
		v = polled && later ? P3L_WAIT : P3L_DROPPED;
		if (v == P3L_DROPPED)
			dropped(ni, h, later);
		goto unlock;
	}
	md = p3l_md(ni, i - 1);
	if (p3_unlikely(md->iov)) {
		v = P3L_OTHER;
		goto unlock;
	}
	eq = p3l_eq_of(ni, md->eq);
	if (polled && eq >= 0 && p3_unlikely(!p3l_eq_room(ni, (uint32_t)eq, 3))) {
		v = P3L_WAIT;
		goto unlock;
	}
	P3_PROBE5(match, ni, h->src, h->pt, i - 1, mlength);
	P3_TRACED(match(ni, h->pt, i - 1, h->match_bits, h->rlength, mlength));
	was_spent = md->flags & P3L_MD_SPENT;
	charge(md, off, mlength);
	done->off = off;
	done->mlength = mlength;
	done->ack = h->ack && !(md->options & PTL_MD_ACK_DISABLE);
	ev.match_bits = h->match_bits;
	ev.hdr_data = h->hdr_data;
	ev.rlength = h->rlength;
	ev.mlength = mlength;
	ev.offset = off;
	ev.md = (uint16_t)(i - 1);
	ev.md_gen = (uint16_t)md->gen;
	ev.threshold = md->threshold;
	ev.initiator = h->src;
	ev.pt = (uint8_t)h->pt;
	ev.link = 0;
	if (eq >= 0 && !(md->options & PTL_MD_EVENT_START_DISABLE)) {
		ev.link = t = p3l_eq_reserve(ni, (uint32_t)eq);
		ev.kind_fail = PTL_EVENT_PUT_START;
		p3l_eq_post(env, ni, (uint32_t)eq, t, &ev);
		p3l_md_note(md, md->eq, t);
	}
	P3_TRACE_BEGAN(began);
	P3_PROBE3(copy, P3_WAY_INBOX, 1, mlength);
	p3l_data_read(data, (void *)(uintptr_t)(md->start + off), mlength);
	P3_TRACED(copy(began, P3_WAY_INBOX, true, mlength));
	if (p3_likely(eq >= 0 && !(md->options & PTL_MD_EVENT_END_DISABLE))) {
		ev.kind_fail = PTL_EVENT_PUT_END;
		if (p3_likely(sink && !sink->got && sink->eq == eq && (!(md->flags & P3L_MD_SPENT) || !p3l_md_tells(md)) &&
			      p3l_sink_open(ni, sink))) {
			ev.word = ev.ticket = 0;
			sink->ev = ev;
			sink->got = P3L_SINK_EVENT;
			P3_TRACED(sunk());
		} else {
			t = p3l_eq_reserve(ni, (uint32_t)eq);
			if (md->options & PTL_MD_EVENT_START_DISABLE)
				ev.link = t;
			p3l_eq_post(env, ni, (uint32_t)eq, t, &ev);
			p3l_md_note(md, md->eq, t);
		}
	}
	if (p3_unlikely(md->flags & P3L_MD_SPENT)) {
		if (!was_spent)
			md->spent_link = ev.link;
		if ((md->flags & P3L_MD_UNLINK) && !p3_load_acq(&md->pending)) {
			if (eq >= 0 && p3l_md_tells(md)) {
				t = p3l_eq_reserve(ni, (uint32_t)eq);
				ev.kind_fail = PTL_EVENT_UNLINK;
				ev.link = md->spent_link;
				md->last_ticket = t;
				p3l_eq_post(env, ni, (uint32_t)eq, t, &ev);
			}
			if (alone)
				p3l_md_free_own(ni, i - 1);
			else
				p3l_md_free_locked(ni, i - 1);
		}
	}
	p3l_count(env, &stats->recv_count, 1);
	p3l_count(env, &stats->recv_length, mlength);
unlock:
	if (!alone)
		p3l_unlock(ni, h->pt);
count:
	if (p3_unlikely(v == P3L_DROPPED)) {
		p3l_count(env, &stats->drop_count, 1);
		p3l_count(env, &stats->drop_length, h->rlength);
	}
	return v;
}

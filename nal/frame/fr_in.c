/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fr_in.c - frames from the link, matched and moved
 *
 * What comes is a peer's word: wire_decode() has seen to what a header says about itself; here it is compared with
 * what this side knows: whose link it is, which number is next, which request an answer belongs to, how much of a
 * message is still to come. Identity, MD and lengths of an answer are taken from our own notes, not from the frame.
 * What does not fit ends the link (false): the other side is broken, or not who it says.
 */
#include "fr_int.h"

enum verdict { TAKEN, BUSY, WRONG };

/* A request that reads from a portal that takes puts only. */
static void count_drop(struct fr_engine *e, const struct fr_peer *p, const struct wire_hdr *h)
{
	P3_PROBE5(drop, e->l, p->slot, h->pt, h->match_bits, P3_DROP_POLLED);
	P3_TRACED(drop(e->l, h->pt, h->match_bits, h->rlength, P3_DROP_POLLED));
	p3l_count(&e->env, &p3l_row(e->l, e->env.self - 1)->stats.drop_count, 1);
	p3l_count(&e->env, &p3l_row(e->l, e->env.self - 1)->stats.drop_length, h->rlength);
}

static void core_hdr(const struct fr_peer *p, const struct wire_hdr *h, enum p3l_type type, struct p3l_hdr *c)
{
	*c = (struct p3l_hdr){
		.type = (uint8_t)type, .ack = type == P3L_PUT && h->md != WIRE_NO_MD, .src = (uint16_t)p->slot,
		.nid = p->id.nid, .pid = p->id.pid, .uid = p->uid, .jid = p->jid, .pt = h->pt, .ac = h->ac, .md = h->md,
		.md_gen = h->md_gen, .match_bits = h->match_bits, .roffset = h->roffset, .rlength = h->rlength,
		.hdr_data = h->hdr_data,
	};
}

/* A numbered request must bring the next number, and has a place for its answer if its sender keeps to the rules. */
static bool number_ok(const struct fr_peer *p, const struct wire_hdr *h)
{
	return h->md == WIRE_NO_MD || (h->req == p->want && p->want - p->done < FR_REQS);
}

static struct fr_msg *answer(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *q, enum wire_type type,
			     uint64_t off, uint64_t mlength)
{
	struct fr_msg *m = &p->ans[q->req % FR_REQS];

	*m = (struct fr_msg){ .answer = true };
	fr_head(e, p, type, &m->h);
	m->h.req = q->req;
	m->h.pt = q->pt;
	m->h.match_bits = q->match_bits;
	m->h.roffset = off;
	m->h.rlength = q->rlength;
	m->h.mlength = mlength;
	m->h.loffset = type == WIRE_REPLY ? q->loffset : 0;
	m->h.md = q->md;
	m->h.md_gen = q->md_gen;
	return m;
}

/* Does another process than the owner run this? */
static bool foreign(const struct fr_engine *e)
{
	return e->env.self - 1 != e->l->slot;
}

static bool is_polled(const struct fr_engine *e, uint32_t pt)
{
	return pt <= e->l->max_pt && p3l_pt_polled(e->l, pt);
}

static bool refuses(const struct fr_engine *e, const struct p3l_hdr *c)
{
	return e->refuses && c->type == P3L_PUT && c->pt < P3L_MAX_PT &&
	       (p3_load(&e->refuses[c->pt >> 6]) >> (c->pt & 63) & 1);	/* its owner sets bits meanwhile */
}

/* Begin a request at its target: a record in *@op when MATCHED. */
static enum p3l_verdict begin(struct fr_engine *e, const struct p3l_hdr *c, struct p3l_op **op)
{
	enum p3l_verdict v;

	*op = e->ops < FR_OPS ? p3l_op_get(&e->env, e->l) : NULL;
	if (!*op)
		return P3L_WAIT;
	v = p3l_target_begin(&e->env, e->l, c, *op, is_polled(e, c->pt) || refuses(e, c));
	if (v == P3L_MATCHED)
		e->logged = true;
	return v;
}

/* ---- a put ---- */

static void put_done(struct fr_engine *e, struct fr_peer *p, struct fr_in *in)
{
	struct p3l_op *op = fr_op(e, in->op);
	bool ack = false;

	in->on = false;
	if (op) {
		uint64_t off = op->moff, mlength = op->mlength;

		in->op = 0;
		ack = p3l_target_end(&e->env, e->l, op, in->fail);
		e->ops--;
		e->logged = true;
		if (ack && in->h.md != WIRE_NO_MD)
			fr_queue(p, answer(e, p, &in->h, WIRE_ACK, off, mlength));
	}
	if (in->h.md != WIRE_NO_MD && !ack)
		fr_finished(p, in->h.req);
}

static void reply_done(struct fr_engine *e, struct fr_peer *p, struct fr_in *in)
{
	struct fr_wait *w = &p->wait[in->req % FR_REQS];

	in->on = false;
	if (!in->keep || w->state != FR_W_COMING)
		return;
	p3l_reply_end(&e->env, e->l, &w->reply, in->fail);
	fr_wait_done(e, w);
	e->logged = true;
}

/* @n bytes of a message, @at from its start. */
static void place(struct fr_engine *e, struct fr_in *in, uint64_t at, const uint8_t *data, uint64_t n)
{
	uint64_t room = at < in->room ? in->room - at : 0;

	if (n > room)
		n = room;
	/* the copy does not write to the frame */
	if (in->keep && n && !fr_copy(e, true, in->start, in->iov, in->iov_n, in->off + at, in->direct,
				      (uint8_t *)(uintptr_t)data, n))
		in->fail = PTL_NI_FAULT_NP;
}

/* A frame with @n bytes of a message has been placed. */
static void placed(struct fr_engine *e, struct fr_peer *p, int k, uint16_t flags, uint32_t n)
{
	struct fr_in *in = &p->ch[k].in;

	if (flags & WIRE_F_FAULT)
		in->fail = PTL_NI_FAULT_NP;
	in->got += n;
	if (in->got < in->len)
		return;
	if (k == FR_REQUEST)
		put_done(e, p, in);
	else
		reply_done(e, p, in);
}

/* May @n bytes of a message, @at from its start, be placed now? */
static bool in_there(struct fr_engine *e, const struct fr_in *in, uint64_t at, uint64_t n)
{
	uint64_t room = at < in->room ? in->room - at : 0;

	if (n > room)
		n = room;
	return !in->keep || fr_there(e, true, in->md, in->start, in->iov, in->iov_n, in->off + at, n, room - n);
}

/* The rest of a frame is for fr_piece(): its payload has not come, or has no place yet. */
static void owe(struct fr_peer *p, int k, const struct wire_hdr *h)
{
	p->ch[k].part = (struct fr_part){ .on = true, .type = h->type, .flags = h->flags, .seq = h->seq,
					  .len = h->paylen, .rlength = h->rlength };
	p->coming = 1 + (uint32_t)k;
}

/* More of a message; @data NULL: fr_piece() brings it. */
static void take(struct fr_engine *e, struct fr_peer *p, int k, const struct wire_hdr *h, const uint8_t *data)
{
	struct fr_in *in = &p->ch[k].in;

	if (!data)
		return;
	if (!in_there(e, in, in->got, h->paylen)) {
		owe(p, k, h);
		return;
	}
	place(e, in, in->got, data, h->paylen);
	placed(e, p, k, h->flags, h->paylen);
}

/* Only the owner may take it: it is for a polled portal, or behind one that waits for such a one. */
static bool for_owner(const struct fr_engine *e, const struct fr_peer *p, uint32_t pt)
{
	return e->park && foreign(e) &&
	       (is_polled(e, pt) || (p->parked && pt < P3L_MAX_PT && (p->parked_pt[pt >> 6] >> (pt & 63) & 1)));
}

/* A long one is dropped, as it is refused on the node. */
static enum verdict put_aside(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h, const uint8_t *data)
{
	struct fr_in *in = &p->ch[FR_REQUEST].in;

	if (data && h->paylen == h->rlength && h->rlength <= FR_COPY) {
		if (!e->park(e, p, data - WIRE_HDR, WIRE_HDR + h->paylen))
			return BUSY;
		if (!p->parked++)
			p->parked_pt[0] = p->parked_pt[1] = 0;
		p->parked_pt[h->pt >> 6] |= (uint64_t)1 << (h->pt & 63);
		if (h->md != WIRE_NO_MD)
			p->want++;
		return TAKEN;
	}
	count_drop(e, p, h);
	p->dropped++;
	if (h->md != WIRE_NO_MD)
		p->want++;
	*in = (struct fr_in){ .on = true, .len = h->rlength, .h = *h };
	take(e, p, FR_REQUEST, h, data);
	return TAKEN;
}

/*
 * A put that is one frame, by its owner: from begin to end. False: the portal has no room. He touches what he has
 * named, as he does for what comes by his inbox.
 */
static bool whole_put(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h, const uint8_t *data)
{
	struct p3l_hdr c;
	struct p3l_op *op;
	enum p3l_verdict v;
	bool ack = false;

	core_hdr(p, h, P3L_PUT, &c);
	v = begin(e, &c, &op);
	if (v == P3L_WAIT)
		return false;
	if (v == P3L_MATCHED) {
		uint64_t off = op->moff, mlength = op->mlength < h->paylen ? op->mlength : h->paylen;
		bool good = fr_copy(e, true, op->start, op->iov, op->iov_n, off, true, (uint8_t *)(uintptr_t)data,
				    mlength);

		ack = p3l_target_end(&e->env, e->l, op, good ? PTL_NI_OK : PTL_NI_FAULT_NP) && h->md != WIRE_NO_MD;
		if (ack && !p->gone)
			fr_queue(p, answer(e, p, h, WIRE_ACK, off, mlength));
		e->logged = true;
	} else {
		p->dropped++;
	}
	if (h->md != WIRE_NO_MD && !ack)
		fr_finished(p, h->req);
	return true;
}

bool fr_parked(struct fr_engine *e, struct fr_peer *p, const uint8_t *frame)
{
	struct wire_hdr h;

	if (wire_decode(frame, WIRE_HDR, &h) == WIRE_OK) {	/* else somebody has written over it */
		if (!whole_put(e, p, &h, frame + WIRE_HDR))
			return false;
		p->parked--;
	}
	return true;
}

/* As fr_parked(), at once: the owner himself runs this, and nothing that is parked would be overtaken. */
static bool put_own(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h, const uint8_t *data)
{
	struct p3l_env mover = e->env;
	uint32_t want = p->want;
	bool done;

	if (!e->owner || p->parked || !data || h->paylen != h->rlength || h->rlength > FR_COPY)
		return false;
	if (h->md != WIRE_NO_MD)
		p->want++;
	e->env = *e->owner;
	done = whole_put(e, p, h, data);
	e->env = mover;
	if (!done)
		p->want = want;
	return done;
}

static enum verdict put(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h, const uint8_t *data)
{
	struct fr_in *in = &p->ch[FR_REQUEST].in;
	struct p3l_hdr c;
	struct p3l_op *op;
	enum p3l_verdict v;

	if (in->on || !number_ok(p, h))
		return WRONG;
	if (for_owner(e, p, h->pt))
		return put_own(e, p, h, data) ? TAKEN : put_aside(e, p, h, data);
	core_hdr(p, h, P3L_PUT, &c);
	v = begin(e, &c, &op);
	if (v == P3L_WAIT)
		return BUSY;
	if (h->md != WIRE_NO_MD)
		p->want++;
	*in = (struct fr_in){ .on = true, .len = h->rlength, .h = *h };
	if (v == P3L_MATCHED) {
		in->keep = true;
		in->op = fr_op_name(e, op);
		e->ops++;
		in->room = op->mlength;
		in->start = op->start;
		in->iov = op->iov;
		in->iov_n = op->iov_n;
		in->off = op->moff;
		in->md = op->md;
		in->direct = fr_direct(e, op->mdflags, in->start, in->iov, in->off, in->room);
	} else {
		p->dropped++;
	}
	take(e, p, FR_REQUEST, h, data);
	return TAKEN;
}

static enum verdict data_frame(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h, const uint8_t *data)
{
	int k = wire_channel(h);
	struct fr_in *in = &p->ch[k].in;

	if (!in->on || h->roffset != in->got || h->paylen > in->len - in->got)
		return WRONG;
	take(e, p, k, h, data);
	return TAKEN;
}

/* ---- a get, a getput, an atomic operation ---- */

/* A request that is answered with bytes of the target: its record in *@op, its reply in *@m; NULL: it was dropped. */
static enum verdict begin_read(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h, enum p3l_type type,
			       struct p3l_op **op, struct fr_msg **m)
{
	enum p3l_verdict v = P3L_DROPPED;
	struct p3l_hdr c;

	*m = NULL;
	if (p->ch[FR_REQUEST].in.on || !number_ok(p, h))
		return WRONG;
	core_hdr(p, h, type, &c);
	if (is_polled(e, h->pt))
		count_drop(e, p, h);
	else
		v = begin(e, &c, op);
	if (v == P3L_WAIT)
		return BUSY;
	p->want++;
	if (v == P3L_MATCHED) {
		*m = answer(e, p, h, WIRE_REPLY, (*op)->moff, (*op)->mlength);
		(*m)->len = (*op)->mlength;
	} else {
		p->dropped++;
		fr_finished(p, h->req);
	}
	return TAKEN;
}

/* For a reply, as for a put: NULL, and no call finds that there is none. */
static uint8_t *room_for(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m)
{
	bool full = p->full;
	uint8_t *b = fr_buf_get(e, p, m, m->len);

	p->full = full;
	return b;
}

static enum verdict get(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h)
{
	struct fr_msg *m;
	struct p3l_op *op;
	enum verdict v = begin_read(e, p, h, P3L_GET, &op, &m);

	if (!m)
		return v;
	m->start = op->start;
	m->iov = op->iov;
	m->iov_n = op->iov_n;
	m->off = op->moff;
	m->direct = fr_direct(e, op->mdflags, m->start, m->iov, m->off, m->len);
	if (m->len <= FR_SMALL && fr_there(e, false, op->md, m->start, m->iov, m->iov_n, m->off, m->len, 0))
		m->buf = m->small;
	else if (e->link->breaks && m->len <= FR_COPY)
		m->buf = room_for(e, p, m);
	if (m->buf) {
		m->fault = !fr_copy(e, false, m->start, m->iov, m->iov_n, m->off, m->direct, m->buf, m->len);
		p3l_target_end(&e->env, e->l, op, m->fault ? PTL_NI_FAULT_NP : PTL_NI_OK);
	} else {
		m->op = fr_op_name(e, op);
		e->ops++;
	}
	fr_queue(p, m);
	return TAKEN;
}

/*
 * Exchange @n bytes at the record's place with @buf, or operate on them, under the locks of swap.c. What another
 * process reaches by the kernel only is no place for an atomic operation.
 */
static bool exchange(struct fr_engine *e, const struct p3l_op *op, uint8_t *buf, uint64_t n)
{
	bool good = true, direct = op->mdflags & P3L_MD_DIRECT;
	uint32_t type = op->type;
	struct p3l_swap locks;
	struct p3l_walk w;
	uint64_t at, len;

	if (!n)
		return true;
	if (!p3l_walk_start(e->l, op->start, op->iov, op->iov_n, op->moff, n, &w))
		return false;
	P3_PROBE3(copy, P3_WAY_SWAP, 1, n);
	P3_TRACED(copy(p3_trace_now(), P3_WAY_SWAP, true, n));
	p3l_swap_lock(&e->env, e->l, op->start + op->moff, n, op->iov != 0, &locks);
	for (; n && good; buf += len, n -= len) {
		if (!p3l_walk_next(&w, &at, &len)) {
			good = false;
		} else if (e->step) {
			good = e->step(e, type, at, buf, len, op->rlength, op->hdr_data);
		} else if (direct) {
			good = p3l_step(type, fr_at(e, at), buf, len, op->rlength, op->hdr_data);
		} else if (!foreign(e)) {
			good = e->copy(e, true, at, NULL, len, false) &&
			       p3l_step(type, (void *)(uintptr_t)at, buf, len, op->rlength, op->hdr_data);
		} else {
			uint8_t new[P3L_MAX_GETPUT];

			p3l_copy(new, buf, len);
			good = !p3l_is_atomic(type) && e->copy(e, false, at, buf, len, false) &&
			       e->copy(e, true, at, new, len, false);
		}
	}
	p3l_swap_unlock(e->l, &locks);
	return good;
}

static bool swap_there(struct fr_engine *e, const struct p3l_op *op)
{
	return fr_there(e, true, op->md, op->start, op->iov, op->iov_n, op->moff, op->mlength, 0);
}

static void swapped(struct fr_engine *e, struct fr_peer *p, struct p3l_op *op, struct fr_msg *m)
{
	m->fault = !exchange(e, op, m->small, m->len);
	p3l_target_end(&e->env, e->l, op, m->fault ? PTL_NI_FAULT_NP : PTL_NI_OK);
	fr_queue(p, m);
}

/* A getput whose bytes were not there. False: they are not yet. */
static bool swap_owed(struct fr_engine *e, struct fr_peer *p, struct fr_in *in)
{
	struct p3l_op *op = fr_op(e, in->op);

	if (!swap_there(e, op))
		return false;
	in->on = false;
	in->op = 0;
	e->ops--;
	swapped(e, p, op, &p->ans[in->req % FR_REQS]);
	return true;
}

static enum verdict getput(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h, const uint8_t *data)
{
	struct fr_msg *m;
	struct p3l_op *op;
	enum p3l_type type = h->type == WIRE_ATOMIC ? (enum p3l_type)(P3L_FETCH + h->op - 1) : P3L_GETPUT;
	enum verdict v = begin_read(e, p, h, type, &op, &m);

	if (!m)
		return v;
	m->buf = m->small;
	p3l_copy(m->small, data, m->len);
	if (swap_there(e, op)) {
		swapped(e, p, op, m);
	} else {
		p->ch[FR_REQUEST].in = (struct fr_in){ .on = true, .op = fr_op_name(e, op), .req = h->req };
		e->ops++;
		owe(p, FR_REQUEST, h);
	}
	return TAKEN;
}

/* ---- answers ---- */

/* What waits for an answer with this number, or NULL: nothing (any more). */
static struct fr_wait *waiting(struct fr_peer *p, uint32_t req, uint8_t state)
{
	struct fr_wait *w = &p->wait[req % FR_REQS];

	if (req - p->req_done >= p->req_next - p->req_done || w->state != state)
		return NULL;
	return w;
}

static enum verdict ack(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h)
{
	struct fr_wait *w = waiting(p, h->req, FR_W_ACK);

	if (!w || h->rlength != w->rlength)
		return WRONG;
	fr_wait_done(e, w);
	p3l_ack(&e->env, e->l, w->md, p->slot, w->pt, w->match_bits, h->roffset, w->rlength, h->mlength);
	e->logged = true;
	return TAKEN;
}

static enum verdict reply(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h, const uint8_t *data)
{
	struct fr_wait *w = waiting(p, h->req, FR_W_REPLY);
	struct fr_in *in = &p->ch[FR_ANSWER].in;

	if (in->on || !w || h->rlength != w->rlength)
		return WRONG;
	*in = (struct fr_in){ .on = true, .len = h->mlength, .req = h->req };
	w->reply.mlength = h->mlength;
	if (p3l_reply_begin(&e->env, e->l, &w->reply)) {
		w->state = FR_W_COMING;
		in->keep = true;
		in->room = w->reply.mlength;
		in->start = w->reply.start;
		in->iov = w->reply.iov;
		in->iov_n = w->reply.iov_n;
		in->off = w->reply.off;
		in->md = w->reply.md.idx;
		/* as it was when the get was called */
		in->direct = !foreign(e) || fr_direct(e, w->reply.flags, in->start, in->iov, in->off, in->room);
		e->logged = true;
	} else {
		fr_wait_done(e, w);
	}
	take(e, p, FR_ANSWER, h, data);
	return TAKEN;
}

/* ---- frames ---- */

/* False: answers are always taken, and a reliable link does not lose them. */
static bool go_back(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h)
{
	int k = wire_channel(h);
	struct fr_chan *c = &p->ch[k];

	if (k == FR_ANSWER && !e->link->lossy)
		return false;
	if (h->ack[k] != c->base || c->base == c->next)
		return true;				/* about a frame that has come since */
	if (h->flags & WIRE_F_BUSY) {
		c->hold = c->probe = c->busy = true;
		c->sent = c->base;
		c->again_at = e->now + e->rto;
		return true;
	}
	e->stats.again += c->sent - c->base;
	c->sent = c->base;
	return true;
}

/* Send what can be sent, which tells the other side how far we are; else do so by itself, a little later. */
static bool go_on(struct fr_engine *e, struct fr_peer *p)
{
	fr_pump(e, p);
	if (p->done - p->told_done >= FR_REQS / 4)
		p->tell = true;
	if (!p->tell && !p->tell_at && (p->untold || p->told_done != p->done))
		p->tell_at = e->now + e->delay;
	return true;
}

/* A frame has been taken whole. */
static bool settled(struct fr_engine *e, struct fr_peer *p, struct fr_chan *c, uint8_t type, uint16_t flags,
		    uint64_t rlength)
{
	if (type == WIRE_PUT || type == WIRE_GET || type == WIRE_GETPUT || type == WIRE_ATOMIC) {
		p->in_count++;
		p->in_length += rlength;
	}
	c->expect++;
	p->untold++;
	c->told_again = c->told_busy = false;
	if ((flags & WIRE_F_ASK) || p->untold >= FR_WINDOW / 4 || e->hasty)
		p->tell = true;
	return go_on(e, p);
}

static bool bad(struct fr_engine *e)
{
	e->stats.bad++;
	p3l_count(&e->env, &p3l_row(e->l, e->env.self - 1)->stats.corrupt, 1);
	return false;
}

enum headed { BAD, OVER /* nothing more to do with it */, WANTED, RESUMED };

/* A frame of @p's link, whose header is @h. @data: its payload; NULL: fr_piece() brings that. */
static enum headed head(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h, const uint8_t *data)
{
	enum verdict v = WRONG;
	struct fr_chan *c;
	int k;

	if (h->src_nid != p->id.nid || h->src_pid != p->id.pid || h->src_uid != p->uid || h->jid != p->jid ||
	    h->dst_nid != e->l->nid || h->dst_pid != e->l->pid)
		return BAD;
	e->stats.frames_in++;
	p->heard++;
	fr_acked(e, p, h);
	if (h->type == WIRE_NOP && (h->flags & WIRE_F_BYE)) {
		fr_gone(e, p);
		return OVER;
	}
	if (h->type == WIRE_NOP) {
		if ((h->flags & (WIRE_F_AGAIN | WIRE_F_BUSY)) && !go_back(e, p, h))
			return BAD;
		if (h->flags & WIRE_F_ASK)
			p->tell = true;
		return OVER;
	}
	k = wire_channel(h);
	c = &p->ch[k];
	if (h->seq != c->expect) {
		if (wire_before(h->seq, c->expect)) {	/* our acknowledgement was lost: say it again */
			e->stats.twice++;
			p->tell = true;
		} else {
			e->stats.early++;
			if (!c->told_again && !c->told_busy) {
				c->told_again = true;
				fr_nop(e, p, k, WIRE_F_AGAIN);
			}
		}
		return OVER;
	}
	if (c->part.on)			/* it was coming when its connection ended */
		return h->type == c->part.type && h->paylen == c->part.len ? RESUMED : BAD;
	P3_PROBE5(frame_in, p->slot, k, h->seq, h->type, h->paylen);
	P3_TRACE_BEGAN(began);
	P3_TRACED(frame(p->slot, (unsigned)k, h->seq));
	switch (h->type) {
	case WIRE_PUT: v = put(e, p, h, data); break;
	case WIRE_GET: v = get(e, p, h); break;
	case WIRE_GETPUT:
	case WIRE_ATOMIC: v = getput(e, p, h, data); break;
	case WIRE_ACK: v = ack(e, p, h); break;
	case WIRE_REPLY: v = reply(e, p, h, data); break;
	case WIRE_DATA: v = data_frame(e, p, h, data); break;
	}
	P3_TRACED(in(v == TAKEN ? began : 0, p->slot, (unsigned)k, h->seq, h->type, h->paylen));
	P3_TRACED(pop());
	if (v == WRONG)
		return BAD;
	if (v == BUSY) {
		e->stats.busy++;
		c->told_busy = true;
		fr_nop(e, p, k, WIRE_F_BUSY);
		return OVER;
	}
	return WANTED;
}

bool fr_input(struct fr_engine *e, struct fr_peer *p, const uint8_t *frame, uint32_t n)
{
	const uint8_t *data = frame + WIRE_HDR;
	struct wire_hdr h;
	enum wire_err err = wire_decode(frame, n, &h);

	if (p->gone)
		return true;
	p->coming = 0;
	if (err == WIRE_OK)
		err = n != WIRE_HDR + h.paylen ? WIRE_E_LENGTH : wire_check_payload(&h, data);
	if (err != WIRE_OK)
		return bad(e) || e->link->lossy;
	switch (head(e, p, &h, data)) {
	case BAD:
		return bad(e);
	case OVER:
		return go_on(e, p);
	case WANTED:
		return fr_owed(p) ? true : settled(e, p, &p->ch[wire_channel(&h)], h.type, h.flags, h.rlength);
	case RESUMED:
		p->ch[wire_channel(&h)].part.came = 0;
		p->ch[wire_channel(&h)].part.flags = h.flags;
		p->coming = 1 + (uint32_t)wire_channel(&h);
		fr_piece(e, p, data, h.paylen);
	}
	return true;
}

/* ---- frames that come in pieces ---- */

enum fr_way fr_begin(struct fr_engine *e, struct fr_peer *p, const uint8_t *hdr)
{
	struct fr_chan *c;
	struct wire_hdr h;

	p->coming = 0;
	if (wire_decode(hdr, WIRE_HDR, &h) != WIRE_OK) {
		bad(e);
		return FR_NO;
	}
	if (h.paylen <= FR_COPY || (h.flags & WIRE_F_SUM) ||
	    (h.type != WIRE_PUT && h.type != WIRE_REPLY && h.type != WIRE_DATA))
		return FR_WHOLE;
	if (p->gone)
		return FR_PIECES;
	c = &p->ch[wire_channel(&h)];
	switch (head(e, p, &h, NULL)) {
	case BAD:
		bad(e);
		return FR_NO;
	case OVER:
		break;
	case WANTED:
		owe(p, wire_channel(&h), &h);
		break;
	case RESUMED:
		c->part.came = 0;
		c->part.flags = h.flags;
		p->coming = 1 + (uint32_t)wire_channel(&h);
	}
	go_on(e, p);
	return FR_PIECES;
}

uint32_t fr_where(struct fr_engine *e, struct fr_peer *p, struct wire_vec *v, uint32_t max)
{
	const struct fr_part *part;
	const struct fr_in *in;
	uint64_t at, n;

	if (!p->coming)
		return 0;
	part = &p->ch[p->coming - 1].part;
	in = &p->ch[p->coming - 1].in;
	at = in->got + part->came;
	if (!in->keep || in->fail || at >= in->room || !(in->direct || e->raw))
		return 0;
	n = part->len - part->came;
	if (n > in->room - at)
		n = in->room - at;
	return fr_segments(e, in->start, in->iov, in->iov_n, in->off + at, n, v, max, &n);
}

void fr_piece(struct fr_engine *e, struct fr_peer *p, const uint8_t *data, uint32_t n)
{
	struct fr_part *part;
	struct fr_chan *c;
	uint32_t k;

	if (!p->coming)
		return;
	k = p->coming - 1;
	c = &p->ch[k];
	part = &c->part;
	if (n > part->len - part->came)
		n = part->len - part->came;
	if (part->type == WIRE_GETPUT || part->type == WIRE_ATOMIC) {
		if (!swap_owed(e, p, &c->in))
			return;
		p->coming = 0;
		part->on = false;
		settled(e, p, c, part->type, part->flags, part->rlength);
		return;
	}
	if (data && !c->in.fail && !in_there(e, &c->in, c->in.got + part->came, n))
		return;
	if (data && !c->in.fail)
		place(e, &c->in, c->in.got + part->came, data, n);
	part->came += n;
	if (part->came < part->len)
		return;
	p->coming = 0;
	part->on = false;
	placed(e, p, (int)k, part->flags, part->len);
	settled(e, p, c, part->type, part->flags, part->rlength);
}

void fr_unplaced(struct fr_peer *p)
{
	if (p->coming)
		p->ch[p->coming - 1].in.fail = PTL_NI_FAULT_NP;
}

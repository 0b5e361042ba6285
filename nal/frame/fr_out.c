/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fr_out.c - messages into frames, frames to the link, and again when they were lost
 *
 * out[base .. next) of a channel are the frames that are made and not acknowledged, [base .. sent) of them have been
 * given to the link since the last time that it went back. A frame is not kept: it is built again from its message,
 * so that it always carries the newest acknowledgement.
 *
 * A message stands in its queue until all its frames are made, and ends when all of them are acknowledged.
 */
#include "fr_int.h"

#define TRIES_MAX 6		/* doublings of the time until a frame is sent again */

/* All of what a get asked for has been read. */
static void read_out(struct fr_engine *e, struct fr_msg *m, uint32_t fail)
{
	p3l_target_end(&e->env, e->l, fr_op(e, m->op), m->fault && !fail ? PTL_NI_FAULT_NP : fail);
	m->op = 0;
	e->ops--;
	e->logged = true;
}

void fr_end_msg(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m, uint32_t fail)
{
	bool acked = !m->answer && !m->get_md && m->h.md != WIRE_NO_MD;

	P3_TRACED(push(&m->trace));
	if (fail && acked && m->sending && m->begun) {		/* a failed SEND_END says it all */
		fr_wait_done(e, &p->wait[m->h.req % FR_REQS]);
	} else if (fail && acked && !m->sending && !m->begun) {	/* begun: fr_gone() finds it among those that wait */
		p3l_ack_failed(&e->env, e->l, (struct p3l_ref){ m->h.md, m->h.md_gen }, p->slot, m->h.pt,
			       m->h.match_bits, m->h.rlength, fail);
		e->logged = true;
	}
	if (m->sending) {
		p3l_send_end(&e->env, e->l, &m->send, m->fault && !fail ? PTL_NI_FAULT_NP : fail);
		e->logged = true;
	}
	if (m->op)
		read_out(e, m, fail);
	if (m->get_md && !m->begun && fail) {		/* begun: fr_gone() finds it among those that wait */
		m->reply.mlength = 0;
		if (p3l_reply_begin(&e->env, e->l, &m->reply))
			p3l_reply_end(&e->env, e->l, &m->reply, fail);
	}
	P3_TRACED(pop());
	if (m->answer) {
		fr_finished(p, m->h.req);
	} else if (m->token) {
		e->ended(e->ended_arg, m->token);
		if (!m->begun && (acked || m->get_md))	/* nothing was awaited so far */
			e->ended(e->ended_arg, m->token);
	}
	fr_msg_put(e, p, m);
}

static bool wants_answer(const struct fr_msg *m)
{
	return !m->answer && m->h.md != WIRE_NO_MD;
}

/* The first frame of a request that may be answered: number it, and note what it waits for. */
static void number(struct fr_peer *p, struct fr_msg *m)
{
	struct fr_wait *w;

	m->h.req = p->req_next++;
	w = &p->wait[m->h.req % FR_REQS];
	w->state = m->get_md ? FR_W_REPLY : FR_W_ACK;
	w->pt = m->h.pt;
	w->token = m->token;
	w->match_bits = m->h.match_bits;
	w->rlength = m->h.rlength;
	w->md = (struct p3l_ref){ m->h.md, m->h.md_gen };
	if (m->get_md)
		w->reply = m->reply;
}

/* A reply that has ended here before it is acknowledged, and is not in a buffer: of its end there is a copy. */
static bool ends_early(const struct fr_engine *e, const struct fr_msg *m)
{
	return e->link->breaks && m->answer && m->len && !m->buf;
}

static bool is_last(const struct fr_out *o)
{
	return o->off + o->len == o->msg->len;
}

/*
 * How much of @m's next @left bytes the link may read from the MD as one frame, 0: they are copied. Short messages are
 * one frame; the end of a long one is copied, since it must be told there if a byte before it could not be read.
 */
static uint32_t by_reference(struct fr_engine *e, const struct fr_msg *m, uint64_t left)
{
	uint32_t tail = ends_early(e, m) ? FR_SMALL : FR_TAIL;
	struct wire_vec v[FR_SEGS];
	uint64_t n;

	if (!e->bulk || m->buf || !(m->direct || e->raw) || m->len <= WIRE_PAYLOAD || left <= tail)
		return 0;
	left -= tail;
	if (left > e->bulk)
		left = e->bulk;
	if (!m->iov)
		return (uint32_t)left;
	fr_segments(e, m->start, m->iov, m->iov_n, m->off + m->made, left, v, FR_SEGS, &n);
	return n < left && n < WIRE_PAYLOAD ? 0 : (uint32_t)n;	/* rather one copy than many small frames */
}

static uint32_t most(const struct fr_engine *e)
{
	return e->most ? e->most : WIRE_PAYLOAD;
}

/* One more frame in out[]. */
static bool make(struct fr_engine *e, struct fr_peer *p, struct fr_chan *c)
{
	struct fr_msg *m = c->q;
	struct fr_out *o;

	if (!m || c->next - c->base >= FR_WINDOW || c->flight >= FR_FLIGHT)
		return false;
	if (!m->begun && wants_answer(m)) {
		if (p->req_next - p->req_done >= FR_REQS)
			return false;
		number(p, m);
	}
	o = &c->out[c->next % FR_WINDOW];
	o->msg = m;
	o->off = m->made;
	o->first = !m->begun;
	o->len = by_reference(e, m, m->len - m->made);
	o->ref = o->len;
	if (!o->ref)
		o->len = m->len - m->made < most(e) ? (uint32_t)(m->len - m->made) : most(e);
	if (o->len > FR_SMALL && is_last(o) && ends_early(e, m))
		o->len -= FR_SMALL;
	P3_PROBE5(frame_out, p->slot, c - p->ch, c->next, m->h.type, o->len);
	P3_TRACED(out(&m->trace, p->slot, (unsigned)(c - p->ch), c->next, o->len, o->first));
	m->begun = true;
	m->made += o->len;
	m->frames++;
	c->flight += o->len;
	c->next++;
	if (m->made == m->len) {
		c->q = m->next;
		if (!c->q)
			c->q_end = &c->q;
	}
	return true;
}

/* NULL: its bytes are not there yet. */
static const void *payload(struct fr_engine *e, struct fr_msg *m, const struct fr_out *o, uint16_t *flags)
{
	if (m->buf) {
		if (m->fault)
			*flags |= WIRE_F_FAULT;
		return (m->token ? (const uint8_t *)fr_at(e, (uintptr_t)m->buf) : m->buf) + o->off;
	}
	if (is_last(o) && ends_early(e, m)) {
		if (!m->kept && (m->fault || !fr_copy(e, false, m->start, m->iov, m->iov_n, m->off + o->off, m->direct,
						      m->small, o->len)))
			m->fault = true;
		m->kept = true;
		if (m->fault)
			*flags |= WIRE_F_FAULT;
		return m->small;
	}
	if (m->direct && !m->iov && !m->fault)
		return fr_at(e, m->start + m->off + o->off);
	if (!m->fault && !fr_there(e, false, m->op ? fr_op(e, m->op)->md : m->send.md.idx, m->start, m->iov, m->iov_n,
				   m->off + o->off, o->len, m->len - o->off - o->len))
		return NULL;
	if (m->fault || !fr_copy(e, false, m->start, m->iov, m->iov_n, m->off + o->off, m->direct, e->scratch,
				 o->len)) {
		__builtin_memset(e->scratch, 0, o->len);
		m->fault = true;
		*flags |= WIRE_F_FAULT;
	}
	return e->scratch;
}

/* Pieces of a frame that the link reads from the MD, or of zeroes where that has failed. */
static uint32_t pieces(struct fr_engine *e, struct fr_msg *m, const struct fr_out *o, struct wire_vec *v,
		       uint16_t *flags)
{
	static uint8_t zeroes[WIRE_BULK / FR_SEGS];	/* never written */
	uint32_t n = 0;
	uint64_t there = 0;

	if (!m->fault)
		n = fr_segments(e, m->start, m->iov, m->iov_n, m->off + o->off, o->len, v, FR_SEGS, &there);
	if (there == o->len)
		return n;
	m->fault = true;		/* the list is not what it was when the frame was made */
	*flags |= WIRE_F_FAULT;
	n = 0;
	for (uint32_t left = o->len, k; left; left -= k) {
		k = left < sizeof(zeroes) ? left : (uint32_t)sizeof(zeroes);
		v[n++] = (struct wire_vec){ zeroes, k };
	}
	return n;
}

void fr_fault(struct fr_peer *p, uint64_t tag)
{
	struct fr_chan *c = &p->ch[tag >> 32 & 1];
	uint32_t seq = (uint32_t)tag;

	if (!p->gone && seq - c->base < c->next - c->base)
		c->out[seq % FR_WINDOW].msg->fault = true;
}

/* What rides on every frame; true: the link has taken it, and the other side will be told. */
static bool give(struct fr_engine *e, struct fr_peer *p, struct wire_hdr *h, const void *data)
{
	h->ack[0] = p->ch[0].expect;
	h->ack[1] = p->ch[1].expect;
	h->done = p->done;
	if (e->link->lossy && h->paylen) {
		h->flags |= WIRE_F_SUM;
		h->paysum = wire_sum(data, h->paylen);
	}
	wire_encode(h, e->hdr);
	if (e->link->send(e->ctx, p, e->hdr, data, h->paylen)) {
		p->blocked = true;
		return false;
	}
	p->untold = 0;
	p->told_done = p->done;
	p->tell = false;
	p->tell_at = 0;
	e->stats.frames_out++;
	return true;
}

/* The header of frame @seq, but for its payload. */
static void header(struct fr_engine *e, struct fr_peer *p, struct fr_chan *c, uint32_t seq, struct wire_hdr *h)
{
	struct fr_out *o = &c->out[seq % FR_WINDOW];
	struct fr_msg *m = o->msg;
	bool last = is_last(o);

	if (o->first) {
		*h = m->h;
	} else {
		fr_head(e, p, WIRE_DATA, h);
		h->flags = m->answer ? WIRE_F_ANSWER : 0;
		h->roffset = o->off;
	}
	h->seq = seq;
	h->paylen = o->len;
	/* ask where somebody waits for the acknowledgement: an END, or room */
	if ((last && (m->sending || m->op)) || (ends_early(e, m) && o->off + o->len + FR_SMALL >= m->len) ||
	    c->next - c->base >= FR_WINDOW / 2 || c->flight >= FR_FLIGHT / 2 ||
	    p->full || (!e->more && (!e->free_bufs || !e->free_msgs)) || e->hasty)
		h->flags |= WIRE_F_ASK;
}

static bool send(struct fr_engine *e, struct fr_peer *p, struct fr_chan *c, uint32_t seq)
{
	const struct fr_out *o = &c->out[seq % FR_WINDOW];
	const void *data = NULL;
	struct wire_hdr h;

	if (o->ref) {			/* made for another link: who has that one sends it */
		p->blocked = true;
		return false;
	}
	header(e, p, c, seq, &h);
	if (o->len) {
		data = payload(e, o->msg, o, &h.flags);
		if (!data) {
			p->stuck = true;
			return false;
		}
	}
	return give(e, p, &h, data);
}

/* The next frame of a channel whose @at is the next to be sent: is there one that may go? */
static bool may_go(struct fr_engine *e, struct fr_peer *p, struct fr_chan *c, uint32_t at)
{
	const struct fr_out *o = &c->out[at % FR_WINDOW];

	return !c->hold && !(c->probe && at != c->base) && (at != c->next || make(e, p, c)) &&
	       (at == c->base || !o->off || !is_last(o) || !ends_early(e, o->msg));
}

/* What a reliable link has taken is not read again: the get is over here before its initiator can say so. */
static void went(struct fr_engine *e, const struct fr_out *o)
{
	if (!e->link->lossy && o->msg->op && is_last(o)) {
		P3_TRACED(push(&o->msg->trace));
		read_out(e, o->msg, PTL_NI_OK);
		P3_TRACED(pop());
	}
}

/* One frame of a channel, if it has one to send. */
static bool one(struct fr_engine *e, struct fr_peer *p, struct fr_chan *c)
{
	if (!may_go(e, p, c, c->sent) || !send(e, p, c, c->sent))
		return false;
	went(e, &c->out[c->sent++ % FR_WINDOW]);
	if (e->link->lossy && !c->again_at)
		c->again_at = e->now + (e->rto << c->tries);
	return true;
}

static bool add(struct fr_engine *e, struct fr_peer *p, int k, struct fr_batch *b)
{
	struct fr_chan *c = &p->ch[k];
	struct wire_frame *f = &b->f[b->n];
	struct wire_vec *v = b->v[b->n];
	struct wire_hdr h;
	struct fr_out *o;

	if (!may_go(e, p, c, b->at[k]))
		return false;
	o = &c->out[b->at[k] % FR_WINDOW];
	header(e, p, c, b->at[k], &h);
	*f = (struct wire_frame){ .hdr = b->hdr[b->n], .v = v, .len = o->len, .stays = o->ref, .whose = p,
				  .tag = (uint64_t)k << 32 | b->at[k] };
	if (o->ref) {
		f->n = pieces(e, o->msg, o, v, &h.flags);
	} else if (o->len) {
		v->at = (void *)(uintptr_t)payload(e, o->msg, o, &h.flags);
		v->len = o->len;
		f->n = 1;
		b->full = v->at == e->scratch;
	}
	h.ack[0] = p->ch[0].expect;
	h.ack[1] = p->ch[1].expect;
	h.done = p->done;
	wire_encode(&h, b->hdr[b->n]);
	b->at[k]++;
	b->n++;
	return true;
}

/* As many frames as there are, and as the link takes at once. False: that is all for now. */
static bool some(struct fr_engine *e, struct fr_peer *p)
{
	struct fr_batch *b = &e->batch;
	bool turn = p->turn, fault = false;
	uint32_t taken;

	b->n = 0;
	b->full = false;
	b->at[0] = p->ch[0].sent;
	b->at[1] = p->ch[1].sent;
	for (; b->n < FR_BATCH && !b->full; turn = !turn)
		if (!add(e, p, turn, b)) {
			turn = !turn;
			if (!add(e, p, turn, b))
				break;
		}
	if (!b->n)
		return false;
	taken = e->link->send_some(e->ctx, p, b->f, b->n, &fault);
	if (taken) {
		p->untold = 0;
		p->told_done = p->done;
		p->tell = false;
		p->tell_at = 0;
		e->stats.frames_out += taken;
	}
	for (uint32_t i = 0; i < taken; i++) {
		struct fr_chan *c = &p->ch[b->f[i].tag >> 32];

		p->turn = c == p->ch;
		went(e, &c->out[c->sent++ % FR_WINDOW]);
	}
	if (fault) {			/* it goes as zeroes */
		fr_fault(p, b->f[taken].tag);
		return true;
	}
	p->blocked = taken < b->n;
	return !p->blocked;
}

void fr_pump(struct fr_engine *e, struct fr_peer *p)
{
	if (e->link->send_some) {
		while (!p->gone && !p->blocked && some(e, p))
			;
		return;
	}
	while (!p->gone && !p->blocked && !p->stuck) {
		if (!one(e, p, &p->ch[p->turn]) && (p->blocked || p->stuck || !one(e, p, &p->ch[!p->turn])))
			return;
		p->turn = !p->turn;
	}
}

/* Say how far we are; and @flags about a channel. */
void fr_nop(struct fr_engine *e, struct fr_peer *p, int channel, uint16_t flags)
{
	p->ch[channel].nop |= flags;
	p->tell = true;
	if (p->gone)
		return;
	for (int k = 0; k < 2; k++) {
		struct fr_chan *c = &p->ch[k];
		struct wire_hdr h;

		if (p->blocked || !(c->nop || (k && p->tell)))
			continue;
		fr_head(e, p, WIRE_NOP, &h);
		h.flags = c->nop;
		if (k && c->nop)
			h.flags |= WIRE_F_ANSWER;
		if (!give(e, p, &h, NULL))
			return;
		c->nop = 0;
		e->stats.nops++;
	}
}

/* All frames below @ack have been taken, all requests below @done are finished. Both come from the other side. */
void fr_acked(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h)
{
	for (int k = 0; k < 2; k++) {
		struct fr_chan *c = &p->ch[k];

		if (h->ack[k] == c->base || h->ack[k] - c->base > c->next - c->base)
			continue;		/* no news, old news, or nonsense */
		while (c->base != h->ack[k]) {
			const struct fr_out *o = &c->out[c->base++ % FR_WINDOW];
			struct fr_msg *m = o->msg;

			c->flight -= o->len;
			if (--m->frames == 0 && m->made == m->len)
				fr_end_msg(e, p, m, PTL_NI_OK);
		}
		if (wire_before(c->sent, c->base))
			c->sent = c->base;
		c->tries = 0;
		c->probe = c->hold = c->busy = false;
		c->again_at = e->link->lossy && c->base != c->sent ? e->now + e->rto : 0;
	}
	if (h->done - p->req_done > p->req_next - p->req_done)
		return;
	if (h->done != p->req_done)
		p->asks = 0, p->ask_at = 0;
	for (; p->req_done != h->done; p->req_done++) {
		struct fr_wait *w = &p->wait[p->req_done % FR_REQS];

		if (w->state == FR_W_COMING) {		/* finished, it says, and has not sent all of it */
			p3l_reply_end(&e->env, e->l, &w->reply, PTL_NI_FAIL);
			p->ch[FR_ANSWER].in.keep = false;
		}
		fr_wait_done(e, w);
	}
}

void fr_writable(struct fr_engine *e, struct fr_peer *p)
{
	p->blocked = p->stuck = false;
	if (p->gone)
		return;
	if (p->ch[0].nop || p->ch[1].nop || p->tell)
		fr_nop(e, p, 0, 0);
	fr_pump(e, p);
}

void fr_resume(struct fr_engine *e, struct fr_peer *p)
{
	if (p->gone || !p->open)
		return;
	for (struct fr_chan *c = p->ch; c < p->ch + 2; c++) {
		e->stats.again += c->sent - c->base;
		c->sent = c->base;
		if (c->told_busy || c->told_again)	/* that may be lost, as may our acknowledgements */
			c->nop |= c->told_busy ? WIRE_F_BUSY : WIRE_F_AGAIN;
	}
	p->tell = true;
	fr_writable(e, p);
}

void fr_tell(struct fr_engine *e, struct fr_peer *p)
{
	if (e->hasty && (p->untold || p->told_done != p->done))
		p->tell = true;
	if (p->tell && !p->gone)
		fr_nop(e, p, 0, 0);
}

void fr_bye(struct fr_engine *e, struct fr_peer *p)
{
	p->blocked = false;
	fr_nop(e, p, 0, WIRE_F_BYE);
}

void fr_flush(struct fr_engine *e)
{
	for (struct fr_peer *p = e->peers; p; p = p->next_peer)
		fr_tell(e, p);
	if (e->logged) {
		e->logged = false;
		if (e->wake)
			e->wake(e->wake_arg);
	}
}

void fr_ask(struct fr_engine *e, struct fr_peer *p)
{
	struct wire_hdr h;

	if (p->blocked || p->gone)
		return;
	fr_head(e, p, WIRE_NOP, &h);
	h.flags = WIRE_F_ASK;
	if (give(e, p, &h, NULL))
		e->stats.nops++;
}

/*
 * That a request is finished is told on whatever is sent next, or by a NOP, which may be lost. Nobody sends that
 * again by himself, so who waits for it asks.
 */
static void ask(struct fr_engine *e, struct fr_peer *p)
{
	if (!e->link->lossy || p->req_done == p->req_next) {
		p->ask_at = 0;
		return;
	}
	if (!p->ask_at) {
		p->ask_at = e->now + (e->rto << p->asks);
	} else if (e->now >= p->ask_at) {
		if (p->asks < TRIES_MAX)
			p->asks++;
		p->ask_at = e->now + (e->rto << p->asks);
		fr_ask(e, p);
	}
}

int64_t fr_timer(struct fr_engine *e)
{
	int64_t next = 0;

	for (struct fr_peer *p = e->peers; p; p = p->next_peer) {
		if (p->gone)
			continue;
		for (struct fr_chan *c = p->ch; c < p->ch + 2; c++) {
			if (c->again_at && e->now >= c->again_at) {
				e->stats.timeouts++;
				e->stats.again += c->sent - c->base;
				c->probe = true;
				c->hold = false;
				c->sent = c->base;
				if (c->tries < TRIES_MAX)
					c->tries++;
				c->again_at = e->link->lossy ? e->now + (e->rto << c->tries) : 0;
				fr_pump(e, p);
			}
			if (c->again_at && (!next || c->again_at < next))
				next = c->again_at;
		}
		if (p->tell_at && e->now >= p->tell_at) {
			p->tell_at = 0;
			fr_nop(e, p, 0, 0);
		}
		ask(e, p);
		if (p->tell_at && (!next || p->tell_at < next))
			next = p->tell_at;
		if (p->ask_at && (!next || p->ask_at < next))
			next = p->ask_at;
	}
	return next;
}

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

/* One more frame in out[]. */
static bool make(struct fr_peer *p, struct fr_chan *c)
{
	struct fr_msg *m = c->q;
	struct fr_out *o;

	if (!m || c->next - c->base >= FR_WINDOW)
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
	o->len = m->len - m->made < WIRE_PAYLOAD ? (uint32_t)(m->len - m->made) : WIRE_PAYLOAD;
	P3_PROBE5(frame_out, p->slot, c - p->ch, c->next, m->h.type, o->len);
	P3_TRACED(out(&m->trace, p->slot, (unsigned)(c - p->ch), c->next, o->len, o->first));
	m->begun = true;
	m->made += o->len;
	m->frames++;
	c->next++;
	if (m->made == m->len) {
		c->q = m->next;
		if (!c->q)
			c->q_end = &c->q;
	}
	return true;
}

static const void *payload(struct fr_engine *e, struct fr_msg *m, const struct fr_out *o, uint16_t *flags)
{
	if (m->buf) {
		if (m->fault)
			*flags |= WIRE_F_FAULT;
		return m->buf + o->off;
	}
	if (m->direct && !m->iov)
		return fr_at(e, m->start + m->off + o->off);
	if (!fr_copy(e, false, m->start, m->iov, m->iov_n, m->off + o->off, m->direct, e->scratch, o->len)) {
		__builtin_memset(e->scratch, 0, o->len);
		m->fault = true;
		*flags |= WIRE_F_FAULT;
	}
	return e->scratch;
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

static bool send(struct fr_engine *e, struct fr_peer *p, struct fr_chan *c, uint32_t seq)
{
	struct fr_out *o = &c->out[seq % FR_WINDOW];
	struct fr_msg *m = o->msg;
	bool last = o->off + o->len == m->len;
	const void *data = NULL;
	struct wire_hdr h;

	if (o->first) {
		h = m->h;
	} else {
		fr_head(e, p, WIRE_DATA, &h);
		h.flags = m->answer ? WIRE_F_ANSWER : 0;
		h.roffset = o->off;
	}
	h.seq = seq;
	h.paylen = o->len;
	/* ask where somebody waits for the acknowledgement: an END, or room */
	if ((last && (m->sending || m->op)) || c->next - c->base >= FR_WINDOW / 2 ||
	    p->full || (!e->more && (!e->free_bufs || !e->free_msgs)) || e->hasty)
		h.flags |= WIRE_F_ASK;
	if (o->len)
		data = payload(e, m, o, &h.flags);
	return give(e, p, &h, data);
}

/* One frame of a channel, if it has one to send. */
static bool one(struct fr_engine *e, struct fr_peer *p, struct fr_chan *c)
{
	const struct fr_out *o;

	if (c->hold || (c->probe && c->sent != c->base) || (c->sent == c->next && !make(p, c)) || !send(e, p, c,
		c->sent))
		return false;
	o = &c->out[c->sent++ % FR_WINDOW];
	/* what a reliable link has taken is not read again: the get is over here before its initiator can say so */
	if (!e->link->lossy && o->msg->op && o->off + o->len == o->msg->len) {
		P3_TRACED(push(&o->msg->trace));
		read_out(e, o->msg, PTL_NI_OK);
		P3_TRACED(pop());
	}
	if (e->link->lossy && !c->again_at)
		c->again_at = e->now + (e->rto << c->tries);
	return true;
}

void fr_pump(struct fr_engine *e, struct fr_peer *p)
{
	while (!p->gone && !p->blocked) {
		if (!one(e, p, &p->ch[p->turn]) && (p->blocked || !one(e, p, &p->ch[!p->turn])))
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
			struct fr_msg *m = c->out[c->base++ % FR_WINDOW].msg;

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
	p->blocked = false;
	if (p->gone)
		return;
	if (p->ch[0].nop || p->ch[1].nop || p->tell)
		fr_nop(e, p, 0, 0);
	fr_pump(e, p);
}

void fr_flush(struct fr_engine *e)
{
	for (struct fr_peer *p = e->peers; p; p = p->next_peer) {
		if (e->hasty && (p->untold || p->told_done != p->done))
			p->tell = true;
		if (p->tell && !p->gone)
			fr_nop(e, p, 0, 0);
	}
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

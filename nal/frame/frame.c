/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* frame.c - the engine's start and end, its pools, and the calls; see frame.h. fr_out.c sends, fr_in.c takes. */
#include "fr_int.h"

static void add_msgs(struct fr_engine *e, struct fr_msg *m, uint32_t n)
{
	e->n_msgs += n;
	for (; n--; m++) {
		m->next = e->free_msgs;
		e->free_msgs = m;
	}
}

static void add_bufs(struct fr_engine *e, uint8_t *b, uint32_t n)
{
	e->n_bufs += n;
	for (; n--; b += FR_COPY) {
		/* the first bytes of a free one: the next */
		p3l_copy(b, &e->free_bufs, sizeof(e->free_bufs));
		e->free_bufs = b;
	}
}

void fr_init(struct fr_engine *e, struct p3l_ni *l, const struct p3l_env *env, const struct fr_link *link, void *ctx,
	     int64_t rto_ns, int64_t delay_ns)
{
	e->l = l;
	e->env = *env;
	e->link = link;
	e->ctx = ctx;
	e->rto = rto_ns;
	e->delay = delay_ns;
	add_msgs(e, e->msgs, FR_MSGS);
	if (!e->ended)
		add_bufs(e, e->bufs[0], FR_BUFS);
}

void fr_open(struct fr_engine *e, struct fr_peer *p, ptl_process_id_t id, uint32_t uid, uint32_t jid, uint32_t slot)
{
	p->id = id;
	p->uid = uid;
	p->jid = jid;
	p->slot = slot;
	for (int k = 0; k < 2; k++)
		p->ch[k].q_end = &p->ch[k].q;
	p->open = true;
	p->next_peer = e->peers;
	e->peers = p;
	P3_TRACED(peer(slot, id.nid, id.pid));
}

/* ---- pools ---- */

/* May a peer that has @has of them take one more? @there: free; @n: in all; with more(), at most @most. */
static bool may_take(const struct fr_engine *e, uint32_t has, bool there, uint32_t n, uint32_t most, uint32_t fixed)
{
	if (!e->more)
		return there && has < fixed;
	return has < FR_OWN || (has < most / FR_MORE_PEER && (there || n < most));
}

static bool may_have_msg(const struct fr_engine *e, const struct fr_peer *p)
{
	return may_take(e, p->msgs, e->free_msgs, e->n_msgs, FR_MORE_MSGS, FR_PEER_MSGS);
}

static bool may_have_buf(const struct fr_engine *e, const struct fr_peer *p)
{
	return may_take(e, p->bufs, e->free_bufs, e->n_bufs, FR_MORE_BUFS, FR_BUFS);
}

struct fr_msg *fr_msg_get(struct fr_engine *e, struct fr_peer *p)
{
	struct fr_msg *m = NULL;

	p->full = !may_have_msg(e, p);
	if (p->full)
		return NULL;
	if (!e->free_msgs && (m = e->more(e->more_arg)) != NULL)
		add_msgs(e, m, FR_BLOCK / sizeof(*m));
	m = e->free_msgs;
	p->full = !m;
	if (!m)
		return NULL;
	e->free_msgs = m->next;
	p->msgs++;
	m->next = NULL;
	m->len = m->made = 0;
	m->frames = 0;
	m->begun = m->answer = m->sending = m->replying = m->get_md = m->fault = false;
	m->buf = NULL;
	m->op = 0;
	m->token = 0;
	return m;
}

uint8_t *fr_buf_get(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m, uint64_t len)
{
	uint8_t *b = NULL;

	if (len <= FR_SMALL)
		return m->small;
	p->full = !may_have_buf(e, p);
	if (p->full)
		return NULL;
	if (!e->free_bufs && (b = e->more(e->more_arg)) != NULL)
		add_bufs(e, b, FR_BLOCK / FR_COPY);
	b = e->free_bufs;
	p->full = !b;
	if (b) {
		p3l_copy(&e->free_bufs, b, sizeof(b));
		p->bufs++;
	}
	return b;
}

static void buf_put(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m)
{
	if (m->buf && m->buf != m->small && !m->token) {
		p3l_copy(m->buf, &e->free_bufs, sizeof(e->free_bufs));
		e->free_bufs = m->buf;
		p->bufs--;
	}
	m->buf = NULL;
}

void fr_msg_put(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m)
{
	buf_put(e, p, m);
	if (m->answer) {
		m->answer = false;
		return;
	}
	p->msgs--;
	m->next = e->free_msgs;
	e->free_msgs = m;
}

bool fr_room(const struct fr_engine *e, const struct fr_peer *p)
{
	return p->gone || (may_have_msg(e, p) && may_have_buf(e, p));
}

void fr_queue(struct fr_peer *p, struct fr_msg *m)
{
	struct fr_chan *c = &p->ch[m->answer ? FR_ANSWER : FR_REQUEST];

	P3_TRACED(note(&m->trace));
	m->next = NULL;
	*c->q_end = m;
	c->q_end = &m->next;
}

/* ---- bytes ---- */

/* @len bytes between @buf and a region of ours: false: some were not there. */
bool fr_copy(struct fr_engine *e, bool to, uint64_t start, uint64_t iov, uint32_t iov_n, uint64_t off, bool direct,
	     uint8_t *buf, uint64_t len)
{
	struct p3l_walk w;
	uint64_t at, n;

	if (!len)
		return true;
	if (!p3l_walk_start(e->l, start, iov, iov_n, off, len, &w))
		return false;
	P3_PROBE3(copy, P3_WAY_FRAME, to, len);
	P3_TRACE_BEGAN(began);
	P3_TRACE_BEGAN_WITH(uint64_t, bytes, len);
	for (; len; buf += n, len -= n)
		if (!p3l_walk_next(&w, &at, &n) || !e->copy(e, to, at, buf, n, direct))
			return false;
	P3_TRACED(copy(began, P3_WAY_FRAME, to, bytes));
	return true;
}

/*
 * May @len bytes of MD @md be copied now? What no walk finds is for fr_copy() to say. To be asked before each copy: it
 * also notes whose bytes they are.
 */
bool fr_there(struct fr_engine *e, bool to, uint32_t md, uint64_t start, uint64_t iov, uint32_t iov_n, uint64_t off,
	      uint64_t len, uint64_t ahead)
{
	struct p3l_walk w;
	uint64_t at, n;

	e->md = md;
	if (!e->there || !len || !p3l_walk_start(e->l, start, iov, iov_n, off, len, &w))
		return true;
	for (; len && p3l_walk_next(&w, &at, &n); len -= n)
		if (!e->there(e, to, at, n, iov ? 0 : ahead))
			return false;
	return true;
}

/* Are all bytes of a message where they may be touched? Asked once, for those that are not copied at once. */
bool fr_direct(struct fr_engine *e, uint32_t mdflags, uint64_t start, uint64_t iov, uint64_t off, uint64_t len)
{
	return (mdflags & P3L_MD_DIRECT) ||
	       (e->reaches && !iov && len > FR_COPY && e->reaches(e, start + off, len));
}

/* Where these bytes are here: entries of @v, at most @max; *@n bytes are in them. */
uint32_t fr_segments(struct fr_engine *e, uint64_t start, uint64_t iov, uint32_t iov_n, uint64_t off, uint64_t len,
		     struct wire_vec *v, uint32_t max, uint64_t *n)
{
	struct p3l_walk w;
	uint64_t at, k;
	uint32_t i = 0;

	*n = 0;
	if (!p3l_walk_start(e->l, start, iov, iov_n, off, len, &w))
		return 0;
	for (; i < max && p3l_walk_next(&w, &at, &k); *n += k)
		v[i++] = (struct wire_vec){ fr_at(e, at), k };
	return i;
}

/* The fields that every frame has. */
void fr_head(const struct fr_engine *e, const struct fr_peer *p, enum wire_type type, struct wire_hdr *h)
{
	*h = (struct wire_hdr){
		.type = (uint8_t)type, .jid = e->l->jid, .src_nid = e->l->nid, .src_pid = e->l->pid,
		.src_uid = e->l->uid,
		.dst_nid = p->id.nid, .dst_pid = p->id.pid, .md = WIRE_NO_MD,
	};
}

/* ---- calls ---- */

static void request(struct fr_engine *e, struct fr_peer *p, enum wire_type type, const struct p3l_hdr *h,
		    struct fr_msg *m)
{
	fr_head(e, p, type, &m->h);
	m->h.jid = h->jid;
	m->h.src_uid = h->uid;
	m->h.pt = h->pt;
	m->h.ac = h->ac;
	m->h.match_bits = h->match_bits;
	m->h.hdr_data = h->hdr_data;
	m->h.roffset = h->roffset;
	m->h.rlength = h->rlength;
}

/* Read what is sent into memory of the message's own. */
static void take_bytes(struct p3l_ni *l, const struct p3l_send *s, uint8_t *b)
{
	struct p3l_walk w;
	uint64_t at, n;

	/* the caller's own call and memory: a bad address is its fault, where it happens */
	if (s->len && p3l_walk_start(l, s->start, s->iov, s->iov_n, s->loff, s->len, &w))
		for (; p3l_walk_next(&w, &at, &n); b += n)
			p3l_copy(b, (const void *)(uintptr_t)at, n);
}

/* A get of somebody who is gone ends as those that were under way then. One of somebody who never was: no reply. */
static void gone_reply(const struct p3l_env *env, struct p3l_ni *l, uint32_t slot, bool died, struct p3l_reply *r,
		       uint64_t rlength)
{
	r->rlength = rlength;
	r->mlength = 0;
	r->target_slot = slot;
	if (died && p3l_reply_begin(env, l, r))
		p3l_reply_end(env, l, r, PTL_NI_DIED_NP);
}

int fr_put_nowhere(const struct p3l_env *env, struct p3l_ni *l, struct p3l_send *s)
{
	int rc = p3l_send_begin(env, l, s);

	if (rc == PTL_OK) {
		P3_PROBE5(drop, l, l->slot, s->pt, s->match_bits, P3_DROP_NOWHERE);
		P3_TRACED(drop(l, s->pt, s->match_bits, s->len, P3_DROP_NOWHERE));
		p3l_send_end(env, l, s, PTL_NI_FAIL);
	}
	return rc;
}

int fr_get_nowhere(const struct p3l_env *env, struct p3l_ni *l, uint32_t slot, bool died, const struct p3l_hdr *h,
		   struct p3l_reply *r)
{
	bool xt;
	int rc = p3l_get_begin(env, l, r, &xt);

	if (rc != PTL_OK)
		return rc;
	if (xt)
		p3l_get_sent(env, l, r->md, r->off, r->mlength, h, PTL_NI_FAIL);
	P3_PROBE5(drop, l, l->slot, h->pt, h->match_bits, P3_DROP_NOWHERE);
	P3_TRACED(drop(l, h->pt, h->match_bits, r->mlength, P3_DROP_NOWHERE));
	gone_reply(env, l, slot, died, r, r->mlength);
	return PTL_OK;
}

int fr_getput_nowhere(const struct p3l_env *env, struct p3l_ni *l, uint32_t slot, bool died, struct p3l_send *s,
		      struct p3l_reply *r)
{
	int rc = fr_put_nowhere(env, l, s);

	if (rc == PTL_OK)
		gone_reply(env, l, slot, died, r, s->len);
	return rc;
}

static void gone_told(struct fr_engine *e)
{
	e->logged = true;
	fr_flush(e);
}

/* A call has become a message. */
static void call(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m)
{
	p->out_count++;
	p->out_length += m->h.rlength;
	fr_queue(p, m);
	fr_pump(e, p);
}

int fr_begin_put(const struct p3l_env *env, struct p3l_ni *l, struct p3l_hdr *h, struct p3l_send *s, fr_room_t *room,
		 void *arg, struct fr_req *q)
{
	uint64_t len = p3l_send_length(l, s);
	int rc;

	s->whole = s->len == P3L_WHOLE;
	for (;;) {
		q->buf = NULL;
		if (len <= FR_COPY) {
			q->buf = room(arg, len);
			if (!q->buf)
				return FR_FULL;
		}
		s->len = len;
		rc = p3l_send_begin(env, l, s);
		if (rc != P3L_AGAIN)
			break;
		s->len = P3L_WHOLE;	/* another thread has updated the MD */
		len = p3l_send_length(l, s);
	}
	if (rc != PTL_OK)
		return rc;
	h->rlength = s->len;
	q->type = WIRE_PUT;
	q->h = *h;
	q->len = s->len;
	q->sending = !q->buf;
	if (q->buf) {
		take_bytes(l, s, q->buf);
		p3l_send_end(env, l, s, PTL_NI_OK);
	} else {
		q->send = *s;
	}
	return PTL_OK;
}

int fr_begin_get(const struct p3l_env *env, struct p3l_ni *l, struct p3l_hdr *h, struct p3l_reply *r, struct fr_req *q)
{
	bool xt;
	int rc = p3l_get_begin(env, l, r, &xt);

	if (rc != PTL_OK)
		return rc;
	if (xt)
		p3l_get_sent(env, l, r->md, r->off, r->mlength, h, PTL_NI_OK);
	h->rlength = r->rlength = r->mlength;
	q->type = WIRE_GET;
	q->h = *h;
	q->len = 0;
	q->buf = NULL;
	q->sending = false;
	q->reply = *r;
	return PTL_OK;
}

int fr_begin_getput(const struct p3l_env *env, struct p3l_ni *l, struct p3l_hdr *h, struct p3l_send *s,
		    struct p3l_reply *r, fr_room_t *room, void *arg, struct fr_req *q)
{
	int rc;

	q->buf = room(arg, WIRE_SWAP_MAX);
	if (!q->buf)
		return FR_FULL;
	rc = p3l_send_begin(env, l, s);
	if (rc == PTL_OK && s->len > WIRE_SWAP_MAX) {	/* the caller has asked; not for the NAL to trust */
		p3l_send_end(env, l, s, PTL_NI_FAIL);
		rc = PTL_MD_ILLEGAL;
	}
	if (rc != PTL_OK)
		return rc;
	h->rlength = r->rlength = r->mlength = s->len;
	q->type = h->type == P3L_GETPUT ? WIRE_GETPUT : WIRE_ATOMIC;
	q->h = *h;
	q->len = s->len;
	q->sending = false;
	q->reply = *r;
	take_bytes(l, s, q->buf);
	p3l_send_end(env, l, s, PTL_NI_OK);
	return PTL_OK;
}

void fr_never(const struct p3l_env *env, struct p3l_ni *l, uint32_t slot, struct fr_req *q)
{
	if (q->sending)
		p3l_send_end(env, l, &q->send, PTL_NI_DIED_NP);
	else if (q->type == WIRE_PUT && q->h.ack)
		p3l_ack_failed(env, l, (struct p3l_ref){ q->h.md, q->h.md_gen }, slot, q->h.pt, q->h.match_bits,
			       q->h.rlength, PTL_NI_DIED_NP);
	if (q->type != WIRE_PUT)
		gone_reply(env, l, slot, true, &q->reply, q->h.rlength);
}

/* @q becomes @m, whose bytes are in q->buf or in the MD. */
static void fill(struct fr_engine *e, struct fr_peer *p, const struct fr_req *q, struct fr_msg *m)
{
	request(e, p, (enum wire_type)q->type, &q->h, m);
	m->len = q->len;
	m->buf = q->buf;
	if (q->type != WIRE_PUT || q->h.ack) {
		m->h.md = q->h.md;
		m->h.md_gen = q->h.md_gen;
	}
	if (q->type == WIRE_ATOMIC)
		m->h.op = 1 + (uint32_t)q->h.type - P3L_FETCH;
	if (q->type != WIRE_PUT) {
		m->h.loffset = q->reply.off;
		m->reply = q->reply;
		m->reply.target_slot = p->slot;
		m->get_md = true;
	}
	if (q->sending) {
		m->send = q->send;
		m->sending = true;
		m->start = q->send.start;
		m->iov = q->send.iov;
		m->iov_n = q->send.iov_n;
		m->off = q->send.loff;
		m->direct = fr_direct(e, q->send.flags, m->start, m->iov, m->off, m->len);
	}
}

bool fr_post(struct fr_engine *e, struct fr_peer *p, const struct fr_req *q, uint32_t token)
{
	struct fr_msg *m;

	if (p->gone) {
		struct fr_req gone = *q;

		fr_never(&e->env, e->l, p->slot, &gone);
		e->logged = true;
		for (uint32_t n = fr_parts(q); n--;)
			e->ended(e->ended_arg, token);
		return true;
	}
	m = fr_msg_get(e, p);
	if (!m)
		return false;
	fill(e, p, q, m);
	m->token = token;
	call(e, p, m);
	return true;
}

struct fr_msg *fr_reserve(struct fr_engine *e, struct fr_peer *p, uint64_t len)
{
	struct fr_msg *m = fr_msg_get(e, p);

	if (!m || len > FR_COPY)
		return m;
	m->buf = fr_buf_get(e, p, m, len);
	if (m->buf)
		return m;
	fr_msg_put(e, p, m);
	return NULL;
}

void fr_unreserve(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m)
{
	fr_msg_put(e, p, m);
}

void fr_give(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m, const struct fr_req *q)
{
	struct fr_req gone = *q;

	if (p->gone) {
		fr_never(&e->env, e->l, p->slot, &gone);
		e->logged = true;
		fr_msg_put(e, p, m);
		return;
	}
	fill(e, p, q, m);
	call(e, p, m);
}

struct place {
	struct fr_engine *e;
	struct fr_peer *p;
	struct fr_msg *m;
};

/* In @m, in place of what an attempt before has taken. */
static uint8_t *room(void *arg, uint64_t len)
{
	struct place *o = arg;

	buf_put(o->e, o->p, o->m);
	o->m->buf = fr_buf_get(o->e, o->p, o->m, len);
	return o->m->buf;
}

int fr_put(struct fr_engine *e, struct fr_peer *p, struct p3l_hdr *h, struct p3l_send *s)
{
	struct place o = { e, p, NULL };
	struct fr_req q;
	int rc;

	if (p->gone)
		return fr_put_nowhere(&e->env, e->l, s);
	o.m = fr_msg_get(e, p);
	if (!o.m)
		return FR_FULL;
	rc = fr_begin_put(&e->env, e->l, h, s, room, &o, &q);
	if (rc != PTL_OK) {
		fr_msg_put(e, p, o.m);
		return rc;
	}
	if (!q.buf)			/* it has become longer since there was room for it */
		buf_put(e, p, o.m);
	fill(e, p, &q, o.m);
	call(e, p, o.m);
	return PTL_OK;
}

int fr_get(struct fr_engine *e, struct fr_peer *p, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct fr_msg *m;
	struct fr_req q;
	int rc;

	if (p->gone) {
		rc = fr_get_nowhere(&e->env, e->l, p->slot, p->open, h, r);
		if (rc == PTL_OK)
			gone_told(e);
		return rc;
	}
	m = fr_msg_get(e, p);
	if (!m)
		return FR_FULL;
	rc = fr_begin_get(&e->env, e->l, h, r, &q);
	if (rc != PTL_OK) {
		fr_msg_put(e, p, m);
		return rc;
	}
	fill(e, p, &q, m);
	call(e, p, m);
	return PTL_OK;
}

int fr_getput(struct fr_engine *e, struct fr_peer *p, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r)
{
	struct place o = { e, p, NULL };
	struct fr_req q;
	int rc;

	if (p->gone) {
		rc = fr_getput_nowhere(&e->env, e->l, p->slot, p->open, s, r);
		if (rc == PTL_OK)
			gone_told(e);
		return rc;
	}
	o.m = fr_msg_get(e, p);
	if (!o.m)
		return FR_FULL;
	rc = fr_begin_getput(&e->env, e->l, h, s, r, room, &o, &q);
	if (rc != PTL_OK) {
		fr_msg_put(e, p, o.m);
		return rc;
	}
	fill(e, p, &q, o.m);
	call(e, p, o.m);
	return PTL_OK;
}

/* ---- the end of a peer ---- */

/* Request @req of @p is answered and its answer taken, or dropped. */
void fr_finished(struct fr_peer *p, uint32_t req)
{
	p->done_bits |= (uint64_t)1 << (req - p->done);
	while (p->done_bits & 1) {
		p->done_bits >>= 1;
		p->done++;
	}
}

void fr_gone(struct fr_engine *e, struct fr_peer *p)
{
	if (p->gone)
		return;
	p->gone = true;
	for (struct fr_chan *c = p->ch; c < p->ch + 2; c++) {
		struct fr_msg *m;

		for (; c->base != c->next; c->base++) {
			m = c->out[c->base % FR_WINDOW].msg;
			if (--m->frames == 0 && m->made == m->len)	/* else the queue still has it */
				fr_end_msg(e, p, m, PTL_NI_DIED_NP);
		}
		while ((m = c->q) != NULL) {
			c->q = m->next;
			fr_end_msg(e, p, m, PTL_NI_DIED_NP);
		}
		c->q_end = &c->q;
		c->again_at = 0;
		c->nop = 0;
	}
	for (uint32_t i = 0; i < FR_REQS; i++) {
		struct fr_wait *w = &p->wait[i];

		if (w->state == FR_W_COMING) {
			p3l_reply_end(&e->env, e->l, &w->reply, PTL_NI_DIED_NP);
		} else if (w->state == FR_W_REPLY) {
			w->reply.mlength = 0;
			if (p3l_reply_begin(&e->env, e->l, &w->reply))
				p3l_reply_end(&e->env, e->l, &w->reply, PTL_NI_DIED_NP);
		} else if (w->state == FR_W_ACK) {
			p3l_ack_failed(&e->env, e->l, w->md, p->slot, w->pt, w->match_bits, w->rlength, PTL_NI_DIED_NP);
		}
		fr_wait_done(e, w);
	}
	if (p->ch[FR_REQUEST].in.on && p->ch[FR_REQUEST].in.op) {
		p3l_target_end(&e->env, e->l, fr_op(e, p->ch[FR_REQUEST].in.op), PTL_NI_DIED_NP);
		e->ops--;
	}
	p->ch[0].in.on = p->ch[1].in.on = p->ch[0].part.on = p->ch[1].part.on = false;
	p->coming = 0;
	p->tell_at = p->ask_at = 0;
	p->tell = false;
	e->logged = true;
}

bool fr_idle(const struct fr_peer *p)
{
	if (p->gone || !p->open)
		return true;
	for (const struct fr_chan *c = p->ch; c < p->ch + 2; c++)
		if (c->base != c->next || c->q || c->in.on)
			return false;
	return p->req_done == p->req_next && p->done == p->want && !p->untold && p->told_done == p->done;
}

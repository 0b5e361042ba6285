/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * vb_bulk.c - long frames: the receiver's card reads them from the sender's memory into that of its user
 *
 * A message with VB_LONG in its length has a frame's header, and behind it where the payload stands:
 *
 *	number of pieces(4), then of each: address(8) length(4) key(4)
 *
 * The receiver begins with the header (the frame is matched), asks where the bytes are wanted, and reads them there;
 * the bytes of a frame that is wanted nowhere, or where no card can write, are read into a place of our own and given
 * away from there. Messages behind it wait for it. It counts as taken when the bytes are there: until then the sender
 * keeps its memory registered, and lets no frame of the same user go, whose end would say that the memory was read.
 *
 * A queue pair that breaks meanwhile: nothing of the message has been taken, and it comes again, registered anew.
 */
#include "config.h"

#include "vb.h"

#include <errno.h>
#include <string.h>

static void put32(uint8_t *p, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(x >> 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- the sender ---- */

static void release(struct vb_peer *p, struct vb_bulk *o, bool bad)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->reg[i])
			vb_reg_put(p->v, o->reg[i], bad);
	o->n = 0;
}

/* Bytes that no card takes from where they are: from a place of our own. One message at a time. */
static bool stage(struct vb_peer *p, struct vb_bulk *o)
{
	uint8_t *b;

	for (struct vb_bulk *other = p->bulk; other < p->bulk + VB_BULKS; other++)
		if (other->on && other->staged)
			return false;
	if (!p->stage)
		p->stage = vb_memory(WIRE_BULK);
	if (p->stage && !p->stage_mr)
		p->stage_mr = vb_lib.reg_mr(p->v->pd, p->stage, WIRE_BULK,
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!p->stage_mr) {
		vb_broken(p, IBV_WC_LOC_PROT_ERR);	/* as often as one may try, then this is the end */
		return false;
	}
	b = p->stage;
	for (uint32_t i = 0; i < o->pieces; b += o->v[i++].len)
		memcpy(b, o->v[i].at, o->v[i].len);
	o->v[0] = (struct wire_vec){ p->stage, (size_t)(b - p->stage) };
	o->pieces = 1;
	o->staged = true;
	return true;
}

/* Its pieces, registered, behind the header in @b: bytes there; 0: they cannot be. */
static uint32_t describe(struct vb_peer *p, struct vb_bulk *o, uint8_t *b)
{
	for (o->n = 0; o->n < o->pieces; o->n++) {
		const struct wire_vec *w = &o->v[o->n];
		struct vb_reg *r = o->staged ? NULL : vb_reg_get(p->v, w->at, w->len);
		uint8_t *d = b + WIRE_HDR + 4 + o->n * 16;

		if (!r && !o->staged) {
			release(p, o, false);
			return 0;
		}
		o->reg[o->n] = r;
		put32(d, (uint32_t)(uintptr_t)w->at);
		put32(d + 4, (uint32_t)((uintptr_t)w->at >> 32));
		put32(d + 8, (uint32_t)w->len);
		put32(d + 12, r ? r->mr->rkey : p->stage_mr->rkey);
	}
	put32(b + WIRE_HDR, o->n);
	return WIRE_HDR + 4 + o->n * 16;
}

bool vb_bulk_of(const struct vb_peer *p, const void *whose)
{
	for (uint32_t i = 0; i < VB_BULKS; i++)
		if (p->bulk[i].on && p->bulk[i].whose == whose)
			return true;
	return false;
}

uint32_t vb_bulk_make(struct vb_peer *p, const struct wire_frame *f, uint8_t *b)
{
	struct vb_bulk *o = p->bulk;
	uint32_t n;

	while (o < p->bulk + VB_BULKS && o->on)
		o++;
	if (o == p->bulk + VB_BULKS || f->n > VB_PIECES)
		return 0;
	*o = (struct vb_bulk){ .number = p->next, .whose = f->whose, .pieces = f->n };
	memcpy(o->v, f->v, f->n * sizeof(*f->v));
	memcpy(b, f->hdr, WIRE_HDR);
	n = describe(p, o, b);
	if (!n && f->len > WIRE_PAYLOAD && stage(p, o))
		n = describe(p, o, b);
	if (!n)
		return 0;
	o->on = true;
	p->v->bulks++;
	return n | VB_LONG;
}

/* The other side has taken all before p->acked. */
void vb_bulk_acked(struct vb_peer *p)
{
	for (struct vb_bulk *o = p->bulk; o < p->bulk + VB_BULKS; o++)
		if (o->on && wire_before(o->number, p->acked)) {
			release(p, o, false);
			o->on = false;
		}
}

/* Message @number goes again, over another queue pair: perhaps the last has failed by its memory. False: no more. */
bool vb_bulk_again(struct vb_peer *p, uint32_t number)
{
	for (struct vb_bulk *o = p->bulk; o < p->bulk + VB_BULKS; o++)
		if (o->on && o->number == number) {
			release(p, o, true);
			o->on = describe(p, o, p->slot + (size_t)(number % p->v->depth) * VB_SLOT + VB_LINK) != 0;
			return o->on;
		}
	return false;
}

/* ---- the receiver ---- */

static bool bounce(struct vb_peer *p)
{
	if (!p->bounce) {
		p->bounce = vb_memory(WIRE_HDR + WIRE_BULK);
		if (p->bounce)
			p->bounce_mr = vb_lib.reg_mr(p->v->pd, p->bounce, WIRE_HDR + WIRE_BULK,
						     IBV_ACCESS_LOCAL_WRITE);
	}
	return p->bounce_mr;
}

/* The next @n bytes of what is read to @at. */
static bool read_to(struct vb_peer *p, void *at, uint32_t lkey, uint64_t n)
{
	struct vb_come *c = &p->come;

	while (n) {
		uint32_t left = c->range[c->at].len - c->off, k = n < left ? (uint32_t)n : left;
		struct ibv_sge sge = { (uintptr_t)at, k, lkey };
		struct ibv_send_wr wr = { .wr_id = VB_READ | (uint64_t)p->rank << 32 | (p->epoch & 0xff) << 24,
			.num_sge = 1, .sg_list = &sge, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED };
		struct ibv_send_wr *bad;

		wr.wr.rdma.remote_addr = c->range[c->at].addr + c->off;
		wr.wr.rdma.rkey = c->range[c->at].rkey;
		if (ibv_post_send(p->qp, &wr, &bad))
			return false;
		c->reads++;
		c->round += k;
		c->off += k;
		if (c->off == c->range[c->at].len) {
			c->at++;
			c->off = 0;
		}
		at = (char *)at + k;
		n -= k;
	}
	return true;
}

static void regs_put(struct vb_peer *p, bool bad)
{
	for (uint32_t i = 0; i < p->come.n_reg; i++)
		vb_reg_put(p->v, p->come.reg[i], bad);
	p->come.n_reg = 0;
}

/* Read as much as there is a place for. False: the queue pair is broken. */
static bool round_(struct vb_peer *p)
{
	struct verbs *v = p->v;
	struct vb_come *c = &p->come;
	struct wire_vec w[VB_PIECES];
	uint32_t n = c->whole ? 0 : v->user->where(v->ctx, c->part, w, VB_PIECES);

	c->round = 0;
	for (c->n_reg = 0; c->n_reg < n; c->n_reg++) {
		c->reg[c->n_reg] = vb_reg_get(v, w[c->n_reg].at, w[c->n_reg].len);
		if (!c->reg[c->n_reg]) {
			regs_put(p, false);
			n = 0;
			break;
		}
	}
	c->bounced = !n;
	ibv_req_notify_cq(v->sends, 0);		/* before: the loop may sleep when it comes */
	if (!n)
		return bounce(p) && read_to(p, p->bounce + WIRE_HDR, p->bounce_mr->lkey, c->total - c->got);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t left = c->total - c->got - c->round;

		if (!read_to(p, w[i].at, c->reg[i]->mr->lkey, w[i].len < left ? w[i].len : left))
			return false;
	}
	return true;
}

enum vb_long vb_come_begin(struct vb_peer *p, const uint8_t *b, uint32_t n, uint32_t buf)
{
	struct verbs *v = p->v;
	struct vb_come *c = &p->come;
	uint32_t pieces = n >= WIRE_HDR + 4 ? get32(b + WIRE_HDR) : 0, whole = wire_frame_len(b);
	int way;

	if (!pieces || pieces > VB_PIECES || n != WIRE_HDR + 4 + pieces * 16 || !whole)
		return VB_WRONG;
	*c = (struct vb_come){ .buf = buf, .pieces = pieces };
	for (uint32_t i = 0; i < pieces; i++) {
		const uint8_t *d = b + WIRE_HDR + 4 + i * 16;

		c->range[i].addr = get32(d) | (uint64_t)get32(d + 4) << 32;
		c->range[i].len = get32(d + 8);
		c->range[i].rkey = get32(d + 12);
		if (!c->range[i].len || c->range[i].len > WIRE_BULK)
			return VB_WRONG;
		c->total += c->range[i].len;
	}
	if (c->total != whole - WIRE_HDR)
		return VB_WRONG;
	way = v->user->begin(v->ctx, p->rank, b, &c->part);
	if (way == TCP_NO)
		return VB_WRONG;
	c->whole = way == TCP_WHOLE;
	c->on = true;
	if (!round_(p))
		vb_broken(p, IBV_WC_LOC_QP_OP_ERR);
	return VB_COMING;
}

/* One of the reads has ended well. */
enum vb_long vb_come_read(struct vb_peer *p)
{
	struct verbs *v = p->v;
	struct vb_come *c = &p->come;

	if (!c->on || --c->reads)
		return VB_COMING;
	regs_put(p, false);
	c->got += c->round;
	if (c->whole) {
		memcpy(p->bounce, v->recv + (size_t)c->buf * VB_SLOT + VB_LINK, WIRE_HDR);
		if (!v->stopping && !v->user->frame(v->ctx, p->rank, p->bounce, WIRE_HDR + c->total))
			return VB_WRONG;
	} else if (!v->stopping) {
		v->user->piece(v->ctx, c->part, c->bounced ? p->bounce + WIRE_HDR : NULL, c->round);
	}
	if (c->got == c->total)
		return VB_THERE;
	if (!v->stopping && !p->broken && !round_(p))
		vb_broken(p, IBV_WC_LOC_QP_OP_ERR);
	return VB_COMING;
}

/* Behind the end of the queue pair: what was coming has not been taken, nor what waits behind it. */
void vb_come_drop(struct vb_peer *p)
{
	if (p->come.on) {
		regs_put(p, true);		/* perhaps by one of these */
		vb_post_recv(p->v, p->come.buf);
	}
	p->come.on = false;
	while (p->n_held)
		vb_post_recv(p->v, p->held[--p->n_held].buf);
}

void vb_bulk_end(struct vb_peer *p)
{
	for (struct vb_bulk *o = p->bulk; o < p->bulk + VB_BULKS; o++)
		if (o->on)
			release(p, o, false);
	if (p->stage_mr)
		vb_lib.dereg_mr(p->stage_mr);
	if (p->stage)
		vb_memory_free(p->stage, WIRE_BULK);
	if (p->bounce_mr)
		vb_lib.dereg_mr(p->bounce_mr);
	if (p->bounce)
		vb_memory_free(p->bounce, WIRE_HDR + WIRE_BULK);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * frame_env.h - nodes of one process each, joined by the loopback network: the core, the engine and the net, and
 * nothing else
 */
#ifndef T_FRAME_ENV_H
#define T_FRAME_ENV_H

#include "core_env.h"
#include "../../nal/loop/loop.h"

#define F_MAX 4
#define F_PT 3
#define F_RTO 200000
#define F_DELAY 20000

struct node {
	struct p3l_ni *l;
	struct p3l_env env;
	struct fr_engine *e;
	struct fr_peer *peer[F_MAX];	/* by number of the other node */
	uint32_t eq;			/* queue, index */
	struct p3l_ref eq_ref;
	unsigned woken;
};

static struct node node[F_MAX];
static struct loop_net net;
static struct loop_end ends[F_MAX][F_MAX][2];
static unsigned nodes;
static uint64_t f_hole_from, f_hole_to;		/* memory that is "not there" */
static uint32_t f_bulk = WIRE_BULK;		/* of a stream's frames */

__attribute__((unused)) static bool f_copy(struct fr_engine *e, bool to, uint64_t addr, void *buf,
					   uint64_t len, bool direct)
{
	if (!direct && addr < f_hole_to && addr + len > f_hole_from)
		return false;
	if (!buf)
		return true;
	if (to)
		memcpy((void *)(uintptr_t)addr, buf, len);
	else
		memcpy(buf, (const void *)(uintptr_t)addr, len);
	return true;
}

__attribute__((unused)) static void f_wake(void *arg)
{
	((struct node *)arg)->woken++;
}

__attribute__((unused)) static ptl_process_id_t f_id(unsigned i)
{
	return (ptl_process_id_t){ 10 + i, 100 + i };
}

__attribute__((unused)) static void f_start_size(unsigned n, const struct loop_inject *inject, uint32_t eq_size)
{
	nodes = n;
	loop_init(&net, inject);
	for (unsigned i = 0; i < n; i++) {
		struct node *d = &node[i];
		struct p3l_setup s = c_setup();

		*d = (struct node){ 0 };
		s.nid = 10 + i;
		s.pid = 100 + i;
		s.n_slots = 1;
		s.max_md = s.max_me = 512;
		s.max_me_list = 512;
		s.space = 4 << 20;
		d->l = c_region(&s);
		d->env = c_env(0, false);
		d->e = calloc(1, sizeof(*d->e));
		fr_init(d->e, d->l, &d->env, inject->stream ? &loop_stream : &loop_link, &net, F_RTO, F_DELAY);
		d->e->raw = inject->stream;
		d->e->bulk = inject->stream ? f_bulk : 0;
		d->e->copy = f_copy;
		d->e->wake = f_wake;
		d->e->wake_arg = d;
		loop_attach(&net, d->e);
		if (p3l_eq_alloc(&d->env, d->l, eq_size, &d->eq_ref) != PTL_OK)
			bail("no queue");
		d->eq = d->eq_ref.idx;
	}
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < n; j++) {
			node[i].peer[j] = calloc(1, sizeof(struct fr_peer));
			fr_open(node[i].e, node[i].peer[j], f_id(j), C_UID, C_JID, 1 + j);
		}
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = i; j < n; j++)
			loop_join(&net, ends[i][j], node[i].e, node[i].peer[j], node[j].e, node[j].peer[i]);
}

__attribute__((unused)) static void f_start(unsigned n, const struct loop_inject *inject)
{
	f_start_size(n, inject, 256);
}

__attribute__((unused)) static void f_end(void)
{
	loop_fini(&net);
	for (unsigned i = 0; i < nodes; i++) {
		for (unsigned j = 0; j < nodes; j++)
			free(node[i].peer[j]);
		free(node[i].e);
		c_free(node[i].l);
	}
}

/* Until nothing is left to happen. */
__attribute__((unused)) static bool f_run(void)
{
	for (unsigned long i = 0; i < 20000000; i++)
		if (!loop_step(&net))
			return true;
	return false;
}

__attribute__((unused)) static struct p3l_ref f_bind(unsigned i, void *p, uint64_t len, int threshold, unsigned options,
						     ptl_unlink_t op, bool log)
{
	ptl_md_t md = c_md((uintptr_t)p, len, threshold, options);
	struct p3l_md_args a = c_args(&md, log ? &node[i].eq_ref : NULL);
	struct p3l_ref out = { ~0u, 0 };

	if (p3l_md_bind(&node[i].env, node[i].l, &a, op, &out) != PTL_OK)
		bail("no descriptor");
	return out;
}

__attribute__((unused)) static struct p3l_ref f_post_at(unsigned i, uint32_t pt, uint64_t bits, void *p, uint64_t len,
							int threshold, unsigned options, bool log)
{
	ptl_md_t md = c_md((uintptr_t)p, len, threshold, options);
	struct p3l_md_args a = c_args(&md, log ? &node[i].eq_ref : NULL);
	struct p3l_ref me, out;

	if (p3l_me_attach(&node[i].env, node[i].l, pt, C_ANY, bits, 0, PTL_UNLINK, PTL_INS_AFTER, &me) != PTL_OK ||
	    p3l_md_attach(&node[i].env, node[i].l, me, &a, PTL_UNLINK, &out) != PTL_OK)
		bail("no entry");
	return out;
}

__attribute__((unused)) static struct p3l_ref f_post(unsigned i, uint64_t bits, void *p, uint64_t len, int threshold,
						     unsigned options)
{
	return f_post_at(i, F_PT, bits, p, len, threshold, options, true);
}

__attribute__((unused)) static struct p3l_hdr f_hdr(unsigned i, enum p3l_type type, uint32_t pt, uint64_t bits)
{
	return (struct p3l_hdr){ .type = (uint8_t)type, .src = 0, .nid = 10 + i, .pid = 100 + i, .uid = C_UID,
				 .jid = C_JID, .pt = pt, .match_bits = bits };
}

__attribute__((unused)) static int f_put_at(unsigned from, unsigned to, struct p3l_ref md, uint64_t off, uint64_t len,
					    bool ack, uint32_t pt, uint64_t bits, uint64_t hdr_data, uint64_t roffset)
{
	struct p3l_hdr h = f_hdr(from, P3L_PUT, pt, bits);
	struct p3l_send s = { .md = md, .loff = off, .len = len, .match_bits = bits, .hdr_data = hdr_data, .pt = pt };

	h.ack = ack;
	h.md = md.idx;
	h.md_gen = md.gen;
	h.hdr_data = hdr_data;
	h.roffset = roffset;
	node[from].e->now = net.now;
	return fr_put(node[from].e, node[from].peer[to], &h, &s);
}

__attribute__((unused)) static int f_put(unsigned from, unsigned to, struct p3l_ref md, uint64_t len, bool ack,
					 uint64_t bits, uint64_t hdr_data)
{
	return f_put_at(from, to, md, 0, len, ack, F_PT, bits, hdr_data, 0);
}

__attribute__((unused)) static int f_get(unsigned from, unsigned to, struct p3l_ref md, uint64_t off, uint64_t len,
					 uint64_t bits, uint64_t roffset)
{
	struct p3l_hdr h = f_hdr(from, P3L_GET, F_PT, bits);
	struct p3l_reply r = { .md = md, .off = off, .mlength = len, .match_bits = bits, .pt = F_PT };

	h.md = md.idx;
	h.md_gen = md.gen;
	h.roffset = roffset;
	node[from].e->now = net.now;
	return fr_get(node[from].e, node[from].peer[to], &h, &r);
}

/* @type: an exchange, or an atomic operation with @other as its second operand. */
__attribute__((unused)) static int f_step(unsigned from, unsigned to, enum p3l_type type, struct p3l_ref get,
					  struct p3l_ref put, uint64_t len, uint64_t bits, uint64_t roffset,
					  uint64_t other)
{
	struct p3l_hdr h = f_hdr(from, type, F_PT, bits);
	struct p3l_send s = { .md = put, .len = len, .match_bits = bits, .pt = F_PT };
	struct p3l_reply r = { .md = get, .match_bits = bits, .pt = F_PT };

	h.md = get.idx;
	h.md_gen = get.gen;
	h.roffset = roffset;
	node[from].e->now = net.now;
	h.hdr_data = other;
	return fr_getput(node[from].e, node[from].peer[to], &h, &s, &r);
}

__attribute__((unused)) static int f_getput(unsigned from, unsigned to, struct p3l_ref get, struct p3l_ref put,
					    uint64_t len, uint64_t bits, uint64_t roffset)
{
	return f_step(from, to, P3L_GETPUT, get, put, len, bits, roffset, 0);
}

/* The next event of a node's queue; false: none. */
__attribute__((unused)) static bool f_event(unsigned i, struct p3l_slot *ev)
{
	return p3l_eq_read(&node[i].env, node[i].l, node[i].eq, ev, true) != 0;
}

__attribute__((unused)) static unsigned f_free_msgs(unsigned i)
{
	unsigned n = 0;

	for (struct fr_msg *m = node[i].e->free_msgs; m; m = m->next)
		n++;
	return n;
}

__attribute__((unused)) static unsigned f_free_bufs(unsigned i)
{
	unsigned n = 0;
	uint8_t *b = node[i].e->free_bufs;

	for (; b && n <= FR_BUFS; n++)
		memcpy(&b, b, sizeof(uint8_t *));
	return n;
}

/* Nothing is held: pools are whole, no record is in use, no descriptor has an operation in progress. */
__attribute__((unused)) static bool f_clean(unsigned i)
{
	struct node *d = &node[i];
	bool good = f_free_msgs(i) == FR_MSGS && f_free_bufs(i) == FR_BUFS && !d->e->ops && c_pools_ok(d->l);

	for (unsigned k = 0; k < P3L_OPS; k++)
		good &= p3l_row(d->l, 0)->op[k].state == P3L_OP_IDLE;
	for (uint32_t k = 0; k < d->l->max_md; k++)
		good &= !(p3l_md(d->l, k)->flags & P3L_MD_USED) || !p3l_md(d->l, k)->pending;
	for (unsigned j = 0; j < nodes; j++)
		good &= fr_idle(d->peer[j]);
	return good;
}

#endif

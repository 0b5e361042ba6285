/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap_side.c - running the frame engines of a node, in ptl-nic and in ranks that poll; see ap_side.h
 *
 *	rings --ap_take_calls()--> fr_engine of the rank --> link_send() ----> tcp --> the other node
 *	lists <--core------------- fr_engine of the rank <-- ap_on_frame() <-- tcp <--
 *
 * It allocates nothing that grows with traffic: calls stand in the ranks' rings, frames that wait for a rank in the
 * card, all bounded.
 */
#include "config.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ap_side.h"
#include "smartmap.h"

#define ROOT_NI 0			/* what nal/smartmap publishes */

int64_t ap_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- the frame engines' surroundings ---- */

static struct ap_near *near_of(const struct fr_engine *e)
{
	return e->wake_arg;
}

static bool copy(struct fr_engine *e, bool to, uint64_t addr, void *buf, uint64_t len, bool direct)
{
	const struct ap_near *k = near_of(e);
	void *at = (void *)(uintptr_t)(e->mask ? e->window | (addr & e->mask) : addr);

	if (!direct && (int)k->i == k->side->self)
		return k->side->own_copy(to, addr, buf, len);
	if (!direct)
		return !(to ? smartmap_write((int)k->i, (void *)(uintptr_t)addr, buf, len) :
			      smartmap_read((int)k->i, buf, (const void *)(uintptr_t)addr, len));
	if (to)
		smartmap_copy(at, buf, len);
	else
		smartmap_copy(buf, at, len);
	return true;
}

static bool reaches(struct fr_engine *e, uint64_t addr, uint64_t len)
{
	const struct ap_near *k = near_of(e);

	return (int)k->i == k->side->self ? smartmap_adopted((const void *)(uintptr_t)addr, len) :
	       smartmap_reachable((int)k->i, (const void *)(uintptr_t)addr, len);
}

void ap_wake(struct p3l_ni *l)
{
	p3_fence();				/* M:sleep.fence */
	if (p3_load(&l->sleeping) && p3_xchg(&l->sleeping, 0))
		syscall(SYS_futex, &l->sleeping, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void wake(void *arg)
{
	ap_wake(((struct ap_near *)arg)->l);
}

static void *more(void *arg)
{
	return ap_card_get(((struct ap_near *)arg)->side->card, FR_BLOCK);
}

static void ended(void *arg, uint32_t token)
{
	ap_ended(((struct ap_near *)arg)->ring, token - 1);
}

static bool park(struct fr_engine *e, struct fr_peer *p, const uint8_t *frame, uint32_t n)
{
	struct ap_near *k = near_of(e);

	if (!ap_park(k->side->card, k->i, p, frame, n))
		return false;
	if ((int)k->i != k->side->self)
		wake(k);
	return true;
}

static int link_send(void *ctx, struct fr_peer *p, const uint8_t *hdr, const void *payload, uint32_t len)
{
	struct ap_side *s = ctx;

	s->busy = s->now;
	return transport_send(s->net, ((const struct ap_far *)p->link)->node, hdr, payload, len);
}

static uint32_t link_send_some(void *ctx, struct fr_peer *p, const struct wire_frame *f, uint32_t n, bool *fault)
{
	struct ap_side *s = ctx;

	s->busy = s->now;
	return transport_send_some(s->net, ((const struct ap_far *)p->link)->node, f, n, fault);
}

static const struct fr_link side_link = { .send = link_send, .send_some = link_send_some, .breaks = true };

/* A rank touches its own frame engine only: should it die amid that, the others have lost nothing. */
static bool ap_mine(const struct ap_side *s, uint32_t i)
{
	return s->card->rank[i].served && (s->self < 0 || (int)i == s->self);
}

struct fr_engine *ap_engine(struct ap_side *s, uint32_t i)
{
	struct ap_rank *r = &s->card->rank[i];
	struct ap_near *k = &s->near[i];
	struct fr_engine *e = r->e;

	k->touched = true;
	e->now = s->now;
	if (p3_likely(r->set_by == s->id))
		return e;
	r->set_by = s->id;
	e->l = k->l;
	e->env = s->env;
	e->link = &side_link;
	e->ctx = s;
	e->copy = copy;
	e->reaches = reaches;
	e->wake = wake;
	e->wake_arg = k;
	e->more = more;
	e->more_arg = k;
	e->ended = ended;
	e->ended_arg = k;
	e->park = park;
	e->owner = s->owner;
	e->window = smartmap_view_.window[i];
	e->mask = (int)i == s->self ? 0 : smartmap_view_.mask;
	e->bulk = s->card->link ? 0 : s->net->ops->bulk;	/* a link's turn is a frame */
	return e;
}

/* ---- ranks ---- */

bool ap_side_open(struct ap_side *s, struct ap_card *card, uint32_t id, const struct p3l_env *env,
		  const struct transport *net)
{
	*s = (struct ap_side){ .card = card, .id = id, .self = id == AP_NIC ? -1 : (int)id - 1, .env = *env,
			       .net = net };
	s->env.self = card->n_local + 1;
	s->env.single = false;
	s->near = calloc(card->n_local, sizeof(*s->near));
	for (uint32_t i = 0; s->near && i < card->n_local; i++)
		s->near[i] = (struct ap_near){ .side = s, .i = i };
	return s->near;
}

void ap_side_close(struct ap_side *s)
{
	free(s->near);
	s->near = NULL;
}

struct p3l_ni *ap_region(uint32_t i, uint32_t n)
{
	struct p3l_ni *l;
	uint64_t mask, at;

	if (smartmap_attach((int)i))
		return NULL;
	mask = smartmap_view_.mask;
	at = (uintptr_t)smartmap_lookup((int)i, ROOT_NI);
	l = at ? smartmap_remote((int)i, (void *)(uintptr_t)at) : NULL;
	return l && p3l_ni_sane(l, mask + 1 - (at & mask)) && l->slot == i && l->n_slots == n + 1 ? l : NULL;
}

bool ap_near_open(struct ap_side *s, uint32_t i)
{
	struct ap_near *k = &s->near[i];
	uint64_t mask;

	k->l = ap_region(i, s->card->n_local);
	mask = smartmap_view_.mask;
	if (!k->l || mask + 1 - (s->card->rank[i].ring & mask) < sizeof(*k->ring))
		return false;
	k->ring = smartmap_remote((int)i, (void *)(uintptr_t)s->card->rank[i].ring);
	return true;
}

/* What is at @at in the ring @g, in the terms of its owner, who has it at @ring. */
static uint8_t *owners(uint64_t ring, const struct ap_ring *g, const uint8_t *at)
{
	return (uint8_t *)(uintptr_t)(ring + (uint64_t)(at - (const uint8_t *)g));
}

void ap_take_calls(struct ap_side *s, uint32_t i)
{
	struct ap_card *c = s->card;
	struct ap_ring *g = s->near[i].ring;
	uint32_t tail = p3_load_acq(&g->tail), head = g->head;
	struct fr_engine *e;

	if (tail == head || tail - head > AP_OPS)	/* nothing; or nonsense, by whoever can write there */
		return;
	e = ap_engine(s, i);
	for (; head != tail; head++) {
		uint32_t op = g->call[head % AP_OPS];
		struct ap_op *o = &g->op[op % AP_OPS];
		struct fr_peer *p;

		if (op >= AP_OPS || o->far >= c->n_far)
			continue;
		p = ap_card_peer(c, i, o->far);
		if (!p)
			break;
		o->q.buf = NULL;
		if (o->q.len && !o->q.sending)
			o->q.buf = owners(c->rank[i].ring, g, o->buf ? g->bufs[(o->buf - 1) % AP_BUFS] : o->small);
		if (!fr_post(e, p, &o->q, op + 1))
			break;
		s->busy = s->now;
		c->calls++;
	}
	if (head != g->head)
		p3_store_rel(&g->head, head);
}

void ap_after_ranks(struct ap_side *s)
{
	struct ap_card *c = s->card;

	if (s->self < 0)
		c->kick = false;
	for (uint32_t i = 0; i < c->n_local; i++) {
		if (!ap_mine(s, i) || c->rank[i].set_by)
			continue;
		for (uint32_t f = 0; f < c->n_far; f++)
			if (c->rank[i].peer[f])
				fr_writable(ap_engine(s, i), c->rank[i].peer[f]);
	}
}

/* ---- frames, and the end of processes ---- */

void ap_say_bye(struct ap_side *s, uint32_t node, uint32_t i)
{
	uint8_t *due = &s->card->bye[node * s->card->n_local + i];

	if (*due == AP_BYE_NONE)
		*due = AP_BYE_DUE;
	s->due = true;
}

/* The destination is nobody: it is for all who know the source. */
void ap_byes(struct ap_side *s, uint32_t node)
{
	for (uint32_t i = 0; i < s->card->n_local; i++) {
		uint8_t *due = &s->card->bye[node * s->card->n_local + i], bytes[WIRE_HDR];
		const struct ap_rank *r = &s->card->rank[i];
		struct wire_hdr h = { .type = WIRE_NOP, .flags = WIRE_F_BYE, .md = WIRE_NO_MD, .src_nid = r->nid,
				      .src_pid = r->pid, .src_uid = r->uid, .jid = r->jid };

		if (*due != AP_BYE_DUE)
			continue;
		wire_encode(&h, bytes);
		if (transport_send(s->net, node, bytes, NULL, 0))
			return;
		*due = AP_BYE_SAID;
	}
}

void ap_far_gone(struct ap_side *s, uint32_t f)
{
	p3_store(&s->card->far[f].gone, 1);
	for (uint32_t i = 0; i < s->card->n_local; i++)
		if (s->card->rank[i].served && s->card->rank[i].peer[f])
			fr_gone(ap_engine(s, i), s->card->rank[i].peer[f]);
	ap_side_flush(s);
}

/*
 * Whose frame is this, of @node: FR_WHOLE, and the rank in *@i and the far process in *@far; FR_PIECES: somebody's who
 * is not here (any more); FR_NO: nobody's.
 */
static enum fr_way whose(struct ap_side *s, uint32_t node, const struct wire_ids *ids, uint32_t *i, uint32_t *far)
{
	struct ap_card *c = s->card;
	int f = ap_far_find(c, (ptl_process_id_t){ .nid = ids->src_nid, .pid = ids->src_pid });

	if (f < 0 || c->far[f].node != node)
		return FR_NO;		/* nobody there has this name */
	*far = (uint32_t)f;
	for (*i = 0; *i < c->n_local; ++*i) {
		if (c->rank[*i].pid != ids->dst_pid)
			continue;
		if (c->rank[*i].served)
			return FR_WHOLE;
		ap_say_bye(s, node, *i);
		return FR_PIECES;
	}
	return FR_NO;
}

bool ap_on_frame(void *ctx, uint32_t node, const uint8_t *bytes, uint32_t n)
{
	struct ap_side *s = ctx;
	struct ap_card *c = s->card;
	struct wire_ids ids;
	struct fr_peer *p;
	uint32_t i, far;
	enum fr_way way;

	s->busy = s->now;
	c->frames++;
	wire_ids(bytes, &ids);
	if (ids.flags & WIRE_F_BYE) {
		struct wire_hdr h;
		int f = ap_far_find(c, (ptl_process_id_t){ .nid = ids.src_nid, .pid = ids.src_pid });

		if (f < 0 || c->far[f].node != node || wire_decode(bytes, n, &h) != WIRE_OK)
			return false;
		ap_far_gone(s, (uint32_t)f);
		return true;
	}
	way = whose(s, node, &ids, &i, &far);
	if (way != FR_WHOLE)
		return way == FR_PIECES;
	p = ap_card_peer(c, i, far);
	return p && fr_input(ap_engine(s, i), p, bytes, n);
}

/* A frame that comes in pieces is known by the rank that it is for, and the far process that it is from. */
int ap_on_begin(void *ctx, uint32_t node, const uint8_t *hdr, uint64_t *part)
{
	struct ap_side *s = ctx;
	struct wire_ids ids;
	struct fr_peer *p;
	uint32_t i, far;
	enum fr_way way;

	s->busy = s->now;
	s->card->frames++;
	wire_ids(hdr, &ids);
	way = whose(s, node, &ids, &i, &far);
	*part = ~0ull;
	if (way != FR_WHOLE)
		return (int)way;
	*part = (uint64_t)i << 32 | far;
	p = ap_card_peer(s->card, i, far);
	return p ? (int)fr_begin(ap_engine(s, i), p, hdr) : TCP_NO;
}

/* NULL: its rank has left. */
static struct fr_peer *part_peer(struct ap_side *s, uint64_t part, struct fr_engine **e)
{
	uint32_t i = (uint32_t)(part >> 32);

	s->busy = s->now;
	if (i >= s->card->n_local || !s->card->rank[i].served)
		return NULL;
	*e = ap_engine(s, i);
	return s->card->rank[i].peer[(uint32_t)part];
}

uint32_t ap_on_where(void *ctx, uint64_t part, struct wire_vec *v, uint32_t max)
{
	struct fr_engine *e;
	struct fr_peer *p = part_peer(ctx, part, &e);

	return p ? fr_where(e, p, v, max) : 0;
}

void ap_on_piece(void *ctx, uint64_t part, const uint8_t *bytes, uint32_t n)
{
	struct fr_engine *e;
	struct fr_peer *p = part_peer(ctx, part, &e);

	if (p)
		fr_piece(e, p, bytes, n);
}

void ap_on_unplaced(void *ctx, uint64_t part)
{
	struct fr_engine *e;
	struct fr_peer *p = part_peer(ctx, part, &e);

	if (p)
		fr_unplaced(p);
}

void ap_on_fault(void *ctx, void *whose_, uint64_t tag)
{
	fr_fault(whose_, tag);
}

bool ap_on_ours(void *ctx, const uint8_t *hdr)
{
	struct ap_side *s = ctx;
	struct wire_ids ids;

	wire_ids(hdr, &ids);
	if (!(ids.flags & WIRE_F_BYE) && ids.dst_pid == s->card->rank[s->self].pid)
		return true;
	for (uint32_t i = 0; i < s->card->n_local; i++)
		if (s->card->rank[i].pid == ids.dst_pid && p3_load(&s->card->rank[i].polls))
			return false;		/* it comes for it */
	s->due = true;
	return false;
}

bool ap_on_ours_part(void *ctx, uint64_t part)
{
	struct ap_side *s = ctx;
	uint32_t i = (uint32_t)(part >> 32);

	if ((int)i == s->self)
		return true;
	s->due |= i >= s->card->n_local || !p3_load(&s->card->rank[i].polls);
	return false;
}

void ap_on_writable(void *ctx, uint32_t node)
{
	struct ap_side *s = ctx;
	struct ap_card *c = s->card;

	if (s->self < 0)
		ap_byes(s, node);
	for (uint32_t i = 0; i < c->n_local; i++)
		for (uint32_t f = 0; ap_mine(s, i) && f < c->n_far; f++)
			if (c->far[f].node == node && c->rank[i].peer[f])
				fr_writable(ap_engine(s, i), c->rank[i].peer[f]);
}

void ap_side_flush(struct ap_side *s)
{
	for (uint32_t i = 0; i < s->card->n_local; i++) {
		if (!s->near[i].touched)
			continue;
		s->near[i].touched = false;
		if (s->card->rank[i].served)
			fr_flush(s->card->rank[i].e);
	}
}

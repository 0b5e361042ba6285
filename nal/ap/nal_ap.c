/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_ap.c - the NAL with an engine: what a rank does, and when
 *
 * On the node everything is nal/smartmap's, as in nal_gp.c. To other nodes a call is begun here (the MD charged, short
 * bytes copied), written into the rank's ring, and everything after that is the engine's: ptl-nic, one process per
 * node, which is one more mover on the lists of all ranks (slot n_peers) and moves frames (nal/frame) over one
 * connection per pair of nodes. Nothing of it needs the rank again; while it polls, it does the engine's work itself
 * (ap_poll.c), as does a call that finds the engine asleep.
 *
 * One thing is left to the rank: what is for a portal that it has promised to poll, where nobody else may match. Such
 * frames are parked in the card, and their owner runs the frame engine on them, under the card's lock, when it looks.
 *
 * Locking: ap->lock, among our threads: the free lists and the ring's tail. card->lock: see ap.h. ap->lock is not held
 * while card->lock is taken; inside either the core's locks are taken, never the other way.
 */
#include "config.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ap_rank.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "smartmap.h"

struct ap *ap_the;		/* one interface per process; NULL in the child of a fork */

/* ---- who is who ---- */

static struct ap *ap_of(const struct nal_ni *ni)
{
	return ap_the && ap_the->ni == ni ? ap_the : NULL;
}

static int find(struct nal_ni *ni, ptl_process_id_t id)
{
	struct ap *ap = ap_the;
	int i;

	if (id.nid == ni->l->nid || !ap)
		return nal_smartmap.find(ni, id);
	i = ap_far_find(ap->card, id);
	return i < 0 ? -1 : (int)(ni->n_peers + 1) + i;
}

static ptl_process_id_t id_of(struct nal_ni *ni, uint32_t slot)
{
	struct ap *ap = ap_the;

	if (slot > ni->n_peers && ap && slot - ni->n_peers - 1 < ap->card->n_far)
		return ap->card->far[slot - ni->n_peers - 1].id;
	return nal_smartmap.id(ni, slot);
}

static int dist(struct nal_ni *ni, uint32_t slot, unsigned long *d)
{
	if (slot < ni->n_peers)
		return nal_smartmap.dist(ni, slot, d);
	*d = 2;
	return PTL_OK;
}

/* ---- calls ---- */

static void buf_put(struct ap *ap, struct ap_op *o)
{
	if (o->buf) {
		ap->free_buf[ap->n_free_buf++] = o->buf - 1;
		ap->out[o->far].bufs--;
	}
	o->buf = 0;
}

static void op_put(struct ap *ap, struct ap_op *o)
{
	buf_put(ap, o);
	o->q.type = 0;
	ap->free_op[ap->n_free_op++] = (uint32_t)(o - ap->ring->op);
}

/* What has ended makes room. ap->lock held */
static void collect(struct ap *ap)
{
	uint32_t tail = p3_load_acq(&ap->ring->back_tail);

	for (; ap->back_head != tail; ap->back_head++) {
		uint32_t op = ap->ring->back[ap->back_head % AP_OPS];
		struct ap_op *o = &ap->ring->op[op % AP_OPS];

		ap->out[o->far].ops--;
		op_put(ap, o);
	}
}

/*
 * A target may have as many as are left, of calls and of buffers: a half of all, when it is alone. Of n that take
 * nothing any more, at once, each ends with a part of n + 1, and as much is left to those who do; one after another
 * they take half of the rest each.
 */
static bool op_free(const struct ap *ap, uint32_t far)
{
	return ap->out[far].ops < ap->n_free_op + AP_OPS - ap->fresh_op;
}

static bool buf_free(const struct ap *ap, uint32_t far)
{
	return ap->out[far].bufs < ap->n_free_buf + AP_BUFS - ap->fresh_buf;
}

static struct ap_op *op_get(struct ap *ap, uint32_t far)
{
	uint32_t i;

	if (!op_free(ap, far)) {
		collect(ap);
		if (!op_free(ap, far))
			return NULL;
	}
	if (!ap->n_free_op)
		collect(ap);		/* one that was used lately, rather than a fresh one */
	i = ap->n_free_op ? ap->free_op[--ap->n_free_op] : ap->fresh_op++;
	ap->ring->op[i].far = far;
	ap->ring->op[i].buf = 0;
	return &ap->ring->op[i];
}

struct place {
	struct ap *ap;
	struct ap_op *op;
};

/* fr_room_t: bytes that go along with @op */
static uint8_t *room(void *arg, uint64_t len)
{
	struct place *o = arg;
	struct ap *ap = o->ap;

	if (len <= FR_SMALL) {
		buf_put(ap, o->op);	/* an attempt before may have needed more */
		return o->op->small;
	}
	if (!o->op->buf) {
		if (!buf_free(ap, o->op->far))
			collect(ap);
		if (!buf_free(ap, o->op->far))
			return NULL;
		o->op->buf = 1 + (ap->n_free_buf ? ap->free_buf[--ap->n_free_buf] : ap->fresh_buf++);
		ap->out[o->op->far].bufs++;
	}
	return ap->ring->bufs[o->op->buf - 1];
}

/* Write it into the ring; there is room, since there are as many places as ops. */
static void post(struct ap *ap, struct ap_op *o)
{
	struct ap_ring *r = ap->ring;

	o->parts = fr_parts(&o->q);
	ap->out[o->far].ops++;
	r->call[r->tail % AP_OPS] = (uint32_t)(o - r->op);
	p3_store_rel(&r->tail, r->tail + 1);
	p3_fence();			/* against the engine, which says that it sleeps, then looks here once more */
	ap->poke |= p3_load(&ap->card->asleep);
}

/* The target of @slot on another node: index, and ap->lock is held; or -1. */
static int enter(struct nal_ni *ni, uint32_t slot, struct ap **out)
{
	struct ap *ap = ap_the;

	if (slot <= ni->n_peers || !ap || slot - ni->n_peers - 1 >= ap->card->n_far)
		return -1;
	pthread_mutex_lock(&ap->lock);
	*out = ap;
	return (int)(slot - ni->n_peers - 1);
}

static int leave(struct ap *ap, int rc)
{
	bool poke = ap->poke;

	ap->poke = false;
	pthread_mutex_unlock(&ap->lock);
	if (poke)
		ap_poll(ap, false);
	if (rc != FR_FULL)
		return rc;
	sched_yield();			/* whoever tries again at once does not keep the engine from its core */
	return PTL_NO_SPACE;
}

/* What fr_begin_*() has made of @o goes. */
static int go(struct ap *ap, struct ap_op *o, int rc)
{
	if (rc == PTL_OK)
		post(ap, o);
	else
		op_put(ap, o);
	return rc;
}

static bool gone(const struct ap *ap, int far)
{
	return p3_unlikely(ap->broken || p3_load(&ap->card->far[far].gone));
}

/* For a call to a rank of the node: NULL, where it is nal/smartmap's alone. */
static struct ap *near_ap(void)
{
	return p3_unlikely(ap_the && ap_the->local) ? ap_the : NULL;
}

static int put(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s)
{
	struct ap *ap;
	int far = enter(ni, slot, &ap), rc = FR_FULL;
	struct place o;

	if (far < 0)
		return near_ap() ? ap_local_put(near_ap(), ni, slot, h, s) : nal_smartmap.put(ni, slot, h, s);
	if (gone(ap, far))
		return leave(ap, fr_put_nowhere(&ap->env, ni->l, s));
	o = (struct place){ ap, op_get(ap, (uint32_t)far) };
	if (o.op)
		rc = go(ap, o.op, fr_begin_put(&ap->env, ni->l, h, s, room, &o, &o.op->q));
	return leave(ap, rc);
}

static int get(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct ap *ap;
	int far = enter(ni, slot, &ap), rc = FR_FULL;
	struct ap_op *o;

	if (far < 0)
		return near_ap() ? ap_local_get(near_ap(), ni, slot, h, r) : nal_smartmap.get(ni, slot, h, r);
	if (gone(ap, far))
		return leave(ap, fr_get_nowhere(&ap->env, ni->l, slot, true, h, r));
	r->target_slot = slot;
	o = op_get(ap, (uint32_t)far);
	if (o)
		rc = go(ap, o, fr_begin_get(&ap->env, ni->l, h, r, &o->q));
	return leave(ap, rc);
}

static int getput(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r)
{
	struct ap *ap;
	int far = enter(ni, slot, &ap), rc = FR_FULL;
	struct place o;

	if (far < 0)
		return near_ap() ? ap_local_getput(near_ap(), ni, slot, h, s, r) :
				   nal_smartmap.getput(ni, slot, h, s, r);
	if (gone(ap, far))
		return leave(ap, fr_getput_nowhere(&ap->env, ni->l, slot, true, s, r));
	r->target_slot = slot;
	o = (struct place){ ap, op_get(ap, (uint32_t)far) };
	if (o.op)
		rc = go(ap, o.op, fr_begin_getput(&ap->env, ni->l, h, s, r, room, &o, &o.op->q));
	return leave(ap, rc);
}

static bool put_small(struct nal_ni *ni, uint32_t slot, struct p3l_ref md, uint64_t loff, uint64_t len, uint32_t pt,
		      uint64_t match_bits, uint64_t hdr_data)
{
	if (p3_unlikely(ap_the && ap_the->master))
		return false;
	return nal_smartmap.put_small(ni, slot, md, loff, len, pt, match_bits, hdr_data);
}

/* ---- parked frames ---- */

/* A rank has no connections: whoever has them sends later what an answer makes of it. */
static int no_link(void *ctx, struct fr_peer *p, const uint8_t *hdr, const void *payload, uint32_t len)
{
	return 1;
}

static const struct fr_link rank_link = { .send = no_link };

static void own_ended(void *arg, uint32_t token)
{
	ap_ended(arg, token - 1);
}

/* card->lock held: the frame engine of this NI is ours until the engine takes it back. */
static struct fr_engine *borrow(struct ap *ap)
{
	struct ap_rank *r = ap->me;
	struct fr_engine *e = r->e;
	struct timespec t;

	r->set_by = 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	e->l = ap->ni->l;
	e->env = ap->env;
	e->link = &rank_link;
	e->ctx = NULL;
	e->copy = nal_own_frame;
	e->reaches = NULL;
	e->wake = NULL;
	e->ended = own_ended;
	e->ended_arg = ap->ring;
	e->mask = 0;
	e->now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	return e;
}

void ap_take_parked(struct ap *ap)
{
	struct ap_card *c = ap->card;
	struct ap_rank *r = ap->me;
	struct fr_engine *e;
	struct ap_park *k, **at;
	bool any = false;
	int rc;

	rc = ap->broken ? 1 : ap_card_enter(c, ap->ni->env.self - 1, true);
	if (rc > 0)
		ap_broken(ap);
	if (rc)
		return;
	e = borrow(ap);
	for (at = &r->park; (k = *at) != NULL;) {
		if (k->peer->turn_of == c->turns || !fr_parked(e, k->peer, k->bytes)) {
			k->peer->turn_of = c->turns;	/* what is behind it from there waits with it */
			at = &k->next;
			continue;
		}
		*at = k->next;
		r->parked_bytes -= k->n;
		ap_park_free(c, k);
		p3_store_rel(&r->parked, r->parked - 1);
		any = true;
	}
	r->park_end = at;
	c->turns++;
	e->logged = false;
	c->kick |= any;
	ap_card_unlock(c);
	if (any) {			/* answers are to leave */
		p3_fence();
		if (p3_load(&c->asleep))
			ap_poll(ap, false);
	}
}

static inline void look(struct ap *ap)
{
	if (p3_unlikely(p3_load(&ap->me->parked)))
		ap_take_parked(ap);
}

/* ---- the engine is dead ---- */

/*
 * What it had of ours ends: nobody else will do it. What it had matched at us is finished as that of any dead mover
 * (p3l_reap). From now on the other nodes are as gone.
 */
void ap_broken(struct ap *ap)
{
	pthread_mutex_lock(&ap->lock);
	if (!ap->broken) {
		ap->broken = true;
		ap_poll_cut(ap);
		ap_close_listeners(ap);
		p3_warn("the engine of this node (ptl-nic) has ended: the other nodes cannot be reached any more");
		collect(ap);
		for (uint32_t i = 0; i < ap->fresh_op; i++) {
			struct ap_op *o = &ap->ring->op[i];

			if (!o->q.type)
				continue;
			fr_never(&ap->env, ap->ni->l, ap->ni->n_peers + 1 + o->far, &o->q);
			ap->out[o->far].ops--;
			op_put(ap, o);
		}
		ap_local_broken(ap);
	}
	pthread_mutex_unlock(&ap->lock);
	nal_smartmap.wake(ap->ni);
}

/* The bell is that of the last one: the socket gets another one at its other end, under the same number. */
static void another(struct ap *ap)
{
	uint32_t lives = p3_load(&ap->card->lives);
	int fd = ap_bell_find(ap->card);

	if (fd < 0)
		return;			/* it has none so far, or not any more */
	dup3(fd, ap->bell, O_CLOEXEC);
	close(fd);
	ap->lives = lives;
	ap_bell_ring(ap->bell);
}

/* Now and then. */
void ap_look_after(struct ap *ap)
{
	if (ap->broken)
		return;
	if (!smartmap_alive((int)ap->ni->n_peers))
		ap_without_engine(ap);
	else if (p3_load(&ap->card->lives) != ap->lives)
		another(ap);
}

/* ---- the rest ---- */

static uint32_t direct(const void *at, uint64_t len)
{
	return nal_smartmap.direct(at, len);
}

static void polled(struct nal_ni *ni, uint32_t pt, bool on)
{
	nal_smartmap.polled(ni, pt, on);
	if (!on && ap_of(ni))
		look(ap_of(ni));
}

#define LOOKS_AFTER 65536U		/* calls of progress between two looks whether the engine lives */

static void progress(struct nal_ni *ni, uint32_t eq, struct p3l_sink *sink)
{
	struct ap *ap = ap_the;

	if (ap) {
		if (p3_unlikely(!(++ap->looks & ap->poll.mask)))
			ap_poll(ap, true);
		look(ap);
		if (p3_unlikely(!(ap->looks % LOOKS_AFTER)))
			ap_look_after(ap);
	}
	nal_smartmap.progress(ni, eq, sink);
}

/* The engine logs events, and says that an answer has left, with the lock held. */
static void settle(struct nal_ni *ni)
{
	struct ap *ap = ap_of(ni);

	if (!ap || ap->broken)
		return;
	if (ap_card_settle(ap->card))
		ap_broken(ap);
}

static void attend(struct nal_ni *ni, bool on)
{
	nal_smartmap.attend(ni, on);
}

struct ready {
	struct ap *ap;
	bool (*ready)(void *);
	void *arg;
};

static bool ready_or_parked(void *arg)
{
	const struct ready *r = arg;

	return p3_load(&r->ap->me->parked) || r->ready(r->arg);
}

static void wait_(struct nal_ni *ni, int64_t ns, bool (*ready)(void *), void *arg)
{
	struct ready r = { ap_the, ready, arg };

	if (!r.ap) {
		nal_smartmap.wait(ni, ns, ready, arg);
		return;
	}
	ap_look_after(r.ap);
	ap_poll_rest(r.ap);
	nal_smartmap.wait(ni, ns, ready_or_parked, &r);
	look(r.ap);
}

static void wake_(struct nal_ni *ni)
{
	nal_smartmap.wake(ni);
}

const struct nal_ops nal_ap = {
	.name = "ap",
	.start = ap_start,
	.stop = ap_stop,
	.find = find,
	.id = id_of,
	.dist = dist,
	.put = put,
	.put_small = put_small,
	.get = get,
	.getput = getput,
	.direct = direct,
	.polled = polled,
	.progress = progress,
	.settle = settle,
	.attend = attend,
	.wait = wait_,
	.wake = wake_,
};

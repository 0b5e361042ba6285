// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_far_call.c - put, get, exchange and atomic operations on other nodes, in the system call that asks for them
 *
 * A call reads what its caller sends (up to FR_COPY bytes) before it makes the message, without the lock. It never
 * waits for another node; where the engine has no room, it asks for more memory once, up to the engine's bound, and
 * then says PTL_NO_SPACE.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "gptl_link.h"

/*
 * More room for messages, for a call that has found none; @had: though there was some to spare, so that the engine's
 * bound is reached. False: there is none. May sleep.
 */
static bool refill(struct gptl_link *k, bool had)
{
	struct gptl_block *b;

	if (had)
		return false;
	b = __vmalloc(sizeof(*b), GFP_KERNEL_ACCOUNT | __GFP_ZERO);	/* kmalloc() would round it up, to twice that */
	if (!b)
		return false;
	spin_lock_bh(&k->lock);
	if (!k->spare)			/* another call may have brought it */
		swap(b, k->spare);
	spin_unlock_bh(&k->lock);
	vfree(b);
	return true;
}

/* A message with room for @len bytes, entered; or NULL, and not. */
static struct fr_msg *reserve(struct gptl_link *k, struct gptl_node *g, u64 len)
{
	struct fr_msg *m;
	bool had;

	do {
		gptl_link_enter(k);
		m = fr_reserve(k->e, g->p, len);
		if (m)
			return m;
		had = k->spare;
		gptl_link_leave(k, g);
	} while (refill(k, had));
	return NULL;
}

/*
 * What is sent, into @m, by the caller, who may be interrupted and wait. [left and entered] Where something of it
 * cannot be read, zeroes go: the target writes what comes before it knows that it is not good.
 */
static bool read_own(struct gptl_link *k, const struct p3l_send *s, u8 *to)
{
	bool good;

	spin_unlock_bh(&k->lock);
	good = gptl_own_bytes(k->ni, s->start, s->iov, s->iov_n, s->loff, to, s->len, false);
	if (!good)
		memset(to, 0, s->len);
	gptl_link_enter(k);
	return good;
}

/* A call to a peer that has gone. Without @r a put, without @s a get. */
static long nowhere(struct gptl_link *k, struct gptl_node *g, struct p3l_hdr *h, struct p3l_send *s,
		    struct p3l_reply *r)
{
	const struct p3l_env *env = &k->e->env;
	struct p3l_ni *l = k->ni->l;
	u32 slot = g->p->slot;
	bool died = g->id.pid != PTL_PID_ANY;
	long rc;

	if (!r)
		rc = fr_put_nowhere(env, l, s);
	else if (!s)
		rc = fr_get_nowhere(env, l, slot, died, h, r);
	else
		rc = fr_getput_nowhere(env, l, slot, died, s, r);
	k->e->logged = true;
	return rc;
}

long gptl_far_put(struct gptl_ni *ni, struct gptl_node *g, struct p3l_hdr *h, struct p3l_send *s)
{
	struct gptl_link *k = ni->link;
	struct fr_req q = { .type = WIRE_PUT };
	struct fr_msg *m;
	long rc;

	if (!gptl_peer_make(k, g))
		return PTL_NO_SPACE;
	s->whole = s->len == P3L_WHOLE;
	for (;;) {
		u64 len = p3l_send_length(ni->l, s);

		m = reserve(k, g, len);
		if (!m)
			return PTL_NO_SPACE;
		s->len = len;
		if (g->p->gone || k->stopped) {
			fr_unreserve(k->e, g->p, m);
			rc = nowhere(k, g, h, s, NULL);
			break;
		}
		rc = p3l_send_begin(&k->e->env, ni->l, s);
		if (rc != PTL_OK)
			fr_unreserve(k->e, g->p, m);
		if (rc != P3L_AGAIN)
			break;
		gptl_link_leave(k, g);
		s->len = P3L_WHOLE;		/* another thread has updated the descriptor */
	}
	if (rc != PTL_OK || g->p->gone || k->stopped)
		goto out;
	h->rlength = s->len;
	h->md = s->md.idx;
	h->md_gen = s->md.gen;
	q.h = *h;
	q.len = s->len;
	q.buf = m->buf;
	q.send = *s;
	q.sending = !q.buf;
	if (q.buf) {
		m->fault = !read_own(k, s, q.buf);
		p3l_send_end(&k->e->env, ni->l, s, m->fault ? PTL_NI_FAULT_NP : PTL_NI_OK);
	}
	fr_give(k->e, g->p, m, &q);
out:
	gptl_link_leave(k, g);
	return rc;
}

long gptl_far_get(struct gptl_ni *ni, struct gptl_node *g, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct gptl_link *k = ni->link;
	u64 wanted = r->mlength;
	bool had;
	long rc;

	if (!gptl_peer_make(k, g))
		return PTL_NO_SPACE;
	h->md = r->md.idx;
	h->md_gen = r->md.gen;
	do {
		r->mlength = wanted;
		gptl_link_enter(k);
		rc = fr_get(k->e, g->p, h, r);
		had = k->spare;
		gptl_link_leave(k, g);
	} while (rc == FR_FULL && refill(k, had));
	return rc == FR_FULL ? PTL_NO_SPACE : rc;
}

/* The caller's bytes cannot be read: it ends with that, here. */
static void never(struct gptl_link *k, struct gptl_node *g, struct fr_msg *m, struct p3l_reply *r)
{
	fr_unreserve(k->e, g->p, m);
	r->target_slot = g->p->slot;
	r->mlength = 0;
	if (p3l_reply_begin(&k->e->env, k->ni->l, r))
		p3l_reply_end(&k->e->env, k->ni->l, r, PTL_NI_FAULT_NP);
	k->e->logged = true;
}

long gptl_far_exchange(struct gptl_ni *ni, struct gptl_node *g, struct p3l_hdr *h, struct p3l_send *s,
		       struct p3l_reply *r)
{
	struct gptl_link *k = ni->link;
	struct fr_req q = { .type = h->type == P3L_GETPUT ? WIRE_GETPUT : WIRE_ATOMIC };
	struct fr_msg *m;
	bool good;
	long rc;

	if (!gptl_peer_make(k, g))
		return PTL_NO_SPACE;
	m = reserve(k, g, WIRE_SWAP_MAX);
	if (!m)
		return PTL_NO_SPACE;
	if (g->p->gone || k->stopped) {
		fr_unreserve(k->e, g->p, m);
		rc = nowhere(k, g, h, s, r);
		goto out;
	}
	rc = p3l_send_begin(&k->e->env, ni->l, s);
	if (rc != PTL_OK) {
		fr_unreserve(k->e, g->p, m);
		goto out;
	}
	h->rlength = r->rlength = r->mlength = s->len;
	h->md = r->md.idx;
	h->md_gen = r->md.gen;
	good = read_own(k, s, m->buf);
	p3l_send_end(&k->e->env, ni->l, s, good ? PTL_NI_OK : PTL_NI_FAULT_NP);
	if (good) {
		q.h = *h;
		q.len = s->len;
		q.buf = m->buf;
		q.reply = *r;
		fr_give(k->e, g->p, m, &q);
	} else {
		never(k, g, m, r);
	}
out:
	gptl_link_leave(k, g);
	return rc;
}

static bool all_idle(struct gptl_link *k)
{
	struct fr_peer *p;
	bool idle = true;

	spin_lock_bh(&k->lock);
	for (p = k->e->peers; p && idle && !k->stopped; p = p->next_peer)
		idle = fr_idle(p) && skb_queue_empty(&((struct gptl_node *)p->link)->held);
	spin_unlock_bh(&k->lock);
	return idle;
}

long gptl_drain(struct gptl_ni *ni, const struct gptl_drain *a)
{
	struct gptl_link *k = smp_load_acquire(&ni->link);
	long t;

	if (!k)
		return 0;
	gptl_link_enter(k);
	k->e->hasty = true;
	fr_flush(k->e);
	gptl_link_leave(k, NULL);
	t = a->timeout_ns < 0 ? MAX_SCHEDULE_TIMEOUT : (long)nsecs_to_jiffies((u64)a->timeout_ns) + 1;
	t = wait_event_killable_timeout(k->idle, all_idle(k), t);
	return t < 0 ? -EINTR : t ? 0 : -ETIME;
}

void gptl_far_stat(struct gptl_ni *ni, struct gptl_stat *s)
{
	struct gptl_link *k = smp_load_acquire(&ni->link);

	if (!k)
		return;
	spin_lock_bh(&k->lock);
	s->frames_out = k->e->stats.frames_out;
	s->frames_in = k->e->stats.frames_in;
	s->again = k->e->stats.again;
	s->held = k->held;
	s->bad = k->e->stats.bad + (u64)atomic64_read(&k->at.bad);
	spin_unlock_bh(&k->lock);
}

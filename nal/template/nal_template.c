/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_template.c - the smallest NAL that works: one process, whose messages go to itself, by a copy inside the call
 *
 * To begin another one from. Every operation of struct nal_ops is here, with what it owes to the calls above and to the
 * core (README.md has the steps, portals/doc/NAL-HOWTO.md the rules). A NAL for peers in the same memory runs the
 * target's side on their regions and replaces move(); one for a network does not carry out operations itself, but gives
 * them to the frame engine, as nal/loop/nal_loop.c does.
 *
 * It is in no library that is installed. tests/conform/template builds one with it in the place of nal_loop, and runs
 * the conformance scripts.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "nal.h"
#include "p3_log.h"

#define NAP_NS 100000

/* What this NAL keeps for an interface: ni->nal_priv. */
struct priv {
	uint64_t len;			/* of the region */
	uint32_t pid;
};

/* ---- who there is ---- */

/* Is the process of @slot still there? Asked by whoever waits for a lock that it holds. Here: ourselves. */
static bool alive(uint32_t slot)
{
	(void)slot;
	return true;
}

/* Called again and again while the core waits for a lock. */
static void relax(unsigned spins)
{
	(void)spins;
	p3_pause();
}

/* A slot for each process that can be reached; what is none gets -1, and comes to put() and get() as UINT32_MAX. */
static int find(struct nal_ni *ni, ptl_process_id_t id)
{
	return id.nid == ni->l->nid && id.pid == ni->l->pid ? 0 : -1;
}

static ptl_process_id_t id_of(struct nal_ni *ni, uint32_t slot)
{
	return (ptl_process_id_t){ ni->l->nid, slot ? PTL_PID_ANY : ni->l->pid };
}

static int dist(struct nal_ni *ni, uint32_t slot, unsigned long *distance)
{
	(void)ni, (void)slot;
	*distance = 0;			/* 1: on this node, 2: elsewhere */
	return PTL_OK;
}

/* ---- to begin and to end ---- */

/* Of what has been got so far. */
static void give_back(struct nal_ni *ni, struct priv *pv)
{
	if (ni->l)
		munmap(ni->l, pv->len);
	free(ni->peer);
	free(pv);
	ni->l = NULL;
	ni->peer = NULL;
	ni->nal_priv = NULL;
}

/*
 * The region must be zero before p3l_ni_setup(), and is memory that all movers see: here there is one. A NAL with peers
 * meets them here: all come, and one that fails says so to the others (nal_ops.agree).
 */
static int start(struct nal_ni *ni, const struct p3l_setup *setup)
{
	struct priv *pv = calloc(1, sizeof(*pv));
	struct p3l_setup s = *setup;
	void *region;

	s.n_slots = 1;			/* movers: whoever runs the core on this region */
	s.slot = 0;			/* ours */
	ni->peer = calloc(s.n_slots, sizeof(*ni->peer));
	if (!pv || !ni->peer || !ni->eq)
		goto no_memory;
	pv->len = p3l_ni_size(&s);
	region = mmap(NULL, pv->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED)
		goto no_memory;
	ni->l = region;
	p3l_ni_setup(ni->l, &s);
	ni->env.self = s.slot + 1;	/* value of the locks that we hold */
	ni->env.alive = alive;
	ni->env.relax = relax;
	pv->pid = s.pid;
	ni->n_peers = 1;		/* slots below are on this node: ni->pids has their pids */
	ni->pids = &pv->pid;
	ni->nal_priv = pv;
	return PTL_OK;

no_memory:
	p3_error("no memory for the Portals state");
	give_back(ni, pv);
	return PTL_NO_SPACE;
}

/* Nobody may be inside the region any more. Here nothing outlives its call. */
static void stop(struct nal_ni *ni)
{
	give_back(ni, ni->nal_priv);
}

/* ---- bytes ---- */

/* A range of an MD, as p3l_send_begin(), p3l_target_begin() and p3l_reply_begin() give it: it may be in pieces. */
struct region {
	uint64_t start, iov;
	uint32_t iov_n;
	uint64_t off;
};

/* @n bytes. PTL_NI_OK, or PTL_NI_FAULT_NP where a program has named memory that is not there. */
static uint32_t move(const struct p3l_ni *l, const struct region *to, const struct region *from, uint64_t n)
{
	uint64_t d = 0, d_len = 0, s = 0, s_len = 0, k;
	struct p3l_walk wd, ws;

	if (!p3l_walk_start(l, to->start, to->iov, to->iov_n, to->off, n, &wd) ||
	    !p3l_walk_start(l, from->start, from->iov, from->iov_n, from->off, n, &ws))
		return PTL_NI_FAULT_NP;
	for (; n; n -= k, d += k, d_len -= k, s += k, s_len -= k) {
		if ((!d_len && !p3l_walk_next(&wd, &d, &d_len)) || (!s_len && !p3l_walk_next(&ws, &s, &s_len)))
			return PTL_NI_FAULT_NP;
		k = d_len < s_len ? d_len : s_len;
		if (!nal_own_there(s, k, false) || !nal_own_there(d, k, true))
			return PTL_NI_FAULT_NP;
		memmove((void *)(uintptr_t)d, (const void *)(uintptr_t)s, k);
	}
	return PTL_NI_OK;
}

/*
 * The bytes of @t and of @buf change places, or @op's operation is done to them, in one step for all others that do
 * such things: under the locks of these bytes.
 */
static uint32_t swap(struct nal_ni *ni, const struct region *t, char *buf, uint64_t n, const struct p3l_op *op)
{
	uint32_t fail = PTL_NI_OK;
	struct p3l_swap locks;
	struct p3l_walk w;
	uint64_t at, len;

	if (!p3l_walk_start(ni->l, t->start, t->iov, t->iov_n, t->off, n, &w))
		return PTL_NI_FAULT_NP;
	p3l_swap_lock(&ni->env, ni->l, t->start + t->off, n, t->iov != 0, &locks);
	while (n && !fail) {
		if (!p3l_walk_next(&w, &at, &len) || !nal_own_there(at, len, true)) {
			fail = PTL_NI_FAULT_NP;
			continue;
		}
		if (!p3l_step(op->type, (void *)(uintptr_t)at, buf, len, op->rlength, op->hdr_data))
			fail = PTL_NI_FAULT_NP;
		buf += len;
		n -= len;
	}
	p3l_swap_unlock(ni->l, &locks);
	return fail;
}

/* ---- operations ---- */

/* Nobody there: the send is begun, and ends with a failure. A get is checked, and never answered. */
static int put_nowhere(struct nal_ni *ni, struct p3l_send *s)
{
	int rc = p3l_send_begin(&ni->env, ni->l, s);

	if (rc == PTL_OK)
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_FAIL);
	return rc;
}

static struct region of_send(const struct p3l_send *s)
{
	return (struct region){ s->start, s->iov, s->iov_n, s->loff };
}

static struct region of_reply(const struct p3l_reply *r)
{
	return (struct region){ r->start, r->iov, r->iov_n, r->off };
}

static struct region of_target(const struct p3l_op *op)
{
	return (struct region){ op->start, op->iov, op->iov_n, op->moff };
}

/*
 * Nothing can be refused behind p3l_send_begin(), so the record of the target's side, of which there are a few, is got
 * first. Where a message is not taken p3l_target_begin() has given it back. It never says WAIT: we are the owner.
 */
static int put(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s)
{
	struct p3l_op *op;
	uint32_t fail = PTL_NI_OK;
	uint64_t mlength = 0, off = 0;
	bool ack = false;
	int rc;

	if (slot >= ni->n_peers)
		return put_nowhere(ni, s);
	op = p3l_op_get(&ni->env, ni->l);
	if (!op)
		return PTL_NO_SPACE;
	rc = p3l_send_begin(&ni->env, ni->l, s);	/* SEND_START */
	if (rc != PTL_OK) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		return rc;
	}
	h->rlength = s->len;
	if (p3l_target_begin(&ni->env, ni->l, h, op, false) == P3L_MATCHED) {	/* PUT_START */
		struct region from = of_send(s), to = of_target(op);

		mlength = op->mlength;
		off = op->moff;
		fail = move(ni->l, &to, &from, mlength);
		ack = p3l_target_end(&ni->env, ni->l, op, fail);		/* PUT_END; op is not ours any more */
	}
	p3l_send_end(&ni->env, ni->l, s, fail);		/* SEND_END */
	if (ack)
		p3l_ack(&ni->env, ni->l, s->md, slot, h->pt, h->match_bits, off, h->rlength, mlength);
	return PTL_OK;
}

/* A shorter way for puts that have nothing to record. Called only where nal_peer.small is set. False: put() does it. */
static bool put_small(struct nal_ni *ni, uint32_t slot, struct p3l_ref md, uint64_t loff, uint64_t len, uint32_t pt,
		      uint64_t match_bits, uint64_t hdr_data)
{
	(void)ni, (void)slot, (void)md, (void)loff, (void)len, (void)pt, (void)match_bits, (void)hdr_data;
	return false;
}

/* What a get costs, its reply costs: nothing is charged before that. */
static int get(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct p3l_op *op = NULL;
	bool xt, there = slot < ni->n_peers;
	int rc = p3l_get_begin(&ni->env, ni->l, r, &xt);

	if (rc != PTL_OK)
		return rc;
	if (there && !(op = p3l_op_get(&ni->env, ni->l)))
		return PTL_NO_SPACE;
	if (xt)				/* to programs for the XT the request is a send */
		p3l_get_sent(&ni->env, ni->l, r->md, r->off, r->mlength, h, there ? PTL_NI_OK : PTL_NI_FAIL);
	if (!there)
		return PTL_OK;
	h->rlength = r->rlength = r->mlength;
	r->target_slot = slot;
	if (p3l_target_begin(&ni->env, ni->l, h, op, false) == P3L_MATCHED) {	/* GET_START */
		struct region from = of_target(op), to;
		uint32_t fail = PTL_NI_OK;
		bool taken;

		op->gets++;		/* registers; p3l_target_begin() counts what comes in, not what goes out */
		op->get_length += op->mlength;
		r->mlength = op->mlength;
		taken = p3l_reply_begin(&ni->env, ni->l, r);			/* REPLY_START; false: the MD is gone */
		if (taken) {
			to = of_reply(r);
			fail = move(ni->l, &to, &from, r->mlength);
		}
		p3l_target_end(&ni->env, ni->l, op, fail);			/* GET_END */
		if (taken)
			p3l_reply_end(&ni->env, ni->l, r, fail);		/* REPLY_END */
	}
	return PTL_OK;
}

/*
 * As both: the bytes go there, what was there comes back; h->type says what is done with them. The call has seen that
 * they fit into P3L_MAX_GETPUT.
 */
static int getput(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r)
{
	char buf[P3L_MAX_GETPUT];
	struct region b = { (uintptr_t)buf, 0, 0, 0 };
	uint32_t fail = PTL_NI_OK;
	struct p3l_op *op;
	int rc;

	if (slot >= ni->n_peers)
		return put_nowhere(ni, s);
	op = p3l_op_get(&ni->env, ni->l);
	if (!op)
		return PTL_NO_SPACE;
	rc = p3l_send_begin(&ni->env, ni->l, s);
	if (rc != PTL_OK) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		return rc;
	}
	h->rlength = r->rlength = s->len;
	r->target_slot = slot;
	if (p3l_target_begin(&ni->env, ni->l, h, op, false) != P3L_MATCHED) {
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_OK);	/* dropped: an initiator hears nothing of that */
	} else {
		struct region from = of_send(s), t = of_target(op), to;

		r->mlength = op->mlength;
		fail = move(ni->l, &b, &from, op->mlength);
		if (!fail)
			fail = swap(ni, &t, buf, op->mlength, op);
		p3l_send_end(&ni->env, ni->l, s, fail);
		p3l_target_end(&ni->env, ni->l, op, fail);
		if (p3l_reply_begin(&ni->env, ni->l, r)) {
			to = of_reply(r);
			if (!fail)
				fail = move(ni->l, &to, &b, r->mlength);
			p3l_reply_end(&ni->env, ni->l, r, fail);
		}
	}
	return PTL_OK;
}

/* P3L_MD_DIRECT: peers may touch these bytes without asking, for as long as the MD lives. 0: they do as move() does. */
static uint32_t direct(const void *start, uint64_t len)
{
	(void)start, (void)len;
	return 0;
}

/* The owner promises to look into this portal. Here it is always the owner who matches, but the core wants to know. */
static void polled(struct nal_ni *ni, uint32_t pt, bool on)
{
	p3l_pt_polled_set(&ni->env, ni->l, pt, on);
}

/* ---- to look and to wait ---- */

/* Look once at whatever may have arrived. Here that has been done by the call that sent it. */
static void progress(struct nal_ni *ni, uint32_t eq, struct p3l_sink *sink)
{
	(void)ni, (void)eq, (void)sink;
}

/* The owner is inside a waiting call, or no longer: those who send may choose another way meanwhile. */
static void attend(struct nal_ni *ni, bool on)
{
	(void)ni, (void)on;
}

/* Sleep until something may have arrived, at most @ns; too early is no harm. Here it comes from our own threads. */
static void wait_(struct nal_ni *ni, int64_t ns, bool (*ready)(void *), void *arg)
{
	struct timespec nap = { 0, ns >= 0 && ns < NAP_NS ? ns : NAP_NS };

	(void)ni;
	if (!ready(arg))
		nanosleep(&nap, NULL);
}

const struct nal_ops nal_template = {
	.name = "template",
	.start = start,
	.stop = stop,
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
	.attend = attend,
	.wait = wait_,
	.wake = NULL,		/* wait() sleeps for a moment only */
	.settle = NULL,		/* there is no thread of the NAL that logs events, */
	.agree = NULL,		/* no other rank to tell, */
	.far = NULL,		/* and no frame engine */
};

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nic_local.c - work between ranks of the node that ptl-nic does: see ap_local.h
 *
 * It is one more mover on the lists of both sides. Copies go from window to window, a piece at each turn, so that the
 * network does not wait behind them. Jobs of a rank end in their order; those of several take turns. All under
 * card->lock, as everything else of the engine, so what nal.h asks of settle() is true of this as well.
 *
 * A record that was lent is ours from that store on, also where its rank has died before it could post the job: see
 * nic_local_dead().
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ap_local.h"
#include "nic.h"
#include "smartmap.h"

#define PIECE		(256u << 10)	/* bytes at a turn */
#define CALLS		64		/* of a rank at a turn */
_Static_assert(WIRE_SWAP_MAX <= FR_SMALL, "what a swap brings has its place before its length is known");

struct nic_near {
	struct p3l_ni *l;
	struct ap_local *g;		/* NULL: nothing is left to us */
	bool dead;
	bool begun;			/* the copy at the head of the ring: */
	struct p3l_op o;		/* its record, checked */
	uint64_t at, n;			/* bytes copied, of so many */
};

struct nic_local {
	struct nic *nic;
	struct nic_near *near;		/* [n_local] */
	char bounce[64 << 10];
};

bool nic_local_open(struct nic *c)
{
	c->local = calloc(1, sizeof(*c->local));
	if (c->local) {
		c->local->nic = c;
		c->local->near = calloc(c->card->n_local, sizeof(*c->local->near));
	}
	return c->local && c->local->near;
}

/* The region of local rank @i; NULL: not there, or it makes no sense. */
static struct p3l_ni *region(struct nic_local *w, uint32_t i)
{
	struct nic_near *k;

	if (i >= w->nic->card->n_local)
		return NULL;
	k = &w->near[i];
	if (!k->l)
		k->l = ap_region(i, w->nic->card->n_local);
	return k->l;
}

/* Has local rank @i a ring, with something in it? */
static bool has_jobs(struct nic_local *w, uint32_t i)
{
	const struct ap_rank *r = &w->nic->card->rank[i];
	struct nic_near *k = &w->near[i];
	uint32_t state;

	if (!k->g) {
		state = p3_load_acq(&r->state);
		if ((state != AP_R_JOINED && state != AP_R_LEAVING) || !r->local || k->dead || !region(w, i) ||
		    smartmap_view_.mask + 1 - (r->local & smartmap_view_.mask) < sizeof(*k->g))
			return false;
		k->g = smartmap_remote((int)i, (void *)(uintptr_t)r->local);
	}
	return p3_load(&k->g->head) != p3_load_acq(&k->g->tail);
}

bool nic_local_left(struct nic *c)
{
	for (uint32_t i = 0; i < c->card->n_local; i++)
		if (has_jobs(c->local, i))
			return true;
	return false;
}

bool nic_local_idle(struct nic *c, uint32_t i)
{
	return !has_jobs(c->local, i);
}

static uint32_t fail_of(int rc)
{
	return rc ? PTL_NI_FAULT_NP : PTL_NI_OK;
}

/* ---- bytes ---- */

/* @n bytes at @addr of local rank @i, to @buf or from it: 0 or -errno. @direct: they are in its window, for good */
static int bytes(uint32_t i, bool to, uint64_t addr, void *buf, uint64_t n, bool direct)
{
	void *at = (void *)(uintptr_t)addr;
	bool held = false;

	if (!direct)
		held = smartmap_enter((int)i, at, n);
	if (!direct && !held)
		return to ? smartmap_write((int)i, at, buf, n) : smartmap_read((int)i, buf, at, n);
	at = smartmap_remote((int)i, at);
	if (to)
		smartmap_copy(at, buf, n);
	else
		smartmap_copy(buf, at, n);
	if (held)
		smartmap_leave((int)i);
	return 0;
}

/* Bytes of local rank @i, in its terms; or (i: HERE) at our own address. */
struct place {
	uint32_t i;
	uint64_t start, iov;
	uint32_t iov_n;
	uint64_t off;
	bool direct;
};
#define HERE UINT32_MAX

static int move(struct nic_local *w, const struct place *to, const struct place *from, uint64_t n)
{
	uint64_t at = 0, nt = 0, af = 0, nf = 0;
	struct p3l_walk wt, wf;

	if (!p3l_walk_start(to->i == HERE ? NULL : w->near[to->i].l, to->start, to->iov, to->iov_n, to->off, n, &wt) ||
	    !p3l_walk_start(from->i == HERE ? NULL : w->near[from->i].l, from->start, from->iov, from->iov_n,
			    from->off, n, &wf))
		return -EFAULT;
	while (n) {
		uint64_t k;
		int rc;

		if ((!nt && !p3l_walk_next(&wt, &at, &nt)) || (!nf && !p3l_walk_next(&wf, &af, &nf)))
			return -EFAULT;
		k = nt < nf ? nt : nf;
		if (from->i == HERE) {
			rc = bytes(to->i, true, at, (void *)(uintptr_t)af, k, to->direct);
		} else if (from->direct) {
			void *there = smartmap_remote((int)from->i, (void *)(uintptr_t)af);

			rc = to->i == HERE ? bytes(from->i, false, af, (void *)(uintptr_t)at, k, true) :
			     bytes(to->i, true, at, there, k, to->direct);
		} else if (to->i == HERE) {
			rc = bytes(from->i, false, af, (void *)(uintptr_t)at, k, false);
		} else {
			k = k < sizeof(w->bounce) ? k : sizeof(w->bounce);
			rc = bytes(from->i, false, af, w->bounce, k, false);
			if (!rc)
				rc = bytes(to->i, true, at, w->bounce, k, to->direct);
		}
		if (rc)
			return rc;
		at += k, nt -= k, af += k, nf -= k, n -= k;
	}
	return 0;
}

/* ---- copies ---- */

/* The record is the initiator's again. */
static bool end_lent(struct nic_local *w, struct p3l_ni *t, struct p3l_op *op, uint32_t fail)
{
	bool ack = p3l_target_end(&w->nic->side.env, t, op, fail);

	p3_cas32(&op->state, P3L_OP_DONE, P3L_OP_IDLE);
	ap_wake(t);
	return ack;
}

static void send_over(struct nic_local *w, uint32_t i, struct ap_job *j, const struct p3l_op *o, bool ack,
		      uint32_t fail)
{
	struct p3l_ni *l = w->near[i].l;

	p3_store_rel(&j->ending, 1);
	if (j->kind == AP_J_PUT)
		p3l_send_end(&w->nic->side.env, l, &j->q.send, fail);
	else
		p3l_reply_end(&w->nic->side.env, l, &j->q.reply, fail);
	if (ack)
		p3l_ack(&w->nic->side.env, l, (struct p3l_ref){ o->src_md, o->src_md_gen }, j->target, o->pt,
			o->match_bits, o->moff, o->rlength, o->mlength);
}

/* The record that job @j of rank @i names: a copy of it to @o. NULL: it is none of ours. */
static struct p3l_op *lent(struct nic_local *w, uint32_t i, const struct ap_job *j, struct p3l_op *o)
{
	struct p3l_ni *t = region(w, j->target);
	struct p3l_op *op;

	if (!t || j->op >= P3L_OPS)
		return NULL;
	op = &p3l_row(t, i)->op[j->op];
	*o = *op;
	return p3l_lent(o) && o->state == P3L_OP_MOVE && !o->iov && p3l_op_sane(t, o) ? op : NULL;
}

/* A piece of the copy at the head of rank @i's ring. True: it has ended. */
static bool copy_on(struct nic_local *w, uint32_t i, struct ap_job *j)
{
	struct nic_near *k = &w->near[i];
	bool put = j->kind == AP_J_PUT, ack;
	struct p3l_op *op, now;
	uint64_t own, theirs, n;
	int rc = 0;

	op = lent(w, i, j, &now);
	if (!op) {			/* whoever can write there has */
		send_over(w, i, j, &now, false, PTL_NI_FAULT_NP);
		return true;
	}
	if (!k->begun) {
		k->o = now;
		k->at = 0;
		k->n = put ? now.mlength : j->q.reply.mlength;
		if (k->n > now.mlength || (put ? j->q.send.len < k->n || j->q.send.iov : j->q.reply.iov != 0))
			rc = -EFAULT;
		k->begun = true;
	}
	own = (put ? j->q.send.start + j->q.send.loff : j->q.reply.start + j->q.reply.off) + k->at;
	theirs = k->o.start + k->o.moff + k->at;
	n = k->n - k->at < PIECE ? k->n - k->at : PIECE;
	/* its MD says that it is in the window; ours said so when the copy was lent */
	if (!rc && n) {
		if (put && smartmap_enter((int)i, (void *)(uintptr_t)own, n)) {
			rc = bytes(j->target, true, theirs, smartmap_remote((int)i, (void *)(uintptr_t)own), n, true);
			smartmap_leave((int)i);
		} else if (!put && smartmap_enter((int)i, (void *)(uintptr_t)own, n)) {
			rc = bytes(j->target, false, theirs, smartmap_remote((int)i, (void *)(uintptr_t)own), n, true);
			smartmap_leave((int)i);
		} else {
			rc = -EFAULT;
		}
	}
	k->at += n;
	if (!rc && k->at < k->n)
		return false;
	k->begun = false;
	ack = end_lent(w, w->near[j->target].l, op, fail_of(rc));
	send_over(w, i, j, &k->o, ack, fail_of(rc));
	return true;
}

void nic_local_dead(struct nic *c, uint32_t i)
{
	struct nic_local *w = c->local;

	w->near[i].dead = true;
	w->near[i].g = NULL;
	w->near[i].begun = false;
	for (uint32_t t = 0; t < c->card->n_local; t++) {
		struct p3l_ni *l = t == i || !c->card->rank[t].local ? NULL : region(w, t);

		for (uint32_t k = 0; l && k < P3L_OPS; k++) {
			struct p3l_op *op = &p3l_row(l, i)->op[k];

			if (p3l_lent(op) && p3_load_acq(&op->state) == P3L_OP_MOVE && p3l_op_sane(l, op))
				end_lent(w, l, op, PTL_NI_DIED_NP);
		}
	}
}

/* ---- calls ---- */

/* Exchange, as nal_swap() does: what was there goes to @buf. */
static int swap(struct nic_local *w, uint32_t t, const struct p3l_op *o, char *buf)
{
	struct p3l_ni *l = w->near[t].l;
	uint64_t at, len, n = o->mlength;
	struct p3l_swap locks;
	struct p3l_walk walk;
	int rc = 0;

	if (!p3l_walk_start(l, o->start, o->iov, o->iov_n, o->moff, n, &walk))
		return -EFAULT;
	p3l_swap_lock(&w->nic->side.env, l, o->start + o->moff, n, o->iov != 0, &locks);
	for (; n && !rc; buf += len, n -= len) {
		char new[P3L_MAX_GETPUT];

		if (!p3l_walk_next(&walk, &at, &len)) {
			rc = -EFAULT;
		} else if (o->mdflags & P3L_MD_DIRECT) {
			if (!p3l_step(o->type, smartmap_remote((int)t, (void *)(uintptr_t)at), buf, len,
				      o->rlength, o->hdr_data))
				rc = -EFAULT;
		} else if (p3l_is_atomic(o->type)) {
			rc = -EFAULT;		/* the kernel's copies are none */
		} else {
			memcpy(new, buf, len);
			rc = bytes(t, false, at, buf, len, false);
			if (!rc)
				rc = bytes(t, true, at, new, len, false);
		}
	}
	p3l_swap_unlock(l, &locks);
	return rc;
}

static void reply(struct nic_local *w, uint32_t i, struct p3l_reply *r, const struct place *from, uint32_t fail)
{
	struct p3l_ni *l = w->near[i].l;
	struct place to;

	to = (struct place){ i, r->start, r->iov, r->iov_n, r->off, r->flags & P3L_MD_DIRECT };
	if (!fail)
		fail = fail_of(move(w, &to, from, r->mlength));
	p3l_reply_end(&w->nic->side.env, l, r, fail);
}

/* All of a call. False: no record is free, later again. */
static bool call(struct nic_local *w, uint32_t i, struct ap_job *j, uint8_t *buf)
{
	const struct p3l_env *env = &w->nic->side.env;
	struct p3l_ni *l = w->near[i].l, *t = region(w, j->target);
	struct fr_req *q = &j->q;
	uint64_t want = q->h.rlength, off = 0, mlength = 0;
	bool ack = false, put = q->type == WIRE_PUT, swaps = p3l_is_step(q->h.type);
	uint32_t fail = PTL_NI_OK;
	struct place from, there;
	struct p3l_op *op;
	char old[P3L_MAX_GETPUT];
	enum p3l_verdict v;

	op = t ? p3l_op_get(env, t) : NULL;
	if (t && !op)
		return false;
	from = q->sending ? (struct place){ i, q->send.start, q->send.iov, q->send.iov_n, q->send.loff,
					    q->send.flags & P3L_MD_DIRECT } :
		(struct place){ HERE, (uintptr_t)buf, 0, 0, 0, true };
	if (!t || !p3_load(&t->up))
		v = P3L_DROPPED;
	else
		v = p3l_target_begin(env, t, &q->h, op, false);
	if (v == P3L_WAIT)
		return false;
	if (v != P3L_MATCHED) {
		if (op && !p3_load(&t->up))
			p3_cas32(&op->state, P3L_OP_TAKEN, P3L_OP_IDLE);
		p3_store_rel(&j->ending, 1);
		if (q->sending)
			p3l_send_end(env, l, &q->send, PTL_NI_OK);
		ap_wake(l);
		return true;
	}
	off = op->moff;
	mlength = op->mlength;
	there = (struct place){ j->target, op->start, op->iov, op->iov_n, off, op->mdflags & P3L_MD_DIRECT };
	p3_store_rel(&j->ending, 1);
	if (put) {
		fail = fail_of(move(w, &there, &from, mlength));
	} else {
		q->reply.mlength = mlength;
		q->reply.rlength = want;
	}
	if (swaps) {
		memcpy(old, buf, mlength <= sizeof(old) ? mlength : 0);
		fail = mlength <= sizeof(old) ? fail_of(swap(w, j->target, op, old)) : PTL_NI_FAULT_NP;
		there = (struct place){ HERE, (uintptr_t)old, 0, 0, 0, true };
	}
	if (!put && p3l_reply_begin(env, l, &q->reply)) {
		if (swaps) {		/* the target may hear first: nothing is read there any more */
			p3l_target_end(env, t, op, fail);
			reply(w, i, &q->reply, &there, fail);
		} else {
			struct place to = { i, q->reply.start, q->reply.iov, q->reply.iov_n, q->reply.off,
					    q->reply.flags & P3L_MD_DIRECT };

			fail = fail_of(move(w, &to, &there, q->reply.mlength));
			p3l_target_end(env, t, op, fail);
			p3l_reply_end(env, l, &q->reply, fail);
		}
	} else {
		ack = p3l_target_end(env, t, op, fail);
	}
	if (q->sending)
		p3l_send_end(env, l, &q->send, fail);
	if (ack)
		p3l_ack(env, l, (struct p3l_ref){ q->h.md, q->h.md_gen }, j->target, q->h.pt, q->h.match_bits, off,
			want, mlength);
	ap_wake(t);
	ap_wake(l);
	return true;
}

/* ---- turns ---- */

/* Job number @n. */
static bool one(struct nic_local *w, uint32_t i, struct ap_job *j, uint32_t n)
{
	if (j->kind == AP_J_CALL)
		return call(w, i, j, j->q.len <= FR_SMALL ? j->small : w->near[i].g->bufs[n % AP_JOB_BUFS]);
	if (j->kind != AP_J_PUT && j->kind != AP_J_GET)
		return true;
	if (!copy_on(w, i, j))
		return false;
	ap_wake(w->near[i].l);
	return true;
}

bool nic_local_step(struct nic *c)
{
	struct nic_local *w = c->local;
	bool any = false;

	for (uint32_t i = 0; i < c->card->n_local; i++) {
		struct ap_local *g;

		if (!has_jobs(w, i))
			continue;
		g = w->near[i].g;
		any = true;
		if (p3_load(&g->tail) - g->head > AP_JOBS)	/* nonsense, by whoever can write there */
			continue;
		for (unsigned n = 0; n < CALLS && g->head != p3_load_acq(&g->tail); n++) {
			if (!one(w, i, &g->job[g->head % AP_JOBS], g->head))
				break;
			p3_store_rel(&g->head, g->head + 1);
		}
	}
	return any;
}

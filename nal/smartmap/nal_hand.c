/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_hand.c - operations whose bytes their initiator cannot reach: matched by it, copied or exchanged by the owner
 */
#include "nal_smap.h"
#include "nal_together.h"

/* An operation whose copy we have handed to its target. */
struct hand {
	struct hand *next;
	struct p3l_op *op;
	uint32_t slot;
	void *bounce;
	uint64_t len;			/* of the bounce buffer */
	uint64_t mlength;
	bool get;
	struct p3l_reply reply;
	/* of a put, for when the owner dies and its record with it */
	bool ack;
	uint32_t pt;
	struct p3l_ref md;
	uint64_t match_bits, rlength;
#ifdef P3_TRACE
	struct p3_trace_id trace;
#endif
};

/* The target's memory is out of our reach: leave the op to its owner. false: no memory for the bounce buffer. */
bool nal_hand_over(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, struct p3l_op *op, const struct region *own,
		   const struct p3l_reply *reply)
{
	struct hand *h = malloc(sizeof(*h));
	struct region b;

	if (!h)
		return false;
	h->mlength = op->mlength;
	h->len = h->mlength ? h->mlength : 1;
	h->bounce = smartmap_alloc(h->len, 64);
	if (!h->bounce) {
		free(h);
		return false;
	}
	h->op = op;
	h->slot = slot;
	h->get = reply != NULL;
	if (reply)
		h->reply = *reply;
	h->ack = op->ack && op->type == P3L_PUT && !(op->options & PTL_MD_ACK_DISABLE);
	h->pt = op->pt;
	h->md = (struct p3l_ref){ op->src_md, op->src_md_gen };
	h->match_bits = op->match_bits;
	h->rlength = op->rlength;
	if (own) {
		b = (struct region){ (uintptr_t)h->bounce, 0, 0, 0 };
		nal_move(ni, ni->l->slot, ni->l, true, &b, own, op->mlength, true);
	}
	op->peer_addr = (uintptr_t)h->bounce;
	p3l_count(&ni->env, &p3l_row(l, ni->l->slot)->stats.hand_count, 1);
	p3l_count(&ni->env, &p3l_row(l, ni->l->slot)->stats.hand_length, h->mlength);
	P3_PROBE4(hand, l, ni->l->slot, op, h->mlength);
	P3_TRACED(note(&h->trace));
	P3_TRACED(hand(l, ni->l->slot, (unsigned)(op - p3l_row(l, ni->l->slot)->op)));
	lock_word(ni, &priv_of(ni)->hands_lock);
	h->next = priv_of(ni)->hands;
	priv_of(ni)->hands = h;
	unlock_word(ni, &priv_of(ni)->hands_lock);
	p3_store_rel(&op->state, P3L_OP_HAND);
	p3_fetch_add(&l->handed, 1);
	p3_fence();
	if (p3_load(&l->sleeping))
		nal_wake_slow(l);
	return true;
}

/* Does the owner have the record? In any other state than these it has given it back, or a peer wrote over it. */
static bool under_way(uint32_t state)
{
	return state == P3L_OP_HAND || state == P3L_OP_MOVE || state == P3L_OP_END || state == P3L_OP_LEAVE;
}

static void state_spoilt(struct nal_ni *ni, uint32_t slot)
{
	struct p3l_ni *l = ni->peer[slot].l;

	p3l_count(&ni->env, &p3l_row(ni->l, ni->l->slot)->stats.corrupt, 1);
	if (l)
		p3l_op_spoilt(l);
}

static void reply_to(struct nal_ni *ni, struct hand *h, uint32_t fail)
{
	P3_TRACED(push(&h->trace));
	h->reply.mlength = fail == PTL_NI_DIED_NP ? 0 : h->mlength;
	if (p3l_reply_begin(&ni->env, ni->l, &h->reply)) {
		struct region b = { (uintptr_t)h->bounce, 0, 0, 0 };
		struct region o = { h->reply.start, h->reply.iov, h->reply.iov_n, h->reply.off };

		nal_move(ni, ni->l->slot, ni->l, false, &b, &o, h->reply.mlength, true);
		p3l_reply_end(&ni->env, ni->l, &h->reply, fail);
	}
	P3_TRACED(pop());
}

/* The owner has given the record back in @state, or has died with it (@died): we tell what it would have told. */
static void ended(struct nal_ni *ni, struct hand *h, uint32_t state, bool died)
{
	uint32_t fail = state == P3L_OP_DONE ? h->op->fail & 15 : died ? PTL_NI_DIED_NP : PTL_NI_FAULT_NP;

	if (h->get)
		reply_to(ni, h, fail);
	else if (died && h->ack)
		p3l_ack_failed(&ni->env, ni->l, h->md, h->slot, h->pt, h->match_bits, h->rlength, PTL_NI_DIED_NP);
}

/*
 * Our handed operations that the owner has finished, or never will. Its life is looked at before the record: what it
 * did to that before it died is seen then.
 */
__attribute__((noinline)) void nal_hands_collect(struct nal_ni *ni)
{
	struct hand **pp, *h;

	lock_word(ni, &priv_of(ni)->hands_lock);
	for (pp = &priv_of(ni)->hands; (h = *pp) != NULL;) {
		bool dead = !smartmap_alive((int)h->slot);
		uint32_t state = p3_load_acq(&h->op->state);

		if (under_way(state) && !dead) {
			pp = &h->next;
			continue;
		}
		*pp = h->next;
		if (p3_unlikely(state != P3L_OP_DONE && !dead))
			state_spoilt(ni, h->slot);
		ended(ni, h, state, dead && state != P3L_OP_DONE);
		if (state != P3L_OP_IDLE)
			p3_cas32(&h->op->state, state, P3L_OP_IDLE);
		smartmap_free(h->bounce, h->len);
		free(h);
	}
	unlock_told(ni, &priv_of(ni)->hands_lock);
}

/* Do what @what says to the bytes of region @t, of process @slot's NI @l, with @buf (@n bytes): 0 or -errno. */
int nal_swap(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, const struct region *t, char *buf, uint64_t n,
	     bool direct, const struct nal_step *what)
{
	struct p3l_swap locks;
	struct p3l_walk w;
	uint64_t at, len;
	int rc = 0;

	if (!p3l_walk_start(l, t->start, t->iov, t->iov_n, t->off, n, &w))
		return -EFAULT;
	P3_PROBE3(copy, P3_WAY_SWAP, 1, n);
	P3_TRACED(copy(p3_trace_now(), P3_WAY_SWAP, true, n));
	p3l_swap_lock(&ni->env, l, t->start + t->off, n, t->iov != 0, &locks);
	for (; n && !rc; buf += len, n -= len) {
		void *far;
		bool held = false;

		if (!p3l_walk_next(&w, &at, &len)) {
			rc = -EFAULT;
			break;
		}
		far = (void *)(uintptr_t)at;
		if (slot != ni->l->slot) {
			if (!direct && !(held = smartmap_enter((int)slot, far, len))) {
				char new[P3L_MAX_GETPUT];

				if (!priv_of(ni)->cma || len > sizeof(new) || p3l_is_atomic(what->type)) {
					rc = -EAGAIN;
					break;
				}
				memcpy(new, buf, len);
				nal_count_cma(ni, slot, 2 * len);
				rc = smartmap_read((int)slot, buf, far, len);
				if (!rc)
					rc = smartmap_write((int)slot, far, new, len);
				continue;
			}
			far = smartmap_remote((int)slot, far);
		}
		if (p3_unlikely(!far || !p3l_step(what->type, far, buf, len, what->len, what->other)))
			rc = -EFAULT;
		if (held)
			smartmap_leave((int)slot);
	}
	p3l_swap_unlock(l, &locks);
	return rc;
}

/* Can we exchange there, or must its owner do it? Asked before a byte has changed. The kernel's copies are no atomic
 * operations. */
bool nal_may_swap(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, const struct region *t, uint64_t n, bool direct,
		  uint32_t type)
{
	struct p3l_walk w;
	uint64_t at, len;

	if (direct || slot == ni->l->slot || (priv_of(ni)->cma && !p3l_is_atomic(type)))
		return true;
	if (!p3l_walk_start(l, t->start, t->iov, t->iov_n, t->off, n, &w))
		return true;		/* fails there */
	while (p3l_walk_next(&w, &at, &len))
		if (!smartmap_reachable((int)slot, (void *)(uintptr_t)at, len))
			return false;
	return true;
}

/* We are the owner: what we had goes to the bounce buffer @b of process @slot, what stands there to us. */
static int swap_handed(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, const struct p3l_op *op,
		       const struct region *t,
		       const struct region *b)
{
	char buf[P3L_MAX_GETPUT];
	struct region own = { (uintptr_t)buf, 0, 0, 0 };
	struct nal_step what = { op->type, op->rlength, op->hdr_data };
	int rc;

	if (op->mlength > sizeof(buf))
		return -EFAULT;
	rc = nal_move(ni, slot, l, false, b, &own, op->mlength, true);
	if (!rc)
		rc = nal_swap(ni, ni->l->slot, ni->l, t, buf, op->mlength, true, &what);
	return rc ? rc : nal_move(ni, slot, l, true, b, &own, op->mlength, true);
}

/* Does the operation reach beyond our MD? One that PtlMDUpdate has given other memory meanwhile says nothing. */
static bool too_long(struct nal_ni *ni, const struct p3l_op *o)
{
	const struct p3l_md *md = p3l_md(ni->l, o->md);

	if (o->start != md->start || o->iov != md->iov ||
	    (o->mlength <= md->length && o->moff <= md->length - o->mlength))
		return false;
	p3l_count(&ni->env, &p3l_row(ni->l, ni->l->slot)->stats.corrupt, 1);
	return true;
}

static bool there(struct nal_ni *ni, const struct p3l_op *o, const struct region *t)
{
	return (o->mdflags & P3L_MD_DIRECT) || nal_own_region_there(ni, t, o->mlength, o->type != P3L_GET);
}

/* Copies that others have handed to us, or would like us to take part in. */
__attribute__((noinline)) void nal_hands_serve(struct nal_ni *ni)
{
	priv_of(ni)->handed_seen = p3_load_acq(&ni->l->handed);
	for (uint32_t s = 0; s < ni->n_peers; s++) {
		nal_together_help(ni, s);
		for (uint32_t k = 0; k < P3L_OPS; k++) {
			struct p3l_op *op = &p3l_row(ni->l, s)->op[k];
			struct region t, b;
			struct nal_peer *p;
			struct p3l_op o;
			int rc;

			if (p3_load_acq(&op->state) != P3L_OP_HAND ||
			    !p3_cas32(&op->state, P3L_OP_HAND, P3L_OP_MOVE))
				continue;
			P3_PROBE3(serve, ni->l, s, op);
			P3_TRACE_BEGAN(began);
			P3_TRACED(serve(ni->l, s, k));
			p = peer_of(ni, s);
			o = *op;		/* the record is its initiator's again once it has ended */
			t = (struct region){ o.start, o.iov, o.iov_n, o.moff };
			b = (struct region){ o.peer_addr, 0, 0, 0 };
			/* seen from here the bounce buffer is the far side, our MD the own one */
			if (!p3l_op_sane(ni->l, &o))
				rc = -EFAULT;	/* p3l_target_end() sees it, too */
			else if (too_long(ni, &o) || !there(ni, &o, &t))
				rc = -EFAULT;
			else if (p && p3l_is_step(o.type))
				rc = swap_handed(ni, s, p->l, &o, &t, &b);
			else
				rc = p ? nal_move(ni, s, ni->l, o.type == P3L_GET, &b, &t, o.mlength, true) : -ESRCH;
			if (p3l_target_end(&ni->env, ni->l, op, fail_of(rc)) && p)
				p3l_ack(&ni->env, p->l, (struct p3l_ref){ o.src_md, o.src_md_gen }, ni->l->slot, o.pt,
					o.match_bits, o.moff, o.rlength, o.mlength);
			P3_TRACED(served(began));
			if (p)
				wake(ni, p->l);
			if (!ni->env.single)
				wake(ni, ni->l);
		}
	}
	if (p3_unlikely(p3_load(&ni->l->spoilt)))
		p3l_reap(&ni->env, ni->l);
}

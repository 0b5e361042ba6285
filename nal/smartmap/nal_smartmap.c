/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_smartmap.c - the NAL of the node: the initiator runs the core on the target's state, and copies once
 *
 * Ways of a put, by preference:
 *   inbox    the target polls (or its entry is polled by promise): one burst of lines into our lane in its region, and
 *            the target matches with warm caches
 *   direct   otherwise: match in the target's lists, copy straight into its buffer, log its event; it does nothing
 *   handed   its buffer is neither in its window nor reachable by CMA: we match, put the bytes where it sees them, and
 *            the owner copies when it next makes progress
 * A get is direct, or handed.
 *
 * Attention. The owner of a lane says in the word of its next line whether it is inside a polling call (POLL) or has left
 * (AWAY); the initiator puts its message there by an exchange and so learns which it was. POLL: the owner looks at that word
 * again, by compare-and-swap, before it leaves. Anything else: the initiator empties the lane itself, but for AWAY gives
 * the owner a moment first. Only lanes whose initiator has knocked are marked, at most HOT_MAX; the other initiators match
 * directly. Messages to polled entries need none of this: their owner has promised to come back.
 *
 * Sleep. The sleeper stores l->sleeping, runs membarrier() in place of a fence on either side, looks once more, and
 * sleeps on that word. Whoever has left a message or an event looks at the word and wakes.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nal.h"
#include "nal_together.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_rt.h"
#include "smartmap.h"

#define ROOT_KEY	0
#define REAP_LOOKS	16384		/* empty looks between two at who has died */
#define POLLED_BATCH	16		/* messages of polled entries taken in one look */
#define HOT_MAX		8		/* lanes that an owner marks */
#define HOT_IDLE	4096		/* polling calls without a message after which a lane is no longer marked */
#define STREAK		16		/* messages from one lane before all are looked at */
#define FIRST_LOOK	16		/* pauses before the first of them */
#define PATIENCE	200		/* looks that an initiator gives an owner who polls now and then */

/* An operation whose copy we have handed to its target. */
struct hand {
	struct hand *next;
	struct p3l_op *op;
	uint32_t slot;
	void *bounce;
	uint64_t len;
	bool get;
	struct p3l_reply reply;
};

/* Memory of the first local rank: who has which Portals pid. */
struct pid_table {
	uint32_t lock;			/* slot + 1; for claims after the start */
	uint32_t failed;		/* PTL_ code of the first rank that cannot start: then nobody starts */
	uint32_t pid[];			/* by slot, written by that rank; PTL_PID_ANY: none */
};

struct priv {
	uint32_t *pids;			/* table->pid */
	struct pid_table *table;
	uint64_t region_len;
	uint32_t handed_seen;
	struct p3l_lane_hdr *last;	/* lane that gave the last message, of initiator last_lane */
	uint32_t last_lane, streak, burst;
	struct hand *hands;
	uint32_t hands_lock;
	bool cma;
	uint32_t inbox_max;		/* longest put by inbox where we may choose */
	bool together;			/* long copies are shared with a polling peer: not with fewer cores than ranks */
	bool fences;			/* no membarrier: wakers fence for themselves */
	int attending, sleepers;	/* threads */
	uint32_t looks;			/* for the next look at who has died */
	uint32_t hot_lock;		/* threads */
	uint32_t n_hot;
	struct { struct p3l_lane_hdr *lane; uint32_t slot, idle; } hot[HOT_MAX];
};

static struct priv *priv_of(struct nal_ni *ni)
{
	return ni->nal_priv;
}

/* ---- peers ---- */

static struct nal_peer *peer_lookup(struct nal_ni *ni, uint32_t slot)
{
	struct nal_peer *p = &ni->peer[slot];
	uint64_t mask = smartmap_view_.mask;
	uintptr_t addr;
	struct p3l_ni *l;

	if (slot == ni->l->slot) {
		l = ni->l;
	} else {
		addr = (uintptr_t)smartmap_lookup((int)slot, ROOT_KEY);
		if (!addr)
			return NULL;
		l = smartmap_remote((int)slot, (void *)addr);
		if (!l || !p3l_ni_sane(l, (mask + 1) - (addr & mask)) || l->slot != slot ||
		    l->n_slots != ni->n_peers) {
			p3_warn("the Portals state of local rank %u makes no sense (version %u, ours %u): not used",
				slot, l ? l->version : 0, P3L_VERSION);
			return NULL;
		}
	}
	p->lane = p3l_lane(l, ni->l->slot);
	p3_store_rel(&p->l, l);
	return p;
}

static inline struct nal_peer *peer_of(struct nal_ni *ni, uint32_t slot)
{
	struct nal_peer *p;

	if (p3_unlikely(slot >= ni->n_peers))
		return NULL;
	p = &ni->peer[slot];
	if (p3_likely(p->l != NULL))
		return p;
	return peer_lookup(ni, slot);
}

static int nal_find(struct nal_ni *ni, ptl_process_id_t id)
{
	const uint32_t *pids = priv_of(ni)->pids;
	uint32_t guess = id.pid - P3_RT_PID0;

	if (p3_unlikely(id.nid != ni->l->nid))
		return -1;
	if (p3_likely(guess < ni->n_peers && pids[guess] == id.pid))
		return (int)guess;
	for (guess = 0; guess < ni->n_peers; guess++)
		if (pids[guess] == id.pid)
			return (int)guess;
	return -1;
}

static ptl_process_id_t nal_id(struct nal_ni *ni, uint32_t slot)
{
	uint32_t pid = p3_likely(slot < ni->n_peers) ? priv_of(ni)->pids[slot] : PTL_PID_ANY;

	return (ptl_process_id_t){ ni->l->nid, pid };
}

static int nal_dist(struct nal_ni *ni, uint32_t slot, unsigned long *d)
{
	*d = slot == ni->l->slot ? 0 : 1;
	return PTL_OK;
}

static bool alive(uint32_t slot)
{
	return smartmap_alive((int)slot);
}

static void relax(unsigned spins)
{
	if (spins % 64 == 0 && (spins > 4096 || p3_rt_oversubscribed()))
		sched_yield();
	else
		p3_pause();
}

static uint32_t nal_direct(const void *start, uint64_t len)
{
	return len && smartmap_adopted(start, len) ? P3L_MD_DIRECT : 0;
}

/* ---- waking ---- */

static __attribute__((noinline)) void wake_slow(struct p3l_ni *l)
{
	if (p3_xchg(&l->sleeping, 0))
		syscall(SYS_futex, &l->sleeping, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static inline void wake(struct nal_ni *ni, struct p3l_ni *l)
{
	if (p3_unlikely(priv_of(ni)->fences))
		p3_fence();
	if (p3_unlikely(p3_load(&l->sleeping)))
		wake_slow(l);
}

/* ---- moving bytes ---- */

/* Copy @n bytes between own memory and the peer's: 0 or -errno. */
static int copy_piece(struct nal_ni *ni, uint32_t slot, bool put, uint64_t theirs, uint64_t ours, uint64_t n, bool direct)
{
	void *own = (void *)(uintptr_t)ours, *far = (void *)(uintptr_t)theirs;
	bool held = false;
	int rc = 0;

	if (slot != ni->l->slot) {
		if (!direct) {
			held = smartmap_enter((int)slot, far, n);
			if (!held) {
				if (!priv_of(ni)->cma)
					return -EAGAIN;
				return put ? smartmap_write((int)slot, far, own, n) :
					     smartmap_read((int)slot, own, far, n);
			}
		}
		far = smartmap_remote((int)slot, far);
		if (p3_unlikely(!far))
			rc = -EAGAIN;
	}
	if (p3_likely(!rc)) {
		if (p3_unlikely(n >= TOGETHER_MIN) && priv_of(ni)->together && slot != ni->l->slot &&
		    smartmap_adopted(own, n))
			nal_together_copy(ni, slot, ni->peer[slot].l, put, theirs, ours, far, n);
		else if (put)
			memmove(far, own, n);
		else
			memmove(own, far, n);
	}
	if (held)
		smartmap_leave((int)slot);
	return rc;
}

struct region {
	uint64_t start, iov;
	uint32_t iov_n;
	uint64_t off;
};

/* @n bytes between region @t of the peer's NI @l and region @o of ours. */
static int move(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, bool put, const struct region *t,
		const struct region *o, uint64_t n, bool direct)
{
	struct p3l_walk wt, wo;
	uint64_t at = 0, nt = 0, ao = 0, no = 0;

	if (!n)
		return 0;
	if (p3_likely(!t->iov && !o->iov))
		return copy_piece(ni, slot, put, t->start + t->off, o->start + o->off, n, direct);
	if (!p3l_walk_start(l, t->start, t->iov, t->iov_n, t->off, n, &wt) ||
	    !p3l_walk_start(ni->l, o->start, o->iov, o->iov_n, o->off, n, &wo))
		return -EFAULT;
	while (n) {
		uint64_t k;
		int rc;

		if ((!nt && !p3l_walk_next(&wt, &at, &nt)) || (!no && !p3l_walk_next(&wo, &ao, &no)))
			return -EFAULT;
		k = nt < no ? nt : no;
		rc = copy_piece(ni, slot, put, at, ao, k, direct);
		if (rc)
			return rc;
		at += k, nt -= k, ao += k, no -= k, n -= k;
	}
	return 0;
}

static uint32_t fail_of(int rc)
{
	return rc == 0 ? PTL_NI_OK : rc == -ESRCH ? PTL_NI_DIED_NP : PTL_NI_FAULT_NP;
}

/* ---- handing a copy to the owner ---- */

static void lock_word(struct nal_ni *ni, uint32_t *w)
{
	if (!ni->env.single)
		for (unsigned n = 0; !p3_cas32(w, 0, 1);)
			relax(++n);
}

static void unlock_word(struct nal_ni *ni, uint32_t *w)
{
	if (!ni->env.single)
		p3_store_rel(w, 0);
}

/* The target's memory is out of our reach: leave the op to its owner. false: no memory for the bounce buffer. */
static bool hand_over(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, struct p3l_op *op, const struct region *own,
		      const struct p3l_reply *reply)
{
	struct hand *h = malloc(sizeof(*h));
	struct region b;

	if (!h)
		return false;
	h->len = op->mlength ? op->mlength : 1;
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
	if (own) {
		b = (struct region){ (uintptr_t)h->bounce, 0, 0, 0 };
		move(ni, ni->l->slot, ni->l, true, &b, own, op->mlength, true);
	}
	op->peer_addr = (uintptr_t)h->bounce;
	op->handed = 1;
	lock_word(ni, &priv_of(ni)->hands_lock);
	h->next = priv_of(ni)->hands;
	priv_of(ni)->hands = h;
	unlock_word(ni, &priv_of(ni)->hands_lock);
	p3_store_rel(&op->state, P3L_OP_HAND);
	p3_fetch_add(&l->handed, 1);
	p3_fence();
	if (p3_load(&l->sleeping))
		wake_slow(l);
	return true;
}

/* Our handed operations that the owner has finished. */
static __attribute__((noinline)) void collect_hands(struct nal_ni *ni)
{
	struct hand **pp, *h;

	lock_word(ni, &priv_of(ni)->hands_lock);
	for (pp = &priv_of(ni)->hands; (h = *pp) != NULL;) {
		bool dead = !smartmap_alive((int)h->slot);

		if (p3_load_acq(&h->op->state) != P3L_OP_DONE && !dead) {
			pp = &h->next;
			continue;
		}
		*pp = h->next;
		if (h->get && !dead) {
			uint32_t fail = h->op->fail;

			h->reply.mlength = h->op->mlength;
			if (p3l_reply_begin(&ni->env, ni->l, &h->reply)) {
				struct region b = { (uintptr_t)h->bounce, 0, 0, 0 };
				struct region o = { h->reply.start, h->reply.iov, h->reply.iov_n, h->reply.off };

				move(ni, ni->l->slot, ni->l, false, &b, &o, h->reply.mlength, true);
				p3l_reply_end(&ni->env, ni->l, &h->reply, fail);
			}
		}
		p3_store_rel(&h->op->state, P3L_OP_IDLE);
		smartmap_free(h->bounce, h->len);
		free(h);
	}
	unlock_word(ni, &priv_of(ni)->hands_lock);
}

/* Exchange the bytes of region @t, of process @slot's NI @l, with @buf (@n bytes): 0 or -errno. */
static int swap_region(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, const struct region *t, char *buf, uint64_t n,
		       bool direct)
{
	struct p3l_swap locks;
	struct p3l_walk w;
	uint64_t at, len;
	int rc = 0;

	if (!p3l_walk_start(l, t->start, t->iov, t->iov_n, t->off, n, &w))
		return -EFAULT;
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

				if (!priv_of(ni)->cma || len > sizeof(new)) {
					rc = -EAGAIN;
					break;
				}
				memcpy(new, buf, len);
				rc = smartmap_read((int)slot, buf, far, len);
				if (!rc)
					rc = smartmap_write((int)slot, far, new, len);
				continue;
			}
			far = smartmap_remote((int)slot, far);
		}
		if (p3_likely(far != NULL))
			p3l_swap_bytes(far, buf, len);
		else
			rc = -EFAULT;
		if (held)
			smartmap_leave((int)slot);
	}
	p3l_swap_unlock(l, &locks);
	return rc;
}

/* Can we exchange there, or must its owner do it? Asked before a byte has changed. */
static bool may_swap(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, const struct region *t, uint64_t n, bool direct)
{
	struct p3l_walk w;
	uint64_t at, len;

	if (direct || slot == ni->l->slot || priv_of(ni)->cma)
		return true;
	if (!p3l_walk_start(l, t->start, t->iov, t->iov_n, t->off, n, &w))
		return true;		/* fails there */
	while (p3l_walk_next(&w, &at, &len))
		if (!smartmap_reachable((int)slot, (void *)(uintptr_t)at, len))
			return false;
	return true;
}

/* We are the owner: what we had goes to the bounce buffer @b of process @slot, what stands there to us. */
static int swap_handed(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, const struct p3l_op *op, const struct region *t,
		       const struct region *b)
{
	char buf[P3L_MAX_GETPUT];
	struct region own = { (uintptr_t)buf, 0, 0, 0 };
	int rc;

	if (op->mlength > sizeof(buf))
		return -EFAULT;
	rc = move(ni, slot, l, false, b, &own, op->mlength, true);
	if (!rc)
		rc = swap_region(ni, ni->l->slot, ni->l, t, buf, op->mlength, true);
	return rc ? rc : move(ni, slot, l, true, b, &own, op->mlength, true);
}

/* Copies that others have handed to us, or would like us to take part in. */
static __attribute__((noinline)) void serve_handed(struct nal_ni *ni)
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

			if (p3_load_acq(&op->state) != P3L_OP_HAND || op->md >= ni->l->max_md ||
			    !p3_cas32(&op->state, P3L_OP_HAND, P3L_OP_MOVE))
				continue;
			p = peer_of(ni, s);
			t = (struct region){ op->start, op->iov, op->iov_n, op->moff };
			b = (struct region){ op->peer_addr, 0, 0, 0 };
			/* seen from here the bounce buffer is the far side, our MD the own one */
			if (p && op->type == P3L_GETPUT)
				rc = swap_handed(ni, s, p->l, op, &t, &b);
			else
				rc = p ? move(ni, s, ni->l, op->type == P3L_GET, &b, &t, op->mlength, true) : -ESRCH;
			o = *op;		/* the record is its initiator's again once it has ended */
			if (p3l_target_end(&ni->env, ni->l, op, fail_of(rc)) && p)
				p3l_ack(&ni->env, p->l, (struct p3l_ref){ o.src_md, o.src_md_gen }, ni->l->slot, o.pt,
					o.match_bits, o.moff, o.rlength, o.mlength);
			if (p)
				wake(ni, p->l);
		}
	}
}

/* ---- inbox ---- */

/* Finish a lane message on NI @l, whose owner is process @slot. */
static void deliver(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, struct p3l_op *op, const struct p3l_data *data,
		    struct p3l_ni *src)
{
	char buf[P3L_LANE_MAX];
	struct region t = { op->start, op->iov, op->iov_n, op->moff };
	struct region o = { (uintptr_t)buf, 0, 0, 0 };
	uint64_t mlength = op->mlength, rlength = op->rlength, off = op->moff, bits = op->match_bits;
	struct p3l_ref md = { op->src_md, op->src_md_gen };
	uint32_t pt = op->pt;
	int rc = 0;

	if (p3_likely(slot == ni->l->slot && !op->iov)) {
		p3l_data_read(data, (char *)(uintptr_t)(op->start + op->moff), mlength);
	} else {
		p3l_data_read(data, buf, mlength);
		rc = move(ni, slot, l, true, &t, &o, mlength, op->mdflags & P3L_MD_DIRECT);
	}
	if (p3_unlikely(rc == -EAGAIN) && hand_over(ni, slot, l, op, &o, NULL))
		return;
	if (p3l_target_end(&ni->env, l, op, fail_of(rc)) && src) {
		p3l_ack(&ni->env, src, md, l->slot, pt, bits, off, rlength, mlength);
		wake(ni, src);
	}
}

/*
 * Take messages from lane @from of NI @l. As its owner: all of them, but of polled entries no more than a batch. As the
 * initiator: until the first for a polled entry. @locked: lane lock held; without it only those for polled entries, which
 * nobody but the owner takes.
 */
static void drain(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, struct p3l_lane_hdr *lane, uint32_t from,
		  struct p3l_sink *sink, bool locked)
{
	bool owner = slot == ni->l->slot;
	struct p3l_stats *stats = &p3l_row(l, ni->l->slot)->stats;
	unsigned polled = 0;
	struct p3l_data data;
	struct p3l_hdr h;
	int lines;

	h.src = (uint16_t)from;
	while ((lines = p3l_lane_peek(l, lane, &h, &data)) != 0) {
		struct p3l_ni *src = NULL;
		enum p3l_verdict v;
		struct p3l_op *op;
		bool promised;

		if (p3_unlikely(lines < 0)) {	/* nonsense: the lane cannot be read any further */
			p3l_count(&ni->env, &stats->corrupt, 1);
			p3l_count(&ni->env, &stats->drop_count, 1);
			p3l_lane_advance(l, lane, 1);
			continue;
		}
		promised = h.pt <= l->max_pt && p3l_pt_polled(l, h.pt);
		if (promised) {
			if (!owner || polled++ >= POLLED_BATCH || (sink && sink->got))
				break;		/* what is left can be handed over directly next time */
		} else if (p3_unlikely(!locked)) {
			break;
		}
		h.nid = l->nid;
		h.pid = nal_id(ni, from).pid;
		h.uid = ni->uid;
		h.jid = ni->jid;
		if (h.ack) {
			struct nal_peer *p = peer_of(ni, from);

			src = p ? p->l : NULL;
		}
		if (p3_likely(owner && h.rlength <= P3L_SHORT)) {
			struct p3l_short done;

			v = p3l_target_short(&ni->env, l, &h, &data, &done, sink);
			if (p3_unlikely(v == P3L_WAIT))
				break;
			if (p3_likely(v != P3L_OTHER)) {
				p3l_lane_advance(l, lane, (uint32_t)lines);
				p3l_lane_release(l, lane);
				stats->lane_msgs++;
				if (p3_unlikely(v == P3L_MATCHED && src && done.ack)) {
					p3l_ack(&ni->env, src, (struct p3l_ref){ h.md, h.md_gen }, l->slot, h.pt,
						h.match_bits, done.off, h.rlength, done.mlength);
					wake(ni, src);
				}
				continue;
			}
		}
		op = p3l_op_get(&ni->env, l);
		if (p3_unlikely(!op))
			break;
		op->lane = lane->head + 1;	/* should we die before we advance */
		v = p3l_target_begin(&ni->env, l, &h, op, promised);
		if (p3_unlikely(v == P3L_WAIT))
			break;
		p3l_lane_advance(l, lane, (uint32_t)lines);
		if (p3_likely(v == P3L_MATCHED))
			deliver(ni, slot, l, op, &data, src);
		p3l_lane_release(l, lane);
		stats->lane_msgs++;
	}
}

/* Lanes of ours with something at the head. */
static inline bool any_lane(struct nal_ni *ni)
{
	const struct p3l_ni *l = ni->l;

	for (uint32_t w = 0; w * 64 < l->n_slots; w++)
		for (uint64_t used = p3_load(&l->lanes_used[w]); used; used &= used - 1) {
			uint32_t s = w * 64 + (uint32_t)__builtin_ctzll(used);

			if (s < l->n_slots && p3l_lane_ready(l, p3l_lane(l, s)))
				return true;
		}
	return false;
}

/*
 * Take what is in our lanes. No lock is needed for a message of a polled entry at the head while we have one thread: an
 * initiator that empties its own lane stops there.
 */
static void drain_own(struct nal_ni *ni, struct p3l_sink *sink)
{
	struct p3l_ni *l = ni->l;

	for (uint32_t w = 0; w * 64 < l->n_slots; w++)
		for (uint64_t used = p3_load(&l->lanes_used[w]); used; used &= used - 1) {
			uint32_t s = w * 64 + (uint32_t)__builtin_ctzll(used), pt;
			struct p3l_lane_hdr *lane;
			bool lock;

			if (p3_unlikely(s >= l->n_slots))
				continue;
			lane = p3l_lane(l, s);
			if (!p3l_lane_ready(l, lane))
				continue;
			pt = p3l_lane_line(l, lane, lane->head)->pt;
			lock = !ni->env.single || pt > l->max_pt || !p3l_pt_polled(l, pt);
			if (lock && !p3l_lane_lock(&ni->env, l, lane, false))
				continue;
			drain(ni, l->slot, l, lane, s, sink, lock);
			priv_of(ni)->last_lane = s;
			priv_of(ni)->last = lane;
			if (lock)
				p3l_lane_unlock(lane);
		}
}

static inline void look_elsewhere(struct nal_ni *ni)
{
	struct priv *pv = priv_of(ni);

	if (p3_unlikely(p3_load(&ni->l->handed) != pv->handed_seen))
		serve_handed(ni);
	if (p3_unlikely(pv->hands != NULL))
		collect_hands(ni);
}

/* Initiators that would rather use the inbox: mark their lanes from now on, while there is room. */
static __attribute__((noinline)) void take_knocks(struct nal_ni *ni)
{
	struct priv *pv = priv_of(ni);
	struct p3l_ni *l = ni->l;

	lock_word(ni, &pv->hot_lock);
	for (uint32_t w = 0; w < (l->n_slots + 63) / 64; w++) {
		uint64_t k = p3_load(&l->knock[w]) ? p3_xchg(&l->knock[w], 0) : 0;

		for (; k; k &= k - 1) {
			uint32_t s = w * 64 + (uint32_t)__builtin_ctzll(k), i;

			for (i = 0; i < pv->n_hot && pv->hot[i].slot != s; i++)
				;
			if (s >= l->n_slots || i >= HOT_MAX)
				continue;
			if (i == pv->n_hot) {
				pv->hot[i].slot = s;
				pv->hot[i].lane = p3l_lane(l, s);
				pv->n_hot++;
			}
			pv->hot[i].idle = 0;
			p3_fetch_or(&l->lanes_used[w], (uint64_t)1 << (s & 63));
		}
	}
	unlock_word(ni, &pv->hot_lock);
}

static inline bool knocked(const struct p3l_ni *l)
{
	uint64_t k = p3_load(&l->knock[0]);

	for (uint32_t w = 1; w < (l->n_slots + 63) / 64; w++)
		k |= p3_load(&l->knock[w]);
	return k != 0;
}

/* Mark the hot lanes; true: one of them has a message. Leaving (AWAY), idle ones are dropped from the set. */
static inline bool mark_hot(struct nal_ni *ni, uint32_t state)
{
	struct priv *pv = priv_of(ni);
	bool news = false;

	lock_word(ni, &pv->hot_lock);
	for (uint32_t i = 0; i < pv->n_hot; i++) {
		if (!p3l_lane_mark(ni->l, pv->hot[i].lane, state)) {
			pv->hot[i].idle = 0;
			news = true;
		} else if (state == P3L_W_AWAY && p3_unlikely(++pv->hot[i].idle > HOT_IDLE)) {
			pv->hot[i--] = pv->hot[--pv->n_hot];
		}
	}
	unlock_word(ni, &pv->hot_lock);
	return news;
}

/*
 * Leave a polling call: AWAY on every hot lane. A message found instead is taken first. A lane that stays full is being
 * emptied by its initiator, or its head is for a polled entry: neither needs us now.
 */
static inline void leave(struct nal_ni *ni)
{
	for (int tries = 0; p3_unlikely(mark_hot(ni, P3L_W_AWAY)) && tries < 4; tries++)
		drain_own(ni, NULL);
}

/*
 * A message after a silence is often answered: fetch the line that an answer to it would take, while it is being read.
 * Where its owner marks lines, the next one is in its cache.
 */
static inline void expect_reply(struct nal_ni *ni, uint32_t slot)
{
	struct nal_peer *p = &ni->peer[slot];

	if (p->polls)
		p3_prefetchw(p3l_lane_line(p->l, p->lane, p->tx.tail));
}

/*
 * The lane that gave the last message, straight: there may be more, and whoever waits in a call looks there often. Every
 * STREAK-th time the others have their turn.
 */
static inline bool look_there(struct nal_ni *ni, struct p3l_sink *sink, int looks)
{
	struct priv *pv = priv_of(ni);
	struct p3l_lane_hdr *lane = pv->last;

	if (!sink || p3_unlikely(!lane) || ++pv->streak % STREAK == 0)
		return false;
	while (!p3l_lane_ready(ni->l, lane))
		if (--looks <= 0)
			return false;
	if (!pv->burst)
		expect_reply(ni, pv->last_lane);
	if (p3l_inbox_hot(&ni->env, ni->l, lane, pv->last_lane, sink, pv->burst > 2) <= 0)
		return false;
	pv->burst++;
	return true;
}

static void nal_progress(struct nal_ni *ni, uint32_t eq, struct p3l_sink *sink)
{
	struct priv *pv = priv_of(ni);

	(void)eq;
	if (p3_likely(!pv->n_hot) && look_there(ni, sink, 1))
		return;
	look_elsewhere(ni);
	if (p3_unlikely((++pv->looks & (REAP_LOOKS - 1)) == 0))
		p3l_reap(&ni->env, ni->l);	/* who only polls must see what the dead left, too */
	if (p3_unlikely(knocked(ni->l)))
		take_knocks(ni);
	if (pv->n_hot) {
		mark_hot(ni, P3L_W_POLL);
		if (look_there(ni, sink, pv->attending ? 32 : 8))	/* so that we are seldom found away */
			goto out;
	}
	drain_own(ni, sink);
	if (!sink || !sink->got)
		pv->burst = 0;
out:
	if (pv->n_hot && !pv->attending)
		leave(ni);
}

static void nal_attend(struct nal_ni *ni, bool on)
{
	struct priv *pv = priv_of(ni);
	int n = on ? 1 : -1;

	if (ni->env.single)
		n = pv->attending += n;
	else
		n += p3_fetch_add(&pv->attending, n);
	if (!n && pv->n_hot)
		leave(ni);
}

static void nal_wait(struct nal_ni *ni, int64_t ns, bool (*ready)(void *), void *arg)
{
	struct p3l_ni *l = ni->l;
	struct timespec ts;
	int64_t slice = 100000000;		/* look at least ten times a second whether somebody has died */

	if (ns >= 0 && ns < slice)
		slice = ns;
	ts = (struct timespec){ slice / 1000000000, slice % 1000000000 };
	p3_fetch_add(&priv_of(ni)->sleepers, 1);
	p3_store(&l->sleeping, 1);
	smartmap_membarrier();			/* pairs with the look in wake() */
	look_elsewhere(ni);
	if (any_lane(ni))
		drain_own(ni, NULL);
	if (!ready(arg) && !any_lane(ni))
		syscall(SYS_futex, &l->sleeping, FUTEX_WAIT, 1, &ts, NULL, 0);
	if (p3_fetch_add(&priv_of(ni)->sleepers, -1) == 1)	/* another thread may sleep on: its word stays */
		p3_store(&l->sleeping, 0);
	p3l_reap(&ni->env, l);
}

/* ---- put and get ---- */

/* Our messages in the target's lane go first. False: one for a polled entry is in the way. */
static bool flush_lane(struct nal_ni *ni, uint32_t slot, struct nal_peer *p)
{
	struct p3l_lane_hdr *lane;
	bool empty;

	if (!p->tx.used)
		return true;
	lane = p->lane;
	if (p3_load_acq(&lane->head) == p->tx.tail)
		return true;
	p3l_lane_lock(&ni->env, p->l, lane, true);
	drain(ni, slot, p->l, lane, ni->l->slot, NULL, true);
	empty = lane->head == p->tx.tail;
	p3l_lane_unlock(lane);
	return empty;
}

static __attribute__((noinline)) void gather_iov(struct nal_ni *ni, const struct p3l_send *s, char *buf)
{
	struct region o = { s->start, s->iov, s->iov_n, s->loff };
	struct region b = { (uintptr_t)buf, 0, 0, 0 };

	move(ni, ni->l->slot, ni->l, true, &b, &o, s->len, true);
}

/*
 * Bytes of a send in one piece: in place, or gathered into @buf. The usual case must not read start and iov as one: just
 * written one by one, they would keep the processor waiting until its queue of stores is empty.
 */
static inline const void *gather(struct nal_ni *ni, const struct p3l_send *s, char *buf)
{
	if (p3_likely(!s->iov))
		return (const void *)(uintptr_t)(s->start + s->loff);
	gather_iov(ni, s, buf);
	return buf;
}

static uint64_t length_of(const struct nal_ni *ni, const struct p3l_send *s)
{
	if (s->len != P3L_WHOLE)
		return s->len;
	return s->md.idx < ni->l->max_md ? p3l_md(ni->l, s->md.idx)->length : 0;
}

/*
 * We have left a message and the owner was not inside a polling call. If it was there before (AWAY) it may be back at
 * once: its mark behind our message says that it has taken it. Otherwise we do its work.
 */
static __attribute__((noinline)) void not_polling(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, uint32_t was)
{
	struct p3l_lane_hdr *lane = p->lane;
	struct p3l_line *next = p3l_lane_line(p->l, lane, p->tx.tail);

	for (int i = 0; was == P3L_W_AWAY && i < PATIENCE; i++) {
		uint32_t w;

		p3_pause();
		if (i < FIRST_LOOK)	/* looking takes the line from the owner, who is about to write it */
			continue;
		w = p3_load_acq(&next->word);
		if (w == p3l_word(P3L_W_POLL, p->tx.tail) || w == p3l_word(P3L_W_AWAY, p->tx.tail))
			return;
	}
	flush_lane(ni, slot, p);
	p->polls = false;
	p->small = p->polled;
}

static int put_inbox(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, struct p3l_hdr *h, struct p3l_send *s,
		     bool polled)
{
	char buf[P3L_LANE_MAX];
	int rc = p3l_send_begin(&ni->env, ni->l, s);
	uint32_t was;

	if (p3_unlikely(rc != PTL_OK))
		return rc;
	h->rlength = s->len;
	was = p3l_lane_put(p->l, ni->l->slot, &p->tx, h, gather(ni, s, buf), !polled);
	if (!polled && was != P3L_W_POLL)
		not_polling(ni, slot, p, was);
	p3l_send_end(&ni->env, ni->l, s, PTL_NI_OK);
	wake(ni, p->l);
	return PTL_OK;
}

static int put_direct(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, struct p3l_hdr *h, struct p3l_send *s)
{
	struct p3l_ni *l = p->l;
	struct p3l_op *op;
	uint64_t mlength = 0, off = 0;
	bool ack = false;
	int rc = 0;

	flush_lane(ni, slot, p);
	op = p3l_op_get(&ni->env, l);
	if (p3_unlikely(!op))
		return PTL_NO_SPACE;
	rc = p3l_send_begin(&ni->env, ni->l, s);
	if (p3_unlikely(rc != PTL_OK)) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		return rc;
	}
	h->rlength = s->len;
	if (p3l_target_begin(&ni->env, l, h, op, false) == P3L_MATCHED) {
		struct region t = { op->start, op->iov, op->iov_n, op->moff };
		struct region o = { s->start, s->iov, s->iov_n, s->loff };

		mlength = op->mlength;
		off = op->moff;
		rc = move(ni, slot, l, true, &t, &o, mlength, op->mdflags & P3L_MD_DIRECT);
		if (p3_unlikely(rc == -EAGAIN) && hand_over(ni, slot, l, op, &o, NULL))
			rc = 0;
		else
			ack = p3l_target_end(&ni->env, l, op, fail_of(rc));
		p3l_row(l, ni->l->slot)->stats.direct_msgs++;
		wake(ni, l);
	}
	p3l_send_end(&ni->env, ni->l, s, fail_of(rc));
	if (ack)
		p3l_ack(&ni->env, ni->l, s->md, slot, h->pt, h->match_bits, off, h->rlength, mlength);
	return PTL_OK;
}

/* Nobody there: the send completes with a failure (SPEC-NOTES: unreachable target). */
static int put_nowhere(struct nal_ni *ni, struct p3l_send *s)
{
	int rc = p3l_send_begin(&ni->env, ni->l, s);

	if (rc == PTL_OK)
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_FAIL);
	return rc;
}

/* After a direct put: would the inbox have done? The owner's marks say so; without any we knock, once. */
static inline void look_at_owner(struct nal_ni *ni, struct nal_peer *p)
{
	struct p3l_lane_hdr *lane = p->lane;
	uint32_t w = p3_load(&p3l_lane_line(p->l, lane, p->tx.tail)->word), me = ni->l->slot;

	if (w == p3l_word(P3L_W_POLL, p->tx.tail) || w == p3l_word(P3L_W_AWAY, p->tx.tail))
		p->polls = p->small = true;
	else if (!(p3_load(&p->l->knock[me >> 6]) >> (me & 63) & 1))
		p3_fetch_or(&p->l->knock[me >> 6], (uint64_t)1 << (me & 63));
}

/* Has the owner taken our last message to a polled entry? */
static bool polled_gone(struct nal_ni *ni, const struct nal_peer *p)
{
	return (int32_t)(p3_load_acq(&p->lane->head) - p->polled_end) >= 0;
}

static int nal_put(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s)
{
	struct nal_peer *p = peer_of(ni, slot);
	bool polled;
	int rc;

	if (p3_unlikely(!p || !p3_load(&p->l->up)))
		return put_nowhere(ni, s);
	lock_word(ni, &p->lock);
	polled = h->pt < P3L_MAX_PT && p3l_pt_polled(p->l, h->pt);
	/* an ordinary put never goes behind a polled one: it would wait with it, and a later direct put overtake it */
	if (polled || (p->polls && (!p->polled || polled_gone(ni, p)))) {
		uint64_t len = length_of(ni, s);
		bool fits = len <= (polled ? P3L_LANE_MAX : priv_of(ni)->inbox_max) && h->pt < 256 &&
			    p3l_lane_room(p->l, ni->l->slot, &p->tx, len);

		if (p3_likely(fits)) {
			s->len = len;		/* what there is room for, whatever another thread makes of the MD */
			rc = put_inbox(ni, slot, p, h, s, polled);
			if (polled) {
				p->polled = p->small = true;
				p->polled_end = p->tx.tail;
			}
			goto out;
		}
		if (polled) {
			rc = len > P3L_LANE_MAX ? PTL_MD_ILLEGAL : PTL_NO_SPACE;
			goto out;
		}
	}
	rc = put_direct(ni, slot, p, h, s);
	if (slot != ni->l->slot)
		look_at_owner(ni, p);
out:
	unlock_word(ni, &p->lock);
	return rc;
}

/*
 * The usual small put, straight: as nal_put(), put_inbox(), p3l_send_begin() and p3l_send_end() together would do it. What
 * differs in any point is left to them.
 */
static bool nal_put_small(struct nal_ni *ni, uint32_t slot, struct p3l_ref ref, uint64_t loff, uint64_t len, uint32_t pt,
			  uint64_t match_bits, uint64_t hdr_data)
{
	uint32_t self = ni->l->slot, was;
	const struct p3l_md *md;
	struct p3l_stats *stats;
	struct nal_peer *p;
	struct p3l_ni *l;
	bool polled;

	if (p3_unlikely(slot >= ni->n_peers || pt >= P3L_MAX_PT))
		return false;
	p = &ni->peer[slot];
	l = p->l;
	if (p3_unlikely(!l))
		return false;
	polled = p3l_pt_polled(l, pt);
	if (!polled && (!p->polls || (p->polled && !polled_gone(ni, p))))
		return false;
	md = p3l_md(ni->l, ref.idx);
	if (p3_unlikely(!ni->env.single || slot == self || ref.idx >= ni->l->max_md || !p3_load(&l->up) ||
			(p3_load_acq(&md->flags) & (P3L_MD_PLAIN | P3L_MD_USED)) != (P3L_MD_PLAIN | P3L_MD_USED) ||
			(p3_load(&md->gen) & P3L_GEN_MASK) != ref.gen))
		return false;
	if (len == P3L_WHOLE)
		len = md->length;
	if (p3_unlikely(loff > md->length || len > md->length - loff || !p3l_one_line(match_bits, hdr_data, len) ||
			!p3l_lane_room_line(l, p->lane, &p->tx)))
		return false;
	was = p3l_lane_put_line(l, p->lane, self, &p->tx, pt, match_bits, hdr_data,
				(const void *)(uintptr_t)(md->start + loff), (uint32_t)len, !polled);
	if (polled) {
		p->polled = true;
		p->polled_end = p->tx.tail;
	} else if (was != P3L_W_POLL) {
		not_polling(ni, slot, p, was);
	}
	stats = &p3l_row(ni->l, self)->stats;
	stats->send_count++;
	stats->send_length += len;
	wake(ni, l);
	return true;
}

static int nal_get(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct nal_peer *p = peer_of(ni, slot);
	struct p3l_md *md;
	struct p3l_ni *l;
	struct p3l_op *op;
	uint32_t pt;
	bool xt;
	int rc;

	rc = p3l_md_lock(&ni->env, ni->l, r->md, &pt);
	if (p3_unlikely(rc != PTL_OK))
		return rc;
	md = p3l_md(ni->l, r->md.idx);
	if (r->mlength == P3L_WHOLE)
		r->mlength = md->length;
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT))
		rc = PTL_MD_INVALID;
	else if (r->off > md->length || r->mlength > md->length - r->off)
		rc = PTL_MD_ILLEGAL;
	xt = md->flags & P3L_MD_XT;
	p3l_unlock(ni->l, pt);
	if (p3_unlikely(rc != PTL_OK) || p3_unlikely(!p || !p3_load(&p->l->up))) {
		if (rc == PTL_OK && xt)
			p3l_get_sent(&ni->env, ni->l, r->md, r->off, r->mlength, h, PTL_NI_FAIL);
		return rc;			/* nobody there: no reply ever comes */
	}
	l = p->l;
	h->rlength = r->rlength = r->mlength;
	r->target_slot = slot;
	lock_word(ni, &p->lock);
	flush_lane(ni, slot, p);
	op = p3l_op_get(&ni->env, l);
	if (p3_unlikely(xt) && op)
		p3l_get_sent(&ni->env, ni->l, r->md, r->off, r->mlength, h, PTL_NI_OK);
	if (p3_unlikely(!op)) {
		rc = PTL_NO_SPACE;
	} else if (h->pt < P3L_MAX_PT && p3l_pt_polled(l, h->pt)) {
		p3_store_rel(&op->state, P3L_OP_IDLE);	/* a polled entry takes puts only */
		p3l_count(&ni->env, &p3l_row(l, ni->l->slot)->stats.drop_count, 1);
	} else if (p3l_target_begin(&ni->env, l, h, op, false) == P3L_MATCHED) {
		struct region t = { op->start, op->iov, op->iov_n, op->moff };
		bool direct = op->mdflags & P3L_MD_DIRECT;

		r->mlength = op->mlength;
		if (p3_unlikely(slot != ni->l->slot && !direct && !priv_of(ni)->cma && op->mlength &&
				!smartmap_reachable((int)slot, (void *)(uintptr_t)(t.start + t.off), op->mlength)) &&
		    hand_over(ni, slot, l, op, NULL, r))
			goto out;
		if (p3l_reply_begin(&ni->env, ni->l, r)) {
			struct region o = { r->start, r->iov, r->iov_n, r->off };
			uint32_t fail = fail_of(move(ni, slot, l, false, &t, &o, r->mlength, direct));

			p3l_target_end(&ni->env, l, op, fail);
			p3l_reply_end(&ni->env, ni->l, r, fail);
		} else {
			p3l_target_end(&ni->env, l, op, PTL_NI_OK);
		}
		wake(ni, l);
	}
out:
	unlock_word(ni, &p->lock);
	return rc;
}

/* Old bytes, or what is left of them, into the get MD. */
static void swap_reply(struct nal_ni *ni, struct p3l_reply *r, const char *buf, uint32_t fail)
{
	struct region b = { (uintptr_t)buf, 0, 0, 0 }, o;

	o = (struct region){ r->start, r->iov, r->iov_n, r->off };
	if (!fail)
		fail = fail_of(move(ni, ni->l->slot, ni->l, false, &b, &o, r->mlength, true));
	p3l_reply_end(&ni->env, ni->l, r, fail);
}

static void swap_at_target(struct nal_ni *ni, uint32_t slot, struct nal_peer *p, struct p3l_op *op, struct p3l_send *s,
			   struct p3l_reply *r)
{
	struct region t = { op->start, op->iov, op->iov_n, op->moff };
	struct region o = { s->start, s->iov, s->iov_n, s->loff };
	bool direct = op->mdflags & P3L_MD_DIRECT;
	char buf[P3L_MAX_GETPUT];
	struct region b = { (uintptr_t)buf, 0, 0, 0 };
	uint32_t fail;

	r->mlength = op->mlength;
	if (p3_unlikely(!may_swap(ni, slot, p->l, &t, op->mlength, direct)) && hand_over(ni, slot, p->l, op, &o, r)) {
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_OK);	/* the bytes are in the bounce buffer */
		return;
	}
	move(ni, ni->l->slot, ni->l, true, &b, &o, op->mlength, true);
	fail = fail_of(swap_region(ni, slot, p->l, &t, buf, op->mlength, direct));
	p3l_send_end(&ni->env, ni->l, s, fail);
	if (p3l_reply_begin(&ni->env, ni->l, r)) {
		p3l_target_end(&ni->env, p->l, op, fail);
		swap_reply(ni, r, buf, fail);
	} else {
		p3l_target_end(&ni->env, p->l, op, fail);
	}
	wake(ni, p->l);
}

static int nal_getput(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r)
{
	struct nal_peer *p = peer_of(ni, slot);
	struct p3l_op *op;
	int rc;

	if (p3_unlikely(!p || !p3_load(&p->l->up)))
		return put_nowhere(ni, s);
	lock_word(ni, &p->lock);
	flush_lane(ni, slot, p);
	op = p3l_op_get(&ni->env, p->l);
	if (p3_unlikely(!op)) {
		rc = PTL_NO_SPACE;
		goto out;
	}
	rc = p3l_send_begin(&ni->env, ni->l, s);
	if (p3_unlikely(rc != PTL_OK)) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		goto out;
	}
	h->rlength = r->rlength = s->len;
	r->target_slot = slot;
	if (h->pt < P3L_MAX_PT && p3l_pt_polled(p->l, h->pt)) {	/* it takes puts only */
		p3_store_rel(&op->state, P3L_OP_IDLE);
		p3l_count(&ni->env, &p3l_row(p->l, ni->l->slot)->stats.drop_count, 1);
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_OK);
	} else if (p3l_target_begin(&ni->env, p->l, h, op, false) == P3L_MATCHED) {
		swap_at_target(ni, slot, p, op, s, r);
	} else {
		p3l_send_end(&ni->env, ni->l, s, PTL_NI_OK);
	}
out:
	unlock_word(ni, &p->lock);
	return rc;
}

/* ---- start and stop ---- */

/* Leave the job on this node. @quiet: all ranks are past their last look at our region and table. */
static void leave_job(struct nal_ni *ni, bool quiet)
{
	struct priv *pv = priv_of(ni);

	smartmap_publish(ROOT_KEY, NULL);
	if (quiet && ni->l)
		smartmap_free(ni->l, pv->region_len);
	if (quiet && !smartmap_rank())
		smartmap_free(pv->table, sizeof(*pv->table) + ni->n_peers * sizeof(uint32_t));
	free(ni->peer);
	free(pv);
	ni->l = NULL;
	ni->peer = NULL;
	ni->nal_priv = NULL;
	smartmap_fini();
}

/* Collective: the ranks of the node meet, and the first makes the table. */
static int join(struct nal_ni *ni)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	const struct p3_rt_job *job = p3_rt_get(NULL);
	struct smartmap_job sj = { .rank = job->local_rank, .size = job->local_size, .name = job->name,
				   .adopt = k->smartmap == P3_NO ? 0 : (uint32_t)k->adopt,
				   .timeout_ms = (int)k->init_timeout_s * 1000 };
	struct priv *pv = calloc(1, sizeof(*pv));
	int32_t pids[SMARTMAP_MAX_PEERS];
	int rc;

	for (uint32_t i = 0; job->real_pids && i < job->local_size; i++)
		pids[i] = (int32_t)job->pid[job->local_ranks[i]];
	if (job->real_pids)
		sj.pids = pids;
	ni->peer = calloc(job->local_size, sizeof(*ni->peer));
	if (!pv || !ni->peer) {
		p3_error("no memory for the list of %u ranks", job->local_size);
		rc = PTL_NO_SPACE;
		goto err;
	}
	memcpy(sj.key, job->key, sizeof(sj.key));
	rc = smartmap_init(&sj);
	if (rc) {
		p3_error("joining the job on this node failed: %s%s%s", strerror(-rc),
			 *smartmap_why(SMARTMAP_F_WINDOWS) ? "; " : "", smartmap_why(SMARTMAP_F_WINDOWS));
		rc = rc == -ENOMEM ? PTL_NO_SPACE : PTL_FAIL;
		goto err;
	}
	pv->table = smartmap_shared(sizeof(*pv->table) + job->local_size * sizeof(uint32_t));
	if (!pv->table) {
		rc = errno == ENOMEM ? PTL_NO_SPACE : PTL_FAIL;
		if (rc == PTL_FAIL)
			p3_error("another rank ended while the job started");
		else if (!job->local_rank)		/* it is the one, and all know */
			p3_error("no memory for the table of pids");
		smartmap_fini();
		goto err;
	}
	ni->n_peers = job->local_size;
	ni->nal_priv = pv;
	ni->env.self = job->local_rank + 1;
	ni->env.alive = alive;
	ni->env.relax = relax;
	ni->pids = pv->pids = pv->table->pid;
	pv->inbox_max = (uint32_t)k->inbox_max;
	pv->cma = k->cma != P3_NO && smartmap_has(SMARTMAP_F_CMA);
	pv->together = !p3_rt_oversubscribed();
	pv->fences = job->local_size > 1 && !smartmap_membarrier_ok();
	return PTL_OK;
err:
	free(ni->peer);
	free(pv);
	ni->peer = NULL;
	return rc;
}

static bool pid_taken(const struct nal_ni *ni, uint32_t slots, uint32_t pid)
{
	for (uint32_t i = 0; i < slots; i++)
		if (i != ni->env.self - 1 && p3_load(&ni->pids[i]) == pid)
			return true;
	return false;
}

/* What the user said he must have: PTL_SMARTMAP=yes, PTL_CMA=yes. PTL_FAIL with a sentence in @why. */
static int demand(char *why, size_t len)
{
	static const struct { long part; enum smartmap_feature f; } adopt[] = {
		{ SMARTMAP_ADOPT_DATA, SMARTMAP_F_DATA }, { SMARTMAP_ADOPT_STACK, SMARTMAP_F_STACK },
		{ SMARTMAP_ADOPT_HEAP, SMARTMAP_F_HEAP },
	};
	const struct p3_knobs *k = p3_knobs_get(NULL);

	if (smartmap_size() == 1)
		return PTL_OK;
	for (size_t i = 0; k->smartmap == P3_YES && i < sizeof(adopt) / sizeof(*adopt); i++)
		if ((k->adopt & adopt[i].part) && !smartmap_has(adopt[i].f)) {
			snprintf(why, len, "PTL_SMARTMAP=yes cannot be had: %s (PTL_ADOPT says which parts you want)",
				 smartmap_why(adopt[i].f));
			return PTL_FAIL;
		}
	if (k->cma == P3_YES && !smartmap_has(SMARTMAP_F_CMA)) {
		snprintf(why, len, "PTL_CMA=yes cannot be had: %s", smartmap_why(SMARTMAP_F_CMA));
		return PTL_FAIL;
	}
	return PTL_OK;
}

/*
 * The start of all: the pids as wanted, and whether somebody cannot start, stand in the table at the first barrier. At
 * the second the refused ones have gone from it, so that nobody can send to them. Of several that want one pid the first
 * gets it. @rc in: own state, with a sentence in @why, which the first says for all.
 */
static bool start_together(struct nal_ni *ni, uint32_t pid, int *rc, const char *why)
{
	struct pid_table *t = priv_of(ni)->table;
	uint32_t slot = ni->env.self - 1;

	p3_store(&t->pid[slot], pid);
	if (*rc != PTL_OK && p3_cas32(&t->failed, 0, (uint32_t)*rc))
		p3_error("%s", why);
	if (smartmap_barrier())
		return false;
	*rc = (int)p3_load_acq(&t->failed);
	if (*rc == PTL_OK && pid_taken(ni, slot, pid))
		*rc = PTL_PID_INVALID;
	if (*rc == PTL_OK)
		smartmap_publish(ROOT_KEY, ni->l);
	else
		p3_store(&t->pid[slot], PTL_PID_ANY);
	return !smartmap_barrier();
}

/* Another pid, after the first one was refused: the others have started and take no part. */
static int claim_pid(struct nal_ni *ni, uint32_t pid)
{
	struct pid_table *t = priv_of(ni)->table;
	uint32_t slot = ni->env.self - 1;
	int rc = PTL_PID_INVALID;

	if (!p3_cas32(&t->lock, 0, ni->env.self))
		p3l_lock_slow(&ni->env, ni->l, &t->lock, -1);
	if (!pid_taken(ni, ni->n_peers, pid)) {
		smartmap_publish(ROOT_KEY, ni->l);
		p3_store_rel(&t->pid[slot], pid);
		rc = PTL_OK;
	}
	p3_store_rel(&t->lock, 0);
	return rc;
}

static int nal_start(struct nal_ni *ni, const struct p3l_setup *setup)
{
	bool again = ni->nal_priv != NULL;
	struct p3l_setup s = *setup;
	char why[400] = "";
	uint64_t len;
	int rc = again ? PTL_OK : join(ni);

	if (rc != PTL_OK)
		return rc;
	s.n_slots = ni->n_peers;
	s.slot = ni->env.self - 1;
	len = priv_of(ni)->region_len = p3l_ni_size(&s);
	if (!again)
		rc = demand(why, sizeof(why));
	if (rc == PTL_OK)
		ni->l = smartmap_alloc(len, 4096);
	if (ni->l) {
		p3l_ni_setup(ni->l, &s);
	} else if (rc == PTL_OK) {
		snprintf(why, sizeof(why), "no memory for the Portals state (%llu MiB of address space)",
			 (unsigned long long)len >> 20);
		rc = PTL_NO_SPACE;
	}
	if (again) {
		if (rc == PTL_OK)
			rc = claim_pid(ni, s.pid);
		else
			p3_error("%s", why);
	} else if (!start_together(ni, s.pid, &rc, why)) {
		p3_error("another rank ended while the job started");
		leave_job(ni, false);
		return PTL_FAIL;
	} else if (rc != PTL_OK && rc != PTL_PID_INVALID) {
		leave_job(ni, true);
	}
	if (rc != PTL_OK && ni->l) {		/* refused: nobody knows this region */
		smartmap_free(ni->l, len);
		ni->l = NULL;
	}
	return rc;
}

static void nal_stop(struct nal_ni *ni)
{
	if (ni->l)
		p3_store_rel(&ni->l->up, 0);
	leave_job(ni, !smartmap_barrier());	/* nobody touches our state behind this, unless somebody died */
}

const struct nal_ops nal_smartmap = {
	.name = "smartmap",
	.start = nal_start,
	.stop = nal_stop,
	.find = nal_find,
	.id = nal_id,
	.dist = nal_dist,
	.put = nal_put,
	.put_small = nal_put_small,
	.get = nal_get,
	.getput = nal_getput,
	.direct = nal_direct,
	.progress = nal_progress,
	.attend = nal_attend,
	.wait = nal_wait,
};

// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_far.c - operations between nodes: an interface's frame engine in the kernel
 *
 * Each NI that has other nodes owns an engine (nal/frame, as it is in user space), which is one more mover in its
 * region, with a row of its own. It runs in system calls, in the softirq that brings a frame, in a timer, and in a
 * worker: always with link.lock, bottom halves off. So what comes is matched and copied where it comes, in the
 * softirq, and nobody is woken who need not be.
 *
 * Whether a peer is there still: its kernel answers for a process that has ended (nobody), or said so (a frame with
 * BYE); one whose machine does not answer any more is given up after peer_timeout seconds. Where something waits for
 * it, be it the rest of what it sends, it is asked, and a kernel answers that at once, whatever waits for a page there.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "gptl_link.h"

static unsigned int peer_timeout = 60;
module_param(peer_timeout, uint, 0644);
MODULE_PARM_DESC(peer_timeout, "seconds until another node that does not answer is given up (60)");

#define RTO_NS		(10 * NSEC_PER_MSEC)	/* until a frame is sent again, doubled up to 64 times */
#define DELAY_NS	(NSEC_PER_MSEC / 2)	/* until an acknowledgement goes by itself */
#define HELD		(4 * FR_WINDOW)		/* frames of a peer that wait for a page, and those behind them */

static DEFINE_MUTEX(net_lock);		/* GPTL_NET, GPTL_FAR: once each */

static struct gptl_link *link_of(struct gptl_place *at)
{
	return container_of(at, struct gptl_link, at);
}

/* ---- between engine and wire; lock held ---- */

static int send(void *ctx, struct fr_peer *p, const u8 *hdr, const void *payload, u32 len)
{
	struct gptl_link *k = ctx;
	struct gptl_node *g = p->link;

	g->seal = gptl_eth_send(&k->at, g->mac, hdr, payload, len);
	return 0;			/* or lost on its way: the same */
}

static const struct fr_link eth_link = { .send = send, .lossy = true };

static void *more(void *arg)
{
	struct gptl_link *k = arg;
	struct gptl_block *b = k->spare;

	if (!b)
		return NULL;
	k->spare = NULL;
	b->next = k->blocks;
	k->blocks = b;
	return b->bytes;
}

/* The timer fires within @ns. */
static void arm(struct gptl_link *k, s64 ns)
{
	if (k->stopped || (hrtimer_is_queued(&k->timer) && ktime_to_ns(hrtimer_get_remaining(&k->timer)) <= ns))
		return;
	hrtimer_start(&k->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

static void told(struct gptl_link *k)
{
	gptl_pins_let(k->cur);
	k->cur = NULL;
	if (k->e->logged) {
		k->e->logged = false;
		gptl_wake(k->ni);
	}
	if (wq_has_sleeper(&k->idle))
		wake_up_all(&k->idle);
}

/* After something with @g. */
void gptl_link_leave(struct gptl_link *k, struct gptl_node *g)
{
	if (g && g->p)
		fr_tell(k->e, g->p);
	told(k);
	arm(k, DELAY_NS);
	spin_unlock_bh(&k->lock);
}

/* ---- peers ---- */

static u32 id_hash(ptl_process_id_t id)
{
	return (u32)(((u64)id.nid << 32 | id.pid) * 0x9e3779b97f4a7c15u >> 32);
}

static struct gptl_node *node_of(const struct gptl_link *k, u32 nid, u32 pid)
{
	ptl_process_id_t id = { nid, pid };
	u32 i, at;

	if (!k->node)
		return NULL;
	for (i = id_hash(id);; i++) {
		at = k->hash[i & k->hash_mask];
		if (!at)
			return NULL;
		if (k->node[at - 1].id.nid == nid && k->node[at - 1].id.pid == pid)
			return &k->node[at - 1];
	}
}

static void gone(struct gptl_link *k, struct gptl_node *g)
{
	if (g->p)
		fr_gone(k->e, g->p);
	__skb_queue_purge(&g->held);
}

/* Makes the engine's peer. False: no memory. May sleep. */
bool gptl_peer_make(struct gptl_link *k, struct gptl_node *g)
{
	struct fr_peer *p;

	if (READ_ONCE(g->p))
		return true;
	p = kvzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p) {
		WRITE_ONCE(g->wanted, false);	/* its next frame wants it again */
		return false;
	}
	gptl_link_enter(k);
	if (!g->p) {
		p->link = g;
		fr_open(k->e, p, g->id, g->uid, g->jid, k->ni->job->size + (u32)(g - k->node));
		WRITE_ONCE(g->p, p);
		if (g->id.pid == PTL_PID_ANY || !k->at.dev)	/* it never was, or the wire is not any more */
			fr_gone(k->e, p);
		p = NULL;
	}
	WRITE_ONCE(g->wanted, false);
	gptl_link_leave(k, g);
	kvfree(p);
	return true;
}

struct gptl_node *gptl_far_find(struct gptl_ni *ni, u32 slot, u32 nid, u32 pid)
{
	struct gptl_link *k = smp_load_acquire(&ni->link);
	struct gptl_node *g;
	u32 n = k ? smp_load_acquire(&k->n) : 0;

	if (slot < ni->job->size || slot - ni->job->size >= n)
		return NULL;
	g = &k->node[slot - ni->job->size];
	return g->id.nid == nid && g->id.pid == pid ? g : NULL;
}

/* ---- what comes ---- */

/* What is held, as far as it goes. */
void gptl_held_run(struct gptl_link *k, struct gptl_node *g)
{
	struct sk_buff *skb;

	while ((skb = skb_peek(&g->held)) != NULL) {
		if (fr_owed(g->p))
			fr_piece(k->e, g->p, skb->data + WIRE_HDR, skb->len - WIRE_HDR);
		else
			fr_input(k->e, g->p, skb->data, skb->len);
		if (fr_owed(g->p))
			return;
		__skb_unlink(skb, &g->held);
		kfree_skb(skb);
	}
}

void gptl_far_input(struct gptl_place *at, struct sk_buff *skb, const struct wire_ids *ids)
{
	struct gptl_link *k = link_of(at);
	struct gptl_node *g;

	gptl_link_enter(k);
	g = k->stopped ? NULL : node_of(k, ids->src_nid, ids->src_pid);
	if (g && !g->p && !READ_ONCE(g->wanted)) {
		WRITE_ONCE(g->wanted, true);
		queue_work(gptl_pages_wq, &k->work);
	}
	if (!g || !g->p) {
		spin_unlock_bh(&k->lock);
		kfree_skb(skb);
		return;
	}
	g->heard_at = k->e->now;
	if (!skb_queue_empty(&g->held)) {
		if (ids->flags & WIRE_F_ASK)
			g->p->tell = true;	/* it need not wait for our page to learn that we are here */
		if (skb_queue_len(&g->held) >= HELD) {
			gptl_link_leave(k, g);
			kfree_skb(skb);
			return;
		}
	} else {
		fr_input(k->e, g->p, skb->data, skb->len);	/* false: its source is broken, and has the key */
		if (!fr_owed(g->p)) {
			gptl_link_leave(k, g);
			consume_skb(skb);
			return;
		}
	}
	__skb_queue_tail(&g->held, skb);
	gptl_link_leave(k, g);
}

void gptl_far_nobody(struct gptl_place *at, u32 nid, u32 pid, u64 seal)
{
	struct gptl_link *k = link_of(at);
	struct gptl_node *g;

	gptl_link_enter(k);
	g = k->stopped ? NULL : node_of(k, nid, pid);
	if (g && g->p && seal && g->seal == seal)
		gone(k, g);
	gptl_link_leave(k, g);
}

void gptl_far_unplug(struct gptl_place *at, struct net_device *dev)
{
	struct gptl_link *k = link_of(at);
	struct fr_peer *p;
	bool ours;

	gptl_link_enter(k);
	ours = at->dev == dev;
	if (ours)
		WRITE_ONCE(at->dev, NULL);
	for (p = k->e->peers; p; p = p->next_peer)
		gone(k, p->link);
	gptl_link_leave(k, NULL);
	if (ours)
		dev_put(dev);
}

/* ---- time ---- */

static s64 patience(void)
{
	return (s64)max(READ_ONCE(peer_timeout), 1U) * NSEC_PER_SEC;
}

static s64 asks_ns(void)
{
	return min_t(s64, patience() / 4, NSEC_PER_SEC);
}

/* Does something wait for @p: an acknowledgement, an answer, the rest of a message? */
static bool waits_for(const struct fr_peer *p)
{
	return !p->gone && (p->ch[0].base != p->ch[0].next || p->ch[1].base != p->ch[1].next ||
			    p->req_done != p->req_next || p->ch[0].in.on || p->ch[1].in.on);
}

/* Who has not been heard of for some time is asked, who does not answer is given up. True: look again soon. */
static bool watch(struct gptl_link *k, struct fr_peer *p)
{
	struct gptl_node *g = p->link;
	bool busy = waits_for(p), was = g->busy;
	s64 quiet;

	g->busy = busy;
	if (busy && !was)
		g->heard_at = k->e->now;
	quiet = k->e->now - g->heard_at;
	if (busy && quiet > patience()) {
		gone(k, g);
	} else if (busy && quiet > patience() / 2 && k->e->now - g->asked_at >= asks_ns()) {
		g->asked_at = k->e->now;
		fr_ask(k->e, p);	/* who is in the middle of sending to us owes us nothing that is sent again */
	}
	return busy;
}

static enum hrtimer_restart on_timer(struct hrtimer *t)
{
	struct gptl_link *k = container_of(t, struct gptl_link, timer);
	struct fr_peer *p;
	bool busy = false;
	s64 next;

	gptl_link_enter(k);
	if (!k->stopped) {
		for (p = k->e->peers; p; p = p->next_peer)
			busy |= watch(k, p);
		next = fr_timer(k->e);
		fr_flush(k->e);
		told(k);
		if (next)
			arm(k, max_t(s64, next - k->e->now, 10000));
		if (busy)
			arm(k, asks_ns());
	}
	spin_unlock_bh(&k->lock);
	return HRTIMER_NORESTART;	/* it has been started again, where there is something to do */
}

/* ---- start and end ---- */

/* The engine has logged an event where it looks itself: fr_flush(). told() finds the others. */
static void wake(void *arg)
{
	gptl_wake(arg);
}

static struct gptl_link *link_new(struct gptl_ni *ni)
{
	struct gptl_link *k = kzalloc(sizeof(*k), GFP_KERNEL_ACCOUNT);
	struct p3l_env env = { .self = GPTL_LINK + 1, .alive = gptl_alive, .relax = gptl_relax };

	if (!k)
		return NULL;
	k->e = __vmalloc(sizeof(*k->e), GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!k->e) {
		kfree(k);
		return NULL;
	}
	k->ni = ni;
	spin_lock_init(&k->lock);
	init_waitqueue_head(&k->idle);
	xa_init_flags(&k->pages, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);	/* gptl_link_give_back() has k->lock */
	INIT_WORK(&k->work, gptl_link_work);
	hrtimer_init(&k->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	k->timer.function = on_timer;
	fr_init(k->e, ni->l, &env, &eth_link, k, RTO_NS, DELAY_NS);
	k->e->copy = gptl_link_copy;
	k->e->there = gptl_link_there;
	k->e->step = gptl_link_step;
	k->e->refuses = ni->polled;
	k->e->more = more;
	k->e->more_arg = k;
	k->e->wake = wake;
	k->e->wake_arg = ni;
	return k;
}

static void link_free(struct gptl_link *k)
{
	struct gptl_block *b;
	u32 i;

	for (i = 0; i < k->n; i++) {
		__skb_queue_purge(&k->node[i].held);
		kvfree(k->node[i].p);
	}
	while ((b = k->blocks) != NULL) {
		k->blocks = b->next;
		vfree(b);
	}
	vfree(k->spare);
	kvfree(k->node);
	kvfree(k->hash);
	xa_destroy(&k->pages);
	vfree(k->e);
	kfree(k);
}

long gptl_net(struct gptl_ni *ni, struct gptl_net *a)
{
	struct gptl_link *k;
	long rc = -EBUSY;

	if (mutex_lock_killable(&net_lock))
		return -EINTR;
	if (ni->link)
		goto out;
	rc = -ENOMEM;
	k = link_new(ni);
	if (!k)
		goto out;
	rc = mmu_interval_notifier_insert(&k->mn, ni->mm, 0, ULONG_MAX, &gptl_link_notifier);
	if (rc) {
		link_free(k);
		goto out;
	}
	rc = gptl_eth_bind(ni, &k->at, a);
	if (rc) {
		mmu_interval_notifier_remove(&k->mn);
		link_free(k);
		goto out;
	}
	k->e->most = a->most;
	smp_store_release(&ni->link, k);
	smp_mb();			/* its process has left, or will find the link */
	if (READ_ONCE(ni->left))
		gptl_far_leave(ni);
out:
	mutex_unlock(&net_lock);
	return rc;
}

/* The tables; nobody sees them yet. */
static long nodes_fill(struct gptl_link *k, const struct gptl_peer *peer, u32 n)
{
	u32 i, at;

	for (i = 0; i < n; i++) {
		struct gptl_node *g = &k->node[i];

		if (peer[i].pad[0] || peer[i].pad[1] || peer[i].nid == k->ni->l->nid ||
		    is_multicast_ether_addr(peer[i].mac))
			return -EINVAL;
		g->id = (ptl_process_id_t){ peer[i].nid, peer[i].pid };
		g->uid = peer[i].uid;
		g->jid = peer[i].jid;
		memcpy(g->mac, peer[i].mac, ETH_ALEN);
		__skb_queue_head_init(&g->held);
		if (g->id.pid == PTL_PID_ANY)
			continue;
		for (at = id_hash(g->id); k->hash[at & k->hash_mask]; at++)
			if (!memcmp(&k->node[k->hash[at & k->hash_mask] - 1].id, &g->id, sizeof(g->id)))
				return -EINVAL;
		k->hash[at & k->hash_mask] = i + 1;
	}
	return 0;
}

static long nodes_make(struct gptl_link *k, const struct gptl_far *a)
{
	struct gptl_peer *peer = kvmalloc_array(a->n, sizeof(*peer), GFP_KERNEL_ACCOUNT);
	u32 slots = roundup_pow_of_two(4 * a->n);
	long rc = -ENOMEM;

	k->node = kvcalloc(a->n, sizeof(*k->node), GFP_KERNEL_ACCOUNT);
	k->hash = kvcalloc(slots, sizeof(*k->hash), GFP_KERNEL_ACCOUNT);
	k->hash_mask = slots - 1;
	if (peer && k->node && k->hash)
		rc = copy_from_user(peer, u64_to_user_ptr(a->peers), a->n * sizeof(*peer)) ? -EFAULT :
		     nodes_fill(k, peer, a->n);
	kvfree(peer);
	return rc;
}

long gptl_far(struct gptl_ni *ni, const struct gptl_far *a)
{
	struct gptl_link *k, made = { .ni = ni };
	long rc;

	if (!a->n || a->n > 65535 - ni->job->size || a->most < FR_SMALL)
		return -EINVAL;
	rc = nodes_make(&made, a);	/* not under the lock: the caller's memory may take its time (FUSE) */
	if (!rc && mutex_lock_killable(&net_lock))
		rc = -EINTR;
	if (rc) {
		kvfree(made.node);
		kvfree(made.hash);
		return rc;
	}
	k = ni->link;
	rc = !k ? -ENOTCONN : k->n ? -EBUSY : 0;
	if (!rc) {
		spin_lock_bh(&k->lock);
		k->node = made.node;
		k->hash = made.hash;
		k->hash_mask = made.hash_mask;
		k->e->most = min(k->e->most, a->most);
		smp_store_release(&k->n, a->n);
		spin_unlock_bh(&k->lock);
	} else {
		kvfree(made.node);
		kvfree(made.hash);
	}
	mutex_unlock(&net_lock);
	return rc;
}

void gptl_far_leave(struct gptl_ni *ni)
{
	struct gptl_link *k = smp_load_acquire(&ni->link);
	struct net_device *dev = NULL;
	struct fr_peer *p;
	bool first;

	if (!k)
		return;
	gptl_link_enter(k);
	first = !k->stopped;
	for (p = k->e->peers; p && first; p = p->next_peer) {
		if (!p->gone)
			fr_bye(k->e, p);
		__skb_queue_purge(&((struct gptl_node *)p->link)->held);
	}
	if (first) {
		k->stopped = true;
		dev = k->at.dev;
		WRITE_ONCE(k->at.dev, NULL);
	}
	told(k);
	spin_unlock_bh(&k->lock);
	if (first)
		gptl_eth_leave(&k->at);
	dev_put(dev);
}

void gptl_far_end(struct gptl_ni *ni)
{
	struct gptl_link *k = ni->link;

	if (!k)
		return;
	gptl_far_leave(ni);		/* whoever bound it when it had left */
	cancel_work_sync(&k->work);
	hrtimer_cancel(&k->timer);
	cancel_work_sync(&k->work);	/* that may have wanted it */
	synchronize_rcu();		/* gptl_eth.c looks at places with less than a reference */
	mmu_interval_notifier_remove(&k->mn);
	gptl_link_give_back(k, true);
	ni->link = NULL;
	link_free(k);
}

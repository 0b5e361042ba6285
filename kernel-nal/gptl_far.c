// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_far.c - operations between nodes: an interface's frame engine in the kernel
 *
 * Each NI that has other nodes owns an engine (nal/frame, as it is in user space), which is one more mover in its
 * region, with a row of its own. It runs in system calls, in the softirq that brings a frame, in a timer, and in a
 * worker: always with link.lock, bottom halves off. So what comes is matched and copied where it comes, in the
 * softirq, and nobody is woken who need not be.
 *
 * Pages. With the lock nothing waits. Memory of descriptors is pinned (gptl_mem.c) but for vectors, very long ones,
 * and what has been withdrawn. Of such memory there() says that it is not there, and leaves a note of what is needed;
 * the frame stays where it is: one that came stands with those behind it in its peer's queue, which is bounded; one
 * that goes is not built yet. The worker looks the pages up in the owner's memory, and goes on; it keeps them until
 * nobody waits for one, since a frame needs all of its own at a time. What cannot be looked up is not mapped: then
 * the copy fails, and the operation with it. A page counts only as long as it is the one that its owner has there: an
 * MMU notifier takes it out when it is unmapped.
 *
 * A call reads what its caller sends (up to FR_COPY bytes) before it makes the message, without the lock. It never
 * waits for another node; where the engine has no room, it asks for more memory once, up to the engine's bound, and
 * then says PTL_NO_SPACE.
 *
 * Whether a peer is there still: its kernel answers for a process that has ended (nobody), or said so (a frame with
 * BYE); one whose machine does not answer any more is given up after peer_timeout seconds. Where something waits for
 * it, be it the rest of what it sends, it is asked, and a kernel answers that at once, whatever waits for a page there.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "gptl_eth.h"

static unsigned int peer_timeout = 60;
module_param(peer_timeout, uint, 0644);
MODULE_PARM_DESC(peer_timeout, "seconds until another node that does not answer is given up (60)");

#define RTO_NS		(10 * NSEC_PER_MSEC)	/* until a frame is sent again, doubled up to 64 times */
#define DELAY_NS	(NSEC_PER_MSEC / 2)	/* until an acknowledgement goes by itself */
#define HELD		(4 * FR_WINDOW)		/* frames of a peer that wait for a page, and those behind them */
#define AHEAD		(128U << 10)		/* bytes that are looked up before they are asked for */
#define MOST_PAGES	16384U			/* a frame of GPTL_ETH_MOST bytes may lie in so many, twice */
#define BATCH		32
#define TRIES		200			/* to look up a page for which there is no memory, 5 to 10 ms each */

/* A process of another node. */
struct gptl_node {
	struct fr_peer *p;		/* made when it is needed */
	ptl_process_id_t id;
	u32 uid, jid;
	u8 mac[ETH_ALEN];
	bool wanted;			/* a softirq could not make p; also without the lock */
	bool busy;			/* something waits for it, since */
	s64 heard_at;			/* then, or when its last frame came */
	s64 asked_at;			/* whether it is there still */
	u64 seal;			/* of the last frame that was sent */
	struct sk_buff_head held;	/* of the first, the engine has the header if fr_owed() */
};

struct gptl_block {
	struct gptl_block *next;
	u8 bytes[FR_BLOCK] __aligned(64);
};

struct gptl_link {
	struct gptl_place at;
	struct gptl_ni *ni;
	spinlock_t lock;		/* bottom halves off; all below */
	struct fr_engine *e;
	bool stopped;
	u32 n;
	struct gptl_node *node;		/* [n] slot - job.size; set once */
	u32 hash_mask;
	u32 *hash;			/* of ids: place in node + 1 */
	struct hrtimer timer;
	struct work_struct work;
	wait_queue_head_t idle;		/* of GPTL_DRAIN */
	struct gptl_pins *cur;		/* what there() has found, for the copy that follows */
	struct gptl_need {
		u64 addr, len;		/* len 0: nothing */
		bool write;
	} need;
	struct fr_peer *turn;		/* the first to be asked what it needs; NULL: the first of all */
	bool turn_sends;		/* ... of it only for what it sends */
	struct xarray pages;		/* looked up: by page number * 2 + write; see NOT_MAPPED. work() fills it */
	struct mmu_interval_notifier mn;	/* on all of the owner's memory */
	u32 n_pages;			/* work()'s own, as is */
	bool failed;			/* a copy has met NOT_MAPPED */
	u64 held;
	struct gptl_block *blocks, *spare;
};

static DEFINE_MUTEX(net_lock);		/* GPTL_NET, GPTL_FAR: once each */

static struct gptl_link *link_of(struct gptl_place *at)
{
	return container_of(at, struct gptl_link, at);
}

/* ---- pages; lock held ---- */

/* In link.pages: nothing is there; or (lost) its page is not its owner's any more, and work() is to give it back. */
#define NOT_MAPPED	xa_mk_value(0)

static bool lost(const void *entry)
{
	return xa_is_value(entry) && entry != NOT_MAPPED;
}

static void *entry_of(struct gptl_link *k, unsigned long key)
{
	void *entry = xa_load(&k->pages, key);

	return lost(entry) ? NULL : entry;
}

/* A page, NOT_MAPPED, or NULL: not known. What cannot be written may yet be read. */
static void *looked_up(struct gptl_link *k, u64 addr, bool write)
{
	unsigned long key = (unsigned long)(addr >> PAGE_SHIFT) << 1;
	void *entry = entry_of(k, key | 1);

	return !write && (!entry || entry == NOT_MAPPED) ? entry_of(k, key) : entry;
}

static bool there(struct fr_engine *e, bool to, u64 addr, u64 len, u64 ahead)
{
	struct gptl_link *k = e->ctx;
	u64 at = addr & PAGE_MASK;

	gptl_pins_let(k->cur);
	k->cur = gptl_pins_of(k->ni, e->md, addr, len);
	if (k->cur)
		return true;
	for (; at < addr + len; at += PAGE_SIZE)
		if (!looked_up(k, at, to)) {
			if (!k->need.len)	/* whoever comes later asks again: go_on() */
				k->need = (struct gptl_need){ at, addr + len - at + (to ? 0 : min_t(u64, ahead, AHEAD)),
							      to };
			k->held++;
			queue_work(gptl_pages_wq, &k->work);
			return false;
		}
	return true;
}

static struct page *page_of(struct gptl_link *k, u64 addr, bool write)
{
	void *p = k->cur ? gptl_pins_page(k->cur, addr) : NULL;

	if (!p)
		p = looked_up(k, addr, write);
	if (p == NOT_MAPPED) {
		k->failed = true;
		p = NULL;
	}
	return p;
}

/* A word is written once: whoever waits for it may put another in its place at once. */
static void move(void *to, const void *from, u32 n)
{
	switch (n) {
	case 8: *(u64 *)to = *(const u64 *)from; break;
	case 4: *(u32 *)to = *(const u32 *)from; break;
	case 2: *(u16 *)to = *(const u16 *)from; break;
	default: memcpy(to, from, n);
	}
}

static bool copy(struct fr_engine *e, bool to, u64 addr, void *buf, u64 len, bool direct)
{
	struct gptl_link *k = e->ctx;
	u8 *b = buf;
	u32 n;

	for (; len; addr += n, b += n, len -= n) {
		u32 off = addr & ~PAGE_MASK;
		struct page *page = page_of(k, addr, to);
		char *at;

		if (!page)
			return false;
		n = (u32)min_t(u64, len, PAGE_SIZE - off);
		at = kmap_local_page(page);
		if (to)
			move(at + off, b, n);
		else
			move(b, at + off, n);
		kunmap_local(at);
	}
	return true;
}

static bool step(struct fr_engine *e, u32 type, u64 addr, u8 *buf, u64 len, u64 whole, u64 operand)
{
	struct gptl_link *k = e->ctx;
	bool good = true;
	u32 n;

	for (; len && good; addr += n, buf += n, len -= n) {
		u32 off = addr & ~PAGE_MASK;
		struct page *page = page_of(k, addr, true);
		char *at;

		if (!page)
			return false;
		n = (u32)min_t(u64, len, PAGE_SIZE - off);
		at = kmap_local_page(page);
		good = p3l_step(type, at + off, buf, n, whole, operand);
		kunmap_local(at);
	}
	return good;
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

static void enter(struct gptl_link *k)
{
	spin_lock_bh(&k->lock);
	k->e->now = (s64)ktime_get_ns();
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
static void leave(struct gptl_link *k, struct gptl_node *g)
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
static bool peer_make(struct gptl_link *k, struct gptl_node *g)
{
	struct fr_peer *p;

	if (READ_ONCE(g->p))
		return true;
	p = kvzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p) {
		WRITE_ONCE(g->wanted, false);	/* its next frame wants it again */
		return false;
	}
	enter(k);
	if (!g->p) {
		p->link = g;
		fr_open(k->e, p, g->id, g->uid, g->jid, k->ni->job->size + (u32)(g - k->node));
		WRITE_ONCE(g->p, p);
		if (g->id.pid == PTL_PID_ANY || !k->at.dev)	/* it never was, or the wire is not any more */
			fr_gone(k->e, p);
		p = NULL;
	}
	WRITE_ONCE(g->wanted, false);
	leave(k, g);
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
static void held_run(struct gptl_link *k, struct gptl_node *g)
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

	enter(k);
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
			leave(k, g);
			kfree_skb(skb);
			return;
		}
	} else {
		fr_input(k->e, g->p, skb->data, skb->len);	/* false: its source is broken, and has the key */
		if (!fr_owed(g->p)) {
			leave(k, g);
			consume_skb(skb);
			return;
		}
	}
	__skb_queue_tail(&g->held, skb);
	leave(k, g);
}

void gptl_far_nobody(struct gptl_place *at, u32 nid, u32 pid, u64 seal)
{
	struct gptl_link *k = link_of(at);
	struct gptl_node *g;

	enter(k);
	g = k->stopped ? NULL : node_of(k, nid, pid);
	if (g && g->p && seal && g->seal == seal)
		gone(k, g);
	leave(k, g);
}

void gptl_far_unplug(struct gptl_place *at, struct net_device *dev)
{
	struct gptl_link *k = link_of(at);
	struct fr_peer *p;
	bool ours;

	enter(k);
	ours = at->dev == dev;
	if (ours)
		WRITE_ONCE(at->dev, NULL);
	for (p = k->e->peers; p; p = p->next_peer)
		gone(k, p->link);
	leave(k, NULL);
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

	enter(k);
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

/* ---- the worker: pages, and peers ---- */

/* Something of the owner's memory goes, and its pages may be anybody's then. */
static bool unmapped(struct mmu_interval_notifier *mn, const struct mmu_notifier_range *range, unsigned long seq)
{
	struct gptl_link *k = container_of(mn, struct gptl_link, mn);
	unsigned long key;
	void *entry;

	if (!gptl_pages_go(range))
		return true;
	spin_lock_bh(&k->lock);
	mmu_interval_set_seq(mn, seq);
	xa_for_each_range(&k->pages, key, entry, range->start >> PAGE_SHIFT << 1,
			  (range->end - 1) >> PAGE_SHIFT << 1 | 1)
		if (!xa_is_value(entry))	/* in its place: takes no memory */
			xa_store(&k->pages, key, xa_tag_pointer(entry, 1), GFP_NOWAIT);
	spin_unlock_bh(&k->lock);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = unmapped,
};

/* An entry that is not seen any more. */
static void give_page(void *entry, bool write)
{
	struct page *page = xa_untag_pointer(entry);

	if (entry != NOT_MAPPED)
		unpin_user_pages_dirty_lock(&page, 1, write);
}

/*
 * Keep @page, which @k's owner had at page number @no at the time of @seq; NULL: nothing is mapped there. False: there
 * is no memory for that.
 */
static bool keep(struct gptl_link *k, unsigned long no, bool write, struct page *page, unsigned long seq)
{
	unsigned long key = no << 1 | write;
	bool fits = false, room = !xa_reserve_bh(&k->pages, key, GFP_KERNEL);
	void *old = NULL;

	if (room) {
		spin_lock_bh(&k->lock);
		old = xa_load(&k->pages, key);
		fits = (!old || lost(old)) && !mmu_interval_read_retry(&k->mn, seq);
		if (fits)
			xa_store(&k->pages, key, page ? (void *)page : NOT_MAPPED, GFP_NOWAIT);
		else
			xa_release(&k->pages, key);
		spin_unlock_bh(&k->lock);
	}
	if (!fits) {
		if (page)
			unpin_user_page(page);
	} else if (old) {
		give_page(old, write);
	} else {
		k->n_pages++;
	}
	return room;
}

/* Is @err about the moment, and not about what is mapped? */
static bool passes(long err)
{
	return err == -ENOMEM || err == -EINTR || err == -EAGAIN;
}

/* False: there was no memory for it, it should be tried again in a moment. @last: not again. */
static bool fetch(struct gptl_link *k, const struct gptl_need *need, bool last)
{
	struct page *page[BATCH];
	u64 at = need->addr, end = need->len < U64_MAX - at ? at + need->len : U64_MAX;
	bool good = true;
	long i, got;

	while (at < end) {
		u32 n = (u32)min_t(u64, (end - at + PAGE_SIZE - 1) >> PAGE_SHIFT, BATCH);
		unsigned long seq = mmu_interval_read_begin(&k->mn);

		got = gptl_pages_get(k->ni, at, n, need->write, page);
		if (got <= 0) {
			if (at != need->addr)
				return true;	/* what is behind it will be asked for */
			return (!passes(got) || last) &&
			       keep(k, (unsigned long)(at >> PAGE_SHIFT), need->write, NULL, seq);
		}
		for (i = 0; i < got; i++)
			good &= keep(k, (unsigned long)(at >> PAGE_SHIFT) + (unsigned long)i, need->write, page[i],
				     seq);
		if (!good)
			return false;
		at += (u64)got << PAGE_SHIFT;
	}
	return true;
}

/* All that was looked up; or only what has been found not to be mapped, which may be by now. */
static void give_back(struct gptl_link *k, bool all)
{
	unsigned long key;
	void *entry;

	xa_for_each(&k->pages, key, entry) {
		if (!all && entry != NOT_MAPPED)
			continue;
		spin_lock_bh(&k->lock);		/* nobody is copying */
		entry = xa_erase(&k->pages, key);
		spin_unlock_bh(&k->lock);
		give_page(entry, key & 1);
		k->n_pages--;
	}
}

static void go_on_in(struct gptl_link *k, struct fr_peer *p)
{
	bool had = k->need.len;

	held_run(k, p->link);
	if (!had && k->need.len) {
		k->turn = p;
		k->turn_sends = true;
	}
}

static void go_on_out(struct gptl_link *k, struct fr_peer *p)
{
	bool had = k->need.len;

	if (p->stuck)
		fr_writable(k->e, p);
	fr_tell(k->e, p);
	if (!had && k->need.len) {
		k->turn = p->next_peer;
		k->turn_sends = false;
	}
}

/*
 * All who wait for a page, or may. The first who needs one is served next; so they are asked in turn, beginning behind
 * who was, and what has been noted meanwhile counts for nothing: whoever did it is one of these.
 */
static void go_on(struct gptl_link *k)
{
	struct fr_peer *first = k->turn ? k->turn : k->e->peers, *p = first;
	bool sends = k->turn_sends;

	k->need.len = 0;
	if (!p)
		return;
	do {
		if (p != first || !sends)
			go_on_in(k, p);
		go_on_out(k, p);
		p = p->next_peer ? p->next_peer : k->e->peers;
	} while (p != first);
	if (sends)
		go_on_in(k, first);
}

static void work(struct work_struct *w)
{
	struct gptl_link *k = container_of(w, struct gptl_link, work);
	struct mem_cgroup *group = get_mem_cgroup_from_mm(k->ni->mm), *old = set_active_memcg(group);
	struct gptl_need need;
	u32 i, tries = 0;
	bool on, failed;

	do {
		if (k->n_pages > MOST_PAGES)
			give_back(k, true);
		spin_lock_bh(&k->lock);
		need = k->need;
		k->need.len = 0;
		on = !k->stopped;
		spin_unlock_bh(&k->lock);
		if (!on)
			break;
		for (i = 0; i < smp_load_acquire(&k->n); i++)
			if (READ_ONCE(k->node[i].wanted))
				peer_make(k, &k->node[i]);
		if (!need.len || fetch(k, &need, tries >= TRIES)) {
			tries = 0;
		} else {
			tries++;
			usleep_range(5000, 10000);
		}
		enter(k);
		if (!k->stopped)		/* if so, nobody may be in the interface any more but its end */
			go_on(k);
		on = k->need.len && !k->stopped;
		failed = k->failed;
		k->failed = false;
		leave(k, NULL);
		if (failed)			/* so it was for the frame that has met it; not for the next, perhaps */
			give_back(k, false);
		cond_resched();
	} while (on);
	give_back(k, true);
	set_active_memcg(old);
	mem_cgroup_put(group);
}

/* ---- calls ---- */

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
		enter(k);
		m = fr_reserve(k->e, g->p, len);
		if (m)
			return m;
		had = k->spare;
		leave(k, g);
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
	enter(k);
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

	if (!peer_make(k, g))
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
		leave(k, g);
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
	leave(k, g);
	return rc;
}

long gptl_far_get(struct gptl_ni *ni, struct gptl_node *g, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct gptl_link *k = ni->link;
	u64 wanted = r->mlength;
	bool had;
	long rc;

	if (!peer_make(k, g))
		return PTL_NO_SPACE;
	h->md = r->md.idx;
	h->md_gen = r->md.gen;
	do {
		r->mlength = wanted;
		enter(k);
		rc = fr_get(k->e, g->p, h, r);
		had = k->spare;
		leave(k, g);
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

	if (!peer_make(k, g))
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
	leave(k, g);
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
	enter(k);
	k->e->hasty = true;
	fr_flush(k->e);
	leave(k, NULL);
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
	xa_init_flags(&k->pages, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);	/* give_back() has k->lock */
	INIT_WORK(&k->work, work);
	hrtimer_init(&k->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	k->timer.function = on_timer;
	fr_init(k->e, ni->l, &env, &eth_link, k, RTO_NS, DELAY_NS);
	k->e->copy = copy;
	k->e->there = there;
	k->e->step = step;
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
	rc = mmu_interval_notifier_insert(&k->mn, ni->mm, 0, ULONG_MAX, &notifier_ops);
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
	enter(k);
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
	give_back(k, true);
	ni->link = NULL;
	link_free(k);
}

// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_far_pages.c - memory of an interface for frames: what is there, and the worker that brings what is not
 *
 * With the lock nothing waits. Memory of descriptors is pinned (gptl_mem.c) but for vectors, very long ones,
 * and what has been withdrawn. Of such memory there() says that it is not there, and leaves a note of what is needed;
 * the frame stays where it is: one that came stands with those behind it in its peer's queue, which is bounded; one
 * that goes is not built yet. The worker looks the pages up in the owner's memory, and goes on; it keeps them until
 * nobody waits for one, since a frame needs all of its own at a time. What cannot be looked up is not mapped: then
 * the copy fails, and the operation with it. A page counts only as long as it is the one that its owner has there: an
 * MMU notifier takes it out when it is unmapped.
 */
#include <linux/delay.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "gptl_link.h"

#define AHEAD		(128U << 10)		/* bytes that are looked up before they are asked for */
#define MOST_PAGES	16384U			/* a frame of GPTL_ETH_MOST bytes may lie in so many, twice */
#define BATCH		32
#define TRIES		200			/* to look up a page for which there is no memory, 5 to 10 ms each */

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

bool gptl_link_there(struct fr_engine *e, bool to, u64 addr, u64 len, u64 ahead)
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

bool gptl_link_copy(struct fr_engine *e, bool to, u64 addr, void *buf, u64 len, bool direct)
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

bool gptl_link_step(struct fr_engine *e, u32 type, u64 addr, u8 *buf, u64 len, u64 whole, u64 operand)
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

const struct mmu_interval_notifier_ops gptl_link_notifier = {
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
void gptl_link_give_back(struct gptl_link *k, bool all)
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

	gptl_held_run(k, p->link);
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

void gptl_link_work(struct work_struct *w)
{
	struct gptl_link *k = container_of(w, struct gptl_link, work);
	struct mem_cgroup *group = get_mem_cgroup_from_mm(k->ni->mm), *old = set_active_memcg(group);
	struct gptl_need need;
	u32 i, tries = 0;
	bool on, failed;

	do {
		if (k->n_pages > MOST_PAGES)
			gptl_link_give_back(k, true);
		spin_lock_bh(&k->lock);
		need = k->need;
		k->need.len = 0;
		on = !k->stopped;
		spin_unlock_bh(&k->lock);
		if (!on)
			break;
		for (i = 0; i < smp_load_acquire(&k->n); i++)
			if (READ_ONCE(k->node[i].wanted))
				gptl_peer_make(k, &k->node[i]);
		if (!need.len || fetch(k, &need, tries >= TRIES)) {
			tries = 0;
		} else {
			tries++;
			usleep_range(5000, 10000);
		}
		gptl_link_enter(k);
		if (!k->stopped)		/* if so, nobody may be in the interface any more but its end */
			go_on(k);
		on = k->need.len && !k->stopped;
		failed = k->failed;
		k->failed = false;
		gptl_link_leave(k, NULL);
		if (failed)			/* so it was for the frame that has met it; not for the next, perhaps */
			gptl_link_give_back(k, false);
		cond_resched();
	} while (on);
	gptl_link_give_back(k, true);
	set_active_memcg(old);
	mem_cgroup_put(group);
}

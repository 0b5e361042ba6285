// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_mem.c - memory of processes: pinned when a descriptor is attached, or looked up when somebody copies
 *
 * Addresses are what counts: an operation knows the addresses of its descriptor's memory in its owner's space. Pages
 * that were pinned for that place are a shortcut to them. They are used as long as the owner's mapping is the one
 * that was there when they were pinned: an MMU notifier withdraws them when it is unmapped, moved or thrown away, or
 * when the process ends, and gives them back. From then on addresses are looked up, and fail where nothing is mapped.
 * (Copies that are under way then end in the old pages, as if they had been a moment earlier.)
 *
 * fork() gives a child copies of pinned pages at once: the owner keeps the pages that it has.
 * Pinning takes longer than a call, and programs use their buffers again: what was pinned last is kept for the next
 * descriptor there, until it is withdrawn, or others need the pages (RLIMIT_MEMLOCK).
 *
 * Vectors, descriptors longer than GPTL_WINDOW, and memory that may only be read are never pinned.
 */
#include <linux/highmem.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "gptl.h"

#define BATCH	32			/* pages that are looked up at a time */

struct gptl_pins {
	struct kref ref;
	struct gptl_ni *ni;		/* outlives us */
	struct mmu_interval_notifier mn;
	struct rcu_head rcu;
	struct work_struct free;	/* where the last reference went in a softirq */
	u64 first;			/* address of the first page */
	u32 n;				/* pages; 0: withdrawn before they were there */
	bool stale;
	struct page **page;
};

/* ---- accounting: as ib_umem_get() ---- */

static int charge(struct mm_struct *mm, u64 n)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (atomic64_add_return(n, &mm->pinned_vm) <= limit || capable(CAP_IPC_LOCK))
		return 0;
	atomic64_sub(n, &mm->pinned_vm);
	return PTL_NO_SPACE;
}

/* ---- pins ---- */

static bool withdraw(struct mmu_interval_notifier *mn, const struct mmu_notifier_range *range, unsigned long seq)
{
	struct gptl_pins *p = container_of(mn, struct gptl_pins, mn);

	mmu_interval_set_seq(mn, seq);
	if (!gptl_pages_go(range))
		return true;
	if (!READ_ONCE(p->stale)) {
		WRITE_ONCE(p->stale, true);
		atomic64_inc(&p->ni->withdrawn);
		queue_work(gptl_wq, &p->ni->sweep);
	}
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = withdraw,
};

static void pins_free(struct kref *ref)
{
	struct gptl_pins *p = container_of(ref, struct gptl_pins, ref);

	mmu_interval_notifier_remove(&p->mn);
	if (p->n) {
		unpin_user_pages_dirty_lock(p->page, p->n, true);
		atomic64_sub(p->n, &p->ni->mm->pinned_vm);
		atomic64_sub(p->n, &p->ni->pinned_pages);
	}
	kvfree(p->page);
	kfree_rcu(p, rcu);
}

void gptl_pins_drop(struct gptl_pins *p)
{
	if (p)
		kref_put(&p->ref, pins_free);
}

static void free_later(struct work_struct *w)
{
	struct gptl_pins *p = container_of(w, struct gptl_pins, free);
	struct gptl_ni *ni = p->ni;

	pins_free(&p->ref);
	gptl_ni_put(ni);
}

static void pins_free_soft(struct kref *ref)
{
	struct gptl_pins *p = container_of(ref, struct gptl_pins, ref);

	kref_get(&p->ni->ref);		/* whoever copies has one */
	INIT_WORK(&p->free, free_later);
	queue_work(gptl_wq, &p->free);
}

/*
 * The pages of the current process at [@start, @start + @len). 0, also where they cannot be pinned but may
 * be looked up.
 */
static int pin_pages(struct gptl_ni *ni, struct gptl_pins *p, u64 first, u32 n)
{
	u32 got = 0;
	int rc = charge(ni->mm, n);

	if (rc)
		return rc;
	while (got < n) {
		int k = pin_user_pages_fast(first + (u64)got * PAGE_SIZE, n - got, FOLL_WRITE | FOLL_LONGTERM,
					    p->page + got);

		if (k <= 0)
			break;
		got += k;
	}
	if (got < n) {			/* not there, or not to be written */
		unpin_user_pages(p->page, got);
		atomic64_sub(n, &ni->mm->pinned_vm);
		return 0;
	}
	atomic64_add(n, &ni->pinned_pages);
	smp_store_release(&p->n, n);
	return 0;
}

static void sweep(struct gptl_ni *ni);

static bool covers(const struct gptl_pins *p, u64 addr, u64 len)
{
	u64 all = (u64)p->n << PAGE_SHIFT;

	return addr >= p->first && len <= all && addr - p->first <= all - len;
}

static struct gptl_pins *recent_find(struct gptl_ni *ni, u64 start, u64 len)
{
	struct gptl_pins *p = NULL;
	u32 i;

	spin_lock(&ni->recent_lock);
	for (i = 0; i < GPTL_RECENT && !p; i++) {
		p = ni->recent[i];
		if (p && (READ_ONCE(p->stale) || !covers(p, start, len)))
			p = NULL;
	}
	if (p)
		kref_get(&p->ref);
	spin_unlock(&ni->recent_lock);
	return p;
}

/* Withdrawn before sweep() could find them: now it can. The caller has a reference. */
static void sweep_missed(struct gptl_ni *ni, const struct gptl_pins *p)
{
	smp_mb();			/* placed, then looked; withdraw() marks, then has the places looked at */
	if (READ_ONCE(p->stale))
		queue_work(gptl_wq, &ni->sweep);
}

/* In the place of the oldest. */
static void recent_put(struct gptl_ni *ni, struct gptl_pins *p)
{
	struct gptl_pins *old;

	kref_get(&p->ref);
	spin_lock(&ni->recent_lock);
	old = ni->recent[ni->recent_at];
	ni->recent[ni->recent_at] = p;
	ni->recent_at = (ni->recent_at + 1) % GPTL_RECENT;
	spin_unlock(&ni->recent_lock);
	sweep_missed(ni, p);
	gptl_pins_drop(old);
}

static void recent_forget(struct gptl_ni *ni, bool stale_only)
{
	struct gptl_pins *p;
	u32 i;

	for (i = 0; i < GPTL_RECENT; i++) {
		spin_lock(&ni->recent_lock);
		p = ni->recent[i];
		if (p && (!stale_only || READ_ONCE(p->stale)))
			ni->recent[i] = NULL;
		else
			p = NULL;
		spin_unlock(&ni->recent_lock);
		gptl_pins_drop(p);
	}
}

int gptl_pin(struct gptl_ni *ni, u64 start, u64 len, struct gptl_pins **out)
{
	u64 first = start & PAGE_MASK;
	struct gptl_pins *p;
	u32 n;
	int rc;

	*out = NULL;
	if (!len || len > GPTL_WINDOW || !access_ok((void __user *)(uintptr_t)start, len))
		return 0;
	*out = recent_find(ni, start, len);
	if (*out)
		return 0;
	n = (u32)((((start + len - 1) & PAGE_MASK) - first) >> PAGE_SHIFT) + 1;
	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return PTL_NO_SPACE;
	p->page = kvmalloc_array(n, sizeof(*p->page), GFP_KERNEL_ACCOUNT);
	if (!p->page) {
		kfree(p);
		return PTL_NO_SPACE;
	}
	kref_init(&p->ref);
	p->ni = ni;
	p->first = first;
	/* before the pages: what is unmapped from here on is noticed */
	if (mmu_interval_notifier_insert(&p->mn, ni->mm, first, (u64)n << PAGE_SHIFT, &notifier_ops)) {
		kvfree(p->page);
		kfree(p);
		return PTL_NO_SPACE;
	}
	mmu_interval_read_begin(&p->mn);	/* what was being unmapped already is gone */
	rc = pin_pages(ni, p, first, n);
	if (rc == PTL_NO_SPACE) {		/* descriptors that have unlinked themselves may still have theirs */
		recent_forget(ni, false);
		sweep(ni);
		rc = pin_pages(ni, p, first, n);
	}
	if (rc || !p->n) {
		gptl_pins_drop(p);
		return rc;
	}
	recent_put(ni, p);
	*out = p;
	return 0;
}

void gptl_pins_set(struct gptl_ni *ni, u32 md, struct gptl_pins *p)
{
	struct gptl_pins *old;

	if (!p) {
		if (!xa_empty(&ni->pins))
			gptl_pins_drop(xa_erase(&ni->pins, md));
		return;
	}
	kref_get(&p->ref);
	old = xa_store(&ni->pins, md, p, GFP_KERNEL_ACCOUNT);
	if (xa_is_err(old)) {			/* then without */
		old = xa_erase(&ni->pins, md);
		gptl_pins_drop(p);
	}
	sweep_missed(ni, p);
	gptl_pins_drop(old);
	gptl_pins_drop(p);
}

/* Is what was pinned for place @md of no use any more? */
static bool useless(struct gptl_ni *ni, unsigned long md, const struct gptl_pins *p)
{
	const struct p3l_md *m = p3l_md(ni->l, (u32)md);

	return READ_ONCE(p->stale) || !(p3_load(&m->flags) & P3L_MD_USED) ||
	       !covers(p, p3_load(&m->start), p3_load(&m->length));
}

static void sweep(struct gptl_ni *ni)
{
	struct gptl_pins *p;
	unsigned long md;

	xa_for_each(&ni->pins, md, p) {
		xa_lock(&ni->pins);
		p = xa_load(&ni->pins, md);
		if (p && useless(ni, md, p))
			__xa_erase(&ni->pins, md);
		else
			p = NULL;
		xa_unlock(&ni->pins);
		gptl_pins_drop(p);
	}
}

void gptl_sweep(struct work_struct *w)
{
	struct gptl_ni *ni = container_of(w, struct gptl_ni, sweep);

	recent_forget(ni, true);
	sweep(ni);
}

/* Nobody is in @ni any more. */
void gptl_pins_end(struct gptl_ni *ni)
{
	struct gptl_pins *p;
	unsigned long md;

	recent_forget(ni, false);
	xa_for_each(&ni->pins, md, p)
		gptl_pins_drop(xa_erase(&ni->pins, md));
	xa_destroy(&ni->pins);
	cancel_work_sync(&ni->sweep);
}

struct gptl_pins *gptl_pins_of(struct gptl_ni *t, u32 md, u64 addr, u64 len)
{
	struct gptl_pins *p;

	rcu_read_lock();
	p = xa_load(&t->pins, md);
	if (p && (READ_ONCE(p->stale) || !covers(p, addr, len) || !kref_get_unless_zero(&p->ref)))
		p = NULL;
	rcu_read_unlock();
	return p;
}

struct page *gptl_pins_page(const struct gptl_pins *p, u64 addr)
{
	return addr >= p->first && addr - p->first < (u64)p->n << PAGE_SHIFT ?
		p->page[(addr - p->first) >> PAGE_SHIFT] : NULL;
}

void gptl_pins_let(struct gptl_pins *p)
{
	if (p)
		kref_put(&p->ref, pins_free_soft);
}

/* ---- copies ---- */

/* Between one page and memory of the current process. Bytes that were not copied. */
static unsigned long copy_page_part(struct page *page, u32 off, u32 n, bool put, u64 own)
{
	void *at = kmap_local_page(page);
	unsigned long left;

	if (put)
		left = copy_from_user((char *)at + off, u64_to_user_ptr(own), n);
	else
		left = copy_to_user(u64_to_user_ptr(own), (char *)at + off, n);
	kunmap_local(at);
	return left;
}

static int copy_pages(struct page **page, u32 n, u64 addr, u64 len, bool put, u64 own)
{
	u32 i, off = addr & ~PAGE_MASK;

	for (i = 0; i < n && len; i++) {
		u32 k = (u32)min_t(u64, len, PAGE_SIZE - off);

		if (copy_page_part(page[i], off, k, put, own))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		own += k, len -= k;
		off = 0;
		cond_resched();
	}
	return 0;
}

static int copy_pinned(const struct gptl_pins *p, u64 addr, u64 len, bool put, u64 own)
{
	u32 i = (u32)((addr - p->first) >> PAGE_SHIFT);

	return copy_pages(p->page + i, p->n - i, addr, len, put, own);
}

/* Up to @n pages of @mm, for a moment. How many, or -errno. */
static long look_up(struct mm_struct *mm, u64 addr, u32 n, bool write, struct page **page)
{
	unsigned int flags = write ? FOLL_WRITE : 0;
	int locked = 1;
	long got;

	if (mm == current->mm)
		return pin_user_pages_fast(addr & PAGE_MASK, n, flags, page);
	if (mmap_read_lock_killable(mm))
		return -EINTR;
#ifdef GPTL_PIN_VMAS
	got = pin_user_pages_remote(mm, addr & PAGE_MASK, n, flags, page, NULL, &locked);
#else
	got = pin_user_pages_remote(mm, addr & PAGE_MASK, n, flags, page, &locked);
#endif
	if (locked)
		mmap_read_unlock(mm);
	return got;
}

static int copy_looked_up(struct mm_struct *mm, u64 addr, u64 len, bool put, u64 own)
{
	struct page *page[BATCH];

	while (len) {
		u64 off = addr & ~PAGE_MASK, part;
		u32 n = (u32)min_t(u64, BATCH, (off + len + PAGE_SIZE - 1) >> PAGE_SHIFT);
		long got = look_up(mm, addr, n, put, page);
		int rc;

		if (got <= 0)
			return got ? (int)got : -EFAULT;
		part = min_t(u64, len, (u64)got * PAGE_SIZE - off);
		rc = copy_pages(page, (u32)got, addr, part, put, own);
		unpin_user_pages_dirty_lock(page, (unsigned long)got, put);
		if (rc)
			return rc;
		addr += part, own += part, len -= part;
	}
	return 0;
}

int gptl_copy(struct gptl_ni *t, u32 md, u64 addr, u64 len, bool put, u64 own)
{
	struct gptl_pins *p;
	int rc;

	if (!len)
		return 0;
	p = gptl_pins_of(t, md, addr, len);
	if (p) {
		atomic64_inc(&t->copies_pinned);
		rc = copy_pinned(p, addr, len, put, own);
		gptl_pins_drop(p);
		return rc;
	}
	atomic64_inc(&t->copies_looked_up);
	if (!access_ok((void __user *)(uintptr_t)addr, len))
		return -EFAULT;
	if (t->mm == current->mm)
		return copy_looked_up(t->mm, addr, len, put, own);
	if (!mmget_not_zero(t->mm))
		return -ESRCH;
	rc = copy_looked_up(t->mm, addr, len, put, own);
	mmput(t->mm);
	return rc;
}

u32 gptl_copy_now(struct gptl_ni *t, u32 md, u64 addr, u32 len, u64 own)
{
	u32 off = offset_in_page(addr);
	unsigned long left = len;
	struct gptl_pins *p;
	char *at;

	if (off + len > PAGE_SIZE || !access_ok(u64_to_user_ptr(own), len))
		return 0;
	p = gptl_pins_of(t, md, addr, len);
	if (!p)
		return 0;
	if (likely(nr_cpu_ids <= GPTL_SLOTS))
		WRITE_ONCE(t->copies_now[smp_processor_id()], t->copies_now[smp_processor_id()] + 1);
	else
		atomic64_inc(&t->copies_pinned);
	at = kmap_local_page(gptl_pins_page(p, addr));
	pagefault_disable();			/* so it stops where it would have to wait */
	left = raw_copy_from_user(at + off, u64_to_user_ptr(own), len);	/* to a whole page: no object to look for */
	pagefault_enable();
	kunmap_local(at);
	gptl_pins_let(p);
	return len - (u32)left;
}

long gptl_pages_get(struct gptl_ni *t, u64 addr, u32 n, bool write, struct page **page)
{
	long got;

	if (!access_ok((void __user *)(uintptr_t)addr, 1))
		return -EFAULT;
	if (!mmget_not_zero(t->mm))
		return -ESRCH;
	got = look_up(t->mm, addr, n, write, page);
	mmput(t->mm);
	return got;
}

/* ---- pieces ---- */

int gptl_piece_get(struct gptl_ni *t, u64 addr, u32 len, struct gptl_piece *p)
{
	long got;

	if (!access_ok((void __user *)(uintptr_t)addr, len))
		return -EFAULT;
	if (!mmget_not_zero(t->mm))
		return -ESRCH;
	got = look_up(t->mm, addr, 1, true, &p->page);
	mmput(t->mm);
	if (got != 1)
		return got < 0 ? (int)got : -EFAULT;
	p->at = (char *)page_address(p->page) + (addr & ~PAGE_MASK);
	p->len = len;
	return 0;
}

void gptl_piece_put(struct gptl_piece *p)
{
	unpin_user_pages_dirty_lock(&p->page, 1, true);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mem.c - where remote memory is: symmetric segments, registered ones; the symmetric heap
 *
 * A registration is a place in the table of its owner and a serial number, which never comes again. The work area
 * says for each place which serial lives in it: PEs of the node look there before each access, so a descriptor whose
 * registration has ended is refused at once. PEs of other nodes name a portal's entry by a key made of the serial
 * (which does come again, after 32766 others); an entry at the end of the list takes whatever fits to none, and answers
 * that it has taken nothing: the initiator is told NOT_FOUND. Nothing is kept of a range that has been unregistered:
 * registering costs a line in a table (and, with several nodes, an entry), so there is nothing to gain that could be
 * stale.
 *
 * Registered memory is adopted into the window where that can be done (by a process without other threads). Otherwise
 * PEs of the node reach it by the kernel's copy, and there are no atomic operations on it.
 */
#define _GNU_SOURCE			/* mincore() */
#include <errno.h>
#include <smartmap.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmappi.h"

struct reg {
	uintptr_t lo, hi;
	uint64_t serial;
	uint32_t refs;			/* 0: free */
	uint32_t entry;			/* handle of the portal's, where there is net */
};

static struct reg *table;
static uint32_t n_table, catch_all;
static uint64_t next_serial = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t key_of(uint64_t serial)
{
	return 1 + (uint32_t)(serial % SHMEMI_NET_KEYS);
}

/* ---- lookup ---- */

static bool by_net(dmapp_pe_t pe)
{
	return JOB->net && pe != dmappi.pe && (JOB->no_windows || JOB->peer[pe].local < 0);
}

static dmapp_return_t find_symmetric(uint32_t kind, uintptr_t off, size_t n, dmapp_pe_t pe, struct dmappi_at *at)
{
	char *sym = (char *)dmappi.seg[kind].addr + off;
	uintptr_t base = __atomic_load_n(&dmappi.base[kind][pe], __ATOMIC_RELAXED);

	if (!base) {
		base = (uintptr_t)L->at(dmappi.seg[kind].addr, dmappi.len[kind], pe);
		__atomic_store_n(&dmappi.base[kind][pe], base, __ATOMIC_RELAXED);
	}
	at->here = base ? (char *)base + off : n ? L->at(sym, n, pe) : NULL;
	if (at->here)
		return DMAPP_RC_SUCCESS;
	at->net = by_net(pe);
	if (at->net)
		return L->place(sym, n, &at->to) || !n ? DMAPP_RC_SUCCESS : DMAPP_RC_PERMISSION_ERROR;
	at->there = smartmap_symmetric(at->local, sym);
	return DMAPP_RC_SUCCESS;
}

static dmapp_return_t find_registered(const char *addr, const dmapp_seg_desc_t *seg, size_t n, dmapp_pe_t pe,
				      struct dmappi_at *at)
{
	uint32_t index = (uint32_t)(seg->memhndl[1] & 0xffff);
	uint64_t serial = seg->memhndl[1] >> 16, *live;

	if (seg->owner != (uint32_t)pe || index >= DMAPPI_REGS || (uintptr_t)addr < seg->memhndl[0])
		return DMAPP_RC_INVALID_PARAM;
	if (by_net(pe)) {
		at->net = true;
		at->to = (struct shmemi_net_to){ DMAPPI_PT_SEG, key_of(serial), (uintptr_t)addr - seg->memhndl[0] };
		return DMAPP_RC_SUCCESS;
	}
	live = L->at(&dmappi.work->reg[index].live, 8, pe);
	if (!live || __atomic_load_n(live, __ATOMIC_ACQUIRE) != serial)
		return DMAPP_RC_NOT_FOUND;
	at->there = (char *)(uintptr_t)addr;
	if (pe == dmappi.pe)
		at->here = at->there;
	else if (smartmap_reachable(at->local, addr, n ? n : 1))
		at->here = smartmap_remote(at->local, addr);
	return DMAPP_RC_SUCCESS;
}

dmapp_return_t dmappi_find(const void *addr, const dmapp_seg_desc_t *seg, size_t n, dmapp_pe_t pe, struct dmappi_at *at)
{
	uintptr_t off;
	uint32_t kind;
	size_t len;

	if (!seg || (uint32_t)pe >= dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	kind = seg->flags - DMAPPI_SEG_MAGIC;
	if (kind >= DMAPPI_KINDS)
		return DMAPP_RC_INVALID_PARAM;
	off = (uintptr_t)addr - (uintptr_t)seg->addr;
	len = kind < DMAPPI_SYMMETRIC ? dmappi.len[kind] : seg->len;
	if (off > len || n > len - off)
		return DMAPP_RC_INVALID_PARAM;
	*at = (struct dmappi_at){ .pe = pe, .local = JOB->peer[pe].local };
	return kind < DMAPPI_SYMMETRIC ? find_symmetric(kind, off, n, pe, at) : find_registered(addr, seg, n, pe, at);
}

dmapp_return_t dmappi_symmetric(const dmapp_seg_desc_t *seg)
{
	return seg && seg->flags - DMAPPI_SEG_MAGIC < DMAPPI_SYMMETRIC ? DMAPP_RC_SUCCESS : DMAPP_RC_INVALID_PARAM;
}

/* ---- what is not in a window ---- */

static dmapp_return_t copied(int rc)
{
	switch (rc) {
	case 0:
		return DMAPP_RC_SUCCESS;
	case -EAGAIN:
	case -EPERM:
		return DMAPP_RC_PERMISSION_ERROR;
	default:
		return DMAPP_RC_TRANSACTION_ERROR;
	}
}

dmapp_return_t dmappi_far_put(const struct dmappi_at *at, size_t off, const void *own, size_t n,
			      struct shmemi_waiter *w)
{
	struct shmemi_net_to to = at->to;

	if (!at->net)
		return copied(smartmap_write(at->local, at->there + off, own, n));
	to.off += off;
	L->put(&to, own, n, at->pe, w);
	return DMAPP_RC_SUCCESS;
}

dmapp_return_t dmappi_far_get(const struct dmappi_at *at, size_t off, void *own, size_t n, struct shmemi_waiter *w)
{
	struct shmemi_net_to to = at->to;

	if (!at->net)
		return copied(smartmap_read(at->local, own, at->there + off, n));
	to.off += off;
	L->get(&to, own, n, at->pe, w);
	return DMAPP_RC_SUCCESS;
}

/* ---- registration ---- */

int dmappi_mem_start(void)
{
	n_table = dmappi.env.registrations;
	table = calloc(n_table, sizeof(*table));
	if (table && JOB->net && L->show(DMAPPI_PT_SEG, 0, dmappi.work, 0, &catch_all)) {
		free(table);
		table = NULL;
	}
	return table ? 0 : -1;
}

void dmappi_mem_end(void)
{
	for (uint32_t i = 0; table && i < n_table; i++)
		if (table[i].refs && JOB->net)
			L->hide(table[i].entry);
	if (table && JOB->net)		/* else it has not begun */
		L->hide(catch_all);
	free(table);
	table = NULL;
	n_table = 0;
}

/* Whole pages around the range, if none of them is in the window yet. What cannot be is no error. */
static void adopt(uintptr_t lo, uintptr_t hi)
{
	if (JOB->n_local < 2 || smartmap_adopted((void *)lo, hi - lo))
		return;
	lo &= ~(uintptr_t)4095;
	hi = (hi + 4095) & ~(uintptr_t)4095;
	smartmap_adopt((void *)lo, hi - lo);
}

/* Is there memory in all of [lo, hi)? */
static bool mapped(uintptr_t lo, uintptr_t hi)
{
	unsigned char in_core[4096];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), most = sizeof(in_core) * page;

	lo &= ~(uintptr_t)(page - 1);
	for (size_t n; lo < hi; lo += n) {
		n = hi - lo < most ? hi - lo : most;
		if (mincore((void *)lo, n, in_core) && errno == ENOMEM)
			return false;
	}
	return true;
}

/* A serial whose key no living registration has. [lock] */
static uint64_t new_serial(void)
{
	for (;;) {
		uint64_t serial = next_serial++;
		uint32_t i = 0;

		while (i < n_table && !(table[i].refs && key_of(table[i].serial) == key_of(serial)))
			i++;
		if (i == n_table)
			return serial;
	}
}

/* A registration that [lo, hi) lies in, else a free place, else n_table. [lock] */
static uint32_t place_for(uintptr_t lo, uintptr_t hi)
{
	uint32_t place = n_table;

	for (uint32_t i = 0; i < n_table; i++)
		if (!table[i].refs)
			place = place == n_table ? i : place;
		else if (table[i].lo <= lo && hi <= table[i].hi)
			return i;
	return place;
}

static dmapp_return_t register_at(uint32_t i, uintptr_t lo, uintptr_t hi)
{
	struct reg *r = &table[i];

	if (r->refs++)
		return DMAPP_RC_SUCCESS;
	r->lo = lo;
	r->hi = hi;
	r->serial = new_serial();
	if (JOB->net && L->show(DMAPPI_PT_SEG, key_of(r->serial), (void *)lo, hi - lo, &r->entry)) {
		r->refs = 0;
		return DMAPP_RC_NO_SPACE;
	}
	adopt(lo, hi);
	__atomic_store_n(&dmappi.work->reg[i].live, r->serial, __ATOMIC_RELEASE);
	return DMAPP_RC_SUCCESS;
}

dmapp_return_t dmapp_mem_register(void *addr, uint64_t length, dmapp_seg_desc_t *seg)
{
	uintptr_t lo = (uintptr_t)addr, hi = lo + length;
	dmapp_return_t rc = DMAPP_RC_NO_SPACE;
	uint32_t i;

	if (!dmappi.npes || !addr || !length || hi < lo || !seg)
		return DMAPP_RC_INVALID_PARAM;
	pthread_mutex_lock(&lock);
	i = place_for(lo, hi);
	if (i < n_table)
		rc = table[i].refs || mapped(lo, hi) ? register_at(i, lo, hi) : DMAPP_RC_INVALID_PARAM;
	if (rc == DMAPP_RC_SUCCESS)
		*seg = (dmapp_seg_desc_t){ .addr = addr, .len = length, .flags = DMAPPI_SEG_MAGIC + DMAPPI_REGISTERED,
					   .owner = (uint32_t)dmappi.pe,
					   .memhndl = { table[i].lo, table[i].serial << 16 | i } };
	pthread_mutex_unlock(&lock);
	return rc;
}

/* The own registration that @seg names, or NULL. [lock] */
static struct reg *reg_of(const dmapp_seg_desc_t *seg)
{
	uint32_t i = (uint32_t)(seg->memhndl[1] & 0xffff);

	return i < n_table && table[i].refs && table[i].serial == seg->memhndl[1] >> 16 ? &table[i] : NULL;
}

static bool own(const dmapp_seg_desc_t *seg)
{
	return dmappi.npes && seg && seg->flags == DMAPPI_SEG_MAGIC + DMAPPI_REGISTERED &&
		seg->owner == (uint32_t)dmappi.pe;
}

dmapp_return_t dmapp_mem_unregister(dmapp_seg_desc_t *seg)
{
	struct reg *r;

	if (!own(seg))
		return DMAPP_RC_INVALID_PARAM;
	pthread_mutex_lock(&lock);
	r = reg_of(seg);
	if (r && !--r->refs) {
		__atomic_store_n(&dmappi.work->reg[r - table].live, 0, __ATOMIC_RELEASE);
		if (JOB->net)
			L->hide(r->entry);
	}
	pthread_mutex_unlock(&lock);
	return r ? DMAPP_RC_SUCCESS : DMAPP_RC_NOT_FOUND;
}

dmapp_return_t dmapp_mem_reserve(void *addr, uint64_t length, uint64_t flags, dmapp_seg_desc_t *seg)
{
	return flags ? DMAPP_RC_INVALID_PARAM : dmapp_mem_register(addr, length, seg);
}

dmapp_return_t dmapp_mem_update(void *addr, uint64_t length, uint64_t flags, dmapp_seg_desc_t *seg)
{
	uintptr_t lo = (uintptr_t)addr, hi = lo + length;
	dmapp_return_t rc = DMAPP_RC_SUCCESS;
	const struct reg *r;

	if (!own(seg) || flags || !length || hi < lo)
		return DMAPP_RC_INVALID_PARAM;
	pthread_mutex_lock(&lock);
	r = reg_of(seg);
	if (!r)
		rc = DMAPP_RC_NOT_FOUND;
	else if (lo < r->lo || hi > r->hi)
		rc = DMAPP_RC_INVALID_PARAM;
	pthread_mutex_unlock(&lock);
	if (rc == DMAPP_RC_SUCCESS) {
		seg->addr = addr;
		seg->len = length;
	}
	return rc;
}

dmapp_return_t dmapp_segdesc_compare(dmapp_seg_desc_t *a, dmapp_seg_desc_t *b, int *flag)
{
	if (!a || !b || !flag)
		return DMAPP_RC_INVALID_PARAM;
	*flag = a->flags == b->flags && a->len == b->len;
	if (a->flags == DMAPPI_SEG_MAGIC + DMAPPI_REGISTERED)	/* the others are the same wherever they lie */
		*flag = *flag && a->addr == b->addr && a->owner == b->owner && a->memhndl[1] == b->memhndl[1];
	return DMAPP_RC_SUCCESS;
}

/* ---- symmetric heap ---- */

void *dmapp_sheap_malloc(size_t size)
{
	return dmappi.npes && size ? L->take(size) : NULL;
}

void dmapp_sheap_free(void *ptr)
{
	if (dmappi.npes && ptr)
		L->give(ptr);
}

void *dmapp_sheap_realloc(void *ptr, size_t size)
{
	size_t old;
	void *p;

	if (!ptr)
		return dmapp_sheap_malloc(size);
	if (!dmappi.npes)
		return NULL;
	if (!size) {
		dmapp_sheap_free(ptr);
		return NULL;
	}
	if (L->resize(ptr, size, &old))
		return ptr;
	p = old ? L->take(size) : NULL;
	if (p) {
		memcpy(p, ptr, size < old ? size : old);
		L->give(ptr);
	}
	return p;
}

extern __typeof__(dmapp_sheap_malloc) dmapp_heap_malloc __attribute__((alias("dmapp_sheap_malloc")));
extern __typeof__(dmapp_sheap_realloc) dmapp_heap_realloc __attribute__((alias("dmapp_sheap_realloc")));
extern __typeof__(dmapp_sheap_free) dmapp_heap_free __attribute__((alias("dmapp_sheap_free")));

dmapp_return_t dmapp_sheap_stats(dmapp_sheap_stats_t *stats)
{
	struct shmemi_heap_stats s;

	if (!stats || !dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	L->stats(&s);
	*stats = (dmapp_sheap_stats_t){ s.size, s.used, s.largest, s.blocks };
	return DMAPP_RC_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_arena.c - memory inside the window from the start, well-known roots, memory of the first rank
 *
 * The free list is private: an array of free extents, sorted, never touching. Few and large blocks are expected (pools
 * of libraries), so first fit over the array does. Above `fresh' the file has never been written and reads as zeros;
 * below, a block is cleared when it is given out again. smap.lock protects all of it.
 */
#include "smap_arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "smap_window.h"

struct extent { uintptr_t lo, hi; };

#define EXTENTS	4096
static struct extent *ext;		/* private mapping: libsmartmap uses no malloc after start */
static uint32_t next;
static uintptr_t fresh;

int smap_arena_setup(void)
{
	if (!ext) {
		ext = mmap(NULL, EXTENTS * sizeof(*ext), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (ext == MAP_FAILED) {
			ext = NULL;
			return -ENOMEM;
		}
	}
	ext[0].lo = fresh = atomic_load(&smap.ctl->arena_lo);
	ext[0].hi = atomic_load(&smap.ctl->arena_hi);
	next = 1;
	return 0;
}

/* Round up so that blocks of different use never share a line. */
static size_t whole(size_t len)
{
	return (len + SMAP_LINE - 1) & ~(size_t)(SMAP_LINE - 1);
}

static void clear(uintptr_t lo, uintptr_t hi)
{
	uintptr_t a = (lo + 4095) & ~(uintptr_t)4095, b = hi & ~(uintptr_t)4095;

	/* Large blocks give their pages back (to the file, or the system) instead of being written. */
	if (b > a && b - a >= (64 << 10) && !madvise((void *)a, b - a, smap.memfile ? MADV_REMOVE : MADV_DONTNEED)) {
		memset((void *)lo, 0, a - lo);
		memset((void *)b, 0, hi - b);
	} else {
		memset((void *)lo, 0, hi - lo);
	}
}

SMAP_EXPORT void *smartmap_alloc(size_t len, size_t align)
{
	uintptr_t p = 0, end = 0, old;
	uint32_t i;

	if (!align)
		align = SMAP_LINE;
	if (!len || (align & (align - 1)) || align > ((size_t)2 << 20)) {
		errno = EINVAL;
		return NULL;
	}
	if (align < SMAP_LINE)
		align = SMAP_LINE;
	if (!smap.ctl || !smap.inits) {
		errno = ENODEV;
		return NULL;
	}
	if (len > SMAP_SIZE(SMAP_BITS_MAX)) {
		errno = ENOMEM;
		return NULL;
	}
	len = whole(len);
	smap_lock();
	for (i = 0; i < next; i++) {
		p = (ext[i].lo + align - 1) & ~(align - 1);
		end = p + len;
		if (end <= ext[i].hi && (p == ext[i].lo || end == ext[i].hi || next < EXTENTS))
			break;
	}
	if (i == next) {
		smap_unlock();
		errno = ENOMEM;
		return NULL;
	}
	if (p == ext[i].lo && end == ext[i].hi) {
		memmove(&ext[i], &ext[i + 1], (--next - i) * sizeof(*ext));
	} else if (p == ext[i].lo) {
		ext[i].lo = end;
	} else if (end == ext[i].hi) {
		ext[i].hi = p;
	} else {
		memmove(&ext[i + 1], &ext[i], (next++ - i) * sizeof(*ext));
		ext[i].hi = p;
		ext[i + 1].lo = end;
	}
	old = fresh;
	if (end > fresh) {
		/* The own window is not dumped; the arena in use is. In large steps: each is an entry of the map. */
		uintptr_t step = (uintptr_t)64 << 20;
		uintptr_t a = old & ~(step - 1), b = (end + step - 1) & ~(step - 1);
		uintptr_t lo = atomic_load(&smap.ctl->arena_lo), hi = atomic_load(&smap.ctl->arena_hi);

		madvise((void *)(a < lo ? lo : a), (b > hi ? hi : b) - (a < lo ? lo : a), MADV_DODUMP);
		fresh = end;
	}
	smap_unlock();
	if (p < old)
		clear(p, end < old ? end : old);
	return (void *)p;
}

SMAP_EXPORT void smartmap_free(void *ptr, size_t len)
{
	uintptr_t lo = (uintptr_t)ptr, hi = lo + whole(len);
	uint32_t i;

	if (!ptr || !len || !smap.ctl || !ext)
		return;
	smap_lock();
	if (lo < atomic_load(&smap.ctl->arena_lo) || hi > atomic_load(&smap.ctl->arena_hi) || (lo & (SMAP_LINE - 1)))
		goto out;
	for (i = 0; i < next && ext[i].lo < lo; i++)
		;
	if ((i && ext[i - 1].hi > lo) || (i < next && ext[i].lo < hi))
		goto out;			/* freed twice: keep what is there */
	if (i && ext[i - 1].hi == lo) {
		ext[i - 1].hi = hi;
		if (i < next && ext[i].lo == hi) {
			ext[i - 1].hi = ext[i].hi;
			memmove(&ext[i], &ext[i + 1], (--next - i) * sizeof(*ext));
		}
	} else if (i < next && ext[i].lo == hi) {
		ext[i].lo = lo;
	} else if (next < EXTENTS) {
		memmove(&ext[i + 1], &ext[i], (next++ - i) * sizeof(*ext));
		ext[i] = (struct extent){ lo, hi };
	}					/* else the block is lost: 4096 holes in a few pools */
out:
	smap_unlock();
}

SMAP_EXPORT void smartmap_publish(int key, void *addr)
{
	if ((unsigned)key < SMARTMAP_ROOTS && smap.ctl)
		atomic_store_explicit(&smap.ctl->root[key], (uintptr_t)addr,	/* M:attach.publish */
				      memory_order_release);
}

SMAP_EXPORT void *smartmap_lookup(int peer, int key)
{
	if ((unsigned)key >= SMARTMAP_ROOTS || (unsigned)peer >= (unsigned)smap.size || smartmap_attach(peer))
		return NULL;
	return (void *)(uintptr_t)
		atomic_load_explicit(&smap_peer_ctl(peer)->root[key], memory_order_acquire);	/* M:attach.lookup */
}

SMAP_EXPORT void *smartmap_shared(size_t len)
{
	void *p = NULL;
	uint64_t at;
	int ret;

	if (!smap.inits) {
		errno = ENODEV;
		return NULL;
	}
	if (!smap.rank) {
		p = smartmap_alloc(len, 4096);
		atomic_store_explicit(&smap.ctl0->shared_off, p ? (uintptr_t)p : (uintptr_t)1, memory_order_release);
	}
	ret = smartmap_barrier();		/* it is there */
	at = atomic_load_explicit(&smap.ctl0->shared_off, memory_order_acquire);
	if (!ret)
		ret = smartmap_barrier();	/* all have read it: the word may be used again */
	if (ret || at <= 1) {
		errno = ret ? -ret : ENOMEM;
		return NULL;
	}
	return smartmap_remote(0, (void *)(uintptr_t)at);
}

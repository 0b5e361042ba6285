/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_interpose.c - munmap, mremap, mmap(MAP_FIXED), mprotect, madvise and mlockall on adopted memory
 *
 * A program treats its memory as private; adopted memory is shared with its peers and with the own memory file. These
 * functions keep the program's view: what it unmaps leaves the windows first, what it drops reads zero, what it moves
 * arrives. Each begins with one test of the range (smap_range_any()); memory that was never adopted goes straight
 * through, so the cost for a program is a compare.
 *
 * Order, always: withdraw (no peer starts, those inside have left), punch (the bytes leave the file, so a stale window
 * reads zero and the memory is free), the real call, forget (the low bits are free, a forked child needs no copy).
 *
 * libc and ld.so do not come here for their own maps. What they unmap by themselves is never adopted: thread stacks of
 * libc, libraries nobody holds (adoption holds a reference), memory of glibc's malloc.
 */
#include "smap_interpose.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "smap_space.h"

#define PAGE		smap_page()
#define PARTS		64	/* handled at a time */

/* The real calls, made directly: a symbol search would have to run before the first munmap of ld.so. */
static int real_munmap(void *a, size_t n)
{
	return (int)syscall(SYS_munmap, a, n);
}

static int real_madvise(void *a, size_t n, int adv)
{
	return (int)syscall(SYS_madvise, a, n, adv);
}

static int real_mprotect(void *a, size_t n, int prot)
{
	return (int)syscall(SYS_mprotect, a, n, prot);
}

static void *real_mmap(void *a, size_t n, int prot, int flags, int fd, off_t off)
{
	return (void *)syscall(SYS_mmap, a, n, prot, flags, fd, off);
}

/* Is [a, a+n), rounded to pages, worth a look? Sets the rounded end. Odd arguments are left to the kernel to refuse. */
static int touches(void *a, size_t n, uintptr_t *hi)
{
	uintptr_t lo = (uintptr_t)a;

	if (!n || lo & (PAGE - 1) || __builtin_add_overflow(lo, (n + PAGE - 1) & ~(PAGE - 1), hi) || *hi <= lo)
		return 0;
	return smap_range_any(lo, *hi);
}

/* Call @f on each part of [lo, hi) that maps the own file. */
static void each_part(uintptr_t lo, uintptr_t hi, void (*f)(const struct smap_range *r))
{
	struct smap_range r[PARTS];
	int n;

	while (lo < hi && (n = smap_ranges_in(lo, hi, r, PARTS)) > 0) {
		for (int i = 0; i < n; i++) {
			r[i].lo = r[i].lo < lo ? lo : r[i].lo;
			r[i].hi = r[i].hi > hi ? hi : r[i].hi;
			f(&r[i]);
		}
		lo = r[n - 1].hi;
	}
}

static void part_punch(const struct smap_range *r)
{
	if (real_madvise((void *)r->lo, r->hi - r->lo, MADV_REMOVE) && r->prot & PROT_WRITE)
		memset((void *)r->lo, 0, r->hi - r->lo);	/* no hole punching: at least no stale bytes */
}

/* Before the memory at [lo, hi) goes away. */
static void leave(uintptr_t lo, uintptr_t hi)
{
	int e = errno;

	smartmap_withdraw((void *)lo, hi - lo);
	each_part(lo, hi, part_punch);
	errno = e;
}

int smap_munmap(void *a, size_t n)
{
	uintptr_t hi;
	int r;

	if (!touches(a, n, &hi))
		return real_munmap(a, n);
	leave((uintptr_t)a, hi);
	r = real_munmap(a, n);
	if (!r)
		smap_range_forget((uintptr_t)a, hi);
	return r;
}

void *smap_mmap(void *a, size_t n, int prot, int flags, int fd, off_t off)
{
	uintptr_t hi;
	void *p;

	/* MAP_FIXED_NOREPLACE replaces nothing, and some headers give it the MAP_FIXED bit too: the kernel decides. */
	if (!(flags & MAP_FIXED) || !touches(a, n, &hi))
		return real_mmap(a, n, prot, flags, fd, off);
	leave((uintptr_t)a, hi);
	p = real_mmap(a, n, prot, flags, fd, off);
	if (p != MAP_FAILED)
		smap_range_forget((uintptr_t)a, hi);
	return p;
}

int smap_mprotect(void *a, size_t n, int prot)
{
	uintptr_t hi;
	int r;

	if (!touches(a, n, &hi))
		return real_mprotect(a, n, prot);
	if ((prot & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE))
		smartmap_withdraw(a, hi - (uintptr_t)a);	/* windows know no protection: the kernel's copy does */
	r = real_mprotect(a, n, prot);
	if (!r)
		smap_range_protect((uintptr_t)a, hi, prot);
	return r;
}

/* Data of an image keeps its bytes: private file pages would come back from the file, and zeros would be wrong. */
static void part_drop(const struct smap_range *r)
{
	if (r->kind != SMAP_K_DATA)
		part_punch(r);
}

int smap_madvise(void *a, size_t n, int adv)
{
	uintptr_t hi;

	if (!touches(a, n, &hi))
		return real_madvise(a, n, adv);
	switch (adv) {
	case MADV_DONTNEED:
	case MADV_FREE: {
		int e = errno;

		/* Private parts in between: as ever. On shared ones DONTNEED only drops our page tables. */
		if (real_madvise(a, n, MADV_DONTNEED))
			return -1;
		each_part((uintptr_t)a, hi, part_drop);
		errno = e;
		return 0;
	}
	case MADV_DOFORK:
	case MADV_DONTFORK:
		return 0;		/* ours for good: the forked child gets copies (smap_fork.c) */
	default:
		return real_madvise(a, n, adv);
	}
}

/* In place and smaller, or the same: no move. */
static void *mremap_shrink(void *old, size_t from, size_t to)
{
	if (to < from && smap_munmap((char *)old + to, from - to))
		return MAP_FAILED;
	return old;
}

/* Moving a shared mapping would keep its file offset, which then is not the address any more: copy instead. */
static void *mremap_move(char *old, size_t from, size_t to, int flags, void *where)
{
	struct smap_range r;
	int prot = PROT_READ | PROT_WRITE;
	char *p;

	if (!(flags & MREMAP_MAYMOVE)) {
		errno = flags & MREMAP_FIXED ? EINVAL : ENOMEM;
		return MAP_FAILED;
	}
	if (flags & MREMAP_FIXED && (char *)where < old + from && old < (char *)where + to) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (smap_ranges_in((uintptr_t)old, (uintptr_t)old + from, &r, 1) == 1)
		prot = r.prot;
	p = smap_mmap(where, to, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | (flags & MREMAP_FIXED ? MAP_FIXED : 0), -1, 0);
	if (p == MAP_FAILED)
		return p;
	smartmap_withdraw(old, from);
	if (prot & PROT_READ || !real_mprotect(old, from, PROT_READ))
		memcpy(p, old, from < to ? from : to);
	if (prot != (PROT_READ | PROT_WRITE))
		real_mprotect(p, to, prot);
#ifdef MREMAP_DONTUNMAP
	if (flags & MREMAP_DONTUNMAP) {
		each_part((uintptr_t)old, (uintptr_t)old + from, part_punch);
		return p;
	}
#endif
	smap_munmap(old, from);
	return p;
}

void *smap_mremap(void *old, size_t from, size_t to, int flags, ...)
{
	uintptr_t hi;
	void *where = NULL;

	if (flags & MREMAP_FIXED
#ifdef MREMAP_DONTUNMAP
	    || flags & MREMAP_DONTUNMAP
#endif
	   ) {
		va_list ap;

		va_start(ap, flags);
		where = va_arg(ap, void *);
		va_end(ap);
	}
	from = (from + PAGE - 1) & ~(PAGE - 1);
	if (flags & MREMAP_FIXED && touches(where, to, &hi) && !touches(old, from, &hi)) {
		touches(where, to, &hi);
		leave((uintptr_t)where, hi);
		old = (void *)syscall(SYS_mremap, old, from, to, flags, where);
		if (old != MAP_FAILED)
			smap_range_forget((uintptr_t)where, hi);
		return old;
	}
	if (!touches(old, from, &hi))
		return (void *)syscall(SYS_mremap, old, from, to, flags, where);
	to = (to + PAGE - 1) & ~(PAGE - 1);
	if (!to) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (to <= from && !where)
		return mremap_shrink(old, from, to);
	return mremap_move(old, from, to, flags, where);
}

/*
 * mlockall() makes every mapping resident at once: holes of peers' files and of the arena, terabytes of them. What is
 * resident gets locked, the rest when it is touched.
 */
int smap_mlockall(int flags)
{
	if (smap.nranges || smap.heap_hi || smap.base || flags & MCL_FUTURE)
		flags |= MCL_ONFAULT;
	return (int)syscall(SYS_mlockall, flags);
}

SMAP_OURS(mlockall, smap_mlockall);
SMAP_OURS(munmap, smap_munmap);
SMAP_OURS(mmap, smap_mmap);
SMAP_OURS(mmap64, smap_mmap);		/* off_t has 64 bits on all machines that have windows */
SMAP_OURS(mprotect, smap_mprotect);
SMAP_OURS(madvise, smap_madvise);
SMAP_OURS(mremap, smap_mremap);

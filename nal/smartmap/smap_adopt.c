/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_adopt.c - moves private memory into the own file, at the same addresses
 *
 * To adopt [lo, hi): copy its bytes to the own file at their offset, then map the file over it. A write between the
 * two would be lost. So: one thread only, signals blocked, on a temporary stack (the main stack is among the ranges),
 * and nothing that runs meanwhile writes to adopted memory: libsmartmap's own image, libc, ld.so and every page with a
 * TCB or TLS are never adopted, and the state used here is in the first of these.
 *
 * What is adopted, in this order; what does not fit (low bits taken) stays private, with its reason:
 *	data	writable segments of the executable and of libraries that we hold a reference on, without RELRO
 *	stack	[top - RLIMIT_STACK (at most 1 GiB), top): an adopted stack does not grow; a guard below
 *	heap	the arena of libsmartmap-malloc, the whole range
 *
 * Only present pages of anonymous memory are copied (PAGEMAP_SCAN; or mincore, where nothing is swapped out; or
 * pagemap; or, without any, pages that are not all zero): an untouched array stays untouched. Private file pages are copied whole, present or not: a hole would
 * read as zeros. Every adopted range is MADV_DONTFORK: a child that nobody repaired faults at once.
 */
#include "smap_adopt.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "smap_maps.h"
#include "smap_own.h"
#include "smap_space.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE	0x100000
#endif
#define SMAP_POPULATE_WRITE	23	/* MADV_POPULATE_WRITE, Linux 5.14 */
#define SMAP_COLLAPSE		25	/* MADV_COLLAPSE, Linux 6.1 */

#define PAGE		smap_page()
#define HUGE		((uintptr_t)2 << 20)
#define GUARD		((uintptr_t)1 << 20)
#define STACK_MOST	((uintptr_t)1 << 30)
#define TEMP_STACK	((size_t)256 << 10)

struct cand {
	uintptr_t lo, hi;		/* what will be mapped from the file */
	uintptr_t copy_lo;		/* what exists now: [copy_lo, hi) */
	enum smap_kind kind;
	int file;
};

/* All private to one call at a time, under smap.lock; static so that it lies in this library's image. */
static struct cand cand[2 * SMAP_RANGES];
static int ncand;
static struct { uintptr_t lo, hi; const char *name; int ok; } seg[2 * SMAP_RANGES];
static int nseg;
static uint64_t pm[8192];
static int collided, failed_errno, want_heap;

/* The interposed calls of smap_interpose.c are for programs; here the kernel is meant. */
static void *raw_mmap(uintptr_t lo, size_t len, int prot, int flags, int fd, uint64_t off)
{
	return (void *)syscall(SYS_mmap, lo, len, prot, flags, fd, off);
}

static int raw_madvise(uintptr_t lo, size_t len, int advice)
{
	return (int)syscall(SYS_madvise, lo, len, advice);
}

/* ---- copying ------------------------------------------------------------------------------------------------ */

static int put(int fd, uintptr_t lo, uintptr_t hi)
{
	while (lo < hi) {
		ssize_t n = pwrite(fd, (void *)lo, hi - lo, (off_t)(lo & smap.mask));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		lo += (uintptr_t)n;
	}
	return 0;
}

static int put_nonzero(int fd, uintptr_t lo, uintptr_t hi)
{
	uintptr_t run = 0;
	int ret = 0;

	for (; lo < hi && !ret; lo += PAGE) {
		const uint64_t *p = (const uint64_t *)lo;
		size_t i;

		for (i = 0; i < PAGE / 8 && !p[i]; i++)
			;
		if (i < PAGE / 8 && !run)
			run = lo;
		if (i == PAGE / 8 && run) {
			ret = put(fd, run, lo);
			run = 0;
		}
	}
	return run && !ret ? put(fd, run, hi) : ret;
}

/* linux/fs.h of 6.7; older headers lack it */
struct scan_region { uint64_t start, end, categories; };
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN_IOCTL	_IOWR('f', 16, struct scan_arg)
#define SCAN_PRESENT	(1 << 3)
#define SCAN_SWAPPED	(1 << 4)

/* 1: the kernel has no PAGEMAP_SCAN */
static int put_scan(int fd, int pmfd, uintptr_t lo, uintptr_t hi)
{
	struct scan_region *r = (struct scan_region *)pm;
	struct scan_arg a = {
		.size = sizeof(a), .start = lo, .end = hi, .vec = (uintptr_t)r, .vec_len = sizeof(pm) / (sizeof(*r)),
		.category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED, .return_mask = SCAN_PRESENT | SCAN_SWAPPED,
	};

	while (a.start < hi) {
		long n = ioctl(pmfd, SCAN_IOCTL, &a), i;

		if (n < 0)
			return 1;
		for (i = 0; i < n; i++) {
			int ret = put(fd, r[i].start, r[i].end);

			if (ret)
				return ret;
		}
		if (a.walk_end <= a.start)
			break;
		a.start = a.walk_end;
	}
	return 0;
}

static int put_pagemap(int fd, int pmfd, uintptr_t lo, uintptr_t hi)
{
	while (lo < hi) {
		size_t want = (hi - lo) / PAGE < sizeof(pm) / 8 ? (hi - lo) / PAGE : sizeof(pm) / 8, n, i;
		ssize_t got = pread(pmfd, pm, want * 8, (off_t)(lo / PAGE * 8));
		uintptr_t run = 0;
		int ret = 0;

		if (got < 8)
			return put_nonzero(fd, lo, hi);
		n = (size_t)got / 8;
		for (i = 0; i < n && !ret; i++) {
			int here = (pm[i] >> 62) != 0;

			if (here && !run)
				run = lo + i * PAGE;
			if (!here && run) {
				ret = put(fd, run, lo + i * PAGE);
				run = 0;
			}
		}
		if (run && !ret)
			ret = put(fd, run, lo + n * PAGE);
		if (ret)
			return ret;
		lo += n * PAGE;
	}
	return 0;
}

/* mincore() does not tell a page that was swapped out from one that never was. */
static int nothing_swapped(void)
{
	char buf[4096], *p;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	p = strstr(buf, "VmSwap:");
	return p && strtoul(p + 7, NULL, 10) == 0;
}

/* Fast over large holes: the kernel skips them by whole tables. */
static int put_mincore(int fd, uintptr_t lo, uintptr_t hi)
{
	unsigned char *vec = (unsigned char *)pm;
	uintptr_t run = 0;
	int ret = 0;

	while (lo < hi && !ret) {
		size_t n = (hi - lo) / PAGE < sizeof(pm) ? (hi - lo) / PAGE : sizeof(pm), i;

		if (mincore((void *)lo, n * PAGE, vec))
			return -errno;
		if (!run && !memchr(vec, 1, n)) {
			lo += n * PAGE;
			continue;
		}
		for (i = 0; i < n && !ret; i++) {
			if ((vec[i] & 1) && !run)
				run = lo + i * PAGE;
			if (!(vec[i] & 1) && run) {
				ret = put(fd, run, lo + i * PAGE);
				run = 0;
			}
		}
		lo += n * PAGE;
	}
	return run && !ret ? put(fd, run, hi) : ret;
}

static int put_present(int fd, uintptr_t lo, uintptr_t hi)
{
	int pmfd = -1, ret = 1, mc = !smap_forced_off(SMAP_OFF_MINCORE) && nothing_swapped();

	if (!smap_forced_off(SMAP_OFF_PAGEMAP))
		pmfd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (pmfd >= 0)
		ret = put_scan(fd, pmfd, lo, hi);
	if (ret == 1 && mc)
		ret = put_mincore(fd, lo, hi);
	else if (ret == 1 && pmfd >= 0)
		ret = put_pagemap(fd, pmfd, lo, hi);
	else if (ret == 1)
		ret = hi - lo <= ((uintptr_t)8 << 30) ? put_nonzero(fd, lo, hi) : -ENOTSUP;	/* would take minutes */
	if (pmfd >= 0)
		close(pmfd);
	return ret;
}

/* Call @fn for each stretch of [lo, hi) that has bytes in the file. */
static int each_data(int fd, uintptr_t lo, uintptr_t hi, int (*fn)(int fd, uintptr_t lo, uintptr_t hi, uintptr_t arg),
		     uintptr_t arg)
{
	off_t off = (off_t)(lo & smap.mask), end = off + (off_t)(hi - lo), base = (off_t)lo - off, hole;
	int ret = 0;

	while (!ret && off < end) {
		off = lseek(fd, off, SEEK_DATA);
		if (off < 0 || off >= end)
			break;
		hole = lseek(fd, off, SEEK_HOLE);
		if (hole < 0 || hole > end)
			hole = end;
		ret = fn(fd, (uintptr_t)(base + off), (uintptr_t)(base + hole), arg);
		off = hole;
	}
	return ret;
}

/* ---- huge pages --------------------------------------------------------------------------------------------- */

int smap_huge_ok(void)
{
	static int known;	/* 1 no, 2 yes */

	if (!known) {
		if (smap_forced_off(SMAP_OFF_HUGE)) {
			smap_why_set(SMARTMAP_F_HUGE, "forced off by SMARTMAP_FORCE_OFF");
			known = 1;
		} else if (!smap.memfile) {
			return 0;
		} else if (raw_madvise(smap.base, 0, SMAP_COLLAPSE)) {	/* nothing to do, but must be known */
			smap_why_set(SMARTMAP_F_HUGE, "the kernel has no MADV_COLLAPSE (Linux 6.1, with "
				     "TRANSPARENT_HUGEPAGE)");
			known = 1;
		} else {
			known = 2;
		}
	}
	return known == 2;
}

static int collapse_data(int fd, uintptr_t lo, uintptr_t hi, uintptr_t arg)
{
	lo = (lo + HUGE - 1) & ~(HUGE - 1);
	hi &= ~(HUGE - 1);
	/* Whole stretches of data only, so that nothing becomes resident. A failure leaves small pages: harmless. */
	if (lo < hi)
		raw_madvise(lo, hi - lo, SMAP_COLLAPSE);
	return 0;
}

void smap_collapse(uintptr_t lo, uintptr_t hi)
{
	int fd;

	if (hi - lo < HUGE || !smap_huge_ok())
		return;
	fd = smap_own_fd();
	if (fd < 0)
		return;
	each_data(fd, lo, hi, collapse_data, 0);
	smap_own_fd_put(fd);
}

/* Map what is present, all at once, instead of by a fault per page later. */
static int populate_data(int fd, uintptr_t lo, uintptr_t hi, uintptr_t arg)
{
	raw_madvise(lo, hi - lo, SMAP_POPULATE_WRITE);
	return 0;
}

/* ---- one range ---------------------------------------------------------------------------------------------- */

static int adopt_one(int fd, const struct cand *c)
{
	int ret;

	if (!smap_range_free(c->lo, c->hi))
		return -EBUSY;
	if (smap.nranges >= SMAP_RANGES)
		return -ENOSPC;
	ret = c->file ? put(fd, c->copy_lo, c->hi) : put_present(fd, c->copy_lo, c->hi);
	if (ret)
		goto err_punch;
	/*
	 * Fails only where the table of mappings is full or the kernel is out of memory, and then most kernels have
	 * left the old mapping.
	 */
	if (raw_mmap(c->lo, c->hi - c->lo, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
		     c->lo & smap.mask) == MAP_FAILED) {
		ret = -errno;
		goto err_punch;
	}
	raw_madvise(c->lo, c->hi - c->lo, MADV_DONTFORK);
	smap_range_add(c->lo, c->hi, c->kind, PROT_READ | PROT_WRITE);
	if (c->file)
		return 0;	/* not all of it was resident before: what is used comes back by faults */
	if (smap_huge_ok())
		each_data(fd, c->lo, c->hi, collapse_data, 0);
	each_data(fd, c->lo, c->hi, populate_data, 0);
	return 0;
err_punch:
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(c->lo & smap.mask), (off_t)(c->hi - c->lo));
	return ret;
}

/* In pieces, where a small window or an obstacle demands it; what does not fit stays private. */
static void adopt_heap(int fd)
{
	uintptr_t at = smap.heap_lo, lo, hi;

	while (smap_range_fit(at, smap.heap_hi, &lo, &hi)) {
		struct cand c = { lo, hi, lo, SMAP_K_HEAP, 0 };
		int ret = hi - lo >= HUGE ? adopt_one(fd, &c) : -EBUSY;

		if (ret)
			failed_errno = ret == -EBUSY ? failed_errno : -ret;
		if (ret || lo > at)
			collided |= 1 << SMAP_K_HEAP;
		at = hi;
	}
	if (at < smap.heap_hi)
		collided |= 1 << SMAP_K_HEAP;
}

static void adopt_cands(int fd)
{
	int i, ret;

	for (i = 0; i < ncand; i++) {
		ret = adopt_one(fd, &cand[i]);
		if (ret == -EBUSY)
			collided |= 1 << cand[i].kind;
		else if (ret)
			failed_errno = -ret;
		else if (cand[i].kind == SMAP_K_STACK)	/* there is no growing mapping any more, so no gap of the kernel's */
			raw_mmap(cand[i].lo - GUARD, GUARD, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	}
	if (want_heap)		/* last: it takes what is left */
		adopt_heap(fd);
}

/* ---- taking it back ----------------------------------------------------------------------------------------- */

static int read_back(int fd, uintptr_t lo, uintptr_t hi, uintptr_t to)
{
	while (lo < hi) {
		ssize_t n = pread(fd, (void *)(to + (lo & smap.mask)), hi - lo, (off_t)(lo & smap.mask));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		lo += (uintptr_t)n;
	}
	return 0;
}

static void undo_ranges(int fd)
{
	uint32_t i;

	for (i = 0; i < smap.nranges; i++) {
		const struct smap_range *r = &smap.range[i];
		size_t len = r->hi - r->lo;
		char *p = raw_mmap(0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			continue;	/* it stays what it is: shared with a file that nobody else has */
		/* @to is chosen so that to + offset is the place in the copy. */
		if (each_data(fd, r->lo, r->hi, read_back, (uintptr_t)p - (r->lo & smap.mask)) ||
		    syscall(SYS_mprotect, p, len, r->prot) ||
		    (void *)syscall(SYS_mremap, p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, r->lo) != (void *)r->lo)
			syscall(SYS_munmap, p, len);
	}
	smap.nranges = 0;
}

/* ---- on a temporary stack ----------------------------------------------------------------------------------- */

static ucontext_t main_ctx, temp_ctx;
static void (*temp_fn)(int fd);
static int temp_fd;

static void temp_main(void)
{
	temp_fn(temp_fd);
}

/* Run @fn(@fd) with all signals blocked, off the current stack. */
static int on_temp_stack(void (*fn)(int fd), int fd)
{
	void *stack = raw_mmap(0, TEMP_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t all, old;
	int ret;

	if (stack == MAP_FAILED)
		return -ENOMEM;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	temp_fn = fn;
	temp_fd = fd;
	ret = getcontext(&temp_ctx);
	if (!ret) {
		temp_ctx.uc_stack.ss_sp = stack;
		temp_ctx.uc_stack.ss_size = TEMP_STACK;
		temp_ctx.uc_link = &main_ctx;
		makecontext(&temp_ctx, temp_main, 0);
		ret = swapcontext(&main_ctx, &temp_ctx);
	}
	ret = ret ? -errno : 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
	syscall(SYS_munmap, stack, TEMP_STACK);
	return ret;
}

/* ---- what is there to adopt --------------------------------------------------------------------------------- */

static int never(const char *path)
{
	/* The dynamic linker, the C library and its parts, and ourselves. */
	static const char *const no[] = { "ld-linux", "ld.so", "ld64.so", "ld-2.", "libc.so", "libc-2", "libpthread", "libdl.",
		"libdl-", "librt.", "librt-", "libm.so", "libm-", "libmvec", "libresolv", "libnss_", "libutil", "libanl",
		"linux-vdso", "linux-gate", "libsmartmap.so", "libthread_db" };
	const char *base = strrchr(path, '/');
	size_t i;

	base = base ? base + 1 : path;
	for (i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (!strncmp(base, no[i], strlen(no[i])))
			return 1;
	return 0;
}

static int add_segments(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t relro_lo = 0, relro_hi = 0, self = (uintptr_t)&smap;
	int i;

	if (never(info->dlpi_name))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && self >= lo && self < lo + p->p_memsz)
			return 0;
		if (p->p_type == PT_GNU_RELRO) {
			relro_lo = lo & ~(PAGE - 1);
			relro_hi = (lo + p->p_memsz) & ~(PAGE - 1);
		}
	}
	for (i = 0; i < info->dlpi_phnum && nseg < 2 * SMAP_RANGES - 1; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t lo = (info->dlpi_addr + p->p_vaddr) & ~(PAGE - 1);
		uintptr_t hi = (info->dlpi_addr + p->p_vaddr + p->p_memsz + PAGE - 1) & ~(PAGE - 1);

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W) || p->p_flags & PF_X)
			continue;
		if (relro_lo < relro_hi && relro_lo < hi && lo < relro_hi) {
			if (lo < relro_lo) {
				seg[nseg].lo = lo;
				seg[nseg].hi = relro_lo;
				seg[nseg++].name = info->dlpi_name;
			}
			lo = relro_hi;
		}
		if (lo < hi) {
			seg[nseg].lo = lo;
			seg[nseg].hi = hi;
			seg[nseg++].name = info->dlpi_name;
		}
	}
	return 0;
}

static int add_data(void *arg, const struct smap_map *m)
{
	int i;

	if (m->shared || m->prot != (PROT_READ | PROT_WRITE))
		return 0;
	for (i = 0; i < nseg; i++) {
		uintptr_t lo = m->lo > seg[i].lo ? m->lo : seg[i].lo, hi = m->hi < seg[i].hi ? m->hi : seg[i].hi;

		while (seg[i].ok && lo < hi && ncand < 2 * SMAP_RANGES) {
			uintptr_t line = (lo | smap.mask) + 1, end = hi < line ? hi : line;

			cand[ncand++] = (struct cand){ lo, end, lo, SMAP_K_DATA, m->file };
			lo = end;
		}
	}
	return 0;
}

static void find_data(void)
{
	int i;

	nseg = 0;
	dl_iterate_phdr(add_segments, NULL);
	for (i = 0; i < nseg; i++) {
		/* A library that is unloaded would leave our mapping in its place: hold it. The executable has no name. */
		seg[i].ok = !seg[i].name[0] || dlopen(seg[i].name, RTLD_LAZY | RTLD_NOLOAD) != NULL;
	}
	smap_maps_walk(add_data, NULL);
}

struct stack_place { uintptr_t lo, hi, below; int prot; };

static int find_stack_map(void *arg, const struct smap_map *m)
{
	struct stack_place *s = arg;

	if (strcmp(m->name, "[stack]")) {
		s->below = m->hi;	/* of the mapping before it, in the end */
		return 0;
	}
	s->lo = m->lo;
	s->hi = m->hi;
	s->prot = m->prot;
	return 1;
}

static const char *find_stack(void)
{
	struct stack_place s = { 0, 0, 0, 0 };
	struct rlimit r;
	uintptr_t len = STACK_MOST, lo;

	if (smap_maps_walk(find_stack_map, &s) != 1)
		return "the main stack is not found in /proc/self/maps";
	if (s.prot & PROT_EXEC)
		return "the main stack is executable";
	if (!getrlimit(RLIMIT_STACK, &r) && r.rlim_cur != RLIM_INFINITY && r.rlim_cur < len)
		len = (r.rlim_cur + PAGE - 1) & ~(PAGE - 1);
	lo = s.hi - len;
	if (lo > s.lo)
		lo = s.lo;			/* the limit was lowered since */
	if (lo < s.below + 2 * GUARD)
		lo = s.below + 2 * GUARD;
	if ((lo & ~smap.mask) != ((s.hi - 1) & ~smap.mask))
		lo = (s.hi - 1) & ~smap.mask;	/* never across a window's line */
	if (lo > s.lo)
		return "no room below the main stack";
	cand[ncand++] = (struct cand){ lo, s.hi, s.lo, SMAP_K_STACK, 0 };
	return NULL;
}

static const char *nothing_private(void)
{
	int n = smap_tasks();

	if (smap_sanitizer())
		return "a sanitizer owns the layout of this process";
	if (smap_valgrind())
		return "the process runs under Valgrind";
	if (smap.bits < SMAP_BITS_ADOPT)
		return smap_space_bits(smap_space_end(), (uint32_t)smap.size, SMAP_BITS_ADOPT, SMAP_BITS_MAX) ?
		       "the limit of virtual memory (ulimit -v, here or in another rank) leaves no room for windows of "
		       "4 GiB" : "the addresses of this machine have too few bits for a window of 4 GiB for each rank";
	if (n != 1 && !smap_forced_off(SMAP_OFF_CARE))
		return n < 0 ? "/proc is not mounted" : "other threads run already: adoption needs a single thread";
	return NULL;
}

/* Keep the own image in core files: it is shared now, which the filter may leave out. */
static void keep_in_core(void)
{
	char buf[16];
	unsigned long v;
	int fd = open("/proc/self/coredump_filter", O_RDWR | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, buf, sizeof(buf) - 1);
	if (n > 0) {
		buf[n] = 0;
		v = strtoul(buf, NULL, 16);
		if ((v & 1) && !(v & 2)) {
			n = snprintf(buf, sizeof(buf), "0x%lx", v | 2);
			if (pwrite(fd, buf, (size_t)n, 0) != n)
				(void)n;	/* then the core is smaller: no harm */
		}
	}
	close(fd);
}

static const struct {
	enum smartmap_adopt what;
	enum smap_off off;
	enum smap_kind kind;
	enum smartmap_feature feature;
	const char *name;
} part[3] = {
	{ SMARTMAP_ADOPT_DATA, SMAP_OFF_DATA, SMAP_K_DATA, SMARTMAP_F_DATA, "data and bss" },
	{ SMARTMAP_ADOPT_STACK, SMAP_OFF_STACK, SMAP_K_STACK, SMARTMAP_F_STACK, "the main stack" },
	{ SMARTMAP_ADOPT_HEAP, SMAP_OFF_HEAP, SMAP_K_HEAP, SMARTMAP_F_HEAP, "the heap" },
};

void smap_adopt_all(uint32_t what)
{
	const char *common = nothing_private();
	int fd, i, ret, again = smap.nranges > 0;
	uint32_t k;

	ncand = collided = failed_errno = want_heap = 0;
	if (!again && !common && smap_forced_off(SMAP_OFF_FORK))
		common = "a forked child would not be protected (forced off by SMARTMAP_FORCE_OFF)";
	if (smap_forced_off(SMAP_OFF_FORK))
		smap_why_set(SMARTMAP_F_FORK, "forced off by SMARTMAP_FORCE_OFF");
	else if (!smap_fork_setup)
		smap_why_set(SMARTMAP_F_FORK, "this build has no fork protection");
	else if (!common && (ret = smap_fork_setup())) {
		if (!smap.why[SMARTMAP_F_FORK][0])
			smap_why_set(SMARTMAP_F_FORK, "fork protection failed: %s", strerror(-ret));
		if (!smap_forced_off(SMAP_OFF_CARE))
			common = "a forked child would not be protected";
	} else if (!common) {
		smap.has[SMARTMAP_F_FORK] = 1;
	} else {
		smap_why_set(SMARTMAP_F_FORK, "nothing is adopted, so fork() needs no help");
	}
	smap.has[SMARTMAP_F_HUGE] = smap_huge_ok();
	for (i = 0; i < 3 && !again; i++) {
		const char *why = common;

		if (!(what & part[i].what))
			smap_why_set(part[i].feature, "%s: not asked for", part[i].name);
		else if (smap_forced_off(part[i].off))
			smap_why_set(part[i].feature, "%s: forced off by SMARTMAP_FORCE_OFF", part[i].name);
		else if (part[i].kind == SMAP_K_HEAP && !smap.heap_hi)
			smap_why_set(part[i].feature, "the heap: libsmartmap-malloc is not loaded");
		else if (common)
			smap_why_set(part[i].feature, "%s: %s", part[i].name, why);
		else if (part[i].kind == SMAP_K_DATA)
			find_data();
		else if (part[i].kind == SMAP_K_HEAP)
			want_heap = 1;
		else if ((why = find_stack()))
			smap_why_set(part[i].feature, "%s", why);
	}
	if (ncand || want_heap) {
		fd = smap_own_fd();
		ret = fd < 0 ? fd : on_temp_stack(adopt_cands, fd);
		if (ret)
			failed_errno = -ret;
		smap_own_fd_put(fd);
		keep_in_core();
	}
	smap_lock();
	smap_ranges_publish();
	smap_unlock();
	for (k = 0; k < smap.nranges; k++)
		for (i = 0; i < 3; i++)
			if (smap.range[k].kind == part[i].kind)
				smap.has[part[i].feature] = 1;
	for (i = 0; i < 3; i++) {
		int some = smap.has[part[i].feature];

		if (collided & 1 << part[i].kind) {
			smap_why_set(part[i].feature, "%s: the low %d bits of some addresses are taken (by chance, ASLR): %s "
				     "private", part[i].name, smap.bits, some ? "these parts stay" : "it stays");
			smap.has[part[i].feature] = some;
		} else if (!smap.has[part[i].feature] && !smap.why[part[i].feature][0])
			smap_why_set(part[i].feature, "%s: %s", part[i].name,
				     failed_errno ? strerror(failed_errno) : again ? "not made visible at the first start" :
				     "nothing found");
	}
}

void smap_adopt_undo(void)
{
	int fd = smap_own_fd();

	if (fd >= 0) {
		on_temp_stack(undo_ranges, fd);
		smap_own_fd_put(fd);
		smap_lock();
		smap_ranges_publish();
		smap_unlock();
	}
}

/* ---- by hand ------------------------------------------------------------------------------------------------ */

struct check { uintptr_t lo, hi; };

static int check_private(void *arg, const struct smap_map *m)
{
	struct check *c = arg;

	if (m->hi <= c->lo || m->lo > c->lo)
		return m->lo > c->lo;
	if (m->shared || m->file || m->prot != (PROT_READ | PROT_WRITE))
		return 1;
	c->lo = m->hi;			/* holds from here on */
	return c->lo >= c->hi;
}

SMAP_EXPORT int smartmap_adopt(void *addr, size_t len)
{
	struct check c = { (uintptr_t)addr, 0 };
	const char *why;
	int fd, ret;

	if (!smap.inits || !smap.memfile || !len || (uintptr_t)addr % PAGE || len % PAGE ||
	    __builtin_add_overflow((uintptr_t)addr, len, &c.hi))
		return -EINVAL;
	why = nothing_private();
	if (why || !smap.has[SMARTMAP_F_FORK])
		return -ENOTSUP;
	smap_maps_walk(check_private, &c);
	if (c.lo < c.hi)
		return -EINVAL;
	fd = smap_own_fd();
	if (fd < 0)
		return -ENOTSUP;
	smap_lock();
	ncand = 1;
	collided = failed_errno = want_heap = 0;
	cand[0] = (struct cand){ (uintptr_t)addr, c.hi, (uintptr_t)addr, SMAP_K_USER, 0 };
	ret = on_temp_stack(adopt_cands, fd);
	if (!ret && collided)
		ret = -EBUSY;
	if (!ret && failed_errno)
		ret = -failed_errno == -ENOSPC ? -EBUSY : -EINVAL;
	smap_ranges_publish();
	smap_unlock();
	smap_own_fd_put(fd);
	return ret;
}

int smap_range_map(uintptr_t lo, uintptr_t hi, int prot, enum smap_kind kind)
{
	int fd, ret;

	if (!smap.memfile || (lo | hi) % PAGE || hi <= lo)
		return -EINVAL;
	fd = smap_own_fd();
	if (fd < 0)
		return -ENOMEM;
	smap_lock();
	ret = smap_range_add(lo, hi, kind, prot);
	if (!ret) {
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(lo & smap.mask), (off_t)(hi - lo));
		if (raw_mmap(lo, hi - lo, prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, lo & smap.mask) == MAP_FAILED)
			ret = -ENOMEM;
		else if (raw_madvise(lo, hi - lo, MADV_DONTFORK))
			ret = -ENOMEM;
		else
			smap_ranges_publish();
	}
	smap_unlock();
	if (ret && ret != -EBUSY && ret != -ENOSPC)
		smap_range_forget(lo, hi);
	smap_own_fd_put(fd);
	return ret == -ENOSPC ? -EBUSY : ret;
}

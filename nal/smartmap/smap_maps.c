/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_maps.c - reads /proc/self/maps, finds free windows, and free places in the space of low bits
 *
 * Uses no malloc: it runs in constructors of the allocator, and while memory is being moved. Tables are private
 * anonymous mappings made and dropped within each call.
 */
#include "smap_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "smap_space.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static uintptr_t hex(const char **p)
{
	uintptr_t v = 0;

	for (;; (*p)++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return v;
	}
}

/* "lo-hi rwxp offset dev inode   name" */
static int parse(const char *s, struct smap_map *m)
{
	int field;

	m->lo = hex(&s);
	if (*s++ != '-')
		return 0;
	m->hi = hex(&s);
	if (*s++ != ' ')
		return 0;
	m->prot = (s[0] == 'r' ? PROT_READ : 0) | (s[1] == 'w' ? PROT_WRITE : 0) | (s[2] == 'x' ? PROT_EXEC : 0);
	m->shared = s[3] == 's';
	for (field = 0; field < 3; field++) {
		while (*s && *s != ' ')
			s++;
		while (*s == ' ')
			s++;
	}
	m->file = *s && *s != '0';
	while (*s && *s != ' ')
		s++;
	while (*s == ' ')
		s++;
	m->name = s;
	return 1;
}

int smap_maps_walk(int (*fn)(void *arg, const struct smap_map *m), void *arg)
{
	char buf[8192];
	size_t have = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(fd, buf + have, sizeof(buf) - 1 - have);
		char *line = buf, *nl;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
		buf[have] = 0;
		while ((nl = memchr(line, '\n', have - (size_t)(line - buf)))) {
			struct smap_map m;

			*nl = 0;
			if (parse(line, &m)) {
				ret = fn(arg, &m);
				if (ret)
					goto out;
			}
			line = nl + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have >= sizeof(buf) - 1)	/* a line longer than any path: drop it */
			have = 0;
	}
out:
	close(fd);
	return ret;
}

int smap_tasks(void)
{
	struct stat st;

	if (stat("/proc/self/task", &st) || st.st_nlink < 3)
		return -1;
	return (int)st.st_nlink - 2;
}

int smap_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

extern void __asan_init(void) SMAP_WEAK;
extern void __tsan_init(void) SMAP_WEAK;
extern void __msan_init(void) SMAP_WEAK;

int smap_sanitizer(void)
{
	return __asan_init || __tsan_init || __msan_init;
}

/* Neither inherited (a child would share the window) nor dumped (a core file would hold it). */
static uintptr_t fenced(void *p, uint64_t size)
{
	if (!madvise(p, size, MADV_DONTFORK) && (!madvise(p, size, MADV_DONTDUMP) || smap_valgrind()))
		return (uintptr_t)p;
	munmap(p, size);
	return 0;
}

/* Where fixed addresses are not ours to choose (Valgrind): twice the size anywhere, and the aligned part of it. */
static uintptr_t window_anywhere(int fd, uint64_t size)
{
	char *p = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *q;

	if (p == MAP_FAILED)
		return 0;
	q = (char *)(((uintptr_t)p + size - 1) & ~(size - 1));
	if (q > p)
		munmap(p, (size_t)(q - p));
	if (q < p + size)
		munmap(q + size, (size_t)(p + size - q));
	p = mmap(q, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
	if (p == MAP_FAILED) {
		munmap(q, size);
		return 0;
	}
	return fenced(p, size);
}

uintptr_t smap_window_map(int fd, int bits)
{
	uint64_t size = SMAP_SIZE(bits);
	uintptr_t end = smap_space_end(), at;
	uint64_t n;

	if (smap_valgrind())
		return window_anywhere(fd, size);
	for (n = 0; (at = smap_space_place(end, bits, n)); n++) {
		void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);

		if (p == MAP_FAILED) {
			if (errno == EEXIST)
				continue;
			return errno == EINVAL || errno == EPERM ? window_anywhere(fd, size) : 0;
		}
		if (p != (void *)at) {	/* before Linux 4.17 the flag is a hint */
			munmap(p, size);
			continue;
		}
		return fenced(p, size);
	}
	errno = ENOMEM;
	return 0;
}

/* ---- sets of intervals -------------------------------------------------------------------------------------- */

struct set {
	struct { uint64_t lo, hi; } *v;
	size_t n, max, bytes;
	uint64_t mask;			/* low-bit space; ~0 for plain addresses */
	int private_only;		/* only what may ever be adopted */
};

static int set_init(struct set *s, uint64_t mask)
{
	s->bytes = (size_t)4 << 20;
	s->v = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->v == MAP_FAILED)
		return -errno;
	s->max = s->bytes / sizeof(*s->v);
	s->n = 0;
	s->mask = mask;
	s->private_only = 0;
	return 0;
}

static void set_free(struct set *s)
{
	munmap(s->v, s->bytes);
}

static void set_add(struct set *s, uint64_t lo, uint64_t hi)
{
	while (lo < hi && s->n < s->max) {
		uint64_t l = lo & s->mask, part = hi - lo;

		if (s->mask != ~0ULL && part > s->mask + 1 - l)
			part = s->mask + 1 - l;
		s->v[s->n].lo = l;
		s->v[s->n++].hi = l + part;
		lo += part;
	}
}

static int cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* In place, no malloc (qsort of libc may call it): heap sort. */
static void set_sort(struct set *s)
{
	size_t n = s->n, i, k, c, out = 0;

	for (i = n / 2 + n; i-- > 1 && n;) {
		size_t size = i >= n ? n : i;	/* first build the heap (i >= n), then take the greatest off */
		size_t root = i >= n ? i - n : 0;

		if (i < n) {
			__typeof__(*s->v) t = s->v[0];

			s->v[0] = s->v[i];
			s->v[i] = t;
		}
		for (k = root; (c = 2 * k + 1) < size; k = c) {
			__typeof__(*s->v) t;

			if (c + 1 < size && cmp(&s->v[c], &s->v[c + 1]) < 0)
				c++;
			if (cmp(&s->v[k], &s->v[c]) >= 0)
				break;
			t = s->v[k];
			s->v[k] = s->v[c];
			s->v[c] = t;
		}
	}
	for (i = 0; i < s->n; i++) {		/* merge what overlaps or touches */
		if (out && s->v[i].lo <= s->v[out - 1].hi) {
			if (s->v[i].hi > s->v[out - 1].hi)
				s->v[out - 1].hi = s->v[i].hi;
		} else {
			s->v[out++] = s->v[i];
		}
	}
	s->n = out;
}

static int add_map(void *arg, const struct smap_map *m)
{
	struct set *s = arg;

	if (m->lo >= (uintptr_t)1 << 62)	/* vsyscall */
		return 1;
	/* What is shared is never adopted, and so takes no low bits: windows above all, which cover every one. */
	if (s->mask != ~0ULL && m->shared)
		return 0;
	/* Neither is what could not even lie in a window: reservations of other run-time systems. */
	if (s->mask != ~0ULL && m->hi - m->lo > (s->mask + 1) / 2)
		return 0;
	if (s->private_only && (!(m->prot & PROT_WRITE) || (smap.heap_hi && m->lo == smap.heap_lo)))
		return 0;
	set_add(s, m->lo, m->hi);
	return 0;
}

/* Room for the stack to be covered (smap_adopt.c: at most 1 GiB) and for what the kernel maps next to it. */
static int add_stack(void *arg, const struct smap_map *m)
{
	if (!strcmp(m->name, "[stack]"))
		set_add(arg, m->hi - ((uintptr_t)1 << 30) - ((uintptr_t)2 << 20), m->hi);
	return 0;
}

static void add_own(struct set *s)
{
	uint32_t i;

	set_add(s, 0, SMAP_CTL_SIZE);
	if (smap.ctl)
		set_add(s, atomic_load(&smap.ctl->arena_lo), atomic_load(&smap.ctl->arena_hi));
	for (i = 0; i < smap.nranges; i++)
		set_add(s, smap.range[i].lo, smap.range[i].hi);
	/* At most half of a window: in a small one the rest of the heap stays private rather than push all else out. */
	if (smap.heap_hi && s->mask != ~0ULL && smap.heap_hi - smap.heap_lo > (s->mask + 1) / 2)
		set_add(s, smap.heap_lo, smap.heap_lo + (s->mask + 1) / 2);
	else if (smap.heap_hi)
		set_add(s, smap.heap_lo, smap.heap_hi);
}

int smap_arena_gap(int bits, uint64_t *lo, uint64_t *hi)
{
	struct set s;
	uint64_t best_lo = 0, best_hi = 0, at = 0;
	size_t i;
	int ret;

	/* Nothing will be adopted, so nothing can collide. */
	if (smap_sanitizer() || smap_valgrind() || bits < SMAP_BITS_ADOPT) {
		*lo = SMAP_CTL_SIZE;
		*hi = SMAP_SIZE(bits);
		return 0;
	}
	ret = set_init(&s, SMAP_SIZE(bits) - 1);
	if (ret)
		return ret;
	s.private_only = 1;
	smap_maps_walk(add_map, &s);
	smap_maps_walk(add_stack, &s);
	add_own(&s);
	set_sort(&s);
	for (i = 0; i <= s.n; i++) {
		uint64_t end = i < s.n ? s.v[i].lo : s.mask + 1;

		if (end - at > best_hi - best_lo) {
			best_lo = at;
			best_hi = end;
		}
		if (i < s.n)
			at = s.v[i].hi;
	}
	set_free(&s);
	*lo = best_lo;
	*hi = best_hi;
	return 0;
}

/* The greatest p in [a, b - len] of alignment @align whose low bits are free in @low; 0: none. */
static uintptr_t fit(const struct set *low, uintptr_t a, uintptr_t b, size_t len, size_t align)
{
	uintptr_t p = (b - len) & ~(align - 1);

	while (p >= a && p <= b) {
		uint64_t l = p & low->mask, h = l + len;
		size_t i;

		if (h > low->mask + 1) {	/* would cross a window's line: end at the line */
			p = ((p | low->mask) + 1 - len) & ~(align - 1);
			continue;
		}
		for (i = low->n; i-- > 0;)
			if (low->v[i].lo < h && l < low->v[i].hi)
				break;
		if (i == (size_t)-1)
			return p;
		if (h - low->v[i].lo > p)
			return 0;
		p = (p - (h - low->v[i].lo)) & ~(align - 1);	/* just below the obstacle; may cross a line: again */
	}
	return 0;
}

uintptr_t smap_find_hole(size_t len, size_t align)
{
	struct set space, low;
	uintptr_t at = 0, page = smap_page();
	size_t i;
	int bits = smap.memfile && smap.bits ? smap.bits : SMAP_BITS_MAX;

	len = (len + page - 1) & ~(size_t)(page - 1);
	if (align < page)
		align = page;
	if (!len || len > SMAP_SIZE(bits) / 2)
		return 0;
	if (set_init(&space, ~0ULL))
		return 0;
	if (set_init(&low, SMAP_SIZE(bits) - 1)) {
		set_free(&space);
		return 0;
	}
	smap_maps_walk(add_map, &space);
	smap_maps_walk(add_map, &low);
	smap_maps_walk(add_stack, &space);
	smap_maps_walk(add_stack, &low);
	add_own(&low);
	set_sort(&space);
	set_sort(&low);
	/* Highest gap first, a page away from its neighbours. */
	for (i = space.n; i-- > 1 && !at;) {
		uintptr_t a = space.v[i - 1].hi + page, b = space.v[i].lo - page;

		if (b > a && b - a >= len)
			at = fit(&low, a, b, len, align);
	}
	set_free(&low);
	set_free(&space);
	return at;
}

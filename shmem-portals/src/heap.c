/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * heap.c - the symmetric heap: the same sequence of calls gives the same offsets on every PE
 *
 * One block of arena memory per PE; its first SHMEMI_RESERVED bytes are the library's own. What is free and what is
 * not is known outside of it, in an array sorted by offset that covers the rest without gaps, so that a program that
 * writes past a block spoils data, not the heap. First fit by address: the result depends on nothing but the calls
 * before. `lock' is for programs that call from several threads in an order of their own making; it is held across
 * barriers, so what must not wait for other PEs (SHMEM_DEBUG, libraries above) does not take it. `table' is held while
 * block[] changes or is looked at.
 */
#include <errno.h>
#include <pshmemx.h>
#include <pthread.h>
#include <smartmap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lower.h"
#include "shmemi.h"

#define GRAIN	64u			/* blocks never share a cache line */
#define HUGE_PAGE	((uintptr_t)2 << 20)
#define COLLAPSE	25		/* MADV_COLLAPSE, Linux 6.1 */

struct block {
	uint64_t off, len;
	uint64_t asked;			/* bytes that the program may use, <= len; for SHMEM_DEBUG */
	bool used;
};

static struct block *block;
static size_t n_blocks, room;
static uint32_t serial;			/* calls since the start, + 1 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;	/* inside of lock */

int shmemi_heap_start(size_t size)
{
	void *p;

	size += SHMEMI_RESERVED;
	p = smartmap_alloc(size, HUGE_PAGE);	/* what is reserved is more than that */
	if (!p)
		return -1;
	room = 64;
	block = malloc(room * sizeof(*block));
	if (!block) {
		smartmap_free(p, size);
		return -1;
	}
	block[0] = (struct block){ SHMEMI_RESERVED, size - SHMEMI_RESERVED, 0, false };
	n_blocks = 1;
	serial = 1;
	shmemi.heap = (uintptr_t)p;
	shmemi.heap_size = size;
	return 0;
}

void shmemi_heap_end(void)
{
	smartmap_free((void *)shmemi.heap, shmemi.heap_size);
	free(block);
	block = NULL;
	n_blocks = room = 0;
}

/* Open a hole of @n entries behind entry @i. */
static bool make_room(size_t i, size_t n)
{
	if (n_blocks + n > room) {
		struct block *more = realloc(block, 2 * room * sizeof(*more));

		if (!more)
			return false;
		block = more;
		room *= 2;
	}
	memmove(&block[i + 1 + n], &block[i + 1], (n_blocks - i - 1) * sizeof(*block));
	n_blocks += n;
	return true;
}

static void remove_entry(size_t i)
{
	memmove(&block[i], &block[i + 1], (--n_blocks - i) * sizeof(*block));
}

/* Entry whose block begins at @off, or n_blocks. */
static size_t entry_at(uint64_t off)
{
	size_t lo = 0, hi = n_blocks;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (block[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n_blocks && block[lo].off == off ? lo : n_blocks;
}

/* Offset of a new block, or UINT64_MAX. [table] */
static uint64_t take(uint64_t align, uint64_t size)
{
	uint64_t len = (size + GRAIN - 1) & ~(uint64_t)(GRAIN - 1);

	if (align < GRAIN)
		align = GRAIN;
	for (size_t i = 0; i < n_blocks; i++) {
		/* the heap itself is aligned to 2 MiB on every PE */
		uint64_t off = (block[i].off + align - 1) & ~(align - 1), end = block[i].off + block[i].len;
		bool before, behind;

		if (block[i].used || off > end || len > end - off)
			continue;
		before = off > block[i].off;
		behind = off + len < end;
		if (!make_room(i, (size_t)before + behind))
			return UINT64_MAX;
		if (before) {
			block[i].len = off - block[i].off;
			i++;
		}
		block[i] = (struct block){ off, len, size, true };
		if (behind)
			block[i + 1] = (struct block){ off + len, end - off - len, 0, false };
		return off;
	}
	return UINT64_MAX;
}

/* [table] */
static void give(size_t i)
{
	block[i].used = false;
	if (i + 1 < n_blocks && !block[i + 1].used) {
		block[i].len += block[i + 1].len;
		remove_entry(i + 1);
	}
	if (i && !block[i - 1].used) {
		block[i - 1].len += block[i].len;
		remove_entry(i);
	}
}

/*
 * Make block @i one of @size bytes where it stands: what it no longer needs is free, or it takes of the free one
 * behind. [table]
 */
static bool fit(size_t i, uint64_t size)
{
	uint64_t len = (size + GRAIN - 1) & ~(uint64_t)(GRAIN - 1), end = block[i].off + block[i].len;
	bool free_behind = i + 1 < n_blocks && !block[i + 1].used;

	if (size > shmemi.heap_size || len > block[i].len + (free_behind ? block[i + 1].len : 0))
		return false;
	if (free_behind) {
		end += block[i + 1].len;
		remove_entry(i + 1);
	}
	block[i].len = end - block[i].off;
	if (len < block[i].len && make_room(i, 1)) {	/* without memory for one entry more it keeps all */
		block[i + 1] = (struct block){ block[i].off + len, block[i].len - len, 0, false };
		block[i].len = len;
	}
	block[i].asked = size;
	return true;
}

bool shmemi_heap_block(size_t off, size_t *begin, size_t *len)
{
	size_t lo = 0, hi;
	bool used;

	pthread_mutex_lock(&table);
	for (hi = n_blocks; hi - lo > 1;) {
		size_t mid = (lo + hi) / 2;

		if (block[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	used = block[lo].used && off - block[lo].off < block[lo].asked;
	*begin = block[lo].off;
	*len = block[lo].asked;
	pthread_mutex_unlock(&table);
	return used;
}

enum routine { MALLOC, MALLOC_WITH_HINTS, CALLOC, ALIGN, REALLOC, FREE };
static const char *const name_of[] = {
	[MALLOC] = "shmem_malloc", [MALLOC_WITH_HINTS] = "shmem_malloc_with_hints", [CALLOC] = "shmem_calloc",
	[ALIGN] = "shmem_align", [REALLOC] = "shmem_realloc", [FREE] = "shmem_free",
};

/* The call as one reads it in a program. What a neighbour has written may be anything. */
static void in_words(const struct shmemi_heap_call *c, char *line, size_t n)
{
	unsigned long long size = c->size, more = c->more;
	long long at = (long long)(c->block - SHMEMI_RESERVED);

	switch (c->routine) {
	case MALLOC:
		snprintf(line, n, "shmem_malloc(%llu)", size);
		break;
	case MALLOC_WITH_HINTS:
		snprintf(line, n, "shmem_malloc_with_hints(%llu, %#llx)", size, more);
		break;
	case CALLOC:
		snprintf(line, n, "shmem_calloc(%llu, ...) of %llu bytes", more, size);
		break;
	case ALIGN:
		snprintf(line, n, "shmem_align(%llu, %llu)", more, size);
		break;
	case REALLOC:
		if (c->block == UINT64_MAX)
			snprintf(line, n, "shmem_realloc(NULL, %llu)", size);
		else
			snprintf(line, n, "shmem_realloc(block at %lld of the heap, %llu)", at, size);
		break;
	case FREE:
		snprintf(line, n, "shmem_free(block at %lld of the heap)", at);
		break;
	default:
		snprintf(line, n, "another routine");
	}
}

static void differs(const struct shmemi_heap_call *own, const struct shmemi_heap_call *its, int pe)
{
	static const char rule[] = "calls on the symmetric heap must be the same, in the same order, on all PEs";
	char here[96], there[96];

	in_words(own, here, sizeof(here));
	in_words(its, there, sizeof(there));
	if (its->serial != own->serial)
		shmemi_fatal("%s: PE %d is in a barrier that is none of the heap's: %s", here, pe, rule);
	if (its->routine != own->routine || its->size != own->size || its->more != own->more ||
	    its->block != own->block)
		shmemi_fatal("%s: PE %d calls %s: %s", here, pe, there, rule);
	if (own->off == UINT64_MAX || its->off == UINT64_MAX)
		shmemi_fatal("%s: the result is %s here, and %s on PE %d: they have not done the same before: %s",
			     here, own->off == UINT64_MAX ? "NULL" : "a block",
			     its->off == UINT64_MAX ? "NULL" : "a block", pe, rule);
	shmemi_fatal("%s: the block is at %lld of the heap here, and at %lld on PE %d: they have not done the same "
		     "before: %s", here, (long long)(own->off - SHMEMI_RESERVED),
		     (long long)(its->off - SHMEMI_RESERVED), pe, rule);
}

/*
 * All PEs compare with their neighbour: a call that differs would go wrong much later and far away. It is the first
 * barrier of each call, so that calls of different routines meet here, too. Two records in turn: nobody is two barriers
 * ahead of its neighbour, so none is overwritten before it has been read. [lock]
 */
static void agree(enum routine routine, uint64_t size, uint64_t more, uint64_t of, uint64_t off)
{
	uint32_t k = serial & 1;
	int next = (shmemi.pe + 1) % shmemi.n_pes;
	struct shmemi_heap_call own = { serial++, routine, size, more, of, off };
	struct shmemi_ctl copy, *ctl = &copy;

	shmemi.ctl->last[k] = own;
	shmemi_barrier();
	if (next == shmemi.pe)
		return;
	if (shmemi.peer[next].local >= 0)
		ctl = shmemi_ctl_of(next);
	else
		shmemi_net_ctl(next, &copy);
	if (memcmp(&ctl->last[k], &own, sizeof(own)))
		differs(&own, &ctl->last[k], next);
}

static void check_up(const char *routine)
{
	if (!shmemi.inits)
		shmemi_fatal("%s: shmem_init() has not been called", routine);
}

/* take(), also of more than there is. */
static uint64_t take_any(uint64_t align, size_t size)
{
	uint64_t off = UINT64_MAX;

	pthread_mutex_lock(&table);
	if (size <= shmemi.heap_size)
		off = take(align, size);
	pthread_mutex_unlock(&table);
	return off;
}

/* For lower.h: without a comparison, and without a barrier, as other libraries promise none. */
void *shmemi_heap_take(size_t size)
{
	uint64_t off = size ? take_any(0, size) : UINT64_MAX;

	return off == UINT64_MAX ? NULL : (void *)(shmemi.heap + off);
}

bool shmemi_heap_give(void *p)
{
	size_t i;
	bool found;

	pthread_mutex_lock(&table);
	i = entry_at((uintptr_t)p - shmemi.heap);
	found = i < n_blocks && block[i].used;
	if (found)
		give(i);
	pthread_mutex_unlock(&table);
	return found;
}

bool shmemi_heap_resize(void *p, size_t size, size_t *old)
{
	bool fits = false;
	size_t i;

	*old = 0;
	pthread_mutex_lock(&table);
	i = entry_at((uintptr_t)p - shmemi.heap);
	if (i < n_blocks && block[i].used) {
		*old = block[i].asked;
		fits = fit(i, size);
	}
	pthread_mutex_unlock(&table);
	return fits;
}

void shmemi_heap_stats(struct shmemi_heap_stats *s)
{
	*s = (struct shmemi_heap_stats){ .size = shmemi.heap_size - SHMEMI_RESERVED };
	pthread_mutex_lock(&table);
	for (size_t i = 0; i < n_blocks; i++)
		if (block[i].used) {
			s->used += block[i].len;
			s->blocks++;
		} else if (block[i].len > s->largest) {
			s->largest = block[i].len;
		}
	pthread_mutex_unlock(&table);
}

/*
 * Large blocks get huge pages, which shared memory has only by MADV_COLLAPSE, at once and resident: random access to
 * 64 MiB is half again as fast then, from every PE. Not where it would take more than a quarter of what is free by now.
 */
static void make_huge(uintptr_t at, size_t size)
{
	uintptr_t lo = (at + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1), hi = (at + size) & ~(HUGE_PAGE - 1);
	long free_pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	const char *s = getenv("SHMEM_HUGE_PAGES");
	int e = errno;

	if (hi <= lo || size < 2 * HUGE_PAGE || (s && !strcmp(s, "no")) || free_pages < 0 ||
	    hi - lo > (size_t)free_pages * (size_t)page / 4 / (size_t)shmemi.n_local)
		return;
	for (uintptr_t a = lo; a < hi; a += HUGE_PAGE)
		(void)*(volatile char *)a;	/* a pure hole cannot be collapsed */
	madvise((void *)lo, hi - lo, COLLAPSE);	/* as good without, where the kernel has none or does not want to */
	errno = e;
}

/* @of: offset of the block that the new one replaces, or UINT64_MAX. */
static void *allocate(enum routine routine, size_t size, size_t more, uint64_t of)
{
	uint64_t off;

	check_up(name_of[routine]);
	if (!size)
		return NULL;
	pthread_mutex_lock(&lock);
	off = take_any(routine == ALIGN ? more : 0, size);
	agree(routine, size, more, of, off);
	pthread_mutex_unlock(&lock);
	if (off != UINT64_MAX) {
		make_huge(shmemi.heap + off, size);
		return (void *)(shmemi.heap + off);
	}
	errno = ENOMEM;
	return NULL;
}

/* 0: a block begins at @ptr; -3: it is not in the heap; -4: nothing is allocated there; -5: it is inside of a block. */
int pshmemx_heap_status(const void *ptr)
{
	size_t off = (uintptr_t)ptr - shmemi.heap, begin, len;
	bool used;

	if (off >= shmemi.heap_size)
		return -3;
	used = shmemi_heap_block(off, &begin, &len);
	if (begin > off)
		return -3;		/* the library's own */
	return !used ? -4 : off == begin ? 0 : -5;
}
SHMEMI_X_ALIAS(heap_status);

/* Offset of the block that begins at @ptr. */
static uint64_t block_of(enum routine routine, const void *ptr)
{
	uint64_t off = (uintptr_t)ptr - shmemi.heap;
	size_t i;
	bool used;

	pthread_mutex_lock(&table);
	i = entry_at(off);
	used = i < n_blocks && block[i].used;
	pthread_mutex_unlock(&table);
	if (!used)
		shmemi_fatal("%s: %p is no block of the symmetric heap", name_of[routine], (void *)(uintptr_t)ptr);
	return off;
}

void *pshmem_malloc(size_t size)
{
	return allocate(MALLOC, size, 0, UINT64_MAX);
}
SHMEMI_ALIAS(malloc);

/* Every block is as good for atomic operations and signals as any. */
void *pshmem_malloc_with_hints(size_t size, long hints)
{
	check_up("shmem_malloc_with_hints");
	if (hints & ~(SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE))
		shmemi_fatal("shmem_malloc_with_hints: %#lx is no hint that there is", (unsigned long)hints);
	return allocate(MALLOC_WITH_HINTS, size, (size_t)hints, UINT64_MAX);
}
SHMEMI_ALIAS(malloc_with_hints);

void *pshmem_calloc(size_t count, size_t size)
{
	size_t bytes;
	void *p;

	check_up("shmem_calloc");
	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX;
	if (!bytes)
		return NULL;
	p = allocate(CALLOC, bytes, count, UINT64_MAX);
	if (p) {
		memset(p, 0, bytes);
		shmemi_barrier();	/* nobody puts into a block that is still to be cleared */
	}
	return p;
}
SHMEMI_ALIAS(calloc);

void *pshmem_align(size_t alignment, size_t size)
{
	check_up("shmem_align");
	if (alignment & (alignment - 1) || alignment % sizeof(void *) || !alignment)
		shmemi_fatal("shmem_align: an alignment of %zu is not a power of two and a multiple of %zu", alignment,
			     sizeof(void *));
	if (alignment > HUGE_PAGE) {
		errno = EINVAL;		/* the heap itself is aligned to no more, so addresses could not be */
		return NULL;
	}
	return allocate(ALIGN, size, alignment, UINT64_MAX);
}
SHMEMI_ALIAS(align);

static void give_back(enum routine routine, void *ptr)
{
	uint64_t off;

	check_up(name_of[routine]);
	off = block_of(routine, ptr);
	pshmem_quiet();
	pthread_mutex_lock(&lock);
	agree(routine, 0, 0, off, off);
	shmemi_heap_give(ptr);
	pthread_mutex_unlock(&lock);
}

void pshmem_free(void *ptr)
{
	if (ptr)
		give_back(FREE, ptr);
}
SHMEMI_ALIAS(free);

void *pshmem_realloc(void *ptr, size_t size)
{
	uint64_t off;
	bool there;
	size_t old;
	void *p;

	if (!ptr)
		return allocate(REALLOC, size, 0, UINT64_MAX);
	if (!size) {
		give_back(REALLOC, ptr);
		return NULL;
	}
	check_up("shmem_realloc");
	off = block_of(REALLOC, ptr);
	pshmem_quiet();
	pthread_mutex_lock(&lock);
	agree(REALLOC, size, 0, off, off);	/* where it stands: it may grow only where nobody still writes */
	there = shmemi_heap_resize(ptr, size, &old);
	pthread_mutex_unlock(&lock);
	if (there) {
		shmemi_barrier();
		return ptr;
	}
	p = allocate(REALLOC, size, 0, off);
	if (!p)
		return NULL;
	memcpy(p, ptr, size < old ? size : old);
	shmemi_barrier();
	pthread_mutex_lock(&lock);
	shmemi_heap_give(ptr);
	pthread_mutex_unlock(&lock);
	return p;
}
SHMEMI_ALIAS(realloc);

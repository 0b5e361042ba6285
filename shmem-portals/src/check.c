/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * check.c - SHMEM_DEBUG: is each side of an operation what the program thinks it is?
 *
 * shmemi_at() looks only whether an object lies within the symmetric heap, or within static data. With SHMEM_DEBUG
 * every operation comes here first, and its range must lie within one block of the heap that has not been freed; its
 * own side, too, where that is in the heap. Blocks are the same on all PEs, so the own ones are looked at.
 */
#include <stdio.h>

#include "shmemi.h"

/* Where @n bytes at @p lie in the heap, which they touch. @what: their side, in words. */
static void check_heap(const char *routine, const char *what, const void *p, size_t n)
{
	uintptr_t off = (uintptr_t)p - shmemi.heap;
	size_t begin, len;
	int used;

	if (off >= shmemi.heap_size)
		shmemi_fatal("%s: %s: %zu bytes at %p begin before the symmetric heap and reach into it", routine,
			     what, n, (void *)(uintptr_t)p);
	if (off < SHMEMI_RESERVED)
		shmemi_fatal("%s: %s: %p is in the part of the symmetric heap that is this library's own", routine,
			     what, (void *)(uintptr_t)p);
	used = shmemi_heap_block(off, &begin, &len);
	if (!used)
		shmemi_fatal("%s: %s: %p is in the symmetric heap, but in no block of it: it has been freed, or was "
			     "never allocated", routine, what, (void *)(uintptr_t)p);
	if (n > begin + len - off)
		shmemi_fatal("%s: %s: %zu bytes at %p end %zu bytes behind the end of their block of the symmetric "
			     "heap, which has %zu bytes at %p", routine, what, n, (void *)(uintptr_t)p,
			     n - (begin + len - off), len, (void *)(shmemi.heap + begin));
}

static bool touches_heap(const void *p, size_t n)
{
	uintptr_t lo = (uintptr_t)p;

	return lo < shmemi.heap + shmemi.heap_size && lo + n > shmemi.heap;
}

void shmemi_check(const char *routine, const void *sym, size_t sym_len, const void *own, size_t own_len, int pe)
{
	char what[64];

	if (!shmemi.inits || (unsigned)pe >= (unsigned)shmemi.n_pes)
		shmemi_bad_pe(routine, pe);
	snprintf(what, sizeof(what), "the symmetric object on PE %d", pe);
	if (!sym)
		shmemi_fatal("%s: %s: the address is NULL", routine, what);
	if (touches_heap(sym, sym_len))
		check_heap(routine, what, sym, sym_len);
	else
		shmemi_check_static(routine, sym, sym_len);
	if (!own_len)
		return;
	if (!own)
		shmemi_fatal("%s: the own side: %zu bytes at address NULL", routine, own_len);
	if (touches_heap(own, own_len))
		check_heap(routine, "the own side", own, own_len);
}

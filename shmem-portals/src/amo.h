/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* amo.h - where atomic operations, signals and locks find their variable */
#ifndef SHMEMI_AMO_H
#define SHMEMI_AMO_H

#include "far.h"
#include "shmemi.h"

/* shmemi_at() for an object that must be aligned to its @size. */
static inline void *shmemi_amo_at(const char *routine, const void *sym, size_t size, int pe)
{
	if (__builtin_expect((uintptr_t)sym & (size - 1), 0))
		shmemi_fatal("%s: %p is not aligned to %zu bytes", routine, (void *)(uintptr_t)sym, size);
	if (__builtin_expect(shmemi.debug, 0))
		shmemi_check(routine, sym, size, sym, 0, pe);
	return shmemi_at(routine, sym, size, pe);
}

/* shmemi_at_fast() for the same. */
static inline __attribute__((always_inline)) void *shmemi_amo_fast(const void *sym, size_t size, int pe)
{
	return __builtin_expect((uintptr_t)sym & (size - 1), 0) ? NULL : shmemi_at_fast(sym, size, pe);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* rma.h - what put, get and put with a signal have in common */
#ifndef SHMEMI_RMA_H
#define SHMEMI_RMA_H

#include <smartmap.h>

#include "shmemi.h"

/* @n bytes to PE @pe, on its node or not. */
void shmemi_put(const char *routine, void *dest, const void *src, size_t n, int pe);
void shmemi_put_nbi(const char *routine, void *dest, const void *src, size_t n, int pe);

/* shmemi_at() for an operation whose other side is @own, here. */
static inline void *shmemi_at_own(const char *routine, const void *sym, const void *own, size_t n, int pe)
{
	if (__builtin_expect(shmemi.debug, 0))
		shmemi_check(routine, sym, n, own, n, pe);
	return shmemi_at(routine, sym, n, pe);
}

#endif

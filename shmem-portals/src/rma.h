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

struct shmemi_u8 { uint8_t v; } __attribute__((packed, may_alias));
struct shmemi_u16 { uint16_t v; } __attribute__((packed, may_alias));
struct shmemi_u32 { uint32_t v; } __attribute__((packed, may_alias));
struct shmemi_u64 { uint64_t v; } __attribute__((packed, may_alias));
#define SHMEMI_MOVE(U, d, s) (((volatile struct U *)(d))->v = ((const volatile struct U *)(s))->v)

/*
 * An element is one load and one store, made once: who waits for it never sees half of it, nor the same twice. That it
 * may not be aligned is between packed and the processor, which makes no more of one that is. @size is a constant.
 */
static inline __attribute__((always_inline)) void shmemi_copy_one(void *d, const void *s, size_t size)
{
	switch (size) {
	case 1:
		SHMEMI_MOVE(shmemi_u8, d, s);
		break;
	case 2:
		SHMEMI_MOVE(shmemi_u16, d, s);
		break;
	case 4:
		SHMEMI_MOVE(shmemi_u32, d, s);
		break;
	case 8:
		SHMEMI_MOVE(shmemi_u64, d, s);
		break;
	default:
		smartmap_copy(d, s, size);	/* on the own PE the two may overlap */
	}
}

#endif

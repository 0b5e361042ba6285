/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * far.h - what loads and stores of this processor do not reach: shmemi_at() gave NULL
 *
 * On the node that is static data that could not be adopted: the kernel copies it. On other nodes it is everything:
 * Portals moves it. Each of these ends the job with a sentence where there is no way at all. None is on a hot path;
 * none is inline.
 */
#ifndef SHMEMI_FAR_H
#define SHMEMI_FAR_H

#include <stddef.h>
#include <stdint.h>

/*
 * @n bytes between @own and the object that is @sym here, on PE @pe. A put may be reused when the call returns (it is
 * seen there behind a quiet); a get is there.
 */
void shmemi_far_put(const char *routine, void *sym, const void *own, size_t n, int pe);
void shmemi_far_get(const char *routine, void *own, const void *sym, size_t n, int pe);
/* The same, for who does not touch the bytes before the next quiet. */
void shmemi_far_put_nbi(const char *routine, void *sym, const void *own, size_t n, int pe);
void shmemi_far_get_nbi(const char *routine, void *own, const void *sym, size_t n, int pe);

/* What is done to the aligned object @sym of @size bytes (2, 4 or 8); operands and result are its bytes. */
enum shmemi_amo {
	SHMEMI_AMO_FETCH, SHMEMI_AMO_SET, SHMEMI_AMO_SWAP, SHMEMI_AMO_CSWAP, SHMEMI_AMO_ADD, SHMEMI_AMO_AND,
	SHMEMI_AMO_OR, SHMEMI_AMO_XOR, SHMEMI_AMO_MSWAP
};

/*
 * Atomic with the processors' own operations on that PE. @cond: what SHMEMI_AMO_CSWAP compares with, or the mask of
 * SHMEMI_AMO_MSWAP. Returns the old value.
 */
uint64_t shmemi_far_amo(const char *routine, enum shmemi_amo op, void *sym, unsigned size, uint64_t value,
			uint64_t cond, int pe);
/* The old value goes to @fetch (NULL: nobody wants it), and is there behind the next quiet. */
void shmemi_far_amo_nbi(const char *routine, enum shmemi_amo op, void *sym, unsigned size, uint64_t value,
			uint64_t cond, int pe, void *fetch);

#endif

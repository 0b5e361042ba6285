/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * reduce.h - the kernels of reductions: one operator on two vectors of one kind of element
 *
 * A kernel may write over either operand, but not shifted. Integers wrap around; bits do not depend on the sign, so
 * signed kinds differ from unsigned ones in max and min only. A complex product is computed as it is written on paper,
 * without C's rules for infinities.
 */
#ifndef SHMEMI_REDUCE_H
#define SHMEMI_REDUCE_H

#include <limits.h>
#include "coll.h"

enum shmemi_kind {
	SHMEMI_KIND_S8, SHMEMI_KIND_S16, SHMEMI_KIND_S32, SHMEMI_KIND_S64,
	SHMEMI_KIND_U8, SHMEMI_KIND_U16, SHMEMI_KIND_U32, SHMEMI_KIND_U64,
	SHMEMI_KIND_FLOAT, SHMEMI_KIND_DOUBLE, SHMEMI_KIND_LONGDOUBLE, SHMEMI_KIND_COMPLEXF, SHMEMI_KIND_COMPLEXD,
	SHMEMI_KINDS
};

enum shmemi_op {
	SHMEMI_OP_AND, SHMEMI_OP_OR, SHMEMI_OP_XOR, SHMEMI_OP_MAX, SHMEMI_OP_MIN, SHMEMI_OP_SUM, SHMEMI_OP_PROD,
	SHMEMI_OPS
};

#define SHMEMI_KIND_SIGNED(T)	\
	(sizeof(T) == 1 ? SHMEMI_KIND_S8 : sizeof(T) == 2 ? SHMEMI_KIND_S16 :			\
	 sizeof(T) == 4 ? SHMEMI_KIND_S32 : SHMEMI_KIND_S64)
#define SHMEMI_KIND_UNSIGNED(T)	(SHMEMI_KIND_SIGNED(T) + (SHMEMI_KIND_U8 - SHMEMI_KIND_S8))
#define SHMEMI_KIND_OF(T)									\
	_Generic((T){ 0 }, float: SHMEMI_KIND_FLOAT, double: SHMEMI_KIND_DOUBLE,				\
		 long double: SHMEMI_KIND_LONGDOUBLE,						\
		 shmemi_complexf: SHMEMI_KIND_COMPLEXF, shmemi_complexd: SHMEMI_KIND_COMPLEXD,	\
		 char: CHAR_MIN < 0 ? SHMEMI_KIND_S8 : SHMEMI_KIND_U8,				\
		 signed char: SHMEMI_KIND_S8, short: SHMEMI_KIND_S16, int: SHMEMI_KIND_S32,	\
		 long: SHMEMI_KIND_SIGNED(long), long long: SHMEMI_KIND_S64,			\
		 unsigned char: SHMEMI_KIND_U8, unsigned short: SHMEMI_KIND_U16, unsigned int: SHMEMI_KIND_U32,	\
		 unsigned long: SHMEMI_KIND_UNSIGNED(long), unsigned long long: SHMEMI_KIND_U64)

/* @out[i] = @a[i] op @b[i], i < n */
typedef void (*shmemi_kernel)(void *out, const void *a, const void *b, size_t n);
typedef const shmemi_kernel shmemi_kernels[SHMEMI_KINDS][SHMEMI_OPS];

extern shmemi_kernels shmemi_kernels_plain, shmemi_kernels_avx2;
extern shmemi_kernels *shmemi_kernels_used;
void shmemi_kernels_start(void);		/* the best for this processor */

/*
 * coll_far.c: @n elements, @bytes of them, of all members of a team over several nodes; @dest NULL: not wanted here.
 * False: they are too many.
 */
bool shmemi_short_nodes(struct shmemi_team *t, const void *source, void *dest, size_t bytes, shmemi_kernel f, size_t n);

/* reduce.c: @n elements of @size bytes */
void shmemi_reduce(const struct shmemi_call *c, enum shmemi_kind kind, enum shmemi_op op, size_t n, size_t size);
void shmemi_scan(const struct shmemi_call *c, enum shmemi_kind kind, bool inclusive, size_t n, size_t size);

#endif

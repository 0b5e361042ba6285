/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fortran_coll.c - the Fortran names of barriers and collectives over active sets
 *
 * pSync is an array of default INTEGER, pWrk one of the operands' type; both only stand for memory that the library
 * does not need. REAL*16 is the compiler's own type, which need not be long double: its reductions are made here, by
 * all PEs alike, in the order of the PEs, so that all get the same bits.
 */
#include "fortran.h"

#define SET_ARGS	const fint *start, const fint *log_stride, const fint *size, void *psync
#define SET		(int)*start, (int)*log_stride, (int)*size, (long *)psync

BINDING(void, shmem_barrier, SET_ARGS)
{
	pshmem_barrier(SET);
}

/* 4 and 8 are bytes, 32 and 64 bits. */
#define MOVE(N, BITS)										\
	BINDING(void, shmem_broadcast##N, void *dest, const void *source, const fint *n, const fint *root, SET_ARGS) \
	{											\
		pshmem_broadcast##BITS(dest, source, (size_t)*n, (int)*root, SET);		\
	}											\
	BINDING(void, shmem_collect##N, void *dest, const void *source, const fint *n, SET_ARGS)	\
	{											\
		pshmem_collect##BITS(dest, source, (size_t)*n, SET);				\
	}											\
	BINDING(void, shmem_fcollect##N, void *dest, const void *source, const fint *n, SET_ARGS)	\
	{											\
		pshmem_fcollect##BITS(dest, source, (size_t)*n, SET);				\
	}
MOVE(4, 32)
MOVE(8, 64)
MOVE(32, 32)
MOVE(64, 64)

#define ALLTOALL(BITS)										\
	BINDING(void, shmem_alltoall##BITS, void *dest, const void *source, const fint *n, SET_ARGS)	\
	{											\
		pshmem_alltoall##BITS(dest, source, (size_t)*n, SET);				\
	}											\
	BINDING(void, shmem_alltoalls##BITS, void *dest, const void *source, const fint *dst, const fint *sst,	\
		const fint *n, SET_ARGS)							\
	{											\
		pshmem_alltoalls##BITS(dest, source, (ptrdiff_t)*dst, (ptrdiff_t)*sst, (size_t)*n, SET);	\
	}
ALLTOALL(32)
ALLTOALL(64)

#define REDUCE(N, T, C, OP)									\
	BINDING(void, shmem_##N##_##OP##_to_all, T *dest, T *source, const fint *n, SET_ARGS_WRK(T))	\
	{											\
		pshmem_##C##_##OP##_to_all(dest, source, (int)*n, SET_WRK);			\
	}
#define SET_ARGS_WRK(T)	const fint *start, const fint *log_stride, const fint *size, T *pwrk, void *psync
#define SET_WRK		(int)*start, (int)*log_stride, (int)*size, pwrk, (long *)psync
#define REDUCE_SUM(N, T, C)	REDUCE(N, T, C, sum) REDUCE(N, T, C, prod)
#define REDUCE_CMP(N, T, C)	REDUCE(N, T, C, max) REDUCE(N, T, C, min) REDUCE_SUM(N, T, C)
#define REDUCE_BIT(N, T, C)	REDUCE(N, T, C, and) REDUCE(N, T, C, or) REDUCE(N, T, C, xor) REDUCE_CMP(N, T, C)
REDUCE_BIT(int2, short, short)
REDUCE_BIT(int4, int, int)
REDUCE_BIT(int8, long, long)
REDUCE_CMP(real4, float, float)
REDUCE_CMP(real8, double, double)
REDUCE_SUM(comp4, SHMEMI_COMPLEX(float), complexf)
REDUCE_SUM(comp8, SHMEMI_COMPLEX(double), complexd)

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 real16;
#else
typedef long double real16;
#endif

enum { SUM, PROD, MAX, MIN };

static inline real16 join(int op, real16 a, real16 b)
{
	switch (op) {
	case SUM: return a + b;
	case PROD: return a * b;
	case MAX: return a > b ? a : b;
	default: return a < b ? a : b;
	}
}

/* A piece at a time: nobody writes its own before all have read it, since dest may be source. */
static void real16_to_all(int op, real16 *dest, const real16 *source, size_t n, int start, int log_stride, int size,
			  long *psync)
{
	enum { PIECE = 128 };
	real16 sum[PIECE], other[PIECE];

	pshmem_barrier(start, log_stride, size, psync);
	for (size_t at = 0; at < n; at += PIECE) {
		size_t k = n - at < PIECE ? n - at : PIECE;

		pshmem_getmem(sum, source + at, k * sizeof(real16), start);
		for (int p = 1; p < size; p++) {
			pshmem_getmem(other, source + at, k * sizeof(real16), start + (p << log_stride));
			for (size_t i = 0; i < k; i++)
				sum[i] = join(op, sum[i], other[i]);
		}
		pshmem_barrier(start, log_stride, size, psync);
		for (size_t i = 0; i < k; i++)
			dest[at + i] = sum[i];
	}
	pshmem_barrier(start, log_stride, size, psync);
}

#define REDUCE_REAL16(NAME, OP)									\
	BINDING(void, shmem_real16_##NAME##_to_all, real16 *dest, real16 *source, const fint *n, \
		SET_ARGS_WRK(real16))								\
	{											\
		real16_to_all(OP, dest, source, *n > 0 ? (size_t)*n : 0, (int)*start, (int)*log_stride,	\
			      (int)*size, (long *)psync);							\
	}
REDUCE_REAL16(sum, SUM)
REDUCE_REAL16(prod, PROD)
REDUCE_REAL16(max, MAX)
REDUCE_REAL16(min, MIN)

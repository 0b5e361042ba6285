/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fortran.c - the Fortran names (lower case, one underscore behind): all but collectives, which are in fortran_coll.c
 *
 * Each only takes its arguments from where they are and calls the C routine. Two things exist here alone: SHPALLOC and
 * its kin, which speak in words and error numbers, and locks, since a Fortran lock is a default INTEGER and may have 4
 * bytes where a C lock has 8. Hidden lengths of CHARACTER arguments stand behind all others and are not looked at.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "fortran.h"

/* ---- start, end, who ---- */

BINDING(void, shmem_init, void)
{
	pshmem_init();
}

BINDING(void, shmem_finalize, void)
{
	pshmem_finalize();
}

BINDING(void, start_pes, const fint *npes)
{
	pstart_pes((int)*npes);
}

BINDING(void, shmem_global_exit, const fint *status)
{
	pshmem_global_exit((int)*status);
}

#define QUERY(name, value)		\
	BINDING(fint, name, void)	\
	{				\
		return value;		\
	}
QUERY(shmem_my_pe, pshmem_my_pe())
QUERY(shmem_n_pes, pshmem_n_pes())
QUERY(my_pe, pshmem_my_pe())
QUERY(num_pes, pshmem_n_pes())

BINDING(fint, shmem_pe_accessible, const fint *pe)	/* LOGICAL */
{
	return pshmem_pe_accessible((int)*pe);
}

BINDING(fint, shmem_addr_accessible, const void *addr, const fint *pe)
{
	return pshmem_addr_accessible(addr, (int)*pe);
}

BINDING(intptr_t, shmem_ptr, const void *dest, const fint *pe)	/* what a Cray pointer holds */
{
	return (intptr_t)pshmem_ptr(dest, (int)*pe);
}

BINDING(void, shmem_info_get_version, fint *major, fint *minor)
{
	int a, b;

	pshmem_info_get_version(&a, &b);
	*major = a;
	*minor = b;
}

/* A CHARACTER variable is as long as it is, and ends in blanks. */
BINDING(void, shmem_info_get_name, char *name, size_t len)
{
	char text[SHMEM_MAX_NAME_LEN];
	size_t n;

	pshmem_info_get_name(text);
	n = strlen(text);
	memset(name, ' ', len);
	memcpy(name, text, n < len ? n : len);
}

/* ---- put and get ---- */

#define BY_SIZE(op, size)									\
	((size) == 1 ? pshmem_##op##8 : (size) == 4 ? pshmem_##op##32 :				\
	 (size) == 8 ? pshmem_##op##64 : pshmem_##op##128)
#define COPY(name, op, size)									\
	BINDING(void, name, void *dest, const void *source, const fint *n, const fint *pe)	\
	{											\
		BY_SIZE(op, size)(dest, source, (size_t)*n, (int)*pe);				\
	}
#define COPY_NBI(name, op, size)								\
	BINDING(void, name, void *dest, const void *source, const fint *n, const fint *pe)	\
	{											\
		((size) == 1 ? pshmem_##op##8_nbi : (size) == 4 ? pshmem_##op##32_nbi :		\
		 (size) == 8 ? pshmem_##op##64_nbi : pshmem_##op##128_nbi)(dest, source, (size_t)*n, (int)*pe);	\
	}
#define STRIDED(name, op, size)									\
	BINDING(void, name, void *dest, const void *source, const fint *dst, const fint *sst, const fint *n,	\
		const fint *pe)									\
	{											\
		BY_SIZE(op, size)(dest, source, (ptrdiff_t)*dst, (ptrdiff_t)*sst, (size_t)*n, (int)*pe);	\
	}
#define COPIES(PUT, GET, size)									\
	COPY(PUT, put, size) COPY(GET, get, size)						\
	COPY_NBI(PUT##_nbi, put, size) COPY_NBI(GET##_nbi, get, size)
#define TYPE(N, size)										\
	COPIES(shmem_##N##_put, shmem_##N##_get, size)						\
	STRIDED(shmem_##N##_iput, iput, size) STRIDED(shmem_##N##_iget, iget, size)
/* 4 and 8 are bytes, the others bits. */
#define SIZE(N, size)										\
	COPIES(shmem_put##N, shmem_get##N, size)						\
	STRIDED(shmem_iput##N, iput, size) STRIDED(shmem_iget##N, iget, size)

COPIES(shmem_character_put, shmem_character_get, 1)
TYPE(complex, 2 * sizeof(freal))
TYPE(double, 8)
TYPE(integer, sizeof(fint))
TYPE(logical, sizeof(fint))
TYPE(real, sizeof(freal))
SIZE(4, 4)
SIZE(8, 8)
SIZE(32, 4)
SIZE(64, 8)
SIZE(128, 16)
COPIES(shmem_putmem, shmem_getmem, 1)
COPY(shmem_put, put, 8)
COPY(shmem_get, get, 8)

/* ---- atomic operations ---- */

#define ATOMIC_EXT(N, T, C)									\
	BINDING(T, shmem_##N##_swap, T *dest, const T *value, const fint *pe)			\
	{											\
		return pshmem_##C##_atomic_swap(dest, *value, (int)*pe);			\
	}											\
	BINDING(T, shmem_##N##_fetch, const T *source, const fint *pe)				\
	{											\
		return pshmem_##C##_atomic_fetch(source, (int)*pe);				\
	}											\
	BINDING(void, shmem_##N##_set, T *dest, const T *value, const fint *pe)			\
	{											\
		pshmem_##C##_atomic_set(dest, *value, (int)*pe);				\
	}
#define ATOMIC(N, T, C)										\
	ATOMIC_EXT(N, T, C)									\
	BINDING(void, shmem_##N##_add, T *dest, const T *value, const fint *pe)			\
	{											\
		pshmem_##C##_atomic_add(dest, *value, (int)*pe);				\
	}											\
	BINDING(void, shmem_##N##_inc, T *dest, const fint *pe)					\
	{											\
		pshmem_##C##_atomic_inc(dest, (int)*pe);					\
	}											\
	BINDING(T, shmem_##N##_fadd, T *dest, const T *value, const fint *pe)			\
	{											\
		return pshmem_##C##_atomic_fetch_add(dest, *value, (int)*pe);			\
	}											\
	BINDING(T, shmem_##N##_finc, T *dest, const fint *pe)					\
	{											\
		return pshmem_##C##_atomic_fetch_inc(dest, (int)*pe);				\
	}											\
	BINDING(T, shmem_##N##_cswap, T *dest, const T *cond, const T *value, const fint *pe)	\
	{											\
		return pshmem_##C##_atomic_compare_swap(dest, *cond, *value, (int)*pe);		\
	}
ATOMIC(int4, int32_t, int32)
ATOMIC(int8, int64_t, int64)
ATOMIC_EXT(real4, float, float)
ATOMIC_EXT(real8, double, double)

#ifdef SHMEMI_FORTRAN64
#define DEFAULT(op) pshmem_int64_##op
#else
#define DEFAULT(op) pshmem_int32_##op
#endif
BINDING(fint, shmem_swap, fint *dest, const fint *value, const fint *pe)
{
	return DEFAULT(atomic_swap)(dest, *value, (int)*pe);
}

/* ---- order and waiting ---- */

#define PLAIN(name)			\
	BINDING(void, name, void)	\
	{				\
		p##name();		\
	}
PLAIN(shmem_fence)
PLAIN(shmem_quiet)
PLAIN(shmem_barrier_all)
PLAIN(shmem_set_cache_inv)
PLAIN(shmem_clear_cache_inv)
PLAIN(shmem_udcflush)

#define PLAIN_AT(name)				\
	BINDING(void, name, void *dest)		\
	{					\
		p##name(dest);			\
	}
PLAIN_AT(shmem_set_cache_line_inv)
PLAIN_AT(shmem_clear_cache_line_inv)
PLAIN_AT(shmem_udcflush_line)

#define WAIT(N, T, until)									\
	BINDING(void, shmem_##N, T *ivar, const T *value)					\
	{											\
		until(ivar, SHMEM_CMP_NE, *value);						\
	}											\
	BINDING(void, shmem_##N##_until, T *ivar, const fint *cmp, const T *value)		\
	{											\
		until(ivar, (int)*cmp, *value);							\
	}
WAIT(wait, fint, DEFAULT(wait_until))
WAIT(int4_wait, int32_t, pshmem_int32_wait_until)
WAIT(int8_wait, int64_t, pshmem_int64_wait_until)

/*
 * Locks: 32 bits of PE 0 (the low half of a longer INTEGER). The upper 16 bits are the next ticket, the lower ones the
 * ticket whose turn it is; only its holder changes these. First come, first served, for up to 65535 PEs.
 */
static uint32_t *ticket(void *lock)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint32_t *)((char *)lock + sizeof(fint) - 4);
#else
	return lock;
#endif
}

/* What we wait for is no memory of ours; a test in vain of what is sees now and then whether the others live. */
static void looked(void)
{
	static int never;

	pshmem_int_test(&never, SHMEM_CMP_NE, 0);
}

BINDING(void, shmem_set_lock, void *lock)
{
	uint32_t *l = ticket(lock), mine = pshmem_uint32_atomic_fetch_add(l, 0x10000, 0) >> 16;

	while ((pshmem_uint32_atomic_fetch(l, 0) & 0xffff) != mine) {
		looked();
		sched_yield();
	}
}

BINDING(void, shmem_clear_lock, void *lock)
{
	uint32_t *l = ticket(lock), now = pshmem_uint32_atomic_fetch(l, 0);

	pshmem_quiet();
	pshmem_int_mswap((int *)l, 0xffff, (int)((now + 1) & 0xffff), 0);
}

BINDING(fint, shmem_test_lock, void *lock)	/* 0: it is set now, 1: somebody has it */
{
	uint32_t *l = ticket(lock), now = pshmem_uint32_atomic_fetch(l, 0);

	if (now >> 16 != (now & 0xffff)) {
		looked();
		return 1;
	}
	return pshmem_uint32_atomic_compare_swap(l, now, now + 0x10000, 0) != now;
}

/* ---- heap: @addr is a Cray pointer; lengths in words of 32 bits ---- */

enum { BAD_LENGTH = -1, NO_SPACE = -2 };

static fint failed(const char *routine, int error, const fint *abort)
{
	static const char *const why[] = {
		"", "the length is not above 0",
		"no space in the symmetric heap (SHMEM_SYMMETRIC_SIZE makes it larger)",
		"the address is not in the symmetric heap", "the block is free",
		"the address is not the begin of a block"
	};

	if (error && *abort) {
		fprintf(stderr, "shmem[PE %d] error: %s: %s\n", pshmem_my_pe(), routine, why[-error]);
		pshmem_global_exit(1);
	}
	return error;
}

BINDING(void, shpalloc, void **addr, const fint *length, fint *errcode, const fint *abort)
{
	void *p = *length > 0 ? pshmem_malloc((size_t)*length * 4) : NULL;

	if (p)
		*addr = p;
	*errcode = failed("SHPALLOC", *length <= 0 ? BAD_LENGTH : p ? 0 : NO_SPACE, abort);
}

BINDING(void, shpdeallc, void **addr, fint *errcode, const fint *abort)
{
	*errcode = failed("SHPDEALLC", pshmemx_heap_status(*addr), abort);
	if (!*errcode)
		pshmem_free(*addr);
}

BINDING(void, shpclmove, void **addr, const fint *length, fint *status, const fint *abort)
{
	void *p;

	*status = failed("SHPCLMOVE", *length <= 0 ? BAD_LENGTH : pshmemx_heap_status(*addr), abort);
	if (*status)
		return;
	p = pshmem_realloc(*addr, (size_t)*length * 4);
	if (!p) {
		*status = failed("SHPCLMOVE", NO_SPACE, abort);
		return;
	}
	*status = p != *addr;
	*addr = p;
}

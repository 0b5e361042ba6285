/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * rma.c - put and get in all their forms: a copy between own memory and a PE's, by this thread
 *
 * Nonblocking forms are the blocking ones: a copy that the processor makes is finished when it returns. Memory that is
 * not in the peer's window goes by the kernel (one copy, too); where that is refused the job ends with a sentence.
 */
#include <smartmap.h>
#include <string.h>

#include "shmemi.h"

/* One aligned element is one load and one store: who waits for it never sees half of it. */
static inline void copy(void *d, const void *s, size_t n)
{
	uintptr_t both = (uintptr_t)d | (uintptr_t)s;

	switch (n) {
	case 1:
		*(volatile uint8_t *)d = *(const volatile uint8_t *)s;
		return;
	case 2:
		if (both & 1)
			break;
		__atomic_store_n((uint16_t *)d, __atomic_load_n((const uint16_t *)s, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
		return;
	case 4:
		if (both & 3)
			break;
		__atomic_store_n((uint32_t *)d, __atomic_load_n((const uint32_t *)s, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
		return;
	case 8:
		if (both & 7)
			break;
		__atomic_store_n((uint64_t *)d, __atomic_load_n((const uint64_t *)s, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
		return;
	}
	memmove(d, s, n);		/* on the own PE the two may overlap */
}

/* The way by the kernel. */
static __attribute__((noinline)) void far_copy(const char *routine, bool put, void *own, const void *sym, size_t n, int pe)
{
	int local = shmemi.peer[pe].local;
	void *far = smartmap_symmetric(local, sym);
	int rc = put ? smartmap_write(local, far, own, n) : smartmap_read(local, own, far, n);

	if (rc)
		shmemi_fatal("%s: static data of PE %d cannot be reached: %s; nor by the kernel: %s. "
			     "Objects of the symmetric heap always can", routine, pe,
			     smartmap_why(SMARTMAP_F_DATA), *smartmap_why(SMARTMAP_F_CMA) ? smartmap_why(SMARTMAP_F_CMA) :
			     strerror(-rc));
}

static inline void put(const char *routine, void *dest, const void *src, size_t n, int pe)
{
	void *d;

	if (__builtin_expect(!n, 0))
		return;
	d = shmemi_at(routine, dest, n, pe);
	if (__builtin_expect(d != NULL, 1))
		copy(d, src, n);
	else
		far_copy(routine, true, (void *)(uintptr_t)src, dest, n, pe);
}

static inline void get(const char *routine, void *dest, const void *src, size_t n, int pe)
{
	void *s;

	if (__builtin_expect(!n, 0))
		return;
	s = shmemi_at(routine, src, n, pe);
	if (__builtin_expect(s != NULL, 1))
		copy(dest, s, n);
	else
		far_copy(routine, false, dest, src, n, pe);
}

/* @n elements of @size bytes, every @dst-th and @sst-th. */
static void iput(const char *routine, void *dest, const void *src, ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t size,
		 int pe)
{
	for (size_t i = 0; i < n; i++)
		put(routine, (char *)dest + (ptrdiff_t)i * dst * (ptrdiff_t)size,
		    (const char *)src + (ptrdiff_t)i * sst * (ptrdiff_t)size, size, pe);
}

static void iget(const char *routine, void *dest, const void *src, ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t size,
		 int pe)
{
	for (size_t i = 0; i < n; i++)
		get(routine, (char *)dest + (ptrdiff_t)i * dst * (ptrdiff_t)size,
		    (const char *)src + (ptrdiff_t)i * sst * (ptrdiff_t)size, size, pe);
}

/* A number of elements that no memory holds must not wrap around to one that it does. */
static inline size_t bytes(const char *routine, size_t n, size_t size)
{
	size_t b;

	if (__builtin_expect(__builtin_mul_overflow(n, size, &b), 0))
		shmemi_fatal("%s: %zu elements of %zu bytes", routine, n, size);
	return b;
}

#define PUT_GET(N, T, S)									\
	void pshmem_##N(T *dest, const T *source, size_t n, int pe)				\
	{											\
		S("shmem_" #N, dest, source, bytes("shmem_" #N, n, ESIZE(T)), pe);		\
	}											\
	SHMEMI_ALIAS(N);
#define STRIDED(N, T, S)									\
	void pshmem_##N(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe) \
	{											\
		S("shmem_" #N, dest, source, dst, sst, n, ESIZE(T), pe);			\
	}											\
	SHMEMI_ALIAS(N);

#define ESIZE(T) sizeof(T)
#define TYPED(N, T)										\
	PUT_GET(N##_put, T, put) PUT_GET(N##_get, T, get)					\
	PUT_GET(N##_put_nbi, T, put) PUT_GET(N##_get_nbi, T, get)				\
	STRIDED(N##_iput, T, iput) STRIDED(N##_iget, T, iget)					\
	void pshmem_##N##_p(T *dest, T value, int pe)						\
	{											\
		put("shmem_" #N "_p", dest, &value, sizeof(T), pe);				\
	}											\
	SHMEMI_ALIAS(N##_p);									\
	T pshmem_##N##_g(const T *source, int pe)						\
	{											\
		T value;									\
												\
		get("shmem_" #N "_g", &value, source, sizeof(T), pe);				\
		return value;									\
	}											\
	SHMEMI_ALIAS(N##_g);
SHMEMI_TYPES_RMA(TYPED)
#undef ESIZE

#define SIZED(BITS)										\
	PUT_GET(put##BITS, void, put) PUT_GET(get##BITS, void, get)				\
	PUT_GET(put##BITS##_nbi, void, put) PUT_GET(get##BITS##_nbi, void, get)			\
	STRIDED(iput##BITS, void, iput) STRIDED(iget##BITS, void, iget)
#define ESIZE(T) 1
SIZED(8)
#undef ESIZE
#define ESIZE(T) 2
SIZED(16)
#undef ESIZE
#define ESIZE(T) 4
SIZED(32)
#undef ESIZE
#define ESIZE(T) 8
SIZED(64)
#undef ESIZE
#define ESIZE(T) 16
SIZED(128)
#undef ESIZE

#define ESIZE(T) 1
PUT_GET(putmem, void, put)
PUT_GET(getmem, void, get)
PUT_GET(putmem_nbi, void, put)
PUT_GET(getmem_nbi, void, get)

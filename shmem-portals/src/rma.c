/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * rma.c - put and get in all their forms: a copy between own memory and a PE's, by this thread
 *
 * Nonblocking forms are the blocking ones where the processor makes the copy, since that is finished when it returns.
 * Memory that is not in the peer's window is far.c's affair. One element is moved inline; everything else, and what
 * is not as usual, goes by put_many() and smartmap_copy().
 */
#include <string.h>

#include "ctx.h"
#include "far.h"
#include "lower.h"
#include "rma.h"

#define HOT static inline __attribute__((always_inline))

#define MAP_AHEAD	((size_t)256 << 10)	/* bytes from which on map_ahead() is worth it */
#define AROUND		((uintptr_t)64 << 10)	/* fault_around_bytes of the kernel */

/*
 * The first store to a shared page that this process has not mapped yet is a fault for that page alone; the first load
 * maps all that are there of 64 KiB around it, for storing too.
 */
static void map_ahead(const void *d, size_t n)
{
	const volatile uint8_t *p = d, *end = p + n;

	for (; p < end; p = (const uint8_t *)(((uintptr_t)p | (AROUND - 1)) + 1))
		(void)*p;
}

/* The copy to @d, which is @dest of PE @pe. */
static inline void copy_to(void *d, const void *src, size_t n, int pe)
{
	if (__builtin_expect(n >= MAP_AHEAD, 0) && pe != shmemi.pe)
		map_ahead(d, n);
	smartmap_copy(d, src, n);
}

void shmemi_copy_out(void *d, const void *s, size_t n)
{
	copy_to(d, s, n, -1);
}

typedef void far_put(const char *routine, void *sym, const void *own, size_t n, int pe);
typedef void far_get(const char *routine, void *own, const void *sym, size_t n, int pe);

/* @n bytes; what is not in a window by @far. */
HOT void put_bytes(const char *routine, void *dest, const void *src, size_t n, int pe, far_put *far)
{
	void *d;

	if (__builtin_expect(!n, 0))
		return;
	d = shmemi_at_own(routine, dest, src, n, pe);
	if (__builtin_expect(d != NULL, 1))
		copy_to(d, src, n, pe);
	else
		far(routine, dest, src, n, pe);
}

HOT void get_bytes(const char *routine, void *dest, const void *src, size_t n, int pe, far_get *far)
{
	const void *s;

	if (__builtin_expect(!n, 0))
		return;
	s = shmemi_at_own(routine, src, dest, n, pe);
	if (__builtin_expect(s != NULL, 1))
		smartmap_copy(dest, s, n);
	else
		far(routine, dest, src, n, pe);
}

void shmemi_put(const char *routine, void *dest, const void *src, size_t n, int pe)
{
	put_bytes(routine, dest, src, n, pe, shmemi_far_put);
}

void shmemi_put_nbi(const char *routine, void *dest, const void *src, size_t n, int pe)
{
	put_bytes(routine, dest, src, n, pe, shmemi_far_put_nbi);
}

/* The same for @n elements of @size bytes: where the inline way of one element ends. */
#define MANY(name, how, far)									\
	static __attribute__((noinline)) void name(const char *routine, void *dest, const void *src, size_t n,	\
						   size_t size, int pe)				\
	{											\
		how(routine, dest, src, shmemi_bytes(routine, n, size), pe, far);		\
	}
MANY(put_many, put_bytes, shmemi_far_put)
MANY(put_many_nbi, put_bytes, shmemi_far_put_nbi)
MANY(get_many, get_bytes, shmemi_far_get)
MANY(get_many_nbi, get_bytes, shmemi_far_get_nbi)

typedef void many(const char *routine, void *dest, const void *src, size_t n, size_t size, int pe);

/* @n elements of @size bytes: one of them inline, others by @rest. */
HOT void put(const char *routine, void *dest, const void *src, size_t n, size_t size, int pe, many *rest)
{
	void *d;

	if (__builtin_expect(n == 1, 1) && __builtin_expect((d = shmemi_at_fast(dest, size, pe)) != NULL, 1))
		smartmap_copy(d, src, size);
	else
		rest(routine, dest, src, n, size, pe);
}

HOT void get(const char *routine, void *dest, const void *src, size_t n, size_t size, int pe, many *rest)
{
	const void *s;

	if (__builtin_expect(n == 1, 1) && __builtin_expect((s = shmemi_at_fast(src, size, pe)) != NULL, 1))
		smartmap_copy(dest, s, size);
	else
		rest(routine, dest, src, n, size, pe);
}

/* Bytes: eight of them are as often a number as not. */
HOT void put_mem(const char *routine, void *dest, const void *src, size_t n, int pe, many *rest)
{
	void *d;

	if (n == 8 && __builtin_expect((d = shmemi_at_fast(dest, 8, pe)) != NULL, 1))
		smartmap_copy(d, src, 8);
	else
		rest(routine, dest, src, n, 1, pe);
}

HOT void get_mem(const char *routine, void *dest, const void *src, size_t n, int pe, many *rest)
{
	const void *s;

	if (n == 8 && __builtin_expect((s = shmemi_at_fast(src, 8, pe)) != NULL, 1))
		smartmap_copy(dest, s, 8);
	else
		rest(routine, dest, src, n, 1, pe);
}

/* ---- strided ---- */

struct span {
	ptrdiff_t lo;			/* bytes from the first block to the lowest one */
	size_t len;			/* bytes from there to the end of the highest one */
};

/* What @n blocks of @len bytes touch that begin every @step bytes. */
static struct span span(const char *routine, size_t n, ptrdiff_t step, size_t len)
{
	ptrdiff_t last;
	size_t far;

	if (n - 1 > PTRDIFF_MAX || __builtin_mul_overflow((ptrdiff_t)(n - 1), step, &last))
		shmemi_fatal("%s: %zu elements, one every %td bytes", routine, n, step);
	far = last < 0 ? 0 - (size_t)last : (size_t)last;
	return (struct span){ last < 0 ? last : 0, far + len };
}

static ptrdiff_t step_of(const char *routine, ptrdiff_t stride, size_t size)
{
	ptrdiff_t step;

	if (__builtin_mul_overflow(stride, (ptrdiff_t)size, &step))
		shmemi_fatal("%s: a stride of %td elements of %zu bytes", routine, stride, size);
	return step;
}

#define LOOP(T)								\
	do {								\
		for (; n; n--, d += ds, s += ss)			\
			smartmap_copy(d, s, sizeof(T));		\
	} while (0)

/* @n blocks of @len bytes, a tight loop where a block is an element. */
static void copy_blocks(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, size_t n, size_t len)
{
	if (ds == (ptrdiff_t)len && ss == ds) {
		smartmap_copy(d, s, n * len);
		return;
	}
	switch (len) {
	case 1:
		LOOP(uint8_t);
		break;
	case 2:
		LOOP(uint16_t);
		break;
	case 4:
		LOOP(uint32_t);
		break;
	case 8:
		LOOP(uint64_t);
		break;
	case 16:
		for (; n; n--, d += ds, s += ss)
			smartmap_copy(d, s, 16);
		break;
	default:
		for (; n; n--, d += ds, s += ss)
			smartmap_copy(d, s, len);
	}
}

/* @n blocks of @b elements of @size bytes; strides are in elements. The symmetric side is looked at once. */
static __attribute__((noinline)) void put_blocks(const char *routine, void *dest, const void *src, ptrdiff_t dst,
						 ptrdiff_t sst, size_t b, size_t n, size_t size, int pe)
{
	ptrdiff_t ds = step_of(routine, dst, size), ss = step_of(routine, sst, size);
	size_t len = shmemi_bytes(routine, b, size);
	struct span w, own;
	char *d;

	if (!n || !len)
		return;
	w = span(routine, n, ds, len);
	own = span(routine, n, ss, len);
	d = shmemi_at(routine, (char *)dest + w.lo, w.len, pe);
	if (__builtin_expect(shmemi.debug, 0))
		shmemi_check(routine, (char *)dest + w.lo, w.len, (const char *)src + own.lo, own.len, pe);
	if (d) {
		copy_blocks(d - w.lo, ds, src, ss, n, len);
		return;
	}
	/* all at once, and one wait for all: the caller's memory is its own again behind it */
	for (char *to = dest; n; n--, to += ds, src = (const char *)src + ss)
		shmemi_far_put_nbi(routine, to, src, len, pe);
	shmemi_quiet();
}

static __attribute__((noinline)) void get_blocks(const char *routine, void *dest, const void *src, ptrdiff_t dst,
						 ptrdiff_t sst, size_t b, size_t n, size_t size, int pe)
{
	ptrdiff_t ds = step_of(routine, dst, size), ss = step_of(routine, sst, size);
	size_t len = shmemi_bytes(routine, b, size);
	struct span w, own;
	const char *s;

	if (!n || !len)
		return;
	w = span(routine, n, ss, len);
	own = span(routine, n, ds, len);
	s = shmemi_at(routine, (const char *)src + w.lo, w.len, pe);
	if (__builtin_expect(shmemi.debug, 0))
		shmemi_check(routine, (const char *)src + w.lo, w.len, (const char *)dest + own.lo, own.len, pe);
	if (s) {
		copy_blocks(dest, ds, s - w.lo, ss, n, len);
		return;
	}
	for (char *to = dest; n; n--, to += ds, src = (const char *)src + ss)
		shmemi_far_get_nbi(routine, to, src, len, pe);
	shmemi_quiet();
}

/* ---- the routines ---- */

#define COPY(name, T, how, rest, SIZE)								\
	SHMEMI_DEFINE(void, name, (T *dest, const T *source, size_t nelems, int pe),		\
		how(routine, dest, source, nelems, SIZE, pe, rest);)
#define COPIES(PUT, GET, T, SIZE)								\
	COPY(PUT, T, put, put_many, SIZE) COPY(PUT##_nbi, T, put, put_many_nbi, SIZE)		\
	COPY(GET, T, get, get_many, SIZE) COPY(GET##_nbi, T, get, get_many_nbi, SIZE)

#define STRIDED(IPUT, IGET, IBPUT, IBGET, T, SIZE)						\
	SHMEMI_DEFINE(void, IPUT, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,	\
				   size_t nelems, int pe),					\
		put_blocks(routine, dest, source, dst, sst, 1, nelems, SIZE, pe);)		\
	SHMEMI_DEFINE(void, IGET, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,	\
				   size_t nelems, int pe),					\
		get_blocks(routine, dest, source, dst, sst, 1, nelems, SIZE, pe);)		\
	SHMEMI_DEFINE(void, IBPUT, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,	\
				    size_t bsize, size_t nblocks, int pe),			\
		put_blocks(routine, dest, source, dst, sst, bsize, nblocks, SIZE, pe);)		\
	SHMEMI_DEFINE(void, IBGET, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,	\
				    size_t bsize, size_t nblocks, int pe),			\
		get_blocks(routine, dest, source, dst, sst, bsize, nblocks, SIZE, pe);)

#define TYPED(N, T)										\
	COPIES(N##_put, N##_get, T, sizeof(T))							\
	STRIDED(N##_iput, N##_iget, N##_ibput, N##_ibget, T, sizeof(T))				\
	SHMEMI_DEFINE(void, N##_p, (T *dest, T value, int pe),					\
		void *d = shmemi_at_fast(dest, sizeof(T), pe);					\
												\
		if (__builtin_expect(d != NULL, 1)) {						\
			*(volatile T *)d = value;						\
		} else {									\
			T v = value;								\
												\
			put_many(routine, dest, &v, 1, sizeof(T), pe);				\
		})										\
	SHMEMI_DEFINE(T, N##_g, (const T *source, int pe),					\
		const void *s = shmemi_at_fast(source, sizeof(T), pe);				\
		T v;										\
												\
		if (__builtin_expect(s != NULL, 1))						\
			return *(const volatile T *)s;						\
		get_many(routine, &v, source, 1, sizeof(T), pe);				\
		return v;)
SHMEMI_TYPES_RMA(TYPED)

#define SIZED(BITS)										\
	COPIES(put##BITS, get##BITS, void, BITS / 8)						\
	STRIDED(iput##BITS, iget##BITS, ibput##BITS, ibget##BITS, void, BITS / 8)
SIZED(8)
SIZED(16)
SIZED(32)
SIZED(64)
SIZED(128)

#define BYTES(name, how, rest)									\
	SHMEMI_DEFINE(void, name, (void *dest, const void *source, size_t nelems, int pe),	\
		how(routine, dest, source, nelems, pe, rest);)
BYTES(putmem, put_mem, put_many)
BYTES(getmem, get_mem, get_many)
BYTES(putmem_nbi, put_mem, put_many_nbi)
BYTES(getmem_nbi, get_mem, get_many_nbi)

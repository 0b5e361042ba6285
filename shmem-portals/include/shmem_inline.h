/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_inline.h - p, g, put and get of one element, and atomic operations, inside of the caller
 *
 * Part of <shmem.h>, where the compiler optimises. A call costs little, but what it loads and branches on waits for the
 * atomic operation before it, and so do cache misses that could overlap. What is inline is the processor's instruction
 * on memory of a PE of this node that has been met before, and its address: three loads of the table below, three
 * comparisons. Everything else (another node, static objects of libraries, a PE that does not exist, bad alignment) is
 * the routine's. So are all calls with SHMEM_DEBUG, and of programs in which a tool has taken over one of these
 * routines: the library leaves the table empty then. SHMEM_NO_INLINE, defined before <shmem.h>, leaves this out; a tool
 * in C++ needs that, one that includes <pshmem.h> first has it.
 */
#ifndef SHMEM_INLINE_H
#define SHMEM_INLINE_H

#define SHMEMI_NEAR_PES	256

/*
 * Filled by the library. Its layout is part of the binary interface: another one gets another name. An array for
 * each field, so that the number of a PE is an index as it stands. The address is a sum of what the program gives and
 * one load; the range is looked at beside that. The offsets of the last 8 bytes are 0 for a PE that was not met.
 */
struct shmemi_near {
	uintptr_t heap, data;			/* own symmetric heap, own static data */
	uintptr_t heap_last[SHMEMI_NEAR_PES];	/* offset of the last 8 bytes in the heap */
	uintptr_t heap_by[SHMEMI_NEAR_PES];	/* from the own heap to the PE's, as seen here */
	uintptr_t data_last[SHMEMI_NEAR_PES];
	uintptr_t data_by[SHMEMI_NEAR_PES];
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
extern struct shmemi_near shmemi_near_2;
#pragma GCC visibility pop

#if defined(__OPTIMIZE__) && !defined(SHMEM_NO_INLINE) && !defined(PSHMEM_H)
#define SHMEMI_INLINE extern __inline __attribute__((__gnu_inline__, __always_inline__, __artificial__))
#define SHMEMI_NEVER(x) __builtin_expect(!!(x), 0)

/*
 * The object of at most 8 bytes on @pe; NULL: by the routine. (The heap begins with bytes of the library's own.) The
 * compiler is told that what is found is no NULL, so that it does not look once more. Each instruction here counts
 * where atomic operations miss the cache: tests/bench/shmem_gups.c.
 */
SHMEMI_INLINE void *shmemi_near_at(const void *sym, int pe)
{
	uintptr_t at = (uintptr_t)sym, off = at - shmemi_near_2.heap, by;
	unsigned i = (unsigned)pe;

	if (SHMEMI_NEVER(i >= SHMEMI_NEAR_PES))
		return NULL;
	if (!SHMEMI_NEVER(off > shmemi_near_2.heap_last[i])) {
		by = shmemi_near_2.heap_by[i];
	} else {
		off = at - shmemi_near_2.data;
		if (!shmemi_near_2.data_last[i] || off > shmemi_near_2.data_last[i])
			return NULL;
		by = shmemi_near_2.data_by[i];
	}
	if (!(at + by))
		__builtin_unreachable();
	return (void *)(at + by);
}

/* For an atomic operation. */
SHMEMI_INLINE void *shmemi_near_word(const void *sym, size_t size, int pe)
{
	return SHMEMI_NEVER((uintptr_t)sym & (size - 1)) ? NULL : shmemi_near_at(sym, pe);
}

/* The routine itself, by another name: what is inline has its own. */
#define SHMEMI_CALL(R, name, ...) extern R shmemi_call_##name(__VA_ARGS__) __asm__("shmem_" #name)

#define SHMEMI_INLINE_RMA(N, T)									\
	struct shmemi_one_##N { T v; } __attribute__((__packed__, __may_alias__));		\
	SHMEMI_CALL(void, N##_p, T *dest, T value, int pe);					\
	SHMEMI_CALL(T, N##_g, const T *source, int pe);						\
	SHMEMI_CALL(void, N##_put, T *dest, const T *source, size_t nelems, int pe);		\
	SHMEMI_CALL(void, N##_get, T *dest, const T *source, size_t nelems, int pe);		\
	SHMEMI_INLINE void shmem_##N##_p(T *dest, T value, int pe)				\
	{											\
		volatile struct shmemi_one_##N *d = sizeof(T) > 8 ? NULL :			\
			(volatile struct shmemi_one_##N *)shmemi_near_at(dest, pe);	\
												\
		if (SHMEMI_NEVER(!d))								\
			shmemi_call_##N##_p(dest, value, pe);					\
		else										\
			d->v = value;								\
	}											\
	SHMEMI_INLINE T shmem_##N##_g(const T *source, int pe)					\
	{											\
		const volatile struct shmemi_one_##N *s = sizeof(T) > 8 ? NULL :		\
			(const volatile struct shmemi_one_##N *)shmemi_near_at(source, pe);	\
												\
		return SHMEMI_NEVER(!s) ? shmemi_call_##N##_g(source, pe) : s->v;		\
	}											\
	SHMEMI_INLINE void shmem_##N##_put(T *dest, const T *source, size_t nelems, int pe)	\
	{											\
		if (sizeof(T) <= 8 && __builtin_constant_p(nelems) && nelems == 1)				\
			shmem_##N##_p(dest, ((const struct shmemi_one_##N *)source)->v, pe);	\
		else										\
			shmemi_call_##N##_put(dest, source, nelems, pe);			\
	}											\
	SHMEMI_INLINE void shmem_##N##_get(T *dest, const T *source, size_t nelems, int pe)	\
	{											\
		if (sizeof(T) <= 8 && __builtin_constant_p(nelems) && nelems == 1)				\
			((struct shmemi_one_##N *)dest)->v = shmem_##N##_g(source, pe);		\
		else										\
			shmemi_call_##N##_get(dest, source, nelems, pe);			\
	}
SHMEMI_TYPES_RMA(SHMEMI_INLINE_RMA)

/* An atomic operation: HERE on *p, of PE @pe, or the routine with ARGS. The second form: it returns nothing. */
#define SHMEMI_INLINE_AMO(T, name, PARAMS, sym, HERE, ARGS)					\
	SHMEMI_CALL(T, name, SHMEMI_INLINE_LIST PARAMS);					\
	SHMEMI_INLINE T shmem_##name(SHMEMI_INLINE_LIST PARAMS)					\
	{											\
		T *p = (T *)shmemi_near_word(sym, sizeof(T), pe);				\
												\
		if (SHMEMI_NEVER(!p))								\
			return shmemi_call_##name ARGS;						\
		HERE;										\
	}
#define SHMEMI_INLINE_AMO_VOID(T, name, PARAMS, sym, HERE, ARGS)				\
	SHMEMI_CALL(void, name, SHMEMI_INLINE_LIST PARAMS);					\
	SHMEMI_INLINE void shmem_##name(SHMEMI_INLINE_LIST PARAMS)				\
	{											\
		T *p = (T *)shmemi_near_word(sym, sizeof(T), pe);				\
												\
		if (SHMEMI_NEVER(!p))								\
			shmemi_call_##name ARGS;						\
		else										\
			HERE;									\
	}
#define SHMEMI_INLINE_LIST(...) __VA_ARGS__

#define SHMEMI_INLINE_STANDARD(N, T)								\
	SHMEMI_INLINE_AMO(T, N##_atomic_compare_swap, (T *dest, T cond, T value, int pe), dest,	\
		__atomic_compare_exchange_n(p, &cond, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);	\
		return cond, (dest, cond, value, pe))						\
	SHMEMI_INLINE_AMO(T, N##_atomic_fetch_inc, (T *dest, int pe), dest,			\
		return __atomic_fetch_add(p, (T)1, __ATOMIC_ACQ_REL), (dest, pe))		\
	SHMEMI_INLINE_AMO_VOID(T, N##_atomic_inc, (T *dest, int pe), dest,			\
		__atomic_fetch_add(p, (T)1, __ATOMIC_ACQ_REL), (dest, pe))			\
	SHMEMI_INLINE_AMO(T, N##_atomic_fetch_add, (T *dest, T value, int pe), dest,		\
		return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL), (dest, value, pe))	\
	SHMEMI_INLINE_AMO_VOID(T, N##_atomic_add, (T *dest, T value, int pe), dest,		\
		__atomic_fetch_add(p, value, __ATOMIC_ACQ_REL), (dest, value, pe))
SHMEMI_TYPES_AMO(SHMEMI_INLINE_STANDARD)

#define SHMEMI_INLINE_EXT(N, T)									\
	SHMEMI_INLINE_AMO(T, N##_atomic_fetch, (const T *source, int pe), source,		\
		T now; __atomic_load(p, &now, __ATOMIC_ACQUIRE); return now, (source, pe))	\
	SHMEMI_INLINE_AMO_VOID(T, N##_atomic_set, (T *dest, T value, int pe), dest,		\
		__atomic_store(p, &value, __ATOMIC_RELEASE), (dest, value, pe))			\
	SHMEMI_INLINE_AMO(T, N##_atomic_swap, (T *dest, T value, int pe), dest,			\
		T before; __atomic_exchange(p, &value, &before, __ATOMIC_ACQ_REL); return before,	\
		(dest, value, pe))
SHMEMI_TYPES_AMO_EXT(SHMEMI_INLINE_EXT)

#define SHMEMI_INLINE_BITWISE(N, T, op)								\
	SHMEMI_INLINE_AMO(T, N##_atomic_fetch_##op, (T *dest, T value, int pe), dest,		\
		return __atomic_fetch_##op(p, value, __ATOMIC_ACQ_REL), (dest, value, pe))	\
	SHMEMI_INLINE_AMO_VOID(T, N##_atomic_##op, (T *dest, T value, int pe), dest,		\
		__atomic_fetch_##op(p, value, __ATOMIC_ACQ_REL), (dest, value, pe))
#define SHMEMI_INLINE_BIT(N, T)									\
	SHMEMI_INLINE_BITWISE(N, T, and) SHMEMI_INLINE_BITWISE(N, T, or) SHMEMI_INLINE_BITWISE(N, T, xor)
SHMEMI_TYPES_AMO_BIT(SHMEMI_INLINE_BIT)

#undef SHMEMI_INLINE
#undef SHMEMI_NEVER
#undef SHMEMI_CALL
#undef SHMEMI_INLINE_RMA
#undef SHMEMI_INLINE_AMO
#undef SHMEMI_INLINE_AMO_VOID
#undef SHMEMI_INLINE_LIST
#undef SHMEMI_INLINE_STANDARD
#undef SHMEMI_INLINE_EXT
#undef SHMEMI_INLINE_BITWISE
#undef SHMEMI_INLINE_BIT
#endif
#ifdef __cplusplus
}
#endif

#endif

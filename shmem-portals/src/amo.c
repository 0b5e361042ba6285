/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * amo.c - atomic operations: the processor's own, on the PE's memory through its window
 *
 * They are atomic with all others on the node, of any PE, thread or type of the same size. What is not in the window is
 * far.c's affair: Portals does the same at PEs of other nodes, with the same instructions there. Nonblocking forms, and
 * those whose old value nobody wants, are done behind the next quiet there; here they are the blocking ones.
 */
#include <string.h>

#include "amo.h"
#include "ctx.h"

#define ON(U, p, op, v, c)									\
	do {											\
		switch (op) {									\
		case SHMEMI_AMO_FETCH: return __atomic_load_n((U *)(p), __ATOMIC_ACQUIRE);	\
		case SHMEMI_AMO_SET:								\
		case SHMEMI_AMO_SWAP: return __atomic_exchange_n((U *)(p), (U)(v), SHMEMI_AMO_ORDER); \
		case SHMEMI_AMO_ADD: return __atomic_fetch_add((U *)(p), (U)(v), SHMEMI_AMO_ORDER); \
		case SHMEMI_AMO_AND: return __atomic_fetch_and((U *)(p), (U)(v), SHMEMI_AMO_ORDER); \
		case SHMEMI_AMO_OR: return __atomic_fetch_or((U *)(p), (U)(v), SHMEMI_AMO_ORDER); \
		case SHMEMI_AMO_XOR: return __atomic_fetch_xor((U *)(p), (U)(v), SHMEMI_AMO_ORDER); \
		case SHMEMI_AMO_CSWAP: {							\
			U old = (U)(c);								\
												\
			__atomic_compare_exchange_n((U *)(p), &old, (U)(v), 0, SHMEMI_AMO_ORDER, __ATOMIC_ACQUIRE); \
			return old;								\
		}										\
		default: break;									\
		}										\
	} while (0)

static inline uint64_t here(void *p, enum shmemi_amo op, size_t size, uint64_t v, uint64_t c)
{
	if (size == 4)
		ON(uint32_t, p, op, v, c);
	else
		ON(uint64_t, p, op, v, c);
	__builtin_unreachable();
}

/*
 * Any operation on the bytes of a value of any type: the way of what is not as usual, here or far. @value is the
 * operand, and afterwards the old value.
 */
static __attribute__((noinline, cold)) void slow(const char *routine, enum shmemi_amo op, const void *sym, size_t size,
						 void *value, const void *cond, int pe)
{
	void *p = shmemi_amo_at(routine, sym, size, pe);
	uint64_t v = 0, c = 0;

	memcpy(&v, value, size);
	if (cond)
		memcpy(&c, cond, size);
	if (p)
		v = here(p, op, size, v, c);
	else
		v = shmemi_far_amo(routine, op, (void *)(uintptr_t)sym, (unsigned)size, v, c, pe);
	memcpy(value, &v, size);
}

/* The same, the old value being there behind the next quiet, at @fetch unless that is NULL. */
static __attribute__((noinline, cold)) void slow_nbi(const char *routine, enum shmemi_amo op, const void *sym,
						     size_t size, const void *value, const void *cond, int pe,
						     void *fetch)
{
	void *p = shmemi_amo_at(routine, sym, size, pe);
	uint64_t v = 0, c = 0;

	if (__builtin_expect(shmemi.debug, 0))
		shmemi_check(routine, sym, size, fetch, fetch ? size : 0, pe);
	memcpy(&v, value, size);
	if (cond)
		memcpy(&c, cond, size);
	if (!p) {
		shmemi_far_amo_nbi(routine, op, (void *)(uintptr_t)sym, (unsigned)size, v, c, pe, fetch);
		return;
	}
	v = here(p, op, size, v, c);
	if (fetch)
		memcpy(fetch, &v, size);
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a short value is the first bytes of a uint64_t");

#define HOT static inline __attribute__((always_inline))

/*
 * Two inline functions per type and operation; the routines are made of them. The second gives the old value to @fetch:
 * NULL where nobody wants it, and then the processor's forms without an old value are taken.
 */
#define OP(N, T, name, CODE, PARAMS, DO, value, cond)						\
	HOT T name##_##N(const char *routine, SHMEMI_UNPACK PARAMS)				\
	{											\
		T *p = shmemi_amo_fast(dest, sizeof(T), pe), old;				\
												\
		if (__builtin_expect(p != NULL, 1)) {						\
			DO;									\
			return old;								\
		} else {									\
			T v = value, c = cond;							\
												\
			slow(routine, CODE, dest, sizeof(T), &v, &c, pe);			\
			return v;								\
		}										\
	}											\
	HOT void name##_nbi_##N(const char *routine, T *fetch, SHMEMI_UNPACK PARAMS)		\
	{											\
		T *p = shmemi_amo_fast(dest, sizeof(T), pe), old;				\
												\
		if (__builtin_expect(p != NULL, 1)) {						\
			DO;									\
			if (fetch)								\
				*fetch = old;							\
		} else {									\
			T v = value, c = cond;							\
												\
			slow_nbi(routine, CODE, dest, sizeof(T), &v, &c, pe, fetch);		\
		}										\
	}

#define OPS_EXT(N, T)										\
	OP(N, T, fetch, SHMEMI_AMO_FETCH, (T *dest, int pe), __atomic_load(p, &old, __ATOMIC_ACQUIRE), 0, 0) \
	OP(N, T, swap, SHMEMI_AMO_SWAP, (T *dest, T value, int pe),				\
	   __atomic_exchange(p, &value, &old, SHMEMI_AMO_ORDER), value, 0)			\
	HOT void set_##N(const char *routine, T *dest, T value, int pe)				\
	{											\
		T *p = shmemi_amo_fast(dest, sizeof(T), pe);					\
												\
		if (__builtin_expect(p != NULL, 1)) {						\
			__atomic_store(p, &value, __ATOMIC_RELEASE);				\
		} else {									\
			T v = value;								\
												\
			slow_nbi(routine, SHMEMI_AMO_SET, dest, sizeof(T), &v, NULL, pe, NULL);	\
		}										\
	}
#define ARITHMETIC(N, T, op, CODE)								\
	OP(N, T, op, CODE, (T *dest, T value, int pe),						\
	   old = __atomic_fetch_##op(p, value, SHMEMI_AMO_ORDER), value, 0)
#define OPS(N, T)										\
	OP(N, T, cswap, SHMEMI_AMO_CSWAP, (T *dest, T cond, T value, int pe),			\
	   old = cond; __atomic_compare_exchange_n(p, &old, value, 0, SHMEMI_AMO_ORDER, __ATOMIC_ACQUIRE),	\
	   value, cond)										\
	ARITHMETIC(N, T, add, SHMEMI_AMO_ADD)
#define OPS_BIT(N, T)										\
	ARITHMETIC(N, T, and, SHMEMI_AMO_AND) ARITHMETIC(N, T, or, SHMEMI_AMO_OR) ARITHMETIC(N, T, xor, SHMEMI_AMO_XOR)

SHMEMI_TYPES_AMO_EXT(OPS_EXT)
SHMEMI_TYPES_AMO(OPS)
SHMEMI_TYPES_AMO_BIT(OPS_BIT)

#define STANDARD(N, T)										\
	SHMEMI_DEFINE(T, N##_atomic_compare_swap, (T *dest, T cond, T value, int pe),		\
		return cswap_##N(routine, dest, cond, value, pe);)				\
	SHMEMI_DEFINE(T, N##_atomic_fetch_inc, (T *dest, int pe), return add_##N(routine, dest, 1, pe);) \
	SHMEMI_DEFINE(void, N##_atomic_inc, (T *dest, int pe), add_nbi_##N(routine, NULL, dest, 1, pe);) \
	SHMEMI_DEFINE(T, N##_atomic_fetch_add, (T *dest, T value, int pe),			\
		return add_##N(routine, dest, value, pe);)					\
	SHMEMI_DEFINE(void, N##_atomic_add, (T *dest, T value, int pe),				\
		add_nbi_##N(routine, NULL, dest, value, pe);)					\
	SHMEMI_DEFINE(void, N##_atomic_compare_swap_nbi, (T *fetch, T *dest, T cond, T value, int pe), \
		cswap_nbi_##N(routine, fetch, dest, cond, value, pe);)				\
	SHMEMI_DEFINE(void, N##_atomic_fetch_inc_nbi, (T *fetch, T *dest, int pe),		\
		add_nbi_##N(routine, fetch, dest, 1, pe);)					\
	SHMEMI_DEFINE(void, N##_atomic_fetch_add_nbi, (T *fetch, T *dest, T value, int pe),	\
		add_nbi_##N(routine, fetch, dest, value, pe);)
SHMEMI_TYPES_AMO(STANDARD)

#define EXTENDED(N, T)										\
	SHMEMI_DEFINE(T, N##_atomic_fetch, (const T *source, int pe),				\
		return fetch_##N(routine, (T *)(uintptr_t)source, pe);)				\
	SHMEMI_DEFINE(void, N##_atomic_set, (T *dest, T value, int pe), set_##N(routine, dest, value, pe);) \
	SHMEMI_DEFINE(T, N##_atomic_swap, (T *dest, T value, int pe), return swap_##N(routine, dest, value, pe);) \
	SHMEMI_DEFINE(void, N##_atomic_fetch_nbi, (T *fetch, const T *source, int pe),		\
		fetch_nbi_##N(routine, fetch, (T *)(uintptr_t)source, pe);)			\
	SHMEMI_DEFINE(void, N##_atomic_swap_nbi, (T *fetch, T *dest, T value, int pe),		\
		swap_nbi_##N(routine, fetch, dest, value, pe);)
SHMEMI_TYPES_AMO_EXT(EXTENDED)

#define ONE_BITWISE(N, T, op)									\
	SHMEMI_DEFINE(T, N##_atomic_fetch_##op, (T *dest, T value, int pe),			\
		return op##_##N(routine, dest, value, pe);)					\
	SHMEMI_DEFINE(void, N##_atomic_##op, (T *dest, T value, int pe),			\
		op##_nbi_##N(routine, NULL, dest, value, pe);)					\
	SHMEMI_DEFINE(void, N##_atomic_fetch_##op##_nbi, (T *fetch, T *dest, T value, int pe),	\
		op##_nbi_##N(routine, fetch, dest, value, pe);)
#define BITWISE(N, T) ONE_BITWISE(N, T, and) ONE_BITWISE(N, T, or) ONE_BITWISE(N, T, xor)
SHMEMI_TYPES_AMO_BIT(BITWISE)

/* Deprecated names. */
#define OLD(R, name, PARAMS, ...)								\
	R pshmem_##name(SHMEMI_UNPACK PARAMS)							\
	{											\
		const char *const routine = "shmem_" #name;					\
												\
		__VA_ARGS__									\
	}											\
	SHMEMI_ALIAS(name);

#define OLD_STANDARD(N, T)									\
	OLD(T, N##_cswap, (T *dest, T cond, T value, int pe), return cswap_##N(routine, dest, cond, value, pe);) \
	OLD(T, N##_finc, (T *dest, int pe), return add_##N(routine, dest, 1, pe);)		\
	OLD(void, N##_inc, (T *dest, int pe), add_nbi_##N(routine, NULL, dest, 1, pe);)		\
	OLD(T, N##_fadd, (T *dest, T value, int pe), return add_##N(routine, dest, value, pe);)	\
	OLD(void, N##_add, (T *dest, T value, int pe), add_nbi_##N(routine, NULL, dest, value, pe);)
SHMEMI_TYPES_OLD(OLD_STANDARD)

#define OLD_EXTENDED(N, T)									\
	OLD(T, N##_fetch, (const T *source, int pe), return fetch_##N(routine, (T *)(uintptr_t)source, pe);) \
	OLD(void, N##_set, (T *dest, T value, int pe), set_##N(routine, dest, value, pe);)	\
	OLD(T, N##_swap, (T *dest, T value, int pe), return swap_##N(routine, dest, value, pe);)
SHMEMI_TYPES_OLD_EXT(OLD_EXTENDED)

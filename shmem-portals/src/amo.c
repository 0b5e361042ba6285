/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * amo.c - atomic operations: the processor's own, on the PE's memory through its window
 *
 * They are atomic with all others on the node, of any PE, thread or type of the same size. Memory that is not in the
 * window cannot be operated on: the kernel's copies are not atomic.
 */
#include <smartmap.h>

#include "shmemi.h"

static __attribute__((noinline, noreturn, cold)) void unreachable(const char *routine, int pe)
{
	shmemi_fatal("%s: static data of PE %d is not in its window (%s), so there are no atomic operations on it; "
		     "take the symmetric heap", routine, pe, smartmap_why(SMARTMAP_F_DATA));
}

static inline void *at(const char *routine, const void *sym, size_t size, int pe)
{
	void *p = shmemi_at(routine, sym, size, pe);

	if (__builtin_expect(!p, 0))
		unreachable(routine, pe);
	if (__builtin_expect((uintptr_t)p & (size - 1), 0))
		shmemi_fatal("%s: %p is not aligned to %zu bytes", routine, (void *)(uintptr_t)sym, size);
	return p;
}

#define STANDARD(N, T)										\
	T pshmem_##N##_atomic_compare_swap(T *dest, T cond, T value, int pe)			\
	{											\
		T *p = at("shmem_" #N "_atomic_compare_swap", dest, sizeof(T), pe);		\
												\
		__atomic_compare_exchange_n(p, &cond, value, 0, SHMEMI_AMO_ORDER, __ATOMIC_ACQUIRE);	\
		return cond;									\
	}											\
	SHMEMI_ALIAS(N##_atomic_compare_swap);							\
	T pshmem_##N##_atomic_fetch_inc(T *dest, int pe)					\
	{											\
		return __atomic_fetch_add((T *)at("shmem_" #N "_atomic_fetch_inc", dest, sizeof(T), pe), 1,	\
					  SHMEMI_AMO_ORDER);					\
	}											\
	SHMEMI_ALIAS(N##_atomic_fetch_inc);							\
	void pshmem_##N##_atomic_inc(T *dest, int pe)						\
	{											\
		__atomic_fetch_add((T *)at("shmem_" #N "_atomic_inc", dest, sizeof(T), pe), 1, SHMEMI_AMO_ORDER);	\
	}											\
	SHMEMI_ALIAS(N##_atomic_inc);								\
	T pshmem_##N##_atomic_fetch_add(T *dest, T value, int pe)				\
	{											\
		return __atomic_fetch_add((T *)at("shmem_" #N "_atomic_fetch_add", dest, sizeof(T), pe), value,	\
					  SHMEMI_AMO_ORDER);					\
	}											\
	SHMEMI_ALIAS(N##_atomic_fetch_add);							\
	void pshmem_##N##_atomic_add(T *dest, T value, int pe)					\
	{											\
		__atomic_fetch_add((T *)at("shmem_" #N "_atomic_add", dest, sizeof(T), pe), value, SHMEMI_AMO_ORDER);	\
	}											\
	SHMEMI_ALIAS(N##_atomic_add);
SHMEMI_TYPES_AMO(STANDARD)

#define EXTENDED(N, T)										\
	T pshmem_##N##_atomic_fetch(const T *source, int pe)					\
	{											\
		T value;									\
												\
		__atomic_load((T *)at("shmem_" #N "_atomic_fetch", source, sizeof(T), pe), &value, __ATOMIC_ACQUIRE);	\
		return value;									\
	}											\
	SHMEMI_ALIAS(N##_atomic_fetch);								\
	void pshmem_##N##_atomic_set(T *dest, T value, int pe)					\
	{											\
		__atomic_store((T *)at("shmem_" #N "_atomic_set", dest, sizeof(T), pe), &value, __ATOMIC_RELEASE);	\
	}											\
	SHMEMI_ALIAS(N##_atomic_set);								\
	T pshmem_##N##_atomic_swap(T *dest, T value, int pe)					\
	{											\
		T old;										\
												\
		__atomic_exchange((T *)at("shmem_" #N "_atomic_swap", dest, sizeof(T), pe), &value, &old,	\
				  SHMEMI_AMO_ORDER);						\
		return old;									\
	}											\
	SHMEMI_ALIAS(N##_atomic_swap);
SHMEMI_TYPES_AMO_EXT(EXTENDED)

#define ONE_BITWISE(N, T, OP)									\
	T pshmem_##N##_atomic_fetch_##OP(T *dest, T value, int pe)				\
	{											\
		return __atomic_fetch_##OP((T *)at("shmem_" #N "_atomic_fetch_" #OP, dest, sizeof(T), pe), value,	\
					   SHMEMI_AMO_ORDER);					\
	}											\
	SHMEMI_ALIAS(N##_atomic_fetch_##OP);							\
	void pshmem_##N##_atomic_##OP(T *dest, T value, int pe)					\
	{											\
		__atomic_fetch_##OP((T *)at("shmem_" #N "_atomic_" #OP, dest, sizeof(T), pe), value, SHMEMI_AMO_ORDER);	\
	}											\
	SHMEMI_ALIAS(N##_atomic_##OP);
#define BITWISE(N, T) ONE_BITWISE(N, T, and) ONE_BITWISE(N, T, or) ONE_BITWISE(N, T, xor)
SHMEMI_TYPES_AMO_BIT(BITWISE)

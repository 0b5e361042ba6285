/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * wait.c - wait for own variables that others write, and look at them
 *
 * Every look is an acquire load (shmemi_order.h has the pairs). A wait looks a while in a row, which is what a store on
 * its way takes, and then goes on in steps that yield, sleep and look round (shmemi_wait_step).
 *
 * Those that give one index out of several begin at another place each time: a number that runs on, scattered so that
 * no pattern of calls keeps to the same places. What stays satisfied is found by one call in nelems, on average, at
 * least. That number is read and written without a lock; when two threads get the same one, nothing is lost.
 */
#include "shmemi.h"

#define LOOKS	200			/* in a row */

static uint64_t turn;

/* Where to begin with @n. */
static size_t begin(size_t n)
{
	uint64_t t = __atomic_load_n(&turn, __ATOMIC_RELAXED) + 0x9e3779b97f4a7c15u;

	__atomic_store_n(&turn, t, __ATOMIC_RELAXED);
	t = (t ^ t >> 30) * 0xbf58476d1ce4e5b9u;
	t ^= t >> 27;
	return n <= UINT32_MAX ? (size_t)((t >> 32) * n >> 32) : (size_t)(t % n);
}

static void check_cmp(const char *routine, int cmp)
{
	if (__builtin_expect(cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_LE, 0))
		shmemi_fatal("%s: %d is no comparison (SHMEM_CMP_EQ ... SHMEM_CMP_LE)", routine, cmp);
}
_Static_assert(SHMEM_CMP_EQ == 1 && SHMEM_CMP_LE == 6, "check_cmp() and HOLDS() know six in a row");

#define HOLDS(v, cmp, c)									\
	((cmp) == SHMEM_CMP_EQ ? (v) == (c) : (cmp) == SHMEM_CMP_NE ? (v) != (c) :		\
	 (cmp) == SHMEM_CMP_GT ? (v) > (c) : (cmp) == SHMEM_CMP_GE ? (v) >= (c) :		\
	 (cmp) == SHMEM_CMP_LT ? (v) < (c) : (v) <= (c))

/* A variable that no other PE can write will not change: SHMEM_DEBUG says so. */
static inline void check(const char *routine, const void *ivars, size_t n, int cmp)
{
	check_cmp(routine, cmp);
	if (__builtin_expect(shmemi.debug, 0) && n)
		shmemi_check(routine, ivars, n, ivars, 0, shmemi.pe);
}

#define ONE(N, T)										\
	static inline T until_##N(const char *routine, T *ivar, int cmp, T value)		\
	{											\
		struct shmemi_wait w = { 0 };							\
		T v;										\
												\
		check(routine, ivar, sizeof(T), cmp);						\
		for (int i = 0; i < LOOKS; i++) {						\
			v = __atomic_load_n(ivar, __ATOMIC_ACQUIRE);				\
			if (HOLDS(v, cmp, value))						\
				return v;							\
		}										\
		for (;;) {									\
			v = __atomic_load_n(ivar, __ATOMIC_ACQUIRE);				\
			if (HOLDS(v, cmp, value))						\
				return v;							\
			shmemi_wait_step(&w);							\
		}										\
	}											\
	void pshmem_##N##_wait_until(T *ivar, int cmp, T value)					\
	{											\
		until_##N("shmem_" #N "_wait_until", ivar, cmp, value);				\
	}											\
	SHMEMI_ALIAS(N##_wait_until);								\
	int pshmem_##N##_test(T *ivar, int cmp, T value)					\
	{											\
		T v;										\
												\
		check("shmem_" #N "_test", ivar, sizeof(T), cmp);				\
		v = __atomic_load_n(ivar, __ATOMIC_ACQUIRE);					\
		if (HOLDS(v, cmp, value))							\
			return 1;								\
		shmemi_looked();								\
		return 0;									\
	}											\
	SHMEMI_ALIAS(N##_test);
SHMEMI_TYPES_P2P(ONE)

/*
 * Several. @V: nothing, or _vector; @C: the parameter with what is compared, and @at that of element i. look_any: the
 * index of one that holds, n if none does, n + 1 if none is to be looked at. look_some: how many hold, with the number
 * to be looked at in *left.
 */
#define SEVERAL(N, T, V, C, at)									\
	static inline bool held_##N##V(T *ivars, size_t i, int cmp, C)				\
	{											\
		T v = __atomic_load_n(&ivars[i], __ATOMIC_ACQUIRE);				\
												\
		return HOLDS(v, cmp, at);							\
	}											\
	static size_t look_any_##N##V(T *ivars, size_t n, const int *status, int cmp, C)	\
	{											\
		size_t none = n + 1, i = n ? begin(n) : 0;					\
												\
		for (size_t k = 0; k < n; k++, i = i + 1 == n ? 0 : i + 1) {			\
			if (status && status[i])						\
				continue;							\
			if (held_##N##V(ivars, i, cmp, c))					\
				return i;							\
			none = n;								\
		}										\
		return none;									\
	}											\
	static size_t look_some_##N##V(T *ivars, size_t n, size_t *indices, const int *status, int cmp, C, \
				       size_t *left)						\
	{											\
		size_t found = 0;								\
												\
		*left = 0;									\
		for (size_t i = 0; i < n; i++) {						\
			if (status && status[i])						\
				continue;							\
			++*left;								\
			if (held_##N##V(ivars, i, cmp, c))					\
				indices[found++] = i;						\
		}										\
		return found;									\
	}											\
	void pshmem_##N##_wait_until_all##V(T *ivars, size_t n, const int *status, int cmp, C)	\
	{											\
		check("shmem_" #N "_wait_until_all" #V, ivars, n * sizeof(T), cmp);		\
		for (size_t i = 0; i < n; i++) {						\
			struct shmemi_wait w = { 0 };						\
												\
			if (status && status[i])						\
				continue;							\
			while (!held_##N##V(ivars, i, cmp, c))					\
				shmemi_wait_step(&w);						\
		}										\
	}											\
	SHMEMI_ALIAS(N##_wait_until_all##V);							\
	size_t pshmem_##N##_wait_until_any##V(T *ivars, size_t n, const int *status, int cmp, C) \
	{											\
		struct shmemi_wait w = { 0 };							\
		size_t i;									\
												\
		check("shmem_" #N "_wait_until_any" #V, ivars, n * sizeof(T), cmp);		\
		while ((i = look_any_##N##V(ivars, n, status, cmp, c)) == n)			\
			shmemi_wait_step(&w);							\
		return i < n ? i : SIZE_MAX;							\
	}											\
	SHMEMI_ALIAS(N##_wait_until_any##V);							\
	size_t pshmem_##N##_wait_until_some##V(T *ivars, size_t n, size_t *indices, const int *status, int cmp, C) \
	{											\
		struct shmemi_wait w = { 0 };							\
		size_t found, left;								\
												\
		check("shmem_" #N "_wait_until_some" #V, ivars, n * sizeof(T), cmp);		\
		while (!(found = look_some_##N##V(ivars, n, indices, status, cmp, c, &left)) && left) \
			shmemi_wait_step(&w);							\
		return found;									\
	}											\
	SHMEMI_ALIAS(N##_wait_until_some##V);							\
	int pshmem_##N##_test_all##V(T *ivars, size_t n, const int *status, int cmp, C)		\
	{											\
		check("shmem_" #N "_test_all" #V, ivars, n * sizeof(T), cmp);			\
		for (size_t i = 0; i < n; i++)							\
			if (!(status && status[i]) && !held_##N##V(ivars, i, cmp, c)) {		\
				shmemi_looked();						\
				return 0;							\
			}									\
		return 1;									\
	}											\
	SHMEMI_ALIAS(N##_test_all##V);								\
	size_t pshmem_##N##_test_any##V(T *ivars, size_t n, const int *status, int cmp, C)	\
	{											\
		size_t i;									\
												\
		check("shmem_" #N "_test_any" #V, ivars, n * sizeof(T), cmp);			\
		i = look_any_##N##V(ivars, n, status, cmp, c);					\
		if (i < n)									\
			return i;								\
		shmemi_looked();								\
		return SIZE_MAX;								\
	}											\
	SHMEMI_ALIAS(N##_test_any##V);								\
	size_t pshmem_##N##_test_some##V(T *ivars, size_t n, size_t *indices, const int *status, int cmp, C) \
	{											\
		size_t left, found;								\
												\
		check("shmem_" #N "_test_some" #V, ivars, n * sizeof(T), cmp);			\
		found = look_some_##N##V(ivars, n, indices, status, cmp, c, &left);		\
		if (!found)									\
			shmemi_looked();							\
		return found;									\
	}											\
	SHMEMI_ALIAS(N##_test_some##V);
#define ONE_VALUE(N, T) SEVERAL(N, T, , T c, c)
#define VALUES(N, T) SEVERAL(N, T, _vector, const T *c, c[i])
SHMEMI_TYPES_AMO(ONE_VALUE)
SHMEMI_TYPES_AMO(VALUES)

uint64_t pshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
	return until_uint64("shmem_signal_wait_until", sig_addr, cmp, cmp_value);
}
SHMEMI_ALIAS(signal_wait_until);

/* Deprecated: while it is equal. */
#define WAIT(N, T)										\
	void pshmem_##N##_wait(T *ivar, T value)						\
	{											\
		until_##N("shmem_" #N "_wait", ivar, SHMEM_CMP_NE, value);			\
	}											\
	SHMEMI_ALIAS(N##_wait);
SHMEMI_TYPES_WAIT(WAIT)

void pshmem_wait(long *ivar, long value)
{
	until_long("shmem_wait", ivar, SHMEM_CMP_NE, value);
}
SHMEMI_ALIAS(wait);

void pshmem_wait_until(long *ivar, int cmp, long value)
{
	until_long("shmem_wait_until", ivar, cmp, value);
}
SHMEMI_ALIAS(wait_until);

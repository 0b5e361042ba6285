/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * legacy.c - what is older than OpenSHMEM (T3E, XT, MPT), and the extensions of Cray's OpenSHMEMX, by today's routines
 *
 * Copies and atomic operations are those of rma.c and amo.c; only the indexed forms, 16-bit atomics and masked swap
 * reach for the other PE's memory here. A program that begins with start_pes() has no end of its own: at_exit() makes
 * one, on the ways out on which all PEs can be expected to come by.
 */
#define _GNU_SOURCE
#include <mpp/pshmem.h>
#include <pshmemx.h>
#include <stdlib.h>
#include <string.h>

#include "amo.h"
#include "rma.h"

/* Names without the prefix: pX is the routine, X the weak name. */
#define OLD_ALIAS(name) extern __typeof__(p##name) name __attribute__((weak, alias("p" #name)))

/* ---- start, end, who ---- */

/*
 * exit() and the return from main(). A PE that fails does not wait for the others, which may not come: they see that it
 * has ended. shmem_global_exit() has nobody wait.
 */
static void at_exit(int status, void *arg)
{
	while (!status && shmemi.inits && !shmemi.leaving)
		pshmem_finalize();
}

void pstart_pes(int npes)
{
	static bool begun;

	if (begun)
		return;
	begun = true;
	if (!shmemi.inits)
		pshmem_init();
	on_exit(at_exit, NULL);		/* behind init, so that it comes before what the layers below do at exit */
}
OLD_ALIAS(start_pes);

int p_my_pe(void)
{
	return shmemi.pe;
}
OLD_ALIAS(_my_pe);

int p_num_pes(void)
{
	return shmemi.n_pes;
}
OLD_ALIAS(_num_pes);

int pmy_pe(void)
{
	return shmemi.pe;
}
OLD_ALIAS(my_pe);

int pnum_pes(void)
{
	return shmemi.n_pes;
}
OLD_ALIAS(num_pes);

void pbarrier(void)
{
	pshmem_barrier_all();
}
OLD_ALIAS(barrier);

void pglobalexit(int status)
{
	pshmem_global_exit(status);
}
OLD_ALIAS(globalexit);

int pshmemx_init_thread(int level)
{
	int provided;

	return pshmem_init_thread(level, &provided) ? -1 : provided;
}
SHMEMI_X_ALIAS(init_thread);

int pshmemx_query_thread(void)
{
	int provided;

	pshmem_query_thread(&provided);
	return provided;
}
SHMEMI_X_ALIAS(query_thread);

void pshmemx_thread_register(void)
{
}
SHMEMI_X_ALIAS(thread_register);

void pshmemx_thread_unregister(void)
{
	pshmem_quiet();
}
SHMEMI_X_ALIAS(thread_unregister);

void pshmemx_thread_fence(void)
{
	pshmem_fence();
}
SHMEMI_X_ALIAS(thread_fence);

void pshmemx_thread_quiet(void)
{
	pshmem_quiet();
}
SHMEMI_X_ALIAS(thread_quiet);

void pshmemx_local_complete(void)
{
	pshmem_quiet();			/* which is more */
}
SHMEMI_X_ALIAS(local_complete);

void pshmemx_pe_quiet(int pe)
{
	if ((unsigned)pe >= (unsigned)shmemi.n_pes)
		shmemi_bad_pe("shmemx_pe_quiet", pe);
	pshmem_quiet();
}
SHMEMI_X_ALIAS(pe_quiet);

/* ---- heap ---- */

void *pshmalloc(size_t size)
{
	return pshmem_malloc(size);
}
OLD_ALIAS(shmalloc);

void pshfree(void *ptr)
{
	if (ptr)
		pshmem_free(ptr);
	else
		pshmem_barrier_all();
}
OLD_ALIAS(shfree);

void *pshrealloc(void *ptr, size_t size)
{
	return pshmem_realloc(ptr, size);
}
OLD_ALIAS(shrealloc);

void *pshmemalign(size_t alignment, size_t size)
{
	return pshmem_align(alignment, size);
}
OLD_ALIAS(shmemalign);

/* ---- elements of 64 bits ---- */

void pshmem_put(void *dest, const void *source, size_t n, int pe)
{
	pshmem_put64(dest, source, n, pe);
}
SHMEMI_ALIAS(put);

void pshmem_get(void *dest, const void *source, size_t n, int pe)
{
	pshmem_get64(dest, source, n, pe);
}
SHMEMI_ALIAS(get);

void pshmem_iput(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)
{
	pshmem_iput64(dest, source, dst, sst, n, pe);
}
SHMEMI_ALIAS(iput);

void pshmem_iget(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)
{
	pshmem_iget64(dest, source, dst, sst, n, pe);
}
SHMEMI_ALIAS(iget);

long pshmem_swap(long *dest, long value, int pe)
{
	return pshmem_long_atomic_swap(dest, value, pe);
}
SHMEMI_ALIAS(swap);

/* ---- indexed ---- */

/* @index: of long long where @wide, of int otherwise. @size is a constant at each caller, so a copy is one move. */
static inline __attribute__((always_inline)) void ixput(const char *routine, char *dest, const char *source,
							 const void *index, bool wide, int n, size_t size, int pe)
{
	for (int i = 0; i < n; i++) {
		long long at = wide ? ((const long long *)index)[i] : ((const int *)index)[i];
		char *sym = dest + at * (long long)size;
		char *d = shmemi_at_own(routine, sym, source + (size_t)i * size, size, pe);

		if (__builtin_expect(d != NULL, 1))
			memcpy(d, source + (size_t)i * size, size);
		else
			shmemi_far_put(routine, sym, source + (size_t)i * size, size, pe);
	}
}

static inline __attribute__((always_inline)) void ixget(const char *routine, char *dest, const char *source,
							 const void *index, bool wide, int n, size_t size, int pe)
{
	for (int i = 0; i < n; i++) {
		long long at = wide ? ((const long long *)index)[i] : ((const int *)index)[i];
		const char *sym = source + at * (long long)size;
		const char *s = shmemi_at_own(routine, sym, dest + (size_t)i * size, size, pe);

		if (__builtin_expect(s != NULL, 1))
			memcpy(dest + (size_t)i * size, s, size);
		else
			shmemi_far_get(routine, dest + (size_t)i * size, sym, size, pe);
	}
}

#define INDEXED(NPUT, NGET, T, I, SIZE)								\
	void pshmem_##NPUT(T *dest, const T *source, const I *index, int n, int pe)		\
	{											\
		ixput("shmem_" #NPUT, (char *)dest, (const char *)source, index, sizeof(I) == 8, n, SIZE, pe);	\
	}											\
	SHMEMI_ALIAS(NPUT);									\
	void pshmem_##NGET(T *dest, const T *source, const I *index, int n, int pe)		\
	{											\
		ixget("shmem_" #NGET, (char *)dest, (const char *)source, index, sizeof(I) == 8, n, SIZE, pe);	\
	}											\
	SHMEMI_ALIAS(NGET);
INDEXED(ixput, ixget, void, long long, 8)
INDEXED(ixput32, ixget32, void, int, 4)
INDEXED(ixput64, ixget64, void, int, 8)
INDEXED(ixput128, ixget128, void, int, 16)
#define INDEXED_TYPE(N, T) INDEXED(N##_ixput, N##_ixget, T, int, sizeof(T))
SHMEMI_TYPES_IX(INDEXED_TYPE)

/* ---- nonblocking, with a handle or by another name ---- */

#define NB(NAME, OF, T)										\
	void pshmem_##NAME(T *dest, const T *source, size_t n, int pe, void **handle)		\
	{											\
		pshmem_##OF(dest, source, n, pe);						\
		if (handle)									\
			*handle = NULL;								\
	}											\
	SHMEMI_ALIAS(NAME);
NB(put16_nb, put16_nbi, void)
NB(put32_nb, put32_nbi, void)
NB(put64_nb, put64_nbi, void)
NB(put128_nb, put128_nbi, void)
NB(putmem_nb, putmem_nbi, void)

/* A put and a value for a word there, by Cray's names; whether the put is waited for is the other routine's affair. */
#define SIGNAL(NAME, OF, T)									\
	void pshmemx_##NAME(T *dest, const T *source, size_t n, uint64_t *sig_addr, uint64_t signal, int pe)	\
	{											\
		pshmem_##OF(dest, source, n, sig_addr, signal, SHMEM_SIGNAL_SET, pe);		\
	}											\
	SHMEMI_X_ALIAS(NAME);
#define SIGNALS(NAME, T) SIGNAL(NAME, NAME, T) SIGNAL(NAME##_nb, NAME##_nbi, T)
SIGNALS(put8_signal, void)
SIGNALS(put16_signal, void)
SIGNALS(put32_signal, void)
SIGNALS(put64_signal, void)
SIGNALS(put128_signal, void)
SIGNALS(putmem_signal, void)

#define NB_TYPE(N, T)										\
	NB(N##_put_nb, N##_put_nbi, T)								\
	void pshmemx_##N##_put_nb(T *dest, const T *source, size_t n, int pe)			\
	{											\
		pshmem_##N##_put_nbi(dest, source, n, pe);					\
	}											\
	SHMEMI_X_ALIAS(N##_put_nb);								\
	void pshmemx_##N##_get_nb(T *dest, const T *source, size_t n, int pe)			\
	{											\
		pshmem_##N##_get_nbi(dest, source, n, pe);					\
	}											\
	SHMEMI_X_ALIAS(N##_get_nb);								\
	SIGNALS(N##_put_signal, T)
SHMEMI_TYPES_RMA(NB_TYPE)

/* ---- atomic operations ---- */

#define MSWAP(NAME, T, U)									\
	T pshmem_##NAME(T *dest, T mask, T value, int pe)					\
	{											\
		T *p = shmemi_amo_at("shmem_" #NAME, dest, sizeof(T), pe), old, new;			\
												\
		if (__builtin_expect(!p, 0))							\
			return (T)shmemi_far_amo("shmem_" #NAME, SHMEMI_AMO_MSWAP, dest, sizeof(T), (U)value, \
						 (U)mask, pe);					\
		old = __atomic_load_n(p, __ATOMIC_RELAXED);					\
		do										\
			new = (T)(((U)old & ~(U)mask) | ((U)value & (U)mask));			\
		while (!__atomic_compare_exchange_n(p, &old, new, 1, SHMEMI_AMO_ORDER, __ATOMIC_RELAXED));	\
		return old;									\
	}											\
	SHMEMI_ALIAS(NAME);
MSWAP(int_mswap, int, unsigned int)
MSWAP(long_mswap, long, unsigned long)
MSWAP(short_mswap, short, unsigned short)
MSWAP(mswap, long, unsigned long)

/* The same routine by the name of the extension. */
#define ALSO_X(name)										\
	extern __typeof__(pshmemx_##name) pshmemx_##name __attribute__((alias("pshmem_" #name)));	\
	SHMEMI_X_ALIAS(name)

static uint64_t far_short(const char *routine, enum shmemi_amo op, short *dest, short value, short cond, int pe)
{
	return shmemi_far_amo(routine, op, dest, sizeof(*dest), (unsigned short)value, (unsigned short)cond, pe);
}

short pshmem_short_swap(short *dest, short value, int pe)
{
	short *p = shmemi_amo_at("shmem_short_swap", dest, sizeof(*p), pe);

	if (__builtin_expect(!p, 0))
		return (short)far_short("shmem_short_swap", SHMEMI_AMO_SWAP, dest, value, 0, pe);
	return __atomic_exchange_n(p, value, SHMEMI_AMO_ORDER);
}
SHMEMI_ALIAS(short_swap);
ALSO_X(short_swap);

short pshmem_short_cswap(short *dest, short cond, short value, int pe)
{
	short *p = shmemi_amo_at("shmem_short_cswap", dest, sizeof(*p), pe);

	if (__builtin_expect(!p, 0))
		return (short)far_short("shmem_short_cswap", SHMEMI_AMO_CSWAP, dest, value, cond, pe);
	__atomic_compare_exchange_n(p, &cond, value, 0, SHMEMI_AMO_ORDER, __ATOMIC_ACQUIRE);
	return cond;
}
SHMEMI_ALIAS(short_cswap);
ALSO_X(short_cswap);

static inline short fadd(const char *routine, short *dest, short value, int pe)
{
	short *p = shmemi_amo_at(routine, dest, sizeof(*p), pe);

	if (__builtin_expect(!p, 0))
		return (short)far_short(routine, SHMEMI_AMO_ADD, dest, value, 0, pe);
	return __atomic_fetch_add(p, value, SHMEMI_AMO_ORDER);
}

short pshmem_short_fadd(short *dest, short value, int pe)
{
	return fadd("shmem_short_fadd", dest, value, pe);
}
SHMEMI_ALIAS(short_fadd);
ALSO_X(short_fadd);

short pshmem_short_finc(short *dest, int pe)
{
	return fadd("shmem_short_finc", dest, 1, pe);
}
SHMEMI_ALIAS(short_finc);
ALSO_X(short_finc);

void pshmem_short_add(short *dest, short value, int pe)
{
	fadd("shmem_short_add", dest, value, pe);
}
SHMEMI_ALIAS(short_add);
ALSO_X(short_add);

void pshmem_short_inc(short *dest, int pe)
{
	fadd("shmem_short_inc", dest, 1, pe);
}
SHMEMI_ALIAS(short_inc);
ALSO_X(short_inc);

/* ---- atomic operations with a handle: behind the next quiet ---- */

static inline void no_handle(void **handle)
{
	if (handle)
		*handle = NULL;
}

/* Those of 16 bits have no nonblocking forms. */
static inline void short_fetch_add_nbi(short *fetch, short *dest, short value, int pe)
{
	*fetch = pshmem_short_fadd(dest, value, pe);
}

static inline void short_fetch_inc_nbi(short *fetch, short *dest, int pe)
{
	*fetch = pshmem_short_finc(dest, pe);
}

static inline void short_swap_nbi(short *fetch, short *dest, short value, int pe)
{
	*fetch = pshmem_short_swap(dest, value, pe);
}

static inline void short_compare_swap_nbi(short *fetch, short *dest, short cond, short value, int pe)
{
	*fetch = pshmem_short_cswap(dest, cond, value, pe);
}

/* P and ALIAS: which prefix; ADD, INC, NBI: how the routines are called that do it. */
#define AMO_SWAP_NB(P, ALIAS, N, T, NBI)							\
	void P##N##_swap_nb(T *fetch, T *dest, T value, int pe, void **handle)			\
	{											\
		NBI##swap_nbi(fetch, dest, value, pe);						\
		no_handle(handle);								\
	}											\
	ALIAS(N##_swap_nb);
#define AMO_NB(P, ALIAS, N, T, ADD, INC, NBI)							\
	void P##N##_add_nb(T *dest, T value, int pe, void **handle)				\
	{											\
		ADD(dest, value, pe);								\
		no_handle(handle);								\
	}											\
	ALIAS(N##_add_nb);									\
	void P##N##_inc_nb(T *dest, int pe, void **handle)					\
	{											\
		INC(dest, pe);									\
		no_handle(handle);								\
	}											\
	ALIAS(N##_inc_nb);									\
	void P##N##_fadd_nb(T *fetch, T *dest, T value, int pe, void **handle)			\
	{											\
		NBI##fetch_add_nbi(fetch, dest, value, pe);					\
		no_handle(handle);								\
	}											\
	ALIAS(N##_fadd_nb);									\
	void P##N##_finc_nb(T *fetch, T *dest, int pe, void **handle)				\
	{											\
		NBI##fetch_inc_nbi(fetch, dest, pe);						\
		no_handle(handle);								\
	}											\
	ALIAS(N##_finc_nb);									\
	void P##N##_cswap_nb(T *fetch, T *dest, T cond, T value, int pe, void **handle)		\
	{											\
		NBI##compare_swap_nbi(fetch, dest, cond, value, pe);				\
		no_handle(handle);								\
	}											\
	ALIAS(N##_cswap_nb);									\
	AMO_SWAP_NB(P, ALIAS, N, T, NBI)
#define AMO_NB_X(N, T)										\
	AMO_NB(pshmemx_, SHMEMI_X_ALIAS, N, T, pshmem_##N##_atomic_add, pshmem_##N##_atomic_inc, pshmem_##N##_atomic_)
#define AMO_NB_OLD(N, T)									\
	AMO_NB(pshmem_, SHMEMI_ALIAS, N, T, pshmem_##N##_atomic_add, pshmem_##N##_atomic_inc, pshmem_##N##_atomic_)
SHMEMI_TYPES_AMO(AMO_NB_X)
AMO_NB(pshmemx_, SHMEMI_X_ALIAS, short, short, pshmem_short_add, pshmem_short_inc, short_)
SHMEMI_TYPES_OLD(AMO_NB_OLD)
AMO_NB(pshmem_, SHMEMI_ALIAS, short, short, pshmem_short_add, pshmem_short_inc, short_)
AMO_SWAP_NB(pshmemx_, SHMEMI_X_ALIAS, float, float, pshmem_float_atomic_)
AMO_SWAP_NB(pshmemx_, SHMEMI_X_ALIAS, double, double, pshmem_double_atomic_)
AMO_SWAP_NB(pshmem_, SHMEMI_ALIAS, float, float, pshmem_float_atomic_)
AMO_SWAP_NB(pshmem_, SHMEMI_ALIAS, double, double, pshmem_double_atomic_)

/* ---- signals and sessions, by Cray's names ---- */

void pshmemx_signal_set(uint64_t *sig_addr, uint64_t signal, int pe)
{
	pshmem_signal_set(sig_addr, signal, pe);
}
SHMEMI_X_ALIAS(signal_set);

void pshmemx_ctx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
	pshmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}
SHMEMI_X_ALIAS(ctx_signal_set);

void pshmemx_session_start(shmem_ctx_t ctx, long options)
{
	pshmem_ctx_session_start(ctx, options, NULL, 0);
}
SHMEMI_X_ALIAS(session_start);

void pshmemx_session_stop(shmem_ctx_t ctx)
{
	pshmem_ctx_session_stop(ctx);
}
SHMEMI_X_ALIAS(session_stop);

/* ---- events: the variable of PE 0 stands for all ---- */

void pshmem_set_event(long *event)
{
	pshmem_quiet();
	pshmem_long_atomic_set(event, 1, 0);
}
SHMEMI_ALIAS(set_event);

void pshmem_clear_event(long *event)
{
	pshmem_long_atomic_set(event, 0, 0);
}
SHMEMI_ALIAS(clear_event);

int pshmem_test_event(long *event)
{
	if (pshmem_long_atomic_fetch(event, 0))
		return 1;
	shmemi_looked();
	return 0;
}
SHMEMI_ALIAS(test_event);

void pshmem_wait_event(long *event)
{
	struct shmemi_wait w = { 0 };

	while (!pshmem_long_atomic_fetch(event, 0))
		shmemi_wait_step(&w);
}
SHMEMI_ALIAS(wait_event);

/* ---- caches: coherent ---- */

#define NOTHING(name)			\
	void pshmem_##name(void)	\
	{				\
	}				\
	SHMEMI_ALIAS(name);
#define NOTHING_AT(name)		\
	void pshmem_##name(void *dest)	\
	{				\
	}				\
	SHMEMI_ALIAS(name);
NOTHING(set_cache_inv)
NOTHING(clear_cache_inv)
NOTHING(udcflush)
NOTHING_AT(set_cache_line_inv)
NOTHING_AT(clear_cache_line_inv)
NOTHING_AT(udcflush_line)

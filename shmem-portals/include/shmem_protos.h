/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_protos.h - the routines, once for the prefix shmem_ (<shmem.h>) and once for pshmem_ (<pshmem.h>)
 *
 * Not for inclusion by programs; hence no guard. SHMEMI_(name) is the full name.
 */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/*
 * Start and end. init and finalize are collective and may be repeated, each init with its finalize; the last finalize
 * is a barrier and gives everything back. init_thread returns 0, or not when SHMEM_SYMMETRIC_SIZE makes no sense; the
 * level provided is always SHMEM_THREAD_MULTIPLE. global_exit ends all PEs; any PE may call it.
 */
void SHMEMI_(init)(void);
int SHMEMI_(init_thread)(int requested, int *provided);
void SHMEMI_(query_thread)(int *provided);
void SHMEMI_(query_initialized)(int *initialized);
void SHMEMI_(finalize)(void);
void SHMEMI_(global_exit)(int status) __attribute__((noreturn));

/* Who, and what can be reached. ptr: NULL when plain loads and stores do not reach it; not a symmetric address. */
int SHMEMI_(my_pe)(void);
int SHMEMI_(n_pes)(void);
int SHMEMI_(pe_accessible)(int pe);
int SHMEMI_(addr_accessible)(const void *addr, int pe);
void *SHMEMI_(ptr)(const void *dest, int pe);
void SHMEMI_(info_get_version)(int *major, int *minor);
void SHMEMI_(info_get_name)(char *name);

/*
 * Symmetric heap; collective with the same arguments on all PEs, which is checked. Allocation ends with a barrier,
 * free begins with one. Size 0 gives NULL without a barrier; so does want of space, on all PEs. Blocks from malloc are
 * aligned to 64 bytes.
 */
void *SHMEMI_(malloc)(size_t size);
void *SHMEMI_(calloc)(size_t count, size_t size);
void *SHMEMI_(align)(size_t alignment, size_t size);
void *SHMEMI_(realloc)(void *ptr, size_t size);
void SHMEMI_(free)(void *ptr);

/*
 * Order and completion. fence: what was stored to a PE before is seen there before what is stored later; quiet: it is
 * seen by all. Stores are direct, so both are one instruction or none. sync_all waits for all PEs; barrier_all, too,
 * with a quiet before.
 */
void SHMEMI_(fence)(void);
void SHMEMI_(quiet)(void);
void SHMEMI_(barrier_all)(void);
void SHMEMI_(sync_all)(void);

/* Copies of nelems elements: to PE @pe, from it. A put may be reused, a get be read, when the call returns. */
void SHMEMI_(putmem)(void *dest, const void *source, size_t nelems, int pe);
void SHMEMI_(getmem)(void *dest, const void *source, size_t nelems, int pe);
void SHMEMI_(putmem_nbi)(void *dest, const void *source, size_t nelems, int pe);
void SHMEMI_(getmem_nbi)(void *dest, const void *source, size_t nelems, int pe);

#define SHMEMI_RMA_SIZE(S)									\
	void SHMEMI_(put##S)(void *dest, const void *source, size_t nelems, int pe);		\
	void SHMEMI_(get##S)(void *dest, const void *source, size_t nelems, int pe);		\
	void SHMEMI_(put##S##_nbi)(void *dest, const void *source, size_t nelems, int pe);	\
	void SHMEMI_(get##S##_nbi)(void *dest, const void *source, size_t nelems, int pe);	\
	void SHMEMI_(iput##S)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe); \
	void SHMEMI_(iget##S)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEMI_RMA_SIZE(8)
SHMEMI_RMA_SIZE(16)
SHMEMI_RMA_SIZE(32)
SHMEMI_RMA_SIZE(64)
SHMEMI_RMA_SIZE(128)
#undef SHMEMI_RMA_SIZE

#define SHMEMI_RMA(N, T)									\
	void SHMEMI_(N##_put)(T *dest, const T *source, size_t nelems, int pe);			\
	void SHMEMI_(N##_get)(T *dest, const T *source, size_t nelems, int pe);			\
	void SHMEMI_(N##_put_nbi)(T *dest, const T *source, size_t nelems, int pe);		\
	void SHMEMI_(N##_get_nbi)(T *dest, const T *source, size_t nelems, int pe);		\
	void SHMEMI_(N##_iput)(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe); \
	void SHMEMI_(N##_iget)(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe); \
	void SHMEMI_(N##_p)(T *dest, T value, int pe);						\
	T SHMEMI_(N##_g)(const T *source, int pe);
SHMEMI_TYPES_RMA(SHMEMI_RMA)
#undef SHMEMI_RMA

/* Atomic operations of the processor on the PE's memory; of any PE with any other. */
#define SHMEMI_AMO(N, T)									\
	T SHMEMI_(N##_atomic_compare_swap)(T *dest, T cond, T value, int pe);			\
	T SHMEMI_(N##_atomic_fetch_inc)(T *dest, int pe);					\
	void SHMEMI_(N##_atomic_inc)(T *dest, int pe);						\
	T SHMEMI_(N##_atomic_fetch_add)(T *dest, T value, int pe);				\
	void SHMEMI_(N##_atomic_add)(T *dest, T value, int pe);
SHMEMI_TYPES_AMO(SHMEMI_AMO)
#undef SHMEMI_AMO

#define SHMEMI_AMO_EXT(N, T)									\
	T SHMEMI_(N##_atomic_fetch)(const T *source, int pe);					\
	void SHMEMI_(N##_atomic_set)(T *dest, T value, int pe);					\
	T SHMEMI_(N##_atomic_swap)(T *dest, T value, int pe);
SHMEMI_TYPES_AMO_EXT(SHMEMI_AMO_EXT)
#undef SHMEMI_AMO_EXT

#define SHMEMI_AMO_BIT(N, T)									\
	T SHMEMI_(N##_atomic_fetch_and)(T *dest, T value, int pe);				\
	T SHMEMI_(N##_atomic_fetch_or)(T *dest, T value, int pe);				\
	T SHMEMI_(N##_atomic_fetch_xor)(T *dest, T value, int pe);				\
	void SHMEMI_(N##_atomic_and)(T *dest, T value, int pe);					\
	void SHMEMI_(N##_atomic_or)(T *dest, T value, int pe);					\
	void SHMEMI_(N##_atomic_xor)(T *dest, T value, int pe);
SHMEMI_TYPES_AMO_BIT(SHMEMI_AMO_BIT)
#undef SHMEMI_AMO_BIT

/* Wait for, or look at, an own variable that others write: by p, put of one element, an atomic, or a store. */
#define SHMEMI_P2P(N, T)									\
	void SHMEMI_(N##_wait_until)(T *ivar, int cmp, T cmp_value);				\
	int SHMEMI_(N##_test)(T *ivar, int cmp, T cmp_value);
SHMEMI_TYPES_AMO(SHMEMI_P2P)
#undef SHMEMI_P2P

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

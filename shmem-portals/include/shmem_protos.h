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
 * aligned to 64 bytes. Hints are taken and change nothing. realloc keeps no alignment beyond these 64 bytes; when it
 * gives NULL the old block stays as it is.
 */
void *SHMEMI_(malloc)(size_t size);
void *SHMEMI_(malloc_with_hints)(size_t size, long hints);
void *SHMEMI_(calloc)(size_t count, size_t size);
void *SHMEMI_(align)(size_t alignment, size_t size);
void *SHMEMI_(realloc)(void *ptr, size_t size);
void SHMEMI_(free)(void *ptr);

/*
 * Order and completion. fence: what was stored to a PE before is seen there before what is stored later; quiet: it is
 * seen by all. Stores are direct, so on a node both are one instruction or none. sync_all waits for all PEs;
 * barrier_all, too, with a quiet before.
 */
void SHMEMI_(fence)(void);
void SHMEMI_(quiet)(void);
void SHMEMI_(pe_quiet)(const int *target_pes, size_t npes);
void SHMEMI_(barrier_all)(void);
void SHMEMI_(sync_all)(void);

/*
 * Contexts: order and completion of one's own, and PEs numbered as in a team. create returns 0, or not when there is no
 * memory; the handle is SHMEM_CTX_INVALID then. destroy is a quiet; of SHMEM_CTX_INVALID nothing. get_team gives the
 * team that the context was made from. A session is a hint.
 */
int SHMEMI_(ctx_create)(long options, shmem_ctx_t *ctx);
int SHMEMI_(team_create_ctx)(shmem_team_t team, long options, shmem_ctx_t *ctx);
void SHMEMI_(ctx_destroy)(shmem_ctx_t ctx);
int SHMEMI_(ctx_get_team)(shmem_ctx_t ctx, shmem_team_t *team);
void SHMEMI_(ctx_fence)(shmem_ctx_t ctx);
void SHMEMI_(ctx_quiet)(shmem_ctx_t ctx);
void SHMEMI_(ctx_pe_quiet)(shmem_ctx_t ctx, const int *target_pes, size_t npes);
void SHMEMI_(ctx_session_start)(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config,
				long config_mask);
void SHMEMI_(ctx_session_stop)(shmem_ctx_t ctx);

/*
 * Locks: a symmetric long, zero on all PEs at first, and opaque. First come, first served; not to be set again by
 * whoever holds it. clear is a quiet before. test_lock does not wait: 0, it is set now; 1, somebody has it.
 */
void SHMEMI_(set_lock)(long *lock);
void SHMEMI_(clear_lock)(long *lock);
int SHMEMI_(test_lock)(long *lock);

/* For tools that define their own; here it does nothing. */
void SHMEMI_(pcontrol)(int level, ...);

/* A routine in both forms: plain, and with a context in front. */
#define SHMEMI_BOTH(R, name, ...)								\
	R SHMEMI_(name)(__VA_ARGS__);								\
	R SHMEMI_(ctx_##name)(shmem_ctx_t ctx, __VA_ARGS__);

/*
 * Copies of nelems elements: to PE @pe, from it. A put may be reused, a get be read, when the call returns; with _nbi
 * after a quiet. put_signal makes the data seen before it sets the signal, or adds to it.
 */
#define SHMEMI_COPIES(PUT, GET, SIG, SIG_NBI, T)						\
	SHMEMI_BOTH(void, PUT, T *dest, const T *source, size_t nelems, int pe)			\
	SHMEMI_BOTH(void, GET, T *dest, const T *source, size_t nelems, int pe)			\
	SHMEMI_BOTH(void, PUT##_nbi, T *dest, const T *source, size_t nelems, int pe)		\
	SHMEMI_BOTH(void, GET##_nbi, T *dest, const T *source, size_t nelems, int pe)		\
	SHMEMI_BOTH(void, SIG, T *dest, const T *source, size_t nelems, uint64_t *sig_addr,	\
		    uint64_t signal, int sig_op, int pe)					\
	SHMEMI_BOTH(void, SIG_NBI, T *dest, const T *source, size_t nelems, uint64_t *sig_addr,	\
		    uint64_t signal, int sig_op, int pe)

/*
 * Strided: elements every dst-th at dest, every sst-th at source; ib: nblocks blocks of bsize elements, whose begins
 * lie so far apart.
 */
#define SHMEMI_STRIDED(IPUT, IGET, IBPUT, IBGET, T)						\
	SHMEMI_BOTH(void, IPUT, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,		\
		    size_t nelems, int pe)							\
	SHMEMI_BOTH(void, IGET, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,		\
		    size_t nelems, int pe)							\
	SHMEMI_BOTH(void, IBPUT, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,	\
		    size_t bsize, size_t nblocks, int pe)					\
	SHMEMI_BOTH(void, IBGET, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,	\
		    size_t bsize, size_t nblocks, int pe)

#define SHMEMI_RMA_SIZE(S)									\
	SHMEMI_COPIES(put##S, get##S, put##S##_signal, put##S##_signal_nbi, void)		\
	SHMEMI_STRIDED(iput##S, iget##S, ibput##S, ibget##S, void)
SHMEMI_COPIES(putmem, getmem, putmem_signal, putmem_signal_nbi, void)
SHMEMI_RMA_SIZE(8)
SHMEMI_RMA_SIZE(16)
SHMEMI_RMA_SIZE(32)
SHMEMI_RMA_SIZE(64)
SHMEMI_RMA_SIZE(128)

#define SHMEMI_RMA(N, T)									\
	SHMEMI_COPIES(N##_put, N##_get, N##_put_signal, N##_put_signal_nbi, T)			\
	SHMEMI_STRIDED(N##_iput, N##_iget, N##_ibput, N##_ibget, T)				\
	SHMEMI_BOTH(void, N##_p, T *dest, T value, int pe)					\
	SHMEMI_BOTH(T, N##_g, const T *source, int pe)
SHMEMI_TYPES_RMA(SHMEMI_RMA)

/*
 * Atomic operations of the processor on the PE's memory; of any PE with any other. Those that give the old value return
 * it, or with _nbi put it into *fetch, which may be read after a quiet.
 */
#define SHMEMI_AMO(N, T)									\
	SHMEMI_BOTH(T, N##_atomic_compare_swap, T *dest, T cond, T value, int pe)		\
	SHMEMI_BOTH(T, N##_atomic_fetch_inc, T *dest, int pe)					\
	SHMEMI_BOTH(void, N##_atomic_inc, T *dest, int pe)					\
	SHMEMI_BOTH(T, N##_atomic_fetch_add, T *dest, T value, int pe)				\
	SHMEMI_BOTH(void, N##_atomic_add, T *dest, T value, int pe)				\
	SHMEMI_BOTH(void, N##_atomic_compare_swap_nbi, T *fetch, T *dest, T cond, T value, int pe) \
	SHMEMI_BOTH(void, N##_atomic_fetch_inc_nbi, T *fetch, T *dest, int pe)			\
	SHMEMI_BOTH(void, N##_atomic_fetch_add_nbi, T *fetch, T *dest, T value, int pe)
SHMEMI_TYPES_AMO(SHMEMI_AMO)

#define SHMEMI_AMO_EXT(N, T)									\
	SHMEMI_BOTH(T, N##_atomic_fetch, const T *source, int pe)				\
	SHMEMI_BOTH(void, N##_atomic_set, T *dest, T value, int pe)				\
	SHMEMI_BOTH(T, N##_atomic_swap, T *dest, T value, int pe)				\
	SHMEMI_BOTH(void, N##_atomic_fetch_nbi, T *fetch, const T *source, int pe)		\
	SHMEMI_BOTH(void, N##_atomic_swap_nbi, T *fetch, T *dest, T value, int pe)
SHMEMI_TYPES_AMO_EXT(SHMEMI_AMO_EXT)

#define SHMEMI_AMO_BITWISE(N, T, OP)								\
	SHMEMI_BOTH(T, N##_atomic_fetch_##OP, T *dest, T value, int pe)				\
	SHMEMI_BOTH(void, N##_atomic_##OP, T *dest, T value, int pe)				\
	SHMEMI_BOTH(void, N##_atomic_fetch_##OP##_nbi, T *fetch, T *dest, T value, int pe)
#define SHMEMI_AMO_BIT(N, T)									\
	SHMEMI_AMO_BITWISE(N, T, and) SHMEMI_AMO_BITWISE(N, T, or) SHMEMI_AMO_BITWISE(N, T, xor)
SHMEMI_TYPES_AMO_BIT(SHMEMI_AMO_BIT)

/* Deprecated names of atomic operations. */
#define SHMEMI_OLD(N, T)									\
	T SHMEMI_(N##_cswap)(T *dest, T cond, T value, int pe);					\
	T SHMEMI_(N##_finc)(T *dest, int pe);							\
	void SHMEMI_(N##_inc)(T *dest, int pe);							\
	T SHMEMI_(N##_fadd)(T *dest, T value, int pe);						\
	void SHMEMI_(N##_add)(T *dest, T value, int pe);
SHMEMI_TYPES_OLD(SHMEMI_OLD)

#define SHMEMI_OLD_EXT(N, T)									\
	T SHMEMI_(N##_fetch)(const T *source, int pe);						\
	void SHMEMI_(N##_set)(T *dest, T value, int pe);					\
	T SHMEMI_(N##_swap)(T *dest, T value, int pe);
SHMEMI_TYPES_OLD_EXT(SHMEMI_OLD_EXT)

/* Signals. signal_fetch and signal_wait_until look at the own one; the latter returns what ended the wait. */
SHMEMI_BOTH(void, signal_set, uint64_t *sig_addr, uint64_t signal, int pe)
SHMEMI_BOTH(void, signal_add, uint64_t *sig_addr, uint64_t signal, int pe)
uint64_t SHMEMI_(signal_fetch)(const uint64_t *sig_addr);
uint64_t SHMEMI_(signal_wait_until)(uint64_t *sig_addr, int cmp, uint64_t cmp_value);

/* Wait for, or look at, an own variable that others write: by p, put of one element, an atomic, or a store. */
#define SHMEMI_P2P(N, T)									\
	void SHMEMI_(N##_wait_until)(T *ivar, int cmp, T cmp_value);				\
	int SHMEMI_(N##_test)(T *ivar, int cmp, T cmp_value);
SHMEMI_TYPES_P2P(SHMEMI_P2P)

/*
 * Of nelems variables, those whose status is 0, or all when status is NULL. all: every one has held; any: the index of
 * one that holds, SIZE_MAX if none is to be looked at, or for test_any holds; some: how many hold, their indices in
 * @indices. Each compares with one value, or in the form _vector with one of its own.
 */
#define SHMEMI_P2P_SET(N, T, V, C)								\
	void SHMEMI_(N##_wait_until_all##V)(T *ivars, size_t nelems, const int *status,		\
					    int cmp, C);					\
	size_t SHMEMI_(N##_wait_until_any##V)(T *ivars, size_t nelems, const int *status,	\
					      int cmp, C);					\
	size_t SHMEMI_(N##_wait_until_some##V)(T *ivars, size_t nelems, size_t *indices,	\
					       const int *status, int cmp, C);			\
	int SHMEMI_(N##_test_all##V)(T *ivars, size_t nelems, const int *status, int cmp, C);	\
	size_t SHMEMI_(N##_test_any##V)(T *ivars, size_t nelems, const int *status, int cmp, C);	\
	size_t SHMEMI_(N##_test_some##V)(T *ivars, size_t nelems, size_t *indices,		\
					 const int *status, int cmp, C);
#define SHMEMI_P2P_SETS(N, T)									\
	SHMEMI_P2P_SET(N, T, , T cmp_value) SHMEMI_P2P_SET(N, T, _vector, const T *cmp_values)
SHMEMI_TYPES_AMO(SHMEMI_P2P_SETS)

/* Deprecated: wait while it is cmp_value. */
#define SHMEMI_WAIT(N, T) void SHMEMI_(N##_wait)(T *ivar, T cmp_value);
SHMEMI_TYPES_WAIT(SHMEMI_WAIT)
void SHMEMI_(wait)(long *ivar, long cmp_value);
void SHMEMI_(wait_until)(long *ivar, int cmp, long cmp_value);

#undef SHMEMI_BOTH
#undef SHMEMI_COPIES
#undef SHMEMI_STRIDED
#undef SHMEMI_RMA_SIZE
#undef SHMEMI_RMA
#undef SHMEMI_AMO
#undef SHMEMI_AMO_EXT
#undef SHMEMI_AMO_BITWISE
#undef SHMEMI_AMO_BIT
#undef SHMEMI_OLD
#undef SHMEMI_OLD_EXT
#undef SHMEMI_P2P
#undef SHMEMI_P2P_SET
#undef SHMEMI_P2P_SETS
#undef SHMEMI_WAIT

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

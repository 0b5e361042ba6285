/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_legacy.h - the routines that are older than OpenSHMEM, once for each prefix, as shmem_protos.h has the others
 *
 * Those of Cray's T3E and XT, of SGI's MPT and of the first OpenSHMEM. New programs do not need them. Not for inclusion
 * by programs; hence no guard. SHMEMI_(name) is shmem_name or pshmem_name, SHMEMI_BARE(name) is name or pname.
 */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/*
 * Start without an end: the argument says nothing, the second call does nothing. When the program ends with status 0,
 * by exit() or by returning from main(), its PEs finalize together; with another status each goes by itself.
 */
void SHMEMI_BARE(start_pes)(int npes);
int SHMEMI_BARE(_my_pe)(void);
int SHMEMI_BARE(_num_pes)(void);

/* As shmem_malloc() and so on, but that freeing NULL is a barrier. */
void *SHMEMI_BARE(shmalloc)(size_t size);
void SHMEMI_BARE(shfree)(void *ptr);
void *SHMEMI_BARE(shrealloc)(void *ptr, size_t size);
void *SHMEMI_BARE(shmemalign)(size_t alignment, size_t size);

/*
 * Elements of 64 bits. In C11 shmem_put, shmem_get, shmem_iput, shmem_iget and shmem_swap are macros for all types;
 * these routines stay for objects compiled before, for C99 and for C++: (shmem_put)(...) is always the routine.
 */
void SHMEMI_(put)(void *dest, const void *source, size_t nelems, int pe);
void SHMEMI_(get)(void *dest, const void *source, size_t nelems, int pe);
void SHMEMI_(iput)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void SHMEMI_(iget)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
long SHMEMI_(swap)(long *dest, long value, int pe);

/*
 * Indexed: dest[index[i]] = source[i] at the PE, dest[i] = source[index[i]] from it. The index array is the caller's
 * own memory. Indices of the forms without a size are 64 bits wide.
 */
void SHMEMI_(ixput)(void *dest, const void *source, const long long *index, int nelems, int pe);
void SHMEMI_(ixget)(void *dest, const void *source, const long long *index, int nelems, int pe);

#define SHMEMI_IX_SIZE(S)									\
	void SHMEMI_(ixput##S)(void *dest, const void *source, const int *index, int nelems, int pe);	\
	void SHMEMI_(ixget##S)(void *dest, const void *source, const int *index, int nelems, int pe);
SHMEMI_IX_SIZE(32)
SHMEMI_IX_SIZE(64)
SHMEMI_IX_SIZE(128)
#undef SHMEMI_IX_SIZE

#define SHMEMI_IX(N, T)										\
	void SHMEMI_(N##_ixput)(T *dest, const T *source, const int *index, int nelems, int pe);	\
	void SHMEMI_(N##_ixget)(T *dest, const T *source, const int *index, int nelems, int pe);
SHMEMI_TYPES_IX(SHMEMI_IX)
#undef SHMEMI_IX

/* As put_nbi; a handle says nothing (it becomes NULL, and may be left out by NULL): shmem_quiet() completes. */
#define SHMEMI_NB(N, T)										\
	void SHMEMI_(N##_put_nb)(T *dest, const T *source, size_t nelems, int pe, void **handle);
SHMEMI_TYPES_RMA(SHMEMI_NB)
#undef SHMEMI_NB
void SHMEMI_(put16_nb)(void *dest, const void *source, size_t nelems, int pe, void **handle);
void SHMEMI_(put32_nb)(void *dest, const void *source, size_t nelems, int pe, void **handle);
void SHMEMI_(put64_nb)(void *dest, const void *source, size_t nelems, int pe, void **handle);
void SHMEMI_(put128_nb)(void *dest, const void *source, size_t nelems, int pe, void **handle);
void SHMEMI_(putmem_nb)(void *dest, const void *source, size_t nelems, int pe, void **handle);

/* Bits that are 1 in mask are replaced by those of value; the old value is returned. */
int SHMEMI_(int_mswap)(int *dest, int mask, int value, int pe);
long SHMEMI_(long_mswap)(long *dest, long mask, long value, int pe);
short SHMEMI_(short_mswap)(short *dest, short mask, short value, int pe);
long SHMEMI_(mswap)(long *dest, long mask, long value, int pe);

/* Atomic operations on 16 bits. */
short SHMEMI_(short_swap)(short *dest, short value, int pe);
short SHMEMI_(short_cswap)(short *dest, short cond, short value, int pe);
short SHMEMI_(short_fadd)(short *dest, short value, int pe);
short SHMEMI_(short_finc)(short *dest, int pe);
void SHMEMI_(short_add)(short *dest, short value, int pe);
void SHMEMI_(short_inc)(short *dest, int pe);

/*
 * Atomic operations with a handle, which says nothing, as those of put_nb: done, and the old value at @fetch, behind
 * the next shmem_quiet().
 */
#define SHMEMI_SWAP_NB(N, T)									\
	void SHMEMI_(N##_swap_nb)(T *fetch, T *dest, T value, int pe, void **handle);
#define SHMEMI_AMO_NB(N, T)									\
	void SHMEMI_(N##_add_nb)(T *dest, T value, int pe, void **handle);			\
	void SHMEMI_(N##_inc_nb)(T *dest, int pe, void **handle);				\
	void SHMEMI_(N##_fadd_nb)(T *fetch, T *dest, T value, int pe, void **handle);		\
	void SHMEMI_(N##_finc_nb)(T *fetch, T *dest, int pe, void **handle);			\
	void SHMEMI_(N##_cswap_nb)(T *fetch, T *dest, T cond, T value, int pe, void **handle);
SHMEMI_TYPES_OLD_EXT(SHMEMI_SWAP_NB)
SHMEMI_TYPES_OLD(SHMEMI_AMO_NB)
SHMEMI_SWAP_NB(short, short)
SHMEMI_AMO_NB(short, short)
#undef SHMEMI_AMO_NB
#undef SHMEMI_SWAP_NB

/*
 * An event is a symmetric long, 0 at first, and one for the whole job, as a lock is. set posts it, behind the caller's
 * earlier puts; it stays posted until a PE clears it. test: 1 or 0; wait returns at once when it is posted already.
 */
void SHMEMI_(set_event)(long *event);
void SHMEMI_(clear_event)(long *event);
int SHMEMI_(test_event)(long *event);
void SHMEMI_(wait_event)(long *event);

/* Collectives of elements of 64 bits, macros in C11 as shmem_put is, and of 128. */
#define SHMEMI_OLD_MOVE(N)									\
	void SHMEMI_(N)(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,	\
			int PE_size, long *pSync);
SHMEMI_OLD_MOVE(collect)
SHMEMI_OLD_MOVE(collect128)
SHMEMI_OLD_MOVE(fcollect)
SHMEMI_OLD_MOVE(fcollect128)
SHMEMI_OLD_MOVE(alltoall)
SHMEMI_OLD_MOVE(alltoall128)
#undef SHMEMI_OLD_MOVE
void SHMEMI_(broadcast)(void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride,
			int PE_size, long *pSync);
void SHMEMI_(broadcast128)(void *dest, const void *source, size_t nelems, int PE_root, int PE_start,
			   int logPE_stride, int PE_size, long *pSync);

/* Of a team; pSync is not used. */
void SHMEMI_(team_barrier)(shmem_team_t team, long *pSync);

/* For machines whose caches the programmer looked after; nothing is to be done where they are coherent. */
void SHMEMI_(set_cache_inv)(void);
void SHMEMI_(clear_cache_inv)(void);
void SHMEMI_(set_cache_line_inv)(void *dest);
void SHMEMI_(clear_cache_line_inv)(void *dest);
void SHMEMI_(udcflush)(void);
void SHMEMI_(udcflush_line)(void *dest);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_coll.h - teams and collectives: types and constants, the routines once for each prefix, and the C11 names
 *
 * Not for inclusion by programs. The first part is seen once; the second once for each SHMEMI_(name), as in
 * shmem_protos.h; the third where SHMEMI_COLL_NAMES is defined.
 */
#ifndef SHMEMI_COLL_TYPES
#define SHMEMI_COLL_TYPES

typedef struct shmemi_team *shmem_team_t;
typedef struct {
	int num_contexts;
} shmem_team_config_t;

#define SHMEM_TEAM_NUM_CONTEXTS	1L
#define SHMEM_TEAM_INVALID	((shmem_team_t)0)

/* Active sets: the library keeps nothing in pSync and pWrk; an array of any of these lengths will do. */
#define SHMEM_SYNC_VALUE		(-1L)
#define SHMEM_BARRIER_SYNC_SIZE		1
#define SHMEM_BCAST_SYNC_SIZE		2
#define SHMEM_COLLECT_SYNC_SIZE		3
#define SHMEM_REDUCE_SYNC_SIZE		3
#define SHMEM_ALLTOALL_SYNC_SIZE	1
#define SHMEM_ALLTOALLS_SYNC_SIZE	1
#define SHMEM_SYNC_SIZE			3
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE	1
#define _SHMEM_SYNC_VALUE		SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE	SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE		SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE	SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE		SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE	SHMEM_REDUCE_MIN_WRKDATA_SIZE

#ifdef __GNUC__
__extension__ typedef double _Complex shmemi_complexd;
__extension__ typedef float _Complex shmemi_complexf;
#else
typedef double _Complex shmemi_complexd;
typedef float _Complex shmemi_complexf;
#endif

/* Types of team reductions: and, or, xor; max and min are for SHMEMI_TYPES_RMA; sum, prod and scans. */
#define SHMEMI_TYPES_REDUCE_BIT(X)							\
	X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int)		\
	X(ulong, unsigned long) X(ulonglong, unsigned long long)			\
	X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t)		\
	X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t)	\
	X(size, size_t)
#define SHMEMI_TYPES_REDUCE_SUM(X)							\
	SHMEMI_TYPES_RMA(X) X(complexd, shmemi_complexd) X(complexf, shmemi_complexf)

/* Types of reductions over active sets: all operators; max, min, sum, prod; sum, prod. */
#define SHMEMI_TYPES_TO_ALL_INT(X)							\
	X(short, short) X(int, int) X(long, long) X(longlong, long long)
#define SHMEMI_TYPES_TO_ALL_FLOAT(X) X(float, float) X(double, double) X(longdouble, long double)
#define SHMEMI_TYPES_TO_ALL_COMPLEX(X) X(complexf, shmemi_complexf) X(complexd, shmemi_complexd)

#ifdef __cplusplus
extern "C" {
#endif
/* Constant handles between shmem_init() and shmem_finalize(). */
extern
#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
shmem_team_t SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED;
#ifdef __cplusplus
}
#endif
#endif /* SHMEMI_COLL_TYPES */

#ifdef SHMEMI_
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/*
 * Teams. SHMEM_TEAM_SHARED: the PEs of this node. split: collective over the parent; who is not in the new team gets
 * SHMEM_TEAM_INVALID; 0, or not, on all PEs of the parent alike: wrong arguments, no memory, or too many teams (252
 * beside the predefined ones). destroy: collective over the team. team_ptr: as ptr, the PE numbered in the team.
 */
int SHMEMI_(team_my_pe)(shmem_team_t team);
int SHMEMI_(team_n_pes)(shmem_team_t team);
int SHMEMI_(team_get_config)(shmem_team_t team, long config_mask, shmem_team_config_t *config);
int SHMEMI_(team_translate_pe)(shmem_team_t src_team, int src_pe, shmem_team_t dest_team);
int SHMEMI_(team_split_strided)(shmem_team_t parent_team, int start, int stride, int size,
				const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team);
int SHMEMI_(team_split_2d)(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config,
			   long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
			   long yaxis_mask, shmem_team_t *yaxis_team);
void SHMEMI_(team_destroy)(shmem_team_t team);
void *SHMEMI_(team_ptr)(shmem_team_t team, const void *dest, int pe);

/*
 * sync: all PEs of the team, or of the active set, arrive before one leaves. barrier: the same with a quiet of the
 * default context before. In C11 shmem_sync() takes either's arguments; the symbol is the one of active sets.
 */
int SHMEMI_(team_sync)(shmem_team_t team);
void SHMEMI_(barrier)(int PE_start, int logPE_stride, int PE_size, long *pSync);
void SHMEMI_(sync)(int PE_start, int logPE_stride, int PE_size, long *pSync);

/*
 * Moving data. 0, or not where the team is invalid. @dest and @source are symmetric and may be used again when the
 * call returns. The root's own @dest is written by a team's broadcast, not by an active set's.
 */
int SHMEMI_(broadcastmem)(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root);
int SHMEMI_(collectmem)(shmem_team_t team, void *dest, const void *source, size_t nelems);
int SHMEMI_(fcollectmem)(shmem_team_t team, void *dest, const void *source, size_t nelems);
int SHMEMI_(alltoallmem)(shmem_team_t team, void *dest, const void *source, size_t nelems);
int SHMEMI_(alltoallsmem)(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
			  size_t nelems);

#define SHMEMI_MOVE(N, T)									\
	int SHMEMI_(N##_broadcast)(shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root);	\
	int SHMEMI_(N##_collect)(shmem_team_t team, T *dest, const T *source, size_t nelems);	\
	int SHMEMI_(N##_fcollect)(shmem_team_t team, T *dest, const T *source, size_t nelems);	\
	int SHMEMI_(N##_alltoall)(shmem_team_t team, T *dest, const T *source, size_t nelems);	\
	int SHMEMI_(N##_alltoalls)(shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,	\
				   size_t nelems);
SHMEMI_TYPES_RMA(SHMEMI_MOVE)
#undef SHMEMI_MOVE

#define SHMEMI_MOVE_SET(S)									\
	void SHMEMI_(broadcast##S)(void *dest, const void *source, size_t nelems, int PE_root, int PE_start,	\
				   int logPE_stride, int PE_size, long *pSync);			\
	void SHMEMI_(collect##S)(void *dest, const void *source, size_t nelems, int PE_start,	\
				 int logPE_stride, int PE_size, long *pSync);			\
	void SHMEMI_(fcollect##S)(void *dest, const void *source, size_t nelems, int PE_start,	\
				  int logPE_stride, int PE_size, long *pSync);			\
	void SHMEMI_(alltoall##S)(void *dest, const void *source, size_t nelems, int PE_start,	\
				  int logPE_stride, int PE_size, long *pSync);			\
	void SHMEMI_(alltoalls##S)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,	\
				   int PE_start, int logPE_stride, int PE_size, long *pSync);
SHMEMI_MOVE_SET(32)
SHMEMI_MOVE_SET(64)
#undef SHMEMI_MOVE_SET

/*
 * Reductions. @dest may be @source. All PEs get the same bits: the operator is applied in the order of PEs. Integers
 * wrap around. exscan gives 0 to the first PE.
 */
#define SHMEMI_REDUCE(N, T, OP)									\
	int SHMEMI_(N##_##OP##_reduce)(shmem_team_t team, T *dest, const T *source, size_t nreduce);
#define SHMEMI_REDUCE_BIT(N, T) SHMEMI_REDUCE(N, T, and) SHMEMI_REDUCE(N, T, or) SHMEMI_REDUCE(N, T, xor)
#define SHMEMI_REDUCE_CMP(N, T) SHMEMI_REDUCE(N, T, max) SHMEMI_REDUCE(N, T, min)
#define SHMEMI_REDUCE_SUM(N, T) SHMEMI_REDUCE(N, T, sum) SHMEMI_REDUCE(N, T, prod)		\
	int SHMEMI_(N##_sum_inscan)(shmem_team_t team, T *dest, const T *source, size_t nelems);	\
	int SHMEMI_(N##_sum_exscan)(shmem_team_t team, T *dest, const T *source, size_t nelems);
SHMEMI_TYPES_REDUCE_BIT(SHMEMI_REDUCE_BIT)
SHMEMI_TYPES_RMA(SHMEMI_REDUCE_CMP)
SHMEMI_TYPES_REDUCE_SUM(SHMEMI_REDUCE_SUM)
#undef SHMEMI_REDUCE
#undef SHMEMI_REDUCE_BIT
#undef SHMEMI_REDUCE_CMP
#undef SHMEMI_REDUCE_SUM

#define SHMEMI_TO_ALL(N, T, OP)									\
	void SHMEMI_(N##_##OP##_to_all)(T *dest, const T *source, int nreduce, int PE_start, int logPE_stride,	\
					int PE_size, T *pWrk, long *pSync);
#define SHMEMI_TO_ALL_SUM(N, T) SHMEMI_TO_ALL(N, T, sum) SHMEMI_TO_ALL(N, T, prod)
#define SHMEMI_TO_ALL_CMP(N, T) SHMEMI_TO_ALL(N, T, max) SHMEMI_TO_ALL(N, T, min) SHMEMI_TO_ALL_SUM(N, T)
#define SHMEMI_TO_ALL_BIT(N, T)									\
	SHMEMI_TO_ALL(N, T, and) SHMEMI_TO_ALL(N, T, or) SHMEMI_TO_ALL(N, T, xor) SHMEMI_TO_ALL_CMP(N, T)
SHMEMI_TYPES_TO_ALL_INT(SHMEMI_TO_ALL_BIT)
SHMEMI_TYPES_TO_ALL_FLOAT(SHMEMI_TO_ALL_CMP)
SHMEMI_TYPES_TO_ALL_COMPLEX(SHMEMI_TO_ALL_SUM)
#undef SHMEMI_TO_ALL
#undef SHMEMI_TO_ALL_SUM
#undef SHMEMI_TO_ALL_CMP
#undef SHMEMI_TO_ALL_BIT

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif /* SHMEMI_ */

/* C11: one name for all types; base types only, as in <shmem.h>. */
#if defined(SHMEMI_COLL_NAMES) && !defined(SHMEMI_COLL_NAMES_DONE)
#define SHMEMI_COLL_NAMES_DONE
#define SHMEMI_BASE_MOVE(X, op)									\
	X(float, float, op) X(double, double, op) X(longdouble, long double, op) X(char, char, op)	\
	X(schar, signed char, op) X(short, short, op) X(int, int, op) X(long, long, op)		\
	X(longlong, long long, op) X(uchar, unsigned char, op) X(ushort, unsigned short, op)	\
	X(uint, unsigned int, op) X(ulong, unsigned long, op) X(ulonglong, unsigned long long, op)
#define SHMEMI_BASE_SUM(X, op)									\
	SHMEMI_BASE_MOVE(X, op) X(complexd, shmemi_complexd, op) X(complexf, shmemi_complexf, op)
/* The signed ones are there as int8 to int64 only; on this ABI these are signed char, short, int and long. */
#define SHMEMI_BASE_AND(X, op)									\
	X(uchar, unsigned char, op) X(ushort, unsigned short, op) X(uint, unsigned int, op)	\
	X(ulong, unsigned long, op) X(ulonglong, unsigned long long, op)			\
	X(int8, int8_t, op) X(int16, int16_t, op) X(int32, int32_t, op) X(int64, int64_t, op)
#define SHMEMI_COLL_CASE(N, T, op)	, T *: shmem_##N##_##op
#define SHMEMI_COLL_CALL(BASE, op, team, dest, ...) _Generic((dest) BASE(SHMEMI_COLL_CASE, op))(team, dest, __VA_ARGS__)
#define SHMEMI_COLL_FIRST(first, ...)	first

#define shmem_sync(...)										\
	_Generic((SHMEMI_COLL_FIRST(__VA_ARGS__, 0)), shmem_team_t: shmem_team_sync, default: shmem_sync)(__VA_ARGS__)
#define shmem_broadcast(team, dest, ...)        SHMEMI_COLL_CALL(SHMEMI_BASE_MOVE, broadcast, team, dest, __VA_ARGS__)
#define shmem_collect(team, dest, ...)          SHMEMI_COLL_CALL(SHMEMI_BASE_MOVE, collect, team, dest, __VA_ARGS__)
#define shmem_fcollect(team, dest, ...)         SHMEMI_COLL_CALL(SHMEMI_BASE_MOVE, fcollect, team, dest, __VA_ARGS__)
#define shmem_alltoall(team, dest, ...)         SHMEMI_COLL_CALL(SHMEMI_BASE_MOVE, alltoall, team, dest, __VA_ARGS__)
#define shmem_alltoalls(team, dest, ...)        SHMEMI_COLL_CALL(SHMEMI_BASE_MOVE, alltoalls, team, dest, __VA_ARGS__)
#define shmem_and_reduce(team, dest, ...)       SHMEMI_COLL_CALL(SHMEMI_BASE_AND, and_reduce, team, dest, __VA_ARGS__)
#define shmem_or_reduce(team, dest, ...)        SHMEMI_COLL_CALL(SHMEMI_BASE_AND, or_reduce, team, dest, __VA_ARGS__)
#define shmem_xor_reduce(team, dest, ...)       SHMEMI_COLL_CALL(SHMEMI_BASE_AND, xor_reduce, team, dest, __VA_ARGS__)
#define shmem_max_reduce(team, dest, ...)       SHMEMI_COLL_CALL(SHMEMI_BASE_MOVE, max_reduce, team, dest, __VA_ARGS__)
#define shmem_min_reduce(team, dest, ...)       SHMEMI_COLL_CALL(SHMEMI_BASE_MOVE, min_reduce, team, dest, __VA_ARGS__)
#define shmem_sum_reduce(team, dest, ...)       SHMEMI_COLL_CALL(SHMEMI_BASE_SUM, sum_reduce, team, dest, __VA_ARGS__)
#define shmem_prod_reduce(team, dest, ...)      SHMEMI_COLL_CALL(SHMEMI_BASE_SUM, prod_reduce, team, dest, __VA_ARGS__)
#define shmem_sum_inscan(team, dest, ...)       SHMEMI_COLL_CALL(SHMEMI_BASE_SUM, sum_inscan, team, dest, __VA_ARGS__)
#define shmem_sum_exscan(team, dest, ...)       SHMEMI_COLL_CALL(SHMEMI_BASE_SUM, sum_exscan, team, dest, __VA_ARGS__)
#endif /* SHMEMI_COLL_NAMES */

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_coll_types.c - every collective of every type, by name, on the world, on a team with a stride and on active sets,
 * with what comes out computed here; lengths on both sides of what fits into a line
 */
#include "sm.h"

#define MAX	130
#define PES	8

static shmem_team_t odd;		/* every second PE, backwards; SHMEM_TEAM_INVALID where we are not in it */
static const size_t lengths[] = { 1, 2, 5, 12, MAX };

/* Dest and source for any type; each test writes all that it reads. */
static char *dest, *source;
static long psync[SHMEM_SYNC_SIZE], psync2[SHMEM_SYNC_SIZE];
static char pwrk[MAX * sizeof(long double) * 2];

static void begin(size_t bytes)
{
	memset(dest, 0x5a, bytes);
	shmem_sync_all();
}

/* The world's number of team's PE @i. */
static int pe_of(shmem_team_t team, int i)
{
	return shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
}

/* What PE @pe gives as element @i: small, of both signs, not the same anywhere near. */
static int value(int pe, size_t i)
{
	return (int)((unsigned)(pe * 7 + (int)i * 3) % 11) - 4;
}

/* An integer computed as the machine does: it wraps around. */
#define OP_and(T, a, b)		(T)((uint64_t)(a) & (uint64_t)(b))
#define OP_or(T, a, b)		(T)((uint64_t)(a) | (uint64_t)(b))
#define OP_xor(T, a, b)		(T)((uint64_t)(a) ^ (uint64_t)(b))
#define OP_max(T, a, b)		((b) > (a) ? (b) : (a))
#define OP_min(T, a, b)		((b) < (a) ? (b) : (a))
#define OP_sum(T, a, b)		(T)((a) + (b))
#define OP_prod(T, a, b)	(T)((a) * (b))

#define CHECK_REDUCE(N, T, OP, CALL, FIRST, SIZE, PE)						\
	do {											\
		T *d = (T *)dest, *s = (T *)source;						\
												\
		for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++)			\
			for (int in_place = 0; in_place < 2; in_place++) {			\
				size_t len = lengths[k];					\
				int bad = 0;							\
												\
				begin((MAX + 1) * sizeof(T));					\
				for (size_t i = 0; i < len; i++)				\
					(in_place ? d : s)[i] = (T)value(me, i);		\
				T *from = in_place ? d : s;					\
				CALL;								\
				for (size_t i = 0; i < len; i++) {				\
					T acc = (T)value(PE(FIRST), i);				\
												\
					for (int p = (FIRST) + 1; p < (SIZE); p++)		\
						acc = OP_##OP(T, acc, (T)value(PE(p), i));	\
					bad += d[i] != acc;					\
				}								\
				bad += ((unsigned char *)(d + len))[0] != 0x5a;			\
				if (bad)							\
					diag("%s %s: %zu elements, in place %d: %d are wrong", #N, #OP, len,	\
					     in_place, bad);					\
				CHECK_INT(bad, 0);						\
			}									\
	} while (0)

static shmem_team_t team_;
static int set_first, set_log;
#define TEAM_PE(p) pe_of(team_, p)
#define SET_PE(p) (set_first + ((p) << set_log))

#define REDUCE(N, T, OP)									\
static void t_##N##_##OP##_reduce(void)								\
{												\
	team_ = SHMEM_TEAM_WORLD;								\
	CHECK_REDUCE(N, T, OP, CHECK_INT(shmem_##N##_##OP##_reduce(team_, d, from, len), 0), 0, n, TEAM_PE);	\
	shmem_sync_all();									\
	team_ = odd;										\
	CHECK(shmem_##N##_##OP##_reduce(SHMEM_TEAM_INVALID, (T *)dest, (T *)source, 1) != 0);	\
	if (team_ != SHMEM_TEAM_INVALID) {							\
		int size = shmem_team_n_pes(team_);						\
		T *d = (T *)dest, *s = (T *)source;						\
												\
		for (size_t i = 0; i < 9; i++)							\
			s[i] = (T)value(me, i);							\
		CHECK_INT(shmem_##N##_##OP##_reduce(team_, d, s, 9), 0);			\
		for (size_t i = 0; i < 9; i++) {						\
			T acc = (T)value(TEAM_PE(0), i);					\
												\
			for (int p = 1; p < size; p++)						\
				acc = OP_##OP(T, acc, (T)value(TEAM_PE(p), i));			\
			CHECK(d[i] == acc);							\
		}										\
	}											\
	shmem_sync_all();									\
}
#define REDUCE_BIT(N, T) REDUCE(N, T, and) REDUCE(N, T, or) REDUCE(N, T, xor)
#define REDUCE_CMP(N, T) REDUCE(N, T, max) REDUCE(N, T, min)
#define REDUCE_SUM(N, T) REDUCE(N, T, sum) REDUCE(N, T, prod)
SHMEMI_TYPES_REDUCE_BIT(REDUCE_BIT)
SHMEMI_TYPES_RMA(REDUCE_CMP)
SHMEMI_TYPES_REDUCE_SUM(REDUCE_SUM)

/* All from PE 0 on, then all from PE 1 on: two sets that overlap, without a synchronisation between. */
#define TO_ALL(N, T, OP)									\
static void t_##N##_##OP##_to_all(void)								\
{												\
	for (set_first = 0; set_first < 2 && set_first < n; set_first++) {			\
		set_log = 0;									\
		if (me < set_first) {								\
			for (size_t k = 0; k < 2 * sizeof(lengths) / sizeof(*lengths); k++)	\
				begin((MAX + 1) * sizeof(T));					\
			continue;								\
		}										\
		CHECK_REDUCE(N, T, OP,								\
			     shmem_##N##_##OP##_to_all(d, from, (int)len, set_first, 0, n - set_first,	\
						       (T *)pwrk, k & 1 ? psync : psync2),	\
			     0, n - set_first, SET_PE);						\
	}											\
	for (int i = 0; i < SHMEM_SYNC_SIZE; i++)						\
		CHECK(psync[i] == SHMEM_SYNC_VALUE && psync2[i] == SHMEM_SYNC_VALUE);		\
	shmem_sync_all();									\
}
#define TO_ALL_SUM(N, T) TO_ALL(N, T, sum) TO_ALL(N, T, prod)
#define TO_ALL_CMP(N, T) TO_ALL(N, T, max) TO_ALL(N, T, min) TO_ALL_SUM(N, T)
#define TO_ALL_BIT(N, T) TO_ALL(N, T, and) TO_ALL(N, T, or) TO_ALL(N, T, xor) TO_ALL_CMP(N, T)
SHMEMI_TYPES_TO_ALL_INT(TO_ALL_BIT)
SHMEMI_TYPES_TO_ALL_FLOAT(TO_ALL_CMP)
SHMEMI_TYPES_TO_ALL_COMPLEX(TO_ALL_SUM)

#define SCAN(N, T)										\
static void t_##N##_sum_scans(void)								\
{												\
	T *d = (T *)dest, *s = (T *)source;							\
												\
	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++)				\
		for (int way = 0; way < 4; way++) {						\
			size_t len = lengths[k];						\
			T *from = way & 2 ? d : s;						\
			int bad = 0;								\
												\
			begin((MAX + 1) * sizeof(T));						\
			for (size_t i = 0; i < len; i++)					\
				from[i] = (T)value(me, i);					\
			CHECK_INT(way & 1 ? shmem_##N##_sum_exscan(SHMEM_TEAM_WORLD, d, from, len) :	\
				  shmem_##N##_sum_inscan(SHMEM_TEAM_WORLD, d, from, len), 0);	\
			for (size_t i = 0; i < len; i++) {					\
				T acc = 0;							\
												\
				for (int p = 0; p < me + !(way & 1); p++)			\
					acc = (T)(acc + (T)value(p, i));			\
				bad += d[i] != acc;						\
			}									\
			CHECK_INT(bad, 0);							\
			CHECK(((unsigned char *)(d + len))[0] == 0x5a);				\
		}										\
	CHECK(shmem_##N##_sum_inscan(SHMEM_TEAM_INVALID, d, s, 1) != 0);			\
	CHECK(shmem_##N##_sum_exscan(SHMEM_TEAM_INVALID, d, s, 1) != 0);			\
}
SHMEMI_TYPES_REDUCE_SUM(SCAN)

/* ---- moving: as bytes with a pattern of PE, block and element ---- */

#define PATTERN(T, pe, block, i) (T)(((pe) * 31 + (block) * 7 + (int)(i)) % 100 + 1)

#define MOVE(N, T)										\
static void t_##N##_moves(void)									\
{												\
	T *d = (T *)dest, *s = (T *)source;							\
	int bad = 0;										\
												\
	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {			\
		size_t len = lengths[k], at = 0;						\
		int root = (int)k % n;								\
												\
		begin(sizeof(T) * (PES * MAX + 1));						\
		for (int b = 0; b < n; b++)							\
			for (size_t i = 0; i < len; i++)					\
				s[(size_t)b * len + i] = PATTERN(T, me, b, i);			\
		CHECK_INT(shmem_##N##_broadcast(SHMEM_TEAM_WORLD, d, s, len, root), 0);		\
		for (size_t i = 0; i < len; i++)						\
			bad += d[i] != PATTERN(T, root, 0, i);					\
		CHECK_INT(bad, 0);								\
		begin(sizeof(T) * (PES * MAX + 1));						\
		CHECK_INT(shmem_##N##_fcollect(SHMEM_TEAM_WORLD, d, s, len), 0);		\
		for (int p = 0; p < n; p++)							\
			for (size_t i = 0; i < len; i++)					\
				bad += d[(size_t)p * len + i] != PATTERN(T, p, 0, i);		\
		bad += *(unsigned char *)(d + (size_t)n * len) != 0x5a;				\
		CHECK_INT(bad, 0);								\
		begin(sizeof(T) * (PES * MAX + 1));						\
		CHECK_INT(shmem_##N##_alltoall(SHMEM_TEAM_WORLD, d, s, len), 0);		\
		for (int p = 0; p < n; p++)							\
			for (size_t i = 0; i < len; i++)					\
				bad += d[(size_t)p * len + i] != PATTERN(T, p, me, i);		\
		bad += *(unsigned char *)(d + (size_t)n * len) != 0x5a;				\
		CHECK_INT(bad, 0);								\
		begin(sizeof(T) * (PES * MAX + 1));						\
		/* PE p gives len - p, or nothing */						\
		at = len > (size_t)me ? len - (size_t)me : 0;					\
		CHECK_INT(shmem_##N##_collect(SHMEM_TEAM_WORLD, d, s, at), 0);			\
		at = 0;										\
		for (int p = 0; p < n; p++)							\
			for (size_t i = 0; i + (size_t)p < len; i++)				\
				bad += d[at++] != PATTERN(T, p, 0, i);				\
		bad += *(unsigned char *)(d + at) != 0x5a;					\
		CHECK_INT(bad, 0);								\
	}											\
	for (size_t len = 1; len < 20; len += 6) {						\
		begin(sizeof(T) * (PES * MAX + 1));						\
		memset(s, 1, sizeof(T) * PES * MAX);						\
		for (int b = 0; b < n; b++)							\
			for (size_t i = 0; i < len; i++)					\
				s[((size_t)b * len + i) * 3] = PATTERN(T, me, b, i);		\
		CHECK_INT(shmem_##N##_alltoalls(SHMEM_TEAM_WORLD, d, s, 2, 3, len), 0);		\
		for (int p = 0; p < n; p++)							\
			for (size_t i = 0; i < len; i++) {					\
				size_t e = ((size_t)p * len + i) * 2;				\
												\
				bad += d[e] != PATTERN(T, p, me, i);				\
				bad += *(unsigned char *)(d + e + 1) != 0x5a;			\
			}									\
		CHECK_INT(bad, 0);								\
	}											\
	shmem_sync_all();									\
	if (odd != SHMEM_TEAM_INVALID) {							\
		int size = shmem_team_n_pes(odd), root = size - 1;				\
												\
		d[1] = (T)99;									\
		s[0] = PATTERN(T, me, 0, 0);							\
		CHECK_INT(shmem_##N##_broadcast(odd, d, s, 1, root), 0);			\
		CHECK(d[0] == PATTERN(T, pe_of(odd, root), 0, 0) && d[1] == (T)99);		\
		CHECK_INT(shmem_##N##_fcollect(odd, d, s, 1), 0);				\
		for (int p = 0; p < size; p++)							\
			CHECK(d[p] == PATTERN(T, pe_of(odd, p), 0, 0));				\
	}											\
	CHECK(shmem_##N##_broadcast(SHMEM_TEAM_INVALID, d, s, 1, 0) != 0);			\
	CHECK(shmem_##N##_collect(SHMEM_TEAM_INVALID, d, s, 1) != 0);				\
	CHECK(shmem_##N##_fcollect(SHMEM_TEAM_INVALID, d, s, 1) != 0);				\
	CHECK(shmem_##N##_alltoall(SHMEM_TEAM_INVALID, d, s, 1) != 0);				\
	CHECK(shmem_##N##_alltoalls(SHMEM_TEAM_INVALID, d, s, 1, 1, 1) != 0);			\
	shmem_sync_all();									\
}
SHMEMI_TYPES_RMA(MOVE)
/* The forms in bytes take the same test as type of one byte. */
#define shmem_bytes_broadcast shmem_broadcastmem
#define shmem_bytes_collect shmem_collectmem
#define shmem_bytes_fcollect shmem_fcollectmem
#define shmem_bytes_alltoall shmem_alltoallmem
#define shmem_bytes_alltoalls shmem_alltoallsmem
MOVE(bytes, unsigned char)

/* The forms with a size, on every active set that this PE is in. */
#define SIZED(BITS, T)										\
static void sized_##BITS(int first, int log, int size, int own)					\
{												\
	T *d = (T *)dest, *s = (T *)source;							\
	size_t at = 0;										\
	int bad = 0, root = size - 1;								\
												\
	memset(dest, 0x5a, sizeof(T) * (PES * MAX + 1));					\
	for (int b = 0; b < size; b++)								\
		for (size_t i = 0; i < 20; i++)							\
			s[(size_t)b * 20 + i] = PATTERN(T, own, b, i);				\
	shmem_barrier(first, log, size, psync);							\
	shmem_broadcast##BITS(d, s, 20, root, first, log, size, psync);				\
	for (size_t i = 0; i < 20; i++)								\
		bad += own == root ? *(unsigned char *)&d[i] != 0x5a : d[i] != PATTERN(T, root, 0, i);	\
	CHECK_INT(bad, 0);									\
	shmem_sync(first, log, size, psync);							\
	shmem_fcollect##BITS(d, s, 20, first, log, size, psync2);				\
	for (int p = 0; p < size; p++)								\
		for (size_t i = 0; i < 20; i++)							\
			bad += d[(size_t)p * 20 + i] != PATTERN(T, p, 0, i);			\
	CHECK_INT(bad, 0);									\
	shmem_collect##BITS(d, s, (size_t)own * 3, first, log, size, psync);			\
	for (int p = 0; p < size; p++)								\
		for (size_t i = 0; i < (size_t)p * 3; i++)					\
			bad += d[at++] != PATTERN(T, p, 0, i);					\
	CHECK_INT(bad, 0);									\
	shmem_alltoall##BITS(d, s, 20, first, log, size, psync2);				\
	for (int p = 0; p < size; p++)								\
		for (size_t i = 0; i < 20; i++)							\
			bad += d[(size_t)p * 20 + i] != PATTERN(T, p, own, i);			\
	CHECK_INT(bad, 0);									\
	shmem_sync(first, log, size, psync);							\
	memset(dest, 0x5a, sizeof(T) * (PES * MAX + 1));					\
	shmem_alltoalls##BITS(d, s, 3, 2, 7, first, log, size, psync);				\
	for (int p = 0; p < size; p++)								\
		for (size_t i = 0; i < 7; i++) {						\
			size_t from = ((size_t)own * 7 + i) * 2;				\
												\
			bad += d[((size_t)p * 7 + i) * 3] != PATTERN(T, p, (int)(from / 20), from % 20);	\
			bad += *(unsigned char *)&d[((size_t)p * 7 + i) * 3 + 1] != 0x5a;	\
		}										\
	CHECK_INT(bad, 0);									\
	shmem_sync(first, log, size, psync2);							\
	for (int i = 0; i < SHMEM_SYNC_SIZE; i++)						\
		CHECK(psync[i] == SHMEM_SYNC_VALUE && psync2[i] == SHMEM_SYNC_VALUE);		\
}												\
static void t_active_sets_##BITS(void)								\
{												\
	for (int log = 0; 1 << log <= n; log++)							\
		for (int first = 0; first < n; first++)						\
			for (int size = 1; first + ((size - 1) << log) < n; size++) {		\
				int at = me - first;						\
												\
				if (at >= 0 && !(at & ((1 << log) - 1)) && at >> log < size)	\
					sized_##BITS(first, log, size, at >> log);		\
			}									\
	shmem_sync_all();									\
}
SIZED(32, uint32_t)
SIZED(64, uint64_t)

/* One name for all types; what it calls is checked above. */
static void t_generic_names(void)
{
	static double d[PES * 2], s[2];
	static int id[PES], is[PES];
	static long ld, ls;
	static double _Complex zd, zs;
	static int8_t bd, bs;

	s[0] = me + 0.5;
	is[0] = me;
	ls = me + 1;
	zs = me;
	bs = (int8_t)(1 << me % 7);
	shmem_sync_all();
	CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, d, s, 1, n - 1) == 0 && d[0] == n - 0.5);
	CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, d, s, 1) == 0 && d[n - 1] == n - 0.5);
	CHECK(shmem_collect(SHMEM_TEAM_WORLD, id, is, 1) == 0 && id[n - 1] == n - 1);
	CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &ld, &ls, 1) == 0 && ld == n * (n + 1) / 2);
	CHECK(shmem_max_reduce(SHMEM_TEAM_WORLD, &ld, &ls, 1) == 0 && ld == n);
	CHECK(shmem_min_reduce(SHMEM_TEAM_WORLD, &ld, &ls, 1) == 0 && ld == 1);
	CHECK(shmem_prod_reduce(SHMEM_TEAM_WORLD, d, s, 1) == 0);
	CHECK(shmem_or_reduce(SHMEM_TEAM_WORLD, &bd, &bs, 1) == 0 && bd == (n < 7 ? (1 << n) - 1 : 127));
	CHECK(shmem_and_reduce(SHMEM_TEAM_WORLD, &ld, &ls, 1) == 0);
	CHECK(shmem_xor_reduce(SHMEM_TEAM_WORLD, &ld, &ls, 1) == 0);
	CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &zd, &zs, 1) == 0 && zd == n * (n - 1) / 2);
	CHECK(shmem_sum_inscan(SHMEM_TEAM_WORLD, &ld, &ls, 1) == 0 && ld == (me + 1) * (me + 2) / 2);
	CHECK(shmem_sum_exscan(SHMEM_TEAM_WORLD, &ld, &ls, 1) == 0 && ld == me * (me + 1) / 2);
	for (int i = 0; i < n; i++)
		is[i] = me * 100 + i;
	CHECK(shmem_alltoall(SHMEM_TEAM_WORLD, id, is, 1) == 0 && id[n - 1] == (n - 1) * 100 + me);
	CHECK(shmem_alltoalls(SHMEM_TEAM_WORLD, id, is, 1, 1, 1) == 0 && id[0] == me);
	CHECK(shmem_sync(SHMEM_TEAM_WORLD) == 0 && shmem_sync(SHMEM_TEAM_INVALID) != 0);
	shmem_sync(0, 0, n, psync);
}

int main(void)
{
	static const struct t_case cases[] = {
#define ONE(N, OP) T(t_##N##_##OP##_reduce),
#define BIT(N, TYPE) ONE(N, and) ONE(N, or) ONE(N, xor)
#define CMP(N, TYPE) ONE(N, max) ONE(N, min)
#define SUM(N, TYPE) ONE(N, sum) ONE(N, prod) T(t_##N##_sum_scans),
#define MOVES(N, TYPE) T(t_##N##_moves),
		SHMEMI_TYPES_REDUCE_BIT(BIT) SHMEMI_TYPES_RMA(CMP) SHMEMI_TYPES_REDUCE_SUM(SUM) SHMEMI_TYPES_RMA(MOVES)
		T(t_bytes_moves),
#define ALL(N, OP) T(t_##N##_##OP##_to_all),
#define ALL_SUM(N, TYPE) ALL(N, sum) ALL(N, prod)
#define ALL_CMP(N, TYPE) ALL(N, max) ALL(N, min) ALL_SUM(N, TYPE)
#define ALL_BIT(N, TYPE) ALL(N, and) ALL(N, or) ALL(N, xor) ALL_CMP(N, TYPE)
		SHMEMI_TYPES_TO_ALL_INT(ALL_BIT) SHMEMI_TYPES_TO_ALL_FLOAT(ALL_CMP) SHMEMI_TYPES_TO_ALL_COMPLEX(ALL_SUM)
		T(t_active_sets_32), T(t_active_sets_64), T(t_generic_names), { 0 }
	};
	size_t bytes = sizeof(long double) * 2 * (PES * MAX + 1) * 3;
	int rc;

	sm_start();
	if (n > PES)
		bail("no more than %d PEs", PES);
	dest = shmem_malloc(bytes);
	source = shmem_malloc(bytes);
	if (!dest || !source)
		bail("no memory");
	for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
		psync[i] = psync2[i] = SHMEM_SYNC_VALUE;
	if (shmem_team_split_strided(SHMEM_TEAM_WORLD, (n - 1) / 2 * 2, -2, (n + 1) / 2, NULL, 0, &odd))
		bail("split");
	shmem_barrier_all();
	rc = t_run(cases);
	shmem_team_destroy(odd);
	shmem_finalize();
	return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_coll - collectives of all PEs, by active sets, which all libraries have
 *
 *   barrier, broadcast, fcollect, alltoall, sum (of long), max (of double): ns for one, n bytes from each PE
 * Each is behind a barrier of its own kind and ends with one, whose time is taken off. The results are looked at, once
 * for each length. SHMEM_COLL_OPT_OFF=1 makes ours use the linear algorithms. Options: --json, --quick, --only
 */
#include "shmem_bench.h"

#define MAX	((size_t)1 << 20)
#define REPS	5

static double barriers(int times)
{
	double t;

	shmem_barrier_all();
	t = bench_now_ns();
	for (int i = 0; i < times; i++)
		shmem_barrier_all();
	return (bench_now_ns() - t) / times;
}

#ifdef SHMEM_REDUCE_SYNC_SIZE
enum { BROADCAST, FCOLLECT, ALLTOALL, SUM, MAX_OF, KINDS };
static const char *const name[KINDS] = { "broadcast", "fcollect", "alltoall", "sum", "max" };
static long sync_room[2][SHMEM_REDUCE_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE +
			 SHMEM_ALLTOALL_SYNC_SIZE];
static long *src, *dst, *work;

static void once(int kind, size_t words, int turn)
{
	long *s = sync_room[turn & 1];

	switch (kind) {
	case BROADCAST: shmem_broadcast64(dst, src, words, 0, 0, 0, n_pes, s); break;
	case FCOLLECT: shmem_fcollect64(dst, src, words, 0, 0, n_pes, s); break;
	case ALLTOALL: shmem_alltoall64(dst, src, words, 0, 0, n_pes, s); break;
	case SUM: shmem_long_sum_to_all(dst, src, (int)words, 0, 0, n_pes, work, s); break;
	default: shmem_double_max_to_all((double *)dst, (double *)src, (int)words, 0, 0, n_pes, (double *)work, s);
	}
}

static void verify(int kind, size_t words)
{
	long wrong = 0;

	for (size_t i = 0; i < words * (kind == ALLTOALL ? (size_t)n_pes : 1); i++)
		if (kind == MAX_OF)
			((double *)src)[i] = (double)(me * 1000) + (double)i;
		else
			src[i] = me * 1000000L + (long)i;
	shmem_barrier_all();
	once(kind, words, 0);
	shmem_barrier_all();
	for (size_t i = 0; i < words; i++)
		switch (kind) {
		case BROADCAST: wrong += me && dst[i] != (long)i; break;
		case FCOLLECT:
			for (int p = 0; p < n_pes; p++)
				wrong += dst[(size_t)p * words + i] != p * 1000000L + (long)i;
			break;
		case ALLTOALL:
			for (int p = 0; p < n_pes; p++)
				wrong += dst[(size_t)p * words + i] != p * 1000000L + (long)((size_t)me * words + i);
			break;
		case SUM: wrong += dst[i] != n_pes * (n_pes - 1) / 2 * 1000000L + n_pes * (long)i; break;
		default: wrong += ((double *)dst)[i] != (double)((n_pes - 1) * 1000) + (double)i;
		}
	if (wrong)
		bench_die("shmem_coll: PE %d: %ld of %zu words of %s are wrong", me, wrong, words, name[kind]);
	shmem_barrier_all();
}

static void measure(int kind, size_t bytes)
{
	size_t words = bytes / 8;
	int times = quick ? 4 : bytes <= 8192 ? 2000 : (int)(((size_t)16 << 20) / bytes);
	double v[REPS];

	verify(kind, words);
	for (int r = 0; r < REPS; r++) {
		double alone = barriers(times), t = bench_now_ns();

		for (int i = 0; i < times; i++) {
			once(kind, words, i);
			shmem_barrier_all();
		}
		v[r] = (bench_now_ns() - t) / times - alone;
	}
	bench_note(name[kind], bytes, bench_median(v, REPS));
}
#endif

int main(int argc, char **argv)
{
	int rc = bench_shmem_start(argc, argv, 0, "barrier broadcast fcollect alltoall sum max");
	double v[REPS];

	if (rc)
		return rc;
	if (me == 0)
		bench_begin("shmem_coll", bench_flag(argc, argv, "--json"));
	if (bench_wanted(argc, argv, "barrier")) {
		for (int r = 0; r < REPS; r++)
			v[r] = barriers(quick ? 20 : 20000);
		bench_note("barrier", 0, bench_median(v, REPS));
	}
#ifdef SHMEM_REDUCE_SYNC_SIZE
	for (size_t i = 0; i < sizeof(sync_room) / sizeof(long); i++)
		((long *)sync_room)[i] = SHMEM_SYNC_VALUE;
	src = bench_shmem_room(MAX * (size_t)n_pes);
	dst = bench_shmem_room(MAX * (size_t)n_pes);
	work = bench_shmem_room(MAX + 4096);
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t n = 8; bench_wanted(argc, argv, name[kind]) && n <= (quick ? 8192 : MAX); n *= 4)
			measure(kind, n);
#endif
	if (me == 0)
		bench_end();
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_bench.h - what the benchmarks of SHMEM share: start, a meeting that costs no core, records of PE 0
 *
 * They are compiled with each library's own oshcc and use OpenSHMEM 1.4 only.
 */
#ifndef SHMEM_BENCH_H
#define SHMEM_BENCH_H

#include "bench.h"
#include <shmem.h>

static int me, n_pes, quick;

/* Return: 0; otherwise what the program returns: a wrong argument. */
static inline int bench_shmem_start(int argc, char **argv, int pes, const char *parts)
{
	shmem_init();
	me = shmem_my_pe();
	n_pes = shmem_n_pes();
	if (bench_args(argc, argv, me == 0, "--json --quick", "--only", parts)) {
		shmem_finalize();
		return 2;
	}
	if (pes && n_pes != pes)
		bench_die("%s: run it on %d PEs (this is a job of %d)", argv[0], pes, n_pes);
	quick = bench_flag(argc, argv, "--quick");
	bench_pin(me);
	bench_line_open();
	return 0;
}

static inline void *bench_shmem_room(size_t bytes)
{
	void *p = shmem_align(4096, bytes);

	if (!p)
		bench_die("PE %d: no %zu bytes in the symmetric heap: SHMEM_SYMMETRIC_SIZE", me, bytes);
	memset(p, 0, bytes);
	shmem_barrier_all();
	return p;
}

static inline void bench_note(const char *figure, size_t bytes, double value)
{
	if (me == 0)
		bench_record(figure, bytes, value, "ns");
}

#endif

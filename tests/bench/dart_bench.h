/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart_bench.h - what the benchmarks of DART share: start, and the same by MPI's own one-sided calls in the same run
 */
#ifndef DART_BENCH_H
#define DART_BENCH_H

#include "bench.h"	/* first: it asks libc for more */
#include <dart.h>
#include <mpi.h>

static int me, units, quick;

/* Return: 0; otherwise what the program returns: a wrong argument. */
static inline int bench_dart_start(int argc, char **argv, const char *name, const char *parts)
{
	int bad;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &units);
	bad = bench_args(argc, argv, me == 0, "--json --quick", "--only", parts) != 0;
	if (!bad && units & (units - 1)) {
		bad = 1;
		if (me == 0)
			fprintf(stderr, "%s: run it on 2, 4, 8, ... units\n", name);
	}
	if (bad) {
		MPI_Finalize();
		return 2;
	}
	quick = bench_flag(argc, argv, "--quick");
	bench_pin(me);
	if (dart_init(&argc, &argv) != DART_OK)
		bench_die("%s: dart_init failed", name);
	if (me == 0)
		bench_begin(name, bench_flag(argc, argv, "--json"));
	return 0;
}

static inline int bench_dart_end(void)
{
	if (me == 0)
		bench_end();
	dart_exit();
	MPI_Finalize();
	return 0;
}

static inline void bench_note(const char *figure, size_t bytes, double value)
{
	if (me == 0)
		bench_record(figure, bytes, value, "ns");
}

/* A window of MPI's over all, locked. */
static inline char *bench_window(size_t bytes, MPI_Win *win)
{
	char *base;

	MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, win);
	memset(base, 0, bytes);
	MPI_Win_lock_all(0, *win);
	MPI_Win_sync(*win);
	MPI_Barrier(MPI_COMM_WORLD);
	return base;
}

static inline void bench_window_end(MPI_Win *win)
{
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_unlock_all(*win);
	MPI_Win_free(win);
}

#endif

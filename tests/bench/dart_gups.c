/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart_gups - RandomAccess: atomic exclusive-ors of 8 bytes at random places of a table that all units share
 *
 *   gups        ns for an update of each unit by dart_accumulate (the typed interface)
 *   mpi_gups    by MPI_Accumulate, in the same run
 * with a flush after 1024 updates, as many as HPCC lets a process hold back. Each place is its own number at first; all
 * updates made once more must bring that back: not one may be missing. Options: --json, --quick
 */
#include "dart_bench.h"

#define POLY	7u
#define HELD	1024

static uint64_t size, part, updates;
static dart_gptr_t mem;
static MPI_Win win;
static uint64_t held[HELD];		/* a value must stay until the flush */

static inline uint64_t next(uint64_t v)
{
	return v << 1 ^ ((int64_t)v < 0 ? POLY : 0);
}

static uint64_t start(void)
{
	uint64_t v = 1;

	for (int k = 0; k < 64 + 1017 * me; k++)
		v = next(v);
	return v * 0x9e3779b97f4a7c15ULL | 1;
}

static void pass(int by_mpi, uint64_t n)
{
	unsigned shift = (unsigned)__builtin_ctzll(part);
	dart_gptr_t p = mem;
	uint64_t v = start();

	for (uint64_t i = 0; i < n; i++) {
		uint64_t at, *x = &held[i % HELD];

		v = next(v);
		*x = v;
		at = v & (size - 1);
		if (by_mpi) {
			MPI_Accumulate(x, 1, MPI_UINT64_T, (int)(at >> shift), (MPI_Aint)(at & (part - 1)) * 8, 1,
				       MPI_UINT64_T, MPI_BXOR, win);
		} else {
			p.unitid = (int)(at >> shift) & 0x7fffff;
			p.addr_or_offs.offset = (at & (part - 1)) * 8;
			dart_accumulate(p, x, 1, DART_TYPE_ULONG, DART_OP_BXOR);
		}
		if (i % HELD == HELD - 1 || i == n - 1) {
			if (by_mpi)
				MPI_Win_flush_all(win);
			else
				dart_flush_all(mem);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static double measure(int by_mpi, uint64_t *table, uint64_t n)
{
	double t, most;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < part; i++)
		table[i] = (uint64_t)me * part + i;
	if (by_mpi)
		MPI_Win_sync(win);
	else
		dart_flush_all(mem);
	MPI_Barrier(MPI_COMM_WORLD);
	t = bench_now_ns();
	pass(by_mpi, n);
	t = (bench_now_ns() - t) / (double)n;
	MPI_Allreduce(&t, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	pass(by_mpi, n);
	if (by_mpi)
		MPI_Win_sync(win);
	for (uint64_t i = 0; i < part; i++)
		wrong += table[i] != (uint64_t)me * part + i;
	if (wrong)
		bench_die("dart_gups: %llu of %llu places are wrong on unit %d", (unsigned long long)wrong,
			  (unsigned long long)part, me);
	return most;
}

int main(int argc, char **argv)
{
	int rc = bench_dart_start(argc, argv, "dart_gups", ""), reps;
	double v[2][5];
	uint64_t *table[2];
	dart_gptr_t p;

	if (rc)
		return rc;
	reps = quick ? 1 : 3;
	size = quick ? 1 << 16 : 1 << 22;
	part = size / (uint64_t)units;
	updates = quick ? 1 << 14 : 1 << 20;
	if (dart_team_memalloc_aligned(DART_TEAM_ALL, part, DART_TYPE_ULONG, &mem) != DART_OK)
		bench_die("dart_gups: no memory");
	p = mem;
	dart_gptr_setunit(&p, dart_create_team_unit(me));
	dart_gptr_getaddr(p, (void **)&table[0]);
	table[1] = (uint64_t *)(void *)bench_window(part * 8, &win);
	for (int r = 0; r < reps; r++) {
		v[0][r] = measure(0, table[0], updates);
		/* where a call takes a message it would take long */
		v[1][r] = measure(1, table[1], updates / 16);
	}
	bench_note("gups", size * 8, bench_median(v[0], reps));
	bench_note("mpi_gups", size * 8, bench_median(v[1], reps));
	bench_window_end(&win);
	dart_team_memfree(mem);
	return bench_dart_end();
}

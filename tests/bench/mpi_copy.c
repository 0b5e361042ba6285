/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_copy - copies that an MPI library makes inside one process: what MPICH_FAST_MEMCPY is for
 *
 *   copy_pack      MPI_Pack of n bytes
 *   copy_self      MPI_Sendrecv of n bytes with itself
 *   copy_memcpy    memcpy of the C library, the same buffers
 * ns per copy, source and destination from the same buffers of 8 MiB, so that lengths from 4 MiB on leave the caches.
 * Rank 0 measures; others wait. Options: --json, --quick
 */
#include "bench.h"	/* first: it asks libc for more */
#include <mpi.h>

#define MAX	((size_t)8 << 20)

static char *from, *to;

static void once(int how, size_t n)
{
	int at = 0;

	if (how == 0)
		MPI_Pack(from, (int)n, MPI_BYTE, to, (int)MAX, &at, MPI_COMM_SELF);
	else if (how == 1)
		MPI_Sendrecv(from, (int)n, MPI_BYTE, 0, 1, to, (int)n, MPI_BYTE, 0, 1, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
	else
		memcpy(to, from, n);
	__asm__ volatile("" : : "r"(to) : "memory");
}

int main(int argc, char **argv)
{
	static const char *const name[] = { "copy_pack", "copy_self", "copy_memcpy" };
	int rank, quick;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	quick = bench_flag(argc, argv, "--quick");
	if (bench_args(argc, argv, rank == 0, "--json --quick", "", "")) {
		MPI_Finalize();
		return 2;
	}
	bench_pin(rank);
	from = malloc(MAX);
	to = malloc(MAX);
	if (!from || !to)
		bench_die("mpi_copy: out of memory");
	memset(from, 1, MAX);
	memset(to, 2, MAX);
	if (rank == 0) {
		bench_begin("mpi_copy", bench_flag(argc, argv, "--json"));
		for (int how = 0; how < 3; how++)
			for (size_t n = 1024; n <= MAX; n *= quick ? 16 : 2) {
				int times = (int)(((size_t)32 << 20) / n);
				double rep[5];

				times = times > 2000 ? 2000 : times;
				for (int r = 0; r < 5; r++) {
					double t = bench_now_ns();

					for (int i = 0; i < times; i++)
						once(how, n);
					rep[r] = (bench_now_ns() - t) / times;
				}
				bench_record(name[how], n, bench_median(rep, 5), "ns");
			}
		bench_end();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}

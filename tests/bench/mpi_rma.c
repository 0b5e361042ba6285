/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_rma - one-sided calls of rank 0 at rank 1, which waits in a receive; passive target, lock_all once
 *
 *   rma_put8         MPI_Put of 8 bytes and MPI_Win_flush, in slices beside h (bench.h); the data are checked
 *   rma_get8, rma_fop8, rma_acc8      MPI_Get, MPI_Fetch_and_op(SUM), MPI_Accumulate(SUM) and flush, the same way
 *   rma_put, rma_get                  by size, 1 KiB to 4 MiB: ns for call and flush
 * Options: --json, --quick, --only put8,get8,fop8,acc8,sizes
 */
#include "bench.h"	/* first: it asks libc for more */
#include <mpi.h>

#define MAX	((size_t)4 << 20)
#define TIMES	50

enum op { PUT, GET, FOP, ACC };

static int rank;
static MPI_Win win;
static char *base, *mine;
static int64_t turns[4];		/* how often each was called */

static void call(enum op op, size_t n)
{
	int64_t one = 1, old;

	turns[op]++;
	switch (op) {
	case PUT:
		if (n == 8)
			memcpy(mine, &turns[PUT], 8);
		MPI_Put(mine, (int)n, MPI_BYTE, 1, 0, (int)n, MPI_BYTE, win);
		break;
	case GET:
		MPI_Get(mine, (int)n, MPI_BYTE, 1, 0, (int)n, MPI_BYTE, win);
		break;
	case FOP:
		MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 1, 4096, MPI_SUM, win);
		break;
	case ACC:
		MPI_Accumulate(&one, 1, MPI_INT64_T, 1, 4096 + 64, 1, MPI_INT64_T, MPI_SUM, win);
		break;
	}
	MPI_Win_flush(1, win);
}

static double some(enum op op, size_t n, int times)
{
	double t = 0;

	if (rank == 0) {
		t = bench_now_ns();
		for (int i = 0; i < times; i++)
			call(op, n);
		t = (bench_now_ns() - t) / times;
		MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
	} else {
		MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return t;
}

static double once(void *arg)
{
	return some(*(enum op *)arg, 8, TIMES);
}

/* Rank 1 looks at what has come: no figure for a put that does not arrive. */
static void verify(void)
{
	int64_t want[3] = { turns[PUT], turns[FOP], turns[ACC] }, have[3];

	MPI_Bcast(want, 3, MPI_INT64_T, 0, MPI_COMM_WORLD);
	MPI_Win_sync(win);
	memcpy(&have[0], base, 8);
	memcpy(&have[1], base + 4096, 8);
	memcpy(&have[2], base + 4096 + 64, 8);
	for (int i = 0; i < 3; i++)
		if (rank == 1 && have[i] != want[i])
			bench_die("mpi_rma: %s: rank 1 has %lld, not %lld",
				  i == 0 ? "put" : i == 1 ? "fetch_and_op" : "accumulate", (long long)have[i],
				  (long long)want[i]);
	MPI_Barrier(MPI_COMM_WORLD);	/* rank 0 goes on writing there */
}

int main(int argc, char **argv)
{
	static const char *const name[] = { "put8", "get8", "fop8", "acc8" };
	struct bench_slice slice[BENCH_SLICES];
	int size, quick, n = BENCH_SLICES;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	quick = bench_flag(argc, argv, "--quick");
	if (size != 2 || bench_args(argc, argv, rank == 0, "--json --quick", "--only", "put8 get8 fop8 acc8 sizes")) {
		if (size != 2 && rank == 0)
			fprintf(stderr, "mpi_rma: run it on 2 ranks\n");
		MPI_Finalize();
		return 2;
	}
	bench_pin(rank);
	bench_line_open();
	mine = malloc(MAX);
	if (!mine)
		bench_die("mpi_rma: out of memory");
	memset(mine, 1, MAX);
	MPI_Win_allocate((MPI_Aint)MAX, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	memset(base, 0, MAX);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	if (rank == 0)
		bench_begin("mpi_rma", bench_flag(argc, argv, "--json"));
	for (enum op op = PUT; op <= ACC; op++) {
		char figure[16];

		if (!bench_wanted(argc, argv, name[op]))
			continue;
		/* where a call takes a message and an answer, a slice would take long */
		if (quick && some(op, 8, TIMES) > 5000)
			n = BENCH_SLICES / 4;
		MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
		bench_slices(rank, once, &op, slice, n);
		snprintf(figure, sizeof(figure), "rma_%s", name[op]);
		if (rank == 0)
			bench_record_slices(figure, 8, slice, n);
	}
	verify();
	if (bench_wanted(argc, argv, "sizes"))
		for (enum op op = PUT; op <= GET; op++)
			for (size_t s = 1024; s <= MAX; s *= quick ? 32 : 2) {
				int times = (int)(((size_t)16 << 20) / s);
				double rep[5];

				times = times > 200 ? 200 : times;
				for (int r = 0; r < 5; r++)
					rep[r] = some(op, s, times);
				if (rank == 0)
					bench_record(op == PUT ? "rma_put" : "rma_get", s, bench_median(rep, 5), "ns");
			}
	if (rank == 0)
		bench_end();
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}

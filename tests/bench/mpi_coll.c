/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_coll - barrier, bcast, reduce, allreduce, alltoall, allgather as the Intel MPI Benchmarks of the papers define them
 *
 * n calls in a row after a warm-up, time = loop / n, average over the ranks; the root of call i is i mod P; reduce and
 * allreduce add floats, their size is the bytes of the vector; alltoall's size is that of each pair's block, allgather's
 * that of each rank. Buffers are reused and not read. n follows from a short trial, so that a figure takes about --ms
 * milliseconds (50) whatever the library; more ranks than cores make some libraries several thousand times slower.
 * --fresh: figures fresh_NAME: before each call every rank writes what it sends, after it it reads what it received; a
 * barrier stands before the call, and only the call is timed.
 * Options: --json, --quick, --tiny (5 and 2 sizes), --fresh, --ms N, --only barrier,bcast,reduce,allreduce,alltoall,allgather
 */
#include "bench.h"	/* first: it asks libc for more */
#include <mpi.h>

#define MAX	((size_t)1 << 20)

enum coll { BARRIER, BCAST, REDUCE, ALLREDUCE, ALLTOALL, ALLGATHER, COLLS };
static const char *const coll_name[] = { "barrier", "bcast", "reduce", "allreduce", "alltoall", "allgather" };
_Static_assert(sizeof(coll_name) / sizeof(coll_name[0]) == COLLS, "a name for each");

static int rank, size, fresh;
static void *sbuf, *rbuf;

static void call(enum coll c, size_t bytes, int i)
{
	int root = i % size;

	switch (c) {
	case BARRIER:
		MPI_Barrier(MPI_COMM_WORLD);
		break;
	case BCAST:
		MPI_Bcast(sbuf, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
		break;
	case REDUCE:
		MPI_Reduce(sbuf, rbuf, (int)(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
		break;
	case ALLREDUCE:
		MPI_Allreduce(sbuf, rbuf, (int)(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		break;
	case ALLTOALL:
		MPI_Alltoall(sbuf, (int)bytes, MPI_BYTE, rbuf, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
		break;
	case ALLGATHER:
		MPI_Allgather(sbuf, (int)bytes, MPI_BYTE, rbuf, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
		break;
	default:
		break;
	}
}

static uint64_t sum;

/* One call with new data, which are read behind it: ns of the call alone. */
static double call_fresh(enum coll c, size_t bytes, int i)
{
	size_t out = c == ALLTOALL ? bytes * (size_t)size : bytes;
	size_t in = c == ALLTOALL || c == ALLGATHER ? bytes * (size_t)size : bytes;
	double t;

	/* small numbers: they are added up as floats */
	if (c != BCAST || rank == i % size)
		for (size_t k = 0; k < out / sizeof(float); k++)
			((float *)sbuf)[k] = (float)(i + (int)(k & 7));
	MPI_Barrier(MPI_COMM_WORLD);
	t = bench_now_ns();
	call(c, bytes, i);
	t = bench_now_ns() - t;
	if (c != REDUCE || rank == i % size)
		sum += bench_sum(c == BCAST ? sbuf : rbuf, in);
	return t;
}

static double loop(enum coll c, size_t bytes, int n)
{
	double t;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	if (fresh) {
		t = 0;
		for (int i = 0; i < n; i++)
			t += call_fresh(c, bytes, i);
		return t / n;
	}
	t = bench_now_ns();
	for (int i = 0; i < n; i++)
		call(c, bytes, i);
	return (bench_now_ns() - t) / n;
}

/* ns per call, average over the ranks (in rank 0). */
static double measure(enum coll c, size_t bytes, double ms)
{
	double rep[3], trial, mean;
	int n;

	trial = loop(c, bytes, 4);
	trial = loop(c, bytes, 8);
	n = (int)(ms * 1e6 / 3 / (trial > 1 ? trial : 1));
	n = n < 4 ? 4 : n > 50000 ? 50000 : n;
	n -= n % size;			/* every rank is root equally often */
	n = n < size ? size : n;
	MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
	loop(c, bytes, n / 10 + 1);
	for (int r = 0; r < 3; r++) {
		double t = loop(c, bytes, n);

		MPI_Reduce(&t, &mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		rep[r] = mean / size;
	}
	return bench_median(rep, 3);
}

int main(int argc, char **argv)
{
	static const size_t quick_sizes[] = { 8, 1024, 8192, 32768, 1048576 };
	static const size_t full_sizes[] = { 8, 64, 512, 1024, 4096, 8192, 32768, 131072, 524288, 1048576 };
	static const size_t tiny_sizes[] = { 8, 32768 };
	int quick, tiny, json;
	double ms;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	quick = bench_flag(argc, argv, "--quick");
	tiny = bench_flag(argc, argv, "--tiny");
	json = bench_flag(argc, argv, "--json");
	ms = atof(bench_option(argc, argv, "--ms", "50"));
	fresh = bench_flag(argc, argv, "--fresh");
	if (bench_args(argc, argv, rank == 0, "--json --quick --tiny --fresh", "--only --ms",
		       "barrier bcast reduce allreduce alltoall allgather")) {
		MPI_Finalize();
		return 2;
	}
	bench_pin(rank);
	sbuf = calloc((size_t)size, MAX);
	rbuf = calloc((size_t)size, MAX);
	if (!sbuf || !rbuf)
		bench_die("mpi_coll: out of memory");
	memset(sbuf, 0, MAX * (size_t)size);
	memset(rbuf, 0, MAX * (size_t)size);

	if (rank == 0)
		bench_begin("mpi_coll", json);
	for (int c = 0; c < COLLS; c++) {
		const size_t *s = tiny ? tiny_sizes : quick ? quick_sizes : full_sizes;
		int count = tiny ? 2 : quick ? 5 : 10;

		char figure[24];

		if (!bench_wanted(argc, argv, coll_name[c]) || (fresh && c == BARRIER))
			continue;
		snprintf(figure, sizeof(figure), "%s%s", fresh ? "fresh_" : "", coll_name[c]);
		if (c == BARRIER)
			count = 1;
		for (int i = 0; i < count; i++) {
			size_t bytes = c == BARRIER ? 0 : s[i];
			double v = measure((enum coll)c, bytes, ms);

			if (rank == 0)
				bench_record(figure, bytes, v, "ns");
		}
	}
	__asm__ volatile("" : : "r"(sum));
	if (rank == 0)
		bench_end();
	MPI_Finalize();
	return 0;
}

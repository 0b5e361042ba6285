/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_halo - exchange with several partners, as Argonne's mpptest -halo defines it
 *
 * Partners stand at distances 1, -1, s, -s, then s+1, s-1, -s+1, -s-1 with s = floor(sqrt(ranks)); those outside of the
 * job are MPI_PROC_NULL. A repetition: for each partner Irecv then Isend (tag: the repetition), one Waitall. What was
 * received is checked at the end of each size. ns per exchange by size, mean over the ranks, the least of five trials.
 * --dims D: instead, the ranks are a grid of D dimensions, as MPI_Dims_create makes it, closed at its ends, in
 * row-major order as MPI_Cart_create numbers it; the partners are the two in each dimension. Figures halo2,
 * halo3.
 * Options: --json, --quick (fewer sizes), --partners K (4; even), --dims D (2 or 3)
 */
#include "bench.h"	/* first: it asks libc for more */
#include <mpi.h>

#define MAX		(64 << 10)
#define PARTNERS_MAX	8

static int rank, size, partners;
static int partner[PARTNERS_MAX];
static unsigned char *sbuf[PARTNERS_MAX], *rbuf[PARTNERS_MAX];

static void find_partners(void)
{
	int s = 1, d[PARTNERS_MAX];

	while ((s + 1) * (s + 1) <= size)
		s++;
	d[0] = 1, d[1] = -1, d[2] = s, d[3] = -s;
	d[4] = s + 1, d[5] = s - 1, d[6] = -s + 1, d[7] = -s - 1;
	if (s == 2)
		d[4] = 3, d[5] = 4, d[6] = -4, d[7] = -3;
	for (int k = 0; k < partners; k++) {
		partner[k] = rank + d[k];
		if (partner[k] < 0 || partner[k] >= size || d[k] == 0)
			partner[k] = MPI_PROC_NULL;
	}
}

/* The two in each dimension; who is his own neighbour there has none. */
static void find_neighbours(int dims)
{
	int shape[3] = { 0 }, wraps[3] = { 1, 1, 1 };
	MPI_Comm grid;

	MPI_Dims_create(size, dims, shape);
	MPI_Cart_create(MPI_COMM_WORLD, dims, shape, wraps, 0, &grid);
	for (int d = 0; d < dims; d++) {
		MPI_Cart_shift(grid, d, 1, &partner[2 * d + 1], &partner[2 * d]);
		if (shape[d] == 1)
			partner[2 * d] = partner[2 * d + 1] = MPI_PROC_NULL;
	}
	MPI_Comm_free(&grid);
}

static double exchange(int n, int times)
{
	MPI_Request req[2 * PARTNERS_MAX];
	double t;

	MPI_Barrier(MPI_COMM_WORLD);
	t = bench_now_ns();
	for (int i = 0; i < times; i++) {
		for (int k = 0; k < partners; k++) {
			/* towards +d and from -d is the same pair of ranks; its messages keep their order */
			MPI_Irecv(rbuf[k], n, MPI_BYTE, partner[k], i, MPI_COMM_WORLD, &req[2 * k]);
			MPI_Isend(sbuf[k], n, MPI_BYTE, partner[k], i, MPI_COMM_WORLD, &req[2 * k + 1]);
		}
		MPI_Waitall(2 * partners, req, MPI_STATUSES_IGNORE);
	}
	return (bench_now_ns() - t) / times;
}

int main(int argc, char **argv)
{
	int quick, times, dims;
	char figure[16];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	quick = bench_flag(argc, argv, "--quick");
	partners = atoi(bench_option(argc, argv, "--partners", "4"));
	dims = atoi(bench_option(argc, argv, "--dims", "0"));
	if (bench_args(argc, argv, rank == 0, "--json --quick", "--partners --dims", "") || partners < 2 ||
	    partners > PARTNERS_MAX || partners % 2 || dims < 0 || dims == 1 || dims > 3) {
		if (rank == 0)
			fprintf(stderr, "mpi_halo: --partners is 2, 4, 6 or 8, --dims 2 or 3\n");
		MPI_Finalize();
		return 2;
	}
	bench_pin(rank);
	if (dims) {
		partners = 2 * dims;
		find_neighbours(dims);
		snprintf(figure, sizeof(figure), "halo%d", dims);
	} else {
		find_partners();
		snprintf(figure, sizeof(figure), "halo");
	}
	for (int k = 0; k < partners; k++) {
		sbuf[k] = malloc(MAX);
		rbuf[k] = malloc(MAX);
		if (!sbuf[k] || !rbuf[k])
			bench_die("mpi_halo: out of memory");
		memset(sbuf[k], rank + 1, MAX);
		memset(rbuf[k], 0, MAX);
	}
	if (rank == 0)
		bench_begin("mpi_halo", bench_flag(argc, argv, "--json"));
	for (int n = 8; n <= MAX; n *= quick ? 8 : 2) {
		double best = 0, t = exchange(n, 4), mean;

		times = (int)(2e7 / t);
		times = times > 1000 ? 1000 : times < 4 ? 4 : times;
		MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
		for (int r = 0; r < 5; r++) {
			t = exchange(n, times);
			MPI_Reduce(&t, &mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
			mean /= size;
			best = r == 0 || mean < best ? mean : best;
		}
		for (int k = 0; k < partners; k++)
			if (partner[k] != MPI_PROC_NULL && (rbuf[k][0] != (unsigned char)(partner[k] + 1) ||
							    rbuf[k][n - 1] != (unsigned char)(partner[k] + 1)))
				bench_die("mpi_halo: rank %d has other data than those of rank %d", rank, partner[k]);
		if (rank == 0)
			bench_record(figure, (size_t)n, best, "ns");
	}
	if (rank == 0)
		bench_end();
	MPI_Finalize();
	return 0;
}

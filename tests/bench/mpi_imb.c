/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_imb - PingPong, Sendrecv and Exchange by the definitions of the Intel MPI Benchmarks, and bandwidth in both
 * directions; their collectives are in mpi_coll
 *
 * Sizes 0, 1, 2, 4 ... 4 MiB; min(1000, 40 MiB / size) repetitions, fewer where they would take longer than --secs
 * (IMB: SECS_PER_SAMPLE), after a tenth of them, 10 at least, to warm up, and two barriers; the same buffers each time,
 * not read by the receiver. Times are per repetition (pingpong: half of it), averaged over the ranks that take part.
 *   pingpong    ranks 0 and 1, Send and Recv back and forth
 *   sendrecv    all ranks in a ring: MPI_Sendrecv to the right, from the left (2 x size bytes per rank and time)
 *   exchange    both neighbours in the ring: 2 Isend, 2 Recv, Waitall (4 x size)
 *   bidir       ranks 0 and 1: 16 Irecv and 16 Isend at once, both ways, 64 KiB to 4 MiB: ns per message and direction
 * Options: --json, --quick (fewer sizes), --secs S (1), --only pingpong,sendrecv,exchange,bidir
 */
#include "bench.h"	/* first: it asks libc for more */
#include <mpi.h>

#define MAX	((size_t)4 << 20)
#define WINDOW	16
#define TAG	1

enum part { PINGPONG, SENDRECV, EXCHANGE, BIDIR, PARTS };
static const char *const part_name[] = { "pingpong", "sendrecv", "exchange", "bidir" };

static int rank, size;
static char *sbuf, *rbuf;

static void once(enum part p, size_t n)
{
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	MPI_Request req[2 * WINDOW];

	switch (p) {
	case PINGPONG:
		if (rank == 0) {
			MPI_Send(sbuf, (int)n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
			MPI_Recv(rbuf, (int)n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else if (rank == 1) {
			MPI_Recv(rbuf, (int)n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(sbuf, (int)n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
		}
		break;
	case SENDRECV:
		MPI_Sendrecv(sbuf, (int)n, MPI_BYTE, right, TAG, rbuf, (int)n, MPI_BYTE, left, TAG, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		break;
	case EXCHANGE:
		MPI_Isend(sbuf, (int)n, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &req[0]);
		MPI_Isend(sbuf, (int)n, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &req[1]);
		MPI_Recv(rbuf, (int)n, MPI_BYTE, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(rbuf + MAX, (int)n, MPI_BYTE, right, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
		break;
	case BIDIR:
		if (rank > 1)
			break;
		for (int i = 0; i < WINDOW; i++)
			MPI_Irecv(rbuf, (int)n, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, &req[i]);
		for (int i = 0; i < WINDOW; i++)
			MPI_Isend(sbuf, (int)n, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, &req[WINDOW + i]);
		MPI_Waitall(2 * WINDOW, req, MPI_STATUSES_IGNORE);
		break;
	default:
		break;
	}
}

static double loop(enum part p, size_t bytes, int n)
{
	double t;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	t = bench_now_ns();
	for (int i = 0; i < n; i++)
		once(p, bytes);
	return (bench_now_ns() - t) / n;
}

/* ns per repetition, in rank 0. */
static double measure(enum part p, size_t bytes, double secs)
{
	int n = bytes > (40u << 20) / 1000 ? (int)((40u << 20) / bytes) : 1000, warm;
	int takes_part = p == PINGPONG || p == BIDIR ? 2 : size;
	double t, sum = 0;

	if (p == BIDIR)
		n = n / WINDOW > 2 ? n / WINDOW : 2;
	t = loop(p, bytes, 2);
	if (t * n > secs * 1e9)
		n = (int)(secs * 1e9 / t);
	n = n < 2 ? 2 : n;
	MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
	warm = n / 10 > 10 ? n / 10 : n < 10 ? 1 : 10;
	loop(p, bytes, warm);
	t = loop(p, bytes, n);
	if (rank >= takes_part)
		t = 0;
	MPI_Reduce(&t, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	t = sum / takes_part;
	return p == PINGPONG ? t / 2 : p == BIDIR ? t / WINDOW : t;
}

int main(int argc, char **argv)
{
	static const size_t quick_sizes[] = { 0, 8, 1024, 8192, 65536, 1048576 };
	int quick, json;
	double secs;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	quick = bench_flag(argc, argv, "--quick");
	json = bench_flag(argc, argv, "--json");
	secs = atof(bench_option(argc, argv, "--secs", "1"));
	if (size < 2) {
		fprintf(stderr, "mpi_imb: run it on 2 ranks or more\n");
		MPI_Finalize();
		return 1;
	}
	if (bench_args(argc, argv, rank == 0, "--json --quick", "--only --secs", "pingpong sendrecv exchange bidir")) {
		MPI_Finalize();
		return 2;
	}
	bench_pin(rank);
	sbuf = malloc(MAX + 8192);
	rbuf = malloc(2 * MAX + 8192);
	if (!sbuf || !rbuf)
		bench_die("mpi_imb: out of memory");
	memset(sbuf, 1, MAX + 8192);
	memset(rbuf, 2, 2 * MAX + 8192);
	sbuf += 64;
	rbuf += 64 + 2048;

	if (rank == 0)
		bench_begin("mpi_imb", json);
	for (int p = 0; p < PARTS; p++) {
		if (!bench_wanted(argc, argv, part_name[p]))
			continue;
		for (size_t n = 0; n <= MAX; n = n ? 2 * n : 1) {
			int listed = !quick;
			double v;

			for (size_t i = 0; quick && i < sizeof(quick_sizes) / sizeof(*quick_sizes); i++)
				listed |= quick_sizes[i] == n;
			if (p == BIDIR ? n < (64u << 10) || (quick && n != (64u << 10) && n != (1u << 20)) : !listed)
				continue;
			v = measure((enum part)p, n, secs);
			if (rank == 0)
				bench_record(part_name[p], n, v, "ns");
		}
	}
	if (rank == 0)
		bench_end();
	MPI_Finalize();
	return 0;
}

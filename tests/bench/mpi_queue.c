/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_queue - what a message costs beside many posted receives, or many unexpected messages; ranks 0 and 1
 *
 *   behind_posted        half round trip of 8 bytes while N receives with other tags stand before the one that matches
 *   behind_unexpected    the same while N unexpected messages lie before the one that is received
 *   drain_posted         N receives are posted, their messages come in the opposite order: ns for each
 *   drain_unexpected     N messages have come, they are received in the opposite order: ns for each
 * (bytes) is N. Options: --json, --quick (N = 1, 100, 10000; else 1, 10 ... 10000), --only ...
 */
#include "bench.h"	/* first: it asks libc for more */
#include <mpi.h>

#define N_MAX	10000
#define WANTED	(N_MAX + 1)	/* tag of the ping-pong */
#define SYNC	(N_MAX + 2)
#define BLOCK	100		/* messages between two looks of the receiver: any library has room for them */

static int rank;
static MPI_Request req[N_MAX];
static double data[N_MAX];

static void sync_ranks(void)
{
	MPI_Sendrecv(NULL, 0, MPI_BYTE, !rank, SYNC, NULL, 0, MPI_BYTE, !rank, SYNC, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Half round trip in ns, as long as it takes to be certain. */
static double pingpong(void)
{
	double rep[9], word = 0;

	for (int r = 0; r < 9; r++) {
		double t = bench_now_ns();
		int i;

		for (i = 0; i < 20; i++) {
			if (rank == 0) {
				MPI_Send(&word, 1, MPI_DOUBLE, 1, WANTED, MPI_COMM_WORLD);
				MPI_Recv(&word, 1, MPI_DOUBLE, 1, WANTED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			} else {
				MPI_Recv(&word, 1, MPI_DOUBLE, 0, WANTED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				MPI_Send(&word, 1, MPI_DOUBLE, 0, WANTED, MPI_COMM_WORLD);
			}
		}
		rep[r] = (bench_now_ns() - t) / i / 2;
	}
	return bench_median(rep, 9);
}

static void post(int n)
{
	for (int i = 0; i < n; i++)
		MPI_Irecv(&data[i], 1, MPI_DOUBLE, !rank, i, MPI_COMM_WORLD, &req[i]);
}

/* All messages in order; the receiver looks now and then, so that they become unexpected there. */
static void send_all(int n)
{
	for (int i = 0; i < n; i++) {
		data[i] = i;
		MPI_Send(&data[i], 1, MPI_DOUBLE, !rank, i, MPI_COMM_WORLD);
		if (i % BLOCK == BLOCK - 1)
			sync_ranks();
	}
	sync_ranks();
}

static void take_in(int n)
{
	for (int i = 0; i < n; i++)
		if (i % BLOCK == BLOCK - 1)
			sync_ranks();
	sync_ranks();
}

static void check(int n)
{
	for (int i = 0; i < n; i++)
		if (data[i] != i)
			bench_die("mpi_queue: message %d of %d has the data of %g", i, n, data[i]);
}

/* Both ranks post, so that both ends of the ping-pong search. */
static double behind_posted(int n)
{
	static double out;
	double t;

	post(n);
	sync_ranks();
	pingpong();
	t = pingpong();
	sync_ranks();
	for (int i = 0; i < n; i++) {
		out = i;
		MPI_Send(&out, 1, MPI_DOUBLE, !rank, i, MPI_COMM_WORLD);
		if (i % BLOCK == BLOCK - 1)
			sync_ranks();
	}
	MPI_Waitall(n, req, MPI_STATUSES_IGNORE);
	check(n);
	return t;
}

static void receive_up(int n)
{
	for (int i = 0; i < n; i++)
		MPI_Recv(&data[i], 1, MPI_DOUBLE, !rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	check(n);
}

/* Each rank's messages lie at the other. */
static double behind_unexpected(int n)
{
	double t;

	if (rank == 0) {
		send_all(n);
		take_in(n);
	} else {
		take_in(n);
		send_all(n);
	}
	pingpong();
	t = pingpong();
	memset(data, 0, sizeof(data));
	receive_up(n);
	sync_ranks();
	return t;
}

/* Rank 1 receives; its time, in rank 0. */
static double drain(int n, int posted)
{
	double t = 0;

	memset(data, 0, sizeof(data));
	if (posted) {
		if (rank == 1)
			post(n);
		sync_ranks();
		t = bench_now_ns();
		if (rank == 0) {
			for (int i = n - 1; i >= 0; i--) {
				double word = i;

				MPI_Send(&word, 1, MPI_DOUBLE, 1, i, MPI_COMM_WORLD);
			}
		} else {
			MPI_Waitall(n, req, MPI_STATUSES_IGNORE);
		}
	} else {
		if (rank == 0)
			send_all(n);
		else
			take_in(n);
		t = bench_now_ns();
		if (rank == 1)
			for (int i = n - 1; i >= 0; i--)
				MPI_Recv(&data[i], 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	t = (bench_now_ns() - t) / n;
	if (rank == 1) {
		check(n);
		MPI_Send(&t, 1, MPI_DOUBLE, 0, SYNC, MPI_COMM_WORLD);
	} else {
		MPI_Recv(&t, 1, MPI_DOUBLE, 1, SYNC, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	sync_ranks();
	return t;
}

static double run(int what, int n)
{
	return what == 0 ? behind_posted(n) : what == 1 ? behind_unexpected(n) : drain(n, what == 2);
}

int main(int argc, char **argv)
{
	static const char *const name[] = { "behind_posted", "behind_unexpected", "drain_posted", "drain_unexpected" };
	int size, quick;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	quick = bench_flag(argc, argv, "--quick");
	if (size != 2 || bench_args(argc, argv, rank == 0, "--json --quick", "--only",
				    "behind_posted behind_unexpected drain_posted drain_unexpected")) {
		if (size != 2 && rank == 0)
			fprintf(stderr, "mpi_queue: run it on 2 ranks\n");
		MPI_Finalize();
		return 2;
	}
	bench_pin(rank);
	if (rank == 0)
		bench_begin("mpi_queue", bench_flag(argc, argv, "--json"));
	for (int what = 0; what < 4; what++) {
		if (!bench_wanted(argc, argv, name[what]))
			continue;
		for (int n = 1; n <= N_MAX; n *= quick ? 100 : 10) {
			double rep[3];

			for (int r = 0; r < 3; r++)
				rep[r] = run(what, n);
			if (rank == 0)
				bench_record(name[what], (size_t)n, bench_median(rep, 3), "ns");
		}
	}
	if (rank == 0)
		bench_end();
	MPI_Finalize();
	return 0;
}

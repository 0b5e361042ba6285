/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * with_mpi.c - for t_mpi.sh: MPI and SHMEM in one program, in either order of start and of end
 *
 *	with_mpi mpi|shmem mpi|shmem	which starts first, which ends first
 *
 * Ranks are PEs. The same memory of the symmetric heap is put to and reduced by MPI; either's barrier is enough behind
 * a blocking put and a quiet; each goes on when the other has ended.
 */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

enum { LONG = 1 << 16, ROUNDS = 20 };

static int me, n, to, from, bad;
static long *heap;
static long counter;

#define CHECK(x)									\
	do {										\
		if (!(x) && bad++ < 5)							\
			printf("rank %d: line %d: %s\n", me, __LINE__, #x);		\
	} while (0)

static void start_mpi(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
}

/* What is put is reduced where it lies, and what MPI leaves there is got. */
static void put_then_allreduce(int len)
{
	long *in = heap, *out = heap + LONG, got[2];

	for (int r = 1; r <= ROUNDS; r++) {
		for (int i = 0; i < len; i++)
			out[i] = r * 100 + me + i;
		shmem_long_put(in, out, (size_t)len, to);
		shmem_quiet();
		MPI_Barrier(MPI_COMM_WORLD);
		CHECK(in[0] == r * 100 + from && in[len - 1] == r * 100 + from + len - 1);
		MPI_Allreduce(MPI_IN_PLACE, in, len, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		CHECK(in[0] == (long)n * r * 100 + n * (n - 1) / 2);
		CHECK(in[len - 1] == in[0] + (long)n * (len - 1));
		shmem_barrier_all();
		shmem_long_get(got, in + len - 1, 1, to);
		CHECK(got[0] == in[len - 1]);
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out, in, (size_t)len);
		CHECK(out[0] == n * in[0] && out[len - 1] == n * in[len - 1]);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* Messages out of and into symmetric memory, while operations of SHMEM go on. */
static void messages_beside_atomics(void)
{
	long *in = heap, *out = heap + LONG;
	MPI_Request r[2];
	MPI_Status st[2];

	for (int round = 0; round < ROUNDS; round++) {
		int len = round & 1 ? LONG : 3;

		for (int i = 0; i < len; i++)
			out[i] = me * 1000 + round + i;
		MPI_Irecv(in, len, MPI_LONG, from, round, MPI_COMM_WORLD, &r[0]);
		for (int pe = 0; pe < n; pe++)
			shmem_long_atomic_inc(&counter, pe);
		MPI_Isend(out, len, MPI_LONG, to, round, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, st);
		CHECK(in[0] == from * 1000 + round && in[len - 1] == in[0] + len - 1);
	}
	shmem_barrier_all();
	CHECK(counter == (long)n * ROUNDS);
}

static void shmem_alone(void)
{
	shmem_long_p(heap, 7 + me, to);
	shmem_barrier_all();
	CHECK(heap[0] == 7 + from);
	shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap + 1, heap, 1);
	CHECK(heap[1] == 7L * n + n * (n - 1) / 2);
}

static void mpi_alone(void)
{
	int sum = 0, got = -1;

	MPI_Sendrecv(&me, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(got == from && sum == n * (n - 1) / 2);
}

int main(int argc, char **argv)
{
	int mpi_starts = argc < 2 || !strcmp(argv[1], "mpi"), mpi_ends = argc < 3 || !strcmp(argv[2], "mpi");
	int all = 0;

	if (mpi_starts) {
		start_mpi(&argc, &argv);
		shmem_init();
	} else {
		shmem_init();
		start_mpi(&argc, &argv);
	}
	CHECK(shmem_my_pe() == me && shmem_n_pes() == n);
	to = (me + 1) % n;
	from = (me + n - 1) % n;
	heap = shmem_malloc(2 * LONG * sizeof(*heap));
	CHECK(heap != NULL);
	put_then_allreduce(1);
	put_then_allreduce(1000);
	put_then_allreduce(LONG);
	messages_beside_atomics();
	MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (mpi_ends) {
		MPI_Finalize();
		shmem_alone();
		shmem_finalize();
	} else {
		shmem_finalize();
		mpi_alone();
		MPI_Finalize();
	}
	if (!bad && !all)
		printf("rank %d is right\n", me);
	return bad || all;
}

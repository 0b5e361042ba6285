/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * with_mpi.c - for t_mpi.sh: MPI and DMAPP in one program, in either order of start and end
 *
 *	with_mpi mpi|dmapp	which starts first, and ends last
 *
 * Ranks are PEs. MPI's barrier behind a blocking put is enough for who reads; MPI sends from and receives into the
 * symmetric heap; descriptors of registered memory go by MPI; each makes progress while the other is under way.
 */
#include <dmapp.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 1 << 16, ROUNDS = 20 };

static int me, n, to, from, bad;
static dmapp_jobinfo_t job;
static uint64_t *heap;
static uint64_t counter;

#define CHECK(x)									\
	do {										\
		if (!(x) && bad++ < 5)							\
			printf("rank %d: line %d: %s\n", me, __LINE__, #x);		\
	} while (0)
#define OK(call) CHECK((call) == DMAPP_RC_SUCCESS)

static void start_mpi(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
}

static void start_dmapp(void)
{
	OK(dmapp_init(NULL, NULL));
	OK(dmapp_get_jobinfo(&job));
}

/* What a blocking put has stored is there behind MPI's barrier. */
static void put_then_barrier(void)
{
	uint64_t mine[8];

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		for (int k = 0; k < 8; k++)
			mine[k] = i << 32 | (uint64_t)me;
		OK(dmapp_put(heap, &job.sheap_seg, to, mine, 8, DMAPP_QW));
		MPI_Barrier(MPI_COMM_WORLD);
		CHECK(heap[0] == (i << 32 | (uint64_t)from) && heap[7] == heap[0]);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* Messages between symmetric memory, short and long, while DMAPP's operations go on. */
static void messages_beside_puts(void)
{
	uint64_t *in = heap + 64, *out = in + LONG, one = 1;
	MPI_Request r[2];
	MPI_Status st[2];

	counter = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int round = 0; round < ROUNDS; round++) {
		int len = round & 1 ? LONG : 3;

		for (int i = 0; i < len; i++)
			out[i] = (uint64_t)(me * 1000 + round + i);
		MPI_Irecv(in, len, MPI_UINT64_T, from, round, MPI_COMM_WORLD, &r[0]);
		for (int pe = 0; pe < n; pe++)
			OK(dmapp_aadd_qw_nbi(&counter, &job.data_seg, pe, 1));
		MPI_Isend(out, len, MPI_UINT64_T, to, round, MPI_COMM_WORLD, &r[1]);
		OK(dmapp_put_nbi(heap + 8, &job.sheap_seg, to, &one, 1, DMAPP_QW));
		OK(dmapp_gsync_wait());
		MPI_Waitall(2, r, st);
		CHECK(in[0] == (uint64_t)(from * 1000 + round) && in[len - 1] == in[0] + (uint64_t)len - 1);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(counter == (uint64_t)(n * ROUNDS));
}

/* As DMAPP's clients do it: what each has registered, all know by an allgather. */
static void descriptors_by_mpi(void)
{
	dmapp_seg_desc_t own, *all = malloc((size_t)n * sizeof(*all));
	uint64_t *mine = malloc(LONG * sizeof(*mine)), *got = malloc(LONG * sizeof(*got));

	CHECK(all && mine && got);
	for (int i = 0; i < LONG; i++)
		mine[i] = (uint64_t)(me * 7 + i);
	OK(dmapp_mem_register(mine, LONG * sizeof(*mine), &own));
	MPI_Allgather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, MPI_COMM_WORLD);
	for (int k = 0; k < n; k++) {
		int pe = (me + k) % n;

		memset(got, 0, LONG * sizeof(*got));
		OK(dmapp_get(got, all[pe].addr, &all[pe], pe, LONG, DMAPP_QW));
		CHECK(got[0] == (uint64_t)(pe * 7) && got[LONG - 1] == got[0] + LONG - 1);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	OK(dmapp_mem_unregister(&own));
	free(all);
	free(mine);
	free(got);
}

int main(int argc, char **argv)
{
	int mpi_first = argc < 2 || strcmp(argv[1], "dmapp"), all = 0;

	if (mpi_first) {
		start_mpi(&argc, &argv);
		start_dmapp();
	} else {
		start_dmapp();
		start_mpi(&argc, &argv);
	}
	CHECK(job.npes == n && job.pe == me);
	to = (me + 1) % n;
	from = (me + n - 1) % n;
	heap = dmapp_sheap_malloc((64 + 2 * LONG) * sizeof(*heap));
	CHECK(heap != NULL);
	put_then_barrier();
	messages_beside_puts();
	descriptors_by_mpi();
	MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (mpi_first) {
		OK(dmapp_finalize());
		MPI_Barrier(MPI_COMM_WORLD);		/* it goes on without the other */
		MPI_Finalize();
	} else {
		uint64_t v = (uint64_t)me;

		MPI_Finalize();
		OK(dmapp_put(heap, &job.sheap_seg, to, &v, 1, DMAPP_QW));
		OK(dmapp_finalize());
	}
	if (!me && !all && !bad)
		puts("all is right");
	return bad || all;
}

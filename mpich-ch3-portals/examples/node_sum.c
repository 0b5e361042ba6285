/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * node_sum - an allreduce by hand: on the node each rank adds its part of all vectors by loads from the others' memory,
 * between nodes by MPI
 *
 *	mpicc node_sum.c -o node_sum && mpiexec -n 4 ./node_sum
 */
#include <mpi_smartmap.h>
#include <stdio.h>
#include <stdlib.h>

#define N	100000

int main(int argc, char **argv)
{
	int rank, size, place, on_node, from, to, wrong = 0;
	double *mine, *sum, **theirs, *one;
	MPI_Comm node, net;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPIX_Comm_node(MPI_COMM_WORLD, &node);
	MPIX_Comm_net(MPI_COMM_WORLD, &net);
	MPI_Comm_rank(node, &place);
	MPI_Comm_size(node, &on_node);

	mine = malloc(N * sizeof(*mine));
	sum = calloc(N, sizeof(*sum));
	theirs = malloc(on_node * sizeof(*theirs));
	for (int i = 0; i < N; i++)
		mine[i] = rank + i;

	/* everyone tells where its vector is; from here on it is one more array */
	MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, theirs, sizeof(mine), MPI_BYTE, node);
	for (int r = 0; r < on_node; r++) {
		int peer;

		MPIX_Smartmap_rank(node, r, &peer);
		one = MPIX_Smartmap_remote(peer, theirs[r], N * sizeof(*one));
		if (!one) {
			fprintf(stderr, "rank %d of the node cannot be reached directly: is SMARTMAP off?\n", r);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
		theirs[r] = one;
	}
	from = (int)((long)N * place / on_node);
	to = (int)((long)N * (place + 1) / on_node);
	MPI_Barrier(node);		/* all vectors are written */
	for (int r = 0; r < on_node; r++)
		for (int i = from; i < to; i++)
			sum[i] += theirs[r][i];
	MPI_Barrier(node);		/* and read, so they may be written again */

	/* each place of the nodes has a part of the vector, where all nodes have as many ranks */
	MPI_Allreduce(MPI_IN_PLACE, sum + from, to - from, MPI_DOUBLE, MPI_SUM, net);
	for (int i = from; i < to; i++)
		wrong += sum[i] != (double)size * i + size * (size - 1) / 2.0;
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks, %d on this node: %d wrong sums\n", size, on_node, wrong);
	MPI_Comm_free(&net);
	MPI_Comm_free(&node);
	MPI_Finalize();
	return wrong != 0;
}

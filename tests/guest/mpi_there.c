/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_there.c - messages of many lengths from rank 0 to the last and back, with other bytes each time; a sum over all
 *
 * Rank 0 prints one line, "there and back: N messages, M bytes", when every byte was right, and all agree.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX	(2 << 20)

static void fill(unsigned char *b, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245u + 12345u;
		b[i] = (unsigned char)(seed ^ seed >> 16);
	}
}

int main(int argc, char **argv)
{
	static const int len[] = { 0, 1, 8, 1000, 4096, 32768, 32769, 100000, 262144, 262145, 1 << 20, MAX };
	unsigned char *b = malloc(MAX), *want = malloc(MAX);
	int rank, size, wrong = 0, all = 0, n = 0;
	long bytes = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (unsigned k = 0; k < 2 * sizeof(len) / sizeof(*len) && b && want; k++) {
		int l = len[k / 2];

		fill(want, (size_t)l, k + 1);
		memset(b, 0xee, (size_t)l);
		if (!rank) {
			MPI_Send(want, l, MPI_BYTE, size - 1, (int)k, MPI_COMM_WORLD);
			MPI_Recv(b, l, MPI_BYTE, size - 1, (int)k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else if (rank == size - 1) {
			MPI_Recv(b, l, MPI_BYTE, 0, (int)k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(b, l, MPI_BYTE, 0, (int)k, MPI_COMM_WORLD);
		} else {
			continue;
		}
		wrong += memcmp(b, want, (size_t)l) != 0;
		bytes += 2L * l;
		n += 2;
	}
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank && !all)
		printf("there and back: %d messages, %ld bytes\n", n, bytes);
	MPI_Finalize();
	return all != 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_there.c - messages of many lengths from rank 0 to the last and back, with other bytes each time; a sum over all
 *
 * Rank 0 prints a line, "there and back: N messages, M bytes", when every byte was right, and all agree; then one with
 * what 8 bytes take there and back, "round trip of 8 bytes: N ns": the least of some rounds, short ones, since emulated
 * machines are slow.
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

static double round_trip(int rank, int peer, int n)
{
	double least = 1e9, t;
	char word[8] = "";

	for (int r = 0; r < 5; r++) {
		t = MPI_Wtime();
		for (int i = 0; i < n; i++) {
			if (!rank)
				MPI_Send(word, 8, MPI_BYTE, peer, i, MPI_COMM_WORLD);
			MPI_Recv(word, 8, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (rank)
				MPI_Send(word, 8, MPI_BYTE, peer, i, MPI_COMM_WORLD);
		}
		t = (MPI_Wtime() - t) / n;
		if (t < least)
			least = t;
	}
	return least;
}

int main(int argc, char **argv)
{
	static const int len[] = { 0, 1, 8, 1000, 4096, 32768, 32769, 100000, 262144, 262145, 1 << 20, MAX };
	unsigned char *b = malloc(MAX), *want = malloc(MAX);
	int rank, size, wrong = 0, all = 0, n = 0;
	double took = 0;
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
	if (size > 1 && (!rank || rank == size - 1))
		took = round_trip(rank, rank ? 0 : size - 1, 100);
	if (size > 1 && !rank && !all)
		printf("round trip of 8 bytes: %.0f ns\n", took * 1e9);
	MPI_Finalize();
	return all != 0;
}

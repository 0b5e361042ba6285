/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * More long messages under way than a peer keeps records for, all to all, into mapped memory: where the kernel's copy
 * is refused each waits for its owner, and the ninth must wait for one of the eight before it.
 */
#define _GNU_SOURCE
#include "m.h"
#include <sys/mman.h>

#define N	(256 * 1024)
#define MANY	20
#define ROUNDS	4

static unsigned char *map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		MPI_Abort(MPI_COMM_WORLD, 3);
	return p;
}

static uint32_t seed_of(int from, int to, int i, int round)
{
	return ((from * 16 + to) * 64 + i) * 16 + round;
}

int main(int argc, char **argv)
{
	int r, i, k, round;
	unsigned char *in, *out;
	MPI_Request *req;

	m_start(&argc, &argv);
	in = map((size_t)m_size * MANY * N);
	out = map((size_t)m_size * MANY * N);
	req = malloc(2 * m_size * MANY * sizeof(*req));
	for (round = 0; round < ROUNDS; round++) {
		memset(in, 0xee, (size_t)m_size * MANY * N);
		for (r = 0; r < m_size; r++)
			for (i = 0; i < MANY; i++)
				m_fill(out + ((size_t)r * MANY + i) * N, N, seed_of(m_rank, r, i, round));
		MPI_Barrier(MPI_COMM_WORLD);
		k = 0;
		if (round % 2)		/* sends find their receives posted, or not */
			for (i = 0; i < MANY; i++)
				for (r = 0; r < m_size; r++)
					MPI_Isend(out + ((size_t)r * MANY + i) * N, N, MPI_BYTE, r, i, MPI_COMM_WORLD,
						  &req[k++]);
		for (i = MANY; i-- > 0;)
			for (r = 0; r < m_size; r++)
				MPI_Irecv(in + ((size_t)r * MANY + i) * N, N, MPI_BYTE, r, i, MPI_COMM_WORLD,
					  &req[k++]);
		if (round % 2 == 0)
			for (i = 0; i < MANY; i++)
				for (r = 0; r < m_size; r++)
					MPI_Isend(out + ((size_t)r * MANY + i) * N, N, MPI_BYTE, r, i, MPI_COMM_WORLD,
						  &req[k++]);
		m_waitall(k, req);
		for (r = 0; r < m_size; r++)
			for (i = 0; i < MANY; i++) {
				long at = m_wrong(in + ((size_t)r * MANY + i) * N, N, seed_of(r, m_rank, i, round));

				CHECK(at < 0, "round %d, message %d from %d, byte %ld", round, i, r, at);
			}
	}
	free(req);
	return m_finish();
}

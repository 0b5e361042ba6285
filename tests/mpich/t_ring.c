/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* More ranks than cores: a token round the ring, blocks shifted round it, and collectives checked by value. */
#include "m.h"

int main(int argc, char **argv)
{
	static unsigned char out[100000], in[100000];
	int i, n, next, prev, token = 0, sum;
	long *all;

	m_start(&argc, &argv);
	next = (m_rank + 1) % m_size;
	prev = (m_rank + m_size - 1) % m_size;
	for (i = 0; i < 50; i++) {
		if (m_rank == 0) {
			token++;
			MPI_Send(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
			MPI_Recv(&token, 1, MPI_INT, prev, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(token == (i + 1) * m_size, "token %d, round %d", token, i);
		} else {
			MPI_Recv(&token, 1, MPI_INT, prev, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			token++;
			MPI_Send(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
		}
	}
	for (i = 0; i < 40; i++) {
		n = 1 + i * i * 60;
		m_fill(out, n, 100 * i + m_rank);
		MPI_Sendrecv(out, n, MPI_BYTE, next, 2, in, n, MPI_BYTE, prev, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(m_wrong(in, n, 100 * i + prev) < 0, "size %d", n);
	}
	for (i = 0; i < 20; i++) {
		n = m_rank * i;
		MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(sum == i * m_size * (m_size - 1) / 2);
	}
	all = malloc(m_size * 5000 * sizeof(*all));
	{
		long *mine = malloc(5000 * sizeof(*mine));

		for (i = 0; i < 5000; i++)
			mine[i] = m_rank * 10000L + i;
		MPI_Allgather(mine, 5000, MPI_LONG, all, 5000, MPI_LONG, MPI_COMM_WORLD);
		free(mine);
	}
	for (i = 0; i < m_size * 5000; i++)
		CHECK(all[i] == i / 5000 * 10000L + i % 5000);
	free(all);
	return m_finish();
}

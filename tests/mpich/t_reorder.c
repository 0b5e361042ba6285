/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* MPICH_RANK_ORDER reverses the ranks: the launcher's process i of n is rank n-1-i, for MPI and for its messages. */
#include "m.h"

int main(int argc, char **argv)
{
	const char *launched = getenv("PMI_RANK");
	int from, node_size, token;
	MPI_Comm node;

	m_start(&argc, &argv);
	CHECK(launched != NULL);
	if (launched)
		CHECK(m_rank == m_size - 1 - atoi(launched), "launched as %s", launched);
	from = m_rank;
	MPI_Sendrecv(&from, 1, MPI_INT, (m_rank + 1) % m_size, 1, &token, 1, MPI_INT, (m_rank + m_size - 1) % m_size, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(token == (m_rank + m_size - 1) % m_size);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &node_size);
	CHECK(node_size == m_size, "%d on this node", node_size);
	MPI_Comm_free(&node);
	return m_finish();
}

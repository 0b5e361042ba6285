/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_queues - a rank with posted receives and unexpected messages, for tests/mpich/gdb, which stops it in t_look_here()
 */
#include "m.h"
#include <unistd.h>

__attribute__((noinline)) void t_look_here(void);
void t_look_here(void)
{
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	static int a[100], b, c;
	MPI_Comm comm;
	MPI_Request req[2];

	m_start(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_name(comm, "second");
	if (m_rank == 1) {
		MPI_Irecv(a, 100, MPI_INT, 0, 17, MPI_COMM_WORLD, &req[0]);
		MPI_Irecv(&b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &req[1]);
	} else {
		MPI_Send(a, 5, MPI_INT, 1, 41, MPI_COMM_WORLD);
		MPI_Send(a, 6, MPI_INT, 1, 42, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == 1) {
		/* both have come when the later one has */
		int there = 0;

		while (!there)
			MPI_Iprobe(0, 42, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
		t_look_here();
		MPI_Recv(a, 100, MPI_INT, 0, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(a, 100, MPI_INT, 0, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
		m_waitall(2, req);
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Send(&c, 1, MPI_INT, 1, 17, MPI_COMM_WORLD);
		MPI_Send(&c, 1, MPI_INT, 1, 99, comm);
	}
	MPI_Comm_free(&comm);
	return m_finish();
}

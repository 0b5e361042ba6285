/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_session - the launcher starts the ranks of a node in one session, each in a process group of its own
 *
 * One session: else sched_yield() does not give the core to another rank (mpich-ch3-portals/launch). Own groups: a
 * signal to a rank's group reaches its children and no other rank.
 */
#define _XOPEN_SOURCE 700
#include <sys/types.h>
#include <unistd.h>
#include "m.h"

int main(int argc, char **argv)
{
	int own[3], *all;

	m_start(&argc, &argv);
	own[0] = (int)getsid(0);
	own[1] = (int)getpgid(0);
	own[2] = (int)getpid();
	all = malloc((size_t)m_size * sizeof(own));
	MPI_Allgather(own, 3, MPI_INT, all, 3, MPI_INT, MPI_COMM_WORLD);
	CHECK(own[1] == own[2], "process group %d of process %d", own[1], own[2]);
	for (int i = 0; i < m_size; i++)
		CHECK(all[3 * i] == own[0], "rank %d is in session %d, we in %d", i, all[3 * i], own[0]);
	free(all);
	return m_finish();
}

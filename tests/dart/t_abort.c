/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_abort.c - dart_abort() of the last unit ends all, which wait for it, with its number; D_EARLY: before dart_init()
 *
 * The script looks at the status.
 */
#include <dart.h>
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int me, units, early = getenv("D_EARLY") != NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &units);
	if (!early && dart_init(&argc, &argv) != DART_OK)
		return 1;
	if (me == units - 1)
		dart_abort(7);
	if (early)
		MPI_Barrier(MPI_COMM_WORLD);
	else
		dart_barrier(DART_TEAM_ALL);
	return 2;
}

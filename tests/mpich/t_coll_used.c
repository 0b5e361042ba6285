/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_coll_used - a setting of the collectives decides which algorithm runs: the channel counts them
 */
#define _GNU_SOURCE
#include "m.h"
#include <dlfcn.h>

/* as in ch3_coll.h */
enum { THEIRS, COUNTER, DISSEMINATION, FLAT, INLINE, STAGED, DIRECT, BOTH, SERIAL, PARALLEL, REDUCE_BCAST,
	ALL_COMBINE, TURNS, NODES, PLUGIN };

static uint64_t *used;
static int a[40000], b[40000];

static int is(const char *name, const char *value)
{
	const char *v = getenv(name);

	return v && !strcmp(v, value);
}

/* Which ones ran in one round of all collectives with @n ints; of the root's. */
static void round_of(int n)
{
	memset(used, 0, (PLUGIN + 1) * sizeof(*used));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Bcast(a, n, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Reduce(a, b, n, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Alltoall(a, n / 8, MPI_INT, b, n / 8, MPI_INT, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int parallel = is("MPICH_COLL_REDUCE", "parallel"), serial = is("MPICH_COLL_REDUCE", "serial");

	m_start(&argc, &argv);
	used = dlsym(RTLD_DEFAULT, "MPIDI_PTL_coll_used");
	CHECK(used);
	if (!used)
		return m_finish();
	if (is("MPICH_COLL_SMARTMAP", "0") || getenv("PTL_PES_PER_NODE")) {
		round_of(8);
		CHECK(used[THEIRS] || used[NODES]);
		CHECK((used[NODES] > 0) == (getenv("MPI_COLL_OPT_ON") != NULL));
		CHECK((used[SERIAL] > 0) == (getenv("MPI_COLL_OPT_ON") != NULL));
		return m_finish();
	}
	for (int i = 0; i < 3; i++)
		round_of(8);
	CHECK(!used[THEIRS] && !used[NODES] && !used[PLUGIN]);
	if (is("MPICH_COLL_BARRIER", "counter"))
		CHECK(used[COUNTER] && !used[DISSEMINATION] && !used[FLAT]);
	if (is("MPICH_COLL_BARRIER", "dissemination"))
		CHECK(!used[COUNTER] && used[DISSEMINATION] && !used[FLAT]);
	if (is("MPICH_COLL_BARRIER", "flat"))
		CHECK(!used[COUNTER] && !used[DISSEMINATION] && used[FLAT]);
	if (is("MPICH_COLL_ALLTOALL", "turns"))
		CHECK(used[TURNS]);
	else
		CHECK(!used[TURNS]);
	CHECK(m_rank || used[INLINE]);
	CHECK((used[ALL_COMBINE] > 0) != is("MPICH_COLL_ALLREDUCE", "reduce_bcast"));
	CHECK(parallel ? used[PARALLEL] && !used[SERIAL] : used[SERIAL]);
	round_of(400);			/* 1600 bytes */
	if (m_rank == 0 && !is("MPICH_COLL_ALLREDUCE", "reduce_bcast")) {
		const char *v = getenv("MPICH_COLL_BCAST");

		CHECK(v && !strcmp(v, "direct") ? used[DIRECT] : v && !strcmp(v, "both") ? used[BOTH] : used[STAGED]);
	}
	CHECK((used[SERIAL] > 0) == (serial || (!parallel && is("MPICH_COLL_REDUCE_SWITCH", "2K"))));
	CHECK((used[REDUCE_BCAST] > 0) == is("MPICH_COLL_ALLREDUCE", "reduce_bcast"));
	round_of(40000);
	CHECK(serial ? used[SERIAL] : used[PARALLEL]);
	CHECK(m_rank || used[DIRECT] || used[BOTH]);
	return m_finish();
}

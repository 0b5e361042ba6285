/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_coll_plugin - collectives that a library named in MPICH_COLL_PLUGIN registers are the ones that run, and what it
 * does not register is done as without it; under several threads, too
 */
#define _GNU_SOURCE
#include "m.h"
#include <dlfcn.h>
#include <pthread.h>

static int (*calls)[2];		/* of the plug-in, by enum mpich_coll and part */

static int sum_of(int n, MPI_Comm comm)
{
	static int a[2][2000], b[2][2000];
	int bad = 0, t = comm != MPI_COMM_WORLD;

	for (int i = 0; i < n; i++)
		a[t][i] = m_rank + i;
	MPI_Allreduce(a[t], b[t], n, MPI_INT, MPI_SUM, comm);
	for (int i = 0; i < n; i++)
		bad += b[t][i] != m_size * (m_size - 1) / 2 + i * m_size;
	return bad;
}

static void *worker(void *arg)
{
	for (int i = 0; i < 100; i++)
		CHECK(!sum_of(i % 2 ? 10 : 2000, *(MPI_Comm *)arg));
	return NULL;
}

int main(int argc, char **argv)
{
	int level, x, nodes = getenv("PTL_PES_PER_NODE") != NULL, hier = getenv("MPI_COLL_OPT_ON") != NULL;
	MPI_Comm dup;
	pthread_t th;
	void *so;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &m_size);
	so = dlopen(getenv("MPICH_COLL_PLUGIN"), RTLD_NOW | RTLD_NOLOAD);
	CHECK(so);
	calls = so ? dlsym(so, "coll_plugin_calls") : NULL;
	if (!calls)
		return m_finish();
	memset(calls, 0, 8 * sizeof(int));
	for (int i = 0; i < 10; i++)
		CHECK(!sum_of(100, MPI_COMM_WORLD));
	/* on nodes of two: reduce there is not the plug-in's, nor is the way back */
	CHECK(calls[3][0] == (nodes ? 0 : 10), "%d", calls[3][0]);
	CHECK(calls[3][1] == (nodes && hier && m_rank % 2 == 0 ? 10 : 0), "%d", calls[3][1]);
	CHECK(calls[1][0] == (nodes && hier ? 10 : 0), "%d", calls[1][0]);
	CHECK(!sum_of(2000, MPI_COMM_WORLD));
	CHECK(calls[3][0] == (nodes ? 0 : 10), "longer than its limit: %d", calls[3][0]);
	x = m_rank;
	MPI_Bcast(&x, 1, MPI_INT, 1 % m_size, MPI_COMM_WORLD);
	CHECK(x == 1 % m_size);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	if (level == MPI_THREAD_MULTIPLE) {
		pthread_create(&th, NULL, worker, &dup);
		for (int i = 0; i < 100; i++)
			CHECK(!sum_of(i % 3 ? 10 : 2000, MPI_COMM_WORLD));
		pthread_join(th, NULL);
	}
	MPI_Comm_free(&dup);
	return m_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* MPI_THREAD_MULTIPLE: pairs of threads talk at once, small and large, while a third kind only waits. */
#include "m.h"
#include <pthread.h>

#define THREADS 4

static void *talk(void *arg)
{
	int tag = (int)(intptr_t)arg, peer = 1 - m_rank, i, n;
	unsigned char *out = malloc(100000), *in = malloc(100000);
	MPI_Request req[2];

	for (i = 0; i < 200; i++) {
		n = (i * 997) % (i % 10 == 0 ? 100000 : 6000);
		m_fill(out, n, 1000 * tag + i + m_rank);
		memset(in, 0, n);
		MPI_Irecv(in, n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &req[0]);
		MPI_Isend(out, n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &req[1]);
		m_waitall(2, req);
		CHECK(m_wrong(in, n, 1000 * tag + i + peer) < 0, "thread %d round %d size %d", tag, i, n);
	}
	free(out);
	free(in);
	return NULL;
}

static void *wait_long(void *arg)
{
	int x;

	MPI_Recv(&x, 1, MPI_INT, 1 - m_rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t th[THREADS], w;
	int level, i;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &m_size);
	CHECK(level == MPI_THREAD_MULTIPLE);
	if (m_rank < 2) {
		pthread_create(&w, NULL, wait_long, NULL);
		for (i = 0; i < THREADS; i++)
			pthread_create(&th[i], NULL, talk, (void *)(intptr_t)i);
		for (i = 0; i < THREADS; i++)
			pthread_join(th[i], NULL);
		MPI_Send(&i, 1, MPI_INT, 1 - m_rank, 99, MPI_COMM_WORLD);
		pthread_join(w, NULL);
	}
	return m_finish();
}

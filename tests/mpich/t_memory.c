/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Large messages between every pair of kinds of memory: static, stack, heap, mapped, a thread's stack, read-only. */
#define _GNU_SOURCE
#include "m.h"
#include <pthread.h>
#include <sys/mman.h>

#define N (1 << 20)

static unsigned char data_buf[N] = { 1 }, bss_buf[N];
static uint32_t seed;

static void talk(unsigned char *mine, const char *name, int filled)
{
	MPI_Status st;

	if (m_rank == 0) {
		if (!filled)
			m_fill(mine, N, seed);
		MPI_Send(mine, N, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
	} else {
		memset(mine, 0, N);
		MPI_Recv(mine, N, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &st);
		CHECK(m_wrong(mine, N, seed) < 0, "into %s, byte %ld", name, m_wrong(mine, N, seed));
	}
}

static void on_stack(void)
{
	unsigned char buf[N];

	talk(buf, "stack", 0);
}

static void *on_thread(void *arg)
{
	unsigned char *buf = alloca(N);

	talk(buf, "a thread's stack", 0);
	return arg;
}

static void with(int kind)
{
	unsigned char *p;
	pthread_attr_t attr;
	pthread_t th;

	switch (kind) {
	case 0:
		talk(data_buf, "data", 0);
		break;
	case 1:
		talk(bss_buf, "bss", 0);
		break;
	case 2:
		on_stack();
		break;
	case 3:
		p = malloc(N + 100);
		talk(p + 13, "heap", 0);
		free(p);
		break;
	case 4:
		p = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		talk(p, "a mapping", 0);
		munmap(p, N);
		break;
	case 5:
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 4 * N);
		pthread_create(&th, &attr, on_thread, NULL);
		pthread_join(th, NULL);
		pthread_attr_destroy(&attr);
		break;
	case 6:
		p = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (m_rank == 0) {
			m_fill(p, N, seed);
			mprotect(p, N, PROT_READ);
		}
		talk(p, "a mapping, from read-only memory", 1);
		munmap(p, N);
		break;
	}
}

int main(int argc, char **argv)
{
	int a, b, level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &m_size);
	if (m_rank < 2)
		for (a = 0; a < 7; a++)
			for (b = 0; b < 7; b++) {
				seed = 77 + a * 16 + b;
				with(m_rank == 0 ? a : b);
			}
	return m_finish();
}

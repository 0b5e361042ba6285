/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Large messages between every pair of kinds of memory: static, stack, heap, mapped, a thread's stack, read-only, files
 * mapped shared and private.
 */
#define _GNU_SOURCE
#include "m.h"
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define N (1 << 20)
#define KINDS 9

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

/* What was received into a shared mapping is in the file, into a private one is not. */
static void on_file(int flags)
{
	static unsigned char in_file[N];
	char name[] = "t_memory.XXXXXX";
	int fd = mkstemp(name), shared = flags == MAP_SHARED;
	unsigned char *p;

	unlink(name);
	CHECK(fd >= 0 && ftruncate(fd, N) == 0);
	p = mmap(NULL, N, PROT_READ | PROT_WRITE, flags, fd, 0);
	CHECK(p != MAP_FAILED);
	talk(p, shared ? "a file" : "a file, privately", 0);
	CHECK(pread(fd, in_file, N, 0) == N);
	if (shared)
		CHECK(m_wrong(in_file, N, seed) < 0, "in the file, byte %ld", m_wrong(in_file, N, seed));
	else
		CHECK(in_file[0] == 0 && !memcmp(in_file, in_file + 1, N - 1));
	munmap(p, N);
	close(fd);
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
	case 7:
		on_file(MAP_SHARED);
		break;
	case 8:
		on_file(MAP_PRIVATE);
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
		for (a = 0; a < KINDS; a++)
			for (b = 0; b < KINDS; b++) {
				seed = 77 + a * 16 + b;
				with(m_rank == 0 ? a : b);
			}
	return m_finish();
}

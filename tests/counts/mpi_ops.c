/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_ops.c - MPI_Send and MPI_Recv of 8 bytes, N times inside counted(); or ping-pongs without system calls
 *
 *	mpi_ops send|recv|take N	two ranks; 0 sends, 1 receives what has all arrived already (take: in the inbox)
 *	mpi_ops syscalls		TAP of rank 0: batches of ping-pongs with no system call in either rank
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "syscalls.h"

#define BATCHES 100

static char *buf;
static int rank, n;

__attribute__((noinline)) void counted(void (*fn)(void));
__attribute__((noinline)) void counted(void (*fn)(void))
{
	fn();
}

static void send_n(void)
{
	for (int i = 0; i < n; i++)
		MPI_Send(buf, 8, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
}

static void recv_n(void)
{
	for (int i = 0; i < n; i++)
		MPI_Recv(buf, 8, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pingpong(int len)
{
	for (int i = 0; i < 50; i++) {
		if (rank == 0)
			MPI_Send(buf, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(buf, len, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(buf, len, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
	}
}

static void syscalls(void)
{
	static const int len[] = { 0, 8, 1024, 16384, 65536, 262144, 1 << 20 };
	enum { LENGTHS = sizeof(len) / sizeof(*len) };
	const char *why;
	int bad = 0;

	for (int i = 0; i < LENGTHS; i++)
		pingpong(len[i]);
	why = sys_count_from_now();
	if (!rank)
		SYS_SAY("1..%d\n", LENGTHS);
	for (int i = 0; i < LENGTHS; i++) {
		int quiet = 0, other = 0;

		for (int b = 0; b < BATCHES; b++) {
			uint32_t before = sys_n;

			pingpong(len[i]);
			quiet += sys_n == before;
		}
		if (rank) {
			MPI_Send(&quiet, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
			continue;
		}
		MPI_Recv(&other, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (why) {
			SYS_SAY("ok %d # SKIP %s\n", i + 1, why);
			continue;
		}
		/* a waiter gives up its core when the peer has lost its own, now and then on a busy machine */
		SYS_SAY("%s %d - MPI ping-pong, %d bytes: %d and %d of %d batches without a system call\n",
			quiet >= BATCHES / 4 && other >= BATCHES / 4 ? "ok" : "not ok", i + 1, len[i], quiet, other, BATCHES);
		if (quiet < BATCHES)
			SYS_SAY("# last system call of rank 0: %d\n", sys_last);
		bad |= quiet < BATCHES / 4 || other < BATCHES / 4;
	}
	_exit(bad);
}

/* Rank 1 waits until rank 0 has sent, without a call of MPI: that would fetch what is in the inbox. */
static void told(int round)
{
	char name[16];
	FILE *f;

	snprintf(name, sizeof(name), "sent.%d", round);
	if (rank == 0 && (f = fopen(name, "w")))
		fclose(f);
	while (access(name, F_OK))
		usleep(1000);
}

int main(int argc, char **argv)
{
	void (*fn)(void);

	MPI_Init(&argc, &argv);
	buf = calloc(1, 1 << 20);
	if (!buf)
		return 2;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "syscalls"))
		syscalls();
	fn = rank ? recv_n : send_n;
	for (int round = 0; round < 3; round++) {
		n = round == 2 ? atoi(argv[2]) : 4;
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0) {
			if (round == 2 && !strcmp(argv[1], "send"))
				counted(fn);
			else
				fn();
		}
		if (!strcmp(argv[1], "take"))
			told(round);
		else
			MPI_Barrier(MPI_COMM_WORLD);	/* all messages are in the inbox */
		if (rank == 1) {
			int flag;

			/* and now in the queue of unexpected ones: the barrier does not look there */
			for (int i = 0; i < 100 && strcmp(argv[1], "take"); i++)
				MPI_Iprobe(0, 1 << 20, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
			if (round == 2 && strcmp(argv[1], "send"))
				counted(fn);
			else
				fn();
		}
	}
	MPI_Finalize();
	return 0;
}

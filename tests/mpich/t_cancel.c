/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Sends that are cancelled: those that wait for credit, those that wait at their receiver, short, long and taken.
 * Each is either cancelled or received, and what waits behind those that are cancelled is sent.
 */
#include "m.h"
#include <unistd.h>

#define N 60

static const int sizes[] = { 8, 3000, 60000, 300000 };

/* @early: the cancels come while the receiver does not look; then what has found no credit has not left. */
static void round_of(int bytes, int early, int credits)
{
	static MPI_Request req[N + 1];
	int gone[N + 1] = { 0 }, i, n = 0, flag;
	char *buf = malloc((size_t)bytes * (N + 1));
	MPI_Status st;

	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == 0) {
		for (i = 0; i <= N; i++) {
			m_fill(buf + (size_t)i * bytes, bytes, i);
			MPI_Isend(buf + (size_t)i * bytes, bytes, MPI_BYTE, 1, 10 + i, MPI_COMM_WORLD, &req[i]);
		}
		if (!early) {
			MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);	/* behind all of them */
			MPI_Recv(&i, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
		for (i = 1; i < N; i += 2)
			MPI_Cancel(&req[i]);
		if (early)
			MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
		for (i = 1; i < N; i += 2) {
			MPI_Wait(&req[i], &st);
			MPI_Test_cancelled(&st, &gone[i]);
			if (early && credits && i >= credits)
				CHECK(gone[i], "message %d of %d bytes has left without credit", i, bytes);
			else if (!early)
				CHECK(gone[i], "message %d of %d bytes is not cancelled, nor received", i, bytes);
			n += gone[i];
		}
		MPI_Send(gone, N + 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
	} else {
		if (early)
			usleep(30000);
		MPI_Recv(&i, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (!early)
			MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
		MPI_Recv(gone, N + 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (i = 0; i <= N; i++) {
			MPI_Iprobe(0, 10 + i, MPI_COMM_WORLD, &flag, &st);
			if (gone[i]) {
				CHECK(!flag, "message %d of %d bytes is cancelled and here", i, bytes);
				continue;
			}
			MPI_Recv(buf, bytes, MPI_BYTE, 0, 10 + i, MPI_COMM_WORLD, &st);
			CHECK(m_wrong(buf, bytes, i) < 0, "message %d of %d bytes", i, bytes);
		}
	}
	if (m_rank == 0)
		for (i = 0; i <= N; i++)
			if (req[i] != MPI_REQUEST_NULL)
				MPI_Wait(&req[i], MPI_STATUS_IGNORE);
	free(buf);
}

int main(int argc, char **argv)
{
	const char *credits = getenv("MPICH_PTL_SEND_CREDITS"), *off = getenv("MPICH_PTL_MATCH_OFF");

	m_start(&argc, &argv);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int turn = 0; turn < 6; turn++)
			round_of(sizes[i], turn % 2, credits && !off ? atoi(credits) : 0);
	return m_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Requests that the channel keeps and gives out again (ch3_born.c): none brings anything of its last use along,
 * whatever that was, and none is given out twice. Sends and receives of ranks 0 and 1 in turn; rank 1's receives find
 * their message (@late), or are posted before it comes.
 */
#include "m.h"

#define N	300		/* at once: more than are made at a time */

/* All of a window are different requests, and each has its own status. */
static void windows(int late, MPI_Comm comm)
{
	static MPI_Request req[N];
	static MPI_Status st[N];
	static int data[N];
	int n, word = 0;

	if (m_rank == 0) {
		MPI_Request copy[N];

		if (!late)
			MPI_Recv(&word, 1, MPI_INT, 1, N + 1, comm, MPI_STATUS_IGNORE);
		for (int i = 0; i < N; i++) {
			data[i] = 1000 + i;
			MPI_Isend(&data[i], i % 2, MPI_INT, 1, i, comm, &req[i]);
			copy[i] = req[i];
			for (int j = 0; j < i; j++)
				CHECK(copy[j] != req[i], "sends %d and %d have one request", j, i);
		}
		if (late)
			MPI_Send(&word, 1, MPI_INT, 1, N, comm);
		MPI_Waitall(N, req, st);
		for (int i = 0; i < N; i++) {
			CHECK(req[i] == MPI_REQUEST_NULL);
			MPI_Test_cancelled(&st[i], &n);
			CHECK(!n, "send %d was cancelled by nobody", i);
		}
	} else {
		if (late)
			MPI_Recv(&word, 1, MPI_INT, 0, N, comm, MPI_STATUS_IGNORE);
		for (int i = 0; i < N; i++) {
			data[i] = 7;
			MPI_Irecv(&data[i], 1, MPI_INT, i % 3 ? 0 : MPI_ANY_SOURCE, i, comm, &req[i]);
			for (int j = 0; j < i; j++)
				CHECK(req[j] != req[i], "receives %d and %d have one request", j, i);
		}
		if (!late)
			MPI_Send(&word, 1, MPI_INT, 0, N + 1, comm);
		MPI_Waitall(N, req, st);
		for (int i = 0; i < N; i++) {
			MPI_Get_count(&st[i], MPI_INT, &n);
			CHECK(n == i % 2 && st[i].MPI_SOURCE == 0 && st[i].MPI_TAG == i,
			      "receive %d: %d from %d, tag %d", i, n, st[i].MPI_SOURCE, st[i].MPI_TAG);
			CHECK(data[i] == (i % 2 ? 1000 + i : 7), "receive %d has %d", i, data[i]);
		}
	}
}

/* Each way in which a program lets go of one. */
static void ways(MPI_Comm comm)
{
	MPI_Request req, keep[4];
	MPI_Status st;
	int flag, word = m_rank, in[4], index;

	if (m_rank == 0) {
		MPI_Isend(&word, 1, MPI_INT, 1, 0, comm, &req);
		MPI_Request_free(&req);
		MPI_Isend(&word, 1, MPI_INT, 1, 1, comm, &req);
		MPI_Request_get_status(req, &flag, &st);
		CHECK(req != MPI_REQUEST_NULL);
		MPI_Wait(&req, &st);
		MPI_Isend(&word, 1, MPI_INT, 1, 2, comm, &req);
		do
			MPI_Test(&req, &flag, MPI_STATUS_IGNORE);
		while (!flag);
		CHECK(req == MPI_REQUEST_NULL);
		for (int i = 0; i < 4; i++)
			MPI_Isend(&word, 1, MPI_INT, 1, 3 + i, comm, &keep[i]);
		for (int i = 0; i < 4; i++)
			MPI_Waitany(4, keep, &index, MPI_STATUS_IGNORE);
		MPI_Waitany(4, keep, &index, MPI_STATUS_IGNORE);
		CHECK(index == MPI_UNDEFINED);
		MPI_Send_init(&word, 1, MPI_INT, 1, 7, comm, &req);
		for (int i = 0; i < 3; i++) {
			MPI_Start(&req);
			MPI_Wait(&req, MPI_STATUS_IGNORE);
		}
		MPI_Request_free(&req);
	} else {
		for (int i = 0; i < 4; i++)
			MPI_Irecv(&in[i], 1, MPI_INT, 0, 3 + i, comm, &keep[i]);
		for (int i = 0; i < 3; i++) {
			MPI_Recv(&word, 1, MPI_INT, 0, i, comm, &st);
			CHECK(word == 0);
		}
		m_waitall(4, keep);
		MPI_Recv_init(&in[0], 1, MPI_INT, 0, 7, comm, &req);
		for (int i = 0; i < 3; i++) {
			in[0] = -1;
			MPI_Start(&req);
			MPI_Wait(&req, &st);
			CHECK(in[0] == 0 && st.MPI_TAG == 7);
		}
		MPI_Request_free(&req);
	}
}

/* A truncated receive's error, a datatype that is freed, a cancelled receive: nothing of them in what comes next. */
static void after_others(MPI_Comm comm)
{
	int two[2] = { 1, 2 }, in[2] = { 0 }, flag, n, class, rc;
	MPI_Datatype pair;
	MPI_Request req;
	MPI_Status st;

	if (m_rank == 0) {
		MPI_Recv(&n, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE);
		MPI_Send(two, 2, MPI_INT, 1, 1, comm);
		MPI_Send(two, 2, MPI_INT, 1, 2, comm);
		MPI_Send(two, 1, MPI_INT, 1, 3, comm);
	} else {
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
		MPI_Irecv(in, 1, MPI_INT, 0, 1, comm, &req);	/* one is room for too little */
		MPI_Send(&m_rank, 1, MPI_INT, 0, 0, comm);
		rc = MPI_Wait(&req, &st);
		MPI_Error_class(rc, &class);
		CHECK(class == MPI_ERR_TRUNCATE);
		MPI_Type_contiguous(2, MPI_INT, &pair);
		MPI_Type_commit(&pair);
		MPI_Irecv(in, 1, pair, 0, 2, comm, &req);
		MPI_Type_free(&pair);
		CHECK(MPI_Wait(&req, &st) == MPI_SUCCESS && in[1] == 2);
		MPI_Irecv(in, 2, MPI_INT, 0, 99, comm, &req);
		MPI_Cancel(&req);
		MPI_Wait(&req, &st);
		MPI_Test_cancelled(&st, &flag);
		CHECK(flag);
		MPI_Irecv(in, 2, MPI_INT, 0, 3, comm, &req);
		CHECK(MPI_Wait(&req, &st) == MPI_SUCCESS);
		MPI_Test_cancelled(&st, &flag);
		MPI_Get_count(&st, MPI_INT, &n);
		CHECK(!flag && n == 1);
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
	}
}

/* A cancelled send's request is not one of them any more; those after it are not cancelled. */
static void after_cancel(MPI_Comm comm)
{
	int word = 5, flag, gone[2];
	MPI_Request req[3];
	MPI_Status st;

	if (m_rank == 0) {
		for (int i = 0; i < 3; i++)
			MPI_Isend(&word, 1, MPI_INT, 1, i, comm, &req[i]);
		MPI_Cancel(&req[1]);
		for (int i = 0; i < 3; i++) {
			MPI_Wait(&req[i], &st);
			MPI_Test_cancelled(&st, &flag);
			CHECK(i == 1 || !flag, "send %d", i);
			if (i == 1)
				gone[0] = flag;
		}
		for (int i = 0; i < 50; i++) {
			MPI_Isend(&word, 1, MPI_INT, 1, 7, comm, &req[0]);
			MPI_Wait(&req[0], &st);
			MPI_Test_cancelled(&st, &flag);
			CHECK(!flag, "send %d after one that was", i);
		}
		gone[1] = 0;
		MPI_Send(gone, 2, MPI_INT, 1, 8, comm);
	} else {
		for (int i = 0; i < 50; i++)
			MPI_Recv(&word, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE);
		MPI_Recv(gone, 2, MPI_INT, 0, 8, comm, MPI_STATUS_IGNORE);
		for (int i = 0; i < 3; i++)
			if (i != 1 || !gone[0])
				MPI_Recv(&word, 1, MPI_INT, 0, i, comm, MPI_STATUS_IGNORE);
	}
}

/* A communicator is gone when its last request is: so there is no end of them. */
static void communicators(void)
{
	for (int i = 0; i < 5000; i++) {
		MPI_Comm comm;
		MPI_Request req;
		int word = i;

		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		if (m_rank < 2) {
			if (m_rank == 0)
				MPI_Isend(&word, 1, MPI_INT, 1, 0, comm, &req);
			else
				MPI_Irecv(&word, 1, MPI_INT, 0, 0, comm, &req);
			if (i % 2) {
				MPI_Comm_free(&comm);
				MPI_Wait(&req, MPI_STATUS_IGNORE);
			} else {
				MPI_Wait(&req, MPI_STATUS_IGNORE);
				MPI_Comm_free(&comm);
			}
			CHECK(word == i);
		} else {
			MPI_Comm_free(&comm);
		}
	}
}

int main(int argc, char **argv)
{
	MPI_Comm comm;

	m_start(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int turn = 0; turn < 6 && m_rank < 2; turn++) {
		windows(turn % 2, comm);
		ways(comm);
		after_others(comm);
		after_cancel(comm);
	}
	communicators();
	MPI_Comm_free(&comm);
	return m_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Cancel, synchronous and ready sends, probes, truncation, persistent requests, on both sides of the eager limit. */
#include "m.h"
#include <unistd.h>

static unsigned char sbuf[200000], rbuf[200000];

static void t_cancelled_send_is_not_received(int n)
{
	MPI_Request req;
	MPI_Status st;
	int flag, mark = 5;

	if (m_rank == 0) {
		m_fill(sbuf, n, n);
		MPI_Isend(sbuf, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req);
		MPI_Cancel(&req);
		MPI_Wait(&req, &st);
		MPI_Test_cancelled(&st, &flag);
		MPI_Send(&flag, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
	} else {
		MPI_Recv(&mark, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &st);
		MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, &st);
		CHECK(flag == !mark, "size %d: cancelled %d, there %d", n, mark, flag);
		if (flag)
			MPI_Recv(rbuf, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &st);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void t_matched_send_cannot_be_cancelled(int n)
{
	MPI_Request req;
	MPI_Status st;
	int flag = -1;

	if (m_rank == 0) {
		m_fill(sbuf, n, n);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Issend(sbuf, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req);
		MPI_Recv(&flag, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &st);
		MPI_Cancel(&req);
		MPI_Wait(&req, &st);
		MPI_Test_cancelled(&st, &flag);
		CHECK(!flag, "size %d", n);
	} else {
		MPI_Irecv(rbuf, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Wait(&req, &st);
		MPI_Send(&flag, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
		CHECK(m_wrong(rbuf, n, n) < 0, "size %d", n);
	}
}

static void t_cancelled_receive_takes_nothing(void)
{
	MPI_Request req;
	MPI_Status st;
	int flag;

	if (m_rank == 1) {
		MPI_Irecv(rbuf, 100, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req);
		MPI_Cancel(&req);
		MPI_Wait(&req, &st);
		MPI_Test_cancelled(&st, &flag);
		CHECK(flag);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == 0)
		MPI_Send(sbuf, 100, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
	else
		MPI_Recv(rbuf, 100, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &st);
}

static void t_ssend_waits_for_the_receive(int n)
{
	MPI_Request req;
	MPI_Status st;
	int flag = 0, i;

	if (m_rank == 0) {
		m_fill(sbuf, n, n + 1);
		MPI_Issend(sbuf, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req);
		for (i = 0; i < 20 && !flag; i++) {
			MPI_Test(&req, &flag, &st);
			usleep(500);
		}
		CHECK(!flag, "size %d completed unmatched", n);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Wait(&req, &st);
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Recv(rbuf, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &st);
		CHECK(m_wrong(rbuf, n, n + 1) < 0, "size %d", n);
	}
}

static void t_probe_tells_size_and_mprobe_takes_it(int n)
{
	MPI_Message msg;
	MPI_Status st;
	int got = 0, flag = 0;

	if (m_rank == 0) {
		m_fill(sbuf, n, n + 2);
		MPI_Send(sbuf, n, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
		MPI_Send(sbuf, n, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
	} else {
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, MPI_BYTE, &got);
		CHECK(got == n && st.MPI_SOURCE == 0 && st.MPI_TAG == 4, "%d for %d", got, n);
		MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &msg, &st);
		CHECK(st.MPI_TAG == 4);
		MPI_Iprobe(0, 4, MPI_COMM_WORLD, &flag, &st);
		CHECK(!flag, "a taken message is still seen");
		MPI_Mrecv(rbuf, n, MPI_BYTE, &msg, &st);
		CHECK(m_wrong(rbuf, n, n + 2) < 0, "size %d", n);
		memset(rbuf, 0, n);
		MPI_Recv(rbuf, n, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &st);
		CHECK(m_wrong(rbuf, n, n + 2) < 0, "size %d", n);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void t_truncation_is_an_error_and_writes_no_more(int n, int room, int posted)
{
	MPI_Datatype two;
	MPI_Request req;
	MPI_Status st;
	int rc, cls, i, strided;

	for (strided = 0; strided < 2; strided++) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		memset(rbuf, 0xcc, sizeof(rbuf));
		m_fill(sbuf, n, n + 3);
		if (m_rank == 0) {
			if (posted)
				MPI_Barrier(MPI_COMM_WORLD);
			MPI_Send(sbuf, n, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
			if (!posted)
				MPI_Barrier(MPI_COMM_WORLD);
		} else {
			if (!posted)
				MPI_Probe(0, 6, MPI_COMM_WORLD, &st);
			MPI_Type_vector(room, 1, 2, MPI_BYTE, &two);
			MPI_Type_commit(&two);
			if (strided)
				rc = MPI_Irecv(rbuf, 1, two, 0, 6, MPI_COMM_WORLD, &req);
			else
				rc = MPI_Irecv(rbuf, room, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &req);
			if (posted)
				MPI_Barrier(MPI_COMM_WORLD);
			if (rc == MPI_SUCCESS)
				rc = MPI_Wait(&req, &st);
			MPI_Error_class(rc, &cls);
			CHECK(cls == MPI_ERR_TRUNCATE, "size %d in %d: class %d", n, room, cls);
			for (i = 0; i < 64; i++)
				CHECK(rbuf[(strided ? 2 * room : room) + i] == 0xcc, "written after the end, size %d", n);
			MPI_Type_free(&two);
			if (!posted)
				MPI_Barrier(MPI_COMM_WORLD);
		}
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	}
}

static void t_persistent_and_ready(int n)
{
	MPI_Request req;
	MPI_Status st;
	int i;

	if (m_rank == 0)
		MPI_Rsend_init(sbuf, n, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &req);
	else
		MPI_Recv_init(rbuf, n, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &req);
	for (i = 0; i < 10; i++) {
		if (m_rank == 0)
			m_fill(sbuf, n, i);
		else
			MPI_Start(&req);
		MPI_Barrier(MPI_COMM_WORLD);
		if (m_rank == 0)
			MPI_Start(&req);
		MPI_Wait(&req, &st);
		if (m_rank == 1)
			CHECK(m_wrong(rbuf, n, i) < 0, "size %d round %d", n, i);
	}
	MPI_Request_free(&req);
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 1, 16, 1000, 4096, 5000, 8192, 50000, 200000 };
	unsigned i;

	m_start(&argc, &argv);
	for (i = 0; m_size == 2 && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		t_cancelled_send_is_not_received(sizes[i]);
		t_matched_send_cannot_be_cancelled(sizes[i]);
		t_cancelled_receive_takes_nothing();
		t_ssend_waits_for_the_receive(sizes[i]);
		t_probe_tells_size_and_mprobe_takes_it(sizes[i]);
		t_persistent_and_ready(sizes[i]);
		if (sizes[i] >= 16 && sizes[i] <= 50000) {
			t_truncation_is_an_error_and_writes_no_more(sizes[i], sizes[i] / 2, 0);
			t_truncation_is_an_error_and_writes_no_more(sizes[i], sizes[i] / 2, 1);
			t_truncation_is_an_error_and_writes_no_more(sizes[i], 0, 1);
		}
	}
	return m_finish();
}

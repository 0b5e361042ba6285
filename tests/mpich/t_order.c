/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Order of messages of one sender, by name and by MPI_ANY_SOURCE, posted before and after they arrive; floods. */
#include "m.h"
#include <unistd.h>

static int size_of(int i)
{
	static const int sizes[] = { 0, 8, 16, 17, 100, 4064, 4096, 4097, 8160, 8192, 20000, 1000, 70000 };

	return sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
}

#define MANY 300

/* Rank 0 receives MANY messages of each other rank, in whatever order the senders mix. */
static void t_any_source_keeps_each_senders_order(int unexpected)
{
	static unsigned char buf[70000];
	int *next = calloc(m_size, sizeof(int)), i, n, got;
	MPI_Status st;

	if (m_rank != 0) {
		for (i = 0; i < MANY; i++) {
			n = size_of(i + m_rank);
			m_fill(buf, n, i * 1000 + m_rank);
			MPI_Send(buf, n, MPI_BYTE, 0, i, MPI_COMM_WORLD);
		}
	} else {
		if (unexpected)
			usleep(50000);
		for (i = 0; i < MANY * (m_size - 1); i++) {
			MPI_Recv(buf, sizeof(buf), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
			MPI_Get_count(&st, MPI_BYTE, &got);
			CHECK(st.MPI_TAG == next[st.MPI_SOURCE], "rank %d: tag %d, not %d", st.MPI_SOURCE, st.MPI_TAG,
			      next[st.MPI_SOURCE]);
			next[st.MPI_SOURCE] = st.MPI_TAG + 1;
			n = size_of(st.MPI_TAG + st.MPI_SOURCE);
			CHECK(got == n, "%d for %d", got, n);
			CHECK(m_wrong(buf, got, st.MPI_TAG * 1000 + st.MPI_SOURCE) < 0, "tag %d size %d byte %ld",
			      st.MPI_TAG, n, m_wrong(buf, got, st.MPI_TAG * 1000 + st.MPI_SOURCE));
		}
	}
	free(next);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* 64 messages have arrived before the first receive; they are taken in reverse order of tags. */
static void t_unexpected_in_any_order(void)
{
	static unsigned char buf[64][9000];
	MPI_Request req[64];
	int i, n, peer = m_rank ^ 1;

	if (peer >= m_size) {
		MPI_Barrier(MPI_COMM_WORLD);
		return;
	}
	for (i = 0; i < 64; i++) {
		n = i % 4 == 3 ? 9000 : i * 60;
		m_fill(buf[i], n, 7000 + i + m_rank);
		MPI_Isend(buf[i], n, MPI_BYTE, peer, i, MPI_COMM_WORLD, &req[i]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	{
		static unsigned char in[9000];

		for (i = 63; i >= 0; i--) {
			n = i % 4 == 3 ? 9000 : i * 60;
			memset(in, 0, n);
			MPI_Recv(in, n, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(m_wrong(in, n, 7000 + i + peer) < 0, "message %d", i);
		}
	}
	m_waitall(64, req);
}

/*
 * Everybody sends to everybody at once, many at a time: inboxes fill, and fill both ways; long messages: more gets than
 * a peer keeps records of.
 */
static void t_full_inboxes_lose_nothing(int N)
{
	enum { ROUNDS = 40 };
	int i, r, k = 0;
	unsigned char *out = malloc((size_t)m_size * N), *in = malloc((size_t)ROUNDS * m_size * N);
	MPI_Request *req = malloc(2 * ROUNDS * m_size * sizeof(*req));

	for (r = 0; r < m_size; r++)
		m_fill(out + (size_t)r * N, N, 31 * m_rank + r);
	for (i = 0; i < ROUNDS; i++)
		for (r = 0; r < m_size; r++)
			if (r != m_rank)
				MPI_Isend(out + (size_t)r * N, N, MPI_BYTE, r, i, MPI_COMM_WORLD, &req[k++]);
	if (m_rank == 0)
		usleep(20000);
	for (i = 0; i < ROUNDS; i++)
		for (r = 0; r < m_size; r++)
			if (r != m_rank)
				MPI_Irecv(in + ((size_t)i * m_size + r) * N, N, MPI_BYTE, r, i, MPI_COMM_WORLD, &req[k++]);
	m_waitall(k, req);
	for (i = 0; i < ROUNDS; i++)
		for (r = 0; r < m_size; r++)
			if (r != m_rank)
				CHECK(m_wrong(in + ((size_t)i * m_size + r) * N, N, 31 * r + m_rank) < 0, "round %d of %d", i,
				      r);
	free(req);
	free(out);
	free(in);
}

/*
 * As benchmarks of bandwidth do: many receives under way into one buffer, from a peer that sends at the same time. What
 * lies there in the end nobody knows, but all end, and what travels with the messages is not run over by their data.
 */
static void t_receives_share_a_buffer(int bytes, int window)
{
	static unsigned char out[100000], in[100000];
	MPI_Request req[128];
	int i, round, peer = m_rank ^ 1;

	for (round = 0; peer < m_size && round < 20; round++) {
		for (i = 0; i < window; i++)
			MPI_Irecv(in, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &req[i]);
		for (i = 0; i < window; i++)
			MPI_Isend(out, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &req[window + i]);
		m_waitall(2 * window, req);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	m_start(&argc, &argv);
	t_any_source_keeps_each_senders_order(0);
	t_any_source_keeps_each_senders_order(1);
	t_unexpected_in_any_order();
	t_full_inboxes_lose_nothing(4000);
	t_full_inboxes_lose_nothing(30000);
	t_full_inboxes_lose_nothing(100000);
	t_receives_share_a_buffer(64, 64);
	t_receives_share_a_buffer(4000, 64);
	t_receives_share_a_buffer(65536, 2);
	t_receives_share_a_buffer(65536, 64);
	return m_finish();
}

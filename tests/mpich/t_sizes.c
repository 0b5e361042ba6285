/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Ping-pong of every size up to 300 bytes, and of each power of two up to 1 MiB and 3 around it, at odd addresses. */
#include "m.h"

#define MAX ((1 << 20) + 3)
#define GUARD 64

static unsigned char sbuf[MAX + GUARD + 8], rbuf[MAX + 2 * GUARD + 8];

static void exchange(int n, int shift, uint32_t seed)
{
	unsigned char *s = sbuf + shift, *r = rbuf + GUARD + (7 - shift);
	int peer = 1 - m_rank, got = -1, i;
	MPI_Status st;

	m_fill(s, n, seed + m_rank);
	memset(r - GUARD, 0xa5, GUARD);
	memset(r, 0x5a, n);
	memset(r + n, 0xa5, GUARD);
	if (m_rank == 0) {
		MPI_Send(s, n, MPI_BYTE, peer, seed & 0x7fff, MPI_COMM_WORLD);
		MPI_Recv(r, n, MPI_BYTE, peer, seed & 0x7fff, MPI_COMM_WORLD, &st);
	} else {
		MPI_Recv(r, n, MPI_BYTE, peer, seed & 0x7fff, MPI_COMM_WORLD, &st);
		MPI_Send(s, n, MPI_BYTE, peer, seed & 0x7fff, MPI_COMM_WORLD);
	}
	MPI_Get_count(&st, MPI_BYTE, &got);
	CHECK(got == n, "%d for %d", got, n);
	CHECK(st.MPI_SOURCE == peer && st.MPI_TAG == (int)(seed & 0x7fff));
	CHECK(m_wrong(r, n, seed + peer) < 0, "size %d, byte %ld", n, m_wrong(r, n, seed + peer));
	for (i = 0; i < GUARD; i++)
		CHECK(r[-1 - i] == 0xa5 && r[n + i] == 0xa5, "written outside, size %d", n);
}

static void exchange_isend(int n, uint32_t seed)
{
	int peer = 1 - m_rank;
	MPI_Request req[2];
	MPI_Status st[2];

	m_fill(sbuf, n, seed + m_rank);
	memset(rbuf, 0, n);
	MPI_Irecv(rbuf, MAX, MPI_BYTE, peer, 9, MPI_COMM_WORLD, &req[0]);
	MPI_Isend(sbuf, n, MPI_BYTE, peer, 9, MPI_COMM_WORLD, &req[1]);
	MPI_Waitall(2, req, st);
	CHECK(m_wrong(rbuf, n, seed + peer) < 0, "size %d, byte %ld", n, m_wrong(rbuf, n, seed + peer));
}

int main(int argc, char **argv)
{
	uint32_t seed = 1;
	int n, d, p;

	m_start(&argc, &argv);
	if (m_rank > 1)
		return m_finish();
	for (n = 0; n <= 300; n++, seed += 2)
		exchange(n, n % 8, seed);
	for (p = 9; p <= 20; p++)
		for (d = -3; d <= 3; d++, seed += 2) {
			exchange((1 << p) + d, (d + 3) % 8, seed);
			exchange_isend((1 << p) + d, ++seed);
			seed++;
		}
	for (n = 4000; n <= 8400; n += 7, seed += 2)	/* around the eager limit and the largest put */
		exchange(n, n % 8, seed);
	return m_finish();
}

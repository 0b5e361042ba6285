/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Flow control: everybody sends to rank 0, which does not look. Nothing is lost or mixed up when it does, an eager
 * sender does not run ahead without bound, and the memory of rank 0 stays bounded.
 *
 *	t_flow [MESSAGES [BYTES]]
 */
#include "m.h"
#include <stdlib.h>
#include <unistd.h>

static long resident_kb(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Each sender starts @n messages of @bytes; rank 0 sleeps, then takes them in order of rank, or of arrival. */
static void t_flood(int n, int bytes, int by_rank)
{
	unsigned char *buf = malloc(bytes + 1);
	int *next = calloc(m_size, sizeof(int)), i, r;
	long before = resident_kb(), grown;
	MPI_Status st;

	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank != 0) {
		MPI_Request *req = malloc(n * sizeof(*req));
		unsigned char *out = malloc((size_t)n * bytes + 1);

		for (i = 0; i < n; i++) {
			m_fill(out + (size_t)i * bytes, bytes, i * 64 + m_rank);
			MPI_Isend(out + (size_t)i * bytes, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &req[i]);
		}
		m_waitall(n, req);
		free(out);
		free(req);
	} else {
		usleep(300000);
		/* a few looks, without a receive: what has come is taken out of Portals and kept */
		for (i = 0; i < 200; i++)
			MPI_Iprobe(MPI_ANY_SOURCE, 1 << 20, MPI_COMM_WORLD, &r, &st);
		grown = resident_kb() - before;
		CHECK(grown < 96 * 1024, "%ld KiB more for %d messages of %d bytes from %d ranks", grown, n, bytes,
		      m_size - 1);
		for (i = 0; i < n * (m_size - 1); i++) {
			int from = by_rank ? 1 + i / n : MPI_ANY_SOURCE, got;

			MPI_Recv(buf, bytes, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
			MPI_Get_count(&st, MPI_BYTE, &got);
			CHECK(got == bytes && st.MPI_TAG == next[st.MPI_SOURCE], "rank %d: tag %d, not %d; %d bytes",
			      st.MPI_SOURCE, st.MPI_TAG, next[st.MPI_SOURCE], got);
			next[st.MPI_SOURCE] = st.MPI_TAG + 1;
			CHECK(m_wrong(buf, bytes, st.MPI_TAG * 64 + st.MPI_SOURCE) < 0, "rank %d tag %d", st.MPI_SOURCE,
			      st.MPI_TAG);
		}
	}
	free(next);
	free(buf);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	m_start(&argc, &argv);
	int n = argc > 1 ? atoi(argv[1]) : 400, bytes = argc > 2 ? atoi(argv[2]) : 4000;

	t_flood(n, 8, 0);
	t_flood(n, bytes, 1);
	t_flood(n, bytes, 0);
	t_flood(n / 4, 40000, 1);
	return m_finish();
}

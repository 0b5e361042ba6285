/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Flow control: everybody sends to rank 0, which does not look. Nothing is lost or mixed up when it does, an eager
 * sender does not run ahead without bound, and the memory of rank 0 stays bounded: what it keeps of messages is what
 * MPI_T says, and no more than MPICH_UNEX_BUFFER_SIZE; whoever matches, and whatever kind of send it is.
 *
 *	t_flow [MESSAGES [BYTES]]
 */
#include "m.h"
#include <stdlib.h>
#include <unistd.h>

#define LOOKS 20000

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

/* A performance variable of the channel. */
static long variable(const char *name)
{
	MPI_T_pvar_session session;
	MPI_T_pvar_handle handle;
	int index, count = 0;
	unsigned long value = 0;

	if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS)
		return -1;
	MPI_T_pvar_session_create(&session);
	MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
	CHECK(count == 1 && MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
	MPI_T_pvar_handle_free(session, &handle);
	MPI_T_pvar_session_free(&session);
	return (long)value;
}

/* Rank 0 had @before KiB, and @messages were sent to it. */
static void memory_is_bounded(long before, int messages, int bytes)
{
	const char *e = getenv("MPICH_UNEX_BUFFER_SIZE");
	long knob = e ? atol(e) : 8 << 20, kept = variable("ptl_unex_bytes"), most = variable("ptl_unex_bytes_most");
	long grown = resident_kb() - before, total = (long)messages * bytes;
	int leaves = bytes < 8000 || getenv("MPICH_MAX_SHORT_MSG_SIZE");

	if (getenv("MPICH_MAX_SHORT_MSG_SIZE"))
		knob *= 2;			/* what travels with its envelope, and what was fetched */
	CHECK(kept <= most && most <= knob, "%ld bytes are kept, %ld were, of %ld", kept, most, knob);
	CHECK((kept > 0) == leaves, "%ld bytes are kept", kept);
	/* beside them a request for each message, and overflow buffers that once were full */
	CHECK(grown * 1024 < 2 * knob + messages * 1500L + (4 << 20), "%ld KiB more for %d messages, %ld bytes",
	      grown, messages, total);
}

/*
 * How they are sent: MPI_Isend, MPI_Issend, MPI_Isend from two pieces of memory (@bytes is even). SLOWLY: while rank 0
 * looks for a message that does not come, so that the inbox is never full.
 */
enum { PLAIN, SYNC, PIECES, SLOWLY };
#define GAP 32

static void start(unsigned char *out, int bytes, int tag, int how, MPI_Request *req)
{
	static MPI_Datatype two;
	static int of;

	if (how == PIECES && of != bytes) {
		if (of)
			MPI_Type_free(&two);
		MPI_Type_vector(2, bytes / 2, bytes / 2 + GAP, MPI_BYTE, &two);
		MPI_Type_commit(&two);
		of = bytes;
	}
	m_fill(out, bytes, tag * 64 + m_rank);
	if (how == SYNC) {
		MPI_Issend(out, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, req);
	} else if (how == PIECES) {
		memmove(out + bytes / 2 + GAP, out + bytes / 2, bytes / 2);
		MPI_Isend(out, 1, two, 0, tag, MPI_COMM_WORLD, req);
	} else {
		MPI_Isend(out, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, req);
	}
	if (how == SLOWLY && tag % 8 == 7)
		usleep(500);
}

/* Each sender starts @n messages of @bytes; rank 0 sleeps, then takes them in order of rank, or of arrival. */
static void t_flood(int n, int bytes, int by_rank, int how)
{
	unsigned char *buf = malloc(bytes + 1);
	int *next = calloc(m_size, sizeof(int)), i, r;
	long before = resident_kb();
	MPI_Status st;

	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank != 0) {
		MPI_Request *req = malloc(n * sizeof(*req));
		unsigned char *out = malloc((size_t)n * (bytes + GAP) + 1);

		for (i = 0; i < n; i++)
			start(out + (size_t)i * (bytes + GAP), bytes, i, how, &req[i]);
		m_waitall(n, req);
		free(out);
		free(req);
	} else {
		double t = MPI_Wtime(), end = t + 10;

		if (how != SLOWLY)
			usleep(300000);
		while (how == SLOWLY && MPI_Wtime() - t < 0.3) {
			MPI_Iprobe(MPI_ANY_SOURCE, 1 << 20, MPI_COMM_WORLD, &r, &st);
			if (variable("ptl_unex_bytes") == 0 && t < end)
				t = MPI_Wtime();	/* they have not begun */
		}
		/* many looks, without a receive: what has come is taken out of Portals and kept */
		for (i = 0; i < LOOKS; i++)
			MPI_Iprobe(MPI_ANY_SOURCE, 1 << 20, MPI_COMM_WORLD, &r, &st);
		memory_is_bounded(before, n * (m_size - 1), bytes);
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
	CHECK(variable("ptl_unex_bytes") == 0, "%ld bytes are left", variable("ptl_unex_bytes"));
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	m_start(&argc, &argv);
	int n = argc > 1 ? atoi(argv[1]) : m_size > 8 ? 400 : 4000, level, bytes = argc > 2 ? atoi(argv[2]) : 4000;

	MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
	t_flood(n, 8, 0, PLAIN);
	t_flood(n, bytes, 1, PLAIN);
	t_flood(n, bytes, 0, PLAIN);
	t_flood(n, bytes, 1, SYNC);
	t_flood(n, bytes, 1, PIECES);
	t_flood(n / 4, bytes, 1, SLOWLY);
	t_flood(n / 4, 40000, 1, PLAIN);
	MPI_T_finalize();
	return m_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Flow control while senders sleep in the middle of a copy: two of them keep two overflow buffers of rank 0 from being
 * posted again, one after the other, while all others use all the credit they get. Nothing may be lost. For 18 ranks,
 * MPICH_PTL_BYPASS=1, MPICH_PTL_SEND_CREDITS=16 and MPICH_UNEX_BUFFER_SIZE=544000, so that all 17 senders together can
 * fill three buffers with messages of 4000 bytes, 8 from each; three of them fill half a buffer, and six fill one.
 *
 * Who has matched a message and copies it sleeps: its source is a page that cannot be read until it is told to wake.
 */
#define _GNU_SOURCE
#include "m.h"
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 18, BYTES = 4000, QUOTA = 8, SLEEPERS = 2 };

/* Words between ranks without MPI. */
struct words {
	int turn[RANKS];		/* how many times QUOTA messages each rank may have started */
	int started[RANKS];		/* and how often it has done so */
	int asleep[RANKS], wake[RANKS];
};

static volatile struct words *words;
static unsigned char *sleepy;		/* the source of a sleeper's first message */

static void until(volatile int *word, int value)
{
	while (*word < value)
		usleep(1000);
}

static void sleep_here(int sig)
{
	(void)sig;
	words->asleep[m_rank] = 1;
	until(&words->wake[m_rank], 1);
	mprotect(sleepy, BYTES, PROT_READ | PROT_WRITE);
}

static void look(int times)
{
	MPI_Status st;
	int there;

	while (times-- > 0)
		MPI_Iprobe(MPI_ANY_SOURCE, 1 << 20, MPI_COMM_WORLD, &there, &st);
}

/* Ranks 1 and 2 sleep in their first message. Every other has its turns; the credit it gets it uses. */
static void sender(void)
{
	static unsigned char out[2][QUOTA][BYTES];
	MPI_Request req[2 * QUOTA];
	const int sleeper = m_rank <= SLEEPERS;
	int n = 0, turn, i;

	for (turn = 0; turn < 2; turn++) {
		until(&words->turn[m_rank], turn + 1);
		for (i = 0; i < QUOTA; i++, n++) {
			unsigned char *from = sleeper && n == 0 ? sleepy : out[turn][i];

			m_fill(from, BYTES, n * RANKS + m_rank);
			if (sleeper && n == 0)
				mprotect(sleepy, BYTES, PROT_NONE);
			look(50);	/* fetches credit */
			MPI_Isend(from, BYTES, MPI_BYTE, 0, n, MPI_COMM_WORLD, &req[n]);
		}
		words->started[m_rank] = turn + 1;
	}
	m_waitall(n, req);
}

static void start(int first, int last, int turn)
{
	int r;

	for (r = first; r <= last; r++) {
		words->turn[r] = turn;
		until(&words->started[r], turn);
	}
}

static void fall_asleep(int r)
{
	words->turn[r] = 2;
	until(&words->asleep[r], 1);
}

static int next[RANKS];

static void take(int n)
{
	static unsigned char buf[BYTES];
	MPI_Status st;

	while (n-- > 0) {
		MPI_Recv(buf, BYTES, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
		CHECK(st.MPI_TAG == next[st.MPI_SOURCE], "rank %d: tag %d, not %d", st.MPI_SOURCE, st.MPI_TAG,
		      next[st.MPI_SOURCE]);
		next[st.MPI_SOURCE] = st.MPI_TAG + 1;
		CHECK(m_wrong(buf, BYTES, st.MPI_TAG * RANKS + st.MPI_SOURCE) < 0, "rank %d, tag %d", st.MPI_SOURCE,
		      st.MPI_TAG);
	}
}

static void receiver(void)
{
	int r;

	start(3, 3, 1);			/* into the first buffer */
	fall_asleep(1);
	start(4, 8, 1);			/* it spills over, and its last message has not ended */
	start(9, 12, 1);		/* into the second */
	fall_asleep(2);
	start(13, 17, 1);		/* it spills over, too */
	take(QUOTA);			/* of rank 3, up to where rank 1 sleeps */
	start(3, 3, 2);
	words->wake[1] = 1;		/* the first buffer ends behind all that has come by now */
	until(&words->started[1], 1);
	take(1 + 9 * QUOTA);		/* up to where rank 2 sleeps */
	start(4, 12, 2);		/* more than there is room for */
	words->wake[2] = 1;
	start(13, 17, 2);
	take(2 * QUOTA * (RANKS - 1) - 10 * QUOTA - 1);
	for (r = 1; r < RANKS; r++)
		CHECK(next[r] == 2 * QUOTA, "rank %d: %d messages", r, next[r]);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = sleep_here };
	struct words *mine;
	MPI_Aint size;
	MPI_Win win;
	int unit;

	m_start(&argc, &argv);
	if (m_size != RANKS) {
		fprintf(stderr, "for %d ranks\n", RANKS);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	MPI_Win_allocate_shared(m_rank == 0 ? sizeof(*words) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	MPI_Win_shared_query(win, 0, &size, &unit, &mine);
	words = mine;
	if (m_rank == 0)
		memset(mine, 0, sizeof(*mine));
	sleepy = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(sleepy != MAP_FAILED);
	sigaction(SIGSEGV, &sa, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == 0)
		receiver();
	else
		sender();
	MPI_Win_free(&win);
	return m_finish();
}

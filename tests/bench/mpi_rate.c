/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_rate - messages per second of several pairs, or of several threads in each of two ranks
 *
 * Windows of 64 Isend and Irecv, then an answer of 4 bytes, as in OSU's mbw_mr. Ranks i and i + P/2 are a pair; all
 * pairs send in the same direction.
 *   pairs_gap        ns between two messages of all pairs together, by size; (bytes) the size
 *   pairs_peak       MB/s, the best of all sizes
 *   pairs_n_half     the length at which half of that is reached (between two sizes: on a straight line), as
 *                    PathScale's mpi_multibw searches it; pairs_n_half_gap: ns between messages at the next size
 *   threads_gap      with --threads T: MPI_THREAD_MULTIPLE, T threads in each of two ranks, each with a communicator of
 *                    its own; ns between two messages of 8 bytes of all threads together, from the first thread's
 *                    start to the last one's end (who has a core in turn does not count twice); (bytes) T
 * Options: --json, --quick, --threads T
 */
#include "bench.h"	/* first: it asks libc for more */
#include <mpi.h>
#include <pthread.h>

#define MAX		((size_t)1 << 20)
#define WINDOW		64
#define TAG		1
#define THREADS_MAX	16

static int rank, size;

/* ns per message; @peer is the other of the pair. */
static double windows(MPI_Comm comm, int sends, int peer, char *buf, size_t n, int count)
{
	MPI_Request req[WINDOW];
	double t = bench_now_ns();
	int word = 0;

	for (int w = 0; w < count; w++) {
		for (int i = 0; i < WINDOW; i++) {
			if (sends)
				MPI_Isend(buf, (int)n, MPI_BYTE, peer, TAG, comm, &req[i]);
			else
				MPI_Irecv(buf, (int)n, MPI_BYTE, peer, TAG, comm, &req[i]);
		}
		MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE);
		if (sends)
			MPI_Recv(&word, 1, MPI_INT, peer, TAG, comm, MPI_STATUS_IGNORE);
		else
			MPI_Send(&word, 1, MPI_INT, peer, TAG, comm);
	}
	return (bench_now_ns() - t) / count / WINDOW;
}

static double pairs(char *buf, size_t n, int quick)
{
	int half = size / 2, peer = rank < half ? rank + half : rank - half, count;
	size_t budget = (quick ? (size_t)8 : (size_t)64) << 20;
	double rep[5], t, sum;

	count = (int)(budget / (n * WINDOW));
	count = count > 500 ? 500 : count < 2 ? 2 : count;
	MPI_Barrier(MPI_COMM_WORLD);
	t = windows(MPI_COMM_WORLD, rank < half, peer, buf, n, 2);
	if (t * WINDOW * count > 1e8)		/* ranks that wait for their turn on a core */
		count = (int)(1e8 / (t * WINDOW)) + 1;
	MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
	for (int r = 0; r < 5; r++) {
		MPI_Barrier(MPI_COMM_WORLD);
		t = windows(MPI_COMM_WORLD, rank < half, peer, buf, n, count);
		t = rank < half ? 1 / t : 0;
		MPI_Reduce(&t, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		rep[r] = 1 / sum;
	}
	return bench_median(rep, 5);
}

static void all_pairs(char *buf, int quick)
{
	size_t len[32];
	double gap[32], peak = 0;
	int n = 0;

	for (size_t s = 1; s <= MAX; s *= quick ? 8 : 2) {
		len[n] = s;
		gap[n++] = pairs(buf, s, quick);
	}
	if (rank)
		return;
	for (int i = 0; i < n; i++) {
		double mb = (double)len[i] / gap[i] * 1e3;

		bench_record("pairs_gap", len[i], gap[i], "ns");
		peak = mb > peak ? mb : peak;
	}
	bench_record("pairs_peak", 0, peak, "MB/s");
	for (int i = 0; i < n; i++) {
		double mb = (double)len[i] / gap[i] * 1e3, below = i ? (double)len[i - 1] / gap[i - 1] * 1e3 : 0;

		if (mb < peak / 2)
			continue;
		bench_record("pairs_n_half", 0, (i ? (double)len[i - 1] : 0) + (peak / 2 - below) / (mb - below) *
			     (double)(len[i] - (i ? len[i - 1] : 0)), "B");
		bench_record("pairs_n_half_gap", 0, gap[i], "ns");
		break;
	}
}

struct worker {
	MPI_Comm comm;
	int count;
	pthread_barrier_t *start;
	double began, ended;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	char buf[8] = { 0 };

	windows(w->comm, rank == 0, !rank, buf, 8, 4);
	pthread_barrier_wait(w->start);
	w->began = bench_now_ns();
	windows(w->comm, rank == 0, !rank, buf, 8, w->count);
	w->ended = bench_now_ns();
	return NULL;
}

static void all_threads(int threads, int quick)
{
	struct worker w[THREADS_MAX];
	pthread_t id[THREADS_MAX];
	pthread_barrier_t start;
	double rep[5];

	for (int i = 0; i < threads; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &w[i].comm);
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int r = 0; r < 5; r++) {
		double began = 1e300, ended = 0;

		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 0; i < threads; i++) {
			w[i].count = quick ? 400 : 4000;
			w[i].start = &start;
			if (pthread_create(&id[i], NULL, work, &w[i]))
				bench_die("mpi_rate: no thread");
		}
		for (int i = 0; i < threads; i++) {
			pthread_join(id[i], NULL);
			began = w[i].began < began ? w[i].began : began;
			ended = w[i].ended > ended ? w[i].ended : ended;
		}
		rep[r] = (ended - began) / w[0].count / WINDOW / threads;
	}
	for (int i = 0; i < threads; i++)
		MPI_Comm_free(&w[i].comm);
	if (rank == 0)
		bench_record("threads_gap", (size_t)threads, bench_median(rep, 5), "ns");
}

int main(int argc, char **argv)
{
	int threads = atoi(bench_option(argc, argv, "--threads", "0")), level = MPI_THREAD_SINGLE, quick;

	if (threads > 0)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	quick = bench_flag(argc, argv, "--quick");
	if (bench_args(argc, argv, rank == 0, "--json --quick", "--threads", "")) {
		MPI_Finalize();
		return 2;
	}
	if (size % 2 || (threads > 0 && size != 2) || threads < 0 || threads > THREADS_MAX ||
	    (threads > 0 && level < MPI_THREAD_MULTIPLE)) {
		if (rank == 0)
			fprintf(stderr, "mpi_rate: %s\n", threads > 0 && level < MPI_THREAD_MULTIPLE ?
				"the library has no MPI_THREAD_MULTIPLE" :
				"an even number of ranks, or 2 with 1 to 16 threads, is needed");
		MPI_Finalize();
		return 1;
	}
	if (threads == 0)	/* threads run where they like */
		bench_pin(rank < size / 2 ? 2 * rank : 2 * (rank - size / 2) + 1);
	if (rank == 0)
		bench_begin("mpi_rate", bench_flag(argc, argv, "--json"));
	if (threads > 0) {
		all_threads(threads, quick);
	} else {
		char *buf = malloc(MAX + 64);

		if (!buf)
			bench_die("mpi_rate: out of memory");
		memset(buf, 1, MAX + 64);
		all_pairs(buf, quick);
	}
	if (rank == 0)
		bench_end();
	MPI_Finalize();
	return 0;
}

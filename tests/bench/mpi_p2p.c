/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_p2p - point-to-point between ranks 0 and 1, plain MPI: compiles and runs with every MPI library
 *
 * Figures (one-way times are half round trips):
 *   latency            Send/Recv back and forth, the same buffers reused (OSU latency); that of 8 bytes in slices, see
 *                      bench.h
 *   fresh              the same, the data written by the sender before each message and read by the receiver behind
 *                      it; only the transfer is timed. From 64 KiB on (--quick: only there) lengths -3 and +3 as well
 *   fresh_touch        the same with the writing and reading in it, as an application sees it
 *   bandwidth          window of 64 messages, then an answer of 4 bytes (OSU bw); time per message
 *   message_gap        window of 64 messages of 8 bytes, one pair (OSU mbw_mr): ns per message, in slices
 *   message_rate       the same as messages per second
 * Options: --json, --quick (fewer sizes and repetitions), --only latency,fresh,bandwidth,rate or latency8 (no other size)
 */
#include "bench.h"	/* first: it asks libc for more */
#include <mpi.h>

#define MAX	((size_t)4 << 20)
#define WINDOW	64
#define TAG	1

static int rank;
static unsigned char *sbuf, *rbuf;

static void send_to(const void *p, size_t n)
{
	MPI_Send(p, (int)n, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD);
}

static void recv_from(void *p, size_t n)
{
	MPI_Recv(p, (int)n, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Both ranks know it without asking, from the length alone: about @budget_mb of data, between @lo and @hi times. */
static int repeats(size_t bytes, size_t budget_mb, int lo, int hi)
{
	size_t n = (budget_mb << 20) / (bytes + 1);

	return n < (size_t)lo ? lo : n > (size_t)hi ? hi : (int)n;
}

static double latency_once(size_t n, int iters)
{
	double t = bench_now_ns();

	for (int i = 0; i < iters; i++) {
		if (rank == 0) {
			send_to(sbuf, n);
			recv_from(rbuf, n);
		} else {
			recv_from(rbuf, n);
			send_to(sbuf, n);
		}
	}
	return (bench_now_ns() - t) / iters / 2;
}

static double latency8_once(void *arg)
{
	(void)arg;
	return latency_once(8, 50);
}

static void latency8(void)
{
	struct bench_slice slice[BENCH_SLICES];

	MPI_Barrier(MPI_COMM_WORLD);
	bench_slices(rank, latency8_once, NULL, slice, BENCH_SLICES);
	if (rank == 0)
		bench_record_slices("latency", 8, slice, BENCH_SLICES);
}

/* Median of five runs, after one that is thrown away. */
static double latency(size_t n, int iters)
{
	double rep[5];

	MPI_Barrier(MPI_COMM_WORLD);
	latency_once(n, iters / 5 + 1);
	for (int r = 0; r < 5; r++)
		rep[r] = latency_once(n, iters);
	return bench_median(rep, 5);
}

#define FRESH_MAX	1000

/*
 * Rank 0 times from before its send to behind its receive; rank 1 the part of that in which it read and wrote. Both
 * read the same clock, so the difference is what the two transfers of that iteration took; the median of these is
 * returned. @touch: the same with rank 0's own reading and writing and rank 1's in it.
 */
static double fresh(size_t n, int iters, double *touch)
{
	static double part[FRESH_MAX], theirs[FRESH_MAX], all[FRESH_MAX];
	uint64_t sum = 0;

	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = -1; i < iters; i++) {
		double t0 = bench_now_ns(), t1, t2;

		if (rank == 0) {
			bench_fill(sbuf, n, (unsigned)i);
			t1 = bench_now_ns();
			send_to(sbuf, n);
			recv_from(rbuf, n);
			t2 = bench_now_ns();
			sum += bench_sum(rbuf, n);
			if (i >= 0)
				all[i] = (bench_now_ns() - t0) / 2;
		} else {
			recv_from(rbuf, n);
			t1 = bench_now_ns();
			sum += bench_sum(rbuf, n);
			bench_fill(sbuf, n, (unsigned)i);
			t2 = bench_now_ns();
			send_to(sbuf, n);
		}
		if (i >= 0)
			part[i] = t2 - t1;
	}
	__asm__ volatile("" : : "r"(sum));
	if (rank == 0) {
		recv_from(theirs, sizeof(*theirs) * (size_t)iters);
		for (int i = 0; i < iters; i++)
			part[i] = (part[i] - theirs[i]) / 2;
		*touch = bench_median(all, iters);
		return bench_median(part, iters);
	}
	send_to(part, sizeof(*part) * (size_t)iters);
	return 0;
}

/* ns per message: @windows windows of 64 in one direction. */
static double window_once(size_t n, int windows)
{
	MPI_Request req[WINDOW];
	double t = bench_now_ns();
	int word = 0;

	for (int w = 0; w < windows; w++) {
		for (int i = 0; i < WINDOW; i++) {
			if (rank == 0)
				MPI_Isend(sbuf, (int)n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &req[i]);
			else
				MPI_Irecv(rbuf, (int)n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &req[i]);
		}
		MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE);
		if (rank == 0)
			recv_from(&word, sizeof(word));
		else
			send_to(&word, sizeof(word));
	}
	return (bench_now_ns() - t) / windows / WINDOW;
}

static double window(size_t n, int windows)
{
	double rep[5];
	int reps = n > (256u << 10) ? 3 : 5;

	MPI_Barrier(MPI_COMM_WORLD);
	window_once(n, windows / 10 + 1);
	for (int r = 0; r < reps; r++)
		rep[r] = window_once(n, windows);
	return bench_median(rep, reps);
}

static double rate_once(void *arg)
{
	(void)arg;
	return window_once(8, 5);
}

static void message_rate(void)
{
	struct bench_slice slice[BENCH_SLICES];
	double gap[BENCH_SLICES];

	MPI_Barrier(MPI_COMM_WORLD);
	bench_slices(rank, rate_once, NULL, slice, BENCH_SLICES);
	for (int i = 0; i < BENCH_SLICES; i++)
		gap[i] = slice[i].t;
	if (rank)
		return;
	bench_record_slices("message_gap", 8, slice, BENCH_SLICES);
	bench_record("message_rate", 8, 1e9 / bench_median(gap, BENCH_SLICES), "msg/s");
}

static void all_latencies(int quick)
{
	static const size_t quick_sizes[] = { 0, 8, 1024, 8192, 65536, 262144, 1048576, 4194304 };
	size_t sizes[64];
	int count = 0;

	if (quick) {
		count = (int)(sizeof(quick_sizes) / sizeof(quick_sizes[0]));
		memcpy(sizes, quick_sizes, sizeof(quick_sizes));
	} else {
		sizes[count++] = 0;
		for (size_t n = 1; n <= MAX; n *= 2)
			sizes[count++] = n;
	}
	for (int s = 0; s < count; s++) {
		size_t n = sizes[s];
		int iters = repeats(n, quick ? 16 : 64, 8, quick ? 20000 : 50000);
		double v;

		if (n == 8) {
			latency8();
			continue;
		}
		v = latency(n, iters);
		if (rank == 0)
			bench_record("latency", n, v, "ns");
	}
}

static void all_fresh(int quick)
{
	static const int odd[] = { 0, -3, 3 };

	for (size_t n = quick ? 64u << 10 : 8; n <= MAX; n *= n < 64u << 10 ? 2 : 4) {
		for (int o = 0; o < (n < 64u << 10 ? 1 : quick ? 2 : 3); o++) {
			size_t len = n + (size_t)odd[o];
			double touch = 0, v = fresh(len, repeats(len, quick ? 32 : 128, 8, FRESH_MAX), &touch);

			if (rank)
				continue;
			bench_record("fresh", len, v, "ns");
			bench_record("fresh_touch", len, touch, "ns");
		}
	}
}

int main(int argc, char **argv)
{
	int quick, json, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	quick = bench_flag(argc, argv, "--quick");
	json = bench_flag(argc, argv, "--json");
	if (size != 2) {
		if (rank == 0)
			fprintf(stderr, "mpi_p2p: run it on 2 ranks\n");
		MPI_Finalize();
		return 1;
	}
	if (bench_args(argc, argv, rank == 0, "--json --quick", "--only", "latency latency8 fresh bandwidth rate")) {
		MPI_Finalize();
		return 2;
	}
	bench_pin(rank);
	bench_line_open();
	/* plain malloc, as an application; the offset keeps the two buffers from sharing cache sets */
	sbuf = malloc(MAX + 8192);
	rbuf = malloc(MAX + 8192);
	if (!sbuf || !rbuf)
		bench_die("mpi_p2p: out of memory");
	memset(sbuf, 1, MAX + 8192);
	memset(rbuf, 2, MAX + 8192);
	sbuf += 64;
	rbuf += 64 + 2048;

	if (rank == 0)
		bench_begin("mpi_p2p", json);
	if (bench_wanted(argc, argv, "latency"))
		all_latencies(quick);
	else if (bench_wanted(argc, argv, "latency8"))
		latency8();
	if (bench_wanted(argc, argv, "rate"))
		message_rate();
	if (bench_wanted(argc, argv, "fresh"))
		all_fresh(quick);
	if (bench_wanted(argc, argv, "bandwidth"))
		for (size_t n = 64u << 10; n <= MAX; n *= 4) {
			double v = window(n, repeats(n * WINDOW, quick ? 64 : 512, 1, 100));

			if (rank == 0) {
				bench_record("window_time", n, v, "ns");
				bench_record("bandwidth", n, (double)n / v * 1e3, "MB/s");
			}
		}
	if (rank == 0)
		bench_end();
	MPI_Finalize();
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_put - short one-sided operations between two PEs, beside the bare hand-over h of a cache line
 *
 *   put_pingpong    NetPIPE: half round trip of a put of n bytes, the last word of which is waited for by loads (of 1
 *                   byte: that one)
 *   put_call        a blocking put of 8 bytes after the other, to one line; p_call: shmem_p
 *   get_call        a get of 8 bytes that nobody writes meanwhile; get_pingpong: half of what it takes to see by gets
 *                   what the peer has stored, and to answer
 *   get_latency     a blocking get of n bytes that nobody writes
 *   amo_...         OSU: an atomic operation of PE 0 on a variable of PE 1, and no other; a quiet ends each row of them
 *   fetch_inc       both PEs at once on one variable; bare_inc: the locked instruction on the same one
 *   barrier         shmem_barrier_all
 * ns each; run it on 2 PEs. What can be has h beside it. Options: --json, --quick, --only put,get,call,amo,inc,barrier
 */
#include "shmem_bench.h"

#define MAX	4096

static struct bench_lines *lines;	/* where the peer puts; own */
static struct bench_lines here;		/* what is put from, and got into: private */
static uint32_t seq;
static size_t len;
static unsigned char *room;

/* As bench_lines_pingpong(), by puts of 4 or 8 bytes. */
static double put_lines(void *arg)
{
	double per[BENCH_LINES];
	uint32_t s = seq;

	for (int l = 0; l < BENCH_LINES; l++) {
		_Atomic uint32_t *in = &lines->line[l].word;
		uint64_t out = 0;
		double t = 0;

		for (int i = -2; i < BENCH_HANDS; i++) {
			if (i == 0)
				t = bench_now_ns();
			out = ++s;
			if (me == 0)
				shmem_putmem(&lines->line[l], &out, 8, 1);
			while (atomic_load_explicit(in, memory_order_acquire) != s)
				;
			if (me == 1)
				shmem_putmem(&lines->line[l], &out, 8, 0);
		}
		per[l] = (bench_now_ns() - t) / BENCH_HANDS / 2;
	}
	seq = s;
	return bench_middle(per, BENCH_LINES);
}

/* The same with one byte: a number of 8 bits, of which none comes twice in a row. */
static double put_byte(void *arg)
{
	double per[BENCH_LINES];
	uint32_t s = seq;

	for (int l = 0; l < BENCH_LINES; l++) {
		volatile unsigned char *in = (volatile unsigned char *)&lines->line[l];
		unsigned char out = 0;
		double t = 0;

		for (int i = -2; i < BENCH_HANDS; i++) {
			if (i == 0)
				t = bench_now_ns();
			out = (unsigned char)++s;
			if (me == 0)
				shmem_putmem(&lines->line[l], &out, 1, 1);
			while (*in != out)
				;
			if (me == 1)
				shmem_putmem(&lines->line[l], &out, 1, 0);
		}
		per[l] = (bench_now_ns() - t) / BENCH_HANDS / 2;
	}
	seq = s;
	return bench_middle(per, BENCH_LINES);
}

/* The same, the word being fetched from the peer, where it is stored. */
static double get_lines(void *arg)
{
	double per[BENCH_LINES];
	uint32_t s = seq;

	for (int l = 0; l < BENCH_LINES; l++) {
		_Atomic uint32_t *out = &lines->line[l].word;
		uint64_t in = 0;
		double t = 0;

		for (int i = -2; i < BENCH_HANDS; i++) {
			if (i == 0)
				t = bench_now_ns();
			s++;
			if (me == 0)
				atomic_store_explicit(out, s, memory_order_release);
			do
				shmem_getmem(&in, &lines->line[l], 8, !me);
			while ((uint32_t)in != s);
			if (me == 1)
				atomic_store_explicit(out, s, memory_order_release);
		}
		per[l] = (bench_now_ns() - t) / BENCH_HANDS / 2;
	}
	seq = s;
	return bench_middle(per, BENCH_LINES);
}

/* Longer ones: the last word is put behind the rest, as a put need not be in order. */
static double put_long(void *arg)
{
	volatile uint64_t *in = (volatile uint64_t *)(void *)(room + len - 8);
	const int hands = 200;
	uint64_t out;
	double t = bench_now_ns();

	for (int i = 0; i < hands; i++) {
		out = ++seq;
		if (me == 1)
			while (*in != out)
				;
		shmem_putmem(room, (unsigned char *)&here, len - 8, !me);
		shmem_fence();
		shmem_putmem(room + len - 8, &out, 8, !me);
		if (me == 0)
			while (*in != out)
				;
	}
	return (bench_now_ns() - t) / hands / 2;
}

static double barriers(void *arg)
{
	const int times = 300;
	double t = bench_now_ns();

	for (int i = 0; i < times; i++)
		shmem_barrier_all();
	return (bench_now_ns() - t) / times;
}

/* @once in slices with h between them; one run in each where it is long itself. */
static void slices(const char *figure, size_t bytes, double (*once)(void *), int runs)
{
	struct bench_slice s[BENCH_SLICES];
	double run[BENCH_RUNS], h = bench_handover(me);
	int n = quick ? 2 : BENCH_SLICES;

	once(NULL);
	h = bench_handover(me);
	for (int i = 0; i < n; i++) {
		s[i].h0 = h;
		for (int r = 0; r < runs; r++)
			run[r] = once(NULL);
		s[i].t = bench_middle(run, runs);
		s[i].h1 = h = bench_handover(me);
	}
	if (me == 0)
		bench_record_slices(figure, bytes, s, n);
	shmem_barrier_all();
}

/* Median of 9 of @times calls of PE 0 in a row, while the other is in a barrier. */
static void calls(void)
{
	enum { PUT, P, GET, KINDS };
	static const char *const name[] = { "put_call", "p_call", "get_call" };
	double v[KINDS][9];
	int times = quick ? 1000 : 1000000;
	long x = 1;

	for (int r = 0; r < 9; r++)
		for (int kind = 0; kind < KINDS; kind++) {
			double t;

			shmem_barrier_all();
			if (me)
				continue;
			t = bench_now_ns();
			for (int i = 0; i < times; i++)
				if (kind == PUT)
					shmem_putmem(room, &x, 8, 1);
				else if (kind == P)
					shmem_long_p((long *)(void *)room, i, 1);
				else
					shmem_getmem(&x, room + 128, 8, 1);
			v[kind][r] = (bench_now_ns() - t) / times;
		}
	shmem_barrier_all();
	for (int kind = 0; kind < KINDS && !me; kind++)
		bench_record(name[kind], 8, bench_median(v[kind], 9), "ns");
}

/* A row of about @ns of what @once(kind) does, by PE 0; ns each. */
static double row(void (*once)(int), int kind, double ns)
{
	int times = 16;
	double t;

	for (;;) {
		t = bench_now_ns();
		for (int i = 0; i < times; i++)
			once(kind);
		shmem_quiet();
		t = bench_now_ns() - t;
		if (t >= ns || times >= 1 << 24)
			return t / times;
		times *= t > ns / 8 ? 2 : 8;
	}
}

static void get_once(int kind)
{
	shmem_getmem(&here, room, len, 1);
}

enum { ADD, INC, SET, FETCH, FETCH_ADD, FETCH_INC, SWAP, CSWAP, AMOS };
static long sum;			/* what came back, and where more goes to */

static void amo_once(int kind)
{
	long *v = (long *)(void *)room;

	switch (kind) {
	case ADD: shmem_long_atomic_add(v, 3, 1); break;
	case INC: shmem_long_atomic_inc(v, 1); break;
	case SET: shmem_long_atomic_set(v, sum, 1); break;
	case FETCH: sum += shmem_long_atomic_fetch(v, 1); break;
	case FETCH_ADD: sum += shmem_long_atomic_fetch_add(v, 3, 1); break;
	case FETCH_INC: sum += shmem_long_atomic_fetch_inc(v, 1); break;
	case SWAP: sum += shmem_long_atomic_swap(v, sum, 1); break;
	default: sum = shmem_long_atomic_compare_swap(v, sum, sum + 1, 1);
	}
}

/* Median of 9 rows of each, while the other PE is in a barrier. */
static void rows(const char *const *name, int kinds, size_t bytes, void (*once)(int))
{
	double v[AMOS][9];

	shmem_barrier_all();
	for (int r = 0; r < 9 && !me; r++)
		for (int kind = 0; kind < kinds; kind++)
			v[kind][r] = row(once, kind, quick ? 1e4 : 2e6);
	shmem_barrier_all();
	for (int kind = 0; kind < kinds && !me; kind++)
		bench_record(name[kind], bytes, bench_median(v[kind], 9), "ns");
}

static void gets(void)
{
	static const char *const name[] = { "get_latency" };

	for (len = 1; len <= MAX; len *= 8)
		rows(name, 1, len, get_once);
}

static void amos(void)
{
	static const char *const name[AMOS] = {
		"amo_add", "amo_inc", "amo_set", "amo_fetch", "amo_fetch_add", "amo_fetch_inc", "amo_swap", "amo_cswap",
	};

	rows(name, AMOS, 8, amo_once);
}

/* Both at once; what counts is the PE that took longer. */
static void increments(void)
{
	long *count = (long *)(void *)room;
	long *direct = shmem_ptr(count, !me) ? shmem_ptr(count, 0) : NULL;	/* the same on both */
	double *took = (double *)(void *)(room + 1024), v[2][9];
	int times = quick ? 1000 : 300000;
	long sum = 0;

	if (me == 0)
		*count = 0;
	for (int r = 0; r < 9; r++)
		for (int bare = 0; bare < 2; bare++) {
			double t, other;

			shmem_barrier_all();
			t = bench_now_ns();
			if (!bare)
				for (int i = 0; i < times; i++)
					sum += shmem_long_atomic_fetch_inc(count, 0);
			else if (direct)
				for (int i = 0; i < times; i++)
					sum += __atomic_fetch_add(direct, 1, __ATOMIC_ACQ_REL);
			*took = (bench_now_ns() - t) / times;
			shmem_barrier_all();
			shmem_getmem(&other, took, 8, !me);
			v[bare][r] = *took > other ? *took : other;
		}
	__asm__ volatile("" : : "r"(sum));
	shmem_barrier_all();
	if (me)
		return;
	if (*count != 9L * times * n_pes * (direct ? 2 : 1))
		bench_die("shmem_put: %ld increments instead of %ld", *count, 9L * times * n_pes * (direct ? 2 : 1));
	bench_record("fetch_inc", 8, bench_median(v[0], 9), "ns");
	if (direct)
		bench_record("bare_inc", 8, bench_median(v[1], 9), "ns");
}

int main(int argc, char **argv)
{
	int rc = bench_shmem_start(argc, argv, 2, "put get call amo inc barrier");

	if (rc)
		return rc;
	lines = bench_shmem_room(sizeof(*lines));
	room = bench_shmem_room(MAX);
	if (me == 0)
		bench_begin("shmem_put", bench_flag(argc, argv, "--json"));
	if (bench_wanted(argc, argv, "put")) {
		slices("put_pingpong", 1, put_byte, 1);
		memset(lines, 0, sizeof(*lines));
		seq = 0;
		shmem_barrier_all();
		slices("put_pingpong", 8, put_lines, 1);
		for (len = 64; len <= MAX; len *= 8) {
			memset(room, 0, MAX);
			seq = 0;
			shmem_barrier_all();
			slices("put_pingpong", len, put_long, quick ? 1 : 10);
		}
		memset(lines, 0, sizeof(*lines));
		seq = 0;
		shmem_barrier_all();
	}
	if (bench_wanted(argc, argv, "get")) {
		slices("get_pingpong", 8, get_lines, 1);
		gets();
	}
	if (bench_wanted(argc, argv, "barrier"))
		slices("barrier", 0, barriers, quick ? 1 : 10);
	if (bench_wanted(argc, argv, "call"))
		calls();
	if (bench_wanted(argc, argv, "amo"))
		amos();
	if (bench_wanted(argc, argv, "inc"))
		increments();
	if (me == 0)
		bench_end();
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dmapp_rma - what the paper on DMAPP measures, and what a call costs beside the same one of SHMEM
 *
 *   put_pingpong, get           half round trip of a blocking put, a blocking get: n bytes (figure 2)
 *   shmem_pingpong              the same by shmem_putmem and quiet, 8 bytes
 *   put_call, put_nbi_call      8 bytes after 8 bytes to one line, blocking (with its fence) and nbi; get_call.
 *   shmem_put_call, shmem_put_quiet_call, shmem_get_call   what stands beside these: put, put and quiet, get
 *   bw_1, bw_all                blocking puts of n bytes, by one PE, by each: ns for n bytes of one PE (figure 3)
 *   flight                      n puts of 64 bytes by nbi, and gsync: ns for all (figure 4)
 *   stride_8, _64, _512         ns for each of so many elements of 8 bytes in one iput, against the target's stride (5)
 *   amo_one, amo_8k             aadd_nbi by the first 1, 2, ... and all PEs on one word of PE 0, on 8192 of them at
 *                               random: ns for each of all these PEs', against their number (6); the others wait.
 *                               afadd, bare: fetching, and the locked instruction that fetches, all on one word
 *   rate, rate_nb               nbi puts of 8 bytes, and nb puts with a wait behind each, by 1 and 2 threads of PE 0:
 *                               ns for each, against the threads
 * The number in "bytes" is what a figure is drawn against. Run it on 2 PEs or more, where both sides of put and call
 * are PE 0 and 1. Options: --json, --quick, --only put,call,bw,flight,stride,amo,rate
 */
#include "shmem_bench.h"
#include <dmapp.h>
#include <pthread.h>
#include <stdbool.h>

#define MAX	((size_t)1 << 20)
#define WORDS	8192

static dmapp_jobinfo_t job;
static dmapp_seg_desc_t *seg;
static unsigned char *room, *own;
static uint64_t seq;
static size_t len;

static void must(dmapp_return_t rc)
{
	const char *text;

	if (rc == DMAPP_RC_SUCCESS)
		return;
	dmapp_explain_error(rc, &text);
	bench_die("dmapp_rma: PE %d: %s", me, text);
}

static double middle(double *v, int runs)
{
	return bench_median(v, runs);
}

/* ---- latency ---- */

static double pingpong(int by_shmem)
{
	volatile uint64_t *in = (volatile uint64_t *)(void *)(room + len - 8);
	const int hands = quick ? 100 : 400;
	uint64_t *out = (uint64_t *)(void *)(own + len - 8);
	double t = bench_now_ns();

	for (int i = 0; i < hands; i++) {
		seq++;
		if (me == 1)
			while (*in != seq)
				;
		*out = seq;
		if (len > 8)
			must(dmapp_put(room, seg, !me, own, len / 8 - 1, DMAPP_QW));
		if (by_shmem) {
			shmem_putmem((void *)(uintptr_t)in, out, 8, !me);
			shmem_quiet();
		} else {
			must(dmapp_put((void *)(uintptr_t)in, seg, !me, out, 1, DMAPP_QW));
		}
		if (me == 0)
			while (*in != seq)
				;
	}
	return (bench_now_ns() - t) / hands / 2;
}

static double gets(void)
{
	const int times = quick ? 100 : 2000;
	double t = bench_now_ns();

	for (int i = 0; i < times; i++)
		must(dmapp_get(own, room, seg, 1, len / 8, DMAPP_QW));
	return (bench_now_ns() - t) / times;
}

static void latency(void)
{
	double v[9], w[9], g[9];

	for (len = 8; len <= (quick ? 4096 : 65536); len *= 8) {
		memset(room, 0, MAX);
		seq = 0;
		for (int r = 0; r < 9; r++) {
			shmem_barrier_all();
			v[r] = me < 2 ? pingpong(0) : 0;
			shmem_barrier_all();
			w[r] = me < 2 && len == 8 ? pingpong(1) : 0;
			shmem_barrier_all();
			g[r] = me == 0 ? gets() : 0;
		}
		bench_note("put_pingpong", len, middle(v, 9));
		if (len == 8)
			bench_note("shmem_pingpong", len, middle(w, 9));
		bench_note("get", len, middle(g, 9));
		shmem_barrier_all();
	}
}

/* ---- calls ---- */

enum { PUT, PUT_NBI, GET, SHMEM_PUT, SHMEM_PUT_QUIET, SHMEM_GET, CALLS };
static const char *const call_name[CALLS] = {
	"put_call", "put_nbi_call", "get_call", "shmem_put_call", "shmem_put_quiet_call", "shmem_get_call"
};

static double calls_of(int kind, int times)
{
	uint64_t x = 1;
	double t = bench_now_ns();

#define TIMES(call) do for (int i = 0; i < times; i++) call; while (0)
	switch (kind) {
	case PUT: TIMES(dmapp_put(room, seg, 1, &x, 1, DMAPP_QW)); break;
	case PUT_NBI: TIMES(dmapp_put_nbi(room, seg, 1, &x, 1, DMAPP_QW)); break;
	case GET: TIMES(dmapp_get(&x, room + 128, seg, 1, 1, DMAPP_QW)); break;
	case SHMEM_PUT: TIMES(shmem_putmem(room, &x, 8, 1)); break;
	case SHMEM_PUT_QUIET: TIMES((shmem_putmem(room, &x, 8, 1), shmem_quiet())); break;
	default: TIMES(shmem_getmem(&x, room + 128, 8, 1));
	}
	return (bench_now_ns() - t) / times;
}

/* The best of many short runs: what the processor does; all else only disturbs it. */
static void calls(void)
{
	double best[CALLS];
	int runs = quick ? 5 : 100;

	for (int r = 0; r < runs; r++)
		for (int kind = 0; kind < CALLS; kind++) {
			double v;

			if (r % 10 == 0)
				shmem_barrier_all();
			v = me ? 0 : calls_of(kind, quick ? 1000 : 20000);
			best[kind] = r && best[kind] < v ? best[kind] : v;
			must(dmapp_gsync_wait());
		}
	for (int kind = 0; kind < CALLS; kind++)
		bench_note(call_name[kind], 8, best[kind]);
	shmem_barrier_all();
}

/* ---- bandwidth ---- */

/* Each PE to the next; only PE 0 where not @all. The slowest of them. */
static double bandwidth(int all)
{
	static double took, most;
	double other;
	int times = quick ? 4 : len < 65536 ? 2000 : 100;
	double t;

	shmem_barrier_all();
	t = bench_now_ns();
	for (int i = 0; i < times && (all || me == 0); i++)
		must(dmapp_put(room, seg, (me + 1) % n_pes, own, len / 8, DMAPP_QW));
	took = (bench_now_ns() - t) / times;
	shmem_barrier_all();
	most = 0;
	for (int pe = 0; pe < n_pes && me == 0; pe++) {
		must(dmapp_get(&other, &took, &job.data_seg, pe, 1, DMAPP_QW));
		most = other > most ? other : most;
	}
	return most;
}

static void bandwidths(void)
{
	double one[5], all[5];

	for (len = 64; len <= (quick ? 65536 : MAX); len *= 4) {
		for (int r = 0; r < 5; r++) {
			one[r] = bandwidth(0);
			all[r] = bandwidth(1);
		}
		bench_note("bw_1", len, middle(one, 5));
		bench_note("bw_all", len, middle(all, 5));
	}
}

static void flights(void)
{
	double v[9];

	for (size_t n = 1; n <= 1024; n *= 4) {
		for (int r = 0; r < 9; r++) {
			int times = quick ? 10 : 2000;
			double t = bench_now_ns();

			for (int i = 0; i < times && me == 0; i++) {
				for (size_t k = 0; k < n; k++)
					must(dmapp_put_nbi(room + 64 * k, seg, 1, own + 64 * k, 8, DMAPP_QW));
				must(dmapp_gsync_wait());
			}
			v[r] = (bench_now_ns() - t) / times;
		}
		bench_note("flight", n, middle(v, 9));
	}
	shmem_barrier_all();
}

static void strides(void)
{
	static const char *const name[] = { "stride_8", "stride_64", "stride_512" };
	double v[9];

	for (int k = 0; k < 3; k++)
		for (ptrdiff_t stride = 1; stride <= 128; stride *= 2) {
			uint64_t n = 8u << (3 * k);

			for (int r = 0; r < 9; r++) {
				int times = (quick ? 800 : 400000) / (int)n;
				double t = bench_now_ns();

				for (int i = 0; i < times && me == 0; i++)
					must(dmapp_iput(room, seg, 1, own, stride, 1, n, DMAPP_QW));
				v[r] = (bench_now_ns() - t) / times / (double)n;
			}
			bench_note(name[k], (size_t)stride, middle(v, 9));
		}
	shmem_barrier_all();
}

/* ---- atomic operations ---- */

enum { ONE, EIGHT_K, FETCH, BARE, AMOS };
static const char *const amo_name[AMOS] = { "amo_one", "amo_8k", "afadd", "bare" };

/* By the first @active PEs. */
static double amos_of(int kind, int active, int times, uint64_t *words, uint64_t *direct)
{
	static double took;
	uint64_t x = 88172645463325252u + (uint64_t)me;
	double t, other, most = 0;
	int64_t old;

	shmem_barrier_all();
	t = bench_now_ns();
	for (int i = 0; i < times && me < active; i++)
		switch (kind) {
		case ONE:
			dmapp_aadd_qw_nbi(words, seg, 0, 1);
			break;
		case EIGHT_K:
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			dmapp_aadd_qw_nbi(&words[x % WORDS], seg, 0, 1);
			break;
		case FETCH:
			dmapp_afadd_qw(&old, words, seg, 0, 1);
			break;
		default:
			if (!direct)
				break;
			old = (int64_t)__atomic_fetch_add(direct, 1, __ATOMIC_ACQ_REL);
			__asm__ volatile("" : : "r"(old));	/* it fetches, as afadd */
		}
	must(dmapp_gsync_wait());
	took = (bench_now_ns() - t) / times;
	shmem_barrier_all();
	for (int pe = 0; pe < active && me == 0; pe++) {
		must(dmapp_get(&other, &took, &job.data_seg, pe, 1, DMAPP_QW));
		most = other > most ? other : most;
	}
	return most / active;
}

static void amos(void)
{
	uint64_t *words = (uint64_t *)(void *)room, *direct = shmem_ptr(words, n_pes - 1) ? shmem_ptr(words, 0) : NULL;
	int times = quick ? 1000 : 200000, kinds = direct ? AMOS : BARE;
	uint64_t sum = 0, want = 0;
	double v[AMOS][9];

	memset(room, 0, MAX);
	for (int active = 1; active <= n_pes; active++) {
		for (int r = 0; r < 9; r++)
			for (int kind = 0; kind < kinds; kind++)
				v[kind][r] = amos_of(kind, active, times, words, direct);
		for (int kind = 0; kind < kinds; kind++)
			bench_note(amo_name[kind], (size_t)active, middle(v[kind], 9));
		want += 9ull * (unsigned)kinds * (unsigned)times * (unsigned)active;
	}
	for (int i = 0; i < WORDS && me == 0; i++)
		sum += words[i];
	if (me == 0 && sum != want)
		bench_die("dmapp_rma: %llu additions are there, not %llu", (unsigned long long)sum,
			  (unsigned long long)want);
	shmem_barrier_all();
}

/* ---- threads ---- */

static int puts_of_a_thread;
static bool with_syncids;
static pthread_barrier_t meet;

static void *put_many(void *arg)
{
	uint64_t x = 1;
	unsigned char *mine = room + 4096 * (uintptr_t)arg;

	dmapp_syncid_handle_t id;

	pthread_barrier_wait(&meet);
	for (int i = 0; i < puts_of_a_thread && with_syncids; i++) {
		must(dmapp_put_nb(mine + 8 * (i % 64), seg, 1, &x, 1, DMAPP_QW, &id));
		must(dmapp_syncid_wait(&id));
	}
	for (int i = 0; i < puts_of_a_thread && !with_syncids; i++)
		dmapp_put_nbi(mine + 8 * (i % 64), seg, 1, &x, 1, DMAPP_QW);
	dmapp_thread_gsync_wait();
	return NULL;
}

static void rates(const char *figure, bool syncids)
{
	double v[9];

	with_syncids = syncids;
	puts_of_a_thread = quick ? 1000 : 1000000;
	for (size_t threads = 1; threads <= 2; threads++) {
		for (int r = 0; r < 9 && me == 0; r++) {
			pthread_t t[2];
			cpu_set_t all;
			double from;

			CPU_ZERO(&all);			/* the other PE sleeps in a barrier: its core is free */
			for (int c = 0; c < CPU_SETSIZE; c++)
				CPU_SET(c, &all);
			pthread_barrier_init(&meet, NULL, (unsigned)threads + 1);
			for (uintptr_t i = 0; i < threads; i++) {
				pthread_create(&t[i], NULL, put_many, (void *)i);
				pthread_setaffinity_np(t[i], sizeof(all), &all);
			}
			pthread_barrier_wait(&meet);
			from = bench_now_ns();
			for (uintptr_t i = 0; i < threads; i++)
				pthread_join(t[i], NULL);
			v[r] = (bench_now_ns() - from) / puts_of_a_thread / (double)threads;
			pthread_barrier_destroy(&meet);
		}
		bench_note(figure, threads, me ? 0 : middle(v, 9));
	}
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	int rc = bench_shmem_start(argc, argv, 0, "put call bw flight stride amo rate");

	if (rc)
		return rc;
	if (n_pes < 2)
		bench_die("dmapp_rma: run it on 2 PEs or more");
	must(dmapp_init(NULL, NULL));
	must(dmapp_get_jobinfo(&job));
	seg = &job.sheap_seg;
	room = bench_shmem_room(MAX);
	own = calloc(1, MAX);
	if (!own)
		bench_die("dmapp_rma: no memory");
	bench_fill(own, MAX, (unsigned)me);
	if (me == 0)
		bench_begin("dmapp_rma", bench_flag(argc, argv, "--json"));
	if (bench_wanted(argc, argv, "put"))
		latency();
	if (bench_wanted(argc, argv, "call"))
		calls();
	if (bench_wanted(argc, argv, "bw"))
		bandwidths();
	if (bench_wanted(argc, argv, "flight"))
		flights();
	if (bench_wanted(argc, argv, "stride"))
		strides();
	if (bench_wanted(argc, argv, "amo"))
		amos();
	if (bench_wanted(argc, argv, "rate")) {
		rates("rate", false);
		rates("rate_nb", true);
	}
	if (me == 0)
		bench_end();
	must(dmapp_finalize());
	shmem_finalize();
	free(own);
	return 0;
}

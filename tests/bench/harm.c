/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * harm.c - does the library slow down a program that only computes, or make it fatter?
 *
 *	harm [--with LIB.so] [--ranks 2] [--rounds 5] [--mb 512] [bench ...]
 *
 * Runs each bench in fresh processes, plain and with LIB preloaded, alternately, so that drift of the machine falls
 * on both. With --ranks N each run is N processes at once: plain ones, against ranks of a job whose memory was
 * adopted. Prints one JSON line per figure: median of both, ratio (above 1: the library is faster), peak RSS ratio
 * (above 1: fatter). A bench prints its own score ("higher is better") and VmHWM.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "smartmap.h"

static size_t mb = 512;
static volatile uint64_t sink;

/* Processor time: other programs on the machine do not count, and these benches never wait. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Mixed sizes, a live set of 4,096 blocks: blocks made, touched and freed per second. Mostly small, some of 1 MiB. */
static double bench_mix(void)
{
	enum { LIVE = 4096 };
	static char *live[LIVE];
	uint64_t s = 88172645463325252ull;
	long ops = 3000000;
	double t = now();

	for (long i = 0; i < ops; i++) {
		uint64_t r = rnd(&s);
		unsigned k = (unsigned)(r % LIVE);
		unsigned log2 = 4 + (unsigned)((r >> 20) % 7);
		size_t n;

		if ((r >> 30) % 64 == 0)
			log2 = 11 + (unsigned)((r >> 40) % 6);
		if ((r >> 30) % 65536 == 1)
			log2 = 20;
		n = (1ul << log2) + (r >> 50) % (1ul << log2);
		free(live[k]);
		live[k] = malloc(n);
		live[k][0] = 1;
		live[k][n - 1] = 1;
	}
	t = now() - t;
	for (int k = 0; k < LIVE; k++)
		free(live[k]);
	return (double)ops / t;
}

/* Large blocks made, written and freed, as work arrays of a solver are: bytes per second. */
static double bench_large(void)
{
	double t = now();
	size_t n = mb << 20, done = 0;

	for (int i = 0; i < 24; i++) {
		size_t len = (n >> (2 + i % 5)) + 4096;
		char *p = malloc(len);

		for (size_t j = 0; j < len; j += 4096)
			p[j] = 1;
		done += len;
		free(p);
	}
	return (double)done / (now() - t);
}

/* A fresh array made and touched: bytes per second. */
static double bench_touch(void)
{
	size_t n = mb << 20;
	double t = now();
	char *p = malloc(n);

	memset(p, 1, n);
	t = now() - t;
	sink = (uint64_t)p[n / 2];
	free(p);
	return (double)n / t;
}

/* STREAM triad on three arrays: best of 10, bytes per second. */
static double bench_triad(void)
{
	size_t n = (mb << 20) / 3 / sizeof(double);
	double *a = malloc(n * sizeof(*a)), *b = malloc(n * sizeof(*b)), *c = malloc(n * sizeof(*c)), best = 1e9;

	for (size_t i = 0; i < n; i++) {
		a[i] = 0;
		b[i] = 1;
		c[i] = 2;
	}
	for (int k = 0; k < 10; k++) {
		double t = now();

		for (size_t i = 0; i < n; i++)
			a[i] = b[i] + 3.0 * c[i];
		t = now() - t;
		best = t < best ? t : best;
	}
	sink = (uint64_t)a[n / 2];
	free(a);
	free(b);
	free(c);
	return 3.0 * (double)n * sizeof(*a) / best;
}

/* Random cycle through the memory, one cache line per step: steps per second. */
static double bench_chase(void)
{
	size_t n = (mb << 20) / 64;
	struct { uint64_t next, pad[7]; } *p = malloc(n * 64);
	uint64_t s = 1234567, i;
	long steps = 8000000;
	double t;

	for (i = 0; i < n; i++)
		p[i].next = i;
	for (i = n - 1; i > 0; i--) {	/* Sattolo: one cycle */
		uint64_t j = rnd(&s) % i, x = p[i].next;

		p[i].next = p[j].next;
		p[j].next = x;
	}
	i = 0;
	t = now();
	for (long k = 0; k < steps; k++)
		i = p[i].next;
	t = now() - t;
	sink = i;
	free(p);
	return (double)steps / t;
}

static const struct bench {
	const char *name, *unit;
	double (*run)(void);
} benches[] = {
	{ "malloc_mix", "blocks/s", bench_mix },
	{ "malloc_large", "B/s", bench_large },
	{ "first_touch", "B/s", bench_touch },
	{ "triad", "B/s", bench_triad },
	{ "chase", "steps/s", bench_chase },
};
enum { BENCHES = sizeof(benches) / sizeof(benches[0]) };

static long peak_kb(void)
{
	char line[256];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static int child(int argc, char **argv)		/* --child BENCH MB RANK SIZE NAME */
{
	struct smartmap_job job = { .adopt = SMARTMAP_ADOPT_ALL };
	double v;

	if (argc < 7)
		return 2;
	mb = (size_t)atol(argv[3]);
	job.rank = (uint32_t)atoi(argv[4]);
	job.size = (uint32_t)atoi(argv[5]);
	job.name = argv[6];
	if (job.size > 1) {
		int e = smartmap_init(&job);

		if (e) {
			fprintf(stderr, "smartmap_init: %s\n", strerror(-e));
			return 1;
		}
	}
	v = benches[atoi(argv[2])].run();
	printf("%.9g %ld\n", v, peak_kb());
	if (job.size > 1) {
		smartmap_barrier();
		smartmap_fini();
	}
	return 0;
}

struct score {
	double v, rss;
};

/* One run of @n processes at once; the mean of their scores. Return: 0, or -1 when one failed. */
static int run(const char *self, int b, int n, int job, const char *preload, struct score *s)
{
	FILE *f[64];
	pid_t pid[64];
	char name[64];
	int bad = 0;

	snprintf(name, sizeof(name), "harm-%d-%ld", getpid(), random());
	s->v = s->rss = 0;
	for (int i = 0; i < n; i++) {
		int p[2];

		if (pipe(p))
			return -1;
		fflush(stdout);
		pid[i] = fork();
		if (!pid[i]) {
			char a[5][32];

			dup2(p[1], 1);
			close(p[0]);
			close(p[1]);
			snprintf(a[0], 32, "%d", b);
			snprintf(a[1], 32, "%zu", mb);
			snprintf(a[2], 32, "%d", i);
			snprintf(a[3], 32, "%d", job ? n : 1);
			if (preload)
				setenv("LD_PRELOAD", preload, 1);
			else
				unsetenv("LD_PRELOAD");
			execl(self, self, "--child", a[0], a[1], a[2], a[3], name, (char *)NULL);
			_exit(127);
		}
		close(p[1]);
		f[i] = fdopen(p[0], "r");
	}
	for (int i = 0; i < n; i++) {
		double v;
		long kb;
		int st;

		if (fscanf(f[i], "%lf %ld", &v, &kb) == 2) {
			s->v += v / n;
			s->rss += (double)kb / n;
		} else {
			bad = -1;
		}
		fclose(f[i]);
		waitpid(pid[i], &st, 0);
		if (st)
			bad = -1;
	}
	return bad;
}

/*
 * A virtual machine's host gives memory when it is touched for the first time ever, 4 KiB at a time: as slow as a
 * program that has no huge pages, whoever asks. Which of the two sides it hits is chance (plain memory comes from
 * pages just freed, huge ones from blocks untouched for long), so it is done here, before each round.
 */
static void warm(int ranks)
{
	size_t len = (size_t)ranks * mb * 3 / 2 << 20;
	struct sysinfo si;
	char *p;

	if (sysinfo(&si) || len > (size_t)si.freeram * si.mem_unit / 2)
		return;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return;
	madvise(p, len, MADV_HUGEPAGE);		/* else it would be pages from lists, not the blocks of the rest */
	memset(p, 1, len);
	munmap(p, len);
}

static int cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	const char *with = NULL;
	int ranks = 1, rounds = 5, failed = 0, only = 0;
	char self[4096];
	ssize_t l = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (argc > 1 && !strcmp(argv[1], "--child"))
		return child(argc, argv);
	self[l > 0 ? l : 0] = 0;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--with") && i + 1 < argc)
			with = argv[++i];
		else if (!strcmp(argv[i], "--ranks") && i + 1 < argc)
			ranks = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			rounds = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--mb") && i + 1 < argc)
			mb = (size_t)atol(argv[++i]);
		else if (argv[i][0] != '-')
			only = i;
		else {
			fprintf(stderr, "usage: harm [--with LIB.so] [--ranks N] [--rounds N] [--mb N] [bench ...]\n");
			return 2;
		}
		if (only == i)
			break;
	}
	if (ranks < 1 || ranks > 64 || rounds < 1 || rounds > 99 || mb < 16) {
		fprintf(stderr, "harm: --ranks is 1 to 64, --rounds 1 to 99, --mb at least 16\n");
		return 2;
	}
	for (int b = 0; b < BENCHES; b++) {
		double v[2][99], r[2][99], ratio[99], rss_ratio[99];
		int ok = 1;

		for (int i = only; only && i < argc; i++)
			if ((ok = !strcmp(argv[i], benches[b].name)))
				break;
		if (!ok)
			continue;
		for (int k = 0; k < rounds && ok; k++) {
			warm(ranks);
			for (int w = 0; w < 2; w++) {
				struct score s;

				if (run(self, b, ranks, w && ranks > 1, w ? with : NULL, &s)) {
					ok = 0;
					break;
				}
				v[w][k] = s.v;
				r[w][k] = s.rss;
			}
		}
		if (!ok) {
			failed = 1;
			printf("{\"bench\":\"harm_%s\",\"ranks\":%d,\"error\":\"a process failed\"}\n",
			       benches[b].name, ranks);
			continue;
		}
		/* what was measured next to each other is compared: a virtual machine does not stay the same */
		for (int k = 0; k < rounds; k++) {
			ratio[k] = v[1][k] / v[0][k];
			rss_ratio[k] = r[1][k] / r[0][k];
		}
		qsort(ratio, (size_t)rounds, sizeof(double), cmp);
		qsort(rss_ratio, (size_t)rounds, sizeof(double), cmp);
		for (int w = 0; w < 2; w++) {
			qsort(v[w], (size_t)rounds, sizeof(double), cmp);
			qsort(r[w], (size_t)rounds, sizeof(double), cmp);
		}
		printf("{\"bench\":\"harm_%s\",\"ranks\":%d,\"mb\":%zu,\"unit\":\"%s\",\"plain\":%.4g,\"with\":%.4g,"
		       "\"ratio\":%.3f,\"rss_plain_kb\":%.0f,\"rss_with_kb\":%.0f,\"rss_ratio\":%.3f}\n",
		       benches[b].name, ranks, mb, benches[b].unit, v[0][rounds / 2], v[1][rounds / 2],
		       ratio[rounds / 2], r[0][rounds / 2], r[1][rounds / 2], rss_ratio[rounds / 2]);
		fflush(stdout);
	}
	return failed;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * bench.h - what the benchmarks share: clock, pinning, the hand-over of a cache line, medians, output
 *
 * Output is one record per figure. Plain: a table. --json: one object, its records one per line, so that they can be
 * read without a JSON library. Numbers are in the unit that the record names.
 *
 * Environment (set by mpt): BENCH_CPUS=0,1,.. cores to pin rank 0, 1, .. to (default: those this process may use);
 * BENCH_LINE=FILE a file of zeros (BENCH_LINE_BYTES in tools/mpt/bench.sh) that all ranks map, for the bare hand-over h
 * between ranks 0 and 1; without it a program of several processes reports no h.
 */
#ifndef BENCH_H
#define BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static inline double bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void bench_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/* The cores to use, in order. Return: how many. */
static inline int bench_cpus(int *cpu, int max)
{
	const char *env = getenv("BENCH_CPUS");
	cpu_set_t set;
	int n = 0;

	if (env && *env) {
		char *end;

		while (n < max) {
			long c = strtol(env, &end, 10);

			if (end == env || c < 0 || c >= CPU_SETSIZE)
				break;
			cpu[n++] = (int)c;
			if (*end != ',')
				break;
			env = end + 1;
		}
		if (n)
			return n;
	}
	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (int c = 0; c < CPU_SETSIZE && n < max; c++)
		if (CPU_ISSET(c, &set))
			cpu[n++] = c;
	return n;
}

/* Pin to the core of @rank; ranks beyond the cores share them in turn. Return: core, -1 when it cannot be. */
static inline int bench_pin(int rank)
{
	int cpu[1024], n = bench_cpus(cpu, 1024);
	cpu_set_t set;

	if (n < 1)
		return -1;
	CPU_ZERO(&set);
	CPU_SET(cpu[rank % n], &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -1 : cpu[rank % n];
}

static inline int bench_cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts @v. */
static inline double bench_median(double *v, int n)
{
	if (n < 1)
		return -1;
	qsort(v, (size_t)n, sizeof(*v), bench_cmp_double);
	return n & 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/*
 * The bare hand-over: rank 0 writes a line, rank 1 sees it and answers in another, nothing around it.
 *
 * What it costs depends on the line: which slice of the last-level cache, or which node, its physical address belongs to
 * (135 to 165 ns on one machine, the same for the same line each time). So it is measured over many lines, each in a page
 * and a cache set of its own, and what is compared with it is measured over as many. Both ranks only ever write the next
 * number, so a run can follow a run with no reset.
 */
#define BENCH_LINES	32
#define BENCH_HANDS	40	/* round trips over one pair of lines in a row: time enough to read the clock twice */

struct bench_lines {
	struct {
		_Alignas(128) _Atomic uint32_t word;	/* 128: no prefetcher joins two of them */
		char next_page[4096 + 128 - sizeof(uint32_t)];
	} line[BENCH_LINES];
};

/* Mean of the middle half, so that an interrupt or a lost time slice does not show. Sorts @v. */
static inline double bench_middle(double *v, int n)
{
	double sum = 0;

	qsort(v, (size_t)n, sizeof(*v), bench_cmp_double);
	for (int i = n / 4; i < n - n / 4; i++)
		sum += v[i];
	return sum / (n - n / 4 - n / 4);
}

/*
 * ns one way between two cores, over all lines. @mine is polled, @theirs the peer's, which it polls. @seq: last number
 * used with these lines, 0 at first, the same in both.
 */
static inline double bench_lines_pingpong(int rank, struct bench_lines *mine, struct bench_lines *theirs, uint32_t *seq)
{
	double per[BENCH_LINES];
	uint32_t s = *seq;

	for (int l = 0; l < BENCH_LINES; l++) {
		_Atomic uint32_t *in = &mine->line[l].word, *out = &theirs->line[l].word;
		double t = 0;

		for (int i = -2; i < BENCH_HANDS; i++) {
			if (i == 0)
				t = bench_now_ns();
			s++;
			if (rank == 0)
				atomic_store_explicit(out, s, memory_order_release);
			while (atomic_load_explicit(in, memory_order_acquire) != s)
				;
			if (rank == 1)
				atomic_store_explicit(out, s, memory_order_release);
		}
		per[l] = (bench_now_ns() - t) / BENCH_HANDS / 2;
	}
	*seq = s;
	return bench_middle(per, BENCH_LINES);
}

static struct bench_lines *bench_line_;		/* [0] is polled by rank 0, [1] by rank 1 */
static uint32_t bench_line_seq_;

/* Lines for processes that a later fork() makes. Return: 0, -1: no memory. */
static inline int bench_line_anonymous(void)
{
	void *p = mmap(NULL, 2 * sizeof(struct bench_lines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	bench_line_ = p;
	return 0;
}

/* Map the lines that the ranks share. Return: 0; -1: no file given, or fewer than two cores. */
static inline int bench_line_open(void)
{
	const char *name = getenv("BENCH_LINE");
	int cpu[2], fd;
	void *p;

	if (!name || !*name || bench_cpus(cpu, 2) < 2)
		return -1;
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	p = lseek(fd, 0, SEEK_END) < (off_t)(2 * sizeof(struct bench_lines)) ? MAP_FAILED :
		mmap(NULL, 2 * sizeof(struct bench_lines), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -1;
	bench_line_ = p;
	return 0;
}

/* h in ns, one way, in less than a millisecond; ranks 0 and 1 call it together. -1 when there are no lines. */
static inline double bench_handover(int rank)
{
	if (!bench_line_)
		return -1;
	return bench_lines_pingpong(rank, &bench_line_[rank], &bench_line_[!rank], &bench_line_seq_);
}

/*
 * A latency is measured in slices of about a millisecond with h between them: h t h t ... h. t is, as h, the mean of the
 * middle half of many short runs. Virtual machines change their
 * state (where their cores are: "near", h about 50 ns, or "far", about 220) at any moment, so each slice is judged by the
 * two h beside it: where they differ by more than a tenth, the state changed meanwhile or someone else had a core, and the
 * slice says nothing. What is quoted for a state is its median slice by t - h, so that t, h and t - h of a row belong
 * together. tools/mpt/report.pl does the same with the slices of several runs.
 */
#define BENCH_SLICES	40
#define BENCH_RUNS	60	/* in a slice */
#define BENCH_H_MOVED	0.10
#define BENCH_H_FAR	100	/* ns */

struct bench_slice {
	double h0, t, h1;
};

/* @once(@arg) returns t of a short run, called by ranks 0 and 1 together. */
static inline void bench_slices(int rank, double (*once)(void *), void *arg, struct bench_slice *s, int n)
{
	double run[BENCH_RUNS], h = bench_handover(rank);

	h = bench_handover(rank);
	for (int i = 0; i < n; i++) {
		s[i].h0 = h;
		for (int r = 0; r < BENCH_RUNS; r++)
			run[r] = once(arg);
		s[i].t = bench_middle(run, BENCH_RUNS);
		s[i].h1 = h = bench_handover(rank);
	}
}

static inline double bench_slice_h(const struct bench_slice *s)
{
	return (s->h0 + s->h1) / 2;
}

/* 0 near, 1 far, -1: says nothing */
static inline int bench_slice_state(const struct bench_slice *s)
{
	double lo = s->h0 < s->h1 ? s->h0 : s->h1, hi = s->h0 < s->h1 ? s->h1 : s->h0;

	if (lo <= 0 || hi > lo * (1 + BENCH_H_MOVED))
		return -1;
	return bench_slice_h(s) >= BENCH_H_FAR;
}

static inline int bench_cmp_slice(const void *a, const void *b)
{
	const struct bench_slice *x = a, *y = b;
	double d = (x->t - bench_slice_h(x)) - (y->t - bench_slice_h(y));

	return (d > 0) - (d < 0);
}

/* Median slice of @state by t - h. Return: how many there are. */
static inline int bench_slice_median(const struct bench_slice *s, int n, int state, struct bench_slice *median)
{
	struct bench_slice some[BENCH_SLICES];
	int count = 0;

	for (int i = 0; i < n && count < BENCH_SLICES; i++)
		if (bench_slice_state(&s[i]) == state)
			some[count++] = s[i];
	qsort(some, (size_t)count, sizeof(*some), bench_cmp_slice);
	if (count)
		*median = some[count / 2];
	return count;
}

/* Output. The rank that prints calls begin, then record for each figure, then end. */
static int bench_json_, bench_records_;

static inline void bench_begin(const char *name, int json)
{
	bench_json_ = json;
	bench_records_ = 0;
	if (json)
		printf("{\"bench\":\"%s\",\"records\":[", name);
	else
		printf("# %s\n%-28s %10s %14s  %-7s %8s %8s %8s  %s\n", name, "# figure", "bytes", "value", "unit",
		       "h before", "h after", "t - h", "state (slices)");
	fflush(stdout);
}

/* Each record is written at once: a hang shows where. */
static inline void bench_record(const char *figure, size_t bytes, double value, const char *unit)
{
	if (bench_json_)
		printf("%s\n{\"figure\":\"%s\",\"bytes\":%zu,\"value\":%.6g,\"unit\":\"%s\"}", bench_records_ ? "," : "",
		       figure, bytes, value, unit);
	else
		printf("%-28s %10zu %14.2f  %-7s\n", figure, bytes, value, unit);
	bench_records_++;
	fflush(stdout);
}

/*
 * A latency in ns from its @n slices: as JSON all of them, and the median slice over both states; plain: a row for each
 * state. Without h (no lines) it is a record as others.
 */
static inline void bench_record_slices(const char *figure, size_t bytes, const struct bench_slice *s, int n)
{
	double t[BENCH_SLICES];
	int said = 0;

	n = n < BENCH_SLICES ? n : BENCH_SLICES;
	for (int i = 0; i < n; i++)
		t[i] = s[i].t;
	if (s[0].h0 < 0) {
		bench_record(figure, bytes, bench_median(t, n), "ns");
		return;
	}
	if (bench_json_) {
		printf("%s\n{\"figure\":\"%s\",\"bytes\":%zu,\"value\":%.6g,\"unit\":\"ns\",\"slices\":[",
		       bench_records_ ? "," : "", figure, bytes, bench_median(t, n));
		for (int i = 0; i < n; i++)
			printf("%s[%.4g,%.5g,%.4g]", i ? "," : "", s[i].h0, s[i].t, s[i].h1);
		printf("]}");
	} else {
		for (int state = 0; state < 2; state++) {
			struct bench_slice m;
			int count = bench_slice_median(s, n, state, &m);

			if (!count)
				continue;
			printf("%-28s %10zu %14.2f  %-7s %8.1f %8.1f %8.1f  %s (%d of %d)\n", figure, bytes, m.t, "ns", m.h0,
			       m.h1, m.t - bench_slice_h(&m), state ? "far" : "near", count, n);
			said = 1;
		}
		if (!said)
			printf("%-28s %10zu %14.2f  %-7s h moved by more than a tenth in each of %d slices\n", figure, bytes,
			       bench_median(t, n), "ns", n);
	}
	bench_records_++;
	fflush(stdout);
}

static inline void bench_end(void)
{
	if (bench_json_)
		printf("\n]}\n");
	fflush(stdout);
}

/* Is option @name given? */
static inline int bench_flag(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return 0;
}

/* Value of "@name VALUE", or @dflt. */
static inline const char *bench_option(int argc, char **argv, const char *name, const char *dflt)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return argv[i + 1];
	return dflt;
}

/* Is @part wanted by --only a,b,c (no such option: all)? */
static inline int bench_wanted(int argc, char **argv, const char *part)
{
	const char *list = bench_option(argc, argv, "--only", NULL), *p = list;
	size_t n = strlen(part);

	if (!list)
		return 1;
	while ((p = strstr(p, part))) {
		if ((p == list || p[-1] == ',') && (p[n] == ',' || !p[n]))
			return 1;
		p += n;
	}
	return 0;
}

/* Is @word one of @list ("a b c")? */
static inline int bench_listed(const char *list, const char *word, size_t n)
{
	for (const char *p = list; (p = strstr(p, word)); p++)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return 1;
	return 0;
}

/*
 * Check the arguments: @flags ("--json --quick"), @options with a value, @parts that --only may name. Return: 0, or -1
 * when there is one that nobody knows, after a sentence (where @loud).
 */
static inline int bench_args(int argc, char **argv, int loud, const char *flags, const char *options, const char *parts)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];

	for (int i = 1; i < argc; i++) {
		if (bench_listed(flags, argv[i], strlen(argv[i])))
			continue;
		if (!bench_listed(options, argv[i], strlen(argv[i])) || i + 1 == argc) {
			if (loud)
				fprintf(stderr, "%s: %s '%s'; there are: %s%s%s\n", name, i + 1 == argc &&
					bench_listed(options, argv[i], strlen(argv[i])) ? "no value behind" : "unknown argument",
					argv[i], flags, *options ? " " : "", options);
			return -1;
		}
		if (strcmp(argv[i++], "--only"))
			continue;
		for (char *p = argv[i]; ; p++) {
			size_t n = strcspn(p, ",");
			char word[64];

			snprintf(word, sizeof(word), "%.*s", (int)(n < 60 ? n : 60), p);
			if (!n || !bench_listed(parts, word, strlen(word))) {
				if (loud)
					fprintf(stderr, "%s: --only %s: no part '%s'; there are: %s\n", name, argv[i], word, parts);
				return -1;
			}
			p += n;
			if (!*p)
				break;
		}
	}
	return 0;
}

static inline void bench_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static inline void bench_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* Write and read every byte of a buffer, as an application does: so that the data is where it would be. */
static inline void bench_fill(unsigned char *p, size_t n, unsigned seed)
{
	uint64_t v = 0x9e3779b97f4a7c15ULL * (seed + 1), *q = (uint64_t *)p;
	size_t i;

	for (i = 0; i < n / 8; i++)
		q[i] = v + i;
	for (i *= 8; i < n; i++)
		p[i] = (unsigned char)(v + i);
}

static inline uint64_t bench_sum(const unsigned char *p, size_t n)
{
	const uint64_t *q = (const uint64_t *)p;
	uint64_t s = 0;
	size_t i;

	for (i = 0; i < n / 8; i++)
		s += q[i];
	for (i *= 8; i < n; i++)
		s += p[i];
	return s;
}

#endif

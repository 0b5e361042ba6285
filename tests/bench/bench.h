/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * bench.h - what the benchmarks share: clock, pinning, the hand-over of a cache line, medians, output
 *
 * Output is one record per figure. Plain: a table. --json: one object, its records one per line, so that they can be
 * read without a JSON library. Numbers are in the unit that the record names.
 *
 * Environment (set by mpt): BENCH_CPUS=0,1,.. cores to pin rank 0, 1, .. to (default: those this process may use);
 * BENCH_LINE=FILE a file of zeros that all ranks map, for the bare hand-over h between ranks 0 and 1; without it a
 * program of several processes reports no h.
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
 * The bare hand-over: two cache lines (128 bytes apart, so that no prefetcher joins them), one each way. Rank 0 writes
 * `ping`, rank 1 answers in `pong`; both only ever write the next number, so a run can follow a run with no reset.
 */
struct bench_line {
	_Alignas(128) _Atomic uint32_t ping;
	_Alignas(128) _Atomic uint32_t pong;
};

#define BENCH_H_ITERS	10000
#define BENCH_H_REPS	5

static struct bench_line *bench_line_;
static uint32_t bench_line_seq_;

/* Map the line that the ranks share. Return: 0; -1: no file given, or fewer than two cores. */
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
	p = mmap(NULL, sizeof(struct bench_line), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -1;
	bench_line_ = p;
	return 0;
}

/* h in ns, one way, in both ranks 0 and 1, which must call this together; -1 when there is no line. */
static inline double bench_handover(int rank)
{
	struct bench_line *l = bench_line_;
	double rep[BENCH_H_REPS];
	uint32_t s = bench_line_seq_;

	if (!l)
		return -1;
	for (int r = 0; r < BENCH_H_REPS; r++) {
		double t = bench_now_ns();

		for (int i = 0; i < BENCH_H_ITERS; i++) {
			s++;
			if (rank == 0) {
				atomic_store_explicit(&l->ping, s, memory_order_release);
				while (atomic_load_explicit(&l->pong, memory_order_acquire) != s)
					;
			} else {
				while (atomic_load_explicit(&l->ping, memory_order_acquire) != s)
					;
				atomic_store_explicit(&l->pong, s, memory_order_release);
			}
		}
		rep[r] = (bench_now_ns() - t) / BENCH_H_ITERS / 2;
	}
	bench_line_seq_ = s;
	return bench_median(rep, BENCH_H_REPS);
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
		printf("# %s\n%-28s %10s %14s  %-7s %8s %8s\n", name, "# figure", "bytes", "value", "unit", "h before",
		       "h after");
	fflush(stdout);
}

/* @h0, @h1: hand-over before and after, below 0: not measured. Each record is written at once: a hang shows where. */
static inline void bench_record(const char *figure, size_t bytes, double value, const char *unit, double h0, double h1)
{
	if (bench_json_) {
		printf("%s\n{\"figure\":\"%s\",\"bytes\":%zu,\"value\":%.6g,\"unit\":\"%s\"", bench_records_ ? "," : "",
		       figure, bytes, value, unit);
		if (h0 >= 0)
			printf(",\"h_before\":%.4g", h0);
		if (h1 >= 0)
			printf(",\"h_after\":%.4g", h1);
		printf("}");
	} else {
		printf("%-28s %10zu %14.2f  %-7s", figure, bytes, value, unit);
		if (h0 >= 0)
			printf(" %8.1f", h0);
		if (h1 >= 0)
			printf(" %8.1f", h1);
		printf("\n");
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

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_gups - RandomAccess: atomic exclusive-ors at random places of a table that all PEs share
 *
 *   gups             ns for an update of each PE, the table lying in equal parts on all
 *   gups_ptr         the same parts without the library: the peers' addresses from shmem_ptr() in an array of the
 *                    program's, which looks at nothing (where all PEs are reached so): what a table in parts costs
 *   gups_threads     the same by as many threads of PE 0, on one table of the same size in its heap, while the others
 *                    sleep in a barrier: what the processor can do
 * What they read in each turn is in registers, as in a program that is meant to be fast. How many instructions
 * are executed between two atomic ones decides how many lines are under way at once.
 * Each place is its own number at first. All updates made once more must bring that back: not one may be missing, or
 * the program fails. The sequence is HPCC's. Options: --json, --quick
 */
#include "shmem_bench.h"
#include <pthread.h>

#define POLY	7u

static uint64_t *table, *whole;		/* own part; of PE 0: the threads' table, in the same place */
static uint64_t size, part, updates;	/* in words, all and of one PE; updates of one PE */
static pthread_barrier_t gate;
static double began[64], ended[64];

static inline uint64_t next(uint64_t v)
{
	return v << 1 ^ ((int64_t)v < 0 ? POLY : 0);
}

/* Far apart for each of @of, the same each time. */
static uint64_t start(int i, int of)
{
	uint64_t v = 1;

	for (uint64_t k = 0; k < 64 + 1000 * (uint64_t)i / (uint64_t)of + 17 * (uint64_t)i; k++)
		v = next(v);
	return v * 0x9e3779b97f4a7c15ULL | 1;
}

static void pes(void)
{
	uint64_t v = start(me, n_pes), *t = table, all = size - 1, mine = part - 1, n = updates;
	unsigned shift = (unsigned)__builtin_ctzll(part);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t at;

		v = next(v);
		at = v & all;
		shmem_uint64_atomic_xor(&t[at & mine], v, (int)(at >> shift));
	}
	shmem_quiet();
}

static uint64_t *of[64];		/* the parts, by shmem_ptr() */

static void pointers(void)
{
	uint64_t v = start(me, n_pes), all = size - 1, mine = part - 1, n = updates;
	unsigned shift = (unsigned)__builtin_ctzll(part);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t at;

		v = next(v);
		at = v & all;
		__atomic_fetch_xor(&of[at >> shift][at & mine], v, __ATOMIC_ACQ_REL);
	}
}

static int all_near(void)
{
	for (int p = 0; p < n_pes; p++)
		if (p >= 64 || !(of[p] = shmem_ptr(table, p)))
			return 0;
	return 1;
}

static void *thread(void *arg)
{
	int i = (int)(intptr_t)arg;
	uint64_t v = start(i, n_pes), *t = whole, all = size - 1, n = updates;

	bench_pin(i);
	pthread_barrier_wait(&gate);
	began[i] = bench_now_ns();
	for (uint64_t k = 0; k < n; k++) {
		v = next(v);
		__atomic_fetch_xor(&t[v & all], v, __ATOMIC_ACQ_REL);
	}
	ended[i] = bench_now_ns();
	return NULL;
}

static double threads(void)
{
	pthread_t t[64];
	double begin, end;
	int n = n_pes < 64 ? n_pes : 64;

	pthread_barrier_init(&gate, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i))
			bench_die("shmem_gups: pthread_create: %m");
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&gate);
	begin = began[0];
	end = ended[0];
	for (int i = 1; i < n; i++) {
		begin = began[i] < begin ? began[i] : begin;
		end = ended[i] > end ? ended[i] : end;
	}
	return (end - begin) / (double)updates;
}

static void fill(uint64_t *t, uint64_t n, uint64_t first)
{
	for (uint64_t i = 0; i < n; i++)
		t[i] = first + i;
	shmem_barrier_all();
}

static void verify(const char *who, const uint64_t *t, uint64_t n, uint64_t first)
{
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < n; i++)
		wrong += t[i] != first + i;
	if (wrong)
		bench_die("shmem_gups: %s: %llu of %llu places are wrong on PE %d", who, (unsigned long long)wrong,
			  (unsigned long long)n, me);
}

int main(int argc, char **argv)
{
	int rc = bench_shmem_start(argc, argv, 0, ""), rounds, near;
	double v[3][5];

	if (rc)
		return rc;
	if (n_pes & (n_pes - 1))
		bench_die("shmem_gups: run it on 2, 4, 8, ... PEs (this is a job of %d)", n_pes);
	rounds = quick ? 1 : 5;
	size = quick ? 1 << 14 : 1 << 23;
	part = size / (uint64_t)n_pes;
	updates = (quick ? 1 : 2) * size / (uint64_t)n_pes;
	table = whole = bench_shmem_room(size * 8);
	near = all_near();
	if (me == 0)
		bench_begin("shmem_gups", bench_flag(argc, argv, "--json"));
	for (int r = 0; r < rounds; r++) {
		fill(table, part, (uint64_t)me * part);
		for (int again = 0; again < 4; again++) {
			double t = bench_now_ns();

			if (again < 2)
				pes();
			else if (near)
				pointers();
			shmem_barrier_all();
			v[again / 2][r] = (bench_now_ns() - t) / (double)updates;
		}
		verify("the PEs", table, part, (uint64_t)me * part);
		shmem_barrier_all();
		if (me == 0) {
			for (uint64_t i = 0; i < size; i++)
				whole[i] = i;
			v[2][r] = threads();
			v[2][r] = threads();
			verify("the threads", whole, size, 0);
			bench_pin(0);
		}
		shmem_barrier_all();
	}
	bench_note("gups", size * 8, bench_median(v[0], rounds));
	if (near)
		bench_note("gups_ptr", size * 8, bench_median(v[1], rounds));
	bench_note("gups_threads", size * 8, me == 0 ? bench_median(v[2], rounds) : 0);
	if (me == 0)
		bench_end();
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}

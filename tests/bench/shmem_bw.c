/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_bw - long puts and gets of PE 0, beside memcpy between the same two mappings
 *
 *   memcpy, put                   n bytes from private memory into the peer's heap
 *   memcpy_from, get              the same, out of it
 *   ..._fresh                     the source written anew before each (which is not timed), and so in that core's
 *                                 caches; for get by the PE that owns it
 *   ..._odd                       n - 5 bytes from and to addresses that are no multiples of anything, nor alike
 * ns each, from 256 bytes to 64 MiB; the kinds take turns. Without shmem_ptr there is no memcpy. Run it on 2 PEs.
 * Options: --json, --quick (to 1 MiB)
 */
#include "shmem_bench.h"

#define MAX	((size_t)64 << 20)
#define REPS	5

static unsigned char *room, *own, *direct;
static long *turn;			/* symmetric: orders of PE 0 to fill, answers */

enum { MEMCPY, PUT, MEMCPY_FROM, GET, KINDS };
static const char *const name[KINDS] = { "memcpy", "put", "memcpy_from", "get" };

static inline void once(int kind, size_t off, size_t n)
{
	unsigned char *mine = own + 3 * off;	/* apart from the other side's place in a word, and in a line */

	switch (kind) {
	case MEMCPY: memcpy(direct + off, mine, n); break;
	case PUT: shmem_putmem(room + off, mine, n, 1); break;
	case MEMCPY_FROM: memcpy(mine, direct + off, n); break;
	default: shmem_getmem(mine, room + off, n, 1);
	}
	__asm__ volatile("" : : : "memory");
}

/* PE 1 fills n bytes, or ends at 0. */
static void owner(void)
{
	for (long seen = 0;; seen++) {
		shmem_long_wait_until(&turn[0], SHMEM_CMP_GT, seen);
		if (!turn[1])
			return;
		bench_fill(room, (size_t)turn[1], (unsigned)seen);
		shmem_long_p(&turn[2], seen + 1, 0);
	}
}

static void order(size_t n)
{
	static long given;

	shmem_long_p(&turn[1], (long)n, 1);
	shmem_quiet();
	shmem_long_p(&turn[0], ++given, 1);
	if (n)
		shmem_long_wait_until(&turn[2], SHMEM_CMP_EQ, given);
}

static double timed(int kind, size_t off, size_t n, int fresh, int times)
{
	double t, sum = 0;

	if (!fresh) {
		once(kind, off, n);
		t = bench_now_ns();
		for (int i = 0; i < times; i++)
			once(kind, off, n);
		return (bench_now_ns() - t) / times;
	}
	for (int i = 0; i < times; i++) {
		if (kind == MEMCPY || kind == PUT)
			bench_fill(own, n, (unsigned)i);
		else
			order(n);
		t = bench_now_ns();
		once(kind, off, n);
		sum += bench_now_ns() - t;
	}
	return sum / times;
}

/* What was copied is what it should be: seen after each length, by both ways. */
static void verify(size_t n)
{
	bench_fill(own, n, 77);
	shmem_putmem(room, own, n, 1);
	shmem_quiet();
	memset(own, 0, n);
	shmem_getmem(own, room, n, 1);
	for (size_t i = 0; i < n; i += 8) {
		uint64_t v;

		memcpy(&v, own + i, 8);
		if (v != 0x9e3779b97f4a7c15ULL * 78 + i / 8)
			bench_die("shmem_bw: byte %zu of %zu is wrong", i, n);
	}
}

static void measure(size_t n)
{
	static const char *const way[] = { "", "_fresh", "_odd" };
	int times = (int)(((size_t)128 << 20) / n);

	times = quick ? 3 : times > 20000 ? 20000 : times < 3 ? 3 : times;
	for (int w = 0; w < 3; w++) {
		double v[KINDS][REPS];
		size_t off = w == 2 ? 3 : 0, len = w == 2 ? n - 5 : n;
		int k = w == 1 && times > 64 ? 64 : times;

		if (w && n < 65536)
			break;
		for (int r = 0; r < REPS; r++)
			for (int kind = 0; kind < KINDS; kind++)
				if (direct || kind == PUT || kind == GET)
					v[kind][r] = timed(kind, off, len, w == 1, k);
		for (int kind = 0; kind < KINDS; kind++) {
			char figure[32];

			snprintf(figure, sizeof(figure), "%s%s", name[kind], way[w]);
			if (direct || kind == PUT || kind == GET)
				bench_record(figure, n, bench_median(v[kind], REPS), "ns");
		}
	}
	verify(n);
}

int main(int argc, char **argv)
{
	int rc = bench_shmem_start(argc, argv, 2, "");
	size_t max;

	if (rc)
		return rc;
	max = quick ? (size_t)1 << 20 : MAX;
	turn = bench_shmem_room(4096);
	room = bench_shmem_room(max + 4096);
	direct = shmem_ptr(room, 1);
	own = aligned_alloc(4096, max + 4096);
	if (!own)
		bench_die("shmem_bw: out of memory");
	memset(own, 1, max + 4096);
	if (me == 0) {
		bench_begin("shmem_bw", bench_flag(argc, argv, "--json"));
		for (size_t n = 256; n <= max; n *= 4)
			measure(n);
		order(0);
		bench_end();
	} else {
		owner();
	}
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}

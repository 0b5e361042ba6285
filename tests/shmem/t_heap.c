/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_heap.c - the symmetric heap: same offsets everywhere, nothing overlaps, nothing is lost */
#include "sm.h"

static char *base;			/* first block of the heap */
static uint64_t shared_off[64];		/* static symmetric data */

/* All PEs tell PE 0's neighbours where a block lies, relative to the heap. */
static void same_everywhere(const void *p)
{
	uint64_t off = (uint64_t)((const char *)p - base);

	shmem_uint64_p(&shared_off[me % 64], off, 0);
	shmem_barrier_all();
	if (!me)
		for (int i = 1; i < n && i < 64; i++)
			CHECK(shared_off[i] == off);
	shmem_barrier_all();
}

static void t_offsets_are_symmetric(void)
{
	void *a = shmem_malloc(100), *b = shmem_align(4096, 5000), *c = shmem_calloc(10, 10);

	REQUIRE(a && b && c);
	CHECK((uintptr_t)b % 4096 == 0 && (uintptr_t)a % 16 == 0);
	same_everywhere(a);
	same_everywhere(b);
	same_everywhere(c);
	shmem_free(b);
	shmem_free(a);
	shmem_free(c);
}

static void t_nothing_is_null_or_twice(void)
{
	CHECK(shmem_malloc(0) == NULL && shmem_calloc(0, 5) == NULL);
	shmem_free(NULL);
	CHECK(shmem_malloc((size_t)1 << 46) == NULL && shmem_malloc(SIZE_MAX) == NULL);
	CHECK(shmem_calloc(SIZE_MAX / 2, 3) == NULL);
	CHECK(shmem_align((size_t)1 << 40, 8) == NULL);
}

/* Of a heap of 8 MiB: there is no room for a second block. */
static void t_realloc_stays_where_it_can(void)
{
	const size_t m = (size_t)1 << 20;
	char *p = shmem_malloc(6 * m), *q, *r;

	REQUIRE(p != NULL);
	memset(p, me + 1, 6 * m);
	q = shmem_realloc(p, 2 * m);
	CHECK(q == p);
	r = shmem_malloc(3 * m);		/* of what that gave back */
	REQUIRE(r != NULL);
	CHECK(shmem_realloc(q, 4 * m) == NULL);		/* there it is in the way */
	shmem_free(r);
	q = shmem_realloc(q, 7 * m);
	CHECK(q == p);
	for (size_t i = 0; i < 2 * m; i += 511)
		CHECK(q[i] == (char)(me + 1));
	same_everywhere(q);
	shmem_free(q);
}

static void t_realloc_keeps_bytes(void)
{
	char *p = shmem_realloc(NULL, 100), *q;

	REQUIRE(p != NULL);
	for (int i = 0; i < 100; i++)
		p[i] = (char)(i + me);
	q = shmem_realloc(p, 100000);
	REQUIRE(q != NULL);
	for (int i = 0; i < 100; i++)
		CHECK(q[i] == (char)(i + me));
	same_everywhere(q);
	CHECK(shmem_realloc(q, (size_t)1 << 46) == NULL);	/* the old block stays */
	q = shmem_realloc(q, 50);
	REQUIRE(q != NULL);
	for (int i = 0; i < 50; i++)
		CHECK(q[i] == (char)(i + me));
	CHECK(shmem_realloc(q, 0) == NULL);
}

/* Random calls, the same on all PEs: blocks are full of their number, and at the end the heap is whole again. */
static void t_random_calls(void)
{
	enum { SLOTS = 64, STEPS = 2000 };
	uint64_t seed = t_seed();
	struct { unsigned char *p; size_t len; unsigned char mark; } b[SLOTS] = { { 0 } };
	void *all;

	for (int k = 0; k < STEPS; k++) {
		unsigned s = (unsigned)(t_random(&seed) % SLOTS);
		size_t len = t_random(&seed) % 9000 + 1;

		if (b[s].p) {
			for (size_t i = 0; i < b[s].len; i++)
				if (b[s].p[i] != b[s].mark) {
					CHECK(!"a block was overwritten");
					break;
				}
			shmem_free(b[s].p);
			b[s].p = NULL;
			continue;
		}
		b[s].p = len % 3 ? shmem_malloc(len) : shmem_align((size_t)64 << len % 5, len);
		REQUIRE(b[s].p != NULL);
		b[s].len = len;
		b[s].mark = (unsigned char)k;
		memset(b[s].p, b[s].mark, len);
	}
	for (int s = 0; s < SLOTS; s++)
		shmem_free(b[s].p);
	all = shmem_malloc((8 << 20) - 4096);		/* SHMEM_SYMMETRIC_SIZE=8m; t_heap's own first block */
	CHECK(all != NULL);
	shmem_free(all);
}

/* The heap is made anew with the next init, in another size. */
static void t_size_of_the_next_heap(void)
{
	shmem_finalize();
	setenv("SHMEM_SYMMETRIC_SIZE", ".5m", 1);
	shmem_init();
	CHECK(shmem_malloc((512 << 10) + 1) == NULL);
	base = shmem_align(2 << 20, 512 << 10);		/* the heap begins at such an address, however small it is */
	CHECK(base && (uintptr_t)base % (2 << 20) == 0);
	shmem_free(base);
	CHECK(shmem_align(4 << 20, 8) == NULL);
	base = shmem_malloc(512 << 10);
	CHECK(base && !base[0] && !base[(512 << 10) - 1]);
}

static void t_bad_size_is_an_error(void)
{
	static const char *const bad[] = { "", "lots", "-5", "0x", "1q", "k", "1e99" };
	int level;

	shmem_finalize();
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setenv("SHMEM_SYMMETRIC_SIZE", bad[i], 1);
		CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, &level) != 0);
	}
	setenv("SHMEM_SYMMETRIC_SIZE", "1g", 1);
	CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, &level) == 0);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_offsets_are_symmetric), T(t_nothing_is_null_or_twice), T(t_realloc_keeps_bytes),
		T(t_realloc_stays_where_it_can), T(t_random_calls), T(t_size_of_the_next_heap),
		T(t_bad_size_is_an_error), { 0 }
	};

	setenv("SHMEM_SYMMETRIC_SIZE", "8Mib", 1);	/* what follows the suffix is ignored */
	sm_start();
	base = shmem_malloc(1);
	return sm_end(t_run(cases));
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_heap - blocks of the malloc family are in the window, whenever and however they were made
 *
 * Linked with libsmartmap-malloc. Every rank makes blocks, publishes their addresses on the test's page, and reads and
 * writes those of its neighbour through the window.
 */
#include "tap.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "job.h"

enum {
	BEFORE, MALLOC, CALLOC, REALLOC, MEMALIGN, ALIGNED, POSIX, VALLOC, STRDUP, LARGE, HUGE, LARGE_CALLOC, GROWN,
	KINDS
};
static const char *const name[KINDS] = {
	"malloc before init", "malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "valloc",
	"strdup", "1 MiB", "80 MiB", "calloc of 40 MiB", "realloc 40 to 100 MiB"
};
static char *block[KINDS];
static size_t len[KINDS];

static int next(void)
{
	return (t_rank() + 1) % t_size();
}

static void make(int k, void *p, size_t n)
{
	block[k] = p;
	len[k] = n;
	if (p && k != STRDUP)
		for (size_t i = 0; i < n; i += 997)
			block[k][i] = (char)(k * 7 + i + (size_t)t_rank());
}

static void make_all(void)
{
	void *p = NULL;

	make(MALLOC, malloc(100), 100);
	make(CALLOC, calloc(10, 77), 770);
	make(REALLOC, realloc(malloc(10), 5000), 5000);
	make(MEMALIGN, memalign(4096, 8192), 8192);
	make(ALIGNED, aligned_alloc(256, 512), 512);
	make(POSIX, posix_memalign(&p, 1 << 16, 300) ? NULL : p, 300);
	make(VALLOC, valloc(100), 100);
	make(STRDUP, strdup("hello, peer"), 12);
	make(LARGE, malloc(1 << 20), 1 << 20);
	make(HUGE, malloc(80 << 20), 80 << 20);
	make(LARGE_CALLOC, calloc(40, 1 << 20), 40 << 20);
	make(GROWN, realloc(malloc(40 << 20), 100 << 20), 100 << 20);
}

static void t_blocks_are_aligned(void)
{
	void *p;

	for (size_t a = 16; a <= 1u << 16; a *= 2)
		for (size_t n = a / 2; n <= 4 * a; n += a / 2) {	/* all kept until the end */
			CHECK(!((uintptr_t)memalign(a, n) & (a - 1)));
			CHECK(!((uintptr_t)aligned_alloc(a, n) & (a - 1)));
			CHECK(!posix_memalign(&p, a, n) && !((uintptr_t)p & (a - 1)));
		}
	CHECK(posix_memalign(&p, 24, 100) == EINVAL && posix_memalign(&p, 4, 100) == EINVAL);
	CHECK(!((uintptr_t)block[MEMALIGN] & 4095));
	CHECK(!((uintptr_t)block[ALIGNED] & 255));
	CHECK(!((uintptr_t)block[POSIX] & 0xffff));
	CHECK(!((uintptr_t)block[VALLOC] & 4095));
	for (int k = 0; k < KINDS; k++) {
		REQUIRE(block[k]);
		CHECK(!((uintptr_t)block[k] & 15) || len[k] < 16);
		CHECK(malloc_usable_size(block[k]) >= len[k]);
	}
}

static void t_peer_reads_every_kind(void)
{
	for (int k = 0; k < KINDS; k++)
		atomic_store(t_word(16 * t_rank() + k), (uintptr_t)block[k]);
	t_barrier();
	for (int k = 0; k < KINDS; k++) {
		char *there = (char *)(uintptr_t)atomic_load(t_word(16 * next() + k)), *here;

		if (!CHECK(smartmap_reachable(next(), there, len[k]))) {
			diag("%s", name[k]);
			continue;
		}
		here = smartmap_remote(next(), there);
		if (k == STRDUP) {
			CHECK(!strcmp(here, "hello, peer"));
			continue;
		}
		for (size_t i = 0; i < len[k]; i += 997)
			if (!CHECK_INT(here[i], (char)(k * 7 + i + (size_t)next()))) {
				diag("%s", name[k]);
				break;
			}
	}
	t_barrier();
}

static void t_peer_writes_every_kind(void)
{
	for (int k = 0; k < KINDS; k++) {
		char *there = (char *)(uintptr_t)atomic_load(t_word(16 * next() + k));

		if (smartmap_reachable(next(), there, len[k]))
			((char *)smartmap_remote(next(), there))[len[k] / 2] = (char)(100 + k);
	}
	t_barrier();
	for (int k = 0; k < KINDS; k++)
		if (smartmap_adopted(block[k], len[k]))
			CHECK_INT(block[k][len[k] / 2], 100 + k);
	t_barrier();
}

/* Blocks used before must come back clean: drop and refill all the ways calloc takes. */
static void t_calloc_is_zero(void)
{
	for (int round = 0; round < 2; round++)
		for (size_t n = 100; n <= 100u << 20; n *= 10) {
			char *p = malloc(n), *q;
			size_t bad = 0;

			memset(p, 0xff, n);
			free(p);
			q = calloc(1, n);
			for (size_t i = 0; i < n; i++)
				bad += q[i] != 0;
			CHECK_INT(bad, 0);
			memset(q, 0xee, n);
			free(q);
		}
}

static size_t resident_kb(void)
{
	size_t kb = 0;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %zu", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static void t_large_blocks_go_back(void)
{
	size_t before = resident_kb(), peak = 0;

	/* larger ones each time: an allocator that keeps them would hold the sum, 800 MB */
	for (size_t mb = 64; mb <= 240; mb += 44) {
		char *p = malloc(mb << 20);
		size_t now;

		REQUIRE(p);
		for (size_t i = 0; i < mb << 20; i += 4096)
			p[i] = 1;
		now = resident_kb();
		peak = now > peak ? now : peak;
		free(p);
	}
	CHECK(resident_kb() < before + (64u << 10));
	CHECK(peak < before + (304u << 10));
}

static size_t huge_kb(void)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	size_t v, sum = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ShmemPmdMapped: %zu", &v) == 1)
			sum += v;
	if (f)
		fclose(f);
	return sum;
}

/*
 * Made huge once; what gives pages back says so: new blocks there are made huge again, and calloc's are zero.
 */
static void t_written_blocks_are_huge(void)
{
	enum { BLOCKS = 4 };
	const size_t n = 12 << 20, some = BLOCKS * 4 << 10;
	size_t at_first = 0;
	char *p[BLOCKS];

	if (t_size() == 1)
		SKIP("a process alone has nothing that is shared");
	if (!smartmap_has(SMARTMAP_F_HUGE))
		SKIP(smartmap_why(SMARTMAP_F_HUGE));
	if (!getenv("SMARTMAP_MALLOC"))
		SKIP("by default it depends on how fast the machine's memory is: smartmap/heap_huge");
	for (int round = 0; round < 4; round++) {
		size_t huge, bad = 0;

		for (int k = 0; k < BLOCKS; k++) {
			REQUIRE((p[k] = malloc(n)));
			memset(p[k], 0x11 + round, n);
		}
		huge = huge_kb();
		for (int k = 0; k < BLOCKS; k++)
			free(p[k]);
		if (!huge)
			SKIP("the kernel found no free huge pages");
		if (!round)
			at_first = huge;
		CHECK(huge >= some && huge + (4 << 10) >= at_first);
		for (int k = 0; k < BLOCKS; k++) {
			REQUIRE((p[k] = calloc(1, n)));
			for (size_t i = 0; i < n; i++)
				bad += p[k][i] != 0;
		}
		CHECK_INT(bad, 0);
		for (int k = 0; k < BLOCKS; k++)
			free(p[k]);
	}
}

/* A guess is never more than one block ahead of what the program has written. */
static void t_unwritten_blocks_stay_small(void)
{
	enum { BLOCKS = 12 };
	const size_t n = 40 << 20;
	size_t before;
	char *p[BLOCKS];

	REQUIRE((p[0] = malloc(n)));		/* the last guess may have been right: this one is not */
	before = resident_kb();
	for (int k = 1; k < BLOCKS; k++)
		REQUIRE((p[k] = malloc(n)));
	CHECK(getenv("SMARTMAP_MALLOC") || resident_kb() < before + (n >> 10));
	for (int k = 0; k < BLOCKS; k++)
		free(p[k]);
}

/* What a program has protected is not looked at, whatever is still to be known of it. */
static void t_protected_blocks_are_not_read(void)
{
	const size_t n = 12 << 20;
	char *p[24], *in;

	for (int k = 0; k < 24; k++) {
		REQUIRE((p[k] = malloc(n)));
		memset(p[k], 1, n);
		in = (char *)(((uintptr_t)p[k] + 4095) & ~4095UL);
		CHECK_INT(mprotect(in, n - 8192, PROT_NONE), 0);
	}
	for (int k = 0; k < 24; k++) {
		in = (char *)(((uintptr_t)p[k] + 4095) & ~4095UL);
		CHECK_INT(mprotect(in, n - 8192, PROT_READ | PROT_WRITE), 0);
		CHECK(p[k][n / 2] == 1);
		free(p[k]);
	}
}

static void t_free_keeps_errno(void)
{
	char *p;

	for (size_t n = 16; n <= 64u << 20; n *= 64) {
		REQUIRE((p = malloc(n)));
		memset(p, 1, n);
		errno = 77;
		free(p);
		CHECK_INT(errno, 77);
	}
}

/* What programs get from glibc. Through pointers: compilers know these functions, and what cannot be. */
static void t_odd_arguments(void)
{
	void *(*volatile get)(size_t, size_t) = calloc, *(*volatile at)(size_t, size_t) = memalign;
	void *(*volatile pages)(size_t) = pvalloc, *(*volatile again)(void *, size_t) = realloc;
	char *p;

	errno = 0;
	CHECK(!get(SIZE_MAX / 2 + 2, 4) && errno == ENOMEM);
	errno = 0;
	CHECK(!pages(SIZE_MAX - 8) && errno == ENOMEM);
	REQUIRE((p = at(48, 100)));
	CHECK_INT((uintptr_t)p % 64, 0);
	free(p);
	REQUIRE((p = at(0, 100)));
	CHECK(!again(p, 0));
	REQUIRE((p = malloc(64 << 20)));
	errno = 0;
	CHECK(!again(p, SIZE_MAX / 3 * 2 + 1) && errno == ENOMEM);	/* half as much again is a small number */
	free(p);
}

static void t_realloc_keeps_the_bytes(void)
{
	volatile size_t absurd = SIZE_MAX;
	size_t n = 1;
	unsigned char *p = malloc(n);

	p[0] = 1;
	while (n < 200u << 20) {
		size_t to = n * 3 / 2 + 1;

		p = realloc(p, to);
		REQUIRE(p);
		for (size_t i = n; i < to; i += 4096)
			p[i] = (unsigned char)(i >> 12);
		CHECK_INT(p[0], 1);
		n = to;
	}
	p = realloc(p, 50u << 20);
	CHECK_INT(p[0], 1);
	p = realloc(p, 100);
	CHECK_INT(p[0], 1);
	free(p);
	CHECK(!reallocarray(NULL, absurd / 2, 4) && errno == ENOMEM);
	CHECK(!calloc(absurd / 2, 4));
	CHECK(!malloc(absurd / 2 + 1));
	CHECK(!malloc((size_t)1 << 46));	/* as with glibc: more than memory and swap */
}

static void t_untouched_calloc_costs_nothing(void)
{
	size_t before = resident_kb();
	char *p = calloc(1, 1u << 30);

	REQUIRE(p);
	CHECK(resident_kb() < before + (16u << 10));
	CHECK_INT(p[500u << 20], 0);
	free(p);
}

struct job {
	pthread_t t;
	uint64_t seed;
	int bad;
};

static void *churn(void *arg)
{
	struct job *j = arg;
	unsigned char *live[256] = { 0 };
	size_t size[256] = { 0 };

	for (int i = 0; i < 100000; i++) {
		uint64_t r = t_random(&j->seed);
		unsigned k = r & 255;

		if (live[k]) {
			j->bad += live[k][0] != k || live[k][size[k] - 1] != (unsigned char)size[k];
			free(live[k]);
		}
		size[k] = 2 + (r >> 8) % (i % 1000 ? 2000 : 2000000);
		live[k] = malloc(size[k]);
		live[k][0] = (unsigned char)k;
		live[k][size[k] - 1] = (unsigned char)size[k];
		if (size[k] == 1)
			live[k][0] = (unsigned char)k;
	}
	for (int k = 0; k < 256; k++)
		free(live[k]);
	return NULL;
}

static void t_threads(void)
{
	struct job j[4];

	for (int i = 0; i < 4; i++) {
		j[i] = (struct job){ .seed = t_seed() + (uint64_t)i };
		REQUIRE(!pthread_create(&j[i].t, NULL, churn, &j[i]));
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(j[i].t, NULL);
		CHECK_INT(j[i].bad, 0);
	}
}

/* A block made by a thread is in the same arena, so peers reach it too. */
static void *one_block(void *arg)
{
	return *(int *)arg ? strdup("made by a thread") : NULL;
}

static void t_blocks_of_threads_are_visible(void)
{
	int yes = 1;
	pthread_t t;
	void *p = NULL;

	REQUIRE(!pthread_create(&t, NULL, one_block, &yes));
	pthread_join(t, &p);
	atomic_store(t_word(100 + t_rank()), (uintptr_t)p);
	t_barrier();
	p = (void *)(uintptr_t)atomic_load(t_word(100 + next()));
	REQUIRE(smartmap_reachable(next(), p, 17));
	CHECK(!strcmp(smartmap_remote(next(), p), "made by a thread"));
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_written_blocks_are_huge), T(t_blocks_are_aligned), T(t_peer_reads_every_kind),
		T(t_peer_writes_every_kind), T(t_calloc_is_zero), T(t_untouched_calloc_costs_nothing),
		T(t_large_blocks_go_back), T(t_unwritten_blocks_stay_small), T(t_free_keeps_errno),
		T(t_odd_arguments), T(t_realloc_keeps_the_bytes), T(t_threads), T(t_blocks_of_threads_are_visible),
		T(t_protected_blocks_are_not_read),	/* last: what was protected is no longer in the window */
		{ 0 }
	};
	int e, r;

	make(BEFORE, malloc(3000), 3000);
	e = t_join(SMARTMAP_ADOPT_ALL);
	if (e)
		bail("smartmap_init: %s (%s)", strerror(-e), smartmap_why(SMARTMAP_F_WINDOWS));
	if (t_size() > 1 && !smartmap_has(SMARTMAP_F_HEAP))
		skip_all("the heap is not adopted here: %s", smartmap_why(SMARTMAP_F_HEAP));
	make_all();
	r = t_run(cases);
	smartmap_barrier();
	smartmap_fini();
	return r;
}

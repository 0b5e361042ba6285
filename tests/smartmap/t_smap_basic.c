/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Windows, arena, roots, shared memory, barrier, liveness, numbers: the parts that need no adoption. */
#include "launch.h"

static void pattern(unsigned char *p, size_t n, int seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (unsigned char)(i * 7 + (size_t)seed * 31);
}

static int differs(const unsigned char *p, size_t n, int seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != (unsigned char)(i * 7 + (size_t)seed * 31))
			return 1;
	return 0;
}

static void r_arena(void)
{
	unsigned char *own, *theirs;
	int i;

	t_join();
	T_CHECK(smartmap_rank() == t_rank && smartmap_size() == t_size);
	own = smartmap_alloc(100000, 4096);
	T_CHECK(own && !((uintptr_t)own & 4095));
	for (i = 0; i < 100000; i++)
		T_CHECK(!own[i]);
	pattern(own, 50000, t_rank);
	smartmap_publish(16, own);
	t_sync();
	for (i = 0; i < t_size; i++) {
		theirs = smartmap_lookup(i, 16);
		T_CHECK(theirs && smartmap_reachable(i, theirs, 100000));
		T_CHECK(i == t_rank || !smartmap_reachable(i, theirs + ((uint64_t)64 << 30), 8));
		T_CHECK(smartmap_path(i, theirs, 100000) == SMARTMAP_DIRECT);
		T_CHECK(!differs(smartmap_remote(i, theirs), 50000, i));
		T_CHECK(smartmap_alive(i));
		T_CHECK(smartmap_pid(i) > 0);
	}
	T_CHECK(!smartmap_lookup(0, 17));
	t_sync();
	/* Write to the right neighbour; it sees it. */
	theirs = smartmap_remote((t_rank + 1) % t_size, smartmap_lookup((t_rank + 1) % t_size, 16));
	pattern(theirs + 50000, 50000, t_rank + 100);
	t_sync();
	T_CHECK(!differs(own + 50000, 50000, (t_rank + t_size - 1) % t_size + 100));
	t_sync();
	smartmap_fini();
	T_CHECK(smartmap_rank() == -1 && !smartmap_size());
}

static void r_shared(void)
{
	_Atomic int *a, *b;
	int i;

	t_join();
	a = smartmap_shared(1 << 20);
	b = smartmap_shared(64);
	T_CHECK(a && b && (void *)a != (void *)b);
	for (i = 0; i < 1000; i++)
		atomic_fetch_add(&a[1000], 1);
	if (t_rank == t_size - 1)
		b[3] = 77;
	t_sync();
	T_CHECK(a[1000] == 1000 * t_size && b[3] == 77);
	t_sync();
	smartmap_fini();
}

static void r_barrier(void)
{
	_Atomic int *n;
	int i;

	t_join();
	n = smartmap_shared(4096);
	for (i = 0; i < 300; i++) {
		atomic_fetch_add(n, 1);
		t_sync();
		T_CHECK(*n == t_size * (i + 1));
		t_sync();
	}
	smartmap_fini();
}

static void r_alloc(void)
{
	void *p[200];
	size_t len[200];
	int i, round;

	t_join();
	srand(1);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 200; i++) {
			size_t k;

			len[i] = (size_t)rand() % 100000 + 1;
			p[i] = smartmap_alloc(len[i], (size_t)1 << rand() % 22);
			T_CHECK(p[i]);
			for (k = 0; k < len[i]; k++)
				T_CHECK(!((char *)p[i])[k]);
			memset(p[i], i + 1, len[i]);
		}
		for (i = 0; i < 200; i++) {
			T_CHECK(((unsigned char *)p[i])[0] == i + 1 && ((unsigned char *)p[i])[len[i] - 1] == i + 1);
			smartmap_free(p[i], len[i]);
		}
	}
	T_CHECK(!smartmap_alloc(0, 0) && !smartmap_alloc(10, 3) && !smartmap_alloc((size_t)1 << 46, 0));
	smartmap_fini();
}

static void r_again(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		int *p;

		t_join();
		t_join();		/* nested */
		p = smartmap_alloc(4096, 0);
		T_CHECK(p && !*p);
		*p = t_rank + 1 + i;
		T_CHECK(!smartmap_lookup(t_rank, 20));
		smartmap_publish(20, p);
		t_sync();
		T_CHECK(*(int *)smartmap_remote(0, smartmap_lookup(0, 20)) == 1 + i);
		t_sync();
		smartmap_fini();
		T_CHECK(smartmap_size() == t_size);
		smartmap_fini();
		T_CHECK(smartmap_size() == 0);
	}
}

static void r_bad(void)
{
	struct smartmap_job j = t_job();

	T_CHECK(smartmap_init(NULL) == -EINVAL);
	j.size = 0;
	T_CHECK(smartmap_init(&j) == -EINVAL);
	j.size = SMARTMAP_MAX_PEERS + 1;
	T_CHECK(smartmap_init(&j) == -EINVAL);
	j = t_job();
	j.rank = j.size;
	T_CHECK(smartmap_init(&j) == -EINVAL);
	j = t_job();
	j.name = NULL;
	T_CHECK(smartmap_init(&j) == -EINVAL);
	T_CHECK(smartmap_rank() == -1 && smartmap_size() == 0 && !smartmap_alive(0));
	T_CHECK(!smartmap_alloc(64, 0) && smartmap_barrier() == -EINVAL && !smartmap_shared(64));
	T_CHECK(smartmap_attach(0) == -EINVAL && !smartmap_lookup(0, 0) && !smartmap_reachable(0, &j, 1));
	t_join();
	T_CHECK(smartmap_attach(t_size) == -EINVAL && smartmap_attach(-1) == -EINVAL);
	T_CHECK(!smartmap_reachable(t_size, &j, 1) && !smartmap_reachable(1 - t_rank, (void *)-8, 100));
	T_CHECK(!smartmap_lookup(0, SMARTMAP_ROOTS) && !smartmap_lookup(0, -1));
	t_sync();
	smartmap_fini();
}

/* Bytes that a core file would have. */
static uint64_t dumped(void)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long long lo, hi;
	uint64_t len = 0, sum = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx r", &lo, &hi) == 2)
			len = hi - lo;
		else if (!strncmp(line, "VmFlags:", 8) && !strstr(line, " dd"))
			sum += len;
	}
	if (f)
		fclose(f);
	return sum;
}

static void r_single(void)
{
	uint64_t before = dumped(), used;
	char x = 1;

	t_join();
	T_CHECK(smartmap_alloc(70 << 20, 0));
	used = dumped() - before;
	T_CHECK(before && used >= 70 << 20 && used < 1 << 30);	/* 64 GiB are there */
	T_CHECK(smartmap_size() == 1 && smartmap_remote(0, &x) == &x && smartmap_alloc(1 << 20, 0));
	T_CHECK(!smartmap_barrier() && smartmap_shared(100) && smartmap_alive(0) && smartmap_pid(0) == getpid());
	smartmap_fini();
}

int main(void)
{
	static const struct t_case cases[] = {
		{ "arena_is_seen_by_peers", r_arena, NULL, 4, NULL },
		{ "shared_is_one_memory", r_shared, NULL, 3, NULL },
		{ "barrier_more_ranks_than_cores", r_barrier, NULL, 8, NULL },
		{ "alloc_gives_zeroed_disjoint_memory", r_alloc, NULL, 2, NULL },
		{ "init_nests_and_repeats", r_again, NULL, 3, NULL },
		{ "bad_arguments_are_refused", r_bad, NULL, 2, NULL },
		{ "job_of_one", r_single, NULL, 1, NULL },
	};

	return t_main(cases, sizeof(cases) / sizeof(cases[0]));
}

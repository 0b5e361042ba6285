/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_net.c - what is peculiar to PEs that Portals reaches: order of data and flags of all sizes, many operations under
 * way, long ones, memory of each kind as source and destination
 */
#include <sys/resource.h>

#include "sm.h"

/* Data of any length, fence, flag: who sees the flag sees all of the data. */
static void t_a_flag_is_never_before_its_data(void)
{
	static const size_t len[] = { 8, 256, 4096, 8192, 8193, 40000, 300001 };
	unsigned char *data = shmem_malloc(300001), *mine = malloc(300001);
	long *flag = shmem_calloc(2, sizeof(*flag)), turn = 0;
	int bad = 0;

	REQUIRE(data && mine && flag);
	for (int r = 0; r < 12; r++)
		for (size_t k = 0; k < sizeof(len) / sizeof(*len); k++) {
			turn++;
			memset(mine, (int)turn, len[k]);
			shmem_putmem_nbi(data, mine, len[k], to);
			shmem_fence();
			if (turn % 2)
				shmem_long_p(flag, turn, to);
			else
				shmem_long_atomic_set(flag, turn, to);
			shmem_long_wait_until(flag, SHMEM_CMP_GE, turn);
			for (size_t i = 0; i < len[k]; i++)
				bad += data[i] != (unsigned char)turn;
			shmem_quiet();			/* mine is to be written again */
			shmem_long_p(flag + 1, turn, from);
			shmem_long_wait_until(flag + 1, SHMEM_CMP_GE, turn);
		}
	CHECK_INT(bad, 0);
	shmem_barrier_all();
	free(mine);
	shmem_free(flag);
	shmem_free(data);
}

/* As many as there are, in memory for some of them. */
static void t_many_under_way(void)
{
	enum { MANY = 60000 };
	uint32_t *a = shmem_malloc(MANY * sizeof(*a)), *mine = malloc(MANY * sizeof(*mine));
	struct rusage before, after;
	int bad = 0;

	REQUIRE(a && mine);
	memset(a, 0xff, MANY * sizeof(*a));
	for (uint32_t i = 0; i < MANY; i++)
		mine[i] = i * 3 + (uint32_t)me;
	shmem_barrier_all();
	getrusage(RUSAGE_SELF, &before);
	for (uint32_t i = 0; i < MANY; i++)
		shmem_uint32_put_nbi(&a[i], &mine[i], 1, to);
	shmem_barrier_all();
	for (uint32_t i = 0; i < MANY; i++)
		bad += a[i] != i * 3 + (uint32_t)from;
	memset(mine, 0, MANY * sizeof(*mine));
	for (uint32_t i = 0; i < MANY / 4; i++)
		shmem_uint32_get_nbi(&mine[i], &a[i], 1, to);
	shmem_quiet();
	for (uint32_t i = 0; i < MANY / 4; i++)
		bad += mine[i] != i * 3 + (uint32_t)me;
	getrusage(RUSAGE_SELF, &after);
	CHECK_INT(bad, 0);
	if (!CHECK(after.ru_maxrss - before.ru_maxrss < 64 << 10))	/* KiB; the operations of all calls: 20 MiB */
		diag("%ld KiB more", after.ru_maxrss - before.ru_maxrss);
	shmem_barrier_all();
	free(mine);
	shmem_free(a);
}

/* 64 MiB and an odd length, both ways, from and to memory of the program's own. */
static void t_long_ones(void)
{
	static const size_t len[] = { ((size_t)64 << 20) - 3, 5000011 };
	unsigned char *h = shmem_malloc((size_t)64 << 20), *mine = malloc((size_t)64 << 20);

	REQUIRE(h && mine);
	for (size_t k = 0; k < sizeof(len) / sizeof(*len); k++) {
		size_t bad = 0;

		for (size_t i = 0; i < len[k]; i++)
			mine[i] = (unsigned char)(i * 7 + i / 4099 + (size_t)me + k);
		shmem_barrier_all();
		shmem_putmem(h + 3, mine, len[k], to);
		memset(mine, 0, 4096);		/* it may be reused */
		shmem_barrier_all();
		for (size_t i = 0; i < len[k]; i++)
			bad += h[i + 3] != (unsigned char)(i * 7 + i / 4099 + (size_t)from + k);
		CHECK_INT(bad, 0);
		memset(mine, 0, len[k]);
		shmem_getmem(mine, h + 3, len[k], to);
		for (size_t i = 0; i < len[k]; i++)
			bad += mine[i] != (unsigned char)(i * 7 + i / 4099 + (size_t)me + k);
		CHECK_INT(bad, 0);
		shmem_barrier_all();
	}
	free(mine);
	shmem_free(h);
}

/* Source and destination on the stack, in static data, on the heap of either kind. */
static void t_memory_of_each_kind(void)
{
	static char there_static[3000], own_static[3000];
	char own_stack[3000], *own_heap = shmem_malloc(3000), *there = shmem_malloc(3000), *own_malloc = malloc(3000);
	char *own[] = { own_static, own_stack, own_heap, own_malloc };

	REQUIRE(own_heap && there && own_malloc);
	for (size_t k = 0; k < 4; k++) {
		memset(own[k], (int)(1 + k + 8 * (size_t)me), 3000);
		shmem_putmem(there, own[k], 2999, to);
		shmem_putmem_nbi(there_static, own[k], 2999, to);
		shmem_barrier_all();
		for (int i = 0; i < 2999; i += 499)
			CHECK(there[i] == (char)(1 + k + 8 * (size_t)from) && there_static[i] == there[i]);
		memset(own[k], 0, 3000);
		shmem_getmem_nbi(own[k], there, 1500, to);
		shmem_getmem_nbi(own[k] + 1500, there_static, 1500, to);
		shmem_quiet();
		CHECK(own[k][0] == (char)(1 + k + 8 * (size_t)me) && own[k][2998] == own[k][0]);
		shmem_barrier_all();
	}
	free(own_malloc);
	shmem_free(there);
	shmem_free(own_heap);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_a_flag_is_never_before_its_data), T(t_many_under_way), T(t_long_ones), T(t_memory_of_each_kind),
		{ 0 }
	};

	setenv("SHMEM_SYMMETRIC_SIZE", "80m", 0);
	sm_start();
	return sm_end(t_run(cases));
}

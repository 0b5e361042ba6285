/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_team.c - teams: the predefined ones, splits and their edges, numbers, configurations, limits, threads */
#include <pthread.h>
#include <shmem.h>

#include "multi.h"
#include "tap.h"

static int me, n;

static int in_shared(int pe)
{
	return shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED);
}

static void t_predefined(void)
{
	CHECK(SHMEM_TEAM_WORLD != SHMEM_TEAM_INVALID && SHMEM_TEAM_SHARED != SHMEM_TEAM_INVALID);
	CHECK_INT(shmem_team_my_pe(SHMEM_TEAM_WORLD), me);
	CHECK_INT(shmem_team_n_pes(SHMEM_TEAM_WORLD), n);
	for (int i = 0; i < shmem_team_n_pes(SHMEM_TEAM_SHARED); i++)
		CHECK_INT(in_shared(shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD)), i);
	CHECK_INT(in_shared(me), shmem_team_my_pe(SHMEM_TEAM_SHARED));
	CHECK_INT(shmem_team_sync(SHMEM_TEAM_SHARED), 0);
}

static void t_invalid_is_refused(void)
{
	shmem_team_config_t config = { .num_contexts = 77 };
	shmem_team_t t = SHMEM_TEAM_WORLD, u = SHMEM_TEAM_WORLD;

	CHECK_INT(shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
	CHECK_INT(shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
	CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
	CHECK_INT(config.num_contexts, 77);
	CHECK_INT(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD), -1);
	CHECK_INT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID), -1);
	CHECK_INT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, n, SHMEM_TEAM_WORLD), -1);
	CHECK_INT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, -1, SHMEM_TEAM_WORLD), -1);
	CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
	CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, &n, 0) == NULL && shmem_team_ptr(SHMEM_TEAM_WORLD, &n, n) == NULL);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &t) != 0 && t == SHMEM_TEAM_INVALID);
	t = SHMEM_TEAM_WORLD;
	CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &t, NULL, 0, &u) != 0);
	CHECK(t == SHMEM_TEAM_INVALID && u == SHMEM_TEAM_INVALID);
	shmem_team_destroy(SHMEM_TEAM_INVALID);
}

static void t_wrong_splits_fail_on_all(void)
{
	static const struct {
		int start, stride, size, over;	/* over: n + 1 more */
	} wrong[] = {
		{ 0, 1, 0, 1 }, { 0, 1, 0, 0 }, { -1, 1, 1, 0 }, { 0, -1, 2, 0 }, { 0, 0, 2, 0 }, { 0, 1 << 30, 3, 0 }
	};
	shmem_team_config_t bad = { .num_contexts = -1 };
	shmem_team_t t, u;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		t = SHMEM_TEAM_WORLD;
		CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, wrong[i].start, wrong[i].stride,
					       wrong[i].size + wrong[i].over * (n + 1), NULL, 0, &t) != 0);
		CHECK(t == SHMEM_TEAM_INVALID);
	}
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n, 1, 1, NULL, 0, &t) != 0);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &bad, SHMEM_TEAM_NUM_CONTEXTS, &t) != 0);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, SHMEM_TEAM_NUM_CONTEXTS, &t) != 0);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &bad, 1 << 20, &t) != 0);
	CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 0, NULL, 0, &t, NULL, 0, &u) != 0);
	CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &t, &bad, SHMEM_TEAM_NUM_CONTEXTS, &u) != 0);
	CHECK(t == SHMEM_TEAM_INVALID && u == SHMEM_TEAM_INVALID);
}

/* All (start, stride, size) of the world, and of a team that is already backwards. */
static void split_all(shmem_team_t parent)
{
	int size_p = shmem_team_n_pes(parent), own = shmem_team_my_pe(parent);

	for (int start = 0; start < size_p; start++)
		for (int stride = -3; stride <= 3; stride++)
			for (int size = 1; size <= size_p; size++) {
				int last = start + stride * (size - 1), at = -1;
				shmem_team_t t;

				if (last < 0 || last >= size_p || (!stride && size > 1))
					continue;
				for (int i = 0; i < size; i++)
					if (start + i * stride == own)
						at = i;
				CHECK_INT(shmem_team_split_strided(parent, start, stride, size, NULL, 0, &t), 0);
				CHECK((t == SHMEM_TEAM_INVALID) == (at < 0));
				if (at < 0)
					continue;
				CHECK_INT(shmem_team_my_pe(t), at);
				CHECK_INT(shmem_team_n_pes(t), size);
				for (int i = 0; i < size; i++)
					CHECK_INT(shmem_team_translate_pe(t, i, parent), start + i * stride);
				for (int i = 0; i < size_p; i++)
					if (shmem_team_translate_pe(parent, i, t) >= 0)
						CHECK_INT(start + shmem_team_translate_pe(parent, i, t) * stride, i);
				CHECK_INT(shmem_team_sync(t), 0);
				shmem_team_destroy(t);
			}
}

static void t_strided(void)
{
	shmem_team_t back;

	split_all(SHMEM_TEAM_WORLD);
	REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &back), 0);
	CHECK_INT(shmem_team_my_pe(back), n - 1 - me);
	split_all(back);
	shmem_team_destroy(back);
}

static void t_2d(void)
{
	for (int range = 1; range <= n + 2; range++) {
		int x = range > n ? n : range, rest;
		shmem_team_t tx, ty;

		CHECK_INT(shmem_team_split_2d(SHMEM_TEAM_WORLD, range, NULL, 0, &tx, NULL, 0, &ty), 0);
		REQUIRE(tx != SHMEM_TEAM_INVALID && ty != SHMEM_TEAM_INVALID);
		CHECK_INT(shmem_team_my_pe(tx), me % x);
		CHECK_INT(shmem_team_my_pe(ty), me / x);
		rest = n - me / x * x;
		CHECK_INT(shmem_team_n_pes(tx), rest < x ? rest : x);
		CHECK_INT(shmem_team_n_pes(ty), (n - me % x + x - 1) / x);
		for (int i = 0; i < shmem_team_n_pes(tx); i++)
			CHECK_INT(shmem_team_translate_pe(tx, i, SHMEM_TEAM_WORLD), me / x * x + i);
		for (int i = 0; i < shmem_team_n_pes(ty); i++)
			CHECK_INT(shmem_team_translate_pe(ty, i, SHMEM_TEAM_WORLD), me % x + i * x);
		CHECK_INT(shmem_team_sync(tx), 0);
		CHECK_INT(shmem_team_sync(ty), 0);
		shmem_team_destroy(tx);
		shmem_team_destroy(ty);
	}
}

static void t_config_is_kept(void)
{
	shmem_team_config_t config = { .num_contexts = 3 }, got = { .num_contexts = -5 };
	shmem_team_t t, u;

	REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &t), 0);
	REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, 0, &u), 0);
	CHECK_INT(shmem_team_get_config(t, 0, NULL), 0);
	CHECK_INT(shmem_team_get_config(t, 0, &got), 0);
	CHECK_INT(got.num_contexts, -5);
	CHECK_INT(shmem_team_get_config(t, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
	CHECK_INT(got.num_contexts, 3);
	CHECK_INT(shmem_team_get_config(u, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
	CHECK_INT(got.num_contexts, 0);
	shmem_team_destroy(t);
	shmem_team_destroy(u);
}

static void t_team_ptr(void)
{
	int *h = shmem_malloc(sizeof(int));
	shmem_team_t back;

	REQUIRE(h != NULL);
	*h = me;
	REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &back), 0);
	shmem_barrier_all();
	for (int i = 0; i < n; i++) {
		int *p = shmem_team_ptr(back, h, i);

		CHECK(p == shmem_ptr(h, n - 1 - i));
		if (p)
			CHECK_INT(*p, n - 1 - i);
	}
	shmem_team_destroy(back);
	shmem_free(h);
}

/* Too many teams: an error on all PEs, also where some have more of them than others; and then there is room again. */
static void t_limit_is_an_error_on_all(void)
{
	shmem_team_t all[300], half[40];
	int count = 0, rc;

	for (int i = 0; i < 40; i++)
		REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, (n + 1) / 2, NULL, 0, &half[i]), 0);
	do {
		rc = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &all[count]);
	} while (!rc && ++count < 300);
	CHECK(count >= 200 && count < 300 && all[count] == SHMEM_TEAM_INVALID);
	for (int i = 0; i < count; i++) {

		CHECK_INT(shmem_team_sync(all[i]), 0);
	}
	shmem_team_destroy(all[7]);
	CHECK_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &all[7]), 0);
	for (int i = count - 1; i >= 0; i--)
		shmem_team_destroy(all[i]);
	for (int i = 0; i < 40; i++)
		shmem_team_destroy(half[i]);
}

/* A place that was another team's before, with other members and counters, is as good as new. */
static void t_places_are_used_again(void)
{
	static long d, s;

	for (int i = 0; i < 400; i++) {
		int start = i % n, size = 1 + i / n % (n - start);
		shmem_team_t t, u;

		REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, 1, size, NULL, 0, &t), 0);
		if (t == SHMEM_TEAM_INVALID)
			continue;
		s = me + i;
		for (int k = 0; k < i % 30; k++) {
			shmem_sum_reduce(t, &d, &s, 1);
			if (k % 3)
				shmem_team_sync(t);
		}
		if (i % 30)
			CHECK_INT(d, (long)size * i + (long)size * (start + start + size - 1) / 2);
		CHECK_INT(shmem_team_split_strided(t, size - 1, -1, size, NULL, 0, &u), 0);
		CHECK_INT(shmem_team_my_pe(u), size - 1 - (me - start));
		shmem_team_destroy(t);		/* before its child */
		shmem_sum_reduce(u, &d, &s, 1);
		shmem_team_destroy(u);
	}
}

/* The root of a broadcast is done early; the place of its team is not free before the last has what it wants. */
static void t_destroy_waits_for_who_is_late(void)
{
	static long d, s;
	shmem_team_t all, two, again;

	if (n < 3)
		SKIP("three PEs are needed");
	REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &two), 0);
	for (long i = 1; i <= 3; i++) {
		REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &all), 0);
		s = i * 10;
		if (me == 2)
			usleep(30000);
		shmem_broadcast(all, &d, &s, 1, 0);
		CHECK_INT(d, i * 10);
		shmem_team_destroy(all);
		if (two == SHMEM_TEAM_INVALID)
			continue;
		REQUIRE_INT(shmem_team_split_strided(two, 1, -1, 2, NULL, 0, &again), 0);
		s = i * 7;
		shmem_sum_reduce(again, &d, &s, 1);
		CHECK_INT(d, i * 14);
		shmem_team_destroy(again);
	}
	shmem_team_destroy(two);
	shmem_sync_all();
}

/* Two threads of each PE, each with a team of its own that it splits, uses and destroys. */
static shmem_team_t parent[2];
static long th_d[2][64], th_s[2][64];
static _Atomic int th_bad;

static void *work(void *arg)
{
	int k = *(int *)arg;

	for (int i = 0; i < 150; i++) {
		size_t len = i % 2 ? 3 : 64;
		shmem_team_t t;

		if (shmem_team_split_strided(parent[k], n - 1, -1, n, NULL, 0, &t)) {
			th_bad++;
			break;
		}
		for (size_t j = 0; j < len; j++)
			th_s[k][j] = me + i + (long)j;
		shmem_sum_reduce(t, th_d[k], th_s[k], len);
		for (size_t j = 0; j < len; j++)
			th_bad += th_d[k][j] != (long)n * (n - 1) / 2 + n * (i + (long)j);
		shmem_team_destroy(t);
	}
	return NULL;
}

static void t_threads_with_teams_of_their_own(void)
{
	int number[2] = { 0, 1 };
	pthread_t thread;

	for (int k = 0; k < 2; k++)
		REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &parent[k]), 0);
	REQUIRE_INT(pthread_create(&thread, NULL, work, &number[1]), 0);
	work(&number[0]);
	pthread_join(thread, NULL);
	CHECK_INT(th_bad, 0);
	shmem_sync_all();
	shmem_team_destroy(parent[0]);
	shmem_team_destroy(parent[1]);
}

static void t_again_after_finalize(void)
{
	shmem_team_t t;

	shmem_finalize();
	CHECK(SHMEM_TEAM_WORLD == SHMEM_TEAM_INVALID);
	t_barrier();
	shmem_init();
	CHECK_INT(shmem_team_my_pe(SHMEM_TEAM_WORLD), me);
	REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &t), 0);
	CHECK_INT(shmem_team_sync(t), 0);
	shmem_team_destroy(t);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_predefined), T(t_invalid_is_refused), T(t_wrong_splits_fail_on_all), T(t_strided), T(t_2d),
		T(t_config_is_kept), T(t_team_ptr), T(t_limit_is_an_error_on_all), T(t_places_are_used_again),
		T(t_destroy_waits_for_who_is_late),
		T(t_threads_with_teams_of_their_own), T(t_again_after_finalize), { 0 }
	};
	int rc, level;

	shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
	me = shmem_my_pe();
	n = shmem_n_pes();
	rc = t_run(cases);
	shmem_finalize();
	return rc;
}

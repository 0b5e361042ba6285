/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_sync.c - waiting, order, barriers; what happens when a PE ends or is wrong is in t_end.sh */
#include <sys/wait.h>

#include "sm.h"

static long flag;

static void t_ping_pong_through_static_flag(void)
{
	if (me > 1 || n < 2)
		return;
	for (long i = 1; i <= 2000; i++) {
		if (!me)
			shmem_long_p(&flag, i, 1);
		shmem_wait_until(&flag, SHMEM_CMP_EQ, i);
		if (me)
			shmem_long_p(&flag, i, 0);
	}
	CHECK_INT(flag, 2000);
}

/* Data, fence, flag: who sees the flag sees the data. */
static void t_fence_orders_data_before_flag(void)
{
	enum { LEN = 600, ROUNDS = 500 };
	uint32_t *data = shmem_calloc(LEN, sizeof(*data)), *ready = shmem_calloc(2, sizeof(*ready)), mine[LEN];
	int bad = 0;

	REQUIRE(data && ready);
	for (uint32_t r = 1; r <= ROUNDS; r++) {
		for (int i = 0; i < LEN; i++)
			mine[i] = r;
		shmem_uint32_put(data, mine, LEN, to);
		shmem_fence();
		shmem_uint32_p(&ready[0], r, to);
		shmem_uint32_wait_until(&ready[0], SHMEM_CMP_GE, r);
		for (int i = 0; i < LEN; i++)
			bad += data[i] != r;
		shmem_uint32_p(&ready[1], r, from);		/* read: the next may come */
		shmem_uint32_wait_until(&ready[1], SHMEM_CMP_GE, r);
	}
	CHECK_INT(bad, 0);
	shmem_free(ready);
	shmem_free(data);
}

static void t_barrier_waits_for_all(void)
{
	uint64_t *count = shmem_calloc(1, sizeof(*count));

	REQUIRE(count != NULL);
	for (uint64_t r = 1; r <= 300; r++) {
		shmem_uint64_atomic_inc(count, 0);
		shmem_barrier_all();
		CHECK(shmem_uint64_g(count, 0) == r * (uint64_t)n);
		shmem_sync_all();
	}
	shmem_free(count);
}

static void t_comparisons(void)
{
	static int v = 5;

	CHECK(shmem_int_test(&v, SHMEM_CMP_EQ, 5) && !shmem_int_test(&v, SHMEM_CMP_EQ, 4));
	CHECK(shmem_int_test(&v, SHMEM_CMP_NE, 4) && !shmem_int_test(&v, SHMEM_CMP_NE, 5));
	CHECK(shmem_int_test(&v, SHMEM_CMP_GT, 4) && !shmem_int_test(&v, SHMEM_CMP_GT, 5));
	CHECK(shmem_int_test(&v, SHMEM_CMP_GE, 5) && !shmem_int_test(&v, SHMEM_CMP_GE, 6));
	CHECK(shmem_int_test(&v, SHMEM_CMP_LT, 6) && !shmem_int_test(&v, SHMEM_CMP_LT, 5));
	CHECK(shmem_int_test(&v, SHMEM_CMP_LE, 5) && !shmem_int_test(&v, SHMEM_CMP_LE, 4));
	shmem_int_wait_until(&v, SHMEM_CMP_EQ, 5);
	CHECK(shmem_test(&v, SHMEM_CMP_LT, 6));
}

/* A wait that has gone to sleep ends, too. */
static void t_late_store_ends_a_wait(void)
{
	static long late;

	if (!me) {
		usleep(200000);
		for (int pe = 0; pe < n; pe++)
			shmem_long_p(&late, 1, pe);
	}
	shmem_long_wait_until(&late, SHMEM_CMP_NE, 0);
	CHECK_INT(late, 1);
}

/* The child may compute and exit; its memory is its own, and the job goes on without it. */
static void t_forked_child_is_in_no_job(void)
{
	long *h = shmem_calloc(1, sizeof(*h));
	int status = -1, yes = -1;
	pid_t child;

	REQUIRE(h != NULL);
	fflush(stdout);
	child = fork();
	if (!child) {
		flag = -1;
		shmem_query_initialized(&yes);
		_exit(yes == 0 && shmem_n_pes() == 0 && !shmem_pe_accessible(0) && !shmem_ptr(&flag, 0) ? 0 : 1);
	}
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	CHECK(flag != -1);
	shmem_long_p(h, me + 1, to);
	shmem_barrier_all();
	CHECK_INT(*h, from + 1);
	shmem_free(h);
}

static void t_again_after_finalize(void)
{
	int yes;

	shmem_finalize();
	shmem_query_initialized(&yes);
	CHECK_INT(yes, 0);
	t_barrier();
	shmem_init();
	CHECK_INT(shmem_my_pe(), me);
	shmem_long_p(&flag, 4711 + me, to);
	shmem_barrier_all();
	CHECK_INT(flag, 4711 + from);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_ping_pong_through_static_flag), T(t_fence_orders_data_before_flag), T(t_barrier_waits_for_all),
		T(t_comparisons), T(t_late_store_ends_a_wait),
		T(t_forked_child_is_in_no_job), T(t_again_after_finalize), { 0 }
	};

	sm_start();
	return sm_end(t_run(cases));
}

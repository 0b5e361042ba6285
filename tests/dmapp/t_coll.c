/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_coll.c - sets of PEs, locks, queues */
#include <pthread.h>

#include "dm.h"

static uint64_t *room;
static dmapp_lock_desc_t *lock;
static dmapp_lock_desc_t lock_in_data;

static dmapp_c_pset_desc_t set(uint32_t n_pes, int base, int stride)
{
	return (dmapp_c_pset_desc_t){ .type = DMAPP_C_PSET_DELIMITER_STRIDED, .u.stride_type = { n_pes, base,
		stride } };
}

static dmapp_c_pset_handle_t make(uint64_t id, uint32_t n_pes, int base, int stride, int member)
{
	dmapp_c_pset_desc_t d = set(n_pes, base, stride);
	dmapp_c_pset_handle_t p = NULL;

	if (member)
		OK(dmapp_c_pset_create(&d, id, DMAPP_C_PSET_MODE_CONCAT, NULL, &p));
	dm_barrier();
	if (member)
		OK(dmapp_c_pset_export(p));
	dm_barrier();
	return p;
}

static void t_sets(void)
{
	dmapp_c_pset_handle_t p, many[33], q;
	dmapp_c_pset_desc_t d = set((uint32_t)n, 0, 1);
	int made = 0;

	IS(dmapp_c_pset_create(&d, 0, 0, NULL, &p), INVALID_PARAM);
	IS(dmapp_c_pset_create(NULL, 1, 0, NULL, &p), INVALID_PARAM);
	IS(dmapp_c_pset_create(&d, 1, 2, NULL, &p), INVALID_PARAM);
	d = set((uint32_t)n + 1, 0, 1);
	IS(dmapp_c_pset_create(&d, 1, 0, NULL, &p), INVALID_PARAM);
	d = set(2, n - 1, 1);
	IS(dmapp_c_pset_create(&d, 1, 0, NULL, &p), INVALID_PARAM);
	d = set(1, to, 1);
	if (n > 1)
		IS(dmapp_c_pset_create(&d, 1, 0, NULL, &p), INVALID_PARAM);	/* not a member */
	d = set((uint32_t)n, 0, 1);
	OK(dmapp_c_pset_create(&d, 7, 0, NULL, &p));
	IS(dmapp_c_pset_create(&d, 7, 0, NULL, &q), BUSY);
	IS(dmapp_c_barrier_join(p), NOT_FOUND);			/* not exported */
	OK(dmapp_c_pset_destroy(p));
	IS(dmapp_c_pset_destroy(p), NOT_FOUND);
	dm_barrier();
	if (n > 1 && me == 0) {
		OK(dmapp_c_pset_create(&d, 8, 0, NULL, &p));
		IS(dmapp_c_pset_export(p), NOT_FOUND);		/* the others have not made it */
		OK(dmapp_c_pset_destroy(p));
	}
	d = set(1, me, 1);
	while (made < 33 && dmapp_c_pset_create(&d, 100 + (uint64_t)made, 0, NULL, &many[made]) == DMAPP_RC_SUCCESS)
		made++;
	CHECK_INT(made, 32);
	IS(dmapp_c_pset_create(&d, 99, 0, NULL, &p), NO_SPACE);
	while (made--)
		OK(dmapp_c_pset_destroy(many[made]));
	dm_barrier();
}

static void t_sets_meet(void)
{
	dmapp_c_pset_handle_t p = make(21, (uint32_t)n, 0, 1, 1);
	dmapp_return_t rc;
	uint64_t v;

	room[0] = 0;
	dm_barrier();
	for (uint64_t i = 1; i <= 200; i++) {
		room[0] = i;
		OK(dmapp_c_barrier_join(p));
		if (n > 1 && i == 1)
			IS(dmapp_c_pset_destroy(p), BUSY);
		IS(dmapp_c_barrier_join(p), BUSY);
		if (i & 1)
			OK(dmapp_c_pset_wait(p));
		else
			while ((rc = dmapp_c_pset_test(p)) != DMAPP_RC_SUCCESS)
				REQUIRE_INT(rc, DMAPP_RC_NOT_DONE);
		OK(dmapp_get(&v, room, sheap, (me + (int)i) % n, 1, DMAPP_QW));
		CHECK(v == i || v == i + 1);
	}
	IS(dmapp_c_pset_wait(p), NOT_FOUND);
	dm_barrier();
	OK(dmapp_c_pset_destroy(p));
}

/* A late member holds the others. */
static void t_a_barrier_waits(void)
{
	dmapp_c_pset_handle_t p = make(22, (uint32_t)n, 0, 1, 1);

	if (me != n - 1) {
		OK(dmapp_c_barrier_join(p));
		for (int i = 0; i < 1000; i++)
			IS(dmapp_c_pset_test(p), NOT_DONE);
	}
	dm_barrier();
	if (me == n - 1)
		OK(dmapp_c_barrier_join(p));
	OK(dmapp_c_pset_wait(p));
	dm_barrier();
	/* one that is given up */
	if (n > 1 && me == 0) {
		OK(dmapp_c_barrier_join(p));
		OK(dmapp_c_pset_cancel_op(p));
		IS(dmapp_c_pset_cancel_op(p), NOT_FOUND);
		IS(dmapp_c_barrier_join(p), BUSY);
	}
	dm_barrier();
	OK(dmapp_c_pset_destroy(p));
}

#define REDUCE(T, CODE, op, expr)							\
	do {										\
		T in[K], out[K], want[K];						\
		uint32_t most;								\
											\
		OK(dmapp_c_greduce_nelems_max(CODE, &most));				\
		CHECK(most >= K);							\
		for (int i = 0; i < K; i++) {						\
			want[i] = (T)(0 + i % 3 + 1);					\
			in[i] = (T)(me + i % 3 + 1);					\
			for (int pe = 1; pe < n; pe++) {				\
				T x = want[i], y = (T)(pe + i % 3 + 1);			\
											\
				want[i] = (T)(expr);					\
			}								\
		}									\
		OK(dmapp_c_greduce_start(p, in, out, K, CODE, op));			\
		OK(dmapp_c_pset_wait(p));						\
		CHECK(!memcmp(out, want, sizeof(out)));					\
		OK(dmapp_c_greduce_start(p, in, in, K, CODE, op));			\
		OK(dmapp_c_pset_wait(p));						\
		CHECK(!memcmp(in, want, sizeof(out)));					\
	} while (0)
#define REDUCE_ALL(T, CODE)								\
	REDUCE(T, CODE, DMAPP_C_MIN, y < x ? y : x);					\
	REDUCE(T, CODE, DMAPP_C_MAX, y > x ? y : x);					\
	REDUCE(T, CODE, DMAPP_C_SUM, x + y);						\
	REDUCE(T, CODE, DMAPP_C_PROD, x * y)
#define REDUCE_BITS(T, CODE)								\
	REDUCE_ALL(T, CODE);								\
	REDUCE(T, CODE, DMAPP_C_AND, x & y);						\
	REDUCE(T, CODE, DMAPP_C_OR, x | y);						\
	REDUCE(T, CODE, DMAPP_C_XOR, x ^ y)

static void t_reductions(void)
{
	enum { K = 11 };
	dmapp_c_pset_handle_t p = make(31, (uint32_t)n, 0, 1, 1);
	double v[65];
	uint32_t most;

	REDUCE_BITS(int32_t, DMAPP_C_INT32);
	REDUCE_BITS(int64_t, DMAPP_C_INT64);
	REDUCE_BITS(uint32_t, DMAPP_C_UINT32);
	REDUCE_BITS(uint64_t, DMAPP_C_UINT64);
	REDUCE_ALL(float, DMAPP_C_FLOAT);
	REDUCE_ALL(double, DMAPP_C_DOUBLE);
	IS(dmapp_c_greduce_start(p, v, v, 1, DMAPP_C_DOUBLE, DMAPP_C_XOR), INVALID_PARAM);
	OK(dmapp_c_greduce_nelems_max(DMAPP_C_DOUBLE, &most));
	IS(dmapp_c_greduce_start(p, v, v, most + 1, DMAPP_C_DOUBLE, DMAPP_C_MAX), INVALID_PARAM);
	IS(dmapp_c_greduce_start(p, v, v, 0, DMAPP_C_DOUBLE, DMAPP_C_MAX), INVALID_PARAM);
	IS(dmapp_c_greduce_start(p, NULL, v, 1, DMAPP_C_DOUBLE, DMAPP_C_MAX), INVALID_PARAM);
	IS(dmapp_c_greduce_start(p, v, v, 1, (dmapp_c_type_t)6, DMAPP_C_MAX), INVALID_PARAM);
	IS(dmapp_c_greduce_start(p, v, v, 1, DMAPP_C_DOUBLE, (dmapp_c_op_t)7), INVALID_PARAM);
	IS(dmapp_c_greduce_nelems_max((dmapp_c_type_t)6, &most), INVALID_PARAM);
	dm_barrier();
	OK(dmapp_c_pset_destroy(p));
}

/* Every second PE, downwards, beside a set of all. */
static void t_sets_with_a_stride(void)
{
	int half = (n + 1) / 2, last = 2 * (half - 1), member = me % 2 == 0;
	dmapp_c_pset_handle_t all = make(41, (uint32_t)n, 0, 1, 1), some = make(42, (uint32_t)half, last, -2, member);
	int64_t in = me + 1, sum, want = 0;

	for (int pe = 0; pe <= last; pe += 2)
		want += pe + 1;
	for (int i = 0; i < 20; i++) {
		OK(dmapp_c_barrier_join(all));
		if (member) {
			OK(dmapp_c_greduce_start(some, &in, &sum, 1, DMAPP_C_INT64, DMAPP_C_SUM));
			OK(dmapp_c_pset_wait(some));
			CHECK_INT(sum, want);
		}
		OK(dmapp_c_pset_wait(all));
	}
	dm_barrier();
	OK(dmapp_c_pset_destroy(all));
	if (member)
		OK(dmapp_c_pset_destroy(some));
	dm_barrier();
}

static void t_locks(void)
{
	dmapp_lock_handle_t h, other;
	uint64_t v;

	room[0] = 0;
	dm_barrier();
	for (int i = 0; i < 100; i++) {
		/* a number that nobody adds to atomically */
		if (i & 1)
			OK(dmapp_lock_acquire(lock, sheap, 0, 0, &h));
		else
			OK(dmapp_lock_acquire(&lock_in_data, data, n - 1, 0, &other));
		OK(dmapp_get(&v, room + (i & 1), sheap, 0, 1, DMAPP_QW));
		v++;
		OK(dmapp_put_nbi(room + (i & 1), sheap, 0, &v, 1, DMAPP_QW));	/* release waits for it */
		if (i & 1)
			OK(dmapp_lock_release(h, 0));
		else
			OK(dmapp_lock_release_addr(&lock_in_data, n - 1, 0));
	}
	dm_barrier();
	OK(dmapp_get(&v, room, sheap, 0, 1, DMAPP_QW));
	CHECK_INT(v, 50 * n);
	OK(dmapp_get(&v, room + 1, sheap, 0, 1, DMAPP_QW));
	CHECK_INT(v, 50 * n);
	dm_barrier();
}

static void t_try(void)
{
	dmapp_lock_handle_t h, again;

	if (me == 0)
		OK(dmapp_lock_acquire(lock, sheap, 0, 0, &h));
	dm_barrier();
	if (me != 0)
		IS(dmapp_lock_try(lock, sheap, 0, 0, &h), BUSY);
	dm_barrier();
	if (me == 0) {
		IS(dmapp_lock_try(lock, sheap, 0, 0, &again), BUSY);
		OK(dmapp_lock_release(h, 0));
		IS(dmapp_lock_release(h, 0), NOT_FOUND);
		OK(dmapp_lock_try(lock, sheap, 0, 0, &h));
		OK(dmapp_lock_release(h, 0));
	}
	dm_barrier();
	IS(dmapp_lock_release_addr(lock, 0, 0), NOT_FOUND);
	IS(dmapp_lock_release(0, 0), NOT_FOUND);
	IS(dmapp_lock_acquire(lock, sheap, n, 0, &h), INVALID_PARAM);
	IS(dmapp_lock_acquire(lock, data, 0, 0, &h), INVALID_PARAM);
	IS(dmapp_lock_acquire(lock, sheap, 0, 1, &h), INVALID_PARAM);
	IS(dmapp_lock_acquire(lock, sheap, 0, 0, NULL), INVALID_PARAM);
	IS(dmapp_lock_try((dmapp_lock_desc_t *)((char *)lock + 4), sheap, 0, 0, &h), ALIGNMENT_ERROR);
}

/* DMAPP_MAX_LOCKS is 4 here. And the number of a ticket may wrap. */
static void t_locks_are_counted(void)
{
	dmapp_lock_desc_t *l = dmapp_sheap_malloc(6 * sizeof(*l));
	dmapp_lock_handle_t h[5];

	REQUIRE(l != NULL);
	memset(l, 0, 6 * sizeof(*l));
	dm_barrier();
	for (int i = 0; i < 4; i++)
		OK(dmapp_lock_try(&l[i], sheap, me, 0, &h[i]));
	IS(dmapp_lock_try(&l[4], sheap, me, 0, &h[4]), NO_SPACE);
	for (int i = 0; i < 4; i++)
		OK(dmapp_lock_release(h[i], 0));
	l[5].word = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		OK(dmapp_lock_acquire(&l[5], sheap, me, 0, &h[0]));
		IS(dmapp_lock_try(&l[5], sheap, me, 0, &h[1]), BUSY);
		OK(dmapp_lock_release(h[0], 0));
	}
	CHECK_INT(l[5].word >> 32, 2);
	CHECK_INT(l[5].word & 0xffffffff, 2);
	dm_barrier();
	dmapp_sheap_free(l);
}

enum { MESSAGES = 150 };
static _Atomic uint64_t heard[64];
static _Atomic int wrong;

static int hear(void *context, void *message, uint32_t len, dmapp_pe_t rank)
{
	uint64_t *m = message, i = heard[rank];

	/* in order, whole, to whom it is for */
	if (context != &wrong || len != 8 * (1 + i % 20) || m[0] != ((uint64_t)rank << 32 | i) || m[i % 20] !=
	    (i % 20 ? i : m[0]))
		wrong++;
	heard[rank]++;
	return 0;
}

static void send_all(dmapp_queue_handle_t q)
{
	uint64_t m[20];
	dmapp_return_t rc;

	for (uint64_t i = 0; i < MESSAGES; i++)
		for (int pe = 0; pe < n; pe++) {
			for (int k = 0; k < 20; k++)
				m[k] = i;
			m[0] = (uint64_t)me << 32 | i;
			while ((rc = dmapp_queue_put(q, m, (uint32_t)(1 + i % 20), DMAPP_QW, pe, 0)) ==
			       DMAPP_RC_RESOURCE_ERROR) {
				dmapp_progress();
				sched_yield();
			}
			REQUIRE_INT(rc, DMAPP_RC_SUCCESS);
		}
}

static void queue(uint64_t flags)
{
	dmapp_queue_handle_t q;
	double until = t_now() + 30;

	wrong = 0;
	memset((void *)heard, 0, sizeof(heard));
	OK(dmapp_queue_attach(hear, &wrong, flags, &q));
	dm_barrier();
	send_all(q);
	for (int pe = 0; pe < n; pe++)
		while (heard[pe] < MESSAGES && t_now() < until)
			if (flags)
				sched_yield();		/* the thread does it */
			else
				dmapp_progress();
	for (int pe = 0; pe < n; pe++)
		CHECK_INT(heard[pe], MESSAGES);
	CHECK_INT(wrong, 0);
	dm_barrier();
	OK(dmapp_queue_detach(q, 0));
	dm_barrier();
}

static void t_queue(void)
{
	queue(0);
	queue(0);			/* where the last one has stopped */
}

static void t_queue_with_a_thread(void)
{
	queue(DMAPP_QUEUE_ASYNC_PROGRESS);
}

static int ignore(void *context, void *message, uint32_t len, dmapp_pe_t rank)
{
	++*(int *)context;
	return 0;
}

static dmapp_return_t inside[2];

static int calls_back(void *context, void *message, uint32_t len, dmapp_pe_t rank)
{
	dmapp_queue_handle_t q;

	inside[0] = dmapp_queue_attach(ignore, context, 0, &q);
	inside[1] = dmapp_queue_detach(*(dmapp_queue_handle_t *)context, 0);
	return 0;
}

static void t_queues_stay_while_one_is_read(void)
{
	dmapp_queue_handle_t q;

	OK(dmapp_queue_attach(calls_back, &q, 0, &q));
	OK(dmapp_queue_put(q, NULL, 0, DMAPP_QW, me, 0));
	OK(dmapp_progress());
	IS(inside[0], BUSY);
	IS(inside[1], BUSY);
	OK(dmapp_queue_detach(q, 0));
	dm_barrier();
}

static void t_a_queue_is_full(void)
{
	dmapp_queue_handle_t q, more[4];
	uint64_t m[200] = { 0 };
	int calls = 0, sent = 0;

	OK(dmapp_queue_attach(ignore, &calls, 0, &q));
	for (int i = 0; i < 3; i++)
		OK(dmapp_queue_attach(ignore, &calls, 0, &more[i]));
	IS(dmapp_queue_attach(ignore, &calls, 0, &more[3]), NO_SPACE);
	while (sent < 1000 && dmapp_queue_put(q, m, 1, DMAPP_BYTE, me, 0) == DMAPP_RC_SUCCESS)
		sent++;
	CHECK_INT(sent, DMAPP_QUEUE_DEFAULT_DEPTH);
	IS(dmapp_queue_put(q, m, 1, DMAPP_BYTE, me, 0), RESOURCE_ERROR);
	IS(dmapp_finalize(), BUSY);
	OK(dmapp_progress());
	CHECK_INT(calls, sent);
	OK(dmapp_queue_put(q, NULL, 0, DMAPP_QW, me, 0));
	IS(dmapp_queue_put(q, m, DMAPP_QUEUE_DEFAULT_NELEMS + 1, DMAPP_BYTE, me, 0), INVALID_PARAM);
	IS(dmapp_queue_put(q, m, 1, DMAPP_BYTE, n, 0), INVALID_PARAM);
	IS(dmapp_queue_put(q, NULL, 1, DMAPP_BYTE, me, 0), INVALID_PARAM);
	IS(dmapp_queue_put(9, m, 1, DMAPP_BYTE, me, 0), NOT_FOUND);
	IS(dmapp_queue_attach(NULL, NULL, 0, &q), INVALID_PARAM);
	OK(dmapp_queue_detach(q, 0));			/* hands out what is there */
	CHECK_INT(calls, sent + 1);
	IS(dmapp_queue_put(q, m, 1, DMAPP_BYTE, me, 0), NOT_FOUND);
	IS(dmapp_queue_detach(q, 0), NOT_FOUND);
	for (int i = 0; i < 3; i++)
		OK(dmapp_queue_detach(more[i], 0));
	dm_barrier();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_sets), T(t_sets_meet), T(t_a_barrier_waits), T(t_reductions), T(t_sets_with_a_stride), T(t_locks),
			T(t_try),
		T(t_locks_are_counted), T(t_queue), T(t_a_queue_is_full), T(t_queues_stay_while_one_is_read),
		T(t_queue_with_a_thread), { 0 }
	};
	int rc;

	setenv("DMAPP_MAX_LOCKS", "4", 1);
	dm_start(NULL);
	room = dmapp_sheap_malloc(64 * sizeof(*room));
	memset(room, 0, 64 * sizeof(*room));
	lock = dmapp_sheap_malloc(sizeof(*lock));
	memset(lock, 0, sizeof(*lock));
	dm_barrier();
	rc = t_run(cases);
	dm_barrier();
	return dmapp_finalize() == DMAPP_RC_SUCCESS ? rc : 1;
}

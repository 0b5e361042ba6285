/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_sync.c - attributes, syncids and that they leak, gsync, threads, progress, errors; order seen by litmus tests */
#include <pthread.h>
#include <stdbool.h>

#include "dm.h"

static uint64_t *room;
static dmapp_rma_attrs_ext_t asked;

static int same(const dmapp_rma_attrs_ext_t *a, const dmapp_rma_attrs_ext_t *b)
{
	return a->max_outstanding_nb == b->max_outstanding_nb && a->offload_threshold == b->offload_threshold &&
		a->put_relaxed_ordering == b->put_relaxed_ordering && a->get_relaxed_ordering ==
			b->get_relaxed_ordering &&
		a->max_concurrency == b->max_concurrency && a->PI_ordering == b->PI_ordering &&
		a->queue_depth == b->queue_depth && a->queue_nelems == b->queue_nelems && a->queue_flags ==
			b->queue_flags;
}

static void t_attributes(void)
{
	dmapp_rma_attrs_ext_t a, b;
	dmapp_rma_attrs_t s, t;

	OK(dmapp_get_rma_attrs_ext(&a));
	CHECK(same(&a, &asked));
	a.offload_threshold = 1 << 20;
	a.put_relaxed_ordering = DMAPP_ROUTING_IN_ORDER;
	a.get_relaxed_ordering = DMAPP_ROUTING_DETERMINISTIC_1;
	OK(dmapp_set_rma_attrs_ext(&a, &b));
	CHECK(same(&a, &b));
	OK(dmapp_get_rma_attrs(&s));
	CHECK_INT(s.offload_threshold, 1 << 20);
	CHECK_INT(s.put_relaxed_ordering, DMAPP_ROUTING_IN_ORDER);
	CHECK_INT(s.max_outstanding_nb, 8);
	s.offload_threshold = 8192;
	OK(dmapp_set_rma_attrs(&s, &t));
	CHECK_INT(t.offload_threshold, 8192);
	OK(dmapp_set_rma_attrs(&s, NULL));
	/* what is for init only, and what is out of bounds; nothing changes */
	s.max_outstanding_nb = 9;
	IS(dmapp_set_rma_attrs(&s, &t), INVALID_PARAM);
	s.max_outstanding_nb = 8;
	s.max_concurrency = 1;
	IS(dmapp_set_rma_attrs(&s, &t), INVALID_PARAM);
	a.put_relaxed_ordering = 77;
	IS(dmapp_set_rma_attrs_ext(&a, &b), INVALID_PARAM);
	a.put_relaxed_ordering = 0;
	a.queue_depth = 12;
	IS(dmapp_set_rma_attrs_ext(&a, &b), INVALID_PARAM);
	IS(dmapp_set_rma_attrs_ext(NULL, &b), INVALID_PARAM);
	IS(dmapp_get_rma_attrs_ext(NULL), INVALID_PARAM);
	OK(dmapp_get_rma_attrs_ext(&b));
	CHECK_INT(b.offload_threshold, 8192);
	CHECK_INT(b.put_relaxed_ordering, DMAPP_ROUTING_IN_ORDER);
}

/* Values that no attribute takes, each alone in what is sensible otherwise; and the last that it takes. */
#define WITH(member, value)	{ #member " = " #value, offsetof(dmapp_rma_attrs_ext_t, member),		\
				  sizeof(((dmapp_rma_attrs_ext_t *)0)->member), value }
struct with {
	const char *what;
	size_t at, size;
	uint32_t value;
};

static const struct with refused[] = {
	WITH(max_outstanding_nb, 0), WITH(max_outstanding_nb, DMAPP_MAX_OUTSTANDING_NB + 1),
	WITH(put_relaxed_ordering, DMAPP_ROUTING_ADAPTIVE_3 + 1), WITH(get_relaxed_ordering, 255),
	WITH(max_concurrency, 0), WITH(PI_ordering, 3), WITH(PI_ordering, UINT32_MAX),
	WITH(queue_depth, 0), WITH(queue_depth, 4097), WITH(queue_nelems, 0), WITH(queue_nelems, 129),
	WITH(queue_depth, 482),			/* with 32 elements 256 KiB and 64 bytes */
	WITH(queue_flags, 2),
}, taken[] = {
	WITH(max_outstanding_nb, 1), WITH(max_outstanding_nb, DMAPP_MAX_OUTSTANDING_NB),
	WITH(offload_threshold, 0), WITH(offload_threshold, UINT32_MAX),
	WITH(put_relaxed_ordering, DMAPP_ROUTING_ADAPTIVE_3), WITH(max_concurrency, DMAPP_MAX_THREADS_UNLIMITED),
	WITH(PI_ordering, DMAPP_PI_ORDERING_STRICT), WITH(queue_depth, 1), WITH(queue_depth, 481),
	WITH(queue_nelems, 128), WITH(queue_flags, DMAPP_QUEUE_ASYNC_PROGRESS),
};

static dmapp_rma_attrs_ext_t with(const struct with *w)
{
	dmapp_rma_attrs_ext_t a;

	dmapp_get_rma_attrs_ext(&a);
	if (w->size == 1)
		*((uint8_t *)&a + w->at) = (uint8_t)w->value;
	else
		memcpy((char *)&a + w->at, &w->value, sizeof(w->value));
	return a;
}

/* [before init] */
static void limits(void)
{
	dmapp_rma_attrs_ext_t a, b;
	int flag;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		a = with(&refused[i]);
		if (dmapp_init_ext(&a, NULL) != DMAPP_RC_INVALID_PARAM || dmapp_initialized(&flag) || flag)
			bail("attributes that cannot be: %s", refused[i].what);
	}
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		a = with(&taken[i]);
		if (dmapp_init_ext(&a, &b) || !same(&a, &b) || dmapp_finalize())
			bail("attributes that can be: %s", taken[i].what);
	}
}

/* A later init counts if it asks for nothing, or for what is so; else it has done nothing. */
static void t_a_later_init(void)
{
	dmapp_rma_attrs_ext_t a = asked;
	dmapp_rma_attrs_t s;
	int flag;

	a.max_outstanding_nb = 9;
	IS(dmapp_init_ext(&a, NULL), INVALID_PARAM);
	a = asked;
	a.max_concurrency = 3;
	IS(dmapp_init_ext(&a, NULL), INVALID_PARAM);
	a = asked;
	a.PI_ordering = DMAPP_PI_ORDERING_STRICT;
	IS(dmapp_init_ext(&a, NULL), INVALID_PARAM);
	a = asked;
	a.queue_nelems++;
	IS(dmapp_init_ext(&a, NULL), INVALID_PARAM);
	a = asked;
	a.queue_flags = DMAPP_QUEUE_ASYNC_PROGRESS;
	IS(dmapp_init_ext(&a, NULL), INVALID_PARAM);
	OK(dmapp_get_rma_attrs(&s));
	s.max_outstanding_nb = 7;
	IS(dmapp_init(&s, NULL), INVALID_PARAM);
	a = asked;
	a.offload_threshold = 12345;
	OK(dmapp_init_ext(&a, &a));
	CHECK_INT(a.offload_threshold, 12345);
	OK(dmapp_finalize());			/* of that one: those that were refused have not been counted */
	OK(dmapp_initialized(&flag));
	CHECK(flag);
}

static void *look_at_threshold(void *arg)
{
	dmapp_rma_attrs_t a;

	dmapp_get_rma_attrs(&a);
	return (void *)(uintptr_t)a.offload_threshold;
}

static void t_a_threshold_is_a_threads_own(void)
{
	pthread_t t;
	void *v;

	pthread_create(&t, NULL, look_at_threshold, NULL);
	pthread_join(t, &v);
	CHECK_INT((uintptr_t)v, asked.offload_threshold);
}

/* Eight there are: what is not waited for is missed, on a node as between nodes. */
static void t_syncids_are_counted(void)
{
	dmapp_syncid_handle_t id[9], again;
	uint64_t v = 1, seen[2] = { 9, 9 };
	int flag;

	for (int i = 0; i < 8; i++)
		OK(dmapp_put_nb(room + 8, sheap, to, &v, 1, DMAPP_QW, &id[i]));
	IS(dmapp_put_nb(room + 8, sheap, to, &v, 1, DMAPP_QW, &id[8]), RESOURCE_ERROR);
	IS(dmapp_aadd_qw_nb(room + 8, sheap, to, 1, &id[8]), RESOURCE_ERROR);
	OK(dmapp_gsync_wait());			/* is not for them */
	IS(dmapp_get_nb(&v, room + 8, sheap, to, 1, DMAPP_QW, &id[8]), RESOURCE_ERROR);
	/* neither data nor flag have moved */
	IS(dmapp_put_flag_nb(room + 120, sheap, to, &v, 1, DMAPP_QW, room + 121, 5, &id[8]), RESOURCE_ERROR);
	OK(dmapp_get(seen, room + 120, sheap, to, 2, DMAPP_QW));
	CHECK_INT(seen[0], 0);
	CHECK_INT(seen[1], 0);
	again = id[3];
	OK(dmapp_syncid_wait(&id[3]));
	IS(dmapp_syncid_wait(&again), NOT_FOUND);
	IS(dmapp_syncid_test(&again, &flag), NOT_FOUND);
	OK(dmapp_put_nb(room + 8, sheap, to, &v, 1, DMAPP_QW, &id[3]));
	CHECK(id[3] != again);
	for (int i = 0; i < 8; i++) {
		flag = 0;
		for (int tries = 0; !flag && tries < 1000000; tries++)
			OK(dmapp_syncid_test(&id[i], &flag));
		CHECK(flag);
	}
	again = 12345678901;
	IS(dmapp_syncid_wait(&again), NOT_FOUND);
	IS(dmapp_syncid_wait(NULL), INVALID_PARAM);
	IS(dmapp_syncid_test(&again, NULL), INVALID_PARAM);
	/* a call that fails takes none */
	for (int i = 0; i < 20; i++)
		IS(dmapp_put_nb(room, sheap, n, &v, 1, DMAPP_QW, &id[0]), INVALID_PARAM);
	for (int i = 0; i < 20; i++) {
		IS(dmapp_put_flag_nb(room + 120, sheap, to, NULL, 1, DMAPP_QW, room + 121, 5, &id[0]), INVALID_PARAM);
		IS(dmapp_put_flag_nb(room + 120, sheap, to, &v, 1, DMAPP_QW, room + 121, 5, NULL), INVALID_PARAM);
	}
	for (int i = 0; i < 8; i++)
		OK(dmapp_put_nb(room + 8, sheap, to, &v, 1, DMAPP_QW, &id[i]));
	for (int i = 0; i < 8; i++)
		OK(dmapp_syncid_wait(&id[i]));
}

/* More than may be outstanding: they wait, and are all there. */
static void t_gsync(void)
{
	enum { MANY = 3000 };
	uint64_t *a = dmapp_sheap_malloc(MANY * 8), mine[MANY];
	int flag = 0, bad = 0;

	REQUIRE(a != NULL);
	memset(a, 0, MANY * 8);
	dm_barrier();
	for (uint64_t i = 0; i < MANY; i++) {
		mine[i] = i * 5 + (uint64_t)me;
		OK(dmapp_put_nbi(&a[i], sheap, to, &mine[i], 1, DMAPP_QW));
	}
	while (!flag)
		OK(dmapp_gsync_test(&flag));
	dm_barrier();
	for (uint64_t i = 0; i < MANY; i++)
		bad += a[i] != i * 5 + (uint64_t)from;
	CHECK_INT(bad, 0);
	memset(mine, 0, sizeof(mine));
	for (uint64_t i = 0; i < MANY; i++)
		OK(dmapp_get_nbi(&mine[i], &a[i], sheap, to, 1, DMAPP_QW));
	flag = 0;
	while (!flag)
		OK(dmapp_thread_gsync_test(&flag));
	for (uint64_t i = 0; i < MANY; i++)
		bad += mine[i] != i * 5 + (uint64_t)me;
	CHECK_INT(bad, 0);
	OK(dmapp_thread_gsync_wait());
	IS(dmapp_gsync_test(NULL), INVALID_PARAM);
	dm_barrier();
	dmapp_sheap_free(a);
}

static void *registers(void *arg)
{
	long rc = dmapp_thread_register();

	if (rc == DMAPP_RC_SUCCESS && arg)
		rc = dmapp_thread_unregister();
	return (void *)rc;
}

static pthread_barrier_t hold;

static void *holds(void *arg)
{
	long rc = dmapp_thread_register();

	pthread_barrier_wait(&hold);
	pthread_barrier_wait(&hold);
	return (void *)rc;
}

static void t_threads_are_counted(void)
{
	pthread_t t, more;
	void *rc;

	IS(dmapp_thread_register(), BUSY);		/* init did */
	for (int i = 0; i < 5; i++) {			/* max_concurrency is 2; a thread that ends has unregistered */
		pthread_create(&t, NULL, registers, i & 1 ? &t : NULL);
		pthread_join(t, &rc);
		CHECK_INT((long)rc, DMAPP_RC_SUCCESS);
	}
	OK(dmapp_thread_unregister());
	IS(dmapp_thread_unregister(), NOT_FOUND);
	OK(dmapp_thread_register());
	/* one more than max_concurrency, while the second one lives */
	pthread_barrier_init(&hold, NULL, 2);
	pthread_create(&t, NULL, holds, NULL);
	pthread_barrier_wait(&hold);
	pthread_create(&more, NULL, registers, NULL);
	pthread_join(more, &rc);
	CHECK_INT((long)rc, DMAPP_RC_RESOURCE_ERROR);
	pthread_barrier_wait(&hold);
	pthread_join(t, &rc);
	CHECK_INT((long)rc, DMAPP_RC_SUCCESS);
	pthread_barrier_destroy(&hold);
	pthread_create(&more, NULL, registers, NULL);
	pthread_join(more, &rc);
	CHECK_INT((long)rc, DMAPP_RC_SUCCESS);
}

static int called;
static void callback(void *context)
{
	called += *(int *)context;
}

static void t_progress(void)
{
	int two = 2, five = 5, many[20];

	called = 0;
	OK(dmapp_register_progress_cb(callback, &two));
	OK(dmapp_register_progress_cb(callback, &five));
	IS(dmapp_register_progress_cb(callback, &five), BUSY);
	IS(dmapp_register_progress_cb(NULL, &five), INVALID_PARAM);
	OK(dmapp_progress());
	CHECK_INT(called, 7);
	OK(dmapp_deregister_progress_cb(callback, &two));
	IS(dmapp_deregister_progress_cb(callback, &two), NOT_FOUND);
	OK(dmapp_progress());
	CHECK_INT(called, 12);
	for (int i = 0; i < 15; i++)
		OK(dmapp_register_progress_cb(callback, &many[i]));
	IS(dmapp_register_progress_cb(callback, &many[16]), NO_SPACE);
	for (int i = 0; i < 15; i++)
		OK(dmapp_deregister_progress_cb(callback, &many[i]));
	OK(dmapp_deregister_progress_cb(callback, &five));
}

static void t_errors_have_sentences(void)
{
	const char *text, *last = NULL;
	int major = 0, minor = -1;

	for (int rc = DMAPP_RC_SUCCESS; rc <= DMAPP_RC_NOT_USED; rc++) {
		OK(dmapp_explain_error((dmapp_return_t)rc, &text));
		CHECK(text && *text && (!last || strcmp(text, last)));
		last = text;
	}
	IS(dmapp_explain_error((dmapp_return_t)(DMAPP_RC_NOT_USED + 1), &text), INVALID_PARAM);
	CHECK(!strcmp(text, "unknown"));
	IS(dmapp_explain_error(DMAPP_RC_SUCCESS, NULL), INVALID_PARAM);
	OK(dmapp_get_version(&major, &minor, &text));
	CHECK(major == DMAPP_VERSION && minor >= 0 && strstr(text, "DMAPP"));
	OK(dmapp_get_version(NULL, NULL, NULL));
	IS(dmapp_checkpoint(), NOT_SUPPORTED);
	IS(dmapp_restart(0), NOT_SUPPORTED);
}

static void t_wrong_arguments(void)
{
	uint64_t v[4] = { 0 };
	dmapp_seg_desc_t junk = *sheap;
	ptrdiff_t far_away[] = { 0, PTRDIFF_MAX / 2 };

	IS(dmapp_put(room, sheap, to, NULL, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put(room, NULL, to, v, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put(room, sheap, n, v, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put(room, sheap, -1, v, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put(room, sheap, to, v, 1, (dmapp_type_t)1), INVALID_PARAM);
	IS(dmapp_put(room, sheap, to, v, 1, (dmapp_type_t)5), INVALID_PARAM);
	IS(dmapp_put(room, sheap, to, v, 1, (dmapp_type_t)-1), INVALID_PARAM);
	IS(dmapp_put(room, sheap, to, v, UINT64_MAX, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put(room, sheap, to, v, UINT64_C(1) << 61, DMAPP_DQW), INVALID_PARAM);
	IS(dmapp_put(v, sheap, to, v, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put(room, data, to, v, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put((char *)sheap->addr + sheap->len - 7, sheap, to, v, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put((char *)sheap->addr - 1, sheap, to, v, 1, DMAPP_BYTE), INVALID_PARAM);
	IS(dmapp_get(v, room, sheap, n, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_get(NULL, room, sheap, to, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_get_nbi(v, room, data, to, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put_nb(room, sheap, to, v, 1, DMAPP_QW, NULL), INVALID_PARAM);
	IS(dmapp_iput(room, sheap, to, v, PTRDIFF_MAX, 1, 3, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_iput(room, sheap, to, v, 1, PTRDIFF_MAX / 8, 3, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_iput(sheap->addr, sheap, to, v, -1, 1, 2, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_iget(v, sheap->addr, sheap, to, 1, (ptrdiff_t)sheap->len / 8, 2, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_ixput(room, sheap, to, v, NULL, 2, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_ixput(room, sheap, to, v, far_away, 2, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_ixget(v, room, sheap, to, far_away, 2, DMAPP_DQW), INVALID_PARAM);
	junk.flags = 0;
	IS(dmapp_put(room, &junk, to, v, 1, DMAPP_QW), INVALID_PARAM);
	junk = *sheap;
	junk.len *= 2;					/* a lie about the length is of no use */
	IS(dmapp_put((char *)sheap->addr + sheap->len, &junk, to, v, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_get_jobinfo(NULL), INVALID_PARAM);
	OK(dmapp_put(room, sheap, to, v, 0, DMAPP_QW));
}

/* ---- globally visible ---- */

/* Wait in own memory; where PEs share cores, by giving them away. */
#define UNTIL(cond)									\
	for (unsigned spin_ = 0; !(cond); spin_++) {					\
		dmapp_progress();							\
		if (n > 2 || spin_ > 200)						\
			sched_yield();							\
	}

/* Many where a round is short. */
static uint64_t rounds(uint64_t near)
{
	return n == 2 && t_near(to) ? near : near / 20;
}

/* Both are here, at about the same time. @i: 1, 2, ... */
static void meet(uint64_t *words, uint64_t i)
{
	dmapp_put(words, sheap, !me, &i, 1, DMAPP_QW);
	UNTIL(__atomic_load_n(words, __ATOMIC_ACQUIRE) >= i);
}

/*
 * Each puts, then loads what the other puts. In how many rounds both saw nothing; [PE 0]. Stores to lines that the
 * other one has written last come first, so that the put stands behind them for long.
 */
static int store_buffer(uint64_t times, bool complete)
{
	enum { LINES = 24, LINE = 8 };
	uint64_t *word = room + 16;			/* that of the other one, which it gets from here */
	uint64_t *slow = dmapp_sheap_malloc(LINES * LINE * 8);
	volatile uint64_t *seen = room + 32;
	int both = 0;

	if (!slow)
		bail("heap");
	*word = seen[0] = seen[1] = room[24] = room[25] = 0;
	dm_barrier();
	for (uint64_t i = 1; i <= times && me < 2; i++) {
		uint64_t got;

		for (int k = 0; k < LINES; k++)
			((volatile uint64_t *)slow)[k * LINE] = i;
		meet(room + 24, i);
		for (int k = 0; k < LINES; k++)
			dmapp_put_nbi(slow + k * LINE + 1, sheap, !me, &i, 1, DMAPP_QW);
		if (complete)
			dmapp_put(word, sheap, !me, &i, 1, DMAPP_QW);
		else
			dmapp_put_nbi(word, sheap, !me, &i, 1, DMAPP_QW);
		got = *(volatile uint64_t *)word;	/* a plain load, no call */
		dmapp_gsync_wait();
		dmapp_put((uint64_t *)(uintptr_t)seen + me, sheap, 0, &got, 1, DMAPP_QW);
		meet(room + 25, i);
		both += !me && seen[0] != i && seen[1] != i;
	}
	dm_barrier();
	dmapp_sheap_free(slow);
	return both;
}

/*
 * Store buffers. With blocking puts not both see nothing. The same without completion is the control: how often it
 * happens here then, so that what the first has not seen is worth something.
 */
static void t_litmus_store_buffer(void)
{
	int times = (int)rounds(20000), both, control;

	if (n < 2)
		SKIP("two PEs");
	both = store_buffer((uint64_t)times, true);
	control = store_buffer((uint64_t)times, false);
	if (!me)
		diag("both saw nothing: %d of %d rounds; without completion %d", both, times, control);
	CHECK_INT(both, 0);
}

/* Message passing: a put, then another; and nbi ones with gsync between. Who sees the second sees the first. */
static void t_litmus_message(void)
{
	enum { LEN = 9 };
	uint64_t times = rounds(3000);
	uint64_t buf[LEN];
	int bad = 0;

	for (uint64_t i = 1; i <= times; i++) {
		for (int k = 0; k < LEN; k++)
			buf[k] = i;
		if (i & 1) {
			dmapp_put(room + 64, sheap, to, buf, LEN, DMAPP_QW);
		} else {
			dmapp_put_nbi(room + 64, sheap, to, buf, LEN, DMAPP_QW);
			dmapp_gsync_wait();
		}
		dmapp_put(room + 80, sheap, to, &i, 1, DMAPP_QW);
		UNTIL(!(__atomic_load_n(room + 80, __ATOMIC_ACQUIRE) != i));
		for (int k = 0; k < LEN; k++)
			bad += room[64 + k] != i;
		dmapp_aadd_qw(room + 81, sheap, from, 1);	/* it may be written again */
		UNTIL(!(__atomic_load_n(room + 81, __ATOMIC_ACQUIRE) != i));
	}
	CHECK_INT(bad, 0);
	dm_barrier();
}

/*
 * The same with what is long enough for the engine, where there is one: by the last words of the block, and all of
 * it.
 */
static void t_litmus_long_message(void)
{
	enum { LEN = 1024, FLAG = LEN, ACK = LEN + 1 };
	uint64_t times = rounds(2000), *there = dmapp_sheap_malloc((LEN + 2) * 8);
	static uint64_t buf[LEN];
	dmapp_syncid_handle_t id;
	dmapp_rma_attrs_t a;
	int bad = 0;

	REQUIRE(there != NULL);
	OK(dmapp_get_rma_attrs(&a));
	a.offload_threshold = DMAPP_OFFLOAD_THRESHOLD;
	OK(dmapp_set_rma_attrs(&a, NULL));
	memset(there, 0, (LEN + 2) * 8);
	dm_barrier();
	for (uint64_t i = 1; i <= times; i++) {
		for (int k = 0; k < LEN; k++)
			buf[k] = i;
		if (i & 1) {
			dmapp_put_nbi(there, sheap, to, buf, LEN, DMAPP_QW);
			dmapp_gsync_wait();
		} else if (dmapp_put_nb(there, sheap, to, buf, LEN, DMAPP_QW, &id) == DMAPP_RC_SUCCESS) {
			dmapp_syncid_wait(&id);
		}
		dmapp_put(there + FLAG, sheap, to, &i, 1, DMAPP_QW);
		UNTIL(!(__atomic_load_n(there + FLAG, __ATOMIC_ACQUIRE) != i));
		for (int k = LEN - 1; k >= 0; k--)
			bad += there[k] != i;
		dmapp_aadd_qw(there + ACK, sheap, from, 1);
		UNTIL(!(__atomic_load_n(there + ACK, __ATOMIC_ACQUIRE) != i));
	}
	CHECK_INT(bad, 0);
	dm_barrier();
	dmapp_sheap_free(there);
}

/* Write, read, cause: PE 0 puts to PE 1; who has seen it there by a get tells PE 2, which then sees it, too. */
static void t_litmus_causality(void)
{
	uint64_t times = rounds(1000);
	int third = n > 2 ? 2 : 0, bad = 0;
	uint64_t got;

	if (n < 2)
		SKIP("two PEs");
	for (uint64_t i = 1; i <= times && me < 3; i++) {
		if (me == 0)
			dmapp_put(room + 96, sheap, 1, &i, 1, DMAPP_QW);
		if (me == 1) {
			do
				dmapp_get(&got, room + 96, sheap, 1, 1, DMAPP_QW);
			while (got != i);
			dmapp_put(room + 97, sheap, third, &i, 1, DMAPP_QW);
		}
		if (me == third) {
			UNTIL(!(__atomic_load_n(room + 97, __ATOMIC_ACQUIRE) != i));
			dmapp_get(&got, room + 96, sheap, 1, 1, DMAPP_QW);
			bad += got != i;
			for (int pe = 0; pe < 2; pe++)
				dmapp_put(room + 98, sheap, pe, &i, 1, DMAPP_QW);
		}
		UNTIL(!(me < 2 && __atomic_load_n(room + 98, __ATOMIC_ACQUIRE) != i));
	}
	CHECK_INT(bad, 0);
	dm_barrier();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_attributes), T(t_a_later_init), T(t_a_threshold_is_a_threads_own), T(t_syncids_are_counted),
		T(t_gsync), T(t_threads_are_counted), T(t_progress), T(t_errors_have_sentences), T(t_wrong_arguments),
		T(t_litmus_store_buffer), T(t_litmus_message), T(t_litmus_long_message), T(t_litmus_causality),
		{ 0 }
	};
	dmapp_jobinfo_t info;
	uint64_t v;
	int rc, flag = 7;

	/* what calls say before init; what clients ask for then */
	if (dmapp_put(&v, sheap, 0, &v, 1, DMAPP_QW) != DMAPP_RC_INVALID_PARAM || dmapp_gsync_wait() !=
	    DMAPP_RC_INVALID_PARAM ||
	    dmapp_get_jobinfo(&info) != DMAPP_RC_INVALID_PARAM || dmapp_sheap_malloc(8) ||
	    dmapp_initialized(&flag) != DMAPP_RC_SUCCESS || flag || dmapp_finalize() != DMAPP_RC_INVALID_PARAM)
		bail("calls before init");
	if (dmapp_get_rma_attrs_ext(&asked) != DMAPP_RC_SUCCESS || asked.max_outstanding_nb !=
	    DMAPP_DEF_OUTSTANDING_NB ||
	    asked.offload_threshold != DMAPP_OFFLOAD_THRESHOLD || asked.max_concurrency != 1)
		bail("defaults");
	limits();
	asked.max_outstanding_nb = 8;
	asked.max_concurrency = 2;
	asked.PI_ordering = DMAPP_PI_RELAXED_ORDERING;
	dm_start(&asked);
	room = dmapp_sheap_malloc(1024 * sizeof(*room));
	memset(room, 0, 1024 * sizeof(*room));
	dm_barrier();
	rc = t_run(cases);
	dm_barrier();
	/* counted; it is over behind the last */
	if (dmapp_init(NULL, NULL) != DMAPP_RC_SUCCESS || dmapp_finalize() != DMAPP_RC_SUCCESS ||
	    dmapp_initialized(&flag) != DMAPP_RC_SUCCESS || !flag || dmapp_finalize() != DMAPP_RC_SUCCESS ||
	    dmapp_initialized(&flag) != DMAPP_RC_SUCCESS || flag || dmapp_gsync_wait() != DMAPP_RC_INVALID_PARAM)
		bail("finalize");
	/* and may begin again */
	if (dmapp_init(NULL, NULL) != DMAPP_RC_SUCCESS || !dmapp_sheap_malloc(64) || dmapp_finalize() !=
	    DMAPP_RC_SUCCESS)
		bail("a second start");
	return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_step.c - what another thread or process does between any two accesses of a sleeper or an initiator
 *
 * The two files of the NAL are part of this program, with a step counted before each atomic access and system call. At
 * chosen steps the test does what another would do then; all choices are tried. So what happens once in a million
 * times elsewhere happens here each time. (Orders that only a store buffer makes are not seen: tests/model.)
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/tap.h"
#include "../../portals/lib/p3_atomic.h"

static void step(void);
static long t_syscall(long nr, uint32_t *addr, int op, int val, ...);

#undef p3_load
#undef p3_load_acq
#undef p3_store
#undef p3_store_rel
#undef p3_fetch_add
#undef p3_fetch_or
#undef p3_fetch_and
#undef p3_xchg
#define p3_load(p)		(step(), __atomic_load_n(p, __ATOMIC_RELAXED))
#define p3_load_acq(p)		(step(), __atomic_load_n(p, __ATOMIC_ACQUIRE))
#define p3_store(p, v)		(step(), __atomic_store_n(p, v, __ATOMIC_RELAXED))
#define p3_store_rel(p, v)	(step(), __atomic_store_n(p, v, __ATOMIC_RELEASE))
#define p3_fetch_add(p, v)	(step(), __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL))
#define p3_fetch_or(p, v)	(step(), __atomic_fetch_or(p, v, __ATOMIC_ACQ_REL))
#define p3_fetch_and(p, v)	(step(), __atomic_fetch_and(p, v, __ATOMIC_ACQ_REL))
#define p3_xchg(p, v)		(step(), __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL))
#define p3_cas32(p, o, n)	(step(), p3_cas32(p, o, n))
#define p3_fence()		(step(), p3_fence())
#define syscall			t_syscall

#include "core_env.h"

/* the core's functions are one step each */
#define p3l_lane_put(...)	(step(), p3l_lane_put(__VA_ARGS__))
#define p3l_lane_put_line(...)	(step(), p3l_lane_put_line(__VA_ARGS__))
#define p3l_send_end(...)	(step(), p3l_send_end(__VA_ARGS__))
#define p3l_target_begin(...)	(step(), p3l_target_begin(__VA_ARGS__))
#define p3l_target_end(...)	(step(), p3l_target_end(__VA_ARGS__))

#include "../../nal/smartmap/nal_inbox.c"
#include "../../nal/smartmap/nal_smartmap.c"

enum { PT = 3, OWNER = 0, PEER = 1, MANY = 400 };

static struct nal_ni ni[2];			/* by slot */
static struct priv pv[2];
static struct nal_peer peer[2][C_SLOTS];
static uint32_t pids[C_SLOTS] = { 100, 101, 102, 103 };
static struct p3l_ref eq[2];
static uint8_t buf[256];

/* ---- steps -------------------------------------------------------------------------------------------------- */

static __thread bool stepped;			/* this thread's accesses count, now */
static int steps;
static struct { int at; void (*act)(void); } todo[3];
static int n_todo, done;

static void act_until(int now)
{
	while (done < n_todo && todo[done].at <= now) {
		stepped = false;
		todo[done++].act();
		stepped = true;
	}
}

static void step(void)
{
	if (stepped)
		act_until(steps++);
}

/* ---- the rest of the NAL ------------------------------------------------------------------------------------ */

struct smartmap_view smartmap_view_;
enum p3_log_level p3_log_threshold;

void p3_log(enum p3_log_level level, const char *fmt, ...)
{
	(void)level, (void)fmt;
}

int p3_rt_oversubscribed(void)
{
	return true;
}

void smartmap_membarrier(void)
{
	step();
}

void *smartmap_lookup(int slot, int key)
{
	(void)slot, (void)key;
	return NULL;
}

void *smartmap_remote_slow_(int slot, const volatile void *addr)
{
	(void)slot;
	return (void *)(uintptr_t)addr;
}

int smartmap_reachable(int slot, const void *addr, size_t len)
{
	(void)slot, (void)addr, (void)len;
	return 1;
}

int smartmap_adopted(const void *addr, size_t len)
{
	(void)addr, (void)len;
	return 1;
}

int nal_move(struct nal_ni *n, uint32_t slot, struct p3l_ni *l, bool put, const struct region *t,
	     const struct region *o, uint64_t len, bool direct)
{
	(void)n, (void)slot, (void)l, (void)put, (void)t, (void)o, (void)len, (void)direct;
	return 0;
}

bool nal_hand_over(struct nal_ni *n, uint32_t slot, struct p3l_ni *l, struct p3l_op *op, const struct region *own,
		   const struct p3l_reply *reply)
{
	(void)n, (void)slot, (void)l, (void)op, (void)own, (void)reply;
	bail("nothing is handed over here");
}

void nal_hands_serve(struct nal_ni *n)
{
	(void)n;
}

void nal_hands_collect(struct nal_ni *n)
{
	(void)n;
}

int nal_swap(struct nal_ni *n, uint32_t slot, struct p3l_ni *l, const struct region *t, char *b, uint64_t len,
	     bool direct, const struct nal_step *what)
{
	(void)n, (void)slot, (void)l, (void)t, (void)b, (void)len, (void)direct, (void)what;
	return 0;
}

bool nal_may_swap(struct nal_ni *n, uint32_t slot, struct p3l_ni *l, const struct region *t, uint64_t len, bool direct,
		  uint32_t type)
{
	(void)n, (void)slot, (void)l, (void)t, (void)len, (void)direct, (void)type;
	return true;
}

int nal_start(struct nal_ni *n, const struct p3l_setup *s)
{
	(void)n, (void)s;
	return PTL_FAIL;
}

int nal_agree(struct nal_ni *n, int rc)
{
	(void)n;
	return rc;
}

void nal_stop(struct nal_ni *n)
{
	(void)n;
}

static void fresh(bool single, bool polled)
{
	for (uint32_t s = 0; s < 2; s++) {
		struct p3l_setup set = c_setup();

		if (ni[s].l)
			c_free(ni[s].l);
		set.slot = s;
		set.pid = pids[s];
		pv[s] = (struct priv){ .pids = pids, .inbox_max = 1024 };
		ni[s] = (struct nal_ni){ .l = c_region(&set), .env = c_env(s, single), .n_peers = C_SLOTS, .uid = C_UID,
					 .jid = C_JID, .nal_priv = &pv[s], .pids = pids, .peer = peer[s] };
		memset(peer[s], 0, sizeof(peer[s]));
		REQUIRE_INT(p3l_eq_alloc(&ni[s].env, ni[s].l, 16, &eq[s]), PTL_OK);
	}
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t t = 0; t < 2; t++) {
			peer[s][t].l = ni[t].l;
			peer[s][t].lane = p3l_lane(ni[t].l, s);
		}
	{
		ptl_md_t v = c_md((uintptr_t)buf, sizeof(buf), PTL_MD_THRESH_INF,
				  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE);
		struct p3l_md_args a = c_args(&v, &eq[OWNER]);
		struct p3l_ref me, md;

		REQUIRE_INT(p3l_me_attach(&ni[OWNER].env, ni[OWNER].l, PT, C_ANY, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER,
					  &me), PTL_OK);
		REQUIRE_INT(p3l_md_attach(&ni[OWNER].env, ni[OWNER].l, me, &a, PTL_RETAIN, &md), PTL_OK);
	}
	if (polled)
		nal_polled(&ni[OWNER], PT, true);
	steps = n_todo = done = 0;
}

/* ---- sleep -------------------------------------------------------------------------------------------------- */

static struct sleeper {
	bool event, asleep, gone, by_limit;
	sem_t woken;
	pthread_t thread;
} first, second;
static __thread struct sleeper *self;
static sem_t ready_sem;			/* the second thread sleeps, or has gone: whoever lets it run waits for that */
static bool lost;
static int wakes;
static bool owner_asleep;

static bool ready_for(void *arg)
{
	struct sleeper *s = arg;
	bool yes = p3_load(&s->event);

	step();
	return yes;
}

static void second_wakes(void)
{
	if (!second.asleep)
		return;
	second.asleep = false;
	sem_post(&second.woken);
	sem_wait(&ready_sem);
}

static long t_syscall(long nr, uint32_t *addr, int op, int val, ...)
{
	if (nr != SYS_futex)
		bail("system call %ld", nr);
	if (op == FUTEX_WAKE) {
		wakes++;
		first.asleep = owner_asleep = false;
		second_wakes();
		return 1;
	}
	step();
	if (__atomic_load_n(addr, __ATOMIC_SEQ_CST) != (uint32_t)val) {
		errno = EAGAIN;
		return -1;
	}
	self->asleep = true;
	if (self == &second) {
		sem_post(&ready_sem);
		sem_wait(&second.woken);
		return 0;
	}
	if (!self->by_limit) {
		act_until(MANY);		/* what has not happened yet happens while it sleeps */
		lost |= self->asleep && self->event;
	}
	self->asleep = false;
	return 0;
}

static void *second_thread(void *arg)
{
	self = arg;
	while (!p3_load(&second.event) && !second.gone)
		nal_wait(&ni[OWNER], -1, ready_for, self);
	second.gone = true;
	sem_post(&ready_sem);
	return NULL;
}

static void second_enters(void)
{
	if (pthread_create(&second.thread, NULL, second_thread, &second))
		bail("no thread");
	sem_wait(&ready_sem);
}

static void second_leaves(void)		/* by its time limit */
{
	second.gone = true;
	second_wakes();
	pthread_join(second.thread, NULL);
	second.thread = 0;
}

static void message(struct sleeper *s)
{
	p3_store_rel(&s->event, true);
	wake(&ni[PEER], ni[OWNER].l);
}

static void message_for_first(void)
{
	message(&first);
}

static void sleepers_begin(void)
{
	fresh(false, false);
	first = second = (struct sleeper){ 0 };
	sem_init(&second.woken, 0, 0);
	sem_init(&ready_sem, 0, 0);
	self = &first;
	lost = false;
}

static void sleep_stepped(void)
{
	stepped = true;
	nal_wait(&ni[OWNER], -1, ready_for, &first);
	stepped = false;
}

/* The first falls asleep while @act of the others happen, each at any of its steps. */
static void at_each_step(int n, void (*const *act)(void))
{
	int most = 0, at[3] = { 0 };

	for (;;) {
		sleepers_begin();
		n_todo = n;
		for (int i = 0; i < n; i++) {
			todo[i].at = at[i];
			todo[i].act = act[i];
		}
		sleep_stepped();
		if (lost) {
			CHECK(!"it sleeps on with its message there");
			diag("others at steps %d %d %d", at[0], at[1], at[2]);
		}
		if (steps > most)
			most = steps;
		act_until(MANY);
		stepped = false;
		if (second.thread)
			second_leaves();
		{
			int i = n - 1;

			while (i >= 0 && ++at[i] > most)
				i--;
			if (i < 0)
				break;
			for (int k = i + 1; k < n; k++)
				at[k] = at[i];
		}
		REQUIRE(most < 100);
	}
	CHECK(most > 5);			/* it has been stepped through */
}

static void t_a_message_wakes_who_falls_asleep(void)
{
	at_each_step(1, (void (*const[])(void)){ message_for_first });
}

static void t_a_message_wakes_though_another_thread_falls_asleep_behind_it(void)
{
	at_each_step(2, (void (*const[])(void)){ message_for_first, second_enters });
}

static void t_a_message_wakes_though_another_thread_fell_asleep_before(void)
{
	at_each_step(2, (void (*const[])(void)){ second_enters, message_for_first });
}

static void t_a_message_wakes_though_another_thread_has_come_and_gone(void)
{
	at_each_step(3, (void (*const[])(void)){ second_enters, second_leaves, message_for_first });
	at_each_step(3, (void (*const[])(void)){ second_enters, message_for_first, second_leaves });
	at_each_step(3, (void (*const[])(void)){ message_for_first, second_enters, second_leaves });
}

/* The first leaves by its time limit, and the second falls asleep at any of its steps. */
static void t_who_leaves_does_not_take_the_word_of_who_comes(void)
{
	for (int k = 0, most = 1; k <= most; k++) {
		sleepers_begin();
		first.by_limit = true;
		n_todo = 1;
		todo[0].at = k;
		todo[0].act = second_enters;
		sleep_stepped();
		most = steps;
		act_until(MANY);
		stepped = false;
		CHECK(second.asleep);
		message(&second);
		if (second.asleep) {
			CHECK(!"the second sleeps on with its message there");
			diag("it fell asleep at step %d of the one that left", k);
		}
		second_leaves();
	}
}

static void t_nobody_asleep_costs_no_system_call(void)
{
	sleepers_begin();
	first.by_limit = true;
	nal_wait(&ni[OWNER], -1, ready_for, &first);
	CHECK_INT(ni[OWNER].l->sleeping, 0);
	wakes = 0;
	message_for_first();
	CHECK_INT(wakes, 0);
}

/* ---- the events of a call are for another thread ------------------------------------------------------------- */

static struct p3l_ref bind(bool with_eq)
{
	ptl_md_t v = c_md((uintptr_t)buf, sizeof(buf), PTL_MD_THRESH_INF, 0);
	struct p3l_md_args a = c_args(&v, with_eq ? &eq[PEER] : NULL);
	struct p3l_ref md;

	CHECK_INT(p3l_md_bind(&ni[PEER].env, ni[PEER].l, &a, PTL_RETAIN, &md), PTL_OK);
	return md;
}

static int put_to(struct p3l_ref md, uint32_t pt, uint64_t len, uint64_t bits)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, PEER, pt, bits, len);
	struct p3l_send s = { .md = md, .len = len, .match_bits = bits, .pt = pt };

	return nal_put(&ni[PEER], OWNER, &h, &s);
}

static int put(struct p3l_ref md, uint64_t len)
{
	return put_to(md, PT, len, 1);
}

static void t_a_thread_that_sends_wakes_one_that_waits_for_that(void)
{
	struct p3l_ref md;

	fresh(false, false);
	md = bind(true);
	for (int polls = 0; polls < 2; polls++) {
		peer[PEER][OWNER].polls = polls;
		ni[PEER].l->sleeping = 5;
		wakes = 0;
		REQUIRE_INT(put(md, 8), PTL_OK);
		CHECK(p3l_eq_ready(ni[PEER].l, eq[PEER].idx));
		CHECK_INT(ni[PEER].l->sleeping, 0);
		CHECK_INT(wakes, 1);
	}
}

static void t_a_thread_that_takes_a_message_wakes_one_that_waits_for_it(void)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, PEER, PT, 1, 200);
	struct p3l_lane_tx tx = { 0 };

	fresh(false, false);
	for (int len = 8; len <= 200; len += 192) {
		h.rlength = (uint64_t)len;
		p3l_lane_put(ni[OWNER].l, PEER, &tx, &h, buf, false);
		ni[OWNER].l->sleeping = 5;
		wakes = 0;
		nal_progress(&ni[OWNER], 0, NULL);
		CHECK(p3l_eq_ready(ni[OWNER].l, eq[OWNER].idx));
		CHECK_INT(wakes, 1);
	}
}

/* ---- second look at the polled bit -------------------------------------------------------------------------- */

static int naps;

static void owner_sleeps(void)
{
	ni[OWNER].l->sleeping = 7;
	owner_asleep = !any_lane(&ni[OWNER]) && !p3l_eq_ready(ni[OWNER].l, eq[OWNER].idx);
	naps += owner_asleep;
	if (!owner_asleep)
		ni[OWNER].l->sleeping = 0;
}

/* The owner takes its promise back, takes what is there, and goes to sleep. */
static void owner_off(void)
{
	nal_polled(&ni[OWNER], PT, false);
	owner_sleeps();
}

struct nal_ni *p3a_open_ni = &ni[PEER];
static int handed_on;

static int not_usual(PUT_ARGS)
{
	(void)mdh, (void)loff, (void)len, (void)ack, (void)target, (void)pt, (void)ac, (void)bits, (void)roffset;
	(void)hdr_data;
	handed_on++;
	return PTL_FAIL;
}

/* By the straight way, which the doorbell and an earlier put have opened. */
static bool put_straight(struct p3l_ref md, uint64_t len)
{
	ptl_process_id_t to = { ni[OWNER].l->nid, pids[OWNER] };

	return nal_put_usual(md.gen << 16 | md.idx, 0, len, PTL_NO_ACK_REQ, to, PT, 0, 1, 0, 0) == PTL_OK;
}

static void open_straight(void)
{
	ni[PEER].put_any = ni[PEER].put_long = not_usual;
	pv[PEER].stats = &p3l_row(ni[PEER].l, PEER)->stats;
	peer[PEER][OWNER].small = peer[PEER][OWNER].tx.used = true;
	ni[OWNER].l->lanes_used[0] |= 1 << PEER;
}

enum way { ANY, SMALL, STRAIGHT };

/* Switched off at any step of a put, and asleep again at any later one. */
static void switched_off_at_each_step(bool single, uint64_t len, enum way way)
{
	int most = 1;

	naps = 0;
	for (int k = 0; k <= most; k++)
		for (int again = k; again <= most; again++) {
			static const char *const name[] = { "any", "small", "straight" };
			const char *what = name[way];
			struct p3l_slot ev;
			struct p3l_ref md;

			fresh(single, true);
			md = bind(false);
			if (way == STRAIGHT)
				open_straight();
			owner_asleep = false;
			n_todo = 2;
			todo[0].at = k;
			todo[0].act = owner_off;
			todo[1].at = again;
			todo[1].act = owner_sleeps;
			stepped = true;
			if (!(way == SMALL && nal_put_small(&ni[PEER], OWNER, md, 0, len, PT, 1, 0)) &&
			    !(way == STRAIGHT && put_straight(md, len)))
				CHECK_INT(put(md, len), PTL_OK);
			stepped = false;
			most = steps > most ? steps : most;
			REQUIRE(most < MANY);
			act_until(MANY);	/* the last: the put was over before */
			stepped = false;
			if (owner_asleep) {
				CHECK(!"the owner sleeps on");
				diag("%s put, switched off at step %d of %d, asleep at %d", what, k, most, again);
			}
			if (p3l_eq_read(&ni[OWNER].env, ni[OWNER].l, eq[OWNER].idx, &ev, true) != 1) {
				CHECK(!"the message is left in the lane");
				diag("%s put, switched off at step %d of %d", what, k, most);
			}
		}
	CHECK(most > 5 && naps > 2);
}

static void t_an_entry_switched_off_at_any_step_of_a_put(void)
{
	switched_off_at_each_step(true, 8, ANY);
	switched_off_at_each_step(false, 8, ANY);
	switched_off_at_each_step(true, 200, ANY);	/* an operation with a record */
}

static void t_an_entry_switched_off_at_any_step_of_a_small_put(void)
{
	switched_off_at_each_step(true, 8, SMALL);
}

static void t_an_entry_switched_off_at_any_step_of_a_straight_put(void)
{
	handed_on = 0;
	switched_off_at_each_step(true, 8, STRAIGHT);
	CHECK(handed_on > 0 && handed_on < 3 * MANY);	/* only where it was switched off before the look */
}

/* The other way: switched on under a put that has begun. It is matched by the initiator, or waits for its owner. */
static void owner_on(void)
{
	p3l_pt_polled_set(&ni[OWNER].env, ni[OWNER].l, PT, true);
}

static void t_an_entry_switched_on_at_any_step_of_a_direct_put(void)
{
	int most = 1, waited = 0;

	for (int k = 0; k <= most; k++) {
		struct p3l_slot ev;
		struct p3l_ref md;

		fresh(true, false);
		md = bind(false);
		n_todo = 1;
		todo[0].at = k;
		todo[0].act = owner_on;
		stepped = true;
		CHECK_INT(put(md, 8), PTL_OK);
		stepped = false;
		most = steps;
		REQUIRE(most < MANY);
		act_until(MANY);
		stepped = false;
		waited += any_lane(&ni[OWNER]);
		drain_own(&ni[OWNER], NULL);
		if (p3l_eq_read(&ni[OWNER].env, ni[OWNER].l, eq[OWNER].idx, &ev, true) != 1 ||
		    p3l_eq_read(&ni[OWNER].env, ni[OWNER].l, eq[OWNER].idx, &ev, true)) {
			CHECK(!"not one event");
			diag("switched on at step %d of %d", k, most);
		}
	}
	CHECK(most > 5 && waited > 0 && waited < most);
}

/*
 * A message for a polled entry finds no room in the queue and waits; so does one behind it, whose entry is polled no
 * longer. What comes then for that entry may not overtake it; for a third it may.
 */
static void t_a_put_does_not_overtake_one_that_waits_in_the_lane(void)
{
	enum { OTHER = PT + 1, THIRD = PT + 2 };
	struct p3l_hdr h = c_hdr(P3L_GET, PEER, OTHER, 1, 8);
	struct p3l_reply r = { .mlength = 8 };
	struct p3l_ref md, far_eq;
	struct p3l_slot ev;
	uint32_t n = 0;

	fresh(true, true);
	md = bind(false);
	REQUIRE_INT(p3l_eq_alloc(&ni[OWNER].env, ni[OWNER].l, 64, &far_eq), PTL_OK);
	for (uint32_t pt = OTHER; pt <= THIRD; pt++) {
		ptl_md_t v = c_md((uintptr_t)buf, sizeof(buf), PTL_MD_THRESH_INF,
				  PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
				  PTL_MD_EVENT_START_DISABLE);
		struct p3l_md_args a = c_args(&v, &far_eq);
		struct p3l_ref me, far;

		REQUIRE_INT(p3l_me_attach(&ni[OWNER].env, ni[OWNER].l, pt, C_ANY, 0, ~0ull, PTL_RETAIN,
					  PTL_INS_AFTER, &me), PTL_OK);
		REQUIRE_INT(p3l_md_attach(&ni[OWNER].env, ni[OWNER].l, me, &a, PTL_RETAIN, &far), PTL_OK);
	}
	nal_polled(&ni[OWNER], OTHER, true);
	for (int i = 0; i < 16; i++)
		p3l_eq_reserve(ni[OWNER].l, eq[OWNER].idx);
	REQUIRE_INT(put_to(md, PT, 8, 1), PTL_OK);
	REQUIRE_INT(put_to(md, OTHER, 8, 2), PTL_OK);
	nal_polled(&ni[OWNER], OTHER, false);
	CHECK(!p3l_eq_ready(ni[OWNER].l, far_eq.idx));
	REQUIRE_INT(put_to(md, OTHER, 8, 3), PTL_OK);
	CHECK(!p3l_eq_ready(ni[OWNER].l, far_eq.idx));
	REQUIRE_INT(put_to(md, OTHER, 200, 4), PTL_OK);
	CHECK(!p3l_eq_ready(ni[OWNER].l, far_eq.idx));
	r.md = md;
	CHECK_INT(nal_get(&ni[PEER], OWNER, &h, &r), PTL_NO_SPACE);	/* nor may a get */
	REQUIRE_INT(put_to(md, THIRD, 8, 5), PTL_OK);
	CHECK(p3l_eq_read(&ni[OWNER].env, ni[OWNER].l, far_eq.idx, &ev, true) == 1 && ev.match_bits == 5);
	ni[OWNER].l->eq[eq[OWNER].idx].head = 16;	/* they have been read */
	for (uint32_t t = 16; t--;)
		p3l_eq_slot(ni[OWNER].l, &ni[OWNER].l->eq[eq[OWNER].idx], t)->word = t << 1 | 1;
	drain_own(&ni[OWNER], NULL);		/* the first without lock, */
	drain_own(&ni[OWNER], NULL);		/* the others with it */
	while (p3l_eq_read(&ni[OWNER].env, ni[OWNER].l, far_eq.idx, &ev, true) == 1)
		CHECK_INT(ev.match_bits, 2 + n++);
	CHECK_INT(n, 3);
}

/* ---- first look at the mark --------------------------------------------------------------------------------- */

static void t_the_first_look_follows_the_owner(void)
{
	struct nal_peer p = { .pauses = 5 };

	for (int i = 1; i < TRUST; i++)
		first_look(&p, p.pauses);
	CHECK(p.pauses == 5 && p.in_time == TRUST - 1);
	first_look(&p, 5);			/* in time each time: a little earlier */
	CHECK(p.pauses == 4 && p.in_time == 0);
	first_look(&p, 4);
	first_look(&p, 5);			/* too early once: later, and trust begins anew */
	CHECK(p.pauses == 5 && p.in_time == 0);
	first_look(&p, 5 + LATE);
	CHECK_INT(p.pauses, 6);
	first_look(&p, 6 + LATE + 1);		/* much later: the owner was busy, which says nothing */
	CHECK(p.pauses == 6 && p.in_time == 0);
	p.pauses = MAX_PAUSES;
	first_look(&p, MAX_PAUSES + 1);
	CHECK_INT(p.pauses, MAX_PAUSES);
	p = (struct nal_peer){ 0 };
	for (int i = 0; i < 2 * TRUST; i++)
		first_look(&p, 0);
	CHECK_INT(p.pauses, 0);
}

/* Looks at the next line's word, behind the message: none before the first that was asked for. */
static int come_back_at;

static void owner_takes_it(void)
{
	struct p3l_lane_hdr *lane = peer[PEER][OWNER].lane;

	nal_drain(&ni[OWNER], OWNER, ni[OWNER].l, lane, PEER, NULL, true);
	CHECK(p3l_lane_mark(ni[OWNER].l, lane, P3L_W_AWAY));
}

static void t_an_owner_found_away_gets_a_moment(void)
{
	for (come_back_at = 0; come_back_at <= PATIENCE + 1; come_back_at += come_back_at < 40 ? 1 : 7) {
		struct nal_peer *p = &peer[PEER][OWNER];
		struct p3l_hdr h = c_hdr(P3L_PUT, PEER, PT, 1, 8);
		struct p3l_slot ev;

		fresh(true, false);
		p->polls = true;
		p->pauses = 10;
		p3l_lane_mark(ni[OWNER].l, p->lane, P3L_W_AWAY);
		CHECK_INT(p3l_lane_put(ni[OWNER].l, PEER, &p->tx, &h, buf, true), P3L_W_AWAY);
		n_todo = 1;
		todo[0].at = come_back_at;
		todo[0].act = owner_takes_it;
		stepped = true;
		not_polling(&ni[PEER], OWNER, p, P3L_W_AWAY);
		stepped = false;
		/* one access each look, from the first one on */
		CHECK_INT(done, steps > come_back_at);
		if (come_back_at < PATIENCE - 10) {
			CHECK(p->polls);
			CHECK_INT(steps, come_back_at + 1);
			CHECK_INT(p->pauses, come_back_at && come_back_at <= LATE ? 11 : 10);
		} else {
			CHECK(!p->polls);
		}
		CHECK_INT(p3l_eq_read(&ni[OWNER].env, ni[OWNER].l, eq[OWNER].idx, &ev, true), 1);
		CHECK_INT(p3l_eq_read(&ni[OWNER].env, ni[OWNER].l, eq[OWNER].idx, &ev, true), 0);
	}
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_a_message_wakes_who_falls_asleep),
		T(t_a_message_wakes_though_another_thread_falls_asleep_behind_it),
		T(t_a_message_wakes_though_another_thread_fell_asleep_before),
		T(t_a_message_wakes_though_another_thread_has_come_and_gone),
		T(t_who_leaves_does_not_take_the_word_of_who_comes), T(t_nobody_asleep_costs_no_system_call),
		T(t_a_thread_that_sends_wakes_one_that_waits_for_that),
		T(t_a_thread_that_takes_a_message_wakes_one_that_waits_for_it),
		T(t_an_entry_switched_off_at_any_step_of_a_put), T(t_an_entry_switched_off_at_any_step_of_a_small_put),
		T(t_an_entry_switched_off_at_any_step_of_a_straight_put),
		T(t_an_entry_switched_on_at_any_step_of_a_direct_put),
		T(t_a_put_does_not_overtake_one_that_waits_in_the_lane), T(t_the_first_look_follows_the_owner),
		T(t_an_owner_found_away_gets_a_moment), { 0 } };

	return t_run(cases);
}

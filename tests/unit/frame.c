/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * frame.c - the frame engine and the core over the loopback network, each operation and rule by itself
 *
 * A fake clock, no threads. tests/unit/frame_random.c has the long runs under injection.
 */
#include "../common/tap.h"
#include "frame_env.h"

#define BIG 200000
static uint8_t a[BIG], b[BIG];
static const struct loop_inject quiet = { .delay_ns = 1000, .seed = 1 };

static void fill(void)
{
	uint64_t s = 5;

	for (int i = 0; i < BIG; i++)
		a[i] = (uint8_t)c_random(&s);
	memset(b, 0xee, sizeof(b));
}

/* The next events of node @i are of these kinds and went well. */
static void events_(unsigned i, struct p3l_slot *ev, const uint8_t *want, unsigned n, int line)
{
	for (unsigned k = 0; k < n; k++) {
		bool there = f_event(i, &ev[k]);

		if (!there || ev[k].kind_fail != want[k]) {
			atomic_fetch_add(&t_bad_, 1);
			diag("line %d: node %u, event %u: %s %u fail %u, want %u", line, i, k, there ? "kind" : "none",
			     there ? ev[k].kind_fail & 15u : 0, there ? ev[k].kind_fail >> 4 : 0u, want[k]);
			return;
		}
	}
}
#define EVENTS(i, ev, ...) \
	events_(i, ev, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), __LINE__)
#define NO_EVENT(i) CHECK(!f_event(i, &(struct p3l_slot){ 0 }))

static const uint64_t sizes[] = { 0, 1, 8, 255, 256, 257, 8191, 8192, 8193, 32767, 32768, 32769, 65536, 100000 };
#define N_SIZES (sizeof(sizes) / sizeof(*sizes))

static void t_put_of_every_size(void)
{
	for (unsigned k = 0; k < N_SIZES; k++) {
		uint64_t n = sizes[k];
		struct p3l_slot ev[4];
		struct p3l_ref md;

		fill();
		f_start(2, &quiet);
		md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
		f_post(1, 42, b, BIG, 1, PTL_MD_OP_PUT);
		CHECK_INT(f_put_at(0, 1, md, 17, n, true, F_PT, 42, 0x1122334455667788, 0), PTL_OK);
		if (n <= FR_COPY)
			EVENTS(0, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);	/* at once */
		CHECK(f_run());
		EVENTS(1, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
		CHECK_INT(ev[1].mlength, n);
		CHECK_INT(ev[1].rlength, n);
		CHECK(ev[1].hdr_data == 0x1122334455667788 && ev[1].match_bits == 42);
		CHECK_INT(ev[1].initiator, 1);
		CHECK(!memcmp(a + 17, b, n) && b[n] == 0xee);
		if (n > FR_COPY) {
			/* the order of SEND_END and ACK is open */
			EVENTS(0, ev, PTL_EVENT_SEND_START);
			CHECK(f_event(0, &ev[1]) && f_event(0, &ev[2]));
			if (ev[1].kind_fail == PTL_EVENT_SEND_END)
				ev[1] = ev[2];
		} else {
			EVENTS(0, ev + 1, PTL_EVENT_ACK);
		}
		CHECK_INT(ev[1].kind_fail, PTL_EVENT_ACK);
		CHECK_INT(ev[1].mlength, n);
		CHECK_INT(ev[1].rlength, n);
		CHECK_INT(ev[1].match_bits, 42);
		CHECK_INT(ev[1].pt, F_PT);
		NO_EVENT(0);
		NO_EVENT(1);
		CHECK(f_clean(0) && f_clean(1));
		CHECK(node[1].woken);
		f_end();
	}
}

static void t_get_of_every_size(void)
{
	for (unsigned k = 0; k < N_SIZES; k++) {
		uint64_t n = sizes[k];
		struct p3l_slot ev[4];
		struct p3l_ref md;

		fill();
		f_start(2, &quiet);
		md = f_bind(0, b, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
		f_post(1, 42, a, BIG, 1, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
		CHECK_INT(f_get(0, 1, md, 11, n, 42, 23), PTL_OK);
		NO_EVENT(0);
		CHECK(f_run());
		EVENTS(1, ev, PTL_EVENT_GET_START, PTL_EVENT_GET_END, PTL_EVENT_UNLINK);
		CHECK_INT(ev[1].mlength, n);
		CHECK_INT(ev[1].offset, 23);
		EVENTS(0, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END);
		CHECK_INT(ev[1].mlength, n);
		CHECK_INT(ev[1].rlength, n);
		CHECK_INT(ev[1].match_bits, 42);
		CHECK_INT(ev[1].offset, 11);
		CHECK_INT(ev[1].initiator, 2);
		CHECK(!memcmp(a + 23, b + 11, n) && b[11 + n] == 0xee && b[10] == 0xee);
		CHECK(f_clean(0) && f_clean(1));
		f_end();
	}
}

static void t_swap_is_answered_with_the_old_bytes(void)
{
	uint64_t word = 7, want = 9, old = 0;
	struct p3l_slot ev[4];
	struct p3l_ref get, put;

	f_start(2, &quiet);
	get = f_bind(0, &old, 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	put = f_bind(0, &want, 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	f_post(1, 1, &word, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
	CHECK_INT(f_getput(0, 1, get, put, 8, 1, 0), PTL_OK);
	CHECK(f_run());
	CHECK_INT(word, 9);
	CHECK_INT(old, 7);
	EVENTS(0, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END);
	EVENTS(1, ev, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END);
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

static void t_to_itself(void)
{
	struct p3l_slot ev[8];
	struct p3l_ref md;

	fill();
	f_start(1, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, PTL_RETAIN,
		true);
	f_post(0, 42, b, BIG, 1, PTL_MD_OP_PUT);
	CHECK_INT(f_put(0, 0, md, BIG, true, 42, 0), PTL_OK);
	CHECK(f_run());
	EVENTS(0, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK, PTL_EVENT_ACK);
	CHECK(!memcmp(a, b, BIG));
	CHECK(f_clean(0));
	f_end();
}

static void t_what_is_too_long_is_cut_and_the_rest_swallowed(void)
{
	struct p3l_slot ev[4];
	struct p3l_ref md;

	fill();
	f_start(2, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, PTL_RETAIN,
		true);
	f_post(1, 1, b, 40000, 1, PTL_MD_OP_PUT | PTL_MD_TRUNCATE);
	f_post(1, 2, b + 50000, 10, 1, PTL_MD_OP_PUT);
	CHECK_INT(f_put(0, 1, md, 100000, true, 1, 0), PTL_OK);
	CHECK_INT(f_put(0, 1, md, 10, true, 2, 0), PTL_OK);
	CHECK(f_run());
	EVENTS(0, ev, PTL_EVENT_ACK, PTL_EVENT_ACK);
	CHECK_INT(ev[0].rlength, 100000);
	CHECK_INT(ev[0].mlength, 40000);
	CHECK_INT(ev[1].mlength, 10);
	CHECK(!memcmp(a, b, 40000) && b[40000] == 0xee && !memcmp(a, b + 50000, 10));
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

static void t_a_dropped_request_gives_its_number_back(void)
{
	struct p3l_ref put, get;

	fill();
	f_start(2, &quiet);
	put = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	get = f_bind(0, b, 100, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	for (unsigned i = 0; i < 3 * FR_REQS; i++) {	/* more than may be unanswered */
		CHECK_INT(f_get(0, 1, get, 0, 100, 99, 0), PTL_OK);
		CHECK_INT(f_put(0, 1, put, i % 2 ? 20000 : 20, true, 99, 0), PTL_OK);
		CHECK_INT(f_getput(0, 1, get, put, 8, 99, 0), PTL_OK);
		CHECK(f_run());
	}
	CHECK_INT(p3l_row(node[1].l, 0)->stats.drop_count, 9 * FR_REQS);
	NO_EVENT(0);
	NO_EVENT(1);
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

/* 64 unanswered requests are the limit: the others wait in the queue, all are answered. */
static void t_more_requests_than_numbers(void)
{
	unsigned n = 0, sent = 0;
	struct p3l_ref get;

	fill();
	f_start_size(2, &quiet, 4096);
	get = f_bind(0, b, 100, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, PTL_RETAIN, true);
	f_post(1, 1, a, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE |
	       PTL_MD_EVENT_END_DISABLE);
	while (sent < 500) {
		int rc = f_get(0, 1, get, 0, 100, 1, 0);

		CHECK(node[0].peer[1]->req_next - node[0].peer[1]->req_done <= FR_REQS);
		if (rc == FR_FULL) {
			if (!CHECK(loop_step(&net)))
				break;
			continue;
		}
		CHECK_INT(rc, PTL_OK);
		sent++;
	}
	CHECK(f_run());
	while (f_event(0, &(struct p3l_slot){ 0 }))
		n++;
	CHECK_INT(n, 500);
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

static void t_full_means_nothing_has_happened(void)
{
	unsigned ends_ = 0, got = 0;
	struct p3l_slot ev;
	struct p3l_ref md;

	fill();
	f_start_size(2, &(struct loop_inject){ .delay_ns = 1000, .room = 1, .seed = 1 }, 1024);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, PTL_RETAIN, true);
	f_post(1, 1, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE);
	for (int full = 0; full < 20; ) {
		int rc = f_put(0, 1, md, 100, false, 1, 0);

		full += rc == FR_FULL;
		if (rc == FR_FULL)
			continue;
		CHECK_INT(rc, PTL_OK);
		CHECK_INT(f_event(0, &ev), 1);
		ends_++;
	}
	CHECK(!fr_room(node[0].e, node[0].peer[1]));
	NO_EVENT(0);				/* of those that found no room */
	CHECK_INT(ends_, FR_PEER_MSGS);
	CHECK(f_run());
	while (f_event(1, &ev))
		got++;
	CHECK_INT(got, ends_);
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

static void *blocks[4096];
static unsigned n_blocks, most_blocks;

static void *more(void *arg)
{
	void *p = n_blocks < most_blocks ? malloc(FR_BLOCK) : NULL;

	if (p)
		blocks[n_blocks++] = p;
	return p;
}

/* Calls to a peer that takes nothing, until one finds no room. */
static unsigned fill_up(unsigned to, struct p3l_ref md, uint64_t len)
{
	unsigned n = 0;
	int rc;

	while ((rc = f_put(0, to, md, len, false, 1, 0)) == PTL_OK)
		n++;
	CHECK_INT(rc, FR_FULL);
	CHECK(node[0].peer[to]->full && !fr_room(node[0].e, node[0].peer[to]));
	return n;
}

/*
 * Calls that run ahead wait in memory that is asked for, up to a peer's share. Peers that take nothing have used up all
 * of it: another still finds some.
 */
static void t_a_queue_grows_and_is_shared_out(void)
{
	unsigned got = 0, n = 0;
	struct p3l_slot ev;
	struct p3l_ref md;

	fill();
	f_start_size(3, &(struct loop_inject){ .delay_ns = 1000, .room = 1, .seed = 1 }, 65536);
	node[0].e->more = more;
	n_blocks = 0;
	most_blocks = 4096;
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, PTL_RETAIN,
		    false);
	for (unsigned to = 1; to < 3; to++)
		f_post(to, 1, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
		       PTL_MD_EVENT_START_DISABLE);
	CHECK_INT(fill_up(1, md, 300), FR_MORE_BUFS / FR_MORE_PEER);
	n = FR_MORE_BUFS / FR_MORE_PEER + fill_up(1, md, 8);
	CHECK_INT(n, FR_MORE_MSGS / FR_MORE_PEER);
	CHECK(node[0].e->n_msgs <= FR_MORE_MSGS + FR_BLOCK / sizeof(struct fr_msg));
	node[0].e->n_bufs = FR_MORE_BUFS;		/* as if others had all of these */
	node[0].e->n_msgs = FR_MORE_MSGS;
	while (node[0].e->free_bufs)
		memcpy(&node[0].e->free_bufs, node[0].e->free_bufs, sizeof(uint8_t *));
	node[0].e->free_msgs = NULL;
	CHECK_INT(fill_up(2, md, 300) >= FR_OWN, 1);
	CHECK(f_run());
	while (f_event(1, &ev))
		got++;
	CHECK_INT(got, n);
	CHECK(!node[0].peer[1]->msgs && !node[0].peer[1]->bufs && !node[0].peer[2]->msgs);
	CHECK_INT(f_put(0, 1, md, 300, false, 1, 0), PTL_OK);
	CHECK(!node[0].peer[1]->full && f_run());
	most_blocks = 0;				/* no memory: what there is must do */
	CHECK(fill_up(1, md, 300) > FR_OWN);
	CHECK(f_run());
	f_end();
	while (n_blocks)
		free(blocks[--n_blocks]);
}

/* A polled portal without a place: the message waits at its sender, and what is behind it stays behind it. */
static void t_busy_targets_get_it_later_and_in_order(void)
{
	uint64_t out[4] = { 1, 2, 3, 4 }, in[4] = { 0 };
	struct p3l_slot ev[4];
	struct p3l_ref md;

	f_start(2, &quiet);
	md = f_bind(0, out, sizeof(out), PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	node[1].l->polled[0] |= 1u << 5;
	f_post_at(1, F_PT, 1, &in[3], 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, true);
	CHECK_INT(f_put_at(0, 1, md, 0, 8, false, 5, 1, 0, 0), PTL_OK);
	CHECK_INT(f_put_at(0, 1, md, 8, 8, false, F_PT, 1, 0, 0), PTL_OK);
	for (int i = 0; i < 200; i++)
		loop_step(&net);
	NO_EVENT(1);
	CHECK(node[1].e->stats.busy > 1);
	f_post_at(1, 5, 1, &in[0], 8, 1, PTL_MD_OP_PUT, true);
	CHECK(f_run());
	EVENTS(1, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK, PTL_EVENT_PUT_START);
	CHECK_INT(ev[0].pt, 5);
	CHECK_INT(in[0], 1);
	CHECK_INT(in[3], 2);
	CHECK(f_clean(0));
	f_end();
}

static void t_gets_of_a_polled_portal_are_dropped(void)
{
	uint64_t in = 0, out = 1;
	struct p3l_ref md, put;

	f_start(2, &quiet);
	md = f_bind(0, &in, 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	put = f_bind(0, &in, 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	node[1].l->polled[0] |= 1u << F_PT;
	f_post(1, 1, &out, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET);
	CHECK_INT(f_get(0, 1, md, 0, 8, 1, 0), PTL_OK);
	CHECK_INT(f_getput(0, 1, md, put, 8, 1, 0), PTL_OK);
	CHECK(f_run());
	NO_EVENT(0);
	NO_EVENT(1);
	CHECK_INT(p3l_row(node[1].l, 0)->stats.drop_count, 2);
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

static void t_no_more_records_than_are_ours(void)
{
	struct p3l_slot ev[2];
	struct p3l_ref md;

	fill();
	f_start(2, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	f_post(1, 1, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT);
	node[1].e->ops = FR_OPS;			/* others are in progress */
	CHECK_INT(f_put(0, 1, md, 10, false, 1, 0), PTL_OK);
	for (int i = 0; i < 100; i++)
		loop_step(&net);
	NO_EVENT(1);
	node[1].e->ops = 0;
	CHECK(f_run());
	EVENTS(1, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
	f_end();
}

static void t_memory_that_is_not_there(void)
{
	struct p3l_slot ev[8];
	struct p3l_ref md, get;

	fill();
	f_start(2, &quiet);
	f_hole_from = (uintptr_t)b;
	f_hole_to = (uintptr_t)b + BIG;
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, PTL_RETAIN,
		true);
	get = f_bind(0, a + 1000, 1000, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	f_post(1, 1, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_EVENT_START_DISABLE);
	for (int n = 100; n <= 1000; n += 900) {	/* within the answer, and from the MD */
		CHECK_INT(f_put(0, 1, md, (uint64_t)n, true, 1, 0), PTL_OK);
		CHECK_INT(f_get(0, 1, get, 0, (uint64_t)n, 1, 0), PTL_OK);
		CHECK_INT(f_getput(0, 1, get, md, 8, 1, 0), PTL_OK);
		CHECK(f_run());
		EVENTS(1, ev, PTL_EVENT_PUT_END | PTL_NI_FAULT_NP << 4);
		CHECK(f_event(1, &ev[0]) && f_event(1, &ev[1]));
		CHECK(ev[0].kind_fail >> 4 == PTL_NI_FAULT_NP && ev[1].kind_fail >> 4 == PTL_NI_FAULT_NP);
		for (int i = 0; i < 2; i++)
			EVENTS(0, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END | PTL_NI_FAULT_NP << 4);
		NO_EVENT(0);				/* no ack for what did not arrive */
		NO_EVENT(1);
	}
	CHECK(b[0] == 0xee);
	CHECK(f_clean(0) && f_clean(1));
	f_hole_from = f_hole_to = 0;
	f_end();
}

/* ---- the end of a connection ---- */

static void t_what_was_under_way_ends_with_a_failure(void)
{
	struct p3l_slot ev[8];
	struct p3l_ref md, get, fresh;

	fill();
	f_start(2, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	get = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	f_post(1, 1, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT);
	CHECK_INT(f_put(0, 1, md, 150000, true, 1, 0), PTL_OK);
	CHECK_INT(f_get(0, 1, get, 0, 100, 1, 0), PTL_OK);
	for (int i = 0; i < 50 && !p3l_row(node[1].l, 0)->op[0].state; i++)
		loop_step(&net);
	CHECK(node[1].e->ops == 1);			/* the put has begun */
	loop_cut(ends[0][1]);
	EVENTS(0, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END | PTL_NI_DIED_NP << 4, PTL_EVENT_REPLY_START,
	       PTL_EVENT_REPLY_END | PTL_NI_DIED_NP << 4);
	CHECK_INT(ev[3].mlength, 0);
	EVENTS(1, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END | PTL_NI_DIED_NP << 4);
	CHECK(f_clean(0) && f_clean(1));
	CHECK(f_run());
	/* later calls: puts fail as those to a process that does not exist; gets end as those under way did */
	fresh = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	CHECK_INT(f_put(0, 1, fresh, 10, true, 1, 0), PTL_OK);
	EVENTS(0, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END | PTL_NI_FAIL << 4);
	CHECK_INT(f_get(0, 1, get, 0, 100, 1, 0), PTL_OK);
	EVENTS(0, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END | PTL_NI_DIED_NP << 4);
	CHECK(ev[1].rlength == 100 && ev[1].mlength == 0 && ev[1].match_bits == 1);
	CHECK_INT(f_getput(0, 1, get, fresh, 8, 1, 0), PTL_OK);
	EVENTS(0, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END | PTL_NI_FAIL << 4, PTL_EVENT_REPLY_START,
	       PTL_EVENT_REPLY_END | PTL_NI_DIED_NP << 4);
	CHECK(ev[3].rlength == 8 && ev[3].mlength == 0);
	NO_EVENT(0);
	CHECK(f_clean(0));
	f_end();
}

/* A put that has ended here, and whose target has ended since: the ACK that is waited for comes, and says so. */
static void t_an_ack_that_will_not_come_fails(void)
{
	enum { SHORT = FR_REQS + 3 };		/* more than may be unfinished: some have not left the queue */
	struct p3l_slot ev[8];
	struct p3l_ref md;
	int n = 0;

	fill();
	f_start(2, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, PTL_RETAIN, true);
	f_post(1, 1, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	/* one that the target drops, and says that it has finished: no ACK */
	CHECK_INT(f_put(0, 1, md, 100, true, 2, 0), PTL_OK);
	CHECK(f_run());
	EVENTS(0, ev, PTL_EVENT_SEND_END);
	NO_EVENT(0);
	for (; n < SHORT && f_put(0, 1, md, 100, true, 1, 0) == PTL_OK; n++)
		EVENTS(0, ev, PTL_EVENT_SEND_END);
	CHECK(n > 2);
	loop_cut(ends[0][1]);
	while (n-- && f_event(0, &ev[0])) {
		CHECK_INT(ev[0].kind_fail, PTL_EVENT_ACK | PTL_NI_DIED_NP << 4);
		CHECK(ev[0].mlength == 0 && ev[0].rlength == 100 && ev[0].match_bits == 1);
	}
	CHECK_INT(n, -1);
	NO_EVENT(0);
	/* it costs what an ACK costs: the MD goes */
	CHECK(f_clean(0) && f_clean(1));
	f_end();

	f_start(2, &quiet);
	md = f_bind(0, a, BIG, 2, PTL_MD_EVENT_START_DISABLE, PTL_UNLINK, true);
	CHECK_INT(f_put(0, 1, md, 100, true, 1, 0), PTL_OK);
	loop_cut(ends[0][1]);
	EVENTS(0, ev, PTL_EVENT_SEND_END, PTL_EVENT_ACK | PTL_NI_DIED_NP << 4, PTL_EVENT_UNLINK);
	CHECK(f_clean(0));
	f_end();
}

static void t_a_reply_that_is_cut_off(void)
{
	struct p3l_slot ev[8];
	struct p3l_ref get;

	fill();
	f_start(2, &quiet);
	get = f_bind(0, b, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	f_post(1, 1, a, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_GET);
	CHECK_INT(f_get(0, 1, get, 0, 150000, 1, 0), PTL_OK);
	for (int i = 0; i < 50 && !node[0].peer[1]->ch[FR_ANSWER].in.on; i++)
		loop_step(&net);
	CHECK(node[0].peer[1]->ch[FR_ANSWER].in.on);
	loop_cut(ends[0][1]);
	EVENTS(0, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END | PTL_NI_DIED_NP << 4);
	EVENTS(1, ev, PTL_EVENT_GET_START, PTL_EVENT_GET_END | PTL_NI_DIED_NP << 4);
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

static void t_others_go_on_when_one_is_cut(void)
{
	struct p3l_slot ev[8];
	struct p3l_ref md;

	fill();
	f_start(3, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, PTL_RETAIN, true);
	f_post(2, 1, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	CHECK_INT(f_put(0, 1, md, 150000, false, 1, 0), PTL_OK);
	CHECK_INT(f_put(0, 2, md, 150000, false, 1, 0), PTL_OK);
	loop_cut(ends[0][1]);
	CHECK(f_run());
	EVENTS(0, ev, PTL_EVENT_SEND_END | PTL_NI_DIED_NP << 4, PTL_EVENT_SEND_END);
	EVENTS(2, ev, PTL_EVENT_PUT_END);
	CHECK(!memcmp(a, b, 150000));
	CHECK(f_clean(0) && f_clean(1) && f_clean(2));
	f_end();
}

/*
 * The connection breaks with its first frame, with its second, ... with none: each operation ends once, at both ends,
 * well or with a failure, and nothing is held.
 */
static void t_a_connection_breaks_at_each_frame(void)
{
	struct loop_inject in = quiet;
	unsigned long long cuts = 1;
	uint64_t word[3] = { 1, 2, 3 };

	fill();
	for (in.disconnect = 1; cuts && CHECK(in.disconnect < 1000); in.disconnect++) {
		unsigned n[2][16] = { { 0 } }, failed = 0;
		struct p3l_slot ev;
		struct p3l_ref put, get, old, new;

		f_start(2, &in);
		put = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
		get = f_bind(0, b, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
		old = f_bind(0, &word[0], 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
		new = f_bind(0, &word[1], 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
		f_post(1, 1, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
		f_post(1, 2, a, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
		f_post(1, 3, &word[2], 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
		CHECK_INT(f_put(0, 1, put, 100, true, 1, 0), PTL_OK);
		CHECK_INT(f_put(0, 1, put, 150000, true, 1, 0), PTL_OK);
		CHECK_INT(f_get(0, 1, get, 0, 150000, 2, 0), PTL_OK);
		CHECK_INT(f_getput(0, 1, old, new, 8, 3, 0), PTL_OK);
		CHECK(f_run());
		for (unsigned i = 0; i < 2; i++)
			while (f_event(i, &ev)) {
				CHECK((ev.kind_fail >> 4) == PTL_NI_OK || (ev.kind_fail >> 4) == PTL_NI_DIED_NP);
				failed += ev.kind_fail >> 4 != PTL_NI_OK;
				n[i][ev.kind_fail & 15]++;
			}
		cuts = net.cuts;
		CHECK(cuts || !failed);
		CHECK_INT(n[0][PTL_EVENT_SEND_END], 3);
		CHECK_INT(n[0][PTL_EVENT_REPLY_END], 2);
		/* a put whose SEND_END has failed waits for no ACK; what the target had begun ends there, too */
		CHECK(n[0][PTL_EVENT_ACK] == 2 || (cuts && n[0][PTL_EVENT_ACK] == 1));
		for (int k = PTL_EVENT_GET_START; k < PTL_EVENT_ACK; k += 2)
			CHECK(n[0][k] == n[0][k + 1] && n[1][k] == n[1][k + 1]);
		CHECK(f_clean(0) && f_clean(1));
		f_end();
	}
	CHECK(in.disconnect > 15);
}

/* Frames are lost and doubled, or connections break and come again: each operation is made once, and answered. */
static void t_an_atomic_operation_is_made_once(void)
{
	enum { N = 60 };
	static const struct loop_inject way[] = {
		{ .delay_ns = 1000, .loss = 200, .dup = 200, .reorder = 200, .flip = 50 },
		{ .delay_ns = 1000, .stream = true, .reconnect = 100 },
	};

	for (uint64_t k = 0; k < 40; k++) {
		uint64_t word = 0, old[N], one = 1, again = 0, seen = 0;
		struct loop_inject in = way[k % 2];
		struct p3l_ref get, put;
		struct p3l_slot ev;
		unsigned replies = 0;

		in.seed = k + 1;
		f_start(2, &in);
		memset(old, 0xff, sizeof(old));
		get = f_bind(0, old, sizeof(old), PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
		put = f_bind(0, &one, 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
		f_post(1, 1, &word, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
		for (int i = 0; i < N; i++) {
			struct p3l_hdr h = f_hdr(0, P3L_ADD, F_PT, 1);
			struct p3l_send s = { .md = put, .len = 8, .match_bits = 1, .pt = F_PT };
			struct p3l_reply r = { .md = get, .off = 8 * (uint64_t)i, .match_bits = 1, .pt = F_PT };

			h.md = get.idx;
			h.md_gen = get.gen;
			node[0].e->now = net.now;
			CHECK_INT(fr_getput(node[0].e, node[0].peer[1], &h, &s, &r), PTL_OK);
		}
		CHECK(f_run());
		again = node[0].e->stats.again + node[1].e->stats.again;
		while (f_event(0, &ev))
			replies += (ev.kind_fail & 15) == PTL_EVENT_REPLY_END && !(ev.kind_fail >> 4);
		CHECK_INT(replies, N);
		CHECK_INT(word, N);
		for (int i = 0; i < N; i++)
			seen |= old[i] < N ? 1ull << old[i] : 0;
		CHECK(seen == (1ull << N) - 1);		/* each has seen what the one before has left */
		if (!CHECK(again > 0))			/* the link was as bad as it should be */
			diag("seed %u", (unsigned)k + 1);
		while (f_event(1, &ev))
			;
		CHECK(f_clean(0) && f_clean(1));
		f_end();
	}
}

/* ---- who may say what ---- */

static void t_frames_of_others_are_not_believed(void)
{
	struct wire_hdr h = { .type = WIRE_PUT, .jid = C_JID, .src_nid = 10, .src_pid = 100, .src_uid = C_UID,
			      .dst_nid = 11, .dst_pid = 101, .pt = F_PT, .match_bits = 1, .md = WIRE_NO_MD };
	struct wire_hdr bad[6];
	uint8_t f[WIRE_HDR];

	f_start(2, &quiet);
	f_post(1, 1, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT);
	for (int i = 0; i < 6; i++)
		bad[i] = h;
	bad[0].src_nid++, bad[1].src_pid++, bad[2].src_uid++, bad[3].jid++, bad[4].dst_nid++, bad[5].dst_pid++;
	for (int i = 0; i < 6; i++) {
		wire_encode(&bad[i], f);
		CHECK(!fr_input(node[1].e, node[1].peer[0], f, sizeof(f)));
	}
	NO_EVENT(1);
	CHECK_INT(p3l_row(node[1].l, 0)->stats.corrupt, 6);
	wire_encode(&h, f);
	CHECK(fr_input(node[1].e, node[1].peer[0], f, sizeof(f)));
	CHECK(f_event(1, &(struct p3l_slot){ 0 }));
	f_end();
}

/* Frames that are well formed and lie about what they belong to. */
static void t_answers_to_nothing_end_the_link(void)
{
	struct wire_hdr h = { .jid = C_JID, .src_nid = 10, .src_pid = 100, .src_uid = C_UID, .dst_nid = 11,
			      .dst_pid = 101, .pt = F_PT, .md = 0 };
	uint8_t f[WIRE_HDR + 8];

	for (int i = 0; i < 6; i++) {
		struct wire_hdr x = h;

		memset(f, 0, sizeof(f));
		f_start(2, &quiet);
		switch (i) {
		case 0: x.type = WIRE_ACK; break;
		case 1: x.type = WIRE_REPLY; break;
		case 2: x.type = WIRE_DATA; x.paylen = 8; x.roffset = 8; break;
		case 3: x.type = WIRE_DATA; x.paylen = 8; x.roffset = 8; x.flags = WIRE_F_ANSWER; break;
		case 4: x.type = WIRE_GET; x.req = 1; break;	/* 0 is next */
		case 5: x.type = WIRE_PUT; x.req = 7; break;
		}
		wire_encode(&x, f);
		CHECK(!fr_input(node[1].e, node[1].peer[0], f, WIRE_HDR + x.paylen));
		NO_EVENT(1);
		CHECK(f_clean(1));
		f_end();
	}
}

/* ---- calls that come from another process, matching by one that is not the owner ---- */

static unsigned told[8];

static void count_end(void *arg, uint32_t token)
{
	(void)arg;
	told[token & 7]++;
}

static uint8_t posted[8][FR_COPY];

static uint8_t *own_room(void *arg, uint64_t len)
{
	(void)len;
	return arg;
}

/* Node 0 has its calls by fr_post(): @n bytes put, with an ack or not, got, or swapped, as call @token. */
static struct fr_req post(enum p3l_type type, struct p3l_ref md, uint64_t n, bool ack, uint32_t token, bool *there)
{
	struct p3l_hdr h = f_hdr(0, type, F_PT, 42);
	struct p3l_send s = { .md = md, .len = n, .match_bits = 42, .pt = F_PT };
	struct p3l_reply r = { .md = md, .mlength = n, .match_bits = 42, .pt = F_PT, .target_slot = 2 };
	struct p3l_env env = node[0].env;
	struct fr_req q = { 0 };
	int rc;

	h.ack = ack;
	h.md = md.idx;
	h.md_gen = md.gen;
	env.single = false;
	if (type == P3L_PUT)
		rc = fr_begin_put(&env, node[0].l, &h, &s, own_room, posted[token & 7], &q);
	else if (type == P3L_GET)
		rc = fr_begin_get(&env, node[0].l, &h, &r, &q);
	else
		rc = fr_begin_getput(&env, node[0].l, &h, &s, &r, own_room, posted[token & 7], &q);
	CHECK_INT(rc, PTL_OK);
	node[0].e->now = net.now;
	*there = fr_post(node[0].e, node[0].peer[1], &q, token);
	return q;
}

static void start_posting(unsigned n)
{
	f_start(n, &quiet);
	memset(told, 0, sizeof(told));
	node[0].e->ended = count_end;
	node[0].e->env.single = false;
}

static void part(void)
{
	fr_gone(node[0].e, node[0].peer[1]);
	fr_gone(node[1].e, node[1].peer[0]);
}

static void t_posted_calls_end_as_often_as_they_have_parts(void)
{
	static const struct { enum p3l_type type; uint64_t n; bool ack; } call[] = {
		{ P3L_PUT, 100, false }, { P3L_PUT, 100, true }, { P3L_PUT, 100000, false }, { P3L_PUT, 100000, true },
		{ P3L_GET, 8, false }, { P3L_GET, 100000, false }, { P3L_GETPUT, 8, false },
	};

	/* it arrives; nobody takes it; it has broken before; the connection breaks after any number of steps */
	for (int how = -2; how < 60; how++) {
		struct fr_req q[8];
		struct p3l_ref md;
		bool there;

		fill();
		start_posting(2);
		md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
		if (how != -1)
			f_post(1, 42, b, BIG, 100, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
		if (!how)
			part();
		for (uint32_t k = 0; k < 7; k++) {
			q[k] = post(call[k].type, md, call[k].n, call[k].ack, k + 8, &there);
			CHECK(there);
		}
		for (int i = 0; i < how; i++)
			loop_step(&net);
		if (how > 0)
			part();
		CHECK(f_run());
		for (uint32_t k = 0; k < 7; k++)
			if (told[k] != fr_parts(&q[k])) {
				diag("how %d: call %u has ended %u times of %u", how, k, told[k], fr_parts(&q[k]));
				atomic_fetch_add(&t_bad_, 1);
			}
		CHECK(!p3_load(&p3l_md(node[0].l, md.idx)->pending));
		CHECK(how < 0 || node[0].peer[1]->gone);
		f_end();
	}
}

enum { PARKED = 8 };
static uint8_t parked[PARKED][WIRE_HDR + FR_COPY];
static unsigned n_parked, most_parked;

static bool keep(struct fr_engine *e, struct fr_peer *p, const uint8_t *frame, uint32_t n)
{
	(void)e, (void)p;
	if (n_parked == most_parked)
		return false;
	memcpy(parked[n_parked++], frame, n);
	return true;
}

/* The owner of node 1 takes what is parked; how much stays. */
static unsigned owner_looks(void)
{
	struct p3l_env engine = node[1].e->env;
	unsigned left = 0;

	node[1].e->env = node[1].env;
	node[1].e->env.single = false;
	for (unsigned i = 0; i < n_parked; i++)
		if (left || !fr_parked(node[1].e, node[1].peer[0], parked[i]))
			memcpy(parked[left++], parked[i], sizeof(parked[i]));
	node[1].e->env = engine;
	n_parked = left;
	return left;
}

/* Not until all is quiet: who waits for an answer over a lossy link asks now and then. */
static void some(void)
{
	for (int i = 0; i < 500; i++)
		loop_step(&net);
}

static void t_polled_portals_are_left_to_their_owner(void)
{
	struct p3l_slot ev[4];
	struct p3l_ref md;

	fill();
	f_start(2, &quiet);
	n_parked = 0;
	most_parked = 3;
	node[1].l->n_slots = 2;			/* the engine is another process, in slot 1 */
	node[1].e->env.self = 2;
	node[1].e->env.single = false;
	node[1].e->park = keep;
	CHECK(p3l_pt_polled_set(&node[1].env, node[1].l, F_PT, true));
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, PTL_RETAIN,
		    true);
	f_post_at(1, F_PT + 1, 7, b + 1000, 100, 10, PTL_MD_OP_PUT, true);

	/* what is for it waits; what is for another portal does not, nor for the first one's turn */
	CHECK_INT(f_put(0, 1, md, 10, true, 42, 1), PTL_OK);
	CHECK_INT(f_put(0, 1, md, 10, false, 42, 2), PTL_OK);
	CHECK_INT(f_put_at(0, 1, md, 0, 10, false, F_PT + 1, 7, 3, 0), PTL_OK);
	some();
	CHECK_INT(n_parked, 2);
	EVENTS(1, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
	CHECK(ev[1].hdr_data == 3);
	NO_EVENT(0);

	/* no entry: it stays, as in an inbox; then it is taken, in order, and acknowledged */
	CHECK_INT(owner_looks(), 2);
	f_post(1, 42, b, 100, 2, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	CHECK_INT(owner_looks(), 0);
	EVENTS(1, ev, PTL_EVENT_PUT_END, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
	CHECK(ev[0].hdr_data == 1 && ev[1].hdr_data == 2 && ev[0].mlength == 10);
	CHECK(!memcmp(a, b, 10) && !memcmp(a, b + 10, 10));
	fr_writable(node[1].e, node[1].peer[0]);
	some();
	EVENTS(0, ev, PTL_EVENT_ACK);
	CHECK_INT(ev[0].mlength, 10);

	/* too many: refused, and sent again when there is room */
	f_post(1, 42, b, BIG, 5, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	for (uint64_t k = 0; k < 5; k++)
		CHECK_INT(f_put(0, 1, md, 10, false, 42, k), PTL_OK);
	some();
	CHECK_INT(n_parked, 3);
	CHECK_INT(owner_looks(), 0);
	some();
	CHECK_INT(n_parked, 2);
	CHECK_INT(owner_looks(), 0);
	for (uint64_t k = 0; k < 5; k++) {
		EVENTS(1, ev, PTL_EVENT_PUT_END);
		CHECK(ev[0].hdr_data == k);
	}
	CHECK(f_event(1, ev) && ev[0].kind_fail == PTL_EVENT_UNLINK);

	/* longer than an inbox takes: dropped; and behind one that waits nothing overtakes when polling ends */
	CHECK_INT(f_put(0, 1, md, FR_COPY + 1, false, 42, 9), PTL_OK);
	some();
	CHECK_INT(n_parked, 0);
	CHECK(node[1].peer[0]->dropped);
	CHECK_INT(f_put(0, 1, md, 10, false, 42, 10), PTL_OK);
	some();
	CHECK_INT(n_parked, 1);
	p3l_pt_polled_set(&node[1].env, node[1].l, F_PT, false);
	f_post(1, 42, b, 100, 2, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	CHECK_INT(f_put(0, 1, md, 10, false, 42, 11), PTL_OK);
	some();
	NO_EVENT(1);
	CHECK_INT(owner_looks(), 0);
	EVENTS(1, ev, PTL_EVENT_PUT_END, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
	CHECK(ev[0].hdr_data == 10 && ev[1].hdr_data == 11);
	f_end();
}

/* In the other mover's place: nothing is parked but what finds no room, and what is behind that. */
static void t_an_owner_runs_the_engine(void)
{
	struct p3l_env own;
	struct p3l_slot ev[4];
	struct p3l_ref md;

	fill();
	f_start(2, &quiet);
	own = node[1].env;
	own.single = false;
	n_parked = 0;
	most_parked = PARKED;
	node[1].l->n_slots = 2;
	node[1].e->env.self = 2;
	node[1].e->env.single = false;
	node[1].e->park = keep;
	node[1].e->owner = &own;
	CHECK(p3l_pt_polled_set(&node[1].env, node[1].l, F_PT, true));
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, PTL_RETAIN,
		    true);
	f_post(1, 42, b, 30, 2, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	CHECK_INT(f_put(0, 1, md, 10, true, 42, 1), PTL_OK);
	CHECK_INT(f_put(0, 1, md, 10, false, 42, 2), PTL_OK);
	some();
	CHECK_INT(n_parked, 0);
	EVENTS(1, ev, PTL_EVENT_PUT_END, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
	CHECK(ev[0].hdr_data == 1 && ev[1].hdr_data == 2);
	CHECK(!memcmp(a, b, 10) && !memcmp(a, b + 10, 10));
	EVENTS(0, ev, PTL_EVENT_ACK);
	CHECK_INT(node[1].e->env.self, 2);	/* it is the other mover's again */

	/* no entry: it waits, and the next one, which would fit, behind it */
	CHECK_INT(f_put(0, 1, md, 10, true, 43, 3), PTL_OK);
	some();
	CHECK_INT(n_parked, 1);
	f_post(1, 44, b, 30, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	CHECK_INT(f_put(0, 1, md, 10, true, 44, 4), PTL_OK);
	some();
	CHECK_INT(n_parked, 2);
	NO_EVENT(1);
	f_post(1, 43, b, 30, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	CHECK_INT(owner_looks(), 0);
	EVENTS(1, ev, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
	CHECK(ev[0].hdr_data == 3 && ev[2].hdr_data == 4);
	fr_writable(node[1].e, node[1].peer[0]);
	some();
	EVENTS(0, ev, PTL_EVENT_ACK, PTL_EVENT_ACK);
	CHECK(fr_idle(node[0].peer[1]) && fr_idle(node[1].peer[0]));
	f_end();
}

/* A last word ends what was under way there, as a broken connection does. */
static void t_who_says_goodbye_is_gone(void)
{
	struct wire_hdr h = { .type = WIRE_NOP, .flags = WIRE_F_BYE, .md = WIRE_NO_MD, .jid = C_JID, .src_nid = 10,
			      .src_pid = 100, .src_uid = C_UID, .dst_nid = 11, .dst_pid = 101 };
	uint8_t f[WIRE_HDR];

	f_start(2, &quiet);
	wire_encode(&h, f);
	CHECK(fr_input(node[1].e, node[1].peer[0], f, sizeof(f)));
	CHECK(node[1].peer[0]->gone);
	f_end();
}

/* ---- as a kernel uses it: pages that are not there yet, short frames ---- */

static unsigned refuse, asked;		/* so many questions are answered with no; how many there were */
static bool refuse_to;			/* those about writing, or about reading */

static bool not_yet(struct fr_engine *e, bool to, uint64_t addr, uint64_t len, uint64_t ahead)
{
	if (to != refuse_to)
		return true;
	asked++;
	if (!refuse)
		return true;
	refuse--;
	return false;
}

static void refuse_at(unsigned i, bool to, unsigned n)
{
	node[0].e->there = node[1].e->there = NULL;
	node[i].e->there = not_yet;
	refuse_to = to;
	refuse = n;
	asked = 0;
}

/* Until all is done, links that wait for a page included. (Whoever waits for an answer asks again and again.) */
static bool run_on(void)
{
	for (unsigned k = 0; k < 1000; k++) {
		bool more = true;

		for (unsigned i = 0; i < 200 && more; i++)
			more = loop_step(&net);
		if (!more && !node[0].peer[1]->stuck && !node[1].peer[0]->stuck)
			return true;
		fr_writable(node[0].e, node[0].peer[1]);
		fr_writable(node[1].e, node[1].peer[0]);
	}
	return false;
}

/* Each frame's bytes are refused some times: where it is read, and where it is written. */
static void t_what_is_not_there_yet_comes_later(void)
{
	for (unsigned k = 0; k < 4 * N_SIZES; k++) {
		uint64_t n = sizes[k / 4];
		bool get = k & 1, at_initiator = k & 2;
		struct p3l_slot ev[4];
		struct p3l_ref md;

		fill();
		f_start(2, &quiet);
		md = f_bind(0, get ? b : a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, PTL_RETAIN, true);
		f_post(1, 42, get ? a : b, BIG, 1, PTL_MD_EVENT_START_DISABLE |
		       (get ? PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE : PTL_MD_OP_PUT));
		refuse_at(!at_initiator, get == at_initiator, 3);
		if (get)
			CHECK_INT(f_get(0, 1, md, 0, n, 42, 0), PTL_OK);
		else
			CHECK_INT(f_put(0, 1, md, n, false, 42, 0), PTL_OK);
		CHECK(run_on());
		if (n && (get || !at_initiator || n > FR_COPY))
			CHECK(asked > 3 && !refuse);
		EVENTS(1, ev, get ? PTL_EVENT_GET_END : PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
		EVENTS(0, ev, get ? PTL_EVENT_REPLY_END : PTL_EVENT_SEND_END);
		CHECK(!memcmp(a, b, n) && b[n] == 0xee);
		NO_EVENT(0);
		CHECK(f_clean(0) && f_clean(1));
		f_end();
	}
}

/* Two frames of a message on its way: until the first is owed. */
static void until_owed(void)
{
	for (unsigned i = 0; i < 100 && !fr_owed(node[1].peer[0]); i++)
		loop_step(&net);
	CHECK(fr_owed(node[1].peer[0]));
}

static void t_nothing_is_copied_before_all_is_there(void)
{
	struct p3l_slot ev[4];
	struct p3l_ref md;

	fill();
	f_start(2, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	f_post(1, 42, b, BIG, 1, PTL_MD_OP_PUT);
	refuse_at(1, true, 2);
	CHECK_INT(f_put(0, 1, md, 100, false, 42, 0), PTL_OK);
	until_owed();
	fr_piece(node[1].e, node[1].peer[0], a, 100);		/* refused again */
	CHECK(fr_owed(node[1].peer[0]) && b[0] == 0xee && b[99] == 0xee);
	EVENTS(1, ev, PTL_EVENT_PUT_START);
	NO_EVENT(1);
	b[0] = 1;
	fr_piece(node[1].e, node[1].peer[0], a, 100);
	CHECK(!fr_owed(node[1].peer[0]) && !memcmp(a, b, 100) && b[100] == 0xee);
	EVENTS(1, ev, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
	b[0] = (uint8_t)~a[0];		/* it is the target's now: what comes twice is not copied again */
	node[1].e->now = net.now;
	CHECK(f_run());
	CHECK_INT(b[0], (uint8_t)~a[0]);
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

static void t_an_exchange_waits_for_its_page(void)
{
	uint64_t word = 7, want = 9, old = 0;
	struct p3l_slot ev[4];
	struct p3l_ref get, put;

	f_start(2, &quiet);
	get = f_bind(0, &old, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, PTL_RETAIN, true);
	put = f_bind(0, &want, 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	f_post(1, 1, &word, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
	       PTL_MD_EVENT_START_DISABLE);
	refuse_at(1, true, 2);
	CHECK_INT(f_getput(0, 1, get, put, 8, 1, 0), PTL_OK);
	until_owed();
	CHECK_INT(word, 7);
	CHECK_INT(node[1].e->ops, 1);
	word = 8;					/* by its owner, meanwhile */
	CHECK(f_run());
	CHECK(word == 9 && old == 8);
	EVENTS(0, ev, PTL_EVENT_REPLY_END);
	EVENTS(1, ev, PTL_EVENT_GETPUT_END);
	refuse_at(1, true, 1000);
	CHECK_INT(f_step(0, 1, P3L_FETCH + PTL_ATOMIC_ADD_NP, get, put, 8, 1, 0, 0), PTL_OK);
	until_owed();
	fr_gone(node[1].e, node[1].peer[0]);		/* and its peer goes */
	EVENTS(1, ev, PTL_EVENT_GETPUT_END | PTL_NI_DIED_NP << 4);
	CHECK_INT(node[1].e->ops, 0);
	fr_piece(node[1].e, node[1].peer[0], (uint8_t *)&want, 8);
	CHECK_INT(word, 9);
	NO_EVENT(1);
	f_end();
}

/* A frame that waits for a page keeps the frames behind it, and not the news that its sender is there. */
static void t_who_waits_for_a_page_still_answers(void)
{
	struct p3l_slot ev[4];
	struct p3l_ref md;
	uint32_t heard;

	fill();
	f_start(2, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, PTL_RETAIN, true);
	f_post(1, 42, b, BIG, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	refuse_at(0, false, 1000000);
	CHECK_INT(f_put(0, 1, md, BIG, false, 42, 0), PTL_OK);
	CHECK(node[0].peer[1]->stuck && !node[0].peer[1]->blocked);
	heard = node[1].peer[0]->heard;
	fr_ask(node[1].e, node[1].peer[0]);
	for (unsigned i = 0; i < 50; i++)
		loop_step(&net);
	CHECK(node[0].peer[1]->stuck);
	CHECK_INT(node[1].peer[0]->heard, heard + 1);
	NO_EVENT(1);
	refuse = 0;
	CHECK(run_on());
	EVENTS(0, ev, PTL_EVENT_SEND_END);
	EVENTS(1, ev, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
	CHECK(!memcmp(a, b, BIG));
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

static void t_a_peer_goes_whose_frame_is_owed(void)
{
	struct p3l_slot ev[4];
	struct p3l_ref md;

	fill();
	f_start(2, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	f_post(1, 42, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	refuse_at(1, true, 1000000);
	CHECK_INT(f_put(0, 1, md, 100, false, 42, 0), PTL_OK);
	until_owed();
	fr_bye(node[0].e, node[0].peer[1]);
	for (unsigned i = 0; i < 100 && !node[1].peer[0]->gone; i++)
		loop_step(&net);
	CHECK(node[1].peer[0]->gone);
	EVENTS(1, ev, PTL_EVENT_PUT_END | PTL_NI_DIED_NP << 4);
	CHECK_INT(node[1].e->ops, 0);
	fr_piece(node[1].e, node[1].peer[0], a, 100);
	CHECK(b[0] == 0xee);
	NO_EVENT(1);
	f_end();
}

static void t_frames_are_as_short_as_is_said(void)
{
	static const uint32_t most[] = { FR_SMALL, 1344 };
	static const uint64_t len[] = { 0, 1, 255, 256, 257, 1344, 5000, 70000 };
	static const struct loop_inject bad = { .delay_ns = 1000, .loss = 50, .dup = 50, .reorder = 50, .seed = 3 };

	for (unsigned k = 0; k < 32; k++) {
		const struct loop_inject *inject = k & 1 ? &bad : &quiet;
		uint64_t n = len[k / 4], before;
		uint32_t m = most[k / 2 % 2];
		struct p3l_slot ev[4];
		struct p3l_ref md;

		fill();
		f_start(2, inject);
		node[0].e->most = node[1].e->most = m;
		md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
			    PTL_RETAIN, true);
		f_post(1, 42, b, BIG, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
		before = node[0].e->stats.frames_out;
		CHECK_INT(f_put(0, 1, md, n, true, 42, 0), PTL_OK);
		CHECK(f_run());
		CHECK(node[0].e->stats.frames_out - before >= (n + m - 1) / m);
		EVENTS(1, ev, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
		EVENTS(0, ev, PTL_EVENT_ACK);
		CHECK(!memcmp(a, b, n) && b[n] == 0xee);
		CHECK(f_clean(0) && f_clean(1));
		f_end();
	}
}

static void t_a_portal_that_refuses(void)
{
	static unsigned long refuses[2] = { 1ul << F_PT };
	struct p3l_slot ev[4];
	struct p3l_ref md;

	fill();
	f_start(2, &quiet);
	node[1].e->refuses = refuses;
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	CHECK_INT(f_get(0, 1, md, 0, 8, 1, 0), PTL_OK);		/* is dropped */
	CHECK(f_run());
	CHECK_INT(p3l_row(node[1].l, 0)->stats.drop_count, 1);
	CHECK_INT(f_put(0, 1, md, 10, false, 1, 0), PTL_OK);
	for (int i = 0; i < 200; i++)
		loop_step(&net);
	CHECK(node[1].e->stats.busy > 1);
	NO_EVENT(1);
	f_post(1, 1, b, BIG, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);
	CHECK(f_run());
	EVENTS(1, ev, PTL_EVENT_PUT_END);
	CHECK(!memcmp(a, b, 10));
	f_end();
}

/* A put as a kernel makes it: the bytes are read with nothing held. */
static void reserved_put(struct p3l_ref md, uint64_t len, bool fault, bool gone)
{
	struct fr_req q = { .type = WIRE_PUT, .h = f_hdr(0, P3L_PUT, F_PT, 42) };
	struct p3l_send s = { .md = md, .len = len, .match_bits = 42, .pt = F_PT };
	struct fr_msg *m = fr_reserve(node[0].e, node[0].peer[1], len);

	if (!CHECK(m))
		return;
	CHECK(len > FR_COPY ? !m->buf : m->buf != NULL);
	CHECK_INT(p3l_send_begin(&node[0].env, node[0].l, &s), PTL_OK);
	if (gone)
		fr_gone(node[0].e, node[0].peer[1]);
	q.h.rlength = q.len = s.len;
	q.buf = m->buf;
	q.send = s;
	q.sending = !q.buf;
	m->fault = fault;
	if (q.buf) {
		memcpy(q.buf, a, len);
		p3l_send_end(&node[0].env, node[0].l, &s, fault ? PTL_NI_FAULT_NP : PTL_NI_OK);
	}
	node[0].e->now = net.now;
	fr_give(node[0].e, node[0].peer[1], m, &q);
}

static void t_messages_that_were_reserved(void)
{
	struct fr_msg *m, *all = NULL;
	struct p3l_slot ev[4];
	struct p3l_ref md;

	fill();
	f_start(2, &quiet);
	md = f_bind(0, a, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, PTL_RETAIN, true);
	f_post(1, 42, b, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE | PTL_MD_MANAGE_REMOTE);
	for (unsigned k = 0; k < N_SIZES; k++) {
		reserved_put(md, sizes[k], false, false);
		CHECK(f_run());
		EVENTS(0, ev, PTL_EVENT_SEND_END);
		EVENTS(1, ev, PTL_EVENT_PUT_END);
		CHECK(!memcmp(a, b, sizes[k]) && b[sizes[k]] == 0xee);
	}
	reserved_put(md, 1000, true, false);
	CHECK(f_run());
	EVENTS(0, ev, PTL_EVENT_SEND_END | PTL_NI_FAULT_NP << 4);
	EVENTS(1, ev, PTL_EVENT_PUT_END | PTL_NI_FAULT_NP << 4);
	while ((m = fr_reserve(node[0].e, node[0].peer[1], 8)) != NULL) {
		m->next = all;
		all = m;
	}
	CHECK(node[0].peer[1]->full);
	while ((m = all) != NULL) {
		all = m->next;
		fr_unreserve(node[0].e, node[0].peer[1], m);
	}
	CHECK(f_clean(0) && f_clean(1));
	reserved_put(md, 20000, false, true);
	EVENTS(0, ev, PTL_EVENT_SEND_END | PTL_NI_DIED_NP << 4);
	CHECK_INT(f_free_msgs(0), FR_MSGS);
	f_end();
}

static unsigned stepped;

static bool own_step(struct fr_engine *e, uint32_t type, uint64_t addr, uint8_t *buf, uint64_t len, uint64_t whole,
		     uint64_t operand)
{
	stepped++;
	return p3l_step(type, (uint8_t *)(uintptr_t)addr, buf, len, whole, operand);
}

static void t_a_step_is_its_owners(void)
{
	uint64_t word = 7, want = 9, old = 0;
	struct p3l_ref get, put;

	f_start(2, &quiet);
	node[1].e->step = own_step;
	stepped = 0;
	get = f_bind(0, &old, 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	put = f_bind(0, &want, 8, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	f_post(1, 1, &word, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
	CHECK_INT(f_getput(0, 1, get, put, 8, 1, 0), PTL_OK);
	CHECK(f_run());
	CHECK(stepped == 1 && word == 9 && old == 7);
	f_end();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_put_of_every_size), T(t_get_of_every_size), T(t_swap_is_answered_with_the_old_bytes),
		T(t_to_itself),
		T(t_what_is_too_long_is_cut_and_the_rest_swallowed), T(t_a_dropped_request_gives_its_number_back),
		T(t_more_requests_than_numbers), T(t_full_means_nothing_has_happened),
		T(t_a_queue_grows_and_is_shared_out),
		T(t_busy_targets_get_it_later_and_in_order), T(t_gets_of_a_polled_portal_are_dropped),
		T(t_no_more_records_than_are_ours), T(t_memory_that_is_not_there),
		T(t_what_was_under_way_ends_with_a_failure), T(t_an_ack_that_will_not_come_fails),
		T(t_a_reply_that_is_cut_off),
		T(t_others_go_on_when_one_is_cut), T(t_a_connection_breaks_at_each_frame),
		T(t_an_atomic_operation_is_made_once),
		T(t_frames_of_others_are_not_believed), T(t_answers_to_nothing_end_the_link),
		T(t_posted_calls_end_as_often_as_they_have_parts), T(t_polled_portals_are_left_to_their_owner),
		T(t_posted_calls_end_as_often_as_they_have_parts), T(t_an_owner_runs_the_engine),
		T(t_who_says_goodbye_is_gone), T(t_what_is_not_there_yet_comes_later),
		T(t_nothing_is_copied_before_all_is_there), T(t_an_exchange_waits_for_its_page),
		T(t_who_waits_for_a_page_still_answers),
		T(t_a_peer_goes_whose_frame_is_owed), T(t_frames_are_as_short_as_is_said), T(t_a_portal_that_refuses),
		T(t_messages_that_were_reserved), T(t_a_step_is_its_owners), { 0 }
	};

	return t_run(cases);
}

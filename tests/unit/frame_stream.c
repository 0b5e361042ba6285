/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * frame_stream.c - long messages over a link that takes several frames, reads them where they stand, and brings them
 * in pieces: memory that is not there, lists of memory, truncation, an end in between
 *
 * The net cuts and batches by chance; each case is repeated. frame_random.c has the traffic. Options: --seed N.
 */
#include "../common/tap.h"
#include "frame_env.h"

#define LEN 700000U
#define TIMES 20U

static uint8_t a[LEN], b[LEN + 64];
static uint64_t seed = 1;

static bool not_in_hole(const void *at, size_t n)
{
	return (uintptr_t)at >= f_hole_to || (uintptr_t)at + n <= f_hole_from;
}

static void start(unsigned k)
{
	struct loop_inject in = { .stream = true, .seed = seed + k, .room = 1 + k % 9 };

	f_start(2, &in);
	net.there = not_in_hole;
	for (uint32_t i = 0; i < LEN; i++)
		a[i] = (uint8_t)(i * 2654435761u >> 13);
	memset(b, 0xee, sizeof(b));
}

static void stop(void)
{
	f_hole_from = f_hole_to = 0;
	CHECK(f_clean(0) && f_clean(1));
	f_end();
}

/* The next event of node @i is @kind, with @fail. */
static bool next_is(unsigned i, unsigned kind, unsigned fail, struct p3l_slot *ev)
{
	if (!CHECK(f_event(i, ev)))
		return false;
	return CHECK_INT(ev->kind_fail & 15, kind) && CHECK_INT(ev->kind_fail >> 4, fail);
}

#define QUIET PTL_MD_EVENT_START_DISABLE
#define TAKES (PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | QUIET)

/* Wherever it is, at either end: both ends of a put hear of it, no byte behind the MD is touched, and the next one is
 * whole. */
static void t_a_hole_is_a_fault_of_one_message(void)
{
	static const uint32_t at[] = { 0, 1, 100000, 400000, LEN - FR_TAIL - 1, LEN - FR_TAIL, LEN - 1 };
	struct p3l_slot ev;

	for (unsigned k = 0; k < TIMES * 7; k++) {
		bool here = k / 7 % 2;
		struct p3l_ref md;

		start(k);
		md = f_bind(0, a, LEN, PTL_MD_THRESH_INF, QUIET, PTL_RETAIN, true);
		f_post(1, 1, b, LEN, PTL_MD_THRESH_INF, TAKES);
		f_hole_from = (uintptr_t)(here ? b : a) + at[k % 7];
		f_hole_to = f_hole_from + 1;
		CHECK_INT(f_put(0, 1, md, LEN, true, 1, 0), PTL_OK);
		CHECK(f_run());
		if (!next_is(1, PTL_EVENT_PUT_END, PTL_NI_FAULT_NP, &ev) ||
		    !next_is(0, PTL_EVENT_SEND_END, here ? PTL_NI_OK : PTL_NI_FAULT_NP, &ev))
			diag("hole at %u of the %s", at[k % 7], here ? "target" : "initiator");
		CHECK(!f_event(0, &ev) && !f_event(1, &ev));	/* no ack for what has not arrived */
		CHECK(b[LEN] == 0xee);
		f_hole_from = f_hole_to = 0;
		CHECK_INT(f_put(0, 1, md, LEN, true, 1, 0), PTL_OK);
		CHECK(f_run());
		next_is(1, PTL_EVENT_PUT_END, PTL_NI_OK, &ev);
		next_is(0, PTL_EVENT_SEND_END, PTL_NI_OK, &ev);
		next_is(0, PTL_EVENT_ACK, PTL_NI_OK, &ev);
		CHECK(!memcmp(a, b, LEN));
		stop();
	}
}

/* A reply likewise: its reader hears of it by the REPLY_END. */
static void t_a_hole_in_what_is_got(void)
{
	struct p3l_slot ev;

	for (unsigned k = 0; k < TIMES; k++) {
		struct p3l_ref md;

		start(k);
		md = f_bind(0, a, LEN, PTL_MD_THRESH_INF, QUIET, PTL_RETAIN, true);
		f_post(1, 1, b, LEN, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | QUIET);
		f_hole_from = (uintptr_t)b + 300000;
		f_hole_to = f_hole_from + 4096;
		CHECK_INT(f_get(0, 1, md, 0, LEN, 1, 0), PTL_OK);
		CHECK(f_run());
		next_is(0, PTL_EVENT_REPLY_END, PTL_NI_FAULT_NP, &ev);
		next_is(1, PTL_EVENT_GET_END, PTL_NI_FAULT_NP, &ev);
		stop();
	}
}

/* A descriptor of a list: bound at node 0, or behind an entry of node 1. */
static struct p3l_ref list(unsigned i, const struct p3l_iov *v, unsigned n, unsigned options)
{
	ptl_md_t md = c_md((uintptr_t)v, n, PTL_MD_THRESH_INF, options | PTL_MD_IOVEC | QUIET);
	struct p3l_md_args arg = c_args(&md, &node[i].eq_ref);
	struct p3l_ref me, out;

	arg.iov = v;
	if (i ? p3l_me_attach(&node[i].env, node[i].l, F_PT, C_ANY, 1, 0, PTL_UNLINK, PTL_INS_AFTER, &me) ||
		p3l_md_attach(&node[i].env, node[i].l, me, &arg, PTL_UNLINK, &out) :
		p3l_md_bind(&node[i].env, node[i].l, &arg, PTL_RETAIN, &out))
		bail("no descriptor of a list");
	return out;
}

/* A region of many pieces, in both directions, at an offset of both. */
static void t_lists_of_memory(void)
{
	static struct p3l_iov from[14], to[12];
	struct p3l_slot ev;
	uint8_t *at;

	for (unsigned k = 0; k < TIMES; k++) {
		uint64_t len = 0;
		struct p3l_ref md;

		start(k);
		at = a;
		for (unsigned i = 0; i < 14; i++, at += 49000)	/* holes of some bytes between them, and a short one */
			from[i] = (struct p3l_iov){ (uintptr_t)at, i == 7 ? 3 : 48000 + i };
		for (unsigned i = 0; i < 14; i++)
			len += from[i].len;
		at = b;
		for (unsigned i = 0; i < 12; i++, at += 58000)
			to[i] = (struct p3l_iov){ (uintptr_t)at, 57900 + i };
		md = list(0, from, 14, 0);
		list(1, to, 12, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
		CHECK_INT(f_put_at(0, 1, md, 5, len - 5, false, F_PT, 1, 0, 11), PTL_OK);
		CHECK(f_run());
		next_is(1, PTL_EVENT_PUT_END, PTL_NI_OK, &ev);
		CHECK_INT(ev.mlength, len - 5);
		for (uint64_t n = 5, i = 0, x = 5, j = 0, y = 11; n < len; n++, x++, y++) {
			for (; x == from[i].len; i++)
				x = 0;
			for (; y == to[j].len; j++)
				y = 0;
			if (!CHECK(((uint8_t *)(uintptr_t)to[j].base)[y] == ((uint8_t *)(uintptr_t)from[i].base)[x]))
				break;
		}
		for (unsigned j = 0; j < 12; j++)
			CHECK(((uint8_t *)(uintptr_t)to[j].base)[to[j].len] == 0xee);
		stop();
	}
}

/* What has no place is taken off the link, and dropped. */
static void t_truncated(void)
{
	struct p3l_slot ev;

	for (unsigned k = 0; k < TIMES; k++) {
		uint64_t room = 1 + (k * 37123) % (LEN - 1);
		struct p3l_ref md;

		start(k);
		md = f_bind(0, a, LEN, PTL_MD_THRESH_INF, QUIET, PTL_RETAIN, true);
		f_post(1, 1, b, room, PTL_MD_THRESH_INF, TAKES | PTL_MD_TRUNCATE);
		CHECK_INT(f_put(0, 1, md, LEN, false, 1, 0), PTL_OK);
		CHECK_INT(f_put(0, 1, md, LEN, false, 2, 0), PTL_OK);	/* nobody wants it */
		CHECK_INT(f_put(0, 1, md, 10, false, 1, 0), PTL_OK);
		CHECK(f_run());
		next_is(1, PTL_EVENT_PUT_END, PTL_NI_OK, &ev);
		CHECK_INT(ev.mlength, room);
		CHECK(!memcmp(a, b, room) && b[room] == 0xee);
		next_is(1, PTL_EVENT_PUT_END, PTL_NI_OK, &ev);
		CHECK_INT(ev.mlength, room < 10 ? room : 10);
		stop();
	}
}

/* The connection ends amid a frame: as any other message that was under way. */
static void t_the_end_comes_between_two_pieces(void)
{
	struct p3l_slot ev;
	unsigned amid = 0;

	for (unsigned k = 0; k < TIMES; k++) {
		struct p3l_ref md;

		start(k);
		md = f_bind(0, a, LEN, PTL_MD_THRESH_INF, QUIET, PTL_RETAIN, true);
		f_post(1, 1, b, LEN, PTL_MD_THRESH_INF, TAKES);
		CHECK_INT(f_put(0, 1, md, LEN, true, 1, 0), PTL_OK);
		for (unsigned i = 0; !node[1].peer[0]->coming && i < 1000; i++)
			loop_step(&net);
		if (!node[1].peer[0]->coming) {		/* all its frames came whole */
			f_end();
			continue;
		}
		amid++;
		loop_cut(ends[0][1]);
		next_is(1, PTL_EVENT_PUT_END, PTL_NI_DIED_NP, &ev);
		next_is(0, PTL_EVENT_SEND_END, PTL_NI_DIED_NP, &ev);
		fr_piece(node[1].e, node[1].peer[0], a, 100);	/* a link that has not heard of it so far */
		CHECK(!fr_where(node[1].e, node[1].peer[0], &(struct wire_vec){ 0 }, 1));
		CHECK(f_run());
		stop();
	}
	CHECK(amid > TIMES / 2);
}

/* So many bytes and no more are under way, and several frames go at once. */
/*
 * A target says that it is busy, and its way back breaks, at any step: it says so again, else what was dropped there
 * would never be sent again, since the other way has lost nothing.
 */
static void t_busy_is_said_again_after_a_break(void)
{
	static const struct loop_inject in = { .stream = true, .seed = 1 };

	for (int k = 0; k < 40; k++) {
		struct loop_end *back;
		uint64_t out[2] = { 1, 2 }, got[2] = { 0 };
		struct p3l_ref md;

		f_start(2, &in);
		back = &ends[0][1][ends[0][1][0].from != node[1].e];
		md = f_bind(0, out, sizeof(out), PTL_MD_THRESH_INF, QUIET, PTL_RETAIN, false);
		node[1].l->polled[0] |= 1u << 5;
		f_post_at(1, F_PT, 1, &got[1], 8, PTL_MD_THRESH_INF, TAKES, true);
		CHECK_INT(f_put_at(0, 1, md, 0, 8, false, 5, 1, 0, 0), PTL_OK);
		CHECK_INT(f_put_at(0, 1, md, 8, 8, false, F_PT, 1, 0, 0), PTL_OK);
		for (int i = 0; i < k; i++)
			loop_step(&net);
		loop_renew(back);
		for (int i = 0; i < 20; i++)
			loop_step(&net);
		f_post_at(1, 5, 1, &got[0], 8, PTL_MD_THRESH_INF, TAKES, true);
		CHECK(f_run());
		if (!CHECK(got[0] == 1 && got[1] == 2))
			diag("its way back broke after %d steps", k);
		f_end();
	}
}

static void t_what_is_under_way_is_bounded(void)
{
	uint32_t most = 0;
	struct p3l_ref md;

	start(8);
	net.inject.room = 1000;
	md = f_bind(0, a, LEN, PTL_MD_THRESH_INF, QUIET | PTL_MD_EVENT_END_DISABLE, PTL_RETAIN, true);
	f_post(1, 1, b, LEN, PTL_MD_THRESH_INF, TAKES | PTL_MD_EVENT_END_DISABLE);
	for (unsigned i = 0; i < 20; i++)
		CHECK_INT(f_put(0, 1, md, LEN, false, 1, 0), PTL_OK);
	while (loop_step(&net))
		if (most < node[0].peer[1]->ch[0].flight)
			most = node[0].peer[1]->ch[0].flight;
	CHECK(most > FR_FLIGHT / 2 && most < FR_FLIGHT + WIRE_BULK);
	CHECK_INT(node[0].peer[1]->ch[0].flight, 0);
	CHECK(!memcmp(a, b, LEN));
	stop();
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		T(t_a_hole_is_a_fault_of_one_message), T(t_a_hole_in_what_is_got), T(t_lists_of_memory), T(t_truncated),
		T(t_the_end_comes_between_two_pieces), T(t_busy_is_said_again_after_a_break),
		T(t_what_is_under_way_is_bounded), { 0 }
	};

	if (argc > 2 && !strcmp(argv[1], "--seed"))
		seed = strtoull(argv[2], NULL, 0);
	diag("seed %llu", (unsigned long long)seed);
	return t_run(cases);
}

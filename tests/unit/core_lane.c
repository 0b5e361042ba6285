/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_lane.c - the inbox: messages of every shape round the ring many times, room, nonsense */
#include "tap.h"
#include "core_env.h"

static struct p3l_ni *ni;
static struct p3l_env env;
static struct p3l_lane_tx tx;
static uint64_t dirty[16];
static struct p3l_lane_hdr *lane;

static void fresh(void)
{
	struct p3l_setup s = c_setup();

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	env = c_env(0, false);
	memset(dirty, 0, sizeof(dirty));
	tx = (struct p3l_lane_tx){ .dirty = dirty };
	lane = p3l_lane(ni, 2);
}

static uint64_t seed;
static uint8_t bytes[P3L_LANE_MAX];

static uint32_t tails[1024];		/* line at which message no stands */

/* Payload as nasty as can be: at the start of each of its lines the word of a message a lap later. */
static void make_nasty(const struct p3l_hdr *h, uint64_t no)
{
	uint32_t hdr = 8 + 8 * (!!h->match_bits + !!h->hdr_data + !!h->roffset + !!h->ack + !!h->ac);

	for (uint32_t j = 1; 64 * j + 4 <= hdr + h->rlength; j++) {
		uint32_t w = p3l_word(P3L_W_FULL, tails[no % 1024] + j + ni->lane_lines);

		memcpy(bytes + 64 * j - hdr, &w, 4);
	}
}

static void place(uint64_t no, const struct p3l_hdr *h)
{
	uint32_t hdr = 8 + 8 * (!!h->match_bits + !!h->hdr_data + !!h->roffset + !!h->ack + !!h->ac);
	uint32_t lines = (hdr + (uint32_t)h->rlength + 63) / 64, to_end = ni->lane_lines - tx.tail % ni->lane_lines;

	tails[no % 1024] = tx.tail + (lines > to_end ? to_end : 0);
	make_nasty(h, no);
}

static struct p3l_hdr message(uint64_t no, uint64_t max)
{
	uint64_t s = no * 77 + seed;
	struct p3l_hdr h = c_hdr(P3L_PUT, 2, (uint32_t)(no % 16), c_random(&s) % 3 ? c_random(&s) : 0, 0);

	h.rlength = c_random(&s) % 4 ? c_random(&s) % 65 : c_random(&s) % (max + 1);
	h.hdr_data = c_random(&s) % 3 ? c_random(&s) : 0;
	h.roffset = c_random(&s) % 3 ? 0 : c_random(&s);
	h.ac = c_random(&s) % 5 ? 0 : 1;
	h.ack = c_random(&s) % 4 == 0;
	h.md = h.ack ? 77 : 0;
	h.md_gen = h.ack ? 5 : 0;
	for (uint64_t i = 0; i < h.rlength; i++)	/* payload that looks like sequence words */
		bytes[i] = (uint8_t)(c_random(&s) % 5 ? no + i : no + 1);
	return h;
}

static bool take(uint64_t no, uint64_t max)
{
	struct p3l_hdr want = message(no, max), got = { .src = 2, .nid = C_NID, .pid = 102, .uid = C_UID, .jid = C_JID };
	const void *data;
	int lines = p3l_lane_peek(ni, lane, &got, &data);

	if (lines <= 0)
		return false;
	CHECK_INT(got.match_bits, want.match_bits);
	CHECK_INT(got.hdr_data, want.hdr_data);
	CHECK_INT(got.roffset, want.roffset);
	CHECK_INT(got.rlength, want.rlength);
	CHECK_INT(got.pt, want.pt);
	CHECK_INT(got.ac, want.ac);
	CHECK_INT(got.ack, want.ack);
	CHECK_INT(got.md, want.md);
	CHECK_INT(got.md_gen, want.md_gen);
	CHECK_INT(got.type, P3L_PUT);
	make_nasty(&want, no);
	CHECK_MEM(data, bytes, want.rlength);
	p3l_lane_advance(ni, lane, (uint32_t)lines);
	p3l_lane_release(ni, lane);
	return true;
}

static void t_messages_come_out_as_they_went_in(void)
{
	static const uint64_t maxima[] = { 64, 300, 6000 };

	for (int k = 0; k < 3; k++) {
		uint64_t in = 0, out = 0, state = 1;

		fresh();
		seed = (uint64_t)k;
		while (out < 20000) {
			struct p3l_hdr h = message(in, maxima[k]);

			if (c_random(&state) % 3 && p3l_lane_room(ni, 2, &tx, h.rlength)) {
				place(in, &h);
				p3l_lane_put(ni, 2, &tx, &h, bytes, in % 2);
				in++;
				continue;
			}
			if (in == out) {
				CHECK(!take(out, maxima[k]));	/* nothing, whatever old payload says */
				REQUIRE(p3l_lane_room(ni, 2, &tx, h.rlength));
				continue;
			}
			CHECK(p3l_lane_ready(ni, lane) || lane->head != tx.tail);
			REQUIRE(take(out++, maxima[k]));
		}
		CHECK_INT(ni->lanes_used[0], 4);
	}
}

static void t_a_full_lane_has_no_room_and_loses_nothing(void)
{
	uint64_t in = 0, out = 0;

	fresh();
	for (int round = 0; round < 300; round++) {
		for (;;) {
			struct p3l_hdr h = message(in, 64);

			if (!p3l_lane_room(ni, 2, &tx, h.rlength))
				break;
			place(in, &h);
			p3l_lane_put(ni, 2, &tx, &h, bytes, in % 2);
			in++;
		}
		CHECK(in - out > ni->lane_lines / 4);
		CHECK(tx.tail - lane->head_pub <= ni->lane_lines);
		while (take(out, 64))
			out++;
		REQUIRE(in == out);
	}
}

static void t_line_numbers_wrap(void)
{
	uint64_t no = 0;

	fresh();
	lane->head = lane->head_pub = tx.tail = tx.head_seen = 0u - ni->lane_lines;
	for (int i = 0; i < 2000; i++) {
		struct p3l_hdr h = message(no, 300);

		REQUIRE(p3l_lane_room(ni, 2, &tx, h.rlength));
		place(no, &h);
		p3l_lane_put(ni, 2, &tx, &h, bytes, true);
		REQUIRE(take(no++, 300));
		CHECK(!p3l_lane_ready(ni, lane));
	}
	CHECK(lane->head < 1u << 20);
}

static void t_nonsense_is_refused(void)
{
	struct p3l_line *m;
	struct p3l_hdr h;
	const void *data;

	fresh();
	m = p3l_lane_line(ni, lane, 0);
	m->word = p3l_word(P3L_W_FULL, 0);
	m->len = P3L_LANE_MAX + 1;
	CHECK_INT(p3l_lane_peek(ni, lane, &h, &data), -1);
	m->len = 8;
	m->flags = 64;
	CHECK_INT(p3l_lane_peek(ni, lane, &h, &data), -1);
	m->flags = 0;
	CHECK_INT(p3l_lane_peek(ni, lane, &h, &data), 1);
	lane->head = ni->lane_lines - 1;
	m = p3l_lane_line(ni, lane, lane->head);
	m->word = p3l_word(P3L_W_FULL, lane->head);
	m->len = 57;				/* would go over the end */
	CHECK_INT(p3l_lane_peek(ni, lane, &h, &data), -1);
	m->len = 56;
	CHECK_INT(p3l_lane_peek(ni, lane, &h, &data), 1);
}

static void t_a_mark_never_hides_a_message(void)
{
	struct p3l_hdr h = message(1, 64);

	fresh();
	place(1, &h);
	CHECK(p3l_lane_mark(ni, lane, P3L_W_POLL));
	CHECK(!p3l_lane_ready(ni, lane));
	CHECK_INT(p3l_lane_put(ni, 2, &tx, &h, bytes, true), P3L_W_POLL);
	CHECK(!p3l_lane_mark(ni, lane, P3L_W_AWAY));
	REQUIRE(take(1, 64));
	CHECK(p3l_lane_mark(ni, lane, P3L_W_AWAY));
	h = message(2, 64);
	place(2, &h);
	CHECK_INT(p3l_lane_put(ni, 2, &tx, &h, bytes, true), P3L_W_AWAY);
	h = message(3, 64);
	place(3, &h);
	CHECK_INT(p3l_lane_put(ni, 2, &tx, &h, bytes, true), 0);
	CHECK(!p3l_lane_mark(ni, lane, P3L_W_POLL));
	REQUIRE(take(2, 64));
	REQUIRE(take(3, 64));
}

static void t_one_consumer_at_a_time(void)
{
	struct p3l_env other = c_env(2, false);

	fresh();
	CHECK(p3l_lane_lock(&env, ni, lane, true));
	CHECK(!p3l_lane_lock(&other, ni, lane, false));
	p3l_lane_unlock(lane);
	CHECK(p3l_lane_lock(&other, ni, lane, false));
	CHECK_INT(lane->lock, 3);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_messages_come_out_as_they_went_in),
					       T(t_a_full_lane_has_no_room_and_loses_nothing), T(t_line_numbers_wrap),
					       T(t_nonsense_is_refused), T(t_a_mark_never_hides_a_message), T(t_one_consumer_at_a_time), { 0 } };

	return t_run(cases);
}

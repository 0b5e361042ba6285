/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_lane.c - the inbox: messages of every shape round the ring many times, room, nonsense */
#include "../common/tap.h"
#include "core_env.h"

static struct p3l_ni *ni;
static struct p3l_env env;
static struct p3l_lane_tx tx;
static struct p3l_lane_hdr *lane;

static void fresh(void)
{
	struct p3l_setup s = c_setup();

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	env = c_env(0, false);
	tx = (struct p3l_lane_tx){ 0 };
	lane = p3l_lane(ni, 2);
}

static uint64_t seed;
static uint8_t bytes[P3L_LANE_MAX];

/* The number in each word is that of its line in the last lap: payload, marks and the end of the ring do not change that. */
static void check_words(void)
{
	uint32_t first = tx.tail < ni->lane_lines ? 0 : tx.tail - ni->lane_lines;

	for (uint32_t n = first; n != tx.tail; n++) {
		uint32_t w = p3l_lane_line(ni, lane, n)->word;

		if (w != p3l_word(P3L_W_FULL, n) && w != p3l_word(P3L_W_MORE, n))
			CHECK_INT(w, n);
	}
}

static uint32_t put(const struct p3l_hdr *h, bool ask)
{
	uint32_t was = p3l_lane_put(ni, 2, &tx, h, bytes, ask);

	check_words();
	return was;
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
	for (uint64_t i = 0; i < h.rlength; i++)
		bytes[i] = (uint8_t)(c_random(&s) % 5 ? no + i : no + 1);
	return h;
}

static bool take(uint64_t no, uint64_t max)
{
	struct p3l_hdr want = message(no, max), got = { .src = 2, .nid = C_NID, .pid = 102, .uid = C_UID, .jid = C_JID };
	static uint8_t in[P3L_LANE_MAX];
	struct p3l_data data;
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
	memset(in, 0xa5, sizeof(in));
	p3l_data_read(&data, in, want.rlength);
	CHECK_MEM(in, bytes, want.rlength);
	CHECK(want.rlength == sizeof(in) || in[want.rlength] == 0xa5);
	if (want.rlength > 3) {			/* cut short */
		memset(in, 0xa5, sizeof(in));
		p3l_data_read(&data, in, want.rlength / 3);
		CHECK_MEM(in, bytes, want.rlength / 3);
		CHECK_INT(in[want.rlength / 3], 0xa5);
	}
	p3l_lane_advance(ni, lane, (uint32_t)lines);
	p3l_lane_release(ni, lane);
	return true;
}

static void t_messages_come_out_as_they_went_in(void)
{
	static const uint64_t maxima[] = { 64, 300, 5000 };

	for (int k = 0; k < 3; k++) {
		uint64_t in = 0, out = 0, state = 1;

		fresh();
		seed = (uint64_t)k;
		while (out < 20000) {
			struct p3l_hdr h = message(in, maxima[k]);

			if (c_random(&state) % 3 && p3l_lane_room(ni, 2, &tx, h.rlength)) {
				put(&h, in % 2);
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
			put(&h, in % 2);
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
	for (uint32_t i = 0; i < ni->lane_lines; i++)
		p3l_lane_line(ni, lane, i)->word = p3l_word(P3L_W_MORE, i - 2 * ni->lane_lines);
	for (int i = 0; i < 2000; i++) {
		struct p3l_hdr h = message(no, 300);

		REQUIRE(p3l_lane_room(ni, 2, &tx, h.rlength));
		put(&h, true);
		REQUIRE(take(no++, 300));
		CHECK(!p3l_lane_ready(ni, lane));
	}
	CHECK(lane->head < 1u << 20);
}

static void t_nonsense_is_refused(void)
{
	struct p3l_line *m;
	struct p3l_hdr h;
	struct p3l_data data;

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
	CHECK(p3l_lane_mark(ni, lane, P3L_W_POLL));
	CHECK(!p3l_lane_ready(ni, lane));
	CHECK_INT(put(&h, true), P3L_W_POLL);
	CHECK(!p3l_lane_mark(ni, lane, P3L_W_AWAY));
	REQUIRE(take(1, 64));
	CHECK(p3l_lane_mark(ni, lane, P3L_W_AWAY));
	h = message(2, 64);
	CHECK_INT(put(&h, true), P3L_W_AWAY);
	h = message(3, 64);
	CHECK_INT(put(&h, true), 0);
	CHECK(!p3l_lane_mark(ni, lane, P3L_W_POLL));
	REQUIRE(take(2, 64));
	REQUIRE(take(3, 64));
}

/* The owner was stopped in a mark for laps: whatever the line holds now is left as it is. */
static void t_a_late_mark_changes_nothing(void)
{
	static uint8_t before[P3L_LINE * 256];
	struct p3l_line *ring;
	uint64_t no = 0;

	fresh();
	ring = p3l_lane_line(ni, lane, 0);
	REQUIRE(ni->lane_lines <= 256);
	memset(bytes, 0, sizeof(bytes));		/* the likeliest payload */
	while (tx.tail < 3 * ni->lane_lines) {
		struct p3l_hdr h = message(no, 300);

		memset(bytes, 0, no % 2 ? sizeof(bytes) : 0);
		REQUIRE(p3l_lane_room(ni, 2, &tx, h.rlength));
		put(&h, true);
		memcpy(before, ring, P3L_LINE * ni->lane_lines);
		for (uint32_t late = ni->lane_lines + 1; late <= tx.tail && late < 3 * ni->lane_lines; late++) {
			lane->head = tx.tail - late;
			p3l_lane_mark(ni, lane, no % 3 ? P3L_W_AWAY : P3L_W_POLL);
			if (memcmp(before, ring, P3L_LINE * ni->lane_lines)) {
				CHECK_INT(late, 0);
				return;
			}
		}
		lane->head = lane->head_pub = tx.tail;
		no++;
	}
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
					       T(t_nonsense_is_refused), T(t_a_mark_never_hides_a_message),
					       T(t_a_late_mark_changes_nothing), T(t_one_consumer_at_a_time), { 0 } };

	return t_run(cases);
}

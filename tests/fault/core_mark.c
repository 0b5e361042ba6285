/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_mark.c - an owner that stands still in the middle of a mark (p3l_lane_mark) while its initiator works on
 *
 * The core is compiled with P3_FAULT. At each P3L_POINT of a mark, in turn, the initiator empties the lane, message by
 * message, and fills it again past the line that is being marked; then the owner goes on. No byte of what waits in
 * the lane may have changed, whatever the line held when the owner looked at it.
 */
#include "../common/tap.h"
#include "../unit/core_env.h"

enum { MAX = 400 };

static struct p3l_ni *ni;
static struct p3l_env owner, initiator;
static struct p3l_lane_tx tx;
static struct p3l_lane_hdr *lane;
static const char *point;		/* where the initiator has its turn */
static uint64_t in, out, seed;
static bool zeros;			/* payload: the likeliest, and what an unused line holds */
static int turns;
static uint32_t line;			/* being marked */

static struct p3l_hdr message(uint64_t no, uint8_t *bytes)
{
	uint64_t s = seed + no * 77;
	struct p3l_hdr h =
		c_hdr(P3L_PUT, 2, (uint32_t)(no % 16), no, c_random(&s) % 2 ? c_random(&s) % 57 : c_random(&s) % MAX);

	h.hdr_data = no + 1;
	for (uint64_t i = 0; i < h.rlength; i++)
		bytes[i] = zeros ? 0 : (uint8_t)c_random(&s);
	return h;
}

static bool put(bool ask)
{
	static uint8_t bytes[MAX];
	struct p3l_hdr h = message(in, bytes);

	if (!p3l_lane_room(ni, 2, &tx, h.rlength))
		return false;
	p3l_lane_put(ni, 2, &tx, &h, bytes, ask);
	in++;
	return true;
}

static bool take(const struct p3l_env *env)
{
	static uint8_t bytes[MAX], got[MAX];
	struct p3l_hdr h, want = message(out, bytes);
	struct p3l_data data;
	bool good = false;
	int lines;

	if (!p3l_lane_lock(env, ni, lane, false))
		return false;
	lines = p3l_lane_peek(ni, lane, &h, &data);
	if (lines > 0) {
		CHECK_INT(h.hdr_data, want.hdr_data);
		CHECK_INT(h.match_bits, want.match_bits);
		CHECK_INT(h.rlength, want.rlength);
		good = h.rlength == want.rlength;
		if (good) {
			p3l_data_read(&data, got, want.rlength);
			CHECK_MEM(got, bytes, want.rlength);
		}
		out++;
		p3l_lane_advance(ni, lane, (uint32_t)lines);
		p3l_lane_release(ni, lane);
	}
	p3l_lane_unlock(lane);
	return good;
}

/* The initiator's turn: nothing of it if the owner keeps it out, which would do as well. */
void p3l_point(const char *where)
{
	if (!point || strcmp(where, point))
		return;
	point = NULL;
	line = lane->head;
	do {
		if (!put(true) || !take(&initiator))
			return;
	} while (lane->head_pub - line - 1 >= ni->lane_lines / 2);
	while (put(false))
		;
	turns += tx.tail - line > ni->lane_lines;
}

static void one(const char *where, uint32_t state, unsigned before)
{
	struct p3l_setup s = c_setup();

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	owner = c_env(0, false);
	initiator = c_env(2, false);
	tx = (struct p3l_lane_tx){ 0 };
	lane = p3l_lane(ni, 2);
	in = out = 0;
	while (before--)
		if (!put(true) || !take(&owner))
			bail("the lane does not work at all");
	if (seed % 2)
		p3l_lane_mark(ni, lane, state ^ P3L_W_POLL ^ P3L_W_AWAY);
	point = where;
	p3l_lane_mark(ni, lane, state);
	point = NULL;
	while (put(false))			/* it must go on */
		;
	while (out < in && take(&owner))
		;
	CHECK_INT(out, in);
	CHECK(!p3l_lane_ready(ni, lane));
}

static void stopped_at(const char *where)
{
	for (turns = 0, seed = 1; seed < 400 && !t_bad_; seed++) {
		zeros = seed / 2 % 2;
		one(where, seed / 4 % 2 ? P3L_W_POLL : P3L_W_AWAY, (unsigned)(seed < 20 ? seed / 8 : seed % 97));
		if (t_bad_)
			diag("seed %llu, at \"%s\", line %u", (unsigned long long)seed, where, line);
	}
	CHECK(turns > 100);			/* the initiator came round */
}

static void t_an_owner_stopped_before_it_looks_at_the_line(void)
{
	stopped_at("mark");
}

static void t_an_owner_stopped_before_it_swaps(void)
{
	stopped_at("mark swap");
}

int main(void)
{
	static const struct t_case cases[] = { T(t_an_owner_stopped_before_it_looks_at_the_line),
					       T(t_an_owner_stopped_before_it_swaps), { 0 } };

	return t_run(cases);
}

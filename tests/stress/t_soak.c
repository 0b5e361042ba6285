/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_soak.c - all ranks to all, random puts, gets and swaps, for T_SECONDS (2): each byte is what it should be
 *
 * Each rank has a place at each other one that nobody else writes, and a copy of what must stand there (shadow). A put
 * changes a part of both; a get reads a part back and compares; a swap does both for eight bytes. At the end each tells
 * all others a checksum of what it has left there, which they compare with what they find. One call is under way to
 * each target, to as many as there are: with 64 ranks on eight virtual nodes that is every connection at once.
 */
#include <stdbool.h>

#include "stress.h"
#include "../api/engine.h"

#define RANKS		128
#define PT_SUM		5
#define MEMORY		(4u << 20)	/* of all places of a rank */
#define PLACE_MAX	(256u << 10)

enum what { IDLE, PUT, GET, SWAP };

static struct {
	ptl_process_id_t id;
	ptl_handle_md_t shadow_md, got_md;
	unsigned char *shadow, *got;	/* what must stand there; what was read */
	unsigned char *mine;		/* its place here */
	enum what what;
	unsigned ends;			/* events that end the call, still to come */
	size_t at, len;
	uint64_t old;			/* what a swap must bring */
	uint64_t calls, bytes;
} with[RANKS];
static ptl_handle_eq_t eq;
static size_t place;
static uint64_t sums[RANKS];

static uint64_t sum_of(const unsigned char *p)
{
	uint64_t s = place, v;

	for (size_t i = 0; i + 8 <= place; i += 8) {
		memcpy(&v, p + i, 8);
		s = (s ^ v) * 0x9e3779b97f4a7c15u;
		s ^= s >> 32;
	}
	return s;
}

static void set_up(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t h;

	place = MEMORY / (unsigned)size / 4096 * 4096;
	if (place > PLACE_MAX)
		place = PLACE_MAX;
	NEED_OK(PtlEQAlloc(ni, (ptl_size_t)size * 8, PTL_EQ_HANDLER_NONE, &eq));
	for (int r = 0; r < size; r++) {
		ptl_md_t md;

		with[r].id = p_id(r);
		with[r].shadow = calloc(1, place);
		with[r].got = calloc(1, place);
		with[r].mine = calloc(1, place);
		NEED(with[r].shadow && with[r].got && with[r].mine);
		NEED_OK(PtlMEAttach(ni, PT, with[r].id, (ptl_match_bits_t)r, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
		NEED_OK(PtlMDAttach(me, p_md(with[r].mine, place, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
					     PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN, NULL));
		md = p_md(with[r].shadow, place, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq);
		md.user_ptr = &with[r];
		NEED_OK(PtlMDBind(ni, md, PTL_RETAIN, &with[r].shadow_md));
		md.start = with[r].got;
		NEED_OK(PtlMDBind(ni, md, PTL_RETAIN, &with[r].got_md));
	}
	NEED_OK(p_post_at(PT_SUM, 0, 0, PTL_RETAIN, p_md(sums, sizeof(sums), PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
							  PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN, &me, &h));
}

/* Short ones above all; each size there may be a limit at now and then. */
static size_t length(uint64_t *s)
{
	uint64_t r = t_random(s);

	switch (r & 15) {
	case 0: return (r >> 8) % (place + 1);
	case 1: case 2: case 3: return (r >> 8) % (place < 9000 ? place : 9000);
	default: return (r >> 8) % 200;
	}
}

static void start(int to, uint64_t *s)
{
	uint64_t r = t_random(s);
	int rc;

	with[to].what = r % 8 == 0 ? SWAP : r % 8 < 5 ? PUT : GET;
	with[to].len = with[to].what == SWAP ? 8 : length(s);
	with[to].at = with[to].what == SWAP ? (r >> 8) % (place / 8) * 8 : (r >> 8) % (place - with[to].len + 1);
	if (with[to].what != GET) {
		memcpy(&with[to].old, with[to].shadow + with[to].at, with[to].what == SWAP ? 8 : 0);
		p_fill(with[to].shadow + with[to].at, with[to].len, (unsigned)(r >> 32));
	}
	do {
		if (with[to].what == PUT)
			rc = PtlPutRegion(with[to].shadow_md, with[to].at, with[to].len, PTL_ACK_REQ, with[to].id, PT,
					  0, (ptl_match_bits_t)rank, with[to].at, 0);
		else if (with[to].what == GET)
			rc = PtlGetRegion(with[to].got_md, with[to].at, with[to].len, with[to].id, PT, 0,
					  (ptl_match_bits_t)rank, with[to].at);
		else
			rc = PtlGetPutRegion(with[to].got_md, with[to].at, with[to].shadow_md, with[to].at, 8,
					     with[to].id, PT, 0, (ptl_match_bits_t)rank, with[to].at, 0);
		if (rc == PTL_NO_SPACE)
			sched_yield();
	} while (rc == PTL_NO_SPACE);
	OK(rc);
	with[to].ends = rc != PTL_OK ? 0 : with[to].what == GET ? 1 : 2;
}

static void over(int to)
{
	const unsigned char *got = with[to].got + with[to].at;

	if (with[to].what == GET && !CHECK_MEM(got, with[to].shadow + with[to].at, with[to].len))
		diag("from rank %d, %zu bytes at %zu, call %llu", to, with[to].len, with[to].at,
		     (unsigned long long)with[to].calls);
	if (with[to].what == SWAP)
		CHECK_MEM(got, &with[to].old, 8);
	with[to].calls++;
	with[to].bytes += with[to].len;
	with[to].what = IDLE;
}

/* An event, if one is there: the target whose call it has ended, -1: of none, -2: there is none. */
static int event(void)
{
	ptl_event_t ev;
	int rc = PtlEQGet(eq, &ev), to;

	if (rc == PTL_EQ_EMPTY)
		return -2;
	for (to = 0; to < size && ev.md.user_ptr != &with[to]; to++)
		;
	if (!OK(rc) || !CHECK(to < size) || !CHECK(with[to].ends) || !CHECK_INT(ev.ni_fail_type, PTL_NI_OK) ||
	    !CHECK(ev.type == PTL_EVENT_SEND_END || ev.mlength == with[to].len))
		return -1;
	if (--with[to].ends)
		return -1;
	over(to);
	return to;
}

static void t_every_byte_is_what_it_should_be(void)
{
	const char *secs = getenv("T_SECONDS");
	double until = t_now() + (secs ? atof(secs) : 2), give_up = until + 60;
	uint64_t s = seed + (uint64_t)rank * 977, calls = 0, bytes = 0, sum;
	double begin = t_now();
	int busy = 0, got;
	long kb = 0;

	set_up();
	t_barrier();
	while (busy || (t_now() < until && t_bad_ < 10)) {
		if (t_now() < until && t_bad_ < 10) {
			int to = (int)((t_random(&s) >> 16) % (unsigned)size);

			if (with[to].what == IDLE) {
				start(to, &s);
				busy++;
			}
		}
		while ((got = event()) != -2)
			busy -= got >= 0;
		if (!kb && t_now() > begin + (until - begin) / 2)
			kb = p_engine_kb();
		if (t_now() > give_up) {
			for (int r = 0; r < size; r++)
				if (with[r].what)
					diag("the call to rank %d has not ended: kind %d, %zu bytes, %u events missing",
					     r, with[r].what, with[r].len, with[r].ends);
			CHECK(busy == 0);
			break;
		}
		sched_yield();
	}
	if (kb > 0) {
		diag("the engine has %ld kB, and had %ld at half time", p_engine_kb(), kb);
		CHECK(p_engine_kb() - kb < 2048);
	}
	for (int r = 0; r < size; r++) {
		calls += with[r].calls;
		bytes += with[r].bytes;
		sum = sum_of(with[r].shadow);
		peer = with[r].id;
		OK(p_put_full(&sum, 8, PTL_NO_ACK_REQ, PT_SUM, 0, 8 * (ptl_size_t)rank, 0, PTL_EQ_NONE));
		p_sync_with(peer);	/* it has arrived */
	}
	t_barrier();
	for (int r = 0; r < size; r++)
		if (!CHECK(sum_of(with[r].mine) == sums[r]))
			diag("what rank %d has written here is not what it should be (T_SEED=%llu)", r,
			     (unsigned long long)seed);
	CHECK_INT(p_drops(), 0);
	CHECK_INT(p_status(PTL_SR_CORRUPT_NP), 0);
	CHECK(calls > 0);
	diag("%llu calls, %.1f MB", (unsigned long long)calls, (double)bytes * 1e-6);
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = { T(t_every_byte_is_what_it_should_be), { 0 } };

	return s_main(cases, RANKS);
}

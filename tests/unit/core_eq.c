/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_eq.c - event queues: order of tickets, overrun, wrap of the counters, promises, freed queues */
#include "../common/tap.h"
#include "core_env.h"

static struct p3l_ni *ni;
static struct p3l_env env;
static struct p3l_ref eq;

static void fresh(uint64_t count)
{
	struct p3l_setup s = c_setup();

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	env = c_env(0, false);
	REQUIRE_INT(p3l_eq_alloc(&env, ni, count, &eq), PTL_OK);
}

static void post(uint32_t ticket, uint64_t v)
{
	struct p3l_slot ev = { .link = (uint32_t)v, .match_bits = v, .hdr_data = v + 1, .rlength = v + 2,
			       .mlength = v + 3, .offset = v + 4, .md = 5, .md_gen = 6, .threshold = 7,
			       .initiator = 8, .kind_fail = 9, .pt = 10 };

	p3l_eq_post(&env, ni, eq.idx, ticket, &ev);
}

static int64_t get(bool take, int *rc)
{
	struct p3l_slot ev;

	*rc = p3l_eq_read(&env, ni, eq.idx, &ev, take);
	if (!*rc)
		return -1;
	CHECK_INT(ev.hdr_data, ev.match_bits + 1);
	CHECK_INT(ev.offset, ev.match_bits + 4);
	CHECK_INT(ev.pt, 10);
	return (int64_t)ev.match_bits;
}

static void t_sizes_are_rounded_up_and_bounded(void)
{
	struct p3l_ref r;

	fresh(1);
	CHECK_INT(ni->eq[eq.idx].log2, 2);	/* as many as one operation has events */
	CHECK_INT(p3l_eq_alloc(&env, ni, 5, &r), PTL_OK);
	CHECK_INT(ni->eq[r.idx].log2, 3);
	CHECK_INT(p3l_eq_alloc(&env, ni, 1ULL << 32, &r), PTL_NO_SPACE);
	CHECK_INT(p3l_eq_alloc(&env, ni, 1ULL << 24, &r), PTL_NO_SPACE);	/* larger than the space */
	for (uint32_t i = 2; i < ni->max_eq; i++)
		CHECK_INT(p3l_eq_alloc(&env, ni, 2, &r), PTL_OK);
	CHECK_INT(p3l_eq_alloc(&env, ni, 2, &r), PTL_NO_SPACE);
}

static void t_events_come_in_the_order_of_tickets(void)
{
	uint32_t t[3];
	int rc;

	fresh(4);
	for (int i = 0; i < 3; i++)
		t[i] = p3l_eq_reserve(ni, eq.idx);
	CHECK(!p3l_eq_idle(ni, eq.idx) && !p3l_eq_ready(ni, eq.idx));
	post(t[2], 2);
	post(t[1], 1);
	get(true, &rc);
	CHECK_INT(rc, 0);
	post(t[0], 0);
	CHECK(p3l_eq_ready(ni, eq.idx));
	for (int i = 0; i < 3; i++) {
		CHECK_INT(get(false, &rc), i);
		CHECK_INT(get(true, &rc), i);
		CHECK_INT(rc, 1);
	}
	CHECK(p3l_eq_idle(ni, eq.idx));
}

static void t_overrun_gives_the_oldest_survivor_and_says_so_once(void)
{
	int rc;

	fresh(4);
	for (int i = 0; i < 11; i++)
		post(p3l_eq_reserve(ni, eq.idx), (uint64_t)i);
	CHECK(p3l_eq_ready(ni, eq.idx));
	CHECK(!p3l_eq_room(ni, eq.idx, 1));
	CHECK_INT(get(false, &rc), 7);
	CHECK_INT(rc, -1);
	CHECK_INT(get(true, &rc), 7);
	CHECK_INT(rc, -1);
	CHECK_INT(get(true, &rc), 8);
	CHECK_INT(rc, 1);
	CHECK(p3l_eq_room(ni, eq.idx, 2) && !p3l_eq_room(ni, eq.idx, 3));
	get(true, &rc), get(true, &rc), get(true, &rc);
	CHECK_INT(rc, 0);
}

/* Slot words have 31 bits, so after a billion events the newest ones look older than the head. */
static void t_a_queue_not_read_for_billions_of_events_is_an_overrun_as_any(void)
{
	static const uint32_t unread[] = { 5, 0x40000000, 0x40000001, 0x40000005, 0x7fffff00, 0x80000100, 0xffffff00 };
	int rc;

	for (unsigned i = 0; i < sizeof(unread) / sizeof(*unread); i++) {
		uint32_t last = 100 + unread[i];

		fresh(4);
		ni->eq[eq.idx].head = 100;
		ni->eq[eq.idx].tail = last;
		for (uint32_t t = last - 4; t != last; t++) {
			struct p3l_slot *s = p3l_eq_slot(ni, &ni->eq[eq.idx], t);

			s->word = (t - 4) << 1 | 1;
			post(t, t);
		}
		CHECK(p3l_eq_ready(ni, eq.idx));
		CHECK_INT(get(true, &rc), last - 4);
		CHECK_INT(rc, -1);
		for (uint32_t t = last - 3; t != last; t++)
			CHECK_INT(get(true, &rc), t);
		CHECK_INT(rc, 1);
		CHECK_INT(get(true, &rc), -1);
		post(p3l_eq_reserve(ni, eq.idx), last);
		CHECK_INT(get(true, &rc), last);
		CHECK_INT(rc, 1);
	}
}

static void no_wait(unsigned spins)
{
	(void)spins;
}

/*
 * A writer that is stopped owes ticket 4; that of ticket 8 gives up waiting for it. When the reader comes it is so late
 * that the ring begins behind 8, and 12 has given up as well: more is lost in its slot than the reader can see.
 */
static void t_a_hole_that_the_reader_has_passed_stops_nobody(void)
{
	int rc;

	fresh(4);
	env.relax = no_wait;
	for (uint32_t t = 0; t < 13; t++)
		CHECK_INT(p3l_eq_reserve(ni, eq.idx), t);
	for (uint32_t t = 0; t < 9; t++)
		if (t != 4)
			post(t, t);
	CHECK(ni->holes);
	post(4, 4);			/* it goes on */
	for (uint32_t t = 9; t < 13; t++)
		post(t, t);
	CHECK_INT(get(true, &rc), 9);
	CHECK_INT(rc, -1);
	CHECK_INT(get(true, &rc), 10);
	CHECK_INT(get(true, &rc), 11);
	CHECK_INT(rc, 1);
	CHECK_INT(get(true, &rc), -1);
	p3l_reap(&env, ni);
	CHECK(!ni->holes);
	for (uint32_t t = 13; t < 20; t++) {
		CHECK_INT(p3l_eq_reserve(ni, eq.idx), t);
		post(t, t);
		CHECK_INT(get(true, &rc), t);
	}
	CHECK_INT(ni->eq[eq.idx].tail, 20);
}

/* Tickets whose highest bit a slot's word cannot hold, and slots that are ahead of the tail that was noted. */
static void t_holes_are_filled_when_the_counters_wrap(void)
{
	static const uint32_t around[] = { 0x7ffffffcu, 0x80000000u, 0xfffffffcu, 0 };
	int rc;

	for (unsigned i = 0; i < sizeof(around) / sizeof(*around); i++) {
		struct p3l_eq *q;

		fresh(4);
		env.relax = no_wait;
		q = &ni->eq[eq.idx];
		q->tail = q->head = around[i];
		for (uint32_t t = 0; t < 4; t++)
			p3l_eq_slot(ni, q, around[i] + t)->word = (around[i] + t - 4) << 1 | 1;
		for (uint32_t t = 0; t < 6; t++)
			p3l_eq_reserve(ni, eq.idx);
		for (uint32_t t = 0; t < 4; t++)
			if (t != 1)
				post(around[i] + t, t);
		ni->holes = 1;			/* the writers of 1, 4 and 5 have died */
		p3l_reap(&env, ni);
		CHECK(!ni->holes);
		CHECK_INT(get(true, &rc), 2);	/* two voids came round */
		CHECK_INT(get(true, &rc), 3);
		CHECK_INT(get(true, &rc), -1);
		CHECK(p3l_eq_idle(ni, eq.idx));
	}
}

static void t_a_loss_that_comes_while_an_event_is_shown_is_told_with_the_next(void)
{
	struct p3l_slot ev;
	int rc;

	fresh(4);
	for (uint32_t t = 0; t < 2; t++)
		post(p3l_eq_reserve(ni, eq.idx), t);
	CHECK_INT(p3l_eq_next(&env, ni, eq.idx, &ev, false), 1);
	ni->eq[eq.idx].dropped = 1;		/* by a writer */
	p3l_eq_took(ni, eq.idx, false);
	CHECK_INT(get(true, &rc), 1);
	CHECK_INT(rc, -1);
	post(p3l_eq_reserve(ni, eq.idx), 2);
	CHECK_INT(get(true, &rc), 2);
	CHECK_INT(rc, 1);
}

static void t_counters_wrap(void)
{
	static const uint32_t start[] = { 0x7ffffffd, 0xfffffffd };
	int rc;

	for (int k = 0; k < 2; k++) {
		struct p3l_eq *q;

		fresh(4);
		q = &ni->eq[eq.idx];
		q->head = q->tail = start[k] & ~3u;
		for (uint32_t i = 0; i < 4; i++)
			p3l_eq_slot(ni, q, q->tail + i)->word = (q->tail - 4 + i) << 1 | 1;
		for (int i = 0; i < 20; i++) {
			post(p3l_eq_reserve(ni, eq.idx), (uint64_t)i);
			CHECK_INT(get(true, &rc), i);
			CHECK_INT(rc, 1);
		}
		for (int i = 0; i < 9; i++)
			post(p3l_eq_reserve(ni, eq.idx), (uint64_t)i);
		CHECK_INT(get(true, &rc), 5);
		CHECK_INT(rc, -1);
	}
}

static void t_a_freed_queue_is_stale_and_its_slots_come_back(void)
{
	struct p3l_ref old;
	uint64_t space;
	int rc;

	fresh(4);
	old = eq;
	post(p3l_eq_reserve(ni, eq.idx), 1);
	CHECK_INT(p3l_eq_free(&env, ni, eq), PTL_OK);
	CHECK(!p3l_eq_valid(ni, old));
	CHECK_INT(p3l_eq_of(ni, (old.idx + 1) | old.gen << 16), -1);
	CHECK_INT(p3l_eq_free(&env, ni, old), PTL_EQ_INVALID);
	space = c_taken(ni);
	CHECK_INT(p3l_eq_alloc(&env, ni, 4, &eq), PTL_OK);
	CHECK_INT(c_taken(ni), space);
	CHECK_INT(eq.idx, old.idx);
	CHECK(eq.gen != old.gen && p3l_eq_idle(ni, eq.idx));
	get(true, &rc);
	CHECK_INT(rc, 0);
}

/* An MD on portal 3 that logs to the queue. */
static void attach(unsigned options)
{
	ptl_md_t v = c_md(0x1000, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | options);
	struct p3l_md_args a = { .md = &v, .eq = (eq.idx + 1) | eq.gen << 16 };
	struct p3l_ref me, md;

	CHECK_INT(p3l_memd_attach(&env, ni, 3, C_ANY, 0, ~0ULL, PTL_UNLINK, PTL_INS_AFTER, &a, PTL_UNLINK, &me, &md),
		  PTL_OK);
}

/* An operation of mover 1 is matched to it. */
static struct p3l_op *begin(struct p3l_env *mover)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 3, 0, 8);
	struct p3l_op *op;

	*mover = c_env(1, false);
	op = p3l_op_get(mover, ni);
	CHECK_INT(p3l_target_begin(mover, ni, &h, op, false), P3L_MATCHED);
	return op;
}

/* Make one queue more; was the place of @old used? */
static bool reused(struct p3l_ref old)
{
	uint64_t slots = ni->eq[old.idx].slots, was = c_taken(ni);
	struct p3l_ref r = { 0, 0 };

	CHECK_INT(p3l_eq_alloc(&env, ni, 4, &r), PTL_OK);
	CHECK((r.idx == old.idx) == (ni->eq[r.idx].slots == slots));
	CHECK((r.idx == old.idx) == (c_taken(ni) == was));
	CHECK(p3l_eq_idle(ni, r.idx) && !p3l_eq_ready(ni, r.idx));
	return r.idx == old.idx;
}

static void t_a_queue_that_a_mover_may_post_to_is_not_reused(void)
{
	for (int late = 0; late < 2; late++) {		/* stopped after it has found the queue; has taken a ticket */
		struct p3l_env mover;
		struct p3l_ref old;
		struct p3l_op *op;
		uint32_t t = 0;

		fresh(4);
		old = eq;
		attach(0);
		op = begin(&mover);
		CHECK_INT(p3l_eq_of(ni, op->eq), (int)old.idx);
		if (late)
			t = p3l_eq_reserve(ni, old.idx);
		CHECK_INT(p3l_eq_free(&env, ni, eq), PTL_OK);
		CHECK(!reused(old));
		if (!late)
			t = p3l_eq_reserve(ni, old.idx);
		post(t, 1);				/* harmless */
		CHECK(!reused(old));
		p3l_target_end(&mover, ni, op, PTL_NI_OK);
		CHECK(reused(old));
		op = begin(&mover);			/* the MD is still there, and logs nothing */
		p3l_target_end(&mover, ni, op, PTL_NI_OK);
		CHECK(p3l_eq_idle(ni, old.idx));
	}
}

static void t_a_ticket_that_nobody_will_use_does_not_cost_the_queue(void)
{
	struct p3l_env mover;
	struct p3l_ref old;
	struct p3l_op *op;

	fresh(4);
	old = eq;
	attach(PTL_MD_EVENT_START_DISABLE);
	op = begin(&mover);				/* has the ticket of its END */
	CHECK_INT(ni->eq[old.idx].tail, 1);
	CHECK_INT(p3l_eq_free(&env, ni, eq), PTL_OK);
	CHECK(!reused(old));
	p3l_target_end(&mover, ni, op, PTL_NI_OK);
	CHECK(reused(old));
}

static void t_a_lock_or_a_send_may_hide_a_writer(void)
{
	for (int what = 0; what < 4; what++) {
		struct p3l_ref old;

		fresh(4);
		old = eq;
		CHECK_INT(p3l_eq_free(&env, ni, eq), PTL_OK);
		if (what == 0)
			ni->pt[3].lock = 2;
		else if (what < 3)
			ni->own_ops[what - 1] = 1;
		else
			ni->reap_lock = 1;	/* another thread may be filling holes */
		CHECK(!reused(old));
		ni->pt[3].lock = ni->own_ops[0] = ni->own_ops[1] = ni->reap_lock = 0;
		CHECK(reused(old));
	}
}

static void t_a_queue_of_the_dead_comes_back_when_they_are_buried(void)
{
	struct p3l_env mover;
	struct p3l_ref old;

	fresh(4);
	old = eq;
	attach(0);
	begin(&mover);
	CHECK_INT(p3l_eq_free(&env, ni, eq), PTL_OK);
	c_dead[1] = true;
	ni->pt[5].lock = 2;
	CHECK(!reused(old));
	CHECK_INT(ni->pt[5].lock, 0);
	CHECK_INT(p3l_reap(&env, ni), 1);
	CHECK(reused(old));
	c_dead[1] = false;
}

static void t_nonsense_in_a_queue_is_counted_not_followed(void)
{
	fresh(4);
	ni->eq[eq.idx].slots = ni->size - 64;
	post(p3l_eq_reserve(ni, eq.idx), 1);
	CHECK_INT(p3l_row(ni, 0)->stats.corrupt, 1);
	ni->eq[eq.idx].slots = ~0ULL;
	post(p3l_eq_reserve(ni, eq.idx), 1);
	CHECK_INT(p3l_row(ni, 0)->stats.corrupt, 2);
	ni->eq[eq.idx].log2 = 60;
	post(p3l_eq_reserve(ni, eq.idx), 1);
	CHECK_INT(p3l_row(ni, 0)->stats.corrupt, 3);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_sizes_are_rounded_up_and_bounded), T(t_events_come_in_the_order_of_tickets),
		T(t_overrun_gives_the_oldest_survivor_and_says_so_once),
		T(t_a_queue_not_read_for_billions_of_events_is_an_overrun_as_any),
		T(t_a_hole_that_the_reader_has_passed_stops_nobody),
		T(t_holes_are_filled_when_the_counters_wrap),
		T(t_a_loss_that_comes_while_an_event_is_shown_is_told_with_the_next),
		T(t_counters_wrap),
		T(t_a_freed_queue_is_stale_and_its_slots_come_back),
		T(t_a_queue_that_a_mover_may_post_to_is_not_reused),
		T(t_a_ticket_that_nobody_will_use_does_not_cost_the_queue), T(t_a_lock_or_a_send_may_hide_a_writer),
		T(t_a_queue_of_the_dead_comes_back_when_they_are_buried),
		T(t_nonsense_in_a_queue_is_counted_not_followed), { 0 } };

	return t_run(cases);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_reap.c - repair where a living mover is in the way (what the dead leave by themselves: tests/fault/core_die.c) */
#include "../common/tap.h"
#include "core_env.h"

static struct p3l_ni *ni;
static struct p3l_env owner, dead, living;
static struct p3l_ref eq, md;
static uint32_t slots = 16;

static void fresh(unsigned options)
{
	struct p3l_setup s = c_setup();
	ptl_md_t v = c_md(0x1000, 64, 9, PTL_MD_OP_PUT | options);
	struct p3l_md_args a;
	struct p3l_ref me;

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	owner = c_env(0, false);
	dead = c_env(1, false);
	living = c_env(2, false);
	memset(c_dead, 0, sizeof(c_dead));
	p3l_eq_alloc(&owner, ni, slots, &eq);
	a = c_args(&v, &eq);
	p3l_me_attach(&owner, ni, 0, C_ANY, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
	p3l_md_attach(&owner, ni, me, &a, PTL_RETAIN, &md);
}

static struct p3l_op *begin(const struct p3l_env *env)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, env->self - 1, 0, 0, 8);
	struct p3l_op *op = p3l_op_get(env, ni);

	CHECK_INT(p3l_target_begin(env, ni, &h, op, false), P3L_MATCHED);
	return op;
}

static int kind(void)
{
	struct p3l_slot ev;

	return p3l_eq_read(&owner, ni, eq.idx, &ev, true) ? ev.kind_fail & 15 : -1;
}

static void t_one_that_is_just_leaving_is_waited_for(void)
{
	struct p3l_op *lost, *op;

	fresh(0);
	lost = begin(&dead);
	op = begin(&living);
	op->state = P3L_OP_LEAVE;		/* it may have taken itself from `pending`, or not yet */
	c_dead[1] = true;
	p3l_reap(&owner, ni);
	CHECK_INT(lost->state, P3L_OP_LEAVE);	/* not counted meanwhile */
	p3_fetch_add(&p3l_md(ni, md.idx)->pending, (uint32_t)-1);
	op->state = P3L_OP_IDLE;
	CHECK_INT(p3l_reap(&owner, ni), 1);
	CHECK_INT(lost->state, P3L_OP_IDLE);
	CHECK_INT(p3l_md(ni, md.idx)->pending, 0);
}

static void t_tickets_of_the_living_are_theirs(void)
{
	struct p3l_op *op;

	fresh(PTL_MD_EVENT_START_DISABLE);
	begin(&dead);
	op = begin(&living);			/* holds a ticket, posts nothing yet */
	c_dead[1] = true;
	CHECK_INT(p3l_reap(&owner, ni), 1);
	CHECK_INT(kind(), PTL_EVENT_PUT_END);
	CHECK_INT(kind(), -1);
	p3l_target_end(&living, ni, op, PTL_NI_OK);
	CHECK_INT(kind(), PTL_EVENT_PUT_END);
	CHECK(p3l_eq_idle(ni, eq.idx));
	CHECK_INT(p3l_row(ni, 2)->stats.eq_overruns, 0);
}

static void t_a_ticket_just_reserved_is_not_taken_for_lost(void)
{
	struct p3l_op *op;
	uint32_t t;

	for (int where = 0; where < 3; where++) {	/* without a lock, under one, in a send of the owner */
		fresh(0);
		begin(&dead);
		op = begin(&living);
		t = p3l_eq_reserve(ni, eq.idx);
		if (where == 0)
			op->state = P3L_OP_END;
		else if (where == 1)
			ni->pt[3].lock = living.self;
		else
			ni->own_ops[1] = 1;
		c_dead[1] = true;
		CHECK_INT(p3l_reap(&owner, ni), 1);
		CHECK_INT(ni->holes, 1);
		op->ticket = t;				/* now it notes it, and posts */
		op->has_ticket = P3L_TICKET_END;
		op->state = P3L_OP_MOVE;
		ni->pt[3].lock = ni->own_ops[1] = 0;
		p3l_target_end(&living, ni, op, PTL_NI_OK);
		CHECK_INT(p3l_row(ni, 2)->stats.eq_overruns, 0);
		p3l_reap(&owner, ni);
		CHECK_INT(ni->holes, 0);
		CHECK_INT(kind(), PTL_EVENT_PUT_START);
		CHECK_INT(kind(), PTL_EVENT_PUT_START);
		CHECK_INT(kind(), PTL_EVENT_PUT_END);
		CHECK_INT(kind(), PTL_EVENT_PUT_END);
		CHECK_INT(kind(), -1);
	}
}

static void t_a_lost_ticket_does_not_stop_the_queue(void)
{
	struct p3l_op *op;

	fresh(0);
	op = begin(&dead);
	p3l_eq_reserve(ni, eq.idx);		/* and died before it noted that */
	op->state = P3L_OP_END;
	c_dead[1] = true;
	CHECK_INT(p3l_reap(&owner, ni), 1);
	CHECK_INT(kind(), PTL_EVENT_PUT_START);
	CHECK_INT(kind(), PTL_EVENT_PUT_END);
	CHECK_INT(kind(), -1);
	CHECK(p3l_eq_idle(ni, eq.idx));
	CHECK_INT(ni->holes, 0);
}

static void t_a_stopped_writer_costs_events_not_the_queue(void)
{
	struct p3l_op *op, *last;
	struct p3l_slot ev;

	slots = 4;
	fresh(PTL_MD_EVENT_START_DISABLE);
	slots = 16;
	op = begin(&living);			/* stopped here, a ticket in its hand */
	for (int i = 0; i < 3; i++)
		p3l_target_end(&owner, ni, begin(&owner), PTL_NI_OK);
	last = begin(&owner);			/* its slot is a lap behind that ticket */
	p3l_target_end(&owner, ni, last, PTL_NI_OK);
	CHECK_INT(p3l_row(ni, 0)->stats.eq_overruns, 1);
	CHECK_INT(ni->holes, 1);
	p3l_reap(&owner, ni);			/* nothing to be done while it is stopped */
	CHECK_INT(ni->holes, 1);
	p3l_target_end(&living, ni, op, PTL_NI_OK);
	p3l_reap(&owner, ni);
	CHECK_INT(ni->holes, 0);
	CHECK_INT(p3l_eq_read(&owner, ni, eq.idx, &ev, true), -1);	/* says so */
	while (kind() != -1)
		;
	CHECK(p3l_eq_idle(ni, eq.idx));
	p3l_target_end(&owner, ni, begin(&owner), PTL_NI_OK);
	CHECK_INT(kind(), PTL_EVENT_PUT_END);
}

/*
 * A record that was lent to the guest is not its initiator's: that one may die. When the guest does, at whatever step, the
 * operation ends as that of any dead mover, and the MD can go.
 */
static void t_a_lent_record_is_the_guests(void)
{
	static const uint32_t steps[] = { P3L_OP_MOVE, P3L_OP_END, P3L_OP_LEAVE };
	struct p3l_op *op;

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		fresh(0);
		op = begin(&dead);
		op->lockless = P3L_LENT;
		c_dead[1] = true;
		CHECK_INT(p3l_reap(&owner, ni), 0);
		CHECK_INT(op->state, P3L_OP_MOVE);
		CHECK_INT(p3l_md(ni, md.idx)->pending, 1);
		c_dead[1] = i;			/* or it lives, and only the guest does not */
		c_dead[p3l_slots(ni) - 1] = true;
		op->state = steps[i];
		CHECK_INT(p3l_reap(&owner, ni), 1);
		CHECK_INT(op->state, P3L_OP_IDLE);
		CHECK_INT(p3l_md(ni, md.idx)->pending, 0);
		CHECK_INT(kind(), PTL_EVENT_PUT_START);
		CHECK_INT(kind(), steps[i] == P3L_OP_LEAVE ? -1 : PTL_EVENT_PUT_END);
		/* what is begun in that record later is its row's again, whatever stands there from before */
		op->state = P3L_OP_TAKEN;
		CHECK(!p3l_lent(op));
	}
}

static void t_nobody_dead_nothing_done(void)
{
	struct p3l_op *op;

	fresh(0);
	op = begin(&living);
	CHECK_INT(p3l_reap(&owner, ni), 0);
	CHECK_INT(op->state, P3L_OP_MOVE);
	CHECK_INT(ni->reap_lock, 0);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_one_that_is_just_leaving_is_waited_for), T(t_tickets_of_the_living_are_theirs),
		T(t_a_ticket_just_reserved_is_not_taken_for_lost),
		T(t_a_lost_ticket_does_not_stop_the_queue), T(t_a_stopped_writer_costs_events_not_the_queue),
		T(t_a_lent_record_is_the_guests), T(t_nobody_dead_nothing_done), { 0 } };

	return t_run(cases);
}

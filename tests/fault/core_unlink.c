/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_unlink.c - an owner that unlinks a descriptor for one message at any moment of that message
 *
 * The core is compiled with P3_FAULT. At each P3L_POINT of a mover, in turn, the owner tries; but not where the mover
 * holds the list's lock, which the owner would wait for. PTL_OK means that there was no message and will be no event of
 * one, whatever the moment: who cancels a receive relies on it. (Movers that die there: core_die.)
 */
#include "../common/tap.h"
#include "../unit/core_env.h"

enum { PT = 3, OWNER = 0, MOVER = 2, MANY = 200 };

static struct p3l_ni *ni;
static struct p3l_env owner, mover;
static struct p3l_ref md;
static int points, turn, rc, seen_spent;
static bool tried, armed;

void p3l_point(const char *where)
{
	if (!armed || points++ != turn || p3_load(&ni->pt[PT].lock))
		return;
	armed = false;
	tried = true;
	seen_spent += !strcmp(where, "unpended");
	rc = p3l_md_unlink(&owner, ni, md);
	armed = true;
}

static void message(void)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, MOVER, PT, 1, 8);
	struct p3l_op *op = p3l_op_get(&mover, ni);

	if (!op)
		bail("no record");
	p3l_point("sent");
	if (p3l_target_begin(&mover, ni, &h, op, false) == P3L_MATCHED)
		p3l_target_end(&mover, ni, op, PTL_NI_OK);
}

static int events(struct p3l_ref eq)
{
	struct p3l_slot ev;
	int n = 0;

	while (p3l_eq_read(&owner, ni, eq.idx, &ev, true) == 1)
		n += (ev.kind_fail & 15) == PTL_EVENT_PUT_END;
	return n;
}

static void one(unsigned options)
{
	struct p3l_setup s = c_setup();
	ptl_md_t v = c_md(0x1000, 64, 1, PTL_MD_OP_PUT | options);
	struct p3l_ref eq, me;
	struct p3l_md_args a;
	int n;

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	owner = c_env(OWNER, false);
	mover = c_env(MOVER, false);
	REQUIRE_INT(p3l_eq_alloc(&owner, ni, 64, &eq), PTL_OK);
	a = c_args(&v, &eq);
	REQUIRE_INT(p3l_memd_attach(&owner, ni, PT, C_ANY, 0, ~0ull, PTL_UNLINK, PTL_INS_AFTER, &a, PTL_UNLINK, &me,
				    &md), PTL_OK);
	points = 0;
	tried = false;
	armed = true;
	message();
	armed = false;
	n = events(eq);
	CHECK(n == 0 || n == 1);
	if (tried && (rc == PTL_OK) != (n == 0)) {
		CHECK(!"unlinked, or had a message: one of them");
		diag("at point %d: %d, and %d events", turn, rc, n);
	}
	CHECK_INT(p3l_md_unlink(&owner, ni, md), PTL_MD_INVALID);	/* it is gone, by whomever */
	CHECK_INT(c_md_used_count(ni), 0);
	CHECK_INT(c_me_used_count(ni), 0);
}

static void at_each_point(unsigned options)
{
	int tries = 0, in_time = 0;

	seen_spent = 0;
	for (turn = 0; turn < MANY && !t_bad_; turn++) {
		one(options);
		tries += tried;
		in_time += tried && rc == PTL_OK;
		if (points <= turn)
			break;
	}
	CHECK(turn < MANY && tries > 5 && in_time > 0 && in_time < tries);
	CHECK_INT(seen_spent, 1);		/* the event is there, and nobody has unlinked yet */
}

static void t_an_unlink_at_each_moment_of_a_message(void)
{
	at_each_point(PTL_MD_EVENT_START_DISABLE);
}

static void t_an_unlink_at_each_moment_of_a_message_that_says_its_start(void)
{
	at_each_point(0);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_an_unlink_at_each_moment_of_a_message),
					       T(t_an_unlink_at_each_moment_of_a_message_that_says_its_start), { 0 } };

	return t_run(cases);
}

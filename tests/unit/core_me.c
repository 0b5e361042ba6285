/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_me.c - match entries: place in the list, limits, stale handles */
#include "../common/tap.h"
#include "core_env.h"

static struct p3l_ni *ni;
static struct p3l_env env;

static int add(uint32_t pt, uint64_t bits, ptl_ins_pos_t pos, struct p3l_ref *r)
{
	return p3l_me_attach(&env, ni, pt, C_ANY, bits, 0, PTL_RETAIN, pos, r);
}

/* The list as a number: one decimal digit (the bits) per entry. */
static long order(uint32_t pt)
{
	long n = 0;

	CHECK(c_list_ok(ni, pt));
	for (uint32_t i = ni->pt[pt].head; i; i = p3l_me(ni, i - 1)->next)
		n = n * 10 + (long)p3l_me(ni, i - 1)->match_bits;
	return n;
}

static void fresh(void)
{
	struct p3l_setup s = c_setup();

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	env = c_env(0, false);
}

static void t_attach_head_and_tail(void)
{
	struct p3l_ref r;

	fresh();
	CHECK_INT(add(3, 1, PTL_INS_AFTER, &r), PTL_OK);
	CHECK_INT(add(3, 2, PTL_INS_AFTER, &r), PTL_OK);
	CHECK_INT(add(3, 3, PTL_INS_BEFORE, &r), PTL_OK);
	CHECK_INT(add(4, 9, PTL_INS_BEFORE, &r), PTL_OK);
	CHECK_INT(order(3), 312);
	CHECK_INT(order(4), 9);
}

static void t_insert_before_and_after_any_entry(void)
{
	struct p3l_ref a, b, r;

	fresh();
	add(0, 1, PTL_INS_AFTER, &a);
	add(0, 2, PTL_INS_AFTER, &b);
	CHECK_INT(p3l_me_insert(&env, ni, a, C_ANY, 3, 0, PTL_RETAIN, PTL_INS_BEFORE, &r), PTL_OK);
	CHECK_INT(p3l_me_insert(&env, ni, a, C_ANY, 4, 0, PTL_RETAIN, PTL_INS_AFTER, &r), PTL_OK);
	CHECK_INT(p3l_me_insert(&env, ni, b, C_ANY, 5, 0, PTL_RETAIN, PTL_INS_AFTER, &r), PTL_OK);
	CHECK_INT(p3l_me_insert(&env, ni, b, C_ANY, 6, 0, PTL_RETAIN, PTL_INS_BEFORE, &r), PTL_OK);
	CHECK_INT(order(0), 314625);
	CHECK_INT(p3l_me_unlink(&env, ni, a), PTL_OK);
	CHECK_INT(p3l_me_unlink(&env, ni, b), PTL_OK);
	CHECK_INT(order(0), 3465);
}

static void t_limits_leave_nothing_behind(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ref r[64], x = { 77, 77 };

	fresh();
	for (uint32_t i = 0; i < s.max_me_list; i++)
		CHECK_INT(add(1, i, PTL_INS_AFTER, &r[i]), PTL_OK);
	CHECK_INT(add(1, 1, PTL_INS_AFTER, &x), PTL_ME_LIST_TOO_LONG);
	CHECK_INT(p3l_me_insert(&env, ni, r[0], C_ANY, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &x), PTL_ME_LIST_TOO_LONG);
	CHECK_INT(x.idx, 77);
	for (uint32_t i = s.max_me_list; i < s.max_me; i++)
		CHECK_INT(add(2, i, PTL_INS_AFTER, &r[i]), PTL_OK);
	CHECK_INT(add(3, 1, PTL_INS_AFTER, &x), PTL_NO_SPACE);
	CHECK_INT(add(s.max_pt + 1, 1, PTL_INS_AFTER, &x), PTL_PT_INDEX_INVALID);
	CHECK(c_pools_ok(ni));
	for (uint32_t i = 0; i < s.max_me; i++)
		CHECK_INT(p3l_me_unlink(&env, ni, r[i]), PTL_OK);
	CHECK(c_pools_ok(ni) && c_me_free_count(ni) == s.max_me);
	CHECK(!ni->pt[1].head && !ni->pt[2].head);
}

static void t_stale_and_wrong_handles_are_refused(void)
{
	struct p3l_ref a, b, r;

	fresh();
	add(0, 1, PTL_INS_AFTER, &a);
	CHECK_INT(p3l_me_unlink(&env, ni, a), PTL_OK);
	CHECK_INT(p3l_me_unlink(&env, ni, a), PTL_ME_INVALID);
	add(0, 2, PTL_INS_AFTER, &b);
	CHECK_INT(b.idx, a.idx);
	CHECK(b.gen != a.gen);
	CHECK_INT(p3l_me_unlink(&env, ni, a), PTL_ME_INVALID);
	CHECK_INT(p3l_me_insert(&env, ni, a, C_ANY, 3, 0, PTL_RETAIN, PTL_INS_BEFORE, &r), PTL_ME_INVALID);
	CHECK_INT(p3l_me_unlink(&env, ni, (struct p3l_ref){ 63, 0 }), PTL_ME_INVALID);
	CHECK_INT(p3l_me_unlink(&env, ni, (struct p3l_ref){ 64, 0 }), PTL_ME_INVALID);
	CHECK_INT(p3l_me_unlink(&env, ni, (struct p3l_ref){ 0xffff, 0 }), PTL_ME_INVALID);
	CHECK_INT(order(0), 2);
	CHECK(c_pools_ok(ni));
}

static void t_unlink_takes_the_md_along_without_event(void)
{
	ptl_md_t v = c_md(0x1000, 64, 3, PTL_MD_OP_PUT);
	struct p3l_ref me, md, eq;
	struct p3l_slot ev;
	struct p3l_md_args a;

	fresh();
	CHECK_INT(p3l_eq_alloc(&env, ni, 8, &eq), PTL_OK);
	a = c_args(&v, &eq);
	add(0, 1, PTL_INS_AFTER, &me);
	CHECK_INT(p3l_md_attach(&env, ni, me, &a, PTL_RETAIN, &md), PTL_OK);
	CHECK_INT(p3l_md_attach(&env, ni, me, &a, PTL_RETAIN, &md), PTL_ME_IN_USE);
	CHECK_INT(p3l_me_unlink(&env, ni, me), PTL_OK);
	CHECK_INT(p3l_md_unlink(&env, ni, md), PTL_MD_INVALID);
	CHECK_INT(p3l_eq_read(&env, ni, eq.idx, &ev, true), 0);
	CHECK(c_pools_ok(ni) && c_md_used_count(ni) == 0);
}

static void t_attach_where_nothing_is(void)
{
	struct p3l_ref a, b;

	fresh();
	CHECK_INT(p3l_me_attach_first(&env, ni, 2, C_ANY, 1, 0, PTL_RETAIN, &a), PTL_OK);
	CHECK_INT(p3l_me_attach_first(&env, ni, 2, C_ANY, 2, 0, PTL_RETAIN, &b), P3L_TAKEN);
	CHECK_INT(order(2), 1);
	CHECK(c_pools_ok(ni));
	CHECK_INT(p3l_me_unlink(&env, ni, a), PTL_OK);
	CHECK_INT(p3l_me_attach_first(&env, ni, 2, C_ANY, 3, 0, PTL_RETAIN, &b), PTL_OK);
	CHECK_INT(order(2), 3);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_attach_head_and_tail), T(t_insert_before_and_after_any_entry),
					       T(t_attach_where_nothing_is),
					       T(t_limits_leave_nothing_behind), T(t_stale_and_wrong_handles_are_refused),
					       T(t_unlink_takes_the_md_along_without_event), { 0 } };

	return t_run(cases);
}

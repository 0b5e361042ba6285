/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_md.c - memory descriptors: making, updating and unlinking them; how long an unread event keeps one */
#include "../common/tap.h"
#include "core_env.h"

static struct p3l_ni *ni;
static struct p3l_env env;
static struct p3l_ref eq;

static void fresh(void)
{
	struct p3l_setup s = c_setup();

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	env = c_env(0, false);
	REQUIRE_INT(p3l_eq_alloc(&env, ni, 8, &eq), PTL_OK);
}

static struct p3l_ref bind(ptl_md_t v, ptl_unlink_t op)
{
	struct p3l_md_args a = c_args(&v, &eq);
	struct p3l_ref r = { 0, 0 };

	CHECK_INT(p3l_md_bind(&env, ni, &a, op, &r), PTL_OK);
	return r;
}

static void send(struct p3l_ref md)
{
	struct p3l_send s = { .md = md, .len = P3L_WHOLE };

	CHECK_INT(p3l_send_begin(&env, ni, &s), PTL_OK);
	p3l_send_end(&env, ni, &s, PTL_NI_OK);
}

static int drain(void)
{
	struct p3l_slot ev;
	int n = 0;

	while (p3l_eq_read(&env, ni, eq.idx, &ev, true))
		n++;
	return n;
}

static void t_a_region_that_wraps_is_illegal(void)
{
	ptl_md_t v = c_md(~0ULL - 10, 11, 1, 0);
	struct p3l_md_args a = c_args(&v, NULL);
	struct p3l_ref r;

	fresh();
	CHECK_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &r), PTL_MD_ILLEGAL);
	v.length = 10;
	CHECK_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &r), PTL_OK);
}

static void t_a_vector_is_copied_and_summed(void)
{
	struct p3l_iov iov[3] = { { 0x1000, 10 }, { 0x2000, 0 }, { 0x3000, 20 } };
	ptl_md_t v = c_md(0x77, 3, 1, PTL_MD_IOVEC), old;
	struct p3l_md_args a = { .md = &v, .iov = iov };
	struct p3l_iov back[3];
	struct p3l_ref r;

	fresh();
	CHECK_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &r), PTL_OK);
	CHECK_INT(p3l_md(ni, r.idx)->length, 30);
	iov[0].base = 0;
	CHECK_INT(p3l_md_update(&env, ni, r, &old, back, 2, NULL, -1), PTL_OK);
	CHECK_INT(back[0].base, 0x1000);
	CHECK_INT(back[1].base, 0x2000);
	CHECK_INT((uintptr_t)old.start, 0x77);
	CHECK_INT(old.length, 3);
	v.length = ni->max_iov + 1;
	CHECK_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &r), PTL_MD_ILLEGAL);
	v.length = 2;
	iov[0].len = iov[1].len = (uint64_t)INT64_MAX;
	CHECK_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &r), PTL_MD_ILLEGAL);
	CHECK(c_pools_ok(ni));
}

static void t_vectors_give_their_space_back(void)
{
	struct p3l_iov iov[16] = { { 0, 0 } };
	ptl_md_t v = c_md(0, 16, 1, PTL_MD_IOVEC);
	struct p3l_md_args a = { .md = &v, .iov = iov };
	struct p3l_ref r;
	uint64_t space;

	fresh();
	CHECK_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &r), PTL_OK);
	space = c_taken(ni);
	for (int i = 0; i < 1000; i++) {
		CHECK_INT(p3l_md_update(&env, ni, r, NULL, NULL, 0, &a, -1), PTL_OK);
		CHECK_INT(p3l_md_unlink(&env, ni, r), PTL_OK);
		CHECK_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &r), PTL_OK);
	}
	CHECK_INT(c_taken(ni), space);
}

/* Updated while an operation walks it, with and without a queue: it is kept until that has ended, not longer. */
static void t_a_vector_in_use_outlives_an_update(void)
{
	for (int queue = 0; queue < 2; queue++) {
		struct p3l_iov iov[16] = { { 0, 0 } };
		ptl_md_t v = c_md(0, 16, PTL_MD_THRESH_INF, PTL_MD_IOVEC | PTL_MD_OP_PUT);
		struct p3l_md_args a = { .md = &v, .iov = iov };
		struct p3l_env mover = c_env(1, false);
		struct p3l_ref me, md;
		uint64_t taken, was, at;

		fresh();
		if (queue)
			a.eq = (eq.idx + 1) | eq.gen << 16;
		iov[3] = (struct p3l_iov){ 0x1000, 64 };
		CHECK_INT(p3l_memd_attach(&env, ni, 3, C_ANY, 0, ~0ULL, PTL_UNLINK, PTL_INS_AFTER, &a, PTL_UNLINK, &me,
					  &md), PTL_OK);
		taken = c_taken(ni);
		for (int i = 0; i < (queue ? 40 : 200); i++) {	/* keepers: 64 at most */
			struct p3l_hdr h = c_hdr(P3L_PUT, 1, 3, 0, 8);
			struct p3l_op *op = p3l_op_get(&mover, ni);
			struct p3l_slot ev;

			CHECK_INT(p3l_target_begin(&mover, ni, &h, op, false), P3L_MATCHED);
			was = p3l_md(ni, md.idx)->iov;
			CHECK_INT(op->iov, was);
			CHECK_INT(p3l_md_update(&env, ni, md, NULL, NULL, 0, &a, -1), PTL_OK);
			CHECK(p3l_md(ni, md.idx)->iov != was);
			while ((at = p3l_md_room(ni, 8)))	/* takes all there is, but that */
				memset((char *)ni + at, 0xee, 256);
			CHECK_INT(((struct p3l_iov *)(void *)((char *)ni + was))[3].base, 0x1000);
			p3l_target_end(&mover, ni, op, PTL_NI_OK);
			while (queue && p3l_eq_read(&env, ni, eq.idx, &ev, true))
				;
			CHECK_INT(p3l_md_room(ni, 8), was);
			for (at = ni->space; at < ni->size; at += 256)	/* all but the MD's and the queue's */
				if (at != p3l_md(ni, md.idx)->iov)
					p3l_space_free(ni, at, 8);
			CHECK_INT(c_taken(ni), taken);
		}
	}
}

static void t_an_unread_event_keeps_the_slot_of_its_md(void)
{
	ptl_md_t v = c_md(0x1000, 8, PTL_MD_THRESH_INF, 0);
	struct p3l_ref a, b;

	fresh();
	a = bind(v, PTL_RETAIN);
	send(a);
	CHECK_INT(p3l_md_unlink(&env, ni, a), PTL_OK);
	for (uint32_t i = 1; i < ni->max_md; i++) {
		b = bind(v, PTL_RETAIN);
		CHECK(b.idx != a.idx);
	}
	{
		struct p3l_md_args args = c_args(&v, &eq);

		CHECK_INT(p3l_md_bind(&env, ni, &args, PTL_RETAIN, &b), PTL_NO_SPACE);
	}
	CHECK_INT(drain(), 2);
	b = bind(v, PTL_RETAIN);
	CHECK_INT(b.idx, a.idx);
	CHECK(c_pools_ok(ni));
}

static void t_a_queue_that_nobody_reads_does_not_hold_up_the_others(void)
{
	ptl_md_t v = c_md(0x1000, 8, PTL_MD_THRESH_INF, 0);
	struct p3l_ref silent, other, md[2], r;
	struct p3l_md_args a;

	fresh();
	other = eq;
	CHECK_INT(p3l_eq_alloc(&env, ni, 8, &silent), PTL_OK);
	eq = silent;
	md[0] = bind(v, PTL_RETAIN);
	send(md[0]);
	eq = other;
	md[1] = bind(v, PTL_RETAIN);
	send(md[1]);
	CHECK_INT(p3l_md_unlink(&env, ni, md[1]), PTL_OK);
	CHECK_INT(p3l_md_unlink(&env, ni, md[0]), PTL_OK);
	for (uint32_t i = 2; i < ni->max_md; i++)
		bind(v, PTL_RETAIN);
	a = c_args(&v, &eq);
	CHECK_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &r), PTL_NO_SPACE);
	drain();
	CHECK_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &r), PTL_OK);
	CHECK_INT(r.idx, md[1].idx);
}

static void t_update_forgets_no_unread_event(void)
{
	ptl_md_t v = c_md(0x1000, 8, PTL_MD_THRESH_INF, 0);
	struct p3l_md_args a;
	struct p3l_ref r, b;

	fresh();
	for (int other = 0; other < 2; other++) {	/* same queue, then another */
		r = bind(v, PTL_RETAIN);
		send(r);
		a = c_args(&v, other ? NULL : &eq);
		CHECK_INT(p3l_md_update(&env, ni, r, NULL, NULL, 0, &a, -1), PTL_OK);
		CHECK_INT(p3l_md_unlink(&env, ni, r), PTL_OK);
		b = bind(v, PTL_RETAIN);
		CHECK(b.idx != r.idx);
		drain();
	}
}

/* A queue that is not read wraps: an event that nobody can read any more holds no descriptor. */
static void t_overwritten_events_name_nobody(void)
{
	ptl_md_t v = c_md(0x1000, 8, PTL_MD_THRESH_INF, 0);

	fresh();
	for (uint32_t i = 0; i < 3 * ni->max_md; i++) {
		struct p3l_ref r = bind(v, PTL_RETAIN);

		send(r);
		REQUIRE_INT(p3l_md_unlink(&env, ni, r), PTL_OK);
	}
	drain();
}

/* More than 65,536 sends to processes that do not read: the descriptor is in use, until it cannot be counted. */
static void t_many_sends_in_progress_are_counted(void)
{
	ptl_md_t v = c_md(0x1000, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE);
	struct p3l_send s = { .len = P3L_WHOLE };
	uint32_t n = 0;
	int rc;

	fresh();
	s.md = bind(v, PTL_RETAIN);
	while ((rc = p3l_send_begin(&env, ni, &s)) == PTL_OK && n < 1u << 21)
		if (++n % 0x8000 == 0)
			REQUIRE_INT(p3l_md_unlink(&env, ni, s.md), PTL_MD_IN_USE);
	CHECK_INT(rc, PTL_NO_SPACE);
	CHECK(n > 1000000);
	while (n--)
		p3l_send_end(&env, ni, &s, PTL_NI_OK);
	CHECK_INT(p3l_md_unlink(&env, ni, s.md), PTL_OK);
}

static void t_a_send_without_a_queue_is_in_progress_as_well(void)
{
	ptl_md_t v = c_md(0x1000, 8, PTL_MD_THRESH_INF, 0);
	struct p3l_send s = { .len = 8, .whole = true };
	struct p3l_md_args a = c_args(&v, NULL);

	fresh();
	REQUIRE_INT(p3l_md_bind(&env, ni, &a, PTL_RETAIN, &s.md), PTL_OK);
	CHECK_INT(p3l_send_begin(&env, ni, &s), PTL_OK);
	CHECK_INT(p3l_md_unlink(&env, ni, s.md), PTL_MD_IN_USE);
	p3l_send_end(&env, ni, &s, PTL_NI_OK);
	v.length = 16;
	CHECK_INT(p3l_md_update(&env, ni, s.md, NULL, NULL, 0, &a, -1), PTL_OK);
	CHECK_INT(p3l_send_begin(&env, ni, &s), P3L_AGAIN);	/* there was room for 8 */
	s.whole = false;
	CHECK_INT(p3l_send_begin(&env, ni, &s), PTL_OK);
	p3l_send_end(&env, ni, &s, PTL_NI_OK);
	CHECK_INT(p3l_md_unlink(&env, ni, s.md), PTL_OK);
}

static void t_update_asks_the_queue_and_operations_in_progress(void)
{
	ptl_md_t v = c_md(0x1000, 8, 5, 0);
	struct p3l_send s = { .len = P3L_WHOLE };
	struct p3l_md_args a;
	ptl_md_t old;

	fresh();
	a = c_args(&v, &eq);
	s.md = bind(v, PTL_RETAIN);
	CHECK_INT(p3l_md_update(&env, ni, s.md, NULL, NULL, 0, &a, (int)eq.idx), PTL_OK);
	CHECK_INT(p3l_send_begin(&env, ni, &s), PTL_OK);
	v.threshold = 9;
	CHECK_INT(p3l_md_update(&env, ni, s.md, &old, NULL, 0, &a, (int)eq.idx), PTL_MD_NO_UPDATE);
	CHECK_INT(old.threshold, 4);
	CHECK_INT(drain(), 1);
	CHECK_INT(p3l_md_update(&env, ni, s.md, &old, NULL, 0, &a, (int)eq.idx), PTL_MD_NO_UPDATE);
	CHECK_INT(p3l_md_unlink(&env, ni, s.md), PTL_MD_IN_USE);
	p3l_send_end(&env, ni, &s, PTL_NI_OK);
	CHECK_INT(p3l_md_update(&env, ni, s.md, &old, NULL, 0, &a, (int)eq.idx), PTL_MD_NO_UPDATE);
	CHECK_INT(drain(), 1);
	CHECK_INT(p3l_md_update(&env, ni, s.md, &old, NULL, 0, &a, (int)eq.idx), PTL_OK);
	CHECK_INT(p3l_md(ni, s.md.idx)->threshold, 9);
}

static void t_post_is_all_or_nothing(void)
{
	ptl_md_t v = c_md(0x1000, 8, 5, PTL_MD_OP_PUT);
	struct p3l_ref base, me = { 99, 99 }, md = { 99, 99 }, test;
	struct p3l_md_args a;

	fresh();
	a = c_args(&v, &eq);
	CHECK_INT(p3l_eq_alloc(&env, ni, 2, &test), PTL_OK);
	p3l_me_attach(&env, ni, 0, C_ANY, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &base);
	p3l_eq_reserve(ni, test.idx);	/* promised is not empty */
	CHECK_INT(p3l_memd_post(&env, ni, base, C_ANY, 1, 0, PTL_UNLINK, PTL_INS_BEFORE, &a, PTL_UNLINK, (int)test.idx,
				&me, &md), PTL_MD_NO_UPDATE);
	CHECK_INT(me.idx, 99);
	CHECK(c_pools_ok(ni) && c_md_used_count(ni) == 0 && c_me_used_count(ni) == 1);
	CHECK_INT(p3l_memd_post(&env, ni, base, C_ANY, 1, 0, PTL_UNLINK, PTL_INS_BEFORE, &a, PTL_UNLINK, (int)eq.idx,
				&me, &md), PTL_OK);
	CHECK_INT(p3l_me(ni, me.idx)->md, md.idx + 1);
	CHECK_INT(ni->pt[0].head, me.idx + 1);
	CHECK_INT(p3l_md_unlink(&env, ni, md), PTL_OK);	/* its entry is PTL_UNLINK: goes too */
	CHECK_INT(p3l_me_unlink(&env, ni, me), PTL_ME_INVALID);
	CHECK_INT(p3l_memd_post(&env, ni, me, C_ANY, 1, 0, PTL_UNLINK, PTL_INS_BEFORE, &a, PTL_UNLINK, -1, &me, &md),
		  PTL_ME_INVALID);
	CHECK(c_pools_ok(ni) && c_list_ok(ni, 0));
}

static void t_stale_and_wrong_handles_are_refused(void)
{
	ptl_md_t v = c_md(0x1000, 8, 5, PTL_MD_OP_PUT);
	struct p3l_ref r;

	fresh();
	r = bind(v, PTL_RETAIN);
	CHECK_INT(p3l_md_unlink(&env, ni, (struct p3l_ref){ r.idx, r.gen + 1 }), PTL_MD_INVALID);
	CHECK_INT(p3l_md_unlink(&env, ni, (struct p3l_ref){ 64, 0 }), PTL_MD_INVALID);
	CHECK_INT(p3l_md_unlink(&env, ni, (struct p3l_ref){ 0xffff, 0 }), PTL_MD_INVALID);
	CHECK_INT(p3l_md_unlink(&env, ni, (struct p3l_ref){ r.idx + 1, 0 }), PTL_MD_INVALID);
	CHECK_INT(p3l_md_unlink(&env, ni, r), PTL_OK);
	CHECK_INT(p3l_md_unlink(&env, ni, r), PTL_MD_INVALID);
	CHECK_INT(p3l_md_update(&env, ni, r, NULL, NULL, 0, NULL, -1), PTL_MD_INVALID);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_a_region_that_wraps_is_illegal), T(t_a_vector_is_copied_and_summed),
		T(t_vectors_give_their_space_back),
		T(t_a_vector_in_use_outlives_an_update), T(t_an_unread_event_keeps_the_slot_of_its_md),
		T(t_a_queue_that_nobody_reads_does_not_hold_up_the_others), T(t_update_forgets_no_unread_event),
		T(t_overwritten_events_name_nobody), T(t_many_sends_in_progress_are_counted),
		T(t_a_send_without_a_queue_is_in_progress_as_well),
		T(t_update_asks_the_queue_and_operations_in_progress), T(t_post_is_all_or_nothing),
		T(t_stale_and_wrong_handles_are_refused), { 0 } };

	return t_run(cases);
}

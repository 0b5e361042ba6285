/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_own.c - the initiator's side: sends, acks, replies, and what each costs its MD */
#include "../common/tap.h"
#include "core_env.h"

static struct p3l_ni *ni;
static struct p3l_env env;
static struct p3l_ref eq;

static struct p3l_ref fresh(ptl_md_t v, bool queue, ptl_unlink_t op)
{
	struct p3l_setup s = c_setup();
	struct p3l_ref r = { 0, 0 };
	struct p3l_md_args a;

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	env = c_env(0, false);
	CHECK_INT(p3l_eq_alloc(&env, ni, 16, &eq), PTL_OK);
	a = c_args(&v, queue ? &eq : NULL);
	CHECK_INT(p3l_md_bind(&env, ni, &a, op, &r), PTL_OK);
	return r;
}

static int next(struct p3l_slot *ev)
{
	return p3l_eq_read(&env, ni, eq.idx, ev, true) ? ev->kind_fail & 15 : -1;
}

static int send(struct p3l_ref md, uint64_t off, uint64_t len)
{
	struct p3l_send s = { .md = md, .len = len, .loff = off, .match_bits = 3, .hdr_data = 4, .pt = 5 };
	int rc = p3l_send_begin(&env, ni, &s);

	if (rc == PTL_OK)
		p3l_send_end(&env, ni, &s, PTL_NI_OK);
	return rc;
}

static void t_a_send_costs_one_and_logs_a_pair(void)
{
	struct p3l_ref md = fresh(c_md(0x1000, 64, 2, 0), true, PTL_RETAIN);
	struct p3l_slot a, b;

	CHECK_INT(send(md, 8, 16), PTL_OK);
	CHECK_INT(next(&a), PTL_EVENT_SEND_START);
	CHECK_INT(next(&b), PTL_EVENT_SEND_END);
	CHECK_INT(a.link, b.link);
	CHECK_INT(b.offset, 8);
	CHECK_INT(b.rlength, 16);
	CHECK_INT(b.mlength, 16);
	CHECK_INT(b.threshold, 1);
	CHECK_INT(send(md, 0, P3L_WHOLE), PTL_OK);
	CHECK_INT(send(md, 0, P3L_WHOLE), PTL_MD_INVALID);
	CHECK_INT(p3l_row(ni, 0)->stats.send_count, 2);
	CHECK_INT(p3l_row(ni, 0)->stats.send_length, 80);
}

static void t_a_region_outside_costs_nothing(void)
{
	for (int plain = 0; plain < 2; plain++) {
		struct p3l_ref md = fresh(c_md(0x1000, 64, plain ? PTL_MD_THRESH_INF : 2, 0), !plain, PTL_RETAIN);

		CHECK_INT(send(md, 64, 0), PTL_OK);
		CHECK_INT(send(md, 65, 0), PTL_MD_ILLEGAL);
		CHECK_INT(send(md, 1, 64), PTL_MD_ILLEGAL);
		CHECK_INT(send(md, ~0ULL, 2), PTL_MD_ILLEGAL);
		CHECK_INT(send(md, 2, ~0ULL - 1), PTL_MD_ILLEGAL);
		CHECK_INT(p3l_md(ni, md.idx)->threshold, plain ? PTL_MD_THRESH_INF : 1);
		CHECK_INT(p3l_md(ni, md.idx)->pending, 0);
	}
}

static void t_ack_after_the_send_spends_the_md(void)
{
	struct p3l_ref md = fresh(c_md(0x1000, 64, 2, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE), true,
				  PTL_UNLINK);
	struct p3l_slot ev;

	CHECK_INT(send(md, 0, P3L_WHOLE), PTL_OK);
	CHECK_INT(next(&ev), -1);
	p3l_ack(&env, ni, md, 3, 5, 77, 11, 64, 60);
	CHECK_INT(next(&ev), PTL_EVENT_ACK);	/* neither START nor END */
	CHECK_INT(ev.match_bits, 77);
	CHECK_INT(ev.rlength, 64);
	CHECK_INT(ev.mlength, 60);
	CHECK_INT(ev.offset, 11);
	CHECK_INT(ev.initiator, 3);
	CHECK_INT(next(&ev), PTL_EVENT_UNLINK);
	CHECK_INT(p3l_row(ni, 0)->stats.drop_count, 0);
	p3l_ack(&env, ni, md, 3, 5, 77, 11, 64, 60);
	CHECK_INT(p3l_row(ni, 0)->stats.drop_count, 1);
	CHECK(c_pools_ok(ni) && !c_md_used_count(ni));
}

static void t_a_reply_is_cut_never_refused_for_length(void)
{
	struct p3l_ref md = fresh(c_md(0x1000, 64, 2, 0), true, PTL_RETAIN);
	struct p3l_reply r = { .md = md, .off = 60, .mlength = 16, .rlength = 16, .target_slot = 2, .match_bits = 9 };
	struct p3l_slot a, b;

	CHECK(p3l_reply_begin(&env, ni, &r));
	CHECK_INT(r.mlength, 4);
	CHECK_INT(p3l_md_unlink(&env, ni, md), PTL_MD_IN_USE);
	p3l_reply_end(&env, ni, &r, PTL_NI_OK);
	CHECK_INT(next(&a), PTL_EVENT_REPLY_START);
	CHECK_INT(next(&b), PTL_EVENT_REPLY_END);
	CHECK_INT(a.link, b.link);
	CHECK_INT(b.match_bits, 9);
	CHECK_INT(b.initiator, 2);
	r.off = 65;
	r.mlength = 1;
	CHECK(p3l_reply_begin(&env, ni, &r));
	CHECK_INT(r.mlength, 0);
	p3l_reply_end(&env, ni, &r, PTL_NI_OK);
	CHECK(!p3l_reply_begin(&env, ni, &r));	/* inactive */
	CHECK_INT(p3l_row(ni, 0)->stats.drop_count, 1);
	p3l_md_unlink(&env, ni, md);
	CHECK(!p3l_reply_begin(&env, ni, &r));	/* gone */
	CHECK_INT(p3l_row(ni, 0)->stats.drop_count, 2);
}

static void t_max_size_makes_no_difference_to_a_plain_send(void)
{
	ptl_md_t v = c_md(0x1000, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE);
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 0, 0, 60);
	struct p3l_ref md, me;
	struct p3l_md_args a;
	struct p3l_op *op;

	fresh(v, false, PTL_RETAIN);
	v.max_size = 32;
	a = c_args(&v, NULL);
	p3l_me_attach(&env, ni, 0, C_ANY, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
	p3l_md_attach(&env, ni, me, &a, PTL_RETAIN, &md);
	CHECK_INT(send(md, 0, P3L_WHOLE), PTL_OK);
	op = p3l_op_get(&env, ni);
	CHECK_INT(p3l_target_begin(&env, ni, &h, op, false), P3L_MATCHED);
	p3l_target_end(&env, ni, op, 0);
	CHECK_INT(send(md, 0, P3L_WHOLE), PTL_MD_INVALID);	/* used up by the put: inactive for its owner, too */
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_a_send_costs_one_and_logs_a_pair), T(t_a_region_outside_costs_nothing),
		T(t_ack_after_the_send_spends_the_md), T(t_a_reply_is_cut_never_refused_for_length),
		T(t_max_size_makes_no_difference_to_a_plain_send), { 0 } };

	return t_run(cases);
}

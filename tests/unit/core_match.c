/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_match.c - an operation at its target: the rules of section 4 one by one (their mixture: core_random.c) */
#include "../common/tap.h"
#include "core_env.h"

static struct p3l_ni *ni;
static struct p3l_env env;
static struct p3l_ref eq;
static struct p3l_op *op;

static void fresh(void)
{
	struct p3l_setup s = c_setup();

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	env = c_env(1, false);
	REQUIRE_INT(p3l_eq_alloc(&env, ni, 16, &eq), PTL_OK);
}

static struct p3l_ref post(uint32_t pt, ptl_process_id_t id, uint64_t bits, uint64_t ignore, ptl_md_t v, ptl_unlink_t op)
{
	struct p3l_md_args a = c_args(&v, &eq);
	struct p3l_ref me, md = { 0, 0 };

	CHECK_INT(p3l_me_attach(&env, ni, pt, id, bits, ignore, op, PTL_INS_AFTER, &me), PTL_OK);
	CHECK_INT(p3l_md_attach(&env, ni, me, &a, op, &md), PTL_OK);
	return md;
}

static enum p3l_verdict begin(const struct p3l_hdr *h)
{
	op = p3l_op_get(&env, ni);
	return p3l_target_begin(&env, ni, h, op, false);
}

/* MD taken by @h, operation ended; -1: dropped. */
static int hit(const struct p3l_hdr *h)
{
	int md;

	if (begin(h) != P3L_MATCHED)
		return -1;
	md = (int)op->md;
	p3l_target_end(&env, ni, op, PTL_NI_OK);
	return md;
}

static int next_kind(void)
{
	struct p3l_slot ev;

	return p3l_eq_read(&env, ni, eq.idx, &ev, true) ? ev.kind_fail & 15 : -1;
}

static void t_first_match_wins_and_a_failed_test_goes_on(void)
{
	ptl_md_t put = c_md(0x1000, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT), get = put, small = put;
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 2, 0x5, 32);
	struct p3l_ref a;

	fresh();
	get.options = PTL_MD_OP_GET;
	small.length = 8;
	post(2, (ptl_process_id_t){ C_NID, 102 }, 5, 0, put, PTL_RETAIN);	/* another process */
	post(2, C_ANY, 4, 0, put, PTL_RETAIN);					/* other bits */
	post(2, C_ANY, 5, 0, get, PTL_RETAIN);					/* not for puts */
	post(2, C_ANY, 5, 0, small, PTL_RETAIN);				/* too small, no truncation */
	small.threshold = 0;
	post(2, C_ANY, 5, 0, small, PTL_RETAIN);				/* inactive */
	a = post(2, C_ANY, 7, 2, put, PTL_RETAIN);
	post(2, C_ANY, 5, 0, put, PTL_RETAIN);
	CHECK_INT(hit(&h), a.idx);
	h.match_bits = 0xf;
	CHECK_INT(hit(&h), -1);
	CHECK_INT(p3l_row(ni, 1)->stats.drop_count, 1);
	CHECK_INT(p3l_row(ni, 1)->stats.drop_length, 32);
	h = c_hdr(P3L_GETPUT, 1, 2, 5, 8);
	CHECK_INT(hit(&h), -1);							/* needs both */
}

static void t_access_control_and_indices(void)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 0, 0, 0), g;

	fresh();
	post(0, C_ANY, 0, 0, c_md(0, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT), PTL_RETAIN);
	CHECK(hit(&h) >= 0);
#define REFUSED(change) do { g = h; change; CHECK_INT(hit(&g), -1); CHECK_INT(ni->pt[0].lock, 0); } while (0)
	REFUSED(g.pt = ni->max_pt + 1);
	REFUSED(g.pt = ~0u);
	REFUSED(g.ac = ni->max_ac + 1);
	REFUSED(g.ac = ~0u);
	REFUSED(g.uid++);
	ni->ac[1] = (struct p3l_ac){ C_NID, 101, PTL_UID_ANY, C_JID, 0 };
	g = h, g.ac = 1, g.uid = 3;
	CHECK(hit(&g) >= 0);
	REFUSED((g.ac = 1, g.nid++));
	REFUSED((g.ac = 1, g.pid++));
	REFUSED((g.ac = 1, g.jid++));
	REFUSED((g.ac = 1, g.pt = 1));
}

static void t_offsets_and_truncation(void)
{
	static const struct { uint64_t off, len, rlen; unsigned opt; int64_t ml; } v[] = {
		{ 0, 64, 64, 0, 64 }, { 0, 64, 65, 0, -1 }, { 0, 64, 65, PTL_MD_TRUNCATE, 64 },
		{ 64, 64, 0, 0, 0 }, { 64, 64, 1, 0, -1 }, { 64, 64, 1, PTL_MD_TRUNCATE, 0 },
		{ 65, 64, 0, PTL_MD_TRUNCATE, -1 }, { ~0ULL, 64, 2, PTL_MD_TRUNCATE, -1 },
		{ 1, 64, ~0ULL, 0, -1 }, { 1, 64, ~0ULL, PTL_MD_TRUNCATE, 63 }, { 0, 0, 9, PTL_MD_TRUNCATE, 0 } };
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 0, 0, 0);

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		fresh();
		post(0, C_ANY, 0, 0, c_md(0x1000, v[i].len, PTL_MD_THRESH_INF,
					  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | v[i].opt), PTL_RETAIN);
		h.roffset = v[i].off;
		h.rlength = v[i].rlen;
		if (v[i].ml < 0) {
			CHECK_INT(begin(&h), P3L_DROPPED);
			continue;
		}
		REQUIRE_INT(begin(&h), P3L_MATCHED);
		CHECK_INT(op->mlength, v[i].ml);
		CHECK_INT(op->moff, v[i].off);
	}
}

static void t_local_offset_moves_on_and_max_size_retires(void)
{
	ptl_md_t v = c_md(0x1000, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE);
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 0, 0, 40);
	struct p3l_ref md;

	fresh();
	v.max_size = 20;
	md = post(0, C_ANY, 0, 0, v, PTL_UNLINK);
	h.roffset = 77;					/* not used */
	CHECK_INT(begin(&h), P3L_MATCHED);
	CHECK_INT(op->moff, 0);
	p3l_target_end(&env, ni, op, PTL_NI_OK);
	CHECK_INT(begin(&h), P3L_MATCHED);		/* 20 left: exactly max_size, still active */
	CHECK_INT(op->moff, 40);
	p3l_target_end(&env, ni, op, PTL_NI_OK);
	h.rlength = 1;
	CHECK_INT(begin(&h), P3L_MATCHED);
	CHECK_INT(p3l_md_unlink(&env, ni, md), PTL_MD_IN_USE);
	p3l_target_end(&env, ni, op, PTL_NI_OK);
	CHECK_INT(p3l_md_unlink(&env, ni, md), PTL_MD_INVALID);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(next_kind(), PTL_EVENT_PUT_START);
		CHECK_INT(next_kind(), PTL_EVENT_PUT_END);
	}
	CHECK_INT(next_kind(), PTL_EVENT_UNLINK);
	CHECK_INT(next_kind(), -1);
	CHECK(!ni->pt[0].head && c_pools_ok(ni));
}

static void t_the_last_operation_unlinks_whichever_it_is(void)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 0, 0, 8);
	struct p3l_op *first, *second;
	struct p3l_slot ev;
	uint32_t link;

	fresh();
	post(0, C_ANY, 0, 0, c_md(0x1000, 100, 2, PTL_MD_OP_PUT), PTL_UNLINK);
	begin(&h);
	first = op;
	begin(&h);
	second = op;
	link = second->link;
	CHECK_INT(begin(&h), P3L_DROPPED);
	p3l_target_end(&env, ni, second, PTL_NI_OK);
	CHECK_INT(c_md_used_count(ni), 1);
	p3l_target_end(&env, ni, first, PTL_NI_FAIL);
	CHECK_INT(c_md_used_count(ni), 0);
	for (int i = 0; i < 4; i++)
		next_kind();
	CHECK_INT(p3l_eq_read(&env, ni, eq.idx, &ev, true), 1);
	CHECK_INT(ev.kind_fail, PTL_EVENT_UNLINK);
	CHECK_INT(ev.link, link);
}

static void t_ack_only_when_asked_and_well(void)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 0, 0, 8);

	fresh();
	post(0, C_ANY, 0, 0, c_md(0x1000, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET), PTL_RETAIN);
	post(1, C_ANY, 0, 0, c_md(0x1000, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_ACK_DISABLE), PTL_RETAIN);
	begin(&h);
	CHECK(!p3l_target_end(&env, ni, op, PTL_NI_OK));
	h.ack = 1;
	begin(&h);
	CHECK(p3l_target_end(&env, ni, op, PTL_NI_OK));
	begin(&h);
	CHECK(!p3l_target_end(&env, ni, op, PTL_NI_FAIL));
	h.pt = 1;
	begin(&h);
	CHECK(!p3l_target_end(&env, ni, op, PTL_NI_OK));
	h.pt = 0;
	h.type = P3L_GET;
	begin(&h);
	CHECK(!p3l_target_end(&env, ni, op, PTL_NI_OK));
}

static void t_a_full_queue_holds_back_who_may_wait(void)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 0, 0, 1);

	fresh();
	post(0, C_ANY, 0, 0, c_md(0x1000, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT), PTL_RETAIN);
	for (int i = 0; i < 7; i++) {
		op = p3l_op_get(&env, ni);
		CHECK_INT(p3l_target_begin(&env, ni, &h, op, true), P3L_MATCHED);
		p3l_target_end(&env, ni, op, PTL_NI_OK);
	}
	for (int i = 0; i < 5; i++) {	/* now full, later overrun by who may not wait */
		op = p3l_op_get(&env, ni);
		CHECK_INT(p3l_target_begin(&env, ni, &h, op, true), P3L_WAIT);
		CHECK_INT(op->state, P3L_OP_IDLE);
		CHECK_INT(begin(&h), P3L_MATCHED);
		p3l_target_end(&env, ni, op, PTL_NI_OK);
	}
}

static void t_nonsense_in_a_list_is_counted_not_followed(void)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 0, 0, 1);

	fresh();
	post(0, C_ANY, 1, 0, c_md(0x1000, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT), PTL_RETAIN);
	p3l_me(ni, 0)->next = 1;	/* a ring */
	CHECK_INT(hit(&h), -1);
	CHECK_INT(p3l_row(ni, 1)->stats.corrupt, 1);
	p3l_me(ni, 0)->next = P3L_MAX_ME + 1;
	CHECK_INT(hit(&h), -1);
	CHECK_INT(p3l_row(ni, 1)->stats.corrupt, 2);
	p3l_me(ni, 0)->next = 0;
	p3l_me(ni, 0)->md = P3L_MAX_MD + 1;
	h.match_bits = 1;
	CHECK_INT(hit(&h), -1);
	CHECK_INT(p3l_row(ni, 1)->stats.corrupt, 3);
	p3l_me(ni, 0)->md = 1;
	p3l_md(ni, 0)->eq = 0xffff;	/* no such queue: no event, no harm */
	CHECK_INT(hit(&h), 0);
	CHECK_INT(ni->pt[0].lock, 0);
}

static void t_a_mover_has_so_many_records_and_no_more(void)
{
	struct p3l_op *o[P3L_OPS];

	for (int single = 0; single < 2; single++) {
		fresh();
		env.single = single;
		for (int i = 0; i < P3L_OPS; i++) {
			o[i] = p3l_op_get(&env, ni);
			CHECK(o[i] && (!i || o[i] != o[i - 1]));
		}
		CHECK(!p3l_op_get(&env, ni));
		o[3]->state = P3L_OP_IDLE;
		CHECK(p3l_op_get(&env, ni) == o[3]);
	}
}

/* Polled by its owner (slot 0): what others would do there is left to it, and it needs no lock once they are out. */
static void t_a_polled_entry_is_its_owners(void)
{
	struct p3l_hdr put = c_hdr(P3L_PUT, 1, 0, 0, 4), get = c_hdr(P3L_GET, 1, 0, 0, 4);
	struct p3l_env owner = c_env(0, true);
	struct p3l_op *first, *mine;
	struct p3l_ref md;

	fresh();
	md = post(0, C_ANY, 0, 0, c_md(0x1000, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET), PTL_RETAIN);
	CHECK_INT(begin(&put), P3L_MATCHED);		/* on its way when the owner promises */
	first = op;
	CHECK(!p3l_pt_polled_set(&owner, ni, 0, true));
	CHECK(!p3l_pt_alone(&owner, 0));
	CHECK_INT(begin(&put), P3L_WAIT);
	CHECK_INT(op->state, P3L_OP_IDLE);
	CHECK_INT(ni->pt[0].lock, 0);
	CHECK_INT(begin(&get), P3L_DROPPED);
	CHECK_INT(p3l_row(ni, 1)->stats.drop_count, 1);
	mine = p3l_op_get(&owner, ni);			/* the owner goes on meanwhile, with locks */
	CHECK_INT(p3l_target_begin(&owner, ni, &put, mine, true), P3L_MATCHED);
	CHECK(!mine->lockless);
	CHECK_INT(p3l_md(ni, md.idx)->pending, 2);
	p3l_target_end(&env, ni, first, PTL_NI_OK);
	CHECK(p3l_pt_polled_set(&owner, ni, 0, true));
	CHECK(p3l_pt_alone(&owner, 0));
	p3l_target_end(&owner, ni, mine, PTL_NI_OK);
	CHECK_INT(p3l_md(ni, md.idx)->pending, 0);

	mine = p3l_op_get(&owner, ni);
	CHECK_INT(p3l_target_begin(&owner, ni, &get, mine, true), P3L_DROPPED);
	CHECK_INT(p3l_target_begin(&owner, ni, &put, mine, true), P3L_MATCHED);
	CHECK(mine->lockless);
	p3l_target_end(&owner, ni, mine, PTL_NI_OK);
	owner.single = false;				/* its threads still need them */
	CHECK(!p3l_pt_alone(&owner, 0));
	owner.single = true;

	CHECK(p3l_pt_polled_set(&owner, ni, 0, false));
	CHECK(!p3l_pt_alone(&owner, 0));
	CHECK_INT(hit(&put), (int)md.idx);
	CHECK_INT(hit(&get), (int)md.idx);
	CHECK_INT(p3l_md_unlink(&owner, ni, md), PTL_OK);
}

/*
 * A mover that looked at the promise before it was given has a lock until it has looked again, or has left a record:
 * the entry's, or that of its lane. So the owner goes through both (these were held by a mover that is dead).
 */
static void t_who_is_to_be_alone_has_waited_for_each_lock(void)
{
	struct p3l_env owner = c_env(0, true);

	fresh();
	c_dead[1] = true;
	ni->pt[3].lock = 2;
	p3l_lane(ni, 1)->lock = 2;
	CHECK(p3l_pt_polled_set(&owner, ni, 3, true));
	CHECK_INT(ni->pt[3].lock, 0);
	CHECK_INT(p3l_lane(ni, 1)->lock, 0);
	CHECK_INT(p3l_row(ni, 0)->stats.takeovers, 2);
	c_dead[1] = false;
}

static unsigned looks, gone_at;

/* The mover comes on, at last. */
static void leaves_late(unsigned spins)
{
	if (++looks != gone_at)
		return;
	p3_fetch_add(&p3l_md(ni, op->md)->pending, (uint32_t)-1);
	p3_store_rel(&op->state, P3L_OP_IDLE);
}

/* An event is posted before its operation has left: who has read it may unlink, and never hears of the moment between. */
static void t_who_has_only_to_leave_does_not_keep_it_in_use(void)
{
	ptl_md_t v = c_md(0x1000, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, 0, 0, 8);
	struct p3l_env owner = c_env(0, true);
	struct p3l_ref md;

	owner.relax = leaves_late;
	for (unsigned state = P3L_OP_MOVE; state <= P3L_OP_LEAVE; state++)
		for (int dead = 0; dead < 2; dead++) {
			bool busy = dead || (state != P3L_OP_END && state != P3L_OP_LEAVE);

			fresh();
			md = post(0, C_ANY, 0, 0, v, PTL_RETAIN);
			CHECK_INT(begin(&h), P3L_MATCHED);
			p3_store_rel(&op->state, state);
			c_dead[1] = dead;
			looks = 0;
			gone_at = 1000;
			CHECK_INT(p3l_md_unlink(&owner, ni, md), busy ? PTL_MD_IN_USE : PTL_OK);
			CHECK_INT(looks, busy ? 0 : 1000);
			c_dead[1] = false;
		}
	/* two are under way, and one of them has only to leave */
	fresh();
	md = post(0, C_ANY, 0, 0, v, PTL_RETAIN);
	CHECK_INT(begin(&h), P3L_MATCHED);
	CHECK_INT(begin(&h), P3L_MATCHED);
	p3_store_rel(&op->state, P3L_OP_LEAVE);
	looks = 0;
	CHECK_INT(p3l_me_unlink(&owner, ni, (struct p3l_ref){ 0, 0 }), PTL_ME_IN_USE);
	CHECK_INT(looks, 0);
	/* one who is stopped for good is not waited for so long */
	fresh();
	post(0, C_ANY, 0, 0, v, PTL_RETAIN);
	CHECK_INT(begin(&h), P3L_MATCHED);
	p3_store_rel(&op->state, P3L_OP_END);
	gone_at = 0;
	CHECK_INT(p3l_me_unlink(&owner, ni, (struct p3l_ref){ 0, 0 }), PTL_ME_IN_USE);
	CHECK(looks > 1000);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_first_match_wins_and_a_failed_test_goes_on), T(t_access_control_and_indices),
		T(t_offsets_and_truncation), T(t_local_offset_moves_on_and_max_size_retires),
		T(t_the_last_operation_unlinks_whichever_it_is), T(t_ack_only_when_asked_and_well),
		T(t_a_full_queue_holds_back_who_may_wait), T(t_nonsense_in_a_list_is_counted_not_followed),
		T(t_a_mover_has_so_many_records_and_no_more), T(t_a_polled_entry_is_its_owners),
		T(t_who_is_to_be_alone_has_waited_for_each_lock),
		T(t_who_has_only_to_leave_does_not_keep_it_in_use), { 0 } };

	return t_run(cases);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_drain.c - nal_inbox.c by itself: what the owner takes from a lane without its lock
 *
 * The file and the core, with the rest of the NAL left out: what follows may not be called here.
 */
#include "../common/tap.h"
#include "core_env.h"

#include "nal_smap.h"

static struct nal_ni ni;
static struct priv pv;
static struct p3l_lane_tx tx;
static struct p3l_lane_hdr *lane;
static uint8_t buf[256];
static uint32_t pids[C_SLOTS];
static struct p3l_ref eq;

enum { POLLED = 3, PLAIN = 5, FROM = 2 };

void nal_relax(unsigned spins)
{
	c_relax(spins);
}

ptl_process_id_t nal_id(struct nal_ni *n, uint32_t slot)
{
	return (ptl_process_id_t){ n->l->nid, pids[slot] };
}

struct nal_peer *nal_peer_lookup(struct nal_ni *n, uint32_t slot)
{
	(void)n, (void)slot;
	return NULL;
}

int nal_move(struct nal_ni *n, uint32_t slot, struct p3l_ni *l, bool put, const struct region *t,
	     const struct region *o, uint64_t len, bool direct)
{
	(void)n, (void)slot, (void)l, (void)put, (void)t, (void)o, (void)len, (void)direct;
	bail("nal_move() is not for short messages of our own");
}

bool nal_hand_over(struct nal_ni *n, uint32_t slot, struct p3l_ni *l, struct p3l_op *op, const struct region *own,
		   const struct p3l_reply *reply)
{
	(void)n, (void)slot, (void)l, (void)op, (void)own, (void)reply;
	bail("nothing is handed over here");
}

void nal_hands_serve(struct nal_ni *n)
{
	(void)n;
}

void nal_hands_collect(struct nal_ni *n)
{
	(void)n;
}

struct p3l_op *nal_op_wait(struct nal_ni *n, struct p3l_ni *l)
{
	(void)n, (void)l;
	return NULL;
}

void smartmap_membarrier(void)
{
}

static void fresh(void)
{
	static const uint32_t pt[] = { POLLED, PLAIN };
	struct p3l_setup s = c_setup();
	ptl_md_t v = c_md((uintptr_t)buf, sizeof(buf), PTL_MD_THRESH_INF,
			  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE);
	struct p3l_md_args a;

	if (ni.l)
		c_free(ni.l);
	ni = (struct nal_ni){ .l = c_region(&s), .env = c_env(0, true), .n_peers = C_SLOTS, .uid = C_UID, .jid = C_JID,
			      .nal_priv = &pv };
	pv = (struct priv){ 0 };
	tx = (struct p3l_lane_tx){ 0 };
	lane = p3l_lane(ni.l, FROM);
	REQUIRE_INT(p3l_eq_alloc(&ni.env, ni.l, 16, &eq), PTL_OK);
	a = c_args(&v, &eq);
	for (int i = 0; i < 2; i++) {
		struct p3l_ref me, md;

		REQUIRE_INT(p3l_me_attach(&ni.env, ni.l, pt[i], C_ANY, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me),
			    PTL_OK);
		REQUIRE_INT(p3l_md_attach(&ni.env, ni.l, me, &a, PTL_RETAIN, &md), PTL_OK);
	}
	CHECK(p3l_pt_polled_set(&ni.env, ni.l, POLLED, true));
}

static void put(uint32_t pt, uint64_t hdr)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, FROM, pt, 0, 8);

	h.hdr_data = hdr;
	p3l_lane_put(ni.l, FROM, &tx, &h, "12345678", false);
}

/* hdr_data of the next event, 0: none. */
static uint64_t next(void)
{
	struct p3l_slot ev;

	return p3l_eq_read(&ni.env, ni.l, eq.idx, &ev, true) == 1 ? ev.hdr_data : 0;
}

/*
 * Where the owner is alone nobody else takes a message; one for any other entry behind it may be taken by its initiator
 * at the same time, so it is left for a look under the lock.
 */
static void t_without_the_lock_only_what_nobody_else_takes(void)
{
	fresh();
	put(POLLED, 1);
	put(POLLED, 2);
	put(PLAIN, 3);
	put(POLLED, 4);
	nal_drain(&ni, 0, ni.l, lane, FROM, NULL, false);
	CHECK_INT(next(), 1);
	CHECK_INT(next(), 2);
	CHECK_INT(next(), 0);
	CHECK_INT(lane->head, 2);
	nal_drain(&ni, 0, ni.l, lane, FROM, NULL, true);
	CHECK_INT(next(), 3);
	CHECK_INT(next(), 4);
	CHECK_INT(lane->head, 4);
}

/* A portal that is polled, and where a peer is inside still, is taken under the lock, too. */
static void t_without_the_lock_nothing_where_the_owner_is_not_alone(void)
{
	struct p3l_env peer = c_env(1, true);
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, PLAIN, 0, 8);
	struct p3l_op *op;

	fresh();
	op = p3l_op_get(&peer, ni.l);
	CHECK_INT(p3l_target_begin(&peer, ni.l, &h, op, false), P3L_MATCHED);
	CHECK(!p3l_pt_polled_set(&ni.env, ni.l, PLAIN, true));
	put(POLLED, 1);
	put(PLAIN, 2);
	nal_drain(&ni, 0, ni.l, lane, FROM, NULL, false);
	CHECK_INT(lane->head, 1);
	nal_drain(&ni, 0, ni.l, lane, FROM, NULL, true);
	CHECK_INT(lane->head, 2);
	p3l_target_end(&peer, ni.l, op, PTL_NI_OK);
	CHECK_INT(next(), 0);		/* that one's, which had the first ticket */
	CHECK_INT(next(), 1);
	CHECK_INT(next(), 2);
}

/* The initiator, on another process's NI, takes its own messages up to the first for a polled entry. */
static void t_an_initiator_stops_at_a_polled_entry(void)
{
	struct p3l_setup s = c_setup();
	struct nal_ni other = { .env = c_env(FROM, true), .n_peers = C_SLOTS, .uid = C_UID, .jid = C_JID,
				.nal_priv = &pv };
	struct p3l_op *op;

	fresh();
	s.slot = FROM;
	other.l = c_region(&s);
	put(POLLED, 1);
	put(PLAIN, 2);
	nal_drain(&other, 0, ni.l, lane, FROM, NULL, true);
	CHECK_INT(lane->head, 0);
	op = p3l_op_get(&other.env, ni.l);
	CHECK(op == &p3l_row(ni.l, FROM)->op[0]);	/* no record is left behind */
	c_free(other.l);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_without_the_lock_only_what_nobody_else_takes),
					       T(t_without_the_lock_nothing_where_the_owner_is_not_alone),
					       T(t_an_initiator_stops_at_a_polled_entry), { 0 } };

	return t_run(cases);
}

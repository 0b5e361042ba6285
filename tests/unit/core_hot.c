/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_hot.c - the straight ways of an inbox message (hot.c) and of a post (p3l_post.h) against the long ones
 *
 * Two regions get the same entries, descriptors, queues and messages, at random. In one everything takes the long way, which is the
 * reference; in the other the straight one is tried first. Between messages, lists and descriptors change: what the straight way has
 * kept of them (p3l_known) must not be used then. After each message both must agree in everything: event, descriptor,
 * queue, list, pools, lane, bytes. Options: --seed N, --scripts N.
 */
#include <stdio.h>
#include "../common/tap.h"
#include "core_env.h"
#include "../../portals/lib/p3l_post.h"

#define BUF 4096

static uint64_t seed = 1, state;
static unsigned scripts = 4000, straight, once, several, posted;

static uint64_t rnd(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

struct side {
	struct p3l_ni *ni;
	struct p3l_env env;
	struct p3l_lane_tx tx;
	uint8_t buf[2][BUF];
	struct p3l_ref eq[2], me[2], md[2];
	struct p3l_known known[2];	/* for each queue */
};

static struct side side[2];

static void make(struct side *d, const ptl_md_t *proto, unsigned n_md, bool polled, unsigned log_to, uint64_t bits,
		 uint64_t ignore, ptl_process_id_t from, ptl_unlink_t op)
{
	struct p3l_setup s = c_setup();

	d->ni = c_region(&s);
	d->env = c_env(0, true);
	d->tx = (struct p3l_lane_tx){ 0 };
	for (int i = 0; i < 2; i++) {
		if (p3l_eq_alloc(&d->env, d->ni, 8, &d->eq[i]) != PTL_OK)
			bail("no queue");
		d->known[i] = (struct p3l_known){ .pt = P3L_MAX_PT, .last = P3L_MAX_PT };
	}
	if (polled)
		p3l_pt_polled_set(&d->env, d->ni, 3, true);
	for (unsigned i = 0; i < n_md; i++) {
		ptl_md_t md = proto[i];
		struct p3l_md_args a;

		md.start = d->buf[i];
		memset(d->buf[i], 0xee, BUF);
		a = c_args(&md, log_to < 2 ? &d->eq[log_to] : NULL);
		if (p3l_me_attach(&d->env, d->ni, 3, from, bits, ignore, op, PTL_INS_AFTER, &d->me[i]) != PTL_OK ||
		    p3l_md_attach(&d->env, d->ni, d->me[i], &a, op, &d->md[i]) != PTL_OK)
			bail("no entry");
	}
}

/* Take the message at the head as nal_drain() does. */
static void long_way(struct side *d, struct p3l_sink *sink)
{
	struct p3l_lane_hdr *lane = p3l_lane(d->ni, 2);
	struct p3l_short done;
	struct p3l_hdr h;
	struct p3l_data data;
	int lines = p3l_lane_peek(d->ni, lane, &h, &data);

	if (lines <= 0)
		return;
	h.src = 2;
	h.nid = C_NID;
	h.pid = 102;
	h.uid = C_UID;
	h.jid = C_JID;
	if (p3l_target_short(&d->env, d->ni, &h, &data, &done, sink) == P3L_WAIT)
		return;
	p3l_lane_advance(d->ni, lane, (uint32_t)lines);
	p3l_lane_release(d->ni, lane);
	lane->long_count++;
}

static bool same_event(const struct p3l_slot *a, const struct p3l_slot *b)
{
	return a->ticket == b->ticket && a->link == b->link && a->match_bits == b->match_bits && a->hdr_data == b->hdr_data &&
	       a->rlength == b->rlength && a->mlength == b->mlength && a->offset == b->offset && a->md == b->md &&
	       a->md_gen == b->md_gen && a->threshold == b->threshold && a->initiator == b->initiator &&
	       a->kind_fail == b->kind_fail && a->pt == b->pt;
}

static bool same_me(const struct p3l_me *m, const struct p3l_me *n)
{
	return m->match_bits == n->match_bits && m->ignore_bits == n->ignore_bits && m->match_nid == n->match_nid &&
	       m->match_pid == n->match_pid && m->next == n->next && m->prev == n->prev && m->md == n->md &&
	       m->pt == n->pt && m->flags == n->flags && m->gen == n->gen && m->free_next == n->free_next;
}

static bool same_md(const struct p3l_md *m, const struct p3l_md *n)
{
	return m->offset == n->offset && m->threshold == n->threshold && m->pending == n->pending &&
	       m->last_ticket == n->last_ticket && m->me == n->me && m->iov == n->iov && m->free_next == n->free_next &&
	       m->length == n->length && m->max_size == n->max_size && m->user_ptr == n->user_ptr &&
	       m->user_length == n->user_length && m->options == n->options && m->eq == n->eq && m->flags == n->flags &&
	       m->gen == n->gen && m->older == n->older;
}

/* Lists and pools: what the straight post and unlinking write. */
static bool same_lists(const struct p3l_ni *a, const struct p3l_ni *b)
{
	const struct p3l_pt *p = &a->pt[3], *q = &b->pt[3];

	if (a->me_fresh != b->me_fresh || a->md_fresh != b->md_fresh || a->md_limbo != b->md_limbo)
		return false;
	for (uint32_t i = 0; i < a->me_fresh; i++)
		if (!same_me(p3l_me(a, i), p3l_me(b, i)))
			return false;
	for (uint32_t i = 0; i < a->md_fresh; i++)
		if (!same_md(p3l_md(a, i), p3l_md(b, i)))
			return false;
	return p->tail == q->tail && p->longest == q->longest && p->index_log2 == q->index_log2 &&
	       p->index_room == q->index_room && c_list_ok(a, 3) && c_list_ok(b, 3);
}

static bool agree(void)
{
	const struct p3l_ni *a = side[0].ni, *b = side[1].ni;
	const struct p3l_stats *x = &p3l_row(a, 0)->stats, *y = &p3l_row(b, 0)->stats;
	const struct p3l_lane_hdr *u = p3l_lane(a, 2), *v = p3l_lane(b, 2);

	for (unsigned i = 0; i < 2; i++) {
		const struct p3l_md *m = p3l_md(a, i), *n = p3l_md(b, i);

		if (m->offset != n->offset || m->threshold != n->threshold || m->flags != n->flags || m->pending != n->pending ||
		    m->last_ticket != n->last_ticket || m->gen != n->gen || m->me != n->me)
			return false;
		if (a->eq[i].head != b->eq[i].head || a->eq[i].tail != b->eq[i].tail)
			return false;
		if (memcmp(side[0].buf[i], side[1].buf[i], BUF))
			return false;
	}
	if (a->pt[3].head != b->pt[3].head || a->pt[3].len != b->pt[3].len || a->me_free != b->me_free ||
	    a->md_free != b->md_free || a->me_spare != b->me_spare || a->md_spare != b->md_spare)
		return false;
	if (!same_lists(a, b))
		return false;
	return u->head == v->head && u->head_pub == v->head_pub && x->drop_count == y->drop_count &&
	       x->recv_count + u->hot_count == y->recv_count + v->hot_count &&
	       x->recv_length + u->hot_length == y->recv_length + v->hot_length &&
	       u->hot_count + u->long_count == v->hot_count + v->long_count;
}

static void send_both(void)
{
	static uint8_t data[3000];
	uint64_t len = rnd(10) ? rnd(57) : rnd(3) ? rnd(P3L_SHORT) : rnd(sizeof(data));
	struct p3l_hdr h = c_hdr(P3L_PUT, 2, rnd(8) ? 3 : 4, rnd(4) ? 0 : rnd(4), len);

	h.hdr_data = rnd(6) ? 0 : rnd(1000);
	h.roffset = rnd(6) ? 0 : rnd(2 * BUF);
	h.ac = rnd(20) ? 0 : rnd(4);
	for (unsigned i = 0; i < len; i++)
		data[i] = (uint8_t)rnd(256);
	for (int k = 0; k < 2; k++)
		if (p3l_lane_room(side[k].ni, 2, &side[k].tx, h.rlength))
			p3l_lane_put(side[k].ni, 2, &side[k].tx, &h, data, false);
}

/* What is left in the queues must be the same, too. Sometimes it is left there. */
static bool read_both(void)
{
	for (uint32_t q = 0; q < 2; q++)
		for (int n = 0; n < 4; n++) {
			struct p3l_slot a, b;
			int ra, rb;

			if (!rnd(3))
				continue;
			ra = p3l_eq_read(&side[0].env, side[0].ni, q, &a, true);
			rb = p3l_eq_read(&side[1].env, side[1].ni, q, &b, true);
			if (ra != rb || (ra && !same_event(&a, &b)))
				return false;
		}
	return true;
}

static void options_of(ptl_md_t *md, unsigned length)
{
	static const unsigned options[] = { PTL_MD_OP_PUT, PTL_MD_EVENT_START_DISABLE, PTL_MD_EVENT_END_DISABLE,
					    PTL_MD_MANAGE_REMOTE, PTL_MD_TRUNCATE, PTL_MD_MAX_SIZE, PTL_MD_ACK_DISABLE,
					    PTL_MD_XT_NP, PTL_MD_UNLINK_EVENT_NP };
	static const unsigned odds[] = { 95, 90, 5, 30, 20, 30, 20, 60, 20 };	/* of 100 */
	unsigned o = 0;

	for (unsigned k = 0; k < sizeof(odds) / sizeof(*odds); k++)
		o |= rnd(100) < odds[k] ? options[k] : 0;
	*md = c_md(0, length, rnd(3) ? PTL_MD_THRESH_INF : rnd(3) ? 1 : (int)rnd(5), o);
	md->max_size = rnd(200);
}

static int post(int k, struct p3l_ref base, ptl_process_id_t from, uint64_t bits, uint64_t ignore, ptl_unlink_t unlink,
		ptl_ins_pos_t pos, const struct p3l_md_args *a, ptl_unlink_t op, int test_eq, struct p3l_ref *me,
		struct p3l_ref *md)
{
	struct side *d = &side[k];
	uint32_t spare = d->ni->me_spare;
	int rc;

	if (k || !p3l_pt_alone(&d->env, 3))
		return p3l_memd_post(&d->env, d->ni, base, from, bits, ignore, unlink, pos, a, op, test_eq, me, md);
	rc = p3l_memd_post_alone(&d->env, d->ni, base, from, bits, ignore, unlink, pos, a, op, test_eq, me, md);
	posted += rc == PTL_OK && spare == me->idx + 1;
	return rc;
}

/* A receive as MPI posts it, or nearly so, in front of the first entry. False: the sides answer differently. */
static bool receive_both(void)
{
	ptl_unlink_t unlink = rnd(20) ? PTL_UNLINK : PTL_RETAIN, op = rnd(20) ? PTL_UNLINK : PTL_RETAIN;
	ptl_process_id_t from = rnd(20) ? C_ANY : (ptl_process_id_t){ rnd(2) ? C_NID : PTL_NID_ANY, 102 };
	uint64_t bits = rnd(3), ignore = rnd(3) ? ~(uint64_t)0 : rnd(4), at = rnd(BUF);
	ptl_ins_pos_t pos = rnd(20) ? PTL_INS_BEFORE : PTL_INS_AFTER;
	struct p3l_iov iov = { 0, BUF };
	int rc[2], test_eq = (int)rnd(3) - !rnd(8);
	unsigned log_to = rnd(20) ? 0 : (unsigned)rnd(3);
	ptl_md_t proto = c_md(0, BUF - at, rnd(20) ? 1 : (int)rnd(4) - 2, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE);

	proto.options |= rnd(20) ? PTL_MD_XT_NP : 0;
	proto.options |= rnd(2) ? PTL_MD_TRUNCATE : 0;
	proto.options |= rnd(20) ? 0 : PTL_MD_MAX_SIZE | PTL_MD_MANAGE_REMOTE;
	proto.max_size = rnd(100);
	proto.user_ptr = (void *)(uintptr_t)rnd(1000);
	if (!rnd(20)) {
		proto.options |= PTL_MD_IOVEC;
		proto.length = 1;
	}
	if (test_eq >= 2)
		test_eq = 0;
	for (int k = 0; k < 2; k++) {
		struct side *d = &side[k];
		struct p3l_md_args a = c_args(&proto, log_to < 2 ? &d->eq[log_to] : NULL);
		struct p3l_ref me, md;

		a.iov = &iov;
		iov.base = (uint64_t)(uintptr_t)d->buf[0];
		if (!(proto.options & PTL_MD_IOVEC))
			proto.start = d->buf[0] + at;
		rc[k] = post(k, d->me[0], from, bits, ignore, unlink, pos, &a, op, test_eq, &me, &md);
		if (!k || rc[0] != PTL_OK || rc[1] != PTL_OK)
			continue;
		if (!rnd(30) && p3l_md_unlink(&side[0].env, side[0].ni, md) != p3l_md_unlink(&d->env, d->ni, md))
			return false;
		if (!rnd(200))
			d->me[0].gen = side[0].me[0].gen = side[0].me[0].gen + 1;	/* of an entry that is gone */
	}
	return rc[0] == rc[1];
}

/* One change on both sides, by the owner. False: they answer differently. */
static bool change_both(void)
{
	uint64_t what = rnd(10), i = rnd(2), pos = rnd(2), bits = rnd(3), ignore = rnd(3) ? ~(uint64_t)0 : rnd(4);
	unsigned log_to = (unsigned)rnd(3);
	struct p3l_ref me[2], md[2];
	int rc[2] = { 0, 0 };
	ptl_md_t proto;

	options_of(&proto, rnd(4) ? BUF : (unsigned)rnd(200));
	for (int k = 0; k < 2; k++) {
		struct side *d = &side[k];
		struct p3l_md_args a = c_args(&proto, log_to < 2 ? &d->eq[log_to] : NULL);

		proto.start = d->buf[i];
		switch (what) {
		case 0:
			rc[k] = p3l_md_update(&d->env, d->ni, d->md[i], NULL, NULL, 0, &a, -1);
			break;
		case 1:
			rc[k] = p3l_md_unlink(&d->env, d->ni, d->md[i]);
			break;
		case 2:
			rc[k] = p3l_me_unlink(&d->env, d->ni, d->me[i]);
			break;
		case 3:
			rc[k] = p3l_me_attach(&d->env, d->ni, 3, C_ANY, bits, ignore, PTL_UNLINK,
					      pos ? PTL_INS_BEFORE : PTL_INS_AFTER, &me[k]);
			if (!rc[k])
				d->me[i] = me[k];
			break;
		case 4:
			rc[k] = p3l_md_attach(&d->env, d->ni, d->me[i], &a, PTL_UNLINK, &md[k]);
			if (!rc[k])
				d->md[i] = md[k];
			break;
		case 5:
			rc[k] = post(k, d->me[i], C_ANY, bits, ignore, PTL_UNLINK, pos ? PTL_INS_BEFORE : PTL_INS_AFTER,
				     &a, PTL_UNLINK, -1, &me[k], &md[k]);
			if (!rc[k]) {
				d->me[i] = me[k];
				d->md[i] = md[k];
			}
			break;
		default:
			rc[k] = p3l_memd_attach(&d->env, d->ni, 3, C_ANY, bits, ignore, PTL_UNLINK,
						pos ? PTL_INS_BEFORE : PTL_INS_AFTER, &a, PTL_UNLINK, &me[k], &md[k]);
			if (!rc[k]) {
				d->me[i] = me[k];
				d->md[i] = md[k];
			}
		}
	}
	return rc[0] == rc[1];
}

static bool script(void)
{
	unsigned n_md = 1 + (unsigned)rnd(2), log_to = (unsigned)rnd(3), wanted = (unsigned)rnd(2);
	bool receives = !rnd(3), polled = rnd(8) != 0, changes = rnd(2), ok = true;
	uint64_t bits = rnd(3), ignore = rnd(5) ? ~(uint64_t)0 : rnd(4), churn = rnd(2) ? 8 : 1;
	ptl_process_id_t from = rnd(6) ? C_ANY : (ptl_process_id_t){ C_NID, 100 + (uint32_t)rnd(4) };
	ptl_unlink_t op = rnd(2) ? PTL_UNLINK : PTL_RETAIN;
	ptl_md_t proto[2];

	for (unsigned i = 0; i < n_md; i++)
		options_of(&proto[i], rnd(4) ? BUF : (unsigned)rnd(200));
	for (int k = 0; k < 2; k++)
		make(&side[k], proto, n_md, polled, log_to, bits, ignore, from, op);
	if (!rnd(10))
		side[0].ni->ac[0].uid = side[1].ni->ac[0].uid = rnd(2) ? PTL_UID_ANY : 1;
	for (int n = 0; ok && n < 60; n++) {
		struct p3l_sink a = c_sink(side[0].ni, wanted), b = c_sink(side[1].ni, wanted);
		int rc;

		a.known = &side[0].known[wanted];
		for (uint64_t k = rnd(3); k > 0; k--)
			send_both();
		for (uint64_t k = receives ? rnd(4) : 0; ok && k > 0; k--)
			ok = receive_both();
		if (ok && changes && !rnd(churn) && !change_both()) {
			ok = false;
			break;
		}
		if (rnd(2))
			p3l_inbox_prime(&side[0].env, side[0].ni, &a);
		rc = p3l_inbox_hot(&side[0].env, side[0].ni, p3l_lane(side[0].ni, 2), 2, &a, rnd(2));
		if (rc < 0)
			long_way(&side[0], &a);
		straight += rc > 0;
		several += rc > 0 && a.ev.rlength > P3L_BODY;
		once += rc > 0 && a.got == P3L_SINK_EVENT;
		long_way(&side[1], &b);
		if (a.got == P3L_SINK_KNOWN) {
			p3l_known_event(a.known, &a.ev);
			a.got = P3L_SINK_EVENT;
		}
		ok = a.got == b.got && (!a.got || same_event(&a.ev, &b.ev)) && agree() && read_both();
	}
	for (int k = 0; k < 2; k++)
		c_free(side[k].ni);
	return ok;
}

static void t_straight_way_is_the_long_way(void)
{
	for (unsigned i = 0; i < scripts; i++) {
		state = (seed + i) * 0x9e3779b97f4a7c15ULL | 1;
		if (!script()) {
			diag("the two ways differ: --seed %llu --scripts 1", (unsigned long long)(seed + i));
			CHECK(0);
			return;
		}
	}
	diag("seed %llu: %u scripts, %u messages went straight, %u of them to a descriptor for one, %u in several lines; "
	     "%u posts did", (unsigned long long)seed, scripts, straight, once, several, posted);
	CHECK(straight > scripts && once > scripts / 20 && several > scripts / 20 && posted > scripts / 20);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = { T(t_straight_way_is_the_long_way), { 0 } };

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		if (!strcmp(argv[i], "--scripts"))
			scripts = (unsigned)atoi(argv[i + 1]);
	}
	return t_run(cases);
}

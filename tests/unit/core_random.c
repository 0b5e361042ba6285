/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_random.c - random scripts run by the core and by the slow reference (core_ref.c); after each step both agree
 *
 *	core_random [--seed N] [--scripts N] [--steps N] [-v]
 *
 * Compared: return codes, verdicts, events read (every field), offsets, thresholds, pending counts, match lists in
 * their order, counters; after a script: all events left, pools whole. A script is a list of numbers; each step makes
 * its choices from its own number, so that steps can be left out: the first script that differs is cut down as far as
 * it still differs and printed with its seed.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include "../common/tap.h"
#include "core_env.h"
#include "core_ref.h"

enum { MAX_STEPS = 160, MAX_OPS = 6 };

/* the real counterpart of each numbered object */
static struct p3l_ref me_ref[R_MAX], md_ref[R_MAX], eq_ref[R_MAX];
static struct r_ni *R;
static struct p3l_ni *L;
static struct p3l_env env[C_SLOTS];
static struct pending {
	struct r_op r;
	struct p3l_op *op;
	struct p3l_send send;
	struct p3l_reply reply;
	int what;			/* 0 free, 1 target, 2 send, 3 reply */
	uint32_t slot;
} pend[MAX_OPS];

static char why[512];
static bool verbose;
static int step_no;

__attribute__((format(printf, 1, 2))) static bool differ(const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(why, sizeof(why), "step %d: ", step_no);

	va_start(ap, fmt);
	vsnprintf(why + n, sizeof(why) - (size_t)n, fmt, ap);
	va_end(ap);
	return false;
}

#define SAY(...) do { if (verbose) diag(__VA_ARGS__); } while (0)
#define SAME(got, want, name) do { \
	long long g_ = (long long)(got), w_ = (long long)(want); \
	if (g_ != w_) \
		return differ("%s is %lld, the reference says %lld", name, g_, w_); \
} while (0)

static char arena[52 * 0x1000];	/* MDs lie here */
static uint64_t rs;			/* state of the step's own random numbers */

static uint32_t pick(uint32_t n)
{
	return (uint32_t)(c_random(&rs) >> 33) % n;
}

static bool chance(uint32_t percent)
{
	return pick(100) < percent;
}

/* An object, live if there is one and the dice say so; -1: there never was one. Newer ones more often. */
#define PICKER(what) \
static int pick_##what(void) \
{ \
	int k = -1; \
	for (int tries = 0; tries < 6 && R->n_##what; tries++) { \
		k = (int)pick((uint32_t)R->n_##what); \
		if (R->what[k].live || chance(4)) \
			break; \
	} \
	return k; \
}
PICKER(me)
PICKER(md)
PICKER(eq)

static int live_queue(uint32_t percent_none)
{
	int k = chance(percent_none) ? -1 : pick_eq();

	return k >= 0 && R->eq[k].live ? k : -1;
}

static uint32_t pack(int eq)
{
	return eq < 0 ? 0 : (eq_ref[eq].idx + 1) | eq_ref[eq].gen << 16;
}

static ptl_process_id_t rnd_id(void)
{
	ptl_process_id_t id = { C_NID, 100 + pick(C_SLOTS) };

	if (chance(50))
		id.pid = PTL_PID_ANY;
	if (chance(50))
		id.nid = PTL_NID_ANY;
	else if (chance(5))
		id.nid = C_NID + 1;
	return id;
}

static uint64_t rnd_bits(void)
{
	return (uint64_t)pick(3) | (chance(15) ? 1ULL << 63 : 0) | (chance(15) ? 1ULL << 32 : 0);
}

static uint64_t rnd_ignore(void)
{
	static const uint64_t v[] = { 0, ~0ULL, ~0ULL, ~1ULL, 3, 1, 1ULL << 63, 0xffffffff00000000ULL };

	return v[pick(8)];
}

static uint64_t rnd_len(void)
{
	static const uint64_t v[] = { 0, 1, 8, 16, 64, 100, 256 };

	return v[pick(7)];
}

static void rnd_md(ptl_md_t *v, struct p3l_iov *iov, uint64_t (*riov)[2])
{
	static const unsigned ops[] = { PTL_MD_OP_PUT, PTL_MD_OP_GET, PTL_MD_OP_PUT | PTL_MD_OP_GET,
					PTL_MD_OP_PUT | PTL_MD_OP_GET, 0 };
	static uint64_t serial;

	*v = c_md((uintptr_t)arena + 0x1000 * pick(50), rnd_len(), PTL_MD_THRESH_INF, ops[pick(5)]);
	if (chance(75))
		v->threshold = (int)pick(5);
	else if (chance(5))
		v->threshold = -2 - (int)pick(3);
	v->max_size = rnd_len();
	v->options |= (chance(25) ? PTL_MD_MANAGE_REMOTE : 0) | (chance(40) ? PTL_MD_TRUNCATE : 0) |
		      (chance(15) ? PTL_MD_ACK_DISABLE : 0) | (chance(20) ? PTL_MD_MAX_SIZE : 0) |
		      (chance(30) ? PTL_MD_EVENT_START_DISABLE : 0) | (chance(25) ? PTL_MD_EVENT_END_DISABLE : 0);
	v->user_ptr = (void *)(uintptr_t)++serial;
	if (chance(2))
		v->length = ~0ULL - pick(2000);
	if (chance(15)) {
		v->options |= PTL_MD_IOVEC;
		v->length = chance(5) ? R_IOV + 1 : pick(R_IOV + 1);
		for (uint64_t i = 0; i < v->length && i < R_IOV; i++) {
			iov[i].base = riov[i][0] = 0x100000 + 0x1000 * i;
			iov[i].len = riov[i][1] = rnd_len();
		}
	}
}

/* ---- comparison of state ---- */

static bool same_event(const struct p3l_slot *s, const struct r_event *e, uint32_t seq, int eq)
{
	const struct p3l_md *md = p3l_md(L, s->md);

	if (eq >= 0 && md->older) {	/* as PtlEQGet; what comes straight from the inbox shows the MD as it is */
		md = p3l_md_shown(L, md, pack(eq), s);
		p3l_md_tidy(&env[0], L, p3l_md(L, s->md));
	}

	SAME(s->ticket, seq, "event sequence");
	SAME(s->kind_fail & 15, e->kind, "event kind");
	SAME(s->kind_fail >> 4, e->fail, "event failure");
	SAME(s->md, md_ref[e->md].idx, "event MD index");
	SAME(s->md_gen & P3L_GEN_MASK, md_ref[e->md].gen, "event MD generation");
	SAME(s->link, e->link, "event link");
	SAME(s->match_bits, e->match_bits, "event match_bits");
	SAME(s->hdr_data, e->hdr_data, "event hdr_data");
	SAME(s->rlength, e->rlength, "event rlength");
	SAME(s->mlength, e->mlength, "event mlength");
	SAME(s->offset, e->offset, "event offset");
	SAME(s->threshold, e->threshold, "event threshold");
	SAME(s->initiator, e->initiator, "event initiator");
	SAME(s->pt, e->pt, "event pt_index");
	/* as it was when the operation was charged, whatever updates came since */
	SAME(md->user_ptr, (uintptr_t)e->shown.user_ptr, "user_ptr of the event's MD");
	SAME(md->start, (uintptr_t)e->shown.start, "start of the event's MD");
	SAME(md->user_length, e->shown.length, "length of the event's MD");
	SAME(md->options, e->shown.options, "options of the event's MD");
	SAME(md->max_size, e->shown.max_size, "max_size of the event's MD");
	return true;
}

static bool same_read(int eq, bool take, bool *got)
{
	struct p3l_slot s;
	struct r_event e;
	uint32_t seq = 0;
	int want = r_eq_read(R, eq, take, &e, &seq);
	int rc = p3l_eq_read(&env[0], L, eq_ref[eq].idx, &s, take);

	SAME(rc, want, "p3l_eq_read()");
	if (got)
		*got = rc != 0;
	return !rc || same_event(&s, &e, seq, eq);
}

static bool same_state(void)
{
	uint32_t live = 0;

	for (uint32_t pt = 0; pt <= R->max_pt; pt++) {
		uint32_t i = L->pt[pt].head, prev = 0;

		SAME(L->pt[pt].lock, 0, "lock");
		SAME(L->pt[pt].len, R->len[pt], "length of a match list");
		for (int k = 0; k < R->len[pt]; k++) {
			SAME(i - 1, me_ref[R->list[pt][k]].idx, "entry of a match list");
			SAME(p3l_me(L, i - 1)->prev, prev, "link back in a match list");
			SAME(p3l_me(L, i - 1)->gen & P3L_GEN_MASK, me_ref[R->list[pt][k]].gen, "generation in a list");
			SAME((int)p3l_me(L, i - 1)->md - 1, R->me[R->list[pt][k]].md < 0 ? -1 :
			     (int)md_ref[R->me[R->list[pt][k]].md].idx, "MD of an entry");
			prev = i;
			i = p3l_me(L, i - 1)->next;
		}
		SAME(i, 0, "end of a match list");
		SAME(L->pt[pt].tail, prev, "tail of a match list");
	}
	for (int k = 0; k < R->n_md; k++) {
		const struct r_md *m = &R->md[k];
		const struct p3l_md *md = p3l_md(L, md_ref[k].idx);

		if (!m->live)
			continue;
		live++;
		SAME(md->gen & P3L_GEN_MASK, md_ref[k].gen, "MD generation");
		SAME(!!(md->flags & P3L_MD_USED), 1, "MD in use");
		SAME(md->threshold, m->v.threshold, "MD threshold");
		SAME(md->offset, m->offset, "MD local offset");
		SAME(md->pending / P3L_PEND_OWN + md->pending % P3L_PEND_OWN, m->pending, "MD pending");
		SAME(md->length, m->total, "MD length");
		SAME(md->options, m->v.options, "MD options");
		SAME(md->eq, pack(m->eq), "MD queue");
		SAME(!!(md->flags & P3L_MD_SPENT), m->spent, "MD spent");
		SAME((int)md->me - 1, m->me < 0 ? -1 : (int)me_ref[m->me].idx, "ME of an MD");
	}
	SAME(c_md_used_count(L), live, "MDs in use");
	for (int k = 0; k < R->n_eq; k++)
		if (R->eq[k].live)
			SAME(p3l_eq_idle(L, eq_ref[k].idx), r_eq_idle(R, k), "p3l_eq_idle()");
	return true;
}

/* ---- steps ---- */

static bool blocked(int md, int64_t except)
{
	return md >= 0 && r_eq_blocked(R, R->md[md].eq, except, 4);
}

static struct pending *free_pending(void)
{
	for (int i = 0; i < MAX_OPS; i++)
		if (!pend[i].what)
			return &pend[i];
	return NULL;
}

static bool s_me_add(void)
{
	ptl_process_id_t id = rnd_id();
	uint64_t bits = rnd_bits(), ignore = rnd_ignore();
	ptl_unlink_t u = (ptl_unlink_t)pick(2);
	ptl_ins_pos_t pos = (ptl_ins_pos_t)pick(2);
	uint32_t pt = chance(3) ? R->max_pt + 1 : pick(R->max_pt + 1);
	int base = pick_me(), me = -1, rc, want;
	struct p3l_ref ref;

	if (base < 0 || chance(60)) {
		SAY("%d: MEAttach pt %u bits %llx ignore %llx unlink %d pos %d", step_no, pt, (long long)bits,
		    (long long)ignore, u, pos);
		want = r_me_attach(R, pt, id, bits, ignore, u, pos, &me);
		rc = p3l_me_attach(&env[0], L, pt, id, bits, ignore, u, pos, &ref);
	} else {
		SAY("%d: MEInsert base %d pos %d unlink %d", step_no, base, pos, u);
		want = r_me_insert(R, base, id, bits, ignore, u, pos, &me);
		rc = p3l_me_insert(&env[0], L, me_ref[base], id, bits, ignore, u, pos, &ref);
	}
	SAME(rc, want, "return code");
	if (rc == PTL_OK)
		me_ref[me] = ref;
	return true;
}

static bool s_me_unlink(void)
{
	int me = pick_me();

	if (me < 0)
		return true;
	SAY("%d: MEUnlink %d", step_no, me);
	SAME(p3l_me_unlink(&env[0], L, me_ref[me]), r_me_unlink(R, me), "return code");
	return true;
}

/* A call that wanted space for a vector may have given freed queues back: no other than those that may go. */
static bool gave_back(void)
{
	for (int i = 0; i < R->n_eq; i++)
		if (R->eq[i].retired && !L->eq[eq_ref[i].idx].flags) {
			SAME(r_eq_may_go(R, i, env[0].single), true, "queue given back that may be posted to");
			R->eq[i].retired = false;
		}
	return true;
}

static bool s_md_new(void)
{
	struct p3l_iov iov[R_IOV + 1];
	uint64_t riov[R_IOV + 1][2];
	int me = pick_me(), eq = live_queue(20), md = -1, rc, want, nme = -1;
	ptl_unlink_t op = (ptl_unlink_t)pick(2);
	struct p3l_md_args a;
	struct p3l_ref ref, mref = { 0, 0 };
	ptl_md_t v;

	rnd_md(&v, iov, riov);
	a = (struct p3l_md_args){ .md = &v, .eq = pack(eq), .iov = iov };
	switch (me < 0 ? 0 : pick(4)) {
	case 0:
		SAY("%d: MDBind eq %d thr %d op %d opt %x", step_no, eq, v.threshold, op, v.options);
		rc = p3l_md_bind(&env[0], L, &a, op, &ref);
		R->full = rc == PTL_NO_SPACE;
		want = r_md_bind(R, &v, riov, eq, op, &md);
		break;
	case 1: {
		ptl_process_id_t id = rnd_id();
		uint64_t bits = rnd_bits(), ignore = rnd_ignore();
		ptl_unlink_t u = (ptl_unlink_t)pick(2);
		ptl_ins_pos_t pos = (ptl_ins_pos_t)pick(2);
		int test = live_queue(50);

		SAY("%d: MEMDPost base %d eq %d test %d thr %d op %d u %d opt %x", step_no, me, eq, test, v.threshold,
		    op, u, v.options);
		rc = p3l_memd_post(&env[0], L, me_ref[me], id, bits, ignore, u, pos, &a, op,
				   test < 0 ? -1 : (int)eq_ref[test].idx, &mref, &ref);
		R->full = rc == PTL_NO_SPACE;
		want = r_memd_post(R, me, id, bits, ignore, u, pos, &v, riov, eq, op, test, &nme, &md);
		break;
	}
	default:
		SAY("%d: MDAttach me %d eq %d thr %d op %d len %llu opt %x max %llu", step_no, me, eq, v.threshold, op,
		    (long long)v.length, v.options, (long long)v.max_size);
		rc = p3l_md_attach(&env[0], L, me_ref[me], &a, op, &ref);
		R->full = rc == PTL_NO_SPACE;
		want = r_md_attach(R, me, &v, riov, eq, op, &md);
	}
	SAME(rc, want, "return code");
	if (!gave_back())
		return false;
	if (rc != PTL_OK)
		return true;
	md_ref[md] = ref;
	if (nme >= 0)
		me_ref[nme] = mref;
	return true;
}

static bool s_md_unlink(void)
{
	int md = pick_md();

	if (md < 0)
		return true;
	SAY("%d: MDUnlink %d", step_no, md);
	SAME(p3l_md_unlink(&env[0], L, md_ref[md]), r_md_unlink(R, md), "return code");
	return true;
}

static bool s_md_update(void)
{
	struct p3l_iov iov[R_IOV + 1], old_iov[R_IOV];
	uint64_t riov[R_IOV + 1][2];
	int md = pick_md(), eq, test = live_queue(50), old_eq, rc, want, was_n;
	struct r_md was;
	struct p3l_md_args a;
	ptl_md_t v, old, wold;
	bool update = chance(85);

	if (md < 0)
		return true;
	eq = chance(60) && (R->md[md].eq < 0 || R->eq[R->md[md].eq].live) ? R->md[md].eq : live_queue(30);
	was = R->md[md];
	rnd_md(&v, iov, riov);
	a = (struct p3l_md_args){ .md = &v, .eq = pack(eq), .iov = iov };
	SAY("%d: MDUpdate %d eq %d test %d thr %d opt %x", step_no, md, eq, test, v.threshold, v.options);
	rc = p3l_md_update(&env[0], L, md_ref[md], &old, old_iov, R_IOV, update ? &a : NULL,
			   test < 0 ? -1 : (int)eq_ref[test].idx);
	R->full = rc == PTL_NO_SPACE;
	want = r_md_update(R, md, &wold, &old_eq, update ? &v : NULL, riov, eq, test);
	SAME(rc, want, "return code");
	if (!gave_back())
		return false;
	if (rc != PTL_OK && rc != PTL_MD_NO_UPDATE)
		return true;
	SAME(old.threshold, wold.threshold, "old threshold");
	SAME(old.length, wold.length, "old length");
	SAME(old.options, wold.options, "old options");
	SAME((uintptr_t)old.start, (uintptr_t)wold.start, "old start");
	SAME(old.max_size, wold.max_size, "old max_size");
	SAME((uintptr_t)old.user_ptr, (uintptr_t)wold.user_ptr, "old user_ptr");
	SAME(old.eq_handle, pack(old_eq), "old queue");
	was_n = was.v.options & PTL_MD_IOVEC ? (int)was.v.length : 0;
	for (int i = 0; i < was_n; i++) {
		SAME(old_iov[i].base, was.iov[i][0], "old vector");
		SAME(old_iov[i].len, was.iov[i][1], "old vector length");
	}
	return true;
}

static bool s_eq_alloc(void)
{
	static const uint32_t counts[] = { 1, 2, 3, 4, 5, 8, 16, 32 };
	uint32_t n = counts[pick(8)];
	struct p3l_ref ref;
	bool single = chance(50);
	int eq = -1, rc, want = r_eq_alloc(R, n, single, &eq);

	SAY("%d: EQAlloc %u%s", step_no, n, single ? " by one thread" : "");
	env[0].single = single;
	rc = p3l_eq_alloc(&env[0], L, n, &ref);
	SAME(rc, want, "return code");
	if (rc == PTL_OK)
		eq_ref[eq] = ref;
	return true;
}

static bool s_eq_free(void)
{
	int eq = pick_eq();

	if (eq < 0)
		return true;
	SAY("%d: EQFree %d", step_no, eq);
	SAME(p3l_eq_free(&env[0], L, eq_ref[eq]), r_eq_free(R, eq), "return code");
	SAME(p3l_eq_valid(L, eq_ref[eq]), false, "queue valid after its end");
	return true;
}

static bool s_eq_get(void)
{
	int eq = live_queue(0);
	bool got = true, take = chance(90);
	int n = 1 + (int)pick(4);

	SAY("%d: EQ%s %d", step_no, take ? "Get" : "Peek", eq);
	while (eq >= 0 && got && n--)
		if (!same_read(eq, take, &got))
			return false;
	return true;
}

static struct p3l_hdr hdr_of(const struct r_req *q)
{
	return (struct p3l_hdr){ .type = (uint8_t)q->type, .ack = q->ack, .src = (uint16_t)q->src, .nid = q->nid,
				 .pid = q->pid, .uid = q->uid, .jid = q->jid, .pt = q->pt, .ac = q->ac,
				 .match_bits = q->match_bits, .roffset = q->roffset, .rlength = q->rlength,
				 .hdr_data = q->hdr_data };
}

/* The owner takes a short put at once, perhaps with a place for its event. */
static bool in_one_step(const struct r_req *q)
{
	struct p3l_hdr h = hdr_of(q);
	struct p3l_sink sink = { .eq = -1 };
	struct p3l_short done = { 0 };
	struct r_event e;
	struct r_op op;
	uint8_t bytes[P3L_SHORT];
	struct p3l_data data = { .first = bytes, .n_first = sizeof(bytes) };
	uint64_t ml, off;
	uint32_t seq = 0;
	int md = r_match(R, q, &ml, &off), eq = live_queue(30), want, rc;
	bool polled = q->pt < 64 && L->polled[0] >> q->pt & 1, ack = false;

	if (blocked(md, -1))
		return true;
	memset(bytes, step_no, sizeof(bytes));
	env[0].single = chance(50);
	if (env[0].single && eq >= 0)
		sink = c_sink(L, eq_ref[eq].idx);
	rc = p3l_target_short(&env[0], L, &h, &data, &done, &sink);
	SAY("%d: short put pt %u bits %llx len %llu sink %d: %d%s", step_no, q->pt, (long long)q->match_bits,
	    (long long)q->rlength, sink.eq, rc, sink.got ? ", handed over" : "");
	if (md >= 0 && R->md[md].v.options & PTL_MD_IOVEC) {
		/* asked first whether there is room, or not: either way nothing has changed */
		if (rc != P3L_OTHER)
			return differ("verdict is %d for a vector", rc);
		return true;
	}
	want = r_target_begin(R, q, true, polled, &op);
	SAME(rc, want == R_MATCHED ? P3L_MATCHED : want == R_WAIT ? P3L_WAIT : P3L_DROPPED, "verdict");
	if (want != R_MATCHED)
		return true;
	SAME(done.mlength, op.mlength, "mlength");
	SAME(done.off, op.offset, "offset");
	if (op.mlength && memcmp(bytes, (char *)R->md[op.md].v.start + op.offset, op.mlength))
		return differ("the data are not there");
	ack = r_target_end(R, &op, PTL_NI_OK);
	SAME(done.ack, ack, "ack wanted");
	if (sink.got) {
		SAME(r_eq_read(R, eq, true, &e, &seq), 1, "an event handed over is the next");
		r_eq_no_ticket(R, eq);
		e.link = 0;
		return same_event(&sink.ev, &e, 0, -1);
	}
	return true;
}

static bool s_begin(void)
{
	struct pending *p = free_pending();
	struct r_req q = { .type = 1 + (int)pick(3), .ack = chance(40), .src = (int)pick(C_SLOTS) };
	struct p3l_hdr h;
	uint64_t ml, off;
	uint32_t slot = pick(C_SLOTS);
	bool wait = chance(20);
	int want, rc, md;

	if (!p)
		return true;
	q.nid = chance(97) ? C_NID : C_NID + 1;
	q.pid = 100 + (uint32_t)q.src;
	q.uid = chance(97) ? C_UID : C_UID + 1;
	q.jid = chance(97) ? C_JID : C_JID + 1;
	q.pt = chance(2) ? R->max_pt + 1 : pick(R->max_pt + 1);
	q.ac = chance(2) ? R->max_ac + 1 : pick(R->max_ac + 1);
	q.match_bits = rnd_bits();
	q.rlength = chance(2) ? ~0ULL - pick(3) : rnd_len();
	q.roffset = chance(60) ? 0 : chance(5) ? ~0ULL - pick(3) : rnd_len();
	q.hdr_data = q.type == R_GET ? 0 : c_random(&rs);
	if (q.ac == 2 && chance(50))
		q.pid = 101, q.pt = 1, q.jid = C_JID;
	md = r_match(R, &q, &ml, &off);
	if (blocked(md, -1))
		return true;
	if (q.type == R_PUT && chance(30) && q.rlength <= P3L_SHORT)
		return in_one_step(&q);
	h = hdr_of(&q);
	env[slot].single = chance(50);
	p->op = p3l_op_get(&env[slot], L);
	if (!p->op)
		return differ("no record for an operation");
	want = r_target_begin(R, &q, !slot, wait, &p->r);
	rc = p3l_target_begin(&env[slot], L, &h, p->op, wait);
	SAY("%d: %s pt %u bits %llx len %llu roff %llu by %u: %d (MD %d)", step_no,
	    (const char *[]){ "", "put", "get", "getput" }[q.type], q.pt, (long long)q.match_bits,
	    (long long)q.rlength, (long long)q.roffset, slot, want, p->r.md);
	SAME(rc, want == R_MATCHED ? P3L_MATCHED : want == R_WAIT ? P3L_WAIT : P3L_DROPPED, "verdict");
	if (rc != P3L_MATCHED) {
		SAME(p->op->state, P3L_OP_IDLE, "state of the record");
		return true;
	}
	p->what = 1;
	p->slot = slot;
	SAME(p->op->md, md_ref[p->r.md].idx, "MD matched");
	SAME(p->op->mlength, p->r.mlength, "mlength");
	SAME(p->op->moff, p->r.offset, "offset");
	return true;
}

static bool s_local(void)
{
	struct pending *p = free_pending();
	int md = pick_md(), rc, want, pt = (int)pick(4);
	uint64_t bits = rnd_bits(), off = rnd_len(), len = rnd_len(), ml = rnd_len();
	bool whole = chance(40), single;

	if (!p || md < 0 || (R->md[md].live && blocked(md, -1)))
		return true;
	memset(p, 0, sizeof(*p));
	if (whole)
		off = 0;
	switch (pick(3)) {
	case 0:
		SAY("%d: send MD %d off %llu len %lld", step_no, md, (long long)off, whole ? -1LL : (long long)len);
		p->send = (struct p3l_send){ .md = md_ref[md], .len = whole ? P3L_WHOLE : len, .loff = off,
					     .match_bits = bits, .hdr_data = bits + 1, .pt = (uint32_t)pt };
		single = R->md[md].plain && chance(50);	/* else it is counted, for p3l_eq_alloc() */
		want = r_send_begin(R, md, whole, off, len, 0, pt, bits, bits + 1, single, &p->r);
		env[0].single = single;
		rc = p3l_send_begin(&env[0], L, &p->send);
		SAME(rc, want, "return code");
		if (rc == PTL_OK) {
			SAME(p->send.len, p->r.rlength, "length sent");
			p->what = 2;
		}
		return true;
	case 1:
		SAY("%d: ack MD %d", step_no, md);
		r_ack(R, md, 2, pt, bits, off, len, ml);
		p3l_ack(&env[chance(50) ? 2 : 0], L, md_ref[md], 2, (uint32_t)pt, bits, off, len, ml);
		return true;
	default:
		SAY("%d: reply MD %d off %llu mlength %llu", step_no, md, (long long)off, (long long)ml);
		p->reply = (struct p3l_reply){ .md = md_ref[md], .off = off, .rlength = len, .mlength = ml,
					       .target_slot = 3, .pt = (uint32_t)pt, .match_bits = bits };
		want = r_reply_begin(R, md, off, len, ml, 3, pt, bits, &p->r);
		env[0].single = false;
		rc = p3l_reply_begin(&env[0], L, &p->reply);
		SAME(rc, want, "reply taken");
		if (rc) {
			SAME(p->reply.mlength, p->r.mlength, "mlength of a reply");
			p->what = 3;
		}
		return true;
	}
}

static bool finish(struct pending *p)
{
	uint32_t fail = chance(10) ? PTL_NI_FAIL : PTL_NI_OK;
	bool ack, want;

	SAY("%d: end of %s on MD %d fail %u", step_no, (const char *[]){ "", "target", "send", "reply" }[p->what],
	    p->r.md, fail);
	switch (p->what) {
	case 1:
		want = r_target_end(R, &p->r, fail);
		ack = p3l_target_end(&env[p->slot], L, p->op, fail);
		SAME(ack, want, "ack wanted");
		SAME(p->op->state, P3L_OP_IDLE, "state of the record");
		break;
	case 2:
		r_send_end(R, &p->r, fail);
		p3l_send_end(&env[0], L, &p->send, fail);
		break;
	case 3:
		r_reply_end(R, &p->r, fail);
		p3l_reply_end(&env[0], L, &p->reply, fail);
		break;
	}
	p->what = 0;
	return true;
}

static bool may_finish(const struct pending *p)
{
	return p->what && (p->r.plain || (!r_eq_blocked(R, p->r.eq, p->r.ticket, 4) && !blocked(p->r.md, p->r.ticket)));
}

static bool s_end(void)
{
	struct pending *p = &pend[pick(MAX_OPS)];

	return may_finish(p) ? finish(p) : true;
}

static bool s_polled(void)
{
	R->polled = pick(16);
	for (uint32_t pt = 0; pt < 4; pt++)
		p3l_pt_polled_set(&env[0], L, pt, R->polled >> pt & 1);
	return true;
}

static const struct {
	bool (*fn)(void);
	uint32_t weight;
} kinds[] = {
	{ s_me_add, 14 }, { s_me_unlink, 3 }, { s_md_new, 18 }, { s_md_unlink, 3 }, { s_md_update, 6 },
	{ s_eq_alloc, 4 }, { s_eq_free, 1 }, { s_eq_get, 14 }, { s_begin, 26 }, { s_local, 12 }, { s_end, 24 },
	{ s_polled, 1 }
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* A step: its kind in the low bits, the seed of its choices above. A script begins with something to match. */
static uint64_t make_step(uint64_t *state, int no)
{
	static const uint8_t first[] = { 5, 5, 0, 2, 0, 2, 0, 2, 2 };
	uint32_t total = 0, k, i;
	uint64_t v = c_random(state) & ~15ULL;

	for (i = 0; i < N_KINDS; i++)
		total += kinds[i].weight;
	k = (uint32_t)(c_random(state) >> 33) % total;
	for (i = 0; k >= kinds[i].weight; i++)
		k -= kinds[i].weight;
	return v | (no < (int)sizeof(first) ? first[no] : i);
}

static bool step(uint64_t v)
{
	rs = v;
	return kinds[v & 15].fn();
}

static struct p3l_setup setup;

static void restart(void)
{
	struct p3l_ac ac1 = { C_NID, PTL_PID_ANY, PTL_UID_ANY, C_JID, PTL_PT_INDEX_ANY };
	struct p3l_ac ac2 = { PTL_NID_ANY, 101, C_UID, PTL_JID_ANY, 1 };

	memset(L, 0, p3l_ni_size(&setup));
	p3l_ni_setup(L, &setup);
	memset(R, 0, offsetof(struct r_ni, eq));
	memset(pend, 0, sizeof(pend));
	R->max_me = setup.max_me;
	R->max_md = setup.max_md;
	R->max_eq = setup.max_eq;
	R->max_pt = setup.max_pt;
	R->max_ac = setup.max_ac;
	R->max_list = setup.max_me_list;
	R->max_iov = setup.max_iov;
	for (int i = 0; i < 3; i++)
		R->ac[i] = (struct r_ac){ C_UID, PTL_JID_ANY, PTL_NID_ANY, PTL_PID_ANY, PTL_PT_INDEX_ANY };
	L->ac[1] = ac1;
	L->ac[2] = ac2;
	R->ac[1] = (struct r_ac){ ac1.uid, ac1.jid, ac1.nid, ac1.pid, ac1.pt };
	R->ac[2] = (struct r_ac){ ac2.uid, ac2.jid, ac2.nid, ac2.pid, ac2.pt };
	for (uint32_t i = 0; i < C_SLOTS; i++)
		env[i] = c_env(i, false);
}

static bool run(const uint64_t *seed, int n)
{
	uint64_t drops = 0, bytes = 0, recvs = 0, recv_bytes = 0, bad = 0;
	bool more = true;

	restart();
	for (step_no = 0; step_no < n; step_no++)
		if (!step(seed[step_no]) || !same_state())
			return false;
	rs = 1;
	for (int round = 0; round < MAX_OPS && more; round++) {
		more = false;
		for (int i = 0; i < MAX_OPS; i++) {
			more |= pend[i].what != 0;
			if (may_finish(&pend[i]) && (!finish(&pend[i]) || !same_state()))
				return false;
		}
	}
	for (int i = 0; i < R->n_eq; i++)
		for (bool got = R->eq[i].live; got;)
			if (!same_read(i, true, &got))
				return false;
	for (uint32_t i = 0; i < C_SLOTS; i++) {
		const struct p3l_stats *s = &p3l_row(L, i)->stats;

		drops += s->drop_count;
		bytes += s->drop_length;
		recvs += s->recv_count;
		recv_bytes += s->recv_length;
		bad += s->corrupt + s->takeovers + s->eq_overruns;
	}
	SAME(drops, R->drops, "drop count");
	SAME(bytes, R->drop_bytes, "bytes dropped");
	SAME(recvs, R->recvs, "receive count");
	SAME(recv_bytes, R->recv_bytes, "bytes received");
	SAME(bad, 0, "corrupt entries, locks taken over, events given up");
	if (!c_pools_ok(L))
		return differ("the pools are not whole: %u + %u of %u MEs, %u + %u of %u MDs", c_me_free_count(L),
			      c_me_used_count(L), L->max_me, c_md_free_count(L), c_md_used_count(L), L->max_md);
	return true;
}

/* Leave out steps as long as the script still differs. */
static int minimise(uint64_t *seed, int n)
{
	for (int size = n / 2; size; size = size > 1 ? size / 2 : 0)
		for (int at = 0; at + size <= n;) {
			uint64_t cut[MAX_STEPS];

			memcpy(cut, seed, sizeof(*seed) * (size_t)at);
			memcpy(cut + at, seed + at + size, sizeof(*seed) * (size_t)(n - at - size));
			if (run(cut, n - size)) {
				at += size;
				continue;
			}
			n -= size;
			memcpy(seed, cut, sizeof(*seed) * (size_t)n);
		}
	return n;
}

int main(int argc, char **argv)
{
	static const struct option opts[] = { { "seed", 1, NULL, 's' }, { "scripts", 1, NULL, 'n' },
					      { "steps", 1, NULL, 'l' }, { 0 } };
	const char *env_seed = getenv("T_SEED");
	uint64_t seed = env_seed ? strtoull(env_seed, NULL, 0) : (uint64_t)time(NULL) * 1000003, state;
	int c, n_scripts = 20000, n_steps = 100;

	while ((c = getopt_long(argc, argv, "v", opts, NULL)) != -1) {
		switch (c) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'n': n_scripts = atoi(optarg); break;
		case 'l': n_steps = atoi(optarg) < MAX_STEPS ? atoi(optarg) : MAX_STEPS; break;
		case 'v': verbose = true; break;
		default: return 2;
		}
	}
	setup = c_setup();
	setup.lane_lines = 2;
	setup.max_me = 12;
	setup.max_md = 12;
	setup.max_eq = 6;
	setup.max_pt = 2;
	setup.max_me_list = 7;
	setup.max_iov = R_IOV;
	setup.space = 1 << 16;
	L = c_region(&setup);
	R = calloc(1, sizeof(*R));
	plan(1);
	state = seed;
	for (int i = 0; i < n_scripts; i++) {
		uint64_t steps[MAX_STEPS], one = state;
		int n = n_steps / 2 + (int)(c_random(&state) % (uint64_t)(n_steps / 2 + 1));

		setup.index_from = one >> 9 & 1 ? 2 : 0;	/* the reference knows no index: it must not be seen */

		for (int k = 0; k < n; k++)
			steps[k] = make_step(&state, k);
		if (run(steps, n))
			continue;
		diag("script %d of --seed %llu (by itself: --seed %llu --scripts 1): %s", i, (unsigned long long)seed,
		     (unsigned long long)one, why);
		verbose = false;
		n = minimise(steps, n);
		verbose = true;
		diag("cut down to %d steps:", n);
		run(steps, n);
		diag("%s", why);
		ok(0, "the core and the reference agree");
		return 1;
	}
	ok(1, "the core and the reference agree on %d scripts (--seed %llu)", n_scripts, (unsigned long long)seed);
	return exit_status();
}

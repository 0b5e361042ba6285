/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_corrupt.c - a peer overwrites indices, lengths and inbox lines of rank 0's state while traffic runs
 *
 * Rank 0, the owner, polls, posts and unlinks; whatever the calls answer, they come back, the process lives, and
 * nonsense is counted (PTL_SR_CORRUPT_NP). Rank 1 sends and flips bits; what becomes of it does not matter. Addresses
 * of regions and locks are left alone: ranks of one job trust each other with those as threads do. The argument says
 * what is overwritten: inbox, lists, queues, ops or sizes; hands does not run until time is up: rank 1 leaves copies to rank 0
 * (no CMA, memory out of reach), overwrites one field of their record, and both must have back what was tied to it.
 */
#include "../api/ptl.h"

#include <smartmap.h>

#include "p3l.h"

static unsigned char src[4096], dst[1 << 16];
static uint64_t seed;
static const char *what;

static void owner(void)
{
	const char *secs = getenv("T_SECONDS");
	double until = t_now() + (secs ? atof(secs) : 2);
	uint64_t r = seed, events = 0, calls = 0;
	ptl_handle_me_t me, mine[8] = { 0 };
	ptl_handle_md_t h;
	ptl_handle_eq_t eq;
	ptl_event_t ev;

	OK(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq));
	for (int i = 0; i < 8; i++)
		OK(p_post((ptl_match_bits_t)i, p_md(dst, sizeof(dst), PTL_MD_THRESH_INF,
						    PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, eq),
			  &me, &h));
	t_barrier();
	while (t_now() < until) {
		uint64_t x = t_random(&r);
		int rc;

		for (unsigned i = 0; i < (x >> 8 & 63); i++) {
			rc = PtlEQGet(eq, &ev);
			calls++;
			if (rc == PTL_OK || rc == PTL_EQ_DROPPED) {
				events++;
				/* lengths are those of the copy that was made, or the event is nonsense told by a peer */
			} else if (rc != PTL_EQ_EMPTY) {
				break;
			}
		}
		if ((x & 3) == 0) {
			ptl_handle_me_t *m = &mine[x >> 16 & 7];

			if (*m)
				PtlMEUnlink(*m);
			*m = 0;
			if (p_post(100 + (x >> 16 & 7), p_md(dst, 64, 1, PTL_MD_OP_PUT, eq), m, &h) != PTL_OK)
				*m = 0;
			calls += 3;
		}
		if ((x & 31) == 1)
			PtlEQPoll(&eq, 1, 1, &ev, &(int){ 0 });
		if ((x & 15) == 2)
			p_put(src, 64, x >> 20 & 7);
	}
	atomic_store(t_word(1), 1);
	diag("%s: %llu calls, %llu events, %lld drops, %lld times nonsense", what, (unsigned long long)calls,
	     (unsigned long long)events, p_drops(), p_status(PTL_SR_CORRUPT_NP));
	CHECK(calls > 100);
}

static void flip(volatile uint32_t *w, uint64_t x)
{
	switch (x & 3) {
	case 0: *w ^= 1u << (x >> 8 & 31); break;
	case 1: *w = (uint32_t)(x >> 16); break;
	case 2: *w = 0xffffffff; break;
	default: *w += 1 + (x >> 8 & 255); break;
	}
}

/* The limits in the header, which each process has found sane when it first looked; and indices that they are to limit. */
static void flip_size(struct p3l_ni *l, uint64_t x, uint64_t y)
{
	struct p3l_me *me = p3l_me(l, (uint32_t)(x >> 16) % 24);
	uint32_t *const sizes[] = { &l->max_me, &l->max_md, &l->max_eq, &l->max_me_list, &l->max_iov, &l->n_slots,
				    &l->lane_lines, &l->max_pt, &l->max_ac, &l->md_fresh, &l->me_fresh };

	if (x & 3)
		flip(sizes[(x >> 8) % (sizeof(sizes) / sizeof(*sizes))], y);
	else
		flip(x & 4 ? &me->md : x & 8 ? &me->next : &l->pt[PT].head, y);
}

/* One that does as it should, and must live as well: it sends by all ways there are. */
static void honest(void)
{
	uint64_t r = seed ^ 0x7777;
	unsigned done = 0;
	ptl_handle_md_t md;

	OK(PtlMDBind(ni, p_md(src, sizeof(src), PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
	OK(PtlPut(md, PTL_NO_ACK_REQ, p_id(0), PT, 0, 99, 0, 0));	/* it has looked, and found all sane */
	t_barrier();
	while (!atomic_load(t_word(1))) {
		uint64_t x = t_random(&r);

		if (x & 7)
			PtlPutRegion(md, 0, (x >> 8) % 600, x & 8 ? PTL_ACK_REQ : PTL_NO_ACK_REQ, p_id(0), PT,
				     (ptl_ac_index_t)(x >> 50 & 7 ? 0 : x >> 32), x >> 20 & 7, x >> 24 & 1023, done);
		else
			PtlGetRegion(md, 0, 64, p_id(0), PT, 0, 1, 0);
		done++;
		if ((x >> 30 & 31) == 0)
			PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 });
	}
	CHECK(done > 100);
}

static void hostile(void)
{
	uint64_t r = seed ^ 0x5555;
	bool sends = strcmp(what, "sizes");	/* there somebody else does */
	ptl_handle_md_t md;
	struct p3l_eq eqs[6];
	struct p3l_ni *l;

	OK(PtlMDBind(ni, p_md(src, sizeof(src), PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
	t_barrier();
	l = smartmap_remote(0, smartmap_lookup(0, 0));
	if (l)
		memcpy(eqs, l->eq, sizeof(eqs));
	while (l && !atomic_load(t_word(1)) && !atomic_load(&t_page()->dead)) {
		uint64_t x = t_random(&r), y = t_random(&r);

		for (unsigned i = 0; sends && i < (x >> 56 & 15); i++)
			PtlPutRegion(md, 0, (x >> 8) % 600, PTL_NO_ACK_REQ, p_id(0), PT, 0, x >> 20 & 7, x >> 24 & 1023, i);
		if (sends && (x >> 40 & 7) == 0)
			PtlGetRegion(md, 0, 64, p_id(0), PT, 0, 1, 0);
		if (!strcmp(what, "sizes")) {
			flip_size(l, x, y);
		} else if (!strcmp(what, "inbox")) {
			struct p3l_lane_hdr *lane = p3l_lane(l, 1);
			volatile uint32_t *w = (volatile uint32_t *)(lane + 1);

			/* flags, portal and length of a message, mostly; the words that say where the next one is would
			 * only silence the lane */
			if (x & 255)
				flip(&w[(x >> 8) % l->lane_lines * 16 + (x & 7 ? 1 : 2 + (x >> 30) % 14)], y);
			else
				flip(x & 256 ? &lane->head_pub : &w[(x >> 8) % l->lane_lines * 16], y);
		} else if (!strcmp(what, "lists")) {
			struct p3l_me *me = p3l_me(l, (uint32_t)(x >> 8) % 24);

			switch (x & 7) {
			case 0: flip(&l->pt[PT].head, y); break;
			case 1: flip(&l->pt[PT].tail, y); break;
			case 2: flip(&l->pt[PT].len, y); break;
			case 3: flip(&me->next, y); break;
			case 4: flip(&me->prev, y); break;
			case 5: flip(&me->md, y); break;
			case 6: flip(&me->gen, y); break;
			default: flip(&p3l_md(l, (uint32_t)(x >> 8) % 24)->me, y); break;
			}
		} else if (!strcmp(what, "queues")) {
			struct p3l_eq *q = &l->eq[(x >> 8) % 6];

			switch (x & 7) {
			case 0: flip(&q->tail, y); break;
			case 1: flip(&q->log2, y); break;
			case 2: flip((volatile uint32_t *)&q->slots + (x >> 20 & 1), y); break;
			case 3: flip(&q->gen, y); break;
			case 4: flip(&p3l_md(l, (uint32_t)(x >> 8) % 24)->eq, y); break;
			default: {
				/* an event: any word of any slot, where the queue is in truth: what is flipped
				 * elsewhere might be an address */
				const struct p3l_eq *was = &eqs[(x >> 8) % 6];

				if (was->slots)
					flip((volatile uint32_t *)((char *)l + was->slots) +
					     (x >> 24) % (16u << was->log2), y);
			}
			}
		} else {
			struct p3l_row *row = p3l_row(l, (uint32_t)(x >> 8 & 1));

			flip((volatile uint32_t *)&row->op[x >> 10 & 7] + (x >> 16) % (offsetof(struct p3l_op, moff) / 4), y);
			row->op[y & 7].lockless ^= 1;
		}
		if ((x >> 30 & 3) == 0)
			sched_yield();
	}
	_exit(0);	/* nothing that is shared can be trusted any more */
}

static void t_corrupt_shared_memory_is_counted_not_followed(void)
{
	if (t_rank() == 0)
		owner();
	else if (t_rank() == 1)
		hostile();
	else
		honest();
}

/* ---- one field of the record of an operation that was left to its owner ---- */

static void spoil(struct p3l_op *op, int how)
{
	switch (how) {
	case 0: break;				/* nothing: it works */
	case 1: op->md = 0xffffffff; break;
	case 2: op->md = 65000; break;
	case 3: op->md ^= 1; break;		/* another MD, which is there */
	case 4: op->md_gen += 7; break;
	case 5: op->type = 0; break;
	case 6: op->type = 200; break;
	case 7: op->state = P3L_OP_IDLE; break;
	case 8: op->state = 12345; break;
	default: op->mlength = 1ull << 40; break;
	}
}
enum { HOW = 10, EACH = 3 * P3L_OPS };

/* The event that ends it, whatever is read before. */
static void ended(ptl_handle_eq_t eq, ptl_event_t *ev, ptl_event_kind_t kind)
{
	do
		if (p_get(eq, ev) != PTL_OK) {
			CHECK(!"the operation ends");
			return;
		}
	while (ev->type != kind);
}

/* Both poll until the record is free, or @word says that the other has seen that. */
static void poll_until(struct p3l_op *op, int word, unsigned value)
{
	double until = t_now() + 10;

	do {
		CHECK_INT(PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 }), PTL_EQ_EMPTY);
		sched_yield();
	} while (t_now() < until && (op ? p3_load(&op->state) != P3L_OP_IDLE : atomic_load(t_word(word)) != value));
}

/*
 * The initiator does not wait for good, and the owner's MD can be unlinked. Each more often than a mover has records: one
 * that is lost makes PTL_NO_SPACE.
 */
static void handed(bool get)
{
	static unsigned char to[256], old[256];
	unsigned op = get ? PTL_MD_OP_GET : PTL_MD_OP_PUT;
	struct p3l_op *rec = NULL;
	ptl_handle_me_t me[2];
	ptl_handle_md_t md;
	ptl_event_t ev;
	unsigned turn = 0;

	if (t_rank() == 1) {
		struct p3l_ni *l = smartmap_remote(0, smartmap_lookup(0, 0));

		NEED(l != NULL);
		rec = p3l_row(l, 1)->op;
	}
	for (int how = 0; how < HOW; how++)
		for (int i = 0; i < EACH; i++) {
			turn++;
			TGT {
				for (int k = 0; k < 2; k++)
					NEED_OK(p_post((ptl_match_bits_t)k, p_md(dst, 256, PTL_MD_THRESH_INF,
						op | PTL_MD_MANAGE_REMOTE, teq), &me[k], &md));
			}
			t_barrier();
			INI {
				int k = 0, at = -1;

				memset(to, 0xaa, sizeof(to));
				NEED_OK(PtlMDBind(ni, p_md(to, 100, PTL_MD_THRESH_INF, 0, ieq), PTL_RETAIN, &md));
				NEED_OK(get ? PtlGet(md, peer, PT, 0, 0, 0) :
					      PtlPut(md, PTL_NO_ACK_REQ, peer, PT, 0, 0, 0, 0));
				for (; k < P3L_OPS; k++)
					if (rec[k].state == P3L_OP_HAND)
						at = k;
				NEED(at >= 0);
				spoil(&rec[at], how);
				atomic_store(t_word(1), turn);
				poll_until(&rec[at], 0, 0);
				if (rec[at].state != P3L_OP_IDLE)
					diag("how %d: the record is in state %u", how, rec[at].state);
				CHECK_INT(rec[at].state, P3L_OP_IDLE);
				atomic_store(t_word(2), turn);
				if (get)	/* told, and not a byte beyond what was asked for */
					ended(ieq, &ev, PTL_EVENT_REPLY_END);
				else
					ended(ieq, &ev, PTL_EVENT_SEND_END);
				CHECK(ev.mlength <= 100);
				memset(old, 0xaa, sizeof(old));
				CHECK_MEM(to + 100, old, sizeof(to) - 100);
				while (PtlMDUnlink(md) == PTL_MD_IN_USE)
					;
			}
			TGT {
				double until = t_now() + 10;
				int rc;

				while (atomic_load(t_word(1)) != turn && t_now() < until)	/* no call until then */
					sched_yield();
				poll_until(NULL, 2, turn);
				for (int k = 0; k < 2; k++) {
					while ((rc = PtlMEUnlink(me[k])) == PTL_ME_IN_USE && t_now() < until)
						PtlEQGet(p_idle_eq, &ev);
					if (rc != PTL_OK)
						diag("how %d: MD %d is still in use", how, k);
					NEED_OK(rc);
				}
				while (PtlEQGet(teq, &ev) == PTL_OK)	/* the queue goes on */
					;
			}
			t_barrier();
			if (t_bad_)
				return;
		}
	TGT {
		NEED_OK(p_post(0, p_md(dst, 256, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), me, &md));
		t_barrier();
		EVENTS(teq, &ev, PTL_EVENT_PUT_START);
		EVENTS(teq, &ev, PTL_EVENT_PUT_END);
		OK(PtlMEUnlink(me[0]));
		CHECK(p_status(PTL_SR_CORRUPT_NP) >= (HOW - 3) * EACH / 2);
	}
	INI {
		t_barrier();
		OK(p_put(src, 8, 0));
	}
	t_barrier();
}

static void t_handed_put_with_a_spoilt_record_ends_on_both_sides(void)
{
	handed(false);
}

static void t_handed_get_with_a_spoilt_record_ends_on_both_sides(void)
{
	handed(true);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = { T(t_corrupt_shared_memory_is_counted_not_followed), { 0 } };
	static const struct t_case hands[] = { T(t_handed_put_with_a_spoilt_record_ends_on_both_sides),
					       T(t_handed_get_with_a_spoilt_record_ends_on_both_sides), { 0 } };
	int rc;

	what = argc > 1 ? argv[1] : "inbox";
	seed = t_seed();
	if (t_size() != (strcmp(what, "sizes") ? 2 : 3))
		bail("two ranks; three for sizes");
	p_init();
	p_ini = t_rank() == 1;
	p_tgt = !p_ini;
	rc = t_run(strcmp(what, "hands") ? cases : hands);
	fflush(stdout);
	_exit(rc);
}

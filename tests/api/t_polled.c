/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_polled.c - portals whose owner promised to poll (PtlPTPolled_np): puts wait for it, a full inbox is told
 */
#include "ptl.h"

static unsigned char src[2 * PTL_INLINE_MAX_NP], dst[1 << 20];
static ptl_handle_me_t me;
static ptl_handle_md_t mdh, h;
static ptl_handle_eq_t eq;
static ptl_event_t ev[4];

static void polled(int on, size_t len)
{
	TGT {
		if (on) {
			OK(PtlEQAlloc(ni, 65536, PTL_EQ_HANDLER_NONE, &eq));
			OK(p_post(1,
				  p_md(dst, len, PTL_MD_THRESH_INF,
				       PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq),
				  &me, &mdh));
		} else {
			OK(PtlMEUnlink(me));
			OK(PtlEQFree(eq));
		}
		OK(PtlPTPolled_np(ni, PT, on));
	}
	INI {
		if (on)
			OK(PtlMDBind(ni, p_md(src, sizeof(src), PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &h));
		else
			OK(PtlMDUnlink(h));
	}
	p_step();
}

static int put(size_t len, ptl_hdr_data_t hdr)
{
	return PtlPutRegion(h, 0, len, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, hdr);
}

/* Nothing gets lost, the order is kept, and PTL_NO_SPACE is followed by room once the owner has polled. */
static void t_full_inbox_is_told_and_nothing_is_lost(void)
{
	enum { N = 20000 };
	unsigned refused = 0, got = 0;
	double until = t_now() + 60;

	polled(1, sizeof(dst));
	for (unsigned i = 0; i < N || (p_tgt && got < N);) {
		if (p_ini && i < N) {
			int rc = put(i % 7 ? 8 + i % 100 : i % PTL_INLINE_MAX_NP, i);

			if (rc == PTL_OK) {
				i++;
			} else {
				if (rc != PTL_NO_SPACE) {
					CHECK_INT(rc, PTL_NO_SPACE);
					break;
				}
				refused++;
				if (!p_tgt)
					sched_yield();
			}
		} else if (p_ini && !p_tgt) {
			break;
		}
		TGT {
			if (!p_ini)
				i = N;
			if (!p_ini || refused || i == N) {
				while (PtlEQGet(eq, ev) == PTL_OK) {
					if (ev->hdr_data != got)
						CHECK_INT(ev->hdr_data, got);
					got++;
				}
				refused = 0;
			}
		}
		if (t_now() > until) {
			diag("%u sent, %u received", i, got);
			CHECK(!"time is up");
			break;
		}
	}
	TGT { CHECK_INT(got, N); }
	p_step();
	TGT { CHECK_INT(PtlEQGet(eq, ev), PTL_EQ_EMPTY); }
	polled(0, 0);
}

/* While the owner makes no call its inbox fills up; the refused put has done nothing. */
static void t_owner_that_does_not_poll_is_not_matched_for(void)
{
	unsigned n = 0;
	int rc = PTL_OK;

	if (t_size() == 1)
		SKIP("a process that sends to itself is never away");
	polled(1, sizeof(dst));
	t_barrier();		/* not p_step(): the target must not poll */
	INI {
		while (n < 1000000 && (rc = put(64, n)) == PTL_OK)
			n++;
		CHECK_INT(rc, PTL_NO_SPACE);
		CHECK(n > 0);
		atomic_store(t_word(t_rank()), n);
	}
	t_barrier();
	TGT {
		n = (unsigned)atomic_load(t_word(t_rank() ^ 1));
		for (unsigned i = 0; i < n; i++) {
			CHECK_INT(p_get(eq, ev), PTL_OK);
			CHECK_INT(ev->hdr_data, i);
			if (t_bad_)
				break;
		}
		CHECK_INT(PtlEQGet(eq, ev), PTL_EQ_EMPTY);
	}
	p_step();
	polled(0, 0);
}

/*
 * An ordinary put that went into the lane behind a polled one would wait there for the owner, and the next, direct
 * one would overtake it. The initiator takes the lane where it has seen the owner poll, so the owner does that first,
 * then goes.
 */
static void t_ordinary_puts_keep_their_order_behind_a_polled_one(void)
{
	enum { OTHER = 5, ROUNDS = 50, WARM = 64 };
	static const size_t len[] = { 8, 16, 100, 4096, 8, 65536, 0, 200, 300000, 8 };
	static unsigned char big[300000];
	unsigned n = sizeof(len) / sizeof(*len);
	ptl_handle_me_t other;
	ptl_handle_md_t b;
	ptl_handle_eq_t oeq;

	if (t_size() == 1)
		SKIP("a process that sends to itself is never away");
	polled(1, sizeof(dst));
	TGT {
		NEED_OK(PtlEQAlloc(ni, 1024, PTL_EQ_HANDLER_NONE, &oeq));
		NEED_OK(p_post_at(OTHER, 1, 0, PTL_RETAIN,
				  p_md(dst, sizeof(dst), PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, oeq),
				  PTL_RETAIN, &other, NULL));
	}
	INI { NEED_OK(PtlMDBind(ni, p_md(big, sizeof(big), PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &b)); }
	t_barrier();
	for (unsigned round = 0; round < ROUNDS && t_bad_ < 5; round++) {
		INI {
			for (unsigned i = 0; i < WARM; i++)
				OK(PtlPutRegion(b, 0, 8, PTL_NO_ACK_REQ, peer, OTHER, 0, 1, 0, i));
		}
		TGT {
			for (unsigned i = 0; i < WARM; i++) {
				EVENTS(oeq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
				CHECK_INT(ev->hdr_data, i);
			}
		}
		t_barrier();			/* the target is away from here on */
		INI {
			for (unsigned i = 0; i < n; i++) {
				if (i % 4 == 0)
					OK(put(8, i));
				OK(PtlPutRegion(b, 0, len[i], PTL_NO_ACK_REQ, peer, OTHER, 0, 1, 0, i));
			}
		}
		t_barrier();
		TGT {
			for (unsigned i = 0; i < n; i++) {
				EVENTS(oeq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
				CHECK_INT(ev[0].hdr_data, i);
				CHECK_INT(ev[1].hdr_data, i);
				CHECK_INT(ev[1].mlength, len[i]);
			}
			for (unsigned i = 0; i < n; i += 4) {
				CHECK_INT(p_get(eq, ev), PTL_OK);
				CHECK_INT(ev->hdr_data, i);
			}
			NONE(eq);
			NONE(oeq);
		}
		t_barrier();
	}
	INI { OK(p_unlink_sent(b)); }
	TGT {
		OK(PtlMEUnlink(other));
		OK(PtlEQFree(oeq));
	}
	p_step();
	polled(0, 0);
}

static void t_put_too_long_for_an_inbox_is_illegal(void)
{
	if (peer.nid != self.nid || getenv("PTL_NAL"))
		SKIP("other nodes have no inbox here");
	polled(1, sizeof(dst));
	INI {
		CHECK_INT(put(PTL_INLINE_MAX_NP + 1, 1), PTL_MD_ILLEGAL);
		OK(put(PTL_INLINE_MAX_NP, 2));
	}
	TGT {
		CHECK_INT(p_get(eq, ev), PTL_OK);
		CHECK_INT(ev->hdr_data, 2);
		CHECK_INT(ev->mlength, PTL_INLINE_MAX_NP);
	}
	p_step();
	polled(0, 0);
}

static void t_polled_data_arrive_whole(void)
{
	polled(1, sizeof(dst));
	for (size_t n = 0; n <= PTL_INLINE_MAX_NP; n = n < 300 ? n + 1 : n + 977) {
		INI {
			p_fill(src, n, (unsigned)n);
			OK(put(n, n));
			memset(src, 0xee, n);		/* locally complete */
		}
		TGT {
			CHECK_INT(p_get(eq, ev), PTL_OK);
			CHECK_INT(ev->mlength, n);
			p_fill(src, n, (unsigned)n);
			CHECK_MEM(dst, src, n);
		}
		p_step();
		if (t_bad_)
			break;
	}
	polled(0, 0);
}

/* Acknowledgement, drops and access control are the same there. */
static void t_polled_portal_acks_and_drops(void)
{
	ptl_handle_md_t a, g;
	long long drops = 0, bytes = 0;

	TGT {
		drops = p_drops();
		bytes = p_status(PTL_SR_DROP_LENGTH);
	}
	polled(1, sizeof(dst));
	INI {
		OK(PtlMDBind(ni, p_md(src, 8, PTL_MD_THRESH_INF, 0, ieq), PTL_RETAIN, &a));
		OK(PtlMDBind(ni, p_md(src, 40, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &g));
		OK(PtlGet(g, peer, PT, 0, 1, 0));	/* dropped, it never ends */
		OK(PtlPut(a, PTL_ACK_REQ, peer, PT, 0, 2, 0, 0));	/* no such bits */
		OK(PtlPut(a, PTL_ACK_REQ, peer, PT, 0, 1, 0, 3));
	}
	TGT {
		CHECK_INT(p_get(eq, ev), PTL_OK);
		CHECK_INT(ev->hdr_data, 3);
		CHECK_INT(p_drops(), drops + 2);
		CHECK_INT(p_status(PTL_SR_DROP_LENGTH), bytes + 48);
	}
	INI {
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		EVENTS(ieq, ev, PTL_EVENT_ACK);
		NONE(ieq);
		OK(PtlMDUnlink(a));
	}
	p_step();
	polled(0, 0);
}

static void t_back_to_bypass(void)
{
	TGT { OK(p_post(1, p_md(dst, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, PTL_EQ_NONE), &me, &mdh)); }
	t_barrier();
	INI {
		p_fill(src, 8, 5);
		OK(p_put_full(src, 8, PTL_ACK_REQ, PT, 1, 0, 0, ieq));	/* the target makes no call */
		ACKED(ieq, ev, 1);
	}
	t_barrier();
	TGT { OK(PtlMEUnlink(me)); }
	p_step();
}

/*
 * The owner switches its portal while messages are on their way: each arrives once and whole, whichever way it takes,
 * and nothing is left in progress. One that finds neither way is refused (PTL_NO_SPACE), or its SEND_END says so.
 */
static void t_switched_while_peers_send(void)
{
	enum { N = 6000, LEN = 4000, FLAT = 64 };
	static unsigned char seen[N];
	unsigned done = 0, got = 0, late = 0;
	double until = t_now() + 50;
	ptl_handle_md_t s;
	ptl_handle_eq_t seq;

	if (t_size() == 1)
		SKIP("a process that sends to itself is in one place");
	memset(seen, 0, sizeof(seen));
	atomic_store(t_word(t_rank()), 0);
	TGT {
		OK(PtlEQAlloc(ni, 65536, PTL_EQ_HANDLER_NONE, &eq));
		OK(p_post(1, p_md(dst, FLAT * LEN, PTL_MD_THRESH_INF,
				  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq), &me, &mdh));
	}
	INI {
		OK(PtlEQAlloc(ni, 1024, PTL_EQ_HANDLER_NONE, &seq));
		OK(PtlMDBind(ni, p_md(src, sizeof(src), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, seq), PTL_RETAIN,
			     &s));
	}
	t_barrier();
	INI {
		while (done < N && t_bad_ < 5 && t_now() < until) {
			size_t len = done % 5 == 4 ? 1 + done * 37 % LEN : done % 5 == 3 ? 200 : 8;
			int rc;

			if (done >= (unsigned)atomic_load(t_word(t_rank() ^ 1)) + FLAT) {
				sched_yield();		/* its place is in use */
				continue;
			}
			p_fill(src, len, done);
			rc = PtlPutRegion(s, 0, len, PTL_NO_ACK_REQ, peer, PT, 0, 1, done % FLAT * LEN, done);
			if (rc == PTL_NO_SPACE) {
				sched_yield();
				continue;
			}
			NEED_OK(rc);
			NEED(p_get(seq, ev) == PTL_OK);
			CHECK_INT(ev->type, PTL_EVENT_SEND_END);
			if (ev->ni_fail_type == PTL_NI_OK)
				done++;
			else
				late++;
		}
		CHECK_INT(done, N);
		diag("%u of %d puts came too late for either way", late, N);
		OK(PtlMDUnlink(s));
		OK(PtlEQFree(seq));
	}
	TGT {
		uint64_t r = 5;
		int on = 0;

		while (got < N && t_bad_ < 5 && t_now() < until) {
			unsigned i;

			if (t_random(&r) % 16 == 0)
				OK(PtlPTPolled_np(ni, PT, on = !on));
			if (PtlEQGet(eq, ev) != PTL_OK)
				continue;
			i = (unsigned)ev->hdr_data;
			NEED(i < N);
			CHECK_INT(seen[i], 0);
			seen[i] = 1;
			p_fill(src, ev->mlength, i);
			CHECK_MEM(dst + i % FLAT * LEN, src, ev->mlength);
			got++;
			while (done < N && seen[done])
				done++;
			atomic_store(t_word(t_rank()), done);
		}
		CHECK_INT(got, N);
		OK(PtlPTPolled_np(ni, PT, 0));
	}
	t_barrier();
	TGT {
		NONE(eq);
		OK(PtlMEUnlink(me));			/* nothing is in progress there */
		OK(PtlEQFree(eq));
	}
	p_step();
}

/* What was left for an owner that polls is taken without it once it has taken its promise back. */
static void t_nobody_waits_for_an_owner_that_polls_no_longer(void)
{
	if (t_size() == 1)
		SKIP("a process that sends to itself is in one place");
	if (peer.nid != self.nid)
		SKIP("other nodes have no inbox here");
	if (getenv("PTL_KERNEL") && !strcmp(getenv("PTL_KERNEL"), "yes"))
		SKIP("nothing waits for its owner in the kernel");
	polled(1, sizeof(dst));
	t_barrier();
	INI {
		p_fill(src, 8, 77);
		OK(put(8, 1));
	}
	TGT { memset(dst, 0, 8); }
	t_barrier();
	TGT {
		OK(PtlPTPolled_np(ni, PT, 0));		/* the last call, and it takes the message */
		p_fill(src, 8, 77);
		CHECK_MEM(dst, src, 8);
	}
	t_barrier();
	INI {
		OK(p_put_full(src, 8, PTL_ACK_REQ, PT, 1, 0, 2, ieq));
		ACKED(ieq, ev, 1);
	}
	t_barrier();
	TGT {
		for (unsigned i = 1; i <= 2; i++) {
			CHECK_INT(p_get(eq, ev), PTL_OK);
			CHECK_INT(ev->hdr_data, i);
		}
	}
	p_step();
	polled(0, 0);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_full_inbox_is_told_and_nothing_is_lost), T(t_owner_that_does_not_poll_is_not_matched_for),
		T(t_ordinary_puts_keep_their_order_behind_a_polled_one),
		T(t_put_too_long_for_an_inbox_is_illegal), T(t_polled_data_arrive_whole),
		T(t_polled_portal_acks_and_drops), T(t_back_to_bypass), T(t_switched_while_peers_send),
		T(t_nobody_waits_for_an_owner_that_polls_no_longer), { 0 }
	};

	return p_main(cases);
}

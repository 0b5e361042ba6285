/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_handed.c - operations that the owner has to copy (no CMA, memory out of reach): acknowledgements, replies, eight
 * at once
 *
 * Run with PTL_ADOPT=none PTL_CMA=no. The record of such an operation is its initiator's again as soon as it has
 * ended, so the next one is begun at once, with other values: an acknowledgement must carry those of its own put.
 */
#include "ptl.h"

enum { P_RECORDS = 8, N = 8, ROUNDS = 400, LEN = 3000 };

static unsigned char *src, *dst;
static ptl_handle_me_t me;
static ptl_handle_eq_t eq;

static size_t len_of(unsigned i)
{
	return (i * 37) % LEN;
}

static size_t at_of(unsigned i)
{
	return (size_t)(i % (2 * N)) * LEN;
}

/* Keep polling until another rank says so. */
static void serve(int word)
{
	ptl_event_t ev;
	double until = t_now() + 50;

	while (!atomic_load(t_word(word)) && t_now() < until) {
		CHECK_INT(PtlEQGet(p_idle_eq, &ev), PTL_EQ_EMPTY);
		sched_yield();
	}
}

static void t_acks_of_handed_puts_are_their_own(void)
{
	unsigned begun = 0, acked = 0;
	ptl_handle_md_t md;
	ptl_event_t ev;
	uint64_t seen[N * ROUNDS / 64] = { 0 };

	atomic_store(t_word(t_rank()), 0);
	TGT {
		NEED_OK(p_post_at(
			PT, 0, ~0ull, PTL_RETAIN,
			p_md(dst, 2 * N * LEN, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
			PTL_RETAIN, &me, NULL));
	}
	t_barrier();
	if (p_tgt && !p_ini)
		serve(t_rank() ^ 1);
	INI {
		double until = t_now() + 50;

		NEED_OK(PtlMDBind(
			ni,
			p_md(src, LEN, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, eq),
			PTL_RETAIN, &md));
		while (acked < N * ROUNDS && t_bad_ < 5 && t_now() < until) {
			int rc = PTL_NO_SPACE;

			if (begun < N * ROUNDS) {
				p_fill(src, len_of(begun), begun);
				rc = PtlPutRegion(md, 0, len_of(begun), PTL_ACK_REQ, peer, PT, 0, begun, at_of(begun),
						  begun);
				if (rc == PTL_OK)
					begun++;
				else
					CHECK_INT(rc, PTL_NO_SPACE);
			}
			while (PtlEQGet(eq, &ev) == PTL_OK) {
				unsigned i = (unsigned)ev.match_bits;

				CHECK_INT(ev.type, PTL_EVENT_ACK);
				NEED(i < N * ROUNDS);
				CHECK_INT(seen[i / 64] >> i % 64 & 1, 0);
				seen[i / 64] |= 1ull << i % 64;
				CHECK_INT(ev.mlength, len_of(i));
				CHECK_INT(ev.rlength, len_of(i));
				CHECK_INT(ev.offset, at_of(i));
				CHECK_INT(ev.initiator.pid, peer.pid);
				CHECK_INT(ev.ni_fail_type, PTL_NI_OK);
				acked++;
			}
			if (rc != PTL_OK)
				sched_yield();
		}
		CHECK_INT(acked, N * ROUNDS);
		OK(PtlMDUnlink(md));
		atomic_store(t_word(t_rank()), 1);
	}
	t_barrier();
	TGT {
		for (unsigned i = N * ROUNDS - 2 * N; i < N * ROUNDS; i++) {
			p_fill(src, len_of(i), i);
			CHECK_MEM(dst + at_of(i), src, len_of(i));
		}
		OK(PtlMEUnlink(me));
	}
	t_barrier();
}

static void t_handed_gets_bring_their_own_bytes(void)
{
	unsigned begun = 0, ended = 0;
	ptl_handle_md_t md;
	ptl_event_t ev;

	atomic_store(t_word(t_rank()), 0);
	TGT {
		p_fill(dst, 2 * N * LEN, 7);
		NEED_OK(p_post(
			0, p_md(dst, 2 * N * LEN, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
			&me, NULL));
	}
	t_barrier();
	if (p_tgt && !p_ini)
		serve(t_rank() ^ 1);
	INI {
		unsigned char *want = malloc(2 * N * LEN);
		double until = t_now() + 50;

		NEED(want);
		p_fill(want, 2 * N * LEN, 7);
		NEED_OK(PtlMDBind(ni, p_md(src, 2 * N * LEN, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq),
				  PTL_RETAIN, &md));
		while (ended < 2 * N && t_bad_ < 5 && t_now() < until) {
			int rc = PTL_NO_SPACE;

			if (begun < 2 * N) {
				rc = PtlGetRegion(md, at_of(begun), LEN, peer, PT, 0, 0, at_of(begun));
				if (rc == PTL_OK)
					begun++;
				else
					CHECK_INT(rc, PTL_NO_SPACE);
			}
			while (PtlEQGet(eq, &ev) == PTL_OK) {
				CHECK_INT(ev.type, PTL_EVENT_REPLY_END);
				CHECK_INT(ev.mlength, LEN);
				CHECK_MEM(src + ev.offset, want + ev.offset, LEN);
				ended++;
			}
			if (rc != PTL_OK)
				sched_yield();
		}
		CHECK_INT(ended, 2 * N);
		OK(PtlMDUnlink(md));
		free(want);
		atomic_store(t_word(t_rank()), 1);
	}
	t_barrier();
	TGT { OK(PtlMEUnlink(me)); }
	t_barrier();
}

/*
 * Far more than a mover has records, by one that never looks whether they have ended: where the owner polls it never
 * hears of it. Where both send to each other, each makes the other's copies while it waits.
 */
static void t_puts_beyond_the_records_wait_for_an_owner_that_polls(void)
{
	atomic_store(t_word(t_rank()), 0);
	NEED_OK(p_post_at(PT, 0, ~0ull, PTL_RETAIN,
			  p_md(dst, 2 * N * LEN, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
			  PTL_RETAIN, &me, NULL));
	memset(dst, 0, 2 * N * LEN);
	t_barrier();
	for (unsigned i = 0; i < 20 * P_RECORDS && t_bad_ < 5; i++) {
		p_fill(src, len_of(i), i);
		OK(p_put_full(src, len_of(i), PTL_NO_ACK_REQ, PT, i, at_of(i), 0, PTL_EQ_NONE));
	}
	atomic_store(t_word(t_rank()), 1);
	serve(t_rank() ^ 1);
	for (double until = t_now() + 10; PtlMEUnlink(me) == PTL_ME_IN_USE && t_now() < until;)
		PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 });
	for (unsigned i = 20 * P_RECORDS - 2 * N; i < 20 * P_RECORDS; i++) {
		p_fill(src, len_of(i), i);
		CHECK_MEM(dst + at_of(i), src, len_of(i));
	}
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = { T(t_acks_of_handed_puts_are_their_own),
					       T(t_handed_gets_bring_their_own_bytes),
					       T(t_puts_beyond_the_records_wait_for_an_owner_that_polls),
					       { 0 } };
	int rc;

	p_init();
	src = malloc(2 * N * LEN);
	dst = malloc(2 * N * LEN);
	if (!src || !dst || PtlEQAlloc(ni, N * ROUNDS * 2, PTL_EQ_HANDLER_NONE, &eq))
		bail("no memory");
	rc = t_run(cases);
	t_barrier();
	PtlFini();
	return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_owner.c - operations that their target, the owner of memory out of reach, has to copy, and that it dies before
 *
 * Run with PTL_ADOPT=none PTL_CMA=no. Rank 1 shows its memory and then makes no call, so that rank 0's operations wait
 * for it; then it is killed. Each that would have been answered ends with PTL_NI_DIED_NP and a length of 0, those begun
 * before it died and those begun later, more than there are records for; who sleeps for one is woken.
 */
#include "../api/ptl.h"

#include <signal.h>

enum { LEN = 3000, EACH = 2, AFTER = 30, GONE = 20 };

static unsigned char *src, *dst;
static ptl_handle_eq_t eq;
static ptl_handle_md_t md, old;

static void begin(unsigned what, unsigned i)
{
	switch (what) {
	case 0:
		OK(PtlPutRegion(md, 0, LEN, PTL_ACK_REQ, peer, PT, 0, i, 0, 0));
		break;
	case 1:
		OK(PtlGetRegion(old, 0, LEN, peer, PT, 0, i, 0));
		break;
	case 2:
		OK(PtlGetPutRegion(old, 0, md, 0, 64, peer, PT, 0, i, 0, 0));
		break;
	default:
		OK(PtlPutRegion(md, 0, LEN, PTL_NO_ACK_REQ, peer, PT, 0, i, 0, 0));
	}
}

/* The next event is the answer to operation @i, and says that there is none. */
static void ends(unsigned what, unsigned i)
{
	ptl_event_t ev;
	int which;

	NEED_OK(PtlEQPoll(&eq, 1, 20000, &ev, &which));
	CHECK_INT(ev.type, what ? PTL_EVENT_REPLY_END : PTL_EVENT_ACK);
	CHECK_INT(ev.match_bits, i);
	CHECK_INT(ev.ni_fail_type, PTL_NI_DIED_NP);
	CHECK_INT(ev.mlength, 0);
	CHECK_INT(ev.rlength, what == 2 ? 64 : LEN);
	CHECK_INT(ev.initiator.pid, peer.pid);
}

static void sent(void)
{
	ptl_event_t ev;

	NEED_OK(p_get(eq, &ev));
	CHECK_INT(ev.type, PTL_EVENT_SEND_END);
	CHECK_INT(ev.ni_fail_type, PTL_NI_OK);
}

static void t_what_was_left_to_the_dead_fails(void)
{
	unsigned seen[3 * EACH] = { 0 };
	ptl_event_t ev;

	for (unsigned i = 0; i < 3 * EACH; i++) {
		begin(i % 3, i);
		if (i % 3 != 1)
			sent();
	}
	begin(3, 99);
	sent();
	NONE(eq);
	atomic_store(t_word(GONE), 1);
	for (unsigned n = 0; n < 3 * EACH; n++) {	/* by whichever is looked at first */
		NEED_OK(PtlEQWait(eq, &ev));
		NEED(ev.match_bits < 3 * EACH);
		CHECK_INT(seen[ev.match_bits]++, 0);
		CHECK_INT(ev.type, ev.match_bits % 3 ? PTL_EVENT_REPLY_END : PTL_EVENT_ACK);
		CHECK_INT(ev.ni_fail_type, PTL_NI_DIED_NP);
		CHECK_INT(ev.mlength, 0);
		CHECK_INT(ev.initiator.pid, peer.pid);
	}
	NONE(eq);
}

static void t_what_is_left_to_the_dead_fails(void)
{
	for (unsigned i = 0; i < AFTER; i++) {
		begin(i % 3, i);
		if (i % 3 != 1)
			sent();
		ends(i % 3, i);
	}
	NONE(eq);
}

/* Its descriptors are not held by what has ended. */
static void t_descriptors_are_free(void)
{
	for (size_t i = 0; i < LEN; i++)
		CHECK_INT(src[i], 7);
	for (size_t i = 0; i < LEN; i++)
		CHECK_INT(dst[i], 9);
	OK(PtlMDUnlink(md));
	OK(PtlMDUnlink(old));
	NONE(eq);
}

int main(void)
{
	int rc;

	p_init();
	if (t_size() != 2)
		bail("made for two ranks");
	src = malloc(LEN);
	dst = malloc(LEN);
	memset(src, 7, LEN);
	memset(dst, 9, LEN);
	if (t_rank() == 1) {
		ptl_handle_me_t me;

		OK(p_post_at(PT, 0, ~0ull, PTL_RETAIN,
			     p_md(dst, LEN, PTL_MD_THRESH_INF,
				  PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
			     PTL_RETAIN, &me, NULL));
		t_barrier();
		while (!atomic_load(t_word(GONE)))
			sched_yield();
		raise(SIGKILL);
	}
	OK(PtlEQAlloc(ni, 256, PTL_EQ_HANDLER_NONE, &eq));
	OK(PtlMDBind(ni, p_md(src, LEN, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &md));
	OK(PtlMDBind(ni, p_md(dst, LEN, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &old));
	t_barrier();
	rc = t_run((const struct t_case[]){ T(t_what_was_left_to_the_dead_fails), T(t_what_is_left_to_the_dead_fails),
					    T(t_descriptors_are_free), { 0 } });
	PtlFini();
	return rc;
}

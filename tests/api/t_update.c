/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_update.c - PtlMDUpdate and PtlMEMDPost: read, replace, and only when a queue is empty (items 10, 11)
 */
#include "ptl.h"

static unsigned char src[256], dst[256];
static ptl_handle_me_t me, mark, me2;
static ptl_handle_md_t mdh, md2;
static ptl_handle_eq_t empty;
static ptl_event_t ev[8];

static void t_update_reads_current_values(void)
{
	ptl_md_t old = { .options = 0 };

	TGT { OK(p_post(1, p_md(dst, 100, 7, PTL_MD_OP_PUT, teq), &me, &mdh)); }
	p_step();
	INI {
		OK(p_put(src, 30, 1));
		OK(p_put(src, 30, 1));
		p_sync();
	}
	p_step();
	TGT {
		memset(&old, 0, sizeof(old));
		OK(PtlMDUpdate(mdh, &old, NULL, PTL_EQ_NONE));
		CHECK(old.start == dst);
		CHECK_INT(old.length, 100);
		CHECK_INT(old.threshold, 5);
		CHECK_INT(old.options, PTL_MD_OP_PUT);
		CHECK_INT(old.eq_handle, teq);
		CHECK(old.user_ptr == (void *)0x5eed);
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
	}
	p_step();
	INI {	/* a read changes nothing: the offset goes on at 60 */
		OK(p_put(src, 30, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		CHECK_INT(ev[1].offset, 60);
		OK(PtlMDUpdate(mdh, NULL, NULL, PTL_EQ_NONE));
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_update_replaces_everything(void)
{
	static unsigned char other[64];
	ptl_handle_eq_t eq2 = PTL_EQ_NONE;
	ptl_md_t md;

	TGT {
		OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &eq2));
		OK(p_post(1, p_md(dst, 100, 7, PTL_MD_OP_PUT, teq), &me, &mdh));
	}
	p_step();
	INI {
		OK(p_put(src, 30, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		md = p_md(other, sizeof(other), 2, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE, eq2);
		md.user_ptr = other;
		OK(PtlMDUpdate(mdh, NULL, &md, PTL_EQ_NONE));
	}
	p_step();
	INI {
		memset(src, 0x77, sizeof(src));
		OK(p_put(src, 100, 1));
		p_sync();
	}
	p_step();
	TGT {
		NONE(teq);
		EVENTS(eq2, ev, PTL_EVENT_PUT_END);
		CHECK_INT(ev[0].offset, 0);
		CHECK_INT(ev[0].mlength, 64);
		CHECK_INT(ev[0].md.threshold, 1);
		CHECK(ev[0].md.user_ptr == other);
		CHECK_INT(other[63], 0x77);
		OK(PtlMEUnlink(me));
		OK(PtlEQFree(eq2));
	}
	p_step();
}

#define SHOWS(e, mem, len, opt, user, q) do {							\
	CHECK((e).md_handle == mdh && (e).md.start == (mem) && (e).md.user_ptr == (void *)(user));	\
	CHECK_INT((e).md.length, len);								\
	CHECK_INT((e).md.options, opt);								\
	CHECK((e).md.eq_handle == (q));								\
} while (0)

static int update(void *start, size_t len, unsigned options, uintptr_t user, ptl_handle_eq_t eq)
{
	ptl_md_t md = p_md(start, len, PTL_MD_THRESH_INF, options, eq);

	md.user_ptr = (void *)user;
	return PtlMDUpdate(mdh, NULL, &md, PTL_EQ_NONE);
}

/* 4.5: an event has the descriptor's values right after the operation was charged, whatever has become of it since. */
static void t_events_show_what_the_descriptor_was(void)
{
	static unsigned char b[64], c[64];
	ptl_handle_eq_t eq2 = PTL_EQ_NONE;
	ptl_handle_md_t h[40];
	ptl_event_t peek;

	TGT {
		OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &eq2));
		OK(p_post(1, p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh));
	}
	for (int i = 0; i < 4; i++) {
		p_step();
		INI {
			OK(p_put(src, 10, 1));
			p_sync();
		}
		p_step();
		if (i == 0)
			TGT { OK(update(b, 64, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, 1, teq)); }
		if (i == 1)
			TGT { OK(update(c, 50, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, 2, eq2)); }
		if (i == 2)
			TGT { OK(update(b, 20, PTL_MD_OP_PUT, 3, teq)); }	/* back to the first queue */
	}
	TGT {
		OK(update(NULL, 0, PTL_MD_OP_GET, 4, PTL_EQ_NONE));
		OK(update(c, 1, PTL_MD_OP_GET, 5, eq2));
		OK(PtlMEUnlink(me));
		for (int i = 0; i < 40; i++)		/* nobody else gets the place of what is still to be shown */
			OK(PtlMDBind(ni, p_md(src, 1, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &h[i]));
		OK(PtlEQPeek(teq, &peek));
		SHOWS(peek, dst, 100, PTL_MD_OP_PUT, 0x5eed, teq);
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END,
		       PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		for (int i = 0; i < 2; i++) {
			SHOWS(ev[i], dst, 100, PTL_MD_OP_PUT, 0x5eed, teq);
			SHOWS(ev[2 + i], b, 64, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, 1, teq);
			SHOWS(ev[4 + i], b, 20, PTL_MD_OP_PUT, 3, teq);
		}
		NONE(teq);
		EVENTS(eq2, ev, PTL_EVENT_PUT_END);
		SHOWS(ev[0], c, 50, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, 2, eq2);
		NONE(eq2);
		for (int i = 0; i < 40; i++)
			OK(PtlMDUnlink(h[i]));
		OK(PtlEQFree(eq2));
	}
	p_step();
}

/* The old values need a place of their own as long as an event is to show them. Without one nothing changes. */
static void t_update_needs_room_for_old_values(void)
{
	ptl_handle_md_t *h = calloc((size_t)lim.max_mds, sizeof(*h));
	int n = 0;

	NEED(h);
	TGT { OK(p_post(1, p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh)); }
	p_step();
	INI {
		OK(p_put(src, 10, 1));
		p_sync();
	}
	p_step();
	TGT {
		while (n < lim.max_mds && PtlMDBind(ni, p_md(src, 1, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &h[n]) == PTL_OK)
			n++;
		CHECK_INT(update(src, 10, PTL_MD_OP_PUT, 1, teq), PTL_NO_SPACE);
		OK(PtlMDUnlink(h[--n]));
		OK(update(src, 20, PTL_MD_OP_PUT, 2, teq));
		for (int i = 0; i < 10; i++)		/* nothing came meanwhile: no further places */
			OK(update(src, 30, PTL_MD_OP_PUT, 3, teq));
		CHECK_INT(PtlMDBind(ni, p_md(src, 1, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &h[n]), PTL_NO_SPACE);
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		SHOWS(ev[1], dst, 100, PTL_MD_OP_PUT, 0x5eed, teq);
		OK(PtlMDBind(ni, p_md(src, 1, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &h[n++]));	/* it is given back */
		OK(update(src, 10, PTL_MD_OP_PUT, 4, teq));
		while (n)
			OK(PtlMDUnlink(h[--n]));
		OK(PtlMEUnlink(me));
	}
	free(h);
	p_step();
}

/* item 10 */
static void t_threshold_zero_is_revived(void)
{
	ptl_md_t md;
	long long drops = 0;

	TGT {
		drops = p_drops();
		md = p_md(dst, 100, 0, PTL_MD_OP_PUT, teq);
		OK(p_post_at(PT, 1, 0, PTL_UNLINK, md, PTL_UNLINK, &me, &mdh));
	}
	p_step();
	INI {
		OK(p_put(src, 4, 1));
		p_sync();
	}
	p_step();
	TGT {
		NONE(teq);
		CHECK_INT(p_drops(), drops + 1);
		md.threshold = 5;
		OK(PtlMDUpdate(mdh, NULL, &md, teq));
	}
	p_step();
	INI {
		OK(p_put(src, 4, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		md.threshold = 0;
		OK(PtlMDUpdate(mdh, NULL, &md, teq));		/* inactive, not unlinked */
		OK(PtlMDUpdate(mdh, NULL, NULL, PTL_EQ_NONE));
		NONE(teq);
	}
	p_step();
	INI {
		OK(p_put(src, 4, 1));
		p_sync();
	}
	p_step();
	TGT {
		NONE(teq);
		md.threshold = PTL_MD_THRESH_INF;
		OK(PtlMDUpdate(mdh, NULL, &md, PTL_EQ_NONE));
	}
	p_step();
	INI {
		for (int i = 0; i < 20; i++)
			OK(p_put(src, 4, 1));
		p_sync();
	}
	p_step();
	TGT {
		for (int i = 0; i < 20; i++) {
			EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
			CHECK_INT(ev[1].offset, 4 * i);
			CHECK_INT(ev[1].md.threshold, PTL_MD_THRESH_INF);
		}
		NONE(teq);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_negative_threshold_is_zero(void)
{
	TGT { OK(p_post(1, p_md(dst, 100, -5, PTL_MD_OP_PUT, teq), &me, &mdh)); }
	p_step();
	INI {
		OK(p_put(src, 4, 1));
		p_sync();
	}
	p_step();
	TGT {
		NONE(teq);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* item 11 */
static void t_update_is_refused_when_the_queue_is_not_empty(void)
{
	ptl_md_t md, old = { .options = 0 };

	TGT {
		OK(p_post(1, p_md(dst, 100, 7, PTL_MD_OP_PUT, teq), &me, &mdh));
		OK(p_post(2, p_md(dst, 100, 0, PTL_MD_OP_PUT, PTL_EQ_NONE), &me2, &md2));
	}
	p_step();
	INI {
		OK(p_put(src, 4, 1));
		p_sync();
	}
	p_step();
	TGT {
		md = p_md(dst + 100, 50, 3, PTL_MD_OP_PUT, PTL_EQ_NONE);
		memset(&old, 0, sizeof(old));
		CHECK_INT(PtlMDUpdate(md2, &old, &md, teq), PTL_MD_NO_UPDATE);	/* another MD's queue */
		CHECK(old.start == dst);
		CHECK_INT(old.threshold, 0);
		CHECK_INT(PtlEQGet(teq, ev), PTL_OK);
		CHECK_INT(PtlMDUpdate(md2, NULL, &md, teq), PTL_MD_NO_UPDATE);	/* one event is left */
		OK(PtlMDUpdate(md2, &old, NULL, PTL_EQ_NONE));
		CHECK(old.start == dst && old.length == 100 && old.threshold == 0);
		OK(PtlMDUpdate(md2, NULL, &md, empty));				/* always empty: goes */
		CHECK_INT(PtlEQGet(teq, ev), PTL_OK);
		OK(PtlMDUpdate(md2, &old, &md, teq));
		CHECK_INT(old.threshold, 3);
		OK(PtlMEUnlink(me));
		OK(PtlMEUnlink(me2));
	}
	p_step();
}

static void t_update_refuses_bad_values(void)
{
	ptl_md_t md = p_md(dst, 100, 7, PTL_MD_OP_PUT, teq), bad, old = { .options = 0 };

	OK(p_post(1, md, &me, &mdh));
	bad = md;
	bad.eq_handle = PTL_INVALID_HANDLE;
	CHECK(PtlMDUpdate(mdh, NULL, &bad, PTL_EQ_NONE) != PTL_OK);
	bad = md;
	bad.start = NULL;
	CHECK_INT(PtlMDUpdate(mdh, NULL, &bad, PTL_EQ_NONE), PTL_MD_ILLEGAL);
	bad = md;
	bad.length = ~0ull;
	CHECK_INT(PtlMDUpdate(mdh, NULL, &bad, PTL_EQ_NONE), PTL_MD_ILLEGAL);
	bad = md;
	bad.options = PTL_MD_IOVEC;
	bad.length = (ptl_size_t)lim.max_md_iovecs + 1;
	CHECK_INT(PtlMDUpdate(mdh, NULL, &bad, PTL_EQ_NONE), PTL_MD_ILLEGAL);
	CHECK_INT(PtlMDUpdate(mdh, NULL, &md, PTL_INVALID_HANDLE), PTL_EQ_INVALID);
	CHECK_INT(PtlMDUpdate(PTL_INVALID_HANDLE, NULL, &md, PTL_EQ_NONE), PTL_MD_INVALID);
	OK(PtlMDUpdate(mdh, &old, NULL, PTL_EQ_NONE));
	CHECK(old.start == dst && old.length == 100 && old.threshold == 7 && old.eq_handle == teq);
	OK(PtlMEUnlink(me));
	p_step();
}

static void t_post_is_insert_and_attach_in_one(void)
{
	TGT {
		OK(PtlMEAttach(ni, PT, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &mark));
		OK(PtlMEMDPost(ni, mark, anyone, 1, 0, PTL_UNLINK, PTL_INS_BEFORE, p_md(dst, 10, 1, PTL_MD_OP_PUT, teq),
			       PTL_UNLINK, &me, &mdh, empty));
		OK(PtlMEMDPost(ni, mark, anyone, 1, 0, PTL_UNLINK, PTL_INS_BEFORE,
			       p_md(dst + 10, 10, 1, PTL_MD_OP_PUT, teq), PTL_UNLINK, &me2, &md2, teq));
		CHECK(me != me2 && mdh != md2);
	}
	p_step();
	INI {
		OK(p_put(src, 8, 1));
		OK(p_put(src, 9, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK, PTL_EVENT_PUT_START,
		       PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
		CHECK_INT(ev[1].md_handle, mdh);
		CHECK_INT(ev[4].md_handle, md2);
		CHECK_INT(PtlMEUnlink(me), PTL_ME_INVALID);
		OK(PtlMEUnlink(mark));
	}
	p_step();
}

static void t_refused_post_leaves_nothing_behind(void)
{
	long long drops = 0;

	TGT {
		drops = p_drops();
		OK(PtlMEAttach(ni, PT, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &mark));
		OK(p_post(1, p_md(dst, 100, 7, PTL_MD_OP_PUT, teq), &me, &mdh));
	}
	p_step();
	INI {
		OK(p_put(src, 8, 1));
		p_sync();
	}
	p_step();
	TGT {
		me2 = md2 = 0x11111111;
		for (int i = 0; i < 3 * lim.max_mes && i < 300000; i++)	/* a leak would use up the pool */
			if (!CHECK_INT(PtlMEMDPost(ni, mark, anyone, 2, 0, PTL_UNLINK, PTL_INS_BEFORE,
						   p_md(dst, 10, 1, PTL_MD_OP_PUT, teq), PTL_UNLINK, &me2, &md2, teq),
				       PTL_MD_NO_UPDATE))
				break;
		CHECK_INT(me2, 0x11111111);
		CHECK_INT(md2, 0x11111111);
	}
	p_step();
	INI {
		OK(p_put(src, 8, 2));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		NONE(teq);
		CHECK_INT(p_drops(), drops + 1);
		OK(PtlMEUnlink(me));
		OK(PtlMEUnlink(mark));
	}
	p_step();
}

static void t_post_with_no_queue_is_unconditional(void)
{
	TGT {
		OK(PtlMEAttach(ni, PT, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &mark));
		OK(PtlMEMDPost(ni, mark, anyone, 2, 0, PTL_RETAIN, PTL_INS_AFTER, p_md(dst, 10, 1, PTL_MD_OP_PUT, teq),
			       PTL_RETAIN, &me2, &md2, PTL_EQ_NONE));
		OK(PtlMEUnlink(me2));
		OK(PtlMEUnlink(mark));
	}
	p_step();
}

static void t_post_refuses_bad_arguments(void)
{
	ptl_md_t md = p_md(dst, 10, 1, PTL_MD_OP_PUT, teq), bad = md;

	OK(PtlMEAttach(ni, PT, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &mark));
#define POST(n, base, m, e) PtlMEMDPost(n, base, anyone, 2, 0, PTL_UNLINK, PTL_INS_BEFORE, m, PTL_UNLINK, &me2, &md2, e)
	CHECK_INT(POST(ni, PTL_INVALID_HANDLE, md, empty), PTL_ME_INVALID);
	CHECK_INT(POST(PTL_INVALID_HANDLE, mark, md, empty), PTL_NI_INVALID);
	CHECK_INT(POST(ni, mark, md, PTL_INVALID_HANDLE), PTL_EQ_INVALID);
	bad.start = NULL;
	CHECK_INT(POST(ni, mark, bad, empty), PTL_MD_ILLEGAL);
	bad = md;
	bad.eq_handle = PTL_INVALID_HANDLE;
	CHECK(POST(ni, mark, bad, empty) != PTL_OK);
#undef POST
	OK(PtlMEUnlink(mark));
	CHECK_INT(PtlMEMDPost(ni, mark, anyone, 2, 0, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, &me2, &md2, empty),
		  PTL_ME_INVALID);
	p_step();
}

static void t_setup(void)
{
	OK(PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &empty));
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_setup), T(t_update_reads_current_values), T(t_update_replaces_everything),
		T(t_events_show_what_the_descriptor_was), T(t_update_needs_room_for_old_values),
		T(t_threshold_zero_is_revived), T(t_negative_threshold_is_zero),
		T(t_update_is_refused_when_the_queue_is_not_empty), T(t_update_refuses_bad_values),
		T(t_post_is_insert_and_attach_in_one), T(t_refused_post_leaves_nothing_behind),
		T(t_post_with_no_queue_is_unconditional), T(t_post_refuses_bad_arguments), { 0 }
	};

	return p_main(cases);
}

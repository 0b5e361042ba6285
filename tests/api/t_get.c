/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_get.c - get and reply
 */
#include "ptl.h"

static unsigned char src[1 << 20], dst[1 << 20];	/* src at the target, dst at the initiator */
static ptl_handle_me_t me;
static ptl_handle_md_t mdh, h;
static ptl_event_t ev[16];

static void fresh(void)
{
	INI { memset(dst, 0xcc, sizeof(dst)); }
	TGT { p_fill(src, sizeof(src), 9); }
}

/* What the target holds, for the initiator to compare with. */
static void want_src(void)
{
	if (!p_tgt)
		p_fill(src, sizeof(src), 9);
}

/* item 13 */
static void t_get_makes_reply_events_and_no_send_events(void)
{
	fresh();
	TGT { OK(p_post(1, p_md(src, 100, 5, PTL_MD_OP_GET, teq), &me, &mdh)); }
	p_step();
	INI {
		OK(PtlMDBind(ni, p_md(dst, 64, 1, 0, ieq), PTL_UNLINK, &h));
		OK(PtlGet(h, peer, PT, 0, 1, 0));
		EVENTS(ieq, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK);
		for (int i = 0; i < 2; i++) {
			CHECK_INT(ev[i].link, ev[0].link);
			CHECK_INT(ev[i].rlength, 64);
			CHECK_INT(ev[i].mlength, 64);
			CHECK_INT(ev[i].offset, 0);
			CHECK_INT(ev[i].match_bits, 1);
			CHECK_INT(ev[i].pt_index, PT);
			CHECK_INT(ev[i].md_handle, h);
			CHECK_INT(ev[i].md.threshold, 0);
			CHECK_INT(ev[i].hdr_data, 0);
			CHECK(ev[i].md.start == dst);
		}
		want_src();
		CHECK_MEM(dst, src, 64);
		CHECK_INT(dst[64], 0xcc);
		p_sync();
		NONE(ieq);
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_GET_START, PTL_EVENT_GET_END);
		NONE(teq);
		for (int i = 0; i < 2; i++) {
			CHECK_INT(ev[i].link, ev[0].link);
			CHECK_INT(ev[i].initiator.nid, peer.nid);
			CHECK_INT(ev[i].initiator.pid, peer.pid);
			CHECK_INT(ev[i].rlength, 64);
			CHECK_INT(ev[i].mlength, 64);
			CHECK_INT(ev[i].offset, 0);
			CHECK_INT(ev[i].md_handle, mdh);
			CHECK_INT(ev[i].md.threshold, 4);
			CHECK_INT(ev[i].match_bits, 1);
			CHECK_INT(ev[i].pt_index, PT);
		}
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_all_sizes_come_whole(void)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 63, 64, 65, 100, 1000, 4096, 8192, 8193, 65536, 262144, 1048576 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i];

		fresh();
		TGT { OK(p_post(i, p_md(src, n, PTL_MD_THRESH_INF, PTL_MD_OP_GET, teq), &me, &mdh)); }
		p_step();
		INI {
			OK(PtlMDBind(ni, p_md(dst, n, 1, 0, ieq), PTL_UNLINK, &h));
			OK(PtlGet(h, peer, PT, 0, i, 0));
			EVENTS(ieq, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK);
			CHECK_INT(ev[1].mlength, n);
			want_src();
			CHECK_MEM(dst, src, n);
			if (n < sizeof(dst))
				CHECK_INT(dst[n], 0xcc);
		}
		p_step();
		TGT {
			EVENTS(teq, ev, PTL_EVENT_GET_START, PTL_EVENT_GET_END);
			CHECK_INT(ev[1].mlength, n);
			OK(PtlMEUnlink(me));
		}
		p_step();
	}
}

static void t_short_target_gives_a_short_reply(void)
{
	fresh();
	TGT { OK(p_post(1, p_md(src, 24, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_TRUNCATE, teq), &me, &mdh)); }
	p_step();
	INI {
		OK(PtlMDBind(ni, p_md(dst, 100, 1, 0, ieq), PTL_UNLINK, &h));
		OK(PtlGet(h, peer, PT, 0, 1, 0));
		EVENTS(ieq, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK);
		CHECK_INT(ev[1].rlength, 100);
		CHECK_INT(ev[1].mlength, 24);
		want_src();
		CHECK_MEM(dst, src, 24);
		CHECK_INT(dst[24], 0xcc);
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_GET_START, PTL_EVENT_GET_END);
		CHECK_INT(ev[1].rlength, 100);
		CHECK_INT(ev[1].mlength, 24);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* without TRUNCATE, or with OP_PUT only, the request is dropped: the initiator hears nothing, ever */
static void t_dropped_get_is_silent(void)
{
	long long drops = 0;
	ptl_handle_me_t me2;

	fresh();
	TGT {
		drops = p_drops();
		OK(p_post(1, p_md(src, 24, PTL_MD_THRESH_INF, PTL_MD_OP_GET, teq), &me, &mdh));
		OK(p_post(2, p_md(src, 200, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me2, NULL));
	}
	p_step();
	INI {
		OK(PtlMDBind(ni, p_md(dst, 100, 1, 0, ieq), PTL_UNLINK, &h));
		OK(PtlGet(h, peer, PT, 0, 1, 0));
		OK(PtlGet(h, peer, PT, 0, 2, 0));	/* the request costs nothing: still active */
		OK(PtlGet(h, peer, PT, 0, 3, 0));
		OK(PtlGet(h, peer, 0xffffffff, 0, 1, 0));
		p_sync();
		NONE(ieq);
		CHECK_INT(dst[0], 0xcc);
		OK(PtlMDUnlink(h));
	}
	p_step();
	TGT {
		NONE(teq);
		CHECK_INT(p_drops(), drops + 4);
		OK(PtlMEUnlink(me));
		OK(PtlMEUnlink(me2));
	}
	p_step();
}

static void t_offsets_of_gets(void)
{
	ptl_handle_me_t me2;

	fresh();
	TGT {
		OK(p_post(1, p_md(src, 1000, PTL_MD_THRESH_INF, PTL_MD_OP_GET, teq), &me, &mdh));
		OK(p_post(2, p_md(src, 1000, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, teq), &me2,
			  NULL));
	}
	p_step();
	INI {
		OK(PtlMDBind(ni, p_md(dst, 300, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_UNLINK, &h));
		OK(PtlGetRegion(h, 0, 100, peer, PT, 0, 1, 77));	/* the target counts by itself: 0 */
		OK(PtlGetRegion(h, 100, 100, peer, PT, 0, 1, 77));	/* 100 */
		OK(PtlGetRegion(h, 200, 100, peer, PT, 0, 2, 555));
		for (int i = 0; i < 3; i++) {
			EVENTS(ieq, ev, PTL_EVENT_REPLY_END);
			CHECK_INT(ev[0].offset % 100, 0);
			CHECK_INT(ev[0].mlength, 100);
		}
		want_src();
		CHECK_MEM(dst, src, 200);
		CHECK_MEM(dst + 200, src + 555, 100);
		CHECK_INT(dst[300], 0xcc);
		OK(PtlMDUnlink(h));
	}
	p_step();
	TGT {
		for (int i = 0; i < 3; i++) {
			EVENTS(teq, ev, PTL_EVENT_GET_START, PTL_EVENT_GET_END);
			CHECK_INT(ev[1].offset, i == 2 ? 555 : 100 * i);
		}
		OK(PtlMEUnlink(me));
		OK(PtlMEUnlink(me2));
	}
	p_step();
}

static void t_get_region_outside_the_md_is_refused(void)
{
	INI {
		OK(PtlMDBind(ni, p_md(dst, 100, 3, 0, ieq), PTL_UNLINK, &h));
		CHECK_INT(PtlGetRegion(h, 101, 0, peer, PT, 0, 1, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlGetRegion(h, 1, 100, peer, PT, 0, 1, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlGetRegion(h, ~0ull, 1, peer, PT, 0, 1, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlGetRegion(h, 50, ~0ull - 10, peer, PT, 0, 1, 0), PTL_MD_ILLEGAL);
		OK(PtlMDUnlink(h));
		NONE(ieq);
	}
	p_step();
}

static void t_threshold_counts_replies(void)
{
	fresh();
	TGT {
		OK(p_post_at(PT, 1, 0, PTL_UNLINK, p_md(src, 100, 2, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, teq),
			     PTL_UNLINK, &me, &mdh));
	}
	p_step();
	INI {
		OK(PtlMDBind(ni, p_md(dst, 8, 2, 0, ieq), PTL_RETAIN, &h));
		for (int i = 0; i < 2; i++) {
			OK(PtlGet(h, peer, PT, 0, 1, 0));
			EVENTS(ieq, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END);
			CHECK_INT(ev[1].md.threshold, 1 - i);
		}
		NONE(ieq);
		CHECK_INT(PtlGet(h, peer, PT, 0, 1, 0), PTL_MD_INVALID);
		OK(PtlMDUnlink(h));
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_GET_START, PTL_EVENT_GET_END, PTL_EVENT_GET_START, PTL_EVENT_GET_END,
		       PTL_EVENT_UNLINK);
		CHECK_INT(ev[4].link, ev[3].link);
		CHECK_INT(PtlMEUnlink(me), PTL_ME_INVALID);
	}
	p_step();
}

static void t_disabled_events_of_get(void)
{
	static const unsigned opt[] = { PTL_MD_EVENT_START_DISABLE, PTL_MD_EVENT_END_DISABLE,
		PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE };

	for (int i = 0; i < 3; i++) {
		fresh();
		TGT {
			OK(p_post_at(PT, 1, 0, PTL_UNLINK, p_md(src, 8, 1, PTL_MD_OP_GET | opt[i], teq), PTL_UNLINK,
				     &me, &mdh));
		}
		p_step();
		INI {
			OK(PtlMDBind(ni, p_md(dst, 8, 1, opt[i], ieq), PTL_UNLINK, &h));
			OK(PtlGet(h, peer, PT, 0, 1, 0));
			if (!(opt[i] & PTL_MD_EVENT_START_DISABLE))
				EVENTS(ieq, ev, PTL_EVENT_REPLY_START);
			if (!(opt[i] & PTL_MD_EVENT_END_DISABLE))
				EVENTS(ieq, ev, PTL_EVENT_REPLY_END);
			EVENTS(ieq, ev, PTL_EVENT_UNLINK);
			NONE(ieq);
			want_src();
			CHECK_MEM(dst, src, 8);
		}
		p_step();
		TGT {
			if (!(opt[i] & PTL_MD_EVENT_START_DISABLE))
				EVENTS(teq, ev, PTL_EVENT_GET_START);
			if (!(opt[i] & PTL_MD_EVENT_END_DISABLE))
				EVENTS(teq, ev, PTL_EVENT_GET_END);
			EVENTS(teq, ev, PTL_EVENT_UNLINK);
			NONE(teq);
		}
		p_step();
	}
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_get_makes_reply_events_and_no_send_events), T(t_all_sizes_come_whole),
		T(t_short_target_gives_a_short_reply), T(t_dropped_get_is_silent), T(t_offsets_of_gets),
		T(t_get_region_outside_the_md_is_refused), T(t_threshold_counts_replies),
		T(t_disabled_events_of_get), { 0 }
	};

	return p_main(cases);
}

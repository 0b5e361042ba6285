/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_put.c - put and acknowledgement: events and their fields, offsets, truncation, thresholds, unlinking
 */
#include "ptl.h"

static unsigned char src[1 << 20], dst[1 << 20];
static ptl_handle_me_t me, me2;
static ptl_handle_md_t mdh, md2;
static ptl_event_t ev[16];

static void fresh(void)
{
	TGT { memset(dst, 0xcc, sizeof(dst)); }
	INI { p_fill(src, sizeof(src), 7); }
}

/* 10.1 item 2 */
static void t_put_with_ack_makes_events_in_pairs(void)
{
	fresh();
	TGT { OK(p_post(0x1234, p_md(dst, 100, 5, PTL_MD_OP_PUT, teq), &me, &mdh)); }
	p_step();
	INI {
		OK(p_put_full(src, 64, PTL_ACK_REQ, PT, 0x1234, 0, 0xabcdef0123456789u, ieq));
		ACKED(ieq, ev, 1);
		CHECK_INT(ev[0].link, ev[1].link);
		for (int i = 0; i < 3; i++) {
			CHECK_INT(ev[i].match_bits, 0x1234);
			CHECK_INT(ev[i].pt_index, PT);
			CHECK_INT(ev[i].rlength, 64);
			CHECK_INT(ev[i].md.length, 64);
			CHECK(ev[i].md.start == src);
			CHECK(ev[i].md.user_ptr == (void *)0x5eed);
			CHECK_INT(ev[i].md_handle, ev[0].md_handle);
		}
		CHECK_INT(ev[0].hdr_data, 0xabcdef0123456789u);
		CHECK_INT(ev[0].initiator.nid, self.nid);
		CHECK_INT(ev[0].initiator.pid, self.pid);
		CHECK_INT(ev[0].md.threshold, 1);
		CHECK_INT(ev[2].md.threshold, 0);
		CHECK_INT(ev[1].offset, 0);
		CHECK_INT(ev[2].mlength, 64);
		NONE(ieq);
	}
	p_step();
	TGT {
		ptl_uid_t uid = 77;
		ptl_jid_t jid = 77;

		OK(PtlGetUid(ni, &uid));
		OK(PtlGetJid(ni, &jid));
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		CHECK_INT(ev[0].link, ev[1].link);
		for (int i = 0; i < 2; i++) {
			CHECK_INT(ev[i].initiator.nid, peer.nid);
			CHECK_INT(ev[i].initiator.pid, peer.pid);
			CHECK_INT(ev[i].uid, uid);
			CHECK_INT(ev[i].jid, jid);
			CHECK_INT(ev[i].pt_index, PT);
			CHECK_INT(ev[i].match_bits, 0x1234);
			CHECK_INT(ev[i].rlength, 64);
			CHECK_INT(ev[i].mlength, 64);
			CHECK_INT(ev[i].offset, 0);
			CHECK_INT(ev[i].md_handle, mdh);
			CHECK(ev[i].md.start == dst);
			CHECK_INT(ev[i].md.length, 100);
			CHECK_INT(ev[i].md.threshold, 4);
			CHECK_INT(ev[i].md.options, PTL_MD_OP_PUT);
			CHECK_INT(ev[i].md.eq_handle, teq);
			CHECK(ev[i].md.user_ptr == (void *)0x5eed);
			CHECK_INT(ev[i].hdr_data, 0xabcdef0123456789u);
		}
		CHECK_INT((ptl_seq_t)(ev[1].sequence - ev[0].sequence), 1);
		p_fill(src, 64, 7);
		CHECK_MEM(dst, src, 64);
		CHECK_INT(dst[64], 0xcc);
		NONE(teq);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_ack_means_data_are_in_place(void)
{
	if (t_size() > 1)
		SKIP("seen only where both sides are one process");
	fresh();
	OK(p_post(1, p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, ieq), &me, &mdh));
	OK(p_put_full(src, 10, PTL_ACK_REQ, PT, 1, 0, 0, ieq));
	int start = -1, end = -1, ack = -1, n = 0;

	for (; n < 6; n++) {
		CHECK_INT(p_get(ieq, &ev[n]), PTL_OK);
		if (ev[n].type == PTL_EVENT_PUT_START)
			start = n;
		if (ev[n].type == PTL_EVENT_PUT_END)
			end = n;
		if (ev[n].type == PTL_EVENT_ACK)
			ack = n;
	}
	CHECK(start >= 0 && start < end && end < ack);
	NONE(ieq);
	OK(PtlMEUnlink(me));
}

static void t_all_sizes_arrive_whole(void)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 15, 16, 17, 31, 32, 47, 48, 56, 63, 64, 65, 96, 104, 112, 120, 127,
		128, 129, 200, 255, 256, 511, 512, 1000, 1024, 4095, 4096, 4097, 8191, 8192, 8193, 16384, 65536,
		100000, 262144, 524289, 1048576 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i];

		fresh();
		TGT { OK(p_post(i, p_md(dst, n, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh)); }
		p_step();
		INI {
			OK(p_put_full(src, n, PTL_ACK_REQ, PT, i, 0, n, ieq));
			ACKED(ieq, ev, 1);
			CHECK_INT(ev[2].mlength, n);
		}
		p_step();
		TGT {
			EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
			CHECK_INT(ev[1].mlength, n);
			CHECK_INT(ev[1].hdr_data, n);
			p_fill(src, sizeof(src), 7);
			CHECK_MEM(dst, src, n);
			if (n < sizeof(dst))
				CHECK_INT(dst[n], 0xcc);
			OK(PtlMEUnlink(me));
		}
		p_step();
	}
}

/*
 * Who waits for a word of the target memory, and puts another in its place as soon as it is there, does not find the
 * first one again. A copy that stores eight bytes twice, as memcpy(3) does, loses one in some thousands, if not here
 * (unit/copy sees it always).
 */
static void t_a_word_is_stored_once(void)
{
	enum { WORDS = 4000 };
	uint64_t *word = (uint64_t *)(void *)dst, *own = (uint64_t *)(void *)src;

	if (t_size() == 1)
		SKIP("target and initiator are one");
	fresh();
	TGT {
		*word = 0;
		OK(p_post(1, p_md(dst, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), &me,
			  &mdh));
	}
	p_step();
	INI {
		for (uint64_t i = 1; i <= WORDS; i++) {
			*own = i;
			OK(p_put_full(src, 8, PTL_ACK_REQ, PT, 1, 0, 0, ieq));
			ACKED(ieq, ev, 1);
		}
	}
	TGT {
		uint64_t last = 0, v;
		unsigned again = 0;

		for (unsigned n = 1; last < WORDS; n++) {
			v = __atomic_load_n(word, __ATOMIC_ACQUIRE);
			/* exchanged: the next word, and the last of all, may come just now */
			if (v < UINT64_MAX - WORDS && v &&
			    __atomic_compare_exchange_n(word, &v, UINT64_MAX, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
				again += v <= last;
				last = v > last ? v : last;
			}
			if (p_poll)
				CHECK_INT(PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 }), PTL_EQ_EMPTY);
			if (n % 4096 == 0) {
				if (atomic_load(&t_page()->dead))
					bail("the initiator has died");
				sched_yield();
			}
		}
		CHECK_INT(again, 0);
	}
	p_step();
	TGT { OK(PtlMEUnlink(me)); }
}

/* The buffer of a put up to PTL_INLINE_MAX_NP bytes may be changed as soon as the call is back. */
static void t_small_put_is_locally_complete(void)
{
	static unsigned char small[PTL_INLINE_MAX_NP];

	TGT {
		memset(dst, 0, sizeof(dst));
		OK(p_post(1, p_md(dst, sizeof(dst), PTL_MD_THRESH_INF, PTL_MD_OP_PUT, PTL_EQ_NONE), &me, &mdh));
	}
	p_step();
	INI {
		for (unsigned i = 0; i < 16; i++) {
			memset(small, (int)i + 1, sizeof(small));
			OK(p_put(small, sizeof(small), 1));
			memset(small, 0xee, sizeof(small));
		}
		p_sync();
	}
	p_step();
	TGT {
		for (unsigned i = 0; i < 16 * PTL_INLINE_MAX_NP; i++)
			if (dst[i] != i / PTL_INLINE_MAX_NP + 1) {
				CHECK_INT(dst[i], i / PTL_INLINE_MAX_NP + 1);
				break;
			}
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* item 5 */
static void t_local_offset_appends(void)
{
	fresh();
	TGT { OK(p_post(1, p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh)); }
	p_step();
	INI {
		OK(p_put_full(src, 10, PTL_NO_ACK_REQ, PT, 1, 55, 0, PTL_EQ_NONE));	/* the offset is not asked */
		OK(p_put(src + 10, 20, 1));
		OK(p_put(src + 30, 30, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END,
		       PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		CHECK_INT(ev[0].offset, 0);
		CHECK_INT(ev[1].offset, 0);
		CHECK_INT(ev[2].offset, 10);
		CHECK_INT(ev[4].offset, 30);
		CHECK_INT(ev[5].offset, 30);
		CHECK(ev[5].md.start == dst);
		p_fill(src, sizeof(src), 7);
		CHECK_MEM(dst, src, 60);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* item 6 */
static void t_remote_offset_is_the_initiators(void)
{
	long long drops = 0;

	fresh();
	TGT {
		drops = p_drops();
		OK(p_post(1, p_md(dst, 100, PTL_MD_THRESH_INF,
				  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, teq), &me, &mdh));
	}
	p_step();
	INI {
		OK(p_put_full(src, 10, PTL_NO_ACK_REQ, PT, 1, 50, 0, PTL_EQ_NONE));
		OK(p_put_full(src, 10, PTL_NO_ACK_REQ, PT, 1, 20, 0, PTL_EQ_NONE));
		OK(p_put_full(src, 10, PTL_NO_ACK_REQ, PT, 1, 95, 0, PTL_EQ_NONE));	/* cut to 5 */
		OK(p_put_full(src, 10, PTL_NO_ACK_REQ, PT, 1, 100, 0, PTL_EQ_NONE));	/* cut to 0 */
		OK(p_put_full(src, 10, PTL_NO_ACK_REQ, PT, 1, 101, 0, PTL_EQ_NONE));	/* dropped, although TRUNCATE */
		OK(p_put_full(src, 10, PTL_NO_ACK_REQ, PT, 1, ~0ull, 0, PTL_EQ_NONE));
		OK(p_put_full(src, 10, PTL_NO_ACK_REQ, PT, 1, ~0ull - 4, 0, PTL_EQ_NONE));
		p_sync();
	}
	p_step();
	TGT {
		static const unsigned off[] = { 50, 20, 95, 100 }, len[] = { 10, 10, 5, 0 };

		for (int i = 0; i < 4; i++) {
			EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
			CHECK_INT(ev[1].offset, off[i]);
			CHECK_INT(ev[1].mlength, len[i]);
			CHECK_INT(ev[1].rlength, 10);
		}
		NONE(teq);
		CHECK_INT(p_drops(), drops + 3);
		p_fill(src, 10, 7);
		CHECK_MEM(dst + 50, src, 10);
		CHECK_MEM(dst + 20, src, 10);
		CHECK_MEM(dst + 95, src, 5);
		CHECK_INT(dst[100], 0xcc);
		CHECK_INT(dst[0], 0xcc);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* item 7 */
static void t_truncate_reports_mlength(void)
{
	fresh();
	TGT {
		OK(p_post(1, p_md(dst, 24, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, teq), &me, &mdh));
		OK(p_post(2, p_md(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, teq), &me2, &md2));
	}
	p_step();
	INI {
		OK(p_put_full(src, 100, PTL_ACK_REQ, PT, 1, 0, 0, ieq));
		ACKED(ieq, ev, 1);
		CHECK_INT(ev[1].mlength, 100);
		CHECK_INT(ev[2].rlength, 100);
		CHECK_INT(ev[2].mlength, 24);
		OK(p_put_full(src, sizeof(src), PTL_ACK_REQ, PT, 2, 0, 0, ieq));
		ACKED(ieq, ev, 1);
		CHECK_INT(ev[2].rlength, sizeof(src));
		CHECK_INT(ev[2].mlength, 0);
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		CHECK_INT(ev[1].rlength, 100);
		CHECK_INT(ev[1].mlength, 24);
		CHECK_INT(ev[3].rlength, sizeof(src));
		CHECK_INT(ev[3].mlength, 0);
		CHECK_INT(dst[24], 0xcc);
		OK(PtlMEUnlink(me));
		OK(PtlMEUnlink(me2));
	}
	p_step();
}

/* item 8 */
static void t_max_size_unlinks_when_too_little_is_left(void)
{
	ptl_md_t md;

	fresh();
	TGT {
		md = p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, teq);
		md.max_size = 40;
		OK(p_post_at(PT, 1, 0, PTL_UNLINK, md, PTL_UNLINK, &me, &mdh));
	}
	p_step();
	INI {
		OK(p_put(src, 60, 1));		/* leaves exactly max_size: stays */
		OK(p_put(src + 60, 1, 1));	/* leaves less: taken, then gone */
		OK(p_put(src, 1, 1));		/* dropped */
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END,
		       PTL_EVENT_UNLINK);
		CHECK_INT(ev[3].offset, 60);
		CHECK_INT(ev[4].md_handle, mdh);
		CHECK_INT(ev[4].link, ev[3].link);
		NONE(teq);
		CHECK_INT(PtlMDUnlink(mdh), PTL_MD_INVALID);
		CHECK_INT(PtlMEUnlink(me), PTL_ME_INVALID);
		CHECK_INT(dst[61], 0xcc);
	}
	p_step();
}

static void t_max_size_with_retain_stays_inactive(void)
{
	ptl_md_t md;
	long long drops = 0;

	fresh();
	TGT {
		drops = p_drops();
		md = p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, teq);
		md.max_size = 40;
		OK(p_post(1, md, &me, &mdh));
	}
	p_step();
	INI {
		OK(p_put(src, 61, 1));
		OK(p_put(src, 1, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		NONE(teq);
		CHECK_INT(p_drops(), drops + 1);
		OK(PtlMDUpdate(mdh, NULL, &md, PTL_EQ_NONE));	/* the offset returns to 0: alive again */
	}
	p_step();
	INI {
		OK(p_put(src, 8, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		CHECK_INT(ev[1].offset, 0);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* A request longer than max_size that fits is taken (4.4; the cap belongs to another library). */
static void t_max_size_is_no_cap(void)
{
	ptl_md_t md;

	fresh();
	TGT {
		md = p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, teq);
		md.max_size = 10;
		OK(p_post(1, md, &me, &mdh));
	}
	p_step();
	INI {
		OK(p_put(src, 90, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		CHECK_INT(ev[1].mlength, 90);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_max_size_means_nothing_with_remote_offset(void)
{
	ptl_md_t md;

	fresh();
	TGT {
		md = p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_MANAGE_REMOTE, teq);
		md.max_size = 40;
		OK(p_post_at(PT, 1, 0, PTL_UNLINK, md, PTL_UNLINK, &me, &mdh));
	}
	p_step();
	INI {
		for (int i = 0; i < 3; i++)
			OK(p_put_full(src, 90, PTL_NO_ACK_REQ, PT, 1, 10, 0, PTL_EQ_NONE));
		p_sync();
	}
	p_step();
	TGT {
		for (int i = 0; i < 3; i++)
			EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		NONE(teq);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* item 9, target's side: UNLINK is last, the handles are gone, the ME goes with PTL_UNLINK */
static void t_threshold_unlinks_after_the_last_end(void)
{
	fresh();
	TGT {
		OK(p_post_at(PT, 1, 0, PTL_UNLINK, p_md(dst, 100, 2, PTL_MD_OP_PUT, teq), PTL_UNLINK, &me, &mdh));
		OK(p_post_at(PT, 1, 0, PTL_RETAIN, p_md(dst, 100, 1, PTL_MD_OP_PUT, teq), PTL_UNLINK, &me2, &md2));
	}
	p_step();
	INI {
		for (int i = 0; i < 3; i++)
			OK(p_put(src, 1, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END,
		       PTL_EVENT_UNLINK, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK);
		CHECK_INT(ev[0].md.threshold, 1);
		CHECK_INT(ev[2].md.threshold, 0);
		CHECK_INT(ev[4].link, ev[2].link);
		CHECK_INT(ev[4].md_handle, mdh);
		CHECK_INT(ev[7].md_handle, md2);
		CHECK_INT(PtlMEUnlink(me), PTL_ME_INVALID);
		CHECK_INT(PtlMDUnlink(md2), PTL_MD_INVALID);
		/* the second entry was PTL_RETAIN: it stays, empty, and takes a new MD */
		OK(PtlMDAttach(me2, p_md(dst, 100, 1, PTL_MD_OP_PUT, teq), PTL_RETAIN, &md2));
	}
	p_step();
	INI {
		OK(p_put(src, 1, 1));
		OK(p_put(src, 1, 1));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);	/* RETAIN: no UNLINK */
		NONE(teq);
		OK(PtlMDUnlink(md2));
		CHECK_INT(PtlMDUnlink(md2), PTL_MD_INVALID);
		OK(PtlMEUnlink(me2));
	}
	p_step();
}

/* item 9, initiator's side */
static void t_ack_for_a_used_up_md_is_dropped(void)
{
	long long drops;
	ptl_handle_md_t h;

	fresh();
	TGT { OK(p_post(1, p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, PTL_EQ_NONE), &me, &mdh)); }
	p_step();
	INI {
		drops = p_drops();
		OK(PtlMDBind(ni, p_md(src, 4, 1, 0, ieq), PTL_UNLINK, &h));
		OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0));
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK);
		p_sync();
		NONE(ieq);
		CHECK_INT(p_drops(), drops + 1);
		OK(PtlMDBind(ni, p_md(src, 4, 1, 0, ieq), PTL_RETAIN, &h));	/* inactive, but there */
		OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0));
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		p_sync();
		NONE(ieq);
		CHECK_INT(p_drops(), drops + 2);
		CHECK_INT(PtlPut(h, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0), PTL_MD_INVALID);	/* used up */
		NONE(ieq);
		OK(PtlMDUnlink(h));
		OK(PtlMDBind(ni, p_md(src, 4, 2, 0, ieq), PTL_UNLINK, &h));
		OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0));
		ACKED(ieq, ev, 1);
		NONE(ieq);
	}
	p_step();
	TGT { OK(PtlMEUnlink(me)); }
	p_step();
}

/* item 20 */
static void t_ack_only_when_asked_and_allowed(void)
{
	fresh();
	TGT {
		OK(p_post(1, p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh));
		OK(p_post(2, p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_ACK_DISABLE, teq), &me2, &md2));
	}
	p_step();
	INI {
		OK(p_put_full(src, 4, PTL_NO_ACK_REQ, PT, 1, 0, 0, ieq));
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK);
		ptl_handle_md_t h;

		OK(PtlMDBind(ni, p_md(src, 4, 5, 0, ieq), PTL_UNLINK, &h));
		OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 2, 0, 0));
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		p_sync();
		NONE(ieq);
		OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 3, 0, 0));	/* nobody matches: SEND_END, no ACK */
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		p_sync();
		NONE(ieq);
		OK(PtlMDUnlink(h));
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		NONE(teq);
		OK(PtlMEUnlink(me));
		OK(PtlMEUnlink(me2));
	}
	p_step();
}

/* item 24 */
static void t_disabled_events_are_not_logged(void)
{
	static const unsigned opt[] = { PTL_MD_EVENT_START_DISABLE, PTL_MD_EVENT_END_DISABLE,
		PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE };

	for (int i = 0; i < 3; i++) {
		fresh();
		TGT {
			OK(p_post_at(PT, 1, 0, PTL_UNLINK, p_md(dst, 100, 1, PTL_MD_OP_PUT | opt[i], teq), PTL_UNLINK,
				     &me, &mdh));
		}
		p_step();
		INI {
			ptl_handle_md_t h;

			OK(PtlMDBind(ni, p_md(src, 4, 2, opt[i], ieq), PTL_UNLINK, &h));
			OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0));
			if (!(opt[i] & PTL_MD_EVENT_START_DISABLE))
				EVENTS(ieq, ev, PTL_EVENT_SEND_START);
			if (!(opt[i] & PTL_MD_EVENT_END_DISABLE))
				EVENTS(ieq, ev, PTL_EVENT_SEND_END);
			EVENTS(ieq, ev, PTL_EVENT_ACK, PTL_EVENT_UNLINK);
			NONE(ieq);
		}
		p_step();
		TGT {
			if (!(opt[i] & PTL_MD_EVENT_START_DISABLE))
				EVENTS(teq, ev, PTL_EVENT_PUT_START);
			if (!(opt[i] & PTL_MD_EVENT_END_DISABLE))
				EVENTS(teq, ev, PTL_EVENT_PUT_END);
			EVENTS(teq, ev, PTL_EVENT_UNLINK);
			NONE(teq);
			p_fill(src, 4, 7);
			CHECK_MEM(dst, src, 4);
		}
		p_step();
	}
}

/* item 22 */
static void t_zero_length_put_is_a_message(void)
{
	fresh();
	TGT {
		OK(p_post(1, p_md(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh));
		OK(p_post(2, p_md(dst, 4, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me2, &md2));
	}
	p_step();
	INI {
		OK(p_put_full(NULL, 0, PTL_ACK_REQ, PT, 1, 0, 5, ieq));
		ACKED(ieq, ev, 1);
		OK(p_put(src, 4, 2));
		OK(p_put(src, 0, 2));	/* fits a full MD */
		OK(p_put(src, 1, 2));	/* does not */
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END,
		       PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		CHECK_INT(ev[1].mlength, 0);
		CHECK_INT(ev[1].hdr_data, 5);
		CHECK_INT(ev[5].offset, 4);
		NONE(teq);
		OK(PtlMEUnlink(me));
		OK(PtlMEUnlink(me2));
	}
	p_step();
}

/* 2.8.2 and item 25 */
static void t_put_region_sends_that_part(void)
{
	fresh();
	TGT { OK(p_post(1, p_md(dst, 1000, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh)); }
	p_step();
	INI {
		ptl_handle_md_t h;

		OK(PtlMDBind(ni, p_md(src, 500, PTL_MD_THRESH_INF, 0, ieq), PTL_UNLINK, &h));
		OK(PtlPutRegion(h, 100, 50, PTL_NO_ACK_REQ, peer, PT, 0, 1, 7, 1));
		OK(PtlPutRegion(h, 500, 0, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 2));
		OK(PtlPutRegion(h, 0, 500, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 3));
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END,
		       PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		CHECK_INT(ev[0].offset, 100);	/* the local offset of what is sent */
		CHECK_INT(ev[1].offset, 100);
		CHECK_INT(ev[1].rlength, 50);
		CHECK_INT(PtlPutRegion(h, 501, 0, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlPutRegion(h, 1, 500, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlPutRegion(h, ~0ull, 1, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlPutRegion(h, ~0ull - 3, 8, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlPutRegion(h, 8, ~0ull - 3, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0), PTL_MD_ILLEGAL);
		p_sync();
		NONE(ieq);
		OK(PtlMDUnlink(h));
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END,
		       PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		NONE(teq);
		CHECK_INT(ev[1].mlength, 50);
		CHECK_INT(ev[3].mlength, 0);
		CHECK_INT(ev[5].mlength, 500);
		CHECK_INT(ev[5].offset, 50);
		p_fill(src, sizeof(src), 7);
		CHECK_MEM(dst, src + 100, 50);
		CHECK_MEM(dst + 50, src, 500);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* An MD on an entry serves its owner's own puts as well; one threshold for both (2.5.1). */
static void t_attached_md_can_be_sent(void)
{
	fresh();
	TGT { OK(p_post(1, p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, PTL_EQ_NONE), &me, &mdh)); }
	p_step();
	INI {
		ptl_handle_me_t m;
		ptl_handle_md_t h;

		OK(p_post_at(PT + 1, 1, 0, PTL_UNLINK, p_md(src, 16, 1, PTL_MD_OP_GET, ieq), PTL_UNLINK, &m, &h));
		OK(PtlPut(h, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0));
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK);
		CHECK_INT(PtlMEUnlink(m), PTL_ME_INVALID);
		p_sync();
	}
	p_step();
	TGT {
		p_fill(src, 16, 7);
		CHECK_MEM(dst, src, 16);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* 5.4: messages of one pair are matched in the order of the calls, whatever their size. */
static void t_order_of_a_pair_is_kept(void)
{
	enum { N = 100 };
	static const size_t size[] = { 8, 100, 20000, 0, 5000, 64, 300000, 1, 128, 9000 };
	ptl_handle_eq_t eq;
	ptl_handle_md_t h;

	fresh();
	TGT {
		OK(PtlEQAlloc(ni, 4 * N, PTL_EQ_HANDLER_NONE, &eq));
		OK(p_post(1, p_md(dst, sizeof(dst), PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq),
			  &me, &mdh));
	}
	p_step();
	INI {
		OK(PtlMDBind(ni, p_md(src, sizeof(src), PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_UNLINK, &h));
		for (unsigned i = 0; i < N; i++)
			OK(PtlPutRegion(h, 0, size[i % 10], PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, i));
		p_sync();
	}
	TGT {
		unsigned starts = 0, ends = 0;

		while (starts + ends < 2 * N && p_get(eq, ev) == PTL_OK) {
			if (ev->type == PTL_EVENT_PUT_START) {
				CHECK_INT(ev->hdr_data, starts);
				starts++;
			} else {
				ends++;
			}
		}
		CHECK_INT(starts, N);
		CHECK_INT(ends, N);
	}
	p_step();
	INI { OK(p_unlink_sent(h)); }
	TGT {
		OK(PtlMEUnlink(me));
		OK(PtlEQFree(eq));
	}
	p_step();
}

/* Of a portal that nobody has, too: the send's events say which it was. */
static void t_send_events_name_any_portal(void)
{
	static const ptl_pt_index_t pts[] = { 0, 127, 128, 255, 256, 300, 65536 + 5, 0xffffffff };
	ptl_event_t e[3];
	ptl_handle_md_t h;

	INI {
		for (unsigned i = 0; i < sizeof(pts) / sizeof(*pts); i++) {
			OK(PtlMDBind(ni, p_md(src, 10 + i, 1, 0, ieq), PTL_UNLINK, &h));
			OK(PtlPut(h, PTL_NO_ACK_REQ, peer, pts[i], 0, 7, 0, 0));
			EVENTS(ieq, e, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK);
			for (unsigned k = 0; k < 3; k++) {
				CHECK_INT(e[k].pt_index, pts[i]);
				CHECK_INT(e[k].mlength, 10 + i);
				CHECK_INT(e[k].rlength, 10 + i);
				CHECK(e[k].initiator.nid == self.nid && e[k].initiator.pid == self.pid);
			}
		}
		p_sync();
	}
	p_step();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_put_with_ack_makes_events_in_pairs), T(t_ack_means_data_are_in_place),
		T(t_all_sizes_arrive_whole), T(t_a_word_is_stored_once), T(t_small_put_is_locally_complete),
		T(t_local_offset_appends),
		T(t_remote_offset_is_the_initiators), T(t_truncate_reports_mlength),
		T(t_max_size_unlinks_when_too_little_is_left), T(t_max_size_with_retain_stays_inactive),
		T(t_max_size_is_no_cap), T(t_max_size_means_nothing_with_remote_offset),
		T(t_threshold_unlinks_after_the_last_end), T(t_ack_for_a_used_up_md_is_dropped),
		T(t_ack_only_when_asked_and_allowed), T(t_disabled_events_are_not_logged),
		T(t_zero_length_put_is_a_message), T(t_put_region_sends_that_part), T(t_attached_md_can_be_sent),
		T(t_order_of_a_pair_is_kept), T(t_send_events_name_any_portal), { 0 }
	};

	return p_main(cases);
}

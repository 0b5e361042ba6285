/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_take.c - PtlMEMDTake_np: a message that is the next one is had without an entry, and any other is left as it is
 */
#include "ptl.h"

#define LEN (PTL_INLINE_MAX_NP + 64)

static unsigned char src[LEN], dst[LEN], over[1 << 20];
static ptl_handle_me_t base, over_me;
static ptl_handle_eq_t eq;
static ptl_handle_md_t h, over_md;
static ptl_event_t ev;
static ptl_take_np_t t;
static int taken_here;		/* can messages be taken in this variant? Elsewhere they are only posted for */

/* A list as MPI has it: the base, and behind it a buffer for what nobody has asked for. */
static void open_list(void)
{
	TGT {
		OK(PtlEQAlloc(ni, 65536, PTL_EQ_HANDLER_NONE, &eq));
		OK(PtlPTPolled_np(ni, PT, 1));
		OK(PtlMEAttach(ni, PT, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &base));
		OK(p_post_at(PT, 0, ~0ull, PTL_RETAIN, p_md(over, sizeof(over), PTL_MD_THRESH_INF,
							    PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq),
			     PTL_RETAIN, &over_me, &over_md));
		memset(dst, 0xee, sizeof(dst));
	}
	INI OK(PtlMDBind(ni, p_md(src, sizeof(src), PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &h));
	t_barrier();
}

static void close_list(void)
{
	t_barrier();
	TGT {
		NONE(eq);
		OK(PtlMEUnlink(base));
		OK(PtlMEUnlink(over_me));
		OK(PtlPTPolled_np(ni, PT, 0));
		OK(PtlEQFree(eq));
	}
	t_barrier();
	INI OK(p_unlink_sent(h));
	t_barrier();
}

static int put(size_t len, ptl_match_bits_t bits, ptl_hdr_data_t hdr)
{
	return PtlPutRegion(h, 0, len, PTL_NO_ACK_REQ, peer, PT, 0, bits, 0, hdr);
}

/* What comes from the peer, whatever its header data say, of up to @len bytes. */
static ptl_take_np_t from_peer(ptl_match_bits_t bits, size_t len)
{
	return (ptl_take_np_t){
		.match_id = peer, .match_bits = bits, .ignore_hdr = ~0ull, .start = dst, .length = len
	};
}

static int take(unsigned looks)
{
	return PtlMEMDTake_np(base, eq, &t, looks);
}

/* The next message is the buffer's, which takes all. */
static void left_for_the_buffer(ptl_match_bits_t bits)
{
	CHECK_INT(p_get(eq, &ev), PTL_OK);
	CHECK_INT(ev.type, PTL_EVENT_PUT_END);
	CHECK_INT(ev.match_bits, bits);
	CHECK_INT(ev.md_handle, over_md);
}

static void taken_whole(size_t len, unsigned seed, ptl_match_bits_t bits, ptl_hdr_data_t hdr)
{
	CHECK_INT(t.mlength, len);
	CHECK_INT(t.bits, bits);
	CHECK_INT(t.hdr, hdr);
	CHECK_INT(t.initiator.nid, peer.nid);
	CHECK_INT(t.initiator.pid, peer.pid);
	p_fill(over, len, seed);
	CHECK_MEM(dst, over, len);
	CHECK_INT(dst[len], 0xee);
}

#define NEEDS_TAKING()									\
	do {										\
		if (!taken_here)							\
			SKIP("here messages are only posted for");			\
	} while (0)

static void t_a_message_that_is_there_is_taken(void)
{
	static const size_t len[] = { 0, 1, 8, 40, 41, 48, 49, 56, 57, 120, 121, 1000, 4096, PTL_INLINE_MAX_NP };
	long long before = 0, after;

	NEEDS_TAKING();
	open_list();
	for (unsigned i = 0; i < sizeof(len) / sizeof(*len); i++) {
		INI {
			p_fill(src, len[i], i);
			OK(put(len[i], i % 2 ? 0 : 5, i % 3 ? 0 : 7));
		}
		t_barrier();
		TGT {
			before = p_status(PTL_SR_RECV_COUNT);
			memset(dst, 0xee, sizeof(dst));
			t = from_peer(i % 2 ? 0 : 5, LEN);
			OK(take(1));
			taken_whole(len[i], i, i % 2 ? 0 : 5, i % 3 ? 0 : 7);
			CHECK_INT(take(1), PTL_EQ_EMPTY);	/* once */
			after = p_status(PTL_SR_RECV_COUNT);
			CHECK_INT(after - before, 1);
		}
		t_barrier();
	}
	close_list();
}

/* By its match bits but for some, by its header data but for some, by whoever has sent it. */
static void t_criteria(void)
{
	NEEDS_TAKING();
	open_list();
	for (int i = 0; i < 8; i++) {
		INI {
			p_fill(src, 8, 3);
			OK(put(8, 0x1234567800000000 | (unsigned)i, 0xabcd00000000 | (unsigned)i));
		}
		t_barrier();
		TGT {
			memset(dst, 0xee, sizeof(dst));
			t = from_peer(0x1234567800000000, 8);
			t.hdr_data = 0xabcd00000000;
			t.ignore_hdr = 0xffffffff;
			if (i)
				CHECK_INT(take(1), PTL_MD_NO_UPDATE);
			t.ignore_bits = 0xff;
			t.hdr_data = 0xabcc00000000;
			CHECK_INT(take(1), PTL_MD_NO_UPDATE);
			t.hdr_data = 0xabcd00000000;
			t.length = 7;
			CHECK_INT(take(1), PTL_MD_NO_UPDATE);
			t.length = 8;
			CHECK_INT(dst[0], 0xee);
			t.match_id.nid = PTL_NID_ANY;
			CHECK_INT(take(1), PTL_MD_NO_UPDATE);		/* an entry could do that */
			t.match_id.pid = i % 2 ? PTL_PID_ANY : peer.pid;
			t.match_id.nid = i % 2 ? PTL_NID_ANY : peer.nid;
			OK(take(i % 4 ? 1 : 0));
			taken_whole(8, 3, 0x1234567800000000 | (unsigned)i, 0xabcd00000000 | (unsigned)i);
		}
		t_barrier();
	}
	TGT {
		t = from_peer(1, 8);
		t.match_id = (ptl_process_id_t){ 77, 77 };
		CHECK_INT(take(1), PTL_MD_NO_UPDATE);
	}
	close_list();
}

/* What comes first is another message: it stays, and so does what stands behind it. */
static void t_only_the_next(void)
{
	NEEDS_TAKING();
	open_list();
	INI {
		p_fill(src, 8, 9);
		OK(put(8, 6, 0));
		OK(put(8, 5, 0));
	}
	t_barrier();
	TGT {
		t = from_peer(5, 8);
		CHECK_INT(take(1), PTL_MD_NO_UPDATE);
		CHECK_INT(take(100000), PTL_MD_NO_UPDATE);	/* and it does not wait for better */
		left_for_the_buffer(6);
		if (take(1) != PTL_OK)				/* the other may have been fetched with it */
			left_for_the_buffer(5);
		else
			taken_whole(8, 9, 5, 0);
	}
	close_list();
}

static void t_entries_in_front_come_first(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	NEEDS_TAKING();
	open_list();
	INI OK(put(8, 5, 0));
	t_barrier();
	TGT {
		t = from_peer(5, 8);
		OK(PtlMEMDPost(ni, base, anyone, 4, 0, PTL_UNLINK, PTL_INS_BEFORE,
			       p_md(dst + 64, 8, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq), PTL_UNLINK, &me,
			       &md, eq));
		CHECK_INT(take(1), PTL_MD_NO_UPDATE);		/* though it would not have matched */
		OK(PtlMEUnlink(me));
		OK(take(1));
		CHECK_INT(PtlMEMDTake_np(over_me, eq, &t, 1), PTL_MD_NO_UPDATE);	/* behind the base */
	}
	close_list();
}

/* Messages that were fetched before have their events first. */
static void t_events_come_first(void)
{
	NEEDS_TAKING();
	open_list();
	INI {
		OK(put(8, 6, 0));
		OK(put(8, 6, 0));
		OK(put(8, 6, 0));
	}
	t_barrier();
	TGT {
		left_for_the_buffer(6);
		while (PtlEQPeek(eq, &ev) != PTL_OK)	/* this one leaves its event in the queue */
			;
	}
	t_barrier();
	INI OK(put(8, 5, 0));
	t_barrier();
	TGT {
		t = from_peer(5, 8);
		CHECK_INT(take(1), PTL_MD_NO_UPDATE);
		left_for_the_buffer(6);
		left_for_the_buffer(6);
		if (take(1) != PTL_OK)
			left_for_the_buffer(5);
	}
	close_list();
}

static void t_not_where_others_match_or_may_not_put(void)
{
	ptl_uid_t uid;

	NEEDS_TAKING();
	OK(PtlGetUid(ni, &uid));
	open_list();
	TGT {
		t = from_peer(5, 8);
		CHECK_INT(take(1), PTL_EQ_EMPTY);
		OK(PtlPTPolled_np(ni, PT, 0));
		CHECK_INT(take(1), PTL_MD_NO_UPDATE);
		OK(PtlPTPolled_np(ni, PT, 1));
		CHECK_INT(take(1), PTL_EQ_EMPTY);
		OK(PtlACEntry(ni, 0, anyone, uid, PTL_JID_ANY, PT + 1));
		CHECK_INT(take(1), PTL_MD_NO_UPDATE);
		OK(PtlACEntry(ni, 0, anyone, uid, PTL_JID_ANY, PTL_PT_INDEX_ANY));
		CHECK_INT(take(1), PTL_EQ_EMPTY);
	}
	close_list();
}

static void t_bad_arguments(void)
{
	open_list();
	TGT {
		ptl_handle_me_t gone;
		ptl_handle_md_t md;

		t = from_peer(5, 8);
		CHECK_INT(PtlMEMDTake_np(base, eq, NULL, 1), PTL_SEGV);
		CHECK_INT(PtlMEMDTake_np(over_md, eq, &t, 1), PTL_ME_INVALID);
		CHECK_INT(PtlMEMDTake_np(PTL_INVALID_HANDLE, eq, &t, 1), PTL_ME_INVALID);
		CHECK_INT(PtlMEMDTake_np(0, eq, &t, 1), PTL_ME_INVALID);
		if (taken_here) {
			CHECK_INT(PtlMEMDTake_np(base, base, &t, 1), PTL_EQ_INVALID);
			CHECK_INT(PtlMEMDTake_np(base, PTL_EQ_NONE, &t, 1), PTL_EQ_INVALID);
			OK(PtlMEMDPost(ni, base, anyone, 4, 0, PTL_UNLINK, PTL_INS_BEFORE,
				       p_md(dst, 8, 1, PTL_MD_OP_PUT, eq), PTL_UNLINK, &gone, &md, eq));
			CHECK_INT(PtlMEMDTake_np(gone, eq, &t, 1), PTL_EQ_EMPTY);	/* it stands first */
			OK(PtlMEUnlink(gone));
			CHECK_INT(PtlMEMDTake_np(gone, eq, &t, 1), PTL_ME_INVALID);
		}
	}
	close_list();
}

/*
 * Whatever a receiver does, in turn - takes, posts an entry, fetches what the buffer has had - it has the messages of
 * its peer in their order, each once.
 */
static void t_order_with_entries_and_buffer(void)
{
	const unsigned N = taken_here ? 30000 : 3000;
	unsigned got = 0, sent = 0, taken = 0, posted = 0, buffered = 0;
	double until = t_now() + 60;
	uint64_t seed = 1 + (unsigned)t_rank();

	open_list();
	while ((p_ini && sent < N) || (p_tgt && got < N)) {
		INI {
			for (unsigned n = p_tgt ? t_random(&seed) % 20 : N; n && sent < N; n--) {
				memcpy(src, &sent, sizeof(sent));
				if (put(8 + sent % 5 * 30, 5, sent) != PTL_OK)
					break;
				sent++;
			}
			if (!p_tgt)
				sched_yield();
		}
		TGT {
			unsigned what = (unsigned)t_random(&seed) % 4;

			if (what < 2) {
				t = from_peer(5, 200);
				if (what)
					t.match_id = anyone;
				while (take(what ? 1 : 50) == PTL_OK) {
					CHECK_INT(t.hdr, got);
					CHECK_MEM(dst, &got, sizeof(got));
					CHECK_INT(t.mlength, 8 + got % 5 * 30);
					got++;
					taken++;
				}
			} else if (what == 2) {
				ptl_handle_me_t me;
				ptl_handle_md_t md;
				int rc = PtlMEMDPost(ni, base, anyone, 5, 0, PTL_UNLINK, PTL_INS_BEFORE,
						     p_md(dst, 200, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE |
							  PTL_MD_XT_NP, eq), PTL_UNLINK, &me, &md, eq);

				if (rc == PTL_OK) {
					t = from_peer(5, 200);
					CHECK(take(1) != PTL_OK);
					if (got == N || (p_ini && got == sent)) {
						OK(PtlMEUnlink(me));
					} else {
						CHECK_INT(p_get(eq, &ev), PTL_OK);
						CHECK_INT(ev.hdr_data, got);
						got++;
						posted++;
					}
				} else {
					CHECK_INT(rc, PTL_MD_NO_UPDATE);
				}
			} else {
				for (int i = 0; i < 10 && PtlEQGet(eq, &ev) == PTL_OK; i++) {
					CHECK_INT(ev.hdr_data, got);
					got++;
					buffered++;
				}
			}
			if (t_now() > until) {
				CHECK_INT(got, N);
				break;
			}
		}
	}
	TGT {
		CHECK(!taken_here || taken);
		CHECK(posted && buffered);
		if (!taken_here)
			CHECK_INT(taken, 0);
	}
	close_list();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_a_message_that_is_there_is_taken), T(t_criteria), T(t_only_the_next),
		T(t_entries_in_front_come_first), T(t_events_come_first), T(t_not_where_others_match_or_may_not_put),
		T(t_bad_arguments), T(t_order_with_entries_and_buffer), { 0 }
	};

	taken_here = !getenv("T_NO_TAKING");
	return p_main(cases);
}

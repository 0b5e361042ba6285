/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* PtlGetPut and PtlGetPutRegion: events, thresholds, truncation, vectors, who answers, and that it is one step. */
#include "ptl.h"

#define BOTH (PTL_MD_OP_PUT | PTL_MD_OP_GET)

static ptl_handle_eq_t geq;		/* events of the get MD */
static _Atomic uint64_t *cells;		/* the target's words */

/* One exchange with descriptors that go by themselves. */
static int swap(void *old, size_t old_len, const void *new, size_t len, ptl_pt_index_t pt, ptl_match_bits_t bits,
		ptl_size_t offset, ptl_hdr_data_t hdr)
{
	ptl_handle_md_t g, p;
	int rc = PtlMDBind(ni, p_md(old, old_len, 1, 0, geq), PTL_UNLINK, &g);

	if (!rc)
		rc = PtlMDBind(ni, p_md((void *)(uintptr_t)new, len, 1, 0, ieq), PTL_UNLINK, &p);
	return rc ? rc : PtlGetPut(g, p, peer, pt, 0, bits, offset, hdr);
}

static void swapped(ptl_event_t *ev)	/* the initiator's events: two of the put MD, two of the get MD, and UNLINKs */
{
	EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK);
	EVENTS(geq, ev + 3, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK);
}

static void t_bytes_are_exchanged(void)
{
	unsigned char mine[64], theirs[64], old[64], was[64];
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_event_t ev[6];

	for (size_t n = 0; n <= 64; n += n < 20 ? 1 : 11) {
		p_fill(mine, sizeof(mine), 1);
		p_fill(theirs, sizeof(theirs), 2);
		memcpy(was, theirs, sizeof(was));
		memset(old, 0xab, sizeof(old));
		TGT NEED_OK(p_post(7, p_md(theirs, 64, 2, BOTH | PTL_MD_MANAGE_REMOTE, teq), &me, &md));
		p_step();
		INI {
			OK(swap(old, 64, mine, n, PT, 7, 64 - n, 0x1234));
			swapped(ev);
			CHECK_INT(ev[1].mlength, n);
			CHECK_INT(ev[1].link, ev[0].link);
			CHECK_INT(ev[1].hdr_data, 0x1234);
			CHECK_INT(ev[4].rlength, n);
			CHECK_INT(ev[4].mlength, n);
			CHECK_INT(ev[4].match_bits, 7);
			CHECK_INT(ev[4].pt_index, PT);
			CHECK_INT(ev[4].offset, 0);
			CHECK_INT(ev[4].link, ev[3].link);
			CHECK(ev[4].initiator.nid == peer.nid && ev[4].initiator.pid == peer.pid);
			CHECK(!memcmp(old, was + 64 - n, n));
			for (size_t i = n; i < 64; i++)
				CHECK_INT(old[i], 0xab);
		}
		TGT {
			EVENTS(teq, ev, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END);
			CHECK_INT(ev[0].link, ev[1].link);
			CHECK_INT(ev[1].rlength, n);
			CHECK_INT(ev[1].mlength, n);
			CHECK_INT(ev[1].offset, 64 - n);
			CHECK_INT(ev[1].hdr_data, 0x1234);
			CHECK_INT(ev[1].md.threshold, 1);
			CHECK_INT(ev[1].unlinked, 0);
			CHECK(!memcmp(theirs, was, 64 - n));
			CHECK(!memcmp(theirs + 64 - n, mine, n));
			NONE(teq);
			OK(PtlMEUnlink(me));
		}
		INI NONE(ieq);
		INI NONE(geq);
		p_step();
	}
}

/* Both operations must be allowed, and it must fit; else the next entry, else dropped: no reply. */
static void t_who_answers(void)
{
	uint64_t mine = 5, theirs[4] = { 1, 2, 3, 4 }, old = 77;
	ptl_handle_me_t me[4];
	ptl_handle_md_t md;
	ptl_event_t ev[6];
	long long drops = 0;

	TGT {
		drops = p_drops();
		NEED_OK(p_post(7, p_md(&theirs[0], 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me[0], &md));
		NEED_OK(p_post(7, p_md(&theirs[1], 8, PTL_MD_THRESH_INF, PTL_MD_OP_GET, teq), &me[1], &md));
		NEED_OK(p_post(7, p_md(&theirs[2], 7, PTL_MD_THRESH_INF, BOTH, teq), &me[2], &md));
		NEED_OK(p_post(7, p_md(&theirs[3], 8, 1, BOTH, teq), &me[3], &md));
	}
	p_step();
	INI {
		OK(swap(&old, 8, &mine, 8, PT, 7, 0, 0));
		swapped(ev);
		CHECK_INT(old, 4);
		mine = 6;
		OK(swap(&old, 8, &mine, 8, PT, 7, 0, 0));	/* the last is used up */
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK);
		p_sync();
		NONE(geq);
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END);
		NONE(teq);
		CHECK(theirs[0] == 1 && theirs[1] == 2 && theirs[2] == 3 && theirs[3] == 5);
		CHECK_INT(p_drops(), drops + 1);
		for (int i = 0; i < 4; i++)
			OK(PtlMEUnlink(me[i]));
	}
	p_step();
}

/* Truncated at the target: mlength both ways. Cut at the get MD: only there. The local offset advances. */
static void t_lengths(void)
{
	char mine[16] = "ABCDEFGHIJKLMNO", theirs[16] = "abcdefghijklmno", old[16];
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_event_t ev[6];

	TGT NEED_OK(p_post(7, p_md(theirs, 12, PTL_MD_THRESH_INF, BOTH | PTL_MD_TRUNCATE, teq), &me, &md));
	p_step();
	INI {
		memset(old, '.', sizeof(old));
		OK(swap(old, 3, mine, 8, PT, 7, 0, 0));
		swapped(ev);
		CHECK_INT(ev[4].mlength, 3);
		CHECK_INT(ev[4].rlength, 8);
		CHECK(!memcmp(old, "abc.", 4));
		OK(swap(old, 16, mine, 8, PT, 7, 0, 0));
		swapped(ev);
		CHECK_INT(ev[4].mlength, 4);
		CHECK_INT(ev[4].rlength, 8);
		CHECK(!memcmp(old, "ijkl.", 5));
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END, PTL_EVENT_GETPUT_START,
		       PTL_EVENT_GETPUT_END);
		CHECK_INT(ev[1].mlength, 8);
		CHECK_INT(ev[3].mlength, 4);
		CHECK_INT(ev[3].offset, 8);
		CHECK(!memcmp(theirs, "ABCDEFGHABCDmno", 15));
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_regions(void)
{
	char mine[32], theirs[32], old[32];
	ptl_handle_md_t g, p, md;
	ptl_handle_me_t me;
	ptl_event_t ev[4];

	p_fill(mine, 32, 3);
	p_fill(theirs, 32, 4);
	memset(old, '.', 32);
	TGT NEED_OK(p_post(7, p_md(theirs, 32, PTL_MD_THRESH_INF, BOTH | PTL_MD_MANAGE_REMOTE, teq), &me, &md));
	p_step();
	INI {
		char want[32];

		p_fill(want, 32, 4);
		NEED_OK(PtlMDBind(ni, p_md(old, 32, PTL_MD_THRESH_INF, 0, geq), PTL_RETAIN, &g));
		NEED_OK(PtlMDBind(ni, p_md(mine, 32, PTL_MD_THRESH_INF, 0, ieq), PTL_RETAIN, &p));
		OK(PtlGetPutRegion(g, 5, p, 20, 12, peer, PT, 0, 7, 16, 0));
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		CHECK_INT(ev[1].offset, 20);
		EVENTS(geq, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END);
		CHECK_INT(ev[1].offset, 5);
		CHECK(!memcmp(old + 5, want + 16, 12) && old[4] == '.' && old[17] == '.');
		CHECK_INT(PtlGetPutRegion(g, 30, p, 0, 3, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlGetPutRegion(g, 0, p, 30, 3, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlGetPutRegion(g, 0, p, ~0ull, 2, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlGetPutRegion(g, ~0ull, p, 0, 2, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlGetPutRegion(g, 0, p, 0, ~0ull, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		p_sync();
		NONE(ieq);
		NONE(geq);
		OK(PtlMDUnlink(g));
		OK(PtlMDUnlink(p));
	}
	p_step();
	TGT {
		CHECK(!memcmp(theirs + 16, mine + 20, 12));
		EVENTS(teq, ev, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END);
		NONE(teq);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_vectors(void)
{
	unsigned char mine[64], theirs[96], old[80], was[96];
	ptl_md_iovec_t mv[3] = { { mine, 10 }, { mine + 20, 0 }, { mine + 30, 25 } };
	ptl_md_iovec_t tv[3] = { { theirs, 1 }, { theirs + 9, 20 }, { theirs + 41, 40 } };
	ptl_md_iovec_t ov[2] = { { old, 30 }, { old + 37, 40 } };
	ptl_handle_md_t g, p, md;
	ptl_handle_me_t me;
	ptl_event_t ev[4];

	p_fill(mine, sizeof(mine), 5);
	p_fill(theirs, sizeof(theirs), 6);
	memcpy(was, theirs, sizeof(was));
	memset(old, 0, sizeof(old));
	TGT NEED_OK(p_post(7, p_md(tv, 3, PTL_MD_THRESH_INF, BOTH | PTL_MD_IOVEC, teq), &me, &md));
	p_step();
	INI {
		NEED_OK(PtlMDBind(ni, p_md(ov, 2, PTL_MD_THRESH_INF, PTL_MD_IOVEC, geq), PTL_RETAIN, &g));
		NEED_OK(PtlMDBind(ni, p_md(mv, 3, PTL_MD_THRESH_INF, PTL_MD_IOVEC, ieq), PTL_RETAIN, &p));
		OK(PtlGetPut(g, p, peer, PT, 0, 7, 0, 0));
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		EVENTS(geq, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END);
		CHECK_INT(ev[1].mlength, 35);
		CHECK(old[0] == was[0] && !memcmp(old + 1, was + 9, 20) && !memcmp(old + 21, was + 41, 9) &&
		      !memcmp(old + 37, was + 50, 5) && !old[30] && !old[42]);
		OK(PtlMDUnlink(g));
		OK(PtlMDUnlink(p));
	}
	p_step();
	TGT {
		CHECK(theirs[0] == mine[0] && !memcmp(theirs + 9, mine + 1, 9) && !memcmp(theirs + 18, mine + 30, 11) &&
		      !memcmp(theirs + 41, mine + 41, 14) && !memcmp(theirs + 55, was + 55, 41));
		EVENTS(teq, ev, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* One descriptor for both directions pays twice. */
static void t_same_descriptor(void)
{
	uint64_t word = 11, theirs = 22;
	ptl_handle_md_t h, md;
	ptl_handle_me_t me;
	ptl_event_t ev[5];

	TGT NEED_OK(p_post(7, p_md(&theirs, 8, PTL_MD_THRESH_INF, BOTH, PTL_EQ_NONE), &me, &md));
	p_step();
	INI {
		NEED_OK(PtlMDBind(ni, p_md(&word, 8, 2, 0, ieq), PTL_UNLINK, &h));
		OK(PtlGetPut(h, h, peer, PT, 0, 7, 0, 0));
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END,
		       PTL_EVENT_UNLINK);
		CHECK_INT(word, 22);
		CHECK_INT(ev[1].md.threshold, 1);
		CHECK_INT(ev[3].md.threshold, 0);
		CHECK_INT(ev[3].unlinked, 0);
		CHECK_INT(ev[4].unlinked, 1);
		CHECK_INT(PtlGetPut(h, h, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);
	}
	p_step();
	TGT {
		CHECK_INT(theirs, 11);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_bad_arguments(void)
{
	uint64_t word[9] = { 0 };
	ptl_process_id_t bad = peer;
	ptl_handle_md_t g, p, big, spent;

	INI {
		NEED_OK(PtlMDBind(ni, p_md(word, 8, PTL_MD_THRESH_INF, 0, ieq), PTL_RETAIN, &g));
		NEED_OK(PtlMDBind(ni, p_md(word, 8, PTL_MD_THRESH_INF, 0, ieq), PTL_RETAIN, &p));
		NEED_OK(PtlMDBind(ni, p_md(word, (size_t)lim.max_getput_md + 1, PTL_MD_THRESH_INF, 0, ieq), PTL_RETAIN, &big));
		NEED_OK(PtlMDBind(ni, p_md(word, 8, 0, 0, ieq), PTL_RETAIN, &spent));
		CHECK(lim.max_getput_md >= 8);
		CHECK_INT(PtlGetPut(g, big, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlGetPutRegion(g, 0, big, 0, (ptl_size_t)lim.max_getput_md + 1, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlGetPut(spent, p, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);
		CHECK_INT(PtlGetPut(g, spent, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);
		CHECK_INT(PtlGetPut(PTL_INVALID_HANDLE, p, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);
		CHECK_INT(PtlGetPut(g, PTL_INVALID_HANDLE, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);
		CHECK_INT(PtlGetPut(g, ni, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);
		CHECK_INT(PtlGetPut(ieq, p, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);
		bad.pid = PTL_PID_ANY;
		CHECK_INT(PtlGetPut(g, p, bad, PT, 0, 7, 0, 0), PTL_PROCESS_INVALID);
		CHECK_INT(PtlMDMDCopy(g, anyone, PT, 0, 7, 0), PTL_PROCESS_INVALID);
		CHECK_INT(PtlMDMDCopy(ni, peer, PT, 0, 7, 0), PTL_MD_INVALID);
		p_sync();
		NONE(ieq);
		OK(PtlMDUnlink(spent));
		CHECK_INT(PtlGetPut(spent, p, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);	/* stale */
		CHECK_INT(PtlGetPut(g, spent, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);
		OK(PtlMDUnlink(g));
		OK(PtlMDUnlink(p));
		OK(PtlMDUnlink(big));
	}
	p_step();
}

/* Nobody there: the send fails, no reply ever comes. */
static void t_nobody_there(void)
{
	ptl_process_id_t to = peer;
	uint64_t a = 1, b = 2;
	ptl_handle_md_t g, p;
	ptl_event_t ev;

	INI {
		to.pid += 5000;
		NEED_OK(PtlMDBind(ni, p_md(&a, 8, 1, 0, geq), PTL_RETAIN, &g));
		NEED_OK(PtlMDBind(ni, p_md(&b, 8, 1, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &p));
		OK(PtlGetPut(g, p, to, PT, 0, 7, 0, 0));
		CHECK_INT(p_get(ieq, &ev), PTL_OK);
		CHECK_INT(ev.type, PTL_EVENT_SEND_END);
		CHECK(ev.ni_fail_type != PTL_NI_OK);
		NONE(geq);
		OK(PtlMDUnlink(g));
		OK(PtlMDUnlink(p));
	}
	p_step();
}

/* PtlMDMDCopy is a get from the same node. */
static void t_copy_on_the_node(void)
{
	char theirs[100], mine[100];
	ptl_handle_md_t md, h;
	ptl_handle_me_t me;
	ptl_event_t ev[2];

	p_fill(theirs, sizeof(theirs), 8);
	memset(mine, 0, sizeof(mine));
	TGT NEED_OK(p_post(7, p_md(theirs, 100, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), &me,
			   &md));
	p_step();
	INI {
		NEED_OK(PtlMDBind(ni, p_md(mine, 90, 1, 0, ieq), PTL_RETAIN, &h));
		CHECK_INT(PtlMDMDCopy(h, peer, PT, 0, 7, 10), peer.nid == self.nid ? PTL_OK : PTL_PROCESS_INVALID);
		if (peer.nid == self.nid) {
			EVENTS(ieq, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END);
			CHECK(!memcmp(mine, theirs + 10, 90));
		}
		OK(PtlMDUnlink(h));
	}
	p_step();
	TGT OK(PtlMEUnlink(me));
	p_step();
}

/*
 * One step: tickets. Every process (targets, too) exchanges its own token with one word of rank 0, many times; each token
 * comes out exactly once, to one of them or in the end in the word. Neighbouring words, bytes that cross a line and an MD
 * over the same bytes by another way (a vector) take part.
 */
#define ROUNDS 2000
static void t_one_step(void)
{
	static uint64_t seen[16 * ROUNDS + 2];
	uint64_t sum = 0, token, old = 0;
	ptl_md_iovec_t v[2];
	ptl_handle_me_t me[2];
	ptl_handle_md_t g, p, md;
	ptl_process_id_t to = p_id(0);
	char *area = (char *)(uintptr_t)cells + 64 - 4;		/* eight bytes across two lines */
	uint64_t got[4] = { 0 };
	int vector = t_rank() % 2;
	ptl_event_t ev;

	REQUIRE(t_size() <= 16);
	if (!t_rank()) {
		memset(area, 0, 8);
		v[0] = (ptl_md_iovec_t){ area, 3 };
		v[1] = (ptl_md_iovec_t){ area + 3, 5 };
		NEED_OK(p_post(40, p_md(area, 8, PTL_MD_THRESH_INF, BOTH | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), &me[0], &md));
		NEED_OK(p_post(41, p_md(v, 2, PTL_MD_THRESH_INF, BOTH | PTL_MD_MANAGE_REMOTE | PTL_MD_IOVEC, PTL_EQ_NONE), &me[1],
			       &md));
	}
	NEED_OK(PtlMDBind(ni, p_md(&old, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, geq), PTL_RETAIN, &g));
	NEED_OK(PtlMDBind(ni, p_md(&token, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &p));
	p_step();
	memset(seen, 0, sizeof(seen));
	for (uint64_t i = 0; i < ROUNDS; i++) {
		/* both halves of the word say the same, so that a torn one is seen */
		uint64_t n = 1 + (uint64_t)t_rank() * ROUNDS + i;

		token = n << 32 | n;
		NEED_OK(PtlGetPut(g, p, to, PT, 0, 40 + (unsigned)vector, 0, 0));
		NEED(CHECK_INT(p_get(geq, &ev), PTL_OK));
		CHECK(ev.type == PTL_EVENT_REPLY_END && ev.ni_fail_type == PTL_NI_OK);
		NEED(CHECK(old >> 32 == (old & 0xffffffff) && (old & 0xffffffff) <= 16 * ROUNDS));
		CHECK_INT(seen[old & 0xffffffff]++, 0);
		sum += old & 0xffffffff;
	}
	got[0] = sum;
	t_page()->word[16 + t_rank()] = got[0];
	p_step();
	if (!t_rank()) {
		uint64_t all = 0, want = 0, last;

		memcpy(&last, area, 8);
		CHECK(last >> 32 == (last & 0xffffffff));
		for (int r = 0; r < t_size(); r++)
			all += t_page()->word[16 + r];
		all += last & 0xffffffff;
		for (uint64_t n = 1; n <= (uint64_t)t_size() * ROUNDS; n++)
			want += n;
		CHECK_INT(all, want);		/* each token came out once */
		OK(PtlMEUnlink(me[0]));
		OK(PtlMEUnlink(me[1]));
	}
	OK(PtlMDUnlink(g));
	OK(PtlMDUnlink(p));
	p_step();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_bytes_are_exchanged), T(t_who_answers), T(t_lengths), T(t_regions), T(t_vectors), T(t_same_descriptor),
		T(t_bad_arguments), T(t_nobody_there), T(t_copy_on_the_node), T(t_one_step), { 0 }
	};
	static _Alignas(64) _Atomic uint64_t words[32];
	int rc;

	cells = words;
	p_init();
	if (PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &geq))
		bail("PtlEQAlloc");
	rc = t_run(cases);
	t_barrier();
	PtlFini();
	return rc;
}

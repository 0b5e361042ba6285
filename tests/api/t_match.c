/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_match.c - which entry a request finds: identity, bits, operation, room, order of the list; what is dropped
 */
#include "ptl.h"

static unsigned char src[256], dst[16][256];
static ptl_handle_me_t me[16];
static ptl_handle_md_t mdh[16];
static ptl_event_t ev[8];
static long long drops;

/* Each entry has its number as user_ptr; send @bits and see which entry took it (-1: none). */
static void send_bits(ptl_match_bits_t bits, size_t len)
{
	OK(p_put(src, len, bits));
	p_sync();
}

static ptl_md_t md_of(int i, size_t len, unsigned options)
{
	ptl_md_t md = p_md(dst[i], len, PTL_MD_THRESH_INF, options, teq);

	md.user_ptr = (void *)(intptr_t)i;
	return md;
}

static int taken_by(void)
{
	int rc = PtlEQGet(teq, &ev[0]);

	if (rc == PTL_EQ_EMPTY)
		return -1;
	CHECK_INT(rc, PTL_OK);
	CHECK_INT(ev[0].type, PTL_EVENT_PUT_START);
	CHECK_INT(p_get(teq, &ev[1]), PTL_OK);
	CHECK_INT(ev[1].type, PTL_EVENT_PUT_END);
	return (int)(intptr_t)ev[1].md.user_ptr;
}

static void attach(int i, ptl_process_id_t id, ptl_match_bits_t bits, ptl_match_bits_t ignore, ptl_ins_pos_t pos)
{
	OK(PtlMEAttach(ni, PT, id, bits, ignore, PTL_RETAIN, pos, &me[i]));
}

static void attach_md(int i, size_t len, unsigned options)
{
	OK(PtlMDAttach(me[i], md_of(i, len, options), PTL_RETAIN, &mdh[i]));
}

/* Send each of @bits in turn; @want[i] is the entry expected to take it. */
static void expect(const ptl_match_bits_t *bits, const int *want, int n, size_t len)
{
	for (int i = 0; i < n; i++) {
		INI { send_bits(bits[i], len); }
		p_step();
		TGT {
			int got = taken_by();

			if (got != want[i])
				diag("message %d with bits %llx", i, (unsigned long long)bits[i]);
			CHECK_INT(got, want[i]);
			NONE(teq);
		}
		p_step();
	}
}
#define EXPECT(len, ...) expect(bits, (const int[]){ __VA_ARGS__ }, \
				(int)(sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int)), len)

static void unlink_all(int n)
{
	TGT {
		for (int i = 0; i < n; i++)
			OK(PtlMEUnlink(me[i]));
	}
	p_step();
}

/* item 4 */
static void t_first_match_wins(void)
{
	static const ptl_match_bits_t bits[] = { 5, 6, 5 };

	TGT {
		for (int i = 0; i < 4; i++) {
			attach(i, anyone, i < 2 ? 6 : 5, 0, PTL_INS_AFTER);
			attach_md(i, 256, PTL_MD_OP_PUT);
		}
	}
	p_step();
	EXPECT(8, 2, 0, 2);
	unlink_all(4);
}

static void t_ignore_bits_are_not_compared(void)
{
	static const ptl_match_bits_t bits[] = { 0x0ull, 0xff00000000000000ull, 0x12340000000000ffull, 0x1ull,
		0x1234567800000000ull, 0x80000000000000ffull };

	TGT {
		attach(0, anyone, 0x00000000000000ffull, 0xffffffffffffff00ull, PTL_INS_AFTER);
		attach(1, anyone, 0x1234000000000000ull, 0x0000ffffffffffffull, PTL_INS_AFTER);
		attach(2, anyone, 0xff00000000000000ull, 0, PTL_INS_AFTER);
		attach(3, anyone, 0, 0xfffffffffffffffeull, PTL_INS_AFTER);
		for (int i = 0; i < 4; i++)
			attach_md(i, 256, PTL_MD_OP_PUT);
	}
	p_step();
	EXPECT(8, 3, 2, 0, -1, 1, 0);
	unlink_all(4);
}

/* exact entries behind and before wildcards: an index over exact entries must keep the order of the list */
static void t_wildcard_keeps_order(void)
{
	static const ptl_match_bits_t bits[] = { 100, 101, 102, 103, 7 };

	TGT {
		attach(0, anyone, 100, 0, PTL_INS_AFTER);
		attach(1, anyone, 0, 1 | 2 | 4 | 32 | 64, PTL_INS_AFTER);	/* 100 to 103, 7 */
		attach(2, anyone, 101, 0, PTL_INS_AFTER);
		attach(3, anyone, 102, 0, PTL_INS_BEFORE);
		for (int i = 0; i < 4; i++)
			attach_md(i, 256, PTL_MD_OP_PUT);
	}
	p_step();
	EXPECT(8, 0, 1, 3, 1, 1);
	unlink_all(4);
}

static void t_long_list_finds_each_entry(void)
{
	enum { N = 1000 };
	static ptl_handle_me_t m[N];
	static unsigned char word[N];

	TGT {
		memset(word, 0, sizeof(word));
		for (int i = 0; i < N; i++) {
			OK(PtlMEAttach(ni, PT, anyone, 0x100000000ull * (unsigned)i, 0, PTL_RETAIN, PTL_INS_AFTER, &m[i]));
			OK(PtlMDAttach(m[i], p_md(&word[i], 1, PTL_MD_THRESH_INF,
						  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN, NULL));
		}
		drops = p_drops();
	}
	p_step();
	INI {
		for (int i = N - 1; i >= 0; i--) {
			src[0] = (unsigned char)(i % 251 + 1);
			OK(p_put(src, 1, 0x100000000ull * (unsigned)i));
		}
		OK(p_put(src, 1, 1));
		p_sync();
	}
	p_step();
	TGT {
		for (int i = 0; i < N; i++) {
			if (word[i] != i % 251 + 1)
				CHECK_INT(word[i], i % 251 + 1);
			OK(PtlMEUnlink(m[i]));
		}
		CHECK_INT(p_drops(), drops + 1);
	}
	p_step();
}

static void t_identity_of_the_sender_is_compared(void)
{
	static const ptl_match_bits_t bits[] = { 1, 2, 3, 4, 5, 6 };

	TGT {
		attach(0, (ptl_process_id_t){ peer.nid, peer.pid }, 1, 0, PTL_INS_AFTER);
		attach(1, (ptl_process_id_t){ peer.nid, peer.pid + 1 }, 2, 0, PTL_INS_AFTER);
		attach(2, (ptl_process_id_t){ peer.nid + 1, peer.pid }, 3, 0, PTL_INS_AFTER);
		attach(3, (ptl_process_id_t){ PTL_NID_ANY, peer.pid }, 4, 0, PTL_INS_AFTER);
		attach(4, (ptl_process_id_t){ peer.nid, PTL_PID_ANY }, 5, 0, PTL_INS_AFTER);
		attach(5, (ptl_process_id_t){ 0, 0 }, 6, 0, PTL_INS_AFTER);	/* a mark: never matches */
		for (int i = 0; i < 6; i++)
			attach_md(i, 256, PTL_MD_OP_PUT);
	}
	p_step();
	EXPECT(8, 0, -1, -1, 3, 4, -1);
	unlink_all(6);
}

/* item 4: no MD, inactive, operation not enabled, too small: skipped, and the next entry is tried */
static void t_unfit_entries_are_skipped(void)
{
	static const ptl_match_bits_t bits[] = { 1, 1, 1 };

	TGT {
		drops = p_drops();
		for (int i = 0; i < 6; i++)
			attach(i, anyone, 1, 0, PTL_INS_AFTER);
		/* 0: no MD */
		ptl_md_t md = md_of(1, 256, PTL_MD_OP_PUT);

		md.threshold = 0;
		OK(PtlMDAttach(me[1], md, PTL_UNLINK, &mdh[1]));
		attach_md(2, 256, PTL_MD_OP_GET);
		attach_md(3, 256, 0);
		attach_md(4, 7, PTL_MD_OP_PUT);
		attach_md(5, 16, PTL_MD_OP_PUT);
	}
	p_step();
	EXPECT(8, 5, 5, -1);
	TGT {
		CHECK_INT(p_drops(), drops + 1);
		OK(PtlMDUnlink(mdh[1]));	/* created with threshold 0: not unlinked by that */
	}
	unlink_all(6);
}

/* a put that nobody can take whole goes to the truncating one behind */
static void t_truncating_entry_catches_the_rest(void)
{
	static const ptl_match_bits_t bits[] = { 1 };

	TGT {
		attach(0, anyone, 1, 0, PTL_INS_AFTER);
		attach(1, anyone, 0, ~0ull, PTL_INS_AFTER);
		attach_md(0, 4, PTL_MD_OP_PUT);
		attach_md(1, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE);
	}
	p_step();
	EXPECT(8, 1);
	TGT { CHECK_INT(ev[1].mlength, 0); }
	unlink_all(2);
}

/* item 18 */
static void t_insert_and_attach_positions(void)
{
	static const ptl_match_bits_t bits[] = { 1, 1, 1, 1, 1, 1 };
	static const int order[] = { 4, 3, 1, 0, 2, 5 };

	TGT {
		attach(0, anyone, 1, 0, PTL_INS_AFTER);
		attach(1, anyone, 1, 0, PTL_INS_BEFORE);
		attach(2, anyone, 1, 0, PTL_INS_AFTER);
		OK(PtlMEInsert(me[1], anyone, 1, 0, PTL_RETAIN, PTL_INS_BEFORE, &me[3]));
		attach(4, anyone, 1, 0, PTL_INS_BEFORE);
		OK(PtlMEInsert(me[2], anyone, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me[5]));
		for (int i = 0; i < 6; i++) {
			ptl_md_t md = md_of(i, 256, PTL_MD_OP_PUT);

			md.threshold = 1;
			OK(PtlMDAttach(me[i], md, PTL_RETAIN, &mdh[i]));
		}
	}
	p_step();
	expect(bits, order, 6, 8);
	unlink_all(6);
}

static void t_insert_between_neighbours(void)
{
	static const ptl_match_bits_t bits[] = { 1, 1, 1, 1 };
	static const int order[] = { 0, 2, 3, 1 };

	TGT {
		attach(0, anyone, 1, 0, PTL_INS_AFTER);
		attach(1, anyone, 1, 0, PTL_INS_AFTER);
		OK(PtlMEInsert(me[0], anyone, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me[2]));
		OK(PtlMEInsert(me[1], anyone, 1, 0, PTL_RETAIN, PTL_INS_BEFORE, &me[3]));
		for (int i = 0; i < 4; i++) {
			ptl_md_t md = md_of(i, 256, PTL_MD_OP_PUT);

			md.threshold = 1;
			OK(PtlMDAttach(me[i], md, PTL_RETAIN, &mdh[i]));
		}
	}
	p_step();
	expect(bits, order, 4, 8);
	unlink_all(4);
}

static void t_unlinked_entry_is_not_found(void)
{
	static const ptl_match_bits_t bits[] = { 1, 1 };

	TGT {
		for (int i = 0; i < 3; i++) {
			attach(i, anyone, 1, 0, PTL_INS_AFTER);
			attach_md(i, 256, PTL_MD_OP_PUT);
		}
		OK(PtlMEUnlink(me[0]));
		OK(PtlMEUnlink(me[1]));
	}
	p_step();
	EXPECT(8, 2);
	TGT {
		OK(PtlMEUnlink(me[2]));
		drops = p_drops();
	}
	p_step();
	EXPECT(8, -1, -1);
	TGT { CHECK_INT(p_drops(), drops + 2); }
	p_step();
}

/* an explicit unlink of the MD makes no event; the entry follows when it was made with PTL_UNLINK */
static void t_explicit_unlink_makes_no_event(void)
{
	TGT {
		OK(p_post_at(PT, 1, 0, PTL_UNLINK, md_of(0, 256, PTL_MD_OP_PUT), PTL_UNLINK, &me[0], &mdh[0]));
		OK(p_post_at(PT, 1, 0, PTL_UNLINK, md_of(1, 256, PTL_MD_OP_PUT), PTL_UNLINK, &me[1], &mdh[1]));
		OK(PtlMDUnlink(mdh[0]));
		CHECK_INT(PtlMEUnlink(me[0]), PTL_ME_INVALID);
		OK(PtlMEUnlink(me[1]));
		CHECK_INT(PtlMDUnlink(mdh[1]), PTL_MD_INVALID);
		NONE(teq);
	}
	p_step();
}

/* item 3 */
static void t_each_drop_is_counted(void)
{
	long long bytes = 0;

	TGT {
		drops = p_drops();
		bytes = p_status(PTL_SR_DROP_LENGTH);
		attach(0, anyone, 1, 0, PTL_INS_AFTER);
		attach_md(0, 256, PTL_MD_OP_PUT);
	}
	p_step();
	INI {
		const struct {
			ptl_size_t len;
			ptl_pt_index_t pt;
			ptl_ac_index_t ac;
			ptl_match_bits_t bits;
		} bad[8] = {
			{ 8, (ptl_pt_index_t)lim.max_pt_index + 1, 0, 1 }, { 8, 0x7fffffff, 0, 1 }, { 8, 0xffffffff, 0, 1 },
			{ 8, PT + 2, 0, 1 }, { 8, PT, 0, 2 }, { 200, PT, 0, 3 },
			{ 8, PT, (ptl_ac_index_t)lim.max_ac_index + 1, 1 }, { 8, PT, 0xffffffff, 1 },
		};
		ptl_handle_md_t h[8];

		for (int i = 0; i < 8; i++) {
			OK(PtlMDBind(ni, p_md(src, bad[i].len, 2, 0, ieq), PTL_UNLINK, &h[i]));
			OK(PtlPut(h[i], PTL_ACK_REQ, peer, bad[i].pt, bad[i].ac, bad[i].bits, 0, 0));
		}
		p_sync();
		for (int i = 0; i < 8; i++)
			EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		NONE(ieq);	/* and no ACK */
		for (int i = 0; i < 8; i++)
			OK(PtlMDUnlink(h[i]));
	}
	p_step();
	TGT {
		NONE(teq);
		CHECK_INT(p_drops(), drops + 8);
		CHECK_INT(p_status(PTL_SR_DROP_LENGTH), bytes + 7 * 8 + 200);
		OK(PtlMEUnlink(me[0]));
	}
	p_step();
}

/* 4.3: entry 0 admits every process of the user; another can shut all out */
static void t_access_control_is_checked(void)
{
	ptl_uid_t uid = 0;
	ptl_jid_t jid = 0;
	ptl_handle_md_t h;

	TGT {
		OK(PtlGetUid(ni, &uid));
		OK(PtlGetJid(ni, &jid));
		drops = p_drops();
		attach(0, anyone, 1, 0, PTL_INS_AFTER);
		attach_md(0, 256, PTL_MD_OP_PUT);
		NEED(lim.max_ac_index >= 6);
		OK(PtlACEntry(ni, 1, anyone, uid + 1, PTL_JID_ANY, PTL_PT_INDEX_ANY));
		OK(PtlACEntry(ni, 2, anyone, uid, jid + 1, PTL_PT_INDEX_ANY));
		OK(PtlACEntry(ni, 3, anyone, uid, jid, PT + 1));
		OK(PtlACEntry(ni, 4, (ptl_process_id_t){ peer.nid, peer.pid + 1 }, uid, jid, PT));
		OK(PtlACEntry(ni, 5, (ptl_process_id_t){ peer.nid + 1, peer.pid }, uid, jid, PT));
		OK(PtlACEntry(ni, 6, (ptl_process_id_t){ peer.nid, peer.pid }, uid, jid, PT));
	}
	p_step();
	INI {
		for (ptl_ac_index_t i = 1; i < 7; i++) {
			OK(PtlMDBind(ni, p_md(src, 8, 1, 0, PTL_EQ_NONE), PTL_UNLINK, &h));
			OK(PtlPut(h, PTL_NO_ACK_REQ, peer, PT, i, 1, 0, i));
		}
		p_sync();
	}
	p_step();
	TGT {
		CHECK_INT(taken_by(), 0);
		CHECK_INT(ev[1].hdr_data, 6);
		NONE(teq);
		CHECK_INT(p_drops(), drops + 5);
		for (ptl_ac_index_t i = 1; i < 7; i++)
			OK(PtlACEntry(ni, i, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
		OK(PtlMEUnlink(me[0]));
	}
	p_step();
}

/* A random list and random messages, compared with a plain walk written here. */
static void t_random_lists_agree_with_a_plain_walk(void)
{
	enum { N = 60, M = 200 };
	struct model {
		ptl_match_bits_t bits, ignore;
		size_t len;
		int threshold;
		unsigned options;
	} m[N];
	int order[N], n = 0;
	static ptl_handle_me_t h[N];
	static unsigned char buf[64];
	uint64_t s = t_seed(), r;

	for (int i = 0; i < N; i++) {	/* both sides draw the same numbers */
		int at = 0, pos;

		r = t_random(&s);
		m[i] = (struct model){ .bits = r & 15, .ignore = (r >> 8 & 3) ? 0 : r >> 10 & 15,
			.len = r >> 20 & 31, .threshold = (r >> 30 & 3) ? (int)(r >> 32 & 7) : PTL_MD_THRESH_INF,
			.options = ((r >> 40 & 7) ? PTL_MD_OP_PUT : 0) | ((r >> 44 & 3) ? 0 : PTL_MD_TRUNCATE) |
				PTL_MD_MANAGE_REMOTE };
		if (n)
			at = (int)(r >> 48) % n;
		pos = r >> 47 & 1 ? PTL_INS_AFTER : PTL_INS_BEFORE;
		TGT {
			ptl_md_t md = p_md(buf, m[i].len, m[i].threshold, m[i].options, teq);

			md.user_ptr = (void *)(intptr_t)i;
			if (!n)
				OK(PtlMEAttach(ni, PT, anyone, m[i].bits, m[i].ignore, PTL_RETAIN, PTL_INS_AFTER, &h[i]));
			else
				OK(PtlMEInsert(h[order[at]], anyone, m[i].bits, m[i].ignore, PTL_RETAIN, pos, &h[i]));
			OK(PtlMDAttach(h[i], md, PTL_RETAIN, NULL));
		}
		at += n && pos == PTL_INS_AFTER;
		memmove(order + at + 1, order + at, (size_t)(n - at) * sizeof(order[0]));
		order[at] = i;
		n++;
	}
	p_step();
	for (int k = 0; k < M; k++) {
		size_t len, off, moved = 0;
		ptl_match_bits_t bits;
		int want = -1;

		r = t_random(&s);
		bits = r & 15;
		len = r >> 8 & 31;
		off = r >> 16 & 7;
		for (int i = 0; i < n && want < 0; i++) {
			struct model *e = &m[order[i]];

			if (((bits ^ e->bits) & ~e->ignore) || !e->threshold || !(e->options & PTL_MD_OP_PUT) ||
			    off > e->len || (len > e->len - off && !(e->options & PTL_MD_TRUNCATE)))
				continue;
			want = order[i];
			moved = len < e->len - off ? len : e->len - off;
			e->threshold -= e->threshold > 0;
		}
		INI {
			OK(p_put_full(src, len, PTL_NO_ACK_REQ, PT, bits, off, (unsigned)k, PTL_EQ_NONE));
			p_sync();
		}
		p_step();
		TGT {
			int got = taken_by();

			if (got != want) {
				CHECK_INT(got, want);
				diag("message %d: bits %llx length %zu offset %zu", k, (unsigned long long)bits, len, off);
			} else if (got >= 0) {
				CHECK_INT(ev[1].mlength, moved);
				CHECK_INT(ev[1].offset, off);
				CHECK_INT(ev[1].md.threshold, m[got].threshold);
			}
		}
		p_step();
	}
	TGT {
		for (int i = 0; i < N; i++)
			OK(PtlMEUnlink(h[i]));
	}
	p_step();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_first_match_wins), T(t_ignore_bits_are_not_compared), T(t_wildcard_keeps_order),
		T(t_long_list_finds_each_entry), T(t_identity_of_the_sender_is_compared),
		T(t_unfit_entries_are_skipped), T(t_truncating_entry_catches_the_rest),
		T(t_insert_and_attach_positions), T(t_insert_between_neighbours), T(t_unlinked_entry_is_not_found),
		T(t_explicit_unlink_makes_no_event), T(t_each_drop_is_counted), T(t_access_control_is_checked),
		T(t_random_lists_agree_with_a_plain_walk), { 0 }
	};

	return p_main(cases);
}

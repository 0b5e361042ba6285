/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_bad.c - every call with bad, stale and foreign handles, indices out of range, NULLs, wrong sizes: the documented
 * code, and nothing changed
 *
 * "Nothing changed" is what t_nothing_has_changed sees at the end: the pools hold as many objects as before, the
 * queues are empty, an old entry and descriptor work as they did.
 */
#include "ptl.h"

static unsigned char src[64], dst[64];
static ptl_handle_me_t me, stale_me;
static ptl_handle_md_t mdh, bound, stale_md;
static ptl_handle_eq_t stale_eq;
static ptl_event_t ev[8];
static int free_mes, free_mds, free_eqs;

/* How many more of each can be made now. */
static void count_free(int *mes, int *mds, int *eqs)
{
	static ptl_handle_any_t h[200000];
	int n;

	for (n = 0; n < 200000 && PtlMEAttach(ni, PT + 1, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &h[n]) == PTL_OK; n++)
		;
	*mes = n;
	while (n--)
		OK(PtlMEUnlink(h[n]));
	for (n = 0; n < 200000 && PtlMDBind(ni, p_md(src, 1, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &h[n]) == PTL_OK; n++)
		;
	*mds = n;
	while (n--)
		OK(PtlMDUnlink(h[n]));
	for (n = 0; n < 1000 && PtlEQAlloc(ni, 2, PTL_EQ_HANDLER_NONE, &h[n]) == PTL_OK; n++)
		;
	*eqs = n;
	while (n--)
		OK(PtlEQFree(h[n]));
}

static void t_setup(void)
{
	OK(p_post(1, p_md(dst, sizeof(dst), 1000, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, teq), &me, &mdh));
	OK(PtlMDBind(ni, p_md(src, sizeof(src), 1000, 0, ieq), PTL_RETAIN, &bound));
	OK(p_post(1, p_md(dst, sizeof(dst), 1000, PTL_MD_OP_PUT, teq), &stale_me, &stale_md));
	OK(PtlMEUnlink(stale_me));
	OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &stale_eq));
	OK(PtlEQFree(stale_eq));
	count_free(&free_mes, &free_mds, &free_eqs);
	CHECK(free_mes > 100 && free_mds > 100 && free_eqs > 4);
	p_step();
}

/* What no call may take for an object of kind @own: everything else. */
static int bad_handles(ptl_handle_any_t *h, char own)
{
	int n = 0;

	h[n++] = PTL_INVALID_HANDLE;
	h[n++] = PTL_HANDLE_NONE;
	h[n++] = 0;
	h[n++] = 1;
	h[n++] = 0x80000000u;
	h[n++] = 0xfffffffeu;
	h[n++] = 0xbffffffeu;
	h[n++] = 0x00ffffffu;
	h[n++] = 0xdeadbeefu;
	h[n++] = PTL_EQ_NONE;
	if (own != 'n')
		h[n++] = ni;
	if (own != 'e') {
		h[n++] = ieq;
	} else {
		h[n++] = stale_eq;
		h[n++] = ieq ^ 0x00010000u;
	}
	if (own != 'm') {
		h[n++] = me;
	} else {
		h[n++] = stale_me;
		h[n++] = me ^ 0x00100000u;
	}
	if (own != 'd') {
		h[n++] = bound;
	} else {
		h[n++] = stale_md;
		h[n++] = bound ^ 0x00100000u;
	}
	return n;
}

/* A made-up handle may by chance be good (0 may be the first object): leave out what is. */
static int is_object(ptl_handle_any_t h, char kind)
{
	switch (kind) {
	case 'n': return h == ni;
	case 'e': return h == ieq || h == teq || h == p_idle_eq || h == p_sync_eq;
	case 'm': return h == me || h == p_sync_me;
	default: return h == mdh || h == bound || h == p_sync_md || h == p_sync_target_md;
	}
}

#define EACH_BAD(kind, call, want) do {							\
	ptl_handle_any_t bad_[32];							\
	int n_ = bad_handles(bad_, kind);						\
	for (int i_ = 0; i_ < n_; i_++) {						\
		ptl_handle_any_t X = bad_[i_];						\
		if (is_object(X, kind))							\
			continue;							\
		int rc_ = (call);							\
		if (rc_ != (want)) {							\
			CHECK_INT(rc_, want);						\
			diag("%s with handle 0x%x", #call, X);				\
		}									\
	}										\
} while (0)

static const ptl_process_id_t nobody = { PTL_NID_ANY, PTL_PID_ANY };

static void t_bad_interface_handles(void)
{
	ptl_process_id_t id;
	ptl_sr_value_t v;
	ptl_handle_any_t h = 0x1111;
	ptl_pt_index_t pt = 0x1111;
	unsigned long d;
	ptl_uid_t u;
	ptl_jid_t j;
	unsigned a, b;

	EACH_BAD('n', PtlNIFini(X), PTL_NI_INVALID);
	EACH_BAD('n', PtlNIStatus(X, PTL_SR_DROP_COUNT, &v), PTL_NI_INVALID);
	EACH_BAD('n', PtlNIDist(X, peer, &d), PTL_NI_INVALID);
	EACH_BAD('n', PtlGetUid(X, &u), PTL_NI_INVALID);
	EACH_BAD('n', PtlGetId(X, &id), PTL_NI_INVALID);
	EACH_BAD('n', PtlGetJid(X, &j), PTL_NI_INVALID);
	EACH_BAD('n', PtlMEAttach(X, PT, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &h), PTL_NI_INVALID);
	EACH_BAD('n', PtlMEAttachAny(X, &pt, anyone, 0, 0, PTL_RETAIN, &h), PTL_NI_INVALID);
	EACH_BAD('n', PtlMDBind(X, p_md(src, 1, 1, 0, PTL_EQ_NONE), PTL_UNLINK, &h), PTL_NI_INVALID);
	EACH_BAD('n', PtlEQAlloc(X, 4, PTL_EQ_HANDLER_NONE, &h), PTL_NI_INVALID);
	EACH_BAD('n', PtlACEntry(X, 0, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY), PTL_NI_INVALID);
	EACH_BAD('n', PtlMEMDPost(X, me, anyone, 0, 0, PTL_UNLINK, PTL_INS_AFTER, p_md(src, 1, 1, 0, PTL_EQ_NONE),
				  PTL_UNLINK, &h, &h, PTL_EQ_NONE), PTL_NI_INVALID);
	EACH_BAD('n', PtlPTPolled_np(X, PT, 1), PTL_NI_INVALID);
	EACH_BAD('n', PtlNISerial_np(X, 1, NULL), PTL_NI_INVALID);
	/* PTL_INVALID_HANDLE is legal for ranks; an object that is not an interface is not */
	CHECK_INT(PtlGetRank(0xdeadbeefu, &a, &b), PTL_NI_INVALID);
	CHECK_INT(h, 0x1111);
	CHECK_INT(pt, 0x1111);
	p_step();
}

static void t_bad_entry_handles(void)
{
	ptl_handle_any_t h = 0x1111, h2 = 0x2222;

	EACH_BAD('m', PtlMEUnlink(X), PTL_ME_INVALID);
	EACH_BAD('m', PtlMEInsert(X, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &h), PTL_ME_INVALID);
	EACH_BAD('m', PtlMDAttach(X, p_md(src, 1, 1, 0, PTL_EQ_NONE), PTL_UNLINK, &h), PTL_ME_INVALID);
	EACH_BAD('m', PtlMEMDPost(ni, X, anyone, 0, 0, PTL_UNLINK, PTL_INS_AFTER, p_md(src, 1, 1, 0, PTL_EQ_NONE),
				  PTL_UNLINK, &h, &h2, PTL_EQ_NONE), PTL_ME_INVALID);
	CHECK_INT(PtlMDAttach(me, p_md(src, 1, 1, 0, PTL_EQ_NONE), PTL_UNLINK, &h), PTL_ME_IN_USE);
	CHECK_INT(h, 0x1111);
	CHECK_INT(h2, 0x2222);
	p_step();
}

static void t_bad_descriptor_handles(void)
{
	ptl_md_t md = p_md(src, 1, 1, 0, PTL_EQ_NONE), old = { .options = 0 };

	EACH_BAD('d', PtlMDUnlink(X), PTL_MD_INVALID);
	EACH_BAD('d', PtlMDUpdate(X, &old, &md, PTL_EQ_NONE), PTL_MD_INVALID);
	EACH_BAD('d', PtlMDUpdate(X, NULL, NULL, PTL_EQ_NONE), PTL_MD_INVALID);
	EACH_BAD('d', PtlPut(X, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0), PTL_MD_INVALID);
	EACH_BAD('d', PtlPutRegion(X, 0, 1, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0), PTL_MD_INVALID);
	EACH_BAD('d', PtlGet(X, peer, PT, 0, 1, 0), PTL_MD_INVALID);
	EACH_BAD('d', PtlGetRegion(X, 0, 1, peer, PT, 0, 1, 0), PTL_MD_INVALID);
	p_step();
}

static void t_bad_queue_handles(void)
{
	ptl_handle_any_t h = 0x1111;
	int which = -1;

	memset(&ev[0], 0x5a, sizeof(ev[0]));
	EACH_BAD('e', PtlEQFree(X), PTL_EQ_INVALID);
	EACH_BAD('e', PtlEQGet(X, &ev[0]), PTL_EQ_INVALID);
	EACH_BAD('e', PtlEQPeek(X, &ev[0]), PTL_EQ_INVALID);
	EACH_BAD('e', PtlEQWait(X, &ev[0]), PTL_EQ_INVALID);
	EACH_BAD('e', PtlEQPoll(&X, 1, PTL_TIME_FOREVER, &ev[0], &which), PTL_EQ_INVALID);
	CHECK(*(unsigned char *)&ev[0] == 0x5a);
	{	/* in a descriptor: EQ_INVALID or, for one of another interface, MD_ILLEGAL */
		ptl_handle_any_t bad[32];
		int n = bad_handles(bad, 'e');

		for (int i = 0; i < n; i++) {
			int rc;

			if (is_object(bad[i], 'e') || bad[i] == PTL_EQ_NONE)
				continue;
			rc = PtlMDBind(ni, p_md(src, 1, 1, 0, bad[i]), PTL_UNLINK, &h);
			if (rc != PTL_EQ_INVALID && rc != PTL_MD_ILLEGAL) {
				diag("PtlMDBind with queue 0x%x", bad[i]);
				CHECK_INT(rc, PTL_EQ_INVALID);
			}
		}
	}
	CHECK_INT(h, 0x1111);
	p_step();
}

static void t_null_addresses(void)
{
	ptl_handle_any_t h = 0x1111;
	ptl_pt_index_t pt;
	unsigned a;

	CHECK_INT(PtlMEAttach(ni, PT, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, NULL), PTL_SEGV);
	CHECK_INT(PtlMEAttachAny(ni, &pt, anyone, 0, 0, PTL_RETAIN, NULL), PTL_SEGV);
	CHECK_INT(PtlMEAttachAny(ni, NULL, anyone, 0, 0, PTL_RETAIN, &h), PTL_SEGV);
	CHECK_INT(PtlMEInsert(me, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, NULL), PTL_SEGV);
	CHECK_INT(PtlMDBind(ni, p_md(src, 1, 1, 0, PTL_EQ_NONE), PTL_UNLINK, NULL), PTL_SEGV);
	CHECK_INT(PtlMEMDPost(ni, me, anyone, 0, 0, PTL_UNLINK, PTL_INS_AFTER, p_md(src, 1, 1, 0, PTL_EQ_NONE),
			      PTL_UNLINK, NULL, &h, PTL_EQ_NONE), PTL_SEGV);
	CHECK_INT(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, NULL), PTL_SEGV);
	CHECK_INT(PtlEQGet(teq, NULL), PTL_SEGV);
	CHECK_INT(PtlEQPeek(teq, NULL), PTL_SEGV);
	CHECK_INT(PtlEQWait(teq, NULL), PTL_SEGV);
	CHECK_INT(PtlGetRank(ni, NULL, &a), PTL_SEGV);
	CHECK_INT(PtlGetRank(ni, &a, NULL), PTL_SEGV);
	CHECK_INT(PtlGetRankId(ni, 0, NULL), PTL_SEGV);
	CHECK_INT(PtlGetNIDMap(ni, NULL, (unsigned)t_size()), PTL_SEGV);
	CHECK_INT(PtlGetPIDMap(ni, NULL, (unsigned)t_size()), PTL_SEGV);
	p_step();
}

static void t_indices_out_of_range(void)
{
	ptl_handle_me_t h = 0x1111;
	ptl_pt_index_t past = (ptl_pt_index_t)lim.max_pt_index + 1;

	CHECK_INT(PtlMEAttach(ni, past, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &h), PTL_PT_INDEX_INVALID);
	CHECK_INT(PtlMEAttach(ni, PTL_PT_INDEX_ANY, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &h), PTL_PT_INDEX_INVALID);
	CHECK_INT(PtlMEAttach(ni, 0x80000000u, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &h), PTL_PT_INDEX_INVALID);
	CHECK_INT(PtlACEntry(ni, (ptl_ac_index_t)lim.max_ac_index + 1, anyone, 0, 0, 0), PTL_AC_INDEX_INVALID);
	CHECK_INT(PtlACEntry(ni, 0xffffffff, anyone, 0, 0, 0), PTL_AC_INDEX_INVALID);
	CHECK_INT(PtlACEntry(ni, 0, anyone, 0, 0, past), PTL_PT_INDEX_INVALID);
	CHECK_INT(PtlPTPolled_np(ni, past, 1), PTL_PT_INDEX_INVALID);
	CHECK_INT(PtlPTPolled_np(ni, 0xffffffff, 1), PTL_PT_INDEX_INVALID);
	CHECK_INT(h, 0x1111);
	p_step();
}

static void t_unusable_regions(void)
{
	ptl_handle_md_t h = 0x1111;
	ptl_handle_me_t m;

	OK(PtlMEAttach(ni, PT + 1, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &m));
#define BOTH(md) do {										\
	CHECK_INT(PtlMDBind(ni, md, PTL_UNLINK, &h), PTL_MD_ILLEGAL);				\
	CHECK_INT(PtlMDAttach(m, md, PTL_UNLINK, &h), PTL_MD_ILLEGAL);				\
} while (0)
	BOTH(p_md(NULL, 1, 1, 0, PTL_EQ_NONE));
	BOTH(p_md(src, ~0ull, 1, 0, PTL_EQ_NONE));		/* wraps */
	BOTH(p_md((void *)~(uintptr_t)0xf, 64, 1, 0, PTL_EQ_NONE));
#undef BOTH
	CHECK_INT(h, 0x1111);
	OK(PtlMDAttach(m, p_md(NULL, 0, 1, 0, PTL_EQ_NONE), PTL_UNLINK, NULL));	/* this is legal, and the handle not wanted */
	OK(PtlMEUnlink(m));
	p_step();
}

static void t_unknown_options(void)
{
	ptl_handle_md_t h = 0x1111;
	ptl_handle_me_t m;

	OK(PtlMEAttach(ni, PT + 1, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &m));
	for (unsigned bit = 2 * PTL_MD_EVENT_END_DISABLE; bit; bit <<= 1) {
		ptl_md_t md = p_md(src, 1, 1, bit | PTL_MD_OP_PUT, PTL_EQ_NONE);

		if (bit & (PTL_MD_UNLINK_EVENT_NP | PTL_MD_UNLINK_EVENT_MANUAL_NP | PTL_MD_XT_NP))
			continue;
		CHECK_INT(PtlMDBind(ni, md, PTL_UNLINK, &h), PTL_MD_ILLEGAL);
		CHECK_INT(PtlMDAttach(m, md, PTL_UNLINK, &h), PTL_MD_ILLEGAL);
		CHECK_INT(PtlMDUpdate(bound, NULL, &md, PTL_EQ_NONE), PTL_MD_ILLEGAL);
		CHECK_INT(PtlMEMDPost(ni, m, anyone, 0, 0, PTL_UNLINK, PTL_INS_AFTER, md, PTL_UNLINK, &h, &h, PTL_EQ_NONE),
			  PTL_MD_ILLEGAL);
	}
	CHECK_INT(h, 0x1111);
	OK(PtlMEUnlink(m));
	p_step();
}

/* SPEC-NOTES: retained, behind, no acknowledgement */
static void t_values_outside_an_enumeration(void)
{
	ptl_md_t md = p_md(dst, 8, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, teq);
	ptl_handle_me_t first, second;
	ptl_handle_md_t a, b, h;

	OK(PtlMEAttach(ni, PT + 1, anyone, 0, 0, (ptl_unlink_t)2, PTL_INS_AFTER, &first));
	OK(PtlMEAttach(ni, PT + 1, anyone, 0, 0, (ptl_unlink_t)-1, (ptl_ins_pos_t)7, &second));
	OK(PtlMDAttach(first, md, (ptl_unlink_t)2, &a));
	OK(PtlMDAttach(second, md, PTL_RETAIN, &b));
	OK(PtlMDBind(ni, p_md(src, 8, 1, PTL_MD_EVENT_START_DISABLE, ieq), (ptl_unlink_t)3, &h));
	p_step();
	OK(PtlPut(h, (ptl_ack_req_t)2, peer, PT + 1, 0, 0, 0, 0));
	OK(p_get(ieq, &ev[0]));
	CHECK_INT(ev[0].type, PTL_EVENT_SEND_END);
	OK(p_get(teq, &ev[0]));
	CHECK_INT(ev[0].type, PTL_EVENT_PUT_END);
	CHECK_INT(ev[0].md_handle, a);
	p_step();
	NONE(ieq);
	NONE(teq);
	OK(PtlMDUnlink(a));		/* used up, and still there */
	OK(PtlMDUnlink(h));
	OK(PtlMEUnlink(first));
	OK(PtlMEUnlink(second));
	p_step();
}

static void t_bad_targets(void)
{
	ptl_process_id_t id = peer;

	CHECK_INT(PtlPut(bound, PTL_NO_ACK_REQ, nobody, PT, 0, 1, 0, 0), PTL_PROCESS_INVALID);
	id.nid = PTL_NID_ANY;
	CHECK_INT(PtlPut(bound, PTL_NO_ACK_REQ, id, PT, 0, 1, 0, 0), PTL_PROCESS_INVALID);
	CHECK_INT(PtlGet(bound, id, PT, 0, 1, 0), PTL_PROCESS_INVALID);
	id = peer;
	id.pid = PTL_PID_ANY;
	CHECK_INT(PtlPutRegion(bound, 0, 1, PTL_NO_ACK_REQ, id, PT, 0, 1, 0, 0), PTL_PROCESS_INVALID);
	CHECK_INT(PtlGetRegion(bound, 0, 1, id, PT, 0, 1, 0), PTL_PROCESS_INVALID);
	NONE(ieq);
	p_step();
}

/* 2.8: an unreachable target: the code at once, or a SEND_END that has failed; never a hang, never silence on a put */
static void t_target_that_does_not_exist(void)
{
	ptl_process_id_t id = { peer.nid, 0xfff0 };
	ptl_handle_md_t h;
	int rc;

	OK(PtlMDBind(ni, p_md(src, 8, 2, 0, ieq), PTL_RETAIN, &h));
	rc = PtlPut(h, PTL_ACK_REQ, id, PT, 0, 1, 0, 0);
	if (rc != PTL_PROCESS_INVALID) {
		CHECK_INT(rc, PTL_OK);
		CHECK_INT(p_get(ieq, &ev[0]), PTL_OK);
		CHECK_INT(ev[0].type, PTL_EVENT_SEND_START);
		CHECK_INT(p_get(ieq, &ev[1]), PTL_OK);
		CHECK_INT(ev[1].type, PTL_EVENT_SEND_END);
		CHECK(ev[1].ni_fail_type != PTL_NI_OK);
	}
	rc = PtlGet(h, id, PT, 0, 1, 0);
	CHECK(rc == PTL_PROCESS_INVALID || rc == PTL_OK);
	if (rc == PTL_OK)	/* a failed REPLY_END or nothing */
		while (PtlEQGet(ieq, &ev[0]) == PTL_OK)
			CHECK(ev[0].type == PTL_EVENT_REPLY_START || ev[0].ni_fail_type != PTL_NI_OK);
	OK(PtlMDUnlink(h));
	p_step();
}

/* A handle of an object that went away must not reach the next one in the same place. */
static void t_recycled_handles_stay_stale(void)
{
	enum { N = 5000 };
	ptl_handle_me_t first_me = 0, m;
	ptl_handle_md_t first_md = 0, d;
	ptl_handle_eq_t first_eq = 0, e;

	for (int i = 0; i < N; i++) {
		OK(p_post_at(PT + 1, 1, 0, PTL_RETAIN, p_md(dst, 8, 1, PTL_MD_OP_PUT, PTL_EQ_NONE), PTL_RETAIN, &m, &d));
		OK(PtlEQAlloc(ni, 2, PTL_EQ_HANDLER_NONE, &e));
		if (i) {
			CHECK_INT(PtlMEUnlink(first_me), PTL_ME_INVALID);
			CHECK_INT(PtlMDUnlink(first_md), PTL_MD_INVALID);
			CHECK_INT(PtlEQFree(first_eq), PTL_EQ_INVALID);
			CHECK(m != first_me && d != first_md && e != first_eq);
		}
		OK(PtlMEUnlink(m));
		OK(PtlEQFree(e));
		if (i % 50 == 0) {	/* a handle may come back one day, but not within fifty */
			first_me = m;
			first_md = d;
			first_eq = e;
		}
		if (t_bad_)
			break;
	}
	p_step();
}

static void t_nothing_has_changed(void)
{
	int mes, mds, eqs;
	ptl_md_t old = { .options = 0 };

	count_free(&mes, &mds, &eqs);
	CHECK_INT(mes, free_mes);
	CHECK_INT(mds, free_mds);
	CHECK_INT(eqs, free_eqs);
	NONE(ieq);
	NONE(teq);
	OK(PtlMDUpdate(mdh, &old, NULL, PTL_EQ_NONE));
	CHECK_INT(old.threshold, 1000);
	OK(PtlMDUpdate(bound, &old, NULL, PTL_EQ_NONE));
	CHECK_INT(old.threshold, 1000);
	CHECK(old.start == src && old.length == sizeof(src) && old.eq_handle == ieq);
	CHECK_INT(p_status(PTL_SR_CORRUPT_NP), 0);
	p_step();
	INI {
		p_fill(src, sizeof(src), 3);
		OK(PtlPut(bound, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0));
		ACKED(ieq, ev, 0);
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		p_fill(src, sizeof(src), 3);
		CHECK_MEM(dst, src, sizeof(dst));
	}
	p_step();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_setup), T(t_bad_interface_handles), T(t_bad_entry_handles), T(t_bad_descriptor_handles),
		T(t_bad_queue_handles), T(t_null_addresses), T(t_indices_out_of_range), T(t_unusable_regions),
		T(t_unknown_options), T(t_values_outside_an_enumeration),
		T(t_bad_targets), T(t_target_that_does_not_exist), T(t_recycled_handles_stay_stale),
		T(t_nothing_has_changed), { 0 }
	};

	return p_main(cases);
}

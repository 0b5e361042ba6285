/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_iovec.c - scattered memory on either side (item 15)
 */
#include "ptl.h"

static unsigned char src[70000], dst[70000], want[70000];
static ptl_handle_me_t me;
static ptl_handle_md_t mdh, h;
static ptl_event_t ev[8];

/* Cut [base, base+total) into @n pieces with gaps of @gap bytes behind each, in mixed order; some are empty. */
static size_t cut(ptl_md_iovec_t *v, int n, unsigned char *base, const size_t *len, size_t gap)
{
	size_t at = 0, total = 0;

	for (int i = n - 1; i >= 0; i--) {	/* the first piece lies last in memory */
		v[i].iov_base = base + at;
		v[i].iov_len = len[i];
		at += len[i] + gap;
		total += len[i];
	}
	return total;
}

static void gather(unsigned char *out, const ptl_md_iovec_t *v, int n)
{
	for (int i = 0; i < n; i++) {
		memcpy(out, v[i].iov_base, v[i].iov_len);
		out += v[i].iov_len;
	}
}

static const size_t few[] = { 3, 0, 8, 1, 64, 0, 24 };		/* 100 bytes */
static const size_t many[] = { 20000, 1, 0, 30000, 7, 9000 };	/* 59008 bytes */
#define N_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

static void put_case(const size_t *from, int nfrom, const size_t *to, int nto)
{
	ptl_md_iovec_t v[8], w[8];
	size_t total = 0;

	p_fill(src, sizeof(src), 3);
	memset(dst, 0xcc, sizeof(dst));
	TGT {
		ptl_md_t md;

		total = cut(w, nto, dst, to, 5);
		md = p_md(w, (size_t)nto, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_IOVEC, teq);
		OK(p_post(1, md, &me, &mdh));
		memset(w, 0, sizeof(w));	/* the vector was copied */
		cut(w, nto, dst, to, 5);
	}
	p_step();
	INI {
		total = cut(v, nfrom, src, from, 2);
		OK(PtlMDBind(ni, p_md(v, (size_t)nfrom, 2, PTL_MD_IOVEC, ieq), PTL_UNLINK, &h));
		OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0));
		ACKED(ieq, ev, 1);
		CHECK_INT(ev[2].mlength, total);
		CHECK(ev[0].md.start == v);
		CHECK_INT(ev[0].md.length, nfrom);
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		CHECK_INT(ev[1].mlength, total);
		CHECK_INT(ev[1].md.length, nto);
		CHECK(ev[1].md.start == w);
		cut(v, nfrom, src, from, 2);
		gather(want, v, nfrom);
		gather(src, w, nto);
		CHECK_MEM(src, want, total);
		for (int i = 0; i < nto; i++)	/* the gaps */
			CHECK_INT(((unsigned char *)w[i].iov_base)[w[i].iov_len], 0xcc);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_put_from_pieces_into_pieces(void)
{
	static const size_t whole[] = { 100 }, whole2[] = { 59008 }, other[] = { 50, 50 }, other2[] = { 4, 59000, 4 };

	put_case(few, N_OF(few), whole, 1);
	put_case(whole, 1, few, N_OF(few));
	put_case(few, N_OF(few), other, 2);
	put_case(other, 2, few, N_OF(few));
	put_case(many, N_OF(many), whole2, 1);
	put_case(whole2, 1, many, N_OF(many));
	put_case(many, N_OF(many), other2, 3);
}

/*
 * @n puts of @len bytes to the offsets 0, 1, ...: the STARTs come in this order, each before its END. The next START may
 * come before an END: the owner takes a message from its inbox and copies it, while the initiator finds the inbox empty
 * and matches the next by itself.
 */
static void starts_in_order(unsigned n, unsigned len, unsigned room)
{
	ptl_seq_t link[128];
	unsigned started = 0, ended = 0, k;
	ptl_event_t e;

	while (started + ended < 2 * n) {
		if (!CHECK_INT(p_get(teq, &e), PTL_OK))
			return;
		if (e.type == PTL_EVENT_PUT_START) {
			NEED(started < n);
			CHECK_INT(e.offset, started);
			link[started++] = e.link;
			continue;
		}
		CHECK_INT(e.type, PTL_EVENT_PUT_END);
		for (k = 0; k < started && link[k] != e.link; k++)
			;
		if (!CHECK(k < started))
			return;
		CHECK_INT(e.offset, k);
		CHECK_INT(e.mlength, k + len <= room ? len : room - k);
		CHECK_INT(e.ni_fail_type, PTL_NI_OK);
		ended++;
	}
}

static void t_offsets_cross_pieces(void)
{
	ptl_md_iovec_t w[8];
	unsigned char model[100];

	p_fill(src, 256, 3);
	memset(dst, 0xcc, sizeof(dst));
	TGT {
		cut(w, N_OF(few), dst, few, 5);
		OK(p_post(1, p_md(w, N_OF(few), PTL_MD_THRESH_INF,
				  PTL_MD_OP_PUT | PTL_MD_IOVEC | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, teq), &me, &mdh));
	}
	p_step();
	INI {
		for (unsigned off = 0; off <= 100; off++)
			OK(p_put_full(src + off, 13, PTL_NO_ACK_REQ, PT, 1, off, 0, PTL_EQ_NONE));
		p_sync();
	}
	p_step();
	TGT {
		memset(model, 0xcc, sizeof(model));
		for (unsigned off = 0; off <= 100; off++)
			memcpy(model + off, src + off, off + 13 <= 100 ? 13 : 100 - off);
		starts_in_order(101, 13, 100);
		gather(want, w, N_OF(few));
		CHECK_MEM(want, model, 100);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_get_between_pieces(void)
{
	static const size_t other[] = { 17, 0, 83 };
	ptl_md_iovec_t v[8], w[8];

	p_fill(src, 256, 3);
	memset(dst, 0xcc, sizeof(dst));
	TGT {
		cut(w, N_OF(few), src, few, 5);
		OK(p_post(1, p_md(w, N_OF(few), PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_IOVEC, teq), &me, &mdh));
	}
	p_step();
	INI {
		cut(v, 3, dst, other, 2);
		OK(PtlMDBind(ni, p_md(v, 3, 1, PTL_MD_IOVEC, ieq), PTL_UNLINK, &h));
		OK(PtlGet(h, peer, PT, 0, 1, 0));
		EVENTS(ieq, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK);
		CHECK_INT(ev[1].mlength, 100);
		cut(w, N_OF(few), src, few, 5);
		gather(want, w, N_OF(few));
		gather(src, v, 3);
		CHECK_MEM(src, want, 100);
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_GET_START, PTL_EVENT_GET_END);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_regions_of_a_scattered_md(void)
{
	ptl_md_iovec_t v[8];

	p_fill(src, 256, 3);
	memset(dst, 0xcc, sizeof(dst));
	TGT { OK(p_post(1, p_md(dst, 100, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh)); }
	p_step();
	cut(v, N_OF(few), src, few, 5);
	INI {
		OK(PtlMDBind(ni, p_md(v, N_OF(few), PTL_MD_THRESH_INF, PTL_MD_IOVEC, ieq), PTL_UNLINK, &h));
		OK(PtlPutRegion(h, 2, 15, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0));	/* bytes, across four pieces */
		OK(PtlPutRegion(h, 99, 1, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0));
		CHECK_INT(PtlPutRegion(h, 99, 2, PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0), PTL_MD_ILLEGAL);
		EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		OK(PtlMDUnlink(h));
		p_sync();
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		gather(want, v, N_OF(few));
		CHECK_MEM(dst, want + 2, 15);
		CHECK_INT(dst[15], want[99]);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_limits_of_vectors(void)
{
	int n = lim.max_md_iovecs;
	ptl_md_iovec_t *v = calloc((size_t)n + 1, sizeof(*v)), back[4];
	ptl_md_t old;

	NEED(v && n >= 4);
	for (int i = 0; i <= n; i++)
		v[i] = (ptl_md_iovec_t){ src + i, 1 };
	OK(PtlMDBind(ni, p_md(v, (size_t)n, 1, PTL_MD_IOVEC, PTL_EQ_NONE), PTL_UNLINK, &h));
	/* the vector can be had back, as far as there is room */
	memset(back, 0, sizeof(back));
	old.options = PTL_MD_IOVEC;
	old.start = back;
	old.length = 3;
	OK(PtlMDUpdate(h, &old, NULL, PTL_EQ_NONE));
	CHECK(old.start == v);
	CHECK_INT(old.length, n);
	CHECK(back[2].iov_base == src + 2 && back[2].iov_len == 1);
	CHECK(!back[3].iov_base);
	OK(PtlMDUnlink(h));
	CHECK_INT(PtlMDBind(ni, p_md(v, (size_t)n + 1, 1, PTL_MD_IOVEC, PTL_EQ_NONE), PTL_UNLINK, &h), PTL_MD_ILLEGAL);
	CHECK_INT(PtlMDBind(ni, p_md(v, ~0ull, 1, PTL_MD_IOVEC, PTL_EQ_NONE), PTL_UNLINK, &h), PTL_MD_ILLEGAL);
	CHECK_INT(PtlMDBind(ni, p_md(NULL, 2, 1, PTL_MD_IOVEC, PTL_EQ_NONE), PTL_UNLINK, &h), PTL_MD_ILLEGAL);
	v[0].iov_len = v[1].iov_len = ~0ull / 2 + 1;	/* the sum wraps */
	CHECK_INT(PtlMDBind(ni, p_md(v, 2, 1, PTL_MD_IOVEC, PTL_EQ_NONE), PTL_UNLINK, &h), PTL_MD_ILLEGAL);
	OK(PtlMDBind(ni, p_md(v + 2, 0, 1, PTL_MD_IOVEC, PTL_EQ_NONE), PTL_UNLINK, &h));
	OK(PtlMDUnlink(h));
	free(v);
	p_step();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_put_from_pieces_into_pieces), T(t_offsets_cross_pieces), T(t_get_between_pieces),
		T(t_regions_of_a_scattered_md), T(t_limits_of_vectors), { 0 }
	};

	return p_main(cases);
}

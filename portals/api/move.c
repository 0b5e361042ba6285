/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* move.c - calls that start an operation: put, get, exchange, and their region forms */
#include "kern.h"

static void fill_hdr(const struct nal_ni *ni, struct p3l_hdr *h, uint8_t type, ptl_pt_index_t pt, ptl_ac_index_t ac,
		     ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	h->type = type;
	h->ack = 0;
	h->src = (uint16_t)ni->l->slot;
	h->nid = ni->l->nid;
	h->pid = ni->l->pid;
	h->uid = ni->uid;
	h->jid = ni->jid;
	h->pt = pt;
	h->ac = ac;
	h->md = h->md_gen = 0;
	h->match_bits = bits;
	h->roffset = roffset;
	h->hdr_data = hdr_data;
}

/* As one value, which it is in its register, too: nid | pid << 32. */
static inline uint64_t whole(ptl_process_id_t id)
{
	uint64_t v;

	_Static_assert(sizeof(v) == sizeof(id), "two words of 32 bits");
	__builtin_memcpy(&v, &id, sizeof(v));
	return v;
}

/* What a call has come to: its probe, and its result. */
#define CALLED(name, rc)				\
	do {						\
		int rc_ = (rc);				\
							\
		P3_PROBE1(name##_return, rc_);		\
		P3_TRACED(ret(rc_));			\
		return rc_;				\
	} while (0)

/* What it is for an interface in the kernel. Functions of their own: the structure must not be made on the usual way. */
static __attribute__((noinline)) int kern_put(ptl_handle_md_t md, uint64_t loff, uint64_t len, ptl_ack_req_t ack,
					      ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
					      ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	return p3a_kern_move(&(struct p3a_move){ .type = P3L_PUT, .ack = ack == PTL_ACK_REQ, .put = md,
						 .get = PTL_HANDLE_NONE, .put_off = loff, .len = len,
						 .target = target, .pt = pt, .ac = ac, .bits = bits,
						 .roffset = roffset, .hdr_data = hdr_data });
}

static __attribute__((noinline)) int kern_get(ptl_handle_md_t md, uint64_t loff, uint64_t len, ptl_process_id_t target,
					      ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits,
					      ptl_size_t roffset)
{
	return p3a_kern_move(&(struct p3a_move){ .type = P3L_GET, .put = PTL_HANDLE_NONE, .get = md, .get_off = loff,
						 .len = len, .target = target, .pt = pt, .ac = ac, .bits = bits,
						 .roffset = roffset });
}

static inline __attribute__((always_inline)) int put(struct nal_ni *ni, bool may_be_small, ptl_handle_md_t mdh,
						     uint64_t loff, uint64_t len, ptl_ack_req_t ack,
						     ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
						     ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	struct p3l_send s;
	struct p3l_hdr h;
	uint32_t slot;

	slot = (uint32_t)ni->nal->find(ni, target);	/* of wildcards: none */
	if (may_be_small && p3_likely(slot < ni->n_peers) && ni->peer[slot].small && !roffset && !ac && ack != PTL_ACK_REQ &&
	    ni->nal->put_small(ni, slot, p3a_ref(ni, mdh), loff, len, pt, bits, hdr_data))
		return PTL_OK;
	if (p3_unlikely(target.nid == PTL_NID_ANY || target.pid == PTL_PID_ANY))
		return PTL_PROCESS_INVALID;
	fill_hdr(ni, &h, P3L_PUT, pt, ac, bits, roffset, hdr_data);
	s.md = p3a_ref(ni, mdh);
	s.loff = loff;
	s.len = len;
	s.whole = false;
	s.match_bits = bits;
	s.hdr_data = hdr_data;
	s.pt = pt;
	if (ack == PTL_ACK_REQ) {
		h.ack = 1;
		h.md = s.md.idx;
		h.md_gen = s.md.gen;
	}
	return ni->nal->put(ni, slot, &h, &s);
}

/* Whatever put of the interface that is open; and one of which the NAL knows that put_small() is nothing for it. */
int p3a_put_any(ptl_handle_md_t md, ptl_size_t loff, ptl_size_t len, ptl_ack_req_t ack, ptl_process_id_t target,
		ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	CALLED(put, put(p3a_open_ni, true, md, loff, len, ack, target, pt, ac, bits, roffset, hdr_data));
}

int p3a_put_long(ptl_handle_md_t md, ptl_size_t loff, ptl_size_t len, ptl_ack_req_t ack, ptl_process_id_t target,
		 ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	CALLED(put, put(p3a_open_ni, false, md, loff, len, ack, target, pt, ac, bits, roffset, hdr_data));
}

P3A_API int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack, ptl_process_id_t target, ptl_pt_index_t pt,
		   ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	struct nal_ni *ni;

	P3_PROBE4(put_entry, md, whole(target), pt, bits);
	P3_TRACED(call(P3L_PUT, md, target.nid, target.pid, pt, bits, hdr_data));
	P3A_CHECK_UP();
	ni = p3a_ni_of(md, P3A_MD);
	if (p3_unlikely(!ni))
		return kern_put(md, 0, P3L_WHOLE, ack, target, pt, ac, bits, roffset, hdr_data);
	return ni->put_usual(md, 0, P3L_WHOLE, ack, target, pt, ac, bits, roffset, hdr_data);
}

P3A_API int PtlPutRegion(ptl_handle_md_t md, ptl_size_t loff, ptl_size_t len, ptl_ack_req_t ack,
			 ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits,
			 ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	struct nal_ni *ni;

	if (p3_unlikely(len == P3L_WHOLE))
		len--;				/* a length, not our mark: longer than any MD */
	P3_PROBE4(put_entry, md, whole(target), pt, bits);
	P3_TRACED(call(P3L_PUT, md, target.nid, target.pid, pt, bits, hdr_data));
	P3A_CHECK_UP();
	ni = p3a_ni_of(md, P3A_MD);
	if (p3_unlikely(!ni))
		return kern_put(md, loff, len, ack, target, pt, ac, bits, roffset, hdr_data);
	return ni->put_usual(md, loff, len, ack, target, pt, ac, bits, roffset, hdr_data);
}

static int get(ptl_handle_md_t mdh, uint64_t loff, uint64_t len, ptl_process_id_t target, ptl_pt_index_t pt,
	       ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset)
{
	struct nal_ni *ni;
	struct p3l_reply r;
	struct p3l_hdr h;
	int slot;

	P3A_CHECK_UP();
	ni = p3a_ni_of(mdh, P3A_MD);
	if (p3_unlikely(!ni))
		return kern_get(mdh, loff, len, target, pt, ac, bits, roffset);
	if (p3_unlikely(target.nid == PTL_NID_ANY || target.pid == PTL_PID_ANY))
		return PTL_PROCESS_INVALID;
	fill_hdr(ni, &h, P3L_GET, pt, ac, bits, roffset, 0);
	r.md = p3a_ref(ni, mdh);
	r.off = loff;
	r.mlength = len;
	r.match_bits = bits;
	r.pt = pt;
	h.md = r.md.idx;
	h.md_gen = r.md.gen;
	slot = ni->nal->find(ni, target);
	return ni->nal->get(ni, (uint32_t)slot, &h, &r);
}

P3A_API int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
		   ptl_match_bits_t bits, ptl_size_t roffset)
{
	P3_PROBE4(get_entry, md, whole(target), pt, bits);
	P3_TRACED(call(P3L_GET, md, target.nid, target.pid, pt, bits, 0));
	CALLED(get, get(md, 0, P3L_WHOLE, target, pt, ac, bits, roffset));
}

P3A_API int PtlGetRegion(ptl_handle_md_t md, ptl_size_t loff, ptl_size_t len, ptl_process_id_t target,
			 ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset)
{
	if (p3_unlikely(len == P3L_WHOLE))
		len--;
	P3_PROBE4(get_entry, md, whole(target), pt, bits);
	P3_TRACED(call(P3L_GET, md, target.nid, target.pid, pt, bits, 0));
	CALLED(get, get(md, loff, len, target, pt, ac, bits, roffset));
}

P3A_API int PtlMDMDCopy(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
			ptl_match_bits_t bits, ptl_size_t roffset)
{
	struct nal_ni *ni;

	P3A_CHECK_UP();
	ni = p3a_any_of(md, P3A_MD);
	if (!ni)
		return PTL_MD_INVALID;
	if (target.nid != ni->l->nid)
		return PTL_PROCESS_INVALID;
	P3_PROBE4(get_entry, md, whole(target), pt, bits);
	P3_TRACED(call(P3L_GET, md, target.nid, target.pid, pt, bits, 0));
	CALLED(get, get(md, 0, P3L_WHOLE, target, pt, ac, bits, roffset));
}

/* May a reply of @len bytes go to @off of this MD? PtlGetPut (@len P3L_WHOLE) has no opinion: what is too much is cut. */
static int check_get_md(struct nal_ni *ni, struct p3l_ref r, uint64_t off, uint64_t len)
{
	const struct p3l_md *md;
	uint32_t pt;
	int rc = p3l_md_lock(&ni->env, ni->l, r, &pt);

	if (rc != PTL_OK)
		return rc;
	md = p3l_md(ni->l, r.idx);
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT))
		rc = PTL_MD_INVALID;
	else if (len != P3L_WHOLE && (off > md->length || len > md->length - off))
		rc = PTL_MD_ILLEGAL;
	p3l_unlock(ni->l, pt);
	return rc;
}

/* @type: P3L_GETPUT, or an atomic operation. */
static int getput(uint8_t type, ptl_handle_md_t gmd, uint64_t goff, ptl_handle_md_t pmd, uint64_t poff, uint64_t len,
		  ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits,
		  ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	struct nal_ni *ni;
	struct p3l_reply r;
	struct p3l_send s;
	struct p3l_hdr h;
	int rc;

	P3A_CHECK_UP();
	ni = p3a_ni_of(gmd, P3A_MD);
	if (!ni && p3a_kernel_of(gmd, P3A_MD))
		return p3a_kern_move(&(struct p3a_move){ .type = type, .put = pmd, .get = gmd, .put_off = poff, .len = len,
							 .get_off = goff, .target = target, .pt = pt, .ac = ac,
							 .bits = bits, .roffset = roffset, .hdr_data = hdr_data });
	if (!ni || pmd >> 29 != P3A_MD)
		return PTL_MD_INVALID;
	if (target.nid == PTL_NID_ANY || target.pid == PTL_PID_ANY)
		return PTL_PROCESS_INVALID;
	r.md = p3a_ref(ni, gmd);
	s.md = p3a_ref(ni, pmd);
	rc = check_get_md(ni, r.md, goff, len);
	if (rc != PTL_OK)
		return rc;
	if (p3a_ni_of(pmd, P3A_MD) != ni)
		return p3a_ni_of(pmd, P3A_MD) ? PTL_MD_ILLEGAL : PTL_MD_INVALID;
	s.whole = len == P3L_WHOLE;
again:
	if (s.whole) {
		if (s.md.idx >= P3L_MAX_MD)
			return PTL_MD_INVALID;
		len = p3_load(&p3l_md(ni->l, s.md.idx)->length);	/* of a stale one: refused by the NAL */
		if (p3l_md(ni->l, s.md.idx)->gen % (P3L_GEN_MASK + 1) != s.md.gen)
			return PTL_MD_INVALID;
	}
	if (len > (uint64_t)ni->limits.max_getput_md)
		return PTL_MD_ILLEGAL;
	fill_hdr(ni, &h, type, pt, ac, bits, roffset, hdr_data);
	h.md = r.md.idx;
	h.md_gen = r.md.gen;
	s.loff = poff;
	s.len = len;
	s.match_bits = r.match_bits = bits;
	s.hdr_data = hdr_data;
	s.pt = r.pt = pt;
	r.off = goff;
	rc = ni->nal->getput(ni, (uint32_t)ni->nal->find(ni, target), &h, &s, &r);
	if (p3_unlikely(rc == P3L_AGAIN))
		goto again;
	return rc;
}

P3A_API int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target, ptl_pt_index_t pt,
		      ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	P3_PROBE4(getput_entry, get_md, whole(target), pt, bits);
	P3_TRACED(call(P3L_GETPUT, get_md, target.nid, target.pid, pt, bits, hdr_data));
	CALLED(getput, getput(P3L_GETPUT, get_md, 0, put_md, 0, P3L_WHOLE, target, pt, ac, bits, roffset, hdr_data));
}

P3A_API int PtlGetPutRegion(ptl_handle_md_t get_md, ptl_size_t goff, ptl_handle_md_t put_md, ptl_size_t poff,
			    ptl_size_t len, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
			    ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	if (len == P3L_WHOLE)
		len--;
	P3_PROBE4(getput_entry, get_md, whole(target), pt, bits);
	P3_TRACED(call(P3L_GETPUT, get_md, target.nid, target.pid, pt, bits, hdr_data));
	CALLED(getput, getput(P3L_GETPUT, get_md, goff, put_md, poff, len, target, pt, ac, bits, roffset, hdr_data));
}

_Static_assert(P3L_FETCH + PTL_ATOMIC_MSWAP_NP == P3L_MSWAP && P3L_FETCH + PTL_ATOMIC_ADD_NP == P3L_ADD,
	       "one order of the operations, in the calls, in the core and on the wire");

static int atomic(ptl_handle_md_t get_md, ptl_size_t goff, ptl_handle_md_t put_md, ptl_size_t poff, ptl_atomic_np_t op,
		  ptl_size_t len, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits,
		  ptl_size_t roffset, ptl_hdr_data_t other)
{
	P3A_CHECK_UP();
	if ((uint32_t)op > PTL_ATOMIC_MSWAP_NP || (len != 2 && len != 4 && len != 8))
		return PTL_MD_ILLEGAL;
	return getput((uint8_t)(P3L_FETCH + (uint32_t)op), get_md, goff, put_md, poff, len, target, pt, ac, bits, roffset,
		      other);
}

P3A_API int PtlAtomic_np(ptl_handle_md_t get_md, ptl_size_t goff, ptl_handle_md_t put_md, ptl_size_t poff,
			 ptl_atomic_np_t op, ptl_size_t len, ptl_process_id_t target, ptl_pt_index_t pt,
			 ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t other)
{
	P3_PROBE4(getput_entry, get_md, whole(target), pt, bits);
	P3_TRACED(call(P3L_GETPUT, get_md, target.nid, target.pid, pt, bits, other));
	CALLED(getput, atomic(get_md, goff, put_md, poff, op, len, target, pt, ac, bits, roffset, other));
}

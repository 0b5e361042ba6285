/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* move.c - calls that start an operation: put, get and their region forms */
#include "p3a.h"

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

static int put(ptl_handle_md_t mdh, uint64_t loff, uint64_t len, ptl_ack_req_t ack, ptl_process_id_t target,
	       ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset,
	       ptl_hdr_data_t hdr_data)
{
	struct nal_ni *ni;
	struct p3l_send s;
	struct p3l_hdr h;
	int slot;

	P3A_CHECK_UP();
	ni = p3a_ni_of(mdh, P3A_MD);
	if (p3_unlikely(!ni))
		return PTL_MD_INVALID;
	if (p3_unlikely(target.nid == PTL_NID_ANY || target.pid == PTL_PID_ANY))
		return PTL_PROCESS_INVALID;
	fill_hdr(ni, &h, P3L_PUT, pt, ac, bits, roffset, hdr_data);
	s.md = p3a_ref(mdh);
	s.loff = loff;
	s.len = len;
	s.match_bits = bits;
	s.hdr_data = hdr_data;
	s.pt = pt;
	if (ack == PTL_ACK_REQ) {
		h.ack = 1;
		h.md = s.md.idx;
		h.md_gen = s.md.gen;
	}
	slot = ni->nal->find(ni, target);
	return ni->nal->put(ni, (uint32_t)slot, &h, &s);
}

P3A_API int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack, ptl_process_id_t target, ptl_pt_index_t pt,
		   ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	return put(md, 0, P3L_WHOLE, ack, target, pt, ac, bits, roffset, hdr_data);
}

P3A_API int PtlPutRegion(ptl_handle_md_t md, ptl_size_t loff, ptl_size_t len, ptl_ack_req_t ack,
			 ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits,
			 ptl_size_t roffset, ptl_hdr_data_t hdr_data)
{
	if (p3_unlikely(len == P3L_WHOLE))
		len--;				/* a length, not our mark: longer than any MD */
	return put(md, loff, len, ack, target, pt, ac, bits, roffset, hdr_data);
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
		return PTL_MD_INVALID;
	if (p3_unlikely(target.nid == PTL_NID_ANY || target.pid == PTL_PID_ANY))
		return PTL_PROCESS_INVALID;
	fill_hdr(ni, &h, P3L_GET, pt, ac, bits, roffset, 0);
	r.md = p3a_ref(mdh);
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
	return get(md, 0, P3L_WHOLE, target, pt, ac, bits, roffset);
}

P3A_API int PtlGetRegion(ptl_handle_md_t md, ptl_size_t loff, ptl_size_t len, ptl_process_id_t target,
			 ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset)
{
	if (p3_unlikely(len == P3L_WHOLE))
		len--;
	return get(md, loff, len, target, pt, ac, bits, roffset);
}

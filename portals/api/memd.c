/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* memd.c - a match entry together with its descriptor, in one step: the XT's forms without a test queue */
#include "kern.h"

P3A_API int PtlMEMDAttach(ptl_handle_ni_t nih, ptl_pt_index_t pt, ptl_process_id_t id, ptl_match_bits_t bits,
			  ptl_match_bits_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_md_t md, ptl_unlink_t op,
			  ptl_handle_me_t *me_out, ptl_handle_md_t *md_out)
{
	struct p3l_ref me, mdr;
	struct p3l_md_args a;
	struct nal_ni *ni;
	int rc;

	if (!me_out)
		return PTL_SEGV;
	P3A_CHECK_UP();
	ni = p3a_ni_of(nih, P3A_NI);
	if (!ni)
		return p3a_kern_memd_attach(nih, pt, &(struct p3a_entry){ id, bits, ignore, unlink, pos }, &md, op,
					    me_out, md_out);
	rc = p3a_md_args(ni, &md, &a);
	if (rc == PTL_OK)
		rc = p3l_memd_attach(&ni->env, ni->l, pt, id, bits, ignore, unlink, pos, &a, op, &me, &mdr);
	if (rc != PTL_OK)
		return rc;
	*me_out = p3a_handle(ni, P3A_ME, me.idx, me.gen);
	if (md_out)
		*md_out = p3a_handle(ni, P3A_MD, mdr.idx, mdr.gen);
	return PTL_OK;
}

P3A_API int PtlMEMDInsert(ptl_handle_me_t base, ptl_process_id_t id, ptl_match_bits_t bits, ptl_match_bits_t ignore,
			  ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_md_t md, ptl_unlink_t op, ptl_handle_me_t *me_out,
			  ptl_handle_md_t *md_out)
{
	struct nal_ni *ni;

	if (!me_out)
		return PTL_SEGV;
	P3A_CHECK_UP();
	ni = p3a_any_of(base, P3A_ME);
	if (!ni)
		return PTL_ME_INVALID;
	return PtlMEMDPost(p3a_ni_handle(ni), base, id, bits, ignore, unlink, pos, md, op, me_out, md_out,
			   PTL_EQ_NONE);
}

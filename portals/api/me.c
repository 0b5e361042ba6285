/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* me.c - calls on match entries: check the arguments, then the core (portals/lib/me.c) */
#include "kern.h"

P3A_API int PtlMEAttach(ptl_handle_ni_t nih, ptl_pt_index_t pt, ptl_process_id_t id, ptl_match_bits_t bits,
			ptl_match_bits_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_handle_me_t *out)
{
	struct nal_ni *ni;
	struct p3l_ref r;
	int rc = p3a_enter(out, nih, &ni);

	if (p3_unlikely(rc == PTL_NI_INVALID))
		return p3a_kern_me_attach(nih, &pt, false, &(struct p3a_entry){ id, bits, ignore, unlink, pos }, out);
	if (rc == PTL_OK)
		rc = p3l_me_attach(&ni->env, ni->l, pt, id, bits, ignore, unlink, pos, &r);
	if (rc == PTL_OK)
		*out = p3a_handle(ni, P3A_ME, r.idx, r.gen);
	return rc;
}

P3A_API int PtlMEAttachAny(ptl_handle_ni_t nih, ptl_pt_index_t *pt, ptl_process_id_t id, ptl_match_bits_t bits,
			   ptl_match_bits_t ignore, ptl_unlink_t unlink, ptl_handle_me_t *out)
{
	struct nal_ni *ni;
	struct p3l_ref r;
	uint32_t i;
	int rc = p3a_enter(pt ? out : NULL, nih, &ni);

	if (p3_unlikely(rc == PTL_NI_INVALID)) {
		rc = p3a_kern_me_attach(nih, &i, true,
					&(struct p3a_entry){ id, bits, ignore, unlink, PTL_INS_AFTER }, out);
		if (rc == PTL_OK)
			*pt = i;
		return rc;
	}
	if (rc != PTL_OK)
		return rc;
	for (i = ni->l->max_pt + 1; i-- > 0;) {	/* from the top; 112-127 belong to our own layers */
		if (i >= 112 || p3_load_acq(&ni->l->pt[i].head))
			continue;
		rc = p3l_me_attach_first(&ni->env, ni->l, i, id, bits, ignore, unlink, &r);
		if (rc == P3L_TAKEN)		/* another thread's by now */
			continue;
		if (rc != PTL_OK)
			return rc;
		*out = p3a_handle(ni, P3A_ME, r.idx, r.gen);
		*pt = i;
		return PTL_OK;
	}
	return PTL_PT_FULL;
}

P3A_API int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t id, ptl_match_bits_t bits, ptl_match_bits_t ignore,
			ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_handle_me_t *out)
{
	struct nal_ni *ni;
	struct p3l_ref r;
	int rc;

	if (!out)
		return PTL_SEGV;
	P3A_CHECK_UP();
	ni = p3a_ni_of(base, P3A_ME);
	if (!ni)
		return p3a_kern_me_insert(base, &(struct p3a_entry){ id, bits, ignore, unlink, pos }, out);
	rc = p3l_me_insert(&ni->env, ni->l, p3a_ref(ni, base), id, bits, ignore, unlink, pos, &r);
	if (rc == PTL_OK)
		*out = p3a_handle(ni, P3A_ME, r.idx, r.gen);
	return rc;
}

P3A_API int PtlMEUnlink(ptl_handle_me_t h)
{
	struct nal_ni *ni;
	int rc;

	P3A_CHECK_UP();
	ni = p3a_ni_of(h, P3A_ME);
	if (p3_unlikely(!ni))
		return p3a_kern_me_unlink(h);
	rc = p3l_me_unlink(&ni->env, ni->l, p3a_ref(ni, h));
	if (p3_unlikely(rc == PTL_ME_IN_USE) && p3a_settled(ni))
		rc = p3l_me_unlink(&ni->env, ni->l, p3a_ref(ni, h));
	if (p3_unlikely(rc == PTL_ME_IN_USE))
		p3a_in_use(ni);
	return rc;
}

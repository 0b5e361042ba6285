/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* take.c - PtlMEMDTake_np: a message that is there needs no entry */
#include "kern.h"

/*
 * Look at entry @base, and keep what is found with queue @e until its list changes. The entry must be the first of its
 * list, where the owner matches alone and everybody may put: then a receive that were posted in front of it would have
 * the next message that it matches. PTL_OK, or a code.
 */
static __attribute__((noinline)) int learn(struct nal_ni *ni, struct nal_eq *e, ptl_handle_me_t base)
{
	struct p3l_ref at = p3a_ref(ni, base);
	const struct p3l_me *me;
	uint32_t pt;

	e->taking_for = PTL_INVALID_HANDLE;
	if (at.idx >= P3L_MAX_ME)
		return PTL_ME_INVALID;
	me = p3l_me(ni->l, at.idx);
	pt = p3_load(&me->pt);
	if (!(me->flags & P3L_ME_USED) || (me->gen & P3L_GEN_MASK) != at.gen || pt >= P3L_MAX_PT)
		return PTL_ME_INVALID;
	if (p3_load(&ni->l->pt[pt].head) != at.idx + 1 || !p3l_open_to_all(ni->l))
		return PTL_MD_NO_UPDATE;
	e->taking = (struct p3l_known){ .pt = pt, .changes = p3_load(&ni->l->pt[pt].changes), .remote = true,
					.given = true, .md_idx = UINT16_MAX };
	e->taking_from = (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY };
	e->taking_slot = NAL_ANY;
	e->taking_for = base;
	return PTL_OK;
}

P3A_API int PtlMEMDTake_np(ptl_handle_me_t base, ptl_handle_eq_t eq, ptl_take_np_t *t, unsigned looks)
{
	uint32_t slot = NAL_ANY;
	struct p3l_sink sink;
	struct p3l_known *k;
	struct nal_ni *ni;
	struct nal_eq *e;
	int rc;

	if (p3_unlikely(!t))
		return PTL_SEGV;
	P3A_CHECK_UP();
	ni = p3a_ni_of(base, P3A_ME);
	if (p3_unlikely(!ni))
		return p3a_kernel_of(base, P3A_ME) ? PTL_MD_NO_UPDATE : PTL_ME_INVALID;
	if (p3_unlikely(!p3a_eq_pack(ni, eq, &sink.packed)) || p3_unlikely(!sink.packed))
		return PTL_EQ_INVALID;
	e = &ni->eq[eq & 0xffff];
	k = &e->taking;
	if (e->taking_for != base || k->changes != p3_load(&ni->l->pt[k->pt].changes)) {
		rc = learn(ni, e, base);
		if (rc != PTL_OK)
			return rc;
	}
	if (p3_unlikely(!p3l_pt_alone(&ni->env, k->pt) || !ni->nal->take))
		return PTL_MD_NO_UPDATE;
	if (p3_likely(t->match_id.pid == e->taking_from.pid && t->match_id.nid == e->taking_from.nid)) {
		slot = e->taking_slot;
	} else if (t->match_id.nid != PTL_NID_ANY && t->match_id.pid != PTL_PID_ANY) {
		slot = (uint32_t)ni->nal->find(ni, t->match_id);
		if (p3_unlikely(slot >= ni->n_peers))
			return PTL_MD_NO_UPDATE;
		e->taking_from = t->match_id;
		e->taking_slot = slot;
	} else if (t->match_id.nid != PTL_NID_ANY || t->match_id.pid != PTL_PID_ANY) {
		return PTL_MD_NO_UPDATE;	/* one of them is given: an entry can do that */
	}
	k->match_bits = t->match_bits;
	k->mask = ~t->ignore_bits;
	k->hdr_data = t->hdr_data;
	k->hdr_mask = ~t->ignore_hdr;
	k->start = (uint64_t)(uintptr_t)t->start;
	k->length = t->length;
	sink.eq = (int)(eq & 0xffff);
	sink.got = 0;
	sink.known = k;
	rc = ni->nal->take(ni, slot, &sink, looks);
	if (rc <= 0)
		return rc < 0 ? PTL_MD_NO_UPDATE : PTL_EQ_EMPTY;
	t->initiator.nid = ni->l->nid;
	t->initiator.pid = ni->pids[sink.ev.initiator];
	t->bits = sink.ev.match_bits;
	p3_barrier();			/* two words, written as such just now: read as one they would be waited for */
	t->hdr = sink.ev.hdr_data;
	t->mlength = sink.ev.rlength;
	P3_TRACED(handover(ni->l, eq & 0xffff, PTL_EVENT_PUT_END, t->hdr));
	return PTL_OK;
}

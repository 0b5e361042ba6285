/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals/xt.h - the rules of the XT, for programs that include <portals/portals3.h>
 *
 * There is one library, which follows the specification. What a program for the XT expects otherwise travels with what it
 * passes: interface numbers of its own (a second PtlNIInit answers PTL_IFACE_DUP), and PTL_MD_XT_NP in each descriptor
 * (UNLINK events only when asked for; a get's request costs a unit and logs SEND events; rlength of an ACK). The calls that
 * pass these, or a process id, are put behind inline functions here: process ids have 16 bits on the XT, so 0xffff is
 * PTL_PID_ANY. Types are the same for all, so programs and libraries of both kinds live in one process.
 */
#ifndef PORTALS_XT_H
#define PORTALS_XT_H

#include <p3api/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * PTL_MD_EVENT_AUTO_UNLINK_ENABLE, PTL_MD_EVENT_MANUAL_UNLINK_ENABLE, PTL_MD_FLAG_AUTO_UNLINK - options of the XT
 *
 * For member options of ptl_md_t, in programs for the XT only. The last four are of kernel programs: they are 0,
 * since there is nothing here that they could change.
 *
 * Source: The XT's.
 * See: PTL_MD_OP_PUT, portals-xt(7)
 */
#define PTL_MD_EVENT_AUTO_UNLINK_ENABLE		PTL_MD_UNLINK_EVENT_NP		/* UNLINK when it unlinks itself */
#define PTL_MD_EVENT_MANUAL_UNLINK_ENABLE	PTL_MD_UNLINK_EVENT_MANUAL_NP	/* UNLINK on explicit unlinking, too */
#define PTL_MD_FLAG_AUTO_UNLINK			PTL_MD_UNLINK_EVENT_NP		/* older spelling of the first */
#define PTL_MD_LUSTRE_COMPLETION_SEMANTICS	0	/* of kernel programs: nothing */
#define PTL_MD_PHYS				0	/* of kernel programs: nothing */
#define PTL_MD_LOCAL_ALIGN8			0	/* of kernel programs: nothing */
#define PTL_MD_KIOV				0	/* of kernel programs: nothing */

/**
 * PTL_PT_INDEX_UNRELIABLE - a portal that kernel programs of the XT name
 *
 * What it promised is not public. Here it is a portal as the others are.
 *
 * Source: The XT's.
 */
#define PTL_PT_INDEX_UNRELIABLE	40	/* above those that programs use */

/**
 * PTL_MAX_TRANS_SZ - longest transfer on the XT
 *
 * Source: The XT's.
 */
#define PTL_MAX_TRANS_SZ	0x80000000UL	/* bytes that programs may expect; here there is no limit */

static __inline__ ptl_process_id_t p3_xt_id(ptl_process_id_t id)
{
	if (id.pid == 0xffff)
		id.pid = PTL_PID_ANY;
	return id;
}

static __inline__ ptl_md_t p3_xt_md(ptl_md_t md)
{
	md.options |= PTL_MD_XT_NP;
	return md;
}

static __inline__ int p3_xt_PtlNIInit(ptl_interface_t interface_, ptl_pid_t pid, ptl_ni_limits_t *desired,
				      ptl_ni_limits_t *actual, ptl_handle_ni_t *ni)
{
	return PtlNIInit(interface_, pid == 0xffff ? PTL_PID_ANY : pid, desired, actual, ni);
}

static __inline__ int p3_xt_PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
					ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink_,
					ptl_ins_pos_t pos, ptl_handle_me_t *me)
{
	return PtlMEAttach(ni, pt_index, p3_xt_id(match_id), match_bits, ignore_bits, unlink_, pos, me);
}

static __inline__ int p3_xt_PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
					   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
					   ptl_unlink_t unlink_, ptl_handle_me_t *me)
{
	return PtlMEAttachAny(ni, pt_index, p3_xt_id(match_id), match_bits, ignore_bits, unlink_, me);
}

static __inline__ int p3_xt_PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
					ptl_match_bits_t ignore_bits, ptl_unlink_t unlink_, ptl_ins_pos_t pos,
					ptl_handle_me_t *me)
{
	return PtlMEInsert(base, p3_xt_id(match_id), match_bits, ignore_bits, unlink_, pos, me);
}

static __inline__ int p3_xt_PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink_op,
					ptl_handle_md_t *handle)
{
	return PtlMDAttach(me, p3_xt_md(md), unlink_op, handle);
}

static __inline__ int p3_xt_PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *handle)
{
	return PtlMDBind(ni, p3_xt_md(md), unlink_op, handle);
}

static __inline__ int p3_xt_PtlMDUpdate(ptl_handle_md_t md, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t eq)
{
	ptl_md_t n;

	if (!new_md)
		return PtlMDUpdate(md, old_md, new_md, eq);
	n = p3_xt_md(*new_md);
	return PtlMDUpdate(md, old_md, &n, eq);
}

static __inline__ int p3_xt_PtlMEMDPost(ptl_handle_ni_t ni, ptl_handle_me_t base, ptl_process_id_t match_id,
					ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink_,
					ptl_ins_pos_t pos, ptl_md_t md, ptl_unlink_t unlink_op,
					ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle, ptl_handle_eq_t eq)
{
	return PtlMEMDPost(ni, base, p3_xt_id(match_id), match_bits, ignore_bits, unlink_, pos, p3_xt_md(md), unlink_op,
			   me_handle, md_handle, eq);
}

static __inline__ int p3_xt_PtlMEMDAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
					  ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
					  ptl_unlink_t unlink_, ptl_ins_pos_t pos, ptl_md_t md, ptl_unlink_t unlink_op,
					  ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle)
{
	return PtlMEMDAttach(ni, pt_index, p3_xt_id(match_id), match_bits, ignore_bits, unlink_, pos, p3_xt_md(md),
			     unlink_op, me_handle, md_handle);
}

static __inline__ int p3_xt_PtlMEMDInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
					  ptl_match_bits_t ignore_bits, ptl_unlink_t unlink_, ptl_ins_pos_t pos,
					  ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_me_t *me_handle,
					  ptl_handle_md_t *md_handle)
{
	return PtlMEMDInsert(base, p3_xt_id(match_id), match_bits, ignore_bits, unlink_, pos, p3_xt_md(md), unlink_op,
			     me_handle, md_handle);
}

static __inline__ int p3_xt_acentry6(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id,
				     ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt_index)
{
	return PtlACEntry(ni, ac_index, p3_xt_id(match_id), uid, jid, pt_index);
}

static __inline__ int p3_xt_acentry5(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id,
				     ptl_uid_t uid, ptl_pt_index_t pt_index)
{
	return PtlACEntry(ni, ac_index, p3_xt_id(match_id), uid, PTL_JID_ANY, pt_index);
}

#define PtlNIInit	p3_xt_PtlNIInit
#define PtlMEAttach	p3_xt_PtlMEAttach
#define PtlMEAttachAny	p3_xt_PtlMEAttachAny
#define PtlMEInsert	p3_xt_PtlMEInsert
#define PtlMDAttach	p3_xt_PtlMDAttach
#define PtlMDBind	p3_xt_PtlMDBind
#define PtlMDUpdate	p3_xt_PtlMDUpdate
#define PtlMEMDPost	p3_xt_PtlMEMDPost
#define PtlMEMDAttach	p3_xt_PtlMEMDAttach
#define PtlMEMDInsert	p3_xt_PtlMEMDInsert
#ifdef __cplusplus
extern "C++" {
static __inline__ int p3_xt_PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id,
				       ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt_index)
{
	return p3_xt_acentry6(ni, ac_index, match_id, uid, jid, pt_index);
}

static __inline__ int p3_xt_PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id,
				       ptl_uid_t uid, ptl_pt_index_t pt_index)
{
	return p3_xt_acentry5(ni, ac_index, match_id, uid, pt_index);
}
}
#define PtlACEntry	p3_xt_PtlACEntry
#else
#undef P3_ACENTRY5
#undef P3_ACENTRY6
#define P3_ACENTRY5	p3_xt_acentry5
#define P3_ACENTRY6	p3_xt_acentry6
#endif

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * rules.h - the calls whose behaviour depends on the header that a program includes, wrapped for t_rules.c
 *
 * rules_ref.c and rules_xt.c give one `struct rules` each, compiled with the reference implementation's headers and with
 * those of the XT; both are in one program.
 */
#ifndef T_RULES_H
#define T_RULES_H

struct rules {
	const char *name;
	int xt;
	unsigned unlink_event, manual_event;	/* options that ask for UNLINK events; 0: no such option */
	ptl_pid_t any_pid;			/* what its programs write for "any" */
	int (*open)(ptl_handle_ni_t *ni);
	int (*attach)(ptl_handle_ni_t ni, ptl_pt_index_t pt, ptl_process_id_t id, ptl_match_bits_t bits, ptl_handle_me_t *me);
	int (*md_attach)(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t op, ptl_handle_md_t *h);
	int (*bind)(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t op, ptl_handle_md_t *h);
	int (*update)(ptl_handle_md_t h, ptl_md_t *old, ptl_md_t *new, ptl_handle_eq_t eq);
	int (*post)(ptl_handle_ni_t ni, ptl_handle_me_t base, ptl_match_bits_t bits, ptl_md_t md, ptl_handle_me_t *me,
		    ptl_handle_md_t *h, int how);	/* 0 PtlMEMDPost, 1 PtlMEMDInsert, 2 PtlMEMDAttach to portal 4 */
	int (*ac5)(ptl_handle_ni_t ni, ptl_ac_index_t ac, ptl_process_id_t id, ptl_uid_t uid, ptl_pt_index_t pt);
	int (*ac6)(ptl_handle_ni_t ni, ptl_ac_index_t ac, ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt);
	int (*put_unacked)(ptl_handle_md_t md, ptl_process_id_t to, ptl_pt_index_t pt, ptl_match_bits_t bits);
};
extern const struct rules rules_ref, rules_xt;

#ifdef T_RULES
static int r_open(ptl_handle_ni_t *h)
{
	return PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, h);
}

static int r_attach(ptl_handle_ni_t h, ptl_pt_index_t pt, ptl_process_id_t id, ptl_match_bits_t bits, ptl_handle_me_t *me)
{
	return PtlMEAttach(h, pt, id, bits, 0, PTL_UNLINK, PTL_INS_AFTER, me);
}

static int r_md_attach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t op, ptl_handle_md_t *h)
{
	return PtlMDAttach(me, md, op, h);
}

static int r_bind(ptl_handle_ni_t n, ptl_md_t md, ptl_unlink_t op, ptl_handle_md_t *h)
{
	return PtlMDBind(n, md, op, h);
}

static int r_update(ptl_handle_md_t h, ptl_md_t *old, ptl_md_t *new, ptl_handle_eq_t eq)
{
	return PtlMDUpdate(h, old, new, eq);
}

static int r_post(ptl_handle_ni_t n, ptl_handle_me_t base, ptl_match_bits_t bits, ptl_md_t md, ptl_handle_me_t *me,
		  ptl_handle_md_t *h, int how)
{
	ptl_process_id_t any = { PTL_NID_ANY, T_ANY_PID };

	if (how == 0)
		return PtlMEMDPost(n, base, any, bits, 0, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, me, h, PTL_EQ_NONE);
	if (how == 1)
		return PtlMEMDInsert(base, any, bits, 0, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, me, h);
	return PtlMEMDAttach(n, 4, any, bits, 0, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, me, h);
}

static int r_ac5(ptl_handle_ni_t n, ptl_ac_index_t ac, ptl_process_id_t id, ptl_uid_t uid, ptl_pt_index_t pt)
{
	return PtlACEntry(n, ac, id, uid, pt);
}

static int r_ac6(ptl_handle_ni_t n, ptl_ac_index_t ac, ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt)
{
	/* written out, too: the comma within braces is no further argument */
	int rc = PtlACEntry(n, ac, (ptl_process_id_t){ id.nid, id.pid }, uid, jid, pt);

	return rc ? rc : PtlACEntry(n, ac, id, uid, jid, pt);
}

static int r_put_unacked(ptl_handle_md_t md, ptl_process_id_t to, ptl_pt_index_t pt, ptl_match_bits_t bits)
{
	return PtlPut(md, T_NO_ACK, to, pt, 0, bits, 0, 0);
}

const struct rules T_RULES = {
	.name = T_NAME, .xt = T_XT, .unlink_event = T_UNLINK_EVENT, .manual_event = T_MANUAL_EVENT, .any_pid = T_ANY_PID,
	.open = r_open, .attach = r_attach, .md_attach = r_md_attach, .bind = r_bind, .update = r_update, .post = r_post,
	.ac5 = r_ac5, .ac6 = r_ac6, .put_unacked = r_put_unacked,
};
#endif
#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * kern.h - the calls of an interface whose state is in the kernel (nal_ops.call)
 *
 * Such an interface does not stand in p3a_table: a call that does not find its handle there ends up here, and the usual
 * way has nothing to ask. What is no handle of it either gets the code that it would have got.
 */
#ifndef P3A_KERN_H
#define P3A_KERN_H

#include "p3a.h"

/* The interface of a handle of @kind, of either sort. */
static inline struct nal_ni *p3a_any_of(ptl_handle_any_t h, enum p3a_kind kind)
{
	struct nal_ni *ni = p3a_ni_of(h, kind);

	return p3_likely(ni != NULL) ? ni : p3a_kernel_of(h, kind);
}

/* As p3a_enter(), for calls that only read. */
static inline int p3a_enter_any(const void *out, ptl_handle_ni_t h, struct nal_ni **ni)
{
	int rc = p3a_enter(out, h, ni);

	if (rc == PTL_NI_INVALID) {
		*ni = p3a_kernel_of(h, P3A_NI);
		rc = *ni ? PTL_OK : PTL_NI_INVALID;
	}
	return rc;
}

/* Where an entry goes, and what it matches. */
struct p3a_entry {
	ptl_process_id_t id;
	ptl_match_bits_t bits, ignore;
	ptl_unlink_t unlink;
	ptl_ins_pos_t pos;
};

/* kern_post.c; arguments as of the calls, pointers checked */
int p3a_kern_me_attach(ptl_handle_ni_t ni, ptl_pt_index_t *pt, bool any, const struct p3a_entry *e,
		       ptl_handle_me_t *out);		/* any: *pt is written only */
int p3a_kern_me_insert(ptl_handle_me_t base, const struct p3a_entry *e, ptl_handle_me_t *out);
int p3a_kern_me_unlink(ptl_handle_me_t me);
int p3a_kern_md_attach(ptl_handle_me_t me, const ptl_md_t *md, ptl_unlink_t op, ptl_handle_md_t *out);
int p3a_kern_md_bind(ptl_handle_ni_t ni, const ptl_md_t *md, ptl_unlink_t op, ptl_handle_md_t *out);
int p3a_kern_md_unlink(ptl_handle_md_t md);
int p3a_kern_md_update(ptl_handle_md_t md, ptl_md_t *old, ptl_md_t *new, ptl_handle_eq_t eq);
int p3a_kern_memd_attach(ptl_handle_ni_t ni, ptl_pt_index_t pt, const struct p3a_entry *e, const ptl_md_t *md,
			 ptl_unlink_t op, ptl_handle_me_t *me_out, ptl_handle_md_t *md_out);
int p3a_kern_memd_post(ptl_handle_ni_t ni, ptl_handle_me_t base, const struct p3a_entry *e, const ptl_md_t *md,
		       ptl_unlink_t op, ptl_handle_me_t *me_out, ptl_handle_md_t *md_out, ptl_handle_eq_t eq);
int p3a_kern_ac(ptl_handle_ni_t ni, ptl_ac_index_t ac, ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid,
		ptl_pt_index_t pt);

/* kern_move.c. @put or @get is PTL_HANDLE_NONE where there is none. */
struct p3a_move {
	uint8_t type;
	bool ack;
	ptl_handle_md_t put, get;
	uint64_t put_off, len, get_off;
	ptl_process_id_t target;
	ptl_pt_index_t pt;
	ptl_ac_index_t ac;
	ptl_match_bits_t bits;
	ptl_size_t roffset;
	ptl_hdr_data_t hdr_data;
};
int p3a_kern_move(const struct p3a_move *m);

/* kern_eq.c */
void p3a_kern_read_lock(void);		/* other threads of this process show no event meanwhile */
void p3a_kern_read_unlock(void);
int p3a_kern_eq_alloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler, ptl_handle_eq_t *out);
int p3a_kern_eq_free(ptl_handle_eq_t eq);
int p3a_kern_eq_get(ptl_handle_eq_t eq, ptl_event_t *ev, bool take);
int p3a_kern_eq_wait(const ptl_handle_eq_t *eqs, int n, int64_t ns, ptl_event_t *ev, int *which);
int p3a_kern_progress(struct nal_ni *ni, int64_t ns);

#endif

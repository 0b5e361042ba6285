/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* kern_post.c - entries, descriptors, access control of an interface in the kernel: one system call each */
#include "kern.h"
#include "portals_gp.h"

struct nal_ni *p3a_kernel;

static struct gptl_ref ref(const struct nal_ni *ni, ptl_handle_any_t h)
{
	struct p3l_ref r = p3a_ref(ni, h);

	return (struct gptl_ref){ r.idx, r.gen };
}

static ptl_handle_any_t handle(const struct nal_ni *ni, enum p3a_kind kind, struct gptl_ref r)
{
	return p3a_handle(ni, kind, r.idx, r.gen);
}

static void entry(struct gptl_post *a, const struct p3a_entry *e)
{
	a->nid = e->id.nid;
	a->pid = e->id.pid;
	a->bits = e->bits;
	a->ignore = e->ignore;
	a->unlink = e->unlink == PTL_UNLINK;
	a->pos = e->pos != PTL_INS_BEFORE;
}

/* The caller's descriptor. PTL_OK, or a code where its queue is none of this interface. */
static int descriptor(const struct nal_ni *ni, const ptl_md_t *md, ptl_unlink_t op, struct gptl_post *a)
{
	a->md = (struct gptl_md){ .start = (uintptr_t)md->start, .length = md->length, .max_size = md->max_size,
				  .user_ptr = (uintptr_t)md->user_ptr, .threshold = md->threshold,
				  .options = md->options };
	a->op = op == PTL_UNLINK;
	if (p3_likely(p3a_eq_pack(ni, md->eq_handle, &a->md.eq)))
		return PTL_OK;
	return md->eq_handle >> 29 == P3A_EQ && (md->eq_handle >> 26 & 7) != ni->index ? PTL_MD_ILLEGAL :
											 PTL_EQ_INVALID;
}

static int unlink_(struct nal_ni *ni, unsigned long what, ptl_handle_any_t h)
{
	struct gptl_ref r = ref(ni, h);

	return ni->nal->call(ni, what, &r);
}

int p3a_kern_me_attach(ptl_handle_ni_t nih, ptl_pt_index_t *pt, bool any, const struct p3a_entry *e,
		       ptl_handle_me_t *out)
{
	struct nal_ni *ni = p3a_kernel_of(nih, P3A_NI);
	struct gptl_post a = { .pt = any ? GPTL_NONE : *pt };
	int rc;

	if (!ni)
		return PTL_NI_INVALID;
	if (!any && *pt == GPTL_NONE)
		return PTL_PT_INDEX_INVALID;
	entry(&a, e);
	rc = ni->nal->call(ni, GPTL_ME_ATTACH, &a);
	if (rc == PTL_OK) {
		*out = handle(ni, P3A_ME, a.me);
		*pt = a.pt;
	}
	return rc;
}

int p3a_kern_me_insert(ptl_handle_me_t base, const struct p3a_entry *e, ptl_handle_me_t *out)
{
	struct nal_ni *ni = p3a_kernel_of(base, P3A_ME);
	struct gptl_post a = { .pt = 0 };
	int rc;

	if (!ni)
		return PTL_ME_INVALID;
	a.me = ref(ni, base);
	entry(&a, e);
	rc = ni->nal->call(ni, GPTL_ME_INSERT, &a);
	if (rc == PTL_OK)
		*out = handle(ni, P3A_ME, a.me);
	return rc;
}

int p3a_kern_me_unlink(ptl_handle_me_t h)
{
	struct nal_ni *ni = p3a_kernel_of(h, P3A_ME);

	return ni ? unlink_(ni, GPTL_ME_UNLINK, h) : PTL_ME_INVALID;
}

int p3a_kern_md_attach(ptl_handle_me_t me, const ptl_md_t *md, ptl_unlink_t op, ptl_handle_md_t *out)
{
	struct nal_ni *ni = p3a_kernel_of(me, P3A_ME);
	struct gptl_post a = { .pt = 0 };
	int rc;

	if (!ni)
		return PTL_ME_INVALID;
	rc = descriptor(ni, md, op, &a);
	if (rc != PTL_OK)
		return rc;
	a.me = ref(ni, me);
	rc = ni->nal->call(ni, GPTL_MD_ATTACH, &a);
	if (rc == PTL_OK && out)
		*out = handle(ni, P3A_MD, a.dsc);
	return rc;
}

int p3a_kern_md_bind(ptl_handle_ni_t nih, const ptl_md_t *md, ptl_unlink_t op, ptl_handle_md_t *out)
{
	struct nal_ni *ni = p3a_kernel_of(nih, P3A_NI);
	struct gptl_post a = { .pt = 0 };
	int rc;

	if (!ni)
		return PTL_NI_INVALID;
	rc = descriptor(ni, md, op, &a);
	if (rc != PTL_OK)
		return rc;
	rc = ni->nal->call(ni, GPTL_MD_BIND, &a);
	if (rc == PTL_OK)
		*out = handle(ni, P3A_MD, a.dsc);
	return rc;
}

int p3a_kern_md_unlink(ptl_handle_md_t h)
{
	struct nal_ni *ni = p3a_kernel_of(h, P3A_MD);

	return ni ? unlink_(ni, GPTL_MD_UNLINK, h) : PTL_MD_INVALID;
}

static void show_old(const struct nal_ni *ni, const struct gptl_md *u, ptl_md_t *old)
{
	*old = (ptl_md_t){ .start = (void *)(uintptr_t)u->start, .length = u->length, .threshold = u->threshold,
			   .max_size = u->max_size, .options = u->options, .user_ptr = (void *)(uintptr_t)u->user_ptr,
			   .eq_handle = p3a_eq_unpack(ni, u->eq) };
}

int p3a_kern_md_update(ptl_handle_md_t h, ptl_md_t *old, ptl_md_t *new, ptl_handle_eq_t eq)
{
	struct nal_ni *ni = p3a_kernel_of(h, P3A_MD);
	struct gptl_post a = { .change = new != NULL };
	struct gptl_md was = { 0 };
	int rc;

	if (!ni)
		return PTL_MD_INVALID;
	if (!p3a_eq_pack(ni, eq, &a.test_eq))
		return PTL_EQ_INVALID;
	rc = new ? descriptor(ni, new, PTL_RETAIN, &a) : PTL_OK;
	if (rc != PTL_OK)
		return rc;
	a.dsc = ref(ni, h);
	if (old)
		a.old = (uintptr_t)&was;
	if (old && (old->options & PTL_MD_IOVEC) && old->start) {
		a.old_iov = (uintptr_t)old->start;
		a.old_iov_n = (uint32_t)(old->length < P3L_MAX_IOV ? old->length : P3L_MAX_IOV);
	}
	p3a_kern_read_lock();		/* who reads events shows what is in descriptors */
	rc = ni->nal->call(ni, GPTL_MD_UPDATE, &a);
	p3a_kern_read_unlock();
	if (old && (rc == PTL_OK || rc == PTL_MD_NO_UPDATE))
		show_old(ni, &was, old);
	return rc;
}

static int memd(struct nal_ni *ni, unsigned long what, const struct p3a_entry *e, const ptl_md_t *md, ptl_unlink_t op,
		struct gptl_post *a, ptl_handle_me_t *me_out, ptl_handle_md_t *md_out)
{
	int rc = descriptor(ni, md, op, a);

	if (rc != PTL_OK)
		return rc;
	entry(a, e);
	rc = ni->nal->call(ni, what, a);
	if (rc != PTL_OK)
		return rc;
	*me_out = handle(ni, P3A_ME, a->me);
	if (md_out)
		*md_out = handle(ni, P3A_MD, a->dsc);
	return PTL_OK;
}

int p3a_kern_memd_attach(ptl_handle_ni_t nih, ptl_pt_index_t pt, const struct p3a_entry *e, const ptl_md_t *md,
			 ptl_unlink_t op, ptl_handle_me_t *me_out, ptl_handle_md_t *md_out)
{
	struct nal_ni *ni = p3a_kernel_of(nih, P3A_NI);
	struct gptl_post a = { .pt = pt };

	return ni ? memd(ni, GPTL_MEMD_ATTACH, e, md, op, &a, me_out, md_out) : PTL_NI_INVALID;
}

int p3a_kern_memd_post(ptl_handle_ni_t nih, ptl_handle_me_t base, const struct p3a_entry *e, const ptl_md_t *md,
		       ptl_unlink_t op, ptl_handle_me_t *me_out, ptl_handle_md_t *md_out, ptl_handle_eq_t eq)
{
	struct nal_ni *ni = p3a_kernel_of(nih, P3A_NI);
	struct gptl_post a = { .pt = 0 };

	if (!ni)
		return PTL_NI_INVALID;
	if (p3a_kernel_of(base, P3A_ME) != ni)
		return PTL_ME_INVALID;
	if (!p3a_eq_pack(ni, eq, &a.test_eq))
		return PTL_EQ_INVALID;
	a.me = ref(ni, base);
	return memd(ni, GPTL_MEMD_POST, e, md, op, &a, me_out, md_out);
}

int p3a_kern_ac(ptl_handle_ni_t nih, ptl_ac_index_t ac, ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid,
		ptl_pt_index_t pt)
{
	struct nal_ni *ni = p3a_kernel_of(nih, P3A_NI);
	struct gptl_ac a = { ac, id.nid, id.pid, uid, jid, pt };

	return ni ? ni->nal->call(ni, GPTL_AC, &a) : PTL_NI_INVALID;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* md.c - calls on memory descriptors: check the arguments, ask the NAL about the memory, then the core */
#include "kern.h"
#include "p3l_post.h"

_Static_assert(sizeof(struct p3l_iov) == sizeof(ptl_md_iovec_t) &&
	       offsetof(struct p3l_iov, len) == offsetof(ptl_md_iovec_t, iov_len),
	       "the core copies the caller's vector as it stands");

#define MD_OPTIONS	((2 * PTL_MD_EVENT_END_DISABLE - 1) | PTL_MD_UNLINK_EVENT_NP | PTL_MD_UNLINK_EVENT_MANUAL_NP | \
			 PTL_MD_XT_NP)		/* all that there are */

/* @own: nobody but us will touch these bytes, so there is no need to ask the NAL about them. */
static inline __attribute__((always_inline)) int md_args(struct nal_ni *ni, const ptl_md_t *md, bool own,
							 struct p3l_md_args *a)
{
	if (md->options & ~MD_OPTIONS)
		return PTL_MD_ILLEGAL;		/* a promise that nobody would keep */
	a->md = md;
	a->iov = NULL;
	a->flags = 0;
	if (p3_unlikely(!p3a_eq_pack(ni, md->eq_handle, &a->eq)))
		return md->eq_handle >> 29 == P3A_EQ && (md->eq_handle >> 26 & 7) != ni->index ? PTL_MD_ILLEGAL :
												  PTL_EQ_INVALID;
	if (!(md->options & PTL_MD_IOVEC)) {
		if (!md->start && md->length && md->length < 4096)
			return PTL_MD_ILLEGAL;	/* a NULL buffer; a window over the whole process is longer */
		if (!own)
			a->flags = ni->nal->direct(md->start, md->length);
		return PTL_OK;
	}
	if (md->length > ni->l->max_iov || (md->length && !md->start))
		return PTL_MD_ILLEGAL;
	a->iov = md->start;
	a->flags = P3L_MD_DIRECT;
	for (ptl_size_t i = 0; i < md->length; i++)
		a->flags &= ni->nal->direct((void *)(uintptr_t)a->iov[i].base, a->iov[i].len);
	return PTL_OK;
}

/* Fill the core's arguments from the user's. PTL_OK or a code. */
int p3a_md_args(struct nal_ni *ni, const ptl_md_t *md, struct p3l_md_args *a)
{
	return md_args(ni, md, false, a);
}

P3A_API int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t op, ptl_handle_md_t *out)
{
	struct p3l_md_args a;
	struct nal_ni *ni;
	struct p3l_ref r;
	int rc;

	P3A_CHECK_UP();
	ni = p3a_ni_of(me, P3A_ME);
	if (!ni)
		return p3a_kern_md_attach(me, &md, op, out);
	rc = p3a_md_args(ni, &md, &a);
	if (rc == PTL_OK)
		rc = p3l_md_attach(&ni->env, ni->l, p3a_ref(ni, me), &a, op, &r);
	if (rc == PTL_OK && out)
		*out = p3a_handle(ni, P3A_MD, r.idx, r.gen);
	return rc;
}

P3A_API int PtlMDBind(ptl_handle_ni_t nih, ptl_md_t md, ptl_unlink_t op, ptl_handle_md_t *out)
{
	struct p3l_md_args a;
	struct nal_ni *ni;
	struct p3l_ref r;
	int rc = p3a_enter(out, nih, &ni);

	if (p3_unlikely(rc == PTL_NI_INVALID))
		return p3a_kern_md_bind(nih, &md, op, out);
	if (rc == PTL_OK)
		rc = p3a_md_args(ni, &md, &a);
	if (rc == PTL_OK)
		rc = p3l_md_bind(&ni->env, ni->l, &a, op, &r);
	if (rc == PTL_OK)
		*out = p3a_handle(ni, P3A_MD, r.idx, r.gen);
	return rc;
}

P3A_API int PtlMDUnlink(ptl_handle_md_t h)
{
	struct nal_ni *ni;
	int rc;

	P3A_CHECK_UP();
	ni = p3a_ni_of(h, P3A_MD);
	if (p3_unlikely(!ni))
		return p3a_kern_md_unlink(h);
	rc = p3l_md_unlink(&ni->env, ni->l, p3a_ref(ni, h));
	if (p3_unlikely(rc == PTL_MD_IN_USE) && p3a_settled(ni))
		rc = p3l_md_unlink(&ni->env, ni->l, p3a_ref(ni, h));
	if (p3_unlikely(rc == PTL_MD_IN_USE))
		p3a_in_use(ni);
	return rc;
}

/* The test queue of PtlMDUpdate and PtlMEMDPost: index, -1 for none, -2 bad. */
static int test_queue(const struct nal_ni *ni, ptl_handle_eq_t eq)
{
	uint32_t packed;

	if (!p3a_eq_pack(ni, eq, &packed))
		return -2;
	return packed ? (int)(packed & 0xffff) - 1 : -1;
}

P3A_API int PtlMDUpdate(ptl_handle_md_t h, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t eq)
{
	struct p3l_iov *iov = NULL;
	struct p3l_md_args a;
	uint32_t iov_n = 0;
	struct nal_ni *ni;
	ptl_md_t old;
	int rc, test;

	P3A_CHECK_UP();
	ni = p3a_ni_of(h, P3A_MD);
	if (!ni)
		return p3a_kern_md_update(h, old_md, new_md, eq);
	test = test_queue(ni, eq);
	if (test == -2)
		return PTL_EQ_INVALID;
	if (new_md) {
		rc = p3a_md_args(ni, new_md, &a);
		if (rc != PTL_OK)
			return rc;
	}
	if (old_md && (old_md->options & PTL_MD_IOVEC) && old_md->start) {
		iov = old_md->start;
		iov_n = (uint32_t)(old_md->length < P3L_MAX_IOV ? old_md->length : P3L_MAX_IOV);
	}
	rc = p3l_md_update(&ni->env, ni->l, p3a_ref(ni, h), old_md ? &old : NULL, iov, iov_n, new_md ? &a : NULL, test);
	if (old_md && (rc == PTL_OK || rc == PTL_MD_NO_UPDATE)) {
		old.eq_handle = p3a_eq_unpack(ni, old.eq_handle);
		*old_md = old;
	}
	return rc;
}

/* Does the entry stand where the owner matches alone, without threads? Then it alone touches what is posted there. */
static inline bool stands_alone(const struct nal_ni *ni, struct p3l_ref me)
{
	uint32_t pt = p3_load(&p3l_me(ni->l, me.idx & 0xffff)->pt);

	return pt < P3L_MAX_PT && p3l_pt_alone(&ni->env, pt);
}

P3A_API int PtlMEMDPost(ptl_handle_ni_t nih, ptl_handle_me_t base, ptl_process_id_t id, ptl_match_bits_t bits,
			ptl_match_bits_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_md_t md,
			ptl_unlink_t op, ptl_handle_me_t *me_out, ptl_handle_md_t *md_out, ptl_handle_eq_t eq)
{
	struct p3l_ref me, mdr, at;
	struct p3l_md_args a;
	struct nal_ni *ni;
	int test, rc = p3a_enter(me_out, nih, &ni);
	bool alone;

	if (p3_unlikely(rc != PTL_OK)) {
		struct p3a_entry e = { id, bits, ignore, unlink, pos };

		return rc == PTL_NI_INVALID ? p3a_kern_memd_post(nih, base, &e, &md, op, me_out, md_out, eq) : rc;
	}
	if (p3_unlikely((base ^ nih) >> 26 != (P3A_ME ^ P3A_NI) << 3))	/* an entry, of the same interface */
		return PTL_ME_INVALID;
	at = p3a_ref(ni, base);
	alone = stands_alone(ni, at);
	rc = md_args(ni, &md, alone, &a);
	test = p3_likely(rc == PTL_OK && eq == md.eq_handle) ? (int)(a.eq & 0xffff) - 1 : test_queue(ni, eq);
	if (p3_unlikely(test == -2))
		return PTL_EQ_INVALID;
	if (p3_unlikely(rc != PTL_OK))
		return rc;
	if (p3_likely(alone))
		rc = p3l_memd_post_alone(&ni->env, ni->l, at, id, bits, ignore, unlink, pos, &a, op, test, &me, &mdr);
	else
		rc = p3l_memd_post(&ni->env, ni->l, at, id, bits, ignore, unlink, pos, &a, op, test, &me, &mdr);
	if (p3_unlikely(rc != PTL_OK))
		return rc;
	*me_out = p3a_handle(ni, P3A_ME, me.idx, me.gen);
	if (md_out)
		*md_out = p3a_handle(ni, P3A_MD, mdr.idx, mdr.gen);
	return PTL_OK;
}

// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_call.c - entries, descriptors, queues, access control: the arguments of a process, checked, for the core
 *
 * The core's owner side trusts its caller for some things; these are checked here: that a queue exists, that options
 * are known, that a vector has been copied. Memory is pinned before the core hears of a descriptor, since that may
 * sleep.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "gptl.h"

#define MD_OPTIONS	((2 * PTL_MD_EVENT_END_DISABLE - 1) | PTL_MD_UNLINK_EVENT_NP | PTL_MD_UNLINK_EVENT_MANUAL_NP | \
			 PTL_MD_XT_NP)

/* A descriptor that comes from the process. */
struct md_in {
	ptl_md_t md;
	struct p3l_md_args args;
	struct p3l_iov *iov;
	struct gptl_pins *pins;
};

/* A queue as descriptors name it: 0, or one that exists. */
static bool queue_ok(const struct gptl_ni *ni, u32 packed)
{
	struct p3l_ref r = { (packed & 0xffff) - 1, packed >> 16 };

	return !packed || p3l_eq_valid(ni->l, r);
}

static int test_queue(u32 packed)
{
	return packed ? (int)(packed & 0xffff) - 1 : -1;
}

static long vector_in(struct gptl_ni *ni, const struct gptl_md *u, struct md_in *m)
{
	if (u->length > ni->l->max_iov || (u->length && !u->start))
		return PTL_MD_ILLEGAL;
	m->iov = kmalloc_array(max_t(size_t, u->length, 1), sizeof(*m->iov), GFP_KERNEL_ACCOUNT);
	if (!m->iov)
		return PTL_NO_SPACE;
	if (copy_from_user(m->iov, u64_to_user_ptr(u->start), u->length * sizeof(*m->iov)))
		return PTL_SEGV;
	m->args.iov = m->iov;
	return 0;
}

static void md_done(struct md_in *m)
{
	kfree(m->iov);
	gptl_pins_drop(m->pins);
}

/*
 * @pin: others will reach for its memory. What is only sent to other nodes, or comes back from there, is pinned if it
 * can be, and looked up else. After any result: md_done().
 */
static long md_in(struct gptl_ni *ni, const struct gptl_md *u, bool pin, struct md_in *m)
{
	int rc;

	*m = (struct md_in){ .md = { .start = (void *)(uintptr_t)u->start, .length = u->length,
				     .threshold = u->threshold, .max_size = u->max_size, .options = u->options,
				     .user_ptr = (void *)(uintptr_t)u->user_ptr },
			     .args.eq = u->eq };
	m->args.md = &m->md;
	if (u->options & ~MD_OPTIONS)
		return PTL_MD_ILLEGAL;
	if (!queue_ok(ni, u->eq))
		return PTL_EQ_INVALID;
	if (u->options & PTL_MD_IOVEC)
		return vector_in(ni, u, m);
	if (!u->start && u->length && u->length < 4096)
		return PTL_MD_ILLEGAL;
	if (!pin && !READ_ONCE(ni->link))
		return 0;
	rc = gptl_pin(ni, u->start, u->length, &m->pins);
	return rc == PTL_NO_SPACE && !pin ? 0 : rc;
}

/* The core has taken it. */
static void md_made(struct gptl_ni *ni, u32 idx, struct md_in *m)
{
	gptl_pins_set(ni, idx, m->pins);
	m->pins = NULL;
}

static void enter(struct p3l_env *env, struct gptl_ni *ni)
{
	gptl_enter(env);
	gptl_claims_take(env, ni);
}

static struct p3l_ref in(struct gptl_ref r)
{
	return (struct p3l_ref){ r.idx, r.gen };
}

static struct gptl_ref out(struct p3l_ref r)
{
	return (struct gptl_ref){ r.idx, r.gen };
}

static bool entry_ok(const struct gptl_post *a)
{
	return a->unlink <= PTL_UNLINK && a->pos <= PTL_INS_AFTER && a->op <= PTL_UNLINK;
}

static ptl_process_id_t id_of(const struct gptl_post *a)
{
	return (ptl_process_id_t){ a->nid, a->pid };
}

/* From the top; 112 to 127 belong to our own layers. */
static int attach_any(const struct p3l_env *env, struct gptl_ni *ni, struct gptl_post *a, struct p3l_ref *me)
{
	u32 i = min(ni->l->max_pt + 1, 112U);
	int rc = P3L_TAKEN;

	while (rc == P3L_TAKEN && i-- > 0)
		if (!p3_load_acq(&ni->l->pt[i].head))
			rc = p3l_me_attach_first(env, ni->l, i, id_of(a), a->bits, a->ignore, a->unlink, me);
	a->pt = i;
	return rc == P3L_TAKEN ? PTL_PT_FULL : rc;
}

long gptl_me_attach(struct gptl_ni *ni, struct gptl_post *a)
{
	struct p3l_env env = { 0 };
	struct p3l_ref me = { 0 };
	int rc;

	if (!entry_ok(a))
		return -EINVAL;
	enter(&env, ni);
	if (a->pt == GPTL_NONE)
		rc = attach_any(&env, ni, a, &me);
	else
		rc = p3l_me_attach(&env, ni->l, a->pt, id_of(a), a->bits, a->ignore, a->unlink, a->pos, &me);
	gptl_leave();
	a->me = out(me);
	return rc;
}

long gptl_me_insert(struct gptl_ni *ni, struct gptl_post *a)
{
	struct p3l_env env = { 0 };
	struct p3l_ref me = { 0 };
	int rc;

	if (!entry_ok(a))
		return -EINVAL;
	enter(&env, ni);
	rc = p3l_me_insert(&env, ni->l, in(a->me), id_of(a), a->bits, a->ignore, a->unlink, a->pos, &me);
	gptl_leave();
	if (rc == PTL_OK)
		a->me = out(me);
	return rc;
}

long gptl_me_unlink(struct gptl_ni *ni, const struct gptl_ref *a)
{
	struct p3l_env env = { 0 };
	int rc;

	enter(&env, ni);
	rc = p3l_me_unlink(&env, ni->l, in(*a));
	gptl_leave();
	gptl_wake(ni);
	return rc;
}

/* A descriptor: of a match entry, for others, or of its own. */
static long md(struct gptl_ni *ni, struct gptl_post *a, bool attach)
{
	struct p3l_env env = { 0 };
	struct p3l_ref ref;
	struct md_in m;
	long rc;

	if (!entry_ok(a))
		return -EINVAL;
	rc = md_in(ni, &a->md, attach, &m);
	if (!rc) {
		enter(&env, ni);
		if (attach)
			rc = p3l_md_attach(&env, ni->l, in(a->me), &m.args, a->op, &ref);
		else
			rc = p3l_md_bind(&env, ni->l, &m.args, a->op, &ref);
		gptl_leave();
	}
	if (!rc) {
		a->dsc = out(ref);
		md_made(ni, ref.idx, &m);	/* nothing pinned: forgets what was for the one before it there */
	}
	md_done(&m);
	return rc;
}

long gptl_md_attach(struct gptl_ni *ni, struct gptl_post *a)
{
	return md(ni, a, true);
}

long gptl_md_bind(struct gptl_ni *ni, struct gptl_post *a)
{
	return md(ni, a, false);
}

/* A match entry with its descriptor: at an end of a list, or beside another entry under the condition of a queue. */
static long memd(struct gptl_ni *ni, struct gptl_post *a, bool beside)
{
	struct p3l_env env = { 0 };
	struct p3l_ref me, md;
	struct md_in m;
	long rc;

	if (!entry_ok(a))
		return -EINVAL;
	if (beside && !queue_ok(ni, a->test_eq))
		return PTL_EQ_INVALID;
	rc = md_in(ni, &a->md, true, &m);
	if (!rc) {
		enter(&env, ni);
		if (beside)
			rc = p3l_memd_post(&env, ni->l, in(a->me), id_of(a), a->bits, a->ignore, a->unlink, a->pos,
					   &m.args, a->op, test_queue(a->test_eq), &me, &md);
		else
			rc = p3l_memd_attach(&env, ni->l, a->pt, id_of(a), a->bits, a->ignore, a->unlink, a->pos,
					     &m.args, a->op, &me, &md);
		gptl_leave();
	}
	if (!rc) {
		a->me = out(me);
		a->dsc = out(md);
		md_made(ni, md.idx, &m);
	}
	md_done(&m);
	return rc;
}

long gptl_memd_attach(struct gptl_ni *ni, struct gptl_post *a)
{
	return memd(ni, a, false);
}

long gptl_memd_post(struct gptl_ni *ni, struct gptl_post *a)
{
	return memd(ni, a, true);
}

static long old_out(const struct gptl_post *a, const ptl_md_t *old, const struct p3l_iov *iov)
{
	struct gptl_md u = { .start = (uintptr_t)old->start, .length = old->length, .max_size = old->max_size,
			     .user_ptr = (uintptr_t)old->user_ptr, .threshold = old->threshold,
			     .options = old->options, .eq = old->eq_handle };
	u64 n = min_t(u64, old->length, a->old_iov_n);

	if (a->old_iov && (old->options & PTL_MD_IOVEC) &&
	    copy_to_user(u64_to_user_ptr(a->old_iov), iov, n * sizeof(*iov)))
		return PTL_SEGV;
	return copy_to_user(u64_to_user_ptr(a->old), &u, sizeof(u)) ? PTL_SEGV : 0;
}

/* May others reach for the memory of this descriptor? */
static bool attached(const struct gptl_ni *ni, u32 idx)
{
	return idx < P3L_MAX_MD && p3_load(&p3l_md(ni->l, idx)->me);
}

long gptl_md_update(struct gptl_ni *ni, struct gptl_post *a)
{
	struct md_in m = { .iov = NULL };
	struct p3l_iov *old_iov = NULL;
	struct p3l_env env = { 0 };
	ptl_md_t old = { 0 };
	long rc = 0, lost;

	if (a->old_iov_n > P3L_MAX_IOV || a->change > 1)
		return -EINVAL;
	if (!queue_ok(ni, a->test_eq))
		return PTL_EQ_INVALID;
	if (a->change)
		rc = md_in(ni, &a->md, attached(ni, a->dsc.idx), &m);
	if (!rc && a->old_iov && a->old_iov_n) {
		old_iov = kcalloc(a->old_iov_n, sizeof(*old_iov), GFP_KERNEL_ACCOUNT);
		rc = old_iov ? 0 : PTL_NO_SPACE;
	}
	if (!rc) {
		enter(&env, ni);
		rc = p3l_md_update(&env, ni->l, in(a->dsc), a->old ? &old : NULL, old_iov, old_iov ? a->old_iov_n : 0,
				   a->change ? &m.args : NULL, test_queue(a->test_eq));
		gptl_leave();
		if (rc == PTL_OK && a->change)
			md_made(ni, a->dsc.idx, &m);
		if (a->old && (rc == PTL_OK || rc == PTL_MD_NO_UPDATE)) {
			lost = old_out(a, &old, old_iov);
			rc = lost ? lost : rc;
		}
	}
	kfree(old_iov);
	md_done(&m);
	return rc;
}

long gptl_md_unlink(struct gptl_ni *ni, const struct gptl_ref *a)
{
	struct p3l_env env = { 0 };
	int rc;

	enter(&env, ni);
	rc = p3l_md_unlink(&env, ni->l, in(*a));
	gptl_leave();
	if (rc == PTL_OK)
		gptl_pins_set(ni, a->idx, NULL);
	gptl_wake(ni);
	return rc;
}

long gptl_eq_alloc(struct gptl_ni *ni, struct gptl_eq *a)
{
	struct p3l_env env = { 0 };
	struct p3l_ref eq;
	int rc;

	enter(&env, ni);
	rc = p3l_eq_alloc(&env, ni->l, a->count, &eq);
	if (rc == PTL_OK) {
		WRITE_ONCE(ni->claims[eq.idx], 0);
		if (eq.idx >= ni->eqs)
			WRITE_ONCE(ni->eqs, eq.idx + 1);
		a->eq = out(eq);
	}
	gptl_leave();
	return rc;
}

long gptl_eq_free(struct gptl_ni *ni, const struct gptl_ref *a)
{
	struct p3l_env env = { 0 };
	int rc;

	enter(&env, ni);
	rc = p3l_eq_free(&env, ni->l, in(*a));
	gptl_leave();
	wake_up_all(&ni->wq);
	return rc;
}

long gptl_ac(struct gptl_ni *ni, const struct gptl_ac *a)
{
	struct p3l_env env = { 0 };
	u32 i;

	if (a->ac > ni->l->max_ac)
		return PTL_AC_INDEX_INVALID;
	if (a->pt != PTL_PT_INDEX_ANY && a->pt > ni->l->max_pt)
		return PTL_PT_INDEX_INVALID;
	gptl_enter(&env);
	ni->l->ac[a->ac] = (struct p3l_ac){ a->nid, a->pid, a->uid, a->jid, a->pt };
	for (i = 0; i <= ni->l->max_pt; i++) {
		p3l_lock(&env, ni->l, i);
		p3l_changes(ni->l, i);
		p3l_unlock(ni->l, i);
	}
	gptl_leave();
	return PTL_OK;
}

long gptl_polled(struct gptl_ni *ni, const struct gptl_polled *a)
{
	if (a->pt > ni->l->max_pt)
		return PTL_PT_INDEX_INVALID;
	if (a->on)
		set_bit((int)a->pt, ni->polled);
	else
		clear_bit((int)a->pt, ni->polled);
	return PTL_OK;
}

/* Its last event from before an update has been read. */
long gptl_tidy(struct gptl_ni *ni, const struct gptl_ref *a)
{
	struct p3l_env env = { 0 };

	if (a->idx >= ni->l->max_md)
		return -EINVAL;
	enter(&env, ni);
	p3l_md_tidy(&env, ni->l, p3l_md(ni->l, a->idx));
	gptl_leave();
	return PTL_OK;
}

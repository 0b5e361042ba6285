/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3l_post.h - the usual post of a receive, straight through
 *
 * The owner, with one thread, puts a plain region that logs its events in front of an entry of a list where it matches
 * alone (p3l_pt_alone, as the caller has seen). The pools hold an ME and an MD that it has freed itself, and no event
 * that names the MD is unread. All is looked at first, then written; what differs in any point is left as it is, for
 * the long way (p3l_memd_post), which is the reference: whatever is done here, that one would have done too. No lock is
 * needed: nobody else takes from the pools (own_lock is for threads of the owner), or is in the list (polled.c).
 *
 * In a header, since handing over its arguments would be a fourth of the work. One call has it: PtlMEMDPost.
 */
#ifndef P3L_POST_H
#define P3L_POST_H

#include "p3l.h"

_Static_assert(P3L_MAX_ME == P3L_MAX_MD && !(P3L_MAX_ME & (P3L_MAX_ME - 1)), "indices are compared together");

/* Nobody shows the values of MD @md any more, and there is nothing to give back: it can be filled at once. */
static inline bool p3l_post_free(const struct p3l_ni *ni, const struct p3l_md *md, uint32_t eq)
{
	return !(md->iov | md->of | md->older) && md->eq == eq &&	/* @eq has been checked by the caller */
	       (int32_t)(p3_load(&ni->eq[((eq & 0xffff) - 1) & (P3L_MAX_EQ - 1)].head) - (md->last_ticket + 1)) >= 0;
}

/* Room in the list, and for an index beside it if that should be wanted; there is none now. */
static inline bool p3l_post_fits(const struct p3l_ni *ni, const struct p3l_pt *p)
{
	return !p->index_log2 && p->len < ni->max_me_list && (p->len < ni->index_from || p->index_room);
}

/* As p3l_memd_post(), where p3l_pt_alone() is true of the list of @base. */
static inline int p3l_memd_post_alone(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref base,
				      ptl_process_id_t id, uint64_t bits, uint64_t ignore, ptl_unlink_t unlink,
				      ptl_ins_pos_t pos, const struct p3l_md_args *a, ptl_unlink_t op, int test_eq,
				      struct p3l_ref *me_out, struct p3l_ref *md_out)
{
	uint32_t i = ni->me_spare - 1, k = ni->md_spare - 1, pt, prev, options, flags, gen;
	const ptl_md_t *u = a->md;
	struct p3l_me *at, *me;
	struct p3l_md *md;
	struct p3l_pt *p;

	if (p3_unlikely((i | k | base.idx) >= P3L_MAX_ME || pos != PTL_INS_BEFORE || test_eq < 0 || !a->eq))
		goto long_way;
	at = p3l_me(ni, base.idx);
	pt = p3_load(&at->pt);
	if (p3_unlikely(pt >= P3L_MAX_PT || !(at->flags & P3L_ME_USED) || (at->gen & P3L_GEN_MASK) != base.gen))
		goto long_way;
	p = &ni->pt[pt];
	md = p3l_md(ni, k);
	prev = at->prev;
	options = u->options;
	if (p3_unlikely((options & PTL_MD_IOVEC) || u->length > UINT64_MAX - (uint64_t)(uintptr_t)u->start ||
			u->threshold < 0 || ni->md_limbo || !p3l_post_free(ni, md, a->eq) || !p3l_post_fits(ni, p) ||
			prev > P3L_MAX_ME || !p3l_eq_idle(ni, (uint32_t)test_eq)))
		goto long_way;

	ni->me_spare = p3l_me(ni, i)->free_next;
	ni->md_spare = md->free_next;
	md->offset = 0;
	md->threshold = u->threshold;
	md->pending = 0;
	md->last_ticket = ni->eq[(a->eq & 0xffff) - 1].head - 1;
	md->me = i + 1;
	md->iov_n = 0;
	md->start = (uint64_t)(uintptr_t)u->start;
	md->length = md->user_length = u->length;
	md->max_size = u->max_size;
	md->user_ptr = (uint64_t)(uintptr_t)u->user_ptr;
	md->options = options & ~PTL_MD_XT_NP;
	flags = P3L_MD_USED | P3L_MD_MADE | (a->flags & P3L_MD_DIRECT);
	if (op == PTL_UNLINK)
		flags |= P3L_MD_UNLINK;
	if (options & PTL_MD_XT_NP)
		flags |= P3L_MD_XT;
	p3_store_rel(&md->flags, flags);

	me = p3l_me(ni, i);
	me->match_bits = bits;
	me->ignore_bits = ignore;
	me->match_nid = id.nid;
	me->match_pid = id.pid;
	me->md = k + 1;
	p3_store(&me->pt, (uint16_t)pt);
	me->flags = unlink == PTL_UNLINK ? P3L_ME_USED | P3L_ME_UNLINK : P3L_ME_USED;
	me->prev = prev;
	me->next = base.idx + 1;
	gen = me->gen;
	p3l_changes(ni, pt);
	at->prev = i + 1;
	if (prev)
		p3_store_rel(&p3l_me(ni, prev - 1)->next, i + 1);
	else
		p3_store_rel(&p->head, i + 1);
	p3_store(&p->len, p->len + 1);
	if (p->len > p->longest)
		p->longest = p->len;
	*me_out = (struct p3l_ref){ i, gen & P3L_GEN_MASK };
	*md_out = (struct p3l_ref){ k, md->gen & P3L_GEN_MASK };
	return PTL_OK;

long_way:
	return p3l_memd_post(env, ni, base, id, bits, ignore, unlink, pos, a, op, test_eq, me_out, md_out);
}

#endif

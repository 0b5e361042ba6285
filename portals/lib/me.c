/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * me.c - match entries and the lists that they stand in
 *
 * A list is doubly linked by index + 1; head and tail are in the portal table entry. All links change under the lock
 * of that entry. Entries are taken from the pool by the owner (own_lock) and given back by whoever unlinks them.
 */
#include "p3l.h"

/* Pop from the free list: only the owner does, under own_lock, so a popped entry cannot come back meanwhile. */
uint32_t p3l_me_alloc(struct p3l_ni *ni)
{
	uint32_t i = ni->me_spare;

	if (p3_likely(i && i <= P3L_MAX_ME)) {
		ni->me_spare = p3l_me(ni, i - 1)->free_next;
		p3l_me(ni, i - 1)->flags = P3L_ME_MADE;
		return i;
	}
	i = p3_load_acq(&ni->me_free);
	while (i && i <= P3L_MAX_ME) {
		uint32_t next = p3l_me(ni, i - 1)->free_next;

		if (p3_cas32(&ni->me_free, i, next)) {	/* M:unlink.me-pop */
			p3l_me(ni, i - 1)->flags = P3L_ME_MADE;
			return i;
		}
		i = p3_load_acq(&ni->me_free);
	}
	if (ni->me_fresh >= P3L_MAX_ME || ni->me_fresh >= ni->max_me)
		return 0;
	p3l_me(ni, ni->me_fresh)->flags = P3L_ME_MADE;
	return ++ni->me_fresh;
}

void p3l_me_push(struct p3l_ni *ni, uint32_t idx)
{
	struct p3l_me *me = p3l_me(ni, idx);
	uint32_t old;

	do {
		old = p3_load(&ni->me_free);
		me->free_next = old;
	} while (!p3_cas32(&ni->me_free, old, idx + 1));	/* M:unlink.me-push */
}

void p3l_me_free(struct p3l_ni *ni, uint32_t idx)
{
	struct p3l_me *me = p3l_me(ni, idx);

	p3_store(&me->flags, 0);	/* M:unlink.me-unused */
	p3_store_rel(&me->gen, me->gen + 1);	/* M:unlink.me-next-gen */
	P3L_POINT("me freed");
	p3l_me_push(ni, idx);
}

void p3l_me_free_own(struct p3l_ni *ni, uint32_t idx)
{
	struct p3l_me *me = p3l_me(ni, idx);

	me->flags = 0;
	me->gen++;
	me->free_next = ni->me_spare;
	ni->me_spare = idx + 1;
}

void p3l_me_fill(struct p3l_me *me, uint32_t pt, ptl_process_id_t id, uint64_t bits, uint64_t ignore,
		 ptl_unlink_t unlink)
{
	me->match_bits = bits;
	me->ignore_bits = ignore;
	me->match_nid = id.nid;
	me->match_pid = id.pid;
	me->md = 0;
	p3_store(&me->pt, (uint16_t)pt);	/* M:unlink.fill-pt */
	me->flags = P3L_ME_USED | (unlink == PTL_UNLINK ? P3L_ME_UNLINK : 0);	/* M:unlink.fill-plain */
}

/* A neighbour as the list names it; one that cannot be (a peer overwrote it) is none. */
static uint32_t sane(const struct p3l_ni *ni, const uint32_t *link)
{
	uint32_t i = p3_load(link);

	return p3_likely(i <= P3L_MAX_ME) ? i : 0;
}

/* Put entry @idx before or after @base (index + 1), or at head or tail when @base is 0. */
int p3l_me_link_locked(struct p3l_ni *ni, uint32_t pt, uint32_t idx, uint32_t base, ptl_ins_pos_t pos)
{
	struct p3l_pt *p = &ni->pt[pt];
	struct p3l_me *me = p3l_me(ni, idx);
	uint32_t next, prev;

	if (p->len >= ni->max_me_list)
		return PTL_ME_LIST_TOO_LONG;
	p3l_changes(ni, pt);
	if (!base) {
		next = pos == PTL_INS_BEFORE ? sane(ni, &p->head) : 0;
		prev = pos == PTL_INS_BEFORE ? 0 : sane(ni, &p->tail);
	} else if (pos == PTL_INS_BEFORE) {
		next = base;
		prev = sane(ni, &p3l_me(ni, base - 1)->prev);
	} else {
		prev = base;
		next = sane(ni, &p3l_me(ni, base - 1)->next);
	}
	me->next = next;
	me->prev = prev;
	if (next)
		p3l_me(ni, next - 1)->prev = idx + 1;
	else
		p->tail = idx + 1;
	if (prev)
		p3_store_rel(&p3l_me(ni, prev - 1)->next, idx + 1);
	else
		p3_store_rel(&p->head, idx + 1);	/* M:unlink.link */
	p3_store(&p->len, p->len + 1);	/* p3l_index_room() looks at it without the lock */
	if (p->len > p->longest)
		p->longest = p->len;
	if (p3_unlikely(p->index_log2))
		p3l_index_in(ni, pt, idx, pos);
	return PTL_OK;
}

/* Out of its list. The chain of `next` is whole at every moment: the rest is made from it when a mover dies here. */
void p3l_me_out_locked(struct p3l_ni *ni, uint32_t idx)
{
	struct p3l_me *me = p3l_me(ni, idx);
	uint32_t next = sane(ni, &me->next), prev = sane(ni, &me->prev), pt = me->pt;
	struct p3l_pt *p = &ni->pt[pt < P3L_MAX_PT ? pt : 0];

	p3l_changes(ni, pt);
	if (p3_unlikely(p->index_log2))
		p3l_index_out(ni, (uint32_t)(p - ni->pt), idx);
	if (prev)
		p3_store_rel(&p3l_me(ni, prev - 1)->next, next);
	else
		p3_store_rel(&p->head, next);	/* M:unlink.out */
	P3L_POINT("me out");
	if (next)
		p3l_me(ni, next - 1)->prev = prev;
	else
		p->tail = prev;
	p3_store(&p->len, p->len - 1);
	P3L_POINT("me unlinked");
}

void p3l_me_remove_locked(struct p3l_ni *ni, uint32_t idx)
{
	p3l_me_out_locked(ni, idx);
	p3l_me_free(ni, idx);
}

static bool me_is(const struct p3l_me *me, struct p3l_ref r)
{
	return (me->flags & P3L_ME_USED) && (p3_load(&me->gen) & P3L_GEN_MASK) == r.gen;	/* M:unlink.me-is */
}

/* Lock the list of a live entry: PTL_OK with @pt locked, or PTL_ME_INVALID. */
static inline __attribute__((__always_inline__)) int enter_list(const struct p3l_env *env, struct p3l_ni *ni,
							   struct p3l_ref r, uint32_t *pt, bool may_be_alone,
							   bool *alone)
{
	struct p3l_me *me;

	if (r.idx >= P3L_MAX_ME)
		return PTL_ME_INVALID;
	me = p3l_me(ni, r.idx);
	*pt = p3_load(&me->pt);	/* M:unlink.me-lock-pt */
	if (!me_is(me, r) || *pt >= P3L_MAX_PT)
		return PTL_ME_INVALID;
	*alone = may_be_alone && p3l_pt_alone(env, *pt);
	if (*alone)
		return PTL_OK;
	p3l_lock(env, ni, *pt);
	if (me_is(me, r) && me->pt == *pt)
		return PTL_OK;
	p3l_unlock(ni, *pt);
	return PTL_ME_INVALID;
}

int p3l_me_lock(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r, uint32_t *pt)
{
	bool alone;

	return enter_list(env, ni, r, pt, false, &alone);
}

int p3l_me_enter(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r, uint32_t *pt, bool *alone)
{
	return enter_list(env, ni, r, pt, true, alone);
}

/* @first: only where the list is empty. */
static int add(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_ref *base, uint32_t pt, bool first,
	       ptl_process_id_t id, uint64_t bits, uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos,
	       struct p3l_ref *out)
{
	uint32_t i;
	int rc;

	p3l_own_lock(env, ni);
	p3l_index_room(ni, base, pt);
	i = p3l_me_alloc(ni);
	p3l_own_unlock(env, ni);
	if (!i)
		return PTL_NO_SPACE;
	if (base) {
		rc = p3l_me_lock(env, ni, *base, &pt);
		if (rc != PTL_OK)
			goto err_free;
	} else {
		p3l_lock(env, ni, pt);
	}
	rc = P3L_TAKEN;
	if (!first || !p3_load(&ni->pt[pt].head)) {
		p3l_me_fill(p3l_me(ni, i - 1), pt, id, bits, ignore, unlink);
		rc = p3l_me_link_locked(ni, pt, i - 1, base ? base->idx + 1 : 0, pos);
	}
	if (rc == PTL_OK)
		*out = (struct p3l_ref){ i - 1, p3l_me(ni, i - 1)->gen & P3L_GEN_MASK };
	p3l_unlock(ni, pt);
	if (rc == PTL_OK)
		return PTL_OK;
err_free:
	p3l_me_free(ni, i - 1);
	return rc;
}

int p3l_me_attach(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt, ptl_process_id_t id, uint64_t bits,
		  uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, struct p3l_ref *out)
{
	if (pt > ni->max_pt)
		return PTL_PT_INDEX_INVALID;
	return add(env, ni, NULL, pt, false, id, bits, ignore, unlink, pos, out);
}

int p3l_me_attach_first(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt, ptl_process_id_t id, uint64_t bits,
			uint64_t ignore, ptl_unlink_t unlink, struct p3l_ref *out)
{
	return add(env, ni, NULL, pt, true, id, bits, ignore, unlink, PTL_INS_AFTER, out);
}

int p3l_me_insert(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref base, ptl_process_id_t id,
		  uint64_t bits, uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, struct p3l_ref *out)
{
	return add(env, ni, &base, 0, false, id, bits, ignore, unlink, pos, out);
}

/* 3.9.5: the MD goes too, whatever its own unlink_op says; no event. */
int p3l_me_unlink(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r)
{
	struct p3l_me *me;
	uint32_t pt, md;
	int rc;

again:
	rc = p3l_me_lock(env, ni, r, &pt);
	if (rc != PTL_OK)
		return rc;
	me = p3l_me(ni, r.idx);
	md = p3_load(&me->md);
	if (p3_unlikely(md > P3L_MAX_MD))
		md = 0;
	if (md && p3_load_acq(&p3l_md(ni, md - 1)->pending)) {	/* M:unlink.me-in-use */
		p3l_unlock(ni, pt);
		if (p3l_md_left(env, ni, md - 1))
			goto again;
		return PTL_ME_IN_USE;
	}
	if (md) {
		p3l_md_told_locked(env, ni, md - 1);
		me->flags &= (uint8_t)~P3L_ME_UNLINK;	/* it is removed below, once */
		p3l_md_free_locked(ni, md - 1);
	}
	p3l_me_remove_locked(ni, r.idx);
	p3l_unlock(ni, pt);
	return PTL_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * md.c - memory descriptors: made, posted, updated, unlinked
 *
 * An attached MD is protected by the lock of its portal table entry, a free-floating one by a stripe. `pending` counts
 * operations in progress and changes without the lock; an MD with pending > 0 is never freed. A freed MD that an
 * unread event still names waits in limbo: PtlEQGet shows its values.
 *
 * Keepers. An event shows the values that its MD had when the operation was charged. So an update of an MD that has
 * unread events or operations in progress puts the old values into a second descriptor, which goes to limbo at once:
 * md.older. Which of the two an event shows says its link, a ticket taken under the lock when the operation was
 * charged: older than md.since, or of another queue than md.eq: the keeper; which may have a keeper itself.
 */
#include "p3l.h"

#define LEAVE_PATIENCE 20000	/* looks at those who are about to leave an MD */

/* Has unread event @t been overwritten, and does no thread show it just now? Till it is posted over it may be read. */
static __attribute__((__noinline__)) bool lost(const struct p3l_ni *ni, const struct p3l_eq *q, uint32_t t)
{
	const struct p3l_slot *s = p3l_eq_slot(ni, q, t);

	if (p3_load(&q->tail) - t <= 1u << (q->log2 & 31) || !s || (int32_t)(p3_load_acq(&s->word) - (t << 1 | 1)) <= 0)
		return false;
	p3_fence();
	return !p3_load(&q->rlock);
}

/* Does an unread event name this (freed) MD? Owner only. */
static bool unread(const struct p3l_ni *ni, uint32_t packed, uint32_t ticket)
{
	int eq = p3l_eq_of(ni, packed);

	return eq >= 0 && (int32_t)(p3_load(&ni->eq[eq].head) - (ticket + 1)) < 0 && !lost(ni, &ni->eq[eq], ticket);
}

/* The same, and for a keeper: may such an event still come? Not when all from before the update have ended. own_lock */
static bool kept(struct p3l_ni *ni, struct p3l_md *md)
{
	if (p3_unlikely(md->of && md->pending)) {
		const struct p3l_md *of = p3l_md(ni, (md->of - 1) % P3L_MAX_MD);
		int eq = p3l_eq_of(ni, md->eq);

		if (eq >= 0 && p3_load(&of->gen) == md->of_gen && p3_load_acq(&of->pending))
			return true;
		md->pending = 0;	/* M:unlink.make-pending-plain */
		if (eq >= 0)
			md->last_ticket = p3_load_acq(&ni->eq[eq].tail) - 1;
	}
	return unread(ni, md->eq, md->last_ticket);
}

/* Is it kept, or the way to one that is? own_lock */
static __attribute__((__noinline__)) bool named_far(struct p3l_ni *ni, struct p3l_md *md)
{
	struct p3l_md *m = md;

	for (uint32_t n = 0; n < P3L_MAX_MD; n++) {
		if (kept(ni, m))
			return true;
		if (p3_likely(!m->older))
			break;
		m = p3l_md(ni, (m->older - 1) % P3L_MAX_MD);
	}
	md->older = 0;
	return false;
}

static inline bool named(struct p3l_ni *ni, struct p3l_md *md)
{
	return p3_likely(!(md->of | md->older)) ? unread(ni, md->eq, md->last_ticket) : named_far(ni, md);
}

const struct p3l_md *p3l_md_shown(const struct p3l_ni *ni, const struct p3l_md *md, uint32_t eq,
				  const struct p3l_slot *s)
{
	uint32_t t = (s->kind_fail & 15) == PTL_EVENT_UNLINK ? s->ticket : s->link, older;

	for (uint32_t n = 0; (older = p3_load(&md->older)) && n < P3L_MAX_MD; n++) {
		if (p3_load(&md->eq) == eq && (int32_t)(t - md->since) >= 0)
			break;
		md = p3l_md(ni, (older - 1) % P3L_MAX_MD);
	}
	return md;
}

/* Links are counted modulo 2^32, so a keeper must not be asked for ever. */
void p3l_md_tidy(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_md *md)
{
	p3l_own_lock(env, ni);
	if (md->older && !named(ni, p3l_md(ni, (md->older - 1) % P3L_MAX_MD)))
		p3_store(&md->older, 0);
	p3l_own_unlock(env, ni);
}

static uint32_t pop(struct p3l_ni *ni)
{
	uint32_t i = ni->md_spare;

	if (p3_likely(i && i <= P3L_MAX_MD)) {
		ni->md_spare = p3l_md(ni, i - 1)->free_next;
		return i;
	}
	i = p3_load_acq(&ni->md_free);
	while (i && i <= P3L_MAX_MD) {
		if (p3_cas32(&ni->md_free, i, p3l_md(ni, i - 1)->free_next))	/* M:unlink.pop */
			return i;
		i = p3_load_acq(&ni->md_free);
	}
	return 0;
}

/* Keeper @i is used for something else. */
static __attribute__((__noinline__)) void cut(struct p3l_ni *ni, uint32_t i)
{
	struct p3l_md *m = p3l_md(ni, (p3l_md(ni, i - 1)->of - 1) % P3L_MAX_MD);

	for (uint32_t n = 0; m->older && m->older != i && n < P3L_MAX_MD; n++)
		m = p3l_md(ni, (m->older - 1) % P3L_MAX_MD);
	if (m->older == i)
		p3_store(&m->older, 0);
	p3l_md(ni, i - 1)->of = 0;
}

/* The first of those in limbo that has been read, within @most steps: index + 1, or 0. */
static uint32_t leave_limbo(struct p3l_ni *ni, uint32_t most)
{
	uint32_t i = ni->md_limbo, prev = 0;

	for (; p3_unlikely(i) && i <= P3L_MAX_MD && most; most--) {
		uint32_t next = p3l_md(ni, i - 1)->free_next;

		if (!named(ni, p3l_md(ni, i - 1))) {
			if (prev)
				p3l_md(ni, prev - 1)->free_next = next;
			else
				ni->md_limbo = next;
			if (!next)
				ni->md_limbo_tail = prev;
			if (p3_unlikely(p3l_md(ni, i - 1)->of))
				cut(ni, i);
			return i;
		}
		prev = i;
		i = next;
	}
	return 0;
}

static __attribute__((__noinline__)) void to_limbo(struct p3l_ni *ni, uint32_t i)
{
	p3l_md(ni, i - 1)->free_next = 0;
	if (ni->md_limbo)
		p3l_md(ni, (ni->md_limbo_tail - 1) % P3L_MAX_MD)->free_next = i;
	else
		ni->md_limbo = i;
	ni->md_limbo_tail = i;
}

/* Unread events name @i: it has to wait. The next one that none names, or 0. */
static __attribute__((__noinline__)) uint32_t pop_more(struct p3l_ni *ni, uint32_t i)
{
	for (uint32_t n = 0; i && named(ni, p3l_md(ni, i - 1)); n++) {
		to_limbo(ni, i);
		if (n == P3L_MAX_MD)		/* in a circle */
			return 0;
		i = pop(ni);
	}
	return i;
}

static __attribute__((__noinline__)) void drop_vector(struct p3l_ni *ni, struct p3l_md *md)
{
	p3l_space_free(ni, md->iov, md->iov_log2);
	md->iov = 0;
}

static inline __attribute__((__always_inline__)) uint32_t md_alloc(struct p3l_ni *ni)
{
	uint32_t i = leave_limbo(ni, 1);

	if (p3_unlikely(i))
		goto out;
	i = pop(ni);
	if (i && p3_unlikely(named(ni, p3l_md(ni, i - 1))))
		i = pop_more(ni, i);
	if (!i && ni->md_fresh < P3L_MAX_MD && ni->md_fresh < ni->max_md)
		i = ++ni->md_fresh;
	if (p3_unlikely(!i))			/* a queue that nobody reads must not hold up the others */
		i = leave_limbo(ni, P3L_MAX_MD);
	if (!i)
		return 0;
out:
	if (p3l_md(ni, i - 1)->iov)
		drop_vector(ni, p3l_md(ni, i - 1));
	return i;
}

/* Has retired vector @i been given back, since no operation from before the update is under way any more? own_lock */
static bool retired_over(struct p3l_ni *ni, uint32_t i)
{
	struct p3l_retired *r = &ni->retired[i];
	const struct p3l_md *md = p3l_md(ni, r->md % P3L_MAX_MD);

	if (r->iov && p3_load(&md->gen) == r->md_gen && p3_load_acq(&md->pending))
		return false;
	if (r->iov)
		p3l_space_free(ni, r->iov, r->log2);
	r->iov = 0;
	return true;
}

/* The vector of @md, which movers may still walk, has no place in it any more. */
static __attribute__((__noinline__)) void retire(struct p3l_ni *ni, const struct p3l_md *md)
{
	uint32_t i;

	for (i = 0; i < P3L_RETIRED && !retired_over(ni, i); i++)
		;
	if (i < P3L_RETIRED)		/* else it is lost until PtlNIFini */
		ni->retired[i] = (struct p3l_retired){ md->iov, md->iov_log2, (uint32_t)(md - p3l_md(ni, 0)), md->gen };
}

/* Nobody walks the vector of an MD that is free. */
__attribute__((__noinline__)) uint64_t p3l_md_room(struct p3l_ni *ni, uint32_t log2)
{
	uint64_t off = p3l_space_alloc(ni, log2);

	if (p3_likely(off))
		return off;
	for (uint32_t i = 0; i < ni->md_fresh && i < P3L_MAX_MD; i++) {
		struct p3l_md *md = p3l_md(ni, i);

		if (md->iov && !p3_load_acq(&md->flags))
			drop_vector(ni, md);
	}
	for (uint32_t i = 0; i < P3L_RETIRED; i++)
		retired_over(ni, i);
	return p3l_space_alloc(ni, log2);
}

void p3l_md_push(struct p3l_ni *ni, uint32_t idx)
{
	struct p3l_md *md = p3l_md(ni, idx);
	uint32_t old;

	do {
		old = p3_load(&ni->md_free);
		md->free_next = old;
	} while (!p3_cas32(&ni->md_free, old, idx + 1));	/* M:unlink.push */
}

static void md_push(struct p3l_ni *ni, uint32_t idx)
{
	struct p3l_md *md = p3l_md(ni, idx);

	p3_store(&md->flags, 0);	/* M:unlink.unused */
	p3_store_rel(&md->gen, md->gen + 1);	/* M:unlink.next-gen */
	P3L_POINT("md freed");
	p3l_md_push(ni, idx);
}

/* Bytes of a vector, or UINT64_MAX when they overflow. */
static uint64_t iov_total(const struct p3l_iov *v, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		if (v[i].len > (uint64_t)INT64_MAX - sum)
			return UINT64_MAX;
		sum += v[i].len;
	}
	return sum;
}

static int check(const struct p3l_ni *ni, const struct p3l_md_args *a)
{
	const ptl_md_t *m = a->md;

	if (m->options & PTL_MD_IOVEC) {
		if (m->length > ni->max_iov || (m->length && !a->iov))
			return PTL_MD_ILLEGAL;
		return iov_total(a->iov, m->length) == UINT64_MAX ? PTL_MD_ILLEGAL : PTL_OK;
	}
	/* the region must not wrap; NULL with a length is taken at its word (a window over the whole process) */
	return m->length > UINT64_MAX - (uint64_t)(uintptr_t)m->start ? PTL_MD_ILLEGAL : PTL_OK;
}

/* Owner, own_lock held when there is a vector. The MD is not visible to matching yet, or locked. */
static inline __attribute__((__always_inline__)) int fill(struct p3l_ni *ni, struct p3l_md *md,
							  const struct p3l_md_args *a, bool busy)
{
	const ptl_md_t *m = a->md;
	uint64_t iov = 0;
	uint32_t log2 = 4, n = 0, flags;
	int eq;

	if (m->options & PTL_MD_IOVEC) {
		n = (uint32_t)m->length;
		while ((1u << log2) < n * sizeof(struct p3l_iov))
			log2++;
		iov = p3l_md_room(ni, log2);
		if (!iov)
			return PTL_NO_SPACE;
		p3l_copy((char *)ni + iov, a->iov, n * sizeof(struct p3l_iov));
	}
	if (md->iov && busy)
		retire(ni, md);
	else if (md->iov)
		p3l_space_free(ni, md->iov, md->iov_log2);
	md->iov = iov;
	md->iov_n = n;
	md->iov_log2 = log2;
	md->user_ptr = (uint64_t)(uintptr_t)m->user_ptr;
	md->user_length = m->length;
	md->start = (uint64_t)(uintptr_t)m->start;
	md->length = iov ? iov_total(a->iov, n) : m->length;
	md->offset = 0;
	md->max_size = m->max_size;
	md->options = m->options & ~PTL_MD_XT_NP;
	if (md->eq != a->eq || !(md->flags & P3L_MD_USED)) {
		eq = p3l_eq_of(ni, a->eq);
		if (eq >= 0)
			md->last_ticket = ni->eq[eq].head - 1;
		md->eq = a->eq;
	}
	flags = (md->flags & (P3L_MD_USED | P3L_MD_UNLINK | P3L_MD_MADE)) | (a->flags & P3L_MD_DIRECT);
	if (m->options & PTL_MD_XT_NP)
		flags |= P3L_MD_XT;
	if (m->threshold == PTL_MD_THRESH_INF && !a->eq && !iov && !(m->options & PTL_MD_MAX_SIZE))
		flags |= P3L_MD_PLAIN;
	p3_store_rel(&md->flags, flags);
	p3_store_rel(&md->threshold, m->threshold < PTL_MD_THRESH_INF ? 0 : m->threshold);	/* M:unlink.threshold */
	return PTL_OK;
}

/* There was no space for the vector of an MD: is there now? No lock. */
static __attribute__((__noinline__)) bool more_room(const struct p3l_env *env, struct p3l_ni *ni,
						    const struct p3l_md_args *a)
{
	return (a->md->options & PTL_MD_IOVEC) && p3l_eq_give_back(env, ni);
}

/* A filled MD on no list, not live yet: index + 1. own_lock; the arguments have been checked */
static int make_locked(struct p3l_ni *ni, const struct p3l_md_args *a, ptl_unlink_t op, uint32_t *out)
{
	struct p3l_md *md;
	int rc;

	*out = md_alloc(ni);
	if (!*out)
		return PTL_NO_SPACE;
	md = p3l_md(ni, *out - 1);
	p3_store(&md->me, 0);	/* M:unlink.make-me */
	p3_store(&md->flags, P3L_MD_MADE | (op == PTL_UNLINK ? P3L_MD_UNLINK : 0));	/* M:unlink.make */
	md->pending = 0;
	rc = fill(ni, md, a, false);
	if (rc != PTL_OK)
		md_push(ni, *out - 1);
	return rc;
}

static int make(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_md_args *a, ptl_unlink_t op,
		uint32_t *out)
{
	int rc = check(ni, a);

	if (rc != PTL_OK)
		return rc;
again:
	p3l_own_lock(env, ni);
	rc = make_locked(ni, a, op, out);
	p3l_own_unlock(env, ni);
	if (p3_unlikely(rc == PTL_NO_SPACE) && more_room(env, ni, a))
		goto again;
	return rc;
}

static struct p3l_ref ref_of(const struct p3l_ni *ni, uint32_t i)
{
	return (struct p3l_ref){ i - 1, p3l_md(ni, i - 1)->gen & P3L_GEN_MASK };
}

int p3l_md_bind(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_md_args *a, ptl_unlink_t op,
		struct p3l_ref *out)
{
	uint32_t i;
	int rc = make(env, ni, a, op, &i);

	if (rc != PTL_OK)
		return rc;
	*out = ref_of(ni, i);
	p3_store_rel(&p3l_md(ni, i - 1)->flags, p3l_md(ni, i - 1)->flags | P3L_MD_USED);
	return PTL_OK;
}

int p3l_md_attach(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref me, const struct p3l_md_args *a,
		  ptl_unlink_t op, struct p3l_ref *out)
{
	uint32_t i, pt;
	int rc = make(env, ni, a, op, &i);

	if (rc != PTL_OK)
		return rc;
	rc = p3l_me_lock(env, ni, me, &pt);
	if (rc != PTL_OK)
		goto err_free;
	if (p3l_me(ni, me.idx)->md) {
		p3l_unlock(ni, pt);
		rc = PTL_ME_IN_USE;
		goto err_free;
	}
	*out = ref_of(ni, i);
	p3_store(&p3l_md(ni, i - 1)->me, me.idx + 1);
	p3_store_rel(&p3l_md(ni, i - 1)->flags, p3l_md(ni, i - 1)->flags | P3L_MD_USED);
	p3l_changes(ni, pt);
	p3_store_rel(&p3l_me(ni, me.idx)->md, i);
	p3l_unlock(ni, pt);
	return PTL_OK;
err_free:
	md_push(ni, i - 1);
	return rc;
}

/* Lock a live MD, attached or not: PTL_OK with @pt locked, or PTL_MD_INVALID. */
int p3l_md_lock(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r, uint32_t *pt)
{
	struct p3l_md *md;

	if (r.idx >= P3L_MAX_MD)
		return PTL_MD_INVALID;
	md = p3l_md(ni, r.idx);
	for (;;) {
		uint32_t me = p3_load(&md->me);	/* M:unlink.md-me */

		if (!(p3_load_acq(&md->flags) & P3L_MD_USED) ||		/* M:unlink.md-used */
		    (p3_load(&md->gen) & P3L_GEN_MASK) != r.gen ||	/* M:unlink.md-gen */
		    me > P3L_MAX_ME)
			return PTL_MD_INVALID;
		*pt = me ? p3_load(&p3l_me(ni, me - 1)->pt) : P3L_MAX_PT + r.idx % P3L_PT_STRIPES; /* M:unlink.me-pt */
		if (*pt >= P3L_MAX_PT + P3L_PT_STRIPES)
			return PTL_MD_INVALID;
		p3l_lock(env, ni, *pt);
		if (p3_load(&md->me) == me && (md->flags & P3L_MD_USED) &&	/* M:unlink.md-again */
		    (p3_load(&md->gen) & P3L_GEN_MASK) == r.gen)
			return PTL_OK;
		p3l_unlock(ni, *pt);
	}
}

/*
 * In an order that repair can go on from (reap.c): the ME leaves the list, the MD is freed, and last the ME, so that
 * as long as the MD can be found, its ME says under which lock it stands.
 */
static inline __attribute__((__always_inline__)) void free_locked(struct p3l_ni *ni, uint32_t idx, bool own)
{
	struct p3l_md *md = p3l_md(ni, idx);
	uint32_t me = md->me;
	bool out = false;

	P3_PROBE3(unlink, ni, idx, me);
	P3_TRACED(unlink(ni, idx));
	if (me && me <= P3L_MAX_ME) {
		out = p3l_me(ni, me - 1)->flags & P3L_ME_UNLINK;
		p3l_changes(ni, p3l_me(ni, me - 1)->pt);
		if (out)
			p3l_me_out_locked(ni, me - 1);
		else
			p3l_me(ni, me - 1)->md = 0;
	}
	if (own) {
		md->flags = 0;
		md->gen++;
		md->free_next = ni->md_spare;
		ni->md_spare = idx + 1;
	} else {
		md_push(ni, idx);
	}
	if (out && own)
		p3l_me_free_own(ni, me - 1);
	else if (out)
		p3l_me_free(ni, me - 1);
}

void p3l_md_free_locked(struct p3l_ni *ni, uint32_t idx)
{
	free_locked(ni, idx, false);
}

void p3l_md_free_own(struct p3l_ni *ni, uint32_t idx)
{
	free_locked(ni, idx, true);
}

/* Log UNLINK of a spent MD and free it. [lock] */
void p3l_md_go_locked(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx, const struct p3l_slot *cause)
{
	struct p3l_md *md = p3l_md(ni, idx);
	struct p3l_slot ev = *cause;
	int q = p3l_eq_of(ni, md->eq);	/* not that of the operation: an update may have changed it */

	if (q >= 0 && p3l_md_tells(md)) {
		uint32_t t = p3l_eq_reserve(ni, (uint32_t)q);

		P3L_POINT("unlink reserved");
		p3_store(&md->last_ticket, t);
		p3_store_rel(&md->flags, md->flags | P3L_MD_GOING);
		P3L_POINT("going");
		ev.kind_fail = PTL_EVENT_UNLINK;
		ev.link = md->spent_link;
		ev.threshold = md->threshold;	/* of the one that used it up, not of the one that ended last */
		p3l_eq_post(env, ni, (uint32_t)q, t, &ev);
		P3L_POINT("unlink posted");
	}
	p3l_md_free_locked(ni, idx);
}

/*
 * An operation on a spent MD has ended with none left pending: unlink it, if nobody did, and log UNLINK with the link
 * of the operation that used it up (3.3: last event of the MD, whichever operation ended last).
 */
void p3l_md_done(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx, const struct p3l_slot *cause)
{
	struct p3l_md *md = p3l_md(ni, idx);
	uint32_t pt;

	if (p3l_md_lock(env, ni, (struct p3l_ref){ idx, cause->md_gen & P3L_GEN_MASK }, &pt) != PTL_OK)
		return;
	if ((md->flags & (P3L_MD_SPENT | P3L_MD_UNLINK)) == (P3L_MD_SPENT | P3L_MD_UNLINK) &&
	    !p3_load_acq(&md->pending))	/* M:unlink.done */
		p3l_md_go_locked(env, ni, idx, cause);
	p3l_unlock(ni, pt);
}

/* An explicit unlink is told only where the owner has asked for it. [lock] */
void p3l_md_told_locked(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx)
{
	struct p3l_md *md = p3l_md(ni, idx);
	struct p3l_slot ev = { .md = (uint16_t)idx, .md_gen = (uint16_t)md->gen, .kind_fail = PTL_EVENT_UNLINK };
	int q;

	if (p3_likely(!(md->options & PTL_MD_UNLINK_EVENT_MANUAL_NP)))
		return;
	q = p3l_eq_of(ni, md->eq);
	if (q < 0)
		return;
	ev.threshold = md->threshold;
	ev.initiator = (uint16_t)ni->slot;
	ev.link = md->last_ticket = p3l_eq_reserve(ni, (uint32_t)q);
	if (md->me && md->me <= P3L_MAX_ME)
		ev.pt = (uint8_t)p3l_me(ni, md->me - 1)->pt;
	p3l_eq_post(env, ni, (uint32_t)q, ev.link, &ev);
}

/* How many records say that their operation on @md is over, but for leaving it. -1: one of the dead does. */
static int leaving(const struct p3l_env *env, const struct p3l_ni *ni, uint32_t idx)
{
	int n = 0;

	for (uint32_t s = 0; s < p3l_slots(ni); s++)
		for (uint32_t k = 0; k < P3L_OPS; k++) {
			const struct p3l_op *op = &p3l_row(ni, s)->op[k];
			uint32_t state = p3_load_acq(&op->state);

			if ((state != P3L_OP_END && state != P3L_OP_LEAVE) || p3_load(&op->md) != idx)
				continue;
			if (!env->alive(s))
				return -1;
			n++;
		}
	return n;
}

/*
 * A mover posts its event, then leaves the MD. Who has seen the events of all operations may unlink it, so those who
 * have only to leave are waited for; not one who is stopped there for long. False: it is in use.
 */
__attribute__((__noinline__)) bool p3l_md_left(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx)
{
	const struct p3l_md *md = p3l_md(ni, idx);

	for (unsigned n = 1; n <= LEAVE_PATIENCE; n++) {
		uint32_t pending = p3_load_acq(&md->pending);

		if (!pending)
			return true;
		if (leaving(env, ni, idx) != (int)pending && p3_load_acq(&md->pending) == pending)
			return false;	/* data are moving; or sends and replies of our own, which have no record */
		env->relax(n);
	}
	return false;
}

int p3l_md_unlink(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r)
{
	const uint32_t goes = P3L_MD_SPENT | P3L_MD_UNLINK;
	uint32_t pt;
	unsigned n = 0;
	int rc;

again:
	rc = p3l_md_lock(env, ni, r, &pt);
	if (rc != PTL_OK)
		return rc;
	if (p3_load_acq(&p3l_md(ni, r.idx)->pending)) {	/* M:unlink.md-in-use */
		p3l_unlock(ni, pt);
		if (p3l_md_left(env, ni, r.idx))
			goto again;
		return PTL_MD_IN_USE;
	}
	if (p3_unlikely((p3l_md(ni, r.idx)->flags & goes) == goes)) {
		/* It has had its last message, and who brought that is about to unlink it: this is too late. */
		p3l_unlock(ni, pt);
		env->relax(++n);
		if (n <= LEAVE_PATIENCE)
			goto again;
		return PTL_MD_IN_USE;
	}
	p3l_md_told_locked(env, ni, r.idx);
	p3l_md_free_locked(ni, r.idx);
	p3l_unlock(ni, pt);
	return PTL_OK;
}

/* old->eq_handle is given back packed; the caller makes a handle of it. */
static void read_md(const struct p3l_ni *ni, const struct p3l_md *md, ptl_md_t *old, struct p3l_iov *iov,
		    uint32_t iov_n)
{
	if (iov && md->iov)
		p3l_copy(iov, (const char *)ni + md->iov,
			 (iov_n < md->iov_n ? iov_n : md->iov_n) * sizeof(struct p3l_iov));
	old->start = (void *)(uintptr_t)md->start;
	old->length = md->user_length;
	old->threshold = md->threshold;
	old->max_size = md->max_size;
	old->options = md->options;
	old->user_ptr = (void *)(uintptr_t)md->user_ptr;
	old->eq_handle = md->eq;
}

/*
 * Before an update: *@keep gets a copy of what events show of @md, index + 1, or 0 where none will show it: all have
 * been read, or there was none since the last update. own_lock, lock
 */
static __attribute__((__noinline__)) int keep_old(struct p3l_ni *ni, const struct p3l_md *md, uint32_t idx, bool busy,
						  uint32_t *keep)
{
	struct p3l_md *k;

	*keep = 0;
	if (p3l_eq_of(ni, md->eq) < 0 || !(busy || unread(ni, md->eq, md->last_ticket)) ||
	    (md->older && (int32_t)(md->last_ticket - md->since) < 0))
		return PTL_OK;
	*keep = md_alloc(ni);
	if (!*keep)
		return PTL_NO_SPACE;
	k = p3l_md(ni, *keep - 1);
	k->start = md->start;
	k->user_length = md->user_length;
	k->user_ptr = md->user_ptr;
	k->max_size = md->max_size;
	k->options = md->options;
	k->eq = md->eq;
	k->last_ticket = md->last_ticket;
	k->older = md->older;
	k->since = md->since;
	k->of = idx + 1;
	k->pending = busy;
	k->of_gen = md->gen;
	p3_store(&k->flags, 0);
	return PTL_OK;
}

/* Other threads that read from these queues stay outside: what they show may be the MD's. */
static void hold_readers(const struct p3l_env *env, struct p3l_ni *ni, int a, int b, bool hold)
{
	int first = a < b ? a : b, second = a < b ? b : a;

	if (first == second)
		first = -1;
	for (int i = 0; i < 2; i++) {
		int eq = i ? second : first;

		if (eq < 0)
			continue;
		if (hold)
			p3l_eq_lock(env, ni, (uint32_t)eq);
		else
			p3l_eq_unlock(env, ni, (uint32_t)eq);
	}
}

/* own_lock, lock */
static int update(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx, uint32_t pt, const struct p3l_md_args *a,
		  bool busy)
{
	struct p3l_md *md = p3l_md(ni, idx);
	int was = p3l_eq_of(ni, md->eq), now = p3l_eq_of(ni, a->eq);
	uint32_t keep;
	int rc = keep_old(ni, md, idx, busy, &keep);

	if (rc != PTL_OK)
		return rc;
	p3l_changes(ni, pt);
	hold_readers(env, ni, was, now, true);
	rc = fill(ni, md, a, busy);
	if (rc == PTL_OK) {
		if (now >= 0)
			md->since = p3_load_acq(&ni->eq[now].tail);
		if (keep)
			p3_store_rel(&md->older, keep);
	}
	hold_readers(env, ni, was, now, false);
	if (!keep)
		return rc;
	if (rc == PTL_OK) {
		to_limbo(ni, keep);
	} else {
		p3l_md(ni, keep - 1)->eq = p3l_md(ni, keep - 1)->of = p3l_md(ni, keep - 1)->older = 0;
		p3l_md(ni, keep - 1)->pending = 0;
		p3l_md_push(ni, keep - 1);
	}
	return rc;
}

/* @test_eq: index of a queue that must be idle, or -1. 3.10.6; reserved tickets count as "not empty". */
int p3l_md_update(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref r, ptl_md_t *old,
		  struct p3l_iov *old_iov, uint32_t old_iov_n, const struct p3l_md_args *a, int test_eq)
{
	struct p3l_md *md;
	uint32_t pt;
	int rc = a ? check(ni, a) : PTL_OK;

	if (rc != PTL_OK)
		return rc;
again:
	p3l_own_lock(env, ni);
	rc = p3l_md_lock(env, ni, r, &pt);
	if (rc != PTL_OK)
		goto out;
	md = p3l_md(ni, r.idx);
	if (old)
		read_md(ni, md, old, old_iov, old_iov_n);
	if (a) {
		bool busy = p3_load_acq(&md->pending) != 0;

		if (test_eq >= 0 && (busy || !p3l_eq_idle(ni, (uint32_t)test_eq))) {
			rc = PTL_MD_NO_UPDATE;
		} else {
			rc = update(env, ni, r.idx, pt, a, busy);
		}
	}
	p3l_unlock(ni, pt);
out:
	p3l_own_unlock(env, ni);
	if (p3_unlikely(rc == PTL_NO_SPACE) && more_room(env, ni, a))
		goto again;
	return rc;
}

/* Beside @base, or at an end of list @pt when that is NULL. */
static inline __attribute__((__always_inline__)) int memd(
	const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_ref *base, uint32_t pt, ptl_process_id_t id,
	uint64_t bits, uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, const struct p3l_md_args *a,
	ptl_unlink_t op, int test_eq, struct p3l_ref *me_out, struct p3l_ref *md_out)
{
	uint32_t me, md;
	bool alone;
	int rc;

	if (test_eq >= 0 && !p3l_eq_idle(ni, (uint32_t)test_eq))	/* early, without work; decided below */
		return PTL_MD_NO_UPDATE;
	rc = check(ni, a);
	if (rc != PTL_OK)
		return rc;
again:
	p3l_own_lock(env, ni);
	rc = make_locked(ni, a, op, &md);
	if (p3_unlikely(rc != PTL_OK)) {
		p3l_own_unlock(env, ni);
		if (more_room(env, ni, a))
			goto again;
		return rc;
	}
	p3l_index_room(ni, base, pt);
	me = p3l_me_alloc(ni);
	p3l_own_unlock(env, ni);
	if (!me) {
		rc = PTL_NO_SPACE;
		goto err_md;
	}
	if (base) {
		rc = p3l_me_enter(env, ni, *base, &pt, &alone);
		if (rc != PTL_OK)
			goto err_me;
	} else {
		alone = p3l_pt_alone(env, pt);
		if (!alone)
			p3l_lock(env, ni, pt);
	}
	if (test_eq >= 0 && !p3l_eq_idle(ni, (uint32_t)test_eq)) {
		rc = PTL_MD_NO_UPDATE;
		goto err_unlock;
	}
	p3l_me_fill(p3l_me(ni, me - 1), pt, id, bits, ignore, unlink);
	p3l_me(ni, me - 1)->md = md;
	p3_store(&p3l_md(ni, md - 1)->me, me);	/* M:unlink.join */
	p3_store_rel(&p3l_md(ni, md - 1)->flags, p3l_md(ni, md - 1)->flags | P3L_MD_USED);	/* M:unlink.use */
	rc = p3l_me_link_locked(ni, pt, me - 1, base ? base->idx + 1 : 0, pos);
	if (rc != PTL_OK)
		goto err_unlock;
	*me_out = (struct p3l_ref){ me - 1, p3l_me(ni, me - 1)->gen & P3L_GEN_MASK };
	*md_out = ref_of(ni, md);
	if (!alone)
		p3l_unlock(ni, pt);
	return PTL_OK;
err_unlock:
	if (!alone)
		p3l_unlock(ni, pt);
err_me:
	p3l_me_free(ni, me - 1);
err_md:
	p3_store(&p3l_md(ni, md - 1)->me, 0);
	md_push(ni, md - 1);
	return rc;
}

int p3l_memd_post(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref base, ptl_process_id_t id,
		  uint64_t bits, uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos,
		  const struct p3l_md_args *a, ptl_unlink_t op, int test_eq, struct p3l_ref *me, struct p3l_ref *md)
{
	return memd(env, ni, &base, 0, id, bits, ignore, unlink, pos, a, op, test_eq, me, md);
}

int p3l_memd_attach(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt, ptl_process_id_t id, uint64_t bits,
		    uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, const struct p3l_md_args *a,
		    ptl_unlink_t op, struct p3l_ref *me, struct p3l_ref *md)
{
	if (pt > ni->max_pt)
		return PTL_PT_INDEX_INVALID;
	return memd(env, ni, NULL, pt, id, bits, ignore, unlink, pos, a, op, -1, me, md);
}

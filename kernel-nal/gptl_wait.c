// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_wait.c - what the process claims to have read, and sleeping until there is more
 *
 * A claim is believed when it lies between what we know to have been read and the newest event; another one changes
 * nothing. It decides when a queue counts as empty and when a descriptor may be used again: only the claimer's own
 * events can suffer from a lie.
 */
#include <linux/hrtimer.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "gptl.h"

/* Events of queue @eq that have been read, as far as we believe it. */
static u32 head_of(const struct gptl_ni *ni, u32 eq)
{
	const struct p3l_eq *q = &ni->l->eq[eq];
	u32 claim = READ_ONCE(ni->claims[eq]), head = p3_load(&q->head);

	return claim - head <= p3_load_acq(&q->tail) - head ? claim : head;
}

void gptl_claims_take(const struct p3l_env *env, struct gptl_ni *ni)
{
	u32 eq, n = min_t(u32, READ_ONCE(ni->eqs), P3L_MAX_EQ);

	for (eq = 0; eq < n; eq++)
		if (head_of(ni, eq) != p3_load(&ni->l->eq[eq].head)) {
			p3l_eq_lock(env, ni->l, eq);
			p3_store_rel(&ni->l->eq[eq].head, head_of(ni, eq));
			p3l_eq_unlock(env, ni->l, eq);
		}
}

static bool ready(const struct gptl_ni *ni, u32 eq)
{
	const struct p3l_eq *q = &ni->l->eq[eq];
	u32 head = head_of(ni, eq);
	const struct p3l_slot *s;

	if (!(p3_load_acq(&q->flags) & P3L_EQ_USED))
		return true;			/* freed meanwhile: the caller finds out */
	s = p3l_eq_slot(ni->l, q, head);
	return !s || !p3l_eq_early(p3_load_acq(&s->word), head, 1U << (q->log2 & 31));
}

static bool any_ready(const struct gptl_ni *ni, const u32 *eqs, u32 n, u32 wakes)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (ready(ni, eqs[i]))
			return true;
	return READ_ONCE(ni->wakes) != wakes || READ_ONCE(ni->left);
}

static long sleep_until(struct gptl_ni *ni, const u32 *eqs, u32 n, s64 ns)
{
	u32 wakes = READ_ONCE(ni->wakes);
	long rc;

	if (any_ready(ni, eqs, n, wakes))
		return 0;
	if (!ns)
		return -ETIME;
	atomic64_inc(&ni->sleeps);
	if (ns < 0)
		rc = wait_event_interruptible(ni->wq, any_ready(ni, eqs, n, wakes));
	else
		rc = wait_event_interruptible_hrtimeout(ni->wq, any_ready(ni, eqs, n, wakes), ns_to_ktime(ns));
	return rc == -ERESTARTSYS ? -EINTR : rc;
}

#define FEW 16

long gptl_wait(struct gptl_ni *ni, const struct gptl_wait *a)
{
	u32 few[FEW], *eqs = few, i;
	long rc = 0;

	if (!a->n || a->n > P3L_MAX_EQ)
		return -EINVAL;
	if (a->n > FEW)
		eqs = kmalloc_array(a->n, sizeof(*eqs), GFP_KERNEL_ACCOUNT);
	if (!eqs)
		return -ENOMEM;
	if (copy_from_user(eqs, u64_to_user_ptr(a->eqs), a->n * sizeof(*eqs)))
		rc = -EFAULT;
	for (i = 0; !rc && i < a->n; i++)
		if (eqs[i] >= ni->l->max_eq)
			rc = -EINVAL;
	if (!rc)
		rc = sleep_until(ni, eqs, a->n, a->timeout_ns);
	if (eqs != few)
		kfree(eqs);
	return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * polled.c - a portal table entry becomes one where only its owner matches, or is one no longer
 *
 * Two facts are kept apart. ni.polled, which all see, is the promise: from then on others leave puts in the inbox.
 * env.alone, which the owner keeps for itself, says that the others have gone, too: then it needs no lock there.
 *
 * A mover looks at the promise, and later matches; in between it may have been given. So it looks again where it
 * cannot change any more without our waiting for it: under the lock of the entry (p3l_target_begin), or, taking
 * messages from its lane, under the lock of the lane. Both locks are passed through here behind the store of the
 * bit. Whoever had the lock before us has a record if it matched, and is looked for there; whoever takes it later
 * sees the bit.
 */
#include "p3l.h"

static bool others_inside(const struct p3l_env *env, const struct p3l_ni *ni, uint32_t pt)
{
	for (uint32_t s = 0; s < p3l_slots(ni); s++)
		for (uint32_t k = 0; s != env->self - 1 && k < P3L_OPS; k++) {
			const struct p3l_op *op = &p3l_row(ni, s)->op[k];
			uint32_t state = p3_load_acq(&op->state);	/* M:polled.inside */

			/* an acknowledgement's `pt` is that of its MD: it changes an MD that stands in this entry */
			if (state >= P3L_OP_PREP && state < P3L_OP_DONE && p3_load(&op->pt) == pt)
				return true;
		}
	return false;
}

/* Whoever takes messages from a lane of ours has begun behind this. */
static void pass_lanes(const struct p3l_env *env, struct p3l_ni *ni)
{
	for (uint32_t s = 0; s < p3l_slots(ni); s++) {
		struct p3l_lane_hdr *l = p3l_lane(ni, s);

		p3l_lane_lock(env, ni, l, true);
		p3l_lane_unlock(l);
	}
}

bool p3l_pt_polled_set(struct p3l_env *env, struct p3l_ni *ni, uint32_t pt, bool on)
{
	uint64_t bit = (uint64_t)1 << (pt & 63);

	if (!on) {
		env->alone[pt >> 6] &= ~bit;
		pass_lanes(env, ni);		/* one may have found there what we have taken since, without lock */
		p3_fetch_and(&ni->polled[pt >> 6], ~bit);	/* M:polled.off */
		return true;
	}
	p3_fetch_or(&ni->polled[pt >> 6], bit);	/* M:polled.on */
	p3_fence();				/* M:polled.on-fence */
	pass_lanes(env, ni);
	p3l_lock(env, ni, pt);
	p3l_unlock(ni, pt);
	if (others_inside(env, ni, pt))
		return false;
	env->alone[pt >> 6] |= bit;
	return true;
}

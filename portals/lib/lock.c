/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lock.c - waiting for a lock word in shared memory, and taking it from the dead
 *
 * A word holds 0 or slot + 1 of its holder. Whoever waits long looks whether the holder lives; if not, it takes the
 * word over by compare-and-swap and repairs what the dead one left half done (reap.c) before it goes on.
 */
#include "p3l.h"

#define LOOK_AFTER 4096		/* spins before the holder's life is checked */

void p3l_wait_begin(const struct p3l_env *env, struct p3l_ni *ni, uint32_t what, uint32_t index, uint32_t count,
		    struct p3l_wait *w)
{
	*w = (struct p3l_wait){ .what = what, .index = index, .count = count };
	p3l_wait_on(env, ni, w);
}

void p3l_wait_on(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_wait *w)
{
	struct p3l_wait *shown = &p3l_row(ni, env->self - 1)->wait;

	if (env->waits && !w->since)
		env->waits(w);
	if (!p3_load(&shown->what)) {		/* else it is ours by now, or another thread's */
		p3_store(&shown->index, w->index);
		p3_store(&shown->count, w->count);
		p3_store(&shown->since, w->since);
		p3_store_rel(&shown->what, w->what);
	}
	if (env->waits)				/* may tell of it: behind the note */
		env->waits(w);
}

void p3l_wait_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_wait *w)
{
	struct p3l_wait *shown = &p3l_row(ni, env->self - 1)->wait;

	if (w->what && p3_load(&shown->what) == w->what && p3_load(&shown->since) == w->since)
		p3_store_rel(&shown->what, P3L_WAIT_NONE);
	w->what = P3L_WAIT_NONE;
}

/* Which lock is it? */
static void name_wait(const struct p3l_env *env, struct p3l_ni *ni, const uint32_t *lock, struct p3l_wait *w)
{
	uint64_t off = (uint64_t)((const char *)lock - (const char *)ni), lane = off - P3L_LANE_OFF;
	uint32_t what = P3L_WAIT_LOCK, index = 0;

	if (off - offsetof(struct p3l_ni, pt) < sizeof(ni->pt)) {
		what = P3L_WAIT_PORTAL;
		index = (uint32_t)((off - offsetof(struct p3l_ni, pt)) / sizeof(ni->pt[0]));
	} else if (off == offsetof(struct p3l_ni, own_lock)) {
		what = P3L_WAIT_OWN;
	} else if (off - offsetof(struct p3l_ni, swap) < sizeof(ni->swap)) {
		what = P3L_WAIT_SWAP;
		index = (uint32_t)((off - offsetof(struct p3l_ni, swap)) / sizeof(ni->swap[0]));
	} else if (off >= P3L_LANE_OFF && lane / P3L_LANE_STRIDE < p3l_slots(ni)) {
		what = P3L_WAIT_LANE;
		index = (uint32_t)(lane / P3L_LANE_STRIDE);
	}
	p3l_wait_begin(env, ni, what, index, 1, w);
}

uint32_t p3l_lock_slow(const struct p3l_env *env, struct p3l_ni *ni, uint32_t *lock, int pt)
{
	struct p3l_wait w = { 0 };
	unsigned spins = 0;
	uint32_t holder;

	for (;;) {
		holder = p3_load(lock);
		if (holder == 0) {
			if (p3_cas32(lock, 0, env->self))
				break;
			continue;
		}
		env->relax(++spins);
		if (spins % LOOK_AFTER)
			continue;
		if (w.what)
			p3l_wait_on(env, ni, &w);
		else
			name_wait(env, ni, lock, &w);
		if (holder == env->self || env->alive(holder - 1) || !p3_cas32(lock, holder, env->self))
			continue;
		p3l_count(env, &p3l_row(ni, env->self - 1)->stats.takeovers, 1);
		if (pt >= 0)
			p3l_repair(env, ni, (uint32_t)pt);
		break;
	}
	if (p3_unlikely(w.what))
		p3l_wait_end(env, ni, &w);
	return holder;
}

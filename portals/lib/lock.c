/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lock.c - waiting for a lock word in shared memory, and taking it from the dead
 *
 * A word holds 0 or slot + 1 of its holder. Whoever waits long looks whether the holder lives; if not, it takes the
 * word over by compare-and-swap and repairs what the dead one left half done (reap.c) before it goes on.
 */
#include "p3l.h"

#define LOOK_AFTER 4096		/* spins before the holder's life is checked */

uint32_t p3l_lock_slow(const struct p3l_env *env, struct p3l_ni *ni, uint32_t *lock, int pt)
{
	unsigned spins = 0;

	for (;;) {
		uint32_t holder = p3_load(lock);

		if (holder == 0) {
			if (p3_cas32(lock, 0, env->self))
				return 0;
			continue;
		}
		env->relax(++spins);
		if (spins % LOOK_AFTER || holder == env->self)
			continue;
		if (env->alive(holder - 1) || !p3_cas32(lock, holder, env->self))
			continue;
		p3l_count(env, &p3l_row(ni, env->self - 1)->stats.takeovers, 1);
		if (pt >= 0)
			p3l_repair(env, ni, (uint32_t)pt);
		return holder;
	}
}

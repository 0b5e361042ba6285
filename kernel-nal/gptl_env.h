/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * gptl_env.h - what the core needs of its surroundings (struct p3l_env, memory), met by the kernel
 *
 *	need		user space (nal/smartmap)		kernel
 *	mover		the process; slot = local rank		the processor; slot = its number modulo GPTL_SLOTS
 *	lock holder	may die: alive() asks its mutex		cannot die between gptl_enter() and gptl_leave()
 *	waiting		pause, later sched_yield()		cpu_relax(): holders do not sleep, waits are short
 *	memory of an NI	smartmap_alloc(), seen by peers		__vmalloc(), charged to its owner, who may read it
 *	clock, log	none: the core has no time and prints nothing
 *	moving bytes	not the core's: the NAL copies between p3l_target_begin() and p3l_target_end()
 *
 * The core runs in system calls and in softirqs. A softirq that found a lock word held by the call that it
 * interrupted would wait for ever, so every use of the core on a kernel NI stands between gptl_enter() and
 * gptl_leave(): bottom halves are off and the processor stays. Processors beyond GPTL_SLOTS share rows, as threads of
 * a process do: counters are added to atomically, records are taken by compare-and-swap. It must not be used in hard
 * interrupts.
 */
#ifndef GPTL_ENV_H
#define GPTL_ENV_H

#include <linux/bottom_half.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include "p3l.h"

static inline bool gptl_alive(uint32_t slot)
{
	return true;
}

static inline void gptl_relax(unsigned int spins)
{
	cpu_relax();
}

#define GPTL_SLOTS	8U		/* rows of operation records in an NI: 64 operations at a time */
#define GPTL_LINK	GPTL_SLOTS	/* one more row: of the engine to other nodes, which has a lock of its own */
#define GPTL_ROWS	(GPTL_SLOTS + 1)

/* Fill @env for this processor. The NI must have been set up with GPTL_ROWS. */
static inline void gptl_enter(struct p3l_env *env)
{
	local_bh_disable();
	env->self = (uint32_t)smp_processor_id() % GPTL_SLOTS + 1;
	env->single = false;		/* counters of a row are also read, and rows reaped, by others */
	env->alive = gptl_alive;
	env->relax = gptl_relax;
}

static inline void gptl_leave(void)
{
	local_bh_enable();
}

/* Zeroed memory for an NI, or NULL: whole pages, of the control group of whoever asks. May sleep. */
static inline struct p3l_ni *gptl_region_alloc(const struct p3l_setup *s)
{
	uint64_t size = p3l_ni_size(s);

	if (s->n_slots > P3L_MAX_SLOTS || size >= SIZE_MAX)
		return NULL;
	return __vmalloc((size_t)size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

static inline void gptl_region_free(struct p3l_ni *ni)
{
	vfree(ni);
}

#endif

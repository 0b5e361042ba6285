/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * net.h - PEs that loads and stores do not reach: operations on them by Portals
 *
 * Only where shmemi.net is set: the job has several nodes, or PTL_SMARTMAP=no sends what PEs of one node do to each
 * other through Portals as well. All of it may be called by any thread at any time.
 */
#ifndef SHMEMI_NET_H
#define SHMEMI_NET_H

#include "far.h"
#include "shmemi.h"

/*
 * Who waits for operations: on the stack of a call, or longer. A tolerant one is told of what has failed; without it
 * the job ends.
 */
struct shmemi_waiter {
	uint32_t left;			/* operations that it waits for; changed by whoever reads their events */
	int pe;				/* on which, where that is one */
	bool tolerant;
	/* nothing is shown there; it cannot be touched; other reasons. Before left */
	uint32_t refused, unreachable, failed;
} __attribute__((aligned(8)));

/* Memory of another PE: portal, key of the segment, offset in it. */
struct shmemi_net_to {
	uint32_t pt, key;
	uint64_t off;
};

/* init.c. 0, -1: a sentence has been printed. Others may reach this PE when it has returned. */
int shmemi_net_start(void);
/* All PEs of the node have started: wait until those of all nodes have, in the first PE of each. 0. */
int shmemi_net_meet(void);
/* At the end, between two barriers: behind the second this PE begins no operation any more, and hears of none. */
void shmemi_net_last(void);
void shmemi_net_stop(void);

/* As in far.h; @nbi: it may return before it is done, quiet says when it is. */
void shmemi_net_put(const char *routine, void *sym, const void *own, size_t n, int pe, bool nbi);
void shmemi_net_get(const char *routine, void *own, const void *sym, size_t n, int pe, bool nbi);
uint64_t shmemi_net_amo(const char *routine, enum shmemi_amo op, void *sym, unsigned size, uint64_t value,
			uint64_t cond, int pe);
/* @fetch: where the old value goes until quiet, or NULL. */
void shmemi_net_amo_nbi(const char *routine, enum shmemi_amo op, void *sym, unsigned size, uint64_t value,
			uint64_t cond, int pe, void *fetch);

/*
 * For libraries above (lower.h): the same operations, each counted in @w until it is done and seen there. @old: 8
 * bytes, or NULL. show: memory at @pt by @key (1 to SHMEMI_NET_KEYS, key 0: whatever no key fits to is refused), a
 * PTL_ code.
 */
#define SHMEMI_NET_KEYS	0x7ffeu
bool shmemi_net_place(const void *sym, size_t len, struct shmemi_net_to *to);
void shmemi_net_put_to(const struct shmemi_net_to *to, const void *own, size_t n, int pe, struct shmemi_waiter *w);
void shmemi_net_get_to(const struct shmemi_net_to *to, void *own, size_t n, int pe, struct shmemi_waiter *w);
void shmemi_net_amo_to(const struct shmemi_net_to *to, enum shmemi_amo op, uint64_t value, uint64_t cond, int pe,
		       void *old, struct shmemi_waiter *w);
int shmemi_net_show(uint32_t pt, uint32_t key, void *at, size_t len, uint32_t *handle);
void shmemi_net_hide(uint32_t handle);
/* One step of waiting for an operation; @steps begins with 0. */
void shmemi_net_step(struct shmemi_wait *w);

/* What @pe tells the others, as it is now. */
void shmemi_net_ctl(int pe, struct shmemi_ctl *ctl);

/* Is @len bytes at @sym symmetric, so that a PE of another node has it, too? */
bool shmemi_net_symmetric(const void *sym, size_t len);

/* All nodes have come here: by the last PE of each, in barrier number @turn. */
void shmemi_net_barrier(uint32_t turn);

/* Take what has come for this PE's own operations. */
void shmemi_net_progress(void);

/* Now and then, while something is awaited: ends the job when a PE of another node has ended. */
void shmemi_net_look(void);

/* Tell the PEs of other nodes that the job ends. Returns, whatever they say, after a second at most. */
void shmemi_net_exit(uint32_t leaving);

#endif

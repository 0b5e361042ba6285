/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lower.h - what other one-sided libraries stand on: job, symmetric memory and PEs that Portals reaches
 *
 * libdmapp is one. It shares the job with SHMEM: one start, one symmetric heap, one set of windows, so that an object
 * of either is one of the other, and atomic operations of both are atomic with each other. The one name that libsma
 * exports for that is shmemi_lower_. Callers check their arguments themselves: what a function here is given makes
 * sense.
 */
#ifndef SHMEMI_LOWER_H
#define SHMEMI_LOWER_H

#include "net.h"
#include "shmemi.h"

struct shmemi_heap_stats {
	uint64_t size, used, largest;	/* bytes: all, in blocks, of the longest hole */
	uint64_t blocks;		/* in use */
};

struct shmemi_lower {
	struct shmemi *job;		/* read only */
	/* Collective and counted, with shmem_init() and shmem_finalize(). start: 0, -1: a sentence has been printed. */
	int (*start)(void);
	void (*end)(void);
	/* sym is symmetric, pe there is: where it is here, NULL: not in a window. */
	void *(*at)(const void *sym, size_t len, int pe);
	/* A copy to memory of another process, which it may be the first to touch. */
	void (*copy_out)(void *d, const void *s, size_t n);
	void (*wait_step)(struct shmemi_wait *w);
	void (*looked)(void);		/* after a look in vain: ends the job, by and by, when a PE has died */
	void (*barrier)(void);

	/* The heap without a barrier and without a comparison. NULL: full; false: no block begins there. */
	void *(*take)(size_t size);
	bool (*give)(void *p);
	bool (*resize)(void *p, size_t size, size_t *old);	/* in place; false: not there. *old: 0: no block */
	void (*stats)(struct shmemi_heap_stats *s);

	/* net.h, where job->net is set */
	bool (*place)(const void *sym, size_t len, struct shmemi_net_to *to);
	void (*put)(const struct shmemi_net_to *to, const void *own, size_t n, int pe, struct shmemi_waiter *w);
	void (*get)(const struct shmemi_net_to *to, void *own, size_t n, int pe, struct shmemi_waiter *w);
	void (*amo)(const struct shmemi_net_to *to, enum shmemi_amo op, uint64_t value, uint64_t cond, int pe,
		    void *old, struct shmemi_waiter *w);
	int (*show)(uint32_t pt, uint32_t key, void *at, size_t len, uint32_t *handle);
	void (*hide)(uint32_t handle);
	void (*net_step)(struct shmemi_wait *w);
	void (*net_progress)(void);
	void (*net_quiet)(void);
};

extern const struct shmemi_lower shmemi_lower_ __attribute__((visibility("default")));

/* rma.c */
void shmemi_copy_out(void *d, const void *s, size_t n);
/* heap.c */
void *shmemi_heap_take(size_t size);
bool shmemi_heap_give(void *p);
bool shmemi_heap_resize(void *p, size_t size, size_t *old);
void shmemi_heap_stats(struct shmemi_heap_stats *s);

#endif

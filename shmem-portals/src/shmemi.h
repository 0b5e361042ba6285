/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmemi.h - inside libsma: who we are, where the symmetric objects of the other PEs are seen here, errors
 *
 * Three kinds of symmetric address, tried in this order: the heap (one block of arena memory per PE, always in the
 * window); the data of the executable, when the peer has adopted all of it; anything else, piece by piece.
 */
#ifndef SHMEMI_H
#define SHMEMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pshmem.h>
#include "shmemi_order.h"

#define SHMEMI_ROOT	12		/* smartmap.h: 12-15 are libsma's */
#define SHMEMI_MAGIC	0x53484d31u	/* "SHM1" */

/* What a PE tells the others; in arena memory. Written before the barrier of init, but for last[]. */
struct shmemi_ctl {
	uint32_t magic, pe;
	uint64_t heap, heap_size;
	struct {
		uint64_t size, off;	/* arguments and result of an allocation */
	} last[2];			/* by number of the allocation: see agree() in heap.c */
};

/* Seen by all PEs of the node: smartmap_shared(). */
struct shmemi_shared {
	uint32_t arrived;		/* barrier: PEs that have come */
	uint32_t pad0[15];
	uint32_t turn;			/* barrier: its number */
	uint32_t pad1[15];
	uint32_t leaving;		/* global_exit: status | 1 << 31 */
};

struct shmemi_peer {
	uintptr_t heap;			/* its heap, in this process; 0: not looked up yet */
	uintptr_t data;			/* its executable's data, in this process; 0: not looked up yet, or not adopted */
	struct shmemi_ctl *ctl;
	int local;			/* number for libsmartmap; -1: on another node */
	bool looked;
};

struct shmemi {
	int pe, n_pes, inits;
	uintptr_t heap, data;		/* own */
	size_t heap_size, data_size;
	struct shmemi_peer *peer;	/* [n_pes] */
	struct shmemi_ctl *ctl;
	struct shmemi_shared *shared;
	uint32_t ni;
	bool impatient;			/* more PEs than cores: give the core away at once */
};
extern struct shmemi shmemi;

/* A sentence with PE and routine; ends the job. */
void shmemi_fatal(const char *fmt, ...) __attribute__((noreturn, cold, format(printf, 1, 2)));
void shmemi_bad_pe(const char *routine, int pe) __attribute__((noreturn, cold));

/* init.c: the slow half of shmemi_at(). */
void *shmemi_at_slow(const char *routine, const void *sym, size_t len, int pe);

/* The object @sym of PE @pe, in this process; NULL: only a copy by the kernel reaches it. Ends the job if not symmetric. */
static inline void *shmemi_at(const char *routine, const void *sym, size_t len, int pe)
{
	uintptr_t off = (uintptr_t)sym - shmemi.heap;
	const struct shmemi_peer *p;

	if (__builtin_expect((unsigned)pe >= (unsigned)shmemi.n_pes, 0))
		shmemi_bad_pe(routine, pe);
	p = &shmemi.peer[pe];
	if (off < shmemi.heap_size && len <= shmemi.heap_size - off && p->heap)
		return (void *)(p->heap + off);
	off = (uintptr_t)sym - shmemi.data;
	if (off < shmemi.data_size && len <= shmemi.data_size - off && p->data)
		return (void *)(p->data + off);
	return shmemi_at_slow(routine, sym, len, pe);
}

/* heap.c */
int shmemi_heap_start(size_t size);		/* 0, -1: no memory */
void shmemi_heap_end(void);

/* sync.c: one step of waiting; look again behind each. Ends this PE when the job has ended. */
struct shmemi_wait {
	unsigned steps;
	int dead;			/* PE + 1 that was found dead in the step before */
};
void shmemi_wait_step(struct shmemi_wait *w);
void shmemi_barrier(void);

/* pshmem_X is the routine, shmem_X the weak name that tools take over. */
#define SHMEMI_ALIAS(name) extern __typeof__(pshmem_##name) shmem_##name __attribute__((weak, alias("pshmem_" #name)))

#endif

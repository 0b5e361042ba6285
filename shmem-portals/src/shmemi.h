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
#include <shmem_inline.h>
#include "shmemi_order.h"

#define SHMEMI_ROOT	12		/* smartmap.h: 12-15 are libsma's */
#define SHMEMI_MAGIC	0x53484d32u	/* "SHM2" */

/* A call on the symmetric heap: agree() in heap.c. */
struct shmemi_heap_call {
	uint32_t serial, routine;
	uint64_t size, more;		/* arguments: bytes; alignment, hints, or number of elements */
	uint64_t block, off;		/* offsets in the heap: the block that is given back or changed; the result */
};

/* What a PE tells the others; in arena memory. Written before the barrier of init, but for last[]. */
struct shmemi_ctl {
	uint32_t magic, pe;
	uint64_t heap, heap_size, data_size;
	struct shmemi_heap_call last[2];	/* by number of the call */
	uint32_t leaving;		/* global_exit() of a PE of another node: as in struct shmemi_shared */
	uint64_t unused;		/* old values that nobody wants */
	uint32_t met;			/* first PE of a node: rounds of the start that it has done, + 1; */
	uint32_t there[32];		/* what the one asked in each round has said of that */
	uint32_t round[32];		/* first PE of a node: barriers that others have come to: net.c */
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
	/* its executable's data, in this process; 0: not looked up yet, or not adopted */
	uintptr_t data;
	struct shmemi_ctl *ctl;
	int local;			/* number for libsmartmap; -1: on another node */
	bool looked;			/* the three above are what they will be */
};

struct shmemi {
	int pe, n_pes, inits;
	int n_local, node, n_nodes;	/* PEs of this node, its number, nodes of the job */
	uintptr_t heap, data;		/* own */
	size_t heap_size, data_size;
	struct shmemi_peer *peer;	/* [n_pes] */
	struct shmemi_ctl *ctl;
	struct shmemi_shared *shared;
	uint32_t ni;
	bool impatient;			/* more PEs than cores: give the core away at once */
	bool debug;			/* SHMEM_DEBUG */
	bool leaving;			/* in exit(), before the end of the job: shmemi_leave() */
	bool net;			/* there are PEs that are reached by Portals: net.h */
	bool no_windows;		/* PTL_SMARTMAP=no, or an interface in the kernel: so are all others */
	bool joined;			/* SMARTMAP, for arenas: the interface has not */
};
extern struct shmemi shmemi;
extern struct shmemi_near shmemi_near;	/* near.c */

/*
 * At the begin of the symmetric heap, before what shmem_malloc() gives out: memory of the library's own that is
 * symmetric, so that shmemi_at() and shmemi_far_put() reach it on every PE. Zero at the start.
 */
#define SHMEMI_WORK	(2u << 20)	/* bytes (coll.h) */
#define SHMEMI_WORK_ABOVE (2u << 20)	/* behind them, for libraries that stand on this one (lower.h) */
#define SHMEMI_RESERVED	(SHMEMI_WORK + SHMEMI_WORK_ABOVE)	/* the heap has more than SHMEM_SYMMETRIC_SIZE says */

/*
 * init.c: the end of this PE before its time, by exit(). told_to_leave: a PE of another node has ended the job, which the
 * PEs of this one do not know yet. leave: they do; @first: this PE is the one by which the launcher is to learn it.
 */
void shmemi_told_to_leave(int status) __attribute__((noreturn, cold));
void shmemi_leave(int status, bool first) __attribute__((noreturn, cold));

/* A sentence with PE and routine; ends the job. */
void shmemi_fatal(const char *fmt, ...) __attribute__((noreturn, cold, format(printf, 1, 2)));
void shmemi_bad_pe(const char *routine, int pe) __attribute__((noreturn, cold));

/* A number of elements that no memory holds must not wrap around to one that it does. */
static inline size_t shmemi_bytes(const char *routine, size_t n, size_t size)
{
	size_t b;

	if (__builtin_expect(__builtin_mul_overflow(n, size, &b), 0))
		shmemi_fatal("%s: %zu elements of %zu bytes", routine, n, size);
	return b;
}

/* init.c: what a PE of this node tells, in this process. */
struct shmemi_ctl *shmemi_ctl_of(int pe);

/* init.c: the slow half of shmemi_at(). */
void *shmemi_at_slow(const char *routine, const void *sym, size_t len, int pe);

/* @sym of @p in this process, as far as heap and data of that are known here. */
static inline bool shmemi_in_window(const struct shmemi_peer *p, const void *sym, size_t len, void **at)
{
	uintptr_t off = (uintptr_t)sym - shmemi.heap, base = p->heap;

	if (off >= shmemi.heap_size || len > shmemi.heap_size - off || !base) {
		off = (uintptr_t)sym - shmemi.data;
		base = p->data;
		if (off >= shmemi.data_size || len > shmemi.data_size - off || !base)
			return false;
	}
	*at = (void *)(base + off);
	return true;
}

/*
 * The object @sym of PE @pe, in this process; NULL: loads and stores do not reach it (far.h). Ends the job if it is not
 * symmetric.
 */
static inline void *shmemi_at(const char *routine, const void *sym, size_t len, int pe)
{
	void *at;

	if (__builtin_expect((unsigned)pe >= (unsigned)shmemi.n_pes, 0))
		shmemi_bad_pe(routine, pe);
	return shmemi_in_window(&shmemi.peer[pe], sym, len, &at) ? at : shmemi_at_slow(routine, sym, len, pe);
}

/*
 * The same for the hot paths: only additions and comparisons, no call; NULL in every other case, be it only that the PE
 * is met for the first time. The caller then goes the way of shmemi_at(). @len is a constant, at most 16.
 */
static inline __attribute__((always_inline)) void *shmemi_at_fast(const void *sym, size_t len, int pe)
{
	uintptr_t off = (uintptr_t)sym - shmemi_near.heap, more = len > 8 ? len - 8 : 0, last;
	unsigned i = (unsigned)pe;

	if (__builtin_expect(i >= SHMEMI_NEAR_PES, 0))
		return NULL;
	last = shmemi_near.heap_last[i];
	if (__builtin_expect(off <= last && more <= last - off, 1))
		return (void *)((uintptr_t)sym + shmemi_near.heap_by[i]);
	off = (uintptr_t)sym - shmemi_near.data;
	last = shmemi_near.data_last[i];
	return last && off <= last && more <= last - off ?
	       (void *)((uintptr_t)sym + shmemi_near.data_by[i]) : NULL;
}

/*
 * check.c: with SHMEM_DEBUG each operation first comes here. @sym_len bytes at @sym of PE @pe, @own_len at @own here.
 * Ends the job when they are not what a program can mean.
 */
void shmemi_check(const char *routine, const void *sym, size_t sym_len, const void *own, size_t own_len, int pe)
	__attribute__((cold));
/* init.c: its part for what is not in the heap. */
void shmemi_check_static(const char *routine, const void *sym, size_t len);

/* Is @pe reached by Portals, where shmemi_at() says NULL? */
static inline bool shmemi_by_net(int pe)
{
	return shmemi.net && (shmemi.no_windows || shmemi.peer[pe].local < 0);
}

/* heap.c */
int shmemi_heap_start(size_t size);		/* 0, -1: no memory */
void shmemi_heap_end(void);
/* The block that @off bytes from the heap's begin lie in: is it in use? As many bytes as were asked for. */
bool shmemi_heap_block(size_t off, size_t *begin, size_t *len);

/* sync.c: what shmem_fence() and shmem_quiet() do. */
void shmemi_fence(void);
void shmemi_quiet(void);

/* barrier.c: of all PEs */
void shmemi_barrier(void);

/* sync.c: one step of waiting; look again behind each. Ends this PE when the job has ended. */
struct shmemi_wait {
	unsigned steps;
	int dead;			/* PE + 1 that was found dead in the step before */
};
void shmemi_wait_step(struct shmemi_wait *w);

/* sync.c: after a look in vain at what others write, which does not wait: now and then it sees who has ended. */
void shmemi_looked(void);

/*
 * net.c: what this process has begun on PEs that are reached by Portals is done, or is ordered before what it begins
 * later. To be called where shmemi.net is set, and only there.
 */
void shmemi_net_quiet(void);
void shmemi_net_fence(void);

/* pshmem_X is the routine, shmem_X the weak name that tools take over. */
#define SHMEMI_ALIAS(name) extern __typeof__(pshmem_##name) shmem_##name __attribute__((weak, alias("pshmem_" #name)))
/* Those of shmemx.h, for who includes pshmemx.h. */
#define SHMEMI_X_ALIAS(name) \
	extern __typeof__(pshmemx_##name) shmemx_##name __attribute__((weak, alias("pshmemx_" #name)))

#endif

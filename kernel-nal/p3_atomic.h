/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_atomic.h - the kernel's counterpart of portals/lib/p3_atomic.h: same names, the kernel's own primitives
 *
 * The core's sources include "p3_atomic.h" from their own folder; the module's build gives this file to the compiler
 * first (-include), and its guard, which is the same, leaves the other one out. The kernel's operations that return a
 * value are full barriers, hence at least as strong as the names ask for.
 * Arguments are in double parentheses because some of the kernel's macros put none around theirs.
 */
#ifndef P3_ATOMIC_H
#define P3_ATOMIC_H

#include <linux/types.h>
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/prefetch.h>
#include <linux/processor.h>
#include <asm/barrier.h>

#define p3_load(p)		READ_ONCE(*(p))
#define p3_load_acq(p)		smp_load_acquire((p))
#define p3_store(p, v)		WRITE_ONCE(*(p), v)
#define p3_store_rel(p, v)	smp_store_release((p), v)
#define p3_xchg(p, v)		xchg((p), v)
#define p3_fence_acq()		smp_rmb()	/* load, then load: what p3l_eq_read() needs of it */
#define p3_fence_rel()		smp_wmb()	/* store, then store: what p3l_eq_post() needs of it */
#define p3_fence()		smp_mb()
#define p3_pause()		cpu_relax()
#define p3_prefetchw(p)		prefetchw(p)
#define p3_likely(x)		likely(x)
#define p3_unlikely(x)		unlikely(x)
#define p3_barrier()		barrier()

/* Words of the core are plain integers, since user space shares them; atomic_t has the same layout. */
static inline uint32_t p3_fetch_add_32(uint32_t *p, uint32_t v)
{
	return (uint32_t)atomic_fetch_add((int)v, (atomic_t *)p);
}

static inline uint64_t p3_fetch_add_64(uint64_t *p, uint64_t v)
{
	return (uint64_t)atomic64_fetch_add((s64)v, (atomic64_t *)p);
}

static inline uint32_t p3_fetch_or_32(uint32_t *p, uint32_t v)
{
	return (uint32_t)atomic_fetch_or((int)v, (atomic_t *)p);
}

static inline uint64_t p3_fetch_or_64(uint64_t *p, uint64_t v)
{
	return (uint64_t)atomic64_fetch_or((s64)v, (atomic64_t *)p);
}

static inline void p3_add_32(uint32_t *p, uint32_t v)
{
	atomic_add((int)v, (atomic_t *)p);
}

static inline void p3_add_64(uint64_t *p, uint64_t v)
{
	atomic64_add((s64)v, (atomic64_t *)p);
}

/* By the type of the word; any other type does not compile. */
#define p3_fetch_add(p, v)	_Generic(*(p), uint32_t: p3_fetch_add_32, uint64_t: p3_fetch_add_64)(p, v)
static inline uint64_t p3_fetch_and_64(uint64_t *p, uint64_t v)
{
	return (uint64_t)atomic64_fetch_and((s64)v, (atomic64_t *)p);
}

#define p3_fetch_and(p, v)	p3_fetch_and_64(p, v)
#define p3_fetch_or(p, v)	_Generic(*(p), uint32_t: p3_fetch_or_32, uint64_t: p3_fetch_or_64)(p, v)
#define p3_add(p, v)		_Generic(*(p), uint32_t: p3_add_32, uint64_t: p3_add_64)(p, v)

static inline bool p3_cas32(uint32_t *p, uint32_t old, uint32_t new)
{
	return cmpxchg(p, old, new) == old;
}

static inline bool p3_cas16(uint16_t *p, uint16_t old, uint16_t new)
{
	return cmpxchg(p, old, new) == old;
}

static inline bool p3_cas64(uint64_t *p, uint64_t old, uint64_t new)
{
	return cmpxchg(p, old, new) == old;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_atomic.h - loads, stores and atomic steps on memory that other processes write
 *
 * The order is in the name: _acq, _rel, plain names are relaxed. The kernel module has its own version of this file.
 */
#ifndef P3_ATOMIC_H
#define P3_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define p3_load(p)		__atomic_load_n(p, __ATOMIC_RELAXED)
#define p3_load_acq(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define p3_store(p, v)		__atomic_store_n(p, v, __ATOMIC_RELAXED)
#define p3_store_rel(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define p3_fetch_add(p, v)	__atomic_fetch_add(p, v, __ATOMIC_ACQ_REL)
#define p3_fetch_or(p, v)	__atomic_fetch_or(p, v, __ATOMIC_ACQ_REL)
#define p3_fetch_and(p, v)	__atomic_fetch_and(p, v, __ATOMIC_ACQ_REL)
#define p3_xchg(p, v)		__atomic_exchange_n(p, v, __ATOMIC_ACQ_REL)
#define p3_add(p, v)		((void)__atomic_fetch_add(p, v, __ATOMIC_RELAXED))
#define p3_fence_acq()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define p3_fence_rel()		__atomic_thread_fence(__ATOMIC_RELEASE)

static inline bool p3_cas32(uint32_t *p, uint32_t old, uint32_t new)
{
	return __atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static inline bool p3_cas16(uint16_t *p, uint16_t old, uint16_t new)
{
	return __atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static inline bool p3_cas64(uint64_t *p, uint64_t old, uint64_t new)
{
	return __atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Store, then load, in this order. A locked instruction on our own stack is half the price of mfence. */
static inline void p3_fence(void)
{
#if defined(__x86_64__)
	__asm__ __volatile__("lock; addl $0,-8(%%rsp)" ::: "memory", "cc");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static inline void p3_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield" ::: "memory");
#endif
}

/* Fetch a line for writing. The builtin would fetch it for reading unless told of the instruction, which all 64-bit
 * processors have or take for a nop. */
static inline void p3_prefetchw(const void *p)
{
#if defined(__x86_64__)
	__asm__ __volatile__("prefetchw %0" :: "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1, 3);
#endif
}

#define p3_likely(x)	__builtin_expect(!!(x), 1)
#define p3_unlikely(x)	__builtin_expect(!!(x), 0)
#define p3_barrier()	__asm__ __volatile__("" ::: "memory")

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * kshim.h - the few kernel primitives that kernel-nal/p3_atomic.h and gptl_env.h use, for a user-space compiler
 *
 * Written from their documented meaning (Documentation/memory-barriers.txt), with the compiler's builtins. The files
 * of kernel-nal include <linux/...>; the test gives the compiler empty files of these names.
 */
#ifndef GPTL_KSHIM_H
#define GPTL_KSHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t s64;
typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define smp_load_acquire(p)	({ __typeof__(*p) v_ = __atomic_load_n(p, __ATOMIC_ACQUIRE); v_; })	/* no parentheses: as there */
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)
/* words that the kernel takes away from whoever uses them as names */
#define noinline		__attribute__((__noinline__))
#define current			get_current()
#define barrier()		__asm__ __volatile__("" ::: "memory")
#define cpu_relax()		barrier()
#define prefetchw(p)		__builtin_prefetch(p, 1)
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define xchg(p, v)		__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)

#define atomic_fetch_add(v, p)		__atomic_fetch_add(&(p)->counter, v, __ATOMIC_SEQ_CST)
#define atomic64_fetch_add(v, p)	__atomic_fetch_add(&(p)->counter, v, __ATOMIC_SEQ_CST)
#define atomic_fetch_or(v, p)		__atomic_fetch_or(&(p)->counter, v, __ATOMIC_SEQ_CST)
#define atomic64_fetch_or(v, p)		__atomic_fetch_or(&(p)->counter, v, __ATOMIC_SEQ_CST)
#define atomic64_fetch_and(v, p)		__atomic_fetch_and(&(p)->counter, v, __ATOMIC_SEQ_CST)
#define atomic_add(v, p)		((void)__atomic_fetch_add(&(p)->counter, v, __ATOMIC_RELAXED))
#define atomic64_add(v, p)		((void)__atomic_fetch_add(&(p)->counter, v, __ATOMIC_RELAXED))

/* gptl_env.h: a processor of a large machine, memory of the C library */
#define smp_processor_id()	4099
#define local_bh_disable()	((void)0)
#define local_bh_enable()	((void)0)
void *calloc(size_t n, size_t size);
void free(void *p);
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_ZERO		0
#define __vmalloc(n, flags)	((void)(flags), calloc(1, n))
#define vfree(p)		free(p)

#endif

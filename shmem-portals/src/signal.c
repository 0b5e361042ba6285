/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * signal.c - a put, and a word at the target that says that it is there
 *
 * The data are stored first, then the signal with release: who reads the signal with acquire (signal_wait_until,
 * signal_fetch, wait_until) reads the data behind it. Off the node the order is that of a far_put and a later far_amo
 * to the same PE. Of memory of this node the kernel's copies are finished when they return.
 */
#include "amo.h"
#include "ctx.h"
#include "rma.h"

static inline void set(const char *routine, uint64_t *sig, uint64_t value, int pe)
{
	uint64_t *p = shmemi_amo_at(routine, sig, sizeof(*sig), pe);

	if (__builtin_expect(p != NULL, 1))
		__atomic_store_n(p, value, __ATOMIC_RELEASE);
	else
		shmemi_far_amo_nbi(routine, SHMEMI_AMO_SET, sig, sizeof(*sig), value, 0, pe, NULL);
}

static inline void add(const char *routine, uint64_t *sig, uint64_t value, int pe)
{
	uint64_t *p = shmemi_amo_at(routine, sig, sizeof(*sig), pe);

	if (__builtin_expect(p != NULL, 1))
		__atomic_fetch_add(p, value, SHMEMI_AMO_ORDER);
	else
		shmemi_far_amo_nbi(routine, SHMEMI_AMO_ADD, sig, sizeof(*sig), value, 0, pe, NULL);
}

static void signal_op(const char *routine, uint64_t *sig, uint64_t value, int op, int pe)
{
	if (op == SHMEM_SIGNAL_SET)
		set(routine, sig, value, pe);
	else if (op == SHMEM_SIGNAL_ADD)
		add(routine, sig, value, pe);
	else
		shmemi_fatal("%s: %d is no operation on a signal (SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD)", routine, op);
}

static inline void data_first(void)
{
	if (__builtin_expect(shmemi.net, 0))
		shmemi_net_fence();
}

static void put_signal(const char *routine, void *dest, const void *src, size_t n, size_t size, uint64_t *sig,
		       uint64_t value, int op, int pe)
{
	shmemi_put(routine, dest, src, shmemi_bytes(routine, n, size), pe);
	data_first();
	signal_op(routine, sig, value, op, pe);
}

static void put_signal_nbi(const char *routine, void *dest, const void *src, size_t n, size_t size, uint64_t *sig,
			   uint64_t value, int op, int pe)
{
	shmemi_put_nbi(routine, dest, src, shmemi_bytes(routine, n, size), pe);
	data_first();
	signal_op(routine, sig, value, op, pe);
}

#define PUT_SIGNAL(name, how, T, SIZE)								\
	SHMEMI_DEFINE(void, name, (T *dest, const T *source, size_t nelems, uint64_t *sig_addr,	\
				   uint64_t signal, int sig_op, int pe),			\
		how(routine, dest, source, nelems, SIZE, sig_addr, signal, sig_op, pe);)
#define BOTH(name, T, SIZE) PUT_SIGNAL(name, put_signal, T, SIZE) PUT_SIGNAL(name##_nbi, put_signal_nbi, T, SIZE)
#define TYPED(N, T) BOTH(N##_put_signal, T, sizeof(T))

SHMEMI_TYPES_RMA(TYPED)
BOTH(put8_signal, void, 1)
BOTH(put16_signal, void, 2)
BOTH(put32_signal, void, 4)
BOTH(put64_signal, void, 8)
BOTH(put128_signal, void, 16)
BOTH(putmem_signal, void, 1)

SHMEMI_DEFINE(void, signal_set, (uint64_t *sig_addr, uint64_t signal, int pe), set(routine, sig_addr, signal, pe);)
SHMEMI_DEFINE(void, signal_add, (uint64_t *sig_addr, uint64_t signal, int pe), add(routine, sig_addr, signal, pe);)

uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
	if (__builtin_expect(shmemi.debug, 0))
		shmemi_check("shmem_signal_fetch", sig_addr, sizeof(*sig_addr), NULL, 0, shmemi.pe);
	return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
}
SHMEMI_ALIAS(signal_fetch);

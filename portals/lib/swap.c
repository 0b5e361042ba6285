/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * swap.c - the exchange of a getput, and atomic operations: what makes them one step
 *
 * 3.13.6: atomic with respect to other getputs on the same memory, whichever process runs them. Words on their boundaries
 * are exchanged by one instruction besides, so that programs which give a lock back by a put of a word do not lose it.
 * Several MDs may cover the same bytes, so the locks belong to the bytes: the lines of 64 that are touched select
 * stripes of ni.swap, by the owner's addresses. They are taken upwards, so that two exchanges never wait for each other;
 * an exchange on a vector takes all of them. Nothing else is locked meanwhile. The lock of a dead process is taken over
 * as it is: what it left half exchanged ends with an event that says so.
 *
 * An atomic operation is one instruction, or a loop around a compare-and-swap, on one word: so it is one step for the
 * processors' own atomic operations on that word as well. It is made under the same locks as an exchange, and so is one
 * step for that. When its mover dies it has been made or not, never half.
 */
#include "p3l.h"

static uint32_t stripe(uint64_t addr)
{
	return (uint32_t)(addr / P3L_LINE) % P3L_SWAP_STRIPES;
}

void p3l_swap_lock(const struct p3l_env *env, struct p3l_ni *ni, uint64_t addr, uint64_t len, bool iov, struct p3l_swap *s)
{
	if (!len)
		s->stripes = 0;
	else if (iov || len > P3L_LINE)
		s->stripes = (1u << P3L_SWAP_STRIPES) - 1;
	else
		s->stripes = 1u << stripe(addr) | 1u << stripe(addr + len - 1);
	for (uint32_t i = 0; i < P3L_SWAP_STRIPES; i++)
		if ((s->stripes >> i & 1) && p3_unlikely(!p3_cas32(&ni->swap[i], 0, env->self)))
			p3l_lock_slow(env, ni, &ni->swap[i], -1);
	P3L_POINT("swap locked");
}

void p3l_swap_unlock(struct p3l_ni *ni, const struct p3l_swap *s)
{
	for (uint32_t i = 0; i < P3L_SWAP_STRIPES; i++)
		if (s->stripes >> i & 1)
			p3_store_rel(&ni->swap[i], 0);
}

void p3l_swap_bytes(void *target, void *buf, uint64_t len)
{
	char *t = target, *b = buf;

	while (len) {
		uint64_t old;

		if (len >= 8 && !((uintptr_t)t & 7)) {
			uint64_t new;

			p3l_copy(&new, b, 8);
			old = p3_xchg((uint64_t *)(void *)t, new);
			p3l_copy(b, &old, 8);
			t += 8, b += 8, len -= 8;
		} else if (len >= 4 && !((uintptr_t)t & 3)) {
			uint32_t new;

			p3l_copy(&new, b, 4);
			new = p3_xchg((uint32_t *)(void *)t, new);
			p3l_copy(b, &new, 4);
			t += 4, b += 4, len -= 4;
		} else {
			char c = *t;

			*t++ = *b;
			*b++ = c;
			len--;
		}
		P3L_POINT("swapping");
	}
}

/* What is there afterwards, of the low bits of 64. */
static uint64_t result(uint32_t type, uint64_t old, uint64_t v, uint64_t other)
{
	switch (type) {
	case P3L_ADD: return old + v;
	case P3L_AND: return old & v;
	case P3L_OR: return old | v;
	case P3L_XOR: return old ^ v;
	case P3L_MSWAP: return (old & ~other) | (v & other);
	default: return v;		/* SET, SWAP, CSWAP */
	}
}

#define ATOMIC(BITS)										\
static void atomic_##BITS(uint32_t type, uint##BITS##_t *p, void *buf, uint64_t other)		\
{												\
	uint##BITS##_t old = p3_load_acq(p), v;							\
												\
	p3l_copy(&v, buf, sizeof(v));								\
	while (type != P3L_FETCH && (type != P3L_CSWAP || old == (uint##BITS##_t)other) &&	\
	       !p3_cas##BITS(p, old, (uint##BITS##_t)result(type, old, v, other)))		\
		old = p3_load_acq(p);								\
	p3l_copy(buf, &old, sizeof(old));							\
}
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

bool p3l_atomic(uint32_t type, void *target, void *buf, uint64_t len, uint64_t other)
{
	if ((len != 2 && len != 4 && len != 8) || ((uintptr_t)target & (len - 1)))
		return false;
	if (len == 2)
		atomic_16(type, target, buf, other);
	else if (len == 4)
		atomic_32(type, target, buf, other);
	else
		atomic_64(type, target, buf, other);
	P3L_POINT("atomic");
	return true;
}

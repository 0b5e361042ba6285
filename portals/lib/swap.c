/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * swap.c - the exchange of a getput: what makes it one step
 *
 * 3.13.6: atomic with respect to other getputs on the same memory, whichever process runs them. Words on their boundaries
 * are exchanged by one instruction besides, so that programs which give a lock back by a put of a word do not lose it.
 * Several MDs may cover the same bytes, so the locks belong to the bytes: the lines of 64 that are touched select
 * stripes of ni.swap, by the owner's addresses. They are taken upwards, so that two exchanges never wait for each other;
 * an exchange on a vector takes all of them. Nothing else is locked meanwhile. The lock of a dead process is taken over
 * as it is: what it left half exchanged ends with an event that says so.
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

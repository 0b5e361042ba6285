/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_env.h - the core by itself: a region of zeroed memory, a fake surrounding, several movers as plain callers
 *
 * A mover is an environment with a slot; whether a slot "lives" is a word of the test. No NAL, no SMARTMAP: addresses
 * of MDs are numbers that nobody follows, unless a test copies by itself.
 */
#ifndef T_CORE_ENV_H
#define T_CORE_ENV_H

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "../../portals/lib/p3l.h"

#define C_SLOTS 4
#define C_NID 7
#define C_UID 1000
#define C_JID 5
#define C_ANY ((ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY })

__attribute__((unused)) static bool c_dead[P3L_MAX_SLOTS];	/* fake deaths */

__attribute__((unused)) static bool c_alive(uint32_t slot)
{
	return slot < P3L_MAX_SLOTS && !c_dead[slot];
}

__attribute__((unused)) static void c_relax(unsigned spins)
{
	if (spins % 64 == 0)
		sched_yield();
	else
		p3_pause();
}

__attribute__((unused)) static struct p3l_setup c_setup(void)
{
	return (struct p3l_setup){ .nid = C_NID, .pid = 100, .uid = C_UID, .jid = C_JID, .slot = 0, .n_slots = C_SLOTS,
				   .lane_lines = 256, .max_me = 64, .max_md = 64, .max_eq = 16, .max_pt = 15,
				   .max_ac = 2, .max_me_list = 32, .max_iov = 16,
				   .index_from = 3, .space = 1 << 20 };
}

/* Zeroed, page-aligned, shared with children of fork(). */
__attribute__((unused)) static struct p3l_ni *c_region(const struct p3l_setup *s)
{
	void *p = mmap(NULL, p3l_ni_size(s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	p3l_ni_setup(p, s);
	return p;
}

__attribute__((unused)) static void c_free(struct p3l_ni *ni)
{
	munmap(ni, ni->size);
}

__attribute__((unused)) static struct p3l_env c_env(uint32_t slot, bool single)
{
	return (struct p3l_env){ .self = slot + 1, .single = single, .alive = c_alive, .relax = c_relax };
}

__attribute__((unused)) static struct p3l_sink c_sink(const struct p3l_ni *ni, uint32_t eq)
{
	return (struct p3l_sink){ .eq = (int)eq, .packed = (eq + 1) | (ni->eq[eq].gen & P3L_GEN_MASK) << 16 };
}

__attribute__((unused)) static struct p3l_hdr c_hdr(enum p3l_type type, uint32_t src, uint32_t pt, uint64_t bits,
						    uint64_t len)
{
	return (struct p3l_hdr){ .type = (uint8_t)type, .src = (uint16_t)src, .nid = C_NID, .pid = 100 + src,
				 .uid = C_UID, .jid = C_JID, .pt = pt, .match_bits = bits, .rlength = len };
}

__attribute__((unused)) static ptl_md_t c_md(uint64_t start, uint64_t len, int threshold, unsigned options)
{
	return (ptl_md_t){ .start = (void *)(uintptr_t)start, .length = len, .threshold = threshold,
			   .options = options, .eq_handle = PTL_EQ_NONE };
}

__attribute__((unused)) static struct p3l_md_args c_args(const ptl_md_t *md, const struct p3l_ref *eq)
{
	return (struct p3l_md_args){ .md = md, .eq = eq ? (eq->idx + 1) | eq->gen << 16 : 0 };
}

/* The whole of a list: links both ways, tail and length agree. */
__attribute__((unused)) static bool c_list_ok(const struct p3l_ni *ni, uint32_t pt)
{
	uint32_t i = ni->pt[pt].head, prev = 0, n = 0;

	while (i) {
		if (i > ni->max_me || ++n > ni->max_me || p3l_me(ni, i - 1)->prev != prev ||
		    !(p3l_me(ni, i - 1)->flags & P3L_ME_USED) || p3l_me(ni, i - 1)->pt != pt)
			return false;
		prev = i;
		i = p3l_me(ni, i - 1)->next;
	}
	return ni->pt[pt].tail == prev && ni->pt[pt].len == n;
}

/* Entries on the free lists (a cycle counts as too many), in limbo and never used. */
__attribute__((unused)) static uint32_t c_me_free_count(const struct p3l_ni *ni)
{
	uint32_t n = ni->max_me - ni->me_fresh;

	for (uint32_t i = ni->me_free; i && n <= ni->max_me; i = p3l_me(ni, i - 1)->free_next)
		n++;
	for (uint32_t i = ni->me_spare; i && n <= ni->max_me; i = p3l_me(ni, i - 1)->free_next)
		n++;
	return n;
}

__attribute__((unused)) static uint32_t c_md_free_count(const struct p3l_ni *ni)
{
	uint32_t n = ni->max_md - ni->md_fresh;

	for (uint32_t i = ni->md_free; i && n <= ni->max_md; i = p3l_md(ni, i - 1)->free_next)
		n++;
	for (uint32_t i = ni->md_spare; i && n <= ni->max_md; i = p3l_md(ni, i - 1)->free_next)
		n++;
	for (uint32_t i = ni->md_limbo; i && n <= ni->max_md; i = p3l_md(ni, i - 1)->free_next)
		n++;
	return n;
}

__attribute__((unused)) static uint32_t c_me_used_count(const struct p3l_ni *ni)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ni->max_me; i++)
		n += p3l_me(ni, i)->flags & P3L_ME_USED;
	return n;
}

__attribute__((unused)) static uint32_t c_md_used_count(const struct p3l_ni *ni)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ni->max_md; i++)
		n += p3l_md(ni, i)->flags & P3L_MD_USED;
	return n;
}

/* Pools: each entry is in use or free, once. */
__attribute__((unused)) static bool c_pools_ok(const struct p3l_ni *ni)
{
	return c_me_free_count(ni) + c_me_used_count(ni) == ni->max_me &&
	       c_md_free_count(ni) + c_md_used_count(ni) == ni->max_md;
}

/* Bytes of the space that are taken. */
__attribute__((unused)) static uint64_t c_taken(const struct p3l_ni *ni)
{
	const uint8_t *tree = (const uint8_t *)ni + P3L_TREE_OFF;
	uint64_t sum = 0, all = ni->size - ni->space;

	for (uint32_t log2 = ni->space_log2, first = 1; log2 >= 6; log2--, first *= 2)
		for (uint32_t i = 0; (uint64_t)i << log2 < all; i++)
			sum += tree[first + i] == 0xff ? (uint64_t)1 << log2 : 0;
	return sum;
}

static inline uint64_t c_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

#endif

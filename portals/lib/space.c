/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * space.c - the space for event slots, iovecs and indices: blocks of 2^n bytes, split and merged
 *
 * A binary tree over the space says for each block, of any size, what is free in it. A block is found on the way from
 * the root, by the child that fits more tightly; taking it and giving it back are one store each, and what follows for
 * the blocks around it, on the way back to the root. So two free halves are one free block again at once, and a block
 * is refused only where no free one of its size is left (at a multiple of its size).
 *
 * The tree stands beside the space, in the region (P3L_TREE_OFF), one byte a block, as zeros at first: nothing is
 * written into a free block, and the memory of the tree is touched as the space is. Only the owner reads and writes it,
 * under own_lock. A peer may overwrite it: the walk is as long as the tree is high, whatever stands there, a block that
 * turns out not to be free is not taken, and only a block that was taken is given back. Blocks may overlap then, but
 * they stay within the space.
 *
 * Who else knows of a block: movers who log to a queue, or walk a vector, of its owner's. It is given back when they
 * are out: give_back() in eq.c, `pending` in md.c.
 */
#include "p3l.h"

#define UNIT		6U		/* log2 of the smallest block */
#define TAKEN		0xff		/* as one block. Else: */

/*
 * Of a block of 2^order units: 0 when all of it is free, order - n when the largest free block in it has 2^n units, and
 * order + 1 when there is none.
 */
static int largest(uint8_t word, int order)
{
	return word > order ? -1 : order - word;
}

_Static_assert(P3L_LANE_OFF - P3L_TREE_OFF == 2ull << (P3L_SPACE_LOG2 - UNIT), "a byte for each block of each size");

static uint8_t *tree_of(struct p3l_ni *ni)
{
	return (uint8_t *)ni + P3L_TREE_OFF;
}

/* Order of the root. */
static int height(const struct p3l_ni *ni)
{
	uint32_t h = p3_load(&ni->space_log2) - UNIT;

	return h <= P3L_SPACE_LOG2 - UNIT ? (int)h : 0;
}

/* Block @n, of @order, has changed: so have those that it is part of. */
static void tell(uint8_t *tree, uint32_t n, int order)
{
	for (; n > 1; order++) {
		uint8_t a = tree[n & ~1u], b = tree[n | 1], word;
		int x = largest(a, order), y = largest(b, order);

		n /= 2;
		word = a || b ? (uint8_t)(order + 1 - (x > y ? x : y)) : 0;
		if (tree[n] == word)
			return;
		tree[n] = word;
	}
}

/* The first @bytes of the block at the root are the space. */
void p3l_space_setup(struct p3l_ni *ni, uint64_t bytes)
{
	uint8_t *tree = tree_of(ni);
	uint64_t units = bytes >> UNIT;
	uint32_t n = 1;
	int order = 0;

	while ((uint64_t)1 << order < units)
		order++;
	ni->space_log2 = (uint32_t)order + UNIT;
	while (units && units < (uint64_t)1 << order) {	/* halves behind its end, down to where that is */
		order--;
		n *= 2;
		if (units > (uint64_t)1 << order) {
			units -= (uint64_t)1 << order;
			n++;
		} else {
			tree[n | 1] = TAKEN;
			tell(tree, n | 1, order);
		}
	}
	if (!units) {
		tree[n] = TAKEN;
		tell(tree, n, order);
	}
}

uint64_t p3l_space_alloc(struct p3l_ni *ni, uint32_t log2)
{
	uint8_t *tree = tree_of(ni);
	int order = height(ni), want = log2 > UNIT ? (int)(log2 - UNIT) : 0;
	uint64_t first;
	uint32_t n = 1;

	if (log2 > P3L_SPACE_LOG2 || largest(tree[n], order) < want)
		return 0;
	for (; order > want; order--) {
		int a = largest(tree[2 * n], order - 1), b = largest(tree[2 * n + 1], order - 1);

		n = 2 * n + (a < want || (b >= want && b < a));
	}
	first = ni->space + ((uint64_t)(n - (1u << (height(ni) - want))) << (want + UNIT));
	if (tree[n] || first < P3L_LANE_OFF || first >= ni->size || first % P3L_LINE ||
	    ni->size - first < (uint64_t)1 << (want + UNIT))
		return 0;			/* a peer wrote over the tree, or over the place of the space */
	tree[n] = TAKEN;
	tell(tree, n, want);
	return first;
}

void p3l_space_free(struct p3l_ni *ni, uint64_t off, uint32_t log2)
{
	uint8_t *tree = tree_of(ni);
	int order = log2 > UNIT ? (int)(log2 - UNIT) : 0, high = height(ni);
	uint64_t at = off - ni->space, k;
	uint32_t n;

	if (log2 > P3L_SPACE_LOG2 || order > high)
		return;			/* overwritten: nobody knows whose it was */
	k = at >> (order + UNIT);
	if (k << (order + UNIT) != at || k >= (uint64_t)1 << (high - order))
		return;
	n = (1u << (high - order)) + (uint32_t)k;
	if (tree[n] != TAKEN)
		return;
	tree[n] = 0;
	tell(tree, n, order);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * buddy.c - a heap of blocks of powers of two inside so many bytes
 *
 * The books are outside of the bytes, which may belong to memory that others write: one byte for each node of the
 * binary tree says what is the largest block free below it (its order + 1; 0: none), and a node that was given out as
 * a whole has TAKEN. Its own mutex protects it.
 */
#include "dartc.h"

#include <stdlib.h>

#define SMALLEST	6	/* 64 bytes: a line of its own for each block */
#define TAKEN		0x80

struct dartc_buddy {
	pthread_mutex_t mutex;
	unsigned order;		/* of all: 2^order bytes */
	unsigned char *node;	/* [1] all, [2], [3] its halves, ... */
};

/* The largest block free among the first @bytes below @i. */
static unsigned char fill(struct dartc_buddy *b, size_t i, unsigned order, size_t bytes)
{
	size_t half = (size_t)1 << order >> 1;
	unsigned char l, r;

	if (order == SMALLEST)
		return b->node[i] = bytes >> order ? SMALLEST + 1 : 0;
	l = fill(b, 2 * i, order - 1, bytes < half ? bytes : half);
	r = fill(b, 2 * i + 1, order - 1, bytes < half ? 0 : bytes - half);
	return b->node[i] = bytes >> order ? (unsigned char)(order + 1) : l > r ? l : r;
}

/* NULL: no memory, or less than the smallest block */
struct dartc_buddy *dartc_buddy_new(size_t bytes)
{
	struct dartc_buddy *b;

	if (bytes < (size_t)1 << SMALLEST)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->order = 63 - (unsigned)__builtin_clzll(bytes);
	b->order += bytes > (size_t)1 << b->order;
	b->node = malloc((size_t)2 << (b->order - SMALLEST));
	if (!b->node) {
		free(b);
		return NULL;
	}
	pthread_mutex_init(&b->mutex, NULL);
	fill(b, 1, b->order, bytes);
	return b;
}

void dartc_buddy_end(struct dartc_buddy *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->mutex);
	free(b->node);
	free(b);
}

static unsigned below(const struct dartc_buddy *b, size_t i)
{
	return b->node[i] & TAKEN ? 0 : b->node[i];
}

/* What is free below the ancestors of @i, whose own order is @order. */
static void mend(struct dartc_buddy *b, size_t i, unsigned order)
{
	while (i > 1) {
		unsigned l, r;

		i /= 2;
		order++;
		l = below(b, 2 * i);
		r = below(b, 2 * i + 1);
		b->node[i] = (unsigned char)(l == order && r == order ? order + 1 : l > r ? l : r);
	}
}

int64_t dartc_buddy_take(struct dartc_buddy *b, size_t bytes)
{
	unsigned want = SMALLEST, order = b->order;
	size_t i = 1;
	int64_t off = -1;

	while (want < b->order && ((size_t)1 << want) < bytes)
		want++;
	pthread_mutex_lock(&b->mutex);
	if (bytes <= (size_t)1 << want && below(b, 1) > want) {
		for (; order > want; order--)	/* the tighter half, so that large blocks stay whole */
			i = below(b, 2 * i) > want &&
			    (below(b, 2 * i + 1) <= want || below(b, 2 * i) <= below(b, 2 * i + 1)) ? 2 * i : 2 * i + 1;
		b->node[i] = TAKEN;
		off = (int64_t)((i - ((size_t)1 << (b->order - want))) << want);
		mend(b, i, want);
	}
	pthread_mutex_unlock(&b->mutex);
	return off;
}

/* DARTC_INVAL: no block begins at @off. */
int dartc_buddy_give(struct dartc_buddy *b, uint64_t off)
{
	int rc = DARTC_INVAL;

	if (off >= (uint64_t)1 << b->order || off & ((1u << SMALLEST) - 1))
		return rc;
	pthread_mutex_lock(&b->mutex);
	for (unsigned order = SMALLEST; order <= b->order && !(off & (((uint64_t)1 << order) - 1)); order++) {
		size_t i = ((size_t)1 << (b->order - order)) + (size_t)(off >> order);

		if (!(b->node[i] & TAKEN))
			continue;
		b->node[i] = (unsigned char)(order + 1);
		mend(b, i, order);
		rc = DARTC_OK;
		break;
	}
	pthread_mutex_unlock(&b->mutex);
	return rc;
}

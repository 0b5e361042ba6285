/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * group.c - sets of units
 *
 * Local data of the caller; a bit for each unit of the job. The mark tells one that was initialised from other memory.
 */
#include "dartc.h"

#define MARK	0x70726744u

static size_t words(void)
{
	return ((size_t)dartc.size + 63) / 64;
}

size_t dartc_group_bytes(void)
{
	return sizeof(struct dart_group_struct) + words() * sizeof(uint64_t);
}

void dartc_group_clear(struct dart_group_struct *g)
{
	memset(g, 0, dartc_group_bytes());
	g->mark = MARK;
	g->units = (uint32_t)dartc.size;
}

bool dartc_group_valid(const struct dart_group_struct *g)
{
	return g && g->mark == MARK && g->units == (uint32_t)dartc.size;
}

bool dartc_group_has(const struct dart_group_struct *g, int unit)
{
	return g->bit[unit / 64] >> (unit % 64) & 1;
}

int dartc_group_change(struct dart_group_struct *g, int unit, bool member)
{
	uint64_t b;

	if (unit < 0 || unit >= dartc.size)
		return DARTC_INVAL;
	b = (uint64_t)1 << (unit % 64);
	g->bit[unit / 64] = member ? g->bit[unit / 64] | b : g->bit[unit / 64] & ~b;
	return DARTC_OK;
}

size_t dartc_group_count(const struct dart_group_struct *g)
{
	size_t n = 0;

	for (size_t i = 0; i < words(); i++)
		n += (size_t)__builtin_popcountll(g->bit[i]);
	return n;
}

void dartc_group_list(const struct dart_group_struct *g, int32_t *unit)
{
	for (int u = 0; u < dartc.size; u++)
		if (dartc_group_has(g, u))
			*unit++ = u;
}

/* The @i-th of @n parts, in ascending order, whose sizes differ by one at most. */
void dartc_group_part(const struct dart_group_struct *g, size_t n, size_t i, struct dart_group_struct *out)
{
	size_t all = dartc_group_count(g), lo = all / n * i + (i < all % n ? i : all % n);
	size_t hi = lo + all / n + (i < all % n), at = 0;

	dartc_group_clear(out);
	for (int u = 0; u < dartc.size; u++)
		if (dartc_group_has(g, u)) {
			if (at >= lo && at < hi)
				dartc_group_change(out, u, true);
			at++;
		}
}

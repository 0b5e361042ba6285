/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_map.c - parsers of the job's maps; pure functions, no state
 *
 * The texts come from the environment and from the launcher: nothing in them is trusted, each number is bounded
 * before it is used as a count.
 */
#include "config.h"

#include "p3_map.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int number(const char **s, uint32_t *out)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)**s))
		return -1;
	for (; isdigit((unsigned char)**s); (*s)++) {
		v = v * 10 + (unsigned)(**s - '0');
		if (v > UINT32_MAX)
			return -1;
	}
	*out = (uint32_t)v;
	return 0;
}

static void blanks(const char **s)
{
	while (**s == ' ' || **s == '\t')
		(*s)++;
}

static int expect(const char **s, char c)
{
	blanks(s);
	if (**s != c)
		return -1;
	(*s)++;
	blanks(s);
	return 0;
}

/* "(a,b,c)" */
static int block(const char **s, uint32_t v[3])
{
	if (expect(s, '('))
		return -1;
	for (int i = 0; i < 3; i++)
		if ((i && expect(s, ',')) || number(s, &v[i]))
			return -1;
	return expect(s, ')');
}

/* One pass over the list of blocks, placing ranks from *@rank on. -1: malformed. */
static int pass(const char *s, uint32_t size, uint32_t *rank, uint32_t *id)
{
	uint32_t v[3];

	do {
		if (block(&s, v) || v[0] > 1 << 24 || v[1] > 1 << 24)
			return -1;
		for (uint32_t n = 0; n < v[1] && *rank < size && v[2]; n++)
			for (uint32_t k = 0; k < v[2] && *rank < size; k++)
				id[(*rank)++] = v[0] + n;
	} while (!expect(&s, ','));
	if (expect(&s, ')') || *s)
		return -1;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int p3_map_dense(const uint32_t *id, uint32_t size, uint32_t *node)
{
	uint32_t *sorted = malloc(((size_t)size + 1) * sizeof(*sorted)), n = 0;

	if (!sorted)
		return -1;
	memcpy(sorted, id, (size_t)size * sizeof(*sorted));
	qsort(sorted, size, sizeof(*sorted), by_value);
	for (uint32_t i = 0; i < size; i++)
		if (!n || sorted[n - 1] != sorted[i])
			sorted[n++] = sorted[i];
	for (uint32_t i = 0; i < size; i++) {
		const uint32_t *at = bsearch(&id[i], sorted, n, sizeof(*sorted), by_value);

		node[i] = (uint32_t)(at - sorted);
	}
	free(sorted);
	return (int)n;
}

int p3_map_parse(const char *text, uint32_t size, uint32_t *node)
{
	const char *s = text;
	uint32_t rank = 0;

	if (expect(&s, '(') || strncmp(s, "vector", 6))
		return -1;
	s += 6;
	if (expect(&s, ','))
		return -1;
	while (rank < size) {
		uint32_t before = rank;

		if (pass(s, size, &rank, node) || rank == before)
			return -1;
	}
	return p3_map_dense(node, size, node);
}

int p3_map_list(const char *text, uint32_t *out, uint32_t max)
{
	uint32_t n = 0;

	if (!*text)
		return 0;
	for (;;) {
		if (n == max || number(&text, &out[n]))
			return -1;
		n++;
		if (!*text)
			return (int)n;
		if (*text++ != ':')
			return -1;
	}
}

uint64_t p3_map_hash(uint64_t h, const void *p, size_t len)
{
	const unsigned char *b = p;

	while (len--)
		h = (h ^ *b++) * 0x100000001b3ULL;
	return h;
}

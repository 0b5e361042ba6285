/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * copy.c - smartmap_copy() against bytes moved one by one
 *
 * Lengths around its pieces, each way of lying in a page, overlaps.
 */
#include "../common/tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../nal/smartmap/smartmap.h"

#define ROOM 40000

static unsigned char *got, *want;

static void move(unsigned char *b, size_t to, size_t from, size_t n)
{
	if (to < from)
		for (size_t i = 0; i < n; i++)
			b[to + i] = b[from + i];
	else
		for (size_t i = n; i--;)
			b[to + i] = b[from + i];
}

static bool same(size_t to, size_t from, size_t n)
{
	for (size_t i = 0; i < ROOM; i++)
		got[i] = want[i] = (unsigned char)(i * 167 + i / 251);
	smartmap_copy(got + to, got + from, n);
	move(want, to, from, n);
	return !memcmp(got, want, ROOM);
}

static const size_t lengths[] = { 0, 1, 63, 2047, 2048, 2049, 4095, 4096, 4097, 6144, 8191, 10001 };

static void t_apart(void)
{
	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++)
		for (size_t by = 0; by < 70; by++) {
			CHECK(same(20480 + by, 4096, lengths[k]));
			CHECK(same(4096 + by, 20480 + 64, lengths[k]));
		}
}

static void t_one_over_the_other(void)
{
	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++)
		for (size_t by = 0; by < 70; by++)
			for (size_t page = 0; page <= 4096; page += 4096) {
				CHECK(same(8192 + page + by, 8192, lengths[k]));
				CHECK(same(8192, 8192 + page + by, lengths[k]));
				CHECK(same(8192 + by, 8192 + page, lengths[k]));
			}
}

int main(void)
{
	static const struct t_case cases[] = { T(t_apart), T(t_one_over_the_other), { 0 } };

	got = malloc(ROOM);
	want = malloc(ROOM);
	if (!got || !want)
		bail("no memory");
	return t_run(cases);
}

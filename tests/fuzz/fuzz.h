/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz.h - what the fuzz targets share
 *
 * An input of several kinds: its first byte chooses, the second is a number for it, the rest is what is read: as text,
 * too, in memory as long as it is, so that what is read behind its end is noticed.
 */
#ifndef T_FUZZ_H
#define T_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static inline void must(bool good)
{
	if (!good)
		abort();
}

struct fuzz_in {
	uint8_t kind, some;
	const uint8_t *data;
	size_t n;
	char *text;			/* [n + 1], of its own */
};

/* False: too short for anything. */
static inline bool fuzz_in(struct fuzz_in *in, const uint8_t *data, size_t n)
{
	if (n < 2)
		return false;
	*in = (struct fuzz_in){ data[0], data[1], data + 2, n - 2, malloc(n - 1) };
	must(in->text);
	memcpy(in->text, in->data, in->n);
	in->text[in->n] = 0;
	return true;
}

/* The next @len bytes into @to; what is missing is 0. */
static inline void fuzz_take(struct fuzz_in *in, void *to, size_t len)
{
	size_t k = len < in->n ? len : in->n;

	memset(to, 0, len);
	memcpy(to, in->data, k);
	in->data += k;
	in->n -= k;
}

static inline uint32_t fuzz_number(struct fuzz_in *in, size_t bytes)
{
	uint32_t v = 0;

	fuzz_take(in, &v, bytes);
	return v;
}

#endif

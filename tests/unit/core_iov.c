/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_iov.c - walking pieces of memory, against byte-by-byte arithmetic */
#include "../common/tap.h"
#include "core_env.h"

static void t_walk_agrees_with_counting_bytes(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ni *ni = c_region(&s);
	struct p3l_iov *v = (struct p3l_iov *)((char *)ni + ni->space);
	uint64_t seed = 4;

	for (int round = 0; round < 3000; round++) {
		uint64_t map[2048], total = 0, off, len, at = 0, addr, n;
		uint32_t pieces = (uint32_t)(c_random(&seed) % 12);
		struct p3l_walk w;

		for (uint32_t i = 0; i < pieces; i++) {
			v[i] = (struct p3l_iov){ 0x10000 * (i + 1), c_random(&seed) % 4 ? c_random(&seed) % 100 : 0 };
			for (uint64_t k = 0; k < v[i].len; k++)
				map[total++] = v[i].base + k;
		}
		off = c_random(&seed) % (total + 1);
		len = c_random(&seed) % (total - off + 1);
		REQUIRE(p3l_walk_start(ni, 0, ni->space, pieces, off, len, &w));
		while (p3l_walk_next(&w, &addr, &n)) {
			CHECK(n > 0 && at + n <= len);
			CHECK_INT(addr, map[off + at]);
			CHECK_INT(addr + n - 1, map[off + at + n - 1]);
			at += n;
		}
		CHECK_INT(at, len);
		CHECK_INT(w.left, 0);
	}
	c_free(ni);
}

static void t_one_piece(void)
{
	struct p3l_ni *none = NULL;
	struct p3l_walk w;
	uint64_t a, n;

	CHECK(p3l_walk_start(none, 0x5000, 0, 0, 16, 32, &w));
	CHECK(p3l_walk_next(&w, &a, &n));
	CHECK_INT(a, 0x5010);
	CHECK_INT(n, 32);
	CHECK(!p3l_walk_next(&w, &a, &n));
	CHECK(p3l_walk_start(none, 0x5000, 0, 0, 16, 0, &w));
	CHECK(!p3l_walk_next(&w, &a, &n));
}

static void t_a_vector_that_lies_ends_early(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ni *ni = c_region(&s);
	struct p3l_iov *v = (struct p3l_iov *)((char *)ni + ni->space);
	struct p3l_walk w;
	uint64_t a, n;

	CHECK(!p3l_walk_start(ni, 0, ni->size, 1, 0, 8, &w));
	CHECK(!p3l_walk_start(ni, 0, ~0ULL, 1, 0, 8, &w));
	CHECK(!p3l_walk_start(ni, 0, ni->size - 16, 2, 0, 8, &w));
	CHECK(p3l_walk_start(ni, 0, ni->size - 16, 1, 0, 8, &w));
	CHECK(!p3l_walk_start(ni, 0, ni->space, P3L_MAX_IOV + 1, 0, 8, &w));
	v[0] = (struct p3l_iov){ 0x1000, 4 };
	CHECK(p3l_walk_start(ni, 0, ni->space, 1, 0, 8, &w));
	CHECK(p3l_walk_next(&w, &a, &n));
	CHECK_INT(n, 4);
	CHECK(!p3l_walk_next(&w, &a, &n));
	CHECK_INT(w.left, 4);			/* the caller sees it */
	c_free(ni);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_walk_agrees_with_counting_bytes), T(t_one_piece),
					       T(t_a_vector_that_lies_ends_early), { 0 } };

	return t_run(cases);
}

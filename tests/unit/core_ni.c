/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* core_ni.c - layout of a region, what a peer believes of it, space for event slots and vectors */
#include "../common/tap.h"
#include "core_env.h"

static void t_parts_of_a_region_do_not_overlap(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ni *ni = c_region(&s);
	uint64_t size = p3l_ni_size(&s);

	CHECK(ni->size == size);
	CHECK((char *)p3l_me(ni, 0) >= (char *)(ni + 1));
	CHECK((char *)p3l_md(ni, 0) >= (char *)p3l_me(ni, P3L_MAX_ME));
	CHECK((char *)p3l_row(ni, 0) >= (char *)p3l_md(ni, P3L_MAX_MD));
	CHECK((char *)p3l_lane(ni, 0) >= (char *)p3l_row(ni, P3L_MAX_SLOTS));
	CHECK((char *)ni + ni->space >= (char *)p3l_lane(ni, s.n_slots));
	CHECK(size - ni->space >= s.space);
	CHECK((char *)p3l_lane_line(ni, p3l_lane(ni, s.n_slots - 1), P3L_MAX_LINES - 1) < (char *)ni + ni->space);
	CHECK(ni->up == 1);
	c_free(ni);
}

static void t_sane_believes_only_what_fits(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ni *ni = c_region(&s), good = *ni;

	CHECK(p3l_ni_sane(ni, good.size));
	CHECK(!p3l_ni_sane(ni, good.size - 1));
#define LIE(field, value) do { ni->field = (value); CHECK(!p3l_ni_sane(ni, good.size)); *ni = good; } while (0)
	LIE(magic, 0);
	LIE(version, P3L_VERSION + 1);
	LIE(size, 4096);
	LIE(n_slots, P3L_MAX_SLOTS + 1);
	LIE(n_slots, good.n_slots + 1000);
	LIE(max_me, P3L_MAX_ME + 1);
	LIE(max_md, P3L_MAX_MD + 1);
	LIE(max_eq, P3L_MAX_EQ + 1);
	LIE(max_pt, P3L_MAX_PT);
	LIE(max_ac, P3L_MAX_AC);
	LIE(lane_lines, 128);
	LIE(lane_lines, 257);
	LIE(lane_lines, 2 * P3L_MAX_LINES);
	CHECK(p3l_ni_sane(ni, good.size));
	c_free(ni);
}

/* They may be overwritten after that, by any process of the job. */
static void t_no_number_of_a_region_leads_out_of_it(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ni *ni = c_region(&s);
	struct p3l_lane_hdr *lane = p3l_lane(ni, C_SLOTS - 1);
	void *me = p3l_me(ni, 3), *md = p3l_md(ni, 3), *row = p3l_row(ni, 3);
	static const uint32_t lies[] = { 0, 1, 3, 4096, 4097, 1u << 20, 1u << 31, 0xffffffff };

	for (unsigned i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		ni->max_me = ni->max_md = ni->max_eq = ni->n_slots = ni->lane_lines = lies[i];
		CHECK(p3l_me(ni, 3) == me && p3l_md(ni, 3) == md && p3l_row(ni, 3) == row);
		CHECK(p3l_lane(ni, C_SLOTS - 1) == lane);
		CHECK(p3l_slots(ni) <= P3L_MAX_SLOTS);
		for (unsigned n = 0; n < 40; n++)
			CHECK((char *)(p3l_lane_line(ni, lane, 0x89abcdefu * n) + 1) <= (char *)lane + P3L_LANE_STRIDE);
	}
	ni->max_me = ni->max_md = ni->me_fresh = ni->md_fresh = 0xffffffff;
	CHECK_INT(p3l_me_alloc(ni), 0);
	c_free(ni);
}

static void t_space_ends_where_the_region_does(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ni *ni = c_region(&s);
	uint64_t n = 0, at;

	while ((at = p3l_space_alloc(ni, 12)) && n < 10000) {
		CHECK(at >= ni->space && at + 4096 <= ni->size);
		n++;
	}
	CHECK_INT(n, s.space >> 12);
	CHECK_INT(p3l_space_alloc(ni, 3), 0);
	CHECK_INT(p3l_space_alloc(ni, 32), 0);
	CHECK_INT(p3l_space_alloc(ni, 63), 0);
	c_free(ni);
}

/* Blocks of 64 bytes and more, against a map of who has what. */
enum { MOST = 300 };
static struct p3l_ni *ni;
static uint16_t *owner;			/* of each 64 bytes: block + 1, 0: free */
static struct { uint64_t at; uint32_t log2; } block[MOST];
static uint32_t blocks;

static uint64_t units(uint32_t log2)
{
	return log2 < 6 ? 1 : (uint64_t)1 << (log2 - 6);
}

static bool model_has(uint64_t all, uint32_t log2)
{
	uint64_t n = units(log2), k;

	for (uint64_t i = 0; i + n <= all; i += n) {
		for (k = 0; k < n && !owner[i + k]; k++)
			;
		if (k == n)
			return true;
	}
	return false;
}

static void mark(uint32_t b, uint16_t was, uint16_t now)
{
	uint64_t n = units(block[b].log2), i = (block[b].at - ni->space) / 64;

	for (uint64_t k = 0; k < n; k++) {
		REQUIRE(owner[i + k] == was);
		owner[i + k] = now;
	}
}

static void give(uint32_t b)
{
	p3l_space_free(ni, block[b].at, block[b].log2);
	mark(b, (uint16_t)(b + 1), 0);
	if (b != --blocks) {
		mark(blocks, (uint16_t)(blocks + 1), (uint16_t)(b + 1));
		block[b] = block[blocks];
	}
}

static void t_space_is_refused_only_where_there_is_none(void)
{
	static const uint32_t pages[] = { 256, 1, 2, 77, 253, 512 };

	for (unsigned round = 0; round < sizeof(pages) / sizeof(*pages); round++) {
		struct p3l_setup s = c_setup();
		uint64_t seed = round, all = pages[round] * 64, refused = 0;
		uint32_t most = 3;

		while (units(most + 3) < all)
			most++;		/* log2 of the largest block that is asked for: 3 more */
		s.space = pages[round] * 4096;
		ni = c_region(&s);
		owner = calloc(all, sizeof(*owner));
		REQUIRE(owner);
		blocks = 0;
		for (int step = 0; step < 6000; step++) {
			bool filling = step / 500 % 2 == 0;

			if (blocks < MOST && c_random(&seed) % 8 < (filling ? 6u : 2u)) {
				uint32_t log2 = (uint32_t)(4 + c_random(&seed) % (c_random(&seed) % most + 1));
				uint64_t at = p3l_space_alloc(ni, log2);

				REQUIRE(!at == !model_has(all, log2));
				refused += !at;
				if (!at)
					continue;
				REQUIRE(at >= ni->space && at + (units(log2) << 6) <= ni->size && at % 64 == 0);
				block[blocks].at = at;
				block[blocks].log2 = log2;
				mark(blocks, 0, (uint16_t)(blocks + 1));
				blocks++;
			} else if (blocks) {
				give((uint32_t)(c_random(&seed) % blocks));
			}
		}
		CHECK(refused > 20);
		while (blocks)
			give(blocks - 1);
		CHECK_INT(c_taken(ni), 0);
		for (uint32_t log2 = 6; (uint64_t)1 << log2 <= s.space; log2++) {	/* all is one again */
			uint64_t at = p3l_space_alloc(ni, log2);

			CHECK(at);
			p3l_space_free(ni, at, log2);
		}
		free(owner);
		c_free(ni);
	}
}

static void t_space_is_given_back_once_and_whole(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ni *r = c_region(&s);
	uint64_t a = p3l_space_alloc(r, 10), b = p3l_space_alloc(r, 10), taken = c_taken(r);

	p3l_space_free(r, a, 9);
	p3l_space_free(r, a + 512, 9);
	p3l_space_free(r, a, 11);
	p3l_space_free(r, a + 64, 10);
	p3l_space_free(r, a - ((uint64_t)1 << 40), 10);
	p3l_space_free(r, r->size, 10);
	p3l_space_free(r, a, 63);
	p3l_space_free(r, 0, 6);
	CHECK_INT(c_taken(r), taken);
	p3l_space_free(r, a, 10);
	p3l_space_free(r, a, 10);
	CHECK_INT(c_taken(r), taken - 1024);
	CHECK_INT(p3l_space_alloc(r, 10), a);
	CHECK(p3l_space_alloc(r, 10) != b);
	c_free(r);
}

/* A peer writes over the tree: what is given out stays within the space. */
static void t_a_spoilt_tree_gives_nothing_out_of_the_space(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ni *r = c_region(&s);
	uint8_t *tree = (uint8_t *)r + P3L_TREE_OFF;
	uint64_t seed = 5, got = 0;

	for (int i = 0; i < 30000; i++) {
		uint32_t log2 = (uint32_t)(c_random(&seed) % 30);
		uint64_t at = p3l_space_alloc(r, log2);

		CHECK(!at || (at >= r->space && at + (units(log2) << 6) <= r->size));
		got += !!at;
		if (c_random(&seed) % 2)
			p3l_space_free(r, at, log2);
		tree[c_random(&seed) % (1u << (c_random(&seed) % 16))] = (uint8_t)c_random(&seed) % 25;
		if (i % 500 == 0)
			memset(tree, 0, 1 << 15);
		if (i % 1000 == 7)
			r->space_log2 = (uint32_t)c_random(&seed) % 40;
		if (i % 1000 == 17)
			r->space_log2 = 20;
	}
	CHECK(got > 1000);
	c_free(r);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_parts_of_a_region_do_not_overlap), T(t_sane_believes_only_what_fits),
					       T(t_no_number_of_a_region_leads_out_of_it),
					       T(t_space_ends_where_the_region_does),
					       T(t_space_is_refused_only_where_there_is_none),
					       T(t_space_is_given_back_once_and_whole),
					       T(t_a_spoilt_tree_gives_nothing_out_of_the_space), { 0 } };

	return t_run(cases);
}

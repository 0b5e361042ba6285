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
	CHECK(ni->space_end == size && size - ni->space >= s.space);
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

static void t_space_is_reused_by_size_and_ends(void)
{
	struct p3l_setup s = c_setup();
	struct p3l_ni *ni = c_region(&s);
	uint64_t a, b, c, n = 0;

	a = p3l_space_alloc(ni, 8);
	b = p3l_space_alloc(ni, 8);
	c = p3l_space_alloc(ni, 3);
	CHECK(a && b && c);
	CHECK(b >= a + 256 && c >= b + 256);
	p3l_space_free(ni, a, 8);
	p3l_space_free(ni, b, 8);
	CHECK(p3l_space_alloc(ni, 9) != a);
	CHECK(p3l_space_alloc(ni, 8) == b);
	CHECK(p3l_space_alloc(ni, 8) == a);
	while ((c = p3l_space_alloc(ni, 12)) && n < 10000) {
		CHECK(c + 4096 <= ni->size);
		n++;
	}
	CHECK(n > 100 && n < 300);
	CHECK(p3l_space_alloc(ni, 32) == 0);
	CHECK(p3l_space_alloc(ni, 63) == 0);
	c_free(ni);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_parts_of_a_region_do_not_overlap), T(t_sane_believes_only_what_fits),
					       T(t_no_number_of_a_region_leads_out_of_it),
					       T(t_space_is_reused_by_size_and_ends), { 0 } };

	return t_run(cases);
}

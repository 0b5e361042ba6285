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
	CHECK(ni->me_off >= sizeof(*ni));
	CHECK(ni->md_off >= ni->me_off + s.max_me * sizeof(struct p3l_me));
	CHECK(ni->row_off >= ni->md_off + s.max_md * sizeof(struct p3l_md));
	CHECK(ni->lane_off >= ni->row_off + s.n_slots * sizeof(struct p3l_row));
	CHECK(ni->space >= ni->lane_off + s.n_slots * p3l_lane_stride(s.lane_lines));
	CHECK(ni->space_end == size && size - ni->space >= s.space);
	CHECK((char *)(p3l_row(ni, s.n_slots - 1) + 1) <= (char *)ni + ni->lane_off);
	CHECK((char *)p3l_lane_line(ni, p3l_lane(ni, s.n_slots - 1), s.lane_lines - 1) < (char *)ni + ni->space);
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
	LIE(lane_lines, 1u << 21);
	LIE(me_off, good.me_off + 64);
	LIE(md_off, good.md_off - 64);
	LIE(row_off, 0);
	LIE(lane_off, ~0ULL);
	CHECK(p3l_ni_sane(ni, good.size));
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
					       T(t_space_is_reused_by_size_and_ends), { 0 } };

	return t_run(cases);
}

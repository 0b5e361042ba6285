/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_space.c - windows in address spaces of 36 to 57 bits: they fit, they do not overlap, and how many there are
 *
 * The arithmetic is asked about machines that are not there; one test looks at this one.
 */
#include "tap.h"

#include <sys/mman.h>
#include <unistd.h>

#include "smap_int.h"
#include "smap_space.h"

#define END(bits)	((uintptr_t)1 << (bits))

static const int widths[] = { 36, 38, 39, 42, 46, 47, 48, 52, 56, 57 };
#define WIDTHS	(sizeof(widths) / sizeof(widths[0]))

static void t_the_rule_by_width(void)
{
	static const struct { int width; uint32_t ranks; int bits; } want[] = {
		{ 36, 2, 33 }, { 36, 64, 28 }, { 36, 65, 0 },
		{ 38, 2, 35 },
		{ 39, 2, 36 }, { 39, 3, 35 }, { 39, 8, 34 }, { 39, 32, 32 }, { 39, 33, 31 }, { 39, 250, 29 },
		{ 42, 2, 39 }, { 42, 4, 38 }, { 42, 250, 32 },
		{ 47, 2, 39 }, { 47, 250, 39 }, { 47, 251, 38 }, { 47, 500, 38 }, { 47, 501, 37 },
		{ 48, 250, 39 }, { 48, 506, 39 }, { 52, 250, 39 }, { 57, 250, 39 }, { 57, 100000, 39 },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if (!CHECK_INT(smap_space_bits(END(want[i].width), want[i].ranks, SMAP_BITS_MIN, SMAP_BITS_MAX),
			       want[i].bits))
			diag("%u ranks in %d bits", want[i].ranks, want[i].width);
}

/* What README and smartmap.h say. */
static void t_most_ranks_in_47_bits(void)
{
	CHECK_INT(smap_space_most(END(47), 39), SMARTMAP_MAX_PEERS);
	CHECK_INT(smap_space_most(END(47), 38), 500);
	CHECK_INT(smap_space_most(END(47), 32), 32000);
	CHECK_INT(smap_space_most(END(48), 39), 506);
	CHECK_INT(smap_space_most(END(39), 32), 32);
	CHECK_INT(smap_space_most(END(39), 28), 512);
	CHECK_INT(smap_space_most(END(36), 28), 64);
}

/* Every place is a whole window inside the space, on its line, and given once; not the first and not the last. */
static void t_places_do_not_overlap(void)
{
	static uint8_t seen[1 << 20];

	for (size_t w = 0; w < WIDTHS; w++) {
		for (int bits = SMAP_BITS_MIN; bits <= SMAP_BITS_MAX; bits++) {
			uintptr_t end = END(widths[w]), at;
			uint64_t size = (uint64_t)1 << bits, slots = end / size, n, twice = 0, bad = 0;

			if (slots > sizeof(seen))
				continue;
			memset(seen, 0, sizeof(seen));
			for (n = 0; (at = smap_space_place(end, bits, n)) && n <= slots; n++) {
				bad += at % size || at < size || at > end - 2 * size;
				twice += at / size < slots && seen[at / size]++;
			}
			CHECK_INT(bad, 0);
			CHECK_INT(twice, 0);
			if (slots >= 4 && !CHECK(n <= slots - 2 && n + 2 >= slots))
				diag("%d bits, windows of 2^%d: %llu places", widths[w], bits, (unsigned long long)n);
			if (slots < 4)
				CHECK_INT(n, 0);
			for (uint64_t more = n; more < n + 5; more++)
				CHECK_INT(smap_space_place(end, bits, more), 0);
		}
	}
}

/* As many as the rule allows do have a place, below the part that is the kernel's. */
static void t_as_many_fit_as_the_rule_allows(void)
{
	for (size_t w = 0; w < WIDTHS; w++) {
		uintptr_t end = END(widths[w]);

		for (uint32_t ranks = 2; ranks <= SMARTMAP_MAX_PEERS; ranks++) {
			int bits = smap_space_bits(end, ranks, SMAP_BITS_MIN, SMAP_BITS_MAX);
			uintptr_t last;

			if (!bits)
				continue;
			last = smap_space_place(end, bits, ranks - 1);
			if (!CHECK(last && last + SMAP_SIZE(bits) <= end - smap_space_top(end)))
				diag("%u ranks in %d bits: window %d at %#llx", ranks, widths[w], bits,
				     (unsigned long long)last);
		}
	}
}

/* In a small space three quarters stay the program's. */
static void t_small_spaces_are_not_filled(void)
{
	for (size_t w = 0; w < WIDTHS; w++)
		for (uint32_t ranks = 2; ranks <= SMARTMAP_MAX_PEERS; ranks++) {
			int bits = smap_space_bits(END(widths[w]), ranks, SMAP_BITS_MIN, SMAP_BITS_MAX);

			if (bits && widths[w] < SMAP_WIDTH_FULL)
				CHECK(ranks * SMAP_SIZE(bits) <= END(widths[w]) / 4);
		}
}

static void t_width_from_an_address(void)
{
	CHECK_INT(smap_space_above(0), END(32));
	CHECK_INT(smap_space_above(END(32) - 1), END(32));
	CHECK_INT(smap_space_above(END(32)), END(33));
	CHECK_INT(smap_space_above(0x7ffc12345000), END(47));		/* x86-64 */
	CHECK_INT(smap_space_above(0xfffff7fff000), END(48));		/* arm64 with 48 bits */
	CHECK_INT(smap_space_above(0x7ffff7f000), END(39));		/* with 39 */
	CHECK_INT(smap_space_above(0x3ffff7f000), END(38));		/* RISC-V, sv39 */
	CHECK_INT(smap_space_above(0xfffff7f000), END(40));
}

static void t_this_machine(void)
{
	uintptr_t end = smap_space_end(), here = (uintptr_t)&end;
	long page = sysconf(_SC_PAGESIZE);

	CHECK(page >= 4096 && !(page & (page - 1)) && smap_page() == (uintptr_t)page);
	CHECK(!(end & (end - 1)));
	if (!getenv("SMARTMAP_FORCE_SPACE"))
		CHECK(here < end);
	CHECK_INT(smap_space_end(), end);
	CHECK(SMAP_CTL_SIZE % (64 << 10) == 0);			/* nothing is adopted within a page of it */
#if defined(__x86_64__)
	CHECK(getenv("SMARTMAP_FORCE_SPACE") || end == END(47));
#endif
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_the_rule_by_width), T(t_most_ranks_in_47_bits), T(t_places_do_not_overlap),
		T(t_as_many_fit_as_the_rule_allows), T(t_small_spaces_are_not_filled), T(t_width_from_an_address),
		T(t_this_machine), { 0 }
	};

	return t_run(cases);
}

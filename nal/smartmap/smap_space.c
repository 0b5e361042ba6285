/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_space.c - page size and width of the address space, and what follows from them for windows
 *
 * The rule. Where addresses have 47 bits or more (x86-64; arm64 with 48, or with 16-KiB pages), the program's own
 * mappings lie in a few slots of 2^39 bytes: six are left to it, windows may take all others. In a smaller space (39
 * bits: arm64 with three levels of tables; 36 and 42 with other pages) image, heap, libraries and stack are spread over
 * all of it, so windows take a fourth at most, and are smaller. Addresses beyond 2^48, which the kernel gives to those
 * only who ask for them (five levels), are not asked for: 250 windows do not need them.
 *
 * No malloc, no lock: it runs in constructors of the allocator. The results are the same whoever computes them first.
 */
#include "smap_space.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define SLOT		((uint64_t)1 << 39)
#define KEPT		6		/* slots that the program keeps in a space of full width */

uintptr_t smap_page(void)
{
	static uintptr_t page;

	if (!page) {
		long v = sysconf(_SC_PAGESIZE);

		page = v > 0 ? (uintptr_t)v : 4096;
	}
	return page;
}

uintptr_t smap_space_above(uintptr_t at)
{
	uintptr_t end = (uintptr_t)1 << 32;

	while (end <= at && end < (uintptr_t)1 << 62)
		end <<= 1;
	return end;
}

/* May programs have addresses just below @end? Something that is there already says yes, too. */
static int reaches(uintptr_t end)
{
	uintptr_t at = end - 16 * smap_page();
	void *p = mmap((void *)at, smap_page(), PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return errno == EEXIST;
	munmap(p, smap_page());
	return p == (void *)at;
}

uintptr_t smap_space_end(void)
{
	static uintptr_t known;
	uintptr_t end = known, at, v;
	const char *s;
	char here;

	if (end)
		return end;
	/* The kernel puts the stack at the top. Ours may be another one, and emulators put it elsewhere: ask, too. */
	at = (uintptr_t)&here > (uintptr_t)&known ? (uintptr_t)&here : (uintptr_t)&known;
	v = (uintptr_t)getauxval(AT_RANDOM);
	end = smap_space_above(v > at ? v : at);
	while (end < (uintptr_t)1 << SMAP_WIDTH_FULL && reaches(2 * end))
		end *= 2;
	s = getenv("SMARTMAP_FORCE_SPACE");
	v = s ? strtoul(s, NULL, 10) : 0;
	if (v >= 32 && v < 62 && (uintptr_t)1 << v < end)
		end = (uintptr_t)1 << v;
	known = end;
	return end;
}

uint64_t smap_space_top(uintptr_t end)
{
	return end >= (uintptr_t)1 << SMAP_WIDTH_FULL ? 3 * SLOT : end / 8;
}

uint32_t smap_space_most(uintptr_t end, int bits)
{
	uint64_t room = end >= (uintptr_t)1 << SMAP_WIDTH_FULL ? end - KEPT * SLOT : end / 4;
	uint64_t n = room >> bits;

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

int smap_space_bits(uintptr_t end, uint32_t size, int least, int most)
{
	int bits;

	for (bits = most; bits >= least; bits--)
		if (smap_space_most(end, bits) >= size)
			return bits;
	return 0;
}

/*
 * Downwards from below the top: the last addresses are where the kernel puts mappings, the first where allocators like
 * to. The top is tried when all else is taken, except the very first and last slot.
 */
uintptr_t smap_space_place(uintptr_t end, int bits, uint64_t n)
{
	uint64_t size = (uint64_t)1 << bits, top = smap_space_top(end), from, first;

	if (end < 4 * size)
		return 0;
	from = (end - top - size) & ~(size - 1);
	first = from / size;			/* places from, from - size, ... size */
	if (n < first)
		return (uintptr_t)(from - n * size);
	n -= first;
	from = end - 2 * size;
	if (top < 2 * size || n >= top / size - 1)
		return 0;
	return (uintptr_t)(from - n * size);
}

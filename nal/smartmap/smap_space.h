/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_space.h - page size and width of the address space, and what follows from them for windows
 *
 * The arithmetic takes both as arguments, so that tests can ask it about machines that are not there.
 */
#ifndef SMAP_SPACE_H
#define SMAP_SPACE_H

#include <stdint.h>

#define SMAP_WIDTH_FULL	47		/* from here on windows of 2^39 bytes are the rule */

/* Of this machine. SMARTMAP_FORCE_SPACE=BITS (tests): windows are made as if addresses had no more bits. */
uintptr_t smap_page(void);
uintptr_t smap_space_end(void);		/* first address above what programs have: 2^width, where it is not forced */

/* The least power of two above @at, and at least 2^32. */
uintptr_t smap_space_above(uintptr_t at);

/* Bytes at the upper end that are left to the kernel's mappings (stack, libraries) while there is room elsewhere. */
uint64_t smap_space_top(uintptr_t end);

/* How many windows of 2^@bits bytes the rule below allows in the space. */
uint32_t smap_space_most(uintptr_t end, int bits);

/* The largest windows, at most 2^@most, that the rule allows @size of. 0: not even 2^@least. */
int smap_space_bits(uintptr_t end, uint32_t size, int least, int most);

/* The @n-th place to try for a window of 2^@bits bytes, best first; a multiple of its size. 0: there are no more. */
uintptr_t smap_space_place(uintptr_t end, int bits, uint64_t n);

#endif

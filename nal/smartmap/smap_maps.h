/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_maps.h - our own address space as the kernel tells it, and free places in it */
#ifndef SMAP_MAPS_H
#define SMAP_MAPS_H

#include "smap_int.h"

struct smap_map {
	uintptr_t lo, hi;
	int prot;			/* PROT_* */
	int shared;
	int file;			/* backed by a file (inode != 0) */
	const char *name;		/* "" for anonymous; valid only during the callback */
};

/* Call @fn for each mapping, lowest first, until it returns nonzero, which is returned. -errno: no /proc. No malloc. */
int smap_maps_walk(int (*fn)(void *arg, const struct smap_map *m), void *arg);

/* Threads of this process; -1 when /proc does not say. */
int smap_tasks(void);

/* Under Valgrind (any tool)? */
int smap_valgrind(void);

/* Built with one that owns the layout of the process? */
int smap_sanitizer(void);

/* Map 2^bits bytes of @fd, shared, at a free multiple of 2^bits. Not inherited, not dumped. 0: errno set. */
uintptr_t smap_window_map(int fd, int bits);

/* Largest gap, in low-bit space of @bits, that no private writable mapping, nor the control page, uses. */
int smap_arena_gap(int bits, uint64_t *lo, uint64_t *hi);

#endif

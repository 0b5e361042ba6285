/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_arena.h - start of the arena's free list */
#ifndef SMAP_ARENA_H
#define SMAP_ARENA_H

#include "smap_int.h"

int smap_arena_setup(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_adopt.h - move private memory into the own file */
#ifndef SMAP_ADOPT_H
#define SMAP_ADOPT_H

#include "smap_int.h"

/* Adopt what @what (enum smartmap_adopt) names and the rules allow. Never fails: what stays private has its reason. */
void smap_adopt_all(uint32_t what);
/* Give all adopted ranges private memory again, with the same bytes: a start that failed later. One thread. */
void smap_adopt_undo(void);

#endif

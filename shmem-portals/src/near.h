/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* near.h - the table of what is near: shmem_inline.h */
#ifndef SHMEMI_NEAR_H
#define SHMEMI_NEAR_H

#include <stdint.h>

/* When heap and data are known. */
void shmemi_near_begin(void);

/* Where heap and static data of @pe are seen here. */
void shmemi_near_set(int pe, uintptr_t heap, uintptr_t data);

void shmemi_near_end(void);

#endif

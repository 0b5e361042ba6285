/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpp/shmem.h - the header's older place, with the names of the T3E that have no prefix
 *
 * A program that has a my_pe or a barrier of its own defines SHMEM_NO_SHORT_NAMES, or includes <shmem.h>; the library's
 * are weak.
 */
#ifndef MPP_SHMEM_H
#define MPP_SHMEM_H

#include <shmem.h>

#ifndef SHMEM_NO_SHORT_NAMES
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif
int my_pe(void);
int num_pes(void);
void barrier(void);			/* shmem_barrier_all() */
void globalexit(int status);		/* shmem_global_exit() */
#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif

#endif

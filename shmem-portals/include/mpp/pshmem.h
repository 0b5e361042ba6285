/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* mpp/pshmem.h - the header's older place, with what <mpp/shmem.h> has beside <shmem.h> */
#ifndef MPP_PSHMEM_H
#define MPP_PSHMEM_H

#include <mpp/shmem.h>
#include <pshmem.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif
int pmy_pe(void);
int pnum_pes(void);
void pbarrier(void);
void pglobalexit(int status);
#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif

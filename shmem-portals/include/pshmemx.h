/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* pshmemx.h - the profiling interface of the extensions */
#ifndef PSHMEMX_H
#define PSHMEMX_H

#include <pshmem.h>
#include <shmemx.h>

#ifdef __cplusplus
extern "C" {
#endif
#define SHMEMIX_(name) pshmemx_##name
#include <shmemx_protos.h>
#undef SHMEMIX_
#ifdef __cplusplus
}
#endif

#endif

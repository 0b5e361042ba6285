/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * pshmem.h - the profiling interface: each shmem_ routine by the name that a tool's own version of it calls
 *
 * In the library pshmem_X is the routine and shmem_X a weak alias of it.
 */
#ifndef PSHMEM_H
#define PSHMEM_H

#include <shmem.h>

#ifdef __cplusplus
extern "C" {
#endif
#define SHMEMI_(name) pshmem_##name
#define SHMEMI_BARE(name) p##name
#include <shmem_protos.h>
#include <shmem_coll.h>
#include <shmem_legacy.h>
#undef SHMEMI_BARE
#undef SHMEMI_
#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* shmemx.h - extensions: what Cray's OpenSHMEMX has beside OpenSHMEM, by its names; heap_status is our own */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>

#ifdef __cplusplus
extern "C" {
#endif
#define SHMEMIX_(name) shmemx_##name
#include <shmemx_protos.h>
#undef SHMEMIX_
#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3rt/p3rt.h - ranks (the reference implementation's runtime): which rank am I, and which process is rank r
 *
 * PtlInit comes first. Before PtlNIInit give PTL_INVALID_HANDLE. Ranks are those after MPICH_RANK_REORDER_METHOD.
 */
#ifndef P3RT_P3RT_H
#define P3RT_P3RT_H

#include <p3api/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/** PtlGetRank - own rank and number of ranks. PTL_OK, PTL_NO_INIT, PTL_NI_INVALID, PTL_SEGV. */
int PtlGetRank(ptl_handle_ni_t ni, unsigned *rank, unsigned *group_size);

/** PtlGetRankId - Portals id of a rank. Codes as PtlGetRank; PTL_FAIL (@rank out of range). */
int PtlGetRankId(ptl_handle_ni_t ni, unsigned rank, ptl_process_id_t *id);

/**
 * PtlGetNIDMap, PtlGetPIDMap - ids of ranks 0 .. @group_size-1
 * Return: codes as PtlGetRank; PTL_FAIL (@group_size is not the job's).
 */
int PtlGetNIDMap(ptl_handle_ni_t ni, ptl_nid_t *map, unsigned group_size);
int PtlGetPIDMap(ptl_handle_ni_t ni, ptl_pid_t *map, unsigned group_size);

/** PtlGetNodeMap_np - (virtual) node number of ranks 0 .. @group_size-1, counted from 0. Codes as PtlGetNIDMap. */
int PtlGetNodeMap_np(ptl_handle_ni_t ni, unsigned *map, unsigned group_size);

/**
 * PtlSetRank - with rank and size -1: read PTL_MY_RID and the maps of the environment (done by PtlInit already)
 * Return: PTL_OK; PTL_NO_INIT; PTL_NI_INVALID; PTL_FAIL (another rank or size than the job's).
 */
int PtlSetRank(ptl_handle_ni_t ni, unsigned rank, unsigned group_size);

/** PtlOversubscribed_np - 1: the job has more ranks on this node than cores; waiting should give up the core. */
int PtlOversubscribed_np(void);

/**
 * PtlRtPmiShared_np - another PMI client of this process (MPICH's own) owns the connection to the launcher
 *
 * Call before PtlInit, or at any time before exit. This library then never says "finalize" to the launcher: the other
 * client does. Without it we do, when the process exits with status 0.
 */
void PtlRtPmiShared_np(void);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif

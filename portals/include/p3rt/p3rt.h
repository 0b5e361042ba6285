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
 * PtlSetRank, PtlSetNIDMap, PtlSetPIDMap - describe the job, where neither a launcher nor the environment does
 * @ni:  PTL_INVALID_HANDLE before PtlNIInit, which then opens its interface as pidmap[rank]; the open one afterwards
 * @map: of @group_size ranks, copied
 * PtlSetRank with rank and size -1 reads PTL_MY_RID, PTL_NIDMAP, PTL_PIDMAP and PTL_MY_JID (PtlInit has done so already;
 * again, for those that set them later). What is known already may be set again, not changed. All three calls together
 * describe the job; it takes effect with the last of them.
 * Return: PTL_OK; PTL_NO_INIT; PTL_NI_INVALID; PTL_SEGV; PTL_FAIL (another job is known already, a node id that is not the
 * interface's, sizes that differ); PTL_PID_INVALID (a process id that is not the interface's).
 */
int PtlSetRank(ptl_handle_ni_t ni, unsigned rank, unsigned group_size);
int PtlSetNIDMap(ptl_handle_ni_t ni, ptl_nid_t *map, unsigned group_size);
int PtlSetPIDMap(ptl_handle_ni_t ni, ptl_pid_t *map, unsigned group_size);

/** PtlSetJID - job id of interfaces opened from now on; the same in all ranks. PTL_NO_INIT; PTL_FAIL (one is open). */
int PtlSetJID(ptl_jid_t jid);

/**
 * p3tcp_my_nid - node id of a network device: its IPv4 address, in host order; may be called before PtlInit
 * @if_name: such as "eth0"; NULL: the device named by PTL_IFACE, or any
 * Where there is no such device (names have changed since programs were written) the first that is up serves, and last the
 * loopback. Return: PTL_OK; PTL_SEGV; PTL_FAIL (no device has an address).
 */
int p3tcp_my_nid(const char *if_name, unsigned int *nid);

/** PtlOversubscribed_np - 1: the job has more ranks on this node than cores; waiting should give up the core. */
int PtlOversubscribed_np(void);

/**
 * PtlRtBarrier_np - wait for all ranks of the job; collective. Blocks
 *
 * Of a job without a launcher: for those on this node, and only while an interface is open. PTL_OK; PTL_NO_INIT; PTL_FAIL
 * (the launcher is gone, another rank has died, or there is nobody to ask).
 */
int PtlRtBarrier_np(void);

/**
 * PtlRtPut_np, PtlRtGet_np - leave a word with the launcher; read one that any rank left before the last barrier
 *
 * Keys and values are printable characters without blanks and '='. PTL_OK; PTL_NO_INIT; PTL_SEGV; PTL_FAIL (no launcher, no
 * such key, or too long).
 */
int PtlRtPut_np(const char *key, const char *value);
int PtlRtGet_np(const char *key, char *value, unsigned len);

/**
 * PtlRtPmiShared_np - another PMI client of this process (MPICH's own) owns the connection to the launcher
 *
 * Call before PtlInit, or at any time before exit. This library then never says "finalize" to the launcher: the other
 * client does. Without it we do, when the process exits with status 0. With it, a rank that exits with status 0 before
 * PtlFini ends the job, if it has others: they would wait for it.
 */
void PtlRtPmiShared_np(void);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif

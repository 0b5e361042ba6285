/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3rt/p3rt.h - ranks (the reference implementation's runtime): which rank am I, and which process is rank r;
 * included by <p3rt/p3rt.h>
 *
 * PtlInit comes first. Before PtlNIInit give PTL_INVALID_HANDLE. Ranks are those after MPICH_RANK_REORDER_METHOD.
 *
 * Return of all but p3tcp_my_nid:
 *   PTL_OK: success
 *   PTL_NO_INIT: before PtlInit, after PtlFini, or in the child of a fork(2)
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

/**
 * PtlGetRank - own rank and number of ranks of the job
 * @ni: an open interface; or, from PtlInit on, PTL_INVALID_HANDLE
 * @rank: out, own rank, from 0
 * @group_size: out, number of ranks
 *
 * The processes of a job are numbered by rank. Ranks are those after MPICH_RANK_REORDER_METHOD, the same for every
 * library of the process. Does not block.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is neither
 *   PTL_SEGV: an output is NULL
 * Source: Of the reference implementation's runtime.
 * See: PtlGetId, PtlSetRank, aprun(1)
 */
int PtlGetRank(ptl_handle_ni_t ni, unsigned *rank, unsigned *group_size);

/**
 * PtlGetRankId - Portals id of a rank
 * @ni: an open interface; or, from PtlInit on, PTL_INVALID_HANDLE
 * @rank: 0 to the number of ranks - 1
 * @id: out, node and process id that the launcher or PTL_PIDMAP chose
 *
 * Return:
 *   PTL_NI_INVALID: @ni is neither
 *   PTL_FAIL: @rank is out of range
 *   PTL_SEGV: @id is NULL
 * Source: Of the reference implementation's runtime.
 * See: PtlGetId, PtlGetRank
 */
int PtlGetRankId(ptl_handle_ni_t ni, unsigned rank, ptl_process_id_t *id);

/**
 * PtlGetNIDMap, PtlGetPIDMap, PtlGetNodeMap_np - ids of all ranks
 * @ni: an open interface; or, from PtlInit on, PTL_INVALID_HANDLE
 * @map: out, of @group_size entries: node ids, process ids, numbers of the (virtual) nodes, counted from 0
 * @group_size: must be the number of ranks
 *
 * Return:
 *   PTL_NI_INVALID: @ni is neither
 *   PTL_FAIL: @group_size is not the job's
 *   PTL_SEGV: @map is NULL
 * Source: Of the reference implementation's runtime; PtlGetNodeMap_np is of this library.
 * See: PtlGetRank, PtlSetNIDMap
 */
int PtlGetNIDMap(ptl_handle_ni_t ni, ptl_nid_t *map, unsigned group_size);
int PtlGetPIDMap(ptl_handle_ni_t ni, ptl_pid_t *map, unsigned group_size);
int PtlGetNodeMap_np(ptl_handle_ni_t ni, unsigned *map, unsigned group_size);

/**
 * PtlSetRank, PtlSetNIDMap, PtlSetPIDMap - describe the job by calls
 * @ni: PTL_INVALID_HANDLE before PtlNIInit; the open interface afterwards
 * @rank: own rank; -1, with a @group_size of -1: read it from the environment
 * @group_size: number of ranks
 * @map: node ids, process ids of all ranks; copied
 *
 * For programs that bring their own launcher, between PtlInit and PtlNIInit. All three calls together describe the
 * job; it takes effect with the last of them, in whatever order. PtlNIInit with PTL_PID_ANY then opens the
 * interface as pidmap[rank]. Ranks with the same node id are on the same node and meet there, so every rank must
 * tell the same. Process ids may be those of Unix.
 *
 * PtlSetRank with rank and size -1 reads PTL_MY_RID, PTL_NIDMAP, PTL_PIDMAP and PTL_MY_JID. PtlInit has done so;
 * this is for those that set them afterwards.
 *
 * Where a launcher or the environment has described the job, and once an interface is open, the calls compare: what
 * is known already may be set again, not changed. None of them blocks.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is neither an open interface nor PTL_INVALID_HANDLE
 *   PTL_FAIL: another job is known already; node ids that are not the job's; sizes that differ
 *   PTL_PID_INVALID: process ids that are not the job's
 *   PTL_SEGV: @map is NULL
 * Source: Of the reference implementation's runtime.
 * See: PtlGetRank, PtlNIInit, aprun(1)
 */
int PtlSetRank(ptl_handle_ni_t ni, unsigned rank, unsigned group_size);
int PtlSetNIDMap(ptl_handle_ni_t ni, ptl_nid_t *map, unsigned group_size);
int PtlSetPIDMap(ptl_handle_ni_t ni, ptl_pid_t *map, unsigned group_size);

/**
 * PtlSetJID - job id of interfaces opened from now on
 * @jid: from 1 on, the same in all ranks
 *
 * Without it the id is PTL_MY_JID's, or made from the maps.
 *
 * Return:
 *   PTL_FAIL: an interface is open
 * Source: Of the reference implementation's runtime.
 * See: PtlGetJid, PtlSetRank
 */
int PtlSetJID(ptl_jid_t jid);

/**
 * p3tcp_my_nid - node id of a network device
 * @if_name: such as "eth0"; NULL: the device named by PTL_IFACE, or any
 * @nid: out, its IPv4 address in the byte order of the host: what programs for the reference implementation put
 *	into PTL_NIDMAP
 *
 * Where there is no such device (names have changed since those programs were written) the first that is up serves,
 * and last the loopback. May be called before PtlInit.
 *
 * Return:
 *   PTL_OK: success
 *   PTL_FAIL: no device has an address
 *   PTL_SEGV: @nid is NULL
 * Source: A private function of the reference implementation that programs came to call.
 * See: PtlSetRank, portals-knobs(7)
 */
int p3tcp_my_nid(const char *if_name, unsigned int *nid);

/**
 * PtlOversubscribed_np - has the job more ranks on this node than cores?
 *
 * Then waiting should give up the core.
 *
 * Return: 1: yes; 0: no.
 * Source: An extension of this library.
 * See: PtlGetRank
 */
int PtlOversubscribed_np(void);

/**
 * PtlRtBarrier_np - wait for all ranks of the job
 *
 * Collective; blocks until all ranks have called it. It goes through the launcher; in a job that was started by
 * hand it goes through shared memory: for the ranks of this node, and only while an interface is open. It is meant
 * for start and end, not for computing. Progress is made meanwhile.
 *
 * Return:
 *   PTL_FAIL: the launcher is gone, another rank has died, or there is nobody to ask
 * Source: An extension of this library.
 * See: PMI_Barrier, PtlGetRank, cnos_barrier
 */
int PtlRtBarrier_np(void);

/**
 * PtlRtPut_np, PtlRtGet_np - leave a word with the launcher, and read one
 * @key: printable characters without blanks and "="
 * @value: PtlRtPut_np: the word, of such characters; PtlRtGet_np: out, the word with its final 0
 * @len: bytes at @value, at least 1
 *
 * PtlRtGet_np reads what any rank left before the last barrier.
 *
 * Return:
 *   PTL_FAIL: there is no launcher, or it is gone; no such key; too long
 *   PTL_SEGV: an argument is NULL, or @len is 0
 * Source: An extension of this library.
 * See: PMI_KVS_Get, PtlRtBarrier_np
 */
int PtlRtPut_np(const char *key, const char *value);
int PtlRtGet_np(const char *key, char *value, unsigned len);

/**
 * PtlRtSmartmap_np - join SMARTMAP on this node, where the interface has not: its state is in the kernel
 *
 * For a library that keeps what it shows to others in arenas (smartmap_alloc()), and has Portals move it. Collective over
 * the ranks of the node; blocks until all have come, PTL_INIT_TIMEOUT_S at most. Nothing of the program's becomes visible,
 * whatever PTL_ADOPT says. Where SMARTMAP is joined already, it counts once more. The caller leaves by smartmap_fini(),
 * before PtlFini.
 *
 * Return:
 *   PTL_NO_INIT: not between PtlInit and PtlFini
 *   PTL_FAIL: it cannot be had; standard error has the reason
 *   PTL_NO_SPACE: there is no memory for it
 * Source: An extension of this library.
 * See: smartmap_init, smartmap_fini
 */
int PtlRtSmartmap_np(void);

/**
 * PtlRtEnd_np - the job ends: said just before exit()
 * @first: other than 0: the launcher is to end the job with the status of this process; 0: another rank has it do that
 *
 * What follows is exit(status). At its very end, with a status other than 0, the launcher is asked to end the job with it, or
 * this process waits to be ended, for five seconds at most in both cases. With status 0 it says goodbye to the launcher.
 * Nothing is said of a missing PtlFini.
 *
 * Return: other than 0: there is a launcher, which will end the ranks. 0: there is none, the call has done nothing
 * Source: An extension of this library.
 * See: PMI_Abort, PtlRtPmiShared_np
 */
int PtlRtEnd_np(int first);

/**
 * PtlRtPmiShared_np - another client of the launcher in this process owns the connection
 *
 * As MPICH's own does. Call before PtlInit, or at any time before exit. This library then never says "finalize" to
 * the launcher: the other client does. Without it we do, when the process exits with status 0. With it, a rank that
 * exits with status 0 before PtlFini ends the job, if it has others: they would wait for it.
 *
 * Source: An extension of this library.
 * See: PtlGetRank
 */
void PtlRtPmiShared_np(void);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif

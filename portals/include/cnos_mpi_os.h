/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * cnos_mpi_os.h - ranks, as the XT's start-up library gives them; also <catamount/cnos_mpi_os.h>, <pctmbox.h>
 *
 * The calls are in libportals. Those that return a rank, a size or a map join the job when they are the first of the
 * library to be called, which is collective; PtlInit is not needed before. Ranks are those after MPICH_RANK_REORDER_METHOD.
 */
#ifndef CNOS_MPI_OS_H
#define CNOS_MPI_OS_H

#include <portals/portals3.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * cnos_nidpid_map_t - Portals id of a rank
 *
 * Source: The XT's start-up library.
 * See: cnos_get_nidpid_map
 */
typedef struct {
	ptl_nid_t nid;		/* its node */
	ptl_pid_t pid;		/* its process id */
} cnos_nidpid_map_t;

/**
 * cnos_get_rank, cnos_get_size, cnos_get_n_pes_in_app - own rank, number of ranks
 *
 * The first of these calls joins the job, which is collective and may block; PtlInit need not come before. Ranks
 * are those after MPICH_RANK_REORDER_METHOD. cnos_get_n_pes_in_app is cnos_get_size.
 *
 * Return: the rank, from 0; the number of ranks; -1 where the job could not be joined (a sentence on standard
 * error).
 * Source: The XT's start-up library: Catamount, and Linux on the compute nodes.
 * See: PMI_Init, PtlGetRank
 */
int cnos_get_rank(void);
int cnos_get_size(void);
int cnos_get_n_pes_in_app(void);

/**
 * cnos_get_nidpid_map - Portals ids of all ranks
 * @map: address of a cnos_nidpid_map_t *, out: a new array from malloc(3), which the caller may free(3)
 *
 * With an interface open these are the ids in use, without one those that PTL_PID_ANY gives. In accelerated mode
 * (CRAY_ACCEL) add ACCEL_PTLS_PID_SPACE_OFFSET to each pid. Joins the job where it is the first such call.
 *
 * Return: the number of ranks; -1 where the job could not be joined (a sentence on standard error), or there is no
 * memory.
 * Source: The XT's start-up library.
 * See: PMI_CNOS_Get_nidpid_map, PtlGetNIDMap
 */
int cnos_get_nidpid_map(void *map);

/**
 * cnos_barrier_init - does nothing
 * @ni: not looked at
 *
 * Kept for the order of calls on the XT.
 *
 * Source: The XT's start-up library.
 * See: cnos_barrier
 */
void cnos_barrier_init(ptl_handle_ni_t ni);

/**
 * cnos_barrier, cnos_pm_barrier - wait for all ranks
 * @last: 1: the last one before the process ends; not looked at
 *
 * As PtlRtBarrier_np: collective, blocks, makes progress.
 *
 * Return: 0; -1: the job could not be joined, or the barrier failed.
 * Source: The XT's start-up library.
 * See: PMI_Barrier, PtlRtBarrier_np
 */
int cnos_barrier(void);
void cnos_pm_barrier(int last);

/**
 * cnos_register_ptlid - tell the launcher under which id this process can be reached
 * @id: its Portals id
 *
 * The launcher knows it already: it is checked that @id is that of the open interface.
 *
 * Return: 0; -1: it is not this process's id.
 * Source: The XT's start-up library.
 * See: PtlGetId
 */
int cnos_register_ptlid(ptl_process_id_t id);

/**
 * cnos_launcher - what has started the process
 *
 * Joins the job where it is the first such call.
 *
 * Return: CNOS_LAUNCHER_APRUN; CNOS_LAUNCHER_NONE where the job could not be joined, or is this process alone.
 * Source: The XT's start-up library.
 */
int cnos_launcher(void);
#define CNOS_LAUNCHER_NONE	0	/* nothing */
#define CNOS_LAUNCHER_YOD	1	/* Catamount's yod; never returned */
#define CNOS_LAUNCHER_APRUN	2	/* aprun or another launcher */

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * cnos_mpi_os.h - ranks, as the XT's start-up library gives them
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

typedef struct {
	ptl_nid_t nid;
	ptl_pid_t pid;
} cnos_nidpid_map_t;

#define CNOS_LAUNCHER_NONE	0
#define CNOS_LAUNCHER_YOD	1	/* Catamount */
#define CNOS_LAUNCHER_APRUN	2	/* Linux on the compute nodes */

/** cnos_get_rank, cnos_get_size - own rank, number of ranks; -1 where the job could not be joined (told on stderr) */
int cnos_get_rank(void);
int cnos_get_size(void);
int cnos_get_n_pes_in_app(void);

/**
 * cnos_get_nidpid_map - Portals ids of all ranks
 * @map: cnos_nidpid_map_t **, out: a new array from malloc(), which the caller may free
 * With an interface open these are the ids in use, without one those that PTL_PID_ANY gives. In accelerated mode
 * (CRAY_ACCEL) add ACCEL_PTLS_PID_SPACE_OFFSET to each pid. Return: number of ranks; -1 on failure.
 */
int cnos_get_nidpid_map(void *map);

/** cnos_barrier_init - does nothing: kept for the order of calls on the XT */
void cnos_barrier_init(ptl_handle_ni_t ni);

/** cnos_barrier - wait for all ranks; as PtlRtBarrier_np. 0, or -1. Blocks. */
int cnos_barrier(void);

/** cnos_pm_barrier - the same, before the process ends; @last is ignored */
void cnos_pm_barrier(int last);

/** cnos_register_ptlid - tell the launcher under which id we can be reached. 0; -1: it is not this process's id. */
int cnos_register_ptlid(ptl_process_id_t id);

/** cnos_launcher - CNOS_LAUNCHER_APRUN; CNOS_LAUNCHER_NONE: the job could not be joined, or is this process alone */
int cnos_launcher(void);

#ifdef __cplusplus
}
#endif
#endif

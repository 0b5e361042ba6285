/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * pmi.h - the process manager's interface (PMI-1), as programs for the XT call it beside Portals; libpmi
 *
 * It goes through libportals, which has the connection to the launcher. Where there is no launcher the job is known all the
 * same (rank, size, map, barrier while an interface is open), and the key-value calls fail.
 */
#ifndef PMI_H_INCLUDED
#define PMI_H_INCLUDED

#ifdef __cplusplus
extern "C" {
#endif

#define PMI_SUCCESS			0
#define PMI_FAIL			(-1)
#define PMI_ERR_INIT			1
#define PMI_ERR_NOMEM			2
#define PMI_ERR_INVALID_ARG		3
#define PMI_ERR_INVALID_KEY		4
#define PMI_ERR_INVALID_KEY_LENGTH	5
#define PMI_ERR_INVALID_VAL		6
#define PMI_ERR_INVALID_VAL_LENGTH	7
#define PMI_ERR_INVALID_LENGTH		8
#define PMI_ERR_INVALID_NUM_ARGS	9
#define PMI_ERR_INVALID_ARGS		10
#define PMI_ERR_INVALID_NUM_PARSED	11
#define PMI_ERR_INVALID_KEYVALP		12
#define PMI_ERR_INVALID_SIZE		13
#define PMI_ERR_INVALID_KVS		14

typedef int PMI_BOOL;
#define PMI_TRUE	1
#define PMI_FALSE	0

/* Every call but PMI_Init and PMI_Initialized: PMI_ERR_INIT before PMI_Init. NULL: PMI_ERR_INVALID_ARG. */

/** PMI_Init - join the job; collective. @spawned: out, always PMI_FALSE. May be repeated. PMI_FAIL (told on stderr). */
int PMI_Init(PMI_BOOL *spawned);
int PMI_Initialized(PMI_BOOL *initialized);
/** PMI_Finalize - the launcher is told at the end of the process, by libportals */
int PMI_Finalize(void);
int PMI_Get_size(int *size);
int PMI_Get_rank(int *rank);
int PMI_Get_universe_size(int *size);
int PMI_Get_appnum(int *appnum);
/** PMI_Barrier - as PtlRtBarrier_np. PMI_FAIL. */
int PMI_Barrier(void);
/** PMI_Abort - print @error_msg, end the process with @exit_code and so the job. Does not return. */
int PMI_Abort(int exit_code, const char error_msg[]);

/** PMI_Get_clique_size, PMI_Get_clique_ranks - ranks of the own node. PMI_ERR_INVALID_SIZE (@length too small). */
int PMI_Get_clique_size(int *size);
int PMI_Get_clique_ranks(int ranks[], int length);
/** PMI_Get_nid - Portals node id of a rank. PMI_ERR_INVALID_ARG (no such rank). */
int PMI_Get_nid(int rank, int *nid);

int PMI_KVS_Get_my_name(char kvsname[], int length);
int PMI_KVS_Get_name_length_max(int *length);
int PMI_KVS_Get_key_length_max(int *length);
int PMI_KVS_Get_value_length_max(int *length);
/** PMI_KVS_Put - leave a word; seen by others after PMI_KVS_Commit and PMI_Barrier. As PtlRtPut_np. */
int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]);
int PMI_KVS_Commit(const char kvsname[]);
int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length);

/** PMI_CNOS_Get_nidpid_map - as cnos_get_nidpid_map: *map is a new array of { nid, pid }. PMI_FAIL. */
int PMI_CNOS_Get_nidpid_map(void **map);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * pmi.h - the process manager's interface (PMI-1), as programs for the XT call it beside Portals; libpmi
 *
 * It goes through libportals, which has the connection to the launcher. Where there is no launcher the job is known all the
 * same (rank, size, map, barrier while an interface is open), and the key-value calls fail. Source: PMI-1 of MPICH, and
 * Cray's PMI_CNOS_Get_nidpid_map and PMI_Get_nid.
 *
 * Return of all but PMI_Init, PMI_Initialized:
 *   PMI_SUCCESS: success
 *   PMI_ERR_INIT: PMI_Init has not been called
 */
#ifndef PMI_H_INCLUDED
#define PMI_H_INCLUDED

#ifdef __cplusplus
extern "C" {
#endif

/**
 * PMI_SUCCESS - return codes of PMI
 *
 * Source: PMI-1 of MPICH.
 * See: PMI_Init
 */
#define PMI_SUCCESS			0	/* success */
#define PMI_FAIL			(-1)	/* the job could not be joined (a sentence on standard error); there is no launcher; another rank has died */
#define PMI_ERR_INIT			1	/* PMI_Init has not been called */
#define PMI_ERR_NOMEM			2	/* no memory; never returned */
#define PMI_ERR_INVALID_ARG		3	/* a NULL, or no such rank */
#define PMI_ERR_INVALID_KEY		4	/* never returned */
#define PMI_ERR_INVALID_KEY_LENGTH	5	/* a key that is too long */
#define PMI_ERR_INVALID_VAL		6	/* never returned */
#define PMI_ERR_INVALID_VAL_LENGTH	7	/* a value that is too long */
#define PMI_ERR_INVALID_LENGTH		8	/* too little room for the result */
#define PMI_ERR_INVALID_NUM_ARGS	9	/* never returned */
#define PMI_ERR_INVALID_ARGS		10	/* never returned */
#define PMI_ERR_INVALID_NUM_PARSED	11	/* never returned */
#define PMI_ERR_INVALID_KEYVALP		12	/* never returned */
#define PMI_ERR_INVALID_SIZE		13	/* too little room for the result */
#define PMI_ERR_INVALID_KVS		14	/* not the name of this job */

/**
 * PMI_BOOL - truth
 *
 * Source: PMI-1 of MPICH.
 * See: PMI_Init
 */
typedef int PMI_BOOL;	/* one of the two that follow */
#define PMI_TRUE	1	/* yes */
#define PMI_FALSE	0	/* no */

/**
 * PMI_Init, PMI_Initialized, PMI_Finalize - join the job
 * @spawned: out, always PMI_FALSE
 * @initialized: out, whether PMI_Init has been called
 *
 * PMI_Init is collective and may be repeated. It goes through libportals, which has the connection to the launcher:
 * PMI_Finalize tells it nothing, which happens at the end of the process.
 *
 * Return:
 *   PMI_SUCCESS: success
 *   PMI_FAIL: PMI_Init: the job could not be joined (a sentence on standard error)
 *   PMI_ERR_INIT: PMI_Finalize: PMI_Init has not been called
 *   PMI_ERR_INVALID_ARG: the output is NULL
 * Source: PMI-1 of MPICH.
 * See: PtlInit, cnos_get_rank, portals-xt(7)
 */
int PMI_Init(PMI_BOOL *spawned);
int PMI_Initialized(PMI_BOOL *initialized);
int PMI_Finalize(void);

/**
 * PMI_Get_size, PMI_Get_rank, PMI_Get_universe_size, PMI_Get_appnum - describe the job
 * @size: out, number of ranks
 * @rank: out, own rank, from 0
 * @appnum: out, always 0
 *
 * Return:
 *   PMI_FAIL: the job is not known
 *   PMI_ERR_INVALID_ARG: the output is NULL
 * Source: PMI-1 of MPICH.
 * See: PMI_Init, PtlGetRank
 */
int PMI_Get_size(int *size);
int PMI_Get_rank(int *rank);
int PMI_Get_universe_size(int *size);
int PMI_Get_appnum(int *appnum);

/**
 * PMI_Barrier - wait for all ranks
 *
 * As PtlRtBarrier_np: collective, blocks. Without a launcher it works while an interface is open.
 *
 * Return:
 *   PMI_FAIL: the launcher is gone, another rank has died, or there is nobody to ask
 * Source: PMI-1 of MPICH.
 * See: PtlRtBarrier_np, cnos_barrier
 */
int PMI_Barrier(void);

/**
 * PMI_Abort - end the process and so the job
 * @exit_code: status of the process; 0 becomes 1
 * @error_msg: printed on standard error; NULL: nothing is
 *
 * The launcher then ends the job. It does not return.
 *
 * Source: PMI-1 of MPICH.
 * See: PMI_Init
 */
int PMI_Abort(int exit_code, const char error_msg[]);

/**
 * PMI_Get_clique_size, PMI_Get_clique_ranks - ranks of the own node
 * @size: out, how many there are
 * @ranks: out, their numbers, rising
 * @length: entries at @ranks
 *
 * Return:
 *   PMI_FAIL: the job is not known, or no memory
 *   PMI_ERR_INVALID_ARG: the output is NULL
 *   PMI_ERR_INVALID_SIZE: PMI_Get_clique_ranks: @length is too small
 * Source: PMI-1 of MPICH.
 * See: PtlGetNodeMap_np
 */
int PMI_Get_clique_size(int *size);
int PMI_Get_clique_ranks(int ranks[], int length);

/**
 * PMI_Get_nid - Portals node id of a rank
 * @rank: 0 to the number of ranks - 1
 * @nid: out
 *
 * Return:
 *   PMI_ERR_INVALID_ARG: no such rank, or @nid is NULL
 * Source: Cray's.
 * See: PMI_CNOS_Get_nidpid_map, PtlGetRankId
 */
int PMI_Get_nid(int rank, int *nid);

/**
 * PMI_KVS_Get_my_name, PMI_KVS_Get_name_length_max, PMI_KVS_Get_key_length_max, PMI_KVS_Get_value_length_max -
 * names and sizes of the job's key-value space
 * @kvsname: out, the job's name
 * @length: of PMI_KVS_Get_my_name: bytes at @kvsname; of the others, out: bytes, with the final 0, of a name, a
 *	key, a value
 *
 * Return:
 *   PMI_ERR_INVALID_ARG: the output is NULL
 *   PMI_ERR_INVALID_LENGTH: PMI_KVS_Get_my_name: too little room for the name
 * Source: PMI-1 of MPICH.
 * See: PMI_KVS_Put
 */
int PMI_KVS_Get_my_name(char kvsname[], int length);
int PMI_KVS_Get_name_length_max(int *length);
int PMI_KVS_Get_key_length_max(int *length);
int PMI_KVS_Get_value_length_max(int *length);

/**
 * PMI_KVS_Put, PMI_KVS_Commit, PMI_KVS_Get - leave a word for other ranks, and read one
 * @kvsname: the job's name (PMI_KVS_Get_my_name)
 * @key: printable characters without blanks and "="
 * @value: PMI_KVS_Put: the word, of such characters; PMI_KVS_Get: out, the word with its final 0
 * @length: bytes at @value
 *
 * PMI_KVS_Get reads what any rank left before PMI_KVS_Commit and PMI_Barrier. They need a launcher.
 *
 * Return:
 *   PMI_FAIL: there is no launcher, or it is gone; no such key; another rank has died
 *   PMI_ERR_INVALID_ARG: a NULL
 *   PMI_ERR_INVALID_KVS: not the name of this job
 *   PMI_ERR_INVALID_KEY_LENGTH: the key is too long
 *   PMI_ERR_INVALID_VAL_LENGTH: the value is too long
 *   PMI_ERR_INVALID_LENGTH: @length is too small
 * Source: PMI-1 of MPICH.
 * See: PtlRtPut_np
 */
int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]);
int PMI_KVS_Commit(const char kvsname[]);
int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length);

/**
 * PMI_CNOS_Get_nidpid_map - Portals ids of all ranks
 * @map: out, a new array of cnos_nidpid_map_t from malloc(3)
 *
 * As cnos_get_nidpid_map, which see for what the ids are.
 *
 * Return:
 *   PMI_FAIL: the job could not be joined (a sentence on standard error), or no memory
 *   PMI_ERR_INVALID_ARG: @map is NULL
 * Source: Cray's.
 * See: cnos_get_nidpid_map
 */
int PMI_CNOS_Get_nidpid_map(void **map);

#ifdef __cplusplus
}
#endif
#endif

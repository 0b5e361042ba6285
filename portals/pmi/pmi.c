/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * pmi.c - PMI-1 for programs beside Portals, on the public calls of libportals
 *
 * No state but "was PMI_Init called": the job, the connection to the launcher and its end belong to libportals.
 */
#include <pmi.h>
#include <cnos_mpi_os.h>
#include <p3rt/p3rt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define NAME "portals-job"
#define KEY_MAX 64
#define VALUE_MAX 1024

static int up;

API int PMI_Init(PMI_BOOL *spawned)
{
	int max;

	if (!spawned)
		return PMI_ERR_INVALID_ARG;
	if (PtlInit(&max) != PTL_OK)
		return PMI_FAIL;
	up = 1;
	*spawned = PMI_FALSE;
	return PMI_SUCCESS;
}

API int PMI_Initialized(PMI_BOOL *initialized)
{
	if (!initialized)
		return PMI_ERR_INVALID_ARG;
	*initialized = up ? PMI_TRUE : PMI_FALSE;
	return PMI_SUCCESS;
}

API int PMI_Finalize(void)
{
	if (!up)
		return PMI_ERR_INIT;
	up = 0;
	return PMI_SUCCESS;
}

static int rank_and_size(unsigned *rank, unsigned *size)
{
	if (!up)
		return PMI_ERR_INIT;
	return PtlGetRank(PTL_INVALID_HANDLE, rank, size) == PTL_OK ? PMI_SUCCESS : PMI_FAIL;
}

static int get_one(int *out, bool want_size)
{
	unsigned rank, size;
	int rc = out ? rank_and_size(&rank, &size) : PMI_ERR_INVALID_ARG;

	if (rc == PMI_SUCCESS)
		*out = (int)(want_size ? size : rank);
	return rc;
}

API int PMI_Get_size(int *size)
{
	return get_one(size, true);
}

API int PMI_Get_universe_size(int *size)
{
	return get_one(size, true);
}

API int PMI_Get_rank(int *rank)
{
	return get_one(rank, false);
}

API int PMI_Get_appnum(int *appnum)
{
	if (!appnum)
		return PMI_ERR_INVALID_ARG;
	if (!up)
		return PMI_ERR_INIT;
	*appnum = 0;
	return PMI_SUCCESS;
}

API int PMI_Barrier(void)
{
	if (!up)
		return PMI_ERR_INIT;
	return PtlRtBarrier_np() == PTL_OK ? PMI_SUCCESS : PMI_FAIL;
}

API int PMI_Abort(int exit_code, const char error_msg[])
{
	if (error_msg)
		fprintf(stderr, "%s\n", error_msg);
	exit(exit_code ? exit_code : 1);
}

/* Ranks of the own node into @ranks, which has room for @length; NULL: only counted. The number, or -1. */
static int clique(int *ranks, int length)
{
	unsigned r, n, *node;
	int k = 0;

	if (rank_and_size(&r, &n) != PMI_SUCCESS)
		return -1;
	node = malloc(n * sizeof(*node));
	if (!node || PtlGetNodeMap_np(PTL_INVALID_HANDLE, node, n) != PTL_OK) {
		free(node);
		return -1;
	}
	for (unsigned i = 0; i < n; i++)
		if (node[i] == node[r]) {
			if (ranks && k < length)
				ranks[k] = (int)i;
			k++;
		}
	free(node);
	return k;
}

API int PMI_Get_clique_size(int *size)
{
	int n;

	if (!size)
		return PMI_ERR_INVALID_ARG;
	if (!up)
		return PMI_ERR_INIT;
	n = clique(NULL, 0);
	if (n < 0)
		return PMI_FAIL;
	*size = n;
	return PMI_SUCCESS;
}

API int PMI_Get_clique_ranks(int ranks[], int length)
{
	int n;

	if (!ranks)
		return PMI_ERR_INVALID_ARG;
	if (!up)
		return PMI_ERR_INIT;
	n = clique(NULL, 0);
	if (n < 0)
		return PMI_FAIL;
	if (length < n)
		return PMI_ERR_INVALID_SIZE;
	clique(ranks, length);
	return PMI_SUCCESS;
}

API int PMI_Get_nid(int rank, int *nid)
{
	ptl_process_id_t id;

	if (!nid || rank < 0)
		return PMI_ERR_INVALID_ARG;
	if (!up)
		return PMI_ERR_INIT;
	if (PtlGetRankId(PTL_INVALID_HANDLE, (unsigned)rank, &id) != PTL_OK)
		return PMI_ERR_INVALID_ARG;
	*nid = (int)id.nid;
	return PMI_SUCCESS;
}

API int PMI_KVS_Get_my_name(char kvsname[], int length)
{
	if (!kvsname)
		return PMI_ERR_INVALID_ARG;
	if (!up)
		return PMI_ERR_INIT;
	if (length < (int)sizeof(NAME))
		return PMI_ERR_INVALID_LENGTH;
	strcpy(kvsname, NAME);
	return PMI_SUCCESS;
}

static int give(int *length, int n)
{
	if (!length)
		return PMI_ERR_INVALID_ARG;
	*length = n;
	return PMI_SUCCESS;
}

API int PMI_KVS_Get_name_length_max(int *length)
{
	return give(length, sizeof(NAME));
}

API int PMI_KVS_Get_key_length_max(int *length)
{
	return give(length, KEY_MAX);
}

API int PMI_KVS_Get_value_length_max(int *length)
{
	return give(length, VALUE_MAX);
}

static int check_kvs(const char *kvsname)
{
	if (!up)
		return PMI_ERR_INIT;
	return kvsname && !strcmp(kvsname, NAME) ? PMI_SUCCESS : PMI_ERR_INVALID_KVS;
}

API int PMI_KVS_Put(const char kvsname[], const char key[], const char value[])
{
	int rc = check_kvs(kvsname);

	if (rc != PMI_SUCCESS)
		return rc;
	if (!key || !value)
		return PMI_ERR_INVALID_ARG;
	if (strlen(key) >= KEY_MAX)
		return PMI_ERR_INVALID_KEY_LENGTH;
	if (strlen(value) >= VALUE_MAX)
		return PMI_ERR_INVALID_VAL_LENGTH;
	return PtlRtPut_np(key, value) == PTL_OK ? PMI_SUCCESS : PMI_FAIL;
}

API int PMI_KVS_Commit(const char kvsname[])
{
	return check_kvs(kvsname);	/* each put is at the launcher when it returns */
}

API int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length)
{
	int rc = check_kvs(kvsname);

	if (rc != PMI_SUCCESS)
		return rc;
	if (!key || !value)
		return PMI_ERR_INVALID_ARG;
	if (length < 1)
		return PMI_ERR_INVALID_LENGTH;
	return PtlRtGet_np(key, value, (unsigned)length) == PTL_OK ? PMI_SUCCESS : PMI_FAIL;
}

API int PMI_CNOS_Get_nidpid_map(void **map)
{
	if (!map)
		return PMI_ERR_INVALID_ARG;
	if (!up)
		return PMI_ERR_INIT;
	return cnos_get_nidpid_map(map) > 0 ? PMI_SUCCESS : PMI_FAIL;
}

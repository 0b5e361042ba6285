/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ptl_rank.c - the rank calls of <p3rt/p3rt.h>: a view of the runtime's job, from PtlInit on
 *
 * Reads only what the runtime built once, so every call is safe from any thread. With PTL_INVALID_HANDLE no interface
 * need be open; any other handle must be the interface's.
 */
#include "config.h"

#include <p3rt/p3rt.h>
#include <p3api/api.h>

#include "p3_log.h"
#include "p3_rt.h"

#include <string.h>

#pragma weak PtlNIHandle	/* unit tests of the runtime are linked without the core */

static int get_job(ptl_handle_ni_t ni, const struct p3_rt_job **job)
{
	ptl_handle_ni_t same;
	const char *err;
	int rc = PtlNIHandle ? PtlNIHandle(ni, &same) : PTL_OK;

	if (rc == PTL_NO_INIT)		/* before the job is asked for: that is collective */
		return PTL_NO_INIT;
	if (ni != PTL_INVALID_HANDLE && PtlNIHandle && (rc != PTL_OK || same != ni))
		return PTL_NI_INVALID;
	*job = p3_rt_get(&err);
	if (*job)
		return PTL_OK;
	p3_error("%s", err);
	return PTL_NO_INIT;
}

int PtlGetRank(ptl_handle_ni_t ni, unsigned *rank, unsigned *group_size)
{
	const struct p3_rt_job *j;
	int rc = get_job(ni, &j);

	if (rc != PTL_OK)
		return rc;
	if (!rank || !group_size)
		return PTL_SEGV;
	*rank = j->rank;
	*group_size = j->size;
	return PTL_OK;
}

int PtlGetRankId(ptl_handle_ni_t ni, unsigned rank, ptl_process_id_t *id)
{
	const struct p3_rt_job *j;
	int rc = get_job(ni, &j);

	if (rc != PTL_OK)
		return rc;
	if (!id)
		return PTL_SEGV;
	if (rank >= j->size)
		return PTL_FAIL;
	id->nid = j->nid[rank];
	id->pid = j->pid[rank];
	return PTL_OK;
}

enum which { NIDS, PIDS, NODES };

static int get_map(ptl_handle_ni_t ni, enum which which, uint32_t *map, unsigned group_size)
{
	const struct p3_rt_job *j;
	int rc = get_job(ni, &j);

	if (rc != PTL_OK)
		return rc;
	if (!map)
		return PTL_SEGV;
	if (group_size != j->size)
		return PTL_FAIL;
	memcpy(map, which == NIDS ? j->nid : which == PIDS ? j->pid : j->node_of, j->size * sizeof(*map));
	return PTL_OK;
}

int PtlGetNIDMap(ptl_handle_ni_t ni, ptl_nid_t *map, unsigned group_size)
{
	return get_map(ni, NIDS, map, group_size);
}

int PtlGetPIDMap(ptl_handle_ni_t ni, ptl_pid_t *map, unsigned group_size)
{
	return get_map(ni, PIDS, map, group_size);
}

int PtlGetNodeMap_np(ptl_handle_ni_t ni, unsigned *map, unsigned group_size)
{
	return get_map(ni, NODES, map, group_size);
}

int PtlOversubscribed_np(void)
{
	return p3_rt_oversubscribed();
}

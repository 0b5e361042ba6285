/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ptl_setrank.c - a job described by calls: PtlSetRank, PtlSetNIDMap, PtlSetPIDMap, PtlSetJID
 *
 * Before an interface is open the three calls fill `told`, and the last of them makes the job; afterwards they only
 * compare. set_lock protects it: these calls are made once, by one thread, and need no speed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <p3rt/p3rt.h>
#include "p3a.h"
#include "p3_env.h"
#include "p3_log.h"
#include "p3_rt.h"

static pthread_mutex_t set_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	bool ranked;
	uint32_t rank, size;		/* size 0: not told */
	uint32_t *nid, *pid;
} told;

static void forget(void)
{
	free(told.nid);
	free(told.pid);
	memset(&told, 0, sizeof(told));
}

/* PTL_OK with @ni NULL: before one is open. */
static int which(ptl_handle_ni_t h, struct nal_ni **ni)
{
	P3A_CHECK_UP();
	*ni = p3_load_acq(&p3a_open_ni);
	if (h == PTL_INVALID_HANDLE) {
		*ni = NULL;
		return p3_load_acq(&p3a_open_ni) ? PTL_FAIL : PTL_OK;
	}
	return *ni && h == p3a_ni_handle(*ni) ? PTL_OK : PTL_NI_INVALID;
}

/* The three parts agree in size; when all are there, they are the job. [set_lock] */
static int complete(void)
{
	struct p3_env_job e = { .rank = told.rank, .size = told.size, .nid = told.nid, .pid = told.pid };
	const char *err = NULL;
	int rc = PTL_OK;

	if (!told.ranked || !told.nid || !told.pid)
		return PTL_OK;
	if (told.rank >= told.size || p3_rt_describe(&e, &err)) {
		p3_error("%s", err ? err : "PtlSetRank: the rank is not smaller than the size");
		rc = PTL_FAIL;
	}
	forget();
	return rc;
}

static int sized(unsigned size)
{
	if (!size || (told.size && told.size != size))
		return PTL_FAIL;
	told.size = size;
	return PTL_OK;
}

P3A_API int PtlSetRank(ptl_handle_ni_t h, unsigned rank, unsigned group_size)
{
	const struct p3_rt_job *j;
	const char *err = NULL;
	struct nal_ni *ni;
	int rc = which(h, &ni);

	if (rc == PTL_FAIL) {		/* an interface is open, and the caller means no special one */
		ni = p3a_open_ni;
		rc = PTL_OK;
	}
	if (rc != PTL_OK)
		return rc;
	j = p3_rt_get(&err);
	if (!j)
		return PTL_FAIL;
	pthread_mutex_lock(&set_lock);
	if (rank == (unsigned)-1 && group_size == (unsigned)-1) {
		if (!ni && j->source == P3_RT_SINGLE && p3_rt_describe(NULL, &err)) {
			p3_error("%s", err);
			rc = PTL_FAIL;
		}
	} else if (ni || j->source != P3_RT_SINGLE) {
		rc = rank == j->rank && group_size == j->size ? PTL_OK : PTL_FAIL;
	} else {
		rc = sized(group_size);
		if (rc == PTL_OK) {
			told.rank = rank;
			told.ranked = true;
			rc = complete();
		}
	}
	pthread_mutex_unlock(&set_lock);
	return rc;
}

static int set_map(ptl_handle_ni_t h, bool pids, const uint32_t *map, unsigned size)
{
	const struct p3_rt_job *j;
	struct nal_ni *ni;
	uint32_t *copy, **to = pids ? &told.pid : &told.nid;
	int rc = which(h, &ni);

	if (rc != PTL_OK)
		return rc;
	if (!map)
		return PTL_SEGV;
	j = p3_rt_get(NULL);
	if (!j)
		return PTL_FAIL;
	if (ni || j->source != P3_RT_SINGLE) {
		if (size != j->size)
			return PTL_FAIL;
		return !memcmp(map, pids ? j->pid : j->nid, size * sizeof(*map)) ? PTL_OK : pids ? PTL_PID_INVALID : PTL_FAIL;
	}
	copy = size ? malloc(size * sizeof(*copy)) : NULL;
	if (!copy)
		return PTL_FAIL;
	memcpy(copy, map, size * sizeof(*copy));
	pthread_mutex_lock(&set_lock);
	rc = sized(size);
	if (rc == PTL_OK) {
		free(*to);
		*to = copy;
		rc = complete();
	} else {
		free(copy);
	}
	pthread_mutex_unlock(&set_lock);
	return rc;
}

P3A_API int PtlSetNIDMap(ptl_handle_ni_t ni, ptl_nid_t *map, unsigned group_size)
{
	return set_map(ni, false, map, group_size);
}

P3A_API int PtlSetPIDMap(ptl_handle_ni_t ni, ptl_pid_t *map, unsigned group_size)
{
	return set_map(ni, true, map, group_size);
}

P3A_API int PtlSetJID(ptl_jid_t jid)
{
	P3A_CHECK_UP();
	if (p3_load_acq(&p3a_open_ni) || jid == PTL_JID_ANY || !p3_rt_get(NULL))
		return PTL_FAIL;
	p3_rt_set_jid(jid);
	return PTL_OK;
}

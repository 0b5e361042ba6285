/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * A libpmix.so.2 for tests: one process alone, or the first of two, whose launcher misbehaves as T_PMIX says.
 * Built against our idea of the binary interface; where pmix.h is there, that is compared with it.
 */
#include "config.h"

#include "p3_pmix_abi.h"

#ifdef HAVE_PMIX_H
#include <pmix_common.h>	/* the types; our functions are declared otherwise */

#define SAME(ours, theirs, field) \
	_Static_assert(offsetof(struct ours, field) == offsetof(theirs, field), #field " of pmix.h is elsewhere")
_Static_assert(sizeof(struct p3_pmix_proc) == sizeof(pmix_proc_t), "pmix_proc_t");
_Static_assert(sizeof(struct p3_pmix_value) == sizeof(pmix_value_t), "pmix_value_t");
_Static_assert(sizeof(struct p3_pmix_info) == sizeof(pmix_info_t), "pmix_info_t");
SAME(p3_pmix_proc, pmix_proc_t, rank);
SAME(p3_pmix_value, pmix_value_t, data);
SAME(p3_pmix_info, pmix_info_t, flags);
SAME(p3_pmix_info, pmix_info_t, value);
_Static_assert(P3_PMIX_BOOL == PMIX_BOOL && P3_PMIX_STRING == PMIX_STRING && P3_PMIX_UINT32 == PMIX_UINT32, "types");
_Static_assert(P3_PMIX_GLOBAL == PMIX_GLOBAL && P3_PMIX_NOT_FOUND == PMIX_ERR_NOT_FOUND, "scope, status");
_Static_assert(P3_PMIX_JOB == PMIX_RANK_WILDCARD && sizeof(pmix_scope_t) == 1, "rank of the job");
#define OURS	P3_PMIX_K_JOB_SIZE P3_PMIX_K_NODEID P3_PMIX_K_HOSTNAME P3_PMIX_K_OPTIONAL P3_PMIX_K_IMMEDIATE \
	P3_PMIX_K_COLLECT_DATA
#define THEIRS	PMIX_JOB_SIZE PMIX_NODEID PMIX_HOSTNAME PMIX_OPTIONAL PMIX_IMMEDIATE PMIX_COLLECT_DATA
_Static_assert(sizeof(OURS) == sizeof(THEIRS), "keys");
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL __attribute__((visibility("default")))

#define FAKE(name) PMIx_##name
#pragma GCC diagnostic ignored "-Wmissing-prototypes"	/* whose header is not for us */

static struct { char key[64], value[1100]; } kv[32];
static int n_kv;

static int how(const char *what)
{
	const char *t = getenv("T_PMIX");

	return t && !strcmp(t, what);
}

/* "CALL-hangs", "CALL-fails" */
static int misbehave(const char *call)
{
	char name[40];

	snprintf(name, sizeof(name), "%s-hangs", call);
	while (how(name))
		pause();
	snprintf(name, sizeof(name), "%s-fails", call);
	return how(name) ? -25 : 0;
}

static struct p3_pmix_value *text(const char *s)
{
	struct p3_pmix_value *v = calloc(1, sizeof(*v));

	v->type = P3_PMIX_STRING;
	v->data.string = strdup(s);
	return v;
}

static struct p3_pmix_value *number(uint32_t n)
{
	struct p3_pmix_value *v = calloc(1, sizeof(*v));

	v->type = P3_PMIX_UINT32;
	v->data.uint32 = n;
	return v;
}

CALL int FAKE(Init)(struct p3_pmix_proc *me, struct p3_pmix_info *info, size_t n)
{
	memset(me, how("long-name") ? 'x' : 0, sizeof(*me));
	if (!how("long-name") && !how("no-name"))
		strcpy(me->nspace, "fake");
	me->rank = how("rank-outside") ? 7 : 0;
	return misbehave("init");
}

CALL int FAKE(Finalize)(const struct p3_pmix_info *info, size_t n)
{
	fprintf(stderr, "finalized\n");
	return misbehave("finalize");
}

CALL int FAKE(Abort)(int status, const char *msg, void *procs, size_t n)
{
	fprintf(stderr, "aborted with %d\n", status);
	if (misbehave("abort"))
		return -25;
	_exit(9);
}

CALL int FAKE(Put)(uint8_t scope, const char *key, struct p3_pmix_value *v)
{
	int rc = misbehave("put");

	if (rc || n_kv == 32)
		return rc ? rc : -25;
	snprintf(kv[n_kv].key, sizeof(kv[0].key), "%s", key);
	snprintf(kv[n_kv++].value, sizeof(kv[0].value), "%s", v->data.string);
	return 0;
}

CALL int FAKE(Commit)(void)
{
	return misbehave("commit");
}

CALL int FAKE(Fence)(const struct p3_pmix_proc *p, size_t n, const struct p3_pmix_info *info, size_t ninfo)
{
	return misbehave("fence");
}

CALL int FAKE(Get)(const struct p3_pmix_proc *p, const char *key, const struct p3_pmix_info *info, size_t n,
		   struct p3_pmix_value **v)
{
	int rc = misbehave("get");

	if (rc)
		return rc;
	*v = NULL;
	if (how("get-gives-nothing"))
		return 0;
	if (!strcmp(key, P3_PMIX_K_JOB_SIZE)) {
		int two = how("no-nodes") || how("hosts") || how("fence-hangs") || how("fence-fails");

		*v = how("size-is-text") ? text("2") :
		     number(how("no-size") ? 0 : how("huge") ? UINT32_MAX : two ? 2 : 1);
		return 0;
	}
	if (!strcmp(key, P3_PMIX_K_NODEID) && !how("hosts") && !how("no-nodes")) {
		*v = number(p->rank);
		return 0;
	}
	if (!strcmp(key, P3_PMIX_K_HOSTNAME) && how("hosts")) {
		*v = text(p->rank ? "b" : "a");
		return 0;
	}
	for (int i = 0; i < n_kv; i++)
		if (!strcmp(kv[i].key, key)) {
			*v = text(kv[i].value);
			return 0;
		}
	return P3_PMIX_NOT_FOUND;
}

CALL const char *FAKE(Error_string)(int status)
{
	return status == -25 ? "UNREACHABLE" : "NOT-FOUND";
}

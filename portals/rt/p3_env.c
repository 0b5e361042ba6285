/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_env.c - PTL_MY_RID, PTL_NIDMAP, PTL_PIDMAP, PTL_MY_JID
 *
 * All or nothing: the first three belong together, the job id may be added. A rank is found in the maps by its
 * position. Ids may be any numbers that are no wildcards; two ranks may not share both.
 */
#include "config.h"

#include "p3_env.h"
#include "p3_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOW	"they describe a job together; unset all of them to run alone"

static int one_number(const char *var, uint32_t max, uint32_t *out, char *err, size_t errlen)
{
	const char *v = getenv(var);

	if (p3_map_list(v, out, 1) == 1 && *out <= max)
		return 0;
	snprintf(err, errlen, "%s=%.40s: must be a decimal number of at most %u", var, v, max);
	return -1;
}

int p3_env_jid(uint32_t *jid, char *err, size_t errlen)
{
	if (!getenv("PTL_MY_JID"))
		return 0;
	if (one_number("PTL_MY_JID", UINT32_MAX - 1, jid, err, errlen))
		return -1;
	if (*jid)
		return 1;
	snprintf(err, errlen, "PTL_MY_JID=0: 0 means no job; must be a number from 1 to %u", UINT32_MAX - 1);
	return -1;
}

/* Returns the number of entries, or -1. */
static int read_map(const char *var, uint32_t **map, char *err, size_t errlen)
{
	const char *v = getenv(var);
	size_t len = strlen(v);
	int n;

	*map = malloc((len / 2 + 1) * sizeof(**map));	/* the most numbers that fit into the text */
	if (!*map) {
		snprintf(err, errlen, "no memory for %s (%zu bytes)", var, len);
		return -1;
	}
	n = p3_map_list(v, *map, (uint32_t)(len / 2 + 1));
	if (n <= 0) {
		snprintf(err, errlen, "%s=%.40s%s: must be decimal numbers separated by colons, one for each rank", var, v,
			 len > 40 ? "..." : "");
		return -1;
	}
	for (int i = 0; i < n; i++)
		if ((*map)[i] == UINT32_MAX) {
			snprintf(err, errlen, "%s: entry of rank %d is the wildcard %u", var, i, UINT32_MAX);
			return -1;
		}
	return n;
}

struct id { uint32_t nid, pid, rank; };

static int by_id(const void *a, const void *b)
{
	const struct id *x = a, *y = b;

	if (x->nid != y->nid)
		return x->nid < y->nid ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int all_differ(const struct p3_env_job *e, char *err, size_t errlen)
{
	struct id *id = malloc(e->size * sizeof(*id));
	int rc = 0;

	if (!id) {
		snprintf(err, errlen, "no memory for %u ranks", e->size);
		return -1;
	}
	for (uint32_t i = 0; i < e->size; i++)
		id[i] = (struct id){ e->nid[i], e->pid[i], i };
	qsort(id, e->size, sizeof(*id), by_id);
	for (uint32_t i = 1; i < e->size && !rc; i++)
		if (id[i].nid == id[i - 1].nid && id[i].pid == id[i - 1].pid) {
			snprintf(err, errlen, "PTL_NIDMAP and PTL_PIDMAP: ranks %u and %u both are nid %u pid %u",
				 id[i - 1].rank, id[i].rank, id[i].nid, id[i].pid);
			rc = -1;
		}
	free(id);
	return rc;
}

/* "A is" or "A and B are", of those whose bit is set. */
static void names(const char *const var[3], int bits, char *s, size_t len)
{
	int n = 0, count = 0;

	for (int i = 0; i < 3; i++)
		if (bits >> i & 1)
			n += snprintf(s + n, len - (size_t)n, "%s%s", count++ ? " and " : "", var[i]);
	snprintf(s + n, len - (size_t)n, count > 1 ? " are" : " is");
}

int p3_env_read(struct p3_env_job *e, char *err, size_t errlen)
{
	static const char *const var[] = { "PTL_MY_RID", "PTL_NIDMAP", "PTL_PIDMAP" };
	char have[64], lack[64];
	int set = 0, n, m;

	memset(e, 0, sizeof(*e));
	for (int i = 0; i < 3; i++)
		set |= (getenv(var[i]) != NULL) << i;
	if (!set) {
		if (!getenv("PTL_MY_JID"))
			return 0;
		snprintf(err, errlen, "PTL_MY_JID is set but PTL_MY_RID, PTL_NIDMAP and PTL_PIDMAP are not: unset it to "
			 "run alone");
		return -1;
	}
	if (set != 7) {
		names(var, set, have, sizeof(have));
		names(var, 7 & ~set, lack, sizeof(lack));
		snprintf(err, errlen, "%s set but %s not: " HOW, have, lack);
		return -1;
	}
	if (p3_env_jid(&e->jid, err, errlen) < 0 || one_number(var[0], 1 << 24, &e->rank, err, errlen))
		return -1;
	n = read_map(var[1], &e->nid, err, errlen);
	m = n < 0 ? -1 : read_map(var[2], &e->pid, err, errlen);
	if (n < 0 || m < 0)
		goto bad;
	if (n != m) {
		snprintf(err, errlen, "PTL_NIDMAP has %d entries but PTL_PIDMAP has %d: both have one for each rank", n, m);
		goto bad;
	}
	if (e->rank >= (uint32_t)n) {
		snprintf(err, errlen, "PTL_MY_RID=%u is out of range: PTL_NIDMAP has ranks 0 to %d", e->rank, n - 1);
		goto bad;
	}
	e->size = (uint32_t)n;
	if (!all_differ(e, err, errlen))
		return 1;
bad:
	free(e->nid);
	free(e->pid);
	e->nid = e->pid = NULL;
	return -1;
}

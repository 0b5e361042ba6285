/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* p3_env.h - a job described by the reference implementation's variables (internal to portals/rt) */
#ifndef P3_ENV_H
#define P3_ENV_H

#include "p3_rt.h"

struct p3_env_job {
	uint32_t rank, size, jid;	/* jid 0: not given */
	uint32_t *nid, *pid;		/* [size], malloced */
};

/* 1: a job in @e; 0: no variable is set; -1: half-set or bad, one sentence in @err. */
int p3_env_read(struct p3_env_job *e, char *err, size_t errlen);

/* PTL_MY_JID: 1 and *jid, 0 not set, -1 bad (err). */
int p3_env_jid(uint32_t *jid, char *err, size_t errlen);

#endif

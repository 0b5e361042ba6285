/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* info.h - what the files of ptl_info share: jobs found on this machine, and JSON */
#ifndef INFO_H
#define INFO_H

#include "look.h"

/* A rank of this machine: its page, and what has been copied of it. */
struct info_rank {
	int unix_pid;
	struct look_page page;
	int refused;			/* errno of reading its memory; 0: read */
	bool stranger;			/* another version of the library: not read */
	struct p3l_ni *l;		/* copy of its region, page.region_len bytes of address space; or NULL */
	struct look_far *far;
	uint32_t far_n;
};

struct info_job {
	struct info_rank *r;		/* [n], by rank */
	uint32_t n;
};

/* info_job.c: all jobs of ours. @which: job id or pid of a rank; 0: all. How many; NULL-free list, or -1: no memory */
int info_find(uint32_t which, struct info_job **jobs);
uint32_t info_hidden(void);	/* processes of others, into whose memory maps the last info_find() might not look */
/* Copy the regions (and what stands behind them) of a job; again where there is a copy. How many could not be read. */
uint32_t info_copy(struct info_job *j);
void info_free(struct info_job *jobs, int n);

/* info_show.c: exit status */
int info_list(uint32_t which, bool json);		/* the jobs; one line each */
int info_show(uint32_t which, bool json);		/* a job: ranks, memory, who talks to whom */
int info_hang(uint32_t which, bool json);		/* a job: who waits for whom, and why */
uint32_t info_why(uint32_t which, look_say *say, void *ctx);	/* the same, to @say */
void info_jobs_json(void);				/* "jobs": [...] */

/* json.c */
void json_open(char bracket);				/* { or [ */
void json_close(char bracket);
void json_key(const char *key);
void json_str(const char *s);				/* NULL: null */
void json_num(unsigned long long v);
void json_int(long long v);
void json_bool(bool v);
void json_raw(const char *s);				/* a value as it is */
void json_pair(const char *key, const char *s);
void json_pair_num(const char *key, unsigned long long v);
void json_end(void);					/* newline */

#endif

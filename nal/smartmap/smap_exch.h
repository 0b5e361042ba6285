/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_exch.h - how the ranks of a job on this node meet, prove themselves, and hand out their files */
#ifndef SMAP_EXCH_H
#define SMAP_EXCH_H

#include "smap_int.h"

struct smap_conn;

struct smap_exch {
	const struct smartmap_job *job;
	int64_t deadline;			/* CLOCK_MONOTONIC, ns */
	int listener;				/* rank 0, until all have come */
	int up;					/* other ranks: connection to rank 0 */
	struct smap_conn *conn;			/* rank 0: [size], by rank */
	uint64_t pid_ns;
	int strangers;
	int told;				/* other ranks: rank 0 cannot take part */
	uint32_t said_no;			/* rank 0: so many know that we cannot, or cannot themselves */
	char text[256];				/* why some rank has no windows */
};

/* Facts that each gives with its file. */
struct smap_facts {
	uint64_t ctl_addr, nonce;
	int pid;
};

/*
 * Each step is collective. On failure they return -errno, smap_why(WINDOWS) has the sentence, and (rank 0) all others
 * have been told. smap_exch_close() in any case.
 */
int smap_exch_meet(struct smap_exch *x, const struct smartmap_job *job, int *bits);	/* in: ours, out: agreed */
/* This rank cannot take part (smap.why says why): the others, who may be waiting for it, hear that. Returns -ENOMEM. */
int smap_exch_refuse(struct smap_exch *x, const struct smartmap_job *job);
/* Rank 0: fills @member, which lies in its own file, before anyone else sees it. @box: out, mailbox or -1. */
int smap_exch_share(struct smap_exch *x, int memfd, const struct smap_facts *own, struct smap_member *member,
		    int *box, int (*got)(int rank, int fd));
/* All have done their part: @flags are ANDed over the ranks. @result: own failure, told to all. */
int smap_exch_ready(struct smap_exch *x, int result, uint32_t *flags);
void smap_exch_close(struct smap_exch *x);

uint64_t smap_pid_ns(void);

#endif

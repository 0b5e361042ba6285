/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_rt.h - the runtime: who am I, who are the others, where do they live
 *
 * Owns the job description: rank, size, node of each rank, job id, secret key, nid/pid map, and the rank order of
 * MPICH_RANK_REORDER_METHOD, computed here once for MPI, SHMEM and plain Portals programs alike. Sources, in this
 * order: a launcher (p3_pmi.h: PMI-1, PMI-2, PMIx), the reference's variables (PTL_MY_RID, PTL_NIDMAP, PTL_PIDMAP,
 * PTL_MY_JID), nothing (a job of one). Half-set variables are an error. Internal to libportals.
 */
#ifndef P3_RT_H
#define P3_RT_H

#include <stddef.h>
#include <stdint.h>

enum p3_rt_source { P3_RT_SINGLE, P3_RT_ENV, P3_RT_PMI };

struct p3_rt_job {
	enum p3_rt_source source;
	uint32_t rank, size;		/* after reordering */
	uint32_t launch_rank;		/* as the launcher numbers us */
	uint32_t node, nodes;		/* own (virtual) node, number of nodes */
	uint32_t local_rank, local_size;	/* among the ranks of the own node, in rank order */
	uint32_t jid;			/* job id, never 0 */
	uint32_t uid;			/* effective user id */
	char name[128];			/* unique among the jobs of this machine; same in all ranks of a node */
	uint8_t key[16];		/* secret, same in all ranks; derived (no secret) for P3_RT_ENV */
	uint32_t *node_of;		/* [size] node of each rank */
	uint32_t *local_of;		/* [size] local rank of each rank on its node */
	uint32_t *nid, *pid;		/* [size] Portals ids: nid = node + 1 and pid = P3_RT_PID0 + local rank, unless
					 * the maps of the environment say otherwise */
	int real_pids;			/* 1: pid[] of the local ranks are their Unix pids */
	uint32_t *local_ranks;		/* [local_size] rank of each local rank */
	uint32_t *launch_of;		/* [size] launcher's number of each rank */
	uint32_t machines;		/* nodes as the launcher sees them; 0: all ranks are on this machine */
	char boot[40];			/* this machine, since it was started */
	char net[60];			/* its addresses, as this process sees them: boot, network namespace */
};

#define P3_RT_PID0	256

/* Has the job a launcher, which passes keys and values between its ranks? */
static inline int p3_rt_has_kvs(const struct p3_rt_job *j)
{
	return j->source == P3_RT_PMI;
}

/**
 * p3_rt_get - the job, read once (thread-safe); later calls return the same
 * @err: out, one sentence with the remedy when NULL is returned
 *
 * Never leaves half a job. For PMI it does init, map and key exchange and one barrier (collective over all ranks).
 */
const struct p3_rt_job *p3_rt_get(const char **err);

/**
 * p3_rt_describe - a job told by calls, where neither launcher nor environment did (PtlSetRank and its kin)
 * @e: rank, size, maps (copied); NULL: read the environment again
 *
 * Only before an interface is open, for what hangs from the job (pointers stay good). 0; -1: another job is known, or the
 * description is bad (err).
 */
struct p3_env_job;
int p3_rt_describe(struct p3_env_job *e, const char **err);
void p3_rt_set_jid(uint32_t jid);	/* of interfaces opened from now on */

/* The launcher's barrier over all ranks of the job; no-op for a job of one. 0 or -errno. */
int p3_rt_barrier(void);
/* @meantime is called now and then meanwhile; it says for how many ns it need not be called again. */
int p3_rt_barrier_between(int64_t (*meantime)(void *arg), void *arg);

/* Key-value exchange over all ranks (collective calls: put, barrier, get). -ENOSYS without a launcher. */
int p3_rt_put(const char *key, const char *value);
int p3_rt_get_value(const char *key, char *value, size_t len);

/**
 * p3_rt_reorder - rank order of MPICH_RANK_REORDER_METHOD
 * @method: 0 round-robin, 1 SMP (ranks fill a node before the next), 2 folded, 3 from @file
 * @file:   for method 3: path of MPICH_RANK_ORDER, NULL for ./MPICH_RANK_ORDER
 * @node_of_slot: [size] node of each launch slot; @order out [size]: rank that launch slot i gets
 *
 * Return: 0, or -1 with one line in err (file, line number and offending rank).
 */
int p3_rt_reorder(int method, const char *file, const uint32_t *node_of_slot, uint32_t size, uint32_t *order,
		  char *err, size_t errlen);

/* For programs that use the runtime without the Portals calls: with 1, this rank has ended well whatever its exit
 * status. A rank that exits with a status other than 0 before that (before PtlFini) has failed, and takes the job along. */
void p3_rt_done(int yes);

/* Before exit(): at its end the launcher is asked to end the job (@first), or is waited for. 0: there is no launcher. */
int p3_rt_end(int first);

/* @fn is called first when the process ends by exit(), behind the program's own exit handlers, which may still close. */
void p3_rt_at_end(void (*fn)(void));

/* Where there is a launcher: wait until it has taken what we wrote. To be called between a p3_error() and anything that
 * lets a rank end the job for it: the launcher drops what it has not read by then. */
void p3_rt_drain(void);

/* Cores that this process may run on, and whether the job has more local ranks than cores in all. */
int p3_rt_cores(void);
int p3_rt_oversubscribed(void);
int p3_rt_oversubscribed_with(uint32_t more);	/* and so many processes more on each node */

#endif

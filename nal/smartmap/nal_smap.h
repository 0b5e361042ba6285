/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_smap.h - what the files of the on-node NAL share; not for others
 */
#ifndef NAL_SMAP_H
#define NAL_SMAP_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nal.h"
#include "p3_rt.h"
#include "smartmap.h"

#define ROOT_KEY	0
#define HOT_MAX		8		/* lanes that an owner marks */

struct hand;

/* Memory of the first local rank: who has which Portals pid. */
struct pid_table {
	uint32_t lock;			/* slot + 1; for claims after the start */
	uint32_t failed;		/* PTL_ code of the first rank that cannot start: then nobody starts */
	uint32_t node __attribute__((aligned(P3L_LINE)));	/* slot + 1: nal_locks.c */
	/* by slot, written by that rank; PTL_PID_ANY: none */
	uint32_t pid[] __attribute__((aligned(P3L_LINE)));
};

struct priv {
	uint32_t *pids;			/* table->pid */
	uint32_t searched;		/* slot of the last pid that had to be searched for */
	struct pid_table *table;
	uint64_t region_len;
	struct p3l_stats *stats;	/* of our own sends */
	uint32_t handed_seen;
	struct p3l_lane_hdr *last;	/* lane that gave the last message, of initiator last_lane */
	uint32_t last_lane, streak, burst;
	struct hand *hands;
	uint32_t hands_lock;
	bool cma;
	uint32_t inbox_max;		/* longest put by inbox where we may choose */
	bool together;			/* long copies are shared with a polling peer: not with more ranks than cores */
	bool fences;			/* no membarrier: wakers fence for themselves */
	int attending, sleepers;	/* threads */
	uint32_t naps;			/* numbers the sleeps: nal_wait() */
	uint32_t looks;			/* for the next look at who has died */
	uint32_t calls;			/* of nal_progress(): what was put since the last one is a stream */
	uint32_t hot_lock;		/* threads */
	uint32_t n_hot;
	struct { struct p3l_lane_hdr *lane; uint32_t slot, idle; } hot[HOT_MAX];
};

static inline struct priv *priv_of(const struct nal_ni *ni)
{
	return ni->nal_priv;
}

/* Bytes of a process, in its own terms: flat, or an iovec of its region. */
struct region {
	uint64_t start, iov;
	uint32_t iov_n;
	uint64_t off;
};

/* nal_smartmap.c */
struct nal_peer *nal_peer_lookup(struct nal_ni *ni, uint32_t slot);
ptl_process_id_t nal_id(struct nal_ni *ni, uint32_t slot);
void nal_relax(unsigned spins);
struct p3l_op *nal_op_wait(struct nal_ni *ni, struct p3l_ni *l);

static inline struct nal_peer *peer_of(struct nal_ni *ni, uint32_t slot)
{
	struct nal_peer *p;

	if (p3_unlikely(slot >= ni->n_peers))
		return NULL;
	p = &ni->peer[slot];
	if (p3_likely(p->l != NULL))
		return p;
	return nal_peer_lookup(ni, slot);
}

static inline void lock_word(struct nal_ni *ni, uint32_t *w)
{
	if (!ni->env.single)
		for (unsigned n = 0; !p3_cas32(w, 0, 1);)
			nal_relax(++n);
}

static inline void unlock_word(struct nal_ni *ni, uint32_t *w)
{
	if (!ni->env.single)
		p3_store_rel(w, 0);
}

nal_put_fn nal_put_usual;

/* nal_inbox.c */
void nal_wake_slow(struct p3l_ni *l);
bool nal_drain(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, struct p3l_lane_hdr *lane, uint32_t from,
	       struct p3l_sink *sink, bool locked);	/* false: a message has found no record */
void nal_progress(struct nal_ni *ni, uint32_t eq, struct p3l_sink *sink);
int nal_take(struct nal_ni *ni, uint32_t slot, struct p3l_sink *sink, unsigned looks);
void nal_attend(struct nal_ni *ni, bool on);
void nal_polled(struct nal_ni *ni, uint32_t pt, bool on);
void nal_wake(struct nal_ni *ni);
void nal_wait(struct nal_ni *ni, int64_t ns, bool (*ready)(void *), void *arg);

static inline void wake(struct nal_ni *ni, struct p3l_ni *l)
{
	if (p3_unlikely(priv_of(ni)->fences))
		p3_fence();			/* M:sleep.fence */
	if (p3_unlikely(p3_load(&l->sleeping)))	/* M:sleep.look */
		nal_wake_slow(l);
}

/* The end of a call of ours: its events may be for another thread, which sleeps. */
static inline void unlock_told(struct nal_ni *ni, uint32_t *w)
{
	if (!ni->env.single) {
		p3_store_rel(w, 0);
		wake(ni, ni->l);
	}
}

/* nal_own.c: nal_own_there() (nal.h) for @n bytes of a region of ours */
bool nal_own_region_there(struct nal_ni *ni, const struct region *r, uint64_t n, bool to_write);

/* nal_move.c */
int nal_move(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, bool put, const struct region *t,
	     const struct region *o, uint64_t n, bool direct);

/* A copy by the kernel between us and @slot: counted in our row there. */
static inline void nal_count_cma(struct nal_ni *ni, uint32_t slot, uint64_t n)
{
	struct p3l_stats *s = &p3l_row(ni->peer[slot].l, ni->l->slot)->stats;

	p3l_count(&ni->env, &s->cma_count, 1);
	p3l_count(&ni->env, &s->cma_length, n);
}

static inline uint32_t fail_of(int rc)
{
	return rc == 0 ? PTL_NI_OK : rc == -ESRCH ? PTL_NI_DIED_NP : PTL_NI_FAULT_NP;
}

/* nal_hand.c */
bool nal_hand_over(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, struct p3l_op *op, const struct region *own,
		   const struct p3l_reply *reply);
void nal_hands_collect(struct nal_ni *ni);
void nal_hands_serve(struct nal_ni *ni);
struct nal_step {
	uint32_t type;			/* of the request: P3L_GETPUT, or an atomic operation; */
	uint64_t len;			/* bytes that it is about */
	uint64_t other;			/* second operand of an atomic operation */
};
int nal_swap(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, const struct region *t, char *buf, uint64_t n,
	     bool direct, const struct nal_step *what);
bool nal_may_swap(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, const struct region *t, uint64_t n, bool direct,
		  uint32_t type);

/* nal_start.c */
int nal_start(struct nal_ni *ni, const struct p3l_setup *setup);
void nal_stop(struct nal_ni *ni);
int nal_agree(struct nal_ni *ni, int rc);

#endif

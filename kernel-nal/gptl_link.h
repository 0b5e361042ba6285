/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * gptl_link.h - an interface's link to other nodes, inside: gptl_far.c (its engine, peers, time, start and end),
 * gptl_far_pages.c (memory for it), gptl_far_call.c (operations on other nodes)
 */
#ifndef GPTL_LINK_INSIDE_H
#define GPTL_LINK_INSIDE_H

#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/mmu_notifier.h>
#include "gptl_eth.h"

/* A process of another node. */
struct gptl_node {
	struct fr_peer *p;		/* made when it is needed */
	ptl_process_id_t id;
	u32 uid, jid;
	u8 mac[ETH_ALEN];
	bool wanted;			/* a softirq could not make p; also without the lock */
	bool busy;			/* something waits for it, since */
	s64 heard_at;			/* then, or when its last frame came */
	s64 asked_at;			/* whether it is there still */
	u64 seal;			/* of the last frame that was sent */
	struct sk_buff_head held;	/* of the first, the engine has the header if fr_owed() */
};

struct gptl_block {
	struct gptl_block *next;
	u8 bytes[FR_BLOCK] __aligned(64);
};

struct gptl_link {
	struct gptl_place at;
	struct gptl_ni *ni;
	spinlock_t lock;		/* bottom halves off; all below */
	struct fr_engine *e;
	bool stopped;
	u32 n;
	struct gptl_node *node;		/* [n] slot - job.size; set once */
	u32 hash_mask;
	u32 *hash;			/* of ids: place in node + 1 */
	struct hrtimer timer;
	struct work_struct work;
	wait_queue_head_t idle;		/* of GPTL_DRAIN */
	struct gptl_pins *cur;		/* what there() has found, for the copy that follows */
	struct gptl_need {
		u64 addr, len;		/* len 0: nothing */
		bool write;
	} need;
	struct fr_peer *turn;		/* the first to be asked what it needs; NULL: the first of all */
	bool turn_sends;		/* ... of it only for what it sends */
	struct xarray pages;		/* looked up: by page number * 2 + write; see NOT_MAPPED. work() fills it */
	struct mmu_interval_notifier mn;	/* on all of the owner's memory */
	u32 n_pages;			/* work()'s own, as is */
	bool failed;			/* a copy has met NOT_MAPPED */
	u64 held;
	struct gptl_block *blocks, *spare;
};

static inline void gptl_link_enter(struct gptl_link *k)
{
	spin_lock_bh(&k->lock);
	k->e->now = (s64)ktime_get_ns();
}

/* gptl_far.c */
void gptl_link_leave(struct gptl_link *k, struct gptl_node *g);	/* after something with @g */
bool gptl_peer_make(struct gptl_link *k, struct gptl_node *g);	/* the engine's peer. False: no memory. May sleep */
void gptl_held_run(struct gptl_link *k, struct gptl_node *g);	/* lock held: what is held, as far as it goes */

/* gptl_far_pages.c */
bool gptl_link_there(struct fr_engine *e, bool to, u64 addr, u64 len, u64 ahead);
bool gptl_link_copy(struct fr_engine *e, bool to, u64 addr, void *buf, u64 len, bool direct);
bool gptl_link_step(struct fr_engine *e, u32 type, u64 addr, u8 *buf, u64 len, u64 whole, u64 operand);
void gptl_link_work(struct work_struct *w);
void gptl_link_give_back(struct gptl_link *k, bool all);
extern const struct mmu_interval_notifier_ops gptl_link_notifier;

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * gptl.h - inside of the module portals_gp
 *
 * An NI belongs to the process that has opened it: its tgid and mm. It is found by the other ranks through its job's
 * table (RCU, and a reference while an operation is under way). Files: gptl_dev.c the device and its calls' arguments,
 * gptl_proc.c jobs and NIs, gptl_call.c entries, descriptors and queues, gptl_mem.c pages, gptl_move.c operations,
 * gptl_far_call.c operations on other nodes, gptl_far.c and gptl_far_pages.c (gptl_link.h) what these stand on,
 * gptl_eth.c the wire.
 *
 * Locks: gptl_jobs_lock (mutex) -> job.lock (spin); link.lock (spin, softirqs take it); ni.pins' own; the core's,
 * which are innermost and only held between gptl_enter() and gptl_leave(), or with link.lock. Nothing sleeps with any
 * of them but the first.
 */
#ifndef GPTL_H
#define GPTL_H

#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "gptl_env.h"
#include "portals_gp.h"

#define GPTL_RECENT	16U		/* pinned ranges that are kept for descriptors to come */
#define GPTL_WINDOW	((u64)64 << 20)	/* longer descriptors are looked up page by page, not pinned */

struct gptl_job {
	struct kref ref;
	struct list_head list;		/* [gptl_jobs_lock] */
	kuid_t uid;
	u8 key[GPTL_KEY];
	u32 jid, nid, size;
	spinlock_t lock;
	bool closing;			/* [lock] a rank has left: the next ones that come are another job */
	u32 arrived, round;		/* [lock] of GPTL_MEET */
	u32 joined;			/* [lock] ranks that have opened */
	bool broken;			/* [lock] a rank has gone without waiting */
	wait_queue_head_t wq;
	struct gptl_member {
		struct gptl_ni __rcu *ni;
		u32 pid;		/* [lock] */
	} member[];
};

struct gptl_ni {
	struct kref ref;
	struct rcu_work free;		/* who has found it with RCU may be in it still */
	struct gptl_job *job;
	struct p3l_ni *l;
	u32 *claims;			/* [max_eq], written by the process */
	struct mm_struct *mm;		/* held, not used: it may end before us */
	struct pid *tgid;
	u32 slot, uid, max_getput;
	u32 eqs;			/* queues were made below this place */
	unsigned long polled[BITS_TO_LONGS(P3L_MAX_PT)];	/* atomic bits: GPTL_POLLED */
	bool dead;			/* [job.lock] */
	bool met;			/* has called GPTL_MEET */
	u32 left;			/* atomic: has left the job */
	wait_queue_head_t wq;
	u32 wakes;			/* counts GPTL_WAKE */
	struct xarray pins;		/* by place of the descriptor: struct gptl_pins */
	spinlock_t recent_lock;
	struct gptl_pins *recent[GPTL_RECENT];	/* [recent_lock] the last ones that were made, each with a reference */
	u32 recent_at;			/* [recent_lock] the oldest */
	struct work_struct sweep;
	struct gptl_link *link;			/* to other nodes; NULL: none. Set once */
	atomic64_t calls, sleeps, copies_pinned, copies_looked_up, pinned_pages, withdrawn;
	u64 copies_now[GPTL_SLOTS];		/* pinned, too; by processor, where each has its own place */
};

/* Is its process, which is in a call, in no other one? Whoever is has its memory, and only a thread can begin one. */
static inline bool gptl_one_thread(const struct gptl_ni *ni)
{
	return atomic_read(&ni->mm->mm_users) == 1;
}

/* gptl_dev.c: what may not be done where it becomes due; and what may take as long as a user likes */
extern struct workqueue_struct *gptl_wq, *gptl_pages_wq;

/* gptl_proc.c */
long gptl_ni_open(struct gptl_open *a, struct gptl_ni **out);
void gptl_ni_leave(struct gptl_ni *ni);		/* nobody finds it any more; may be called again */
void gptl_ni_put(struct gptl_ni *ni);
void gptl_quiesce(void);			/* all interfaces that have been put are freed */
struct gptl_ni *gptl_ni_get(struct gptl_ni *own, u32 slot, u32 nid, u32 pid);	/* NULL: nobody */
/* The same without a reference: it stays until gptl_leave(). [entered] */
struct gptl_ni *gptl_ni_seen(struct gptl_ni *own, u32 slot, u32 nid, u32 pid);
long gptl_meet(struct gptl_ni *ni, const struct gptl_meet *a);
long gptl_pids(struct gptl_ni *ni, const struct gptl_meet *a);
long gptl_pid(struct gptl_ni *ni, const struct gptl_open *a);

/* gptl_call.c: 0, a Portals code, or -errno */
long gptl_me_attach(struct gptl_ni *ni, struct gptl_post *a);
long gptl_me_insert(struct gptl_ni *ni, struct gptl_post *a);
long gptl_me_unlink(struct gptl_ni *ni, const struct gptl_ref *a);
long gptl_md_attach(struct gptl_ni *ni, struct gptl_post *a);
long gptl_md_bind(struct gptl_ni *ni, struct gptl_post *a);
long gptl_md_update(struct gptl_ni *ni, struct gptl_post *a);
long gptl_md_unlink(struct gptl_ni *ni, const struct gptl_ref *a);
long gptl_memd_attach(struct gptl_ni *ni, struct gptl_post *a);
long gptl_memd_post(struct gptl_ni *ni, struct gptl_post *a);
long gptl_eq_alloc(struct gptl_ni *ni, struct gptl_eq *a);
long gptl_eq_free(struct gptl_ni *ni, const struct gptl_ref *a);
long gptl_ac(struct gptl_ni *ni, const struct gptl_ac *a);
long gptl_polled(struct gptl_ni *ni, const struct gptl_polled *a);
long gptl_tidy(struct gptl_ni *ni, const struct gptl_ref *a);

/* gptl_wait.c */
void gptl_claims_take(const struct p3l_env *env, struct gptl_ni *ni);	/* between enter and leave */
long gptl_wait(struct gptl_ni *ni, const struct gptl_wait *a);

/* Whoever has logged events: those who sleep for them look again. */
static inline void gptl_wake(struct gptl_ni *ni)
{
	if (wq_has_sleeper(&ni->wq))
		wake_up_all(&ni->wq);
}

/* gptl_move.c */
long gptl_move(struct gptl_ni *ni, const struct gptl_move *a);

bool gptl_own_bytes(struct gptl_ni *ni, u64 start, u64 iov, u32 iov_n, u64 off, u8 *buf, u64 n, bool to);

/* gptl_far.c, gptl_far_call.c */
long gptl_net(struct gptl_ni *ni, struct gptl_net *a);
long gptl_far(struct gptl_ni *ni, const struct gptl_far *a);
long gptl_drain(struct gptl_ni *ni, const struct gptl_drain *a);
/* @slot: of the target, beyond the node's; @h is complete but for its lengths and descriptor. As gptl_move() */
struct gptl_node;
struct gptl_node *gptl_far_find(struct gptl_ni *ni, u32 slot, u32 nid, u32 pid);	/* NULL: nobody */
long gptl_far_put(struct gptl_ni *ni, struct gptl_node *g, struct p3l_hdr *h, struct p3l_send *s);
long gptl_far_get(struct gptl_ni *ni, struct gptl_node *g, struct p3l_hdr *h, struct p3l_reply *r);
long gptl_far_exchange(struct gptl_ni *ni, struct gptl_node *g, struct p3l_hdr *h, struct p3l_send *s,
		       struct p3l_reply *r);
void gptl_far_leave(struct gptl_ni *ni);	/* nothing comes any more, and the others are told */
void gptl_far_end(struct gptl_ni *ni);		/* nobody is in @ni any more */
void gptl_far_stat(struct gptl_ni *ni, struct gptl_stat *s);

/* gptl_mem.c */
struct gptl_pins;
int gptl_pin(struct gptl_ni *ni, u64 start, u64 len, struct gptl_pins **out);	/* 0 (NULL: not pinned) or a code */
void gptl_pins_set(struct gptl_ni *ni, u32 md, struct gptl_pins *p);	/* @p may be NULL; takes it */
void gptl_pins_drop(struct gptl_pins *p);
void gptl_pins_end(struct gptl_ni *ni);
void gptl_sweep(struct work_struct *w);
/* @len bytes at @addr of the process of @t, of its descriptor @md, from or to @own of the current process. 0, -errno */
int gptl_copy(struct gptl_ni *t, u32 md, u64 addr, u64 len, bool put, u64 own);
/* A put, [entered]: how many of the first bytes have been copied, as far as all is there. */
#define GPTL_AT_ONCE	512U
u32 gptl_copy_now(struct gptl_ni *t, u32 md, u64 addr, u32 len, u64 own);

/* Are the pages of @range others' from now on? Not if it is about protection, or a page's own affair. */
static inline bool gptl_pages_go(const struct mmu_notifier_range *range)
{
	return range->event == MMU_NOTIFY_UNMAP || range->event == MMU_NOTIFY_CLEAR ||
	       range->event == MMU_NOTIFY_RELEASE;
}

/* Also in a softirq: the pages of descriptor @md of @t, with a reference, if these bytes of it are pinned; or NULL. */
struct gptl_pins *gptl_pins_of(struct gptl_ni *t, u32 md, u64 addr, u64 len);
struct page *gptl_pins_page(const struct gptl_pins *p, u64 addr);	/* or NULL */
void gptl_pins_let(struct gptl_pins *p);				/* @p may be NULL */
/* Up to @n pages of @t's process, for a moment, by whoever may sleep. How many, or -errno. */
long gptl_pages_get(struct gptl_ni *t, u64 addr, u32 n, bool write, struct page **page);

/* Pages of another process, for one step on them with bottom halves off: at most 64 bytes, in pieces. */
struct gptl_piece {
	struct page *page;
	void *at;
	u32 len;
};
int gptl_piece_get(struct gptl_ni *t, u64 addr, u32 len, struct gptl_piece *p);	/* bytes within one page; or -errno */
void gptl_piece_put(struct gptl_piece *p);

#endif

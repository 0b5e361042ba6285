/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3l.h - the matching core of Portals 3.3
 *
 * Glossary
 *   initiator, target  who starts an operation; whose portal table it addresses
 *   NI                 an open interface: portal table, ME, MD and EQ pools, in one region of the owner's memory
 *   mover              whoever runs the core on an NI: the owner, or an initiator on the same node (by SMARTMAP)
 *   slot               number of a process on this node (its local rank); names a mover in locks and records
 *   region             the memory of one NI; everything in it is found by index or by offset from its start
 *   ME, MD, EQ         match entry, memory descriptor, event queue
 *   ticket             position of an event in its queue, counted freely
 *   op                 record of an operation in progress at its target, so that anyone can finish it
 *   lane               ring of small messages from one initiator in the target's region (its inbox)
 *   polled entry       portal table entry whose owner promised to poll: only the owner matches there
 *
 * The core is freestanding: no libc, no allocation after p3l_ni_setup(), no printing, no sleeping. What it needs of
 * its surroundings is in struct p3l_env. It trusts no index, offset or length that another process can write.
 *
 * Locks, in the order in which they may be taken (one of each kind at a time, but for rlock):
 *   lane.lock -> pt[].lock
 *   ni.reap_lock -> ni.own_lock -> pt[].lock -> eq[].rlock, upwards
 *	(reap_lock, own_lock: threads of the owner only; what the dead left, pools and setup. rlock: readers)
 *   swap[], upwards; nothing inside  (swap.c)
 * pt[0..127] protect their match list with its MEs and MDs; pt[128..143] are stripes for MDs on no list. A lock word
 * holds slot + 1 of its holder, so that the lock of a dead holder can be taken over.
 *
 * What stands in the region, and who writes it: p3l_layout.h.
 */
#ifndef P3L_H
#define P3L_H

#include "p3l_layout.h"
#include "p3_probe.h"

/* What the core needs of its surroundings. One per process. */
struct p3l_env {
	uint32_t self;				/* own slot + 1: value of our locks */
	uint8_t single;				/* not 0: one thread: locks that only threads contend are left out */
	bool (*alive)(uint32_t slot);		/* does that process still exist? */
	void (*relax)(unsigned spins);		/* called while waiting: pause, later yield */
	void (*waits)(struct p3l_wait *w);	/* called now and then in a long wait: keeps the time. May be NULL */
	uint64_t alone[2];			/* our polled entries where no other mover is any more: p3l_pt_polled_set() */
};

static inline void p3l_copy(void *d, const void *s, size_t n)
{
	__builtin_memcpy(d, s, n);
}

/* Whole words, then bytes, without a call, which would take longer than the copy. */
static inline void p3l_copy_short(uint8_t *d, const uint8_t *s, uint32_t n)
{
	for (; n >= 8; d += 8, s += 8, n -= 8) {
		p3l_copy(d, s, 8);
		p3_barrier();			/* keeps this a loop */
	}
	for (; n; n--) {
		*d++ = *s++;
		p3_barrier();
	}
}

/* The same from a line that another core has written: pieces of 16, the last one overlapping. Not from where this core has
 * just written smaller pieces: reading them as one waits for the stores. */
static inline void p3l_copy_line(uint8_t *d, const uint8_t *s, uint32_t n)
{
	uint32_t i;

	if (n < 16) {
		p3l_copy_short(d, s, n);
		return;
	}
	for (i = 0; i + 16 <= n; i += 16) {
		p3l_copy(d + i, s + i, 16);
		p3_barrier();
	}
	if (i < n)
		p3l_copy(d + n - 16, s + n - 16, 16);
}

/* May the owner do without locks there, as long as it has one thread? */
static inline bool p3l_pt_alone(const struct p3l_env *env, uint32_t pt)
{
	return env->single && (env->alone[pt >> 6] >> (pt & 63) & 1);
}

/* ni.c */
struct p3l_setup {
	uint32_t nid, pid, uid, jid, slot, n_slots, lane_lines;
	uint32_t max_me, max_md, max_eq, max_pt, max_ac, max_me_list, max_iov;
	uint32_t index_from;		/* entries of a list that make an index worth its while; 0: never */
	uint64_t space;			/* bytes for event slots, iovecs and indices; at most 1 << P3L_SPACE_LOG2 */
};
uint64_t p3l_ni_size(const struct p3l_setup *s);
void p3l_ni_setup(struct p3l_ni *ni, const struct p3l_setup *s);	/* @ni: zeroed, p3l_ni_size() bytes */
bool p3l_ni_sane(const struct p3l_ni *ni, uint64_t max_size);		/* may a peer use it? */

/* space.c: blocks of 2^log2 bytes. Owner, own_lock */
void p3l_space_setup(struct p3l_ni *ni, uint64_t bytes);
uint64_t p3l_space_alloc(struct p3l_ni *ni, uint32_t log2);		/* offset, 0: full */
void p3l_space_free(struct p3l_ni *ni, uint64_t off, uint32_t log2);

/* Messages that NI @ni has received by mover @slot, and from lane @slot by its owner. */
static inline uint64_t p3l_received(const struct p3l_ni *ni, uint32_t slot)
{
	return p3_load(&p3l_row(ni, slot)->stats.recv_count) + p3_load(&p3l_lane(ni, slot)->hot_count);
}

static inline uint64_t p3l_received_length(const struct p3l_ni *ni, uint32_t slot)
{
	return p3_load(&p3l_row(ni, slot)->stats.recv_length) + p3_load(&p3l_lane(ni, slot)->hot_length);
}

/*
 * A wait has become long: say so in our row of @ni, unless another thread of ours does. @w: the caller's own;
 * env->waits is called with it. p3l_wait_end() with the same.
 */
void p3l_wait_begin(const struct p3l_env *env, struct p3l_ni *ni, uint32_t what, uint32_t index, uint32_t count,
		    struct p3l_wait *w);
void p3l_wait_on(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_wait *w);	/* and it goes on */
void p3l_wait_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_wait *w);

/* Has its initiator lent the record of an operation to the guest? Not before the match: what stands there is older. */
static inline bool p3l_lent(const struct p3l_op *op)
{
	return p3_unlikely(p3_load(&op->lockless) & P3L_LENT) && p3_load(&op->state) >= P3L_OP_MOVE;
}

/* lock.c. Slow: returns slot + 1 of the dead holder that it was taken from, or 0 */
uint32_t p3l_lock_slow(const struct p3l_env *env, struct p3l_ni *ni, uint32_t *lock, int pt);
static inline void p3l_lock(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt)
{
	if (p3_unlikely(!p3_cas32(&ni->pt[pt].lock, 0, env->self)))	/* M:polled.lock M:unlink.lock */
		p3l_lock_slow(env, ni, &ni->pt[pt].lock, (int)pt);
}

/* List @pt, or a descriptor that stands there, is about to change. [lock] */
static inline void p3l_changes(struct p3l_ni *ni, uint32_t pt)
{
	if (p3_likely(pt < P3L_MAX_PT))
		p3_store(&ni->pt[pt].changes, ni->pt[pt].changes + 1);
}

static inline void p3l_unlock(struct p3l_ni *ni, uint32_t pt)
{
	p3_store_rel(&ni->pt[pt].lock, 0);	/* M:polled.unlock M:unlink.unlock */
}

static inline void p3l_own_lock(const struct p3l_env *env, struct p3l_ni *ni)
{
	if (!env->single && p3_unlikely(!p3_cas32(&ni->own_lock, 0, env->self)))
		p3l_lock_slow(env, ni, &ni->own_lock, -1);
}

static inline void p3l_own_unlock(const struct p3l_env *env, struct p3l_ni *ni)
{
	if (!env->single)
		p3_store_rel(&ni->own_lock, 0);
}

/* A handle without its NI: index and generation. */
struct p3l_ref {
	uint32_t idx, gen;
};

/* me.c (owner) */
int p3l_me_attach(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt, ptl_process_id_t id, uint64_t bits,
		  uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, struct p3l_ref *out);
/* At an entry of the table that has none: else P3L_TAKEN. */
enum { P3L_TAKEN = -1 };
int p3l_me_attach_first(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt, ptl_process_id_t id, uint64_t bits,
			uint64_t ignore, ptl_unlink_t unlink, struct p3l_ref *out);
int p3l_me_insert(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref base, ptl_process_id_t id,
		  uint64_t bits, uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, struct p3l_ref *out);
int p3l_me_unlink(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref me);
uint32_t p3l_me_alloc(struct p3l_ni *ni);				/* index + 1 */
void p3l_me_free(struct p3l_ni *ni, uint32_t idx);
void p3l_me_free_own(struct p3l_ni *ni, uint32_t idx);	/* the same, by the owner with one thread */
void p3l_me_push(struct p3l_ni *ni, uint32_t idx);
void p3l_me_fill(struct p3l_me *me, uint32_t pt, ptl_process_id_t id, uint64_t bits, uint64_t ignore,
		 ptl_unlink_t unlink);
void p3l_me_out_locked(struct p3l_ni *ni, uint32_t idx);
void p3l_me_remove_locked(struct p3l_ni *ni, uint32_t idx);
int p3l_me_lock(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref me, uint32_t *pt);
/* The same by the owner, without a lock where it is @alone. */
int p3l_me_enter(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref me, uint32_t *pt, bool *alone);
int p3l_me_link_locked(struct p3l_ni *ni, uint32_t pt, uint32_t idx, uint32_t base, ptl_ins_pos_t pos);

/* md.c (owner). eq: packed as in struct p3l_md, a checked queue. flags: P3L_MD_DIRECT when the region is in the window. */
struct p3l_md_args {
	const ptl_md_t *md;
	uint32_t eq;
	uint32_t flags;
	const struct p3l_iov *iov;	/* PTL_MD_IOVEC: the caller's vector, user_length entries */
};
int p3l_md_attach(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref me, const struct p3l_md_args *a,
		  ptl_unlink_t op, struct p3l_ref *out);
int p3l_md_bind(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_md_args *a, ptl_unlink_t op,
		struct p3l_ref *out);
int p3l_md_unlink(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref md);
int p3l_md_update(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref md, ptl_md_t *old,
		  struct p3l_iov *old_iov, uint32_t old_iov_n, const struct p3l_md_args *a, int test_eq);
int p3l_memd_post(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref base, ptl_process_id_t id,
		  uint64_t bits, uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos,
		  const struct p3l_md_args *a, ptl_unlink_t op, int test_eq, struct p3l_ref *me,
		  struct p3l_ref *md);
int p3l_memd_attach(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt, ptl_process_id_t id, uint64_t bits,
		    uint64_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos, const struct p3l_md_args *a,
		    ptl_unlink_t op, struct p3l_ref *me, struct p3l_ref *md);
int p3l_md_lock(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref md, uint32_t *pt);
void p3l_md_free_locked(struct p3l_ni *ni, uint32_t idx);		/* and its ME if that is PTL_UNLINK */
void p3l_md_free_own(struct p3l_ni *ni, uint32_t idx);		/* the same, by the owner with one thread */
/* Is UNLINK logged when this MD unlinks itself? */
static inline bool p3l_md_tells(const struct p3l_md *md)
{
	return !(md->flags & P3L_MD_XT) || (md->options & PTL_MD_UNLINK_EVENT_NP);
}
void p3l_md_told_locked(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx);
void p3l_md_go_locked(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx, const struct p3l_slot *cause);
void p3l_md_push(struct p3l_ni *ni, uint32_t idx);
uint64_t p3l_md_room(struct p3l_ni *ni, uint32_t log2);	/* p3l_space_alloc(); takes what freed MDs still have. own_lock */
/* Event @s of queue @eq (packed) names @md, which has been updated (older is not 0): who has the values to show? */
const struct p3l_md *p3l_md_shown(const struct p3l_ni *ni, const struct p3l_md *md, uint32_t eq, const struct p3l_slot *s);
void p3l_md_tidy(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_md *md);	/* forget keepers no longer needed */
bool p3l_md_left(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx);	/* no lock: nobody is in it any more, or false */
void p3l_md_done(const struct p3l_env *env, struct p3l_ni *ni, uint32_t idx, const struct p3l_slot *cause);

/*
 * Event @t of queue @eq (packed) names @md: it is not reused until that has been read. Tickets are reserved under the
 * lock (START) and without it (END), so the newest is not always the last to be noted. An operation from before an update
 * that has changed the queue need not note anything: there is a keeper.
 */
static inline void p3l_md_note(struct p3l_md *md, uint32_t eq, uint32_t t)
{
	uint32_t *p = &md->last_ticket, old = p3_load(p);

	if (p3_unlikely(eq != p3_load(&md->eq)))
		return;
	if (!p3_load(&md->pending)) {		/* under the lock, nothing in progress: nobody else */
		p3_store(p, t);
		return;
	}
	while ((int32_t)(t - old) > 0 && !p3_cas32(p, old, t))
		old = p3_load(p);
}

/* index.c: long lists. All under the lock of the entry but p3l_index_room() */
void p3l_index_take_room(struct p3l_ni *ni, uint32_t pt);
/* Before an insertion beside @base, or in list @pt: take the place that an index may need. Owner, own_lock. */
static inline void p3l_index_room(struct p3l_ni *ni, const struct p3l_ref *base, uint32_t pt)
{
	if (base)
		pt = base->idx < P3L_MAX_ME ? p3_load(&p3l_me(ni, base->idx)->pt) : P3L_MAX_PT;
	if (p3_likely(pt < P3L_MAX_PT) && p3_unlikely(p3_load(&ni->pt[pt].len) >= ni->index_from))
		p3l_index_take_room(ni, pt);
}
struct p3l_among {			/* a search: the next of either kind, index + 1 */
	uint32_t same, wild;
};
bool p3l_index_make(struct p3l_ni *ni, uint32_t pt);	/* for a search; false: there is no room, or the list is short */
/* Where there is an index. @me stands in the list by now. */
void p3l_index_in(struct p3l_ni *ni, uint32_t pt, uint32_t me, ptl_ins_pos_t pos);
void p3l_index_out(struct p3l_ni *ni, uint32_t pt, uint32_t me);
/* The entries of list @pt that may match @bits, in list order: ME index + 1, 0 after the last. */
void p3l_index_start(struct p3l_ni *ni, uint32_t pt, uint64_t bits, struct p3l_among *a);
uint32_t p3l_index_next(struct p3l_ni *ni, struct p3l_among *a);
static inline void p3l_index_drop(struct p3l_pt *p)
{
	p3_store(&p->index_log2, 0);
}

/* eq.c */
int p3l_eq_alloc(const struct p3l_env *env, struct p3l_ni *ni, uint64_t count, struct p3l_ref *out);
int p3l_eq_free(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref eq);
bool p3l_eq_give_back(const struct p3l_env *env, struct p3l_ni *ni);	/* space of freed queues; no lock. True: some */
bool p3l_eq_valid(const struct p3l_ni *ni, struct p3l_ref eq);
uint32_t p3l_eq_reserve(struct p3l_ni *ni, uint32_t eq);		/* ticket; @eq: index */
void p3l_eq_post(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq, uint32_t ticket,
		 const struct p3l_slot *ev);
/* Copy the next event out: 1, -1 (an event, and losses before it), 0 none. Consumes it when @take. Owner only. */
int p3l_eq_read(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq, struct p3l_slot *out, bool take);
/* The same for one who holds the lock of the readers, or needs none. Not taken, it stays until p3l_eq_took(). */
int p3l_eq_next(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq, struct p3l_slot *out, bool take);
void p3l_eq_took(struct p3l_ni *ni, uint32_t eq, bool told);	/* @told: p3l_eq_next() has said -1 */
static inline void p3l_eq_lock(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq)
{
	if (!env->single)
		for (unsigned n = 0; !p3_cas32(&ni->eq[eq].rlock, 0, env->self);)
			env->relax(++n);
}
static inline void p3l_eq_unlock(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq)
{
	if (!env->single)
		p3_store_rel(&ni->eq[eq].rlock, 0);
}
static inline bool p3l_eq_idle(const struct p3l_ni *ni, uint32_t eq)	/* nothing there, nothing promised */
{
	return p3_load_acq(&ni->eq[eq].tail) == p3_load(&ni->eq[eq].head);
}
/*
 * Where in the ring a ticket's event stands (modulo its size). Not beside the one before: a processor that reads one
 * line after the other fetches those behind, and so would take from a writer the slots that it is about to fill.
 */
static inline uint32_t p3l_eq_place(uint32_t ticket)
{
	return ticket * 75;		/* odd: each slot once in a lap */
}

/*
 * Does @word of the slot of ticket @head say that this has not been posted? It has the ticket of one of the last laps then,
 * or is busy. It has 31 bits, so an older one may be a newer one: of a queue that was not read for a billion events. (Those
 * of just 2^31 events, less a few laps, are not seen.)
 */
static inline bool p3l_eq_early(uint32_t word, uint32_t head, uint32_t n)
{
	return (head << 1) - word < n << 3;
}

/* Slot of @ticket, or NULL where a peer has written nonsense over the queue's place. */
static inline struct p3l_slot *p3l_eq_slot(const struct p3l_ni *ni, const struct p3l_eq *q, uint32_t ticket)
{
	uint64_t slots = p3_load(&q->slots);
	uint32_t log2 = p3_load(&q->log2);

	if (p3_unlikely(log2 > 24 || slots >= ni->size || ni->size - slots < (uint64_t)sizeof(struct p3l_slot) << log2 ||
			slots % sizeof(struct p3l_slot)))
		return NULL;
	return (struct p3l_slot *)((char *)ni + slots) + (p3l_eq_place(ticket) & ((1u << log2) - 1));
}

static inline bool p3l_eq_ready(const struct p3l_ni *ni, uint32_t eq)	/* cheap look: something to read? */
{
	const struct p3l_eq *q = &ni->eq[eq];
	const struct p3l_slot *s = p3l_eq_slot(ni, q, q->head);

	return s && !p3l_eq_early(p3_load_acq(&s->word), q->head, 1u << (q->log2 & 31));
}

/*
 * What takes the next message that is handed to the reader of a queue: looked up once, good until pt.changes counts on, and
 * kept where no peer can write. The descriptor is plain memory for puts, END events to this queue. Its threshold is infinite,
 * or one, and then it goes with the message: good only as long as the owner is alone there, and it has not been used.
 */
struct p3l_known {
	uint32_t pt, changes;		/* pt P3L_MAX_PT: nothing */
	uint32_t last;			/* pt of the last message, or P3L_MAX_PT: where p3l_inbox_prime() looks */
	uint64_t match_bits, mask;	/* bits that must be equal */
	uint64_t hdr_data, hdr_mask;	/* of the header data, too: @given only */
	uint64_t start, length, min_free;
	struct p3l_md *md;
	uint16_t md_idx, md_gen;
	bool remote;			/* PTL_MD_MANAGE_REMOTE */
	bool fresh;			/* the owner has not seen this one yet */
	bool one;			/* for one message */
	bool given;			/* by PtlMEMDTake_np(): no descriptor, and none is looked up instead */
};

/*
 * The reader of queue @eq waits here. When nothing is on its way to the queue, the next event comes straight: without a
 * ticket, so nobody else sees that it was there. Owner with one thread.
 */
enum { P3L_SINK_EVENT = 1, P3L_SINK_KNOWN };	/* ev is whole; only what @known does not say */
struct p3l_sink {
	int eq;
	uint32_t packed;		/* the queue as MDs name it */
	uint8_t got;			/* 0: nothing */
	struct p3l_known *known;	/* may be NULL */
	struct p3l_slot ev;
};

/* What has happened before whatever we have read is in the queue by now: its tickets are older than this event. */
static inline bool p3l_sink_open(const struct p3l_ni *ni, const struct p3l_sink *k)
{
	const struct p3l_eq *q = &ni->eq[k->eq];

	return p3_load_acq(&q->tail) == p3_load(&q->head) && p3_likely(!q->dropped);	/* M:eq.open */
}

static inline bool p3l_eq_room(const struct p3l_ni *ni, uint32_t eq, uint32_t n)
{
	const struct p3l_eq *q = &ni->eq[eq];

	return p3_load(&q->tail) - p3_load(&q->head) + n <= 1u << (q->log2 & 31);
}

/* The queue of an MD, if it still exists: index, or -1. */
static inline int p3l_eq_of(const struct p3l_ni *ni, uint32_t packed)
{
	uint32_t i = (packed & 0xffff) - 1;

	if (!packed || i >= P3L_MAX_EQ || (p3_load(&ni->eq[i].gen) & P3L_GEN_MASK) != packed >> 16)
		return -1;
	return (int)i;
}

/*
 * polled.c (owner). On: true when nobody but us is in the entry or will enter it, false: there are operations of others
 * under way, so locks are needed until another call, with the same, has found none. Off: always true; what is in the lanes then
 * is for whoever looks next, so the caller looks.
 */
bool p3l_pt_polled_set(struct p3l_env *env, struct p3l_ni *ni, uint32_t pt, bool on);

/* match.c: an operation at its target, run by any mover */
enum p3l_verdict { P3L_DROPPED, P3L_MATCHED, P3L_WAIT, P3L_OTHER };
struct p3l_short {
	bool ack;
	uint64_t off, mlength;
};
/* Match @h and charge the MD; @op says where the data go. WAIT (polled entries): @may_wait, and no room now in
 * the queue or in the MDs; or we are not the owner, who alone matches there. A get is dropped there. */
enum p3l_verdict p3l_target_begin(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_hdr *h,
				  struct p3l_op *op, bool may_wait);
/* Data are in place, or not (@fail). Posts END, unlinks. Returns whether an ack is to be sent. */
/*
 * The owner takes a message in one step under the lock, without a record: match, copy and log; when its mover dies, the NI
 * is gone as well. Of at most P3L_SHORT bytes, in lines that it has just read, since others may wait for the lock; or where
 * there is none (p3l_pt_alone). P3L_OTHER: nothing changed, take the long way (iovec).
 */
#define P3L_SHORT 120
struct p3l_data;
enum p3l_verdict p3l_target_short(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_hdr *h,
				  const struct p3l_data *data, struct p3l_short *done, struct p3l_sink *sink);
bool p3l_target_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_op *op, uint32_t fail);
/* Does the record of an operation in progress name an MD that it can have been matched to? Else a peer wrote over it. */
static inline bool p3l_op_names(const struct p3l_ni *ni, uint32_t md, uint32_t type, uint32_t md_gen)
{
	return p3_likely(md < P3L_MAX_MD && type - P3L_PUT <= P3L_MSWAP - P3L_PUT &&
			 p3_load(&p3l_md(ni, md)->gen) == md_gen);
}
static inline bool p3l_op_sane(const struct p3l_ni *ni, const struct p3l_op *copy)
{
	return p3l_op_names(ni, copy->md, copy->type, copy->md_gen);
}
/* It was overwritten, where and since when nobody knows. The owner puts right what hangs on it (p3l_reap). */
static inline void p3l_op_spoilt(struct p3l_ni *ni)
{
	p3_store(&ni->holes, 1);		/* its END may have had a ticket */
	p3_store_rel(&ni->spoilt, 1);
}
struct p3l_op *p3l_op_get(const struct p3l_env *env, struct p3l_ni *ni);	/* a free record of ours, or NULL */
void p3l_op_event(const struct p3l_op *op, bool end, uint32_t fail, struct p3l_slot *ev);

/* own.c: the initiator's side, run on the initiator's NI */
#define P3L_WHOLE UINT64_MAX
#define P3L_AGAIN (-3)			/* p3l_send_begin(): not as long as it was. Look again */
struct p3l_send {
	struct p3l_ref md;
	uint32_t eq, link, ticket;
	int32_t threshold;
	uint32_t options, flags;
	bool plain, has_ticket;
	bool whole;			/* len is the length that the MD had when the caller looked what there is room for */
	uint8_t busy;
	uint64_t loff, len;		/* len P3L_WHOLE: all of the MD */
	uint64_t start, iov;
	uint32_t iov_n;
	uint64_t match_bits, hdr_data;
	uint32_t pt;
};
/* Bytes that @s asks for, as the MD is now. (0 where it is none: p3l_send_begin() says so.) */
static inline uint64_t p3l_send_length(const struct p3l_ni *ni, const struct p3l_send *s)
{
	if (s->len != P3L_WHOLE)
		return s->len;
	return s->md.idx < P3L_MAX_MD ? p3l_md(ni, s->md.idx)->length : 0;
}
int p3l_send_begin(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_send *s);
void p3l_send_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_send *s, uint32_t fail);
void p3l_ack(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref md, uint32_t target_slot, uint32_t pt,
	     uint64_t match_bits, uint64_t roffset, uint64_t rlength, uint64_t mlength);
/* The ack that is awaited will not come, since the target has ended. Our own put MD; costs what an ack costs. */
void p3l_ack_failed(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref md, uint32_t target_slot, uint32_t pt,
		    uint64_t match_bits, uint64_t rlength, uint32_t fail);
struct p3l_reply {
	struct p3l_ref md;
	uint32_t eq, link, ticket;
	int32_t threshold;
	uint32_t options, flags, target_slot, pt;
	bool has_ticket;
	uint8_t busy;
	uint64_t start, iov;
	uint32_t iov_n;
	uint64_t off, mlength, rlength, match_bits;
};
/* A get is asked for: is its MD good for it? Sets r->mlength of P3L_WHOLE, and @xt: p3l_get_sent() is due. Charges
 * nothing. */
int p3l_get_begin(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_reply *r, bool *xt);
bool p3l_reply_begin(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_reply *r);	/* false: dropped */
void p3l_reply_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_reply *r, uint32_t fail);

/* The request of a get of an MD with P3L_MD_XT has left: it costs a unit and logs SEND events. */
void p3l_get_sent(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref md, uint64_t off, uint64_t len,
		  const struct p3l_hdr *h, uint32_t fail);

/* swap.c: the step of a getput or an atomic operation, on the target's bytes, by any mover */
struct p3l_swap {
	uint32_t stripes;			/* bit per lock held */
};
/* @iov: the bytes are in several pieces. Addresses are the owner's. */
void p3l_swap_lock(const struct p3l_env *env, struct p3l_ni *ni, uint64_t addr, uint64_t len, bool iov, struct p3l_swap *s);
void p3l_swap_unlock(struct p3l_ni *ni, const struct p3l_swap *s);
void p3l_swap_bytes(void *target, void *buf, uint64_t len);
/*
 * Operation @type on the word of @len bytes at @target: its operand is in @buf, and then what was there before; @other: what
 * is compared with it, or the mask. False: it is no word, or not on its boundary, and nothing has changed.
 */
bool p3l_atomic(uint32_t type, void *target, void *buf, uint64_t len, uint64_t other);
/* One piece of the target's bytes, @len of the @whole that the request is about: what @type asks for. As p3l_atomic(). */
static inline bool p3l_step(uint32_t type, void *target, void *buf, uint64_t len, uint64_t whole, uint64_t other)
{
	if (p3_unlikely(p3l_is_atomic(type)))
		return len == whole && p3l_atomic(type, target, buf, len, other);
	p3l_swap_bytes(target, buf, len);
	return true;
}

/* lane.c */
struct p3l_lane_tx {			/* producer's side, private to the initiator */
	uint32_t tail;
	uint32_t head_seen;
	bool used;			/* doorbell bit set */
};
/* Is there room for a put of @len bytes, with all optional words? */
bool p3l_lane_room(struct p3l_ni *ni, uint32_t slot, struct p3l_lane_tx *tx, uint64_t len);
/* Write a put with payload @data; there is room. @ask: return what the word held before (state of p3l_word, 0: stale). */
uint32_t p3l_lane_put(struct p3l_ni *ni, uint32_t slot, struct p3l_lane_tx *tx, const struct p3l_hdr *h,
		  const void *data, bool ask);
/* The usual put, which is one line: no offset, ack, AC entry; p3l_one_line(). As p3l_lane_put() otherwise. */
uint32_t p3l_lane_put_line(struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t slot, struct p3l_lane_tx *tx, uint32_t pt,
			   uint64_t match_bits, uint64_t hdr_data, const void *data, uint32_t n, bool ask);
uint32_t p3l_lane_look(struct p3l_lane_hdr *l, struct p3l_lane_tx *tx);	/* head_pub, now */
static inline bool p3l_lane_room_line(struct p3l_ni *ni, struct p3l_lane_hdr *l, struct p3l_lane_tx *tx)
{
	return p3_likely(ni->lane_lines - (tx->tail - tx->head_seen) > 1) ||
	       ni->lane_lines - (tx->tail - p3l_lane_look(l, tx)) > 1;
}
static inline bool p3l_one_line(uint64_t match_bits, uint64_t hdr_data, uint64_t len)
{
	return len <= P3L_BODY - 16 || (len <= P3L_BODY && len + 8 * (!!match_bits + !!hdr_data) <= P3L_BODY);
}
/* Is there a message at the head? Cheap look without the lock. */
static inline bool p3l_lane_ready(const struct p3l_ni *ni, struct p3l_lane_hdr *l)
{
	uint32_t head = p3_load(&l->head);	/* M:lane.ready-head */

	return p3_load_acq(&p3l_lane_line(ni, l, head)->word) == p3l_word(P3L_W_FULL, head);	/* M:lane.ready */
}
/* Where the payload of a message stands: behind the optional words, then in the lines that follow. */
struct p3l_data {
	const uint8_t *first;
	uint32_t n_first;		/* bytes there */
	uint32_t line;			/* the next one */
	uint32_t mask;
	const struct p3l_line *ring;
};
/* Decode the message at the head [lane lock held]: lines it takes, 0 none, -1 nonsense. */
int p3l_lane_peek(struct p3l_ni *ni, struct p3l_lane_hdr *l, struct p3l_hdr *h, struct p3l_data *data);
void p3l_data_read_more(const struct p3l_data *d, uint8_t *to, uint64_t n);
static inline void p3l_data_read(const struct p3l_data *d, void *to, uint64_t n)	/* the first @n bytes */
{
	if (p3_likely(n <= d->n_first))
		p3l_copy_short(to, d->first, (uint32_t)n);
	else
		p3l_data_read_more(d, to, n);
}
void p3l_lane_advance(struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t lines);
/* Give the lines before the head back to the producer (their payload has been copied). */
void p3l_lane_release(struct p3l_ni *ni, struct p3l_lane_hdr *l);
/* Owner: say POLL or AWAY at the head of an empty lane. False: a message is there. */
bool p3l_lane_mark(struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t state);
bool p3l_lane_lock(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_lane_hdr *l, bool wait);
static inline void p3l_lane_unlock(struct p3l_lane_hdr *l)
{
	p3_store_rel(&l->lock, 0);	/* M:lane.unlock */
}

/* hot.c */
/* Does access control let everybody put to every list? What is kept of that is good until pt.changes counts on. */
bool p3l_open_to_all(const struct p3l_ni *ni);
void p3l_known_event(const struct p3l_known *k, struct p3l_slot *ev);	/* add what @k says to an event it was left out of */
int p3l_inbox_hot(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_lane_hdr *lane, uint32_t slot,
		  struct p3l_sink *sink, bool burst);
void p3l_inbox_learn(struct p3l_ni *ni, uint32_t pt, const struct p3l_sink *sink);
/* There is nothing to take: look up now what will take the next one, if it is for the entry of the last. */
static inline void p3l_inbox_prime(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_sink *sink)
{
	const struct p3l_known *k = sink->known;

	if (k->last < P3L_MAX_PT && p3_unlikely(k->changes != p3_load(&ni->pt[k->last].changes)) &&
	    p3l_pt_alone(env, k->last))
		p3l_inbox_learn(ni, k->last, sink);
}

/* iov.c: pieces of an MD's memory. Walks [off, off+len) of the MD; @seg gets address and length of each piece. */
struct p3l_walk {
	const struct p3l_iov *iov;
	uint32_t n;
	uint64_t skip, left;
	struct p3l_iov flat;
};
bool p3l_walk_start(const struct p3l_ni *ni, uint64_t start, uint64_t iov, uint32_t iov_n, uint64_t off, uint64_t len,
		    struct p3l_walk *w);
bool p3l_walk_next(struct p3l_walk *w, uint64_t *addr, uint64_t *len);

/* reap.c */
void p3l_repair(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt);
unsigned p3l_reap(const struct p3l_env *env, struct p3l_ni *ni);	/* finish operations of the dead; how many */
bool p3l_reap_hold(const struct p3l_env *env, struct p3l_ni *ni);	/* take reap_lock, with patience */
/* All that held a lock, and all sends and replies of our own, are over: once since, each. False: not now. own_lock, reap_lock */
bool p3l_writers_out(const struct p3l_env *env, struct p3l_ni *ni);

static inline void p3l_count(const struct p3l_env *env, uint64_t *c, uint64_t n)
{
	if (env->single)
		*c += n;
	else
		p3_add(c, n);
}


/* Fault injection for tests: a point where a mover may die. */
#ifdef P3_FAULT
void p3l_point(const char *where);
#define P3L_POINT(w) p3l_point(w)
#else
#define P3L_POINT(w) do { } while (0)
#endif

#endif

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
 * Who writes what: each struct below says it per field. Free lists are pushed by anyone and popped by the owner.
 */
#ifndef P3L_H
#define P3L_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <p3api/types.h>
#include "p3_atomic.h"
#include "p3_probe.h"

#define P3L_MAGIC	0x50334c31U	/* "P3L1" */
#define P3L_VERSION	6U
#define P3L_LINE	64
#define P3L_MAX_PT	128
#define P3L_PT_STRIPES	16
#define P3L_MAX_SLOTS	256
#define P3L_MAX_LINES	4096		/* of a lane; a power of two */
#define P3L_MAX_AC	8
#define P3L_MAX_EQ	1024
#define P3L_MAX_MD	65536
#define P3L_MAX_ME	65536
#define P3L_MAX_IOV	256
#define P3L_MAX_GETPUT	64
#define P3L_SPACE_LOG2	26		/* of the space for event slots, iovecs and indices, at most */
#define P3L_RETIRED	64
#define P3L_SWAP_STRIPES 16		/* a line of words: see swap.c */
#define P3L_OPS		8		/* operations that one mover may have in progress at one target */
#define P3L_GEN_MASK	0x3ffU		/* generation bits that fit into a handle */
#define P3L_LANE_MAX	PTL_INLINE_MAX_NP_	/* largest payload of a lane message */
#define PTL_INLINE_MAX_NP_ 8192

/*
 * What a process waits for, for whoever wants to know why (portals/look). Written in waits that have become long, never
 * before; by the waiting process, into its row of the region where that thing is. `what` is written last, and is 0 when
 * the wait is over. Of several threads that wait the first is seen.
 */
#define P3L_WAITS(X)									\
	X(NONE)		/* does not wait, or has begun to a moment ago */		\
	X(PORTAL)	/* lock of portal table entry or stripe `index` */		\
	X(OWN)		/* lock of the pools: another thread of its own */		\
	X(LANE)		/* lock of the lane of initiator `index` */			\
	X(SWAP)		/* lock of exchange stripe `index` */				\
	X(LOCK)		/* another lock */						\
	X(QUEUE)	/* an event in queue `index` (one of `count`) */			\
	X(COPY)		/* the owner's part of a copy that is shared with it */		\
	X(PEERS)	/* the other ranks, to begin or to end together */
enum p3l_wait_for {
#define X(s) P3L_WAIT_##s,
	P3L_WAITS(X)
#undef X
	P3L_WAIT_MAX
};

struct p3l_wait {
	uint32_t what;			/* enum p3l_wait_for */
	uint32_t index, count;
	uint32_t told;			/* env->waits' own */
	int64_t since;			/* ns, of env->waits; 0: not known */
};

/* What the core needs of its surroundings. One per process. */
struct p3l_env {
	uint32_t self;				/* own slot + 1: value of our locks */
	bool single;				/* one thread: locks that only threads contend are left out */
	bool (*alive)(uint32_t slot);		/* does that process still exist? */
	void (*relax)(unsigned spins);		/* called while waiting: pause, later yield */
	void (*waits)(struct p3l_wait *w);	/* called now and then in a long wait: keeps the time. May be NULL */
	uint64_t alone[2];			/* our polled entries where no other mover is any more: p3l_pt_polled_set() */
};

/* One portal table entry; [lock] = changed under lock. */
struct p3l_pt {
	uint32_t lock;
	uint32_t head, tail;		/* [lock] ME index + 1; 0: empty */
	uint32_t len, longest;		/* [lock] entries now, and at most so far */
	uint32_t changes;		/* [lock] counts: who takes what here may differ from before (struct p3l_known) */
	/* index.c */
	uint32_t index_log2;		/* [lock] buckets in use; 0: no index, the list is walked */
	uint32_t index_room;		/* owner: log2 of the buckets that there is room for */
	uint64_t index;			/* owner: offset of the buckets */
	uint64_t index_mask;		/* [lock] bits that choose the bucket */
	uint32_t wild_head, wild_tail;	/* [lock] entries that ignore one of these */
} __attribute__((aligned(P3L_LINE)));
_Static_assert(sizeof(struct p3l_pt) == P3L_LINE, "entries must not share lines: each has its own movers");

enum { P3L_ME_USED = 1, P3L_ME_UNLINK = 2, P3L_ME_MADE = 4 /* taken from the pool, not linked yet */ };

struct p3l_me {
	uint64_t match_bits, ignore_bits;
	uint32_t match_nid, match_pid;
	uint32_t next, prev;		/* [lock] ME index + 1 */
	uint32_t md;			/* [lock] MD index + 1 */
	uint16_t pt;
	uint8_t flags;
	uint8_t pad0;
	uint32_t gen;
	uint32_t free_next;		/* pool */
	uint32_t hnext, hprev;		/* [lock] index + 1: in the bucket, or among the wild ones */
	uint64_t seq;			/* [lock] order in the list */
} __attribute__((aligned(P3L_LINE)));
_Static_assert(sizeof(struct p3l_me) == P3L_LINE, "one line per entry walked");

enum {
	P3L_MD_USED = 1,
	P3L_MD_UNLINK = 2,	/* unlink_op */
	P3L_MD_SPENT = 4,	/* used up by operations; goes when pending is 0 if P3L_MD_UNLINK */
	P3L_MD_DIRECT = 8,	/* the whole region may be touched through the window */
	P3L_MD_PLAIN = 16,	/* infinite, no EQ, contiguous, no max_size: nothing to record */
	P3L_MD_MADE = 32,	/* taken from the pool */
	P3L_MD_GOING = 64,	/* its UNLINK event is last_ticket; what is left to do is to free it */
	P3L_MD_XT = 128		/* PTL_MD_XT_NP: it follows the XT's rules (p3l_md_tells, p3l_ack, p3l_get_sent) */
};

/*
 * Line 0 changes with each operation, line 1 when the owner makes or updates the MD or it is used up: what the owner
 * shows in an event stands there, so that reading events does not take line 0 from the movers.
 * A freed MD keeps its vector until it is made again, or somebody needs the space.
 */
struct p3l_md {
	uint64_t offset;		/* [lock] local offset */
	int32_t threshold;		/* [lock] */
	uint32_t pending;		/* atomic: operations in progress; those without a record count P3L_PEND_OWN */
	uint32_t last_ticket;		/* of the newest event that names this MD */
	uint32_t me;			/* [lock] ME index + 1; 0: on no list */
	uint32_t spent_link;		/* [lock] link of the operation that used it up */
	uint64_t iov;			/* offset of the iovec copy in the region, 0: none */
	uint32_t iov_n, iov_log2;
	uint32_t free_next;
	uint32_t since;			/* older: the first ticket since */
	uint32_t of, of_gen;		/* a keeper: whose, index + 1. Its `pending`: operations from before may be in progress */

	uint64_t start __attribute__((aligned(P3L_LINE)));	/* as in ptl_md_t: region, or where its iovec was */
	uint64_t length;		/* bytes in all */
	uint64_t max_size;
	uint64_t user_ptr;
	uint64_t user_length;		/* as in ptl_md_t: bytes, or pieces */
	uint32_t options;
	uint32_t eq;			/* (EQ index + 1) | generation << 16; 0: none */
	uint32_t flags;			/* [lock] P3L_MD_* */
	uint32_t gen;
	uint32_t older;			/* keeper of the values before the last update, index + 1 */
} __attribute__((aligned(P3L_LINE)));
_Static_assert(offsetof(struct p3l_md, start) == P3L_LINE, "events are shown from the line behind");
_Static_assert(sizeof(struct p3l_md) == 2 * P3L_LINE, "two lines");

#define P3L_PEND_OWN 0x10000U	/* low half: as many as there are records, so that it can be counted anew */

struct p3l_iov {
	uint64_t base, len;
};

/*
 * An event in its queue: one line. word = ticket << 1 | valid. A writer waits until the slot holds the event of the
 * lap before (which keeps the writers of one slot in order), marks it busy (ticket << 1), fills it, and stores
 * ticket << 1 | 1 with release order; pairs with the acquire in p3l_eq_read(). A void event (P3L_VOID) stands where a
 * ticket's owner died; the reader skips it.
 */
struct p3l_slot {
	uint32_t word;
	uint32_t link;
	uint64_t match_bits, hdr_data, rlength, mlength, offset;
	uint16_t md, md_gen;		/* index, low bits of the generation */
	int32_t threshold;		/* after the operation */
	uint16_t initiator;		/* slot */
	uint8_t kind_fail;		/* event kind | fail << 4 */
	uint8_t pt;
	uint32_t ticket;		/* in a copy that was read: its ticket in full */
} __attribute__((aligned(P3L_LINE)));
_Static_assert(sizeof(struct p3l_slot) == P3L_LINE, "one line per event");

enum { P3L_VOID = 15 };	/* event kind */

enum { P3L_EQ_USED = 1, P3L_EQ_LIMBO = 2 /* freed, not given back: somebody may be about to post */ };

/* Writers read the middle line with each event: the reader must not write there, nor another writer. */
struct p3l_eq {
	/* line 0: writers */
	uint32_t tail;			/* atomic: next ticket */
	/* line 1: written when the queue is made and freed */
	uint32_t gen __attribute__((aligned(P3L_LINE)));
	uint32_t log2;			/* slots = 1 << log2 */
	uint64_t slots;			/* offset in the region */
	uint32_t flags;
	/* line 2: the owner */
	uint32_t head __attribute__((aligned(P3L_LINE)));	/* next ticket to read */
	uint32_t rlock;			/* threads of the owner */
	uint32_t dropped;		/* losses not reported yet */
} __attribute__((aligned(P3L_LINE)));
_Static_assert(sizeof(struct p3l_eq) == 3 * P3L_LINE, "who writes has a line of his own");

/* A vector that an update took from its MD while operations may have walked it: until that MD has none in progress. */
struct p3l_retired {
	uint64_t iov;			/* 0: unused */
	uint32_t log2, md, md_gen;
};

/* Access control entry. */
struct p3l_ac {
	uint32_t nid, pid, uid, jid, pt;
};

enum p3l_type { P3L_PUT = 1, P3L_GET, P3L_GETPUT, P3L_ACK /* in records only */ };

/* The header of a request, as matching sees it, whatever brought it. */
struct p3l_hdr {
	uint8_t type;			/* enum p3l_type */
	uint8_t ack;			/* an ack is wanted */
	uint16_t src;			/* initiator's slot */
	uint32_t nid, pid;		/* initiator */
	uint32_t uid, jid;
	uint32_t pt, ac;
	uint32_t md, md_gen;		/* initiator's MD, for the ack or the reply */
	uint64_t match_bits, roffset, rlength, hdr_data;
};

/*
 * An operation in progress at its target. Written by its mover only, until the mover is dead; then by whoever holds
 * ni.reap_lock. State: IDLE -> TAKEN -> PREP (under the entry's lock; MD about to change) -> MOVE (matched; data moving)
 * -> END (data in place or failed, event being posted) -> LEAVE (no longer pending; the MD may have to be unlinked)
 * -> IDLE. HAND: as MOVE, but the owner must copy. DONE: what was handed has ended. An ack that a peer brings goes from
 * PREP to LEAVE. What each state means when its mover is dead is in reap.c.
 */
#define P3L_OP_STATES(X) X(IDLE) X(TAKEN) X(PREP) X(MOVE) X(HAND) X(END) X(LEAVE) X(DONE)
enum p3l_op_state {
#define X(s) P3L_OP_##s,
	P3L_OP_STATES(X)
#undef X
	P3L_OP_MAX
};

enum { P3L_TICKET_END = 1, P3L_TICKET_START = 2 };	/* has_ticket: `ticket` is for END; `link` is being posted */

struct p3l_op {
	uint32_t state;
	uint32_t md, md_gen;
	uint32_t eq;			/* the MD's, as it was at the match */
	uint32_t link;
	uint32_t ticket;		/* of the END event, when has_ticket is P3L_TICKET_END */
	uint8_t has_ticket, type, pt, ack;
	int32_t threshold;		/* after the match; before it, in PREP: see old_threshold */
	int32_t old_threshold;
	uint32_t old_flags;
	uint64_t old_offset;
	uint64_t moff, mlength, rlength, match_bits, hdr_data;
	uint32_t src;			/* slot of the initiator */
	uint32_t options;		/* of the MD at the match */
	uint32_t mdflags;		/* P3L_MD_DIRECT at the match */
	uint64_t start, iov;		/* geometry at the match: PtlMDUpdate may change the MD meanwhile */
	uint32_t iov_n;
	uint8_t lockless;		/* polled entry, owner has one thread: no atomics needed */
	/* HAND: where the owner finds (put) or leaves (get) the data: address in process src */
	uint64_t peer_addr;
	uint32_t src_md, src_md_gen;	/* initiator's MD */
	uint32_t fail;
	uint32_t me, me_gen;		/* ME of the MD at the match, index + 1 */
	uint32_t lane;			/* taken from the lane of src: its head + 1 (set by the consumer), else 0 */
	uint64_t gets, get_length;	/* counters: by means of this record, ever */
} __attribute__((aligned(P3L_LINE)));
_Static_assert(sizeof(struct p3l_op) == 3 * P3L_LINE, "three lines per operation");

/*
 * A lane: messages from one initiator, in lines of 64 bytes.
 *
 * The word of a line holds a state and the number of the line (counted from the start, modulo 2^30), so that nothing left
 * from an earlier lap is mistaken for news:
 *	FULL(n)	a message starts here
 *	MORE(n)	goes on here, or the line is left unused at the end of the ring
 *	POLL(n)	empty; the owner is inside a polling call and will look again before it leaves
 *	AWAY(n)	empty; the owner polls now and then, but was outside when it wrote this
 * Payload never stands in a word, and each lap writes each word: so its number only grows, and a swap by an owner that was
 * stopped meanwhile, for laps perhaps, fails.
 * Producer (the initiator; its tail and its copy of head_pub are private): writes the lines behind the first, the body of
 * the first, then FULL into its word - with an exchange when it may have to act itself: having found POLL it may go, having
 * found anything else it empties the lane itself. To a polled entry a plain store will do: its owner comes back.
 * Consumer (the owner, or the initiator): under lock; looks at line head. The owner writes POLL and AWAY by
 * compare-and-swap, so that it never overwrites a message: the exchange and the swap on one word replace a fence and
 * a look at a second line on both sides, and the line is one that the message has to transfer anyway.
 * head_pub follows head lazily, so that the line that the producer reads is seldom taken away.
 */
struct p3l_lane_hdr {
	uint32_t lock;			/* consumer */
	uint32_t head;			/* [lock] next line to look at, counted freely */
	/* [lock] counters: messages and payload taken the short way (hot.c), and by the owner otherwise */
	uint64_t hot_count, hot_length, long_count, long_length;
	uint32_t pad0[6];
	uint32_t head_pub;		/* written by the consumer, read by the producer */
	uint32_t pad1[15];
} __attribute__((aligned(P3L_LINE)));

enum {	/* flags of a lane message: which optional words follow, in this order */
	P3L_LF_MATCH = 1, P3L_LF_HDR = 2, P3L_LF_OFF = 4, P3L_LF_ACK = 8, P3L_LF_AC = 16,
	P3L_LF_SKIP = 32		/* nothing here: go on at the start of the ring */
};

struct p3l_line {
	uint32_t word;			/* p3l_word() */
	union {
		struct {		/* FULL: optional words, then payload */
			uint8_t flags;
			uint8_t pt;
			uint16_t len;	/* payload bytes */
			uint8_t body[56];
		};
		uint8_t more[60];	/* MORE */
	};
};
_Static_assert(sizeof(struct p3l_line) == P3L_LINE, "one transfer per small message");
#define P3L_BODY 56U
#define P3L_CONT 60U

/* Lines of a message with @bytes of optional words and payload. */
static inline uint32_t p3l_lines(uint32_t bytes)
{
	return bytes <= P3L_BODY ? 1 : 1 + (bytes - P3L_BODY + P3L_CONT - 1) / P3L_CONT;
}

enum {
	P3L_W_MORE = 0,
	P3L_W_FULL = 1u << 30,
	P3L_W_POLL = 2u << 30,
	P3L_W_AWAY = 3u << 30,
	P3L_W_STATE = 3u << 30
};

static inline uint32_t p3l_word(uint32_t state, uint32_t line)
{
	return state | (line & ~P3L_W_STATE);
}

/* Is the number of @word later than @line? */
static inline bool p3l_word_after(uint32_t word, uint32_t line)
{
	return (int32_t)((word << 2) - (line << 2)) > 0;
}

/*
 * Counters that many read seldom; one set per mover in each NI, so that each has one writer. What hot.c takes is in its
 * lane instead: p3l_received(). flush: of what this mover has received here, what it took from its own lane itself; the
 * rest of another mover than the owner came straight. cma, hand: copies by the kernel, and those left to the owner.
 */
struct p3l_stats {
	uint64_t drop_count, drop_length, recv_count, recv_length, send_count, send_length, corrupt, takeovers;
	uint64_t reaped, eq_overruns, flush_count, flush_length, cma_count, cma_length, hand_count, hand_length;
	uint64_t refused;		/* puts that found no room */
};

/* A long copy that a mover shares with the owner: nal_together.c. Fields are the mover's, word and helped are atomic. */
#define P3L_JOB_MAX 256			/* chunks */
#define P3L_JOB_CLOSED 0x40000000U	/* in the place of the next chunk: the fields are changing */
struct p3l_job {
	uint64_t word;			/* generation << 32 | next chunk */
	uint64_t theirs, ours, len, chunk;
	uint32_t chunks;
	uint32_t put;
	uint32_t helped __attribute__((aligned(P3L_LINE)));	/* chunks that the owner has copied */
	uint32_t refused;		/* the owner could not copy what it had taken */
} __attribute__((aligned(P3L_LINE)));

/* What one mover owns in an NI: its counters and its records of operations in progress. */
struct p3l_row {
	struct p3l_stats stats __attribute__((aligned(P3L_LINE)));
	struct p3l_wait wait;
	struct p3l_op op[P3L_OPS];
	struct p3l_job job;
};

struct p3l_ni {
	/* line 0: who this is; written at setup */
	uint32_t magic, version;
	uint32_t nid, pid, uid, jid;
	uint32_t slot;
	uint32_t up;			/* 1 between PtlNIInit and PtlNIFini */
	uint64_t size;			/* bytes of the region */
	uint64_t polled[2];		/* bit per portal table entry; owner */
	uint32_t max_pt, max_ac;
	/* line 1: limits and places, written at setup */
	uint32_t max_me, max_md, max_eq, max_me_list, max_iov, index_from;
	uint32_t n_slots;		/* lanes, op rows */
	uint32_t lane_lines;		/* power of two */
	uint64_t pad2[4];
	/* line 2: initiators that would rather use the inbox; set by them, taken by the owner */
	uint64_t knock[P3L_MAX_SLOTS / 64] __attribute__((aligned(P3L_LINE)));
	/* line 3: futex word: number of the newest sleep, 0: none; set by the owner, cleared by who wakes it */
	uint32_t sleeping __attribute__((aligned(P3L_LINE)));
	/* line 4: doorbell of lanes in use, and of handed operations and shared copies; set by initiators */
	uint64_t lanes_used[P3L_MAX_SLOTS / 64] __attribute__((aligned(P3L_LINE)));
	uint32_t handed;
	/* line 5: pools; popped by the owner, pushed by anyone */
	uint32_t me_free __attribute__((aligned(P3L_LINE)));
	uint32_t md_free;
	uint32_t me_fresh, md_fresh;	/* owner: never used from here on */
	uint32_t me_spare, md_spare;	/* owner: freed by itself, taken first, without an atomic operation */
	uint32_t md_limbo, md_limbo_tail;	/* owner: freed, but an unread event names them */
	uint32_t me_count, md_count, eq_count;	/* atomic: in use */
	uint32_t own_lock;
	uint32_t reap_lock;
	uint32_t holes;			/* tickets may have been lost: p3l_reap() looks for them */
	uint32_t spoilt;		/* a record was overwritten: p3l_reap() counts `pending` of all MDs anew */
	uint32_t own_epoch, own_ops[2];	/* threads of the owner between begin and end of a send or reply */
	uint32_t space_log2;		/* owner: of the block that the space is the first part of, see space.c */
	uint64_t space;			/* event slots, iovec copies, indices: from here to the end; written at setup */
	struct p3l_retired retired[P3L_RETIRED];	/* owner */
	uint32_t swap[P3L_SWAP_STRIPES] __attribute__((aligned(P3L_LINE)));	/* locks; any mover */
	struct p3l_ac ac[P3L_MAX_AC];
	struct p3l_pt pt[P3L_MAX_PT + P3L_PT_STRIPES];
	struct p3l_eq eq[P3L_MAX_EQ];
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

/*
 * Pieces of a region. The pools have the same place and size in each, whatever limits its owner has asked for (what is
 * not used is never touched): nothing that a peer can write says where they are. Indices are checked by the callers, against
 * P3L_MAX_*; these only compute.
 */
#define P3L_PAGES(n) (((n) + 4095ull) & ~4095ull)
#define P3L_ME_OFF P3L_PAGES(sizeof(struct p3l_ni))
#define P3L_MD_OFF (P3L_ME_OFF + P3L_PAGES(P3L_MAX_ME * sizeof(struct p3l_me)))
#define P3L_ROW_OFF (P3L_MD_OFF + P3L_PAGES(P3L_MAX_MD * sizeof(struct p3l_md)))
#define P3L_TREE_OFF (P3L_ROW_OFF + P3L_PAGES(P3L_MAX_SLOTS * sizeof(struct p3l_row)))
#define P3L_LANE_OFF (P3L_TREE_OFF + (2ull << (P3L_SPACE_LOG2 - 6)))

static inline struct p3l_me *p3l_me(const struct p3l_ni *ni, uint32_t i)
{
	return (struct p3l_me *)((char *)ni + P3L_ME_OFF) + i;
}

static inline struct p3l_md *p3l_md(const struct p3l_ni *ni, uint32_t i)
{
	return (struct p3l_md *)((char *)ni + P3L_MD_OFF) + i;
}

/* Rows, and lanes, of movers. */
static inline uint32_t p3l_slots(const struct p3l_ni *ni)
{
	return ni->n_slots < P3L_MAX_SLOTS ? ni->n_slots : P3L_MAX_SLOTS;
}

static inline struct p3l_row *p3l_row(const struct p3l_ni *ni, uint32_t slot)
{
	return (struct p3l_row *)((char *)ni + P3L_ROW_OFF) + slot;
}

#define P3L_LANE_STRIDE (sizeof(struct p3l_lane_hdr) + (size_t)P3L_MAX_LINES * P3L_LINE)

static inline struct p3l_lane_hdr *p3l_lane(const struct p3l_ni *ni, uint32_t slot)
{
	return (struct p3l_lane_hdr *)((char *)ni + P3L_LANE_OFF + slot * P3L_LANE_STRIDE);
}

/* A wrong number of lines, written by a peer, leads to wrong messages, but not out of the lane. */
static inline uint32_t p3l_lane_mask(const struct p3l_ni *ni)
{
	return (ni->lane_lines - 1) & (P3L_MAX_LINES - 1);
}

static inline struct p3l_line *p3l_lane_line(const struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t n)
{
	return (struct p3l_line *)(l + 1) + (n & p3l_lane_mask(ni));
}

static inline bool p3l_pt_polled(const struct p3l_ni *ni, uint32_t pt)
{
	return p3_load(&ni->polled[pt >> 6]) >> (pt & 63) & 1;
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
void p3l_index_in(struct p3l_ni *ni, uint32_t pt, uint32_t me, ptl_ins_pos_t pos);	/* @me stands in the list by now */
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

	return s && (int32_t)(p3_load_acq(&s->word) - (q->head << 1 | 1)) >= 0;
}

/*
 * What took the last message that was handed to the reader of a queue: looked up once, good until pt.changes counts on, and
 * kept where no peer can write. The descriptor is plain memory for puts, threshold infinite, END events to this queue.
 */
struct p3l_known {
	uint32_t pt, changes;		/* pt P3L_MAX_PT: nothing */
	uint64_t match_bits, mask;	/* bits that must be equal */
	uint64_t start, length, min_free;
	struct p3l_md *md;
	uint16_t md_idx, md_gen;
	bool remote;			/* PTL_MD_MANAGE_REMOTE */
	bool fresh;			/* the owner has not seen this one yet */
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
 * The owner takes a short message (at most P3L_SHORT bytes, in lines that it has just read): match, copy and log in one
 * step under the lock, without a record: when its mover dies, the NI is gone as well. P3L_OTHER: nothing changed, take
 * the long way (iovec).
 */
#define P3L_SHORT 120
struct p3l_data;
enum p3l_verdict p3l_target_short(const struct p3l_env *env, struct p3l_ni *ni, const struct p3l_hdr *h,
				  const struct p3l_data *data, struct p3l_short *done, struct p3l_sink *sink);
bool p3l_target_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_op *op, uint32_t fail);
/* Does the record of an operation in progress name an MD that it can have been matched to? Else a peer wrote over it. */
static inline bool p3l_op_sane(const struct p3l_ni *ni, const struct p3l_op *op)
{
	uint32_t i = p3_load(&op->md), type = p3_load(&op->type);

	return p3_likely(i < P3L_MAX_MD && type - P3L_PUT <= P3L_GETPUT - P3L_PUT &&
			 p3_load(&p3l_md(ni, i)->gen) == p3_load(&op->md_gen));
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
struct p3l_send {
	struct p3l_ref md;
	uint32_t eq, link, ticket;
	int32_t threshold;
	uint32_t options, flags;
	bool plain, has_ticket;
	uint8_t busy;
	uint64_t loff, len;		/* len P3L_WHOLE: all of the MD */
	uint64_t start, iov;
	uint32_t iov_n;
	uint64_t match_bits, hdr_data;
	uint32_t pt;
};
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
	uint32_t options, target_slot, pt;
	bool has_ticket;
	uint8_t busy;
	uint64_t start, iov;
	uint32_t iov_n;
	uint64_t off, mlength, rlength, match_bits;
};
bool p3l_reply_begin(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_reply *r);	/* false: dropped */
void p3l_reply_end(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_reply *r, uint32_t fail);

/* The request of a get of an MD with P3L_MD_XT has left: it costs a unit and logs SEND events. */
void p3l_get_sent(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_ref md, uint64_t off, uint64_t len,
		  const struct p3l_hdr *h, uint32_t fail);

/* swap.c: the exchange of a getput, on the target's bytes, by any mover */
struct p3l_swap {
	uint32_t stripes;			/* bit per lock held */
};
/* @iov: the bytes are in several pieces. Addresses are the owner's. */
void p3l_swap_lock(const struct p3l_env *env, struct p3l_ni *ni, uint64_t addr, uint64_t len, bool iov, struct p3l_swap *s);
void p3l_swap_unlock(struct p3l_ni *ni, const struct p3l_swap *s);
void p3l_swap_bytes(void *target, void *buf, uint64_t len);

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
void p3l_known_event(const struct p3l_known *k, struct p3l_slot *ev);	/* add what @k says to an event it was left out of */
int p3l_inbox_hot(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_lane_hdr *lane, uint32_t slot,
		  struct p3l_sink *sink, bool burst);

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

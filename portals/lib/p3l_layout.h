/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3l_layout.h - what stands in the region of an NI, where all movers see it
 *
 * Who writes what: each struct below says it per field. Free lists are pushed by anyone and popped by the owner. A
 * change of the layout is a new P3L_VERSION: processes of one job may have come with different libraries.
 */
#ifndef P3L_LAYOUT_H
#define P3L_LAYOUT_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <p3api/types.h>
#include "p3_atomic.h"

#define P3L_MAGIC	0x50334c31U	/* "P3L1" */
#define P3L_VERSION	7U
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

/* Operations with a record are counted below, so that they can be counted anew; the others in steps of this. */
#define P3L_PEND_OWN 0x1000U
#define P3L_PEND_MOST (0U - 0x1000U * P3L_PEND_OWN)	/* no more sends then; acks and replies come few at a time */
_Static_assert(P3L_MAX_SLOTS * P3L_OPS < P3L_PEND_OWN, "the counts do not mix");

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

/* In place of the initiator of a send, who is known: mlength, which is rlength, has the portal, as asked for. */
#define P3L_WIDE_PT	0xffffU

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

/*
 * Requests. From P3L_GETPUT on there is one step at the target and a reply with what was there before: the exchange, then the
 * atomic operations, in the order of ptl_atomic_np_t. ACK is in records only.
 */
enum p3l_type {
	P3L_PUT = 1, P3L_GET, P3L_GETPUT,
	P3L_FETCH, P3L_SET, P3L_SWAP, P3L_CSWAP, P3L_ADD, P3L_AND, P3L_OR, P3L_XOR, P3L_MSWAP,
	P3L_ACK
};
static inline bool p3l_is_atomic(uint32_t type)
{
	return type - P3L_FETCH <= P3L_MSWAP - P3L_FETCH;
}
static inline bool p3l_is_step(uint32_t type)
{
	return type - P3L_GETPUT <= P3L_MSWAP - P3L_GETPUT;
}

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

/*
 * How a record stands in its row. P3L_LENT: from its match on another process has it, the guest (the last slot), which
 * copies and ends the operation; what counts is whether that one lives.
 */
enum { P3L_ALONE = 1, P3L_LENT = 2 };

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
	uint8_t lockless;		/* P3L_ALONE: polled entry, owner has one thread: no atomics needed; or P3L_LENT */
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

static inline struct p3l_line *p3l_lane_lines(struct p3l_lane_hdr *l)
{
	return (struct p3l_line *)(l + 1);
}

static inline struct p3l_line *p3l_lane_line(const struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t n)
{
	return p3l_lane_lines(l) + (n & p3l_lane_mask(ni));
}

static inline bool p3l_pt_polled(const struct p3l_ni *ni, uint32_t pt)
{
	return p3_load(&ni->polled[pt >> 6]) >> (pt & 63) & 1;
}

#endif

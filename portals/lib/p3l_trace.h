/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3l_trace.h - what the recording build of the library (P3_TRACE) notes, and its form in the file
 *
 * Each thread that does something has a file of its own, mapped shared, so that it is there whatever becomes of
 * the process: one page struct p3_trace_head, then records in the order in which they happened. When the file is
 * full, what follows is counted in head.lost. ptl_trace reads it.
 *
 * Which message a record belongs to: each has a name, kept per thread on a small stack (push, pop). A call makes
 * one; what goes on elsewhere is named by what both sides know anyway, so nothing is added to a message: the line
 * of the lane where it was left, the number of the frame, the record of the operation that was handed over, the
 * generation of the shared copy. An ALIAS says that two names are of one message. So nothing has to be guessed
 * from the order of events.
 */
#ifndef P3L_TRACE_H
#define P3L_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define P3_TRACE_MAGIC	0x31525450U	/* "PTR1" */
#define P3_TRACE_HEAD	4096		/* bytes before the first record */

struct p3_trace_head {
	uint32_t magic, size;		/* of this */
	uint32_t pid, tid;		/* the kernel's */
	uint64_t room, n;		/* records: as many as fit, as there are */
	uint64_t lost;			/* not recorded: no room */
	char thread[16], program[64];
};

enum p3_trace_name {
	P3_NAME_NONE,
	P3_NAME_CALL,		/* n: of this process */
	P3_NAME_LANE,		/* from, to: slots of this node; n: line */
	P3_NAME_HAND,		/* from, to: slots; n: record, and how often it was used */
	P3_NAME_JOB,		/* from, to: slots; n: generation */
	P3_NAME_SENT,		/* to: slot as this process numbers it, from: channel; n: number of the frame */
	P3_NAME_CAME		/* from: slot as this process numbers it, to: channel; n: number of the frame */
};

struct p3_trace_id {
	uint8_t name, epoch;		/* enum p3_trace_name; how many interfaces this process had opened */
	uint16_t kind;			/* in a record: enum p3_trace_kind */
	uint32_t from, to, n;
};

/* What a record is of, and its arguments; "from" is when it began, where it took some time */
#define P3_TRACE_KINDS(X)								\
	X(NI)		/* nid, pid, slot, rank, size */				\
	X(PEER)		/* slot as this process numbers it, nid, pid */			\
	X(CALL)		/* type << 32 | md, nid << 32 | pid, pt, bits, hdr_data */	\
	X(RETURN)	/* code */							\
	X(MATCH)	/* slot of the NI, pt << 32 | md, bits, rlength, mlength */	\
	X(DROP)		/* slot of the NI, pt, bits, rlength, reason */			\
	X(COPY)		/* from, way, in, bytes */					\
	X(LOG)		/* slot of the NI, eq | gen << 16, ticket, kind | fail << 4 */	\
	X(GET)		/* the same, hdr_data */							\
	X(HANDOVER)	/* as GET, of one that was in no queue */			\
	X(WRITE)	/* inbox: slot of the NI, bytes */				\
	X(TAKE)		/* inbox: slot of the NI */					\
	X(HAND)		/* slot of the owner */						\
	X(SERVE)	/* from */							\
	X(ALIAS)	/* two words: struct p3_trace_id */				\
	X(OUT)		/* frame: peer, channel, number, bytes, first */		\
	X(IN)		/* frame: from, peer, channel, number, type << 32 | bytes */	\
	X(SLEEP)	/* from */							\
	X(WAKE)		/* slot of the sleeper */					\
	X(UNLINK)	/* slot of the NI, md */
enum p3_trace_kind {
#define X(k) P3_TR_##k,
	P3_TRACE_KINDS(X)
#undef X
	P3_TR_MAX
};

struct p3_trace_rec {
	uint64_t t;			/* ns, CLOCK_MONOTONIC: the same for all processes of a machine */
	struct p3_trace_id id;
	uint64_t a[5];
};
_Static_assert(sizeof(struct p3_trace_rec) == 64, "a line each");

#ifdef P3_TRACE
struct p3l_ni;
struct p3l_hdr;
struct p3l_slot;

uint64_t p3_trace_now(void);
void p3_trace_open(void);							/* an interface is about to be opened */
void p3_trace_ni(const struct p3l_ni *ni, uint32_t rank, uint32_t size);	/* opened: this is who we are */
void p3_trace_child(void);							/* of fork(): it records nothing */
void p3_trace_peer(uint32_t slot, uint32_t nid, uint32_t pid);

/* the stack of names */
void p3_trace_push(const struct p3_trace_id *id);
void p3_trace_pop(void);
void p3_trace_note(struct p3_trace_id *id);					/* the name on top */

/* these push a name, and want a pop */
void p3_trace_call(unsigned type, uint32_t md, uint32_t nid, uint32_t pid, uint32_t pt, uint64_t bits,
		   uint64_t hdr_data);
void p3_trace_lane(const struct p3l_ni *ni, uint32_t from, uint32_t line);
void p3_trace_serve(const struct p3l_ni *ni, uint32_t from, unsigned op);
void p3_trace_help(const struct p3l_ni *ni, uint32_t from, uint32_t gen);
void p3_trace_frame(uint32_t peer, unsigned channel, uint32_t seq);

/* these give the message on top one more name */
void p3_trace_write(const struct p3l_ni *ni, uint32_t from, uint32_t line, uint32_t bytes);
void p3_trace_hand(const struct p3l_ni *ni, uint32_t from, unsigned op);
void p3_trace_job(const struct p3l_ni *ni, uint32_t from, uint32_t gen);
void p3_trace_out(const struct p3_trace_id *id, uint32_t peer, unsigned channel, uint32_t seq, uint32_t bytes,
		  bool first);

/* these are notes about it */
void p3_trace_ret(int rc);							/* and pop */
void p3_trace_match(const struct p3l_ni *ni, uint32_t pt, uint32_t md, uint64_t bits, uint64_t rlength,
		uint64_t mlength);
void p3_trace_drop(const struct p3l_ni *ni, uint32_t pt, uint64_t bits, uint64_t rlength, unsigned why);
void p3_trace_copy(uint64_t from, unsigned way, bool in, uint64_t bytes);
void p3_trace_log(const struct p3l_ni *ni, uint32_t eq, uint32_t ticket, unsigned kind_fail);
void p3_trace_fetched(const struct p3l_ni *ni, uint32_t eq, uint32_t ticket, unsigned kind_fail, uint64_t hdr_data);
void p3_trace_sunk(void);							/* this very call returns its event: */
void p3_trace_handover(const struct p3l_ni *ni, uint32_t eq, unsigned kind_fail, uint64_t hdr_data);
void p3_trace_take(const struct p3l_ni *ni);
void p3_trace_served(uint64_t from);						/* and pop */
void p3_trace_in(uint64_t from, uint32_t peer, unsigned channel, uint32_t seq, unsigned type, uint32_t bytes);
void p3_trace_unlink(const struct p3l_ni *ni, uint32_t md);
void p3_trace_sleep(uint64_t from);
void p3_trace_wake(const struct p3l_ni *ni);
#endif

#endif

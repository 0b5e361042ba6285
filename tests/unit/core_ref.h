/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_ref.h - a slow reference of Portals 3.3 matching, memory descriptors and events, written from the specification
 *
 * It shares nothing with the core but the public types. Objects are numbered and never reused; lists are arrays; a
 * queue keeps every event that was ever promised to it. One operation at a time, no threads.
 */
#ifndef CORE_REF_H
#define CORE_REF_H

#include <stdbool.h>
#include <stdint.h>
#include <p3api/types.h>

enum { R_MAX = 256, R_PT = 8, R_EQ = 64, R_EVENTS = 1024, R_IOV = 8 };

struct r_event {
	bool posted;
	int kind, md, initiator, pt, threshold;
	uint64_t match_bits, hdr_data, rlength, mlength, offset;
	uint32_t link, fail;
	int epoch;			/* of the MD: updates before the operation was charged */
	ptl_md_t shown;			/* the MD then */
};

/* The values of an MD before an update, for events that are still to be read. */
struct r_keeper {
	bool busy;			/* operations were in progress */
	int md, eq, epoch;
};

struct r_eq {
	bool live, retired, dropped;	/* retired: freed, but an operation was under way to it */
	int ops;			/* begun at an MD that names it, and not ended */
	uint32_t n;			/* slots */
	uint32_t head, tail;		/* next to read; promised so far */
	struct r_event ev[R_EVENTS];
};

struct r_md {
	bool live, spent;
	int epoch;			/* updates */
	bool plain;			/* nothing about it is counted or logged */
	ptl_md_t v;			/* as given; threshold as it stands */
	uint64_t total, offset;
	uint64_t iov[R_IOV][2];
	int eq, me;			/* -1: none */
	ptl_unlink_t op;
	int pending;
	uint32_t spent_link;
};

struct r_me {
	bool live;
	ptl_process_id_t id;
	uint64_t bits, ignore;
	ptl_unlink_t unlink;
	int pt, md;			/* md -1: none */
};

struct r_ac {
	uint32_t uid, jid, nid, pid, pt;
};

/* An operation between begin and end: at a target, or a send or reply at its initiator. */
struct r_op {
	bool live, plain, no_end;
	int kind;			/* of its END event */
	int md, eq, initiator, pt;
	int64_t ticket;			/* promised for END, -1: none yet */
	int threshold, epoch;
	ptl_md_t shown;
	uint32_t link;
	uint64_t match_bits, hdr_data, rlength, mlength, offset;
	bool want_ack;
};

struct r_ni {
	uint32_t polled;			/* bit per entry */
	uint32_t max_me, max_md, max_eq, max_pt, max_ac, max_list, max_iov;
	struct r_me me[R_MAX];
	struct r_md md[R_MAX];
	struct r_ac ac[8];
	int n_me, n_md, n_eq;
	int sends;			/* and replies, of our own, that have begun and not ended */
	struct r_keeper keeper[R_MAX];
	int n_keeper;
	bool full;			/* the core has said PTL_NO_SPACE just now: decides where we cannot know */
	int list[R_PT][R_MAX], len[R_PT];
	uint64_t drops, drop_bytes, recvs, recv_bytes;
	struct r_eq eq[R_EQ];		/* last: set up by r_eq_alloc() */
};

enum { R_PUT = 1, R_GET, R_GETPUT };
enum { R_DROPPED, R_MATCHED, R_WAIT };

struct r_req {
	int type;
	bool ack;
	int src;
	uint32_t nid, pid, uid, jid, pt, ac;
	uint64_t match_bits, roffset, rlength, hdr_data;
};

/* @single: the owner has one thread, which is here, so none of its sends is about to log */
int r_eq_alloc(struct r_ni *r, uint64_t count, bool single, int *out);
int r_eq_free(struct r_ni *r, int eq);
bool r_eq_may_go(const struct r_ni *r, int eq, bool single);	/* freed, and nobody can be about to log there */
void r_eq_no_ticket(struct r_ni *r, int eq);	/* the event just read was handed over: its ticket is used again */
int r_eq_read(struct r_ni *r, int eq, bool take, struct r_event *ev, uint32_t *seq);	/* 0, 1, -1 after losses */
bool r_eq_idle(const struct r_ni *r, int eq);
/* Would a further @more promises to @eq be posted before an older one of the same slot? @except: about to be posted */
bool r_eq_blocked(const struct r_ni *r, int eq, int64_t except, int more);

int r_me_attach(struct r_ni *r, uint32_t pt, ptl_process_id_t id, uint64_t bits, uint64_t ignore, ptl_unlink_t unlink,
		ptl_ins_pos_t pos, int *out);
int r_me_insert(struct r_ni *r, int base, ptl_process_id_t id, uint64_t bits, uint64_t ignore, ptl_unlink_t unlink,
		ptl_ins_pos_t pos, int *out);
int r_me_unlink(struct r_ni *r, int me);

/* @eq: a live queue or -1. @iov: v->length pairs of address and length with PTL_MD_IOVEC. */
int r_md_attach(struct r_ni *r, int me, const ptl_md_t *v, uint64_t (*iov)[2], int eq, ptl_unlink_t op, int *out);
int r_md_bind(struct r_ni *r, const ptl_md_t *v, uint64_t (*iov)[2], int eq, ptl_unlink_t op, int *out);
int r_md_unlink(struct r_ni *r, int md);
int r_md_update(struct r_ni *r, int md, ptl_md_t *old, int *old_eq, const ptl_md_t *v, uint64_t (*iov)[2], int eq,
		int test);
int r_memd_post(struct r_ni *r, int base, ptl_process_id_t id, uint64_t bits, uint64_t ignore, ptl_unlink_t unlink,
		ptl_ins_pos_t pos, const ptl_md_t *v, uint64_t (*iov)[2], int eq, ptl_unlink_t op, int test, int *me,
		int *md);

int r_match(struct r_ni *r, const struct r_req *q, uint64_t *mlength, uint64_t *offset);	/* MD, or -1 */
int r_target_begin(struct r_ni *r, const struct r_req *q, bool own, bool may_wait, struct r_op *op);
bool r_target_end(struct r_ni *r, struct r_op *op, uint32_t fail);				/* ack wanted? */
int r_send_begin(struct r_ni *r, int md, bool whole, uint64_t off, uint64_t len, int self, int pt, uint64_t bits,
		 uint64_t hdr, bool single, struct r_op *op);
void r_send_end(struct r_ni *r, struct r_op *op, uint32_t fail);
void r_ack(struct r_ni *r, int md, int from, int pt, uint64_t bits, uint64_t roffset, uint64_t rlength,
	   uint64_t mlength);
bool r_reply_begin(struct r_ni *r, int md, uint64_t off, uint64_t rlength, uint64_t mlength, int from, int pt,
		   uint64_t bits, struct r_op *op);
void r_reply_end(struct r_ni *r, struct r_op *op, uint32_t fail);

#endif

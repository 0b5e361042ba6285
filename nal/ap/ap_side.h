/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap_side.h - whoever runs the frame engines of a node, as he sees them: ptl-nic; or, in its place, a rank that polls,
 * which runs its own
 *
 * The state is in the card, under card->lock; here is what differs from process to process: where rings and regions
 * are, which functions and which descriptors. On the lists of the ranks both are the same mover, slot n_local: there
 * is one at a time, and what one of them has begun the other one may end.
 */
#ifndef AP_SIDE_H
#define AP_SIDE_H

#include "ap.h"
#include "transport/transport.h"

#define AP_NIC UINT32_MAX		/* id of ptl-nic; a rank's is its local rank + 1 */

/* A rank of this node. */
struct ap_near {
	struct ap_side *side;
	uint32_t i;			/* local rank */
	struct ap_ring *ring;		/* NULL: not opened */
	struct p3l_ni *l;
	bool touched;			/* in this turn: to be flushed at its end */
};

struct ap_side {
	struct ap_card *card;
	uint32_t id;
	int self;			/* own local rank, or -1 */
	bool (*own_copy)(bool to, uint64_t addr, void *buf, uint64_t len);	/* of @self: nal_own_copy() */
	struct p3l_env env;
	const struct p3l_env *owner;	/* of @self: its own, by which it takes what only it may match; or NULL */
	const struct transport *net;
	struct ap_near *near;		/* [n_local] */
	int64_t now, busy;		/* time of this turn; when something has happened last */
	bool due;			/* something that ptl-nic is to do */
};

int64_t ap_now(void);
/* False: no memory. @env: of the rank; its name is replaced by the mover's. */
bool ap_side_open(struct ap_side *s, struct ap_card *card, uint32_t id, const struct p3l_env *env,
		  const struct transport *net);
void ap_side_close(struct ap_side *s);
/* Find ring and region of local rank @i, which has joined. False: they make no sense. */
bool ap_near_open(struct ap_side *s, uint32_t i);
/* The region of local rank @i of @n, which may be touched through its window. NULL: not there, or it makes no sense. */
struct p3l_ni *ap_region(uint32_t i, uint32_t n);
/* An event may have been logged there. */
void ap_wake(struct p3l_ni *l);

/* [lock] all below */

/* The frame engine of local rank @i, which is served, ready to be run by us. */
struct fr_engine *ap_engine(struct ap_side *s, uint32_t i);
/* Calls of local rank @i become messages. */
void ap_take_calls(struct ap_side *s, uint32_t i);
/* What a rank has done without connections goes on: card->kick. */
void ap_after_ranks(struct ap_side *s);
/* Local rank @i has ended: to @node, as soon as there is room; send what is due there. */
void ap_say_bye(struct ap_side *s, uint32_t node, uint32_t i);
void ap_byes(struct ap_side *s, uint32_t node);
/* Far process @f has ended: for all ranks here. */
void ap_far_gone(struct ap_side *s, uint32_t f);
/* At the end of a turn. */
void ap_side_flush(struct ap_side *s);

/* For struct tcp_user, ctx: the side. */
bool ap_on_frame(void *ctx, uint32_t node, const uint8_t *bytes, uint32_t n);
int ap_on_begin(void *ctx, uint32_t node, const uint8_t *hdr, uint64_t *part);
uint32_t ap_on_where(void *ctx, uint64_t part, struct wire_vec *v, uint32_t max);
void ap_on_piece(void *ctx, uint64_t part, const uint8_t *bytes, uint32_t n);
void ap_on_unplaced(void *ctx, uint64_t part);
void ap_on_fault(void *ctx, void *whose, uint64_t tag);
void ap_on_writable(void *ctx, uint32_t node);
bool ap_on_ours(void *ctx, const uint8_t *hdr);
bool ap_on_ours_part(void *ctx, uint64_t part);

#endif

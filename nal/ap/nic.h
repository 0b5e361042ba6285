/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* nic.h - what the files of the engine share; not for others */
#ifndef NIC_H
#define NIC_H

#include <ev.h>

#include "ap_side.h"
#include "smartmap.h"
#include "transport/transport.h"

struct nic;

/* A rank, as the engine has it: private memory. */
struct nic_rank {
	struct nic *nic;
	uint32_t i;			/* local rank */
	struct ap_rank *r;
	ev_io dead;			/* its pidfd */
	int64_t until;			/* leaving: next look at who is waited for */
	/* [n_far] by then: frames that had come, seconds in which one came */
	struct { uint32_t heard, answered; } *at_end;
};

struct nic_local;
struct nic_links;

struct nic {
	struct ap_card *card;
	struct nic_local *local;	/* nic_local.c */
	struct nic_links *links;	/* nic_links.c; NULL: frames are delivered as they come */
	struct ap_side side;
	struct nic_rank *rank;		/* [n_local] */
	struct ev_loop *loop;
	struct tcp tcp;
	struct transport net;		/* over it, or beside it */
	int bell;
	ev_io hear;
	ev_timer timer;
	bool accepting;
	bool blind;			/* the kernel cannot tell of all ranks when they die */
	int64_t alone;			/* since then nobody is left */
	bool resting;			/* ranks poll: the connections are theirs */
	uint32_t polls;			/* of theirs, in the turn before */
	struct ap_loan *loans;		/* [nodes] */
};

/* nic_local.c: what ranks leave to us between each other. [lock] */
bool nic_local_open(struct nic *c);		/* false: no memory */
bool nic_local_step(struct nic *c);		/* a turn; true: there was something */
bool nic_local_left(struct nic *c);		/* is there anything? */
bool nic_local_idle(struct nic *c, uint32_t i);	/* nothing of local rank @i */
void nic_local_dead(struct nic *c, uint32_t i);	/* it has ended: what it had under way ends */

/* nic_links.c: PTL_LINKS. [lock] */
bool nic_links_open(struct nic *c);		/* false: no memory, or no timer */
/* As model_take(): 1 where no link is in the way. */
int nic_links_take(struct nic *c, uint32_t node, const uint8_t *bytes, uint32_t n);
bool nic_links_run(struct nic *c, model_deliver *deliver);	/* what is due; true: there was something */
void nic_links_close(struct nic *c);

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* ap_rank.h - what the files of the rank's side share; not for others */
#ifndef AP_RANK_H
#define AP_RANK_H

#include "ap_local.h"
#include "ap_side.h"
#include "gp/gp.h"
#include "nal.h"
#include "p3_rt.h"
#include "smartmap.h"

/* ap_poll.c */
struct ap_poll {
	/* every so many calls of progress, now, and while something comes; all ones: never */
	uint32_t mask, often;
	uint32_t empty;			/* turns since something came */
	uint32_t nodes;
	bool off;			/* the engine does all */
	bool polled;			/* since this rank has slept */
	/* [card->lock] */
	bool ready;
	uint32_t changes;		/* of the connections, when they were lent */
	int64_t asked;
	struct ap_side side;
	struct tcp tcp;			/* the engine's connections, borrowed */
	struct transport net;		/* over them */
	struct tcp_lent *lent;		/* [nodes] */
	uint32_t *live, n_live;		/* nodes that there are connections with */
	int epoll;			/* those of them that can be read, if they are many; or -1 */
};

struct ap {
	struct nal_ni *ni;
	const struct p3_rt_job *job;
	struct ap_card *card;
	void *card_here;		/* local rank 0: where its arena has it */
	struct ap_rank *me;
	struct ap_ring *ring;
	struct p3l_env env;		/* the rank's, for operations that end in another process */
	struct ap_local *local;		/* NULL: nothing on the node is left to the engine */
	bool master;			/* PTL_LOCKS=master; else, from so many bytes on: */
	uint64_t lend_min;
	int bell;
	pid_t owner;
	struct gp_cards cards;
	/* Local rank 0: the sockets that the engine listens at, which stay; when it started one last */
	int listen[TCP_ADDRS];
	uint32_t n_listen;
	int64_t spawned_at;
	uint32_t lives;			/* card->lives, as far as we have seen */
	struct ap_poll poll;
	pthread_mutex_t lock;		/* all below */
	bool poke;			/* a call has found the engine asleep */
	bool broken;			/* the engine has died */
	uint32_t looks;
	uint32_t back_head;		/* of ring->back */
	uint32_t fresh_op, n_free_op, fresh_buf, n_free_buf;	/* never used from here on; free ones that were */
	uint32_t *free_op, *free_buf;
	struct { uint32_t ops, bufs; } *out;	/* [n_far] calls to it that have not ended */
};

extern struct ap *ap_the;

/* nal_ap.c */
void ap_broken(struct ap *ap);
void ap_take_parked(struct ap *ap);
void ap_look_after(struct ap *ap);	/* is there an engine, and the same? */

/* ap_local.c: calls to ranks of the node where ap->local is set, as in nal.h */
bool ap_local_open(struct ap *ap);	/* false: no memory */
void ap_local_close(struct ap *ap);
int ap_local_put(struct ap *ap, struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s);
int ap_local_get(struct ap *ap, struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r);
int ap_local_getput(struct ap *ap, struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s,
		    struct p3l_reply *r);
void ap_local_broken(struct ap *ap);	/* ap->lock held */

/* ap_poll.c */
bool ap_poll_open(struct ap *ap);	/* false: no memory */
void ap_poll_close(struct ap *ap);
void ap_poll_forget(struct ap *ap);	/* in the child of a fork */
void ap_poll_cut(struct ap *ap);	/* the engine is dead: its connections end for the other nodes, too */
/* A turn of the engine's, if it can be had. @polls: and look what has come. Else the engine is woken for our calls. */
void ap_poll(struct ap *ap, bool polls);
void ap_poll_rest(struct ap *ap);

/* ap_start.c */
int ap_start(struct nal_ni *ni, const struct p3l_setup *s);
void ap_stop(struct nal_ni *ni);
void ap_at_exit(void);
/* From now on whoever connects is refused: to the other nodes this one is gone. */
void ap_close_listeners(struct ap *ap);
/* The engine is not there: another one is started, or (ap_broken()) there will be none. */
void ap_without_engine(struct ap *ap);

/*
 * ap_spawn.c: start ptl-nic, which is nobody's child. 0; or -1 with a sentence in @why. @box: smartmap_guest_box();
 * @listen: where it listens; all above the descriptors that it gets them as (AP_FDS).
 */
#define AP_FDS 16
int ap_spawn(uint32_t n_local, uint64_t card, int box, const int *listen, uint32_t n_listen, char *why, size_t len);

#endif

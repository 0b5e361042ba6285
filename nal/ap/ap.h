/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap.h - what the ranks of a node and their engine share; see nal_ap.c and nic.c
 *
 * Two pieces of shared memory:
 *
 *   the ring	one per rank, in its own arena: calls on their way to the engine, and those that have ended on their way
 *		back. Written by the rank and by the engine, each its own words; no lock, no system call.
 *   the card	one per node, in the arena of local rank 0: who the ranks are, the frame engines' state (one struct
 *		fr_engine for the NI of each rank, a struct fr_peer for each pair), and that of the connections. Under
 *		card->lock, by whoever runs an engine (ap_side.h): ptl-nic; a rank that polls, in its place; or the
 *		owner of an NI, who alone may take what is for its polled portals.
 *
 * The frame engines hold pointers to each other's parts, so all processes map the card at the same address, chosen by
 * local rank 0. Nothing else in it is an address but where it says so, in the terms of whose process.
 */
#ifndef AP_H
#define AP_H

#include <pthread.h>

#include "frame/frame.h"
#include "transport/model/model.h"
#include "transport/tcp/tcp.h"

#define AP_MAGIC	0x31435041U	/* "APC1" */
#define AP_VERSION	4U
#define AP_ROOT_CARD	1		/* smartmap_publish() of local rank 0 */
#define AP_OPS		16384U		/* calls of a rank that have not ended; a power of two */
#define AP_BUFS		1024U		/* of these, puts of more than FR_SMALL bytes that are copied */
#define AP_PARK		(1U << 20)	/* bytes of frames that wait for a rank */
#define AP_SMALL	1024U		/* such a frame is kept in a small place */

/* A call, from its begin to its end. The rank's while it is free and until it is posted, then the engine's. */
struct ap_op {
	struct fr_req q;		/* q.buf is not looked at */
	uint32_t far;			/* index of the target */
	uint32_t buf;			/* its bytes stand in bufs[buf - 1]; 0: in small, or in the MD */
	uint32_t parts;			/* that have not ended: fr_parts() */
	uint8_t small[FR_SMALL];
} __attribute__((aligned(P3L_LINE)));

struct ap_ring {
	uint32_t tail;			/* rank: calls posted, counted freely */
	uint32_t head __attribute__((aligned(P3L_LINE)));	/* engine: calls taken */
	uint32_t back_tail __attribute__((aligned(P3L_LINE)));	/* engine: calls ended */
	uint32_t call[AP_OPS] __attribute__((aligned(P3L_LINE)));	/* op of each posted one */
	uint32_t back[AP_OPS];		/* of each that has ended */
	struct ap_op op[AP_OPS];
	uint8_t bufs[AP_BUFS][FR_COPY];
};

/* A process on another node. Written by local rank 0, before AP_READY. */
struct ap_far {
	uint32_t rank, node;
	ptl_process_id_t id;		/* pid PTL_PID_ANY: it has no interface */
	uint32_t uid, jid;
	uint32_t gone;			/* engine: it has ended */
};

/* A frame that waits for the owner of a polled portal; a small place ends after AP_SMALL bytes. */
struct ap_park {
	struct ap_park *next;
	struct fr_peer *peer;
	uint32_t n;
	uint8_t bytes[WIRE_HDR + FR_COPY];
};

enum ap_rank_state {
	AP_R_NONE,			/* has not come so far */
	AP_R_ABSENT,			/* has no interface, and will have none */
	AP_R_JOINED,
	AP_R_LEAVING,			/* wants what is under way to end */
	AP_R_LEFT			/* the engine touches nothing of it any more; also: it has died */
};

struct ap_rank {
	uint32_t state;			/* enum ap_rank_state, futex; LEFT: by the engine, else by the rank */
	int32_t os_pid;
	uint32_t nid, pid, uid, jid;	/* pid PTL_PID_ANY: it has no interface */
	uint64_t ring;			/* address in the rank's terms */
	uint64_t local;			/* of its struct ap_local, likewise; 0: none */
	uint32_t parked __attribute__((aligned(P3L_LINE)));	/* frames that wait for it; the rank looks here */
	uint32_t parked_bytes;		/* [lock] from here on */
	struct ap_park *park, **park_end;
	struct fr_engine *e;
	struct fr_peer **peer;		/* [n_far]; NULL: not used so far */
	uint32_t polls;			/* it has looked at the connections itself, since the engine's last turn */
	bool served;			/* it has joined, and has not left: ring and region may be touched */
	uint32_t set_by;		/* whose pointers the frame engine has: AP_NIC, a rank's; 0: nobody's */
} __attribute__((aligned(P3L_LINE)));

enum ap_state {
	AP_STARTING,
	AP_LISTENING,			/* port is valid */
	AP_READY,			/* far[], place[] are valid, the ranks come */
	AP_FAILED,			/* why has the sentence */
	AP_ENDING			/* nobody will come: end */
};

struct ap_card {
	uint32_t magic, version;
	uint64_t size, va;		/* of all, bytes; where it is mapped in each process */
	uint32_t state;			/* enum ap_state, futex */
	uint32_t n_local, n_far, nodes, node;
	uint16_t port;			/* where local rank 0 listens, for the engine: */
	struct tcp_bind bind_to;	/* at these addresses, */
	uint32_t n_listen;		/* with so many sockets */
	struct tcp_place own;		/* where others reach it */
	char why[256];
	uint32_t far_mask;
	uint32_t *far_hash;		/* of ids: index + 1 in far; written with it */
	char job[128];			/* name of the job on this node: the doorbell's follows from it */
	uint8_t key[16];
	int64_t spin_ns;		/* that the engine looks around before it sleeps */
	double patience;		/* seconds for a connection */
	int verbs;			/* enum p3_tri: RDMA, */
	char iface[32];			/* by the card of this network device; any */
	uint32_t asleep __attribute__((aligned(P3L_LINE)));	/* the engine: ring the bell */
	pthread_mutex_t lock __attribute__((aligned(P3L_LINE)));	/* robust */
	uint32_t broken;		/* the engine has died inside: nobody goes in */
	uint32_t lives;			/* [lock] engines that have begun: one that was killed has a successor */
	int64_t died_at;		/* [lock] when that was seen; 0: it lives */
	/* [lock] Local rank + 1 of who is inside and touches only what is its, and connections; of who has died so.
	 * Before the engine has seen to that, no rank goes in. */
	uint32_t inside, victim;
	uint32_t turns;			/* [lock] of taking what is parked, from 1 */
	bool kick;			/* [lock] a rank has run its engine: peers may have something to send */
	uint32_t resting;		/* the engine leaves the connections to ranks that poll; who stops says so: */
	uint32_t resume;
	uint32_t polls;			/* [lock] turns of such ranks */
	uint32_t changes;		/* [lock] of what there is to lend: tcp.changes */
	struct tcp_out *line;		/* [nodes] [lock] the engine's connections; NULL: none yet */
	uint8_t *bye;			/* [nodes * n_local] [lock] BYE of that rank is due there: AP_BYE_* */
	uint64_t used;			/* [lock] bytes of the card that are given out */
	struct ap_park *free_small, *free_large;	/* [lock] */
	uint64_t calls, frames, sleeps, bells;	/* [lock] counters */
	struct ap_rank *rank;		/* [n_local] */
	struct ap_far *far;		/* [n_far] in the order of ranks */
	struct tcp_place *place;	/* [nodes] where their engines listen */
	struct model_link *link;	/* [nodes] PTL_LINKS; written by local rank 0, before the engine. NULL: none */
};

enum { AP_BYE_NONE, AP_BYE_DUE, AP_BYE_SAID };

/* ap_card.c */

/* Bytes of a card, at most; what is not used is never touched. */
uint64_t ap_card_size(uint32_t n_local, uint32_t n_far, uint32_t nodes);
/* @here: zeroed memory of @size bytes in a window. Fills it, and maps it at a free address as well: the card there. */
struct ap_card *ap_card_make(void *here, uint64_t size, uint32_t n_local, uint32_t n_far, uint32_t nodes);
/* Another process: @here is what it sees through its window. NULL, errno: not our version, or the address is taken. */
struct ap_card *ap_card_map(void *here, uint64_t room);
void ap_card_unmap(struct ap_card *c);
/* Has a process died inside, so that nobody can go on for it? Does not wait. */
bool ap_card_torn(struct ap_card *c);
/* [lock] Memory of the card, zeroed, for good; NULL: it is full. */
void *ap_card_get(struct ap_card *c, uint64_t n);
/* Far process @index can be found from now on; index of @id, or -1. */
void ap_far_enter(struct ap_card *c, uint32_t index);
int ap_far_find(const struct ap_card *c, ptl_process_id_t id);
/* The engine's: 0; or 1, and the lock is not held: what is in there may be half done, now and for good. */
int ap_card_lock(struct ap_card *c);
/*
 * Local rank @i's: 0, and should it die inside, the engine ends what is its and makes the connections anew; 1, as
 * above; -1: not now, somebody is inside, or has died so. Once, or @wait: until nobody is inside, at most.
 */
int ap_card_enter(struct ap_card *c, uint32_t i, bool wait);
/* Wait until whoever is inside now has been seen outside; not for ever, since he may be stopped. 1: as above. */
int ap_card_settle(struct ap_card *c);
void ap_card_unlock(struct ap_card *c);
/* [lock] The peer of local rank @i that far process @far is; made when it is first needed. NULL: no memory. */
struct fr_peer *ap_card_peer(struct ap_card *c, uint32_t i, uint32_t far);
/* [lock] A place for a frame that waits for local rank @i, behind the others; false: there are enough. */
bool ap_park(struct ap_card *c, uint32_t i, struct fr_peer *p, const uint8_t *frame, uint32_t n);
void ap_park_free(struct ap_card *c, struct ap_park *k);
/* [lock] A part of call @op of @r's is over. */
void ap_ended(struct ap_ring *r, uint32_t op);

/* Wait until *@word is not @is any more, @ns at most. Shared between processes. */
void ap_wait(uint32_t *word, uint32_t is, int64_t ns);
void ap_tell(uint32_t *word, uint32_t value);	/* store, and wake whoever waits */

/*
 * ap_bell.c: a datagram socket, so that a rank needs nothing of the engine's but its name. A rank may ask for the
 * descriptors of the node's connections.
 */
struct ap_loan {
	uint32_t node;
	struct tcp_lent lent;		/* descriptors of the receiver */
};
int ap_bell_open(const struct ap_card *c);	/* the engine: descriptor, or -errno */
int ap_bell_find(const struct ap_card *c);	/* a rank: likewise */
void ap_bell_ring(int fd);
void ap_bell_ask(int fd);
/* All that has been rung. A rank that has asked gets @loans, one of each node, as far as there is room for them. */
void ap_bell_hear(int fd, const struct ap_card *c, const struct ap_loan *loans);
bool ap_bell_take(int fd, struct ap_loan *l);	/* what has come of them; false: nothing more */

#endif

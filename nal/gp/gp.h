/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* gp.h - what the files of the network NAL share; not for others */
#ifndef GP_H
#define GP_H

#include <ev.h>
#include <pthread.h>

#include "frame/frame.h"
#include "nal.h"
#include "p3_rt.h"
#include "transport/model/model.h"
#include "transport/transport.h"

/* A process on another node. */
struct gp_far {
	uint32_t rank;
	ptl_process_id_t id;		/* pid PTL_PID_ANY: it has no interface */
	uint32_t uid, jid;
	struct tcp_place place;
	struct fr_peer *peer;		/* made at the first frame */
	uint32_t heard, answered;	/* at the end: frames that had come, seconds in which one came */
};

/* gp_card.c: a line about each process, from each to all */
struct gp_cards {
	char name[108];			/* of the socket, where there is no launcher */
	uint8_t key[16];
	int fd;				/* listening; or -1 */
	pthread_t thread;
	bool running;
	char line[512], no[32];
	const char *say;		/* one of them */
	uint32_t uid;
	uint32_t served;		/* how many have our line */
	char bundle[1024];		/* the lines of several ranks, read last */
	uint32_t bundle_of;		/* which, counted from 1 */
};

struct gp_block {
	struct gp_block *next;
	uint8_t bytes[FR_BLOCK] __attribute__((aligned(64)));
};

struct gp {
	struct nal_ni *ni;
	const struct p3_rt_job *job;
	struct ev_loop *loop;
	struct tcp tcp;
	struct transport net;		/* over it, or beside it */
	struct gp_cards cards;
	struct gp_links *links;		/* PTL_LINKS; NULL: frames are delivered as they come */
	bool running;			/* the thread */
	pid_t owner;
	pthread_t thread;
	pthread_mutex_t lock;		/* all below, tcp, engine; held by the thread unless it sleeps */
	pthread_cond_t turn;		/* something may have been acknowledged, or somebody is gone */
	bool leaving;			/* somebody waits for that */
	bool quit;
	ev_prepare prepare;
	ev_timer timer;
	uint32_t n_far;
	struct gp_far *far;		/* slot - ni->n_peers; in the order of ranks */
	uint32_t *far_of;		/* [job->size] index + 1 in far, 0: on our node */
	uint32_t hash_mask;
	uint32_t *hash;			/* of ids: index + 1 in far */
	uint32_t told;			/* how many could not be reached: the first is worth a warning */
	struct fr_engine *e;
	struct gp_block *blocks;	/* of e->more() */
};

/*
 * gp_port.c: ports that @pid may listen on, in order, at most @max; one that is 0: any. How many; -1 with a sentence in
 * @why. @file: PTL_PID2PORT_FILE, @portlist: PTL_DEF_PORTLIST.
 */
#define GP_PORTS 1024
int gp_ports(const char *file, const char *portlist, uint32_t pid, uint16_t *port, int max, char *why, size_t len);

/*
 * gp_port.c: where others reach us. Virtual nodes: the loopback. Else all devices that are up. Or what PTL_IFACE says.
 * @bind_to: where to listen. 0; -1 with a sentence in @why.
 */
int gp_places(const struct p3_rt_job *job, struct tcp_place *p, struct tcp_bind *bind_to, char *why, size_t len);

/*
 * gp_links.c: PTL_LINKS. PTL_OK, also when it is not set; else a code, with a sentence in @why. Before the first frame,
 * and after the loop is there.
 */
int gp_links_start(struct gp *gp, char *why, size_t len);
void gp_links_met(struct gp *gp);	/* all ranks of the node have started */
/* As model_take(): 1 where no link is in the way. */
int gp_links_take(struct gp *gp, uint32_t rank, const uint8_t *bytes, uint32_t n);
/* Deliver what is due; the loop will be awake when the next is. */
void gp_links_run(struct gp *gp, model_deliver *deliver);
void gp_links_stop(struct gp *gp);

/*
 * Collective: give out our line (without the rank), get those of the others. 0; or -1 with a sentence in @why. 1: a
 * sentence, too, but the others can hear that we have failed: get theirs, then gp_cards_given().
 */
int gp_cards_open(struct gp_cards *c, const struct p3_rt_job *job, const char *line, char *why, size_t len);
int gp_cards_get(struct gp_cards *c, const struct p3_rt_job *job, uint32_t rank, char *line, size_t len, int timeout_s,
		 char *why, size_t whylen);
void gp_cards_close(struct gp_cards *c);
/* Who has not asked yet hears that we cannot start. Not where the launcher keeps our line. */
void gp_cards_no(struct gp_cards *c, int code);
/* Wait until @n others have our line, before it goes; not where the launcher keeps it. @meanwhile: or NULL. */
void gp_cards_given(struct gp_cards *c, uint32_t n, int timeout_s, int64_t (*meanwhile)(void *arg), void *arg);

/*
 * "v1/BOOT/PID/UID/JID/PORT/ADDR[,ADDR...]", without blanks for PMI; a pid of - is none. Or "v1/fail/CODE": its node
 * cannot start. 0; -1: not understood; else that code. Untrusted text.
 */
int gp_card_parse(const char *line, const char *boot, struct gp_far *f);
int gp_card_print(char *line, size_t len, const char *boot, uint32_t pid, uint32_t uid, uint32_t jid,
		  const struct tcp_place *p);

#endif

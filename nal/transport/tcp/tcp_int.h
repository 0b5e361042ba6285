/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tcp_int.h - what the files of this folder know of each other
 *
 *	tcp.c		start and end, and the owner's part of lending
 *	tcp_listen.c	sockets to be listened at
 *	tcp_conn.c	connections: made, proved, ended, made anew; libev's events. The owner only
 *	tcp_move.c	frames in and out over those that are made; in borrowers, too
 */
#ifndef TCP_INT_H
#define TCP_INT_H

#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tcp.h"

#define HANDSHAKE	2		/* the version of it */
#define HELLO		48
#define FRAME_MAX_	(WIRE_HDR + WIRE_PAYLOAD)
#define IN_BUF		(WIRE_HDR + WIRE_BULK)	/* any frame; pages that no frame needs are never touched */
#define IN_LONG		8192U		/* a payload above that may be read where it is wanted */
#define IN_TURNS	4		/* reads of long frames before others have their turn */

/* What comes over a connection: of a stranger, who has connected to us; in its seat, of one that is made. */
struct tcp_in {
	struct tcp *t;
	struct tcp_in *next, **at;
	int fd;
	bool proved;
	uint32_t rank;
	ev_io io;
	ev_timer timer;
	uint8_t nonce[16];
	uint32_t have;			/* bytes in buf, or in hello until it is proved */
	uint32_t reads;			/* that have brought some */
	uint32_t left;			/* bytes of a frame that comes in pieces; then have is 0 */
	uint64_t part;			/* the user's name for it */
	bool whole;			/* the frame in buf is to be delivered whole */
	uint32_t exact;			/* frames for which only what belongs to one is read */
	uint8_t hello[HELLO];
	uint8_t buf[];			/* IN_BUF of them in a seat */
};
enum { READ_ON, READ_ENDED, READ_BAD };

static inline int tcp_fd(const struct tcp *t, uint32_t rank)
{
	return t->lent ? t->lent[rank].fd : t->out[rank].fd;
}

static inline void *tcp_alloc(const struct tcp *t, size_t n)
{
	return t->room ? t->room(t->room_arg, n) : calloc(1, n);
}

static inline void tcp_release(const struct tcp *t, void *at)
{
	if (!t->room)
		free(at);
}

/* Nothing was lost, and the next try may find memory. */
static inline bool tcp_try_again(int err)
{
	return err == EAGAIN || err == EINTR || err == ENOMEM || err == ENOBUFS;
}

static inline void tcp_set(int fd, int level, int what, int value)
{
	setsockopt(fd, level, what, &value, sizeof(value));
}

/* Nothing is kept of a frame before. */
static inline bool tcp_clear(const struct tcp_out *o)
{
	return o->rest_at == o->rest_len && !o->n_late && !o->zeroes;
}

/* Wake the loop: another thread has changed what it watches. */
static inline void tcp_nudge(struct tcp *t)
{
	ev_async_send(t->loop, &t->async);
}

/* tcp.c */
void tcp_reserve(struct tcp *t);			/* a descriptor, if there is one */
void tcp_pause(struct tcp *t, double s);		/* nobody is let in for so long */

/* tcp_conn.c */
void tcp_out_init(struct tcp *t, uint32_t i, bool heir);
/* What there is of a connection goes; then it is in @state. */
void tcp_drop(struct tcp_out *o, uint8_t state);
void tcp_ended(struct tcp_out *o, int err);		/* one that was made */
void tcp_stranger_free(struct tcp_in *c);
bool tcp_goes_on(struct tcp_out *o, int how, int err);
void tcp_connect_first(struct tcp_out *o);
void tcp_watch_room(struct tcp_out *o);
void tcp_pulse_event(struct ev_loop *loop, ev_timer *w, int events);
void tcp_accept_event(struct ev_loop *loop, ev_io *w, int events);

/* tcp_move.c */
bool tcp_deliver(struct tcp *t, struct tcp_in *c);
int tcp_in_read(struct tcp *t, struct tcp_in *c, bool *more, int *err);
bool tcp_flush_rest(struct tcp *t, struct tcp_out *o);

#endif

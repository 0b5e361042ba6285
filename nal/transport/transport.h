/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * transport.h - what moves the frames between the processes of a job, as its users see it
 *
 * A user (nal/gp, the engine of nal/ap) starts a struct tcp with its callbacks (struct tcp_user) and gets the table of
 * it; where another transport is asked for, that one takes the table and the callbacks over, and keeps the TCP
 * connections for what needs neither speed nor an RDMA device: proof of the key, addresses, the end of a process. So
 * the callbacks and their rules are those of tcp.h whatever moves the frames.
 *
 * All calls under the user's lock, as those of tcp.h.
 */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include "transport/tcp/tcp.h"

struct transport_ops {
	/* as tcp_send(), tcp_send_some() */
	int (*send)(void *t, uint32_t rank, const void *hdr, const void *payload, uint32_t len);
	uint32_t (*send_some)(void *t, uint32_t rank, const struct wire_frame *f, uint32_t n, bool *fault);
	uint32_t bulk;			/* fr_engine.bulk, */
	bool raw;			/* and raw: what reads memory sees whether it is there */
	/* Deliver what is there; NULL: the event loop does. */
	void (*poll)(void *t);
	/* The loop is about to sleep: see to it that it wakes up. False: something has come meanwhile. NULL: it
	 * does. */
	bool (*doze)(void *t);
	/* Before tcp_stop(): what was taken by send() is on its way. NULL: nothing to do. */
	void (*stop)(void *t);
	/* In the child of a fork, before tcp_forget(). */
	void (*forget)(void *t);
};

struct transport {
	const struct transport_ops *ops;
	void *t;
};

static inline int transport_tcp_send(void *t, uint32_t rank, const void *hdr, const void *payload, uint32_t len)
{
	return tcp_send(t, rank, hdr, payload, len);
}

static inline uint32_t transport_tcp_send_some(void *t, uint32_t rank, const struct wire_frame *f, uint32_t n,
					       bool *fault)
{
	return tcp_send_some(t, rank, f, n, fault);
}

static inline void transport_tcp(struct transport *n, struct tcp *t)
{
	static const struct transport_ops ops = { .send = transport_tcp_send, .send_some = transport_tcp_send_some,
						  .bulk = WIRE_BULK, .raw = true };

	*n = (struct transport){ &ops, t };
}

static inline int transport_send(const struct transport *n, uint32_t rank, const void *hdr, const void *payload,
				 uint32_t len)
{
	return n->ops->send(n->t, rank, hdr, payload, len);
}

static inline uint32_t transport_send_some(const struct transport *n, uint32_t rank, const struct wire_frame *f,
					   uint32_t count, bool *fault)
{
	return n->ops->send_some(n->t, rank, f, count, fault);
}

static inline void transport_poll(const struct transport *n)
{
	if (n->ops->poll)
		n->ops->poll(n->t);
}

static inline bool transport_doze(const struct transport *n)
{
	return !n->ops->doze || n->ops->doze(n->t);
}

static inline void transport_stop(struct transport *n, struct tcp *t)
{
	if (n->ops && n->ops->stop)
		n->ops->stop(n->t);
	n->ops = NULL;
	tcp_stop(t);
}

static inline void transport_forget(struct transport *n, struct tcp *t)
{
	if (n->ops && n->ops->forget)
		n->ops->forget(n->t);
	n->ops = NULL;
	tcp_forget(t);
}

#endif

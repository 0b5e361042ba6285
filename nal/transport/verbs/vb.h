/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* vb.h - what the files of the verbs transport share; not for others */
#ifndef VB_H
#define VB_H

#include <infiniband/verbs.h>

#include "transport/verbs/verbs.h"
#include "wire/wire.h"

/* Called through vb_lib, or inline there. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_get_device_list

/* What is used of libibverbs: name, result, arguments. */
#define VB_CALLS(X)										\
	X(get_device_list, struct ibv_device **, (int *))					\
	X(free_device_list, void, (struct ibv_device **))					\
	X(get_device_name, const char *, (struct ibv_device *))					\
	X(open_device, struct ibv_context *, (struct ibv_device *))				\
	X(close_device, int, (struct ibv_context *))						\
	X(query_device, int, (struct ibv_context *, struct ibv_device_attr *))			\
	X(query_port, int, (struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *))	\
	X(query_gid, int, (struct ibv_context *, uint8_t, int, union ibv_gid *))		\
	X(alloc_pd, struct ibv_pd *, (struct ibv_context *))					\
	X(dealloc_pd, int, (struct ibv_pd *))							\
	X(reg_mr, struct ibv_mr *, (struct ibv_pd *, void *, size_t, int))			\
	X(dereg_mr, int, (struct ibv_mr *))							\
	X(create_comp_channel, struct ibv_comp_channel *, (struct ibv_context *))		\
	X(destroy_comp_channel, int, (struct ibv_comp_channel *))				\
	X(create_cq, struct ibv_cq *, (struct ibv_context *, int, void *, struct ibv_comp_channel *, int)) \
	X(destroy_cq, int, (struct ibv_cq *))							\
	X(get_cq_event, int, (struct ibv_comp_channel *, struct ibv_cq **, void **))		\
	X(ack_cq_events, void, (struct ibv_cq *, unsigned))					\
	X(create_srq, struct ibv_srq *, (struct ibv_pd *, struct ibv_srq_init_attr *))		\
	X(destroy_srq, int, (struct ibv_srq *))							\
	X(create_qp, struct ibv_qp *, (struct ibv_pd *, struct ibv_qp_init_attr *))		\
	X(modify_qp, int, (struct ibv_qp *, struct ibv_qp_attr *, int))				\
	X(destroy_qp, int, (struct ibv_qp *))							\
	X(get_async_event, int, (struct ibv_context *, struct ibv_async_event *))		\
	X(ack_async_event, void, (struct ibv_async_event *))					\
	X(wc_status_str, const char *, (enum ibv_wc_status))

struct vb_lib {
#define X(name, result, args) result (*name) args;
	VB_CALLS(X)
#undef X
};
extern struct vb_lib vb_lib;

#define VB_LINK		16		/* bytes before each frame: struct vb_link */
#define VB_MSG		(VB_LINK + WIRE_HDR + WIRE_PAYLOAD)
#define VB_SLOT		((VB_MSG + 63) & ~63U)
#define VB_DEPTH	32U		/* messages to one peer that it has not taken, at most; */
#define VB_DEPTH_MIN	4U		/* with many peers less */
#define VB_SENDS	1024U		/* of all peers, if the minimum allows */
#define VB_RECVS	512U		/* places for what comes, for all peers */
#define VB_COPY		8192U		/* the longest frame of a user's memory that is copied all the same */
#define VB_LONG		0x80000000U	/* in a message's length: the payload is to be read, vb_bulk.c */
#define VB_READ		(1ULL << 63)	/* in the name of a request: it is a read */
#define VB_BULKS	8U		/* such messages to one peer that it has not taken */
#define VB_PIECES	9U		/* of memory that one is read from, or into at once */
#define VB_REGS		256U		/* registrations of users' memory that are kept, */
#define VB_PINNED	(256ULL << 20)	/* and how many bytes may be */
#define VB_TRIES	8U		/* connections one after the other that have carried nothing */
#define VB_RETRY_S	0.01		/* before the third of them, then twice as long each time */

/* What one side tells the other about its queue pair, by TCP; bytes: vb_ctl.c. */
struct vb_ctl {
	uint32_t kind;			/* enum vb_kind */
	uint32_t epoch;			/* of the queue pair; ASK: of the last one */
	uint32_t qpn, psn;
	uint16_t lid;
	uint8_t mtu, link_layer;
	union ibv_gid gid;
	uint32_t taken;			/* messages of yours that I have taken, in all */
	uint32_t room;			/* how many more I take at a time */
	uint8_t nonce[16];		/* OFFER: mine; READY: yours */
};
enum vb_kind { VB_OFFER = 1, VB_READY, VB_NONE /* no device */, VB_ASK, VB_END /* given up */ };
#define VB_CTL		80		/* bytes, and a header of no type before them */

enum vb_state {
	VB_IDLE,
	VB_WAIT,			/* broken; there will be another queue pair at p->at */
	VB_ASKED,			/* whoever leads is to make one */
	VB_OFFERED,			/* there is a queue pair, and the other side is told */
	VB_PAIRED,			/* it is connected to the other's, who has not said so */
	VB_OPEN,			/* frames go */
	VB_BY_TCP,			/* one of us has no device: frames go by TCP */
	VB_GONE
};

/* Memory of a user that is registered: vb_reg.c. */
struct vb_reg {
	struct ibv_mr *mr;		/* NULL: a free entry */
	uint64_t lo, hi, stamp;		/* 0: for its users only */
	uint32_t users, used;
};

/* A message whose payload the other side reads. */
struct vb_bulk {
	bool on, staged;
	uint32_t number, pieces, n;
	void *whose;			/* wire_frame.whose */
	struct wire_vec v[VB_PIECES];
	struct vb_reg *reg[VB_PIECES];	/* [n]; NULL: in vb_peer.stage */
};

/* The one that is being read here. */
struct vb_come {
	bool on, whole, bounced;
	uint32_t buf;			/* where its message is */
	uint64_t part;			/* the user's */
	uint32_t pieces, at, off;	/* of the sender's memory: next byte */
	struct { uint64_t addr; uint32_t len, rkey; } range[VB_PIECES];
	uint32_t total, got, round;	/* bytes; those of the reads under way */
	uint32_t reads, n_reg;
	struct vb_reg *reg[VB_PIECES];
};
enum vb_long { VB_WRONG, VB_COMING, VB_THERE };

/*
 * Messages to a peer are numbered for the life of both processes, whatever queue pairs carry them, and stand in
 * slot[number % depth] until the other side has said that it has taken them: [acked, next). [done, next) are in the
 * hands of the card. A new queue pair begins with those that the other side does not have.
 */
struct vb_peer {
	struct verbs *v;
	uint32_t rank;
	uint8_t state;			/* enum vb_state */
	uint8_t due;			/* bit 1 << enum vb_kind: to be sent by TCP */
	bool broken;			/* its queue pair is to be made anew: vb_mend() */
	bool blocked;			/* send() had no room */
	bool offered;			/* theirs is of the next one */
	uint32_t tries;
	double at;			/* VB_WAIT */
	struct ibv_qp *qp;
	uint32_t qpn_before;		/* of the one before: what it had received may still come */
	uint32_t epoch, psn;
	uint8_t nonce[16];
	struct vb_ctl theirs;
	uint8_t *slot;			/* [depth * VB_SLOT] */
	struct ibv_mr *mr;
	uint32_t *len;			/* [depth] bytes in each */
	uint32_t acked, done, next;
	uint32_t expect, told;		/* of theirs: next number; as they were told */
	enum ibv_wc_status why;		/* it has failed */
	struct vb_bulk bulk[VB_BULKS];
	struct vb_come come;
	struct { uint32_t buf, n, qpn; } held[VB_DEPTH];	/* messages that have come behind it */
	uint32_t n_held;
	uint8_t *stage;			/* [WIRE_BULK], and */
	struct ibv_mr *stage_mr;
	uint8_t *bounce;		/* [WIRE_HDR + WIRE_BULK], when it is first needed */
	struct ibv_mr *bounce_mr;
};

struct verbs {
	struct tcp *tcp;
	const struct tcp_user *user;	/* what tcp had */
	void *ctx;
	struct tcp_user ours;
	bool none;			/* there is no device: all by TCP */
	bool stopping, in_user;
	bool mend, reset;		/* a peer is broken; all are, and the queues */
	struct ibv_context *dev;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *sends, *recvs;
	struct ibv_srq *srq;
	uint8_t port, mtu, link_layer;
	uint8_t reads_in, reads_out;	/* that the card has under way on a queue pair */
	uint16_t lid;
	int gid_index;
	union ibv_gid gid;
	char name[64];
	uint32_t depth, n_recvs;
	uint8_t *recv;			/* [n_recvs * VB_SLOT] */
	struct ibv_mr *recv_mr;
	uint32_t n_blocked;
	struct ev_io io, async;
	struct ev_timer timer;
	struct vb_peer *peer;		/* [tcp->size] */
	verbs_stamp *stamp;
	struct vb_reg reg[VB_REGS];
	uint64_t pinned;		/* bytes in these */
	uint32_t reg_turn;
	uint64_t sent, got, again, mended, bulks, reg_hits;
};

/* vb_dev.c: the library and the device: 0, or -1 and @why; queues: 0 or an errno */
int vb_dev_open(struct verbs *v, const char *iface, char *why, size_t len);
void vb_dev_close(struct verbs *v);
int vb_queues(struct verbs *v);
void vb_queues_destroy(struct verbs *v);
void vb_post_recv(struct verbs *v, uint32_t buf);
void *vb_memory(size_t n);
void vb_memory_free(void *p, size_t n);

/* vb_ctl.c: words between two sides, and their proof */
void vb_ctl_encode(const struct vb_ctl *c, const struct tcp *t, uint32_t to, uint8_t *frame);
bool vb_ctl_is(const uint8_t *hdr);
bool vb_ctl_decode(const uint8_t *frame, const struct tcp *t, uint32_t from, struct vb_ctl *c);

/* vb_pair.c: queue pairs */
void vb_begin(struct vb_peer *p);
void vb_control(struct vb_peer *p, const struct vb_ctl *c);
void vb_control_flush(struct vb_peer *p);
void vb_broken(struct vb_peer *p, enum ibv_wc_status why);
void vb_mend(struct verbs *v);
void vb_qp_destroy(struct vb_peer *p);
void vb_gone(struct vb_peer *p);

/* vb_reg.c: NULL: it cannot be registered. @bad: the card would not take it. */
struct vb_reg *vb_reg_get(struct verbs *v, void *at, uint64_t len);
void vb_reg_put(struct verbs *v, struct vb_reg *r, bool bad);
void vb_reg_end(struct verbs *v);

/* vb_bulk.c */
bool vb_bulk_of(const struct vb_peer *p, const void *whose);
/* A message of it in @b, for p->next: bytes, with VB_LONG; 0: not now. */
uint32_t vb_bulk_make(struct vb_peer *p, const struct wire_frame *f, uint8_t *b);
void vb_bulk_acked(struct vb_peer *p);
bool vb_bulk_again(struct vb_peer *p, uint32_t number);
/* A message of @n bytes in place @buf, its frame at @b. */
enum vb_long vb_come_begin(struct vb_peer *p, const uint8_t *b, uint32_t n, uint32_t buf);
enum vb_long vb_come_read(struct vb_peer *p);
void vb_come_drop(struct vb_peer *p);
void vb_bulk_end(struct vb_peer *p);

/* verbs.c */
void vb_post_slot(struct vb_peer *p, uint32_t number);
bool vb_take_all(struct verbs *v);
void vb_writable(struct vb_peer *p);

#endif

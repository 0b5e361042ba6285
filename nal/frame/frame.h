/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * frame.h - operations as frames: what every NAL with a network behind it has in common
 *
 * An engine belongs to one NI. Calls become messages in the queue of a peer, messages become frames, frames go to the
 * link; frames that come from the link are matched by the core on the NI's own state (the engine is one more mover
 * there) and become answers. The link may lose, double, delay and reorder frames; it must not make up any: checksums
 * find what it breaks.
 *
 *	calls --fr_put/get/getput--> queue --credit, window--> out[] --send()--> link
 *	                                                        |  ^
 *	                                           acknowledged |  | fr_timer(): again
 *	                                                        v  |
 *	core <--p3l_target_*, p3l_reply_*, p3l_ack-- fr_input() <------------- link
 *
 * Numbers. A peer has two channels, one for requests and one for answers. The frames of a channel are numbered; the
 * receiver takes exactly the next one (go-back-N), so order is kept and nothing is taken twice. At most FR_WINDOW
 * frames of a channel are unacknowledged. Requests that may be answered are numbered, too: at most FR_REQS of them
 * are unfinished, so that the target always has a place for the answer. A request may find its target busy and is
 * sent again later; an answer is always taken. So records held by answers become free whatever requests wait, in both
 * directions: this is why the channels are two. Acknowledgements and the count of finished requests ride on every
 * frame.
 *
 * Memory. What is under way is in struct fr_engine and one struct fr_peer for each peer. Calls that go ahead of it wait
 * in a queue, since they may not wait themselves: its messages and buffers are in the engine, too, then in blocks that
 * fr_engine.more() gives, up to a bound. A peer that takes nothing cannot use up what others need: its share is
 * bounded, and whoever has less than FR_OWN gets that beyond the bound of all. Puts of up to FR_COPY bytes are copied
 * into a buffer and have ended when the call returns; longer ones, and replies above FR_SMALL bytes, are read from the
 * MD frame by frame, and stay there until acknowledged. Over a link that loses nothing a get has ended at its target
 * once the link has taken the last frame: nobody can have the REPLY before.
 *
 * Bulk. A link that loses nothing may take several frames at once (send_some), and read long payloads where they stand:
 * in frames of up to fr_engine.bulk bytes, the last FR_TAIL bytes of a message excepted. These are read first and sent
 * after all others, so that their frame can still say that a byte before them was not there. At the other end a long
 * frame can be taken as it comes (fr_begin, fr_where, fr_piece): once its header has been matched, the link reads the
 * payload into the MD's own memory.
 *
 * Breaks. Where a connection ends and the peer lives, a new one takes up the work: whoever sends goes back to the first
 * frame that is not acknowledged, fr_resume(), and what has come already is dropped as what comes twice. A get that has
 * ended at its target must not be read again: its reply is copied, up to FR_COPY bytes; of a longer one the last
 * FR_SMALL bytes are, and go when all before them has been acknowledged.
 *
 * Full. A call that finds no room gets FR_FULL at once, with nothing charged; fr_room() says when to try again. A
 * request that finds no place at its target (no record, a polled portal without room) is refused with BUSY and sent
 * again later.
 *
 * The end of a peer, fr_gone(): what was under way ends with PTL_NI_DIED_NP: SEND_END of puts not acknowledged, ACK of
 * puts whose SEND_END has come, REPLY_END of gets and getputs not answered, PUT_END and GET_END of what this side had
 * matched. Not those that the peer had said to have finished without an answer (it dropped them).
 *
 * Later. A kernel's engine may run where it must not wait for a page. There fr_engine.there() is asked before bytes
 * of an MD are touched. Where it says no, the frame stays half taken, fr_owed(), and the link keeps it, with what
 * comes behind it, for fr_piece(); a frame that cannot be built waits, and those behind it, for fr_writable(). NOPs
 * do not: the peer is told how far we are, and that we are. Whoever has said no has the pages brought, and then calls
 * these.
 *
 * Locking is the caller's: one thread at a time in all functions here that get the same engine. None blocks; the
 * core's locks are taken inside. Freestanding, no clock: the caller says what time it is.
 */
#ifndef FRAME_H
#define FRAME_H

#include "p3l.h"
#include "wire/wire.h"

#define FR_WINDOW	64U		/* frames of one channel that are not acknowledged; a power of two */
#define FR_REQS		64U		/* requests to one peer that are not finished; a power of two, one bit each */
#define FR_SMALL	256U		/* bytes that a message holds by itself */
#define FR_COPY		PTL_INLINE_MAX_NP_	/* longest put that is copied: nal.h promises its END */
#define FR_TAIL		4096U		/* bytes at the end of a message that go by copy */
#define FR_FLIGHT	(4U << 20)	/* bytes of a channel that are not acknowledged, about */
#define FR_BATCH	16U		/* frames that a link gets at once */
#define FR_SEGS		8U		/* pieces of memory that one frame is read from */
#define FR_OPS		6U		/* of P3L_OPS: some are left to puts of the owner to itself */
/* In the engine: */
#define FR_MSGS		256U		/* messages of calls, to all peers together; */
#define FR_PEER_MSGS	64U		/* of which one peer can have so many */
#define FR_BUFS		64U		/* buffers of FR_COPY bytes */
/* With more(): */
#define FR_BLOCK	(128U << 10)	/* bytes that are asked for at a time */
#define FR_MORE_MSGS	65536U		/* about 40 MiB */
#define FR_MORE_BUFS	4096U		/* 32 MiB */
#define FR_MORE_PEER	4U		/* a peer's share of both is a fourth */
#define FR_OWN		4U
#define FR_FULL		(-1)

struct fr_msg {
	struct fr_msg *next;		/* in its peer's queue, or free */
	struct wire_hdr h;		/* of the first frame */
	uint64_t len;			/* payload in all */
	uint64_t made;			/* in frames so far */
	uint32_t frames;		/* not acknowledged */
	bool begun;			/* the first frame has been made */
	bool answer;			/* one of peer->ans[] */
	bool sending, replying;		/* send, reply are valid */
	bool get_md;			/* a reply is awaited */
	bool fault;			/* its bytes could not be read */
	bool kept;			/* the end of a long reply is in small[] */
	/* The bytes: in small[], in the pool, or (token) the caller's, in the owner's terms; NULL: in the MD */
	uint8_t *buf;
	uint64_t start, iov, off;	/* geometry in the MD */
	uint32_t iov_n;
	bool direct;
	struct p3l_send send;
	struct p3l_reply reply;
	uint64_t op;			/* the target's record of a get that is being answered: fr_op() */
	uint32_t token;			/* the caller's: fr_engine.ended() */
	uint8_t small[FR_SMALL];
#ifdef P3_TRACE
	struct p3_trace_id trace;
#endif
};

/* A frame that is out. */
struct fr_out {
	struct fr_msg *msg;
	uint64_t off;
	uint32_t len;
	bool first;
	bool ref;			/* the link reads it from the MD */
};

/* A request of ours that may be answered. */
struct fr_wait {
	uint8_t state;			/* enum fr_wait_state */
	uint32_t pt;
	uint32_t token;
	uint64_t match_bits, rlength;
	struct p3l_ref md;		/* put: for the ack */
	struct p3l_reply reply;		/* get */
};
enum fr_wait_state { FR_W_NONE, FR_W_ACK, FR_W_REPLY, FR_W_COMING /* the reply has begun */ };

/* A message that is coming in: one at a time on each channel, since the peer sends them one after the other. */
struct fr_in {
	bool on;
	bool keep;			/* there is a place for it: else it is dropped as it comes */
	uint8_t fail;
	uint64_t len, got, room;	/* bytes in all, so far, that have a place */
	uint64_t start, iov, off;
	uint32_t iov_n;
	bool direct;
	uint32_t md;			/* whose memory it is */
	uint32_t req;
	uint64_t op;			/* put, or getput that waits for a page: fr_op() */
	struct wire_hdr h;		/* of these: for the ack, or answer */
};

/* A frame whose header has been taken, and whose payload is coming. */
struct fr_part {
	bool on;
	uint8_t type;
	uint16_t flags;
	uint32_t seq, len, came;
	uint64_t rlength;
};

/* One of the two ways to a peer, and back. */
struct fr_chan {
	struct fr_msg *q, **q_end;	/* not all in frames yet */
	uint32_t base, next, sent;	/* oldest unacknowledged frame, next to be made, next to be sent */
	uint32_t flight;		/* bytes in these that are made */
	bool probe;			/* one frame at a time until something is acknowledged */
	bool hold;			/* nothing until again_at: */
	bool busy;			/* the other side has said so, and has taken nothing since */
	uint32_t tries;
	int64_t again_at;		/* when the oldest frame is sent again; 0: none out */
	uint32_t expect;		/* in: number of the next frame */
	bool told_again, told_busy;
	uint16_t nop;			/* flags of a NOP that is due */
	struct fr_out out[FR_WINDOW];
	struct fr_in in;
	struct fr_part part;
};

enum { FR_REQUEST, FR_ANSWER };

struct fr_peer {
	ptl_process_id_t id;		/* as its link has proved it */
	uint32_t uid, jid;
	uint32_t slot;			/* what the NI calls it: initiator of events */
	void *link;			/* the link's own */
	bool open, gone;		/* gone and never open: a process that does not exist */
	bool blocked;			/* the link had no room */
	bool stuck;			/* the bytes of the next frame are not there yet: there() */
	bool turn;			/* which channel's frame is next where both have one */
	struct fr_chan ch[2];
	uint32_t msgs, bufs;		/* requests queued or not acknowledged; buffers of these, and of replies */
	bool full;			/* the last call found no room */
	uint32_t req_next, req_done;	/* our requests: next number, all below are finished */
	struct fr_wait wait[FR_REQS];
	uint32_t untold;		/* frames taken and not acknowledged */
	uint32_t told_done;		/* as `done` was when something was last sent */
	bool tell;			/* now; or */
	int64_t tell_at;
	int64_t ask_at;			/* lossy: requests are unfinished, and perhaps we were told that they are not */
	uint32_t asks;
	uint32_t done, want;		/* its requests: all below are finished; next number */
	uint64_t done_bits;		/* finished ones above */
	struct fr_msg ans[FR_REQS];	/* places for the answers, by number */
	uint64_t out_count, out_length, in_count, in_length;	/* requests, and bytes put or asked for */
	uint64_t dropped;		/* of its requests, here */
	uint32_t heard;			/* frames that have come */
	uint32_t coming;		/* 1 + channel of the frame that fr_piece() is about; 0: an unwanted one */
	uint32_t parked;		/* requests that wait for the owner: fr_engine.park(); */
	uint64_t parked_pt[2];		/* for these portals, bit by bit (none: not known) */
	uint32_t turn_of;		/* of whoever takes what is parked */
	struct fr_peer *next_peer;	/* all that have been opened */
};

struct fr_link {
	/* Take a frame: 0; or nonzero: no room now, fr_writable() will be called. The bytes are the engine's again
	 * when it returns. Calls nothing of the engine. */
	int (*send)(void *ctx, struct fr_peer *p, const uint8_t *hdr, const void *payload, uint32_t len);
	/*
	 * Or NULL; not for links that are lossy: take frames, in order, and say how many. The last one that was taken
	 * may, if it stays, be read later, before another is taken: if that fails then, zeroes go, and fr_fault() is
	 * called. *@fault: the first that was not taken cannot be read. Calls nothing of the engine.
	 */
	uint32_t (*send_some)(void *ctx, struct fr_peer *p, const struct wire_frame *f, uint32_t n, bool *fault);
	/* Its connections may end and be made anew, fr_resume(): what it has taken may have to be sent again. */
	bool breaks;
	/* frames are sent again when no acknowledgement comes, and payloads get a checksum */
	bool lossy;
};

struct fr_stats {
	uint64_t frames_out, frames_in, again, timeouts, early, twice, bad, busy, nops;
};

/* Frames on their way to a link that takes several. */
struct fr_batch {
	uint32_t n, at[2];		/* frames; next of each channel */
	bool full;			/* the one place for copies is used */
	struct wire_frame f[FR_BATCH];
	struct wire_vec v[FR_BATCH][FR_SEGS];
	uint8_t hdr[FR_BATCH][WIRE_HDR];
};

struct fr_engine {
	struct p3l_ni *l;
	struct p3l_env env;
	const struct fr_link *link;
	void *ctx;			/* the link's */
	/*
	 * Bytes between @buf and memory of this process, to it when @to: false: not there. @direct: it is known to be.
	 * @buf NULL: only say whether it is there to be written; asked of an engine that the owner runs. The bytes are
	 * those of MD @md, below.
	 */
	bool (*copy)(struct fr_engine *e, bool to, uint64_t addr, void *buf, uint64_t len, bool direct);
	/* Or NULL: may these bytes of the owner's be touched as those of direct MDs are? Asked for long messages in MDs
	 * that are not direct as a whole, such as one over all of a process. */
	bool (*reaches)(struct fr_engine *e, uint64_t addr, uint64_t len);
	/*
	 * Or NULL: all are. May bytes of MD @md be touched (@to: written) now, by copy() and step()? False: not yet;
	 * and they will be asked for again. @ahead: so many behind them will be next.
	 */
	bool (*there)(struct fr_engine *e, bool to, uint64_t addr, uint64_t len, uint64_t ahead);
	/* Or NULL: p3l_step() on bytes where fr_at() says. */
	bool (*step)(struct fr_engine *e, uint32_t type, uint64_t addr, uint8_t *buf, uint64_t len, uint64_t whole,
		     uint64_t operand);
	uint32_t md;
	const unsigned long *refuses;	/* or NULL: a bit for each portal, whose puts wait for room: as polled ones */
	uint32_t most;			/* bytes of a frame's payload, at least FR_SMALL; 0: WIRE_PAYLOAD */
	void (*wake)(void *arg);	/* an event may have been logged */
	void *wake_arg;
	/* A part of a call with a token, fr_post(), is over: its message; what was to come back, if anything was. */
	void (*ended)(void *arg, uint32_t token);
	void *ended_arg;
	/*
	 * Where another process than the owner of @l runs the engine: what the owner's addresses are here, window |
	 * (address & mask). mask 0: as they are.
	 */
	uint64_t window, mask;
	bool raw;			/* the kernel may be given any address of an MD: they are this process's */
	uint32_t bulk;			/* most bytes of a frame that the link reads from an MD; 0: it reads none */
	/*
	 * A foreign mover may not match at polled portals. Keep a copy of this frame, a whole put, for the owner, who
	 * gives it to fr_parked(); those behind it for other portals go on. False: no room, it will be sent again.
	 */
	bool (*park)(struct fr_engine *e, struct fr_peer *p, const uint8_t *frame, uint32_t n);
	const struct p3l_env *owner;	/* his, where he runs this himself and need not be waited for; or NULL */
	/* FR_BLOCK bytes, which stay until the engine is given up, or NULL; NULL itself: what is in here must do */
	void *(*more)(void *arg);
	void *more_arg;
	int64_t now, rto, delay;	/* time; ns until a frame is sent again, until an ack goes by itself */
	uint32_t ops;			/* records in use here */
	bool logged;			/* something for the owner to see */
	bool hasty;			/* acknowledge all at once: we are about to leave */
	struct fr_peer *peers;
	struct fr_msg *free_msgs;
	uint8_t *free_bufs;
	uint32_t n_msgs, n_bufs;	/* there are, in use or free */
	struct fr_stats stats;
	struct fr_batch batch;
	uint8_t hdr[WIRE_HDR], scratch[WIRE_PAYLOAD];
	struct fr_msg msgs[FR_MSGS];
	uint8_t bufs[FR_BUFS][FR_COPY];	/* last: not there in an engine that gets its calls by fr_post() */
};
#define FR_POST_SIZE offsetof(struct fr_engine, bufs)

/* A record in the region, as the engine names it, in whatever process it runs. */
static inline struct p3l_op *fr_op(const struct fr_engine *e, uint64_t op)
{
	return op ? (struct p3l_op *)((char *)e->l + op) : NULL;
}
static inline uint64_t fr_op_name(const struct fr_engine *e, const struct p3l_op *op)
{
	return op ? (uint64_t)((const char *)op - (const char *)e->l) : 0;
}

/* @e: zeroed. rto_ns, delay_ns: time until a frame is sent again (doubled up to 64 times), and until an ack
 * goes alone. */
void fr_init(struct fr_engine *e, struct p3l_ni *l, const struct p3l_env *env, const struct fr_link *link, void *ctx,
	     int64_t rto_ns, int64_t delay_ns);
/* @p: zeroed. From now on it can be used. */
void fr_open(struct fr_engine *e, struct fr_peer *p, ptl_process_id_t id, uint32_t uid, uint32_t jid, uint32_t slot);
/* The peer is no more. Later puts end as those to a process that does not exist, later gets as those under way did. */
void fr_gone(struct fr_engine *e, struct fr_peer *p);

/* As in struct nal_ops, and FR_FULL. */
int fr_put(struct fr_engine *e, struct fr_peer *p, struct p3l_hdr *h, struct p3l_send *s);
int fr_get(struct fr_engine *e, struct fr_peer *p, struct p3l_hdr *h, struct p3l_reply *r);
int fr_getput(struct fr_engine *e, struct fr_peer *p, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r);

/*
 * The same in two steps, for callers that hand what they have begun to another process. fr_begin_*() run on the
 * initiator's NI, charge the MD and fill @q, or return what the call returns. @room: memory for @len bytes, which are
 * copied there, after which the send has ended; NULL: FR_FULL is returned. Its place in @q->buf.
 * fr_post() makes the message, once; false: no memory now, the same again later. @q->buf, which is then in the
 * owner's terms, must stay until the message's end, told by fr_engine.ended(@token) as often as fr_parts() says.
 */
struct fr_req {
	uint8_t type;			/* enum wire_type: PUT, GET, GETPUT, ATOMIC */
	bool sending;			/* bytes stand in the MD: send is valid */
	struct p3l_hdr h;
	uint64_t len;			/* bytes that go along */
	uint8_t *buf;
	struct p3l_send send;
	struct p3l_reply reply;
};
typedef uint8_t *fr_room_t(void *arg, uint64_t len);
int fr_begin_put(const struct p3l_env *env, struct p3l_ni *l, struct p3l_hdr *h, struct p3l_send *s, fr_room_t *room,
		 void *arg, struct fr_req *q);
int fr_begin_get(const struct p3l_env *env, struct p3l_ni *l, struct p3l_hdr *h, struct p3l_reply *r,
		 struct fr_req *q);
int fr_begin_getput(const struct p3l_env *env, struct p3l_ni *l, struct p3l_hdr *h, struct p3l_send *s,
		    struct p3l_reply *r, fr_room_t *room, void *arg, struct fr_req *q);
bool fr_post(struct fr_engine *e, struct fr_peer *p, const struct fr_req *q, uint32_t token);
/* What fr_begin_*() has begun ends without having left: its target has died. */
void fr_never(const struct p3l_env *env, struct p3l_ni *l, uint32_t slot, struct fr_req *q);
/* Calls to a process that does not exist, or (@died) not any more. */
int fr_put_nowhere(const struct p3l_env *env, struct p3l_ni *l, struct p3l_send *s);
int fr_get_nowhere(const struct p3l_env *env, struct p3l_ni *l, uint32_t slot, bool died, const struct p3l_hdr *h,
		   struct p3l_reply *r);
int fr_getput_nowhere(const struct p3l_env *env, struct p3l_ni *l, uint32_t slot, bool died, struct p3l_send *s,
		      struct p3l_reply *r);
/*
 * The same for a kernel, which reads the caller's memory while it holds no lock: fr_reserve() gives a message with
 * room for @len bytes in @m->buf (above FR_COPY: none, NULL), or NULL (FR_FULL). Then fr_give() makes it of @q, or
 * fr_unreserve(). @q->sending: the bytes stand in the MD.
 */
struct fr_msg *fr_reserve(struct fr_engine *e, struct fr_peer *p, uint64_t len);
void fr_unreserve(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m);
void fr_give(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m, const struct fr_req *q);
static inline uint32_t fr_parts(const struct fr_req *q)
{
	return q->type != WIRE_PUT || q->h.ack ? 2 : 1;
}

/* Bytes of one frame from @p's link: @n of them. False: they were none (a stream cannot be read on). */
bool fr_input(struct fr_engine *e, struct fr_peer *p, const uint8_t *frame, uint32_t n);

/*
 * A long frame as it comes. fr_begin() gets its header: FR_WHOLE: wait until it is all there, for fr_input(); FR_NO:
 * they make no sense. FR_PIECES: fr_piece() is owed @paylen bytes, and nothing else of this peer until then, unless the
 * connection ends and the frame begins anew on another. Meanwhile anything may end: fr_where() is asked for each read.
 *
 * fr_where() says where the next bytes are wanted: so many entries of @v, at most @max; 0: give them to fr_piece().
 * fr_piece() gets the next @n bytes, or (NULL) hears that they have been put there. fr_unplaced(): that cannot be
 * written; the bytes come, and are dropped.
 */
enum fr_way { FR_NO, FR_WHOLE, FR_PIECES };
enum fr_way fr_begin(struct fr_engine *e, struct fr_peer *p, const uint8_t *hdr);
uint32_t fr_where(struct fr_engine *e, struct fr_peer *p, struct wire_vec *v, uint32_t max);
void fr_piece(struct fr_engine *e, struct fr_peer *p, const uint8_t *data, uint32_t n);
void fr_unplaced(struct fr_peer *p);
/* Are fr_piece() the bytes of a frame owed, all of them? Then this one could not be taken: see `later' above. */
static inline bool fr_owed(const struct fr_peer *p)
{
	return p->coming;
}
/* The link could not read all of frame @tag: wire_frame.tag */
void fr_fault(struct fr_peer *p, uint64_t tag);
/* The owner takes a frame that was parked. False: the portal has no room for it now; it stays where it is. */
bool fr_parked(struct fr_engine *e, struct fr_peer *p, const uint8_t *frame);
/* The link of @p takes frames (again). */
void fr_writable(struct fr_engine *e, struct fr_peer *p);
/* The connection to @p is another one: what went by the last may not have come. */
void fr_resume(struct fr_engine *e, struct fr_peer *p);
/* After a batch of input: acknowledgements that somebody waits for, and the owner's wake-up. */
void fr_flush(struct fr_engine *e);
/* As fr_flush(), of one peer: acknowledgements only. Says goodbye, in a frame, before the engine goes: fr_bye(). */
void fr_tell(struct fr_engine *e, struct fr_peer *p);
void fr_bye(struct fr_engine *e, struct fr_peer *p);
/* What time has to do. Returns when to call again, 0: not before something else has happened. Set e->now first. */
int64_t fr_timer(struct fr_engine *e);
/* It is to say how far it is; its next frame shows in @p->heard. */
void fr_ask(struct fr_engine *e, struct fr_peer *p);
/* Nothing of ours is on its way to @p, and nothing that it has asked for. */
bool fr_idle(const struct fr_peer *p);
/* Requests to @p wait for its owner to make room: nobody should wait for that inside a call. */
static inline bool fr_busy(const struct fr_peer *p)
{
	return p->ch[FR_REQUEST].busy;
}

/* Is there room for a call to @p? */
bool fr_room(const struct fr_engine *e, const struct fr_peer *p);

#endif

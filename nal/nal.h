/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal.h - the contract between the Portals calls and what moves messages
 *
 * A NAL is one operations table. Its call side starts an operation for an NI of this process: by running the core on
 * the target's state (nal/smartmap), by a command to an engine, or by a system call. Whatever way it takes, it keeps
 * these rules:
 *
 *  - put() and get() are called with the MD not yet charged. The NAL calls p3l_send_begin() first (put), and
 *    p3l_send_end(), p3l_ack(), p3l_reply_begin/end() when these things have happened. If it returns anything but
 *    PTL_OK, nothing has been charged and no event logged.
 *  - The initiator's memory belongs to the NAL from begin to end, not longer. A put of up to PTL_INLINE_MAX_NP bytes
 *    has ended when put() returns.
 *  - Order: two operations of one NI to the same target reach the target's matching in the order of the calls.
 *    (Puts to a polled entry wait in the inbox, and what is behind them in it waits too; gets do not wait for them.)
 *  - None of them waits for another process, but wait(): without room they return PTL_NO_SPACE. progress() may be
 *    called at any time by any thread of the owner.
 *  - Nothing is called back into the NAL from inside an operation.
 *
 * A further ability is a flag and an optional operation, never a test of the NAL's name.
 */
#ifndef NAL_H
#define NAL_H

#include "p3l.h"

struct nal_ops;

/* The other processes of the job on this node, as seen by an NI. Private to this process. */
struct nal_peer {
	struct p3l_ni *l;		/* its region; NULL: not looked up yet, or gone */
	struct p3l_lane_tx tx;
	struct p3l_lane_hdr *lane;	/* ours in its region */
	bool small;			/* put_small() is worth a try */
	bool polls;			/* guess: it sits in polling calls */
	bool polled;			/* we have put to a polled entry; the last such message ends at line: */
	uint32_t polled_end;
	uint8_t pauses, in_time;	/* when to look whether it has taken a message: first_look() */
	uint8_t unhelped;		/* long copies that it could have helped with, and did not */
	uint32_t last_put;		/* an ordinary one: calls of progress before it */
	uint32_t lock;			/* threads of ours that send to it */
};

#define NAL_EQ_GONE UINT32_MAX
#define NAL_ANY UINT32_MAX		/* whatever process */

/* What the owner knows of one of its queues without asking memory that peers can write. */
struct nal_eq {
	struct p3l_slot *ring;		/* NULL: never made */
	uint32_t mask;			/* slots - 1 */
	uint32_t gen;			/* as in its handle, or NAL_EQ_GONE, which is in none */
	uint32_t packed;		/* as MDs name it */
	uint32_t straight;		/* events that came without a ticket */
	uint32_t run;			/* events read since we have sent something: */
	uint64_t sent;
	ptl_eq_handler_t handler;
	struct p3l_known known;		/* what took the last of those */
	ptl_event_t like;		/* an event of it, whole */
	struct p3l_known taking;	/* PtlMEMDTake_np(): what it has looked up, and for which entry */
	ptl_handle_me_t taking_for;
	ptl_process_id_t taking_from;	/* from whom the last time, and his slot (NAL_ANY: from whomever) */
	uint32_t taking_slot;
};

/* A put, with the arguments of PtlPutRegion as they stand: handing them on costs nothing. */
typedef int nal_put_fn(ptl_handle_md_t md, ptl_size_t loff, ptl_size_t len, ptl_ack_req_t ack, ptl_process_id_t target,
		       ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t roffset,
		       ptl_hdr_data_t hdr_data);

struct nal_ni {
	struct p3l_ni *l;		/* own region */
	struct p3l_env env;
	const struct nal_ops *nal;
	const uint64_t *sent;		/* our counter of sends */
	/* Puts begin with the first, of p3a_open_ni: it is put_any, unless start() knows better for the usual one. What
	 * differs from that in any point is handed on to put_any; to put_long if put_small() is nothing for it, either. */
	nal_put_fn *put_usual, *put_any, *put_long;
	uint32_t index;			/* in the table */
	uint32_t base;			/* of its handles: index, and what is added to generations, bit by bit */
	uint16_t serial;		/* in its handle: one that was closed is not taken for it */
	unsigned refs;			/* PtlNIInit calls without PtlNIFini */
	uint8_t one_by_one;		/* PtlNISerial_np: one call at a time, whatever threads there are. p3a_lock_ */
	ptl_hold_np_t hold;
	ptl_interface_t iface;
	ptl_ni_limits_t limits;
	uint32_t uid, jid;
	struct nal_peer *peer;		/* [n_peers] */
	uint32_t n_peers;		/* slots from here on are no ranks of this node: */
	uint32_t guests;		/* so many are movers all the same, an engine; those behind are ranks of other nodes,
					 * and id() knows them */
	const uint32_t *pids;		/* [n_peers] Portals pid of each process of the node */
	uint32_t spin, yield;		/* knobs */
	int64_t hang_ns;
	struct {			/* the last wait that has ended without an event, see eq.c */
		uint64_t key;
		int64_t since, until;
		uint32_t told;
	} idle;
	struct nal_eq *eq;		/* [max_eq] */
	void *nal_priv;
};

/*
 * Where the state of ranks on other nodes stands: an array with a struct fr_peer pointer (NULL: not used yet) and the
 * rank as uint32_t in each element. For those who look from outside.
 */
struct nal_far {
	const void *at;
	uint32_t n, stride, rank_at, peer_at;
};

struct nal_ops {
	const char *name;
	bool threads;			/* it has some of its own, which use the interface beside its owner's calls */

	/*
	 * Join: make the region of @ni (ni->l) and reach the peers. A PTL_* code; failures have been logged, and undone.
	 * Collective: the others hear of a failure and do not wait. Where ni->eq is NULL there was no memory for it: fail.
	 * After PTL_PID_INVALID @ni still belongs to the job (ni->nal_priv is set): start() again, or stop().
	 */
	int (*start)(struct nal_ni *ni, const struct p3l_setup *s);
	/* Leave. Waits until no peer is inside our region any more. */
	void (*stop)(struct nal_ni *ni);

	/* Local process number of @id, or -1. */
	int (*find)(struct nal_ni *ni, ptl_process_id_t id);
	ptl_process_id_t (*id)(struct nal_ni *ni, uint32_t slot);
	int (*dist)(struct nal_ni *ni, uint32_t slot, unsigned long *distance);

	/* @h is complete but for rlength, md and md_gen; @s has md, loff, len. */
	int (*put)(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s);
	/* A put without ack, offset and AC entry, if it is small and its MD has nothing to record (P3L_MD_PLAIN): true: done.
	 * false: nothing has happened, put() decides. Called for peers that have nal_peer.small set. */
	bool (*put_small)(struct nal_ni *ni, uint32_t slot, struct p3l_ref md, uint64_t loff, uint64_t len, uint32_t pt,
			  uint64_t match_bits, uint64_t hdr_data);
	/* @r has md, off and mlength (bytes wanted). */
	int (*get)(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r);
	/* As put and get; @r has md and off. Under p3l_swap_lock() of the target. */
	int (*getput)(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r);

	/* May the bytes be touched by peers directly? P3L_MD_DIRECT or 0; asked when an MD is made. */
	uint32_t (*direct)(const void *start, uint64_t len);

	/* Portal table entry @pt is polled by its owner from now on (PtlPTPolled_np), or no longer. */
	void (*polled)(struct nal_ni *ni, uint32_t pt, bool on);

	/* One look at whatever may have arrived. @eq: the queue that the caller waits for. @sink: NULL, or where an event
	 * of that queue may be handed over directly. */
	void (*progress)(struct nal_ni *ni, uint32_t eq, struct p3l_sink *sink);
	/* Optional: up to @looks looks whether the next message of @slot (NAL_ANY: of somebody) has come, which is taken if
	 * it is what sink->known asks for. 1: it is in @sink. 0: none has come. -1: another one has. One thread. */
	int (*take)(struct nal_ni *ni, uint32_t slot, struct p3l_sink *sink, unsigned looks);
	/* Announce that we look continuously (between progress calls, inside one waiting call), or no longer. */
	void (*attend)(struct nal_ni *ni, bool on);
	/* Sleep until something arrives or @ns have passed; returns at once when @ready(arg). */
	void (*wait)(struct nal_ni *ni, int64_t ns, bool (*ready)(void *), void *arg);
	/* Another thread of this process has logged events, or frees a queue: whoever sleeps in wait() looks again. Optional:
	 * there the sleep is short. */
	void (*wake)(struct nal_ni *ni);
	/* Optional: threads of the NAL that have logged an event are done with its descriptor when this returns. */
	void (*settle)(struct nal_ni *ni);
	/* For such NALs, too: what their own start came to is told to the ranks of the node, after this one's start(). Returns
	 * @rc, or what one of them has failed with. */
	int (*agree)(struct nal_ni *ni, int rc);
	/* Optional: for NALs on the frame engine. */
	void (*far)(const struct nal_ni *ni, struct nal_far *f);

	/*
	 * Optional: the state is not ours but the kernel's, and ni->l, like everything in it, can only be read. Then each
	 * call is this one (@what: GPTL_* of portals_gp.h, @arg: its structure), and put() to progress() are never called.
	 * A PTL_* code; -errno for what has none, -EINTR among them.
	 */
	int (*call)(struct nal_ni *ni, unsigned long what, void *arg);
	/* There: events that have been read, of each queue; written by us, read by the kernel. */
	uint32_t *(*claims)(struct nal_ni *ni);
	/* There, too: all ranks of the node meet. 0, or not. */
	int (*meet)(struct nal_ni *ni);
};

extern struct nal_ni *p3a_open_ni;	/* the one interface of this process */

/* What a handle of its objects names there. */
static inline struct p3l_ref nal_ref(const struct nal_ni *ni, ptl_handle_any_t h)
{
	h ^= ni->base;
	return (struct p3l_ref){ h & 0xffff, h >> 16 & P3L_GEN_MASK };
}

/*
 * Who copies into (@to_write), or out of, memory of this process that is not P3L_MD_DIRECT asks first: the program may have
 * given it back, or it was never there. A system call for each page; what another thread does afterwards is not seen.
 */
bool nal_own_there(uint64_t addr, uint64_t len, bool to_write);
/* Such a copy, between @buf and @addr; a long one by the kernel, which looks while it copies. False: not there. */
bool nal_own_copy(bool to, uint64_t addr, void *buf, uint64_t len);
/*
 * fr_engine.copy of a frame engine in the process whose memory it is; @buf NULL: only look. What its owner has adopted is
 * there; of any other memory the kernel is asked, which knows.
 */
struct fr_engine;
bool nal_own_frame(struct fr_engine *e, bool to, uint64_t addr, void *buf, uint64_t len, bool direct);

/*
 * For NALs that stand before nal/smartmap and have somebody who can copy between ranks of the node: a long put or get is
 * begun and matched as by nal_smartmap, and then given to lend(), which takes all that is left to do: the copy, the end
 * of the op (P3L_LENT is set by it) and of the send or reply, the ack. False: it does not, and we do. Only from window
 * to window, and from @min bytes on. @env: of the rank, for operations that end in another process.
 */
struct nal_lend {
	const struct p3l_env *env;
	bool (*lend)(void *arg, uint32_t slot, struct p3l_op *op, uint32_t index, const struct p3l_send *s,
		     const struct p3l_reply *r);
	void *arg;
	uint64_t min;
};
int nal_put_lent(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, const struct nal_lend *to);
int nal_get_lent(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r, const struct nal_lend *to);
/* The region of another rank of the node, or NULL. */
struct p3l_ni *nal_region(struct nal_ni *ni, uint32_t slot);

/*
 * Waiting for other processes in a call that is not one on queues (a barrier, the end of the interface): they may wait for
 * a copy that they have left to us. To be called again and again, with the same @b, all zero but for ni; after as many ns
 * as it says.
 */
struct nal_between {
	struct nal_ni *ni;
	uint32_t handed;
	int64_t nap;
};
int64_t nal_between(void *b);

/* Join SMARTMAP on this node (smartmap_init(), with @adopt, @guests, @refuse of its job). A code; why not has been said. */
int nal_join(uint32_t adopt, uint32_t guests, const char *refuse);

extern const struct nal_ops nal_smartmap;
extern const struct nal_ops nal_one_lock;	/* likewise, with one lock for all calls of the node: PTL_LOCKS=node */
extern const struct nal_ops nal_loop;	/* for tests: one process, by frames, with injection */
extern const struct nal_ops nal_ap;	/* likewise */
extern const struct nal_ops nal_kern;	/* Generic Portals in the kernel: /dev/portals */
bool nal_kern_there(void);		/* may we open it? */
extern const struct nal_ops nal_gp;	/* where libev is: HAVE_LIBEV of config.h */

#endif

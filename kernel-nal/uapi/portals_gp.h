/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals_gp.h - the interface between a process and the kernel module portals_gp: /dev/portals
 *
 * One open file is one network interface (NI) of one process. GPTL_OPEN makes it, GPTL_MEET waits for the other ranks
 * of the node; then each Portals call is one ioctl. A call answers with 0 or a Portals return code (a number above
 * 0), or -1 and errno where it was no call at all: EINVAL (padding, numbers out of range), EFAULT, EINTR, EPERM
 * (another process than the one that has opened, or no memory of its own any more), ENOMEM, E2BIG, ENOTTY.
 *
 * Versions. The size of an argument is part of the ioctl's number. A kernel that knows a longer structure than the
 * caller takes the rest for zeros; one that knows a shorter one refuses (E2BIG) unless the rest is zeros. So structures
 * only grow at their ends, and zero means "as before". Padding must be zero.
 *
 * Memory. Offset 0 of the file maps the NI's region, for reading: struct p3l_ni of portals/lib/p3l_layout.h, whose
 * version GPTL_OPEN compares. Offset GPTL_CLAIMS maps one page that the process may write: for each event queue the
 * number of events that it has read (a uint32_t, counted freely). The kernel takes it for a claim: what is not between
 * its own idea and the newest event is passed over.
 *
 * Other nodes. GPTL_NET binds the NI to the Ethernet device that the module was told (its parameter netdev), in the
 * network namespace of the caller; what it answers is for the others. When their answers have come (they are
 * exchanged by whoever starts the job), GPTL_FAR says who is where. From then on slots from @size of GPTL_OPEN on are
 * those peers, in that order. GPTL_DRAIN, before the end.
 */
#ifndef PORTALS_GP_H
#define PORTALS_GP_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/ioctl.h>
#else
#include <stdint.h>
#include <sys/ioctl.h>
#endif

#define GPTL_DEVICE	"/dev/portals"
#define GPTL_ABI	1U		/* what is here; grows when a call changes its meaning */
#define GPTL_CLAIMS	(1ULL << 40)	/* offset of the page of claims */
#define GPTL_KEY	16		/* bytes of a job's key */
#define GPTL_NONE	0xffffffffU	/* no slot, no entry */

/* What the module is. For everyone who may open the device. */
struct gptl_hello {
	uint32_t abi, layout;		/* out: GPTL_ABI, P3L_VERSION */
	uint32_t max_slots, pad;	/* out: ranks on a node */
};

/*
 * Make the NI of rank @slot of @size on this node, of the job that has @key, of this user. Those of one job, user, key,
 * nid and size find each other. EBUSY: that rank is there already. EPROTO: @abi or @layout are not the module's.
 */
struct gptl_open {
	uint32_t abi, layout;
	uint8_t key[GPTL_KEY];
	uint32_t jid, nid, pid;		/* Portals ids that messages carry */
	uint32_t slot, size;
	uint32_t max_me, max_md, max_eq, max_pt, max_ac, max_me_list, max_iov, max_getput, index_from;
	uint64_t space;			/* bytes for queues, vectors, indices: at most 64 MiB */
	uint64_t region;		/* out: bytes to map at offset 0 */
};

/*
 * Wait for all ranks of the job on this node; each has called it as often. The first time it also settles who has which
 * pid. ETIMEDOUT; EPIPE: one of them has gone. PTL_PID_INVALID: a rank before us has wanted the same pid.
 */
struct gptl_meet {
	uint64_t pids;			/* where to write the pid of each rank, uint32_t[n]; 0: nowhere */
	uint32_t n;
	int32_t timeout_ms;		/* below 0: none */
};

struct gptl_ref {
	uint32_t idx, gen;		/* place and generation */
};

/* A memory descriptor as in ptl_md_t; eq: 0, or place + 1 | generation << 16. */
struct gptl_md {
	uint64_t start, length, max_size, user_ptr;
	int32_t threshold;
	uint32_t options, eq, pad;
};

/* Entries and descriptors: which fields count says the call. */
struct gptl_post {
	struct gptl_ref me;		/* in: beside which, or whose descriptor; out: the new one */
	struct gptl_ref dsc;		/* in: which to update; out: the new one */
	uint32_t pt, nid, pid;		/* pt: GPTL_NONE: any, and out: which */
	uint8_t unlink, pos, op, pad8;	/* of the entry, where, of the descriptor: as in the Portals calls */
	uint64_t bits, ignore;
	struct gptl_md md;		/* vectors: start is the address of ptl_md_iovec_t[length] */
	uint64_t old, old_iov;		/* GPTL_MD_UPDATE: where to write what was before, and its vector; or 0 */
	uint32_t old_iov_n, change;	/* change 0: only look */
	uint32_t test_eq, pad;		/* as md.eq; 0: no condition */
};

struct gptl_eq {
	uint64_t count;
	struct gptl_ref eq;		/* out */
};

/* put, get, exchange, atomic operation. slot: of the target, or GPTL_NONE: nobody has that id. */
struct gptl_move {
	uint8_t type;			/* enum p3l_type: put 1, get 2, exchange 3, atomic operations 4 to 12 */
	uint8_t ack;
	uint16_t pad16;
	uint32_t slot, nid, pid;
	uint32_t pt, ac;
	struct gptl_ref put, get;	/* descriptors of ours */
	uint64_t put_off, len, get_off;	/* len: all ones: all of the descriptor */
	uint64_t bits, roffset, hdr_data;
};

/* Sleep until one of the queues has an event. ETIME: the time is up. EINTR: a signal; call again. */
struct gptl_wait {
	uint64_t eqs;			/* uint32_t[n]: places */
	uint32_t n, pad;
	int64_t timeout_ns;		/* below 0: none */
};

struct gptl_ac {
	uint32_t ac, nid, pid, uid, jid, pt;
};

/*
 * Puts to entry @pt that find no room, neither in a descriptor nor in its queue, are refused from now on (PTL_NO_SPACE)
 * instead of dropped, or no longer.
 */
struct gptl_polled {
	uint32_t pt, on;
};

/*
 * ENODEV: no such device, or it is not up, or no Ethernet. EBUSY: bound already. @round: how many interfaces this
 * process has opened, this one included: frames of one that was closed are not taken for those of the next.
 */
struct gptl_net {
	uint32_t round;
	uint32_t most;			/* out: bytes of payload that a frame holds here */
	uint8_t mac[6];			/* out: address of the device */
	uint8_t pad[2];
};

struct gptl_peer {
	uint32_t nid, pid, uid, jid;	/* pid PTL_PID_ANY: it has no interface */
	uint8_t mac[6];
	uint8_t pad[2];
};

/* EINVAL: too many, one twice, to many machines, @most below 256. EBUSY: said already. ENOTCONN: no GPTL_NET. */
struct gptl_far {
	uint64_t peers;			/* struct gptl_peer[n] */
	uint32_t n;
	uint32_t most;			/* payload of a frame: the least of all nodes' */
};

/*
 * Until nothing is on its way to other nodes, and nothing that they have asked for; acknowledgements are sent at once
 * from now on. ETIME: the time is up.
 */
struct gptl_drain {
	int64_t timeout_ns;
};

/* What the module has done for this NI. */
struct gptl_stat {
	uint64_t calls, sleeps, copies_pinned, copies_looked_up, pinned_pages, withdrawn;
	uint64_t frames_out, frames_in;	/* between nodes: those of ours that were sent, those that came for us, */
	uint64_t again, held, bad;	/* sent again; kept until a page was there; of no use */
};

#define GPTL_MAGIC	0xb3
#define GPTL_HELLO	_IOR(GPTL_MAGIC, 0, struct gptl_hello)
#define GPTL_OPEN	_IOWR(GPTL_MAGIC, 1, struct gptl_open)
#define GPTL_MEET	_IOW(GPTL_MAGIC, 2, struct gptl_meet)
#define GPTL_PID	_IOW(GPTL_MAGIC, 3, struct gptl_open)	/* another pid and limits, after PTL_PID_INVALID */
#define GPTL_ME_ATTACH	_IOWR(GPTL_MAGIC, 4, struct gptl_post)
#define GPTL_ME_INSERT	_IOWR(GPTL_MAGIC, 5, struct gptl_post)
#define GPTL_ME_UNLINK	_IOW(GPTL_MAGIC, 6, struct gptl_ref)
#define GPTL_MD_ATTACH	_IOWR(GPTL_MAGIC, 7, struct gptl_post)
#define GPTL_MD_BIND	_IOWR(GPTL_MAGIC, 8, struct gptl_post)
#define GPTL_MD_UPDATE	_IOWR(GPTL_MAGIC, 9, struct gptl_post)
#define GPTL_MD_UNLINK	_IOW(GPTL_MAGIC, 10, struct gptl_ref)
#define GPTL_MEMD_ATTACH _IOWR(GPTL_MAGIC, 11, struct gptl_post)
#define GPTL_MEMD_POST	_IOWR(GPTL_MAGIC, 12, struct gptl_post)
#define GPTL_EQ_ALLOC	_IOWR(GPTL_MAGIC, 13, struct gptl_eq)
#define GPTL_EQ_FREE	_IOW(GPTL_MAGIC, 14, struct gptl_ref)
#define GPTL_MOVE	_IOW(GPTL_MAGIC, 15, struct gptl_move)
#define GPTL_WAIT	_IOW(GPTL_MAGIC, 16, struct gptl_wait)
#define GPTL_WAKE	_IO(GPTL_MAGIC, 17)
#define GPTL_AC		_IOW(GPTL_MAGIC, 18, struct gptl_ac)
#define GPTL_STAT	_IOR(GPTL_MAGIC, 19, struct gptl_stat)
#define GPTL_TIDY	_IOW(GPTL_MAGIC, 20, struct gptl_ref)	/* a descriptor whose old values nobody needs */
#define GPTL_PIDS	_IOW(GPTL_MAGIC, 21, struct gptl_meet)	/* as GPTL_MEET tells them, without waiting */
#define GPTL_POLLED	_IOW(GPTL_MAGIC, 22, struct gptl_polled)
#define GPTL_NET	_IOWR(GPTL_MAGIC, 23, struct gptl_net)
#define GPTL_FAR	_IOW(GPTL_MAGIC, 24, struct gptl_far)
#define GPTL_DRAIN	_IOW(GPTL_MAGIC, 25, struct gptl_drain)
#define GPTL_CALLS	26

_Static_assert(sizeof(struct gptl_open) == 96 && sizeof(struct gptl_post) == 128 && sizeof(struct gptl_move) == 88 &&
	       sizeof(struct gptl_md) == 48 && sizeof(struct gptl_stat) == 88 &&
	       sizeof(struct gptl_net) == 16 && sizeof(struct gptl_peer) == 24 && sizeof(struct gptl_far) == 16,
	       "the interface stays as it is");

#endif

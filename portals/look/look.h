/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * look.h - a job seen from outside: where the state of a rank is, who talks to whom, who waits for whom and why
 *
 * Each process with an open interface has one page in a memory file of its own, "portals-look" in
 * /proc/PID/maps, that says who it is and where its region stands. ptl_info finds it there and copies what it
 * wants (process_vm_readv): the rank makes no call for that, and may be stopped. The same findings come from
 * within: p3a_dump() has the regions of the peers in its windows. Everything is read without locks: what is
 * told may never have been true all at once.
 */
#ifndef LOOK_H
#define LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "frame/frame.h"
#include "p3l.h"

#define LOOK_MAGIC	0x6b6f6f6c20337074ull	/* "tp3 look" */
#define LOOK_FILE	"portals-look"
#define LOOK_LAYOUT	(P3L_VERSION << 24 | (uint32_t)((sizeof(struct look_page) + sizeof(struct fr_peer) * 31 + \
			 sizeof(struct p3l_row) * 7) & 0xffffff))

#define LOOK_SPACE	(64u << 20)	/* of a region, for events, vectors and indices */

enum look_phase { LOOK_STARTS = 1, LOOK_OPEN, LOOK_LEAVES };

/* Written by its process when an interface opens and closes, never by others. */
struct look_page {
	uint64_t magic;
	uint32_t layout;		/* of all that is found from here: LOOK_LAYOUT */
	uint32_t phase;			/* enum look_phase */
	int64_t since;			/* of the phase; CLOCK_MONOTONIC, ns */
	uint32_t rank, ranks, node, nodes, local_rank, local_size;
	uint32_t nid, pid, uid, jid;
	uint64_t region, region_len;	/* address in that process; 0: none yet */
	uint64_t far;			/* address of struct nal_far's array, or 0 */
	uint32_t far_n, far_stride, far_rank_at, far_peer_at;
	ptl_ni_limits_t limits;
	uint32_t features;		/* bit per enum smartmap_feature */
	uint32_t cma;
	char nal[16];
};

/* Of a rank, what it thinks of one on another node (or, with PTL_NAL=loop, of itself). */
struct look_far {
	uint32_t rank;
	const struct fr_peer *peer;
};

struct look_rank {
	const struct p3l_ni *l;		/* its region, or a copy of it; NULL: not seen */
	uint32_t rank, node, slot;
	uint32_t phase;
	int pid;			/* of Unix; -1: not known */
	char state;			/* as in /proc/PID/stat; 0: not known */
	int refused_by;			/* slot of a rank where its puts find no room, again and again; -1 */
	const struct look_far *far;
	uint32_t far_n;
};

struct look_job {
	const struct look_rank *r;
	uint32_t n;			/* at most LOOK_RANKS are looked at */
	int64_t now;			/* CLOCK_MONOTONIC, ns */
};
#define LOOK_RANKS 1024

enum look_kind {
	LOOK_WAITS,	/* @from waits for @to */
	LOOK_CAUSE,	/* what holds it up */
	LOOK_CYCLE,	/* of ranks that wait for each other; @from is one */
	LOOK_ROOT,	/* others wait for @from, which waits for nobody */
	LOOK_NOTE
};

/* One finding: ranks, or -1, and a sentence. */
typedef void look_say(void *ctx, enum look_kind kind, int from, int to, const char *text);

/* Who waits for whom, and why. Not for two threads at once. How many wait. */
uint32_t look_why(const struct look_job *j, look_say *say, void *ctx);

/* What one rank has sent to another, by path: messages and bytes. */
#define LOOK_PATHS(X)									\
	X(INBOX, "inbox")	/* left in the target's inbox, taken by it */		\
	X(PUT, "direct")	/* puts: matched and copied by the initiator */		\
	X(GET, "get")		/* gets, likewise */					\
	X(CMA, "cma")		/* of both: pieces that the kernel copied */		\
	X(HAND, "bounce")	/* of both: left to the owner in a bounce buffer */	\
	X(NET, "network")	/* to another node */
enum look_path {
#define X(s, name) LOOK_##s,
	LOOK_PATHS(X)
#undef X
	LOOK_PATH_MAX
};
extern const char *const look_path_name[LOOK_PATH_MAX];

struct look_talk {
	uint64_t count[LOOK_PATH_MAX], length[LOOK_PATH_MAX];
	uint64_t dropped, shared, refused;	/* shared: copies that the target took part in */
};
/* From the rank in @slot to the one whose region is @l. False: nothing. */
bool look_talk(const struct p3l_ni *l, uint32_t slot, struct look_talk *t);

/* State letter of process @pid; 0: there is none, or it is not told. Only system calls. */
char look_state(int pid);

#endif

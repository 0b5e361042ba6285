/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * model.h - links between virtual nodes that have a latency and a bandwidth
 *
 * All virtual nodes of a machine are equally near, so where a rank sits makes less of a difference than on the machine
 * that is studied. This layer stands between a transport and the frame engine of a NAL, at the receiving side: a frame
 * that has come is held back until the link between the two nodes would have delivered it,
 *
 *	starts  = the later of: now, the end of the frame before it on this link
 *	ends    = starts + bytes / bandwidth
 *	due     = ends + latency
 *
 * Links are one per ordered pair of nodes: both directions have the whole bandwidth. The word that says when a link is
 * free again may stand in memory that all processes of the node see: then they share the link, as they would a card.
 *
 * No clock, no event loop, no lock: the caller says what time it is, is told when to call again, and sees to it that
 * one thread at a time is in here. Order is kept among all frames of one node. What is held is bounded by what the
 * engine leaves unacknowledged (FR_WINDOW frames of each channel and peer). Memory is malloc's.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one link: what model_parse() finds. */
struct model_link {
	uint64_t latency_ns;
	uint64_t ns_per_mb;		/* 10^9 / bandwidth in MB/s, MB being 10^6 bytes; 0: no limit */
	bool set;			/* false: frames are not held back */
};

struct model_frame;

struct model {
	uint32_t nodes;
	const struct model_link *link;	/* [nodes] from each node to this one; the caller's */
	int64_t *busy;			/* [nodes] until when: changed by compare-and-swap only; the caller's */
	struct model_queue {
		struct model_frame *first, **end;
	} *q;				/* [nodes] in the order in which they are due */
	uint64_t frames, bytes;		/* held so far */
	uint64_t held;			/* frames at this moment */
};

/*
 * What links there are to node @to of @nodes. @text: LATENCY:BANDWIDTH, microseconds and MB/s, of all links (0: none,
 * no limit); otherwise the name of a file with a link a line, NODE NODE LATENCY BANDWIDTH, where * stands for any node,
 * later lines count, and # begins a comment. A line speaks of both directions. 0; -1: a sentence in @why.
 */
int model_parse(const char *text, uint32_t nodes, uint32_t to, struct model_link *link, char *why, size_t len);

/* @m gets its queues; @link and @busy must stay. 0, or -1: no memory. */
int model_start(struct model *m, uint32_t nodes, const struct model_link *link, int64_t *busy);
/* What is still held is forgotten. */
void model_stop(struct model *m);

/*
 * A frame of @rank, of node @node, has come; it is copied. @n 0: nothing more comes from that rank, which is told after
 * the last of its frames. 1: the caller delivers it now, nothing holds it back. 0: it is held. -1: no memory.
 */
int model_take(struct model *m, uint32_t node, uint32_t rank, const uint8_t *bytes, uint32_t n, int64_t now);
typedef void model_deliver(void *ctx, uint32_t rank, const uint8_t *bytes, uint32_t n);
/* @deliver what is due. Returns when the next one is, 0: none is held. @deliver may not call model_stop(). */
int64_t model_run(struct model *m, int64_t now, model_deliver *deliver, void *ctx);

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_together.h - a long copy between two processes of the node, made by both of them
 */
#ifndef NAL_TOGETHER_H
#define NAL_TOGETHER_H

#include "nal.h"

#define TOGETHER_MIN	(48u << 10)	/* bytes; below, the copy is over before the other side has noticed */

/**
 * nal_together_copy - copy @n bytes between own memory and a peer's, with the peer's help if it happens to poll
 * @l:       the peer's NI; @slot: its number
 * @put:     own -> peer, else peer -> own
 * @theirs:  the peer's address, @ours: ours: each in its owner's terms, both reachable through the windows
 * @far:     the peer's bytes as seen from here
 *
 * Returns when all bytes are in place: true when the peer has copied some. Never waits for a peer that has not begun to
 * help; one that dies while it helps has its part copied again.
 */
bool nal_together_copy(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, bool put, uint64_t theirs, uint64_t ours,
		       void *far, uint64_t n);

/* The owner, from its progress: take part in a copy that process @slot has announced, if there is one. */
void nal_together_help(struct nal_ni *ni, uint32_t slot);

#endif

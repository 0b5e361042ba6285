/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3l_line.h - a message of one line, written into a lane; see lane.c
 *
 * In a header, since handing over its arguments would be a third of the work.
 */
#ifndef P3L_LINE_H
#define P3L_LINE_H

#include "p3l.h"

#define P3L_AHEAD 8	/* lines fetched for writing before they are due: the owner does not look at them yet */

/* Everything but its word: with that it is published. */
static inline void p3l_line_fill(struct p3l_line *m, uint32_t pt, uint64_t match_bits, uint64_t hdr_data,
				 const void *data, uint32_t n)
{
	uint32_t head = (match_bits ? P3L_LF_MATCH : 0) | (hdr_data ? P3L_LF_HDR : 0) | pt << 8 | n << 16;
	uint8_t *d = m->body;

	_Static_assert(offsetof(struct p3l_line, pt) == 5 && offsetof(struct p3l_line, len) == 6, "one store");
	p3l_copy(m->more, &head, 4);		/* flags, pt, len */
	if (match_bits) {
		p3l_copy(d, &match_bits, 8);
		d += 8;
	}
	if (hdr_data) {
		p3l_copy(d, &hdr_data, 8);
		d += 8;
	}
	p3l_copy_short(d, data, n);
}

/* Publish a message of @lines at the tail, its first word last. */
static inline uint32_t p3l_line_publish(struct p3l_lane_tx *tx, struct p3l_line *first, uint32_t lines,
					bool ask)
{
	uint32_t old = 0;

	if (ask) {
		old = p3_xchg(&first->word, p3l_word(P3L_W_FULL, tx->tail));	/* M:attention.put */
		old = p3l_word(old, tx->tail) == old ? old & P3L_W_STATE : 0;
	} else {
		p3_store_rel(&first->word, p3l_word(P3L_W_FULL, tx->tail));	/* M:lane.publish for lane_ready() */
	}
	tx->tail += lines;
	return old;
}

#endif

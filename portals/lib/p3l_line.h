/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3l_line.h - a message of one line, written into a lane; see lane.c. And one taken from there, see hot.c
 *
 * In a header, since handing over its arguments would be a third of the work.
 */
#ifndef P3L_LINE_H
#define P3L_LINE_H

#include "p3l.h"

#define P3L_AHEAD 8	/* lines fetched for writing before they are due: the owner does not look at them yet */
#define P3L_FETCH 4	/* lines fetched for reading, where messages come faster than they are taken */

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
	if (p3_likely(n == 8))
		p3l_copy(d, data, 8);
	else
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

/*
 * Line @m at the head @head of lane @slot is FULL, and what is asked for is given (p3l_known.given), by an owner who is
 * alone there. As p3l_inbox_hot() does with a message of one line that has match bits and header data. 1: taken, in
 * @sink. 0: it is none of these. -1: it is not the one that was asked for, or must wait.
 */
static inline int p3l_line_take(struct p3l_ni *ni, struct p3l_lane_hdr *lane, uint32_t slot, uint32_t head,
				const struct p3l_line *m, struct p3l_sink *sink)
{
	const struct p3l_known *k = sink->known;
	uint64_t bits, hdr_data;
	uint32_t w, n;

	p3l_copy(&w, m->more, 4);		/* flags, pt, len */
	n = w >> 16;
	if (p3_unlikely((w & 0xffff) != ((P3L_LF_MATCH | P3L_LF_HDR) | k->pt << 8) || n > P3L_BODY - 16))
		return 0;
	p3l_copy(&bits, m->body, 8);
	p3l_copy(&hdr_data, m->body + 8, 8);
	if (p3_unlikely(((k->match_bits ^ bits) & k->mask) || ((k->hdr_data ^ hdr_data) & k->hdr_mask) ||
			n > k->length || !p3l_sink_open(ni, sink)))
		return -1;
	sink->ev.match_bits = bits;
	sink->ev.hdr_data = hdr_data;
	sink->ev.rlength = n;
	sink->ev.initiator = (uint16_t)slot;
	P3_PROBE_ADD(match, lane->hot_count, 1, P3_F5, P3_ARG(1, ni), P3_ARG(2, slot), P3_ARGM(3, k->pt),
		     P3_ARGM(4, k->md_idx), P3_ARG(5, n));
	P3_PROBE_ADD(copy, lane->hot_length, n, P3_F3, P3_ARG(1, P3_WAY_INBOX), P3_ARG(2, 1), P3_ARG(3, n));
	P3_PROBE3(inbox_take, ni, slot, head);
	if (p3_likely(n == 8))
		p3l_copy((uint8_t *)(uintptr_t)k->start, m->body + 16, 8);
	else
		p3l_copy_line((uint8_t *)(uintptr_t)k->start, m->body + 16, n);
	p3_store_rel(&lane->head, head + 1);
	if (p3_unlikely(head + 1 - lane->head_pub >= ni->lane_lines / 4))
		p3_store_rel(&lane->head_pub, head + 1);
	return 1;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lane.c - small messages left in the target's inbox; the protocol is at struct p3l_lane_hdr in p3l_layout.h
 *
 * A message of up to 56 bytes, its optional words included, is one line, hence one cache-line transfer.
 */
#include "p3l_line.h"

/* Bits set among the lowest five. __builtin_popcount would call libgcc, here and in the kernel, which has none. */
static unsigned words(unsigned f)
{
	unsigned pairs = (f & 5) + (f >> 1 & 5);

	_Static_assert((P3L_LF_MATCH | P3L_LF_HDR | P3L_LF_OFF | P3L_LF_ACK | P3L_LF_AC) == 31, "five optional words");
	return (pairs & 3) + (pairs >> 2) + (f >> 4 & 1);
}

uint32_t p3l_lane_look(struct p3l_lane_hdr *l, struct p3l_lane_tx *tx)
{
	tx->head_seen = p3_load_acq(&l->head_pub);	/* M:lane.room */
	return tx->head_seen;
}

static bool room(struct p3l_ni *ni, struct p3l_lane_hdr *l, struct p3l_lane_tx *tx, uint32_t lines)
{
	return p3_likely(ni->lane_lines - (tx->tail - tx->head_seen) > lines) ||	/* > : the line behind stays free */
	       ni->lane_lines - (tx->tail - p3l_lane_look(l, tx)) > lines;
}

bool p3l_lane_room(struct p3l_ni *ni, uint32_t slot, struct p3l_lane_tx *tx, uint64_t len)
{
	uint32_t lines = p3l_lines(5 * 8 + (uint32_t)len);

	/* twice: the message may have to leave the end of the ring unused */
	return room(ni, p3l_lane(ni, slot), tx, 2 * lines);
}

/* The lines behind the first. */
static void put_more(struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t line, const uint8_t *s, uint32_t n)
{
	for (; n; line++) {
		struct p3l_line *m = p3l_lane_line(ni, l, line);

		p3_prefetchw(p3l_lane_line(ni, l, line + P3L_AHEAD));
		p3_store(&m->word, p3l_word(P3L_W_MORE, line));	/* M:lane.more */
		if (p3_unlikely(n < P3L_CONT)) {
			p3l_copy_short(m->more, s, n);
			return;
		}
		p3l_copy(m->more, s, P3L_CONT);
		s += P3L_CONT;
		n -= P3L_CONT;
	}
}

/* The rest of the ring is too short for a message: it starts again in front. */
static __attribute__((__noinline__)) void skip(struct p3l_ni *ni, struct p3l_lane_hdr *l, struct p3l_lane_tx *tx,
					       uint32_t to_end)
{
	struct p3l_line *m = p3l_lane_line(ni, l, tx->tail);

	m->flags = P3L_LF_SKIP;
	m->pt = 255;	/* no entry: who decides by it whether to lock the lane locks it */
	m->len = 0;
	for (uint32_t i = 1; i < to_end; i++)
		p3_store(&p3l_lane_line(ni, l, tx->tail + i)->word,	/* M:lane.skip */
			 p3l_word(P3L_W_MORE, tx->tail + i));
	p3l_line_publish(tx, m, to_end, false);
}

static void ring(struct p3l_ni *ni, uint32_t slot, struct p3l_lane_tx *tx)
{
	p3_fetch_or(&ni->lanes_used[slot >> 6], (uint64_t)1 << (slot & 63));
	tx->used = true;
}

uint32_t p3l_lane_put_line(struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t slot, struct p3l_lane_tx *tx, uint32_t pt,
			   uint64_t match_bits, uint64_t hdr_data, const void *data, uint32_t n, bool ask)
{
	struct p3l_line *m = p3l_lane_line(ni, l, tx->tail);
	uint32_t old;

	p3l_line_fill(m, pt, match_bits, hdr_data, data, n);
	P3_TRACED(write(ni, slot, tx->tail, n));
	old = p3l_line_publish(tx, m, 1, ask);
	if (!ask)		/* else the owner marks the next lines, and has them */
		p3_prefetchw(p3l_lane_line(ni, l, tx->tail + P3L_AHEAD));
	if (p3_unlikely(!tx->used))
		ring(ni, slot, tx);
	return old;
}

uint32_t p3l_lane_put(struct p3l_ni *ni, uint32_t slot, struct p3l_lane_tx *tx, const struct p3l_hdr *h,
		  const void *data, bool ask)
{
	struct p3l_lane_hdr *l = p3l_lane(ni, slot);
	uint8_t f, first = (uint8_t)((h->match_bits ? P3L_LF_MATCH : 0) | (h->hdr_data ? P3L_LF_HDR : 0));
	uint32_t bytes, lines, to_end, old, n;
	struct p3l_line *m;
	uint64_t *w;

	if (p3_likely(!h->roffset && !h->ack && !h->ac && p3l_one_line(h->match_bits, h->hdr_data, h->rlength)))
		return p3l_lane_put_line(ni, l, slot, tx, h->pt, h->match_bits, h->hdr_data, data, (uint32_t)h->rlength, ask);
	f = (uint8_t)(first | (h->roffset ? P3L_LF_OFF : 0) | (h->ack ? P3L_LF_ACK : 0) | (h->ac ? P3L_LF_AC : 0));
	bytes = words(f) * 8 + (uint32_t)h->rlength;
	lines = p3l_lines(bytes);
	to_end = p3l_lane_mask(ni) + 1 - (tx->tail & p3l_lane_mask(ni));
	if (p3_unlikely(lines > to_end))
		skip(ni, l, tx, to_end);
	m = p3l_lane_line(ni, l, tx->tail);
	m->flags = f;
	m->pt = (uint8_t)h->pt;
	m->len = (uint16_t)h->rlength;
	w = (uint64_t *)m->body;
	if (f & P3L_LF_MATCH)
		*w++ = h->match_bits;
	if (f & P3L_LF_HDR)
		*w++ = h->hdr_data;
	if (f & P3L_LF_OFF)
		*w++ = h->roffset;
	if (f & P3L_LF_ACK)
		*w++ = h->md | (uint64_t)h->md_gen << 32;
	if (f & P3L_LF_AC)
		*w++ = h->ac;
	n = (uint32_t)h->rlength - (bytes > P3L_BODY ? bytes - P3L_BODY : 0);
	p3l_copy_short((uint8_t *)w, data, n);
	put_more(ni, l, tx->tail + 1, (const uint8_t *)data + n, (uint32_t)h->rlength - n);
	P3_TRACED(write(ni, slot, tx->tail, (uint32_t)h->rlength));
	old = p3l_line_publish(tx, m, lines, ask);
	if (p3_unlikely(!tx->used))
		ring(ni, slot, tx);
	return old;
}

bool p3l_lane_mark(struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t state)
{
	uint32_t head = p3_load_acq(&l->head), w;	/* M:attention.mark-head M:lane.late-head */
	struct p3l_line *m = p3l_lane_line(ni, l, head);

	P3L_POINT("mark");
	w = p3_load(&m->word);	/* M:attention.mark-look M:lane.late-look */
	P3L_POINT("mark swap");
	if (w == p3l_word(P3L_W_FULL, head))
		return false;
	if (p3_unlikely(p3l_word_after(w, head)))	/* it has been emptied, laps ago */
		return true;
	p3_prefetchw(p3l_lane_line(ni, l, head + 1));	/* marked next, when a message has come */
	if (w == p3l_word(state, head))
		return true;
	if (p3_cas32(&m->word, w, p3l_word(state, head)))	/* M:attention.mark M:lane.late */
		return true;
	/* else an initiator has emptied it: it knows that it must act */
	return p3_load_acq(&l->head) != head;	/* M:attention.mark-again */
}

/*
 * Everything read here was written by another process: each value is copied once and checked. The initiator's
 * identity is not in the message; the caller knows whose lane it is.
 */
int p3l_lane_peek(struct p3l_ni *ni, struct p3l_lane_hdr *l, struct p3l_hdr *h, struct p3l_data *data)
{
	uint32_t head, to_end, bytes, lines;
	const uint64_t *w;
	struct p3l_line *m;
	uint8_t f;

again:
	head = l->head;	/* M:lane.head-plain */
	m = p3l_lane_line(ni, l, head);
	if (p3_load_acq(&m->word) != p3l_word(P3L_W_FULL, head))	/* M:lane.peek */
		return 0;
	to_end = p3l_lane_mask(ni) + 1 - (head & p3l_lane_mask(ni));
	f = p3_load(&m->flags);
	if (p3_unlikely(f & P3L_LF_SKIP)) {
		p3_cas32(&l->head, head, head + to_end);	/* the owner may be here without the lock, too */
		goto again;
	}
	h->rlength = p3_load(&m->len);
	h->pt = p3_load(&m->pt);
	bytes = words(f) * 8 + (uint32_t)h->rlength;
	lines = p3l_lines(bytes);
	if (p3_unlikely(f & ~31 || h->rlength > P3L_LANE_MAX || lines > to_end))
		return -1;
	w = (const uint64_t *)m->body;
	h->type = P3L_PUT;
	h->match_bits = f & P3L_LF_MATCH ? *w++ : 0;
	h->hdr_data = f & P3L_LF_HDR ? *w++ : 0;
	h->roffset = f & P3L_LF_OFF ? *w++ : 0;
	h->ack = 0;
	h->md = h->md_gen = 0;
	if (f & P3L_LF_ACK) {
		uint64_t v = *w++;

		h->ack = 1;
		h->md = (uint32_t)v;
		h->md_gen = (uint32_t)(v >> 32);
	}
	h->ac = f & P3L_LF_AC ? (uint32_t)*w++ : 0;
	data->first = (const uint8_t *)w;
	data->n_first = (uint32_t)(m->body + P3L_BODY - data->first);
	data->line = head + 1;
	data->mask = p3l_lane_mask(ni);
	data->ring = p3l_lane_line(ni, l, 0);
	return (int)lines;
}

void p3l_data_read_more(const struct p3l_data *d, uint8_t *t, uint64_t n)
{
	uint32_t line = d->line;

	p3l_copy_short(t, d->first, d->n_first);
	for (t += d->n_first, n -= d->n_first; n >= P3L_CONT; t += P3L_CONT, n -= P3L_CONT)
		p3l_copy(t, d->ring[line++ & d->mask].more, P3L_CONT);
	p3l_copy_short(t, d->ring[line & d->mask].more, (uint32_t)n);
}

/* The message at the head is consumed. The producer learns of it a quarter of a ring later at most. */
void p3l_lane_advance(struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t lines)
{
	p3_store_rel(&l->head, l->head + lines);	/* M:lane.advance */
}

void p3l_lane_release(struct p3l_ni *ni, struct p3l_lane_hdr *l)
{
	if (l->head - l->head_pub >= ni->lane_lines / 4)
		p3_store_rel(&l->head_pub, l->head);	/* M:lane.release pairs with the acquire in room() */
}

/*
 * Taken from a consumer that died: if it had begun the operation of the message at the head (which is finished from its
 * record), the message has been consumed.
 */
static __attribute__((__noinline__)) void inherit(struct p3l_ni *ni, struct p3l_lane_hdr *l, uint32_t dead)
{
	uint32_t lane = (uint32_t)(((char *)l - ((char *)ni + P3L_LANE_OFF)) / P3L_LANE_STRIDE);
	struct p3l_data data;
	struct p3l_hdr h;

	if (dead >= P3L_MAX_SLOTS)
		return;
	for (unsigned k = 0; k < P3L_OPS; k++) {
		struct p3l_op *op = &p3l_row(ni, dead)->op[k];
		uint32_t state = p3_load_acq(&op->state);
		int lines;

		if (state < P3L_OP_PREP || op->lane != l->head + 1 || op->src != lane)
			continue;
		lines = p3l_lane_peek(ni, l, &h, &data);
		if (lines > 0)
			p3l_lane_advance(ni, l, (uint32_t)lines);
		return;
	}
}

bool p3l_lane_lock(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_lane_hdr *l, bool wait)
{
	uint32_t holder;

	if (p3_likely(p3_cas32(&l->lock, 0, env->self)))	/* M:lane.try */
		return true;
	if (wait) {
		holder = p3l_lock_slow(env, ni, &l->lock, -1);
	} else {
		holder = p3_load(&l->lock);
		if (!holder || holder == env->self || env->alive(holder - 1) ||
		    !p3_cas32(&l->lock, holder, env->self))
			return false;
		p3l_count(env, &p3l_row(ni, env->self - 1)->stats.takeovers, 1);
	}
	if (p3_unlikely(holder))
		inherit(ni, l, holder - 1);
	return true;
}

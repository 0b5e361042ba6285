/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* fr_int.h - what the files of the frame engine share; not for others */
#ifndef FR_INT_H
#define FR_INT_H

#include "frame.h"

/* frame.c */
struct fr_msg *fr_msg_get(struct fr_engine *e, struct fr_peer *p);
void fr_msg_put(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m);
void fr_queue(struct fr_peer *p, struct fr_msg *m);
void fr_head(const struct fr_engine *e, const struct fr_peer *p, enum wire_type type, struct wire_hdr *h);
bool fr_copy(struct fr_engine *e, bool to, uint64_t start, uint64_t iov, uint32_t iov_n, uint64_t off, bool direct,
	     uint8_t *buf, uint64_t len);
bool fr_there(struct fr_engine *e, bool to, uint32_t md, uint64_t start, uint64_t iov, uint32_t iov_n, uint64_t off,
	      uint64_t len, uint64_t ahead);
bool fr_direct(struct fr_engine *e, uint32_t mdflags, uint64_t start, uint64_t iov, uint64_t off, uint64_t len);
uint8_t *fr_buf_get(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m, uint64_t len);
uint32_t fr_segments(struct fr_engine *e, uint64_t start, uint64_t iov, uint32_t iov_n, uint64_t off, uint64_t len,
		     struct wire_vec *v, uint32_t max, uint64_t *n);
void fr_finished(struct fr_peer *p, uint32_t req);

/* Nothing is awaited there any more. */
static inline void fr_wait_done(struct fr_engine *e, struct fr_wait *w)
{
	uint32_t token = w->state ? w->token : 0;

	w->state = FR_W_NONE;
	if (token)
		e->ended(e->ended_arg, token);
}

/* Where the owner's byte @addr, which is direct, is here. */
static inline void *fr_at(const struct fr_engine *e, uint64_t addr)
{
	return (void *)(uintptr_t)(e->mask ? e->window | (addr & e->mask) : addr);
}

/* fr_out.c */
void fr_pump(struct fr_engine *e, struct fr_peer *p);
void fr_acked(struct fr_engine *e, struct fr_peer *p, const struct wire_hdr *h);
void fr_nop(struct fr_engine *e, struct fr_peer *p, int channel, uint16_t flags);
void fr_end_msg(struct fr_engine *e, struct fr_peer *p, struct fr_msg *m, uint32_t fail);

#endif

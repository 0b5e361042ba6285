/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * wire.h - what a frame between two nodes looks like
 *
 * The only place that knows the layout: portals/doc/WIRE-FORMAT.md tells it, wire.c writes and reads it, byte by byte
 * and little-endian on every machine. A header is 128 bytes; wire_decode() returns it only when version, lengths,
 * indices and checksum are right, so whoever gets a struct wire_hdr need not ask again. Freestanding: also for the
 * kernel.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC	0x31463350U	/* "P3F1" in the order of the bytes */
#define WIRE_VERSION	2
#define WIRE_HDR	128		/* bytes */
#define WIRE_PAYLOAD	32768		/* the most in one frame, */
#define WIRE_BULK	262144		/* and on a link that loses none */
#define WIRE_SWAP_MAX	64		/* the most of a getput: P3L_MAX_GETPUT */
#define WIRE_OPS	9		/* atomic operations */
#define WIRE_NO_MD	0xffffffffU	/* PTL_MD_NONE: nothing is to come back */
#define WIRE_INDEX_MAX	0xffff		/* portal and AC indices above are sent as this: no table is so long */

/*
 * PUT to REPLY are the specification's messages; DATA goes on with a long one; NOP is for links only. ATOMIC is a
 * GETPUT of one word whose step is an operation.
 */
#define WIRE_TYPES(X) X(NONE) X(PUT) X(GET) X(GETPUT) X(ACK) X(REPLY) X(DATA) X(NOP) X(ATOMIC)
enum wire_type {
#define X(t) WIRE_##t,
	WIRE_TYPES(X)
#undef X
	WIRE_TYPE_MAX
};

enum wire_flags {
	WIRE_F_ANSWER = 1,	/* DATA: of the reply under way, not of the request; NOP: about an answer */
	WIRE_F_SUM = 2,		/* paysum is valid */
	WIRE_F_ASK = 4,		/* acknowledge this frame at once */
	WIRE_F_AGAIN = 8,	/* NOP: the frame numbered `ack` is missing, send from there */
	WIRE_F_BUSY = 16,	/* NOP: it has come, and finds no room; send it again, later */
	WIRE_F_FAULT = 32,	/* the bytes could not be read at their source: they are zeroes */
	WIRE_F_BYE = 64,	/* NOP: its source has ended; this is its last frame */
	WIRE_F_ALL = 127
};

/* Bytes that go out or come in, as a struct iovec names them. */
struct wire_vec {
	void *at;
	size_t len;
};

/* A frame as its link gets it: a header, and @n pieces of @len bytes in all. */
struct wire_frame {
	const uint8_t *hdr;
	const struct wire_vec *v;
	uint32_t n, len;
	bool stays;			/* the pieces do, until it is acknowledged: the link may read them later */
	void *whose;			/* for the one whose memory it is, when it turns out not to be there */
	uint64_t tag;
};

struct wire_hdr {
	uint8_t type;
	uint16_t flags;
	uint32_t paylen;		/* bytes that follow the header in this frame */
	uint32_t jid, src_nid, src_pid, src_uid, dst_nid, dst_pid;
	/* the link */
	uint32_t seq;			/* of this frame, among requests or among answers; NOPs have none */
	uint32_t ack[2];		/* all frames below have come: requests, answers */
	uint32_t done;			/* all requests below are finished, answered or not */
	/* the message */
	uint32_t req;			/* number of the request, of those that want an answer; echoed by it */
	uint32_t pt, ac;
	uint64_t match_bits, hdr_data, rlength, mlength;
	uint64_t roffset;		/* DATA: place of the payload's first byte in the message */
	uint64_t loffset;		/* GET, GETPUT, ATOMIC, REPLY: where in the initiator's MD */
	uint32_t md, md_gen;		/* initiator's MD, or WIRE_NO_MD */
	uint32_t op;			/* ATOMIC: 1 + ptl_atomic_np_t */
	uint32_t paysum;
};

enum wire_err {
	WIRE_OK, WIRE_E_SHORT, WIRE_E_MAGIC, WIRE_E_VERSION, WIRE_E_SUM, WIRE_E_TYPE, WIRE_E_FLAGS, WIRE_E_LENGTH,
	WIRE_E_INDEX, WIRE_E_PAYSUM, WIRE_E_MAX
};

/* @to: WIRE_HDR bytes. Fields that @h's type does not have are written as they are: leave them 0. */
void wire_encode(const struct wire_hdr *h, uint8_t *to);

/*
 * @from: @n bytes, of which a header is needed now; the payload is checked by wire_check_payload() when it is there.
 * @h is written on WIRE_OK only.
 */
enum wire_err wire_decode(const uint8_t *from, size_t n, struct wire_hdr *h);
enum wire_err wire_check_payload(const struct wire_hdr *h, const void *payload);

/* Bytes of the whole frame that starts with these WIRE_HDR bytes, for whoever cuts a stream; 0: no frame starts
 * here. */
uint32_t wire_frame_len(const uint8_t *from);

/* What says whose it is, of WIRE_HDR bytes that nobody has checked: to find who is to decode it. */
struct wire_ids {
	uint16_t flags;
	uint32_t src_nid, src_pid, dst_nid, dst_pid;
};
void wire_ids(const uint8_t *from, struct wire_ids *ids);

uint32_t wire_sum(const void *p, size_t n);	/* CRC-32C */
const char *wire_type_name(unsigned type);
const char *wire_strerror(enum wire_err e);

/* Requests and answers are numbered apart: an answer never waits for a request that finds no room. */
static inline int wire_channel(const struct wire_hdr *h)
{
	return h->type == WIRE_ACK || h->type == WIRE_REPLY || (h->flags & WIRE_F_ANSWER);
}

/* Is frame or request number @a before @b? They are counted freely. */
static inline bool wire_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

#endif

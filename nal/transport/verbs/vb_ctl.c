/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * vb_ctl.c - what the two sides of a queue pair tell each other, as bytes
 *
 * It goes over the TCP connection between them, which both have proved to be of the job, as a frame of no type, so that
 * no engine takes it for one. Little-endian:
 *
 *	0 "P3V1"  4 kind  8 epoch  12 qpn  16 psn  20 lid(2) mtu(1) link layer(1)  24 gid(16)
 *	40 taken  44 room  48 nonce(16)  64 MAC(16): the job's key, of both ranks and the bytes before
 *
 * An OFFER has 16 random bytes, the READY that answers it has the same: who says READY has the key now, not only once,
 * and means this queue pair. No frame goes before.
 */
#include "config.h"

#include "vb.h"

#include <string.h>

#define MAGIC 0x31563350U		/* "P3V1" */
#define AT_MAC 64

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void header(uint8_t *to)
{
	const struct wire_hdr h = { .type = WIRE_NONE, .paylen = VB_CTL };

	wire_encode(&h, to);
}

static void mac_of(const struct tcp *t, uint32_t from, uint32_t to, const uint8_t *b, uint8_t mac[16])
{
	uint8_t m[1 + 8 + AT_MAC];

	m[0] = 3;				/* not one of tcp.c's */
	put32(m + 1, from);
	put32(m + 5, to);
	memcpy(m + 9, b, AT_MAC);
	tcp_mac(t->key, m, sizeof(m), mac);
}

void vb_ctl_encode(const struct vb_ctl *c, const struct tcp *t, uint32_t to, uint8_t *frame)
{
	uint8_t *b = frame + WIRE_HDR;

	header(frame);
	put32(b, MAGIC);
	put32(b + 4, c->kind);
	put32(b + 8, c->epoch);
	put32(b + 12, c->qpn);
	put32(b + 16, c->psn);
	b[20] = (uint8_t)c->lid;
	b[21] = (uint8_t)(c->lid >> 8);
	b[22] = c->mtu;
	b[23] = c->link_layer;
	memcpy(b + 24, c->gid.raw, 16);
	put32(b + 40, c->taken);
	put32(b + 44, c->room);
	memcpy(b + 48, c->nonce, 16);
	mac_of(t, t->rank, to, b, b + AT_MAC);
}

bool vb_ctl_is(const uint8_t *hdr)
{
	uint8_t h[WIRE_HDR];

	header(h);
	return !memcmp(hdr, h, WIRE_HDR);
}

bool vb_ctl_decode(const uint8_t *frame, const struct tcp *t, uint32_t from, struct vb_ctl *c)
{
	const uint8_t *b = frame + WIRE_HDR;
	uint8_t mac[16];

	mac_of(t, from, t->rank, b, mac);
	if (get32(b) != MAGIC || !tcp_same(mac, b + AT_MAC))
		return false;
	*c = (struct vb_ctl){ .kind = get32(b + 4), .epoch = get32(b + 8), .qpn = get32(b + 12),
		.psn = get32(b + 16), .lid = (uint16_t)(b[20] | b[21] << 8), .mtu = b[22],
		.link_layer = b[23], .taken = get32(b + 40), .room = get32(b + 44) };
	memcpy(c->gid.raw, b + 24, 16);
	memcpy(c->nonce, b + 48, 16);
	return c->kind >= VB_OFFER && c->kind <= VB_END && c->room <= VB_DEPTH &&
	       (c->kind != VB_OFFER || (c->qpn < 1U << 24 && c->psn < 1U << 24 && c->room >= 2 &&
					c->mtu >= IBV_MTU_256 && c->mtu <= IBV_MTU_4096));
}

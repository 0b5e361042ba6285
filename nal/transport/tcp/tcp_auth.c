/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tcp_auth.c - does the other side have the job's key?
 *
 * SipHash-2-4 (Aumasson and Bernstein, 2012) of the message under the key, twice with another first byte, for 128
 * bits. It keeps processes out that do not belong to the job; frames themselves are neither signed nor encrypted.
 */
#include "config.h"

#include "tcp.h"

#include <string.h>

static uint64_t rotl(uint64_t x, int b)
{
	return x << b | x >> (64 - b);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

struct sip {
	uint64_t v0, v1, v2, v3;
};

static void round_(struct sip *s, int n)
{
	while (n--) {
		s->v0 += s->v1, s->v1 = rotl(s->v1, 13) ^ s->v0, s->v0 = rotl(s->v0, 32);
		s->v2 += s->v3, s->v3 = rotl(s->v3, 16) ^ s->v2;
		s->v0 += s->v3, s->v3 = rotl(s->v3, 21) ^ s->v0;
		s->v2 += s->v1, s->v1 = rotl(s->v1, 17) ^ s->v2, s->v2 = rotl(s->v2, 32);
	}
}

uint64_t tcp_siphash(const uint8_t key[16], const void *msg, size_t n)
{
	uint64_t k0 = get64(key), k1 = get64(key + 8), m;
	struct sip s = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
		k1 ^ 0x7465646279746573 };
	const uint8_t *p = msg;
	uint8_t last[8] = { 0 };
	size_t left = n;

	for (; left >= 8; p += 8, left -= 8) {
		m = get64(p);
		s.v3 ^= m;
		round_(&s, 2);
		s.v0 ^= m;
	}
	memcpy(last, p, left);
	last[7] = (uint8_t)n;
	m = get64(last);
	s.v3 ^= m;
	round_(&s, 2);
	s.v0 ^= m;
	s.v2 ^= 0xff;
	round_(&s, 4);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

void tcp_mac(const uint8_t key[16], const void *msg, size_t n, uint8_t mac[16])
{
	uint8_t b[128];

	if (n > sizeof(b) - 1)
		n = sizeof(b) - 1;
	memcpy(b + 1, msg, n);
	for (int i = 0; i < 2; i++) {
		uint64_t h;

		b[0] = (uint8_t)(1 + i);
		h = tcp_siphash(key, b, n + 1);
		for (int k = 0; k < 8; k++)
			mac[8 * i + k] = (uint8_t)(h >> 8 * k);
	}
}

bool tcp_same(const uint8_t a[16], const uint8_t b[16])
{
	uint8_t d = 0;

	for (int i = 0; i < 16; i++)
		d |= a[i] ^ b[i];
	return !d;
}

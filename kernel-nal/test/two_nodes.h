/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * two_nodes.h - for tests of the module's way to other nodes: two interfaces of this process are two nodes, joined by
 * the loopback device (netdev=lo), and a packet socket sees what they say, and says what it likes; lines of TAP. For
 * root. (hostile.c has the lines only.)
 */
#ifndef TWO_NODES_H
#define TWO_NODES_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <p3api/types.h>
#include "p3l.h"
#include "portals_gp.h"
#include "wire/wire.h"

#pragma GCC diagnostic ignored "-Wunused-function"	/* a test need not use all */

#define TYPE	0x88b5
#define HEAD	24			/* gptl_eth.h */
#define BUF	8192
#define FAR	1			/* slot of the other node: each has one rank */

struct side {
	int fd;
	struct p3l_ni *l;
	uint32_t *claims;
	uint64_t region;
	uint32_t nid;
	struct gptl_ref eq, md;
	uint8_t *buf;			/* a page before and behind it */
};

static struct side side[2];
static int n_tests, failed, wire;
static uint64_t seed, key[2];
static uint32_t job_number;
static uint8_t frame[70000];
static uint8_t source[6];		/* Ethernet address of what we say */

static void ok(bool good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++n_tests, name);
	fflush(stdout);
	failed |= !good;
}

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t rotl(uint64_t x, int n)
{
	return x << n | x >> (64 - n);
}

static void sip_round(uint64_t *v)
{
	v[0] += v[1], v[1] = rotl(v[1], 13) ^ v[0], v[0] = rotl(v[0], 32);
	v[2] += v[3], v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3], v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1], v[1] = rotl(v[1], 17) ^ v[2], v[2] = rotl(v[2], 32);
}

/* SipHash-2-4 of whole words, as the kernel's siphash() */
static uint64_t sip(const void *p, size_t n)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
			  key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull }, m;

	for (size_t i = 0; i <= n; i += 8) {
		m = (uint64_t)n << 56;
		if (i < n)
			memcpy(&m, (const uint8_t *)p + i, 8);
		v[3] ^= m;
		sip_round(v), sip_round(v);
		v[0] ^= m;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- two nodes ---- */

static void shut(struct side *s)
{
	munmap(s->l, s->region);
	munmap(s->claims, 4096);
	munmap(s->buf - 4096, BUF + 8192);
	close(s->fd);
}

static bool open_side(struct side *s, uint32_t nid)
{
	struct gptl_open o = { .abi = GPTL_ABI, .layout = P3L_VERSION, .jid = 1, .nid = nid, .pid = 100, .size = 1,
			       .max_me = 256, .max_md = 256, .max_eq = 8, .max_pt = 7, .max_ac = 1,
			       .max_me_list = 256, .max_iov = 256, .max_getput = 64, .index_from = 16,
			       .space = 1 << 20 };
	struct gptl_eq q = { .count = 4096 };

	*s = (struct side){ .nid = nid };
	memcpy(o.key, key, sizeof(o.key));
	s->fd = open(GPTL_DEVICE, O_RDWR | O_CLOEXEC);
	if (s->fd < 0 || ioctl(s->fd, GPTL_OPEN, &o) || ioctl(s->fd, GPTL_EQ_ALLOC, &q) != PTL_OK)
		return false;
	s->eq = q.eq;
	s->region = o.region;
	s->l = mmap(NULL, o.region, PROT_READ, MAP_SHARED, s->fd, 0);
	s->claims = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, (off_t)GPTL_CLAIMS);
	s->buf = mmap(NULL, BUF + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->l == MAP_FAILED || s->claims == MAP_FAILED || s->buf == MAP_FAILED)
		return false;
	memset(s->buf, 0x5a, BUF + 8192);
	s->buf += 4096;
	return true;
}

/* An entry that takes all, of the whole buffer, and a descriptor to send from. */
static bool post(struct side *s)
{
	struct gptl_post p = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY, .pt = 4, .ignore = ~0ULL,
			       .md = { .start = (uintptr_t)s->buf, .length = BUF, .threshold = PTL_MD_THRESH_INF,
				       .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
					       PTL_MD_EVENT_START_DISABLE | PTL_MD_TRUNCATE,
				       .eq = (s->eq.idx + 1) | s->eq.gen << 16 } };
	struct gptl_post b = { .md = { .start = (uintptr_t)s->buf, .length = BUF, .threshold = PTL_MD_THRESH_INF } };

	if (ioctl(s->fd, GPTL_MEMD_ATTACH, &p) != PTL_OK || ioctl(s->fd, GPTL_MD_BIND, &b) != PTL_OK)
		return false;
	s->md = b.dsc;
	return true;
}

/* A new job of two nodes: other frames, so that what is left of the last one finds nobody. */
static bool begin(void)
{
	struct gptl_peer peer[2] = { 0 };

	if (job_number)
		shut(&side[0]), shut(&side[1]);
	key[0] = 0x1122334455667788ull + ++job_number;
	key[1] = 0x99aabbccddeeff00ull;
	for (uint32_t i = 0; i < 2; i++) {
		struct gptl_net net = { .round = 1 };

		if (!open_side(&side[i], 1 + i) || ioctl(side[i].fd, GPTL_NET, &net))
			return false;
		peer[i] = (struct gptl_peer){ .nid = 1 + i, .pid = 100, .uid = getuid(), .jid = 1 };
		memcpy(peer[i].mac, net.mac, 6);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct gptl_far f = { .peers = (uintptr_t)&peer[!i], .n = 1, .most = 1024 };

		if (ioctl(side[i].fd, GPTL_FAR, &f) || !post(&side[i]))
			return false;
	}
	return true;
}

static uint32_t events(const struct side *s)
{
	return *(volatile uint32_t *)&s->l->eq[s->eq.idx].tail;
}

/* Wait for event number @n of the queue (its place is given out before it is there); all until then count as read. */
static bool event(struct side *s, uint32_t n)
{
	uint32_t place = s->eq.idx;
	struct gptl_wait w = { .eqs = (uintptr_t)&place, .n = 1, .timeout_ns = 5000000000 };
	bool there;

	*(volatile uint32_t *)&s->claims[place] = n - 1;
	there = !ioctl(s->fd, GPTL_WAIT, &w);
	*(volatile uint32_t *)&s->claims[place] = n;
	return there;
}

static int put(struct side *s, uint32_t to, uint64_t len)
{
	struct gptl_move m = { .type = 1, .slot = FAR, .nid = to, .pid = 100, .pt = 4, .put = s->md, .len = len };

	return ioctl(s->fd, GPTL_MOVE, &m);
}

/* A put arrives, and nothing but its bytes is touched. */
static bool works(void)
{
	uint32_t had = events(&side[1]);
	uint8_t want[BUF];

	for (int i = 0; i < BUF; i++)
		side[0].buf[i] = (uint8_t)next();
	memcpy(want, side[0].buf, BUF);
	if (put(&side[0], 2, BUF) != PTL_OK || !event(&side[1], had + 1) || memcmp(side[1].buf, want, BUF))
		return false;
	for (int i = 0; i < 4096; i++)
		if (side[1].buf[-1 - i] != 0x5a || side[1].buf[BUF + i] != 0x5a)
			return false;
	return true;
}

/* How event number @n has ended. */
static unsigned fail_of(const struct side *s, uint32_t n)
{
	return p3l_eq_slot(s->l, &s->l->eq[s->eq.idx], n - 1)->kind_fail >> 4;
}

/* @text into file @path; false: that cannot be done here */
static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* @text into the module's parameter @name */
static void tell(const char *name, const char *text)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/module/portals_gp/parameters/%s", name);
	if (!write_to(path, text))
		ok(false, path);
}

static struct gptl_stat stat_of(const struct side *s)
{
	struct gptl_stat st = { 0 };

	ioctl(s->fd, GPTL_STAT, &st);
	return st;
}

/* ---- the wire ---- */

static bool open_wire(void)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(TYPE),
				  .sll_ifindex = (int)if_nametoindex("lo") };
	int big = 8 << 20;

	wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(TYPE));
	if (wire < 0 || bind(wire, (struct sockaddr *)&at, sizeof(at)))
		return false;
	setsockopt(wire, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
	return true;
}

/* @n bytes behind an Ethernet header. */
static void say(const void *bytes, size_t n)
{
	static uint8_t out[14 + 70000] = { [12] = TYPE >> 8, [13] = TYPE & 255 };

	memcpy(out + 6, source, 6);
	memcpy(out + 14, bytes, n);
	send(wire, out, 14 + n, 0);
}

/* A frame that has come, its bytes behind the Ethernet header in @b; 0: none so far. What we said ourselves, too. */
static size_t hear(uint8_t *b, size_t max)
{
	struct sockaddr_ll from;
	socklen_t len = sizeof(from);
	static uint8_t in[80000];
	ssize_t n;

	do
		n = recvfrom(wire, in, sizeof(in), MSG_DONTWAIT, (struct sockaddr *)&from, &len);
	while (n > 0 && from.sll_pkttype == PACKET_OUTGOING);
	if (n <= 14 || (size_t)n - 14 > max)
		return 0;
	memcpy(b, in + 14, (size_t)n - 14);
	return (size_t)n - 14;
}

static void deaf(void)
{
	uint8_t b[80000];

	usleep(20000);
	while (hear(b, sizeof(b)))
		;
}

static uint64_t job_name(void)
{
	struct { char what[8]; uint32_t round, jid; } j = { "portals", 1, 1 };

	return sip(&j, sizeof(j));
}

static uint64_t word_at(const uint8_t *b)
{
	uint64_t v;

	memcpy(&v, b, 8);
	return v;
}

/* The seal of the frame at @b. */
static uint64_t seal(const uint8_t *b)
{
	uint8_t s[16 + WIRE_HDR];

	memcpy(s, b, 16);
	memcpy(s + 16, b + HEAD, WIRE_HDR);
	return sip(s, sizeof(s));
}

static void head(uint8_t *b, uint8_t kind, size_t len)
{
	uint16_t n = (uint16_t)len;
	uint64_t job = job_name();

	memset(b, 0, HEAD);
	b[0] = 1;
	b[1] = kind;
	memcpy(b + 2, &n, 2);
	memcpy(b + 8, &job, 8);
}

/* The next data frame from node 1 to node 2 that is heard, in frame[]: its length. */
static size_t hear_put(void)
{
	struct wire_ids ids;
	double until = now() + 5;
	size_t n;

	while (now() < until) {
		n = hear(frame, sizeof(frame));
		if (n <= HEAD + WIRE_HDR || frame[1] != 1)
			continue;
		wire_ids(frame + HEAD, &ids);
		if (ids.src_nid == 1)
			return n;
	}
	return 0;
}

#endif

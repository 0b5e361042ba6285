/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * eth_hostile.c - what can come from the wire: any bytes, frames with a wrong seal, frames again, sealed frames with
 * any header, forged news that nobody is there; and the calls that bind an interface to it
 *
 * TAP. For root, with the module on the loopback device (netdev=lo). Two interfaces of this process are two nodes; a
 * packet socket sees what they say, and says what it likes. Whether the kernel has survived it says its log.
 * HOSTILE_SEED, HOSTILE_SECONDS.
 */
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
#include "p3l_layout.h"
#include "portals_gp.h"
#include "wire/wire.h"

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
			       .max_me_list = 256, .max_iov = 16, .max_getput = 64, .index_from = 16,
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

/* ---- tests ---- */

static void t_calls(void)
{
	struct gptl_peer peer[3] = { { .nid = 2, .pid = 100 }, { .nid = 2, .pid = 101 }, { .nid = 2, .pid = 100 } };
	struct gptl_net net = { .round = 1 };
	struct gptl_far f = { .peers = (uintptr_t)peer, .n = 2, .most = 1024 };
	struct gptl_drain d = { .timeout_ns = 1000000 };
	struct side *s = &side[0];

	key[0] = 77;
	if (!open_side(s, 1) || !post(s)) {
		ok(false, "an interface");
		return;
	}
	ok(!ioctl(s->fd, GPTL_DRAIN, &d), "nothing is on its way where there is no wire");
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == ENOTCONN, "first the device, then the others");
	net.pad[1] = 1;
	ok(ioctl(s->fd, GPTL_NET, &net) == -1 && errno == EINVAL, "padding must be zero");
	net.pad[1] = 0;
	ok(!ioctl(s->fd, GPTL_NET, &net) && net.most >= 1024, "bound");
	ok(ioctl(s->fd, GPTL_NET, &net) == -1 && errno == EBUSY, "once");
	f.n = 0;
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == EINVAL, "no peers");
	f.n = 70000;
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == EINVAL, "too many peers");
	f.n = 3;
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == EINVAL, "a peer twice");
	f.n = 2;
	f.most = 255;
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == EINVAL, "frames that are too short");
	f.most = 1024;
	peer[1].pad[0] = 1;
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == EINVAL, "padding of a peer");
	peer[1].pad[0] = 0;
	peer[1].nid = 1;
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == EINVAL, "a peer of our own node");
	peer[1].nid = 2;
	f.peers = 8;
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == EFAULT, "peers that are not there");
	f.peers = (uintptr_t)peer;
	ok(!ioctl(s->fd, GPTL_FAR, &f), "peers");
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == EBUSY, "once, too");
	shut(s);
}

static void t_frames_are_sealed(void)
{
	uint32_t had;
	size_t n;

	deaf();
	had = events(&side[1]);
	ok(put(&side[0], 2, 100) == PTL_OK && event(&side[1], had + 1), "a put, by the wire");
	n = hear_put();
	ok(n == HEAD + WIRE_HDR + 100 && word_at(frame + 8) == job_name() && word_at(frame + 16) == seal(frame),
	   "its frame bears the job's name, and the seal of its key");
	had = events(&side[1]);
	for (int i = 0; i < 10; i++)
		say(frame, n);
	usleep(50000);
	ok(events(&side[1]) == had && works(), "the same frame again is dropped");
}

static void t_any_bytes(double seconds)
{
	double until = now() + seconds;
	struct gptl_stat before = stat_of(&side[1]), after;
	unsigned long n = 0;
	size_t len;

	for (; now() < until; n++) {
		len = next() % 4 ? next() % 300 : next() % 65000;
		for (size_t i = 0; i < len; i += 8) {
			uint64_t v = next();

			memcpy(frame + i, &v, 8);
		}
		if (next() % 2)
			head(frame, (uint8_t)(next() % 4), next() % 2 ? len - HEAD : next());
		say(frame, len);
	}
	printf("# %lu frames\n", n);
	ok(works(), "any bytes");
	after = stat_of(&side[1]);
	ok(after.bad == before.bad, "none of them was for anybody");	/* ids that fit are one of 2^64 */
}

static void t_each_bit(void)
{
	struct gptl_stat before, after;
	uint32_t had;
	uint8_t was[HEAD + WIRE_HDR];
	size_t n;

	deaf();
	put(&side[0], 2, 8);
	n = hear_put();
	memcpy(was, frame, sizeof(was));
	usleep(20000);
	had = events(&side[1]);
	before = stat_of(&side[1]);
	for (unsigned i = 0; n && i < 8 * sizeof(was); i++) {
		frame[i / 8] ^= (uint8_t)(1 << i % 8);
		say(frame, n);
		frame[i / 8] = was[i / 8];
	}
	usleep(50000);
	after = stat_of(&side[1]);
	ok(n && events(&side[1]) == had, "a frame with one bit changed is not taken");
	ok(after.bad - before.bad > 8 * WIRE_HDR / 2, "but counted");
	ok(works(), "and does no harm");
}

/* Headers that the decoder takes, with a right seal: whoever has the key can confuse his own job, and nobody else. */
static void t_sealed(double seconds)
{
	static const uint64_t nice[] = { 0, 1, 8, 63, 64, 100, 4096, 0x7fffffff, 0xffffffff, ~0ULL, 1ULL << 63, BUF };
	const unsigned k = sizeof(nice) / sizeof(*nice);
	double until = now() + seconds;
	unsigned long n = 0;
	bool good = true;

	while (now() < until) {
		if (!begin()) {
			good = false;
			break;
		}
		for (int i = 0; i < 3000; i++, n++) {
			uint32_t len = next() % 3 ? 0 : (uint32_t)(next() % 1000);
			struct wire_hdr h = {
				.type = (uint8_t)(1 + next() % (WIRE_TYPE_MAX - 1)), .paylen = len, .jid = 1,
				.flags = next() % 4 ? 0 : (uint16_t)(next() & WIRE_F_ALL & ~WIRE_F_BYE),
				.src_nid = 1, .src_pid = 100, .src_uid = getuid(), .dst_nid = 2, .dst_pid = 100,
				.seq = next() % 2 ? (uint32_t)i : (uint32_t)next() % 64, .ack = { (uint32_t)next() % 4,
				(uint32_t)next() % 4 }, .done = (uint32_t)next() % 4, .req = (uint32_t)next() % 64,
				.pt = next() % 4 ? 4 : (uint32_t)nice[next() % k], .match_bits = next(),
				.ac = next() % 4 ? 0 : (uint32_t)nice[next() % k],
				.rlength = next() % 2 ? len : nice[next() % k], .mlength = nice[next() % k],
				.roffset = nice[next() % k], .loffset = nice[next() % k],
				.md = next() % 2 ? WIRE_NO_MD : (uint32_t)next() % 8, .md_gen = (uint32_t)next() % 4,
			};
			uint64_t s;

			if (h.type == WIRE_ATOMIC || h.type == WIRE_GETPUT) {
				h.op = h.type == WIRE_ATOMIC ? 1 + (uint32_t)next() % 12 : 0;
				h.paylen = len = (uint32_t)next() % 70;
				h.rlength = len;
				h.md = (uint32_t)next() % 8;
			}
			for (uint32_t b = 0; b < len; b++)
				frame[HEAD + WIRE_HDR + b] = (uint8_t)next();
			if (next() % 8) {
				h.flags |= WIRE_F_SUM;
				h.paysum = wire_sum(frame + HEAD + WIRE_HDR, len);
			}
			head(frame, 1, WIRE_HDR + len);
			wire_encode(&h, frame + HEAD);
			s = seal(frame);
			memcpy(frame + 16, &s, 8);
			say(frame, HEAD + WIRE_HDR + len);
			if (i % 64 == 0)
				put(&side[next() % 2], 1 + (next() % 2), 100);
		}
		for (int i = 0; i < 4096; i++)
			good &= side[1].buf[-1 - i] == 0x5a && side[1].buf[BUF + i] == 0x5a;
	}
	printf("# %lu frames\n", n);
	ok(good, "sealed frames with any header: nothing but the descriptor's memory is touched");
	ok(begin() && works(), "the next job goes on");
}

static void nobody(uint64_t echo)
{
	uint32_t who[4] = { 1, 100, 2, 100 };

	head(frame, 2, 24);
	memcpy(frame + HEAD, who, 16);
	memcpy(frame + HEAD + 16, &echo, 8);
	say(frame, HEAD + 24);
}

static void t_nobody(void)
{
	uint64_t last;
	uint8_t b[2000];
	uint32_t had;
	size_t n;
	int heard = 0;

	ok(works(), "two nodes");
	nobody(0);
	nobody(12345);
	usleep(20000);
	ok(works(), "who has not seen a frame cannot say that its target is gone");
	/* a frame for a process that is not there */
	deaf();
	had = events(&side[1]);
	put(&side[0], 2, 8);
	event(&side[1], had + 1);
	n = hear_put();
	last = word_at(frame + 16);
	frame[HEAD + 32] ^= 1;			/* dst_pid */
	deaf();
	say(frame, n);
	usleep(20000);
	while ((n = hear(b, sizeof(b))) != 0)
		heard += b[1] == 2 && n >= HEAD + 24 && word_at(b + HEAD + 16) == word_at(frame + 16);
	ok(heard == 1, "a frame for nobody is answered, with its seal");
	deaf();
	nobody(9);
	usleep(20000);
	for (heard = 0; (n = hear(b, sizeof(b))) != 0; heard++)
		;
	ok(heard == 1, "that answer is not answered");	/* we hear ourselves */
	/* acknowledgements of node 1 may have followed its put: so its last frame is any of those that we have heard */
	nobody(last);
	usleep(20000);
	had = events(&side[1]);
	ok(put(&side[0], 2, 8) == PTL_OK, "whoever has seen the last frame can: a call goes on");
	usleep(50000);
	ok(events(&side[1]) == had, "and goes nowhere");
}

static void t_one_closes(void)
{
	double t;

	ok(begin() && works(), "two nodes");
	shut(&side[1]);
	usleep(20000);
	t = now();
	ok(put(&side[0], 2, 8) == PTL_OK && put(&side[0], 2, BUF) == PTL_OK && now() - t < 2,
	   "puts to a node that has closed do not hang");
	{
		struct gptl_drain d = { .timeout_ns = 5000000000 };

		ok(!ioctl(side[0].fd, GPTL_DRAIN, &d) && now() - t < 5, "and nothing is left of them");
	}
	shut(&side[0]);
	job_number++;
}

int main(void)
{
	const char *s = getenv("HOSTILE_SEED"), *t = getenv("HOSTILE_SECONDS");
	double seconds = t ? atof(t) : 3;

	if (access(GPTL_DEVICE, R_OK | W_OK) || !open_wire()) {
		printf("1..0 # SKIP no %s, or no packet socket\n", GPTL_DEVICE);
		return 0;
	}
	seed = s ? strtoull(s, NULL, 0) : (uint64_t)time(NULL) * 2654435761U | 1;
	printf("# HOSTILE_SEED=%llu\n", (unsigned long long)seed);
	t_calls();
	ok(begin(), "a job of two nodes");
	ok(works(), "by the wire");
	t_frames_are_sealed();
	t_any_bytes(seconds);
	t_each_bit();
	t_nobody();
	t_sealed(seconds);
	t_one_closes();
	printf("1..%d\n", n_tests);
	return failed;
}

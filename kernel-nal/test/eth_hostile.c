/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * eth_hostile.c - what can come from the wire: any bytes, frames with a wrong seal, frames again, sealed frames with
 * any header, forged news that nobody is there; and the calls that bind an interface to it
 *
 * TAP. For root, with the module on the loopback device (netdev=lo). Two interfaces of this process are two nodes; a
 * packet socket sees what they say, and says what it likes. Whether the kernel has survived it says its log.
 * HOSTILE_SEED, HOSTILE_SECONDS.
 */
#include "two_nodes.h"

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
	peer[1].mac[0] = 1;
	ok(ioctl(s->fd, GPTL_FAR, &f) == -1 && errno == EINVAL, "a peer of many machines");
	peer[1].mac[0] = 0;
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

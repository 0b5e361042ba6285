/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tcp.c - the transport by itself: who gets in, who does not, and what arrives in pieces
 *
 * Two ends in one process and one libev loop; strangers are plain sockets. SipHash has the vectors of its authors.
 */
#include "../common/tap.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../nal/transport/tcp/tcp.h"
#include "../../nal/wire/wire.h"

struct end {
	struct tcp t;
	struct tcp_place place;
	unsigned frames, gone, writable;
	uint32_t seq, next;		/* of frames: to come, to be sent */
	bool refuse;
	/* frames that come in pieces */
	uint8_t *into;			/* where their payloads are wanted; NULL: they come by piece() */
	uint32_t len, came;
	uint8_t byte;
	unsigned long_, placed, unplaced, faults, resumed;
	bool always;			/* where() has an answer each time */
	bool away;			/* they could not be placed, and are dropped */
	unsigned warned;
	char warning[200];
};

static struct end end[2];
static struct ev_loop *loop;
static uint64_t state = 9;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* Frames carry their number and so many bytes of it. */
static bool on_frame(void *ctx, uint32_t rank, const uint8_t *bytes, uint32_t n)
{
	struct end *e = ctx;
	struct wire_hdr h;

	CHECK_INT(rank, e == &end[0] ? 1 : 0);
	if (!CHECK(wire_decode(bytes, n, &h) == WIRE_OK && n == WIRE_HDR + h.paylen))
		return false;
	CHECK_INT(h.seq, e->seq);
	for (uint32_t i = 0; i < h.paylen; i++)
		if (!CHECK(bytes[WIRE_HDR + i] == (uint8_t)h.seq))
			break;
	e->seq++;
	e->frames++;
	return !e->refuse;
}

static int on_begin(void *ctx, uint32_t rank, const uint8_t *hdr, uint64_t *part)
{
	struct end *e = ctx;
	struct wire_hdr h;

	if (!CHECK(wire_decode(hdr, WIRE_HDR, &h) == WIRE_OK))
		return TCP_NO;
	if (h.seq % 5 == 4)
		return TCP_WHOLE;
	CHECK_INT(h.seq, e->seq);
	CHECK_INT(e->came, e->len);		/* the last one was brought to its end */
	e->len = h.paylen;
	e->came = 0;
	e->byte = (uint8_t)h.seq;
	*part = 77;
	return TCP_PIECES;
}

static uint32_t on_where(void *ctx, uint64_t part, struct wire_vec *v, uint32_t max)
{
	struct end *e = ctx;
	uint32_t n = 0, at = e->came, left = e->len - e->came;

	CHECK_INT(part, 77);
	if (!e->into || (!e->always && rnd() % 4 == 0))
		return 0;
	for (; left && n < max && n < 1 + e->seq % 3; n++) {	/* one next to the other: some, or all that is left */
		uint32_t k = rnd() % 2 ? left : 1 + (uint32_t)(rnd() % left);

		v[n] = (struct wire_vec){ e->into + at, k };
		at += k;
		left -= k;
	}
	return n;
}

static void on_piece(void *ctx, uint64_t part, const uint8_t *bytes, uint32_t n)
{
	struct end *e = ctx;

	CHECK_INT(part, 77);
	if (!CHECK(n <= e->len - e->came))
		return;
	if (!bytes)
		e->placed++;
	for (uint32_t i = 0; i < n && !e->away; i++)
		if (!CHECK((bytes ? bytes : e->into + e->came)[i] == e->byte))
			break;
	e->came += n;
	if (e->came < e->len)
		return;
	e->seq++;
	e->frames++;
	e->long_++;
}

static void on_unplaced(void *ctx, uint64_t part)
{
	struct end *e = ctx;

	e->unplaced++;
	e->away = true;
	e->into = NULL;
}

static void on_fault(void *ctx, void *whose, uint64_t tag)
{
	CHECK(whose == ctx && tag == 99);
	((struct end *)ctx)->faults++;
}

static void on_writable(void *ctx, uint32_t rank)
{
	((struct end *)ctx)->writable++;
}

static void on_gone(void *ctx, uint32_t rank)
{
	((struct end *)ctx)->gone++;
}

static bool on_known(void *ctx, uint32_t rank)
{
	return true;
}

/* What the engine does with numbers of its own: back to the first that has not come. A frame may have come half. */
static void on_resumed(void *ctx, uint32_t rank)
{
	struct end *e = ctx;

	e->resumed++;
	e->next = end[rank].seq;
	end[rank].came = end[rank].len;
}

static void on_warn(void *ctx, const char *text)
{
	struct end *e = ctx;

	e->warned++;
	snprintf(e->warning, sizeof(e->warning), "%s", text);
}

static const struct tcp_place *on_place(void *ctx, uint32_t rank)
{
	return &end[rank].place;
}

static const struct tcp_user user = {
	.frame = on_frame, .begin = on_begin, .where = on_where, .piece = on_piece, .unplaced = on_unplaced,
	.fault = on_fault, .writable = on_writable, .resumed = on_resumed, .gone = on_gone, .known = on_known,
	.warn = on_warn, .place = on_place,
};

static struct tcp_bind at = { .n = 1 };	/* 127.0.0.1, unless a test wants another */

static void start(const char *key0, const char *key1)
{
	const uint16_t any_port = 0;

	loop = ev_loop_new(EVBACKEND_EPOLL);
	for (uint32_t i = 0; i < 2; i++) {
		end[i] = (struct end){ 0 };
		end[i].t = (struct tcp){ .loop = loop, .user = &user, .ctx = &end[i], .rank = i, .size = 2,
			.patience = 5 };
		memcpy(end[i].t.key, i ? key1 : key0, 16);
		end[i].place.n = 1;
		end[i].place.addr[0] = at.addr[0];
		if (tcp_start(&end[i].t, &at, &any_port, 1, &end[i].place.port))
			bail("no port");
	}
}

static void stop(void)
{
	tcp_stop(&end[0].t);
	tcp_stop(&end[1].t);
	ev_loop_destroy(loop);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap(struct ev_loop *l, ev_timer *w, int events)
{
}

/* The loop, until *@what is @want or time is up. */
static bool until(const unsigned *what, unsigned want)
{
	double last = now() + 10;
	ev_timer t;

	ev_timer_init(&t, nap, 0.01, 0.01);
	ev_timer_start(loop, &t);
	while (*what < want && now() < last)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &t);
	return *what >= want;
}

static void turn(int times)
{
	unsigned never = 0;
	double last = now() + 0.02 * times;
	ev_timer t;

	ev_timer_init(&t, nap, 0.005, 0.005);
	ev_timer_start(loop, &t);
	while (!never && now() < last)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &t);
}

static int send_frame(int from, uint32_t seq, uint32_t len)
{
	static uint8_t hdr[WIRE_HDR], data[WIRE_PAYLOAD];
	struct wire_hdr h = { .type = WIRE_PUT, .seq = seq, .paylen = len, .rlength = len, .md = WIRE_NO_MD };

	wire_encode(&h, hdr);
	memset(data, (uint8_t)seq, len);
	return tcp_send(&end[from].t, (uint32_t)!from, hdr, data, len);
}

#define SAID(text, want) do {						\
		const char *said_ = text;				\
									\
		if (!CHECK(!strcmp(said_, want)))			\
			diag("it was: %s", said_);			\
	} while (0)
#define KEY "sixteen bytes...."

static void t_siphash_is_what_its_authors_say(void)
{
	static const uint64_t want[] = { 0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a,
		0x85676696d7fb7e2d };
	uint8_t key[16], m[64];

	for (int i = 0; i < 16; i++)
		key[i] = (uint8_t)i;
	for (int i = 0; i < 64; i++)
		m[i] = (uint8_t)i;
	for (size_t n = 0; n < 4; n++)
		CHECK(tcp_siphash(key, m, n) == want[n]);
	CHECK(tcp_siphash(key, m, 15) == 0xa129ca6149be45e5);
	CHECK(tcp_siphash(key, m, 63) == 0x958a324ceb064572);
}

/* More than any socket buffer holds, of random lengths, both ways. */
static void t_frames_arrive_whole_and_in_order(void)
{
	enum { N = 3000 };
	uint32_t next[2] = { 0 };
	double last = now() + 30;

	start(KEY, KEY);
	while ((end[0].frames < N || end[1].frames < N) && now() < last) {
		for (int i = 0; i < 2; i++)
			while (next[i] < N && !send_frame(i, next[i],
				(uint32_t)(rnd() % 3 ? rnd() % 100 : rnd() % WIRE_PAYLOAD)))
				next[i]++;
		ev_run(loop, EVRUN_ONCE);
	}
	CHECK_INT(end[0].frames, N);
	CHECK_INT(end[1].frames, N);
	CHECK(end[0].writable > 1);
	CHECK(!end[0].gone && !end[1].gone);
	stop();
}

/* As many as @n frames of up to WIRE_BULK bytes at once, from memory that holds the number of each; how many went. */
static uint32_t send_long(int from, uint32_t seq, uint32_t n, bool *fault)
{
	static uint8_t hdr[8][WIRE_HDR], data[256][WIRE_BULK / 4];
	struct wire_frame f[8];
	struct wire_vec v[8][4];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t len = 1 + (seq + i) * 7919 % WIRE_BULK, left = len;
		struct wire_hdr h = { .type = WIRE_PUT, .seq = seq + i, .paylen = len, .rlength = len,
				      .md = WIRE_NO_MD };

		f[i] = (struct wire_frame){ .hdr = hdr[i], .v = v[i], .len = len, .stays = len > WIRE_PAYLOAD,
					    .whose = &end[from], .tag = 99 };
		for (; left; left -= (uint32_t)v[i][f[i].n++].len)	/* the same memory again and again */
			v[i][f[i].n] = (struct wire_vec){ data[(seq + i) % 256],
				left < sizeof(*data) ? left : sizeof(*data) };
		memset(data[(seq + i) % 256], (uint8_t)(seq + i), len < sizeof(*data) ? len : sizeof(*data));
		wire_encode(&h, hdr[i]);
	}
	return tcp_send_some(&end[from].t, (uint32_t)!from, f, n, fault);
}

/* Both ways; of what the kernel does not take the memory stays, and is read later. */
static void t_long_frames_go_where_they_are_wanted(void)
{
	enum { N = 400 };
	static uint8_t into[2][WIRE_BULK];
	uint32_t next[2] = { 0 };
	double last = now() + 60;
	bool fault = false;

	start(KEY, KEY);
	end[0].into = into[0];
	end[1].into = into[1];
	while ((end[0].frames < N || end[1].frames < N) && now() < last) {
		for (int i = 0; i < 2; i++) {
			uint32_t n = 1 + (uint32_t)(rnd() % 8), took = 1;

			/* no byte that may still be read is changed: fewer are under way than there is memory */
			while (took && next[i] < N && next[i] - end[!i].frames < 240) {
				n = n < N - next[i] ? n : N - next[i];
				took = send_long(i, next[i], n, &fault);
				next[i] += took;
			}
		}
		ev_run(loop, EVRUN_ONCE);
	}
	for (int i = 0; i < 2; i++) {
		CHECK_INT(end[i].frames, N);
		CHECK(end[i].long_ > N / 4 && end[i].long_ < N);
		CHECK(end[i].placed > N / 4);
		CHECK(!end[i].gone && !end[i].faults && !end[i].unplaced);
	}
	CHECK(!fault);
	stop();
}

/* Connections are cut at any byte, of both ways: they are there again, and nobody is gone. */
static void t_cut_connections_are_made_anew(void)
{
	enum { N = 3000 };
	double last = now() + 60;
	unsigned cuts = 0;
	bool fault = false;

	start(KEY, KEY);
	while ((end[0].frames < N || end[1].frames < N) && now() < last) {
		for (int i = 0; i < 2; i++) {
			struct tcp_out *o = &end[i].t.out[!i];
			uint32_t took = 1;

			while (took && end[i].next < N && end[i].next - end[!i].seq < 240) {
				if (rnd() % 8)
					took = !send_frame(i, end[i].next, (uint32_t)(rnd() % 3000));
				else
					took = send_long(i, end[i].next, 1, &fault);
				end[i].next += took;
			}
			if (rnd() % 50 == 0 && o->state == TCP_READY) {
				cuts++;
				shutdown(o->fd, rnd() % 2 ? SHUT_RDWR : SHUT_WR);
			}
		}
		ev_run(loop, EVRUN_ONCE);
	}
	diag("%u cuts, %u and %u new connections", cuts, end[0].resumed, end[1].resumed);
	CHECK(cuts > 5 && end[0].resumed > 2 && end[1].resumed > 2);
	CHECK_INT(end[0].frames, N);
	CHECK_INT(end[1].frames, N);
	CHECK(!end[0].gone && !end[1].gone && !fault);
	stop();
}

/* Who is there, and cannot be reached any more from either side, is given up in time. */
static void t_who_does_not_come_back_is_gone(void)
{
	double t;

	start(KEY, KEY);
	end[0].t.patience = end[1].t.patience = 1;
	send_frame(0, 0, 1);
	CHECK(until(&end[0].writable, 1));
	CHECK_INT(send_frame(0, 0, 1), 0);
	CHECK(until(&end[1].frames, 1));
	for (int i = 0; i < 2; i++)
		tcp_addr_parse("255.255.255.255", end[i].place.addr);	/* ENETUNREACH, or EACCES: no way there */
	shutdown(end[0].t.out[1].fd, SHUT_RDWR);
	t = now();
	CHECK(until(&end[1].gone, 1));
	CHECK(until(&end[0].gone, 1));
	CHECK(now() - t > 0.8);
	CHECK_INT(end[0].resumed + end[1].resumed, 0);
	stop();
}

/* An end of which nobody hears that it has ended: what it had is there again by the connection that the other makes. */
static void t_one_side_is_enough(void)
{
	start(KEY, KEY);
	send_frame(0, 0, 1);
	CHECK(until(&end[0].writable, 1));
	CHECK(until(&end[1].writable, 1));		/* the same connection: it has made none */
	CHECK_INT(end[1].t.out[0].tried, 0);
	CHECK_INT(send_frame(1, 0, 10), 0);
	CHECK(until(&end[0].frames, 1));
	CHECK_INT(end[1].t.out[0].tried, 0);
	tcp_accepting(&end[1].t, false);		/* it may be stopped: nobody says how long */
	shutdown(end[0].t.out[1].fd, SHUT_RDWR);
	CHECK(until(&end[0].resumed, 1));
	CHECK(until(&end[1].resumed, 1));
	CHECK(!end[0].gone && !end[1].gone);
	stop();
}

/* Both at once, again and again: one connection is left, and nobody is gone. */
static void t_two_that_connect_at_once(void)
{
	for (int i = 0; i < 200; i++) {
		start(KEY, KEY);
		end[0].next += !send_frame(0, 0, 1);
		for (int k = 0; k < i % 7; k++)
			ev_run(loop, EVRUN_NOWAIT);
		end[1].next += !send_frame(1, 0, 1);
		CHECK(until(&end[0].writable, 1));
		CHECK(until(&end[1].writable, 1));
		for (int k = 0; k < 2; k++) {
			CHECK_INT(send_frame(k, end[k].next, 1), 0);
			CHECK(until(&end[!k].frames, ++end[k].next));
		}
		CHECK(!end[0].gone && !end[1].gone && !end[0].t.refused && !end[1].t.refused);
		CHECK(!end[0].t.strangers && !end[1].t.strangers);
		CHECK(!end[0].resumed && !end[1].resumed);	/* one of them stays from the first */
		stop();
	}
}

/* At the sender from some byte on, then at the receiver: it goes on with zeroes, or is dropped; the next one comes. */
static void t_memory_that_is_not_there(void)
{
	const uint32_t len = WIRE_BULK, page = 4096;
	struct wire_hdr h = { .type = WIRE_PUT, .paylen = len, .rlength = len, .md = WIRE_NO_MD };
	uint8_t hdr[WIRE_HDR], *mem;
	struct wire_vec v;
	struct wire_frame f = { .hdr = hdr, .v = &v, .n = 1, .len = len, .stays = true, .whose = &end[0], .tag = 99 };

	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		bail("mmap: %s", strerror(errno));
	for (uint32_t there = 0; there < len; there += 37 * page) {
		bool fault = false;
		uint32_t took;

		start(KEY, KEY);
		send_frame(0, 0, 1);
		CHECK(until(&end[0].writable, 1));
		wire_encode(&h, hdr);
		v = (struct wire_vec){ mem, len };
		mprotect(mem, len, PROT_READ | PROT_WRITE);
		mprotect(mem + there, len - there, PROT_NONE);
		took = tcp_send_some(&end[0].t, 1, &f, 1, &fault);
		CHECK_INT(took, !fault);
		CHECK_INT(fault, there < 32 * page / 4);	/* the kernel has not begun */
		if (took) {
			CHECK(until(&end[1].frames, 1));
			CHECK_INT(end[0].faults, 1);
		}
		CHECK_INT(send_frame(0, took, 10), 0);
		CHECK(until(&end[1].frames, took + 1));
		CHECK(!end[0].gone && !end[1].gone);
		stop();
	}
	for (uint32_t there = 0; there < 150000; there += 11 * page) {
		bool fault = false;

		start(KEY, KEY);
		send_frame(0, 0, 1);
		CHECK(until(&end[0].writable, 1));
		mprotect(mem, len, PROT_READ | PROT_WRITE);
		mprotect(mem + there, len - there, PROT_NONE);
		end[1].into = mem;
		end[1].always = true;
		end[1].seq = 20;
		CHECK_INT(send_long(0, 20, 4, &fault), 4);
		CHECK(until(&end[1].frames, 4));
		CHECK_INT(end[1].unplaced, 1);
		CHECK(!end[0].gone && !end[1].gone);
		stop();
	}
	munmap(mem, len);
}

/* What addresses mean; both kinds, all of 127.0.0.0/8, several at once under one port, everywhere. */
static void t_addresses_of_both_kinds(void)
{
	static const char *const text[] = { "::1", "127.0.0.1", "127.7.8.9", "::" };
	char back[INET6_ADDRSTRLEN];
	struct in6_addr a, net;

	CHECK(tcp_addr_parse("10.1.2.3", &a) && tcp_addr_parse("10.0.0.0", &net));
	CHECK(tcp_addr_in(&a, &net, 8) && tcp_addr_in(&a, &net, 15) && !tcp_addr_in(&a, &net, 16));
	CHECK(!tcp_addr_loopback(&a) && !strcmp(tcp_addr_text(&a, back), "10.1.2.3"));
	CHECK(tcp_addr_in(&a, &net, 0) && tcp_addr_in(&a, &a, 32));
	CHECK(tcp_addr_parse("::", &net) && !tcp_addr_in(&a, &net, 0));		/* another kind */
	CHECK(tcp_addr_parse("2001:db8:7::1", &a) && tcp_addr_parse("2001:db8::", &net));
	CHECK(tcp_addr_in(&a, &net, 32) && !tcp_addr_in(&a, &net, 48) && tcp_addr_in(&a, &a, 128));
	CHECK(!strcmp(tcp_addr_text(&a, back), "2001:db8:7::1"));
	CHECK(!tcp_addr_parse("10.1.2", &a) && !tcp_addr_parse("eth0", &a));
	tcp_addr_parse("::1", &a);
	for (int i = 0; i < 4; i++) {
		tcp_addr_parse(text[i], &at.addr[0]);
		if (strchr(text[i], ':') && tcp_reach(&a)) {
			diag("no ::1 here");
			continue;
		}
		start(KEY, KEY);
		if (i == 3)		/* everywhere: also there */
			tcp_addr_parse("127.3.3.3", &end[1].place.addr[0]);
		send_frame(0, 0, 1);
		CHECK(until(&end[0].writable, 1));
		CHECK_INT(send_frame(0, 0, 1), 0);
		CHECK(until(&end[1].frames, 1));
		stop();
	}
	at.n = 3;
	for (int i = 0; i < 3; i++)
		tcp_addr_parse(text[tcp_reach(&a) ? 1 : i], &at.addr[i]);
	if (tcp_reach(&a))
		at.n = 1;
	start(KEY, KEY);
	for (uint32_t i = 0; i < at.n; i++) {
		end[1].place.addr[0] = at.addr[i];
		send_frame(0, 0, 1);
		CHECK(until(&end[0].writable, 1));
		stop();
		start(KEY, KEY);
	}
	stop();
	at.n = 1;
	tcp_addr_parse("127.0.0.1", &at.addr[0]);
}

/* Both sides hear of it, once. */
static void t_another_key_gets_nowhere(void)
{
	char text[TCP_WHY_TEXT];
	double t = now();

	start(KEY, "another key......");
	CHECK_INT(send_frame(0, 0, 10), 1);
	CHECK(until(&end[0].gone, 1));
	CHECK(now() - t < 2);
	CHECK_INT(end[1].frames, 0);
	CHECK(end[1].t.refused > 1);
	SAID(tcp_why(&end[0].t.out[1], text), "the process there has refused us: it does not have this job's key, "
		  "or has given this one up");
	CHECK_INT(end[1].warned, 1);
	SAID(end[1].warning, "a process at 127.0.0.1, which calls itself 0, was not let in: it does not have this "
		  "job's key");
	CHECK_INT(end[0].warned, 0);
	stop();
}

/* Something else than a process of ours listens where the other one should be. */
static int listener(void)
{
	struct sockaddr_storage sa;
	socklen_t len = tcp_addr_socket(&at.addr[0], 0, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) || listen(fd, 5) ||
	    getsockname(fd, (struct sockaddr *)&sa, &len))
		bail("listen: %s", strerror(errno));
	end[1].place.port = ntohs(((struct sockaddr_in *)&sa)->sin_port);
	return fd;
}

/* For so long, or until the frame is given up, this is said to whoever connects, and no more. How many have come. */
static unsigned answer(int l, const uint8_t *says, size_t n, double seconds)
{
	unsigned accepted = 0;
	double last;
	int fd;

	CHECK_INT(send_frame(0, 0, 10), 1);
	for (last = now() + seconds; !end[0].gone && now() < last;) {
		turn(1);
		fd = accept(l, NULL, NULL);
		if (fd >= 0) {
			accepted++;
			CHECK(send(fd, says, n, MSG_NOSIGNAL) == (ssize_t)n);
			shutdown(fd, SHUT_WR);		/* the end is there when a hello is sent */
			turn(2);
			close(fd);
		}
	}
	return accepted;
}

/* What becomes of a frame then, and why. */
static const char *answered(const uint8_t *says, size_t n, char *text)
{
	unsigned accepted;
	int l;

	start(KEY, KEY);
	l = listener();
	accepted = answer(l, says, n, 10);
	CHECK_INT(end[0].gone, 1);
	CHECK(!end[0].t.out[1].met && accepted);
	tcp_why(&end[0].t.out[1], text);
	close(l);
	stop();
	return text;
}

static void t_what_listens_there_is_no_peer(void)
{
	char text[TCP_WHY_TEXT];
	uint8_t greeting[24] = "P3T1";

	SAID(answered((const uint8_t *)"220 mail.example.org ESMTP", 26, text), "what listens there is no process of a "
		  "Portals job (it begins with 0x20303232)");
	greeting[4] = 7;
	SAID(answered(greeting, sizeof(greeting), text), "another version of the library: the process there speaks "
		  "version 7 of the handshake, this one version 2");
}

/* As one that has no room for so many: greeted, and turned away before the hello was read. */
static void t_who_is_turned_away_comes_again(void)
{
	uint8_t says[24 + 16] = "P3T1\2";
	unsigned accepted;
	uint16_t port;
	int l;

	start(KEY, KEY);
	port = end[1].place.port;
	l = listener();
	accepted = answer(l, says, sizeof(says), 1);
	CHECK(!end[0].gone && accepted > 6);		/* who is refused gives up sooner */
	close(l);
	end[1].place.port = port;
	CHECK(until(&end[0].writable, 1));
	stop();
}

/* The first of two addresses is that of a process which refuses us, at the other one there is nobody. */
static void t_refused_is_not_nobody_there(void)
{
	uint8_t greeting[24] = "P3T1\2";
	char text[TCP_WHY_TEXT];
	int l;

	start(KEY, KEY);
	l = listener();
	tcp_addr_parse("127.0.0.2", &end[1].place.addr[1]);
	end[1].place.n = 2;
	CHECK_INT(answer(l, greeting, sizeof(greeting), 10), 6);
	SAID(tcp_why(&end[0].t.out[1], text), "the process there has refused us: it does not have this job's key, or "
		  "has given this one up");
	close(l);
	end[1].place.n = 1;
	stop();
}

/* A hello of another version, with no proof that could be looked at. */
static int stranger(void);
static void t_another_version_gets_nowhere(void)
{
	uint8_t hello[48] = "P3T1\3";
	int fd;

	start(KEY, KEY);
	for (int i = 0; i < 2; i++) {
		fd = stranger();
		turn(1);
		CHECK(send(fd, hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello));
		turn(2);
		close(fd);
	}
	CHECK_INT(end[1].t.refused, 2);
	CHECK_INT(end[1].warned, 1);
	SAID(end[1].warning, "a process at 127.0.0.1 was not let in: it speaks version 3 of the handshake, this one "
		  "version 2");
	stop();
}

/* What was sent before the end is delivered, then the end is told, once. */
static void t_the_end_comes_last(void)
{
	uint32_t n = 0;

	start(KEY, KEY);
	send_frame(0, 0, 1);
	CHECK(until(&end[0].writable, 1));
	while (n < 20 && !send_frame(0, n, 3000))
		n++;
	CHECK_INT(n, 20);
	while (end[0].t.out[1].rest_len > end[0].t.out[1].rest_at)
		ev_run(loop, EVRUN_ONCE);
	tcp_stop(&end[0].t);
	CHECK(until(&end[1].gone, 1));
	CHECK_INT(end[1].frames, 20);
	turn(5);
	CHECK_INT(end[1].gone, 1);
	stop();
}

/* Closed with something unread a connection is reset, and what the kernel has not sent yet would be lost. */
static void t_the_end_comes_last_though_something_is_unread(void)
{
	int few = 4096, much = 1 << 20;
	uint32_t n = 0;

	start(KEY, KEY);
	send_frame(0, 0, 1);
	CHECK(until(&end[0].writable, 1));
	CHECK(until(&end[1].writable, 1));
	setsockopt(end[1].t.out[0].fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
	setsockopt(end[0].t.out[1].fd, SOL_SOCKET, SO_SNDBUF, &much, sizeof(much));
	tcp_rest(&end[1].t, true);
	while (n < 25 && !send_frame(0, n, 8000))
		n++;
	CHECK_INT(n, 25);
	CHECK_INT(end[0].t.out[1].rest_len, end[0].t.out[1].rest_at);
	for (uint32_t i = 0; i < 10; i++)
		CHECK_INT(send_frame(1, i, 1000), 0);
	tcp_stop(&end[0].t);
	tcp_rest(&end[1].t, false);
	CHECK(until(&end[1].gone, 1));
	CHECK_INT(end[1].frames, 25);
	stop();
}

static void t_frames_that_make_no_sense_close(void)
{
	start(KEY, KEY);
	send_frame(0, 0, 1);
	CHECK(until(&end[0].writable, 1));
	end[1].refuse = true;
	CHECK_INT(send_frame(0, 0, 1), 0);
	CHECK(until(&end[1].gone, 1));
	CHECK(until(&end[0].gone, 1));		/* it sees its connection end */
	stop();
}

static int stranger(void)
{
	struct sockaddr_storage sa;
	socklen_t len = tcp_addr_socket(end[1].place.addr, end[1].place.port, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, len))
		bail("connect: %s", strerror(errno));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Garbage, an old recording, nothing at all, and very many: none delivers a frame, none stays, the job's own get in. */
static void t_strangers(void)
{
	uint8_t junk[512], hello[64];
	int fd[100];

	start(KEY, KEY);
	for (int k = 0; k < 50; k++) {
		size_t n = 1 + rnd() % sizeof(junk);

		for (size_t i = 0; i < n; i++)
			junk[i] = (uint8_t)rnd();
		fd[0] = stranger();
		CHECK(send(fd[0], junk, n, MSG_NOSIGNAL) > 0);
		turn(1);
		close(fd[0]);
		turn(1);
	}
	/* what one of the job's said, said again to another greeting */
	send_frame(0, 0, 1);
	CHECK(until(&end[0].writable, 1));
	memcpy(hello, end[0].t.out[1].hello, 48);
	fd[0] = stranger();
	turn(2);
	CHECK(send(fd[0], hello, 48, MSG_NOSIGNAL) == 48);
	turn(5);
	CHECK(recv(fd[0], junk, 24, 0) == 24);		/* the greeting */
	CHECK_INT(recv(fd[0], junk, 1, 0), 0);		/* and the end */
	close(fd[0]);
	CHECK(end[1].t.refused > 0);
	for (int i = 0; i < 100; i++)			/* more than may be on the way */
		fd[i] = stranger();
	turn(5);
	CHECK_INT(end[1].t.strangers, 64);
	for (int i = 0; i < 100; i++)
		close(fd[i]);
	turn(5);
	CHECK_INT(end[1].t.strangers, 0);
	CHECK_INT(end[1].frames, 0);
	CHECK_INT(send_frame(0, 0, 100), 0);
	CHECK(until(&end[1].frames, 1));
	stop();
}

/* They come first, say nothing and stay: the job's own get in all the same, at once, and after an end again. */
static void t_the_jobs_own_get_in_among_strangers(void)
{
	int fd[100];
	double t;

	start(KEY, KEY);
	for (int i = 0; i < 100; i++)
		fd[i] = stranger();
	t = now();
	end[0].next += !send_frame(0, 0, 1);
	CHECK(until(&end[0].writable, 1));
	CHECK(now() - t < 2);
	CHECK_INT(send_frame(0, 0, 100), 0);
	CHECK(until(&end[1].frames, 1));
	shutdown(end[0].t.out[1].fd, SHUT_RDWR);
	CHECK(until(&end[0].resumed, 1));
	CHECK(!end[0].gone && !end[1].gone);
	CHECK_INT(end[1].t.strangers, 63);		/* the oldest have gone */
	CHECK_INT(recv(fd[0], &t, 1, 0), 1);		/* the greeting, */
	while (recv(fd[0], &t, 1, 0) > 0)
		;
	CHECK_INT(recv(fd[0], &t, 1, 0), 0);		/* and the end */
	while (recv(fd[99], &t, 1, 0) > 0)
		;
	CHECK_INT(errno, EAGAIN);
	for (int i = 0; i < 100; i++)
		close(fd[i]);
	stop();
}

/* As many more descriptors as there may be, and no more. */
static int fill(int *fd, int max, struct rlimit *was)
{
	struct rlimit l;
	int n = 0, top = dup(0);

	getrlimit(RLIMIT_NOFILE, was);
	l = *was;
	close(top);
	l.rlim_cur = (rlim_t)top + 40;
	if (top < 0 || setrlimit(RLIMIT_NOFILE, &l))
		bail("setrlimit: %s", strerror(errno));
	while (n < max && (fd[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	return n;
}

/*
 * None is left for who connects: he hears so, is let in as soon as there is one, and is told why if there never is. Not
 * even the one in reserve: then the listener is looked at now and then, not all the time.
 */
static void t_no_descriptor_is_left(void)
{
	char text[TCP_WHY_TEXT];
	struct rlimit was;
	int fd[100], n;
	unsigned turns;

	start(KEY, KEY);
	n = fill(fd, 100, &was);
	close(fd[--n]);				/* for the end that connects */
	CHECK_INT(send_frame(0, 0, 1), 1);
	turns = ev_iteration(loop);
	turn(20);
	CHECK(ev_iteration(loop) - turns < 400);
	CHECK_INT(end[0].t.out[1].why, TCP_WHY_FULL);
	CHECK_INT(end[1].warned, 1);
	SAID(end[1].warning, "other processes cannot connect to this one: Too many open files");
	close(fd[--n]);
	CHECK(until(&end[0].writable, 1));
	CHECK_INT(send_frame(0, 0, 1), 0);
	CHECK(until(&end[1].frames, 1));
	while (n)
		close(fd[--n]);
	setrlimit(RLIMIT_NOFILE, &was);
	stop();

	start(KEY, KEY);
	end[0].t.patience = 1;
	n = fill(fd, 100, &was);
	close(fd[--n]);
	CHECK_INT(send_frame(0, 0, 1), 1);
	CHECK(until(&end[0].gone, 1));
	SAID(tcp_why(&end[0].t.out[1], text), "the process there cannot let anybody in: Too many open files");
	while (n)
		close(fd[--n]);
	setrlimit(RLIMIT_NOFILE, &was);
	stop();

	start(KEY, KEY);
	n = fill(fd, 100, &was);
	close(end[1].t.reserve);		/* somebody else was faster: it serves the end that connects */
	end[1].t.reserve = -1;
	CHECK_INT(send_frame(0, 0, 1), 1);
	turns = ev_iteration(loop);
	turn(50);
	CHECK(ev_iteration(loop) - turns < 400);
	CHECK_INT(end[0].t.out[1].state, TCP_GREETING);
	for (int i = 0; i < 2; i++)
		close(fd[--n]);
	CHECK(until(&end[0].writable, 1));
	while (n)
		close(fd[--n]);
	setrlimit(RLIMIT_NOFILE, &was);
	CHECK(end[1].t.reserve >= 0);
	stop();
}

static void t_nobody_listens(void)
{
	start(KEY, KEY);
	tcp_stop(&end[1].t);
	CHECK_INT(send_frame(0, 0, 10), 1);
	CHECK(until(&end[0].gone, 1));
	CHECK(!end[0].t.out[1].met);		/* and it can be said why */
	CHECK_INT(end[0].t.out[1].err, ECONNREFUSED);
	CHECK(tcp_addr_loopback(&end[0].t.out[1].addr));
	CHECK_INT(send_frame(0, 0, 10), 1);
	stop();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_siphash_is_what_its_authors_say), T(t_frames_arrive_whole_and_in_order),
		T(t_long_frames_go_where_they_are_wanted), T(t_memory_that_is_not_there),
		T(t_cut_connections_are_made_anew), T(t_who_does_not_come_back_is_gone), T(t_one_side_is_enough),
		T(t_two_that_connect_at_once), T(t_addresses_of_both_kinds),
		T(t_another_key_gets_nowhere), T(t_what_listens_there_is_no_peer), T(t_another_version_gets_nowhere),
		T(t_who_is_turned_away_comes_again), T(t_refused_is_not_nobody_there),
		T(t_the_end_comes_last), T(t_the_end_comes_last_though_something_is_unread),
		T(t_frames_that_make_no_sense_close), T(t_strangers),
		T(t_the_jobs_own_get_in_among_strangers), T(t_no_descriptor_is_left), T(t_nobody_listens),
		{ 0 }
	};

	tcp_addr_parse("127.0.0.1", &at.addr[0]);
	return t_run(cases);
}

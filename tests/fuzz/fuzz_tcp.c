/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz_tcp.c - strangers at the TCP port, and at the other end of a connection of ours
 *
 * The input is a list of steps: a byte that chooses an end and what it does, a byte with the length of what it sends,
 * then these bytes. Ends 0 to 2 have connected to us, we have connected to end 3. A step may have its proof of the key
 * made good: a fuzzer does not guess those. Whatever comes, frames are delivered only of who has proved the key, as the
 * rank that it proved, and nothing is left open. The sockets are of another kind than the transport's, no loop runs:
 * its events are called.
 */
#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include "../../nal/transport/tcp/tcp_conn.c"
#include "fuzz.h"

enum { ENDS = 3, OUT = ENDS, SIZE = 5, OWN = 2 };

static struct tcp t;
static int peer[ENDS + 1];		/* the strangers' ends; -1: closed */
static struct tcp_in *in[ENDS];
static uint32_t proved_as[SIZE];	/* 1: an end has shown the key as this rank */
static uint32_t frames, gone[SIZE];

static bool on_frame(void *ctx, uint32_t rank, const uint8_t *bytes, uint32_t n)
{
	must(rank < SIZE && proved_as[rank] && !gone[rank]);
	must(n >= WIRE_HDR && n <= IN_BUF && wire_frame_len(bytes) == n);
	frames += bytes[n - 1];		/* each of its bytes can be read */
	return bytes[5] != 0xff;
}

/* Long frames come in pieces; of one rank, to memory or not, as the frame's bytes have it. */
static uint8_t memory[WIRE_BULK];
static uint32_t owed[SIZE];

static int on_begin(void *ctx, uint32_t rank, const uint8_t *hdr, uint64_t *part)
{
	must(rank < SIZE && proved_as[rank] && !gone[rank] && wire_frame_len(hdr) > WIRE_HDR + IN_LONG);
	*part = rank;
	owed[rank] = wire_frame_len(hdr) - WIRE_HDR;
	return hdr[5] % 4 == 3 ? TCP_NO : hdr[5] % 4 == 2 ? TCP_WHOLE : TCP_PIECES;
}

static uint32_t on_where(void *ctx, uint64_t part, struct wire_vec *v, uint32_t max)
{
	must(part < SIZE && owed[part] && !gone[part] && max);
	v[0] = (struct wire_vec){ memory, part % 2 ? owed[part] : 1 + owed[part] / 2 };
	return owed[part] % 3 != 0;
}

static void on_piece(void *ctx, uint64_t part, const uint8_t *bytes, uint32_t n)
{
	must(part < SIZE && n && n <= owed[part]);
	owed[part] -= n;
	if (bytes)
		frames += bytes[n - 1];
}

static void on_unplaced(void *ctx, uint64_t part)
{
	must(false);			/* it is there */
}

static void on_writable(void *ctx, uint32_t rank)
{
	must(rank < SIZE && t.out[rank].state == TCP_READY);
}

static void on_gone(void *ctx, uint32_t rank)
{
	must(rank < SIZE && !gone[rank]++);
}

static bool on_known(void *ctx, uint32_t rank)
{
	return rank != 4;
}

static const struct tcp_place *on_place(void *ctx, uint32_t rank)
{
	return NULL;			/* no second address */
}

static const struct tcp_user user = {
	.frame = on_frame, .begin = on_begin, .where = on_where, .piece = on_piece, .unplaced = on_unplaced,
	.writable = on_writable, .resumed = on_writable, .gone = on_gone, .known = on_known, .place = on_place,
};

static struct { int fd; bool seated; uint32_t rank, serial; } own[ENDS + 1];	/* our side of each */

/* A stranger that has not been closed. */
static bool is_stranger(int k)
{
	for (struct tcp_in *c = t.ins; c && k != OUT; c = c->next)
		if (c == in[k] && !c->proved && c->nonce[0] == 0x10 + k)	/* not another in the same place */
			return true;
	return false;
}

/* It may be a connection now: the one to its rank. */
static void look(int k, uint32_t rank)
{
	own[k].seated = rank < SIZE && t.out[rank].state == TCP_READY && t.out[rank].fd == own[k].fd;
	own[k].rank = rank;
	own[k].serial = own[k].seated ? t.out[rank].serial : 0;
	must(!own[k].seated || (t.out[rank].in && t.out[rank].in->rank == rank && proved_as[rank]));
}

/* What comes over it, while it is the connection to its rank. */
static struct tcp_in *seat(int k)
{
	struct tcp_out *o = &t.out[own[k].rank];

	return own[k].seated && o->serial == own[k].serial && o->state == TCP_READY ? o->in : NULL;
}

/* As tcp_accept_event() does, but for the kind of socket: a greeting has gone, a hello may come. */
static void come(int k)
{
	int sv[2];
	struct tcp_in *c;

	if (peer[k] >= 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv))
		return;
	peer[k] = sv[1];
	own[k].seated = false;
	in[k] = c = calloc(1, sizeof(*c));
	must(c);
	c->fd = own[k].fd = sv[0];
	enter(&t, c);
	t.strangers++;
	memset(c->nonce, 0x10 + k, sizeof(c->nonce));
	ev_io_init(&c->io, in_event, c->fd, EV_READ);
	c->io.data = c;
	ev_io_start(t.loop, &c->io);
	ev_timer_init(&c->timer, stranger_late, HANDSHAKE_S, 0);
	c->timer.data = c;
	ev_timer_start(t.loop, &c->timer);
}

/* As out_connect(). */
static void go(void)
{
	struct tcp_out *o = &t.out[1];
	int sv[2];

	if (peer[OUT] >= 0 || (o->state != TCP_IDLE && o->state != TCP_AGAIN) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv))
		return;
	peer[OUT] = sv[1];
	own[OUT].seated = false;
	o->fd = own[OUT].fd = sv[0];
	o->state = TCP_CONNECTING;
	o->got = 0;
	ev_io_init(&o->io, out_event, o->fd, EV_WRITE);
	o->io.data = o;
	ev_io_start(t.loop, &o->io);
	ev_timer_stop(t.loop, &o->timer);
	out_event(t.loop, &o->io, EV_WRITE);
}

/* We are connecting: with what go() has made. */
static bool making(void)
{
	return t.out[1].fd >= 0 && t.out[1].fd == own[OUT].fd &&
	       (t.out[1].state == TCP_GREETING || t.out[1].state == TCP_WELCOME);
}

static void put_out(int k, const uint8_t *b, size_t n)
{
	uint8_t away[FRAME_MAX_];

	if (peer[k] < 0)
		return;
	while (recv(peer[k], away, sizeof(away), MSG_DONTWAIT) > 0)
		;
	if (n && send(peer[k], b, n, MSG_NOSIGNAL) < 0)
		return;
	if (seat(k)) {
		in_event(t.loop, &seat(k)->io, EV_READ);
	} else if (is_stranger(k)) {
		in_event(t.loop, &in[k]->io, EV_READ);
	} else if (k == OUT) {
		/* as the loop would, until it has read all that has come */
		for (int left = INT_MAX, was = 0; left && left != was && making();) {
			was = left;
			out_event(t.loop, &t.out[1].io, EV_READ);
			if (!making() || ioctl(t.out[1].fd, FIONREAD, &left))
				left = 0;
		}
	}
	if (k == OUT && !making() && !seat(k) && !(t.out[1].state == TCP_READY && t.out[1].fd == own[k].fd)) {
		close(peer[k]);
		peer[k] = -1;
	}
}

static void hang_up(int k)
{
	if (peer[k] < 0)
		return;
	close(peer[k]);
	peer[k] = -1;
	if (seat(k)) {
		while (seat(k))
			in_event(t.loop, &seat(k)->io, EV_READ);
		proved_as[own[k].rank] = 0;
	} else if (k == OUT && making()) {
		out_event(t.loop, &t.out[1].io, EV_READ);
	}
	while (is_stranger(k))
		in_event(t.loop, &in[k]->io, EV_READ);
}

/* @h: 48 bytes. With the key, a rank that is not there yet is let in: on_frame() may come for it from now on. */
static void hello(int k, uint8_t how, uint8_t *h)
{
	uint32_t rank;

	if (!is_stranger(k) || in[k]->have)
		return;
	if (how & 1)
		put32(h, GREETS), put32(h + 4, HANDSHAKE);
	if (how & 2)
		put32(h + 8, h[8] % (SIZE + 1)), put32(h + 12, OWN);
	rank = get32(h + 8);
	mac_of(&t, 1, rank, OWN, in[k]->nonce, h + 16, h + 32);
	if (rank < SIZE && get32(h) == GREETS && get32(h + 4) == HANDSHAKE && get32(h + 12) == OWN && rank != 4 &&
	    !gone[rank])
		proved_as[rank] = 1;
	put_out(k, h, HELLO);
	look(k, rank);
}

static void answer(uint8_t *b)
{
	struct tcp_out *o = &t.out[1];

	if (peer[OUT] < 0 || !making() || o->got)
		return;
	if (o->state == TCP_GREETING) {
		put32(b, GREETS), put32(b + 4, HANDSHAKE);
		put_out(OUT, b, GREETING);
	} else if (o->state == TCP_WELCOME) {
		mac_of(&t, 2, OWN, 1, o->nonce, o->hello + 16, b);
		proved_as[1] = 1;
		put_out(OUT, b, WELCOME);
		look(OUT, 1);
		must(own[OUT].seated);
	}
}

static void step(uint8_t op, const uint8_t *arg, size_t n)
{
	static uint8_t b[WIRE_HDR + WIRE_PAYLOAD];
	int k = op % (ENDS + 1);

	memset(b, 0, 256);
	memcpy(b, arg, n);
	switch (op / (ENDS + 1) % 8) {
	case 0:
		if (k == OUT)
			go();
		else
			come(k);
		break;
	case 1: hang_up(k); break;
	case 2: put_out(k, b, n); break;
	case 3: hello(k, 3, b); break;
	case 4: hello(k, b[HELLO], b); break;
	case 5: answer(b); break;
	case 6:				/* a frame's length, then as much as there is */
		put32(b, WIRE_MAGIC);
		b[4] = WIRE_VERSION;
		put32(b + 8, get32(b + 8) % (WIRE_PAYLOAD + 2));
		put_out(k, b, get32(b + 8) <= WIRE_PAYLOAD && op & 32 ? WIRE_HDR + get32(b + 8) : n);
		break;
	case 7:
		if (is_stranger(k))
			stranger_late(t.loop, &in[k]->timer, 0);
		else if (k == OUT && (t.out[1].state == TCP_BROKEN || t.out[1].state == TCP_AGAIN))
			out_timer(t.loop, &t.out[1].timer, 0);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct ev_loop *loop;
	int sv[2];

	if (!loop)
		loop = ev_loop_new(EVBACKEND_POLL);
	must(loop && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	close(sv[1]);
	t = (struct tcp){ .loop = loop, .user = &user, .rank = OWN, .size = SIZE, .patience = 5, .listens = 1,
		.fd = { sv[0] } };
	memcpy(t.key, "a key of the job", 16);
	must(!tcp_start(&t, NULL, NULL, 0, NULL));
	tcp_accepting(&t, false);
	memset(proved_as, 0, sizeof(proved_as));
	memset(gone, 0, sizeof(gone));
	memset(own, 0, sizeof(own));
	for (int k = 0; k <= ENDS; k++) {
		peer[k] = -1;
		if (k < ENDS)
			in[k] = NULL;
	}
	for (unsigned i = 0; n >= 2 && i < 100; i++) {
		size_t len = data[1] < n - 2 ? data[1] : n - 2;

		step(data[0], data + 2, len);
		data += 2 + len;
		n -= 2 + len;
	}
	tcp_stop(&t);
	must(!t.ins && !t.strangers);
	for (int k = 0; k <= ENDS; k++)
		if (peer[k] >= 0)
			close(peer[k]);
	return 0;
}

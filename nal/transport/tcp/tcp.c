/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tcp.c - listening, connecting, proving the key, and moving frames; see tcp.h
 *
 * Handshake, little-endian:
 *	acceptor -> connector	"P3T1", version, 16 random bytes A
 *	connector -> acceptor	"P3T1", version, own rank, the acceptor's rank, 16 random bytes B, MAC(1, ranks, A, B)
 *	acceptor -> connector	MAC(2, ranks, A, B)
 * then frames, from the connector only. Whoever does not get so far within five seconds is closed, and no more than
 * STRANGERS may be on the way at a time.
 *
 * In. A connection has a buffer; frames that are short, or whose user says so, are delivered from there. The payload of
 * a long one is read where the user wants it, together with the header of the next (user->where): the rest of the frame
 * that is coming is `left`. Where long frames come, no more is read into the buffer than belongs to one frame, or their
 * payloads would be copied out of it.
 *
 * Out. What the kernel does not take of a frame is kept: a copy of it, or, where it stays, where it stands. A page that
 * is not there (EFAULT) is the sending user's affair: zeroes go, and he is told.
 *
 * A connection that ends may be made anew by whoever sends on it, and user->resumed() sends again what may not have
 * come; that is tried for RESUME_S. Whose connection to us has ended, and to whom we have none, is connected to, so
 * that we know whether he lives. A process at its end has closed its port, too, and who connects is refused: that is
 * its end. What it sent before may still be there to be read, so the end is told (user->gone) when its connection to us
 * has been read to the end. Who has sent what makes no sense is given up, and not let in again.
 *
 * A process that is stopped is not at its end, however long: its kernel goes on to acknowledge what comes, and says
 * that there is no room. So nothing here counts the time in which a connected process does not read or answer. A
 * machine that vanishes is noticed by our kernel, which asks for signs of life (keepalive) where nothing of ours is
 * under way: always, then, on a connection to us. While a connection is being made, TCP_USER_TIMEOUT does that; later
 * it would end those to stopped processes whose windows are closed. Our own timers may run late by the time that we
 * were stopped ourselves: what the kernel has for us then goes first.
 *
 * What moves frames runs in borrowers, too: it takes its descriptors from fd_out() and fd_in(), its struct tcp from its
 * caller, never from a connection, and leaves libev alone where there is no loop.
 */
#include "config.h"

#include "tcp.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define GREETS		0x31543350U	/* "P3T1" */
#define HANDSHAKE	1
#define GREETING	24
#define HELLO		48
#define WELCOME		16
#define STRANGERS	64
#define HANDSHAKE_S	5.0
#define GRACE_S		2.0
#define RESUME_S	10.0		/* or the user's patience, if that is less: for a connection that has ended */
#define VANISHED_S	30		/* or the user's patience, if that is less: until a machine is taken for gone */
#define AGAIN		5		/* handshakes more than one, */
#define AGAIN_S		0.01		/* the first after so long, then twice as long each time */
#define FRAME_MAX_	(WIRE_HDR + WIRE_PAYLOAD)
#define IN_BUF		(WIRE_HDR + WIRE_BULK)	/* any frame; pages that no frame needs are never touched */
#define IN_READ		(64U << 10)	/* bytes of short frames that are read at once */
#define IN_LONG		8192U		/* a payload above that may be read where it is wanted */
#define IN_AHEAD	1024U		/* read beyond a header, where long frames come */
#define IN_EXACT	4U		/* frames after a long one for which that holds */
#define IN_TURNS	4		/* reads of long frames before others have their turn */
#define OUT_VECS	128U
#define ANY_PORT	8		/* ports of the system's choice, until one is free on all addresses */

/* A connection to us. */
struct tcp_in {
	struct tcp *t;
	struct tcp_in *next, **at;
	int fd;
	bool proved;
	uint32_t rank;
	ev_io io;
	ev_timer timer;
	uint8_t nonce[16];
	uint32_t have;			/* bytes in buf, or in hello until it is proved */
	uint32_t reads;			/* that have brought some */
	uint32_t left;			/* bytes of a frame that comes in pieces; then have is 0 */
	uint64_t part;			/* the user's name for it */
	bool whole;			/* the frame in buf is to be delivered whole */
	uint32_t exact;			/* frames for which only what belongs to one is read */
	uint8_t hello[HELLO];
	uint8_t buf[];			/* IN_BUF of them in a seat */
};
enum { READ_ON, READ_ENDED, READ_BAD };

static void serial(struct tcp_out *o)
{
	o->t->changes++;
	if (!++o->serial)
		o->serial = 1;
}

static int fd_out(const struct tcp *t, const struct tcp_out *o)
{
	return t->lent ? t->lent[o->rank].out : o->fd;
}

static int fd_in(const struct tcp *t, const struct tcp_in *c)
{
	return t->lent ? t->lent[c->rank].in : c->fd;
}

static void *room(const struct tcp *t, size_t n)
{
	return t->room ? t->room(t->room_arg, n) : calloc(1, n);
}

static void no_room(const struct tcp *t, void *at)
{
	if (!t->room)
		free(at);
}

/* Borrowers have descriptors of it, too. */
static void end(const struct tcp *t, int fd)
{
	if (t->room)
		shutdown(fd, SHUT_RDWR);
	close(fd);
}

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void mac_of(const struct tcp *t, uint8_t what, uint32_t from, uint32_t to, const uint8_t a[16],
		   const uint8_t b[16], uint8_t mac[16])
{
	uint8_t m[1 + 8 + 32];

	m[0] = what;
	put32(m + 1, from);
	put32(m + 5, to);
	memcpy(m + 9, a, 16);
	memcpy(m + 25, b, 16);
	tcp_mac(t->key, m, sizeof(m), mac);
}

static int random16(uint8_t *b)
{
	return getrandom(b, 16, GRND_NONBLOCK) == 16 ? 0 : -1;
}

/* Nothing was lost, and the next try may find memory. */
static bool try_again(int err)
{
	return err == EAGAIN || err == EINTR || err == ENOMEM || err == ENOBUFS;
}

static void set(int fd, int level, int what, int value)
{
	setsockopt(fd, level, what, &value, sizeof(value));
}

/* @making: we are about to connect it. */
static void tune(const struct tcp *t, int fd, bool making)
{
	int s = t->patience < VANISHED_S ? (int)t->patience : VANISHED_S, probes = 4, every = s / 6 ? s / 6 : 1;
	int idle = s - probes * every;

	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle > 0 ? idle : 1);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, every);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, probes);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	if (making)
		set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, s * 1000);
}

/* Has the kernel something for us there? */
static bool pending(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0;
}

/* ---- the end of a connection ---- */

static void out_close(struct tcp_out *o, uint8_t state)
{
	struct tcp *t = o->t;

	if (o->fd >= 0) {
		ev_io_stop(t->loop, &o->io);
		end(t, o->fd);
		o->fd = -1;
		serial(o);
	}
	ev_timer_stop(t->loop, &o->timer);
	o->rest_len = o->rest_at = o->n_late = o->zeroes = 0;
	o->full = false;
	o->state = state;
}

static void lost(struct tcp_out *o)
{
	if (o->state == TCP_GONE)
		return;
	out_close(o, TCP_GONE);
	ev_timer_stop(o->t->loop, &o->missing);
	if (o->resuming && o->err == ECONNREFUSED)
		o->err = o->broke;		/* its port is closed, too: it has ended, as it looked at first */
	o->t->user->gone(o->t->ctx, o->rank);
}

static void out_connect(struct tcp_out *o);
static void next_address(struct tcp_out *o, int err);

static void start_timer(struct tcp_out *o, double s)
{
	ev_timer_stop(o->t->loop, &o->timer);
	ev_timer_set(&o->timer, s, 0);
	ev_timer_start(o->t->loop, &o->timer);
}

static void out_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct tcp_out *o = w->data;

	if (o->state == TCP_AGAIN)
		out_connect(o);
	else if (o->state == TCP_CONNECTING && pending(o->fd, POLLOUT))
		return;				/* out_event() comes */
	else if (o->state == TCP_CONNECTING)
		next_address(o, ETIMEDOUT);
	else if (o->in && pending(o->in->fd, POLLIN))
		start_timer(o, GRACE_S);
	else
		lost(o);
}

static double resume_s(const struct tcp *t)
{
	return t->patience < RESUME_S ? t->patience : RESUME_S;
}

/* From now on it is tried for a while. */
static void resuming(struct tcp_out *o)
{
	ev_now_update(o->t->loop);
	o->tried = 0;
	if (o->resuming)
		return;
	o->resuming = true;
	o->again = 0;
	o->broke = o->err;
	o->until = ev_now(o->t->loop) + resume_s(o->t);
}

/* Our connection has ended. */
static void out_ended(struct tcp_out *o)
{
	if (o->state == TCP_GONE)
		return;
	out_close(o, TCP_AGAIN);
	resuming(o);
	start_timer(o, AGAIN_S);
}

/* It has not come back. Where its kernel has let us in somebody is there, who may be stopped, or without its engine. */
static void in_missing(struct ev_loop *loop, ev_timer *w, int events)
{
	struct tcp_out *o = w->data;

	if (o->state == TCP_GREETING || o->state == TCP_WELCOME) {
		ev_timer_set(&o->missing, GRACE_S, 0.);
		ev_timer_start(loop, &o->missing);
		return;
	}
	o->err = ETIMEDOUT;
	lost(o);
}

/* We cannot send to it any more. What it has sent is read first. */
static void out_broken(struct tcp_out *o)
{
	if (o->state == TCP_GONE)
		return;
	if (!o->in) {
		lost(o);
		return;
	}
	out_close(o, TCP_BROKEN);
	start_timer(o, GRACE_S);
}

/*
 * The handshake has not succeeded, for want of something here or there, or because we are not wanted. Nothing has been
 * sent so far, so it may be tried again, some times.
 */
static void not_yet(struct tcp_out *o)
{
	if (o->state == TCP_GONE || o->again == AGAIN) {
		out_broken(o);
		return;
	}
	out_close(o, TCP_AGAIN);
	o->tried = 0;
	start_timer(o, AGAIN_S * (1 << o->again++));
}

static void in_free(struct tcp_in *c)
{
	struct tcp *t = c->t;
	struct tcp_out *o = c->proved ? &t->out[c->rank] : NULL;

	ev_io_stop(t->loop, &c->io);
	ev_timer_stop(t->loop, &c->timer);
	end(t, c->fd);
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	if (o) {			/* in its seat, which stays */
		o->in = NULL;
		serial(o);
	} else {
		t->strangers--;
		free(c);
	}
}

/* What came over it makes no sense, or its sender is gone. */
static void in_bad(struct tcp_in *c)
{
	struct tcp_out *o = c->proved ? &c->t->out[c->rank] : NULL;

	in_free(c);
	if (o)
		lost(o);
}

/* It has ended; @err: or 0. */
static void in_ended(struct tcp_in *c, int err)
{
	struct tcp_out *o = c->proved ? &c->t->out[c->rank] : NULL;

	in_free(c);
	if (!o || o->state == TCP_GONE)
		return;
	if (!o->resuming)
		o->err = err;
	if (o->state == TCP_BROKEN) {		/* all that it sent has been read */
		lost(o);
		return;
	}
	ev_now_update(o->t->loop);
	ev_timer_set(&o->missing, resume_s(o->t) + GRACE_S, 0.);	/* who comes back gives up earlier */
	ev_timer_start(o->t->loop, &o->missing);
	if (o->state == TCP_IDLE) {
		resuming(o);
		out_connect(o);
	}
}

static void stranger_late(struct ev_loop *loop, ev_timer *w, int events)
{
	struct tcp_in *c = w->data;

	c->t->refused++;
	in_free(c);
}

/* ---- in ---- */

/* The user's answer to a header whose payload has not come, all of it; false: close. */
static bool begin(struct tcp *t, struct tcp_in *c, const uint8_t *frame, uint32_t n, uint32_t here)
{
	switch (t->user->begin(t->ctx, c->rank, frame, &c->part)) {
	case TCP_PIECES:
		c->left = n - here;
		c->exact = IN_EXACT;
		if (here > WIRE_HDR)
			t->user->piece(t->ctx, c->part, frame + WIRE_HDR, here - WIRE_HDR);
		return true;
	case TCP_WHOLE:
		c->whole = true;
		return true;
	}
	return false;
}

/* What is in the buffer is delivered, but for a frame that is not all there. False: no more of it. */
static bool deliver(struct tcp *t, struct tcp_in *c)
{
	uint32_t at = 0;
	bool good = true;

	while (c->have - at >= WIRE_HDR) {
		uint32_t n = wire_frame_len(c->buf + at);

		if (!n || t->out[c->rank].state == TCP_GONE) {	/* nonsense; or it has been given up */
			good = false;
			break;
		}
		if (t->lent && !t->user->ours(t->ctx, c->buf + at)) {
			t->out[c->rank].waits = true;
			break;
		}
		if (c->have - at < n) {
			if (n - WIRE_HDR > IN_LONG && !c->whole && t->user->begin)
				good = begin(t, c, c->buf + at, n, c->have - at);
			if (c->left)
				at = c->have;
			break;
		}
		if (!t->user->frame(t->ctx, c->rank, c->buf + at, n)) {
			good = false;
			break;
		}
		c->whole = false;
		if (c->exact)
			c->exact--;
		at += n;
	}
	memmove(c->buf, c->buf + at, c->have - at);
	c->have -= at;
	return good;
}

/* How much may go to the buffer. */
static uint32_t wanted(const struct tcp_in *c)
{
	uint32_t n = IN_READ;

	if (c->exact && c->have < WIRE_HDR)
		n = WIRE_HDR + IN_AHEAD - c->have;
	else if (c->have >= WIRE_HDR && (c->exact || c->whole))
		n = wire_frame_len(c->buf) - c->have + WIRE_HDR;
	return n < IN_BUF - c->have ? n : IN_BUF - c->have;
}

/* More of the frame that comes in pieces; the header of the next. @all: it was as much as was wanted */
static ssize_t read_pieces(struct tcp *t, struct tcp_in *c, bool *all)
{
	struct wire_vec w[TCP_SEGS];
	struct iovec v[TCP_SEGS + 1];
	uint32_t n = t->user->where(t->ctx, c->part, w, TCP_SEGS), there = 0, mine = 0, most;
	ssize_t got;

	for (uint32_t i = 0; i < n; i++) {
		v[i] = (struct iovec){ w[i].at, w[i].len };
		there += (uint32_t)w[i].len;
	}
	if (!n) {
		mine = c->left < IN_READ ? c->left : IN_READ;
		v[n++] = (struct iovec){ c->buf, mine };
	}
	if (there + mine == c->left)
		v[n++] = (struct iovec){ c->buf + mine, WIRE_HDR };
	most = there + mine + (there + mine == c->left ? WIRE_HDR : 0);
	got = recvmsg(fd_in(t, c), &(struct msghdr){ .msg_iov = v, .msg_iovlen = n }, MSG_DONTWAIT);
	if (got < 0 && errno == EFAULT && there) {
		t->user->unplaced(t->ctx, c->part);
		errno = EAGAIN;		/* once more: it goes to the buffer now */
		*all = true;
		return -1;
	}
	*all = got == (ssize_t)most;
	if (got <= 0)
		return got;
	most = (uint32_t)got < there + mine ? (uint32_t)got : there + mine;
	c->left -= most;
	c->have = (uint32_t)got - most;
	t->user->piece(t->ctx, c->part, there ? NULL : c->buf, most);
	if (c->have && mine)
		memmove(c->buf, c->buf + mine, c->have);
	return got;
}

static bool hello_ok(struct tcp_in *c)
{
	struct tcp *t = c->t;
	uint8_t mac[16];
	uint32_t rank = get32(c->hello + 8);

	if (get32(c->hello) != GREETS || get32(c->hello + 4) != HANDSHAKE || rank >= t->size ||
	    get32(c->hello + 12) != t->rank)
		return false;
	mac_of(t, 1, rank, t->rank, c->nonce, c->hello + 16, mac);
	if (!tcp_same(mac, c->hello + 32) || t->out[rank].state == TCP_GONE ||
	    !t->user->known(t->ctx, rank))
		return false;
	c->rank = rank;
	return true;
}

/* Once: READ_*, and for an end, errno or 0 in @err. @more: there may be more, and it is worth a look. */
static int in_read(struct tcp *t, struct tcp_in *c, bool *more, int *err)
{
	struct tcp_out *o = &t->out[c->rank];
	ssize_t n;

	*more = false;
	if (o->waits) {			/* what is there comes first: wanted() counts on there being no whole frame */
		o->waits = false;
		if (!c->left && !deliver(t, c))
			return READ_BAD;
		if (o->waits)
			return READ_ON;
	}
	if (c->left) {
		if (o->state == TCP_GONE)
			return READ_BAD;
		n = read_pieces(t, c, more);
	} else {
		uint32_t most = wanted(c);

		n = recv(fd_in(t, c), c->buf + c->have, most, MSG_DONTWAIT);
		*more = n == (ssize_t)most;
		if (n > 0)
			c->have += (uint32_t)n;
	}
	if (n < 0 && try_again(errno))
		return READ_ON;
	if (n <= 0) {
		*err = n < 0 ? errno : 0;
		return READ_ENDED;
	}
	c->reads++;
	return c->left || deliver(t, c) ? READ_ON : READ_BAD;
}

/* The owner closes what cannot be read on; false: so it was. */
static bool in_goes_on(struct tcp_in *c, int how, int err)
{
	if (how == READ_ENDED)
		in_ended(c, err);
	else if (how == READ_BAD)
		in_bad(c);
	return how == READ_ON;
}

static void in_event(struct ev_loop *loop, ev_io *w, int events);

static void watch_in(struct tcp_in *c)
{
	ev_io_init(&c->io, in_event, c->fd, EV_READ);
	c->io.data = c;
	ev_io_start(c->t->loop, &c->io);
}

/* Who has proved himself gets his seat. */
static void sit_down(struct tcp_in *c)
{
	struct tcp *t = c->t;
	struct tcp_out *o = &t->out[c->rank];

	/* We have not seen its end so far; what is left there comes again. If there is none to be seen, another process
	 * is at its place, which has never had our connection to it: so that is made anew. */
	if (o->in) {
		bool ended = pending(o->in->fd, POLLRDHUP);

		in_free(o->in);
		if (!ended && o->state == TCP_READY)
			out_ended(o);
	}
	ev_io_stop(t->loop, &c->io);
	ev_timer_stop(t->loop, &c->timer);
	*o->seat = *c;
	free(c);
	c = o->in = o->seat;
	*c->at = c;
	if (c->next)
		c->next->at = &c->next;
	c->proved = true;
	c->have = 0;
	o->waits = false;
	o->hurt = READ_ON;
	watch_in(c);
	t->strangers--;
	o->met = true;
	serial(o);
	ev_timer_stop(t->loop, &o->missing);
	if (o->state == TCP_BROKEN)	/* it lives */
		out_ended(o);
}

/* Where who has said hello would sit. NULL: not here. */
static struct tcp_in *seat_of(struct tcp_in *c)
{
	struct tcp_out *o;

	if (!hello_ok(c))
		return NULL;
	o = &c->t->out[c->rank];
	if (!o->seat)
		o->seat = room(c->t, sizeof(*c) + IN_BUF);
	return o->seat;
}

static void hello_read(struct tcp_in *c)
{
	struct tcp *t = c->t;
	uint8_t welcome[WELCOME];
	ssize_t n = recv(c->fd, c->hello + c->have, HELLO - c->have, 0);

	if (n < 0 && try_again(errno))
		return;
	if (n <= 0) {
		in_free(c);
		return;
	}
	c->have += (uint32_t)n;
	if (c->have < HELLO)
		return;
	if (seat_of(c)) {
		mac_of(t, 2, c->rank, t->rank, c->nonce, c->hello + 16, welcome);
		if (send(c->fd, welcome, WELCOME, MSG_NOSIGNAL) == WELCOME) {
			sit_down(c);
			return;
		}
	}
	t->refused++;
	in_free(c);
}

static void in_event(struct ev_loop *loop, ev_io *w, int events)
{
	struct tcp_in *c = w->data;
	bool more = true;
	int err = 0;

	if (!c->proved) {
		hello_read(c);
		return;
	}
	for (int i = 0; i < IN_TURNS && more; i++)
		if (!in_goes_on(c, in_read(c->t, c, &more, &err), err))
			return;
}

static void accept_event(struct ev_loop *loop, ev_io *w, int events)
{
	struct tcp *t = w->data;
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	uint8_t greeting[GREETING];
	struct tcp_in *c;

	if (fd < 0)
		return;
	c = t->strangers < STRANGERS ? calloc(1, sizeof(*c)) : NULL;
	put32(greeting, GREETS);
	put32(greeting + 4, HANDSHAKE);
	if (!c || random16(c->nonce)) {
		free(c);
		close(fd);
		return;
	}
	memcpy(greeting + 8, c->nonce, 16);
	tune(t, fd, false);
	if (send(fd, greeting, GREETING, MSG_NOSIGNAL) != GREETING) {
		free(c);
		close(fd);
		return;
	}
	c->t = t;
	c->fd = fd;
	c->next = t->ins;
	c->at = &t->ins;
	if (c->next)
		c->next->at = &c->next;
	t->ins = c;
	t->strangers++;
	watch_in(c);
	ev_timer_init(&c->timer, stranger_late, HANDSHAKE_S, 0);
	c->timer.data = c;
	ev_timer_start(loop, &c->timer);
}

/* ---- out ---- */

static void out_event(struct ev_loop *loop, ev_io *w, int events);

static void watch(struct tcp_out *o, int events)
{
	ev_io_stop(o->t->loop, &o->io);
	ev_io_set(&o->io, o->fd, events);
	ev_io_start(o->t->loop, &o->io);
	o->watched = events & EV_WRITE;
}

/* To its next address. */
static void out_connect(struct tcp_out *o)
{
	const struct tcp_place *p = o->t->user->place(o->t->ctx, o->rank);
	int bad;

	while (p && o->tried < p->n) {
		struct sockaddr_storage sa;
		socklen_t len;

		o->addr = p->addr[o->tried++];
		len = tcp_addr_socket(&o->addr, p->port, &sa);
		o->fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (o->fd < 0 && errno == EAFNOSUPPORT) {	/* no IPv6 here */
			o->err = errno;
			continue;
		}
		if (o->fd < 0) {
			o->err = errno;
			not_yet(o);
			return;
		}
		tune(o->t, o->fd, true);
		if (!connect(o->fd, (struct sockaddr *)&sa, len) || errno == EINPROGRESS) {
			o->state = TCP_CONNECTING;
			o->got = 0;
			ev_io_init(&o->io, out_event, o->fd, EV_WRITE);
			o->io.data = o;
			ev_io_start(o->t->loop, &o->io);
			start_timer(o, o->resuming ? resume_s(o->t) : o->t->patience);
			return;
		}
		bad = o->err = errno;
		close(o->fd);
		o->fd = -1;
		if (try_again(bad)) {
			not_yet(o);
			return;
		}
	}
	if (o->resuming && o->err != ECONNREFUSED && ev_now(o->t->loop) < o->until) {	/* the network may come back */
		o->state = TCP_AGAIN;
		o->tried = 0;
		start_timer(o, 20 * AGAIN_S);
		return;
	}
	if (o->err == ECONNRESET || o->err == EPIPE || o->err == ECONNABORTED) {	/* it ended before it was one */
		not_yet(o);
		return;
	}
	/* not from here: the caller may be in the middle of a call */
	o->state = TCP_BROKEN;
	start_timer(o, 0.);
}

static void next_address(struct tcp_out *o, int err)
{
	o->err = err;
	out_close(o, TCP_IDLE);
	out_connect(o);
}

/* Nothing is kept of a frame before. */
static bool clear(const struct tcp_out *o)
{
	return o->rest_at == o->rest_len && !o->n_late && !o->zeroes;
}

/* @n bytes of what is kept have gone. */
static void flushed(struct tcp_out *o, size_t n)
{
	size_t k = o->rest_len - o->rest_at;
	uint32_t i = 0;

	k = n < k ? n : k;
	o->rest_at += (uint32_t)k;
	n -= k;
	for (; i < o->n_late && n >= o->late[i].len; i++)
		n -= o->late[i].len;
	if (i < o->n_late) {
		o->late[i].at = (char *)o->late[i].at + n;
		o->late[i].len -= n;
		n = 0;
	}
	o->n_late -= i;
	memmove(o->late, o->late + i, o->n_late * sizeof(*o->late));
	o->zeroes -= (uint32_t)n;
}

/* What is kept may stand where another process has seen it: find it here. False: it is not to be had any more. */
static bool find_late(struct tcp *t, struct tcp_out *o)
{
	for (uint32_t i = 0; i < o->n_late; i++) {
		o->late[i].at = t->user->there(t->ctx, o->by, o->late[i].at, o->late[i].len);
		if (!o->late[i].at)
			return false;
	}
	o->by = t->id;
	return true;
}

/* What is kept goes on; false: the connection is broken. */
static bool flush_rest(struct tcp *t, struct tcp_out *o)
{
	static const uint8_t zeroes[4096];

	if (o->n_late && o->by != t->id) {
		if (!t->user->there)
			return true;		/* the owner does it */
		if (!find_late(t, o)) {		/* its process is dead */
			errno = ESRCH;
			return false;
		}
	}
	while (!clear(o)) {
		struct iovec v[2 + TCP_SEGS];
		struct msghdr m = { .msg_iov = v };
		ssize_t n;

		if (o->rest_at < o->rest_len)
			v[m.msg_iovlen++] = (struct iovec){ o->rest + o->rest_at, o->rest_len - o->rest_at };
		for (uint32_t i = 0; i < o->n_late; i++)
			v[m.msg_iovlen++] = (struct iovec){ o->late[i].at, o->late[i].len };
		if (o->zeroes)
			v[m.msg_iovlen++] = (struct iovec){ (void *)(uintptr_t)zeroes,
				o->zeroes < sizeof(zeroes) ? o->zeroes : sizeof(zeroes) };
		n = sendmsg(fd_out(t, o), &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EFAULT && o->n_late) {	/* zeroes go in place of memory that is not there */
			for (uint32_t i = 0; i < o->n_late; i++)
				o->zeroes += (uint32_t)o->late[i].len;
			o->n_late = 0;
			t->user->fault(t->ctx, o->whose, o->tag);
			continue;
		}
		if (n < 0)
			return try_again(errno);
		flushed(o, (size_t)n);
	}
	o->rest_at = o->rest_len = 0;
	return true;
}

static void say_hello(struct tcp_out *o)
{
	struct tcp *t = o->t;
	uint8_t *h = o->hello;

	memcpy(o->nonce, h + 8, 16);			/* A of the greeting */
	put32(h, GREETS);
	put32(h + 4, HANDSHAKE);
	put32(h + 8, t->rank);
	put32(h + 12, o->rank);
	/* with the welcome the other side takes us for connected: then nothing may fail any more */
	if (!o->rest)
		o->rest = room(t, FRAME_MAX_);
	if (!o->rest || random16(h + 16)) {
		not_yet(o);
		return;
	}
	mac_of(t, 1, t->rank, o->rank, o->nonce, h + 16, h + 32);
	if (send(o->fd, h, HELLO, MSG_NOSIGNAL) != HELLO) {
		not_yet(o);
		return;
	}
	o->state = TCP_WELCOME;
	o->got = 0;
}

/* What the other side says: greeting, welcome, and nothing more. */
static void out_read(struct tcp_out *o)
{
	uint32_t want = o->state == TCP_GREETING ? GREETING : WELCOME;
	uint8_t mac[16], *to = o->state == TCP_GREETING ? o->hello : o->hello + HELLO;
	ssize_t n = recv(o->fd, o->state == TCP_READY ? mac : to + o->got,
		o->state == TCP_READY ? 1 : want - o->got, 0);

	if (n < 0 && try_again(errno))
		return;
	if (n <= 0 || o->state == TCP_READY) {
		o->err = n < 0 ? errno : 0;
		if (o->state == TCP_READY && n <= 0)
			out_ended(o);
		else if (o->state == TCP_READY)
			out_broken(o);
		else
			not_yet(o);
		return;
	}
	o->got += (uint32_t)n;
	if (o->got < want)
		return;
	if (o->state == TCP_GREETING) {
		if (get32(o->hello) != GREETS || get32(o->hello + 4) != HANDSHAKE)
			next_address(o, EPROTO);	/* somebody else listens there */
		else
			say_hello(o);
		return;
	}
	mac_of(o->t, 2, o->t->rank, o->rank, o->nonce, o->hello + 16, mac);
	if (!tcp_same(mac, to)) {
		out_broken(o);
		return;
	}
	o->state = TCP_READY;
	serial(o);
	o->met = true;
	o->err = 0;
	o->again = 0;
	o->resuming = false;
	set(o->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
	if (o->ready) {
		o->t->user->resumed(o->t->ctx, o->rank);
		return;
	}
	o->ready = true;
	o->t->user->writable(o->t->ctx, o->rank);
}

static void out_event(struct ev_loop *loop, ev_io *w, int events)
{
	struct tcp_out *o = w->data;

	if (o->state == TCP_CONNECTING) {
		int err = 0;
		socklen_t len = sizeof(err);

		if (getsockopt(o->fd, SOL_SOCKET, SO_ERROR, &err, &len)) {
			not_yet(o);
			return;
		}
		if (err) {
			next_address(o, err);
			return;
		}
		o->state = TCP_GREETING;
		ev_timer_stop(o->t->loop, &o->timer);	/* it may be stopped; if it ends, its kernel says so */
		watch(o, EV_READ);
		return;
	}
	if (events & EV_READ) {
		out_read(o);
		if (o->fd < 0 || o->state != TCP_READY)
			return;
	}
	if (events & EV_WRITE) {
		if (!flush_rest(o->t, o)) {
			o->err = errno;
			out_ended(o);
			return;
		}
		if (!clear(o))
			return;
		watch(o, EV_READ);
		o->full = false;
		o->t->user->writable(o->t->ctx, o->rank);
	}
}

/* Wake the loop: another thread has changed what it watches. */
static void nudge(struct tcp *t)
{
	ev_async_send(t->loop, &t->async);
}

/* Of @f, @went bytes have gone: keep the others, which stand where process @by sees them. */
static void keep(struct tcp_out *o, const struct wire_frame *f, size_t went, uint32_t by)
{
	if (went < WIRE_HDR) {
		memcpy(o->rest, f->hdr + went, WIRE_HDR - went);
		o->rest_len = (uint32_t)(WIRE_HDR - went);
		went = 0;
	} else {
		went -= WIRE_HDR;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		size_t skip = went < f->v[i].len ? went : f->v[i].len, n = f->v[i].len - skip;
		const char *at = (const char *)f->v[i].at + skip;

		went -= skip;
		if (n && f->stays) {
			o->late[o->n_late++] = (struct wire_vec){ (void *)(uintptr_t)at, n };
		} else if (n) {
			memcpy(o->rest + o->rest_len, at, n);
			o->rest_len += (uint32_t)n;
		}
	}
	o->whose = f->whose;
	o->tag = f->tag;
	o->by = by;
}

/* @n frames, or as many as fit into a call, to the kernel: bytes, or -1. */
static ssize_t to_kernel(int fd, const struct wire_frame *f, uint32_t *n)
{
	struct iovec v[OUT_VECS];
	struct msghdr m = { .msg_iov = v };
	uint32_t i;
	ssize_t r;

	for (i = 0; i < *n && m.msg_iovlen + 1 + f[i].n <= OUT_VECS; i++) {
		v[m.msg_iovlen++] = (struct iovec){ (void *)(uintptr_t)f[i].hdr, WIRE_HDR };
		for (uint32_t k = 0; k < f[i].n; k++)
			v[m.msg_iovlen++] = (struct iovec){ f[i].v[k].at, f[i].v[k].len };
	}
	*n = i;
	do
		r = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (r < 0 && errno == EINTR);
	return r;
}

static void connect_first(struct tcp_out *o)
{
	o->tried = 0;
	o->wanted = false;
	ev_now_update(o->t->loop);	/* it may have slept for long; the timer counts from its time */
	out_connect(o);
	nudge(o->t);
}

uint32_t tcp_send_some(struct tcp *t, uint32_t rank, const struct wire_frame *f, uint32_t n, bool *fault)
{
	struct tcp_out *o = &t->out[rank];
	uint32_t took = 0, now;
	ssize_t r;

	if (o->state == TCP_IDLE && !t->loop)
		o->wanted = true;
	else if (o->state == TCP_IDLE)
		connect_first(o);
	if (o->state != TCP_READY)
		return 0;
	if (!clear(o) || (t->lent && !tcp_has(t, rank))) {
		o->full = true;
		return 0;
	}
	for (; took < n; took += now) {
		now = n - took;
		r = to_kernel(fd_out(t, o), f + took, &now);
		if (r < 0 && errno == EFAULT && now > 1) {	/* whose is it? One at a time */
			now = 1;
			r = to_kernel(fd_out(t, o), f + took, &now);
		}
		if (r < 0 && errno == EFAULT) {
			*fault = true;
			return took;
		}
		if (r < 0 && !try_again(errno))
			return took;		/* the loop sees it, too, and ends the connection */
		for (size_t went = r < 0 ? 0 : (size_t)r; now; now--, took++) {
			if (went < WIRE_HDR + f[took].len) {
				if (went)
					keep(o, &f[took++], went, t->id);
				o->full = true;
				if (t->loop && !o->watched) {
					watch(o, EV_READ | EV_WRITE);
					nudge(t);
				}
				return took;
			}
			went -= WIRE_HDR + f[took].len;
		}
	}
	return took;
}

int tcp_send(struct tcp *t, uint32_t rank, const void *hdr, const void *payload, uint32_t len)
{
	struct wire_vec v = { (void *)(uintptr_t)payload, len };
	struct wire_frame f = { .hdr = hdr, .v = &v, .n = len != 0, .len = len };
	bool fault = false;

	return tcp_send_some(t, rank, &f, 1, &fault) != 1;
}

/* ---- lending ---- */

uint64_t tcp_room(uint32_t size)
{
	return size * (sizeof(struct tcp_out) + sizeof(struct tcp_in) + IN_BUF + FRAME_MAX_ + 3 * 64);
}

struct tcp_lent tcp_lend(const struct tcp *t, uint32_t rank)
{
	const struct tcp_out *o = &t->out[rank];

	return (struct tcp_lent){ o->serial, o->state == TCP_READY ? o->fd : -1, o->in ? o->in->fd : -1 };
}

void tcp_rest(struct tcp *t, bool on)
{
	for (struct tcp_in *c = t->ins; c; c = c->next) {
		if (c->proved && on)
			ev_io_stop(t->loop, &c->io);
		else if (c->proved)
			ev_io_start(t->loop, &c->io);
	}
}

void tcp_serve(struct tcp *t)
{
	for (uint32_t i = 0; i < t->size; i++) {
		struct tcp_out *o = &t->out[i];

		if (o->wanted && o->state == TCP_IDLE)
			connect_first(o);
		o->wanted = false;
		if (o->in && o->waits && o->hurt == READ_ON && !o->in->left && !deliver(t, o->in))
			o->hurt = READ_BAD;
		o->waits = false;
		if (o->in)
			in_goes_on(o->in, o->hurt, o->in_err);
		o->hurt = READ_ON;
		if (o->full && o->state == TCP_READY && !o->watched)
			watch(o, EV_READ | EV_WRITE);
	}
}

void tcp_cut(struct tcp *t)
{
	for (uint32_t i = 0; i < t->size; i++) {
		struct tcp_out *o = &t->out[i];

		o->hurt = READ_ON;
		if (o->in)
			in_ended(o->in, 0);
		if (o->state == TCP_READY)
			out_ended(o);
	}
}

bool tcp_due(const struct tcp *t)
{
	for (uint32_t i = 0; i < t->size; i++)
		if (t->out[i].wanted || t->out[i].hurt)
			return true;
	return false;
}

/* True: something has come. */
static bool borrower_reads(struct tcp *t, struct tcp_out *o)
{
	struct tcp_in *c = o->in;
	uint32_t reads = c->reads, have = c->have;
	bool more = true;

	for (int i = 0; i < IN_TURNS && more && !o->hurt; i++) {
		if (c->left && !t->user->ours_part(t->ctx, c->part)) {
			o->waits = true;
			break;
		}
		o->hurt = (uint8_t)in_read(t, c, &more, &o->in_err);
		if (o->waits)
			break;
	}
	return c->reads != reads || c->have != have;
}

bool tcp_look(struct tcp *t, uint32_t rank)
{
	struct tcp_out *o = &t->out[rank];
	bool moved = o->in && o->hurt == READ_ON && borrower_reads(t, o);

	if (o->full && o->state == TCP_READY && flush_rest(t, o) && clear(o)) {
		t->user->writable(t->ctx, rank);	/* ours; the owner tells the others */
		moved = true;
	}
	return moved;
}

static void woken(struct ev_loop *loop, ev_async *w, int events)
{
}

/* A listening socket, or -errno. Two that bind at once both succeed, given SO_REUSEADDR: listen() tells. */
static int listen_at(const struct in6_addr *addr, uint16_t port)
{
	struct sockaddr_storage sa;
	socklen_t len = tcp_addr_socket(addr, port, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	if (port)	/* connections of a job before may still be in TIME_WAIT there */
		set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (sa.ss_family == AF_INET6)	/* everywhere is both kinds; another is what it says */
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, !IN6_IS_ADDR_UNSPECIFIED(addr));
	if (!bind(fd, (struct sockaddr *)&sa, len) && !listen(fd, SOMAXCONN))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	if (getsockname(fd, (struct sockaddr *)&sa, &len))
		return 0;
	return ntohs(sa.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&sa)->sin6_port :
		     ((struct sockaddr_in *)&sa)->sin_port);
}

/* At all of @at: 0, or -errno and nothing is open. *@port: 0 becomes what the system has chosen for the first. */
static int listen_all(const struct tcp_bind *at, uint16_t *port, int *fds)
{
	const struct in6_addr four_any = tcp_addr_four((struct in_addr){ htonl(INADDR_ANY) });
	uint32_t n;
	int fd = 0;

	for (n = 0; n < at->n; n++) {
		fd = listen_at(&at->addr[n], *port);
		if (fd == -EAFNOSUPPORT && IN6_IS_ADDR_UNSPECIFIED(at->addr))
			fd = listen_at(&four_any, *port);
		if (fd < 0)
			break;
		fds[n] = fd;
		if (!*port)
			*port = port_of(fd);
	}
	if (n == at->n)
		return at->n ? 0 : -EADDRNOTAVAIL;
	while (n)
		close(fds[--n]);
	return fd;
}

int tcp_listen(const struct tcp_bind *at, const uint16_t *ports, int n, uint16_t *port, int fds[TCP_ADDRS])
{
	int rc = -EADDRINUSE;

	for (int i = 0; i < n && rc; i++)
		for (int tries = ports[i] ? 1 : ANY_PORT; tries-- && rc;) {	/* free on the first, not on another */
			*port = ports[i];
			rc = listen_all(at, port, fds);
		}
	return rc ? rc : (int)at->n;
}

int tcp_reach(const struct in6_addr *addr)
{
	struct sockaddr_storage sa;
	socklen_t len = tcp_addr_socket(addr, 9, &sa);
	int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	/* sends nothing: is there a way? What is short now says nothing about that */
	if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, len) && !try_again(errno))
		err = errno;
	if (fd >= 0)
		close(fd);
	return err;
}

void tcp_accepting(struct tcp *t, bool on)
{
	for (uint32_t i = 0; i < t->listens; i++)
		if (on)
			ev_io_start(t->loop, &t->listener[i]);
		else
			ev_io_stop(t->loop, &t->listener[i]);
}

/* Nothing so far; or what a process before us has left, whose connections are to be made anew. */
static void out_init(struct tcp *t, uint32_t i, bool heir)
{
	struct tcp_out *o = &t->out[i], was = *o;

	*o = (struct tcp_out){ .t = t, .rank = i, .fd = -1 };
	ev_timer_init(&o->timer, out_timer, 0., 0.);
	o->timer.data = o;
	ev_timer_init(&o->missing, in_missing, 0., 0.);
	o->missing.data = o;
	if (!heir)
		return;
	o->rest = was.rest;
	o->seat = was.seat;
	o->serial = was.serial;
	o->met = was.met;
	o->ready = was.ready;
	serial(o);
	if (was.state == TCP_GONE || was.state == TCP_BROKEN) {
		o->state = was.state;
		if (was.state == TCP_BROKEN)
			start_timer(o, GRACE_S);
	} else if (o->met) {
		out_ended(o);
		if (was.in) {
			ev_timer_set(&o->missing, resume_s(t) + GRACE_S, 0.);
			ev_timer_start(t->loop, &o->missing);
		}
	}
}

int tcp_start(struct tcp *t, const struct tcp_bind *at, const uint16_t *ports, int n, uint16_t *port)
{
	bool heir = t->out != NULL;
	int rc = (int)t->listens;

	if (!heir)
		t->out = room(t, t->size * sizeof(*t->out));
	if (!t->out)
		return -ENOMEM;
	if (!rc)
		rc = tcp_listen(at, ports, n, port, t->fd);
	if (rc < 0) {
		no_room(t, t->out);
		t->out = NULL;
		return rc;
	}
	t->listens = (uint32_t)rc;
	for (uint32_t i = 0; i < t->size; i++)
		out_init(t, i, heir);
	for (uint32_t i = 0; i < t->listens; i++) {
		ev_io_init(&t->listener[i], accept_event, t->fd[i], EV_READ);
		t->listener[i].data = t;
	}
	tcp_accepting(t, true);
	ev_async_init(&t->async, woken);
	ev_async_start(t->loop, &t->async);
	return 0;
}

void tcp_stop(struct tcp *t)
{
	if (!t->out)
		return;
	tcp_accepting(t, false);
	ev_async_stop(t->loop, &t->async);
	while (t->listens)
		close(t->fd[--t->listens]);
	for (uint32_t i = 0; i < t->size; i++) {
		out_close(&t->out[i], TCP_GONE);
		ev_timer_stop(t->loop, &t->out[i].missing);
	}
	while (t->ins)
		in_free(t->ins);
	for (uint32_t i = 0; i < t->size; i++) {
		no_room(t, t->out[i].seat);
		no_room(t, t->out[i].rest);
	}
	no_room(t, t->out);
	t->out = NULL;
}

void tcp_forget(struct tcp *t)
{
	if (!t->out)
		return;
	while (t->listens)
		close(t->fd[--t->listens]);
	for (uint32_t i = 0; i < t->size; i++)
		if (t->out[i].fd >= 0)
			close(t->out[i].fd);
	for (struct tcp_in *c = t->ins; c; c = c->next)
		close(c->fd);
	t->out = NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tcp_conn.c - connections: made, proved, ended, made anew; see tcp.h
 *
 * Handshake, little-endian:
 *	acceptor -> connector	"P3T1", version, 16 random bytes A
 *	connector -> acceptor	"P3T1", version, own rank, the acceptor's rank, 16 random bytes B, MAC(1, ranks, A, B)
 *	acceptor -> connector	MAC(2, ranks, A, B); or zeroes: turned away for want of room, before it was read
 * then frames, both ways. Whoever does not get so far within five seconds is closed, and no more than STRANGERS may be
 * on the way at a time: one more, and the oldest who has nothing to say goes, since the newest may be one of the job's.
 * Who has no room at all says so: a greeting of version FULL, and an errno. Between two processes there is one
 * connection, whoever has made it: when both begin at once, one of them gives its own up (crossed()).
 *
 * A handshake that ends early is tried again, for as long as a first connection may take: somebody may have been in the
 * way, or something short. Only who is closed after his hello, without a word, is not wanted, and gives up sooner.
 *
 * Whoever reads a connection sees its end, after all that came over it; who writes leaves it to him. Both sides make it
 * anew then, and user->resumed() sends again what may not have come; that is tried for RESUME_S. A process at its end
 * has closed its port, too, and who connects is refused: that is its end (user->gone). Who has sent what makes no sense
 * is given up, and not let in again.
 *
 * A process that is stopped is not at its end, however long: its kernel goes on to acknowledge what comes, and says
 * that there is no room. So nothing here counts the time in which a connected process does not read or answer. A
 * machine that vanishes is noticed by our kernel, which asks for signs of life (keepalive) where nothing of ours is
 * under way; where something is, we ask the kernel (vanished()). While a connection is being made, TCP_USER_TIMEOUT
 * does that; later it would end those to stopped processes whose windows are closed. Our own timers may run late by the
 * time that we were stopped ourselves: what the kernel has for us then goes first.
 */
#include "tcp_int.h"

#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>

#define GREETS		0x31543350U	/* "P3T1" */
#define FULL		0		/* in the place of HANDSHAKE: no room here now */
#define GREETING	24
#define WELCOME		16
#define STRANGERS	64
#define HANDSHAKE_S	5.0
#define RESUME_S	10.0		/* or the user's patience, if that is less: for a connection that has ended */
#define VANISHED_S	30		/* or the user's patience, if that is less: until a machine is taken for gone */
#define AGAIN		5		/* handshakes more than one, at least; at most, where our hello is refused */
#define AGAIN_S		0.01		/* the first after so long, then twice as long each time, so often */
#define PAUSE_S		0.1		/* without a look at the listeners, when nobody can be let in */

enum { WARN_VERSION = 1, WARN_KEY = 2, WARN_FULL = 4 };	/* tcp.warned */

static void serial(struct tcp_out *o)
{
	o->t->changes++;
	if (!++o->serial)
		o->serial = 1;
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

static uint32_t vanished_s(const struct tcp *t)
{
	return t->patience < VANISHED_S ? (uint32_t)t->patience : VANISHED_S;
}

/* @making: we are about to connect it. */
static void tune(const struct tcp *t, int fd, bool making)
{
	int s = (int)vanished_s(t), probes = 4, every = s / 6 ? s / 6 : 1;
	int idle = s - probes * every;

	tcp_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	tcp_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle > 0 ? idle : 1);
	tcp_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, every);
	tcp_set(fd, IPPROTO_TCP, TCP_KEEPCNT, probes);
	tcp_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	if (making)
		tcp_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, s * 1000);
}

/* Has the kernel something for us there? */
static bool pending(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0;
}

/* ---- the end of a connection ---- */

static void out_connect(struct tcp_out *o);
static void next_address(struct tcp_out *o, int err);

static void leave(struct tcp_in *c)
{
	ev_io_stop(c->t->loop, &c->io);
	ev_timer_stop(c->t->loop, &c->timer);
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
}

static void enter(struct tcp *t, struct tcp_in *c)
{
	c->t = t;
	c->next = t->ins;
	c->at = &t->ins;
	t->ins = c;
	if (c->next)
		c->next->at = &c->next;
}

void tcp_stranger_free(struct tcp_in *c)
{
	leave(c);
	c->t->strangers--;
	close(c->fd);
	free(c);
}

void tcp_drop(struct tcp_out *o, uint8_t state)
{
	struct tcp *t = o->t;

	if (o->in) {
		leave(o->in);
		o->in = NULL;
	}
	if (o->fd >= 0) {
		ev_io_stop(t->loop, &o->io);
		end(t, o->fd);
		o->fd = -1;
		serial(o);
	}
	ev_timer_stop(t->loop, &o->timer);
	o->rest_len = o->rest_at = o->n_late = o->zeroes = 0;
	o->full = false;
	o->watched = false;
	o->waits = false;
	o->hurt = READ_ON;
	o->state = state;
}

static void lost(struct tcp_out *o)
{
	if (o->state == TCP_GONE)
		return;
	tcp_drop(o, TCP_GONE);
	if (o->resuming && o->err == ECONNREFUSED)
		o->err = o->broke;		/* its port is closed, too: it has ended, as it looked at first */
	o->t->user->gone(o->t->ctx, o->rank);
}

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
	o->again = o->refused = 0;
	o->broke = o->err;
	o->until = ev_now(o->t->loop) + resume_s(o->t);
}

void tcp_ended(struct tcp_out *o, int err)
{
	if (o->state == TCP_GONE)
		return;
	if (!o->resuming && err)		/* else a write may have been told why */
		o->err = err;
	tcp_drop(o, TCP_AGAIN);
	resuming(o);
	start_timer(o, AGAIN_S);
}

/*
 * The handshake has not succeeded, for want of something here or there, or strangers were in the way. Nothing has been
 * sent so far, so it may be tried again, until time is up (which passes, too, while we are stopped).
 */
static void not_yet(struct tcp_out *o)
{
	if (o->state == TCP_GONE || (o->again == AGAIN && ev_now(o->t->loop) >= o->until)) {
		lost(o);
		return;
	}
	tcp_drop(o, TCP_AGAIN);
	o->tried = 0;
	o->turned = false;
	start_timer(o, AGAIN_S * (1 << (o->again < AGAIN ? o->again++ : AGAIN - 1)));
}

static void refused(struct tcp_out *o, int err)
{
	o->why = TCP_WHY_REFUSED;
	o->err = err;
	if (o->refused++ == AGAIN)
		lost(o);
	else
		not_yet(o);
}

/*
 * It was closed after our hello: it is not wanted, or (rarely) something was short there, or that was another process,
 * which has this address, too.
 */
static void not_wanted(struct tcp_out *o, int err)
{
	const struct tcp_place *p = o->t->user->place(o->t->ctx, o->rank);

	o->why = TCP_WHY_REFUSED;
	if (p && o->tried < p->n) {
		o->turned = true;
		next_address(o, err);
		return;
	}
	refused(o, err);
}

/* The owner ends what cannot be read on; false: so it was. */
bool tcp_goes_on(struct tcp_out *o, int how, int err)
{
	if (how == READ_ENDED)
		tcp_ended(o, err);
	else if (how == READ_BAD)
		lost(o);		/* what came makes no sense, or its sender is gone */
	return how == READ_ON;
}

/* It may be one of the job's, whose hello is under way: it should not take that for an answer, but come again. */
static void turn_away(struct tcp_in *c)
{
	static const uint8_t full[WELCOME];

	send(c->fd, full, WELCOME, MSG_NOSIGNAL);
	c->t->refused++;
	tcp_stranger_free(c);
}

static void stranger_late(struct ev_loop *loop, ev_timer *w, int events)
{
	struct tcp_in *c = w->data;

	turn_away(c);
}

/*
 * Where something of ours is under way the kernel goes on trying for a quarter of an hour. A machine that is there
 * acknowledges it or, when its process does not read, answers the kernel's probes, which come less and less often then:
 * one that was sent just now says nothing.
 */
static bool vanished(const struct tcp *t, int fd)
{
	struct tcp_info i;
	socklen_t len = sizeof(i);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len) || i.tcpi_last_ack_recv <= vanished_s(t) * 1000U)
		return false;
	return i.tcpi_probes > 1 || (i.tcpi_unacked && i.tcpi_last_data_sent > 1000U);
}

static void out_event(struct ev_loop *loop, ev_io *w, int events);
static void in_event(struct ev_loop *loop, ev_io *w, int events);

static void watch_in(struct tcp_in *c)
{
	ev_io_init(&c->io, in_event, c->fd, EV_READ);
	c->io.data = c;
	ev_io_start(c->t->loop, &c->io);
}

/* The keys are proved: from now on @fd is the connection to this rank, whoever has made it. */
static void made(struct tcp_out *o, int fd)
{
	struct tcp *t = o->t;

	ev_io_stop(t->loop, &o->io);
	ev_timer_stop(t->loop, &o->timer);
	*o->seat = (struct tcp_in){ .fd = fd, .proved = true, .rank = o->rank };
	o->in = o->seat;
	enter(t, o->in);
	watch_in(o->in);
	o->fd = fd;
	ev_io_init(&o->io, out_event, fd, EV_WRITE);
	o->io.data = o;
	o->watched = false;
	o->state = TCP_READY;
	o->met = true;
	o->err = 0;
	o->why = TCP_WHY_ERR;
	o->again = o->refused = 0;
	o->turned = false;
	o->resuming = false;
	tcp_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
	serial(o);
	if (o->ready) {
		t->user->resumed(t->ctx, o->rank);
		return;
	}
	o->ready = true;
	t->user->writable(t->ctx, o->rank);
}

/* What a connection needs: after the handshake nothing may fail any more. */
static bool has_room(struct tcp_out *o)
{
	if (!o->rest)
		o->rest = tcp_alloc(o->t, FRAME_MAX_);
	if (!o->seat)
		o->seat = tcp_alloc(o->t, sizeof(*o->seat) + IN_BUF);
	return o->rest && o->seat;
}

/* ---- in ---- */

/* Once of each kind: who tries may do so again and again. */
static void warn(struct tcp *t, uint8_t kind, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	if (t->warned & kind || !t->user->warn)
		return;
	t->warned |= kind;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t->user->warn(t->ctx, text);
}

/* One of this library, but not of this job: somebody should hear of it. */
static void warn_of(struct tcp_in *c, bool version)
{
	char addr[INET6_ADDRSTRLEN] = "an address that is not known";
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	struct in6_addr from;
	uint16_t port;

	if (!getpeername(c->fd, (struct sockaddr *)&sa, &len) && tcp_addr_of(&sa, &from, &port))
		tcp_addr_text(&from, addr);
	if (version)
		warn(c->t, WARN_VERSION, "a process at %s was not let in: it speaks version %u of the handshake, "
		     "this one version %u", addr, get32(c->hello + 4), HANDSHAKE);
	else
		warn(c->t, WARN_KEY, "a process at %s, which calls itself %u, was not let in: it does not have this "
		     "job's key", addr, get32(c->hello + 8));
}

static bool hello_ok(struct tcp_in *c)
{
	struct tcp *t = c->t;
	uint8_t mac[16];
	uint32_t rank = get32(c->hello + 8), to = get32(c->hello + 12);
	bool key;

	if (get32(c->hello) != GREETS)
		return false;
	mac_of(t, 1, rank, to, c->nonce, c->hello + 16, mac);
	key = tcp_same(mac, c->hello + 32);
	if (get32(c->hello + 4) != HANDSHAKE || !key) {
		warn_of(c, get32(c->hello + 4) != HANDSHAKE);
		return false;
	}
	/* of the job; it may have come here by an address that more hosts than one have */
	if (rank >= t->size || to != t->rank || t->out[rank].state == TCP_GONE ||
	    !t->user->known(t->ctx, rank) || !has_room(&t->out[rank]))
		return false;
	c->rank = rank;
	return true;
}

/*
 * Two that connect to each other at once: what the lower rank makes stays. Who has said hello may have been let in by
 * the other one, who has given up its own then, before it let us in.
 */
static bool crossed(const struct tcp_in *c)
{
	const struct tcp_out *o = &c->t->out[c->rank];

	return (o->state == TCP_WELCOME && c->t->rank < c->rank) || pending(c->fd, POLLRDHUP);
}

static void hello_read(struct tcp_in *c)
{
	struct tcp *t = c->t;
	struct tcp_out *o;
	uint8_t welcome[WELCOME];
	ssize_t n = recv(c->fd, c->hello + c->have, HELLO - c->have, 0);
	int fd;

	if (n < 0 && tcp_try_again(errno))
		return;
	if (n <= 0) {
		tcp_stranger_free(c);
		return;
	}
	c->have += (uint32_t)n;
	if (c->have < HELLO)
		return;
	if (!hello_ok(c)) {
		t->refused++;
		tcp_stranger_free(c);
		return;
	}
	if (crossed(c)) {
		tcp_stranger_free(c);
		return;
	}
	o = &t->out[c->rank];
	fd = c->fd;
	mac_of(t, 2, c->rank, t->rank, c->nonce, c->hello + 16, welcome);
	/* a connection whose end we have not seen so far ends here: what is left there comes again */
	tcp_drop(o, o->state == TCP_IDLE ? TCP_IDLE : TCP_AGAIN);
	leave(c);
	t->strangers--;
	free(c);
	if (send(fd, welcome, WELCOME, MSG_NOSIGNAL) == WELCOME) {
		made(o, fd);
		return;
	}
	close(fd);
	if (o->state == TCP_AGAIN)
		tcp_ended(o, o->err);
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
		if (!tcp_goes_on(&c->t->out[c->rank], tcp_in_read(c->t, c, &more, &err), err))
			return;
}

/* The one that came first; @silent: of those that have said nothing which we have not read. */
static struct tcp_in *oldest(const struct tcp *t, bool silent)
{
	struct tcp_in *found = NULL;

	for (struct tcp_in *c = t->ins; c; c = c->next)
		if (!c->proved && !(silent && pending(c->fd, POLLIN)))
			found = c;
	return found;
}

/* Whoever has connected hears that it is no use now, and why: else it could only wait, as for one that is stopped. */
static void say_full(int fd, int err)
{
	uint8_t greeting[GREETING] = { 0 };

	put32(greeting, GREETS);
	put32(greeting + 4, FULL);
	put32(greeting + 8, (uint32_t)err);
	send(fd, greeting, GREETING, MSG_NOSIGNAL);	/* it sees the end in any case */
	close(fd);
}

/*
 * Somebody stands in the kernel's queue and cannot be let in, for want of a descriptor or of memory; the loop would
 * tell us so without end. A stranger's descriptor serves; else the one in reserve, for a word; else we look again
 * later.
 */
static void no_descriptor(struct tcp *t, int listener, int err)
{
	struct tcp_in *c = oldest(t, true);
	int fd = -1;

	if (c) {
		turn_away(c);
		return;				/* the loop comes again */
	}
	if (t->reserve >= 0) {
		close(t->reserve);
		t->reserve = -1;
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			say_full(fd, err);
		tcp_reserve(t);
	}
	warn(t, WARN_FULL, "other processes cannot connect to this one: %s", strerror(err));
	if (fd < 0)
		tcp_pause(t, PAUSE_S);
}

void tcp_accept_event(struct ev_loop *loop, ev_io *w, int events)
{
	struct tcp *t = w->data;
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	uint8_t greeting[GREETING];
	struct tcp_in *c;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			no_descriptor(t, w->fd, errno);
		return;
	}
	if (t->strangers >= STRANGERS) {
		c = oldest(t, true);
		turn_away(c ? c : oldest(t, false));
	}
	c = calloc(1, sizeof(*c));
	put32(greeting, GREETS);
	put32(greeting + 4, HANDSHAKE);
	if (!c || random16(c->nonce)) {
		say_full(fd, c ? EAGAIN : ENOMEM);
		free(c);
		return;
	}
	memcpy(greeting + 8, c->nonce, 16);
	tune(t, fd, false);
	if (send(fd, greeting, GREETING, MSG_NOSIGNAL) != GREETING) {
		free(c);
		close(fd);
		return;
	}
	c->fd = fd;
	enter(t, c);
	t->strangers++;
	watch_in(c);
	ev_timer_init(&c->timer, stranger_late, HANDSHAKE_S, 0);
	c->timer.data = c;
	ev_timer_start(loop, &c->timer);
}

/* ---- out ---- */

void tcp_watch_room(struct tcp_out *o)
{
	ev_io_start(o->t->loop, &o->io);
	o->watched = true;
}

static void no_watch(struct tcp_out *o)
{
	ev_io_stop(o->t->loop, &o->io);
	o->watched = false;
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
		o->why = TCP_WHY_ERR;
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
		if (tcp_try_again(bad)) {
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
	if (o->turned) {			/* one of its addresses is there, and has refused us */
		refused(o, o->err);
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
	tcp_drop(o, TCP_IDLE);
	out_connect(o);
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
	if (!has_room(o) || random16(h + 16)) {
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

static void greeted(struct tcp_out *o)
{
	uint32_t magic = get32(o->hello), version = get32(o->hello + 4);

	if (magic == GREETS && version == HANDSHAKE) {
		say_hello(o);
	} else if (magic == GREETS && version == FULL) {
		o->why = TCP_WHY_FULL;
		o->why_is = get32(o->hello + 8);
		o->err = EBUSY;
		not_yet(o);
	} else {				/* somebody else listens there; the last one is what is told */
		o->why = magic == GREETS ? TCP_WHY_VERSION : TCP_WHY_STRANGE;
		o->why_is = magic == GREETS ? version : magic;
		next_address(o, EPROTO);
	}
}

/* What the other side says first: greeting, welcome. */
static void out_read(struct tcp_out *o)
{
	uint32_t want = o->state == TCP_GREETING ? GREETING : WELCOME;
	uint8_t mac[16], *to = o->state == TCP_GREETING ? o->hello : o->hello + HELLO;
	ssize_t n = recv(o->fd, to + o->got, want - o->got, 0);

	if (n < 0 && tcp_try_again(errno))
		return;
	if (n <= 0) {
		int err = n < 0 ? errno : 0;

		if (o->state == TCP_WELCOME) {
			not_wanted(o, err);
			return;
		}
		o->err = err;
		o->why = TCP_WHY_CLOSED;
		not_yet(o);
		return;
	}
	o->got += (uint32_t)n;
	if (o->got < want)
		return;
	if (o->state == TCP_GREETING) {
		greeted(o);
		return;
	}
	if (!memcmp(to, (const uint8_t[WELCOME]){ 0 }, WELCOME)) {
		o->why = TCP_WHY_FULL;
		o->why_is = EAGAIN;
		o->err = EBUSY;
		not_yet(o);
		return;
	}
	mac_of(o->t, 2, o->t->rank, o->rank, o->nonce, o->hello + 16, mac);
	if (tcp_same(mac, to)) {
		made(o, o->fd);
		return;
	}
	o->why = TCP_WHY_KEY;
	o->err = EPROTO;
	lost(o);
}

/* It is connected, or is not; the kernel has room again. The end of one that is made whoever reads will see. */
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
		ev_timer_stop(loop, &o->timer);		/* it may be stopped; if it ends, its kernel says so */
		ev_io_stop(loop, &o->io);
		ev_io_set(&o->io, o->fd, EV_READ);
		ev_io_start(loop, &o->io);
	} else if (o->state != TCP_READY) {
		out_read(o);
	} else if (!tcp_flush_rest(o->t, o)) {
		no_watch(o);
		if (o->err == ESRCH)
			tcp_ended(o, ESRCH);	/* what was half sent is not to be had any more */
	} else if (tcp_clear(o)) {
		no_watch(o);
		o->full = false;
		o->t->user->writable(o->t->ctx, o->rank);
	}
}

void tcp_connect_first(struct tcp_out *o)
{
	o->tried = o->again = o->refused = 0;
	o->turned = false;
	o->wanted = false;
	ev_now_update(o->t->loop);	/* it may have slept for long; the timer counts from its time */
	o->until = ev_now(o->t->loop) + o->t->patience;
	out_connect(o);
	tcp_nudge(o->t);
}

/* Signs of life. */
void tcp_pulse_event(struct ev_loop *loop, ev_timer *w, int events)
{
	struct tcp *t = w->data;

	for (uint32_t i = 0; i < t->size; i++)
		if (t->out[i].state == TCP_READY && vanished(t, t->out[i].fd))
			tcp_ended(&t->out[i], ETIMEDOUT);
}

/* Nothing so far; or what a process before us has left, whose connection is to be made anew. */
void tcp_out_init(struct tcp *t, uint32_t i, bool heir)
{
	struct tcp_out *o = &t->out[i], was = *o;

	*o = (struct tcp_out){ .t = t, .rank = i, .fd = -1 };
	ev_timer_init(&o->timer, out_timer, 0., 0.);
	o->timer.data = o;
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
			start_timer(o, 0.);
	} else if (o->met) {
		tcp_ended(o, 0);
	}
}

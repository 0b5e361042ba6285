/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* tcp.c - start and end, and the owner's part of lending; see tcp.h */
#include "tcp_int.h"

#include <fcntl.h>
#include <stdio.h>

#define PULSE_S 1.0			/* between two looks for signs of life */

static void watch_listeners(struct tcp *t, bool on)
{
	for (uint32_t i = 0; i < t->listens; i++)
		if (on)
			ev_io_start(t->loop, &t->listener[i]);
		else
			ev_io_stop(t->loop, &t->listener[i]);
}

void tcp_accepting(struct tcp *t, bool on)
{
	ev_timer_stop(t->loop, &t->pause);
	t->accepting = on;
	watch_listeners(t, on);
}

static void pause_over(struct ev_loop *loop, ev_timer *w, int events)
{
	struct tcp *t = w->data;

	tcp_reserve(t);
	watch_listeners(t, t->accepting);
}

void tcp_pause(struct tcp *t, double s)
{
	watch_listeners(t, false);
	ev_timer_stop(t->loop, &t->pause);
	ev_timer_set(&t->pause, s, 0.);
	ev_timer_start(t->loop, &t->pause);
}

void tcp_reserve(struct tcp *t)
{
	if (t->reserve < 0)
		t->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

const char *tcp_why(const struct tcp_out *o, char text[TCP_WHY_TEXT])
{
	switch ((enum tcp_why)o->why) {
	case TCP_WHY_ERR:
		snprintf(text, TCP_WHY_TEXT, "%s", o->err ? strerror(o->err) : "the connection was closed there");
		break;
	case TCP_WHY_CLOSED:
		snprintf(text, TCP_WHY_TEXT, "the connection was closed there before anything was said%s%s",
			 o->err ? ": " : "", o->err ? strerror(o->err) : "");
		break;
	case TCP_WHY_FULL:
		snprintf(text, TCP_WHY_TEXT, "the process there cannot let anybody in: %s", strerror((int)o->why_is));
		break;
	case TCP_WHY_STRANGE:
		snprintf(text, TCP_WHY_TEXT, "what listens there is no process of a Portals job (it begins with "
			 "0x%08x)", o->why_is);
		break;
	case TCP_WHY_VERSION:
		snprintf(text, TCP_WHY_TEXT, "another version of the library: the process there speaks version %u of "
			 "the handshake, this one version %u", o->why_is, HANDSHAKE);
		break;
	case TCP_WHY_REFUSED:
		snprintf(text, TCP_WHY_TEXT, "the process there has refused us: it does not have this job's key, or "
			 "has given this one up");
		break;
	case TCP_WHY_KEY:
		snprintf(text, TCP_WHY_TEXT, "what listens there does not have this job's key");
		break;
	}
	return text;
}

static void woken(struct ev_loop *loop, ev_async *w, int events)
{
}

int tcp_start(struct tcp *t, const struct tcp_bind *at, const uint16_t *ports, int n, uint16_t *port)
{
	bool heir = t->out != NULL;
	int rc = (int)t->listens;

	if (!heir)
		t->out = tcp_alloc(t, t->size * sizeof(*t->out));
	if (!t->out)
		return -ENOMEM;
	if (!rc)
		rc = tcp_listen(at, ports, n, port, t->fd);
	if (rc < 0) {
		tcp_release(t, t->out);
		t->out = NULL;
		return rc;
	}
	t->listens = (uint32_t)rc;
	for (uint32_t i = 0; i < t->size; i++)
		tcp_out_init(t, i, heir);
	for (uint32_t i = 0; i < t->listens; i++) {
		ev_io_init(&t->listener[i], tcp_accept_event, t->fd[i], EV_READ);
		t->listener[i].data = t;
	}
	t->reserve = -1;
	ev_timer_init(&t->pause, pause_over, 0., 0.);
	t->pause.data = t;
	tcp_accepting(t, true);
	ev_async_init(&t->async, woken);
	ev_async_start(t->loop, &t->async);
	tcp_reserve(t);				/* not before that: libev ends the process when it gets no descriptor */
	ev_timer_init(&t->pulse, tcp_pulse_event, PULSE_S, PULSE_S);
	t->pulse.data = t;
	ev_timer_start(t->loop, &t->pulse);
	return 0;
}

/* What nobody will read: closed with that, the connection would be reset, and what is on its way from us lost. */
static void discard(int fd)
{
	for (int i = 0; i < 16 && recv(fd, NULL, 1 << 20, MSG_TRUNC | MSG_DONTWAIT) > 0; i++)
		;
}

void tcp_stop(struct tcp *t)
{
	if (!t->out)
		return;
	tcp_accepting(t, false);
	ev_async_stop(t->loop, &t->async);
	ev_timer_stop(t->loop, &t->pulse);
	while (t->listens)
		close(t->fd[--t->listens]);
	if (t->reserve >= 0)
		close(t->reserve);
	for (uint32_t i = 0; i < t->size; i++) {
		if (t->out[i].state == TCP_READY)
			discard(t->out[i].fd);
		tcp_drop(&t->out[i], TCP_GONE);
	}
	while (t->ins)
		tcp_stranger_free(t->ins);
	for (uint32_t i = 0; i < t->size; i++) {
		tcp_release(t, t->out[i].seat);
		tcp_release(t, t->out[i].rest);
	}
	tcp_release(t, t->out);
	t->out = NULL;
}

void tcp_forget(struct tcp *t)
{
	if (!t->out)
		return;
	while (t->listens)
		close(t->fd[--t->listens]);
	if (t->reserve >= 0)
		close(t->reserve);
	for (uint32_t i = 0; i < t->size; i++)
		if (t->out[i].fd >= 0)
			close(t->out[i].fd);
	for (struct tcp_in *c = t->ins; c; c = c->next)
		if (!c->proved)
			close(c->fd);
	t->out = NULL;
}

/* ---- lending ---- */

uint64_t tcp_room(uint32_t size)
{
	return size * (sizeof(struct tcp_out) + sizeof(struct tcp_in) + IN_BUF + FRAME_MAX_ + 3 * 64);
}

struct tcp_lent tcp_lend(const struct tcp *t, uint32_t rank)
{
	const struct tcp_out *o = &t->out[rank];

	return (struct tcp_lent){ o->serial, o->state == TCP_READY ? o->fd : -1 };
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
			tcp_connect_first(o);
		o->wanted = false;
		if (o->in && o->waits && o->hurt == READ_ON && !o->in->left && !tcp_deliver(t, o->in))
			o->hurt = READ_BAD;
		o->waits = false;
		if (o->in)
			tcp_goes_on(o, o->hurt, o->in_err);
		o->hurt = READ_ON;
		if (o->full && o->state == TCP_READY && !o->watched)
			tcp_watch_room(o);
	}
}

void tcp_cut(struct tcp *t)
{
	for (uint32_t i = 0; i < t->size; i++) {
		struct tcp_out *o = &t->out[i];

		if (o->state == TCP_READY)
			tcp_ended(o, 0);
	}
}

bool tcp_due(const struct tcp *t)
{
	for (uint32_t i = 0; i < t->size; i++)
		if (t->out[i].wanted || t->out[i].hurt)
			return true;
	return false;
}

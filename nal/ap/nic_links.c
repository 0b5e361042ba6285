/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nic_links.c - PTL_LINKS: links between virtual nodes with a latency and a bandwidth, in the engine
 *
 * nal/transport/model holds back what comes from another node, until a link would have delivered it; as gp_links.c, but
 * that one engine takes all that comes for the ranks of its node, so that nobody has to be told when a link is free
 * again. Ranks that poll leave the connections to it (ap_poll_open()). What is held when an engine is killed was not
 * acknowledged, and is sent again to the next one.
 *
 * [lock] all of it. The timer is more exact than the event loop's own, which counts in milliseconds.
 */
#include "config.h"

#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "nic.h"

struct nic_links {
	struct model m;
	int64_t *busy;			/* [nodes] */
	int fd;				/* the timer */
	ev_io io;
};

static void on_time(struct ev_loop *loop, ev_io *w, int events)
{
	uint64_t n;

	if (read(w->fd, &n, sizeof(n)) < 0)	/* the turn that follows delivers what is due */
		return;
}

bool nic_links_open(struct nic *c)
{
	const struct ap_card *card = c->card;
	struct nic_links *k;

	if (!card->link)
		return true;
	k = c->links = calloc(1, sizeof(*k));
	if (!k)
		return false;
	k->busy = calloc(card->nodes, sizeof(*k->busy));
	k->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!k->busy || k->fd < 0 || model_start(&k->m, card->nodes, card->link, k->busy))
		return false;			/* the engine ends */
	ev_io_init(&k->io, on_time, k->fd, EV_READ);
	ev_io_start(c->loop, &k->io);
	return true;
}

int nic_links_take(struct nic *c, uint32_t node, const uint8_t *bytes, uint32_t n)
{
	return c->links ? model_take(&c->links->m, node, node, bytes, n, c->side.now) : 1;
}

bool nic_links_run(struct nic *c, model_deliver *deliver)
{
	struct nic_links *k = c->links;
	struct itimerspec t = { 0 };
	uint64_t held;
	int64_t next;

	if (!k || !k->m.held)
		return false;
	held = k->m.held;
	next = model_run(&k->m, c->side.now, deliver, c);
	t.it_value = (struct timespec){ next / 1000000000, next % 1000000000 };
	timerfd_settime(k->fd, TFD_TIMER_ABSTIME, &t, NULL);	/* 0: off */
	return k->m.held != held;
}

void nic_links_close(struct nic *c)
{
	struct nic_links *k = c->links;

	if (!k)
		return;
	model_stop(&k->m);
	ev_io_stop(c->loop, &k->io);
	close(k->fd);
	free(k->busy);
	free(k);
	c->links = NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap_poll.c - a rank that polls moves what is under way itself, in place of the engine
 *
 * A rank that waits by looking has a core, and perhaps the engine has none. So, every few calls, it tries card->lock,
 * and with it does a turn of the engine's: its own calls become frames, frames that have come for it are matched; one
 * for another rank, and what is behind it, waits for that one, if it polls, or for ptl-nic. It has descriptors of its
 * own for the node's connections, lent by ptl-nic (ap_bell.c), and asks for them when they have changed. What needs
 * more than that (a connection to be made, or at its end, room in a socket that the engine is to wait for) is left to
 * ptl-nic, which rests meanwhile; see nic.c.
 *
 * Likewise a call that finds the engine asleep: it goes by itself rather than wake a process.
 *
 * The turns become rarer while nothing comes, since each has system calls. PTL_NIC_POLL=0: none of this.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ap_rank.h"
#include "p3_knobs.h"

#define FEW		2U		/* connections that are read without asking first */
#define RARE		1024U		/* calls of progress between two turns, at most */
#define EMPTY		64U		/* turns without anything, as in a round trip, until they are rarer by half */
#define ASK_NS		1000000		/* until it is asked again */

static const struct tcp_user user = {
	.frame = ap_on_frame, .begin = ap_on_begin, .where = ap_on_where, .piece = ap_on_piece,
	.unplaced = ap_on_unplaced, .fault = ap_on_fault, .writable = ap_on_writable, .ours = ap_on_ours,
	.ours_part = ap_on_ours_part,
};

bool ap_poll_open(struct ap *ap)
{
	struct ap_poll *p = &ap->poll;
	/* what a link would not have delivered yet only the engine can hold back */
	uint32_t every = ap->card->link ? 0 : (uint32_t)p3_knobs_get(NULL)->nic_poll, n = 1;

	p->mask = UINT32_MAX;
	p->off = true;
	p->epoll = -1;
	p->nodes = ap->card->nodes;
	if (!every)
		return true;
	while (n < every)
		n *= 2;
	p->lent = calloc(ap->card->nodes, sizeof(*p->lent));
	p->live = calloc(ap->card->nodes, sizeof(*p->live));
	if (!p->lent || !p->live || !ap_side_open(&p->side, ap->card, ap->ni->env.self, &ap->env, &p->net))
		return false;
	p->side.own_copy = nal_own_copy;
	p->side.owner = &ap->env;
	for (uint32_t i = 0; i < p->nodes; i++)
		p->lent[i].fd = -1;
	p->often = p->mask = n - 1;
	p->off = false;
	return true;
}

static void give_back(struct ap_poll *p, uint32_t node)
{
	struct tcp_lent *l = &p->lent[node];

	if (l->fd >= 0 && p->epoll >= 0)	/* closing does not take it out, since it is not the last one */
		epoll_ctl(p->epoll, EPOLL_CTL_DEL, l->fd, NULL);
	if (l->fd >= 0)
		close(l->fd);
	*l = (struct tcp_lent){ 0, -1 };
}

void ap_poll_close(struct ap *ap)
{
	struct ap_poll *p = &ap->poll;

	p->mask = UINT32_MAX;
	p->off = true;
	for (uint32_t i = 0; p->lent && i < p->nodes; i++)
		give_back(p, i);
	if (p->epoll >= 0)
		close(p->epoll);
	p->epoll = -1;
	ap_side_close(&p->side);
	free(p->lent);
	free(p->live);
	p->lent = NULL;
	p->live = NULL;
	p->ready = false;
}

void ap_poll_forget(struct ap *ap)
{
	struct ap_poll *p = &ap->poll;

	if (p->epoll >= 0)
		close(p->epoll);	/* its contents are the parent's, too */
	p->epoll = -1;
	for (uint32_t i = 0; p->lent && i < p->nodes; i++)
		give_back(p, i);
	p->lent = NULL;
}

void ap_poll_cut(struct ap *ap)
{
	struct ap_poll *p = &ap->poll;

	for (uint32_t i = 0; p->lent && i < p->nodes; i++)
		if (p->lent[i].fd >= 0)
			shutdown(p->lent[i].fd, SHUT_RDWR);
}

/* ---- [lock] ---- */

/* The first time. */
static bool find(struct ap *ap)
{
	struct ap_poll *p = &ap->poll;
	struct ap_card *c = ap->card;

	if (!c->line || !ap_near_open(&p->side, (uint32_t)p->side.self))
		return false;
	p->tcp = (struct tcp){ .user = &user, .ctx = &p->side, .rank = c->node, .size = c->nodes, .out = c->line,
			       .lent = p->lent, .id = p->side.id };
	transport_tcp(&p->net, &p->tcp);
	return true;
}

static void install(struct ap_poll *p, uint32_t nodes, const struct ap_loan *l)
{
	if (l->node >= nodes) {
		if (l->lent.fd >= 0)
			close(l->lent.fd);
		return;
	}
	give_back(p, l->node);
	p->lent[l->node] = l->lent;
}

/* Those that can be read, and a set of them where they are many. */
static void list(struct ap_poll *p, uint32_t nodes)
{
	p->n_live = 0;
	for (uint32_t i = 0; i < nodes; i++)
		if (p->lent[i].fd >= 0)
			p->live[p->n_live++] = i;
	if (p->n_live > FEW && p->epoll < 0)
		p->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (uint32_t i = 0; p->epoll >= 0 && i < p->n_live; i++) {
		struct epoll_event ev = { .events = EPOLLIN, .data.u32 = p->live[i] };

		epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->lent[p->live[i]].fd, &ev);	/* EEXIST: it is in there */
	}
}

/* Are the descriptors those of the connections that there are? Else they are asked for. */
static bool current(struct ap *ap)
{
	struct ap_poll *p = &ap->poll;
	uint32_t nodes = p->nodes;
	struct ap_loan l;
	int64_t now;

	if (p->ready && p->changes == ap->card->changes)
		return true;
	if (!p->tcp.out && !find(ap)) {		/* frames do not go over TCP */
		p->mask = UINT32_MAX;
		p->off = true;
		return false;
	}
	while (ap_bell_take(ap->bell, &l))
		install(p, nodes, &l);
	p->ready = true;
	for (uint32_t i = 0; p->ready && i < nodes; i++)
		p->ready = tcp_has(&p->tcp, i);
	if (p->ready) {
		list(p, nodes);
		p->changes = ap->card->changes;
		return true;
	}
	now = ap_now();
	if (now > p->asked + ASK_NS) {
		p->asked = now;
		ap_bell_ask(ap->bell);
	}
	return false;
}

static bool look(struct ap_poll *p)
{
	struct epoll_event ev[16];
	bool moved = false;
	int n;

	if (p->n_live <= FEW || p->epoll < 0) {
		for (uint32_t i = 0; i < p->n_live; i++)
			moved |= tcp_look(&p->tcp, p->live[i]);
		return moved;
	}
	n = epoll_wait(p->epoll, ev, 16, 0);
	for (int i = 0; i < n; i++)
		moved |= tcp_look(&p->tcp, ev[i].data.u32);
	for (uint32_t i = 0; i < p->n_live; i++)	/* what no set of sockets says */
		if (p->tcp.out[p->live[i]].full || p->tcp.out[p->live[i]].waits)
			moved |= tcp_look(&p->tcp, p->live[i]);
	return moved;
}

static bool any_full(const struct ap_poll *p)
{
	for (uint32_t i = 0; i < p->n_live; i++)
		if (p->tcp.out[p->live[i]].full)
			return true;
	return false;
}

/* ---- */

void ap_poll(struct ap *ap, bool polls)
{
	struct ap_poll *p = &ap->poll;
	struct ap_card *c = ap->card;
	bool due;
	int rc;

	if (ap->broken || (polls && !p3_load(&c->changes)))	/* no engine; no connections */
		return;
	rc = p->off ? -1 : ap_card_enter(c, ap->ni->env.self - 1, false);
	if (rc > 0) {
		ap_broken(ap);
		return;
	}
	if (!rc && (p->off || !current(ap))) {
		ap_card_unlock(c);
		rc = -1;
	}
	if (rc) {				/* the engine's, then */
		if (!polls)
			ap_bell_ring(ap->bell);
		return;
	}
	p->side.now = ap_now();
	p->side.due = false;
	if (c->kick)
		ap_after_ranks(&p->side);
	ap_take_calls(&p->side, ap->ni->env.self - 1);
	if (polls) {
		if (look(p)) {
			p->mask = p->often;
			p->empty = 0;
		} else if (++p->empty % EMPTY == 0 && p->mask < RARE - 1) {
			p->mask = 2 * p->mask + 1;
		}
		p->polled = true;
		if (!p3_load(&ap->me->polls))
			p3_store(&ap->me->polls, 1);
		c->polls++;
	} else {
		p->mask = p->often;
		p->empty = 0;
	}
	ap_side_flush(&p->side);
	due = p->side.due || tcp_due(&p->tcp) || (!c->resting && any_full(p));
	ap_card_unlock(c);
	if (due)
		ap_bell_ring(ap->bell);
}

/* The rank is about to sleep. */
void ap_poll_rest(struct ap *ap)
{
	if (!ap->poll.polled)
		return;
	ap->poll.polled = false;
	p3_store(&ap->me->polls, 0);
	p3_store(&ap->card->resume, 1);
	p3_fence();			/* pairs with the one before the engine's sleep */
	if (p3_load(&ap->card->resting))
		ap_bell_ring(ap->bell);
}

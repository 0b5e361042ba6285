/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nic.c - ptl-nic, the engine of a node: one process that does what the network card of the XT did
 *
 * Started by local rank 0 (ap_spawn.c) with the mailbox of the node's windows as descriptor 3; gone with its last rank.
 * It takes calls from the ranks' rings, makes frames of them (nal/frame: one engine for the NI of each rank), sends
 * them over one connection per pair of nodes (nal/transport/tcp, where a "rank" is a node), and matches what comes in
 * on the ranks' lists, as one more mover, through their windows: ap_side.c. Here is what only it does: ranks come and
 * go, connections, timers, sleep.
 *
 * One thread. It holds card->lock but for its sleep, as the interrupt thread of nal_gp.c does; a rank takes it to take
 * what is parked for it. While there is traffic it looks around without sleeping; then it says that it sleeps
 * (card->asleep), looks at the rings once more, and sleeps in epoll until a frame comes or a rank rings.
 *
 * A rank that polls runs the frame engines itself (ap_poll.c): what it waits for then comes to it without two more
 * processes on the way, which may have no core of their own. As long as such turns are seen, the engine rests: it reads
 * nothing, and looks every REST_NS whether they go on. Whoever goes to sleep says so (card->resume).
 *
 * A rank that has died or left is told to the other nodes (BYE), as are frames for one.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nic.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "smap_window.h"
#include "transport/verbs/verbs.h"

#define BOX_FD		3
#define RTO_NS		2000000		/* until a busy target is asked again */
#define DELAY_NS	1000000		/* until an acknowledgement goes by itself */
#define LEAVE_S		10		/* for what is under way, at the end: see leaving() */
#define IDLE_S		1.0		/* the longest sleep */
#define BLIND_S		0.1		/* between two looks who has died, where the kernel cannot tell */
#define REST_NS		1000000		/* between two looks whether ranks still poll */

static bool alive(uint32_t slot)
{
	return smartmap_alive((int)slot);
}

static void relax(unsigned spins)
{
	if (spins < 64)
		p3_pause();
	else
		sched_yield();
}

/* ---- ranks come and go ---- */

static bool come_in(struct nic_rank *k)
{
	struct nic *c = k->nic;
	struct fr_engine *e;

	if (!ap_near_open(&c->side, k->i)) {
		p3_warn("ptl-nic: the Portals state of local rank %u makes no sense: not served", k->i);
		return false;
	}
	e = ap_engine(&c->side, k->i);
	fr_init(e, e->l, &c->side.env, e->link, e->ctx, RTO_NS, DELAY_NS);
	k->r->served = true;
	return true;
}

/* Nothing of it is touched from now on. */
static void gone(struct nic_rank *k)
{
	struct nic *c = k->nic;

	if (p3_load(&k->r->state) == AP_R_LEFT)
		return;
	k->r->served = false;
	nic_local_dead(c, k->i);
	if (ev_is_active(&k->dead)) {
		ev_io_stop(c->loop, &k->dead);
		close(k->dead.fd);
	}
	for (uint32_t n = 0; n < c->card->nodes; n++)
		if (n != c->card->node && c->tcp.out && c->tcp.out[n].met)
			ap_say_bye(&c->side, n, k->i);
	ap_tell(&k->r->state, AP_R_LEFT);
}

static void on_dead(struct ev_loop *loop, ev_io *w, int events)
{
	gone(w->data);
}

/* Hear of its end: from the kernel, or by looking now and then. */
static void watch(struct nic_rank *k)
{
	int fd = -1;

#ifdef SYS_pidfd_open
	fd = (int)syscall(SYS_pidfd_open, smartmap_pid((int)k->i), 0);
#endif
	if (fd < 0) {
		k->nic->blind = true;
		return;
	}
	ev_io_init(&k->dead, on_dead, fd, EV_READ);
	k->dead.data = k;
	ev_io_start(k->nic->loop, &k->dead);
}

static bool all_idle(const struct nic_rank *k)
{
	const struct ap_ring *g = k->nic->side.near[k->i].ring;
	const struct ap_rank *r = k->r;

	if (p3_load(&g->head) != p3_load_acq(&g->tail) || r->park || !nic_local_idle(k->nic, k->i))
		return false;
	for (uint32_t f = 0; f < k->nic->card->n_far; f++)
		if (r->peer[f] && !fr_idle(r->peer[f]))
			return false;
	return true;
}

/*
 * What is under way is to arrive before a rank is let go. Who answers and yet does not take it (a polled portal that is
 * never looked at) is waited for LEAVE_S seconds, who is stopped as long as he is: his end would be seen.
 */
static void leaving(struct nic_rank *k)
{
	struct nic *c = k->nic;
	struct fr_engine *e = ap_engine(&c->side, k->i);
	int64_t now = c->side.now;
	bool any = false;

	if (!e->hasty || !k->at_end) {
		e->hasty = true;
		fr_flush(e);
		free(k->at_end);
		k->at_end = calloc(c->card->n_far + 1, sizeof(*k->at_end));
		k->until = now + 1000000000;
	}
	if (all_idle(k)) {
		gone(k);
		return;
	}
	if (now < k->until || !k->at_end)
		return;
	k->until = now + 1000000000;
	for (uint32_t f = 0; f < c->card->n_far; f++) {
		struct fr_peer *p = k->r->peer[f];

		if (!p || fr_idle(p))
			continue;
		if (k->at_end[f].heard != p->heard)
			k->at_end[f].answered++;
		k->at_end[f].heard = p->heard;
		fr_ask(e, p);
		any |= k->at_end[f].answered < LEAVE_S;
	}
	if (!any)
		gone(k);
}

/* ---- other nodes ---- */

static struct nic *nic_of(void *side)
{
	return (struct nic *)((char *)side - offsetof(struct nic, side));
}

/* What we have said of ranks that have ended may be lost, too. */
static void on_resumed(void *ctx, uint32_t node)
{
	struct ap_side *s = ctx;
	struct ap_card *c = s->card;

	p3_diag("ptl-nic: the connection to node %u had ended, and is there again", node);
	for (uint32_t i = 0; i < c->n_local; i++) {
		uint8_t *bye = &c->bye[node * c->n_local + i];

		if (*bye == AP_BYE_SAID)
			*bye = AP_BYE_DUE;
		for (uint32_t f = 0; c->rank[i].served && f < c->n_far; f++)
			if (c->far[f].node == node && c->rank[i].peer[f])
				fr_resume(ap_engine(s, i), c->rank[i].peer[f]);
	}
	ap_byes(s, node);
}

static const struct tcp_place *on_place(void *ctx, uint32_t node)
{
	struct nic *c = nic_of(ctx);

	return &c->card->place[node];
}

static void tell_gone(struct nic *c, uint32_t node)
{
	const struct tcp_out *o = &c->tcp.out[node];
	uint16_t port = c->card->place[node].port;
	char addr[INET6_ADDRSTRLEN], why[TCP_WHY_TEXT];

	if (o->met && (!o->err || o->err == ECONNRESET || o->err == EPIPE))
		p3_diag("ptl-nic: the engine of node %u has closed its connections", node);
	else if (o->met)
		p3_warn("the connection to node %u has failed: %s", node, tcp_why(o, why));
	else
		p3_warn("node %u cannot be reached at %s, port %u: %s", node, tcp_addr_text(&o->addr, addr), port,
			tcp_why(o, why));
	for (uint32_t f = 0; f < c->card->n_far; f++)
		if (c->card->far[f].node == node)
			ap_far_gone(&c->side, f);
}

static void on_gone(void *ctx, uint32_t node)
{
	if (nic_links_take(nic_of(ctx), node, NULL, 0))
		tell_gone(nic_of(ctx), node);	/* else behind what is still held */
}

/* A frame, or (@n 0) the end of what comes from there. The connection that it came by may be gone: nothing to close. */
static void on_held(void *ctx, uint32_t node, const uint8_t *bytes, uint32_t n)
{
	struct nic *c = ctx;

	if (n)
		ap_on_frame(&c->side, node, bytes, n);
	else
		tell_gone(c, node);
}

static bool on_frame(void *ctx, uint32_t node, const uint8_t *bytes, uint32_t n)
{
	int held = nic_links_take(nic_of(ctx), node, bytes, n);

	return held == 1 ? ap_on_frame(ctx, node, bytes, n) : !held;
}

static int on_begin(void *ctx, uint32_t node, const uint8_t *hdr, uint64_t *part)
{
	return nic_of(ctx)->links ? TCP_WHOLE : ap_on_begin(ctx, node, hdr, part);
}

static bool on_known(void *ctx, uint32_t node)
{
	struct nic *c = nic_of(ctx);

	return node < c->card->nodes && node != c->card->node && c->accepting;
}

/* Memory that a rank has named, in its own terms. */
static void *on_there(void *ctx, uint32_t by, void *at, size_t len)
{
	if (!by || by > nic_of(ctx)->card->n_local || !smartmap_reachable((int)by - 1, at, len))
		return NULL;
	return smartmap_remote((int)by - 1, at);
}

static void on_warn(void *ctx, const char *text)
{
	p3_warn("ptl-nic of node %u: %s", nic_of(ctx)->card->node, text);
}

static const struct tcp_user user = {
	.frame = on_frame, .begin = on_begin, .where = ap_on_where, .piece = ap_on_piece,
	.unplaced = ap_on_unplaced, .fault = ap_on_fault, .writable = ap_on_writable, .resumed = on_resumed,
	.gone = on_gone, .known = on_known, .warn = on_warn, .place = on_place, .there = on_there,
};

/* Have pages of a rank been replaced? */
static uint64_t stamp(void *ctx, const void *at, size_t len)
{
	const struct ap_card *c = nic_of(ctx)->card;
	uint64_t mask = smartmap_view_.mask;

	for (uint32_t i = 0; i < c->n_local; i++)
		if (c->rank[i].served && !((smartmap_view_.window[i] ^ (uintptr_t)at) & ~mask))
			return smap_window_stamp((int)i, (uintptr_t)at, len);
	return 0;
}

/* ---- what there is to do ---- */

static bool calls_left(struct nic *c)
{
	for (uint32_t i = 0; i < c->card->n_local; i++) {
		const struct ap_ring *g = c->side.near[i].ring;

		if (c->card->rank[i].served && p3_load(&g->head) != p3_load_acq(&g->tail))
			return true;
	}
	return nic_local_left(c);
}

/* Who comes, who wants to go. False: nobody is left, nor will anybody come. */
static bool look_at_ranks(struct nic *c)
{
	uint32_t left = 0, here = 0;

	for (uint32_t i = 0; i < c->card->n_local; i++) {
		struct nic_rank *k = &c->rank[i];
		uint32_t state = p3_load_acq(&k->r->state);

		if (state == AP_R_JOINED && !k->r->served) {
			if (come_in(k))
				watch(k);
			else
				gone(k);
		} else if (state == AP_R_LEAVING && k->r->served) {
			leaving(k);
		} else if (state == AP_R_LEAVING) {
			gone(k);
		}
		state = p3_load(&k->r->state);
		if (state != AP_R_LEFT && state != AP_R_ABSENT && !alive(i)) {
			gone(k);
			state = AP_R_LEFT;
		}
		left += state == AP_R_LEFT || state == AP_R_ABSENT;
		here += state != AP_R_NONE;
	}
	if (!c->accepting && here == c->card->n_local && p3_load_acq(&c->card->state) == AP_READY) {
		c->accepting = true;
		tcp_accepting(&c->tcp, true);
	}
	return left < c->card->n_local && p3_load_acq(&c->card->state) != AP_ENDING;
}

/* Is somebody still to be told of the end of our ranks, who can be told? */
static bool byes_due(const struct nic *c)
{
	for (uint32_t n = 0; n < c->card->nodes; n++)
		for (uint32_t i = 0; i < c->card->n_local; i++)
			if (c->card->bye[n * c->card->n_local + i] == AP_BYE_DUE && c->tcp.out[n].met &&
			    c->tcp.out[n].state == TCP_READY)
				return true;
	return false;
}

static void begin(struct nic *c)
{
	c->side.now = ap_now();
	if (c->card->kick)
		ap_after_ranks(&c->side);
}

static void step(struct nic *c)
{
	begin(c);
	tcp_serve(&c->tcp);
	for (uint32_t i = 0; i < c->card->n_local && c->accepting; i++)
		if (c->card->rank[i].served)
			ap_take_calls(&c->side, i);
	if (nic_local_step(c))
		c->side.busy = c->side.now;
}

/* When time has something to do for a rank; 0: not before something else has happened. */
static int64_t timers(struct nic *c)
{
	int64_t next = 0, t;

	for (uint32_t i = 0; i < c->card->n_local; i++) {
		struct fr_engine *e;

		if (!c->card->rank[i].served)
			continue;
		e = ap_engine(&c->side, i);
		t = fr_timer(e);
		if (t && (!next || t < next))
			next = t;
		if (e->hasty && (!next || c->rank[i].until < next))
			next = c->rank[i].until;
	}
	ap_side_flush(&c->side);
	return next;
}

/*
 * A rank has died in a turn of its own. Its frame engine is as dead as it is; what it has left half sent or half read
 * on a connection nobody knows, so they are all made anew: what was under way for others goes again.
 */
static void recover(struct nic *c)
{
	uint32_t i = c->card->victim - 1;

	c->card->victim = 0;
	p3_diag("ptl-nic: local rank %u has died amid a turn: the connections are made anew", i);
	gone(&c->rank[i]);
	tcp_cut(&c->tcp);
}

static void release(struct ev_loop *loop)
{
	struct nic *c = ev_userdata(loop);

	ap_side_flush(&c->side);
	c->card->changes = c->tcp.changes;
	ap_card_unlock(c->card);
}

static void acquire(struct ev_loop *loop)
{
	struct nic *c = ev_userdata(loop);

	if (ap_card_lock(c->card)) {		/* no step of what follows is safe */
		p3_warn("ptl-nic: a rank has died amid the engine's state: the other nodes cannot be reached any more");
		_exit(1);
	}
	if (c->card->victim)
		recover(c);
	begin(c);
}

static void on_bell(struct ev_loop *loop, ev_io *w, int events)
{
	struct nic *c = w->data;

	for (uint32_t n = 0; n < c->card->nodes; n++)
		c->loans[n] = (struct ap_loan){ n, tcp_lend(&c->tcp, n) };
	ap_bell_hear(c->bell, c->card, c->loans);
	c->card->bells++;
	c->side.busy = c->side.now;
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
}

/* Ranks that poll have the connections, as long as they go on; a bell ends it at once. */
static void rest(struct nic *c)
{
	bool on = c->card->polls != c->polls && !p3_xchg(&c->card->resume, 0);

	c->polls = c->card->polls;
	for (uint32_t i = 0; i < c->card->n_local; i++)		/* whoever still does says so again */
		if (p3_load(&c->card->rank[i].polls))
			p3_store(&c->card->rank[i].polls, 0);
	if (on == c->resting)
		return;
	c->resting = on;
	p3_store(&c->card->resting, on);
	tcp_rest(&c->tcp, on);
}

/*
 * One turn: all that is there; then a look at the network, which may sleep when nothing has happened for a while.
 * False: nobody is left.
 */
static bool turn(struct nic *c)
{
	struct ap_side *s = &c->side;
	int64_t next;
	bool sleep;

	step(c);
	transport_poll(&c->net);
	if (nic_links_run(c, on_held))		/* behind what may have brought frames for it */
		s->busy = s->now;
	if (look_at_ranks(c))
		c->alone = 0;
	else if (!c->alone)
		c->alone = s->now;
	/* whoever does not take the last words, not even by a sound connection, is not waited for */
	if (c->alone && (!byes_due(c) || s->now - c->alone > LEAVE_S * INT64_C(1000000000)))
		return false;
	for (uint32_t n = 0; n < c->card->nodes; n++)
		if (n != c->card->node)
			ap_byes(s, n);
	next = timers(c);
	rest(c);
	if (c->resting && (!next || next > s->now + REST_NS))
		next = s->now + REST_NS;
	sleep = c->resting || s->now - s->busy >= c->card->spin_ns;
	if (sleep) {
		p3_store(&c->card->asleep, 1);
		p3_fence();		/* pairs with the one in post(): it sees that we sleep, or we see its call */
		sleep = !calls_left(c) && !c->card->kick && !(c->resting && p3_load(&c->card->resume)) &&
			transport_doze(&c->net);
	}
	ev_timer_stop(c->loop, &c->timer);
	if (sleep) {
		c->card->sleeps++;
		ev_now_update(c->loop);
		ev_timer_set(&c->timer, next ? (next > s->now ? (double)(next - s->now) * 1e-9 : 0.) :
			     c->blind ? BLIND_S : IDLE_S, 0.);
		ev_timer_start(c->loop, &c->timer);
	}
	ev_run(c->loop, sleep ? EVRUN_ONCE : EVRUN_NOWAIT);
	p3_store(&c->card->asleep, 0);
	return true;
}

/* ---- start ---- */

/* Of the first engine local rank 0 hears. For a later one it sees that there is still none. */
static int fail(struct ap_card *card, const char *fmt, const char *what)
{
	snprintf(card->why, sizeof(card->why), fmt, what);
	if (card->lives)
		p3_warn("ptl-nic: %s", card->why);
	else
		ap_tell(&card->state, AP_FAILED);
	return 1;
}

static void *room(void *card, size_t n)
{
	return ap_card_get(card, n);
}

/*
 * [lock] The engine before us was killed while it slept: all that it shared is as it should be, but for pointers into
 * itself. What it had by itself is made anew.
 */
static void inherit(struct nic *c)
{
	struct ap_card *card = c->card;

	for (uint32_t i = 0; i < card->n_local; i++) {
		struct nic_rank *k = &c->rank[i];

		k->r->set_by = 0;
		if (!k->r->served)
			continue;
		if (ap_near_open(&c->side, i))
			watch(k);
		else
			gone(k);
	}
	for (uint32_t f = 0; f < card->n_far; f++)	/* an end that was held back (PTL_LINKS) is lost */
		if (c->tcp.out[card->far[f].node].state == TCP_GONE && !p3_load(&card->far[f].gone))
			ap_far_gone(&c->side, f);
	p3_store(&card->resting, 0);
	p3_store(&card->asleep, 0);
	card->kick = true;
	card->died_at = 0;
	p3_diag("ptl-nic: here is number %u, since the one before has been killed", card->lives + 1);
}

static int start(struct nic *c)
{
	static const struct p3l_env env = { .alive = alive, .relax = relax };
	struct ap_card *card = c->card;
	char why[200];
	int rc;

	c->rank = calloc(card->n_local, sizeof(*c->rank));
	c->loans = calloc(card->nodes, sizeof(*c->loans));
	c->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOSIGMASK);
	if (!c->loop)
		c->loop = ev_loop_new(EVFLAG_NOENV | EVFLAG_NOSIGMASK);
	if (!c->rank || !c->loans || !c->loop || !nic_local_open(c) || !nic_links_open(c) ||
	    !ap_side_open(&c->side, card, AP_NIC, &env, &c->net))
		return fail(card, "the engine (ptl-nic) has no memory%s", "");
	for (uint32_t i = 0; i < card->n_local; i++)
		c->rank[i] = (struct nic_rank){ .nic = c, .i = i, .r = &card->rank[i] };
	c->bell = ap_bell_open(card);
	if (c->bell < 0)
		return fail(card, "the engine cannot be woken: %s", strerror(-c->bell));
	ev_io_init(&c->hear, on_bell, c->bell, EV_READ);
	c->hear.data = c;
	ev_io_start(c->loop, &c->hear);
	ev_timer_init(&c->timer, on_timer, 0., 0.);
	ev_set_userdata(c->loop, c);
	ev_set_loop_release_cb(c->loop, release, acquire);
	c->tcp.loop = c->loop;
	c->tcp.user = &user;
	c->tcp.ctx = &c->side;
	c->tcp.room = room;
	c->tcp.room_arg = card;
	c->tcp.id = AP_NIC;
	memcpy(c->tcp.key, card->key, sizeof(c->tcp.key));
	c->tcp.rank = card->node;
	c->tcp.size = card->nodes;
	c->tcp.patience = card->patience;
	c->tcp.listens = card->n_listen;
	for (uint32_t i = 0; i < card->n_listen; i++)
		c->tcp.fd[i] = BOX_FD + 1 + (int)i;
	c->tcp.out = card->line;		/* where one before us has left it */
	c->tcp.changes = card->changes;
	rc = tcp_start(&c->tcp, &card->bind_to, NULL, 0, &card->port);
	if (rc)
		return fail(card, "the engine (ptl-nic) cannot listen: %s", strerror(-rc));
	transport_tcp(&c->net, &c->tcp);
	if (card->verbs != P3_NO) {
		if (verbs_start(&c->net, &c->tcp, card->iface, card->verbs == P3_YES, stamp, why, sizeof(why)))
			return fail(card, "PTL_VERBS=yes: %s (with try it would be TCP)", why);
		p3_diag("ptl-nic: RDMA: %s", why);
	}
	tcp_accepting(&c->tcp, false);	/* until all ranks are here; who comes before waits in the kernel */
	rc = tcp_addr_loopback(card->bind_to.addr) ? tcp_reach(card->bind_to.addr) : 0;
	if (rc)
		return fail(card, "the loopback address: %s; is the loopback device up (ip link set lo up)?",
			    strerror(rc));
	if (c->net.t == &c->tcp)
		card->line = c->tcp.out;	/* else ranks have no part in it */
	if (card->lives++)
		inherit(c);
	else
		ap_tell(&card->state, AP_LISTENING);
	return 0;
}

/* What the program has left open for its children is not for us. */
static void close_from(int fd)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, fd, ~0u, 0))
		return;
#endif
	for (int i = fd, n = (int)sysconf(_SC_OPEN_MAX); i < n; i++)
		close(i);
}

/* All signals that end a terminal's programs are the ranks' business: the engine ends with them. */
static void detach(void)
{
	cpu_set_t all;
	static const int off[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2, SIGALRM };

	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++)
		signal(off[i], SIG_IGN);
	/* the rank that has started us may be bound to one core: any that the system lets the job have */
	memset(&all, 0xff, sizeof(all));
	if (sched_setaffinity(0, sizeof(all), &all))
		p3_debug("ptl-nic: sched_setaffinity: %s", strerror(errno));
	if (chdir("/"))
		p3_debug("ptl-nic: chdir: %s", strerror(errno));
	prctl(PR_SET_NAME, "ptl-nic");
}

int main(int argc, char **argv)
{
	static struct nic nic;
	struct ap_card *card;
	uint64_t at, mask;
	uint32_t size;
	pid_t pid;
	int rc, n_listen;

	if (argc != 4 || fcntl(BOX_FD, F_GETFD) < 0) {
		fprintf(stderr, "ptl-nic: the engine of libportals between nodes; libportals starts it (PTL_NAL=ap)\n");
		return 2;
	}
	size = (uint32_t)strtoul(argv[1], NULL, 10);
	at = strtoull(argv[2], NULL, 16);
	n_listen = (int)strtoul(argv[3], NULL, 10);
	close_from(BOX_FD + 1 + n_listen);
	for (int i = 0; i <= n_listen; i++)
		fcntl(BOX_FD + i, F_SETFD, FD_CLOEXEC);
	pid = fork();
	if (pid)
		_exit(pid < 0);
	detach();
	rc = smartmap_guest(BOX_FD, size);
	if (rc) {
		fprintf(stderr, "ptl-nic: the ranks' memory is not to be had: %s\n", strerror(-rc));
		return 1;
	}
	mask = smartmap_view_.mask;
	card = ap_card_map(smartmap_remote(0, (void *)(uintptr_t)at), mask + 1 - (at & mask));
	if (!card) {
		fprintf(stderr, "ptl-nic: the card cannot be mapped: %s\n", strerror(errno));
		return 1;
	}
	nic.card = card;
	if (p3_load(&card->state) == AP_STARTING) {	/* the first: nobody else is here */
		if (start(&nic) || ap_card_lock(card))
			return 1;
	} else if (ap_card_lock(card)) {
		return 1;
	} else if (start(&nic)) {
		ap_card_unlock(card);		/* else nobody could follow */
		return 1;
	}
	nic.side.busy = ap_now();
	while (turn(&nic))
		;
	ap_card_unlock(card);
	p3_debug("ptl-nic: %llu calls, %llu frames, %llu sleeps, %llu bells", (unsigned long long)card->calls,
		 (unsigned long long)card->frames, (unsigned long long)card->sleeps, (unsigned long long)card->bells);
	transport_stop(&nic.net, &nic.tcp);
	nic_links_close(&nic);
	close(nic.bell);
	smartmap_fini();		/* last: who sees that we are gone may start another one */
	return 0;
}

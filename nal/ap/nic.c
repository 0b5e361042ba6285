/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nic.c - ptl-nic, the engine of a node: one process that does what the network card of the XT did
 *
 * Started by local rank 0 (ap_spawn.c) with the mailbox of the node's windows as descriptor 3; gone with its last rank.
 * It takes calls from the ranks' rings, makes frames of them (nal/frame: one engine for the NI of each rank), sends
 * them over one connection per pair of nodes (nal/transport/tcp, where a "rank" is a node), and matches what comes in
 * on the ranks' lists, as one more mover, through their windows. It allocates nothing that grows with traffic: calls
 * stand in the ranks' rings, frames that wait for a rank in the card, all bounded.
 *
 *	rings --fr_post()--> fr_engine of the rank --> link_send() --> tcp --> the other node's ptl-nic
 *	lists <--core------- fr_engine of the rank <-- on_frame() <--- tcp <--
 *
 * One thread. It holds card->lock but for its sleep, as the interrupt thread of nal_gp.c does; a rank takes it only to
 * take what is parked for it. While there is traffic it looks around without sleeping; then it says that it sleeps
 * (card->asleep), looks at the rings once more, and sleeps in epoll until a frame comes or a rank rings.
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
#define ROOT_NI		0		/* what nal/smartmap publishes */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

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

/* ---- the frame engines' surroundings ---- */

static struct nic_rank *rank_of(const struct fr_engine *e)
{
	return e->wake_arg;
}

static bool copy(struct fr_engine *e, bool to, uint64_t addr, void *buf, uint64_t len, bool direct)
{
	const struct nic_rank *k = rank_of(e);

	if (direct) {
		if (to)
			memcpy((void *)(uintptr_t)(e->window | (addr & e->mask)), buf, len);
		else
			memcpy(buf, (const void *)(uintptr_t)(e->window | (addr & e->mask)), len);
		return true;
	}
	return !(to ? smartmap_write((int)k->i, (void *)(uintptr_t)addr, buf, len) :
		      smartmap_read((int)k->i, buf, (const void *)(uintptr_t)addr, len));
}

static void wake(void *arg)
{
	struct p3l_ni *l = ((struct nic_rank *)arg)->l;

	p3_fence();				/* M:sleep.fence */
	if (p3_load(&l->sleeping) && p3_xchg(&l->sleeping, 0))
		syscall(SYS_futex, &l->sleeping, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void *more(void *arg)
{
	return ap_card_get(((struct nic_rank *)arg)->nic->card, FR_BLOCK);
}

static void ended(void *arg, uint32_t token)
{
	ap_ended(((struct nic_rank *)arg)->ring, token - 1);
}

static bool park(struct fr_engine *e, struct fr_peer *p, const uint8_t *frame, uint32_t n)
{
	struct nic_rank *k = rank_of(e);

	if (!ap_park(k->nic->card, k->i, p, frame, n))
		return false;
	wake(k);
	return true;
}

static int link_send(void *ctx, struct fr_peer *p, const uint8_t *hdr, const void *payload, uint32_t len)
{
	struct nic *c = ctx;

	c->busy = c->now;
	return transport_send(&c->net, ((const struct ap_far *)p->link)->node, hdr, payload, len);
}

static uint32_t link_send_some(void *ctx, struct fr_peer *p, const struct wire_frame *f, uint32_t n, bool *fault)
{
	struct nic *c = ctx;

	c->busy = c->now;
	return transport_send_some(&c->net, ((const struct ap_far *)p->link)->node, f, n, fault);
}

static const struct fr_link nic_link = { .send = link_send, .send_some = link_send_some, .breaks = true };

/* The engine of a rank is ours (again). */
static void take_back(struct nic_rank *k)
{
	struct fr_engine *e = k->r->e;

	k->r->lent = false;
	e->l = k->l;
	e->env = k->nic->env;
	e->link = &nic_link;
	e->ctx = k->nic;
	e->copy = copy;
	e->wake = wake;
	e->wake_arg = k;
	e->more = more;
	e->more_arg = k;
	e->ended = ended;
	e->ended_arg = k;
	e->park = park;
	e->window = smartmap_view_.window[k->i];
	e->mask = smartmap_view_.mask;
	e->bulk = k->nic->net.ops->bulk;
	e->now = k->nic->now;
}

/* ---- ranks come and go ---- */

static bool come_in(struct nic_rank *k)
{
	struct nic *c = k->nic;
	uint64_t mask, at;

	if (smartmap_attach((int)k->i))
		return false;
	mask = smartmap_view_.mask;
	at = (uintptr_t)smartmap_lookup((int)k->i, ROOT_NI);
	k->l = at ? smartmap_remote((int)k->i, (void *)(uintptr_t)at) : NULL;
	if (!k->l || !p3l_ni_sane(k->l, mask + 1 - (at & mask)) || k->l->slot != k->i ||
	    k->l->n_slots != c->card->n_local + 1) {
		p3_warn("ptl-nic: the Portals state of local rank %u makes no sense: not served", k->i);
		return false;
	}
	at = k->r->ring & mask;
	if (mask + 1 - at < sizeof(*k->ring))
		return false;
	k->ring = smartmap_remote((int)k->i, (void *)(uintptr_t)k->r->ring);
	take_back(k);
	fr_init(k->r->e, k->l, &c->env, &nic_link, c, RTO_NS, DELAY_NS);
	k->up = true;
	return true;
}

static void say_bye(struct nic *c, uint32_t node, uint32_t i);

/* Nothing of it is touched from now on. */
static void gone(struct nic_rank *k)
{
	struct nic *c = k->nic;

	if (p3_load(&k->r->state) == AP_R_LEFT)
		return;
	k->up = false;
	nic_local_dead(c, k->i);
	if (ev_is_active(&k->dead)) {
		ev_io_stop(c->loop, &k->dead);
		close(k->dead.fd);
	}
	for (uint32_t n = 0; n < c->card->nodes; n++)
		if (n != c->card->node && c->tcp.out && c->tcp.out[n].met)
			say_bye(c, n, k->i);
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
	const struct ap_rank *r = k->r;

	if (p3_load(&k->ring->head) != p3_load_acq(&k->ring->tail) || r->park || !nic_local_idle(k->nic, k->i))
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
	struct fr_engine *e = k->r->e;
	bool any = false;

	if (!e->hasty) {
		e->hasty = true;
		fr_flush(e);
		k->at_end = calloc(c->card->n_far + 1, sizeof(*k->at_end));
		k->until = c->now + 1000000000;
	}
	if (all_idle(k)) {
		gone(k);
		return;
	}
	if (c->now < k->until || !k->at_end)
		return;
	k->until = c->now + 1000000000;
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

static uint32_t hash_of(uint32_t nid, uint32_t pid)
{
	return (uint32_t)((((uint64_t)nid << 32 | pid) * 0x9e3779b97f4a7c15u) >> 32);
}

/* Index of a process on another node, or -1. */
static int far_find(const struct nic *c, uint32_t nid, uint32_t pid)
{
	for (uint32_t i = hash_of(nid, pid);; i++) {
		uint32_t k = c->far_hash[i & c->far_mask];

		if (!k)
			return -1;
		if (c->card->far[k - 1].id.nid == nid && c->card->far[k - 1].id.pid == pid)
			return (int)k - 1;
	}
}

static bool far_table(struct nic *c)
{
	uint32_t slots = 16;

	while (slots < 4 * c->card->n_far)
		slots *= 2;
	c->far_mask = slots - 1;
	c->far_hash = calloc(slots, sizeof(*c->far_hash));
	if (!c->far_hash)
		return false;
	for (uint32_t f = 0; f < c->card->n_far; f++) {
		uint32_t i = hash_of(c->card->far[f].id.nid, c->card->far[f].id.pid);

		while (c->far_hash[i & c->far_mask])
			i++;
		c->far_hash[i & c->far_mask] = f + 1;
	}
	return true;
}

/* Local rank @i has ended: to @node, as soon as there is room. */
static void say_bye(struct nic *c, uint32_t node, uint32_t i)
{
	uint8_t *due = &c->bye[node * c->card->n_local + i];

	if (*due == NIC_BYE_NONE)
		*due = NIC_BYE_DUE;
}

/* What is due there. The destination is nobody: it is for all who know the source. */
static void byes(struct nic *c, uint32_t node)
{
	for (uint32_t i = 0; i < c->card->n_local; i++) {
		uint8_t *due = &c->bye[node * c->card->n_local + i], bytes[WIRE_HDR];
		const struct ap_rank *r = &c->card->rank[i];
		struct wire_hdr h = { .type = WIRE_NOP, .flags = WIRE_F_BYE, .md = WIRE_NO_MD, .src_nid = r->nid,
				      .src_pid = r->pid, .src_uid = r->uid, .jid = r->jid };

		if (*due != NIC_BYE_DUE)
			continue;
		wire_encode(&h, bytes);
		if (transport_send(&c->net, node, bytes, NULL, 0))
			return;
		*due = NIC_BYE_SAID;
	}
}

/* Far process @f has ended: for all ranks here. */
static void far_gone(struct nic *c, uint32_t f)
{
	p3_store(&c->card->far[f].gone, 1);
	for (uint32_t i = 0; i < c->card->n_local; i++) {
		struct nic_rank *k = &c->rank[i];

		if (!k->up || !k->r->peer[f])
			continue;
		fr_gone(k->r->e, k->r->peer[f]);
		fr_flush(k->r->e);
	}
}

/*
 * Whose frame is this, of @node: FR_WHOLE, and the rank in *@i and the far process in *@far; FR_PIECES: somebody's who
 * is not here (any more); FR_NO: nobody's.
 */
static enum fr_way whose(struct nic *c, uint32_t node, const struct wire_ids *ids, uint32_t *i, uint32_t *far)
{
	int f = far_find(c, ids->src_nid, ids->src_pid);

	if (f < 0 || c->card->far[f].node != node)
		return FR_NO;		/* nobody there has this name */
	*far = (uint32_t)f;
	for (*i = 0; *i < c->card->n_local; ++*i) {
		if (c->card->rank[*i].pid != ids->dst_pid)
			continue;
		if (c->rank[*i].up)
			return FR_WHOLE;
		say_bye(c, node, *i);
		return FR_PIECES;
	}
	return FR_NO;
}

static bool on_frame(void *ctx, uint32_t node, const uint8_t *bytes, uint32_t n)
{
	struct nic *c = ctx;
	struct wire_ids ids;
	struct fr_peer *p;
	uint32_t i, far;
	enum fr_way way;

	c->busy = c->now;
	c->card->frames++;
	wire_ids(bytes, &ids);
	if (ids.flags & WIRE_F_BYE) {
		struct wire_hdr h;
		int f = far_find(c, ids.src_nid, ids.src_pid);

		if (f < 0 || c->card->far[f].node != node || wire_decode(bytes, n, &h) != WIRE_OK)
			return false;
		far_gone(c, (uint32_t)f);
		return true;
	}
	way = whose(c, node, &ids, &i, &far);
	if (way != FR_WHOLE)
		return way == FR_PIECES;
	p = ap_card_peer(c->card, i, far);
	return p && fr_input(c->rank[i].r->e, p, bytes, n);
}

/* A frame that comes in pieces is known by the rank that it is for, and the far process that it is from. */
static int on_begin(void *ctx, uint32_t node, const uint8_t *hdr, uint64_t *part)
{
	struct nic *c = ctx;
	struct wire_ids ids;
	struct fr_peer *p;
	uint32_t i, far;
	enum fr_way way;

	c->busy = c->now;
	c->card->frames++;
	wire_ids(hdr, &ids);
	way = whose(c, node, &ids, &i, &far);
	*part = ~0ull;
	if (way != FR_WHOLE)
		return (int)way;
	*part = (uint64_t)i << 32 | far;
	p = ap_card_peer(c->card, i, far);
	return p ? (int)fr_begin(c->rank[i].r->e, p, hdr) : TCP_NO;
}

/* NULL: its rank has left. */
static struct fr_peer *part_peer(struct nic *c, uint64_t part, struct fr_engine **e)
{
	uint32_t i = (uint32_t)(part >> 32);

	c->busy = c->now;
	if (i >= c->card->n_local || !c->rank[i].up)
		return NULL;
	*e = c->rank[i].r->e;
	return c->rank[i].r->peer[(uint32_t)part];
}

static uint32_t on_where(void *ctx, uint64_t part, struct wire_vec *v, uint32_t max)
{
	struct fr_engine *e;
	struct fr_peer *p = part_peer(ctx, part, &e);

	return p ? fr_where(e, p, v, max) : 0;
}

static void on_piece(void *ctx, uint64_t part, const uint8_t *bytes, uint32_t n)
{
	struct fr_engine *e;
	struct fr_peer *p = part_peer(ctx, part, &e);

	if (p)
		fr_piece(e, p, bytes, n);
}

static void on_unplaced(void *ctx, uint64_t part)
{
	struct fr_engine *e;
	struct fr_peer *p = part_peer(ctx, part, &e);

	if (p)
		fr_unplaced(p);
}

static void on_fault(void *ctx, void *whose_, uint64_t tag)
{
	fr_fault(whose_, tag);
}

static void on_writable(void *ctx, uint32_t node)
{
	struct nic *c = ctx;

	byes(c, node);
	for (uint32_t i = 0; i < c->card->n_local; i++)
		for (uint32_t f = 0; c->rank[i].up && f < c->card->n_far; f++)
			if (c->card->far[f].node == node && c->card->rank[i].peer[f])
				fr_writable(c->card->rank[i].e, c->card->rank[i].peer[f]);
}

/* What we have said of ranks that have ended may be lost, too. */
static void on_resumed(void *ctx, uint32_t node)
{
	struct nic *c = ctx;

	p3_diag("ptl-nic: the connection to node %u had ended, and is there again", node);
	for (uint32_t i = 0; i < c->card->n_local; i++) {
		struct nic_rank *k = &c->rank[i];

		if (c->bye[node * c->card->n_local + i] == NIC_BYE_SAID)
			c->bye[node * c->card->n_local + i] = NIC_BYE_DUE;
		for (uint32_t f = 0; k->up && f < c->card->n_far; f++)
			if (c->card->far[f].node == node && k->r->peer[f])
				fr_resume(k->r->e, k->r->peer[f]);
	}
	byes(c, node);
}

static const struct tcp_place *on_place(void *ctx, uint32_t node)
{
	struct nic *c = ctx;

	return &c->card->place[node];
}

static void on_gone(void *ctx, uint32_t node)
{
	struct nic *c = ctx;
	const struct tcp_out *o = &c->tcp.out[node];
	uint16_t port = c->card->place[node].port;

	if (o->met && (!o->err || o->err == ECONNRESET || o->err == EPIPE))
		p3_diag("ptl-nic: the engine of node %u has closed its connections", node);
	else if (o->met)
		p3_warn("the connection to node %u has failed: %s", node, strerror(o->err));
	else
		p3_warn("node %u cannot be reached at port %u: %s", node, port,
			o->err ? strerror(o->err) : "the connection was refused by the process there");
	for (uint32_t f = 0; f < c->card->n_far; f++)
		if (c->card->far[f].node == node)
			far_gone(c, f);
}

static bool on_known(void *ctx, uint32_t node)
{
	struct nic *c = ctx;

	return node < c->card->nodes && node != c->card->node && c->accepting;
}

static const struct tcp_user user = {
	.frame = on_frame, .begin = on_begin, .where = on_where, .piece = on_piece, .unplaced = on_unplaced,
	.fault = on_fault, .writable = on_writable, .resumed = on_resumed, .gone = on_gone, .known = on_known,
	.place = on_place,
};

/* Have pages of a rank been replaced? */
static uint64_t stamp(void *ctx, const void *at, size_t len)
{
	const struct nic *c = ctx;
	uint64_t mask = smartmap_view_.mask;

	for (uint32_t i = 0; i < c->card->n_local; i++)
		if (c->rank[i].up && !((smartmap_view_.window[i] ^ (uintptr_t)at) & ~mask))
			return smap_window_stamp((int)i, (uintptr_t)at, len);
	return 0;
}

/* ---- what there is to do ---- */

/* Calls of a rank become messages. */
static void take_calls(struct nic_rank *k)
{
	struct nic *c = k->nic;
	struct ap_ring *g = k->ring;
	uint32_t tail = p3_load_acq(&g->tail), head = g->head;

	if (tail - head > AP_OPS)		/* nonsense, by whoever can write there */
		return;
	for (; head != tail; head++) {
		uint32_t op = g->call[head % AP_OPS];
		struct ap_op *o = &g->op[op % AP_OPS];
		struct fr_peer *p;

		if (op >= AP_OPS || o->far >= c->card->n_far)
			continue;
		p = ap_card_peer(c->card, k->i, o->far);
		if (!p)
			break;
		o->q.buf = NULL;
		if (o->q.len && !o->q.sending)
			o->q.buf = o->buf ? g->bufs[(o->buf - 1) % AP_BUFS] : o->small;
		if (!fr_post(k->r->e, p, &o->q, op + 1))
			break;
		c->busy = c->now;
		c->card->calls++;
	}
	if (head != g->head)
		p3_store_rel(&g->head, head);
}

static bool calls_left(struct nic *c)
{
	for (uint32_t i = 0; i < c->card->n_local; i++)
		if (c->rank[i].up && p3_load(&c->rank[i].ring->head) != p3_load_acq(&c->rank[i].ring->tail))
			return true;
	return nic_local_left(c);
}

/* A rank has run its engine: what that has made is to be sent. */
static void after_ranks(struct nic *c)
{
	c->card->kick = false;
	for (uint32_t i = 0; i < c->card->n_local; i++) {
		struct nic_rank *k = &c->rank[i];

		if (!k->up || !k->r->lent)
			continue;
		take_back(k);
		for (uint32_t f = 0; f < c->card->n_far; f++)
			if (k->r->peer[f])
				fr_writable(k->r->e, k->r->peer[f]);
	}
}

/* Who comes, who wants to go. False: nobody is left, nor will anybody come. */
static bool look_at_ranks(struct nic *c)
{
	uint32_t left = 0, here = 0;

	for (uint32_t i = 0; i < c->card->n_local; i++) {
		struct nic_rank *k = &c->rank[i];
		uint32_t state = p3_load_acq(&k->r->state);

		if (state == AP_R_JOINED && !k->up) {
			if (come_in(k))
				watch(k);
			else
				gone(k);
		} else if (state == AP_R_LEAVING && k->up) {
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
		if (!far_table(c))
			return false;
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
			if (c->bye[n * c->card->n_local + i] == NIC_BYE_DUE && c->tcp.out[n].met &&
			    c->tcp.out[n].state == TCP_READY)
				return true;
	return false;
}

static void step(struct nic *c)
{
	c->now = now_ns();
	if (c->card->kick)
		after_ranks(c);
	for (uint32_t i = 0; i < c->card->n_local; i++)
		if (c->rank[i].up) {
			c->card->rank[i].e->now = c->now;
			if (c->accepting)
				take_calls(&c->rank[i]);
		}
	if (nic_local_step(c))
		c->busy = c->now;
}

/* When time has something to do for a rank; 0: not before something else has happened. */
static int64_t timers(struct nic *c)
{
	int64_t next = 0, t;

	for (uint32_t i = 0; i < c->card->n_local; i++) {
		if (!c->rank[i].up)
			continue;
		t = fr_timer(c->card->rank[i].e);
		if (t && (!next || t < next))
			next = t;
		fr_flush(c->card->rank[i].e);
		if (c->rank[i].r->e->hasty && (!next || c->rank[i].until < next))
			next = c->rank[i].until;
	}
	return next;
}

static void release(struct ev_loop *loop)
{
	struct nic *c = ev_userdata(loop);

	ap_card_unlock(c->card);
}

static void acquire(struct ev_loop *loop)
{
	struct nic *c = ev_userdata(loop);

	if (ap_card_lock(c->card)) {		/* no step of what follows is safe */
		p3_warn("ptl-nic: a rank has died amid the engine's state: the other nodes cannot be reached any more");
		_exit(1);
	}
	c->now = now_ns();
	if (c->card->kick)
		after_ranks(c);
	for (uint32_t i = 0; i < c->card->n_local; i++)
		if (c->rank[i].up)
			c->card->rank[i].e->now = c->now;
}

static void on_bell(struct ev_loop *loop, ev_io *w, int events)
{
	struct nic *c = w->data;

	ap_bell_hear(c->bell);
	c->card->bells++;
	c->busy = c->now;
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
}

/*
 * One turn: all that is there; then a look at the network, which may sleep when nothing has happened for a while.
 * False: nobody is left.
 */
static bool turn(struct nic *c)
{
	int64_t next;
	bool sleep;

	step(c);
	transport_poll(&c->net);
	if (look_at_ranks(c))
		c->alone = 0;
	else if (!c->alone)
		c->alone = c->now;
	/* whoever does not take the last words, not even by a sound connection, is not waited for */
	if (c->alone && (!byes_due(c) || c->now - c->alone > LEAVE_S * INT64_C(1000000000)))
		return false;
	for (uint32_t n = 0; n < c->card->nodes; n++)
		if (n != c->card->node)
			byes(c, n);
	next = timers(c);
	sleep = c->now - c->busy >= c->card->spin_ns;
	if (sleep) {
		p3_store(&c->card->asleep, 1);
		p3_fence();		/* pairs with the one in post(): it sees that we sleep, or we see its call */
		sleep = !calls_left(c) && !c->card->kick && transport_doze(&c->net);
	}
	ev_timer_stop(c->loop, &c->timer);
	if (sleep) {
		c->card->sleeps++;
		ev_now_update(c->loop);
		ev_timer_set(&c->timer, next ? (next > c->now ? (double)(next - c->now) * 1e-9 : 0.) :
			     c->blind ? BLIND_S : IDLE_S, 0.);
		ev_timer_start(c->loop, &c->timer);
	}
	ev_run(c->loop, sleep ? EVRUN_ONCE : EVRUN_NOWAIT);
	p3_store(&c->card->asleep, 0);
	return true;
}

/* ---- start ---- */

static int fail(struct ap_card *card, const char *fmt, const char *what)
{
	snprintf(card->why, sizeof(card->why), fmt, what);
	ap_tell(&card->state, AP_FAILED);
	return 1;
}

static int start(struct nic *c)
{
	struct ap_card *card = c->card;
	char why[200];
	int rc;

	c->rank = calloc(card->n_local, sizeof(*c->rank));
	c->bye = calloc(card->nodes, card->n_local);
	c->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOSIGMASK);
	if (!c->loop)
		c->loop = ev_loop_new(EVFLAG_NOENV | EVFLAG_NOSIGMASK);
	if (!c->rank || !c->bye || !c->loop || !nic_local_open(c))
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
	c->tcp.ctx = c;
	memcpy(c->tcp.key, card->key, sizeof(c->tcp.key));
	c->tcp.rank = card->node;
	c->tcp.size = card->nodes;
	c->tcp.patience = card->patience;
	rc = tcp_start(&c->tcp, &card->bind_to, card->ports, card->n_ports, &card->port);
	if (rc)
		return fail(card, card->ports[0] ? "no port to listen at (PTL_DEF_PORTLIST, PTL_PID2PORT_FILE): %s" :
			    "no port to listen at: %s", strerror(-rc));
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
	c->env = (struct p3l_env){ .self = card->n_local + 1, .alive = alive, .relax = relax };
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
	int rc;

	if (argc != 3 || fcntl(BOX_FD, F_GETFD) < 0) {
		fprintf(stderr, "ptl-nic: the engine of libportals between nodes; libportals starts it (PTL_NAL=ap)\n");
		return 2;
	}
	size = (uint32_t)strtoul(argv[1], NULL, 10);
	at = strtoull(argv[2], NULL, 16);
	close_from(BOX_FD + 1);
	fcntl(BOX_FD, F_SETFD, FD_CLOEXEC);
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
	if (start(&nic))
		return 1;
	if (ap_card_lock(card))
		return 1;
	nic.busy = now_ns();
	while (turn(&nic))
		;
	ap_card_unlock(card);
	p3_debug("ptl-nic: %llu calls, %llu frames, %llu sleeps, %llu bells", (unsigned long long)card->calls,
		 (unsigned long long)card->frames, (unsigned long long)card->sleeps, (unsigned long long)card->bells);
	transport_stop(&nic.net, &nic.tcp);
	close(nic.bell);
	smartmap_fini();		/* last: who sees that we are gone may start another one */
	return 0;
}

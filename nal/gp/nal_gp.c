/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_gp.c - the NAL of a job on several nodes, without a kernel module: an interrupt thread in each process
 *
 * On the node everything is nal/smartmap's: its operations are called, and no path there has one system call more. To
 * other nodes operations become frames (nal/frame) over TCP (nal/transport/tcp). Slots below ni->n_peers are ranks of
 * the node, those above it the others in the order of ranks; both are matched in the one list of the target's region,
 * here by this process's interrupt thread, which sleeps in epoll until a frame comes.
 *
 * Locking: gp->lock protects engine, connections and event loop. The thread holds it but for its sleep; a call takes
 * it for the time of making a message and giving frames to the socket. Inside it the core's locks are taken, never
 * the other way.
 *
 * No call waits for another process: what its target does not take now stands in a queue of the engine's, whose memory
 * grows up to a bound; beyond that the call returns PTL_NO_SPACE.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "gp.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "smartmap.h"
#include "transport/verbs/verbs.h"

#define RTO_NS		2000000		/* until a busy target is asked again */
#define DELAY_NS	1000000		/* until an acknowledgement goes by itself */
#define LEAVE_S		10		/* for what is under way, at the end: see wait_idle() */

static struct gp *the_gp;		/* for the child of a fork; one interface per process */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct gp *gp_of(const struct nal_ni *ni)
{
	return the_gp && the_gp->ni == ni ? the_gp : NULL;
}

/* ---- who is who ---- */

static uint32_t hash_of(ptl_process_id_t id)
{
	uint64_t h = ((uint64_t)id.nid << 32 | id.pid) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 32);
}

/* Index in far, or -1. */
static int far_find(const struct gp *gp, ptl_process_id_t id)
{
	for (uint32_t i = hash_of(id);; i++) {
		uint32_t k = gp->hash[i & gp->hash_mask];

		if (!k)
			return -1;
		if (gp->far[k - 1].id.nid == id.nid && gp->far[k - 1].id.pid == id.pid)
			return (int)k - 1;
	}
}

static void far_enter(struct gp *gp, uint32_t index)
{
	uint32_t i = hash_of(gp->far[index].id);

	while (gp->hash[i & gp->hash_mask])
		i++;
	gp->hash[i & gp->hash_mask] = index + 1;
}

/* The engine's peer, made when it is first needed. */
static struct fr_peer *peer_of(struct gp *gp, struct gp_far *f)
{
	if (!f->peer) {
		f->peer = calloc(1, sizeof(*f->peer));
		if (!f->peer)
			return NULL;
		f->peer->link = f;
		fr_open(gp->e, f->peer, f->id, f->uid, f->jid, gp->ni->n_peers + (uint32_t)(f - gp->far));
		if (f->id.pid == PTL_PID_ANY)
			fr_gone(gp->e, f->peer);
	}
	return f->peer;
}

/* ---- between engine and transport; lock held ---- */

static int link_send(void *ctx, struct fr_peer *p, const uint8_t *hdr, const void *payload, uint32_t len)
{
	struct gp *gp = ctx;

	return transport_send(&gp->net, ((struct gp_far *)p->link)->rank, hdr, payload, len);
}

static uint32_t link_send_some(void *ctx, struct fr_peer *p, const struct wire_frame *f, uint32_t n, bool *fault)
{
	struct gp *gp = ctx;

	return transport_send_some(&gp->net, ((struct gp_far *)p->link)->rank, f, n, fault);
}

static const struct fr_link tcp_link = { .send = link_send, .send_some = link_send_some, .breaks = true };

static void wake(void *arg)
{
	struct gp *gp = arg;

	nal_smartmap.wake(gp->ni);
}

/* Not from the heap, which is the program's, and which peers may see. */
static void *more(void *arg)
{
	struct gp *gp = arg;
	struct gp_block *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (b == MAP_FAILED)
		return NULL;
	b->next = gp->blocks;
	gp->blocks = b;
	return b->bytes;
}

static struct fr_peer *peer_of_rank(struct gp *gp, uint32_t rank)
{
	return gp->far_of[rank] ? peer_of(gp, &gp->far[gp->far_of[rank] - 1]) : NULL;
}

static bool on_frame(void *ctx, uint32_t rank, const uint8_t *bytes, uint32_t n)
{
	struct gp *gp = ctx;
	struct fr_peer *p = peer_of_rank(gp, rank);
	int held = p ? gp_links_take(gp, rank, bytes, n) : -1;

	return !held || (held > 0 && fr_input(gp->e, p, bytes, n));
}

_Static_assert(TCP_NO == (int)FR_NO && TCP_WHOLE == (int)FR_WHOLE && TCP_PIECES == (int)FR_PIECES, "told as they are");

static int on_begin(void *ctx, uint32_t rank, const uint8_t *hdr, uint64_t *part)
{
	struct gp *gp = ctx;
	struct fr_peer *p = peer_of_rank(gp, rank);

	*part = rank;
	return !p ? TCP_NO : gp->links ? TCP_WHOLE : (int)fr_begin(gp->e, p, hdr);
}

static uint32_t on_where(void *ctx, uint64_t rank, struct wire_vec *v, uint32_t max)
{
	struct gp *gp = ctx;

	return fr_where(gp->e, peer_of_rank(gp, (uint32_t)rank), v, max);
}

static void on_piece(void *ctx, uint64_t rank, const uint8_t *bytes, uint32_t n)
{
	struct gp *gp = ctx;

	fr_piece(gp->e, peer_of_rank(gp, (uint32_t)rank), bytes, n);
}

static void on_unplaced(void *ctx, uint64_t rank)
{
	fr_unplaced(peer_of_rank(ctx, (uint32_t)rank));
}

static void on_fault(void *ctx, void *whose, uint64_t tag)
{
	fr_fault(whose, tag);
}

static void on_writable(void *ctx, uint32_t rank)
{
	struct gp *gp = ctx;
	struct fr_peer *p = peer_of_rank(gp, rank);

	if (p)
		fr_writable(gp->e, p);
}

static void on_resumed(void *ctx, uint32_t rank)
{
	struct gp *gp = ctx;
	struct fr_peer *p = peer_of_rank(gp, rank);

	p3_diag("the connection to rank %u of node %u had ended, and is there again", rank, gp->job->node_of[rank]);
	if (p)
		fr_resume(gp->e, p);
}

static const struct tcp_place *on_place(void *ctx, uint32_t rank)
{
	struct gp *gp = ctx;

	return gp->far_of[rank] ? &gp->far[gp->far_of[rank] - 1].place : NULL;
}

/* Its end is its launcher's to tell, or its own. That it was never found, or that the network has failed, is ours. */
static void tell_gone(struct gp *gp, uint32_t rank)
{
	const struct tcp_out *o = &gp->tcp.out[rank];
	const struct tcp_place *p = on_place(gp, rank);
	uint32_t node = gp->job->node_of[rank];
	enum p3_log_level level = gp->told ? P3_LOG_DIAG : P3_LOG_WARN;
	char addr[INET6_ADDRSTRLEN], why[TCP_WHY_TEXT];

	if (o->met && (!o->err || o->err == ECONNRESET || o->err == EPIPE)) {
		p3_diag("rank %u of node %u has closed its connections", rank, node);
		return;
	}
	if (o->met)
		P3_LOG_AT(level, "the connection to rank %u of node %u has failed: %s", rank, node, tcp_why(o, why));
	else
		P3_LOG_AT(level, "rank %u of node %u cannot be reached at %s, port %u: %s", rank, node,
			  tcp_addr_text(&o->addr, addr), p ? p->port : 0, tcp_why(o, why));
	gp->told++;
}

static void on_gone(void *ctx, uint32_t rank)
{
	struct gp *gp = ctx;
	struct fr_peer *p;

	if (!gp_links_take(gp, rank, NULL, 0))
		return;			/* behind what is still held */
	p = peer_of_rank(gp, rank);
	if (p)
		fr_gone(gp->e, p);
	tell_gone(gp, rank);
}

/* A frame that was held back, or the end of a rank. The connection that it came by may be gone: nothing to close. */
static void on_held(void *ctx, uint32_t rank, const uint8_t *bytes, uint32_t n)
{
	struct gp *gp = ctx;
	struct fr_peer *p = peer_of_rank(gp, rank);

	if (p && n)
		fr_input(gp->e, p, bytes, n);
	else if (p)
		fr_gone(gp->e, p);
	if (!n)
		tell_gone(gp, rank);
}

static bool on_known(void *ctx, uint32_t rank)
{
	return peer_of_rank(ctx, rank) != NULL;
}

static void on_warn(void *ctx, const char *text)
{
	p3_warn("%s", text);
}

static const struct tcp_user user = {
	.frame = on_frame, .begin = on_begin, .where = on_where, .piece = on_piece, .unplaced = on_unplaced,
	.fault = on_fault, .writable = on_writable, .resumed = on_resumed, .gone = on_gone, .known = on_known,
	.warn = on_warn, .place = on_place,
};

/* ---- the interrupt thread ---- */

static void release(struct ev_loop *loop)
{
	struct gp *gp = ev_userdata(loop);

	pthread_mutex_unlock(&gp->lock);
}

static void acquire(struct ev_loop *loop)
{
	struct gp *gp = ev_userdata(loop);

	pthread_mutex_lock(&gp->lock);
	gp->e->now = now_ns();
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
}

/* Before each sleep: what time has to do, what somebody waits for. */
static void before_sleep(struct ev_loop *loop, ev_prepare *w, int events)
{
	struct gp *gp = w->data;
	int64_t next;

	gp->e->now = now_ns();
	transport_poll(&gp->net);
	do {
		gp_links_run(gp, on_held);
		next = fr_timer(gp->e);
		fr_flush(gp->e);
	} while (!transport_doze(&gp->net));
	if (gp->leaving)
		pthread_cond_signal(&gp->turn);
	ev_timer_stop(loop, &gp->timer);
	if (next) {
		ev_now_update(loop);
		ev_timer_set(&gp->timer, next > gp->e->now ? (double)(next - gp->e->now) * 1e-9 : 0., 0.);
		ev_timer_start(loop, &gp->timer);
	}
	if (gp->quit)
		ev_break(loop, EVBREAK_ALL);
}

static void *interrupt_thread(void *arg)
{
	struct gp *gp = arg;

	pthread_mutex_lock(&gp->lock);
	ev_run(gp->loop, 0);
	pthread_mutex_unlock(&gp->lock);
	return NULL;
}

/* All signals are the program's. */
static int start_thread(pthread_t *t, void *(*fn)(void *), void *arg)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(t, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

/* In the child of a fork: no thread, and the connections are the parent's. */
static void in_child(void)
{
	if (the_gp) {
		transport_forget(&the_gp->net, &the_gp->tcp);
		if (the_gp->cards.fd >= 0)
			close(the_gp->cards.fd);
	}
	the_gp = NULL;
}

/* ---- start ---- */

static void gp_free(struct gp *gp)
{
	if (gp->running) {
		pthread_mutex_lock(&gp->lock);
		gp->quit = true;
		ev_async_send(gp->loop, &gp->tcp.async);
		pthread_mutex_unlock(&gp->lock);
		pthread_join(gp->thread, NULL);
	}
	gp_cards_close(&gp->cards);
	if (gp->loop) {
		transport_stop(&gp->net, &gp->tcp);
		gp_links_stop(gp);
		ev_loop_destroy(gp->loop);
	}
	for (uint32_t i = 0; gp->far && i < gp->n_far; i++)
		free(gp->far[i].peer);
	free(gp->far);
	free(gp->far_of);
	free(gp->hash);
	free(gp->e);
	for (struct gp_block *b; (b = gp->blocks) != NULL; munmap(b, sizeof(*b)))
		gp->blocks = b->next;
	pthread_mutex_destroy(&gp->lock);
	pthread_cond_destroy(&gp->turn);
	if (the_gp == gp)
		the_gp = NULL;
}

static bool tables(struct gp *gp)
{
	const struct p3_rt_job *job = gp->job;
	uint32_t slots = 16;

	while (slots < 4 * gp->n_far)
		slots *= 2;
	gp->hash_mask = slots - 1;
	gp->far = calloc(gp->n_far + 1, sizeof(*gp->far));
	gp->far_of = calloc(job->size, sizeof(*gp->far_of));
	gp->e = calloc(1, sizeof(*gp->e));
	if (gp->far && gp->far_of && gp->e)		/* all or none: meet() looks at this one */
		gp->hash = calloc(slots, sizeof(*gp->hash));
	return gp->hash;
}

/* Read the others' cards: PTL_OK; -1 and @why; or the code of a node that cannot start, so that none does. */
static int meet(struct gp *gp, const char *boot, char *why, size_t len)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	const struct p3_rt_job *job = gp->job;
	int rc = PTL_OK, code;
	uint32_t i = 0;
	char line[512];

	for (uint32_t r = 0; r < job->size; r++) {
		struct gp_far unused = { 0 }, *f = gp->hash ? &gp->far[i] : &unused;

		if (job->node_of[r] == job->node)
			continue;
		if (gp_cards_get(&gp->cards, job, r, line, sizeof(line), (int)k->init_timeout_s, why, len))
			return -1;
		f->rank = r;
		f->id.nid = job->nid[r];
		code = gp_card_parse(line, boot, f);
		if (code < 0) {
			snprintf(why, len,
				"what rank %u of node %u says of itself makes no sense (another version of this "
				 "library?): '%.100s'", r, job->node_of[r], line);
			return -1;
		}
		if (code) {
			p3_diag("node %u cannot start: %s", job->node_of[r], line);
			rc = code;
			continue;
		}
		if (f == &unused)
			continue;
		gp->far_of[r] = ++i;
		if (f->id.pid != PTL_PID_ANY)
			far_enter(gp, i - 1);
	}
	return rc;
}

/* All that needs none of the others: PTL_OK, and our card in @line; or a code, and @why. */
static int prepare(struct gp *gp, uint32_t pid, char *line, size_t size, char *why, size_t len)
{
	struct nal_ni *ni = gp->ni;
	struct tcp_place place;
	struct tcp_bind bind_to;
	const struct p3_knobs *k = p3_knobs_get(NULL);
	uint16_t port[GP_PORTS];
	char addr[INET6_ADDRSTRLEN];
	int rc, ports;

	if (!tables(gp)) {
		snprintf(why, len, "no memory");
		return PTL_NO_SPACE;
	}
	gp->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOSIGMASK);
	if (!gp->loop)
		gp->loop = ev_loop_new(EVFLAG_NOENV | EVFLAG_NOSIGMASK);
	if (!gp->loop) {
		snprintf(why, len, "no event loop: %s", strerror(errno));
		return PTL_FAIL;
	}
	ev_set_userdata(gp->loop, gp);
	gp->tcp.loop = gp->loop;
	if (gp_places(gp->job, &place, &bind_to, why, len))
		return PTL_FAIL;
	rc = gp_links_start(gp, why, len);
	if (rc != PTL_OK)
		return rc;
	ports = gp_ports(k->pid2port, k->portlist, pid, port, GP_PORTS, why, len);
	if (ports < 0)
		return PTL_FAIL;
	rc = tcp_start(&gp->tcp, &bind_to, port, ports, &place.port);
	if (rc) {
		snprintf(why, len, "no port to listen at%s: %s",
			 port[0] ? " (PTL_DEF_PORTLIST, PTL_PID2PORT_FILE)" : "", strerror(-rc));
		return rc == -ENOMEM ? PTL_NO_SPACE : PTL_FAIL;
	}
	transport_tcp(&gp->net, &gp->tcp);
	if (k->verbs != P3_NO) {
		if (verbs_start(&gp->net, &gp->tcp, k->iface, k->verbs == P3_YES, NULL, why, len)) {
			snprintf(line, size, "%s", why);
			snprintf(why, len, "PTL_VERBS=yes: %s (with try it would be TCP)", line);
			return PTL_FAIL;
		}
		p3_diag("RDMA: %s", why);
		why[0] = 0;
	}
	p3_info("process id %u listens on TCP port %u", pid, place.port);
	rc = tcp_addr_loopback(bind_to.addr) ? tcp_reach(bind_to.addr) : 0;
	if (rc) {
		snprintf(why, len, "%s: %s; is the loopback device up (ip link set lo up)?",
			 tcp_addr_text(bind_to.addr, addr), strerror(rc));
		return PTL_FAIL;
	}
	if (gp_card_print(line, size, gp->job->net, pid, ni->uid, ni->jid, &place)) {
		snprintf(why, len, "too many addresses");
		return PTL_FAIL;
	}
	return PTL_OK;
}

static void at_exit(void);

static int run(struct gp *gp)
{
	static bool handler;
	int rc;

	fr_init(gp->e, gp->ni->l, &gp->ni->env, &tcp_link, gp, RTO_NS, DELAY_NS);
	gp->e->env.single = false;
	gp->e->copy = nal_own_frame;
	gp->e->wake = wake;
	gp->e->wake_arg = gp;
	gp->e->more = more;
	gp->e->more_arg = gp;
	gp->e->raw = gp->net.ops->raw;
	gp->e->bulk = gp->links ? 0 : gp->net.ops->bulk;	/* a link's turn is a frame */
	gp->e->now = now_ns();
	ev_prepare_init(&gp->prepare, before_sleep);
	gp->prepare.data = gp;
	ev_prepare_start(gp->loop, &gp->prepare);
	ev_timer_init(&gp->timer, on_timer, 0., 0.);
	ev_set_loop_release_cb(gp->loop, release, acquire);
	gp->owner = getpid();
	the_gp = gp;
	p3_rt_at_end(at_exit);
	if (!handler && !pthread_atfork(NULL, NULL, in_child))
		handler = true;
	rc = start_thread(&gp->thread, interrupt_thread, gp);
	gp->running = !rc;
	return rc;
}

/*
 * The network part of the start; collective over the job. @node: what the start on our node came to. With
 * PTL_PID_INVALID the others learn that we have no interface, with any other failure that there will be none
 * anywhere.
 */
static int gp_open(struct nal_ni *ni, uint32_t pid, int node)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	static struct gp the_one;	/* as there is one interface: it needs no memory to say that there is none */
	struct gp *gp = &the_one;
	char why[300] = "", unused[300], line[512] = "";
	pthread_condattr_t monotonic;
	int rc = node, opened;

	memset(gp, 0, sizeof(*gp));
	gp->ni = ni;
	gp->job = p3_rt_get(NULL);
	gp->n_far = gp->job->size - gp->job->local_size;
	gp->cards.fd = -1;
	pthread_mutex_init(&gp->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&gp->turn, &monotonic);
	pthread_condattr_destroy(&monotonic);
	gp->tcp.user = &user;
	gp->tcp.ctx = gp;
	memcpy(gp->tcp.key, gp->job->key, sizeof(gp->tcp.key));
	gp->tcp.rank = gp->job->rank;
	gp->tcp.size = gp->job->size;
	gp->tcp.patience = (double)k->init_timeout_s;
	if (node == PTL_OK || node == PTL_PID_INVALID)
		rc = prepare(gp, node == PTL_OK ? pid : PTL_PID_ANY, line, sizeof(line), why, sizeof(why));
	if (rc != PTL_OK)
		snprintf(line, sizeof(line), "v1/fail/%d", rc);
	opened = gp_cards_open(&gp->cards, gp->job, line, why, sizeof(why));
	if (opened && rc == PTL_OK)
		rc = PTL_FAIL;
	if (opened >= 0) {
		int met = meet(gp, gp->job->net, opened || rc != PTL_OK ? unused : why, sizeof(why));

		if (met != PTL_OK && rc == PTL_OK)
			rc = met < 0 ? PTL_FAIL : met;
		if (rc == PTL_OK && node == PTL_OK) {
			rc = run(gp);
			if (!rc)
				return PTL_OK;
			snprintf(why, sizeof(why), "no interrupt thread: %s", strerror(rc));
			rc = PTL_FAIL;
		} else if (rc == PTL_OK) {
			rc = node;
		}
	}
	if (rc != PTL_PID_INVALID)	/* for those who have not asked yet; the others will find nobody */
		gp_cards_no(&gp->cards, rc);
	if (why[0])
		p3_error("reaching the other nodes: %s", why);
	gp_cards_given(&gp->cards, gp->n_far, (int)k->init_timeout_s, NULL, NULL);
	gp_free(gp);
	return rc;
}

/* nal_smartmap's, then the network. A rank whose pid was refused meets the others all the same. */
static int start(struct nal_ni *ni, const struct p3l_setup *s)
{
	bool again = ni->nal_priv != NULL, joined;
	int rc = nal_smartmap.start(ni, s), node;

	ni->put_usual = ni->put_any;		/* there is a second thread */
	if (again) {		/* the others have met without us */
		if (rc == PTL_OK)
			p3_diag("this rank's second interface, after PTL_PID_INVALID, reaches its own node only");
		return rc;
	}
	joined = ni->nal_priv != NULL;
	node = rc;
	rc = gp_open(ni, s->pid, node);
	if (joined) {		/* the others of our node hear of nothing but this */
		rc = nal_smartmap.agree(ni, rc);
		if (gp_of(ni))
			gp_links_met(gp_of(ni));
		if (rc != PTL_OK && rc != PTL_PID_INVALID && gp_of(ni))
			gp_free(gp_of(ni));
	}
	if (joined && rc != PTL_OK && rc != PTL_PID_INVALID)
		nal_smartmap.stop(ni);
	return rc;
}

/* ---- stop ---- */

/* Lock held. */
static bool all_idle(const struct gp *gp)
{
	for (uint32_t i = 0; i < gp->n_far; i++)
		if (gp->far[i].peer && !fr_idle(gp->far[i].peer))
			return false;
	return true;
}

/* A second has passed: is there one with whom something is under way, and who has not answered LEAVE_S times? */
static bool to_wait_for(struct gp *gp)
{
	bool any = false;

	for (uint32_t i = 0; i < gp->n_far; i++) {
		struct gp_far *f = &gp->far[i];

		if (!f->peer || fr_idle(f->peer))
			continue;
		if (f->heard != f->peer->heard)
			f->answered++;
		f->heard = f->peer->heard;
		fr_ask(gp->e, f->peer);
		any |= f->answered < LEAVE_S;
	}
	return any;
}

/* Wait for a turn, until @until: 0 or ETIMEDOUT. Lock held, but for the look at our node, which may wait for us. */
static int wait_turn(struct gp *gp, struct nal_between *b, int64_t until)
{
	struct timespec t;
	int64_t nap;
	int rc;

	pthread_mutex_unlock(&gp->lock);
	nap = nal_between(b);
	pthread_mutex_lock(&gp->lock);
	gp->e->now = now_ns();
	if (all_idle(gp))
		return 0;
	nap += gp->e->now;
	if (nap > until)
		nap = until;
	t = (struct timespec){ nap / 1000000000, nap % 1000000000 };
	rc = pthread_cond_timedwait(&gp->turn, &gp->lock, &t);
	return rc == ETIMEDOUT && nap < until ? 0 : rc;
}

/*
 * Until what is under way has arrived. Who answers and yet does not take it (a polled portal that is never looked at)
 * is waited for LEAVE_S seconds, who is stopped as long as he is: his end would be seen. Lock held.
 */
static void wait_idle(struct gp *gp, struct nal_between *b)
{
	int64_t until = 0;
	int rc;

	gp->leaving = true;
	for (rc = ETIMEDOUT; !all_idle(gp); rc = wait_turn(gp, b, until)) {
		gp->e->now = now_ns();
		if (rc != ETIMEDOUT)
			continue;
		if (!to_wait_for(gp))
			break;
		until = now_ns() + 1000000000;
	}
	gp->leaving = false;
}

/*
 * The process ends, and has not closed: whoever has seen SEND_END may do so at once, and what he sent stands in our
 * queues. As wait_idle(), but a signal handler may have called exit() in the midst of a call: so no lock is waited for
 * without end, and none of the core's is taken.
 */
static void at_exit(void)
{
	struct timespec nap = { 0, 200000 }, soon;
	struct gp *gp = the_gp;		/* NULL in the child of a fork */
	int64_t ask = 0;
	bool more = true;

	while (more && gp && gp == the_gp && gp->owner == getpid()) {
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_sec++;
		if (pthread_mutex_timedlock(&gp->lock, &soon))
			return;
		more = gp->running && !gp->leaving && !all_idle(gp);
		if (more && now_ns() >= ask) {
			gp->e->now = now_ns();
			ask = gp->e->now + 1000000000;
			gp->e->hasty = true;
			more = to_wait_for(gp);
			fr_flush(gp->e);
			ev_async_send(gp->loop, &gp->tcp.async);
		}
		pthread_mutex_unlock(&gp->lock);
		if (more)
			nanosleep(&nap, NULL);
	}
}

/* What the engine has seen. */
static void tell(const struct gp *gp)
{
	const struct fr_stats *s = &gp->e->stats;

	p3_debug("frames out %llu, in %llu; again %llu, early %llu, twice %llu, bad %llu, busy %llu, nops %llu; %llu "
		 "connections without the key", (unsigned long long)s->frames_out, (unsigned long long)s->frames_in,
		 (unsigned long long)s->again, (unsigned long long)s->early, (unsigned long long)s->twice,
		 (unsigned long long)s->bad, (unsigned long long)s->busy, (unsigned long long)s->nops,
		 (unsigned long long)gp->tcp.refused);
}

static void stop(struct nal_ni *ni)
{
	struct nal_between b = { .ni = ni };
	struct gp *gp = gp_of(ni);

	if (gp) {
		pthread_mutex_lock(&gp->lock);
		gp->e->now = now_ns();
		gp->e->hasty = true;
		fr_flush(gp->e);
		ev_async_send(gp->loop, &gp->tcp.async);
		wait_idle(gp, &b);
		tell(gp);
		if (!all_idle(gp))
			p3_diag("messages to or from other nodes are left unfinished");
		pthread_mutex_unlock(&gp->lock);
		/* somebody may still be on his way in, and waits for our line */
		gp_cards_given(&gp->cards, gp->n_far, (int)p3_knobs_get(NULL)->init_timeout_s, nal_between, &b);
		gp_free(gp);
	}
	nal_smartmap.stop(ni);
}

/* ---- calls ---- */

static int find(struct nal_ni *ni, ptl_process_id_t id)
{
	struct gp *gp = the_gp;
	int i;

	if (id.nid == ni->l->nid || !gp)
		return nal_smartmap.find(ni, id);
	i = far_find(gp, id);
	return i < 0 ? -1 : (int)ni->n_peers + i;
}

static ptl_process_id_t id_of(struct nal_ni *ni, uint32_t slot)
{
	struct gp *gp = the_gp;

	if (slot >= ni->n_peers && gp && slot - ni->n_peers < gp->n_far)
		return gp->far[slot - ni->n_peers].id;
	return nal_smartmap.id(ni, slot);
}

static int dist(struct nal_ni *ni, uint32_t slot, unsigned long *d)
{
	if (slot < ni->n_peers)
		return nal_smartmap.dist(ni, slot, d);
	*d = 2;
	return PTL_OK;
}

/* The process of a slot on another node, or NULL. Takes the lock. */
static struct fr_peer *enter(struct nal_ni *ni, uint32_t slot, struct gp **out)
{
	struct gp *gp = the_gp;
	struct fr_peer *p;

	if (slot < ni->n_peers || !gp || slot - ni->n_peers >= gp->n_far)
		return NULL;
	pthread_mutex_lock(&gp->lock);
	gp->e->now = now_ns();
	p = peer_of(gp, &gp->far[slot - ni->n_peers]);
	if (!p)
		pthread_mutex_unlock(&gp->lock);
	*out = gp;
	return p;
}

/* No room: whoever tries again at once does not keep the interrupt thread from making some. */
static int leave(struct gp *gp, int rc)
{
	pthread_mutex_unlock(&gp->lock);
	if (rc != FR_FULL)
		return rc;
	sched_yield();
	return PTL_NO_SPACE;
}

static int put(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s)
{
	struct gp *gp;
	struct fr_peer *p = enter(ni, slot, &gp);
	int rc;

	if (!p)
		return nal_smartmap.put(ni, slot, h, s);
	rc = fr_put(gp->e, p, h, s);
	return leave(gp, rc);
}

static int get(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct gp *gp;
	struct fr_peer *p = enter(ni, slot, &gp);
	int rc;

	if (!p)
		return nal_smartmap.get(ni, slot, h, r);
	rc = fr_get(gp->e, p, h, r);
	return leave(gp, rc);
}

static int getput(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r)
{
	struct gp *gp;
	struct fr_peer *p = enter(ni, slot, &gp);
	int rc;

	if (!p)
		return nal_smartmap.getput(ni, slot, h, s, r);
	rc = fr_getput(gp->e, p, h, s, r);
	return leave(gp, rc);
}

static bool put_small(struct nal_ni *ni, uint32_t slot, struct p3l_ref md, uint64_t loff, uint64_t len, uint32_t pt,
		      uint64_t match_bits, uint64_t hdr_data)
{
	return nal_smartmap.put_small(ni, slot, md, loff, len, pt, match_bits, hdr_data);
}

static uint32_t direct(const void *at, uint64_t len)
{
	return nal_smartmap.direct(at, len);
}

static void polled(struct nal_ni *ni, uint32_t pt, bool on)
{
	nal_smartmap.polled(ni, pt, on);
}

static void progress(struct nal_ni *ni, uint32_t eq, struct p3l_sink *sink)
{
	nal_smartmap.progress(ni, eq, sink);
}

/* The interrupt thread logs events, and says that an answer has left, with the lock held. */
static void settle(struct nal_ni *ni)
{
	struct gp *gp = the_gp;

	if (gp) {
		pthread_mutex_lock(&gp->lock);
		pthread_mutex_unlock(&gp->lock);
	}
}

static void attend(struct nal_ni *ni, bool on)
{
	nal_smartmap.attend(ni, on);
}

static void wait_(struct nal_ni *ni, int64_t ns, bool (*ready)(void *), void *arg)
{
	nal_smartmap.wait(ni, ns, ready, arg);
}

static void wake_(struct nal_ni *ni)
{
	nal_smartmap.wake(ni);
}

static void far(const struct nal_ni *ni, struct nal_far *f)
{
	const struct gp *gp = gp_of(ni);

	if (gp)
		*f = (struct nal_far){ gp->far, gp->n_far, sizeof(*gp->far), offsetof(struct gp_far, rank),
				       offsetof(struct gp_far, peer) };
}

const struct nal_ops nal_gp = {
	.name = "gp",
	.threads = true,
	.start = start,
	.stop = stop,
	.find = find,
	.id = id_of,
	.dist = dist,
	.put = put,
	.put_small = put_small,
	.get = get,
	.getput = getput,
	.direct = direct,
	.polled = polled,
	.progress = progress,
	.settle = settle,
	.attend = attend,
	.wait = wait_,
	.wake = wake_,
	.far = far,
};

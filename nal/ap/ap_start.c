/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap_start.c - a rank joins its node's engine, and leaves it
 *
 *	all		the node's start (nal_smartmap.start), with room for a guest
 *	local rank 0	makes the card, starts ptl-nic, which listens and says where
 *	all of the node	agree: is there an engine? Map the card, make a ring, and come in
 *	all of the job	a line about each (gp_card.c): process id, and where its engine listens
 *	local rank 0	reads all of them, for all of the node; agree again
 *
 * Whoever fails on the way says so where the others meet next, so that none waits for him.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ap_rank.h"
#include "p3_knobs.h"
#include "p3_log.h"

#define SPIN_NS		50000		/* that an engine looks around before it sleeps, on a core of its own; */
#define SPIN_SHARED_NS	5000		/* and where somebody else may need it */
#define PORTS 1024		/* of a list of ports, at most */
#define SPAWN_NS 1000000000	/* between two engines */
#define NAP_NS 20000000		/* between two looks whether who is waited for lives */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ap_close_listeners(struct ap *ap)
{
	while (ap->n_listen)
		close(ap->listen[--ap->n_listen]);
}

/* In the child of a fork: the card is not mapped there. */
static void in_child(void)
{
	if (ap_the) {
		ap_poll_forget(ap_the);
		if (ap_the->bell >= 0)
			close(ap_the->bell);
		ap_close_listeners(ap_the);
		if (ap_the->cards.fd >= 0)
			close(ap_the->cards.fd);
	}
	ap_the = NULL;
}

static void ap_free(struct ap *ap)
{
	ap_close_listeners(ap);
	gp_cards_close(&ap->cards);
	if (ap->card)
		ap_poll_close(ap);
	if (ap->bell >= 0)
		close(ap->bell);
	ap->bell = -1;
	if (ap->card)
		ap_card_unmap(ap->card);
	ap->card = NULL;
	if (ap->ring)
		smartmap_free(ap->ring, sizeof(*ap->ring));
	ap->ring = NULL;
	ap_local_close(ap);
	free(ap->free_op);
	free(ap->free_buf);
	free(ap->out);
	pthread_mutex_destroy(&ap->lock);
	if (ap_the == ap)
		ap_the = NULL;
}

/* ---- local rank 0 ---- */

static void bell_if(struct ap_card *c)
{
	int fd = ap_bell_find(c);

	if (fd >= 0) {
		ap_bell_ring(fd);
		close(fd);
	}
}

/* The engine is to end: nobody will come. */
static void dismiss(struct ap *ap)
{
	if (!ap->card)
		return;
	ap_tell(&ap->card->state, AP_ENDING);
	bell_if(ap->card);
}

/* Above what the engine gets them as. -1, errno */
static int move_up(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, AP_FDS), err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	return high;
}

/* 0; -1 and @why. */
static int listen_for(struct ap *ap, uint32_t pid, char *why, size_t len)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	struct ap_card *c = ap->card;
	uint16_t ports[PORTS];
	int n = gp_ports(k->pid2port, k->portlist, pid, ports, PORTS, why, len), rc;

	if (n < 0)
		return -1;
	rc = tcp_listen(&c->bind_to, ports, n, &c->port, ap->listen);
	for (int i = 0; i < rc; i++) {
		ap->listen[i] = move_up(ap->listen[i]);
		if (ap->listen[i] < 0) {
			int err = errno;

			for (int j = 0; j < rc; j++)
				if (j != i)
					close(ap->listen[j]);
			rc = -err;
		}
	}
	if (rc < 0) {
		snprintf(why, len, n && ports[0] ? "no port to listen at (PTL_DEF_PORTLIST, PTL_PID2PORT_FILE): %s" :
			 "no port to listen at: %s", strerror(-rc));
		return -1;
	}
	c->n_listen = ap->n_listen = (uint32_t)rc;
	return 0;
}

/* 0; -1 and @why. */
static int spawn(struct ap *ap, char *why, size_t len)
{
	int box = move_up(smartmap_guest_box()), rc;

	if (box < 0) {
		snprintf(why, len,
			 "the memory files of the ranks cannot be handed to the engine: the program has called "
			 "smartmap_init() without room for a guest, or too many descriptors are under way (ulimit -n)");
		return -1;
	}
	rc = ap_spawn(ap->job->local_size, (uintptr_t)ap->card_here, box, ap->listen, ap->n_listen, why, len);
	close(box);
	return rc;
}

/* PTL_OK; or a code, and @why. */
static int make_engine(struct ap *ap, uint32_t pid, char *why, size_t len)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	const struct p3_rt_job *job = ap->job;
	uint32_t n_far = job->size - job->local_size, state;
	uint64_t size = ap_card_size(job->local_size, n_far, job->nodes);
	int64_t until = now_ns() + k->init_timeout_s * 1000000000;
	struct ap_card *c;

	ap->card_here = smartmap_alloc(size, 4096);
	if (!ap->card_here) {
		snprintf(why, len, "no memory for the engine's state (%llu MiB of address space)",
			 (unsigned long long)size >> 20);
		return PTL_NO_SPACE;
	}
	c = ap->card = ap_card_make(ap->card_here, size, job->local_size, n_far, job->nodes);
	if (!c) {
		snprintf(why, len, "the engine's state cannot be mapped: %s", strerror(errno));
		return PTL_FAIL;
	}
	c->node = job->node;
	if (strcmp(k->links, "none")) {
		c->link = ap_card_get(c, job->nodes * sizeof(*c->link));
		snprintf(why, len, "PTL_LINKS: ");
		if (!c->link)
			snprintf(why, len, "PTL_LINKS: no memory for its table");
		if (!c->link || model_parse(k->links, job->nodes, job->node, c->link, why + strlen(why),
					    len - strlen(why)))
			return PTL_FAIL;
		why[0] = 0;
	}
	memcpy(c->key, job->key, sizeof(c->key));
	snprintf(c->job, sizeof(c->job), "%s", job->name);
	c->spin_ns = p3_rt_oversubscribed_with(1) ? SPIN_SHARED_NS : SPIN_NS;
	c->patience = (double)k->init_timeout_s;
	c->verbs = (int)k->verbs;
	snprintf(c->iface, sizeof(c->iface), "%s", k->iface);
	if (gp_places(job, &c->own, &c->bind_to, why, len) || listen_for(ap, pid, why, len) || spawn(ap, why, len))
		return PTL_FAIL;
	while ((state = p3_load_acq(&c->state)) == AP_STARTING && now_ns() < until)
		ap_wait(&c->state, state, NAP_NS);
	if (state != AP_LISTENING) {
		snprintf(why, len, "%s", state == AP_FAILED ? c->why : "the engine (ptl-nic) does not come up in time");
		return PTL_FAIL;
	}
	c->own.port = c->port;
	return PTL_OK;
}

/* What the others say of themselves, for all of the node: PTL_OK; -1 and @why; or the code of one that cannot start. */
static int meet(struct ap *ap, char *why, size_t len)
{
	const struct p3_rt_job *job = ap->job;
	struct ap_card *c = ap->card;
	int rc = PTL_OK, code;
	char line[512];

	for (uint32_t r = 0, i = 0; r < job->size; r++) {
		struct gp_far f = { .id.nid = job->nid[r] };

		if (job->node_of[r] == job->node)
			continue;
		if (gp_cards_get(&ap->cards, job, r, line, sizeof(line), (int)p3_knobs_get(NULL)->init_timeout_s, why,
				 len))
			return -1;
		code = gp_card_parse(line, job->net, &f);
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
		if (!c)
			continue;
		c->far[i] = (struct ap_far){ .rank = r, .node = job->node_of[r], .id = f.id, .uid = f.uid,
					     .jid = f.jid };
		if (f.id.pid != PTL_PID_ANY)
			ap_far_enter(c, i);
		i++;
		c->place[job->node_of[r]] = f.place;
	}
	return rc;
}

/* ---- an engine that was killed ---- */

/*
 * While it slept, it held nothing: all that is under way stands in rings and card, and another one goes on with it. The
 * sockets that it listened at are still ours, so others wait to be let in. Local rank 0 starts it, when it looks.
 */
void ap_without_engine(struct ap *ap)
{
	struct ap_card *c = ap->card;
	struct ap_rank *first = &c->rank[0];
	int64_t now = now_ns();
	char why[400] = "";
	uint32_t state;
	bool hope;

	if (ap_card_lock(c)) {
		ap_broken(ap);
		return;
	}
	if (p3_load(&ap->me->state) == AP_R_LEFT) {	/* it has ended behind us */
		ap_card_unlock(c);
		return;
	}
	state = p3_load(&first->state);
	if (!c->died_at)
		c->died_at = now;
	/* who is at its end has been told of no other engine, nor has anybody then the means to make one */
	hope = c->line && c->lives <= (uint32_t)p3_knobs_get(NULL)->nic_heirs && smartmap_alive(0) &&
	       (state == AP_R_JOINED || state == AP_R_LEAVING) && p3_load(&c->state) == AP_READY &&
	       now - c->died_at < (int64_t)(c->patience * 1e9);
	if (hope)
		ap_poll_cut(ap);	/* what only we hold open ends for the others, too */
	if (hope && first == ap->me && now - ap->spawned_at > SPAWN_NS &&
	    !smartmap_alive((int)ap->ni->n_peers)) {
		ap->spawned_at = now;
		pthread_mutex_lock(&ap->lock);	/* another thread may have given up meanwhile, and closed the sockets */
		if (!ap->broken && spawn(ap, why, sizeof(why))) {
			p3_warn("%s", why);
			hope = false;
		}
		pthread_mutex_unlock(&ap->lock);
	}
	ap_card_unlock(c);
	if (!hope)
		ap_broken(ap);
}

/* The engine lives as long as there is hope for another one, since that will end what it had begun. */
static bool alive(uint32_t slot)
{
	struct ap *ap = ap_the;

	if (smartmap_alive((int)slot))
		return true;
	return ap && slot == ap->ni->n_peers && !ap->broken && !ap_card_torn(ap->card);
}

/* ---- all ---- */

/* Come in: map the card, make the ring. */
static int join(struct ap *ap, uint32_t pid, char *why, size_t len)
{
	struct nal_ni *ni = ap->ni;
	const struct p3_rt_job *job = ap->job;
	uint64_t mask = smartmap_view_.mask, at;
	struct ap_rank *me;

	if (!ap->card) {
		at = (uintptr_t)smartmap_lookup(0, AP_ROOT_CARD);
		ap->card = at ? ap_card_map(smartmap_remote(0, (void *)(uintptr_t)at), mask + 1 - (at & mask)) : NULL;
	}
	if (!ap->card) {
		snprintf(why, len, "the engine's state cannot be mapped: %s", strerror(errno));
		return PTL_FAIL;
	}
	ap->lives = p3_load(&ap->card->lives);
	me = ap->me = &ap->card->rank[job->local_rank];
	me->nid = job->nid[job->rank];
	me->pid = pid;
	me->uid = ni->uid;
	me->jid = ni->jid;
	if (pid == PTL_PID_ANY) {
		ap_tell(&me->state, AP_R_ABSENT);
		return PTL_OK;
	}
	ap->ring = smartmap_alloc(sizeof(*ap->ring), 4096);
	ap->free_op = malloc(AP_OPS * sizeof(*ap->free_op));
	ap->free_buf = malloc(AP_BUFS * sizeof(*ap->free_buf));
	ap->out = calloc(ap->card->n_far + 1, sizeof(*ap->out));
	if (!ap->ring || !ap->free_op || !ap->free_buf || !ap->out || !ap_local_open(ap)) {
		snprintf(why, len, "no memory for calls to other nodes");
		return PTL_NO_SPACE;
	}
	ap->bell = ap_bell_find(ap->card);
	if (ap->bell < 0) {
		snprintf(why, len, "the engine cannot be woken: %s", strerror(-ap->bell));
		return PTL_FAIL;
	}
	ni->env.alive = alive;
	ap->env = ni->env;
	ap->env.single = false;		/* what begins here ends in another process */
	me->os_pid = getpid();
	me->ring = (uintptr_t)ap->ring;
	ap_tell(&me->state, AP_R_JOINED);
	return PTL_OK;
}

/*
 * The network part of the start; collective over the job. @node: what the start on our node came to. With
 * PTL_PID_INVALID the others learn that we have no interface, with any other failure that there will be none
 * anywhere. @joined: our node can agree.
 */
static int ap_open(struct nal_ni *ni, uint32_t pid, int node, bool joined)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	const struct p3_rt_job *job = p3_rt_get(NULL);
	static struct ap the_one;	/* as there is one interface: it needs no memory to say that there is none */
	static bool handler;
	struct ap *ap = &the_one;
	char why[400] = "", line[512] = "";
	bool first = !job->local_rank;
	int rc = node, opened, met = PTL_OK;

	memset(ap, 0, sizeof(*ap));
	ap->ni = ni;
	ap->job = job;
	ap->bell = -1;
	ap->poll.epoll = -1;
	ap->cards.fd = -1;
	ap->owner = getpid();
	pthread_mutex_init(&ap->lock, NULL);
	if (joined && first && (rc == PTL_OK || rc == PTL_PID_INVALID)) {
		int made = make_engine(ap, pid, why, sizeof(why));

		if (made == PTL_OK)
			smartmap_publish(AP_ROOT_CARD, ap->card_here);
		else
			rc = made;
	}
	if (joined) {
		rc = nal_smartmap.agree(ni, rc);
		if (rc == PTL_OK || rc == PTL_PID_INVALID) {
			int in = join(ap, rc == PTL_OK ? pid : PTL_PID_ANY, why, sizeof(why));

			if (in != PTL_OK)
				rc = in;
		}
		rc = nal_smartmap.agree(ni, rc);
	}
	if (rc == PTL_OK || rc == PTL_PID_INVALID) {
		if (gp_card_print(line, sizeof(line), job->net, rc == PTL_OK ? pid : PTL_PID_ANY, ni->uid, ni->jid,
				  &ap->card->own))
			snprintf(line, sizeof(line), "v1/fail/%d", PTL_FAIL);
	} else {
		snprintf(line, sizeof(line), "v1/fail/%d", rc);
	}
	opened = gp_cards_open(&ap->cards, job, line, why, sizeof(why));
	if (opened && (rc == PTL_OK || rc == PTL_PID_INVALID))
		rc = PTL_FAIL;
	if (opened >= 0 && first)
		met = meet(ap, why, sizeof(why));
	if (met != PTL_OK && (rc == PTL_OK || rc == PTL_PID_INVALID))
		rc = met < 0 ? PTL_FAIL : met;
	if (joined)
		rc = nal_smartmap.agree(ni, rc);
	if (rc == PTL_OK && !ap_poll_open(ap)) {
		snprintf(why, sizeof(why), "no memory");
		rc = PTL_NO_SPACE;
	}
	if (first && (rc == PTL_OK || rc == PTL_PID_INVALID))
		ap_tell(&ap->card->state, AP_READY);
	if (first && ap->card)
		bell_if(ap->card);
	if (why[0])
		p3_error("reaching the other nodes: %s", why);
	if (rc == PTL_OK) {
		ap_the = ap;
		p3_rt_at_end(ap_at_exit);
		if (!handler && !pthread_atfork(NULL, NULL, in_child))
			handler = true;
		return PTL_OK;
	}
	if (rc != PTL_PID_INVALID)	/* for those who have not asked yet; the others will find nobody */
		gp_cards_no(&ap->cards, rc);
	gp_cards_given(&ap->cards, job->nodes - 1, (int)k->init_timeout_s, NULL, NULL);
	if (first && rc != PTL_PID_INVALID)
		dismiss(ap);
	ap_free(ap);
	return rc;
}

int ap_start(struct nal_ni *ni, const struct p3l_setup *s)
{
	bool again = ni->nal_priv != NULL, joined;
	int rc;

	ni->guests = 1;
	rc = nal_smartmap.start(ni, s);
	if (again) {		/* the others have met without us */
		if (rc == PTL_OK)
			p3_diag("this rank's second interface, after PTL_PID_INVALID, reaches its own node only");
		return rc;
	}
	joined = ni->nal_priv != NULL;
	rc = ap_open(ni, s->pid, rc, joined);
	if (joined && rc != PTL_OK && rc != PTL_PID_INVALID)
		nal_smartmap.stop(ni);
	return rc;
}

/* ---- the end ---- */

/* Until the engine has done with us: all that is under way has arrived, or it has waited long enough for that. */
static void let_go(struct ap *ap, struct nal_between *b)
{
	struct ap_rank *me = ap->me;
	uint32_t state;

	if (!ap->broken && !ap_card_lock(ap->card)) {	/* whoever has died inside */
		ap_poll_close(ap);		/* the engine ends what is under way */
		p3_store(&me->polls, 0);
		p3_store(&ap->card->resume, 1);
		ap_card_unlock(ap->card);
	}
	if (!ap->broken) {
		ap_tell(&me->state, AP_R_LEAVING);
		ap_bell_ring(ap->bell);
	}
	while (!ap->broken && (state = p3_load_acq(&me->state)) != AP_R_LEFT) {
		int64_t nap = b ? nal_between(b) : NAP_NS;

		if (p3_load(&me->parked))
			ap_take_parked(ap);
		ap_wait(&me->state, state, nap < NAP_NS ? nap : NAP_NS);
		ap_look_after(ap);
	}
}

/* The process ends, and has not closed: what it has sent is delivered as by PtlNIFini. */
void ap_at_exit(void)
{
	struct ap *ap = ap_the;

	if (ap && ap->owner == getpid() && p3_load(&ap->me->state) == AP_R_JOINED)
		let_go(ap, NULL);
}

void ap_stop(struct nal_ni *ni)
{
	struct nal_between b = { .ni = ni };
	struct ap *ap = ap_the && ap_the->ni == ni ? ap_the : NULL;
	void *card = NULL;
	uint64_t size = 0;

	if (ap) {
		int patience = (int)p3_knobs_get(NULL)->init_timeout_s;
		int64_t until = now_ns() + patience * INT64_C(1000000000);

		let_go(ap, &b);
		/* somebody may still be on his way in, and waits for our line */
		gp_cards_given(&ap->cards, ap->job->nodes - 1, patience, nal_between, &b);
		card = ap->card_here;
		size = ap->card->size;
		/* it ends with the last of us */
		while (card && smartmap_alive((int)ni->n_peers) && now_ns() < until) {
			struct timespec t = { 0, 200000 };

			nal_between(&b);
			nanosleep(&t, NULL);
		}
		if (card)
			smartmap_publish(AP_ROOT_CARD, NULL);
		ap_free(ap);
		if (card)
			smartmap_free(card, size);
	}
	nal_smartmap.stop(ni);
}

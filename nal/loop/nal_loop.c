/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_loop.c - the NAL of one process whose messages to itself go by frames, over a network that does what it is told
 *
 * For tests (PTL_NAL=loop, PTL_LOOP): every call of a process to itself goes through the frame engine and nal/loop,
 * with loss, duplicates, reordering, flipped bits and delay injected, and must behave as it does without. When the
 * connection breaks (disconnect=), what is under way fails, and from then on the process cannot reach itself.
 *
 * It is also the smallest complete NAL on that engine, to begin another one from: what a real one has more is peers
 * (nal_gp.c) and something that takes frames while the owner makes no call. Here nobody does: time passes only in
 * calls.
 *
 * Locking: one mutex, around everything.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"
#include "nal.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_rt.h"

#define RTO_NS		100000
#define DELAY_NS	20000
#define STEPS		32		/* things that happen in one look */

struct self {			/* as nal_ops.far tells it */
	uint32_t rank;
	struct fr_peer *peer;
};

struct priv {
	struct self to_self;
	struct loop_net net;
	struct loop_end end[2];
	struct fr_engine e;
	struct fr_peer self;
	pthread_mutex_t lock;
	uint32_t pid;
	uint64_t len;
};

static bool alive(uint32_t slot)
{
	return true;
}

static void relax(unsigned spins)
{
	p3_pause();
}

/* Memory of MDs is asked of the kernel, which knows whether it is there. */
static bool copy(struct fr_engine *e, bool to, uint64_t addr, void *buf, uint64_t len, bool direct)
{
	struct iovec own = { buf, len }, other = { (void *)(uintptr_t)addr, len };

	if (!buf)
		return nal_own_there(addr, len, to);
	return (to ? process_vm_writev(getpid(), &own, 1, &other, 1, 0) :
		     process_vm_readv(getpid(), &own, 1, &other, 1, 0)) == (ssize_t)len;
}

static int start(struct nal_ni *ni, const struct p3l_setup *setup)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	struct loop_inject inject = { .delay_ns = 1000, .seed = 1 };
	struct p3l_setup s = *setup;
	const char *bad = NULL;
	struct priv *pv;

	if (k->loop && loop_parse(k->loop, &inject, &bad)) {
		p3_error("PTL_LOOP: '%s' is not understood; loss=, dup=, reorder=, flip= (thousandths), delay= (ns), "
			 "room=, disconnect= (frames), seed=", bad);
		return PTL_FAIL;
	}
	pv = calloc(1, sizeof(*pv));
	ni->peer = calloc(1, sizeof(*ni->peer));
	s.n_slots = 1;
	s.slot = 0;
	if (pv)
		pv->len = p3l_ni_size(&s);
	ni->l = pv ? mmap(NULL, pv->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) :
		     MAP_FAILED;
	if (!pv || !ni->peer || !ni->eq || ni->l == MAP_FAILED) {
		p3_error("no memory for the Portals state");
		if (ni->l != MAP_FAILED)
			munmap(ni->l, pv->len);
		free(pv);
		free(ni->peer);
		ni->peer = NULL;
		ni->l = NULL;
		return PTL_NO_SPACE;
	}
	p3l_ni_setup(ni->l, &s);
	ni->env.self = 1;
	ni->env.alive = alive;
	ni->env.relax = relax;
	ni->n_peers = 1;
	pv->pid = s.pid;
	ni->pids = &pv->pid;
	ni->nal_priv = pv;
	pthread_mutex_init(&pv->lock, NULL);
	loop_init(&pv->net, &inject);
	fr_init(&pv->e, ni->l, &ni->env, &loop_link, &pv->net, RTO_NS, DELAY_NS);
	pv->e.env.single = false;
	pv->e.copy = copy;
	loop_attach(&pv->net, &pv->e);
	fr_open(&pv->e, &pv->self, (ptl_process_id_t){ s.nid, s.pid }, ni->uid, ni->jid, 0);
	loop_join(&pv->net, pv->end, &pv->e, &pv->self, &pv->e, &pv->self);
	p3_info("PTL_NAL=loop: loss %u, dup %u, reorder %u, flip %u of a thousand, disconnect %u, seed %llu",
		inject.loss, inject.dup, inject.reorder, inject.flip, inject.disconnect,
		(unsigned long long)inject.seed);
	return PTL_OK;
}

static void stop(struct nal_ni *ni)
{
	struct priv *pv = ni->nal_priv;

	pthread_mutex_lock(&pv->lock);
	for (unsigned long i = 0; !fr_idle(&pv->self) && i < 1000000 && loop_step(&pv->net); i++)
		;
	loop_fini(&pv->net);
	pthread_mutex_unlock(&pv->lock);
	p3_debug("loop: %llu frames, %llu lost, %llu doubled, %llu overtaken, %llu flipped; %llu sent again%s",
		 (unsigned long long)pv->net.sent, (unsigned long long)pv->net.lost,
			(unsigned long long)pv->net.doubled,
		 (unsigned long long)pv->net.overtaken, (unsigned long long)pv->net.flipped,
		 (unsigned long long)pv->e.stats.again, pv->net.cuts ? "; disconnected" : "");
	pthread_mutex_destroy(&pv->lock);
	munmap(ni->l, pv->len);
	free(ni->peer);
	free(pv);
	ni->l = NULL;
	ni->peer = NULL;
	ni->nal_priv = NULL;
}

static int find(struct nal_ni *ni, ptl_process_id_t id)
{
	return id.nid == ni->l->nid && id.pid == ni->l->pid ? 0 : -1;
}

static ptl_process_id_t id_of(struct nal_ni *ni, uint32_t slot)
{
	return (ptl_process_id_t){ ni->l->nid, slot ? PTL_PID_ANY : ni->l->pid };
}

static int dist(struct nal_ni *ni, uint32_t slot, unsigned long *d)
{
	*d = 0;
	return PTL_OK;
}

/* Something happens. Lock held. */
static void steps(struct priv *pv, unsigned n)
{
	while (n-- && loop_step(&pv->net))
		;
}

/* Full: let things happen, unless only the owner could make room. */
static bool again(struct priv *pv, int *rc)
{
	if (*rc != FR_FULL)
		return false;
	if (fr_busy(&pv->self)) {
		*rc = PTL_NO_SPACE;
		return false;
	}
	steps(pv, 1);
	return true;
}

static int put(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s)
{
	struct priv *pv = ni->nal_priv;
	int rc;

	if (slot) {
		rc = p3l_send_begin(&ni->env, ni->l, s);
		if (rc == PTL_OK)
			p3l_send_end(&ni->env, ni->l, s, PTL_NI_FAIL);
		return rc;
	}
	pthread_mutex_lock(&pv->lock);
	do
		rc = fr_put(&pv->e, &pv->self, h, s);
	while (again(pv, &rc));
	pthread_mutex_unlock(&pv->lock);
	return rc;
}

static bool put_small(struct nal_ni *ni, uint32_t slot, struct p3l_ref md, uint64_t loff, uint64_t len, uint32_t pt,
		      uint64_t match_bits, uint64_t hdr_data)
{
	return false;
}

static int get(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct priv *pv = ni->nal_priv;
	struct fr_peer nobody = { .gone = true };
	int rc;

	pthread_mutex_lock(&pv->lock);
	do
		rc = fr_get(&pv->e, slot ? &nobody : &pv->self, h, r);
	while (again(pv, &rc));
	pthread_mutex_unlock(&pv->lock);
	return rc;
}

static int getput(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r)
{
	struct priv *pv = ni->nal_priv;
	struct fr_peer nobody = { .gone = true };
	int rc;

	pthread_mutex_lock(&pv->lock);
	do
		rc = fr_getput(&pv->e, slot ? &nobody : &pv->self, h, s, r);
	while (again(pv, &rc));
	pthread_mutex_unlock(&pv->lock);
	return rc;
}

static uint32_t direct(const void *at, uint64_t len)
{
	return 0;
}

static void polled(struct nal_ni *ni, uint32_t pt, bool on)
{
	p3l_pt_polled_set(&ni->env, ni->l, pt, on);
}

static void progress(struct nal_ni *ni, uint32_t eq, struct p3l_sink *sink)
{
	struct priv *pv = ni->nal_priv;

	if (pthread_mutex_trylock(&pv->lock))
		return;				/* another thread is at it */
	steps(pv, STEPS);
	pthread_mutex_unlock(&pv->lock);
}

static void attend(struct nal_ni *ni, bool on)
{
}

static void wait_(struct nal_ni *ni, int64_t ns, bool (*ready)(void *), void *arg)
{
	struct timespec nap = { 0, ns >= 0 && ns < 100000 ? ns : 100000 };

	progress(ni, NAL_EQ_GONE, NULL);
	if (!ready(arg))
		nanosleep(&nap, NULL);
}

static void far(const struct nal_ni *ni, struct nal_far *f)
{
	struct priv *pv = ni->nal_priv;

	pv->to_self.peer = &pv->self;
	*f = (struct nal_far){ &pv->to_self, 1, sizeof(pv->to_self), offsetof(struct self, rank),
			      offsetof(struct self, peer) };
}

const struct nal_ops nal_loop = {
	.name = "loop",
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
	.attend = attend,
	.wait = wait_,
	.far = far,
};

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap_local.c - what a rank leaves to the engine of its node, though the target is on the node: see ap_local.h
 *
 * Long copies (PTL_SELF_DMA_MIN): order and matching are those of a call that copies by itself, since it does all but
 * the copy. Where the engine could not copy from window to window, or has enough to do, the rank copies.
 *
 * All calls (PTL_LOCKS=master): what is for a polled portal is left in the inbox by the rank, since only its owner may
 * match there; what is for the rank itself it does itself.
 *
 * ap->lock: the ring's tail.
 */
#include "config.h"

#include <sched.h>

#include "ap_rank.h"
#include "p3_knobs.h"

bool ap_local_open(struct ap *ap)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);

	ap->master = k->locks == P3_LOCKS_MASTER;
	if (ap->master)
		ap->ni->put_usual = ap->ni->put_any;
	ap->lend_min = k->self_dma_min ? (uint64_t)k->self_dma_min : UINT64_MAX;
	if (!ap->master && !k->self_dma_min)
		return true;
	ap->local = smartmap_alloc(sizeof(*ap->local), 4096);
	if (ap->local)
		ap->me->local = (uintptr_t)ap->local;
	return ap->local;
}

void ap_local_close(struct ap *ap)
{
	if (ap->local)
		smartmap_free(ap->local, sizeof(*ap->local));
	ap->local = NULL;
}

/* A place in the ring; NULL: none is free. ap->lock held until it is posted. */
static struct ap_job *job_get(struct ap *ap)
{
	struct ap_local *g = ap->local;

	pthread_mutex_lock(&ap->lock);
	if (!ap->broken && g->tail - p3_load_acq(&g->head) < AP_JOBS)
		return &g->job[g->tail % AP_JOBS];
	pthread_mutex_unlock(&ap->lock);
	return NULL;
}

static void job_post(struct ap *ap, struct ap_job *j, enum ap_job_kind kind, uint32_t slot)
{
	j->kind = (uint8_t)kind;
	j->ending = 0;
	j->target = slot;
	p3_store_rel(&ap->local->tail, ap->local->tail + 1);
	p3_fence();			/* as in post() of nal_ap.c */
	if (p3_load(&ap->card->asleep))
		ap_bell_ring(ap->bell);
	pthread_mutex_unlock(&ap->lock);
}

/* ---- copies ---- */

static bool lend(void *arg, uint32_t slot, struct p3l_op *op, uint32_t index, const struct p3l_send *s,
		 const struct p3l_reply *r)
{
	const struct p3l_op *first = op - index;
	struct ap *ap = arg;
	struct ap_job *j;
	unsigned n = 0;

	for (uint32_t k = 0; k < P3L_OPS; k++)	/* not all records there: what is short goes on meanwhile */
		n += p3l_lent(&first[k]);
	j = n < P3L_OPS / 2 ? job_get(ap) : NULL;
	if (!j)
		return false;
	if (s)
		j->q.send = *s;
	else
		j->q.reply = *r;
	j->op = (uint16_t)index;
	p3_store(&op->lockless, P3L_LENT);	/* from now on it is the engine's, which may find it when we are dead */
	job_post(ap, j, s ? AP_J_PUT : AP_J_GET, slot);
	return true;
}

/* ---- calls ---- */

static uint8_t *room(void *arg, uint64_t len)
{
	struct ap_local *g = ((struct ap *)arg)->local;

	if (len <= FR_SMALL)
		return g->job[g->tail % AP_JOBS].small;
	return len <= FR_COPY && g->tail - p3_load_acq(&g->head) < AP_JOB_BUFS ? g->bufs[g->tail % AP_JOB_BUFS] : NULL;
}

static int full(void)
{
	sched_yield();
	return PTL_NO_SPACE;
}

static int posted(struct ap *ap, struct ap_job *j, uint32_t slot, int rc)
{
	if (rc == PTL_OK)
		job_post(ap, j, AP_J_CALL, slot);
	else
		pthread_mutex_unlock(&ap->lock);
	return rc == FR_FULL ? full() : rc;
}

enum way { OURS, NOBODY, ENGINES };

static enum way way_of(struct ap *ap, struct nal_ni *ni, uint32_t slot, uint32_t pt)
{
	struct p3l_ni *l;

	if (slot == ni->l->slot || p3_load(&ap->broken))
		return OURS;
	l = nal_region(ni, slot);
	if (!l || !p3_load(&l->up))
		return NOBODY;
	return pt < P3L_MAX_PT && p3l_pt_polled(l, pt) ? OURS : ENGINES;
}

int ap_local_put(struct ap *ap, struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s)
{
	/* what is shorter has ended when we return: nal.h */
	struct nal_lend to = { &ap->env, lend, ap, ap->lend_min > FR_COPY ? ap->lend_min : FR_COPY + 1 };
	struct ap_job *j;
	enum way w;

	if (!ap->master)
		return slot == ni->l->slot || p3l_send_length(ni->l, s) < to.min || p3_load(&ap->broken) ?
			nal_smartmap.put(ni, slot, h, s) : nal_put_lent(ni, slot, h, s, &to);
	w = way_of(ap, ni, slot, h->pt);
	if (w == OURS)
		return nal_smartmap.put(ni, slot, h, s);
	if (w == NOBODY)
		return fr_put_nowhere(&ap->env, ni->l, s);
	j = job_get(ap);
	return j ? posted(ap, j, slot, fr_begin_put(&ap->env, ni->l, h, s, room, ap, &j->q)) : full();
}

int ap_local_get(struct ap *ap, struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct nal_lend to = { &ap->env, lend, ap, ap->lend_min };
	struct ap_job *j;
	enum way w;

	if (!ap->master)
		return slot == ni->l->slot || p3_load(&ap->broken) ? nal_smartmap.get(ni, slot, h, r) :
			nal_get_lent(ni, slot, h, r, &to);
	w = way_of(ap, ni, slot, h->pt);
	if (w == OURS)
		return nal_smartmap.get(ni, slot, h, r);
	if (w == NOBODY)
		return fr_get_nowhere(&ap->env, ni->l, slot, false, h, r);
	r->target_slot = slot;
	j = job_get(ap);
	return j ? posted(ap, j, slot, fr_begin_get(&ap->env, ni->l, h, r, &j->q)) : full();
}

int ap_local_getput(struct ap *ap, struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s,
		    struct p3l_reply *r)
{
	struct ap_job *j;
	enum way w = ap->master ? way_of(ap, ni, slot, h->pt) : OURS;

	if (w == OURS)
		return nal_smartmap.getput(ni, slot, h, s, r);
	if (w == NOBODY)
		return fr_getput_nowhere(&ap->env, ni->l, slot, false, s, r);
	r->target_slot = slot;
	j = job_get(ap);
	return j ? posted(ap, j, slot, fr_begin_getput(&ap->env, ni->l, h, s, r, room, ap, &j->q)) : full();
}

/* The engine is dead. What it had of ours ends here; what it had matched, or we had for it, the targets reap. */
void ap_local_broken(struct ap *ap)
{
	struct ap_local *g = ap->local;

	if (!g)
		return;
	for (uint32_t n = p3_load_acq(&g->head); n != g->tail; n++) {
		struct ap_job *j = &g->job[n % AP_JOBS];

		if (p3_load(&j->ending))
			continue;
		if (j->kind == AP_J_PUT)
			p3l_send_end(&ap->env, ap->ni->l, &j->q.send, PTL_NI_DIED_NP);
		else if (j->kind == AP_J_GET)
			p3l_reply_end(&ap->env, ap->ni->l, &j->q.reply, PTL_NI_DIED_NP);
		else
			fr_never(&ap->env, ap->ni->l, j->target, &j->q);
	}
	g->head = g->tail;
}

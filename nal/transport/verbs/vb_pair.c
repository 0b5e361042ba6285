/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * vb_pair.c - a queue pair with each other process, and another one when it has failed
 *
 *	          frames for it, or ASK                  its OFFER: connected            its READY
 *	IDLE ------------------------------> OFFERED ---------------------> PAIRED -------------------> OPEN
 *	  |                                     ^                                                        |
 *	  | no device, here or there            +---- at once, or later: WAIT ---- it has failed, or ASK +
 *	  +-------> BY_TCP
 *
 * Of the two sides the one with the lower rank leads: it counts the queue pairs (epoch). It makes one and says so
 * (OFFER); the other makes one, too, of the same epoch (OFFER); each connects its own to what it was told, and says so
 * (READY). The other side, where it has frames or its queue pair has failed, asks for the next epoch (ASKED). What is
 * said about another epoch than the last is late, and nothing follows from it; so two sides that fail at the same time
 * do not keep each other from succeeding.
 *
 * What each OFFER says of messages taken is exact: whatever the failed pair has received is taken before.
 *
 * VB_TRIES pairs that carried nothing are the end: vb_gone().
 */
#include "config.h"

#include "vb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "p3_log.h"

#define ACK_TIMEOUT	14		/* 4 us << 14 = 67 ms, */
#define ACK_RETRIES	7		/* so often: half a second, then the pair has failed */
#define RNR_TIMER	12		/* 0.64 ms until the other side is asked again for a place, */
#define RNR_FOREVER	7		/* as long as it takes: it may be stopped */

/* ---- what is told ---- */

static bool say(struct vb_peer *p, enum vb_kind kind)
{
	struct verbs *v = p->v;
	uint8_t frame[WIRE_HDR + VB_CTL];
	struct vb_ctl c = { .kind = kind, .epoch = p->epoch, .taken = p->expect };

	if (kind == VB_OFFER) {
		c.qpn = p->qp->qp_num;
		c.psn = p->psn;
		c.lid = v->lid;
		c.mtu = v->mtu;
		c.link_layer = v->link_layer;
		c.gid = v->gid;
		c.room = v->depth;
		memcpy(c.nonce, p->nonce, sizeof(c.nonce));
	} else if (kind == VB_READY) {
		memcpy(c.nonce, p->theirs.nonce, sizeof(c.nonce));
	}
	vb_ctl_encode(&c, v->tcp, p->rank, frame);
	return !tcp_send(v->tcp, p->rank, frame, frame + WIRE_HDR, VB_CTL);
}

void vb_control_flush(struct vb_peer *p)
{
	for (enum vb_kind k = VB_OFFER; k <= VB_END; k++) {
		if (!(p->due & 1 << k))
			continue;
		if (!say(p, k))
			return;
		p->due &= (uint8_t)~(1 << k);
	}
}

static void tell(struct vb_peer *p, enum vb_kind k)
{
	p->due |= (uint8_t)(1 << k);
	vb_control_flush(p);
}

/* ---- queue pairs ---- */

void vb_qp_destroy(struct vb_peer *p)
{
	if (!p->qp)
		return;
	p->qpn_before = p->qp->qp_num;
	vb_lib.destroy_qp(p->qp);
	p->qp = NULL;
	vb_come_drop(p);
}

static bool make(struct vb_peer *p)
{
	struct verbs *v = p->v;
	struct ibv_qp_init_attr init = { .send_cq = v->sends, .recv_cq = v->recvs, .srq = v->srq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = v->depth + 2 * VB_PIECES, .max_send_sge = 1 } };
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = v->port,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ };

	if (!p->slot) {
		p->len = calloc(v->depth, sizeof(*p->len));
		p->slot = vb_memory((size_t)v->depth * VB_SLOT);
		if (p->slot && p->len)
			p->mr = vb_lib.reg_mr(v->pd, p->slot, (size_t)v->depth * VB_SLOT, IBV_ACCESS_LOCAL_WRITE);
		if (!p->mr) {
			free(p->len);
			if (p->slot)
				vb_memory_free(p->slot, (size_t)v->depth * VB_SLOT);
			p->slot = NULL;
			return false;
		}
	}
	if (getrandom(p->nonce, sizeof(p->nonce), GRND_NONBLOCK) != sizeof(p->nonce) ||
	    getrandom(&p->psn, sizeof(p->psn), GRND_NONBLOCK) != sizeof(p->psn))
		return false;
	p->psn &= 0xffffff;
	p->qp = vb_lib.create_qp(v->pd, &init);
	if (!p->qp)
		return false;
	if (!vb_lib.modify_qp(p->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return true;
	vb_qp_destroy(p);
	return false;
}

/* To what the other side has told. */
static bool pair(struct vb_peer *p)
{
	const struct vb_ctl *o = &p->theirs;
	struct verbs *v = p->v;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR, .path_mtu = o->mtu < v->mtu ? o->mtu : v->mtu,
		.dest_qp_num = o->qpn, .rq_psn = o->psn, .max_dest_rd_atomic = v->reads_in,
		.min_rnr_timer = RNR_TIMER };
	struct ibv_qp_attr b = { .qp_state = IBV_QPS_RTS, .timeout = ACK_TIMEOUT, .retry_cnt = ACK_RETRIES,
		.rnr_retry = RNR_FOREVER, .sq_psn = p->psn, .max_rd_atomic = v->reads_out };

	a.ah_attr.port_num = v->port;
	a.ah_attr.dlid = o->lid;
	if (v->gid_index >= 0 && (v->link_layer == IBV_LINK_LAYER_ETHERNET || !o->lid)) {
		a.ah_attr.is_global = 1;
		a.ah_attr.grh.dgid = o->gid;
		a.ah_attr.grh.sgid_index = (uint8_t)v->gid_index;
		a.ah_attr.grh.hop_limit = 64;
	}
	return !vb_lib.modify_qp(p->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) &&
	       !vb_lib.modify_qp(p->qp, &b, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void try_pair(struct vb_peer *p)
{
	if (p->theirs.link_layer != p->v->link_layer || !pair(p)) {
		vb_broken(p, IBV_WC_GENERAL_ERR);
		return;
	}
	p->state = VB_PAIRED;
	tell(p, VB_READY);
}

/* A queue pair of epoch @epoch, ours. */
static void offer(struct vb_peer *p, uint32_t epoch)
{
	p->epoch = epoch;
	p->due &= (uint8_t)~(1 << VB_OFFER | 1 << VB_READY | 1 << VB_ASK);
	p->state = VB_OFFERED;
	if (make(p))
		tell(p, VB_OFFER);
	else
		vb_broken(p, IBV_WC_GENERAL_ERR);
}

static bool leads(const struct vb_peer *p)
{
	return p->v->tcp->rank < p->rank;
}

/* The next queue pair with @p, or none as we have no device. */
void vb_begin(struct vb_peer *p)
{
	if (p->v->none) {
		p->state = VB_BY_TCP;
		tell(p, VB_NONE);
	} else if (leads(p)) {
		offer(p, p->epoch + 1);
	} else {
		p->state = VB_ASKED;
		tell(p, VB_ASK);
	}
}

/* The one that leads has made one. */
static void follow(struct vb_peer *p)
{
	p->offered = false;
	offer(p, p->theirs.epoch);
	if (p->state == VB_OFFERED && !p->broken)
		try_pair(p);
}

/* The other side's queue pair is ours: what it does not have goes again. */
static void open_(struct vb_peer *p)
{
	uint32_t taken = p->theirs.taken;

	if (p->next - taken > p->next - p->acked) {	/* it says that it lacks what it has said it has, or worse */
		vb_gone(p);
		return;
	}
	p->acked = p->done = taken;
	vb_bulk_acked(p);
	p->state = VB_OPEN;
	for (uint32_t n = taken; n != p->next && !p->broken; n++) {
		p->v->again++;
		if ((p->len[n % p->v->depth] & VB_LONG) && !vb_bulk_again(p, n)) {
			vb_gone(p);
			return;
		}
		vb_post_slot(p, n);
	}
	vb_writable(p);
}

static void offered(struct vb_peer *p, const struct vb_ctl *c)
{
	if (leads(p)) {
		if (p->state != VB_OFFERED || p->broken || c->epoch != p->epoch)
			return;
		p->theirs = *c;
		try_pair(p);
		return;
	}
	if (c->epoch == p->epoch)
		return;
	p->theirs = *c;
	p->offered = true;
	if (p->qp || p->broken)
		vb_broken(p, IBV_WC_SUCCESS);
	else
		follow(p);
}

/* Not ours, or not on both sides. */
static void by_tcp(struct vb_peer *p)
{
	struct verbs *v = p->v;

	if (p->state == VB_OPEN || p->next)	/* it has had one */
		return;
	if (!v->none)
		p3_diag("process %u has no RDMA device: frames to it go by TCP", p->rank);
	vb_qp_destroy(p);
	p->due = 0;
	if (v->none && p->state == VB_IDLE)
		tell(p, VB_NONE);
	p->broken = false;
	p->state = VB_BY_TCP;
	v->user->writable(v->ctx, p->rank);
}

void vb_control(struct vb_peer *p, const struct vb_ctl *c)
{
	if (p->state == VB_GONE)
		return;
	if (c->kind == VB_NONE) {
		by_tcp(p);
	} else if (c->kind == VB_END) {
		vb_gone(p);
	} else if (p->v->none) {
		if (p->state == VB_IDLE)
			vb_begin(p);
	} else if (c->kind == VB_OFFER) {
		offered(p, c);
	} else if (c->kind == VB_READY) {
		if (p->state == VB_PAIRED && !p->broken && c->epoch == p->epoch && tcp_same(c->nonce, p->nonce))
			open_(p);
	} else if (leads(p) && p->state == VB_IDLE) {
		vb_begin(p);
	} else if (leads(p) && c->epoch == p->epoch && p->state != VB_WAIT) {
		vb_broken(p, IBV_WC_SUCCESS);
	}
}

/* ---- the end of one ---- */

/* Its queue pair is of no use any more. @why: as the card says, or SUCCESS: the other side has given it up. */
void vb_broken(struct vb_peer *p, enum ibv_wc_status why)
{
	if (p->state == VB_GONE || p->state == VB_BY_TCP)
		return;
	if (!p->broken)
		p->why = why;
	p->broken = true;
	p->v->mend = true;
	ev_async_send(p->v->tcp->loop, &p->v->tcp->async);	/* the loop does it, if not whoever has called us */
}

/* @p: ours is destroyed. The next one: at once, or after some time. */
static void next_one(struct vb_peer *p)
{
	struct verbs *v = p->v;

	if (p->why != IBV_WC_SUCCESS) {
		p3_diag("the queue pair with process %u has failed: %s; another one", p->rank,
			vb_lib.wc_status_str(p->why));
		p->tries++;
	}
	if (p->tries > VB_TRIES) {
		vb_gone(p);
	} else if (p->offered) {
		follow(p);
	} else if (p->tries <= 2 || p->why == IBV_WC_SUCCESS) {
		vb_begin(p);
	} else {
		ev_now_update(v->tcp->loop);
		p->state = VB_WAIT;
		p->at = ev_now(v->tcp->loop) + VB_RETRY_S * (1 << (p->tries - 3));
		if (!ev_is_active(&v->timer)) {
			ev_timer_set(&v->timer, VB_RETRY_S, 0.);
			ev_timer_start(v->tcp->loop, &v->timer);
		}
	}
}

/* The queues are dead, too: all anew. */
static void reset(struct verbs *v)
{
	v->reset = false;
	p3_diag("the completion queues have failed: others, and other queue pairs");
	for (uint32_t i = 0; i < v->tcp->size; i++)
		if (v->peer[i].qp) {
			vb_qp_destroy(&v->peer[i]);
			vb_broken(&v->peer[i], IBV_WC_GENERAL_ERR);
		}
	vb_queues_destroy(v);
	if (vb_queues(v))
		for (uint32_t i = 0; i < v->tcp->size; i++)
			vb_gone(&v->peer[i]);
}

void vb_mend(struct verbs *v)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };

	while (v->mend || v->reset) {
		v->mend = false;
		if (v->reset)
			reset(v);
		for (uint32_t i = 0; i < v->tcp->size; i++) {
			struct vb_peer *p = &v->peer[i];

			if (!p->broken)
				continue;
			if (p->qp) {	/* what it has received, before it is counted */
				vb_lib.modify_qp(p->qp, &a, IBV_QP_STATE);
				while (vb_take_all(v))
					;
			}
			p->broken = false;
			if (p->state == VB_GONE)
				continue;
			vb_qp_destroy(p);
			v->mended++;
			next_one(p);
		}
	}
}

void vb_gone(struct vb_peer *p)
{
	struct tcp_out *o = &p->v->tcp->out[p->rank];

	if (p->state == VB_GONE)
		return;
	p->state = VB_GONE;
	if (p->blocked)
		p->v->n_blocked--;
	p->blocked = false;
	vb_qp_destroy(p);
	if (p->v->stopping)
		return;
	p->due = 0;
	tell(p, VB_END);
	if (!o->err)
		o->err = ENETUNREACH;
	p->v->user->gone(p->v->ctx, p->rank);
}

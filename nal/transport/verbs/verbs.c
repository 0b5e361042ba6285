/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * verbs.c - frames by send and receive, and what ties the transport to the TCP connections; see verbs.h, vb.h
 *
 * A message is a frame behind sixteen bytes: who sends it, its number, how many of the other side's have been taken,
 * how long the frame is (0: none, it only says how many). It is copied into a slot, from which the card reads it, and
 * comes into one of the places that are posted for all peers together (SRQ). So nothing of the user's is held when
 * send() returns.
 *
 * Credits. A side may have as many messages under way as the other one has said that it has room for; the last of
 * these is kept for a message without frame, so that two sides that are both at their limit can always say what they
 * have taken. With few peers no message finds all places taken; with many the places are fewer than the credits, and a
 * card whose message finds none (RNR) tries it again.
 *
 * A process that ends closes its TCP connections when its card has said that all has been received there, and what has
 * been received is taken before the end is told.
 */
#include "config.h"

#include "vb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "p3_log.h"

#define BATCH		16
#define STOP_NS		2000000000LL	/* for what is in the hands of the card, at the end */

static void put32(uint8_t *p, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(x >> 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- out ---- */

static uint32_t room(const struct vb_peer *p)
{
	uint32_t credits = p->theirs.room < p->v->depth ? p->theirs.room : p->v->depth;
	uint32_t under_way = p->next - (p->next - p->acked > p->next - p->done ? p->acked : p->done);

	return under_way < credits ? credits - under_way : 0;
}

/* Message @number, whose frame is in its slot, to the card. */
void vb_post_slot(struct vb_peer *p, uint32_t number)
{
	struct verbs *v = p->v;
	uint32_t at = number % v->depth;
	uint8_t *b = p->slot + (size_t)at * VB_SLOT;
	struct ibv_sge sge = { (uintptr_t)b, (p->len[at] & ~VB_LONG) + VB_LINK, p->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)p->rank << 32 | (p->epoch & 0xff) << 24 | (number & 0xffffff),
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;

	put32(b, v->tcp->rank);
	put32(b + 4, number);
	put32(b + 8, p->expect);
	put32(b + 12, p->len[at]);
	p->told = p->expect;
	if (ibv_post_send(p->qp, &wr, &bad))
		vb_broken(p, IBV_WC_GENERAL_ERR);
	v->sent++;
}

/* The loop is to look for it, which may sleep: completions that nobody has asked for do not wake it. */
static void wait_room(struct vb_peer *p)
{
	struct verbs *v = p->v;

	p->blocked = true;
	v->n_blocked++;
	ibv_req_notify_cq(v->sends, 0);
	ev_async_send(v->tcp->loop, &v->tcp->async);
}

/* A place for the frame of the next message, or NULL: there is no room for one. */
static uint8_t *place(struct vb_peer *p)
{
	if (p->state == VB_IDLE)
		vb_begin(p);
	if (p->state != VB_OPEN || p->broken)
		return NULL;
	if (room(p) < 2) {
		if (!p->blocked)
			wait_room(p);
		return NULL;
	}
	return p->slot + (size_t)(p->next % p->v->depth) * VB_SLOT + VB_LINK;
}

/* It is there, @n bytes (perhaps with VB_LONG). */
static void go(struct vb_peer *p, uint32_t n)
{
	p->len[p->next % p->v->depth] = n;
	vb_post_slot(p, p->next++);
}

static int send_(void *t, uint32_t rank, const void *hdr, const void *payload, uint32_t len)
{
	struct verbs *v = t;
	struct vb_peer *p = &v->peer[rank];
	uint8_t *b = place(p);

	if (p->state == VB_BY_TCP)
		return p->due ? 1 : tcp_send(v->tcp, rank, hdr, payload, len);
	if (!b)
		return 1;
	memcpy(b, hdr, WIRE_HDR);
	if (len)
		memcpy(b + WIRE_HDR, payload, len);
	go(p, WIRE_HDR + len);
	return 0;
}

static uint32_t send_some(void *t, uint32_t rank, const struct wire_frame *f, uint32_t n, bool *fault)
{
	struct verbs *v = t;
	struct vb_peer *p = &v->peer[rank];
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint8_t *b = place(p);

		if (p->state == VB_BY_TCP)
			return p->due ? 0 : i + tcp_send_some(v->tcp, rank, f + i, n - i, fault);
		if (!b)
			break;
		if (f[i].stays && f[i].len > VB_COPY) {
			uint32_t bytes = vb_bulk_make(p, &f[i], b);

			if (bytes) {
				go(p, bytes);
				continue;
			}
		}
		/* behind memory that is still to be read: no end of the same user's; nor too long for a slot */
		if (f[i].len > WIRE_PAYLOAD || vb_bulk_of(p, f[i].whose)) {
			if (!p->blocked)
				wait_room(p);
			break;
		}
		memcpy(b, f[i].hdr, WIRE_HDR);
		b += WIRE_HDR;
		for (uint32_t k = 0; k < f[i].n; b += f[i].v[k++].len)
			memcpy(b, f[i].v[k].at, f[i].v[k].len);
		go(p, WIRE_HDR + f[i].len);
	}
	return i;
}

/* What has been taken is told by itself when nothing else tells it. */
static void tell_taken(struct vb_peer *p, uint32_t from)
{
	if (p->state != VB_OPEN || p->broken || p->expect - p->told < from || !room(p))
		return;
	go(p, 0);
}

/* There may be room, after there was none. */
void vb_writable(struct vb_peer *p)
{
	if (p->state != VB_OPEN || p->broken || room(p) < 2)
		return;
	if (p->blocked)
		p->v->n_blocked--;
	p->blocked = false;
	if (!p->v->stopping)
		p->v->user->writable(p->v->ctx, p->rank);
}

static void read_done(struct vb_peer *p);

static void sent(struct verbs *v, const struct ibv_wc *wc)
{
	struct vb_peer *p = &v->peer[(wc->wr_id & ~VB_READ) >> 32];

	if ((wc->wr_id >> 24 & 0xff) != (p->epoch & 0xff) || !p->qp || p->qp->qp_num != wc->qp_num)
		return;				/* of the one before */
	if (wc->status != IBV_WC_SUCCESS) {
		vb_broken(p, wc->status);
		return;
	}
	if (wc->wr_id & VB_READ) {
		read_done(p);
		return;
	}
	p->done += (((uint32_t)wc->wr_id - p->done) & 0xffffff) + 1;
	if (p->blocked)
		vb_writable(p);
}

static bool sent_all(struct verbs *v)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(v->sends, BATCH, wc);

	for (int i = 0; i < n; i++)
		sent(v, &wc[i]);
	if (n < 0)
		v->reset = true;
	return n > 0;
}

/* ---- in ---- */

static void wrong(struct vb_peer *p)
{
	p->v->tcp->out[p->rank].err = EPROTO;
	vb_gone(p);
}

/* The next message has been taken. */
static void took(struct vb_peer *p)
{
	p->expect++;
	p->tries = 0;
	p->v->got++;
	if (p->blocked)
		vb_writable(p);
	tell_taken(p, p->v->depth / 2);
}

/* A message of @n bytes in place @buf, by queue pair @qpn. False: the place is not free again. */
static bool message(struct verbs *v, uint32_t buf, uint32_t n, uint32_t qpn)
{
	const uint8_t *b = v->recv + (size_t)buf * VB_SLOT;
	uint32_t rank = n >= VB_LINK ? get32(b) : v->tcp->size, number, taken, len;
	struct vb_peer *p;

	if (rank >= v->tcp->size)
		return true;
	p = &v->peer[rank];
	if (!(p->qp && p->qp->qp_num == qpn) && p->qpn_before != qpn)
		return true;			/* nobody has told us this number for him */
	number = get32(b + 4);
	taken = get32(b + 8);
	len = get32(b + 12);
	if (p->state == VB_GONE || wire_before(number, p->expect))
		return true;
	if (taken - p->acked <= p->next - p->acked && taken != p->acked) {
		p->acked = taken;
		vb_bulk_acked(p);
	}
	if (p->come.on) {			/* behind it; not more than the other side has credits for */
		if (p->n_held == VB_DEPTH)
			return true;
		p->held[p->n_held].buf = buf;
		p->held[p->n_held].n = n;
		p->held[p->n_held++].qpn = qpn;
		if (p->blocked)
			vb_writable(p);
		return false;
	}
	if (number != p->expect || (len & ~VB_LONG) != n - VB_LINK) {
		wrong(p);
		return true;
	}
	if ((len & VB_LONG) && !v->stopping) {
		if (!p->qp || p->qp->qp_num != qpn)
			return true;		/* too late to read: it comes again */
		if (vb_come_begin(p, b + VB_LINK, len & ~VB_LONG, buf) == VB_COMING)
			return false;
		wrong(p);
		return true;
	}
	if (len && !v->stopping && (wire_frame_len(b + VB_LINK) != len ||
		    (!v->user->frame(v->ctx, rank, b + VB_LINK, len)))) {
		wrong(p);
		return true;
	}
	took(p);
	return true;
}

/* A read has ended; perhaps the message, so that those behind it can be looked at. */
static void read_done(struct vb_peer *p)
{
	struct verbs *v = p->v;
	uint32_t n = p->n_held, i;
	enum vb_long is = vb_come_read(p);

	if (is == VB_WRONG)
		wrong(p);
	if (is != VB_THERE || !p->come.on)
		return;
	p->come.on = false;
	vb_post_recv(v, p->come.buf);
	took(p);
	tell_taken(p, 1);		/* somebody waits for his memory */
	p->n_held = 0;
	for (i = 0; i < n; i++) {
		/* what begins to be read holds those behind it again: they go back to the same places of the list */
		if (message(v, p->held[i].buf, p->held[i].n, p->held[i].qpn))
			vb_post_recv(v, p->held[i].buf);
	}
}

/* Some of what has come; false: nothing had. */
bool vb_take_all(struct verbs *v)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(v->recvs, BATCH, wc);

	for (int i = 0; i < n; i++) {
		uint32_t buf = (uint32_t)wc[i].wr_id;
		bool back = true;

		if (wc[i].status == IBV_WC_SUCCESS)
			back = message(v, buf, wc[i].byte_len, wc[i].qp_num);
		else
			for (uint32_t r = 0; r < v->tcp->size; r++)
				if (v->peer[r].qp && v->peer[r].qp->qp_num == wc[i].qp_num)
					vb_broken(&v->peer[r], wc[i].status);
		if (back)
			vb_post_recv(v, buf);
	}
	if (n < 0)
		v->reset = true;
	return n > 0;
}

static bool look(struct verbs *v)
{
	bool any = false;

	if (v->none)
		return false;
	for (int i = 0; i < 8; i++) {
		bool sends = sent_all(v), recvs = vb_take_all(v);

		any |= sends || recvs;
		if (!sends && !recvs)
			break;
	}
	if (v->mend || v->reset)
		vb_mend(v);
	return any;
}

static void poll_(void *t)
{
	look(t);
}

static bool reading(const struct verbs *v)
{
	for (uint32_t i = 0; i < v->tcp->size; i++)
		if (v->peer[i].come.on)
			return true;
	return false;
}

static bool doze(void *t)
{
	struct verbs *v = t;

	if (v->none)
		return true;
	ibv_req_notify_cq(v->recvs, 0);
	/* ends of sends are looked at when something else happens, unless somebody waits for one, or one has failed */
	ibv_req_notify_cq(v->sends, !v->n_blocked && !reading(v));
	return !look(v) && !v->mend;
}

/* ---- the event loop ---- */

static void on_channel(struct ev_loop *loop, ev_io *w, int events)
{
	struct verbs *v = w->data;
	struct ibv_cq *cq;
	void *unused;

	while (!vb_lib.get_cq_event(v->channel, &cq, &unused))
		vb_lib.ack_cq_events(cq, 1);
	look(v);
}

static void on_async(struct ev_loop *loop, ev_io *w, int events)
{
	struct verbs *v = w->data;
	struct ibv_async_event e;

	while (!vb_lib.get_async_event(v->dev, &e)) {
		struct ibv_qp *qp = NULL;

		switch (e.event_type) {
		case IBV_EVENT_CQ_ERR:
			v->reset |= e.element.cq == v->sends || e.element.cq == v->recvs;
			break;
		case IBV_EVENT_SRQ_ERR:
			v->reset |= e.element.srq == v->srq;
			break;
		case IBV_EVENT_DEVICE_FATAL:
			v->reset = true;
			break;
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
			qp = e.element.qp;
			break;
		default:
			break;
		}
		for (uint32_t i = 0; qp && i < v->tcp->size; i++)
			if (v->peer[i].qp == qp)
				vb_broken(&v->peer[i], IBV_WC_FATAL_ERR);
		vb_lib.ack_async_event(&e);
	}
	if (v->mend || v->reset)
		vb_mend(v);
}

/* Queue pairs that were to be made later; those that broke in a call. */
static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct verbs *v = w->data;
	double next = 0;

	ev_timer_stop(loop, &v->timer);
	if (v->mend || v->reset)
		vb_mend(v);
	for (uint32_t i = 0; i < v->tcp->size; i++) {
		struct vb_peer *p = &v->peer[i];

		if (p->state == VB_WAIT && ev_now(loop) >= p->at)
			vb_begin(p);
		else if (p->state == VB_WAIT && (next == 0 || p->at < next))
			next = p->at;
	}
	if (next > 0) {
		ev_timer_set(&v->timer, next - ev_now(loop), 0.);
		ev_timer_start(loop, &v->timer);
	}
}

/* ---- what TCP says ---- */

static bool on_frame(void *ctx, uint32_t rank, const uint8_t *bytes, uint32_t n)
{
	struct verbs *v = ctx;
	struct vb_peer *p = &v->peer[rank];
	struct vb_ctl c;

	if (vb_ctl_is(bytes)) {
		if (!vb_ctl_decode(bytes, v->tcp, rank, &c))
			return false;
		vb_control(p, &c);
		if (v->mend || v->reset)
			vb_mend(v);
		return true;
	}
	return p->state == VB_BY_TCP && v->user->frame(v->ctx, rank, bytes, n);
}

/* What goes by TCP is the user's. */
static int on_begin(void *ctx, uint32_t rank, const uint8_t *hdr, uint64_t *part)
{
	struct verbs *v = ctx;

	if (vb_ctl_is(hdr))
		return TCP_WHOLE;
	return v->peer[rank].state == VB_BY_TCP ? v->user->begin(v->ctx, rank, hdr, part) : TCP_NO;
}

static uint32_t on_where(void *ctx, uint64_t part, struct wire_vec *w, uint32_t max)
{
	struct verbs *v = ctx;

	return v->user->where(v->ctx, part, w, max);
}

static void on_piece(void *ctx, uint64_t part, const uint8_t *bytes, uint32_t n)
{
	struct verbs *v = ctx;

	v->user->piece(v->ctx, part, bytes, n);
}

static void on_unplaced(void *ctx, uint64_t part)
{
	struct verbs *v = ctx;

	v->user->unplaced(v->ctx, part);
}

static void on_fault(void *ctx, void *whose, uint64_t tag)
{
	struct verbs *v = ctx;

	v->user->fault(v->ctx, whose, tag);
}

static void on_writable(void *ctx, uint32_t rank)
{
	struct verbs *v = ctx;
	struct vb_peer *p = &v->peer[rank];

	vb_control_flush(p);
	if (p->state == VB_BY_TCP && !p->due)
		v->user->writable(v->ctx, rank);
}

static void on_gone(void *ctx, uint32_t rank)
{
	struct verbs *v = ctx;
	struct vb_peer *p = &v->peer[rank];
	bool told = p->state == VB_GONE;

	while (!v->none && vb_take_all(v))
		;
	if (p->state == VB_GONE && !told)
		return;				/* just now */
	p->state = VB_GONE;
	p->due = 0;
	if (p->blocked)
		v->n_blocked--;
	p->blocked = false;
	vb_qp_destroy(p);
	if (!told)
		v->user->gone(v->ctx, rank);
}

static bool on_known(void *ctx, uint32_t rank)
{
	struct verbs *v = ctx;

	return v->user->known(v->ctx, rank);
}

static void on_warn(void *ctx, const char *text)
{
	struct verbs *v = ctx;

	if (v->user->warn)
		v->user->warn(v->ctx, text);
}

static const struct tcp_place *on_place(void *ctx, uint32_t rank)
{
	struct verbs *v = ctx;

	return v->user->place(v->ctx, rank);
}

/* ---- start and end ---- */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool bulk_left(const struct vb_peer *p)
{
	for (uint32_t i = 0; i < VB_BULKS; i++)
		if (p->bulk[i].on)
			return true;
	return false;
}

static bool under_way(const struct verbs *v)
{
	for (uint32_t i = 0; i < v->tcp->size; i++)
		if (v->peer[i].state == VB_OPEN && !v->peer[i].broken &&
		    (v->peer[i].done != v->peer[i].next || bulk_left(&v->peer[i])))
			return true;
	return false;
}

static void stop(void *t)
{
	struct verbs *v = t;
	int64_t until = now_ns() + STOP_NS;

	v->stopping = true;
	while (!v->none && under_way(v) && now_ns() < until) {
		struct timespec nap = { 0, 20000 };

		if (!sent_all(v) && !vb_take_all(v))
			nanosleep(&nap, NULL);
	}
	p3_debug("verbs: %llu messages out, %llu in, %llu again, %llu queue pairs replaced; %llu long frames, %llu "
		 "registrations used again",
		 (unsigned long long)v->sent, (unsigned long long)v->got, (unsigned long long)v->again,
		 (unsigned long long)v->mended, (unsigned long long)v->bulks, (unsigned long long)v->reg_hits);
	ev_timer_stop(v->tcp->loop, &v->timer);
	if (!v->none) {
		ev_io_stop(v->tcp->loop, &v->io);
		ev_io_stop(v->tcp->loop, &v->async);
	}
	for (uint32_t i = 0; i < v->tcp->size; i++) {
		struct vb_peer *p = &v->peer[i];

		p->state = VB_GONE;
		vb_qp_destroy(p);
		vb_bulk_end(p);
		if (p->mr)
			vb_lib.dereg_mr(p->mr);
		if (p->slot)
			vb_memory_free(p->slot, (size_t)v->depth * VB_SLOT);
		free(p->len);
	}
	vb_reg_end(v);
	vb_dev_close(v);
	v->tcp->user = v->user;
	v->tcp->ctx = v->ctx;
	free(v->peer);
	free(v);
}

/* Memory of queues is the parent's, and not here; descriptors would keep its queue pairs alive when it has ended. */
static void forget(void *t)
{
	struct verbs *v = t;

	if (v->none)
		return;
	close(v->channel->fd);
	close(v->dev->async_fd);
	if (v->dev->cmd_fd >= 0)
		close(v->dev->cmd_fd);
}

static const struct transport_ops ops = { .send = send_, .send_some = send_some, .bulk = WIRE_BULK, .poll = poll_,
	.doze = doze, .stop = stop, .forget = forget };

int verbs_start(struct transport *n, struct tcp *t, const char *iface, bool must, verbs_stamp *stamp, char *why,
		size_t len)
{
	struct verbs *v = calloc(1, sizeof(*v));
	uint32_t peers = t->size > 1 ? t->size - 1 : 1;

	if (v)
		v->peer = calloc(t->size, sizeof(*v->peer));
	if (!v || !v->peer) {
		free(v);
		snprintf(why, len, "no memory");
		return -1;
	}
	v->tcp = t;
	v->stamp = stamp;
	v->depth = VB_SENDS / peers < VB_DEPTH ? VB_SENDS / peers : VB_DEPTH;
	if (v->depth < VB_DEPTH_MIN)
		v->depth = VB_DEPTH_MIN;
	v->n_recvs = (peers + 1) * v->depth < VB_RECVS ? (peers + 1) * v->depth : VB_RECVS;
	for (uint32_t i = 0; i < t->size; i++)
		v->peer[i] = (struct vb_peer){ .v = v, .rank = i };
	if (vb_dev_open(v, iface, why, len)) {
		vb_dev_close(v);
		if (must) {
			free(v->peer);
			free(v);
			return -1;
		}
		v->none = true;
	}
	ev_timer_init(&v->timer, on_timer, 0., 0.);
	v->timer.data = v;
	if (!v->none) {
		ev_io_init(&v->io, on_channel, v->channel->fd, EV_READ);
		v->io.data = v;
		ev_io_start(t->loop, &v->io);
		ev_io_init(&v->async, on_async, v->dev->async_fd, EV_READ);
		v->async.data = v;
		ev_io_start(t->loop, &v->async);
	}
	v->user = t->user;
	v->ctx = t->ctx;
	v->ours = (struct tcp_user){ .frame = on_frame, .begin = on_begin, .where = on_where, .piece = on_piece,
		.unplaced = on_unplaced, .fault = on_fault, .writable = on_writable, .gone = on_gone,
		.known = on_known, .warn = on_warn, .place = on_place };
	t->user = &v->ours;
	t->ctx = v;
	*n = (struct transport){ &ops, v };
	return 0;
}

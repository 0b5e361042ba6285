/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * soft_hw.c - what the card does: soft.h
 *
 * One thread looks at each queue pair and at what has come. A queue pair has one request under way: the next begins
 * when the other side has acknowledged it, so a packet is either the expected one or a repetition. Whatever finds no
 * room in the other's socket is sent a little later.
 */
#include "config.h"

#include "soft.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAGIC		0x56534650U
#define NAP_NS		200000		/* until a full socket is tried again */
#define RNR_NS		300000

struct soft soft = { .lock = PTHREAD_MUTEX_INITIALIZER, .sock = -1, .wake = -1, .async = { -1, -1 } };

static int64_t next_look;		/* when the thread has something to do again; 0: not before it is woken */

int64_t soft_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void soft_log(const char *fmt, ...)
{
	const char *path = getenv("SOFT_VERBS_LOG");
	va_list ap;
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%d ", (int)getpid());
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc('\n', f);
	fclose(f);
}

static void look_at(int64_t t)
{
	if (!next_look || t < next_look)
		next_look = t;
}

static bool nth(uint64_t every, uint64_t count)
{
	return every && count % every == 0;
}

/* ---- memory ---- */

/* May [addr, +len) be touched through @key? */
static bool allowed(uint32_t key, uint64_t addr, uint64_t len, int access)
{
	const struct soft_mr *m = soft.mr[(key >> 8) % SOFT_MRS];
	uint64_t at;

	if (!m || m->v.lkey != key || (m->access & access) != access)
		return false;
	if (m->stale) {
		soft_log("stale %u", key);
		return false;
	}
	at = (uintptr_t)m->v.addr;
	return addr >= at && addr - at <= m->v.length && len <= m->v.length - (addr - at);
}

/* @len bytes at @off of a list of places: to @to, or from @from. */
static bool spread(const struct ibv_sge *sge, int n, uint64_t off, uint8_t *to, const uint8_t *from, uint64_t len)
{
	for (; n && len; n--, sge++) {
		uint64_t part;

		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		part = sge->length - off < len ? sge->length - off : len;
		if (!allowed(sge->lkey, sge->addr + off, part, from ? IBV_ACCESS_LOCAL_WRITE : 0))
			return false;
		if (from)
			memcpy((void *)(uintptr_t)(sge->addr + off), from, part), from += part;
		else
			memcpy(to, (const void *)(uintptr_t)(sge->addr + off), part), to += part;
		len -= part;
		off = 0;
	}
	return !len;
}

/* ---- completions ---- */

void soft_async(enum ibv_event_type what, void *of)
{
	struct ibv_async_event e = { .event_type = what };

	e.element.cq = of;
	if (write(soft.async[1], &e, sizeof(e)) < 0)
		return;
}

void soft_complete(struct soft_cq *c, const struct ibv_wc *wc, bool solicited)
{
	if (c->dead)
		return;
	soft.n_completions++;
	if (c->tail - c->head == c->size || (soft.cq && soft.n_completions == soft.cq)) {
		soft_log("cq overrun");
		c->dead = true;
		soft_async(IBV_EVENT_CQ_ERR, c);
		for (uint32_t i = 0; i < SOFT_QPS; i++)
			if (soft.qp[i] && (soft.qp[i]->v.send_cq == &c->v || soft.qp[i]->v.recv_cq == &c->v))
				soft_qp_fail(soft.qp[i]);
		return;
	}
	c->wc[c->tail++ % c->size] = *wc;
	if (c->v.channel && (c->armed == 1 || (c->armed && (solicited || wc->status != IBV_WC_SUCCESS)))) {
		void *of = c;

		c->armed = 0;
		if (write(((struct soft_channel *)c->v.channel)->to, &of, sizeof(of)) < 0)
			return;
	}
}

static void sent(struct soft_qp *q, const struct soft_send *s, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .wr_id = s->id, .status = status, .qp_num = q->v.qp_num, .byte_len = (uint32_t)s->total,
		.opcode = s->op == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ : s->op == IBV_WR_RDMA_WRITE ||
			  s->op == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RDMA_WRITE : IBV_WC_SEND };

	if (status != IBV_WC_SUCCESS || s->signaled || q->sig_all)
		soft_complete((struct soft_cq *)q->v.send_cq, &wc, false);
}

void soft_qp_fail(struct soft_qp *q)
{
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV, .qp_num = q->v.qp_num };

	if (q->failing)
		return;
	q->failing = true;
	q->v.state = q->a.qp_state = IBV_QPS_ERR;
	q->on = q->rd_on = q->ack_due = false;
	while (q->head != q->tail) {
		const struct soft_send *s = &q->sq[q->head++ % q->size];

		sent(q, s, IBV_WC_WR_FLUSH_ERR);
	}
	if (q->rx_on) {
		wc.wr_id = q->rx.id;
		soft_complete((struct soft_cq *)q->v.recv_cq, &wc, false);
	}
	q->rx_on = false;
	while (q->rq.head != q->rq.tail) {
		wc.wr_id = q->rq.wr[q->rq.head++ % q->rq.size].id;
		soft_complete((struct soft_cq *)q->v.recv_cq, &wc, false);
	}
	if (q->v.srq)
		soft_async(IBV_EVENT_QP_LAST_WQE_REACHED, q);
	q->failing = false;
}

/* The request under way is over. */
static void request_done(struct soft_qp *q, enum ibv_wc_status status)
{
	const struct soft_send *s = &q->sq[q->head++ % q->size];

	q->on = false;
	sent(q, s, status);
	if (status != IBV_WC_SUCCESS)
		soft_qp_fail(q);
}

/* ---- packets ---- */

static void name_of(uint64_t id, struct sockaddr_un *sa, socklen_t *len)
{
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "p3-soft-verbs/%016llx", (unsigned long long)id);
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(sa->sun_path + 1));
}

/* 0; EAGAIN: later; or the other process is not there: lost, as by a wire. */
static int out(const struct soft_qp *q, struct soft_pkt *p, const void *data)
{
	struct iovec v[2] = { { p, sizeof(*p) }, { (void *)(uintptr_t)data, p->len } };
	struct sockaddr_un sa;
	struct msghdr m = { .msg_name = &sa, .msg_iov = v, .msg_iovlen = 2 };

	name_of(q->peer, &sa, &m.msg_namelen);
	p->magic = MAGIC;
	p->dst = q->a.dest_qp_num;
	p->src = q->v.qp_num;
	if (sendmsg(q->sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
		look_at(soft_now() + NAP_NS);
		return EAGAIN;
	}
	return 0;
}

static void ack(struct soft_qp *q, uint32_t psn, enum soft_nak status)
{
	q->ack_due = true;
	q->ack_psn = psn;
	q->ack_status = (uint8_t)status;
}

/* What this side owes as a responder. */
static void respond(struct soft_qp *q)
{
	static uint8_t data[SOFT_SEG];

	if (q->ack_due) {
		struct soft_pkt p = { .op = SOFT_ACK, .psn = q->ack_psn, .status = q->ack_status };

		if (out(q, &p, NULL))
			return;
		q->ack_due = false;
		if (q->ack_status > SOFT_RNR)
			soft_qp_fail(q);
	}
	while (q->rd_on) {
		uint64_t left = q->rd_total - q->rd_off;
		struct soft_pkt p = { .op = SOFT_READ_DATA, .psn = q->rd_psn, .off = q->rd_off, .total = q->rd_total,
			.len = left < SOFT_SEG ? (uint32_t)left : SOFT_SEG };

		if (!allowed(q->rd_rkey, q->rd_addr + q->rd_off, p.len, IBV_ACCESS_REMOTE_READ)) {
			q->rd_on = false;
			ack(q, q->rd_psn, SOFT_ACCESS);
			return;
		}
		memcpy(data, (const void *)(uintptr_t)(q->rd_addr + q->rd_off), p.len);
		if (out(q, &p, data))
			return;
		q->rd_off += p.len;
		if (q->rd_off == q->rd_total)
			q->rd_on = false;
	}
}

static void again(struct soft_qp *q, int64_t at)
{
	q->all_sent = false;
	q->off = 0;
	q->at = at;
	look_at(at);
}

static void request(struct soft_qp *q)
{
	static uint8_t data[SOFT_SEG];
	int64_t now = soft_now();

	while (q->v.state == IBV_QPS_RTS && q->head != q->tail) {
		struct soft_send *s = &q->sq[q->head % q->size];

		if (!q->on) {
			q->on = true;
			q->psn = q->a.sq_psn++;
			q->rnr_left = q->a.rnr_retry;
			q->retry_left = q->a.retry_cnt;
			again(q, now);
			soft.n_requests++;
			if (nth(soft.qpf, soft.n_requests)) {
				soft_log("qp");
				request_done(q, IBV_WC_RETRY_EXC_ERR);
				return;
			}
		}
		if (q->all_sent) {
			if (now < q->at) {
				look_at(q->at);
				return;
			}
			if (!q->retry_left--) {
				request_done(q, IBV_WC_RETRY_EXC_ERR);
				return;
			}
			again(q, now);
		}
		if (now < q->at) {
			look_at(q->at);
			return;
		}
		do {
			uint64_t left = s->total - q->off;
			struct soft_pkt p = { .psn = q->psn, .off = q->off, .total = s->total, .raddr = s->raddr,
				.rkey = s->rkey, .imm = s->imm, .solicited = s->solicited };

			p.op = s->op == IBV_WR_RDMA_READ ? SOFT_READ : s->op == IBV_WR_RDMA_WRITE ||
			       s->op == IBV_WR_RDMA_WRITE_WITH_IMM ? SOFT_WRITE : SOFT_SEND;
			p.with_imm = s->op == IBV_WR_RDMA_WRITE_WITH_IMM || s->op == IBV_WR_SEND_WITH_IMM;
			if (p.op != SOFT_READ) {
				p.len = left < SOFT_SEG ? (uint32_t)left : SOFT_SEG;
				if (s->inl) {
					memcpy(data, s->bytes + q->off, p.len);
				} else if (!spread(s->sge, s->n, q->off, data, NULL, p.len)) {
					request_done(q, IBV_WC_LOC_PROT_ERR);
					return;
				}
			}
			if (out(q, &p, data))
				return;
			q->off += p.len;
			if (p.op == SOFT_READ)
				break;
		} while (q->off < s->total);
		if (s->op == IBV_WR_RDMA_READ)
			q->off = 0;
		q->all_sent = true;
		q->at = now + (INT64_C(4096) << (q->a.timeout ? q->a.timeout : 30));
		look_at(q->at);
		return;
	}
}

/* ---- what comes ---- */

static bool take_recv(struct soft_qp *q)
{
	struct soft_rq *rq = q->v.srq ? &((struct soft_srq *)q->v.srq)->rq : &q->rq;

	if (rq->head == rq->tail)
		return false;
	q->rx = rq->wr[rq->head++ % rq->size];
	return true;
}

static void recv_done(struct soft_qp *q, const struct soft_pkt *p, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .wr_id = q->rx.id, .status = status, .byte_len = (uint32_t)p->total, .qp_num = q->v.qp_num,
		.src_qp = p->src, .opcode = p->op == SOFT_WRITE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV };

	if (p->with_imm) {
		wc.wc_flags = IBV_WC_WITH_IMM;
		wc.imm_data = p->imm;
	}
	q->rx_on = false;
	soft_complete((struct soft_cq *)q->v.recv_cq, &wc, p->solicited);
}

static void incoming_send(struct soft_qp *q, const struct soft_pkt *p, const uint8_t *data)
{
	uint64_t room = 0;

	if (!p->off) {
		if (!q->rx_on && (nth(soft.rnr, ++soft.n_sends_in) || !take_recv(q))) {
			soft_log("rnr");
			ack(q, p->psn, SOFT_RNR);
			return;
		}
		q->rx_on = true;
		q->rx_off = 0;
	}
	if (!q->rx_on || p->off != q->rx_off)
		return;
	for (int i = 0; i < q->rx.n; i++)
		room += q->rx.sge[i].length;
	if (p->total > room || !spread(q->rx.sge, q->rx.n, p->off, NULL, data, p->len)) {
		recv_done(q, p, p->total > room ? IBV_WC_LOC_LEN_ERR : IBV_WC_LOC_PROT_ERR);
		ack(q, p->psn, SOFT_INVALID);
		return;
	}
	q->rx_off += p->len;
	if (q->rx_off < p->total)
		return;
	q->expect++;
	recv_done(q, p, IBV_WC_SUCCESS);
	ack(q, p->psn, SOFT_OK);
}

static void incoming_write(struct soft_qp *q, const struct soft_pkt *p, const uint8_t *data)
{
	if (!(q->a.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) || p->off + p->len > p->total ||
	    (p->total && !allowed(p->rkey, p->raddr, p->total, IBV_ACCESS_REMOTE_WRITE))) {
		ack(q, p->psn, SOFT_ACCESS);
		return;
	}
	if (!p->off)
		q->rx_off = 0;
	if (p->off != q->rx_off)
		return;
	if (p->off + p->len == p->total && p->with_imm && !take_recv(q)) {
		ack(q, p->psn, SOFT_RNR);
		return;
	}
	memcpy((void *)(uintptr_t)(p->raddr + p->off), data, p->len);
	q->rx_off += p->len;
	if (q->rx_off < p->total)
		return;
	q->expect++;
	soft.n_writes++;
	if (p->with_imm)
		recv_done(q, p, IBV_WC_SUCCESS);
	ack(q, p->psn, SOFT_OK);
}

static void incoming_read(struct soft_qp *q, const struct soft_pkt *p)
{
	if (!(q->a.qp_access_flags & IBV_ACCESS_REMOTE_READ) ||
	    !allowed(p->rkey, p->raddr, p->total, IBV_ACCESS_REMOTE_READ)) {
		ack(q, p->psn, SOFT_ACCESS);
		return;
	}
	if (p->psn == q->expect)
		q->expect++;
	soft.n_reads++;
	if (!p->total) {
		ack(q, p->psn, SOFT_OK);
		return;
	}
	q->rd_on = true;
	q->rd_psn = p->psn;
	q->rd_rkey = p->rkey;
	q->rd_addr = p->raddr;
	q->rd_off = 0;
	q->rd_total = p->total;
}

/* Something about the request under way. */
static void answered(struct soft_qp *q, const struct soft_pkt *p, const uint8_t *data)
{
	const struct soft_send *s = &q->sq[q->head % q->size];

	if (q->v.state != IBV_QPS_RTS || !q->on || !q->all_sent || p->psn != q->psn)
		return;
	if (p->op == SOFT_READ_DATA) {
		if (s->op != IBV_WR_RDMA_READ || p->off != q->off || p->total != s->total)
			return;
		if (!spread(s->sge, s->n, q->off, NULL, data, p->len)) {
			request_done(q, IBV_WC_LOC_PROT_ERR);
			return;
		}
		q->off += p->len;
		if (q->off < s->total)
			return;
	} else if (p->status == SOFT_RNR) {
		if (q->rnr_left == 7 || q->rnr_left--)
			again(q, soft_now() + RNR_NS);
		else
			request_done(q, IBV_WC_RNR_RETRY_EXC_ERR);
		return;
	} else if (p->status != SOFT_OK) {
		request_done(q, p->status == SOFT_ACCESS ? IBV_WC_REM_ACCESS_ERR : IBV_WC_REM_INV_REQ_ERR);
		return;
	}
	if (nth(soft.late, soft.n_requests)) {
		soft_log("late");
		request_done(q, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	request_done(q, IBV_WC_SUCCESS);
}

static void incoming(const struct soft_pkt *p, const uint8_t *data)
{
	struct soft_qp *q = soft.qp[p->dst % SOFT_QPS];

	if (p->magic != MAGIC || !q || q->v.qp_num != p->dst || q->a.dest_qp_num != p->src ||
	    (q->v.state != IBV_QPS_RTR && q->v.state != IBV_QPS_RTS))
		return;
	if (p->op == SOFT_ACK || p->op == SOFT_READ_DATA) {
		answered(q, p, data);
		return;
	}
	if (p->psn != q->expect && p->op != SOFT_READ) {
		if (p->psn == q->expect - 1 && p->off + p->len == p->total)
			ack(q, p->psn, SOFT_OK);		/* our acknowledgement has been lost */
		return;
	}
	if (p->op == SOFT_SEND)
		incoming_send(q, p, data);
	else if (p->op == SOFT_WRITE)
		incoming_write(q, p, data);
	else if (p->op == SOFT_READ && (p->psn == q->expect || p->psn == q->expect - 1))
		incoming_read(q, p);
}

/* ---- the thread ---- */

static void *card(void *arg)
{
	static struct {
		struct soft_pkt p;
		uint8_t data[SOFT_SEG];
	} in;

	pthread_mutex_lock(&soft.lock);
	while (!soft.quit) {
		struct pollfd f[2] = { { .fd = soft.sock, .events = POLLIN }, { .fd = soft.wake, .events = POLLIN } };
		struct timespec t, *nap = NULL;
		int64_t now = soft_now();
		uint64_t n;

		if (next_look) {
			int64_t ns = next_look > now ? next_look - now : 0;

			t = (struct timespec){ ns / 1000000000, ns % 1000000000 };
			nap = &t;
		}
		pthread_mutex_unlock(&soft.lock);
		ppoll(f, 2, nap, NULL);
		pthread_mutex_lock(&soft.lock);
		next_look = 0;
		if ((f[1].revents & POLLIN) && read(soft.wake, &n, sizeof(n)) < 0)
			continue;
		for (int i = 0; i < 64; i++) {
			ssize_t len = recv(soft.sock, &in, sizeof(in), MSG_DONTWAIT);

			if (len < 0)
				break;
			if (len >= (ssize_t)sizeof(in.p) && (size_t)len == sizeof(in.p) + in.p.len) {
				incoming(&in.p, in.data);
				if (soft.qp[in.p.dst % SOFT_QPS])
					respond(soft.qp[in.p.dst % SOFT_QPS]);
			}
		}
		for (uint32_t i = 0; i < SOFT_QPS; i++)
			if (soft.qp[i]) {
				respond(soft.qp[i]);
				request(soft.qp[i]);
			}
	}
	pthread_mutex_unlock(&soft.lock);
	return NULL;
}

void soft_kick(void)
{
	uint64_t one = 1;

	if (write(soft.wake, &one, sizeof(one)) < 0)
		return;
}

static void faults(void)
{
	static const struct { const char *name; uint64_t *n; } all[] = { { "rnr=", &soft.rnr }, { "qp=", &soft.qpf },
		{ "late=", &soft.late }, { "cq=", &soft.cq }, { "stale=", &soft.stale } };
	const char *s = getenv("SOFT_VERBS");

	for (; s && *s; s = strchr(s, ':') ? strchr(s, ':') + 1 : NULL)
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			if (!strncmp(s, all[i].name, strlen(all[i].name)))
				*all[i].n = strtoull(s + strlen(all[i].name), NULL, 10);
}

int soft_start(void)
{
	struct sockaddr_un sa;
	socklen_t len;
	sigset_t none, old;
	int rc;

	faults();
	if (getrandom(&soft.id, sizeof(soft.id), 0) != sizeof(soft.id))
		return errno;
	soft.sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	soft.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	name_of(soft.id, &sa, &len);
	if (soft.sock < 0 || soft.wake < 0 || pipe2(soft.async, O_CLOEXEC | O_NONBLOCK) ||
	    bind(soft.sock, (struct sockaddr *)&sa, len))
		return errno;
	soft.quit = false;
	sigfillset(&none);
	pthread_sigmask(SIG_SETMASK, &none, &old);
	rc = pthread_create(&soft.thread, NULL, card, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	soft.running = !rc;
	return rc;
}

void soft_stop(void)
{
	pthread_mutex_lock(&soft.lock);
	soft.quit = true;
	pthread_mutex_unlock(&soft.lock);
	if (soft.running) {
		soft_kick();
		pthread_join(soft.thread, NULL);
		soft_log("end: %llu requests, %llu writes, %llu reads came, %llu registrations",
			 (unsigned long long)soft.n_requests, (unsigned long long)soft.n_writes,
			 (unsigned long long)soft.n_reads, (unsigned long long)soft.n_mrs);
	}
	soft.running = false;
	close(soft.sock);
	close(soft.wake);
	close(soft.async[0]);
	close(soft.async[1]);
	soft.sock = soft.wake = soft.async[0] = soft.async[1] = -1;
}

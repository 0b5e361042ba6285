/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* soft_api.c - the entry points of libibverbs that a program on RC queue pairs needs: soft.h */
#include "config.h"

#include "soft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* They are macros, or inline, in the header. */
EXPORT struct ibv_device **ibv_get_device_list(int *num);
EXPORT int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a);
EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);

static struct ibv_device device = {
	.node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "soft0", .dev_name = "soft0",
};

/* ---- device ---- */

EXPORT struct ibv_device **ibv_get_device_list(int *num)
{
	const char *s = getenv("SOFT_VERBS");
	struct ibv_device **l = calloc(2, sizeof(*l));

	if (l && !(s && !strncmp(s, "none", 4)))
		l[0] = &device;
	if (num)
		*num = l && l[0];
	return l;
}

EXPORT void ibv_free_device_list(struct ibv_device **l)
{
	free(l);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *d)
{
	return d->name;
}

EXPORT int ibv_fork_init(void)
{
	return 0;
}

/* ---- the calls that are pointers in the context ---- */

static int rq_post(struct soft_rq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int rc = 0;

	pthread_mutex_lock(&soft.lock);
	for (; wr && !rc; wr = wr->next) {
		struct soft_recv *r = &rq->wr[rq->tail % (rq->size ? rq->size : 1)];

		*bad = wr;
		if (rq->tail - rq->head == rq->size || wr->num_sge > SOFT_SGES) {
			rc = ENOMEM;
			break;
		}
		r->id = wr->wr_id;
		r->n = wr->num_sge;
		for (int i = 0; i < r->n; i++)
			r->sge[i] = wr->sg_list[i];
		rq->tail++;
	}
	pthread_mutex_unlock(&soft.lock);
	return rc;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return rq_post(&((struct soft_srq *)srq)->rq, wr, bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	*bad = wr;
	if (qp->srq || qp->state == IBV_QPS_RESET)
		return EINVAL;
	return rq_post(&((struct soft_qp *)qp)->rq, wr, bad);
}

static int one_send(struct soft_qp *q, const struct ibv_send_wr *wr)
{
	struct soft_send *s = &q->sq[q->tail % q->size];
	bool rdma = wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_RDMA_WRITE ||
		    wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (q->tail - q->head == q->size)
		return ENOMEM;
	if (wr->num_sge > SOFT_SGES || (uint32_t)wr->num_sge > q->cap.max_send_sge ||
	    (!rdma && wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM))
		return EINVAL;
	*s = (struct soft_send){ .id = wr->wr_id, .op = (uint8_t)wr->opcode, .imm = wr->imm_data, .n = wr->num_sge,
		.signaled = wr->send_flags & IBV_SEND_SIGNALED, .inl = wr->send_flags & IBV_SEND_INLINE,
		.solicited = wr->send_flags & IBV_SEND_SOLICITED };
	if (rdma) {
		s->raddr = wr->wr.rdma.remote_addr;
		s->rkey = wr->wr.rdma.rkey;
	}
	for (int i = 0; i < wr->num_sge; i++) {
		s->sge[i] = wr->sg_list[i];
		if (s->inl) {
			if (s->total + s->sge[i].length > q->cap.max_inline_data)
				return EINVAL;
			memcpy(s->bytes + s->total, (const void *)(uintptr_t)s->sge[i].addr, s->sge[i].length);
		}
		s->total += s->sge[i].length;
	}
	q->tail++;
	return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct soft_qp *q = (struct soft_qp *)qp;
	int rc = 0;

	pthread_mutex_lock(&soft.lock);
	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR)
		rc = EINVAL;
	*bad = wr;
	for (; wr && !rc; wr = wr->next) {
		*bad = wr;
		rc = one_send(q, wr);
	}
	if (qp->state == IBV_QPS_ERR)
		soft_qp_fail(q);
	pthread_mutex_unlock(&soft.lock);
	soft_kick();
	return rc;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct soft_cq *c = (struct soft_cq *)cq;
	int got = 0;

	pthread_mutex_lock(&soft.lock);
	while (got < n && c->head != c->tail)
		wc[got++] = c->wc[c->head++ % c->size];
	pthread_mutex_unlock(&soft.lock);
	return got;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	pthread_mutex_lock(&soft.lock);
	((struct soft_cq *)cq)->armed = solicited_only ? 2 : 1;
	pthread_mutex_unlock(&soft.lock);
	return 0;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	struct ibv_context *c = soft.ctx ? NULL : calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	errno = soft_start();
	if (errno) {
		free(c);
		return NULL;
	}
	c->device = d;
	c->cmd_fd = -1;
	c->async_fd = soft.async[0];
	c->num_comp_vectors = 1;
	c->ops.poll_cq = poll_cq;
	c->ops.req_notify_cq = req_notify_cq;
	c->ops.post_srq_recv = post_srq_recv;
	c->ops.post_send = post_send;
	c->ops.post_recv = post_recv;
	soft.ctx = c;
	return c;
}

EXPORT int ibv_close_device(struct ibv_context *c)
{
	soft_stop();
	soft.ctx = NULL;
	free(c);
	return 0;
}

EXPORT int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
	memset(a, 0, sizeof(*a));
	a->max_mr_size = UINT64_MAX;
	a->max_qp = SOFT_QPS;
	a->max_qp_wr = a->max_cqe = a->max_srq_wr = SOFT_WRS;
	a->max_sge = a->max_srq_sge = SOFT_SGES;
	a->max_cq = a->max_srq = a->max_pd = 64;
	a->max_mr = SOFT_MRS;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = 1;
	a->max_srq = 64;
	a->phys_port_cnt = 1;
	return 0;
}

EXPORT int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr *a = (struct ibv_port_attr *)attr;

	if (port != 1)
		return EINVAL;
	a->state = IBV_PORT_ACTIVE;
	a->max_mtu = a->active_mtu = IBV_MTU_4096;
	a->gid_tbl_len = 1;
	a->max_msg_sz = 1U << 30;
	a->lid = 0;
	a->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

EXPORT int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	if (port != 1 || index)
		return EINVAL;
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0xfe;
	gid->raw[1] = 0x80;
	gid->global.interface_id = soft.id;
	return 0;
}

EXPORT int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *e)
{
	return read(soft.async[0], e, sizeof(*e)) == sizeof(*e) ? 0 : -1;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *e)
{
}

EXPORT const char *ibv_wc_status_str(enum ibv_wc_status s)
{
	static const char *const name[] = { "success", "local length", "local QP operation", "local EEC operation",
		"local protection", "flushed", "memory window", "bad response", "local access",
		"remote invalid request", "remote access", "remote operation", "transport retry counter exceeded",
		"RNR retry counter exceeded" };

	return s < sizeof(name) / sizeof(*name) ? name[s] : "unknown";
}

/* ---- memory ---- */

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (pd)
		pd->context = c;
	return pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int used = 0;

	pthread_mutex_lock(&soft.lock);
	for (uint32_t i = 0; i < SOFT_MRS; i++)
		used |= soft.mr[i] && soft.mr[i]->v.pd == pd;
	for (uint32_t i = 0; i < SOFT_QPS; i++)
		used |= soft.qp[i] && soft.qp[i]->v.pd == pd;
	pthread_mutex_unlock(&soft.lock);
	if (used)
		return EBUSY;
	free(pd);
	return 0;
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct soft_mr *m = calloc(1, sizeof(*m));
	uint32_t i;

	if (!m || ((access & IBV_ACCESS_REMOTE_WRITE) && !(access & IBV_ACCESS_LOCAL_WRITE))) {
		free(m);
		errno = EINVAL;
		return NULL;
	}
	pthread_mutex_lock(&soft.lock);
	for (i = 0; i < SOFT_MRS && soft.mr[i]; i++)
		;
	if (i < SOFT_MRS) {
		uint32_t key = i << 8 | (++soft.mr_gen & 0xff);

		m->v = (struct ibv_mr){ .context = pd->context, .pd = pd, .addr = addr, .length = length, .lkey = key,
			.rkey = key };
		m->access = access;
		m->stale = ++soft.n_mrs == soft.stale;
		soft.mr[i] = m;
	}
	pthread_mutex_unlock(&soft.lock);
	if (i < SOFT_MRS)
		return &m->v;
	free(m);
	errno = ENOMEM;
	return NULL;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	pthread_mutex_lock(&soft.lock);
	soft.mr[mr->lkey >> 8] = NULL;
	pthread_mutex_unlock(&soft.lock);
	free(mr);
	return 0;
}

/* ---- completions ---- */

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
	struct soft_channel *h = calloc(1, sizeof(*h));
	int fd[2];

	if (!h || pipe2(fd, O_CLOEXEC)) {
		free(h);
		return NULL;
	}
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
	h->v = (struct ibv_comp_channel){ .context = c, .fd = fd[0] };
	h->to = fd[1];
	return &h->v;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *v)
{
	if (v->refcnt)
		return EBUSY;
	close(v->fd);
	close(((struct soft_channel *)v)->to);
	free(v);
	return 0;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *cq_context, struct ibv_comp_channel *channel,
				    int vector)
{
	struct soft_cq *q = cqe > 0 && cqe <= (int)SOFT_WRS ? calloc(1, sizeof(*q)) : NULL;

	if (q)
		q->wc = calloc((size_t)cqe, sizeof(*q->wc));
	if (!q || !q->wc) {
		free(q);
		errno = EINVAL;
		return NULL;
	}
	q->size = (uint32_t)cqe;
	q->v = (struct ibv_cq){ .context = c, .channel = channel, .cq_context = cq_context, .cqe = cqe };
	if (channel)
		channel->refcnt++;
	return &q->v;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *v)
{
	struct soft_cq *q = (struct soft_cq *)v;

	if (q->users)
		return EBUSY;
	if (v->channel)
		v->channel->refcnt--;
	free(q->wc);
	free(q);
	return 0;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *h, struct ibv_cq **cq, void **cq_context)
{
	if (read(h->fd, cq, sizeof(*cq)) != sizeof(*cq))
		return -1;
	*cq_context = (*cq)->cq_context;
	return 0;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	cq->comp_events_completed += n;
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	struct soft_srq *s = a->attr.max_wr <= SOFT_WRS ? calloc(1, sizeof(*s)) : NULL;

	if (s)
		s->rq.wr = calloc(a->attr.max_wr, sizeof(*s->rq.wr));
	if (!s || !s->rq.wr) {
		free(s);
		errno = EINVAL;
		return NULL;
	}
	s->rq.size = a->attr.max_wr;
	s->v = (struct ibv_srq){ .context = pd->context, .srq_context = a->srq_context, .pd = pd };
	return &s->v;
}

EXPORT int ibv_destroy_srq(struct ibv_srq *v)
{
	struct soft_srq *s = (struct soft_srq *)v;

	if (s->users)
		return EBUSY;
	free(s->rq.wr);
	free(s);
	return 0;
}

/* ---- queue pairs ---- */

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct soft_qp *q = NULL;
	uint32_t i;

	if (a->qp_type == IBV_QPT_RC && a->cap.max_send_wr <= SOFT_WRS && a->cap.max_recv_wr <= SOFT_WRS &&
	    a->cap.max_send_sge <= SOFT_SGES && a->cap.max_inline_data <= SOFT_INLINE)
		q = calloc(1, sizeof(*q));
	if (q) {
		q->sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		q->size = a->cap.max_send_wr ? a->cap.max_send_wr : 1;
		q->rq.size = a->srq ? 0 : a->cap.max_recv_wr;
		q->sq = calloc(q->size, sizeof(*q->sq));
		q->rq.wr = calloc(q->rq.size + 1, sizeof(*q->rq.wr));
	}
	if (!q || !q->sq || !q->rq.wr || q->sock < 0) {
		errno = EINVAL;
		return NULL;
	}
	q->cap = a->cap;
	q->sig_all = a->sq_sig_all;
	pthread_mutex_lock(&soft.lock);
	for (i = 0; i < SOFT_QPS && soft.qp[(i + soft.qp_gen) % SOFT_QPS]; i++)
		;
	i = (i + soft.qp_gen) % SOFT_QPS;
	q->v = (struct ibv_qp){ .context = pd->context, .qp_context = a->qp_context, .pd = pd, .send_cq = a->send_cq,
		.recv_cq = a->recv_cq, .srq = a->srq, .qp_num = (++soft.qp_gen % 0x3fff) * SOFT_QPS + i,
		.state = IBV_QPS_RESET, .qp_type = a->qp_type };
	((struct soft_cq *)a->send_cq)->users++;
	((struct soft_cq *)a->recv_cq)->users++;
	if (a->srq)
		((struct soft_srq *)a->srq)->users++;
	soft.qp[i] = q;
	pthread_mutex_unlock(&soft.lock);
	return &q->v;
}

/* What each step must be told, as the specification has it. */
static int needed(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
		return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		       IBV_QP_MIN_RNR_TIMER;
	if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
		return IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	return to == IBV_QPS_ERR ? 0 : -1;
}

EXPORT int ibv_modify_qp(struct ibv_qp *v, struct ibv_qp_attr *a, int mask)
{
	struct soft_qp *q = (struct soft_qp *)v;
	int need, rc = EINVAL;

	pthread_mutex_lock(&soft.lock);
	need = (mask & IBV_QP_STATE) ? needed(v->state, a->qp_state) : -1;
	if (need < 0 || (mask & ~IBV_QP_STATE) != need || ((mask & IBV_QP_PORT) && a->port_num != 1) ||
	    ((mask & IBV_QP_AV) && !a->ah_attr.is_global))
		goto out;
	rc = 0;
	if (a->qp_state == IBV_QPS_INIT)
		q->a.qp_access_flags = a->qp_access_flags;
	if (a->qp_state == IBV_QPS_RTR) {
		q->a.dest_qp_num = a->dest_qp_num;
		q->peer = a->ah_attr.grh.dgid.global.interface_id;
		q->expect = a->rq_psn;
	}
	if (a->qp_state == IBV_QPS_RTS) {
		q->a.sq_psn = a->sq_psn;
		q->a.timeout = a->timeout;
		q->a.retry_cnt = a->retry_cnt;
		q->a.rnr_retry = a->rnr_retry;
	}
	if (a->qp_state == IBV_QPS_ERR)
		soft_qp_fail(q);
	v->state = a->qp_state;
out:
	pthread_mutex_unlock(&soft.lock);
	return rc;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *v)
{
	struct soft_qp *q = (struct soft_qp *)v;

	pthread_mutex_lock(&soft.lock);
	soft.qp[v->qp_num % SOFT_QPS] = NULL;
	((struct soft_cq *)v->send_cq)->users--;
	((struct soft_cq *)v->recv_cq)->users--;
	if (v->srq)
		((struct soft_srq *)v->srq)->users--;
	pthread_mutex_unlock(&soft.lock);
	close(q->sock);
	free(q->sq);
	free(q->rq.wr);
	free(q);
	return 0;
}

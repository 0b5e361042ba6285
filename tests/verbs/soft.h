/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * soft.h - a reliable RDMA device in software, behind the entry points of libibverbs, for tests
 *
 * A library that is called libibverbs.so.1 and found before the real one (LD_LIBRARY_PATH). Processes of one machine
 * that load it see one device, soft0, whose queue pairs reach each other. What a card does is done by one thread
 * in each process (soft_hw.c), by datagrams of AF_UNIX; the calls (soft_api.c) only change queues, as with a card.
 * Kept are the rules that a program can break: states of a queue pair and what each step needs; keys, bounds and
 * rights of memory, at the time of the access; length of receives; depth of every queue. A queue pair that has
 * failed flushes.
 *
 * SOFT_VERBS=NAME=N:NAME=N... makes things fail, counted in each process on its own:
 *	none		there is no device
 *	rnr=N		each N-th message finds no receive at its target, whatever there is
 *	qp=N		each N-th request fails: it is not sent, retries are used up
 *	late=N		each N-th request is done over there, and its acknowledgement is lost for good
 *	cq=N		the completion N is one too many for its queue
 *	stale=N		registration N is not valid any more when it is used
 * SOFT_VERBS_LOG=FILE: a line there for each of these, and at the end how many messages, writes and reads there were.
 */
#ifndef SOFT_H
#define SOFT_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_get_device_list

#define SOFT_SEG	32768U		/* bytes of a message in one datagram */
#define SOFT_SGES	4
#define SOFT_INLINE	256
#define SOFT_QPS	1024U
#define SOFT_MRS	4096U
#define SOFT_WRS	4096U		/* the most of any queue */

struct soft_mr {
	struct ibv_mr v;		/* first */
	int access;
	bool stale;
};

struct soft_cq {
	struct ibv_cq v;		/* first */
	struct ibv_wc *wc;
	uint32_t size, head, tail;
	uint8_t armed;			/* 1: for any completion, 2: for solicited and failed ones */
	bool dead;
	uint32_t users;
};

struct soft_channel {
	struct ibv_comp_channel v;	/* first; its fd is the end that is read */
	int to;
};

struct soft_recv {
	uint64_t id;
	struct ibv_sge sge[SOFT_SGES];
	int n;
};

struct soft_rq {
	struct soft_recv *wr;
	uint32_t size, head, tail;
};

struct soft_srq {
	struct ibv_srq v;		/* first */
	struct soft_rq rq;
	uint32_t users;
};

struct soft_send {
	uint64_t id, raddr, total;
	uint32_t rkey, imm;
	int n;
	uint8_t op;			/* enum ibv_wr_opcode */
	bool signaled, inl, solicited;
	struct ibv_sge sge[SOFT_SGES];
	uint8_t bytes[SOFT_INLINE];
};

enum soft_op { SOFT_SEND, SOFT_WRITE, SOFT_READ, SOFT_READ_DATA, SOFT_ACK };
enum soft_nak { SOFT_OK, SOFT_RNR, SOFT_INVALID, SOFT_ACCESS, SOFT_BROKEN };

struct soft_pkt {
	uint32_t magic, dst, src, psn;
	uint8_t op, status, with_imm, solicited;
	uint32_t len, imm, rkey;
	uint64_t off, total, raddr;
};

struct soft_qp {
	struct ibv_qp v;		/* first */
	struct ibv_qp_attr a;		/* as set so far */
	struct ibv_qp_cap cap;
	int sig_all;
	uint64_t peer;			/* the process */
	int sock;			/* to it: its own, since what waits with a process that is stopped fills it */
	struct soft_rq rq;		/* without SRQ */
	/* requester: sq[head] is under way */
	struct soft_send *sq;
	uint32_t size, head, tail;
	bool on, all_sent, failing;
	uint32_t psn;			/* of sq[head] */
	uint64_t off;			/* bytes sent, or read */
	uint8_t rnr_left, retry_left;
	int64_t at;			/* ns: nothing before (not all_sent); again after (all_sent) */
	/* responder */
	uint32_t expect;
	bool rx_on;
	struct soft_recv rx;
	uint64_t rx_off;
	bool ack_due;
	uint32_t ack_psn;
	uint8_t ack_status;
	bool rd_on;			/* an answer to a read is on its way */
	uint32_t rd_psn, rd_rkey;
	uint64_t rd_off, rd_total, rd_addr;
};

struct soft {
	pthread_mutex_t lock;		/* all of it, and all objects */
	pthread_t thread;
	bool running, quit;
	int sock, wake, async[2];
	uint64_t id;			/* of this process: the second half of its GID */
	struct ibv_context *ctx;
	struct soft_qp *qp[SOFT_QPS];
	uint32_t qp_gen;
	struct soft_mr *mr[SOFT_MRS];
	uint32_t mr_gen;
	/* faults, and what has been counted for them */
	uint64_t rnr, qpf, late, cq, stale;
	uint64_t n_sends_in, n_requests, n_completions, n_mrs, n_writes, n_reads;
};
extern struct soft soft;

int64_t soft_now(void);
void soft_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int soft_start(void);			/* 0 or errno */
void soft_stop(void);
void soft_kick(void);
/* [lock] */
void soft_qp_fail(struct soft_qp *q);
void soft_complete(struct soft_cq *c, const struct ibv_wc *wc, bool solicited);
void soft_async(enum ibv_event_type what, void *of);

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_hang.c - ranks that hang, each in one way, until they are killed: what ptl_info --hang and the dump are to explain
 *
 * Under multi; the argument says how. Locks and rooms of inboxes are spoilt by hand in the regions (p3l_layout.h),
 * since the library does not do it; stopped ranks, full queues and eaten frames are real.
 */
#include <signal.h>
#include <smartmap.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "../api/ptl.h"
#include "p3l.h"

static char buf[1 << 16];

static struct p3l_ni *region(int rank)
{
	struct p3l_ni *l = smartmap_lookup(rank, 0);

	return rank == t_rank() ? l : smartmap_remote(rank, l);
}

static void wait_word(int k)
{
	while (!atomic_load(t_word(k)))
		sched_yield();
}

static void say_word(int k)
{
	atomic_store(t_word(k), 1);
}

static void take_lock(int rank, uint32_t pt)
{
	if (!p3_cas32(&region(rank)->pt[pt].lock, 0, (uint32_t)t_rank() + 1))
		bail("the lock is not free");
}

/* For an event that never comes. */
static void wait_in(ptl_handle_eq_t eq)
{
	ptl_event_t ev;

	while (PtlEQWait(eq, &ev) == PTL_OK)
		;
}

static void send_all(int n, ptl_ack_req_t ack, ptl_handle_eq_t eq)
{
	ptl_handle_md_t md;

	OK(PtlMDBind(ni, p_md(buf, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, eq),
		     PTL_RETAIN, &md));
	for (int i = 0; i < n; i++)
		OK(PtlPut(md, ack, p_id(0), PT, 0, 1, 0, 0));
}

static void entry(ptl_handle_eq_t eq)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;

	OK(p_post(1, p_md(buf, sizeof(buf), PTL_MD_THRESH_INF, options, eq), &me, &md));
}

/* Rank 2 stands still with a lock of rank 0, which rank 1 needs. */
static void lock(void)
{
	if (t_rank() == 0)
		entry(teq);
	t_barrier();
	if (t_rank() == 2) {
		take_lock(0, PT);
		say_word(1);
		raise(SIGSTOP);
	}
	wait_word(1);
	if (t_rank() == 1)
		send_all(1, PTL_NO_ACK_REQ, PTL_EQ_NONE);
	wait_in(p_idle_eq);
}

/* Each holds what the other needs. */
static void ring(void)
{
	int other = !t_rank();

	entry(teq);
	t_barrier();
	take_lock(t_rank(), PT);
	t_barrier();
	OK(PtlPut(p_sync_md, PTL_NO_ACK_REQ, p_id(other), PT, 0, 1, 0, 0));
}

/* Rank 0 polls, and fetches from another queue than the one of its entry. */
static void queue(void)
{
	ptl_handle_eq_t eq;

	if (t_rank() == 0) {
		OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &eq));
		entry(eq);
		OK(PtlPTPolled_np(ni, PT, 1));
	}
	t_barrier();
	if (t_rank() == 1)
		send_all(16, PTL_ACK_REQ, ieq);
	wait_in(t_rank() ? ieq : p_idle_eq);
}

/* All that rank 1 left has been taken, and the room does not come back. */
static void credit(void)
{
	ptl_handle_md_t md;
	struct p3l_lane_hdr *lane;
	ptl_event_t ev;
	uint32_t pub;

	if (t_rank() == 0) {
		OK(PtlEQAlloc(ni, 4096, PTL_EQ_HANDLER_NONE, &teq));
		entry(teq);
		OK(PtlPTPolled_np(ni, PT, 1));
		lane = p3l_lane(region(0), 1);
		pub = lane->head_pub;
		t_barrier();
		wait_word(1);
		while (PtlEQGet(teq, &ev) == PTL_OK)
			;
		p3_store(&lane->head_pub, pub);
		say_word(2);
		wait_in(p_idle_eq);
	}
	OK(PtlMDBind(ni, p_md(buf, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
	t_barrier();
	while (PtlPut(md, PTL_NO_ACK_REQ, p_id(0), PT, 0, 1, 0, 0) == PTL_OK)
		;
	say_word(1);
	wait_word(2);
	while (PtlPut(md, PTL_NO_ACK_REQ, p_id(0), PT, 0, 1, 0, 0) != PTL_OK)
		sched_yield();
}

/* On another node: a rank that stands still, */
static void far_stop(void)
{
	if (t_rank() == 0)
		entry(teq);
	t_barrier();
	if (t_rank() == 1) {
		send_all(1, PTL_ACK_REQ, ieq);
		OK(p_get(ieq, &(ptl_event_t){ 0 }));
	}
	t_barrier();
	if (t_rank() == 0) {
		say_word(1);
		raise(SIGSTOP);
	}
	wait_word(1);
	send_all(2, PTL_ACK_REQ, ieq);
	wait_in(ieq);
}

/* and takes nothing, until there is no room at the sender; */
static void far_full(void)
{
	ptl_handle_md_t md;
	int rc = PTL_OK;

	if (t_rank() == 0)
		entry(teq);
	OK(PtlMDBind(ni, p_md(buf, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
	t_barrier();
	if (t_rank() == 0) {
		say_word(1);
		raise(SIGSTOP);
	}
	wait_word(1);
	for (;;) {
		if (rc == PTL_OK)
			rc = PtlPut(md, PTL_NO_ACK_REQ, p_id(0), PT, 0, 1, 0, 0);
		else
			pause();
	}
}

/* and a network that eats what rank 0 says. */
static _Atomic bool eats;

__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t n = 0;

	if (!atomic_load(&eats))
		return syscall(SYS_sendmsg, fd, m, flags);
	for (size_t i = 0; i < m->msg_iovlen; i++)
		n += (ssize_t)m->msg_iov[i].iov_len;
	return n;
}

static void far_credit(void)
{
	if (t_rank() == 0) {
		entry(teq);
		t_barrier();
		wait_word(2);			/* there is a connection each way */
		atomic_store(&eats, true);
		say_word(1);
		wait_in(p_idle_eq);
	}
	t_barrier();
	send_all(1, PTL_ACK_REQ, ieq);
	OK(p_get(ieq, &(ptl_event_t){ 0 }));
	say_word(2);
	wait_word(1);
	send_all(5, PTL_ACK_REQ, ieq);
	wait_in(ieq);
}

/* A message that its target drops, on another node or not. */
static void drop(void)
{
	ptl_handle_md_t md;

	OK(PtlMDBind(ni, p_md(buf, 8, PTL_MD_THRESH_INF, 0, teq), PTL_RETAIN, &md));
	t_barrier();
	if (t_rank() == 0)
		OK(PtlGet(md, p_id(1), PT, 0, 99, 0));
	wait_in(t_rank() ? p_idle_eq : teq);
}

/* As an MPI library waits. */
static void pieces(void)
{
	ptl_event_t ev;
	int which;

	while (t_rank() == 0 && PtlEQPoll(&teq, 1, 1, &ev, &which) == PTL_EQ_EMPTY)
		;
	pause();
}

/* One does not come. */
static void barrier(void)
{
	if (t_rank() != 2)
		PtlRtBarrier_np();
	pause();
}

/* A rank that waits for what nobody sends; another that computes. */
static void nothing(void)
{
	t_barrier();
	if (t_rank() == 0)
		wait_in(p_idle_eq);
	for (;;)
		sched_yield();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} way[] = {
		{ "lock", lock }, { "ring", ring }, { "queue", queue }, { "credit", credit }, { "nothing", nothing },
		{ "far_stop", far_stop }, { "far_full", far_full }, { "far_credit", far_credit },
		{ "drop", drop }, { "pieces", pieces }, { "barrier", barrier },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(way) / sizeof(way[0]); i++)
		if (!strcmp(argv[1], way[i].name)) {
			p_init();
			way[i].fn();
			return 1;
		}
	return 2;
}

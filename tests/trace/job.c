/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * job - what the tests of ptl_trace and of the probes look at: rank 0 sends, rank 1 takes
 *
 *	job MODE COUNT BYTES
 *
 * put: COUNT puts that differ in nothing but hdr_data, 1 ... COUNT; acked: each acknowledged before the next;
 * threads: from two threads; drop: to bits that no entry has; get, swap: the other operations; die: as put, but
 * rank 1 kills itself after half of them; polled: to a polled entry. With T_POLL rank 1 fetches while they come,
 * else afterwards. Then rank 0 is never far ahead, and in the beginning not at all, so that it meets a rank 1 that
 * polls, whatever else the machine does.
 */
#include "../api/ptl.h"

#include <pthread.h>
#include <stdbool.h>

#define MAX (1 << 20)
#define BITS 0x1234

static char buf[MAX] __attribute__((aligned(4096))), back[MAX] __attribute__((aligned(4096)));
static const char *mode;
static int count, threads = 1;
static size_t bytes;
static ptl_handle_md_t from, into;
static ptl_handle_eq_t eq;

#define TAKEN 0			/* t_word: messages that rank 1 has fetched */
#define AHEAD 64
#define SLOW 32

static bool is(const char *m)
{
	return !strcmp(mode, m);
}

static void need(int rc, const char *call)
{
	if (rc != PTL_OK)
		bail("rank %d: %s: %s", t_rank(), call, PtlErrorStr((unsigned)rc));
}

static ptl_event_t ev;			/* of rank 1, where there is one thread: gdb prints it */

static void wait_for(ptl_handle_eq_t q, ptl_event_kind_t kind)
{
	do {
		need(PtlEQWait(q, &ev), "PtlEQWait");
		if (ev.ni_fail_type != PTL_NI_OK)
			bail("rank %d: %s failed", t_rank(), PtlEventKindStr(ev.type));
	} while (ev.type != kind);
}

/* Message @i has been sent. Who looks for events between two puts leaves the next one in the inbox. */
static void pace(int i)
{
	ptl_event_t none;

	do {
		PtlEQGet(p_idle_eq, &none);
		if (is("die") && atomic_load(t_word(TAKEN)) >= (uint64_t)count / 2)
			break;
	} while (atomic_load(t_word(TAKEN)) + (i < SLOW ? 0 : AHEAD) < (uint64_t)i + 1 && sched_yield() == 0);
}

static void *send_some(void *arg)
{
	int first = (int)(intptr_t)arg, n = count / threads;

	for (int i = first * n; i < (first + 1) * n; i++) {
		int rc;

		if (is("get")) {
			rc = PtlGet(into, peer, PT, 0, BITS, 0);
		} else if (is("swap")) {
			rc = PtlGetPut(into, from, peer, PT, 0, BITS, 0, (ptl_hdr_data_t)(i + 1));
		} else {
			do {	/* a full inbox of a polled entry */
				rc = PtlPut(from, is("acked") ? PTL_ACK_REQ : PTL_NO_ACK_REQ, peer, PT, 0,
					    is("drop") ? BITS + 1 : BITS, 0, (ptl_hdr_data_t)(i + 1));
			} while (rc == PTL_NO_SPACE && sched_yield() == 0);
		}
		need(rc, "the operation");
		if (p_poll && !is("drop"))
			pace(i);
		if (is("get") || is("swap"))
			wait_for(ieq, PTL_EVENT_REPLY_END);
		else if (is("acked"))
			wait_for(ieq, PTL_EVENT_ACK);
	}
	return NULL;
}

static void send_all(void)
{
	pthread_t t[8];

	for (int i = 1; i < threads; i++)
		if (pthread_create(&t[i], NULL, send_some, (void *)(intptr_t)i))
			bail("pthread_create");
	send_some(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
}

static void take_all(void)
{
	ptl_event_kind_t kind = is("get") ? PTL_EVENT_GET_END : is("swap") ? PTL_EVENT_GETPUT_END : PTL_EVENT_PUT_END;

	for (int i = 0; i < count && !is("drop"); i++) {
		if (is("die") && i == count / 2)
			raise(SIGKILL);
		wait_for(eq, kind);
		atomic_fetch_add(t_word(TAKEN), 1);
	}
}

int main(int argc, char **argv)
{
	unsigned both = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	ptl_handle_me_t me;

	if (argc != 4)
		bail("usage: job MODE COUNT BYTES");
	mode = argv[1];
	count = atoi(argv[2]);
	bytes = (size_t)atol(argv[3]);
	threads = is("threads") ? 2 : 1;
	p_init();
	need(PtlEQAlloc(ni, (ptl_size_t)(count < 16 ? 16 : 2 * count), PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	if (t_rank() == 0) {
		bool asks = is("acked") || is("get") || is("swap");

		need(PtlMDBind(ni, p_md(buf, bytes, PTL_MD_THRESH_INF,
				PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
					is("acked") ? ieq : PTL_EQ_NONE), PTL_RETAIN, &from), "PtlMDBind");
		need(PtlMDBind(ni, p_md(back, bytes, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE,
					asks ? ieq : PTL_EQ_NONE), PTL_RETAIN, &into), "PtlMDBind");
	} else {
		need(p_post(BITS, p_md(buf, bytes, PTL_MD_THRESH_INF, both, eq), &me, &into), "PtlMDAttach");
		if (is("polled"))
			need(PtlPTPolled_np(ni, PT, 1), "PtlPTPolled_np");
	}
	t_barrier();
	if (t_rank() == 0)
		send_all();
	else if (p_poll)
		take_all();
	if (t_rank() == 0 && is("drop"))
		p_sync();
	if (!is("die"))
		t_barrier();
	if (t_rank() == 1 && !p_poll)
		take_all();
	if (is("die"))
		_exit(0);
	if (t_rank() == 0)
		need(PtlMDUnlink(into), "PtlMDUnlink");
	t_barrier();
	PtlFini();
	if (t_rank() == 0)
		printf("1..1\nok 1 - %s\n", mode);
	else
		printf("1..0 # SKIP takes\n");
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * eth_cut.c - two ranks, on a node each: the second one sends a long message and cuts the wire in the middle
 *
 *	eth_cut CUT MEND	commands of the second rank
 *
 * Both sleep for the end of the message, which must come, failed, soon after peer_timeout (at most 15 seconds); then
 * its descriptor can be unlinked. Each rank says "rank N good", or what is wrong.
 */
#define _GNU_SOURCE
#include <portals3.h>
#include <p3rt/p3rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LEN	(48u << 20)
#define LIMIT	15

static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq;
static unsigned rank;

static void need(int rc, const char *what)
{
	if (rc == PTL_OK)
		return;
	printf("rank %u: %s: %s\n", rank, what, PtlErrorStr((unsigned)rc));
	exit(1);
}
#define NEED(call) need(call, #call)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Sleep for the next event: it is @type, and has ended so. */
static void expect(ptl_event_kind_t type, ptl_ni_fail_t fail, double since)
{
	ptl_event_t ev;

	NEED(PtlEQWait(eq, &ev));
	if (ev.type == type && ev.ni_fail_type == fail && now() - since <= LIMIT)
		return;
	printf("rank %u: %s, %s after %.1f s, not %s, %s\n", rank, PtlEventKindStr(ev.type),
	       PtlNIFailStr(ni, ev.ni_fail_type), now() - since, PtlEventKindStr(type), PtlNIFailStr(ni, fail));
	exit(1);
}

int main(int argc, char **argv)
{
	static const ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = { .length = LEN, .threshold = PTL_MD_THRESH_INF };
	ptl_process_id_t other;
	ptl_handle_me_t me;
	ptl_handle_md_t h;
	unsigned size = 0;
	double t;
	int max;

	if (argc != 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	NEED(PtlInit(&max));
	NEED(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	NEED(PtlGetRank(ni, &rank, &size));
	NEED(PtlGetRankId(ni, 1 - rank, &other));
	NEED(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &eq));
	md.start = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	md.eq_handle = eq;
	if (!rank) {
		md.options = PTL_MD_OP_PUT;
		NEED(PtlMEAttach(ni, 4, any, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
		NEED(PtlMDAttach(me, md, PTL_RETAIN, &h));
	} else {
		md.options = PTL_MD_EVENT_START_DISABLE;
		NEED(PtlMDBind(ni, md, PTL_RETAIN, &h));
	}
	NEED(PtlRtBarrier_np());
	t = now();
	if (!rank) {
		expect(PTL_EVENT_PUT_START, PTL_NI_OK, t);
		expect(PTL_EVENT_PUT_END, PTL_NI_DIED_NP, now());
	} else {
		NEED(PtlPut(h, PTL_NO_ACK_REQ, other, 4, 0, 1, 0, 0));
		usleep(100000);
		if (system(argv[1]))
			printf("rank 1: %s fails\n", argv[1]);
		t = now();
		expect(PTL_EVENT_SEND_END, PTL_NI_DIED_NP, t);
	}
	NEED(PtlMDUnlink(h));
	printf("rank %u good, after %.1f s\n", rank, now() - t);
	if (rank) {
		sleep(LIMIT);			/* until the other one has seen it, too */
		if (system(argv[2]))
			printf("rank 1: %s fails\n", argv[2]);
	}
	PtlFini();
	return 0;
}

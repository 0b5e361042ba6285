/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * eth_cut.c - two ranks, on a node each: the second one sends, and cuts the wire in the middle
 *
 *	eth_cut CUT MEND	commands of the second rank: in the middle of a long message, for good. Both sleep for
 *				its end, which must come, failed, soon after peer_timeout (at most 15 seconds); then
 *				its descriptor can be unlinked
 *	eth_cut CUT MEND SECONDS	in the middle of many, for so long, which is less than peer_timeout: each comes
 *				once, in order, whole, and is acknowledged once
 *
 * Each rank says "rank N good", or what is wrong.
 */
#define _GNU_SOURCE
#include <portals3.h>
#include <p3rt/p3rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

/* ---- cut, and mended ---- */

#define MANY	3000
#define SOME	3000			/* bytes of each: several frames */

static void fill(uint32_t *b, uint32_t i)
{
	for (uint32_t k = 0; k < SOME / 4; k++)
		b[k] = i * 2654435761u + k;
}

static int takes_many(int seconds)
{
	ptl_md_t md = { .length = SOME, .threshold = PTL_MD_THRESH_INF, .eq_handle = eq,
			.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE };
	static const ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	uint32_t *all = malloc((size_t)MANY * SOME), want[SOME / 4];
	double last, gap = 0;
	ptl_handle_me_t me;
	ptl_handle_md_t h;
	ptl_event_t ev;

	memset(all, 0, (size_t)MANY * SOME);
	md.start = all;
	md.length = (ptl_size_t)MANY * SOME;
	NEED(PtlMEAttach(ni, 4, any, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	NEED(PtlMDAttach(me, md, PTL_RETAIN, &h));
	NEED(PtlRtBarrier_np());
	last = now();
	for (uint32_t i = 0; i < MANY; i++) {
		NEED(PtlEQWait(eq, &ev));
		gap = now() - last > gap ? now() - last : gap;
		last = now();
		fill(want, i);
		if (ev.type != PTL_EVENT_PUT_END || ev.ni_fail_type != PTL_NI_OK || ev.hdr_data != i ||
		    memcmp((char *)all + (size_t)i * SOME, want, SOME)) {
			printf("rank 0: message %u: %s, %s, number %llu\n", i, PtlEventKindStr(ev.type),
			       PtlNIFailStr(ni, ev.ni_fail_type), (unsigned long long)ev.hdr_data);
			return 1;
		}
	}
	usleep(500000);
	if (PtlEQGet(eq, &ev) != PTL_EQ_EMPTY) {
		printf("rank 0: %s of number %llu, once more\n", PtlEventKindStr(ev.type),
		       (unsigned long long)ev.hdr_data);
		return 1;
	}
	if (gap < seconds - 0.3) {
		printf("rank 0: the longest pause was %.1f s: no wire was cut\n", gap);
		return 1;
	}
	printf("rank 0 good: %d messages, the longest pause %.1f s\n", MANY, gap);
	return 0;
}

/* In a child: the commands take their time, and the messages go on. */
static pid_t cuts(char **argv)
{
	pid_t p = fork();

	if (!p) {
		if (system(argv[1]))
			printf("rank 1: %s fails\n", argv[1]);
		sleep((unsigned)atoi(argv[3]));
		if (system(argv[2]))
			printf("rank 1: %s fails\n", argv[2]);
		_exit(0);
	}
	return p;
}

static int sends_many(ptl_process_id_t other, char **argv)
{
	ptl_md_t md = { .length = SOME, .threshold = PTL_MD_THRESH_INF, .eq_handle = eq,
			.options = PTL_MD_EVENT_START_DISABLE };
	uint32_t *all = malloc((size_t)MANY * SOME), acks = 0, sent = 0;
	ptl_handle_md_t h;
	ptl_event_t ev;
	pid_t child = 0;
	int status;

	for (uint32_t i = 0; i < MANY; i++)
		fill(all + (size_t)i * SOME / 4, i);
	md.start = all;
	md.length = (ptl_size_t)MANY * SOME;
	NEED(PtlMDBind(ni, md, PTL_RETAIN, &h));
	NEED(PtlRtBarrier_np());
	for (uint32_t i = 0; i < MANY; i++) {
		ptl_size_t at = (ptl_size_t)i * SOME;
		int rc;

		while ((rc = PtlPutRegion(h, at, SOME, PTL_ACK_REQ, other, 4, 0, 1, at, i)) == PTL_NO_SPACE)
			usleep(1000);		/* as much as there is room for is on its way */
		NEED(rc);
		if (i == MANY / 4)
			child = cuts(argv);
	}
	while (acks < MANY || sent < MANY) {
		NEED(PtlEQWait(eq, &ev));
		acks += ev.type == PTL_EVENT_ACK;
		sent += ev.type == PTL_EVENT_SEND_END;
		if (ev.ni_fail_type != PTL_NI_OK || acks > MANY || sent > MANY) {
			printf("rank 1: %s, %s: %u sent, %u acknowledged\n", PtlEventKindStr(ev.type),
			       PtlNIFailStr(ni, ev.ni_fail_type), sent, acks);
			return 1;
		}
	}
	waitpid(child, &status, 0);
	usleep(500000);
	if (PtlEQGet(eq, &ev) != PTL_EQ_EMPTY) {
		printf("rank 1: %s, once more\n", PtlEventKindStr(ev.type));
		return 1;
	}
	printf("rank 1 good: %u sent, %u acknowledged\n", sent, acks);
	return 0;
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

	if (argc != 3 && argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	NEED(PtlInit(&max));
	NEED(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	NEED(PtlGetRank(ni, &rank, &size));
	NEED(PtlGetRankId(ni, 1 - rank, &other));
	NEED(PtlEQAlloc(ni, 4 * MANY, PTL_EQ_HANDLER_NONE, &eq));
	if (argc == 4) {
		int rc = rank ? sends_many(other, argv) : takes_many(atoi(argv[3]));

		NEED(PtlRtBarrier_np());
		PtlFini();
		return rc;
	}
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

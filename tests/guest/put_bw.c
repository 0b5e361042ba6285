/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * put_bw.c - bandwidth of acknowledged puts between two ranks, for rxe_bw.sh; every byte of the last one is looked at
 *
 *	put_bw [BYTES [TIMES]]		(1 MiB, 100; four under way, as many as ib_write_bw needs at most)
 *
 * Both wait asleep: neither takes the other's processor. Rank 0 prints a line of TAP with MB/s (10^6 bytes).
 */
#include <p3rt/p3rt.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PT	4
#define WINDOW	4

static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq;
static ptl_process_id_t peer;
static unsigned rank;

static void check(int rc, const char *call)
{
	if (rc == PTL_OK)
		return;
	printf("not ok 1 - rank %u: %s: %s\n1..1\n", rank, call, PtlErrorStr((unsigned)rc));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static unsigned char nth(size_t i)
{
	return (unsigned char)(i * 7 + (i >> 8) + (i >> 16));
}

/* Rank 1: nothing to do until the last word is there. */
static int target(ptl_md_t md, const unsigned char *b, size_t n)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_me_t me;
	ptl_event_t ev;
	size_t i;

	check(PtlMEAttach(ni, PT, any, 0, ~(ptl_match_bits_t)0, PTL_RETAIN, PTL_INS_AFTER, &me), "PtlMEAttach");
	check(PtlMDAttach(me, md, PTL_RETAIN, NULL), "PtlMDAttach");
	do
		check(PtlEQWait(eq, &ev), "PtlEQWait");
	while (ev.hdr_data != 2);
	for (i = 0; i < n && b[i] == nth(i); i++)
		;
	printf("%sok 1 - %zu bytes are right\n1..1\n", i == n ? "" : "not ", i);
	return i != n;
}

static void put(ptl_handle_md_t h, uint64_t word)
{
	check(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 0, 0, word), "PtlPut");
}

static void acked(void)
{
	ptl_event_t ev;

	do
		check(PtlEQWait(eq, &ev), "PtlEQWait");
	while (ev.type != PTL_EVENT_ACK);
	check(ev.ni_fail_type == PTL_NI_OK ? PTL_OK : PTL_FAIL, "the put");
}

static int initiator(ptl_md_t md, size_t n, int times)
{
	ptl_handle_md_t h;
	ptl_event_t ev;
	int which, done = 0;
	double t;

	check(PtlMDBind(ni, md, PTL_RETAIN, &h), "PtlMDBind");
	do {
		put(h, 0);	/* one that finds no entry yet is dropped, and has no acknowledgement */
		while (PtlEQPoll(&eq, 1, 2000, &ev, &which) == PTL_OK && !done)
			done = ev.type == PTL_EVENT_ACK;
	} while (!done);
	t = now();
	for (int i = 0; i < times; i++) {
		if (i >= WINDOW)
			acked();
		put(h, 1);
	}
	for (int i = 0; i < WINDOW; i++)
		acked();
	t = now() - t;
	put(h, 2);
	acked();
	printf("ok 1 - %.1f MB/s\n1..1\n", (double)n * times / t / 1e6);
	return 0;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? (size_t)atol(argv[1]) : 1 << 20;
	int times = argc > 2 ? atoi(argv[2]) : 100, count, rc;
	ptl_md_t md = { .length = n, .threshold = PTL_MD_THRESH_INF,
			.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE };
	unsigned size;

	if (times < WINDOW || !(md.start = malloc(n)))
		return 2;
	check(PtlInit(&count), "PtlInit");
	check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), "PtlNIInit");
	check(PtlGetRank(ni, &rank, &size), "PtlGetRank");
	check(PtlGetRankId(ni, !rank, &peer), "PtlGetRankId");
	check(PtlEQAlloc(ni, 1024, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	for (size_t i = 0; i < n; i++)
		((unsigned char *)md.start)[i] = rank ? 0 : nth(i);
	md.eq_handle = eq;
	rc = rank ? target(md, md.start, n) : initiator(md, n, times);
	PtlNIFini(ni);
	PtlFini();
	return rc;
}

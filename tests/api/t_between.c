/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_between.c - who waits in a barrier, or in PtlNIFini, still makes the copies that peers have left to it
 *
 * Run with PTL_ADOPT=none PTL_CMA=no. Even ranks move to and from the next one, which is in that call meanwhile.
 * Under a launcher, which has no page of words, only the barrier.
 */
#include "multi.h"
#include "tap.h"

#include <cnos_mpi_os.h>
#include <p3rt/p3rt.h>
#include <portals3.h>

enum { PT = 4, LEN = 100000, PATIENCE_MS = 10000 };

static const ptl_process_id_t anyone = { PTL_NID_ANY, PTL_PID_ANY };
static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq;
static ptl_handle_md_t md;
static ptl_process_id_t peer;
static unsigned rank, size;
static char buf[LEN];

static void up(void)
{
	ptl_md_t d = { .start = buf, .length = LEN, .threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE,
		       .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE };
	ptl_handle_me_t me;
	int max;

	REQUIRE_INT(PtlInit(&max), PTL_OK);
	REQUIRE_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
	REQUIRE_INT(PtlGetRank(ni, &rank, &size), PTL_OK);
	REQUIRE_INT(PtlGetRankId(ni, rank ^ 1, &peer), PTL_OK);
	REQUIRE_INT(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	REQUIRE_INT(PtlMEAttach(ni, PT, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	REQUIRE_INT(PtlMDAttach(me, d, PTL_RETAIN, NULL), PTL_OK);
	d.eq_handle = eq;
	d.options = PTL_MD_EVENT_START_DISABLE;
	REQUIRE_INT(PtlMDBind(ni, d, PTL_RETAIN, &md), PTL_OK);
	REQUIRE_INT(PtlRtBarrier_np(), PTL_OK);
}

static void await(ptl_event_kind_t kind)
{
	ptl_event_t ev;
	int which, rc;

	do
		rc = PtlEQPoll(&eq, 1, PATIENCE_MS, &ev, &which);
	while (rc == PTL_OK && ev.type != kind);
	CHECK_INT(rc, PTL_OK);
}

static void t_in_a_barrier(void)
{
	for (int i = 0; rank % 2 == 0 && i < 20 && !t_bad_; i++) {
		REQUIRE_INT(PtlPut(md, PTL_ACK_REQ, peer, PT, 0, 0, 0, 0), PTL_OK);
		await(PTL_EVENT_ACK);
		REQUIRE_INT(PtlGet(md, peer, PT, 0, 0, 0), PTL_OK);
		await(PTL_EVENT_REPLY_END);
	}
	CHECK_INT(cnos_barrier(), 0);
}

/* The last one of a process. */
static void close_while(ptl_event_kind_t kind)
{
	if (rank % 2) {
		CHECK(t_await((int)rank ^ 1, kind, 20));	/* it has begun; no call of ours since */
	} else {
		REQUIRE_INT(kind == PTL_EVENT_ACK ? PtlPut(md, PTL_ACK_REQ, peer, PT, 0, 0, 0, 0) :
						    PtlGet(md, peer, PT, 0, 0, 0), PTL_OK);
		atomic_store(t_word((int)rank), kind);
		await(kind);
	}
	CHECK_INT(PtlNIFini(ni), PTL_OK);
	t_barrier();
	atomic_store(t_word((int)rank), 0);
	t_barrier();
}

static void t_in_the_end_of_an_interface(void)
{
	if (!getenv("T_PAGE_FD"))
		return;
	close_while(PTL_EVENT_ACK);
	up();
	close_while(PTL_EVENT_REPLY_END);
}

/* What was sent, and has not been waited for, is there when the target's interface has ended. */
static void t_before_the_end_all_has_come(void)
{
	if (!getenv("T_PAGE_FD"))
		return;
	up();
	memset(buf, (int)rank + 1, LEN);
	t_barrier();
	if (rank % 2 == 0)
		REQUIRE_INT(PtlPut(md, PTL_NO_ACK_REQ, peer, PT, 0, 0, 0, 0), PTL_OK);
	t_barrier();
	CHECK_INT(PtlNIFini(ni), PTL_OK);
	for (unsigned i = 0; i < LEN; i++)
		REQUIRE_INT(buf[i], (int)(rank & ~1u) + 1);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_in_a_barrier), T(t_in_the_end_of_an_interface),
					       T(t_before_the_end_all_has_come), { 0 } };
	int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	up();
	rc = t_run(cases);
	PtlFini();
	return rc;
}

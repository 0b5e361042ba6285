/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_engine.c - the engine of a node (PTL_NAL=ap) is killed: what it had ends, the node goes on by itself, and closes
 *
 * Rank 0 is on a node of its own with rank 1; the others are elsewhere. Rank 0 kills the engine of its node. With
 * "stopped" it is stopped before, so that calls are in its ring that it has not seen; with "amid" at any moment. With
 * "inside" rank 1 is killed while it takes what is parked for its polled portal, as fast as it can: perhaps with the
 * lock that it shares with the engine.
 */
#include "ptl.h"
#include "smartmap.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 50, LEN = 100000 };
static char *out, *in;
static const char *how;
static ptl_event_t ev[1];

static bool is_far(int rank)
{
	return p_id(rank).nid != self.nid;
}

static void stop_engine(pid_t engine)
{
	char file[64], text[512] = "";

	kill(engine, SIGSTOP);
	snprintf(file, sizeof(file), "/proc/%d/stat", (int)engine);
	for (double until = t_now() + 10; t_now() < until && !strstr(text, ") T "); sched_yield()) {
		FILE *f = fopen(file, "r");
		size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

		text[n] = 0;
		if (f)
			fclose(f);
	}
}

static void t_its_calls_end_and_the_node_goes_on(void)
{
	unsigned sent = 0, ended = 0, failed = 0;
	int far = t_size() - 1, near_ = t_rank() ^ 1;
	ptl_handle_md_t h, g;
	ptl_handle_me_t me;
	double until;
	pid_t engine = (pid_t)smartmap_pid(smartmap_size());

	NEED_OK(p_post(1, p_md(in, LEN, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
			       PTL_MD_EVENT_START_DISABLE, teq), &me, &h));
	NEED_OK(PtlMDBind(ni, p_md(out, LEN, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &h));
	NEED_OK(PtlMDBind(ni, p_md(out, LEN, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &g));
	if (t_rank() == far)
		far = 0;
	t_barrier();
	if (!t_rank()) {
		if (!strcmp(how, "stopped"))
			stop_engine(engine);
		for (int i = 0; i < N; i++) {
			sent += PtlPut(h, PTL_NO_ACK_REQ, p_id(far), PT, 0, 1, 0, 0) == PTL_OK;
			sent += PtlGet(g, p_id(far), PT, 0, 1, 0) == PTL_OK;
			if (!strcmp(how, "amid") && i == N / 2)
				kill(engine, SIGKILL);
		}
		kill(engine, SIGKILL);
		CHECK(!strcmp(how, "amid") || sent == 2 * N);
		for (until = t_now() + 20; ended < sent && t_now() < until;) {
			int rc = PtlEQGet(ieq, ev);

			if (rc == PTL_OK && (ev->type == PTL_EVENT_SEND_END || ev->type == PTL_EVENT_REPLY_END)) {
				ended++;
				failed += ev->ni_fail_type == PTL_NI_DIED_NP;
			} else if (rc != PTL_OK) {
				sched_yield();
			}
		}
		diag("%u of %u have ended, %u failed", ended, sent, failed);
		CHECK(strcmp(how, "stopped") || (ended == sent && failed == sent));
		/* whoever calls now hears at once that nobody is there */
		OK(PtlPutRegion(h, 0, 8, PTL_NO_ACK_REQ, p_id(far), PT, 0, 1, 0, 0));
		NEED_OK(p_get(ieq, ev));
		CHECK_INT(ev->type, PTL_EVENT_SEND_END);
		CHECK_INT(ev->ni_fail_type, PTL_NI_FAIL);
	}
	t_barrier();
	/* on a node all is as it was */
	if (!is_far(near_)) {
		while (PtlEQGet(ieq, ev) == PTL_OK)
			;
		OK(PtlPutRegion(h, 0, 8, PTL_ACK_REQ, p_id(near_), PT, 0, 1, 0, 0));
		until = t_now() + 20;
		do
			NEED_OK(p_get(ieq, ev));
		while (ev->type != PTL_EVENT_ACK && t_now() < until);
		CHECK_INT(ev->ni_fail_type, PTL_NI_OK);
	}
	/* elsewhere the dead engine's ranks are found to be gone */
	if (is_far(0) && t_rank() == t_size() - 1) {
		for (until = t_now() + 20; t_now() < until;) {
			int rc = PtlPutRegion(h, 0, 8, PTL_NO_ACK_REQ, p_id(0), PT, 0, 1, 0, 0);

			NEED(rc == PTL_OK);
			NEED_OK(p_get(ieq, ev));
			if (ev->type == PTL_EVENT_SEND_END && ev->ni_fail_type == PTL_NI_FAIL)
				break;
			sched_yield();
		}
		CHECK(t_now() < until);
	}
	t_barrier();
	if (!strcmp(how, "stopped"))	/* nothing holds it any more */
		OK(p_unlink_sent(h));
}

static void t_a_rank_dies_at_what_it_shares_with_the_engine(void)
{
	unsigned sent = 0, ended = 0, failed = 0;
	ptl_handle_md_t h;
	ptl_handle_me_t me;
	double until;

	if (t_rank() == 1)
		OK(PtlPTPolled_np(ni, PT, 1));
	NEED_OK(p_post(1, p_md(in, LEN, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
			       PTL_MD_EVENT_START_DISABLE, teq), &me, &h));
	NEED_OK(PtlMDBind(ni, p_md(out, LEN, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &h));
	t_barrier();
	if (t_rank() == 1) {
		atomic_store(t_word(0), (uint64_t)getpid());
		for (;;)
			PtlEQGet(teq, ev);
	}
	if (t_rank() == 3) {
		ptl_handle_md_t quiet;

		NEED_OK(PtlMDBind(ni, p_md(out, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &quiet));
		while (!atomic_load(t_word(1)))
			PtlPut(quiet, PTL_NO_ACK_REQ, p_id(1), PT, 0, 1, 0, 0);
	}
	if (!t_rank()) {
		while (!atomic_load(t_word(0)))
			sched_yield();
		usleep(20000 + (unsigned)getpid() % 1000 * 10);
		kill((pid_t)atomic_load(t_word(0)), SIGKILL);
		for (int i = 0; i < N; i++) {
			sent += PtlPut(h, PTL_NO_ACK_REQ, p_id(2), PT, 0, 1, 0, 0) == PTL_OK;
			sent += PtlGet(h, p_id(2), PT, 0, 1, 0) == PTL_OK;
		}
		for (until = t_now() + 20; ended < sent && t_now() < until;) {
			int rc = PtlEQGet(ieq, ev);

			if (rc == PTL_OK && (ev->type == PTL_EVENT_SEND_END || ev->type == PTL_EVENT_REPLY_END)) {
				ended++;
				failed += ev->ni_fail_type != PTL_NI_OK;
			} else if (rc != PTL_OK) {
				sched_yield();
			}
		}
		atomic_store(t_word(1), 1);
		diag("%u of %u have ended, %u failed", ended, sent, failed);
		CHECK(ended == sent || failed);
	}
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = { T(t_its_calls_end_and_the_node_goes_on), { 0 } };
	static const struct t_case inside[] = { T(t_a_rank_dies_at_what_it_shares_with_the_engine), { 0 } };

	int rc;

	how = argc > 1 ? argv[1] : "stopped";
	out = calloc(1, LEN);
	in = calloc(1, LEN);
	if (!out || !in)
		bail("no memory");
	if (!getenv("PTL_NAL") || strcmp(getenv("PTL_NAL"), "ap"))
		skip_all("only PTL_NAL=ap has an engine");
	if (strcmp(how, "inside"))
		return p_main(cases);
	p_init();
	rc = t_run(inside);
	PtlFini();
	return rc;
}

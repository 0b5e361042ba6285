/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_engine.c - the engine of a node (PTL_NAL=ap) is killed: what it had ends, the node goes on by itself, and closes
 *
 * Rank 0 is on a node of its own with rank 1; the others are elsewhere. Rank 0 kills the engine of its node. With
 * "stopped" it is stopped before, so that calls are in its ring that it has not seen; with "amid" at any moment. With
 * "inside" rank 1 is killed while it takes what is parked for its polled portal, as fast as it can: perhaps with the
 * lock that it shares with the engine.
 *
 * Without heirs (PTL_NIC_HEIRS=0) that is all. "again": the engine is killed while it sleeps, again and again, and
 * another one goes on with what it had: each message arrives, once and in order, both ways.
 *
 * "copies": the engine is killed amid copies between ranks of one node (PTL_SELF_DMA_MIN): both sides hear that their
 * mover has died, and go on. "copies-dead": a rank is, whose copies the engine has.
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

static pid_t engine_pid(void)
{
	pid_t pid = (pid_t)smartmap_pid(smartmap_size());

	if (pid <= 1)			/* kill() would take that for more than one process */
		bail("no engine");
	return pid;
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
	pid_t engine = engine_pid();

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

/* ---- copies that were left to the engine ---- */

enum { COPIES = 12, BIG = 64 << 20 };
static char *big_out, *big_in;

/* Ends of either kind in @eq until @n have come or @seconds have passed: how many, and how many of them failed. */
static unsigned ends(ptl_handle_eq_t eq, unsigned n, double seconds, unsigned *failed)
{
	double until = t_now() + seconds;
	unsigned got = 0;
	int which;

	while (got < n && t_now() < until) {
		if (PtlEQPoll(&eq, 1, 100, ev, &which) != PTL_OK || ev->type == PTL_EVENT_ACK)
			continue;
		got++;
		if (ev->ni_fail_type == PTL_NI_OK)
			continue;
		CHECK_INT(ev->ni_fail_type, PTL_NI_DIED_NP);
		++*failed;
	}
	return got;
}

static void t_the_engine_dies_amid_copies(void)
{
	unsigned sent = 0, ended, failed = 0, theirs;
	pid_t engine = engine_pid();
	ptl_handle_md_t h, g;
	ptl_handle_me_t me;

	NEED_OK(p_post(1, p_md(big_in, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
			       PTL_MD_EVENT_START_DISABLE, teq), &me, &h));
	NEED_OK(PtlMDBind(ni, p_md(big_out, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &h));
	NEED_OK(PtlMDBind(ni, p_md(big_out, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &g));
	t_barrier();
	if (!t_rank()) {
		stop_engine(engine);
		for (int i = 0; i < COPIES; i += 2) {
			sent += PtlPut(h, PTL_NO_ACK_REQ, p_id(1), PT, 0, 1, 0, 0) == PTL_OK;
			sent += PtlGet(g, p_id(1), PT, 0, 1, 0) == PTL_OK;
		}
		kill(engine, SIGCONT);
		usleep((unsigned)getpid() % 8 * 1000);
		kill(engine, SIGKILL);
		ended = ends(ieq, sent, 20, &failed);
		CHECK_INT(sent, COPIES);
		CHECK_INT(ended, sent);
		diag("%u of %u copies failed here", failed, sent);
		/* what was asked for now is copied by whoever asks */
		OK(PtlPut(h, PTL_ACK_REQ, p_id(1), PT, 0, 1, 0, 0));
		do
			NEED_OK(p_get(ieq, ev));
		while (ev->type != PTL_EVENT_ACK);
		CHECK_INT(ev->ni_fail_type, PTL_NI_OK);
		atomic_store(t_word(0), failed + 1);
	} else {
		ended = ends(teq, COPIES + 1, 20, &failed);
		CHECK_INT(ended, COPIES + 1);
		CHECK(t_await(0, 1, 20));
		theirs = (unsigned)atomic_load(t_word(0)) - 1;
		diag("%u failed here, %u there", failed, theirs);
		CHECK_INT(failed, theirs);
	}
	t_barrier();
	if (t_rank())
		OK(PtlMEUnlink(me));		/* nothing holds it any more */
	else
		OK(p_unlink_sent(h));
	t_barrier();
}

/* Rank 1 has copies under way to rank 2 and is killed; rank 0 sees that rank 2 goes on, and the engine. */
static void t_a_rank_dies_whose_copies_the_engine_has(void)
{
	pid_t engine = engine_pid();
	ptl_handle_md_t h;
	ptl_handle_me_t me;
	unsigned failed = 0;

	NEED_OK(p_post(1, p_md(big_in, BIG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
			       PTL_MD_EVENT_START_DISABLE, teq), &me, &h));
	NEED_OK(PtlMDBind(ni, p_md(big_out, BIG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &h));
	t_barrier();
	if (t_rank() == 1) {
		stop_engine(engine);
		for (int i = 0; i < 4; i++)
			OK(PtlPut(h, PTL_NO_ACK_REQ, p_id(2), PT, 0, 1, 0, 0));
		atomic_store(t_word(0), (uint64_t)getpid());
		for (;;)
			pause();
	}
	if (!t_rank()) {
		CHECK(t_await(0, 1, 20));
		kill(engine, SIGCONT);
		kill((pid_t)atomic_load(t_word(0)), SIGKILL);
		OK(PtlPut(h, PTL_ACK_REQ, p_id(2), PT, 0, 1, 0, 0));
		do
			NEED_OK(p_get(ieq, ev));
		while (ev->type != PTL_EVENT_ACK);
		CHECK_INT(ev->ni_fail_type, PTL_NI_OK);
		atomic_store(t_word(1), 1);
	} else {
		CHECK_INT(ends(teq, 5, 20, &failed), 5);
		diag("%u of 4 copies failed", failed);
		CHECK(t_await(1, 1, 20));
		OK(PtlMEUnlink(me));
	}
}

/* ---- another engine ---- */

enum { ROUNDS = 6, K = 16, GETS = 4, ROOM = 60000 };
static char far_in[K * ROOM], far_out[K * ROOM], fetched[GETS * ROOM];

/* Each third message is a long one. */
static ptl_size_t length(int i)
{
	return i % 3 ? 1000 : ROOM;
}

/*
 * Stop the engine where it holds nothing. Who unlinks a descriptor of which a message is under way (nobody wants this
 * one) waits a while for an engine that is inside: so one that is can be told.
 */
static pid_t stop_asleep(int other)
{
	pid_t engine = engine_pid();

	for (int i = 0; i < 1000; i++) {
		ptl_handle_md_t md;
		double t;

		usleep(2000);
		OK(PtlMDBind(ni, p_md(out, LEN, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
		stop_engine(engine);
		OK(PtlPut(md, PTL_NO_ACK_REQ, p_id(other), PT, 0, 2, 0, 0));
		t = t_now();
		CHECK_INT(PtlMDUnlink(md), PTL_MD_IN_USE);
		if (t_now() - t < 0.1)
			return engine;
		kill(engine, SIGCONT);
	}
	bail("the engine never sleeps");
}

/* Take what has come: acknowledgements and replies in *@own, puts of the other side, in order, in *@theirs. */
static void take_some(uint64_t *own, uint64_t *theirs)
{
	while (PtlEQGet(ieq, ev) == PTL_OK) {
		CHECK_INT(ev->ni_fail_type, PTL_NI_OK);
		if (ev->type == PTL_EVENT_ACK || ev->type == PTL_EVENT_REPLY_END)
			++*own;
	}
	while (PtlEQGet(teq, ev) == PTL_OK) {
		const char *at = far_in + ev->offset;

		CHECK_INT(ev->ni_fail_type, PTL_NI_OK);
		if (ev->type != PTL_EVENT_PUT_END)
			continue;
		CHECK_INT(ev->hdr_data, *theirs);
		CHECK(at[0] == (char)ev->hdr_data && !memcmp(at, at + 1, ev->mlength - 1));
		++*theirs;
	}
}

static void t_another_engine_goes_on(void)
{
	uint64_t own = 0, theirs = 0, n = 0;
	int other = t_size() - 1 - t_rank();
	ptl_handle_md_t h, g;
	ptl_handle_me_t me;

	NEED_OK(p_post(1, p_md(far_in, sizeof(far_in), PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
			       PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, teq), &me, &h));
	NEED_OK(PtlMDBind(ni, p_md(far_out, sizeof(far_out), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq),
			  PTL_RETAIN, &h));
	NEED_OK(PtlMDBind(ni, p_md(fetched, sizeof(fetched), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq),
			  PTL_RETAIN, &g));
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t before = n, want = (uint64_t)(K + GETS) * ((uint64_t)round + 1);
		pid_t engine = 0;
		double until;

		t_barrier();
		/* by local rank 0 of its node, which is the one to start another, and by one that is not */
		if (t_rank() == (round & 1 ? t_size() - 1 : 0))
			engine = stop_asleep(other);
		t_barrier();
		for (int i = 0; i < K; i++, n++) {
			memset(far_out + i * ROOM, (int)n, length(i));
			NEED_OK(PtlPutRegion(h, (ptl_size_t)i * ROOM, length(i), PTL_ACK_REQ, p_id(other), PT, 0, 1,
					     (ptl_size_t)i * ROOM, n));
			if (i == K / 2 && engine)
				kill(engine, SIGKILL);
		}
		for (int i = 0; i < GETS; i++)		/* behind the puts */
			OK(PtlGetRegion(g, (ptl_size_t)i * ROOM, length(i), p_id(other), PT, 0, 1,
					(ptl_size_t)i * ROOM));
		for (until = t_now() + 20; t_now() < until && (own < want || theirs < n); sched_yield())
			take_some(&own, &theirs);
		CHECK_INT(own, want);
		CHECK_INT(theirs, n);
		for (int i = 0; i < GETS; i++)
			CHECK(fetched[i * ROOM] == (char)(before + (uint64_t)i) &&
			      !memcmp(fetched + i * ROOM, fetched + i * ROOM + 1, length(i) - 1));
		/* who polls needs none; but there is one before long, since local rank 0 looks */
		until = t_now() + 20;
		for (; t_now() < until && atomic_load(t_word(0)) <= (uint64_t)round; sched_yield()) {
			take_some(&own, &theirs);
			if (engine && smartmap_pid(smartmap_size()) != engine)
				atomic_store(t_word(0), (uint64_t)round + 1);
		}
		CHECK(t_now() < until);
	}
	t_barrier();
}

int main(int argc, char **argv)
{
	static const struct t_case again[] = { T(t_another_engine_goes_on), { 0 } };

	static const struct t_case copies[] = { T(t_the_engine_dies_amid_copies), { 0 } };
	static const struct t_case dead[] = { T(t_a_rank_dies_whose_copies_the_engine_has), { 0 } };
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
	if (!strncmp(how, "copies", 6)) {
		static char own_out[BIG], own_in[BIG];	/* in the window */

		big_out = own_out;
		big_in = own_in;
		memset(big_out, 1, BIG);
		memset(big_in, 2, BIG);
	}
	if (!strcmp(how, "copies"))
		return p_main(copies);
	if (!strcmp(how, "again"))
		return p_main(again);
	if (!strcmp(how, "copies-dead")) {
		p_init();
		rc = t_run(dead);
		PtlFini();
		return rc;
	}
	if (strcmp(how, "inside"))
		return p_main(cases);
	p_init();
	rc = t_run(inside);
	PtlFini();
	return rc;
}

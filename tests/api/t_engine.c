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
 * another one goes on with what it had: each message arrives, once and in order, both ways. "busy": it is killed at
 * work, with the lock that it shares with its ranks, at any instruction, while there are puts with acknowledgements
 * under way both ways; T_SECONDS long. T_ALL: long ones, gets and atomic operations, too: CAVEATS says when that may
 * be too much.
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
 * Stop the engine where it holds nothing; or (@inside) where it is at work: 0, it was not. Who unlinks a descriptor of
 * which a message is under way (nobody wants this one) waits a while for an engine that is inside: so one that is can
 * be told.
 */
static pid_t stop_it(int other, bool inside)
{
	pid_t engine = engine_pid();

	for (int i = 0; i < 1000; i++) {
		ptl_handle_md_t md;
		double t;

		usleep(inside ? 200 + (unsigned)i * 7919 % 1000 : 2000);
		OK(PtlMDBind(ni, p_md(out, LEN, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
		stop_engine(engine);
		OK(PtlPut(md, PTL_NO_ACK_REQ, p_id(other), PT, 0, 2, 0, 0));
		t = t_now();
		CHECK_INT(PtlMDUnlink(md), PTL_MD_IN_USE);
		if ((t_now() - t > 0.1) == inside)
			return engine;
		kill(engine, SIGCONT);
		if (inside)
			return 0;
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
			engine = stop_it(other, false);
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

/* ---- at work ---- */

enum { WINDOW = 8, TAKEN = 8, SENT = 16, STOP = 24, KILLS = 25, PUTS = 1, READS = 3, ADDS = 5 };
static ptl_size_t lengths[] = { 8, 1000, 8192, 3000, 0, 8192, 4000, 200 };
static char pattern[ROOM], got[GETS * ROOM], was[GETS * 8], one[8];
static uint64_t sum[1];

/* What has happened, of each kind: begun, ended, seen of the other's. */
static struct { uint64_t puts, sent, acked, theirs, reads, read, adds, added; } did;
static bool everything;
static ptl_handle_md_t md_puts, md_reads, md_adds, md_one;

static void begin_some(int other)
{
	uint64_t taken = atomic_load(t_word(TAKEN + other));

	while (did.puts < did.acked + WINDOW && did.puts < did.sent + WINDOW && did.puts < taken + WINDOW) {
		NEED_OK(PtlPutRegion(md_puts, 0, lengths[did.puts % 8], PTL_ACK_REQ, p_id(other), PT, 0, PUTS,
				     did.puts % WINDOW * ROOM, did.puts));
		did.puts++;
	}
	while (everything && did.reads < did.read + GETS) {
		ptl_size_t at = did.reads % GETS * ROOM;

		memset(got + at, 0, ROOM);
		NEED_OK(PtlGetRegion(md_reads, at, lengths[did.reads % 8], p_id(other), PT, 0, READS, 0));
		did.reads++;
	}
	while (everything && did.adds < did.added + GETS) {
		NEED_OK(PtlAtomic_np(md_adds, did.adds % GETS * 8, md_one, 0, PTL_ATOMIC_ADD_NP, 8, p_id(other), PT, 0,
				     ADDS, 0, 0));
		did.adds++;
	}
}

/* An event of either queue; all are of what went well, in order. */
static void count_it(void)
{
	CHECK_INT(ev->ni_fail_type, PTL_NI_OK);
	switch (ev->type) {
	case PTL_EVENT_SEND_END:
		did.sent++;
		break;
	case PTL_EVENT_ACK:
		CHECK_INT(ev->offset, did.acked % WINDOW * ROOM);
		CHECK_INT(ev->mlength, lengths[did.acked % 8]);
		did.acked++;
		break;
	case PTL_EVENT_REPLY_END:
		if (ev->match_bits == ADDS) {
			did.added++;
			break;
		}
		CHECK_INT(ev->offset, did.read % GETS * ROOM);
		CHECK(!memcmp(got + did.read % GETS * ROOM, pattern, lengths[did.read % 8]));
		did.read++;
		break;
	case PTL_EVENT_PUT_END:
		CHECK_INT(ev->hdr_data, did.theirs);
		CHECK(!memcmp(far_in + ev->offset, pattern, lengths[did.theirs % 8]));
		memset(far_in + ev->offset, 0, ROOM);
		atomic_store(t_word(TAKEN + t_rank()), ++did.theirs);
		break;
	default:
		break;
	}
}

static bool all_ended(int other)
{
	uint64_t sent = atomic_load(t_word(SENT + other));

	return did.acked == did.puts && did.sent == did.puts && did.read == did.reads && did.added == did.adds &&
	       sent && did.theirs == sent - 1;
}

static void t_an_engine_that_is_killed_at_work_loses_nothing(void)
{
	double seconds = getenv("T_SECONDS") ? atof(getenv("T_SECONDS")) : 12, until = t_now() + seconds, at = 0;
	int other = t_size() - 1 - t_rank(), which;
	bool agent = !t_rank() || !other, stop = false;
	ptl_handle_eq_t eqs[2] = { ieq, teq };
	unsigned kills = 0, asleep = 0;
	ptl_handle_me_t me;
	ptl_handle_md_t h;
	pid_t dead = 0;

	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (char)(i * 2654435761u >> 13 | 1);
	one[0] = 1;
	everything = getenv("T_ALL");
	if (everything)
		lengths[2] = lengths[6] = ROOM;
	NEED_OK(p_post(PUTS, p_md(far_in, WINDOW * ROOM, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
				  PTL_MD_EVENT_START_DISABLE, teq), &me, &h));
	NEED_OK(p_post(READS, p_md(pattern, ROOM, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
				   PTL_EQ_NONE), &me, &h));
	NEED_OK(p_post(ADDS, p_md(sum, 8, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
				  PTL_EQ_NONE), &me, &h));
	NEED_OK(PtlMDBind(ni, p_md(pattern, ROOM, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN,
			  &md_puts));
	NEED_OK(PtlMDBind(ni, p_md(got, sizeof(got), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN,
			  &md_reads));
	NEED_OK(PtlMDBind(ni, p_md(was, sizeof(was), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN,
			  &md_adds));
	NEED_OK(PtlMDBind(ni, p_md(one, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &md_one));
	t_barrier();
	srand((unsigned)getpid());
	while (!(stop && all_ended(other)) && t_now() < until + 30) {
		if (!stop && (t_now() > until || atomic_load(t_word(STOP)))) {
			stop = true;
			atomic_store(t_word(SENT + t_rank()), did.puts + 1);
		}
		if (!stop)
			begin_some(other);
		if (PtlEQPoll(eqs, 2, 1, ev, &which) == PTL_OK)
			count_it();
		if (dead && smartmap_pid(smartmap_size()) != dead) {	/* another one is there */
			dead = 0;
			at = t_now() + 0.03 + (double)(rand() % 50000) * 1e-6;	/* the connection is there by then */
		}
		if (!agent || stop || dead || t_now() < at)
			continue;
		dead = stop_it(other, true);
		asleep += !dead;
		kills += dead != 0;
		if (dead)
			kill(dead, SIGKILL);
	}
	diag("%u kills at work, %u times it was asleep; %llu puts, %llu gets, %llu steps", kills, asleep,
	     (unsigned long long)did.puts, (unsigned long long)did.reads, (unsigned long long)did.adds);
	CHECK(all_ended(other));
	CHECK(!agent || kills > 1);
	atomic_store(t_word(KILLS + t_rank()), did.adds);
	t_barrier();
	CHECK_INT(sum[0], atomic_load(t_word(KILLS + other)));
	CHECK(PtlEQGet(ieq, ev) == PTL_EQ_EMPTY && PtlEQGet(teq, ev) == PTL_EQ_EMPTY);
	OK(p_unlink_sent(md_puts));
	OK(PtlMDUnlink(md_reads));
	OK(PtlMDUnlink(md_adds));
	OK(p_unlink_sent(md_one));
	t_barrier();
}

int main(int argc, char **argv)
{
	static const struct t_case busy[] = { T(t_an_engine_that_is_killed_at_work_loses_nothing), { 0 } };
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
	if (!strcmp(how, "busy"))
		return p_main(busy);
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

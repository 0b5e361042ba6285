/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_stopped.c - processes of other nodes are stopped for longer than a dead one is waited for
 *
 * Rank 1 is stopped before anybody has sent to it, rank 2 with its connections full: neither is taken for dead, no
 * call waits for them, rank 3 is reached as ever, and all arrives when they go on. Then rank 2 is stopped and killed:
 * that is noticed. By way of engines (PTL_NAL=ap) a rank and its engine are stopped, and killed, together. T_STOP_S:
 * for how long; PTL_INIT_TIMEOUT_S=1, with which a machine that vanishes is given up after five seconds and a
 * connection after one. "vanish" (t_vanish.sh): one does.
 */
#include "../api/engine.h"

#include <signal.h>

enum { STOPPED_EARLY = 1, STOPPED = 2, LIVES = 3, LONG = 1 << 20 };

static char out[LONG], in[LONG];
static double longest;
static ptl_handle_eq_t eq;

/* Is it taken, and in no time? */
static int put(ptl_handle_md_t md, ptl_size_t len, int to, ptl_ack_req_t ack)
{
	double t = t_now();
	int rc = PtlPutRegion(md, 0, len, ack, p_id(to), PT, 0, 1, 0, 0);

	t = t_now() - t;
	if (t > longest)
		longest = t;
	CHECK(rc == PTL_OK || rc == PTL_NO_SPACE);
	return rc == PTL_OK;
}

enum { ENGINES = 16 };			/* words of the page: from here on engines' pids; before, the ranks' */

static void tell_pids(void)
{
	atomic_store(t_word(t_rank()), getpid());
	atomic_store(t_word(ENGINES + t_rank()), (uint64_t)p_engine());
}

/* To all of a rank: the process, and its engine, if it has one. */
static void send_signal(int rank, int sig)
{
	for (int i = 0; i <= ENGINES; i += ENGINES) {
		pid_t pid = (pid_t)atomic_load(t_word(i + rank));

		if (pid)
			CHECK_INT(kill(pid, sig), 0);
	}
}

/* Wait for @n acknowledgements, all good or (what ends for want of one, too) with @fail. How many came. */
static unsigned acks(unsigned n, double seconds, unsigned fail)
{
	double until = t_now() + seconds;
	ptl_event_t e;
	unsigned got = 0;
	int which;

	while (got < n && t_now() < until) {
		if (PtlEQPoll(&eq, 1, 100, &e, &which) != PTL_OK)
			continue;
		got += e.type == PTL_EVENT_ACK || (fail && e.type == PTL_EVENT_SEND_END && e.ni_fail_type != PTL_NI_OK);
		if (!CHECK(e.ni_fail_type == PTL_NI_OK || e.ni_fail_type == fail))
			break;
	}
	return got;
}

/* With SEND_START: without, SEND_END has its place in the queue from the beginning, and holds up what comes later. */
static ptl_handle_md_t bind(void)
{
	ptl_handle_md_t md = PTL_INVALID_HANDLE;

	OK(PtlMDBind(ni, p_md(out, LONG, PTL_MD_THRESH_INF, 0, eq), PTL_RETAIN, &md));
	return md;
}

static void entry(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	OK(p_post(1, p_md(in, LONG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
			  PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE), &me, &md));
}

/* Stopped, as the kernel sees it. */
static void stop_one(pid_t pid)
{
	char path[40], c = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (c != 'T') {
		f = fopen(path, "re");
		REQUIRE(f);
		if (fscanf(f, "%*d %*s %c", &c) != 1)
			c = 0;
		fclose(f);
		sched_yield();
	}
}

static void stop(int rank)
{
	send_signal(rank, SIGSTOP);
	stop_one((pid_t)atomic_load(t_word(rank)));
	if (atomic_load(t_word(ENGINES + rank)))
		stop_one((pid_t)atomic_load(t_word(ENGINES + rank)));
}

static void t_who_is_stopped_is_not_dead(void)
{
	const char *s = getenv("T_STOP_S");
	double begin, stay = s ? atof(s) : 7;
	unsigned n[4] = { 0 }, refused = 0;
	ptl_handle_md_t md;
	long kb;

	tell_pids();
	entry();
	t_barrier();
	if (t_rank()) {
		t_barrier();
		return;
	}
	md = bind();
	stop(STOPPED_EARLY);
	n[STOPPED] += (unsigned)put(md, 8, STOPPED, PTL_ACK_REQ);	/* that connection is there */
	CHECK_INT(acks(n[STOPPED], 20, 0), n[STOPPED]);
	n[STOPPED] = 0;
	kb = p_engine_kb();
	CHECK(!p_engine() || kb > 0);
	stop(STOPPED);
	begin = t_now();
	for (int i = 0; i < 8; i++) {			/* more than its kernel takes, and then short ones */
		n[STOPPED] += (unsigned)put(md, LONG, STOPPED, PTL_ACK_REQ);
		n[STOPPED_EARLY] += (unsigned)put(md, LONG, STOPPED_EARLY, PTL_ACK_REQ);
	}
	while (refused < 10 && longest < 1) {
		if (put(md, 1000, STOPPED, PTL_ACK_REQ))
			n[STOPPED]++;
		else
			refused++;
		refused += !put(md, 1000, STOPPED_EARLY, PTL_NO_ACK_REQ);
	}
	diag("%u messages to a stopped process before there was no room", n[STOPPED]);
	CHECK(n[STOPPED] > 200);			/* what is modest always finds room */
	while (t_now() - begin < stay) {
		int k = put(md, 1000, LIVES, PTL_ACK_REQ);

		CHECK_INT(k, 1);
		if (!CHECK_INT(acks(1, 5, 0), 1))
			break;
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
	CHECK(longest < 0.5);
	if (kb > 0)
		diag("our engine has %ld kB, and had %ld before", p_engine_kb(), kb);
	CHECK(p_engine_kb() - kb < 4096);		/* nor does it grow with what they do not take */
	send_signal(STOPPED, SIGCONT);
	send_signal(STOPPED_EARLY, SIGCONT);
	CHECK_INT(acks(n[STOPPED] + n[STOPPED_EARLY], 20, 0), n[STOPPED] + n[STOPPED_EARLY]);
	OK(PtlMDUnlink(md));
	t_barrier();
}

static void t_who_dies_while_stopped_is_noticed(void)
{
	ptl_handle_md_t md;
	unsigned n = 0;

	if (t_rank() == STOPPED)
		for (;;)
			pause();
	if (t_rank())
		return;
	md = bind();
	stop(STOPPED);
	for (int i = 0; i < 8; i++)
		n += (unsigned)put(md, LONG, STOPPED, PTL_ACK_REQ);
	send_signal(STOPPED, SIGKILL);
	CHECK_INT(acks(n, 10, PTL_NI_DIED_NP), n);
	OK(PtlMDUnlink(md));
}

/* To the others, too, we are gone: nobody talks to anybody after this. */
static void t_a_machine_that_vanishes_is_noticed(void)
{
	double begin;
	ptl_handle_md_t md;
	unsigned n = 0;

	tell_pids();
	entry();
	t_barrier();
	if (t_rank() == STOPPED)
		for (;;)
			pause();
	if (!t_rank()) {
		md = bind();
		n = (unsigned)put(md, 8, STOPPED, PTL_ACK_REQ);
		CHECK_INT(acks(n, 20, 0), n);
		stop(STOPPED);
		CHECK_INT(system("ip link set lo down"), 0);
		begin = t_now();
		for (n = 0; n < 8; n++)
			CHECK(put(md, LONG, STOPPED, PTL_ACK_REQ));
		CHECK_INT(acks(n, 30, PTL_NI_DIED_NP), n);
		CHECK(t_now() - begin > 1 && t_now() - begin < 15);
		diag("noticed after %.1f s", t_now() - begin);
		send_signal(STOPPED, SIGKILL);
		OK(PtlMDUnlink(md));
		atomic_store(t_word(8), 1);
	}
	while (!atomic_load(t_word(8)))
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
}

int main(int argc, char **argv)
{
	static const struct t_case vanish[] = { T(t_a_machine_that_vanishes_is_noticed), { 0 } };
	static const struct t_case cases[] = {
		T(t_who_is_stopped_is_not_dead), T(t_who_dies_while_stopped_is_noticed), { 0 }
	};
	int rc;

	p_init();
	OK(PtlEQAlloc(ni, 65536, PTL_EQ_HANDLER_NONE, &eq));
	rc = t_run(argc > 1 && !strcmp(argv[1], "vanish") ? vanish : cases);
	PtlFini();
	return rc;
}

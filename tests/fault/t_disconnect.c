/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_disconnect.c - the connection of a process to itself breaks (PTL_LOOP=disconnect=N), at each frame in turn
 *
 * Through the calls, in a process of its own for each N: what is under way ends once, well or with PTL_NI_DIED_NP;
 * later calls find nobody; every object can be given back, and the interface closes. tests/unit/frame.c asks the same
 * of the engine alone.
 */
#include "../api/ptl.h"

#include <sys/wait.h>

#define LONG	100000
#define MOST	1000		/* frames: the calls of a life take fewer */
#define LEAVE	5		/* seconds in which an interface closes: there is nothing to wait for */

static char from[LONG], to[LONG];
static unsigned seen[16], failed[16];

static void collect(ptl_handle_eq_t eq)
{
	ptl_event_t ev;

	while (PtlEQGet(eq, &ev) == PTL_OK) {
		CHECK(ev.ni_fail_type == PTL_NI_OK || ev.ni_fail_type == PTL_NI_DIED_NP);
		seen[ev.type]++;
		failed[ev.type] += ev.ni_fail_type != PTL_NI_OK;
	}
}

/*
 * A put behind all others, with a queue of its own: 1: it has been acknowledged, so all before it are answered; 0: the
 * connection has broken, so all before it have been told; -1: neither.
 */
static int probe(void)
{
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;
	ptl_event_t ev;
	int alive = -1;

	if (!OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq)) ||
	    !OK(PtlMDBind(ni, p_md(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &md)) ||
	    !OK(PtlPut(md, PTL_ACK_REQ, self, PT_SYNC, 0, 0, 0, 0)))
		return alive;
	while (alive < 0 && CHECK_INT(p_get(eq, &ev), PTL_OK))
		if (ev.ni_fail_type != PTL_NI_OK) {
			CHECK(ev.ni_fail_type == (ev.type == PTL_EVENT_ACK ? PTL_NI_DIED_NP : PTL_NI_FAIL));
			alive = 0;
		} else if (ev.type == PTL_EVENT_ACK) {
			alive = 1;
		}
	OK(PtlMDUnlink(md));
	OK(PtlEQFree(eq));
	return alive;
}

static void nobody_is_there(ptl_handle_md_t put, ptl_handle_md_t get)
{
	ptl_event_t ev;

	OK(PtlPutRegion(put, 0, 100, PTL_ACK_REQ, self, PT, 0, 1, 0, 0));
	if (CHECK_INT(p_get(ieq, &ev), PTL_OK))
		CHECK(ev.type == PTL_EVENT_SEND_END && ev.ni_fail_type == PTL_NI_FAIL);
	OK(PtlGetRegion(get, 0, 100, self, PT, 0, 2, 0));
	if (CHECK_INT(p_get(ieq, &ev), PTL_OK))
		CHECK(ev.type == PTL_EVENT_REPLY_END && ev.ni_fail_type == PTL_NI_DIED_NP && ev.mlength == 0);
	CHECK_INT(probe(), 0);
	NONE(ieq);
	NONE(teq);
}

/* One of each kind, and @burst short puts: more than there is room for without help. */
static int life(unsigned burst)
{
	ptl_handle_md_t put, get, old, new, one, md[3];
	uint64_t word[3] = { 1, 2, 3 };
	ptl_handle_me_t me[3];
	ptl_handle_eq_t beq;
	long long mds;
	double began;
	int alive;

	p_init();
	mds = p_status(PTL_SR_MDS_CUR);
	OK(PtlEQAlloc(ni, 4096, PTL_EQ_HANDLER_NONE, &beq));
	OK(p_post(1, p_md(to, LONG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, teq), &me[0], &md[0]));
	OK(p_post(2, p_md(from, LONG, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, teq), &me[1], &md[1]));
	OK(p_post(3, p_md(&word[2], 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, teq),
		  &me[2], &md[2]));
	OK(PtlMDBind(ni, p_md(from, LONG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &put));
	OK(PtlMDBind(ni, p_md(to, LONG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &get));
	OK(PtlMDBind(ni, p_md(&word[0], 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &old));
	OK(PtlMDBind(ni, p_md(&word[1], 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &new));
	OK(PtlMDBind(ni, p_md(from, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, beq), PTL_RETAIN, &one));
	if (t_bad_)
		return 1;
	/* no time passes between these, since they find room: none is made to somebody who is gone */
	OK(PtlPutRegion(put, 0, 100, PTL_ACK_REQ, self, PT, 0, 1, 0, 0));
	OK(PtlPut(put, PTL_ACK_REQ, self, PT, 0, 1, 0, 0));
	OK(PtlGet(get, self, PT, 0, 2, 0));
	OK(PtlGetPut(old, new, self, PT, 0, 3, 0, 0));
	for (unsigned i = 0; i < burst; i++)
		OK(PtlPut(one, PTL_NO_ACK_REQ, self, PT_SYNC, 0, 0, 0, 0));
	alive = probe();
	collect(ieq);
	CHECK_INT(seen[PTL_EVENT_SEND_END], 3);
	CHECK_INT(seen[PTL_EVENT_REPLY_END], 2);
	/* a SEND_END that says so is the last word of a put */
	CHECK_INT(seen[PTL_EVENT_ACK] + failed[PTL_EVENT_SEND_END], 2);
	collect(teq);
	for (int k = PTL_EVENT_GET_START; k < PTL_EVENT_REPLY_START; k += 2)
		CHECK_INT(seen[k], seen[k + 1]);
	if (alive)
		for (int k = 0; k <= PTL_EVENT_UNLINK; k++)
			CHECK_INT(failed[k], 0);
	for (unsigned i = 0; i < burst; i++) {		/* those after the end have NI_FAIL */
		ptl_event_t ev;

		if (CHECK_INT(PtlEQGet(beq, &ev), PTL_OK))
			CHECK(ev.type == PTL_EVENT_SEND_END && (!alive || ev.ni_fail_type == PTL_NI_OK));
	}
	NONE(beq);
	if (!alive)
		nobody_is_there(put, get);
	OK(PtlMDUnlink(put));
	OK(PtlMDUnlink(get));
	OK(PtlMDUnlink(old));
	OK(PtlMDUnlink(new));
	OK(PtlMDUnlink(one));
	for (int i = 0; i < 3; i++)
		OK(PtlMEUnlink(me[i]));
	CHECK_INT(p_status(PTL_SR_MDS_CUR), mds);
	began = t_now();
	PtlFini();
	CHECK(t_now() - began < LEAVE);
	return t_bad_ ? 1 : alive ? 3 : 0;
}

/* The life with each number of frames, until one is not cut short. */
static void lives(const char *others, unsigned burst)
{
	char loop[100];
	unsigned n = 1;
	int st = 0;

	for (; !st && CHECK(n < MOST); n += 1 + n / 40) {
		pid_t pid = fork();

		REQUIRE(pid >= 0);
		if (!pid) {
			snprintf(loop, sizeof(loop), "%sdisconnect=%u", others, n);
			setenv("PTL_LOOP", loop, 1);
			st = life(burst);
			if (st == 1)
				diag("so it is with %s", loop);
			fflush(stdout);
			_exit(st);
		}
		REQUIRE_INT(waitpid(pid, &st, 0), pid);
	}
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 3);
	CHECK(n > 15);
	diag("all is sent with %u frames", n);
}

static void t_cut_at_each_frame(void) { lives("", 0); }
static void t_cut_where_frames_are_lost_too(void) { lives("loss=100,dup=100,reorder=100,", 0); }
static void t_cut_while_calls_wait_for_room(void) { lives("room=4,", 300); }

int main(void)
{
	static const struct t_case cases[] = {
		T(t_cut_at_each_frame), T(t_cut_where_frames_are_lost_too), T(t_cut_while_calls_wait_for_room), { 0 }
	};

	setenv("PTL_NAL", "loop", 1);
	return t_run(cases);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_hosts.c - a job on two hosts: what comes through the network between them, when that fails, and for good
 *
 *	t_hosts whole	all ranks to all, puts, gets and swaps of all sizes: each byte arrives
 *	t_hosts again	the link is down for a while (T_DOWN, T_UP: commands) with messages under way: all of them
 *			arrive
 *	t_hosts cut	it stays down: what was under way ends with a failure in bounded time, each host goes on by
 *			itself, and closes
 *	t_hosts kill	the ranks talk until they are ended (t_hosts.sh kills all that runs on the second host)
 *
 * Started by t_hosts.sh, under a launcher, with PTL_INIT_TIMEOUT_S=1 for "cut". Half of the ranks are on each host.
 */
#include "../api/ptl.h"

#include <stdbool.h>

enum { LONG = 300000, MOST = 16, ROUNDS = 12 };

static unsigned char *in[MOST], *out, *got, *want;
static ptl_handle_eq_t eq;
static ptl_handle_md_t out_md, got_md;
static int n, me;

static bool far_from_me(int rank)
{
	return p_id(rank).nid != p_id(me).nid;
}

static void run(const char *variable)
{
	const char *command = getenv(variable);

	NEED(command);
	CHECK_INT(system(command), 0);
}

/* So many ends, each once, by then; how many of them failed. What ends for want of an acknowledgement is one, too. */
static unsigned ends(unsigned puts, unsigned gets, double seconds)
{
	unsigned send = 0, ack = 0, reply = 0, failed = 0;
	double until = t_now() + seconds;
	ptl_event_t e;
	int which;

	while ((send < puts || ack < puts || reply < gets) && t_now() < until) {
		if (PtlEQPoll(&eq, 1, 100, &e, &which) != PTL_OK)
			continue;
		send += e.type == PTL_EVENT_SEND_END;
		ack += e.type == PTL_EVENT_ACK || (e.type == PTL_EVENT_SEND_END && e.ni_fail_type != PTL_NI_OK);
		reply += e.type == PTL_EVENT_REPLY_END;
		failed += e.ni_fail_type != PTL_NI_OK;
	}
	CHECK_INT(send, puts);
	CHECK_INT(ack, puts);
	CHECK_INT(reply, gets);
	return failed;
}

static void fill(unsigned char *p, size_t len, int from, int to, unsigned round)
{
	uint64_t s = (uint64_t)from << 40 ^ (uint64_t)to << 32 ^ round;

	for (size_t i = 0; i < len; i += 61)
		p[i] = (unsigned char)t_random(&s);
}

static size_t length(int from, int to, unsigned round)
{
	uint64_t s = (uint64_t)from << 40 ^ (uint64_t)to << 32 ^ round;

	return round % 3 ? t_random(&s) % LONG : t_random(&s) % 9000;
}

static bool same(const unsigned char *p, size_t len, int from, int to, unsigned round)
{
	fill(want, len, from, to, round);
	for (size_t i = 0; i < len; i += 61)
		if (p[i] != want[i])
			return false;
	return true;
}

/* Others are to come first, to both hosts: they make the files T_AFTER.0 and .1. */
static void after_others(void)
{
	double until = t_now() + 30;

	for (int host = 0; getenv("T_AFTER") && host < 2; host++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s.%d", getenv("T_AFTER"), host);
		while (access(file, F_OK) && t_now() < until)
			usleep(1000);
		CHECK(!access(file, F_OK));
	}
}

static void set_up(void)
{
	ptl_handle_me_t e;
	ptl_handle_md_t h;

	n = t_size();
	me = t_rank();
	NEED(n <= MOST);
	after_others();
	out = calloc(1, LONG);
	got = calloc(1, LONG);
	want = calloc(1, LONG);
	NEED_OK(PtlEQAlloc(ni, 65536, PTL_EQ_HANDLER_NONE, &eq));
	for (int r = 0; r < n; r++) {
		in[r] = calloc(1, LONG);
		NEED(in[r] && out && got && want);
		NEED_OK(p_post((ptl_match_bits_t)r, p_md(in[r], LONG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
							 PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), &e, &h));
	}
	NEED_OK(PtlMDBind(ni, p_md(out, LONG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &out_md));
	NEED_OK(PtlMDBind(ni, p_md(got, LONG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &got_md));
}

/* One to each: a put, and what has arrived there read back. */
static void all_to_all(unsigned round)
{
	for (int i = 0; i < n; i++) {
		int to = (me + i) % n;
		size_t len = length(me, to, round);

		fill(out, len, me, to, round);
		NEED_OK(PtlPutRegion(out_md, 0, len, PTL_ACK_REQ, p_id(to), PT, 0, (ptl_match_bits_t)me, 0, 0));
		CHECK_INT(ends(1, 0, 30), 0);
		memset(got, 0xee, len);
		NEED_OK(PtlGetRegion(got_md, 0, len, p_id(to), PT, 0, (ptl_match_bits_t)me, 0));
		CHECK_INT(ends(0, 1, 30), 0);
		CHECK(same(got, len, me, to, round));
	}
	t_barrier();
	for (int from = 0; from < n; from++)
		CHECK(same(in[from], length(from, me, round), from, me, round));
	t_barrier();
}

static void t_each_byte_arrives(void)
{
	unsigned far = 0;

	set_up();
	t_barrier();
	for (int r = 0; r < n; r++)
		far += far_from_me(r);
	CHECK_INT(far, n / 2);
	for (unsigned round = 0; round < ROUNDS; round++)
		all_to_all(round);
}

static void t_what_was_under_way_arrives_when_the_link_is_back(void)
{
	unsigned puts = 0;
	double begin;

	set_up();
	t_barrier();
	all_to_all(0);
	begin = t_now();
	if (!me)
		run("T_DOWN");
	t_barrier();
	fill(out, LONG, me, 0, 1);
	for (int i = 0; i < 8; i++)
		for (int r = 0; r < n; r++)
			puts += PtlPut(out_md, PTL_ACK_REQ, p_id(r), PT, 0, (ptl_match_bits_t)me, 0, 0) == PTL_OK;
	CHECK_INT(puts, 8 * n);
	if (!me) {
		nanosleep(&(struct timespec){ 1, 500000000 }, NULL);
		run("T_UP");
	}
	CHECK_INT(ends(puts, 0, 30), 0);
	CHECK(t_now() - begin > 1);
	t_barrier();
	for (int from = 0; from < n; from++)
		CHECK(same(in[from], LONG, from, 0, 1));
	t_barrier();
	all_to_all(2);
}

static void t_each_host_goes_on_by_itself(void)
{
	unsigned puts = 0, gets = 0, near_puts = 0, failed;
	double begin;

	set_up();
	t_barrier();
	all_to_all(0);
	if (!me)
		run("T_DOWN");
	t_barrier();
	begin = t_now();
	for (int i = 0; i < 8; i++)
		for (int r = 0; r < n; r++) {
			if (!far_from_me(r))
				continue;
			puts += PtlPut(out_md, PTL_ACK_REQ, p_id(r), PT, 0, (ptl_match_bits_t)me, 0, 0) == PTL_OK;
			gets += PtlGet(got_md, p_id(r), PT, 0, (ptl_match_bits_t)me, 0) == PTL_OK;
		}
	CHECK_INT(puts, 8 * (n / 2));
	/* nothing of the host itself waits for that */
	for (int r = 0; r < n; r++)
		if (!far_from_me(r))
			near_puts += PtlPutRegion(out_md, 0, 8, PTL_ACK_REQ, p_id(r), PT_SYNC, 0, 0, 0, 0) == PTL_OK;
	failed = ends(puts + near_puts, gets, 25);
	CHECK(t_now() - begin < 20);
	diag("%u puts and %u gets have ended after %.1f s, %u failed", puts, gets, t_now() - begin, failed);
	CHECK(failed >= gets);
	/* whoever calls now hears it at once */
	begin = t_now();
	for (int r = 0; r < n; r++) {
		if (!far_from_me(r))
			continue;
		OK(PtlPut(out_md, PTL_ACK_REQ, p_id(r), PT, 0, (ptl_match_bits_t)me, 0, 0));
		CHECK(ends(1, 0, 5));
	}
	CHECK(t_now() - begin < 1);
	for (int r = 0; r < n; r++)
		if (!far_from_me(r))
			p_sync_with(p_id(r));
	OK(p_unlink_sent(out_md));
	t_barrier();
}

static void t_until_the_end(void)
{
	set_up();
	t_barrier();
	for (unsigned round = 0;; round++) {
		all_to_all(round);
		if (!me && round == 1)
			atomic_store(t_word(0), 1);
	}
}

int main(int argc, char **argv)
{
	static const struct t_case cases[][2] = {
		{ T(t_each_byte_arrives) }, { T(t_what_was_under_way_arrives_when_the_link_is_back) },
		{ T(t_each_host_goes_on_by_itself) }, { T(t_until_the_end) },
	};
	static const char *const how[] = { "whole", "again", "cut", "kill" };
	int rc = 2;

	for (int i = 0; i < 4; i++)
		if (argc > 1 && !strcmp(argv[1], how[i])) {
			p_init();
			rc = t_run(cases[i]);
			PtlFini();
		}
	return rc;
}

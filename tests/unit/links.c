/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * links.c - nal/transport/model on a clock of its own: when frames are due, in which order, what links a text means
 */
#include "tap.h"
#include "transport/model/model.h"

enum { NODES = 4, RANKS = 8, MAX = 4096 };

static struct model m;
static struct model_link link_[NODES];
static int64_t busy[NODES];
static char why[300];

/* What was delivered, at the time when it was. */
static struct { uint32_t rank, n, number; int64_t at; } got[MAX];
static uint32_t n_got;
static int64_t now;

static void deliver(void *ctx, uint32_t rank, const uint8_t *bytes, uint32_t n)
{
	if (n_got == MAX)
		return;
	got[n_got].rank = rank;
	got[n_got].n = n;
	got[n_got].number = 0;
	if (n >= 4)
		memcpy(&got[n_got].number, bytes, 4);
	got[n_got++].at = now;
}

static int send_(uint32_t node, uint32_t rank, uint32_t n, uint32_t number)
{
	static uint8_t buf[40000];
	int rc;

	memset(buf, (int)number, n);
	if (n >= 4)
		memcpy(buf, &number, 4);
	rc = model_take(&m, node, rank, n ? buf : NULL, n, now);
	memset(buf, 0xee, n);		/* the transport's buffer is its own again */
	return rc;
}

/* As an event loop would: sleep until the model says. */
static void run(void)
{
	int64_t next;

	while ((next = model_run(&m, now, deliver, NULL)) != 0) {
		if (!CHECK(next > now))
			return;
		now = next;
	}
}

static int begin(const char *text)
{
	memset(busy, 0, sizeof(busy));
	n_got = 0;
	now = 1000000000;
	return model_parse(text, NODES, 0, link_, why, sizeof(why)) || model_start(&m, NODES, link_, busy);
}

static void t_a_frame_is_late_by_latency_and_its_bytes(void)
{
	REQUIRE(!begin("500:50"));
	CHECK_INT(send_(1, 1, 10000, 7), 0);
	CHECK(model_run(&m, now, deliver, NULL) == now + 500000 + 200000);	/* 10 kB at 50 B/us */
	CHECK_INT(n_got, 0);
	now += 699999;
	CHECK(model_run(&m, now, deliver, NULL) == now + 1);
	CHECK_INT(n_got, 0);
	now++;
	CHECK(!model_run(&m, now, deliver, NULL));
	CHECK_INT(n_got, 1);
	CHECK(got[0].rank == 1 && got[0].n == 10000 && got[0].number == 7);
	model_stop(&m);
}

static void t_a_stream_has_the_bandwidth_whatever_the_latency(void)
{
	int64_t t0;

	REQUIRE(!begin("5000:80"));
	t0 = now;
	for (uint32_t i = 0; i < 1000; i++)
		CHECK_INT(send_(2, 2, 32896, i), 0);
	run();
	CHECK_INT(n_got, 1000);
	CHECK(now - t0 == 5000000 + 1000 * 411200);
	for (uint32_t i = 0; i < n_got; i++)
		CHECK_INT(got[i].number, i);
	model_stop(&m);
}

static void t_an_idle_link_saves_nothing_up(void)
{
	REQUIRE(!begin("0:100"));
	send_(1, 1, 1000, 0);
	run();
	now += 100000000;
	send_(1, 1, 1000, 1);
	CHECK(model_run(&m, now, deliver, NULL) == now + 10000);
	model_stop(&m);
}

static void t_ranks_of_a_node_share_its_link_and_nodes_do_not(void)
{
	int64_t t0;

	REQUIRE(!begin("10:100"));
	t0 = now;
	send_(1, 1, 10000, 0);
	send_(1, 5, 10000, 1);
	send_(2, 2, 10000, 2);
	run();
	REQUIRE(n_got == 3);
	CHECK(got[0].at - t0 == 110000 && got[1].at - t0 == 110000);	/* one of each node */
	CHECK(got[0].rank + got[1].rank == 3);
	CHECK(got[2].rank == 5 && got[2].at - t0 == 210000);
	model_stop(&m);
}

static void t_processes_that_share_the_word_share_the_link(void)
{
	struct model other;

	REQUIRE(!begin("0:100"));
	REQUIRE(!model_start(&other, NODES, link_, busy));
	send_(1, 1, 10000, 0);
	CHECK_INT(model_take(&other, 1, 5, (const uint8_t *)"0123456789", 10, now), 0);
	CHECK(model_run(&other, now, deliver, NULL) == now + 100000 + 100);
	model_stop(&other);
	model_stop(&m);
}

static void t_the_end_of_a_rank_comes_after_its_frames(void)
{
	REQUIRE(!begin("1000:1"));
	CHECK_INT(send_(3, 3, 0, 0), 1);	/* nothing is held: the caller tells at once */
	send_(3, 3, 5000, 1);
	send_(3, 3, 5000, 2);
	CHECK_INT(send_(3, 3, 0, 0), 0);
	send_(3, 7, 5000, 3);
	run();
	REQUIRE(n_got == 4);
	CHECK(got[0].number == 1 && got[1].number == 2 && !got[2].n && got[2].rank == 3 && got[3].rank == 7);
	CHECK(got[2].at == got[1].at);
	model_stop(&m);
}

static void t_a_link_that_is_not_set_holds_nothing(void)
{
	FILE *f = fopen("links", "w");

	REQUIRE(f);
	fprintf(f, "# of one pair\n 0 2 10 0 # slow\n");
	fclose(f);
	REQUIRE(!begin("links"));
	CHECK_INT(send_(1, 1, 100, 0), 1);
	CHECK_INT(send_(2, 2, 100, 0), 0);
	CHECK(model_run(&m, now, deliver, NULL) == now + 10000);	/* no limit of bandwidth */
	model_stop(&m);
}

static void t_what_is_held_is_given_up(void)
{
	REQUIRE(!begin("1000:1"));
	for (uint32_t i = 0; i < 10; i++)
		send_(1 + i % 3, 1, 100, i);
	model_stop(&m);		/* valgrind looks for the rest */
	CHECK_INT(n_got, 0);
}

static int file(const char *text)
{
	FILE *f = fopen("links", "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		return -2;
	why[0] = 0;
	return model_parse("links", NODES, 1, link_, why, sizeof(why));
}

static void t_a_file_of_links(void)
{
	CHECK_INT(file("* * 5 100\n1 2 7.5 50\n\n# comment\n3 * 9 0\n9 1 1 1\n"), 0);
	CHECK(link_[0].set && link_[0].latency_ns == 5000 && link_[0].ns_per_mb == 10000000);
	CHECK(!link_[1].set);
	CHECK(link_[2].latency_ns == 7500 && link_[2].ns_per_mb == 20000000);
	CHECK(link_[3].latency_ns == 9000 && link_[3].ns_per_mb == 0 && link_[3].set);
	CHECK_INT(file("2 1 7 50"), 0);		/* both directions; no line end */
	CHECK(link_[2].set && !link_[0].set && !link_[3].set);
	CHECK_INT(file("1 1 7 50\n0 2 7 50\n"), 0);	/* oneself; others */
	CHECK(!link_[0].set && !link_[1].set && !link_[2].set);
}

static void t_bad_text_is_refused_with_its_line(void)
{
	static const char *const bad[] = {
		"0 1 5\n", "0 1\n", "0 1 5 5 5\n", "0 -1 5 5\n", "a b c d\n", "0 1 nan 5\n", "0 1 5 -5\n",
		"0 1 1e9 5\n",
		"0 1 5 0.0001\n", "01 5 5\n",
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!CHECK(file(bad[i]) == -1 && strstr(why, "links:1")))
			diag("%s%s", bad[i], why);
	CHECK(file("* * 1 1\n\n0 x\n") == -1 && strstr(why, "links:3"));
	for (unsigned i = 0; i < 5; i++) {
		static const char *const text[] = { "5", "5:", "5:5x", ":", "11000000:1" };

		CHECK(model_parse(text[i], NODES, 0, link_, why, sizeof(why)) == -1 && strstr(why, text[i]));
	}
	CHECK(!model_parse("0:0", NODES, 0, link_, why, sizeof(why)) && link_[1].set && !link_[0].set);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_a_frame_is_late_by_latency_and_its_bytes), T(t_a_stream_has_the_bandwidth_whatever_the_latency),
		T(t_an_idle_link_saves_nothing_up), T(t_ranks_of_a_node_share_its_link_and_nodes_do_not),
		T(t_processes_that_share_the_word_share_the_link), T(t_the_end_of_a_rank_comes_after_its_frames),
		T(t_a_link_that_is_not_set_holds_nothing), T(t_what_is_held_is_given_up), T(t_a_file_of_links),
		T(t_bad_text_is_refused_with_its_line), { 0 }
	};

	return t_run(cases);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_links.c - PTL_LINKS over real connections: latency and bandwidth are those that were asked for, within a
 * tenth, and the ranks of a node share them
 *
 * Half of the ranks are on one virtual node, half on the other; r and r + half are a pair. What is asked for is large
 * against what TCP over the loopback takes, and the best of several tries counts, so that a busy machine
 * disturbs little; less than what was asked for is wrong at any time.
 *
 *	t_links [equal|file]	how the links are told
 *	t_links bad		a value that makes no sense: no rank starts, soon
 */
#include <stdbool.h>

#include "ptl.h"

#define LATENCY_US	4000.0
#define MBPS		40.0
#define SHORT_		(1 << 20)
#define LONG_		(3 << 20)

static char buf[LONG_];
static int half;
static ptl_process_id_t other;
static ptl_handle_md_t out;
static ptl_handle_eq_t acks;

static double us(void)
{
	return t_now() * 1e6;
}

static bool near_(double is, double want, const char *what)
{
	diag("%s: %.1f, asked for %.1f", what, is, want);
	return is > want * 0.98 && is < want * 1.1;
}

/* A put with an acknowledgement, until that is there. */
static double put_us(size_t len)
{
	double t = us();
	ptl_event_t ev;

	if (PtlPutRegion(out, 0, len, PTL_ACK_REQ, other, PT, 0, 1, 0, 0) != PTL_OK)
		return -1;
	do
		if (p_get(acks, &ev) != PTL_OK)
			return -1;
	while (ev.type != PTL_EVENT_ACK);
	return us() - t;
}

static void t_the_latency_is_the_links(void)
{
	double best = 1e12;

	t_barrier();
	if (t_rank() == 0) {
		put_us(0);		/* connects */
		for (int i = 0; i < 15; i++) {
			double t = put_us(8) / 2;

			best = t < best ? t : best;
		}
		/* two frames without payload to speak of */
		CHECK(near_(best, LATENCY_US + 128 / MBPS, "us one way"));
	}
	t_barrier();
}

static void t_the_bandwidth_is_the_links(void)
{
	double a = 1e12, b = 1e12;

	t_barrier();
	if (t_rank() == 0) {
		for (int i = 0; i < 5; i++) {
			double t = put_us(SHORT_), u = put_us(LONG_);

			a = t < a ? t : a;
			b = u < b ? u : b;
		}
		/* frames of 32 KiB have a head of 128 bytes; MB/s as time per MB */
		CHECK(near_((b - a) / ((LONG_ - SHORT_) * 1e-6), 1e6 / MBPS, "us for a MB more"));
	}
	t_barrier();
}

/* All pairs at once, one way: as long as one after the other. */
static void t_ranks_of_a_node_share_the_link(void)
{
	double best = 1e12, want = half * (SHORT_ / MBPS) + 2 * LATENCY_US;

	for (int i = 0; i < 5; i++) {
		double t = us();

		t_barrier();
		if (t_rank() < half)
			CHECK(put_us(SHORT_) > 0);
		t_barrier();
		t = us() - t;
		best = t < best ? t : best;
	}
	if (t_rank() == 0)
		CHECK(near_(best, want, "us for all pairs"));
}

static void t_a_bad_value_fails_the_start_of_all(void)
{
	double t = t_now();
	int max;

	REQUIRE_INT(PtlInit(&max), PTL_OK);
	CHECK_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_FAIL);
	CHECK(t_now() - t < 10);
	PtlFini();
}

int main(int argc, char **argv)
{
	static const struct t_case bad[] = { T(t_a_bad_value_fails_the_start_of_all), { 0 } };
	static const struct t_case cases[] = {
		T(t_the_latency_is_the_links), T(t_the_bandwidth_is_the_links),
		T(t_ranks_of_a_node_share_the_link), { 0 }
	};
	char text[64];
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	int rc;

	half = t_size() / 2;
	if (argc > 1 && !strcmp(argv[1], "bad")) {
		setenv("PTL_LINKS", t_rank() ? "none" : "5:fast", 1);	/* one rank that is told so is enough */
		return t_run(bad);
	}
	if (argc > 1 && !strcmp(argv[1], "file")) {
		FILE *f;

		snprintf(text, sizeof(text), "./links.%d", t_rank());
		f = fopen(text, "w");
		if (!f || fprintf(f, "* * 1 1\n0 1 %g %g\n", LATENCY_US, MBPS) < 0 || fclose(f))
			bail("%s: %s", text, strerror(errno));
	} else {
		snprintf(text, sizeof(text), "%g:%g", LATENCY_US, MBPS);
	}
	setenv("PTL_LINKS", text, 1);
	p_init();
	other = p_id((t_rank() + half) % t_size());
	if (PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &acks) ||
	    p_post(1, p_md(buf, sizeof(buf), PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
		   &me, &md) ||
	    PtlMDBind(ni, p_md(buf, sizeof(buf), PTL_MD_THRESH_INF,
			       PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, acks), PTL_RETAIN, &out))
		bail("buffers");
	rc = t_run(cases);
	t_barrier();
	PtlFini();
	return rc;
}

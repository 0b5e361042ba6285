/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals_overlap - can a rank compute while its long put is copied on the node? By itself, or by the engine
 * (PTL_NAL=ap, PTL_SELF_DMA_MIN)
 *
 * bytes is the length of the put; the last word of a figure's name says who copies (sender, engine):
 *   put_sender, put_engine           PtlPut until it is acknowledged, ns
 *   call_sender, ...                 until PtlPut returns, ns
 *   both_sender, ...                 PtlPut, then a computation that takes as long by itself, then its ACK, ns
 *   overlap_sender, ...              of the shorter of the two, how much of it is hidden, in percent: 0 where both take
 *                                    what they take one after the other, 100 where they take what one of them does
 * With --crossover only put, by whoever the environment says, for more lengths: one sees where the engine begins.
 * Rank 1 sleeps. Run it under a launcher on 2 ranks; ./mpt bench portals_overlap runs it both ways, portals_crossover
 * the other. Options: --json, --quick, --crossover
 */
#include "portals.h"

#define MAX	((size_t)16 << 20)

enum { PT_LONG = 4 };

static unsigned char out[MAX], in[MAX];	/* data of the program: in the window */
static ptl_handle_eq_t eq;
static ptl_handle_md_t md;
static double per_turn;			/* ns of a turn of compute() */

static void compute(double ns)
{
	uint64_t v = 1;

	for (uint64_t i = (uint64_t)(ns / per_turn); i; i--) {
		v = v * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(v));
	}
}

static void calibrate(void)
{
	double t, best = 1e18;

	per_turn = 1;
	for (int i = 0; i < 9; i++) {
		t = bench_now_ns();
		compute(2e6);
		t = (bench_now_ns() - t) / 2e6;
		best = t < best ? t : best;
	}
	per_turn = best;
}

/* ns until the put has been acknowledged, with @work ns of computation in between; @call: until PtlPut is back */
static double put(size_t n, double work, double *call)
{
	double t = bench_now_ns();
	ptl_event_t ev;
	int rc;

	check(PtlPutRegion(md, 0, n, PTL_ACK_REQ, id_of(1), PT_LONG, 0, 0, 0, 0));
	*call = bench_now_ns() - t;
	if (work > 0)
		compute(work);
	while ((rc = PtlEQGet(eq, &ev)) == PTL_EQ_EMPTY)
		;
	check_(rc, "PtlEQGet");
	return bench_now_ns() - t;
}

int main(int argc, char **argv)
{
	const unsigned quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	const char *engine = getenv("PTL_SELF_DMA_MIN");
	int quick = bench_flag(argc, argv, "--quick"), rounds = quick ? 9 : 31;
	int crossover = bench_flag(argc, argv, "--crossover");
	size_t max = crossover ? (size_t)4 << 20 : MAX;
	const char *who = engine && strcmp(engine, "0") ? "engine" : "sender";

	start();
	if (bench_args(argc, argv, rank == 0, "--json --quick --crossover", "", "")) {
		finish();
		return 2;
	}
	if (size != 2)
		bench_die("portals_overlap: run it on 2 ranks (this is a job of %u)", size);
	bench_pin((int)rank);
	bench_fill(out, MAX, rank);
	eq = queue(64);
	expose(PT_LONG, in, MAX, PTL_EQ_NONE, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | quiet);
	check(PtlRtBarrier_np());
	if (rank == 0) {
		md = bind(out, MAX, eq, quiet);
		calibrate();
		bench_begin(crossover ? "portals_crossover" : "portals_overlap", bench_flag(argc, argv, "--json"));
		for (size_t n = (size_t)64 << 10; n <= max; n *= crossover ? 2 : 4) {
			double alone[31], call[31], both[31], a, b, unused;
			char name[32];

			put(n, 0, &unused);
			for (int i = 0; i < rounds; i++)
				alone[i] = put(n, 0, &call[i]);
			a = bench_median(alone, rounds);
			if (crossover) {
				bench_record("put", n, a, "ns");
				continue;
			}
			for (int i = 0; i < rounds; i++)
				both[i] = put(n, a, &unused);
			b = bench_median(both, rounds);
			snprintf(name, sizeof(name), "put_%s", who);
			bench_record(name, n, a, "ns");
			snprintf(name, sizeof(name), "call_%s", who);
			bench_record(name, n, bench_median(call, rounds), "ns");
			snprintf(name, sizeof(name), "both_%s", who);
			bench_record(name, n, b, "ns");
			snprintf(name, sizeof(name), "overlap_%s", who);
			bench_record(name, n, (2 * a - b) / a * 100, "percent");
		}
		bench_end();
	}
	check(PtlRtBarrier_np());
	finish();
	return 0;
}

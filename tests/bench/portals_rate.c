/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals_rate - operations of 8 bytes one after the other: how many a second
 *
 * On 2 ranks (ns per operation; slices with h between them):
 *   put_gap_eqget    windows of 64 PtlPut, answered by one put; the target fetches the events with PtlEQGet
 *   put_gap_eqwait   the same, the target waits in PtlEQWait
 *   event_gap        as put_gap_eqget with PUT_START and PUT_END: ns per event that the target fetches
 *   get_8            PtlGet until its REPLY event, the other process not in the library: a round trip
 *   swap_8           PtlGetPut of a word until its REPLY event, as get_8
 *   swap_gap         the same, 64 under way at a time
 * On 3 and more, --only crowd (ns per put, of all initiators together; bytes is their number):
 *   crowd_same       all others put to one portal table entry of rank 0, which makes no call meanwhile
 *   crowd_apart      each to an entry of its own
 * Options: --json, --quick, --only put_gap_eqget,...
 */
#include "portals.h"

#define WINDOW	64
#define PARTS	"put_gap_eqget put_gap_eqwait event_gap get_8 swap_8 swap_gap crowd"

enum { PT_PUT = 4, PT_BOTH, PT_ANSWER, PT_GET, PT_SWAP, PT_CROWD };	/* the last: one for each initiator behind it */

static ptl_process_id_t peer;
static ptl_handle_eq_t eq_put, eq_answer, eq_own;
static ptl_handle_md_t md_send, md_take, md_operand;
static uint64_t word = 1, taken[WINDOW], into, into_both, answered, given = 7, swapped;

/* What a rank that is not in the library looks at, and its peer writes by a put that nobody is told of. */
static volatile uint64_t rung;
static uint64_t rings;

static void ring(void)
{
	static uint64_t n;
	static ptl_handle_md_t md;

	if (!n)
		md = bind(&n, sizeof(n), PTL_EQ_NONE, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE);
	n++;
	check(PtlPut(md, PTL_NO_ACK_REQ, peer, 0, 0, 0, 0, 0));
}

static void await_ring(void)
{
	rings++;
	while (rung < rings)
		;
}

static void fetch(ptl_handle_eq_t eq)
{
	ptl_event_t ev;
	int rc;

	while ((rc = PtlEQGet(eq, &ev)) == PTL_EQ_EMPTY)
		;
	check_(rc, "PtlEQGet");
}

static void await(ptl_handle_eq_t eq)
{
	ptl_event_t ev;

	check(PtlEQWait(eq, &ev));
}

struct stream {
	ptl_pt_index_t pt;
	int events;		/* of each put at the target */
	void (*next)(ptl_handle_eq_t eq);
	int windows;
};

/* ns per put */
static double stream_once(void *arg)
{
	const struct stream *s = arg;
	double t = bench_now_ns();

	for (int w = 0; w < s->windows; w++) {
		if (rank == 0) {
			for (int i = 0; i < WINDOW; i++)
				check(PtlPut(md_send, PTL_NO_ACK_REQ, peer, s->pt, 0, 0, 0, 0));
			s->next(eq_answer);
		} else {
			for (int i = 0; i < WINDOW * s->events; i++)
				s->next(eq_put);
			check(PtlPut(md_send, PTL_NO_ACK_REQ, peer, PT_ANSWER, 0, 0, 0, 0));
		}
	}
	return (bench_now_ns() - t) / s->windows / WINDOW;
}

static double event_once(void *arg)
{
	const struct stream *s = arg;

	return stream_once(arg) / s->events;
}

enum how { GET, SWAP, SWAPS };

/* ns per operation; rank 1 does nothing but h. */
static double fetching_once(void *arg)
{
	enum how how = *(enum how *)arg;
	int n = how == SWAPS ? WINDOW : 1, times = how == SWAPS ? 4 : 50;
	double t;

	if (rank == 1) {
		await_ring();
		return 0;
	}
	t = bench_now_ns();
	for (int k = 0; k < times; k++) {
		for (int i = 0; i < n; i++)
			if (how == GET)
				check(PtlGet(md_take, peer, PT_GET, 0, 0, 0));
			else
				check(PtlGetPut(md_take, md_operand, peer, PT_SWAP, 0, 0, 0, 0));
		for (int i = 0; i < n; i++)
			await(eq_own);
	}
	t = (bench_now_ns() - t) / (times * n);
	ring();
	return t;
}

static void measure(const char *figure, double (*once)(void *), void *arg)
{
	struct bench_slice slice[BENCH_SLICES];

	check(PtlRtBarrier_np());
	bench_slices((int)rank, once, arg, slice, BENCH_SLICES);
	if (rank == 0)
		bench_record_slices(figure, 8, slice, BENCH_SLICES);
}

static void pair(int argc, char **argv)
{
	const unsigned take = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_ACK_DISABLE;
	const unsigned quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	struct stream s = { PT_PUT, 1, fetch, 5 };
	enum how how[] = { GET, SWAP, SWAPS };

	peer = id_of(!rank);
	eq_put = queue(1024);
	eq_answer = queue(64);
	eq_own = queue(1024);
	expose(0, (void *)&rung, sizeof(rung), PTL_EQ_NONE, take | quiet);
	expose(PT_PUT, &into, 8, eq_put, take | PTL_MD_EVENT_START_DISABLE);
	expose(PT_BOTH, &into_both, 8, eq_put, take);
	expose(PT_ANSWER, &answered, 8, eq_answer, take | PTL_MD_EVENT_START_DISABLE);
	expose(PT_GET, &given, 8, PTL_EQ_NONE, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | quiet);
	expose(PT_SWAP, &swapped, 8, PTL_EQ_NONE, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | quiet);
	md_send = bind(&word, 8, PTL_EQ_NONE, quiet);
	md_operand = bind(&word, 8, PTL_EQ_NONE, quiet);
	md_take = bind(taken, 8, eq_own, PTL_MD_EVENT_START_DISABLE);

	if (bench_wanted(argc, argv, "put_gap_eqget"))
		measure("put_gap_eqget", stream_once, &s);
	s.next = await;
	if (bench_wanted(argc, argv, "put_gap_eqwait"))
		measure("put_gap_eqwait", stream_once, &s);
	s = (struct stream){ PT_BOTH, 2, fetch, 5 };
	if (bench_wanted(argc, argv, "event_gap"))
		measure("event_gap", event_once, &s);
	for (int i = 0; i < 3; i++) {
		static const char *const name[] = { "get_8", "swap_8", "swap_gap" };

		if (bench_wanted(argc, argv, name[i]))
			measure(name[i], fetching_once, &how[i]);
	}
	check(PtlRtBarrier_np());
}

/*
 * All ranks but 0 put for @ms; rank 0 sleeps. How many that were each says by a put of its own; rank 0 adds them up.
 * The initiators take turns on the cores where there are fewer: what is compared is the sum in the same time.
 */
static double crowd(int apart, int ms)
{
	static uint64_t total[1024];
	static ptl_handle_md_t md_total;
	static uint64_t mine;
	static int open;
	double until, sum = 0;

	if (!open) {
		const unsigned quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;

		open = 1;
		if (rank == 0) {
			static uint64_t line[128][16];

			for (unsigned i = 0; i < size; i++)
				expose(PT_CROWD + i, line[i], 8, PTL_EQ_NONE, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
				       PTL_MD_ACK_DISABLE | quiet);
			expose(PT_ANSWER, total, sizeof(total), PTL_EQ_NONE, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
			       PTL_MD_ACK_DISABLE | quiet);
		}
		md_send = bind(&word, 8, PTL_EQ_NONE, quiet);
		md_total = bind(&mine, 8, PTL_EQ_NONE, quiet);
		peer = id_of(0);
	}
	check(PtlRtBarrier_np());
	if (rank == 0) {
		struct timespec t = { 0, ms * 1000000L };

		nanosleep(&t, NULL);
	} else {
		until = bench_now_ns() + ms * 1e6;
		mine = 0;
		while (bench_now_ns() < until) {
			for (int i = 0; i < 100; i++)
				check(PtlPut(md_send, PTL_NO_ACK_REQ, peer, PT_CROWD + (apart ? rank : 0), 0, 0, 0, 0));
			mine += 100;
		}
		check(PtlPut(md_total, PTL_NO_ACK_REQ, peer, PT_ANSWER, 0, 0, rank * 8, 0));
	}
	check(PtlRtBarrier_np());
	for (unsigned r = 1; r < size; r++)
		sum += (double)total[r];
	return sum > 0 ? ms * 1e6 / sum : 0;
}

int main(int argc, char **argv)
{
	int quick = bench_flag(argc, argv, "--quick"), json = bench_flag(argc, argv, "--json");

	start();
	if (bench_args(argc, argv, rank == 0, "--json --quick", "--only", PARTS)) {
		finish();
		return 2;
	}
	if (size < 2 || PT_CROWD + size > 128)
		bench_die("portals_rate: run it on 2 to %d ranks (this is a job of %u)", 128 - PT_CROWD, size);
	if (rank == 0)
		bench_begin("portals_rate", json);
	if (size == 2) {
		bench_pin((int)rank);
		bench_line_open();
		pair(argc, argv);
	} else if (bench_wanted(argc, argv, "crowd")) {
		double same[9], apart[9];
		int n = quick ? 3 : 9;

		/* initiators have the cores in turn; rank 0 sleeps */
		bench_pin((int)rank - (rank > 0));
		crowd(0, 20);
		for (int i = 0; i < n; i++) {
			same[i] = crowd(0, 100);
			apart[i] = crowd(1, 100);
		}
		if (rank == 0) {
			bench_record("crowd_same", size - 1, bench_median(same, n), "ns");
			bench_record("crowd_apart", size - 1, bench_median(apart, n), "ns");
		}
	}
	if (rank == 0)
		bench_end();
	finish();
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals_locks - what calls of the ranks of a node exclude each other by (PTL_LOCKS): the message rate of all of them
 *
 * ns per acknowledged put of 8 bytes, of all ranks together; bytes is the number of ranks, and the last word of a
 * figure's name is PTL_LOCKS:
 *   ring_entry, ring_node, ring_master   each rank puts to the next one, WINDOW puts under way
 *   one_entry, ...                       all others put to one entry of rank 0
 * As in virtual node mode on Catamount: "master" one process makes all calls, "node" each its own under one lock. Run
 * it under a launcher on any number of ranks; ./mpt bench portals_locks runs it on 2, 4 and 8, each way. Options:
 * --json, --quick, --only ring,one
 */
#include "portals.h"
#include <sched.h>

#define WINDOW	32
#define PARTS	"ring one"

enum { PT_RING = 4, PT_ONE, PT_TOTAL };

static ptl_handle_eq_t eq;
static ptl_handle_md_t md;

/* Puts of this rank that were acknowledged within @ms. */
static uint64_t puts_in(ptl_process_id_t to, ptl_pt_index_t pt, int ms)
{
	double until = bench_now_ns() + ms * 1e6;
	uint64_t done = 0;
	unsigned under_way = 0;
	ptl_event_t ev;

	while (under_way || bench_now_ns() < until) {
		while (under_way < WINDOW && bench_now_ns() < until) {
			int rc = PtlPut(md, PTL_ACK_REQ, to, pt, 0, 0, 0, 0);

			if (rc == PTL_NO_SPACE)
				break;
			check_(rc, "PtlPut");
			under_way++;
		}
		if (PtlEQGet(eq, &ev) == PTL_EQ_EMPTY) {
			if (size > 2)
				sched_yield();
			continue;
		}
		under_way--;
		done++;
	}
	return done;
}

/* ns per put, of all ranks; valid in rank 0 */
static double once(int one, int ms, ptl_handle_md_t md_mine, uint64_t *mine, const uint64_t *total)
{
	double sum = 0;

	check(PtlRtBarrier_np());
	*mine = one && !rank ? 0 : puts_in(one ? id_of(0) : id_of((rank + 1) % size), one ? PT_ONE : PT_RING, ms);
	check(PtlPut(md_mine, PTL_NO_ACK_REQ, id_of(0), PT_TOTAL, 0, 0, rank * 8, 0));
	check(PtlRtBarrier_np());
	for (unsigned r = 0; r < size; r++)
		sum += (double)total[r];
	return sum > 0 ? ms * 1e6 / sum : 0;
}

int main(int argc, char **argv)
{
	const unsigned quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	const unsigned take = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | quiet;
	static const char *const part[] = { "ring", "one" };
	const char *locks = getenv("PTL_LOCKS");
	static uint64_t word, into[2], mine, total[1024];
	int quick = bench_flag(argc, argv, "--quick"), n = quick ? 3 : 9;
	ptl_handle_md_t md_mine;
	char name[32];

	start();
	if (bench_args(argc, argv, rank == 0, "--json --quick", "--only", PARTS)) {
		finish();
		return 2;
	}
	if (size < 2 || size > 1024)
		bench_die("portals_locks: run it on 2 ranks or more (this is a job of %u)", size);
	bench_pin((int)rank);
	eq = queue(8 * WINDOW);
	expose(PT_RING, &into[0], 8, PTL_EQ_NONE, take);
	expose(PT_ONE, &into[1], 8, PTL_EQ_NONE, take);
	expose(PT_TOTAL, total, sizeof(total), PTL_EQ_NONE, take);
	md = bind(&word, 8, eq, quiet);
	md_mine = bind(&mine, 8, PTL_EQ_NONE, quiet);
	if (rank == 0)
		bench_begin("portals_locks", bench_flag(argc, argv, "--json"));
	for (int one = 0; one < 2; one++) {
		double v[9];

		if (!bench_wanted(argc, argv, part[one]))
			continue;
		once(one, 10, md_mine, &mine, total);
		for (int i = 0; i < n; i++)
			v[i] = once(one, quick ? 20 : 50, md_mine, &mine, total);
		snprintf(name, sizeof(name), "%s_%s", part[one], locks ? locks : "entry");
		if (rank == 0)
			bench_record(name, size, bench_median(v, n), "ns");
	}
	if (rank == 0)
		bench_end();
	check(PtlRtBarrier_np());
	finish();
	return 0;
}

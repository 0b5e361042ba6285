/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals_copy - long puts against memcpy: 64 bytes to 64 MiB, rank 0 to rank 1
 *
 * ns for each length (powers of four, and three bytes less and more for the fresh ones):
 *   memcpy          plain memcpy between two private mappings of rank 0
 *   mover           smartmap_write() into the other's buffer: what a put does with its bytes, and no more
 *   put_one         PtlPut; rank 1 is not in the library, so that rank 0 copies all of it
 *   put_both        PtlPut, rank 1 waits in PtlEQWait: both may copy
 *   memcpy_fresh    memcpy through the window; put_one_fresh, put_both_fresh: as above. The source is written before
 *                   each and the destination read by rank 1 behind it; only the copy is timed, to its last store
 *   first_use       PtlPut of 1 MiB into a buffer of rank 1 that rank 0 never touched before, each a malloc() of its
 *                   own; bytes is which use of the buffer it is: 1 or 100. Rank 1 writes it before each use
 *   first_use_part  the same, the buffers are parts of one large block
 * Run it under a launcher on 2 ranks. Options: --json, --quick, --only memcpy,...
 */
#include "portals.h"
#include <smartmap.h>

#define MAX	((size_t)64 << 20)
#define SLACK	8192
#define FIRST	((size_t)1 << 20)
#define BUFFERS	24
#define PARTS	"memcpy mover put_one put_both memcpy_fresh put_one_fresh put_both_fresh first_use first_use_part"

enum { PT_FLAG = 3, PT_QUIET, PT_EVENTS, PT_FIRST, PT_PART };

static ptl_process_id_t peer;
static int local;			/* the peer's number on this node */
static unsigned char *src, *dst, *theirs, *priv_src, *priv_dst;
static volatile uint64_t flag;		/* rank 0 counts up in rank 1's and the other way round */
static uint64_t seen, *their_flag;
static ptl_handle_md_t md_src;
static ptl_handle_eq_t eq;

/* Both words are reached by plain stores: nothing of Portals between two measurements. */
static void tell(void)
{
	static uint64_t n;

	__atomic_store_n(their_flag, ++n, __ATOMIC_RELEASE);
}

static void hear(void)
{
	seen++;
	while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) < seen)
		bench_relax();
}

enum how { MEMCPY, MOVER, PUT_ONE, PUT_BOTH, MEMCPY_FRESH, ONE_FRESH, BOTH_FRESH };
static const char *const how_name[] = { "memcpy", "mover", "put_one", "put_both", "memcpy_fresh", "put_one_fresh",
					"put_both_fresh" };

static void move(enum how how, size_t n)
{
	switch (how) {
	case MEMCPY:
		memcpy(priv_dst, priv_src, n);
		__asm__ volatile("" : : "r"(priv_dst) : "memory");
		break;
	case MOVER:
		if (smartmap_write(local, theirs, src, n))
			bench_die("portals_copy: smartmap_write failed");
		break;
	case MEMCPY_FRESH:
		memcpy(smartmap_remote(local, theirs), src, n);
		break;
	case PUT_ONE:
	case ONE_FRESH:
		check(PtlPutRegion(md_src, 0, n, PTL_NO_ACK_REQ, peer, PT_QUIET, 0, 0, 0, 0));
		break;
	case PUT_BOTH:
	case BOTH_FRESH:
		check(PtlPutRegion(md_src, 0, n, PTL_NO_ACK_REQ, peer, PT_EVENTS, 0, 0, 0, 0));
		break;
	}
	atomic_thread_fence(memory_order_seq_cst);	/* the last store has left */
}

/* Rank 0's time of @times copies; rank 1 stands by as the figure asks. */
static double several(enum how how, size_t n, int times)
{
	int fresh = how >= MEMCPY_FRESH;
	double sum = 0, t;
	ptl_event_t ev;

	if (rank == 1) {
		uint64_t s = 0;

		for (int i = 0; i < times; i++) {
			if (how == PUT_BOTH || how == BOTH_FRESH)
				check(PtlEQWait(eq, &ev));
			if (!fresh)
				continue;
			hear();
			s += bench_sum(dst, n);
			tell();
		}
		__asm__ volatile("" : : "r"(s));
		hear();
		tell();
		return 0;
	}
	if (!fresh) {
		t = bench_now_ns();
		for (int i = 0; i < times; i++)
			move(how, n);
		t = (bench_now_ns() - t) / times;
		tell();
		hear();
		return t;
	}
	for (int i = 0; i < times; i++) {
		bench_fill(src, n, (unsigned)i);
		t = bench_now_ns();
		move(how, n);
		sum += bench_now_ns() - t;
		tell();
		hear();
	}
	tell();
	hear();
	return sum / times;
}

/* All ways in turn, several times: what the machine does meanwhile happens to all of them. */
static void length(int argc, char **argv, const enum how *way, int ways, size_t n, int quick)
{
	size_t budget = (size_t)(quick ? 16 : 48) << 20;
	int any = 0;
	int times = n * 4 > budget ? 4 : (int)(budget / n > 2000 ? 2000 : budget / n), rounds = quick ? 3 : 7;
	double v[8][8];

	for (int w = 0; w < ways; w++)
		any |= bench_wanted(argc, argv, how_name[way[w]]);
	if (!any)
		return;
	for (int w = 0; w < ways; w++)
		several(way[w], n, times / 4 + 1);
	for (int r = 0; r < rounds; r++)
		for (int w = 0; w < ways; w++)
			v[w][r] = several(way[w], n, (times + rounds - 1) / rounds);
	for (int w = 0; w < ways && rank == 0; w++)
		if (bench_wanted(argc, argv, how_name[way[w]]))
			bench_record(how_name[way[w]], n, bench_median(v[w], rounds), "ns");
}

/* @one: parts of one block, else each a block of its own. */
static void first_use(const char *figure, ptl_pt_index_t pt, int one)
{
	static double first[BUFFERS], later[BUFFERS];
	static unsigned char *buf[BUFFERS];

	for (int b = 0; b < BUFFERS && rank == 1; b++) {
		buf[b] = !one || !b ? malloc(one ? BUFFERS * FIRST : FIRST) : buf[b - 1] + FIRST;
		if (!buf[b])
			bench_die("portals_copy: out of memory");
		bench_fill(buf[b], FIRST, (unsigned)b);
		expose_bits(pt, (ptl_match_bits_t)b, 0, buf[b], FIRST, PTL_EQ_NONE,
			    PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_ACK_DISABLE | PTL_MD_EVENT_START_DISABLE |
			    PTL_MD_EVENT_END_DISABLE);
	}
	check(PtlRtBarrier_np());
	/* in turn, so that caches know no more of one at its hundredth use than at its first */
	for (int i = 1; i <= 100; i++)
		for (int b = 0; b < BUFFERS; b++) {
			double t;

			if (rank == 1) {
				bench_fill(buf[b], FIRST, (unsigned)i);
				tell();
				hear();
				continue;
			}
			hear();
			t = bench_now_ns();
			check(PtlPutRegion(md_src, 0, FIRST, PTL_NO_ACK_REQ, peer, pt, 0, (ptl_match_bits_t)b, 0, 0));
			t = bench_now_ns() - t;
			if (i == 1)
				first[b] = t;
			if (i == 100)
				later[b] = t;
			tell();
		}
	if (rank == 0) {
		bench_record(figure, 1, bench_median(first, BUFFERS), "ns");
		bench_record(figure, 100, bench_median(later, BUFFERS), "ns");
	}
	check(PtlRtBarrier_np());
}

int main(int argc, char **argv)
{
	static const enum how reused[] = { MEMCPY, MOVER, PUT_ONE, PUT_BOTH };
	static const enum how fresh[] = { MEMCPY_FRESH, ONE_FRESH, BOTH_FRESH };
	int quick = bench_flag(argc, argv, "--quick"), json = bench_flag(argc, argv, "--json");
	const unsigned take = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_ACK_DISABLE | PTL_MD_EVENT_START_DISABLE;
	static uint64_t where[2];	/* the peer's buffer and flag, in its own addresses */
	ptl_event_t ev;

	start();
	if (bench_args(argc, argv, rank == 0, "--json --quick", "--only", PARTS)) {
		finish();
		return 2;
	}
	if (size != 2 || smartmap_size() != 2)
		bench_die("portals_copy: run it on 2 ranks of a node (this is a job of %u)", size);
	bench_pin((int)rank);
	peer = id_of(!rank);
	local = !smartmap_rank();
	src = malloc(MAX + SLACK);
	dst = malloc(MAX + SLACK);
	priv_src = mmap(NULL, MAX + SLACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	priv_dst = mmap(NULL, MAX + SLACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!src || !dst || priv_src == MAP_FAILED || priv_dst == MAP_FAILED)
		bench_die("portals_copy: out of memory");
	memset(src, 1, MAX + SLACK);
	memset(dst, 1, MAX + SLACK);
	memset(priv_src, 1, MAX + SLACK);
	memset(priv_dst, 1, MAX + SLACK);
	eq = queue(4096);
	md_src = bind(src, MAX + SLACK, PTL_EQ_NONE, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE);
	expose(PT_QUIET, dst, MAX + SLACK, PTL_EQ_NONE, take | PTL_MD_EVENT_END_DISABLE);
	expose(PT_EVENTS, dst, MAX + SLACK, eq, take);
	expose(PT_FLAG, where, sizeof(where), eq, take);
	check(PtlRtBarrier_np());
	{
		static uint64_t mine[2];
		ptl_handle_md_t md = bind(mine, sizeof(mine), PTL_EQ_NONE, PTL_MD_EVENT_START_DISABLE |
					  PTL_MD_EVENT_END_DISABLE);

		mine[0] = (uint64_t)(uintptr_t)dst;
		mine[1] = (uint64_t)(uintptr_t)&flag;
		check(PtlPut(md, PTL_NO_ACK_REQ, peer, PT_FLAG, 0, 0, 0, 0));
		check(PtlEQWait(eq, &ev));
	}
	theirs = (unsigned char *)(uintptr_t)where[0];
	their_flag = smartmap_remote(local, (void *)(uintptr_t)where[1]);
	if (!their_flag || !smartmap_reachable(local, theirs, MAX + SLACK) ||
	    !smartmap_reachable(local, (void *)(uintptr_t)where[1], 8))
		bench_die("portals_copy: the other rank's memory is not in the window: %s",
			  smartmap_why(SMARTMAP_F_HEAP));
	check(PtlRtBarrier_np());
	if (rank == 0)
		bench_begin("portals_copy", json);
	if (bench_wanted(argc, argv, "first_use"))
		first_use("first_use", PT_FIRST, 0);
	if (bench_wanted(argc, argv, "first_use_part"))
		first_use("first_use_part", PT_PART, 1);
	for (size_t n = 64; n <= MAX; n *= 4)
		length(argc, argv, reused, 4, n, quick);
	for (size_t n = 64; n <= MAX; n *= 4)
		for (int odd = quick ? 0 : -3; odd <= (quick ? 0 : 3); odd += 3)
			length(argc, argv, fresh, 3, n + (size_t)odd, quick);
	if (rank == 0)
		bench_end();
	check(PtlRtBarrier_np());
	finish();
	return 0;
}

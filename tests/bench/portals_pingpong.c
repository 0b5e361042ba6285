/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals_pingpong - PtlPut back and forth between ranks 0 and 1, and what a few calls cost
 *
 * Figures (half round trips in ns; both sides do the same):
 *   put_eqget     the target calls PtlEQGet until the event is there
 *   put_eqwait    the target waits in PtlEQWait
 *   put_spin      no event queue: the target looks at the last byte of its buffer, makes no Portals call, and answers
 *                 with PtlPut. The initiator does all the work
 *   put_polled    as put_eqget on a portal table entry of PtlPTPolled_np
 *   put_fresh     as put_eqwait, the data written before each put and read behind it; only the transfer is timed
 *   get           PtlGet until its REPLY event, the other process not in the library: a round trip
 *   eqget_empty   PtlEQGet on an empty queue
 *   memdpost      PtlMEMDPost with an empty test queue
 * Run it under a launcher on 2 ranks. Options: --json, --quick, --only put_eqget,...
 */
#include "portals.h"

#define MAX		((size_t)4 << 20)
#define REPS		7
#define POSTS		256

enum { PT_EVENTS = 4, PT_SPIN, PT_POLLED, PT_READY, PT_GET, PT_POST };

static ptl_process_id_t peer;
static unsigned char *sbuf, *rbuf, *gbuf;
static ptl_handle_eq_t eq_put, eq_polled, eq_ready, eq_own;
static ptl_handle_md_t md_send, md_ready, md_get;
static uint64_t ready_word;

static void put(size_t n, ptl_pt_index_t pt)
{
	int rc;

	/* a polled portal whose inbox is full: the peer will fetch */
	while ((rc = PtlPutRegion(md_send, 0, n, PTL_NO_ACK_REQ, peer, pt, 0, 0, 0, 0)) == PTL_NO_SPACE)
		bench_relax();
	check_(rc, "PtlPutRegion");
}

/*
 * Both ranks arrive: a word each way, repeated until acknowledged, since the peer may not have its entry yet. The
 * number of the meeting travels as header data; a peer that is one ahead has arrived here as well.
 */
static void barrier(void)
{
	static ptl_hdr_data_t meeting, seen;
	ptl_event_t ev;
	int which, acked = 0, rc;

	meeting++;
	for (int tries = 0; !acked || seen < meeting; tries++) {
		if (!acked)
			check(PtlPutRegion(md_ready, 0, 8, PTL_ACK_REQ, peer, PT_READY, 0, 0, 0, meeting));
		while ((rc = PtlEQPoll(&eq_ready, 1, 100, &ev, &which)) == PTL_OK) {
			if (ev.type == PTL_EVENT_ACK)
				acked = 1;
			if (ev.type == PTL_EVENT_PUT_END && ev.hdr_data > seen)
				seen = ev.hdr_data;
			if (acked && seen >= meeting)
				return;
		}
		if (rc != PTL_EQ_EMPTY)
			check_(rc, "PtlEQPoll");
		if (tries > 300)
			bench_die("portals_pingpong: rank %u: the other rank does not answer", rank);
	}
}

static void await_get(ptl_handle_eq_t eq)
{
	ptl_event_t ev;
	int rc;

	while ((rc = PtlEQGet(eq, &ev)) == PTL_EQ_EMPTY)
		;
	check_(rc, "PtlEQGet");
}

static void await_wait(ptl_handle_eq_t eq)
{
	ptl_event_t ev;

	check(PtlEQWait(eq, &ev));
}

static void await_byte(size_t n, unsigned char want)
{
	while (*(volatile unsigned char *)(rbuf + n - 1) != want)
		;
	atomic_thread_fence(memory_order_acquire);
}

enum how { EQGET, EQWAIT, SPIN, POLLED };
static const char *const how_name[] = { "put_eqget", "put_eqwait", "put_spin", "put_polled" };
static const ptl_pt_index_t how_pt[] = { PT_EVENTS, PT_EVENTS, PT_SPIN, PT_POLLED };

static unsigned char spin_flag;		/* the same in both ranks */

static void await(enum how how, size_t n, unsigned char flag)
{
	switch (how) {
	case EQGET:
		await_get(eq_put);
		break;
	case EQWAIT:
		await_wait(eq_put);
		break;
	case SPIN:
		await_byte(n, flag);
		break;
	case POLLED:
		await_get(eq_polled);
		break;
	}
}

static double pingpong_once(enum how how, size_t n, int iters)
{
	double t = bench_now_ns();

	for (int i = 0; i < iters; i++) {
		unsigned char flag = spin_flag = (unsigned char)(spin_flag % 250 + 1);

		if (how == SPIN)
			sbuf[n - 1] = flag;
		if (rank == 0) {
			put(n, how_pt[how]);
			await(how, n, flag);
		} else {
			await(how, n, flag);
			put(n, how_pt[how]);
		}
	}
	return (bench_now_ns() - t) / iters / 2;
}

struct small {
	enum how how;
	size_t n;
};

static double small_once(void *arg)
{
	struct small *s = arg;

	return pingpong_once(s->how, s->n, 50);
}

static double pingpong(enum how how, size_t n, int iters)
{
	double rep[REPS];

	barrier();
	pingpong_once(how, n, iters / 5 + 1);
	for (int r = 0; r < REPS; r++)
		rep[r] = pingpong_once(how, n, iters);
	return bench_median(rep, REPS);
}

#define FRESH_MAX	1000

/* As `fresh` of mpi_p2p: rank 1's own time of each iteration is subtracted, both read one clock. */
static double fresh(size_t n, int iters)
{
	static double part[FRESH_MAX], theirs[FRESH_MAX];
	uint64_t sum = 0;

	barrier();
	for (int i = -1; i < iters; i++) {
		double t1, t2;

		if (rank == 0) {
			bench_fill(sbuf, n, (unsigned)i);
			t1 = bench_now_ns();
			put(n, PT_EVENTS);
			await_wait(eq_put);
			t2 = bench_now_ns();
			sum += bench_sum(rbuf, n);
		} else {
			await_wait(eq_put);
			t1 = bench_now_ns();
			sum += bench_sum(rbuf, n);
			bench_fill(sbuf, n, (unsigned)i);
			t2 = bench_now_ns();
			put(n, PT_EVENTS);
		}
		if (i >= 0)
			part[i] = t2 - t1;
	}
	__asm__ volatile("" : : "r"(sum));
	if (rank == 0) {
		await_wait(eq_put);
		memcpy(theirs, rbuf, sizeof(*theirs) * (size_t)iters);
		for (int i = 0; i < iters; i++)
			part[i] = (part[i] - theirs[i]) / 2;
		return bench_median(part, iters);
	}
	memcpy(sbuf, part, sizeof(*part) * (size_t)iters);
	put(sizeof(*part) * (size_t)iters, PT_EVENTS);
	return 0;
}

/* ns of a PtlGet of @n bytes; rank 1 stands outside of the library, on its buffer's last byte. */
static double get(size_t n, int iters)
{
	double rep[REPS] = { 0 };
	ptl_event_t ev;

	barrier();
	rbuf[7] = 0;
	barrier();
	if (rank == 1) {
		await_byte(8, 0x5a);
		return 0;
	}
	for (int r = 0; r < REPS; r++) {
		double t = bench_now_ns();

		for (int i = 0; i < iters; i++) {
			check(PtlGetRegion(md_get, 0, n, peer, PT_GET, 0, 0, 0));
			check(PtlEQWait(eq_own, &ev));
		}
		rep[r] = (bench_now_ns() - t) / iters;
	}
	sbuf[7] = 0x5a;
	put(8, PT_SPIN);
	return bench_median(rep, REPS);
}

static double eqget_empty(int iters)
{
	double rep[REPS];
	ptl_event_t ev;

	for (int r = 0; r < REPS; r++) {
		double t = bench_now_ns();

		for (int i = 0; i < iters; i++)
			if (PtlEQGet(eq_own, &ev) != PTL_EQ_EMPTY)
				bench_die("portals_pingpong: an event nobody expects");
		rep[r] = (bench_now_ns() - t) / iters;
	}
	return bench_median(rep, REPS);
}

/* Receives are posted before one entry that stays, as MPI does it; taken off again between the batches, not timed. */
static double memdpost(int batches)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = { .start = gbuf, .length = 64, .threshold = 1, .options = PTL_MD_OP_PUT, .eq_handle = eq_own };
	static ptl_handle_me_t me[POSTS];
	double *rep = malloc(sizeof(*rep) * (size_t)batches), v;
	ptl_handle_me_t last;
	ptl_handle_md_t handle;

	check(PtlMEAttach(ni, PT_POST, any, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &last));
	for (int b = 0; b < batches; b++) {
		double t = bench_now_ns();

		for (int i = 0; i < POSTS; i++) {
			int rc = PtlMEMDPost(ni, last, any, (ptl_match_bits_t)i, 0, PTL_UNLINK, PTL_INS_BEFORE, md,
					     PTL_UNLINK, &me[i], &handle, eq_own);

			if (rc != PTL_OK)
				check_(rc, "PtlMEMDPost");
		}
		rep[b] = (bench_now_ns() - t) / POSTS;
		for (int i = 0; i < POSTS; i++)
			check(PtlMEUnlink(me[i]));
	}
	check(PtlMEUnlink(last));
	v = bench_median(rep, batches);
	free(rep);
	return v;
}

static int repeats(size_t bytes, size_t budget_mb, int lo, int hi)
{
	size_t n = (budget_mb << 20) / (bytes + 1);

	return n < (size_t)lo ? lo : n > (size_t)hi ? hi : (int)n;
}

static void setup(void)
{
	const unsigned take = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	const unsigned quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;

	start();
	if (size != 2)
		bench_die("portals_pingpong: run it on 2 ranks (this is a job of %u)", size);
	peer = id_of(!rank);

	/* plain malloc, as an application */
	sbuf = malloc(MAX + 8192);
	rbuf = malloc(MAX + 8192);
	gbuf = malloc(MAX + 8192);
	if (!sbuf || !rbuf || !gbuf)
		bench_die("portals_pingpong: out of memory");
	memset(sbuf, 0, MAX + 8192);
	memset(rbuf, 0, MAX + 8192);
	memset(gbuf, 0, MAX + 8192);
	sbuf += 64;
	rbuf += 64 + 2048;

	eq_put = queue(1024);
	eq_polled = queue(1024);
	eq_ready = queue(1024);
	eq_own = queue(1024);

	check(PtlPTPolled_np(ni, PT_POLLED, 1));
	expose(PT_EVENTS, rbuf, MAX, eq_put, take | PTL_MD_ACK_DISABLE);
	expose(PT_SPIN, rbuf, MAX, PTL_EQ_NONE, take | PTL_MD_ACK_DISABLE);
	expose(PT_POLLED, rbuf, MAX, eq_polled, take | PTL_MD_ACK_DISABLE);
	expose(PT_GET, rbuf, MAX, PTL_EQ_NONE, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | quiet);
	expose(PT_READY, &ready_word, 8, eq_ready, take);

	md_send = bind(sbuf, MAX, PTL_EQ_NONE, quiet);
	md_ready = bind(&ready_word, 8, eq_ready, quiet);
	md_get = bind(gbuf, MAX, eq_own, PTL_MD_EVENT_START_DISABLE);
}

int main(int argc, char **argv)
{
	static const size_t quick_sizes[] = { 8, 1024, 8192, 65536, 262144, 1048576, 4194304 };
	int quick = bench_flag(argc, argv, "--quick"), json = bench_flag(argc, argv, "--json");
	size_t sizes[64];
	int count = 0;

	setup();
	if (bench_args(argc, argv, rank == 0, "--json --quick", "--only",
		       "put_eqget put_eqwait put_spin put_polled put_fresh get eqget_empty memdpost")) {
		finish();
		return 2;
	}
	bench_pin((int)rank);
	bench_line_open();
	if (quick) {
		count = (int)(sizeof(quick_sizes) / sizeof(quick_sizes[0]));
		memcpy(sizes, quick_sizes, sizeof(quick_sizes));
	} else {
		for (size_t n = 1; n <= MAX; n *= 2)
			sizes[count++] = n;
	}
	if (rank == 0)
		bench_begin("portals_pingpong", json);
	for (enum how how = EQGET; how <= POLLED; how++) {
		if (!bench_wanted(argc, argv, how_name[how]))
			continue;
		for (int i = 0; i < count; i++) {
			size_t n = sizes[i];
			double v;

			if (how == POLLED && n > PTL_INLINE_MAX_NP)
				break;
			if (n == 8) {
				struct bench_slice slice[BENCH_SLICES];
				struct small small = { how, n };

				barrier();
				bench_slices((int)rank, small_once, &small, slice, BENCH_SLICES);
				if (rank == 0)
					bench_record_slices(how_name[how], n, slice, BENCH_SLICES);
				continue;
			}
			v = pingpong(how, n, repeats(n, quick ? 8 : 32, 8, quick ? 5000 : 30000));
			if (rank == 0)
				bench_record(how_name[how], n, v, "ns");
		}
	}
	if (bench_wanted(argc, argv, "put_fresh"))
		for (size_t n = 64u << 10; n <= MAX; n *= 4)
			for (int odd = -3; odd <= 3; odd += 3) {
				double v;

				if (n + (size_t)odd > MAX)
					continue;
				v = fresh(n + (size_t)odd, repeats(n, quick ? 16 : 64, 8, FRESH_MAX));
				if (rank == 0)
					bench_record("put_fresh", n + (size_t)odd, v, "ns");
			}
	if (bench_wanted(argc, argv, "get"))
		for (int i = 0; i < count; i++) {
			double v = get(sizes[i], repeats(sizes[i], quick ? 8 : 32, 8, quick ? 5000 : 20000));

			if (rank == 0)
				bench_record("get", sizes[i], v, "ns");
		}
	barrier();
	/* one rank at a time, so that the other's polling is not measured with it */
	if (rank == 0) {
		if (bench_wanted(argc, argv, "eqget_empty"))
			bench_record("eqget_empty", 0, eqget_empty(quick ? 200000 : 1000000), "ns");
		if (bench_wanted(argc, argv, "memdpost"))
			bench_record("memdpost", 0, memdpost(quick ? 40 : 200), "ns");
		bench_end();
	}
	barrier();
	finish();
	return 0;
}

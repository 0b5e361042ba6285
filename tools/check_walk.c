/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * check_walk.c - what a rank of ptl_check does: put, get and exchange each size by one path, and look at everything
 *
 * Rank 0 begins each operation, rank 1 is the target (where there is one rank it is both). Both go through the
 * same list of operations; a barrier stands before each and behind it. In between a quiet target makes no call
 * of the library. Of each operation both sides see the events, the bytes, and that no byte beside them has
 * changed. At the end the counters of the target say by which path it all went.
 */
#include "config.h"

#include "check.h"
#include "look.h"
#include "p3_knobs.h"

#include <p3rt/p3rt.h>
#include <portals3.h>
#include <sched.h>
#include <smartmap/smartmap.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PT	4
#define PT_POLLED 5
#define GUARD	32
#define LEAD	2e-3		/* seconds in which a target should have begun to look */
#define TRIES	100		/* puts of a size until one has gone by the inbox */
#define ROOM	((1u << 20) + 4096)

const struct check_path_info check_path[CHECK_PATH_MAX] = {
#define X(s, name, ranks, max, env, what) { name, ranks, max, env, what },
	CHECK_PATHS(X)
#undef X
};

/* Ends of words, of a line of the inbox, of what it takes at most, of frames, of pages. */
static const uint32_t sizes[] = {
	0, 1, 7, 8, 9, 40, 41, 56, 57, 60, 61, 64, 65, 120, 121, 255, 257, 511, 512, 513, 1021, 1460, 4095, 4096,
		4099, 8191,
	8192, 8193, 65535, 65537, 262147, (1 << 20) - 3, 1 << 20,
};
#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))
static const uint32_t swap_sizes[] = { 0, 1, 3, 4, 8, 13, 16, 31, 32, 60, 61, 64 };
#define NSWAPS (sizeof(swap_sizes) / sizeof(swap_sizes[0]))

static unsigned char src[ROOM], dst[ROOM], old[ROOM];	/* static: the program's data, which peers can see */

static ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
static ptl_process_id_t target, first;
static unsigned my_rank, ranks;
static ptl_handle_eq_t ieq, teq;
static ptl_handle_md_t src_md, get_md, dst_md;
static ptl_handle_me_t dst_me;

/* This walk. */
static enum check_path path;
static struct check_page *page;
static struct check_rank *me;
static bool ini, tgt, quiet, broken;
static double patience;
static ptl_event_t event;		/* the target's, fetched while it polled */
static bool have_event;
static char sizes_said[64];		/* those that certainly went this way */
static uint32_t longest_said;
static double took;			/* the last put, until it was acknowledged; seconds */

double check_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

unsigned check_my_rank(void)
{
	return my_rank;
}

static __attribute__((format(printf, 1, 2))) void fail(const char *fmt, ...)
{
	va_list ap;

	if (!broken) {
		size_t n = (size_t)snprintf(me->why, sizeof(me->why), "%s: ", me->doing);

		va_start(ap, fmt);
		if (n < sizeof(me->why))
			vsnprintf(me->why + n, sizeof(me->why) - n, fmt, ap);
		va_end(ap);
	}
	broken = true;
	me->result = CHECK_FAIL;
	if (page)
		__atomic_store_n(&page->abort, 1, __ATOMIC_RELEASE);
}

static bool given_up(void)
{
	return broken || (page && __atomic_load_n(&page->abort, __ATOMIC_ACQUIRE));
}

static bool call(int rc, const char *what)
{
	if (rc != PTL_OK)
		fail("%s: %s", what, PtlErrorStr((unsigned)rc));
	return rc == PTL_OK;
}

static void barrier(void)
{
	uint32_t turn;

	/* so that whoever sends next knows us as one that polls; and so that what we send is no stream,
		which goes straight */
	for (int i = 0; i < 4 && !(ini && tgt) && !quiet && !given_up(); i++)
		PtlProgress(ni, 0);

	if (!page) {
		if (ranks > 1)
			PtlRtBarrier_np();
		return;
	}
	if (ini && tgt)
		return;
	turn = __atomic_load_n(&page->turn, __ATOMIC_ACQUIRE);
	if (__atomic_add_fetch(&page->arrived, 1, __ATOMIC_ACQ_REL) == 2) {
		__atomic_store_n(&page->arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&page->turn, turn + 1, __ATOMIC_RELEASE);
		return;
	}
	for (unsigned n = 1; __atomic_load_n(&page->turn, __ATOMIC_ACQUIRE) == turn && !given_up(); n++)
		if (n % 256 == 0)
			sched_yield();
}

/* ---- bytes ---- */

static unsigned char pattern(uint32_t seed, uint32_t i)
{
	return (unsigned char)((i * 2654435761u + seed * 40503u) >> 13);
}

static void fill(unsigned char *p, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] = pattern(seed, i);
}

/* @n bytes at @p, as fill() makes them, and nothing but @guard beside them. */
static void look_at(const unsigned char *p, uint32_t n, uint32_t seed, unsigned char guard)
{
	for (uint32_t i = 0; i < n; i++)
		if (p[i] != pattern(seed, i)) {
			fail("byte %u is 0x%02x instead of 0x%02x", i, p[i], pattern(seed, i));
			return;
		}
	for (uint32_t i = 0; i < GUARD; i++)
		if (p[-1 - (int)i] != guard || p[n + i] != guard) {
			fail("a byte beside the message has changed");
			return;
		}
}

static void clean(unsigned char *p, uint32_t n, unsigned char guard)
{
	memset(p - GUARD, guard, n + 2 * GUARD);
}

/* ---- events ---- */

/* We go on waiting until the driver has looked who waits for whom. */
static void no_event(ptl_handle_eq_t eq)
{
	double until = check_now() + 1;
	ptl_event_t ev;
	int which;

	if (page)
		__atomic_store_n(&page->ask, 1, __ATOMIC_RELEASE);
	while (page && !__atomic_load_n(&page->asked, __ATOMIC_ACQUIRE) && check_now() < until &&
	       PtlEQPoll(&eq, 1, 600, &ev, &which) == PTL_EQ_EMPTY)
		;
	fail("no event within %.1f s", patience);
}

/* The next event of @eq in time; another thing to wait for may be the target's own event, where we are both. */
static bool next(ptl_handle_eq_t eq, ptl_event_t *ev)
{
	double until = check_now() + patience;
	int rc, which;

	for (;;) {
		rc = PtlEQPoll(&eq, 1, 20, ev, &which);
		if (rc != PTL_EQ_EMPTY || given_up() || check_now() > until)
			break;
	}
	if (rc == PTL_OK)
		return true;
	if (rc != PTL_EQ_EMPTY)
		fail("%s instead of an event", PtlErrorStr((unsigned)rc));
	else if (!given_up())
		no_event(eq);
	return false;
}

static bool expect(const ptl_event_t *ev, ptl_event_kind_t kind, uint32_t bytes, uint64_t offset, bool data,
		   uint32_t step)
{
	if (ev->type != kind) {
		fail("%s instead of %s", PtlEventKindStr(ev->type), PtlEventKindStr(kind));
	} else if (ev->ni_fail_type != PTL_NI_OK) {
		fail("%s: %s", PtlEventKindStr(kind), PtlNIFailStr(ni, ev->ni_fail_type));
	} else if (ev->mlength != bytes || ev->rlength != bytes || ev->offset != offset || ev->match_bits != step ||
		   (data && ev->hdr_data != 1000 + step)) {
		fail("%s of %llu bytes at %llu, match bits %llu, data %llu: not what was sent", PtlEventKindStr(kind),
		     (unsigned long long)ev->mlength, (unsigned long long)ev->offset,
		     (unsigned long long)ev->match_bits, (unsigned long long)ev->hdr_data);
	} else if ((kind == PTL_EVENT_PUT_END || kind == PTL_EVENT_GET_END || kind == PTL_EVENT_GETPUT_END) &&
		   (ev->initiator.nid != first.nid || ev->initiator.pid != first.pid)) {
		fail("%s says that %u:%u sent it", PtlEventKindStr(kind), ev->initiator.nid, ev->initiator.pid);
	} else {
		return true;
	}
	return false;
}

/* A target that polls: look until the message is there. A quiet one looks when all has happened. */
static void target_polls(void)
{
	if (!tgt || ini || quiet || given_up())
		return;
	if (page && path == CHECK_INBOX)	/* is in a polling call from now on */
		__atomic_store_n(&page->looks, me->messages, __ATOMIC_RELEASE);
	have_event = next(teq, &event);
}

/* The inbox that rank 0 has in the target; NULL: it cannot be seen. @l: the target's region. */
static struct p3l_lane_hdr *lane_of(const struct p3l_ni **l)
{
	void *at = smartmap_lookup(1, 0);

	*l = at ? smartmap_remote(1, at) : NULL;
	return *l ? p3l_lane(*l, 0) : NULL;
}

/* How many the target itself has taken out of it. Those that rank 0 took out in its place are not among them. */
static uint64_t taken(void)
{
	const struct p3l_ni *l;
	const struct p3l_lane_hdr *lane = lane_of(&l);

	return lane ? p3_load(&lane->hot_count) + p3_load(&lane->long_count) : 0;
}

/* Does it say that it is inside a polling call? */
static bool polls(void)
{
	const struct p3l_ni *l;
	struct p3l_lane_hdr *lane = lane_of(&l);
	uint32_t head = lane ? p3_load(&lane->head) : 0;

	return lane && p3_load(&p3l_lane_line(l, lane, head)->word) == p3l_word(P3L_W_POLL, head);
}

/* It looks, before we send. It does not say so to whom it does not know yet, nor asleep: we do not wait for long. */
static void target_looks(void)
{
	double until = check_now() + patience;

	if (!ini || tgt || path != CHECK_INBOX)
		return;
	if (page)
		while (__atomic_load_n(&page->looks, __ATOMIC_ACQUIRE) != me->messages && !given_up() &&
		       check_now() < until)
			sched_yield();
	until = check_now() + LEAD;
	while (!polls() && check_now() < until)
		sched_yield();
}

static bool target_event(ptl_event_kind_t kind, uint32_t n, uint64_t at, bool data, uint32_t step)
{
	if (!have_event && !next(teq, &event))
		return false;
	have_event = false;
	return expect(&event, kind, n, at, data, step);
}

/* ---- operations ---- */

static void doing(const char *what, uint32_t n)
{
	snprintf(me->doing, sizeof(me->doing), "rank %u, %s of %u byte%s", my_rank, what, n, n == 1 ? "" : "s");
	me->messages++;
}

static bool attach(bool polled)
{
	const ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = { .start = dst, .length = sizeof(dst), .threshold = PTL_MD_THRESH_INF, .eq_handle = teq,
			.options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE };

	return call(PtlMEAttach(ni, polled ? PT_POLLED : PT, any, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &dst_me),
		    "PtlMEAttach") && call(PtlMDAttach(dst_me, md, PTL_RETAIN, &dst_md), "PtlMDAttach");
}

/* SEND_END and the ACK of a put, in either order; of another kind @second. */
static void two_events(uint32_t n, uint64_t loff, uint64_t roff, uint32_t step, ptl_event_kind_t second)
{
	ptl_event_t ev;
	int seen = 0;

	while (seen != 3) {
		if (!next(ieq, &ev))
			return;
		if (ev.type == PTL_EVENT_SEND_END && !(seen & 1)) {
			if (ev.ni_fail_type != PTL_NI_OK) {
				fail("SEND_END: %s", PtlNIFailStr(ni, ev.ni_fail_type));
				return;
			}
			seen |= 1;
		} else if (!expect(&ev, second, n, second == PTL_EVENT_ACK ? roff : loff, false, step)) {
			return;
		} else {
			seen |= 2;
		}
	}
}

static void one_put(uint32_t n, uint32_t step, bool polled, bool early)
{
	uint32_t loff = GUARD + step % 7, roff = GUARD + step % 13;
	double began;

	doing(early ? "put before the entry" : "put", n);
	if (tgt) {
		clean(dst + roff, n, 0xa5);
		if (early)
			call(PtlMEUnlink(dst_me), "PtlMEUnlink");
	}
	if (ini)
		fill(src + loff, n, step);
	barrier();
	target_looks();
	began = check_now();
	if (ini && !given_up())
		call(PtlPutRegion(src_md, loff, n, PTL_ACK_REQ, target, polled ? PT_POLLED : PT, 0, step, roff, 1000 +
				  step),
		     "PtlPut");
	if (early) {
		barrier();
		if (tgt && !given_up())
			attach(true);
	}
	target_polls();
	if (ini && !given_up())
		two_events(n, loff, roff, step, PTL_EVENT_ACK);
	took = check_now() - began;
	barrier();
	if (tgt && !given_up() && target_event(PTL_EVENT_PUT_END, n, roff, true, step))
		look_at(dst + roff, n, step, 0xa5);
}

static void one_get(uint32_t n, uint32_t step)
{
	uint32_t loff = GUARD + step % 11, roff = GUARD + step % 5;
	ptl_event_t ev;

	doing("get", n);
	if (tgt)
		fill(dst + roff, n, step);
	if (ini)
		clean(old + loff, n, 0x5a);
	barrier();
	if (ini && !given_up())
		call(PtlGetRegion(get_md, loff, n, target, PT, 0, step, roff), "PtlGet");
	target_polls();
	if (ini && !given_up() && next(ieq, &ev) && expect(&ev, PTL_EVENT_REPLY_END, n, loff, false, step))
		look_at(old + loff, n, step, 0x5a);
	barrier();
	if (tgt && !given_up())
		target_event(PTL_EVENT_GET_END, n, roff, false, step);
}

static void one_swap(uint32_t n, uint32_t step)
{
	uint32_t loff = GUARD + step % 3, goff = GUARD + step % 8, roff = GUARD + step % 9;

	doing("exchange", n);
	if (tgt) {
		clean(dst + roff, n, 0xa5);
		fill(dst + roff, n, step + 500);
	}
	if (ini) {
		fill(src + loff, n, step);
		clean(old + goff, n, 0x5a);
	}
	barrier();
	if (ini && !given_up())
		call(PtlGetPutRegion(get_md, goff, src_md, loff, n, target, PT, 0, step, roff, 1000 + step),
		     "PtlGetPut");
	target_polls();
	if (ini && !given_up()) {
		two_events(n, goff, roff, step, PTL_EVENT_REPLY_END);
		if (!given_up())
			look_at(old + goff, n, step + 500, 0x5a);
	}
	barrier();
	if (tgt && !given_up() && target_event(PTL_EVENT_GETPUT_END, n, roff, true, step))
		look_at(dst + roff, n, step, 0xa5);
}

/* ---- how fast ---- */

static double median(double *t, int count)
{
	for (int i = 1; i < count; i++)		/* by insertion: short, and nearly in order */
		for (int k = i; k && t[k] < t[k - 1]; k--) {
			double x = t[k];

			t[k] = t[k - 1];
			t[k - 1] = x;
		}
	return t[count / 2];
}

/* @count operations one after the other; the median, in seconds. */
static double timed(bool get, uint32_t n, int count, bool polled)
{
	static double t[256];
	ptl_event_t ev;

	doing(get ? "timed get" : "timed put", n);
	barrier();
	for (int i = 0; i < count && ini && !given_up(); i++) {
		double t0 = check_now();

		if (get) {
			call(PtlGetRegion(get_md, GUARD, n, target, PT, 0, 1, GUARD), "PtlGet");
			next(ieq, &ev);
		} else {
			call(PtlPutRegion(src_md, GUARD, n, PTL_ACK_REQ, target, polled ? PT_POLLED : PT, 0, 1, GUARD,
					  0),
			     "PtlPut");
			for (int k = 0; k < 2 && !given_up(); k++)
				next(ieq, &ev);
		}
		t[i] = check_now() - t0;
	}
	for (int i = 0; i < count && tgt && !ini && !quiet && !given_up(); i++)
		next(teq, &ev);
	barrier();
	for (int i = 0; i < count && tgt && (ini || quiet) && !given_up(); i++)
		next(teq, &ev);
	return median(t, count);
}

/* ---- the inbox ---- */

static uint32_t inbox_max(void)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);

	return k ? (uint32_t)k->inbox_max : 0;
}

/*
 * Put until @count have gone by the inbox, and store what these took in @t. A put is left there only when the target
 * is found inside a polling call, and rank 0 learns by and by that it polls: others go straight. All ranks
 * read the same counter between two barriers, and so agree on how often. How many went, at least one.
 */
static int by_inbox(uint32_t n, uint32_t *step, int count, double *t)
{
	int tries, got = 0;

	/* some that went are enough for a time: on a busy machine each try may take long */
	for (tries = 0; tries < (got ? 2 * count : TRIES) && got < count && !given_up(); tries++) {
		uint64_t was = taken();

		one_put(n, (*step)++, false, false);
		t[got] = took;
		got += taken() != was;
	}
	if (!got && !given_up())
		fail("none of %d was left in the inbox: the target was never found inside a polling call", tries);
	return got;
}

/* The path by the inbox: each size that may go there did, and is timed; those beyond it are only sent. */
static void inbox_sizes(uint32_t *step)
{
	uint32_t max = inbox_max(), count = 0;
	double t[1];

	for (size_t i = 0; i < NSIZES; i++) {
		if (sizes[i] <= max) {
			by_inbox(sizes[i], step, 1, t);
			longest_said = sizes[i];
			count++;
		} else {
			one_put(sizes[i], (*step)++, false, false);
		}
	}
	snprintf(sizes_said, sizeof(sizes_said), "%u sizes to %u bytes each by the inbox", count, longest_said);
}

/* How long those take that go by it. */
static void time_inbox(void)
{
	static double t[50];
	uint32_t step = 1;

	me->put_us = 1e6 * median(t, by_inbox(longest_said < 8 ? longest_said : 8, &step, 50, t));
	me->put_gbps = (double)longest_said * 1e-9 / median(t, by_inbox(longest_said, &step, 10, t));
}

/* ---- the walk ---- */

bool check_open(struct check_rank *result)
{
	ptl_md_t md = { .start = src, .length = sizeof(src), .threshold = PTL_MD_THRESH_INF,
			.options = PTL_MD_EVENT_START_DISABLE };
	int max;

	me = result;
	if (ni != PTL_INVALID_HANDLE)
		return true;
	snprintf(me->doing, sizeof(me->doing), "opening the interface");
	if (!call(PtlInit(&max), "PtlInit") ||
	    !call(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), "PtlNIInit") ||
	    !call(PtlGetRank(ni, &my_rank, &ranks), "PtlGetRank") ||
	    !call(PtlGetRankId(ni, 0, &first), "PtlGetRankId") ||
	    !call(PtlGetRankId(ni, ranks > 1, &target), "PtlGetRankId") ||
	    !call(PtlEQAlloc(ni, 1024, PTL_EQ_HANDLER_NONE, &ieq), "PtlEQAlloc") ||
	    !call(PtlEQAlloc(ni, 1024, PTL_EQ_HANDLER_NONE, &teq), "PtlEQAlloc"))
		return false;
	md.eq_handle = ieq;
	if (!call(PtlMDBind(ni, md, PTL_RETAIN, &src_md), "PtlMDBind"))
		return false;
	md.start = old;
	return call(PtlMDBind(ni, md, PTL_RETAIN, &get_md), "PtlMDBind");
}

/* What the path cannot do without, and why it is not there. */
static bool there(void)
{
	static const struct { enum check_path p; enum smartmap_feature f; } needs[] = {
		{ CHECK_WINDOW, SMARTMAP_F_WINDOWS }, { CHECK_WINDOW, SMARTMAP_F_DATA }, { CHECK_CMA, SMARTMAP_F_CMA },
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (needs[i].p == path && !smartmap_has(needs[i].f)) {
			bool cma = path == CHECK_CMA && !strstr(smartmap_why(needs[i].f), "ptrace_scope");

			snprintf(me->doing, sizeof(me->doing), "it is not there");
			fail("%s%s", smartmap_why(needs[i].f), cma ? ". A container's seccomp filter may forbid it: "
			     "allow "
			     "process_vm_readv and process_vm_writev, or give it CAP_SYS_PTRACE" : "");
			return false;
		}
	return true;
}

static bool counters(struct look_talk *t)
{
	void *l = smartmap_lookup(1, 0);

	if (path == CHECK_TCP || path == CHECK_LOOP || !l)
		return false;
	return look_talk(smartmap_remote(1, l), my_rank, t);
}

/* All came. Did it go that way? */
static void which_way(const struct look_talk *was)
{
	struct look_talk t;
	uint64_t n[LOOK_PATH_MAX];
	unsigned long d = 0;

	snprintf(me->doing, sizeof(me->doing), "all came, but not by this path");
	if (path == CHECK_TCP && (PtlNIDist(ni, target, &d) != PTL_OK || d < 2))
		fail("the ranks are on one node");
	if (!counters(&t))
		return;
	for (int k = 0; k < LOOK_PATH_MAX; k++)
		n[k] = t.count[k] - was->count[k];
	snprintf(me->ways, sizeof(me->ways), "%llu inbox, %llu put, %llu get, %llu cma, %llu bounce%s%s",
		 (unsigned long long)n[LOOK_INBOX], (unsigned long long)n[LOOK_PUT], (unsigned long long)n[LOOK_GET],
		 (unsigned long long)n[LOOK_CMA], (unsigned long long)n[LOOK_HAND], sizes_said[0] ? "; " : "",
		 sizes_said);
	if ((path == CHECK_WINDOW && (n[LOOK_CMA] || n[LOOK_HAND] || !n[LOOK_PUT] || !n[LOOK_GET])) ||
	    (path == CHECK_POLLED && n[LOOK_INBOX] < NSIZES / 2) ||
	    (path == CHECK_CMA && (!n[LOOK_CMA] || n[LOOK_HAND])) || (path == CHECK_BOUNCE && (!n[LOOK_HAND] ||
		    n[LOOK_CMA])))
		fail("%s", me->ways);
}

static void all_sizes(bool polled)
{
	uint32_t step = 1;

	if (path == CHECK_INBOX)
		inbox_sizes(&step);
	for (size_t i = 0; i < NSIZES; i++) {
		if (sizes[i] <= check_path[path].max && path != CHECK_INBOX) {
			one_put(sizes[i], step++, polled, false);
			if (polled)
				one_put(sizes[i], step++, true, true);
		}
		if (!polled)
			one_get(sizes[i], step++);
	}
	for (size_t i = 0; i < NSWAPS && !polled; i++)
		one_swap(swap_sizes[i], step++);
}

void check_walk(enum check_path p, struct check_page *pg, struct check_rank *result, double seconds)
{
	struct look_talk was = { .count = { 0 } };
	bool polled = p == CHECK_POLLED;
	uint32_t max = check_path[p].max, messages;

	path = p;
	page = pg;
	patience = seconds;
	broken = have_event = false;
	sizes_said[0] = 0;
	ini = tgt = false;
	if (!check_open(result))
		return;
	ini = my_rank == 0;
	tgt = my_rank == (ranks > 1);
	quiet = p == CHECK_WINDOW || p == CHECK_CMA || p == CHECK_TCP;
	if (tgt && polled)
		call(PtlPTPolled_np(ni, PT_POLLED, 1), "PtlPTPolled_np");
	if (tgt)
		attach(polled);
	barrier();
	if (ini && !given_up() && there() && ranks > 1)
		counters(&was);
	all_sizes(polled);
	if (ini && !given_up())
		which_way(&was);
	messages = me->messages;
	if (p == CHECK_INBOX) {
		time_inbox();
	} else {
		me->put_us = 1e6 * timed(false, 8, 100, polled);
		me->get_us = polled ? 0 : 1e6 * timed(true, 8, 50, false);
		me->put_gbps = (double)max * 1e-9 / timed(false, max, 10, polled);
	}
	me->messages = messages;
	barrier();
	if (tgt)
		PtlMEUnlink(dst_me);
	if (tgt && polled)
		PtlPTPolled_np(ni, PT_POLLED, 0);
	if (!given_up())
		me->result = CHECK_PASS;
	barrier();
}

bool check_possible(enum check_path p)
{
	unsigned long d = 0;

	if (ranks < 2)
		return false;
	PtlNIDist(ni, my_rank ? first : target, &d);
	if (d > 1)
		return p == CHECK_TCP;
	return p == CHECK_WINDOW || p == CHECK_INBOX || p == CHECK_POLLED;
}

void check_close(void)
{
	if (ni != PTL_INVALID_HANDLE)
		PtlNIFini(ni);
	PtlFini();
}

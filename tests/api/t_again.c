/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_again.c - PtlNIInit that failed is called again: a pid that another rank has, no memory, and who gives up
 */
#include <stdlib.h>
#include <string.h>

#include "multi.h"
#include "tap.h"

#include <portals3.h>
#include <smartmap/smartmap.h>

#define PT 5

static const ptl_process_id_t anyone = { PTL_NID_ANY, PTL_PID_ANY };

static void t_start(void)
{
	int n;

	REQUIRE_INT(PtlInit(&n), PTL_OK);
}

/* Everything that is left of the own window, in pieces. */
static struct { void *p; size_t len; } eaten[64];

static void eat(void)
{
	size_t len = (size_t)1 << 38;

	for (int n = 0; n < 64 && len >= 1 << 16;) {
		eaten[n].p = smartmap_alloc(len, 0);
		eaten[n].len = len;
		if (eaten[n].p)
			n++;
		else
			len /= 2;
	}
}

static void spit(void)
{
	for (int n = 0; n < 64; n++)
		smartmap_free(eaten[n].p, eaten[n].len);
}

/* One rank has no room for its region, later the first none for the table: nobody starts; then all do. */
static void no_memory(int hungry)
{
	const char *kernel = getenv("PTL_KERNEL");
	struct smartmap_job job = { .rank = (uint32_t)t_rank(), .size = (uint32_t)t_size(), .name = "t_again" };
	ptl_handle_ni_t ni = 0x1234;
	char name[40];

	if (kernel && !strcmp(kernel, "yes"))
		SKIP("the state is not in this memory");
	snprintf(name, sizeof(name), "t_again-%d", (int)(t_size() > 1 ? getppid() : getpid()));
	job.name = name;
	REQUIRE_INT(smartmap_init(&job), 0);
	if (t_rank() == hungry)
		eat();
	for (int i = 0; i < 3; i++)
		CHECK_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_NO_SPACE);
	CHECK_INT(ni, 0x1234);
	if (t_rank() == hungry)
		spit();
	for (int i = 0; i < 20; i++) {		/* what an interface had is had by the next one */
		REQUIRE_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
		CHECK_INT(PtlNIFini(ni), PTL_OK);
	}
	smartmap_fini();
}

static void t_no_memory_then_memory(void)
{
	no_memory(t_size() - 1);
}

static void t_no_memory_in_the_first_rank(void)
{
	no_memory(0);
}

/* A put with acknowledgement to @to's only entry arrives. */
static void reach(ptl_handle_ni_t ni, ptl_process_id_t to)
{
	static char c[8];
	ptl_md_t md = { .start = c, .length = sizeof(c), .threshold = PTL_MD_THRESH_INF, .options = PTL_MD_EVENT_START_DISABLE };
	ptl_handle_md_t h;
	ptl_event_t ev;

	REQUIRE_INT(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &md.eq_handle), PTL_OK);
	REQUIRE_INT(PtlMDBind(ni, md, PTL_RETAIN, &h), PTL_OK);
	CHECK_INT(PtlPut(h, PTL_ACK_REQ, to, PT, 0, 1, 0, 0), PTL_OK);
	do
		REQUIRE_INT(PtlEQWait(md.eq_handle, &ev), PTL_OK);
	while (ev.type != PTL_EVENT_ACK);
	CHECK_INT(ev.initiator.pid, to.pid);
	CHECK_INT(PtlMDUnlink(h), PTL_OK);
	CHECK_INT(PtlEQFree(md.eq_handle), PTL_OK);
}

/* All want one pid, and the first rank gets it; what the others want next is theirs if it is free. */
static void t_pid_of_another_rank_then_a_free_one(void)
{
	static char c[8];
	ptl_md_t md = { .start = c, .length = sizeof(c), .threshold = PTL_MD_THRESH_INF, .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
			.eq_handle = PTL_EQ_NONE };
	ptl_ni_limits_t less = { .max_mes = 10, .max_mds = 10, .max_eqs = 2 }, got;
	ptl_process_id_t id, to = { 1, 0 };
	ptl_handle_ni_t ni = 0x1234;
	ptl_handle_me_t me;
	static uint64_t round;
	unsigned long d;
	int rc;

	round++;
	rc = PtlNIInit(PTL_IFACE_DEFAULT, 256, NULL, NULL, &ni);
	CHECK_INT(rc, t_rank() ? PTL_PID_INVALID : PTL_OK);
	if (t_rank()) {
		CHECK_INT(ni, 0x1234);
		CHECK_INT(PtlNIInit(PTL_IFACE_DEFAULT, 256, NULL, NULL, &ni), PTL_PID_INVALID);
		rc = PtlNIInit(PTL_IFACE_DEFAULT, 257, &less, &got, &ni);	/* all of these at once: one gets it */
		if (rc == PTL_OK) {
			atomic_fetch_add(t_word(0), 1);
			CHECK_INT(got.max_mes, 10);
		} else {
			CHECK_INT(rc, PTL_PID_INVALID);
			REQUIRE_INT(PtlNIInit(PTL_IFACE_DEFAULT, 1000 + (unsigned)t_rank(), NULL, NULL, &ni), PTL_OK);
		}
	}
	CHECK_INT(PtlGetId(ni, &id), PTL_OK);
	CHECK_INT(PtlMEAttach(ni, PT, anyone, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	CHECK_INT(PtlMDAttach(me, md, PTL_RETAIN, NULL), PTL_OK);
	atomic_store(t_word(1 + t_rank()), id.pid);
	t_barrier();
	if (t_size() > 1)
		CHECK_INT(atomic_load(t_word(0)), round);
	for (int r = 0; r < t_size(); r++) {
		to.pid = (ptl_pid_t)atomic_load(t_word(1 + r));
		CHECK_INT(PtlNIDist(ni, to, &d), PTL_OK);
		CHECK_INT(d, r != t_rank());
		reach(ni, to);
	}
	to.pid = PTL_PID_ANY;
	CHECK_INT(PtlNIDist(ni, to, &d), PTL_PROCESS_INVALID);
	t_barrier();
	CHECK_INT(PtlNIFini(ni), PTL_OK);
}

/* What an interface that was closed had given out is nobody's in those that follow, however alike they are. */
static void t_handles_of_closed_interfaces(void)
{
	static struct { ptl_handle_ni_t ni; ptl_handle_me_t me; ptl_handle_md_t md; ptl_handle_eq_t eq; } h[40];
	ptl_md_t md = { .threshold = PTL_MD_THRESH_INF, .options = PTL_MD_OP_PUT, .eq_handle = PTL_EQ_NONE };
	ptl_handle_md_t other;
	ptl_event_t ev;
	char c;
	int rc;

	md.start = &c;
	md.length = 1;
	for (unsigned i = 0; i < sizeof(h) / sizeof(*h); i++) {
		REQUIRE_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &h[i].ni), PTL_OK);
		REQUIRE_INT(PtlEQAlloc(h[i].ni, 2, PTL_EQ_HANDLER_NONE, &h[i].eq), PTL_OK);
		REQUIRE_INT(PtlMEAttach(h[i].ni, PT, anyone, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &h[i].me), PTL_OK);
		REQUIRE_INT(PtlMDAttach(h[i].me, md, PTL_RETAIN, &h[i].md), PTL_OK);
		for (unsigned k = 0; k < i; k++) {
			md.eq_handle = h[k].eq;
			rc = PtlMDBind(h[i].ni, md, PTL_RETAIN, &other);
			REQUIRE(rc == PTL_EQ_INVALID || rc == PTL_MD_ILLEGAL);
			REQUIRE_INT(PtlEQGet(h[k].eq, &ev), PTL_EQ_INVALID);
			REQUIRE_INT(PtlEQFree(h[k].eq), PTL_EQ_INVALID);
			REQUIRE_INT(PtlMDUnlink(h[k].md), PTL_MD_INVALID);
			REQUIRE_INT(PtlMEUnlink(h[k].me), PTL_ME_INVALID);
			REQUIRE_INT(PtlNIFini(h[k].ni), PTL_NI_INVALID);
		}
		md.eq_handle = h[i].eq;
		REQUIRE_INT(PtlMDBind(h[i].ni, md, PTL_RETAIN, &other), PTL_OK);
		md.eq_handle = PTL_EQ_NONE;
		CHECK_INT(PtlNIFini(h[i].ni), PTL_OK);
	}
}

/* Who was refused and has enough of it says PtlFini; the others' PtlNIFini waits for that, and no longer. */
static void t_refused_and_gives_up(void)
{
	ptl_handle_ni_t ni;
	int rc = PtlNIInit(PTL_IFACE_DEFAULT, 300, NULL, NULL, &ni);

	CHECK_INT(rc, t_rank() ? PTL_PID_INVALID : PTL_OK);
	if (rc == PTL_OK)
		CHECK_INT(PtlNIFini(ni), PTL_OK);
	PtlFini();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_start), T(t_no_memory_then_memory), T(t_no_memory_in_the_first_rank),
		T(t_pid_of_another_rank_then_a_free_one), T(t_handles_of_closed_interfaces), T(t_refused_and_gives_up), T(t_start),
		T(t_pid_of_another_rank_then_a_free_one), { 0 }
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	return t_run(cases);
}

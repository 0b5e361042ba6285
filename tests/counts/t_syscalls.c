/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_syscalls.c - no system call on any on-node path after start, while the peer answers within the spin limit
 *
 * Ping-pong of two ranks, each way of sending and waiting in many batches. Waiting in PtlEQWait may give up the core
 * when the peer has lost its own, which a busy machine does to it now and then: for those a quarter of the batches
 * must have none. Where nobody waits inside the library there must be none at all.
 */
#include "../api/ptl.h"
#include "syscalls.h"

#include <sched.h>

#define BATCHES	100
#define ROUNDS	100

/* not from the heap: without libsmartmap-malloc that is reached by system calls */
static unsigned char src[1 << 16], dst[1 << 16];
static ptl_handle_eq_t eq, req;
static ptl_handle_md_t md, big, gmd;
static volatile unsigned char *flag;

enum wait { GET, WAIT, POLL, SPIN };

static void await_put(enum wait w, unsigned char want)
{
	ptl_event_t ev;
	int which;

	switch (w) {
	case GET:
		while (PtlEQGet(eq, &ev) == PTL_EQ_EMPTY)
			;
		break;
	case WAIT:
		PtlEQWait(eq, &ev);
		break;
	case POLL:
		PtlEQPoll(&eq, 1, PTL_TIME_FOREVER, &ev, &which);
		break;
	case SPIN:
		while (*flag != want)
			;
		break;
	}
}

static int clean(const char *name, int quiet, int all)
{
	int good;

	if (!name)
		return 0;
	good = all ? quiet == BATCHES : quiet >= BATCHES / 4;

	SYS_SAY("%s %d - %s: %d of %d batches without a system call%s\n", good ? "ok" : "not ok", ++tap_run_, name, quiet,
		BATCHES, quiet < BATCHES ? " (last one in the line below)" : "");
	if (quiet < BATCHES)
		SYS_SAY("# system call %d\n", sys_last);
	return !good;
}

static int pingpong(const char *name, enum wait w, ptl_pt_index_t pt, ptl_handle_md_t h, size_t len, int all)
{
	static unsigned char k;
	int quiet = 0;

	for (int b = 0; b < BATCHES; b++) {
		uint32_t before = sys_n;

		for (int i = 0; i < ROUNDS; i++) {
			k = (unsigned char)(k % 250 + 1);
			src[len - 1] = k;
			if (t_rank() == 0) {
				while (PtlPutRegion(h, 0, len, PTL_NO_ACK_REQ, peer, pt, 0, 0, 0, 0) == PTL_NO_SPACE)
					;
				flag = dst + len - 1;
				await_put(w, k);
			} else {
				flag = dst + len - 1;
				await_put(w, k);
				while (PtlPutRegion(h, 0, len, PTL_NO_ACK_REQ, peer, pt, 0, 0, 0, 0) == PTL_NO_SPACE)
					;
			}
		}
		quiet += sys_n == before;
	}
	return clean(name, quiet, all);
}

static int gets(void)
{
	ptl_event_t ev;
	int quiet = 0;

	for (int b = 0; b < BATCHES; b++) {
		uint32_t before = sys_n;

		for (int i = 0; i < ROUNDS; i++) {
			PtlGetRegion(gmd, 0, 64, peer, PT + 3, 0, 0, 0);
			while (PtlEQGet(req, &ev) == PTL_EQ_EMPTY)
				;
		}
		quiet += sys_n == before;
	}
	return clean("PtlGet, 64 bytes", quiet, 1);
}

static int posts(void)
{
	ptl_handle_me_t base, m;
	ptl_handle_md_t h;
	uint32_t before = sys_n;
	int bad = 0;

	bad |= PtlMEAttach(ni, PT + 4, (ptl_process_id_t){ 0, 0 }, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &base);
	for (int i = 0; i < 1000; i++) {
		bad |= PtlMEMDPost(ni, base, anyone, 1, 0, PTL_RETAIN, PTL_INS_BEFORE, p_md(dst, 8, 1, PTL_MD_OP_PUT, req),
				   PTL_RETAIN, &m, &h, req);
		bad |= PtlMDUnlink(h);
		bad |= PtlMEUnlink(m);
	}
	return clean("PtlMEMDPost, PtlMDUnlink, PtlMEUnlink", !bad && sys_n == before ? BATCHES : 0, 1);
}

int main(void)
{
	const size_t max = sizeof(src);
	ptl_handle_me_t me;
	const char *why;
	cpu_set_t set;
	int bad = 0, cpu = 0, seen = -1;

	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2)
		skip_all("needs two cores");
	for (; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && ++seen == t_rank())
			break;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	p_init();
	OK(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq));
	OK(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &req));
	for (int i = 0; i < 4; i++)
		OK(p_post_at((ptl_pt_index_t)(PT + i), 0, ~0ull, PTL_RETAIN,
			     p_md(dst, max, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
				  PTL_MD_EVENT_START_DISABLE, i < 2 ? eq : PTL_EQ_NONE), PTL_RETAIN, &me, NULL));
	OK(PtlPTPolled_np(ni, PT + 1, 1));
	OK(PtlMDBind(ni, p_md(src, max, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
	big = md;
	OK(PtlMDBind(ni, p_md(src, max, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, req), PTL_RETAIN, &gmd));
	t_barrier();
	plan(8);
	pingpong(NULL, GET, PT, md, 8, 0);	/* first touches, lanes, symbol binding */
	t_barrier();
	why = sys_count_from_now();
	if (why) {
		skip(8, why);
		return exit_status();
	}
	bad |= pingpong("8 bytes, PtlEQGet", GET, PT, md, 8, 1);
	bad |= pingpong("8 bytes, PtlEQGet, polled portal", GET, PT + 1, md, 8, 1);
	bad |= pingpong("8 bytes, PtlEQWait", WAIT, PT, md, 8, 0);
	bad |= pingpong("8 bytes, PtlEQPoll", POLL, PT, md, 8, 0);
	bad |= pingpong("8 bytes, the target looks at its buffer", SPIN, PT + 2, md, 8, 1);
	bad |= pingpong("64 KiB, PtlEQGet", GET, PT, big, max, 0);	/* copied by both: one may wait for the other */
	bad |= gets();
	bad |= posts();
	_exit(bad || t_bad_);
}

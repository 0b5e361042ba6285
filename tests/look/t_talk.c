/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_talk.c - messages of known number and size by each path, then a rank that waits until it has been looked at
 *
 * Under multi with two ranks; the environment chooses the path (PTL_ADOPT, PTL_CMA), the argument what is sent:
 * puts N LENGTH, polled N LENGTH, gets N LENGTH. Rank 1 sends to rank 0. Ends when the file `go` is there.
 */
#include <stdbool.h>

#include "../api/ptl.h"

static char buf[1 << 20];

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[1] : "";
	int n = argc > 3 ? atoi(argv[2]) : 0, done = 0;
	bool get = !strcmp(what, "gets"), polled = !strcmp(what, "polled");
	unsigned options = (get ? PTL_MD_OP_GET : PTL_MD_OP_PUT) | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	size_t len = argc > 3 ? (size_t)atol(argv[3]) : 0;
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_event_t ev;

	p_init();
	if (len > sizeof(buf) || PtlEQAlloc(ni, 1024, PTL_EQ_HANDLER_NONE, &eq))
		return 2;
	if (t_rank() == 0) {
		if (p_post(1, p_md(buf, sizeof(buf), PTL_MD_THRESH_INF, options, eq), &me, &md) ||
		    (polled && PtlPTPolled_np(ni, PT, 1)))
			return 2;
		t_barrier();
	} else {
		t_barrier();
		options = PTL_MD_EVENT_START_DISABLE | (get ? 0 : PTL_MD_EVENT_END_DISABLE);
		if (PtlMDBind(ni, p_md(buf, len, PTL_MD_THRESH_INF, options, get ? eq : PTL_EQ_NONE), PTL_RETAIN, &md))
			return 2;
		for (int i = 0; i < n; i++)
			if (get ? PtlGet(md, p_id(0), PT, 0, 1, 0) : PtlPut(md, PTL_NO_ACK_REQ, p_id(0), PT, 0, 1, 0,
									    0))
				return 2;
	}
	while (done < n && (get || t_rank() == 0))
		done += PtlEQWait(eq, &ev) == PTL_OK;
	t_barrier();
	if (t_rank() == 0)
		fprintf(stderr, "ready\n");
	while (access("go", F_OK))
		sched_yield();
	t_barrier();
	PtlFini();
	plan(1);
	ok(1, "t_%s", what);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_fork.c - what a child of fork() has of Portals: nothing of its parent's (SPEC-NOTES)
 *
 * Forks before PtlInit, between it and PtlNIInit, with an interface open, and behind all; each rank has a child, and
 * goes on when that has ended. What a child has of its parent's memory: tests/smartmap/t_fork.c.
 */
#include "ptl.h"

#include <sys/wait.h>

/* The exit status of a child that runs @fn: 0 where all is as it should be, else a line number. */
static int in_child(int (*fn)(void))
{
	int st = -1;
	pid_t p;

	fflush(stdout);
	p = fork();
	if (!p)
		_exit(fn());
	if (p < 0 || waitpid(p, &st, 0) != p || !WIFEXITED(st))
		return -1;
	return WEXITSTATUS(st);
}
#define MUST(cond) do { if (!(cond)) return __LINE__ & 255 ? __LINE__ & 255 : 1; } while (0)

static int calls_are_refused(void)
{
	ptl_process_id_t id = { 7, 7 };
	ptl_handle_eq_t eq = 7;
	ptl_event_t ev;
	int max;

	MUST(PtlGetId(ni, &id) == PTL_NO_INIT && id.nid == 7);
	MUST(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq) == PTL_NO_INIT && eq == 7);
	MUST(PtlEQGet(ieq, &ev) == PTL_NO_INIT && PtlPut(p_sync_md, PTL_ACK_REQ, id, 0, 0, 0, 0, 0) == PTL_NO_INIT);
	MUST(PtlNIFini(ni) == PTL_NO_INIT);
	PtlFini();				/* closes nothing of the parent's */
	/* a PtlInit of its own does not bring back what was the parent's */
	MUST(PtlInit(&max) == PTL_OK && max >= 1);
	MUST(PtlGetId(ni, &id) == PTL_NI_INVALID && PtlEQGet(ieq, &ev) == PTL_EQ_INVALID);
	return 0;
}

static int opens_one_of_its_own(void)
{
	ptl_handle_ni_t mine;
	ptl_handle_eq_t eq;
	unsigned rank, size;
	int max;

	MUST(PtlInit(&max) == PTL_OK);
	MUST(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &mine) == PTL_OK);
	MUST(PtlGetRank(mine, &rank, &size) == PTL_OK && (int)rank == t_rank() && (int)size == t_size());
	MUST(PtlEQAlloc(mine, 4, PTL_EQ_HANDLER_NONE, &eq) == PTL_OK);
	PtlFini();
	return 0;
}

static int opens_none(void)
{
	ptl_handle_ni_t mine = 7;
	int max;

	MUST(PtlInit(&max) == PTL_OK);
	MUST(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &mine) == PTL_FAIL && mine == 7);
	PtlFini();
	return 0;
}

static void t_before_init_a_child_is_as_any_process(void)
{
	CHECK_INT(in_child(opens_one_of_its_own), 0);
	t_barrier();
}

static void t_before_an_interface_is_open_the_child_may_be_the_rank(void)
{
	int max;

	NEED_OK(PtlInit(&max));
	CHECK_INT(in_child(opens_one_of_its_own), 0);
	t_barrier();
	p_init();				/* and the parent behind it */
	p_sync();
}

static void t_with_an_interface_open_the_child_has_none(void)
{
	CHECK_INT(in_child(calls_are_refused), 0);
	p_sync();
	if (!getenv("PTL_NAL"))			/* PTL_NAL=loop has no job that a child could not join */
		CHECK_INT(in_child(opens_none), 0);
	p_sync();
	t_barrier();
}

static void t_the_end_of_a_child_is_not_the_ranks(void)
{
	for (int i = 0; i < 3; i++) {
		CHECK_INT(in_child(calls_are_refused), 0);
		p_sync();
	}
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_before_init_a_child_is_as_any_process), T(t_before_an_interface_is_open_the_child_may_be_the_rank),
		T(t_with_an_interface_open_the_child_has_none), T(t_the_end_of_a_child_is_not_the_ranks), { 0 }
	};
	int rc = t_run(cases);

	t_barrier();
	PtlFini();
	return rc;
}

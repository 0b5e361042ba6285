/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_impostor.c - a job by hand whose PTL_PIDMAP has the real pids: a process of the same user that knows every
 * variable, but has another pid, cannot come in as a rank; the rank itself still can
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#include <portals3.h>

static struct { pid_t pid; int go; } proc[3];		/* rank 0, rank 1, the impostor */

/* Waits for the map, joins, leaves. Exit status: the code of PtlNIInit. */
static int child(int who, int from)
{
	char map[64] = "";
	ptl_handle_ni_t ni;
	int n, rc;

	if (read(from, map, sizeof(map) - 1) <= 0)
		return 99;
	setenv("PTL_MY_RID", who ? "1" : "0", 1);
	setenv("PTL_NIDMAP", "1:1", 1);
	setenv("PTL_PIDMAP", map, 1);
	setenv("PTL_MY_JID", "4711", 1);
	setenv("PTL_INIT_TIMEOUT_S", who == 2 ? "1" : "20", 1);
	if (PtlInit(&n) != PTL_OK)
		return 98;
	rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	PtlFini();
	return rc;
}

static void start(int who)
{
	int p[2];

	REQUIRE(!pipe(p));
	fflush(stdout);
	proc[who].pid = fork();
	REQUIRE(proc[who].pid >= 0);
	if (!proc[who].pid) {
		close(p[1]);
		_exit(child(who, p[0]));
	}
	close(p[0]);
	proc[who].go = p[1];
}

static int status_of(int who)
{
	int status = -1;

	waitpid(proc[who].pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void t_impostor_is_refused_and_the_rank_comes_in(void)
{
	char map[64];

	for (int i = 0; i < 3; i++)
		start(i);
	snprintf(map, sizeof(map), "%d:%d", (int)proc[0].pid, (int)proc[1].pid);
	CHECK(write(proc[0].go, map, strlen(map)) > 0);
	CHECK(write(proc[2].go, map, strlen(map)) > 0);
	CHECK_INT(status_of(2), PTL_FAIL);
	CHECK(write(proc[1].go, map, strlen(map)) > 0);
	CHECK_INT(status_of(0), PTL_OK);
	CHECK_INT(status_of(1), PTL_OK);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_impostor_is_refused_and_the_rank_comes_in), { 0 } };

	return t_run(cases);
}

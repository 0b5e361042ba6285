/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* A rank for the launcher's tests: joins, says who it is, then does what its arguments say. */
#include "p3_rt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* rank [ACTION [RANK]]: kill, exit=N, done=N, sleep; RANK does it, the others sleep. Without: ends at once. */
int main(int argc, char **argv)
{
	const struct p3_rt_job *j;
	const char *err, *what = argc > 1 ? argv[1] : "";

	j = p3_rt_get(&err);
	if (!j) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	printf("rank %u of %u launch %u local %u cores %d over %d jid %u env %s pid %d\n", j->rank, j->size,
	       j->launch_rank, j->local_rank, p3_rt_cores(), p3_rt_oversubscribed(), j->jid, getenv("T_VAR") ? getenv("T_VAR") : "-",
	       (int)getpid());
	fflush(stdout);
	p3_rt_barrier();
	if (!what[0])
		return 0;
	if (argc > 2 && (unsigned)atoi(argv[2]) != j->rank)
		what = "sleep";
	if (!strcmp(what, "kill"))
		raise(SIGKILL);
	if (!strncmp(what, "exit=", 5))
		return atoi(what + 5);
	if (!strncmp(what, "done=", 5)) {
		p3_rt_done(1);
		return atoi(what + 5);
	}
	sleep(50);
	return 0;
}

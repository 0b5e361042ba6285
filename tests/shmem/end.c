/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * end.c - for t_end_net.sh: the last PE dies, or ends the job, while the others do what the argument says
 *
 * "late": it is dead for a while before PE 0 begins anything. "idle": its neighbour makes no call, so what is left to
 * that one is not done, and PE 0 waits for it.
 */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long never;
static char bytes[1 << 20];

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *end = argc > 2 ? argv[2] : "";
	int me, n;

	if (!strcmp(what, "sizes"))
		setenv("SHMEM_SYMMETRIC_SIZE", atoi(getenv("PTL_MY_RID")) % 2 ? "8m" : "16m", 1);
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	printf("PE %d was here\n", me);		/* and has not been flushed */
	shmem_barrier_all();
	if (me == n - 1) {
		usleep(200000);
		if (!strcmp(end, "exit0"))
			shmem_global_exit(0);
		if (!strcmp(end, "kill"))
			raise(SIGKILL);
		if (!strcmp(end, "exit"))
			shmem_global_exit(7);
	}
	/* the neighbour on its node would go on with the memory of the dead */
	if (me == n - 2 && !strcmp(what, "idle"))
		sleep(60);
	if ((me == n - 2 && n > 2 && strcmp(what, "test")) || !strcmp(what, "wait"))
		shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
	while (!strcmp(what, "test") && !shmem_long_test(&never, SHMEM_CMP_NE, 0))
		;
	if (!strcmp(what, "barrier"))
		shmem_barrier_all();
	for (long i = 0; !strcmp(what, "put"); i++) {
		shmem_putmem_nbi(bytes, bytes + 65536, (size_t)(i % 65536), n - 1);
		if (i % 16 == 0)
			shmem_quiet();
	}
	while (!strcmp(what, "get"))
		shmem_getmem(bytes, bytes + 65536, 65536, n - 1);
	while (!strcmp(what, "amo"))
		shmem_long_atomic_fetch_inc(&never, n - 1);
	if (!strcmp(what, "late"))
		usleep(700000);
	for (int i = 0; !strcmp(what, "add") || !strcmp(what, "late"); i++) {
		shmem_long_atomic_inc(&never, n - 1);
		if (i % 16 == 0)
			shmem_quiet();
	}
	while (!strcmp(what, "p")) {
		shmem_long_p(&never, 1, n - 1);
		shmem_quiet();
	}
	if (!strcmp(what, "idle"))
		shmem_long_atomic_fetch_inc(&never, n - 2);
	shmem_finalize();
	printf("PE %d has come to its end\n", me);
	return 0;
}

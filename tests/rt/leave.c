/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * leave.c - a rank that starts as MPICH does (it shares the launcher's connection) or as a Portals program, and leaves
 *
 *	leave start	as MPICH: has the launcher end the job at once when PtlNIInit fails, with status 1, or
 *			with 7 where what stands in the pipe of stderr would be lost
 *	leave zero	as MPICH: rank 1 exits with 0 and has closed nothing; the others wait
 *	leave late	as MPICH: closes in an exit handler that was registered before the start
 *	leave print	Portals: rank 1 has printed a line (to a file's buffer), and exits with 1
 *	leave locked	the same, while another thread holds the lock of a stream for ever
 */
#include <portals3.h>
#include <p3rt/p3rt.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static ptl_handle_ni_t ni;
static int locked[2];

static void tell(const char *cmd)
{
	int fd = atoi(getenv("PMI_FD"));
	char answer[64];

	if (write(fd, cmd, strlen(cmd)) < 0 || read(fd, answer, sizeof(answer)) < 0)
		_exit(3);
}

static void close_all(void)
{
	PtlNIFini(ni);
	PtlFini();
	tell("cmd=finalize\n");
}

static void *hold(void *stream)
{
	static char c = 1;

	flockfile(stream);
	if (write(locked[1], &c, 1) == 1)
		pause();
	return NULL;
}

static void lock_a_stream(void)
{
	pthread_t t;
	char c;

	if (pipe(locked) || pthread_create(&t, NULL, hold, stdin) || read(locked[0], &c, 1) != 1)
		exit(3);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	unsigned rank, size;
	int max, left;

	if (!strcmp(how, "late"))
		atexit(close_all);
	if (strcmp(how, "print") && strcmp(how, "locked"))
		PtlRtPmiShared_np();
	if (PtlInit(&max) != PTL_OK || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) != PTL_OK) {
		tell(!ioctl(STDERR_FILENO, FIONREAD, &left) && left ? "cmd=abort exitcode=7\n" :
		     "cmd=abort exitcode=1\n");
		pause();
	}
	PtlGetRank(ni, &rank, &size);
	if (!strcmp(how, "start") || !strcmp(how, "late"))
		return 0;
	if (rank == 1 && !strcmp(how, "zero"))
		return 0;
	if (rank == 1 && !strcmp(how, "locked"))
		lock_a_stream();
	if (rank == 1) {
		printf("the last line of rank 1\n");
		exit(1);
	}
	sleep(50);
	return 0;
}

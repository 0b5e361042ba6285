/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap_spawn.c - start the engine of this node
 *
 * It is nobody's child: a program must not find a stranger when it waits for its own, nor lose a SIGCHLD. ptl-nic forks
 * at once, and its first process ends; that one is waited for here, with SIGCHLD blocked and taken back.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ap_rank.h"
#include "p3_knobs.h"

#define BOX_FD 3

extern char **environ;

/* Is there a child of the program's that has ended, and of which it has not heard? */
static bool others_ended(void)
{
	siginfo_t i = { 0 };

	return !waitid(P_ALL, 0, &i, WEXITED | WNOHANG | WNOWAIT) && i.si_pid;
}

int ap_spawn(uint32_t n_local, uint64_t card, int box, const int *listen, uint32_t n_listen, char *why, size_t len)
{
	const char *path = p3_knobs_get(NULL)->nic;
	char size[16], addr[24], n[16], *argv[] = { (char *)(uintptr_t)"ptl-nic", size, addr, n, NULL };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	struct timespec now = { 0, 0 };
	sigset_t chld, old, none, pending;
	int rc, status = 0;
	bool was;
	pid_t pid;

	if (!strcmp(path, "none"))
		path = P3_LIBEXECDIR "/ptl-nic";
	snprintf(size, sizeof(size), "%u", n_local);
	snprintf(addr, sizeof(addr), "%llx", (unsigned long long)card);
	snprintf(n, sizeof(n), "%u", n_listen);
	sigemptyset(&none);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &chld, &old);
	sigpending(&pending);
	was = sigismember(&pending, SIGCHLD);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, box, BOX_FD);
	for (uint32_t i = 0; i < n_listen; i++)
		posix_spawn_file_actions_adddup2(&fa, listen[i], BOX_FD + 1 + (int)i);
	posix_spawnattr_init(&at);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&at, &none);
	rc = posix_spawn(&pid, path, &fa, &at, argv, environ);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	if (!rc)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	if (!was && !others_ended())
		sigtimedwait(&chld, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (rc)
		snprintf(why, len, "%s cannot be started: %s (PTL_NIC says where it is)", path, strerror(rc));
	else
		snprintf(why, len, "%s has ended at once (%s %d)", path, WIFSIGNALED(status) ? "signal" : "exit code",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return -1;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_fork_pty.c - daemon() and forkpty(), which call fork inside libc where ours is not seen
 *
 * Both are small, so these do the same with our fork(). openpty() and login_tty() were in libutil before glibc 2.34:
 * weak, since only a program that calls forkpty() needs them.
 */
#include "smap_interpose.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utmp.h>

extern int openpty(int *, int *, char *, const struct termios *, const struct winsize *) __attribute__((weak));
extern int login_tty(int) __attribute__((weak));

int smap_daemon(int nochdir, int noclose)
{
	pid_t pid = smap_fork();
	int fd;

	if (pid < 0)
		return -1;
	if (pid)
		_exit(0);
	if (setsid() < 0)
		return -1;
	if (!nochdir && chdir("/") < 0)
		return -1;
	if (noclose)
		return 0;
	fd = open("/dev/null", O_RDWR);
	if (fd < 0)
		return -1;
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	if (fd > 2)
		close(fd);
	return 0;
}

int smap_forkpty(int *master, char *name, const struct termios *term, const struct winsize *win)
{
	int m, s;
	pid_t pid;

	if (!openpty || !login_tty) {
		errno = ENOSYS;
		return -1;
	}
	if (openpty(&m, &s, name, term, win))
		return -1;
	pid = smap_fork();
	if (pid < 0) {
		close(m);
		close(s);
		return -1;
	}
	if (!pid) {
		close(m);
		if (login_tty(s))
			_exit(1);
		return 0;
	}
	*master = m;
	close(s);
	return pid;
}

SMAP_OURS(daemon, smap_daemon);
SMAP_OURS(forkpty, smap_forkpty);

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * spoil.c - to be preloaded: breaks one path, for who is to notice
 *
 * SPOIL=cma: each copy by the kernel of more than 4,000 bytes gets one byte wrong. SPOIL=cma-refused: none can
 * be made (as a container's seccomp filter does it, but by the first call). SPOIL=cma-unbound: none by a process that
 * may run on more than one processor. SPOIL=tcp: what is sent after the first 20 times is eaten.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SPOIL __attribute__((visibility("default")))

static int want(const char *what)
{
	const char *s = getenv("SPOIL");

	return s && !strcmp(s, what);
}

static int bound(void)
{
	cpu_set_t may;

	return !sched_getaffinity(0, sizeof(may), &may) && CPU_COUNT(&may) == 1;
}

SPOIL ssize_t process_vm_readv(pid_t pid, const struct iovec *own, unsigned long n, const struct iovec *other,
			       unsigned long m, unsigned long flags)
{
	ssize_t got;

	if (want("cma-refused") || (want("cma-unbound") && !bound())) {
		errno = EPERM;
		return -1;
	}
	got = syscall(SYS_process_vm_readv, pid, own, n, other, m, flags);
	if (got > 4000 && want("cma"))
		((unsigned char *)own->iov_base)[4000] ^= 4;
	return got;
}

SPOIL ssize_t process_vm_writev(pid_t pid, const struct iovec *own, unsigned long n, const struct iovec *other,
				unsigned long m, unsigned long flags)
{
	if (want("cma-refused")) {
		errno = EPERM;
		return -1;
	}
	return syscall(SYS_process_vm_writev, pid, own, n, other, m, flags);
}

SPOIL ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	static unsigned count;
	ssize_t n = 0;

	if (!want("tcp") || ++count < 20)
		return syscall(SYS_sendmsg, fd, m, flags);
	for (size_t i = 0; i < m->msg_iovlen; i++)
		n += (ssize_t)m->msg_iov[i].iov_len;
	return n;
}

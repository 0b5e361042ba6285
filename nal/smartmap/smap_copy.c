/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_copy.c - copies to and from a peer's memory: through the window, by process_vm_readv/writev, or not at all
 *
 * Whether the kernel lets us do the second is found by doing it: the first use of a peer reads the nonce in its control
 * page by its address over there. That also proves that the pid means the same process to us.
 */
#include "smap_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "smap_window.h"

enum { CMA_UNKNOWN, CMA_YES, CMA_NO };
static uint8_t cma[SMARTMAP_MAX_PEERS];		/* byte-wide, any thread may find the same answer */

static int yama(void)
{
	char c = 0;
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (read(fd, &c, 1) != 1)
		c = '0';
	close(fd);
	return c - '0';
}

static int probe(int peer)
{
	const struct smap_member *m = &smap.ctl0->member[peer];
	uint64_t nonce = 0;
	struct iovec l = { &nonce, sizeof(nonce) };
	struct iovec r = { (void *)(uintptr_t)(m->ctl_addr + offsetof(struct smap_ctl, nonce)), sizeof(nonce) };
	int pid = smartmap_pid(peer);

	if (smap_forced_off(SMAP_OFF_CMA)) {
		smap_why_set(SMARTMAP_F_CMA, "forced off by SMARTMAP_FORCE_OFF");
		return CMA_NO;
	}
	if (pid <= 0) {
		smap_why_set(SMARTMAP_F_CMA, "local rank %d is in another pid namespace: process_vm_readv cannot "
				     "name it",
			     peer);
		return CMA_NO;
	}
	if (process_vm_readv(pid, &l, 1, &r, 1, 0) != (ssize_t)sizeof(nonce)) {
		int e = errno, y = yama();

		if (e == ESRCH)		/* dead: says nothing about what is allowed */
			return CMA_UNKNOWN;
		smap_why_set(SMARTMAP_F_CMA, "process_vm_readv from local rank %d (pid %d) failed: %s%s", peer, pid,
			     strerror(e), y == 1 ? "; kernel.yama.ptrace_scope is 1, 0 would allow it" :
			     y ? "; kernel.yama.ptrace_scope forbids it" : "");
		return CMA_NO;
	}
	if (nonce != m->nonce) {
		smap_why_set(SMARTMAP_F_CMA, "pid %d is not the process of local rank %d", pid, peer);
		return CMA_NO;
	}
	return CMA_YES;
}

int smap_cma_ok(int peer)
{
	uint8_t c = __atomic_load_n(&cma[peer], __ATOMIC_RELAXED);

	if (c == CMA_UNKNOWN) {
		c = (uint8_t)probe(peer);
		__atomic_store_n(&cma[peer], c, __ATOMIC_RELAXED);
	}
	return c == CMA_YES;
}

void smap_cma_setup(void)
{
	memset(cma, CMA_UNKNOWN, sizeof(cma));
	if (smap.rank >= smap.size)		/* a guest */
		smap.has[SMARTMAP_F_CMA] = smap_cma_ok(0);
	else
		smap.has[SMARTMAP_F_CMA] = smap.size < 2 || smap_cma_ok((smap.rank + 1) % smap.size);
}

SMAP_EXPORT enum smartmap_path smartmap_path(int peer, const void *addr, size_t len)
{
	if (peer == smap.rank || smartmap_reachable(peer, addr, len))
		return SMARTMAP_DIRECT;
	if ((unsigned)peer < (unsigned)smap.size && smap_cma_ok(peer))
		return SMARTMAP_CMA;
	return SMARTMAP_BOUNCE;
}

static int kernel_copy(int peer, char *own, char *remote, size_t len, int write)
{
	int pid = smartmap_pid(peer);

	if (!smap_cma_ok(peer))
		return smartmap_alive(peer) ? -EAGAIN : -ESRCH;
	while (len) {
		struct iovec l = { own, len }, r = { remote, len };
		ssize_t n;

		if (!smartmap_alive(peer))	/* its pid may be somebody else's by now */
			return -ESRCH;
		n = write ? process_vm_writev(pid, &l, 1, &r, 1, 0) : process_vm_readv(pid, &l, 1, &r, 1, 0);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EPERM) {	/* e.g. it made itself undumpable since */
				smap_why_set(SMARTMAP_F_CMA, "process_vm_readv from local rank %d (pid %d) is refused "
					     "since: Operation not permitted", peer, pid);
				__atomic_store_n(&cma[peer], CMA_NO, __ATOMIC_RELAXED);
				return -EAGAIN;
			}
			return errno == ESRCH ? -ESRCH : -EFAULT;
		}
		if (!n)
			return -EFAULT;
		own += n;
		remote += n;
		len -= (size_t)n;
	}
	return 0;
}

static int copy(int peer, void *own, void *remote, size_t len, int write)
{
	if ((unsigned)peer >= (unsigned)smap.size)
		return -ESRCH;
	if (!len)
		return 0;
	if (smartmap_enter(peer, remote, len)) {
		void *there = smartmap_remote(peer, remote);

		if (write)
			smartmap_copy(there, own, len);
		else
			smartmap_copy(own, there, len);
		smartmap_leave(peer);
		return 0;
	}
	return kernel_copy(peer, own, remote, len, write);
}

SMAP_EXPORT int smartmap_read(int peer, void *dst, const void *remote_src, size_t len)
{
	return copy(peer, dst, (void *)(uintptr_t)remote_src, len, 0);
}

SMAP_EXPORT int smartmap_write(int peer, void *remote_dst, const void *src, size_t len)
{
	return copy(peer, (void *)(uintptr_t)src, remote_dst, len, 1);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_own.c - own memory that a descriptor names, and that the program may have given back: is it there?
 *
 * Where the kernel copies for a peer it looks by itself. Where we copy, a signal would tell, and to the whole program.
 * A futex call touches one word as the kernel does, for every page, and needs no descriptor and no permission.
 */
#include "config.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "nal_smap.h"
#include "smartmap.h"

#define PAGE 4096U			/* or a part of one */

/* A word that is there says EAGAIN: it has another value; or, if it has just this one, that no time is left. */
static bool readable(uintptr_t word)
{
	static const struct timespec none;

	return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0x5eed1e55, &none, NULL, 0) == 0 || errno != EFAULT;
}

/* Adds 0, and wakes nobody. */
static bool writable(uintptr_t word)
{
	uint32_t unused;

	return syscall(SYS_futex, &unused, FUTEX_WAKE_OP_PRIVATE, 0, NULL, word,
		       FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) >= 0 || errno != EFAULT;
}

bool nal_own_there(uint64_t addr, uint64_t len, bool to_write)
{
	uintptr_t at = (uintptr_t)addr & ~(uintptr_t)3, end = (uintptr_t)addr + len;
	int saved = errno;
	bool ok = true;

	if (end < addr)
		return false;
	for (; len && ok && at < end; at = (at | (PAGE - 1)) + 1)
		ok = to_write ? writable(at) : readable(at);
	errno = saved;
	return ok;
}

/* The kernel may refuse a process even its own memory (seccomp). */
static bool by_kernel(void)
{
	static int known;			/* 1: yes, -1: no; whoever finds it out again finds the same */
	int a = 7, b = 0, k = __atomic_load_n(&known, __ATOMIC_RELAXED);
	struct iovec own = { &b, sizeof(b) }, other = { &a, sizeof(a) };

	if (!k) {
		k = process_vm_readv(getpid(), &own, 1, &other, 1, 0) == sizeof(b) && b == 7 ? 1 : -1;
		__atomic_store_n(&known, k, __ATOMIC_RELAXED);
	}
	return k > 0;
}

#define FEW	(2 * PAGE)		/* bytes for which looking and copying is faster than the kernel's copy */

bool nal_own_copy(bool to, uint64_t addr, void *buf, uint64_t len)
{
	struct iovec own = { buf, len }, other = { (void *)(uintptr_t)addr, len };

	if (len > FEW && by_kernel())
		return (to ? process_vm_writev(getpid(), &own, 1, &other, 1, 0) :
			     process_vm_readv(getpid(), &own, 1, &other, 1, 0)) == (ssize_t)len;
	if (!nal_own_there(addr, len, to))
		return false;
	if (to)
		smartmap_copy(other.iov_base, buf, len);
	else
		smartmap_copy(buf, other.iov_base, len);
	return true;
}

bool nal_own_frame(struct fr_engine *e, bool to, uint64_t addr, void *buf, uint64_t len, bool direct)
{
	void *at = (void *)(uintptr_t)addr;

	(void)e;
	if (!buf)
		return nal_own_there(addr, len, to);
	if (!direct)
		return nal_own_copy(to, addr, buf, len);
	if (to)
		smartmap_copy(at, buf, len);
	else
		smartmap_copy(buf, at, len);
	return true;
}

bool nal_own_region_there(struct nal_ni *ni, const struct region *r, uint64_t n, bool to_write)
{
	struct p3l_walk w;
	uint64_t at, len;

	if (!p3l_walk_start(ni->l, r->start, r->iov, r->iov_n, r->off, n, &w))
		return false;
	while (p3l_walk_next(&w, &at, &len))
		if (!nal_own_there(at, len, to_write))
			return false;
	return true;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_fork.c - fork() of a process whose memory was adopted
 *
 * Adopted memory is a shared mapping, and shared mappings stay shared after fork(): a child would write into its
 * parent's stack and heap. So adopted ranges are MADV_DONTFORK at all times (a clone that nobody sees gives a child
 * that faults at once, never one that corrupts), and our fork() gives the child private copies of them before any
 * other code of it runs:
 *
 *	fork() ours: all signals but SIGSYS blocked, lock, own descriptor fetched
 *	  on a private stack, Syscall User Dispatch on:
 *	    fork() of libc: atfork handlers, locks of stdio and malloc, thread-id caches: all as always
 *	      its clone traps -> SIGSYS -> fork_clone()
 *	        child:  copies of the ranges from the own memory file, rseq and tid pointer, "done"; no job any more
 *	        parent: waits for "done" or for the child's death
 *	  dispatch off, signals and SIGSYS action as before
 *
 * The private stack is one block aligned to its size with struct fork_block at its base; the SIGSYS handler finds it
 * from its own stack pointer. In the child, between clone and repair, only that block and libsmartmap's own image
 * (never adopted) exist for sure: no libc, no errno, no TLS there. Everything the child needs is put in the block
 * before the clone.
 *
 * Where Syscall User Dispatch is missing (Linux < 5.11, other processors), or where the program's calls do not come
 * to our fork() (libsmartmap behind libc in the search order), setup fails and nothing is adopted.
 *
 * Lock: fork_lock, one fork at a time; smap.lock from the clone until the child has its copies, so that the list of
 * ranges stands still, but not around the atfork handlers.
 */
#include "smap_interpose.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <utmp.h>
#if HAVE_SYS_RSEQ_H
#include <sys/rseq.h>
#endif

#include "smap_fork_sys.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH	59
#define PR_SYS_DISPATCH_OFF		0
#define PR_SYS_DISPATCH_ON		1
#endif
#define SUD_ALLOW	0
#define SUD_BLOCK	1
#define SUD_SI_CODE	2		/* SYS_USER_DISPATCH */
#define SUD_SA_RESTORER	0x04000000ul

#define BLOCK_SIZE	((uintptr_t)1 << 20)	/* atfork handlers run on it */
#define PIECE		((size_t)1 << 20)

typedef pid_t (*fork_fn)(void);

static fork_fn real_fork, real_Fork;
static int forked;				/* this process is a child of one that was in a job */

static void resolve(void)
{
	if (!real_fork)
		real_fork = (fork_fn)smap_libc_symbol("fork");
	if (!real_Fork)
		real_Fork = (fork_fn)smap_libc_symbol("_Fork");	/* glibc 2.34 */
}

/*
 * Child of a fork that went straight through (nothing was adopted): its memory is its own, but it is in no job all
 * the same, and the windows of its parent were not inherited.
 */
static void atfork_child(void)
{
	if (!smap.inits)
		return;
	smap_child_reset();
	forked = 1;
}

__attribute__((constructor)) static void fork_start(void)
{
	resolve();
	pthread_atfork(NULL, NULL, atfork_child);
}

SMAP_EXPORT int smartmap_forked(void)
{
	return forked;
}

#if defined(__x86_64__)

static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *s)
{
	if (write(2, s, strlen(s)) < 0)
		return;			/* nowhere to say it */
}

struct ksigaction {			/* the kernel's, not libc's: our own restorer goes in */
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

struct fork_block {
	volatile char sel;		/* read by the kernel at each system call of the forking thread */
	int fd;				/* own memory file */
	uint32_t *done;			/* shared word: 0 child at work, 1 repaired, 2 out of memory */
	uintptr_t rseq;			/* the thread's rseq area where it must be moved, or 0 */
	uint32_t rseq_len, rseq_sig;
	fork_fn fn;
	long result;
	int err;
	int failed;			/* the copy did not fit */
};

static struct fork_block *block;

/* The only code whose system calls are never trapped: the handler's return. The address after "syscall" counts. */
__asm__(".text\n"
	".balign 16\n"
	".globl smap_fork_restorer\n.hidden smap_fork_restorer\n"
	".globl smap_fork_restorer_end\n.hidden smap_fork_restorer_end\n"
	"	nop\n"
	"smap_fork_restorer:\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	"	ud2\n"
	"smap_fork_restorer_end:\n");
extern char smap_fork_restorer[], smap_fork_restorer_end[];

/* Child: a private mapping in the place of @r, with the bytes that the own file holds there. */
static long copy_range(const struct fork_block *b, const struct smap_range *r)
{
	uint64_t off = r->lo & smap.mask, end = off + (r->hi - r->lo);
	long p = smap_sys6(SYS_mmap, (long)r->lo, (long)(r->hi - r->lo), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (p != (long)r->lo)
		return p < 0 ? p : -ENOMEM;
	while (off < end) {
		long data = smap_sys(SYS_lseek, b->fd, off, SEEK_DATA);
		uint64_t hole;

		if (data == -ENXIO || data >= (long)end)
			break;
		if (data < 0)
			return data;
		hole = (uint64_t)smap_sys(SYS_lseek, b->fd, data, SEEK_HOLE);
		if ((long)hole < 0 || hole > end)
			hole = end;
		for (off = (uint64_t)data; off < hole;) {
			size_t n = hole - off < PIECE ? hole - off : PIECE;
			long got = smap_sys6(SYS_pread64, b->fd, (long)(r->lo + (off - (r->lo & smap.mask))),
					     (long)n, (long)off, 0, 0);

			if (got == -EINTR)
				continue;
			if (got <= 0)
				return got ? got : -EIO;
			off += (uint64_t)got;
		}
	}
	if (r->prot != (PROT_READ | PROT_WRITE))
		return smap_sys(SYS_mprotect, r->lo, r->hi - r->lo, r->prot);
	return 0;
}

/* Child: make the memory whole. Never returns when it cannot. */
static void child_repair(struct fork_block *b, long flags, int *ctid)
{
	uint32_t ok = 1;
	int tid;

	for (uint32_t i = 0; i < smap.nranges && ok == 1; i++)
		if (copy_range(b, &smap.range[i]))
			ok = 2;
	smap_sys(SYS_close, b->fd, 0, 0);
	if (ok == 1) {
		if (b->rseq)
			smap_sys6(SYS_rseq, (long)b->rseq, b->rseq_len, 0, b->rseq_sig, 0, 0);
		tid = (int)smap_sys(SYS_gettid, 0, 0, 0);
		if (flags & CLONE_CHILD_SETTID)
			*ctid = tid;
		if (flags & CLONE_CHILD_CLEARTID)
			smap_sys(SYS_set_tid_address, ctid, 0, 0);
	}
	__atomic_store_n(b->done, ok, __ATOMIC_RELEASE);	/* pairs with the load-acquire in parent_wait() */
	smap_sys6(SYS_futex, (long)b->done, FUTEX_WAKE, 1, 0, 0, 0);
	if (ok != 1)
		for (;;)
			smap_sys(SYS_exit_group, 127, 0, 0);
}

/* Parent: until the child has its copies, or is dead. Return: 0; -errno, and no child is left. */
static long parent_wait(struct fork_block *b, long pid)
{
	struct timespec tick = { .tv_nsec = 20 * 1000 * 1000 };
	uint32_t v;

	for (;;) {
		siginfo_t si = { .si_pid = 0 };
		long r;

		v = __atomic_load_n(b->done, __ATOMIC_ACQUIRE);
		if (v)
			break;
		smap_sys6(SYS_futex, (long)b->done, FUTEX_WAIT, 0, (long)&tick, 0, 0);
		r = smap_sys6(SYS_waitid, P_PID, pid, (long)&si, WEXITED | WNOHANG | WNOWAIT, 0, 0);
		if (__atomic_load_n(b->done, __ATOMIC_ACQUIRE))
			continue;
		if (r == -ECHILD || (!r && si.si_pid == pid)) {
			v = 2;			/* killed meanwhile, by the out-of-memory killer or by a user */
			break;
		}
	}
	if (v == 1)
		return 0;
	while (smap_sys6(SYS_wait4, pid, 0, 0, 0, 0, 0) == -EINTR)
		;
	b->failed = 1;
	return -ENOMEM;
}

static long fork_clone(struct fork_block *b, long flags, long stack, long ptid, long ctid, long tls)
{
	long r;

	smap_lock();			/* the child works from its copy of the list, which must be whole */
	__atomic_store_n(b->done, 0, __ATOMIC_RELAXED);
	if (b->rseq && smap_sys6(SYS_rseq, (long)b->rseq, b->rseq_len, 1 /* unregister */, b->rseq_sig, 0, 0))
		b->rseq = 0;
	r = smap_sys6(SYS_clone, flags & ~(long)(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID), stack, ptid, ctid, tls, 0);
	if (r == 0) {
		child_repair(b, flags, (int *)ctid);
		pthread_mutex_init(&smap.lock, NULL);
		smap_child_reset();
		forked = 1;
		return 0;
	}
	if (b->rseq)
		smap_sys6(SYS_rseq, (long)b->rseq, b->rseq_len, 0, b->rseq_sig, 0, 0);
	if (r > 0) {
		long e = parent_wait(b, r);

		if (e)
			r = e;
	}
	smap_unlock();
	return r;
}

/* libc blocks all signals around its clone; a blocked SIGSYS would kill us at the next trap. */
static long emulate_sigmask(ucontext_t *uc, long how, const uint64_t *set, uint64_t *old)
{
	uint64_t *mask = (uint64_t *)&uc->uc_sigmask, before = *mask;

	if (set) {
		if (how == SIG_BLOCK)
			*mask |= *set;
		else if (how == SIG_UNBLOCK)
			*mask &= ~*set;
		else if (how == SIG_SETMASK)
			*mask = *set;
		else
			return -EINVAL;
		*mask &= ~(1ull << (SIGSYS - 1));
	}
	if (old)
		*old = before;
	return 0;
}

static void on_sigsys(int sig, siginfo_t *si, void *ucp)
{
	struct fork_block *b = (struct fork_block *)((uintptr_t)__builtin_frame_address(0) & ~(BLOCK_SIZE - 1));
	ucontext_t *uc = ucp;
	greg_t *g = uc->uc_mcontext.gregs;
	long nr = g[REG_RAX], r;

	if (si->si_code != SUD_SI_CODE || b != block) {
		g[REG_RAX] = -ENOSYS;	/* another thread's, by seccomp */
		return;
	}
	b->sel = SUD_ALLOW;
	if ((nr == SYS_clone && !(g[REG_RDI] & CLONE_VM)))
		r = fork_clone(b, g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8]);
	else if (nr == SYS_fork)
		r = fork_clone(b, SIGCHLD, 0, 0, 0, 0);
	else if (nr == SYS_clone || nr == SYS_vfork)
		r = -EAGAIN;		/* an atfork handler that starts a thread: it would return on our frame */
	else if (nr == SYS_clone3)
		r = -ENOSYS;		/* libc then takes clone */
	else if (nr == SYS_rt_sigprocmask)
		r = emulate_sigmask(uc, g[REG_RDI], (const uint64_t *)g[REG_RSI], (uint64_t *)g[REG_RDX]);
	else
		r = smap_sys6(nr, g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8], g[REG_R9]);
	g[REG_RAX] = r;
	b->sel = SUD_BLOCK;		/* in a child it is only a byte: dispatch is not inherited */
}

static long sud(long mode, struct fork_block *b)
{
	if (mode == PR_SYS_DISPATCH_OFF)
		return smap_sys6(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, mode, 0, 0, 0, 0);
	return smap_sys6(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, mode, (long)smap_fork_restorer,
			 smap_fork_restorer_end - smap_fork_restorer, (long)&b->sel, 0);
}

/* Runs on the private stack, in the parent and, after the clone, in the child. */
static void fork_on_block(struct fork_block *b)
{
	long e;

	b->sel = SUD_ALLOW;
	e = sud(PR_SYS_DISPATCH_ON, b);
	if (e) {
		b->result = -1;
		b->err = (int)-e;
		return;
	}
	b->sel = SUD_BLOCK;
	b->result = b->fn();
	b->sel = SUD_ALLOW;
	b->err = errno;
	if (b->result)
		sud(PR_SYS_DISPATCH_OFF, b);
}

static __attribute__((noinline)) void call_on(void *top, void (*fn)(struct fork_block *), struct fork_block *b)
{
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %[top], %%rsp\n\t"
			 "call *%[fn]\n\t"
			 "mov %%rbx, %%rsp\n\t"
			 : "+D"(b) : [top] "r"(top), [fn] "r"(fn)
			 : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc",
			   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
			   "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

/* A descriptor of the own file with a position of its own: peers share the position of the one that was passed. */
static int own_fd(void)
{
	char path[40];
	int fd = smap_own_fd(), mine;

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	mine = open(path, O_RDONLY | O_CLOEXEC);
	if (mine < 0)
		return fd;
	smap_own_fd_put(fd);
	return mine;
}

/* kB available in the machine; all of it where /proc does not say. */
static uint64_t available_kb(void)
{
	char buf[512], *p;
	int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof(buf) - 1);
	unsigned long long kb;

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = 0;
	p = strstr(buf, "MemAvailable:");
	return p && sscanf(p + 13, "%llu", &kb) == 1 ? kb : UINT64_MAX;
}

static void say_nomem(const struct fork_block *b)
{
	char buf[240];
	struct stat st = { .st_blocks = 0 };

	fstat(b->fd, &st);
	snprintf(buf, sizeof(buf), "smartmap: fork: the child needs a copy of %llu MB of adopted memory, which does not "
		 "fit in memory or its limits; posix_spawn() or vfork() need none, PTL_SMARTMAP=no adopts nothing.\n",
		 ((unsigned long long)st.st_blocks + 2047) >> 11);
	say(buf);
}

static void rseq_find(struct fork_block *b)
{
	b->rseq = 0;
#if HAVE_SYS_RSEQ_H
	if (__rseq_size) {
		uintptr_t area = (uintptr_t)__builtin_thread_pointer() + (uintptr_t)__rseq_offset;

		if (!smap_range_any(area & ~4095ul, (area & ~4095ul) + 4096))
			return;			/* private memory: the child's own copy, as always */
		b->rseq = area;
		b->rseq_len = 32;
		b->rseq_sig = RSEQ_SIG;
	}
#endif
}

static pid_t fork_adopted(fork_fn fn)
{
	uint64_t all = ~(1ull << (SIGSYS - 1)), old;
	struct ksigaction act = { .handler = (void *)on_sigsys, .flags = SA_SIGINFO | SUD_SA_RESTORER,
				  .restorer = smap_fork_restorer, .mask = ~0ull }, was;
	struct stat st;
	long result;
	int err;

	if (((uintptr_t)__builtin_frame_address(0) & ~(BLOCK_SIZE - 1)) == (uintptr_t)block)
		return fn();		/* an atfork handler forks: its clone is trapped as well */
	smap_sys6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, 8, 0, 0);
	pthread_mutex_lock(&fork_lock);
	block->fn = fn;
	block->failed = 0;
	block->fd = own_fd();
	if (block->fd < 0) {
		result = -1;
		err = -block->fd;
		say("smartmap: fork: the own memory file cannot be reached; no child can be made.\n");
		goto out;
	}
	if (!fstat(block->fd, &st) && (uint64_t)st.st_blocks / 2 > (64u << 10) &&
	    (uint64_t)st.st_blocks / 2 > available_kb()) {
		say_nomem(block);
		result = -1;
		err = ENOMEM;
		goto out_close;
	}
	rseq_find(block);
	smap_sys6(SYS_rt_sigaction, SIGSYS, (long)&act, (long)&was, 8, 0, 0);
	call_on((char *)block + BLOCK_SIZE - 64, fork_on_block, block);
	result = block->result;
	err = block->err;
	smap_sys6(SYS_rt_sigaction, SIGSYS, (long)&was, 0, 8, 0, 0);
	if (result == 0) {
		pthread_mutex_init(&fork_lock, NULL);
		smap_sys6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, 8, 0, 0);
		return 0;		/* child_repair() closed the descriptor */
	}
	if (block->failed)
		say_nomem(block);
out_close:
	close(block->fd);
out:
	pthread_mutex_unlock(&fork_lock);
	smap_sys6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, 8, 0, 0);
	if (result < 0)
		errno = err;
	return (pid_t)result;
}

static int have_block(void)
{
	return block != NULL;
}

int smap_fork_setup(void)
{
	char *p, *q;

	resolve();
	if (!real_fork) {
		smap_why_set(SMARTMAP_F_FORK, "libc's fork() was not found");
		return -ENOSYS;
	}
	if (smap_forced_off(SMAP_OFF_FORK)) {
		smap_why_set(SMARTMAP_F_FORK, "forced off by SMARTMAP_FORCE_OFF");
		return -ENOSYS;
	}
	if (smap_interpose_ready()) {
		smap_why_set(SMARTMAP_F_FORK, "libsmartmap is behind libc in the search order, so fork() would not come to "
			     "it: link with -Wl,--no-as-needed -lsmartmap, as the compiler wrappers do, or preload it");
		return -ENOTSUP;
	}
	if (block)
		return 0;
	p = mmap(NULL, 2 * BLOCK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	q = (char *)(((uintptr_t)p + BLOCK_SIZE - 1) & ~(BLOCK_SIZE - 1));
	if (q > p)
		munmap(p, (size_t)(q - p));
	if (q + BLOCK_SIZE < p + 2 * BLOCK_SIZE)
		munmap(q + BLOCK_SIZE, (size_t)(p + BLOCK_SIZE - q));
	block = (struct fork_block *)q;
	block->done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (block->done == MAP_FAILED || sud(PR_SYS_DISPATCH_ON, block)) {
		int e = block->done == MAP_FAILED ? ENOMEM : ENOSYS;

		if (e == ENOSYS) {
			munmap(block->done, 4096);
			smap_why_set(SMARTMAP_F_FORK, "the kernel has no Syscall User Dispatch (Linux 5.11, x86-64): a "
				     "forked child could not get copies of adopted memory");
		}
		munmap(q, BLOCK_SIZE);
		block = NULL;
		return -e;
	}
	sud(PR_SYS_DISPATCH_OFF, block);
	return 0;
}

#else	/* other processors: no dispatch, so nothing is adopted and every fork goes straight through */

int smap_fork_setup(void)
{
	resolve();
	smap_why_set(SMARTMAP_F_FORK, "no Syscall User Dispatch on this processor: a forked child could not get copies of "
		     "adopted memory");
	return -ENOSYS;
}

static pid_t fork_adopted(fork_fn fn)
{
	return fn();
}

static int have_block(void)
{
	return 0;
}
#endif

/* Adopted ranges outlive the job, so fork must stay right: nothing is taken down. */
void smap_fork_teardown(void)
{
}

pid_t smap_fork(void)
{
	if (!real_fork)
		resolve();
	if (smap.nranges && have_block())
		return fork_adopted(real_fork);
	return real_fork();
}

pid_t smap__Fork(void)
{
	pid_t r;

	if (!real_Fork)
		resolve();
	if (!real_Fork) {
		errno = ENOSYS;
		return -1;
	}
	if (smap.nranges && have_block())
		return fork_adopted(real_Fork);
	r = real_Fork();
	if (!r)
		atfork_child();		/* libc's _Fork runs no handlers */
	return r;
}

SMAP_OURS(fork, smap_fork);
SMAP_OURS(_Fork, smap__Fork);

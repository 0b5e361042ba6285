/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * syscalls.h - count the system calls of this process from now on
 *
 * A seccomp filter turns each one but write() and exit_group() into a signal, whose handler counts it and lets it
 * fail with ENOSYS. There is no way back: say what there is to say with write() and _exit().
 */
#ifndef T_SYSCALLS_H
#define T_SYSCALLS_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static volatile uint32_t sys_n;		/* counted so far */
static volatile int sys_last = -1;	/* number of the last one */

static void sys_handler(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	sys_n++;
	sys_last = si->si_syscall;
#ifdef __x86_64__
	((ucontext_t *)ctx)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#elif defined(__aarch64__)
	((ucontext_t *)ctx)->uc_mcontext.regs[0] = (uint64_t)-ENOSYS;
#endif
}

/* Return: 0, or why not. */
static const char *sys_count_from_now(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { .len = sizeof(f) / sizeof(f[0]), .filter = f };
	struct sigaction sa = { .sa_sigaction = sys_handler, .sa_flags = SA_SIGINFO };

#if !defined(__x86_64__) && !defined(__aarch64__)
	return "made for x86-64 and arm64";
#endif
	sigaction(SIGSYS, &sa, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		return "seccomp filters are not allowed here";
	return NULL;
}

/* printf for the time after it */
#define SYS_SAY(...) do {								\
	char line_[256];								\
	int n_ = snprintf(line_, sizeof(line_), __VA_ARGS__);				\
	if (write(1, line_, (size_t)n_) < 0)						\
		_exit(3);								\
} while (0)

#endif

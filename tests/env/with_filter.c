/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * with_filter.c - run a command under a seccomp filter
 *
 *	with_filter docker COMMAND...		what Docker's documentation names as blocked, and io_uring; clone3 is
 *						ENOSYS, as there
 *	with_filter docker-old COMMAND...	and process_vm_readv, process_vm_writev (its kernels before 4.8)
 *	with_filter overcommit N COMMAND...	private writable memory of 2^N bytes and more is ENOMEM, as with
 *						vm.overcommit_memory=2 and so much left; N below 32
 *	with_filter no-sud COMMAND...		Syscall User Dispatch is refused
 *	with_filter errno CALL... -- COMMAND...	these calls (memfd, membarrier, cma) are EPERM
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sock_filter f[400];
static unsigned n;

static void add(struct sock_filter s)
{
	f[n++] = s;
}

#define STMT(code, k)		add((struct sock_filter)BPF_STMT(code, k))
#define JUMP(code, k, t, e)	add((struct sock_filter)BPF_JUMP(code, k, t, e))
#define ARG_LOW(i)		(offsetof(struct seccomp_data, args) + 8 * (i))	/* little end first */

static void refuse(long nr, unsigned err)
{
	JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1);
	STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err);
}

static const int docker[] = {
	SYS_acct, SYS_add_key, SYS_bpf, SYS_clock_adjtime, SYS_clock_settime, SYS_delete_module,
	SYS_finit_module, SYS_get_mempolicy, SYS_init_module, SYS_kcmp, SYS_kexec_file_load, SYS_kexec_load,
	SYS_keyctl, SYS_mbind, SYS_mount, SYS_move_pages, SYS_open_by_handle_at, SYS_perf_event_open,
	SYS_pivot_root, SYS_ptrace, SYS_quotactl, SYS_reboot, SYS_request_key, SYS_set_mempolicy, SYS_setns,
	SYS_settimeofday, SYS_swapon, SYS_swapoff, SYS_umount2, SYS_unshare, SYS_userfaultfd,
	SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_nfsservctl, SYS_lookup_dcookie,
	SYS_vhangup, SYS_fanotify_init, SYS_name_to_handle_at, SYS_syslog, SYS_migrate_pages,
#ifdef SYS_iopl
	SYS_iopl, SYS_ioperm, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_create_module,
	SYS_query_module, SYS_get_kernel_syms,
#endif
};

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	struct sock_fprog p = { .filter = f };
	int at = 2;

	STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	if (!strncmp(mode, "docker", 6)) {
		for (size_t i = 0; i < sizeof(docker) / sizeof(docker[0]); i++)
			refuse(docker[i], EPERM);
		refuse(SYS_clone3, ENOSYS);
		if (mode[6]) {
			refuse(SYS_process_vm_readv, EPERM);
			refuse(SYS_process_vm_writev, EPERM);
		}
	} else if (!strcmp(mode, "overcommit")) {
		unsigned least = argc > 3 ? 1u << (atoi(argv[at++]) & 31) : 0;

		JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 9);
		STMT(BPF_LD | BPF_W | BPF_ABS, ARG_LOW(1) + 4);
		JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);			/* 4 GiB and more */
		STMT(BPF_LD | BPF_W | BPF_ABS, ARG_LOW(1));
		JUMP(BPF_JMP | BPF_JGE | BPF_K, least, 0, 5);
		STMT(BPF_LD | BPF_W | BPF_ABS, ARG_LOW(3));
		JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 3, 0);
		STMT(BPF_LD | BPF_W | BPF_ABS, ARG_LOW(2));
		JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 0, 1);
		STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM);
	} else if (!strcmp(mode, "no-sud")) {
		JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3);
		STMT(BPF_LD | BPF_W | BPF_ABS, ARG_LOW(0));
		JUMP(BPF_JMP | BPF_JEQ | BPF_K, 59 /* PR_SET_SYSCALL_USER_DISPATCH */, 0, 1);
		STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL);
	} else if (!strcmp(mode, "errno")) {
		for (; at < argc && strcmp(argv[at], "--"); at++) {
			if (!strcmp(argv[at], "memfd"))
				refuse(SYS_memfd_create, EPERM);
			else if (!strcmp(argv[at], "membarrier"))
				refuse(SYS_membarrier, EPERM);
			else if (!strcmp(argv[at], "cma"))
				refuse(SYS_process_vm_readv, EPERM), refuse(SYS_process_vm_writev, EPERM);
			else
				return fprintf(stderr, "with_filter: no call %s\n", argv[at]), 2;
		}
		at++;
	} else {
		return fprintf(stderr, "usage: with_filter "
			       "docker|docker-old|overcommit N|no-sud|errno CALL... -- COMMAND...\n"), 2;
	}
	STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	p.len = (unsigned short)n;
	if (at >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0))
		return perror("with_filter"), 77;
	execvp(argv[at], argv + at);
	return perror(argv[at]), 127;
}

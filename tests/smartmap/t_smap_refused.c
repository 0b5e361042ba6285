/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What the system refuses in earnest (seccomp, namespaces, an undumpable process, overcommit) is said in a sentence, and
 * the rest goes on: the same bytes by another path.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "launch.h"

static char data[10000] = "data";
static char bss[3 << 20];

/* System call @nr fails with @err from now on, also after exec. 0: done. */
static int refuse(long nr, int err)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),		/* seccomp_data.nr */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0);
}

static void p_cma(int r)
{
	(void)r;
	if (refuse(SYS_process_vm_readv, EPERM) || refuse(SYS_process_vm_writev, EPERM))
		setenv("T_NO_SECCOMP", "1", 1);
}

static void p_memfd(int r)
{
	if (r == 1 && refuse(SYS_memfd_create, EPERM))
		setenv("T_NO_SECCOMP", "1", 1);
}

static void p_connect(int r)
{
	if (r == 1 && refuse(SYS_connect, EPERM))
		setenv("T_NO_SECCOMP", "1", 1);
}

static void p_recvmsg(int r)
{
	if (r == 1 && refuse(SYS_recvmsg, EPERM))
		setenv("T_NO_SECCOMP", "1", 1);
}

static void p_files(int r)
{
	struct rlimit l = { 7, 7 };

	(void)r;
	setrlimit(RLIMIT_NOFILE, &l);
}

static void p_membarrier(int r)
{
	(void)r;
	if (refuse(SYS_membarrier, ENOSYS))
		setenv("T_NO_SECCOMP", "1", 1);
}

static void p_madvise(int r)	/* all advice: DONTFORK too, so windows cannot be made safe */
{
	(void)r;
	if (refuse(SYS_madvise, EINVAL))
		setenv("T_NO_SECCOMP", "1", 1);
}

static void p_pidns(int r)
{
	pid_t p;
	int st;

	if (r != 1)
		return;
	if (unshare(CLONE_NEWPID)) {
		setenv("T_NO_PIDNS", "1", 1);
		return;
	}
	p = fork();
	if (p) {
		if (waitpid(p, &st, 0) != p)
			_exit(1);
		_exit(t_code(st));
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void p_nobody(int r)
{
	(void)r;
	t_be_nobody();
}

static void need_seccomp(void)
{
	if (getenv("T_NO_SECCOMP"))
		T_SKIP("seccomp filters cannot be installed here");
}

/* Bytes of the peers, whatever the path; counts those that only the owner could copy. */
static int look_around(void)
{
	char **own = smartmap_alloc(64, 0), *heap = malloc(5000), buf[5000];
	int i, k, bounced = 0;

	memset(heap, 40 + t_rank, 5000);
	memset(bss, 60 + t_rank, sizeof(bss));
	own[0] = heap;
	own[1] = bss;
	smartmap_publish(16, own);
	t_sync();
	for (i = 0; i < t_size; i++) {
		char **theirs = smartmap_remote(i, smartmap_lookup(i, 16));

		for (k = 0; k < 2; k++) {
			int r = smartmap_read(i, buf, theirs[k], 5000);

			if (r == -EAGAIN) {
				T_CHECK(smartmap_path(i, theirs[k], 5000) == SMARTMAP_BOUNCE);
				bounced++;
			} else {
				T_CHECK(!r && buf[0] == (k ? 60 : 40) + i && buf[4999] == buf[0]);
			}
		}
		T_CHECK(smartmap_alive(i));
	}
	t_sync();
	return bounced;
}

static void r_cma(void)
{
	need_seccomp();
	t_join();
	T_CHECK(!smartmap_has(SMARTMAP_F_CMA) && strstr(smartmap_why(SMARTMAP_F_CMA), "Operation not permitted"));
	T_CHECK(look_around() == (smartmap_has(SMARTMAP_F_DATA) ? t_size - 1 : 2 * (t_size - 1)));
	smartmap_fini();
}

static void r_memfd(void)
{
	struct smartmap_job j = t_job();
	int r;

	need_seccomp();
	r = smartmap_init(&j);
	if (r != -ENOSYS || !strstr(smartmap_why(SMARTMAP_F_WINDOWS), "memfd_create"))
		T_FAIL("%d %s", r, smartmap_why(SMARTMAP_F_WINDOWS));
}

/* The refused one says so at once (its time would be more than the test's), and so the other, where it can be told. */
static void meet(int told)
{
	struct smartmap_job j = t_job();

	need_seccomp();
	j.timeout_ms = t_rank || told ? 600000 : 300;
	T_CHECK(smartmap_init(&j) < 0);
	if ((t_rank || told) && !strstr(smartmap_why(SMARTMAP_F_WINDOWS), "Operation not permitted): allow it in the seccomp"))
		T_FAIL("%s", smartmap_why(SMARTMAP_F_WINDOWS));
}

static void r_connect(void)
{
	meet(0);
}

static void r_recvmsg(void)
{
	meet(1);
}

static void r_files(void)
{
	struct smartmap_job j = t_job();
	int r = smartmap_init(&j);

	if (r != -ENOMEM || !strstr(smartmap_why(SMARTMAP_F_WINDOWS), "(ulimit -n) is 7, and the start of the job takes "
				    "up to 68 "))
		T_FAIL("%d %s", r, smartmap_why(SMARTMAP_F_WINDOWS));
}

static void p_narrow(int r)
{
	(void)r;
	setenv("SMARTMAP_FORCE_SPACE", "34", 1);
}

static void r_narrow(void)
{
	struct smartmap_job j = t_job();
	int r = smartmap_init(&j);

	if (r != -ENOSYS || !strstr(smartmap_why(SMARTMAP_F_WINDOWS), "34 bits of addresses, which hold windows for at most "
				    "16 ranks, not for 17:"))
		T_FAIL("%d %s", r, smartmap_why(SMARTMAP_F_WINDOWS));
}

static void r_membarrier(void)
{
	need_seccomp();
	t_join();
	T_CHECK(!smartmap_membarrier_ok() && *smartmap_why(SMARTMAP_F_MEMBARRIER));
	smartmap_membarrier();
	look_around();
	smartmap_fini();
}

static void r_madvise(void)
{
	struct smartmap_job j = t_job();

	need_seccomp();
	T_CHECK(smartmap_init(&j) < 0);
	T_CHECK(strstr(smartmap_why(SMARTMAP_F_WINDOWS), "madvise: Invalid argument): allow both"));
}

static void r_pidns(void)
{
	int i;

	if (getenv("T_NO_PIDNS"))
		T_SKIP("no pid namespace can be made here");
	t_join();
	look_around();
	for (i = 0; i < t_size; i++)
		T_CHECK(i == t_rank || (smartmap_pid(i) == -1) == (t_rank == 1 || i == 1));
	smartmap_fini();
}

static int only_root(const struct t_case *c)
{
	if (geteuid()) {
		printf("# needs root\n");
		return 77;
	}
	return t_run(c->name, c->size, c->prep, 60);
}

static void r_undumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	t_join();
	T_CHECK(!smartmap_has(SMARTMAP_F_CMA) && *smartmap_why(SMARTMAP_F_CMA));
	look_around();
	smartmap_fini();
}

static void r_nobody(void)
{
	t_join();
	T_CHECK(smartmap_has(SMARTMAP_F_CMA) || *smartmap_why(SMARTMAP_F_CMA));
	look_around();
	smartmap_fini();
}

static void r_overcommit(void)
{
	FILE *f = fopen("/proc/sys/vm/overcommit_memory", "r");

	if (!f || fgetc(f) != '2')
		T_SKIP("vm.overcommit_memory is not 2, and a test does not change it for the whole machine");
	t_join();
	look_around();
	smartmap_fini();
}

static long huge_kb(void)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512];
	long v, sum = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ShmemPmdMapped: %ld", &v) == 1)
			sum += v;
	if (f)
		fclose(f);
	return sum;
}

static char large[32 << 20];

static void r_huge(void)
{
	memset(large, 1, 24 << 20);
	t_join();
	T_CHECK(data[0] == 'd' && large[0] == 1 && large[(24 << 20) - 1] == 1 && !large[(24 << 20) + 5]);
	if (!smartmap_has(SMARTMAP_F_HUGE))
		T_SKIP("%s", smartmap_why(SMARTMAP_F_HUGE));
	t_sync();
	if (huge_kb() < 10 << 10)
		T_SKIP("the kernel found no free huge pages (%ld kB)", huge_kb());
	smartmap_fini();
}

int main(void)
{
	static const struct t_case cases[] = {
		{ "cma_refused_by_seccomp", r_cma, NULL, 2, p_cma },
		{ "memfd_refused_in_one_rank_is_told_to_all", r_memfd, NULL, 3, p_memfd },
		{ "connect_refused_is_said_at_once", r_connect, NULL, 2, p_connect },
		{ "recvmsg_refused_is_told_to_all_at_once", r_recvmsg, NULL, 2, p_recvmsg },
		{ "few_files_name_the_limit_that_is_needed", r_files, NULL, 2, p_files },
		{ "more_ranks_than_the_width_of_addresses_holds", r_narrow, NULL, 17, p_narrow },
		{ "membarrier_refused", r_membarrier, NULL, 2, p_membarrier },
		{ "madvise_refused_is_an_error", r_madvise, NULL, 2, p_madvise },
		{ "rank_in_another_pid_namespace", r_pidns, only_root, 3, p_pidns },
		{ "undumpable_processes", r_undumpable, NULL, 2, p_nobody },
		{ "unprivileged_user", r_nobody, NULL, 3, p_nobody },
		{ "overcommit_forbidden", r_overcommit, NULL, 2, NULL },
		{ "full_blocks_become_huge_pages", r_huge, NULL, 2, NULL },
	};

	return t_main(cases, sizeof(cases) / sizeof(cases[0]));
}

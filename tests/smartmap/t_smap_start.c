/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Start and end: who may come in, who may not, how many, under which limits, and what remains when somebody dies.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "launch.h"

/* also where the C library does not name it */
#define SMT_SYSCALL_INFO ((enum __ptrace_request)0x420e)

/* ---- what is left ------------------------------------------------------------------------------------------- */

/* Address of the socket that the ranks of job @job meet at; its length. */
static socklen_t job_socket(struct sockaddr_un *sa, const char *job)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *job; job++)
		h = (h ^ (uint8_t)*job) * 0x100000001b3ull;
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) +
	       (socklen_t)snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "smartmap.%u.%016llx.0",
				   (unsigned)geteuid(), (unsigned long long)h);
}

/* Only this test's own: others may run at the same time. */
static int unix_names(void)
{
	FILE *f = fopen("/proc/net/unix", "r");
	struct sockaddr_un sa;
	char line[512];
	int n = 0;

	job_socket(&sa, getenv("SMT_NAME") ? getenv("SMT_NAME") : t_jobname);
	sa.sun_path[strlen(sa.sun_path + 1)] = 0;	/* with any number at the end */
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, sa.sun_path + 1) != NULL;
	if (f)
		fclose(f);
	return n;
}

static int shm_files(void)
{
	DIR *d = opendir("/dev/shm");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += strstr(e->d_name, "smartmap") || strstr(e->d_name, "smt-");
	if (d)
		closedir(d);
	return n;
}

/* Number of our descriptors that are memory files. */
static int memfds(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		char path[300], to[256];
		ssize_t l;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		l = readlink(path, to, sizeof(to) - 1);
		if (l > 0) {
			to[l] = 0;
			n += strstr(to, "memfd:") != NULL;
		}
	}
	if (d)
		closedir(d);
	return n;
}

static int fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* ---- plain starts ------------------------------------------------------------------------------------------- */

static void r_start(void)
{
	int i, before = fds();

	t_join();
	t_sync();
	if (smartmap_size() <= 64)
		for (i = 0; i < t_size; i++)
			T_CHECK(smartmap_alive(i) && smartmap_remote(i, smartmap_lookup(i, 0)) != (void *)1);
	T_CHECK(memfds() == 0);
	t_sync();
	smartmap_fini();
	T_CHECK(fds() <= before + 1);		/* the own box stays: adopted memory is in that file */
}

static void r_start_open(void)			/* no mailbox: the own descriptor may lie open, the peers' not */
{
	t_join();
	t_sync();
	T_CHECK(memfds() <= 1);
	T_CHECK(smartmap_alive(!t_rank));
	t_sync();
	smartmap_fini();
}

static void r_untouched(void)
{
	t_join();
	t_sync();
	smartmap_fini();
}

static int two_jobs(const struct t_case *c)
{
	static struct t_job_run a, b;
	int i, bad = 0;

	for (i = 0; i < 5; i++) {
		int k;

		t_launch(&a, c->name, 4, NULL);
		t_launch(&b, c->name, 4, NULL);
		bad |= !t_wait(&a, 60);
		bad |= !t_wait(&b, 60);
		for (k = 0; k < 4; k++)
			bad |= t_code(a.status[k]) | t_code(b.status[k]);
	}
	return bad ? 1 : 0;
}

/* The program uses up its descriptors after the start: windows must attach all the same. */
static void r_late(void)
{
	int i;

	t_join();
	while (dup(0) >= 0)
		;
	T_CHECK(errno == EMFILE);
	for (i = 0; i < t_size; i++)
		T_CHECK(!smartmap_attach(i));
	T_CHECK(dup(0) < 0);			/* the limit is the program's again */
	t_sync();
	smartmap_fini();
}

static void p_late(int r)
{
	struct rlimit l = { 30, 500 };

	(void)r;
	setrlimit(RLIMIT_NOFILE, &l);
}

/* Nothing is adopted, so fork is libc's: the child is in no job, and says so instead of faulting. */
static void r_plain_fork(void)
{
	struct smartmap_job j = t_job();
	int st;
	pid_t p;

	j.adopt = 0;
	T_CHECK(!smartmap_init(&j));
	t_sync();
	p = fork();
	if (!p)
		_exit(smartmap_size() || smartmap_barrier() != -EINVAL || smartmap_alloc(64, 0) || smartmap_alive(0) ||
		      smartmap_lookup(0, 0) || smartmap_remote(!t_rank, &j));
	T_CHECK(waitpid(p, &st, 0) == p && !st);
	t_sync();
	smartmap_fini();
}

/* ---- limits ------------------------------------------------------------------------------------------------- */

static void limit(int what, rlim_t v)
{
	struct rlimit r = { v, v };

	if (setrlimit(what, &r))
		_exit(3);
}

static void p_as_small(int r) { (void)r; limit(RLIMIT_AS, (rlim_t)3 << 30); }
static void p_as_small_one(int r) { if (r == 1) limit(RLIMIT_AS, (rlim_t)3 << 30); }
static void p_as_fair(int r) { (void)r; limit(RLIMIT_AS, (rlim_t)400 << 30); }
static void p_as_one(int r) { if (r == 1) limit(RLIMIT_AS, (rlim_t)16 << 30); }

/* Windows for the library's own memory; the program's stays private, and is reached by the kernel's copy. */
static void r_as_small(void)
{
	static char mine[100] = "data";
	char got[100], **told;
	int i;

	t_join();
	T_CHECK(!smartmap_has(SMARTMAP_F_DATA) && !smartmap_has(SMARTMAP_F_STACK) && !smartmap_has(SMARTMAP_F_HEAP));
	if (!strstr(smartmap_why(SMARTMAP_F_DATA), "Valgrind"))
		T_CHECK(strstr(smartmap_why(SMARTMAP_F_DATA), "ulimit -v"));
	told = smartmap_alloc((size_t)200 << 20, 0);
	T_CHECK(told);
	told[0] = mine;
	told[(25 << 20) - 1] = mine + t_rank;
	smartmap_publish(16, told);
	t_sync();
	for (i = 0; i < t_size; i++) {
		char **theirs = smartmap_remote(i, smartmap_lookup(i, 16));

		T_CHECK(theirs[(25 << 20) - 1] == theirs[0] + i);
		T_CHECK(i == t_rank || !smartmap_reachable(i, theirs[0], 5));
		if (smartmap_has(SMARTMAP_F_CMA))
			T_CHECK(!smartmap_read(i, got, theirs[0], sizeof(got)) && !strcmp(got, "data"));
	}
	t_sync();
	smartmap_fini();
}

/* Too little for anything: the sentence names a limit that will do. */
static void r_as_tiny(void)
{
	struct smartmap_job j = t_job();
	struct rlimit r = { (rlim_t)400 << 20, RLIM_INFINITY };
	const char *needs;
	int ret;

	T_CHECK(!setrlimit(RLIMIT_AS, &r));
	j.timeout_ms = 3000;
	ret = smartmap_init(&j);
	needs = strstr(smartmap_why(SMARTMAP_F_WINDOWS), "needs ");
	if (ret != -ENOSYS || !needs || !strstr(smartmap_why(SMARTMAP_F_WINDOWS), "ulimit -v"))
		T_FAIL("%d %s", ret, smartmap_why(SMARTMAP_F_WINDOWS));
	T_CHECK(smartmap_size() == 0);
	r.rlim_cur = (rlim_t)strtoull(needs + 6, NULL, 10) << 20;
	T_CHECK(r.rlim_cur > (rlim_t)400 << 20 && r.rlim_cur < (rlim_t)4 << 30);
	T_CHECK(!setrlimit(RLIMIT_AS, &r));
	r_as_small();
}

static void p_nofile(int r)
{
	(void)r;
	limit(RLIMIT_NOFILE, 40);
	t_be_nobody();
}

static void r_windows_off(void)
{
	struct smartmap_job j = t_job();
	int r = smartmap_init(&j);

	T_CHECK(r == -ENOSYS && *smartmap_why(SMARTMAP_F_WINDOWS));
}
static void p_windows_off(int r) { (void)r; setenv("SMARTMAP_FORCE_OFF", "windows", 1); }
static void p_windows_off_one(int r) { if (r == 2) setenv("SMARTMAP_FORCE_OFF", "windows", 1); }

/* ---- who may come in ---------------------------------------------------------------------------------------- */

/* The last rank is a stranger: it must be refused, and the others must do without it (they time out). */
static void r_wrong_key(void)
{
	struct smartmap_job j = t_job();
	int r;

	j.timeout_ms = 1500;
	if (t_rank == t_size - 1)
		j.key[3] ^= 1;
	r = smartmap_init(&j);
	if (t_rank == t_size - 1)
		T_CHECK(r == -EPERM && strstr(smartmap_why(SMARTMAP_F_WINDOWS), "key"));
	else
		T_CHECK(r == -ETIMEDOUT && *smartmap_why(SMARTMAP_F_WINDOWS));
}

static void r_wrong_key_zero(void)	/* rank 0 itself is the stranger */
{
	struct smartmap_job j = t_job();
	int r;

	j.timeout_ms = 1000;
	if (!t_rank)
		j.key[3] ^= 1;
	r = smartmap_init(&j);
	T_CHECK(r == (t_rank ? -EPERM : -ETIMEDOUT));
}

static void r_wrong_pid(void)
{
	struct smartmap_job j = t_job();
	int32_t pids[3] = { 0, 0, 1 };

	j.timeout_ms = 1000;
	j.pids = pids;
	T_CHECK(smartmap_init(&j) == (t_rank == 2 ? -EPERM : -ETIMEDOUT));
}

static void r_other_user(void)
{
	struct smartmap_job j = t_job();
	int r;

	j.timeout_ms = 1000;
	r = smartmap_init(&j);
	if (r != -ETIMEDOUT)
		T_FAIL("%d %s", r, smartmap_why(SMARTMAP_F_WINDOWS));
}

static int other_user(const struct t_case *c)
{
	if (geteuid()) {
		printf("# only root can become another user\n");
		return 77;
	}
	return t_run(c->name, c->size, c->prep, 30);
}

static void p_other_user(int r)
{
	if (r == 2)
		t_be_nobody();
}

/* A member of the job runs; a process outside of it (same user) and one of another user try to get at its memory. */
static void r_outside(void)
{
	struct smartmap_job j;
	int fd[2], ch[2], r;
	pid_t p;
	char c = 0;

	t_join();
	T_CHECK(memfds() == 0);
	t_sync();
	if (!t_rank) {
		T_CHECK(!pipe(fd) && !pipe(ch));
		p = fork();
		T_CHECK(p >= 0);
		if (!p) {
			/* A child is outside the job: nothing is inherited that leads to the windows. */
			execl(t_self(), "smt", "outside", (char *)NULL);
			_exit(126);
		}
		T_CHECK(waitpid(p, &r, 0) == p);
		T_CHECK(t_code(r) == 0);
	}
	(void)j;
	(void)c;
	t_sync();
	smartmap_fini();
}

/* Runs as a process outside the job, whose parent is a member. */
static int outside(void)
{
	struct smartmap_job j = { .size = 3, .rank = 1, .timeout_ms = 300 };
	char path[300], to[256];
	struct dirent *e;
	DIR *d;
	int i;

	j.name = getenv("SMT_NAME");
	if (smartmap_init(&j) != -ETIMEDOUT)	/* the door is closed once all are in */
		return 11;
	if (unix_names())
		return 12;
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd", (int)getppid());
		d = opendir(path);
		while (d && (e = readdir(d))) {
			ssize_t l;
			int fd;

			snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)getppid(), e->d_name);
			l = readlink(path, to, sizeof(to) - 1);
			to[l > 0 ? l : 0] = 0;
			fd = strstr(to, "memfd") || strstr(to, "socket") ? open(path, O_RDWR) : -1;
			if (fd >= 0)
				return 13;
		}
		if (d)
			closedir(d);
		if (geteuid())
			break;
		if (setgid(65534) || setuid(65534))
			return 14;
	}
	return 0;
}

/* Two processes claim the same rank. */
static void r_twice(void)
{
	struct smartmap_job j = t_job();
	int r;

	j.timeout_ms = 3000;
	if (t_rank == 2)
		j.rank = 1;
	r = smartmap_init(&j);
	T_CHECK(r == -EINVAL);
}

/* Rank 1 speaks another version: the head of a message is all that it shares with us. */
static void r_version(void)
{
	struct smartmap_job j = t_job();
	struct sockaddr_un sa;
	socklen_t len = job_socket(&sa, j.name);
	uint32_t m[128] = { 0x70616d73u, 99 };
	int fd, i;

	if (!t_rank) {
		int r = smartmap_init(&j);

		T_CHECK(r == -EPERM && strstr(smartmap_why(SMARTMAP_F_WINDOWS), "version 99"));
		return;
	}
	for (i = 0; i < 1000; i++) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (!connect(fd, (struct sockaddr *)&sa, len))
			break;
		close(fd);
		usleep(3000);
	}
	T_CHECK(i < 1000 && send(fd, m, sizeof(m), 0) == sizeof(m));
	while (recv(fd, m, sizeof(m), 0) > 0)
		;
}

/* Strangers that connect and say nothing, or rubbish, do not keep the ranks out. */
static void r_rubbish(void)
{
	if (t_rank == t_size - 1) {	/* not a rank: a nuisance */
		struct sockaddr_un sa;
		socklen_t len = job_socket(&sa, getenv("SMT_NAME"));
		double end = t_now() + 1;
		char junk[2000];
		int i;

		memset(junk, 0x5a, sizeof(junk));
		for (i = 0; t_now() < end && i < 500; i++) {
			int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

			if (connect(fd, (struct sockaddr *)&sa, len)) {
				usleep(1000);
				close(fd);
				continue;
			}
			if (i % 2 && send(fd, junk, (size_t)(i * 7 % 2000), MSG_NOSIGNAL) < 0)
				continue;
		}
		return;
	}
	t_size--;
	if (!t_rank)
		usleep(10000);
	if (t_rank == 1)
		usleep(200000);
	t_join();
	t_sync();
	smartmap_fini();
}

/* ---- death -------------------------------------------------------------------------------------------------- */

#define MARK 0x534d4150

static unsigned char data[1 << 20] = { 1 }, bss[1 << 20];

static void mark(int what)
{
	prctl(MARK, what, 0, 0, 0);		/* unknown to the kernel: only the tracer sees it */
}

static void r_death(void)
{
	struct smartmap_job j = t_job();
	double t0 = t_now();
	int r, i;
	pid_t p;

	memset(bss, 5, sizeof(bss));
	j.timeout_ms = 1500;
	mark(1);
	r = smartmap_init(&j);
	if (!r) {
		r = smartmap_barrier();
		if (!r)
			smartmap_publish(16, bss);
		if (!r)
			r = smartmap_barrier();
		if (r)
			T_CHECK(r == -ESRCH);
		smartmap_fini();
	} else {
		/* Who dies before it has come has never come. */
		if ((r != -ESRCH && r != -ETIMEDOUT) || !*smartmap_why(SMARTMAP_F_WINDOWS))
			T_FAIL("%d %s", r, smartmap_why(SMARTMAP_F_WINDOWS));
		T_CHECK(smartmap_size() == 0 && !smartmap_adopted(bss, 1));
	}
	mark(2);
	if (t_now() - t0 > 5)
		T_FAIL("noticed only after %.1f s", t_now() - t0);
	/* Our own memory is as it was, and so is fork. */
	for (i = 0; i < 1 << 20; i++)
		T_CHECK(bss[i] == 5 && data[i] == (i ? 0 : 1));
	p = fork();
	if (!p) {
		bss[7] = 6;
		_exit(bss[8] == 5 ? 0 : 1);
	}
	T_CHECK(waitpid(p, &r, 0) == p && !r && bss[7] == 5);
}

static void p_traced(int r)
{
	const char *v = getenv("SMT_VICTIM");

	if (v && atoi(v) == r) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
	}
}

/* Let @pid run to its @n-th system call stop after the mark, and kill it there. 1: it was killed; 0: it ended before. */
static int kill_at(pid_t pid, int n)
{
	int st, in = 0, seen = 0;

	for (;;) {
		struct { uint8_t op, pad[3]; uint32_t arch; uint64_t ip, sp, nr, args[6]; } info;
		int sig = 0;

		if (waitpid(pid, &st, __WALL) != pid || WIFEXITED(st) || WIFSIGNALED(st))
			return 0;
		if (WIFSTOPPED(st) && WSTOPSIG(st) == (SIGTRAP | 0x80)) {
			memset(&info, 0, sizeof(info));
			if (ptrace(SMT_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
				return -1;
			if (info.op == 1 && info.nr == SYS_prctl && info.args[0] == MARK)
				in = info.args[1] == 1;
			if (in && seen++ == n) {
				kill(pid, SIGKILL);
				waitpid(pid, &st, __WALL);
				return 1;
			}
		} else if (WIFSTOPPED(st)) {
			if (WSTOPSIG(st) == SIGSTOP)
				ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
			else if (WSTOPSIG(st) != SIGTRAP)
				sig = WSTOPSIG(st);
		}
		ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)sig);
	}
}

static int die(const struct t_case *c, int victim, int step)
{
	static struct t_job_run r;
	int n, i, bad = 0, killed = 1, runs = 0, files = shm_files();
	const char *every = getenv("T_STEP");	/* 1: at each stop */
	char v[16];

	if (every && atoi(every) > 0)
		step = atoi(every);
	snprintf(v, sizeof(v), "%d", victim);
	setenv("SMT_VICTIM", v, 1);
	for (n = 0; killed == 1 && !bad; n += step) {
		t_launch(&r, c->name, 3, p_traced);
		killed = kill_at(r.pid[victim], n);
		r.status[victim] = 0;
		if (!t_wait(&r, 25)) {
			fprintf(stderr, "# a peer hangs when rank %d dies at system call stop %d\n", victim, n);
			bad = 1;
		}
		for (i = 0; i < 3; i++)
			if (r.status[i]) {
				fprintf(stderr, "# rank %d died at stop %d: rank %d ended with %d\n", victim, n, i, t_code(r.status[i]));
				bad = 1;
			}
		runs++;
		if (unix_names() || shm_files() != files) {
			fprintf(stderr, "# something is left after stop %d\n", n);
			bad = 1;
		}
	}
	unsetenv("SMT_VICTIM");
	printf("# rank %d was killed at %d places\n", victim, runs);
	if (killed < 0)
		return 77;
	return bad || runs < 10;
}

static int die_first(const struct t_case *c) { return die(c, 0, 7); }
static int die_other(const struct t_case *c) { return die(c, 1, 7); }

static long shmem_kb(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[256];
	long v = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Shmem: %ld", &v) == 1)
			break;
	if (f)
		fclose(f);
	return v;
}

/* All are killed while 100 MB each lie in their windows: the memory comes back, nothing has a name. */
static void r_killed(void)
{
	char *p;

	t_join();
	p = smartmap_alloc(100 << 20, 0);
	T_CHECK(p);
	memset(p, 1, 100 << 20);
	t_sync();
	if (!t_rank) {
		kill(0, 0);
		if (write(atoi(getenv("SMT_PIPE")), "x", 1) != 1)
			exit(1);
	}
	pause();
}

static int all_killed(const struct t_case *c)
{
	static struct t_job_run r;
	long before = shmem_kb(), with, after;
	int p[2], i, files = shm_files();
	char s[16], ch;

	if (pipe(p))
		return 1;
	snprintf(s, sizeof(s), "%d", p[1]);
	setenv("SMT_PIPE", s, 1);
	t_launch(&r, c->name, 2, NULL);
	if (read(p[0], &ch, 1) != 1)
		return 1;
	with = shmem_kb();
	for (i = 0; i < 2; i++)
		kill(r.pid[i], SIGKILL);
	t_wait(&r, 10);
	for (i = 0; i < 40 && shmem_kb() > before + 20000; i++)
		usleep(50000);
	after = shmem_kb();
	if (with - before < 150000 || after - before > 20000)
		fprintf(stderr, "# shmem %ld, %ld with the ranks, %ld after\n", before, with, after);
	return with - before < 150000 || after - before > 20000 || unix_names() || shm_files() != files;
}

/* A rank is killed later: the others learn it without a call, its window stays readable, the barrier says so. */
static void r_killed_later(void)
{
	double t0;
	char *p;

	t_join();
	p = smartmap_alloc(4096, 0);
	p[0] = (char)(50 + t_rank);
	smartmap_publish(16, p);
	t_sync();
	if (t_rank == 1)
		kill(getpid(), SIGKILL);
	t0 = t_now();
	while (smartmap_alive(1) && t_now() - t0 < 5)
		usleep(100);
	T_CHECK(!smartmap_alive(1) && smartmap_alive(0) && smartmap_alive(2));
	T_CHECK(*(char *)smartmap_remote(1, smartmap_lookup(1, 16)) == 51);
	for (int i = 0; i < 4; i++)		/* also when it is tried again: who has come already does not count twice */
		T_CHECK(smartmap_barrier() == -ESRCH);
	T_CHECK(smartmap_read(1, p, (void *)&t0, 8) == -ESRCH || smartmap_reachable(1, &t0, 8));
}

static int killed_later(const struct t_case *c)
{
	static struct t_job_run r;
	int ok;

	t_launch(&r, c->name, 3, NULL);
	ok = t_wait(&r, 20);
	return !ok || t_code(r.status[0]) || t_code(r.status[2]) || t_code(r.status[1]) != 128 + SIGKILL;
}

static int timed(const struct t_case *c, double most)
{
	double t0 = t_now();
	int r = t_run(c->name, c->size, c->prep, most * 3);

	printf("# %d ranks: %.2f s from start to end\n", c->size, t_now() - t0);
	if (!r && t_now() - t0 > most)
		printf("# slow: expected %.0f s at most on an idle machine\n", most);
	return r;
}
static int big(const struct t_case *c) { return timed(c, 20); }

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{ "no_memory_file_lies_open", r_start, NULL, 3, NULL },
		{ "64_ranks_touch_each_other", r_start, big, 64, NULL },
		{ "250_ranks_start_and_end", r_untouched, big, 250, NULL },
		{ "two_jobs_at_once", r_start, two_jobs, 4, NULL },
		{ "address_space_limit_small_leaves_arenas", r_as_small, NULL, 2, p_as_small },
		{ "address_space_limit_small_in_one_rank", r_as_small, NULL, 3, p_as_small_one },
		{ "address_space_limit_tiny_is_a_sentence_with_a_remedy", r_as_tiny, NULL, 3, NULL },
		{ "address_space_limit_fair_gives_small_windows", r_start, NULL, 3, p_as_fair },
		{ "limit_in_one_rank_counts_for_all", r_start, NULL, 3, p_as_one },
		{ "few_descriptors", r_start_open, NULL, 12, p_nofile },
		{ "windows_attach_when_no_descriptor_is_left", r_late, NULL, 12, p_late },
		{ "child_of_plain_fork_is_in_no_job", r_plain_fork, NULL, 2, NULL },
		{ "windows_off_in_all", r_windows_off, NULL, 3, p_windows_off },
		{ "windows_off_in_one", r_windows_off, NULL, 3, p_windows_off_one },
		{ "wrong_key_is_refused", r_wrong_key, NULL, 3, NULL },
		{ "wrong_key_of_rank_0_is_noticed", r_wrong_key_zero, NULL, 2, NULL },
		{ "wrong_pid_is_refused", r_wrong_pid, NULL, 3, NULL },
		{ "other_user_is_refused", r_other_user, other_user, 3, p_other_user },
		{ "outsiders_find_no_way_in", r_outside, NULL, 2, NULL },
		{ "same_rank_twice_is_an_error", r_twice, NULL, 3, NULL },
		{ "other_layout_version_is_refused", r_version, NULL, 2, NULL },
		{ "rubbish_on_the_socket_is_passed_over", r_rubbish, NULL, 4, NULL },
		{ "rank_0_dies_anywhere_in_init", r_death, die_first, 3, NULL },
		{ "rank_1_dies_anywhere_in_init", r_death, die_other, 3, NULL },
		{ "all_killed_leave_nothing", r_killed, all_killed, 2, NULL },
		{ "death_is_seen_and_window_stays", r_killed_later, killed_later, 3, NULL },
	};

	if (argc > 1 && !strcmp(argv[1], "outside"))
		return outside();
	return t_main(cases, sizeof(cases) / sizeof(cases[0]));
}

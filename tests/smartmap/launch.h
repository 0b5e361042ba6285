/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * launch.h - run N ranks of this same program on this machine, with a time limit, and judge them (TAP)
 *
 * A test program calls t_main(). In the parent it runs the table of cases; each case starts ranks by fork and exec of
 * itself with SMT_CASE, SMT_RANK, SMT_SIZE, SMT_NAME, SMT_KEY in the environment. A rank ends with 0 (right), 77
 * (cannot be tested here) or anything else; it prints what is wrong as "# ..." lines.
 */
#ifndef SMT_LAUNCH_H
#define SMT_LAUNCH_H

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <smartmap.h>

#define T_MAXRANKS 256

static int t_rank, t_size;
static const char *t_case;

#define T_FAIL(...) do {								\
	fprintf(stderr, "# %s rank %d: line %d: ", t_case ? t_case : "?", t_rank, __LINE__);	\
	fprintf(stderr, __VA_ARGS__);							\
	fputc('\n', stderr);								\
	exit(1);									\
} while (0)
#define T_CHECK(x) do { if (!(x)) T_FAIL("%s", #x); } while (0)
#define T_SKIP(...) do {								\
	if (!t_rank) {									\
		printf("# ");								\
		printf(__VA_ARGS__);							\
		printf("\n");								\
		fflush(stdout);								\
	}										\
	exit(77);									\
} while (0)

static inline double t_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* The job as the environment describes it. */
static inline struct smartmap_job t_job(void)
{
	struct smartmap_job j = { .adopt = SMARTMAP_ADOPT_ALL, .timeout_ms = 20000 };
	const char *k = getenv("SMT_KEY");

	j.rank = (uint32_t)t_rank;
	j.size = (uint32_t)t_size;
	j.name = getenv("SMT_NAME");
	snprintf((char *)j.key, sizeof(j.key), "%s", k ? k : "");
	return j;
}

static inline void t_join(void)
{
	struct smartmap_job j = t_job();
	int r = smartmap_init(&j);

	if (r)
		T_FAIL("smartmap_init: %s: %s", strerror(-r), smartmap_why(SMARTMAP_F_WINDOWS));
}

static inline void t_sync(void)
{
	int r = smartmap_barrier();

	if (r)
		T_FAIL("barrier: %s", strerror(-r));
}

struct t_job_run {
	pid_t pid[T_MAXRANKS];
	int status[T_MAXRANKS];
	int size;
};

static char t_jobname[64];

static inline void t_new_job(void)
{
	static int serial;

	snprintf(t_jobname, sizeof(t_jobname), "smt-%d-%d", (int)getpid(), ++serial);
}

/* Path of this program. (Not /proc/self/exe itself: under Valgrind that is Valgrind.) */
static inline const char *t_self(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = 0;
	return path;
}

/*
 * In prep: the rank shall be nobody's. It becomes that only behind the exec, since nobody may not be able to enter the
 * folder of the build (root's home, for one), and is then as dumpable as a program that nobody started.
 */
static inline void t_be_nobody(void)
{
	setenv("SMT_NOBODY", "1", 1);
}

static inline void t_drop_root(void)
{
	if (getenv("SMT_NOBODY") && !geteuid() && (setgid(65534) || setuid(65534) || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)))
		_exit(3);
}

/* Start one rank; @prep runs in the child before exec. */
static inline pid_t t_start(const char *name, int rank, int size, void (*prep)(int rank))
{
	char a[16], b[16];
	pid_t p;

	fflush(stdout);
	p = fork();
	if (p)
		return p;
	snprintf(a, sizeof(a), "%d", rank);
	snprintf(b, sizeof(b), "%d", size);
	setenv("SMT_CASE", name, 1);
	setenv("SMT_RANK", a, 1);
	setenv("SMT_SIZE", b, 1);
	setenv("SMT_NAME", t_jobname, 1);
	if (!getenv("SMT_KEY"))
		setenv("SMT_KEY", t_jobname, 1);
	if (prep)
		prep(rank);
	if (getenv("T_RUNNER"))		/* an emulator: programs for this processor do not start by themselves */
		execlp(getenv("T_RUNNER"), "smt", t_self(), (char *)NULL);
	else
		execl(t_self(), "smt", (char *)NULL);
	_exit(126);
}

static inline void t_launch(struct t_job_run *r, const char *name, int size, void (*prep)(int rank))
{
	int i;

	t_new_job();
	r->size = size;
	for (i = 0; i < size; i++) {
		r->pid[i] = t_start(name, i, size, prep);
		r->status[i] = -1;
	}
}

/* Wait for all; kill them after @limit seconds. Return 1 when none had to be killed. */
static inline int t_wait(struct t_job_run *r, double limit)
{
	double end = t_now() + limit;
	int left = 0, i, in_time = 1;

	for (i = 0; i < r->size; i++)
		left += r->status[i] < 0;
	while (left) {
		for (i = 0; i < r->size; i++) {
			int st;

			if (r->status[i] >= 0 || waitpid(r->pid[i], &st, WNOHANG) != r->pid[i])
				continue;
			r->status[i] = st;
			left--;
		}
		if (left && t_now() > end && in_time) {
			in_time = 0;
			for (i = 0; i < r->size; i++)
				if (r->status[i] < 0) {
					fprintf(stderr, "# %s: rank %d (pid %d) hangs, killed\n", t_jobname, i, (int)r->pid[i]);
					kill(r->pid[i], SIGKILL);
				}
		}
		if (left)
			usleep(500);
	}
	return in_time;
}

static inline int t_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int t_no;

/* One TAP line; @code 0 right, 77 skipped. */
static inline void t_result(const char *what, int code, const char *why)
{
	if (code == 77)
		printf("ok %d - %s # SKIP %s\n", ++t_no, what, why && *why ? why : "not possible here (see above)");
	else
		printf("%sok %d - %s\n", code ? "not " : "", ++t_no, what);
	fflush(stdout);
}

/* All ranks must end with 0. */
static inline int t_run(const char *name, int size, void (*prep)(int rank), double limit)
{
	struct t_job_run r;
	int i, worst = 0, intime;

	t_launch(&r, name, size, prep);
	intime = t_wait(&r, limit);
	for (i = 0; i < size; i++) {
		int c = t_code(r.status[i]);

		if (c && c != 77)
			fprintf(stderr, "# %s: rank %d ended with %d\n", name, i, c);
		if (c && (worst == 0 || worst == 77))
			worst = c;
	}
	return intime ? worst : 1;
}

struct t_case {
	const char *name;			/* the rule */
	void (*rank)(void);			/* in each rank; returns when right */
	int (*parent)(const struct t_case *c);	/* NULL: t_run(name, size, prep, 60) */
	int size;
	void (*prep)(int rank);
};

static inline int t_main(const struct t_case *cases, int n)
{
	const char *only = getenv("T_ONLY");
	int i, bad = 0;

	t_case = getenv("SMT_CASE");
	if (t_case) {
		t_rank = atoi(getenv("SMT_RANK"));
		t_size = atoi(getenv("SMT_SIZE"));
		t_drop_root();
		for (i = 0; i < n; i++) {
			if (strcmp(cases[i].name, t_case))
				continue;
			cases[i].rank();
			return 0;
		}
		return 125;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%d\n", n);
	for (i = 0; i < n; i++) {
		int c;

		if (only && !strstr(cases[i].name, only)) {
			t_result(cases[i].name, 77, "not asked for");
			continue;
		}
		c = cases[i].parent ? cases[i].parent(&cases[i]) : t_run(cases[i].name, cases[i].size, cases[i].prep, 60);
		t_result(cases[i].name, c, NULL);
		bad |= c && c != 77;
	}
	return bad;
}

#endif

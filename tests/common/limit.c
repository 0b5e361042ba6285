/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * limit.c - run a test under a time limit and see that it leaves nothing behind
 *
 *	limit [-t SECONDS] COMMAND [ARG...]
 *
 * The command runs in a session of its own, and we are the subreaper of everything it starts, so that nothing can
 * hide by forking twice. When time is up the state of each of its processes is printed (the hang dump of the library
 * where PTL_DUMP_SIGNAL is set and caught, a backtrace by gdb where there is one, what /proc says), then all are
 * killed. Exit status: the command's; 124 time was up; 125 something was left behind; 128+n it died of signal n.
 * Everything printed here goes to stderr.
 */
#include "leftovers.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 20 * 1000 * 1000 }, NULL);
}

static void print_file(pid_t pid, const char *what, int max_lines)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	f = fopen(path, "r");
	if (!f)
		return;
	fprintf(stderr, "# %s:\n", path);
	while (max_lines-- > 0 && fgets(line, sizeof(line), f))
		fprintf(stderr, "#   %s%s", line, strchr(line, '\n') ? "" : "\n");
	fclose(f);
}

/* Does the process catch @sig? One that does not would die of it before we have seen anything. */
static int catches(pid_t pid, int sig)
{
	char path[64], line[256];
	unsigned long long set = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "SigCgt: %llx", &set);
	if (f)
		fclose(f);
	return set >> (sig - 1) & 1;
}

static void gdb_backtrace(pid_t pid)
{
	char who[16];
	double until = now_s() + 20;
	pid_t g;

	snprintf(who, sizeof(who), "%d", (int)pid);
	g = fork();
	if (!g) {
		dup2(2, 1);
		execlp("gdb", "gdb", "-nx", "-q", "-batch", "-p", who, "-ex", "set print thread-events off",
		       "-ex", "thread apply all bt 24", (char *)NULL);
		_exit(127);
	}
	while (g > 0 && !waitpid(g, NULL, WNOHANG)) {
		if (now_s() > until) {
			kill(g, SIGKILL);
			waitpid(g, NULL, 0);
			break;
		}
		nap();
	}
}

struct pids {
	pid_t v[256];
	int n;
};

static void collect(pid_t pid, void *arg)
{
	struct pids *p = arg;

	if (p->n < (int)(sizeof(p->v) / sizeof(p->v[0])))
		p->v[p->n++] = pid;
}

static void print_state(void)
{
	const char *s = getenv("PTL_DUMP_SIGNAL");
	int sig = s ? atoi(s) : 0;
	struct pids p = { .n = 0 };

	leftovers_descendants(collect, &p);
	for (int i = 0; sig > 0 && sig < 65 && i < p.n; i++)
		if (catches(p.v[i], sig))
			kill(p.v[i], sig);
	if (sig)
		nanosleep(&(struct timespec){ 1, 0 }, NULL);	/* the dump is for a reader, nothing waits for it */
	for (int i = 0; i < p.n; i++) {
		char name[64];

		fprintf(stderr, "# ---- process %d\n", (int)p.v[i]);
		print_file(p.v[i], "cmdline", 1);
		print_file(p.v[i], "status", 16);
		print_file(p.v[i], "wchan", 1);
		print_file(p.v[i], "stack", 20);
		snprintf(name, sizeof(name), "maps");
		print_file(p.v[i], name, 80);
		if (i < 8)
			gdb_backtrace(p.v[i]);
	}
}

static void kill_one(pid_t pid, void *arg)
{
	kill(pid, SIGKILL);
}

static void name_one(pid_t pid, void *arg)
{
	fprintf(stderr, "# left running: process %d\n", (int)pid);
	print_file(pid, "cmdline", 1);
}

/* Kill until nobody is left: a process may fork between our look and our signal. */
static void kill_all(void)
{
	double until = now_s() + 10;

	while (leftovers_descendants(kill_one, NULL) && now_s() < until) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nap();
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Dying takes the kernel a moment; what is still there after it was left behind. */
static int nothing_left(const struct leftovers *before)
{
	double until = now_s() + 3;
	int n;

	while (leftovers_descendants(NULL, NULL) && now_s() < until) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nap();
	}
	n = leftovers_descendants(name_one, NULL);
	if (n)
		kill_all();
	return n + leftovers_after(before, 1, stderr) == 0;
}

int main(int argc, char **argv)
{
	struct leftovers *before;
	double limit = 60, until;
	sigset_t set, old;
	pid_t child;
	int opt, status = 0, code;

	while ((opt = getopt(argc, argv, "+t:")) != -1) {
		if (opt != 't' || (limit = atof(optarg)) <= 0)
			return fprintf(stderr, "usage: limit [-t SECONDS] COMMAND [ARG...]\n"), 2;
	}
	if (optind >= argc)
		return fprintf(stderr, "usage: limit [-t SECONDS] COMMAND [ARG...]\n"), 2;
	before = leftovers_before();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	child = fork();
	if (child < 0)
		return perror("limit: fork"), 126;
	if (!child) {
		setsid();
		sigprocmask(SIG_SETMASK, &old, NULL);
		execvp(argv[optind], argv + optind);
		fprintf(stderr, "limit: %s: %s\n", argv[optind], strerror(errno));
		_exit(127);
	}
	until = now_s() + limit;
	for (;;) {
		double left = until - now_s();
		struct timespec t;
		pid_t done;
		int sig;

		if (left <= 0) {
			fprintf(stderr, "# time is up: %s ran for %.0f s\n", argv[optind], limit);
			print_state();
			kill_all();
			leftovers_after(before, 1, stderr);
			return 124;
		}
		t.tv_sec = (time_t)left;
		t.tv_nsec = (long)((left - (double)t.tv_sec) * 1e9);
		sig = sigtimedwait(&set, NULL, &t);
		if (sig > 0 && sig != SIGCHLD) {
			kill_all();
			return 128 + sig;
		}
		while ((done = waitpid(-1, &code, WNOHANG)) > 0)
			if (done == child)
				break;
		if (done == child) {
			status = code;
			break;
		}
	}
	if (!nothing_left(before))
		return 125;
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "# %s died of signal %d (%s)\n", argv[optind], WTERMSIG(status),
			strsignal(WTERMSIG(status)));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

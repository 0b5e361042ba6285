/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ptl_check - does every path work here, with every size, and how fast is it: two ranks, five seconds
 *
 * For each path two copies of this program are started as a job by hand, with the settings that leave only that path
 * (check_walk.c is what they do). What they find stands in a page that all three share; what they say on stderr
 * is kept, for the cause. One that does not end in time is asked who waits for whom, and killed. Under a
 * launcher its ranks 0 and 1 are the pair, and walk those paths that need no other settings.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include "check.h"
#include "info.h"
#include "p3_knobs.h"
#include "p3_pmi.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool json;
static double limit_s = 5;

static void usage(FILE *f)
{
	fprintf(f, "Usage: ptl_check [--json] [-t SECONDS] [PATH...]\n"
		"Two ranks put, get and exchange each size by each path; data and events are checked. One line for "
			"each path.\n"
		"  -j, --json           as JSON\n"
		"  -t, --time SECONDS   for all of it (5); slow machines may need more\n"
		"  -h, --help           this text\n"
		"Paths:\n");
	for (int p = 0; p < CHECK_PATH_MAX; p++)
		fprintf(f, "  %-8s %s\n", check_path[p].name, check_path[p].what);
}

/* ---- output ---- */

static void line(enum check_path p, const struct check_rank *r)
{
	static const char *const word[] = { "FAIL", "pass", "FAIL", "off" };

	if (json) {
		json_open('{');
		json_pair("path", check_path[p].name);
		json_pair("result", r->result == CHECK_PASS ? "pass" : r->result == CHECK_OFF ? "off" : "fail");
		if (r->result == CHECK_PASS) {
			json_pair_num("messages", r->messages);
			json_pair("ways", r->ways);
			json_pair_num("put_8_ns", (unsigned long long)(r->put_us * 1e3));
			json_pair_num("get_8_ns", (unsigned long long)(r->get_us * 1e3));
			json_pair_num("put_mb_per_s", (unsigned long long)(r->put_gbps * 1e3));
		} else {
			json_pair("why", r->why);
		}
		json_close('}');
		return;
	}
	printf("%-8s %-5s", check_path[p].name, word[r->result]);
	if (r->result != CHECK_PASS) {
		printf(" %s\n", r->why);
	} else {
		printf(" %4u messages; put %7.2f us,", r->messages, r->put_us);
		if (r->get_us > 0)
			printf(" get %7.2f us,", r->get_us);
		else
			printf("                ");
		printf(" %6.2f GB/s  %s%s%s%s\n", r->put_gbps, check_path[p].what, r->ways[0] ? " (" : "", r->ways,
		       r->ways[0] ? ")" : "");
	}
	fflush(stdout);
}

/* ---- a pair ---- */

/* Settings of the user that switch a path off. */
static const char *switched_off(enum check_path p)
{
	const char *smartmap = getenv("PTL_SMARTMAP"), *cma = getenv("PTL_CMA");
	const struct p3_knobs *k = p3_knobs_get(NULL);
	static char why[128];

#ifndef HAVE_LIBEV
	if (p == CHECK_TCP)
		return "this build has no network: it needs libev (Debian: libev-dev) at configure time";
#endif
	if (smartmap && !strcasecmp(smartmap, "no") && p == CHECK_WINDOW)
		return "PTL_SMARTMAP=no";
	if (p == CHECK_WINDOW && k && !(k->adopt & P3_ADOPT_DATA)) {
		snprintf(why, sizeof(why), "PTL_ADOPT=%.40s: a program's data are in no window", getenv("PTL_ADOPT"));
		return why;
	}
	if (p == CHECK_INBOX && k && !k->inbox_max)
		return "PTL_INBOX_MAX=0";
	if (cma && !strcasecmp(cma, "no") && p == CHECK_CMA)
		return "PTL_CMA=no";
	return NULL;
}

/* The environment of a rank: ours, without a job that we may be in and without what the path decides. */
static char **make_env(enum check_path p, int rank, char own[8][64])
{
	static const char *const not[] = {
		"PTL_MY_RID=", "PTL_NIDMAP=", "PTL_PIDMAP=", "PTL_MY_JID=", "PTL_NAL=", "PTL_ADOPT=",
			"PTL_PES_PER_NODE=",
		"PMI_FD=", "PMI_PORT=", "PMI_ID=", "PMI_RANK=", "PMI_SIZE=", "PMIX_NAMESPACE=", "PMIX_RANK=",
	};
	const char *s = check_path[p].env;
	size_t n = 0, count = 0, k = 0;
	char **env;

	while (environ[count])
		count++;
	env = calloc(count + 9, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		bool skip = strstr(s, "PTL_CMA=") && !strncmp(environ[i], "PTL_CMA=", 8);

		for (size_t j = 0; j < sizeof(not) / sizeof(not[0]); j++)
			skip |= !strncmp(environ[i], not[j], strlen(not[j]));
		if (!skip)
			env[n++] = environ[i];
	}
	snprintf(own[k++], 64, "PTL_MY_RID=%d", rank);
	snprintf(own[k++], 64, "PTL_MY_JID=%d", (int)getpid());
	snprintf(own[k++], 64, "PTL_NIDMAP=%s", check_path[p].ranks == 1 ? "1" : p == CHECK_TCP ? "1:2" : "1:1");
	snprintf(own[k++], 64, "PTL_PIDMAP=%s", check_path[p].ranks == 1 ? "256" : "256:257");
	for (; *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " ");

		snprintf(own[k++], 64, "%.*s", (int)len, s);
		s += len;
	}
	for (size_t i = 0; i < k; i++)
		env[n++] = own[i];
	return env;
}

static pid_t start(enum check_path p, int rank, int page_fd, int err_fd, double patience)
{
	char own[8][64], fd[16], name[16], sec[16];
	char *argv[] = { "ptl_check", "--pair", name, fd, sec, NULL };
	char **env = make_env(p, rank, own);
	posix_spawn_file_actions_t to;
	pid_t pid = -1;

	snprintf(name, sizeof(name), "%s", check_path[p].name);
	snprintf(fd, sizeof(fd), "%d", page_fd);
	snprintf(sec, sizeof(sec), "%.2f", patience);
	posix_spawn_file_actions_init(&to);
	posix_spawn_file_actions_adddup2(&to, err_fd, STDERR_FILENO);
	posix_spawn_file_actions_adddup2(&to, err_fd, STDOUT_FILENO);
	if (!env || posix_spawn(&pid, "/proc/self/exe", &to, NULL, argv, env))
		pid = -1;
	posix_spawn_file_actions_destroy(&to);
	free(env);
	return pid;
}

/* What hangs, in one sentence: the first cause that is found, or else a wait for somebody. */
struct reason {
	char cause[300], wait[300];
};

static void collect(void *ctx, enum look_kind kind, int from, int to, const char *text)
{
	struct reason *r = ctx;

	(void)from;
	if (kind == LOOK_CAUSE && !r->cause[0])
		snprintf(r->cause, sizeof(r->cause), "%s", text);
	else if (kind == LOOK_WAITS && (to >= 0 || !r->wait[0]))
		snprintf(r->wait, sizeof(r->wait), "%s", text);
}

static const char *ask_why(struct reason *reason)
{
	*reason = (struct reason){ "", "" };
	info_why((uint32_t)getpid(), collect, reason);
	return reason->cause[0] ? reason->cause : reason->wait;
}

static void too_late(struct check_rank *r, const struct check_page *page)
{
	struct reason reason;
	const char *text = ask_why(&reason);

	snprintf(r->why, sizeof(r->why), "not at an end in time: %.90s%s%.90s%s%.180s", page->rank[0].doing,
		 page->rank[1].doing[0] ? "; " : "", page->rank[1].doing, text[0] ? ". " : "", text);
}

/* The last thing that was said on stderr. */
static void last_words(int fd, char *s, size_t len)
{
	static char buf[65536];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);
	char *at;

	buf[n > 0 ? n : 0] = 0;
	while (n > 0 && buf[n - 1] == '\n')
		buf[--n] = 0;
	at = strrchr(buf, '\n');
	snprintf(s, len, "%.300s", at ? at + 1 : buf);
}

/* Wait for both, not longer than @until; look why when they ask. How they ended: -1 not at all,
	else the worst status. */
static int wait_both(pid_t *pid, int n, double until, struct check_page *page, char *why, size_t len)
{
	struct reason reason;
	int bad = 0;

	for (int left = n; left;) {
		left = 0;
		for (int k = 0; k < n; k++) {
			int status = 0;
			pid_t got = pid[k] > 0 ? waitpid(pid[k], &status, WNOHANG) : 0;

			left += pid[k] > 0 && !got;
			if (pid[k] > 0 && got) {
				pid[k] = 0;
				if (status && !bad)
					bad = status;
			}
		}
		if (__atomic_load_n(&page->ask, __ATOMIC_ACQUIRE) && !page->asked) {
			snprintf(why, len, "%s", ask_why(&reason));
			__atomic_store_n(&page->asked, 1, __ATOMIC_RELEASE);
		}
		if (left && check_now() > until)
			return -1;
		if (left)
			nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	}
	return bad;
}

static struct check_rank pair(enum check_path p, double seconds)
{
	struct check_rank r = { .result = CHECK_FAIL }, *bad = NULL;
	const char *off = switched_off(p);
	double until = check_now() + seconds;
	struct check_page *page = MAP_FAILED;
	int fd, err, n = check_path[p].ranks, rc;
	pid_t pid[2] = { 0, 0 };
	char asked[300] = "";

	if (off) {
		r.result = CHECK_OFF;
		snprintf(r.why, sizeof(r.why), "%s", off);
		return r;
	}
	fd = memfd_create("ptl_check", 0);
	err = memfd_create("ptl_check-stderr", MFD_CLOEXEC);
	if (fd >= 0 && !ftruncate(fd, sizeof(*page)))
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || err < 0) {
		snprintf(r.why, sizeof(r.why), "no memory file: %s", strerror(errno));
		return r;
	}
	for (int k = 0; k < n; k++) {
		pid[k] = start(p, k, fd, err, seconds * 0.5);
		if (pid[k] < 0) {
			snprintf(r.why, sizeof(r.why), "no rank can be started: %s", strerror(errno));
			__atomic_store_n(&page->abort, 1, __ATOMIC_RELEASE);
		}
	}
	rc = wait_both(pid, n, until, page, asked, sizeof(asked));
	if (rc < 0)
		too_late(&r, page);
	for (int k = 0; k < n; k++)
		if (pid[k] > 0) {
			kill(pid[k], SIGKILL);
			waitpid(pid[k], NULL, 0);
		}
	for (int k = n - 1; k >= 0; k--)
		if (page->rank[k].result == CHECK_FAIL)
			bad = &page->rank[k];
	if (bad) {
		size_t at = (size_t)snprintf(r.why, sizeof(r.why), "%s", bad->why);

		if (strstr(bad->why, "PtlInit") || strstr(bad->why, "PtlNIInit")) {	/* the library has said more */
			snprintf(r.why + at, sizeof(r.why) - at, ". ");
			last_words(err, r.why + at + 2, sizeof(r.why) - at - 2);
		} else if (asked[0] && at < sizeof(r.why)) {
			snprintf(r.why + at, sizeof(r.why) - at, ". %s", asked);
		}
	} else if (rc > 0 && !r.why[0]) {
		size_t at = (size_t)snprintf(r.why, sizeof(r.why), WIFSIGNALED(rc) ?
					     "a rank died of signal %d; it said: " :
					     "a rank ended with status %d; it said: ",
					     WIFSIGNALED(rc) ? WTERMSIG(rc) : WEXITSTATUS(rc));

		last_words(err, r.why + at, sizeof(r.why) - at);
	} else if (!rc && page->rank[0].result == CHECK_PASS && (n == 1 || page->rank[1].result == CHECK_PASS)) {
		r = page->rank[0];
	}
	munmap(page, sizeof(*page));
	close(fd);
	close(err);
	return r;
}

/* ---- a rank ---- */

static int find_path(const char *name)
{
	for (int p = 0; p < CHECK_PATH_MAX; p++)
		if (!strcmp(name, check_path[p].name))
			return p;
	return -1;
}

/* Is @b another thread of @a's core? */
static bool one_core(int a, int b)
{
	char path[80], list[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", a);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(list, sizeof(list), f))
		list[0] = 0;
	fclose(f);
	for (char *s = list; *s; s += strspn(s, ",\n")) {
		int from, to, n = sscanf(s, "%d-%d", &from, &to);

		if (n >= 1 && b >= from && b <= (n == 2 ? to : from))
			return true;
		s += strcspn(s, ",\n");
	}
	return false;
}

/*
 * Each rank on a core of its own, of those that we may use, as aprun does it. Left to itself the kernel likes to put a
 * process beside the one that wakes it: both then wait for one core.
 */
static void bind_rank(int rank)
{
	int cpu[2] = { -1, -1 }, other = -1;
	cpu_set_t may, one;

	if (sched_getaffinity(0, sizeof(may), &may))
		return;
	for (int c = 0; c < CPU_SETSIZE && cpu[1] < 0; c++) {
		if (!CPU_ISSET(c, &may))
			continue;
		if (cpu[0] < 0)
			cpu[0] = c;
		else if (!one_core(cpu[0], c))
			cpu[1] = c;
		else if (other < 0)
			other = c;
	}
	if (cpu[1] < 0)
		cpu[1] = other;
	if (cpu[1] < 0)
		return;		/* there is one */
	CPU_ZERO(&one);
	CPU_SET(cpu[rank], &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static int be_rank(char **argv)
{
	struct check_page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[1]), 0);
	const char *rank = getenv("PTL_MY_RID");
	struct check_rank *me;
	int p = find_path(argv[0]);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (page == MAP_FAILED || p < 0 || !rank)
		return 2;
	close(atoi(argv[1]));
	if (check_path[p].ranks == 2)
		bind_rank(atoi(rank) == 1);
	me = &page->rank[atoi(rank) == 1];
	check_walk((enum check_path)p, page, me, atof(argv[2]));
	if (me->result == CHECK_PASS)
		check_close();		/* after a failure the other may not come */
	return 0;
}

/* ---- in a launcher's job ---- */

static int in_job(void)
{
	struct check_rank r = { 0 };
	const char *rank = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("PMIX_RANK");
	int bad = 0, walked = 0;

	if (rank && atoi(rank) < 2)
		bind_rank(atoi(rank));		/* nothing is left to do where the launcher has bound us */
	alarm((unsigned)limit_s + 25);		/* the launcher's start is not ours */
	if (!check_open(&r)) {
		printf("ptl_check: %s\n", r.why);
		return 1;
	}
	for (int p = 0; p < CHECK_PATH_MAX; p++) {
		const char *off = switched_off((enum check_path)p);

		if (!check_possible((enum check_path)p))
			continue;
		memset(&r, 0, sizeof(r));
		if (off) {
			r.result = CHECK_OFF;
			snprintf(r.why, sizeof(r.why), "%s", off);
			if (check_my_rank() == 0)
				line((enum check_path)p, &r);
			continue;
		}
		check_walk((enum check_path)p, NULL, &r, limit_s / 5);
		walked++;
		bad |= r.result == CHECK_FAIL;
		if (check_my_rank() == 0 || r.result == CHECK_FAIL)
			line((enum check_path)p, &r);
	}
	if (!walked && check_my_rank() == 0)
		printf("ptl_check: under a launcher it takes two ranks\n");
	check_close();
	return bad || !walked;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", 0, NULL, 'j' }, { "time", 1, NULL, 't' }, { "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	bool chosen[CHECK_PATH_MAX] = { false };
	int c, left = 0, bad = 0;
	double began = check_now();
	const char *err;

	if (argc == 5 && !strcmp(argv[1], "--pair"))
		return be_rank(argv + 2);
	while ((c = getopt_long(argc, argv, "jt:h", longs, NULL)) != -1)
		switch (c) {
		case 'j':
			json = true;
			break;
		case 't':
			limit_s = atof(optarg);
			if (limit_s > 0 && limit_s < 3600)
				break;
			/* fall through */
		default:
			usage(stderr);
			return 2;
		case 'h':
			usage(stdout);
			return 0;
		}
	for (int i = optind; i < argc; i++) {
		int p = find_path(argv[i]);

		if (p < 0) {
			fprintf(stderr, "ptl_check: no path '%s'\n", argv[i]);
			usage(stderr);
			return 2;
		}
		chosen[p] = true;
	}
	if (!p3_knobs_get(&err)) {
		fprintf(stderr, "ptl_check: %s\n", err);
		return 2;
	}
	if (p3_pmi_around() && optind == argc)
		return in_job();
	for (int p = 0; p < CHECK_PATH_MAX; p++) {
		chosen[p] |= optind == argc;
		left += chosen[p];
	}
	if (json) {
		json_open('{');
		json_key("paths");
		json_open('[');
	}
	for (int p = 0; p < CHECK_PATH_MAX; p++) {
		struct check_rank r;

		if (!chosen[p])
			continue;
		r = pair((enum check_path)p, (limit_s - (check_now() - began)) / left--);
		bad |= r.result != CHECK_PASS && r.result != CHECK_OFF;
		line((enum check_path)p, &r);
	}
	if (json) {
		json_close(']');
		json_key("ok");
		json_bool(!bad);
		json_pair_num("ms", (unsigned long long)((check_now() - began) * 1e3));
		json_close('}');
		json_end();
	}
	return bad;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ptl_info - which paths are in use on this machine and why, which settings are in effect, who the ranks are
 *
 * Paths can only be told from inside a job of several: alone, ptl_info starts two copies of itself as a job by hand
 * (PTL_MY_RID and its fellows) and lets the first report. Uses the runtime and libsmartmap directly, so it also works
 * where PtlInit would refuse.
 */
#include "config.h"

#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_rt.h"

#include <smartmap/smartmap.h>

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_BYTES	600	/* below the value limit of every PMI-1 launcher (1024) */

static const struct { enum smartmap_feature f; const char *name, *what; } features[] = {
	{ SMARTMAP_F_WINDOWS, "windows", "peers' memory is mapped" },
	{ SMARTMAP_F_DATA, "data", "data and bss of programs and libraries lie in the window" },
	{ SMARTMAP_F_STACK, "stack", "the main stack lies in the window" },
	{ SMARTMAP_F_HEAP, "heap", "malloc's memory lies in the window, in programs that have libsmartmap-malloc" },
	{ SMARTMAP_F_HUGE, "huge", "2 MiB pages" },
	{ SMARTMAP_F_CMA, "cma", "process_vm_readv for the rest" },
	{ SMARTMAP_F_FORK, "fork", "a child of fork() has its own copies" },
	{ SMARTMAP_F_MEMBARRIER, "membarrier", "waiters may fence for writers" },
};
#define NFEATURES (sizeof(features) / sizeof(features[0]))

static void usage(FILE *f)
{
	fprintf(f, "Usage: ptl_info [-c] [--job] [--help]\n"
		"  (no option)   paths between two processes of this machine, and why\n"
		"  -c, --config  every setting: value, default, where it was set, meaning\n"
		"      --job     under aprun: one line for each rank\n");
}

/* ---- joining ---- */

/* As the on-node NAL does it: with PTL_SMARTMAP=no only the libraries' own state is mapped, nothing of the user's. */
static int join(const struct p3_rt_job *j, const struct p3_knobs *k)
{
	struct smartmap_job s = {
		.rank = j->local_rank, .size = j->local_size, .name = j->name,
		.adopt = k->smartmap == P3_NO ? 0 : (uint32_t)k->adopt, .timeout_ms = (int)k->init_timeout_s * 1000,
	};

	memcpy(s.key, j->key, sizeof(s.key));
	return smartmap_init(&s);
}

static void say(const char *name, int yes, const char *text)
{
	printf("  %-11s %-4s %s\n", name, yes ? "yes" : "no", text);
}

static int has_feature(enum smartmap_feature f, const struct p3_knobs *k)
{
	return smartmap_has(f) && (f != SMARTMAP_F_CMA || k->cma != P3_NO);
}

/* What one rank of a job of several sees. */
static int report_paths(const struct p3_rt_job *j, const struct p3_knobs *k, int rc)
{
	if (rc) {
		const char *why = smartmap_why(SMARTMAP_F_WINDOWS);

		printf("smartmap: no job of several ranks can start here: %s\n", why[0] ? why : strerror(-rc));
		return 0;
	}
	if (k->smartmap == P3_NO)
		printf("smartmap: off for your memory (PTL_SMARTMAP=no); only the library's own state is mapped\n");
	else
		printf("smartmap: on, between %u processes\n", j->local_size);
	for (size_t i = 0; i < NFEATURES; i++) {
		const char *why = smartmap_why(features[i].f);
		int has = has_feature(features[i].f, k);

		if (features[i].f == SMARTMAP_F_CMA && k->cma == P3_NO)
			why = "PTL_CMA=no";
		say(features[i].name, has, has || !why[0] ? features[i].what : why);
	}
	return 0;
}

/* ---- --job ---- */

static void cpu_list(char *s, size_t len)
{
	unsigned long w[128];
	size_t n = 0;
	int cpus = (int)(8 * sizeof(w)), from = -1;

	memset(w, 0, sizeof(w));
	s[0] = 0;
	if (sched_getaffinity(0, sizeof(w), (cpu_set_t *)w))
		return;
	for (int c = 0; c <= cpus && n + 16 < len; c++) {
		int in = c < cpus && (w[c / (8 * sizeof(long))] >> (c % (8 * sizeof(long))) & 1);

		if (in && from < 0)
			from = c;
		if (in || from < 0)
			continue;
		n += (size_t)snprintf(s + n, len - n, from == c - 1 ? "%s%d" : "%s%d-%d", n ? "," : "", from, c - 1);
		from = -1;
	}
}

/* A PMI value cannot carry blanks: they travel as '|'. */
static void swap_chars(char *s, char from, char to)
{
	for (; *s; s++)
		if (*s == from)
			*s = to;
}

static void rank_line(char *s, size_t len, const struct p3_rt_job *j, const struct p3_knobs *k, int rc)
{
	int on = !rc, cores = p3_rt_cores();
	char cpus[200];
	size_t n;

	cpu_list(cpus, sizeof(cpus));
	n = (size_t)snprintf(s, len, "rank %u local %u node %u nid %u pid %u unix-pid %d cpus %s%s; windows %s", j->rank,
			     j->local_rank, j->node, j->nid[j->rank], j->pid[j->rank], (int)getpid(), cpus,
			     cores == 1 ? " (bound to one)" : "", on && smartmap_has(SMARTMAP_F_WINDOWS) ? "yes" : "no");
	for (size_t i = 1; i < NFEATURES && n < len; i++)
		if (features[i].f <= SMARTMAP_F_CMA)
			n += (size_t)snprintf(s + n, len - n, ", %s %s", features[i].name,
					      on && has_feature(features[i].f, k) ? "yes" : "no");
}

/* Rank 0 prints all lines in order; without a launcher that passes texts on, each rank prints its own. */
static int report_job(const struct p3_rt_job *j, const struct p3_knobs *k, int rc)
{
	char line[LINE_MAX_BYTES], key[40];

	rank_line(line, sizeof(line), j, k, rc);
	if (j->source != P3_RT_PMI1) {
		printf("%s\n", line);
		return 0;
	}
	swap_chars(line, ' ', '|');
	snprintf(key, sizeof(key), "info-%u", j->rank);
	if (p3_rt_put(key, line) || p3_rt_barrier()) {
		fprintf(stderr, "ptl_info: rank %u could not pass its line on\n", j->rank);
		return 1;
	}
	if (j->rank)
		return 0;
	printf("job %s: %u ranks on %u node%s, jid %u, %s\n", j->name, j->size, j->nodes, j->nodes == 1 ? "" : "s", j->jid,
	       p3_rt_oversubscribed() ? "more ranks than cores" : "a core for each rank");
	for (uint32_t r = 0; r < j->size; r++) {
		snprintf(key, sizeof(key), "info-%u", r);
		if (p3_rt_get_value(key, line, sizeof(line)))
			snprintf(line, sizeof(line), "rank %u: no line", r);
		swap_chars(line, '|', ' ');
		printf("%s\n", line);
	}
	return 0;
}

/* ---- alone: a pair of ourselves ---- */

/* The heap can only be shared where libsmartmap-malloc is loaded: the pair tries it, when it is beside libsmartmap. */
static void find_malloc(char *s, size_t len)
{
	Dl_info info;
	const char *slash;

	s[0] = 0;
	if (getenv("LD_PRELOAD") || !dladdr((void *)(uintptr_t)smartmap_init, &info) || !info.dli_fname)
		return;
	slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return;
	snprintf(s, len, "LD_PRELOAD=%.*s/libsmartmap-malloc.so.0", (int)(slash - info.dli_fname), info.dli_fname);
	if (access(s + strlen("LD_PRELOAD="), R_OK))
		s[0] = 0;
}

static int run_pair(void)
{
	static const char *const mine[] = {
		"PTL_MY_RID=", "PTL_NIDMAP=", "PTL_PIDMAP=", "PTL_MY_JID=",
		"PMI_FD=", "PMI_PORT=", "PMI_ID=", "PMI_RANK=", "PMI_SIZE=",	/* no ranks of the job around us */
	};
	char rid[24], jid[32], preload[4200], *argv[] = { "ptl_info", "--pair", NULL };
	size_t n = 0, count = 0;
	int status, bad = 0;
	char **env;
	pid_t pid[2];

	while (environ[count])
		count++;
	env = calloc(count + 10, sizeof(*env));
	if (!env)
		return 1;
	for (size_t i = 0; i < count; i++) {
		int skip = 0;

		for (size_t k = 0; k < sizeof(mine) / sizeof(mine[0]); k++)
			skip |= !strncmp(environ[i], mine[k], strlen(mine[k]));
		if (!skip)
			env[n++] = environ[i];
	}
	snprintf(jid, sizeof(jid), "PTL_MY_JID=%d", (int)getpid());
	env[n++] = jid;
	find_malloc(preload, sizeof(preload));
	if (preload[0])
		env[n++] = preload;
	env[n++] = "PTL_NIDMAP=1:1";
	env[n++] = "PTL_PIDMAP=256:257";
	if (!getenv("PTL_LOG"))
		env[n++] = "PTL_LOG=error";	/* we have warned already */
	env[n] = rid;
	fflush(stdout);
	for (int r = 0; r < 2; r++) {
		snprintf(rid, sizeof(rid), "PTL_MY_RID=%d", r);
		if (posix_spawn(&pid[r], "/proc/self/exe", NULL, NULL, argv, env)) {
			fprintf(stderr, "ptl_info: cannot start a copy of itself: %s\n", strerror(errno));
			pid[r] = -1;
			bad = 1;
		}
	}
	for (int r = 0; r < 2; r++)
		if (pid[r] > 0 && (waitpid(pid[r], &status, 0) < 0 || status))
			bad = 1;
	free(env);
	return bad;
}

static void report_machine(void)
{
	struct utsname u;
	char cpus[200];

	uname(&u);
	cpu_list(cpus, sizeof(cpus));
	printf("portals-mpt %s on %s %s, processors %s\n", PACKAGE_VERSION, u.sysname, u.release, cpus);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", 0, NULL, 'c' }, { "job", 0, NULL, 'j' }, { "pair", 0, NULL, 'p' }, { "man", 0, NULL, 'm' },
		{ "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	int c, job = 0, pair = 0, config = 0, joined, rc;
	const struct p3_rt_job *j;
	const struct p3_knobs *k;
	const char *err;

	while ((c = getopt_long(argc, argv, "ch", longs, NULL)) != -1) {
		switch (c) {
		case 'c': config = 1; break;
		case 'j': job = 1; break;
		case 'p': pair = 1; break;
		case 'm': p3_knobs_print_raw(stdout); return 0;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	}
	if (optind < argc) {
		usage(stderr);
		return 2;
	}
	if (config)
		p3_knobs_print(stdout);
	k = p3_knobs_get(&err);
	if (!k) {
		fprintf(stderr, "ptl_info: %s\n", err);
		return 1;
	}
	if (config && !job)
		return 0;
	if (!job && !pair) {
		report_machine();
		return run_pair();
	}
	j = p3_rt_get(&err);
	if (!j) {
		fprintf(stderr, "ptl_info: %s\n", err);
		return 1;
	}
	rc = join(j, k);
	joined = !rc;
	if (job)
		rc = report_job(j, k, rc);
	else
		rc = j->rank ? 0 : report_paths(j, k, rc);
	fflush(stdout);
	if (joined) {
		smartmap_barrier();
		smartmap_fini();
	}
	return rc;
}

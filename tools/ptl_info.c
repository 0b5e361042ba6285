/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ptl_info - which paths are in use on this machine and why, which settings are in effect, what running jobs do
 *
 * Paths can only be told from inside a job of several: alone, ptl_info starts two copies of itself as a job by hand
 * (PTL_MY_RID and its fellows) and lets the first report. Uses the runtime and libsmartmap directly, so it also works
 * where PtlInit would refuse. Running jobs are looked at from outside: info_job.c.
 */
#include "config.h"

#include "info.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_rt.h"

#include <smartmap/smartmap.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
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
	fprintf(f, "Usage: ptl_info [-c | -l | -p [ID] | --hang [ID] | --job] [--json] [--help]\n"
		"  (no option)    paths between two processes of this machine, and why; limits; jobs that run here\n"
		"  -c, --config   every setting: value, default, where it was set, meaning\n"
		"  -l, --limits   what PtlNIInit grants, and other limits\n"
		"  -p, --running [ID]   a running job (its id, or the pid of a rank; none: the only one): its ranks,\n"
		"                 memory and page tables of each, who talks to whom by which path\n"
		"      --hang [ID]   of a running job: who waits for whom, and why\n"
		"      --job      under aprun: one line for each rank\n"
		"      --json     the same as JSON (not with --job)\n");
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

static bool json;

static void say(const char *name, int yes, const char *text)
{
	if (json) {
		json_open('{');
		json_pair("name", name);
		json_key("has");
		json_bool(yes);
		json_pair(yes ? "what" : "why", text);
		json_close('}');
		return;
	}
	printf("  %-11s %-4s %s\n", name, yes ? "yes" : "no", text);
}

static int has_feature(enum smartmap_feature f, const struct p3_knobs *k)
{
	return smartmap_has(f) && (f != SMARTMAP_F_CMA || k->cma != P3_NO);
}

/* What one rank of a job of several sees. */
static int report_paths(const struct p3_rt_job *j, const struct p3_knobs *k, int rc)
{
	const char *none = smartmap_why(SMARTMAP_F_WINDOWS);

	if (json) {		/* the end of an object that run_pair() has begun */
		json_pair("smartmap", rc ? "none" : k->smartmap == P3_NO ? "off" : "on");
		if (rc)
			json_pair("why", none[0] ? none : strerror(-rc));
		else
			json_pair_num("window_bytes", smartmap_view_.mask + 1);
		json_key("paths");
		json_open('[');
	}
	if (rc) {
		if (!json)
			printf("smartmap: no job of several ranks can start here: %s\n", none[0] ? none : strerror(-rc));
		goto out;
	}
	if (json)
		;
	else if (k->smartmap == P3_NO)
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
	if (!json)
		printf("  each process can show its peers %llu GiB of addresses\n",
		       (unsigned long long)((smartmap_view_.mask + 1) >> 30));
out:
	if (json)
		json_close(']');
	return 0;
}

/* ---- settings and limits ---- */

static void setting_json(void *ctx, const struct p3_knob_told *k)
{
	json_open('{');
	json_pair("name", k->var);
	json_pair("value", k->value);
	json_pair("default", k->def);
	json_pair("origin", k->origin);
	if (k->must)
		json_pair("bad_must_be", k->must);
	json_pair("help", k->help);
	json_close('}');
	(void)ctx;
}

static void settings_json(void)
{
	json_key("settings");
	json_open('[');
	p3_knobs_each(setting_json, NULL);
	json_close(']');
}

/* What PtlNIInit grants who asks for no less, and what no call says. */
#define LIMITS(L)										\
	L(max_mes, P3L_MAX_ME, "match entries")							\
	L(max_mds, P3L_MAX_MD, "memory descriptors")						\
	L(max_eqs, P3L_MAX_EQ, "event queues")							\
	L(max_ac_index, P3L_MAX_AC - 1, "highest access control entry")				\
	L(max_pt_index, P3L_MAX_PT - 1, "highest portal")					\
	L(max_md_iovecs, P3L_MAX_IOV, "pieces of one descriptor's vector")			\
	L(max_me_list, P3L_MAX_ME, "entries in one match list")					\
	L(max_getput_md, P3L_MAX_GETPUT, "bytes of a PtlGetPut")				\
	L(event_bytes, LOOK_SPACE, "of events, vectors and indices together (64 for an event)")	\
	L(inline_max, P3L_LANE_MAX, "bytes of a put that ends when its call returns")		\
	L(operations, P3L_OPS, "long operations of one rank at one target at a time")		\
	L(inbox_lines, P3L_MAX_LINES, "lines of 64 bytes in an inbox, at most (PTL_LANE_KB)")	\
	L(ranks_per_node, SMARTMAP_MAX_PEERS, "ranks on a node")				\
	L(net_frames, FR_WINDOW, "frames to a rank of another node that are not acknowledged")	\
	L(net_requests, FR_REQS, "requests to it that are not answered")

static void limits_out(void)
{
	static const struct { const char *name, *what; unsigned long long v; } l[] = {
#define L(n, value, text) { #n, text, value },
		LIMITS(L)
#undef L
	};

	if (json) {
		json_key("limits");
		json_open('{');
	} else {
		printf("limits:\n");
	}
	for (size_t i = 0; i < sizeof(l) / sizeof(l[0]); i++)
		if (json)
			json_pair_num(l[i].name, l[i].v);
		else
			printf("  %-15s %9llu  %s\n", l[i].name, l[i].v, l[i].what);
	if (json)
		json_close('}');
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
	if (!p3_rt_has_kvs(j)) {
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
		"PMI_FD=", "PMI_PORT=", "PMI_ID=", "PMI_RANK=", "PMI_SIZE=", "PMIX_NAMESPACE=", "PMIX_RANK=",	/* no ranks of the job around us */
	};
	char rid[24], jid[32], preload[4200], *argv[] = { "ptl_info", "--pair", json ? "--json" : NULL, NULL };
	size_t n = 0, count = 0;
	posix_spawn_file_actions_t to_pipe;
	static char said[32768];
	size_t at = 0;
	ssize_t got;
	int status, bad = 0, p[2] = { -1, -1 };
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
	posix_spawn_file_actions_init(&to_pipe);
	if (json && !pipe2(p, O_CLOEXEC))
		posix_spawn_file_actions_adddup2(&to_pipe, p[1], STDOUT_FILENO);
	for (int r = 0; r < 2; r++) {
		snprintf(rid, sizeof(rid), "PTL_MY_RID=%d", r);
		if (posix_spawn(&pid[r], "/proc/self/exe", &to_pipe, NULL, argv, env)) {
			fprintf(stderr, "ptl_info: cannot start a copy of itself: %s\n", strerror(errno));
			pid[r] = -1;
			bad = 1;
		}
	}
	close(p[1]);
	while (json && at < sizeof(said) - 1 && (got = read(p[0], said + at, sizeof(said) - 1 - at)) > 0)
		at += (size_t)got;
	close(p[0]);
	if (json)
		json_raw(at ? said : "null");
	posix_spawn_file_actions_destroy(&to_pipe);
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
	if (json) {
		json_pair("version", PACKAGE_VERSION);
		json_pair("kernel", u.release);
		json_pair("processors", cpus);
		return;
	}
	printf("portals-mpt %s on %s %s, processors %s\n", PACKAGE_VERSION, u.sysname, u.release, cpus);
}

/* Alone: the machine, the paths of a pair, limits, jobs; as JSON the settings, too. */
static int report_all(void)
{
	int rc;

	if (json)
		json_open('{');
	report_machine();
	if (json)
		json_key("pair");
	fflush(stdout);
	rc = run_pair();
	limits_out();
	if (json) {
		settings_json();
		info_jobs_json();
		json_close('}');
		json_end();
	} else {
		struct info_job *jobs;
		int n = info_find(0, &jobs);

		if (n >= 0)
			info_free(jobs, n);
		if (n > 0) {
			printf("jobs (ptl_info -p ID, ptl_info --hang ID):\n");
			info_list(0, false);
		}
	}
	return rc;
}

/* In a job: what a rank of it sees. */
static int in_job(bool pair, const struct p3_knobs *k)
{
	const char *err;
	const struct p3_rt_job *j = p3_rt_get(&err);
	int rc, joined;

	if (!j) {
		fprintf(stderr, "ptl_info: %s\n", err);
		return 1;
	}
	rc = join(j, k);
	joined = !rc;
	if (!pair) {
		rc = report_job(j, k, rc);
	} else if (j->rank) {
		rc = 0;
	} else {
		if (json)
			json_open('{');
		rc = report_paths(j, k, rc);
		if (json)
			json_close('}');
	}
	fflush(stdout);
	if (joined) {
		smartmap_barrier();
		smartmap_fini();
	}
	return rc;
}

static int config(void)
{
	const char *err;

	if (json) {
		json_open('{');
		settings_json();
		json_close('}');
		json_end();
	} else {
		p3_knobs_print(stdout);
	}
	if (p3_knobs_get(&err))
		return 0;
	fprintf(stderr, "ptl_info: %s\n", err);
	return 1;
}

/* The argument of an option that may have one, be it a word of its own. 0: none; -1: no number, and that is said. */
static long optional_id(int argc, char **argv)
{
	const char *s = optarg;
	char *end;
	long v;

	if (!s && optind < argc && argv[optind][0] != '-')
		s = argv[optind++];
	if (!s)
		return 0;
	v = strtol(s, &end, 10);
	if (!*end && v > 0 && v <= UINT32_MAX)
		return v;
	fprintf(stderr, "ptl_info: '%s' is neither a job id nor a process id: a number is wanted\n", s);
	return -1;
}

int main(int argc, char **argv)
{
	enum { JOB = 256, PAIR, MAN, HANG, JSON };
	static const struct option longs[] = {
		{ "config", 0, NULL, 'c' }, { "limits", 0, NULL, 'l' }, { "running", 2, NULL, 'p' },
		{ "hang", 2, NULL, HANG },
		{ "job", 0, NULL, JOB }, { "json", 0, NULL, JSON }, { "pair", 0, NULL, PAIR }, { "man", 0, NULL, MAN },
		{ "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	const struct p3_knobs *k;
	int c, what = 0;
	const char *err;
	long id = 0;

	while ((c = getopt_long(argc, argv, "clp::h", longs, NULL)) != -1) {
		switch (c) {
		case JSON:
			json = true;
			break;
		case MAN:
			p3_knobs_print_raw(stdout);
			return 0;
		case 'h':
			usage(stdout);
			return 0;
		case 'p': case HANG:
			id = optional_id(argc, argv);
			/* fall through */
		case 'c': case 'l': case JOB: case PAIR:
			if (!what && id >= 0) {
				what = c;
				break;
			}
			if (what)
				fprintf(stderr, "ptl_info: one of -c, -l, -p, --hang and --job at a time\n");
			/* fall through */
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "ptl_info: '%s': no word is expected there (of a running job: ptl_info -p ID)\n", argv[optind]);
		usage(stderr);
		return 2;
	}
	switch (what) {
	case 'c':
		return config();
	case 'l':
		if (json)
			json_open('{');
		limits_out();
		if (json) {
			json_close('}');
			json_end();
		}
		return 0;
	case 'p':
		return info_show((uint32_t)id, json);
	case HANG:
		return info_hang((uint32_t)id, json);
	}
	k = p3_knobs_get(&err);
	if (!k) {
		fprintf(stderr, "ptl_info: %s\n", err);
		return 1;
	}
	return what ? in_job(what == PAIR, k) : report_all();
}

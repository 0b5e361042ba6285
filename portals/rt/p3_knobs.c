/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_knobs.c - the one parser of settings
 *
 * The table is built from P3_KNOBS. Defaults go through the same parser as values, so a default that its own range
 * refuses fails the first call. The struct is filled once under pthread_once and never changes.
 */
#include "config.h"

#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_pmi.h"

#include <ctype.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum knob_type { T_tri, T_num, T_size, T_flags, T_level, T_sig, T_path, T_nal, T_pmi, T_locks, T_text };

struct knob {
	const char *var, *def, *help;
	enum knob_type type;
	long min, max;
	size_t at;		/* offset in struct p3_knobs */
};

static const struct knob knobs[] = {
#define K(field, var, type, def, min, max, unit, help, where) \
	{ var, def, help, T_##type, min, max, offsetof(struct p3_knobs, field) },
	P3_KNOBS(K)
#undef K
};
#define NKNOBS (sizeof(knobs) / sizeof(knobs[0]))

/* Names that are no knobs of ours: the job's description, the launcher's, those of other libraries. */
static const struct other {
	const char *var, *good, *def, *help;
} others[] = {
#define V(var, good, def, help, where) { var, good, def, help },
	P3_OTHER_VARS(V)
#undef V
};
#define NOTHER (sizeof(others) / sizeof(others[0]))

static const char *const tri_names[] = { "no", "try", "yes" };
static const char *const nal_names[] = { "auto", "smartmap", "gp", "ap", "loop" };
static const char *const pmi_names[] = { "auto", "pmi1", "pmi2", "pmix" };	/* enum p3_pmi_kind */
static const char *const locks_names[] = { "entry", "node", "master" };
static const struct { const char *name; long bit; } flag_names[] = {
	{ "data", P3_ADOPT_DATA }, { "stack", P3_ADOPT_STACK }, { "heap", P3_ADOPT_HEAP },
	{ "all", P3_ADOPT_ALL }, { "none", 0 },
};
static const struct { const char *name; int sig; } sig_names[] = {
	{ "none", 0 }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "QUIT", SIGQUIT }, { "HUP", SIGHUP },
	{ "TRAP", SIGTRAP }, { "ALRM", SIGALRM }, { "IO", SIGIO }, { "WINCH", SIGWINCH }, { "PWR", SIGPWR },
	{ "CONT", SIGCONT }, { "URG", SIGURG }, { "VTALRM", SIGVTALRM }, { "PROF", SIGPROF },
};

static struct p3_knobs the_knobs;
static char the_err[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int parse_number(const char *s, int suffix, long *out)
{
	unsigned long long v = 0;
	int shift = 0;

	if (!isdigit((unsigned char)*s))
		return -1;
	for (; isdigit((unsigned char)*s); s++) {
		if (v > (1ULL << 62) / 10)
			return -1;
		v = v * 10 + (unsigned)(*s - '0');
	}
	if (suffix && *s) {
		switch (toupper((unsigned char)*s)) {
		case 'K': shift = 10; break;
		case 'M': shift = 20; break;
		case 'G': shift = 30; break;
		default: return -1;
		}
		s++;
		if (v > ((1ULL << 62) >> shift))
			return -1;
	}
	if (*s)
		return -1;
	*out = (long)(v << shift);
	return 0;
}

static int parse_flags(const char *s, long *out)
{
	long v = 0;

	while (*s) {
		size_t n = strcspn(s, ","), i;

		for (i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++)
			if (strlen(flag_names[i].name) == n && !strncasecmp(s, flag_names[i].name, n))
				break;
		if (i == sizeof(flag_names) / sizeof(flag_names[0]))
			return -1;
		v |= flag_names[i].bit;
		s += n;
		if (*s == ',' && !*++s)
			return -1;
	}
	*out = v;
	return 0;
}

static int parse_name(const char *s, const char *const *names, int n, long *out)
{
	for (int i = 0; i < n; i++)
		if (!strcasecmp(s, names[i])) {
			*out = i;
			return 0;
		}
	return -1;
}

static int parse_sig(const char *s, long *out)
{
	if (!parse_number(s, 0, out))
		return 0;
	if (!strncasecmp(s, "SIG", 3))
		s += 3;
	for (size_t i = 0; i < sizeof(sig_names) / sizeof(sig_names[0]); i++)
		if (!strcasecmp(s, sig_names[i].name)) {
			*out = sig_names[i].sig;
			return 0;
		}
	return -1;
}

/* What a good value looks like; the second half of the sentence about a bad one. */
static void describe(const struct knob *k, char *buf, size_t len)
{
	switch (k->type) {
	case T_tri: snprintf(buf, len, "no, try or yes"); break;
	case T_num: snprintf(buf, len, "a number from %ld to %ld", k->min, k->max); break;
	case T_size: snprintf(buf, len, "bytes from %ld to %ld (K, M, G allowed)", k->min, k->max); break;
	case T_flags: snprintf(buf, len, "some of heap,data,stack, or all, or none"); break;
	case T_level: snprintf(buf, len, "error, warn, diag, info or debug"); break;
	case T_sig: snprintf(buf, len, "none, a signal's number, or a name such as USR1"); break;
	case T_path: snprintf(buf, len, "a file name"); break;
	case T_nal: snprintf(buf, len, "auto, smartmap, gp, ap or loop"); break;
	case T_pmi: snprintf(buf, len, "auto, pmi1, pmi2 or pmix"); break;
	case T_locks: snprintf(buf, len, "entry, node or master"); break;
	case T_text: snprintf(buf, len, "some text"); break;
	}
}

static int parse(const struct knob *k, const char *s, struct p3_knobs *to)
{
	char *at = (char *)to + k->at;
	long v = 0;
	int rc = -1;

	switch (k->type) {
	case T_tri: rc = parse_name(s, tri_names, 3, &v); break;
	case T_num: rc = parse_number(s, 0, &v); break;
	case T_size: rc = parse_number(s, 1, &v); break;
	case T_flags: rc = parse_flags(s, &v); break;
	case T_nal: rc = parse_name(s, nal_names, sizeof(nal_names) / sizeof(*nal_names), &v); break;
	case T_pmi: rc = parse_name(s, pmi_names, sizeof(pmi_names) / sizeof(*pmi_names), &v); break;
	case T_locks: rc = parse_name(s, locks_names, sizeof(locks_names) / sizeof(*locks_names), &v); break;
	case T_level: rc = parse_name(s, p3_log_level_name, P3_LOG_MAX, &v); break;
	case T_sig: rc = parse_sig(s, &v); break;
	case T_path:
	case T_text:
		*(const char **)at = s;
		return *s ? 0 : -1;
	}
	if (rc || v < k->min || v > k->max)
		return -1;
	*(long *)at = v;
	return 0;
}

static int set_in_env(const struct knob *k, const char **value)
{
	*value = getenv(k->var);
	return *value != NULL;
}

/* Edit distance, for "did you mean"; both names are short. */
static int distance(const char *a, const char *b)
{
	int row[64], la = (int)strlen(a), lb = (int)strlen(b);

	if (la > 62 || lb > 62)
		return 99;
	for (int j = 0; j <= lb; j++)
		row[j] = j;
	for (int i = 1; i <= la; i++) {
		int diag = row[0];

		row[0] = i;
		for (int j = 1; j <= lb; j++) {
			int d = diag + (a[i - 1] != b[j - 1]);

			diag = row[j];
			if (row[j] + 1 < d)
				d = row[j] + 1;
			if (row[j - 1] + 1 < d)
				d = row[j - 1] + 1;
			row[j] = d;
		}
	}
	return row[lb];
}

static void nearest(const char *name, const char *cand, int *best, const char **who)
{
	int d = distance(name, cand);

	if (d < *best) {
		*best = d;
		*who = cand;
	}
}

static void warn_unknown(void)
{
	for (char **e = environ; e && *e; e++) {
		size_t n = strcspn(*e, "=");
		char name[64];
		const char *who = NULL;
		int best = 99;

		if (strncmp(*e, "PTL_", 4) || n >= sizeof(name))
			continue;
		memcpy(name, *e, n);
		name[n] = 0;
		for (size_t i = 0; i < NKNOBS; i++)
			if (!strncmp(knobs[i].var, "PTL_", 4))
				nearest(name, knobs[i].var, &best, &who);
		for (size_t i = 0; i < NOTHER; i++)
			if (!strncmp(others[i].var, "PTL_", 4))
				nearest(name, others[i].var, &best, &who);
		if (!best)
			continue;
		p3_log_job(P3_LOG_WARN, "%s is not a setting of this library; the nearest is %s. ptl_info -c lists all",
			   name, who ? who : "none");
	}
}

static void read_all(void)
{
	struct p3_knobs k;
	const char *value;

	memset(&k, 0, sizeof(k));
	for (size_t i = 0; i < NKNOBS; i++) {
		char good[96];

		if (parse(&knobs[i], knobs[i].def, &k)) {
			snprintf(the_err, sizeof(the_err), "the built-in default of %s is out of its range", knobs[i].var);
			return;
		}
		if (!set_in_env(&knobs[i], &value) || !parse(&knobs[i], value, &k))
			continue;
		describe(&knobs[i], good, sizeof(good));
		snprintf(the_err, sizeof(the_err), "%s=%.80s: must be %s", knobs[i].var, value, good);
		return;
	}
	p3_log_threshold = (enum p3_log_level)k.log;
	the_knobs = k;
	warn_unknown();
}

const struct p3_knobs *p3_knobs_get(const char **err)
{
	pthread_once(&once, read_all);
	if (the_err[0]) {
		if (err)
			*err = the_err;
		return NULL;
	}
	return &the_knobs;
}

/* Does the environment that process @pid was started with have @var? 1, 0; -1: it is not told. */
static int has_var(int pid, const char *var)
{
	char path[40], *line = NULL;
	size_t room = 0, len = strlen(var);
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (!found && getdelim(&line, &room, 0, f) > 0)
		found = !strncmp(line, var, len) && line[len] == '=';
	free(line);
	fclose(f);
	return found;
}

/* Who has set @var? Under a launcher: what our parent, which is its daemon, was not started with comes from its options. */
static const char *origin(const char *var)
{
	if (p3_pmi_around() && !has_var((int)getppid(), var))
		return "launcher";
	return "environment";
}

void p3_knobs_each(void (*fn)(void *ctx, const struct p3_knob_told *k), void *ctx)
{
	for (size_t i = 0; i < NKNOBS; i++) {
		const struct knob *k = &knobs[i];
		struct p3_knob_told t = { k->var, k->def, k->def, "default", k->help, NULL };
		struct p3_knobs scratch;
		char good[96];

		if (set_in_env(k, &t.value)) {
			t.origin = origin(k->var);
			if (parse(k, t.value, &scratch)) {
				describe(k, good, sizeof(good));
				t.must = good;
			}
		} else {
			t.value = k->def;
		}
		fn(ctx, &t);
	}
	for (size_t i = 0; i < NOTHER; i++) {
		const struct other *o = &others[i];
		const char *value = getenv(o->var), *def = *o->def ? o->def : "none";
		struct p3_knob_told t = { o->var, value ? value : o->def, def, value ? origin(o->var) : "default", o->help,
					  NULL };

		fn(ctx, &t);
	}
}

static void print_one(void *ctx, const struct p3_knob_told *k)
{
	if (k->must)
		fprintf(ctx, "%s=%s  (BAD: must be %s)\n    %s\n", k->var, k->value, k->must, k->help);
	else
		fprintf(ctx, "%s=%s  (default %s, from: %s)\n    %s\n", k->var, k->value, k->def, k->origin, k->help);
}

void p3_knobs_print(FILE *f)
{
	p3_knobs_each(print_one, f);
}

void p3_knobs_print_raw(FILE *f)
{
	for (size_t i = 0; i < NKNOBS; i++) {
		char good[96];

		describe(&knobs[i], good, sizeof(good));
		fprintf(f, "%s|%s|%s|%s\n", knobs[i].var, knobs[i].help, good, knobs[i].def);
	}
	for (size_t i = 0; i < NOTHER; i++)
		fprintf(f, "%s|%s|%s|%s\n", others[i].var, others[i].help, others[i].good, others[i].def);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ptl_rank_order - from who has sent how much to whom, an order of ranks that leaves little between nodes, and what it
 * would save
 *
 * Reads what PTL_TRAFFIC recorded (portals/api/traffic.c), compares the orders of MPICH_RANK_REORDER_METHOD 0
 * to 2 and a file's with one of its own (place.c), which begins from the best of those and is never worse. What
 * is written is read back with the library's own parser before anything is promised about it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include "p3_order.h"
#include "p3_rt.h"
#include "place.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES	128		/* of each message: WIRE_HDR of nal/wire/wire.h */
#define METHODS		3
#define ORDERS_MAX	(METHODS + 3)

enum { BY_BYTES, BY_MESSAGES, BY_LINK };

static int weigh = BY_BYTES;
static double link_us, link_mbps;

struct row {
	uint32_t from, to;
	uint64_t messages, bytes;
};

static struct {
	struct row *row;
	uint64_t n, room;
	uint32_t ranks, job;
	uint32_t *lines;		/* [ranks] how many of its interfaces have reported */
	uint32_t *node_of;		/* [ranks] where it ran */
} traffic;

static void usage(FILE *f)
{
	fprintf(f, "Usage: ptl_rank_order [options] TRAFFIC...\n"
		"TRAFFIC is what a job has written that ran with PTL_TRAFFIC=file. Says what goes between nodes of\n"
		"RANKS each under the orders of MPICH_RANK_REORDER_METHOD, and under one of its own.\n"
		"  -N, --ranks-per-node RANKS  of each node but the last; must be given\n"
		"  -o, --output FILE           write the order, for MPICH_RANK_REORDER_METHOD=3\n"
		"  -m, --method 0|1|2          what to compare with: the order in use (1)\n"
		"  -f, --file FILE             ... or that of an order file\n"
		"  -b, --by WHAT               what is to be little: bytes (default; %d of header in each message),\n"
		"                              messages, or US:MBPS, the time on a link with such a latency and\n"
		"                              bandwidth\n"
		"  -p, --pairs COUNT           pairs of ranks to show, the heaviest first (10)\n"
		"  -t, --tries COUNT           beginnings to try (16)\n"
		"  -s, --seed NUMBER           of the random part\n"
		"  -h, --help                  this text\n", HEADER_BYTES);
}

__attribute__((noreturn, format(printf, 2, 3))) static void die(int rc, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "ptl_rank_order: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(rc);
}

static void *need(void *p)
{
	if (!p)
		die(1, "no memory");
	return p;
}

/* ---- the record ---- */

static void add_row(struct row r)
{
	if (traffic.n == traffic.room) {
		traffic.room = traffic.room ? 2 * traffic.room : 1024;
		traffic.row = need(realloc(traffic.row, traffic.room * sizeof(*traffic.row)));
	}
	traffic.row[traffic.n++] = r;
}

/* A decimal number up to @max behind blanks; what follows it, or NULL. */
static const char *number(const char *s, uint64_t max, uint64_t *v)
{
	s += strspn(s, " \t");
	if (!isdigit((unsigned char)*s))
		return NULL;
	for (*v = 0; isdigit((unsigned char)*s); s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (*v > (max - digit) / 10)
			return NULL;
		*v = *v * 10 + digit;
	}
	return s;
}

/* "# portals traffic 1 job JID ranks SIZE rank RANK node NODE" */
static bool head(const char *file, unsigned line, const char *s)
{
	static const char *const word[] = { "# portals traffic", " job", " ranks", " rank", " node" };
	uint64_t v[5];

	for (int i = 0; i < 5; i++) {
		if (strncmp(s, word[i], strlen(word[i])))
			return false;
		s = number(s + strlen(word[i]), UINT32_MAX, &v[i]);
		if (!s)
			return false;
	}
	if (v[0] != 1)
		die(1, "%s:%u: of version %llu; this program knows version 1", file, line, (unsigned long long)v[0]);
	if (!v[2] || v[2] > PLACE_RANKS_MAX || v[3] >= v[2])
		return false;
	if (!traffic.ranks) {
		traffic.ranks = (uint32_t)v[2];
		traffic.job = (uint32_t)v[1];
		traffic.lines = need(calloc(traffic.ranks, sizeof(*traffic.lines)));
		traffic.node_of = need(calloc(traffic.ranks, sizeof(*traffic.node_of)));
	}
	if (traffic.job != v[1] || traffic.ranks != v[2])
		die(1, "%s:%u: of job %llu with %llu ranks; what came before is of job %u with %u "
		    "(PTL_TRAFFIC=name.%%j keeps jobs apart)", file, line, (unsigned long long)v[1],
		    (unsigned long long)v[2], traffic.job, traffic.ranks);
	if (v[4] >= traffic.ranks)	/* there are no more nodes than ranks */
		return false;
	traffic.lines[v[3]]++;
	traffic.node_of[v[3]] = (uint32_t)v[4];
	return true;
}

static bool pair(const char *s)
{
	uint64_t v[4];

	for (int i = 0; i < 4; i++) {
		s = number(s, i < 2 ? UINT32_MAX : INT64_MAX / 1024, &v[i]);
		if (!s)
			return false;
	}
	if (s[strspn(s, " \t\r\n")] || v[0] >= traffic.ranks || v[1] >= traffic.ranks)
		return false;
	add_row((struct row){ (uint32_t)v[0], (uint32_t)v[1], v[2], v[3] });
	return true;
}

static void read_file(const char *file)
{
	FILE *f = fopen(file, "re");
	char line[512];
	unsigned n = 0;

	if (!f)
		die(1, "%s: %s", file, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		n++;
		if (!line[strspn(line, " \t\r\n")])
			continue;
		if (line[0] == '#' ? !head(file, n, line) : !traffic.ranks || !pair(line))
			die(1, "%s:%u: not a line of traffic: %.60s", file, n, line);
	}
	if (ferror(f))
		die(1, "%s: %s", file, strerror(errno));
	fclose(f);
}

static void read_all(char **file)
{
	uint32_t missing = 0, first = 0;

	for (; *file; file++)
		read_file(*file);
	if (!traffic.ranks)
		die(1, "there is no traffic in it: did the job run with PTL_TRAFFIC, and close its interfaces?");
	for (uint32_t r = traffic.ranks; r-- > 0;)
		if (!traffic.lines[r]) {
			missing++;
			first = r;
		}
	if (missing)
		die(1, "%u of %u ranks have written nothing, rank %u is the first: did the job end well? Are there "
		    "files of other nodes?", missing, traffic.ranks, first);
}

/* ---- the graph ---- */

static int64_t weight_of(uint64_t messages, uint64_t bytes)
{
	double ns;

	if (weigh == BY_MESSAGES)
		return (int64_t)messages;
	bytes += messages * HEADER_BYTES;
	if (weigh == BY_BYTES)
		return (int64_t)bytes;
	ns = (double)messages * link_us * 1e3;
	if (link_mbps > 0)
		ns += (double)bytes * 1e3 / link_mbps;
	return (int64_t)(ns + 0.5);
}

static void make_graph(struct place_graph *g)
{
	struct place_pair *p = need(calloc(traffic.n + 1, sizeof(*p)));

	for (uint64_t i = 0; i < traffic.n; i++) {
		const struct row *r = &traffic.row[i];

		p[i] = (struct place_pair){ r->from, r->to, weight_of(r->messages, r->bytes), r->messages, r->bytes };
	}
	if (place_graph_make(g, traffic.ranks, p, traffic.n))
		need(NULL);
	free(p);
}

/* ---- orders ---- */

struct order {
	char name[40];
	uint32_t *node_of;
	struct place_cut cut;
};

/* The node of each rank under a method, by the library's own functions: launch slots fill the nodes in turn. */
static void by_method(int method, const char *file, uint32_t per_node, uint32_t *node_of)
{
	uint32_t n = traffic.ranks, *slot_node = need(calloc(n, sizeof(*slot_node)));
	uint32_t *order = need(calloc(n, sizeof(*order)));
	char err[500];

	for (uint32_t i = 0; i < n; i++)
		slot_node[i] = i / per_node;
	if (p3_rt_reorder(method, file, slot_node, n, order, err, sizeof(err)))
		die(1, "%s", err);
	for (uint32_t i = 0; i < n; i++)
		node_of[order[i]] = slot_node[i];
	free(slot_node);
	free(order);
}

static void say_size(double v)
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	unsigned u = 0;

	for (; v >= 9999.5 && u < 5; u++)
		v /= 1000;
	printf(" %10.*f %-2s", u ? 1 : 0, v, unit[u]);
}

static double percent(double part, double of)
{
	return of > 0 ? 100 * part / of : 0;
}

static void table(const struct order *o, unsigned n, const struct place_cut *all)
{
	static const char *const what[] = { "bytes with headers", "messages", "time on links" };

	printf("%-30s %13s %6s %14s %6s   %s\n", "between nodes", "bytes", "%", "messages", "%",
	       weigh == BY_LINK ? "ms on links, of the busiest node" : "of the busiest node");
	for (unsigned i = 0; i < n; i++) {
		printf("%-30s", o[i].name);
		say_size((double)o[i].cut.bytes);
		printf(" %6.1f %14llu %6.1f", percent((double)o[i].cut.bytes, (double)all->bytes),
		       (unsigned long long)o[i].cut.messages,
		       percent((double)o[i].cut.messages, (double)all->messages));
		if (weigh == BY_LINK)
			printf("   %.3f, %.3f\n", (double)o[i].cut.weight * 1e-6, (double)o[i].cut.busiest * 1e-6);
		else
			printf("   %lld\n", (long long)o[i].cut.busiest);
	}
	printf("%-30s", "all");
	say_size((double)all->bytes);
	printf(" %6s %14llu\n(what is kept little: %s)\n", "", (unsigned long long)all->messages, what[weigh]);
}

struct shown {
	uint32_t a, b;
	const struct place_edge *e;
};

static int heavier(const void *x, const void *y)
{
	const struct shown *a = x, *b = y;

	if (a->e->weight != b->e->weight)
		return a->e->weight < b->e->weight ? 1 : -1;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

static void pairs(const struct place_graph *g, const struct order *was, const struct order *is, uint64_t count)
{
	struct shown *s = need(calloc(g->first[g->ranks] + 1, sizeof(*s)));
	uint64_t n = 0;

	for (uint32_t r = 0; r < g->ranks; r++)
		for (uint64_t i = g->first[r]; i < g->first[r + 1]; i++)
			if (r < g->edge[i].to)
				s[n++] = (struct shown){ r, g->edge[i].to, &g->edge[i] };
	qsort(s, n, sizeof(*s), heavier);
	if (count && n)
		printf("\n%-20s %13s %14s   %s\n", "ranks", "bytes", "messages", "on nodes: before, after");
	for (uint64_t i = 0; i < n && i < count; i++) {
		uint32_t a = s[i].a, b = s[i].b;
		bool x = was->node_of[a] != was->node_of[b], y = is->node_of[a] != is->node_of[b];

		printf("%8u - %-8u ", a, b);
		say_size((double)s[i].e->bytes);
		printf(" %14llu   %u %u, %u %u%s\n", (unsigned long long)s[i].e->messages, was->node_of[a],
		       was->node_of[b], is->node_of[a], is->node_of[b],
		       x && !y ? "  within a node now" : !x && y ? "  between nodes now" : "");
	}
	if (count && n > count)
		printf("and %llu pairs more\n", (unsigned long long)(n - count));
	free(s);
}

/* ---- the file ---- */

static void write_file(const char *file, uint32_t per_node, const struct order *is, const struct place_cut *all,
		       struct place_graph *g)
{
	uint32_t n = traffic.ranks, *list = need(calloc(n, sizeof(*list)));
	uint32_t *node_of = need(calloc(n, sizeof(*node_of)));
	struct place_cut cut;
	FILE *f = fopen(file, "we");

	if (!f)
		die(1, "%s: %s", file, strerror(errno));
	place_to_list(is->node_of, n, list);
	fprintf(f, "# ptl_rank_order: %u ranks, %u on a node; from the traffic of job %u\n", n, per_node, traffic.job);
	fprintf(f, "# between nodes: %llu of %llu bytes, %llu of %llu messages\n", (unsigned long long)is->cut.bytes,
		(unsigned long long)all->bytes, (unsigned long long)is->cut.messages,
		(unsigned long long)all->messages);
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%u%s", list[i], i + 1 == n || (i + 1) % per_node == 0 ? "\n" : ",");
	if (fclose(f))
		die(1, "%s: %s", file, strerror(errno));
	by_method(3, file, per_node, node_of);		/* as the library will read it */
	if (place_cut(g, node_of, (n + per_node - 1) / per_node, &cut, NULL))
		need(NULL);
	if (cut.bytes != is->cut.bytes || cut.messages != is->cut.messages)
		die(1, "%s: does not say what was meant (%llu bytes between nodes instead of %llu)", file,
		    (unsigned long long)cut.bytes, (unsigned long long)is->cut.bytes);
	free(list);
	free(node_of);
}

/* ---- */

static unsigned long value(const char *opt, const char *s, unsigned long min, unsigned long max)
{
	uint64_t v;
	const char *end = number(s, max, &v);

	if (!end || *end || v < min)
		die(2, "%s %s: wants a number from %lu to %lu", opt, s, min, max);
	return v;
}

static void parse_by(const char *s)
{
	char *end = NULL, *end2 = NULL;

	if (!strcmp(s, "bytes")) {
		weigh = BY_BYTES;
		return;
	}
	if (!strcmp(s, "messages")) {
		weigh = BY_MESSAGES;
		return;
	}
	weigh = BY_LINK;
	link_us = isdigit((unsigned char)*s) ? strtod(s, &end) : -1;
	link_mbps = end && *end == ':' && isdigit((unsigned char)end[1]) ? strtod(end + 1, &end2) : -1;
	if (!end2 || *end2 || !(link_us >= 0 && link_us <= 1e7) || !(link_mbps >= 0 && link_mbps <= 1e9) ||
	    (link_mbps > 0 && link_mbps < 0.001))
		die(2, "-b %s: wants bytes, messages, or a latency in us and a bandwidth in MB/s with : between "
		    "them", s);
}

/* Did the job run on nodes of @per_node, so that it is one of the placements to compare? */
static bool ran_like_this(uint32_t per_node)
{
	uint32_t *count = need(calloc(traffic.ranks, sizeof(*count)));
	uint32_t nodes = (traffic.ranks + per_node - 1) / per_node;
	bool same = true;

	for (uint32_t r = 0; r < traffic.ranks; r++)
		count[traffic.node_of[r]]++;
	for (uint32_t n = 0; n < nodes; n++)
		same &= count[n] == (n + 1 < nodes ? per_node : traffic.ranks - n * per_node);
	free(count);
	return same;
}

/*
 * All orders that there are to compare: methods, where the job ran, the file's; the last is ours, refined from the best
 * of the others. Returns how many.
 */
static unsigned orders(const struct place_graph *g, uint32_t per_node, const char *file, uint32_t tries, uint64_t seed,
		       struct order *o)
{
	static const char *const name[METHODS] = { "method 0 (round-robin)", "method 1 (SMP)", "method 2 (folded)" };
	uint32_t nodes = (traffic.ranks + per_node - 1) / per_node;
	unsigned ran = ran_like_this(per_node), n = METHODS + ran + !!file, best = 1;

	for (unsigned i = 0; i <= n; i++)
		o[i].node_of = need(calloc(traffic.ranks, sizeof(uint32_t)));
	for (unsigned i = 0; i < n; i++) {
		if (i == METHODS && ran) {
			snprintf(o[i].name, sizeof(o[i].name), "as it ran");
			memcpy(o[i].node_of, traffic.node_of, traffic.ranks * sizeof(uint32_t));
		} else {
			snprintf(o[i].name, sizeof(o[i].name), "%.30s", i < METHODS ? name[i] : basename(file));
			by_method(i < METHODS ? (int)i : 3, file, per_node, o[i].node_of);
		}
		if (place_cut(g, o[i].node_of, nodes, &o[i].cut, NULL))
			need(NULL);
		if (o[i].cut.weight < o[best].cut.weight)
			best = i;
	}
	snprintf(o[n].name, sizeof(o[n].name), "proposed");
	memcpy(o[n].node_of, o[best].node_of, traffic.ranks * sizeof(uint32_t));
	if (place_best(g, per_node, tries, seed, o[n].node_of) || place_cut(g, o[n].node_of, nodes, &o[n].cut, NULL))
		need(NULL);
	return n + 1;
}

/* "saves 16000 bytes (33.3 %)"; an order that is better by one measure may be worse by another. */
static void saved(uint64_t was, uint64_t is, const char *what)
{
	uint64_t by = was > is ? was - is : is - was;

	printf(" %s %llu %s (%.1f %%)", was >= is ? "saves" : "adds", (unsigned long long)by, what,
	       percent((double)by, (double)was));
}

static void verdict(const struct order *was, const struct order *is)
{

	if (was->cut.weight <= is->cut.weight) {
		printf("\n%s is as good as what was found.\n", was->name);
		return;
	}
	printf("\nAgainst %s the proposed order", was->name);
	saved(was->cut.bytes, is->cut.bytes, "bytes");
	printf(" and");
	saved(was->cut.messages, is->cut.messages, "messages");
	printf(" between nodes.\n");
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "ranks-per-node", 1, NULL, 'N' }, { "output", 1, NULL, 'o' }, { "method", 1, NULL, 'm' },
		{ "file", 1, NULL, 'f' }, { "by", 1, NULL, 'b' }, { "pairs", 1, NULL, 'p' }, { "tries", 1, NULL, 't' },
		{ "seed", 1, NULL, 's' }, { "help", 0, NULL, 'h' }, { 0 }
	};
	uint32_t per_node = 0, tries = 16;
	uint64_t seed = 1, count = 10;
	const char *output = NULL, *file = NULL;
	struct order o[ORDERS_MAX], *was;
	struct place_graph g;
	struct place_cut all;
	unsigned method = 1, n;
	int c;

	while ((c = getopt_long(argc, argv, "N:o:m:f:b:p:t:s:h", longs, NULL)) != -1) {
		switch (c) {
		case 'N': per_node = (uint32_t)value("-N", optarg, 1, PLACE_RANKS_MAX); break;
		case 'o': output = optarg; break;
		case 'm': method = (unsigned)value("-m", optarg, 0, METHODS - 1); break;
		case 'f': file = optarg; break;
		case 'b': parse_by(optarg); break;
		case 'p': count = value("-p", optarg, 0, 1u << 30); break;
		case 't': tries = (uint32_t)value("-t", optarg, 0, 100000); break;
		case 's': seed = value("-s", optarg, 0, UINT32_MAX); break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	}
	if (optind == argc)
		die(2, "which traffic? (--help)");
	if (!per_node)
		die(2, "-N: how many ranks does a node take?");
	read_all(argv + optind);
	make_graph(&g);
	n = orders(&g, per_node, file, tries, seed, o);
	if (place_cut(&g, o[0].node_of, (traffic.ranks + per_node - 1) / per_node, &(struct place_cut){ 0 }, &all))
		need(NULL);
	printf("%u ranks, %u on a node; %llu pairs of them have talked\n\n", traffic.ranks, per_node,
	       (unsigned long long)all.edges);
	table(o, n, &all);
	was = &o[file ? n - 2 : method];
	verdict(was, &o[n - 1]);
	pairs(&g, was, &o[n - 1], count);
	if (output) {
		write_file(output, per_node, &o[n - 1], &all, &g);
		printf("\n%s: MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=%s\n", output, output);
	}
	for (unsigned i = 0; i < n; i++)
		free(o[i].node_of);
	place_graph_free(&g);
	free(traffic.row);
	free(traffic.lines);
	free(traffic.node_of);
	if (fflush(stdout) || ferror(stdout))
		die(1, "%s", strerror(errno));
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * model.c - frames held back as if there were a link: model.h says how
 *
 * A link's frames end one after the other and have the same latency, so those of one node are due in the order in which
 * they came, whichever rank they are of: one queue for each node, and only its head is looked at. Processes that
 * share the word of a link take their turns by compare-and-swap on it; a clock that they share is all they need.
 */
#include "model.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATENCY_MAX_US	10000000.0	/* 10 s: more is a mistake, and looks like a hang */
#define BW_MIN_MBPS	0.001

struct model_frame {
	struct model_frame *next;
	int64_t due;
	uint32_t rank, n;
	uint8_t bytes[];
};

/* ---- what links there are ---- */

/* A number from 0 to @max; what follows it. NULL: there is none. */
static const char *number(const char *s, double max, double *v)
{
	char *end;

	if (!isdigit((unsigned char)*s) && *s != '.')	/* no sign, no nan, no blanks */
		return NULL;
	*v = strtod(s, &end);
	return end == s || !(*v <= max) ? NULL : end;
}

static int make(double us, double mbps, struct model_link *l, char *why, size_t len, const char *where)
{
	if (mbps > 0 && mbps < BW_MIN_MBPS) {
		snprintf(why, len, "%s: a bandwidth of %g MB/s is too little; at least %g, or 0 for no limit", where,
			 mbps, BW_MIN_MBPS);
		return -1;
	}
	*l = (struct model_link){ (uint64_t)(us * 1e3 + 0.5), mbps > 0 ? (uint64_t)(1e9 / mbps + 0.5) : 0, true };
	return 0;
}

/* NODE or *: @all. NULL: neither. */
static const char *node_at(const char *s, uint32_t *node, bool *all)
{
	uint64_t v = 0;

	s += strspn(s, " \t");
	*all = *s == '*';
	if (*all)
		return s + 1;
	if (!isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*s); s++)
		v = v > UINT32_MAX ? v : v * 10 + (unsigned)(*s - '0');
	*node = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
	return s;
}

static bool blank(const char *s)
{
	s += strspn(s, " \t\r\n");
	return !*s || *s == '#';
}

/* One line of the file. Nodes that this job does not have are none of its business. */
static int line(const char *s, const char *where, uint32_t nodes, uint32_t to, struct model_link *link, char *why,
		size_t len)
{
	uint32_t node[2] = { 0, 0 };
	bool all[2];
	double us, mbps;
	struct model_link l;

	if (blank(s))
		return 0;
	for (int k = 0; s && k < 2; k++)
		s = node_at(s, &node[k], &all[k]);
	if (s && (*s == ' ' || *s == '\t'))
		s = number(s + strspn(s, " \t"), LATENCY_MAX_US, &us);
	else
		s = NULL;
	if (s && (*s == ' ' || *s == '\t'))
		s = number(s + strspn(s, " \t"), 1e9, &mbps);
	else
		s = NULL;
	if (!s || !blank(s)) {
		snprintf(why, len, "%s: wants two nodes (or *), a latency in us up to %.0f and a bandwidth in MB/s",
			 where, LATENCY_MAX_US);
		return -1;
	}
	if (make(us, mbps, &l, why, len, where))
		return -1;
	for (int k = 0; k < 2; k++)	/* this node, and the other one of the line */
		for (uint32_t n = 0; (all[k] || node[k] == to) && n < nodes; n++)
			if (n != to && (all[!k] || node[!k] == n))
				link[n] = l;
	return 0;
}

int model_parse(const char *text, uint32_t nodes, uint32_t to, struct model_link *link, char *why, size_t len)
{
	char where[300], buf[512];
	const char *s;
	double us, mbps;
	uint32_t n = 0;
	int rc = 0;
	FILE *f;

	memset(link, 0, nodes * sizeof(*link));
	s = number(text, LATENCY_MAX_US, &us);
	s = s && *s == ':' ? number(s + 1, 1e9, &mbps) : NULL;
	if (s && !*s) {
		for (uint32_t i = 0; !rc && i < nodes; i++)
			if (i != to)
				rc = make(us, mbps, &link[i], why, len, text);
		return rc;
	}
	f = fopen(text, "re");
	if (!f) {
		snprintf(why, len, "'%.200s' is neither LATENCY:BANDWIDTH (us up to %.0f, MB/s) nor a file that can "
			 "be read: %s", text, LATENCY_MAX_US, strerror(errno));
		return -1;
	}
	while (!rc && fgets(buf, sizeof(buf), f)) {
		snprintf(where, sizeof(where), "%.200s:%u", text, ++n);
		if (!strchr(buf, '\n') && !feof(f)) {
			snprintf(why, len, "%s: the line is too long", where);
			rc = -1;
		} else {
			rc = line(buf, where, nodes, to, link, why, len);
		}
	}
	if (!rc && ferror(f)) {
		snprintf(why, len, "%.200s: %s", text, strerror(errno));
		rc = -1;
	}
	fclose(f);
	return rc;
}

/* ---- frames ---- */

int model_start(struct model *m, uint32_t nodes, const struct model_link *link, int64_t *busy)
{
	*m = (struct model){ .nodes = nodes, .link = link, .busy = busy, .q = calloc(nodes, sizeof(*m->q)) };
	for (uint32_t i = 0; m->q && i < nodes; i++)
		m->q[i].end = &m->q[i].first;
	return m->q ? 0 : -1;
}

void model_stop(struct model *m)
{
	for (uint32_t i = 0; m->q && i < m->nodes; i++)
		for (struct model_frame *f; (f = m->q[i].first) != NULL; free(f))
			m->q[i].first = f->next;
	free(m->q);
	m->q = NULL;
	m->held = 0;
}

/* The link's next turn of @n bytes: when it ends. Pairs with itself in the other processes of the node. */
static int64_t turn(struct model *m, uint32_t node, uint32_t n, int64_t now)
{
	int64_t took = (int64_t)(((__uint128_t)n * m->link[node].ns_per_mb + 999999) / 1000000), was, ends;

	was = __atomic_load_n(&m->busy[node], __ATOMIC_RELAXED);
	do
		ends = (was > now ? was : now) + took;
	while (!__atomic_compare_exchange_n(&m->busy[node], &was, ends, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return ends;
}

int model_take(struct model *m, uint32_t node, uint32_t rank, const uint8_t *bytes, uint32_t n, int64_t now)
{
	struct model_queue *q = &m->q[node];
	struct model_frame *f;

	if (!m->link[node].set)
		return 1;
	if (!n && !q->first)		/* the end, and nothing before it */
		return 1;
	f = malloc(sizeof(*f) + n);
	if (!f)
		return -1;
	f->next = NULL;
	f->rank = rank;
	f->n = n;
	f->due = 0;			/* the end of a rank: with what is before it */
	if (n) {
		memcpy(f->bytes, bytes, n);
		f->due = turn(m, node, n, now) + (int64_t)m->link[node].latency_ns;
		m->bytes += n;
		m->frames++;
	}
	*q->end = f;
	q->end = &f->next;
	m->held++;
	return 0;
}

int64_t model_run(struct model *m, int64_t now, model_deliver *deliver, void *ctx)
{
	int64_t next = 0;

	for (uint32_t i = 0; m->held && i < m->nodes; i++) {
		struct model_queue *q = &m->q[i];
		struct model_frame *f;

		while ((f = q->first) != NULL && f->due <= now) {
			q->first = f->next;
			if (!q->first)
				q->end = &q->first;
			m->held--;
			deliver(ctx, f->rank, f->bytes, f->n);
			free(f);
		}
		if (f && (!next || f->due < next))
			next = f->due;
	}
	return next;
}

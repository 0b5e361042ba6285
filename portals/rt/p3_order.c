/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_order.c - which rank sits where: MPICH_RANK_REORDER_METHOD and MPICH_RANK_ORDER files
 *
 * The launcher numbers its processes as it likes ("slots"); each slot lies on a node. A method gives each slot a
 * rank. All methods are one walk over the slots in some order, handing out a list of ranks:
 *
 *	0 round-robin	one slot of each node in turn, then again from the first node
 *	1 SMP		all slots of the first node, then of the second, ...
 *	2 folded	as 0, but every second sweep goes from the last node to the first
 *	3 file		walk as in 1; the list of ranks is the file's instead of 0, 1, 2, ...
 *
 * A node that is full is passed over. Pure functions, no state.
 */
#include "config.h"

#include "p3_order.h"
#include "p3_rt.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORDER_FILE_MAX	(16 << 20)	/* bytes; a million ranks need 7 MB */

struct scan {
	const char *name, *p, *end, *tok;	/* tok: where the current token begins */
	uint32_t line, last;		/* current line; last line that lists a rank */
	uint32_t size, n;		/* ranks in the job; ranks listed so far */
	uint32_t *list, *seen;		/* seen[rank]: line where it was listed, 0 not yet */
	char *err;
	size_t errlen;
};

static int is_sep(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int bad_token(struct scan *s, const char *tok)
{
	char shown[40];
	size_t n = 0;

	for (; tok < s->end && !is_sep(*tok) && *tok != '#' && n < sizeof(shown) - 1; tok++)
		shown[n++] = isprint((unsigned char)*tok) ? *tok : '?';
	shown[n] = 0;
	snprintf(s->err, s->errlen, "%s:%u: '%s' is neither a rank nor a range of ranks such as 0-15", s->name, s->line,
		 shown);
	return -1;
}

static int add(struct scan *s, uint64_t rank)
{
	if (rank >= s->size) {
		snprintf(s->err, s->errlen, "%s:%u: rank %llu is out of range: the job has ranks 0 to %u", s->name, s->line,
			 (unsigned long long)rank, s->size - 1);
		return -1;
	}
	if (s->seen[rank]) {
		snprintf(s->err, s->errlen, "%s:%u: rank %u appears twice (first on line %u)", s->name, s->line,
			 (uint32_t)rank, s->seen[rank]);
		return -1;
	}
	s->seen[rank] = s->last = s->line;
	s->list[s->n++] = (uint32_t)rank;	/* n < size: every rank is listed at most once */
	return 0;
}

/* A rank. One with more digits than any has, leading zeros apart, is said to be out of range as it stands there. */
static int number(struct scan *s, uint64_t *v)
{
	const char *tok = s->p, *first;

	while (s->p < s->end && *s->p == '0')
		s->p++;
	first = s->p;
	for (*v = 0; s->p < s->end && isdigit((unsigned char)*s->p); s->p++)
		if (s->p - first < 18)
			*v = *v * 10 + (unsigned)(*s->p - '0');
	if (s->p == tok)
		return bad_token(s, s->tok);
	if (s->p - first <= 18)
		return 0;
	snprintf(s->err, s->errlen, "%s:%u: rank %.*s%s is out of range: the job has ranks 0 to %u", s->name, s->line,
		 s->p - first > 40 ? 40 : (int)(s->p - first), first, s->p - first > 40 ? "..." : "", s->size - 1);
	return -1;
}

static int token(struct scan *s)
{
	uint64_t a, b;

	s->tok = s->p;
	if (number(s, &a))
		return -1;
	b = a;
	if (s->p < s->end && *s->p == '-') {
		s->p++;
		if (number(s, &b))
			return -1;
	}
	if (s->p < s->end && !is_sep(*s->p) && *s->p != '#')
		return bad_token(s, s->tok);
	for (;; a < b ? a++ : a--) {	/* ends early: add() refuses what is out of range or repeated */
		if (add(s, a))
			return -1;
		if (a == b)
			return 0;
	}
}

static int scan_all(struct scan *s)
{
	uint32_t missing = 0, first = 0;

	while (s->p < s->end) {
		if (*s->p == '\n')
			s->line++;
		if (is_sep(*s->p)) {
			s->p++;
		} else if (*s->p == '#') {
			while (s->p < s->end && *s->p != '\n')
				s->p++;
		} else if (token(s)) {
			return -1;
		}
	}
	for (uint32_t r = 0; r < s->size; r++)
		if (!s->seen[r] && !missing++)
			first = r;
	if (!missing)
		return 0;
	if (!s->n)
		snprintf(s->err, s->errlen, "%s: lists no rank; the job has ranks 0 to %u", s->name, s->size - 1);
	else if (missing == 1)
		snprintf(s->err, s->errlen, "%s: rank %u is missing: lines 1 to %u do not list it", s->name, first, s->last);
	else
		snprintf(s->err, s->errlen, "%s: rank %u is missing: lines 1 to %u do not list it, nor %u more of %u", s->name,
			 first, s->last, missing - 1, s->size);
	return -1;
}

int p3_order_parse(const char *name, const char *text, size_t len, uint32_t size, uint32_t *list, char *err,
		   size_t errlen)
{
	struct scan s = { .name = name, .p = text, .end = text + len, .line = 1, .last = 1, .size = size, .list = list,
			  .err = err, .errlen = errlen };
	int rc;

	s.seen = calloc((size_t)size + 1, sizeof(*s.seen));
	if (!s.seen) {
		snprintf(err, errlen, "%s: no memory for %u ranks", name, size);
		return -1;
	}
	rc = scan_all(&s);
	free(s.seen);
	return rc;
}

static int read_order(const char *file, uint32_t size, uint32_t *list, char *err, size_t errlen)
{
	char *text = NULL;
	struct stat st;
	size_t have = 0;
	int fd, rc = -1;

	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);	/* a FIFO must not hang the job */
	if (fd < 0 || fstat(fd, &st)) {
		snprintf(err, errlen, "%s: %s; MPICH_RANK_REORDER_METHOD=3 takes the order of ranks from this file "
			 "(MPICH_RANK_REORDER_FILE names another)", file, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > ORDER_FILE_MAX) {
		snprintf(err, errlen, "%s: not a regular file of at most %d bytes", file, ORDER_FILE_MAX);
		goto out;
	}
	text = malloc((size_t)st.st_size + 1);
	if (!text) {
		snprintf(err, errlen, "%s: no memory for %lld bytes", file, (long long)st.st_size);
		goto out;
	}
	while (have < (size_t)st.st_size) {
		ssize_t n = read(fd, text + have, (size_t)st.st_size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			snprintf(err, errlen, "%s: %s", file, strerror(errno));
			goto out;
		}
		if (!n)
			break;		/* became shorter while we read */
		have += (size_t)n;
	}
	rc = p3_order_parse(file, text, have, size, list, err, errlen);
out:
	free(text);
	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * Slots sorted by node, stable: by_node[first[n] .. first[n+1]-1] are node n's slots in launch order.
 * @first has nodes + 1 entries.
 */
static void group(const uint32_t *node, uint32_t size, uint32_t nodes, uint32_t *first, uint32_t *by_node)
{
	memset(first, 0, ((size_t)nodes + 1) * sizeof(*first));
	for (uint32_t i = 0; i < size; i++)
		first[node[i] + 1]++;
	for (uint32_t n = 0; n < nodes; n++)
		first[n + 1] += first[n];
	for (uint32_t i = 0; i < size; i++)
		by_node[first[node[i]]++] = i;
	for (uint32_t n = nodes; n > 0; n--)	/* each first[n] has moved to the next node's start */
		first[n] = first[n - 1];
	first[0] = 0;
}

/* Sweep over the nodes, one slot of each: forwards always, or forwards and backwards in turn. */
static void sweep(uint32_t size, uint32_t nodes, const uint32_t *first, const uint32_t *by_node, int fold,
		  uint32_t *order)
{
	uint32_t rank = 0;

	for (uint32_t k = 0; rank < size; k++)
		for (uint32_t i = 0; i < nodes; i++) {
			uint32_t n = fold && (k & 1) ? nodes - 1 - i : i;

			if (first[n] + k < first[n + 1])
				order[by_node[first[n] + k]] = rank++;
		}
}

int p3_rt_reorder(int method, const char *file, const uint32_t *node_of_slot, uint32_t size, uint32_t *order,
		  char *err, size_t errlen)
{
	uint32_t *by_node, *first, *list, nodes = 0;
	int rc = -1;

	for (uint32_t i = 0; i < size; i++)
		if (node_of_slot[i] >= nodes)
			nodes = node_of_slot[i] + 1;
	by_node = calloc((size_t)size + 1, sizeof(*by_node));
	list = calloc((size_t)size + 1, sizeof(*list));
	first = calloc((size_t)nodes + 1, sizeof(*first));
	if (!by_node || !list || !first) {
		snprintf(err, errlen, "no memory for the order of %u ranks", size);
		goto out;
	}
	group(node_of_slot, size, nodes, first, by_node);
	switch (method) {
	case 0:
	case 2:
		sweep(size, nodes, first, by_node, method == 2, order);
		rc = 0;
		break;
	case 1:
		for (uint32_t k = 0; k < size; k++)
			order[by_node[k]] = k;
		rc = 0;
		break;
	case 3:
		rc = read_order(file ? file : "MPICH_RANK_ORDER", size, list, err, errlen);
		for (uint32_t k = 0; !rc && k < size; k++)
			order[by_node[k]] = list[k];
		break;
	default:
		snprintf(err, errlen, "MPICH_RANK_REORDER_METHOD=%d: must be a number from 0 to 3", method);
	}
out:
	free(by_node);
	free(list);
	free(first);
	return rc;
}

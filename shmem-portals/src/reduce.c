/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * reduce.c - reductions and scans
 *
 * Short vectors travel in the slots: each member says its own, hears the others' and computes the result; that is one
 * hand-over. Longer ones are reduced in parallel and in place: when all have come, each member computes its share of
 * the vector from all sources and writes it to all destinations. Nobody else reads that share of a source, so it may be
 * the destination.
 *
 * The operator is always applied in the order of members, so all get the same bits, whatever the way. Over nodes: first
 * the members of each node, then the nodes in their order; the results of the nodes wait in the destinations.
 */
#include <smartmap.h>
#include <stdlib.h>

#include "reduce.h"

#define PIECE	8192u		/* bytes at a time: what is read twice stays in the nearest cache */
#define HEAR	32		/* members that all hear each other */

struct buffer {
	char b[PIECE];
} SHMEMI_LINE;

struct work {
	const struct shmemi_call *c;
	shmemi_kernel f;
	size_t size, n;			/* of an element; how many */
	char *from[SMARTMAP_MAX_PEERS];	/* of the members of this node; NULL: not in a window */
	char *to[SMARTMAP_MAX_PEERS];
};

/* World's number of member @i of this node. */
static inline int pe_here(const struct work *w, int i)
{
	return shmemi_team_pe(w->c->t, w->c->t->member[i]);
}

static void find_all(struct work *w)
{
	for (int i = 0; i < w->c->t->n; i++) {
		w->from[i] = shmemi_at(w->c->routine, w->c->source, w->n * w->size, pe_here(w, i));
		w->to[i] = shmemi_at(w->c->routine, w->c->dest, w->n * w->size, pe_here(w, i));
	}
}

/* Elements [@first, @end) of @n are the share of number @i of @members: whole lines. */
static void share(size_t n, size_t size, int i, int members, size_t *first, size_t *end)
{
	size_t line = size < 64 ? 64 / size : 1, per = (n + (size_t)members - 1) / (size_t)members;

	per = (per + line - 1) / line * line;
	*first = per * (size_t)i < n ? per * (size_t)i : n;
	*end = n - *first < per ? n : *first + per;
}

/* @n bytes at @off of member @i's source; in @tmp where no window shows them. */
static const char *read_piece(const struct work *w, int i, size_t off, size_t n, struct buffer *tmp)
{
	if (__builtin_expect(w->from[i] != NULL, 1))
		return w->from[i] + off;
	shmemi_pull(w->c->routine, tmp->b, (const char *)w->c->source + off, n, pe_here(w, i));
	return tmp->b;
}

static void write_piece(const struct work *w, int i, size_t off, size_t n, const char *what)
{
	if (__builtin_expect(w->to[i] != NULL, 1))
		shmemi_copy(w->to[i] + off, what, n);
	else
		shmemi_push(w->c->routine, (char *)w->c->dest + off, what, n, pe_here(w, i));
}

/* What the members of this node give for @n elements from @at on: in @acc. */
static void fold_here(const struct work *w, size_t at, size_t n, struct buffer *acc, struct buffer *tmp)
{
	size_t off = at * w->size, bytes = n * w->size;
	const char *a = read_piece(w, 0, off, bytes, acc);

	if (w->c->t->n == 1) {
		shmemi_copy(acc->b, a, bytes);
		return;
	}
	for (int i = 1; i < w->c->t->n; i++) {
		w->f(acc->b, a, read_piece(w, i, off, bytes, tmp), n);
		a = acc->b;
	}
}

static size_t piece(const struct work *w, size_t at, size_t end)
{
	return end - at < PIECE / w->size ? end - at : PIECE / w->size;
}

static void reduce_share(const struct work *w, size_t at, size_t end)
{
	struct buffer acc, tmp;
	size_t n;

	for (; at < end; at += n) {
		n = piece(w, at, end);
		fold_here(w, at, n, &acc, &tmp);
		for (int i = 0; i < w->c->t->n; i++)
			write_piece(w, i, at * w->size, n * w->size, acc.b);
	}
}

/* Everybody says, hears all, computes all: @n elements, @bytes of them, from @off on. */
static void reduce_heard(const struct shmemi_call *c, shmemi_kernel f, size_t off, size_t n, size_t bytes)
{
	struct shmemi_team *t = c->t;
	struct shmemi_slot *slot = shmemi_begin(t);
	const void *a;
	union {
		char b[SHMEMI_INLINE];
		long double aligned;
	} acc;

	shmemi_copy_short(slot->data, (const char *)c->source + off, bytes);
	shmemi_post(t, slot);
	a = shmemi_heard(t, 0)->data;
	for (int i = 1; i < t->n; i++) {
		f(acc.b, a, shmemi_heard(t, i)->data, n);
		a = acc.b;
	}
	shmemi_copy_short((char *)c->dest + off, a, bytes);
	shmemi_heard_all(t);
	shmemi_end(t);
}

/* ---- over nodes ---- */

/* World's number of the @k-th member on node @v; how many there are. */
static int pe_there(const struct shmemi_team *t, int v, int k)
{
	for (int i = t->first[v]; i < t->size; i++)
		if (t->node_of[i] == v && !k--)
			return shmemi_team_pe(t, i);
	return -1;
}

static int members_of(const struct shmemi_team *t, int v)
{
	int n = 0;

	for (int i = 0; i < t->size; i++)
		n += t->node_of[i] == v;
	return n;
}

/* Elements [@at, @end) of the result of node @v: in the destinations of its members, each of which has its share. */
static void fetch_node(const struct work *w, int v, int members, size_t at, size_t end, char *into)
{
	for (int k = 0; k < members && at < end; k++) {
		size_t first, last;

		share(w->n, w->size, k, members, &first, &last);
		if (at >= last)
			continue;
		last = last < end ? last : end;
		shmemi_pull(w->c->routine, into, (char *)w->c->dest + at * w->size, (last - at) * w->size,
			    pe_there(w->c->t, v, k));
		into += (last - at) * w->size;
		at = last;
	}
}

static void reduce_nodes(struct work *w)
{
	struct shmemi_team *t = w->c->t;
	struct buffer acc, tmp;
	size_t first, end, at, n;
	char *result;

	shmemi_team_sync(t);
	find_all(w);
	share(w->n, w->size, t->rank, t->n, &first, &end);
	for (at = first; at < end; at += n) {
		n = piece(w, at, end);
		fold_here(w, at, n, &acc, &tmp);
		memcpy((char *)w->c->dest + at * w->size, acc.b, n * w->size);
	}
	shmemi_team_sync(t);
	result = malloc((end - first) * w->size + 1);
	if (!result)
		shmemi_fatal("%s: no memory for %zu bytes", w->c->routine, (end - first) * w->size);
	for (int v = 0; v < t->nodes; v++) {
		int members = members_of(t, v);

		for (at = first; at < end; at += n) {
			char *r = result + (at - first) * w->size;

			n = piece(w, at, end);
			fetch_node(w, v, members, at, at + n, v ? acc.b : r);
			if (v)
				w->f(r, r, acc.b, n);
		}
	}
	shmemi_team_sync(t);
	for (int i = 0; i < t->n && first < end; i++)
		write_piece(w, i, first * w->size, (end - first) * w->size, result);
	free(result);
	shmemi_sync_here(t);
}

void shmemi_reduce(const struct shmemi_call *c, enum shmemi_kind kind, enum shmemi_op op, size_t n, size_t size)
{
	struct shmemi_team *t = c->t;
	size_t bytes = shmemi_bytes(c->routine, n, size), first, end;
	struct work w;

	shmemi_coll_check(c, bytes, bytes);
	if (t->size == 1 || !n) {
		shmemi_copy(c->dest, c->source, bytes);
		return;
	}
	w.f = (*shmemi_kernels_used)[kind][op];
	if (bytes <= SHMEMI_SHORT && t->nodes == 1 && t->n <= HEAR && !SHMEMI_LINEAR(reduce)) {
		size_t line = SHMEMI_INLINE / size * size, off = 0;

		for (; bytes - off > line; off += line)
			reduce_heard(c, w.f, off, line / size, line);
		reduce_heard(c, w.f, off, (bytes - off) / size, bytes - off);
		return;
	}
	w.c = c;
	w.size = size;
	w.n = n;
	if (t->nodes > 1) {
		if (SHMEMI_LINEAR(reduce) || !shmemi_short_nodes(t, c->source, c->dest, bytes, w.f, n))
			reduce_nodes(&w);
		return;
	}
	shmemi_sync_here(t);
	find_all(&w);
	if (SHMEMI_LINEAR(reduce)) {
		if (!t->rank)
			reduce_share(&w, 0, n);
	} else {
		share(n, size, t->rank, t->n, &first, &end);
		reduce_share(&w, first, end);
	}
	shmemi_sync_here(t);
}

/* ---- scans ---- */

static void scan_heard(const struct shmemi_call *c, shmemi_kernel f, bool inclusive, size_t n, size_t bytes)
{
	struct shmemi_team *t = c->t;
	struct shmemi_slot *slot = shmemi_begin(t);
	int upto = t->rank + inclusive;
	const void *a;
	union {
		char b[SHMEMI_INLINE];
		long double aligned;
	} acc;

	memcpy(slot->data, c->source, bytes);
	shmemi_post(t, slot);
	if (upto) {
		a = shmemi_heard(t, 0)->data;
		for (int i = 1; i < upto; i++) {
			f(acc.b, a, shmemi_heard(t, i)->data, n);
			a = acc.b;
		}
		memcpy(c->dest, a, bytes);
	} else {
		memset(c->dest, 0, bytes);
	}
	shmemi_end(t);
}

/* For all members, elements [@at, @end). A source is read before the destination of its member is written. */
static void scan_share(const struct work *w, bool inclusive, size_t at, size_t end)
{
	struct buffer acc[2], tmp;
	size_t n;

	for (; at < end; at += n) {
		size_t off = at * w->size, bytes;
		int k = 0;

		n = piece(w, at, end);
		bytes = n * w->size;
		for (int i = 0; i < w->c->t->n; i++) {
			const char *s = read_piece(w, i, off, bytes, &tmp);

			if (i)
				w->f(acc[k ^ 1].b, acc[k].b, s, n);
			else
				memcpy(acc[k ^ 1].b, s, bytes);
			if (inclusive) {
				write_piece(w, i, off, bytes, acc[k ^ 1].b);
			} else {
				if (!i)
					memset(acc[k].b, 0, bytes);
				write_piece(w, i, off, bytes, acc[k].b);
			}
			k ^= 1;
		}
	}
}

/* Over nodes each takes what it needs, then all write. */
static void scan_nodes(const struct work *w, bool inclusive)
{
	const struct shmemi_call *c = w->c;
	struct shmemi_team *t = c->t;
	size_t bytes = w->n * w->size;
	char *result = calloc(1, bytes);
	struct buffer tmp;

	if (!result)
		shmemi_fatal("%s: no memory for %zu bytes", c->routine, bytes);
	shmemi_team_sync(t);
	for (int i = 0; i < t->me + inclusive; i++)
		for (size_t at = 0, n; at < w->n; at += n) {
			char *r = result + at * w->size;

			n = piece(w, at, w->n);
			shmemi_pull(c->routine, i ? tmp.b : r, (const char *)c->source + at * w->size, n * w->size,
				    shmemi_team_pe(t, i));
			if (i)
				w->f(r, r, tmp.b, n);
		}
	shmemi_team_sync(t);
	memcpy(c->dest, result, bytes);
	free(result);
}

void shmemi_scan(const struct shmemi_call *c, enum shmemi_kind kind, bool inclusive, size_t n, size_t size)
{
	struct shmemi_team *t = c->t;
	size_t bytes = shmemi_bytes(c->routine, n, size), first, end;
	struct work w;

	shmemi_coll_check(c, bytes, bytes);
	if (t->size == 1 || !n) {
		if (inclusive)
			shmemi_copy(c->dest, c->source, bytes);
		else
			memset(c->dest, 0, bytes);
		return;
	}
	w.f = (*shmemi_kernels_used)[kind][SHMEMI_OP_SUM];
	if (bytes <= SHMEMI_INLINE && t->nodes == 1 && !SHMEMI_LINEAR(scan)) {
		scan_heard(c, w.f, inclusive, n, bytes);
		return;
	}
	w.c = c;
	w.size = size;
	w.n = n;
	if (t->nodes > 1) {
		scan_nodes(&w, inclusive);
		return;
	}
	shmemi_sync_here(t);
	find_all(&w);
	if (SHMEMI_LINEAR(scan)) {
		if (!t->rank)
			scan_share(&w, inclusive, 0, n);
	} else {
		share(n, size, t->rank, t->n, &first, &end);
		scan_share(&w, inclusive, first, end);
	}
	shmemi_sync_here(t);
}

/* ---- the routines ---- */

static int team_reduce(const char *routine, struct shmemi_team *t, void *dest, const void *source, size_t n,
		       size_t size, enum shmemi_kind kind, enum shmemi_op op)
{
	struct shmemi_call c = { routine, t, dest, source };

	shmemi_check_up(routine);
	if (!t)
		return -1;
	shmemi_reduce(&c, kind, op, n, size);
	return 0;
}

static int team_scan(const char *routine, struct shmemi_team *t, void *dest, const void *source, size_t n, size_t size,
		     enum shmemi_kind kind, bool inclusive)
{
	struct shmemi_call c = { routine, t, dest, source };

	shmemi_check_up(routine);
	if (!t)
		return -1;
	shmemi_scan(&c, kind, inclusive, n, size);
	return 0;
}

static void set_reduce(const char *routine, void *dest, const void *source, int n, int start, int log_stride, int pes,
		       const long *psync, size_t size, enum shmemi_kind kind, enum shmemi_op op)
{
	struct shmemi_call c = { routine, NULL, dest, source };

	shmemi_check_up(routine);
	if (n < 0)			/* before the others are waited for */
		shmemi_fatal("%s: %d elements", routine, n);
	c.t = shmemi_set(routine, start, log_stride, pes, psync);
	shmemi_reduce(&c, kind, op, (size_t)n, size);
}

#define REDUCE(N, T, OP, CODE)									\
	int pshmem_##N##_##OP##_reduce(shmem_team_t team, T *dest, const T *source, size_t n)	\
	{											\
		return team_reduce("shmem_" #N "_" #OP "_reduce", team, dest, source, n, sizeof(T),	\
				   SHMEMI_KIND_OF(T), SHMEMI_OP_##CODE);			\
	}											\
	SHMEMI_ALIAS(N##_##OP##_reduce);
#define SCAN(N, T, NAME, INCLUSIVE)								\
	int pshmem_##N##_sum_##NAME(shmem_team_t team, T *dest, const T *source, size_t n)	\
	{											\
		return team_scan("shmem_" #N "_sum_" #NAME, team, dest, source, n, sizeof(T),	\
				 SHMEMI_KIND_OF(T), INCLUSIVE);					\
	}											\
	SHMEMI_ALIAS(N##_sum_##NAME);
#define REDUCE_BIT(N, T) REDUCE(N, T, and, AND) REDUCE(N, T, or, OR) REDUCE(N, T, xor, XOR)
#define REDUCE_CMP(N, T) REDUCE(N, T, max, MAX) REDUCE(N, T, min, MIN)
#define REDUCE_SUM(N, T)									\
	REDUCE(N, T, sum, SUM) REDUCE(N, T, prod, PROD) SCAN(N, T, inscan, true) SCAN(N, T, exscan, false)
SHMEMI_TYPES_REDUCE_BIT(REDUCE_BIT)
SHMEMI_TYPES_RMA(REDUCE_CMP)
SHMEMI_TYPES_REDUCE_SUM(REDUCE_SUM)

#define TO_ALL(N, T, OP, CODE)									\
	void pshmem_##N##_##OP##_to_all(T *dest, const T *source, int n, int start, int log_stride, int size,	\
					T *pwrk, long *psync)					\
	{											\
		set_reduce("shmem_" #N "_" #OP "_to_all", dest, source, n, start, log_stride, size, psync,	\
			   sizeof(T), SHMEMI_KIND_OF(T), SHMEMI_OP_##CODE);			\
	}											\
	SHMEMI_ALIAS(N##_##OP##_to_all);
#define TO_ALL_SUM(N, T) TO_ALL(N, T, sum, SUM) TO_ALL(N, T, prod, PROD)
#define TO_ALL_CMP(N, T) TO_ALL(N, T, max, MAX) TO_ALL(N, T, min, MIN) TO_ALL_SUM(N, T)
#define TO_ALL_BIT(N, T) TO_ALL(N, T, and, AND) TO_ALL(N, T, or, OR) TO_ALL(N, T, xor, XOR) TO_ALL_CMP(N, T)
SHMEMI_TYPES_TO_ALL_INT(TO_ALL_BIT)
SHMEMI_TYPES_TO_ALL_FLOAT(TO_ALL_CMP)
SHMEMI_TYPES_TO_ALL_COMPLEX(TO_ALL_SUM)

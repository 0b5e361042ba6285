/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * place.c - partitions of a job's traffic into nodes: place.h
 *
 * To find the least cut is hard, so this is a heuristic: start somewhere, then for each pair of nodes that talk to each
 * other exchange ranks as Kernighan and Lin do - always the two whose exchange gains most or loses least, each rank
 * once, and of this series the beginning that gained most in all is kept. So a valley between two good
 * placements can be crossed, and no placement ever becomes worse. Starts are what the user has, and several
 * that are grown; the best is shaken a few times. Deterministic for a seed.
 */
#include "place.h"

#include <stdlib.h>
#include <string.h>

/* ---- the graph ---- */

static int by_ends(const void *x, const void *y)
{
	const struct place_pair *a = x, *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

int place_graph_make(struct place_graph *g, uint32_t ranks, struct place_pair *pairs, uint64_t n)
{
	uint64_t kept = 0, *next;

	for (uint64_t i = 0; i < n; i++) {
		if (pairs[i].a > pairs[i].b) {
			uint32_t t = pairs[i].a;

			pairs[i].a = pairs[i].b;
			pairs[i].b = t;
		}
	}
	qsort(pairs, n, sizeof(*pairs), by_ends);
	for (uint64_t i = 0; i < n; i++) {
		struct place_pair *last = kept ? &pairs[kept - 1] : NULL;

		if (pairs[i].a == pairs[i].b)
			continue;
		if (last && !by_ends(last, &pairs[i])) {
			last->weight += pairs[i].weight;
			last->messages += pairs[i].messages;
			last->bytes += pairs[i].bytes;
		} else {
			pairs[kept++] = pairs[i];
		}
	}
	g->ranks = ranks;
	g->first = calloc((size_t)ranks + 2, sizeof(*g->first));
	g->edge = malloc((2 * kept + 1) * sizeof(*g->edge));
	if (!g->first || !g->edge) {
		place_graph_free(g);
		return -1;
	}
	next = g->first + 1;		/* becomes first[], when each has moved to the end of its edges */
	for (uint64_t i = 0; i < kept; i++) {
		next[pairs[i].a + 1]++;
		next[pairs[i].b + 1]++;
	}
	for (uint32_t r = 0; r < ranks; r++)
		next[r + 1] += next[r];
	for (uint64_t i = 0; i < kept; i++) {
		const struct place_pair *p = &pairs[i];

		g->edge[next[p->a]++] = (struct place_edge){ p->b, p->weight, p->messages, p->bytes };
		g->edge[next[p->b]++] = (struct place_edge){ p->a, p->weight, p->messages, p->bytes };
	}
	return 0;
}

void place_graph_free(struct place_graph *g)
{
	free(g->first);
	free(g->edge);
	memset(g, 0, sizeof(*g));
}

int place_cut(const struct place_graph *g, const uint32_t *node_of, uint32_t nodes, struct place_cut *cut,
	      struct place_cut *all)
{
	int64_t *border = calloc((size_t)nodes + 1, sizeof(*border));

	if (!border)
		return -1;
	memset(cut, 0, sizeof(*cut));
	if (all)
		memset(all, 0, sizeof(*all));
	for (uint32_t r = 0; r < g->ranks; r++)
		for (uint64_t i = g->first[r]; i < g->first[r + 1]; i++) {
			const struct place_edge *e = &g->edge[i];
			struct place_cut *add[2] = { all, node_of[r] != node_of[e->to] ? cut : NULL };

			if (add[1])
				border[node_of[r]] += e->weight;
			for (int k = 0; k < 2 && r < e->to; k++) {
				if (!add[k])
					continue;
				add[k]->weight += e->weight;
				add[k]->edges++;
				add[k]->messages += e->messages;
				add[k]->bytes += e->bytes;
			}
		}
	for (uint32_t n = 0; n < nodes; n++)
		cut->busiest = border[n] > cut->busiest ? border[n] : cut->busiest;
	free(border);
	return 0;
}

void place_of_list(const uint32_t *list, uint32_t ranks, uint32_t per_node, uint32_t *node_of)
{
	for (uint32_t k = 0; k < ranks; k++)
		node_of[list[k]] = k / per_node;
}

void place_to_list(const uint32_t *node_of, uint32_t ranks, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t node = 0; n < ranks; node++)
		for (uint32_t r = 0; r < ranks; r++)
			if (node_of[r] == node)
				list[n++] = r;
}

/* ---- Kernighan and Lin ---- */

/* Room for one exchange series between two nodes, and the members of all nodes. */
struct kl {
	const struct place_graph *g;
	uint32_t *node_of, nodes;
	uint32_t *first, *member;	/* members of node n: member[first[n] .. first[n + 1] - 1] */
	uint32_t *at;			/* [ranks] index in member */
	int64_t *gain;			/* [ranks] outer less inner edges, of the two nodes only */
	int64_t *to;			/* [ranks] weight to the rank that is looked at; else all zero */
	bool *done;			/* [ranks] exchanged in this series */
	uint32_t (*swap)[2];		/* the series */
};

static void kl_free(struct kl *k)
{
	free(k->first);
	free(k->member);
	free(k->at);
	free(k->gain);
	free(k->to);
	free(k->done);
	free(k->swap);
}

static int kl_make(struct kl *k, const struct place_graph *g, uint32_t *node_of, uint32_t nodes)
{
	uint32_t n = g->ranks + 1, *next;

	*k = (struct kl){ .g = g, .node_of = node_of, .nodes = nodes };
	k->first = calloc((size_t)nodes + 2, sizeof(*k->first));
	k->member = calloc(n, sizeof(*k->member));
	k->at = calloc(n, sizeof(*k->at));
	k->gain = calloc(n, sizeof(*k->gain));
	k->to = calloc(n, sizeof(*k->to));
	k->done = calloc(n, sizeof(*k->done));
	k->swap = calloc(n, sizeof(*k->swap));
	if (!k->first || !k->member || !k->at || !k->gain || !k->to || !k->done || !k->swap) {
		kl_free(k);
		return -1;
	}
	next = k->first + 1;
	for (uint32_t r = 0; r < g->ranks; r++)
		next[node_of[r] + 1]++;
	for (uint32_t i = 0; i < nodes; i++)
		next[i + 1] += next[i];
	for (uint32_t r = 0; r < g->ranks; r++) {
		k->at[r] = next[node_of[r]];
		k->member[next[node_of[r]]++] = r;
	}
	return 0;
}

static void exchange(struct kl *k, uint32_t a, uint32_t b)
{
	uint32_t node = k->node_of[a], at = k->at[a];

	k->node_of[a] = k->node_of[b];
	k->node_of[b] = node;
	k->at[a] = k->at[b];
	k->at[b] = at;
	k->member[k->at[a]] = a;
	k->member[at] = b;
}

/* What moving @r from its one of the two nodes to the other one gains. */
static int64_t gain_of(const struct kl *k, uint32_t r, uint32_t other)
{
	int64_t gain = 0;

	for (uint64_t i = k->g->first[r]; i < k->g->first[r + 1]; i++) {
		const struct place_edge *e = &k->g->edge[i];

		if (k->node_of[e->to] == other)
			gain += e->weight;
		else if (k->node_of[e->to] == k->node_of[r])
			gain -= e->weight;
	}
	return gain;
}

/* The two whose exchange gains most: what it gains; INT64_MIN: all of one side are done. */
static int64_t choose(struct kl *k, uint32_t x, uint32_t y, uint32_t pick[2])
{
	int64_t best = INT64_MIN;

	for (uint32_t i = k->first[x]; i < k->first[x + 1]; i++) {
		uint32_t a = k->member[i];

		if (k->done[a])
			continue;
		for (uint64_t e = k->g->first[a]; e < k->g->first[a + 1]; e++)
			k->to[k->g->edge[e].to] = k->g->edge[e].weight;
		for (uint32_t j = k->first[y]; j < k->first[y + 1]; j++) {
			uint32_t b = k->member[j];
			int64_t gain;

			if (k->done[b])
				continue;
			gain = k->gain[a] + k->gain[b] - 2 * k->to[b];
			if (gain > best) {
				best = gain;
				pick[0] = a;
				pick[1] = b;
			}
		}
		for (uint64_t e = k->g->first[a]; e < k->g->first[a + 1]; e++)
			k->to[k->g->edge[e].to] = 0;
	}
	return best;
}

/* After an exchange: those who talk to @r, which has come from node @from, see it elsewhere. */
static void follow(struct kl *k, uint32_t r, uint32_t from)
{
	uint32_t now = k->node_of[r];

	for (uint64_t i = k->g->first[r]; i < k->g->first[r + 1]; i++) {
		const struct place_edge *e = &k->g->edge[i];

		if (k->node_of[e->to] == from)
			k->gain[e->to] += 2 * e->weight;
		else if (k->node_of[e->to] == now)
			k->gain[e->to] -= 2 * e->weight;
	}
}

/* One series between nodes @x and @y. */
static int64_t series(struct kl *k, uint32_t x, uint32_t y)
{
	const uint32_t node[2] = { x, y };
	int64_t sum = 0, best = 0;
	uint32_t n = 0, keep = 0;

	for (int s = 0; s < 2; s++)
		for (uint32_t i = k->first[node[s]]; i < k->first[node[s] + 1]; i++) {
			uint32_t r = k->member[i];

			k->done[r] = false;
			k->gain[r] = gain_of(k, r, node[!s]);
		}
	for (;;) {
		uint32_t pick[2] = { 0, 0 };
		int64_t gain = choose(k, x, y, pick);

		if (gain == INT64_MIN)
			break;
		sum += gain;
		exchange(k, pick[0], pick[1]);
		follow(k, pick[0], x);
		follow(k, pick[1], y);
		k->done[pick[0]] = k->done[pick[1]] = true;
		k->swap[n][0] = pick[0];
		k->swap[n++][1] = pick[1];
		if (sum > best) {
			best = sum;
			keep = n;
		}
	}
	while (n > keep) {
		n--;
		exchange(k, k->swap[n][0], k->swap[n][1]);
	}
	return best;
}

/* The nodes that @x talks to, in @list, each once: how many. @seen: [nodes], all false, and so again. */
static uint32_t partners(const struct kl *k, uint32_t x, bool *seen, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t i = k->first[x]; i < k->first[x + 1]; i++) {
		uint32_t r = k->member[i];

		for (uint64_t e = k->g->first[r]; e < k->g->first[r + 1]; e++) {
			uint32_t y = k->node_of[k->g->edge[e].to];

			if (y <= x || seen[y])
				continue;
			seen[y] = true;
			list[n++] = y;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		seen[list[i]] = false;
	return n;
}

int64_t place_refine(const struct place_graph *g, uint32_t *node_of, uint32_t nodes)
{
	bool *seen = calloc((size_t)nodes + 1, sizeof(*seen));
	uint32_t *list = calloc((size_t)nodes + 1, sizeof(*list));
	int64_t total = 0, sweep = 1;
	struct kl k;

	if (!seen || !list || kl_make(&k, g, node_of, nodes)) {
		free(seen);
		free(list);
		return -1;
	}
	while (sweep > 0) {		/* each sweep gains, so they end */
		sweep = 0;
		for (uint32_t x = 0; x < nodes; x++) {
			uint32_t n = partners(&k, x, seen, list);

			for (uint32_t i = 0; i < n; i++)
				sweep += series(&k, x, list[i]);
		}
		total += sweep;
	}
	kl_free(&k);
	free(seen);
	free(list);
	return total;
}

/* ---- beginnings ---- */

static uint32_t random_below(uint64_t *s, uint32_t n)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*s >> 33) % n);
}

/*
 * The next rank of a node: of those that have no node yet, the one that talks most to the node; among equals the one
 * that talks least to those outside, then the first.
 */
int place_grow(const struct place_graph *g, uint32_t per_node, uint64_t seed, uint32_t *node_of)
{
	int64_t *to = calloc((size_t)g->ranks + 1, sizeof(*to));	/* weight to the node that grows */
	int64_t *out = calloc((size_t)g->ranks + 1, sizeof(*out));	/* to ranks without a node */
	uint32_t start = seed ? random_below(&seed, g->ranks) : 0;

	if (!to || !out) {
		free(to);
		free(out);
		return -1;
	}
	for (uint32_t r = 0; r < g->ranks; r++) {
		node_of[r] = UINT32_MAX;
		for (uint64_t i = g->first[r]; i < g->first[r + 1]; i++)
			out[r] += g->edge[i].weight;
	}
	for (uint32_t n = 0; n < g->ranks; n++) {
		uint32_t best = UINT32_MAX;

		if (n % per_node == 0)
			memset(to, 0, g->ranks * sizeof(*to));
		for (uint32_t i = 0; i < g->ranks; i++) {
			uint32_t r = (start + i) % g->ranks;

			if (node_of[r] != UINT32_MAX)
				continue;
			if (best == UINT32_MAX || to[r] > to[best] || (to[r] == to[best] && out[r] < out[best]))
				best = r;
			if (!n)
				break;		/* the seed's */
		}
		node_of[best] = n / per_node;
		for (uint64_t i = g->first[best]; i < g->first[best + 1]; i++) {
			to[g->edge[i].to] += g->edge[i].weight;
			out[g->edge[i].to] -= g->edge[i].weight;
		}
	}
	free(to);
	free(out);
	return 0;
}

/* Exchange some ranks of different nodes at random. */
static void shake(const struct place_graph *g, uint32_t *node_of, uint64_t *seed)
{
	uint32_t times = 1 + g->ranks / 8;

	for (uint32_t i = 0; i < times; i++) {
		uint32_t a = random_below(seed, g->ranks), b = random_below(seed, g->ranks), t = node_of[a];

		node_of[a] = node_of[b];
		node_of[b] = t;
	}
}

int place_best(const struct place_graph *g, uint32_t per_node, uint32_t tries, uint64_t seed, uint32_t *node_of)
{
	uint32_t nodes = (g->ranks + per_node - 1) / per_node, *now = calloc((size_t)g->ranks + 1, sizeof(*now));
	struct place_cut best, cut;

	if (!now || place_refine(g, node_of, nodes) < 0 || place_cut(g, node_of, nodes, &best, NULL))
		goto err;
	for (uint32_t i = 0; i < 2 * tries && best.weight; i++) {
		if (i < tries) {
			if (place_grow(g, per_node, i ? seed + i : 0, now))
				goto err;
		} else {
			memcpy(now, node_of, g->ranks * sizeof(*now));
			shake(g, now, &seed);
		}
		if (place_refine(g, now, nodes) < 0 || place_cut(g, now, nodes, &cut, NULL))
			goto err;
		if (cut.weight < best.weight || (cut.weight == best.weight && cut.busiest < best.busiest)) {
			best = cut;
			memcpy(node_of, now, g->ranks * sizeof(*now));
		}
	}
	free(now);
	return 0;
err:
	free(now);
	return -1;
}

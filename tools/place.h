/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * place.h - which rank on which node: a job's traffic as a graph, what of it goes between nodes, and a partition that
 * leaves little there; for ptl_rank_order and grid_order
 *
 * Ranks are vertices; what two of them send each other, either way, is one edge. A placement is the node of each rank.
 * All placements that are compared fill the nodes with the same numbers of ranks.
 */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>
#include <stdint.h>

#define PLACE_RANKS_MAX 1048576

struct place_edge {
	uint32_t to;
	int64_t weight;			/* what the partition tries to keep within nodes */
	uint64_t messages, bytes;
};

struct place_graph {
	uint32_t ranks;
	uint64_t *first;		/* [ranks + 1] of its edges: each is there twice, once from either end */
	struct place_edge *edge;
};

/* One line of traffic: between @a and @b, in any direction. */
struct place_pair {
	uint32_t a, b;
	int64_t weight;
	uint64_t messages, bytes;
};

/*
 * @pairs in any order, with doubles (added up) and pairs of a rank with itself (left out); sorted here. 0, or
 * -1: no memory.
 */
int place_graph_make(struct place_graph *g, uint32_t ranks, struct place_pair *pairs, uint64_t n);
void place_graph_free(struct place_graph *g);

struct place_cut {
	int64_t weight;
	uint64_t edges, messages, bytes;
	int64_t busiest;		/* weight that crosses the border of the node where that is most */
};

/* What goes between the nodes of @node_of, and, with @all, what goes anywhere. 0, or -1: no memory. */
int place_cut(const struct place_graph *g, const uint32_t *node_of, uint32_t nodes, struct place_cut *cut,
	      struct place_cut *all);

/*
 * Ranks @list[0], @list[1], ... of an order file, on nodes of @per_node (the last one may have fewer): node of each.
 */
void place_of_list(const uint32_t *list, uint32_t ranks, uint32_t per_node, uint32_t *node_of);
/* The list that gives @node_of: node by node, ranks of a node in ascending order. */
void place_to_list(const uint32_t *node_of, uint32_t ranks, uint32_t *list);

/*
 * Make @node_of better, never worse: Kernighan and Lin's exchanges between all pairs of nodes until none helps. Node
 * sizes stay. @node_of: [ranks], in and out. Returns by how much the weight of the cut became less; -1: no memory.
 */
int64_t place_refine(const struct place_graph *g, uint32_t *node_of, uint32_t nodes);
/* A first one: nodes of @per_node are grown one after the other, each from a rank, by whoever talks most to it. */
int place_grow(const struct place_graph *g, uint32_t per_node, uint64_t seed, uint32_t *node_of);
/*
 * The best of several: @node_of (what there is already) refined, grown ones refined, and the best of these shaken and
 * refined again, @tries times. The same seed gives the same. 0, or -1: no memory.
 */
int place_best(const struct place_graph *g, uint32_t per_node, uint32_t tries, uint64_t seed, uint32_t *node_of);

#endif

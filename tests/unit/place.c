/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * place.c - tools/place.c and tools/grid.c: cuts are counted right, known best ones are found, nothing becomes
 * worse, and the library's own parser and methods see the same placement
 *
 * T_SEED=N: the same random choices again.
 */
#include "tap.h"

#include <stdbool.h>

#include "p3_order.h"
#include "p3_rt.h"
#include "../../tools/grid.h"
#include "../../tools/place.h"

enum { MAX = 4096 };

static struct place_pair pairs[MAX * 8];
static uint32_t node_of[MAX], other[MAX], list[MAX], next[2 * GRID_DIMS];
static struct place_graph g;
static struct place_cut cut, all;
static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static void smp(uint32_t ranks, uint32_t per_node)
{
	for (uint32_t r = 0; r < ranks; r++)
		node_of[r] = r / per_node;
}

/* Neighbours of a grid send each other one message of 10 bytes, each way. */
static bool of_grid(const struct grid *gr)
{
	uint32_t ranks = grid_ranks(gr);
	uint64_t n = 0;

	for (uint32_t r = 0; r < ranks; r++)
		for (unsigned k = grid_neighbours(gr, r, next); k-- > 0;)
			pairs[n++] = (struct place_pair){ r, next[k], 10, 1, 10 };
	return !place_graph_make(&g, ranks, pairs, n);
}

static bool sizes_kept(uint32_t ranks, uint32_t per_node)
{
	uint32_t count[MAX] = { 0 };
	bool good = true;

	for (uint32_t r = 0; r < ranks; r++)
		if (node_of[r] < MAX)
			count[node_of[r]]++;
	for (uint32_t n = 0; n * per_node < ranks; n++)
		good &= count[n] == (ranks - n * per_node < per_node ? ranks - n * per_node : per_node);
	return good;
}

static void t_the_cut_is_what_crosses_nodes(void)
{
	struct place_pair p[] = {
		{ 0, 1, 5, 1, 50 }, { 1, 0, 7, 2, 70 },		/* both ways: one edge */
		{ 2, 1, 11, 3, 110 }, { 3, 3, 100, 100, 100 },	/* with itself: nothing */
		{ 0, 3, 13, 4, 130 },
	};

	REQUIRE(!place_graph_make(&g, 4, p, 5));
	smp(4, 2);
	REQUIRE(!place_cut(&g, node_of, 2, &cut, &all));
	CHECK(cut.edges == 2 && cut.messages == 7 && cut.bytes == 240 && cut.weight == 24 && cut.busiest == 24);
	CHECK(all.edges == 3 && all.messages == 10 && all.bytes == 360 && all.weight == 36);
	CHECK_INT(place_refine(&g, node_of, 2), 12);	/* 0-1 and 2-3 is 24, 0-3 and 1-2 is 12, 0-2 and 1-3 is 36 */
	REQUIRE(!place_cut(&g, node_of, 2, &cut, NULL));
	CHECK(cut.weight == 12 && node_of[0] == node_of[3] && node_of[1] == node_of[2]);
	place_graph_free(&g);
}

/* From round-robin, which is worst, to the best that there is. */
static void t_known_grids_get_their_best_cut(void)
{
	static const struct {
		struct grid gr;
		uint32_t per_node;
		uint64_t best;		/* pairs of neighbours on different nodes */
	} known[] = {
		{ { .n = 1, .size = { 12 } }, 4, 2 },
		{ { .n = 1, .size = { 12 }, .wraps = { true } }, 4, 3 },
		{ { .n = 2, .size = { 4, 4 } }, 4, 8 },
		{ { .n = 2, .size = { 8, 8 } }, 16, 16 },
		{ { .n = 2, .size = { 8, 8 }, .first_fast = true }, 4, 48 },
		{ { .n = 2, .size = { 8, 8 }, .wraps = { true, true } }, 16, 32 },
		{ { .n = 3, .size = { 4, 4, 4 } }, 8, 48 },
		{ { .n = 3, .size = { 2, 2, 2 } }, 4, 4 },
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uint32_t ranks = grid_ranks(&known[i].gr), nodes = ranks / known[i].per_node;
		struct grid gr = known[i].gr;

		REQUIRE(of_grid(&gr));
		for (uint32_t r = 0; r < ranks; r++)
			node_of[r] = r % nodes;
		REQUIRE(!place_best(&g, known[i].per_node, 16, 1, node_of));
		REQUIRE(!place_cut(&g, node_of, nodes, &cut, NULL));
		CHECK_INT(cut.edges, known[i].best);
		CHECK(sizes_kept(ranks, known[i].per_node));
		/* the cells that grid_order would choose are as good */
		grid_choose_cell(&gr, known[i].per_node);
		REQUIRE(!grid_list(&gr, list));
		place_of_list(list, ranks, known[i].per_node, node_of);
		REQUIRE(!place_cut(&g, node_of, nodes, &cut, NULL));
		CHECK_INT(cut.edges, known[i].best);
		place_graph_free(&g);
	}
}

/* Groups that talk among themselves, spread over all nodes at random: found again, nothing is cut. */
static void t_hidden_groups_are_found(void)
{
	enum { RANKS = 96, EACH = 8 };
	uint32_t who[RANKS];
	uint64_t n = 0;

	for (uint32_t r = 0; r < RANKS; r++)
		who[r] = r;
	for (uint32_t r = RANKS; r-- > 1;) {
		uint32_t k = below(r + 1), t = who[r];

		who[r] = who[k];
		who[k] = t;
	}
	for (uint32_t i = 0; i < RANKS; i++)
		for (uint32_t j = 0; j < i; j++)
			if (i / EACH == j / EACH)
				pairs[n++] = (struct place_pair){ who[i], who[j], 1 + below(5), 1, 1 };
	REQUIRE(!place_graph_make(&g, RANKS, pairs, n));
	smp(RANKS, EACH);
	REQUIRE(!place_best(&g, EACH, 8, 1, node_of));
	REQUIRE(!place_cut(&g, node_of, RANKS / EACH, &cut, NULL));
	CHECK_INT(cut.edges, 0);
	place_graph_free(&g);
}

/* Whatever the traffic and the beginning; and what is said to be gained has been gained. */
static void t_random_traffic_is_never_made_worse(void)
{
	for (int i = 0; i < 200; i++) {
		uint32_t ranks = 1 + below(60), per_node = 1 + below(12), nodes = (ranks + per_node - 1) / per_node;
		uint64_t n = below(ranks * 6 + 1);
		struct place_cut before;
		int64_t gain;

		for (uint64_t k = 0; k < n; k++)
			pairs[k] = (struct place_pair){ below(ranks), below(ranks), below(1000), below(9), below(999) };
		REQUIRE(!place_graph_make(&g, ranks, pairs, n));
		smp(ranks, per_node);
		for (uint32_t k = 0; k < 3 * ranks; k++) {
			uint32_t a = below(ranks), b = below(ranks), t = node_of[a];

			node_of[a] = node_of[b];
			node_of[b] = t;
		}
		REQUIRE(!place_cut(&g, node_of, nodes, &before, NULL));
		gain = place_refine(&g, node_of, nodes);
		REQUIRE(!place_cut(&g, node_of, nodes, &cut, NULL));
		if (!CHECK(gain >= 0 && cut.weight + gain == before.weight && sizes_kept(ranks, per_node)))
			diag("ranks %u, per node %u, before %lld, gain %lld, after %lld", ranks, per_node,
			     (long long)before.weight, (long long)gain, (long long)cut.weight);
		before = cut;
		REQUIRE(!place_best(&g, per_node, 3, (uint64_t)i, node_of));
		REQUIRE(!place_cut(&g, node_of, nodes, &cut, NULL));
		CHECK(cut.weight <= before.weight && sizes_kept(ranks, per_node));
		place_graph_free(&g);
	}
}

/* Written as a file, read by the library, given to launch slots that fill nodes: the same node for each rank. */
static void t_the_library_sees_the_same_placement(void)
{
	for (int i = 0; i < 50; i++) {
		uint32_t ranks = 1 + below(100), per_node = 1 + below(16), order[100], parsed[100], slots[100];
		char text[1000], err[300], *at = text;
		bool same = true;

		smp(ranks, per_node);
		for (uint32_t k = 0; k < 3 * ranks; k++) {
			uint32_t a = below(ranks), b = below(ranks), t = node_of[a];

			node_of[a] = node_of[b];
			node_of[b] = t;
		}
		place_to_list(node_of, ranks, list);
		place_of_list(list, ranks, per_node, other);
		CHECK(!memcmp(node_of, other, ranks * sizeof(*other)));
		for (uint32_t r = 0; r < ranks; r++) {
			at += sprintf(at, "%u%c", list[r], r % 7 ? ',' : '\n');
			slots[r] = r / per_node;
		}
		REQUIRE(!p3_order_parse("order", text, (size_t)(at - text), ranks, parsed, err, sizeof(err)));
		CHECK(!memcmp(parsed, list, ranks * sizeof(*list)));
		FILE *f = fopen("order", "w");
		REQUIRE(f && fputs(text, f) >= 0 && !fclose(f));
		REQUIRE(!p3_rt_reorder(3, "order", slots, ranks, order, err, sizeof(err)));
		for (uint32_t s = 0; s < ranks; s++)
			same &= node_of[order[s]] == slots[s];
		CHECK(same);
	}
}

static unsigned apart(const struct grid *gr, uint32_t a, uint32_t b)
{
	uint32_t x[GRID_DIMS], y[GRID_DIMS];
	unsigned sum = 0;

	grid_at(gr, a, x);
	grid_at(gr, b, y);
	for (unsigned d = 0; d < gr->n; d++)
		sum += x[d] > y[d] ? x[d] - y[d] : y[d] - x[d];
	return sum;
}

/* Every rank once, whatever the grid; ranks of a cell together. */
static void t_a_list_has_every_rank_once(void)
{
	for (int i = 0; i < 300; i++) {
		struct grid gr = { .n = 1 + below(4), .walk = (enum grid_walk)below(3), .first_fast = below(2) };
		bool seen[MAX] = { false }, good = true;
		uint32_t ranks;

		for (unsigned d = 0; d < gr.n; d++) {
			gr.size[d] = 1 + below(7);
			gr.cell[d] = 1 + below(gr.size[d]);
		}
		ranks = grid_ranks(&gr);
		REQUIRE(!grid_list(&gr, list));
		for (uint32_t k = 0; k < ranks; k++) {
			good &= list[k] < ranks && !seen[list[k]];
			seen[list[k] < ranks ? list[k] : 0] = true;
		}
		CHECK(good);
	}
}

/*
 * From cell to cell of one rank each: the snake always, Hilbert's curve in cubes of powers of two, go to a
 * neighbour.
 */
static void t_consecutive_cells_are_neighbours(void)
{
	static const struct grid of[] = {
		{ .n = 2, .size = { 5, 7 }, .walk = GRID_SNAKE }, { .n = 3, .size = { 3, 4, 5 }, .walk = GRID_SNAKE },
		{ .n = 4, .size = { 3, 2, 3, 4 }, .walk = GRID_SNAKE, .first_fast = true },
		{ .n = 2, .size = { 8, 8 }, .walk = GRID_HILBERT },
		{ .n = 3, .size = { 8, 8, 8 }, .walk = GRID_HILBERT },
		{ .n = 4, .size = { 4, 4, 4, 4 }, .walk = GRID_HILBERT },
		{ .n = 1, .size = { 9 }, .walk = GRID_HILBERT },
	};

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct grid gr = of[i];
		unsigned most = 0;

		for (unsigned d = 0; d < gr.n; d++)
			gr.cell[d] = 1;
		REQUIRE(!grid_list(&gr, list));
		for (uint32_t k = 1; k < grid_ranks(&gr); k++)
			most = apart(&gr, list[k - 1], list[k]) > most ? apart(&gr, list[k - 1], list[k]) : most;
		if (!CHECK_INT(most, 1))
			diag("grid %u", i);
	}
}

static void t_rows_and_columns(void)
{
	static const uint32_t rows[] = { 0, 1, 4, 5, 2, 3, 6, 7 }, columns[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct grid gr = { .n = 2, .size = { 2, 4 }, .cell = { 2, 2 } };

	REQUIRE(!grid_list(&gr, list));
	CHECK(!memcmp(list, rows, sizeof(rows)));
	gr.first_fast = true;		/* (0,0) (1,0) (0,1) ... are 0, 1, 2 */
	REQUIRE(!grid_list(&gr, list));
	CHECK(!memcmp(list, columns, sizeof(columns)));
	CHECK_INT(grid_neighbours(&gr, 0, next), 2);
	gr.wraps[0] = gr.wraps[1] = true;	/* of two, the other is a neighbour once; of four, there are two */
	CHECK_INT(grid_neighbours(&gr, 0, next), 3);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_the_cut_is_what_crosses_nodes), T(t_known_grids_get_their_best_cut), T(t_hidden_groups_are_found),
		T(t_random_traffic_is_never_made_worse), T(t_the_library_sees_the_same_placement),
		T(t_a_list_has_every_rank_once), T(t_consecutive_cells_are_neighbours), T(t_rows_and_columns), { 0 }
	};

	seed = getenv("T_SEED") ? strtoull(getenv("T_SEED"), NULL, 0) : 20260101;
	diag("T_SEED=%llu", (unsigned long long)seed);
	return t_run(cases);
}

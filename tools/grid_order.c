/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * grid_order - write an order of ranks for programs whose ranks are a grid and talk to their neighbours
 *
 * Options and output are those of Cray's tool of this name, as far as they make sense here (grid_order(1) has what
 * differs): the grid is cut into cells, the ranks of a cell stand next to each other in the order, so they get
 * one node. In comments it says what that leaves between nodes, and what it would be without.
 */
#include "grid.h"
#include "place.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *f)
{
	fprintf(f, "Usage: grid_order -R|-C [-Z|-P|-H] -g N1,N2,... [-c n1,n2,...] [-N RANKS] [options] "
		">MPICH_RANK_ORDER\n"
		"An order of ranks for MPICH_RANK_REORDER_METHOD=3: neighbours in a grid of ranks share a node.\n"
		"  -R, --row-major       the last coordinate changes fastest from rank to rank (MPI_Cart_create)\n"
		"  -C, --column-major    the first one does (Fortran)\n"
		"  -g, --grid N1,N2,...  the grid, up to %d dimensions\n"
		"  -c, --cell n1,n2,...  the cells that it is cut into; default: the best for -N\n"
		"  -N, --ranks-per-node  ranks that a node takes; default: those of a cell\n"
		"  -Z, -P, -H            from cell to cell: row by row (default), to and fro, along a Hilbert curve\n"
		"  -p, --periodic[=0,1]  the grid is a torus, in all dimensions or those with 1: counts for the\n"
		"                        comments and the choice of a cell\n"
		"  -m, --max MAX         ranks in all, if there are more than in the grid: they follow as they are\n"
		"  -s, --start RANK      the grid begins at this rank\n"
		"  -n, --per-line RANKS  ranks on a line of the output; default: those of a node\n"
		"  -q, --quiet           no comments\n"
		"  -h, --help            this text\n", GRID_DIMS);
}

static void bad(const char *fmt, const char *arg)
{
	fprintf(stderr, "grid_order: ");
	fprintf(stderr, fmt, arg);
	fprintf(stderr, "\n");
	exit(2);
}

/* Numbers from @min on, separated by commas or x, to @v, at most GRID_DIMS: how many. */
static unsigned numbers(const char *opt, const char *s, unsigned long min, uint32_t *v)
{
	const char *all = s;
	unsigned n = 0;
	char *end;

	for (;; s = end + 1) {
		unsigned long x;

		errno = 0;
		x = isdigit((unsigned char)*s) ? strtoul(s, &end, 10) : (end = NULL, 0);
		if (!end || errno || x < min || x > PLACE_RANKS_MAX || n == GRID_DIMS ||
		    (*end && *end != ',' && *end != 'x')) {
			fprintf(stderr, "grid_order: %s %s: wants up to %d numbers from %lu to %d, with commas "
				"between them\n",
				opt, all, GRID_DIMS, min, PLACE_RANKS_MAX);
			exit(2);
		}
		v[n++] = (uint32_t)x;
		if (!*end)
			return n;
	}
}

static uint32_t one_number(const char *opt, const char *s, unsigned long min)
{
	uint32_t v[GRID_DIMS];

	if (numbers(opt, s, min, v) != 1)
		bad("%s: wants one number", opt);
	return v[0];
}

/* Pairs of neighbours, as traffic of one message each. */
static int graph(const struct grid *g, uint32_t start, uint32_t ranks, struct place_graph *out)
{
	uint32_t n = grid_ranks(g), next[2 * GRID_DIMS];
	struct place_pair *p = malloc(((size_t)n * 2 * GRID_DIMS + 1) * sizeof(*p));
	uint64_t pairs = 0;
	int rc;

	if (!p)
		return -1;
	for (uint32_t r = 0; r < n; r++) {
		unsigned k = grid_neighbours(g, r, next);

		while (k-- > 0)
			if (next[k] > r)
				p[pairs++] = (struct place_pair){ start + r, start + next[k], 1, 1, 0 };
	}
	rc = place_graph_make(out, ranks, p, pairs);
	free(p);
	return rc;
}

/* What the order does, as comments. */
static int comment(const struct grid *g, uint32_t start, uint32_t ranks, uint32_t per_node, const uint32_t *list)
{
	uint32_t *node_of = malloc(((size_t)ranks + 1) * sizeof(*node_of)), nodes = (ranks + per_node - 1) / per_node;
	struct place_cut before, after, all;
	struct place_graph pg = { 0 };
	int rc = -1;

	if (!node_of || graph(g, start, ranks, &pg))
		goto out;
	place_of_list(list, ranks, per_node, node_of);
	if (place_cut(&pg, node_of, nodes, &after, &all))
		goto out;
	for (uint32_t r = 0; r < ranks; r++)
		node_of[r] = r / per_node;
	if (place_cut(&pg, node_of, nodes, &before, NULL))
		goto out;
	printf("# grid_order: grid");
	for (unsigned d = 0; d < g->n; d++)
		printf("%c%u%s", d ? 'x' : ' ', g->size[d], g->wraps[d] ? "~" : "");
	printf(", %s-major, cells of", g->first_fast ? "column" : "row");
	for (unsigned d = 0; d < g->n; d++)
		printf("%c%u", d ? 'x' : ' ', g->cell[d]);
	printf(", %s, nodes of %u ranks\n", g->walk == GRID_ROWS ? "row by row" : g->walk == GRID_SNAKE ? "to and fro" :
	       "Hilbert", per_node);
	printf("# pairs of neighbours on different nodes: %llu of %llu; without this order %llu\n",
	       (unsigned long long)after.edges, (unsigned long long)all.edges, (unsigned long long)before.edges);
	rc = 0;
out:
	place_graph_free(&pg);
	free(node_of);
	return rc;
}

static void write_list(const uint32_t *list, uint32_t n, uint32_t per_line)
{
	for (uint32_t i = 0; i < n; i++)
		printf("%u%s", list[i], i + 1 == n || (i + 1) % per_line == 0 ? "\n" : ",");
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "row-major", 0, NULL, 'R' }, { "column-major", 0, NULL, 'C' }, { "grid", 1, NULL, 'g' },
		{ "cell", 1, NULL, 'c' }, { "ranks-per-node", 1, NULL, 'N' }, { "periodic", 2, NULL, 'p' },
		{ "max", 1, NULL, 'm' }, { "start", 1, NULL, 's' }, { "per-line", 1, NULL, 'n' }, 
		{ "quiet", 0, NULL, 'q' }, { "help", 0, NULL, 'h' }, { 0 }
	};
	uint32_t wraps[GRID_DIMS], start = 0, max = 0, per_line = 0, per_node = 0, *list, n = 0;
	unsigned nc = 0, np = 0, major = 0;
	bool quiet = false, torus = false;
	struct grid g = { 0 };
	uint64_t ranks = 1, in_cell = 1;
	int c;

	while ((c = getopt_long(argc, argv, "RCg:c:N:ZPHp::m:s:n:qh", longs, NULL)) != -1) {
		switch (c) {
		case 'R':
		case 'C':
			major |= c == 'R' ? 1 : 2;
			g.first_fast = c == 'C';
			break;
		case 'g': g.n = numbers("-g", optarg, 1, g.size); break;
		case 'c': nc = numbers("-c", optarg, 1, g.cell); break;
		case 'N': per_node = one_number("-N", optarg, 1); break;
		case 'Z': g.walk = GRID_ROWS; break;
		case 'P': g.walk = GRID_SNAKE; break;
		case 'H': g.walk = GRID_HILBERT; break;
		case 'p':
			torus = true;
			np = optarg ? numbers("-p", optarg, 0, wraps) : 0;
			break;
		case 'm': max = one_number("-m", optarg, 1); break;
		case 's': start = one_number("-s", optarg, 0); break;
		case 'n': per_line = one_number("-n", optarg, 1); break;
		case 'q': quiet = true; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	}
	if (optind < argc)
		bad("'%s': there are no arguments but options", argv[optind]);
	if (!g.n)
		bad("%s", "-g N1,N2,...: which grid?");
	if (major != 1 && major != 2)
		bad("%s", "either -R (the last coordinate changes fastest) or -C (the first one)");
	if (nc && nc != g.n)
		bad("%s", "-c: has not as many dimensions as -g");
	if (np && np != g.n)
		bad("%s", "-p: has not as many dimensions as -g");
	if (!nc && !per_node && g.walk != GRID_HILBERT)
		bad("%s", "-c or -N: how many ranks does a node take?");
	for (unsigned d = 0; d < g.n; d++) {
		ranks *= g.size[d];
		g.wraps[d] = torus && (!np || wraps[d]);
		if (nc && g.cell[d] > g.size[d])
			bad("%s", "-c: a cell is larger than the grid");
		if (ranks > PLACE_RANKS_MAX)
			bad("%s", "-g: more than a million ranks");
	}
	if (start + ranks > PLACE_RANKS_MAX || (max && start + ranks > max))
		bad("%s", "-m, -s: the grid does not end before the last rank");
	if (!max)
		max = start + (uint32_t)ranks;
	if (!nc && per_node)
		grid_choose_cell(&g, per_node);
	for (unsigned d = 0; d < g.n; d++) {
		g.cell[d] = g.cell[d] ? g.cell[d] : 1;
		in_cell *= g.cell[d];
	}
	per_node = per_node ? per_node : (uint32_t)in_cell;
	list = malloc(((size_t)max + 1) * sizeof(*list));
	c = list ? grid_list(&g, list + start) : -1;
	if (c == GRID_TOO_LONG)
		bad("%s", "-H: the grid has too many dimensions for its longest one");
	if (c)
		goto no_memory;
	for (n = 0; n < max; n++)
		list[n] = n >= start && n < start + ranks ? list[n] + start : n;
	if (!quiet && comment(&g, start, max, per_node, list))
		goto no_memory;
	write_list(list, max, per_line ? per_line : per_node);
	free(list);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "grid_order: %s\n", strerror(errno));
		return 1;
	}
	return 0;
no_memory:
	free(list);
	fprintf(stderr, "grid_order: no memory for %u ranks\n", max);
	return 1;
}

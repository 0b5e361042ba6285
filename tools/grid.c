/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * grid.c - ranks of a Cartesian grid, listed cell by cell: grid.h
 *
 * A number becomes coordinates and back by mixed radix, the fastest dimension last; column-major grids are turned
 * round for that. The snake is the reflected form of the same (each dimension runs backwards where the sum of
 * the slower digits is odd), so consecutive cells are always neighbours. The Hilbert curve is that of the power
 * of two around the grid of cells, without the points outside: Skilling's transformation of the axes into the
 * curve's index.
 */
#include "grid.h"

#include <stdlib.h>
#include <string.h>

/* The k-th dimension counted from the slowest. */
static unsigned dim(const struct grid *g, unsigned k)
{
	return g->first_fast ? g->n - 1 - k : k;
}

uint32_t grid_ranks(const struct grid *g)
{
	uint32_t n = 1;

	for (unsigned d = 0; d < g->n; d++)
		n *= g->size[d];
	return n;
}

uint32_t grid_rank(const struct grid *g, const uint32_t *at)
{
	uint32_t r = 0;

	for (unsigned k = 0; k < g->n; k++)
		r = r * g->size[dim(g, k)] + at[dim(g, k)];
	return r;
}

static void split(const struct grid *g, uint32_t number, const uint32_t *size, uint32_t *at)
{
	for (unsigned k = g->n; k-- > 0;) {
		at[dim(g, k)] = number % size[dim(g, k)];
		number /= size[dim(g, k)];
	}
}

void grid_at(const struct grid *g, uint32_t rank, uint32_t *at)
{
	split(g, rank, g->size, at);
}

/* Turn each digit round where the slower ones, as they stand, have an odd sum. */
static void reflect(const struct grid *g, const uint32_t *size, uint32_t *at)
{
	uint32_t sum = 0;

	for (unsigned k = 0; k < g->n; k++) {
		unsigned d = dim(g, k);

		if (sum & 1)
			at[d] = size[d] - 1 - at[d];
		sum += at[d];
	}
}

/* The ranks of the cell at @c, to @list: how many. */
static uint32_t cell_ranks(const struct grid *g, const uint32_t *c, uint32_t *list)
{
	uint32_t size[GRID_DIMS], at[GRID_DIMS], n = 1;

	for (unsigned d = 0; d < g->n; d++) {
		uint32_t from = c[d] * g->cell[d], rest = g->size[d] - from;

		size[d] = rest < g->cell[d] ? rest : g->cell[d];
		n *= size[d];
	}
	for (uint32_t i = 0; i < n; i++) {
		split(g, i, size, at);
		for (unsigned d = 0; d < g->n; d++)
			at[d] += c[d] * g->cell[d];
		list[i] = grid_rank(g, at);
	}
	return n;
}

struct point {
	uint64_t index;
	uint32_t cell;
};

static int by_index(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

/* The index of @x, which is used up, on the Hilbert curve of 2^bits in each of n dimensions. */
static uint64_t hilbert_index(uint32_t *x, unsigned n, unsigned bits)
{
	uint64_t index = 0;
	uint32_t t = 0;

	for (unsigned b = bits - 1; b > 0; b--) {
		uint32_t q = 1u << b, low = q - 1;

		for (unsigned i = 0; i < n; i++)
			if (x[i] & q) {
				x[0] ^= low;
			} else {
				uint32_t u = (x[0] ^ x[i]) & low;

				x[0] ^= u;
				x[i] ^= u;
			}
	}
	for (unsigned i = 1; i < n; i++)
		x[i] ^= x[i - 1];
	for (unsigned b = bits - 1; b > 0; b--)
		if (x[n - 1] >> b & 1)
			t ^= (1u << b) - 1;
	for (unsigned i = 0; i < n; i++)
		x[i] ^= t;
	for (unsigned b = bits; b-- > 0;)
		for (unsigned i = 0; i < n; i++)
			index = index << 1 | (x[i] >> b & 1);
	return index;
}

int grid_list(const struct grid *g, uint32_t *list)
{
	uint32_t cells[GRID_DIMS], at[GRID_DIMS], all = 1, n = 0, most = 1;
	struct point *p = NULL;
	unsigned bits = 1;

	for (unsigned d = 0; d < g->n; d++) {
		cells[d] = (g->size[d] + g->cell[d] - 1) / g->cell[d];
		all *= cells[d];
		most = cells[d] > most ? cells[d] : most;
	}
	while (bits < 32 && 1u << bits < most)
		bits++;
	if (g->walk == GRID_HILBERT && g->n * bits > 64)
		return GRID_TOO_LONG;
	if (g->walk == GRID_HILBERT) {
		p = malloc(all * sizeof(*p));
		if (!p)
			return -1;
		for (uint32_t i = 0; i < all; i++) {
			split(g, i, cells, at);
			p[i] = (struct point){ g->n > 1 ? hilbert_index(at, g->n, bits) : at[0], i };
		}
		qsort(p, all, sizeof(*p), by_index);
	}
	for (uint32_t i = 0; i < all; i++) {
		split(g, p ? p[i].cell : i, cells, at);
		if (g->walk == GRID_SNAKE)
			reflect(g, cells, at);
		n += cell_ranks(g, at, list + n);
	}
	free(p);
	return 0;
}

unsigned grid_neighbours(const struct grid *g, uint32_t rank, uint32_t *next)
{
	uint32_t at[GRID_DIMS];
	unsigned n = 0;

	grid_at(g, rank, at);
	for (unsigned d = 0; d < g->n; d++) {
		uint32_t here = at[d], last = g->size[d] - 1;

		if (here > 0 || (g->wraps[d] && last > 1)) {	/* of two, one is the other's neighbour once */
			at[d] = here ? here - 1 : last;
			next[n++] = grid_rank(g, at);
		}
		if (here < last || (g->wraps[d] && last > 1)) {
			at[d] = here < last ? here + 1 : 0;
			next[n++] = grid_rank(g, at);
		}
		at[d] = here;
	}
	return n;
}

/* Pairs of neighbours with a border of cells between them, as a share of the ranks: what is to be small. */
static double cost(const struct grid *g, const uint32_t *cell)
{
	double faces = 0;

	for (unsigned d = 0; d < g->n; d++) {
		double pieces = (double)((g->size[d] + cell[d] - 1) / cell[d]);

		if (cell[d] < g->size[d])	/* planes between cells; one more where it wraps */
			faces += (pieces - !(g->wraps[d] && g->size[d] > 2)) / g->size[d];
	}
	return faces;
}

struct search {
	const struct grid *g;
	uint32_t cell[GRID_DIMS], best[GRID_DIMS];
	double least;			/* negative: none found yet */
};

/* All cells of exactly @left ranks in the dimensions from @d on. */
static void search(struct search *s, unsigned d, uint32_t left)
{
	double c;

	if (d + 1 < s->g->n) {
		for (uint32_t k = 1; k <= left && k <= s->g->size[d]; k++)
			if (left % k == 0 && s->g->size[d] % k == 0) {
				s->cell[d] = k;
				search(s, d + 1, left / k);
			}
		return;
	}
	if (left > s->g->size[d] || s->g->size[d] % left)
		return;
	s->cell[d] = left;
	c = cost(s->g, s->cell);
	if (s->least < 0 || c < s->least) {
		s->least = c;
		memcpy(s->best, s->cell, sizeof(s->best));
	}
}

void grid_choose_cell(struct grid *g, uint32_t ranks)
{
	struct search s = { .g = g, .least = -1 };

	for (uint32_t n = ranks; n > 0 && s.least < 0; n--) {
		/* smaller ones only where nodes still hold a whole number of them; 1 always will do */
		if (ranks % n == 0)
			search(&s, 0, n);
	}
	memcpy(g->cell, s.best, sizeof(g->cell));
}

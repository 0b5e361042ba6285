/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* grid.h - ranks of a Cartesian grid, listed cell by cell; for grid_order */
#ifndef GRID_H
#define GRID_H

#include <stdbool.h>
#include <stdint.h>

#define GRID_DIMS 8

enum grid_walk { GRID_ROWS, GRID_SNAKE, GRID_HILBERT };

struct grid {
	unsigned n;			/* dimensions */
	uint32_t size[GRID_DIMS];	/* in ranks */
	uint32_t cell[GRID_DIMS];	/* of one cell; those at the border may be smaller */
	bool wraps[GRID_DIMS];		/* the last is the first one's neighbour */
	bool first_fast;		/* column-major: the first coordinate changes fastest from rank to rank */
	enum grid_walk walk;		/* from cell to cell */
};

uint32_t grid_ranks(const struct grid *g);
uint32_t grid_rank(const struct grid *g, const uint32_t *at);
void grid_at(const struct grid *g, uint32_t rank, uint32_t *at);
/* The ranks, cell by cell. 0; -1: no memory; GRID_TOO_LONG: the curve's index has more than 64 bits. */
#define GRID_TOO_LONG (-2)
int grid_list(const struct grid *g, uint32_t *list);
/* Neighbours of @rank, at most 2 * GRID_DIMS, none twice: how many. */
unsigned grid_neighbours(const struct grid *g, uint32_t rank, uint32_t *next);
/*
 * A cell of at most @ranks ranks, dividing the grid where one of @ranks does, that has as few neighbours
 * outside as any.
 */
void grid_choose_cell(struct grid *g, uint32_t ranks);

#endif

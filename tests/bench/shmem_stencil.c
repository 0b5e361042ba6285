/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_stencil - Jacobi steps of a 5-point stencil; each PE has some rows and puts its outer ones to its neighbours
 *
 *   stencil          ns for a step: exchange of rows and computation
 *   stencil_alone    the same rows by one PE without neighbours, the others sleep: the computation
 * for a square of doubles, of so many bytes, on each PE. The result of all steps is compared with a computation by one
 * PE, bit by bit. Options: --json, --quick
 */
#include "shmem_bench.h"

static double *grid[2];			/* symmetric: rows + 2 for the neighbours', width + 2 columns */
static long *came;			/* symmetric: [0] steps whose row from above is there, [1] from below */
static int rows, width;

static double *row(double *g, int r)
{
	return g + (size_t)r * (size_t)(width + 2);
}

static void compute(const double *from, double *to, int n)
{
	for (int r = 1; r <= n; r++) {
		const double *a = from + (size_t)(r - 1) * (size_t)(width + 2), *b = a + width + 2, *c = b + width + 2;
		double *d = to + (size_t)r * (size_t)(width + 2);

		for (int x = 1; x <= width; x++)
			d[x] = 0.2 * (b[x] + a[x] + c[x] + b[x - 1] + b[x + 1]);
	}
}

/* Row @r of all, at the start. */
static void first(double *g, int r)
{
	for (int x = 0; x < width + 2; x++)
		g[x] = x && x <= width ? (double)((r * 131 + x * 7) % 1000) : 0;
}

/*
 * Our outer rows to the neighbours, and theirs to us. Two grids in turn: a neighbour can be one step ahead, and then
 * writes into the one that we have read.
 */
static void exchange(double *g, long step)
{
	size_t bytes = (size_t)width * sizeof(double);

	if (me > 0)
		shmem_putmem(row(g, rows + 1) + 1, row(g, 1) + 1, bytes, me - 1);
	if (me < n_pes - 1)
		shmem_putmem(row(g, 0) + 1, row(g, rows) + 1, bytes, me + 1);
	shmem_fence();
	if (me > 0)
		shmem_long_p(&came[1], step, me - 1);
	if (me < n_pes - 1)
		shmem_long_p(&came[0], step, me + 1);
	if (me > 0)
		shmem_long_wait_until(&came[0], SHMEM_CMP_GE, step);
	if (me < n_pes - 1)
		shmem_long_wait_until(&came[1], SHMEM_CMP_GE, step);
}

static void verify(int steps)
{
	size_t line = (size_t)(width + 2), all = (size_t)(rows * n_pes + 2);
	double *a = calloc(all, line * sizeof(*a)), *b = calloc(all, line * sizeof(*b));
	double *got = malloc(line * sizeof(*got));

	if (!a || !b || !got)
		bench_die("shmem_stencil: out of memory");
	for (int r = 0; r < rows * n_pes; r++)
		first(a + (size_t)(r + 1) * line, r);
	for (int s = 0; s < steps; s++) {
		double *t = a;

		compute(a, b, rows * n_pes);
		a = b;
		b = t;
	}
	for (int r = 0; r < rows * n_pes; r++) {
		shmem_getmem(got, row(grid[steps & 1], r % rows + 1), line * sizeof(*got), r / rows);
		if (memcmp(got + 1, a + (size_t)(r + 1) * line + 1, (size_t)width * sizeof(*got)))
			bench_die("shmem_stencil: row %d of %d x %d is wrong after %d steps", r, rows * n_pes, width,
				  steps);
	}
	free(a);
	free(b);
	free(got);
}

static void measure(int n, int steps)
{
	double t, together, alone[3];

	rows = width = n;
	for (int g = 0; g < 2; g++)
		grid[g] = bench_shmem_room((size_t)(rows + 2) * (size_t)(width + 2) * sizeof(double));
	came[0] = came[1] = 0;
	for (int r = 0; r < rows; r++)
		first(row(grid[0], r + 1), me * rows + r);
	shmem_barrier_all();
	t = bench_now_ns();
	for (int s = 0; s < steps; s++) {
		exchange(grid[s & 1], s + 1);
		compute(grid[s & 1], grid[!(s & 1)], rows);
	}
	together = (bench_now_ns() - t) / steps;
	shmem_barrier_all();
	if (me == 0) {
		verify(steps);
		for (int r = 0; r < 3; r++) {
			t = bench_now_ns();
			for (int s = 0; s < steps / 4 + 1; s++)
				compute(grid[s & 1], grid[!(s & 1)], rows);
			alone[r] = (bench_now_ns() - t) / (steps / 4 + 1);
		}
		bench_record("stencil", (size_t)n * (size_t)n * 8, together, "ns");
		bench_record("stencil_alone", (size_t)n * (size_t)n * 8, bench_median(alone, 3), "ns");
	}
	shmem_barrier_all();
	shmem_free(grid[1]);
	shmem_free(grid[0]);
}

int main(int argc, char **argv)
{
	int rc = bench_shmem_start(argc, argv, 0, "");

	if (rc)
		return rc;
	came = bench_shmem_room(4096);
	if (me == 0)
		bench_begin("shmem_stencil", bench_flag(argc, argv, "--json"));
	for (int n = 32; n <= (quick ? 64 : 1024); n *= 2)
		measure(n, quick ? 9 : n < 256 ? 2001 : n < 1024 ? 201 : 51);
	if (me == 0)
		bench_end();
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart_stencil - the paper's 5-point stencil: N x N floats, rows split evenly, halo rows by blocking puts
 *
 *   stencil        ns for an iteration: sweep (Gauss-Seidel within a unit) and exchange, dart_put_blocking
 *   mpi_stencil    the same by MPI_Put and MPI_Win_flush, in the same run
 * of a grid of so many bytes, 64 x 64 and 1024 x 1024, a fixed number of iterations. A neighbour says by a put of its
 * number that an iteration's row is there; halo rows are double, as it may be one ahead. Every float is compared with a
 * computation by one unit of what all do. Options: --json, --quick
 */
#include "dart_bench.h"

static int width, rows;
static size_t line;			/* floats of a row with its borders */
static float *grid;			/* own part: rows + 2, private */
static float *halo;			/* [step & 1][0 from above, 1 from below][line], then the two flags: global */
static dart_gptr_t mem;
static MPI_Win win;
static int by_mpi;

#define FLAG(side)							\
	((_Atomic int64_t *)(void *)((char *)halo + 4 * line * sizeof(float) + 64 * (size_t)(side) + 64))

static size_t part_bytes(void)
{
	return 4 * line * sizeof(float) + 256;
}

static void put(int to, size_t off, const void *from, size_t n)
{
	dart_gptr_t p = mem;

	if (by_mpi) {
		MPI_Put(from, (int)n, MPI_BYTE, to, (MPI_Aint)off, (int)n, MPI_BYTE, win);
		MPI_Win_flush(to, win);
		return;
	}
	p.unitid = to;
	p.addr_or_offs.offset = off;
	dart_put_blocking(p, (void *)(uintptr_t)from, n);
}

static void wait_for(int side, int64_t step)
{
	int flag;

	for (unsigned i = 1; atomic_load_explicit(FLAG(side), memory_order_acquire) < step; i++) {
		if (i % 64)
			continue;
		if (by_mpi)
			MPI_Win_sync(win);
		/* MPI may need this to make progress at all; who shares a core gives it up */
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		if (i % 4096 == 0)
			sched_yield();
	}
}

static void exchange(int64_t step)
{
	size_t bytes = line * sizeof(float), at = (size_t)(step & 1) * 2 * bytes;
	int up = me - 1, down = me + 1 < units ? me + 1 : -1;

	if (up >= 0) {
		put(up, at + bytes, grid + line, bytes);
		put(up, 4 * bytes + 128, &step, 8);
	}
	if (down >= 0) {
		put(down, at, grid + (size_t)rows * line, bytes);
		put(down, 4 * bytes + 64, &step, 8);
	}
	if (up >= 0) {
		wait_for(0, step);
		memcpy(grid, (char *)halo + at, bytes);
	}
	if (down >= 0) {
		wait_for(1, step);
		memcpy(grid + (size_t)(rows + 1) * line, (char *)halo + at + bytes, bytes);
	}
}

static inline float point(float above, float left, float below, float right)
{
	return 0.25f * ((below + right) + (above + left));
}

/* Row by row: what is checked against. */
static void plain_sweep(float *g, int n)
{
	for (int r = 1; r <= n; r++) {
		float *a = g + (size_t)(r - 1) * line, *b = a + line, *c = b + line;

		for (int x = 1; x <= width; x++)
			b[x] = point(a[x], b[x - 1], c[x], b[x + 1]);
	}
}

/*
 * The same order of what depends on what, and the same floats: each of BAND rows is one point behind the row above,
 * so that so many sums are under way at once. Row by row each point would wait for the one before, and on two units
 * the sweep would be nearly all of the time.
 */
#define BAND	8

/* Where not all rows have begun, or some are done. @last: [k]: what row k got last; [k - 1] at that time: above it */
static void band_corner(float *a, float *last, int from, int to)
{
	for (int s = from; s <= to; s++) {
		last[0] = a[s];		/* beyond the end: of no use, but there */
		for (int k = s < BAND ? s : BAND; k >= 1 && s - k < width; k--) {
			float *b = a + (size_t)k * line + (s - k + 1);

			*b = last[k] = point(last[k - 1], s > k ? last[k] : b[-1], b[line], b[1]);
		}
	}
}

static void band_middle(float *a, float *last)
{
	float v[BAND + 1];	/* in registers */

	memcpy(v, last, sizeof(v));
	for (int s = BAND + 1; s <= width; s++) {
		v[0] = a[s];
#pragma GCC unroll 8
		for (int k = BAND; k >= 1; k--) {
			float *b = a + (size_t)k * line + (s - k + 1);

			*b = v[k] = point(v[k - 1], v[k], b[line], b[1]);
		}
	}
	memcpy(last, v, sizeof(v));
}

static void band(float *a)
{
	float last[BAND + 1] = { 0 };

	band_corner(a, last, 1, BAND);
	band_middle(a, last);
	band_corner(a, last, width + 1, width + BAND - 1);
}

static void sweep(float *g, int n)
{
	int r = 0;

	for (; r + BAND <= n; r += BAND)
		band(g + (size_t)r * line);
	plain_sweep(g + (size_t)r * line, n - r);
}

static float first(int r, int x)
{
	return (float)((r * 131 + x * 7) % 1000);
}

static void begin(float *g, int from, int n)
{
	memset(g, 0, (size_t)(n + 2) * line * sizeof(float));
	for (int r = 0; r < n; r++)
		for (int x = 0; x < width; x++)
			g[(size_t)(r + 1) * line + (size_t)x + 1] = first(from + r, x);
}

/* What all units do, by one: their parts in turn, with halo rows as they were before. */
static void verify(int steps)
{
	size_t part = (size_t)(rows + 2) * line;
	float *all = malloc((size_t)units * part * sizeof(float)), *got = NULL;

	if (me == 0)
		got = malloc((size_t)units * part * sizeof(float));
	MPI_Gather(grid, (int)part, MPI_FLOAT, got, (int)part, MPI_FLOAT, 0, MPI_COMM_WORLD);
	for (int u = 0; u < units && me == 0; u++)
		begin(all + (size_t)u * part, u * rows, rows);
	for (int s = 0; s < steps && me == 0; s++) {
		for (int u = 0; u + 1 < units; u++) {
			float *a = all + (size_t)u * part, *b = a + part;

			memcpy(b, a + (size_t)rows * line, line * sizeof(float));
			memcpy(a + (size_t)(rows + 1) * line, b + line, line * sizeof(float));
		}
		for (int u = 0; u < units; u++)
			plain_sweep(all + (size_t)u * part, rows);
	}
	for (int u = 0; u < units && me == 0; u++)
		if (memcmp(all + (size_t)u * part + line, got + (size_t)u * part + line,
			   (size_t)rows * line * sizeof(float)))
			bench_die("dart_stencil: unit %d of %d has wrong rows after %d steps", u, units, steps);
	free(all);
	free(got);
}

static double run(int steps)
{
	double t, most;

	memset(halo, 0, part_bytes());
	begin(grid, me * rows, rows);
	if (by_mpi)
		MPI_Win_sync(win);
	else
		dart_flush_all(mem);
	MPI_Barrier(MPI_COMM_WORLD);
	t = bench_now_ns();
	for (int s = 1; s <= steps; s++) {
		exchange(s);
		sweep(grid, rows);
	}
	t = (bench_now_ns() - t) / steps;
	MPI_Allreduce(&t, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most;
}

/*
 * The median of many short runs: a neighbour that has lost its core for some milliseconds holds up a run by as much,
 * and who has to share cores would only measure that in long ones.
 */
static void measure(int n, int steps, int reps)
{
	double v[2][41];
	void *addr;
	dart_gptr_t p;
	float *window;

	width = n;
	rows = n / units;
	line = (size_t)width + 2;
	line += line % 2;	/* the flags behind are of 8 bytes */
	grid = malloc((size_t)(rows + 2) * line * sizeof(float));
	if (!grid || dart_team_memalloc_aligned(DART_TEAM_ALL, part_bytes(), &mem) != DART_OK)
		bench_die("dart_stencil: no memory");
	window = (float *)(void *)bench_window(part_bytes(), &win);
	p = mem;
	dart_gptr_setunit(&p, me);
	dart_gptr_getaddr(p, &addr);
	for (int r = 0; r < reps; r++)
		for (by_mpi = 0; by_mpi < 2; by_mpi++) {
			halo = by_mpi ? window : addr;
			v[by_mpi][r] = run(steps);
			if (r == 0)
				verify(steps);
		}
	bench_note("stencil", (size_t)n * (size_t)n * 4, bench_median(v[0], reps));
	bench_note("mpi_stencil", (size_t)n * (size_t)n * 4, bench_median(v[1], reps));
	bench_window_end(&win);
	dart_team_memfree(DART_TEAM_ALL, mem);
	free(grid);
}

int main(int argc, char **argv)
{
	int rc = bench_dart_start(argc, argv, "dart_stencil", "");

	if (rc)
		return rc;
	if (units > 32)
		bench_die("dart_stencil: at most 32 units");
	measure(64, 300, quick ? 9 : 41);
	measure(1024, 10, quick ? 3 : 15);
	return bench_dart_end();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart_rma - one-sided calls of unit 0 at the last unit, which waits in a barrier; the same by MPI's own
 *
 *   put_call, get_call       ns for dart_put_blocking, dart_get_blocking of 8 bytes, many in a row
 *   mpi_put_call, mpi_get_call   MPI_Put, MPI_Get and MPI_Win_flush of 8 bytes, in the same run
 *   put, get, mpi_put, mpi_get   by size, 1 byte to 2 MiB
 *   put_handle               dart_put_handle of that size and, a while later, dart_wait: only what the calls take
 * The last put is looked at. Options: --json, --quick, --only call,sizes
 */
#include "dart_bench.h"

#define MAX	((size_t)2 << 20)

enum what { PUT, GET, MPI_PUT, MPI_GET, HANDLE, WHATS };
static const char *const name[] = { "put", "get", "mpi_put", "mpi_get", "put_handle" };
static dart_gptr_t mem;
static MPI_Win win;
static char *mine, *base;
static int64_t turn;

static void call(enum what w, size_t n)
{
	dart_handle_t h;

	switch (w) {
	case PUT:
		dart_put_blocking(mem, mine, n);
		break;
	case GET:
		dart_get_blocking(mine, mem, n);
		break;
	case MPI_PUT:
		MPI_Put(mine, (int)n, MPI_BYTE, units - 1, 0, (int)n, MPI_BYTE, win);
		MPI_Win_flush(units - 1, win);
		break;
	case MPI_GET:
		MPI_Get(mine, (int)n, MPI_BYTE, units - 1, 0, (int)n, MPI_BYTE, win);
		MPI_Win_flush(units - 1, win);
		break;
	case HANDLE:
		dart_put_handle(mem, mine, n, &h);
		dart_wait(h);
		break;
	case WHATS:
		break;
	}
}

/* ns for one of @times in a row; the others are in the barrier behind it */
static double some(enum what w, size_t n, int times)
{
	double t = 0;

	MPI_Barrier(MPI_COMM_WORLD);
	if (me == 0) {
		call(w, n);
		t = bench_now_ns();
		for (int i = 0; i < times; i++)
			call(w, n);
		t = (bench_now_ns() - t) / times;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return t;
}

/* So many that it takes about @ms; the same on all. */
static int times_for(enum what w, size_t n, double ms)
{
	double one = some(w, n, 3), all;

	MPI_Allreduce(&one, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	all = ms * 1e6 / (all > 1 ? all : 1);
	return all < 3 ? 3 : all > 300000 ? 300000 : (int)all;
}

static void measure(enum what w, size_t n, const char *figure)
{
	double v[9];
	int times = times_for(w, n, quick ? 1 : 4), reps = quick ? 3 : 9;

	for (int r = 0; r < reps; r++)
		v[r] = some(w, n, times);
	bench_note(figure, n, bench_median(v, reps));
}

static void verify(enum what w)
{
	int64_t want, have = 0;
	void *addr;
	dart_gptr_t p = mem;

	turn++;
	memcpy(mine, &turn, 8);
	if (me == 0)
		call(w, 8);
	want = turn;
	MPI_Barrier(MPI_COMM_WORLD);
	if (me != units - 1)
		return;
	if (w == MPI_PUT) {
		MPI_Win_sync(win);
		memcpy(&have, base, 8);
	} else {
		dart_flush(p);
		dart_gptr_getaddr(p, &addr);
		memcpy(&have, addr, 8);
	}
	if (have != want)
		bench_die("dart_rma: %s did not arrive", name[w]);
}

int main(int argc, char **argv)
{
	int rc = bench_dart_start(argc, argv, "dart_rma", "call sizes");
	char figure[32];

	if (rc)
		return rc;
	if (dart_team_memalloc_aligned(DART_TEAM_ALL, MAX, &mem) != DART_OK)
		bench_die("dart_rma: no memory");
	dart_gptr_setunit(&mem, units - 1);
	base = bench_window(MAX, &win);
	mine = aligned_alloc(4096, MAX);
	memset(mine, 1, MAX);
	if (bench_wanted(argc, argv, "call"))
		for (enum what w = PUT; w < HANDLE; w++) {
			snprintf(figure, sizeof(figure), "%s_call", name[w]);
			measure(w, 8, figure);
		}
	if (bench_wanted(argc, argv, "sizes"))
		for (enum what w = PUT; w < WHATS; w++)
			for (size_t n = 1; n <= MAX; n *= quick ? 128 : 2)
				measure(w, n, name[w]);
	verify(PUT);
	verify(MPI_PUT);
	verify(HANDLE);
	bench_window_end(&win);
	dart_team_memfree(DART_TEAM_ALL, mem);
	free(mine);
	return bench_dart_end();
}

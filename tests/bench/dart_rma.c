/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart_rma - one-sided calls of unit 0 at the last unit, which waits in a barrier; the same by MPI's own
 *
 *   put_call, get_call       ns for dart_put_blocking, dart_get_blocking of 8 bytes, many in a row
 *   mpi_put_call, mpi_get_call   MPI_Put, MPI_Get and MPI_Win_flush of 8 bytes, in the same run
 *   put, get, mpi_put, mpi_get   by size, 1 byte to 2 MiB
 *   put_handle               dart_put_handle of that size and, at once, dart_wait
 *   shmem_put, shmem_put_quiet, shmem_get, dmapp_put, dmapp_get, and _call of each: shmem_putmem, the same and
 *                            shmem_quiet, shmem_getmem; blocking dmapp_put and dmapp_get. Where it is compiled with
 *                            BENCH_DMAPP, which takes our MPI, whose job these join
 *   put_distance_8, get_distance_8, mpi_put_distance_8, mpi_get_distance_8, and _1M of 1 MiB: at unit 1, 2, 4, ... and
 *                            the last; the number in "bytes" is the distance. With nodes of so many units
 *                            (PTL_PES_PER_NODE) it shows what a node's border costs
 * The last put of each kind is looked at. Options: --json, --quick, --only call,sizes,distance
 */
#include "dart_bench.h"
#ifdef BENCH_DMAPP
#include <dmapp.h>
#include <shmem.h>
#endif

#define MAX	((size_t)2 << 20)

enum what { PUT, GET, MPI_PUT, MPI_GET, HANDLE, SHMEM_PUT, SHMEM_PUT_QUIET, SHMEM_GET, DMAPP_PUT, DMAPP_GET };
static const char *const name[] = { "put", "get", "mpi_put", "mpi_get", "put_handle", "shmem_put", "shmem_put_quiet",
				    "shmem_get", "dmapp_put", "dmapp_get" };
#ifdef BENCH_DMAPP
enum { WHATS = DMAPP_GET + 1 };
static dmapp_jobinfo_t job;
static char *heap;
#else
enum { WHATS = HANDLE + 1 };
#endif
static dart_gptr_t mem;
static MPI_Win win;
static char *mine, *base;
static int64_t turn;
static int to;		/* the unit that the calls are to */

/* The loop is inside, so that nothing but the call is in it. */
static void calls(enum what w, size_t n, int times)
{
	dart_handle_t h;

#define TIMES(call) do for (int i = 0; i < times; i++) { call; } while (0)
	switch (w) {
	case PUT:
		TIMES(dart_put_blocking(mem, mine, n));
		break;
	case GET:
		TIMES(dart_get_blocking(mine, mem, n));
		break;
	case MPI_PUT:
		TIMES(MPI_Put(mine, (int)n, MPI_BYTE, to, 0, (int)n, MPI_BYTE, win); MPI_Win_flush(to, win));
		break;
	case MPI_GET:
		TIMES(MPI_Get(mine, (int)n, MPI_BYTE, to, 0, (int)n, MPI_BYTE, win); MPI_Win_flush(to, win));
		break;
	case HANDLE:
		TIMES(dart_put_handle(mem, mine, n, &h); dart_wait(h));
		break;
#ifdef BENCH_DMAPP
	case SHMEM_PUT:
		TIMES(shmem_putmem(heap, mine, n, to));
		break;
	case SHMEM_PUT_QUIET:
		TIMES(shmem_putmem(heap, mine, n, to); shmem_quiet());
		break;
	case SHMEM_GET:
		TIMES(shmem_getmem(mine, heap, n, to));
		break;
	case DMAPP_PUT:
		if (n % 8 == 0)		/* as a program would */
			TIMES(dmapp_put(heap, &job.sheap_seg, to, mine, n / 8, DMAPP_QW));
		else
			TIMES(dmapp_put(heap, &job.sheap_seg, to, mine, n, DMAPP_BYTE));
		break;
	case DMAPP_GET:
		if (n % 8 == 0)
			TIMES(dmapp_get(mine, heap, &job.sheap_seg, to, n / 8, DMAPP_QW));
		else
			TIMES(dmapp_get(mine, heap, &job.sheap_seg, to, n, DMAPP_BYTE));
		break;
#endif
	default:
		break;
	}
#ifdef BENCH_DMAPP
	if (w == SHMEM_PUT)		/* within the time: what quiet finds to be done belongs to them */
		shmem_quiet();
#endif
}

/* SHMEM and DMAPP in this job, beside MPI. */
static void start_others(void)
{
#ifdef BENCH_DMAPP
	shmem_init();
	if (dmapp_init(NULL, NULL) != DMAPP_RC_SUCCESS || dmapp_get_jobinfo(&job) != DMAPP_RC_SUCCESS ||
	    job.pe != me || job.npes != units || shmem_my_pe() != me)
		bench_die("dart_rma: SHMEM and DMAPP have other ranks than MPI");
	heap = shmem_align(4096, MAX);
	if (!heap)
		bench_die("dart_rma: no symmetric memory");
	memset(heap, 0, MAX);
	shmem_barrier_all();
#endif
}

static void end_others(void)
{
#ifdef BENCH_DMAPP
	shmem_free(heap);
	dmapp_finalize();
	shmem_finalize();
#endif
}

/* ns for one of @times in a row; the others are in the barrier behind it */
static double some(enum what w, size_t n, int times)
{
	double t = 0;

	MPI_Barrier(MPI_COMM_WORLD);
	if (me == 0) {
		calls(w, n, 1);
		t = bench_now_ns();
		calls(w, n, times);
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

static void measure_as(enum what w, size_t n, const char *figure, size_t against)
{
	double v[9];
	int times = times_for(w, n, quick ? 1 : 4), reps = quick ? 3 : 9;

	for (int r = 0; r < reps; r++)
		v[r] = some(w, n, times);
	bench_note(figure, against, bench_median(v, reps));
}

static void measure(enum what w, size_t n, const char *figure)
{
	measure_as(w, n, figure, n);
}

static void turn_to(int unit)
{
	to = unit;
	dart_gptr_setunit(&mem, unit);
}

static void distances(enum what w)
{
	char figure[32];

	for (int d = 1; d < units; d = d == units - 1 ? units : 2 * d < units ? 2 * d : units - 1)
		for (int longs = 0; longs < 2; longs++) {
			turn_to(d);
			snprintf(figure, sizeof(figure), "%s_distance_%s", name[w], longs ? "1M" : "8");
			measure_as(w, longs ? (size_t)1 << 20 : 8, figure, (size_t)d);
		}
	turn_to(units - 1);
}

/* What the last unit has of the last put. */
static int64_t arrived(enum what w)
{
	int64_t have;
	void *addr;

	if (w == MPI_PUT) {
		MPI_Win_sync(win);
		addr = base;
#ifdef BENCH_DMAPP
	} else if (w > HANDLE) {
		addr = heap;
#endif
	} else {
		dart_flush(mem);
		dart_gptr_getaddr(mem, &addr);
	}
	memcpy(&have, addr, 8);
	return have;
}

static void verify(enum what w)
{
	turn++;
	memcpy(mine, &turn, 8);
	if (me == 0)
		calls(w, 8, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	if (me == units - 1 && arrived(w) != turn)
		bench_die("dart_rma: %s did not arrive", name[w]);
	MPI_Barrier(MPI_COMM_WORLD);		/* the next one comes to the same place */
}

int main(int argc, char **argv)
{
	int rc = bench_dart_start(argc, argv, "dart_rma", "call sizes distance");
	char figure[48];

	if (rc)
		return rc;
	if (dart_team_memalloc_aligned(DART_TEAM_ALL, MAX, &mem) != DART_OK)
		bench_die("dart_rma: no memory");
	turn_to(units - 1);
	start_others();
	base = bench_window(MAX, &win);
	mine = aligned_alloc(4096, MAX);
	memset(mine, 1, MAX);
	if (bench_wanted(argc, argv, "call"))
		for (int w = PUT; w < WHATS; w++) {
			if (w == HANDLE)
				continue;
			snprintf(figure, sizeof(figure), "%s_call", name[w]);
			measure((enum what)w, 8, figure);
		}
	if (bench_wanted(argc, argv, "sizes"))
		for (int w = PUT; w < WHATS; w++)
			for (size_t n = 1; n <= MAX; n *= quick ? 128 : 2)
				measure((enum what)w, n, name[w]);
	if (bench_wanted(argc, argv, "distance"))
		for (enum what w = PUT; w < HANDLE; w++)
			distances(w);
	for (int w = PUT; w < WHATS; w++)
		if (w != GET && w != MPI_GET && w != SHMEM_GET && w != DMAPP_GET)
			verify((enum what)w);
	bench_window_end(&win);
	end_others();
	dart_team_memfree(DART_TEAM_ALL, mem);
	free(mine);
	return bench_dart_end();
}

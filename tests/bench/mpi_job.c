/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_job - what a job costs beside its messages: start, memory, waiting, sharing cores
 *
 *   job_start     s from BENCH_T0 (as --now prints it, taken before the launcher) until all ranks are in a barrier
 *                 behind MPI_Init
 *   job_memory    kB of a rank after a barrier and an exchange with both neighbours: its share of what it maps (Pss),
 *                 mean over the ranks
 *   job_idle      percent of a core that a rank uses while it waits in MPI_Recv, from 0.5 s on, for a second
 *   job_share     ranks that compute 1 ms of work, then exchange with both neighbours, over and over: the time it took,
 *                 as a multiple of all work shared out on the cores
 * (bytes) is the number of ranks. Options: --json, --only start,memory,idle,share; --now
 */
#include "bench.h"	/* first: it asks libc for more */
#include <mpi.h>

#define TURNS	60
#define WORK_NS	1e6

static int rank, size;

/* kB; Pss where the kernel tells, else Rss. */
static double memory(void)
{
	char line[256];
	double pss = -1, rss = -1, kb;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Pss: %lf", &kb) == 1)
			pss = kb;
		else if (sscanf(line, "Rss: %lf", &kb) == 1)
			rss = kb;
	}
	fclose(f);
	return pss >= 0 ? pss : rss;
}

static void neighbours(void)
{
	int right = (rank + 1) % size, left = (rank + size - 1) % size, word = rank, got;

	MPI_Sendrecv(&word, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (got != left)
		bench_die("mpi_job: rank %d got %d from rank %d", rank, got, left);
	MPI_Sendrecv(&word, 1, MPI_INT, left, 2, &got, 1, MPI_INT, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Time on a core that process @pid has had, in s: by its clock, since what is looked for is less than a tick. */
static double cpu_of(int pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return -1;
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Rank 0 watches rank 1, outside of MPI. */
static double idle(void)
{
	int pid = getpid(), word = 0;
	double a, b;

	if (rank == 1) {
		MPI_Send(&pid, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
		MPI_Recv(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	if (rank)
		return 0;
	MPI_Recv(&pid, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	usleep(500000);
	a = cpu_of(pid);
	usleep(1000000);
	b = cpu_of(pid);
	MPI_Send(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
	return a < 0 || b < 0 ? -1 : (b - a) * 100;
}

static volatile uint64_t sink;

static void work(uint64_t steps)
{
	uint64_t v = sink + 1;

	for (uint64_t i = 0; i < steps; i++)
		v = v * 6364136223846793005u + 1442695040888963407u;
	sink = v;
}

/* Steps that take WORK_NS alone on a core; the others sleep meanwhile. */
static uint64_t calibrate(void)
{
	uint64_t steps = 1000000;

	if (rank == 0) {
		double best = 1e18;

		for (int r = 0; r < 9; r++) {
			double t = bench_now_ns();

			work(steps);
			t = bench_now_ns() - t;
			best = t < best ? t : best;
		}
		steps = (uint64_t)((double)steps * WORK_NS / best);
	} else {
		usleep(100000);
	}
	MPI_Bcast(&steps, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	return steps;
}

static double share(void)
{
	int cpu[1024], cores = bench_cpus(cpu, 1024);
	uint64_t steps = calibrate();
	double t;

	cores = cores < 1 ? 1 : cores > size ? size : cores;
	MPI_Barrier(MPI_COMM_WORLD);
	t = bench_now_ns();
	for (int i = 0; i < TURNS; i++) {
		work(steps);
		neighbours();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	t = bench_now_ns() - t;
	return t / (TURNS * WORK_NS * size / cores);
}

int main(int argc, char **argv)
{
	const char *t0 = getenv("BENCH_T0");
	double v, sum;

	if (bench_flag(argc, argv, "--now")) {
		printf("%.0f\n", bench_now_ns());
		return 0;
	}
	MPI_Init(&argc, &argv);
	MPI_Barrier(MPI_COMM_WORLD);
	v = bench_now_ns();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (bench_args(argc, argv, rank == 0, "--json", "--only", "start memory idle share")) {
		MPI_Finalize();
		return 2;
	}
	bench_pin(rank);
	if (rank == 0)
		bench_begin("mpi_job", bench_flag(argc, argv, "--json"));
	if (t0 && rank == 0 && bench_wanted(argc, argv, "start"))
		bench_record("job_start", (size_t)size, (v - atof(t0)) * 1e-9, "s");
	if (bench_wanted(argc, argv, "memory")) {
		neighbours();
		MPI_Barrier(MPI_COMM_WORLD);
		v = memory();
		MPI_Reduce(&v, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		if (rank == 0 && sum > 0)
			bench_record("job_memory", (size_t)size, sum / size, "kB");
	}
	if (size > 1 && bench_wanted(argc, argv, "idle")) {
		v = idle();
		if (rank == 0 && v >= 0)
			bench_record("job_idle", (size_t)size, v, "%");
	}
	if (bench_wanted(argc, argv, "share")) {
		v = share();
		if (rank == 0)
			bench_record("job_share", (size_t)size, v, "x");
	}
	if (rank == 0)
		bench_end();
	MPI_Finalize();
	return 0;
}

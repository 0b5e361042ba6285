/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * handover - h: what it costs to hand a cache line from one core to another, one way, with nothing around it
 *
 * Two processes pinned to two cores, 32 pairs of lines (see bench.h). Every latency of this project is judged against it,
 * since virtual machines move between states several times apart ("near" and "far").
 */
#include "bench.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
	int json = bench_flag(argc, argv, "--json"), cpu[2], status = 0;
	double rep[5];
	pid_t child;

	if (bench_args(argc, argv, 1, "--json", "", ""))
		return 2;
	if (bench_cpus(cpu, 2) < 2)
		bench_die("handover: needs two cores; this process may use one");
	if (bench_line_anonymous())
		bench_die("handover: mmap: %m");
	child = fork();
	if (child < 0)
		bench_die("handover: fork: %m");
	bench_pin(child ? 0 : 1);
	bench_handover(child ? 0 : 1);
	for (int r = 0; r < 5; r++)
		rep[r] = bench_handover(child ? 0 : 1);
	if (!child)
		_exit(0);
	waitpid(child, &status, 0);
	bench_begin("handover", json);
	bench_record("handover", 4, bench_median(rep, 5), "ns");
	bench_end();
	return status != 0;
}

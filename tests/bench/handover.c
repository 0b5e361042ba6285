/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * handover - h: what it costs to hand a cache line from one core to another, one way, with nothing around it
 *
 * Two processes pinned to two cores, two lines, one each way. Every latency of this project is judged against it,
 * since virtual machines move between states several times apart ("near" and "far").
 */
#include "bench.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
	int json = bench_flag(argc, argv, "--json"), cpu[2], status = 0;
	double h;
	pid_t child;

	if (bench_cpus(cpu, 2) < 2)
		bench_die("handover: needs two cores; this process may use one");
	bench_line_ = mmap(NULL, sizeof(struct bench_line), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bench_line_ == MAP_FAILED)
		bench_die("handover: mmap: %m");
	child = fork();
	if (child < 0)
		bench_die("handover: fork: %m");
	bench_pin(child ? 0 : 1);
	bench_handover(child ? 0 : 1);
	h = bench_handover(child ? 0 : 1);
	if (!child)
		_exit(0);
	waitpid(child, &status, 0);
	bench_begin("handover", json);
	bench_record("handover", 4, h, "ns", -1, -1);
	bench_end();
	return status != 0;
}

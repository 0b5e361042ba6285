/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals_many - a job of many ranks, more than there are cores
 *
 * bytes is the number of ranks:
 *   start     from the launcher's start to the first barrier of all ranks (ns; the launcher's start is BENCH_T0, in ns
 *             of CLOCK_MONOTONIC, else that of rank 0)
 *   ring      a word goes once through all ranks by PtlPut, ns a hop
 *   barrier   PtlRtBarrier_np
 *   memory    of a rank, as many have talked to one other: its share of what is resident (Pss), without what a program
 *             that does nothing takes (--empty), in bytes
 *   tables    page tables of a rank (VmPTE), the same way
 * Run it under a launcher. Options: --json; alone: --empty (no Portals: memory and tables of one process), --now (the
 * clock)
 */
#include "portals.h"

enum { PT_RING = 4, PT_TELL };

/* What /proc/self/@file says behind @key, in bytes. */
static double proc_kb(const char *file, const char *key)
{
	char path[64], line[256];
	double kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/%s", file);
	f = fopen(path, "r");
	while (f && kb < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kb = atof(line + strlen(key));
	if (f)
		fclose(f);
	return kb * 1024;
}

static double ring(ptl_handle_eq_t eq, ptl_handle_md_t md, uint64_t *in, uint64_t *out)
{
	ptl_process_id_t next = id_of((rank + 1) % size);
	double t = bench_now_ns();
	ptl_event_t ev;

	*out = 1;
	if (rank) {
		check(PtlEQWait(eq, &ev));
		*out = *in + 1;
	}
	check(PtlPut(md, PTL_NO_ACK_REQ, next, PT_RING, 0, 0, 0, 0));
	if (!rank) {
		check(PtlEQWait(eq, &ev));
		if (*in != size)
			bench_die("portals_many: the ring brought %llu, not %u", (unsigned long long)*in, size);
	}
	return (bench_now_ns() - t) / size;
}

int main(int argc, char **argv)
{
	const unsigned take = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_ACK_DISABLE | PTL_MD_EVENT_START_DISABLE;
	const char *t0 = getenv("BENCH_T0");
	double begin = t0 ? atof(t0) : bench_now_ns(), started, hop = 0, bar, *told, mine[2], v[2];
	static uint64_t in, out;
	ptl_handle_md_t md, tell;
	ptl_handle_eq_t eq;

	if (bench_args(argc, argv, 1, "--json --empty --now", "", ""))
		return 2;
	if (bench_flag(argc, argv, "--now"))
		return printf("%.0f\n", bench_now_ns()) < 0;
	if (bench_flag(argc, argv, "--empty")) {
		bench_begin("portals_many", bench_flag(argc, argv, "--json"));
		bench_record("memory_empty", 0, proc_kb("smaps_rollup", "Pss:"), "B");
		bench_record("tables_empty", 0, proc_kb("status", "VmPTE:"), "B");
		bench_end();
		return 0;
	}
	start();
	told = calloc(size, 2 * sizeof(*told));
	if (!told)
		bench_die("portals_many: out of memory");
	eq = queue(64);
	expose(PT_RING, &in, 8, eq, take);
	expose(PT_TELL, told, size * 2 * sizeof(*told), PTL_EQ_NONE, take | PTL_MD_EVENT_END_DISABLE);
	md = bind(&out, 8, PTL_EQ_NONE, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE);
	tell = bind(mine, sizeof(mine), PTL_EQ_NONE, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE);
	check(PtlRtBarrier_np());
	started = bench_now_ns() - begin;
	for (int i = 0; i < 3; i++)
		hop = ring(eq, md, &in, &out);
	check(PtlRtBarrier_np());
	bar = bench_now_ns();
	check(PtlRtBarrier_np());
	bar = bench_now_ns() - bar;
	mine[0] = proc_kb("smaps_rollup", "Pss:");
	mine[1] = proc_kb("status", "VmPTE:");
	check(PtlPut(tell, PTL_NO_ACK_REQ, id_of(0), PT_TELL, 0, 0, rank * sizeof(mine), 0));
	check(PtlRtBarrier_np());
	if (rank == 0) {
		double *each = malloc(size * sizeof(*each));

		for (int k = 0; k < 2; k++) {
			for (unsigned r = 0; r < size; r++)
				each[r] = told[2 * r + (unsigned)k];
			v[k] = bench_median(each, (int)size);
		}
		bench_begin("portals_many", bench_flag(argc, argv, "--json"));
		bench_record("start", size, started, "ns");
		bench_record("ring", size, hop, "ns");
		bench_record("barrier", size, bar, "ns");
		bench_record("memory", size, v[0], "B");
		bench_record("tables", size, v[1], "B");
		bench_end();
	}
	check(PtlRtBarrier_np());
	finish();
	return 0;
}

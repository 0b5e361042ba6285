/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals_match - what a long match list costs: time of a PtlPut of 8 bytes of a process to itself, all of it (match,
 * copy, log) done by the caller
 *
 *	match_exact	N entries that compare all bits, the message is for the last
 *	match_wild	the same, but every eighth ignores its low bits, and does not match
 *	..._walk	both with PTL_INDEX_FROM=0: lists are walked from the front
 * N: 1, 4, 16 ... 16384, and 17, 24, 32, 48: lists that are searched past 16 have an index. bytes is N. Each of the two
 * settings runs in a process of its own, with a list on a portal table entry of its own for each N. Options: --json,
 * --quick (fewer repetitions).
 */
#include "portals.h"	/* first: it asks libc for more */
#include <sys/wait.h>

#define BITS	((ptl_match_bits_t)0x5eed << 32)

static uint64_t to, from = 1;

/* A list of @n; the last entry takes the message. */
static void make_list(ptl_pt_index_t pt, int n, int wild)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = { .start = &to, .length = sizeof(to), .threshold = PTL_MD_THRESH_INF,
			.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, .eq_handle = PTL_EQ_NONE };
	ptl_handle_me_t me;

	for (int i = 0; i < n; i++) {
		int ignores = wild && i % 8 == 7 && i < n - 1;
		ptl_match_bits_t nth = (ptl_match_bits_t)i;
		ptl_match_bits_t bits = i == n - 1 ? BITS : ignores ? (nth + 1) << 48 : nth;

		check(PtlMEAttach(ni, pt, any, bits, ignores ? 0xff : 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	}
	check(PtlMDAttach(me, md, PTL_RETAIN, NULL));
}

static double once(ptl_handle_md_t md, ptl_process_id_t self, ptl_pt_index_t pt, int times)
{
	double t = bench_now_ns();

	for (int i = 0; i < times; i++)
		check(PtlPut(md, PTL_NO_ACK_REQ, self, pt, 0, BITS, 0, 0));
	return (bench_now_ns() - t) / times;
}

static int child(int quick)
{
	static const int len[] = { 1, 4, 16, 17, 24, 32, 48, 64, 256, 1024, 4096, 16384 };
	ptl_pt_index_t pt = 0;
	ptl_process_id_t self;
	ptl_handle_md_t h;

	start();
	check(PtlGetId(ni, &self));
	h = bind(&from, sizeof(from), PTL_EQ_NONE, 0);
	bench_pin(0);
	for (int wild = 0; wild < 2; wild++)
		for (size_t at = 0; at < sizeof(len) / sizeof(len[0]); at++, pt++) {
			int n = len[at];
			int times = 2000000 / (n + 200) / (quick ? 4 : 1);
			double v[7];

			make_list(pt, n, wild);
			once(h, self, pt, times / 4 + 1);
			for (int k = 0; k < 7; k++) {
				to = 0;
				v[k] = once(h, self, pt, times);
				if (to != from) {
					fprintf(stderr, "portals_match: the message did not come\n");
					return 1;
				}
			}
			printf("%d %d %.9g\n", wild, n, bench_median(v, 7));
		}
	finish();
	return 0;
}

int main(int argc, char **argv)
{
	int quick = bench_flag(argc, argv, "--quick"), json = bench_flag(argc, argv, "--json"), failed = 0;

	if (bench_flag(argc, argv, "--child"))
		return child(quick);
	if (bench_args(argc, argv, 1, "--json --quick", "", ""))
		return 2;
	bench_begin("portals_match", json);
	for (int walk = 0; walk < 2; walk++) {
		char line[128];
		int p[2], st;
		pid_t pid;
		FILE *f;

		if (pipe(p))
			return 1;
		fflush(stdout);
		pid = fork();
		if (!pid) {
			dup2(p[1], 1);
			close(p[0]);
			close(p[1]);
			if (walk)
				setenv("PTL_INDEX_FROM", "0", 1);
			execl("/proc/self/exe", argv[0], "--child", quick ? "--quick" : NULL, (char *)NULL);
			_exit(127);
		}
		close(p[1]);
		f = fdopen(p[0], "r");
		while (fgets(line, sizeof(line), f)) {
			char name[64];
			int wild, n;
			double v;

			if (sscanf(line, "%d %d %lf", &wild, &n, &v) != 3)
				continue;
			snprintf(name, sizeof(name), "match_%s%s", wild ? "wild" : "exact", walk ? "_walk" : "");
			bench_record(name, (size_t)n, v, "ns");
		}
		fclose(f);
		failed |= waitpid(pid, &st, 0) != pid || st;
	}
	bench_end();
	return failed;
}

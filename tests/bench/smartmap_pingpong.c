/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smartmap_pingpong - stores into the other process through its window, and nothing else
 *
 * Two processes of one smartmap job, made by fork() before smartmap_init(). Each spins on a word of its own and answers
 * by a store to the other's word at smartmap_remote(). Figures: half round trip for a word in the program's bss and in
 * memory of smartmap_alloc(); copies of 64 KiB to 4 MiB by plain memcpy through the window, written anew each time and
 * read by the target.
 */
#include "bench.h"
#include <smartmap.h>
#include <sys/wait.h>

#define ITERS	20000
#define REPS	5
#define MAX	(4u << 20)
#define ROOT	16		/* smartmap_publish key of an application */

static struct bench_line in_bss;
static struct bench_line *own_arena;

/* Half round trip in ns: @mine is polled, @theirs is the same word of the peer. */
static double pingpong(int rank, _Atomic uint32_t *mine, _Atomic uint32_t *theirs, uint32_t *seq)
{
	double rep[REPS];
	uint32_t s = *seq;

	for (int r = 0; r < REPS; r++) {
		double t = bench_now_ns();

		for (int i = 0; i < ITERS; i++) {
			s++;
			if (rank == 0)
				atomic_store_explicit(theirs, s, memory_order_release);
			while (atomic_load_explicit(mine, memory_order_acquire) != s)
				;
			if (rank == 1)
				atomic_store_explicit(theirs, s, memory_order_release);
		}
		rep[r] = (bench_now_ns() - t) / ITERS / 2;
	}
	*seq = s;
	return bench_median(rep, REPS);
}

/* One way in ns for @n bytes: fresh source, memcpy into the peer, last byte as the flag, read there. */
static double copy(int rank, unsigned char *src, volatile unsigned char *mine, unsigned char *theirs, size_t n)
{
	int iters = (int)(64u << 20) / (int)n;
	double total = 0;
	uint64_t sum = 0;

	if (iters > 1000)
		iters = 1000;
	for (int i = 0; i < iters; i++) {
		unsigned char flag = (unsigned char)(i % 250 + 1);
		double t;

		bench_fill(src, n, (unsigned)i);
		src[n - 1] = flag;
		if (rank == 1) {
			while (mine[n - 1] != flag)
				;
			atomic_thread_fence(memory_order_acquire);
			sum += bench_sum((const unsigned char *)mine, n);
		}
		t = bench_now_ns();
		memcpy(theirs, src, n - 1);
		atomic_thread_fence(memory_order_release);
		*(volatile unsigned char *)(theirs + n - 1) = flag;
		total += bench_now_ns() - t;
		if (rank == 0) {
			while (mine[n - 1] != flag)
				;
			atomic_thread_fence(memory_order_acquire);
			sum += bench_sum((const unsigned char *)mine, n);
		}
	}
	__asm__ volatile("" : : "r"(sum));
	return total / iters;
}

/* Everything behind the fork; the job's failure is this process's exit code. */
static int run(int rank, pid_t peer_of_child, int json)
{
	struct smartmap_job job = { .rank = (uint32_t)rank, .size = 2, .adopt = SMARTMAP_ADOPT_ALL, .timeout_ms = 10000 };
	int32_t pids[2] = { rank ? (int32_t)getppid() : (int32_t)getpid(), rank ? (int32_t)getpid() : (int32_t)peer_of_child };
	char name[64];
	uint32_t seq_bss = 0, seq_arena = 0;
	double h0, h1, v;
	struct bench_line *remote_arena, *remote_bss;
	unsigned char *buf, *remote_buf, *src;
	int rc;

	snprintf(name, sizeof(name), "bench-%d", (int)pids[0]);
	job.name = name;
	job.pids = pids;
	memcpy(job.key, name, strnlen(name, sizeof(job.key)));
	bench_pin(rank);
	rc = smartmap_init(&job);
	if (rc) {
		fprintf(stderr, "smartmap_pingpong: smartmap_init: %s; %s\n", strerror(-rc),
			smartmap_why(SMARTMAP_F_WINDOWS));
		return 1;
	}
	own_arena = smartmap_alloc(sizeof(*own_arena) + MAX + 4096, 4096);
	src = aligned_alloc(4096, MAX);
	if (!own_arena || !src) {
		fprintf(stderr, "smartmap_pingpong: smartmap_alloc: %m\n");
		return 1;
	}
	smartmap_publish(ROOT, own_arena);
	smartmap_barrier();
	remote_arena = smartmap_remote(!rank, smartmap_lookup(!rank, ROOT));
	if (!remote_arena) {
		fprintf(stderr, "smartmap_pingpong: the peer's window cannot be attached\n");
		return 1;
	}
	buf = (unsigned char *)own_arena + 4096;
	remote_buf = (unsigned char *)remote_arena + 4096;

	if (rank == 0)
		bench_begin("smartmap_pingpong", json);
	bench_handover(rank);
	h0 = bench_handover(rank);
	pingpong(rank, &own_arena->ping, &remote_arena->ping, &seq_arena);
	v = pingpong(rank, &own_arena->ping, &remote_arena->ping, &seq_arena);
	h1 = bench_handover(rank);
	if (rank == 0)
		bench_record("smartmap_store_arena", 4, v, "ns", h0, h1);

	remote_bss = smartmap_symmetric(!rank, &in_bss);
	if (smartmap_reachable(!rank, remote_bss, sizeof(in_bss))) {
		remote_bss = smartmap_remote(!rank, remote_bss);
		h0 = bench_handover(rank);
		pingpong(rank, &in_bss.ping, &remote_bss->ping, &seq_bss);
		v = pingpong(rank, &in_bss.ping, &remote_bss->ping, &seq_bss);
		h1 = bench_handover(rank);
		if (rank == 0)
			bench_record("smartmap_store_bss", 4, v, "ns", h0, h1);
	} else if (rank == 0) {
		fprintf(stderr, "smartmap_pingpong: the bss is not in the window: %s\n", smartmap_why(SMARTMAP_F_DATA));
	}
	for (size_t n = 64u << 10; n <= MAX; n *= 4) {
		smartmap_barrier();
		buf[n - 1] = 0;
		smartmap_barrier();
		copy(rank, src, buf, remote_buf, n);
		smartmap_barrier();
		buf[n - 1] = 0;
		smartmap_barrier();
		v = copy(rank, src, buf, remote_buf, n);
		if (rank == 0)
			bench_record("smartmap_copy_fresh", n, v, "ns", -1, -1);
	}
	if (rank == 0)
		bench_end();
	smartmap_barrier();
	smartmap_fini();
	return 0;
}

int main(int argc, char **argv)
{
	int json = bench_flag(argc, argv, "--json"), cpu[2], status = 0, rc;
	pid_t child;

	if (bench_cpus(cpu, 2) < 2)
		bench_die("smartmap_pingpong: needs two cores; this process may use one");
	bench_line_ = mmap(NULL, sizeof(struct bench_line), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bench_line_ == MAP_FAILED)
		bench_die("smartmap_pingpong: mmap: %m");
	child = fork();
	if (child < 0)
		bench_die("smartmap_pingpong: fork: %m");
	rc = run(child ? 0 : 1, child, json);
	if (!child)
		_exit(rc);
	waitpid(child, &status, 0);
	return rc || status;
}

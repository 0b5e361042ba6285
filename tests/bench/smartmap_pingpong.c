/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smartmap_pingpong - stores into the other process through its window, and nothing else
 *
 * Two processes of one smartmap job, made by fork() before smartmap_init(). Each spins on a word of its own and answers
 * by a store to the other's word at smartmap_remote(). Figures: half round trip for words in the program's data, its bss,
 * the heap (libsmartmap-malloc) and memory of smartmap_alloc(); copies of 64 KiB to 4 MiB by plain memcpy through the
 * window, written anew each time and read by the target.
 */
#include "bench.h"
#include <smartmap.h>
#include <sys/wait.h>

#define MAX	(4u << 20)
#define ROOT_ARENA	16	/* smartmap_publish keys of an application */
#define ROOT_HEAP	17

static struct bench_lines in_bss;
static struct bench_lines in_data = { .line[BENCH_LINES - 1] = { .next_page = { 1 } } };

struct store {
	int rank;
	struct bench_lines *mine, *theirs;
	uint32_t seq;
};

/* t and h come from one function: their difference is the memory and the way to it. */
static void store_slices(struct store *s, struct bench_slice *slice, int n)
{
	double h = bench_handover(s->rank);

	h = bench_handover(s->rank);
	for (int i = 0; i < n; i++) {
		slice[i].h0 = h;
		slice[i].t = bench_lines_pingpong(s->rank, s->mine, s->theirs, &s->seq);
		slice[i].h1 = h = bench_handover(s->rank);
	}
}

/* The ping-pong on lines of ours and of the peer, the latter as an address in the peer. */
static void store_pingpong(const char *figure, int rank, struct bench_lines *mine, void *peers, enum smartmap_feature without)
{
	struct bench_slice slice[BENCH_SLICES];
	struct store s = { rank, mine, smartmap_remote(!rank, peers), 0 };

	smartmap_barrier();
	if (!s.theirs || !smartmap_reachable(!rank, peers, sizeof(*mine))) {
		if (rank == 0)
			fprintf(stderr, "smartmap_pingpong: %s: not in the window: %s\n", figure, smartmap_why(without));
		return;
	}
	bench_lines_pingpong(rank, s.mine, s.theirs, &s.seq);
	store_slices(&s, slice, BENCH_SLICES);
	if (rank == 0)
		bench_record_slices(figure, 4, slice, BENCH_SLICES);
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
	struct bench_lines *own_arena, *heap;
	unsigned char *buf, *remote_buf, *src;
	double v;
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
	own_arena = smartmap_alloc(sizeof(*own_arena), 4096);
	heap = aligned_alloc(4096, (sizeof(*heap) + 4095) / 4096 * 4096);
	src = aligned_alloc(4096, MAX);
	if (!own_arena || !heap || !src) {
		fprintf(stderr, "smartmap_pingpong: no memory: %m\n");
		return 1;
	}
	memset(own_arena, 0, sizeof(*own_arena));
	memset(heap, 0, sizeof(*heap));
	smartmap_publish(ROOT_ARENA, own_arena);
	smartmap_publish(ROOT_HEAP, heap);
	smartmap_barrier();
	if (!smartmap_remote(!rank, smartmap_lookup(!rank, ROOT_ARENA))) {
		fprintf(stderr, "smartmap_pingpong: the peer's window cannot be attached\n");
		return 1;
	}

	if (rank == 0)
		bench_begin("smartmap_pingpong", json);
	store_pingpong("smartmap_store_arena", rank, own_arena, smartmap_lookup(!rank, ROOT_ARENA), SMARTMAP_F_WINDOWS);
	store_pingpong("smartmap_store_data", rank, &in_data, smartmap_symmetric(!rank, &in_data), SMARTMAP_F_DATA);
	store_pingpong("smartmap_store_bss", rank, &in_bss, smartmap_symmetric(!rank, &in_bss), SMARTMAP_F_DATA);
	store_pingpong("smartmap_store_heap", rank, heap, smartmap_lookup(!rank, ROOT_HEAP), SMARTMAP_F_WINDOWS);

	buf = smartmap_alloc(MAX, 4096);
	if (!buf) {
		fprintf(stderr, "smartmap_pingpong: smartmap_alloc: %m\n");
		return 1;
	}
	smartmap_publish(ROOT_ARENA, buf);
	smartmap_barrier();
	remote_buf = smartmap_remote(!rank, smartmap_lookup(!rank, ROOT_ARENA));
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
			bench_record("smartmap_copy_fresh", n, v, "ns");
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

	if (bench_args(argc, argv, 1, "--json", "", ""))
		return 2;
	if (bench_cpus(cpu, 2) < 2)
		bench_die("smartmap_pingpong: needs two cores; this process may use one");
	if (bench_line_anonymous())
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

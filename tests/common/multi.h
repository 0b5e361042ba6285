/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * multi.h - what the ranks of a test share besides the library under test
 *
 * tests/common/multi starts the ranks and hands each a page (a memory file, its descriptor in T_PAGE_FD) with a
 * barrier and some words, so that a test can order its ranks without relying on what it tests. A program started
 * without multi is a job of one, and all of this works then, too. Ranks that a launcher has started share the file
 * T_PAGE, which a script has made: 4096 bytes, the number of ranks in the first four.
 */
#ifndef T_MULTI_H
#define T_MULTI_H

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define T_PAGE_BYTES 4096

struct t_page {
	uint32_t size;			/* ranks */
	_Atomic uint32_t dead;		/* ranks that ended by a signal or with a failure: written by multi */
	_Atomic uint32_t arrived, turn;	/* barrier */
	_Atomic uint64_t word[256];	/* for the test */
};

static struct t_page *t_page_;
static int t_rank_, t_size_ = 1;

__attribute__((unused)) static struct t_page *t_page(void)
{
	const char *file = getenv("T_PAGE"), *fd = getenv("T_PAGE_FD");
	const char *rank = getenv(file ? "PMI_RANK" : "PTL_MY_RID");
	void *p = MAP_FAILED;
	int own;

	if (t_page_)
		return t_page_;
	if (file && rank) {
		own = open(file, O_RDWR | O_CLOEXEC);
		p = mmap(NULL, T_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
		if (p == MAP_FAILED)
			perror(file), exit(2);
		close(own);
		t_rank_ = atoi(rank);
	} else if (fd && rank) {
		p = mmap(NULL, T_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0);
		t_rank_ = atoi(rank);
	}
	if (p == MAP_FAILED) {
		p = mmap(NULL, T_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		((struct t_page *)p)->size = 1;
		t_rank_ = 0;
	}
	t_page_ = p;
	t_size_ = (int)t_page_->size;
	return t_page_;
}

__attribute__((unused)) static int t_rank(void)
{
	t_page();
	return t_rank_;
}

__attribute__((unused)) static int t_size(void)
{
	t_page();
	return t_size_;
}

/* Words of the test, zero at start. */
__attribute__((unused)) static _Atomic uint64_t *t_word(int i)
{
	return &t_page()->word[i];
}

__attribute__((unused)) static double t_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* All ranks arrive before one leaves. When a rank has died, the others end here, with a line about it. */
__attribute__((unused)) static void t_barrier(void)
{
	struct t_page *p = t_page();
	uint32_t turn = atomic_load(&p->turn);

	if (atomic_fetch_add(&p->arrived, 1) + 1 == p->size) {
		atomic_store(&p->arrived, 0);
		atomic_fetch_add(&p->turn, 1);
		return;
	}
	for (unsigned spin = 0; atomic_load(&p->turn) == turn; spin++) {
		if (atomic_load(&p->dead)) {
			fprintf(stderr, "# rank %d gives up: another rank has died\n", t_rank_);
			fflush(stdout);
			_exit(1);
		}
		if (spin > 1000)
			nanosleep(&(struct timespec){ 0, 50000 }, NULL);
		else
			sched_yield();
	}
}

/* Wait until word @i is at least @v (a flag or a counter of the test). 0: a rank died, or @seconds passed. */
__attribute__((unused)) static int t_await(int i, uint64_t v, double seconds)
{
	double until = t_now() + seconds;

	for (unsigned spin = 0; atomic_load(t_word(i)) < v; spin++) {
		if (t_now() > until)
			return 0;
		if (spin > 1000)
			nanosleep(&(struct timespec){ 0, 50000 }, NULL);
		else
			sched_yield();
	}
	return 1;
}

/* Printed with every stress, so that it can be repeated: T_SEED or the clock; the same in all ranks. */
__attribute__((unused)) static uint64_t t_seed(void)
{
	const char *s = getenv("T_SEED");
	uint64_t zero = 0, mine = s ? strtoull(s, NULL, 0) : (uint64_t)(t_now() * 1e6) | 1;

	atomic_compare_exchange_strong(t_word(255), &zero, mine);
	mine = atomic_load(t_word(255));
	if (!t_rank())
		fprintf(stderr, "# T_SEED=%llu\n", (unsigned long long)mine);
	return mine;
}

__attribute__((unused)) static uint64_t t_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * images.c - for t_images.sh: static data of the program, and of a library that it is linked with
 *
 * The name of the library's variable may stand for a copy in the program (not PIE); what the library hides cannot.
 */
#include "near.h"
#include "sm.h"

extern long in_library[20];
long *hidden_of_library(void);

static long in_program[20];
long with_a_value[20] = { 2 };

/* v[0]: a counter; v[1..]: what each PE puts there; v[10..]: what each stores through a pointer. */
static void all_ways(long *v)
{
	long first = v[0], got[20] = { 0 };

	REQUIRE(n < 9);
	shmem_barrier_all();
	for (int pe = 0; pe < n; pe++) {
		long *p = shmem_ptr(&v[10 + me], pe);

		CHECK((p != NULL) == t_near(pe));
		CHECK(shmem_addr_accessible(v, pe) == 1);
		shmem_long_p(&v[1 + me], 100 * pe + me, pe);
		if (p)
			*p = 100 * pe + me;
		else
			shmem_long_put(&v[10 + me], &(long){ 100 * pe + me }, 1, pe);
		shmem_long_atomic_add(v, 5, pe);
		CHECK(shmem_long_atomic_fetch_inc(v, pe) >= first + 5);
	}
	shmem_barrier_all();
	CHECK_INT(v[0], first + 6 * n);
	for (int pe = 0; pe < n; pe++) {
		CHECK_INT(v[1 + pe], 100 * me + pe);
		CHECK_INT(v[10 + pe], 100 * me + pe);
		shmem_getmem(got, v, sizeof(got), pe);
		CHECK_INT(got[0], first + 6 * n);
		CHECK_INT(got[1 + me], 100 * pe + me);
		CHECK_INT(got[n], 100 * pe + n - 1);
	}
	shmem_barrier_all();
}

static void t_of_the_program(void) { all_ways(in_program); }
static void t_of_the_program_with_a_value(void) { all_ways(with_a_value); }
static void t_of_the_library(void) { all_ways(in_library); }
static void t_hidden_in_the_library(void) { all_ways(hidden_of_library()); }

int main(void)
{
	static const struct t_case cases[] = {
		T(t_of_the_program), T(t_of_the_program_with_a_value), T(t_of_the_library), T(t_hidden_in_the_library),
		{ 0 }
	};

	sm_start();
	return sm_end(t_run(cases));
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_amo.c - every atomic operation, for every type; nothing is lost when all PEs work on one word */
#include <shmem.h>

#include "multi.h"
#include "tap.h"

enum { ROUNDS = 3000 };
static int me, n, to;

#define STANDARD(NAME, TYPE)								\
static void t_of_##NAME(void)								\
{											\
	TYPE *h = shmem_calloc(4, sizeof(TYPE)), seen;					\
											\
	REQUIRE(h != NULL);								\
	/* on the next PE, where only I work on h[0] */					\
	CHECK(shmem_##NAME##_atomic_fetch_add(h, (TYPE)5, to) == 0);			\
	shmem_##NAME##_atomic_add(h, (TYPE)2, to);					\
	CHECK(shmem_##NAME##_atomic_fetch_inc(h, to) == (TYPE)7);			\
	shmem_##NAME##_atomic_inc(h, to);						\
	CHECK(shmem_##NAME##_atomic_fetch(h, to) == (TYPE)9);				\
	CHECK(shmem_##NAME##_atomic_compare_swap(h, (TYPE)8, (TYPE)1, to) == (TYPE)9);	\
	CHECK(shmem_##NAME##_atomic_compare_swap(h, (TYPE)9, (TYPE)1, to) == (TYPE)9);	\
	CHECK(shmem_##NAME##_atomic_swap(h, (TYPE)4, to) == (TYPE)1);			\
	shmem_##NAME##_atomic_set(h, (TYPE)6, to);					\
	CHECK(shmem_##NAME##_g(h, to) == (TYPE)6);					\
	/* on PE 0, where all work on h[1] and h[2] */					\
	for (int i = 0; i < ROUNDS; i++) {						\
		shmem_##NAME##_atomic_inc(h + 1, 0);					\
		do									\
			seen = shmem_##NAME##_atomic_fetch(h + 2, 0);			\
		while (shmem_##NAME##_atomic_compare_swap(h + 2, seen, (TYPE)(seen + 2), 0) != seen);	\
	}										\
	shmem_barrier_all();								\
	CHECK(shmem_##NAME##_atomic_fetch(h + 1, 0) == (TYPE)(n * ROUNDS));		\
	CHECK(shmem_##NAME##_atomic_fetch(h + 2, 0) == (TYPE)(2 * n * ROUNDS));		\
	shmem_free(h);									\
}
SHMEMI_TYPES_AMO(STANDARD)

#define BITWISE(NAME, TYPE)								\
static void t_bits_##NAME(void)								\
{											\
	TYPE *h = shmem_calloc(1, sizeof(TYPE));					\
											\
	REQUIRE(h != NULL);								\
	CHECK(shmem_##NAME##_atomic_fetch_or(h, (TYPE)0x3c, to) == 0);			\
	CHECK(shmem_##NAME##_atomic_fetch_and(h, (TYPE)0x0f, to) == (TYPE)0x3c);	\
	CHECK(shmem_##NAME##_atomic_fetch_xor(h, (TYPE)0xff, to) == (TYPE)0x0c);	\
	shmem_##NAME##_atomic_or(h, (TYPE)0x100, to);					\
	shmem_##NAME##_atomic_and(h, (TYPE)0x1f0, to);					\
	shmem_##NAME##_atomic_xor(h, (TYPE)0x110, to);					\
	CHECK(shmem_##NAME##_atomic_fetch(h, to) == (TYPE)0x0e0);			\
	shmem_free(h);									\
}
SHMEMI_TYPES_AMO_BIT(BITWISE)

static void t_floating(void)
{
	double *d = shmem_calloc(1, sizeof(*d));
	float *f = shmem_calloc(1, sizeof(*f));

	REQUIRE(d && f);
	shmem_double_atomic_set(d, 1.25, to);
	shmem_float_atomic_set(f, 2.5f, to);
	CHECK(shmem_double_atomic_swap(d, -3, to) == 1.25 && shmem_double_atomic_fetch(d, to) == -3);
	CHECK(shmem_float_atomic_swap(f, -3, to) == 2.5f && shmem_atomic_fetch(f, to) == -3);
	shmem_free(d);
	shmem_free(f);
}

static void t_generic_names_work_on_static_data(void)
{
	static int i;
	static unsigned long u;

	if (!shmem_ptr(&i, to))
		SKIP("static data are not adopted here");
	shmem_atomic_add(&i, 5, 0);
	shmem_atomic_inc(&i, 0);
	shmem_atomic_or(&u, 1ul << me, 0);
	shmem_barrier_all();
	CHECK_INT(shmem_atomic_fetch(&i, 0), 6 * n);
	CHECK(shmem_atomic_fetch_xor(&u, 0ul, 0) == (1ul << n) - 1);
	shmem_barrier_all();
}

int main(void)
{
	static const struct t_case cases[] = {
#define ONE(NAME, TYPE) T(t_of_##NAME),
		SHMEMI_TYPES_AMO(ONE)
#define BIT(NAME, TYPE) T(t_bits_##NAME),
		SHMEMI_TYPES_AMO_BIT(BIT)
		T(t_floating), T(t_generic_names_work_on_static_data), { 0 }
	};
	int rc;

	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	to = (me + 1) % n;
	rc = t_run(cases);
	shmem_finalize();
	return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_amo.c - every atomic operation, for every type, in every form; nothing is lost when all PEs work on one word
 */
#include <smartmap.h>

#include "ctx.h"
#include "near.h"
#include "sm.h"

static int rounds = 3000;

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
	for (int i = 0; i < rounds; i++) {						\
		shmem_##NAME##_atomic_inc(h + 1, 0);					\
		do									\
			seen = shmem_##NAME##_atomic_fetch(h + 2, 0);			\
		while (shmem_##NAME##_atomic_compare_swap(h + 2, seen, (TYPE)(seen + 2), 0) != seen);	\
	}										\
	shmem_barrier_all();								\
	CHECK(shmem_##NAME##_atomic_fetch(h + 1, 0) == (TYPE)(n * rounds));		\
	CHECK(shmem_##NAME##_atomic_fetch(h + 2, 0) == (TYPE)(2 * n * rounds));		\
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

/* With contexts, and without waiting for the old value. h[1]: nobody touches it. */
#define FORMS_OF(NAME, TYPE)								\
static void t_forms_##NAME(void)							\
{											\
	TYPE *h = shmem_calloc(3, sizeof(TYPE)), old;					\
											\
	REQUIRE(h != NULL);								\
	for (form = 0; form < FORMS; form++) {						\
		int pe = t_pe(to);							\
											\
		CALL(NAME##_atomic_set, h, (TYPE)3, pe);				\
		CHECK(CALL(NAME##_atomic_fetch_add, h, (TYPE)5, pe) == (TYPE)3);	\
		CALL(NAME##_atomic_add, h, (TYPE)2, pe);				\
		CHECK(CALL(NAME##_atomic_fetch_inc, h, pe) == (TYPE)10);		\
		CALL(NAME##_atomic_inc, h, pe);						\
		CHECK(CALL(NAME##_atomic_fetch, h, pe) == (TYPE)12);			\
		CHECK(CALL(NAME##_atomic_compare_swap, h, (TYPE)12, (TYPE)-1, pe) == (TYPE)12);	\
		CHECK(CALL(NAME##_atomic_compare_swap, h, (TYPE)12, (TYPE)4, pe) == (TYPE)-1);	\
		CHECK(CALL(NAME##_atomic_swap, h, (TYPE)6, pe) == (TYPE)-1);		\
		NBI(CALL(NAME##_atomic_fetch_add_nbi, &old, h, (TYPE)5, pe), 6);	\
		NBI(CALL(NAME##_atomic_fetch_inc_nbi, &old, h, pe), 11);		\
		NBI(CALL(NAME##_atomic_compare_swap_nbi, &old, h, (TYPE)12, (TYPE)20, pe), 12);	\
		NBI(CALL(NAME##_atomic_compare_swap_nbi, &old, h, (TYPE)12, (TYPE)30, pe), 20);	\
		NBI(CALL(NAME##_atomic_swap_nbi, &old, h, (TYPE)9, pe), 20);		\
		NBI(CALL(NAME##_atomic_fetch_nbi, &old, h, pe), 9);			\
		CHECK(CALL(NAME##_g, h + 1, pe) == (TYPE)0);				\
	}										\
	shmem_free(h);									\
}
#define NBI(call, want)									\
	do {										\
		old = 99;								\
		call;									\
		if (form == PLAIN)							\
			shmem_quiet();							\
		else									\
			shmem_ctx_quiet(t_ctx[form]);					\
		CHECK(old == (want));							\
	} while (0)
SHMEMI_TYPES_AMO(FORMS_OF)

#define BIT_FORMS(NAME, TYPE)								\
static void t_bit_forms_##NAME(void)							\
{											\
	TYPE *h = shmem_calloc(1, sizeof(TYPE)), old;					\
											\
	REQUIRE(h != NULL);								\
	for (form = 0; form < FORMS; form++) {						\
		int pe = t_pe(to);							\
											\
		CALL(NAME##_atomic_set, h, (TYPE)0, pe);				\
		CHECK(CALL(NAME##_atomic_fetch_or, h, (TYPE)0x3c, pe) == 0);		\
		CHECK(CALL(NAME##_atomic_fetch_and, h, (TYPE)0x0f, pe) == (TYPE)0x3c);	\
		CHECK(CALL(NAME##_atomic_fetch_xor, h, (TYPE)0xff, pe) == (TYPE)0x0c);	\
		CALL(NAME##_atomic_or, h, (TYPE)0x100, pe);				\
		CALL(NAME##_atomic_and, h, (TYPE)0x1f0, pe);				\
		CALL(NAME##_atomic_xor, h, (TYPE)0x110, pe);				\
		NBI(CALL(NAME##_atomic_fetch_or_nbi, &old, h, (TYPE)0x01, pe), 0xe0);	\
		NBI(CALL(NAME##_atomic_fetch_and_nbi, &old, h, (TYPE)0xa1, pe), 0xe1);	\
		NBI(CALL(NAME##_atomic_fetch_xor_nbi, &old, h, (TYPE)0xff, pe), 0xa1);	\
		CHECK(CALL(NAME##_atomic_fetch, h, pe) == (TYPE)0x5e);			\
	}										\
	shmem_free(h);									\
}
SHMEMI_TYPES_AMO_BIT(BIT_FORMS)

#define OLD_NAMES(NAME, TYPE)								\
static void t_old_names_##NAME(void)							\
{											\
	TYPE *h = shmem_calloc(1, sizeof(TYPE));					\
											\
	REQUIRE(h != NULL);								\
	shmem_##NAME##_set(h, (TYPE)3, to);						\
	CHECK(shmem_##NAME##_fadd(h, (TYPE)5, to) == 3);				\
	shmem_##NAME##_add(h, (TYPE)2, to);						\
	CHECK(shmem_##NAME##_finc(h, to) == 10);					\
	shmem_##NAME##_inc(h, to);							\
	CHECK(shmem_##NAME##_cswap(h, (TYPE)12, (TYPE)-1, to) == 12);			\
	CHECK(shmem_##NAME##_swap(h, (TYPE)6, to) == -1);				\
	CHECK(shmem_##NAME##_fetch(h, to) == 6);					\
	shmem_free(h);									\
}
SHMEMI_TYPES_OLD(OLD_NAMES)

static void t_floating_forms(void)
{
	double *d = shmem_calloc(1, sizeof(*d));
	float *f = shmem_calloc(1, sizeof(*f)), oldf;

	REQUIRE(d && f);
	for (form = 0; form < FORMS; form++) {
		double old;
		int pe = t_pe(to);

		CALL(double_atomic_set, d, 1.25, pe);
		NBI(CALL(double_atomic_swap_nbi, &old, d, -3.5, pe), 1.25);
		NBI(CALL(double_atomic_fetch_nbi, &old, d, pe), -3.5);
		CALL(float_atomic_set, f, 0.5f, pe);
		CALL(float_atomic_swap_nbi, &oldf, f, 8.5f, pe);
		shmem_quiet();
		if (form != PLAIN)
			shmem_ctx_quiet(t_ctx[form]);
		CHECK(oldf == 0.5f && CALL(float_atomic_fetch, f, pe) == 8.5f);
	}
	shmem_double_set(d, 7.5, to);
	shmem_float_set(f, 7.5f, to);
	CHECK(shmem_double_swap(d, 1, to) == 7.5 && shmem_double_fetch(d, to) == 1);
	CHECK(shmem_float_swap(f, 1, to) == 7.5f && shmem_float_fetch(f, to) == 1);
	shmem_free(d);
	shmem_free(f);
}

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

	int others = 0;			/* that only windows reach */

	for (int pe = 0; pe < n; pe++)
		others += pe != me && t_near(pe);
	if (others && !smartmap_has(SMARTMAP_F_DATA))
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
#define FORM(NAME, TYPE) T(t_forms_##NAME),
		SHMEMI_TYPES_AMO(FORM)
#define BIT_FORM(NAME, TYPE) T(t_bit_forms_##NAME),
		SHMEMI_TYPES_AMO_BIT(BIT_FORM)
#define OLD(NAME, TYPE) T(t_old_names_##NAME),
		SHMEMI_TYPES_OLD(OLD)
		T(t_floating), T(t_floating_forms),
		T(t_generic_names_work_on_static_data), { 0 }
	};
	int rc;

	sm_start();
	if (t_ctx_start())
		return 2;
	for (int pe = 0; pe < n; pe++)
		if (!t_near(pe))
			rounds = 200;		/* each is a round trip */
	rc = t_run(cases);
	t_ctx_end();
	shmem_finalize();
	return rc;
}

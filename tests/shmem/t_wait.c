/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_wait.c - wait_until and test of one variable and of several, with and without a mask, for every type; signals */
#include <unistd.h>

#include "near.h"
#include "sm.h"

enum { N = 9, ROUNDS = 40 };

/* What is true and what is not; no PE but this one. */
#define LOOKING(NAME, TYPE)								\
static void t_look_##NAME(void)								\
{											\
	TYPE *v = shmem_calloc(N, sizeof(TYPE)), c[N];					\
	size_t idx[N], k, seen = 0;							\
	int mask[N] = { 0 }, all[N];							\
											\
	REQUIRE(v != NULL);								\
	for (int i = 0; i < N; i++) {							\
		v[i] = (TYPE)(i + 1);							\
		c[i] = (TYPE)(i + 1 + (i > 4));						\
		all[i] = 2;								\
	}										\
	mask[8] = 1;									\
	CHECK(shmem_##NAME##_test_all(v, N, NULL, SHMEM_CMP_GT, (TYPE)0) == 1);		\
	CHECK(shmem_##NAME##_test_all(v, N, NULL, SHMEM_CMP_LE, (TYPE)8) == 0);		\
	CHECK(shmem_##NAME##_test_all(v, N, mask, SHMEM_CMP_LE, (TYPE)8) == 1);		\
	CHECK(shmem_##NAME##_test_all(v, N, all, SHMEM_CMP_EQ, (TYPE)99) == 1);		\
	CHECK(shmem_##NAME##_test_all(v, 0, NULL, SHMEM_CMP_EQ, (TYPE)99) == 1);	\
	CHECK(shmem_##NAME##_test_all_vector(v, 5, NULL, SHMEM_CMP_EQ, c) == 1);	\
	CHECK(shmem_##NAME##_test_all_vector(v, 6, NULL, SHMEM_CMP_EQ, c) == 0);	\
	CHECK(shmem_##NAME##_test_any(v, N, NULL, SHMEM_CMP_EQ, (TYPE)4) == 3);		\
	CHECK(shmem_##NAME##_test_any(v, N, NULL, SHMEM_CMP_EQ, (TYPE)40) == SIZE_MAX);	\
	CHECK(shmem_##NAME##_test_any(v, N, mask, SHMEM_CMP_EQ, (TYPE)9) == SIZE_MAX);	\
	CHECK(shmem_##NAME##_test_any(v, N, all, SHMEM_CMP_EQ, (TYPE)4) == SIZE_MAX);	\
	CHECK(shmem_##NAME##_test_any(v, 0, NULL, SHMEM_CMP_EQ, (TYPE)4) == SIZE_MAX);	\
	CHECK(shmem_##NAME##_test_any_vector(v, N, NULL, SHMEM_CMP_GT, c) == SIZE_MAX);	\
	CHECK(shmem_##NAME##_test_any_vector(v + 5, 4, mask + 5, SHMEM_CMP_LT, c + 5) < 3);	\
	k = shmem_##NAME##_test_some(v, N, idx, mask, SHMEM_CMP_GE, (TYPE)7);		\
	CHECK(k == 2 && idx[0] + idx[1] == 13);						\
	CHECK(shmem_##NAME##_test_some(v, N, idx, NULL, SHMEM_CMP_LT, (TYPE)1) == 0);	\
	CHECK(shmem_##NAME##_test_some(v, N, idx, all, SHMEM_CMP_GE, (TYPE)1) == 0);	\
	CHECK(shmem_##NAME##_test_some(v, 0, idx, NULL, SHMEM_CMP_GE, (TYPE)1) == 0);	\
	CHECK(shmem_##NAME##_test_some_vector(v, N, idx, NULL, SHMEM_CMP_NE, c) == 4);	\
	/* waits that have ended before they begin, or have nothing to wait for */	\
	shmem_##NAME##_wait_until_all(v, N, mask, SHMEM_CMP_LT, (TYPE)9);		\
	shmem_##NAME##_wait_until_all(v, N, all, SHMEM_CMP_EQ, (TYPE)99);		\
	shmem_##NAME##_wait_until_all(v, 0, NULL, SHMEM_CMP_EQ, (TYPE)99);		\
	shmem_##NAME##_wait_until_all_vector(v, N, NULL, SHMEM_CMP_LE, c);		\
	CHECK(shmem_##NAME##_wait_until_any(v, N, all, SHMEM_CMP_EQ, (TYPE)99) == SIZE_MAX);	\
	CHECK(shmem_##NAME##_wait_until_any(v, 0, NULL, SHMEM_CMP_EQ, (TYPE)99) == SIZE_MAX);	\
	CHECK(shmem_##NAME##_wait_until_any(v, N, mask, SHMEM_CMP_GT, (TYPE)7) == 7);	\
	CHECK(shmem_##NAME##_wait_until_any_vector(v, N, mask, SHMEM_CMP_EQ, c) < 5);	\
	CHECK(shmem_##NAME##_wait_until_some(v, N, idx, all, SHMEM_CMP_EQ, (TYPE)99) == 0);	\
	CHECK(shmem_##NAME##_wait_until_some(v, N, idx, mask, SHMEM_CMP_NE, (TYPE)1) == 7);	\
	CHECK(shmem_##NAME##_wait_until_some_vector(v, N, idx, mask, SHMEM_CMP_EQ, c) == 5);	\
	/* one that stays satisfied is returned by some later call */			\
	for (int i = 0; i < 400; i++)							\
		seen |= (size_t)1 << shmem_##NAME##_wait_until_any(v, N, mask, SHMEM_CMP_GT, (TYPE)0);	\
	CHECK_INT(seen, 0xff);								\
	seen = 0;									\
	for (int i = 0; i < 400; i++)							\
		seen |= (size_t)1 << shmem_##NAME##_test_any_vector(v, N, NULL, SHMEM_CMP_EQ, c);	\
	CHECK_INT(seen, 0x1f);								\
	shmem_free(v);									\
}
SHMEMI_TYPES_AMO(LOOKING)

/* The PE before writes, in an order of its own; in turn by p, an atomic, a put of one, and a store through ptr. */
#define WRITE(NAME, TYPE, addr, value, how)						\
	do {										\
		TYPE x = (TYPE)(value), *there = shmem_ptr(addr, to);			\
											\
		if ((how) % 4 == 0)							\
			shmem_##NAME##_p(addr, x, to);					\
		else if ((how) % 4 == 1)						\
			shmem_##NAME##_atomic_set(addr, x, to);				\
		else if ((how) % 4 == 2 || !there)					\
			shmem_##NAME##_put(addr, &x, 1, to);				\
		else									\
			__atomic_store_n(there, x, __ATOMIC_RELEASE);			\
	} while (0)

#define WAITING(NAME, TYPE)								\
static void t_wait_##NAME(void)								\
{											\
	TYPE *v = shmem_calloc(N + 1, sizeof(TYPE)), c[N];				\
	size_t idx[N];									\
											\
	REQUIRE(v != NULL);								\
	for (int r = 1; r <= ROUNDS; r++) {						\
		int status[N] = { 0 }, left = N;					\
											\
		for (int i = 0; i < N; i++) {						\
			WRITE(NAME, TYPE, v + (i * 4 + r) % N, r, r + i);		\
			c[i] = (TYPE)r;							\
		}									\
		switch (r % 6) {							\
		case 0:									\
			shmem_##NAME##_wait_until_all(v, N, NULL, SHMEM_CMP_EQ, (TYPE)r);	\
			break;								\
		case 1:									\
			while (left--) {						\
				size_t i = shmem_##NAME##_wait_until_any(v, N, status, SHMEM_CMP_GE, (TYPE)r);	\
											\
				REQUIRE(i < N && !status[i]);				\
				status[i] = 1;						\
			}								\
			CHECK(shmem_##NAME##_wait_until_any(v, N, status, SHMEM_CMP_GE, (TYPE)r) == SIZE_MAX);	\
			break;								\
		case 2:									\
			while (left) {							\
				size_t k = shmem_##NAME##_wait_until_some(v, N, idx, status, SHMEM_CMP_EQ, (TYPE)r); \
											\
				REQUIRE(k > 0 && k <= (size_t)left);			\
				for (size_t i = 0; i < k; i++)				\
					status[idx[i]]++;				\
				left -= (int)k;						\
			}								\
			for (int i = 0; i < N; i++)					\
				CHECK_INT(status[i], 1);				\
			break;								\
		case 3:									\
			shmem_##NAME##_wait_until_all_vector(v, N, NULL, SHMEM_CMP_EQ, c);	\
			break;								\
		case 4:									\
			while (!shmem_##NAME##_test_all(v, N, NULL, SHMEM_CMP_EQ, (TYPE)r))	\
				usleep(1);						\
			break;								\
		default:								\
			for (int i = 0; i < N; i++)					\
				shmem_##NAME##_wait_until(v + i, SHMEM_CMP_GT, (TYPE)(r - 1));	\
		}									\
		for (int i = 0; i < N; i++)						\
			CHECK(v[i] == (TYPE)r);						\
		shmem_barrier_all();							\
	}										\
	shmem_free(v);									\
}
SHMEMI_TYPES_AMO(WAITING)

#define SHORT(NAME, TYPE)								\
static void t_deprecated_##NAME(void)							\
{											\
	TYPE *v = shmem_calloc(1, sizeof(TYPE));					\
											\
	REQUIRE(v != NULL);								\
	CHECK(shmem_##NAME##_test(v, SHMEM_CMP_EQ, 0) && !shmem_##NAME##_test(v, SHMEM_CMP_NE, 0));	\
	shmem_barrier_all();								\
	shmem_##NAME##_p(v, 3, to);							\
	shmem_##NAME##_wait_until(v, SHMEM_CMP_GE, 3);					\
	CHECK(*v == 3);									\
	shmem_free(v);									\
}
SHORT(short, short) SHORT(ushort, unsigned short)

#define PLAIN_WAIT(NAME, TYPE)								\
static void t_plain_wait_##NAME(void)							\
{											\
	TYPE *v = shmem_calloc(1, sizeof(TYPE));					\
											\
	REQUIRE(v != NULL);								\
	shmem_##NAME##_p(v, 5, to);							\
	shmem_##NAME##_wait(v, 0);							\
	CHECK(*v == 5);									\
	shmem_free(v);									\
}
SHMEMI_TYPES_WAIT(PLAIN_WAIT)

static void t_untyped_symbols(void)
{
	long *v = shmem_calloc(2, sizeof(long));

	REQUIRE(v != NULL);
	shmem_long_p(&v[0], 5, to);
	shmem_wait(&v[0], 0);
	shmem_long_p(&v[1], 6, to);
	(shmem_wait_until)(&v[1], SHMEM_CMP_EQ, 6);
	CHECK(v[0] == 5 && v[1] == 6);
	shmem_free(v);
}

/* Values beyond the sign bit are compared as what they are. */
static void t_signs(void)
{
	long *s = shmem_calloc(1, sizeof(long));
	unsigned long *u = shmem_calloc(1, sizeof(long));

	REQUIRE(s && u);
	*s = -1;
	*u = ~0ul;
	CHECK(shmem_long_test(s, SHMEM_CMP_LT, 0) && !shmem_long_test(s, SHMEM_CMP_GT, 0));
	CHECK(shmem_ulong_test(u, SHMEM_CMP_GT, 0) && !shmem_ulong_test(u, SHMEM_CMP_LT, 5));
	shmem_free(s);
	shmem_free(u);
}

/* What WRITE() stores through is there, so that its last way is tried. */
static void t_there_is_a_pointer(void)
{
	long *v = shmem_calloc(1, sizeof(long));

	REQUIRE(v != NULL);
	for (int pe = 0; pe < n; pe++)
		CHECK((shmem_ptr(v, pe) != NULL) == t_near(pe));
	shmem_free(v);
}

static void t_signals(void)
{
	uint64_t *sig = shmem_calloc(2, sizeof(*sig));

	REQUIRE(sig != NULL);
	for (uint64_t r = 1; r <= 100; r++) {
		shmem_signal_set(&sig[0], r, to);
		CHECK(shmem_signal_wait_until(&sig[0], SHMEM_CMP_GE, r) == r);
		shmem_ctx_signal_add(SHMEM_CTX_DEFAULT, &sig[1], r, to);
		shmem_signal_wait_until(&sig[1], SHMEM_CMP_EQ, r * (r + 1) / 2);
		CHECK(shmem_signal_fetch(&sig[1]) == r * (r + 1) / 2);
		shmem_barrier_all();
	}
	/* of all PEs to one */
	if (!me)
		sig[0] = 0;
	shmem_barrier_all();
	for (int i = 0; i < 500; i++)
		shmem_signal_add(&sig[0], 3, 0);
	if (!me)
		CHECK(shmem_signal_wait_until(&sig[0], SHMEM_CMP_GE, 1500u * (unsigned)n) == 1500u * (unsigned)n);
	shmem_free(sig);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_there_is_a_pointer),
#define LOOK(NAME, TYPE) T(t_look_##NAME),
		SHMEMI_TYPES_AMO(LOOK)
#define WAIT(NAME, TYPE) T(t_wait_##NAME),
		SHMEMI_TYPES_AMO(WAIT)
#define PLAIN(NAME, TYPE) T(t_plain_wait_##NAME),
		SHMEMI_TYPES_WAIT(PLAIN)
		T(t_deprecated_short), T(t_deprecated_ushort), T(t_untyped_symbols), T(t_signs), T(t_signals), { 0 }
	};

	sm_start();
	return sm_end(t_run(cases));
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_generic.c - each C11 name without a type, plain and with a context; t_args.sh compiles it with all warnings, too */
#include "ctx.h"
#include "sm.h"

static void t_put_and_get(void)
{
	long *h = shmem_calloc(32, sizeof(*h)), src[8] = { 10, 11, 12, 13, 14, 15, 16, 17 }, got[8] = { 0 };
	const long *csrc = src, *ch = h;
	uint64_t *sig = shmem_calloc(1, sizeof(*sig));

	REQUIRE(h && sig);
	for (form = 0; form < FORMS; form++) {
		int pe = t_pe(to);

		for (int i = 0; i < 8; i++)
			src[i] = 100 * me + 10 * form + i;
		*sig = 0;
		shmem_barrier_all();
		if (form == PLAIN) {
			shmem_put(h, csrc, 2, pe);
			shmem_put_nbi(h + 2, src, 2, pe);
			shmem_iput(h + 4, src, 1, 2, 2, pe);
			shmem_ibput(h + 6, src, 2, 4, 2, 2, pe);
			shmem_p(h + 10, src[5], pe);
			shmem_put_signal(h + 11, csrc, 2, sig, 1, SHMEM_SIGNAL_ADD, pe);
			shmem_put_signal_nbi(h + 13, src, 2, sig, 1, SHMEM_SIGNAL_ADD, pe);
			shmem_signal_add(sig, 3, pe);
		} else {
			shmem_ctx_t c = t_ctx[form];

			shmem_put(c, h, csrc, 2, pe);
			shmem_put_nbi(c, h + 2, src, 2, pe);
			shmem_iput(c, h + 4, src, 1, 2, 2, pe);
			shmem_ibput(c, h + 6, src, 2, 4, 2, 2, pe);
			shmem_p(c, h + 10, src[5], pe);
			shmem_put_signal(c, h + 11, csrc, 2, sig, 1, SHMEM_SIGNAL_ADD, pe);
			shmem_put_signal_nbi(c, h + 13, src, 2, sig, 1, SHMEM_SIGNAL_ADD, pe);
			shmem_signal_add(c, sig, 3, pe);
			shmem_ctx_quiet(c);
		}
		shmem_barrier_all();
		CHECK(*sig == 5);
		for (int i = 0; i < 15; i++) {
			static const int want[15] = { 0, 1, 0, 1, 0, 2, 0, 1, 4, 5, 5, 0, 1, 0, 1 };

			CHECK_INT(h[i], 100 * from + 10 * form + want[i]);
		}
		shmem_barrier_all();
		if (form == PLAIN) {
			shmem_get(got, ch, 2, pe);
			shmem_get_nbi(got + 2, h + 10, 1, pe);
			shmem_iget(got + 3, h, 1, 5, 2, pe);
			shmem_ibget(got + 5, h, 1, 2, 1, 2, pe);
			got[7] = shmem_g(ch + 10, pe);
			CHECK(shmem_g(h, pe) == got[0]);
			shmem_signal_set(sig, 9, pe);
		} else {
			shmem_ctx_t c = t_ctx[form];

			shmem_get(c, got, ch, 2, pe);
			shmem_get_nbi(c, got + 2, h + 10, 1, pe);
			shmem_iget(c, got + 3, h, 1, 5, 2, pe);
			shmem_ibget(c, got + 5, h, 1, 2, 1, 2, pe);
			got[7] = shmem_g(c, ch + 10, pe);
			CHECK(shmem_g(c, h, pe) == got[0]);
			shmem_signal_set(c, sig, 9, pe);
			shmem_ctx_quiet(c);
		}
		shmem_barrier_all();
		for (int i = 0; i < 8; i++) {
			static const int want[8] = { 0, 1, 5, 0, 2, 0, 0, 5 };

			CHECK_INT(got[i], 100 * me + 10 * form + want[i]);
		}
		CHECK(*sig == 9);
		shmem_barrier_all();
	}
	shmem_free(sig);
	shmem_free(h);
}

/* What stands before the arguments: nothing, or a context and a comma. */
#define ATOMICS(...)									\
	do {										\
		shmem_atomic_set(__VA_ARGS__ h, 5u, pe);				\
		CHECK(shmem_atomic_fetch(__VA_ARGS__ ch, pe) == 5);			\
		CHECK(shmem_atomic_swap(__VA_ARGS__ h, 6u, pe) == 5);			\
		CHECK(shmem_atomic_compare_swap(__VA_ARGS__ h, 6u, 7u, pe) == 6);	\
		CHECK(shmem_atomic_fetch_inc(__VA_ARGS__ h, pe) == 7);			\
		shmem_atomic_inc(__VA_ARGS__ h, pe);					\
		CHECK(shmem_atomic_fetch_add(__VA_ARGS__ h, 3u, pe) == 9);		\
		shmem_atomic_add(__VA_ARGS__ h, 4u, pe);				\
		CHECK(shmem_atomic_fetch_and(__VA_ARGS__ h, 0x18u, pe) == 16);		\
		shmem_atomic_and(__VA_ARGS__ h, 0x10u, pe);				\
		CHECK(shmem_atomic_fetch_or(__VA_ARGS__ h, 1u, pe) == 16);		\
		shmem_atomic_or(__VA_ARGS__ h, 2u, pe);					\
		CHECK(shmem_atomic_fetch_xor(__VA_ARGS__ h, 0x10u, pe) == 19);		\
		shmem_atomic_xor(__VA_ARGS__ h, 1u, pe);				\
		shmem_atomic_fetch_nbi(__VA_ARGS__ &old[0], ch, pe);			\
		shmem_atomic_swap_nbi(__VA_ARGS__ &old[1], h, 8u, pe);			\
		shmem_atomic_compare_swap_nbi(__VA_ARGS__ &old[2], h, 8u, 9u, pe);	\
		shmem_atomic_fetch_inc_nbi(__VA_ARGS__ &old[3], h, pe);			\
		shmem_atomic_fetch_add_nbi(__VA_ARGS__ &old[4], h, 5u, pe);		\
		shmem_atomic_fetch_and_nbi(__VA_ARGS__ &old[5], h, 0xeu, pe);		\
		shmem_atomic_fetch_or_nbi(__VA_ARGS__ &old[6], h, 0x30u, pe);		\
		shmem_atomic_fetch_xor_nbi(__VA_ARGS__ &old[7], h, 0x3fu, pe);		\
		shmem_quiet();								\
		if (form != PLAIN)							\
			shmem_ctx_quiet(t_ctx[form]);					\
		for (int i = 0; i < 8; i++)						\
			CHECK_INT(old[i], want[i]);					\
		CHECK(shmem_atomic_fetch(__VA_ARGS__ h, pe) == 1);			\
	} while (0)
#define COMMA ,

static void t_atomics(void)
{
	static const unsigned want[8] = { 2, 2, 8, 9, 10, 15, 14, 62 };
	unsigned *h = shmem_calloc(1, sizeof(*h)), old[8];
	const unsigned *ch = h;
	float *f = shmem_calloc(1, sizeof(*f));

	REQUIRE(h && f);
	for (form = 0; form < FORMS; form++) {
		int pe = t_pe(to);

		if (form == PLAIN)
			ATOMICS();
		else
			ATOMICS(t_ctx[form] COMMA);
	}
	shmem_atomic_set(f, 1.5f, to);
	CHECK(shmem_atomic_swap(f, 2.5f, to) == 1.5f && shmem_atomic_fetch(f, to) == 2.5f);
	shmem_free(f);
	shmem_free(h);
}

static void t_deprecated_names(void)
{
	long long *h = shmem_calloc(1, sizeof(*h));
	double *d = shmem_calloc(1, sizeof(*d));

	REQUIRE(h && d);
	shmem_set(h, 5ll, to);
	CHECK(shmem_fetch(h, to) == 5 && shmem_swap(h, 6ll, to) == 5 && shmem_cswap(h, 6ll, 7ll, to) == 6);
	CHECK(shmem_finc(h, to) == 7 && shmem_fadd(h, 2ll, to) == 8);
	shmem_inc(h, to);
	shmem_add(h, 9ll, to);
	CHECK(shmem_fetch(h, to) == 20);
	shmem_set(d, 0.5, to);
	CHECK(shmem_swap(d, 1.5, to) == 0.5 && shmem_fetch(d, to) == 1.5);
	shmem_free(d);
	shmem_free(h);
}

static void t_waiting(void)
{
	int *v = shmem_calloc(3, sizeof(*v)), c[3] = { 1, 2, 3 };
	short *s = shmem_calloc(1, sizeof(*s));
	size_t idx[3];

	REQUIRE(v && s);
	for (int i = 0; i < 3; i++)
		shmem_p(&v[i], i + 1, to);
	shmem_p(s, (short)4, to);
	shmem_wait_until(s, SHMEM_CMP_EQ, 4);
	CHECK(shmem_test(s, SHMEM_CMP_GT, 3));
	shmem_wait_until(&v[2], SHMEM_CMP_EQ, 3);
	shmem_wait_until_all(v, 3, NULL, SHMEM_CMP_GT, 0);
	shmem_wait_until_all_vector(v, 3, NULL, SHMEM_CMP_EQ, c);
	CHECK(shmem_wait_until_any(v, 3, NULL, SHMEM_CMP_EQ, 2) == 1);
	CHECK(shmem_wait_until_any_vector(v, 3, NULL, SHMEM_CMP_EQ, c) < 3);
	CHECK(shmem_wait_until_some(v, 3, idx, NULL, SHMEM_CMP_GE, 2) == 2);
	CHECK(shmem_wait_until_some_vector(v, 3, idx, NULL, SHMEM_CMP_EQ, c) == 3);
	CHECK(shmem_test(&v[0], SHMEM_CMP_EQ, 1));
	CHECK(shmem_test_all(v, 3, NULL, SHMEM_CMP_GT, 0) && shmem_test_all_vector(v, 3, NULL, SHMEM_CMP_LE, c));
	CHECK(shmem_test_any(v, 3, NULL, SHMEM_CMP_EQ, 3) == 2);
	CHECK(shmem_test_any_vector(v, 3, NULL, SHMEM_CMP_GT, c) == SIZE_MAX);
	CHECK(shmem_test_some(v, 3, idx, NULL, SHMEM_CMP_LT, 3) == 2);
	CHECK(shmem_test_some_vector(v, 3, idx, NULL, SHMEM_CMP_NE, c) == 0);
	shmem_free(s);
	shmem_free(v);
}

/* Each type that has a name of its own, and those that are the same type under another. */
static void t_types(void)
{
#define ONE(NAME, TYPE)									\
	do {										\
		TYPE *h = shmem_calloc(2, sizeof(*h)), x = (TYPE)(me + 1);		\
											\
		REQUIRE(h != NULL);							\
		shmem_put(h, &x, 1, to);						\
		shmem_p(SHMEM_CTX_DEFAULT, h + 1, x, to);				\
		shmem_barrier_all();							\
		CHECK(h[0] == (TYPE)(from + 1) && h[1] == (TYPE)(from + 1));		\
		CHECK(shmem_g(h, to) == (TYPE)(me + 1));				\
		shmem_free(h);								\
	} while (0);
	SHMEMI_TYPES_RMA(ONE)
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_put_and_get), T(t_atomics), T(t_deprecated_names), T(t_waiting), T(t_types), { 0 }
	};
	int rc;

	sm_start();
	if (t_ctx_start())
		return 2;
	rc = t_run(cases);
	t_ctx_end();
	shmem_finalize();
	return rc;
}

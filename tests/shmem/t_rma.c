/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_rma.c - put, get, p, g, strided and sized forms, for every type, on the heap and on static data */
#include "near.h"
#include "sm.h"

#define N 37

static char big_static[1 << 20];

/* One variable of each kind per type; every PE writes to the next and looks at what the one before has written. */
#define TYPED(NAME, TYPE)								\
static TYPE NAME##_s[N], NAME##_one;							\
static void t_of_##NAME(void)								\
{											\
	TYPE *h = shmem_malloc(3 * N * sizeof(TYPE)), mine[N], got[N];			\
											\
	REQUIRE(h != NULL);								\
	for (int i = 0; i < N; i++)							\
		mine[i] = (TYPE)(me + 3 * i);						\
	memset(h, 0, 3 * N * sizeof(TYPE));						\
	shmem_barrier_all();								\
	shmem_##NAME##_put(h, mine, N, to);						\
	shmem_##NAME##_put_nbi(NAME##_s, mine, N, to);					\
	shmem_##NAME##_p(&NAME##_one, (TYPE)(me + 1), to);				\
	shmem_##NAME##_iput(h + N, mine, 2, 3, N / 3, to);				\
	shmem_barrier_all();								\
	for (int i = 0; i < N; i++) {							\
		CHECK(h[i] == (TYPE)(from + 3 * i));					\
		CHECK(NAME##_s[i] == (TYPE)(from + 3 * i));				\
	}										\
	CHECK(NAME##_one == (TYPE)(from + 1));						\
	for (int i = 0; i < N / 3; i++) {						\
		CHECK(h[N + 2 * i] == (TYPE)(from + 9 * i));				\
		CHECK(h[N + 2 * i + 1] == (TYPE)0);					\
	}										\
	/* what the next PE holds now came from me */					\
	shmem_##NAME##_get(got, h, N, to);						\
	for (int i = 0; i < N; i++)							\
		CHECK(got[i] == mine[i]);						\
	shmem_##NAME##_get_nbi(got, NAME##_s, N, to);					\
	shmem_quiet();									\
	CHECK(got[N - 1] == mine[N - 1]);						\
	CHECK(shmem_##NAME##_g(&NAME##_one, to) == (TYPE)(me + 1));			\
	shmem_##NAME##_iget(got, h, 1, 4, N / 4, to);					\
	for (int i = 0; i < N / 4; i++)							\
		CHECK(got[i] == mine[4 * i]);						\
	shmem_free(h);									\
}
SHMEMI_TYPES_RMA(TYPED)

#define SIZED(BITS)									\
static void t_size_##BITS(void)								\
{											\
	enum { B = BITS / 8 };								\
	unsigned char *h = shmem_malloc(2 * N * B), mine[N * B], got[N * B];		\
											\
	REQUIRE(h != NULL);								\
	for (int i = 0; i < N * B; i++)							\
		mine[i] = (unsigned char)(me * 7 + i);					\
	shmem_barrier_all();								\
	shmem_put##BITS(h, mine, N, to);						\
	shmem_iput##BITS(h + N * B, mine, 1, 2, N / 2, to);				\
	shmem_barrier_all();								\
	for (int i = 0; i < N * B; i++)							\
		CHECK(h[i] == (unsigned char)(from * 7 + i));				\
	for (int i = 0; i < N / 2 * B; i++)						\
		CHECK(h[N * B + i] == (unsigned char)(from * 7 + i / B * 2 * B + i % B));	\
	shmem_get##BITS(got, h, N, to);							\
	CHECK_MEM(got, mine, N * B);							\
	shmem_iget##BITS(got, h, 2, 1, N / 2, to);					\
	CHECK_MEM(got + 2 * B, mine + B, B);						\
	shmem_free(h);									\
}
SIZED(8) SIZED(16) SIZED(32) SIZED(64) SIZED(128)

static void t_large_and_odd(void)
{
	static const size_t len[] = { 0, 1, 3, 7, 8, 9, 63, 64, 65, 4095, 65537, 1000003 };
	char *h = shmem_malloc(1 << 20), *mine = malloc(1 << 20), *got = malloc(1 << 20);

	REQUIRE(h && mine && got);
	for (size_t k = 0; k < sizeof(len) / sizeof(*len); k++) {
		for (size_t i = 0; i < len[k]; i++)
			mine[i] = (char)(i * 13 + (size_t)me + k);
		shmem_barrier_all();
		shmem_putmem(h + 1, mine, len[k], to);
		shmem_putmem(big_static + 1, mine, len[k], to);
		shmem_barrier_all();
		shmem_getmem(got, h + 1, len[k], to);
		CHECK_MEM(got, mine, len[k]);
		shmem_getmem(got, big_static + 1, len[k], to);
		CHECK_MEM(got, mine, len[k]);
		for (size_t i = 0; i < len[k]; i++)
			if (h[i + 1] != (char)(i * 13 + (size_t)from + k) || h[i + 1] != big_static[i + 1]) {
				CHECK(!"bytes of the PE before");
				break;
			}
	}
	free(mine);
	free(got);
	shmem_free(h);
}

static void t_self_may_overlap(void)
{
	static char s[16] = "0123456789";

	shmem_putmem(s + 2, s, 8, me);
	CHECK_MEM(s, "0101234567", 10);
}

static void t_generic_names(void)
{
	static double d[2];
	static long l;
	double x[2] = { me + 0.5, 2 };
	const long *cl = &l;

	shmem_put(d, x, 2, to);
	shmem_p(&l, 7L + me, to);
	shmem_barrier_all();
	CHECK(d[0] == from + 0.5 && l == 7 + from);
	CHECK(shmem_g(d, to) == me + 0.5 && shmem_g(cl, to) == 7 + me);
	shmem_get(x, d + 1, 1, to);
	CHECK(x[0] == 2);
	shmem_barrier_all();
}

static void t_ptr_and_accessible(void)
{
	enum { MAX = 16 };
	int *h = shmem_calloc(MAX, sizeof(int)), local = 0;
	static int s[MAX];

	REQUIRE(h != NULL && n <= MAX);
	CHECK(h[0] == 0 && h[3] == 0);
	for (int pe = 0; pe < n; pe++) {
		CHECK(shmem_pe_accessible(pe) == 1);
		CHECK(shmem_addr_accessible(h, pe) == 1 && shmem_addr_accessible(s, pe) == 1);
		CHECK(shmem_addr_accessible(&local, pe) == 0 && shmem_ptr(&local, pe) == NULL);
		CHECK((shmem_ptr(h, pe) != NULL) == t_near(pe));
		CHECK((shmem_ptr(s, pe) != NULL) == (pe == me || (t_near(pe) && t_static_near())));
	}
	CHECK(shmem_ptr(h, me) == h && shmem_ptr(s, me) == s);
	CHECK(shmem_pe_accessible(-1) == 0 && shmem_pe_accessible(n) == 0 && shmem_ptr(h, n) == NULL);
	shmem_barrier_all();
	/* through each pointer, an element of its own on each PE; by put where there is none */
	for (int pe = 0; pe < n; pe++) {
		int *p = shmem_ptr(&h[me], pe), *q = shmem_ptr(&s[me], pe), v = 1000 * me + pe;

		if (p)
			*p = v;
		else
			shmem_int_p(&h[me], v, pe);
		if (q)
			*q = v;
		else
			shmem_int_p(&s[me], v, pe);
	}
	shmem_barrier_all();
	for (int pe = 0; pe < n; pe++) {
		CHECK_INT(h[pe], 1000 * pe + me);
		CHECK_INT(s[pe], 1000 * pe + me);
	}
	shmem_free(h);
}

static void t_who(void)
{
	char name[SHMEM_MAX_NAME_LEN];
	int major, minor, yes = 0, level = -1;

	CHECK_INT(shmem_my_pe(), t_rank());
	CHECK_INT(shmem_n_pes(), t_size());
	shmem_info_get_version(&major, &minor);
	shmem_info_get_name(name);
	CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION && !strcmp(name, SHMEM_VENDOR_STRING));
	shmem_query_initialized(&yes);
	shmem_query_thread(&level);
	CHECK(yes == 1 && level == SHMEM_THREAD_MULTIPLE);
}

static void t_init_counts(void)
{
	int yes;

	shmem_init();
	shmem_finalize();
	shmem_query_initialized(&yes);
	CHECK(yes == 1 && shmem_n_pes() == n);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_who), T(t_init_counts),
#define ONE(NAME, TYPE) T(t_of_##NAME),
		SHMEMI_TYPES_RMA(ONE)
		T(t_size_8), T(t_size_16), T(t_size_32), T(t_size_64), T(t_size_128), T(t_large_and_odd),
		T(t_self_may_overlap), T(t_generic_names), T(t_ptr_and_accessible), { 0 }
	};

	sm_start();
	return sm_end(t_run(cases));
}

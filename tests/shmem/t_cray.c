/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_cray.c - what Cray's OpenSHMEMX has beside OpenSHMEM: teams, alltoallv, atomic operations with handles, signals */
#include <mpp/shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "sm.h"

#define MOST	64		/* bytes from one PE for one other */

static long psync[2][SHMEM_ALLTOALL_SYNC_SIZE];
static int trunc_set;		/* SHMEM_ALLTOALLV_TSIZE_CHK=trunc */

/* ---- teams ---- */

/* @t consists of PEs @pe, in that order, and can do something together. */
static void check_team(shmem_team_t t, const int *pe, int size)
{
	static long word;
	long sum = 0;

	REQUIRE(t != SHMEM_TEAM_NULL);
	CHECK_INT(shmemx_team_n_pes(t), size);
	for (int i = 0; i < size; i++) {
		CHECK_INT(shmemx_team_translate_pe(t, i, SHMEM_TEAM_WORLD), pe[i]);
		CHECK_INT(shmemx_team_translate_pe(SHMEM_TEAM_WORLD, pe[i], t), i);
		sum += pe[i];
	}
	CHECK_INT(pe[shmemx_team_my_pe(t)], me);
	shmem_long_p(&word, 0, me);
	shmemx_team_barrier(t, psync[0]);
	shmem_long_atomic_add(&word, me, pe[0]);
	shmem_team_barrier(t, psync[0]);
	CHECK_INT(shmem_long_g(&word, pe[0]), sum);
	shmem_team_barrier(t, psync[0]);
}

/* Three colours, the order turned round; then each team by two, which have lists for parents. */
static void t_teams_by_color(void)
{
	int *pe = calloc((size_t)n, sizeof(*pe)), *half = calloc((size_t)n, sizeof(*half)), k = 0, h = 0;
	shmem_team_t t, u;

	for (int i = n - 1; i >= 0; i--)
		if (i % 3 == me % 3)
			pe[k++] = i;
	shmemx_team_split(SHMEM_TEAM_WORLD, me % 3, -me, &t);
	check_team(t, pe, k);
	for (int i = 0; i < k; i++)
		if (i % 2 == shmemx_team_my_pe(t) % 2)
			half[h++] = pe[i];
	shmemx_team_split_color(t, 7 + shmemx_team_my_pe(t) % 2, 0, &u);
	check_team(u, half, h);
	shmemx_team_destroy(&u);
	CHECK(u == SHMEM_TEAM_NULL);
	shmemx_team_destroy(&t);
	free(pe);
	free(half);
}

static void t_who_has_no_color_has_no_team(void)
{
	int *pe = calloc((size_t)n, sizeof(*pe)), k = 0, lone = n / 2;
	shmem_team_t t = SHMEM_TEAM_WORLD;

	for (int i = 0; i < n; i++)
		if (i != lone)
			pe[k++] = i;
	shmemx_team_split(SHMEM_TEAM_WORLD, me == lone ? SHMEM_COLOR_UNDEFINED : INT32_MAX, 5, &t);
	CHECK_INT(t == SHMEM_TEAM_NULL, me == lone);
	if (me != lone) {
		check_team(t, pe, k);
		shmemx_team_destroy(&t);
	}
	shmem_barrier_all();
	free(pe);
}

static void t_extreme_keys(void)
{
	static const int key[] = { 0, INT32_MAX, INT32_MIN, -1, 1, 0, INT32_MAX };
	int *pe = calloc((size_t)n, sizeof(*pe)), k = 0;
	shmem_team_t t;

	for (long v = INT32_MIN; v <= INT32_MAX; v = v == INT32_MIN ? -1 : v == 1 ? INT32_MAX : v + 1)
		for (int i = 0; i < n; i++)
			if (key[i % 7] == v)
				pe[k++] = i;
	CHECK_INT(k, n);
	shmemx_team_split(SHMEM_TEAM_WORLD, 0, key[me % 7], &t);
	check_team(t, pe, k);
	shmemx_team_destroy(&t);
	free(pe);
}

static void line(int start, int stride, int size, int inside, shmem_team_t *t)
{
	int *pe = calloc((size_t)size, sizeof(*pe));

	for (int i = 0; i < size; i++)
		pe[i] = start + i * stride;
	CHECK_INT(*t != SHMEM_TEAM_NULL, inside);
	if (*t != SHMEM_TEAM_NULL) {
		check_team(*t, pe, size);
		shmemx_team_destroy(t);
	}
	free(pe);
}

static void t_teams_of_a_space(void)
{
	int xr = n > 3 ? 2 : 1, yr = n > 1 ? 2 : 1, zr = n / (xr * yr);
	int x = me % xr, y = me / xr % yr, z = me / xr / yr;
	shmem_team_t a, b, c;

	shmemx_team_split_3d(SHMEM_TEAM_WORLD, xr, yr, zr, &a, &b, &c);
	line((z * yr + y) * xr, 1, xr, z < zr, &a);
	line(z * yr * xr + x, xr, yr, z < zr, &b);
	line(y * xr + x, xr * yr, zr, z < zr, &c);
	shmem_barrier_all();
	yr = n / xr;
	y = me / xr;
	shmemx_team_split_2d(SHMEM_TEAM_WORLD, xr, yr, &a, &b);
	line(y * xr, 1, xr, y < yr, &a);
	line(x, xr, yr, y < yr, &b);
	shmem_barrier_all();
}

static void t_stretches(void)
{
	int size = (n + 1) / 2;
	shmem_team_t t, u;

	shmemx_team_create_strided(0, 2, size, &t);
	CHECK_INT(t != SHMEM_TEAM_NULL, me % 2 == 0);
	if (t != SHMEM_TEAM_NULL) {
		shmemx_team_split_strided(t, size - 1, -1, size, &u);
		CHECK_INT(shmemx_team_my_pe(u), size - 1 - me / 2);
		shmemx_team_destroy(&u);
	}
	line(0, 2, size, me % 2 == 0, &t);
	shmem_barrier_all();
}

static void t_contexts_of_teams(void)
{
	shmem_team_config_t config = { .num_contexts = 9 };
	shmem_team_t t = SHMEM_TEAM_NULL;
	shmem_ctx_t ctx;

	CHECK_INT(shmemx_team_get_config(SHMEM_TEAM_NODE, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
	CHECK(config.num_contexts != 9);
	CHECK_INT(shmemx_team_ctx_create(SHMEM_TEAM_WORLD, 0, &ctx), 0);
	CHECK_INT(shmemx_ctx_get_team(ctx, &t), 0);
	CHECK(t == SHMEM_TEAM_WORLD);
	shmem_ctx_destroy(ctx);
}

/* ---- alltoallv ---- */

/* What PE @a has for PE @b in round @r: how much, and its bytes. */
static size_t length(int a, int b, int r)
{
	return (size_t)(7 * a + 3 * b + 11 * r) % 5 == 0 ? 0 : (size_t)(13 * a + 5 * b + r) % (MOST + 1);
}

static unsigned char byte(int a, int b, int r, size_t i)
{
	return (unsigned char)(1 + a * 37 + b * 11 + r * 5 + (int)i);
}

struct v {
	unsigned char *source, *target;
	size_t *s_offsets, *s_sizes, *t_offsets, *t_sizes;
};

static struct v v_new(void)
{
	size_t words = (size_t)n * sizeof(size_t);

	return (struct v){ shmem_malloc((size_t)n * (MOST + 3)), shmem_malloc((size_t)n * (MOST + 5)),
			   shmem_malloc(words), shmem_malloc(words), shmem_malloc(words), shmem_malloc(words) };
}

static void v_free(struct v *v)
{
	shmem_free(v->source);
	shmem_free(v->target);
	shmem_free(v->s_offsets);
	shmem_free(v->s_sizes);
	shmem_free(v->t_offsets);
	shmem_free(v->t_sizes);
}

/* PEs @pe[0..size-1]. The pieces lie the other way round at the source, and apart. */
static void v_fill(struct v *v, const int *pe, int size, int r)
{
	memset(v->target, 0xEE, (size_t)n * (MOST + 5));
	for (int i = 0; i < size; i++) {
		v->s_offsets[i] = (size_t)(size - 1 - i) * (MOST + 3);
		v->s_sizes[i] = length(me, pe[i], r);
		v->t_offsets[i] = (size_t)((i + r) % size) * (MOST + 5);
		v->t_sizes[i] = trunc_set ? MOST / 2 : 12345;
		for (size_t k = 0; k < v->s_sizes[i]; k++)
			v->source[v->s_offsets[i] + k] = byte(me, pe[i], r, k);
	}
}

static void v_check(const struct v *v, const int *pe, int size, int r)
{
	for (int i = 0; i < size; i++) {
		size_t len = length(pe[i], me, r), bad = 0;
		const unsigned char *at = v->target + v->t_offsets[i];

		if (trunc_set && len > MOST / 2)
			len = MOST / 2;
		CHECK_INT(v->t_sizes[i], len);
		for (size_t k = 0; k < MOST + 5; k++)
			bad += at[k] != (k < len ? byte(pe[i], me, r, k) : 0xEE);
		CHECK_INT(bad, 0);
	}
}

/* The pieces in whatever order: each begins where another ends, and says by its bytes whose it is. */
static void packed_check(const struct v *v, size_t got, const int *pe, int size, int r)
{
	size_t want = 0, at = 0;
	int seen = 0, pieces = 0;

	for (int i = 0; i < size; i++) {
		want += length(pe[i], me, r);
		pieces += length(pe[i], me, r) > 0;
	}
	CHECK_INT(got, want);
	for (int found = 1; at < got && found;) {
		found = 0;
		for (int i = 0; i < size && !found; i++) {
			size_t len = length(pe[i], me, r), k = 0;

			while (k < len && at + k < got && v->target[at + k] == byte(pe[i], me, r, k))
				k++;
			if (len && k == len) {
				at += len;
				seen++;
				found = 1;
			}
		}
	}
	CHECK_INT(at, got);
	CHECK_INT(seen, pieces);
	CHECK_INT(v->target[got], 0xEE);
}

static void rounds(int start, int log_stride, int size, shmem_team_t team)
{
	int *pe = calloc((size_t)n, sizeof(*pe)), in = 0;
	struct v v = v_new();

	for (int i = 0; i < size; i++) {
		pe[i] = team ? shmemx_team_translate_pe(team, i, SHMEM_TEAM_WORLD) : start + (i << log_stride);
		in |= pe[i] == me;
	}
	for (int r = 0; in && r < 20; r++) {
		size_t got = 99;

		v_fill(&v, pe, size, r);
		if (team)
			shmemx_team_alltoallv(v.target, v.t_offsets, v.t_sizes, v.source, v.s_offsets, v.s_sizes, team,
					      psync[r & 1]);
		else
			shmemx_alltoallv(v.target, v.t_offsets, v.t_sizes, v.source, v.s_offsets, v.s_sizes, start,
					 log_stride, size, psync[r & 1]);
		v_check(&v, pe, size, r);
		v_fill(&v, pe, size, r + 50);
		if (team)
			shmemx_team_alltoallv_packed(v.target, (size_t)n * (MOST + 5), &got, v.source, v.s_offsets,
						     v.s_sizes, team, psync[r & 1]);
		else
			shmemx_alltoallv_packed(v.target, (size_t)n * (MOST + 5), &got, v.source, v.s_offsets,
						v.s_sizes, start, log_stride, size, psync[r & 1]);
		packed_check(&v, got, pe, size, r + 50);
	}
	shmem_barrier_all();
	v_free(&v);
	free(pe);
}

static void t_alltoallv(void)
{
	rounds(0, 0, n, NULL);
}

static void t_alltoallv_of_a_part(void)
{
	rounds(n > 1, 1, n > 1 ? n / 2 : 1, NULL);
}

static void t_alltoallv_of_a_team(void)
{
	shmem_team_t t;

	shmemx_team_split(SHMEM_TEAM_WORLD, me % 2, -me, &t);
	rounds(0, 0, shmemx_team_n_pes(t), t);
	shmemx_team_destroy(&t);
}

/* The target's length is heeded to the byte. */
static void t_alltoallv_packed_that_just_fits(void)
{
	struct v v = v_new();
	size_t got = 0, want = 0;

	for (int i = 0; i < n; i++) {
		v.s_offsets[i] = 0;
		v.s_sizes[i] = (size_t)(i + 1);
		want += (size_t)(me + 1);
	}
	memset(v.source, 1 + me, (size_t)n);
	memset(v.target, 0xEE, (size_t)n * (MOST + 5));
	shmemx_alltoallv_packed(v.target, trunc_set ? want - 1 : want, &got, v.source, v.s_offsets, v.s_sizes, 0, 0, n,
				psync[0]);
	CHECK_INT(got, trunc_set ? want - 1 : want);
	CHECK_INT(v.target[got], 0xEE);
	CHECK(!got || v.target[got - 1] != 0xEE);
	shmem_barrier_all();
	v_free(&v);
}

/* ---- atomic operations with handles; signals ---- */

/* P: the prefix. Each PE works on the next one's word; after quiet the old values are here. */
#define SWAP_NB(P, N, T)									\
	{											\
		static T w;									\
		T old = 0;									\
		void *handle = &w;								\
												\
		w = (T)(3 + me);								\
		shmem_barrier_all();								\
		P##N##_swap_nb(&old, &w, (T)(50 + me), to, &handle);				\
		CHECK(handle == NULL);								\
		shmem_quiet();									\
		CHECK(old == (T)(3 + to));							\
		shmem_barrier_all();								\
		CHECK(w == (T)(50 + from));							\
		shmem_barrier_all();								\
	}
#define AMO_NB(P, N, T)										\
	{											\
		static T w;									\
		T old[4] = { 0 };								\
		void *handle = &w;								\
												\
		w = (T)(3 + me);								\
		shmem_barrier_all();								\
		P##N##_fadd_nb(&old[0], &w, (T)10, to, &handle);				\
		CHECK(handle == NULL);								\
		shmem_quiet();									\
		P##N##_finc_nb(&old[1], &w, to, NULL);						\
		shmem_quiet();									\
		P##N##_add_nb(&w, (T)20, to, &handle);						\
		P##N##_inc_nb(&w, to, &handle);							\
		shmem_quiet();									\
		P##N##_cswap_nb(&old[2], &w, (T)1, (T)2, to, &handle);				\
		shmem_quiet();									\
		P##N##_cswap_nb(&old[3], &w, (T)(35 + to), (T)(60 + me), to, NULL);		\
		shmem_quiet();									\
		CHECK(old[0] == (T)(3 + to) && old[1] == (T)(13 + to));				\
		CHECK(old[2] == (T)(35 + to) && old[3] == (T)(35 + to));			\
		shmem_barrier_all();								\
		CHECK(w == (T)(60 + from));							\
		shmem_barrier_all();								\
	}
#define AMO_NB_X(N, T) AMO_NB(shmemx_, N, T)
#define SWAP_NB_X(N, T) SWAP_NB(shmemx_, N, T)
#define AMO_NB_OLD(N, T) AMO_NB(shmem_, N, T)
#define SWAP_NB_OLD(N, T) SWAP_NB(shmem_, N, T)

static void t_atomics_with_handles(void)
{
	SHMEMI_TYPES_AMO(AMO_NB_X)
	SHMEMI_TYPES_AMO_EXT(SWAP_NB_X)
	AMO_NB_X(short, short)
	SWAP_NB_X(short, short)
}

static void t_atomics_with_handles_by_older_names(void)
{
	SHMEMI_TYPES_OLD(AMO_NB_OLD)
	SHMEMI_TYPES_OLD_EXT(SWAP_NB_OLD)
	AMO_NB_OLD(short, short)
	SWAP_NB_OLD(short, short)
}

static uint64_t *sig;
static unsigned char *data;

/* @bytes of data and the signal; whoever sees the one sees the other. */
static void arrived(uint64_t value, size_t bytes, const char *what)
{
	size_t bad = 0;

	shmem_uint64_wait_until(sig, SHMEM_CMP_EQ, value);
	for (size_t i = 0; i < 64; i++)
		bad += data[i] != (unsigned char)(i < bytes ? value + i : 0);
	if (bad)
		diag("%s: %zu bytes are wrong", what, bad);
	CHECK(!bad);
	shmem_barrier_all();
	memset(data, 0, 64);
	shmem_barrier_all();
}

#define SEND(NAME, T, SIZE)									\
	value++;										\
	for (size_t i = 0; i < 64; i++)								\
		own.b[i] = (unsigned char)(value + i);						\
	shmemx_##NAME((T *)data, (const T *)own.b, 2, sig, value, to);				\
	arrived(value, 2 * (SIZE), #NAME);
#define SEND_TYPE(N, T) SEND(N##_put_signal, T, sizeof(T)) SEND(N##_put_signal_nb, T, sizeof(T))
#define SEND_SIZE(S, SIZE) SEND(put##S##_signal, void, SIZE) SEND(put##S##_signal_nb, void, SIZE)

static void t_puts_with_signals(void)
{
	union {
		unsigned char b[64];
		long double aligned;
	} own;
	uint64_t value = 100;

	sig = shmem_calloc(1, sizeof(*sig));
	data = shmem_calloc(64, 1);
	SHMEMI_TYPES_RMA(SEND_TYPE)
	SEND_SIZE(8, 1)
	SEND_SIZE(16, 2)
	SEND_SIZE(32, 4)
	SEND_SIZE(64, 8)
	SEND_SIZE(128, 16)
	SEND_SIZE(mem, 1)
	shmemx_signal_set(sig, 7, to);
	shmem_uint64_wait_until(sig, SHMEM_CMP_EQ, 7);
	shmem_barrier_all();
	shmemx_ctx_signal_set(SHMEM_CTX_DEFAULT, sig, 8, to);
	shmem_uint64_wait_until(sig, SHMEM_CMP_EQ, 8);
	shmem_barrier_all();
	shmem_free(data);
	shmem_free(sig);
}

/* Hints change nothing that can be seen. */
static void t_sessions(void)
{
	static long word;

	word = 0;
	shmem_barrier_all();
	shmemx_session_start(SHMEM_CTX_DEFAULT, SHMEM_SESSION_UNIFORM_AMO | SHMEM_SESSION_BUNDLE);
	shmemx_session_start(SHMEM_CTX_DEFAULT, SHMEM_SESSION_OP_AMO);
	for (int i = 0; i < 100; i++)
		shmem_long_atomic_inc(&word, to);
	shmemx_session_stop(SHMEM_CTX_DEFAULT);
	shmemx_session_stop(SHMEM_CTX_DEFAULT);
	shmem_barrier_all();
	CHECK_INT(word, 100);
	shmem_barrier_all();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_teams_by_color), T(t_who_has_no_color_has_no_team), T(t_extreme_keys), T(t_teams_of_a_space),
		T(t_stretches), T(t_contexts_of_teams), T(t_alltoallv), T(t_alltoallv_of_a_part),
		T(t_alltoallv_of_a_team), T(t_alltoallv_packed_that_just_fits), T(t_atomics_with_handles),
		T(t_atomics_with_handles_by_older_names), T(t_puts_with_signals), T(t_sessions), { 0 }
	};
	const char *check = getenv("SHMEM_ALLTOALLV_TSIZE_CHK");

	trunc_set = check && !strcmp(check, "trunc");
	sm_start();
	return sm_end(t_run(cases));
}

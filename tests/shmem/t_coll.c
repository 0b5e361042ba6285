/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_coll.c - rules of collectives, and random sequences of them over random teams, with a seed that is printed */
#include "sm.h"

#define BIG	(3u << 20)

static char *dest, *source;		/* BIG bytes for each PE, and some */
static long psync[SHMEM_SYNC_SIZE];

static char byte(int pe, size_t i, int round)
{
	return (char)((size_t)pe * 101 + i * 7 + i / 251 + (size_t)round * 31);
}

static void fill(char *p, size_t len, int pe, int round)
{
	for (size_t i = 0; i < len; i++)
		p[i] = byte(pe, i, round);
}

static int differ(const char *p, size_t len, int pe, size_t from, int round)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != byte(pe, from + i, round)) {
			diag("byte %zu of %zu of PE %d", i, len, pe);
			return 1;
		}
	return 0;
}

/*
 * Nobody leaves before the last has come, on any kind of set. shmem_sync completes nothing: what is counted before it
 * has been counted when the call returns, since that gives the old value.
 */
static void t_nobody_leaves_early(void)
{
	long *count = shmem_calloc(2, sizeof(*count));
	shmem_team_t pair;

	REQUIRE(count != NULL);
	shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n > 1 ? 2 : 1, NULL, 0, &pair);
	for (long r = 1; r <= 200; r++) {
		if (r % 3 == 2)
			shmem_atomic_fetch_inc(&count[0], 0);
		else
			shmem_atomic_inc(&count[0], 0);
		if (r % 3 == 0)
			shmem_barrier_all();
		else if (r % 3 == 1)
			shmem_barrier(0, 0, n, psync);
		else
			shmem_sync(0, 0, n, psync);
		CHECK_INT(shmem_g(&count[0], 0), r * n);
		shmem_team_sync(SHMEM_TEAM_WORLD);
		if (pair == SHMEM_TEAM_INVALID)
			continue;
		shmem_atomic_fetch_inc(&count[1], 0);
		shmem_team_sync(pair);
		CHECK_INT(shmem_g(&count[1], 0), r * (n > 1 ? 2 : 1));
		shmem_team_sync(pair);
	}
	shmem_team_destroy(pair);
	shmem_free(count);
}

/* The root may go far ahead; who reads late reads what was meant for it. */
static void t_root_far_ahead(void)
{
	for (int len = 8; len <= 8000; len *= 10)
		for (int r = 0; r < 60; r++) {
			if (me == n - 1 && r % 20 == 0)
				usleep(3000);
			memset(source, 0, (size_t)len);		/* the source may be used again at once */
			fill(source, (size_t)len, me, r);
			CHECK_INT(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, (size_t)len, 0), 0);
			CHECK_INT(differ(dest, (size_t)len, 0, 0, r), 0);
		}
	shmem_sync_all();
}

static void t_zero_elements(void)
{
	dest[0] = 17;
	shmem_sync_all();
	CHECK_INT(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, 0, 0), 0);
	CHECK_INT(shmem_broadcastmem(SHMEM_TEAM_WORLD, NULL, NULL, 0, 0), 0);
	CHECK_INT(shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, 0), 0);
	CHECK_INT(shmem_collectmem(SHMEM_TEAM_WORLD, dest, source, 0), 0);
	CHECK_INT(shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, 0), 0);
	CHECK_INT(shmem_alltoallsmem(SHMEM_TEAM_WORLD, dest, source, 1, 2, 0), 0);
	CHECK_INT(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, (int *)dest, (int *)source, 0), 0);
	CHECK_INT(shmem_int_sum_exscan(SHMEM_TEAM_WORLD, (int *)dest, (int *)source, 0), 0);
	CHECK_INT(shmem_sync(SHMEM_TEAM_WORLD), 0);
	CHECK_INT(dest[0], 17);
}

/* Lengths around pieces, halves and lines; addresses that are aligned to nothing. */
static void t_large_and_odd(void)
{
	static const size_t len[] = { 47, 48, 49, 63, 1000, 4095, 4096, 4097, 8191, 8193, 100003,
					2 << 18, (2 << 18) + 1, BIG - 1 };

	for (size_t k = 0; k < sizeof(len) / sizeof(*len); k++) {
		size_t l = len[k], part = l / (size_t)n, at = 0;
		int root = (int)k % n, bad = 0;

		shmem_sync_all();
		fill(source + 1, l, me, (int)k);
		memset(dest, 0, l + 8);
		shmem_sync_all();
		shmem_broadcastmem(SHMEM_TEAM_WORLD, dest + 3, source + 1, l, root);
		bad += differ(dest + 3, l, root, 0, (int)k) || dest[2] || dest[l + 3];
		shmem_sync_all();
		if (part) {
			shmem_fcollectmem(SHMEM_TEAM_WORLD, dest + 1, source + 1, part);
			for (int p = 0; p < n; p++)
				bad += differ(dest + 1 + (size_t)p * part, part, p, 0, (int)k);
			shmem_sync_all();
			shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source + 1, part);
			for (int p = 0; p < n; p++)
				bad += differ(dest + (size_t)p * part, part, p, (size_t)me * part, (int)k);
			shmem_sync_all();
			shmem_collectmem(SHMEM_TEAM_WORLD, dest, source + 1, part - (size_t)me % part);
			for (int p = 0; p < n; p++) {
				bad += differ(dest + at, part - (size_t)p % part, p, 0, (int)k);
				at += part - (size_t)p % part;
			}
		}
		CHECK_INT(bad, 0);
	}
	shmem_sync_all();
}

static void t_large_reductions(void)
{
	static const size_t len[] = { 7, 1000, 1025, 20001, BIG / 8 };
	long *d = (long *)dest, *s = (long *)source;

	for (size_t k = 0; k < sizeof(len) / sizeof(*len); k++)
		for (int in_place = 0; in_place < 2; in_place++) {
			long *from = in_place ? d : s;
			int bad = 0;

			shmem_sync_all();
			for (size_t i = 0; i < len[k]; i++)
				from[i] = me * 1000 + (long)i;
			shmem_sum_reduce(SHMEM_TEAM_WORLD, d, from, len[k]);
			for (size_t i = 0; i < len[k]; i++)
				bad += d[i] != 500L * n * (n - 1) + n * (long)i;
			shmem_sync_all();
			for (size_t i = 0; i < len[k]; i++)
				from[i] = me + (long)i;
			shmem_sum_exscan(SHMEM_TEAM_WORLD, d, from, len[k]);
			for (size_t i = 0; i < len[k]; i++)
				bad += d[i] != (long)me * (me - 1) / 2 + me * (long)i;
			CHECK_INT(bad, 0);
		}
}

static float part(int pe, size_t i)
{
	return (float)(1.0 / (double)(3 + pe * 5 + (int)(i % 1000))) * (float)(i % 7 == (size_t)pe % 7 ? 1e6 : 1e-3);
}

/* Sums of floats depend on the order; all PEs have the same one, for every length and way. */
static void t_floats_have_the_same_bits(void)
{
	static const size_t len[] = { 1, 6, 12, 13, 500, 100001 };
	float *d = (float *)dest, *s = (float *)source, *first = malloc(400004);

	REQUIRE(first != NULL);
	for (size_t k = 0; k < sizeof(len) / sizeof(*len); k++) {
		int bad = 0;

		for (size_t i = 0; i < len[k]; i++)
			s[i] = part(me, i);
		shmem_sync_all();
		shmem_sum_reduce(SHMEM_TEAM_WORLD, d, s, len[k]);
		for (size_t i = 0; i < len[k]; i++) {
			float acc = 0;

			for (int p = 0; p < n; p++)
				acc = p ? acc + part(p, i) : part(p, i);
			bad += memcmp(&d[i], &acc, sizeof(acc)) != 0;
		}
		if (shmem_team_n_pes(SHMEM_TEAM_SHARED) == n)
			CHECK_INT(bad, 0);	/* the order of PEs; of several nodes each has its own sum first */
		shmem_sync_all();
		shmem_getmem(first, d, len[k] * sizeof(float), 0);
		CHECK_MEM(d, first, len[k] * sizeof(float));
		shmem_sync_all();
	}
	free(first);
}

/* Static variables may lie where no window shows them. */
static void t_static_data(void)
{
	static double d[40000], s[40000];
	static char bd[8 * 4097], bs[8 * 4097];

	for (int i = 0; i < 40000; i++)
		s[i] = me + i;
	fill(bs, sizeof(bs), me, 1);
	shmem_sync_all();
	shmem_sum_reduce(SHMEM_TEAM_WORLD, d, s, 40000);
	for (int i = 0; i < 40000; i += 333)
		CHECK(d[i] == n * (n - 1) / 2 + (double)n * i);
	shmem_sum_inscan(SHMEM_TEAM_WORLD, d, s, 40000);
	CHECK(d[39999] == me * (me + 1) / 2 + (me + 1) * 39999.0);
	CHECK_INT(shmem_alltoallmem(SHMEM_TEAM_WORLD, bd, bs, 4097), 0);
	for (int p = 0; p < n; p++)
		CHECK_INT(differ(bd + p * 4097, 4097, p, (size_t)me * 4097, 1), 0);
	shmem_sync_all();
	CHECK_INT(shmem_broadcastmem(SHMEM_TEAM_WORLD, bd, bs, sizeof(bs), n - 1), 0);
	CHECK_INT(differ(bd, sizeof(bs), n - 1, 0, 1), 0);
	CHECK_INT(shmem_alltoalls(SHMEM_TEAM_WORLD, d, s, 2, 3, 50), 0);
	for (int p = 0; p < n; p++)
		CHECK(d[(p * 50 + 49) * 2] == p + (me * 50 + 49) * 3);
	shmem_sync_all();
}

/* Whatever is in pSync, the library neither waits for it nor changes it. */
static void t_wrong_psync_does_no_harm(void)
{
	static long wrong[SHMEM_SYNC_SIZE] = { 5, 6, 7 }, d, s;

	s = 1;
	shmem_barrier(0, 0, n, wrong);
	shmem_long_sum_to_all(&d, &s, 1, 0, 0, n, &d, wrong);
	CHECK(d == n && wrong[0] == 5 && wrong[1] == 6 && wrong[2] == 7);
	shmem_barrier(0, 0, n, wrong);
}

/* ---- random ---- */

static uint64_t state;

static unsigned draw(unsigned below)
{
	return (unsigned)(t_random(&state) >> 33) % below;
}

#define TEAMS	6
static shmem_team_t team[TEAMS];
static int first[TEAMS], step[TEAMS], size[TEAMS];

/* All PEs draw the same; who is not in the team draws only. */
static int one_call(int round)
{
	static const size_t near[] = { 1, 6, 8, 40, 48, 56, 64, 200, 4096, 5000, 20000 };
	unsigned k = draw(TEAMS), what = draw(8), shift = draw(4) * 8;
	size_t len = draw(3) ? near[draw(11)] : 1 + draw(30000);
	int root = (int)draw((unsigned)size[k]), set = (int)draw(3), late = (int)draw(n < 5 ? 40 : 400), bad = 0;
	int t_me = (me - first[k]) / step[k];
	char *d = dest + shift, *s = source + shift;
	long *ld = (long *)d, *ls = (long *)s;
	size_t at = 0, longs = (len + 7) / 8, step_log = 0;

	if (team[k] == SHMEM_TEAM_INVALID)
		return 0;
	if (late == t_me)
		usleep(200);
	while (1 << step_log < step[k])
		step_log++;
	set = set == 2 && 1 << step_log == step[k];
#define SET	first[k], (int)step_log, size[k], psync
	switch (what) {
	case 0:
		fill(s, len, me, round);
		shmem_broadcastmem(team[k], d, s, len, root);
		bad = differ(d, len, first[k] + root * step[k], 0, round);
		break;
	case 1:
		fill(s, len * 4, me, round);
		if (set)
			shmem_fcollect32(d, s, len, SET);
		else
			shmem_fcollectmem(team[k], d, s, len * 4);
		for (int p = 0; p < size[k]; p++)
			bad += differ(d + (size_t)p * len * 4, len * 4, first[k] + p * step[k], 0, round);
		break;
	case 2:
		fill(s, len * (size_t)size[k], me, round);
		shmem_alltoallmem(team[k], d, s, len);
		for (int p = 0; p < size[k]; p++)
			bad += differ(d + (size_t)p * len, len, first[k] + p * step[k], (size_t)t_me * len, round);
		break;
	case 3:
		fill(s, len * 9, me, round);
		shmem_collectmem(team[k], d, s, (len * (size_t)(t_me * 5 % 7)) & ~(size_t)7);
		for (int p = 0; p < size[k]; p++) {
			size_t l = (len * (size_t)(p * 5 % 7)) & ~(size_t)7;

			bad += differ(d + at, l, first[k] + p * step[k], 0, round);
			at += l;
		}
		break;
	case 4:
	case 5:
		if (what == 5)
			ls = ld;
		for (size_t i = 0; i < longs; i++)
			ls[i] = (long)(me + 1) * (long)(i + 1) + round;
		if (set)
			shmem_long_sum_to_all(ld, ls, (int)longs, first[k], (int)step_log, size[k], ls, psync);
		else
			shmem_long_sum_reduce(team[k], ld, ls, longs);
		for (size_t i = 0; i < longs; i++) {
			long sum = 0;

			for (int p = 0; p < size[k]; p++)
				sum += (long)(first[k] + p * step[k] + 1) * (long)(i + 1) + round;
			bad += ld[i] != sum;
		}
		break;
	case 6:
		for (size_t i = 0; i < longs; i++)
			ls[i] = me * 3 + (long)i + round;
		shmem_long_sum_inscan(team[k], ld, ls, longs);
		for (size_t i = 0; i < longs; i++) {
			long sum = 0;

			for (int p = 0; p <= t_me; p++)
				sum += (first[k] + p * step[k]) * 3 + (long)i + round;
			bad += ld[i] != sum;
		}
		break;
	default:
		shmem_team_sync(team[k]);
	}
	if (bad)
		diag("round %d: call %u on team %u (%d, %d, %d), %zu bytes, root %d: wrong", round, what, k, first[k],
		     step[k], size[k], len, root);
	return bad;
}

/*
 * Teams overlap, so a PE of a faster team may write into what one of a slower one still looks at: between calls of
 * different teams on the same memory users must wait, and so does this.
 */
static void t_random_calls_on_random_teams(void)
{
	int bad = 0;

	state = t_seed();
	for (int k = 0; k < TEAMS; k++) {
		step[k] = k ? 1 + (int)draw(3) : 1;
		first[k] = k ? (int)draw((unsigned)n) : 0;
		size[k] = k ? 1 + (int)draw((unsigned)((n - 1 - first[k]) / step[k] + 1)) : n;
		REQUIRE_INT(shmem_team_split_strided(SHMEM_TEAM_WORLD, first[k], step[k], size[k], NULL, 0, &team[k]),
			    0);
	}
	for (int round = 0; round < 400 && !bad; round++) {
		bad = one_call(round);
		shmem_sync_all();
	}
	CHECK_INT(bad, 0);
	for (int k = 0; k < TEAMS; k++)
		shmem_team_destroy(team[k]);
}

/* On one team nobody has to wait between calls on memory of their own. */
static void t_in_a_row_without_waiting(void)
{
	enum { ROUNDS = 300, KEEP = 64 };
	long *d = (long *)dest, *s = (long *)source;
	int bad = 0;

	shmem_sync_all();
	for (int r = 0; r < ROUNDS; r++) {
		long *dr = d + r % KEEP * 40, *sr = s + r % KEEP * 40;

		if (r % KEEP == 0)
			shmem_sync_all();
		for (int i = 0; i < 40; i++)
			sr[i] = me + r + i;
		switch (r % 5) {
		case 0:
			shmem_sum_reduce(SHMEM_TEAM_WORLD, dr, sr, 1);
			bad += dr[0] != (long)n * (n - 1) / 2 + n * r;
			break;
		case 1:
			shmem_sum_reduce(SHMEM_TEAM_WORLD, dr, sr, 40);
			bad += dr[39] != (long)n * (n - 1) / 2 + n * (r + 39);
			break;
		case 2:
			shmem_broadcast(SHMEM_TEAM_WORLD, dr, sr, 2, r % n);
			bad += dr[1] != r % n + r + 1;
			break;
		case 3:
			shmem_broadcast(SHMEM_TEAM_WORLD, dr, sr, 40, r % n);
			bad += dr[39] != r % n + r + 39;
			break;
		default:
			shmem_max_reduce(SHMEM_TEAM_WORLD, dr, sr, 4);
			bad += dr[3] != n - 1 + r + 3;
		}
		memset(sr, 0x77, 40 * sizeof(long));	/* may be used again */
	}
	CHECK_INT(bad, 0);
	shmem_sync_all();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_nobody_leaves_early), T(t_root_far_ahead), T(t_zero_elements), T(t_large_and_odd),
		T(t_large_reductions), T(t_floats_have_the_same_bits), T(t_static_data), T(t_wrong_psync_does_no_harm),
		T(t_in_a_row_without_waiting), T(t_random_calls_on_random_teams), { 0 }
	};

	sm_start();
	for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
		psync[i] = SHMEM_SYNC_VALUE;
	dest = shmem_malloc(BIG + 4096);
	source = shmem_malloc(BIG + 4096);
	if (!dest || !source)
		bail("no memory");
	return sm_end(t_run(cases));
}

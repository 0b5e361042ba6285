/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_dart2.c - interface 3.2: every call, on any number of units */
#include "d.h"
#include <dart.h>
#include <sched.h>

static dart_group_t *new_group(void)
{
	size_t size;
	dart_group_t *g;

	OK(dart_group_sizeof(&size));
	g = malloc(size);
	OK(dart_group_init(g));
	return g;
}

static void t_start(void)
{
	dart_unit_t id;
	size_t size;

	CHECK(dart_initialized() == 1);
	INVAL(dart_init(NULL, NULL));
	OK(dart_myid(&id));
	OK(dart_size(&size));
	CHECK(id == me && size == (size_t)units);
	CHECK(sizeof(dart_gptr_t) == 16);
	INVAL(dart_myid(NULL));
	INVAL(dart_size(NULL));
}

static void t_groups(void)
{
	dart_group_t *g = new_group(), *h = new_group(), *k = new_group();
	dart_unit_t *ids = calloc((size_t)units, sizeof(*ids));
	int32_t is;
	size_t n;

	OK(dart_group_size(g, &n));
	CHECK(n == 0);
	for (int u = units - 1; u >= 0; u--)
		OK(dart_group_addmember(g, u));
	OK(dart_group_addmember(g, 0));
	INVAL(dart_group_addmember(g, units));
	INVAL(dart_group_addmember(g, -1));
	OK(dart_group_size(g, &n));
	CHECK(n == (size_t)units);
	OK(dart_group_getmembers(g, ids));
	for (int u = 0; u < units; u++)
		CHECK(ids[u] == u);
	OK(dart_group_copy(g, h));
	OK(dart_group_delmember(h, 0));
	OK(dart_group_delmember(h, 0));
	OK(dart_group_ismember(h, 0, &is));
	CHECK(is == 0);
	OK(dart_group_ismember(g, 0, &is));
	CHECK(is == 1);
	INVAL(dart_group_ismember(g, units, &is));
	OK(dart_group_intersect(g, h, k));
	OK(dart_group_size(k, &n));
	CHECK(n == (size_t)units - 1);
	OK(dart_group_init(k));
	OK(dart_group_addmember(k, 0));
	OK(dart_group_union(h, k, h));
	OK(dart_group_size(h, &n));
	CHECK(n == (size_t)units);
	OK(dart_group_fini(k));
	INVAL(dart_group_size(k, &n));
	INVAL(dart_group_addmember(NULL, 0));
	OK(dart_group_fini(g));
	OK(dart_group_fini(h));
	free(g);
	free(h);
	free(k);
	free(ids);
}

static void t_group_split(void)
{
	dart_group_t *g = new_group(), *part[5];
	size_t n, all = 0, least = 1000, most = 0;
	dart_unit_t ids[64], last = -1;

	for (int i = 0; i < 5; i++)
		part[i] = new_group();
	OK(dart_team_get_group(DART_TEAM_ALL, g));
	for (size_t parts = 1; parts <= 5; parts++) {
		OK(dart_group_split(g, parts, part));
		all = most = 0;
		least = 1000;
		last = -1;
		for (size_t i = 0; i < parts; i++) {
			OK(dart_group_size(part[i], &n));
			least = n < least ? n : least;
			most = n > most ? n : most;
			OK(dart_group_getmembers(part[i], ids));
			for (size_t k = 0; k < n; k++, all++) {
				CHECK(ids[k] == last + 1);
				last = ids[k];
			}
		}
		CHECK(all == (size_t)units && most - least <= 1);
	}
	INVAL(dart_group_split(g, 0, part));
	for (int i = 0; i < 5; i++)
		free(part[i]);
	free(g);
}

/* Units u with u % n == i, of a team. -1 for who is not in it. */
static dart_team_t every(dart_team_t parent, int n, int i)
{
	dart_group_t *g = new_group(), *all = new_group();
	dart_team_t team = -7;
	int32_t is;

	OK(dart_team_get_group(parent, all));
	for (int u = i; u < units; u += n)
		OK(dart_group_addmember(g, u));
	OK(dart_group_intersect(g, all, g));
	OK(dart_team_create(parent, g, &team));
	OK(dart_group_ismember(g, me, &is));
	CHECK(is ? team > 0 : team == DART_TEAM_NULL);
	free(g);
	free(all);
	return team;
}

static void t_teams(void)
{
	dart_team_t even, odd, mine;
	dart_unit_t id, back;
	dart_group_t *g = new_group();
	size_t size;

	even = every(DART_TEAM_ALL, 2, 0);
	odd = units > 1 ? every(DART_TEAM_ALL, 2, 1) : DART_TEAM_NULL;
	mine = me % 2 ? odd : even;
	CHECK(even != odd);
	OK(dart_team_myid(mine, &id));
	CHECK(id == me / 2);
	OK(dart_team_size(mine, &size));
	CHECK(size == (size_t)(units + !(me % 2)) / 2);
	for (int i = 0; i < (int)size; i++) {
		OK(dart_team_unit_l2g(mine, i, &id));
		CHECK(id == 2 * i + me % 2);
		OK(dart_team_unit_g2l(mine, id, &back));
		CHECK(back == i);
	}
	INVAL(dart_team_unit_l2g(mine, (int)size, &id));
	INVAL(dart_team_unit_l2g(mine, -1, &id));
	INVAL(dart_team_unit_g2l(mine, units, &id));
	if (units > 1) {
		OK(dart_team_unit_g2l(mine, me % 2 ? 0 : 1, &id));
		CHECK(id == DART_UNDEFINED_UNIT_ID);
		INVAL(dart_team_size(me % 2 ? even : odd, &size));
		INVAL(dart_barrier(me % 2 ? even : odd));
	}
	OK(dart_barrier(mine));
	INVAL(dart_team_size(DART_TEAM_NULL, &size));
	INVAL(dart_team_size(12345, &size));
	INVAL(dart_team_size(1 << 20, &size));
	INVAL(dart_team_create(DART_TEAM_ALL, g, &even));	/* nobody is in it */
	INVAL(dart_team_destroy(DART_TEAM_ALL));
	OK(dart_team_destroy(mine));
	INVAL(dart_team_destroy(mine));
	INVAL(dart_team_get_group(mine, g));
	free(g);
}

/* A team of a team of a team, each with memory, the inner ones first and last. */
static void t_teams_of_teams(void)
{
	dart_team_t team[4] = { DART_TEAM_ALL };
	dart_gptr_t mem[4], p;
	int depth = 0, v;
	dart_unit_t id;
	size_t size;

	for (int n = 1; n < 4 && team[n - 1] >= 0; n++) {
		dart_group_t *g = new_group();

		OK(dart_team_get_group(team[n - 1], g));
		OK(dart_team_size(team[n - 1], &size));
		if (size > 1) {		/* without its last one */
			dart_unit_t last;

			OK(dart_team_unit_l2g(team[n - 1], (int)size - 1, &last));
			OK(dart_group_delmember(g, last));
		}
		OK(dart_team_create(team[n - 1], g, &team[n]));
		depth = n;
		free(g);
	}
	for (int n = depth; n >= 0; n--) {
		if (team[n] < 0)
			continue;
		OK(dart_team_memalloc_aligned(team[n], 64, &mem[n]));
		OK(dart_team_myid(team[n], &id));
		OK(dart_team_size(team[n], &size));
		/* into the next unit of the team */
		OK(dart_team_unit_l2g(team[n], (id + 1) % (int)size, &id));
		p = mem[n];
		OK(dart_gptr_setunit(&p, id));
		v = 1000 * n + me;
		OK(dart_put_blocking(p, &v, sizeof(v)));
	}
	for (int n = 0; n <= depth; n++) {
		int *here;

		if (team[n] < 0)
			continue;
		OK(dart_flush_all(mem[n]));
		OK(dart_barrier(team[n]));
		p = mem[n];
		OK(dart_gptr_setunit(&p, me));
		OK(dart_flush(p));
		OK(dart_gptr_getaddr(p, (void **)&here));
		OK(dart_team_myid(team[n], &id));
		OK(dart_team_size(team[n], &size));
		OK(dart_team_unit_l2g(team[n], (id + (int)size - 1) % (int)size, &id));
		CHECK(*here == 1000 * n + id);
	}
	for (int n = depth; n > 0; n--)
		if (team[n] >= 0) {
			/* a segment of another team is not freed by this one's number */
			INVAL(dart_team_memfree(team[n - 1], mem[n]));
			if (n % 2)
				OK(dart_team_memfree(team[n], mem[n]));
			OK(dart_team_destroy(team[n]));	/* its memory goes with it */
			INVAL(dart_put_blocking(mem[n], &v, sizeof(v)));
		}
	OK(dart_team_memfree(DART_TEAM_ALL, mem[0]));
}

static void t_gptr(void)
{
	dart_gptr_t p = DART_GPTR_NULL, q;
	char *addr, *at;

	CHECK(DART_GPTR_ISNULL(p));
	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 1000, &p));
	CHECK(!DART_GPTR_ISNULL(p) && p.unitid == 0 && p.segid > 0 && p.addr_or_offs.offset == 0);
	q = p;
	CHECK(DART_GPTR_EQUAL(p, q));
	OK(dart_gptr_setunit(&q, me));
	OK(dart_gptr_getaddr(q, (void **)&addr));
	CHECK(addr && (uintptr_t)addr % 64 == 0);
	OK(dart_gptr_incaddr(&q, 100));
	CHECK(!DART_GPTR_EQUAL(p, q));
	OK(dart_gptr_getaddr(q, (void **)&at));
	CHECK(at == addr + 100);
	OK(dart_gptr_incaddr(&q, -40));
	CHECK(q.addr_or_offs.offset == 60);
	OK(dart_gptr_setaddr(&q, addr + 999));
	CHECK(q.addr_or_offs.offset == 999);
	INVAL(dart_gptr_setaddr(&q, addr - 1));
	INVAL(dart_gptr_setaddr(&q, addr + 1001));
	INVAL(dart_gptr_setunit(&q, units));
	INVAL(dart_gptr_setunit(&q, -1));
	if (units > 1) {
		OK(dart_gptr_setunit(&q, (me + 1) % units));
		OK(dart_gptr_getaddr(q, (void **)&at));
		CHECK(at == NULL);
		INVAL(dart_gptr_setaddr(&q, addr));
	}
	OK(dart_team_memfree(DART_TEAM_ALL, p));
}

enum { N = 100000 };
static unsigned char out[N], in[N];

/* One put and get of each form, to the next unit, of lengths and offsets that are not round. */
static void moves(dart_gptr_t mem, size_t room)
{
	static const size_t length[] = { 0, 1, 3, 4, 7, 8, 9, 63, 64, 65, 1000, 4096, 65537, N };
	dart_gptr_t p = mem;
	dart_handle_t h[2];
	int32_t done;

	OK(dart_gptr_setunit(&p, (me + 1) % units));
	for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); i++)
		for (int form = 0; form < 4; form++) {
			size_t n = length[i] < room ? length[i] : room - 8, off = (size_t)(form + 1) % (room - n);
			unsigned seed = (unsigned)(me * 1000 + (int)i * 10 + form);

			p.addr_or_offs.offset = mem.addr_or_offs.offset + off;
			d_fill(out, n, seed);
			memset(in, 0x55, n);
			switch (form) {
			case 0:
				OK(dart_put_blocking(p, out, n));
				memset(out, 0xaa, n);
				OK(dart_get_blocking(in, p, n));
				break;
			case 1:
				OK(dart_put(p, out, n));
				OK(dart_flush(p));
				memset(out, 0xaa, n);
				OK(dart_get(in, p, n));
				OK(dart_flush_local(p));
				break;
			case 2:
				OK(dart_put_handle(p, out, n, &h[0]));
				OK(dart_wait(h[0]));
				memset(out, 0xaa, n);
				OK(dart_get_handle(in, p, n, &h[0]));
				OK(dart_wait_local(h[0]));
				break;
			case 3:
				OK(dart_put_handle(p, out, n / 2, &h[0]));
				p.addr_or_offs.offset += n / 2;
				OK(dart_put_handle(p, out + n / 2, n - n / 2, &h[1]));
				OK(dart_waitall(h, 2));
				CHECK(h[0] == DART_HANDLE_NULL && h[1] == DART_HANDLE_NULL);
				p.addr_or_offs.offset -= n / 2;
				OK(dart_get_handle(in, p, n, &h[0]));
				do
					OK(dart_test_local(h[0], &done));
				while (!done);
				break;
			}
			if (!CHECK(d_right(in, n, seed)))
				fprintf(stderr, "unit %d: %zu bytes, form %d\n", me, n, form);
		}
	h[0] = DART_HANDLE_NULL;
	OK(dart_wait(h[0]));
	OK(dart_get_handle(in, p, 8, &h[1]));
	do
		OK(dart_testall_local(h, 2, &done));
	while (!done);
	OK(dart_get_handle(in, p, 8, &h[0]));
	OK(dart_get_handle(in + 8, p, 8, &h[1]));
	OK(dart_waitall_local(h, 2));
	OK(dart_flush_all(mem));
	OK(dart_flush_local_all(mem));
}

static void t_put_get(void)
{
	dart_gptr_t mem;

	unsigned char *big = aligned_alloc(4096, 1 << 17);

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, N + 8, &mem));
	moves(mem, N + 8);
	/* as large memory of malloc() lies in its page, and round lengths */
	for (size_t n = 2047; n <= 65537; n = n % 2 ? n + 1 : n == 65536 ? 65537 : 2 * n - 1)
		for (size_t at = 0; at < 80; at += 16) {
			d_fill(big + at, n, (unsigned)n);
			OK(dart_gptr_setunit(&mem, (me + 1) % units));
			OK(dart_put_blocking(mem, big + at, n));
			memset(big, 0, n + at);
			OK(dart_get_blocking(big + at, mem, n));
			CHECK(d_right(big + at, n, (unsigned)n));
		}
	free(big);
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memfree(DART_TEAM_ALL, mem));
}

/* Stores of the owner are got, puts are loaded by the owner, without its help. */
static void t_loads_and_stores(void)
{
	dart_gptr_t mem, p;
	long *here, v;
	int next = (me + 1) % units, prev = (me + units - 1) % units;

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 4096, &mem));
	p = mem;
	OK(dart_gptr_setunit(&p, me));
	OK(dart_gptr_getaddr(p, (void **)&here));
	for (int i = 0; i < 512; i++)
		here[i] = me * 1000 + i;
	OK(dart_flush(p));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_gptr_setunit(&p, next));
	for (int i = 0; i < 256; i++) {
		p.addr_or_offs.offset = (uint64_t)i * 8;
		OK(dart_get_blocking(&v, p, 8));
		CHECK(v == next * 1000 + i);
		v = -v;
		p.addr_or_offs.offset += 2048;
		OK(dart_put_blocking(p, &v, 8));
	}
	OK(dart_flush(p));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_gptr_setunit(&p, me));
	OK(dart_flush(p));
	for (int i = 256; i < 512; i++)
		CHECK(here[i] == -(me * 1000 + i - 256));
	CHECK(prev >= 0);
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memfree(DART_TEAM_ALL, mem));
}

/* To the unit's own processor, of those that it may use; @old: those. */
static void pin(cpu_set_t *old)
{
	int want, cpu = -1;
	cpu_set_t one;

	if (sched_getaffinity(0, sizeof(*old), old))
		return;
	want = me % CPU_COUNT(old);
	while (want >= 0)
		want -= CPU_ISSET(++cpu, old) != 0;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/*
 * A blocking put is over on return: of two units that each put and then get what the other puts, at least one sees the
 * other's. Both count up, without meeting: the put of round @i came before the other's of round got[i] + 1 was seen by
 * anybody, so that one's get behind it has @i or more.
 */
static void t_put_then_get(void)
{
	enum { MOST = 200000 };
	int n = getenv("D_SHORT") ? 500 : MOST, broken = 0;
	int64_t v, *got = calloc(MOST, 8), *other = calloc(MOST, 8);
	dart_gptr_t mine, its;
	MPI_Status st;
	cpu_set_t old;

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 64, &mine));
	its = mine;
	OK(dart_gptr_setunit(&mine, me));
	v = 0;
	OK(dart_put_blocking(mine, &v, 8));
	OK(dart_barrier(DART_TEAM_ALL));
	if (me < 2 && units > 1) {
		pin(&old);
		OK(dart_gptr_setunit(&its, !me));
		for (int64_t i = 1; i <= n; i++) {
			dart_put_blocking(mine, &i, 8);
			dart_get_blocking(&got[i - 1], its, 8);
		}
		MPI_Sendrecv(got, n, MPI_INT64_T, !me, 0, other, n, MPI_INT64_T, !me, 0, MPI_COMM_WORLD, &st);
		sched_setaffinity(0, sizeof(old), &old);
		for (int64_t i = 1; i <= n; i++)
			broken += got[i - 1] < n && other[got[i - 1]] < i;
		if (!CHECK(!broken))
			fprintf(stderr, "unit %d: %d of %d puts were not seen yet behind them\n", me, broken, n);
	}
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_gptr_setunit(&mine, 0));
	OK(dart_team_memfree(DART_TEAM_ALL, mine));
	free(got);
	free(other);
	if (units < 2)
		SKIP("it takes two units");
}

static void t_memalloc(void)
{
	dart_gptr_t mine, all[64], big, far;
	void *addr;
	long v = me + 5;

	OK(dart_memalloc(1000, &mine));
	CHECK(mine.unitid == me && mine.segid == 0);
	OK(dart_gptr_getaddr(mine, &addr));
	CHECK(addr != NULL);
	/* a pointer is plain data */
	OK(dart_allgather(&mine, all, sizeof(mine), DART_TEAM_ALL));
	far = all[(me + 1) % units];
	OK(dart_put_blocking(far, &v, sizeof(v)));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_flush(mine));
	CHECK(*(volatile long *)addr == (me + units - 1) % units + 5);
	OK(dart_barrier(DART_TEAM_ALL));
	moves(mine, 1000);
	CHECK(dart_memalloc((size_t)1 << 40, &big) == DART_ERR_OTHER);
	INVAL(dart_memalloc(0, &big));
	if (units > 1)
		INVAL(dart_memfree(far));
	big = mine;
	big.addr_or_offs.offset += 64;
	INVAL(dart_memfree(big));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_memfree(mine));
	INVAL(dart_memfree(mine));
}

/* The pool is given out whole, in pieces of any size, and is whole again afterwards. */
static void t_pool_any_order(void)
{
	enum { PIECES = 200 };
	dart_gptr_t p[PIECES];
	bool have[PIECES] = { false };
	unsigned state = 7;
	char *addr[PIECES];
	size_t len[PIECES];
	dart_gptr_t whole;

	for (int round = 0; round < 3000; round++) {
		int i = (int)(d_random(&state) % PIECES);

		if (have[i]) {
			CHECK(d_right(addr[i], len[i], (unsigned)i));
			OK(dart_memfree(p[i]));
			have[i] = false;
			continue;
		}
		len[i] = 1 + d_random(&state) % 5000;
		OK(dart_memalloc(len[i], &p[i]));
		OK(dart_gptr_getaddr(p[i], (void **)&addr[i]));
		d_fill(addr[i], len[i], (unsigned)i);
		have[i] = true;
	}
	CHECK(dart_memalloc(16 << 20, &whole) == DART_ERR_OTHER);
	for (int i = 0; i < PIECES; i++)
		if (have[i])
			OK(dart_memfree(p[i]));
	OK(dart_memalloc(16 << 20, &whole));
	CHECK(dart_memalloc(1, &p[0]) == DART_ERR_OTHER);
	OK(dart_memfree(whole));
}

/* Segments come and go in any order, of several teams; each keeps its bytes; a freed one is refused. */
static void t_segments_any_order(void)
{
	enum { PLACES = 12 };
	dart_gptr_t mem[PLACES], dead = DART_GPTR_NULL, p;
	dart_team_t team[2] = { DART_TEAM_ALL, every(DART_TEAM_ALL, 2, me % 2) };
	bool have[PLACES] = { false };
	unsigned state = 99;
	size_t len[PLACES];
	void *addr;

	if (units > 1) {
		/* the other half calls it too, and is not in it */
		dart_team_t other = every(DART_TEAM_ALL, 2, !(me % 2));

		CHECK(other == DART_TEAM_NULL);
	}
	for (int round = 0; round < 120; round++) {
		int i = (int)(d_random(&state) % PLACES);
		dart_team_t t = team[i % 2];

		if (have[i]) {
			p = mem[i];
			OK(dart_gptr_setunit(&p, me));
			OK(dart_gptr_getaddr(p, &addr));
			CHECK(d_right(addr, len[i], (unsigned)(me + i)));
			OK(dart_team_memfree(t, mem[i]));
			have[i] = false;
			dead = mem[i];
			INVAL(dart_get_blocking(in, dead, 1));
			INVAL(dart_team_memfree(t, dead));
			continue;
		}
		len[i] = d_random(&state) % 3 ? d_random(&state) % 9000 : 0;
		OK(dart_team_memalloc_aligned(t, len[i], &mem[i]));
		if (!DART_GPTR_ISNULL(dead))
			CHECK(mem[i].segid != dead.segid);
		p = mem[i];
		OK(dart_gptr_setunit(&p, me));
		OK(dart_gptr_getaddr(p, &addr));
		d_fill(addr, len[i], (unsigned)(me + i));
		have[i] = true;
	}
	for (int i = 0; i < PLACES; i++)
		if (have[i])
			OK(dart_team_memfree(team[i % 2], mem[i]));
	OK(dart_team_destroy(team[1]));
}

static void t_many_segments(void)
{
	enum { MANY = 100 };
	dart_gptr_t mem[MANY], p;
	int v;

	for (int i = 0; i < MANY; i++) {
		OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 64, &mem[i]));
		p = mem[i];
		OK(dart_gptr_setunit(&p, (me + 1) % units));
		v = i * 7 + me;
		OK(dart_put_blocking(p, &v, sizeof(v)));
	}
	OK(dart_barrier(DART_TEAM_ALL));
	for (int i = MANY - 1; i >= 0; i--) {
		p = mem[i];
		OK(dart_gptr_setunit(&p, me));
		OK(dart_get_blocking(&v, p, sizeof(v)));
		CHECK(v == i * 7 + (me + units - 1) % units);
		OK(dart_team_memfree(DART_TEAM_ALL, mem[i]));
	}
}

/* All numbers are used before one is used again; then they are, but for those that are in use. */
static void t_numbers_go_round(void)
{
	dart_gptr_t keep, p, last;
	long rounds = 0;
	dart_team_t alone = -1;
	dart_group_t *g = new_group();
	int v = me, w = 0;

	if (getenv("D_SHORT")) {
		free(g);
		SKIP("another of these runs has it");
	}
	/* a team of one, so that it takes no time; others of its kind do the same at the same time */
	for (int u = 0; u < units; u++) {
		dart_team_t t;

		OK(dart_group_init(g));
		OK(dart_group_addmember(g, u));
		OK(dart_team_create(DART_TEAM_ALL, g, &t));
		if (u == me)
			alone = t;
	}
	free(g);
	OK(dart_team_memalloc_aligned(alone, 8, &keep));
	OK(dart_put_blocking(keep, &v, sizeof(v)));
	last = keep;
	for (rounds = 0; rounds < 33000; rounds++) {
		if (!OK(dart_team_memalloc_aligned(alone, 0, &p)))
			break;
		CHECK(p.segid > 0 && p.segid != keep.segid && p.segid != last.segid);
		OK(dart_team_memfree(alone, p));
		last = p;
	}
	OK(dart_get_blocking(&w, keep, sizeof(w)));
	CHECK(v == w);
	OK(dart_team_destroy(alone));
	/* the units stand at different numbers now, and agree again */
	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 8, &p));
	OK(dart_bcast(&last, sizeof(last), 0, DART_TEAM_ALL));
	OK(dart_team_memfree(DART_TEAM_ALL, p));
}

/* Of a team of one, no bytes, and of them registered: nothing to do, for every call. */
static void t_nothing_of_one(void)
{
	dart_team_t alone = -1;
	dart_gptr_t p[2];
	dart_handle_t h;
	char c;

	for (int u = 0; u < units; u++) {
		dart_group_t *g = new_group();
		dart_team_t t;

		OK(dart_group_addmember(g, u));
		OK(dart_team_create(DART_TEAM_ALL, g, &t));
		if (u == me)
			alone = t;
		free(g);
	}
	OK(dart_team_memalloc_aligned(alone, 0, &p[0]));
	OK(dart_team_memregister_aligned(alone, 0, NULL, &p[1]));
	for (int i = 0; i < 2; i++) {
		OK(dart_flush(p[i]));
		OK(dart_flush_local(p[i]));
		OK(dart_flush_all(p[i]));
		OK(dart_flush_local_all(p[i]));
		OK(dart_put_handle(p[i], &c, 0, &h));
		OK(dart_wait(h));
		INVAL(dart_put_blocking(p[i], &c, 1));
	}
	OK(dart_team_memderegister(alone, p[1]));
	OK(dart_team_destroy(alone));
}

static void t_register(void)
{
	static long data[100];
	long *heap = malloc(100 * sizeof(long)), v, *mem[2] = { data, heap };
	dart_gptr_t g[2], p;
	int next = (me + 1) % units;

	for (int m = 0; m < 2; m++) {
		for (int i = 0; i < 100; i++)
			mem[m][i] = me * 100 + i;
		OK(dart_team_memregister_aligned(DART_TEAM_ALL, 100 * sizeof(long), mem[m], &g[m]));
		CHECK(g[m].segid < 0 && g[m].unitid == 0);
	}
	for (int m = 0; m < 2; m++) {
		p = g[m];
		OK(dart_gptr_setunit(&p, next));
		OK(dart_gptr_incaddr(&p, 10 * sizeof(long)));
		OK(dart_get_blocking(&v, p, sizeof(v)));
		CHECK(v == next * 100 + 10);
		OK(dart_gptr_incaddr(&p, sizeof(long)));
		v = -1 - m;
		OK(dart_put_blocking(p, &v, sizeof(v)));
		OK(dart_barrier(DART_TEAM_ALL));
		p = g[m];
		OK(dart_gptr_setunit(&p, me));
		OK(dart_flush(p));
		CHECK(((volatile long *)mem[m])[11] == -1 - m);
		INVAL(dart_team_memfree(DART_TEAM_ALL, g[m]));
	}
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memderegister(DART_TEAM_ALL, g[0]));
	INVAL(dart_get_blocking(&v, g[0], 8));
	INVAL(dart_team_memderegister(DART_TEAM_ALL, g[0]));
	OK(dart_get_blocking(&v, g[1], 8));
	CHECK(v == 0);
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memderegister(DART_TEAM_ALL, g[1]));
	free(heap);
}

static void t_bad_pointers(void)
{
	dart_gptr_t mem, p;
	dart_handle_t h = DART_HANDLE_NULL;
	long v = 4;
	int i4 = 4;

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 100, &mem));
	p = DART_GPTR_NULL;
	INVAL(dart_put_blocking(p, &v, 8));
	INVAL(dart_get(&v, p, 8));
	INVAL(dart_flush(p));
	p = mem;
	p.unitid = units;
	INVAL(dart_put(p, &v, 8));
	p.unitid = -3;
	INVAL(dart_get_handle(&v, p, 8, &h));
	CHECK(h == DART_HANDLE_NULL);
	p = mem;
	p.segid = 12345;
	INVAL(dart_get_blocking(&v, p, 8));
	INVAL(dart_flush_all(p));
	p.segid = -12345;
	INVAL(dart_get_blocking(&v, p, 8));
	p = mem;
	p.flags ^= 5;
	INVAL(dart_put_blocking(p, &v, 8));
	p = mem;
	p.addr_or_offs.offset = 93;
	INVAL(dart_put_blocking(p, &v, 8));
	INVAL(dart_get_blocking(&v, p, 8));
	INVAL(dart_put_handle(p, &v, 8, &h));
	p.addr_or_offs.offset = UINT64_MAX - 3;
	INVAL(dart_put_blocking(p, &v, 8));
	p.addr_or_offs.offset = 92;
	INVAL(dart_put_blocking(p, &v, SIZE_MAX));
	OK(dart_put_blocking(p, &v, 8));
	p.addr_or_offs.offset = 100;
	OK(dart_put_blocking(p, NULL, 0));
	INVAL(dart_put_blocking(mem, NULL, 8));
	INVAL(dart_put_handle(mem, &v, 8, NULL));
	INVAL(dart_accumulate_int(p, &i4, 1, DART_OP_SUM, DART_TEAM_ALL));
	p.addr_or_offs.offset = 2;
	INVAL(dart_accumulate_int(p, &i4, 1, DART_OP_SUM, DART_TEAM_ALL));
	INVAL(dart_accumulate_int(mem, &i4, 1, DART_OP_UNDEFINED, DART_TEAM_ALL));
	INVAL(dart_accumulate_int(mem, &i4, 1, (dart_operation_t)77, DART_TEAM_ALL));
	INVAL(dart_accumulate_int(mem, &i4, 1, DART_OP_SUM, 12345));
	INVAL(dart_team_memalloc_aligned(DART_TEAM_ALL, SIZE_MAX, &p));
	INVAL(dart_team_memalloc_aligned(12345, 8, &p));
	INVAL(dart_team_memregister_aligned(DART_TEAM_ALL, SIZE_MAX, &v, &p));
	INVAL(dart_team_memregister_aligned(DART_TEAM_ALL, 8, NULL, &p));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memfree(DART_TEAM_ALL, mem));
}

static void t_collectives(void)
{
	dart_team_t team[2] = { DART_TEAM_ALL, DART_TEAM_NULL };
	size_t size;
	dart_unit_t id;

	for (int i = 0; i < 2 && i < units; i++) {
		dart_team_t t = every(DART_TEAM_ALL, 2, i);

		if (me % 2 == i)
			team[1] = t;
	}
	for (int k = 0; k < 2; k++) {
		dart_team_t t = team[k];

		OK(dart_team_size(t, &size));
		OK(dart_team_myid(t, &id));
		for (int root = 0; root < (int)size; root++)
			for (size_t n = 0; n < 300; n = n * 3 + 1) {
				unsigned seed = (unsigned)(root * 100) + (unsigned)n;
				double d = id, most = -1;

				d_fill(out, n, id == root ? seed : 1);
				OK(dart_bcast(out, n, root, t));
				CHECK(d_right(out, n, seed));
				if (id == root)
					d_fill(out, n * size, seed);
				OK(dart_scatter(out, in, n, root, t));
				OK(dart_gather(in, out + 50000, n, root, t));
				if (id == root)
					CHECK(d_right(out + 50000, n * size, seed));
				d_fill(out, n * size, seed);
				for (size_t i = 0; i < n; i++)
					CHECK(in[i] == d_byte(seed, (size_t)id * n + i));
				OK(dart_allgather(in, out, n, t));
				CHECK(d_right(out, n * size, seed));
				OK(dart_reduce_double(&d, &most, t));
				CHECK(id ? most == -1 : most == (double)size - 1);
			}
		INVAL(dart_bcast(out, 1, (int)size, t));
		INVAL(dart_bcast(out, 1, -1, t));
		INVAL(dart_gather(out, in, 1, (int)size, t));
		INVAL(dart_bcast(NULL, 1, 0, t));
	}
	OK(dart_team_destroy(team[1]));
}

/* All units on the same ints: nothing is lost. */
static void t_accumulate(void)
{
	enum { TIMES = 500 };
	dart_gptr_t mem, p;
	int *here, v[4] = { 1, 3, me, 1 << me % 30 }, want = 0, got[4];

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 16, &mem));
	p = mem;
	OK(dart_gptr_setunit(&p, me));
	OK(dart_gptr_getaddr(p, (void **)&here));
	memset(here, 0, 16);
	OK(dart_flush(p));
	OK(dart_barrier(DART_TEAM_ALL));
	for (int i = 0; i < TIMES; i++)
		for (int u = 0; u < units; u++) {
			p.unitid = u;
			p.addr_or_offs.offset = 0;
			OK(dart_accumulate_int(p, v, 2, DART_OP_SUM, DART_TEAM_ALL));
			p.addr_or_offs.offset = 8;
			OK(dart_accumulate_int(p, v + 2, 1, DART_OP_MAX, DART_TEAM_ALL));
			p.addr_or_offs.offset = 12;
			OK(dart_accumulate_int(p, v + 3, 1, DART_OP_BOR, DART_TEAM_ALL));
			if (i % 50 == 0)
				OK(dart_flush_all(mem));
		}
	OK(dart_flush_all(mem));
	OK(dart_barrier(DART_TEAM_ALL));
	for (int u = 0; u < units; u++)
		want |= 1 << u % 30;
	p = mem;
	OK(dart_gptr_setunit(&p, me));
	OK(dart_get_blocking(got, p, 16));
	CHECK(got[0] == TIMES * units && got[1] == 3 * TIMES * units && got[2] == units - 1 && got[3] == want);
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memfree(DART_TEAM_ALL, mem));
}

/* Adding by get and put, which only a lock makes right. */
static void t_lock(void)
{
	enum { TIMES = 200 };
	dart_lock_t lock = DART_LOCK_NULL, second;
	dart_gptr_t mem;
	long v = 0;
	int32_t got;
	int times = 0;

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 8, &mem));
	if (me == 0)
		OK(dart_put_blocking(mem, &v, 8));
	OK(dart_team_lock_init(DART_TEAM_ALL, &lock));
	OK(dart_team_lock_init(DART_TEAM_ALL, &second));
	CHECK(lock != second);
	OK(dart_barrier(DART_TEAM_ALL));
	for (int i = 0; i < TIMES; i++) {
		if (i % 3) {
			OK(dart_lock_acquire(lock));
		} else {
			OK(dart_lock_try_acquire(lock, &got));
			if (!got)
				continue;
		}
		times++;
		OK(dart_get_blocking(&v, mem, 8));
		v++;
		OK(dart_put_blocking(mem, &v, 8));
		OK(dart_flush(mem));
		if (i == 4) {
			INVAL(dart_lock_acquire(lock));
			INVAL(dart_lock_try_acquire(lock, &got));
		}
		OK(dart_lock_release(lock));
	}
	INVAL(dart_lock_release(lock));
	INVAL(dart_lock_acquire(DART_LOCK_NULL));
	{
		long mine = times, *all = malloc((size_t)units * sizeof(long)), sum = 0;

		OK(dart_allgather(&mine, all, 8, DART_TEAM_ALL));
		for (int u = 0; u < units; u++)
			sum += all[u];
		OK(dart_get_blocking(&v, mem, 8));
		CHECK(v == sum);
		free(all);
	}
	/* one has it: nobody else gets it; it is not freed */
	if (me == 0)
		OK(dart_lock_acquire(second));
	OK(dart_barrier(DART_TEAM_ALL));
	if (me) {
		OK(dart_lock_try_acquire(second, &got));
		CHECK(got == 0);
		INVAL(dart_lock_release(second));
	}
	INVAL(dart_team_lock_free(DART_TEAM_ALL, &second));
	if (me == 0)
		OK(dart_lock_release(second));
	OK(dart_team_lock_free(DART_TEAM_ALL, &second));
	CHECK(second == DART_LOCK_NULL);
	OK(dart_team_lock_free(DART_TEAM_ALL, &lock));
	OK(dart_team_memfree(DART_TEAM_ALL, mem));
}

/* The memory of a lock goes with its team. */
static void t_lock_of_no_team(void)
{
	dart_team_t t = every(DART_TEAM_ALL, 1, 0);
	dart_lock_t lock = DART_LOCK_NULL;
	int32_t got = 7;

	OK(dart_team_lock_init(t, &lock));
	OK(dart_lock_acquire(lock));
	OK(dart_lock_release(lock));
	OK(dart_barrier(t));
	OK(dart_team_destroy(t));
	INVAL(dart_lock_acquire(lock));
	INVAL(dart_lock_try_acquire(lock, &got));
	INVAL(dart_lock_release(lock));
	INVAL(dart_team_lock_free(t, &lock));
	CHECK(lock != DART_LOCK_NULL && got == 7);
}

/* For dart_exit(), which the second start follows. */
static void t_leave_some(void)
{
	dart_gptr_t a;
	dart_team_t t = every(DART_TEAM_ALL, 1, 0);

	OK(dart_team_memalloc_aligned(t, 4096, &a));
	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 4096, &a));
	OK(dart_memalloc(100, &a));
}

int main(int argc, char **argv)
{
	static const struct d_case cases[] = {
		T(t_start), T(t_groups), T(t_group_split), T(t_teams), T(t_teams_of_teams), T(t_gptr), T(t_put_get),
		T(t_loads_and_stores), T(t_put_then_get), T(t_memalloc), T(t_pool_any_order), T(t_segments_any_order),
		T(t_many_segments),
		T(t_numbers_go_round), T(t_nothing_of_one), T(t_register), T(t_bad_pointers), T(t_collectives),
		T(t_accumulate), T(t_lock), T(t_lock_of_no_team),
		T(t_leave_some), { 0 }
	};
	dart_gptr_t p = DART_GPTR_NULL;
	size_t n;
	int rc, v, early = 0;

	early |= dart_initialized() || dart_size(&n) != DART_ERR_NOTINIT || dart_exit() != DART_ERR_NOTINIT ||
		 dart_put_blocking(p, &v, sizeof(v)) != DART_ERR_NOTINIT || dart_barrier(0) != DART_ERR_NOTINIT;
	MPI_Init(&argc, &argv);
	for (int again = 0; again < 2; again++) {	/* where MPI was there before, DART can start again */
		if (dart_init(&argc, &argv) != DART_OK)
			return 1;
		MPI_Comm_rank(MPI_COMM_WORLD, &me);
		MPI_Comm_size(MPI_COMM_WORLD, &units);
		if (again)
			setenv("T_ONLY", "t_put_get", 1);
		rc = d_run(cases);
		if (dart_exit() != DART_OK || dart_initialized())
			rc = 1;
		if (rc || getenv("T_ONLY"))
			break;
	}
	MPI_Finalize();
	return rc || early;
}

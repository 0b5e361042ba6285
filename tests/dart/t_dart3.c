/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_dart3.c - the typed interface: every call but those of locality, on any number of units */
#include "d.h"
#include <dart.h>
#include <pthread.h>

static dart_thread_support_level_t level;

static dart_team_unit_t tu(int u)
{
	return DART_TEAM_UNIT_ID(u);
}

static dart_global_unit_t gu(int u)
{
	return DART_GLOBAL_UNIT_ID(u);
}

static void t_start(void)
{
	dart_global_unit_t id;
	dart_config_t *config = NULL;
	size_t size;

	CHECK(dart_initialized());
	INVAL(dart_init(NULL, NULL));
	OK(dart_myid(&id));
	OK(dart_size(&size));
	CHECK(id.id == me && size == (size_t)units);
	dart_config(&config);
	CHECK(config != NULL);
}

static void t_groups(void)
{
	dart_group_t g, h, k, part[5];
	dart_global_unit_t *ids = calloc((size_t)units, sizeof(*ids));
	size_t n, parts;
	int32_t is;

	OK(dart_group_create(&g));
	for (int u = units - 1; u >= 0; u--)
		OK(dart_group_addmember(g, gu(u)));
	INVAL(dart_group_addmember(g, gu(units)));
	OK(dart_group_clone(g, &h));
	OK(dart_group_delmember(h, gu(0)));
	OK(dart_group_ismember(h, gu(0), &is));
	CHECK(!is);
	OK(dart_group_intersect(g, h, &k));
	OK(dart_group_size(k, &n));
	CHECK(n == (size_t)units - 1);
	OK(dart_group_destroy(&k));
	CHECK(k == DART_GROUP_NULL);
	OK(dart_group_union(g, h, &k));
	OK(dart_group_getmembers(k, ids));
	for (int u = 0; u < units; u++)
		CHECK(ids[u].id == u);
	OK(dart_group_split(g, 5, &parts, part));
	CHECK(parts == (size_t)(units < 5 ? units : 5));
	for (int i = 0; i < 5; i++)
		if (i < (int)parts)
			OK(dart_group_destroy(&part[i]));
		else
			CHECK(part[i] == DART_GROUP_NULL);
	INVAL(dart_group_split(g, 0, &parts, part));
	OK(dart_group_destroy(&g));
	INVAL(dart_group_destroy(&g));
	INVAL(dart_group_size(g, &n));
	OK(dart_group_destroy(&h));
	OK(dart_group_destroy(&k));
	free(ids);
}

static void t_teams(void)
{
	dart_group_t g;
	dart_team_t upper, copy, t;
	dart_team_unit_t id;
	dart_global_unit_t global;
	dart_gptr_t mem, p;
	size_t size;
	int v = me;

	OK(dart_team_get_group(DART_TEAM_ALL, &g));
	for (int u = 0; u < units / 2; u++)
		OK(dart_group_delmember(g, gu(u)));
	OK(dart_team_create(DART_TEAM_ALL, g, &upper));
	OK(dart_group_destroy(&g));
	CHECK((upper == DART_TEAM_NULL) == (me < units / 2));
	if (upper == DART_TEAM_NULL) {
		INVAL(dart_team_size(upper, &size));
		return;
	}
	OK(dart_team_clone(upper, &copy));
	CHECK(copy != upper && copy > 0);
	OK(dart_team_size(copy, &size));
	CHECK(size == (size_t)(units - units / 2));
	OK(dart_team_myid(copy, &id));
	CHECK(id.id == me - units / 2);
	OK(dart_team_unit_l2g(copy, id, &global));
	CHECK(global.id == me);
	OK(dart_team_unit_g2l(copy, gu(0), &id));
	CHECK(id.id == (units / 2 ? -1 : 0));
	/* pointers are relative to the team */
	OK(dart_team_memalloc_aligned(copy, 4, DART_TYPE_INT, &mem));
	CHECK(mem.teamid == copy && mem.unitid == 0);
	p = mem;
	OK(dart_gptr_setunit(&p, tu((me - units / 2 + 1) % (int)size)));
	OK(dart_put_blocking(p, &v, 1, DART_TYPE_INT, DART_TYPE_INT));
	OK(dart_flush(p));
	OK(dart_barrier(copy));
	OK(dart_gptr_setunit(&p, tu(me - units / 2)));
	OK(dart_get_blocking(&v, p, 1, DART_TYPE_INT, DART_TYPE_INT));
	CHECK(v == units / 2 + (me - units / 2 + (int)size - 1) % (int)size);
	p.teamid = upper;
	INVAL(dart_get_blocking(&v, p, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_team_memfree(p));
	t = copy;
	OK(dart_team_destroy(&copy));
	CHECK(copy == DART_TEAM_NULL);
	INVAL(dart_barrier(t));
	INVAL(dart_team_destroy(&copy));
	OK(dart_team_destroy(&upper));
	t = DART_TEAM_ALL;
	INVAL(dart_team_destroy(&t));
}

static void t_gptr(void)
{
	dart_gptr_t p = DART_GPTR_NULL;
	uint16_t flags;
	double *addr, *at;

	CHECK(sizeof(p) == 16 && DART_GPTR_ISNULL(p));
	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 10, DART_TYPE_DOUBLE, &p));
	OK(dart_gptr_setflags(&p, 200));
	OK(dart_gptr_getflags(p, &flags));
	CHECK(flags == 200 && p.unitid == 0);
	INVAL(dart_gptr_setflags(&p, 256));
	OK(dart_gptr_setunit(&p, tu(me)));
	OK(dart_gptr_getaddr(p, (void **)&addr));
	OK(dart_gptr_incaddr(&p, 24));
	OK(dart_gptr_getaddr(p, (void **)&at));
	CHECK(at == addr + 3);
	OK(dart_gptr_setaddr(&p, addr + 9));
	CHECK(p.addr_or_offs.offset == 72);
	INVAL(dart_gptr_setaddr(&p, addr + 11));
	INVAL(dart_gptr_setunit(&p, tu((1 << 24) + me)));	/* would be unit @me in 24 bits */
	CHECK(p.unitid == me);
	p.unitid = -1;
	INVAL(dart_gptr_getaddr(p, (void **)&at));
	OK(dart_team_memfree(p));
}

enum { N = 30000 };
static int out[2 * N], in[2 * N];

static void t_put_get(void)
{
	dart_gptr_t mem, p;
	dart_handle_t h[2];
	int32_t done;
	static const size_t length[] = { 1, 2, 7, 1000, N };

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, N, DART_TYPE_INT, &mem));
	p = mem;
	OK(dart_gptr_setunit(&p, tu((me + 1) % units)));
	for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); i++)
		for (int form = 0; form < 3; form++) {
			size_t n = length[i];

			for (size_t k = 0; k < n; k++)
				out[k] = me * 100000 + (int)k * 3 + form;
			memset(in, 0, n * sizeof(int));
			if (form == 0) {
				OK(dart_put_blocking(p, out, n, DART_TYPE_INT, DART_TYPE_INT));
				OK(dart_get_blocking(in, p, n, DART_TYPE_INT, DART_TYPE_INT));
			} else if (form == 1) {
				OK(dart_put(p, out, n, DART_TYPE_INT, DART_TYPE_INT));
				OK(dart_flush(p));
				OK(dart_get(in, p, n, DART_TYPE_INT, DART_TYPE_INT));
				OK(dart_flush_local(p));
			} else {
				OK(dart_put_handle(p, out, n, DART_TYPE_INT, DART_TYPE_INT, &h[0]));
				do
					OK(dart_test(&h[0], &done));
				while (!done);
				CHECK(h[0] == DART_HANDLE_NULL);
				OK(dart_get_handle(in, p, n, DART_TYPE_INT, DART_TYPE_INT, &h[0]));
				OK(dart_wait(&h[0]));
				CHECK(h[0] == DART_HANDLE_NULL);
			}
			CHECK(!memcmp(in, out, n * sizeof(int)));
		}
	for (int way = 0; way < 7; way++) {
		for (int k = 0; k < 2; k++)
			OK(dart_get_handle(in + 10 * k, p, 5, DART_TYPE_INT, DART_TYPE_INT, &h[k]));
		switch (way) {
		case 0: OK(dart_waitall(h, 2)); break;
		case 1: OK(dart_waitall_local(h, 2)); break;
		case 2: OK(dart_wait_local(&h[0])); OK(dart_wait_local(&h[1])); break;
		case 3: do OK(dart_testall(h, 2, &done)); while (!done); break;
		case 4: do OK(dart_testall_local(h, 2, &done)); while (!done); break;
		case 5:
			for (int k = 0; k < 2; k++)
				do
					OK(dart_test_local(&h[k], &done));
				while (!done);
			break;
		case 6: OK(dart_handle_free(&h[0])); OK(dart_handle_free(&h[1])); break;
		}
		CHECK(h[0] == DART_HANDLE_NULL && h[1] == DART_HANDLE_NULL);
		CHECK(!memcmp(in, out, 20) && !memcmp(in + 10, out, 20));
	}
	OK(dart_flush_all(mem));
	OK(dart_flush_local_all(mem));
	/* bad ones */
	INVAL(dart_put_blocking(DART_GPTR_NULL, out, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_put_blocking(p, out, N + 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_put_blocking(p, out, SIZE_MAX / 2, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_put_blocking(p, out, 1, DART_TYPE_INT, DART_TYPE_UINT));
	INVAL(dart_put_blocking(p, out, 1, DART_TYPE_UNDEFINED, DART_TYPE_UNDEFINED));
	INVAL(dart_put_blocking(p, out, 1, DART_TYPE_LAST, DART_TYPE_LAST));
	INVAL(dart_get(NULL, p, 1, DART_TYPE_INT, DART_TYPE_INT));
	p.unitid = units;
	INVAL(dart_get(in, p, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_flush(p));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memfree(mem));
	INVAL(dart_put_blocking(mem, out, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_team_memfree(mem));
}

/* Every call that takes a pointer refuses one that leads nowhere; nothing moves, no handle is given. */
static void refused(dart_gptr_t p)
{
	dart_handle_t h = DART_HANDLE_NULL;
	dart_operation_t sum = DART_OP_SUM;
	int v = -1, got = -2, one = 1;

	INVAL(dart_put(p, &v, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_put_blocking(p, &v, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_put_handle(p, &v, 1, DART_TYPE_INT, DART_TYPE_INT, &h));
	INVAL(dart_get(&got, p, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_get_blocking(&got, p, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_get_handle(&got, p, 1, DART_TYPE_INT, DART_TYPE_INT, &h));
	CHECK(h == DART_HANDLE_NULL);
	INVAL(dart_accumulate(p, &one, 1, DART_TYPE_INT, sum));
	INVAL(dart_accumulate_blocking_local(p, &one, 1, DART_TYPE_INT, sum));
	INVAL(dart_fetch_and_op(p, &one, &got, DART_TYPE_INT, sum));
	INVAL(dart_compare_and_swap(p, &v, &one, &got, DART_TYPE_INT));
	CHECK(got == -2 && v == -1 && one == 1);
}

/* The same, also of calls that need no place in the part. */
static void leads_nowhere(dart_gptr_t p)
{
	void *at = &p;

	refused(p);
	INVAL(dart_flush(p));
	INVAL(dart_flush_local(p));
	INVAL(dart_flush_all(p));
	INVAL(dart_flush_local_all(p));
	INVAL(dart_gptr_getaddr(p, &at));
	CHECK(at == &p);
	INVAL(dart_gptr_setaddr(&p, &at));
}

static void no_segment(dart_gptr_t p)
{
	leads_nowhere(p);
	INVAL(dart_team_memfree(p));
	INVAL(dart_team_memderegister(p));
}

static void t_bad_pointers(void)
{
	static const int16_t segment[] = { 12345, 32767, -1, -12345, INT16_MIN };
	static const int unit[] = { -1, -3, 1 << 22, -(1 << 23) };
	static const uint64_t offset[] = { 97, 100, 101, INT64_MAX, UINT64_MAX, UINT64_MAX - 3, UINT64_MAX - 99 };
	dart_gptr_t mem, p;
	dart_team_t other;
	int *here;

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 25, DART_TYPE_INT, &mem));
	OK(dart_gptr_setunit(&mem, tu(me)));
	OK(dart_gptr_getaddr(mem, (void **)&here));
	for (int i = 0; i < 25; i++)
		here[i] = i;
	OK(dart_team_clone(DART_TEAM_ALL, &other));
	OK(dart_barrier(DART_TEAM_ALL));
	no_segment(DART_GPTR_NULL);
	for (size_t i = 0; i < sizeof(segment) / sizeof(segment[0]); i++) {
		p = mem;
		p.segid = segment[i];
		no_segment(p);
	}
	p = mem;
	p.teamid = other;			/* the same units, but no segment of theirs */
	no_segment(p);
	p.teamid = 12345;
	no_segment(p);
	p.teamid = -1;
	no_segment(p);
	p = mem;
	p.unitid = units;
	leads_nowhere(p);
	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
		p.unitid = unit[i];
		leads_nowhere(p);
	}
	for (int u = 0; u < units; u++)
		for (size_t i = 0; i < sizeof(offset) / sizeof(offset[0]); i++) {
			p = mem;
			OK(dart_gptr_setunit(&p, tu(u)));
			p.addr_or_offs.offset = offset[i];
			refused(p);
		}
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_flush(mem));
	for (int i = 0; i < 25; i++)
		CHECK(here[i] == i);
	INVAL(dart_put_handle(mem, here, 1, DART_TYPE_INT, DART_TYPE_INT, NULL));
	INVAL(dart_get_handle(here, mem, 1, DART_TYPE_INT, DART_TYPE_INT, NULL));
	INVAL(dart_put(mem, NULL, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_get_blocking(NULL, mem, 1, DART_TYPE_INT, DART_TYPE_INT));
	INVAL(dart_wait(NULL));
	INVAL(dart_test(NULL, NULL));
	INVAL(dart_waitall(NULL, 2));
	OK(dart_team_destroy(&other));
	OK(dart_team_memfree(mem));
	no_segment(mem);			/* gone */
}

/* Where element @i of a repeated shape lies. */
static size_t place(int shape, size_t i)
{
	static const size_t at[6] = { 8, 9, 1, 2, 3, 5 };	/* as the indexed type below */

	switch (shape) {
	case 0: return i;
	case 1: return i / 2 * 5 + i % 2;			/* stride 5, 2 in a block */
	case 2: return i / 3 * 4 + i % 3;			/* stride 4, 3 in a block */
	default: return i / 6 * 10 + at[i % 6];
	}
}

/* Every shape to every shape, put and get, each form. */
static void t_shapes(void)
{
	enum { ELEMS = 600 };
	static const size_t length[] = { 2, 0, 3, 1 }, offset[] = { 8, 77, 1, 5 };
	dart_datatype_t type[4] = { DART_TYPE_INT }, bad, big;
	static const size_t far_away = (size_t)1 << 45;
	dart_gptr_t mem, p;
	dart_handle_t h;
	int *here;

	OK(dart_type_create_strided(DART_TYPE_INT, 5, 2, &type[1]));
	OK(dart_type_create_strided(DART_TYPE_INT, 4, 3, &type[2]));
	OK(dart_type_create_indexed(DART_TYPE_INT, 4, length, offset, &type[3]));
	INVAL(dart_type_create_strided(DART_TYPE_INT, 1, 2, &bad));
	INVAL(dart_type_create_strided(DART_TYPE_INT, 1, 0, &bad));
	INVAL(dart_type_create_strided(type[1], 2, 1, &bad));
	INVAL(dart_type_create_indexed(DART_TYPE_INT, 0, length, offset, &bad));
	/* elements whose bytes are more than there can be */
	OK(dart_type_create_custom(1 << 20, &big));
	INVAL(dart_type_create_strided(big, (size_t)1 << 45, 1, &bad));
	INVAL(dart_type_create_indexed(big, 1, length, &far_away, &bad));
	OK(dart_type_create_strided(big, 4, 1, &bad));
	OK(dart_type_destroy(&bad));
	OK(dart_type_destroy(&big));
	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 3 * ELEMS, DART_TYPE_INT, &mem));
	p = mem;
	OK(dart_gptr_setunit(&p, tu(me)));
	OK(dart_gptr_getaddr(p, (void **)&here));
	for (int from = 0; from < 4; from++)
		for (int to = 0; to < 4; to++)
			for (int form = 0; form < 3; form++) {
				int seed = from * 100 + to * 10 + form + 1000 * me;

				memset(here, 0, 3 * ELEMS * sizeof(int));
				memset(out, 0, sizeof(out));
				memset(in, 0, sizeof(in));
				for (size_t i = 0; i < ELEMS; i++)
					out[place(from, i)] = seed * 1000 + (int)i;
				OK(dart_flush(p));
				OK(dart_barrier(DART_TEAM_ALL));
				OK(dart_gptr_setunit(&p, tu((me + 1) % units)));
				if (form == 0) {
					OK(dart_put_blocking(p, out, ELEMS, type[from], type[to]));
					OK(dart_get_blocking(in, p, ELEMS, type[to], type[from]));
				} else if (form == 1) {
					OK(dart_put(p, out, ELEMS, type[from], type[to]));
					OK(dart_flush(p));
					OK(dart_get(in, p, ELEMS, type[to], type[from]));
					OK(dart_flush(p));
				} else {
					OK(dart_put_handle(p, out, ELEMS, type[from], type[to], &h));
					OK(dart_wait(&h));
					OK(dart_get_handle(in, p, ELEMS, type[to], type[from], &h));
					OK(dart_wait(&h));
				}
				CHECK(!memcmp(in, out, sizeof(in)));
				OK(dart_barrier(DART_TEAM_ALL));
				OK(dart_gptr_setunit(&p, tu(me)));
				OK(dart_flush(p));
				seed += 1000 * ((me + units - 1) % units - me);
				for (size_t i = 0; i < ELEMS; i++)
					if (!CHECK(here[place(to, i)] == seed * 1000 + (int)i))
						break;
				CHECK(to == 0 ? here[ELEMS] == 0 : here[to == 1 ? 2 : to == 2 ? 3 : 0] == 0);
				OK(dart_barrier(DART_TEAM_ALL));
			}
	/* not whole, beyond the end, other base */
	INVAL(dart_put(mem, out, 7, DART_TYPE_INT, type[1]));
	INVAL(dart_put(mem, out, 7, type[3], DART_TYPE_INT));
	INVAL(dart_put(mem, out, 2 * ELEMS, DART_TYPE_INT, type[1]));
	INVAL(dart_put(mem, out, 6, DART_TYPE_UINT, type[1]));
	INVAL(dart_accumulate(mem, out, 2, type[1], DART_OP_SUM));
	INVAL(dart_bcast(out, 2, type[1], tu(0), DART_TEAM_ALL));
	for (int i = 1; i < 4; i++)
		OK(dart_type_destroy(&type[i]));
	CHECK(type[1] == DART_TYPE_UNDEFINED);
	INVAL(dart_type_destroy(&type[0]));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memfree(mem));
}

struct rec {
	char name[20];
	int v;
};

static void bigger(const void *in_, void *inout, size_t n, void *user)
{
	const struct rec *a = in_;
	struct rec *b = inout;

	*(int *)user += 1;
	for (size_t i = 0; i < n; i++)
		if (a[i].v > b[i].v)
			b[i] = a[i];
}

static void add(const void *in_, void *inout, size_t n, void *user)
{
	for (size_t i = 0; i < n; i++)
		((double *)inout)[i] += ((const double *)in_)[i] * 1.0;
	(void)user;
}

static void t_custom(void)
{
	dart_datatype_t type;
	dart_operation_t op, op2, plain;
	struct rec a[3], b[3], all[64];
	int calls = 0, calls2 = 0;
	double d = me + 1, sum = 0;
	dart_gptr_t mem, p;

	OK(dart_type_create_custom(sizeof(struct rec), &type));
	INVAL(dart_type_create_custom(0, &type));
	OK(dart_op_create(bigger, &calls, true, type, false, &op));
	OK(dart_op_create(bigger, &calls2, true, type, true, &op2));
	OK(dart_op_create(add, NULL, true, DART_TYPE_DOUBLE, false, &plain));
	for (int i = 0; i < 3; i++) {
		a[i].v = (me + i) % units;
		snprintf(a[i].name, sizeof(a[i].name), "unit%d", me);
	}
	memset(b, 0, sizeof(b));
	OK(dart_allreduce(a, b, 3, type, op, DART_TEAM_ALL));
	for (int i = 0; i < 3; i++) {
		char want[32];

		snprintf(want, sizeof(want), "unit%d", (units - 1 - i % units + units) % units);
		CHECK(b[i].v == units - 1 && !strcmp(b[i].name, want));
	}
	OK(dart_reduce(a, b, 3, type, op2, tu(units - 1), DART_TEAM_ALL));
	OK(dart_allreduce(&d, &sum, 1, DART_TYPE_DOUBLE, plain, DART_TEAM_ALL));
	CHECK(sum == units * (units + 1) / 2);
	INVAL(dart_allreduce(a, b, 3, DART_TYPE_INT, op, DART_TEAM_ALL));
	INVAL(dart_allreduce(a, b, 3, type, DART_OP_SUM, DART_TEAM_ALL));
	OK(dart_allgather(a, all, 1, type, DART_TEAM_ALL));
	for (int u = 0; u < units; u++)
		CHECK(all[u].v == u);
	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 3, type, &mem));
	p = mem;
	OK(dart_gptr_setunit(&p, tu((me + 1) % units)));
	OK(dart_put_blocking(p, a, 3, type, type));
	memset(b, 0, sizeof(b));
	OK(dart_get_blocking(b, p, 3, type, type));
	CHECK(!memcmp(a, b, sizeof(a)));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memfree(mem));
	OK(dart_op_destroy(&op));
	CHECK(op == DART_OP_UNDEFINED);
	INVAL(dart_op_destroy(&op));
	OK(dart_op_destroy(&op2));
	OK(dart_op_destroy(&plain));
}

static void t_collectives(void)
{
	long v[64], w[64], r[4];
	size_t count[64], at[64];
	int pair[4] = { me, me, -me, me + 5 }, got[4];

	for (int root = 0; root < units; root++) {
		v[0] = root == me ? 77 + root : 0;
		OK(dart_bcast(v, 1, DART_TYPE_LONG, tu(root), DART_TEAM_ALL));
		CHECK(v[0] == 77 + root);
		for (int u = 0; u < units; u++)
			v[u] = u * 10 + root;
		OK(dart_scatter(v, w, 1, DART_TYPE_LONG, tu(root), DART_TEAM_ALL));
		CHECK(w[0] == me * 10 + root);
		memset(v, 0, sizeof(v));
		OK(dart_gather(w, v, 1, DART_TYPE_LONG, tu(root), DART_TEAM_ALL));
		for (int u = 0; u < units && me == root; u++)
			CHECK(v[u] == u * 10 + root);
		v[0] = me;
		w[0] = -1;
		OK(dart_reduce(v, w, 1, DART_TYPE_LONG, DART_OP_SUM, tu(root), DART_TEAM_ALL));
		CHECK(w[0] == (me == root ? units * (units - 1) / 2 : -1));
	}
	v[0] = me;
	OK(dart_allgather(v, w, 1, DART_TYPE_LONG, DART_TEAM_ALL));
	for (int u = 0; u < units; u++)
		CHECK(w[u] == u);
	for (int u = 0; u < units; u++)
		v[u] = me * 100 + u;
	OK(dart_alltoall(v, w, 1, DART_TYPE_LONG, DART_TEAM_ALL));
	for (int u = 0; u < units; u++)
		CHECK(w[u] == u * 100 + me);
	/* unit u has u % 2 + 1, in the other order */
	for (int u = units - 1, n = 0; u >= 0; u--) {
		count[u] = (size_t)(u % 2) + 1;
		at[u] = (size_t)n;
		n += u % 2 + 1;
	}
	v[0] = v[1] = me;
	OK(dart_allgatherv(v, count[me], DART_TYPE_LONG, w, count, at, DART_TEAM_ALL));
	for (int u = 0; u < units; u++)
		CHECK(w[at[u]] == u && w[at[u] + count[u] - 1] == u);
	/* all operations */
	static const struct { dart_operation_t op; long a, b; } op[] = {	/* of 6 on unit 0, 3 on the others */
		{ DART_OP_MIN, 3, 6 }, { DART_OP_MAX, 6, 6 }, { DART_OP_BAND, 2, 6 }, { DART_OP_BOR, 7, 6 },
		{ DART_OP_LAND, 1, 6 }, { DART_OP_LOR, 1, 6 },
	};
	for (size_t i = 0; i < sizeof(op) / sizeof(op[0]); i++) {
		r[0] = me ? 3 : 6;
		OK(dart_allreduce(r, r, 1, DART_TYPE_LONG, op[i].op, DART_TEAM_ALL));
		CHECK(units == 1 ? r[0] == op[i].b || r[0] == 1 : r[0] == op[i].a);
	}
	OK(dart_allreduce(pair, got, 4, DART_TYPE_INT, DART_OP_MINMAX, DART_TEAM_ALL));
	CHECK(got[DART_OP_MINMAX_MIN] == 0 && got[DART_OP_MINMAX_MAX] == units - 1 && got[2] == 1 - units &&
	      got[3] == units + 4);
	INVAL(dart_allreduce(pair, got, 3, DART_TYPE_INT, DART_OP_MINMAX, DART_TEAM_ALL));
	INVAL(dart_allreduce(pair, got, 1, DART_TYPE_FLOAT, DART_OP_BAND, DART_TEAM_ALL));
	INVAL(dart_allreduce(pair, got, 1, DART_TYPE_INT, DART_OP_REPLACE, DART_TEAM_ALL));
	INVAL(dart_allreduce(pair, got, 1, DART_TYPE_INT, DART_OP_UNDEFINED, DART_TEAM_ALL));
	INVAL(dart_bcast(v, 1, DART_TYPE_LONG, tu(units), DART_TEAM_ALL));
	INVAL(dart_bcast(v, 1, DART_TYPE_LONG, tu(0), DART_TEAM_NULL));
}

/* Each base type: sums by all units into one place, floating ones too; and the other operations by one unit. */
#define SUM_OF(type, dtype) do {							\
		type one_ = 1, got_[2] = { 0 }, zero_[2] = { 0 };			\
		if (me == 0)								\
			OK(dart_put_blocking(mem, zero_, 2, dtype, dtype));		\
		OK(dart_flush(mem));							\
		OK(dart_barrier(DART_TEAM_ALL));					\
		for (int i_ = 0; i_ < 100 / units; i_++) {				\
			OK(dart_accumulate(mem, &one_, 1, dtype, DART_OP_SUM));	\
			OK(dart_flush(mem));						\
		}									\
		OK(dart_barrier(DART_TEAM_ALL));					\
		OK(dart_fetch_and_op(mem, NULL, got_, dtype, DART_OP_NO_OP));		\
		OK(dart_flush(mem));							\
		CHECK(got_[0] == (type)(100 / units * units));				\
		OK(dart_barrier(DART_TEAM_ALL));					\
		if (me == 0) {								\
			type v_ = 3, old_ = 0;						\
			OK(dart_fetch_and_op(mem, &v_, &old_, dtype, DART_OP_REPLACE));	\
			OK(dart_flush(mem));						\
			CHECK(old_ == (type)(100 / units * units));			\
			v_ = 5;								\
			OK(dart_accumulate_blocking_local(mem, &v_, 1, dtype, DART_OP_PROD));	\
			OK(dart_flush(mem));						\
			v_ = 9;								\
			OK(dart_accumulate(mem, &v_, 1, dtype, DART_OP_MIN));		\
			OK(dart_flush(mem));						\
			OK(dart_get_blocking(&v_, mem, 1, dtype, dtype));		\
			CHECK(v_ == 9);							\
		}									\
		OK(dart_barrier(DART_TEAM_ALL));					\
	} while (0)

static void t_atomics(void)
{
	dart_gptr_t mem, p;
	long v, old, cmp;
	int got = 0;

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 64, DART_TYPE_BYTE, &mem));
	SUM_OF(signed char, DART_TYPE_BYTE);
	SUM_OF(short, DART_TYPE_SHORT);
	SUM_OF(int, DART_TYPE_INT);
	SUM_OF(unsigned, DART_TYPE_UINT);
	SUM_OF(long, DART_TYPE_LONG);
	SUM_OF(unsigned long, DART_TYPE_ULONG);
	SUM_OF(long long, DART_TYPE_LONGLONG);
	SUM_OF(unsigned long long, DART_TYPE_ULONGLONG);
	SUM_OF(float, DART_TYPE_FLOAT);
	SUM_OF(double, DART_TYPE_DOUBLE);
	SUM_OF(long double, DART_TYPE_LONG_DOUBLE);
	/* each number of a ticket once */
	v = 0;
	if (me == 0)
		OK(dart_put_blocking(mem, &v, 1, DART_TYPE_LONG, DART_TYPE_LONG));
	OK(dart_flush(mem));
	OK(dart_barrier(DART_TEAM_ALL));
	for (;;) {
		/* by compare and swap: unit v % units adds one */
		cmp = got * units + me;
		v = cmp + 1;
		OK(dart_compare_and_swap(mem, &v, &cmp, &old, DART_TYPE_LONG));
		OK(dart_flush(mem));
		CHECK(old <= cmp);
		if (old == cmp && ++got == 50)
			break;
	}
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_get_blocking(&v, mem, 1, DART_TYPE_LONG, DART_TYPE_LONG));
	CHECK(v == 50L * units);
	p = mem;
	p.addr_or_offs.offset = 4;
	INVAL(dart_accumulate(p, &v, 1, DART_TYPE_LONG, DART_OP_SUM));
	p.addr_or_offs.offset = 64;
	INVAL(dart_accumulate(p, &v, 1, DART_TYPE_LONG, DART_OP_SUM));
	INVAL(dart_fetch_and_op(mem, &v, NULL, DART_TYPE_LONG, DART_OP_SUM));
	INVAL(dart_accumulate(mem, &v, 2, DART_TYPE_LONG, DART_OP_MINMAX));
	INVAL(dart_accumulate(mem, &v, 1, DART_TYPE_DOUBLE, DART_OP_BXOR));
	INVAL(dart_compare_and_swap(mem, &v, &cmp, &old, DART_TYPE_DOUBLE));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memfree(mem));
}

static void t_memory(void)
{
	dart_gptr_t mine, all[64], reg;
	static long data[64];
	long v = me + 9, len = 10 + me;

	OK(dart_memalloc(10, DART_TYPE_LONG, &mine));
	OK(dart_allgather(&mine, all, sizeof(mine), DART_TYPE_BYTE, DART_TEAM_ALL));
	OK(dart_put_blocking(all[(me + 1) % units], &v, 1, DART_TYPE_LONG, DART_TYPE_LONG));
	OK(dart_flush(all[(me + 1) % units]));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_get_blocking(&v, mine, 1, DART_TYPE_LONG, DART_TYPE_LONG));
	CHECK(v == (me + units - 1) % units + 9);
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_memfree(mine));
	INVAL(dart_memfree(mine));
	CHECK(dart_memalloc((size_t)1 << 37, DART_TYPE_LONG, &mine) == DART_ERR_NOMEM);
	INVAL(dart_memalloc(SIZE_MAX, DART_TYPE_LONG, &mine));
	/* of different lengths */
	for (int i = 0; i < 64; i++)
		data[i] = me * 1000 + i;
	OK(dart_team_memregister(DART_TEAM_ALL, (size_t)len, DART_TYPE_LONG, data, &reg));
	for (int u = 0; u < units; u++) {
		OK(dart_gptr_setunit(&reg, tu(u)));
		reg.addr_or_offs.offset = (uint64_t)(9 + u) * 8;
		OK(dart_get_blocking(&v, reg, 1, DART_TYPE_LONG, DART_TYPE_LONG));
		CHECK(v == u * 1000 + 9 + u);
		OK(dart_gptr_incaddr(&reg, 8));
		INVAL(dart_get_blocking(&v, reg, 1, DART_TYPE_LONG, DART_TYPE_LONG));
	}
	INVAL(dart_team_memfree(reg));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_team_memderegister(reg));
	OK(dart_team_memregister_aligned(DART_TEAM_ALL, 5, DART_TYPE_LONG, data, &reg));
	OK(dart_team_memderegister(reg));
}

static void t_allocator(void)
{
	dart_allocator_t a;
	dart_gptr_t p[16], q, all[64];
	dart_team_t t;
	long v = me;

	OK(dart_allocator_new(1024, DART_TEAM_ALL, &a));
	for (int i = 0; i < 16; i++)
		OK(dart_allocator_alloc(8, DART_TYPE_LONG, &p[i], a));
	CHECK(dart_allocator_alloc(1, DART_TYPE_BYTE, &q, a) == DART_ERR_NOMEM);
	OK(dart_allgather(&p[3], all, sizeof(q), DART_TYPE_BYTE, DART_TEAM_ALL));
	OK(dart_put_blocking(all[(me + 1) % units], &v, 1, DART_TYPE_LONG, DART_TYPE_LONG));
	OK(dart_flush(all[(me + 1) % units]));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_get_blocking(&v, p[3], 1, DART_TYPE_LONG, DART_TYPE_LONG));
	CHECK(v == (me + units - 1) % units);
	for (int i = 0; i < 16; i++) {
		q = p[i];
		OK(dart_allocator_free(&p[i], a));
		CHECK(DART_GPTR_ISNULL(p[i]));
		INVAL(dart_allocator_free(&q, a));
	}
	OK(dart_allocator_alloc(128, DART_TYPE_LONG, &q, a));
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_allocator_destroy(&a));
	CHECK(a == DART_ALLOCATOR_NULL);
	INVAL(dart_allocator_new(8, DART_TEAM_ALL, &a));
	/* all of a number of bytes that is no power of two */
	OK(dart_allocator_new(1000, DART_TEAM_ALL, &a));
	for (int i = 0; i < 15; i++)
		OK(dart_allocator_alloc(1, DART_TYPE_BYTE, &p[i], a));
	CHECK(dart_allocator_alloc(1, DART_TYPE_BYTE, &q, a) == DART_ERR_NOMEM);
	for (int i = 0; i < 15; i++)
		OK(dart_allocator_free(&p[i], a));
	OK(dart_allocator_alloc(512, DART_TYPE_BYTE, &p[0], a));
	OK(dart_allocator_alloc(256, DART_TYPE_BYTE, &p[1], a));
	CHECK(dart_allocator_alloc(256, DART_TYPE_BYTE, &q, a) == DART_ERR_NOMEM);
	OK(dart_allocator_destroy(&a));
	/* it goes with its team */
	OK(dart_team_clone(DART_TEAM_ALL, &t));
	OK(dart_allocator_new(1024, t, &a));
	OK(dart_allocator_alloc(1, DART_TYPE_BYTE, &q, a));
	OK(dart_team_destroy(&t));
	INVAL(dart_allocator_alloc(1, DART_TYPE_BYTE, &p[0], a));
	INVAL(dart_allocator_free(&q, a));
	INVAL(dart_allocator_destroy(&a));
}

static void t_messages(void)
{
	long v = me, w = -1;
	int next = (me + 1) % units, prev = (me + units - 1) % units;

	OK(dart_sendrecv(&v, 1, DART_TYPE_LONG, 3, gu(next), &w, 1, DART_TYPE_LONG, 3, gu(prev)));
	CHECK(w == prev);
	if (units > 1) {
		if (me == 0) {
			OK(dart_send(&v, 1, DART_TYPE_LONG, 0, gu(next)));
			OK(dart_recv(&w, 1, DART_TYPE_LONG, 0, gu(prev)));
		} else {
			OK(dart_recv(&w, 1, DART_TYPE_LONG, 0, gu(prev)));
			OK(dart_send(&v, 1, DART_TYPE_LONG, 0, gu(next)));
		}
		CHECK(w == prev);
	}
	INVAL(dart_send(&v, 1, DART_TYPE_LONG, -1, gu(0)));
	INVAL(dart_send(&v, 1, DART_TYPE_LONG, 0, gu(units)));
	INVAL(dart_recv(&v, 1, DART_TYPE_UNDEFINED, 0, gu(0)));
}

static dart_lock_t lock;
static dart_gptr_t counter;

static void *count(void *arg)
{
	long v;
	int32_t got = 0;

	for (int i = 0; i < 50; i++) {
		if (i % 2)
			OK(dart_lock_acquire(lock));
		else
			do {
				OK(dart_lock_try_acquire(lock, &got));
				if (!got)
					sched_yield();
			} while (!got);
		INVAL(dart_lock_acquire(lock));
		OK(dart_get_blocking(&v, counter, 1, DART_TYPE_LONG, DART_TYPE_LONG));
		v++;
		OK(dart_put_blocking(counter, &v, 1, DART_TYPE_LONG, DART_TYPE_LONG));
		OK(dart_flush(counter));
		OK(dart_lock_release(lock));
	}
	return arg;
}

/* Threads of all units, where MPI has threads. */
static void t_lock(void)
{
	enum { THREADS = 3 };
	pthread_t thread[THREADS];
	int threads = level == DART_THREAD_MULTIPLE ? THREADS : 1;
	long v = 0;

	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 1, DART_TYPE_LONG, &counter));
	if (me == 0)
		OK(dart_put_blocking(counter, &v, 1, DART_TYPE_LONG, DART_TYPE_LONG));
	CHECK(!dart_lock_initialized(DART_LOCK_NULL));
	OK(dart_team_lock_init(DART_TEAM_ALL, &lock));
	CHECK(dart_lock_initialized(lock));
	INVAL(dart_lock_release(lock));
	if (threads == 1)
		count(NULL);
	for (int i = 0; i < threads && threads > 1; i++)
		pthread_create(&thread[i], NULL, count, NULL);
	for (int i = 0; i < threads && threads > 1; i++)
		pthread_join(thread[i], NULL);
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_get_blocking(&v, counter, 1, DART_TYPE_LONG, DART_TYPE_LONG));
	CHECK(v == 50L * threads * units);
	OK(dart_team_lock_destroy(&lock));
	CHECK(lock == DART_LOCK_NULL);
	INVAL(dart_lock_acquire(lock));
	OK(dart_team_memfree(counter));
}

static void *allocate(void *arg)
{
	dart_team_t *team = arg;
	dart_gptr_t p[5], q;
	long v = 4, w;

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 5; i++) {
			OK(dart_team_memalloc_aligned(*team, 10, DART_TYPE_LONG, &p[i]));
			OK(dart_memalloc(10, DART_TYPE_LONG, &q));
			OK(dart_put_blocking(q, &v, 1, DART_TYPE_LONG, DART_TYPE_LONG));
			OK(dart_get_blocking(&w, q, 1, DART_TYPE_LONG, DART_TYPE_LONG));
			CHECK(w == 4);
			OK(dart_memfree(q));
		}
		for (int i = 0; i < 5; i++)
			OK(dart_team_memfree(p[i]));
	}
	return NULL;
}

/* Two threads allocate on teams of their own at the same time. */
static void t_threads_allocate(void)
{
	dart_team_t team[2];
	pthread_t thread[2];

	if (level != DART_THREAD_MULTIPLE)
		SKIP("this MPI was started for one thread");
	for (int i = 0; i < 2; i++)
		OK(dart_team_clone(DART_TEAM_ALL, &team[i]));
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, allocate, &team[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 2; i++)
		OK(dart_team_destroy(&team[i]));
}

int main(int argc, char **argv)
{
	static const struct d_case cases[] = {
		T(t_start), T(t_groups), T(t_teams), T(t_gptr), T(t_put_get), T(t_bad_pointers), T(t_shapes),
		T(t_custom),
		T(t_collectives), T(t_atomics), T(t_memory),
		T(t_allocator), T(t_messages), T(t_lock), T(t_threads_allocate), { 0 }
	};
	int rc, early = dart_initialized() || dart_barrier(DART_TEAM_ALL) != DART_ERR_NOTINIT;

	if (dart_init_thread(&argc, &argv, &level) != DART_OK)
		return 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &units);
	rc = d_run(cases);
	if (dart_exit() != DART_OK || dart_initialized())
		rc = 1;
	return rc || early;
}

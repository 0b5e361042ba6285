/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_rma_ops.c - windows of every kind, over memory of every kind: put, get and accumulate give the right bytes, in
 * every kind of epoch, and concurrent accumulates of all ranks lose nothing
 *
 * Memory: heap, static data, the stack, shared and private mappings (which SMARTMAP does not reach: the fallback), and
 * what MPI_Win_allocate, MPI_Win_allocate_shared (in one block or apart) and dynamic windows give.
 */
#include "m.h"

#include <complex.h>
#include <stdbool.h>
#include <sys/mman.h>

#define SIZE	(1 << 16)
#define ROUNDS	200

enum { HEAP, DATA, STACK, SHARED_MAP, PRIVATE_MAP, ALLOCATE, SHARED, APART, DYN_HEAP, DYN_MAP, KINDS };
static const char *const kind_name[] = { "heap", "data", "stack", "shared mapping", "private mapping", "allocate",
	"allocate_shared", "allocate_shared apart", "dynamic, heap", "dynamic, mapping" };

static char data[SIZE] __attribute__((aligned(64)));
static char *mem;			/* own window memory */
static MPI_Aint *at;			/* displacement of each rank's memory */
static MPI_Win win;
static int kind, next, prev;

static void *mapping(int flags)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void make_window(char *stack)
{
	MPI_Info info = MPI_INFO_NULL;
	MPI_Aint here = 0;

	switch (kind) {
	case HEAP:
	case DYN_HEAP:
		mem = aligned_alloc(64, SIZE);
		break;
	case DATA:
		mem = data;
		break;
	case STACK:
		mem = stack;
		break;
	case SHARED_MAP:
		mem = mapping(MAP_SHARED);
		break;
	case PRIVATE_MAP:
	case DYN_MAP:
		mem = mapping(MAP_PRIVATE);
		break;
	}
	switch (kind) {
	case ALLOCATE:
		MPI_Win_allocate(SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
		break;
	case SHARED:
		MPI_Win_allocate_shared(SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
		break;
	case APART:
		MPI_Info_create(&info);
		MPI_Info_set(info, "alloc_shared_noncontig", "true");
		MPI_Win_allocate_shared(SIZE, 1, info, MPI_COMM_WORLD, &mem, &win);
		MPI_Info_free(&info);
		break;
	case DYN_HEAP:
	case DYN_MAP:
		MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
		MPI_Win_attach(win, mem, SIZE);
		MPI_Get_address(mem, &here);
		break;
	default:
		MPI_Win_create(mem, SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	}
	CHECK(mem != NULL);
	MPI_Allgather(&here, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
}

static void free_window(void)
{
	if (kind == DYN_HEAP || kind == DYN_MAP) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_detach(win, mem);
	}
	MPI_Win_free(&win);
	if (kind == HEAP || kind == DYN_HEAP)
		free(mem);
	else if (kind == SHARED_MAP || kind == PRIVATE_MAP || kind == DYN_MAP)
		munmap(mem, SIZE);
}

/* Epochs: 0 fence, 1 post-start-complete-wait, 2 lock, 3 lock_all and flush */
static void begin(int epoch, int to)
{
	static MPI_Group world, one;
	int who;

	switch (epoch) {
	case 0:
		MPI_Win_fence(0, win);
		break;
	case 1:
		MPI_Comm_group(MPI_COMM_WORLD, &world);
		who = to == next ? prev : next;
		MPI_Group_incl(world, 1, &who, &one);
		MPI_Win_post(one, 0, win);
		MPI_Group_free(&one);
		MPI_Group_incl(world, 1, &to, &one);
		MPI_Win_start(one, 0, win);
		MPI_Group_free(&one);
		MPI_Group_free(&world);
		break;
	case 2:
		MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
		break;
	case 3:
		MPI_Win_lock_all(0, win);
		break;
	}
}

static void end(int epoch, int to)
{
	switch (epoch) {
	case 0:
		MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
		break;
	case 1:
		MPI_Win_complete(win);
		MPI_Win_wait(win);
		break;
	case 2:
		MPI_Win_unlock(to, win);
		break;
	case 3:
		MPI_Win_flush(to, win);
		MPI_Win_unlock_all(win);
		break;
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank writes into the next one's memory, reads what it wrote, and looks at its own. */
static void put_get(int epoch)
{
	static const int sizes[] = { 1, 2, 4, 7, 8, 64, 100, 4096, 40000, SIZE - 64 };
	char *src = malloc(SIZE), *back = malloc(SIZE);
	long w;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int n = sizes[i], off = i % 9;

		m_fill(src, n, m_rank * 100 + i);
		memset(mem, 0, SIZE);
		MPI_Barrier(MPI_COMM_WORLD);
		begin(epoch, next);
		MPI_Put(src, n, MPI_CHAR, next, at[next] + off, n, MPI_CHAR, win);
		end(epoch, next);
		w = m_wrong(mem + off, n, prev * 100 + i);
		CHECK(w < 0, "%s, epoch %d: byte %ld of %d", kind_name[kind], epoch, w, n);
		CHECK((off == 0 || mem[off - 1] == 0) && mem[off + n] == 0, "%s: written outside", kind_name[kind]);
		memset(back, 0, SIZE);
		begin(epoch, next);
		MPI_Get(back, n, MPI_CHAR, next, at[next] + off, n, MPI_CHAR, win);
		end(epoch, next);
		w = m_wrong(back, n, m_rank * 100 + i);
		CHECK(w < 0, "%s, epoch %d: byte %ld of %d got back", kind_name[kind], epoch, w, n);
	}
	free(src);
	free(back);
}

/* A column into every third int, and back; the gaps stay. */
static void put_types(int epoch)
{
	enum { N = 500 };
	MPI_Datatype col, third;
	int src[N][2], back[N][2], *p = (int *)mem;

	MPI_Type_vector(N, 1, 2, MPI_INT, &col);
	MPI_Type_vector(N, 1, 3, MPI_INT, &third);
	MPI_Type_commit(&col);
	MPI_Type_commit(&third);
	for (int i = 0; i < N; i++)
		src[i][0] = m_rank * 10000 + i, src[i][1] = -1;
	memset(mem, 0x55, SIZE);
	memset(back, 0, sizeof(back));
	MPI_Barrier(MPI_COMM_WORLD);
	begin(epoch, next);
	MPI_Put(src, 1, col, next, at[next], 1, third, win);
	end(epoch, next);
	for (int i = 0; i < N; i++)
		CHECK(p[3 * i] == prev * 10000 + i && p[3 * i + 1] == 0x55555555 && p[3 * i + 2] == 0x55555555,
		      "%s: element %d", kind_name[kind], i);
	MPI_Barrier(MPI_COMM_WORLD);
	begin(epoch, next);
	MPI_Accumulate(src, 1, col, next, at[next], 1, third, MPI_SUM, win);
	end(epoch, next);
	for (int i = 0; i < N; i++)
		CHECK(p[3 * i] == 2 * (prev * 10000 + i) && p[3 * i + 1] == 0x55555555, "%s: sum %d", kind_name[kind],
		      i);
	MPI_Barrier(MPI_COMM_WORLD);
	begin(epoch, next);
	MPI_Get_accumulate(src, 1, col, back, 1, col, next, at[next], 1, third, MPI_MAX, win);
	end(epoch, next);
	for (int i = 0; i < N; i++)
		CHECK(back[i][0] == 2 * (m_rank * 10000 + i) && back[i][1] == 0, "%s: old %d: %d", kind_name[kind], i,
		      back[i][0]);
	MPI_Type_free(&col);
	MPI_Type_free(&third);
}

struct cell {
	int8_t i8;
	int16_t i16;
	int32_t i32;
	int64_t i64;
	float f;
	double d;
	double complex z;
	long double ld;
	struct { double v; int i; } loc;
	char pad;
	int64_t crooked;		/* not aligned */
	int64_t arr[70];
	int64_t cas;
	int32_t band;
} __attribute__((packed, aligned(64)));

/* All ranks change the same elements of all ranks: what each does must be there in the end. */
static void atomics(void)
{
	struct cell *c = (struct cell *)mem, *n0 = NULL;
	int64_t arr[70];

	memset(c, 0, sizeof(*c));
	c->loc.v = -1;
	c->band = -1;
	for (int i = 0; i < 70; i++)
		arr[i] = i;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (int r = 0; r < ROUNDS; r++) {
		int to = (m_rank + r) % m_size;
		MPI_Aint a = at[to];
#define AT(f) (a + (MPI_Aint)(intptr_t)&n0->f)
		int8_t i8 = 1, o8;
		int16_t i16 = 1;
		int32_t i32 = 3, o32, band = ~(1 << (r % 31));
		int64_t i64 = 5, old[70], one = 1;
		float f = 1, of;
		double d = .5, od;
		double complex z = 1 + 2 * I;
		long double ld = .25L;
		struct { double v; int i; } loc = { m_rank * ROUNDS + r, m_rank };

		MPI_Fetch_and_op(&i8, &o8, MPI_INT8_T, to, AT(i8), MPI_SUM, win);
		MPI_Accumulate(&i16, 1, MPI_INT16_T, to, AT(i16), 1, MPI_INT16_T, MPI_SUM, win);
		MPI_Fetch_and_op(&i32, &o32, MPI_INT32_T, to, AT(i32), MPI_SUM, win);
		MPI_Accumulate(&i64, 1, MPI_INT64_T, to, AT(i64), 1, MPI_INT64_T, MPI_SUM, win);
		MPI_Get_accumulate(&f, 1, MPI_FLOAT, &of, 1, MPI_FLOAT, to, AT(f), 1, MPI_FLOAT, MPI_SUM, win);
		MPI_Fetch_and_op(&d, &od, MPI_DOUBLE, to, AT(d), MPI_SUM, win);
		MPI_Accumulate(&z, 1, MPI_C_DOUBLE_COMPLEX, to, AT(z), 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, win);
		MPI_Accumulate(&ld, 1, MPI_LONG_DOUBLE, to, AT(ld), 1, MPI_LONG_DOUBLE, MPI_SUM, win);
		MPI_Accumulate(&loc, 1, MPI_DOUBLE_INT, to, AT(loc), 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
		MPI_Accumulate(&one, 1, MPI_INT64_T, to, AT(crooked), 1, MPI_INT64_T, MPI_SUM, win);
		MPI_Get_accumulate(arr, 70, MPI_INT64_T, old, 70, MPI_INT64_T, to, AT(arr), 70, MPI_INT64_T, MPI_SUM,
				   win);
		MPI_Accumulate(&band, 1, MPI_INT32_T, to, AT(band), 1, MPI_INT32_T, MPI_BAND, win);
		MPI_Win_flush(to, win);
		CHECK(old[0] == 0 && old[69] % 69 == 0 && old[35] % 35 == 0, "%s", kind_name[kind]);
		for (int64_t seen = 0, want, got;; seen = got) {
			want = seen + 1;
			MPI_Compare_and_swap(&want, &seen, &got, MPI_INT64_T, to, AT(cas), win);
			MPI_Win_flush(to, win);
			if (got == seen)
				break;
		}
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(c->i8 == (int8_t)ROUNDS, "%s: %d", kind_name[kind], c->i8);
	CHECK(c->i16 == (int16_t)ROUNDS, "%s: %d", kind_name[kind], c->i16);
	CHECK(c->i32 == 3 * ROUNDS, "%s: %d", kind_name[kind], c->i32);
	CHECK(c->i64 == 5 * ROUNDS, "%s: %ld", kind_name[kind], (long)c->i64);
	CHECK(c->f == ROUNDS, "%s: %g", kind_name[kind], c->f);
	CHECK(c->d == ROUNDS / 2., "%s: %g", kind_name[kind], c->d);
	CHECK(c->z == ROUNDS * (1 + 2 * I), "%s: %g", kind_name[kind], creal(c->z));
	CHECK(c->ld == ROUNDS / 4.L, "%s: %Lg", kind_name[kind], c->ld);
	CHECK(c->loc.v >= (m_size - 1) * ROUNDS && c->loc.i == m_size - 1, "%s: %g %d", kind_name[kind], c->loc.v,
	      c->loc.i);
	CHECK(c->crooked == ROUNDS, "%s: %ld", kind_name[kind], (long)c->crooked);
	for (int i = 0; i < 70; i++)
		CHECK(c->arr[i] == i * ROUNDS, "%s: %d: %ld", kind_name[kind], i, (long)c->arr[i]);
	CHECK(c->cas == ROUNDS, "%s: %ld", kind_name[kind], (long)c->cas);
	CHECK(c->band == (int32_t)0x80000000, "%s: %x", kind_name[kind], c->band);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Requests; order of one rank's accumulates to one place. */
static void requests(void)
{
	int v = m_rank + 1, got = 0, old = 0;
	MPI_Request rq[4];

	memset(mem, 0, SIZE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	MPI_Rput(&v, 1, MPI_INT, next, at[next], 1, MPI_INT, win, &rq[0]);
	m_waitall(1, rq);
	MPI_Win_flush(next, win);
	MPI_Raccumulate(&v, 1, MPI_INT, next, at[next], 1, MPI_INT, MPI_SUM, win, &rq[0]);
	MPI_Rget_accumulate(&v, 1, MPI_INT, &old, 1, MPI_INT, next, at[next], 1, MPI_INT, MPI_REPLACE, win, &rq[1]);
	m_waitall(2, rq);
	MPI_Win_flush(next, win);
	MPI_Rget(&got, 1, MPI_INT, next, at[next], 1, MPI_INT, win, &rq[0]);
	m_waitall(1, rq);
	MPI_Win_unlock_all(win);
	CHECK(old == 2 * v && got == v, "%s: %d %d", kind_name[kind], old, got);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Addresses inside the types: MPI_BOTTOM, which is NULL, is a buffer like any other. */
static void bottom(void)
{
	enum { K = 50 };
	long out[K], in[K];
	struct { double v; int at; } pair = { m_rank, 7 }, was[2] = { { -1, -1 }, { -1, -1 } };
	MPI_Datatype from, to, apart, two;
	MPI_Aint a[K], b[K], p, to_at = at[next];
	int bad;

	for (int k = 0; k < K; k++) {		/* the last comes first */
		out[k] = m_rank * 1000 + k;
		MPI_Get_address(&out[K - 1 - k], &a[k]);
		MPI_Get_address(&in[K - 1 - k], &b[k]);
	}
	MPI_Type_create_hindexed_block(K, 1, a, MPI_LONG, &from);
	MPI_Type_create_hindexed_block(K, 1, b, MPI_LONG, &to);
	MPI_Type_vector(K, 1, 3, MPI_LONG, &apart);
	MPI_Get_address(&was[0], &p);
	MPI_Type_create_hindexed_block(1, 1, &p, MPI_DOUBLE_INT, &two);
	MPI_Type_commit(&from);
	MPI_Type_commit(&to);
	MPI_Type_commit(&apart);
	MPI_Type_commit(&two);
	memset(mem, 0, SIZE);
	MPI_Win_lock_all(0, win);
	MPI_Win_sync(win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int how = 0; how < 4; how++) {
		memset(in, 0, sizeof(in));
		bad = 0;
		if (how == 0)
			MPI_Put(MPI_BOTTOM, 1, from, next, to_at, 1, apart, win);
		else
			MPI_Accumulate(MPI_BOTTOM, 1, from, next, to_at, 1, apart, how == 1 ? MPI_REPLACE : MPI_SUM,
				       win);
		MPI_Win_flush(next, win);
		if (how == 0)
			MPI_Get(MPI_BOTTOM, 1, to, next, to_at, 1, apart, win);
		else if (how == 1)
			MPI_Get_accumulate(NULL, 0, MPI_LONG, MPI_BOTTOM, 1, to, next, to_at, 1, apart, MPI_NO_OP, win);
		else
			MPI_Get_accumulate(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, next, to_at, 1, apart, MPI_SUM, win);
		MPI_Win_flush(next, win);
		for (int k = 0; k < K; k++)
			bad += in[k] != (how < 2 ? 1 : 2 * how - 2) * out[k];
		CHECK(!bad, "%s, MPI_BOTTOM, way %d: %d wrong", kind_name[kind], how, bad);
	}
	/* a pair, too */
	to_at += 4096;
	MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, next, to_at, 1, MPI_DOUBLE_INT, MPI_REPLACE, win);
	MPI_Win_flush(next, win);
	MPI_Get_accumulate(&pair, 1, MPI_DOUBLE_INT, MPI_BOTTOM, 1, two, next, to_at, 1, MPI_DOUBLE_INT, MPI_MAXLOC,
			   win);
	MPI_Win_flush(next, win);
	MPI_Win_unlock_all(win);
	CHECK(was[0].v == m_rank && was[0].at == 7 && was[1].at == -1, "%s, MPI_BOTTOM, a pair: %g %d", kind_name[kind],
	      was[0].v, was[0].at);
	MPI_Type_free(&from);
	MPI_Type_free(&to);
	MPI_Type_free(&apart);
	MPI_Type_free(&two);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	char stack[SIZE] __attribute__((aligned(64)));
	MPI_Comm node;
	int on_node;

	m_start(&argc, &argv);
	at = malloc(m_size * sizeof(*at));
	next = (m_rank + 1) % m_size;
	prev = (m_rank + m_size - 1) % m_size;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &on_node);
	MPI_Comm_free(&node);
	MPI_Allreduce(MPI_IN_PLACE, &on_node, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	for (kind = 0; kind < KINDS; kind++) {
		if ((kind == SHARED || kind == APART) && on_node < m_size)
			continue;
		make_window(stack);
		for (int e = 0; e < 4; e++) {
			put_get(e);
			put_types(e);
		}
		atomics();
		requests();
		bottom();
		free_window();
	}
	free(at);
	return m_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_rma_nested.c - shared windows inside other windows, as a PGAS runtime has them
 *
 * The ranks of a node get one block by MPI_Win_allocate_shared; each rank gives its part of it, under the address that
 * it has there, to MPI_Win_create over all ranks, and attaches it to a dynamic window over all ranks. Whoever writes by
 * load and store, or through any of the three, all see the same bytes.
 */
#include "m.h"

#define N 1024

static MPI_Comm node;
static int node_rank, node_size;

static void nested(int apart)
{
	MPI_Win shared, outer, dyn;
	MPI_Info info;
	MPI_Aint size, *addr = malloc(m_size * sizeof(*addr)), here;
	int unit, next = (m_rank + 1) % m_size, prev = (m_rank + m_size - 1) % m_size;
	long *mem, *base, v, got, *all[64];

	MPI_Info_create(&info);
	MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
	MPI_Win_allocate_shared(N * sizeof(long), sizeof(long), info, node, &mem, &shared);
	MPI_Info_free(&info);
	for (int r = 0; r < node_size; r++) {
		MPI_Win_shared_query(shared, r, &size, &unit, &base);
		CHECK(size == N * (MPI_Aint)sizeof(long) && unit == sizeof(long) && base != NULL);
		CHECK(r != node_rank || base == mem, "own part %p, asked %p", (void *)mem, (void *)base);
		CHECK(apart || r == 0 || base == all[r - 1] + N, "parts do not follow each other");
		all[r] = base;
	}
	MPI_Win_shared_query(shared, MPI_PROC_NULL, &size, &unit, &base);
	CHECK(base == all[0]);
	for (int i = 0; i < N; i++)
		mem[i] = m_rank * 100000 + i;
	MPI_Win_create(mem, N * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &outer);
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dyn);
	MPI_Win_attach(dyn, mem, N * sizeof(long));
	MPI_Get_address(mem, &here);
	MPI_Allgather(&here, 1, MPI_AINT, addr, 1, MPI_AINT, MPI_COMM_WORLD);

	MPI_Win_lock_all(0, shared);
	MPI_Win_lock_all(0, outer);
	MPI_Win_lock_all(0, dyn);
	MPI_Barrier(MPI_COMM_WORLD);
	/* loads of what others stored */
	MPI_Win_sync(shared);
	for (int r = 0; r < node_size; r++)
		CHECK(all[r][5] % 100000 == 5 && all[r][N - 1] % 100000 == N - 1, "%ld", all[r][5]);
	/* through each window */
	MPI_Get(&got, 1, MPI_LONG, next, 7, 1, MPI_LONG, outer);
	MPI_Win_flush(next, outer);
	CHECK(got == next * 100000 + 7, "%ld", got);
	MPI_Get(&got, 1, MPI_LONG, next, addr[next] + 8 * sizeof(long), 1, MPI_LONG, dyn);
	MPI_Win_flush(next, dyn);
	CHECK(got == next * 100000 + 8, "%ld", got);
	MPI_Barrier(MPI_COMM_WORLD);
	v = -m_rank;
	MPI_Put(&v, 1, MPI_LONG, next, 10, 1, MPI_LONG, outer);
	MPI_Win_flush(next, outer);
	v = -m_rank - 1000;
	MPI_Put(&v, 1, MPI_LONG, next, addr[next] + 11 * sizeof(long), 1, MPI_LONG, dyn);
	MPI_Win_flush(next, dyn);
	MPI_Put(&v, 1, MPI_LONG, (node_rank + 1) % node_size, 12, 1, MPI_LONG, shared);
	MPI_Win_flush((node_rank + 1) % node_size, shared);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(shared);
	CHECK(mem[10] == -prev, "%ld", mem[10]);
	CHECK(mem[11] == -prev - 1000, "%ld", mem[11]);
	CHECK(mem[12] <= -1000, "%ld", mem[12]);
	/* sums by all ranks, through one window at a time */
	mem[20] = mem[21] = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	v = 1;
	for (int i = 0; i < 300; i++) {
		int to = (m_rank + i) % m_size;

		MPI_Accumulate(&v, 1, MPI_LONG, to, 20, 1, MPI_LONG, MPI_SUM, outer);
		MPI_Fetch_and_op(&v, &got, MPI_LONG, to, addr[to] + 21 * sizeof(long), MPI_SUM, dyn);
		MPI_Win_flush(to, dyn);
	}
	MPI_Win_flush_all(outer);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(mem[20] == 300, "%ld", mem[20]);
	CHECK(mem[21] == 300, "%ld", mem[21]);
	MPI_Win_unlock_all(dyn);
	MPI_Win_unlock_all(outer);
	MPI_Win_unlock_all(shared);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_detach(dyn, mem);
	MPI_Win_free(&dyn);
	MPI_Win_free(&outer);
	MPI_Win_free(&shared);
	free(addr);
}

/* Many pieces attached and detached; some of the node's shared memory, some of the heap. */
static void attach_many(void)
{
	enum { PIECES = 150 };
	MPI_Win shared, dyn;
	MPI_Aint addr[PIECES], theirs[PIECES];
	long *mem, *heap = malloc(PIECES * sizeof(long)), got;
	int next = (m_rank + 1) % m_size;

	MPI_Win_allocate_shared(PIECES * sizeof(long), sizeof(long), MPI_INFO_NULL, node, &mem, &shared);
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dyn);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < PIECES; i++) {
			long *p = (i + round) % 3 ? &mem[i] : &heap[i];

			*p = m_rank * 1000 + i + round;
			MPI_Win_attach(dyn, p, sizeof(long));
			MPI_Get_address(p, &addr[i]);
		}
		MPI_Sendrecv(addr, PIECES, MPI_AINT, (m_rank + m_size - 1) % m_size, 1, theirs, PIECES, MPI_AINT, next,
			     1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Win_lock(MPI_LOCK_SHARED, next, 0, dyn);
		for (int i = 0; i < PIECES; i++) {
			MPI_Get(&got, 1, MPI_LONG, next, theirs[i], 1, MPI_LONG, dyn);
			MPI_Win_flush(next, dyn);
			CHECK(got == next * 1000 + i + round, "%d: %ld", i, got);
		}
		MPI_Win_unlock(next, dyn);
		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 0; i < PIECES; i++)
			MPI_Win_detach(dyn, (i + round) % 3 ? &mem[i] : &heap[i]);
	}
	MPI_Win_free(&dyn);
	MPI_Win_free(&shared);
	free(heap);
}

/* Parts of different sizes, none among them; the whole window of no size. */
static void odd_sizes(void)
{
	MPI_Win win;
	MPI_Aint size;
	char *mem, *base;
	int unit;

	MPI_Win_allocate_shared(node_rank % 2 ? 0 : 100 * (node_rank + 1), 1, MPI_INFO_NULL, node, &mem, &win);
	if (node_rank % 2 == 0)
		memset(mem, node_rank + 1, 100 * (node_rank + 1));
	MPI_Win_fence(0, win);
	for (int r = 0; r < node_size; r += 2) {
		MPI_Win_shared_query(win, r, &size, &unit, &base);
		CHECK(size == 100 * (r + 1) && base[0] == r + 1 && base[size - 1] == r + 1, "%d: %ld", r, (long)size);
	}
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, node, &mem, &win);
	MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &base);
	CHECK(size == 0);
	MPI_Win_free(&win);
	if (node_size < m_size) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		CHECK(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win) != MPI_SUCCESS);
	}
}

int main(int argc, char **argv)
{
	m_start(&argc, &argv);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &node_rank);
	MPI_Comm_size(node, &node_size);
	nested(0);
	nested(1);
	attach_many();
	odd_sizes();
	MPI_Comm_free(&node);
	return m_finish();
}

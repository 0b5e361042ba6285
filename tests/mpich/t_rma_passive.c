/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_rma_passive.c - locks: exclusive ones exclude, no kind starves, and on a node nobody needs the target's help
 */
#include "m.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static MPI_Win win;
static long *mem;
static int on_node;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* Rank 0 makes no MPI call until the others have told it in its memory that they have had every kind of epoch. */
static void target_computes(void)
{
	long one = 1, v;

	mem[0] = mem[1] = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == 0) {
		_Atomic long *p = (_Atomic long *)&mem[0];
		double t0 = now();

		while (atomic_load(p) < m_size - 1 && now() - t0 < 20)
			sched_yield();
		CHECK(atomic_load(p) == m_size - 1, "%ld of %d came through", atomic_load(p), m_size - 1);
		CHECK(mem[1] == 30 * (m_size - 1), "%ld", mem[1]);
	} else {
		for (int i = 0; i < 10; i++) {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
			MPI_Get(&v, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
			MPI_Win_flush(0, win);
			v++;
			MPI_Put(&v, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
			MPI_Win_unlock(0, win);
			MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
			MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, win);
			MPI_Win_flush_local(0, win);
			MPI_Win_unlock(0, win);
			MPI_Win_lock_all(0, win);
			MPI_Fetch_and_op(&one, &v, MPI_LONG, 0, 1, MPI_SUM, win);
			MPI_Win_flush_all(win);
			MPI_Win_unlock_all(win);
		}
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
		MPI_Win_unlock(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Under an exclusive lock get, wait a little, put: nothing is lost. Readers never see the two words differ. */
static void exclusion(int rounds)
{
	long v[2];

	for (int to = 0; to < m_size; to += m_size > 2 ? m_size - 1 : 1) {
		mem[0] = mem[1] = 0;
		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 0; i < rounds; i++) {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
			MPI_Get(v, 2, MPI_LONG, to, 0, 2, MPI_LONG, win);
			MPI_Win_flush(to, win);
			CHECK(v[0] == v[1], "%ld %ld", v[0], v[1]);
			v[0]++;
			MPI_Put(&v[0], 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
			MPI_Win_flush(to, win);
			if (i % 8 == 0)
				sched_yield();
			MPI_Put(&v[0], 1, MPI_LONG, to, 1, 1, MPI_LONG, win);
			MPI_Win_unlock(to, win);
			MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
			MPI_Get(v, 2, MPI_LONG, to, 0, 2, MPI_LONG, win);
			MPI_Win_unlock(to, win);
			CHECK(v[0] == v[1], "shared: %ld %ld", v[0], v[1]);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
		MPI_Get(v, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
		MPI_Win_unlock(to, win);
		CHECK(v[0] == (long)rounds * m_size, "%ld", v[0]);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/*
 * The last rank wants the lock of the one kind ten times while all the others take it in the other kind without pause,
 * so that it is hardly ever free.
 */
static void starvation(int type)
{
	int other = type == MPI_LOCK_SHARED ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
	long stop = 0, one = 1;
	double t0 = now();

	mem[0] = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == m_size - 1) {
		for (int i = 0; i < 10; i++) {
			MPI_Win_lock(type, 0, 0, win);
			MPI_Win_unlock(0, win);
		}
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_REPLACE, win);
		MPI_Win_unlock(0, win);
	} else {
		while (!stop && now() - t0 < 30) {
			MPI_Win_lock(other, 0, 0, win);
			for (double t = now(); now() - t < 20e-6;)
				;
			MPI_Get_accumulate(NULL, 0, MPI_LONG, &stop, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP, win);
			MPI_Win_flush(0, win);
			MPI_Win_unlock(0, win);
		}
		CHECK(stop, "starved for %g s", now() - t0);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* A holds the lock shared and waits for C, who wants it shared; B wants it exclusive in between. No deadlock. */
static void shared_beside_shared(void)
{
	int x = 0;

	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == 0) {
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(&x, 1, MPI_INT, 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Win_unlock(0, win);
	} else if (m_rank == 1) {
		MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&x, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Win_unlock(0, win);
	} else if (m_rank == 2) {
		MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (double t = now(); now() - t < 2e-3;)
			;
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Win_unlock(0, win);
		MPI_Send(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* NOCHECK takes no lock; the own lock; calls that do not fit are refused. */
static void odds(void)
{
	long v = m_rank, got = -1;
	int next = (m_rank + 1) % m_size;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, MPI_MODE_NOCHECK, win);
	MPI_Put(&v, 1, MPI_LONG, next, 2, 1, MPI_LONG, win);
	MPI_Win_unlock(next, win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
	MPI_Get(&got, 1, MPI_LONG, next, 2, 1, MPI_LONG, win);
	MPI_Win_unlock_all(win);
	CHECK(got == m_rank);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, m_rank, 0, win);
	mem[2] = 77;
	MPI_Win_unlock(m_rank, win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	CHECK(MPI_Win_unlock(next, win) != MPI_SUCCESS);
	CHECK(MPI_Win_unlock_all(win) != MPI_SUCCESS);
	CHECK(MPI_Win_flush(next, win) != MPI_SUCCESS);
	CHECK(MPI_Put(&v, 1, MPI_LONG, next, 2, 1, MPI_LONG, win) != MPI_SUCCESS);
	MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
	CHECK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win) != MPI_SUCCESS);
	CHECK(MPI_Win_lock_all(0, win) != MPI_SUCCESS);
	MPI_Win_unlock(next, win);
	MPI_Win_lock_all(0, win);
	CHECK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win) != MPI_SUCCESS);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Comm node;
	int rounds;

	m_start(&argc, &argv);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &on_node);
	MPI_Comm_free(&node);
	MPI_Allreduce(MPI_IN_PLACE, &on_node, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	rounds = on_node == m_size ? 300 : 30;
	MPI_Win_allocate(3 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
	if (on_node == m_size)
		target_computes();
	exclusion(rounds);
	if (m_size > 2) {
		starvation(MPI_LOCK_EXCLUSIVE);
		starvation(MPI_LOCK_SHARED);
		shared_beside_shared();
	}
	odds();
	MPI_Win_free(&win);
	return m_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_coll_errors - collectives in which something is wrong: a rank whose buffer is too short for the broadcast; a part
 * on a node that fails (MPICH_COLL_PLUGIN: t_coll_errors_so.c), of which every rank must hear; a rank that is so slow
 * that the others are in later collectives. What comes afterwards must be right.
 */
#include "m.h"
#include <unistd.h>

static int sum_is_right(int n)
{
	static int a[5000], b[5000];
	int bad = 0;

	for (int i = 0; i < n; i++)
		a[i] = m_rank + i;
	if (MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS)
		return 0;
	for (int i = 0; i < n; i++)
		bad += b[i] != m_size * (m_size - 1) / 2 + i * m_size;
	return !bad;
}

static int class_of(int error)
{
	int class = 0;

	MPI_Error_class(error, &class);
	return class;
}

/* Everybody else has room for half of it. Between nodes short ones may go on to others, cut off: only errors count. */
static void truncated(void)
{
	static const int sizes[] = { 2, 10, 14, 20, 1000, 2000, 10000, 300000 };
	static int a[300000];

	for (unsigned k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
		for (int root = 0; root < m_size; root++) {
			int n = m_rank == root ? sizes[k] : sizes[k] / 2, rc;

			memset(a, 0x11, sizeof(a));
			rc = MPI_Bcast(a, n, MPI_INT, root, MPI_COMM_WORLD);
			CHECK(m_rank == root ? rc == MPI_SUCCESS : class_of(rc) == MPI_ERR_TRUNCATE,
			      "%d ints from %d: class %d", sizes[k], root, class_of(rc));
			CHECK(n == sizes[k] || a[n] == 0x11111111, "%d ints from %d: beyond the buffer", sizes[k],
			      root);
			CHECK(sum_is_right(10) && sum_is_right(3000), "after %d ints from %d", sizes[k], root);
		}
}

/* The plug-in's reduction fails on the rank that this names; the first rank of a node tells the others. */
static void failing_part(void)
{
	for (int leader = 0; leader < m_size; leader += 2)
		for (int n = 1; n <= 5000; n = n * 7 + 1) {
			int x[5000] = { 0 }, y[5000], rc;

			if (m_rank == leader)
				setenv("T_COLL_FAIL", "1", 1);
			rc = MPI_Allreduce(x, y, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			unsetenv("T_COLL_FAIL");
			CHECK(rc != MPI_SUCCESS, "%d ints, rank %d failed, and nobody has told this one", n, leader);
			CHECK(sum_is_right(n), "after the failure of rank %d with %d ints", leader, n);
		}
}

static void slow(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	if (m_rank == 1)
		usleep(3000);
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

/* Rank 1 is in the reduction while rank 0 broadcasts more often than there are places for what it says. */
static void one_is_behind(void)
{
	static int a[2000], b[2000], c[2000];
	MPI_Op op;

	MPI_Op_create(slow, 1, &op);
	for (int n = 1; n <= 2000; n = n * 5 + 3) {
		int bad = 0;

		for (int i = 0; i < n; i++)
			a[i] = m_rank + i;
		MPI_Allreduce(a, b, n, MPI_INT, op, MPI_COMM_WORLD);
		for (int k = 0; k < 100; k++) {
			memset(c, m_rank == 0 ? k : 0, n * sizeof(*c));
			MPI_Bcast(c, n, MPI_INT, 0, MPI_COMM_WORLD);
			bad += c[n - 1] != k * 0x01010101;
		}
		for (int i = 0; i < n; i++)
			bad += b[i] != m_size * (m_size - 1) / 2 + i * m_size;
		CHECK(!bad, "%d ints: %d wrong", n, bad);
	}
	MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
	m_start(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (getenv("MPICH_COLL_PLUGIN"))
		failing_part();
	else if (!getenv("PTL_PES_PER_NODE"))
		truncated();
	one_is_behind();
	return m_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_coll_reduce - barrier, bcast, reduce, allreduce against a naive reference, on communicators of many shapes
 *
 * The reference is computed by each rank alone, from what it knows that the others give. Sizes around the limits of the
 * slot, the stage and the pieces; roots and in-place; operators of MPICH, pairs, a user's that does not commute, and a
 * user's on a type with gaps; memory that windows do not show (mmap of a file).
 */
#include "m.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAXN	200000

static int *a, *b;

static int value(int seed, int rank, int i)
{
	return (int)m_byte(seed + rank * 131, i) - 100;
}

static void fill(int *p, int n, int seed, int rank)
{
	for (int i = 0; i < n; i++)
		p[i] = value(seed, rank, i);
}

static const int counts[] = { 1, 2, 7, 13, 14, 15, 16, 63, 255, 256, 257, 300, 511, 512, 513, 1000, 2047,
			      2048, 2049, 3000, 4097, 16385, 70001, MAXN };
#define COUNTS ((int)(sizeof(counts) / sizeof(counts[0])))

static void t_bcast(MPI_Comm comm, int size, int rank)
{
	MPI_Datatype gaps;

	for (int k = 0; k < COUNTS; k++) {
		int n = counts[k], root = k % size, bad = 0;

		fill(a, n, k, rank == root ? 7 : 8);
		MPI_Bcast(a, n, MPI_INT, root, comm);
		for (int i = 0; i < n; i++)
			bad += a[i] != value(k, 7, i);
		CHECK(!bad, "bcast of %d ints: %d wrong", n, bad);
		if (n > MAXN / 2)
			continue;
		/* the receivers take every second int, the root gives them in one piece */
		MPI_Type_vector(n, 1, 2, MPI_INT, &gaps);
		MPI_Type_commit(&gaps);
		fill(a, 2 * n, k + 1, rank == root ? 7 : 8);
		if (rank == root)
			MPI_Bcast(a, n, MPI_INT, root, comm);
		else
			MPI_Bcast(a, 1, gaps, root, comm);
		bad = 0;
		if (rank != root)
			for (int i = 0; i < n; i++)
				bad += a[2 * i] != value(k + 1, 7, i) ||
				       (i + 1 < n && a[2 * i + 1] != value(k + 1, 8, 2 * i + 1));
		CHECK(!bad, "bcast of %d ints into gaps: %d wrong", n, bad);
		fill(a, 2 * n, k + 2, rank == root ? 7 : 8);
		if (rank == root)
			MPI_Bcast(a, 1, gaps, root, comm);
		else
			MPI_Bcast(a, n, MPI_INT, root, comm);
		bad = 0;
		if (rank != root)
			for (int i = 0; i < n; i++)
				bad += a[i] != value(k + 2, 7, 2 * i);
		CHECK(!bad, "bcast of %d ints out of gaps: %d wrong", n, bad);
		MPI_Type_free(&gaps);
	}
}

static int expected(MPI_Op op, int size, int k, int i)
{
	int v = value(k, 0, i);

	for (int r = 1; r < size; r++) {
		int x = value(k, r, i);

		v = op == MPI_SUM ? v + x : op == MPI_MAX ? (x > v ? x : v) : op == MPI_MIN ? (x < v ? x : v) : (v ^ x);
	}
	return v;
}

static int wrong(const int *p, int n, MPI_Op op, int size, int k)
{
	int bad = 0;

	for (int i = 0; i < n; i++)
		bad += p[i] != expected(op, size, k, i);
	return bad;
}

static void t_reduce(MPI_Comm comm, int size, int rank)
{
	static const MPI_Op ops[] = { MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR };

	for (int k = 0; k < COUNTS; k++) {
		int n = counts[k], root = (k + 1) % size;
		MPI_Op op = ops[k % 4];

		fill(a, n, k, rank);
		memset(b, 0x55, n * sizeof(*b));
		MPI_Reduce(a, b, n, MPI_INT, op, root, comm);
		if (rank == root)
			CHECK(!wrong(b, n, op, size, k), "reduce of %d", n);
		else
			CHECK(b[0] == 0x55555555 && b[n - 1] == 0x55555555, "reduce of %d wrote elsewhere", n);
		fill(a, n, k, rank);
		MPI_Reduce(rank == root ? MPI_IN_PLACE : a, rank == root ? a : NULL, n, MPI_INT, op, root, comm);
		if (rank == root)
			CHECK(!wrong(a, n, op, size, k), "reduce of %d in place", n);
		fill(a, n, k, rank);
		memset(b, 0x55, n * sizeof(*b));
		MPI_Allreduce(a, b, n, MPI_INT, op, comm);
		CHECK(!wrong(b, n, op, size, k), "allreduce of %d", n);
		MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_INT, op, comm);
		CHECK(!wrong(a, n, op, size, k), "allreduce of %d in place", n);
	}
	MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm);
	MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, comm);
	MPI_Bcast(NULL, 0, MPI_INT, 0, comm);
}

static void t_loc(MPI_Comm comm, int size, int rank)
{
	struct di {
		double v;
		int at;
	} *p = (struct di *)a, *q = (struct di *)b;

	for (int k = 0; k < COUNTS - 1; k++) {
		int n = counts[k] / 4 + 1, bad = 0;

		for (int i = 0; i < n; i++) {
			p[i].v = value(k, rank, i);
			p[i].at = rank;
		}
		MPI_Allreduce(p, q, n, MPI_DOUBLE_INT, k % 2 ? MPI_MAXLOC : MPI_MINLOC, comm);
		for (int i = 0; i < n; i++) {
			int at = 0, v = value(k, 0, i);

			for (int r = 1; r < size; r++) {
				int x = value(k, r, i);

				if (k % 2 ? x > v : x < v) {
					v = x;
					at = r;
				}
			}
			bad += (int)q[i].v != v || q[i].at != at;
		}
		CHECK(!bad, "%s of %d: %d wrong", k % 2 ? "MAXLOC" : "MINLOC", n, bad);
	}
}

/* Does not commute: 2 x 2 matrices modulo a prime. */
static void mat(void *in, void *inout, int *len, MPI_Datatype *type)
{
	const int *x = in;
	int *y = inout;
	MPI_Aint lb, extent;
	int step;

	MPI_Type_get_extent(*type, &lb, &extent);
	step = (int)(extent / (MPI_Aint)sizeof(int));
	for (int i = 0; i < *len; i++, x += step, y += step) {
		int r[4];

		for (int j = 0; j < 4; j++)
			r[j] = (x[j & 2] * y[j & 1] + x[(j & 2) + 1] * y[2 + (j & 1)]) % 9973;
		memcpy(y, r, sizeof(r));
	}
}

static void t_user(MPI_Comm comm, int size, int rank, int gap)
{
	MPI_Datatype quad, type;
	MPI_Op op;
	int step = 4 + gap;

	MPI_Type_contiguous(4, MPI_INT, &quad);
	MPI_Type_create_resized(quad, 0, step * (MPI_Aint)sizeof(int), &type);
	MPI_Type_commit(&type);
	MPI_Op_create(mat, 0, &op);
	for (int k = 0; k < COUNTS - 1; k++) {
		int n = counts[k] / 8 + 1, root = k % size, bad = 0;

		for (int pass = 0; pass < 3; pass++) {
			for (int i = 0; i < n * step; i++) {
				a[i] = i % step < 4 ? value(k, rank, i) + 200 : -5;
				b[i] = -6;
			}
			if (pass == 0)
				MPI_Allreduce(a, b, n, type, op, comm);
			else if (pass == 1)
				MPI_Reduce(a, b, n, type, op, root, comm);
			else
				MPI_Reduce(rank == root ? MPI_IN_PLACE : a, a, n, type, op, root, comm);
			if (pass && rank != root)
				continue;
			for (int i = 0; i < n; i++) {
				int y[4], *got = (pass == 2 ? a : b) + i * step, one = 1;

				for (int j = 0; j < 4; j++)
					y[j] = value(k, size - 1, i * step + j) + 200;
				for (int r = size - 2; r >= 0; r--) {
					int x[4];

					for (int j = 0; j < 4; j++)
						x[j] = value(k, r, i * step + j) + 200;
					mat(x, y, &one, &quad);
				}
				for (int j = 0; j < 4; j++)
					bad += got[j] != y[j];
				if (gap)
					bad += got[4] != (pass == 2 ? -5 : -6);
			}
		}
		CHECK(!bad, "matrices, gap %d, %d of them: %d wrong", gap, n, bad);
	}
	MPI_Op_free(&op);
	MPI_Type_free(&type);
	MPI_Type_free(&quad);
}

/* Barriers between sums of what each has counted. */
static void t_barrier(MPI_Comm comm, int size, int rank)
{
	int in[1];

	for (int round = 0; round < 200; round++) {
		int sum = 0;

		in[0] = round;
		MPI_Allreduce(in, &sum, 1, MPI_INT, MPI_SUM, comm);
		CHECK(sum == round * size);
		MPI_Barrier(comm);
		if (rank == round % size)
			in[0]++;
		MPI_Barrier(comm);
	}
}

static void all_on(MPI_Comm comm)
{
	int size, rank;

	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &rank);
	t_barrier(comm, size, rank);
	t_bcast(comm, size, rank);
	t_reduce(comm, size, rank);
	t_loc(comm, size, rank);
	t_user(comm, size, rank, 0);
	t_user(comm, size, rank, 1);
}

/* Communicators that overlap, used in turn; freed by some while others are still in them; made and freed in storms. */
static void t_comms(void)
{
	MPI_Comm half, odd, dup[20], c;
	int v, sum, hs, os;

	MPI_Comm_split(MPI_COMM_WORLD, m_rank < (m_size + 1) / 2, m_rank, &half);
	MPI_Comm_split(MPI_COMM_WORLD, m_rank % 2, -m_rank, &odd);
	MPI_Comm_size(half, &hs);
	MPI_Comm_size(odd, &os);
	for (int i = 0; i < 300; i++) {
		v = 1;
		MPI_Allreduce(&v, &sum, 1, MPI_INT, MPI_SUM, half);
		CHECK(sum == hs);
		MPI_Allreduce(&v, &sum, 1, MPI_INT, MPI_SUM, odd);
		CHECK(sum == os);
		v = i;
		MPI_Bcast(&v, 1, MPI_INT, 0, i % 3 ? odd : MPI_COMM_WORLD);
		CHECK(v == i);
	}
	all_on(odd);
	MPI_Comm_free(&odd);
	MPI_Comm_free(&half);
	for (int i = 0; i < 30; i++) {
		for (int j = 0; j < 20; j++)
			MPI_Comm_dup(MPI_COMM_WORLD, &dup[j]);
		for (int j = 0; j < 20; j++) {
			v = m_rank == j % m_size ? i * j : -1;
			MPI_Bcast(&v, 1, MPI_INT, j % m_size, dup[j]);	/* the root is gone when the others come */
			CHECK(v == i * j);
			MPI_Comm_free(&dup[j]);
		}
		MPI_Comm_split(MPI_COMM_WORLD, (m_rank + i) % 2, m_rank, &c);
		v = 1;
		MPI_Reduce(&v, &sum, 1, MPI_INT, MPI_SUM, 0, c);
		MPI_Comm_free(&c);
	}
}

/* Packets of others go on while a rank waits in a collective. */
static void t_progress(void)
{
	static char big[200000];
	MPI_Request r;

	if (m_size < 2)
		return;
	if (m_rank == 0) {
		MPI_Irecv(big, sizeof(big), MPI_BYTE, 1, 5, MPI_COMM_WORLD, &r);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	} else {
		if (m_rank == 1)
			MPI_Ssend(big, sizeof(big), MPI_BYTE, 0, 5, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	char name[] = "t_coll.XXXXXX";
	int fd;
	MPI_Comm c;

	m_start(&argc, &argv);
	a = malloc(2 * MAXN * sizeof(*a));
	b = malloc(2 * MAXN * sizeof(*b));
	all_on(MPI_COMM_WORLD);
	t_comms();
	t_progress();
	/* the same in memory that peers cannot see; only half of the ranks have it */
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	if (m_rank % 2) {
		free(a);
		free(b);
		fd = mkstemp(name);
		CHECK(fd >= 0 && !ftruncate(fd, 4 * MAXN * sizeof(*a)));
		unlink(name);
		a = mmap(NULL, 4 * MAXN * sizeof(*a), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(a != MAP_FAILED);
		b = a + 2 * MAXN;
	}
	all_on(c);
	MPI_Comm_free(&c);
	return m_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_coll_move - gather, scatter, allgather, alltoall with their v and w forms, scan, exscan, reduce_scatter, and
 * collectives of several threads, each in a communicator of its own
 *
 * What rank r gives to rank q at place i is word(r, q, i). Sizes around the limits of the slot and the stage; zero
 * counts; in place; one side with gaps in its type; the whole again in memory that windows do not show.
 */
#include "m.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAXB	20000			/* ints of a block */

static int *a, *b, counts[64], displs[64], rcounts[64], rdispls[64];
static const int blocks[] = { 1, 2, 3, 5, 7, 14, 15, 100, 300, 511, 513, 700, 2047, 2049, 5000, MAXB - 3 };
#define BLOCKS	((int)(sizeof(blocks) / sizeof(blocks[0])))

static int word(int r, int q, int i)
{
	return (r * 64 + q) * 65536 + i + 1;
}

static int bad_block(const int *p, int n, int step, int r, int q)
{
	int bad = 0;

	for (int i = 0; i < n; i++)
		bad += p[i * step] != word(r, q, i);
	return bad;
}

static void put_block(int *p, int n, int step, int r, int q)
{
	for (int i = 0; i < n; i++)
		p[i * step] = word(r, q, i);
}

static MPI_Datatype gaps(int n)
{
	MPI_Datatype t, r;

	MPI_Type_vector(n, 1, 2, MPI_INT, &t);
	MPI_Type_create_resized(t, 0, 2 * n * (MPI_Aint)sizeof(int), &r);
	MPI_Type_commit(&r);
	MPI_Type_free(&t);
	return r;
}

static void t_alltoall(MPI_Comm comm, int size, int rank)
{
	for (int k = 0; k < BLOCKS; k++) {
		int n = blocks[k] > 200000 / size / 2 ? 100000 / size : blocks[k], bad = 0;
		MPI_Datatype g = gaps(n);

		for (int form = 0; form < 4; form++) {	/* plain, gaps to send, gaps to receive, in place */
			int ss = form == 1 ? 2 : 1, rs = form == 2 ? 2 : 1;

			memset(b, 0x11, 2 * n * size * sizeof(int));
			for (int q = 0; q < size; q++)
				put_block((form == 3 ? b : a) + q * n * ss, n, ss, rank, q);
			MPI_Alltoall(form == 3 ? MPI_IN_PLACE : a, form == 1 ? 1 : n, form == 1 ? g : MPI_INT, b,
				form == 2 ? 1 : n,
				     form == 2 ? g : MPI_INT, comm);
			for (int q = 0; q < size; q++)
				bad += bad_block(b + q * n * rs, n, rs, q, rank);
			if (rs == 2)
				bad += b[1] != 0x11111111;
			CHECK(!bad, "alltoall of %d, form %d: %d wrong", n, form, bad);
		}
		for (int form = 0; form < 3; form++) {	/* v, some pairs exchange nothing; w; v in place */
			MPI_Datatype st[64], rt[64];
			int sb[64], rb[64], sc[64];

			memset(b, 0x11, n * size * sizeof(int));
			for (int q = 0; q < size; q++) {
				counts[q] = rcounts[q] = (rank + q) % 3 ? n - (rank + q) % n : 0;
				displs[q] = rdispls[q] = (size - 1 - q) * n;
				put_block((form == 2 ? b : a) + displs[q] * (form == 1 ? 2 : 1), counts[q],
					form == 1 ? 2 : 1, rank, q);
				st[q] = counts[q] ? gaps(counts[q]) : MPI_INT;
				sc[q] = counts[q] > 0;
				rt[q] = MPI_INT;
				sb[q] = displs[q] * 2 * (int)sizeof(int);
				rb[q] = rdispls[q] * (int)sizeof(int);
			}
			if (form == 1)
				MPI_Alltoallw(a, sc, sb, st, b, rcounts, rb, rt, comm);
			else
				MPI_Alltoallv(form == 2 ? MPI_IN_PLACE : a, counts, displs, MPI_INT, b, rcounts,
					rdispls, MPI_INT, comm);
			bad = 0;
			for (int q = 0; q < size; q++) {
				bad += bad_block(b + rdispls[q], rcounts[q], 1, q, rank);
				if (st[q] != MPI_INT)
					MPI_Type_free(&st[q]);
			}
			CHECK(!bad, "alltoallv or w of %d, form %d: %d wrong", n, form, bad);
		}
		MPI_Type_free(&g);
	}
}

static void t_gather(MPI_Comm comm, int size, int rank)
{
	for (int k = 0; k < BLOCKS; k++) {
		int n = blocks[k], root = k % size, bad = 0, at = 0;
		MPI_Datatype g = gaps(n);

		for (int form = 0; form < 4; form++) {
			int ss = form == 1 ? 2 : 1, rs = form == 2 ? 2 : 1, own = form == 3;

			memset(b, 0x11, 2 * n * size * sizeof(int));
			put_block(own ? b + rank * n : a, n, ss, rank, 0);
			MPI_Allgather(own ? MPI_IN_PLACE : a, form == 1 ? 1 : n, form == 1 ? g : MPI_INT, b,
				form == 2 ? 1 : n,
				      form == 2 ? g : MPI_INT, comm);
			for (int q = 0; q < size; q++)
				bad += bad_block(b + q * n * rs, n, rs, q, 0);
			CHECK(!bad, "allgather of %d, form %d: %d wrong", n, form, bad);
			memset(b, 0x11, 2 * n * size * sizeof(int));
			own = own && rank == root;
			put_block(own ? b + rank * n : a, n, ss, rank, 1);
			MPI_Gather(own ? MPI_IN_PLACE : a, form == 1 ? 1 : n, form == 1 ? g : MPI_INT, b,
				form == 2 ? 1 : n,
				   form == 2 ? g : MPI_INT, root, comm);
			for (int q = 0; rank == root && q < size; q++)
				bad += bad_block(b + q * n * rs, n, rs, q, 1);
			CHECK(!bad, "gather of %d, form %d: %d wrong", n, form, bad);
			for (int q = 0; q < size; q++)
				put_block(a + q * n * ss, n, ss, root, q);
			memset(b, 0x11, 2 * n * sizeof(int));
			MPI_Scatter(a, form == 1 ? 1 : n, form == 1 ? g : MPI_INT, own ? MPI_IN_PLACE : b,
				form == 2 ? 1 : n,
				    form == 2 ? g : MPI_INT, root, comm);
			if (!own)
				bad += bad_block(b, n, rs, root, rank);
			CHECK(!bad, "scatter of %d, form %d: %d wrong", n, form, bad);
		}
		for (int q = size - 1; q >= 0; q--) {	/* the order of places is not that of ranks */
			counts[q] = (q + k) % 3 ? n - q % n : 0;
			displs[q] = at;
			at += counts[q] + q % 2;
		}
		for (int own = 0; own < 2; own++) {
			memset(b, 0x11, at * sizeof(int));
			put_block(own ? b + displs[rank] : a, counts[rank], 1, rank, 2);
			MPI_Allgatherv(own ? MPI_IN_PLACE : a, counts[rank], MPI_INT, b, counts, displs, MPI_INT, comm);
			for (int q = 0; q < size; q++)
				bad += bad_block(b + displs[q], counts[q], 1, q, 2);
			CHECK(!bad, "allgatherv of %d: %d wrong", n, bad);
		}
		memset(b, 0x11, at * sizeof(int));
		put_block(a, counts[rank], 1, rank, 3);
		MPI_Gatherv(a, counts[rank], MPI_INT, b, counts, displs, MPI_INT, root, comm);
		for (int q = 0; rank == root && q < size; q++)
			bad += bad_block(b + displs[q], counts[q], 1, q, 3);
		CHECK(!bad, "gatherv of %d: %d wrong", n, bad);
		for (int q = 0; q < size; q++)
			put_block(a + displs[q], counts[q], 1, root, q);
		MPI_Scatterv(a, counts, displs, MPI_INT, b, counts[rank], MPI_INT, root, comm);
		bad += bad_block(b, counts[rank], 1, root, rank);
		CHECK(!bad, "scatterv of %d: %d wrong", n, bad);
		MPI_Type_free(&g);
	}
}

/* Affine maps x -> p x + q modulo 251: composing them does not commute. */
static void affine(void *in, void *inout, int *len, MPI_Datatype *type)
{
	const int *x = in;
	int *y = inout;

	(void)type;
	for (int i = 0; i < *len; i++, x += 2, y += 2) {
		int p = x[0] * y[0] % 251, q = (x[0] * y[1] + x[1]) % 251;

		y[0] = p;
		y[1] = q;
	}
}

static int op_of(int form, int r, int q, int i)	/* what rank r gives for place i of part q */
{
	return form ? (int)((unsigned)word(r, q, i) % 250) + 1 : word(r, q, i);
}

/* Places i (and i + 1 with the user's operator) over ranks 0 .. last. */
static int expected(int form, int last, int q, int i)
{
	int y[2], one = 1;

	if (!form) {
		unsigned sum = 0;

		for (int r = 0; r <= last; r++)
			sum += (unsigned)word(r, q, i);
		return (int)sum;
	}
	for (int j = 0; j < 2; j++)
		y[j] = op_of(1, last, q, (i & ~1) + j);
	for (int r = last - 1; r >= 0; r--) {
		int x[2] = { op_of(1, r, q, i & ~1), op_of(1, r, q, (i & ~1) + 1) };

		affine(x, y, &one, NULL);
	}
	return y[i & 1];
}

static void t_scan(MPI_Comm comm, int size, int rank)
{
	MPI_Datatype pair;
	MPI_Op op;

	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Op_create(affine, 0, &op);
	for (int k = 0; k < BLOCKS; k++)
		for (int form = 0; form < 2; form++)
			for (int own = 0; own < 2; own++) {
				int n = (blocks[k] + 1) & ~1, m = form ? n / 2 : n, bad = 0, total = 0,
					*in = own ? b : a;
				MPI_Datatype t = form ? pair : MPI_INT;
				MPI_Op o = form ? op : MPI_SUM;

				for (int i = 0; i < n; i++)
					in[i] = op_of(form, rank, 0, i);
				MPI_Scan(own ? MPI_IN_PLACE : a, b, m, t, o, comm);
				for (int i = 0; i < n; i++)
					bad += b[i] != expected(form, rank, 0, i);
				CHECK(!bad, "scan of %d, form %d, in place %d: %d wrong", n, form, own, bad);
				for (int i = 0; i < n; i++)
					in[i] = op_of(form, rank, 1, i);
				MPI_Exscan(own ? MPI_IN_PLACE : a, b, m, t, o, comm);
				for (int i = 0; rank && i < n; i++)
					bad += b[i] != expected(form, rank - 1, 1, i);
				CHECK(!bad, "exscan of %d, form %d, in place %d: %d wrong", n, form, own, bad);
				if (n * size > 100000)
					continue;
				for (int q = 0; q < size; q++)
					for (int i = 0; i < n; i++)
						in[q * n + i] = op_of(form, rank, q, i);
				MPI_Reduce_scatter_block(own ? MPI_IN_PLACE : a, b, m, t, o, comm);
				for (int i = 0; i < n; i++)
					bad += b[i] != expected(form, size - 1, rank, i);
				CHECK(!bad, "reduce_scatter_block of %d, form %d, in place %d: %d wrong", n, form,
					own, bad);
				for (int q = 0; q < size; q++) {
					counts[q] = q % 3 == 1 ? 0 : form ? (n - q % n + 1) / 2 : n - q % n;
					for (int i = 0; i < counts[q] * (1 + form); i++)
						in[total + i] = op_of(form, rank, q, i);
					total += counts[q] * (1 + form);
				}
				MPI_Reduce_scatter(own ? MPI_IN_PLACE : a, b, counts, t, o, comm);
				for (int i = 0; i < counts[rank] * (1 + form); i++)
					bad += b[i] != expected(form, size - 1, rank, i);
				CHECK(!bad, "reduce_scatter of %d, form %d, in place %d: %d wrong", n, form, own, bad);
			}
	MPI_Op_free(&op);
	MPI_Type_free(&pair);
}

static void all_on(MPI_Comm comm)
{
	int size, rank;

	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &rank);
	t_alltoall(comm, size, rank);
	t_gather(comm, size, rank);
	t_scan(comm, size, rank);
}

static void *worker(void *arg)
{
	MPI_Comm comm = *(MPI_Comm *)arg;

	for (int i = 0; i < 200; i++) {
		int v[600], sum[600], n = i % 2 ? 600 : 1, bad = 0;

		for (int j = 0; j < n; j++)
			v[j] = i + m_rank + j;
		MPI_Allreduce(v, sum, n, MPI_INT, MPI_SUM, comm);
		for (int j = 0; j < n; j++)
			bad += sum[j] != (i + j) * m_size + m_size * (m_size - 1) / 2;
		CHECK(!bad, "threads: %d wrong", bad);
		if (i % 5 == 0)
			MPI_Barrier(comm);
		MPI_Bcast(v, n, MPI_INT, i % m_size, comm);
		CHECK(v[0] == i + i % m_size);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	size_t bytes = 4UL * MAXB * 16 * sizeof(int);
	char name[] = "t_coll.XXXXXX";
	pthread_t th[3];
	MPI_Comm comm[3], odd;
	int fd, level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &m_size);
	a = malloc(bytes);
	b = malloc(bytes);
	all_on(MPI_COMM_WORLD);
	MPI_Comm_split(MPI_COMM_WORLD, m_rank % 2, -m_rank, &odd);
	all_on(odd);
	MPI_Comm_free(&odd);
	if (level == MPI_THREAD_MULTIPLE) {
		for (int i = 0; i < 3; i++)
			MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
		for (int i = 0; i < 3; i++)
			pthread_create(&th[i], NULL, worker, &comm[i]);
		for (int i = 0; i < 3; i++)
			pthread_join(th[i], NULL);
		for (int i = 0; i < 3; i++)
			MPI_Comm_free(&comm[i]);
	}
	if (m_rank % 2 == 0) {		/* memory that peers cannot see */
		fd = mkstemp(name);
		CHECK(fd >= 0 && !ftruncate(fd, 2 * (off_t)bytes));
		unlink(name);
		a = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(a != MAP_FAILED);
		b = a + bytes / sizeof(int);
	}
	all_on(MPI_COMM_WORLD);
	return m_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Processes of other jobs: spawned ones and a port, with messages of every length both ways at once, data that are not
 * contiguous, MPI_ANY_SOURCE over both jobs, a port that is closed.
 */
#include "m.h"

#define CHILDREN 2

static const size_t sizes[] = { 0, 1, 100, 4096, 32 << 10, (32 << 10) + 1, 200001, 5 << 20 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Everybody with everybody in @comm, all at once. */
static void all_pairs(MPI_Comm comm, uint32_t seed)
{
	int rank, n, i, k = 0;
	size_t s;
	MPI_Request *req;
	unsigned char **in, *out[SIZES];

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &n);
	req = malloc(2 * n * SIZES * sizeof(*req));
	in = malloc(n * SIZES * sizeof(*in));
	for (s = 0; s < SIZES; s++) {
		out[s] = malloc(sizes[s] + 1);
		m_fill(out[s], sizes[s], seed + 100 * rank + s);
	}
	for (i = 0; i < n; i++)
		for (s = 0; s < SIZES; s++) {
			in[i * SIZES + s] = malloc(sizes[s] + 1);
			if (i != rank)
				MPI_Irecv(in[i * SIZES + s], sizes[s], MPI_BYTE, i, s, comm, &req[k++]);
		}
	for (s = 0; s < SIZES; s++)
		for (i = 0; i < n; i++)
			if (i != rank)
				MPI_Isend(out[s], sizes[s], MPI_BYTE, i, s, comm, &req[k++]);
	m_waitall(k, req);
	for (i = 0; i < n; i++)
		for (s = 0; s < SIZES; s++) {
			unsigned char *got = in[i * SIZES + s];

			if (i != rank)
				CHECK(m_wrong(got, sizes[s], seed + 100 * i + s) < 0, "from %d: %zu bytes", i,
				      sizes[s]);
			free(got);
		}
	for (s = 0; s < SIZES; s++)
		free(out[s]);
	free(in);
	free(req);
}

/* A column from everybody to rank 0, which takes them as they come. */
static void columns(MPI_Comm comm)
{
	int rank, n, i, j, bad = 0;
	double *m = calloc(3000 * 3, sizeof(*m));
	MPI_Datatype t;
	MPI_Status st;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &n);
	MPI_Type_vector(3000, 1, 3, MPI_DOUBLE, &t);
	MPI_Type_commit(&t);
	for (i = 0; i < 3000; i++)
		m[3 * i] = 1000 * rank + i;
	if (rank)
		MPI_Send(m, 1, t, 0, 50, comm);
	for (i = 1; !rank && i < n; i++) {
		MPI_Recv(m, 1, t, MPI_ANY_SOURCE, 50, comm, &st);
		for (j = 0; j < 3000; j++)
			bad += m[3 * j] != 1000 * st.MPI_SOURCE + j;
	}
	CHECK(!bad, "%d", bad);
	MPI_Type_free(&t);
	free(m);
}

static void together(MPI_Comm inter, int high, int n, uint32_t seed)
{
	MPI_Comm all;
	int size;

	MPI_Intercomm_merge(inter, high, &all);
	MPI_Comm_size(all, &size);
	CHECK(size == n, "%d, not %d", size, n);
	all_pairs(all, seed);
	columns(all);
	MPI_Comm_free(&all);
}

/* The odd ranks and the even ones, over a port. */
static void port(void)
{
	char name[MPI_MAX_PORT_NAME] = "";
	MPI_Comm half, inter;
	int n, rc, cls = 0;

	MPI_Comm_split(MPI_COMM_WORLD, m_rank % 2, m_rank, &half);
	MPI_Comm_size(half, &n);
	if (m_rank == 0) {
		MPI_Open_port(MPI_INFO_NULL, name);
		MPI_Send(name, sizeof(name), MPI_CHAR, 1, 1, MPI_COMM_WORLD);
	}
	if (m_rank == 1)
		MPI_Recv(name, sizeof(name), MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (m_rank % 2)
		MPI_Comm_connect(name, MPI_INFO_NULL, 0, half, &inter);
	else
		MPI_Comm_accept(name, MPI_INFO_NULL, 0, half, &inter);
	together(inter, m_rank % 2, m_size, 7);
	MPI_Comm_disconnect(&inter);
	if (m_rank == 0)
		MPI_Close_port(name);
	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == 1) {
		MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
		rc = MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
		if (rc)
			MPI_Error_class(rc, &cls);
		CHECK(cls == MPI_ERR_PORT, "class %d", cls);
		rc = MPI_Comm_connect("no such port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
		CHECK(rc != MPI_SUCCESS);
	}
	if (m_rank == 0) {	/* the refusal is of our progress engine */
		int flag = 0;
		MPI_Request r;

		MPI_Irecv(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &r);
		while (!flag)
			MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
	} else if (m_rank == 1) {
		MPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
	}
	MPI_Comm_free(&half);
}

static void child(MPI_Comm parent)
{
	int n;

	MPI_Comm_remote_size(parent, &n);
	together(parent, 1, n + CHILDREN, 1);
	MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv)
{
	MPI_Comm parent, inter;
	int errs[CHILDREN], i;

	m_start(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL) {
		child(parent);
		return m_finish();
	}
	for (i = 0; i < 2; i++) {
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, errs);
		together(inter, 0, m_size + CHILDREN, 1);
		MPI_Comm_disconnect(&inter);
	}
	port();
	return m_finish();
}

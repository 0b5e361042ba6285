/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * coll.c - collectives: MPI's, also for more elements than an int counts
 */
#include "dartc.h"

/*
 * A count that an int does not hold becomes one element of a type made of whole chunks and the rest. dartc.chunk is the
 * limit, so that a test reaches this with little data.
 */
int dartc_big(size_t n, MPI_Datatype type, int *count, MPI_Datatype *big, bool *made)
{
	MPI_Datatype piece[2];
	MPI_Aint lb, extent, at[2];
	int length[2] = { 1, 1 }, rc;

	*made = false;
	*count = (int)n;
	*big = type;
	if (n <= dartc.chunk)
		return DARTC_OK;
	if (n / dartc.chunk > (1u << 30))
		return DARTC_INVAL;
	MPI_Type_get_extent(type, &lb, &extent);
	length[1] = (int)(n % dartc.chunk);
	at[0] = 0;
	at[1] = (MPI_Aint)(n - n % dartc.chunk) * extent;
	rc = MPI_Type_contiguous((int)dartc.chunk, type, &piece[1]);
	if (rc != MPI_SUCCESS)
		return dartc_mpi(rc);
	MPI_Type_contiguous((int)(n / dartc.chunk), piece[1], &piece[0]);
	MPI_Type_free(&piece[1]);
	piece[1] = type;
	rc = MPI_Type_create_struct(2, length, at, piece, big);
	MPI_Type_free(&piece[0]);
	if (rc != MPI_SUCCESS)
		return dartc_mpi(rc);
	MPI_Type_commit(big);
	*count = 1;
	*made = true;
	return DARTC_OK;
}

int dartc_barrier(struct dartc_team *t)
{
	return dartc_mpi(MPI_Barrier(t->comm));
}

int dartc_bcast(struct dartc_team *t, void *buf, size_t n, MPI_Datatype type, size_t size, int root)
{
	int rc = DARTC_OK;

	for (size_t at = 0; !rc && (at < n || !n); at += dartc.chunk) {
		size_t some = n - at < dartc.chunk ? n - at : dartc.chunk;

		rc = dartc_mpi(MPI_Bcast((char *)buf + at * size, (int)some, type, root, t->comm));
		if (!n)
			break;
	}
	return rc;
}

enum what { SCATTER, GATHER, ALLGATHER, ALLTOALL };

static int move(enum what what, struct dartc_team *t, const void *send, void *recv, size_t n, MPI_Datatype type,
		int root)
{
	MPI_Datatype big;
	bool made;
	int count, rc = dartc_big(n, type, &count, &big, &made);

	if (rc)
		return rc;
	switch (what) {
	case SCATTER:
		rc = MPI_Scatter(send, count, big, recv, count, big, root, t->comm);
		break;
	case GATHER:
		rc = MPI_Gather(send, count, big, recv, count, big, root, t->comm);
		break;
	case ALLGATHER:
		rc = MPI_Allgather(send, count, big, recv, count, big, t->comm);
		break;
	case ALLTOALL:
		rc = MPI_Alltoall(send, count, big, recv, count, big, t->comm);
		break;
	}
	if (made)
		MPI_Type_free(&big);
	return dartc_mpi(rc);
}

int dartc_gather(struct dartc_team *t, bool scatter, const void *send, void *recv, size_t n, MPI_Datatype type,
		 int root)
{
	return move(scatter ? SCATTER : GATHER, t, send, recv, n, type, root);
}

int dartc_allgather(struct dartc_team *t, const void *send, void *recv, size_t n, MPI_Datatype type)
{
	return move(ALLGATHER, t, send, recv, n, type, 0);
}

int dartc_alltoall(struct dartc_team *t, const void *send, void *recv, size_t n, MPI_Datatype type)
{
	return move(ALLTOALL, t, send, recv, n, type, 0);
}

/* @send and @recv may be the same. Made-up types have no predefined operation, so chunk by chunk. */
int dartc_reduce(struct dartc_team *t, const void *send, void *recv, size_t n, MPI_Datatype type, size_t size,
		 MPI_Op op, int root)
{
	int rc = DARTC_OK;

	for (size_t at = 0; !rc && at < n; at += dartc.chunk) {
		int some = (int)(n - at < dartc.chunk ? n - at : dartc.chunk);
		const char *from = (const char *)send + at * size;
		char *to = (char *)recv + at * size;
		bool here = root < 0 || t->rank == root;

		if (here && from == to)
			from = MPI_IN_PLACE;
		rc = dartc_mpi(root < 0 ? MPI_Allreduce(from, to, some, type, op, t->comm) :
			       MPI_Reduce(from, here ? to : NULL, some, type, op, root, t->comm));
	}
	return rc;
}

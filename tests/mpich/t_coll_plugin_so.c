/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The plug-in of t_coll_plugin: allreduce of up to 1 KiB, on the node by way of the library's own, between nodes by
 * messages to the first and back; bcast of any size on a node by messages. Counts what it is asked to do.
 */
#include <mpi.h>
#include <mpich_coll.h>
#include <stdlib.h>
#include <string.h>

int coll_plugin_calls[MPICH_COLLS][MPICH_COLL_PARTS];

static int node_allreduce(const struct mpich_coll_args *a)
{
	coll_plugin_calls[MPICH_COLL_ALLREDUCE][MPICH_COLL_NODE]++;
	return MPI_Allreduce(a->sendbuf, a->recvbuf, (int)a->count, a->datatype, a->op, a->comm);
}

/* In place, since the node's part came before. */
static int net_allreduce(const struct mpich_coll_args *a)
{
	int rank, size, bytes, type_size;
	char *tmp;

	coll_plugin_calls[MPICH_COLL_ALLREDUCE][MPICH_COLL_NET]++;
	MPI_Comm_rank(a->comm, &rank);
	MPI_Comm_size(a->comm, &size);
	MPI_Type_size(a->datatype, &type_size);
	bytes = (int)a->count * type_size;
	if (a->sendbuf != MPI_IN_PLACE)
		memcpy(a->recvbuf, a->sendbuf, bytes);
	if (rank) {
		MPI_Send(a->recvbuf, (int)a->count, a->datatype, 0, 77, a->comm);
		return MPI_Recv(a->recvbuf, (int)a->count, a->datatype, 0, 78, a->comm, MPI_STATUS_IGNORE);
	}
	tmp = malloc(bytes);
	for (int i = 1; i < size; i++) {
		MPI_Recv(tmp, (int)a->count, a->datatype, i, 77, a->comm, MPI_STATUS_IGNORE);
		MPI_Reduce_local(tmp, a->recvbuf, (int)a->count, a->datatype, a->op);
	}
	for (int i = 1; i < size; i++)
		MPI_Send(a->recvbuf, (int)a->count, a->datatype, i, 78, a->comm);
	free(tmp);
	return MPI_SUCCESS;
}

static int node_bcast(const struct mpich_coll_args *a)
{
	int rank, size;

	coll_plugin_calls[MPICH_COLL_BCAST][MPICH_COLL_NODE]++;
	MPI_Comm_rank(a->comm, &rank);
	MPI_Comm_size(a->comm, &size);
	if (rank != a->root)
		return MPI_Recv(a->recvbuf, (int)a->count, a->datatype, a->root, 79, a->comm, MPI_STATUS_IGNORE);
	for (int i = 0; i < size; i++)
		if (i != rank)
			MPI_Send(a->recvbuf, (int)a->count, a->datatype, i, 79, a->comm);
	return MPI_SUCCESS;
}

int mpich_coll_plugin(int (*add)(const struct mpich_coll_entry *entry))
{
	static const struct mpich_coll_entry entries[] = {
		{ MPICH_COLL_VERSION, MPICH_COLL_ALLREDUCE, MPICH_COLL_NODE, "again", 0, 1024, node_allreduce },
		{ MPICH_COLL_VERSION, MPICH_COLL_ALLREDUCE, MPICH_COLL_NET, "star", 0, 1024, net_allreduce },
		{ MPICH_COLL_VERSION, MPICH_COLL_BCAST, MPICH_COLL_NODE, "star", 0, 1L << 40, node_bcast },
	};
	struct mpich_coll_entry wrong = entries[0];

	wrong.version = MPICH_COLL_VERSION + 1;
	if (!add(&wrong))
		return 1;
	for (int i = 0; i < 3; i++)
		if (add(&entries[i]))
			return 1;
	return 0;
}

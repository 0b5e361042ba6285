/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The plug-in of t_coll_errors: a reduction on a node that is done, and then said to have failed. */
#include <mpi.h>
#include <mpich_coll.h>
#include <stdlib.h>

static int reduce(const struct mpich_coll_args *a)
{
	int rc = MPI_Reduce(a->sendbuf, a->recvbuf, (int)a->count, a->datatype, a->op, a->root, a->comm);

	return getenv("T_COLL_FAIL") ? MPI_ERR_OTHER : rc;
}

int mpich_coll_plugin(int (*add)(const struct mpich_coll_entry *entry))
{
	static const struct mpich_coll_entry e = {
		MPICH_COLL_VERSION, MPICH_COLL_REDUCE, MPICH_COLL_NODE, "fails", 0, 1L << 40, reduce
	};

	return add(&e);
}

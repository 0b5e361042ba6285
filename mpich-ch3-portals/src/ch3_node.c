/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Node communicators for MPI programs: see include/mpi_smartmap.h, which is installed beside mpi.h.
 *
 * Portals numbers the ranks of a node in their order in the job, and so does SMARTMAP; node_local_map is that list.
 */
#include "mpidi_ch3_impl.h"
#include <smartmap.h>

/* Rank among the processes of this job on this node; -1: it is elsewhere, or of another job. */
int MPIDI_PTL_Local_rank(const MPIDI_VC_t * vc)
{
    int lo = 0, hi = MPIR_Process.local_size;

    if (vc->pg != MPIDI_Process.my_pg || MPIR_Process.node_map[vc->pg_rank] != MPIR_Process.node_map[MPIR_Process.rank])
        return -1;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;

        if (MPIR_Process.node_local_map[mid] <= vc->pg_rank)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Are these alive? The first of @n local ranks, the next one @step bytes on. -1: on another node, nobody knows. */
int MPIDI_PTL_All_alive(const int *local, size_t step, int n)
{
    const char *p = (const char *) local;

    for (; n > 0; n--, p += step) {
        int peer = *(const int *) p;

        if (peer >= 0 && !smartmap_alive(peer))
            return FALSE;
    }
    return TRUE;
}

/* What mpi_smartmap.h declares; libmpi hides everything else. */
MPICH_API_PUBLIC int MPIX_Comm_node(MPI_Comm comm, MPI_Comm * node);
MPICH_API_PUBLIC int MPIX_Comm_net(MPI_Comm comm, MPI_Comm * net);
MPICH_API_PUBLIC int MPIX_Comm_local_rank_(MPI_Comm comm, int rank, int *peer);

int MPIX_Comm_node(MPI_Comm comm, MPI_Comm * node)
{
    int mpi_errno, rank;

    mpi_errno = PMPI_Comm_rank(comm, &rank);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, node);
    return mpi_errno;
}

int MPIX_Comm_net(MPI_Comm comm, MPI_Comm * net)
{
    int mpi_errno, rank, place;
    MPI_Comm node = MPI_COMM_NULL;

    mpi_errno = MPIX_Comm_node(comm, &node);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_rank(node, &place);
    mpi_errno = PMPI_Comm_split(comm, place, rank, net);
    PMPI_Comm_free(&node);
    return mpi_errno;
}

int MPIX_Comm_local_rank_(MPI_Comm comm, int rank, int *peer)
{
    int mpi_errno, inter, size, local;
    MPIR_Comm *comm_ptr;
    MPIDI_VC_t *vc;

    mpi_errno = PMPI_Comm_test_inter(comm, &inter);     /* also says when it is no communicator */
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (rank < 0 || rank >= size) {
        PMPI_Comm_call_errhandler(comm, MPI_ERR_RANK);
        return MPI_ERR_RANK;
    }
    MPIR_Comm_get_ptr(comm, comm_ptr);
    MPIDI_Comm_get_vc(comm_ptr, rank, &vc);
    local = MPIDI_PTL_Local_rank(vc);
    *peer = local >= 0 ? local : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Collectives: the channel is asked first, for every communicator. Those that it does not do itself are MPICH's own.
 * Barrier, bcast, reduce and allreduce are in ch3_coll_net.c.
 */
#include "ch3_coll.h"

int MPIDI_PTL_Allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                        MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_allgather(c, sendbuf, sendcount, sendtype, recvbuf, recvcount, NULL, NULL, recvtype, errflag),
        MPIR_Allgather_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, errflag));
}

int MPIDI_PTL_Allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                         const MPI_Aint * recvcounts, const MPI_Aint * displs, MPI_Datatype recvtype,
                         MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_allgather(c, sendbuf, sendcount, sendtype, recvbuf, 0, recvcounts, displs, recvtype, errflag),
        MPIR_Allgatherv_impl(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, errflag));
}

int MPIDI_PTL_Scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                      MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_scatter(c, sendbuf, sendcount, NULL, NULL, sendtype, FALSE, recvbuf, recvcount, recvtype, root,
                               errflag),
        MPIR_Scatter_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, errflag));
}

int MPIDI_PTL_Scatterv(const void *sendbuf, const MPI_Aint * sendcounts, const MPI_Aint * displs,
                       MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                       MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_scatter(c, sendbuf, 0, sendcounts, displs, sendtype, TRUE, recvbuf, recvcount, recvtype, root,
                               errflag),
        MPIR_Scatterv_impl(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm, errflag));
}

int MPIDI_PTL_Gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                     MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_gather(c, sendbuf, sendcount, sendtype, recvbuf, recvcount, NULL, NULL, recvtype, root,
                              errflag),
        MPIR_Gather_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, errflag));
}

int MPIDI_PTL_Gatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                      const MPI_Aint * recvcounts, const MPI_Aint * displs, MPI_Datatype recvtype, int root,
                      MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_gather(c, sendbuf, sendcount, sendtype, recvbuf, 0, recvcounts, displs, recvtype, root,
                              errflag),
        MPIR_Gatherv_impl(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm, errflag));
}

int MPIDI_PTL_Alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                       MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_alltoall(c, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, errflag),
        MPIR_Alltoall_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, errflag));
}

int MPIDI_PTL_Alltoallv(const void *sendbuf, const MPI_Aint * sendcounts, const MPI_Aint * sdispls,
                        MPI_Datatype sendtype, void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                        MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_alltoallv(c, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                                 errflag),
        MPIR_Alltoallv_impl(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
                            errflag));
}

int MPIDI_PTL_Alltoallw(const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
                        const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Aint recvcounts[],
                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                        MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_alltoallw(c, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                                 errflag),
        MPIR_Alltoallw_impl(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm,
                            errflag));
}

int MPIDI_PTL_Reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[], MPI_Datatype datatype,
                             MPI_Op op, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL && HANDLE_IS_BUILTIN(op),
        MPIDI_PTL_Node_reduce_scatter(c, sendbuf, recvbuf, recvcounts, 0, datatype, op, errflag),
        MPIR_Reduce_scatter_impl(sendbuf, recvbuf, recvcounts, datatype, op, comm, errflag));
}

int MPIDI_PTL_Reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount, MPI_Datatype datatype,
                                   MPI_Op op, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL && HANDLE_IS_BUILTIN(op),
        MPIDI_PTL_Node_reduce_scatter(c, sendbuf, recvbuf, NULL, recvcount, datatype, op, errflag),
        MPIR_Reduce_scatter_block_impl(sendbuf, recvbuf, recvcount, datatype, op, comm, errflag));
}

int MPIDI_PTL_Scan(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                   MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_scan(c, sendbuf, recvbuf, count, datatype, op, FALSE, errflag),
        MPIR_Scan_impl(sendbuf, recvbuf, count, datatype, op, comm, errflag));
}

int MPIDI_PTL_Exscan(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                     MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(c != NULL,
        MPIDI_PTL_Node_scan(c, sendbuf, recvbuf, count, datatype, op, TRUE, errflag),
        MPIR_Exscan_impl(sendbuf, recvbuf, count, datatype, op, comm, errflag));
}

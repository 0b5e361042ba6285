/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpi_smartmap.h - communicators of a node and between nodes; loads from and stores to ranks of a communicator
 *
 * For MPI programs; smartmap.h, which this includes, has the rest. See MPIX_Comm_node(3).
 */
#ifndef MPI_SMARTMAP_H_INCLUDED
#define MPI_SMARTMAP_H_INCLUDED

#include <mpi.h>
#include <smartmap.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The ranks of @comm on this rank's node, in their order; collective over @comm. Those of each node get a communicator
 * of their own.
 */
int MPIX_Comm_node(MPI_Comm comm, MPI_Comm * node);

/*
 * One rank of each node: those that have the same rank in MPIX_Comm_node's communicators, in the order of @comm;
 * collective over @comm. Rank 0 of each node is in the one that reaches all nodes.
 */
int MPIX_Comm_net(MPI_Comm comm, MPI_Comm * net);

int MPIX_Comm_local_rank_(MPI_Comm comm, int rank, int *peer);  /* of MPIX_Smartmap_rank below */

/*
 * What smartmap.h calls rank @rank of @comm (an intercommunicator: of its remote group): *@peer, or MPI_UNDEFINED when
 * that one is on another node or of another job. Local.
 */
static inline int MPIX_Smartmap_rank(MPI_Comm comm, int rank, int *peer)
{
    int mpi_errno = MPIX_Comm_local_rank_(comm, rank, peer);

    if (mpi_errno == MPI_SUCCESS && smartmap_size() == 0)
        *peer = MPI_UNDEFINED;
    return mpi_errno;
}

/*
 * Where @len bytes at @addr of a peer are in this process, or NULL when loads and stores do not reach them (SMARTMAP is
 * off), or @peer is MPI_UNDEFINED. smartmap_enter(3) and smartmap_leave(3) belong around an access to what
 * its owner may give back.
 */
static inline void *MPIX_Smartmap_remote(int peer, const volatile void *addr, size_t len)
{
    if (peer < 0 || peer >= smartmap_size() || !smartmap_reachable(peer, (const void *) addr, len))
        return NULL;
    return smartmap_remote(peer, addr);
}

#ifdef __cplusplus
}
#endif
#endif /* MPI_SMARTMAP_H_INCLUDED */

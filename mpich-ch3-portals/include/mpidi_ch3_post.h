/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The progress engine, the collectives and the queues of receives as the rest of MPICH calls them. */
#ifndef MPIDI_CH3_POST_H_INCLUDED
#define MPIDI_CH3_POST_H_INCLUDED

int MPIDI_CH3I_Progress(MPID_Progress_state * state, int is_blocking);

#define MPIDI_CH3_Progress_start(state_) \
    ((state_)->ch.completion_count = MPIDI_CH3I_progress_completion_count)
#define MPIDI_CH3_Progress_end(state_)
#define MPIDI_CH3_Progress_wait(state_) MPIDI_CH3I_Progress(state_, TRUE)
#define MPIDI_CH3_Progress_test() MPIDI_CH3I_Progress(NULL, FALSE)
#define MPIDI_CH3_Progress_poke() MPIDI_CH3I_Progress(NULL, FALSE)

/*
 * The queues of posted receives and of unexpected messages are the channel's own. MPICH's file of these functions and
 * of the debugger's pointers becomes a weak one, which gives way to ch3_recvq.c when libmpi is linked.
 */
#ifndef MPIDI_PTL_OWNS_RECVQ
#pragma weak MPIDI_CH3U_Recvq_init
#pragma weak MPIDI_CH3U_Recvq_FU
#pragma weak MPIDI_CH3U_Recvq_FDU
#pragma weak MPIDI_CH3U_Recvq_FDU_matchonly
#pragma weak MPIDI_CH3U_Recvq_FDU_or_AEP
#pragma weak MPIDI_CH3U_Recvq_DP
#pragma weak MPIDI_CH3U_Recvq_FDP_or_AEU
#pragma weak MPIDI_CH3U_Clean_recvq
#pragma weak MPIDI_CH3U_Complete_posted_with_error
#pragma weak MPIDI_CH3U_Dbg_print_recvq
#pragma weak MPIDI_CH3U_Recvq_count_unexp
#pragma weak MPID_Recvq_posted_head_ptr
#pragma weak MPID_Recvq_unexpected_head_ptr
#endif

/* Likewise: ch3_recv.c */
#ifndef MPIDI_PTL_OWNS_RECV
#pragma weak MPID_Recv
#endif

/* Likewise: ch3_born.c */
#ifndef MPIDI_PTL_OWNS_HOOK
#pragma weak MPID_Request_free_hook
#endif

/* MPID_Barrier and so on, static in mpid_coll.h: from here on every caller calls the channel. See ch3_coll.c. */
int MPIDI_PTL_Barrier(MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root, MPIR_Comm * comm,
                    MPIR_Errflag_t * errflag);
int MPIDI_PTL_Allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                        MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                        MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                         const MPI_Aint * recvcounts, const MPI_Aint * displs, MPI_Datatype recvtype,
                         MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                      MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Scatterv(const void *sendbuf, const MPI_Aint * sendcounts, const MPI_Aint * displs,
                       MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                       MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                     MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Gatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                      const MPI_Aint * recvcounts, const MPI_Aint * displs, MPI_Datatype recvtype, int root,
                      MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                       MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Alltoallv(const void *sendbuf, const MPI_Aint * sendcounts, const MPI_Aint * sdispls,
                        MPI_Datatype sendtype, void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                        MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Alltoallw(const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
                        const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Aint recvcounts[],
                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                        MPIR_Errflag_t * errflag);
int MPIDI_PTL_Reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op, int root,
                     MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[], MPI_Datatype datatype,
                             MPI_Op op, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount, MPI_Datatype datatype,
                                   MPI_Op op, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Scan(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                   MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Exscan(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                     MPIR_Comm * comm, MPIR_Errflag_t * errflag);

#define MPID_Barrier(...) MPIDI_PTL_Barrier(__VA_ARGS__)
#define MPID_Bcast(...) MPIDI_PTL_Bcast(__VA_ARGS__)
#define MPID_Allreduce(...) MPIDI_PTL_Allreduce(__VA_ARGS__)
#define MPID_Allgather(...) MPIDI_PTL_Allgather(__VA_ARGS__)
#define MPID_Allgatherv(...) MPIDI_PTL_Allgatherv(__VA_ARGS__)
#define MPID_Scatter(...) MPIDI_PTL_Scatter(__VA_ARGS__)
#define MPID_Scatterv(...) MPIDI_PTL_Scatterv(__VA_ARGS__)
#define MPID_Gather(...) MPIDI_PTL_Gather(__VA_ARGS__)
#define MPID_Gatherv(...) MPIDI_PTL_Gatherv(__VA_ARGS__)
#define MPID_Alltoall(...) MPIDI_PTL_Alltoall(__VA_ARGS__)
#define MPID_Alltoallv(...) MPIDI_PTL_Alltoallv(__VA_ARGS__)
#define MPID_Alltoallw(...) MPIDI_PTL_Alltoallw(__VA_ARGS__)
#define MPID_Reduce(...) MPIDI_PTL_Reduce(__VA_ARGS__)
#define MPID_Reduce_scatter(...) MPIDI_PTL_Reduce_scatter(__VA_ARGS__)
#define MPID_Reduce_scatter_block(...) MPIDI_PTL_Reduce_scatter_block(__VA_ARGS__)
#define MPID_Scan(...) MPIDI_PTL_Scan(__VA_ARGS__)
#define MPID_Exscan(...) MPIDI_PTL_Exscan(__VA_ARGS__)

#endif /* MPIDI_CH3_POST_H_INCLUDED */

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Short messages, straight: sends that need no more than one put, and the receipt of a message that came in one.
 *
 * CH3 would lead both through five functions each, with a packet on the stack that is copied twice and a request whose
 * every field is set. Here the packet is written once, in words of 8 bytes (what is stored in smaller pieces and then
 * read in words waits for the store), and a send that has been put gets a request that is complete from its birth. It
 * keeps what cancelling needs: the packet carries its handle. Whatever is not contiguous, not short, or refused by a
 * full inbox goes CH3's way.
 */
#include "mpidi_ch3_impl.h"

#define HEADER sizeof(MPIDI_CH3_Pkt_eager_send_t)

/* The words of the packet are written as such. */
_Static_assert(offsetof(MPIDI_CH3_Pkt_eager_send_t, match) == 8 &&
               offsetof(MPIDI_CH3_Pkt_eager_send_t, sender_req_id) == 16 &&
               offsetof(MPIDI_CH3_Pkt_eager_send_t, data_sz) == 24 && HEADER == 32, "an eager packet is four words");

/* Length of a message of builtin type that may travel in one put, or -1. */
static inline intptr_t short_size(MPIDI_VC_t * vc, MPIR_Comm * comm, MPI_Aint count, MPI_Datatype datatype)
{
    intptr_t n = MPIDI_PTL_Eager_size(vc, comm, count, datatype);

    return VC_CH(vc)->sendq_head == NULL && n <= PTL_INLINE_MAX_NP - (intptr_t) HEADER ? n : -1;
}

static inline int put_eager(MPIDI_VC_t * vc, const void *buf, intptr_t n, uint64_t match, MPI_Request id)
{
    uint64_t *w = (uint64_t *) MPIDI_PTL_stage;

    w[0] = MPIDI_CH3_PKT_EAGER_SEND;
    w[1] = match;
    w[2] = (uint32_t) id;
    w[3] = n;
    MPIDI_PTL_Copy(MPIDI_PTL_stage + HEADER, buf, n);
    return MPIDI_PTL_Put(vc, MPIDI_PTL_stage, HEADER + n, 0);
}

/* What MPID_Isend does when the channel does not do it. */
static int isend_long(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                      MPIR_Comm * comm, int context_offset, MPIR_Request * sreq, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS, dt_contig, threshold = -1;
    intptr_t data_sz;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr;

    MPIR_Object_set_ref(sreq, 2);
    sreq->dev.user_buf = (void *) buf;
    sreq->dev.user_count = count;
    sreq->dev.datatype = datatype;
    sreq->dev.iov_count = 0;
    MPIDI_Datatype_get_info(count, datatype, dt_contig, data_sz, dt_ptr, dt_true_lb);
    MPIDI_CH3_GET_EAGER_THRESHOLD(&threshold, comm, vc);
    if (data_sz == 0 || data_sz + (intptr_t) HEADER <= threshold) {
        if (dt_contig || data_sz == 0)
            mpi_errno = MPIDI_CH3_EagerContigIsend(&sreq, MPIDI_CH3_PKT_EAGER_SEND,
                                                   MPIR_get_contig_ptr(buf, dt_true_lb), data_sz, rank, tag, comm,
                                                   context_offset);
        else
            mpi_errno = MPIDI_CH3_EagerNoncontigSend(&sreq, MPIDI_CH3_PKT_EAGER_SEND, buf, count, datatype, rank, tag,
                                                     comm, context_offset);
    } else {
        MPIDI_Request_set_msg_type(sreq, MPIDI_REQUEST_RNDV_MSG);
        mpi_errno = vc->rndvSend_fn(&sreq, buf, count, datatype, dt_contig, data_sz, dt_true_lb, rank, tag, comm,
                                    context_offset);
    }
    if (sreq != NULL && dt_ptr != NULL && !(dt_contig && data_sz + (intptr_t) HEADER <= threshold)) {
        sreq->dev.datatype_ptr = dt_ptr;
        MPIR_Datatype_ptr_add_ref(dt_ptr);
    }
    *request = sreq;
    return mpi_errno;
}

static int ptl_isend(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                     MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    int context_id = comm->context_id + context_offset;
    uint64_t match = MPIDI_PTL_Match_word(comm->rank, tag, context_id);
    intptr_t n = short_size(vc, comm, count, datatype);

    if (likely(n >= 0) && likely(MPIDI_PTL_Next_born() != NULL) &&
        likely(put_eager(vc, buf, n, match, MPIDI_PTL_born->handle) == PTL_OK)) {
        *request = MPIDI_PTL_Give_born(MPIR_REQUEST_KIND__SEND, comm, MPIDI_PTL_Match_word(rank, tag, context_id));
        return MPI_SUCCESS;
    }
    return isend_long(vc, buf, count, datatype, rank, tag, comm, context_offset,
                      MPIDI_PTL_Create_send(comm, MPIDI_PTL_Match_word(rank, tag, context_id)), request);
}

/* Blocking: a message that has been put needs no request at all. */
static int ptl_send(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                    MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    int context_id = comm->context_id + context_offset;
    intptr_t n = short_size(vc, comm, count, datatype);

    if (likely(n >= 0) && likely(put_eager(vc, buf, n, MPIDI_PTL_Match_word(comm->rank, tag, context_id),
                                           MPI_REQUEST_NULL) == PTL_OK)) {
        *request = NULL;
        return MPI_SUCCESS;
    }
    return isend_long(vc, buf, count, datatype, rank, tag, comm, context_offset,
                      MPIDI_PTL_Create_send(comm, MPIDI_PTL_Match_word(rank, tag, context_id)), request);
}

MPIDI_Comm_ops_t MPIDI_PTL_Comm_ops = {
    .send = ptl_send,
    .isend = ptl_isend,
    .cancel_send = MPIDI_PTL_Cancel_send,
};

void MPIDI_PTL_Set_truncated(MPIR_Request * rreq, intptr_t sent, intptr_t user_sz)
{
    rreq->status.MPI_ERROR =
        MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_TRUNCATE,
                             "**truncate", "**truncate %d %d %d %d", rreq->status.MPI_SOURCE,
                             rreq->status.MPI_TAG, sent, user_sz);
    MPIR_STATUS_SET_COUNT(rreq->status, user_sz);
}

/*
 * What MPIDI_CH3_PktHandler_EagerSend does, for a message of which all bytes have come with their packet. Set *rreqp:
 * it has to be taken in pieces (truncated, or into many parts of memory), as from that handler.
 */
int MPIDI_PTL_Receive_short(char *buf, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS, found, is_complete = TRUE;
    MPIDI_Message_match match = {.whole = MPIDI_PTL_Word(buf, 1) };
    MPI_Request id = (MPI_Request) MPIDI_PTL_Word(buf, 2);
    intptr_t n = MPIDI_PTL_Word(buf, 3);
    char *data = buf + HEADER;
    MPIR_Request *rreq;

    *rreqp = NULL;
    rreq = MPIDI_CH3U_Recvq_FDP_or_AEU(&match, &found);
    MPIR_ERR_CHKANDJUMP1(!rreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq", "**nomemuereq %d",
                         MPIDI_CH3U_Recvq_count_unexp());
    if (unlikely(!found && MPIR_cc_get(rreq->cc) == 0))
        goto fn_exit;           /* the communicator was revoked */

    rreq->status.MPI_SOURCE = match.parts.rank;
    rreq->status.MPI_TAG = match.parts.tag;
    MPIR_STATUS_SET_COUNT(rreq->status, n);
    rreq->dev.sender_req_id = id;
    rreq->dev.recv_data_sz = n;
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_EAGER_MSG);
    if (likely(found && HANDLE_IS_BUILTIN(rreq->dev.datatype) &&
               n <= rreq->dev.user_count * (intptr_t) MPIR_Datatype_get_basic_size(rreq->dev.datatype))) {
        MPIDI_PTL_Copy(rreq->dev.user_buf, data, n);
        mpi_errno = MPIDI_PTL_Complete_clean(rreq);
        goto fn_exit;
    } else if (n > 0) {
        if (found)
            mpi_errno = MPIDI_CH3U_Receive_data_found(rreq, data, &n, &is_complete);
        else
            mpi_errno = MPIDI_CH3U_Receive_data_unexpected(rreq, data, &n, &is_complete);
        MPIR_ERR_CHKANDJUMP1(mpi_errno, mpi_errno, MPI_ERR_OTHER, "**ch3|postrecv", "**ch3|postrecv %s",
                             "MPIDI_CH3_PKT_EAGER_SEND");
    }
    if (likely(is_complete))
        mpi_errno = MPIDI_PTL_Complete_recv(rreq);
    else
        *rreqp = rreq;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Messages that CH3 matches. The short ones straight: sends that need no more than one put, and the receipt of a
 * message that came in one.
 *
 * CH3 would lead both through five functions each, with a packet on the stack that is copied twice and a request whose
 * every field is set. Here there is no packet: the data are put alone, with the envelope in the match bits, which the
 * receiver's buffers take whatever they are, and in the header data (MPIDI_PTL_BARE) what cancelling needs, the handle
 * of the send's request, which is complete from its birth. Whatever is not contiguous, not short, or refused by a full
 * inbox goes CH3's way, in packets.
 *
 * All of them spend bytes of their sender's credit, and without credit become a rendezvous: ch3_credit.c.
 */
#include "mpidi_ch3_impl.h"

#define HEADER sizeof(MPIDI_CH3_Pkt_eager_send_t)

/* Packets are read in words. */
_Static_assert(offsetof(MPIDI_CH3_Pkt_eager_send_t, match) == 8 &&
               offsetof(MPIDI_CH3_Pkt_eager_send_t, sender_req_id) == 16 &&
               offsetof(MPIDI_CH3_Pkt_eager_send_t, data_sz) == 24 && HEADER == 32, "an eager packet is four words");

/* Length of a message of builtin type that may travel in one put, or -1. */
static inline intptr_t short_size(MPIDI_VC_t * vc, MPIR_Comm * comm, MPI_Aint count, MPI_Datatype datatype)
{
    intptr_t n = MPIDI_PTL_Eager_size(vc, comm, count, datatype);

    return VC_CH(vc)->sendq_head == NULL && n >= 0 && n <= PTL_INLINE_MAX_NP && MPIDI_PTL_Has_bytes(vc, n) ? n : -1;
}

static inline int put_bare(MPIDI_VC_t * vc, const void *buf, intptr_t n, uint64_t match, MPI_Request id)
{
    ptl_process_id_t peer = { VC_CH(vc)->nid, VC_CH(vc)->pid };
    int rc = PtlPutRegion(MPIDI_PTL.md, (ptl_size_t) (uintptr_t) buf, n, PTL_NO_ACK_REQ, peer, MPIDI_PTL_PT_PKT, 0,
                          match, 0, MPIDI_PTL_BARE | (uint32_t) id);

    if (likely(rc == PTL_OK))
        MPIDI_PTL_Spend_bytes(vc, n);
    return rc;
}

/* What MPID_Isend, MPID_Issend and MPID_Irsend do when the channel does not do it; as far as there is credit. */
static int isend_long(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                      MPIR_Comm * comm, int context_offset, MPIDI_CH3_Pkt_type_t type, MPIR_Request * sreq,
                      MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS, dt_contig, threshold = -1, eager;
    intptr_t data_sz;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr;

    MPIR_Object_set_ref(sreq, 2);
    sreq->dev.user_buf = (void *) buf;
    sreq->dev.user_count = count;
    sreq->dev.datatype = datatype;
    sreq->dev.iov_count = 0;
    MPIDI_Datatype_get_info(count, datatype, dt_contig, data_sz, dt_ptr, dt_true_lb);
    if (type == MPIDI_CH3_PKT_READY_SEND)
        threshold = vc->ready_eager_max_msg_sz;
    else
        MPIDI_CH3_GET_EAGER_THRESHOLD(&threshold, comm, vc);
    eager = data_sz == 0 || data_sz + (intptr_t) HEADER <= threshold;
    if (eager && !MPIDI_PTL_Has_bytes(vc, data_sz)) {
        MPIDI_PTL_Ask_credit(vc);
        eager = FALSE;
    }
    if (!eager) {
        MPIDI_Request_set_msg_type(sreq, MPIDI_REQUEST_RNDV_MSG);
        mpi_errno = vc->rndvSend_fn(&sreq, buf, count, datatype, dt_contig, data_sz, dt_true_lb, rank, tag, comm,
                                    context_offset);
    } else {
        MPIDI_PTL_Spend_bytes(vc, data_sz);
        if (type == MPIDI_CH3_PKT_EAGER_SYNC_SEND && data_sz == 0)
            mpi_errno = MPIDI_CH3_EagerSyncZero(&sreq, rank, tag, comm, context_offset);
        else if (type == MPIDI_CH3_PKT_EAGER_SYNC_SEND)
            mpi_errno = MPIDI_CH3_EagerSyncNoncontigSend(&sreq, buf, count, datatype, data_sz, dt_contig, dt_true_lb,
                                                         rank, tag, comm, context_offset);
        else if (dt_contig || data_sz == 0)
            mpi_errno = MPIDI_CH3_EagerContigIsend(&sreq, type, MPIR_get_contig_ptr(buf, dt_true_lb), data_sz, rank,
                                                   tag, comm, context_offset);
        else
            mpi_errno = MPIDI_CH3_EagerNoncontigSend(&sreq, type, buf, count, datatype, rank, tag, comm,
                                                     context_offset);
    }
    if (sreq != NULL && dt_ptr != NULL && !(dt_contig && eager)) {
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
    intptr_t n = short_size(vc, comm, count, datatype);

    if (likely(n >= 0) && likely(MPIDI_PTL_Next_born() != NULL) &&
        likely(put_bare(vc, buf, n, MPIDI_PTL_Match_word(comm->rank, tag, context_id), MPIDI_PTL_born->handle) ==
               PTL_OK)) {
        *request = MPIDI_PTL_Give_born(MPIR_REQUEST_KIND__SEND, comm, MPIDI_PTL_Match_word(rank, tag, context_id));
        return MPI_SUCCESS;
    }
    return isend_long(vc, buf, count, datatype, rank, tag, comm, context_offset, MPIDI_CH3_PKT_EAGER_SEND,
                      MPIDI_PTL_Create_send(comm, MPIDI_PTL_Match_word(rank, tag, context_id)), request);
}

/* Blocking: a message that has been put needs no request at all. */
static int ptl_send(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                    MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    int context_id = comm->context_id + context_offset;
    intptr_t n = short_size(vc, comm, count, datatype);

    if (likely(n >= 0) && likely(put_bare(vc, buf, n, MPIDI_PTL_Match_word(comm->rank, tag, context_id),
                                          MPI_REQUEST_NULL) == PTL_OK)) {
        *request = NULL;
        return MPI_SUCCESS;
    }
    return isend_long(vc, buf, count, datatype, rank, tag, comm, context_offset, MPIDI_CH3_PKT_EAGER_SEND,
                      MPIDI_PTL_Create_send(comm, MPIDI_PTL_Match_word(rank, tag, context_id)), request);
}

static int ptl_issend(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                      MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    MPIR_Request *sreq = MPIDI_PTL_Create_send(comm, MPIDI_PTL_Match_word(rank, tag,
                                                                          comm->context_id + context_offset));

    MPIDI_Request_set_type(sreq, MPIDI_REQUEST_TYPE_SSEND);
    return isend_long(vc, buf, count, datatype, rank, tag, comm, context_offset, MPIDI_CH3_PKT_EAGER_SYNC_SEND, sreq,
                      request);
}

static int ptl_irsend(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                      MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    MPIR_Request *sreq = MPIDI_PTL_Create_send(comm, MPIDI_PTL_Match_word(rank, tag,
                                                                          comm->context_id + context_offset));

    MPIDI_Request_set_type(sreq, MPIDI_REQUEST_TYPE_RSEND);
    return isend_long(vc, buf, count, datatype, rank, tag, comm, context_offset, MPIDI_CH3_PKT_READY_SEND, sreq,
                      request);
}

MPIDI_Comm_ops_t MPIDI_PTL_Comm_ops = {
    .send = ptl_send,
    .isend = ptl_isend,
    .ssend = ptl_issend,
    .issend = ptl_issend,
    .rsend = ptl_irsend,
    .irsend = ptl_irsend,
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
 * What MPIDI_CH3_PktHandler_EagerSend does, for a message of which all bytes are here. Set *rreqp: it has to be taken
 * in pieces (truncated, or into many parts of memory), as from that handler.
 */
int MPIDI_PTL_Receive_short(MPIDI_VC_t * vc, uint64_t word, MPI_Request id, char *data, intptr_t n,
                            MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS, found, is_complete = TRUE, charged = !VC_CH(vc)->foreign;
    MPIDI_Message_match match = {.whole = word };
    MPIR_Request *rreq;

    *rreqp = NULL;
    rreq = MPIDI_CH3U_Recvq_FDP_or_AEU(&match, &found);
    MPIR_ERR_CHKANDJUMP1(!rreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq", "**nomemuereq %d",
                         MPIDI_CH3U_Recvq_count_unexp());
    if (unlikely(!found && MPIR_cc_get(rreq->cc) == 0)) {       /* the communicator was revoked */
        if (charged)
            MPIDI_PTL_Give_back(vc, 0, n);
        goto fn_exit;
    }
    if (likely(charged)) {
        if (likely(found))
            MPIDI_PTL_Give_back(vc, 0, n);
        else
            MPIDI_PTL_Recvq_kept(rreq, vc, n);
    }

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

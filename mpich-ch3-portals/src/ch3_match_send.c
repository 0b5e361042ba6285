/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Matching in Portals: the sending side. See ch3_match.c.
 *
 * A short message is one put of its data, which has copied them on return. A long one is a put of what its receiver
 * needs to fetch it (MPIDI_PTL_RTS), and is complete when the receiver says so. A short message of which the receiver
 * must know that it was matched (MPIDI_PTL_SYNC) is complete with CH3's acknowledgement.
 *
 * A message for which there is no credit waits in its connection's queue, and all behind it.
 */
#include "mpidi_ch3_impl.h"

static inline int put(MPIDI_VC_t * vc, const void *buf, intptr_t len, int kind, uint64_t match, MPI_Request id)
{
    ptl_process_id_t peer = { VC_CH(vc)->nid, VC_CH(vc)->pid };
    int rc;

    rc = PtlPutRegion(MPIDI_PTL.md, (ptl_size_t) (uintptr_t) buf, len, PTL_NO_ACK_REQ, peer, MPIDI_PTL_PT_MATCH, 0,
                      match, 0, MPIDI_PTL_HDR(kind, id));
    if (likely(rc == PTL_OK))
        MPIDI_PTL_Spend(vc, kind == MPIDI_PTL_RTS ? 0 : len);
    return rc;
}

static int put_rts(MPIDI_VC_t * vc, MPIR_Request * sreq, int contig, intptr_t data_sz, MPI_Aint dt_true_lb,
                   uint64_t match)
{
    MPIDI_PTL_pkt_rts_t rts;

    MPIDI_PTL_Fill_rts(vc, sreq, contig, data_sz, dt_true_lb, &rts);
    MPIDI_Request_set_msg_type(sreq, MPIDI_REQUEST_RNDV_MSG);
    return put(vc, &rts.data_sz, MPIDI_PTL_RTS_SIZE, MPIDI_PTL_RTS, match, sreq->handle);
}

static int put_long(MPIDI_VC_t * vc, MPIR_Request * sreq, int contig, intptr_t data_sz, MPI_Aint dt_true_lb,
                    uint64_t match)
{
    int rc = PTL_FAIL;

    if (unlikely(MPIDI_PTL.eager_long))
        rc = MPIDI_PTL_Long_put(vc, sreq, contig, data_sz, dt_true_lb, match);
    return likely(rc == PTL_FAIL) ? put_rts(vc, sreq, contig, data_sz, dt_true_lb, match) : rc;
}

/* Try to send. PTL_NO_SPACE: later. *done: nothing is left to do but to complete the request. */
static int try_send(MPIDI_VC_t * vc, MPIR_Request * sreq, int *done)
{
    MPIDI_PTL_Request_t *ch = REQ_CH(sreq);
    MPIDI_Message_match match = sreq->dev.match;
    const void *buf;
    MPI_Aint dt_true_lb, packed;
    MPIR_Datatype *dt_ptr ATTRIBUTE((unused));
    intptr_t data_sz;
    int contig, rc, threshold = -1;

    *done = FALSE;
    match.parts.rank = sreq->comm->rank;
    MPIDI_Datatype_get_info(sreq->dev.user_count, sreq->dev.datatype, contig, data_sz, dt_ptr, dt_true_lb);
    MPIDI_CH3_GET_EAGER_THRESHOLD(&threshold, sreq->comm, vc);
    if (data_sz > 0 && (data_sz > MPIDI_PTL.short_max ||
                        data_sz + (intptr_t) sizeof(MPIDI_CH3_Pkt_eager_send_t) > threshold ||
                        !MPIDI_PTL_Has_credit(vc, data_sz)))
        return MPIDI_PTL_Has_credit(vc, 0) ? put_long(vc, sreq, contig, data_sz, dt_true_lb, match.whole) :
            PTL_NO_SPACE;
    if (!MPIDI_PTL_Has_credit(vc, data_sz))
        return PTL_NO_SPACE;
    if (contig || data_sz == 0) {
        buf = (char *) MPIR_get_contig_ptr(sreq->dev.user_buf, dt_true_lb);
    } else {
        MPIR_Typerep_pack(sreq->dev.user_buf, sreq->dev.user_count, sreq->dev.datatype, 0, MPIDI_PTL_stage, data_sz,
                          &packed);
        buf = MPIDI_PTL_stage;
    }
    MPIDI_Request_set_msg_type(sreq, MPIDI_REQUEST_EAGER_MSG);
    rc = put(vc, buf, data_sz, ch->kind, match.whole, sreq->handle);
    *done = rc == PTL_OK && ch->kind != MPIDI_PTL_SYNC;
    return rc;
}

static void enqueue(MPIDI_VC_t * vc, MPIR_Request * sreq)
{
    MPIDI_PTL_VC_t *ch = VC_CH(vc);

    MPIR_Request_add_ref(sreq); /* the queue's own */
    sreq->next = NULL;
    if (ch->waiting_head != NULL)
        ch->waiting_tail->next = sreq;
    else
        ch->waiting_head = sreq;
    ch->waiting_tail = sreq;
    if (!ch->on_waiting) {
        ch->on_waiting = TRUE;
        ch->next_waiting = MPIDI_PTL.waiting_vcs;
        MPIDI_PTL.waiting_vcs = vc;
    }
}

/* One connection's queue, as far as credit goes. */
static int send_waiting(MPIDI_VC_t * vc, int *made_progress)
{
    int mpi_errno = MPI_SUCCESS, rc = PTL_OK, done;
    MPIDI_PTL_VC_t *ch = VC_CH(vc);
    MPIR_Request *sreq;

    while ((sreq = ch->waiting_head) != NULL) {
        rc = try_send(vc, sreq, &done);
        if (rc == PTL_NO_SPACE)
            break;
        MPIDI_PTL_CHECK(rc, "PtlPutRegion");
        *made_progress = TRUE;
        ch->waiting_head = sreq->next;
        if (done) {
            mpi_errno = MPID_Request_complete(sreq);
            MPIR_ERR_CHECK(mpi_errno);
        }
        MPIR_Request_free(sreq);
    }
    if (ch->waiting_head != NULL)
        MPIDI_PTL_Ask_credit(vc);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Send_waiting(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_VC_t *vc, *next, **link = &MPIDI_PTL.waiting_vcs;

    for (vc = *link; vc != NULL; vc = next) {
        next = VC_CH(vc)->next_waiting;
        mpi_errno = send_waiting(vc, made_progress);
        MPIR_ERR_CHECK(mpi_errno);
        /* completing a request may have queued others: at the head, in front of *link at most */
        while (*link != vc)
            link = &VC_CH(*link)->next_waiting;
        if (VC_CH(vc)->waiting_head != NULL) {
            link = &VC_CH(vc)->next_waiting;
        } else {
            *link = next;
            VC_CH(vc)->on_waiting = FALSE;
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Everything that is not one put now. */
static int send_with_request(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank,
                             int tag, MPIR_Comm * comm, int context_offset, int kind, int type,
                             MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS, rc = PTL_NO_SPACE, done = FALSE, progress;
    MPIR_Request *sreq;

    MPIDI_Request_create_sreq(sreq, mpi_errno, goto fn_exit);
    MPIDI_Request_set_type(sreq, type);
    sreq->dev.OnDataAvail = NULL;
    REQ_CH(sreq)->kind = kind;
    if (!HANDLE_IS_BUILTIN(datatype)) {
        MPIR_Datatype_get_ptr(datatype, sreq->dev.datatype_ptr);
        MPIR_Datatype_ptr_add_ref(sreq->dev.datatype_ptr);
    }
    if (likely(VC_CH(vc)->waiting_head == NULL))
        rc = try_send(vc, sreq, &done);
    if (rc == PTL_NO_SPACE) {
        enqueue(vc, sreq);
        MPIDI_PTL_Ask_credit(vc);
        rc = PTL_OK;
    }
    MPIDI_PTL_CHECK(rc, "PtlPutRegion");
    if (done) {
        mpi_errno = MPID_Request_complete(sreq);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (unlikely(REQ_CH(sreq)->posted)) {      /* on the node it is acknowledged when the put returns */
        mpi_errno = MPIDI_PTL_Take_replies(&progress);
        MPIR_ERR_CHECK(mpi_errno);
    }
    *request = sreq;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Hybrid: a long message is announced to the match list; where the inbox is full, or packets wait, behind these. */
int MPIDI_PTL_Hybrid_rndv_send(MPIR_Request ** sreq_p, const void *buf, MPI_Aint count, MPI_Datatype datatype,
                               int dt_contig, intptr_t data_sz, MPI_Aint dt_true_lb, int rank, int tag,
                               MPIR_Comm * comm, int context_offset)
{
    MPIR_Request *sreq = *sreq_p;
    MPIDI_Message_match match = sreq->dev.match;
    MPIDI_VC_t *vc;

    MPIDI_Comm_get_vc_set_active(comm, rank, &vc);
    match.parts.rank = comm->rank;
    if (VC_CH(vc)->sendq_head == NULL &&
        put_rts(vc, sreq, dt_contig, data_sz, dt_true_lb, match.whole) == PTL_OK)
        return MPI_SUCCESS;
    return MPIDI_PTL_RndvSend(sreq_p, buf, count, datatype, dt_contig, data_sz, dt_true_lb, rank, tag, comm,
                              context_offset);
}

/* Length of a message that may go at once, with its data, from one piece of memory; or -1. */
static inline intptr_t short_size(MPIDI_VC_t * vc, MPIR_Comm * comm, MPI_Aint count, MPI_Datatype datatype)
{
    intptr_t n = MPIDI_PTL_Eager_size(vc, comm, count, datatype);

    return n >= 0 && VC_CH(vc)->waiting_head == NULL && n <= MPIDI_PTL.short_max && MPIDI_PTL_Has_credit(vc, n) ? n :
        -1;
}

/* Blocking: a message that has been put needs no request at all. */
static int match_send(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                      MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    intptr_t n = short_size(vc, comm, count, datatype);

    if (likely(n >= 0) && likely(put(vc, buf, n, MPIDI_PTL_EAGER,
                                     MPIDI_PTL_Match_word(comm->rank, tag, comm->context_id + context_offset),
                                     MPI_REQUEST_NULL) == PTL_OK)) {
        *request = NULL;
        return MPI_SUCCESS;
    }
    return send_with_request(vc, buf, count, datatype, rank, tag, comm, context_offset, MPIDI_PTL_EAGER,
                             MPIDI_REQUEST_TYPE_SEND, request);
}

static int match_isend(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                       MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    intptr_t n = short_size(vc, comm, count, datatype);
    int context_id = comm->context_id + context_offset;

    if (likely(n >= 0) && likely(MPIDI_PTL_Next_born() != NULL) &&
        likely(put(vc, buf, n, MPIDI_PTL_EAGER, MPIDI_PTL_Match_word(comm->rank, tag, context_id),
                   MPIDI_PTL_born->handle) == PTL_OK)) {
        *request = MPIDI_PTL_Give_born(MPIR_REQUEST_KIND__SEND, comm, MPIDI_PTL_Match_word(rank, tag, context_id));
        return MPI_SUCCESS;
    }
    return send_with_request(vc, buf, count, datatype, rank, tag, comm, context_offset, MPIDI_PTL_EAGER,
                             MPIDI_REQUEST_TYPE_SEND, request);
}

/* MPI_Cancel: a message that still waits for credit has not left. Of any other the receiver must be asked. */
int MPIDI_PTL_Cancel_send(MPIDI_VC_t * vc, MPIR_Request * sreq)
{
    int mpi_errno = MPI_SUCCESS, was_incomplete;
    MPIR_Request *prev = NULL, *r;
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_cancel_send_req_t *const pkt = &upkt.cancel_send_req;

    MPIDI_PTL_Disown_born(sreq);
    for (r = VC_CH(vc)->waiting_head; r != NULL && r != sreq; r = r->next)
        prev = r;
    if (r != NULL) {
        if (prev != NULL)
            prev->next = sreq->next;
        else
            VC_CH(vc)->waiting_head = sreq->next;
        if (VC_CH(vc)->waiting_tail == sreq)
            VC_CH(vc)->waiting_tail = prev;
        MPIR_STATUS_SET_CANCEL_BIT(sreq->status, TRUE);
        mpi_errno = MPID_Request_complete(sreq);
        MPIR_Request_free(sreq);        /* the queue's */
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    if (MPIDI_PTL.eager_long) {
        mpi_errno = MPIDI_PTL_Long_settle(sreq);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_CH3U_Request_increment_cc(sreq, &was_incomplete);     /* until the answer comes */
    if (!was_incomplete)
        MPIR_Request_add_ref(sreq);
    MPIDI_Pkt_init(pkt, MPIDI_CH3_PKT_CANCEL_SEND_REQ);
    pkt->match = sreq->dev.match;
    pkt->match.parts.rank = sreq->comm->rank;
    pkt->sender_req_id = sreq->handle;
    mpi_errno = MPIDI_PTL_Send_packet(vc, pkt, sizeof(*pkt));
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int match_issend(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                        MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    return send_with_request(vc, buf, count, datatype, rank, tag, comm, context_offset, MPIDI_PTL_SYNC,
                             MPIDI_REQUEST_TYPE_SSEND, request);
}

static int match_irsend(MPIDI_VC_t * vc, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                        MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    return send_with_request(vc, buf, count, datatype, rank, tag, comm, context_offset, MPIDI_PTL_READY,
                             MPIDI_REQUEST_TYPE_RSEND, request);
}

MPIDI_Comm_ops_t MPIDI_PTL_Match_ops = {
    .send = match_send,
    .isend = match_isend,
    .ssend = match_issend,
    .issend = match_issend,
    .rsend = match_irsend,
    .irsend = match_irsend,
    .cancel_send = MPIDI_PTL_Cancel_send,
};

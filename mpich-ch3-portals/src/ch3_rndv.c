/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Rendezvous with one copy: the sender tells where its data are, the receiver that has matched the message gets them
 * straight into the user's buffer and says DONE. Data that are not contiguous at the sender go by CH3's own rendezvous
 * (clear to send, then packets); those that are not contiguous at the receiver are fetched in pieces.
 */
#include "mpidi_ch3_impl.h"

/*
 * Receives whose get was refused, since the peer keeps records of so many of our gets only, or their queue has no place
 * for another reply; linked by their next field, they are in no other queue any more. They are tried again in turn: the
 * next one may be of another peer, and matching is over, so their order is free.
 */
#define RETRIES 8               /* in one turn */
static MPIR_Request *wait_tail;

static int start_get(MPIR_Request * rreq);

static void wait_for_get(MPIR_Request * rreq)
{
    rreq->next = NULL;
    if (MPIDI_PTL.waiting_gets != NULL)
        wait_tail->next = rreq;
    else
        MPIDI_PTL.waiting_gets = rreq;
    wait_tail = rreq;
}

int MPIDI_PTL_Retry_gets(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS, i;
    MPIR_Request *rreq;

    for (i = 0; i < RETRIES && (rreq = MPIDI_PTL.waiting_gets) != NULL; i++) {
        MPIDI_PTL.waiting_gets = rreq->next;
        mpi_errno = start_get(rreq);
        MPIR_ERR_CHECK(mpi_errno);
        if (MPIDI_PTL.waiting_gets == NULL || wait_tail != rreq)        /* not refused again */
            *made_progress = TRUE;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

_Static_assert(offsetof(MPIDI_PTL_pkt_rts_t, data_sz) + MPIDI_PTL_RTS_SIZE == sizeof(MPIDI_PTL_pkt_rts_t),
               "what follows the envelope");

/* What the receiver needs to fetch the data of @sreq. Without an address it asks for them by CH3's own rendezvous. */
void MPIDI_PTL_Fill_rts(MPIR_Request * sreq, int contig, intptr_t data_sz, MPI_Aint dt_true_lb,
                        MPIDI_PTL_pkt_rts_t * rts)
{
    sreq->dev.OnDataAvail = 0;
    sreq->dev.partner_request = NULL;
    MPIDI_Pkt_init(rts, MPIDI_PTL_PKT_RTS);
    rts->sender_req_id = sreq->handle;
    rts->data_sz = data_sz;
    rts->addr = contig ? (uint64_t) (uintptr_t) MPIR_get_contig_ptr(sreq->dev.user_buf, dt_true_lb) : 0;
    rts->w[0] = rts->w[1] = 0;
}

/* The same as it has come in a put: @data from data_sz on. */
void MPIDI_PTL_Read_rts(MPIDI_PTL_pkt_rts_t * rts, uint64_t match, uint64_t hdr_data, const void *data)
{
    MPIDI_Pkt_init(rts, MPIDI_PTL_PKT_RTS);
    rts->match.whole = match;
    rts->sender_req_id = MPIDI_PTL_HDR_REQUEST(hdr_data);
    memcpy(&rts->data_sz, data, MPIDI_PTL_RTS_SIZE);
}

int MPIDI_PTL_RndvSend(MPIR_Request ** sreq_p, const void *buf ATTRIBUTE((unused)), MPI_Aint count ATTRIBUTE((unused)),
                       MPI_Datatype datatype ATTRIBUTE((unused)), int dt_contig, intptr_t data_sz,
                       MPI_Aint dt_true_lb, int rank, int tag, MPIR_Comm * comm, int context_offset)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_PTL_pkt_rts_t *const rts_pkt = &upkt.ptl_rts;
    MPIR_Request *sreq = *sreq_p, *rts_sreq;
    MPIDI_VC_t *vc;

    MPIDI_PTL_Fill_rts(sreq, dt_contig, data_sz, dt_true_lb, rts_pkt);
    rts_pkt->match.parts.rank = comm->rank;
    rts_pkt->match.parts.tag = tag;
    rts_pkt->match.parts.context_id = comm->context_id + context_offset;

    MPIDI_Comm_get_vc_set_active(comm, rank, &vc);
    mpi_errno = MPIDI_CH3_iStartMsg(vc, rts_pkt, sizeof(*rts_pkt), &rts_sreq);
    if (mpi_errno != MPI_SUCCESS) {
        MPIR_Request_free(sreq);
        *sreq_p = NULL;
        MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_OTHER, "**ch3|rtspkt");
    }
    if (rts_sreq != NULL)
        MPIR_Request_free(rts_sreq);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A receive was posted that matches a message whose RTS had arrived before. */
int MPIDI_PTL_RndvRecv(MPIDI_VC_t * vc, MPIR_Request * rreq)
{
    MPI_Aint dt_true_lb ATTRIBUTE((unused));
    MPIR_Datatype *dt_ptr ATTRIBUTE((unused));
    intptr_t user_sz;
    int dt_contig ATTRIBUTE((unused)), progress;
    int mpi_errno = MPI_SUCCESS;

    if (REQ_CH(rreq)->rts_addr == 0)
        return MPIDI_CH3_RecvRndv(vc, rreq);

    REQ_CH(rreq)->vc = vc;
    REQ_CH(rreq)->left = rreq->dev.recv_data_sz;
    REQ_CH(rreq)->tmp = NULL;
    MPIDI_Datatype_get_info(rreq->dev.user_count, rreq->dev.datatype, dt_contig, user_sz, dt_ptr, dt_true_lb);
    if (rreq->dev.recv_data_sz > user_sz) {
        rreq->status.MPI_ERROR =
            MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_TRUNCATE,
                                 "**truncate", "**truncate %d %d %d %d", rreq->status.MPI_SOURCE,
                                 rreq->status.MPI_TAG, rreq->dev.recv_data_sz, user_sz);
        MPIR_STATUS_SET_COUNT(rreq->status, user_sz);
        REQ_CH(rreq)->left = user_sz;
    }
    rreq->dev.msg_offset = 0;

    mpi_errno = start_get(rreq);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_PTL_Take_replies(&progress);      /* most gets are over when the call returns */
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* All data are here, or never will be: tell the sender, complete the receive. */
static int finish(MPIR_Request * rreq)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_PTL_pkt_done_t *const done_pkt = &upkt.ptl_done;
    MPIR_Request *sreq;

    MPL_free(REQ_CH(rreq)->tmp);
    REQ_CH(rreq)->tmp = NULL;
    MPIDI_Pkt_init(done_pkt, MPIDI_PTL_PKT_DONE);
    done_pkt->sender_req_id = rreq->dev.sender_req_id;
    mpi_errno = MPIDI_CH3_iStartMsg(REQ_CH(rreq)->vc, done_pkt, sizeof(*done_pkt), &sreq);
    MPIR_ERR_CHECK(mpi_errno);
    if (sreq != NULL)
        MPIR_Request_free(sreq);
    mpi_errno = MPID_Request_complete(rreq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void set_error(MPIR_Request * rreq, const char *call, int rc)
{
    rreq->status.MPI_ERROR = MPIDI_PTL_Error(__func__, __LINE__, call, rc);
}

/* Ask for the data, or for the next piece of them. */
static int start_get(MPIR_Request * rreq)
{
    ptl_process_id_t id = { VC_CH(REQ_CH(rreq)->vc)->nid, VC_CH(REQ_CH(rreq)->vc)->pid };
    size_t len = REQ_CH(rreq)->left;
    char *to;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr ATTRIBUTE((unused));
    intptr_t user_sz ATTRIBUTE((unused));
    int dt_contig, rc;

    if (REQ_CH(rreq)->left == 0)
        return finish(rreq);
    MPIDI_Datatype_get_info(rreq->dev.user_count, rreq->dev.datatype, dt_contig, user_sz, dt_ptr, dt_true_lb);
    if (dt_contig) {
        to = (char *) MPIR_get_contig_ptr(rreq->dev.user_buf, dt_true_lb) + rreq->dev.msg_offset;
    } else {
        if (REQ_CH(rreq)->tmp == NULL)
            REQ_CH(rreq)->tmp = MPL_malloc(MPL_MIN(REQ_CH(rreq)->left, MPIDI_PTL_PIECE), MPL_MEM_BUFFER);
        if (REQ_CH(rreq)->tmp == NULL) {
            set_error(rreq, "malloc", PTL_NO_SPACE);
            return finish(rreq);
        }
        to = REQ_CH(rreq)->tmp;
        len = MPL_MIN(len, MPIDI_PTL_PIECE);
    }

    if (MPIDI_PTL.gets == MPIDI_PTL_MAX_GETS) {
        wait_for_get(rreq);
        return MPI_SUCCESS;
    }
    /* the match bits are for us: the peer's descriptor takes any */
    rc = PtlGetRegion(MPIDI_PTL.md_get, (ptl_size_t) (uintptr_t) to, len, id, MPIDI_PTL_PT_MEM, 0,
                      (ptl_match_bits_t) (uintptr_t) rreq, REQ_CH(rreq)->rts_addr);
    if (rc == PTL_NO_SPACE) {
        wait_for_get(rreq);
        return MPI_SUCCESS;
    }
    if (rc != PTL_OK) {
        set_error(rreq, "PtlGetRegion", rc);
        return finish(rreq);
    }
    MPIDI_PTL.gets++;
    return MPI_SUCCESS;
}

/* REPLY_END */
int MPIDI_PTL_Get_done(const ptl_event_t * ev)
{
    MPIR_Request *rreq = (MPIR_Request *) (uintptr_t) ev->match_bits;
    MPI_Aint unpacked;

    MPIDI_PTL.gets--;
    if (ev->ni_fail_type != PTL_NI_OK || ev->mlength == 0) {
        MPIR_ERR_SET1(rreq->status.MPI_ERROR, MPI_ERR_OTHER, "**intern", "**intern %s",
                      ev->ni_fail_type == PTL_NI_DIED_NP ? "the sender died while its message was being fetched" :
                      "the sender's buffer could not be read");
        REQ_CH(rreq)->left = 0;
    } else {
        REQ_CH(rreq)->left -= ev->mlength;
        REQ_CH(rreq)->rts_addr += ev->mlength;
        if (REQ_CH(rreq)->tmp != NULL) {
            MPIR_Typerep_unpack(REQ_CH(rreq)->tmp, ev->mlength, rreq->dev.user_buf, rreq->dev.user_count,
                                rreq->dev.datatype, rreq->dev.msg_offset, &unpacked);
            rreq->dev.msg_offset += unpacked;
            if (unpacked != (MPI_Aint) ev->mlength) {
                MPIR_ERR_SET(rreq->status.MPI_ERROR, MPI_ERR_TYPE, "**dtypemismatch");
                MPIR_STATUS_SET_COUNT(rreq->status, rreq->dev.msg_offset);
                REQ_CH(rreq)->left = 0;
            }
        } else {
            rreq->dev.msg_offset += ev->mlength;
        }
    }
    return start_get(rreq);
}

int MPIDI_PTL_Take_replies(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS, rc;
    ptl_event_t ev;

    while (MPIDI_PTL.gets > 0 && (rc = PtlEQGet(MPIDI_PTL.eq_get, &ev)) != PTL_EQ_EMPTY) {
        MPIDI_PTL_CHECK(rc, "PtlEQGet");
        *made_progress = TRUE;
        if (MPIDI_PTL_Credit_reply(&ev))
            continue;
        mpi_errno = MPIDI_PTL_Get_done(&ev);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* @found: of a posted receive; otherwise of a request that keeps the message until there is one. */
int MPIDI_PTL_Rts_matched(MPIDI_VC_t * vc, MPIR_Request * rreq, int found, const MPIDI_PTL_pkt_rts_t * rts)
{
    rreq->status.MPI_SOURCE = rts->match.parts.rank;
    rreq->status.MPI_TAG = rts->match.parts.tag;
    MPIR_STATUS_SET_COUNT(rreq->status, rts->data_sz);
    rreq->dev.sender_req_id = rts->sender_req_id;
    rreq->dev.recv_data_sz = rts->data_sz;
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_RNDV_MSG);
    REQ_CH(rreq)->rts_addr = rts->addr;
    if (found)
        return MPIDI_PTL_RndvRecv(vc, rreq);
    MPIDI_CH3_Progress_signal_completion();     /* a probe may be waiting for it */
    return MPI_SUCCESS;
}

int MPIDI_PTL_PktHandler_Rts(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data ATTRIBUTE((unused)),
                             intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS, found;
    MPIR_Request *rreq;

    *buflen = 0;
    *rreqp = NULL;
    rreq = MPIDI_CH3U_Recvq_FDP_or_AEU(&pkt->ptl_rts.match, &found);
    MPIR_ERR_CHKANDJUMP1(!rreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq", "**nomemuereq %d",
                         MPIDI_CH3U_Recvq_count_unexp());
    if (!found && MPIR_cc_get(rreq->cc) == 0)
        goto fn_exit;           /* the communicator was revoked */
    mpi_errno = MPIDI_PTL_Rts_matched(vc, rreq, found, &pkt->ptl_rts);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_PktHandler_Done(MPIDI_VC_t * vc ATTRIBUTE((unused)), MPIDI_CH3_Pkt_t * pkt,
                              void *data ATTRIBUTE((unused)), intptr_t * buflen, MPIR_Request ** rreqp)
{
    MPIR_Request *sreq;

    *buflen = 0;
    *rreqp = NULL;
    MPIR_Request_get_ptr(pkt->ptl_done.sender_req_id, sreq);
    return MPID_Request_complete(sreq);
}

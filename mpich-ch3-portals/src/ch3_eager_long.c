/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * MPICH_PTL_EAGER_LONG: long messages that leave with their data.
 *
 * The put of such a message carries the data alone; its envelope is in the match bits, with MPIDI_PTL_LONG_BIT, the
 * sign of a tag, which no tag has. A posted receive whose memory is contiguous takes the data straight into it: then
 * nothing is left to do on either side, and since the match portal is an ordinary one (bypass) the receiver need not be
 * in MPI. For all others there is an entry behind the list that has no memory and takes nothing of a message but its
 * event. The acknowledgement tells the sender how much was taken. Where that is not all, an RTS follows, with the same
 * bit in its envelope, and the rest is a rendezvous:
 *
 *	sender				receiver
 *	put of the data			a posted receive takes them: complete
 *	ack of all: complete
 *
 *	put of the data			no receive, or one that is too short or not contiguous: note()
 *	ack of less: RTS		fetches them: ch3_rndv.c
 *
 * Event and RTS come by different queues, and an event may stand behind one of a copy that takes long: whichever is the
 * first waits for the other in the list of late ones.
 */
#include "mpidi_ch3_impl.h"
#include <sched.h>

struct late {
    struct late *next;
    MPIDI_VC_t *vc;
    MPI_Request sender_req_id;
    int early;                  /* the RTS is here, the event is not */
    MPIDI_PTL_pkt_rts_t rts;
    MPIR_Request *rreq;         /* NULL: nobody wants it any more */
    int matched;                /* to a receive; else it is in the queue of unexpected messages */
};
static struct late *lates;      /* oldest first */

char MPIDI_PTL_long_entry;      /* user_ptr of the events of messages that no receive has taken */

int MPIDI_PTL_Long_init(void)
{
    ptl_md_t md = {
        .start = NULL,
        .length = 0,
        .threshold = PTL_MD_THRESH_INF,
        .options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE,
        .user_ptr = &MPIDI_PTL_long_entry,
        .eq_handle = MPIDI_PTL.eq_match,
    };

    return MPIDI_PTL_Attach(MPIDI_PTL_PT_MATCH, MPIDI_PTL_LONG_BIT, ~MPIDI_PTL_LONG_BIT, PTL_INS_AFTER, PTL_RETAIN, md);
}

void MPIDI_PTL_Long_fini(void)
{
    struct late *l;

    while ((l = lates) != NULL) {
        lates = l->next;
        MPL_free(l);
    }
}

/* ---- the sender ---- */

/* PTL_NO_SPACE: later. PTL_FAIL: there is no memory to make the data contiguous. */
int MPIDI_PTL_Long_put(MPIDI_VC_t * vc, MPIR_Request * sreq, int contig, intptr_t data_sz, MPI_Aint dt_true_lb,
                       uint64_t match)
{
    ptl_process_id_t peer = { VC_CH(vc)->nid, VC_CH(vc)->pid };
    ptl_md_t md = {
        .length = data_sz,
        .threshold = 2,         /* the put, the acknowledgement */
        .options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE | PTL_MD_XT_NP,
        .user_ptr = sreq,
        .eq_handle = MPIDI_PTL.eq_get,
    };
    ptl_handle_md_t mdh;
    int rc;

    if (MPIDI_PTL.gets >= MPIDI_PTL_env.other_events)
        return PTL_NO_SPACE;
    md.start = contig ? (char *) MPIR_get_contig_ptr(sreq->dev.user_buf, dt_true_lb) : MPIDI_PTL_Packed(sreq, data_sz);
    if (md.start == NULL && !contig)
        return PTL_FAIL;
    rc = PtlMDBind(MPIDI_PTL.ni, md, PTL_UNLINK, &mdh);
    if (rc != PTL_OK)
        return rc;
    MPIDI_Request_set_msg_type(sreq, MPIDI_REQUEST_RNDV_MSG);
    rc = PtlPut(mdh, PTL_ACK_REQ, peer, MPIDI_PTL_PT_MATCH, 0, match | MPIDI_PTL_LONG_BIT, 0,
                MPIDI_PTL_HDR(MPIDI_PTL_LONG, sreq->handle));
    if (rc != PTL_OK) {
        PtlMDUnlink(mdh);
        return rc;
    }
    REQ_CH(sreq)->posted = TRUE;
    MPIDI_PTL.gets++;
    MPIDI_PTL_Spend(vc, 0);
    return PTL_OK;
}

/* Tell where the data are. */
static int send_rts(MPIR_Request * sreq)
{
    int contig;
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_PTL_pkt_rts_t *const rts = &upkt.ptl_rts;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr ATTRIBUTE((unused));
    intptr_t data_sz;
    MPIDI_VC_t *vc;

    MPIDI_Comm_get_vc_set_active(sreq->comm, sreq->dev.match.parts.rank, &vc);
    MPIDI_Datatype_get_info(sreq->dev.user_count, sreq->dev.datatype, contig, data_sz, dt_ptr, dt_true_lb);
    MPIDI_PTL_Fill_rts(vc, sreq, contig, data_sz, dt_true_lb, rts);
    rts->match = sreq->dev.match;
    rts->match.parts.rank = sreq->comm->rank;
    rts->match.whole |= MPIDI_PTL_LONG_BIT;
    return MPIDI_PTL_Send_packet(vc, rts, sizeof(*rts));
}

/* ACK */
int MPIDI_PTL_Long_acked(const ptl_event_t * ev)
{
    MPIR_Request *sreq = ev->md.user_ptr;

    MPIDI_PTL.gets--;
    REQ_CH(sreq)->posted = FALSE;
    if (ev->ni_fail_type == PTL_NI_OK && ev->mlength < ev->md.length)
        return send_rts(sreq);
    if (ev->ni_fail_type != PTL_NI_OK)
        MPIR_ERR_SET1(sreq->status.MPI_ERROR, MPI_ERR_OTHER, "**intern", "**intern %s",
                      ev->ni_fail_type == PTL_NI_DIED_NP ? "the receiver died while a message was on the way to it" :
                      "a message could not be read or stored");
    MPIDI_Request_set_msg_type(sreq, MPIDI_REQUEST_EAGER_MSG);  /* who cancels it waits for no DONE */
    return MPID_Request_complete(sreq);
}

/* Who asks the receiver about this message does so behind its RTS, if there is to be one. */
int MPIDI_PTL_Long_settle(MPIR_Request * sreq)
{
    int mpi_errno = MPI_SUCCESS, progress;

    while (REQ_CH(sreq)->posted && mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPIDI_PTL_Take_replies(&progress);
        if (REQ_CH(sreq)->posted)
            sched_yield();
    }
    return mpi_errno;
}

/* ---- the receiver ---- */

static struct late *take(MPIDI_VC_t * vc, MPI_Request sender_req_id, int early)
{
    struct late **link = &lates, *l;

    while ((l = *link) != NULL && (l->vc != vc || l->sender_req_id != sender_req_id || l->early != early))
        link = &l->next;
    if (l != NULL)
        *link = l->next;
    return l;
}

static int keep(const struct late *l)
{
    struct late *new = MPL_malloc(sizeof(*new), MPL_MEM_BUFFER), **end = &lates;
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(new == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
    *new = *l;
    new->next = NULL;
    while (*end != NULL)
        end = &(*end)->next;
    *end = new;

  fn_fail:
    return mpi_errno;
}

/* Event and RTS are here. */
static int both(MPIDI_VC_t * vc, MPIR_Request * rreq, int matched, MPIDI_PTL_pkt_rts_t * rts)
{
    if (rreq == NULL)
        return MPIDI_PTL_Send_done(vc, rts->sender_req_id);
    rts->match.whole &= ~MPIDI_PTL_LONG_BIT;
    return MPIDI_PTL_Rts_matched(vc, rreq, matched, rts);
}

/* Less has been taken than was sent. */
static int note(MPIDI_VC_t * vc, MPIR_Request * rreq, int matched, const ptl_event_t * ev)
{
    MPI_Request id = MPIDI_PTL_HDR_REQUEST(ev->hdr_data);
    struct late new = {.vc = vc,.sender_req_id = id,.rreq = rreq,.matched = matched }, *l = take(vc, id, TRUE);
    int mpi_errno;

    if (l == NULL)
        return keep(&new);
    mpi_errno = both(vc, rreq, matched, &l->rts);
    MPL_free(l);
    return mpi_errno;
}

static void fill(MPIR_Request * rreq, const ptl_event_t * ev)
{
    MPIDI_Message_match match = {.whole = ev->match_bits & ~MPIDI_PTL_LONG_BIT };

    rreq->status.MPI_SOURCE = match.parts.rank;
    rreq->status.MPI_TAG = match.parts.tag;
    MPIR_STATUS_SET_COUNT(rreq->status, ev->rlength);
    rreq->dev.sender_req_id = MPIDI_PTL_HDR_REQUEST(ev->hdr_data);
    rreq->dev.recv_data_sz = ev->rlength;
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_RNDV_MSG);
}

/* A receive has taken less than the message; NULL: one that was given up. */
int MPIDI_PTL_Long_cut(MPIDI_VC_t * vc, MPIR_Request * rreq, const ptl_event_t * ev)
{
    if (rreq != NULL)
        fill(rreq, ev);
    return note(vc, rreq, TRUE, ev);
}

/* No receive has taken it. There may be one in the queue that is not in Portals. */
int MPIDI_PTL_Long_unexpected(MPIDI_VC_t * vc, const ptl_event_t * ev)
{
    int mpi_errno = MPI_SUCCESS, found;
    MPIDI_Message_match match = {.whole = ev->match_bits & ~MPIDI_PTL_LONG_BIT };
    MPIR_Request *rreq = MPIDI_CH3U_Recvq_FDP_or_AEU(&match, &found);

    MPIR_ERR_CHKANDJUMP1(!rreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq", "**nomemuereq %d",
                         MPIDI_CH3U_Recvq_count_unexp());
    if (!found && MPIR_cc_get(rreq->cc) == 0)
        return note(vc, NULL, TRUE, ev);        /* the communicator was revoked */
    fill(rreq, ev);
    mpi_errno = note(vc, rreq, found, ev);
    MPIR_ERR_CHECK(mpi_errno);
    if (!found)
        MPIDI_CH3_Progress_signal_completion(); /* a probe may be waiting for it */

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static struct late *note_of(const MPIR_Request * rreq)
{
    struct late *l;

    for (l = lates; l != NULL && l->rreq != rreq; l = l->next)
        continue;
    return l;
}

/* There is a receive for the message of @rreq. FALSE: its RTS has come, too. */
int MPIDI_PTL_Long_wanted(MPIR_Request * rreq)
{
    struct late *l = note_of(rreq);

    if (l != NULL)
        l->matched = TRUE;
    return l != NULL;
}

/* There will be none: @rreq goes. */
void MPIDI_PTL_Long_unwanted(MPIR_Request * rreq)
{
    struct late *l = note_of(rreq);

    if (l != NULL)
        l->rreq = NULL;
}

/* The RTS. */
int MPIDI_PTL_Long_rts(MPIDI_VC_t * vc, MPIDI_PTL_pkt_rts_t * rts)
{
    struct late new = {.vc = vc,.sender_req_id = rts->sender_req_id,.early = TRUE,.rts = *rts };
    struct late *l = take(vc, rts->sender_req_id, FALSE);
    int mpi_errno;

    if (l == NULL)
        return keep(&new);
    mpi_errno = both(vc, l->rreq, l->matched, rts);
    MPL_free(l);
    return mpi_errno;
}

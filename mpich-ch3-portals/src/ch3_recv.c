/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Receives of short messages, straight: the other half of ch3_eager.c.
 *
 * A receive whose message is in the inbox already, or comes while MPI_Recv looks for it, needs neither an entry in
 * Portals nor an event nor, where it blocks, a request: PtlMEMDTake_np matches it and copies it into the user's memory.
 * It refuses where a receive was posted before, where events are to be handled first, and where what comes next is
 * another message; then, and for all that is not short and of one piece, the receive is posted (ch3_match.c).
 *
 * Of messages that are matched by Portals only those that nobody wants acknowledged: their header data say
 * MPIDI_PTL_EAGER.
 *
 * Where CH3 matches (MPICH_PTL_MATCH_OFF) the entry that need not be made is one more for any short message of that
 * source, over a buffer of ours. The envelope is looked at here; what is not for this receive goes CH3's way, as from a
 * buffer of MPIDI_PTL_Post_buf.
 */
#define MPIDI_PTL_OWNS_RECV
#include "mpidi_ch3_impl.h"

#define LOOKS           200     /* in MPI_Recv, before it posts: about 2 us */

int MPIDI_PTL_receipts;

static char next_one[PTL_INLINE_MAX_NP] __attribute__ ((aligned(64)));

/* Is there anything to do for the progress engine that a receive would keep waiting? */
static inline int others_wait(void)
{
    return MPIDI_PTL.sendq_head != NULL || MPIDI_PTL.waiting_vcs != NULL || MPIDI_PTL.waiting_gets != NULL ||
        MPIDI_PTL.gets > 0 || MPIDI_PTL_takes_waiting || MPIDI_PTL_waiting_locks > 0 || MPIDI_PTL_wires;
}

/* May receives of @comm be tried so? Not where one that was posted is in CH3's queue only, or something would wait. */
int MPIDI_PTL_Recv_may(const MPIR_Comm * comm)
{
    return MPIDI_PTL.direct && MPIDI_PTL_queue_only == 0 && !comm->revoked && !others_wait();
}

/* The next one of this source, for a receive of @length bytes at @buf. */
static inline int take_next(void *buf, ptl_size_t length, ptl_match_bits_t bits, ptl_match_bits_t ignore,
                            MPIDI_VC_t * vc, unsigned looks, ptl_take_np_t * t, int *mpi_errno_p)
{
    t->match_bits = 0;
    t->ignore_bits = ~(ptl_match_bits_t) 0;
    t->hdr_data = MPIDI_PTL_BARE;
    t->ignore_hdr = 0xffffffff;
    t->start = next_one;
    t->length = sizeof(next_one);
    if (PtlMEMDTake_np(MPIDI_PTL.front, MPIDI_PTL.eq, t, looks) != PTL_OK)
        return FALSE;
    if (likely(((t->bits ^ bits) & ~ignore) == 0 && t->mlength <= length)) {
        MPIDI_PTL_Copy(buf, next_one, t->mlength);
        return TRUE;
    }
    if (vc == NULL)
        vc = MPIDI_PTL_Find_vc(t->initiator.nid, t->initiator.pid);
    if (likely(vc != NULL))
        *mpi_errno_p = MPIDI_PTL_Handle_bare(vc, t->bits, t->hdr, next_one, t->mlength);
    return FALSE;
}

/*
 * Take the message of this receive into @buf, if it is the next one; up to @looks looks for it. Nothing of the queue of
 * unexpected messages may match. FALSE: where Portals matches, nothing has changed; else something may have entered
 * that queue.
 */
int MPIDI_PTL_Recv_direct(void *buf, MPI_Aint count, MPI_Datatype datatype, int source, int tag, int context_id,
                          MPIR_Comm * comm, unsigned looks, MPIDI_PTL_Direct_t * d, int *mpi_errno_p)
{
    ptl_match_bits_t ignore = MPIDI_PTL.no_tag;
    MPIDI_Message_match match;
    ptl_take_np_t t;
    MPIDI_VC_t *vc = NULL;

    if (unlikely(!HANDLE_IS_BUILTIN(datatype)))
        return FALSE;
    t.length = count * (ptl_size_t) MPIR_Datatype_get_basic_size(datatype);
    if (likely(source != MPI_ANY_SOURCE)) {
        MPIDI_Comm_get_vc(comm, source, &vc);
        if (unlikely(VC_CH(vc)->foreign))
            return FALSE;
        t.match_id.nid = VC_CH(vc)->nid;
        t.match_id.pid = VC_CH(vc)->pid;
    } else {
        t.match_id.nid = PTL_NID_ANY;
        t.match_id.pid = PTL_PID_ANY;
        ignore |= (ptl_match_bits_t) 0xffff << 32;
    }
    if (unlikely(tag == MPI_ANY_TAG))
        ignore |= 0xffffffff;
    if (unlikely((intptr_t) t.length > MPIDI_PTL.short_max))
        looks = 1;              /* a long one is expected, which an entry has sooner */
    if (MPIDI_PTL.by_packet) {
        if (!take_next(buf, t.length, MPIDI_PTL_Match_word(source, tag, context_id), ignore, vc, looks, &t,
                       mpi_errno_p))
            return FALSE;
    } else {
        t.match_bits = MPIDI_PTL_Match_word(source, tag, context_id);
        t.ignore_bits = ignore;
        t.hdr_data = MPIDI_PTL_HDR(MPIDI_PTL_EAGER, 0);
        t.ignore_hdr = MPIDI_PTL_HDR(0, ~0);
        t.start = buf;
        if (PtlMEMDTake_np(MPIDI_PTL.first, MPIDI_PTL.eq_match, &t, looks) != PTL_OK)
            return FALSE;
    }
    MPIDI_PTL_receipts++;
    if (unlikely(vc == NULL)) {
        vc = MPIDI_PTL_Find_vc(t.initiator.nid, t.initiator.pid);
        if (unlikely(vc == NULL))
            return FALSE;       /* not of this job */
    }
    MPIDI_PTL_Give_back(vc, !MPIDI_PTL.by_packet, t.mlength);
    if (unlikely(vc->state == MPIDI_VC_STATE_INACTIVE))
        MPIDI_CHANGE_VC_STATE(vc, ACTIVE);
    match.whole = t.bits;
    d->source = match.parts.rank;
    d->tag = match.parts.tag;
    d->length = t.mlength;
    return TRUE;
}

/* What CH3's does with a receive that is complete at once: no request. */
static int give(MPI_Status * status, MPIR_Request ** request)
{
    MPIR_Request *rreq = *request;
    int mpi_errno = rreq->status.MPI_ERROR;

    if (status != MPI_STATUS_IGNORE)
        *status = rreq->status;
    MPIR_Request_free(rreq);
    *request = NULL;
    return mpi_errno;
}

/* In place of CH3's (mpidi_ch3_post.h says how). It blocks for a moment, and leaves the rest to its caller. */
int MPID_Recv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag, MPIR_Comm * comm,
              int context_offset, MPI_Status * status, MPIR_Request ** request)
{
    MPIDI_PTL_Direct_t d;
    int mpi_errno = MPI_SUCCESS;

    if (unlikely(MPIDI_PTL_receipts >= MPIDI_PTL_RECEIPTS)) {
        MPIDI_PTL_receipts = 0;
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (MPIDI_PTL_Recv_may(comm) && MPIDI_PTL_Recvq_clear(rank, tag, comm->recvcontext_id + context_offset) &&
        MPIDI_PTL_Recv_direct(buf, count, datatype, rank, tag, comm->recvcontext_id + context_offset, comm,
                              MPIDI_PTL.oversubscribed ? 1 : LOOKS, &d, &mpi_errno)) {
        if (status != MPI_STATUS_IGNORE) {
            status->MPI_SOURCE = d.source;
            status->MPI_TAG = d.tag;
            if (context_offset != 0)
                status->MPI_ERROR = MPI_SUCCESS;        /* MPIC_Recv reads it; for the user's it is not to be set */
            MPIR_STATUS_SET_COUNT(*status, d.length);
            MPIR_STATUS_SET_CANCEL_BIT(*status, FALSE);
        }
        *request = NULL;
        return MPI_SUCCESS;
    }
    MPIR_ERR_CHECK(mpi_errno);
    *request = NULL;
    mpi_errno = MPID_Irecv(buf, count, datatype, rank, tag, comm, context_offset, request);
    if (*request != NULL && MPIR_Request_is_complete(*request)) {
        int error = give(status, request);

        mpi_errno = mpi_errno != MPI_SUCCESS ? mpi_errno : error;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Sending packets: MPIDI_CH3_iStartMsg(v) and iSend(v), and the queues of what a full inbox refused.
 *
 * Invariant: a connection is on the list MPIDI_PTL.sendq_head exactly while its send queue is not empty, and then
 * nothing is put to it but from the head of that queue, so that order holds. The head request may be sent in part: its
 * iov (from iov_offset on) describes what is left, and iov_offset 0 with the packet as first element means that
 * nothing was sent yet.
 */
#include "mpidi_ch3_impl.h"

char MPIDI_PTL_stage[PTL_INLINE_MAX_NP] __attribute__ ((aligned(64)));

/* Put as much of *iov as the peer takes; returns PTL_OK (all sent) or the code of the put that was refused. The rest
 * is left in *iov and *n_iov. @first: the packet is in front and nothing was sent before. */
static int put_iov(MPIDI_VC_t * vc, struct iovec **iov, int *n_iov, int *first)
{
    if (unlikely(VC_CH(vc)->foreign))
        return MPIDI_PTL_Wire_put(vc, iov, n_iov, first);
    while (*n_iov > 0) {
        size_t len = 0, take;
        int n = 0, rc;

        if (!*first && (*iov)->iov_len >= sizeof(MPIDI_PTL_stage)) {
            len = sizeof(MPIDI_PTL_stage);
            rc = MPIDI_PTL_Put(vc, (*iov)->iov_base, len, MPIDI_PTL_MORE);
        } else {
            while (n < *n_iov && len < sizeof(MPIDI_PTL_stage)) {
                take = MPL_MIN((*iov)[n].iov_len, sizeof(MPIDI_PTL_stage) - len);
                MPIDI_PTL_Copy(MPIDI_PTL_stage + len, (*iov)[n].iov_base, take);
                len += take;
                n++;
            }
            rc = MPIDI_PTL_Put(vc, MPIDI_PTL_stage, len, *first ? 0 : MPIDI_PTL_MORE);
        }
        if (rc != PTL_OK)
            return rc;
        *first = FALSE;
        while (*n_iov > 0 && len >= (*iov)->iov_len) {
            len -= (*iov)->iov_len;
            (*iov)++;
            (*n_iov)--;
        }
        if (len > 0) {
            (*iov)->iov_base = (char *) (*iov)->iov_base + len;
            (*iov)->iov_len -= len;
        }
    }
    return PTL_OK;
}

static void enqueue(MPIDI_VC_t * vc, MPIR_Request * sreq)
{
    MPIR_Request_add_ref(sreq); /* the queue's own: the user may free the request meanwhile */
    sreq->next = NULL;
    if (VC_CH(vc)->sendq_tail != NULL)
        VC_CH(vc)->sendq_tail->next = sreq;
    else
        VC_CH(vc)->sendq_head = sreq;
    VC_CH(vc)->sendq_tail = sreq;
    if (!VC_CH(vc)->on_list) {
        VC_CH(vc)->on_list = TRUE;
        VC_CH(vc)->next = MPIDI_PTL.sendq_head;
        MPIDI_PTL.sendq_head = vc;
    }
}

/* Keep what is left of a message in its request. */
static void keep(MPIR_Request * sreq, struct iovec *iov, int n_iov, int first)
{
    int i;

    for (i = 0; i < n_iov; i++)
        sreq->dev.iov[i] = iov[i];
    if (first) {
        memcpy(&sreq->dev.pending_pkt, iov[0].iov_base, MPL_MIN(iov[0].iov_len, sizeof(sreq->dev.pending_pkt)));
        sreq->dev.iov[0].iov_base = &sreq->dev.pending_pkt;
    }
    sreq->dev.iov_offset = first ? 0 : 1;       /* only tells "nothing sent yet" from "under way" */
    sreq->dev.iov_count = n_iov;
}

static MPIR_Request *create_request(struct iovec *iov, int n_iov, int first)
{
    MPIR_Request *sreq = MPIR_Request_create(MPIR_REQUEST_KIND__SEND);

    if (sreq == NULL)
        return NULL;
    MPIR_Object_set_ref(sreq, 2);
    sreq->dev.OnDataAvail = 0;
    keep(sreq, iov, n_iov, first);
    return sreq;
}

/* The last byte of a message is out: complete the request, or let CH3 load the next part of its data. */
static int sent(MPIDI_VC_t * vc, MPIR_Request * sreq, int *complete)
{
    if (sreq->dev.OnDataAvail == NULL) {
        *complete = TRUE;
        return MPID_Request_complete(sreq);
    }
    *complete = FALSE;
    return sreq->dev.OnDataAvail(vc, sreq, complete);
}

int MPIDI_CH3_iStartMsg(MPIDI_VC_t * vc, void *hdr, intptr_t hdr_sz, MPIR_Request ** sreq_ptr)
{
    int mpi_errno = MPI_SUCCESS, rc = PTL_NO_SPACE;
    struct iovec iov = { hdr, (size_t) hdr_sz };

    if (unlikely(VC_CH(vc)->foreign))
        return MPIDI_CH3_iStartMsgv(vc, &iov, 1, sreq_ptr);
    *sreq_ptr = NULL;
    if (likely(VC_CH(vc)->sendq_head == NULL))
        rc = MPIDI_PTL_Put(vc, hdr, hdr_sz, 0);
    if (unlikely(rc == PTL_NO_SPACE)) {
        *sreq_ptr = create_request(&iov, 1, TRUE);
        MPIR_ERR_CHKANDJUMP(!*sreq_ptr, mpi_errno, MPI_ERR_OTHER, "**nomem");
        enqueue(vc, *sreq_ptr);
        rc = PTL_OK;
    }
    MPIDI_PTL_CHECK(rc, "PtlPutRegion");

  fn_fail:
    return mpi_errno;
}

/* A packet of which nobody wants to know when it has left. */
int MPIDI_PTL_Send_packet(MPIDI_VC_t * vc, void *pkt, intptr_t len)
{
    MPIR_Request *sreq;
    int mpi_errno = MPIDI_CH3_iStartMsg(vc, pkt, len, &sreq);

    if (mpi_errno == MPI_SUCCESS && sreq != NULL)
        MPIR_Request_free(sreq);
    return mpi_errno;
}

/* Make the packet as long as the receiver expects it in front of data. */
static void pad(struct iovec *iov, int n_iov, MPIDI_CH3_Pkt_t * room)
{
    intptr_t sz = MPIDI_PTL_Header_size(iov[0].iov_base);

    if (n_iov > 1 && (intptr_t) iov[0].iov_len < sz) {
        memcpy(room, iov[0].iov_base, iov[0].iov_len);
        memset((char *) room + iov[0].iov_len, 0, sz - iov[0].iov_len);
        iov[0].iov_base = room;
        iov[0].iov_len = sz;
    }
}

int MPIDI_CH3_iStartMsgv(MPIDI_VC_t * vc, struct iovec *iov, int n_iov, MPIR_Request ** sreq_ptr)
{
    int mpi_errno = MPI_SUCCESS, rc = PTL_NO_SPACE, first = TRUE;
    MPIDI_CH3_Pkt_t room;

    MPIR_Assert(n_iov <= MPL_IOV_LIMIT);
    *sreq_ptr = NULL;
    pad(iov, n_iov, &room);
    if (likely(VC_CH(vc)->sendq_head == NULL))
        rc = put_iov(vc, &iov, &n_iov, &first);
    if (unlikely(rc == PTL_NO_SPACE)) {
        *sreq_ptr = create_request(iov, n_iov, first);
        MPIR_ERR_CHKANDJUMP(!*sreq_ptr, mpi_errno, MPI_ERR_OTHER, "**nomem");
        enqueue(vc, *sreq_ptr);
        rc = PTL_OK;
    }
    MPIDI_PTL_CHECK(rc, "PtlPutRegion");

  fn_fail:
    return mpi_errno;
}

int MPIDI_CH3_iSendv(MPIDI_VC_t * vc, MPIR_Request * sreq, struct iovec *iov, int n_iov)
{
    int mpi_errno = MPI_SUCCESS, rc = PTL_NO_SPACE, first = TRUE, complete = FALSE;
    MPIDI_CH3_Pkt_t room;

    MPIR_Assert(n_iov <= MPL_IOV_LIMIT);
    pad(iov, n_iov, &room);
    if (likely(VC_CH(vc)->sendq_head == NULL)) {
        while ((rc = put_iov(vc, &iov, &n_iov, &first)) == PTL_OK) {
            mpi_errno = sent(vc, sreq, &complete);
            MPIR_ERR_CHECK(mpi_errno);
            if (complete)
                goto fn_exit;
            iov = sreq->dev.iov;
            n_iov = sreq->dev.iov_count;
        }
    }
    if (rc == PTL_NO_SPACE) {
        keep(sreq, iov, n_iov, first);
        enqueue(vc, sreq);
        rc = PTL_OK;
    }
    MPIDI_PTL_CHECK(rc, "PtlPutRegion");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_CH3_iSend(MPIDI_VC_t * vc, MPIR_Request * sreq, void *hdr, intptr_t hdr_sz)
{
    struct iovec iov = { hdr, (size_t) hdr_sz };

    return MPIDI_CH3_iSendv(vc, sreq, &iov, 1);
}

/* Try the head of one queue until it is empty or the peer takes no more. */
static int send_queue(MPIDI_VC_t * vc, int *made_progress)
{
    int mpi_errno = MPI_SUCCESS, rc = PTL_OK;
    MPIR_Request *sreq;

    while ((sreq = VC_CH(vc)->sendq_head) != NULL) {
        struct iovec *iov = sreq->dev.iov;
        int n_iov = sreq->dev.iov_count, first = sreq->dev.iov_offset == 0, complete = FALSE, was = n_iov;
        size_t was_len = iov->iov_len;

        rc = put_iov(vc, &iov, &n_iov, &first);
        if (rc == PTL_NO_SPACE) {
            if (n_iov != was || iov->iov_len != was_len) {
                memmove(sreq->dev.iov, iov, n_iov * sizeof(*iov));
                sreq->dev.iov_count = n_iov;
                sreq->dev.iov_offset = 1;
                *made_progress = TRUE;
            }
            goto fn_exit;
        }
        MPIDI_PTL_CHECK(rc, "PtlPutRegion");
        *made_progress = TRUE;
        mpi_errno = sent(vc, sreq, &complete);
        MPIR_ERR_CHECK(mpi_errno);
        if (!complete) {
            sreq->dev.iov_offset = 1;
            continue;
        }
        VC_CH(vc)->sendq_head = sreq->next;
        if (VC_CH(vc)->sendq_head == NULL)
            VC_CH(vc)->sendq_tail = NULL;
        MPIR_Request_free(sreq);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Send_pending(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_VC_t **link = &MPIDI_PTL.sendq_head, *vc;

    while ((vc = *link) != NULL) {
        mpi_errno = send_queue(vc, made_progress);
        MPIR_ERR_CHECK(mpi_errno);
        if (VC_CH(vc)->sendq_head != NULL) {
            link = &VC_CH(vc)->next;
            continue;
        }
        /* A request that completed may have sent something new to a connection in front of this one: look again. */
        for (link = &MPIDI_PTL.sendq_head; *link != vc; link = &VC_CH(*link)->next);
        *link = VC_CH(vc)->next;
        VC_CH(vc)->on_list = FALSE;
        if (VC_CH(vc)->closing) {
            VC_CH(vc)->closing = FALSE;
            if (!VC_CH(vc)->foreign || !MPIDI_PTL_Wire_end(vc))
                mpi_errno = MPIDI_CH3U_Handle_connection(vc, MPIDI_VC_EVENT_TERMINATED);
            MPIR_ERR_CHECK(mpi_errno);
            link = &MPIDI_PTL.sendq_head;
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Until every queue is empty; for MPI_Finalize. */
int MPIDI_PTL_Flush(void)
{
    int mpi_errno = MPI_SUCCESS;

    while (MPIDI_PTL.sendq_head != NULL || MPIDI_PTL.waiting_vcs != NULL || MPIDI_PTL_Wire_pending()) {
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
        if (MPIDI_PTL.sendq_head != NULL)
            MPL_thread_yield();
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The close protocol has ended for @vc. */
int MPIDI_CH3_Connection_terminate(MPIDI_VC_t * vc)
{
    if (vc->state == MPIDI_VC_STATE_MORIBUND || vc->state == MPIDI_VC_STATE_INACTIVE_CLOSED)
        return MPI_SUCCESS;
    if (VC_CH(vc)->sendq_head != NULL) {
        VC_CH(vc)->closing = TRUE;
        return MPI_SUCCESS;
    }
    if (VC_CH(vc)->foreign && MPIDI_PTL_Wire_end(vc))
        return MPI_SUCCESS;
    return MPIDI_CH3U_Handle_connection(vc, MPIDI_VC_EVENT_TERMINATED);
}

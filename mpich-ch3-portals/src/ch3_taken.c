/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * MPICH_MAX_SHORT_MSG_SIZE: messages that do not wait for their receive, though they are too long to travel with their
 * envelope (a message to a polled portal ends at PTL_INLINE_MAX_NP bytes).
 *
 * The sender marks the RTS (MPIDI_PTL_TAKE). Where a receive is posted, the data are fetched into the user's buffer
 * with one copy, as always. Where none is, the receiver fetches them into a buffer of its own at once, and says DONE:
 * from then on the message is what CH3 knows as an eager one whose receive was late. Synchronous sends are not marked.
 *
 * No more than MPICH_UNEX_BUFFER_SIZE bytes are held so. What finds no room, or no place for a get, stays where it is
 * (WAITS), and is looked at again when something has gone (look_again); if its receive comes first, it is an ordinary
 * rendezvous. While a get is under way its request must not go: MPIDI_PTL_Taken_settle.
 *
 * What is held of messages without a receive, these and those of which the sender's credit is charged (ch3_credit.c),
 * is counted here. Each kind has MPICH_UNEX_BUFFER_SIZE for itself.
 */
#include "mpidi_ch3_impl.h"
#include <sched.h>

enum { NOT, WAITS, FETCHED, HERE };     /* REQ_CH(rreq)->taken */

int MPIDI_PTL_takes_waiting;            /* messages that wait, and something has changed: look */

MPIDI_PTL_Unex_t MPIDI_PTL_unex;

static int n_waiting, n_fetched;
static int64_t held;                    /* bytes, fetched or here */

/* @bytes more, or less. */
void MPIDI_PTL_Unex_count(int64_t bytes)
{
    MPIDI_PTL_unex.bytes += bytes;
    if (MPIDI_PTL_unex.bytes > MPIDI_PTL_unex.most)
        MPIDI_PTL_unex.most = MPIDI_PTL_unex.bytes;
}

static void show(const char *name, int64_t * n, const char *what)
{
    int index;

    /* MPICH forgets it with MPI_Finalize, unless a tool uses MPI_T then */
    if (PMPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS)
        MPIR_T_PVAR_REGISTER_impl(MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, name, n, 1, MPI_T_ENUM_NULL,
                                  MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT,
                                  MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, NULL, NULL, "CH3", what);
}

/* For MPI_T, whether MPICH was configured with performance variables of its own or not. */
void MPIDI_PTL_Unex_init(void)
{
    memset(&MPIDI_PTL_unex, 0, sizeof(MPIDI_PTL_unex));
    show("ptl_unex_bytes", &MPIDI_PTL_unex.bytes,
         "bytes of messages that no receive was posted for, held (MPICH_UNEX_BUFFER_SIZE limits each of two kinds)");
    show("ptl_unex_bytes_most", &MPIDI_PTL_unex.most, "the most that ptl_unex_bytes has been");
}

static void look_again(void)
{
    MPIDI_PTL_takes_waiting = n_waiting > 0;
}

/* Ask for the data. FALSE: not now. */
static int start(MPIR_Request * rreq)
{
    MPIDI_VC_t *vc = REQ_CH(rreq)->vc;
    ptl_process_id_t id = { VC_CH(vc)->nid, VC_CH(vc)->pid };
    intptr_t n = rreq->dev.recv_data_sz;

    if (held + n > MPIDI_PTL_env.unex_buffer_size || MPIDI_PTL.gets >= MPIDI_PTL_env.other_events)
        return FALSE;
    rreq->dev.tmpbuf = MPL_malloc(n, MPL_MEM_BUFFER);
    if (rreq->dev.tmpbuf == NULL)
        return FALSE;
    if (PtlGetRegion(MPIDI_PTL.md_get, (ptl_size_t) (uintptr_t) rreq->dev.tmpbuf, n, id, MPIDI_PTL_PT_MEM, 0,
                     (ptl_match_bits_t) (uintptr_t) rreq, REQ_CH(rreq)->rts_addr) != PTL_OK) {
        MPL_free(rreq->dev.tmpbuf);
        return FALSE;
    }
    MPIDI_PTL.gets++;
    n_fetched++;
    held += n;
    MPIDI_PTL_Unex_count(n);
    REQ_CH(rreq)->taken = FETCHED;
    rreq->dev.tmpbuf_sz = n;
    rreq->dev.recv_pending_count = 2;   /* the data, the receive */
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_EAGER_MSG);
    return TRUE;
}

/* A marked message has come, and no receive was posted. */
int MPIDI_PTL_Take(MPIDI_VC_t * vc, MPIR_Request * rreq)
{
    int progress;

    REQ_CH(rreq)->vc = vc;
    REQ_CH(rreq)->taken = WAITS;
    if (!start(rreq)) {
        n_waiting++;
        return MPI_SUCCESS;
    }
    return MPIDI_PTL_Take_replies(&progress);   /* most gets are over when the call returns */
}

/* Those that wait, oldest first. */
int MPIDI_PTL_Take_waiting(int *made_progress)
{
    MPIR_Request *rreq;

    MPIDI_PTL_takes_waiting = FALSE;
    for (rreq = MPIDI_PTL_Recvq_unexpected(); rreq != NULL && n_waiting > 0; rreq = rreq->next) {
        if (REQ_CH(rreq)->taken != WAITS || !start(rreq))
            continue;
        n_waiting--;
        *made_progress = TRUE;
    }
    return MPI_SUCCESS;
}

/* REPLY_END. FALSE: this request's data are not fetched in this way. */
int MPIDI_PTL_Taken_reply(MPIR_Request * rreq, const ptl_event_t * ev, int *mpi_errno_p)
{
    int mpi_errno = MPI_SUCCESS, complete;
    MPIDI_VC_t *vc = REQ_CH(rreq)->vc;

    look_again();
    if (REQ_CH(rreq)->taken != FETCHED)
        return FALSE;
    REQ_CH(rreq)->taken = HERE;
    n_fetched--;
    if (unlikely(ev->ni_fail_type != PTL_NI_OK || (intptr_t) ev->mlength != rreq->dev.recv_data_sz)) {
        MPIR_ERR_SET1(rreq->status.MPI_ERROR, MPI_ERR_OTHER, "**intern", "**intern %s",
                      "the sender's data could not be fetched");
        if (!REQ_CH(rreq)->left_queue) {
            held -= rreq->dev.recv_data_sz;
            MPIDI_PTL_Unex_count(-rreq->dev.recv_data_sz);
        }
        REQ_CH(rreq)->taken = NOT;
        rreq->dev.recv_data_sz = 0;
        MPL_free(rreq->dev.tmpbuf);
    }
    mpi_errno = MPIDI_PTL_Send_done(vc, rreq->dev.sender_req_id);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3_ReqHandler_UnpackUEBufComplete(vc, rreq, &complete);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    *mpi_errno_p = mpi_errno;
    return TRUE;
  fn_fail:
    goto fn_exit;
}

/* Such a message leaves the queue of unexpected ones. */
void MPIDI_PTL_Taken_leaves(MPIR_Request * rreq)
{
    if (REQ_CH(rreq)->taken == WAITS) {
        n_waiting--;
        REQ_CH(rreq)->taken = NOT;
    } else {
        held -= rreq->dev.tmpbuf_sz;
        MPIDI_PTL_Unex_count(-rreq->dev.tmpbuf_sz);
        REQ_CH(rreq)->left_queue = TRUE;
    }
    look_again();
}

/* Until no get is under way: a request of theirs may go. */
int MPIDI_PTL_Taken_settle(void)
{
    int mpi_errno = MPI_SUCCESS, progress;

    while (n_fetched > 0) {
        mpi_errno = MPIDI_PTL_Take_replies(&progress);
        MPIR_ERR_CHECK(mpi_errno);
        if (n_fetched > 0)
            sched_yield();
    }

  fn_fail:
    return mpi_errno;
}

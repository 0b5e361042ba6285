/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The progress engine: events into packets, packets into CH3, and polite waiting.
 *
 * Packets arrive in buffers whose descriptors unlink themselves when full. Each event is handled before the next is
 * fetched, so a buffer is free again when its UNLINK event comes, and is posted anew.
 */
#include "mpidi_ch3_impl.h"
#include <sched.h>
#include <time.h>

volatile unsigned int MPIDI_CH3I_progress_completion_count = 0;

static MPIDI_CH3_PktHandler_Fcn *pkt_handler[MPIDI_CH3_PKT_END_ALL + 1];

int MPIDI_PTL_Post_buf(char *buf)
{
    int mpi_errno = MPI_SUCCESS, rc;
    ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
    ptl_handle_me_t me;
    ptl_md_t md = {
        .start = buf,
        .length = MPIDI_PTL_BUF_SIZE,
        .threshold = PTL_MD_THRESH_INF,
        .max_size = PTL_INLINE_MAX_NP,
        .options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_ACK_DISABLE | PTL_MD_EVENT_START_DISABLE,
        .user_ptr = buf,
        .eq_handle = MPIDI_PTL.eq,
    };

    rc = PtlMEAttach(MPIDI_PTL.ni, MPIDI_PTL_PT_PKT, any, MPIDI_PTL_ANY_BITS, PTL_UNLINK, PTL_INS_BEFORE, &me);
    MPIDI_PTL_CHECK(rc, "PtlMEAttach");
    rc = PtlMDAttach(me, md, PTL_UNLINK, NULL);
    MPIDI_PTL_CHECK(rc, "PtlMDAttach");
    MPIDI_PTL.front = me;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Progress_init(void)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIDI_CH3_PktHandler_Init(pkt_handler, MPIDI_CH3_PKT_END_ALL + 1);
    MPIR_ERR_CHECK(mpi_errno);
    pkt_handler[MPIDI_PTL_PKT_RTS] = MPIDI_PTL_PktHandler_Rts;
    pkt_handler[MPIDI_PTL_PKT_DONE] = MPIDI_PTL_PktHandler_Done;
    pkt_handler[MPIDI_PTL_PKT_CTL] = MPIDI_PTL_PktHandler_Ctl;
    if (MPIDI_PTL.matching || MPIDI_PTL.take_max > 0)
        pkt_handler[MPIDI_CH3_PKT_CANCEL_SEND_REQ] = MPIDI_PTL_PktHandler_CancelSendReq;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/*
 * MPIDI_CH3_ReqHandler_UnpackSRBufReloadIOV, but right when the last byte that the user has room for was unpacked and
 * the message goes on (truncation): CH3's own leaves msg_offset where it was, takes the excess for the same data once
 * more, and then waits for bytes that nobody sends.
 */
static int unpack_and_reload(MPIR_Request * rreq, int *complete)
{
    int mpi_errno = MPI_SUCCESS;
    intptr_t offset = rreq->dev.msg_offset;
    int last = offset + rreq->dev.tmpbuf_sz >= rreq->dev.msgsize;

    mpi_errno = MPIDI_CH3U_Request_unpack_srbuf(rreq);
    MPIR_ERR_CHECK(mpi_errno);
    if (last && rreq->dev.msg_offset == offset) {
        rreq->dev.msg_offset = rreq->dev.msgsize;
        rreq->dev.tmpbuf_off = 0;
    }
    mpi_errno = MPIDI_CH3U_Request_load_recv_iov(rreq);
    MPIR_ERR_CHECK(mpi_errno);
    *complete = FALSE;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Bytes for a message whose packet was handled before. */
int MPIDI_PTL_Handle_data(MPIDI_VC_t * vc, MPIR_Request * rreq, char *buf, size_t len)
{
    int mpi_errno = MPI_SUCCESS, complete = FALSE;

    VC_CH(vc)->recv_active = rreq;
    while (len > 0 && !complete) {
        struct iovec *iov = &rreq->dev.iov[rreq->dev.iov_offset];
        size_t n = MPL_MIN(iov->iov_len, len);

        if (!rreq->dev.drop_data)
            MPIR_Memcpy(iov->iov_base, buf, n);
        buf += n;
        len -= n;
        if (n < iov->iov_len) {
            iov->iov_base = (char *) iov->iov_base + n;
            iov->iov_len -= n;
            break;
        }
        rreq->dev.iov_offset++;
        if (--rreq->dev.iov_count > 0)
            continue;
        if (rreq->dev.OnDataAvail == NULL) {
            complete = TRUE;
            mpi_errno = MPID_Request_complete(rreq);
        } else if (rreq->dev.OnDataAvail == MPIDI_CH3_ReqHandler_UnpackSRBufReloadIOV) {
            mpi_errno = unpack_and_reload(rreq, &complete);
        } else {
            mpi_errno = rreq->dev.OnDataAvail(vc, rreq, &complete);
        }
        MPIR_ERR_CHECK(mpi_errno);
        rreq->dev.iov_offset = 0;
    }
    if (complete)
        VC_CH(vc)->recv_active = NULL;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Bytes of the message that this packet begins, which its sender has been charged for: see MPIDI_PTL_Spend_bytes. */
static inline intptr_t data_of(const MPIDI_CH3_Pkt_t * pkt)
{
    switch (pkt->type) {
        case MPIDI_CH3_PKT_EAGER_SEND:
        case MPIDI_CH3_PKT_EAGER_SYNC_SEND:
        case MPIDI_CH3_PKT_READY_SEND:
            return pkt->eager_send.data_sz;
        default:
            return 0;
    }
}

/* A packet with what came behind it, or (@more) what comes behind that. */
int MPIDI_PTL_Handle_bytes(MPIDI_VC_t * vc, char *buf, intptr_t len, int more)
{
    int mpi_errno = MPI_SUCCESS;
    intptr_t hdr_sz, data_len;
    MPIDI_CH3_Pkt_t *pkt = (MPIDI_CH3_Pkt_t *) buf, aligned;
    MPIR_Request *rreq = NULL;

    if (unlikely(vc->state == MPIDI_VC_STATE_INACTIVE))
        MPIDI_CHANGE_VC_STATE(vc, ACTIVE);

    if (unlikely(more)) {
        if (VC_CH(vc)->recv_active != NULL)
            mpi_errno = MPIDI_PTL_Handle_data(vc, VC_CH(vc)->recv_active, buf, len);
        goto fn_exit;
    }

    if (likely(MPIDI_PTL_Is_short(buf, len))) {
        hdr_sz = sizeof(MPIDI_CH3_Pkt_eager_send_t);
        data_len = 0;
        mpi_errno = MPIDI_PTL_Receive_short(vc, MPIDI_PTL_Word(buf, 1), (MPI_Request) MPIDI_PTL_Word(buf, 2),
                                            buf + hdr_sz, len - hdr_sz, &rreq);
    } else {
        intptr_t charged;

        if (unlikely((uintptr_t) buf % __alignof__(MPIDI_CH3_Pkt_t) != 0)) {
            MPIDI_PTL_Copy(&aligned, buf, MPL_MIN((size_t) len, sizeof(aligned)));
            pkt = &aligned;
        }
        MPIR_ERR_CHKANDJUMP1(len < (intptr_t) sizeof(pkt->type) || pkt->type < 0 ||
                             pkt->type >= MPIDI_CH3_PKT_END_ALL, mpi_errno, MPI_ERR_INTERN, "**intern", "**intern %s",
                             "a packet of no known type");
        hdr_sz = MPL_MIN(MPIDI_PTL_Header_size(pkt), len);
        data_len = len - hdr_sz;
        charged = VC_CH(vc)->foreign ? 0 : data_of(pkt);
        if (charged > 0)
            MPIDI_PTL_Recvq_holds(vc, charged);
        mpi_errno = pkt_handler[pkt->type] (vc, pkt, buf + hdr_sz, &data_len, &rreq);
        if (charged > 0)
            MPIDI_PTL_Recvq_held(vc);
    }
    MPIR_ERR_CHECK(mpi_errno);
    if (rreq != NULL) {
        rreq->dev.iov_offset = 0;
        mpi_errno = MPIDI_PTL_Handle_data(vc, rreq, buf + hdr_sz + data_len, len - hdr_sz - data_len);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A short message without a packet. */
int MPIDI_PTL_Handle_bare(MPIDI_VC_t * vc, uint64_t match, ptl_hdr_data_t hdr, char *data, intptr_t len)
{
    MPIR_Request *rreq;
    int mpi_errno;

    if (unlikely(vc->state == MPIDI_VC_STATE_INACTIVE))
        MPIDI_CHANGE_VC_STATE(vc, ACTIVE);
    mpi_errno = MPIDI_PTL_Receive_short(vc, match, (MPI_Request) hdr, data, len, &rreq);
    if (unlikely(rreq != NULL) && mpi_errno == MPI_SUCCESS) {
        rreq->dev.iov_offset = 0;
        mpi_errno = MPIDI_PTL_Handle_data(vc, rreq, data, len);
    }
    return mpi_errno;
}

static int handle_put(const ptl_event_t * ev)
{
    MPIDI_VC_t *vc = MPIDI_PTL_Find_vc(ev->initiator.nid, ev->initiator.pid);

    if (unlikely(vc == NULL || ev->ni_fail_type != PTL_NI_OK))
        return MPI_SUCCESS;     /* not of this job, or died while it sent: nothing of it can be used */
    if (likely(ev->hdr_data >= MPIDI_PTL_BARE))
        return MPIDI_PTL_Handle_bare(vc, ev->match_bits, ev->hdr_data, (char *) ev->md.start + ev->offset, ev->mlength);
    return MPIDI_PTL_Handle_bytes(vc, (char *) ev->md.start + ev->offset, ev->mlength, ev->hdr_data == MPIDI_PTL_MORE);
}

int MPIDI_PTL_Handle_event(const ptl_event_t * ev)
{
    char *buf = ev->md.user_ptr;

    switch (ev->type) {
        case PTL_EVENT_PUT_END:
            return ev->pt_index == MPIDI_PTL_PT_MATCH ? MPIDI_PTL_Match_event(ev) : handle_put(ev);
        case PTL_EVENT_REPLY_END:
            return MPIDI_PTL_Credit_reply(ev) ? MPI_SUCCESS : MPIDI_PTL_Get_done(ev);
        case PTL_EVENT_ACK:
            return MPIDI_PTL_Long_acked(ev);
        case PTL_EVENT_UNLINK:
            if (buf >= MPIDI_PTL.bufs && buf < MPIDI_PTL.bufs + MPIDI_PTL_BUFS * MPIDI_PTL_BUF_SIZE)
                return MPIDI_PTL_Post_buf(buf);
            return MPIDI_PTL_Match_event(ev);
        default:
            return MPI_SUCCESS;
    }
}

/* One event, if there is one: *@made_progress is set then, and left alone otherwise. */
static inline int poll_event(ptl_handle_eq_t eq, int *made_progress)
{
    int mpi_errno = MPI_SUCCESS, rc;
    ptl_event_t ev;

    rc = PtlEQGet(eq, &ev);
    if (rc == PTL_EQ_EMPTY)
        goto fn_exit;
    MPIDI_PTL_CHECK(rc, "PtlEQGet");
    *made_progress = TRUE;
    mpi_errno = MPIDI_PTL_Handle_event(&ev);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Poll_event(ptl_handle_eq_t eq, int *made_progress)
{
    return poll_event(eq, made_progress);
}

/* Where messages have a queue of their own, packets are rare, and looked for now and then. */
static int poll_both(int *made_progress)
{
    static unsigned turns;
    int mpi_errno;

    mpi_errno = poll_event(MPIDI_PTL.eq_match, made_progress);
    if (mpi_errno == MPI_SUCCESS && !*made_progress && ++turns % 8 == 0)
        mpi_errno = poll_event(MPIDI_PTL.eq, made_progress);
    return mpi_errno;
}

/* Sleep until there is an event, and handle it; @timeout_ms at most. */
int MPIDI_PTL_Sleep_for_event(int timeout_ms, int *made_progress)
{
    int mpi_errno = MPI_SUCCESS, rc, which, n = 0;
    ptl_handle_eq_t eqs[3];
    ptl_event_t ev;

    if (MPIDI_PTL.bypass)
        eqs[n++] = MPIDI_PTL.eq_match;
    eqs[n++] = MPIDI_PTL.eq;
    if (MPIDI_PTL.gets > 0)
        eqs[n++] = MPIDI_PTL.eq_get;
    rc = PtlEQPoll(eqs, n, timeout_ms, &ev, &which);
    if (rc == PTL_EQ_EMPTY)
        goto fn_exit;
    MPIDI_PTL_CHECK(rc, "PtlEQPoll");
    *made_progress = TRUE;
    mpi_errno = MPIDI_PTL_Handle_event(&ev);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int64_t MPIDI_PTL_Now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);        /* vdso: no system call */
    return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Sleep; other threads may be in MPI meanwhile. */
void MPIDI_PTL_Nap(long ns)
{
    struct timespec ts = { 0, ns };

    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    nanosleep(&ts, NULL);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/*
 * Nothing has happened for @idle rounds: give the core to somebody who can make it happen. Yielding is bounded by time,
 * not by count: among ranks only a yield is back in a few microseconds, beside a busy stranger it costs a time slice,
 * while a sleeper that is woken runs at once.
 */
static int wait_politely(int idle, int *made_progress)
{
    static int64_t since;
    int64_t waited;

    if (idle < MPIDI_PTL.spin) {
        if (idle % MPIDI_PTL_POLLS_ALONE == 0)
            MPIDI_PTL_Lock_lend(idle % MPIDI_PTL_POLLS_CORE == 0);
        return MPI_SUCCESS;
    }
    if (idle == MPIDI_PTL.spin)
        since = MPIDI_PTL_Now_ns();
    waited = MPIDI_PTL_Now_ns() - since;
    if (MPIR_IS_THREADED) {     /* the lock must not be held asleep, and only its holder may fetch events */
        if (waited < MPIDI_PTL_YIELD_NS)
            MPIDI_PTL_Lock_lend(TRUE);
        else
            MPIDI_PTL_Nap(50000);
        return MPI_SUCCESS;
    }
    if (waited < MPIDI_PTL_YIELD_NS) {
        sched_yield();
        return MPI_SUCCESS;
    }
    /* An event wakes us. The limit is for what does not: room in a peer's inbox or for a get, a lock, a hook with a
     * source of its own. */
    if (MPIDI_PTL.sendq_head != NULL || MPIDI_PTL.waiting_gets != NULL || MPIDI_PTL.waiting_vcs != NULL ||
        MPIDI_PTL_wires || waited < 100 * MPIDI_PTL_YIELD_NS)
        return MPIDI_PTL_Sleep_for_event(1, made_progress);
    if (MPIDI_PTL_waiting_locks > 0 || waited < MPIDI_PTL_LONG_WAIT_NS)
        return MPIDI_PTL_Sleep_for_event(10, made_progress);
    return MPIDI_PTL_Sleep_for_event(100, made_progress);
}

/* A program that waits by MPI_Test in a loop: where ranks share cores, the one it waits for must get one. */
static int empty_tests;

static void yield_between_tests(void)
{
    if (MPIDI_PTL.oversubscribed && ++empty_tests >= MPIDI_PTL.spin) {
        empty_tests = 0;
        sched_yield();
    }
}

/*
 * Blocking: until a request has completed or a hook has made progress. Otherwise: what is there now, within reason.
 */
int MPIDI_CH3I_Progress(MPID_Progress_state * state, int is_blocking)
{
    int mpi_errno = MPI_SUCCESS, idle = 0, rounds = 0;

    do {
        int made_progress = FALSE, hook_progress = FALSE;

        mpi_errno = unlikely(MPIDI_PTL.bypass) ? poll_both(&made_progress) : poll_event(MPIDI_PTL.eq, &made_progress);
        MPIR_ERR_CHECK(mpi_errno);
        if (unlikely(MPIDI_PTL.sendq_head != NULL)) {
            mpi_errno = MPIDI_PTL_Send_pending(&made_progress);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (unlikely(MPIDI_PTL.waiting_vcs != NULL)) {
            mpi_errno = MPIDI_PTL_Send_waiting(&made_progress);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (unlikely(MPIDI_PTL_wires)) {
            mpi_errno = MPIDI_PTL_Wire_poll(&made_progress);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (unlikely(MPIDI_PTL.gets > 0)) {
            mpi_errno = MPIDI_PTL_Take_replies(&made_progress);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (unlikely(MPIDI_PTL.waiting_gets != NULL)) {
            mpi_errno = MPIDI_PTL_Retry_gets(&made_progress);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (unlikely(MPIDI_PTL_takes_waiting)) {
            mpi_errno = MPIDI_PTL_Take_waiting(&made_progress);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (unlikely(MPIDI_PTL_waiting_locks > 0)) {
            mpi_errno = MPIDI_PTL_Grant_locks(&made_progress);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (is_blocking && state->ch.completion_count != MPIDI_CH3I_progress_completion_count)
            break;
        mpi_errno = MPIR_Progress_hook_exec_all(&hook_progress);
        MPIR_ERR_CHECK(mpi_errno);
        if (hook_progress) {
            MPIDI_CH3_Progress_signal_completion();
            break;
        }
        if (made_progress) {
            empty_tests = 0;
            idle = 0;
            if (!is_blocking && ++rounds == 32)
                break;
            continue;
        }
        if (!is_blocking) {
            yield_between_tests();
            break;
        }
        mpi_errno = wait_politely(++idle, &made_progress);
        MPIR_ERR_CHECK(mpi_errno);
    } while (!is_blocking || state->ch.completion_count == MPIDI_CH3I_progress_completion_count);

  fn_exit:
    if (is_blocking)
        state->ch.completion_count = MPIDI_CH3I_progress_completion_count;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

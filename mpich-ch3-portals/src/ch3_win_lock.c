/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Locks of windows: words in the target's control block, without its help.
 *
 * One word of 64 bits holds all that is decided at once:
 *
 *      bits 0-15   readers that have the lock          bits 16-31  readers that wait
 *      bits 32-47  waiting readers whose turn it is    bits 48-62  writers that wait      bit 63  a writer has it
 *
 * Writers take tickets and come in order. A reader that finds writers waiting waits, too; a writer that unlocks gives
 * all readers that wait by then a turn before the next writer. So neither kind starves the other. But a reader may be
 * one without whose lock those that hold it never go on (MPI lets programs assume that shared locks do not exclude each
 * other): after PATIENCE_NS behind a writer that has not come in, readers enter beside readers.
 *
 * Requests of other nodes (CTL packets) are put in a queue of the owner, which does for each what a waiter on the node
 * does for itself; `far' counts them, and who unlocks and sees it sends the owner a packet, in case it sleeps. CTL
 * packets: LOCK(window of the target, window of the origin, rank of the origin, type), GRANTED(window of the origin,
 * rank of the target), UNLOCK(window of the target, type), KICK.
 */
#include "mpidi_ptl_win.h"
#include <sched.h>

#define READER          ((uint64_t) 1)
#define READER_WAITS    ((uint64_t) 1 << 16)
#define TURN            ((uint64_t) 1 << 32)
#define WRITER_WAITS    ((uint64_t) 1 << 48)
#define WRITER          ((uint64_t) 1 << 63)
#define FIELD(word_, unit_) ((word_) / (unit_) & 0xffff)
#define WRITERS_WAIT(word_) ((word_) / WRITER_WAITS & 0x7fff)

#define PATIENCE_NS     20000000
#define SPIN            200             /* looks before others get a chance */
#define POLITE_NS       200000          /* of yielding, before a waiter sleeps between looks */

typedef struct Request {
    struct Request *next;
    MPIR_Win *win;
    MPIDI_VC_t *vc;
    MPI_Win origin_win;
    int type;
    MPIDI_PTL_Waiter_t waiter;
} Request_t;

int MPIDI_PTL_waiting_locks;
static Request_t *requests, **requests_end = &requests;

static inline int change(MPIDI_PTL_Win_ctl_t * ctl, uint64_t * old, uint64_t new)
{
    return __atomic_compare_exchange_n(&ctl->lock, old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static int try_shared(MPIDI_PTL_Win_ctl_t * ctl, MPIDI_PTL_Waiter_t * waiter)
{
    uint64_t s = __atomic_load_n(&ctl->lock, __ATOMIC_SEQ_CST), new;

    for (;;) {
        if (!waiter->queued) {
            if (likely(!(s & WRITER) && WRITERS_WAIT(s) == 0)) {
                if (change(ctl, &s, s + READER))
                    return TRUE;
            } else if (change(ctl, &s, s + READER_WAITS)) {
                waiter->queued = TRUE;
                waiter->since = MPIDI_PTL_Now_ns();
                return FALSE;
            }
            continue;
        }
        if (s & WRITER)
            return FALSE;
        if (FIELD(s, TURN) == 0 && WRITERS_WAIT(s) > 0 && MPIDI_PTL_Now_ns() - waiter->since < PATIENCE_NS)
            return FALSE;
        new = s + READER - READER_WAITS;
        if (FIELD(s, TURN) > 0)
            new -= TURN;
        if (change(ctl, &s, new))
            return TRUE;
    }
}

static int try_exclusive(MPIDI_PTL_Win_ctl_t * ctl, MPIDI_PTL_Waiter_t * waiter)
{
    uint64_t s = 0;

    if (!waiter->queued) {
        if (likely(change(ctl, &s, WRITER)))
            return TRUE;
        __atomic_fetch_add(&ctl->lock, WRITER_WAITS, __ATOMIC_SEQ_CST);
        waiter->ticket = __atomic_fetch_add(&ctl->next, 1, __ATOMIC_SEQ_CST);
        waiter->queued = TRUE;
    }
    if (__atomic_load_n(&ctl->serving, __ATOMIC_SEQ_CST) != waiter->ticket)
        return FALSE;
    s = __atomic_load_n(&ctl->lock, __ATOMIC_SEQ_CST);
    while (!(s & WRITER) && FIELD(s, READER) == 0 && FIELD(s, TURN) == 0) {
        if (change(ctl, &s, (s | WRITER) - WRITER_WAITS)) {
            __atomic_fetch_add(&ctl->serving, 1, __ATOMIC_SEQ_CST);
            return TRUE;
        }
    }
    return FALSE;
}

/*
 * One look. Once it has been called for a waiter it must be called until it returns TRUE, or a rank has died: then the
 * lock is lost to all.
 */
int MPIDI_PTL_Try_lock(MPIDI_PTL_Win_ctl_t * ctl, int type, MPIDI_PTL_Waiter_t * waiter)
{
    return type == MPI_LOCK_SHARED ? try_shared(ctl, waiter) : try_exclusive(ctl, waiter);
}

/* Nonzero: after a long wait. */
static int give_core_away(int64_t since)
{
    int64_t waited = MPIDI_PTL_Now_ns() - since;

    if (waited >= POLITE_NS) {
        MPIDI_PTL_Nap(waited < 20 * POLITE_NS ? 50000 : 1000000);
        return waited >= 20 * POLITE_NS;
    }
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    sched_yield();
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return FALSE;
}

/*
 * Wait for a lock of a rank of this node. What others want of us meanwhile they get. Who waits long looks whether a
 * rank of the window has died: it may have had the lock, which does not say who has it, or have waited in front of us.
 */
int MPIDI_PTL_Lock(const MPIDI_PTL_Win_t * w, MPIDI_PTL_Win_ctl_t * ctl, int type)
{
    int mpi_errno = MPI_SUCCESS, spin = MPIDI_PTL.oversubscribed ? 1 : SPIN, i;
    MPIDI_PTL_Waiter_t waiter = { 0 };
    int64_t since;

    if (likely(MPIDI_PTL_Try_lock(ctl, type, &waiter)))
        return MPI_SUCCESS;
    since = MPIDI_PTL_Now_ns();
    for (;;) {
        for (i = 0; i < spin; i++) {
            if (MPIDI_PTL_Try_lock(ctl, type, &waiter))
                goto fn_exit;
            MPIDI_PTL_Pause();
        }
        mpi_errno = MPIDI_CH3_Progress_poke();
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_ERR_CHKANDJUMP(give_core_away(since) &&
                            !MPIDI_PTL_All_alive(&w->target->proc, sizeof(*w->target), w->n), mpi_errno,
                            MPIX_ERR_PROC_FAILED, "**proc_failed");
    }

  fn_exit:
  fn_fail:
    return mpi_errno;
}

static void unlock_word(MPIDI_PTL_Win_ctl_t * ctl, int type)
{
    uint64_t s = WRITER, new;

    if (type == MPI_LOCK_SHARED) {
        __atomic_fetch_sub(&ctl->lock, READER, __ATOMIC_SEQ_CST);
        return;
    }
    do {
        new = s & ~WRITER;
        new -= FIELD(s, TURN) * TURN;
        new += FIELD(s, READER_WAITS) * TURN;
    } while (!change(ctl, &s, new));
}

static int send_ctl(MPIDI_VC_t * vc, uint64_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_PTL_pkt_ctl_t *pkt = &upkt.ptl_ctl;

    memset(pkt, 0, sizeof(*pkt));
    MPIDI_Pkt_init(pkt, MPIDI_PTL_PKT_CTL);
    pkt->w[0] = what;
    pkt->w[1] = a;
    pkt->w[2] = b;
    pkt->w[3] = c;
    pkt->w[4] = d;
    return MPIDI_PTL_Send_packet(vc, pkt, sizeof(*pkt));
}

static int send_to(MPIR_Win * win, int rank, uint64_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    MPIDI_VC_t *vc;

    MPIDI_Comm_get_vc_set_active(win->comm_ptr, rank, &vc);
    return send_ctl(vc, what, a, b, c, d);
}

/* The end of an epoch: all operations are complete at the target. */
int MPIDI_PTL_Unlock(MPIR_Win * win, int rank, int type)
{
    MPIDI_PTL_Target_t *t = &win->ptl->target[rank];
    int made_progress;

    if (t->ctl == NULL)
        return send_to(win, rank, MPIDI_PTL_CTL_UNLOCK, win->basic_info_table[rank].win_handle, type, 0, 0);
    unlock_word(t->ctl, type);
    if (likely(__atomic_load_n(&t->ctl->far, __ATOMIC_SEQ_CST) == 0))
        return MPI_SUCCESS;
    if (rank == win->ptl->rank)
        return MPIDI_PTL_Grant_locks(&made_progress);
    return send_to(win, rank, MPIDI_PTL_CTL_KICK, 0, 0, 0, 0);
}

/* The lock of a far target: ask for it, wait for it. */
int MPIDI_PTL_Ask_lock(MPIR_Win * win, int rank, int type)
{
    MPIDI_PTL_Target_t *t = &win->ptl->target[rank];

    t->asked = TRUE;
    t->granted = FALSE;
    return send_to(win, rank, MPIDI_PTL_CTL_LOCK, win->basic_info_table[rank].win_handle, win->handle,
                   win->ptl->rank, type);
}

int MPIDI_PTL_Wait_lock(MPIR_Win * win, int rank)
{
    int mpi_errno = MPI_SUCCESS;

    while (!win->ptl->target[rank].granted) {
        mpi_errno = wait_progress_engine();
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_fail:
    return mpi_errno;
}

static int grant(MPIR_Win * win, MPIDI_VC_t * vc, MPI_Win origin_win)
{
    return send_ctl(vc, MPIDI_PTL_CTL_GRANTED, origin_win, win->ptl->rank, 0, 0);
}

/* For each request of another node: one look. */
int MPIDI_PTL_Grant_locks(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS;
    Request_t **p = &requests, *r;

    while ((r = *p) != NULL) {
        if (!MPIDI_PTL_Try_lock(r->win->ptl->ctl, r->type, &r->waiter)) {
            p = &r->next;
            continue;
        }
        *p = r->next;
        if (r->next == NULL)
            requests_end = p;
        MPIDI_PTL_waiting_locks--;
        __atomic_fetch_sub(&r->win->ptl->ctl->far, 1, __ATOMIC_SEQ_CST);
        *made_progress = TRUE;
        mpi_errno = grant(r->win, r->vc, r->origin_win);
        MPL_free(r);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_fail:
    return mpi_errno;
}

static int take_request(MPIDI_VC_t * vc, const MPIDI_PTL_pkt_ctl_t * pkt)
{
    int mpi_errno = MPI_SUCCESS, made_progress;
    Request_t *r;
    MPIR_Win *win;

    MPIR_Win_get_ptr((MPI_Win) pkt->w[1], win);
    r = MPL_calloc(1, sizeof(*r), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP(!r, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    r->win = win;
    r->vc = vc;
    r->origin_win = (MPI_Win) pkt->w[2];
    r->type = (int) pkt->w[4];
    *requests_end = r;
    requests_end = &r->next;
    MPIDI_PTL_waiting_locks++;
    __atomic_fetch_add(&win->ptl->ctl->far, 1, __ATOMIC_SEQ_CST);
    mpi_errno = MPIDI_PTL_Grant_locks(&made_progress);

  fn_fail:
    return mpi_errno;
}

int MPIDI_PTL_PktHandler_Ctl(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * upkt, void *data ATTRIBUTE((unused)),
                             intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS, made_progress;
    MPIDI_PTL_pkt_ctl_t *pkt = &upkt->ptl_ctl;
    MPIR_Win *win;

    *buflen = 0;
    *rreqp = NULL;
    switch (pkt->w[0]) {
        case MPIDI_PTL_CTL_LOCK:
            mpi_errno = take_request(vc, pkt);
            break;
        case MPIDI_PTL_CTL_GRANTED:
            MPIR_Win_get_ptr((MPI_Win) pkt->w[1], win);
            win->ptl->target[pkt->w[2]].granted = TRUE;
            MPIDI_CH3_Progress_signal_completion();
            break;
        case MPIDI_PTL_CTL_UNLOCK:
            MPIR_Win_get_ptr((MPI_Win) pkt->w[1], win);
            unlock_word(win->ptl->ctl, (int) pkt->w[2]);
            MPIDI_CH3_Progress_signal_completion();     /* of MPI_Win_free */
            mpi_errno = MPIDI_PTL_Grant_locks(&made_progress);
            break;
        case MPIDI_PTL_CTL_KICK:
            mpi_errno = MPIDI_PTL_Grant_locks(&made_progress);
            break;
        default:
            MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_INTERN, "**intern", "**intern %s",
                                 "a control packet of no known kind");
    }

  fn_fail:
    return mpi_errno;
}

/*
 * The word says who has it. From one who has died it is taken: what he was at is changed in part, element by element,
 * which is all that may be expected of him.
 */
void MPIDI_PTL_Acc_lock(MPIDI_PTL_Win_ctl_t * ctl)
{
    const uint32_t self = MPIR_Process.local_rank + 1;
    uint32_t holder = 0;
    int i = 0;

    while (!__atomic_compare_exchange_n(&ctl->acc, &holder, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        if (++i <= SPIN) {
            MPIDI_PTL_Pause();
        } else {
            sched_yield();
            if (i % SPIN == 0 && !smartmap_alive(holder - 1) &&
                __atomic_compare_exchange_n(&ctl->acc, &holder, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
                __atomic_store_n(&ctl->bulk, 0, __ATOMIC_RELEASE);
                return;
            }
        }
        holder = 0;
    }
}

void MPIDI_PTL_Win_mutex_lock(MPIR_Win * win)
{
    MPIDI_PTL_Acc_lock(win->ptl->ctl);
}

void MPIDI_PTL_Win_mutex_unlock(MPIR_Win * win)
{
    MPIDI_PTL_Acc_unlock(win->ptl->ctl);
}

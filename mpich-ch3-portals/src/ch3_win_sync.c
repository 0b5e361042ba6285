/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Epochs: passive target, and fence where nothing needs CH3. MPI_Win_post, start, complete and wait are CH3's.
 *
 * Passive target: our lock first; then, for targets that packets may go to, CH3's epoch with MPI_MODE_NOCHECK, in which
 * operations are issued at once; at its end everything is complete at the target before we unlock. lock_all takes the
 * lock of each rank of the node, and that of a rank elsewhere when the first operation goes there.
 *
 * A flush has to leave no store of ours in this core's queue, since others may be told by other ways than MPI, and what
 * is read next may depend on it: a full fence.
 */
#include "mpidi_ptl_win.h"

#define POKE_EVERY 256  /* flushes: a program that waits by them gives progress, too */

static inline void full_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline int may_begin(MPIR_Win * win)
{
    return win->states.access_state == MPIDI_RMA_NONE || win->states.access_state == MPIDI_RMA_FENCE_ISSUED ||
        win->states.access_state == MPIDI_RMA_FENCE_GRANTED;
}

int MPID_Win_lock(int type, int dest, int assert, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Target_t *t = &win->ptl->target[dest];

    if (win->lock_epoch_count == 0)
        MPIR_ERR_CHKANDJUMP(!may_begin(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    else
        MPIR_ERR_CHKANDJUMP(win->states.access_state != MPIDI_RMA_PER_TARGET, mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    MPIR_ERR_CHKANDJUMP(t->locked, mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");

    t->asked = t->granted = (assert & MPI_MODE_NOCHECK) != 0;
    if (!(assert & MPI_MODE_NOCHECK)) {
        mpi_errno = t->ctl != NULL ? MPIDI_PTL_Lock(win->ptl, t->ctl, type) : MPIDI_PTL_Ask_lock(win, dest, type);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (t->packets) {
        mpi_errno = MPIDI_PTL_CH3_Win_lock(type, dest, assert | MPI_MODE_NOCHECK, win);
        MPIR_ERR_CHECK(mpi_errno);
    } else {
        win->states.access_state = MPIDI_RMA_PER_TARGET;
        win->lock_epoch_count++;
    }
    t->locked = assert & MPI_MODE_NOCHECK ? MPIDI_PTL_NOCHECK : type;

  fn_fail:
    return mpi_errno;
}

int MPID_Win_unlock(int dest, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, type;
    MPIDI_PTL_Target_t *t = &win->ptl->target[dest];

    MPIR_ERR_CHKANDJUMP(win->states.access_state != MPIDI_RMA_PER_TARGET || !t->locked, mpi_errno, MPI_ERR_RMA_SYNC,
                        "**rmasync");
    if (!t->ctl && t->asked && t->locked != MPIDI_PTL_NOCHECK) {
        mpi_errno = MPIDI_PTL_Wait_lock(win, dest);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (t->packets) {
        mpi_errno = MPIDI_PTL_CH3_Win_unlock(dest, win);
        MPIR_ERR_CHECK(mpi_errno);
    } else if (--win->lock_epoch_count == 0) {
        win->states.access_state = MPIDI_RMA_NONE;
    }
    type = t->locked;
    t->locked = 0;
    full_fence();
    if (type != MPIDI_PTL_NOCHECK) {
        mpi_errno = MPIDI_PTL_Unlock(win, dest, type);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (dest == win->ptl->rank) {
        /* who waits by such epochs for something in its own memory gives progress */
        mpi_errno = MPIDI_CH3_Progress_poke();
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_fail:
    return mpi_errno;
}

int MPID_Win_lock_all(int assert, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, i, nocheck = (assert & MPI_MODE_NOCHECK) != 0;
    MPIDI_PTL_Win_t *w = win->ptl;

    MPIR_ERR_CHKANDJUMP(!may_begin(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    for (i = 0; i < w->n; i++) {
        MPIDI_PTL_Target_t *t = &w->target[i];

        t->asked = t->granted = nocheck;
        if (!nocheck && t->ctl != NULL) {
            mpi_errno = MPIDI_PTL_Lock(w, t->ctl, MPI_LOCK_SHARED);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    if (w->pure) {
        win->states.access_state = MPIDI_RMA_LOCK_ALL_GRANTED;
        win->lock_all_assert = assert | MPI_MODE_NOCHECK;
    } else {
        mpi_errno = MPIDI_PTL_CH3_Win_lock_all(assert | MPI_MODE_NOCHECK, win);
        MPIR_ERR_CHECK(mpi_errno);
    }
    w->lock_all = nocheck ? MPIDI_PTL_NOCHECK : MPI_LOCK_SHARED;

  fn_fail:
    return mpi_errno;
}

int MPID_Win_unlock_all(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, i, kind;
    MPIDI_PTL_Win_t *w = win->ptl;

    MPIR_ERR_CHKANDJUMP(!w->lock_all || !MPIDI_PTL_In_passive_epoch(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    for (i = 0; i < w->n && w->lock_all != MPIDI_PTL_NOCHECK && !w->one_node; i++) {
        if (w->target[i].ctl == NULL && w->target[i].asked) {
            mpi_errno = MPIDI_PTL_Wait_lock(win, i);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    if (w->pure) {
        win->states.access_state = MPIDI_RMA_NONE;
        win->lock_all_assert = 0;
    } else {
        mpi_errno = MPIDI_PTL_CH3_Win_unlock_all(win);
        MPIR_ERR_CHECK(mpi_errno);
    }
    kind = w->lock_all;
    w->lock_all = 0;
    full_fence();
    for (i = 0; i < w->n && kind != MPIDI_PTL_NOCHECK; i++) {
        MPIDI_PTL_Target_t *t = &w->target[i];

        if (t->ctl != NULL || t->asked) {
            mpi_errno = MPIDI_PTL_Unlock(win, i, MPI_LOCK_SHARED);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }

  fn_fail:
    return mpi_errno;
}

static inline int poke(MPIDI_PTL_Win_t * w, int always)
{
    if (likely(++w->flushes % POKE_EVERY != 0 && !always))
        return MPI_SUCCESS;
    return MPIDI_CH3_Progress_poke();
}

int MPID_Win_flush(int dest, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Target_t *t = &win->ptl->target[dest];

    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL_In_passive_epoch(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    if (unlikely(t->packets)) {
        /* Of a target that it takes for near CH3 thinks that there is nothing to flush: all of them, then. */
        mpi_errno = t->looks_near ? MPIDI_PTL_CH3_Win_flush_all(win) : MPIDI_PTL_CH3_Win_flush(dest, win);
        MPIR_ERR_CHECK(mpi_errno);
    }
    full_fence();
    mpi_errno = poke(win->ptl, dest == win->ptl->rank);

  fn_fail:
    return mpi_errno;
}

int MPID_Win_flush_local(int dest, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Target_t *t = &win->ptl->target[dest];

    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL_In_passive_epoch(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    if (unlikely(t->packets)) {
        mpi_errno = t->looks_near ? MPIDI_PTL_CH3_Win_flush_local_all(win) : MPIDI_PTL_CH3_Win_flush_local(dest, win);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = poke(win->ptl, FALSE);

  fn_fail:
    return mpi_errno;
}

int MPID_Win_flush_all(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL_In_passive_epoch(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    if (!win->ptl->pure) {
        mpi_errno = MPIDI_PTL_CH3_Win_flush_all(win);
        MPIR_ERR_CHECK(mpi_errno);
    }
    full_fence();
    mpi_errno = poke(win->ptl, FALSE);

  fn_fail:
    return mpi_errno;
}

int MPID_Win_flush_local_all(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL_In_passive_epoch(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    if (!win->ptl->pure) {
        mpi_errno = MPIDI_PTL_CH3_Win_flush_local_all(win);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = poke(win->ptl, FALSE);

  fn_fail:
    return mpi_errno;
}

int MPID_Win_fence(int assert, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    if (!win->ptl->pure) {
        mpi_errno = MPIDI_PTL_CH3_Win_fence(assert, win);
        MPIR_ERR_CHECK(mpi_errno);
        /*
         * CH3 leaves a barrier behind that ends some time. When that is in another epoch, CH3 does not say that this
         * one may begin (fence_barrier_complete), and an MPI_Win_start waits for ever in MPI_Win_complete.
         */
        while (win->sync_request_cnt > 0) {
            mpi_errno = wait_progress_engine();
            MPIR_ERR_CHECK(mpi_errno);
        }
        return MPI_SUCCESS;
    }
    MPIR_ERR_CHKANDJUMP(!may_begin(win) || win->states.exposure_state != MPIDI_RMA_NONE, mpi_errno, MPI_ERR_RMA_SYNC,
                        "**rmasync");
    full_fence();
    if (!(assert & MPI_MODE_NOPRECEDE) || !(assert & MPI_MODE_NOSUCCEED)) {
        mpi_errno = MPIR_Barrier(win->comm_ptr, &errflag);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_ERR_CHKANDJUMP(errflag, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    }
    win->states.access_state = assert & MPI_MODE_NOSUCCEED ? MPIDI_RMA_NONE : MPIDI_RMA_FENCE_GRANTED;
    full_fence();

  fn_fail:
    return mpi_errno;
}

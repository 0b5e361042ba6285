/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * MPICH's lock of all calls, with MPI_THREAD_MULTIPLE.
 *
 * A thread that sleeps on that lock makes every call of the others end in a system call that wakes it, to find the
 * lock taken again: with two threads a message costs microseconds so, nearly all of them in the scheduler. So who
 * does not get the lock gives its core away and tries again, for a while (LOOK_NS), and only then sleeps; and who
 * holds it and waits for a message asks whether anybody wants it (MPIDI_PTL_Lock_lend), gives it up then, and its core
 * too, since the other may have no other. Between two calls that do not wait the lock is free, but nobody is sent to
 * take it: threads take turns where they wait, which is once for a window of messages, not once for each.
 */
#include "mpidi_ch3_impl.h"
#include <errno.h>
#include <sched.h>

#define LOOK_NS         200000  /* beyond it the holder is not in a call of ours that lends: a long copy, say */
#define TRIES           8       /* between two looks at the clock */

static MPL_atomic_int_t wanting = MPL_ATOMIC_INT_T_INITIALIZER(0);     /* threads in Lock_wait(), ROMIO's too */

/* Somebody has @mutex: wait for it. Returns what pthread_mutex_lock() returns. */
int MPIDI_PTL_Lock_wait(pthread_mutex_t * mutex)
{
    int64_t end = MPIDI_PTL_Now_ns() + LOOK_NS;
    int rc;

    MPL_atomic_fetch_add_int(&wanting, 1);
    for (int i = 1; (rc = pthread_mutex_trylock(mutex)) == EBUSY; i++) {
        sched_yield();
        if (i % TRIES == 0 && MPIDI_PTL_Now_ns() > end) {
            rc = pthread_mutex_lock(mutex);
            break;
        }
    }
    MPL_atomic_fetch_sub_int(&wanting, 1);
    return rc;
}

/*
 * In a call that waits, with the lock held: let other threads have it, if there are any that want it. @core: let go of
 * the core, too, whether or not: more threads than cores may run, though there are not more ranks, and the message that
 * we wait for may be a thread's that has none.
 */
void MPIDI_PTL_Lock_lend(int core)
{
    if (!MPIR_IS_THREADED || (MPL_atomic_relaxed_load_int(&wanting) == 0 && !core))
        return;
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);    /* gives up the core between, too */
}

/*
 * For Portals, which is promised that our calls come one by one (PtlNISerial_np): another library is about to use the
 * interface, in some thread, maybe in one that has the lock. Below MPI_THREAD_MULTIPLE there is no lock, and who
 * starts another library while a thread is in MPI breaks the promise that he gave us.
 */
void MPIDI_PTL_Lock_hold(int on)
{
#if defined(MPICH_IS_THREADED)
    static MPL_TLS int held;

    if (on && MPIR_IS_THREADED) {
        MPIDUI_THREAD_CS_ENTER_REC(MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        held = TRUE;
    } else if (!on && held) {
        held = FALSE;
        MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
#endif
}

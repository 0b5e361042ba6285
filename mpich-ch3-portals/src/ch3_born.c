/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Requests that are complete from birth: of a send that has been put, of a receive that has had its message.
 *
 * MPICH makes a request by setting some thirty fields that lie in a dozen cache lines, and looks at them again when it
 * goes: more than the message itself costs. Here such requests are kept, with all of that as it was, on a stack; one
 * that is given out has two references, the user's and ours. The user's goes as any request's does (MPI_Wait, MPI_Test,
 * MPI_Request_free); MPICH then calls MPID_Request_free_hook, which finds ours left, and puts it back.
 *
 * Three lines of one are touched: its head, the end of its status with the stack's link, the envelope. What changes
 * another field of one must first make it MPICH's own (MPIDI_PTL_Disown_born): that is MPI_Cancel alone.
 *
 * A receive that is posted takes one from the stack, too, but is MPICH's own then (MPIDI_PTL_Unborn), and is freed as
 * such, unless a short message of builtin type comes into it without an error: what that sets is known, so it is put
 * back (MPIDI_PTL_Complete_clean).
 */
#define MPIDI_PTL_OWNS_HOOK
#include "mpidi_ch3_impl.h"

#define AT_A_TIME       16

MPIR_Request *MPIDI_PTL_born;
MPIR_Request MPIDI_PTL_born_mark;       /* what ->prev of such a request points at */

/* More of them. NULL: no memory. */
MPIR_Request *MPIDI_PTL_More_born(void)
{
    for (int i = 0; i < AT_A_TIME; i++) {
        MPIR_Request *req = MPIR_Request_create(MPIR_REQUEST_KIND__SEND);

        if (req == NULL)
            break;
        req->dev.partner_request = NULL;
        MPIDI_Request_set_type(req, MPIDI_REQUEST_TYPE_SEND);
        MPIDI_Request_set_msg_type(req, MPIDI_REQUEST_EAGER_MSG);
        MPIR_cc_set(&req->cc, 0);
        req->prev = &MPIDI_PTL_born_mark;
        req->next = MPIDI_PTL_born;
        MPIDI_PTL_born = req;
    }
    return MPIDI_PTL_born;
}

/* From now on @req is one as MPICH makes them, complete, with the user's reference alone. */
void MPIDI_PTL_Disown_born(MPIR_Request * req)
{
    if (req->prev != &MPIDI_PTL_born_mark)
        return;
    req->prev = NULL;
    req->next = NULL;
    MPIR_Object_set_ref(req, MPIR_Object_get_ref(req) - 1);
}

/* Before MPICH gives up the memory of requests. */
void MPIDI_PTL_Born_fini(void)
{
    MPIR_Request *req;

    while ((req = MPIDI_PTL_born) != NULL) {
        MPIDI_PTL_born = req->next;
        req->prev = NULL;
        req->comm = NULL;       /* of its last user */
        MPIR_Request_free(req);
    }
}

/* In place of CH3's (mpidi_ch3_post.h says how): a reference to @req has gone. */
void MPID_Request_free_hook(MPIR_Request * req)
{
    static int depth;

    MPIDI_CH3_Progress_signal_completion();
    if (likely(req->prev == &MPIDI_PTL_born_mark)) {
        if (likely(MPIR_Object_get_ref(req) == 1)) {
            MPIR_Comm_release(req->comm);
            req->next = MPIDI_PTL_born;
            MPIDI_PTL_born = req;
        } else {
            MPIR_Assert(MPIR_Object_get_ref(req) > 1);  /* 0: it was on the stack, a handle is used twice */
        }
        return;
    }
    if (unlikely(req->dev.request_completed_cb != NULL) && MPIR_Request_is_complete(req)) {
        int mpi_errno;

        MPIR_Assert(depth <= 2);        /* as in CH3's */
        depth++;
        mpi_errno = req->dev.request_completed_cb(req);
        MPIR_Assert(mpi_errno == MPI_SUCCESS);
        req->dev.request_completed_cb = NULL;
        depth--;
    }
}

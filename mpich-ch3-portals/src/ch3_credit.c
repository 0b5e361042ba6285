/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Credits: of messages that are matched in Portals, and of the bytes of those that CH3 matches.
 *
 * What a rank has not looked at lies in its queue of events and in its overflow buffers, and neither may ever be full.
 * So both are shared out among the peers: each may have MPIDI_PTL.credit_events messages under way to this rank, and
 * MPIDI_PTL.credit_bytes bytes in messages that carry their data. Without bytes a message becomes a rendezvous,
 * without events it waits at its sender.
 *
 * The owner counts for each peer what it has given back since the start: an event when it has handled it, bytes when
 * they are out of the overflow buffer and, if no receive was posted, out of the memory where they waited for one; so
 * this memory is bounded, too. The counts lie open to gets (portal MPIDI_PTL_PT_CREDIT): a sender that has used half of
 * what it had fetches them. Nobody sends credits, and a stream of messages in one direction needs no answer.
 *
 * A short message that CH3 matches is a put to a polled portal. What is not looked at waits in the inbox, which refuses
 * the next one when it is full, so it needs no credit for its event. What has been looked at, and had no receive, is
 * memory of the owner's: its bytes are charged and given back as above. (MPIDI_PTL_Has_bytes, _Spend_bytes.)
 *
 * With bypass a message that finds no room is lost (in front of a polled portal it waits), and what is out of a buffer
 * leaves no room behind: that comes when the whole buffer is posted again, after its last message. A sender that sleeps
 * in the middle of a copy delays that, while others fill the buffers behind. So the owner promises no more bytes than
 * it has room for: what it cannot give back now it owes, and pays when a buffer is posted again.
 */
#include "mpidi_ch3_impl.h"

typedef MPIDI_PTL_Counts_t counts_t;

static ptl_handle_md_t md_known;

/* With bypass: */
static int64_t room;            /* bytes that overflow buffers are sure to take */
static int64_t promised;        /* bytes that may come, whatever has become of those of which no event was seen yet */
static counts_t *owed;          /* to each of n_owed ranks */
static int n_owed;
static int owing;               /* anything at all */

/* Bytes of overflow buffers that credits stand for: a message without bytes may be an envelope. */
static inline int64_t weight(int64_t events, int64_t bytes)
{
    return events * MPIDI_PTL_RTS_SIZE + bytes;
}

int MPIDI_PTL_Credit_init(int n_ranks)
{
    int mpi_errno = MPI_SUCCESS, rc;
    int64_t peers = MPL_MAX(n_ranks - 1, 1);
    ptl_md_t md = {
        .length = n_ranks * sizeof(counts_t),
        .threshold = PTL_MD_THRESH_INF,
        .options = PTL_MD_EVENT_START_DISABLE,
    };

    MPIDI_PTL.credit_events = MPIDI_PTL_env.send_credits;
    if (MPIDI_PTL.credit_events == 0)
        MPIDI_PTL.credit_events = MPL_MAX(MPIDI_PTL_MIN_CREDITS, MPL_MIN(MPIDI_PTL_MAX_CREDITS,
                                                                         MPIDI_PTL_env.unex_events / peers));
    MPIDI_PTL.credit_bytes = MPL_MAX(MPIDI_PTL.short_max, MPIDI_PTL_env.unex_buffer_size / peers);
    /* one buffer may be in use and hold what is given back already; the end of each may be too short for a message */
    promised = peers * weight(MPIDI_PTL.credit_events, MPIDI_PTL.credit_bytes);
    MPIDI_PTL.overflow_sz = promised / (MPIDI_PTL_OVERFLOWS - 1) + 2 * MPIDI_PTL.short_max;
    MPIDI_PTL.eq_match = MPIDI_PTL.eq;
    if (MPIDI_PTL.bypass) {
        rc = PtlEQAlloc(MPIDI_PTL.ni, peers * MPIDI_PTL.credit_events + 2 * MPIDI_PTL_OVERFLOWS, PTL_EQ_HANDLER_NONE,
                        &MPIDI_PTL.eq_match);
        MPIDI_PTL_CHECK(rc, "PtlEQAlloc");
    }

    MPIDI_PTL.given_back = MPL_calloc(n_ranks, sizeof(counts_t), MPL_MEM_BUFFER);
    MPIDI_PTL.known = MPL_calloc(n_ranks, sizeof(counts_t), MPL_MEM_BUFFER);
    owed = MPL_calloc(n_ranks, sizeof(counts_t), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL.given_back || !MPIDI_PTL.known || !owed, mpi_errno, MPI_ERR_OTHER, "**nomem");
    n_owed = n_ranks;
    md.start = MPIDI_PTL.known;
    md.user_ptr = MPIDI_PTL.known;
    md.eq_handle = MPIDI_PTL.eq_get;
    rc = PtlMDBind(MPIDI_PTL.ni, md, PTL_RETAIN, &md_known);
    MPIDI_PTL_CHECK(rc, "PtlMDBind");
    md.start = MPIDI_PTL.given_back;
    md.eq_handle = PTL_EQ_NONE;
    md.options |= PTL_MD_EVENT_END_DISABLE | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    mpi_errno = MPIDI_PTL_Attach(MPIDI_PTL_PT_CREDIT, MPIDI_PTL_ANY_BITS, PTL_INS_AFTER, PTL_RETAIN, md);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_PTL_Credit_fini(void)
{
    MPL_free(MPIDI_PTL.given_back);
    MPL_free(MPIDI_PTL.known);
    MPL_free(owed);
}

/* With bypass: a message of a peer has come, to an overflow buffer or to a posted receive. */
void MPIDI_PTL_Credit_used(const ptl_event_t * ev, int in_overflow)
{
    promised -= weight(1, MPIDI_PTL_Bytes_of(MPIDI_PTL_HDR_KIND(ev->hdr_data), ev->rlength));
    if (in_overflow)
        room -= ev->mlength;
}

/* Give back, or owe. */
void MPIDI_PTL_Give_back_if_room(int rank, int events, intptr_t bytes)
{
    counts_t *o = &owed[rank], *c = &MPIDI_PTL.given_back[rank];
    int64_t w;

    o->events += events;
    o->bytes += bytes;
    w = weight(o->events, o->bytes);
    if (unlikely(room - promised < w)) {
        owing = TRUE;
        return;
    }
    promised += w;
    c->events += o->events;
    c->bytes += o->bytes;
    o->events = o->bytes = 0;
}

/* With bypass: there is room for @bytes more. */
void MPIDI_PTL_Credit_room(intptr_t bytes)
{
    int r;

    room += bytes;
    if (likely(!owing))
        return;
    owing = FALSE;
    for (r = 0; r < n_owed; r++)
        MPIDI_PTL_Give_back_if_room(r, 0, 0);
}

/* Fetch the peer's counts, unless that is under way. */
void MPIDI_PTL_Ask_credit(MPIDI_VC_t * vc)
{
    MPIDI_PTL_VC_t *ch = VC_CH(vc);
    ptl_process_id_t id = { ch->nid, ch->pid };

    if (ch->asking || MPIDI_PTL.gets >= MPIDI_PTL_env.other_events)
        return;
    if (PtlGetRegion(md_known, vc->pg_rank * sizeof(counts_t), sizeof(counts_t), id, MPIDI_PTL_PT_CREDIT, 0,
                     (ptl_match_bits_t) (uintptr_t) vc, MPIR_Process.rank * sizeof(counts_t)) != PTL_OK)
        return;                 /* too much under way there: the next send or turn asks again */
    ch->asking = TRUE;
    ch->asked_at = ch->sent_events;
    ch->asked_bytes = ch->sent_bytes;
    MPIDI_PTL.gets++;
}

/* Is this reply one to the above? */
int MPIDI_PTL_Credit_reply(const ptl_event_t * ev)
{
    if (MPIDI_PTL.known == NULL || ev->md.user_ptr != MPIDI_PTL.known)
        return FALSE;
    MPIDI_PTL.gets--;
    if (likely(ev->ni_fail_type == PTL_NI_OK))  /* one that has died is not asked again */
        VC_CH((MPIDI_VC_t *) (uintptr_t) ev->match_bits)->asking = FALSE;
    return TRUE;
}

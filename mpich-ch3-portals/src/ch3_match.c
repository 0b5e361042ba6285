/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Matching in Portals: the receiving side.
 *
 * A message is a put to portal MPIDI_PTL_PT_MATCH whose match bits are its envelope (the word of MPIDI_Message_match)
 * and whose header data are MPIDI_PTL_HDR(kind, request of the sender). The list of that portal is
 *
 *     posted receives, oldest first  |  marker  |  overflow buffers
 *
 * A posted receive is an entry with a descriptor for one message, over a buffer of ours from which a short message is
 * copied to the user's; a long one only leaves its envelope there. The marker has no descriptor and takes
 * nothing: it is the place in front of which receives are inserted, while buffers come and go behind it. Overflow
 * buffers take what no receive was posted for; credits (ch3_credit.c) see to it that they and the queue of events
 * always have room.
 *
 * By default the portal is a polled one: messages wait in the inbox until this rank looks, and it matches them, with
 * warm caches; packets and messages share one queue of events. With MPICH_PTL_BYPASS it is an ordinary one: whoever
 * sends also matches, while this rank does something else (application bypass); messages then have a queue of their
 * own, which the credits keep from overflowing.
 *
 * MPICH_PTL_MATCH_OFF=hybrid: short messages are packets, matched in CH3's queue; long ones are announced to this
 * portal, which is a polled one then, so that the order of a sender's messages is that of their events. What Portals
 * has matched is only a proposal, since a short message may have taken the receive meanwhile: the queue of ch3_recvq.c
 * decides. So the announcement goes to a buffer of ours, and receives for short messages are not posted in Portals.
 *
 * Portals 3.3 has no list of unexpected headers. Their events are given to CH3's handlers of packets, which keep the
 * messages in the queue of ch3_recvq.c; so a receive first looks there, and is then posted in Portals on condition that
 * the queue of events is empty (PtlMEMDPost). If it is not, the events are handled and the receive looks again: no
 * message is overlooked between the two lists.
 *
 * Every posted receive is also in the queue of ch3_recvq.c, for messages to self, cancelling and debuggers. Whoever
 * takes it out there for another reason than its event must first unlink it here (MPIDI_PTL_Unpost), and loses if its
 * message is already on the way.
 *
 * When Portals has no entry left, a receive is in that queue alone, and so is every one behind it until there is none
 * of these any more: their messages come by the overflow buffers, and are matched in MPI's order.
 */
#include "mpidi_ch3_impl.h"

/* Buffers of receives, of three lengths: MPIDI_PTL_CELL, ROOM, and that of the longest message. Kept when free. */
#define ROOM            512
#define MADE_AT_A_TIME  (32 * 1024)     /* bytes */
#define KINDS           3

struct room {
    struct room *next;
};
static struct room *rooms[KINDS];
static intptr_t taken[MPIDI_PTL_OVERFLOWS];     /* bytes of messages that each overflow buffer has taken */
int MPIDI_PTL_queue_only;       /* posted receives that are not in Portals */

static size_t length_of(int kind)
{
    static const size_t lengths[KINDS - 1] = { MPIDI_PTL_CELL, ROOM };

    return kind < KINDS - 1 ? lengths[kind] : MPL_MAX(ROOM, (size_t) MPIDI_PTL.short_max);
}

static char *get_room(int kind)
{
    struct room *r = rooms[kind];
    size_t len = length_of(kind);
    char *more;
    int i;

    if (unlikely(r == NULL)) {
        int n = MPL_MAX(1, MADE_AT_A_TIME / len);

        more = MPL_malloc(n * len, MPL_MEM_BUFFER);
        if (more == NULL)
            return NULL;
        for (i = 0; i < n; i++) {
            r = (struct room *) (more + i * len);
            r->next = rooms[kind];
            rooms[kind] = r;
        }
    }
    rooms[kind] = r->next;
    return (char *) r;
}

static inline void free_room(MPIDI_PTL_Request_t * ch)
{
    struct room *r = (struct room *) ch->room;

    if (unlikely(r == NULL))
        return;                 /* it is the user's memory */
    r->next = rooms[ch->room_kind];
    rooms[ch->room_kind] = r;
}

/*
 * Where the message of @rreq goes: to a buffer of ours. It may be the envelope of a long one, which must not lie in the
 * user's: programs have several receives under way into the same buffer, and the data of one would run over it. Where
 * long messages come with their data they go to the user's.
 */
static int place(MPIR_Request * rreq, ptl_md_t * md)
{
    MPIDI_PTL_Request_t *ch = REQ_CH(rreq);
    intptr_t user_sz, len;
    MPI_Aint dt_true_lb = 0;
    int contig = TRUE;

    if (likely(HANDLE_IS_BUILTIN(rreq->dev.datatype))) {
        user_sz = rreq->dev.user_count * (intptr_t) MPIR_Datatype_get_basic_size(rreq->dev.datatype);
    } else {
        MPIR_Datatype *dt_ptr ATTRIBUTE((unused));

        MPIDI_Datatype_get_info(rreq->dev.user_count, rreq->dev.datatype, contig, user_sz, dt_ptr, dt_true_lb);
    }
    ch->user_sz = user_sz;
    if (unlikely(MPIDI_PTL.eager_long) && contig && user_sz > MPL_MAX(MPIDI_PTL.short_max, MPIDI_PTL_CELL)) {
        ch->room = NULL;
        md->start = (char *) MPIR_get_contig_ptr(rreq->dev.user_buf, dt_true_lb);
        md->length = user_sz;
        return TRUE;
    }
    len = MPIDI_PTL.hybrid ? 0 : MPL_MIN(user_sz, MPIDI_PTL.short_max);
    ch->room_kind = len <= MPIDI_PTL_CELL ? 0 : len <= ROOM ? 1 : 2;
    ch->room = get_room(ch->room_kind);
    md->start = ch->room;
    md->length = length_of(ch->room_kind);
    return ch->room != NULL;
}

/* The sender of a long message with data wants to know how much of them were taken. */
static inline unsigned no_ack(void)
{
    return unlikely(MPIDI_PTL.eager_long) ? 0 : PTL_MD_ACK_DISABLE;
}

/*
 * Put a receive that is about to enter the queue into Portals' list. False: there are events, which must be handled
 * first, and may be of its message.
 */
int MPIDI_PTL_Post(MPIR_Request * rreq)
{
    static const ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
    MPIDI_PTL_Request_t *ch = REQ_CH(rreq);
    MPIDI_Message_match ignore = {.whole = ~rreq->dev.mask.whole };
    ptl_md_t md = {
        .threshold = 1,
        .options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE | PTL_MD_XT_NP | no_ack(),
        .user_ptr = rreq,
        .eq_handle = MPIDI_PTL.eq_match,
    };
    ptl_handle_me_t me;
    int rc;

    ch->in_portals = FALSE;
    ch->disowned = FALSE;
    ch->queue_only = FALSE;
    if (unlikely(MPIDI_PTL_queue_only > 0) || unlikely(!place(rreq, &md)))
        goto in_queue_only;
    if (MPIDI_PTL.hybrid && ch->user_sz <= MPIDI_PTL.short_max) {
        free_room(ch);
        return TRUE;
    }
    ignore.whole |= MPIDI_PTL.no_tag;
    rc = PtlMEMDPost(MPIDI_PTL.ni, MPIDI_PTL.first, any, rreq->dev.match.whole & ~ignore.whole, ignore.whole,
                     PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, &me, &ch->md, MPIDI_PTL.eq_match);
    if (likely(rc == PTL_OK)) {
        ch->in_portals = TRUE;
        return TRUE;
    }
    free_room(ch);
    if (rc == PTL_MD_NO_UPDATE)
        return FALSE;
    MPIR_Assert(rc == PTL_NO_SPACE || rc == PTL_ME_LIST_TOO_LONG);

  in_queue_only:
    ch->queue_only = TRUE;
    MPIDI_PTL_queue_only++;
    return TRUE;
}

/* A receive leaves the queue, not by an event of its own. False: Portals has matched it, its event comes. */
int MPIDI_PTL_Unpost(MPIR_Request * rreq)
{
    MPIDI_PTL_Request_t *ch = REQ_CH(rreq);

    if (!ch->in_portals) {
        MPIDI_PTL_queue_only -= ch->queue_only;
        return TRUE;
    }
    if (PtlMDUnlink(ch->md) != PTL_OK) {
        if (!MPIDI_PTL.hybrid)
            return FALSE;
        MPIDI_PTL_Disown(rreq);         /* only proposed: the message will look for another */
        return TRUE;
    }
    ch->in_portals = FALSE;
    free_room(ch);
    return TRUE;
}

/* The request ends now, though Portals has matched it: the event finds it, but must not touch it. */
void MPIDI_PTL_Disown(MPIR_Request * rreq)
{
    REQ_CH(rreq)->disowned = TRUE;
    MPIR_Request_add_ref(rreq);
}

/* From our buffer into the user's. */
static void unpack(MPIR_Request * rreq, const char *from, intptr_t n)
{
    MPI_Aint unpacked = n;

    if (likely(HANDLE_IS_BUILTIN(rreq->dev.datatype)))
        MPIDI_PTL_Copy(rreq->dev.user_buf, from, n);
    else
        MPIR_Typerep_unpack(from, n, rreq->dev.user_buf, rreq->dev.user_count, rreq->dev.datatype, 0, &unpacked);
    if (unlikely(unpacked != n)) {
        MPIR_ERR_SET(rreq->status.MPI_ERROR, MPI_ERR_TYPE, "**dtypemismatch");
        MPIR_STATUS_SET_COUNT(rreq->status, unpacked);
    }
}

/* A message of @sent bytes has come, as far as they fit. */
static int take_short(MPIDI_VC_t * vc, MPIR_Request * rreq, int kind, intptr_t sent)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Request_t *ch = REQ_CH(rreq);
    intptr_t n = MPL_MIN(sent, ch->user_sz);

    MPIR_STATUS_SET_COUNT(rreq->status, n);
    rreq->dev.recv_data_sz = n;
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_EAGER_MSG);
    if (likely(sent == n && ch->room != NULL && kind == MPIDI_PTL_EAGER && HANDLE_IS_BUILTIN(rreq->dev.datatype) &&
               rreq->status.MPI_ERROR == MPI_SUCCESS)) {
        MPIDI_PTL_Copy(rreq->dev.user_buf, ch->room, n);
        free_room(ch);
        return MPIDI_PTL_Complete_clean(rreq);
    }
    if (unlikely(sent > n))
        MPIDI_PTL_Set_truncated(rreq, sent, ch->user_sz);
    if (likely(ch->room != NULL)) {
        unpack(rreq, ch->room, n);
        free_room(ch);
    }
    if (unlikely(kind == MPIDI_PTL_SYNC)) {
        mpi_errno = MPIDI_CH3_EagerSyncAck(vc, rreq);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIDI_PTL_Complete_recv(rreq);

  fn_fail:
    return mpi_errno;
}

/* Hybrid: a long message, which Portals would give to this receive. */
static int proposed(MPIDI_VC_t * vc, const ptl_event_t * ev)
{
    MPIR_Request *rreq = ev->md.user_ptr, *unused;
    MPIDI_PTL_Request_t *ch = REQ_CH(rreq);
    MPIDI_CH3_Pkt_t pkt;
    intptr_t len = 0;

    MPIDI_PTL_Give_back(vc, 1, 0);
    MPIDI_PTL_Read_rts(&pkt.ptl_rts, ev->match_bits, ev->hdr_data, ev->md.start);
    free_room(ch);
    ch->in_portals = FALSE;
    if (ch->disowned) {
        MPIR_Request_free(rreq);
    } else {
        ch->queue_only = TRUE;
        MPIDI_PTL_queue_only++;
    }
    return ev->ni_fail_type != PTL_NI_OK ? MPI_SUCCESS : MPIDI_PTL_PktHandler_Rts(vc, &pkt, NULL, &len, &unused);
}

static int posted_matched(MPIDI_VC_t * vc, const ptl_event_t * ev)
{
    MPIR_Request *rreq = ev->md.user_ptr;
    MPIDI_PTL_Request_t *ch = REQ_CH(rreq);
    MPIDI_Message_match match = {.whole = ev->match_bits & ~MPIDI_PTL_LONG_BIT };
    int kind = MPIDI_PTL_HDR_KIND(ev->hdr_data);

    MPIDI_PTL_Give_back(vc, 1, MPIDI_PTL_Bytes_of(kind, ev->rlength));
    ch->in_portals = FALSE;
    if (unlikely(ch->disowned)) {
        free_room(ch);
        MPIR_Request_free(rreq);
        return kind == MPIDI_PTL_LONG && ev->mlength < ev->rlength ? MPIDI_PTL_Long_cut(vc, NULL, ev) : MPI_SUCCESS;
    }
    MPIDI_PTL_Recvq_matched(rreq);
    rreq->status.MPI_SOURCE = match.parts.rank;
    rreq->status.MPI_TAG = match.parts.tag;
    rreq->dev.sender_req_id = MPIDI_PTL_HDR_REQUEST(ev->hdr_data);
    if (unlikely(ev->ni_fail_type != PTL_NI_OK)) {
        MPIR_ERR_SET1(rreq->status.MPI_ERROR, MPI_ERR_OTHER, "**intern", "**intern %s",
                      "the sender died while its message was on the way");
        return take_short(vc, rreq, MPIDI_PTL_EAGER, 0);
    }
    if (unlikely(kind == MPIDI_PTL_RTS)) {
        MPIDI_CH3_Pkt_t pkt;

        MPIDI_PTL_Read_rts(&pkt.ptl_rts, ev->match_bits, ev->hdr_data, ev->md.start);
        free_room(ch);
        return MPIDI_PTL_Rts_matched(vc, rreq, TRUE, &pkt.ptl_rts);
    }
    if (unlikely(kind == MPIDI_PTL_LONG) && ev->mlength < ev->rlength) {
        free_room(ch);
        return MPIDI_PTL_Long_cut(vc, rreq, ev);
    }
    return take_short(vc, rreq, kind, ev->rlength);
}

/* A message for which no receive was posted: as if it had come in a packet. */
static int unexpected(MPIDI_VC_t * vc, const ptl_event_t * ev)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_CH3_Pkt_t pkt;
    MPIDI_CH3_Pkt_eager_send_t *const es = &pkt.eager_send;
    char *data = (char *) ev->md.start + ev->offset;
    intptr_t len = ev->mlength;
    MPIR_Request *rreq;

    MPIDI_PTL_Give_back(vc, 1, 0);
    if (unlikely(ev->ni_fail_type != PTL_NI_OK))
        return MPI_SUCCESS;
    if (MPIDI_PTL_HDR_KIND(ev->hdr_data) == MPIDI_PTL_RTS) {
        MPIDI_PTL_Read_rts(&pkt.ptl_rts, ev->match_bits, ev->hdr_data, data);
        return MPIDI_PTL_PktHandler_Rts(vc, &pkt, NULL, &len, &rreq);
    }
    MPIDI_Pkt_init(es, MPIDI_CH3_PKT_EAGER_SEND);
    es->match.whole = ev->match_bits;
    es->sender_req_id = MPIDI_PTL_HDR_REQUEST(ev->hdr_data);
    es->data_sz = len;
    MPIDI_PTL_Recvq_holds(vc, len);
    switch (MPIDI_PTL_HDR_KIND(ev->hdr_data)) {
        case MPIDI_PTL_SYNC:
            es->type = MPIDI_CH3_PKT_EAGER_SYNC_SEND;
            mpi_errno = MPIDI_CH3_PktHandler_EagerSyncSend(vc, &pkt, data, &len, &rreq);
            break;
        case MPIDI_PTL_READY:
            es->type = MPIDI_CH3_PKT_READY_SEND;
            mpi_errno = MPIDI_CH3_PktHandler_ReadySend(vc, &pkt, data, &len, &rreq);
            break;
        default:
            mpi_errno = MPIDI_CH3_PktHandler_EagerSend(vc, &pkt, data, &len, &rreq);
            break;
    }
    MPIR_ERR_CHECK(mpi_errno);
    if (rreq != NULL) {         /* into many pieces: the rest of the bytes is here, too */
        rreq->dev.iov_offset = 0;
        mpi_errno = MPIDI_PTL_Handle_data(vc, rreq, data + len, ev->mlength - len);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_PTL_Recvq_held(vc);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int post_overflow(char *buf)
{
    int mpi_errno = MPI_SUCCESS, rc;
    ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
    ptl_handle_me_t me;
    ptl_md_t md = {
        .start = buf,
        .length = MPIDI_PTL.overflow_sz,
        .threshold = PTL_MD_THRESH_INF,
        .max_size = MPIDI_PTL.short_max,
        .options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_ACK_DISABLE | PTL_MD_EVENT_START_DISABLE,
        .user_ptr = buf,
        .eq_handle = MPIDI_PTL.eq_match,
    };

    /*
     * In front of the others: one sees nearly all traffic and stays in the cache. With bypass behind them: were several
     * used in part, there might be no room for what is promised, though nothing is under way (see ch3_credit.c).
     */
    if (MPIDI_PTL.bypass)
        return MPIDI_PTL_Attach(MPIDI_PTL_PT_MATCH, 0,
                                MPIDI_PTL.eager_long ? ~MPIDI_PTL_LONG_BIT : ~(ptl_match_bits_t) 0, PTL_INS_AFTER,
                                PTL_UNLINK, md);
    rc = PtlMEInsert(MPIDI_PTL.first, any, 0, ~(ptl_match_bits_t) 0, PTL_UNLINK, PTL_INS_AFTER, &me);
    MPIDI_PTL_CHECK(rc, "PtlMEInsert");
    rc = PtlMDAttach(me, md, PTL_UNLINK, NULL);
    MPIDI_PTL_CHECK(rc, "PtlMDAttach");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static inline int is_overflow(const void *p)
{
    const char *c = p;

    return c >= MPIDI_PTL.overflow && c < MPIDI_PTL.overflow + MPIDI_PTL_OVERFLOWS * MPIDI_PTL.overflow_sz;
}

static inline intptr_t *taken_of(const char *buf)
{
    return &taken[(size_t) (buf - MPIDI_PTL.overflow) / MPIDI_PTL.overflow_sz];
}

/* It has spilled over, and all its messages have been handled. */
static int post_again(char *buf)
{
    int mpi_errno = post_overflow(buf);
    intptr_t *t = taken_of(buf);

    if (MPIDI_PTL.bypass)
        MPIDI_PTL_Credit_room(*t);
    *t = 0;
    return mpi_errno;
}

int MPIDI_PTL_Match_event(const ptl_event_t * ev)
{
    MPIDI_VC_t *vc;

    if (unlikely(ev->type != PTL_EVENT_PUT_END)) {
        if (ev->type == PTL_EVENT_UNLINK && is_overflow(ev->md.user_ptr))
            return post_again(ev->md.user_ptr);
        return MPI_SUCCESS;
    }
    if (unlikely(MPIDI_PTL.bypass)) {
        int in_overflow = is_overflow(ev->md.user_ptr);

        MPIDI_PTL_Credit_used(ev, in_overflow);
        if (in_overflow)
            *taken_of(ev->md.user_ptr) += ev->mlength;
    }
    vc = MPIDI_PTL_Find_vc(ev->initiator.nid, ev->initiator.pid);
    if (unlikely(vc == NULL))
        return MPI_SUCCESS;     /* not of this job */
    if (unlikely(vc->state == MPIDI_VC_STATE_INACTIVE))
        MPIDI_CHANGE_VC_STATE(vc, ACTIVE);
    if (is_overflow(ev->md.user_ptr))
        return unexpected(vc, ev);
    if (unlikely(ev->md.user_ptr == &MPIDI_PTL_long_entry)) {
        MPIDI_PTL_Give_back(vc, 1, 0);
        return ev->ni_fail_type == PTL_NI_OK ? MPIDI_PTL_Long_unexpected(vc, ev) : MPI_SUCCESS;
    }
    return unlikely(MPIDI_PTL.hybrid) ? proposed(vc, ev) : posted_matched(vc, ev);
}

/* Handle what there is, of messages at least. */
int MPIDI_PTL_Take_matches(void)
{
    int mpi_errno = MPI_SUCCESS, more = TRUE;

    while (more && mpi_errno == MPI_SUCCESS) {
        more = FALSE;
        mpi_errno = MPIDI_PTL_Poll_event(MPIDI_PTL.eq_match, &more);
    }
    return mpi_errno;
}

/* Was the message here in time? It may be in a queue that was not looked at yet. */
int MPIDI_PTL_PktHandler_CancelSendReq(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data, intptr_t * buflen,
                                       MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIDI_PTL.bypass) {
        mpi_errno = MPIDI_PTL_Take_matches();
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIDI_PTL_Taken_settle();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3_PktHandler_CancelSendReq(vc, pkt, data, buflen, rreqp);

  fn_fail:
    return mpi_errno;
}

int MPIDI_PTL_Match_init(int n_ranks)
{
    int mpi_errno = MPI_SUCCESS, rc, i;
    ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };

    mpi_errno = MPIDI_PTL_Credit_init(n_ranks);
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPIDI_PTL.bypass) {
        rc = PtlPTPolled_np(MPIDI_PTL.ni, MPIDI_PTL_PT_MATCH, 1);
        MPIDI_PTL_CHECK(rc, "PtlPTPolled_np");
    }
    rc = PtlMEAttach(MPIDI_PTL.ni, MPIDI_PTL_PT_MATCH, any, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &MPIDI_PTL.first);
    MPIDI_PTL_CHECK(rc, "PtlMEAttach");
    /* Little of it is ever used. What malloc() gives may be made in huge pages, all resident; calloc()'s never is. */
    MPIDI_PTL.overflow = MPL_calloc(MPIDI_PTL_OVERFLOWS, MPIDI_PTL.overflow_sz, MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL.overflow, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (i = 0; i < MPIDI_PTL_OVERFLOWS; i++) {
        mpi_errno = post_overflow(MPIDI_PTL.overflow + i * MPIDI_PTL.overflow_sz);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_PTL_Credit_room(MPIDI_PTL.overflow_sz - MPIDI_PTL.short_max);
    }
    if (MPIDI_PTL.eager_long) {
        mpi_errno = MPIDI_PTL_Long_init();
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_PTL_Match_fini(void)
{
    MPL_free(MPIDI_PTL.overflow);
    MPIDI_PTL_Long_fini();
    MPIDI_PTL_Credit_fini();
}

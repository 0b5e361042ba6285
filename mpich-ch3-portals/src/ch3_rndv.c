/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Rendezvous with one copy: the sender tells where its data are, the receiver that has matched the message gets them
 * straight into the user's buffer and says DONE.
 *
 * Where they are is in the RTS: an address (CONTIG), blocks at a fixed distance (RUN), or the address of a layout in
 * the sender's memory (LIST, see ch3_layout.c), which belongs to its request and lives until DONE. If either side is
 * not contiguous and the sender's memory can be read directly, the receiver copies along both layouts. Otherwise:
 *
 *	sender		receiver
 *	contiguous	not		gets of MPIDI_PTL_PIECE bytes into a buffer, unpacked from there (BOUNCE)
 *	not		any		pieces of MPIDI_PTL_PIECE_MIN bytes and more on average: a get for each (PIECES)
 *	not		any		shorter ones: CH3's own rendezvous (clear to send, then packets), for which the
 *					receiver asks, or the sender, by an RTS without address, if it knows as much
 *
 * Making and walking a layout takes 15 ns for a run. Where that is much to a run's bytes (small blocks at irregular
 * distances) MPICH's own loops are faster: the sender packs into a buffer of its own, which is contiguous then, the
 * receiver unpacks straight from the sender's memory.
 */
#include "mpidi_ch3_impl.h"
#include <smartmap.h>

/*
 * Receives whose get was refused, since the peer keeps records of so many of our gets only, or their queue has no place
 * for another reply; linked by their next field, they are in no other queue any more. They are tried again in turn: the
 * next one may be of another peer, and matching is over, so their order is free.
 */
#define RETRIES 8               /* in one turn */
static MPIR_Request *wait_tail;

/* w[1] of an RTS: one of these, and four times the length of a RUN's blocks. TAKE: CONTIG, and see ch3_taken.c */
enum { CONTIG, RUN, LIST, TAKE };
#define RTS_KIND        3
#define MAX_PIECES      16      /* gets of one message on their way */
#define RUN_MIN         256     /* a layout with fewer bytes to a run, on average, takes longer than packing them */
#define PACKED_MAX      (64 << 20)      /* and longer messages go by packets then */

/* How a receive is fetched. */
enum { STRAIGHT, BOUNCE, FETCH, PIECES };       /* FETCH: the layout is on its way */

typedef struct MPIDI_PTL_Pieces {
    MPIDI_PTL_Layout_t *to, *from;
    MPIDI_PTL_Cursor_t t, f;
    int gets;                   /* on their way */
    int waiting;                /* for room for the next */
} pieces_t;

static int go_on(MPIR_Request * rreq);

static void wait_for_get(MPIR_Request * rreq)
{
    rreq->next = NULL;
    if (MPIDI_PTL.waiting_gets != NULL)
        wait_tail->next = rreq;
    else
        MPIDI_PTL.waiting_gets = rreq;
    wait_tail = rreq;
}

int MPIDI_PTL_Retry_gets(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS, i;
    MPIR_Request *rreq;

    for (i = 0; i < RETRIES && (rreq = MPIDI_PTL.waiting_gets) != NULL; i++) {
        MPIDI_PTL.waiting_gets = rreq->next;
        mpi_errno = go_on(rreq);
        MPIR_ERR_CHECK(mpi_errno);
        if (MPIDI_PTL.waiting_gets == NULL || wait_tail != rreq)        /* not refused again */
            *made_progress = TRUE;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

_Static_assert(offsetof(MPIDI_PTL_pkt_rts_t, data_sz) + MPIDI_PTL_RTS_SIZE == sizeof(MPIDI_PTL_pkt_rts_t),
               "what follows the envelope");

static uint64_t max_runs(intptr_t data_sz)
{
    return 8 + data_sz / RUN_MIN;
}

/* Our copy of the data, or NULL; freed with the request. */
void *MPIDI_PTL_Packed(MPIR_Request * sreq, intptr_t data_sz)
{
    MPI_Aint n;

    if (sreq->dev.ext_hdr_ptr == NULL) {
        sreq->dev.ext_hdr_ptr = MPL_malloc(data_sz, MPL_MEM_BUFFER);
        if (sreq->dev.ext_hdr_ptr != NULL)
            MPIR_Typerep_pack(sreq->dev.user_buf, sreq->dev.user_count, sreq->dev.datatype, 0, sreq->dev.ext_hdr_ptr,
                              data_sz, &n);
        REQ_CH(sreq)->how = CONTIG;
    }
    return sreq->dev.ext_hdr_ptr;
}

/* May the receiver have the data before there is a receive? */
static int may_be_taken(const MPIR_Request * sreq, intptr_t data_sz)
{
    return unlikely(data_sz <= MPIDI_PTL.take_max) && MPIDI_Request_get_type(sreq) != MPIDI_REQUEST_TYPE_SSEND;
}

/* Our layout or our copy of the data; freed with the request. */
static MPIDI_PTL_Layout_t *prepare(MPIR_Request * sreq, intptr_t data_sz, int here)
{
    if (sreq->dev.ext_hdr_ptr == NULL) {
        sreq->dev.ext_hdr_ptr = MPIDI_PTL_Layout_make(sreq->dev.user_buf, sreq->dev.user_count, sreq->dev.datatype,
                                                      data_sz, max_runs(data_sz));
        REQ_CH(sreq)->how = LIST;
    }
    if (sreq->dev.ext_hdr_ptr == NULL && here && data_sz <= PACKED_MAX)
        return MPIDI_PTL_Packed(sreq, data_sz);
    return sreq->dev.ext_hdr_ptr;
}

/* Where the data of @sreq are that are not contiguous. Without an address the receiver asks for packets. */
static void describe(MPIDI_VC_t * vc, MPIR_Request * sreq, intptr_t data_sz, MPIDI_PTL_pkt_rts_t * rts)
{
    int here = MPIDI_PTL_Local_peer(vc) >= 0;
    MPIDI_PTL_Layout_t *l = prepare(sreq, data_sz, here);

    if (l == NULL)
        return;
    if (REQ_CH(sreq)->how == CONTIG) {
        rts->addr = (uint64_t) (uintptr_t) l;
        return;
    }
    if (!here && data_sz / (intptr_t) l->segments < MPIDI_PTL_PIECE_MIN)
        return;
    if (l->runs == 1) {
        rts->addr = l->run->addr;
        rts->w[0] = l->run->stride;
        rts->w[1] = l->run->len * (RTS_KIND + 1) + RUN;
    } else {
        rts->addr = (uint64_t) (uintptr_t) l;
        rts->w[0] = l->runs;
        rts->w[1] = LIST;
    }
}

/* What the receiver needs to fetch the data of @sreq. */
void MPIDI_PTL_Fill_rts(MPIDI_VC_t * vc, MPIR_Request * sreq, int contig, intptr_t data_sz, MPI_Aint dt_true_lb,
                        MPIDI_PTL_pkt_rts_t * rts)
{
    sreq->dev.OnDataAvail = 0;
    sreq->dev.partner_request = NULL;
    MPIDI_Pkt_init(rts, MPIDI_PTL_PKT_RTS);
    rts->sender_req_id = sreq->handle;
    rts->data_sz = data_sz;
    rts->addr = 0;
    rts->w[0] = 0;
    rts->w[1] = CONTIG;
    if (MPIDI_PTL_env.copies == MPIDI_PTL_COPIES_TWO)
        return;                 /* without an address the receiver asks for packets */
    if (contig)
        rts->addr = (uint64_t) (uintptr_t) MPIR_get_contig_ptr(sreq->dev.user_buf, dt_true_lb);
    else if (may_be_taken(sreq, data_sz))
        rts->addr = (uint64_t) (uintptr_t) MPIDI_PTL_Packed(sreq, data_sz);
    else
        describe(vc, sreq, data_sz, rts);
    if (rts->addr != 0 && may_be_taken(sreq, data_sz))
        rts->w[1] = TAKE;
}

/* The same as it has come in a put: @data from data_sz on. */
void MPIDI_PTL_Read_rts(MPIDI_PTL_pkt_rts_t * rts, uint64_t match, uint64_t hdr_data, const void *data)
{
    MPIDI_Pkt_init(rts, MPIDI_PTL_PKT_RTS);
    rts->match.whole = match;
    rts->sender_req_id = MPIDI_PTL_HDR_REQUEST(hdr_data);
    memcpy(&rts->data_sz, data, MPIDI_PTL_RTS_SIZE);
}

int MPIDI_PTL_RndvSend(MPIR_Request ** sreq_p, const void *buf ATTRIBUTE((unused)), MPI_Aint count ATTRIBUTE((unused)),
                       MPI_Datatype datatype ATTRIBUTE((unused)), int dt_contig, intptr_t data_sz,
                       MPI_Aint dt_true_lb, int rank, int tag, MPIR_Comm * comm, int context_offset)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_PTL_pkt_rts_t *const rts_pkt = &upkt.ptl_rts;
    MPIR_Request *sreq = *sreq_p;
    MPIDI_VC_t *vc;

    MPIDI_Comm_get_vc_set_active(comm, rank, &vc);
    MPIDI_PTL_Fill_rts(vc, sreq, dt_contig, data_sz, dt_true_lb, rts_pkt);
    rts_pkt->match.parts.rank = comm->rank;
    rts_pkt->match.parts.tag = tag;
    rts_pkt->match.parts.context_id = comm->context_id + context_offset;

    mpi_errno = MPIDI_PTL_Send_packet(vc, rts_pkt, sizeof(*rts_pkt));
    if (mpi_errno != MPI_SUCCESS) {
        MPIR_Request_free(sreq);
        *sreq_p = NULL;
        MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_OTHER, "**ch3|rtspkt");
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The sender has its data back. */
int MPIDI_PTL_Send_done(MPIDI_VC_t * vc, MPI_Request sender_req_id)
{
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_PTL_pkt_done_t *const done_pkt = &upkt.ptl_done;

    MPIDI_Pkt_init(done_pkt, MPIDI_PTL_PKT_DONE);
    done_pkt->sender_req_id = sender_req_id;
    return MPIDI_PTL_Send_packet(vc, done_pkt, sizeof(*done_pkt));
}

/* All data are here, or never will be: tell the sender, complete the receive. */
static int finish(MPIR_Request * rreq)
{
    int mpi_errno = MPI_SUCCESS;

    if (REQ_CH(rreq)->how == BOUNCE)
        MPL_free(REQ_CH(rreq)->tmp);
    mpi_errno = MPIDI_PTL_Send_done(REQ_CH(rreq)->vc, rreq->dev.sender_req_id);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPID_Request_complete(rreq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void set_error(MPIR_Request * rreq, const char *call, int rc)
{
    rreq->status.MPI_ERROR = MPIDI_PTL_Error(__func__, __LINE__, call, rc);
}

/* The message ends within an element of the receiver's type. */
static void mismatch(MPIR_Request * rreq)
{
    MPIR_ERR_SET(rreq->status.MPI_ERROR, MPI_ERR_TYPE, "**dtypemismatch");
    MPIR_STATUS_SET_COUNT(rreq->status, rreq->dev.msg_offset);
    REQ_CH(rreq)->left = 0;
}

/* Ask the sender for @len bytes at @from. PTL_NO_SPACE: there will be room later. */
static int get(MPIR_Request * rreq, void *to, size_t len, uint64_t from)
{
    ptl_process_id_t id = { VC_CH(REQ_CH(rreq)->vc)->nid, VC_CH(REQ_CH(rreq)->vc)->pid };
    int rc = PTL_NO_SPACE;

    /* the match bits are for us: the peer's descriptor takes any */
    if (MPIDI_PTL.gets < MPIDI_PTL_env.other_events)
        rc = PtlGetRegion(MPIDI_PTL.md_get, (ptl_size_t) (uintptr_t) to, len, id, MPIDI_PTL_PT_MEM, 0,
                          (ptl_match_bits_t) (uintptr_t) rreq, from);
    if (rc == PTL_OK)
        MPIDI_PTL.gets++;
    return rc;
}

/* STRAIGHT, BOUNCE: ask for the data, or for the next of them. */
static int start_get(MPIR_Request * rreq)
{
    size_t len = REQ_CH(rreq)->left;
    char *to = REQ_CH(rreq)->tmp;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr ATTRIBUTE((unused));
    intptr_t user_sz ATTRIBUTE((unused));
    int dt_contig ATTRIBUTE((unused)), rc;

    if (REQ_CH(rreq)->left == 0)
        return finish(rreq);
    if (REQ_CH(rreq)->how == BOUNCE) {
        len = MPL_MIN(len, MPIDI_PTL_PIECE);
    } else {
        MPIDI_Datatype_get_info(rreq->dev.user_count, rreq->dev.datatype, dt_contig, user_sz, dt_ptr, dt_true_lb);
        to = (char *) MPIR_get_contig_ptr(rreq->dev.user_buf, dt_true_lb) + rreq->dev.msg_offset;
    }
    rc = get(rreq, to, len, REQ_CH(rreq)->rts_addr);
    if (rc == PTL_NO_SPACE) {
        wait_for_get(rreq);
    } else if (rc != PTL_OK) {
        set_error(rreq, "PtlGetRegion", rc);
        return finish(rreq);
    }
    return MPI_SUCCESS;
}

/* Our side's layout, of the bytes that are to come. */
static MPIDI_PTL_Layout_t *own_layout(MPIR_Request * rreq, uint64_t max)
{
    intptr_t n = REQ_CH(rreq)->left, user_sz ATTRIBUTE((unused));
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr ATTRIBUTE((unused));
    int dt_contig;

    MPIDI_Datatype_get_info(rreq->dev.user_count, rreq->dev.datatype, dt_contig, user_sz, dt_ptr, dt_true_lb);
    if (dt_contig)
        return MPIDI_PTL_Layout_of_run((uint64_t) (uintptr_t) MPIR_get_contig_ptr(rreq->dev.user_buf, dt_true_lb), n,
                                       0, 1);
    return MPIDI_PTL_Layout_make(rreq->dev.user_buf, rreq->dev.user_count, rreq->dev.datatype, n, max);
}

/* The same straight from the sender's memory. FALSE: it is not within reach. */
static int unpack_direct(MPIR_Request * rreq, int peer, int *complete)
{
    uint64_t addr = REQ_CH(rreq)->rts_addr, n = REQ_CH(rreq)->left;
    MPIDI_PTL_Layout_t *to = own_layout(rreq, max_runs(n)), *from = MPIDI_PTL_Layout_of_run(addr, n, 0, 1);
    MPI_Aint unpacked = n;
    int done = to != NULL && from != NULL && MPIDI_PTL_Layout_copy(to, peer, from, n);

    MPL_free(to);
    MPL_free(from);
    if (!done) {
        if (!smartmap_enter(peer, (void *) (uintptr_t) addr, n))
            return FALSE;
        MPIR_Typerep_unpack(smartmap_remote(peer, (void *) (uintptr_t) addr), n, rreq->dev.user_buf,
                            rreq->dev.user_count, rreq->dev.datatype, 0, &unpacked);
        smartmap_leave(peer);
    }
    *complete = unpacked == (MPI_Aint) n;
    rreq->dev.msg_offset = unpacked;
    return TRUE;
}

/* The sender's data are contiguous, the user's buffer is not. */
static int from_contig(MPIR_Request * rreq)
{
    int peer = MPIDI_PTL_Local_peer(REQ_CH(rreq)->vc), complete;

    if (peer >= 0 && unpack_direct(rreq, peer, &complete)) {
        if (!complete)
            mismatch(rreq);
        return finish(rreq);
    }
    REQ_CH(rreq)->how = BOUNCE;
    REQ_CH(rreq)->tmp = MPL_malloc(MPL_MIN(REQ_CH(rreq)->left, MPIDI_PTL_PIECE), MPL_MEM_BUFFER);
    if (REQ_CH(rreq)->tmp == NULL) {
        set_error(rreq, "malloc", PTL_NO_SPACE);
        return finish(rreq);
    }
    return start_get(rreq);
}

static void free_pieces(MPIR_Request * rreq)
{
    pieces_t *p = REQ_CH(rreq)->pieces;

    MPL_free(p->to);
    MPL_free(p->from);
    MPL_free(p);
    REQ_CH(rreq)->pieces = NULL;
    REQ_CH(rreq)->how = STRAIGHT;
}

/* PIECES: ask for the next of them. */
static int next_pieces(MPIR_Request * rreq)
{
    pieces_t *p = REQ_CH(rreq)->pieces;

    while (REQ_CH(rreq)->left > 0 && p->gets < MAX_PIECES && !p->waiting) {
        MPIDI_PTL_Cursor_t t = p->t, f = p->f;
        uint64_t to, from, len = MPIDI_PTL_Layout_piece(&p->t, &p->f, REQ_CH(rreq)->left, &to, &from);
        int rc = len > 0 ? get(rreq, (void *) (uintptr_t) to, len, from) : PTL_SEGV;

        if (rc == PTL_NO_SPACE) {
            p->t = t;
            p->f = f;
            p->waiting = TRUE;
            wait_for_get(rreq);
        } else if (rc != PTL_OK) {
            set_error(rreq, "PtlGetRegion", rc);
            REQ_CH(rreq)->left = 0;
        } else {
            p->gets++;
            REQ_CH(rreq)->left -= len;
        }
    }
    if (REQ_CH(rreq)->left > 0 || p->gets > 0 || p->waiting)
        return MPI_SUCCESS;
    free_pieces(rreq);
    return finish(rreq);
}

/* The sender's layout is here. */
static int have_layout(MPIR_Request * rreq)
{
    pieces_t *p = REQ_CH(rreq)->pieces;
    int peer = MPIDI_PTL_Local_peer(REQ_CH(rreq)->vc);
    uint64_t n = REQ_CH(rreq)->left;

    p->to = own_layout(rreq, n);
    if (p->to != NULL && peer >= 0 && MPIDI_PTL_Layout_copy(p->to, peer, p->from, n)) {
        free_pieces(rreq);
        return finish(rreq);
    }
    if (p->to == NULL || n / MPL_MAX(p->to->segments, p->from->segments) < MPIDI_PTL_PIECE_MIN) {
        free_pieces(rreq);
        rreq->status.MPI_ERROR = MPI_SUCCESS;   /* CH3 finds a truncation itself */
        return MPIDI_CH3_RecvRndv(REQ_CH(rreq)->vc, rreq);
    }
    REQ_CH(rreq)->how = PIECES;
    MPIDI_PTL_Layout_start(&p->t, p->to);
    MPIDI_PTL_Layout_start(&p->f, p->from);
    return next_pieces(rreq);
}

static int fetched_layout(MPIR_Request * rreq)
{
    if (MPIDI_PTL_Layout_valid(REQ_CH(rreq)->pieces->from, rreq->dev.pending_pkt.ptl_rts.w[0]))
        return have_layout(rreq);
    free_pieces(rreq);
    MPIR_ERR_SET1(rreq->status.MPI_ERROR, MPI_ERR_OTHER, "**intern", "**intern %s",
                  "the sender's description of its data makes no sense");
    return finish(rreq);
}

/* The sender's data are not contiguous. */
static int get_layout(MPIR_Request * rreq)
{
    const MPIDI_PTL_pkt_rts_t *rts = &rreq->dev.pending_pkt.ptl_rts;
    pieces_t *p = REQ_CH(rreq)->pieces;
    uint64_t len;
    int rc, peer;

    if (p == NULL)
        p = REQ_CH(rreq)->pieces = MPL_calloc(1, sizeof(*p), MPL_MEM_BUFFER);
    if (p != NULL && p->from == NULL) {
        if ((rts->w[1] & RTS_KIND) == RUN)
            p->from = MPIDI_PTL_Layout_of_run(rts->addr, rts->w[1] / (RTS_KIND + 1), (int64_t) rts->w[0],
                                              rts->data_sz / MPL_MAX(1, rts->w[1] / (RTS_KIND + 1)));
        else
            p->from = MPL_malloc(MPIDI_PTL_LAYOUT_SIZE(rts->w[0]), MPL_MEM_BUFFER);
    }
    if (p == NULL || p->from == NULL) {
        if (p != NULL)
            free_pieces(rreq);
        return MPIDI_CH3_RecvRndv(REQ_CH(rreq)->vc, rreq);
    }
    if ((rts->w[1] & RTS_KIND) == RUN)
        return have_layout(rreq);
    len = MPIDI_PTL_LAYOUT_SIZE(rts->w[0]);
    peer = MPIDI_PTL_Local_peer(REQ_CH(rreq)->vc);
    if (peer >= 0 && smartmap_enter(peer, (void *) (uintptr_t) rts->addr, len)) {
        smartmap_copy(p->from, smartmap_remote(peer, (void *) (uintptr_t) rts->addr), len);
        smartmap_leave(peer);
        return fetched_layout(rreq);
    }
    REQ_CH(rreq)->how = FETCH;
    rc = get(rreq, p->from, len, rts->addr);
    if (rc == PTL_NO_SPACE) {
        wait_for_get(rreq);
    } else if (rc != PTL_OK) {
        free_pieces(rreq);
        set_error(rreq, "PtlGetRegion", rc);
        return finish(rreq);
    }
    return MPI_SUCCESS;
}

/* A get of this receive was refused before. */
static int go_on(MPIR_Request * rreq)
{
    switch (REQ_CH(rreq)->how) {
        case FETCH:
            return get_layout(rreq);
        case PIECES:
            REQ_CH(rreq)->pieces->waiting = FALSE;
            return next_pieces(rreq);
        default:
            return start_get(rreq);
    }
}

/* What a get has brought. */
static int arrived(MPIR_Request * rreq, intptr_t len)
{
    MPI_Aint unpacked = len;

    switch (REQ_CH(rreq)->how) {
        case FETCH:
            return fetched_layout(rreq);
        case PIECES:
            return next_pieces(rreq);
        case BOUNCE:
            MPIR_Typerep_unpack(REQ_CH(rreq)->tmp, len, rreq->dev.user_buf, rreq->dev.user_count, rreq->dev.datatype,
                                rreq->dev.msg_offset, &unpacked);
            break;
        default:
            break;
    }
    REQ_CH(rreq)->left -= len;
    REQ_CH(rreq)->rts_addr += len;
    rreq->dev.msg_offset += unpacked;
    if (unpacked != len)
        mismatch(rreq);
    return start_get(rreq);
}

/* REPLY_END */
int MPIDI_PTL_Get_done(const ptl_event_t * ev)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *rreq = (MPIR_Request *) (uintptr_t) ev->match_bits;

    MPIDI_PTL.gets--;
    if (unlikely(MPIDI_PTL.take_max > 0) && MPIDI_PTL_Taken_reply(rreq, ev, &mpi_errno))
        return mpi_errno;
    if (REQ_CH(rreq)->how == PIECES)
        REQ_CH(rreq)->pieces->gets--;
    if (likely(ev->ni_fail_type == PTL_NI_OK && ev->mlength > 0))
        return arrived(rreq, ev->mlength);

    MPIR_ERR_SET1(rreq->status.MPI_ERROR, MPI_ERR_OTHER, "**intern", "**intern %s",
                  ev->ni_fail_type == PTL_NI_DIED_NP ? "the sender died while its message was being fetched" :
                  "the sender's buffer could not be read");
    REQ_CH(rreq)->left = 0;
    if (REQ_CH(rreq)->how == PIECES)
        return next_pieces(rreq);
    if (REQ_CH(rreq)->how == FETCH)
        free_pieces(rreq);
    return finish(rreq);
}

/* A receive was posted that matches a message whose RTS had arrived before. */
int MPIDI_PTL_RndvRecv(MPIDI_VC_t * vc, MPIR_Request * rreq)
{
    MPI_Aint dt_true_lb ATTRIBUTE((unused));
    MPIR_Datatype *dt_ptr ATTRIBUTE((unused));
    intptr_t user_sz;
    int dt_contig, progress;
    int mpi_errno = MPI_SUCCESS;

    if (unlikely(MPIDI_PTL.eager_long) && MPIDI_PTL_Long_wanted(rreq))
        return MPI_SUCCESS;
    if (REQ_CH(rreq)->rts_addr == 0)
        return MPIDI_CH3_RecvRndv(vc, rreq);

    REQ_CH(rreq)->vc = vc;
    REQ_CH(rreq)->left = rreq->dev.recv_data_sz;
    REQ_CH(rreq)->tmp = NULL;
    REQ_CH(rreq)->how = STRAIGHT;
    MPIDI_Datatype_get_info(rreq->dev.user_count, rreq->dev.datatype, dt_contig, user_sz, dt_ptr, dt_true_lb);
    if (rreq->dev.recv_data_sz > user_sz) {
        MPIDI_PTL_Set_truncated(rreq, rreq->dev.recv_data_sz, user_sz);
        REQ_CH(rreq)->left = user_sz;
    }
    rreq->dev.msg_offset = 0;

    if (REQ_CH(rreq)->left == 0)
        mpi_errno = finish(rreq);
    else if ((rreq->dev.pending_pkt.ptl_rts.w[1] & RTS_KIND) != CONTIG)
        mpi_errno = get_layout(rreq);
    else if (!dt_contig)
        mpi_errno = from_contig(rreq);
    else
        mpi_errno = start_get(rreq);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_PTL_Take_replies(&progress);      /* most gets are over when the call returns */
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Take_replies(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS, more = TRUE;

    while (MPIDI_PTL.gets > 0 && more && mpi_errno == MPI_SUCCESS) {
        more = FALSE;
        mpi_errno = MPIDI_PTL_Poll_event(MPIDI_PTL.eq_get, &more);
        *made_progress |= more;
    }
    return mpi_errno;
}

/* @found: of a posted receive; otherwise of a request that keeps the message until there is one. */
int MPIDI_PTL_Rts_matched(MPIDI_VC_t * vc, MPIR_Request * rreq, int found, const MPIDI_PTL_pkt_rts_t * rts)
{
    int mpi_errno = MPI_SUCCESS;

    rreq->status.MPI_SOURCE = rts->match.parts.rank;
    rreq->status.MPI_TAG = rts->match.parts.tag;
    MPIR_STATUS_SET_COUNT(rreq->status, rts->data_sz);
    rreq->dev.sender_req_id = rts->sender_req_id;
    rreq->dev.recv_data_sz = rts->data_sz;
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_RNDV_MSG);
    REQ_CH(rreq)->rts_addr = rts->addr;
    rreq->dev.pending_pkt.ptl_rts = *rts;
    if (rts->w[1] == TAKE)
        rreq->dev.pending_pkt.ptl_rts.w[1] = CONTIG;
    if (found)
        return MPIDI_PTL_RndvRecv(vc, rreq);
    if (rts->w[1] == TAKE) {
        mpi_errno = MPIDI_PTL_Take(vc, rreq);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_CH3_Progress_signal_completion();     /* a probe may be waiting for it */

  fn_fail:
    return mpi_errno;
}

int MPIDI_PTL_PktHandler_Rts(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data ATTRIBUTE((unused)),
                             intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS, found;
    MPIR_Request *rreq;

    *buflen = 0;
    *rreqp = NULL;
    if (unlikely(pkt->ptl_rts.match.whole & MPIDI_PTL_LONG_BIT))
        return MPIDI_PTL_Long_rts(vc, &pkt->ptl_rts);
    rreq = MPIDI_CH3U_Recvq_FDP_or_AEU(&pkt->ptl_rts.match, &found);
    MPIR_ERR_CHKANDJUMP1(!rreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq", "**nomemuereq %d",
                         MPIDI_CH3U_Recvq_count_unexp());
    if (!found && MPIR_cc_get(rreq->cc) == 0)
        goto fn_exit;           /* the communicator was revoked */
    mpi_errno = MPIDI_PTL_Rts_matched(vc, rreq, found, &pkt->ptl_rts);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_PktHandler_Done(MPIDI_VC_t * vc ATTRIBUTE((unused)), MPIDI_CH3_Pkt_t * pkt,
                              void *data ATTRIBUTE((unused)), intptr_t * buflen, MPIR_Request ** rreqp)
{
    MPIR_Request *sreq;

    *buflen = 0;
    *rreqp = NULL;
    MPIR_Request_get_ptr(pkt->ptl_done.sender_req_id, sreq);
    MPIDI_Request_set_msg_type(sreq, MPIDI_REQUEST_EAGER_MSG);  /* who cancels it waits for no second DONE */
    return MPID_Request_complete(sreq);
}

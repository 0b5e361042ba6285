/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The channel's own declarations.
 *
 * A CH3 packet travels as a put to portal MPIDI_PTL_PT_PKT of the peer, at most PTL_INLINE_MAX_NP bytes: the packet,
 * then the first bytes of its data. What does not fit follows in puts of the same size (hdr_data MPIDI_PTL_MORE), in
 * order; packets between one pair of ranks are never mixed. The portal is a polled one: what the receiver has not
 * taken yet waits in its inbox, and a full inbox refuses the next put (PTL_NO_SPACE), which then waits in the sender's
 * queue for this peer. So nothing is dropped and nothing grows without bound.
 *
 * Match bits, header data and remote offset of a put that starts with a packet are 0: such a put of up to 56 bytes is
 * one cache line in the peer's inbox. A short message that MPI matches needs no packet (ch3_eager.c): its envelope
 * travels as match bits, which no entry there looks at, and MPIDI_PTL_BARE says so.
 *
 * Everything here runs under MPICH's global lock.
 */
#ifndef MPIDI_CH3_IMPL_H_INCLUDED
#define MPIDI_CH3_IMPL_H_INCLUDED

#include "mpidimpl.h"
#include <portals3.h>
#include <p3rt/p3rt.h>
#include "mpidi_ptl_env.h"

#define MPIDI_PTL_PT_PKT        112     /* packets */
#define MPIDI_PTL_PT_MEM        113     /* the whole address space, for peers that fetch a large message */

#define MPIDI_PTL_PT_MATCH      114     /* messages, matched in Portals: ch3_match.c */
#define MPIDI_PTL_PT_CREDIT     115     /* what this rank has given back of its peers' credits: ch3_credit.c */

#define MPIDI_PTL_MORE          1       /* hdr_data: goes on where the last put ended */
#define MPIDI_PTL_BARE          ((ptl_hdr_data_t) 1 << 32)      /* hdr_data, with the sender's request: data alone */

#define MPIDI_PTL_AS_LENGTH     ((ptl_size_t) 1 << 47)  /* a user address space */
#define MPIDI_PTL_EQ_SIZE       128     /* of packets: what finds no room waits in the inbox */
/*
 * Receive buffers for packets: what finds none of them waits in the inbox. A buffer is full when it has no room for the
 * largest packet any more; it is then posted anew in front of the other, so one of them sees nearly all traffic and
 * stays in the cache.
 */
#define MPIDI_PTL_BUFS          2
#define MPIDI_PTL_BUF_SIZE      (64 * 1024)
#define MPIDI_PTL_YIELD_NS      100000  /* how long a waiting rank yields before it sleeps */
#define MPIDI_PTL_LONG_WAIT_NS  300000000       /* after which it wakes ten times a second, not a hundred times */

/* Header data of a message that is matched in Portals: what it is, and the request of its sender. */
enum { MPIDI_PTL_MATCH_ON, MPIDI_PTL_MATCH_OFF, MPIDI_PTL_MATCH_HYBRID };      /* values of match_off */
enum { MPIDI_PTL_EAGER, MPIDI_PTL_SYNC, MPIDI_PTL_READY, MPIDI_PTL_RTS, MPIDI_PTL_LONG };
#define MPIDI_PTL_HDR(kind_, request_) ((uint64_t) (kind_) << 32 | (uint32_t) (request_))
#define MPIDI_PTL_HDR_KIND(hdr_)        ((int) ((hdr_) >> 32))
#define MPIDI_PTL_HDR_REQUEST(hdr_)     ((MPI_Request) (hdr_))
#define MPIDI_PTL_LONG_BIT      ((ptl_match_bits_t) 1 << 31)    /* of the tag: see ch3_eager_long.c */
#define MPIDI_PTL_RTS_SIZE      32      /* of MPIDI_PTL_pkt_rts_t from data_sz on */
#define MPIDI_PTL_CELL          64      /* bytes of a buffer for a short receive; MPIDI_PTL_RTS_SIZE at least */
#define MPIDI_PTL_OVERFLOWS     4
#define MPIDI_PTL_MIN_CREDITS   4
#define MPIDI_PTL_MAX_CREDITS   1024

enum { MPIDI_PTL_COPIES_AUTO, MPIDI_PTL_COPIES_ONE, MPIDI_PTL_COPIES_TWO };     /* words of MPICH_PTL_COPIES */

#define MPIDI_PTL_PIECE         (128 * 1024)    /* bytes fetched at a time for a non-contiguous receive */
#define MPIDI_PTL_PIECE_MIN     (16 * 1024)     /* shorter pieces than these, on average, are not fetched one by one */

/* A connection's part, in the room that it has for the channel. */
typedef struct MPIDI_PTL_VC {
    uint32_t nid, pid;                  /* the peer's Portals id */
    int closing;                        /* CLOSED, but packets of the close protocol are still in the send queue */
    int on_list;                        /* on the list of connections with a send queue */
    MPIR_Request *recv_active;          /* message whose first part has arrived */
    MPIR_Request *sendq_head, *sendq_tail;
    MPIDI_VC_t *next;                   /* list of connections with a send queue */
    int foreign;                        /* to a process of another job: by a socket, see ch3_wire.c */
    struct MPIDI_PTL_Wire *wire;        /* what we send goes here; NULL: not connected yet */
    int64_t refused;                    /* since when it does not listen; 0: it does */
    /* matched in Portals: ch3_match_send.c, ch3_credit.c */
    uint64_t sent_events, sent_bytes;   /* credits spent since the start */
    uint64_t asked_at;                  /* sent_events when the peer's counts were asked for, */
    uint64_t asked_bytes;               /* and sent_bytes */
    int asking;                         /* that is under way */
    int on_waiting;                     /* on the list of connections with waiting messages */
    MPIR_Request *waiting_head, *waiting_tail;
    MPIDI_VC_t *next_waiting;
} MPIDI_PTL_VC_t;
_Static_assert(sizeof(MPIDI_PTL_VC_t) <= sizeof(MPIDI_CH3I_VC), "it lies in vc->ch");

typedef struct {
    MPIR_Request *next, *prev;
} MPIDI_PTL_Link_t;

/* A request's. */
typedef struct MPIDI_PTL_Request {
    uint64_t posted;                    /* it is in the queue of posted receives, or a send that is not acknowledged;
                                         * 0 when a request is made */
    /* a receive whose data this rank fetches from the sender: see ch3_rndv.c */
    uint64_t rts_addr;                  /* sender's address of the next byte; 0: CH3's own rendezvous, by packets */
    MPIDI_VC_t *vc;
    union {
        char *tmp;                      /* for one piece of data on its way into a non-contiguous buffer, or NULL */
        struct MPIDI_PTL_Pieces *pieces;
    };
    intptr_t left;                      /* bytes not asked for yet */
    /* a posted receive or an unexpected message: see ch3_recvq.c */
    MPIR_Request *prev;                 /* in its queue */
    MPIDI_PTL_Link_t link[3];           /* in the chains of its queue's index */
    uint64_t turn;                      /* a posted receive's: order of posting */
    /* matched in Portals: see ch3_match.c */
    char *room;                         /* our buffer for a receive */
    int room_kind;
    intptr_t user_sz;
    ptl_handle_md_t md;
    uint8_t in_portals;                 /* it has an entry there, or an event of it is to come */
    uint8_t queue_only;                 /* it should have one, but has not */
    uint8_t disowned;                   /* and nobody waits for it any more */
    uint8_t kind;                       /* a send's */
    uint8_t how;                        /* the data are fetched: see ch3_rndv.c */
    uint8_t taken;                      /* before there is a receive: see ch3_taken.c */
    uint8_t left_queue;                 /* and there is one now */
} MPIDI_PTL_Request_t;
_Static_assert(sizeof(MPIDI_PTL_Request_t) <= sizeof(struct MPIDI_CH3I_Request), "it lies in req->ch");

#define VC_CH(vc_) ((MPIDI_PTL_VC_t *) &(vc_)->ch)
#define REQ_CH(req_) ((MPIDI_PTL_Request_t *) &(req_)->ch)

typedef struct {
    uint64_t events, bytes;
} MPIDI_PTL_Counts_t;

typedef struct MPIDI_PTL_State {
    ptl_handle_ni_t ni;
    ptl_handle_eq_t eq;         /* packets */
    ptl_handle_eq_t eq_get;     /* replies to our gets */
    ptl_handle_eq_t eq_match;   /* messages matched in Portals */
    int matching;               /* messages are matched in Portals */
    int direct;                 /* a receive may take its message before it is posted */
    int by_packet;              /* short messages are matched by CH3 */
    ptl_handle_me_t front;      /* the first receive buffer for packets */
    ptl_handle_me_t first;      /* what stands behind the posted receives: ch3_match.c */
    int hybrid;                 /* only long ones, and CH3's queue has the last word */
    int bypass;                 /* by their senders, where this rank does not look */
    int eager_long;             /* and long ones leave with their data */
    intptr_t short_max;         /* bytes of the longest message that travels with its envelope, */
    intptr_t short_near;        /* and of such a one to a rank of the node */
    intptr_t take_max;          /* and of the longest that does not wait for its receive */
    ptl_match_bits_t no_tag;    /* bits of a tag that do not count */
    int64_t credit_events, credit_bytes;        /* of one peer */
    MPIDI_PTL_Counts_t *given_back;     /* credits, by us, to each rank */
    MPIDI_PTL_Counts_t *known;          /* of what each rank has given back to us */
    char *overflow;             /* MPIDI_PTL_OVERFLOWS buffers */
    size_t overflow_sz;         /* of one */
    MPIDI_VC_t *waiting_vcs;    /* connections with messages that wait for credit */
    int gets;                   /* on their way */
    ptl_handle_md_t md;         /* our address space, source of all puts */
    ptl_handle_md_t md_get;     /* the same, target of all gets; their match bits are the request's address */
    int oversubscribed;
    int spin;                   /* empty polls before the core is given up */
    MPIDI_VC_t *sendq_head;     /* connections that have a send queue */
    MPIR_Request *waiting_gets; /* see ch3_rndv.c */
    char *bufs;                 /* MPIDI_PTL_BUFS of them */
    MPIDI_VC_t **id_hash;       /* connection by Portals id, see MPIDI_PTL_Find_vc */
    unsigned id_mask;
} MPIDI_PTL_State_t;

extern MPIDI_PTL_State_t MPIDI_PTL;

/* Packets that are followed by the data of a message: a short header. Any other packet with data after it is padded
 * to the full size of a packet, so that the receiver knows where the data start without a length on the way. */
static inline intptr_t MPIDI_PTL_Header_size(const MPIDI_CH3_Pkt_t * pkt)
{
    switch (pkt->type) {
        case MPIDI_CH3_PKT_EAGER_SEND:
        case MPIDI_CH3_PKT_EAGER_SYNC_SEND:
        case MPIDI_CH3_PKT_READY_SEND:
            return sizeof(MPIDI_CH3_Pkt_eager_send_t);
        default:
            return sizeof(MPIDI_CH3_Pkt_t);
    }
}

static inline unsigned MPIDI_PTL_Id_hash(uint32_t nid, uint32_t pid)
{
    return (nid * 0x9e3779b1U) ^ pid;
}

static inline MPIDI_VC_t *MPIDI_PTL_Find_vc(uint32_t nid, uint32_t pid)
{
    unsigned i = MPIDI_PTL_Id_hash(nid, pid) & MPIDI_PTL.id_mask;
    MPIDI_VC_t *vc;

    while ((vc = MPIDI_PTL.id_hash[i]) != NULL && (VC_CH(vc)->pid != pid || VC_CH(vc)->nid != nid))
        i = (i + 1) & MPIDI_PTL.id_mask;
    return vc;
}

/* An MPI error that names the Portals call and its code. */
int MPIDI_PTL_Error(const char *func, int line, const char *call, int rc);
#define MPIDI_PTL_CHECK(rc_, call_)                                             \
    do {                                                                        \
        if (unlikely((rc_) != PTL_OK)) {                                        \
            mpi_errno = MPIDI_PTL_Error(__func__, __LINE__, call_, rc_);        \
            goto fn_fail;                                                       \
        }                                                                       \
    } while (0)

/* ch3_init.c */
int MPIDI_PTL_Attach(ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_match_bits_t ignore, ptl_ins_pos_t pos,
                     ptl_unlink_t unlink, ptl_md_t md);
#define MPIDI_PTL_ANY_BITS      0, ~(ptl_match_bits_t) 0

/* ch3_send.c */
/* Packet and data side by side. Used within one call under the global lock; the put has copied it on return. */
extern char MPIDI_PTL_stage[PTL_INLINE_MAX_NP];
int MPIDI_PTL_Send_pending(int *made_progress);
int MPIDI_PTL_Flush(void);
int MPIDI_PTL_Send_packet(MPIDI_VC_t * vc, void *pkt, intptr_t len);

/* Short pieces word by word: the compiler's string instructions take longer to start than such a copy lasts. */
static inline void MPIDI_PTL_Copy(void *dst, const void *src, size_t n)
{
    char *to = dst;
    const char *from = src;

    if (n > 128) {
        memcpy(to, from, n);
        return;
    }
    for (; n >= 8; to += 8, from += 8, n -= 8) {
        uint64_t w;

        memcpy(&w, from, 8);
        memcpy(to, &w, 8);
        __asm__ __volatile__("":::"memory");    /* keeps this a loop */
    }
    while (n-- > 0) {
        *to++ = *from++;
        __asm__ __volatile__("":::"memory");
    }
}

static inline int MPIDI_PTL_Put(MPIDI_VC_t * vc, const void *buf, size_t len, ptl_hdr_data_t hdr_data)
{
    ptl_process_id_t id = { VC_CH(vc)->nid, VC_CH(vc)->pid };

    return PtlPutRegion(MPIDI_PTL.md, (ptl_size_t) (uintptr_t) buf, len, PTL_NO_ACK_REQ, id,
                        MPIDI_PTL_PT_PKT, 0, 0, 0, hdr_data);
}

/* ch3_match.c */
int MPIDI_PTL_Match_init(int n_ranks);
void MPIDI_PTL_Match_fini(void);
int MPIDI_PTL_Post(MPIR_Request * rreq);
int MPIDI_PTL_Unpost(MPIR_Request * rreq);
void MPIDI_PTL_Disown(MPIR_Request * rreq);
int MPIDI_PTL_Match_event(const ptl_event_t * ev);
int MPIDI_PTL_Take_matches(void);
int MPIDI_PTL_Poll_event(ptl_handle_eq_t eq, int *made_progress);
extern int MPIDI_PTL_queue_only;
MPIDI_CH3_PktHandler_Fcn MPIDI_PTL_PktHandler_CancelSendReq;

/* ch3_match_send.c */
extern MPIDI_Comm_ops_t MPIDI_PTL_Match_ops;
int MPIDI_PTL_Hybrid_rndv_send(MPIR_Request ** sreq_p, const void *buf, MPI_Aint count, MPI_Datatype datatype,
                               int dt_contig, intptr_t data_sz, MPI_Aint dt_true_lb, int rank, int tag,
                               MPIR_Comm * comm, int context_offset);
int MPIDI_PTL_Send_waiting(int *made_progress);
int MPIDI_PTL_Cancel_send(MPIDI_VC_t * vc, MPIR_Request * sreq);

/* ch3_eager_long.c */
extern char MPIDI_PTL_long_entry;
int MPIDI_PTL_Long_init(void);
void MPIDI_PTL_Long_fini(void);
int MPIDI_PTL_Long_put(MPIDI_VC_t * vc, MPIR_Request * sreq, int contig, intptr_t data_sz, MPI_Aint dt_true_lb,
                       uint64_t match);
int MPIDI_PTL_Long_acked(const ptl_event_t * ev);
int MPIDI_PTL_Long_settle(MPIR_Request * sreq);
int MPIDI_PTL_Long_cut(MPIDI_VC_t * vc, MPIR_Request * rreq, const ptl_event_t * ev);
int MPIDI_PTL_Long_unexpected(MPIDI_VC_t * vc, const ptl_event_t * ev);
int MPIDI_PTL_Long_wanted(MPIR_Request * rreq);
void MPIDI_PTL_Long_unwanted(MPIR_Request * rreq);
int MPIDI_PTL_Long_rts(MPIDI_VC_t * vc, MPIDI_PTL_pkt_rts_t * rts);

/* Bytes of a message that count in credits: the others bring an envelope, or nothing, to a buffer of ours. */
static inline intptr_t MPIDI_PTL_Bytes_of(int kind, intptr_t length)
{
    return kind == MPIDI_PTL_RTS || kind == MPIDI_PTL_LONG ? 0 : length;
}

/* ch3_credit.c */
int MPIDI_PTL_Credit_init(int n_ranks);
void MPIDI_PTL_Credit_fini(void);
void MPIDI_PTL_Ask_credit(MPIDI_VC_t * vc);
void MPIDI_PTL_Credit_used(const ptl_event_t * ev, int in_overflow);
void MPIDI_PTL_Credit_room(intptr_t bytes);
void MPIDI_PTL_Give_back_if_room(int rank, int events, intptr_t bytes);
int MPIDI_PTL_Credit_reply(const ptl_event_t * ev);

/* May a message with @bytes of data go now? */
static inline int MPIDI_PTL_Has_credit(MPIDI_VC_t * vc, intptr_t bytes)
{
    const MPIDI_PTL_Counts_t *k = &MPIDI_PTL.known[vc->pg_rank];

    return VC_CH(vc)->sent_events - k->events < (uint64_t) MPIDI_PTL.credit_events &&
        (bytes == 0 || VC_CH(vc)->sent_bytes + bytes - k->bytes <= (uint64_t) MPIDI_PTL.credit_bytes);
}

static inline void MPIDI_PTL_Spend(MPIDI_VC_t * vc, intptr_t bytes)
{
    const MPIDI_PTL_Counts_t *k = &MPIDI_PTL.known[vc->pg_rank];
    MPIDI_PTL_VC_t *ch = VC_CH(vc);

    ch->sent_events++;
    ch->sent_bytes += bytes;
    if (unlikely(ch->sent_events - k->events > (uint64_t) MPIDI_PTL.credit_events / 2 ||
                 ch->sent_bytes - k->bytes > (uint64_t) MPIDI_PTL.credit_bytes / 2) &&
        ch->sent_events - ch->asked_at >= (uint64_t) MPIDI_PTL.credit_events / 8)
        MPIDI_PTL_Ask_credit(vc);
}

/* Of what CH3 matches only the bytes are charged: messages that are not looked at fill the inbox, and nothing else. */
static inline int MPIDI_PTL_Has_bytes(MPIDI_VC_t * vc, intptr_t bytes)
{
    return VC_CH(vc)->sent_bytes + bytes - MPIDI_PTL.known[vc->pg_rank].bytes <= (uint64_t) MPIDI_PTL.credit_bytes;
}

static inline void MPIDI_PTL_Spend_bytes(MPIDI_VC_t * vc, intptr_t bytes)
{
    MPIDI_PTL_VC_t *ch = VC_CH(vc);

    ch->sent_bytes += bytes;
    if (unlikely(ch->sent_bytes - MPIDI_PTL.known[vc->pg_rank].bytes > (uint64_t) MPIDI_PTL.credit_bytes / 2) &&
        ch->sent_bytes - ch->asked_bytes >= (uint64_t) MPIDI_PTL.credit_bytes / 8)
        MPIDI_PTL_Ask_credit(vc);
}

static inline void MPIDI_PTL_Give_back(MPIDI_VC_t * vc, int events, intptr_t bytes)
{
    MPIDI_PTL_Counts_t *c = &MPIDI_PTL.given_back[vc->pg_rank];

    if (unlikely(MPIDI_PTL.bypass)) {
        MPIDI_PTL_Give_back_if_room(vc->pg_rank, events, bytes);
        return;
    }
    c->events += events;
    c->bytes += bytes;
}

/* ch3_coll_comm.c */
int MPIDI_PTL_Coll_init(void);
void MPIDI_PTL_Coll_fini(void);

/* ch3_recv.c */
typedef struct {
    int source, tag;
    intptr_t length;            /* bytes */
} MPIDI_PTL_Direct_t;
int MPIDI_PTL_Recv_direct(void *buf, MPI_Aint count, MPI_Datatype datatype, int source, int tag, int context_id,
                          MPIR_Comm * comm, unsigned looks, MPIDI_PTL_Direct_t * d, int *mpi_errno_p);

#define MPIDI_PTL_RECEIPTS 256  /* such ones, without a look at what else there is to do */
extern int MPIDI_PTL_receipts;
int MPIDI_PTL_Recv_may(const MPIR_Comm * comm);

/* ch3_recvq.c */
int MPIDI_PTL_Recvq_clear(int source, int tag, int context_id);
void MPIDI_PTL_Recvq_matched(MPIR_Request * rreq);
void MPIDI_PTL_Recvq_holds(MPIDI_VC_t * vc, intptr_t bytes);
void MPIDI_PTL_Recvq_held(MPIDI_VC_t * vc);
void MPIDI_PTL_Recvq_kept(MPIR_Request * rreq, MPIDI_VC_t * vc, intptr_t bytes);
MPIR_Request *MPIDI_PTL_Recvq_unexpected(void);

/* ch3_eager.c */
extern MPIDI_Comm_ops_t MPIDI_PTL_Comm_ops;

/* An envelope as the word that it is in packets, in match bits and in the masks of ch3_recvq.c. */
_Static_assert(sizeof(MPIDI_Message_match) == 8 && offsetof(MPIDI_Message_match_parts_t, tag) == 0 &&
               sizeof(((MPIDI_Message_match_parts_t *) 0)->tag) == 4 &&
               offsetof(MPIDI_Message_match_parts_t, rank) == 4 &&
               offsetof(MPIDI_Message_match_parts_t, context_id) == 6, "MPIDI_PTL_Match_word");
static inline uint64_t MPIDI_PTL_Match_word(int rank, int tag, int context_id)
{
    return (uint32_t) tag | (uint64_t) (uint16_t) rank << 32 | (uint64_t) (uint16_t) context_id << 48;
}

/* Bytes of a message of builtin type that is not too long to go without rendezvous; or -1. */
static inline intptr_t MPIDI_PTL_Eager_size(MPIDI_VC_t * vc, MPIR_Comm * comm, MPI_Aint count, MPI_Datatype datatype)
{
    int threshold = -1;
    intptr_t n;

    if (unlikely(!HANDLE_IS_BUILTIN(datatype)))
        return -1;
    n = count * MPIR_Datatype_get_basic_size(datatype);
    MPIDI_CH3_GET_EAGER_THRESHOLD(&threshold, comm, vc);
    return n + (intptr_t) sizeof(MPIDI_CH3_Pkt_eager_send_t) <= threshold ? n : -1;
}

/* A send request with what CH3 may need later: to cancel, to free. */
static inline MPIR_Request *MPIDI_PTL_Create_send(MPIR_Comm * comm, uint64_t match)
{
    MPIR_Request *sreq = MPIR_Request_create(MPIR_REQUEST_KIND__SEND);

    sreq->comm = comm;
    MPIR_Comm_add_ref(comm);
    sreq->dev.partner_request = NULL;
    sreq->dev.match.whole = match;
    MPIDI_Request_set_type(sreq, MPIDI_REQUEST_TYPE_SEND);
    return sreq;
}

/* ch3_born.c */
extern MPIR_Request *MPIDI_PTL_born;
extern MPIR_Request MPIDI_PTL_born_mark;
MPIR_Request *MPIDI_PTL_More_born(void);
void MPIDI_PTL_Disown_born(MPIR_Request * req);
void MPIDI_PTL_Born_fini(void);

/* The request that MPIDI_PTL_Give_born will give, for its handle. NULL: no memory. */
static inline MPIR_Request *MPIDI_PTL_Next_born(void)
{
    return likely(MPIDI_PTL_born != NULL) ? MPIDI_PTL_born : MPIDI_PTL_More_born();
}

/* The next one, now the user's: complete, no error, with @match as envelope. Of a receive the status is to set. */
static inline MPIR_Request *MPIDI_PTL_Give_born(MPIR_Request_kind_t kind, MPIR_Comm * comm, uint64_t match)
{
    MPIR_Request *req = MPIDI_PTL_born;

    MPIDI_PTL_born = req->next;
    MPIR_Object_set_ref(req, 2);
    req->kind = kind;
    if (kind == MPIR_REQUEST_KIND__SEND)
        MPII_REQUEST_CLEAR_DBG(req);
    req->comm = comm;
    MPIR_Comm_add_ref(comm);
    req->dev.match.whole = match;
    return req;
}

/* The next one as a receive that is to be posted: MPICH's, with two references. NULL: no memory. */
static inline MPIR_Request *MPIDI_PTL_Unborn(void)
{
    MPIR_Request *req = MPIDI_PTL_Next_born();

    if (unlikely(req == NULL))
        return NULL;
    MPIDI_PTL_born = req->next;
    req->prev = NULL;
    MPIR_Object_set_ref(req, 2);
    req->kind = MPIR_REQUEST_KIND__RECV;
    MPIR_cc_set(&req->cc, 1);
    req->comm = NULL;
    req->dev.state = 0;
    return req;
}

/* MPID_Request_complete, for a receive about which nobody else wants to know. */
static inline int MPIDI_PTL_Complete_recv(MPIR_Request * rreq)
{
    if (unlikely(rreq->cc_ptr != &rreq->cc || MPIR_cc_get(rreq->cc) != 1 || rreq->completion_notification != NULL ||
                 rreq->dev.request_completed_cb != NULL || MPIR_Object_get_ref(rreq) != 2))
        return MPID_Request_complete(rreq);
    MPIR_cc_set(&rreq->cc, 0);
    MPIR_Object_set_ref(rreq, 1);
    MPIDI_CH3_Progress_signal_completion();
    return MPI_SUCCESS;
}

/*
 * The same, for one from MPIDI_PTL_Unborn() of which nothing but its status, its data's length and the kind of its
 * message has been set since it was posted, without an error: it goes to the stack again.
 */
static inline int MPIDI_PTL_Complete_clean(MPIR_Request * rreq)
{
    if (unlikely(rreq->cc_ptr != &rreq->cc || MPIR_cc_get(rreq->cc) != 1 || rreq->completion_notification != NULL ||
                 rreq->dev.request_completed_cb != NULL || MPIR_Object_get_ref(rreq) != 2))
        return MPID_Request_complete(rreq);
    MPIR_cc_set(&rreq->cc, 0);
    rreq->prev = &MPIDI_PTL_born_mark;  /* the device's reference is the stack's */
    MPIDI_CH3_Progress_signal_completion();
    return MPI_SUCCESS;
}
int MPIDI_PTL_Receive_short(MPIDI_VC_t * vc, uint64_t match, MPI_Request id, char *data, intptr_t n,
                            MPIR_Request ** rreqp);
void MPIDI_PTL_Set_truncated(MPIR_Request * rreq, intptr_t sent, intptr_t user_sz);

/*
 * Packets in a buffer are read as they were written, in words of 8 bytes: what is read in wider ones right after it was
 * written waits until the stores have left the core's queue. They are not aligned for MPIDI_CH3_Pkt_t either.
 */
static inline uint64_t MPIDI_PTL_Word(const char *buf, int i)
{
    uint64_t w;

    memcpy(&w, buf + 8 * i, sizeof(w));
    return w;
}

/* Is this an eager message with all its data? */
static inline int MPIDI_PTL_Is_short(const char *buf, intptr_t len)
{
    return len >= (intptr_t) sizeof(MPIDI_CH3_Pkt_eager_send_t) &&
        (uint32_t) MPIDI_PTL_Word(buf, 0) == MPIDI_CH3_PKT_EAGER_SEND &&
        MPIDI_PTL_Word(buf, 3) == (uint64_t) (len - sizeof(MPIDI_CH3_Pkt_eager_send_t));
}

/* ch3_win_fns.c */
void MPIDI_PTL_Win_pools_later(void);
void MPIDI_PTL_Win_pools_told(void);

/* ch3_lock.c */
#define MPIDI_PTL_POLLS_ALONE   4       /* looks for an event between two times that other threads are let in, */
#define MPIDI_PTL_POLLS_CORE    128     /* and that the core is given to whoever else is on it */
void MPIDI_PTL_Lock_lend(int core);

/* A turn of a loop that waits for another core. */
static inline void MPIDI_PTL_Pause(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

void MPIDI_PTL_Lock_hold(int on);

/* ch3_progress.c */
int MPIDI_PTL_Progress_init(void);
int MPIDI_PTL_Post_buf(char *buf);
int MPIDI_PTL_Handle_event(const ptl_event_t * ev);
int MPIDI_PTL_Sleep_for_event(int timeout_ms, int *made_progress);
int64_t MPIDI_PTL_Now_ns(void);
void MPIDI_PTL_Nap(long ns);
int MPIDI_PTL_Handle_bytes(MPIDI_VC_t * vc, char *buf, intptr_t len, int more);
int MPIDI_PTL_Handle_bare(MPIDI_VC_t * vc, uint64_t match, ptl_hdr_data_t hdr, char *data, intptr_t len);
int MPIDI_PTL_Handle_data(MPIDI_VC_t * vc, MPIR_Request * rreq, char *buf, size_t len);

/* ch3_rndv.c */
int MPIDI_PTL_RndvSend(MPIR_Request ** sreq_p, const void *buf, MPI_Aint count, MPI_Datatype datatype,
                       int dt_contig, intptr_t data_sz, MPI_Aint dt_true_lb, int rank, int tag,
                       MPIR_Comm * comm, int context_offset);
void MPIDI_PTL_Fill_rts(MPIDI_VC_t * vc, MPIR_Request * sreq, int contig, intptr_t data_sz, MPI_Aint dt_true_lb,
                        MPIDI_PTL_pkt_rts_t * rts);
void MPIDI_PTL_Read_rts(MPIDI_PTL_pkt_rts_t * rts, uint64_t match, uint64_t hdr_data, const void *data);
int MPIDI_PTL_Send_done(MPIDI_VC_t * vc, MPI_Request sender_req_id);
void *MPIDI_PTL_Packed(MPIR_Request * sreq, intptr_t data_sz);
int MPIDI_PTL_Rts_matched(MPIDI_VC_t * vc, MPIR_Request * rreq, int found, const MPIDI_PTL_pkt_rts_t * rts);
int MPIDI_PTL_RndvRecv(MPIDI_VC_t * vc, MPIR_Request * rreq);
int MPIDI_PTL_Retry_gets(int *made_progress);
int MPIDI_PTL_Take_replies(int *made_progress);
int MPIDI_PTL_Get_done(const ptl_event_t * ev);
MPIDI_CH3_PktHandler_Fcn MPIDI_PTL_PktHandler_Rts;
MPIDI_CH3_PktHandler_Fcn MPIDI_PTL_PktHandler_Done;

/* ch3_taken.c */
extern int MPIDI_PTL_takes_waiting;
int MPIDI_PTL_Take(MPIDI_VC_t * vc, MPIR_Request * rreq);
int MPIDI_PTL_Take_waiting(int *made_progress);
int MPIDI_PTL_Taken_reply(MPIR_Request * rreq, const ptl_event_t * ev, int *mpi_errno_p);
void MPIDI_PTL_Taken_leaves(MPIR_Request * rreq);
int MPIDI_PTL_Taken_settle(void);

/* Of messages that no receive was posted for: what is held of them in memory, and the most that was. */
typedef struct {
    int64_t bytes, most;
} MPIDI_PTL_Unex_t;
extern MPIDI_PTL_Unex_t MPIDI_PTL_unex;
void MPIDI_PTL_Unex_count(int64_t bytes);
void MPIDI_PTL_Unex_init(void);

/* ch3_layout.c */
typedef struct MPIDI_PTL_Run {
    uint64_t addr, len;         /* the first block */
    int64_t stride;             /* from each to the next */
    uint64_t blocks;
} MPIDI_PTL_Run_t;
typedef struct MPIDI_PTL_Layout {
    uint64_t lo, hi;            /* all bytes lie between these */
    uint64_t segments;          /* blocks of all runs */
    uint64_t runs, room;
    MPIDI_PTL_Run_t run[];
} MPIDI_PTL_Layout_t;
#define MPIDI_PTL_LAYOUT_SIZE(runs_)    (sizeof(MPIDI_PTL_Layout_t) + (runs_) * sizeof(MPIDI_PTL_Run_t))
typedef struct MPIDI_PTL_Cursor {
    const MPIDI_PTL_Run_t *run;
    uint64_t runs, block;       /* runs from this one on, blocks of it before this one */
    uint64_t addr, left;        /* the rest of this block; left 0: the end */
} MPIDI_PTL_Cursor_t;
MPIDI_PTL_Layout_t *MPIDI_PTL_Layout_make(const void *buf, MPI_Aint count, MPI_Datatype datatype, intptr_t bytes,
                                          uint64_t max_runs);
MPIDI_PTL_Layout_t *MPIDI_PTL_Layout_of_run(uint64_t addr, uint64_t len, int64_t stride, uint64_t blocks);
int MPIDI_PTL_Layout_valid(const MPIDI_PTL_Layout_t * l, uint64_t runs);
void MPIDI_PTL_Layout_start(MPIDI_PTL_Cursor_t * c, const MPIDI_PTL_Layout_t * l);
uint64_t MPIDI_PTL_Layout_piece(MPIDI_PTL_Cursor_t * to, MPIDI_PTL_Cursor_t * from, uint64_t max, uint64_t * to_addr,
                                uint64_t * from_addr);
int MPIDI_PTL_Layout_copy(const MPIDI_PTL_Layout_t * to, int peer, const MPIDI_PTL_Layout_t * from, uint64_t n);
int MPIDI_PTL_Local_peer(MPIDI_VC_t * vc);

/* ch3_node.c */
int MPIDI_PTL_Local_rank(const MPIDI_VC_t * vc);
int MPIDI_PTL_All_alive(const int *local, size_t step, int n);

/* ch3_memcpy.c */
void MPIDI_PTL_Memcpy_init(void);

/* ch3_dynamic.c */
int MPIDI_CH3_Get_business_card(int rank, char *value, int length);
void MPIDI_PTL_Dynamic_pg(MPIDI_PG_t * pg);

/* ch3_wire.c */
extern int MPIDI_PTL_wires;     /* there are sockets to look at */
int MPIDI_PTL_Wire_listen(void);
int MPIDI_PTL_Wire_root(MPIDI_VC_t * vc, const char *name, int tag);
int MPIDI_PTL_Wire_put(MPIDI_VC_t * vc, struct iovec **iov, int *n_iov, int *first);
int MPIDI_PTL_Wire_poll(int *made_progress);
int MPIDI_PTL_Wire_pending(void);
int MPIDI_PTL_Wire_end(MPIDI_VC_t * vc);
void MPIDI_PTL_Wire_forget(MPIDI_VC_t * vc);
void MPIDI_PTL_Wire_fini(void);
void MPIDI_PTL_Wire_name(const MPIDI_PG_t * pg, int rank, char *name, int size);
#define MPIDI_PTL_WIRE_NAME     104
#define MPIDI_PTL_WIRE_KEY      "portals_socket"

/* ch3_win_lock.c */
extern int MPIDI_PTL_waiting_locks;     /* requests from other nodes that wait for a lock of this rank's windows */
int MPIDI_PTL_Grant_locks(int *made_progress);
MPIDI_CH3_PktHandler_Fcn MPIDI_PTL_PktHandler_Ctl;
void MPIDI_PTL_Win_mutex_lock(MPIR_Win * win);
void MPIDI_PTL_Win_mutex_unlock(MPIR_Win * win);

/* What w[0] of a MPIDI_PTL_PKT_CTL says. */
enum { MPIDI_PTL_CTL_LOCK = 1, MPIDI_PTL_CTL_GRANTED, MPIDI_PTL_CTL_UNLOCK, MPIDI_PTL_CTL_KICK };

/* CH3 takes these when it applies an accumulate that came by packet: on this node it is not alone. */
#define MPIDI_CH3I_SHM_MUTEX_LOCK(win_ptr) MPIDI_PTL_Win_mutex_lock(win_ptr)
#define MPIDI_CH3I_SHM_MUTEX_UNLOCK(win_ptr) MPIDI_PTL_Win_mutex_unlock(win_ptr)
#define MPIDI_CH3I_SHM_MUTEX_INIT(win_ptr)
#define MPIDI_CH3I_SHM_MUTEX_DESTROY(win_ptr)

/*
 * One-sided communication is the channel's own, ch3_win*.c. CH3's functions get other names where they are compiled,
 * and are called for what only packets reach.
 */
extern __typeof__(MPID_Put) MPIDI_PTL_CH3_Put;
extern __typeof__(MPID_Get) MPIDI_PTL_CH3_Get;
extern __typeof__(MPID_Accumulate) MPIDI_PTL_CH3_Accumulate;
extern __typeof__(MPID_Get_accumulate) MPIDI_PTL_CH3_Get_accumulate;
extern __typeof__(MPID_Fetch_and_op) MPIDI_PTL_CH3_Fetch_and_op;
extern __typeof__(MPID_Compare_and_swap) MPIDI_PTL_CH3_Compare_and_swap;
extern __typeof__(MPID_Rput) MPIDI_PTL_CH3_Rput;
extern __typeof__(MPID_Rget) MPIDI_PTL_CH3_Rget;
extern __typeof__(MPID_Raccumulate) MPIDI_PTL_CH3_Raccumulate;
extern __typeof__(MPID_Rget_accumulate) MPIDI_PTL_CH3_Rget_accumulate;
extern __typeof__(MPID_Win_lock) MPIDI_PTL_CH3_Win_lock;
extern __typeof__(MPID_Win_unlock) MPIDI_PTL_CH3_Win_unlock;
extern __typeof__(MPID_Win_lock_all) MPIDI_PTL_CH3_Win_lock_all;
extern __typeof__(MPID_Win_unlock_all) MPIDI_PTL_CH3_Win_unlock_all;
extern __typeof__(MPID_Win_flush) MPIDI_PTL_CH3_Win_flush;
extern __typeof__(MPID_Win_flush_local) MPIDI_PTL_CH3_Win_flush_local;
extern __typeof__(MPID_Win_flush_all) MPIDI_PTL_CH3_Win_flush_all;
extern __typeof__(MPID_Win_flush_local_all) MPIDI_PTL_CH3_Win_flush_local_all;
extern __typeof__(MPID_Win_fence) MPIDI_PTL_CH3_Win_fence;
extern __typeof__(MPID_Win_attach) MPIDI_PTL_CH3_Win_attach;
extern __typeof__(MPID_Win_detach) MPIDI_PTL_CH3_Win_detach;
#ifndef MPIDI_PTL_OWNS_RMA
#define MPID_Put MPIDI_PTL_CH3_Put
#define MPID_Get MPIDI_PTL_CH3_Get
#define MPID_Accumulate MPIDI_PTL_CH3_Accumulate
#define MPID_Get_accumulate MPIDI_PTL_CH3_Get_accumulate
#define MPID_Fetch_and_op MPIDI_PTL_CH3_Fetch_and_op
#define MPID_Compare_and_swap MPIDI_PTL_CH3_Compare_and_swap
#define MPID_Rput MPIDI_PTL_CH3_Rput
#define MPID_Rget MPIDI_PTL_CH3_Rget
#define MPID_Raccumulate MPIDI_PTL_CH3_Raccumulate
#define MPID_Rget_accumulate MPIDI_PTL_CH3_Rget_accumulate
#define MPID_Win_lock MPIDI_PTL_CH3_Win_lock
#define MPID_Win_unlock MPIDI_PTL_CH3_Win_unlock
#define MPID_Win_lock_all MPIDI_PTL_CH3_Win_lock_all
#define MPID_Win_unlock_all MPIDI_PTL_CH3_Win_unlock_all
#define MPID_Win_flush MPIDI_PTL_CH3_Win_flush
#define MPID_Win_flush_local MPIDI_PTL_CH3_Win_flush_local
#define MPID_Win_flush_all MPIDI_PTL_CH3_Win_flush_all
#define MPID_Win_flush_local_all MPIDI_PTL_CH3_Win_flush_local_all
#define MPID_Win_fence MPIDI_PTL_CH3_Win_fence
#define MPID_Win_attach MPIDI_PTL_CH3_Win_attach
#define MPID_Win_detach MPIDI_PTL_CH3_Win_detach
#endif

#endif /* MPIDI_CH3_IMPL_H_INCLUDED */

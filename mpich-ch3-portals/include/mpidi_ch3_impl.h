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
 * Match bits, header data and remote offset of a put that starts a message are 0: such a put of up to 56 bytes is one
 * cache line in the peer's inbox.
 *
 * Everything here runs under MPICH's global lock.
 */
#ifndef MPIDI_CH3_IMPL_H_INCLUDED
#define MPIDI_CH3_IMPL_H_INCLUDED

#include "mpidimpl.h"
#include <portals3.h>
#include <p3rt/p3rt.h>

#define MPIDI_PTL_PT_PKT        112     /* packets */
#define MPIDI_PTL_PT_MEM        113     /* the whole address space, for peers that fetch a large message */

#define MPIDI_PTL_MORE          1       /* hdr_data: goes on where the last put ended */

#define MPIDI_PTL_AS_LENGTH     ((ptl_size_t) 1 << 47)  /* a user address space */
#define MPIDI_PTL_EQ_SIZE       128     /* of packets: what finds no room waits in the inbox */
#define MPIDI_PTL_MAX_GETS      255     /* on their way: places in the queue of replies, where nothing could wait */
/*
 * Receive buffers for packets: what finds none of them waits in the inbox. A buffer is full when it has no room for the
 * largest packet any more; it is then posted anew in front of the other, so one of them sees nearly all traffic and
 * stays in the cache.
 */
#define MPIDI_PTL_BUFS          2
#define MPIDI_PTL_BUF_SIZE      (64 * 1024)
#define MPIDI_PTL_YIELD_NS      100000  /* how long a waiting rank yields before it sleeps */
#define MPIDI_PTL_PIECE         (128 * 1024)    /* bytes fetched at a time for a non-contiguous receive */

typedef struct MPIDI_PTL_State {
    ptl_handle_ni_t ni;
    ptl_handle_eq_t eq;         /* packets */
    ptl_handle_eq_t eq_get;     /* replies to our gets */
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

    while ((vc = MPIDI_PTL.id_hash[i]) != NULL && (vc->ch.pid != pid || vc->ch.nid != nid))
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

/* ch3_send.c */
/* Packet and data side by side. Used within one call under the global lock; the put has copied it on return. */
extern char MPIDI_PTL_stage[PTL_INLINE_MAX_NP];
int MPIDI_PTL_Send_pending(int *made_progress);
int MPIDI_PTL_Flush(void);

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
    ptl_process_id_t id = { vc->ch.nid, vc->ch.pid };

    return PtlPutRegion(MPIDI_PTL.md, (ptl_size_t) (uintptr_t) buf, len, PTL_NO_ACK_REQ, id,
                        MPIDI_PTL_PT_PKT, 0, 0, 0, hdr_data);
}

/* ch3_eager.c */
extern MPIDI_Comm_ops_t MPIDI_PTL_Comm_ops;
int MPIDI_PTL_Receive_short(char *buf, MPIR_Request ** rreqp);

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

/* ch3_progress.c */
int MPIDI_PTL_Progress_init(void);
int MPIDI_PTL_Post_buf(char *buf);

/* ch3_rndv.c */
int MPIDI_PTL_RndvSend(MPIR_Request ** sreq_p, const void *buf, MPI_Aint count, MPI_Datatype datatype,
                       int dt_contig, intptr_t data_sz, MPI_Aint dt_true_lb, int rank, int tag,
                       MPIR_Comm * comm, int context_offset);
int MPIDI_PTL_RndvRecv(MPIDI_VC_t * vc, MPIR_Request * rreq);
int MPIDI_PTL_Retry_gets(int *made_progress);
int MPIDI_PTL_Take_replies(int *made_progress);
int MPIDI_PTL_Get_done(const ptl_event_t * ev);
MPIDI_CH3_PktHandler_Fcn MPIDI_PTL_PktHandler_Rts;
MPIDI_CH3_PktHandler_Fcn MPIDI_PTL_PktHandler_Done;

/* Windows of this channel are reached by packets only: their atomics need no lock between processes. */
#define MPIDI_CH3I_SHM_MUTEX_LOCK(win_ptr)
#define MPIDI_CH3I_SHM_MUTEX_UNLOCK(win_ptr)
#define MPIDI_CH3I_SHM_MUTEX_INIT(win_ptr)
#define MPIDI_CH3I_SHM_MUTEX_DESTROY(win_ptr)

#endif /* MPIDI_CH3_IMPL_H_INCLUDED */

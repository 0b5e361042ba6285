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
#define MPIDI_PTL_EQ_SIZE       2048
/*
 * Receive buffers for packets. Two small ones, first in the match list whenever they are empty, see nearly all traffic
 * and stay in the cache. Behind them lie big ones that only a burst touches: a put to a polled portal that finds no
 * buffer is dropped, so there is always room for all that the library may take out of the inboxes between two events
 * that we fetch, which is at most MPIDI_PTL_BURST bytes from each peer of this node.
 */
#define MPIDI_PTL_SMALL_BUFS    2
#define MPIDI_PTL_SMALL_SIZE    (64 * 1024)
#define MPIDI_PTL_BIG_SIZE      (256 * 1024)
#define MPIDI_PTL_BURST         (3 * MPIDI_PTL_BIG_SIZE)
#define MPIDI_PTL_MAX_GETS      7       /* on their way at one time: a peer keeps 8 records of what we have not finished */
#define MPIDI_PTL_YIELD_NS      100000  /* how long a waiting rank yields before it sleeps */
#define MPIDI_PTL_PIECE         (128 * 1024)    /* bytes fetched at a time for a non-contiguous receive */

typedef struct MPIDI_PTL_Buf {
    char *start;
    int length;
} MPIDI_PTL_Buf_t;

typedef struct MPIDI_PTL_State {
    ptl_handle_ni_t ni;
    ptl_handle_eq_t eq;
    ptl_handle_md_t md;         /* our address space, source of all puts */
    int oversubscribed;
    int spin;                   /* empty polls before the core is given up */
    MPIDI_VC_t *sendq_head;     /* connections that have a send queue */
    MPIDI_PTL_Buf_t *bufs;
    int n_bufs;
    char *buf_memory;
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
int MPIDI_PTL_Send_pending(int *made_progress);
int MPIDI_PTL_Flush(void);

/* ch3_progress.c */
int MPIDI_PTL_Progress_init(void);
int MPIDI_PTL_Post_buf(MPIDI_PTL_Buf_t * buf);

/* ch3_rndv.c */
int MPIDI_PTL_RndvSend(MPIR_Request ** sreq_p, const void *buf, MPI_Aint count, MPI_Datatype datatype,
                       int dt_contig, intptr_t data_sz, MPI_Aint dt_true_lb, int rank, int tag,
                       MPIR_Comm * comm, int context_offset);
int MPIDI_PTL_RndvRecv(MPIDI_VC_t * vc, MPIR_Request * rreq);
int MPIDI_PTL_Get_done(const ptl_event_t * ev);
MPIDI_CH3_PktHandler_Fcn MPIDI_PTL_PktHandler_Rts;
MPIDI_CH3_PktHandler_Fcn MPIDI_PTL_PktHandler_Done;

/* Windows of this channel are reached by packets only: their atomics need no lock between processes. */
#define MPIDI_CH3I_SHM_MUTEX_LOCK(win_ptr)
#define MPIDI_CH3I_SHM_MUTEX_UNLOCK(win_ptr)
#define MPIDI_CH3I_SHM_MUTEX_INIT(win_ptr)
#define MPIDI_CH3I_SHM_MUTEX_DESTROY(win_ptr)

#endif /* MPIDI_CH3_IMPL_H_INCLUDED */

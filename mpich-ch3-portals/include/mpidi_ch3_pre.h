/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What the channel adds to MPICH's own types. All of MPICH includes this file, so a change here compiles 1100 files:
 * whatever only the channel needs is in mpidi_ch3_impl.h.
 */
#ifndef MPIDI_CH3_PRE_H_INCLUDED
#define MPIDI_CH3_PRE_H_INCLUDED

#include <stdint.h>

#define MPIDI_DEV_IMPLEMENTS_KVS
#define MPIDI_CH3_HAS_NO_DYNAMIC_PROCESS
#define ENABLE_COMM_OVERRIDES   /* short sends go straight, see ch3_eager.c */
#define HAVE_CH3_PRE_INIT       /* ranks and nodes come from Portals, see MPIDI_CH3_Pre_init */

/* Rendezvous with the sender's address: the receiver fetches the data itself, then says that it has them. */
#define MPIDI_CH3_PKT_ENUM      \
    MPIDI_PTL_PKT_RTS,          \
    MPIDI_PTL_PKT_DONE

#define MPIDI_CH3_PKT_DEFS                                                      \
    typedef struct MPIDI_PTL_pkt_rts {                                          \
        MPIDI_CH3_Pkt_type_t type;                                              \
        MPI_Request sender_req_id;                                              \
        MPIDI_Message_match match;                                              \
        intptr_t data_sz;                                                       \
        uint64_t addr;          /* in the sender's address space */             \
    } MPIDI_PTL_pkt_rts_t;                                                      \
    typedef struct MPIDI_PTL_pkt_done {                                         \
        MPIDI_CH3_Pkt_type_t type;                                              \
        MPI_Request sender_req_id;                                              \
    } MPIDI_PTL_pkt_done_t;

#define MPIDI_CH3_PKT_DECL              \
    MPIDI_PTL_pkt_rts_t ptl_rts;        \
    MPIDI_PTL_pkt_done_t ptl_done;

typedef struct {
    int dummy;
} MPIDI_CH3I_CH_comm_t;

typedef struct MPIDI_CH3I_VC {
    uint32_t nid, pid;                  /* the peer's Portals id */
    int closing;                        /* CLOSED, but packets of the close protocol are still in the send queue */
    int on_list;                        /* on the list of connections with a send queue */
    struct MPIR_Request *recv_active;   /* message whose first part has arrived */
    struct MPIR_Request *sendq_head, *sendq_tail;
    struct MPIDI_VC *next;              /* list of connections with a send queue */
} MPIDI_CH3I_VC;
#define MPIDI_CH3_VC_DECL struct MPIDI_CH3I_VC ch;

/* A receive whose data this rank fetches from the sender. */
struct MPIDI_CH3I_Request {
    uint64_t rts_addr;                  /* sender's address of the next byte; 0: CH3's own rendezvous, by packets */
    struct MPIDI_VC *vc;
    char *tmp;                          /* for one piece of data on its way into a non-contiguous buffer, or NULL */
    intptr_t left;                      /* bytes not asked for yet */
};
#define MPIDI_CH3_REQUEST_DECL struct MPIDI_CH3I_Request ch;
#define MPIDI_CH3_REQUEST_INIT(req_) ((req_)->ch.rts_addr = 0)

typedef struct MPIDI_CH3I_Progress_state {
    unsigned int completion_count;
} MPIDI_CH3I_Progress_state;
#define MPIDI_CH3_PROGRESS_STATE_DECL MPIDI_CH3I_Progress_state ch;

extern volatile unsigned int MPIDI_CH3I_progress_completion_count;

#endif /* MPIDI_CH3_PRE_H_INCLUDED */

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What the channel adds to MPICH's own types. All of MPICH includes this file, so a change here compiles 1100 files:
 * in MPICH's objects the channel has room, and what lies in it is in mpidi_ch3_impl.h.
 */
#ifndef MPIDI_CH3_PRE_H_INCLUDED
#define MPIDI_CH3_PRE_H_INCLUDED

#include <stdint.h>
#include <string.h>

#define MPIDI_DEV_IMPLEMENTS_KVS
#define ENABLE_COMM_OVERRIDES   /* short sends go straight, see ch3_eager.c */
#define HAVE_CH3_PRE_INIT       /* ranks and nodes come from Portals, see MPIDI_CH3_Pre_init */

/*
 * RTS: rendezvous with the sender's address: the receiver fetches the data itself, then says that it has them (DONE).
 * CTL: any other word between two channels; what it says is in w[0], see mpidi_ch3_impl.h.
 */
#define MPIDI_CH3_PKT_ENUM      \
    MPIDI_PTL_PKT_RTS,          \
    MPIDI_PTL_PKT_DONE,         \
    MPIDI_PTL_PKT_CTL

#define MPIDI_CH3_PKT_DEFS                                                      \
    typedef struct MPIDI_PTL_pkt_rts {                                          \
        MPIDI_CH3_Pkt_type_t type;                                              \
        MPI_Request sender_req_id;                                              \
        MPIDI_Message_match match;                                              \
        intptr_t data_sz;                                                       \
        uint64_t addr;          /* in the sender's address space */             \
        uint64_t w[2];          /* more of the sender's data: see ch3_rndv.c */ \
    } MPIDI_PTL_pkt_rts_t;                                                      \
    typedef struct MPIDI_PTL_pkt_done {                                         \
        MPIDI_CH3_Pkt_type_t type;                                              \
        MPI_Request sender_req_id;                                              \
    } MPIDI_PTL_pkt_done_t;                                                     \
    typedef struct MPIDI_PTL_pkt_ctl {                                          \
        MPIDI_CH3_Pkt_type_t type;                                              \
        MPI_Request sender_req_id;                                              \
        uint64_t w[6];                                                          \
    } MPIDI_PTL_pkt_ctl_t;

#define MPIDI_CH3_PKT_DECL              \
    MPIDI_PTL_pkt_rts_t ptl_rts;        \
    MPIDI_PTL_pkt_done_t ptl_done;      \
    MPIDI_PTL_pkt_ctl_t ptl_ctl;

/* A communicator's, NULL where the channel's collectives have nothing to do with it: see ch3_coll.c. */
typedef struct {
    struct MPIDI_PTL_Coll *coll;
} MPIDI_CH3I_CH_comm_t;

/* A window's: see ch3_win_fns.c. */
#define MPIDI_CH3_WIN_DECL struct MPIDI_PTL_Win *ptl;

/* Room for a MPIDI_PTL_VC_t, a MPIDI_PTL_Request_t. The first word of a request is 0 when it is made. */
typedef struct MPIDI_CH3I_VC {
    uint64_t room[24];
} MPIDI_CH3I_VC;
#define MPIDI_CH3_VC_DECL struct MPIDI_CH3I_VC ch;

struct MPIDI_CH3I_Request {
    uint64_t room[18];
};
#define MPIDI_CH3_REQUEST_DECL struct MPIDI_CH3I_Request ch;
#define MPIDI_CH3_REQUEST_INIT(req_) ((req_)->ch.room[0] = 0)

typedef struct MPIDI_CH3I_Progress_state {
    unsigned int completion_count;
} MPIDI_CH3I_Progress_state;
#define MPIDI_CH3_PROGRESS_STATE_DECL MPIDI_CH3I_Progress_state ch;

extern volatile unsigned int MPIDI_CH3I_progress_completion_count;

/* Every copy that MPICH makes, of packed data too. Long ones go by MPIDI_PTL_long_copy: see ch3_memcpy.c. */
#define MPIDI_PTL_LONG_COPY     (32 * 1024)
extern void (*MPIDI_PTL_long_copy) (void *dst, const void *src, size_t len);
#undef MPIR_Memcpy
#define MPIR_Memcpy(dst, src, len)                                              \
    do {                                                                        \
        CHECK_MEMCPY((dst), (src), (len));                                      \
        if (__builtin_expect((size_t) (len) < MPIDI_PTL_LONG_COPY, 1))          \
            memcpy((dst), (src), (len));                                        \
        else                                                                    \
            MPIDI_PTL_long_copy((dst), (src), (len));                           \
    } while (0)

/* MPICH's lock of all calls, where several threads make them: who does not get it does as ch3_lock.c says. */
#if MPL_THREAD_PACKAGE_NAME == MPL_THREAD_PACKAGE_POSIX && MPL_POSIX_MUTEX_NAME == MPL_POSIX_MUTEX_NATIVE
#include <pthread.h>
int MPIDI_PTL_Lock_wait(pthread_mutex_t * mutex);
#undef MPL_thread_mutex_lock
#define MPL_thread_mutex_lock(mutex_ptr_, err_ptr_, prio_)                              \
    do {                                                                                \
        *(int *) (err_ptr_) = __builtin_expect(pthread_mutex_trylock(mutex_ptr_), 0) ?  \
            MPIDI_PTL_Lock_wait(mutex_ptr_) : 0;                                        \
    } while (0)
#endif

#endif /* MPIDI_CH3_PRE_H_INCLUDED */

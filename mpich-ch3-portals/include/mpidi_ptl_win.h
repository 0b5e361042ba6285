/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Windows: how each target's memory is reached, and what ranks of a node share.
 *
 * A target on this node is
 *   direct      its memory is in a SMARTMAP window (or is our own): loads, stores and the processor's atomics;
 *   by copy     it is not: put and get are copies by the kernel, where that is allowed; else packets, as
 *   far         targets on other nodes: CH3's packets.
 *
 * Atomicity. An element of 1, 2, 4 or 8 bytes, aligned to its size, in memory that all ranks of the window can reach
 * directly, is changed by one atomic instruction (or a compare-and-swap loop). All else is changed under the word acc
 * of its owner's control block: in a window over several nodes everything is, since there the owner itself applies what
 * comes by packet, with CH3's code, under the same word. What decides (native below, alignment, size) is the same for
 * every rank, the owner included; of memory attached to a dynamic window, what the registry says of the element.
 * An atomic instruction takes as long as twenty plain ones, so many elements are changed in bulk: ch3_win_acc.c.
 *
 * Locks of passive target epochs are words in the control block, taken by whoever wants them (ch3_win_lock.c); CH3 is
 * told MPI_MODE_NOCHECK. So CH3's lock packets and lock queues are not used at all; from another node the owner takes
 * the lock on the requester's behalf. In CH3's eyes an epoch is as ever: it keeps access_state and lock_epoch_count,
 * or, where a target can never need a packet, ch3_win_sync.c does.
 */
#ifndef MPIDI_PTL_WIN_H_INCLUDED
#define MPIDI_PTL_WIN_H_INCLUDED

#define MPIDI_PTL_OWNS_RMA
#include "mpidi_ch3_impl.h"
#include "mpidrma.h"
#include <smartmap.h>

/* Memory of another rank, attached to a dynamic window under the address it has here: slots, in the user's memory. */
#define MPIDI_PTL_REGIONS 63
typedef struct MPIDI_PTL_Region {
    uint64_t size;                      /* 0: free. Written last, cleared first */
    uint64_t here, there;               /* as its user names it, its address in its owner */
    int64_t owner;                      /* local rank */
} MPIDI_PTL_Region_t;
typedef struct MPIDI_PTL_Regions {
    uint64_t next;                      /* another block, in the same memory */
    MPIDI_PTL_Region_t r[MPIDI_PTL_REGIONS];
} MPIDI_PTL_Regions_t;

/* A window's control block at one rank, in memory that every rank of the node sees. */
typedef struct MPIDI_PTL_Win_ctl {
    uint64_t lock;                      /* see ch3_win_lock.c */
    uint32_t next, serving;             /* tickets of waiting writers */
    uint32_t far;                       /* requests of other nodes in the owner's queue: who unlocks tells it */
    uint32_t pad0[11];
    uint32_t acc;                       /* local rank + 1 of whom accumulates what no atomic instruction can do, or 0 */
    uint32_t bulk;                      /* and while this is set, nobody uses atomic instructions here */
    uint32_t pad1[14];
    uint32_t inside;                    /* of the owner as an origin: it is at an atomic instruction, somewhere */
    uint32_t pad2[15];
    uint64_t regions;                   /* MPIDI_PTL_Regions_t, 0: none */
    uint64_t pad3[7];
} MPIDI_PTL_Win_ctl_t;

/* A wait for a lock: zeroed at first. */
typedef struct MPIDI_PTL_Waiter {
    int queued;
    uint32_t ticket;                    /* a writer's */
    int64_t since;                      /* a reader's */
} MPIDI_PTL_Waiter_t;

/* locked: nothing, or the kind of lock */
#define MPIDI_PTL_NOCHECK (-1)

typedef struct MPIDI_PTL_Target {
    char *base;                         /* its memory, here; NULL: not reached directly, or a dynamic window */
    MPI_Aint disp_unit;
    uint8_t native;                     /* atomic instructions, for what they can do */
    uint8_t asked, granted;             /* of a far target, while locked */
    uint8_t packets;                    /* operations may need CH3 */
    uint8_t looks_near;                 /* to CH3, which compares the nodes' numbers: see ch3_win_ops.c */
    int locked;
    int proc;                           /* its local rank, -1: on another node */
    MPIDI_PTL_Win_ctl_t *ctl;           /* here; NULL: only messages reach it */
    char *there;                        /* its window in its own address space */
} MPIDI_PTL_Target_t;

/* Memory of others that has an address here: shared windows. */
typedef struct MPIDI_PTL_Segment {
    struct MPIDI_PTL_Segment *next;
    struct MPIDI_PTL_Win *win;
    char *here, *there;
    size_t size;
    int owner;                          /* local rank */
} MPIDI_PTL_Segment_t;

typedef struct MPIDI_PTL_Win {
    int n, rank;
    int one_node;                       /* all ranks of the window are on this node and see each other's memory */
    int pure;                           /* and nothing ever needs CH3 */
    int dynamic;
    int bulk;                           /* many elements may be changed in bulk */
    int lock_all;                       /* kind of lock_all epoch that is open, or 0 */
    unsigned flushes;
    MPIDI_PTL_Win_ctl_t *ctl;           /* own */
    int ctl_in_arena;
    void *mem;                          /* what the window allocated in the arena, or NULL */
    size_t mem_size;
    MPIDI_PTL_Target_t target[];
} MPIDI_PTL_Win_t;

/* ch3_win_reach.c */
MPIDI_PTL_Segment_t *MPIDI_PTL_Segment_of(const void *addr, size_t size);
int MPIDI_PTL_Segment_add(MPIDI_PTL_Win_t * w, char *here, char *there, size_t size, int owner);
void MPIDI_PTL_Segments_drop(MPIDI_PTL_Win_t * w);
void *MPIDI_PTL_Reach(MPIDI_PTL_Win_t * w, int rank, MPI_Aint addr, size_t len, int *native);

typedef int MPIDI_PTL_Piece_fn_t(void *arg, MPI_Aint disp, size_t at, size_t len);
int MPIDI_PTL_Pieces(MPI_Aint count, MPI_Datatype type, size_t total, MPIDI_PTL_Piece_fn_t * fn, void *arg);

/* ch3_win_lock.c */
int MPIDI_PTL_Try_lock(MPIDI_PTL_Win_ctl_t * ctl, int type, MPIDI_PTL_Waiter_t * waiter);
int MPIDI_PTL_Lock(const MPIDI_PTL_Win_t * w, MPIDI_PTL_Win_ctl_t * ctl, int type);
int MPIDI_PTL_Unlock(MPIR_Win * win, int rank, int type);
int MPIDI_PTL_Ask_lock(MPIR_Win * win, int rank, int type);
int MPIDI_PTL_Wait_lock(MPIR_Win * win, int rank);
void MPIDI_PTL_Acc_lock(MPIDI_PTL_Win_ctl_t * ctl);

static inline void MPIDI_PTL_Acc_unlock(MPIDI_PTL_Win_ctl_t * ctl)
{
    __atomic_store_n(&ctl->acc, 0, __ATOMIC_RELEASE);
}

/* ch3_win_ops.c */
int MPIDI_PTL_Before_packets(MPIR_Win * win, int rank);
void MPIDI_PTL_After_packets(MPIR_Win * win, int rank);

/* An operation at @target_rank that CH3 does; for a function that returns mpi_errno behind fn_fail. */
#define MPIDI_PTL_BY_PACKETS(call_)                                     \
    do {                                                                \
        mpi_errno = MPIDI_PTL_Before_packets(win, target_rank);         \
        MPIR_ERR_CHECK(mpi_errno);                                      \
        mpi_errno = call_;                                              \
        MPIDI_PTL_After_packets(win, target_rank);                      \
        MPIR_ERR_CHECK(mpi_errno);                                      \
    } while (0)

static inline int MPIDI_PTL_In_passive_epoch(MPIR_Win * win)
{
    return win->states.access_state == MPIDI_RMA_PER_TARGET ||
        (win->states.access_state >= MPIDI_RMA_LOCK_ALL_CALLED &&
         win->states.access_state <= MPIDI_RMA_LOCK_ALL_GRANTED);
}

/* Bytes from the first to the last of count elements, and where the first is. */
static inline void MPIDI_PTL_Extent(MPI_Aint count, MPI_Datatype type, MPI_Aint * lb, MPI_Aint * len)
{
    MPI_Aint extent, true_lb = 0, true_extent;
    MPIR_Datatype *dt;

    if (HANDLE_IS_BUILTIN(type)) {
        true_extent = extent = MPIR_Datatype_get_basic_size(type);
    } else {
        MPIR_Datatype_get_ptr(type, dt);
        extent = dt->extent;
        true_lb = dt->true_lb;
        true_extent = dt->true_ub - dt->true_lb;
    }
    if (extent < 0)
        true_lb += (count - 1) * extent;
    *lb = true_lb;
    *len = count > 0 ? true_extent + (count - 1) * (extent < 0 ? -extent : extent) : 0;
}

#endif /* MPIDI_PTL_WIN_H_INCLUDED */

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Collectives among ranks of one node, over SMARTMAP: what ch3_coll*.c share.
 *
 * Every rank has, for each communicator, one block of memory in its own arena. It alone writes it, but for the words
 * that are marked as atomic and `open'; the others read it through their windows. All collectives of a communicator are
 * numbered from 1; a call may use several numbers, the same on all ranks.
 *
 *   slot[s % SLOTS]   what this rank has to say in collective s: kind, and up to 56 bytes. `seq' is stored last
 *                     (release) and is s then; whoever waits for it reads the rest afterwards (acquire). One line is
 *                     one transfer.
 *   done              number of the last collective that this rank has finished: from then on it reads nothing of the
 *                     others' for that number. A slot is written again, SLOTS numbers later, when all have done the
 *                     former; the same with a piece of the stage. Looked at once in SLOTS calls.
 *   turn              rounds of the barrier
 *   departed          how many of the others have destroyed their communicator: with the last the block is free
 *
 * Nothing is ever set back, so nothing need be awaited for that; numbers are compared by difference.
 *
 * Short data travel in the slot; longer in the stage, a buffer beside the block; long data are read where they lie (and
 * results written where they belong). What a peer reads or writes must be reachable: where the user's memory is not,
 * its owner alone sees to it, with a copy in its arena (MPIDI_PTL_Coll_expose); what is only read may also be fetched
 * through the kernel. So no rank depends on another's memory, and no algorithm on where the memory is.
 *
 * Reductions work on elements "as on the wire": as they lie in memory for MPICH's own operators, packed for a user's,
 * who may give other types in other ranks. The operator is applied in the order of ranks, whatever it is.
 */
#ifndef CH3_COLL_H_INCLUDED
#define CH3_COLL_H_INCLUDED

#include "mpidi_ch3_impl.h"
#include <smartmap.h>

#define MPIDI_PTL_SLOTS         64
#define MPIDI_PTL_INLINE        56
#define MPIDI_PTL_STAGES        4       /* pieces of the stage */
#define MPIDI_PTL_STAGE         8192    /* bytes of one */
#define MPIDI_PTL_TMP_KEEP      (256 * 1024)

typedef struct {
    uint32_t seq;
    uint8_t kind, flags;
    uint16_t len;
    union {
        char data[MPIDI_PTL_INLINE];
        uint64_t w[7];
    };
} MPIDI_PTL_Slot_t;
_Static_assert(sizeof(MPIDI_PTL_Slot_t) == 64, "one line");

#define MPIDI_PTL_LINE __attribute__((aligned(64)))

typedef struct {
    uint32_t ready MPIDI_PTL_LINE;      /* 1: this rank has found all the others */
    uint32_t has_cma;                   /* it may copy from all of them through the kernel */
    uint32_t done MPIDI_PTL_LINE;
    uint32_t turn MPIDI_PTL_LINE;
    uint32_t departed MPIDI_PTL_LINE;   /* atomic */
    uint32_t sleepers MPIDI_PTL_LINE;   /* ranks asleep until a word of this block changes; atomic */
    uint32_t arrived MPIDI_PTL_LINE;    /* of rank 0 only; atomic */
    uint32_t open MPIDI_PTL_LINE;       /* of rank 0 only: last barrier whose counter is full; written by its last */
    MPIDI_PTL_Slot_t slot[MPIDI_PTL_SLOTS] MPIDI_PTL_LINE;
} MPIDI_PTL_Block_t;

typedef struct {
    char *p;
    size_t size;
} MPIDI_PTL_Tmp_t;

typedef struct MPIDI_PTL_Coll {
    int n, rank;
    int ready;                          /* all have found each other */
    uint32_t seq;                       /* last number used */
    uint32_t min_done;                  /* all have done at least that */
    uint32_t turn;                      /* of the barrier */
    int can_cma;                        /* every rank may copy from every other through the kernel */
    MPIDI_PTL_Block_t *own;
    char *stage;
    uint32_t stage_used[MPIDI_PTL_STAGES];
    int stage_next;
    MPIDI_PTL_Tmp_t tmp[3];             /* reachable: data to send, to receive, packed for the own use */
    int *local;                         /* number of each rank for libsmartmap */
    MPIDI_PTL_Block_t **blk;            /* where its block is here */
    struct MPIDI_PTL_Coll *next;        /* list of those that peers may still look at */
    uint32_t context;
} MPIDI_PTL_Coll_t;

extern MPIDI_PTL_Coll_t MPIDI_PTL_coll_none;    /* of a communicator that is not all on this node */

/* Algorithms that a setting forces (MPIDI_PTL_env.coll_...): the numbers of its words. */
enum { MPIDI_PTL_BARRIER_AUTO, MPIDI_PTL_BARRIER_COUNTER, MPIDI_PTL_BARRIER_DISSEMINATION, MPIDI_PTL_BARRIER_FLAT };
enum { MPIDI_PTL_BCAST_AUTO, MPIDI_PTL_BCAST_STAGED, MPIDI_PTL_BCAST_DIRECT, MPIDI_PTL_BCAST_BOTH };
enum { MPIDI_PTL_REDUCE_AUTO, MPIDI_PTL_REDUCE_SERIAL, MPIDI_PTL_REDUCE_PARALLEL };
enum { MPIDI_PTL_ALLREDUCE_AUTO, MPIDI_PTL_ALLREDUCE_REDUCE_BCAST, MPIDI_PTL_ALLREDUCE_DIRECT };
enum { MPIDI_PTL_ALLTOALL_AUTO, MPIDI_PTL_ALLTOALL_TURNS, MPIDI_PTL_ALLTOALL_DIRECT };

/* Bytes up to which the stage is used: measured. */
#define MPIDI_PTL_BCAST_STAGED_MAX      2048
#define MPIDI_PTL_ALLREDUCE_STAGED_MAX  512
#define MPIDI_PTL_MOVE_STAGED_MAX       512
#define MPIDI_PTL_BOTH_MIN              4096    /* from which on two ranks copy halves */

/* How often each algorithm was used by this rank: for tests, debuggers. */
enum {
    MPIDI_PTL_USED_MPICH, MPIDI_PTL_USED_COUNTER, MPIDI_PTL_USED_DISSEMINATION, MPIDI_PTL_USED_FLAT,
    MPIDI_PTL_USED_INLINE, MPIDI_PTL_USED_STAGED, MPIDI_PTL_USED_DIRECT, MPIDI_PTL_USED_BOTH,
    MPIDI_PTL_USED_SERIAL, MPIDI_PTL_USED_PARALLEL, MPIDI_PTL_USED_REDUCE_BCAST, MPIDI_PTL_USED_ALL_COMBINE,
    MPIDI_PTL_USED_TURNS, MPIDI_PTL_USED_NODES, MPIDI_PTL_USED_PLUGIN, MPIDI_PTL_USED_MAX
};
extern uint64_t MPIDI_PTL_coll_used[MPIDI_PTL_USED_MAX];
#define MPIDI_PTL_USED(what_) (MPIDI_PTL_coll_used[MPIDI_PTL_USED_##what_]++)

/* ch3_coll_comm.c */
int MPIDI_PTL_Coll_setup(MPIR_Comm * comm);
int MPIDI_PTL_Coll_wait_slow(MPIDI_PTL_Coll_t * c, const uint32_t * word, uint32_t value, int exact, int peer);
void MPIDI_PTL_Coll_wake(uint32_t * word);
int MPIDI_PTL_Coll_room_slow(MPIDI_PTL_Coll_t * c, uint32_t need);

/* ch3_coll_mem.c */
int MPIDI_PTL_Coll_stage(MPIDI_PTL_Coll_t * c, uint32_t s, char **piece);
int MPIDI_PTL_Coll_tmp(MPIDI_PTL_Coll_t * c, int which, size_t size, char **p);
void MPIDI_PTL_Coll_tmp_done(MPIDI_PTL_Coll_t * c);
int MPIDI_PTL_Coll_fetch(MPIDI_PTL_Coll_t * c, int peer, void *dst, uint64_t addr, int flags, size_t len);

/*
 * A word that others wait for. Where ranks share cores they may be asleep. The fence pairs with that between their
 * counting themselves and their last look.
 */
static inline void MPIDI_PTL_Coll_store(MPIDI_PTL_Block_t * b, uint32_t * word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    if (MPIDI_PTL.oversubscribed) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (__atomic_load_n(&b->sleepers, __ATOMIC_RELAXED) != 0)
            MPIDI_PTL_Coll_wake(word);
    }
}

/* The communicator's state where all its ranks are on this node; else NULL. */
static inline int MPIDI_PTL_Coll_of(MPIR_Comm * comm, MPIDI_PTL_Coll_t ** c)
{
    int mpi_errno = MPI_SUCCESS;

    *c = comm->dev.ch.coll;
    if (unlikely(*c == NULL || !(*c)->ready)) {
        if (*c != &MPIDI_PTL_coll_none) {
            mpi_errno = MPIDI_PTL_Coll_setup(comm);
            *c = comm->dev.ch.coll;
        }
        if (mpi_errno || *c == &MPIDI_PTL_coll_none)
            *c = NULL;
    }
    return mpi_errno;
}

/*
 * The body of a collective that MPICH calls, with arguments @comm and @errflag: @yes_ where @if_, else @no_. All three
 * may use @c: the communicator's state, or NULL. Another rank's errors have come to us with its data.
 */
#define MPIDI_PTL_COLL_BODY(if_, yes_, no_)                                     \
    int mpi_errno = MPI_SUCCESS;                                                \
    MPIDI_PTL_Coll_t *c;                                                        \
                                                                                \
    mpi_errno = MPIDI_PTL_Coll_of(comm, &c);                                    \
    MPIR_ERR_CHECK(mpi_errno);                                                  \
    if (likely(if_))                                                            \
        mpi_errno = yes_;                                                       \
    else                                                                        \
        mpi_errno = no_;                                                        \
    MPIR_ERR_CHECK(mpi_errno);                                                  \
    if (unlikely(*errflag != MPIR_ERR_NONE))                                    \
        MPIR_ERR_SETANDJUMP(mpi_errno, *errflag, "**coll_fail");                \
                                                                                \
  fn_fail:                                                                      \
    return mpi_errno

/* Wait until a peer's word is at least @value. */
static inline int MPIDI_PTL_Coll_wait(MPIDI_PTL_Coll_t * c, const uint32_t * word, uint32_t value, int peer)
{
    if (likely((int32_t) (__atomic_load_n(word, __ATOMIC_ACQUIRE) - value) >= 0))
        return MPI_SUCCESS;
    return MPIDI_PTL_Coll_wait_slow(c, word, value, FALSE, peer);
}

static inline MPIDI_PTL_Slot_t *MPIDI_PTL_Coll_peek(MPIDI_PTL_Coll_t * c, int peer, uint32_t s)
{
    return &c->blk[peer]->slot[s % MPIDI_PTL_SLOTS];
}

static inline int MPIDI_PTL_Coll_wait_slot(MPIDI_PTL_Coll_t * c, int peer, uint32_t s, MPIDI_PTL_Slot_t ** slot)
{
    *slot = MPIDI_PTL_Coll_peek(c, peer, s);
    if (likely(__atomic_load_n(&(*slot)->seq, __ATOMIC_ACQUIRE) == s))
        return MPI_SUCCESS;
    return MPIDI_PTL_Coll_wait_slow(c, &(*slot)->seq, s, TRUE, peer);
}

/* The next number, and our slot for it, free to write. */
static inline int MPIDI_PTL_Coll_begin(MPIDI_PTL_Coll_t * c, uint32_t * s, MPIDI_PTL_Slot_t ** slot)
{
    *s = ++c->seq;
    *slot = &c->own->slot[*s % MPIDI_PTL_SLOTS];
    if (unlikely((int32_t) (*s - MPIDI_PTL_SLOTS - c->min_done) > 0))
        return MPIDI_PTL_Coll_room_slow(c, *s - MPIDI_PTL_SLOTS);
    return MPI_SUCCESS;
}

static inline void MPIDI_PTL_Coll_post(MPIDI_PTL_Coll_t * c, MPIDI_PTL_Slot_t * slot, uint32_t s, int kind,
                                       int flags, int len)
{
    slot->kind = kind;
    slot->flags = flags;
    slot->len = len;
    MPIDI_PTL_Coll_store(c->own, &slot->seq, s);
}

static inline void MPIDI_PTL_Coll_end(MPIDI_PTL_Coll_t * c, uint32_t s)
{
    MPIDI_PTL_Coll_store(c->own, &c->own->done, s);
}

/* All the others have done @s. */
static inline int MPIDI_PTL_Coll_all_done(MPIDI_PTL_Coll_t * c, uint32_t s)
{
    int mpi_errno = MPI_SUCCESS, i;

    for (i = 0; i < c->n && !mpi_errno; i++)
        if (i != c->rank)
            mpi_errno = MPIDI_PTL_Coll_wait(c, &c->blk[i]->done, s, i);
    c->min_done = mpi_errno ? c->min_done : s;
    return mpi_errno;
}

enum { MPIDI_PTL_KIND_NONE, MPIDI_PTL_KIND_INLINE, MPIDI_PTL_KIND_STAGED, MPIDI_PTL_KIND_DIRECT, MPIDI_PTL_KIND_BOTH };
enum {
    MPIDI_PTL_FLAG_WINDOW = 1,          /* the address may be used through the window; else through the kernel */
    MPIDI_PTL_FLAG_ERROR = 2            /* the rank's errflag is set: what it gives is not worth much */
};

static inline int MPIDI_PTL_Coll_errors(const MPIR_Errflag_t * errflag)
{
    return *errflag != MPIR_ERR_NONE ? MPIDI_PTL_FLAG_ERROR : 0;
}

static inline void MPIDI_PTL_Coll_heed(const MPIDI_PTL_Slot_t * slot, MPIR_Errflag_t * errflag)
{
    if (unlikely(slot->flags & MPIDI_PTL_FLAG_ERROR) && *errflag == MPIR_ERR_NONE)
        *errflag = MPIR_ERR_OTHER;
}

/* Data of a rank as the wire has them. */
typedef struct {
    intptr_t bytes;
    MPI_Aint lb, extent;
    int contig;                         /* @count elements are one piece of memory, from lb on */
} MPIDI_PTL_Shape_t;

static inline void MPIDI_PTL_Coll_shape(MPI_Aint count, MPI_Datatype type, MPIDI_PTL_Shape_t * shape)
{
    MPIR_Datatype *dt_ptr;

    MPIDI_Datatype_get_info(count, type, shape->contig, shape->bytes, dt_ptr, shape->lb);
    shape->extent = dt_ptr ? dt_ptr->extent : (MPI_Aint) MPIR_Datatype_get_basic_size(type);
}

int MPIDI_PTL_Coll_pack(const void *buf, MPI_Aint count, MPI_Datatype type, void *dst, intptr_t bytes);
int MPIDI_PTL_Coll_unpack(const void *src, intptr_t bytes, void *buf, MPI_Aint count, MPI_Datatype type);

static inline void MPIDI_PTL_Coll_copy(void *dst, const void *src, intptr_t bytes)
{
    if (likely((size_t) bytes <= 128))
        MPIDI_PTL_Copy(dst, src, bytes);
    else if (likely((size_t) bytes < MPIDI_PTL_LONG_COPY))
        smartmap_copy(dst, src, bytes);
    else
        MPIDI_PTL_long_copy(dst, src, bytes);
}

static inline int MPIDI_PTL_Coll_to_wire(const void *buf, MPI_Aint count, MPI_Datatype type,
                                         const MPIDI_PTL_Shape_t * shape, void *wire)
{
    if (unlikely(!shape->contig))
        return MPIDI_PTL_Coll_pack(buf, count, type, wire, shape->bytes);
    MPIDI_PTL_Coll_copy(wire, (const char *) buf + shape->lb, shape->bytes);
    return MPI_SUCCESS;
}

static inline int MPIDI_PTL_Coll_from_wire(const void *wire, void *buf, MPI_Aint count, MPI_Datatype type,
                                           const MPIDI_PTL_Shape_t * shape)
{
    if (unlikely(!shape->contig))
        return MPIDI_PTL_Coll_unpack(wire, shape->bytes, buf, count, type);
    MPIDI_PTL_Coll_copy((char *) buf + shape->lb, wire, shape->bytes);
    return MPI_SUCCESS;
}

/* How data lie that fit neither into the slot nor into the stage. */
typedef enum {
    MPIDI_PTL_SHOW_WINDOW,              /* in place, where a window shows it; else in a copy */
    MPIDI_PTL_SHOW_KERNEL,              /* or in place where the kernel's copies reach it */
    MPIDI_PTL_SHOW_COPY                 /* in a copy, since the memory changes before all have read it */
} MPIDI_PTL_Show_t;
int MPIDI_PTL_Coll_show_long(MPIDI_PTL_Coll_t * c, MPIDI_PTL_Slot_t * slot, uint32_t s, const void *buf,
                             MPI_Aint count, MPI_Datatype type, const MPIDI_PTL_Shape_t * shape, intptr_t stage_max,
                             MPIDI_PTL_Show_t how, int error);

/* Say in our slot what we give for collective @s; in the stage up to @stage_max bytes. */
static inline int MPIDI_PTL_Coll_show(MPIDI_PTL_Coll_t * c, MPIDI_PTL_Slot_t * slot, uint32_t s, const void *buf,
                                      MPI_Aint count, MPI_Datatype type, const MPIDI_PTL_Shape_t * shape,
                                      intptr_t stage_max, MPIDI_PTL_Show_t how, int error)
{
    int mpi_errno = MPI_SUCCESS;

    if (shape->bytes > MPIDI_PTL_INLINE)
        return MPIDI_PTL_Coll_show_long(c, slot, s, buf, count, type, shape, stage_max, how, error);
    mpi_errno = MPIDI_PTL_Coll_to_wire(buf, count, type, shape, slot->data);
    if (likely(mpi_errno == MPI_SUCCESS))
        MPIDI_PTL_Coll_post(c, slot, s, MPIDI_PTL_KIND_INLINE, error, shape->bytes);
    return mpi_errno;
}

int MPIDI_PTL_Coll_expose(MPIDI_PTL_Coll_t * c, const void *buf, MPI_Aint count, MPI_Datatype type,
                          const MPIDI_PTL_Shape_t * shape, MPIDI_PTL_Show_t how, uint64_t * addr, int *flags);
int MPIDI_PTL_Coll_take(MPIDI_PTL_Coll_t * c, int peer, uint64_t addr, int flags, intptr_t bytes, void *buf,
                        MPI_Aint count, MPI_Datatype type, const MPIDI_PTL_Shape_t * shape);

/* ch3_coll_bcast.c, ch3_coll_reduce.c, ch3_coll_move.c: among the ranks of one node */
int MPIDI_PTL_Coll_sync(MPIDI_PTL_Coll_t * c);
int MPIDI_PTL_Node_bcast(MPIDI_PTL_Coll_t * c, void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                         MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_reduce(MPIDI_PTL_Coll_t * c, const void *sendbuf, void *recvbuf, MPI_Aint count,
                          MPI_Datatype datatype, MPI_Op op, int root, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_allreduce(MPIDI_PTL_Coll_t * c, const void *sendbuf, void *recvbuf, MPI_Aint count,
                             MPI_Datatype datatype, MPI_Op op, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_scan(MPIDI_PTL_Coll_t * c, const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                        MPI_Op op, int exclusive, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_reduce_scatter(MPIDI_PTL_Coll_t * c, const void *sendbuf, void *recvbuf, const MPI_Aint * counts,
                                  MPI_Aint count, MPI_Datatype datatype, MPI_Op op, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_allgather(MPIDI_PTL_Coll_t * c, const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                             MPI_Datatype recvtype, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_alltoall(MPIDI_PTL_Coll_t * c, const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_alltoallv(MPIDI_PTL_Coll_t * c, const void *sendbuf, const MPI_Aint * sendcounts,
                             const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                             const MPI_Aint * recvcounts, const MPI_Aint * rdispls, MPI_Datatype recvtype,
                             MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_alltoallw(MPIDI_PTL_Coll_t * c, const void *sendbuf, const MPI_Aint * sendcounts,
                             const MPI_Aint * sdispls, const MPI_Datatype * sendtypes, void *recvbuf,
                             const MPI_Aint * recvcounts, const MPI_Aint * rdispls, const MPI_Datatype * recvtypes,
                             MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_gather(MPIDI_PTL_Coll_t * c, const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                          MPI_Datatype recvtype, int root, MPIR_Errflag_t * errflag);
int MPIDI_PTL_Node_scatter(MPIDI_PTL_Coll_t * c, const void *sendbuf, MPI_Aint sendcount, const MPI_Aint * sendcounts,
                           const MPI_Aint * displs, MPI_Datatype sendtype, int parts, void *recvbuf,
                           MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Errflag_t * errflag);

/* ch3_coll_net.c */
int MPIDI_PTL_Coll_load_plugin(void);
void MPIDI_PTL_Coll_unload_plugin(void);

#endif /* CH3_COLL_H_INCLUDED */

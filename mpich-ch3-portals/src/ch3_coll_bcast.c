/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Barrier and broadcast among the ranks of one node.
 *
 * Broadcast: the root says in its slot how the data come, and the others obey, whatever they think of the length: in
 * the slot, in a piece of the stage (the root goes on at once), or from where they lie (the root waits until all have
 * them). Where two ranks have two cores, both copy: each its half.
 */
#include "ch3_coll.h"

/* ---- barrier ---- */

/* Everybody counts himself at rank 0; the last one opens. */
static int counter(MPIDI_PTL_Coll_t * c, uint32_t turn)
{
    MPIDI_PTL_Block_t *b = c->blk[0];

    if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == turn * (uint32_t) c->n) {
        MPIDI_PTL_Coll_store(b, &b->open, turn);
        return MPI_SUCCESS;
    }
    return MPIDI_PTL_Coll_wait(c, &b->open, turn, 0);
}

/* In round k everybody waits for the rank 2^k before him; after log2(n) rounds that is everybody. */
static int dissemination(MPIDI_PTL_Coll_t * c, uint32_t turn)
{
    int mpi_errno = MPI_SUCCESS, k, round = 0;
    uint32_t first = turn * 32;

    for (k = 1; k < c->n && !mpi_errno; k *= 2) {
        int peer = (c->rank - k + c->n) % c->n;

        MPIDI_PTL_Coll_store(c->own, &c->own->turn, first + ++round);
        mpi_errno = MPIDI_PTL_Coll_wait(c, &c->blk[peer]->turn, first + round, peer);
    }
    return mpi_errno;
}

static int flat(MPIDI_PTL_Coll_t * c, uint32_t turn)
{
    int mpi_errno = MPI_SUCCESS, i;
    uint32_t first = turn * 32 + 1;

    MPIDI_PTL_Coll_store(c->own, &c->own->turn, first);
    for (i = 0; i < c->n && !mpi_errno; i++)
        if (i != c->rank)
            mpi_errno = MPIDI_PTL_Coll_wait(c, &c->blk[i]->turn, first, i);
    return mpi_errno;
}

/* All ranks arrive before one leaves. Uses no number. */
int MPIDI_PTL_Coll_sync(MPIDI_PTL_Coll_t * c)
{
    uint32_t turn = ++c->turn;
    int how = MPIDI_PTL_env.coll_barrier;

    if (how == MPIDI_PTL_BARRIER_AUTO)
        how = c->n == 2 ? MPIDI_PTL_BARRIER_FLAT : MPIDI_PTL.oversubscribed ? MPIDI_PTL_BARRIER_COUNTER :
            MPIDI_PTL_BARRIER_DISSEMINATION;
    switch (how) {
        case MPIDI_PTL_BARRIER_COUNTER:
            MPIDI_PTL_USED(COUNTER);
            return counter(c, turn);
        case MPIDI_PTL_BARRIER_DISSEMINATION:
            MPIDI_PTL_USED(DISSEMINATION);
            return dissemination(c, turn);
        default:
            MPIDI_PTL_USED(FLAT);
            return flat(c, turn);
    }
}

/* ---- broadcast ---- */

static int use_both(const MPIDI_PTL_Coll_t * c, intptr_t bytes)
{
    if (c->n != 2)
        return FALSE;
    if (MPIDI_PTL_env.coll_bcast != MPIDI_PTL_BCAST_AUTO)
        return MPIDI_PTL_env.coll_bcast == MPIDI_PTL_BCAST_BOTH;
    return !MPIDI_PTL.oversubscribed && bytes >= MPIDI_PTL_BOTH_MIN;
}

static int use_stage(intptr_t bytes)
{
    if (bytes > MPIDI_PTL_STAGE)
        return FALSE;
    if (MPIDI_PTL_env.coll_bcast != MPIDI_PTL_BCAST_AUTO)
        return MPIDI_PTL_env.coll_bcast == MPIDI_PTL_BCAST_STAGED;
    return bytes <= MPIDI_PTL_BCAST_STAGED_MAX;
}

/* The receiver takes the first half; rounded to lines. */
static intptr_t first_half(intptr_t bytes)
{
    return (bytes / 2 + 63) & ~(intptr_t) 63;
}

/* Our half into the receiver's buffer, if that can be reached. */
static int push_half(MPIDI_PTL_Coll_t * c, uint32_t s, const char *from, intptr_t bytes)
{
    int mpi_errno = MPI_SUCCESS, peer = 1 - c->rank;
    intptr_t half = first_half(bytes);
    MPIDI_PTL_Slot_t *slot;

    mpi_errno = MPIDI_PTL_Coll_wait_slot(c, peer, s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    if (slot->kind == MPIDI_PTL_KIND_BOTH && (intptr_t) slot->w[1] == bytes)
        MPIDI_PTL_Coll_copy((char *) smartmap_remote(c->local[peer], (char *) (uintptr_t) slot->w[0]) + half,
                            from + half, bytes - half);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int root_part(MPIDI_PTL_Coll_t * c, const void *buffer, MPI_Aint count, MPI_Datatype type,
                     const MPIDI_PTL_Shape_t * shape, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, flags, error = MPIDI_PTL_Coll_errors(errflag), both, waits = FALSE;
    intptr_t bytes = shape->bytes;
    MPIDI_PTL_Slot_t *slot;
    uint32_t s;
    char *piece;

    mpi_errno = MPIDI_PTL_Coll_begin(c, &s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    if (bytes <= MPIDI_PTL_INLINE) {
        mpi_errno = MPIDI_PTL_Coll_to_wire(buffer, count, type, shape, slot->data);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_PTL_USED(INLINE);
        MPIDI_PTL_Coll_post(c, slot, s, MPIDI_PTL_KIND_INLINE, error, bytes);
    } else if (use_stage(bytes)) {
        mpi_errno = MPIDI_PTL_Coll_stage(c, s, &piece);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDI_PTL_Coll_to_wire(buffer, count, type, shape, piece);
        MPIR_ERR_CHECK(mpi_errno);
        slot->w[0] = (uint64_t) (uintptr_t) piece;
        slot->w[1] = bytes;
        MPIDI_PTL_USED(STAGED);
        MPIDI_PTL_Coll_post(c, slot, s, MPIDI_PTL_KIND_STAGED, error | MPIDI_PTL_FLAG_WINDOW, 0);
    } else {
        mpi_errno = MPIDI_PTL_Coll_expose(c, buffer, count, type, shape, MPIDI_PTL_SHOW_KERNEL, &slot->w[0], &flags);
        MPIR_ERR_CHECK(mpi_errno);
        slot->w[1] = bytes;
        both = use_both(c, bytes);
        if (both)
            MPIDI_PTL_USED(BOTH);
        else
            MPIDI_PTL_USED(DIRECT);
        MPIDI_PTL_Coll_post(c, slot, s, both ? MPIDI_PTL_KIND_BOTH : MPIDI_PTL_KIND_DIRECT, error | flags, 0);
        if (both) {
            mpi_errno = push_half(c, s, (char *) (uintptr_t) slot->w[0], bytes);
            MPIR_ERR_CHECK(mpi_errno);
        }
        waits = TRUE;
    }
    MPIDI_PTL_Coll_end(c, s);
    if (waits) {
        mpi_errno = MPIDI_PTL_Coll_all_done(c, s);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_PTL_Coll_tmp_done(c);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* We take the first half, the root brings the second: or, where it cannot reach our buffer, nothing. */
static int both_halves(MPIDI_PTL_Coll_t * c, int root, uint32_t s, MPIDI_PTL_Slot_t * theirs, MPIDI_PTL_Slot_t * own,
                       int posted, void *buffer, const MPIDI_PTL_Shape_t * shape)
{
    int mpi_errno = MPI_SUCCESS;
    char *to = (char *) buffer + shape->lb;
    intptr_t bytes = theirs->w[1], half = bytes;

    if (!posted)
        MPIDI_PTL_Coll_post(c, own, s, MPIDI_PTL_KIND_NONE, 0, 0);
    else if (own->kind == MPIDI_PTL_KIND_BOTH)
        half = first_half(bytes);
    mpi_errno = MPIDI_PTL_Coll_fetch(c, root, to, theirs->w[0], theirs->flags, half);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_end(c, s);
    mpi_errno = MPIDI_PTL_Coll_wait(c, &c->blk[root]->done, s, root);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int other_part(MPIDI_PTL_Coll_t * c, void *buffer, MPI_Aint count, MPI_Datatype type,
                      const MPIDI_PTL_Shape_t * shape, int root, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, posted = FALSE;
    MPIDI_PTL_Slot_t *own, *slot;
    intptr_t bytes;
    uint32_t s;

    mpi_errno = MPIDI_PTL_Coll_begin(c, &s, &own);
    MPIR_ERR_CHECK(mpi_errno);
    if (shape->bytes > MPIDI_PTL_INLINE && !use_stage(shape->bytes) && use_both(c, shape->bytes)) {
        char *to = (char *) buffer + shape->lb;

        own->w[0] = (uint64_t) (uintptr_t) to;
        own->w[1] = shape->bytes;
        MPIDI_PTL_Coll_post(c, own, s, shape->contig && smartmap_adopted(to, shape->bytes) ? MPIDI_PTL_KIND_BOTH :
                            MPIDI_PTL_KIND_NONE, 0, 0);
        posted = TRUE;
    }
    mpi_errno = MPIDI_PTL_Coll_wait_slot(c, root, s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_heed(slot, errflag);
    bytes = slot->kind == MPIDI_PTL_KIND_INLINE ? slot->len : (intptr_t) slot->w[1];
    if (unlikely(bytes != shape->bytes)) {
        if (slot->kind == MPIDI_PTL_KIND_BOTH && !posted)
            MPIDI_PTL_Coll_post(c, own, s, MPIDI_PTL_KIND_NONE, 0, 0);
        MPIDI_PTL_Coll_end(c, s);
        if (bytes > shape->bytes)
            MPIR_ERR_SETANDJUMP2(mpi_errno, MPI_ERR_TRUNCATE, "**truncate", "**truncate %d %d", (int) bytes,
                                 (int) shape->bytes);
        MPIR_ERR_SETANDJUMP2(mpi_errno, MPI_ERR_OTHER, "**collective_size_mismatch",
                             "**collective_size_mismatch %d %d", (int) bytes, (int) shape->bytes);
    }
    if (slot->kind == MPIDI_PTL_KIND_INLINE) {
        mpi_errno = MPIDI_PTL_Coll_from_wire(slot->data, buffer, count, type, shape);
    } else if (slot->kind == MPIDI_PTL_KIND_BOTH && shape->contig) {
        mpi_errno = both_halves(c, root, s, slot, own, posted, buffer, shape);
    } else {
        if (slot->kind == MPIDI_PTL_KIND_BOTH && !posted)
            MPIDI_PTL_Coll_post(c, own, s, MPIDI_PTL_KIND_NONE, 0, 0);
        mpi_errno = MPIDI_PTL_Coll_take(c, root, slot->w[0], slot->flags, bytes, buffer, count, type, shape);
    }
    MPIDI_PTL_Coll_end(c, s);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Node_bcast(MPIDI_PTL_Coll_t * c, void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                         MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_Shape_t shape;

    MPIDI_PTL_Coll_shape(count, datatype, &shape);
    if (shape.bytes == 0)
        return MPI_SUCCESS;
    if (c->rank == root)
        return root_part(c, buffer, count, datatype, &shape, errflag);
    return other_part(c, buffer, count, datatype, &shape, root, errflag);
}

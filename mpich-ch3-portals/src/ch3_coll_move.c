/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Gather, scatter, allgather, alltoall and their relatives among the ranks of one node: who has data shows them, who
 * wants them fetches them.
 *
 * Each rank decides alone how its data are shown (in the slot, in the stage, where they lie, in a copy), says so in its
 * slot, and waits at the end only where the others read its own memory. Where the parts for the others lie at places
 * that only their owner knows (the ...v and ...w calls), it adds a list of offsets.
 */
#include "ch3_coll.h"

/* What is shown: blocks of equal size, or the parts of a list. */
typedef struct {
    MPIDI_PTL_Slot_t *slot;
    uint32_t s;
    int waits;                          /* the others read our memory: it must stay as it is until all have */
} offer_t;

/* Show @count elements. */
static int offer(MPIDI_PTL_Coll_t * c, offer_t * o, const void *buf, MPI_Aint count, MPI_Datatype type,
                 MPIDI_PTL_Show_t how, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Shape_t shape;

    mpi_errno = MPIDI_PTL_Coll_begin(c, &o->s, &o->slot);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_shape(count, type, &shape);
    mpi_errno = MPIDI_PTL_Coll_show(c, o->slot, o->s, buf, count, type, &shape, MPIDI_PTL_MOVE_STAGED_MAX, how,
                                    MPIDI_PTL_Coll_errors(errflag));
    MPIR_ERR_CHECK(mpi_errno);
    o->waits = o->slot->kind == MPIDI_PTL_KIND_DIRECT;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Nothing to show, but this number passes. */
static int offer_nothing(MPIDI_PTL_Coll_t * c, offer_t * o)
{
    o->waits = FALSE;
    return MPIDI_PTL_Coll_begin(c, &o->s, &o->slot);
}

/* A part for each rank: @displs in bytes. */
typedef struct {
    const char *base;
    const MPI_Aint *counts, *displs;
    MPI_Aint unit;                      /* bytes of one of @displs */
    const MPI_Datatype *types;          /* NULL: all are @type */
    MPI_Datatype type;
} parts_t;

static MPI_Datatype part(const parts_t * p, int i, const char **at, MPIDI_PTL_Shape_t * shape)
{
    MPI_Datatype type = p->types != NULL ? p->types[i] : p->type;

    *at = p->base + p->displs[i] * p->unit;
    shape->bytes = 0;
    if (p->counts[i] > 0)
        MPIDI_PTL_Coll_shape(p->counts[i], type, shape);
    return type;
}

static int offer_parts(MPIDI_PTL_Coll_t * c, offer_t * o, const parts_t * p, int copy, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, i, contig = TRUE, flags = MPIDI_PTL_FLAG_WINDOW, kind = MPIDI_PTL_KIND_DIRECT;
    intptr_t list = c->n * sizeof(uint64_t), total = 0, off;
    uintptr_t lo = UINTPTR_MAX, hi = 0;
    MPIDI_PTL_Shape_t shape;
    uint64_t *offsets;
    const char *at;
    char *to;

    mpi_errno = MPIDI_PTL_Coll_begin(c, &o->s, &o->slot);
    MPIR_ERR_CHECK(mpi_errno);
    for (i = 0; i < c->n; i++) {
        part(p, i, &at, &shape);
        if (shape.bytes == 0)
            continue;
        total += shape.bytes;
        contig = contig && shape.contig;
        lo = MPL_MIN(lo, (uintptr_t) (at + shape.lb));
        hi = MPL_MAX(hi, (uintptr_t) (at + shape.lb) + shape.bytes);
    }
    if (total + list <= MPIDI_PTL_MOVE_STAGED_MAX) {
        mpi_errno = MPIDI_PTL_Coll_stage(c, o->s, &to);
        kind = MPIDI_PTL_KIND_STAGED;
        copy = TRUE;
    } else {
        int seen = contig && !copy && smartmap_adopted((void *) lo, hi - lo);

        if (contig && !copy && !seen && c->can_cma)
            flags = 0;
        copy = !seen && flags;
        mpi_errno = MPIDI_PTL_Coll_tmp(c, 0, list + (copy ? total : 0), &to);
    }
    MPIR_ERR_CHECK(mpi_errno);
    offsets = (uint64_t *) to;
    off = list;
    for (i = 0; i < c->n; i++) {
        MPI_Datatype type = part(p, i, &at, &shape);

        offsets[i] = (uint64_t) (uintptr_t) (copy ? to + off : at + (shape.bytes ? shape.lb : 0));
        if (!copy || shape.bytes == 0)
            continue;
        mpi_errno = MPIDI_PTL_Coll_pack(at, p->counts[i], type, to + off, shape.bytes);
        MPIR_ERR_CHECK(mpi_errno);
        off += shape.bytes;
    }
    o->waits = kind == MPIDI_PTL_KIND_DIRECT;
    o->slot->w[0] = (uint64_t) (uintptr_t) offsets;
    MPIDI_PTL_Coll_post(c, o->slot, o->s, kind, flags | MPIDI_PTL_Coll_errors(errflag), 0);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* From what @peer shows, @count elements, @off bytes from its begin. */
static int take(MPIDI_PTL_Coll_t * c, uint32_t s, int peer, intptr_t off, void *buf, MPI_Aint count, MPI_Datatype type,
                MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Slot_t *slot;
    MPIDI_PTL_Shape_t shape;
    uint64_t at;

    mpi_errno = MPIDI_PTL_Coll_wait_slot(c, peer, s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_heed(slot, errflag);
    if (count == 0)
        goto fn_exit;
    MPIDI_PTL_Coll_shape(count, type, &shape);
    if (slot->kind == MPIDI_PTL_KIND_INLINE) {
        mpi_errno = MPIDI_PTL_Coll_from_wire(slot->data + off, buf, count, type, &shape);
        goto fn_exit;
    }
    at = slot->w[0] + off;
    mpi_errno = MPIDI_PTL_Coll_take(c, peer, at, slot->flags, shape.bytes, buf, count, type, &shape);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Our part of what @peer shows in parts. */
static int take_part(MPIDI_PTL_Coll_t * c, uint32_t s, int peer, void *buf, MPI_Aint count, MPI_Datatype type,
                     MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Slot_t *slot;
    MPIDI_PTL_Shape_t shape;
    const uint64_t *offsets;

    mpi_errno = MPIDI_PTL_Coll_wait_slot(c, peer, s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_heed(slot, errflag);
    if (count == 0)
        goto fn_exit;
    MPIDI_PTL_Coll_shape(count, type, &shape);
    offsets = smartmap_remote(c->local[peer], (void *) (uintptr_t) slot->w[0]);
    mpi_errno = MPIDI_PTL_Coll_take(c, peer, offsets[c->rank], slot->flags, shape.bytes, buf, count, type, &shape);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* @all_met: we have seen what every rank shows for this number, so all have done the last one. */
static int leave(MPIDI_PTL_Coll_t * c, const offer_t * o, int all_met)
{
    int mpi_errno = MPI_SUCCESS;

    MPIDI_PTL_Coll_end(c, o->s);
    if (all_met)
        c->min_done = o->s - 1;
    if (o->waits) {
        mpi_errno = MPIDI_PTL_Coll_all_done(c, o->s);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_PTL_Coll_tmp_done(c);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint extent;

    MPIR_Datatype_get_extent_macro(type, extent);
    return extent;
}

static intptr_t bytes_of(MPI_Aint count, MPI_Datatype type)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(type, size);
    return count * size;
}

/* Where the data of each rank go: @counts NULL: @count from each, one after the other. */
typedef struct {
    char *base;
    MPI_Aint count;
    const MPI_Aint *counts, *displs;
    MPI_Datatype type;
    MPI_Aint extent;
} places_t;

static char *place(const places_t * p, int i, MPI_Aint * count)
{
    *count = p->counts ? p->counts[i] : p->count;
    return p->base + (p->counts ? p->displs[i] : p->count * i) * p->extent;
}

/* What every other rank shows, each to its place. */
static int take_all(MPIDI_PTL_Coll_t * c, uint32_t s, const places_t * p, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, k;

    for (k = 1; k < c->n && !mpi_errno; k++) {
        int peer = (c->rank + k) % c->n;
        MPI_Aint count;
        char *to = place(p, peer, &count);

        mpi_errno = take(c, s, peer, 0, to, count, p->type, errflag);
    }
    return mpi_errno;
}

/* ---- everybody to everybody ---- */

/* @recvcounts NULL: @recvcount from each, one after the other. */
int MPIDI_PTL_Node_allgather(MPIDI_PTL_Coll_t * c, const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                             MPI_Datatype recvtype, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    places_t p = { recvbuf, recvcount, recvcounts, displs, recvtype, extent_of(recvtype) };
    MPI_Aint n;
    char *own = place(&p, c->rank, &n);
    offer_t o;

    if (recvcounts == NULL && recvcount == 0)
        goto fn_exit;
    if (sendbuf == MPI_IN_PLACE) {
        mpi_errno = offer(c, &o, own, n, recvtype, MPIDI_PTL_SHOW_KERNEL, errflag);
    } else {
        mpi_errno = offer(c, &o, sendbuf, sendcount, sendtype, MPIDI_PTL_SHOW_KERNEL, errflag);
        MPIR_ERR_CHECK(mpi_errno);
        if (sendcount > 0)
            mpi_errno = MPIR_Localcopy(sendbuf, sendcount, sendtype, own, n, recvtype);
    }
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = take_all(c, o.s, &p, errflag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = leave(c, &o, TRUE);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Node_alltoall(MPIDI_PTL_Coll_t * c, const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, k, turns = MPIDI_PTL_env.coll_alltoall == MPIDI_PTL_ALLTOALL_TURNS;
    MPI_Aint step = recvcount * extent_of(recvtype);
    intptr_t block = bytes_of(recvcount, recvtype);
    offer_t o;

    if (block == 0)
        goto fn_exit;
    if (sendbuf == MPI_IN_PLACE)
        mpi_errno = offer(c, &o, recvbuf, recvcount * c->n, recvtype, MPIDI_PTL_SHOW_COPY, errflag);
    else
        mpi_errno = offer(c, &o, sendbuf, sendcount * c->n, sendtype, MPIDI_PTL_SHOW_KERNEL, errflag);
    MPIR_ERR_CHECK(mpi_errno);
    for (k = 0; k < c->n; k++) {
        int peer = (c->rank + k) % c->n;
        char *to = (char *) recvbuf + peer * step;

        if (turns) {
            MPIDI_PTL_USED(TURNS);
            mpi_errno = MPIDI_PTL_Coll_sync(c);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (k > 0)
            mpi_errno = take(c, o.s, peer, c->rank * block, to, recvcount, recvtype, errflag);
        else if (sendbuf != MPI_IN_PLACE)
            mpi_errno = MPIR_Localcopy((const char *) sendbuf + c->rank * sendcount * extent_of(sendtype), sendcount,
                                       sendtype, to, recvcount, recvtype);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = leave(c, &o, TRUE);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int alltoall_parts(MPIDI_PTL_Coll_t * c, const parts_t * send, const parts_t * recv, int in_place,
                          MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, k;
    MPIDI_PTL_Shape_t shape;
    const char *at;
    offer_t o;

    mpi_errno = offer_parts(c, &o, in_place ? recv : send, in_place, errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (!in_place && send->counts[c->rank] > 0) {
        MPI_Datatype type = part(send, c->rank, &at, &shape);

        mpi_errno = MPIR_Localcopy(at, send->counts[c->rank], type, (char *) recv->base +
                                   recv->displs[c->rank] * recv->unit, recv->counts[c->rank],
                                   recv->types ? recv->types[c->rank] : recv->type);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (k = 1; k < c->n; k++) {
        int peer = (c->rank + k) % c->n;
        MPI_Datatype type = part(recv, peer, &at, &shape);

        mpi_errno = take_part(c, o.s, peer, (char *) at, recv->counts[peer], type, errflag);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = leave(c, &o, TRUE);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Node_alltoallv(MPIDI_PTL_Coll_t * c, const void *sendbuf, const MPI_Aint * sendcounts,
                             const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                             const MPI_Aint * recvcounts, const MPI_Aint * rdispls, MPI_Datatype recvtype,
                             MPIR_Errflag_t * errflag)
{
    int in_place = sendbuf == MPI_IN_PLACE;
    parts_t send = { sendbuf, sendcounts, sdispls, in_place ? 0 : extent_of(sendtype), NULL, sendtype };
    parts_t recv = { recvbuf, recvcounts, rdispls, extent_of(recvtype), NULL, recvtype };

    return alltoall_parts(c, &send, &recv, in_place, errflag);
}

int MPIDI_PTL_Node_alltoallw(MPIDI_PTL_Coll_t * c, const void *sendbuf, const MPI_Aint * sendcounts,
                             const MPI_Aint * sdispls, const MPI_Datatype * sendtypes, void *recvbuf,
                             const MPI_Aint * recvcounts, const MPI_Aint * rdispls, const MPI_Datatype * recvtypes,
                             MPIR_Errflag_t * errflag)
{
    parts_t send = { sendbuf, sendcounts, sdispls, 1, sendtypes, MPI_DATATYPE_NULL };
    parts_t recv = { recvbuf, recvcounts, rdispls, 1, recvtypes, MPI_DATATYPE_NULL };

    return alltoall_parts(c, &send, &recv, sendbuf == MPI_IN_PLACE, errflag);
}

/* ---- to the root, from the root ---- */

/* The same arguments, at the root. */
int MPIDI_PTL_Node_gather(MPIDI_PTL_Coll_t * c, const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                          MPI_Datatype recvtype, int root, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    places_t p = { recvbuf, recvcount, recvcounts, displs, recvtype, 0 };
    MPI_Aint n;
    offer_t o;
    char *own;

    if (c->rank != root) {
        mpi_errno = offer(c, &o, sendbuf, sendcount, sendtype, MPIDI_PTL_SHOW_KERNEL, errflag);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_PTL_Coll_end(c, o.s);
        if (o.waits) {
            mpi_errno = MPIDI_PTL_Coll_wait(c, &c->blk[root]->done, o.s, root);
            MPIR_ERR_CHECK(mpi_errno);
            MPIDI_PTL_Coll_tmp_done(c);
        }
        goto fn_exit;
    }
    mpi_errno = offer_nothing(c, &o);
    MPIR_ERR_CHECK(mpi_errno);
    p.extent = extent_of(recvtype);
    own = place(&p, root, &n);
    if (sendbuf != MPI_IN_PLACE && n > 0) {
        mpi_errno = MPIR_Localcopy(sendbuf, sendcount, sendtype, own, n, recvtype);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = take_all(c, o.s, &p, errflag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = leave(c, &o, TRUE);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Node_scatter(MPIDI_PTL_Coll_t * c, const void *sendbuf, MPI_Aint sendcount, const MPI_Aint * sendcounts,
                           const MPI_Aint * displs, MPI_Datatype sendtype, int parts, void *recvbuf,
                           MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    offer_t o;

    if (c->rank != root) {
        mpi_errno = offer_nothing(c, &o);
        MPIR_ERR_CHECK(mpi_errno);
        if (parts)
            mpi_errno = take_part(c, o.s, root, recvbuf, recvcount, recvtype, errflag);
        else
            mpi_errno = take(c, o.s, root, c->rank * bytes_of(recvcount, recvtype), recvbuf, recvcount, recvtype,
                             errflag);
        MPIR_ERR_CHECK(mpi_errno);
    } else {
        MPI_Aint extent = extent_of(sendtype), n = parts ? sendcounts[root] : sendcount;
        parts_t p = { sendbuf, sendcounts, displs, extent, NULL, sendtype };

        if (parts)
            mpi_errno = offer_parts(c, &o, &p, FALSE, errflag);
        else
            mpi_errno = offer(c, &o, sendbuf, sendcount * c->n, sendtype, MPIDI_PTL_SHOW_KERNEL, errflag);
        MPIR_ERR_CHECK(mpi_errno);
        if (recvbuf != MPI_IN_PLACE && n > 0) {
            mpi_errno = MPIR_Localcopy((const char *) sendbuf + (parts ? displs[root] : n * root) * extent, n, sendtype,
                                       recvbuf, recvcount, recvtype);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    mpi_errno = leave(c, &o, FALSE);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

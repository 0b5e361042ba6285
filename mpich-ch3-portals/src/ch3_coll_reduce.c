/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Reductions among the ranks of one node.
 *
 * Serial: whoever wants the result reads what the others give and applies the operator, in the order of ranks: x0 +
 * (x1 + (... + xn)). Parallel (MPICH's own operators only, whose elements lie alike everywhere): each rank does so for
 * its slice of the vector, and writes the result where it belongs. All ranks apply the operator to the same values in
 * the same order, so an allreduce gives all of them the same bits.
 */
#include "ch3_coll.h"

#define PIECE   8192                    /* bytes reduced at a time: what is read twice stays in the nearest cache */

typedef struct {
    MPI_Op op;
    MPI_Datatype type;
    MPI_Aint count;
    MPIDI_PTL_Shape_t shape;            /* as on the wire: for our own operators that is as in memory */
    intptr_t elem;                      /* bytes of an element on the wire */
    int ours;                           /* the operator is one of MPICH's */
    int plain;                          /* the wire's elements can be given to the operator as they are */
} work_t;

static void describe(work_t * w, MPI_Aint count, MPI_Datatype type, MPI_Op op)
{
    w->op = op;
    w->type = type;
    w->count = count;
    w->ours = HANDLE_IS_BUILTIN(op);
    MPIDI_PTL_Coll_shape(count, type, &w->shape);
    if (w->ours) {
        w->shape.bytes = count * w->shape.extent;       /* with the gaps of MPI_DOUBLE_INT and its like */
        w->shape.contig = TRUE;
        w->shape.lb = 0;
        w->plain = TRUE;
    } else {
        w->plain = w->shape.contig && w->shape.lb == 0 && w->shape.bytes == count * w->shape.extent;
    }
    w->elem = w->shape.bytes / count;
}

/* @acc = @wire op @acc */
static int apply(const work_t * w, const void *wire, void *acc)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint lb, true_extent;
    char *tmp = NULL;

    if (likely(w->plain)) {
        mpi_errno = MPIR_Reduce_local(wire, acc, w->count, w->type, w->op);
        goto fn_exit;
    }
    MPIR_Type_get_true_extent_impl(w->type, &lb, &true_extent);
    tmp = MPL_malloc(w->count * MPL_MAX(w->shape.extent, true_extent), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(!tmp, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = MPIDI_PTL_Coll_unpack(wire, w->shape.bytes, tmp - lb, w->count, w->type);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Reduce_local(tmp - lb, acc, w->count, w->type, w->op);

  fn_exit:
    MPL_free(tmp);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* What rank @i gives in collective @s: in its slot, the stage or its memory. Aligned for any type. */
static int given(MPIDI_PTL_Coll_t * c, const work_t * w, int i, uint32_t s, char *aligned, const void **wire,
                 MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Slot_t *slot;

    mpi_errno = MPIDI_PTL_Coll_wait_slot(c, i, s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_heed(slot, errflag);
    if (slot->kind == MPIDI_PTL_KIND_INLINE) {
        MPIDI_PTL_Copy(aligned, slot->data, w->shape.bytes);
        *wire = aligned;
    } else {
        *wire = smartmap_remote(c->local[i], (void *) (uintptr_t) slot->w[0]);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/*
 * The result into @recvbuf. @own is what we give ourselves, in the user's layout, or NULL: as on the wire, in our slot.
 */
static int combine(MPIDI_PTL_Coll_t * c, const work_t * w, uint32_t s, int last, const void *own, void *recvbuf,
                   MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, i;
    char aligned[64] __attribute__((aligned(64)));
    const void *wire;

    if (last == c->rank && own != NULL) {
        if (own != recvbuf) {
            mpi_errno = MPIR_Localcopy(own, w->count, w->type, recvbuf, w->count, w->type);
            MPIR_ERR_CHECK(mpi_errno);
        }
    } else {
        mpi_errno = given(c, w, last, s, aligned, &wire, errflag);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDI_PTL_Coll_from_wire(wire, recvbuf, w->count, w->type, &w->shape);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (i = last - 1; i >= 0; i--) {
        if (i == c->rank && own != NULL) {
            mpi_errno = MPIR_Reduce_local(own, recvbuf, w->count, w->type, w->op);
            MPIR_ERR_CHECK(mpi_errno);
            continue;
        }
        mpi_errno = given(c, w, i, s, aligned, &wire, errflag);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = apply(w, wire, recvbuf);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static inline int give(MPIDI_PTL_Coll_t * c, const work_t * w, uint32_t s, MPIDI_PTL_Slot_t * slot, const void *buf,
                       intptr_t stage_max, MPIDI_PTL_Show_t how, const MPIR_Errflag_t * errflag)
{
    return MPIDI_PTL_Coll_show(c, slot, s, buf, w->count, w->type, &w->shape, stage_max, how,
                               MPIDI_PTL_Coll_errors(errflag));
}

/* ---- parallel ---- */

/* Our slice of the vector: whole lines. */
static void slice(const MPIDI_PTL_Coll_t * c, const work_t * w, MPI_Aint * first, MPI_Aint * end)
{
    MPI_Aint per = (w->count + c->n - 1) / c->n, line = MPL_MAX(1, 64 / w->elem);

    per = (per + line - 1) / line * line;
    *first = MPL_MIN(w->count, per * c->rank);
    *end = MPL_MIN(w->count, *first + per);
}

/* All have shown what they give (@from) and want (@to, NULL: nothing): our slice of it. */
static int reduce_slice(MPIDI_PTL_Coll_t * c, const work_t * w, char *const *from, char *const *to)
{
    int mpi_errno = MPI_SUCCESS, i;
    char acc[PIECE] __attribute__((aligned(64)));
    MPI_Aint at, end, n;

    slice(c, w, &at, &end);
    for (; at < end; at += n) {
        intptr_t off = at * w->elem;

        n = MPL_MIN(end - at, PIECE / w->elem);
        MPIDI_PTL_Coll_copy(acc, from[c->n - 1] + off, n * w->elem);
        for (i = c->n - 2; i >= 0; i--) {
            mpi_errno = MPIR_Reduce_local(from[i] + off, acc, n, w->type, w->op);
            MPIR_ERR_CHECK(mpi_errno);
        }
        for (i = 0; i < c->n; i++)
            if (to[i] != NULL)
                MPIDI_PTL_Coll_copy(to[i] + off, acc, n * w->elem);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* @root: whose result it is; -1: everybody's. */
static int parallel(MPIDI_PTL_Coll_t * c, const work_t * w, const void *give_buf, void *recvbuf, int root,
                    MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, i, flags;
    intptr_t bytes = w->shape.bytes;
    MPIDI_PTL_Slot_t *slot;
    char *into = NULL, *from[SMARTMAP_MAX_PEERS], *to[SMARTMAP_MAX_PEERS];
    uint32_t s;

    MPIDI_PTL_USED(PARALLEL);
    mpi_errno = MPIDI_PTL_Coll_begin(c, &s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_PTL_Coll_expose(c, give_buf, w->count, w->type, &w->shape, MPIDI_PTL_SHOW_WINDOW, &slot->w[0],
                                      &flags);
    MPIR_ERR_CHECK(mpi_errno);
    if (root < 0 || root == c->rank) {
        into = recvbuf;
        if (!smartmap_adopted(into, bytes)) {
            mpi_errno = MPIDI_PTL_Coll_tmp(c, 1, bytes, &into);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    slot->w[1] = (uint64_t) (uintptr_t) into;
    MPIDI_PTL_Coll_post(c, slot, s, MPIDI_PTL_KIND_DIRECT, flags | MPIDI_PTL_Coll_errors(errflag), 0);
    for (i = 0; i < c->n; i++) {
        mpi_errno = MPIDI_PTL_Coll_wait_slot(c, i, s, &slot);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_PTL_Coll_heed(slot, errflag);
        from[i] = smartmap_remote(c->local[i], (char *) (uintptr_t) slot->w[0]);
        to[i] = slot->w[1] == 0 ? NULL : smartmap_remote(c->local[i], (char *) (uintptr_t) slot->w[1]);
    }
    mpi_errno = reduce_slice(c, w, from, to);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_end(c, s);
    mpi_errno = MPIDI_PTL_Coll_all_done(c, s);
    MPIR_ERR_CHECK(mpi_errno);
    if (into != NULL && into != recvbuf)
        MPIDI_PTL_Coll_copy(recvbuf, into, bytes);
    MPIDI_PTL_Coll_tmp_done(c);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- reduce ---- */

static int serial(MPIDI_PTL_Coll_t * c, const work_t * w, const void *sendbuf, void *recvbuf, int root,
                  MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, long_data = w->shape.bytes > MPIDI_PTL_STAGE;
    MPIDI_PTL_Slot_t *slot;
    uint32_t s;

    MPIDI_PTL_USED(SERIAL);
    mpi_errno = MPIDI_PTL_Coll_begin(c, &s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    if (c->rank != root) {
        mpi_errno = give(c, w, s, slot, sendbuf, MPIDI_PTL_STAGE, MPIDI_PTL_SHOW_WINDOW, errflag);
        MPIR_ERR_CHECK(mpi_errno);
        if (long_data)
            mpi_errno = MPIDI_PTL_Coll_wait(c, &c->blk[root]->done, s, root);
    } else if (sendbuf == MPI_IN_PLACE && root != c->n - 1) {
        mpi_errno = give(c, w, s, slot, recvbuf, MPIDI_PTL_STAGE, MPIDI_PTL_SHOW_COPY, errflag);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = combine(c, w, s, c->n - 1, NULL, recvbuf, errflag);
    } else {
        mpi_errno = combine(c, w, s, c->n - 1, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, errflag);
    }
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_end(c, s);
    if (long_data)
        MPIDI_PTL_Coll_tmp_done(c);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Node_reduce(MPIDI_PTL_Coll_t * c, const void *sendbuf, void *recvbuf, MPI_Aint count,
                          MPI_Datatype datatype, MPI_Op op, int root, MPIR_Errflag_t * errflag)
{
    int how = MPIDI_PTL_env.coll_reduce;
    work_t w;

    if (count == 0)
        return MPI_SUCCESS;
    describe(&w, count, datatype, op);
    if (w.shape.bytes == 0)
        return MPI_SUCCESS;
    if (how == MPIDI_PTL_REDUCE_AUTO)
        how = w.shape.bytes <= MPIDI_PTL_env.coll_reduce_switch ? MPIDI_PTL_REDUCE_SERIAL : MPIDI_PTL_REDUCE_PARALLEL;
    if (!w.ours || how == MPIDI_PTL_REDUCE_SERIAL)
        return serial(c, &w, sendbuf, recvbuf, root, errflag);
    return parallel(c, &w, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, root, errflag);
}

/* ---- allreduce ---- */

/* Everybody reads what all give. */
static int all_combine(MPIDI_PTL_Coll_t * c, const work_t * w, const void *give_buf, void *recvbuf,
                       MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Slot_t *slot;
    uint32_t s;

    mpi_errno = MPIDI_PTL_Coll_begin(c, &s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = give(c, w, s, slot, give_buf, MPIDI_PTL_STAGE, MPIDI_PTL_SHOW_WINDOW, errflag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = combine(c, w, s, c->n - 1, NULL, recvbuf, errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_end(c, s);
    c->min_done = s - 1;        /* who is in this one has done the last */

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Node_allreduce(MPIDI_PTL_Coll_t * c, const void *sendbuf, void *recvbuf, MPI_Aint count,
                             MPI_Datatype datatype, MPI_Op op, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, how = MPIDI_PTL_env.coll_allreduce;
    const void *give_buf = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    work_t w;

    if (count == 0)
        goto fn_exit;
    describe(&w, count, datatype, op);
    if (w.shape.bytes == 0)
        goto fn_exit;
    if (how == MPIDI_PTL_ALLREDUCE_AUTO)
        how = MPIDI_PTL_ALLREDUCE_DIRECT;
    if (how == MPIDI_PTL_ALLREDUCE_REDUCE_BCAST || (!w.ours && w.shape.bytes > MPIDI_PTL_STAGE) ||
        (c->n > 16 && w.shape.bytes <= MPIDI_PTL_ALLREDUCE_STAGED_MAX)) {
        MPIDI_PTL_USED(REDUCE_BCAST);
        mpi_errno = MPIDI_PTL_Node_reduce(c, c->rank == 0 ? sendbuf : give_buf, recvbuf, count, datatype, op, 0,
                                          errflag);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDI_PTL_Node_bcast(c, recvbuf, count, datatype, 0, errflag);
    } else if (!w.ours || w.shape.bytes <= MPIDI_PTL_ALLREDUCE_STAGED_MAX) {
        MPIDI_PTL_USED(ALL_COMBINE);
        mpi_errno = all_combine(c, &w, give_buf, recvbuf, errflag);
    } else {
        mpi_errno = parallel(c, &w, give_buf, recvbuf, -1, errflag);
    }
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- scan ---- */

/* Of the ranks up to ours (@exclusive: before ours). */
int MPIDI_PTL_Node_scan(MPIDI_PTL_Coll_t * c, const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                        MPI_Op op, int exclusive, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, last = c->rank - exclusive, long_data, in_place = sendbuf == MPI_IN_PLACE;
    MPIDI_PTL_Slot_t *slot;
    uint32_t s;
    work_t w;

    if (count == 0)
        goto fn_exit;
    describe(&w, count, datatype, op);
    if (w.shape.bytes == 0)
        goto fn_exit;
    long_data = w.shape.bytes > MPIDI_PTL_STAGE;
    mpi_errno = MPIDI_PTL_Coll_begin(c, &s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = give(c, &w, s, slot, in_place ? recvbuf : sendbuf, MPIDI_PTL_STAGE,
                     in_place ? MPIDI_PTL_SHOW_COPY : MPIDI_PTL_SHOW_WINDOW, errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (last >= 0) {
        mpi_errno = combine(c, &w, s, last, NULL, recvbuf, errflag);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_PTL_Coll_end(c, s);
    if (long_data) {
        mpi_errno = MPIDI_PTL_Coll_all_done(c, s);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_PTL_Coll_tmp_done(c);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- reduce_scatter ---- */

/*
 * Everybody reduces its own part, of what all show; MPICH's operators only. @counts NULL: @count for each. In place the
 * result goes where another rank's operands are: it waits in our arena until all have read them.
 */
int MPIDI_PTL_Node_reduce_scatter(MPIDI_PTL_Coll_t * c, const void *sendbuf, void *recvbuf, const MPI_Aint * counts,
                                  MPI_Aint count, MPI_Datatype datatype, MPI_Op op, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, i, in_place = sendbuf == MPI_IN_PLACE, waits;
    MPI_Aint total = 0, first = 0, mine = counts ? counts[c->rank] : count;
    char aligned[64] __attribute__((aligned(64))), *into = recvbuf;
    const void *from;
    MPIDI_PTL_Slot_t *slot;
    intptr_t bytes, at;
    uint32_t s;
    work_t w;

    for (i = 0; i < c->n; i++) {
        first += i < c->rank ? (counts ? counts[i] : count) : 0;
        total += counts ? counts[i] : count;
    }
    if (total == 0)
        goto fn_exit;
    describe(&w, total, datatype, op);
    mpi_errno = MPIDI_PTL_Coll_begin(c, &s, &slot);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = give(c, &w, s, slot, in_place ? recvbuf : sendbuf, MPIDI_PTL_ALLREDUCE_STAGED_MAX,
                     MPIDI_PTL_SHOW_WINDOW, errflag);
    MPIR_ERR_CHECK(mpi_errno);
    waits = slot->kind == MPIDI_PTL_KIND_DIRECT;
    bytes = mine * w.elem;
    if (in_place && waits) {
        mpi_errno = MPIDI_PTL_Coll_tmp(c, 1, bytes, &into);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (i = c->n - 1; i >= 0; i--) {
        mpi_errno = given(c, &w, i, s, aligned, &from, errflag);
        MPIR_ERR_CHECK(mpi_errno);
        at = first * w.elem;
        if (i == c->n - 1 && mine > 0)
            MPIDI_PTL_Coll_copy(into, (const char *) from + at, bytes);
        else if (mine > 0)
            mpi_errno = MPIR_Reduce_local((const char *) from + at, into, mine, datatype, op);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_PTL_Coll_end(c, s);
    c->min_done = s - 1;
    if (waits) {
        mpi_errno = MPIDI_PTL_Coll_all_done(c, s);
        MPIR_ERR_CHECK(mpi_errno);
        if (into != recvbuf && mine > 0)
            MPIDI_PTL_Coll_copy(recvbuf, into, bytes);
        MPIDI_PTL_Coll_tmp_done(c);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

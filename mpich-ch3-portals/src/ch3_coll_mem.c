/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Memory of the collectives: pieces of the stage, copies in the arena, the user's data shown to peers and taken from
 * them.
 */
#include "ch3_coll.h"

/* A piece of the stage, for collective @s. */
int MPIDI_PTL_Coll_stage(MPIDI_PTL_Coll_t * c, uint32_t s, char **piece)
{
    int mpi_errno = MPI_SUCCESS, i = c->stage_next;

    if (unlikely(c->stage == NULL)) {
        c->stage = smartmap_alloc(MPIDI_PTL_STAGES * MPIDI_PTL_STAGE, 4096);
        MPIR_ERR_CHKANDJUMP(!c->stage, mpi_errno, MPI_ERR_OTHER, "**nomem");
    }
    if ((int32_t) (c->stage_used[i] - c->min_done) > 0) {
        mpi_errno = MPIDI_PTL_Coll_room_slow(c, c->stage_used[i]);
        MPIR_ERR_CHECK(mpi_errno);
    }
    c->stage_used[i] = s;
    c->stage_next = (i + 1) % MPIDI_PTL_STAGES;
    *piece = c->stage + i * MPIDI_PTL_STAGE;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Reachable memory that is free again when the collective has ended on all ranks. */
int MPIDI_PTL_Coll_tmp(MPIDI_PTL_Coll_t * c, int which, size_t size, char **p)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Tmp_t *tmp = &c->tmp[which];

    if (size > tmp->size) {
        if (tmp->p != NULL)
            smartmap_free(tmp->p, tmp->size);
        tmp->size = (size + 65535) & ~(size_t) 65535;
        tmp->p = smartmap_alloc(tmp->size, 4096);
        if (tmp->p == NULL)
            tmp->size = 0;
        MPIR_ERR_CHKANDJUMP(!tmp->p, mpi_errno, MPI_ERR_OTHER, "**nomem");
    }
    *p = tmp->p;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* All have ended: large ones go. */
void MPIDI_PTL_Coll_tmp_done(MPIDI_PTL_Coll_t * c)
{
    int i;

    for (i = 0; i < 3; i++) {
        if (c->tmp[i].size > MPIDI_PTL_TMP_KEEP) {
            smartmap_free(c->tmp[i].p, c->tmp[i].size);
            c->tmp[i].p = NULL;
            c->tmp[i].size = 0;
        }
    }
}

int MPIDI_PTL_Coll_pack(const void *buf, MPI_Aint count, MPI_Datatype type, void *dst, intptr_t bytes)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint actual;

    mpi_errno = MPIR_Typerep_pack(buf, count, type, 0, dst, bytes, &actual);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(actual != bytes, mpi_errno, MPI_ERR_TYPE, "**dtypemismatch");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Coll_unpack(const void *src, intptr_t bytes, void *buf, MPI_Aint count, MPI_Datatype type)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint actual;

    mpi_errno = MPIR_Typerep_unpack(src, bytes, buf, count, type, 0, &actual);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(actual != bytes, mpi_errno, MPI_ERR_TYPE, "**dtypemismatch");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Where and how peers may read the data of @buf. */
int MPIDI_PTL_Coll_expose(MPIDI_PTL_Coll_t * c, const void *buf, MPI_Aint count, MPI_Datatype type,
                          const MPIDI_PTL_Shape_t * shape, MPIDI_PTL_Show_t how, uint64_t * addr, int *flags)
{
    int mpi_errno = MPI_SUCCESS;
    const char *p = (const char *) buf + shape->lb;
    char *tmp;

    *flags = MPIDI_PTL_FLAG_WINDOW;
    *addr = (uint64_t) (uintptr_t) p;
    if (shape->bytes == 0)
        goto fn_exit;
    if (shape->contig && how != MPIDI_PTL_SHOW_COPY) {
        if (smartmap_adopted(p, shape->bytes))
            goto fn_exit;
        if (how == MPIDI_PTL_SHOW_KERNEL && c->can_cma && shape->bytes >= 4096) {
            *flags = 0;
            goto fn_exit;
        }
    }
    mpi_errno = MPIDI_PTL_Coll_tmp(c, 0, shape->bytes, &tmp);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_PTL_Coll_to_wire(buf, count, type, shape, tmp);
    MPIR_ERR_CHECK(mpi_errno);
    *addr = (uint64_t) (uintptr_t) tmp;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Coll_show_long(MPIDI_PTL_Coll_t * c, MPIDI_PTL_Slot_t * slot, uint32_t s, const void *buf,
                             MPI_Aint count, MPI_Datatype type, const MPIDI_PTL_Shape_t * shape, intptr_t stage_max,
                             MPIDI_PTL_Show_t how, int error)
{
    int mpi_errno = MPI_SUCCESS, flags = MPIDI_PTL_FLAG_WINDOW, kind = MPIDI_PTL_KIND_DIRECT;
    char *piece;

    if (shape->bytes <= stage_max) {
        kind = MPIDI_PTL_KIND_STAGED;
        mpi_errno = MPIDI_PTL_Coll_stage(c, s, &piece);
        MPIR_ERR_CHECK(mpi_errno);
        slot->w[0] = (uint64_t) (uintptr_t) piece;
        mpi_errno = MPIDI_PTL_Coll_to_wire(buf, count, type, shape, piece);
    } else {
        mpi_errno = MPIDI_PTL_Coll_expose(c, buf, count, type, shape, how, &slot->w[0], &flags);
    }
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_post(c, slot, s, kind, flags | error, 0);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Bytes that a peer has exposed. */
int MPIDI_PTL_Coll_fetch(MPIDI_PTL_Coll_t * c, int peer, void *dst, uint64_t addr, int flags, size_t len)
{
    int mpi_errno = MPI_SUCCESS, rc;
    char *far = (char *) (uintptr_t) addr;

    if (likely(flags & MPIDI_PTL_FLAG_WINDOW)) {
        char *near = smartmap_remote(c->local[peer], far);

        MPIDI_PTL_Coll_copy(dst, near, len);
        goto fn_exit;
    }
    if (peer == c->rank) {
        MPIDI_PTL_Coll_copy(dst, far, len);
        goto fn_exit;
    }
    rc = smartmap_read(c->local[peer], dst, far, len);
    MPIR_ERR_CHKANDJUMP1(rc != 0, mpi_errno, MPI_ERR_OTHER, "**intern", "**intern %s", strerror(-rc));

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The same, into the user's memory of any type. */
int MPIDI_PTL_Coll_take(MPIDI_PTL_Coll_t * c, int peer, uint64_t addr, int flags, intptr_t bytes, void *buf,
                        MPI_Aint count, MPI_Datatype type, const MPIDI_PTL_Shape_t * shape)
{
    int mpi_errno = MPI_SUCCESS;
    char *tmp;

    if (bytes == 0)
        goto fn_exit;
    if (likely(shape->contig)) {
        mpi_errno = MPIDI_PTL_Coll_fetch(c, peer, (char *) buf + shape->lb, addr, flags, bytes);
        goto fn_exit;
    }
    tmp = smartmap_remote(c->local[peer], (char *) (uintptr_t) addr);
    if (!(flags & MPIDI_PTL_FLAG_WINDOW)) {
        mpi_errno = MPIDI_PTL_Coll_tmp(c, 2, bytes, &tmp);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDI_PTL_Coll_fetch(c, peer, tmp, addr, flags, bytes);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIDI_PTL_Coll_unpack(tmp, bytes, buf, count, type);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

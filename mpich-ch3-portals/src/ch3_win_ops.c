/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Put and get: a copy by this thread, or by the kernel for it; else CH3's packets.
 *
 * One aligned element of up to 8 bytes is one load or store, so that who polls it never sees half of it
 * (smartmap_copy()).
 */
#include "mpidi_ptl_win.h"

/*
 * CH3 sends a packet where the target is on another node; where it is not, it takes the window for shared memory. Of
 * targets on our node that only packets reach, and of those of another job whose node has our node's number, it must
 * not think that they are near: what it compares is our own connection's node with theirs.
 */
#define NOWHERE (-4711)

static int hidden, own_node;

int MPIDI_PTL_Before_packets(MPIR_Win * win, int rank)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Target_t *t = &win->ptl->target[rank];
    MPIDI_VC_t *vc;

    if (t->ctl == NULL && !t->granted && (t->locked || win->ptl->lock_all)) {
        if (!t->asked) {
            mpi_errno = MPIDI_PTL_Ask_lock(win, rank, MPI_LOCK_SHARED);
            MPIR_ERR_CHECK(mpi_errno);
        }
        mpi_errno = MPIDI_PTL_Wait_lock(win, rank);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (!t->looks_near)
        goto fn_exit;
    /* CH3 must not wait meanwhile, since then other threads would see our connection as it is then. */
    while ((win->op_pool_head == NULL && global_rma_op_pool_head == NULL) ||
           (win->target_pool_head == NULL && global_rma_target_pool_head == NULL) ||
           (MPIR_CVAR_CH3_RMA_ACTIVE_REQ_THRESHOLD >= 0 &&
            MPIDI_CH3I_RMA_Active_req_cnt > MPIR_CVAR_CH3_RMA_ACTIVE_REQ_THRESHOLD / 2)) {
        mpi_errno = MPIDI_CH3_Progress_poke();
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (hidden++ == 0) {
        MPIDI_Comm_get_vc(win->comm_ptr, win->ptl->rank, &vc);
        own_node = vc->node_id;
        vc->node_id = NOWHERE;
    }

  fn_exit:
  fn_fail:
    return mpi_errno;
}

void MPIDI_PTL_After_packets(MPIR_Win * win, int rank)
{
    MPIDI_VC_t *vc;

    if (win->ptl->target[rank].looks_near && --hidden == 0) {
        MPIDI_Comm_get_vc(win->comm_ptr, win->ptl->rank, &vc);
        vc->node_id = own_node;
    }
}

/* By the kernel. */
typedef struct {
    int proc, put;
    char *packed, *there;
} Far_copy_t;

static int copy_piece(void *arg, MPI_Aint disp, size_t at, size_t len)
{
    Far_copy_t *c = arg;

    return c->put ? smartmap_write(c->proc, c->there + disp, c->packed + at, len) :
        smartmap_read(c->proc, c->packed + at, c->there + disp, len);
}

/* False: it was not possible. What was written before that turned out is written again by packets. */
static int copy_by_kernel(int put, void *buf, MPI_Aint count, MPI_Datatype type, MPIDI_PTL_Target_t * t, char *there,
                          MPI_Aint tcount, MPI_Datatype ttype)
{
    int contig, done = FALSE;
    Far_copy_t c = { t->proc, put, NULL, there };
    MPI_Aint lb, tsize, actual;
    MPIR_Datatype *dt ATTRIBUTE((unused));
    char *tmp = NULL;
    intptr_t size;

    MPIDI_Datatype_get_info(count, type, contig, size, dt, lb);
    MPIR_Datatype_get_size_macro(ttype, tsize);
    if (tsize * tcount != size)
        goto fn_exit;           /* packets know what to say of that */
    if (contig) {
        c.packed = (char *) buf + lb;
    } else {
        c.packed = tmp = MPL_malloc(size, MPL_MEM_RMA);
        if (tmp == NULL)
            goto fn_exit;
        if (put)
            MPIR_Typerep_pack(buf, count, type, 0, tmp, size, &actual);
    }
    if (MPIDI_PTL_Pieces(tcount, ttype, size, copy_piece, &c) != 0)
        goto fn_exit;
    if (tmp != NULL && !put)
        MPIR_Typerep_unpack(tmp, size, buf, count, type, 0, &actual);
    done = TRUE;

  fn_exit:
    MPL_free(tmp);
    return done;
}

/* Put or get without packets, if that is possible. */
static int try_copy(int put, void *buf, MPI_Aint count, MPI_Datatype type, int rank, MPI_Aint disp, MPI_Aint tcount,
                    MPI_Datatype ttype, MPIR_Win * win, int *done)
{
    int mpi_errno = MPI_SUCCESS, native;
    MPIDI_PTL_Win_t *w = win->ptl;
    MPIDI_PTL_Target_t *t = &w->target[rank];
    MPI_Aint lb, len, size;
    char *far = NULL;

    *done = TRUE;
    MPIR_ERR_CHKANDJUMP(win->states.access_state == MPIDI_RMA_NONE, mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    MPIR_Datatype_get_size_macro(type, size);
    if (size * count == 0)
        goto fn_exit;
    if (w->dynamic) {
        MPIDI_PTL_Extent(tcount, ttype, &lb, &len);
        far = MPIDI_PTL_Reach(w, rank, disp + lb, len, &native);
        if (far != NULL)
            far -= lb;
    } else if (t->base != NULL || rank == w->rank) {
        far = t->base + t->disp_unit * disp;
    }
    if (far != NULL || rank == w->rank) {
        if (put)
            mpi_errno = MPIR_Localcopy(buf, count, type, far, tcount, ttype);
        else
            mpi_errno = MPIR_Localcopy(far, tcount, ttype, buf, count, type);
    } else if (t->proc >= 0 && t->ctl != NULL) {
        *done = copy_by_kernel(put, buf, count, type, t, t->there + t->disp_unit * disp, tcount, ttype);
    } else {
        *done = FALSE;
    }
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
  fn_fail:
    return mpi_errno;
}

/* The usual case: elements of a basic type in direct memory. */
static inline char *simple(MPI_Aint count, MPI_Datatype type, int rank, MPI_Aint disp, MPI_Aint tcount,
                           MPI_Datatype ttype, MPIR_Win * win, size_t * len)
{
    MPIDI_PTL_Target_t *t = &win->ptl->target[rank];

    if (unlikely(t->base == NULL || !HANDLE_IS_BUILTIN(type) || !HANDLE_IS_BUILTIN(ttype) ||
                 win->states.access_state == MPIDI_RMA_NONE))
        return NULL;
    *len = count * MPIR_Datatype_get_basic_size(type);
    if (unlikely(*len != (size_t) tcount * MPIR_Datatype_get_basic_size(ttype)))
        return NULL;
    return t->base + t->disp_unit * disp;
}

static inline void copy_any(void *d, const void *s, size_t n)
{
    if (likely(n < MPIDI_PTL_LONG_COPY))
        smartmap_copy(d, s, n);
    else if ((uintptr_t) d + n <= (uintptr_t) s || (uintptr_t) s + n <= (uintptr_t) d)
        MPIDI_PTL_long_copy(d, s, n);
    else
        memmove(d, s, n);
}

int MPID_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, done;
    size_t len;
    char *far = simple(origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win,
                       &len);

    if (likely(far != NULL)) {
        copy_any(far, origin_addr, len);
        return MPI_SUCCESS;
    }
    mpi_errno = try_copy(TRUE, (void *) origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                         target_count, target_datatype, win, &done);
    MPIR_ERR_CHECK(mpi_errno);
    if (!done)
        MPIDI_PTL_BY_PACKETS(MPIDI_CH3I_Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                            target_count, target_datatype, win, NULL));

  fn_fail:
    return mpi_errno;
}

int MPID_Get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
             int target_count, MPI_Datatype target_datatype, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, done;
    size_t len;
    char *far = simple(origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win,
                       &len);

    if (likely(far != NULL)) {
        copy_any(origin_addr, far, len);
        return MPI_SUCCESS;
    }
    mpi_errno = try_copy(FALSE, origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                         target_datatype, win, &done);
    MPIR_ERR_CHECK(mpi_errno);
    if (!done)
        MPIDI_PTL_BY_PACKETS(MPIDI_CH3I_Get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                            target_count, target_datatype, win, NULL));

  fn_fail:
    return mpi_errno;
}

int MPID_Rput(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
              MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPIR_Win * win,
              MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS, done;

    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL_In_passive_epoch(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    mpi_errno = try_copy(TRUE, (void *) origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                         target_count, target_datatype, win, &done);
    MPIR_ERR_CHECK(mpi_errno);
    if (done)
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
    else
        MPIDI_PTL_BY_PACKETS(MPIDI_PTL_CH3_Rput(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                                target_count, target_datatype, win, request));

  fn_fail:
    return mpi_errno;
}

int MPID_Rget(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
              int target_count, MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS, done;

    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL_In_passive_epoch(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    mpi_errno = try_copy(FALSE, origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                         target_datatype, win, &done);
    MPIR_ERR_CHECK(mpi_errno);
    if (done)
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
    else
        MPIDI_PTL_BY_PACKETS(MPIDI_PTL_CH3_Rget(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                                target_count, target_datatype, win, request));

  fn_fail:
    return mpi_errno;
}

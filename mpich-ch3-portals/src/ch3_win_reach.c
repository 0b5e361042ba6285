/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Where the memory of a target is in this process.
 *
 * The memory of a shared window has an owner and, in the other ranks, an address inside the owner's SMARTMAP window. A
 * program may give that address to MPI_Win_create or MPI_Win_attach: the segments kept here lead back to the owner, and
 * every peer reaches the memory through its own view of the owner.
 */
#include "mpidi_ptl_win.h"

static MPIDI_PTL_Segment_t *segments;

/* The segment that these bytes are in. */
MPIDI_PTL_Segment_t *MPIDI_PTL_Segment_of(const void *addr, size_t size)
{
    MPIDI_PTL_Segment_t *s;
    uintptr_t off;

    for (s = segments; s != NULL; s = s->next) {
        off = (uintptr_t) addr - (uintptr_t) s->here;
        if (off < s->size && size <= s->size - off)
            return s;
    }
    return NULL;
}

int MPIDI_PTL_Segment_add(MPIDI_PTL_Win_t * w, char *here, char *there, size_t size, int owner)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Segment_t *s;

    s = MPL_malloc(sizeof(*s), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP(!s, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *s = (MPIDI_PTL_Segment_t) { segments, w, here, there, size, owner };
    segments = s;

  fn_fail:
    return mpi_errno;
}

void MPIDI_PTL_Segments_drop(MPIDI_PTL_Win_t * w)
{
    MPIDI_PTL_Segment_t **p = &segments, *s;

    while ((s = *p) != NULL) {
        if (s->win == w) {
            *p = s->next;
            MPL_free(s);
        } else {
            p = &s->next;
        }
    }
}

/* What a target has attached that is not its own: see MPID_Win_attach. */
static char *find_region(MPIDI_PTL_Target_t * t, uintptr_t addr, size_t len)
{
    uint64_t at = __atomic_load_n(&t->ctl->regions, __ATOMIC_ACQUIRE);
    MPIDI_PTL_Regions_t *b;
    int i;

    for (; at != 0; at = __atomic_load_n(&b->next, __ATOMIC_ACQUIRE)) {
        b = smartmap_remote(t->proc, (void *) (uintptr_t) at);
        for (i = 0; i < MPIDI_PTL_REGIONS; i++) {
            uint64_t size = __atomic_load_n(&b->r[i].size, __ATOMIC_ACQUIRE);
            uintptr_t off = addr - (uintptr_t) b->r[i].here;

            if (off < size && len <= size - off)
                return smartmap_remote((int) b->r[i].owner, (void *) (uintptr_t) (b->r[i].there + off));
        }
    }
    return NULL;
}

/*
 * In a dynamic window: these bytes of a target, here; NULL: not directly. *native: every rank of the window finds the
 * same, and reaches them.
 */
void *MPIDI_PTL_Reach(MPIDI_PTL_Win_t * w, int rank, MPI_Aint addr, size_t len, int *native)
{
    MPIDI_PTL_Target_t *t = &w->target[rank];
    void *p = (void *) addr;

    *native = FALSE;
    if (rank == w->rank) {
        *native = w->one_node && (smartmap_adopted(p, len) || MPIDI_PTL_Segment_of(p, len) != NULL);
        return p;
    }
    if (t->ctl == NULL)
        return NULL;
    if (smartmap_reachable(t->proc, p, len))
        p = smartmap_remote(t->proc, p);
    else
        p = find_region(t, (uintptr_t) addr, len);
    *native = p != NULL && w->one_node;
    return p;
}

/*
 * For each contiguous piece of the first total bytes of these elements: fn with its displacement from the buffer, its
 * place among the bytes and its length. Ends when fn returns non-zero, with that.
 */
int MPIDI_PTL_Pieces(MPI_Aint count, MPI_Datatype type, size_t total, MPIDI_PTL_Piece_fn_t * fn, void *arg)
{
    struct iovec iov[64];
    MPI_Aint n, bytes, i;
    size_t at = 0;
    int rc;

    if (HANDLE_IS_BUILTIN(type))
        return fn(arg, 0, 0, total);
    while (at < total) {
        MPIR_Typerep_to_iov(NULL, count, type, at, iov, 64, total - at, &n, &bytes);
        if (n == 0)
            return -1;
        for (i = 0; i < n; i++) {
            rc = fn(arg, (MPI_Aint) iov[i].iov_base, at, iov[i].iov_len);
            if (rc != 0)
                return rc;
            at += iov[i].iov_len;
        }
    }
    return 0;
}

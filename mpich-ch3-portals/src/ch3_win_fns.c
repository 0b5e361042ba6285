/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Windows: created, allocated, attached to, freed.
 *
 * Whoever creates a window tells the others in one allgather what CH3 wants to know and what the channel does: where
 * the memory is and whose, whether it is in a SMARTMAP window, where its control block is. All ranks decide from these
 * words alone how each target is reached, so they decide alike. What a rank failed at (no memory, a peer that it cannot
 * attach) is in them, too: no rank is left alone in a collective.
 */
#include "mpidi_ptl_win.h"
#include <sys/mman.h>

enum { SEES_NODE = 1, DIRECT = 2, FAILED = 4, MEMBARRIER = 8 };

typedef struct Info {
    MPI_Aint base, size;
    uint64_t ctl;               /* address there */
    uint64_t there;             /* of the memory, at its owner */
    int owner;                  /* local rank */
    int flags;
    int disp_unit;
    MPI_Win handle;
} Info_t;

/* Can we see all ranks of the window that are on our node? */
static int attach_node(MPIDI_PTL_Win_t * w)
{
    int i, ok = smartmap_size() > 0 && smartmap_rank() == MPIR_Process.local_rank;

    for (i = 0; i < w->n && ok; i++)
        if (w->target[i].proc >= 0 && i != w->rank)
            ok = smartmap_attach(w->target[i].proc) == 0;
    return ok;
}

static MPIDI_PTL_Win_t *new_win(MPIR_Comm * comm)
{
    int n = comm->local_size, i;
    MPIDI_PTL_Win_t *w = MPL_calloc(1, sizeof(*w) + n * sizeof(w->target[0]), MPL_MEM_RMA);
    MPIDI_VC_t *vc;

    if (w == NULL)
        return NULL;
    w->n = n;
    w->rank = comm->rank;
    w->ctl = smartmap_alloc(sizeof(*w->ctl), 64);
    w->ctl_in_arena = w->ctl != NULL;
    if (w->ctl == NULL)
        w->ctl = MPL_calloc(1, sizeof(*w->ctl), MPL_MEM_RMA);
    if (w->ctl == NULL) {
        MPL_free(w);
        return NULL;
    }
    for (i = 0; i < n; i++) {
        MPIDI_Comm_get_vc(comm, i, &vc);
        w->target[i].proc = MPIDI_PTL_Local_rank(vc);
    }
    return w;
}

static void free_regions(MPIDI_PTL_Win_t * w)
{
    uint64_t at = w->ctl->regions;

    while (at != 0) {
        MPIDI_PTL_Regions_t *b = (void *) (uintptr_t) at;

        at = b->next;
        smartmap_free(b, sizeof(*b));
    }
}

/* The pages of a freed window are the system's again, not only the arena's. */
static void give_back(void *mem, size_t size)
{
    uintptr_t lo = ((uintptr_t) mem + 4095) & ~(uintptr_t) 4095, hi = ((uintptr_t) mem + size) & ~(uintptr_t) 4095;

    if (hi > lo && hi - lo >= 65536 && madvise((void *) lo, hi - lo, MADV_REMOVE) != 0)
        madvise((void *) lo, hi - lo, MADV_DONTNEED);   /* a job of one process: private memory */
}

static void free_win(MPIDI_PTL_Win_t * w)
{
    if (w == NULL)
        return;
    MPIDI_PTL_Segments_drop(w);
    if (w->ctl_in_arena) {
        free_regions(w);
        smartmap_free(w->ctl, sizeof(*w->ctl));
    } else {
        MPL_free(w->ctl);
    }
    give_back(w->mem, w->mem_size);
    smartmap_free(w->mem, w->mem_size);
    MPL_free(w);
}

/* What we say of ourselves. */
static void fill_info(MPIR_Win * win, void *base, MPI_Aint size, int disp_unit, Info_t * info)
{
    MPIDI_PTL_Win_t *w = win->ptl;
    MPIDI_PTL_Segment_t *s;

    memset(info, 0, sizeof(*info));
    info->base = (MPI_Aint) base;
    info->size = size;
    info->disp_unit = disp_unit;
    info->handle = win->handle;
    info->owner = MPIR_Process.local_rank;
    info->there = (uintptr_t) base;
    if (w == NULL) {
        info->flags = FAILED;
        return;
    }
    info->ctl = (uintptr_t) w->ctl;
    if (w->ctl_in_arena && attach_node(w))
        info->flags |= SEES_NODE;
    if (smartmap_membarrier_ok())
        info->flags |= MEMBARRIER;
    if (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return;
    s = MPIDI_PTL_Segment_of(base, size);
    if (s != NULL) {
        info->owner = s->owner;
        info->there = (uintptr_t) s->there + ((uintptr_t) base - (uintptr_t) s->here);
        info->flags |= DIRECT;
    } else if (size == 0 || smartmap_adopted(base, size)) {
        info->flags |= DIRECT;
    }
}

/* How each target is reached, from what all said. */
static int set_targets(MPIR_Win * win, const Info_t * info)
{
    int mpi_errno = MPI_SUCCESS, i, node_ok = TRUE, on_node = 0;
    MPIDI_PTL_Win_t *w = win->ptl;
    MPIDI_VC_t *vc, *own_vc;

    MPIDI_Comm_get_vc(win->comm_ptr, w->rank, &own_vc);
    w->dynamic = win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC;
    for (i = 0; i < w->n; i++) {
        if (w->target[i].proc < 0)
            continue;
        on_node++;
        if (!(info[i].flags & SEES_NODE))
            node_ok = FALSE;
    }
    w->one_node = w->bulk = node_ok && on_node == w->n;
    for (i = 0; i < w->n; i++)
        w->bulk = w->bulk && (info[i].flags & MEMBARRIER);
    w->pure = w->one_node && !w->dynamic;
    for (i = 0; i < w->n; i++) {
        MPIDI_PTL_Target_t *t = &w->target[i];
        char *there = (char *) (uintptr_t) info[i].there;
        int direct = t->proc >= 0 && node_ok && (info[i].flags & DIRECT);

        MPIDI_Comm_get_vc(win->comm_ptr, i, &vc);
        t->looks_near = vc->node_id == own_vc->node_id;
        t->disp_unit = info[i].disp_unit;
        t->there = (char *) info[i].base;
        if (i == w->rank)
            t->ctl = w->ctl;
        else if (t->proc >= 0 && node_ok)
            t->ctl = smartmap_remote(t->proc, (void *) (uintptr_t) info[i].ctl);
        if (i == w->rank && !w->dynamic)
            t->base = win->base;
        else if (direct && info[i].size > 0) {
            t->base = info[i].owner == smartmap_rank() ? there : smartmap_remote(info[i].owner, there);
            MPIR_ERR_CHKANDJUMP(!t->base, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
        }
        t->native = direct && w->one_node;
        t->packets = i != w->rank && !direct;
        if (!direct)
            w->pure = FALSE;
    }
    /* CH3's: ranks of the node use this memory behind its back */
    win->shm_allocated = node_ok && win->comm_ptr->node_comm != NULL;

  fn_fail:
    return mpi_errno;
}

/* Collective. @failed: this rank could not get its memory. */
static int exchange(void *base, MPI_Aint size, int disp_unit, MPIR_Win * win, int failed)
{
    int mpi_errno = MPI_SUCCESS, i, n = win->comm_ptr->local_size;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    MPIDI_Win_basic_info_t *table;
    Info_t *info = NULL;

    if (win->ptl == NULL)
        win->ptl = new_win(win->comm_ptr);
    info = MPL_malloc(n * sizeof(*info), MPL_MEM_RMA);
    table = MPL_malloc(n * sizeof(*table), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP(!info || !table, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    win->basic_info_table = table;
    win->base = base;
    fill_info(win, base, size, disp_unit, &info[win->comm_ptr->rank]);
    if (failed)
        info[win->comm_ptr->rank].flags |= FAILED;
    mpi_errno = MPIR_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, info, sizeof(*info), MPI_BYTE, win->comm_ptr,
                               &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(errflag, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    for (i = 0; i < n; i++) {
        MPIR_ERR_CHKANDJUMP(info[i].flags & FAILED, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
        table[i].base_addr = (void *) info[i].base;
        table[i].size = info[i].size;
        table[i].disp_unit = info[i].disp_unit;
        table[i].win_handle = info[i].handle;
    }
    mpi_errno = set_targets(win, info);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(info);
    return mpi_errno;
  fn_fail:
    free_win(win->ptl);
    win->ptl = NULL;
    goto fn_exit;
}

static int gather_info(void *base, MPI_Aint size, int disp_unit, MPIR_Info * info ATTRIBUTE((unused)),
                       MPIR_Comm * comm ATTRIBUTE((unused)), MPIR_Win ** win)
{
    return exchange(base, size, disp_unit, *win, FALSE);
}

/* Memory that peers see wherever the heap may be; NULL: there is none (left). */
static void *alloc_in_arena(MPIDI_PTL_Win_t * w, size_t size)
{
    if (w == NULL || !w->ctl_in_arena || size == 0)
        return NULL;
    w->mem = smartmap_alloc(size, size >= 4096 ? 4096 : 64);
    w->mem_size = w->mem != NULL ? size : 0;
    return w->mem;
}

static int allocate(MPI_Aint size, int disp_unit, MPIR_Info * info ATTRIBUTE((unused)),
                    MPIR_Comm * comm ATTRIBUTE((unused)), void *baseptr, MPIR_Win ** winp)
{
    int mpi_errno = MPI_SUCCESS, in_arena;
    MPIR_Win *win = *winp;
    void *mem;

    win->ptl = new_win(win->comm_ptr);
    mem = alloc_in_arena(win->ptl, size);
    in_arena = mem != NULL;
    if (mem == NULL && size > 0)
        mem = MPL_malloc(size, MPL_MEM_RMA);
    mpi_errno = exchange(mem, size, disp_unit, win, size < 0 || (size > 0 && mem == NULL));
    if (mpi_errno != MPI_SUCCESS && !in_arena)
        MPL_free(mem);
    MPIR_ERR_CHECK(mpi_errno);
    *(void **) baseptr = mem;

  fn_fail:
    return mpi_errno;
}

/* One block of the first rank's for all. @at: our part of it. */
static int allocate_together(MPIR_Win * win, const MPI_Aint * sizes, char **at)
{
    int mpi_errno = MPI_SUCCESS, i;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    MPIDI_PTL_Win_t *w = win->ptl;
    MPI_Aint total = 0, before = 0;
    uint64_t there = 0;
    char *here = NULL;

    for (i = 0; i < w->n; i++) {
        if (i == w->rank)
            before = total;
        total += sizes[i];
    }
    *at = NULL;
    if (total == 0)
        goto fn_exit;
    if (w->rank == 0)
        there = (uintptr_t) alloc_in_arena(w, total);
    mpi_errno = MPIR_Bcast(&there, sizeof(there), MPI_BYTE, 0, win->comm_ptr, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(errflag, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    MPIR_ERR_CHKANDJUMP(!there, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    here = (char *) (uintptr_t) there;
    if (w->rank != 0) {
        here = smartmap_remote(w->target[0].proc, here);
        mpi_errno = MPIDI_PTL_Segment_add(w, here, (char *) (uintptr_t) there, total, w->target[0].proc);
        MPIR_ERR_CHECK(mpi_errno);
    }
    *at = here + before;

  fn_exit:
  fn_fail:
    return mpi_errno;
}

/* The others' blocks of a shared window have addresses here, too. */
static int add_segments(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, i;
    MPIDI_PTL_Win_t *w = win->ptl;

    for (i = 0; i < w->n; i++) {
        MPIDI_PTL_Target_t *t = &w->target[i];
        MPI_Aint size = win->basic_info_table[i].size;

        if (i == w->rank || size == 0)
            continue;
        mpi_errno = MPIDI_PTL_Segment_add(w, t->base, t->there, size, t->proc);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_fail:
    return mpi_errno;
}

static int allocate_shared(MPI_Aint size, int disp_unit, MPIR_Info * info ATTRIBUTE((unused)),
                           MPIR_Comm * comm ATTRIBUTE((unused)), void *baseptr, MPIR_Win ** winp)
{
    int mpi_errno = MPI_SUCCESS, i, n, ok, apart;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    MPIR_Win *win = *winp;
    MPIDI_PTL_Win_t *w;
    MPI_Aint *sizes = NULL;
    char *mem;

    n = win->comm_ptr->local_size;
    w = win->ptl = new_win(win->comm_ptr);
    apart = win->info_args.alloc_shared_noncontig;
    sizes = MPL_malloc(n * sizeof(*sizes), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP(!sizes, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    /* -1: this rank cannot take part */
    ok = w != NULL && w->ctl_in_arena && size >= 0;
    for (i = 0; i < n && ok; i++)
        ok = w->target[i].proc >= 0;
    ok = ok && attach_node(w);
    sizes[win->comm_ptr->rank] = ok ? size : -1;
    mpi_errno = MPIR_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sizes, 1, MPI_AINT, win->comm_ptr, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(errflag, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    for (i = 0; i < n; i++)
        MPIR_ERR_CHKANDJUMP(sizes[i] < 0, mpi_errno, MPI_ERR_RMA_SHARED, "**rmashared");
    if (apart) {
        mem = alloc_in_arena(w, size);
    } else {
        mpi_errno = allocate_together(win, sizes, &mem);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = exchange(mem, size, disp_unit, win, size > 0 && mem == NULL);
    MPIR_ERR_CHECK(mpi_errno);
    if (apart) {
        mpi_errno = add_segments(win);
        MPIR_ERR_CHECK(mpi_errno);
    }
    *(void **) baseptr = mem;

  fn_exit:
    MPL_free(sizes);
    return mpi_errno;
  fn_fail:
    free_win(win->ptl);
    win->ptl = NULL;
    goto fn_exit;
}

static int shared_query(MPIR_Win * win, int rank, MPI_Aint * size, int *disp_unit, void *baseptr)
{
    MPIDI_PTL_Win_t *w = win->ptl;
    int i = rank;

    if (rank == MPI_PROC_NULL)
        for (i = 0; i < w->n && win->basic_info_table[i].size == 0; i++);
    if (i == w->n) {
        *(void **) baseptr = NULL;
        *size = 0;
        *disp_unit = 0;
    } else {
        *(void **) baseptr = w->target[i].base;
        *size = win->basic_info_table[i].size;
        *disp_unit = win->basic_info_table[i].disp_unit;
    }
    return MPI_SUCCESS;
}

/*
 * All memory is exposed anyway. But what a rank attaches may be another's, in a shared window: peers are told whose.
 */
int MPID_Win_attach(MPIR_Win * win, void *base, MPI_Aint size)
{
    int mpi_errno = MPI_SUCCESS, i;
    MPIDI_PTL_Segment_t *s = MPIDI_PTL_Segment_of(base, size);
    MPIDI_PTL_Win_ctl_t *ctl = win->ptl->ctl;
    MPIDI_PTL_Regions_t *b;
    MPIDI_PTL_Region_t *r = NULL;

    if (s == NULL || size == 0 || !win->ptl->ctl_in_arena)
        goto fn_exit;
    for (b = (void *) (uintptr_t) ctl->regions; b != NULL && r == NULL; b = (void *) (uintptr_t) b->next)
        for (i = 0; i < MPIDI_PTL_REGIONS && r == NULL; i++)
            if (b->r[i].size == 0)
                r = &b->r[i];
    if (r == NULL) {
        b = smartmap_alloc(sizeof(*b), 64);
        MPIR_ERR_CHKANDJUMP(!b, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
        b->next = ctl->regions;
        __atomic_store_n(&ctl->regions, (uintptr_t) b, __ATOMIC_RELEASE);
        r = &b->r[0];
    }
    r->here = (uintptr_t) base;
    r->there = (uintptr_t) s->there + ((uintptr_t) base - (uintptr_t) s->here);
    r->owner = s->owner;
    __atomic_store_n(&r->size, (uint64_t) size, __ATOMIC_RELEASE);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Win_detach(MPIR_Win * win, const void *base)
{
    MPIDI_PTL_Regions_t *b;
    int i;

    for (b = (void *) (uintptr_t) win->ptl->ctl->regions; b != NULL; b = (void *) (uintptr_t) b->next)
        for (i = 0; i < MPIDI_PTL_REGIONS; i++)
            if (b->r[i].size != 0 && b->r[i].here == (uintptr_t) base) {
                __atomic_store_n(&b->r[i].size, 0, __ATOMIC_RELEASE);
                return MPI_SUCCESS;
            }
    return MPI_SUCCESS;
}

/*
 * CH3's pools of operations and targets that wait: 4.7 MB that MPI_Init would write in each rank, though most programs
 * have no window, and operations on the node never wait. So CH3 makes them of length 0, and the first window makes them
 * as long as they were to be.
 */
static int pool_ops, pool_targets;      /* 0: they are there */

/* In MPI_Init, before CH3 makes them; what MPI_Finalize of an earlier session has freed is forgotten. */
void MPIDI_PTL_Win_pools_later(void)
{
    pool_ops = MPIR_CVAR_CH3_RMA_OP_GLOBAL_POOL_SIZE;
    pool_targets = MPIR_CVAR_CH3_RMA_TARGET_GLOBAL_POOL_SIZE;
    MPIR_CVAR_CH3_RMA_OP_GLOBAL_POOL_SIZE = 0;
    MPIR_CVAR_CH3_RMA_TARGET_GLOBAL_POOL_SIZE = 0;
    global_rma_op_pool_head = NULL;
    global_rma_target_pool_head = NULL;
}

/* And afterwards, for whoever asks MPI_T. */
void MPIDI_PTL_Win_pools_told(void)
{
    MPIR_CVAR_CH3_RMA_OP_GLOBAL_POOL_SIZE = pool_ops;
    MPIR_CVAR_CH3_RMA_TARGET_GLOBAL_POOL_SIZE = pool_targets;
}

static int make_pools(void)
{
    int mpi_errno = MPI_SUCCESS, i;
    MPIDI_RMA_Op_t *ops;
    MPIDI_RMA_Target_t *targets;

    if (likely(pool_ops == 0 && pool_targets == 0))
        goto fn_exit;
    ops = MPL_malloc(pool_ops * sizeof(*ops), MPL_MEM_RMA);
    targets = MPL_malloc(pool_targets * sizeof(*targets), MPL_MEM_RMA);
    if (ops == NULL || targets == NULL) {
        MPL_free(ops);
        MPL_free(targets);
        MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_OTHER, "**nomem");
    }
    MPL_free(global_rma_op_pool_start); /* of length 0; MPI_Finalize frees what takes its place */
    MPL_free(global_rma_target_pool_start);
    global_rma_op_pool_start = ops;
    global_rma_target_pool_start = targets;
    for (i = 0; i < pool_ops; i++) {
        ops[i].pool_type = MPIDI_RMA_POOL_GLOBAL;
        DL_APPEND(global_rma_op_pool_head, &ops[i]);
    }
    for (i = 0; i < pool_targets; i++) {
        targets[i].pool_type = MPIDI_RMA_POOL_GLOBAL;
        DL_APPEND(global_rma_target_pool_head, &targets[i]);
    }
    pool_ops = pool_targets = 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int win_init(MPI_Aint size ATTRIBUTE((unused)), int disp_unit ATTRIBUTE((unused)),
                    int create_flavor ATTRIBUTE((unused)), int model ATTRIBUTE((unused)),
                    MPIR_Info * info ATTRIBUTE((unused)), MPIR_Comm * comm ATTRIBUTE((unused)), MPIR_Win ** win)
{
    (*win)->ptl = NULL;
    (*win)->basic_info_table = NULL;
    return make_pools();
}

/* All ranks have come to MPI_Win_free. What may still be on its way are the unlocks of other nodes. */
static int win_free(MPIR_Win ** winp)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Win *win = *winp;
    MPIDI_PTL_Win_t *w = win->ptl;

    if (w == NULL)
        goto fn_exit;
    while (__atomic_load_n(&w->ctl->lock, __ATOMIC_SEQ_CST) != 0) {
        mpi_errno = wait_progress_engine();
        MPIR_ERR_CHECK(mpi_errno);
    }
    /* Tells MPID_Win_free not to free the memory. */
    win->shm_allocated = w->mem != NULL || win->create_flavor == MPI_WIN_FLAVOR_SHARED;
    free_win(w);
    win->ptl = NULL;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_CH3_Win_fns_init(MPIDI_CH3U_Win_fns_t * win_fns)
{
    win_fns->gather_info = gather_info;
    win_fns->allocate = allocate;
    win_fns->allocate_shared = allocate_shared;
    win_fns->shared_query = shared_query;
    return MPI_SUCCESS;
}

int MPIDI_CH3_Win_hooks_init(MPIDI_CH3U_Win_hooks_t * win_hooks)
{
    win_hooks->win_init = win_init;
    win_hooks->win_free = win_free;
    return MPI_SUCCESS;
}

int MPIDI_CH3_Win_pkt_orderings_init(MPIDI_CH3U_Win_pkt_ordering_t * win_pkt_orderings)
{
    win_pkt_orderings->am_flush_ordered = 1;
    return MPI_SUCCESS;
}

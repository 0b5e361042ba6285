/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The state of a communicator whose ranks share a node: made by its first collective, found by the others, given back.
 *
 * Each process has a table in its arena, one word for each context id: the address of its block for that communicator.
 * A context id is used again only when all ranks of the new communicator have given it back, and the entry goes before
 * that; so what is found in a peer's table is the right block or nothing yet. The first collective waits until all
 * have found all. Afterwards nobody looks into the tables, and a rank may destroy its communicator while others are
 * still in it: its block lives on until all the others have counted themselves out (departed).
 *
 * Waiting: some looks; then progress is made, so that other communication goes on, and the core is yielded; after some
 * milliseconds we sleep, an eighth of the time waited, since a store wakes nobody. Where ranks share cores we yield
 * after a few looks, and after a few yields we sleep, and are woken (MPIDI_PTL_Coll_store).
 */
#include "ch3_coll.h"
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROOT            11              /* among smartmap.h's roots of libmpi */
#define CONTEXTS        65536           /* MPIR_Context_id_t has 16 bits */
#define MAGIC           0x6c6c6f63
#define YIELD_NS        2000000         /* how long we yield before we sleep */
#define SHARED_LOOKS    20              /* where ranks share cores: before we yield */
#define SHARED_YIELDS   32              /* and then, before we sleep */
#define MAX_SLEEP_NS    5000000

typedef struct {
    uint32_t magic;
    int32_t rank;                       /* in the job */
    uint64_t block[CONTEXTS];
} table_t;

MPIDI_PTL_Coll_t MPIDI_PTL_coll_none;
__attribute__((visibility("default"))) uint64_t MPIDI_PTL_coll_used[MPIDI_PTL_USED_MAX];

static table_t *table;                  /* NULL: no collectives of ours */
static table_t **peer_table;            /* by number for libsmartmap */
static int *local_of;                   /* by rank in the job; -1: on another node */
static MPIDI_PTL_Coll_t *departing;     /* blocks of communicators that we have destroyed */

/* ---- start, end ---- */

static int comm_created(MPIR_Comm * comm, void *param ATTRIBUTE((unused)))
{
    comm->dev.ch.coll = NULL;
    return MPI_SUCCESS;
}

static void free_state(MPIDI_PTL_Coll_t * c)
{
    int i;

    if (table != NULL) {
        for (i = 0; i < 3; i++)
            if (c->tmp[i].p != NULL)
                smartmap_free(c->tmp[i].p, c->tmp[i].size);
        if (c->stage != NULL)
            smartmap_free(c->stage, MPIDI_PTL_STAGES * MPIDI_PTL_STAGE);
        if (c->own != NULL)
            smartmap_free(c->own, sizeof(*c->own));
    }
    MPL_free(c->local);
    MPL_free(c->blk);
    MPL_free(c);
}

/* What all the others have left. */
static void reclaim(void)
{
    MPIDI_PTL_Coll_t **p = &departing, *c;

    while ((c = *p) != NULL) {
        if (table != NULL && __atomic_load_n(&c->own->departed, __ATOMIC_ACQUIRE) < (uint32_t) c->n - 1) {
            p = &c->next;
            continue;
        }
        *p = c->next;
        free_state(c);
    }
}

static int comm_destroyed(MPIR_Comm * comm, void *param ATTRIBUTE((unused)))
{
    MPIDI_PTL_Coll_t *c = comm->dev.ch.coll;
    int i;

    comm->dev.ch.coll = NULL;
    if (c == NULL || c == &MPIDI_PTL_coll_none)
        return MPI_SUCCESS;
    if (table != NULL) {
        __atomic_store_n(&table->block[c->context], 0, __ATOMIC_RELEASE);
        for (i = 0; i < c->n; i++)
            if (i != c->rank && c->blk[i] != NULL)
                __atomic_add_fetch(&c->blk[i]->departed, 1, __ATOMIC_ACQ_REL);
    }
    c->next = departing;
    departing = c;
    reclaim();
    return MPI_SUCCESS;
}

/* Before the barrier that ends MPIDI_CH3_Init: whoever has passed it may look into our table. */
int MPIDI_PTL_Coll_init(void)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIDI_PTL_Coll_load_plugin();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3U_Comm_register_create_hook(comm_created, NULL);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3U_Comm_register_destroy_hook(comm_destroyed, NULL);
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPIDI_PTL_env.coll_smartmap || smartmap_size() < 2 || !smartmap_has(SMARTMAP_F_WINDOWS))
        goto fn_exit;
    table = smartmap_alloc(sizeof(*table), 4096);
    if (table == NULL)
        goto fn_exit;           /* the others see that there is none */
    table->magic = MAGIC;
    table->rank = MPIR_Process.rank;
    smartmap_publish(ROOT, table);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Nobody is in a collective any more, and the windows are still there. */
void MPIDI_PTL_Coll_fini(void)
{
    if (table != NULL) {
        smartmap_publish(ROOT, NULL);
        smartmap_free(table, sizeof(*table));
    }
    table = NULL;
    reclaim();
    MPIDI_PTL_Coll_unload_plugin();
    MPL_free(peer_table);
    MPL_free(local_of);
    peer_table = NULL;
    local_of = NULL;
}

static int find_peers(void)
{
    int mpi_errno = MPI_SUCCESS, i, n = smartmap_size();

    peer_table = MPL_calloc(n, sizeof(*peer_table), MPL_MEM_COMM);
    local_of = MPL_malloc(MPIR_Process.size * sizeof(*local_of), MPL_MEM_COMM);
    MPIR_ERR_CHKANDJUMP(!peer_table || !local_of, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (i = 0; i < MPIR_Process.size; i++)
        local_of[i] = -1;
    for (i = 0; i < n; i++) {
        table_t *t = smartmap_lookup(i, ROOT);

        if (t != NULL)
            t = smartmap_remote(i, t);
        if (t == NULL || t->magic != MAGIC || t->rank < 0 || t->rank >= MPIR_Process.size)
            continue;
        peer_table[i] = t;
        local_of[t->rank] = i;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- waiting ---- */

typedef struct {
    int looks;
    int64_t since;
} idle_t;

static int sleep_for(int64_t ns)
{
    int made_progress;

    if (!MPIR_IS_THREADED && ns >= 1000000)
        return MPIDI_PTL_Sleep_for_event(ns / 1000000, &made_progress);
    MPIDI_PTL_Nap(ns);
    return MPI_SUCCESS;
}

/* Whom we wait for may be alive, and wait in vain for one who is not. */
static inline int all_alive(const MPIDI_PTL_Coll_t * c)
{
    return MPIDI_PTL_All_alive(c->local, sizeof(*c->local), c->n);
}

/* One more look in vain. */
static int idle_step(const MPIDI_PTL_Coll_t * c, idle_t * idle)
{
    int mpi_errno = MPI_SUCCESS, first = MPIDI_PTL.oversubscribed ? 8 : 200;
    int n = ++idle->looks;
    int64_t waited;

    if (n < first)
        goto fn_exit;
    if (n % 16 == 0) {
        mpi_errno = MPIDI_CH3I_Progress(NULL, FALSE);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_PTL_Lock_lend(FALSE);
    }
    if (n < MPIDI_PTL.spin)
        goto fn_exit;
    if (idle->since == 0)
        idle->since = MPIDI_PTL_Now_ns();
    if (n % 8 != 0) {
        sched_yield();
        goto fn_exit;
    }
    waited = MPIDI_PTL_Now_ns() - idle->since;
    if (waited < YIELD_NS) {
        sched_yield();
        goto fn_exit;
    }
    idle->looks = (n | 15) - 8;         /* from now on each look is followed by progress and sleep */
    mpi_errno = sleep_for(MPL_MIN(waited / 8, MAX_SLEEP_NS));
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(!all_alive(c), mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static inline int reached(const uint32_t * word, uint32_t value, int exact)
{
    uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);

    return exact ? now == value : (int32_t) (now - value) >= 0;
}

void MPIDI_PTL_Coll_wake(uint32_t * word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Where ranks share cores: asleep until the word changes. We wake now and then for packets. */
static void sleep_on(MPIDI_PTL_Block_t * b, const uint32_t * word, uint32_t value, int exact, int times)
{
    struct timespec ts = { 0, MPL_MIN(MAX_SLEEP_NS, 100000L << MPL_MIN(times, 6)) };
    uint32_t now;

    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    __atomic_add_fetch(&b->sleepers, 1, __ATOMIC_SEQ_CST);
    now = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    if (!reached(&now, value, exact))
        syscall(SYS_futex, word, FUTEX_WAIT, now, &ts, NULL, 0);
    __atomic_sub_fetch(&b->sleepers, 1, __ATOMIC_SEQ_CST);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/*
 * Where ranks share cores a yield brings whom we wait for, in a microsecond. But the scheduler counts: who has had less
 * than its share, since something else ran on its core, gets the core back from each yield for milliseconds, and burns
 * them. So yields in vain are few.
 */
static int wait_step(MPIDI_PTL_Coll_t * c, const uint32_t * word, uint32_t value, int exact, int peer, idle_t * idle)
{
    int mpi_errno = MPI_SUCCESS, vain;

    if (!MPIDI_PTL.oversubscribed)
        return idle_step(c, idle);
    vain = ++idle->looks - MPL_MIN(MPIDI_PTL.spin, SHARED_LOOKS);
    if (vain < 0)
        goto fn_exit;
    if (vain < SHARED_YIELDS) {
        sched_yield();
        goto fn_exit;
    }
    mpi_errno = MPIDI_CH3I_Progress(NULL, FALSE);
    MPIR_ERR_CHECK(mpi_errno);
    sleep_on(c->blk[peer], word, value, exact, vain - SHARED_YIELDS);
    MPIR_ERR_CHKANDJUMP(vain > SHARED_YIELDS + 10 && !all_alive(c), mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Coll_wait_slow(MPIDI_PTL_Coll_t * c, const uint32_t * word, uint32_t value, int exact, int peer)
{
    int mpi_errno = MPI_SUCCESS;
    idle_t idle = { 0, 0 };

    while (!reached(word, value, exact)) {
        mpi_errno = wait_step(c, word, value, exact, peer, &idle);
        if (unlikely(mpi_errno)) {
            if (reached(word, value, exact))
                mpi_errno = MPI_SUCCESS;        /* it ended after what we waited for */
            break;
        }
    }
    return mpi_errno;
}

/* Until all have done @need. */
int MPIDI_PTL_Coll_room_slow(MPIDI_PTL_Coll_t * c, uint32_t need)
{
    int mpi_errno = MPI_SUCCESS, i;
    uint32_t min = c->seq;

    for (i = 0; i < c->n; i++) {
        uint32_t done;

        if (i == c->rank)
            continue;
        mpi_errno = MPIDI_PTL_Coll_wait(c, &c->blk[i]->done, need, i);
        MPIR_ERR_CHECK(mpi_errno);
        done = __atomic_load_n(&c->blk[i]->done, __ATOMIC_ACQUIRE);
        if ((int32_t) (done - min) < 0)
            min = done;
    }
    c->min_done = min;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- setup ---- */

/* Is every rank on this node? Their numbers, in @c->local. */
static int all_here(MPIR_Comm * comm, MPIDI_PTL_Coll_t * c)
{
    int i;

    for (i = 0; i < c->n; i++) {
        MPIDI_VC_t *vc;

        MPIDI_Comm_get_vc(comm, i, &vc);
        if (vc->pg != MPIDI_Process.my_pg || local_of[vc->pg_rank] < 0)
            return FALSE;
        c->local[i] = local_of[vc->pg_rank];
    }
    return TRUE;
}

/* Wait for each peer's block; it comes with the peer's first collective. */
static int find_blocks(MPIDI_PTL_Coll_t * c)
{
    int mpi_errno = MPI_SUCCESS, i;

    for (i = 0; i < c->n; i++) {
        uint64_t *word = &peer_table[c->local[i]]->block[c->context], at;
        idle_t idle = { 0, 0 };

        if (i == c->rank) {
            c->blk[i] = c->own;
            continue;
        }
        while ((at = __atomic_load_n(word, __ATOMIC_ACQUIRE)) == 0) {
            mpi_errno = idle_step(c, &idle);
            MPIR_ERR_CHECK(mpi_errno);
        }
        c->blk[i] = smartmap_remote(c->local[i], (void *) (uintptr_t) at);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Coll_setup(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS, i;
    MPIDI_PTL_Coll_t *c = NULL;

    /* Not the first time: a rank had died before it was ready (or two threads are in it: the program is wrong). */
    MPIR_ERR_CHKANDJUMP(comm->dev.ch.coll != NULL, mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail");
    if (table != NULL && local_of == NULL) {
        mpi_errno = find_peers();
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (table == NULL || comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || comm->local_size < 2)
        goto not_ours;
    c = MPL_calloc(1, sizeof(*c), MPL_MEM_COMM);
    MPIR_ERR_CHKANDJUMP(!c, mpi_errno, MPI_ERR_OTHER, "**nomem");
    c->n = comm->local_size;
    c->rank = comm->rank;
    c->context = comm->recvcontext_id;
    c->local = MPL_malloc(c->n * sizeof(*c->local), MPL_MEM_COMM);
    c->blk = MPL_calloc(c->n, sizeof(*c->blk), MPL_MEM_COMM);
    MPIR_ERR_CHKANDJUMP(!c->local || !c->blk, mpi_errno, MPI_ERR_OTHER, "**nomem");
    if (!all_here(comm, c)) {
        free_state(c);
        goto not_ours;
    }
    reclaim();
    c->own = smartmap_alloc(sizeof(*c->own), 64);
    MPIR_ERR_CHKANDJUMP(!c->own, mpi_errno, MPI_ERR_OTHER, "**nomem");
    c->own->has_cma = TRUE;
    for (i = 0; i < c->n; i++)  /* an address that no window shows */
        if (i != c->rank && smartmap_path(c->local[i], (void *) 4096, 1) == SMARTMAP_BOUNCE)
            c->own->has_cma = FALSE;
    comm->dev.ch.coll = c;
    __atomic_store_n(&table->block[c->context], (uint64_t) (uintptr_t) c->own, __ATOMIC_RELEASE);
    mpi_errno = find_blocks(c);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_store(c->own, &c->own->ready, 1);
    c->can_cma = TRUE;
    for (i = 0; i < c->n; i++) {
        mpi_errno = MPIDI_PTL_Coll_wait(c, &c->blk[i]->ready, 1, i);
        MPIR_ERR_CHECK(mpi_errno);
        c->can_cma &= c->blk[i]->has_cma;
    }
    c->ready = TRUE;

  fn_exit:
    return mpi_errno;
  not_ours:
    comm->dev.ch.coll = &MPIDI_PTL_coll_none;
    goto fn_exit;
  fn_fail:
    goto fn_exit;
}

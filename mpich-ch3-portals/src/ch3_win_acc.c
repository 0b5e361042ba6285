/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Accumulates: atomic for each element, whoever makes them.
 *
 * Which of the two ways (an atomic instruction, the owner's word acc) is decided for each element by what every rank
 * sees alike: mpidi_ptl_win.h. Data of any type are seen as pieces of elements of one basic type: the origin packed,
 * the target's pieces where they are. Memory that only the kernel's copies reach is read, changed and written back
 * under the word; where the kernel refuses, a packet has it done by the owner, under the word. Pair types (MPI_2INT
 * and so on), whose elements may have gaps, go the way of CH3's own code under the word, or by packet.
 *
 * In bulk. Many elements are changed by plain instructions, under the word, after everybody has been kept from atomic
 * ones at this target: who is about to use one sets its own word `inside', then looks at the target's `bulk'; who has
 * set that makes a barrier in every rank (membarrier(2)) and waits until it has seen each `inside' clear. So the many
 * small accumulates pay a store and a load, without a fence between; the few large ones pay a system call.
 */
#include "mpidi_ptl_win.h"
#include <sched.h>

#define PIECE 4096      /* bytes changed at a time in a copy of far memory */
#define BULK_FROM 512   /* elements: as many atomic instructions take as long as the system call, or longer */
#define BULK_MAX (512 * 1024)   /* bytes at a time, so that others get in between */

typedef enum { OTHER, INT4, INT8, FLOAT, DOUBLE } Class_t;

/* What the loops below are written for. */
static Class_t class_of(MPI_Datatype type)
{
    switch (type) {
        case MPI_INT:
        case MPI_UNSIGNED:
        case MPI_INT32_T:
        case MPI_UINT32_T:
            return INT4;
        case MPI_LONG:
        case MPI_UNSIGNED_LONG:
        case MPI_LONG_LONG:
        case MPI_UNSIGNED_LONG_LONG:
        case MPI_INT64_T:
        case MPI_UINT64_T:
        case MPI_AINT:
        case MPI_OFFSET:
        case MPI_COUNT:
            return INT8;
        case MPI_FLOAT:
            return FLOAT;
        case MPI_DOUBLE:
            return DOUBLE;
        default:
            return OTHER;
    }
}

_Static_assert(sizeof(long) == 8 && sizeof(MPI_Aint) == 8 && sizeof(MPI_Offset) == 8 && sizeof(MPI_Count) == 8,
               "class_of");

static inline uint64_t load(const void *p, size_t size)
{
    uint64_t v = 0;

    memcpy(&v, p, size);
    return v;
}

/* Has the processor atomic instructions for an element of this size, here? */
static inline int is_word(const void *p, size_t size)
{
    return size <= 8 && !(size & (size - 1)) && !((uintptr_t) p & (size - 1));
}

/* The atomic instructions by the size of their word. */
#define BY_SIZE(size_, do_)                     \
    switch (size_) {                            \
        case 1: do_(uint8_t); break;            \
        case 2: do_(uint16_t); break;           \
        case 4: do_(uint32_t); break;           \
        default: do_(uint64_t); break;          \
    }

static inline uint64_t read_word(void *p, size_t size)
{
    uint64_t v;

#define DO(t_) v = __atomic_load_n((t_ *) p, __ATOMIC_ACQUIRE)
    BY_SIZE(size, DO)
#undef DO
    return v;
}

static inline void write_word(void *p, uint64_t new, size_t size)
{
#define DO(t_) __atomic_store_n((t_ *) p, (t_) new, __ATOMIC_RELEASE)
    BY_SIZE(size, DO)
#undef DO
}

static inline uint64_t swap_word(void *p, uint64_t new, size_t size)
{
    uint64_t v;

#define DO(t_) v = __atomic_exchange_n((t_ *) p, (t_) new, __ATOMIC_SEQ_CST)
    BY_SIZE(size, DO)
#undef DO
    return v;
}

/* Returns what was there. */
static inline uint64_t compare_word(void *p, uint64_t old, uint64_t new, size_t size)
{
#define DO(t_) do {                                                                                             \
        t_ e = (t_) old;                                                                                        \
        __atomic_compare_exchange_n((t_ *) p, &e, (t_) new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
        old = e;                                                                                                \
    } while (0)
    BY_SIZE(size, DO)
#undef DO
    return old;
}

#define FETCH_LOOP(t_, fn_)                                                                     \
    for (i = 0; i < n; i++) {                                                                   \
        t_ v, old;                                                                              \
        memcpy(&v, (const char *) origin + i * sizeof(t_), sizeof(v));                          \
        old = fn_((t_ *) target + i, v, __ATOMIC_SEQ_CST);                                      \
        if (result != NULL)                                                                     \
            memcpy((char *) result + i * sizeof(t_), &old, sizeof(old));                        \
    }

/* u_: the integer of the size of the floating-point type t_ */
#define ADD_LOOP(t_, u_)                                                                        \
    for (i = 0; i < n; i++) {                                                                   \
        u_ *p = (u_ *) target + i, old = __atomic_load_n(p, __ATOMIC_RELAXED), new;             \
        t_ v, sum;                                                                              \
        memcpy(&v, (const char *) origin + i * sizeof(t_), sizeof(v));                          \
        do {                                                                                    \
            memcpy(&sum, &old, sizeof(sum));                                                    \
            sum += v;                                                                           \
            memcpy(&new, &sum, sizeof(new));                                                    \
        } while (!__atomic_compare_exchange_n(p, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
        if (result != NULL)                                                                     \
            memcpy((char *) result + i * sizeof(t_), &old, sizeof(old));                        \
    }

/* n elements, each by an atomic instruction; target is aligned. */
static void change_native(void *target, const void *origin, void *result, size_t n, MPI_Datatype type, size_t size,
                          MPI_Op op)
{
    Class_t class = class_of(type);
    MPIR_op_function *fn;
    MPI_Aint one = 1;
    uint64_t old, new;
    size_t i;

    if (op == MPI_NO_OP) {
        for (i = 0; i < n && result != NULL; i++) {
            old = read_word((char *) target + i * size, size);
            memcpy((char *) result + i * size, &old, size);
        }
        return;
    }
    if (op == MPI_REPLACE && result == NULL) {
        for (i = 0; i < n; i++)
            write_word((char *) target + i * size, load((const char *) origin + i * size, size), size);
        return;
    }
    if (op == MPI_REPLACE) {
        for (i = 0; i < n; i++) {
            old = swap_word((char *) target + i * size, load((const char *) origin + i * size, size), size);
            memcpy((char *) result + i * size, &old, size);
        }
        return;
    }
    if (op == MPI_SUM) {
        switch (class) {
            case INT4:
                FETCH_LOOP(uint32_t, __atomic_fetch_add);
                return;
            case INT8:
                FETCH_LOOP(uint64_t, __atomic_fetch_add);
                return;
            case FLOAT:
                ADD_LOOP(float, uint32_t);
                return;
            case DOUBLE:
                ADD_LOOP(double, uint64_t);
                return;
            default:
                break;
        }
    }
    /* any other: MPICH's function on a copy, until nobody came in between */
    fn = MPIR_OP_HDL_TO_FN(op);
    for (i = 0; i < n; i++) {
        char *p = (char *) target + i * size;
        uint64_t seen = read_word(p, size);

        do {
            old = new = seen;
            fn((char *) origin + i * size, &new, &one, &type);
            seen = compare_word(p, old, new, size);
        } while (memcmp(&seen, &old, size) != 0);
        if (result != NULL)
            memcpy((char *) result + i * size, &old, size);
    }
}

/* n elements in memory that is ours while this runs. */
static void change_locked(void *target, const void *origin, void *result, size_t n, MPI_Datatype type, size_t size,
                          MPI_Op op)
{
    MPIR_op_function *fn = MPIR_OP_HDL_TO_FN(op);
    MPI_Aint count = n;

    if (result != NULL)
        memcpy(result, target, n * size);
    if (op == MPI_REPLACE)
        memcpy(target, origin, n * size);
    else if (op != MPI_NO_OP)
        fn((void *) origin, target, &count, &type);
}

/* One operation. */
typedef struct {
    MPIDI_PTL_Win_t *w;
    MPIDI_PTL_Target_t *t;
    int rank;
    char *base;                 /* here; NULL: by the kernel's copies. Of a dynamic window: not used */
    MPI_Aint there;             /* where the target buffer is in its owner */
    const char *origin;         /* packed; NULL with MPI_NO_OP */
    char *result;               /* packed, or NULL */
    MPI_Datatype type;
    size_t size;
    MPI_Op op;
} Acc_t;

/* May atomic instructions be used at this target now? If so, they may until leave(). */
static inline int enter(MPIDI_PTL_Win_t * w, MPIDI_PTL_Target_t * t)
{
    if (!w->bulk)
        return TRUE;
    __atomic_store_n(&w->ctl->inside, 1, __ATOMIC_RELAXED);
    __asm__ __volatile__("":::"memory");        /* the fence is in bulk_begin() */
    if (likely(!__atomic_load_n(&t->ctl->bulk, __ATOMIC_ACQUIRE)))
        return TRUE;
    __atomic_store_n(&w->ctl->inside, 0, __ATOMIC_RELEASE);
    return FALSE;
}

static inline void leave(MPIDI_PTL_Win_t * w)
{
    if (w->bulk)
        __atomic_store_n(&w->ctl->inside, 0, __ATOMIC_RELEASE);
}

static void bulk_begin(MPIDI_PTL_Win_t * w, MPIDI_PTL_Target_t * t)
{
    int i, looks;

    MPIDI_PTL_Acc_lock(t->ctl);
    __atomic_store_n(&t->ctl->bulk, 1, __ATOMIC_SEQ_CST);
    smartmap_membarrier();
    for (i = 0; i < w->n; i++)
        for (looks = 0; __atomic_load_n(&w->target[i].ctl->inside, __ATOMIC_ACQUIRE); looks++)
            if (looks > 100) {
                if (!smartmap_alive(w->target[i].proc))
                    break;      /* it has died there */
                sched_yield();
            }
}

static void bulk_end(MPIDI_PTL_Target_t * t)
{
    __atomic_store_n(&t->ctl->bulk, 0, __ATOMIC_RELEASE);
    MPIDI_PTL_Acc_unlock(t->ctl);
}

static void change_bulk(Acc_t * a, char *p, const char *origin, char *result, size_t len)
{
    size_t n;

    for (; len > 0; p += n, len -= n) {
        n = MPL_MIN(len, BULK_MAX);
        bulk_begin(a->w, a->t);
        change_locked(p, origin, result, n / a->size, a->type, a->size, a->op);
        bulk_end(a->t);
        if (origin != NULL)
            origin += n;
        if (result != NULL)
            result += n;
    }
}

/*
 * Elements that the processor has instructions for, in memory where everybody uses them. More than one: under the word,
 * too, so that programs see an accumulate of a structure as bytes as one change. MPI does not promise that, but other
 * libraries do it, and MPICH's own tests expect it.
 */
static void change_aligned(MPIDI_PTL_Win_t * w, MPIDI_PTL_Target_t * t, void *p, const void *origin, void *result,
                           size_t n, MPI_Datatype type, size_t size, MPI_Op op)
{
    if (n == 1 && likely(enter(w, t))) {
        change_native(p, origin, result, 1, type, size, op);
        leave(w);
        return;
    }
    MPIDI_PTL_Acc_lock(t->ctl);
    change_native(p, origin, result, n, type, size, op);
    MPIDI_PTL_Acc_unlock(t->ctl);
}

static void change(Acc_t * a, char *p, int native, const char *origin, char *result, size_t len)
{
    size_t n = len / a->size;

    if (native && is_word(p, a->size)) {
        if (n >= BULK_FROM && a->w->bulk && (result != NULL || a->op != MPI_REPLACE) && a->op != MPI_NO_OP)
            change_bulk(a, p, origin, result, len);
        else
            change_aligned(a->w, a->t, p, origin, result, n, a->type, a->size, a->op);
        return;
    }
    MPIDI_PTL_Acc_lock(a->t->ctl);
    change_locked(p, origin, result, n, a->type, a->size, a->op);
    MPIDI_PTL_Acc_unlock(a->t->ctl);
}

/* By the kernel's copies. */
static int change_far(Acc_t * a, MPI_Aint addr, const char *origin, char *result, size_t len)
{
    char buf[PIECE] __attribute__ ((aligned(16)));
    size_t n;
    int rc = 0;

    for (; len > 0 && rc == 0; addr += n, len -= n) {
        n = MPL_MIN(len, PIECE / a->size * a->size);
        MPIDI_PTL_Acc_lock(a->t->ctl);
        rc = smartmap_read(a->t->proc, buf, (void *) addr, n);
        if (rc == 0) {
            change_locked(buf, origin, result, n / a->size, a->type, a->size, a->op);
            if (a->op != MPI_NO_OP)
                rc = smartmap_write(a->t->proc, (void *) addr, buf, n);
        }
        MPIDI_PTL_Acc_unlock(a->t->ctl);
        if (origin != NULL)
            origin += n;
        if (result != NULL)
            result += n;
    }
    return rc;
}

static int change_piece(void *arg, MPI_Aint disp, size_t at, size_t len)
{
    Acc_t *a = arg;
    const char *origin = a->origin != NULL ? a->origin + at : NULL;
    char *result = a->result != NULL ? a->result + at : NULL, *p;
    size_t n;
    int native, rc = 0;

    if (!a->w->dynamic) {
        if (a->base == NULL && a->rank != a->w->rank)
            return change_far(a, a->there + disp, origin, result, len);
        change(a, a->base + disp, a->t->native, origin, result, len);
        return 0;
    }
    /* what is attached may be of several kinds: as a whole, or each element by itself */
    p = MPIDI_PTL_Reach(a->w, a->rank, a->there + disp, len, &native);
    if (p != NULL && native) {
        change(a, p, TRUE, origin, result, len);
        return 0;
    }
    for (n = a->size; len > 0 && rc == 0; disp += n, len -= n) {
        p = MPIDI_PTL_Reach(a->w, a->rank, a->there + disp, n, &native);
        if (p != NULL)
            change(a, p, native, origin, result, n);
        else
            rc = change_far(a, a->there + disp, origin, result, n);
        if (origin != NULL)
            origin += n;
        if (result != NULL)
            result += n;
    }
    return rc;
}

/* Pair types, in direct memory. */
static int pairs(Acc_t * a, const void *origin, MPI_Aint count, MPI_Datatype type, void *result, MPI_Aint rcount,
                 MPI_Datatype rtype, MPI_Aint tcount, MPI_Datatype ttype)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint size, actual, lb, len;
    char *packed = NULL, *p = a->base;
    int native;

    if (a->w->dynamic) {
        MPIDI_PTL_Extent(tcount, ttype, &lb, &len);
        p = (char *) MPIDI_PTL_Reach(a->w, a->rank, a->there + lb, len, &native) - lb;
    }
    if (a->op != MPI_NO_OP && type != a->type) {
        MPIR_Datatype_get_size_macro(type, size);
        size *= count;
        packed = MPL_malloc(size, MPL_MEM_RMA);
        MPIR_ERR_CHKANDJUMP(!packed, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
        MPIR_Typerep_pack(origin, count, type, 0, packed, size, &actual);
        count = size / a->size;
    }
    MPIDI_PTL_Acc_lock(a->t->ctl);
    if (rtype != MPI_DATATYPE_NULL)
        mpi_errno = MPIR_Localcopy(p, tcount, ttype, result, rcount, rtype);
    if (mpi_errno == MPI_SUCCESS && a->op != MPI_NO_OP)
        mpi_errno = do_accumulate_op(packed ? packed : (void *) origin, count, a->type, p, tcount, ttype, 0, a->op,
                                     packed ? MPIDI_RMA_ACC_SRCBUF_PACKED : MPIDI_RMA_ACC_SRCBUF_DEFAULT);
    MPIDI_PTL_Acc_unlock(a->t->ctl);
    MPIR_ERR_CHECK(mpi_errno);

  fn_fail:
    MPL_free(packed);
    return mpi_errno;
}

/* The type of the elements; MPI_DATATYPE_NULL: none, or several. */
static MPI_Datatype element_type(MPI_Datatype type)
{
    MPIR_Datatype *dt;

    if (MPIR_DATATYPE_IS_PREDEFINED(type))
        return type;
    MPIR_Datatype_get_ptr(type, dt);
    return dt->basic_type;
}

/* The elements in a row: where they are, or packed in memory that is to be freed. */
static char *in_a_row(const void *buf, MPI_Aint count, MPI_Datatype type, int fill, char **tmp)
{
    MPIR_Datatype *dt ATTRIBUTE((unused));
    MPI_Aint lb, actual;
    intptr_t size;
    int contig;

    MPIDI_Datatype_get_info(count, type, contig, size, dt, lb);
    if (contig)
        return (char *) buf + lb;
    *tmp = MPL_malloc(size, MPL_MEM_RMA);
    if (*tmp != NULL && fill)
        MPIR_Typerep_pack(buf, count, type, 0, *tmp, size, &actual);
    return *tmp;
}

/*
 * Accumulate, without packets, if that is possible. rtype: MPI_DATATYPE_NULL, or of what was there before, which goes
 * to result: that it is NULL says nothing, as MPI_BOTTOM is.
 */
static int try_acc(const void *origin, MPI_Aint count, MPI_Datatype type, void *result, MPI_Aint rcount,
                   MPI_Datatype rtype, int rank, MPI_Aint disp, MPI_Aint tcount, MPI_Datatype ttype, MPI_Op op,
                   MPIR_Win * win, int *done)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_PTL_Win_t *w = win->ptl;
    MPIDI_PTL_Target_t *t = &w->target[rank];
    Acc_t a = { w, t, rank, NULL, 0, NULL, NULL, MPI_DATATYPE_NULL, 0, op };
    MPI_Aint size, total, actual;
    char *tmp = NULL, *rtmp = NULL;

    *done = TRUE;
    MPIR_ERR_CHKANDJUMP(win->states.access_state == MPIDI_RMA_NONE, mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    MPIR_Datatype_get_size_macro(ttype, size);
    total = size * tcount;
    if (total == 0)
        goto fn_exit;
    if (t->ctl == NULL) {
        *done = FALSE;
        goto fn_exit;
    }
    a.type = element_type(ttype);
    if (op != MPI_NO_OP) {
        MPIR_Datatype_get_size_macro(type, size);
        total = MPL_MIN(total, size * count);
        if (total == 0)
            goto fn_exit;
        MPIR_ERR_CHKANDJUMP(a.type == MPI_DATATYPE_NULL || element_type(type) != a.type, mpi_errno, MPI_ERR_TYPE,
                            "**dtype");
        MPIR_ERR_CHKANDJUMP1(!HANDLE_IS_BUILTIN(op) || (*MPIR_OP_HDL_TO_DTYPE_FN(op)) (a.type) != MPI_SUCCESS,
                             mpi_errno, MPI_ERR_OP, "**opnotpredefined", "**opnotpredefined %d", op);
    }
    MPIR_ERR_CHKANDJUMP(a.type == MPI_DATATYPE_NULL, mpi_errno, MPI_ERR_TYPE, "**dtype");
    MPIR_Datatype_get_size_macro(a.type, size);
    a.size = size;
    a.there = (MPI_Aint) t->there + t->disp_unit * disp;
    if (t->base != NULL || rank == w->rank)
        a.base = t->base + t->disp_unit * disp;

    if (!HANDLE_IS_BUILTIN(a.type)) {
        MPI_Aint lb, len;
        int native;

        MPIDI_PTL_Extent(tcount, ttype, &lb, &len);
        *done = w->dynamic ? MPIDI_PTL_Reach(w, rank, a.there + lb, len, &native) != NULL :
            a.base != NULL || rank == w->rank;
        if (*done)
            mpi_errno = pairs(&a, origin, count, type, result, rcount, rtype, tcount, ttype);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    if (op != MPI_NO_OP) {
        a.origin = in_a_row(origin, count, type, TRUE, &tmp);
        MPIR_ERR_CHKANDJUMP(!a.origin, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    }
    if (rtype != MPI_DATATYPE_NULL) {
        MPIR_Datatype_get_size_macro(rtype, size);
        MPIR_ERR_CHKANDJUMP(size * rcount < total, mpi_errno, MPI_ERR_TRUNCATE, "**truncate");
        a.result = in_a_row(result, rcount, rtype, FALSE, &rtmp);
        MPIR_ERR_CHKANDJUMP(!a.result, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    }
    /* A kernel that refuses does so at the first piece: nothing has been changed when packets take over. */
    *done = MPIDI_PTL_Pieces(tcount, ttype, total, change_piece, &a) == 0;
    if (*done && rtmp != NULL)
        MPIR_Typerep_unpack(rtmp, total, result, rcount, rtype, 0, &actual);

  fn_exit:
    MPL_free(tmp);
    MPL_free(rtmp);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, done;

    mpi_errno = try_acc(origin_addr, origin_count, origin_datatype, NULL, 0, MPI_DATATYPE_NULL, target_rank,
                        target_disp, target_count, target_datatype, op, win, &done);
    MPIR_ERR_CHECK(mpi_errno);
    if (!done)
        MPIDI_PTL_BY_PACKETS(MPIDI_CH3I_Accumulate(origin_addr, origin_count, origin_datatype, target_rank,
                                                   target_disp, target_count, target_datatype, op, win, NULL));

  fn_fail:
    return mpi_errno;
}

int MPID_Get_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr,
                        int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                        int target_count, MPI_Datatype target_datatype, MPI_Op op, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, done;

    mpi_errno = try_acc(origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                        target_rank, target_disp, target_count, target_datatype, op, win, &done);
    MPIR_ERR_CHECK(mpi_errno);
    if (!done)
        MPIDI_PTL_BY_PACKETS(MPIDI_CH3I_Get_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                                       result_count, result_datatype, target_rank, target_disp,
                                                       target_count, target_datatype, op, win, NULL));

  fn_fail:
    return mpi_errno;
}

int MPID_Raccumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPIR_Win * win,
                     MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS, done;

    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL_In_passive_epoch(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    mpi_errno = try_acc(origin_addr, origin_count, origin_datatype, NULL, 0, MPI_DATATYPE_NULL, target_rank,
                        target_disp, target_count, target_datatype, op, win, &done);
    MPIR_ERR_CHECK(mpi_errno);
    if (done)
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
    else
        MPIDI_PTL_BY_PACKETS(MPIDI_PTL_CH3_Raccumulate(origin_addr, origin_count, origin_datatype, target_rank,
                                                       target_disp, target_count, target_datatype, op, win, request));

  fn_fail:
    return mpi_errno;
}

int MPID_Rget_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr,
                         int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                         int target_count, MPI_Datatype target_datatype, MPI_Op op, MPIR_Win * win,
                         MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS, done;

    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL_In_passive_epoch(win), mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    mpi_errno = try_acc(origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                        target_rank, target_disp, target_count, target_datatype, op, win, &done);
    MPIR_ERR_CHECK(mpi_errno);
    if (done)
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
    else
        MPIDI_PTL_BY_PACKETS(MPIDI_PTL_CH3_Rget_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                                           result_count, result_datatype, target_rank, target_disp,
                                                           target_count, target_datatype, op, win, request));

  fn_fail:
    return mpi_errno;
}

/* One element in direct memory of a size that the processor has instructions for: here, else NULL. */
static inline char *one_word(MPIDI_PTL_Target_t * t, MPI_Aint disp, MPI_Datatype type, MPIR_Win * win, size_t * size)
{
    char *p = t->base + t->disp_unit * disp;

    if (unlikely(!t->native || t->base == NULL || !HANDLE_IS_BUILTIN(type) ||
                 win->states.access_state == MPIDI_RMA_NONE))
        return NULL;
    *size = MPIR_Datatype_get_basic_size(type);
    return likely(is_word(p, *size)) ? p : NULL;
}

int MPID_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                      MPI_Aint target_disp, MPI_Op op, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, done;
    size_t size;
    char *p = one_word(&win->ptl->target[target_rank], target_disp, datatype, win, &size);

    if (likely(p != NULL && (*MPIR_OP_HDL_TO_DTYPE_FN(op)) (datatype) == MPI_SUCCESS)) {
        change_aligned(win->ptl, &win->ptl->target[target_rank], p, origin_addr, result_addr, 1, datatype, size, op);
        return MPI_SUCCESS;
    }
    mpi_errno = try_acc(origin_addr, 1, datatype, result_addr, 1, datatype, target_rank, target_disp, 1, datatype, op,
                        win, &done);
    MPIR_ERR_CHECK(mpi_errno);
    if (!done)
        MPIDI_PTL_BY_PACKETS(MPIDI_PTL_CH3_Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp,
                                                        op, win));

  fn_fail:
    return mpi_errno;
}

/* Compare and swap where there is no instruction for it, or only the kernel reaches the element. */
static int swap_locked(const void *origin, const void *compare, void *result, size_t size, MPIDI_PTL_Target_t * t,
                       char *p, MPI_Aint there)
{
    int rc = 0;

    MPIDI_PTL_Acc_lock(t->ctl);
    if (p != NULL)
        memcpy(result, p, size);
    else
        rc = smartmap_read(t->proc, result, (void *) there, size);
    if (rc == 0 && memcmp(result, compare, size) == 0) {
        if (p != NULL)
            memcpy(p, origin, size);
        else
            rc = smartmap_write(t->proc, (void *) there, origin, size);
    }
    MPIDI_PTL_Acc_unlock(t->ctl);
    return rc;
}

int MPID_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype,
                          int target_rank, MPI_Aint target_disp, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, native;
    MPIDI_PTL_Win_t *w = win->ptl;
    MPIDI_PTL_Target_t *t = &w->target[target_rank];
    MPI_Aint there = (MPI_Aint) t->there + t->disp_unit * target_disp;
    size_t size;
    uint64_t old;
    char *p = one_word(t, target_disp, datatype, win, &size);

    if (likely(p != NULL))
        goto fn_native;
    MPIR_ERR_CHKANDJUMP(win->states.access_state == MPIDI_RMA_NONE, mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
    if (t->ctl != NULL) {
        size = MPIR_Datatype_get_basic_size(datatype);
        if (w->dynamic)
            p = MPIDI_PTL_Reach(w, target_rank, there, size, &native);
        else if (t->base != NULL || target_rank == w->rank)
            p = t->base + t->disp_unit * target_disp;
        if (w->dynamic && p != NULL && native && is_word(p, size))
            goto fn_native;
        if (swap_locked(origin_addr, compare_addr, result_addr, size, t, p, there) == 0)
            goto fn_exit;
    }
    MPIDI_PTL_BY_PACKETS(MPIDI_PTL_CH3_Compare_and_swap(origin_addr, compare_addr, result_addr, datatype,
                                                        target_rank, target_disp, win));

  fn_exit:
  fn_fail:
    return mpi_errno;
  fn_native:
    if (likely(enter(w, t))) {
        old = compare_word(p, load(compare_addr, size), load(origin_addr, size), size);
        leave(w);
    } else {
        MPIDI_PTL_Acc_lock(t->ctl);
        old = compare_word(p, load(compare_addr, size), load(origin_addr, size), size);
        MPIDI_PTL_Acc_unlock(t->ctl);
    }
    memcpy(result_addr, &old, size);
    goto fn_exit;
}

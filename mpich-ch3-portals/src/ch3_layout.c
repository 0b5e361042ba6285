/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Where the bytes of a message lie that is not contiguous, and copies between two such messages.
 *
 * A layout is a list of runs: blocks of one length at a fixed distance. MPICH's own walk over a datatype produces them,
 * from its leaves, so a column of a matrix is one run however long it is, and memory is described in the order of the
 * message. Irregular blocks of one length go in pairs, which are runs, too. The addresses are absolute: a layout can be
 * read, and its bytes be copied, by any process that sees the memory of its owner.
 *
 * Two layouts are walked side by side. Each step copies as many equal pieces as both have at fixed distances from here
 * on: columns into rows, rows into columns and columns into columns are one step each, in a loop for their length.
 */
#include "mpidi_ch3_impl.h"
#include "dataloop_internal.h"
#include <smartmap.h>

typedef struct {
    MPIDI_PTL_Layout_t *l;
    uint64_t max;               /* runs that may be */
    uint64_t addr, len;         /* the last block, which may still grow */
    int failed;
} build_t;

static MPIDI_PTL_Layout_t *new_layout(uint64_t room)
{
    MPIDI_PTL_Layout_t *l = MPL_malloc(MPIDI_PTL_LAYOUT_SIZE(room), MPL_MEM_DATATYPE);

    if (l != NULL) {
        l->lo = UINT64_MAX;
        l->hi = l->runs = l->segments = 0;
        l->room = room;
    }
    return l;
}

static MPIDI_PTL_Run_t *new_run(build_t * b)
{
    MPIDI_PTL_Layout_t *l = b->l;

    if (l->runs == l->room) {
        uint64_t room = MPL_MIN(2 * l->room, b->max);

        l = l->runs < b->max ? MPL_realloc(l, MPIDI_PTL_LAYOUT_SIZE(room), MPL_MEM_DATATYPE) : NULL;
        if (l == NULL) {
            b->failed = TRUE;
            return NULL;
        }
        b->l = l;
        l->room = room;
    }
    return &l->run[l->runs++];
}

static void add_run(build_t * b, uint64_t addr, uint64_t len, int64_t stride, uint64_t blocks)
{
    MPIDI_PTL_Layout_t *l = b->l;
    MPIDI_PTL_Run_t *r = l->runs > 0 ? &l->run[l->runs - 1] : NULL;
    uint64_t lo = addr, hi = addr + stride * (blocks - 1);

    if (hi < lo) {
        lo = hi;
        hi = addr;
    }
    l->lo = MPL_MIN(l->lo, lo);
    l->hi = MPL_MAX(l->hi, hi + len);
    l->segments += blocks;
    if (r != NULL && r->len == len && r->blocks == 1 && blocks == 1) {
        r->stride = (int64_t) (addr - r->addr);
        r->blocks = 2;
        return;
    }
    if (r != NULL && r->len == len && r->blocks > 1 && addr == r->addr + r->stride * r->blocks &&
        (blocks == 1 || stride == r->stride)) {
        r->blocks += blocks;
        return;
    }
    r = new_run(b);
    if (r != NULL) {
        r->addr = addr;
        r->len = len;
        r->stride = stride;
        r->blocks = blocks;
    }
}

static void flush(build_t * b)
{
    if (b->len > 0)
        add_run(b, b->addr, b->len, 0, 1);
    b->len = 0;
}

static inline void add_block(build_t * b, uint64_t addr, uint64_t len)
{
    if (len > 0 && b->len > 0 && b->addr + b->len == addr) {
        b->len += len;
    } else if (len > 0) {
        flush(b);
        b->addr = addr;
        b->len = len;
    }
}

/* Results of the leaf functions below: MPICH's walk goes on, or stops. */
static int go_on(build_t * b, MPI_Aint * blocks_p)
{
    if (likely(!b->failed))
        return 0;
    *blocks_p = 0;
    return 1;
}

static int leaf_contig(MPI_Aint * blocks_p, MPI_Datatype el_type, MPI_Aint rel_off, void *bufp, void *params)
{
    MPI_Aint el_size;

    MPIR_Datatype_get_size_macro(el_type, el_size);
    add_block(params, (uint64_t) (uintptr_t) bufp + rel_off, *blocks_p * el_size);
    return go_on(params, blocks_p);
}

static int leaf_vector(MPI_Aint * blocks_p, MPI_Aint count ATTRIBUTE((unused)), MPI_Aint blksz, MPI_Aint stride,
                       MPI_Datatype el_type, MPI_Aint rel_off, void *bufp, void *params)
{
    build_t *b = params;
    uint64_t addr = (uint64_t) (uintptr_t) bufp + rel_off;
    MPI_Aint el_size, whole = *blocks_p / blksz, rest = *blocks_p % blksz;

    MPIR_Datatype_get_size_macro(el_type, el_size);
    if (stride == blksz * el_size) {
        add_block(b, addr, whole * blksz * el_size);
    } else if (whole == 1) {
        add_block(b, addr, blksz * el_size);
    } else if (whole > 1) {
        flush(b);
        add_run(b, addr, blksz * el_size, stride, whole);
    }
    if (rest > 0)
        add_block(b, addr + whole * stride, rest * el_size);
    return go_on(b, blocks_p);
}

static int leaf_blkidx(MPI_Aint * blocks_p, MPI_Aint count, MPI_Aint blksz, MPI_Aint * offsets, MPI_Datatype el_type,
                       MPI_Aint rel_off, void *bufp, void *params)
{
    uint64_t addr = (uint64_t) (uintptr_t) bufp + rel_off;
    MPI_Aint el_size, left = *blocks_p, i;

    MPIR_Datatype_get_size_macro(el_type, el_size);
    for (i = 0; i < count && left > 0; i++) {
        add_block(params, addr + offsets[i], MPL_MIN(left, blksz) * el_size);
        left -= MPL_MIN(left, blksz);
    }
    return go_on(params, blocks_p);
}

static int leaf_index(MPI_Aint * blocks_p, MPI_Aint count, MPI_Aint * blocks, MPI_Aint * offsets, MPI_Datatype el_type,
                      MPI_Aint rel_off, void *bufp, void *params)
{
    uint64_t addr = (uint64_t) (uintptr_t) bufp + rel_off;
    MPI_Aint el_size, left = *blocks_p, i;

    MPIR_Datatype_get_size_macro(el_type, el_size);
    for (i = 0; i < count && left > 0; i++) {
        add_block(params, addr + offsets[i], MPL_MIN(left, blocks[i]) * el_size);
        left -= MPL_MIN(left, blocks[i]);
    }
    return go_on(params, blocks_p);
}

MPIDI_PTL_Layout_t *MPIDI_PTL_Layout_make(const void *buf, MPI_Aint count, MPI_Datatype datatype, intptr_t bytes,
                                          uint64_t max_runs)
{
    build_t b = {.max = max_runs };
    MPI_Aint last = bytes;
    MPIR_Segment *seg;

    b.l = new_layout(MPL_MIN(8, max_runs));
    if (b.l == NULL)
        return NULL;
    seg = MPIR_Segment_alloc(buf, count, datatype);
    if (seg != NULL)
        MPII_Segment_manipulate(seg, 0, &last, leaf_contig, leaf_vector, leaf_blkidx, leaf_index, NULL, &b);
    MPIR_Segment_free(seg);
    flush(&b);
    if (seg == NULL || b.failed || last != bytes) {
        MPL_free(b.l);
        return NULL;
    }
    return b.l;
}

MPIDI_PTL_Layout_t *MPIDI_PTL_Layout_of_run(uint64_t addr, uint64_t len, int64_t stride, uint64_t blocks)
{
    build_t b = {.l = new_layout(1),.max = 1 };

    if (b.l != NULL)
        add_run(&b, addr, len, stride, blocks);
    return b.l;
}

/* Of a layout that another process has made: whether a walk over it ends. */
int MPIDI_PTL_Layout_valid(const MPIDI_PTL_Layout_t * l, uint64_t runs)
{
    uint64_t i;

    for (i = 0; i < runs && l->run[i].len > 0 && l->run[i].blocks > 0; i++);
    return runs > 0 && i == runs && l->runs == runs && l->segments >= runs;
}

void MPIDI_PTL_Layout_start(MPIDI_PTL_Cursor_t * c, const MPIDI_PTL_Layout_t * l)
{
    c->run = l->run;
    c->runs = l->runs;
    c->block = 0;
    c->addr = l->run->addr;
    c->left = l->run->len;
}

/* Pieces of @len bytes from here on, and how far they are apart. @len: what is left of this block, or less. */
static inline uint64_t pieces(const MPIDI_PTL_Cursor_t * c, uint64_t len, int64_t * stride)
{
    if (c->left > len) {
        *stride = len;
        return c->left / len;
    }
    *stride = c->run->stride;
    return c->run->len == len ? c->run->blocks - c->block : 1;
}

static inline void advance(MPIDI_PTL_Cursor_t * c, uint64_t len, uint64_t n)
{
    if (c->left > len) {        /* pieces of one block */
        c->addr += n * len;
        c->left -= n * len;
        if (c->left > 0)
            return;
        c->block++;
    } else {
        c->block += n;
    }
    if (c->block == c->run->blocks) {
        if (--c->runs == 0) {
            c->left = 0;
            return;
        }
        c->run++;
        c->block = 0;
    }
    c->addr = c->run->addr + c->run->stride * c->block;
    c->left = c->run->len;
}

/* The next piece that is contiguous in both, @max bytes at most; 0 at the end of one. */
uint64_t MPIDI_PTL_Layout_piece(MPIDI_PTL_Cursor_t * to, MPIDI_PTL_Cursor_t * from, uint64_t max, uint64_t * to_addr,
                                uint64_t * from_addr)
{
    uint64_t len = MPL_MIN(MPL_MIN(to->left, from->left), max);

    *to_addr = to->addr;
    *from_addr = from->addr;
    if (len > 0) {
        advance(to, len, 1);
        advance(from, len, 1);
    }
    return len;
}

#define COPY_EACH(type_)                                                                        \
    for (; n > 0; n--, to += to_stride, from += from_stride) {                                  \
        type_ v_;                                                                               \
        memcpy(&v_, from, sizeof(v_));                                                          \
        memcpy(to, &v_, sizeof(v_));                                                            \
    }                                                                                           \
    break

typedef struct {
    uint64_t w[2];
} two_words_t;
typedef struct {
    uint64_t w[4];
} four_words_t;

static void copy_pieces(char *to, int64_t to_stride, const char *from, int64_t from_stride, uint64_t len, uint64_t n)
{
    switch (len) {
        case 1:
            COPY_EACH(uint8_t);
        case 2:
            COPY_EACH(uint16_t);
        case 4:
            COPY_EACH(uint32_t);
        case 8:
            COPY_EACH(uint64_t);
        case 16:
            COPY_EACH(two_words_t);
        case 32:
            COPY_EACH(four_words_t);
        default:
            if (len < 64) {
                for (; n > 0; n--, to += to_stride, from += from_stride)
                    MPIDI_PTL_Copy(to, from, len);
            } else {
                for (; n > 0; n--, to += to_stride, from += from_stride)
                    memcpy(to, from, len);
            }
    }
}

/* Local rank of the peer on this node, for smartmap.h; -1: it is not here. */
int MPIDI_PTL_Local_peer(MPIDI_VC_t * vc)
{
    return MPIR_Process.local_size == smartmap_size() ? MPIDI_PTL_Local_rank(vc) : -1;
}

static uint64_t lowest(const MPIDI_PTL_Run_t * r, uint64_t * span)
{
    uint64_t last = r->addr + r->stride * (r->blocks - 1), lo = MPL_MIN(r->addr, last);

    *span = MPL_MAX(r->addr, last) + r->len - lo;
    return lo;
}

/*
 * Copy @n bytes that lie as @from says in the memory of @peer to where @to says in ours. FALSE: not all of it is within
 * reach; some bytes may have been copied. The peer's memory is held while it is read, whole or run by run.
 */
int MPIDI_PTL_Layout_copy(const MPIDI_PTL_Layout_t * to, int peer, const MPIDI_PTL_Layout_t * from, uint64_t n)
{
    MPIDI_PTL_Cursor_t t, f;
    const MPIDI_PTL_Run_t *held = NULL;
    uint64_t away = 0, lo, span;
    int whole;

    if (n == 0)
        return TRUE;
    MPIDI_PTL_Layout_start(&t, to);
    MPIDI_PTL_Layout_start(&f, from);
    whole = from->hi > from->lo && smartmap_enter(peer, (void *) (uintptr_t) from->lo, from->hi - from->lo);
    if (whole)
        away = (uint64_t) (uintptr_t) smartmap_remote(peer, (void *) (uintptr_t) from->lo) - from->lo;
    while (n > 0 && t.left > 0 && f.left > 0) {
        uint64_t len = MPL_MIN(MPL_MIN(t.left, f.left), n), k, m;
        int64_t to_stride, from_stride;

        if (!whole && held != f.run) {
            if (held != NULL)
                smartmap_leave(peer);
            held = NULL;
            lo = lowest(f.run, &span);
            if (!smartmap_enter(peer, (void *) (uintptr_t) lo, span))
                return FALSE;
            held = f.run;
            away = (uint64_t) (uintptr_t) smartmap_remote(peer, (void *) (uintptr_t) lo) - lo;
        }
        k = pieces(&t, len, &to_stride);
        m = pieces(&f, len, &from_stride);
        k = MPL_MIN(MPL_MIN(k, m), n / len);
        copy_pieces((char *) (uintptr_t) t.addr, to_stride, (char *) (uintptr_t) (f.addr + away), from_stride, len, k);
        n -= k * len;
        advance(&t, len, k);
        advance(&f, len, k);
    }
    if (whole || held != NULL)
        smartmap_leave(peer);
    return n == 0;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dmappi.h - inside libdmapp: where remote memory is, what is under way, what waits
 *
 * Job, windows, heap and Portals are libsma's (shmem-portals/src/lower.h); here are segments, completion and what
 * stands on both. A remote address is looked up in three steps: a symmetric segment whose window is known
 * (dmappi_here(), inline); anything else that loads and stores reach, or an error (dmappi_find()); what is left goes
 * by the kernel's copy or by Portals (dmappi_far_put() and its kin).
 *
 * Order: a blocking operation ends with a full fence, so that no later load of the caller overtakes its stores;
 * gsync_wait and syncid_wait do the same. Stores themselves are in order on x86-64; flags are stored with release.
 */
#ifndef DMAPPI_H
#define DMAPPI_H

#include <dmapp.h>
#include <lower.h>
#include <portals/reserved_ptls.h>
#include <pthread.h>
#include <string.h>

#define L	(&shmemi_lower_)
#define JOB	(shmemi_lower_.job)

/* Segments: the low bits of their flags. */
enum { DMAPPI_DATA, DMAPPI_SHEAP, DMAPPI_WORK, DMAPPI_SYMMETRIC, DMAPPI_REGISTERED = DMAPPI_SYMMETRIC, DMAPPI_KINDS };
#define DMAPPI_SEG_MAGIC	0xd3a99000u

enum dmappi_mode { DMAPPI_BLOCK, DMAPPI_NB, DMAPPI_NBI };

#define DMAPPI_PT_SEG	PTL_PT_DMAPP_FIRST_NP	/* registered segments */

/*
 * What this library keeps in the part of the symmetric heap that is reserved for it, so that every PE reaches every
 * other one's. Zero at the start.
 */
#define DMAPPI_PSETS		32
#define DMAPPI_ROUNDS		32
#define DMAPPI_TREE		16	/* children of a member of a tree of 2^16 */
#define DMAPPI_REDUCE		512	/* bytes */
#define DMAPPI_QUEUES		4
#define DMAPPI_QUEUE_BYTES	(256u << 10)
#define DMAPPI_REGS		1024	/* the largest table */

struct dmappi_pset_work {
	uint64_t id;			/* 0: free. Its member's own */
	uint64_t round[DMAPPI_ROUNDS];	/* barriers: number, of the member 2^k before */
	uint64_t up[DMAPPI_TREE], down;	/* reductions: number, of child k; of the parent */
	char in[DMAPPI_TREE][DMAPPI_REDUCE] __attribute__((aligned(64)));	/* before up[k] */
	char result[DMAPPI_REDUCE];
};

struct dmappi_queue_work {
	uint64_t open;			/* its owner has attached it */
	uint64_t tail __attribute__((aligned(64)));	/* number of the next message */
	char slots[DMAPPI_QUEUE_BYTES] __attribute__((aligned(64)));
};

struct dmappi_reg_work {
	uint64_t live;			/* serial of the registration in this place of the table, 0: none */
};

/* What the environment says: PE 0's, for all. */
enum { DMAPPI_ENGINE_AUTO, DMAPPI_ENGINE_NO, DMAPPI_ENGINE_YES, DMAPPI_ENGINE_WORDS };
struct dmappi_env {
	uint32_t bad;			/* something in it could not be */
	uint32_t outstanding, threshold, locks, registrations, engine;
};

struct dmappi_work {
	struct dmappi_env env;
	struct dmappi_reg_work reg[DMAPPI_REGS];
	struct dmappi_pset_work pset[DMAPPI_PSETS];
	struct dmappi_queue_work queue[DMAPPI_QUEUES];
};
_Static_assert(sizeof(struct dmappi_work) <= SHMEMI_WORK_ABOVE, "what libsma leaves us");

/* nbi operations of a thread that are not complete. Never freed before the end, since their events name it. */
struct dmappi_thread {
	struct shmemi_waiter nbi;
	struct dmappi_thread *next;
	uint32_t threshold;		/* offload_threshold */
	bool used, registered;
};

struct dmappi {
	uint32_t npes;			/* 0: not initialised */
	int pe;
	/* [npes]: the segment in this process; 0: not known, or not in a window */
	uintptr_t *base[DMAPPI_SYMMETRIC];
	size_t len[DMAPPI_SYMMETRIC];
	dmapp_seg_desc_t seg[DMAPPI_SYMMETRIC];
	struct dmappi_work *work;
	dmapp_rma_attrs_ext_t attrs;
	struct dmappi_env env;
	bool engine;			/* there is a thread that copies */
	int inits;
	struct dmappi_thread *threads;
};
extern struct dmappi dmappi;

#define DMAPPI_WORK_SEG	(&dmappi.seg[DMAPPI_WORK])

/* ---- lookup ---- */

/*
 * @n bytes at @addr of @seg on @pe, in this process. 0: dmappi_find() knows more. Only additions and comparisons;
 * whatever stands in @seg, the result lies in the segment.
 */
static inline __attribute__((always_inline)) uintptr_t dmappi_here(const void *addr, const dmapp_seg_desc_t *seg,
								   size_t n,
								    dmapp_pe_t pe)
{
	uint32_t kind;
	uintptr_t off, base;

	if (__builtin_expect(!seg || (uint32_t)pe >= dmappi.npes, 0))
		return 0;
	kind = seg->flags - DMAPPI_SEG_MAGIC;
	if (__builtin_expect(kind >= DMAPPI_SYMMETRIC, 0))
		return 0;
	off = (uintptr_t)addr - (uintptr_t)seg->addr;
	if (__builtin_expect(off > dmappi.len[kind] || n > dmappi.len[kind] - off, 0))
		return 0;
	base = dmappi.base[kind][pe];
	return __builtin_expect(base != 0, 1) ? base + off : 0;
}

struct dmappi_at {
	char *here;			/* in this process, or NULL: then */
	bool net;			/* by Portals: */
	struct shmemi_net_to to;
	int local;			/* by the kernel: PE of this node, and the address there */
	char *there;
	dmapp_pe_t pe;
};

/* mem.c: the same for every segment, or why not. */
dmapp_return_t dmappi_find(const void *addr, const dmapp_seg_desc_t *seg, size_t n, dmapp_pe_t pe,
			   struct dmappi_at *at);
/* Is @seg symmetric, and can @pe be? */
dmapp_return_t dmappi_symmetric(const dmapp_seg_desc_t *seg);

/*
 * Between own memory and what is not here. Each is counted in @w until it is complete, and may be then when it returns.
 * A far atomic operation on what Portals does not reach cannot be: PERMISSION_ERROR.
 */
dmapp_return_t dmappi_far_put(const struct dmappi_at *at, size_t off, const void *own, size_t n,
			      struct shmemi_waiter *w);
dmapp_return_t dmappi_far_get(const struct dmappi_at *at, size_t off, void *own, size_t n, struct shmemi_waiter *w);

/* ---- completion ---- */

static inline void dmappi_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* sync.c: that of the calling thread; NULL: no memory. */
struct dmappi_thread *dmappi_self(void);

/* Wait until nothing is left in @w; what went wrong. */
dmapp_return_t dmappi_wait(struct shmemi_waiter *w);
/* What went wrong, once. */
dmapp_return_t dmappi_verdict(struct shmemi_waiter *w);
/* A syncid. RESOURCE_ERROR: all are out. release: of an operation that was not begun. */
dmapp_return_t dmappi_syncid_take(dmapp_syncid_handle_t *id, struct shmemi_waiter **w);
void dmappi_syncid_release(dmapp_syncid_handle_t id);
int dmappi_sync_start(void);
/* Behind it no operation is under way, also of those that nobody has waited for. */
void dmappi_sync_last(void);
void dmappi_sync_end(void);

/* Where an operation of @mode is counted: @own for blocking ones. */
struct dmappi_op {
	enum dmappi_mode mode;
	dmapp_syncid_handle_t *id;
	struct shmemi_waiter *w, own;
};
dmapp_return_t dmappi_begin(struct dmappi_op *op, enum dmappi_mode mode, dmapp_syncid_handle_t *id);
/* @rc: whether it could be begun. Waits for a blocking one. */
dmapp_return_t dmappi_done(struct dmappi_op *op, dmapp_return_t rc);

/* One step of waiting. */
struct dmappi_step {
	unsigned steps;
	struct shmemi_wait w;
};
void dmappi_step(struct dmappi_step *s);

/* engine.c: a thread of this library's own, to which no signal comes. False: there is none to be had. */
bool dmappi_thread(pthread_t *t, void *(*body)(void *));
/* engine.c: a thread that copies. start: 0, or not there. */
int dmappi_engine_start(void);
void dmappi_engine_end(void);
/* @w: as in dmappi_far_put(). false: the caller copies. */
bool dmappi_engine_copy(void *d, const void *s, size_t n, struct shmemi_waiter *w);

/* env.c: that of this process; @aloud: with a sentence for each value that cannot be. */
void dmappi_env_read(struct dmappi_env *env, bool aloud);
/* Collective: that of PE 0. INVALID_PARAM: some of it is bad; then nobody looks at others' work area any more. */
dmapp_return_t dmappi_env_agree(struct dmappi_env *env);

/* mem.c, queue.c, coll.c, lock.c */
int dmappi_mem_start(void);
void dmappi_mem_end(void);
int dmappi_queue_start(void);
void dmappi_queue_end(void);
bool dmappi_queue_any(void);
void dmappi_queue_progress(void);
int dmappi_lock_start(void);
void dmappi_lock_end(void);
void dmappi_psets_end(void);

/* amo.c: on a word; blocking. */
dmapp_return_t dmappi_amo(enum shmemi_amo op, void *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint64_t value,
			  uint64_t cond, uint64_t *old);

/* rma.c: @n bytes, blocking; for what the others build. A word is stored with release behind what came before. */
dmapp_return_t dmappi_put(void *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, const void *own, size_t n);
dmapp_return_t dmappi_get(void *own, const void *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, size_t n);
dmapp_return_t dmappi_put_word(uint64_t *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint64_t value);

static inline bool dmappi_bad_type(dmapp_type_t type)
{
	return (unsigned)type > 4u || (unsigned)type == 1u;
}

#endif

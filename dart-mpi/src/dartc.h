/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dartc.h - what both generations of DART stand on: groups, teams, segments, one-sided operations, locks, collectives
 *
 * Words: unit - a process; its number in the job (global) or in a team (relative, ascending by global number); team -
 * a set of units with a communicator and a dynamic window (d-win) over it, locked for the team's life; node - the
 * units of a team that share memory; segment - memory that each unit of a team has given a part of, known by a number
 * of 16 bits (0: the pools of non-collective memory; positive: allocated; negative: registered); direct - a part that
 * this process reaches by loads and stores.
 *
 * The calls here return DARTC_*; dart2.c and the dart3_*.c files check what their headers promise and translate. A
 * segment's table entry is published with release order once it is complete; who frees it makes sure by a barrier of
 * the team that no unit is still inside.
 */
#ifndef DARTC_H
#define DARTC_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	DARTC_OK = 0,
	DARTC_PENDING = 1,
	DARTC_INVAL = 2,
	DARTC_NOTFOUND = 3,
	DARTC_NOTINIT = 4,
	DARTC_NOMEM = 5,
	DARTC_OTHER = 999
};

/* How units of one node reach each other's memory; DART_WINDOWS */
enum dartc_windows {
	DARTC_NESTED,		/* a shared-memory window on each node inside the team's dynamic window */
	DARTC_SMARTMAP,		/* every unit's memory is at a fixed offset: no window on the node at all */
	DARTC_MPI		/* not directly: all by MPI */
};

struct dartc_world {
	bool up;
	bool own_mpi;			/* MPI was started here, and is ended here */
	bool threads;			/* calls may come from several threads */
	bool several_nodes;
	bool dynamic;			/* parts are attached to the team's window; else each segment has a window */
	enum dartc_windows windows;
	int rank, size;
	size_t chunk;			/* elements in one call of MPI */
	size_t pool;			/* bytes of non-collective memory of each unit */
	MPI_Comm comm;
};
extern struct dartc_world dartc;

/* groups: a bit for each unit of the job, so ascending by nature */
struct dart_group_struct {
	uint32_t mark;
	uint32_t units;
	uint64_t bit[];
};
size_t dartc_group_bytes(void);
void dartc_group_clear(struct dart_group_struct *g);
bool dartc_group_valid(const struct dart_group_struct *g);
bool dartc_group_has(const struct dart_group_struct *g, int unit);
int dartc_group_change(struct dart_group_struct *g, int unit, bool member);
size_t dartc_group_count(const struct dart_group_struct *g);
void dartc_group_list(const struct dart_group_struct *g, int32_t *unit);
void dartc_group_part(const struct dart_group_struct *g, size_t n, size_t i, struct dart_group_struct *out);

struct dartc_team {
	int id;
	int size, rank;			/* rank: of this unit in the team */
	int node_size, node_rank;
	MPI_Comm comm, node;
	MPI_Win dwin;
	int *l2g;			/* by relative number */
	int *g2l;			/* by global number; -1: not in the team */
	int *near;			/* by relative number: rank in node, -1: elsewhere */
	int *peer;			/* by relative number: number for libsmartmap, -1: none */
	atomic_int attached;		/* parts of this unit's in dwin */
	atomic_bool mpi_near;		/* MPI was used on memory that others here load and store */
	struct dartc_team *next;
};
struct dartc_team *dartc_team(int id);		/* NULL: no such team, or we are not in it */
int dartc_team_all_new(void);
int dartc_team_new(struct dartc_team *parent, const struct dart_group_struct *g, int *id);
int dartc_team_end(struct dartc_team *t);
void dartc_team_end_all(void);

/* A number that is free with all units of @t; @used says of a number whether it is not. 0: there is none. */
int dartc_agree(struct dartc_team *t, atomic_int *next, int last, bool (*take)(int), void (*put_back)(int),
		int *failed);

struct dartc_part {
	char *base;			/* NULL: not direct */
	size_t size;
};

struct dartc_seg {
	/* what a put or get looks at, in one line */
	int team_id, units;		/* of the team */
	struct dartc_part *part;	/* by relative number */
	struct dartc_part *global;	/* by global number; of who is not in the team: no base, no bytes */
	struct dartc_team *team;
	int16_t id;
	bool registered;
	bool all_direct;		/* for each unit all parts: then atomics are the processor's */
	MPI_Win win;			/* the team's d-win, or one of its own where that cannot be */
	MPI_Aint *disp;			/* in win, by relative number */
	char *own;
	size_t size;			/* of the own part */
	void *block;			/* what own was cut from */
	size_t block_size;
	enum dartc_windows how;		/* the block was made */
	bool attached;
	MPI_Win shm;
	struct dartc_seg *next;
};
extern _Atomic(struct dartc_seg *) dartc_segs[65536];

static inline struct dartc_seg *dartc_seg(int16_t id)
{
	/* pairs with the store-release in dartc_seg_publish() */
	return atomic_load_explicit(&dartc_segs[(uint16_t)id], memory_order_acquire);
}

int dartc_seg_new(struct dartc_team *t, size_t size, struct dartc_seg **out);
int dartc_seg_pool(struct dartc_team *t, size_t size);
int dartc_seg_register(struct dartc_team *t, void *addr, size_t size, struct dartc_seg **out);
int dartc_seg_end(struct dartc_seg *s);
void dartc_seg_end_of(struct dartc_team *t);

/* libsmartmap, where MPI has brought it */
bool dartc_smap_open(void);
int dartc_smap_rank(void);
int dartc_smap_pid(int peer);
bool dartc_smap_reachable(int peer, const void *addr, size_t len);
void *dartc_smap_remote(int peer, const void *addr);
void *dartc_smap_alloc(size_t len);
void dartc_smap_free(void *p, size_t len);

/* one-sided; @rel is in range, @off and the length inside the part */
struct dart_handle_struct {
	MPI_Win win;
	int target;
	bool put;
	size_t n, room;
	MPI_Request *req;
};
extern struct dart_handle_struct dartc_done;	/* of operations that were over at once */
enum dartc_dir { DARTC_PUT, DARTC_GET };
struct dartc_far {				/* what MPI is told */
	enum dartc_dir dir;
	struct dartc_seg *seg;
	int rel;
	size_t off;
	void *mine;
};
int dartc_far_bytes(const struct dartc_far *f, size_t n, struct dart_handle_struct **h);
int dartc_far_typed(const struct dartc_far *f, int count, MPI_Datatype mine, int far_count, MPI_Datatype far,
		    struct dart_handle_struct **h);
int dartc_far_flush(struct dartc_seg *s, int rel, bool local);
int dartc_far_flush_all(struct dartc_seg *s, bool local);
int dartc_handle_wait(struct dart_handle_struct *h, bool local);
int dartc_handle_test(struct dart_handle_struct *h, bool local, int *done);
int dartc_handles_wait(struct dart_handle_struct **h, size_t n, bool local);
int dartc_handles_test(struct dart_handle_struct **h, size_t n, bool local, int32_t *all);
void dartc_handle_drop(struct dart_handle_struct *h);
void dartc_progress(void);
void dartc_relax(unsigned *turn);		/* for loops that wait for a store of another unit */

static inline int dartc_flush(struct dartc_seg *s, int rel, bool local)
{
	atomic_thread_fence(local ? memory_order_acq_rel : memory_order_seq_cst);
	/* where one unit needs MPI to reach another, who only flushes makes its progress here */
	if (s->all_direct && !dartc.several_nodes && !atomic_load_explicit(&s->team->mpi_near, memory_order_relaxed))
		return DARTC_OK;
	return dartc_far_flush(s, rel, local);
}

/*
 * libc moves 4 KiB and more by "rep movsb", which AMD's Zen 3 does twenty times slower when the destination lies a
 * little behind the source within a page, as large memory of malloc() does behind a segment's. Pieces go by vectors.
 */
#define DARTC_PIECE	2048
void dartc_copy_pieces(void *to, const void *from, size_t n);

/* The copy of a put or get; short ones without a call. */
static inline void dartc_copy(void *to, const void *from, size_t n)
{
	if (n == 8)
		memcpy(to, from, 8);
	else if (n == 4)
		memcpy(to, from, 4);
	else if (n >= DARTC_PIECE && (((uintptr_t)to - (uintptr_t)from) & 4095) - 1 < 63)
		dartc_copy_pieces(to, from, n);
	else
		memcpy(to, from, n);
}

static inline bool dartc_inside(const struct dartc_part *p, uint64_t off, size_t n)
{
	return off <= p->size && n <= p->size - off;
}

/*
 * The usual put or get, of a direct part. A blocking put is over on return: no load of this unit that follows is made
 * before the bytes are seen by all. Return: false: nothing was done; the part is not direct, or not that long.
 */
static inline __attribute__((always_inline)) bool dartc_direct(enum dartc_dir dir, const struct dartc_part *p,
							       uint64_t off, void *mine, size_t n, bool block)
{
	if (__builtin_expect(!p->base || !dartc_inside(p, off, n), 0))
		return false;
	if (dir == DARTC_PUT) {
		/* what was stored before is seen by who sees this: pairs with the fence of a get */
		atomic_thread_fence(memory_order_release);
		dartc_copy(p->base + off, mine, n);
		if (block)
			atomic_thread_fence(memory_order_seq_cst);
	} else {
		dartc_copy(mine, p->base + off, n);
		atomic_thread_fence(memory_order_acquire);
	}
	return true;
}

/* atomic operations, element by element */
enum dartc_kind { K_BYTE, K_SHORT, K_INT, K_UINT, K_LONG, K_ULONG, K_LONGLONG, K_ULONGLONG, K_FLOAT, K_DOUBLE,
		 K_LDOUBLE, K_LAST };
enum dartc_op { O_UNDEF, O_MIN, O_MAX, O_MINMAX, O_SUM, O_PROD, O_BAND, O_LAND, O_BOR, O_LOR, O_BXOR, O_LXOR, O_REPLACE,
		O_NO_OP, O_LAST };
extern const size_t dartc_kind_size[K_LAST];
MPI_Datatype dartc_mpi_type(enum dartc_kind k);
MPI_Op dartc_mpi_op(enum dartc_op op);			/* MPI_OP_NULL: none; MINMAX has one of two elements */
MPI_Datatype dartc_pair_type(enum dartc_kind k);	/* what MINMAX reduces */
bool dartc_op_fits(enum dartc_op op, enum dartc_kind k);
int dartc_ops_start(void);
void dartc_ops_end(void);
/* @old: NULL, or where the values before go (n elements; complete at flush) */
int dartc_atomic(struct dartc_seg *s, int rel, size_t off, const void *value, void *old, size_t n, enum dartc_kind k,
		 enum dartc_op op);
int dartc_cas(struct dartc_seg *s, int rel, size_t off, const void *value, const void *compare, void *old,
	      enum dartc_kind k);
void dartc_apply(enum dartc_op op, enum dartc_kind k, const void *in, void *inout, size_t n);

/* collectives: of @n elements of @type, which may be more than an int holds */
int dartc_barrier(struct dartc_team *t);
int dartc_bcast(struct dartc_team *t, void *buf, size_t n, MPI_Datatype type, size_t size, int root);
int dartc_gather(struct dartc_team *t, bool scatter, const void *send, void *recv, size_t n, MPI_Datatype type,
		 int root);
int dartc_allgather(struct dartc_team *t, const void *send, void *recv, size_t n, MPI_Datatype type);
int dartc_alltoall(struct dartc_team *t, const void *send, void *recv, size_t n, MPI_Datatype type);
int dartc_reduce(struct dartc_team *t, const void *send, void *recv, size_t n, MPI_Datatype type, size_t size,
		 MPI_Op op, int root);		/* root -1: all */
/* @n elements of @type as @count of @big, to be freed when @made */
int dartc_big(size_t n, MPI_Datatype type, int *count, MPI_Datatype *big, bool *made);

/* locks over a team */
struct dartc_lock;
int dartc_lock_new(struct dartc_team *t, struct dartc_lock **out);
int dartc_lock_end(struct dartc_lock *l);
int dartc_lock_acquire(struct dartc_lock *l);
int dartc_lock_try(struct dartc_lock *l, int *got);
int dartc_lock_release(struct dartc_lock *l);
int dartc_lock_team(const struct dartc_lock *l);

/* a heap inside so many bytes, its books outside of them */
struct dartc_buddy;
struct dartc_buddy *dartc_buddy_new(size_t bytes);
void dartc_buddy_end(struct dartc_buddy *b);
int64_t dartc_buddy_take(struct dartc_buddy *b, size_t bytes);	/* offset; -1: no room */
int dartc_buddy_give(struct dartc_buddy *b, uint64_t off);
extern struct dartc_buddy *dartc_pool_heap;

int dartc_start(int *argc, char ***argv, bool threads);
int dartc_stop(void);
int dartc_mpi(int rc);				/* what an MPI call returned, as DARTC_* */
__attribute__((format(printf, 1, 2))) void dartc_say(const char *fmt, ...);

#endif

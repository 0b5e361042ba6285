/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * coll.h - what the members of a team share, and the collectives among those of one node
 *
 * Every member of a team has a block for it in its work area (SHMEMI_WORK), which is symmetric memory. Collectives of a
 * team are numbered from 1, barriers by themselves; all members count alike. Nothing is ever set back. Numbers have 64
 * bits, so that they do not come again: a slot that its member has not written for 2^32 broadcasts is still an old one.
 *
 *   slot[s % SLOTS]	what this PE has to say in collective s: up to SHMEMI_INLINE bytes. `seq' is stored last
 *			(release) and is s then; whoever has seen it (acquire) reads the rest. One line, one hand-over.
 *   done		number of the last collective that this PE has finished: it reads no slot of that number again.
 *			A slot is written again when all have done the collective before, SLOTS numbers ago.
 *   round[k]		barrier by dissemination: its number, written by the member 2^k before this one, in the block of
 *			who waits, so that waiting touches no other memory. Two members: one hand-over.
 *   arrived, open	barrier by counter, in the block of the first member
 *   far[k]		as round[], among the first members of the nodes: written by shmemi_far_put()
 *   from[]		what the first members of other nodes say: coll_far.c
 *   word[]		symmetric words for teams' own use while one is made
 *
 * A member writes its own block only, but for round[], far[], from[], arrived and open. After a barrier by
 * dissemination nobody looks at another's block for what was before it: so a team ends with one.
 */
#ifndef SHMEMI_COLL_H
#define SHMEMI_COLL_H

#include <smartmap.h>
#include <string.h>

#include "shmemi.h"
#include "team.h"

#define SHMEMI_SLOTS	8
#define SHMEMI_INLINE	48
#define SHMEMI_SHORT	192		/* bytes up to which several slots are better than two barriers */
#define SHMEMI_ROUNDS	10		/* 1024 PEs on a node; more than SMARTMAP has */
#define SHMEMI_FAR_ROUNDS 8		/* 256 nodes; more go another way */
enum { SHMEMI_FAR_IN = SHMEMI_FAR_ROUNDS, SHMEMI_FAR_OUT, SHMEMI_FAR_SLOTS };
#define SHMEMI_LINE	__attribute__((aligned(64)))

struct shmemi_slot {
	uint64_t seq;
	uint64_t len;
	char data[SHMEMI_INLINE];	/* aligned for any type */
} SHMEMI_LINE;
_Static_assert(sizeof(struct shmemi_slot) == 64 && offsetof(struct shmemi_slot, data) == 16,
	       "one line is one hand-over; long double is aligned");

struct shmemi_far_slot {
	uint64_t seq, unused;
	char data[SHMEMI_INLINE];
} SHMEMI_LINE;

struct shmemi_block {
	uint64_t done SHMEMI_LINE;
	uint32_t arrived SHMEMI_LINE;
	uint64_t open SHMEMI_LINE;
	struct {
		uint64_t turn SHMEMI_LINE;
	} round[SHMEMI_ROUNDS];
	uint64_t far[32] SHMEMI_LINE;
	uint64_t word[24] SHMEMI_LINE;
	struct shmemi_slot slot[SHMEMI_SLOTS];
	struct shmemi_far_slot from[2][SHMEMI_FAR_SLOTS];
	char spare[1024];
} SHMEMI_LINE;
_Static_assert(sizeof(struct shmemi_block) == 4096, "what the work area is divided by");

/* The work area: a directory of active sets, then blocks; each range of them has its own use. */
#define SHMEMI_BLOCKS		(SHMEMI_WORK / 4096)
#define SHMEMI_BLOCK_WORLD	2
#define SHMEMI_BLOCK_SHARED	3
#define SHMEMI_BLOCK_TEAMS	4
#define SHMEMI_BLOCK_SETS	256
_Static_assert(SHMEMI_BLOCKS == 512, "the ranges above");

static inline struct shmemi_block *shmemi_block(int index)
{
	return (struct shmemi_block *)shmemi.heap + index;
}

/* Ends the job where shmem_init() has not been called. */
void shmemi_not_up(const char *routine) __attribute__((noreturn, cold));
static inline void shmemi_check_up(const char *routine)
{
	if (__builtin_expect(!shmemi.inits, 0))
		shmemi_not_up(routine);
}

/* SHMEM_BARRIER_ALGORITHM, and SHMEM_COLL_OPT_OFF: which ones go the simple way, for comparison. */
enum shmemi_barrier_how { SHMEMI_BARRIER_AUTO, SHMEMI_BARRIER_COUNTER, SHMEMI_BARRIER_DISSEM };
#define SHMEMI_COLLS(X) X(broadcast) X(collect) X(fcollect) X(alltoall) X(alltoalls) X(reduce) X(scan)
enum shmemi_coll {
#define X(name) SHMEMI_COLL_##name,
	SHMEMI_COLLS(X)
#undef X
};
extern enum shmemi_barrier_how shmemi_barrier_how;
extern unsigned shmemi_linear;		/* 1 << SHMEMI_COLL_... */
#define SHMEMI_LINEAR(name) __builtin_expect(shmemi_linear >> SHMEMI_COLL_##name & 1, 0)

/* SHMEM_ALLTOALLV_TSIZE_CHK: what is done with more data than the receiver has room for. */
enum shmemi_size_check { SHMEMI_SIZE_NONE, SHMEMI_SIZE_ABORT, SHMEMI_SIZE_TRUNC };
extern enum shmemi_size_check shmemi_size_check;

/* coll.c: read them; -1: one makes no sense, and it has said so. */
int shmemi_coll_settings(void);

/* coll.c: find the members' blocks, @t's own being number @index; those of an active set may have to come first. */
void shmemi_coll_open(struct shmemi_team *t, int index);

/* Block of member @i, which may be on another node, by its address here: a symmetric one. */
struct shmemi_block *shmemi_block_of(struct shmemi_team *t, int i);

/* coll_set.c: index of the block of active set @key in @pe's work area; waits until that PE has come to it. */
int shmemi_set_block(uint64_t key, int pe);
void shmemi_sets_end(void);

/* barrier.c */
void shmemi_sync_slow(struct shmemi_team *t);
void shmemi_sync_here(struct shmemi_team *t);			/* the members of this node */
void shmemi_sync_dissem(struct shmemi_team *t);			/* all; nobody looks at another's block behind it */
void shmemi_wait_slow(const uint64_t *word, uint64_t value) __attribute__((noinline));

static inline void shmemi_wait_ge(const uint64_t *word, uint64_t value)
{
	if (__builtin_expect(__atomic_load_n(word, __ATOMIC_ACQUIRE) < value, 1))
		shmemi_wait_slow(word, value);
}

/* All members arrive before one leaves. Two on one node tell each other. */
static inline void shmemi_team_sync(struct shmemi_team *t)
{
	if (t->n == 2 && t->nodes == 1) {
		uint64_t turn = ++t->turn;

		__atomic_store_n(&t->blk[t->rank ^ 1]->round[0].turn, turn, __ATOMIC_RELEASE);
		shmemi_wait_ge(&t->own->round[0].turn, turn);
	} else if (t->size > 1) {
		shmemi_sync_slow(t);
	}
}

/* ---- slots: among the members of this node ---- */

void shmemi_room_slow(struct shmemi_team *t, uint64_t need);

/* The next number, and our slot for it, free to write. */
static inline struct shmemi_slot *shmemi_begin(struct shmemi_team *t)
{
	uint64_t s = ++t->seq;

	if (__builtin_expect(s > t->all_done + SHMEMI_SLOTS, 0))
		shmemi_room_slow(t, s - SHMEMI_SLOTS);
	return &t->own->slot[s % SHMEMI_SLOTS];
}

static inline void shmemi_post(struct shmemi_team *t, struct shmemi_slot *slot)
{
	__atomic_store_n(&slot->seq, t->seq, __ATOMIC_RELEASE);
}

/* What member @i of this node says in the collective that we are in. */
static inline const struct shmemi_slot *shmemi_heard(struct shmemi_team *t, int i)
{
	const struct shmemi_slot *slot = &t->blk[i]->slot[t->seq % SHMEMI_SLOTS];

	shmemi_wait_ge(&slot->seq, t->seq);
	return slot;
}

static inline void shmemi_end(struct shmemi_team *t)
{
	__atomic_store_n(&t->own->done, t->seq, __ATOMIC_RELEASE);
}

/* We have heard all the others: they had finished the number before. */
static inline void shmemi_heard_all(struct shmemi_team *t)
{
	t->all_done = t->seq - 1;
}

/* Waits until all the others have finished this one. */
void shmemi_all_done(struct shmemi_team *t);

/* ---- data ---- */

static inline void shmemi_copy(void *d, const void *s, size_t n)
{
	if (d != s)
		smartmap_copy(d, s, n);
}

/* Up to SHMEMI_INLINE bytes, which are one element most of the time. */
static inline void shmemi_copy_short(void *d, const void *s, size_t n)
{
	if (n == 8)
		memcpy(d, s, 8);
	else if (n == 4)
		memcpy(d, s, 4);
	else
		memcpy(d, s, n);
}

/* @n bytes of PE @pe's symmetric @src into own @dst, and the other way. */
void shmemi_pull(const char *routine, void *dst, const void *src, size_t n, int pe);
void shmemi_push(const char *routine, void *dst, const void *src, size_t n, int pe);

/* ---- coll_move.c, reduce.c: the collectives of any team; arguments have been checked, but for addresses ---- */
struct shmemi_call {
	const char *routine;
	struct shmemi_team *t;
	void *dest;
	const void *source;
};

/* SHMEM_DEBUG: is each side symmetric, and as long as it is taken for? */
void shmemi_coll_look(const struct shmemi_call *c, size_t dest, size_t source) __attribute__((cold));
static inline void shmemi_coll_check(const struct shmemi_call *c, size_t dest, size_t source)
{
	if (__builtin_expect(shmemi.debug, 0))
		shmemi_coll_look(c, dest, source);
}

void shmemi_broadcast(const struct shmemi_call *c, size_t bytes, int root, bool to_root);
void shmemi_collect(const struct shmemi_call *c, size_t bytes);
void shmemi_fcollect(const struct shmemi_call *c, size_t bytes);
void shmemi_alltoall(const struct shmemi_call *c, size_t bytes);
void shmemi_alltoalls(const struct shmemi_call *c, ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t size);

/* coll_set.c: the active set as a team; ends the job when it makes no sense. */
struct shmemi_team *shmemi_set(const char *routine, int start, int log_stride, int size, const long *psync);

#endif

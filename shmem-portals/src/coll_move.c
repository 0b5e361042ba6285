/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * coll_move.c - broadcast, collect, fcollect, alltoall, alltoalls
 *
 * Short data travel in the slots (coll.h): one hand-over. Longer ones are taken by who wants them from where they lie,
 * when their owner has come; the owner goes on when they have been taken. Where everybody wants something of everybody,
 * each begins with the member behind it, so that no memory is asked by all at once.
 *
 * The linear ways (SHMEM_COLL_OPT_OFF) are the obvious ones: one PE moves all, one copy after the other.
 */
#include <smartmap.h>
#include <stdlib.h>

#include "coll.h"
#include "far.h"
#include "reduce.h"

#define BOTH_MIN	4096u		/* bytes from which on two members both copy */
#define FEW		16		/* members whose counters one waits for; of more, a barrier */
#define PIECE		((size_t)256 << 10)	/* of a broadcast between nodes */

/* World's number of member @i of the team, of member @i of this node. */
static inline int pe_of(const struct shmemi_call *c, int i)
{
	return shmemi_team_pe(c->t, i);
}

static inline int pe_here(const struct shmemi_call *c, int i)
{
	return shmemi_team_pe(c->t, c->t->member[i]);
}

/* ---- broadcast ---- */

static void broadcast_linear(const struct shmemi_call *c, size_t bytes, int root, bool to_root)
{
	struct shmemi_team *t = c->t;

	shmemi_team_sync(t);
	for (int i = 0; i < t->size && t->me == root; i++) {
		if (i != root)
			shmemi_push(c->routine, c->dest, c->source, bytes, pe_of(c, i));
		else if (to_root)
			shmemi_copy(c->dest, c->source, bytes);
	}
	if (t->me == root)
		pshmem_quiet();
	shmemi_team_sync(t);
}

static void broadcast_slot(const struct shmemi_call *c, size_t off, size_t bytes, int root)
{
	struct shmemi_team *t = c->t;
	struct shmemi_slot *slot = shmemi_begin(t);

	if (t->rank == root) {
		shmemi_copy_short(slot->data, (const char *)c->source + off, bytes);
		shmemi_post(t, slot);
	} else {
		shmemi_copy_short((char *)c->dest + off, shmemi_heard(t, root)->data, bytes);
	}
	shmemi_end(t);
}

static void broadcast_slots(const struct shmemi_call *c, size_t bytes, int root, bool to_root)
{
	size_t off = 0;

	for (; bytes - off > SHMEMI_INLINE; off += SHMEMI_INLINE)
		broadcast_slot(c, off, SHMEMI_INLINE, root);
	broadcast_slot(c, off, bytes - off, root);
	if (to_root && c->t->rank == root)
		shmemi_copy(c->dest, c->source, bytes);
}

/* Two members with a processor each: the receiver takes the first half, the root brings the second. */
static void broadcast_both(const struct shmemi_call *c, size_t bytes, int root, bool to_root)
{
	struct shmemi_team *t = c->t;
	size_t half = (bytes / 2 + 63) & ~(size_t)63;
	struct shmemi_slot *slot = shmemi_begin(t);

	shmemi_post(t, slot);
	shmemi_heard(t, t->rank ^ 1);
	if (t->rank == root)
		shmemi_push(c->routine, (char *)c->dest + half, (const char *)c->source + half, bytes - half,
			    pe_here(c, t->rank ^ 1));
	else
		shmemi_pull(c->routine, c->dest, c->source, half, pe_here(c, root));
	shmemi_end(t);
	if (t->rank == root && to_root)
		shmemi_copy(c->dest, c->source, bytes);
	shmemi_all_done(t);
}

static void broadcast_pull(const struct shmemi_call *c, size_t bytes, int root, bool to_root)
{
	struct shmemi_team *t = c->t;
	struct shmemi_slot *slot = shmemi_begin(t);

	if (t->rank == root) {
		shmemi_post(t, slot);
		if (to_root)
			shmemi_copy(c->dest, c->source, bytes);
	} else {
		shmemi_heard(t, root);
		shmemi_pull(c->routine, c->dest, c->source, bytes, pe_here(c, root));
	}
	shmemi_end(t);
	if (t->n > FEW)
		shmemi_sync_here(t);
	else if (t->rank == root)
		shmemi_all_done(t);
}

/* Short vectors over nodes: what all say, one has; the others say 0. */
static bool or_nodes(const struct shmemi_call *c, const void *own, void *dest, size_t bytes)
{
	return shmemi_short_nodes(c->t, own, dest, bytes, (*shmemi_kernels_used)[SHMEMI_KIND_U8][SHMEMI_OP_OR], bytes);
}

/*
 * The first member of each node takes the data from the root; the others of its node from there, a piece behind: while
 * they copy one, the next is on its way.
 */
static void pull_pieces(const struct shmemi_call *c, size_t bytes, int root)
{
	struct shmemi_team *t = c->t;

	for (size_t at = 0; at < bytes + PIECE; at += PIECE) {
		size_t from = t->rank ? at - PIECE : at;	/* none before the first and behind the last */
		size_t len = from < bytes ? (bytes - from < PIECE ? bytes - from : PIECE) : 0;

		if (len)
			shmemi_pull(c->routine, (char *)c->dest + from,
				    t->rank ? (const char *)c->dest + from : (const char *)c->source + from, len,
				    t->rank ? pe_here(c, 0) : pe_of(c, root));
		shmemi_sync_here(t);
	}
}

static void broadcast_nodes(const struct shmemi_call *c, size_t bytes, int root, bool to_root)
{
	static const char zero[SHMEMI_INLINE];
	struct shmemi_team *t = c->t;
	bool home = t->node_of[root] == t->node;

	if (or_nodes(c, t->me == root ? c->source : zero, t->me == root && !to_root ? NULL : c->dest, bytes))
		return;
	shmemi_team_sync(t);
	if (t->me == root) {
		if (to_root)
			shmemi_copy(c->dest, c->source, bytes);
	} else if (home || t->n == 1) {
		shmemi_pull(c->routine, c->dest, c->source, bytes, pe_of(c, root));
	} else {
		pull_pieces(c, bytes, root);
	}
	shmemi_team_sync(t);
}

void shmemi_broadcast(const struct shmemi_call *c, size_t bytes, int root, bool to_root)
{
	struct shmemi_team *t = c->t;

	shmemi_coll_check(c, bytes, bytes);
	if (root < 0 || root >= t->size)
		shmemi_fatal("%s: PE_root %d: there are 0 to %d", c->routine, root, t->size - 1);
	if (!bytes)
		return;
	if (t->size == 1) {
		if (to_root)
			shmemi_copy(c->dest, c->source, bytes);
	} else if (SHMEMI_LINEAR(broadcast)) {
		broadcast_linear(c, bytes, root, to_root);
	} else if (t->nodes > 1) {
		broadcast_nodes(c, bytes, root, to_root);
	} else if (bytes <= SHMEMI_SHORT) {
		broadcast_slots(c, bytes, root, to_root);
	} else if (t->n == 2 && bytes >= BOTH_MIN && !shmemi.impatient) {
		broadcast_both(c, bytes, root, to_root);
	} else {
		broadcast_pull(c, bytes, root, to_root);
	}
}

/* ---- collect, fcollect: member i's bytes go to @off[i] ---- */

struct places {
	size_t *off;			/* [size + 1]; the last: bytes in all */
	size_t fixed;			/* off NULL: all have that many bytes */
};

static inline size_t place(const struct places *p, int i)
{
	return p->off ? p->off[i] : p->fixed * (size_t)i;
}

static inline size_t length(const struct places *p, int i)
{
	return p->off ? p->off[i + 1] - p->off[i] : p->fixed;
}

static void take_one(const struct shmemi_call *c, const struct places *p, int i)
{
	if (i == c->t->me)
		shmemi_copy((char *)c->dest + place(p, i), c->source, length(p, i));
	else
		shmemi_pull(c->routine, (char *)c->dest + place(p, i), c->source, length(p, i), pe_of(c, i));
}

/*
 * All have come. Over nodes the members of a node share out what comes from others, so that it comes once, and then
 * take it from each other.
 */
static void gather(const struct shmemi_call *c, const struct places *p)
{
	struct shmemi_team *t = c->t;
	int turn = 0;

	for (int k = 0; k < t->n; k++)
		take_one(c, p, t->member[(t->rank + k) % t->n]);
	if (t->nodes == 1) {
		shmemi_sync_here(t);
		return;
	}
	for (int i = 0; i < t->size; i++)
		if (t->node_of[i] != t->node && turn++ % t->n == t->rank)
			take_one(c, p, i);
	shmemi_team_sync(t);
	turn = 0;
	for (int i = 0; i < t->size; i++)
		if (t->node_of[i] != t->node && turn++ % t->n != t->rank)
			shmemi_pull(c->routine, (char *)c->dest + place(p, i), (char *)c->dest + place(p, i),
				    length(p, i), pe_here(c, (turn - 1) % t->n));
	shmemi_sync_here(t);
}

/* All have come. */
static void gather_linear(const struct shmemi_call *c, const struct places *p)
{
	struct shmemi_team *t = c->t;

	if (!t->me) {
		for (int i = 0; i < t->size; i++)
			take_one(c, p, i);
		for (int i = 1; i < t->size; i++)
			shmemi_push(c->routine, c->dest, c->dest, place(p, t->size), pe_of(c, i));
		pshmem_quiet();
	}
	shmemi_team_sync(t);
}

static void fcollect_slots(const struct shmemi_call *c, size_t bytes)
{
	struct shmemi_team *t = c->t;
	struct shmemi_slot *slot = shmemi_begin(t);

	shmemi_copy_short(slot->data, c->source, bytes);
	shmemi_post(t, slot);
	for (int i = 0; i < t->n; i++)
		shmemi_copy_short((char *)c->dest + (size_t)i * bytes, shmemi_heard(t, i)->data, bytes);
	shmemi_heard_all(t);
	shmemi_end(t);
}

void shmemi_fcollect(const struct shmemi_call *c, size_t bytes)
{
	struct places p = { .fixed = bytes };
	struct shmemi_team *t = c->t;

	shmemi_coll_check(c, shmemi_bytes(c->routine, (size_t)c->t->size, bytes), bytes);
	if (!bytes)
		return;
	if (t->size == 1) {
		shmemi_copy(c->dest, c->source, bytes);
	} else if (t->nodes > 1 && !SHMEMI_LINEAR(fcollect) && bytes * (size_t)t->size <= SHMEMI_INLINE) {
		char own[SHMEMI_INLINE] = { 0 };

		memcpy(own + (size_t)t->me * bytes, c->source, bytes);
		or_nodes(c, own, c->dest, bytes * (size_t)t->size);	/* so they are not too many */
	} else if (SHMEMI_LINEAR(fcollect)) {
		shmemi_team_sync(t);
		gather_linear(c, &p);
	} else if (bytes <= SHMEMI_INLINE && t->nodes == 1) {
		fcollect_slots(c, bytes);
	} else {
		shmemi_team_sync(t);
		gather(c, &p);
	}
}

/* Lengths over nodes lie in the blocks, which are symmetric. */
static void lengths_nodes(struct shmemi_team *t, size_t bytes, struct places *p)
{
	uint64_t len;

	t->own->word[0] = bytes;
	shmemi_team_sync(t);
	for (int i = 0; i < t->size; i++) {
		shmemi_pull("collect", &len, shmemi_block_of(t, i)->word, sizeof(len), shmemi_team_pe(t, i));
		p->off[i + 1] = p->off[i] + len;
	}
	shmemi_team_sync(t);
}

/* The slots bring the lengths, and the data with them where they are short. True: of all. */
static bool lengths_slots(const struct shmemi_call *c, size_t bytes, struct places *p)
{
	struct shmemi_team *t = c->t;
	struct shmemi_slot *slot = shmemi_begin(t);
	bool all = true;

	slot->len = bytes;
	if (bytes <= SHMEMI_INLINE)
		memcpy(slot->data, c->source, bytes);
	shmemi_post(t, slot);
	for (int i = 0; i < t->n; i++) {
		const struct shmemi_slot *s = shmemi_heard(t, i);

		p->off[i + 1] = p->off[i] + s->len;
		if (s->len <= SHMEMI_INLINE)
			memcpy((char *)c->dest + p->off[i], s->data, s->len);
		else
			all = false;
	}
	shmemi_heard_all(t);
	shmemi_end(t);
	return all;
}

void shmemi_collect(const struct shmemi_call *c, size_t bytes)
{
	size_t few[SMARTMAP_MAX_PEERS + 1];
	struct shmemi_team *t = c->t;
	struct places p = { .off = few };

	shmemi_coll_check(c, bytes, bytes);
	if (t->size == 1) {
		shmemi_copy(c->dest, c->source, bytes);
		return;
	}
	if (t->size > SMARTMAP_MAX_PEERS) {
		p.off = calloc((size_t)t->size + 1, sizeof(*p.off));
		if (!p.off)
			shmemi_fatal("%s: no memory for %d lengths", c->routine, t->size);
	}
	p.off[0] = 0;
	if (t->nodes > 1)
		lengths_nodes(t, bytes, &p);
	else if (lengths_slots(c, bytes, &p) && !SHMEMI_LINEAR(collect))
		goto done;
	if (SHMEMI_LINEAR(collect))
		gather_linear(c, &p);
	else
		gather(c, &p);
done:
	if (p.off != few)
		free(p.off);
}

/* ---- alltoall ---- */

static void alltoall_linear(const struct shmemi_call *c, size_t bytes)
{
	struct shmemi_team *t = c->t;

	shmemi_team_sync(t);
	for (int i = 0; i < t->size; i++)
		shmemi_push(c->routine, (char *)c->dest + (size_t)t->me * bytes,
			    (const char *)c->source + (size_t)i * bytes, bytes, pe_of(c, i));
	pshmem_quiet();
	shmemi_team_sync(t);
}

static void alltoall_slots(const struct shmemi_call *c, size_t bytes)
{
	struct shmemi_team *t = c->t;
	struct shmemi_slot *slot = shmemi_begin(t);

	memcpy(slot->data, c->source, bytes * (size_t)t->n);
	shmemi_post(t, slot);
	for (int i = 0; i < t->n; i++)
		memcpy((char *)c->dest + (size_t)i * bytes, shmemi_heard(t, i)->data + (size_t)t->rank * bytes, bytes);
	shmemi_heard_all(t);
	shmemi_end(t);
}

void shmemi_alltoall(const struct shmemi_call *c, size_t bytes)
{
	struct shmemi_team *t = c->t;

	shmemi_coll_check(c, shmemi_bytes(c->routine, (size_t)c->t->size, bytes), (size_t)c->t->size * bytes);
	if (!bytes)
		return;
	if (t->size == 1) {
		shmemi_copy(c->dest, c->source, bytes);
	} else if (SHMEMI_LINEAR(alltoall)) {
		alltoall_linear(c, bytes);
	} else if (t->nodes == 1 && bytes * (size_t)t->n <= SHMEMI_INLINE) {
		alltoall_slots(c, bytes);
	} else {
		shmemi_team_sync(t);
		for (int k = 0; k < t->size; k++) {
			int i = (t->me + k) % t->size;

			shmemi_pull(c->routine, (char *)c->dest + (size_t)i * bytes,
				    (const char *)c->source + (size_t)t->me * bytes, bytes, pe_of(c, i));
		}
		shmemi_team_sync(t);
	}
}

/* ---- alltoalls ---- */

static void strided_copy(char *d, const char *s, ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t size)
{
	dst *= (ptrdiff_t)size;
	sst *= (ptrdiff_t)size;
	if (dst == (ptrdiff_t)size && sst == dst) {
		shmemi_copy(d, s, n * size);
		return;
	}
	switch (size) {
#define CASE(BYTES)							\
	case BYTES:							\
		for (size_t i = 0; i < n; i++, d += dst, s += sst)	\
			memcpy(d, s, BYTES);				\
		break;
	CASE(1) CASE(2) CASE(4) CASE(8) CASE(16)
#undef CASE
	default:
		for (size_t i = 0; i < n; i++, d += dst, s += sst)
			memcpy(d, s, size);
	}
}

/* Block @mine of member @i's source becomes block @i of our destination. What no window shows is fetched as it lies. */
static void take_strided(const struct shmemi_call *c, ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t size, int i)
{
	size_t span = ((n - 1) * (size_t)sst + 1) * size;
	char *d = (char *)c->dest + (ptrdiff_t)((size_t)i * n * size) * dst, *far = NULL;
	const char *sym = (const char *)c->source + (ptrdiff_t)((size_t)c->t->me * n * size) * sst, *s;

	s = shmemi_at(c->routine, sym, span, pe_of(c, i));
	if (!s) {
		far = malloc(span);
		if (!far)
			shmemi_fatal("%s: no memory for %zu bytes", c->routine, span);
		shmemi_far_get(c->routine, far, sym, span, pe_of(c, i));
		s = far;
	}
	strided_copy(d, s, dst, sst, n, size);
	free(far);
}

/* Bytes of a whole vector, from its first to behind its last element: so nothing that is computed of it overflows. */
static size_t stretch(const struct shmemi_call *c, ptrdiff_t stride, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, (size_t)c->t->size, &all) ||
	    __builtin_mul_overflow(all - 1, (size_t)stride, &all) || all == SIZE_MAX ||
	    __builtin_mul_overflow(all + 1, size, &all) || all > PTRDIFF_MAX)
		shmemi_fatal("%s: %zu elements of %zu bytes for each of %d PEs, with a stride of %td", c->routine, n,
			     size, c->t->size, stride);
	return all;
}

void shmemi_alltoalls(const struct shmemi_call *c, ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t size)
{
	struct shmemi_team *t = c->t;

	if (dst < 1 || sst < 1)
		shmemi_fatal("%s: strides %td and %td: they must be 1 or more", c->routine, dst, sst);
	if (!n)
		return;
	shmemi_coll_check(c, stretch(c, dst, n, size), stretch(c, sst, n, size));
	if (dst == 1 && sst == 1 && !SHMEMI_LINEAR(alltoalls)) {
		shmemi_alltoall(c, shmemi_bytes(c->routine, n, size));
		return;
	}
	shmemi_team_sync(t);
	for (int k = 0; k < t->size; k++)
		take_strided(c, dst, sst, n, size, SHMEMI_LINEAR(alltoalls) ? k : (t->me + k) % t->size);
	shmemi_team_sync(t);
}

/* ---- the routines ---- */

/* A team's call: checked; false: there is no team. */
static inline bool team_call(struct shmemi_call *c)
{
	shmemi_check_up(c->routine);
	return c->t != NULL;
}

#define ON_TEAM(NAME, ARGS, DO)								\
	int pshmem_##NAME ARGS									\
	{											\
		struct shmemi_call c = { "shmem_" #NAME, team, dest, source };			\
												\
		if (!team_call(&c))								\
			return -1;								\
		DO;										\
		return 0;									\
	}											\
	SHMEMI_ALIAS(NAME);
#define BYTES(SIZE) shmemi_bytes(c.routine, n, SIZE)
#define MOVE(P, S, T, SIZE)									\
	ON_TEAM(P##broadcast##S, (shmem_team_t team, T *dest, const T *source, size_t n, int root),	\
	     shmemi_broadcast(&c, BYTES(SIZE), root, true))					\
	ON_TEAM(P##collect##S, (shmem_team_t team, T *dest, const T *source, size_t n),	\
	     shmemi_collect(&c, BYTES(SIZE)))							\
	ON_TEAM(P##fcollect##S, (shmem_team_t team, T *dest, const T *source, size_t n),	\
	     shmemi_fcollect(&c, BYTES(SIZE)))							\
	ON_TEAM(P##alltoall##S, (shmem_team_t team, T *dest, const T *source, size_t n),	\
	     shmemi_alltoall(&c, BYTES(SIZE)))							\
	ON_TEAM(P##alltoalls##S,								\
	     (shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n),	\
	     shmemi_alltoalls(&c, dst, sst, n, SIZE))
#define TYPED(N, T) MOVE(N##_, , T, sizeof(T))
SHMEMI_TYPES_RMA(TYPED)
MOVE(, mem, void, 1)

#define ON_SET(NAME, ARGS, DO)									\
	void pshmem_##NAME ARGS									\
	{											\
		const char *name = "shmem_" #NAME;						\
		struct shmemi_team *t = shmemi_set(name, start, log_stride, size, psync);	\
		struct shmemi_call c = { name, t, dest, source };				\
												\
		DO;										\
	}											\
	SHMEMI_ALIAS(NAME);
#define SET_ARGS int start, int log_stride, int size, long *psync
#define SIZED(BITS)										\
	ON_SET(broadcast##BITS, (void *dest, const void *source, size_t n, int root, SET_ARGS),	\
	       shmemi_broadcast(&c, BYTES(BITS / 8), root, false))				\
	ON_SET(collect##BITS, (void *dest, const void *source, size_t n, SET_ARGS),		\
	       shmemi_collect(&c, BYTES(BITS / 8)))						\
	ON_SET(fcollect##BITS, (void *dest, const void *source, size_t n, SET_ARGS),		\
	       shmemi_fcollect(&c, BYTES(BITS / 8)))						\
	ON_SET(alltoall##BITS, (void *dest, const void *source, size_t n, SET_ARGS),		\
	       shmemi_alltoall(&c, BYTES(BITS / 8)))						\
	ON_SET(alltoalls##BITS,									\
	       (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, SET_ARGS),	\
	       shmemi_alltoalls(&c, dst, sst, n, BITS / 8))
SIZED(32)
SIZED(64)

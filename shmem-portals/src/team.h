/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * team.h - a set of PEs with numbers of its own
 *
 * A team is a stretch of the world with a stride, or, where the node's PEs are no such stretch, a list. shmem_team_t is
 * a pointer to one; NULL is SHMEM_TEAM_INVALID. An active set is one, too, made at its first use (coll_set.c).
 *
 * A team is changed by one thread at a time: the one that is in its collective. What its members share is in coll.h.
 */
#ifndef SHMEMI_TEAM_H
#define SHMEMI_TEAM_H

#include <stddef.h>
#include <stdint.h>
#include <shmem.h>

struct shmemi_block;

struct shmemi_team {
	int start, stride, size;	/* PEs of the world: start + i * stride, i < size */
	int me;				/* own number in it */
	int *list;			/* [size] PEs of the world instead, or NULL */
	shmem_team_config_t config;

	/* The members whose memory loads and stores reach: those of this node. In the order of the team. */
	int n, rank;			/* how many, own number among them */
	int *member;			/* [n] their numbers in the team */
	struct shmemi_block **blk;	/* [n] their blocks, in this process; NULL: no collectives yet */
	struct shmemi_block *own;
	uint64_t seq;			/* number of the last collective that was begun */
	uint64_t all_done;		/* all members here have finished it */
	uint64_t turn;			/* barriers */

	/* The nodes, in the order of their first members. */
	int nodes, node;		/* how many, own number among them */
	int *first;			/* [nodes] number in the team of its first member; NULL: there is one node */
	int *node_of;			/* [size] node of each member; NULL likewise */
	uint16_t *block;		/* [size] of an active set: index of each member's block, 0: not known */
	uint64_t key;			/* of an active set, else 0 */
	int index;			/* of the own block */
	uint64_t far_turn, far_seq;	/* barriers, exchanges of short vectors */
};

extern struct shmemi_team shmemi_team_world;	/* all */
extern struct shmemi_team shmemi_team_shared;	/* those of this node */

/* PE @i of @t, in the world's numbers. @i is checked by the caller: 0 <= i < t->size. */
static inline int shmemi_team_pe(const struct shmemi_team *t, int i)
{
	return __builtin_expect(t->list != NULL, 0) ? t->list[i] : t->start + i * t->stride;
}

/* Number of the world's @pe in @t, -1: it is not in it. */
int shmemi_team_number(const struct shmemi_team *t, int pe);

/*
 * Work out members, nodes and own numbers of @t, whose PEs are set. 0, -1: no memory, and nothing is held. shut: give
 * all of that back.
 */
int shmemi_team_fill(struct shmemi_team *t);
void shmemi_team_shut(struct shmemi_team *t);

/*
 * Splitting as Cray's library does (team_x.c); all members call. 3d: a space of @xrange * @yrange * @zrange members,
 * whose lines through this PE are the new teams; those beyond get none, and who leaves the last out (NULL) makes two.
 * color: @color is -1 (no team) or more, @key orders. 0, -1: too many teams, or no memory.
 */
int shmemi_team_split_3d(struct shmemi_team *parent, int xrange, int yrange, int zrange, shmem_team_t *new_team[3]);
int shmemi_team_split_color(struct shmemi_team *parent, int color, int key, shmem_team_t *new_team);

/*
 * For init.c: the two that are always there. start: 0, -1: no memory; open: behind the first barrier, from where on
 * they have collectives; end: before the last barrier, which is not theirs then.
 */
int shmemi_teams_start(void);
void shmemi_teams_open(void);
void shmemi_teams_end(void);

#endif

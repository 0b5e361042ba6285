/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * coll_movev.c - alltoall with a length for each pair, as Cray's library has it
 *
 * Each PE takes what the others have for it: first where and how much, by what they say in their arrays, which are
 * symmetric, then the data. So nothing is written beyond what the receiver allows, and the target may be any memory.
 */
#include <pshmemx.h>

#include "coll.h"

enum shmemi_size_check shmemi_size_check;

static size_t word(const struct shmemi_call *c, const size_t *array, int i)
{
	size_t w;

	shmemi_pull(c->routine, &w, array + c->t->me, sizeof(w), shmemi_team_pe(c->t, i));
	return w;
}

/* @len bytes of member @i, where @room are left for them. */
static size_t fitting(const struct shmemi_call *c, size_t len, size_t room, int i)
{
	if (len <= room)
		return len;
	if (shmemi_size_check != SHMEMI_SIZE_TRUNC)
		shmemi_fatal("%s: %zu bytes of PE %d, where there is room for %zu", c->routine, len,
			     shmemi_team_pe(c->t, i), room);
	return room;
}

static void take(const struct shmemi_call *c, size_t to, const size_t *s_offsets, size_t len, int i)
{
	if (len)
		shmemi_pull(c->routine, (char *)c->dest + to, (const char *)c->source + word(c, s_offsets, i), len,
			    shmemi_team_pe(c->t, i));
}

static void alltoallv(const struct shmemi_call *c, const size_t *t_offsets, size_t *t_sizes, const size_t *s_offsets,
		      const size_t *s_sizes)
{
	struct shmemi_team *t = c->t;

	shmemi_team_sync(t);
	for (int k = 0; k < t->size; k++) {
		int i = (t->me + k) % t->size;
		size_t len = word(c, s_sizes, i);

		if (shmemi_size_check != SHMEMI_SIZE_NONE)
			len = fitting(c, len, t_sizes[i], i);
		take(c, t_offsets[i], s_offsets, len, i);
		t_sizes[i] = len;
	}
	shmemi_team_sync(t);
}

/* The length of the target is known here, so it is heeded whatever is set. */
static void packed(const struct shmemi_call *c, size_t room, size_t *t_size, const size_t *s_offsets,
		   const size_t *s_sizes)
{
	struct shmemi_team *t = c->t;
	size_t at = 0;

	shmemi_team_sync(t);
	for (int k = 0; k < t->size; k++) {
		int i = (t->me + k) % t->size;
		size_t len = fitting(c, word(c, s_sizes, i), room - at, i);

		take(c, at, s_offsets, len, i);
		at += len;
	}
	*t_size = at;
	shmemi_team_sync(t);
}

#define V_ARGS void *target, size_t *t_offsets, size_t *t_sizes, const void *source, size_t *s_offsets, size_t *s_sizes
#define PACKED_ARGS void *target, size_t target_len, size_t *t_size, const void *source, size_t *s_offsets,	\
		    size_t *s_sizes

static struct shmemi_call of_set(const char *routine, int start, int log_stride, int size, const long *psync,
				 void *target, const void *source)
{
	return (struct shmemi_call){ routine, shmemi_set(routine, start, log_stride, size, psync), target, source };
}

static struct shmemi_call of_team(const char *routine, shmem_team_t team, void *target, const void *source)
{
	shmemi_check_up(routine);
	if (!team)
		shmemi_fatal("%s: this is no team", routine);
	return (struct shmemi_call){ routine, team, target, source };
}

void pshmemx_alltoallv(V_ARGS, int start, int log_stride, int size, long *psync)
{
	struct shmemi_call c = of_set("shmemx_alltoallv", start, log_stride, size, psync, target, source);

	alltoallv(&c, t_offsets, t_sizes, s_offsets, s_sizes);
}
SHMEMI_X_ALIAS(alltoallv);

void pshmemx_alltoallv_packed(PACKED_ARGS, int start, int log_stride, int size, long *psync)
{
	struct shmemi_call c = of_set("shmemx_alltoallv_packed", start, log_stride, size, psync, target, source);

	packed(&c, target_len, t_size, s_offsets, s_sizes);
}
SHMEMI_X_ALIAS(alltoallv_packed);

void pshmemx_team_alltoallv(V_ARGS, shmem_team_t team, long *psync)
{
	struct shmemi_call c = of_team("shmemx_team_alltoallv", team, target, source);

	(void)psync;
	alltoallv(&c, t_offsets, t_sizes, s_offsets, s_sizes);
}
SHMEMI_X_ALIAS(team_alltoallv);

void pshmemx_team_alltoallv_packed(PACKED_ARGS, shmem_team_t team, long *psync)
{
	struct shmemi_call c = of_team("shmemx_team_alltoallv_packed", team, target, source);

	(void)psync;
	packed(&c, target_len, t_size, s_offsets, s_sizes);
}
SHMEMI_X_ALIAS(team_alltoallv_packed);

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * team_x.c - teams by the names of Cray's library, which had them before OpenSHMEM; errors end the job there
 *
 * pSync is not touched: as in coll_set.c.
 */
#include <mpp/pshmem.h>
#include <pshmemx.h>

#include "coll.h"
#include "team.h"

static void need_team(const char *routine, shmem_team_t team)
{
	shmemi_check_up(routine);
	if (!team)
		shmemi_fatal("%s: this is no team", routine);
}

static void made(const char *routine, int rc)
{
	if (rc)
		shmemi_fatal("%s: too many teams, or arguments that make none", routine);
}

int pshmemx_team_my_pe(shmem_team_t team)
{
	need_team("shmemx_team_my_pe", team);
	return pshmem_team_my_pe(team);
}
SHMEMI_X_ALIAS(team_my_pe);

int pshmemx_team_n_pes(shmem_team_t team)
{
	need_team("shmemx_team_n_pes", team);
	return pshmem_team_n_pes(team);
}
SHMEMI_X_ALIAS(team_n_pes);

int pshmemx_team_translate_pe(shmem_team_t team, int pe, shmem_team_t dest_team)
{
	need_team("shmemx_team_translate_pe", team);
	need_team("shmemx_team_translate_pe", dest_team);
	return pshmem_team_translate_pe(team, pe, dest_team);
}
SHMEMI_X_ALIAS(team_translate_pe);

int pshmemx_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config)
{
	return pshmem_team_get_config(team, config_mask, config);
}
SHMEMI_X_ALIAS(team_get_config);

int pshmemx_team_ctx_create(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
	return pshmem_team_create_ctx(team, options, ctx);
}
SHMEMI_X_ALIAS(team_ctx_create);

int pshmemx_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
	return pshmem_ctx_get_team(ctx, team);
}
SHMEMI_X_ALIAS(ctx_get_team);

void pshmemx_team_split_strided(shmem_team_t parent, int start, int stride, int size, shmem_team_t *new_team)
{
	need_team("shmemx_team_split_strided", parent);
	made("shmemx_team_split_strided", pshmem_team_split_strided(parent, start, stride, size, NULL, 0, new_team));
}
SHMEMI_X_ALIAS(team_split_strided);

void pshmemx_team_create_strided(int start, int stride, int size, shmem_team_t *new_team)
{
	shmemi_check_up("shmemx_team_create_strided");
	made("shmemx_team_create_strided",
	     pshmem_team_split_strided(&shmemi_team_world, start, stride, size, NULL, 0, new_team));
}
SHMEMI_X_ALIAS(team_create_strided);

/* A space that the parent fills, or more than that. */
static void check_space(const char *routine, shmem_team_t parent, int x, int y, int z)
{
	need_team(routine, parent);
	if (x < 1 || y < 1 || z < 1 || x > parent->size || y > parent->size / x || z > parent->size / x / y)
		shmemi_fatal("%s: %d x %d x %d members of a team of %d", routine, x, y, z, parent->size);
}

void pshmemx_team_split_2d(shmem_team_t parent, int xrange, int yrange, shmem_team_t *xaxis_team,
			   shmem_team_t *yaxis_team)
{
	shmem_team_t *team[3] = { xaxis_team, yaxis_team, NULL };

	check_space("shmemx_team_split_2d", parent, xrange, yrange, 1);
	made("shmemx_team_split_2d", shmemi_team_split_3d(parent, xrange, yrange, 1, team));
}
SHMEMI_X_ALIAS(team_split_2d);

void pshmemx_team_split_3d(shmem_team_t parent, int xrange, int yrange, int zrange, shmem_team_t *xaxis_team,
			   shmem_team_t *yaxis_team, shmem_team_t *zaxis_team)
{
	shmem_team_t *team[3] = { xaxis_team, yaxis_team, zaxis_team };

	check_space("shmemx_team_split_3d", parent, xrange, yrange, zrange);
	made("shmemx_team_split_3d", shmemi_team_split_3d(parent, xrange, yrange, zrange, team));
}
SHMEMI_X_ALIAS(team_split_3d);

static void split_color(const char *routine, shmem_team_t parent, int color, int key, shmem_team_t *new_team)
{
	need_team(routine, parent);
	if (color < -1)
		shmemi_fatal("%s: colour %d; it is 0 or more, or SHMEM_COLOR_UNDEFINED", routine, color);
	made(routine, shmemi_team_split_color(parent, color, key, new_team));
}

void pshmemx_team_split(shmem_team_t parent, int color, int key, shmem_team_t *new_team)
{
	split_color("shmemx_team_split", parent, color, key, new_team);
}
SHMEMI_X_ALIAS(team_split);

void pshmemx_team_split_color(shmem_team_t parent, int color, int key, shmem_team_t *new_team)
{
	split_color("shmemx_team_split_color", parent, color, key, new_team);
}
SHMEMI_X_ALIAS(team_split_color);

void pshmemx_team_destroy(shmem_team_t *team)
{
	need_team("shmemx_team_destroy", *team);
	if (*team == &shmemi_team_world || *team == &shmemi_team_shared)
		shmemi_fatal("shmemx_team_destroy: a team that is always there");
	pshmem_team_destroy(*team);
	*team = SHMEM_TEAM_INVALID;
}
SHMEMI_X_ALIAS(team_destroy);

static void team_barrier(const char *routine, shmem_team_t team)
{
	need_team(routine, team);
	pshmem_quiet();
	shmemi_team_sync(team);
}

void pshmemx_team_barrier(shmem_team_t team, long *psync)
{
	(void)psync;
	team_barrier("shmemx_team_barrier", team);
}
SHMEMI_X_ALIAS(team_barrier);

void pshmem_team_barrier(shmem_team_t team, long *psync)
{
	(void)psync;
	team_barrier("shmem_team_barrier", team);
}
SHMEMI_ALIAS(team_barrier);

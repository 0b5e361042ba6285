/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ctx.h - for tests: each routine in all its forms, plain and with contexts of several kinds
 *
 * A loop over `form' runs everything once for each: FORMS of them. CALL(name, args..., pe) is shmem_name(args, pe) or
 * shmem_ctx_name(ctx, args, number of that PE in the context's team).
 */
#ifndef T_CTX_H
#define T_CTX_H

#include <shmem.h>

enum { PLAIN, CTX_DEFAULT, CTX_MADE, CTX_TEAM, FORMS };

static shmem_ctx_t t_ctx[FORMS];
static int form;

#ifdef SHMEM_TEAM_NUM_CONTEXTS
static shmem_team_t t_team;		/* all PEs, the other way round */
#define t_in_team(pe)	(shmem_n_pes() - 1 - (pe))
#else
#define t_in_team(pe)	(pe)
#endif

__attribute__((unused)) static int t_ctx_start(void)
{
	shmem_team_t team;

	t_ctx[CTX_DEFAULT] = SHMEM_CTX_DEFAULT;
	if (shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team))
		return -1;
#ifdef SHMEM_TEAM_NUM_CONTEXTS
	if (shmem_team_split_strided(team, shmem_n_pes() - 1, -1, shmem_n_pes(), NULL, 0, &t_team))
		return -1;
	team = t_team;
#endif
	if (shmem_ctx_create(SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE, &t_ctx[CTX_MADE]))
		return -1;
	return shmem_team_create_ctx(team, SHMEM_CTX_PRIVATE, &t_ctx[CTX_TEAM]);
}

__attribute__((unused)) static void t_ctx_end(void)
{
	shmem_ctx_destroy(t_ctx[CTX_MADE]);
	shmem_ctx_destroy(t_ctx[CTX_TEAM]);
#ifdef SHMEM_TEAM_NUM_CONTEXTS
	shmem_team_destroy(t_team);
#endif
}

/* The number that the present form knows @pe by. */
__attribute__((unused)) static int t_pe(int pe)
{
	return form == CTX_TEAM ? t_in_team(pe) : pe;
}

#define CALL(name, ...)									\
	(form == PLAIN ? shmem_##name(__VA_ARGS__) : shmem_ctx_##name(t_ctx[form], __VA_ARGS__))

#endif

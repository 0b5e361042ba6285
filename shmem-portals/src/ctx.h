/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ctx.h - contexts: whose numbers a PE has; and how a routine is written once for its plain form and the one with a
 * context
 *
 * Operations of all contexts are copies by the calling thread, so a context keeps no state of them. shmem_ctx_t is a
 * pointer to one; NULL is SHMEM_CTX_INVALID. The list of contexts belongs to ctx.c and its lock; the rest of a context
 * does not change while it lives.
 */
#ifndef SHMEMI_CTX_H
#define SHMEMI_CTX_H

#include "shmemi.h"
#include "team.h"

struct shmemi_ctx {
	const struct shmemi_team *team;	/* PEs are numbered in it */
	long options;
	struct shmemi_ctx *next;	/* of those that have been made [lock in ctx.c] */
};

void shmemi_bad_ctx(const char *routine) __attribute__((noreturn, cold));
void shmemi_bad_ctx_pe(const char *routine, const struct shmemi_ctx *ctx, int pe) __attribute__((noreturn, cold));

/* PE @pe of @ctx in the world's numbers. Those of the world are looked at by shmemi_at(). */
static inline int shmemi_ctx_pe(const char *routine, const struct shmemi_ctx *ctx, int pe)
{
	if (__builtin_expect(!ctx, 0))
		shmemi_bad_ctx(routine);
	if (__builtin_expect(ctx->team == &shmemi_team_world, 1))
		return pe;
	if (__builtin_expect((unsigned)pe >= (unsigned)ctx->team->size, 0))
		shmemi_bad_ctx_pe(routine, ctx, pe);
	return shmemi_team_pe(ctx->team, pe);
}

/* For team.c: @team ends, and with it what contexts are left of it. */
void shmemi_ctx_team_ends(const struct shmemi_team *team);
/* For init.c: the last finalize. */
void shmemi_ctx_end(void);

/*
 * Define pshmem_@name and pshmem_ctx_@name, with their weak names. @PARAMS: in parentheses, the last being int pe; the
 * body finds its own name in `routine'.
 */
#define SHMEMI_UNPACK(...) __VA_ARGS__
#define SHMEMI_DEFINE(R, name, PARAMS, ...)							\
	R pshmem_##name(SHMEMI_UNPACK PARAMS)							\
	{											\
		const char *const routine = "shmem_" #name;					\
												\
		__VA_ARGS__									\
	}											\
	SHMEMI_ALIAS(name);									\
	R pshmem_ctx_##name(shmem_ctx_t ctx, SHMEMI_UNPACK PARAMS)				\
	{											\
		const char *const routine = "shmem_ctx_" #name;					\
												\
		pe = shmemi_ctx_pe(routine, ctx, pe);						\
		__VA_ARGS__									\
	}											\
	SHMEMI_ALIAS(ctx_##name);

#endif

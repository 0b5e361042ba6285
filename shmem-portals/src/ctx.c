/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ctx.c - contexts: made, ended, made to be complete
 *
 * Every context is in the list from its making to its end, so that none outlives its team; `lock' keeps the list. The
 * default context is static and in no list.
 */
#include <pthread.h>
#include <stdlib.h>

#include "ctx.h"

#define OPTIONS (SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE)

static struct shmemi_ctx default_ctx = { .team = &shmemi_team_world };
__attribute__((visibility("default"))) shmem_ctx_t SHMEM_CTX_DEFAULT = &default_ctx;

static struct shmemi_ctx *made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void shmemi_bad_ctx(const char *routine)
{
	shmemi_fatal("%s: SHMEM_CTX_INVALID is no context", routine);
}

void shmemi_bad_ctx_pe(const char *routine, const struct shmemi_ctx *ctx, int pe)
{
	shmemi_fatal("%s: there is no PE %d in the context's team; there are 0 to %d", routine, pe,
		     ctx->team->size - 1);
}

static int create(const char *routine, const struct shmemi_team *team, long options, shmem_ctx_t *ctx)
{
	struct shmemi_ctx *c;

	if (!shmemi.inits)
		shmemi_fatal("%s: shmem_init() has not been called", routine);
	*ctx = SHMEM_CTX_INVALID;
	if (!team || options & ~OPTIONS)
		return -1;
	c = malloc(sizeof(*c));
	if (!c)
		return -1;
	*c = (struct shmemi_ctx){ .team = team, .options = options };
	pthread_mutex_lock(&lock);
	c->next = made;
	made = c;
	pthread_mutex_unlock(&lock);
	*ctx = c;
	return 0;
}

int pshmem_ctx_create(long options, shmem_ctx_t *ctx)
{
	return create("shmem_ctx_create", &shmemi_team_world, options, ctx);
}
SHMEMI_ALIAS(ctx_create);

int pshmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
	return create("shmem_team_create_ctx", team, options, ctx);
}
SHMEMI_ALIAS(team_create_ctx);

/* Take out of the list and free those of @team, or the one that is @ctx. Returns how many. */
static int end(const struct shmemi_team *team, const struct shmemi_ctx *ctx)
{
	int n = 0;

	pthread_mutex_lock(&lock);
	for (struct shmemi_ctx **at = &made, *c = made; c; c = *at) {
		if (c != ctx && (!team || c->team != team)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
		n++;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

void pshmem_ctx_destroy(shmem_ctx_t ctx)
{
	if (ctx == SHMEM_CTX_INVALID)
		return;
	if (ctx == &default_ctx)
		shmemi_fatal("shmem_ctx_destroy: SHMEM_CTX_DEFAULT is always there");
	shmemi_quiet();
	if (!end(NULL, ctx))
		shmemi_fatal("shmem_ctx_destroy: %p is no context, or has been destroyed before", (void *)ctx);
}
SHMEMI_ALIAS(ctx_destroy);

void shmemi_ctx_team_ends(const struct shmemi_team *team)
{
	shmemi_quiet();
	end(team, NULL);
}

void shmemi_ctx_end(void)
{
	while (made) {
		struct shmemi_ctx *next = made->next;

		free(made);
		made = next;
	}
}

int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
	if (ctx == SHMEM_CTX_INVALID) {
		*team = NULL;
		return -1;
	}
	*team = (shmem_team_t)(uintptr_t)ctx->team;
	return 0;
}
SHMEMI_ALIAS(ctx_get_team);

/* Fence and quiet know no contexts: what is open off the node is counted for all together; that is never too little. */
static void check_ctx(const char *routine, shmem_ctx_t ctx)
{
	if (__builtin_expect(ctx == SHMEM_CTX_INVALID, 0))
		shmemi_bad_ctx(routine);
}

void pshmem_ctx_fence(shmem_ctx_t ctx)
{
	check_ctx("shmem_ctx_fence", ctx);
	shmemi_fence();
}
SHMEMI_ALIAS(ctx_fence);

void pshmem_ctx_quiet(shmem_ctx_t ctx)
{
	check_ctx("shmem_ctx_quiet", ctx);
	shmemi_quiet();
}
SHMEMI_ALIAS(ctx_quiet);

void pshmem_ctx_pe_quiet(shmem_ctx_t ctx, const int *target_pes, size_t npes)
{
	check_ctx("shmem_ctx_pe_quiet", ctx);
	for (size_t i = 0; i < npes; i++) {
		int pe = shmemi_ctx_pe("shmem_ctx_pe_quiet", ctx, target_pes[i]);

		if ((unsigned)pe >= (unsigned)shmemi.n_pes)
			shmemi_bad_pe("shmem_ctx_pe_quiet", pe);
	}
	if (npes)
		shmemi_quiet();
}
SHMEMI_ALIAS(ctx_pe_quiet);

void pshmem_pe_quiet(const int *target_pes, size_t npes)
{
	for (size_t i = 0; i < npes; i++)
		if ((unsigned)target_pes[i] >= (unsigned)shmemi.n_pes)
			shmemi_bad_pe("shmem_pe_quiet", target_pes[i]);
	if (npes)
		shmemi_quiet();
}
SHMEMI_ALIAS(pe_quiet);

/* Sessions are hints, and there is nothing to gain from them: each operation is complete, or on its way, at once. */
void pshmem_ctx_session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask)
{
	check_ctx("shmem_ctx_session_start", ctx);
	(void)options;
	(void)config;
	(void)config_mask;
}
SHMEMI_ALIAS(ctx_session_start);

void pshmem_ctx_session_stop(shmem_ctx_t ctx)
{
	check_ctx("shmem_ctx_session_stop", ctx);
}
SHMEMI_ALIAS(ctx_session_stop);

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * coll.c - what all collectives stand on: settings, blocks, the wait for room in the slots, data of other members
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "coll.h"
#include "far.h"
#include "reduce.h"

enum shmemi_barrier_how shmemi_barrier_how;
unsigned shmemi_linear;

void shmemi_not_up(const char *routine)
{
	shmemi_fatal("%s: shmem_init() has not been called", routine);
}

/* ---- settings ---- */

static int bad_setting(const char *name, const char *value, const char *words)
{
	fprintf(stderr, "shmem error: %s=%s: must be %s\n", name, value, words);
	return -1;
}

/* One name of a list that ends at @end. */
static unsigned linear_bit(const char *s, size_t len)
{
	static const char *const names[] = {
#define X(name) #name,
		SHMEMI_COLLS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == len && !strncasecmp(s, names[i], len))
			return 1u << i;
	return 0;
}

static int choice(const char *s, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcasecmp(s, names[i]))
			return i;
	return -1;
}

int shmemi_coll_settings(void)
{
	static const char *const barriers[] = { "auto", "counter", "dissem" };
	static const char *const checks[] = { "none", "abort", "trunc" };
	const char *off = getenv("SHMEM_COLL_OPT_OFF"), *bar = getenv("SHMEM_BARRIER_ALGORITHM");
	const char *check = getenv("SHMEM_ALLTOALLV_TSIZE_CHK");
	int i;

	shmemi_kernels_start();
	shmemi_barrier_how = SHMEMI_BARRIER_AUTO;
	if (bar) {
		i = choice(bar, barriers, 3);
		if (i < 0)
			return bad_setting("SHMEM_BARRIER_ALGORITHM", bar, "auto, counter or dissem");
		shmemi_barrier_how = (enum shmemi_barrier_how)i;
	}
	shmemi_size_check = SHMEMI_SIZE_NONE;
	if (check) {
		i = choice(check, checks, 3);
		if (i < 0)
			return bad_setting("SHMEM_ALLTOALLV_TSIZE_CHK", check, "none, abort or trunc");
		shmemi_size_check = (enum shmemi_size_check)i;
	}
	shmemi_linear = 0;
	if (!off || !strcmp(off, "0"))
		return 0;
	if (!strcmp(off, "1")) {
		shmemi_linear = ~0u;
		return 0;
	}
	for (const char *s = off; *s; s += *s != 0) {
		size_t len = strcspn(s, ", ");
		unsigned bit = linear_bit(s, len);

		if (!bit)
			return bad_setting("SHMEM_COLL_OPT_OFF", off, "0, 1, or names of broadcast, collect, fcollect, "
					   "alltoall, alltoalls, reduce and scan with commas between");
		shmemi_linear |= bit;
		s += len;
	}
	return 0;
}

/* ---- blocks ---- */

static int block_index(struct shmemi_team *t, int i)
{
	if (!t->key || i == t->me)
		return t->index;
	if (!t->block[i])
		t->block[i] = (uint16_t)shmemi_set_block(t->key, shmemi_team_pe(t, i));
	return t->block[i];
}

struct shmemi_block *shmemi_block_of(struct shmemi_team *t, int i)
{
	return shmemi_block(block_index(t, i));
}

void shmemi_coll_open(struct shmemi_team *t, int index)
{
	struct shmemi_block **blk = calloc((size_t)t->n, sizeof(*blk));

	if (t->key)
		t->block = calloc((size_t)t->size, sizeof(*t->block));
	if (!blk || (t->key && !t->block))
		shmemi_fatal("no memory for a team of %d PEs", t->size);
	t->index = index;
	t->own = shmemi_block(index);
	for (int i = 0; i < t->n; i++) {
		struct shmemi_block *b = shmemi_block_of(t, t->member[i]);

		blk[i] = shmemi_at("team", b, sizeof(*b), shmemi_team_pe(t, t->member[i]));
	}
	t->blk = blk;
}

/* ---- slots ---- */

/* Counters are one line each: all are asked once in SHMEMI_SLOTS collectives, where nothing else has told. */
void shmemi_room_slow(struct shmemi_team *t, uint64_t need)
{
	for (int i = 0; i < t->n; i++)
		if (i != t->rank)
			shmemi_wait_ge(&t->blk[i]->done, need);
	t->all_done = need;
}

void shmemi_all_done(struct shmemi_team *t)
{
	shmemi_end(t);
	shmemi_room_slow(t, t->seq);
}

/* ---- data ---- */

static void look(const char *routine, const void *p, size_t n)
{
	if (n && (uintptr_t)p - shmemi.heap >= SHMEMI_WORK)	/* teams are made by collectives on what is ours */
		shmemi_check(routine, p, n, NULL, 0, shmemi.pe);
}

void shmemi_coll_look(const struct shmemi_call *c, size_t dest, size_t source)
{
	look(c->routine, c->dest, dest);
	look(c->routine, c->source, source);
}

void shmemi_pull(const char *routine, void *dst, const void *src, size_t n, int pe)
{
	const void *s;

	if (!n)
		return;
	s = shmemi_at(routine, src, n, pe);
	if (__builtin_expect(s != NULL, 1))
		shmemi_copy(dst, s, n);
	else
		shmemi_far_get(routine, dst, src, n, pe);
}

void shmemi_push(const char *routine, void *dst, const void *src, size_t n, int pe)
{
	void *d;

	if (!n)
		return;
	d = shmemi_at(routine, dst, n, pe);
	if (__builtin_expect(d != NULL, 1))
		shmemi_copy(d, src, n);
	else
		shmemi_far_put(routine, dst, src, n, pe);
}

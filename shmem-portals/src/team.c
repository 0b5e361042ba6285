/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * team.c - teams: who is in them, splitting, translating, destroying
 *
 * Who is in a team is computed by every PE from the same arguments. What must be agreed upon is the place of its blocks
 * (coll.h), which is the same on all members: one that all PEs of the parent have free. `used' says which this PE has
 * not; `lock' protects it where threads split different teams at once, and is not held while others are waited for.
 */
#include <p3rt/p3rt.h>
#include <portals3.h>
#include <pthread.h>
#include <smartmap.h>
#include <stdlib.h>

#include "coll.h"
#include "ctx.h"
#include "reduce.h"

#define WORDS	(SHMEMI_BLOCK_SETS / 64)
#define FIRST	((1ull << SHMEMI_BLOCK_TEAMS) - 1)	/* blocks that are not for teams of the user */

_Static_assert(SMARTMAP_MAX_PEERS <= 1 << SHMEMI_ROUNDS, "members of a node in a barrier by dissemination");

struct shmemi_team shmemi_team_world, shmemi_team_shared;
shmem_team_t SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED;

static unsigned *node_map;		/* [n_pes] */
static uint64_t used[WORDS];		/* [lock] */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- who is in it ---- */

/* Do loads and stores reach @pe? */
static bool here(int pe)
{
	return pe == shmemi.pe || (shmemi.peer[pe].local >= 0 && !shmemi.no_windows);
}

int shmemi_team_number(const struct shmemi_team *t, int pe)
{
	int i;

	if (t->list) {
		for (i = 0; i < t->size; i++)
			if (t->list[i] == pe)
				return i;
		return -1;
	}
	if (!t->stride)
		return pe == t->start ? 0 : -1;
	if ((pe - t->start) % t->stride)
		return -1;
	i = (pe - t->start) / t->stride;
	return i >= 0 && i < t->size ? i : -1;
}

/* Nodes by the order of their first members. -1: no memory. */
static int fill_nodes(struct shmemi_team *t)
{
	int *number = calloc((size_t)shmemi.n_pes, sizeof(*number)), v;	/* of a node in the team, + 1 */

	t->first = calloc((size_t)t->size, sizeof(*t->first));
	t->node_of = calloc((size_t)t->size, sizeof(*t->node_of));
	t->nodes = 0;
	for (int i = 0; number && t->first && t->node_of && i < t->size; i++) {
		v = (int)node_map[shmemi_team_pe(t, i)];
		if (!number[v]) {
			t->first[t->nodes] = i;
			number[v] = ++t->nodes;
		}
		t->node_of[i] = number[v] - 1;
	}
	free(number);
	if (!t->nodes)
		return -1;
	t->node = t->me < 0 ? 0 : t->node_of[t->me];
	return 0;
}

int shmemi_team_fill(struct shmemi_team *t)
{
	int n = 0;

	t->me = shmemi_team_number(t, shmemi.pe);
	for (int i = 0; i < t->size; i++)
		n += here(shmemi_team_pe(t, i));
	t->member = calloc((size_t)n, sizeof(*t->member));
	if (!t->member)
		return -1;
	t->n = 0;
	for (int i = 0; i < t->size; i++)
		if (here(shmemi_team_pe(t, i))) {
			if (i == t->me)
				t->rank = t->n;
			t->member[t->n++] = i;
		}
	t->nodes = 1;
	t->node = 0;
	if (n < t->size && fill_nodes(t)) {
		shmemi_team_shut(t);
		return -1;
	}
	return 0;
}

void shmemi_team_shut(struct shmemi_team *t)
{
	free(t->list);
	free(t->member);
	free(t->blk);
	free(t->first);
	free(t->node_of);
	free(t->block);
	*t = (struct shmemi_team){ .size = 0 };
}

/* The node's PEs: a stretch where they are one, which is faster to number. */
static int find_shared(struct shmemi_team *t)
{
	int n = 0;

	*t = (struct shmemi_team){ .list = calloc((size_t)shmemi.n_pes, sizeof(int)) };
	if (!t->list)
		return -1;
	for (int i = 0; i < shmemi.n_pes; i++)
		if (here(i))
			t->list[n++] = i;
	t->start = t->list[0];
	t->stride = n > 1 ? t->list[1] - t->list[0] : 1;
	t->size = n;
	for (int i = 0; i < n; i++)
		if (t->list[i] != t->start + i * t->stride)
			return 0;
	free(t->list);
	t->list = NULL;
	return 0;
}

int shmemi_teams_start(void)
{
	node_map = calloc((size_t)shmemi.n_pes, sizeof(*node_map));
	if (!node_map || PtlGetNodeMap_np(shmemi.ni, node_map, (unsigned)shmemi.n_pes) != PTL_OK)
		return -1;
	for (int i = 0; shmemi.no_windows && i < shmemi.n_pes; i++)
		node_map[i] = (unsigned)i;
	shmemi_team_world = (struct shmemi_team){ .stride = 1, .size = shmemi.n_pes };
	if (shmemi_team_fill(&shmemi_team_world) || find_shared(&shmemi_team_shared) ||
	    shmemi_team_fill(&shmemi_team_shared))
		return -1;
	memset(used, 0, sizeof(used));
	used[0] = FIRST;
	return 0;
}

void shmemi_teams_open(void)
{
	shmemi_coll_open(&shmemi_team_world, SHMEMI_BLOCK_WORLD);
	shmemi_coll_open(&shmemi_team_shared, SHMEMI_BLOCK_SHARED);
	SHMEM_TEAM_WORLD = &shmemi_team_world;
	SHMEM_TEAM_SHARED = &shmemi_team_shared;
}

void shmemi_teams_end(void)
{
	SHMEM_TEAM_WORLD = SHMEM_TEAM_SHARED = NULL;
	shmemi_sets_end();
	shmemi_team_shut(&shmemi_team_world);
	shmemi_team_shut(&shmemi_team_shared);
	free(node_map);
	node_map = NULL;
}

/* ---- queries ---- */

int pshmem_team_my_pe(shmem_team_t team)
{
	return team ? team->me : -1;
}
SHMEMI_ALIAS(team_my_pe);

int pshmem_team_n_pes(shmem_team_t team)
{
	return team ? team->size : -1;
}
SHMEMI_ALIAS(team_n_pes);

int pshmem_team_get_config(shmem_team_t team, long mask, shmem_team_config_t *config)
{
	if (!team || mask & ~SHMEM_TEAM_NUM_CONTEXTS || (mask && !config))
		return -1;
	if (mask & SHMEM_TEAM_NUM_CONTEXTS)
		config->num_contexts = team->config.num_contexts;
	return 0;
}
SHMEMI_ALIAS(team_get_config);

int pshmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
{
	if (!src_team || !dest_team || src_pe < 0 || src_pe >= src_team->size)
		return -1;
	return shmemi_team_number(dest_team, shmemi_team_pe(src_team, src_pe));
}
SHMEMI_ALIAS(team_translate_pe);

void *pshmem_team_ptr(shmem_team_t team, const void *dest, int pe)
{
	return team && pe >= 0 && pe < team->size ? pshmem_ptr(dest, shmemi_team_pe(team, pe)) : NULL;
}
SHMEMI_ALIAS(team_ptr);

/* ---- splitting ---- */

/* A team to be: members @start + i * @stride, i < @size, of the parent; numbers that are checked. */
struct part {
	int start, stride, size;
	const shmem_team_config_t *config;
	long mask;
	shmem_team_t *handle;
	struct shmemi_team *t;		/* NULL: this PE is not in it */
	int index;			/* of its block */
	bool taken;
};

/* A member of the parent that has chosen our colour: its key and number. */
struct choice {
	int key, i;
};

static int config_of(const struct part *p, shmem_team_config_t *config)
{
	*config = (shmem_team_config_t){ .num_contexts = 0 };
	if (p->mask & ~SHMEM_TEAM_NUM_CONTEXTS || (p->mask && !p->config))
		return -1;
	if (p->mask & SHMEM_TEAM_NUM_CONTEXTS)
		config->num_contexts = p->config->num_contexts;
	return config->num_contexts < 0 ? -1 : 0;
}

static struct shmemi_team *part_team(const struct shmemi_team *parent, const struct part *p)
{
	struct shmemi_team *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->size = p->size;
	if (parent->list) {
		t->list = calloc((size_t)p->size, sizeof(int));
		for (int i = 0; t->list && i < p->size; i++)
			t->list[i] = parent->list[p->start + i * p->stride];
	} else {
		t->start = shmemi_team_pe(parent, p->start);
		t->stride = parent->stride * p->stride;
	}
	if ((parent->list && !t->list) || config_of(p, &t->config) || shmemi_team_fill(t)) {
		shmemi_team_shut(t);
		free(t);
		return NULL;
	}
	return t;
}

/* Bitwise and over the parent of the words in its block; all PEs of it have come when it returns. */
static const uint64_t *agree(struct shmemi_team *parent)
{
	uint64_t *word = parent->own->word;
	struct shmemi_call c = { "shmem_team_split", parent, word + WORDS, word };

	shmemi_reduce(&c, SHMEMI_KIND_U64, SHMEMI_OP_AND, WORDS, sizeof(*word));
	return word + WORDS;
}

/* The lowest set bit of @mask, which is cleared; -1: none. */
static int lowest(uint64_t *mask)
{
	for (int i = 0; i < WORDS; i++)
		if (mask[i]) {
			int bit = __builtin_ctzll(mask[i]);

			mask[i] &= mask[i] - 1;
			return 64 * i + bit;
		}
	return -1;
}

static bool take(struct part *p)
{
	uint64_t bit = 1ull << (p->index & 63);

	pthread_mutex_lock(&lock);
	p->taken = !(used[p->index / 64] & bit);
	used[p->index / 64] |= bit;
	pthread_mutex_unlock(&lock);
	return p->taken;
}

static void give(int index)
{
	pthread_mutex_lock(&lock);
	used[index / 64] &= ~(1ull << (index & 63));
	pthread_mutex_unlock(&lock);
}

/*
 * Blocks for the @n parts, the same on all PEs: out of those that all have free, and free still when they are taken
 * (else another thread was faster: again). They are zero before any PE knows that all have agreed. 0, -1: too many
 * teams, or a PE has no memory (@able).
 */
static int place(struct shmemi_team *parent, struct part *part, int n, bool able)
{
	uint64_t mask[WORDS];
	bool all;

	do {
		pthread_mutex_lock(&lock);
		for (int i = 0; i < WORDS; i++)
			parent->own->word[i] = able ? ~used[i] : 0;
		pthread_mutex_unlock(&lock);
		memcpy(mask, agree(parent), sizeof(mask));
		for (int i = 0; i < n; i++) {
			part[i].taken = false;
			part[i].index = lowest(mask);
			if (part[i].index < 0)
				return -1;
		}
		all = true;
		for (int i = 0; i < n && all; i++)
			if (part[i].t) {
				all = take(&part[i]);
				if (all)
					memset(shmemi_block(part[i].index), 0, sizeof(struct shmemi_block));
			}
		memset(parent->own->word, all ? 0xff : 0, sizeof(mask));
		all = agree(parent)[0];
		for (int i = 0; i < n && !all; i++)
			if (part[i].t && part[i].taken)
				give(part[i].index);
	} while (!all);
	return 0;
}

/* The teams that this PE is in (part[i].t) get their blocks, and are given out. @able: there was memory for them. */
static int open_parts(struct shmemi_team *parent, struct part *part, int n, bool able)
{
	int rc = place(parent, part, n, able);

	for (int i = 0; i < n; i++) {
		if (!part[i].t)
			continue;
		if (rc) {
			shmemi_team_shut(part[i].t);
			free(part[i].t);
			continue;
		}
		shmemi_coll_open(part[i].t, part[i].index);
		*part[i].handle = part[i].t;
	}
	return rc;
}

static int split(struct shmemi_team *parent, struct part *part, int n)
{
	shmem_team_config_t unused;
	bool able = true;

	for (int i = 0; i < n; i++)
		if (config_of(&part[i], &unused))
			return -1;	/* so it is on all PEs */
	for (int i = 0; i < n; i++) {
		int at = parent->me - part[i].start, stride = part[i].stride ? part[i].stride : 1;

		if (at % stride || at / stride < 0 || at / stride >= part[i].size)
			continue;
		part[i].t = part_team(parent, &part[i]);
		able &= part[i].t != NULL;
	}
	return open_parts(parent, part, n, able);
}

int pshmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t *config,
			      long mask, shmem_team_t *new_team)
{
	struct part part = { .start = start, .stride = size == 1 ? 1 : stride, .size = size,
			     .config = config, .mask = mask, .handle = new_team };
	long long last = (long long)start + (long long)stride * ((long long)size - 1);

	shmemi_check_up("shmem_team_split_strided");
	*new_team = SHMEM_TEAM_INVALID;
	if (!parent || size < 1 || start < 0 || start >= parent->size || last < 0 || last >= parent->size ||
	    (!stride && size > 1))
		return -1;
	return split(parent, &part, 1);
}
SHMEMI_ALIAS(team_split_strided);

int pshmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t *xconfig, long xmask,
			 shmem_team_t *xteam, const shmem_team_config_t *yconfig, long ymask, shmem_team_t *yteam)
{
	struct part part[2] = { { .config = xconfig, .mask = xmask, .handle = xteam },
				{ .config = yconfig, .mask = ymask, .handle = yteam } };
	int n, x, y;

	shmemi_check_up("shmem_team_split_2d");
	*xteam = *yteam = SHMEM_TEAM_INVALID;
	if (!parent || xrange < 1)
		return -1;
	n = parent->size;
	if (xrange > n)
		xrange = n;
	x = parent->me % xrange;
	y = parent->me / xrange;
	part[0].start = y * xrange;
	part[0].stride = 1;
	part[0].size = n - y * xrange < xrange ? n - y * xrange : xrange;
	part[1].start = x;
	part[1].stride = xrange;
	part[1].size = (n - x + xrange - 1) / xrange;
	return split(parent, part, 2);
}
SHMEMI_ALIAS(team_split_2d);

/* ---- splitting as Cray's library does: team_x.c ---- */

int shmemi_team_split_3d(struct shmemi_team *parent, int xrange, int yrange, int zrange, shmem_team_t *new_team[3])
{
	struct part part[3] = { { .handle = new_team[0] }, { .handle = new_team[1] }, { .handle = new_team[2] } };
	int x = parent->me % xrange, y = parent->me / xrange % yrange, z = parent->me / xrange / yrange;

	for (int i = 0; i < 3; i++)
		if (new_team[i])
			*new_team[i] = SHMEM_TEAM_INVALID;
	if (z < zrange) {		/* others stand outside, and only agree */
		part[0].start = (z * yrange + y) * xrange;
		part[0].size = xrange;
		part[0].stride = 1;
		part[1].start = z * yrange * xrange + x;
		part[1].size = yrange;
		part[1].stride = xrange;
		part[2].start = y * xrange + x;
		part[2].size = zrange;
		part[2].stride = xrange * yrange;
	}
	return split(parent, part, new_team[2] ? 3 : 2);
}

/* What each member says: a word, which is not 0. As many at once as its block has room for. */
static void tell_all(struct shmemi_team *parent, uint64_t mine, uint64_t *all)
{
	enum { AT_ONCE = sizeof(parent->own->word) / sizeof(uint64_t) / 2 };
	uint64_t *word = parent->own->word;
	struct shmemi_call c = { "shmem_team_split", parent, word + AT_ONCE, word };

	for (int i = 0; i < parent->size; i += AT_ONCE) {
		int n = parent->size - i < AT_ONCE ? parent->size - i : AT_ONCE;

		memset(word, 0, AT_ONCE * sizeof(*word));
		if (parent->me >= i && parent->me < i + n)
			word[parent->me - i] = mine;
		shmemi_reduce(&c, SHMEMI_KIND_U64, SHMEMI_OP_OR, AT_ONCE, sizeof(*word));
		memcpy(all + i, word + AT_ONCE, (size_t)n * sizeof(*word));
	}
}

static int by_key(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->i - y->i;
}

static void *need(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		shmemi_fatal("shmemx_team_split: no memory for a team of %zu PEs", n);
	return p;
}

/* The team of those who have said the same colour (in the upper half) as this PE, by their keys. */
static struct shmemi_team *same_color(const struct shmemi_team *parent, const uint64_t *all)
{
	struct choice *c = need((size_t)parent->size, sizeof(*c));
	struct shmemi_team *t = need(1, sizeof(*t));

	t->list = need((size_t)parent->size, sizeof(*t->list));
	for (int i = 0; i < parent->size; i++)
		if (all[i] >> 32 == all[parent->me] >> 32)
			c[t->size++] = (struct choice){ (int)(uint32_t)all[i], i };
	qsort(c, (size_t)t->size, sizeof(*c), by_key);
	for (int i = 0; i < t->size; i++)
		t->list[i] = shmemi_team_pe(parent, c[i].i);
	free(c);
	if (shmemi_team_fill(t))
		shmemi_fatal("shmemx_team_split: no memory for a team of %d PEs", t->size);
	return t;
}

int shmemi_team_split_color(struct shmemi_team *parent, int color, int key, shmem_team_t *new_team)
{
	struct part part = { .handle = new_team };
	uint64_t *all = need((size_t)parent->size, sizeof(*all));

	*new_team = SHMEM_TEAM_INVALID;
	tell_all(parent, (uint64_t)((int64_t)color + 2) << 32 | (uint32_t)key, all);
	if (color >= 0)
		part.t = same_color(parent, all);
	free(all);
	return open_parts(parent, &part, 1, true);
}

void pshmem_team_destroy(shmem_team_t team)
{
	if (!team || team == &shmemi_team_world || team == &shmemi_team_shared)
		return;
	shmemi_check_up("shmem_team_destroy");
	shmemi_ctx_team_ends(team);
	shmemi_sync_dissem(team);
	give(team->index);
	shmemi_team_shut(team);
	free(team);
}
SHMEMI_ALIAS(team_destroy);

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * coll_set.c - active sets: teams that nobody has made
 *
 * An active set is known by (start, stride, size). Its first collective makes a team of it here, with the next free
 * block of this PE's work area, and writes its key into the directory at the begin of that area (release). The others
 * find it there, and wait for it (acquire). Nothing has to be agreed, and sets may come in any order on each PE. pSync
 * and pWrk are not touched: pSync stays what it is, whatever it is.
 *
 * A set stays until shmem_finalize(). `lock' protects the list here; entries of it do not change.
 */
#include <pthread.h>
#include <stdlib.h>

#include "coll.h"
#include "far.h"

#define SETS	((int)(SHMEMI_BLOCKS - SHMEMI_BLOCK_SETS))

_Static_assert(SETS * sizeof(uint64_t) <= SHMEMI_BLOCK_WORLD * sizeof(struct shmemi_block), "room for the directory");

static struct shmemi_team *set[SETS], *last;
static int n_sets;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static inline uint64_t *directory(void)
{
	return (uint64_t *)shmemi.heap;
}

void shmemi_sets_end(void)
{
	for (int i = 0; i < n_sets; i++) {
		shmemi_team_shut(set[i]);
		free(set[i]);
	}
	n_sets = 0;
	last = NULL;
}

static int find(const uint64_t *dir, uint64_t key)
{
	for (int i = 0; i < SETS; i++) {
		uint64_t k = __atomic_load_n(&dir[i], __ATOMIC_ACQUIRE);

		if (k == key)
			return SHMEMI_BLOCK_SETS + i;
		if (!k)
			break;
	}
	return -1;
}

int shmemi_set_block(uint64_t key, int pe)
{
	const uint64_t *dir = shmemi_at("active set", directory(), SETS * sizeof(*dir), pe);
	struct shmemi_wait w = { 0 };
	uint64_t far[SETS];
	int index;

	for (;;) {
		if (!dir)
			shmemi_far_get("active set", far, directory(), sizeof(far), pe);
		index = find(dir ? dir : far, key);
		if (index >= 0)
			return index;
		shmemi_wait_step(&w);
	}
}

/* [lock] */
static struct shmemi_team *add(const char *routine, uint64_t key, int start, int stride, int size)
{
	struct shmemi_team *t;

	if (n_sets == SETS)
		shmemi_fatal("%s: more than %d different active sets; teams can be destroyed", routine, SETS);
	t = calloc(1, sizeof(*t));
	if (!t)
		shmemi_fatal("%s: no memory for an active set", routine);
	*t = (struct shmemi_team){ .start = start, .stride = stride, .size = size, .key = key,
				   .index = SHMEMI_BLOCK_SETS + n_sets };
	if (shmemi_team_fill(t))
		shmemi_fatal("%s: no memory for an active set of %d PEs", routine, size);
	if (t->me < 0)
		shmemi_fatal("%s: PE_start %d, stride %d, PE_size %d: this PE is not in it", routine, start, stride,
			     size);
	set[n_sets] = t;
	__atomic_store_n(&directory()[n_sets++], key, __ATOMIC_RELEASE);
	return t;
}

static struct shmemi_team *look_up(const char *routine, uint64_t key, int start, int log_stride, int size)
{
	struct shmemi_team *t = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < n_sets && !t; i++)
		if (set[i]->key == key)
			t = set[i];
	if (!t)
		t = add(routine, key, start, 1 << log_stride, size);
	pthread_mutex_unlock(&lock);
	if (!t->blk)
		shmemi_coll_open(t, t->index);
	__atomic_store_n(&last, t, __ATOMIC_RELEASE);
	return t;
}

struct shmemi_team *shmemi_set(const char *routine, int start, int log_stride, int size, const long *psync)
{
	uint64_t key = (uint64_t)(unsigned)size << 40 | (uint64_t)(unsigned)start << 8 | (unsigned)log_stride;
	struct shmemi_team *t;

	shmemi_check_up(routine);
	if (__builtin_expect(start < 0 || log_stride < 0 || log_stride > 30 || size < 1 || size > shmemi.n_pes ||
			     start + ((long long)(size - 1) << log_stride) >= shmemi.n_pes, 0))
		shmemi_fatal("%s: PE_start %d, logPE_stride %d, PE_size %d: there are PEs 0 to %d", routine, start,
			     log_stride, size, shmemi.n_pes - 1);
	t = __atomic_load_n(&last, __ATOMIC_ACQUIRE);
	if (__builtin_expect(t && t->key == key, 1))
		return t;
	return look_up(routine, key, start, log_stride, size);
}

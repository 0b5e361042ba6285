/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * near.c - the tables by which memory of near PEs is found: by shmemi_at_fast(), and by what <shmem.h> has inline
 *
 * A PE's entry is written once, what makes it valid last, by whichever thread meets it first; all write the same. The
 * programs' table stays empty where a tool has taken over a routine that they have inline: it is to see each call.
 */
#include "near.h"
#include "shmemi.h"

struct shmemi_near shmemi_near_2, shmemi_near;

#define PAIR(name) { (void (*)(void))shmem_##name, (void (*)(void))pshmem_##name },
#define RMA(N, T) PAIR(N##_p) PAIR(N##_g) PAIR(N##_put) PAIR(N##_get)
#define STANDARD(N, T) PAIR(N##_atomic_compare_swap) PAIR(N##_atomic_fetch_inc) PAIR(N##_atomic_inc)	\
	PAIR(N##_atomic_fetch_add) PAIR(N##_atomic_add)
#define EXTENDED(N, T) PAIR(N##_atomic_fetch) PAIR(N##_atomic_set) PAIR(N##_atomic_swap)
#define BITWISE(N, T) PAIR(N##_atomic_and) PAIR(N##_atomic_fetch_and) PAIR(N##_atomic_or)	\
	PAIR(N##_atomic_fetch_or) PAIR(N##_atomic_xor) PAIR(N##_atomic_fetch_xor)

/* The names as the program sees them, beside what they are without a tool. */
static const struct {
	void (*seen)(void), (*ours)(void);
} inlined[] = {
	SHMEMI_TYPES_RMA(RMA) SHMEMI_TYPES_AMO(STANDARD) SHMEMI_TYPES_AMO_EXT(EXTENDED) SHMEMI_TYPES_AMO_BIT(BITWISE)
};

static bool tool(void)
{
	for (size_t i = 0; i < sizeof(inlined) / sizeof(inlined[0]); i++)
		if (inlined[i].seen != inlined[i].ours)
			return true;
	return false;
}

static bool none, taken;

void shmemi_near_begin(void)
{
	none = shmemi.debug || shmemi.no_windows;
	taken = tool();
	shmemi_near_2.heap = shmemi_near.heap = shmemi.heap;
	shmemi_near_2.data = shmemi_near.data = shmemi.data;
}

static void set(struct shmemi_near *t, int pe, uintptr_t heap, uintptr_t data)
{
	if (data && shmemi.data_size > 8) {
		t->data_by[pe] = data - shmemi.data;
		__atomic_store_n(&t->data_last[pe], shmemi.data_size - 8, __ATOMIC_RELEASE);
	}
	t->heap_by[pe] = heap - shmemi.heap;
	__atomic_store_n(&t->heap_last[pe], shmemi.heap_size - 8, __ATOMIC_RELEASE);
}

void shmemi_near_set(int pe, uintptr_t heap, uintptr_t data)
{
	if (none || pe >= SHMEMI_NEAR_PES)
		return;
	set(&shmemi_near, pe, heap, data);
	if (!taken)
		set(&shmemi_near_2, pe, heap, data);
}

void shmemi_near_end(void)
{
	shmemi_near_2 = shmemi_near = (struct shmemi_near){ .heap = 0 };
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_there.c - puts of many lengths to the next PE, looked at there, gets of them back, sums in PE 0
 *
 * Needs a launcher only, no page that all see. PE 0 prints one line, "there and back: N puts", when every byte was
 * right.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX	(1 << 20)

static long sum, arrived;

static void fill(unsigned char *b, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245u + 12345u;
		b[i] = (unsigned char)(seed ^ seed >> 16);
	}
}

int main(void)
{
	static const size_t len[] = { 1, 8, 1000, 8192, 8193, 32768, 32769, 100001, 262145, MAX };
	const unsigned n = sizeof(len) / sizeof(*len);
	unsigned char *here, *want = malloc(MAX), *back = malloc(MAX);
	int me, size, to, from;
	long wrong = 0;

	shmem_init();
	me = shmem_my_pe();
	size = shmem_n_pes();
	to = (me + 1) % size;
	from = (me + size - 1) % size;
	here = shmem_malloc(MAX);
	if (!here || !want || !back)
		return 1;
	for (unsigned k = 0; k < n; k++) {
		fill(want, len[k], 100 * k + (unsigned)me);
		shmem_putmem(here, want, len[k], to);
		shmem_quiet();
		shmem_getmem(back, here, len[k], to);
		wrong += memcmp(back, want, len[k]) != 0;
		shmem_barrier_all();
		fill(want, len[k], 100 * k + (unsigned)from);
		wrong += memcmp(here, want, len[k]) != 0;
		shmem_long_atomic_add(&sum, 1, 0);
		shmem_barrier_all();
	}
	shmem_long_atomic_add(&arrived, wrong, 0);
	shmem_barrier_all();
	if (!me && !arrived && sum == (long)n * size)
		printf("there and back: %ld puts\n", sum);
	shmem_finalize();
	return wrong != 0;
}

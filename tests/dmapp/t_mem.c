/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_mem.c - symmetric heap under both sets of names; registration: overlapping ranges, a table that is full,
 * descriptors that have ended; SHMEM in the same process; copies by the engine
 */
#include <pthread.h>
#include <shmem.h>
#include <sys/mman.h>

#include "dm.h"

static uint64_t *room;

static void t_heap(void)
{
	char *a = dmapp_sheap_malloc(1000), *b = dmapp_heap_malloc(1000), *c;
	dmapp_sheap_stats_t s, t;

	REQUIRE(a && b);
	CHECK(a >= (char *)sheap->addr && b + 1000 <= (char *)sheap->addr + sheap->len);
	memset(a, me + 1, 1000);
	c = dmapp_sheap_realloc(a, 100000);
	REQUIRE(c != NULL);
	for (int i = 0; i < 1000; i += 99)
		CHECK_INT(c[i], me + 1);
	a = dmapp_heap_realloc(c, 90000);
	CHECK(a == c);					/* in place */
	CHECK(!dmapp_sheap_malloc(sheap->len + 1) && !dmapp_sheap_malloc(0) && !dmapp_heap_malloc(SIZE_MAX));
	CHECK(!dmapp_sheap_realloc((char *)a + 8, 10));
	dmapp_sheap_free((char *)a + 8);		/* no block: nothing */
	dmapp_sheap_free(NULL);
	OK(dmapp_sheap_stats(&s));
	CHECK(s.size == sheap->len && s.used >= 91000 && s.blocks >= 2 && s.largest_free <= s.size - s.used);
	dmapp_sheap_free(a);
	dmapp_heap_free(b);
	OK(dmapp_sheap_stats(&t));
	CHECK(t.blocks == s.blocks - 2 && t.used < s.used);
	IS(dmapp_sheap_stats(NULL), INVALID_PARAM);
	/* the same again: the same place, and the same on all PEs */
	b = dmapp_sheap_realloc(NULL, 5000);
	room[1] = (uint64_t)(b - (char *)sheap->addr);
	dm_barrier();
	uint64_t other;
	OK(dmapp_get(&other, room + 1, sheap, to, 1, DMAPP_QW));
	CHECK_INT(other, room[1]);
	dm_barrier();
	CHECK(!dmapp_sheap_realloc(b, 0));
}

/* Show @seg to the one before, take that of the next. */
static dmapp_seg_desc_t swap(const dmapp_seg_desc_t *seg)
{
	dmapp_seg_desc_t *all = (dmapp_seg_desc_t *)(void *)(room + 64), got;

	dm_barrier();
	OK(dmapp_put(all, sheap, from, (void *)(uintptr_t)seg, sizeof(*seg), DMAPP_BYTE));
	dm_barrier();
	got = *all;
	dm_barrier();
	return got;
}

static void t_registered(void)
{
	uint64_t *m = malloc(8192 * 8), v = (uint64_t)me + 100, got = 0;
	dmapp_seg_desc_t seg, inner, there, there_inner;
	int64_t old = 0;
	int flag;
	dmapp_return_t rc;

	REQUIRE(m != NULL);
	memset(m, 0, 8192 * 8);
	OK(dmapp_mem_register(m, 8192 * 8, &seg));
	OK(dmapp_mem_register(m + 100, 80, &inner));	/* within: the same place */
	CHECK(seg.addr == m && seg.len == 8192 * 8);
	OK(dmapp_segdesc_compare(&seg, &seg, &flag));
	CHECK(flag);
	OK(dmapp_segdesc_compare(&seg, &inner, &flag));
	CHECK(!flag);
	OK(dmapp_segdesc_compare(sheap, data, &flag));
	CHECK(!flag);
	there = swap(&seg);
	there_inner = swap(&inner);
	OK(dmapp_put((uint64_t *)there.addr + 5, &there, to, &v, 1, DMAPP_QW));
	OK(dmapp_put(there_inner.addr, &there_inner, to, &v, 1, DMAPP_QW));
	dm_barrier();
	CHECK_INT(m[5], from + 100);
	CHECK_INT(m[100], from + 100);
	OK(dmapp_get(&got, (uint64_t *)there.addr + 5, &there, to, 1, DMAPP_QW));
	CHECK_INT(got, me + 100);
	dm_barrier();
	/* an atomic operation, where the memory could be adopted, or by Portals */
	rc = dmapp_afadd_qw(&old, (uint64_t *)there.addr + 5, &there, to, 1);
	if (rc == DMAPP_RC_PERMISSION_ERROR) {
		diag("registered memory is not in the window: no atomic operations");
	} else {
		CHECK_INT(rc, DMAPP_RC_SUCCESS);
		CHECK_INT(old, me + 100);
		dm_barrier();
		CHECK_INT(m[5], from + 101);
	}
	/* outside, and as another PE's */
	IS(dmapp_put((uint64_t *)there.addr + 8192, &there, to, &v, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_put((uint64_t *)there_inner.addr - 1, &there_inner, to, &v, 1, DMAPP_QW), INVALID_PARAM);
	if (n > 1)
		IS(dmapp_put(there.addr, &there, me, &v, 1, DMAPP_QW), INVALID_PARAM);
	if (n > 1)
		IS(dmapp_mem_unregister(&there), INVALID_PARAM);
	/* an update within; not beyond */
	OK(dmapp_mem_update(m + 8, 64, 0, &seg));
	CHECK(seg.addr == m + 8 && seg.len == 64);
	IS(dmapp_mem_update(m + 8192, 64, 0, &seg), INVALID_PARAM);
	dm_barrier();
	OK(dmapp_mem_unregister(&seg));
	dm_barrier();
	/* the inner one still holds it */
	OK(dmapp_put(there_inner.addr, &there_inner, to, &v, 1, DMAPP_QW));
	dm_barrier();
	OK(dmapp_mem_unregister(&inner));
	IS(dmapp_mem_unregister(&inner), NOT_FOUND);
	dm_barrier();
	free(m);
}

/*
 * A descriptor that has ended is refused, also when the same memory, or the same place of the table,
 * is in use again.
 */
static void t_never_stale(void)
{
	uint64_t *m = malloc(4096), v = 77, got = 5;
	dmapp_seg_desc_t seg, again, there, there_again;
	dmapp_syncid_handle_t id;
	dmapp_return_t rc;

	REQUIRE(m != NULL);
	memset(m, 0, 4096);
	OK(dmapp_mem_register(m, 4096, &seg));
	there = swap(&seg);
	OK(dmapp_mem_unregister(&seg));
	dm_barrier();
	IS(dmapp_put(there.addr, &there, to, &v, 1, DMAPP_QW), NOT_FOUND);
	IS(dmapp_get(&got, there.addr, &there, to, 1, DMAPP_QW), NOT_FOUND);
	IS(dmapp_aadd_qw(there.addr, &there, to, 1), NOT_FOUND);
	IS(dmapp_iput(there.addr, &there, to, m, 2, 1, 5, DMAPP_QW), NOT_FOUND);
	rc = dmapp_put_nb(there.addr, &there, to, &v, 1, DMAPP_QW, &id);
	if (rc == DMAPP_RC_SUCCESS)			/* between nodes it is known behind it */
		rc = dmapp_syncid_wait(&id);
	CHECK_INT(rc, DMAPP_RC_NOT_FOUND);
	rc = dmapp_put_nbi(there.addr, &there, to, &v, 1, DMAPP_QW);
	if (rc == DMAPP_RC_SUCCESS)
		rc = dmapp_gsync_wait();
	CHECK_INT(rc, DMAPP_RC_NOT_FOUND);
	OK(dmapp_gsync_wait());				/* said once */
	CHECK_INT(m[0], 0);
	dm_barrier();
	OK(dmapp_mem_reserve(m, 4096, 0, &again));
	there_again = swap(&again);
	IS(dmapp_put(there.addr, &there, to, &v, 1, DMAPP_QW), NOT_FOUND);
	OK(dmapp_put(there_again.addr, &there_again, to, &v, 1, DMAPP_QW));
	dm_barrier();
	CHECK_INT(m[0], 77);
	IS(dmapp_mem_unregister(&seg), NOT_FOUND);
	OK(dmapp_mem_unregister(&again));
	dm_barrier();
	free(m);
}

/* _DMAPPI_NDREG_ENTRIES is 16 here. */
static void t_the_table_is_bounded(void)
{
	static char m[64][64];
	dmapp_seg_desc_t seg[17], more;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *hole = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(hole != MAP_FAILED);
	munmap(hole + page, page);

	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 16; i++)
			OK(dmapp_mem_register(m[2 * i], 64, &seg[i]));
		IS(dmapp_mem_register(m[40], 64, &seg[16]), NO_SPACE);
		OK(dmapp_mem_register(m[2] + 8, 8, &more));	/* overlaps: needs no place */
		OK(dmapp_mem_unregister(&more));
		for (int i = 0; i < 16; i++)
			OK(dmapp_mem_unregister(&seg[(i * 5 + round) % 16]));
	}
	IS(dmapp_mem_register(NULL, 64, &more), INVALID_PARAM);
	IS(dmapp_mem_register(m, 0, &more), INVALID_PARAM);
	IS(dmapp_mem_register(m, UINT64_MAX, &more), INVALID_PARAM);
	IS(dmapp_mem_register(m, 64, NULL), INVALID_PARAM);
	IS(dmapp_mem_reserve(m, 64, 1, &more), INVALID_PARAM);
	/* no memory there; in the middle; at the end */
	IS(dmapp_mem_register((void *)4096, 64, &more), INVALID_PARAM);
	IS(dmapp_mem_register(hole, 3 * page, &more), INVALID_PARAM);
	IS(dmapp_mem_register(hole + page - 1, 2, &more), INVALID_PARAM);
	OK(dmapp_mem_register(hole, page, &more));
	OK(dmapp_mem_unregister(&more));
	OK(dmapp_mem_register(hole + 2 * page + 1, page - 1, &more));
	OK(dmapp_mem_unregister(&more));
	munmap(hole, page);
	munmap(hole + 2 * page, page);
	IS(dmapp_mem_unregister(sheap), INVALID_PARAM);
	IS(dmapp_mem_unregister(NULL), INVALID_PARAM);
}

/* Objects of either library are the other's, and atomic operations of both are atomic with each other. */
static void t_with_shmem(void)
{
	uint64_t *s, *d, v = (uint64_t)me + 7;
	dmapp_seg_desc_t seg;

	shmem_init();
	CHECK_INT(shmem_my_pe(), me);
	CHECK_INT(shmem_n_pes(), n);
	s = shmem_calloc(8, 8);
	d = dmapp_sheap_malloc(64);
	REQUIRE(s && d);
	memset(d, 0, 64);
	shmem_barrier_all();
	OK(dmapp_put(s, sheap, to, &v, 1, DMAPP_QW));
	shmem_uint64_p(d, v, to);
	shmem_barrier_all();
	CHECK_INT(*s, from + 7);
	CHECK_INT(*d, from + 7);
	for (int i = 0; i < 200; i++) {
		shmem_uint64_atomic_inc(s + 1, 0);
		OK(dmapp_aadd_qw_nbi(s + 1, sheap, 0, 1));
	}
	OK(dmapp_gsync_wait());
	shmem_barrier_all();
	CHECK_INT(shmem_uint64_g(s + 1, 0), 400 * n);
	OK(dmapp_mem_register(s, 64, &seg));		/* no harm */
	OK(dmapp_mem_unregister(&seg));
	shmem_barrier_all();
	dmapp_sheap_free(d);
	shmem_free(s);
	shmem_finalize();
	OK(dmapp_put(room + 2, sheap, to, &v, 1, DMAPP_QW));	/* it goes on */
	dm_barrier();
	CHECK_INT(room[2], from + 7);
}

static void *collective(void *arg)
{
	return shmem_malloc(100);
}

/* No call of DMAPP's heap waits for other PEs, also while a thread is in one of SHMEM's that does. */
static void t_the_heap_while_shmem_waits(void)
{
	dmapp_sheap_stats_t before, now;
	void *a, *d = NULL;
	pthread_t t;

	shmem_init();
	OK(dmapp_sheap_stats(&before));
	shmem_barrier_all();
	if (me == 0) {
		pthread_create(&t, NULL, collective, NULL);
		do
			OK(dmapp_sheap_stats(&now));
		while (now.blocks == before.blocks);
		d = dmapp_sheap_malloc(64);
		dm_barrier();				/* from here on the others call it, too */
		pthread_join(t, &a);
	} else {
		dm_barrier();
		a = collective(NULL);
		d = dmapp_sheap_malloc(64);
	}
	CHECK(a && d);
	dm_barrier();
	dmapp_sheap_free(d);
	shmem_free(a);
	shmem_finalize();
}

/* Long ones that are handed over, where there is an engine: complete when they say so, not before all is there. */
static void t_handed_over(void)
{
	enum { LONG = 1 << 20, PIECES = 64 };
	unsigned char *h = dmapp_sheap_malloc(LONG), *mine = malloc(LONG);
	dmapp_syncid_handle_t id[PIECES];
	int bad = 0;

	REQUIRE(h && mine);
	for (int round = 0; round < 6; round++) {
		memset(mine, 0x40 + round * 8 + me % 8, LONG);
		dm_barrier();
		for (int i = 0; i < PIECES; i++) {
			size_t off = (size_t)i * (LONG / PIECES);

			if (round & 1)
				OK(dmapp_put_nb(h + off, sheap, to, mine + off, LONG / PIECES / 8, DMAPP_QW, &id[i]));
			else
				OK(dmapp_put_nbi(h + off, sheap, to, mine + off, LONG / PIECES / 8, DMAPP_QW));
		}
		for (int i = 0; i < PIECES && round & 1; i++)
			OK(dmapp_syncid_wait(&id[i]));
		if (!(round & 1))
			OK(dmapp_gsync_wait());
		memset(mine, 0, LONG);			/* it may be used again */
		dm_barrier();
		for (size_t i = 0; i < LONG; i++)
			bad += h[i] != 0x40 + round * 8 + from % 8;
		OK(dmapp_get_nbi(mine, h, sheap, to, LONG / 16, DMAPP_DQW));
		OK(dmapp_gsync_wait());
		for (size_t i = 0; i < LONG; i++)
			bad += mine[i] != 0x40 + round * 8 + me % 8;
		CHECK_INT(bad, 0);
		dm_barrier();
	}
	free(mine);
	dmapp_sheap_free(h);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_heap), T(t_registered), T(t_never_stale), T(t_the_table_is_bounded), T(t_with_shmem),
		T(t_the_heap_while_shmem_waits), T(t_handed_over), { 0 }
	};
	int rc;

	setenv("_DMAPPI_NDREG_ENTRIES", "16", 1);
	dm_start(NULL);
	room = dmapp_sheap_malloc(1024 * sizeof(*room));
	rc = t_run(cases);
	dm_barrier();
	return dmapp_finalize() == DMAPP_RC_SUCCESS ? rc : 1;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_space.c - event queues and vectors of all sizes share one space: what was freed serves any of them
 *
 * Each queue is filled with events of its own, and each vector has its own pieces, so that two that lay over each
 * other would show. Whether a block is refused only where there is none is unit/core_ni's.
 */
#include "ptl.h"

enum { WHOLE = 1048576, QUEUES = 60, VECTORS = 200, STEPS = 3000, SENT = 16 };

static unsigned char bytes[4096];
static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

/* A queue of @count events, with one MD that logs to it. */
struct queue {
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;
	ptl_size_t count;
	uint64_t sent, got;
};

static int make(struct queue *q, ptl_size_t count)
{
	int rc = PtlEQAlloc(ni, count, PTL_EQ_HANDLER_NONE, &q->eq);

	if (rc != PTL_OK)
		return rc;
	q->count = count;
	q->sent = q->got = 0;
	OK(PtlMDBind(ni, p_md(bytes, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, q->eq), PTL_RETAIN, &q->md));
	return PTL_OK;
}

/* SEND_END is logged here; there is no entry that takes it. */
static void log_one(struct queue *q)
{
	if (q->sent - q->got < q->count && OK(PtlPut(q->md, PTL_NO_ACK_REQ, self, PT, 0, q->eq, 0, q->sent)))
		q->sent++;
}

static void read_one(struct queue *q)
{
	ptl_event_t ev;

	if (q->got == q->sent) {
		NONE(q->eq);
		return;
	}
	if (!CHECK_INT(PtlEQGet(q->eq, &ev), PTL_OK))
		return;
	CHECK_INT(ev.type, PTL_EVENT_SEND_END);
	CHECK_INT(ev.match_bits, q->eq);
	CHECK_INT(ev.hdr_data, q->got);
	CHECK(ev.md_handle == q->md);
	q->got++;
}

static void drop(struct queue *q)
{
	while (q->got != q->sent && !t_bad_)
		read_one(q);
	OK(PtlMDUnlink(q->md));
	OK(PtlEQFree(q->eq));
}

/* A vector of @n pieces of one byte: those of our own number. */
static int bind_vector(unsigned id, unsigned n, ptl_handle_md_t *md)
{
	ptl_md_iovec_t v[256];

	for (unsigned i = 0; i < n; i++)
		v[i] = (ptl_md_iovec_t){ bytes + (id * 31 + i * 7) % sizeof(bytes), 1 };
	return PtlMDBind(ni, p_md(v, n, PTL_MD_THRESH_INF, PTL_MD_IOVEC, PTL_EQ_NONE), PTL_RETAIN, md);
}

static void check_vector(unsigned id, unsigned n, ptl_handle_md_t md)
{
	ptl_md_iovec_t v[256];
	ptl_md_t old = { .start = v, .length = 256, .options = PTL_MD_IOVEC };

	if (!OK(PtlMDUpdate(md, &old, NULL, PTL_EQ_NONE)))
		return;
	CHECK_INT(old.length, n);
	for (unsigned i = 0; i < n; i++)
		CHECK(v[i].iov_base == bytes + (id * 31 + i * 7) % sizeof(bytes) && v[i].iov_len == 1);
}

/* The suite's own queues lie in the space, too. */
static void without_others(void)
{
	static int done;

	if (done)
		return;
	done = 1;
	OK(PtlMDUnlink(p_sync_md));
	OK(PtlMEUnlink(p_sync_me));
	OK(PtlEQFree(ieq));
	OK(PtlEQFree(teq));
	OK(PtlEQFree(p_idle_eq));
	OK(PtlEQFree(p_sync_eq));
}

static void t_after_the_largest_queue_there_is_room_for_all(void)
{
	static const ptl_size_t sizes[] = { 1, 4, 8, 100, 1024, 5000, 65535, 65536, 200000 };
	struct queue q[sizeof(sizes) / sizeof(*sizes)], whole;
	ptl_handle_md_t md;

	without_others();
	for (int round = 0; round < 2; round++) {
		NEED_OK(make(&whole, WHOLE));
		CHECK_INT(PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &q[0].eq), PTL_NO_SPACE);
		CHECK_INT(bind_vector(1, 1, &md), PTL_NO_SPACE);
		for (int i = 0; i < 100; i++)
			log_one(&whole);
		drop(&whole);
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			if (!OK(make(&q[i], sizes[i])))
				return;
		for (unsigned n = 1; n <= 256; n *= 4) {
			NEED_OK(bind_vector(n, n, &md));
			check_vector(n, n, md);
			OK(PtlMDUnlink(md));
		}
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			for (int k = 0; k < SENT; k++)
				log_one(&q[i]);
			drop(&q[i]);
		}
	}
	NEED_OK(make(&whole, WHOLE));		/* and now a vector: no queue has been asked for since */
	drop(&whole);
	OK(bind_vector(3, 256, &md));
	OK(PtlMDUnlink(md));
	OK(make(&whole, WHOLE));		/* that descriptor is free, and has still its vector */
	drop(&whole);
}

static void t_queues_and_vectors_come_and_go(void)
{
	static struct queue q[QUEUES], whole;
	static struct { ptl_handle_md_t md; unsigned n; } v[VECTORS];
	unsigned queues = 0, refused = 0, largest = 0;

	without_others();
	memset(v, 0, sizeof(v));
	for (int step = 0; step < STEPS && !t_bad_; step++) {
		unsigned k = (unsigned)rnd(VECTORS), what = (unsigned)rnd(10);

		if (what < 3 && queues < QUEUES) {
			ptl_size_t count = 1 + rnd((uint64_t)1 << rnd(rnd(5) ? 14 : 21));
			int rc = make(&q[queues], count);

			if (rc == PTL_OK)
				queues++;
			else if (CHECK_INT(rc, PTL_NO_SPACE))
				refused++;
			if (rc == PTL_OK && count > largest)
				largest = (unsigned)count;
		} else if (what < 5 && queues) {
			unsigned i = (unsigned)rnd(queues);

			drop(&q[i]);
			q[i] = q[--queues];
		} else if (what < 7) {
			if (v[k].n) {
				check_vector(k, v[k].n, v[k].md);
				OK(PtlMDUnlink(v[k].md));
				v[k].n = 0;
			} else {
				v[k].n = 1 + (unsigned)rnd(256);
				OK(bind_vector(k, v[k].n, &v[k].md));
			}
		} else if (queues) {
			struct queue *p = &q[rnd(queues)];

			for (unsigned i = (unsigned)rnd(SENT); i; i--)
				log_one(p);
			for (unsigned i = (unsigned)rnd(SENT); i && p->got < p->sent; i--)
				read_one(p);
		}
	}
	diag("largest queue of %u events, refused %u times", largest, refused);
	CHECK(largest > 100000);
	for (unsigned k = 0; k < VECTORS; k++)
		if (v[k].n) {
			check_vector(k, v[k].n, v[k].md);
			OK(PtlMDUnlink(v[k].md));
		}
	while (queues)
		drop(&q[--queues]);
	if (OK(make(&whole, WHOLE)))		/* all is one piece again */
		drop(&whole);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_after_the_largest_queue_there_is_room_for_all),
					       T(t_queues_and_vectors_come_and_go), { 0 } };

	seed = t_seed();
	return p_main(cases);
}

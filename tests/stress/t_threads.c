/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_threads.c - several threads of each rank send, poll and wait at the same time, each in its own event queue
 *
 * All of them make progress for the process: they mark the same lanes, take and drop initiators that use the inbox
 * (more ranks than an owner marks lanes for, and stretches of polling without a message, after which it stops), and
 * empty the lanes side by side. Nothing is lost, doubled or damaged; messages of one thread to one portal keep their
 * order.
 */
#include <pthread.h>
#include <stdbool.h>

#include "stress.h"

enum { RANKS = 11, THREADS = 3, WINDOW = 32, PLACES = 64, LEN = 64, IDLE_POLLS = 5000 };
#define RECEIVED(from, to) ((from) * RANKS + (to))	/* words of the page */
#define SENT(from, to) (RANKS * RANKS + (from) * RANKS + (to))

static ptl_handle_eq_t eq[THREADS];
static ptl_handle_md_t out[THREADS];
static unsigned char src[THREADS][LEN], *dst[THREADS];
static uint64_t next[THREADS][RANKS][THREADS];	/* portal, from: rank and thread */
static _Atomic uint64_t sent[RANKS], ended, begun;
static ptl_process_id_t ids[RANKS];
static double until;
static pthread_barrier_t all;

static size_t place_of(int from, int thread, uint64_t n)
{
	return (((size_t)from * THREADS + (size_t)thread) * PLACES + n % PLACES) * LEN;
}

static unsigned char byte_of(int from, int thread, int portal, uint64_t n, size_t i)
{
	return (unsigned char)((n * 31 + (uint64_t)(from * 59 + thread * 7 + portal)) * 2654435761u >> i % 24);
}

static size_t len_of(uint64_t n)
{
	return n % 5 ? n % 40 : LEN;
}

static void tell(int line, const char *what, uint64_t got, uint64_t want, const ptl_event_t *ev)
{
	static _Atomic int told;

	if (atomic_fetch_add(&t_bad_, 1) < 20)
		diag("%s:%d: %s: got %llu, want %llu (T_SEED=%llu); initiator %u, %s, hdr_data %llx, pt %u, mlength "
		     "%llu, offset %llu, ni_fail %u",
		     __FILE__, line, what, (unsigned long long)got, (unsigned long long)want, (unsigned long long)seed,
		     (unsigned)ev->initiator.pid, PtlEventKindStr(ev->type), (unsigned long long)ev->hdr_data,
		     (unsigned)ev->pt_index, (unsigned long long)ev->mlength, (unsigned long long)ev->offset,
		     (unsigned)ev->ni_fail_type);
	if (!atomic_fetch_add(&told, 1))
		p_tell();
}

static void event(int t, int rc, const ptl_event_t *ev)
{
#define SAME(got, want, what) do {									\
	if ((uint64_t)(got) != (uint64_t)(want)) {							\
		tell(__LINE__, what, (uint64_t)(got), (uint64_t)(want), ev);				\
		return;											\
	}												\
} while (0)
	int r, from_thread = (int)(ev->hdr_data >> 48);
	uint64_t n = ev->hdr_data & 0xffffffffffff;
	const unsigned char *p;

	for (r = size - 1; r >= 0 && ids[r].pid != ev->initiator.pid; r--)
		;
	SAME(rc, PTL_OK, "code of the get");
	SAME(r < 0 || from_thread >= THREADS, 0, "the initiator is nobody");
	SAME(ev->ni_fail_type, PTL_NI_OK, "ni_fail_type");
	SAME(ev->type, PTL_EVENT_PUT_END, "kind of event");
	SAME(ev->pt_index, PT + t, "portal");
	SAME(n, next[t][r][from_thread], "order of the thread");
	next[t][r][from_thread]++;
	SAME(ev->mlength, len_of(n), "length");
	p = dst[t] + place_of(r, from_thread, n);
	for (size_t i = 0; i < len_of(n); i++)
		SAME(p[i], byte_of(r, from_thread, t, n, i), "a byte");
	atomic_fetch_add(&ended, 1);
	atomic_fetch_add(t_word(RECEIVED(r, rank)), 1);
#undef SAME
}

static void poll(int t, unsigned looks)
{
	ptl_event_t ev;

	while (looks-- && t_bad_ < 10) {
		int rc = PtlEQGet(eq[t], &ev);

		if (rc != PTL_EQ_EMPTY)
			event(t, rc, &ev);
	}
}

static void send_one(int t, int to, int portal, uint64_t *n)
{
	int rc;

	if (atomic_fetch_add(&sent[to], 1) - atomic_load(t_word(RECEIVED(rank, to))) >= WINDOW) {
		atomic_fetch_sub(&sent[to], 1);
		return;
	}
	for (size_t i = 0; i < len_of(*n); i++)
		src[t][i] = byte_of(rank, t, portal, *n, i);
	rc = PtlPutRegion(out[t], 0, len_of(*n), PTL_NO_ACK_REQ, ids[to], (ptl_pt_index_t)(PT + portal), 0, 0,
			  place_of(rank, t, *n), (uint64_t)t << 48 | *n);
	if (rc == PTL_OK) {
		++*n;
		atomic_fetch_add(&begun, 1);
		return;
	}
	atomic_fetch_sub(&sent[to], 1);
	CHECK_INT(rc, PTL_NO_SPACE);
}

static bool all_here(void)
{
	for (int i = 0; i < size; i++)
		if (atomic_load(t_word(RECEIVED(i, rank))) < atomic_load(t_word(SENT(i, rank))))
			return false;
	return true;
}

static void *worker(void *arg)
{
	int t = (int)(intptr_t)arg, which;
	uint64_t r = seed + (uint64_t)(rank * THREADS + t) * 977, n[RANKS][THREADS] = { { 0 } };
	ptl_event_t ev;

	while (t_now() < until && t_bad_ < 10) {
		uint64_t x = t_random(&r);
		int to = (int)((x >> 32) % (unsigned)size), portal = (int)(x >> 48) % THREADS, rc;

		switch (x & 15) {
		case 0:
			poll(t, x & 1 << 20 ? IDLE_POLLS : 1000);
			break;
		case 1:
			sched_yield();
			break;
		case 2:
			rc = PtlEQPoll(&eq[t], 1, (ptl_time_t)(x >> 8 & 1), &ev, &which);
			if (rc != PTL_EQ_EMPTY)
				event(t, rc, &ev);
			break;
		case 3: case 4: case 5: case 6: case 7: case 8:
			poll(t, (x >> 8 & 63) + 1);
			break;
		default:
			for (unsigned i = 0; i < (x >> 8 & 15) + 1; i++)
				send_one(t, to, portal, &n[to][portal]);
		}
	}
	pthread_barrier_wait(&all);
	if (!t) {
		for (int i = 0; i < size; i++)
			atomic_store(t_word(SENT(rank, i)), sent[i]);
		t_barrier();
		until = t_now() + 30;
	}
	pthread_barrier_wait(&all);
	while (!all_here() && t_now() < until && t_bad_ < 10) {
		poll(t, 100);
		sched_yield();
	}
	return NULL;
}

static void t_threads_share_the_progress(void)
{
	const char *secs = getenv("T_SECONDS");
	ptl_handle_me_t me;
	pthread_t th[THREADS];

	for (int i = 0; i < size; i++)
		ids[i] = p_id(i);
	for (int t = 0; t < THREADS; t++) {
		dst[t] = malloc((size_t)size * THREADS * PLACES * LEN);
		NEED(dst[t]);
		NEED_OK(PtlEQAlloc(ni, (ptl_size_t)size * WINDOW * 2, PTL_EQ_HANDLER_NONE, &eq[t]));
		NEED_OK(PtlMDBind(ni, p_md(src[t], LEN, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &out[t]));
		NEED_OK(p_post_at((ptl_pt_index_t)(PT + t), 0, 0, PTL_RETAIN,
				  p_md(dst[t], (size_t)size * THREADS * PLACES * LEN, PTL_MD_THRESH_INF,
				       PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq[t]),
				  PTL_RETAIN, &me, NULL));
	}
	t_barrier();
	until = t_now() + (secs ? atof(secs) : 5);
	pthread_barrier_init(&all, NULL, THREADS);
	for (int t = 1; t < THREADS; t++)
		NEED(!pthread_create(&th[t], NULL, worker, (void *)(intptr_t)t));
	worker(NULL);
	for (int t = 1; t < THREADS; t++)
		pthread_join(th[t], NULL);
	for (int i = 0; i < size; i++)
		CHECK_INT(atomic_load(t_word(RECEIVED(i, rank))), atomic_load(t_word(SENT(i, rank))));
	CHECK_INT(p_drops(), 0);
	CHECK_INT(p_status(PTL_SR_CORRUPT_NP), 0);
	CHECK(begun > 100);
	if (t_bad_)
		p_tell();
	diag("%llu messages sent, %llu received", (unsigned long long)begun, (unsigned long long)ended);
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = { T(t_threads_share_the_progress), { 0 } };

	return s_main(cases, RANKS);
}

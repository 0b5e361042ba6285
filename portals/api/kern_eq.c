/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * kern_eq.c - event queues of an interface in the kernel
 *
 * The queue is kernel memory that we can read: getting an event takes no system call. How far we have read stands in
 * the page of claims, which the kernel reads before it uses a descriptor again: so an event counts as unread until it
 * has been shown. Waiting looks for a while (PTL_SPIN), then sleeps in the kernel.
 */
#include <errno.h>
#include <time.h>
#include "kern.h"
#include "portals_gp.h"

static uint32_t reading;		/* threads: one reads at a time */

void p3a_kern_read_lock(void)
{
	while (!__libc_single_threaded && !p3_cas32(&reading, 0, 1))
		p3_pause();
}

void p3a_kern_read_unlock(void)
{
	if (p3_load(&reading))
		p3_store_rel(&reading, 0);
}

static bool ready(const struct nal_ni *ni, uint32_t eq)
{
	const struct nal_eq *e = &ni->eq[eq];
	uint32_t head = p3_load(&e->run);

	return !p3l_eq_early(p3_load_acq(&e->ring[p3l_eq_place(head) & e->mask].word), head, e->mask + 1);
}

/* nal_eq.run: events read, as in the page of claims; nal_eq.straight: some were lost, not told yet. */
static void read_to(struct nal_ni *ni, uint32_t eq, uint32_t head)
{
	p3_store(&ni->eq[eq].run, head);
	p3_store_rel(&ni->nal->claims(ni)[eq], head);
}

/* As p3l_eq_next(), on a queue that we do not write: 1, -1 (losses before it), 0. */
static int next(struct nal_ni *ni, uint32_t eq, struct p3l_slot *out)
{
	struct nal_eq *e = &ni->eq[eq];
	const struct p3l_eq *q = &ni->l->eq[eq];
	uint32_t n = e->mask + 1, word, tail;

	for (;;) {
		const struct p3l_slot *s = &e->ring[p3l_eq_place(e->run) & e->mask];

		word = p3_load_acq(&s->word);
		if (p3l_eq_early(word, e->run, n))
			return 0;
		if (word == (e->run << 1 | 1)) {
			p3l_copy(out, s, sizeof(*out));
			p3_fence_acq();
			if (p3_likely(p3_load(&s->word) == word)) {
				out->ticket = e->run;
				return e->straight ? -1 : 1;
			}
		}
		tail = p3_load(&q->tail);
		if ((int32_t)(word - (e->run << 1 | 1)) < 0 ? tail - e->run <= n : tail == e->run)
			return 0;
		e->straight = 1;
		read_to(ni, eq, tail - e->run > n ? tail - n : e->run + 1);
	}
}

static int fetch(struct nal_ni *ni, uint32_t eq, ptl_event_t *ev, bool take)
{
	struct gptl_ref tidy = { 0 };
	struct p3l_slot s;
	bool old = false;
	int rc;

	p3a_kern_read_lock();
	rc = next(ni, eq, &s);
	if (rc) {
		old = p3a_event_show(ni, eq, &s, ev);
		tidy.idx = s.md;
		if (take) {
			ni->eq[eq].straight = 0;
			read_to(ni, eq, ni->eq[eq].run + 1);
		}
	}
	p3a_kern_read_unlock();
	if (!rc)
		return PTL_EQ_EMPTY;
	if (p3_unlikely(old && take))
		ni->nal->call(ni, GPTL_TIDY, &tidy);
	if (p3_unlikely(take && ni->eq[eq].handler))
		ni->eq[eq].handler(ev);
	return rc < 0 ? PTL_EQ_DROPPED : PTL_OK;
}

int p3a_kern_eq_alloc(ptl_handle_ni_t nih, ptl_size_t count, ptl_eq_handler_t handler, ptl_handle_eq_t *out)
{
	struct nal_ni *ni = p3a_kernel_of(nih, P3A_NI);
	struct gptl_eq a = { .count = count };
	struct nal_eq *e;
	int rc;

	if (!ni)
		return PTL_NI_INVALID;
	if (!count) {
		*out = PTL_EQ_NONE;
		return PTL_OK;
	}
	rc = ni->nal->call(ni, GPTL_EQ_ALLOC, &a);
	if (rc != PTL_OK)
		return rc;
	e = &ni->eq[a.eq.idx];
	e->handler = handler;
	e->mask = (1u << ni->l->eq[a.eq.idx].log2) - 1;
	e->gen = p3a_handle(ni, P3A_EQ, a.eq.idx, a.eq.gen) >> 16 & P3L_GEN_MASK;
	e->packed = (a.eq.idx + 1) | a.eq.gen << 16;
	e->straight = e->run = 0;
	p3_store_rel(&e->ring, p3l_eq_slot(ni->l, &ni->l->eq[a.eq.idx], 0));
	*out = p3a_handle(ni, P3A_EQ, a.eq.idx, a.eq.gen);
	return PTL_OK;
}

/* The queue of a handle, or NULL. */
static struct nal_ni *queue_of(ptl_handle_eq_t h)
{
	struct nal_ni *ni = p3a_kernel_of(h, P3A_EQ);

	return ni && p3a_eq_valid(ni, h) ? ni : NULL;
}

int p3a_kern_eq_free(ptl_handle_eq_t h)
{
	struct nal_ni *ni = queue_of(h);
	struct gptl_ref r;

	if (!ni)
		return PTL_EQ_INVALID;
	p3_store_rel(&ni->eq[h & 0xffff].gen, NAL_EQ_GONE);
	r = (struct gptl_ref){ p3a_ref(ni, h).idx, p3a_ref(ni, h).gen };
	return ni->nal->call(ni, GPTL_EQ_FREE, &r);
}

int p3a_kern_eq_get(ptl_handle_eq_t h, ptl_event_t *ev, bool take)
{
	struct nal_ni *ni = queue_of(h);

	return ni ? fetch(ni, h & 0xffff, ev, take) : PTL_EQ_INVALID;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint32_t turn;		/* the queue behind the one that had the last event is looked at first */

/* One look at each queue. */
static int look(struct nal_ni *ni, const ptl_handle_eq_t *eqs, int n, ptl_event_t *ev, int *which)
{
	uint32_t first = p3_load(&turn) % (uint32_t)n;

	for (int i = 0; i < n; i++) {
		int k = (int)((first + (uint32_t)i) % (uint32_t)n), rc;

		if (!ready(ni, eqs[k] & 0xffff))
			continue;
		rc = fetch(ni, eqs[k] & 0xffff, ev, true);
		if (rc != PTL_EQ_EMPTY) {
			*which = k;
			p3_store(&turn, (uint32_t)k + 1);
			return rc;
		}
	}
	return PTL_EQ_EMPTY;
}

/* Another thread has closed the interface (0), or freed a queue of ours: which. Or -1. */
static int gone(const struct nal_ni *ni, const ptl_handle_eq_t *eqs, int n)
{
	if (p3_load_acq(&p3a_kernel) != ni)
		return 0;
	for (int i = 0; i < n; i++)
		if (!p3a_eq_valid(ni, eqs[i]))
			return i;
	return -1;
}

/* Until one has an event, or @ns have passed (below 0: for ever): PTL_OK, -ETIME, -EINTR (a signal: call again). */
static int sleep_for(struct nal_ni *ni, const uint32_t *places, int n, int64_t ns)
{
	struct gptl_wait w = { .eqs = (uintptr_t)places, .n = (uint32_t)n, .timeout_ns = ns };

	return ni->nal->call(ni, GPTL_WAIT, &w);
}

static int wait_in(struct nal_ni *ni, const ptl_handle_eq_t *eqs, int n, int64_t ns, ptl_event_t *ev, int *which)
{
	int64_t end = ns < 0 ? -1 : now_ns() + ns, left = -1;
	uint32_t places[n];
	int rc;

	for (int i = 0; i < n; i++)
		places[i] = eqs[i] & 0xffff;
	for (uint32_t spins = 0;; spins++) {
		int bad = gone(ni, eqs, n);

		if (p3_unlikely(bad >= 0)) {
			*which = bad;
			return PTL_EQ_INVALID;
		}
		rc = look(ni, eqs, n, ev, which);
		if (rc != PTL_EQ_EMPTY)
			return rc;
		if (spins < ni->spin) {
			p3_pause();
			continue;
		}
		if (end >= 0) {
			left = end - now_ns();
			if (left <= 0)
				return PTL_EQ_EMPTY;
		}
		rc = sleep_for(ni, places, n, left);
		if (p3_unlikely(rc != 0 && rc != -EINTR && rc != -ETIME))
			return PTL_EQ_INVALID;	/* the file is not ours any more */
	}
}

#define MOST 1024		/* queues of an interface: more are the same ones again */

int p3a_kern_eq_wait(const ptl_handle_eq_t *eqs, int n, int64_t ns, ptl_event_t *ev, int *which)
{
	struct nal_ni *ni = queue_of(eqs[0]);
	int rc;

	for (int i = 0; i < n; i++)
		if (!ni || queue_of(eqs[i]) != ni) {
			*which = i;
			return PTL_EQ_INVALID;
		}
	if (!ns)
		return look(ni, eqs, n, ev, which);
	p3_fetch_add(&p3a_waiting, 1);
	p3_fence();			/* see p3a_send_home() */
	rc = wait_in(ni, eqs, n < MOST ? n : MOST, ns, ev, which);
	p3_fetch_add(&p3a_waiting, -1);
	return rc;
}

/* PtlProgress: until there is an event somewhere. */
int p3a_kern_progress(struct nal_ni *ni, int64_t ns)
{
	uint32_t places[P3L_MAX_EQ];
	int n = 0;

	for (uint32_t i = 0; i < (uint32_t)ni->limits.max_eqs; i++)
		if (ni->eq[i].ring && ni->eq[i].gen != NAL_EQ_GONE)
			places[n++] = i;
	if (n && ns)
		sleep_for(ni, places, n, ns);
	return PTL_OK;
}

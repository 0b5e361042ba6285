/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * eq.c - calls on event queues
 *
 * Fetching is where progress is made: a queue with an event is read at once; an empty one lets the NAL look at what
 * has arrived. A waiting call spins, then yields, then sleeps (knobs PTL_SPIN, PTL_YIELD).
 */
#include <sched.h>
#include <time.h>
#include "kern.h"
#include "p3_rt.h"

#define STREAM		3		/* events in a row, nothing sent in between */
#define STREAM_PAUSES	32		/* then: about 0.6 us, five puts of 8 bytes */

/* A cheap look: is there something to read? */
static inline bool ready(const struct nal_ni *ni, uint32_t eq)
{
	const struct nal_eq *e = &ni->eq[eq];
	uint32_t head = p3_load(&ni->l->eq[eq].head);
	const uint32_t *word = &e->ring[p3l_eq_place(head) & e->mask].word;

	return !p3l_eq_early(p3_load_acq(word), head, e->mask + 1);	/* M:sleep.ready */
}

/*
 * Events come in a stream, and we have read all that there are. A look takes the line of the next one from the mover
 * who is about to write it, and stops him; a while later there are several. Once, at the end of what was there.
 */
static __attribute__((noinline)) bool more(struct nal_ni *ni, uint32_t eq)
{
	for (int i = 0; i < STREAM_PAUSES; i++)
		p3_pause();
	if (ready(ni, eq))
		return true;
	ni->eq[eq].run = 0;
	return false;
}

static inline bool soon(struct nal_ni *ni, uint32_t eq)
{
	return p3_unlikely(ni->eq[eq].run >= STREAM) && more(ni, eq);
}

P3A_API int PtlEQAlloc(ptl_handle_ni_t nih, ptl_size_t count, ptl_eq_handler_t handler, ptl_handle_eq_t *out)
{
	struct nal_ni *ni;
	struct nal_eq *e;
	struct p3l_ref r;
	int rc;

	if (!out)
		return PTL_SEGV;
	P3A_CHECK_UP();
	ni = p3a_ni_of(nih, P3A_NI);
	if (!ni)
		return p3a_kern_eq_alloc(nih, count, handler, out);
	if (!count) {			/* SPEC-NOTES: a queue of no events */
		*out = PTL_EQ_NONE;
		return PTL_OK;
	}
	rc = p3l_eq_alloc(&ni->env, ni->l, count, &r);
	if (rc != PTL_OK)
		return rc;
	e = &ni->eq[r.idx];
	e->handler = handler;
	e->mask = (1u << ni->l->eq[r.idx].log2) - 1;
	e->gen = p3a_handle(ni, P3A_EQ, r.idx, r.gen) >> 16 & P3L_GEN_MASK;
	e->packed = (r.idx + 1) | r.gen << 16;
	e->known.pt = e->known.last = P3L_MAX_PT;
	e->straight = 0;
	e->ring = p3l_eq_slot(ni->l, &ni->l->eq[r.idx], 0);
	*out = p3a_handle(ni, P3A_EQ, r.idx, r.gen);
	return PTL_OK;
}

P3A_API int PtlEQFree(ptl_handle_eq_t h)
{
	struct nal_ni *ni;

	P3A_CHECK_UP();
	ni = p3a_ni_of(h, P3A_EQ);
	if (!ni || !p3a_eq_valid(ni, h))
		return p3a_kern_eq_free(h);
	/* the ring stays: another thread may be waiting there */
	p3_store_rel(&ni->eq[h & 0xffff].gen, NAL_EQ_GONE);
	if (!ni->env.single)
		p3a_wake(ni);
	return p3l_eq_free(&ni->env, ni->l, p3a_ref(ni, h));
}

/*
 * Sequence and link of an event of queue @e. Those with a ticket and those without (p3l_sink) share one sequence, in
 * the order in which they are read; links need only be different: the ones are even, the others odd.
 */
static inline void number(const struct nal_eq *e, const struct p3l_slot *s, ptl_event_t *ev)
{
	ev->sequence = s->ticket + e->straight;
	ev->link = s->link << 1;
}

static inline void number_straight(const struct p3l_ni *l, struct nal_eq *e, uint32_t eq, ptl_event_t *ev)
{
	ev->sequence = p3_load(&l->eq[eq].head) + e->straight;
	ev->link = e->straight++ << 1 | 1;
}

/* From another node, or of a send of ours to a portal that nobody has. */
static __attribute__((noinline)) void from_afar(struct nal_ni *ni, const struct p3l_slot *s, ptl_event_t *ev)
{
	if (s->initiator != P3L_WIDE_PT) {
		ev->initiator = ni->nal->id(ni, s->initiator);
		return;
	}
	ev->initiator.pid = ni->l->pid;
	ev->pt_index = (ptl_pt_index_t)s->mlength;
	ev->mlength = s->rlength;
}

static inline struct p3l_md *md_of(const struct nal_ni *ni, const struct p3l_slot *s)
{
	return p3l_md(ni->l, p3_likely(s->md < ni->limits.max_mds) ? s->md : 0);
}

/* A slot of the queue as the user sees it. The MD's own values come from @md, which stays until this is read. */
static inline void expand(struct nal_ni *ni, const struct p3l_slot *s, const struct p3l_md *md, ptl_event_t *ev)
{
	ev->type = (ptl_event_kind_t)(s->kind_fail & 15);
	ev->initiator.nid = ni->l->nid;
	ev->uid = ni->uid;
	ev->jid = ni->jid;
	ev->pt_index = s->pt;
	ev->match_bits = s->match_bits;
	ev->rlength = s->rlength;
	ev->mlength = s->mlength;
	ev->offset = s->offset;
	ev->md_handle = p3a_handle(ni, P3A_MD, s->md, s->md_gen);
	ev->md.start = (void *)(uintptr_t)md->start;
	ev->md.length = md->user_length;
	ev->md.threshold = s->threshold;
	ev->md.max_size = md->max_size;
	ev->md.options = md->options;
	ev->md.user_ptr = (void *)(uintptr_t)md->user_ptr;
	ev->md.eq_handle = p3a_eq_unpack(ni, md->eq);
	ev->hdr_data = s->hdr_data;
	ev->ni_fail_type = s->kind_fail >> 4;
	ev->unlinked = (s->kind_fail & 15) == PTL_EVENT_UNLINK;
	if (p3_likely(s->initiator < ni->n_peers))
		ev->initiator.pid = ni->pids[s->initiator];
	else
		from_afar(ni, s, ev);
}

/* Its MD has been updated: the event shows what it was when the operation was charged. */
static __attribute__((noinline)) const struct p3l_md *older(struct nal_ni *ni, uint32_t eq, const struct p3l_md *md,
							    const struct p3l_slot *s)
{
	return p3l_md_shown(ni->l, md, ni->eq[eq].packed, s);
}

bool p3a_event_show(struct nal_ni *ni, uint32_t eq, const struct p3l_slot *s, ptl_event_t *ev)
{
	const struct p3l_md *md = md_of(ni, s);
	bool old = p3_load(&md->older);

	expand(ni, s, old ? older(ni, eq, md, s) : md, ev);
	number(&(struct nal_eq){ .straight = 0 }, s, ev);
	P3_PROBE1(event_get, ev);
	return old;
}

/* With threads. Until the event has been shown it counts as unread: its MD is neither used again nor updated. */
static __attribute__((noinline)) int fetch_shared(struct nal_ni *ni, uint32_t eq, ptl_event_t *ev, bool take)
{
	struct p3l_md *tidy = NULL;
	struct p3l_slot s;
	int rc;

	p3l_eq_lock(&ni->env, ni->l, eq);
	rc = p3l_eq_next(&ni->env, ni->l, eq, &s, false);
	if (rc) {
		const struct p3l_md *md = md_of(ni, &s);

		if (p3_unlikely(p3_load(&md->older))) {
			tidy = md_of(ni, &s);
			md = older(ni, eq, md, &s);
		}
		expand(ni, &s, md, ev);
		number(&ni->eq[eq], &s, ev);
		P3_PROBE1(event_get, ev);
		if (take)
			P3_TRACED(fetched(ni->l, eq, s.ticket, s.kind_fail, s.hdr_data));
		if (take)
			p3l_eq_took(ni->l, eq, rc < 0);
	}
	p3l_eq_unlock(&ni->env, ni->l, eq);
	if (!rc)
		return PTL_EQ_EMPTY;
	if (p3_unlikely(tidy != NULL))
		p3l_md_tidy(&ni->env, ni->l, tidy);
	if (p3_unlikely(take && ni->eq[eq].handler))
		ni->eq[eq].handler(ev);
	return rc < 0 ? PTL_EQ_DROPPED : PTL_OK;
}

/* How many events have been read since we have sent anything. */
static inline void count_run(struct nal_ni *ni, struct nal_eq *e)
{
	uint64_t sent = p3_load(ni->sent);

	e->run = e->sent == sent ? e->run + 1 : 0;
	e->sent = sent;
}

/* PTL_OK or PTL_EQ_DROPPED with an event, PTL_EQ_EMPTY without. */
static inline int fetch(struct nal_ni *ni, uint32_t eq, ptl_event_t *ev, bool take)
{
	const struct p3l_md *md;
	struct p3l_slot s;
	int rc;

	if (p3_unlikely(!ni->env.single))
		return fetch_shared(ni, eq, ev, take);
	rc = p3l_eq_next(&ni->env, ni->l, eq, &s, take);
	if (!rc)
		return PTL_EQ_EMPTY;
	count_run(ni, &ni->eq[eq]);
	md = md_of(ni, &s);
	if (p3_unlikely(md->older)) {
		md = older(ni, eq, md, &s);
		p3l_md_tidy(&ni->env, ni->l, md_of(ni, &s));
	}
	expand(ni, &s, md, ev);
	number(&ni->eq[eq], &s, ev);
	P3_PROBE1(event_get, ev);
	if (take)
		P3_TRACED(fetched(ni->l, eq, s.ticket, s.kind_fail, s.hdr_data));
	if (p3_unlikely(take && ni->eq[eq].handler))	/* 3.11.7; SPEC-NOTES: run once, in the getter */
		ni->eq[eq].handler(ev);
	return rc < 0 ? PTL_EQ_DROPPED : PTL_OK;
}

/* An event of which only this is not as in the last one of its kind. */
static inline void expand_known(struct nal_ni *ni, struct nal_eq *e, struct p3l_slot *s, ptl_event_t *ev)
{
	if (p3_unlikely(e->known.fresh)) {
		p3l_known_event(&e->known, s);
		expand(ni, s, md_of(ni, s), &e->like);
		e->known.fresh = false;
	}
	*ev = e->like;
	ev->initiator.pid = p3_likely(s->initiator < ni->n_peers) ? ni->pids[s->initiator] : PTL_PID_ANY;
	ev->match_bits = s->match_bits;
	ev->rlength = s->rlength;
	ev->mlength = s->rlength;
	ev->offset = s->offset;
	ev->hdr_data = s->hdr_data;
}

/* Look at what has arrived: an event of @eq comes back at once, without a stop in the queue. */
static inline int progress(struct nal_ni *ni, uint32_t eq, ptl_event_t *ev, bool take)
{
	struct p3l_sink sink;		/* no initialiser: that would clear the event in it, at each look */
	struct nal_eq *e = &ni->eq[eq];

	sink.eq = (int)eq;
	sink.got = 0;
	sink.packed = e->packed;
	sink.known = &e->known;
	ni->nal->progress(ni, eq, take && ni->env.single ? &sink : NULL);
	if (p3_likely(sink.got)) {
		if (p3_likely(sink.got == P3L_SINK_KNOWN))
			expand_known(ni, e, &sink.ev, ev);
		else
			expand(ni, &sink.ev, md_of(ni, &sink.ev), ev);
		number_straight(ni->l, e, eq, ev);
		P3_PROBE1(event_get, ev);
		P3_TRACED(handover(ni->l, eq, ev->type, ev->hdr_data));
		if (p3_unlikely(e->handler))
			e->handler(ev);
		return PTL_OK;
	}
	return ready(ni, eq) ? fetch(ni, eq, ev, take) : PTL_EQ_EMPTY;
}

static int get(ptl_handle_eq_t h, ptl_event_t *ev, bool take)
{
	struct nal_ni *ni;
	uint32_t eq = h & 0xffff;

	if (!ev)
		return PTL_SEGV;
	P3A_CHECK_UP();
	ni = p3a_ni_of(h, P3A_EQ);
	if (!ni || !p3a_eq_valid(ni, h))
		return p3a_kern_eq_get(h, ev, take);
	if (ready(ni, eq))
		return fetch(ni, eq, ev, take);
	if (soon(ni, eq))
		return fetch(ni, eq, ev, take);
	return progress(ni, eq, ev, take);
}

P3A_API int PtlEQGet(ptl_handle_eq_t h, ptl_event_t *ev)
{
	return get(h, ev, true);
}

P3A_API int PtlEQPeek(ptl_handle_eq_t h, ptl_event_t *ev)
{
	return get(h, ev, false);
}

/* Beside busy processes one yield takes a time slice: then sleeping is cheaper, whatever PTL_YIELD says. */
#define YIELD_NS 100000

struct poll_set {
	struct nal_ni *ni;
	const ptl_handle_eq_t *eqs;
	int n;
};

uint32_t p3a_waiting;

void p3a_wake(struct nal_ni *ni)
{
	if (ni->nal->wake)
		ni->nal->wake(ni);	/* else a sleeper looks ten times a second */
}

/* The interface is not in the table any more: no call begins to wait. Those who wait see that, and leave. */
void p3a_send_home(struct nal_ni *ni)
{
	p3_fence();
	while (p3_load_acq(&p3a_waiting)) {
		p3a_wake(ni);
		sched_yield();
	}
}

/* While this thread waits another has freed a queue of the set: which; 0 when it closes the interface. Or -1. */
static int gone(const struct poll_set *p)
{
	if (p3_load_acq(&p3a_table[p->ni->index]) != p->ni)
		return 0;
	for (int i = 0; i < p->n; i++)
		if (!p3a_eq_valid(p->ni, p->eqs[i]))
			return i;
	return -1;
}

static bool any_ready(void *arg)
{
	struct poll_set *p = arg;

	if (!p->ni->env.single && gone(p) >= 0)
		return true;
	for (int i = 0; i < p->n; i++)
		if (ready(p->ni, p->eqs[i] & 0xffff))
			return true;
	return false;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);	/* vdso: no system call */
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One look at each queue, starting behind the one that gave the last event. */
static int look(struct poll_set *p, unsigned first, ptl_event_t *ev, int *which)
{
	for (int i = 0; i < p->n; i++) {
		int k = (int)((first + (unsigned)i) % (unsigned)p->n), rc;

		if (!ready(p->ni, p->eqs[k] & 0xffff))
			continue;
		rc = fetch(p->ni, p->eqs[k] & 0xffff, ev, true);
		if (rc != PTL_EQ_EMPTY) {
			*which = k;
			return rc;
		}
	}
	return PTL_EQ_EMPTY;
}

static inline int step(struct poll_set *p, unsigned first, ptl_event_t *ev, int *which)
{
	if (p->n == 1) {
		int rc = progress(p->ni, p->eqs[0] & 0xffff, ev, true);

		if (rc != PTL_EQ_EMPTY)
			*which = 0;
		return rc;
	}
	p->ni->nal->progress(p->ni, p->eqs[0] & 0xffff, NULL);
	return look(p, first, ev, which);
}

/*
 * A wait is noted once it is long. One in pieces, as who calls PtlEQPoll again and again has it, is one wait as long
 * as nothing has come, nothing was sent, and there was no pause between the pieces. Where there was hardly any, the
 * next piece sleeps at once: to look, and to yield for 100 us, each time would be a load.
 */
#define PIECES_NS 1000000000
#define NEXT_PIECE_NS 1000000

static uint64_t state_of(const struct poll_set *p)
{
	uint64_t key = p3_load(p->ni->sent);

	for (int i = 0; i < p->n; i++) {
		uint32_t eq = p->eqs[i] & 0xffff;

		key += ((uint64_t)(eq + 1) << 32) + p3_load(&p->ni->l->eq[eq].head) + p->ni->eq[eq].straight;
	}
	return key;
}

/* Does this wait go on with the last one, @ns later at most? */
static bool goes_on(const struct poll_set *p, int64_t ns)
{
	const struct nal_ni *ni = p->ni;

	return ni->idle.since && ni->idle.key == state_of(p) && now_ns() - ni->idle.until < ns;
}

static void wait_noted(struct poll_set *p, struct p3l_wait *w)
{
	struct nal_ni *ni = p->ni;

	*w = (struct p3l_wait){ .what = P3L_WAIT_QUEUE, .index = p->eqs[0] & 0xffff, .count = (uint32_t)p->n };
	if (goes_on(p, PIECES_NS)) {
		w->since = ni->idle.since;
		w->told = ni->idle.told;
	}
	p3l_wait_on(&ni->env, ni->l, w);
}

static void wait_over(struct poll_set *p, struct p3l_wait *w, bool empty)
{
	struct nal_ni *ni = p->ni;

	ni->idle.since = empty ? w->since : 0;
	ni->idle.told = w->told;
	ni->idle.key = state_of(p);
	ni->idle.until = now_ns();
	p3l_wait_end(&ni->env, ni->l, w);
}

/* @ns < 0: for ever. Clock and sleep only after the spins are used up. @threads: one may end the wait of another. */
static inline __attribute__((always_inline)) int wait_long(struct poll_set *p, unsigned first, int64_t ns,
							    ptl_event_t *ev, int *which, bool threads)
{
	struct nal_ni *ni = p->ni;
	int64_t end = -1, yield_end = -1;
	struct p3l_wait w;
	unsigned polls = p3_unlikely(ni->idle.since) && goes_on(p, NEXT_PIECE_NS) ? ni->spin + ni->yield : 0;
	int rc, bad;

	ni->nal->attend(ni, true);
	w.what = P3L_WAIT_NONE;
	for (;;) {
		int64_t left = -1;

		if (threads && p3_unlikely((bad = gone(p)) >= 0)) {
			*which = bad;
			rc = PTL_EQ_INVALID;
			break;
		}
		rc = step(p, first, ev, which);
		if (rc != PTL_EQ_EMPTY)
			break;
		if (++polls < ni->spin && (ns < 0 || polls & 63))
			continue;	/* no pause instruction: it takes as long as a hand-over */
		if (ns >= 0) {
			int64_t now = now_ns();

			if (end < 0)
				end = now + ns;
			left = end - now;
			if (left <= 0)
				break;
		}
		if (polls < ni->spin)
			continue;
		if (polls < ni->spin + ni->yield) {
			int64_t now = now_ns();

			if (yield_end < 0)
				yield_end = now + YIELD_NS;
			if (now < yield_end) {
				sched_yield();
				continue;
			}
		}
		if (w.what)
			p3l_wait_on(&ni->env, ni->l, &w);
		else
			wait_noted(p, &w);
		ni->nal->attend(ni, false);
		ni->nal->wait(ni, left, any_ready, p);
		ni->nal->attend(ni, true);
	}
	ni->nal->attend(ni, false);
	if (p3_unlikely(w.what))
		wait_over(p, &w, rc == PTL_EQ_EMPTY);
	return rc == PTL_EQ_EMPTY ? step(p, first, ev, which) : rc;	/* what came while we were attending */
}

/* PtlNIFini waits until we are out. */
static __attribute__((noinline)) int wait_among(struct poll_set *p, unsigned first, int64_t ns, ptl_event_t *ev,
						 int *which)
{
	int rc = PTL_EQ_INVALID;

	p3_fetch_add(&p3a_waiting, 1);
	p3_fence();			/* see p3a_send_home() */
	*which = 0;
	if (p3_load_acq(&p3a_table[p->ni->index]) == p->ni)
		rc = wait_long(p, first, ns, ev, which, true);
	p3_fetch_add(&p3a_waiting, -1);
	return rc;
}

static int wait_any(struct poll_set *p, int64_t ns, ptl_event_t *ev, int *which)
{
	static uint32_t turn;
	struct nal_ni *ni = p->ni;
	unsigned first = 0;
	int rc;

	if (p->n > 1) {		/* by chance: of sets polled in turn each would begin with the same queue for ever */
		turn = turn * 1664525 + 1013904223;
		first = turn >> 16;
	}
	rc = look(p, first, ev, which);
	if (rc != PTL_EQ_EMPTY)
		return rc;
	if (p->n == 1 && soon(ni, p->eqs[0] & 0xffff)) {	/* or it is void, or another thread's by now */
		rc = look(p, first, ev, which);
		if (rc != PTL_EQ_EMPTY)
			return rc;
	}
	if (ns == 0)
		return step(p, first, ev, which);
	if (p3_unlikely(!ni->env.single))
		return wait_among(p, first, ns, ev, which);
	return wait_long(p, first, ns, ev, which, false);
}

P3A_API int PtlEQWait(ptl_handle_eq_t h, ptl_event_t *ev)
{
	struct poll_set p = { .eqs = &h, .n = 1 };
	int which;

	if (!ev)
		return PTL_SEGV;
	P3A_CHECK_UP();
	p.ni = p3a_ni_of(h, P3A_EQ);
	if (!p.ni || !p3a_eq_valid(p.ni, h))
		return p3a_kern_eq_wait(&h, 1, -1, ev, &which);
	return wait_any(&p, -1, ev, &which);
}

P3A_API int PtlEQPoll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *ev, int *which)
{
	int64_t ns = timeout == PTL_TIME_FOREVER ? -1 : (int64_t)timeout * 1000000;
	struct poll_set p = { .eqs = eqs, .n = size };

	if (!ev || !which || (size > 0 && !eqs))
		return PTL_SEGV;
	P3A_CHECK_UP();
	if (size <= 0)
		return PTL_EQ_INVALID;
	p.ni = p3a_ni_of(eqs[0], P3A_EQ);
	if (p3_unlikely(!p.ni))
		return p3a_kern_eq_wait(eqs, size, ns, ev, which);
	for (int i = 0; i < size; i++)
		if (p3a_ni_of(eqs[i], P3A_EQ) != p.ni || !p3a_eq_valid(p.ni, eqs[i])) {
			*which = i;
			return PTL_EQ_INVALID;
		}
	return wait_any(&p, ns, ev, which);
}

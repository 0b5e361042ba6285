/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * why.c - who waits for whom in a job, and what is at the bottom of it
 *
 * Each rank is asked in turn: which wait has it noted (struct p3l_wait), what of its own is unfinished
 * elsewhere, and who would have to do something about it. That gives sentences, and a graph with an arrow from
 * who waits to who is waited for. Ranks that arrows lead to and none leads away from are the roots; arrows in a
 * ring are a deadlock. Reads memory that others change meanwhile; indices are checked. No allocation: a process
 * in trouble may run this in a signal handler.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "look.h"

#define ARROWS	6		/* from one rank; more say nothing new */
#define TEXT	512

static struct node {
	uint16_t to[ARROWS];
	uint8_t n;
	bool waits, idle;		/* idle: for an event, with nothing on its way */
	bool held;			/* it stands still for a reason that has been told */
	uint8_t mark;			/* of the search */
} node[LOOK_RANKS];

struct view {
	const struct look_rank *r;
	uint32_t n;
	int64_t now;
	look_say *say;
	void *ctx;
};

static __attribute__((format(printf, 5, 6))) void tell(const struct view *v, enum look_kind kind, int from, int to,
						       const char *fmt, ...)
{
	char text[TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	v->say(v->ctx, kind, from < 0 ? -1 : (int)v->r[from].rank, to < 0 ? -1 : (int)v->r[to].rank, text);
}

static const char *state_name(char c)
{
	switch (c) {
	case 'T': return ", stopped";
	case 't': return ", stopped by a debugger";
	case 'Z': case 'X': return ", has ended";
	case 'D': return ", in the kernel";
	default: return "";
	}
}

static bool stands(const struct look_rank *r)
{
	return r->state && strchr("TtZX", r->state);
}

static const char *who(const struct look_rank *r, char buf[64])
{
	if (r->pid > 0)
		snprintf(buf, 64, "rank %u (pid %d%s)", r->rank, r->pid, state_name(r->state));
	else
		snprintf(buf, 64, "rank %u", r->rank);
	return buf;
}

/* Index in v->r, or -1. */
static int in_slot(const struct view *v, uint32_t nodenum, uint32_t slot)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->r[i].node == nodenum && v->r[i].slot == slot)
			return (int)i;
	return -1;
}

static int of_rank(const struct view *v, uint32_t rank)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->r[i].rank == rank)
			return (int)i;
	return -1;
}

static void arrow(uint32_t from, int to)
{
	struct node *a = &node[from];

	a->waits = true;
	if (to < 0)
		return;
	for (uint32_t k = 0; k < a->n; k++)
		if (a->to[k] == to)
			return;
	if (a->n < ARROWS)
		a->to[a->n++] = (uint16_t)to;
}

static const char *since(const struct view *v, const struct p3l_wait *w, char buf[32])
{
	int64_t t = p3_load(&w->since);

	if (t && t <= v->now)
		snprintf(buf, 32, "for %.1f s", (double)(v->now - t) * 1e-9);
	else
		snprintf(buf, 32, "for long");
	return buf;
}

/* ---- locks ---- */

static const uint32_t *lock_of(const struct p3l_ni *l, uint32_t what, uint32_t index, char *name, size_t len)
{
	switch (what) {
	case P3L_WAIT_PORTAL:
		if (index >= P3L_MAX_PT + P3L_PT_STRIPES)
			return NULL;
		if (index < P3L_MAX_PT)
			snprintf(name, len, "the lock of portal %u", index);
		else
			snprintf(name, len, "the lock of the descriptors on no list (stripe %u)", index - P3L_MAX_PT);
		return &l->pt[index].lock;
	case P3L_WAIT_LANE:
		if (index >= p3l_slots(l))
			return NULL;
		snprintf(name, len, "the lock of the inbox of local rank %u", index);
		return &p3l_lane(l, index)->lock;
	case P3L_WAIT_SWAP:
		if (index >= P3L_SWAP_STRIPES)
			return NULL;
		snprintf(name, len, "exchange lock %u", index);
		return &l->swap[index];
	case P3L_WAIT_OWN:
		snprintf(name, len, "the lock of the pools");
		return &l->own_lock;
	default:
		snprintf(name, len, "a lock");
		return NULL;
	}
}

static void lock_wait(const struct view *v, uint32_t i, uint32_t t, const struct p3l_wait *w)
{
	const struct look_rank *r = &v->r[i], *o = &v->r[t];
	char a[64], b[64], s[32], name[80];
	const uint32_t *lock = lock_of(o->l, p3_load(&w->what), p3_load(&w->index), name, sizeof(name));
	uint32_t holder = lock ? p3_load(lock) : 0;
	int h = holder ? in_slot(v, o->node, holder - 1) : -1;

	since(v, w, s);
	if (!holder) {
		tell(v, LOOK_WAITS, (int)i, (int)t,
		     "%s has waited %s for %s of rank %u, which nobody seems to hold now",
		     who(r, a), s, name, o->rank);
		node[i].waits = true;
	} else if (h < 0) {
		tell(v, LOOK_WAITS, (int)i, (int)t,
		     "%s has waited %s for %s of rank %u, which local rank %u holds",
		     who(r, a), s, name, o->rank, holder - 1);
		node[i].waits = true;
	} else {
		tell(v, LOOK_WAITS, (int)i, h,
		     "%s has waited %s for %s of rank %u, which %s holds",
		     who(r, a), s, name, o->rank, h == (int)i ? "another thread of its own" : who(&v->r[h], b));
		arrow(i, h == (int)i ? -1 : h);
	}
}

/* ---- what a rank does with messages that wait for it ---- */

static uint32_t unread(const struct p3l_ni *l, uint32_t q)
{
	return p3_load(&l->eq[q].tail) - p3_load(&l->eq[q].head);
}

/* Queue of the first descriptor of portal @pt that has one and is full; -1. */
static int full_queue(const struct p3l_ni *l, uint32_t pt)
{
	uint32_t i = p3_load(&l->pt[pt].head), steps = 0;

	for (; i && i <= P3L_MAX_ME && steps < 4096; steps++) {
		const struct p3l_me *me = p3l_me(l, i - 1);
		uint32_t md = p3_load(&me->md);
		int q = md && md <= P3L_MAX_MD ? p3l_eq_of(l, p3_load(&p3l_md(l, md - 1)->eq)) : -1;

		if (q >= 0 && unread(l, (uint32_t)q) + 3 > 1u << (p3_load(&l->eq[q].log2) & 31))
			return q;
		i = p3_load(&me->next);
	}
	return -1;
}

/* Why does rank @t not take a message for its portal @pt? */
static void not_taken(const struct view *v, uint32_t t, uint32_t pt)
{
	const struct look_rank *o = &v->r[t];
	char a[64];
	int q;

	node[t].held = true;
	if (stands(o)) {
		tell(v, LOOK_CAUSE, (int)t, -1, "%s takes nothing from its inbox while it stands still", who(o, a));
		return;
	}
	if (!o->l || pt >= P3L_MAX_PT) {
		node[t].held = false;
		return;
	}
	q = full_queue(o->l, pt);
	if (q >= 0 && p3l_pt_polled(o->l, pt))
		tell(v, LOOK_CAUSE, (int)t, -1,
		     "queue %d of %s is full: %u events of %u are unread. Messages to its polled portal %u wait "
		     "until somebody fetches from it",
		     q, who(o, a), unread(o->l, (uint32_t)q),
		     1u << (o->l->eq[q].log2 & 31), pt);
	else if (p3l_pt_polled(o->l, pt) && !p3_load(&o->l->pt[pt].head))
		tell(v, LOOK_CAUSE, (int)t, -1,
		     "the polled portal %u of %s has no entry: messages to it wait until one is attached",
		     pt, who(o, a));
	else if (p3l_pt_polled(o->l, pt))
		tell(v, LOOK_CAUSE, (int)t, -1,
		     "%s has promised to poll portal %u, and takes nothing there: it makes no call, or no entry "
		     "has room",
		     who(o, a), pt);
	else
		node[t].held = false;
}

/* Room in the inbox that was used and never given back. */
static bool lost_credits(const struct view *v, uint32_t i, uint32_t t)
{
	const struct look_rank *r = &v->r[i], *o = &v->r[t];
	struct p3l_lane_hdr *lane = p3l_lane(o->l, r->slot);
	uint32_t head = p3_load(&lane->head), pub = p3_load(&lane->head_pub), lines = o->l->lane_lines;
	char a[64], b[64];

	if (head - pub < lines / 4 || p3l_lane_ready(o->l, lane) || p3_load(&lane->lock))
		return false;
	tell(v, LOOK_CAUSE, (int)i, (int)t,
	     "credits are lost: %s has taken all that %s left in its inbox (line %u), but has given back room up to "
	     "line %u only: %u of %u lines are missing",
	     who(o, a), who(r, b), head, pub, head - pub > lines ? lines : head - pub, lines);
	node[t].held = true;
	return true;
}

/* Messages of @i in the inbox of @t. True: there are, or there is no room for any. */
static bool inbox_wait(const struct view *v, uint32_t i, uint32_t t)
{
	const struct look_rank *r = &v->r[i], *o = &v->r[t];
	struct p3l_lane_hdr *lane = p3l_lane(o->l, r->slot);
	const struct p3l_line *m = p3l_lane_line(o->l, lane, p3_load(&lane->head));
	char a[64], b[64];

	if (i == t)
		return false;
	if (lost_credits(v, i, t)) {
		arrow(i, (int)t);
		return true;
	}
	if (!p3l_lane_ready(o->l, lane))
		return false;
	tell(v, LOOK_WAITS, (int)i, (int)t,
	     "messages of %s stand in the inbox of %s and are not taken; the first is for portal %u, %u bytes",
	     who(r, a), who(o, b), p3_load(&m->pt), p3_load(&m->len));
	arrow(i, (int)t);
	not_taken(v, t, p3_load(&m->pt));
	return true;
}

/* Copies that @i has begun at @t, or left to it. */
static bool op_wait(const struct view *v, uint32_t i, uint32_t t)
{
	const struct look_rank *r = &v->r[i], *o = &v->r[t];
	bool any = false;
	char a[64], b[64];

	for (uint32_t k = 0; k < P3L_OPS; k++) {
		const struct p3l_op *op = &p3l_row(o->l, r->slot)->op[k];

		if (p3_load(&op->state) != P3L_OP_HAND)
			continue;
		tell(v, LOOK_WAITS, (int)i, (int)t,
		     "%s has left %llu bytes for portal %u of %s in a bounce buffer, which only that rank can copy, "
		     "in a call",
		     who(r, a), (unsigned long long)p3_load(&op->mlength), p3_load(&op->pt), who(o, b));
		arrow(i, (int)t);
		any = true;
	}
	return any;
}

/* The next event of a queue of @i has been promised, and is not there. */
static bool promised(const struct view *v, uint32_t i, uint32_t q)
{
	const struct p3l_ni *l = v->r[i].l;
	const struct p3l_eq *e = &l->eq[q];
	uint32_t head = p3_load(&e->head);
	char a[64], b[64];

	if (p3_load(&e->tail) == head || p3l_eq_ready(l, q))
		return false;
	for (uint32_t s = 0; s < p3l_slots(l); s++)
		for (uint32_t k = 0; k < P3L_OPS; k++) {
			const struct p3l_op *op = &p3l_row(l, s)->op[k];
			uint32_t state = p3_load(&op->state);
			int m = in_slot(v, v->r[i].node, s);

			if (state < P3L_OP_PREP || state > P3L_OP_LEAVE || p3l_eq_of(l, p3_load(&op->eq)) != (int)q ||
			    !p3_load(&op->has_ticket) || p3_load(&op->ticket) != head || m < 0)
				continue;
			tell(v, LOOK_WAITS, (int)i, m,
			     "event %u of queue %u of %s has been promised by %s, which has not finished its copy "
			     "of %llu bytes",
			     head, q, who(&v->r[i], a), who(&v->r[m], b), (unsigned long long)p3_load(&op->mlength));
			arrow(i, m == (int)i ? -1 : m);
			return true;
		}
	tell(v, LOOK_CAUSE, (int)i, -1,
	     "event %u of queue %u of %s has been promised, and no operation in progress is to bring it",
	     head, q, who(&v->r[i], a));
	return true;
}

/* ---- other nodes ---- */

static const struct fr_peer *other_side(const struct view *v, int t, uint32_t rank)
{
	for (uint32_t k = 0; t >= 0 && k < v->r[t].far_n; k++)
		if (v->r[t].far[k].rank == rank)
			return v->r[t].far[k].peer;
	return NULL;
}

static bool unfinished(const struct fr_peer *p)
{
	return p->req_next != p->req_done || p->ch[0].base != p->ch[0].next || p->ch[0].q ||
	       p->ch[1].base != p->ch[1].next || p->ch[1].q;
}

/* A bool in a copy of another process's memory: it may hold any byte. */
static bool is_set(const bool *there)
{
	unsigned char byte;

	memcpy(&byte, there, 1);
	return byte != 0;
}

static bool far_wait(const struct view *v, uint32_t i, const struct look_far *f)
{
	const struct look_rank *r = &v->r[i];
	const struct fr_peer *p = f->peer, *q;
	int t = of_rank(v, f->rank);
	uint32_t out, asked = p->req_next - p->req_done, oldest = p->wait[p->req_done % FR_REQS].pt;
	char a[64], b[64], rest[120];

	if (is_set(&p->gone) || !unfinished(p))
		return false;
	q = other_side(v, t, r->rank);
	out = p->ch[0].next - p->ch[0].base + p->ch[1].next - p->ch[1].base;
	if (t >= 0)
		who(&v->r[t], b);
	else
		snprintf(b, sizeof(b), "rank %u, on another node", f->rank);
	snprintf(rest, sizeof(rest), "%s%s%s", p->ch[0].q ? ", more in line" : "",
		 is_set(&p->blocked) ? "; the connection takes no more now" : "",
		 is_set(&p->full) ? "; there is no room for another (PTL_NO_SPACE)" : "");
	if (asked)
		tell(v, LOOK_WAITS, (int)i, t,
		     "%s has %u request%s to %s unanswered (the oldest is to portal %u), %u frame%s not acknowledged%s",
		     who(r, a), asked, asked == 1 ? "" : "s", b, oldest, out, out == 1 ? "" : "s", rest);
	else
		tell(v, LOOK_WAITS, (int)i, t, "%s has %u frame%s to %s not acknowledged%s", who(r, a), out,
		     out == 1 ? "" : "s", b, rest);
	arrow(i, t == (int)i ? -1 : t);
	for (int k = 0; k < 2; k++) {
		const struct fr_chan *c = &p->ch[k];
		uint32_t taken = q && q != p ? q->ch[k].expect - c->base : 0;

		if (taken && taken <= c->next - c->base && !(t >= 0 && stands(&v->r[t])))
			tell(v, LOOK_CAUSE, (int)i, t,
			     "credits are lost: %s has taken %u of these frames (up to %u), and %s has not heard of "
			     "it",
			     b, taken, q->ch[k].expect, who(r, a));
		else if (c->tries)
			tell(v, LOOK_CAUSE, (int)i, t,
			     "credits are lost: frame %u has been sent again %u times at least, and nothing has "
			     "come back",
			     c->base, c->tries);
	}
	if (t >= 0 && stands(&v->r[t])) {
		tell(v, LOOK_CAUSE, t, -1, "%s takes no frames while it stands still", b);
		node[t].held = true;
	} else if (t >= 0 && is_set(&p->ch[FR_REQUEST].busy)) {
		uint32_t pt = p->ch[0].base != p->ch[0].next ? oldest : 0;

		tell(v, LOOK_NOTE, t, (int)i, "%s has answered that it is busy", b);
		not_taken(v, (uint32_t)t, pt);
	}
	return true;
}

/* ---- one rank ---- */

static void queue_wait(const struct view *v, uint32_t i, const struct p3l_wait *w)
{
	const struct look_rank *r = &v->r[i];
	uint32_t q = p3_load(&w->index), count = p3_load(&w->count);
	char a[64], s[32], more[40] = "";
	uint64_t dropped = 0;
	bool any = false, blind = false;

	if (q >= P3L_MAX_EQ)
		return;
	if (count > 1)
		snprintf(more, sizeof(more), " (and %u others)", count - 1);
	tell(v, LOOK_WAITS, (int)i, -1,
	     "%s has waited %s for an event in its queue %u%s",
	     who(r, a), since(v, w, s), q, more);
	node[i].waits = true;
	any |= promised(v, i, q);
	for (uint32_t t = 0; t < v->n; t++) {
		const struct fr_peer *p = other_side(v, (int)t, r->rank);

		dropped += p ? p3_load(&p->dropped) : 0;
		if (!v->r[t].l || v->r[t].node != r->node || r->slot >= p3l_slots(v->r[t].l))
			continue;
		any |= op_wait(v, i, t);
		any |= inbox_wait(v, i, t);
		if (t != i)
			dropped += p3_load(&p3l_row(v->r[t].l, r->slot)->stats.drop_count);
	}
	for (uint32_t k = 0; k < r->far_n; k++) {
		any |= r->far[k].peer && far_wait(v, i, &r->far[k]);
		blind |= r->far[k].peer && p3_load(&r->far[k].peer->out_count) &&
			 !other_side(v, of_rank(v, r->far[k].rank), r->rank);
	}
	if (any)
		return;
	node[i].idle = true;
	if (dropped)
		tell(v, LOOK_NOTE, (int)i, -1,
		     "nothing of %s is on its way; %llu messages of it were dropped by their targets (no entry took "
		     "them): such are never answered",
		     who(r, a), (unsigned long long)dropped);
	else
		tell(v, LOOK_NOTE, (int)i, -1,
		     "nothing of %s is on its way, and nothing to it: it waits for what nobody has sent%s",
		     who(r, a), blind ? ", or for an answer to a message that another node dropped" : "");
}

static void meeting(const struct view *v, uint32_t i)
{
	const struct look_rank *r = &v->r[i];
	uint32_t missing = 0;
	char a[64], b[64];

	for (uint32_t t = 0; t < v->n; t++)
		if (v->r[t].phase != r->phase && (r->phase == LOOK_STARTS || v->r[t].phase == LOOK_OPEN)) {
			arrow(i, (int)t);
			if (!missing++)
				who(&v->r[t], b);
		}
	node[i].waits = true;
	if (!missing)
		tell(v, LOOK_WAITS, (int)i, -1,
		     "%s is in %s, where all meet",
		     who(r, a), r->phase == LOOK_STARTS ? "PtlNIInit" : "PtlNIFini");
	else
		tell(v, LOOK_WAITS, (int)i, -1,
		     "%s is in %s, where all meet; %u are not there, %s among them",
		     who(r, a), r->phase == LOOK_STARTS ? "PtlNIInit" : "PtlNIFini", missing, b);
}

/* PtlRtBarrier_np: who has not come? */
static void barrier_wait(const struct view *v, uint32_t i, const struct p3l_wait *w)
{
	const struct look_rank *r = &v->r[i];
	char a[64], b[64], s[32];
	uint32_t missing = 0;

	for (uint32_t t = 0; t < v->n; t++) {
		const struct look_rank *o = &v->r[t];

		if (!o->l || o->slot >= p3l_slots(o->l) ||
		    p3_load_acq(&p3l_row(o->l, o->slot)->wait.what) == P3L_WAIT_PEERS)
			continue;
		arrow(i, (int)t);
		if (!missing++)
			who(o, b);
	}
	node[i].waits = true;
	if (!missing)
		tell(v, LOOK_WAITS, (int)i, -1,
		     "%s has waited %s in a barrier; all that can be seen are there",
		     who(r, a), since(v, w, s));
	else
		tell(v, LOOK_WAITS, (int)i, -1,
		     "%s has waited %s in a barrier; %u are not there, %s among them",
		     who(r, a), since(v, w, s), missing, b);
}

static void one_rank(const struct view *v, uint32_t i)
{
	const struct look_rank *r = &v->r[i];
	char a[64], b[64], s[32];
	int t;

	if (r->phase == LOOK_STARTS || r->phase == LOOK_LEAVES)
		meeting(v, i);
	for (uint32_t k = 0; k < v->n; k++) {
		const struct look_rank *o = &v->r[k];
		const struct p3l_wait *w;

		if (!o->l || o->node != r->node || r->slot >= p3l_slots(o->l))
			continue;
		w = &p3l_row(o->l, r->slot)->wait;
		switch (p3_load_acq(&w->what)) {
		case P3L_WAIT_PORTAL: case P3L_WAIT_OWN: case P3L_WAIT_LANE: case P3L_WAIT_SWAP: case P3L_WAIT_LOCK:
			lock_wait(v, i, k, w);
			break;
		case P3L_WAIT_COPY:
			tell(v, LOOK_WAITS, (int)i, (int)k,
			     "%s has waited %s until %s has made its part of a long copy",
			     who(r, a), since(v, w, s), who(o, b));
			arrow(i, (int)k);
			break;
		case P3L_WAIT_QUEUE:
			if (k == i)
				queue_wait(v, i, w);
			break;
		case P3L_WAIT_PEERS:
			if (k == i)
				barrier_wait(v, i, w);
			break;
		}
	}
	for (uint32_t k = 0; k < r->far_n && !node[i].waits; k++)
		if (r->far[k].peer && is_set(&r->far[k].peer->full))
			far_wait(v, i, &r->far[k]);
	t = r->refused_by < 0 || node[i].waits ? -1 : in_slot(v, r->node, (uint32_t)r->refused_by);
	if (t < 0 || !v->r[t].l || r->slot >= p3l_slots(v->r[t].l))
		return;
	tell(v, LOOK_WAITS, (int)i, t, "puts of %s to %s find no room again and again (PTL_NO_SPACE)", who(r, a),
	     who(&v->r[t], b));
	arrow(i, t);
	inbox_wait(v, i, (uint32_t)t);
}

/* ---- the graph ---- */

static __attribute__((noinline)) void tell_ring(const struct view *v, const uint16_t *path, uint32_t from,
						uint32_t last)
{
	uint32_t first = path[from];
	char text[TEXT];
	size_t at = 0;

	for (; from <= last && at < sizeof(text) - 64; from++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "rank %u waits for ", v->r[path[from]].rank);
	snprintf(text + at, sizeof(text) - at, "%srank %u: a deadlock", from <= last ? "... " : "", v->r[first].rank);
	tell(v, LOOK_CYCLE, (int)first, -1, "%s", text);
}

/* Depth first; on a ring of waiting ranks tell it. @path: indices so far. */
static void rings(const struct view *v, uint32_t i, uint16_t *path, uint32_t depth)
{
	node[i].mark = 1;
	path[depth] = (uint16_t)i;
	for (uint32_t k = 0; k < node[i].n; k++) {
		uint32_t t = node[i].to[k], from = depth;

		if (!node[t].mark && depth + 1 < v->n) {
			rings(v, t, path, depth + 1);
			continue;
		}
		if (node[t].mark != 1)
			continue;
		while (from && path[from] != t)
			from--;
		tell_ring(v, path, from, depth);
	}
	node[i].mark = 2;
}

/* How many wait for @t, directly or not. */
static uint32_t behind(uint32_t n, uint32_t t)
{
	uint32_t count = 0;
	bool more = true;

	for (uint32_t i = 0; i < n; i++)
		node[i].mark = i == t;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < node[i].n && !node[i].mark; k++)
				if (node[node[i].to[k]].mark) {
					node[i].mark = 1;
					count++;
					more = true;
				}
	}
	return count;
}

static void roots(const struct view *v)
{
	const char *more;
	char a[64];

	for (uint32_t t = 0; t < v->n; t++) {
		uint32_t n = node[t].n && !stands(&v->r[t]) ? 0 : behind(v->n, t);

		if (!n)
			continue;
		if (node[t].held || stands(&v->r[t]))
			more = "";
		else
			more = node[t].waits ? ", which waits itself" :
			       ", which waits for nobody: it computes, or is in no call of this library";
		tell(v, LOOK_ROOT, (int)t, -1, "%u rank%s for %s, directly or through others%s", n,
		     n == 1 ? " waits" : "s wait", who(&v->r[t], a), more);
	}
}

uint32_t look_why(const struct look_job *j, look_say *say, void *ctx)
{
	static uint16_t path[LOOK_RANKS];
	struct view v = { j->r, j->n < LOOK_RANKS ? j->n : LOOK_RANKS, j->now, say, ctx };
	uint32_t waits = 0, idle = 0;
	char a[64];

	memset(node, 0, v.n * sizeof(node[0]));
	for (uint32_t i = 0; i < v.n; i++) {
		if (stands(&v.r[i]))
			tell(&v, LOOK_NOTE, (int)i, -1, "%s stands still", who(&v.r[i], a));
		one_rank(&v, i);
	}
	for (uint32_t i = 0; i < v.n; i++) {
		waits += node[i].waits;
		idle += node[i].idle;
	}
	for (uint32_t i = 0; i < v.n; i++)
		if (!node[i].mark)
			rings(&v, i, path, 0);
	roots(&v);
	if (v.n > 1 && idle == v.n)
		tell(&v, LOOK_CAUSE, -1, -1,
		     "every rank waits for an event, and no message is under way: one was never sent, or was dropped");
	return waits;
}

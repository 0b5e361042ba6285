/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * events.c - "expect" and "noevent": the next event of a queue, and what holds for every event
 *
 * What is remembered of each queue and descriptor (struct queue, struct made) is to compare sequence numbers, links and
 * the members of the descriptor.
 */
#include "side.h"
#include "multi.h"
#include "tap.h"

static unsigned fetches;

struct queue *queue_of(struct side *s, ptl_handle_eq_t h)
{
	for (int i = 0; i < s->n_q; i++)
		if (s->q[i].h == h)
			return &s->q[i];
	if (s->n_q == MAX_QUEUES)
		bail("%s: more than %d queues", script->id, MAX_QUEUES);
	s->q[s->n_q] = (struct queue){ .h = h };
	return &s->q[s->n_q++];
}

static struct made *made_of(struct side *s, ptl_handle_md_t h)
{
	for (int i = s->n_md; i-- > 0;)
		if (s->md[i].h == h)
			return &s->md[i];
	return NULL;
}

void remember_md(struct side *s, ptl_handle_md_t h, const ptl_md_t *md)
{
	struct made *m = made_of(s, h);

	if (!m) {
		if (s->n_md == MAX_MDS)
			s->n_md = 0;	/* of so many the first are long gone */
		m = &s->md[s->n_md++];
	}
	memset(m, 0, sizeof(*m));
	m->h = h;
	m->md = *md;
}

const char *kind_name(ptl_event_kind_t k)
{
	return PtlEventKindStr(k) + strlen("PTL_EVENT_");
}

/*
 * The next event: PTL_OK, PTL_EQ_DROPPED, or PTL_EQ_EMPTY when none came. By PtlEQGet and PtlEQPoll in turn; where the
 * other side still sends, by PtlEQPoll, so that its messages go straight to us.
 */
static int fetch(struct queue *q, ptl_event_t *ev)
{
	double until = deadline();
	int which = 77, rc;

	fetches++;
	for (unsigned n = 1;; n++) {
		if (fetches % 2 && !early_all) {
			rc = PtlEQGet(q->h, ev);
		} else {
			rc = PtlEQPoll(&q->h, 1, 20, ev, &which);
			if (rc != PTL_EQ_EMPTY && which != 0)
				diag("PtlEQPoll says queue %d of one", which);
		}
		if (rc != PTL_EQ_EMPTY)
			return rc;
		if (fetches % 2 && !early_all && n % 64)
			continue;
		if (t_now() > until || other_failed())
			return rc;
		sched_yield();
	}
}

/* As fetch(); an ACK may be read before the SEND_END of its put (5.4): scripts see it behind. */
static int next_event(struct side *s, struct queue *q, ptl_event_kind_t want, ptl_event_t *ev)
{
	int rc;

	if (q->stashed && want == PTL_EVENT_ACK) {
		q->stashed = 0;
		*ev = q->stash;
		return PTL_OK;
	}
	for (;;) {
		rc = fetch(q, ev);
		if (rc != PTL_OK && rc != PTL_EQ_DROPPED)
			return rc;
		if (rc == PTL_OK && q->seen && ev->sequence != q->sequence + 1)
			fail(s, "sequence %u follows %u", (unsigned)ev->sequence, (unsigned)q->sequence);
		q->seen = 1;
		q->sequence = ev->sequence;
		if (rc == PTL_OK && want == PTL_EVENT_SEND_END && ev->type == PTL_EVENT_ACK && !q->stashed) {
			q->stashed = 1;
			q->stash = *ev;
			continue;
		}
		return rc;
	}
}

/* START and END have the same link; UNLINK has that of an event before it. */
static void check_links(struct side *s, struct made *m, const ptl_event_t *ev)
{
	int end = ev->type | 1, known = 0;

	if (ev->type < PTL_EVENT_ACK && !(ev->type & 1)) {
		m->start[end] = ev->link;
		m->started[end]++;
	} else if (ev->type < PTL_EVENT_ACK && m->started[end] == 1 && m->start[end] != ev->link) {
		fail(s, "link %u, that of the START is %u", ev->link, m->start[end]);
	}
	if (ev->type < PTL_EVENT_ACK && (ev->type & 1) && m->started[end])
		m->started[end]--;
	for (int i = 0; i < m->n_seen && i < 32; i++)
		known |= m->seen[i] == ev->link;
	if (ev->type == PTL_EVENT_UNLINK && m->n_seen && m->n_seen <= 32 && !known)
		fail(s, "link %u of UNLINK is that of no event before it", ev->link);
	m->seen[m->n_seen++ % 32] = ev->link;
}

struct wanted {
	const char *field;
	struct val v;
};

int same(const struct val *a, const struct val *b)
{
	if (a->kind == V_ID)
		return b->kind == V_ID && a->id.nid == b->id.nid && a->id.pid == b->id.pid;
	return a->kind == V_NUM && (b->kind == V_NUM ? a->n == b->n : b->kind == V_MEM && a->n == (uintptr_t)b->p);
}

static void check_field(struct side *s, const ptl_event_t *ev, const struct wanted *w)
{
	struct val e = { .kind = V_EVENT }, got;
	uint64_t want;

	e.ev = *ev;
	if (!field_get(&e, w->field, &got)) {
		fail(s, "an event has no field '%s'", w->field);
		return;
	}
	if (!strcmp(w->field, "threshold"))
		got.n = (uint64_t)(int)got.n;		/* INF is -1 */
	if (same(&got, &w->v))
		return;
	if (got.kind == V_ID) {
		fail(s, "%s is (%u,%u), want (%u,%u)", w->field, got.id.nid, got.id.pid, w->v.id.nid, w->v.id.pid);
		return;
	}
	want = w->v.kind == V_MEM ? (uintptr_t)w->v.p : w->v.n;
	fail(s, "%s is %lld (0x%llx), want %lld (0x%llx)", w->field, (long long)got.n, (unsigned long long)got.n,
	     (long long)want, (unsigned long long)want);
}

static int named(const struct wanted *w, int n, const char *a, const char *b)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(w[i].field, a) || !strcmp(w[i].field, b))
			return 1;
	return 0;
}

#define DEFAULT_NUM(names, other, want) do {							\
	if (!named(w, n, names, other))								\
		check_field(s, ev, &(struct wanted){ names, { .kind = V_NUM, .n = (want) } });	\
} while (0)

/* What holds for every event, unless the script says otherwise. */
static void check_event(struct side *s, const ptl_event_t *ev, const struct wanted *w, int n)
{
	int far = ev->type <= PTL_EVENT_REPLY_END || ev->type == PTL_EVENT_ACK;
	struct made *m = made_of(s, ev->md_handle);

	for (int i = 0; i < n; i++)
		check_field(s, ev, &w[i]);
	DEFAULT_NUM("fail", "ni_fail_type", PTL_NI_OK);
	DEFAULT_NUM("unlinked", "unlinked", ev->type == PTL_EVENT_UNLINK);
	if (ev->type != PTL_EVENT_UNLINK) {
		ptl_uid_t uid = 0;
		ptl_jid_t jid = 0;

		own_ids(&uid, &jid);
		DEFAULT_NUM("uid", "uid", uid);
		DEFAULT_NUM("jid", "jid", jid);
		if (!named(w, n, "initiator", "initiator")) {
			struct wanted who = { "initiator", { .kind = V_ID, .id = far ? s->peer : s->self } };

			check_field(s, ev, &who);
		}
		DEFAULT_NUM("pt", "pt_index", PT_DEFAULT);
		DEFAULT_NUM("hdr", "hdr_data", 0);
		DEFAULT_NUM("offset", "offset", 0);
		DEFAULT_NUM("rlength", "rlength", ev->mlength);
	}
	if (!m) {
		fail(s, "descriptor 0x%x is none that this script has made", ev->md_handle);
		return;
	}
	DEFAULT_NUM("start", "start", (uintptr_t)m->md.start);
	DEFAULT_NUM("length", "length", m->md.length);
	DEFAULT_NUM("options", "options", m->md.options);
	DEFAULT_NUM("user", "user", (uintptr_t)m->md.user_ptr);
	DEFAULT_NUM("eq", "eq", m->md.eq_handle);
	DEFAULT_NUM("max_size", "max_size", m->md.max_size);
	if (m->md.threshold == PTL_MD_THRESH_INF)
		DEFAULT_NUM("threshold", "threshold", (uint64_t)PTL_MD_THRESH_INF);
	check_links(s, m, ev);
}

/* expect [QUEUE] [DROPPED] KIND [FIELD=VALUE]... */
void do_expect(struct side *s, struct scan *in)
{
	ptl_event_kind_t kind = 0;
	struct val *v = var_find(&s->vars, "eq");
	struct wanted want[16];
	char word[24], field[16][24];
	struct queue *q;
	ptl_event_t ev;
	int n = 0, rc, want_rc = PTL_OK;

	if (!scan_word(in, word, sizeof(word))) {
		fail(s, "expect what?");
		return;
	}
	if (var_find(&s->vars, word)) {
		v = var_find(&s->vars, word);
		scan_word(in, word, sizeof(word));
	}
	if (!strcmp(word, "DROPPED")) {
		want_rc = PTL_EQ_DROPPED;
		scan_word(in, word, sizeof(word));
	}
	while (kind <= PTL_EVENT_UNLINK && strcmp(kind_name(kind), word))
		kind++;
	if (kind > PTL_EVENT_UNLINK) {
		fail(s, "there is no event '%s'", word);
		return;
	}
	for (; scan_word(in, field[n], sizeof(field[n])); n++) {
		want[n].field = field[n];
		if (!scan_is(in, "=") || scan_value(in, &want[n].v) || n == 15) {
			fail(s, "%s: %s", field[n], in->err[0] ? in->err : "FIELD=VALUE");
			return;
		}
	}
	q = queue_of(s, (ptl_handle_eq_t)v->n);
	rc = next_event(s, q, kind, &ev);
	if (rc == PTL_EQ_EMPTY && other_failed()) {
		s->failed = 1;			/* the other side says what is wrong */
		return;
	}
	if (rc != want_rc || ev.type != kind) {
		fail(s, "got %s %s", const_of_code(rc), rc == PTL_OK || rc == PTL_EQ_DROPPED ? kind_name(ev.type) :
							rc == PTL_EQ_EMPTY ? ": no event came" : "");
		return;
	}
	check_event(s, &ev, want, n);
}

void do_noevent(struct side *s, struct scan *in)
{
	struct val *v = var_find(&s->vars, "eq");
	struct queue *q;
	ptl_event_t ev;
	char word[24];
	int rc;

	if (scan_word(in, word, sizeof(word)))
		v = var_find(&s->vars, word);
	if (!v) {
		fail(s, "no queue '%s'", word);
		return;
	}
	q = queue_of(s, (ptl_handle_eq_t)v->n);
	memset(&ev, 0xee, sizeof(ev));
	rc = PtlEQGet(q->h, &ev);
	if (rc != PTL_EQ_EMPTY || q->stashed)
		fail(s, "got %s %s", const_of_code(rc), q->stashed ? "ACK" : rc == PTL_OK ? kind_name(ev.type) : "");
	for (size_t i = 0; rc == PTL_EQ_EMPTY && i < sizeof(ev); i++)
		if (((unsigned char *)&ev)[i] != 0xee) {
			fail(s, "PTL_EQ_EMPTY, and the event was written to");
			return;
		}
}

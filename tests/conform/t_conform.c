/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_conform.c - run the conformance scripts: one line of TAP for each rule
 *
 *	t_conform [DIRECTORY]		default: $P3_SRC/tests/conform; README.md there has the language
 *
 * Alone, a process is initiator and target. Of two ranks, rank 0 is the initiator and rank 1 the target; both read the
 * same script, each runs its own lines, and where the next line is the other side's they meet: the side that moved
 * anything first makes sure that it has been matched or dropped (settle()), then both pass a barrier. So nothing
 * sleeps, and a line may rely on all lines above it. Between scripts nothing may be left: no event unread, no entry,
 * descriptor or queue, no drop that the script did not announce, no byte changed outside the memory of a descriptor.
 *
 * T_PATH names the path for "only" and "not" lines, T_ASKED runs only scripts that name it; T_LIMITS opens the
 * interface with small limits; T_POLL=1 lets a waiting side poll (inbox); T_EARLY=1 lets it fetch while the other side
 * still sends; T_STOP=1 ends at the first rule that fails (tests/conform/mutate); T_PATIENCE is how long an event may
 * take, in seconds.
 */
#include "ptl.h"
#include "lang.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>

#define PT_BELL		10
#define PT_DEFAULT	4		/* the portal of events that do not name one */
#define MAX_QUEUES	8
#define MAX_MDS		160
#define MAX_WITH	4
#define W_FAILED	10		/* word of the page: number of the run in which a side has failed */
#define W_SYNCS		11		/* words: synchronising messages sent by each rank */

enum who { BY_I, BY_T, BY_BOTH };

struct line {
	int no;
	enum who who;
	int early;
	char *text;
};

struct with {
	char name[16];
	char *value[16];
	int n;
};

struct script {
	char id[48];
	const char *file;
	struct line *line;
	int n, ref, xt, before;
	char *only, *not;
	struct with with[MAX_WITH];
	int n_with;
};

struct rule {
	char id[48];
	const struct script *script;
	int bad;			/* of a script that ran before PtlInit */
};

/* What a side knows of a queue. */
struct queue {
	ptl_handle_eq_t h;
	int seen, stashed;
	ptl_seq_t sequence;
	ptl_event_t stash;		/* an ACK that was read before its SEND_END */
};

/* A descriptor that the script has made, and the links of its operations. */
struct made {
	ptl_handle_md_t h;
	ptl_md_t md;
	ptl_seq_t start[12], seen[32];	/* links of STARTs by kind of END, of all events */
	int started[12], n_seen;
};

struct side {
	const char *name;
	int mine, failed, dirty;
	ptl_process_id_t self, peer;
	struct vars vars;
	struct queue q[MAX_QUEUES];
	int n_q;
	struct made md[MAX_MDS];
	int n_md;
	ptl_sr_value_t base[64];
	uint64_t base_syncs[2];
	long long drops;
	unsigned acs;			/* access control entries to be put right */
	int polled;			/* portals are polled, perhaps */
};

static struct side side[2] = { { .name = "i" }, { .name = "t" } };
static const struct script *script;
static const struct call *calls;
static const struct line *line;
static char line_text[600];
static uint64_t run_no;
static unsigned fetches;
static int early_all, stop_at_first;
static const char *path;
static int handler_ran;
static ptl_event_t handler_event;

static void handler(ptl_event_t *ev)
{
	handler_ran++;
	handler_event = *ev;
}

static int other_failed(void)
{
	return t_size() > 1 && atomic_load(t_word(W_FAILED)) == run_no;
}

__attribute__((format(printf, 2, 3))) static void fail(struct side *s, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	s->failed = 1;
	atomic_fetch_add(&t_bad_, 1);
	p_patience = p_patience < 0.5 ? p_patience : 0.5;
	atomic_store(t_word(W_FAILED), run_no);
	diag("%s:%d: %s", script->file, line ? line->no : 0, line ? line_text : "at the end");
	diag("    %s", what);
}

/* ---- registers ---- */

static ptl_sr_value_t reg(ptl_sr_index_t i)
{
	ptl_sr_value_t v = -1;

	PtlNIStatus(ni, i, &v);
	return v;
}

/* What register @i has grown by since the script began, without the synchronising messages. */
static long long grown(const struct side *s, ptl_sr_index_t i)
{
	long long n = reg(i) - (i < 64 ? s->base[i] : 0);
	int me = t_rank(), other = t_size() > 1 ? !me : me;

	if (i == PTL_SR_SEND_COUNT)
		n -= (long long)(atomic_load(t_word(W_SYNCS + me)) - s->base_syncs[me]);
	if (i == PTL_SR_RECV_COUNT)
		n -= (long long)(atomic_load(t_word(W_SYNCS + other)) - s->base_syncs[other]);
	return n;
}

/* Both sides are one process: what one does is seen in the registers of the other. */
static int shared(void)
{
	return t_size() == 1;
}

/* All that this rank has sent has been matched or dropped. By an access control entry that scripts leave alone. */
static void settle(struct side *s)
{
	ptl_event_t ev;
	int rc;

	if (!s->dirty)
		return;
	s->dirty = 0;
	PtlEQGet(p_idle_eq, &ev);	/* what the other side has copied for us is given back */
	atomic_fetch_add(t_word(W_SYNCS + t_rank()), 1);
	rc = PtlPut(p_sync_md, PTL_ACK_REQ, peer, PT_SYNC, (ptl_ac_index_t)lim.max_ac_index, 0, 0, 0);
	if (rc == PTL_OK)
		rc = p_get(p_sync_eq, &ev);
	if (rc != PTL_OK)
		bail("%s: rank %d: the synchronising message is not acknowledged: %s", script->id, t_rank(),
		     PtlErrorStr((unsigned)rc));
}

/*
 * A barrier in which the waiting side is inside PtlEQPoll, so that what the other sends meanwhile goes by its inbox.
 * The last to arrive rings: a message wakes the other.
 */
static ptl_handle_md_t bell;

static void hang_bell(void)
{
	ptl_handle_md_t md;
	ptl_handle_me_t me;

	if (p_post_at(PT_BELL, 0, ~0ull, PTL_RETAIN, p_md(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
			PTL_MD_EVENT_START_DISABLE, p_idle_eq), PTL_RETAIN, &me, &md) ||
	    PtlMDBind(ni, p_md(NULL, 0, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &bell))
		bail("the bell");
}

static void meet(void)
{
	struct t_page *p = t_page();
	uint32_t turn = atomic_load(&p->turn);
	double late = 0;
	ptl_event_t ev;
	int which;

	if (!p_poll || t_size() == 1) {
		t_barrier();
		return;
	}
	if (atomic_fetch_add(&p->arrived, 1) + 1 == p->size) {
		atomic_fetch_add(t_word(W_SYNCS + t_rank()), 1);
		atomic_store(&p->arrived, 0);
		atomic_fetch_add(&p->turn, 1);
		if (PtlPut(bell, PTL_NO_ACK_REQ, peer, PT_BELL, (ptl_ac_index_t)lim.max_ac_index, 0, 0, 0) != PTL_OK)
			bail("%s: rank %d: the bell does not ring", script->id, t_rank());
		return;
	}
	while (PtlEQPoll(&p_idle_eq, 1, 20, &ev, &which) != PTL_OK) {
		if (atomic_load(&p->dead))
			bail("rank %d: another rank has died", t_rank());
		if (!late && atomic_load(&p->turn) != turn)
			late = t_now() + p_patience;
		if (late && t_now() > late)
			bail("%s: rank %d: the bell was not heard", script->id, t_rank());
	}
}

/* ---- events ---- */

static struct queue *queue_of(struct side *s, ptl_handle_eq_t h)
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

static void remember_md(struct side *s, ptl_handle_md_t h, const ptl_md_t *md)
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

static const char *kind_name(ptl_event_kind_t k)
{
	return PtlEventKindStr(k) + strlen("PTL_EVENT_");
}

/*
 * The next event: PTL_OK, PTL_EQ_DROPPED, or PTL_EQ_EMPTY when none came. By PtlEQGet and PtlEQPoll in turn; where the
 * other side still sends, by PtlEQPoll, so that its messages go straight to us.
 */
static int fetch(struct queue *q, ptl_event_t *ev)
{
	double until = t_now() + p_patience;
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

static int same(const struct val *a, const struct val *b)
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

		PtlGetUid(ni, &uid);
		PtlGetJid(ni, &jid);
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
static void do_expect(struct side *s, struct scan *in)
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

static void do_noevent(struct side *s, struct scan *in)
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

/* ---- other statements ---- */

/* drops N: that many were dropped here since the last such line */
static void do_drops(struct side *s, struct scan *in)
{
	struct val v;

	if (scan_value(in, &v)) {
		fail(s, "%s", in->err);
		return;
	}
	s->drops += (long long)v.n;
	if (!shared() && grown(s, PTL_SR_DROP_COUNT) != s->drops)
		fail(s, "%lld were dropped since the script began, want %lld", grown(s, PTL_SR_DROP_COUNT), s->drops);
}

/* register NAME +N: it has grown by N since the script began; register NAME = N */
static void do_register(struct side *s, struct scan *in)
{
	struct val i, v;
	long long got;
	int grows;

	if (scan_value(in, &i)) {
		fail(s, "%s", in->err);
		return;
	}
	grows = scan_is(in, "by");
	if ((!grows && !scan_is(in, "=")) || scan_value(in, &v)) {
		fail(s, "register NAME by N, or register NAME = N");
		return;
	}
	if (shared() && grows)
		return;
	got = grows ? grown(s, (ptl_sr_index_t)i.n) : reg((ptl_sr_index_t)i.n);
	if (got != (long long)v.n)
		fail(s, "it is %s %lld, want %lld", grows ? "up by" : "at", got, (long long)v.n);
}

/* handler ran N: since the last such line */
static void do_handler(struct side *s, struct scan *in)
{
	struct val v, e = { .kind = V_EVENT };

	if (!scan_is(in, "ran") || scan_value(in, &v)) {
		fail(s, "handler ran N");
		return;
	}
	if (handler_ran != (int)v.n)
		fail(s, "it ran %d times", handler_ran);
	handler_ran = 0;
	e.ev = handler_event;
	var_set(&s->vars, "handled", &e);
}

/* bytes OFFSET..: NAME is VALUE */
static void compare(struct side *s, const struct val *a, const struct val *b)
{
	if (a->kind == V_MEM && b->kind == V_MEM) {
		for (uint64_t i = 0; i < b->len; i++)
			if (i >= a->len || a->p[i] != b->p[i]) {
				fail(s, "byte %llu is 0x%02x, want 0x%02x", (unsigned long long)i,
				     i < a->len ? a->p[i] : 0, b->p[i]);
				return;
			}
		return;
	}
	if (!same(a, b))
		fail(s, "it is %lld (0x%llx), want %lld (0x%llx)", (long long)a->n, (unsigned long long)a->n,
		     (long long)b->n, (unsigned long long)b->n);
}

static int is_move(const char *name)
{
	static const char *const moves[] = { "PtlPut", "PtlPutRegion", "PtlGet", "PtlGetRegion", "PtlGetPut",
					     "PtlGetPutRegion", "PtlMDMDCopy" };

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
		if (!strcmp(moves[i], name))
			return 1;
	return 0;
}

static struct val *descriptor_of(const struct call *c, struct val *a)
{
	const char *m = strpbrk(c->args, "md");

	return m && a[m - c->args].kind == V_MD ? &a[m - c->args] : NULL;
}

static int read_args(struct side *s, const struct call *c, struct scan *in, struct val *a)
{
	static const struct { char letter; enum kind kind; const char *what; } types[] = {
		{ 'n', V_NUM, "a number" }, { 'p', V_ID, "a process id" }, { 'm', V_MD, "a descriptor" },
		{ 'd', V_MD, "a descriptor" }, { 'b', V_MEM, "memory" }, { 'l', V_LIMITS, "limits" },
	};

	for (int i = 0; c->args[i]; i++) {
		size_t t = 0;

		if (i && !scan_is(in, ",")) {
			fail(s, "%s takes %zu arguments", c->name, strlen(c->args));
			return -1;
		}
		if (scan_value(in, &a[i])) {
			fail(s, "%s", in->err);
			return -1;
		}
		while (types[t].letter != c->args[i])
			t++;
		if (a[i].kind != types[t].kind && !(a[i].kind == V_MEM && !a[i].p && strchr("dlb", c->args[i]))) {
			fail(s, "argument %d of %s is %s", i + 1, c->name, types[t].what);
			return -1;
		}
	}
	if (!scan_is(in, ")")) {
		fail(s, "%s takes %zu arguments", c->name, strlen(c->args));
		return -1;
	}
	return 0;
}

static void take_out(struct side *s, const char *name, char type, const union out *o)
{
	struct val v = { .kind = V_NUM };

	switch (type) {
	case 'w': v.n = (uint32_t)o->word; break;
	case 'u': v.n = o->word; break;
	case 'p': v.kind = V_ID; v.id = o->id; break;
	case 'e': v.kind = V_EVENT; v.ev = o->ev; break;
	case 'd': v.kind = V_MD; v.md = o->md; break;
	case 'l': v.kind = V_LIMITS; v.lim = o->lim; break;
	}
	var_set(&s->vars, name, &v);
}

/* Outputs are written only on success; after a failure they still hold what we put there. */
static void check_untouched(struct side *s, const struct call *c, const union out *o, int n)
{
	for (int k = 0; k < n; k++)
		for (size_t i = 0; i < sizeof(o[k]); i++)
			if (o[k].raw[i] != 0x96) {
				fail(s, "%s has failed, and written result %d", c->name, k + 1);
				return;
			}
}

/* [NAME [, NAME] =] CALL(ARGUMENTS) -> CODE */
static void do_call(struct side *s, const struct call *c, struct scan *in, char names[][24], int n_names)
{
	struct val a[MAX_ARGS] = { { 0 } }, code, *v, *m;
	union out out[MAX_OUTS], *o[MAX_OUTS] = { NULL, NULL };
	double until = t_now() + p_patience;
	char name[24];
	int rc;

	if (n_names > (int)strlen(c->outs)) {
		fail(s, "%s has %zu results", c->name, strlen(c->outs));
		return;
	}
	if (read_args(s, c, in, a))
		return;
	if (!scan_is(in, "->") || !scan_word(in, name, sizeof(name)) || !const_find(name, &code.n)) {
		fail(s, "-> CODE");
		return;
	}
	memset(out, 0x96, sizeof(out));
	for (int k = 0; k < n_names; k++) {
		o[k] = strcmp(names[k], "NULL") ? &out[k] : NULL;
		v = var_find(&s->vars, names[k]);
		if (c->outs[k] == 'd' && v && v->kind == V_MD)
			out[k].md = v->md;
	}
	do {	/* a move that found no room is made again: nothing has happened */
		rc = c->fn(a, o);
	} while (rc == PTL_NO_SPACE && code.n == PTL_OK && is_move(c->name) && t_now() < until && !other_failed());
	if (is_move(c->name))
		s->dirty = 1;
	if (rc != (int)code.n) {
		fail(s, "returned %s", const_of_code(rc));
		return;
	}
	if (c->keeps && rc != PTL_OK && rc != PTL_IFACE_DUP) {
		check_untouched(s, c, out, n_names);
		return;
	}
	for (int k = 0; k < n_names; k++)
		if (o[k] && out[k].word != 0x9696969696969696u)		/* of calls that tell more with a failure */
			take_out(s, names[k], c->outs[k], o[k]);
	m = descriptor_of(c, a);
	if (m && rc == PTL_OK && !strcmp(c->name, "PtlMDUpdate"))
		remember_md(s, (ptl_handle_md_t)a[0].n, &m->md);
	else if (m && n_names && o[n_names - 1])
		remember_md(s, (ptl_handle_md_t)out[n_names - 1].word, &m->md);
	if (!strncmp(c->name, "PtlACEntry", 10) && a[1].n < 32)
		s->acs |= 1u << a[1].n;
	s->polled |= !strcmp(c->name, "PtlPTPolled_np");
	if (c->outs[0] == 'e' && n_names && o[0] && (rc == PTL_OK || rc == PTL_EQ_DROPPED)) {	/* it counts as read */
		struct queue *q = queue_of(s, c->args[0] == 'b' ? ((uint32_t *)(void *)a[0].p)[(int)out[1].word] :
								     (ptl_handle_eq_t)a[0].n);

		if (strcmp(c->name, "PtlEQPeek")) {
			q->seen = 1;
			q->sequence = out[0].ev.sequence;
		}
	}
}

static const struct call *call_find(const char *name)
{
	for (const struct call *c = calls; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static const struct {
	const char *word;
	void (*fn)(struct side *s, struct scan *in);
} statements[] = {
	{ "expect", do_expect }, { "noevent", do_noevent }, { "drops", do_drops }, { "register", do_register },
	{ "handler", do_handler },
};

/* One statement of one side. */
static void statement(struct side *s, const char *text)
{
	struct scan in = { .at = text, .vars = &s->vars };
	char word[MAX_OUTS][24], call[24];
	const struct call *c;
	struct val a, b;
	int n = 0;

	snprintf(line_text, sizeof(line_text), "%s: %s", s->name, text);
	scan_word(&in, word[0], sizeof(word[0]));
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++)
		if (!strcmp(statements[i].word, word[0])) {
			statements[i].fn(s, &in);
			goto end;
		}
	c = call_find(word[0]);
	if (c && scan_is(&in, "(")) {
		do_call(s, c, &in, word, 0);
		goto end;
	}
	for (n = 1; n < MAX_OUTS && scan_is(&in, ",") && scan_word(&in, word[n], sizeof(word[n])); n++)
		;
	if (scan_is(&in, "=")) {
		const char *back = in.at;

		if (scan_word(&in, call, sizeof(call)) && (c = call_find(call)) != NULL && scan_is(&in, "(")) {
			do_call(s, c, &in, word, n);
			goto end;
		}
		in.at = back;
		if (scan_value(&in, &a))
			fail(s, "%s", in.err);
		else
			var_set(&s->vars, word[0], &a);
		goto end;
	}
	in.at = text;
	if (scan_value(&in, &a) || !scan_is(&in, "is") || scan_value(&in, &b))
		fail(s, "%s", in.err[0] ? in.err : "no such statement");
	else
		compare(s, &a, &b);
end:
	scan_space(&in);
	if (!s->failed && *in.at)
		fail(s, "what is '%s'?", in.at);
}

/* ---- a script ---- */

/* @from with $NAME and # replaced. */
static void expand(char *to, size_t size, const char *from, const struct script *sc, const int *choice, int turn)
{
	size_t n = 0;
	int quoted = 0;

	while (*from && n + 24 < size) {
		int i;

		quoted ^= *from == '"';
		if (*from == '#' && !quoted) {
			n += (size_t)snprintf(to + n, size - n, "%d", turn);
			from++;
			continue;
		}
		for (i = 0; *from == '$' && i < sc->n_with; i++) {
			size_t l = strlen(sc->with[i].name);

			if (!strncmp(from + 1, sc->with[i].name, l) && !isalnum((unsigned char)from[1 + l])) {
				n += (size_t)snprintf(to + n, size - n, "%s", sc->with[i].value[choice[i]]);
				from += 1 + l;
				break;
			}
		}
		if (*from == '$' && i == sc->n_with)
			bail("%s: no 'with' for %.16s", sc->id, from);
		if (i == sc->n_with || *from != '$')
			to[n++] = *from ? *from++ : 0;
	}
	to[n] = 0;
}

static void run_line(struct side *s, const struct line *l, const int *choice)
{
	const char *text = l->text;
	char buf[512], *end;
	long times;

	expand(buf, sizeof(buf), text, script, choice, 0);
	times = strtol(buf, &end, 10);
	if (end != buf && !strncmp(end, " times ", 7))
		text = strstr(text, " times ") + 7;
	else
		times = 1;
	for (long k = 0; k < times && !s->failed && !other_failed(); k++) {
		expand(buf, sizeof(buf), text, script, choice, (int)k);
		line = l;
		statement(s, buf);
	}
}

static void begin(struct side *s)
{
	const struct { const char *name; struct val v; } builtin[] = {
		{ "ni", { .kind = V_NUM, .n = ni } },
		{ "self", { .kind = V_ID, .id = s->self } }, { "peer", { .kind = V_ID, .id = s->peer } },
		{ "any", { .kind = V_ID, .id = anyone } },
		{ "nobody", { .kind = V_ID, .id = { s->peer.nid, 999999 } } },
		{ "elsewhere", { .kind = V_ID, .id = { s->peer.nid + 77, s->peer.pid } } },
		{ "limits", { .kind = V_LIMITS, .lim = lim } },
		{ "counting", { .kind = V_NUM, .n = (uintptr_t)handler } },
		{ "uid", { .kind = V_NUM } }, { "jid", { .kind = V_NUM } },
	};
	struct val eq = { .kind = V_NUM };
	ptl_handle_eq_t h;
	ptl_uid_t uid = 0;
	ptl_jid_t jid = 0;

	s->vars.n = s->n_q = s->n_md = s->failed = s->dirty = 0;
	s->drops = 0;
	s->acs = 0;
	s->polled = 0;
	for (size_t i = 0; i < sizeof(builtin) / sizeof(*builtin); i++)
		var_set(&s->vars, builtin[i].name, &builtin[i].v);
	PtlGetUid(ni, &uid);
	PtlGetJid(ni, &jid);
	var_find(&s->vars, "uid")->n = uid;
	var_find(&s->vars, "jid")->n = jid;
	for (ptl_sr_index_t i = 0; i < 64; i++)		/* of both sides before either has anything */
		s->base[i] = shared() && s == &side[1] ? side[0].base[i] : reg(i);
	for (int r = 0; r < 2; r++)
		s->base_syncs[r] = atomic_load(t_word(W_SYNCS + r));
	if (PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &h) != PTL_OK)
		bail("%s: no event queue", script->id);
	eq.n = h;
	var_set(&s->vars, "eq", &eq);
	handler_ran = 0;
}

/* Events that nobody has read. */
static void check_queues(struct side *s)
{
	for (int i = 0; i < s->n_q; i++) {
		ptl_event_t ev;
		int rc = PtlEQGet(s->q[i].h, &ev);

		if (!s->failed && (rc == PTL_OK || rc == PTL_EQ_DROPPED || s->q[i].stashed))
			fail(s, "an event was left unread: %s", s->q[i].stashed ? "ACK" : kind_name(ev.type));
		while (rc == PTL_OK || rc == PTL_EQ_DROPPED)
			rc = PtlEQGet(s->q[i].h, &ev);
	}
}

/* Entries first, then descriptors, then queues. Of handles that are no more the calls say so. */
static void release(struct side *s)
{
	ptl_uid_t uid = (ptl_uid_t)var_find(&s->vars, "uid")->n;
	double until = t_now() + p_patience;

	if (s->polled)
		PtlPTPolled_np(ni, PT_DEFAULT, 0);
	for (int pass = 0; pass < 3; pass++)
		for (int i = s->vars.n; i-- > 0;) {
			const struct val *v = &s->vars.var[i].v;
			ptl_handle_any_t h = (ptl_handle_any_t)v->n;

			if (v->kind != V_NUM || h == ni)
				continue;
			if (pass == 0)
				while (PtlMEUnlink(h) == PTL_ME_IN_USE && t_now() < until)
					PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 });
			else if (pass == 1)
				while (PtlMDUnlink(h) == PTL_MD_IN_USE && t_now() < until)
					PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 });
			else
				PtlEQFree(h);
		}
	for (ptl_ac_index_t i = 0; s->acs >> i; i++)
		if (s->acs >> i & 1)
			PtlACEntry(ni, i, anyone, uid, PTL_JID_ANY, PTL_PT_INDEX_ANY);
}

static void check_left(struct side *s)
{
	static const struct { ptl_sr_index_t i; const char *what; } pools[] = {
		{ PTL_SR_MES_CUR, "match entries" }, { PTL_SR_MDS_CUR, "descriptors" }, { PTL_SR_EQS_CUR, "queues" },
	};
	long long drops = shared() ? side[0].drops + side[1].drops : s->drops;

	for (size_t i = 0; i < 3; i++)
		if (reg(pools[i].i) != s->base[pools[i].i])
			fail(s, "%lld %s are left", (long long)(reg(pools[i].i) - s->base[pools[i].i]), pools[i].what);
	if (grown(s, PTL_SR_DROP_COUNT) != drops)
		fail(s, "%lld were dropped, the script speaks of %lld", grown(s, PTL_SR_DROP_COUNT), drops);
	if (!mem_intact())
		fail(s, "bytes between the pieces of memory have changed");
}

static void end(void)
{
	line = NULL;
	for (int i = 0; i < 2; i++)
		if (side[i].mine)
			check_queues(&side[i]);
	meet();
	for (int i = 0; i < 2; i++)
		if (side[i].mine)
			release(&side[i]);
	for (int i = 0; i < 2; i++)
		if (side[i].mine && !side[i].failed && !other_failed() && (!shared() || i))
			check_left(&side[i]);
	meet();
}

/* Where the next line is the other side's both meet. @owed: a meeting that this side has put off for early lines. */
static void run(const int *choice)
{
	enum who cur = BY_BOTH;
	int owed = 0;

	run_no++;
	meet();
	mem_reset();
	for (int i = 0; i < 2; i++)
		if (side[i].mine)
			begin(&side[i]);
	meet();
	for (int k = 0; k < script->n; k++) {
		const struct line *l = &script->line[k];

		if (k && l->who != cur) {
			for (int i = 0; i < 2; i++)
				if (side[i].mine)
					settle(&side[i]);
			if (owed)
				meet();
			owed = 1;
		}
		cur = l->who;
		if (owed && (cur == BY_BOTH || !side[cur].mine || shared() ||
			     !(l->early || (early_all && !strncmp(l->text, "expect", 6))))) {
			meet();
			owed = 0;
		}
		for (int i = 0; i < 2; i++)
			if (side[i].mine && (cur == BY_BOTH || cur == (enum who)i))
				run_line(&side[i], l, choice);
	}
	for (int i = 0; i < 2; i++)
		if (side[i].mine)
			settle(&side[i]);
	if (owed)
		meet();
	meet();
	end();
}

/* Every combination of the values in "with" lines. */
static void run_all(const struct script *sc)
{
	int choice[MAX_WITH] = { 0 }, k;

	script = sc;
	t_bad_ = 0;
	do {
		run(choice);
		for (k = 0; k < sc->n_with && ++choice[k] == sc->with[k].n; k++)
			choice[k] = 0;
	} while (k < sc->n_with);
}

/* ---- reading the files ---- */

static char *slurp(const char *dir, const char *name)
{
	char file[PATH_MAX], *text;
	FILE *f;
	long n;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	f = fopen(file, "r");
	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0)
		bail("%s: %s", file, strerror(errno));
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	if (!text || fread(text, 1, (size_t)n, f) != (size_t)n)
		bail("%s: cannot be read", file);
	fclose(f);
	return text;
}

static char *skip_blank(char *s)
{
	return s + strspn(s, " \t");
}

static struct script scripts[512];
static int n_scripts;
static struct rule rules[512];
static int n_rules;

static int is_side(const char *s, enum who *who, int *early, char **text)
{
	static const char names[] = "itb";
	const char *at = strchr(names, *s);

	if (!*s || !at || !(s[1] == ':' || !strncmp(s + 1, " early:", 7)))
		return 0;
	*who = (enum who)(at - names);
	*early = s[1] == ' ';
	*text = skip_blank(strchr((char *)(uintptr_t)s, ':') + 1);
	return 1;
}

static void add_line(struct script *sc, int no, enum who who, int early, char *text)
{
	sc->line = realloc(sc->line, sizeof(*sc->line) * (size_t)(sc->n + 1));
	if (!sc->line)
		bail("memory");
	sc->line[sc->n++] = (struct line){ no, who, early, text };
}

static void add_with(struct script *sc, const char *file, int no, char *s)
{
	struct with *w = &sc->with[sc->n_with];
	char *save = NULL, *word = strtok_r(s, " ", &save);

	if (sc->n_with == MAX_WITH || !word || strlen(word) >= sizeof(w->name))
		bail("%s:%d: with NAME = VALUE...", file, no);
	strcpy(w->name, word);
	word = strtok_r(NULL, " ", &save);
	if (!word || strcmp(word, "="))
		bail("%s:%d: with NAME = VALUE...", file, no);
	while ((word = strtok_r(NULL, " ", &save)) && w->n < 16)
		w->value[w->n++] = word;
	sc->n_with++;
}

static void header(struct script *sc, const char *file, int no, char *s)
{
	if (!strncmp(s, "with ", 5))
		add_with(sc, file, no, s + 5);
	else if (!strncmp(s, "only ", 5))
		sc->only = s + 5;
	else if (!strncmp(s, "not ", 4))
		sc->not = s + 4;
	else if (!strcmp(s, "before init"))
		sc->before = 1;
	else if (!strcmp(s, "flavour xt"))
		sc->ref = 0, sc->xt = 1;
	else if (!strcmp(s, "flavour both"))
		sc->xt = 1;
	else
		bail("%s:%d: what is '%s'?", file, no, s);
}

static void read_scripts(const char *dir, const char *name)
{
	char *text = slurp(dir, name), *save = NULL;
	const char *file = strdup(name);
	struct script *sc = NULL;
	int no = 0;

	for (char *s = text; s && *s; s = save) {
		char *nl = strchr(s, '\n'), *t = NULL;
		enum who who;
		int early;

		save = nl ? nl + 1 : NULL;
		no++;
		if (nl)
			*nl = 0;
		while (nl && nl > s && (nl[-1] == ' ' || nl[-1] == '\t'))
			*--nl = 0;
		s = skip_blank(s);
		if (!*s || *s == '#')
			continue;
		if (!strncmp(s, "rule ", 5)) {
			sc = &scripts[n_scripts++];
			if (n_scripts == 512 || strlen(s + 5) >= sizeof(sc->id))
				bail("%s:%d: too many scripts, or too long a name", file, no);
			strcpy(sc->id, s + 5);
			sc->file = file;
			sc->ref = 1;
		} else if (!sc) {
			bail("%s:%d: a script begins with 'rule NAME'", file, no);
		} else if (is_side(s, &who, &early, &t)) {
			add_line(sc, no, who, early, t);
		} else {
			header(sc, file, no, s);
		}
	}
}

static int is_script(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && !strcmp(dot, ".ptl");
}

/* rules: NAME | SECTION | SENTENCE */
static void read_rules(const char *dir)
{
	char *save = NULL;

	for (char *s = strtok_r(slurp(dir, "rules"), "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
		size_t l = strcspn(s, " |");

		if (*s == '#')
			continue;
		if (l >= sizeof(rules->id) || n_rules == 512)
			bail("rules: %s", s);
		memcpy(rules[n_rules].id, s, l);
		for (int i = 0; i < n_scripts; i++)
			if (!strcmp(scripts[i].id, rules[n_rules].id))
				rules[n_rules].script = &scripts[i];
		n_rules++;
	}
}

static int word_in(const char *list, const char *word)
{
	size_t l = strlen(word);

	for (const char *at = list; at && (at = strstr(at, word)) != NULL; at++)
		if ((at == list || at[-1] == ' ') && (!at[l] || at[l] == ' '))
			return 1;
	return 0;
}

/* On a path with T_ASKED only scripts that name it run: it is made for them. */
static int runs_here(const struct script *sc)
{
	if (getenv("T_ASKED") && !sc->only)
		return 0;
	return !(sc->only && !word_in(sc->only, path)) && !(sc->not && word_in(sc->not, path));
}

static int wanted_here(const struct rule *r, const char *only)
{
	return (!only || strstr(r->id, only)) && (!r->script || runs_here(r->script));
}

/* Scripts of what holds before PtlInit: lines of both sides, no queue, no other rank. */
static void run_before(struct rule *r)
{
	static const struct { const char *name; struct val v; } builtin[] = {
		{ "ni", { .kind = V_NUM, .n = PTL_INVALID_HANDLE } }, { "eq", { .kind = V_NUM, .n = PTL_EQ_NONE } },
		{ "any", { .kind = V_ID, .id = { PTL_NID_ANY, PTL_PID_ANY } } },
	};
	int choice[MAX_WITH] = { 0 };

	script = r->script;
	calls = calls_ref;
	for (size_t i = 0; i < sizeof(builtin) / sizeof(*builtin); i++)
		var_set(&side[0].vars, builtin[i].name, &builtin[i].v);
	for (int k = 0; k < script->n; k++)
		run_line(&side[0], &script->line[k], choice);
	r->bad = t_bad_;
	t_bad_ = 0;
	side[0].failed = 0;
	atomic_store(t_word(W_FAILED), 0);
}

static void one_rule(const struct rule *r, int xt)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", r->id, xt ? " [xt]" : "");
	if (!r->script) {
		ok(0, "%s: no script", name);
		return;
	}
	calls = xt ? calls_xt : calls_ref;
	if (r->script->before)
		t_bad_ = r->bad;
	else
		run_all(r->script);
	ok(!t_bad_, "%s", name);
	if (stop_at_first && t_bad_) {
		fflush(stdout);
		_exit(1);
	}
}

/* Limits that scripts can reach. */
static ptl_ni_limits_t few = { .max_mes = 24, .max_mds = 24, .max_eqs = 8, .max_ac_index = 3, .max_pt_index = 12,
			       .max_md_iovecs = 4, .max_me_list = 8, .max_getput_md = 16 };

int main(int argc, char **argv)
{
	const char *src = getenv("P3_SRC"), *only = getenv("T_ONLY"), *patience = getenv("T_PATIENCE");
	struct dirent **list = NULL;
	char dir[PATH_MAX];
	int n, lines = 0;

	snprintf(dir, sizeof(dir), "%s", argc > 1 ? argv[1] : "tests/conform");
	if (argc < 2 && src)
		snprintf(dir, sizeof(dir), "%s/tests/conform", src);
	early_all = getenv("T_EARLY") != NULL;
	stop_at_first = getenv("T_STOP") != NULL;
	path = getenv("T_PATH") ? getenv("T_PATH") : "?";
	n = scandir(dir, &list, is_script, alphasort);
	for (int i = 0; i < n; i++)
		read_scripts(dir, list[i]->d_name);
	read_rules(dir);
	if (!n_rules || n <= 0)
		bail("no rules, or no scripts, in %s", dir);
	run_no = 1;
	for (int i = 0; i < n_rules; i++)
		if (rules[i].script && rules[i].script->before)
			run_before(&rules[i]);
	if (getenv("T_LIMITS"))
		p_desired = &few;
	p_init();
	if (patience)
		p_patience = atof(patience);
	hang_bell();
	t_barrier();
	for (int i = 0; i < 2; i++) {
		side[i].mine = i ? p_tgt : p_ini;
		side[i].self = self;
		side[i].peer = peer;
	}
	for (int i = 0; i < n_rules; i++)
		if (wanted_here(&rules[i], only))
			lines += rules[i].script ? rules[i].script->ref + rules[i].script->xt : 1;
	plan(lines);
	for (int i = 0; i < n_rules; i++) {
		if (!wanted_here(&rules[i], only))
			continue;
		if (!rules[i].script || rules[i].script->ref)
			one_rule(&rules[i], 0);
		if (rules[i].script && rules[i].script->xt)
			one_rule(&rules[i], 1);
	}
	t_barrier();
	PtlFini();
	return exit_status();
}

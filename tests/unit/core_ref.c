/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_ref.c - the slow reference: see core_ref.h
 *
 * Numbers in comments are sections of the Portals 3.3 document. Where that leaves a choice, the project's own notes
 * decide (portals/doc/SPEC-NOTES).
 */
#include <string.h>
#include "core_ref.h"

/* ---- event queues ---- */

bool r_eq_may_go(const struct r_ni *r, int eq, bool single)
{
	return r->eq[eq].retired && (single || !r->sends) && !r->eq[eq].ops;
}

int r_eq_alloc(struct r_ni *r, uint64_t count, bool single, int *out)
{
	uint32_t n = 4, in_use = 0;	/* never fewer than one operation may log */
	struct r_eq *q;

	while (n < count)
		n *= 2;			/* "at least that many slots" */
	for (int i = 0; i < r->n_eq; i++) {
		if (r_eq_may_go(r, i, single))
			r->eq[i].retired = false;
		in_use += r->eq[i].live || r->eq[i].retired;
	}
	if (in_use == r->max_eq)
		return PTL_NO_SPACE;
	*out = r->n_eq++;
	q = &r->eq[*out];
	memset(q, 0, sizeof(*q));
	q->live = true;
	q->n = n;
	return PTL_OK;
}

/* Its place is used again when nobody can be about to post there: looked at when one is wanted, or space for a vector. */
int r_eq_free(struct r_ni *r, int eq)
{
	struct r_eq *q = &r->eq[eq];

	if (!q->live)
		return PTL_EQ_INVALID;
	q->live = false;
	q->retired = true;
	return PTL_OK;
}

bool r_eq_idle(const struct r_ni *r, int eq)
{
	return r->eq[eq].head == r->eq[eq].tail;
}

bool r_eq_blocked(const struct r_ni *r, int eq, int64_t except, int more)
{
	const struct r_eq *q = eq >= 0 ? &r->eq[eq] : NULL;

	if (!q || !q->live)
		return false;
	if (except >= (int64_t)q->n && !q->ev[except - q->n].posted)
		return true;
	for (uint32_t t = 0; t < q->tail; t++)
		if (!q->ev[t].posted && t != except && t + q->n < q->tail + (uint32_t)more)
			return true;
	return false;
}

/* 3.13: a circular buffer; the writer never waits; after an overrun the oldest survivor comes with a notice. */
int r_eq_read(struct r_ni *r, int eq, bool take, struct r_event *ev, uint32_t *seq)
{
	struct r_eq *q = &r->eq[eq];

	for (;;) {
		bool over = false;
		int rc;

		for (uint32_t t = q->head + q->n; t < q->tail; t += q->n)
			over |= q->ev[t].posted;
		if (over) {
			q->dropped = true;
			q->head = q->tail - q->n > q->head ? q->tail - q->n : q->head + 1;
			continue;
		}
		if (q->head >= q->tail || !q->ev[q->head].posted)
			return 0;
		*ev = q->ev[q->head];
		*seq = q->head;
		rc = q->dropped ? -1 : 1;
		if (take) {
			q->head++;
			q->dropped = false;
		}
		return rc;
	}
}

void r_eq_no_ticket(struct r_ni *r, int eq)
{
	struct r_eq *q = &r->eq[eq];

	q->head--;
	q->ev[--q->tail].posted = false;
}

static uint32_t promise(struct r_ni *r, int eq)
{
	return r->eq[eq].tail++;
}

static void post(struct r_ni *r, int eq, uint32_t t, const struct r_event *ev)
{
	r->eq[eq].ev[t] = *ev;
	r->eq[eq].ev[t].posted = true;
}

static int live_eq(const struct r_ni *r, int eq)
{
	return eq >= 0 && r->eq[eq].live ? eq : -1;
}

/* ---- match entries ---- */

static int me_new(struct r_ni *r)
{
	uint32_t n = 0;

	for (int i = 0; i < r->n_me; i++)
		n += r->me[i].live;
	return n == r->max_me ? -1 : r->n_me++;
}

static int place_of(const struct r_ni *r, int me)
{
	int pt = r->me[me].pt, k = 0;

	while (r->list[pt][k] != me)
		k++;
	return k;
}

static void put_at(struct r_ni *r, int me, int pt, int k, ptl_process_id_t id, uint64_t bits, uint64_t ignore,
		   ptl_unlink_t unlink)
{
	memmove(&r->list[pt][k + 1], &r->list[pt][k], sizeof(int) * (size_t)(r->len[pt] - k));
	r->list[pt][k] = me;
	r->len[pt]++;
	r->me[me] = (struct r_me){ .live = true, .id = id, .bits = bits, .ignore = ignore, .unlink = unlink,
				   .pt = pt, .md = -1 };
}

int r_me_attach(struct r_ni *r, uint32_t pt, ptl_process_id_t id, uint64_t bits, uint64_t ignore, ptl_unlink_t unlink,
		ptl_ins_pos_t pos, int *out)
{
	int me;

	if (pt > r->max_pt)
		return PTL_PT_INDEX_INVALID;
	me = me_new(r);
	if (me < 0)
		return PTL_NO_SPACE;
	if (r->len[pt] >= (int)r->max_list)
		return r->n_me--, PTL_ME_LIST_TOO_LONG;
	put_at(r, me, (int)pt, pos == PTL_INS_BEFORE ? 0 : r->len[pt], id, bits, ignore, unlink);
	*out = me;
	return PTL_OK;
}

int r_me_insert(struct r_ni *r, int base, ptl_process_id_t id, uint64_t bits, uint64_t ignore, ptl_unlink_t unlink,
		ptl_ins_pos_t pos, int *out)
{
	int me = me_new(r), pt;

	if (me < 0)
		return PTL_NO_SPACE;
	if (!r->me[base].live)
		return r->n_me--, PTL_ME_INVALID;
	pt = r->me[base].pt;
	if (r->len[pt] >= (int)r->max_list)
		return r->n_me--, PTL_ME_LIST_TOO_LONG;
	put_at(r, me, pt, place_of(r, base) + (pos == PTL_INS_AFTER), id, bits, ignore, unlink);
	*out = me;
	return PTL_OK;
}

static void me_remove(struct r_ni *r, int me)
{
	int pt = r->me[me].pt, k = place_of(r, me);

	r->len[pt]--;
	memmove(&r->list[pt][k], &r->list[pt][k + 1], sizeof(int) * (size_t)(r->len[pt] - k));
	r->me[me].live = false;
}

int r_me_unlink(struct r_ni *r, int me)
{
	struct r_me *m = &r->me[me];

	if (!m->live)
		return PTL_ME_INVALID;
	if (m->md >= 0 && r->md[m->md].pending)
		return PTL_ME_IN_USE;
	if (m->md >= 0)
		r->md[m->md].live = false;
	me_remove(r, me);
	return PTL_OK;
}

/* ---- memory descriptors ---- */

static int md_check(const struct r_ni *r, const ptl_md_t *v)
{
	if (v->options & PTL_MD_IOVEC)
		return v->length > r->max_iov ? PTL_MD_ILLEGAL : PTL_OK;
	return v->length + (uint64_t)(uintptr_t)v->start < v->length ? PTL_MD_ILLEGAL : PTL_OK;
}

static void md_set(struct r_md *m, const ptl_md_t *v, uint64_t (*iov)[2], int eq)
{
	m->v = *v;
	if (m->v.threshold < 0 && m->v.threshold != PTL_MD_THRESH_INF)
		m->v.threshold = 0;
	m->total = v->length;
	if (v->options & PTL_MD_IOVEC) {
		m->total = 0;
		memcpy(m->iov, iov, v->length * sizeof(*iov));
		for (uint64_t i = 0; i < v->length; i++)
			m->total += iov[i][1];
	}
	m->eq = eq;
	m->offset = 0;
	m->spent = false;
	m->plain = v->threshold == PTL_MD_THRESH_INF && eq < 0 && !(v->options & (PTL_MD_IOVEC | PTL_MD_MAX_SIZE));
}

/* The oldest event that can still be read. The core may not know of those before it yet: @all. */
static uint32_t oldest(const struct r_eq *q, bool all)
{
	return !all && q->tail - q->head > q->n ? q->tail - q->n : q->head;
}

/* 3.11: a descriptor that an unread event names is not reused, so it counts as taken. */
static bool named(const struct r_ni *r, int md, bool all)
{
	for (int i = 0; i < r->n_eq; i++)
		for (uint32_t t = oldest(&r->eq[i], all); r->eq[i].live && t < r->eq[i].tail; t++)
			if (r->eq[i].ev[t].posted && r->eq[i].ev[t].md == md)
				return true;
	return false;
}

/* Is an event of that time unread? */
static bool shows(const struct r_ni *r, int md, int epoch)
{
	for (int i = 0; i < r->n_eq; i++)
		for (uint32_t t = oldest(&r->eq[i], false); r->eq[i].live && t < r->eq[i].tail; t++)
			if (r->eq[i].ev[t].posted && r->eq[i].ev[t].md == md && r->eq[i].ev[t].epoch == epoch)
				return true;
	return false;
}

/*
 * Certainly not needed, should the core look now: its queue is gone; or has been read out, with nothing in progress on
 * the MD. It may be needed again: the core has not looked, and when it does finds another event in the queue.
 */
static bool keeper_gone(const struct r_ni *r, const struct r_keeper *k)
{
	const struct r_md *m = &r->md[k->md];

	return !r->eq[k->eq].live || ((!k->busy || !m->live || !m->pending) && r_eq_idle(r, k->eq));
}

/*
 * Descriptors in use: at least, and at most. The core is free to hold a keeper until its queue has been read as far as it was
 * filled when it looked, and with it the MD and what was kept later.
 */
static void in_use(struct r_ni *r, uint32_t *least, uint32_t *most)
{
	*least = *most = 0;
	for (int i = 0; i < r->n_md; i++) {
		bool held = r->md[i].live || named(r, i, false), keeps = false;

		for (int k = 0; k < r->n_keeper; k++) {	/* in order of time: who holds one holds what was kept later */
			if (r->keeper[k].md != i)
				continue;
			keeps |= !keeper_gone(r, &r->keeper[k]);
			*least += shows(r, i, r->keeper[k].epoch);
			*most += keeps;
		}
		*least += held;
		*most += held || keeps || named(r, i, true);
	}
}

/* Is there a descriptor? Between the two the core decides. */
static bool no_space(struct r_ni *r)
{
	uint32_t least, most;

	in_use(r, &least, &most);
	return least >= r->max_md || (most >= r->max_md && r->full);
}

static int md_new(struct r_ni *r, const ptl_md_t *v, uint64_t (*iov)[2], int eq, ptl_unlink_t op, int *out)
{
	int rc = md_check(r, v);

	if (rc != PTL_OK)
		return rc;
	if (no_space(r))
		return PTL_NO_SPACE;
	*out = r->n_md++;
	memset(&r->md[*out], 0, sizeof(r->md[0]));
	md_set(&r->md[*out], v, iov, eq);
	r->md[*out].op = op;
	r->md[*out].me = -1;
	return PTL_OK;
}

int r_md_attach(struct r_ni *r, int me, const ptl_md_t *v, uint64_t (*iov)[2], int eq, ptl_unlink_t op, int *out)
{
	int md, rc = md_new(r, v, iov, eq, op, &md);

	if (rc != PTL_OK)
		return rc;
	if (!r->me[me].live)
		return r->n_md--, PTL_ME_INVALID;
	if (r->me[me].md >= 0)
		return r->n_md--, PTL_ME_IN_USE;
	r->me[me].md = md;
	r->md[md].me = me;
	r->md[md].live = true;
	*out = md;
	return PTL_OK;
}

int r_md_bind(struct r_ni *r, const ptl_md_t *v, uint64_t (*iov)[2], int eq, ptl_unlink_t op, int *out)
{
	int rc = md_new(r, v, iov, eq, op, out);

	if (rc == PTL_OK)
		r->md[*out].live = true;
	return rc;
}

static void md_remove(struct r_ni *r, int md)
{
	int me = r->md[md].me;

	r->md[md].live = false;
	if (me < 0)
		return;
	r->me[me].md = -1;
	if (r->me[me].unlink == PTL_UNLINK)
		me_remove(r, me);
}

int r_md_unlink(struct r_ni *r, int md)
{
	if (!r->md[md].live)
		return PTL_MD_INVALID;
	if (r->md[md].pending)
		return PTL_MD_IN_USE;
	md_remove(r, md);
	return PTL_OK;
}

int r_md_update(struct r_ni *r, int md, ptl_md_t *old, int *old_eq, const ptl_md_t *v, uint64_t (*iov)[2], int eq,
		int test)
{
	struct r_md *m = &r->md[md];
	int rc = v ? md_check(r, v) : PTL_OK;

	if (rc != PTL_OK)
		return rc;
	if (!m->live)
		return PTL_MD_INVALID;
	*old = m->v;
	*old_eq = m->eq;
	if (!v)
		return PTL_OK;
	if (test >= 0 && (m->pending || !r_eq_idle(r, test)))
		return PTL_MD_NO_UPDATE;
	if (m->eq >= 0 && r->eq[m->eq].live) {
		/* certain where an event shows it; else the core may know that none will */
		if ((shows(r, md, m->epoch) || (r->full && (m->pending || named(r, md, true) || !r_eq_idle(r, m->eq)))) &&
		    no_space(r))
			return PTL_NO_SPACE;
		if (r->n_keeper < R_MAX)
			r->keeper[r->n_keeper++] = (struct r_keeper){ .busy = m->pending, .md = md, .eq = m->eq,
								      .epoch = m->epoch };
	}
	m->epoch++;
	md_set(m, v, iov, eq);
	return PTL_OK;
}

int r_memd_post(struct r_ni *r, int base, ptl_process_id_t id, uint64_t bits, uint64_t ignore, ptl_unlink_t unlink,
		ptl_ins_pos_t pos, const ptl_md_t *v, uint64_t (*iov)[2], int eq, ptl_unlink_t op, int test, int *me,
		int *md)
{
	int rc;

	if (test >= 0 && !r_eq_idle(r, test))
		return PTL_MD_NO_UPDATE;
	rc = md_new(r, v, iov, eq, op, md);
	if (rc != PTL_OK)
		return rc;
	rc = r_me_insert(r, base, id, bits, ignore, unlink, pos, me);
	if (rc != PTL_OK)
		return r->n_md--, rc;
	r->me[*me].md = *md;
	r->md[*md].me = *me;
	r->md[*md].live = true;
	return PTL_OK;
}

/* ---- operations ---- */

static bool active(const struct r_md *m)
{
	return m->live && m->v.threshold != 0 && !m->spent;
}

/* 4.4 */
static bool fits(const struct r_md *m, const struct r_req *q, uint64_t *mlength, uint64_t *offset)
{
	uint64_t off = m->v.options & PTL_MD_MANAGE_REMOTE ? q->roffset : m->offset;

	if (off > m->total)
		return false;
	*offset = off;
	*mlength = q->rlength;
	if (q->rlength > m->total - off) {
		*mlength = m->total - off;
		return m->v.options & PTL_MD_TRUNCATE;
	}
	return true;
}

int r_match(struct r_ni *r, const struct r_req *q, uint64_t *mlength, uint64_t *offset)
{
	const struct r_ac *a;
	bool put = q->type != R_GET, get = q->type != R_PUT;

	if (q->pt > r->max_pt || q->ac > r->max_ac)
		return -1;
	a = &r->ac[q->ac];
	if ((a->uid != PTL_UID_ANY && a->uid != q->uid) || (a->jid != PTL_JID_ANY && a->jid != q->jid) ||
	    (a->nid != PTL_NID_ANY && a->nid != q->nid) || (a->pid != PTL_PID_ANY && a->pid != q->pid) ||
	    (a->pt != PTL_PT_INDEX_ANY && a->pt != q->pt))
		return -1;
	for (int k = 0; k < r->len[q->pt]; k++) {
		const struct r_me *e = &r->me[r->list[q->pt][k]];
		const struct r_md *m = e->md >= 0 ? &r->md[e->md] : NULL;

		if (e->id.nid != PTL_NID_ANY && e->id.nid != q->nid)
			continue;
		if (e->id.pid != PTL_PID_ANY && e->id.pid != q->pid)
			continue;
		if ((e->bits & ~e->ignore) != (q->match_bits & ~e->ignore))
			continue;
		if (!m || !active(m))
			continue;
		if ((put && !(m->v.options & PTL_MD_OP_PUT)) || (get && !(m->v.options & PTL_MD_OP_GET)))
			continue;
		if (fits(m, q, mlength, offset))
			return e->md;
	}
	return -1;
}

static struct r_event event_of(const struct r_op *op, int kind, uint32_t fail)
{
	return (struct r_event){ .kind = kind, .md = op->md, .initiator = op->initiator, .pt = op->pt,
				 .threshold = op->threshold, .match_bits = op->match_bits, .hdr_data = op->hdr_data,
				 .rlength = op->rlength, .mlength = op->mlength, .offset = op->offset,
				 .link = op->link, .fail = fail, .epoch = op->epoch, .shown = op->shown };
}

static void under_way(struct r_ni *r, const struct r_op *op, int by)
{
	if (op->kind == PTL_EVENT_SEND_END || op->kind == PTL_EVENT_REPLY_END)
		r->sends += by;
	else if (op->eq >= 0)
		r->eq[op->eq].ops += by;
}

/* 4.5: charge the MD and promise the events of an operation that begins. */
static void begin(struct r_ni *r, struct r_op *op, bool max_size)
{
	struct r_md *m = &r->md[op->md];
	bool start = !(m->v.options & PTL_MD_EVENT_START_DISABLE), end = !(m->v.options & PTL_MD_EVENT_END_DISABLE);
	bool was = m->spent;

	m->pending++;
	if (m->v.threshold != PTL_MD_THRESH_INF && --m->v.threshold == 0)
		m->spent = true;
	if (max_size && (m->v.options & PTL_MD_MAX_SIZE) && m->total - m->offset < m->v.max_size)
		m->spent = true;
	op->live = true;
	op->threshold = m->v.threshold;
	op->epoch = m->epoch;
	op->shown = m->v;
	op->eq = m->eq;
	op->no_end = !end;
	under_way(r, op, 1);
	op->ticket = -1;
	op->link = 0;
	if (live_eq(r, m->eq) >= 0 && (start || end)) {
		op->link = promise(r, m->eq);
		if (!start)
			op->ticket = op->link;
	}
	if (m->spent && !was)
		m->spent_link = op->link;
	if (live_eq(r, m->eq) >= 0 && start) {
		struct r_event ev = event_of(op, op->kind - 1, PTL_NI_OK);

		post(r, m->eq, op->link, &ev);
	}
}

/* 4.6: the last operation on a spent MD unlinks it; UNLINK has the link of the one that spent it. */
static void done(struct r_ni *r, int md, struct r_event ev)
{
	struct r_md *m = &r->md[md];

	if (--m->pending || !m->spent || m->op != PTL_UNLINK)
		return;
	if (live_eq(r, m->eq) >= 0) {
		ev.kind = PTL_EVENT_UNLINK;
		ev.fail = PTL_NI_OK;
		ev.link = m->spent_link;
		ev.threshold = m->v.threshold;
		ev.epoch = m->epoch;
		ev.shown = m->v;
		post(r, m->eq, promise(r, m->eq), &ev);
	}
	md_remove(r, md);
}

static void end(struct r_ni *r, struct r_op *op, uint32_t fail)
{
	struct r_event ev = event_of(op, op->kind, fail);

	if (live_eq(r, op->eq) >= 0 && !op->no_end) {
		if (op->ticket < 0)
			op->ticket = promise(r, op->eq);
		post(r, op->eq, (uint32_t)op->ticket, &ev);
	}
	op->live = false;
	under_way(r, op, -1);
	done(r, op->md, ev);
}

static bool admitted(const struct r_ni *r, const struct r_req *q)
{
	const struct r_ac *a = &r->ac[q->ac <= r->max_ac ? q->ac : 0];

	return q->pt <= r->max_pt && q->ac <= r->max_ac && (a->uid == q->uid || a->uid == PTL_UID_ANY) &&
	       (a->jid == q->jid || a->jid == PTL_JID_ANY) && (a->nid == q->nid || a->nid == PTL_NID_ANY) &&
	       (a->pid == q->pid || a->pid == PTL_PID_ANY) && (a->pt == q->pt || a->pt == PTL_PT_INDEX_ANY);
}

/*
 * Nobody took @q, of a polled entry: is its owner about to post something that would? So if the list is empty, or an
 * entry for @q has no MD, one that is used up, or one too full.
 */
static bool worth_waiting(const struct r_ni *r, const struct r_req *q)
{
	unsigned op = q->type == R_PUT ? PTL_MD_OP_PUT : q->type == R_GET ? PTL_MD_OP_GET : PTL_MD_OP_PUT | PTL_MD_OP_GET;

	if (!admitted(r, q))
		return false;
	if (!r->len[q->pt])
		return true;
	for (int k = 0; k < r->len[q->pt]; k++) {
		const struct r_me *e = &r->me[r->list[q->pt][k]];
		const struct r_md *m = &r->md[e->md >= 0 ? e->md : 0];

		if ((e->id.nid != q->nid && e->id.nid != PTL_NID_ANY) || (e->id.pid != q->pid && e->id.pid != PTL_PID_ANY) ||
		    ((e->bits ^ q->match_bits) & ~e->ignore))
			continue;
		if (e->md < 0)
			return true;
		if ((m->v.options & op) != op)
			continue;
		if (!active(m) || (!(m->v.options & PTL_MD_MANAGE_REMOTE) && q->rlength <= m->total))
			return true;
	}
	return false;
}

/* A polled entry takes puts only, and only by its owner's hand. */
int r_target_begin(struct r_ni *r, const struct r_req *q, bool own, bool may_wait, struct r_op *op)
{
	static const int kind[] = { [R_PUT] = PTL_EVENT_PUT_END, [R_GET] = PTL_EVENT_GET_END,
				    [R_GETPUT] = PTL_EVENT_GETPUT_END };
	struct r_md *m;
	int eq;

	memset(op, 0, sizeof(*op));
	op->md = r_match(r, q, &op->mlength, &op->offset);
	if (q->pt < 32 && (r->polled >> q->pt & 1) && admitted(r, q)) {
		if (q->type == R_PUT && !own)
			return R_WAIT;
		if (q->type != R_PUT)
			op->md = -1, may_wait = false;
	}
	if (op->md < 0 && may_wait && worth_waiting(r, q))
		return R_WAIT;
	if (op->md < 0) {
		r->drops++;
		r->drop_bytes += q->rlength;
		return R_DROPPED;
	}
	m = &r->md[op->md];
	eq = live_eq(r, m->eq);
	if (may_wait && eq >= 0 && r->eq[eq].tail - r->eq[eq].head + 3 > r->eq[eq].n)
		return R_WAIT;
	op->kind = kind[q->type];
	op->initiator = q->src;
	op->pt = (int)q->pt;
	op->match_bits = q->match_bits;
	op->hdr_data = q->hdr_data;
	op->rlength = q->rlength;
	op->want_ack = q->ack && q->type == R_PUT && !(m->v.options & PTL_MD_ACK_DISABLE);
	if (!(m->v.options & PTL_MD_MANAGE_REMOTE))
		m->offset += op->mlength;
	begin(r, op, !(m->v.options & PTL_MD_MANAGE_REMOTE));
	if (q->type != R_GET) {
		r->recvs++;
		r->recv_bytes += op->mlength;
	}
	return R_MATCHED;
}

bool r_target_end(struct r_ni *r, struct r_op *op, uint32_t fail)
{
	end(r, op, fail);
	return op->want_ack && !fail;
}

int r_send_begin(struct r_ni *r, int md, bool whole, uint64_t off, uint64_t len, int self, int pt, uint64_t bits,
		 uint64_t hdr, bool single, struct r_op *op)
{
	struct r_md *m = &r->md[md];

	memset(op, 0, sizeof(*op));
	if (!active(m))
		return PTL_MD_INVALID;
	if (whole)
		len = m->total;
	if (off > m->total || len > m->total - off)
		return PTL_MD_ILLEGAL;
	*op = (struct r_op){ .kind = PTL_EVENT_SEND_END, .md = md, .initiator = self, .pt = pt, .match_bits = bits,
			     .hdr_data = hdr, .rlength = len, .mlength = len, .offset = off };
	if (m->plain && single) {
		op->plain = op->live = true;
		return PTL_OK;
	}
	begin(r, op, false);
	return PTL_OK;
}

void r_send_end(struct r_ni *r, struct r_op *op, uint32_t fail)
{
	if (op->plain)
		op->live = false;
	else
		end(r, op, fail);
}

/* 4.7 */
void r_ack(struct r_ni *r, int md, int from, int pt, uint64_t bits, uint64_t roffset, uint64_t rlength,
	   uint64_t mlength)
{
	struct r_md *m = &r->md[md];
	struct r_event ev = { .kind = PTL_EVENT_ACK, .md = md, .initiator = from, .pt = pt, .match_bits = bits,
			      .offset = roffset, .rlength = rlength, .mlength = mlength, .epoch = m->epoch,
			      .shown = m->v };

	if (!active(m)) {
		r->drops++;
		return;
	}
	m->pending++;
	if (live_eq(r, m->eq) >= 0)
		ev.link = promise(r, m->eq);
	if (m->v.threshold != PTL_MD_THRESH_INF && --m->v.threshold == 0) {
		m->spent = true;
		m->spent_link = ev.link;
	}
	ev.threshold = m->v.threshold;
	if (live_eq(r, m->eq) >= 0)
		post(r, m->eq, ev.link, &ev);
	done(r, md, ev);
}

/* 4.8 */
bool r_reply_begin(struct r_ni *r, int md, uint64_t off, uint64_t rlength, uint64_t mlength, int from, int pt,
		   uint64_t bits, struct r_op *op)
{
	struct r_md *m = &r->md[md];
	uint64_t room = off > m->total ? 0 : m->total - off;

	memset(op, 0, sizeof(*op));
	if (!active(m)) {
		r->drops++;
		return false;
	}
	*op = (struct r_op){ .kind = PTL_EVENT_REPLY_END, .md = md, .initiator = from, .pt = pt, .match_bits = bits,
			     .rlength = rlength, .mlength = mlength < room ? mlength : room, .offset = off };
	begin(r, op, false);
	return true;
}

void r_reply_end(struct r_ni *r, struct r_op *op, uint32_t fail)
{
	end(r, op, fail);
}

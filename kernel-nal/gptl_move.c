// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_move.c - put, get, exchange, atomic operation, between processes of this node
 *
 * The caller's system call does it all: it charges its own descriptor, matches in the target's lists, copies between
 * its own memory and the target's pages, logs both sides' events, and wakes those who sleep for them. Matching and
 * logging are done with bottom halves off (gptl_env.h); a copy may fault and be preempted. A record of the operation
 * (struct p3l_op) keeps the target's descriptor in use meanwhile. Nothing waits for the target.
 *
 * A short put whose bytes are there on both sides never turns bottom halves on in between: so the target cannot go
 * (RCU), and needs no reference. What is not there is copied the usual way, from where that copy has stopped.
 */
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include "gptl.h"

#define RECORD_TRIES	1000		/* milliseconds to wait for a free record of the target */

struct region {
	u64 start, iov, off;
	u32 iov_n;
};

static u32 fail_of(int rc)
{
	return rc == 0 ? PTL_NI_OK : rc == -ESRCH ? PTL_NI_DIED_NP : PTL_NI_FAULT_NP;
}

/* Initialisers, so that each is written once: Debian's kernels clear what has none. */
#define HDR_OF(ni, a) {									\
	.type = (a)->type, .ack = (a)->type == P3L_PUT && (a)->ack, .src = (u16)(ni)->slot,	\
	.nid = (ni)->l->nid, .pid = (ni)->l->pid, .uid = (ni)->uid, .jid = (ni)->l->jid,	\
	.pt = (a)->pt, .ac = (a)->ac, .match_bits = (a)->bits, .roffset = (a)->roffset,		\
	.hdr_data = (a)->hdr_data }
#define SEND_OF(a) {									\
	.md = { (a)->put.idx, (a)->put.gen }, .loff = (a)->put_off, .len = (a)->len,		\
	.match_bits = (a)->bits, .hdr_data = (a)->hdr_data, .pt = (a)->pt }

/*
 * A free record in @l, of this processor's row, or of another one: rows are lock values and counters, and more than one
 * task may use one (as threads do). *@row is that row. [entered]
 */
static struct p3l_op *op_any(struct p3l_env *env, struct p3l_ni *l, u32 *row)
{
	struct p3l_op *op = p3l_op_get(env, l);
	u32 self = env->self, i;

	*row = self;
	for (i = 0; unlikely(!op) && i < GPTL_SLOTS - 1; i++) {
		env->self = *row = (self + i) % GPTL_SLOTS + 1;
		op = p3l_op_get(env, l);
	}
	env->self = self;
	return op;
}

/* Enters if there is one. */
static struct p3l_op *op_try(struct p3l_env *env, struct p3l_ni *l, u32 *row)
{
	struct p3l_op *op;

	gptl_enter(env);
	op = op_any(env, l, row);
	if (!op)
		gptl_leave();
	return op;
}

static struct p3l_op *op_get(struct p3l_env *env, struct p3l_ni *l, u32 *row)
{
	struct p3l_op *op = op_try(env, l, row);
	int i;

	for (i = 0; !op && i < RECORD_TRIES && !fatal_signal_pending(current); i++) {
		usleep_range(500, 1000);
		op = op_try(env, l, row);
	}
	return op;
}

/* Its end at the target, which looks in which row it stands. True: an acknowledgement is to be sent. [entered] */
static bool op_end(const struct p3l_env *env, struct gptl_ni *target, struct p3l_op *op, u32 row, u32 fail)
{
	struct p3l_env of_row = { .self = row, .alive = env->alive, .relax = env->relax };

	return p3l_target_end(&of_row, target->l, op, fail);
}

/*
 * A row's counters are written by its processor, with bottom halves off: where each has one of its own, that need not
 * be atomic.
 */
static void count_alone(struct p3l_env *env)
{
	env->single = nr_cpu_ids <= GPTL_SLOTS;
}

/*
 * A plain descriptor need not be charged if nobody can be in another call of this process: whoever is has its memory,
 * and so would a thread, which nobody else can begin. [entered]
 */
static int send_begin(struct p3l_env *env, struct gptl_ni *ni, struct p3l_send *s)
{
	bool single = env->single;
	int rc;

	env->single = gptl_one_thread(ni);
	rc = p3l_send_begin(env, ni->l, s);
	env->single = single;
	return rc;
}

/* @n bytes between region @t of @target (its descriptor @md) and region @o of ours, @own. */
static int move_bytes(struct gptl_ni *target, u32 md, struct gptl_ni *own, bool put, const struct region *t,
		      const struct region *o, u64 n)
{
	u64 at = 0, nt = 0, ao = 0, no = 0;
	struct p3l_walk wt, wo;
	int rc;

	if (!n)
		return 0;
	if (likely(!t->iov && !o->iov))
		return gptl_copy(target, md, t->start + t->off, n, put, o->start + o->off);
	if (!p3l_walk_start(target->l, t->start, t->iov, t->iov_n, t->off, n, &wt) ||
	    !p3l_walk_start(own->l, o->start, o->iov, o->iov_n, o->off, n, &wo))
		return -EFAULT;
	while (n) {
		u64 k;

		if ((!nt && !p3l_walk_next(&wt, &at, &nt)) || (!no && !p3l_walk_next(&wo, &ao, &no)))
			return -EFAULT;
		k = min(nt, no);
		rc = gptl_copy(target, md, at, k, put, ao);
		if (rc)
			return rc;
		at += k, nt -= k, ao += k, no -= k, n -= k;
	}
	return 0;
}

static long put_nowhere(struct gptl_ni *ni, struct p3l_send *s)
{
	struct p3l_env env = { 0 };
	int rc;

	gptl_enter(&env);
	rc = p3l_send_begin(&env, ni->l, s);
	if (rc == PTL_OK)
		p3l_send_end(&env, ni->l, s, PTL_NI_FAIL);
	gptl_leave();
	return rc;
}

/* Would p3l_send_begin() take it? Sets its length. */
static int send_ok(const struct p3l_env *env, struct gptl_ni *ni, struct p3l_send *s)
{
	const struct p3l_md *md;
	u32 pt;
	int rc = p3l_md_lock(env, ni->l, s->md, &pt);

	if (rc != PTL_OK)
		return rc;
	md = p3l_md(ni->l, s->md.idx);
	if (s->len == P3L_WHOLE)
		s->len = md->length;
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT))
		rc = PTL_MD_INVALID;
	else if (s->loff > md->length || s->len > md->length - s->loff || s->len > P3L_LANE_MAX)
		rc = PTL_MD_ILLEGAL;
	p3l_unlock(ni->l, pt);
	return rc;
}

/*
 * The entry is polled: what finds no room is refused, and then nothing may have been charged. So it is matched first.
 * PTL_OK and *@v, or a code; then the record is free again. [entered]
 */
static int begin_polled(struct p3l_env *env, struct gptl_ni *ni, struct gptl_ni *target, struct p3l_hdr *h,
			struct p3l_send *s, struct p3l_op *op, u32 row, enum p3l_verdict *v)
{
	int rc = send_ok(env, ni, s);

	if (rc != PTL_OK) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		return rc;
	}
	h->rlength = s->len;
	*v = p3l_target_begin(env, target->l, h, op, true);
	if (*v == P3L_WAIT) {
		p3l_count(env, &p3l_row(target->l, env->self - 1)->stats.refused, 1);
		return PTL_NO_SPACE;
	}
	rc = send_begin(env, ni, s);
	if (rc != PTL_OK && *v == P3L_MATCHED)	/* another thread has unlinked it in between */
		op_end(env, target, op, row, PTL_NI_FAIL);
	return rc;
}

static int begin_put(struct p3l_env *env, struct gptl_ni *ni, struct gptl_ni *target, struct p3l_hdr *h,
		     struct p3l_send *s, struct p3l_op *op, u32 row, enum p3l_verdict *v)
{
	int rc;

	if (h->ack) {
		h->md = s->md.idx;
		h->md_gen = s->md.gen;
	}
	if (h->pt < P3L_MAX_PT && test_bit((int)h->pt, target->polled))
		return begin_polled(env, ni, target, h, s, op, row, v);
	rc = send_begin(env, ni, s);
	if (rc != PTL_OK) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		return rc;
	}
	h->rlength = s->len;
	*v = p3l_target_begin(env, target->l, h, op, false);
	return PTL_OK;
}

/*
 * The @n bytes of a put that has been matched. [entered; left and entered where it takes its time] *@held: has a
 * reference to @target, which may go when bottom halves are on else.
 */
static int put_bytes(struct p3l_env *env, struct gptl_ni *ni, struct gptl_ni *target, const struct p3l_op *op,
		     const struct p3l_send *s, u64 n, bool *held)
{
	struct region t = { op->start, op->iov, op->moff, op->iov_n };
	struct region o = { s->start, s->iov, s->loff, s->iov_n };
	u32 md = op->md, now = 0;
	int rc;

	if (likely(!t.iov && !o.iov && n <= GPTL_AT_ONCE)) {
		now = gptl_copy_now(target, md, t.start + t.off, (u32)n, o.start + o.off);
		if (likely(now == n))
			return 0;
	}
	if (!*held)
		*held = kref_get_unless_zero(&target->ref);
	if (!*held)
		return -ESRCH;
	t.off += now;
	o.off += now;
	gptl_leave();
	rc = move_bytes(target, md, ni, true, &t, &o, n - now);
	gptl_enter(env);
	return rc;
}

/* With a record at the target. [entered, and left] */
static long put_begun(struct p3l_env *env, struct gptl_ni *ni, struct gptl_ni *target, struct p3l_hdr *h,
		      struct p3l_send *s, struct p3l_op *op, u32 row, bool *held)
{
	u64 off = 0, mlength = 0;
	bool ack = false, logs = true;
	int rc, moved = 0;
	enum p3l_verdict v;

	count_alone(env);
	rc = begin_put(env, ni, target, h, s, op, row, &v);
	if (rc != PTL_OK)
		goto out;
	if (v == P3L_MATCHED) {
		mlength = op->mlength;
		off = op->moff;
		logs = op->eq;
		moved = put_bytes(env, ni, target, op, s, mlength, held);
		ack = op_end(env, target, op, row, fail_of(moved));
		count_alone(env);
	}
	p3l_send_end(env, ni->l, s, fail_of(moved));
	env->single = false;
	if (ack)
		p3l_ack(env, ni->l, s->md, target->slot, h->pt, h->match_bits, off, h->rlength, mlength);
out:
	if (logs)
		gptl_wake(target);
	gptl_leave();
	if (rc != PTL_OK || ack || !s->plain)
		gptl_wake(ni);
	return rc;
}

static long put(struct gptl_ni *ni, const struct gptl_move *a)
{
	struct p3l_send s = SEND_OF(a);
	struct p3l_hdr h = HDR_OF(ni, a);
	struct p3l_env env = { 0 };
	struct gptl_ni *target;
	struct p3l_op *op;
	bool held = false;
	long rc = PTL_NO_SPACE;
	u32 row;

	gptl_enter(&env);
	target = gptl_ni_seen(ni, a->slot, a->nid, a->pid);
	op = target ? op_any(&env, target->l, &row) : NULL;
	if (unlikely(!op)) {
		held = target && kref_get_unless_zero(&target->ref);
		gptl_leave();
		if (!held) {
			rc = put_nowhere(ni, &s);
			gptl_wake(ni);
			return rc;
		}
		op = op_get(&env, target->l, &row);
	}
	if (op)
		rc = put_begun(&env, ni, target, &h, &s, op, row, &held);
	if (held)
		gptl_ni_put(target);
	return rc;
}

static long get(struct gptl_ni *ni, struct gptl_ni *target, struct p3l_hdr *h, struct p3l_reply *r)
{
	struct p3l_env env = { 0 };
	struct p3l_op *op = NULL;
	u32 fail = PTL_NI_OK, row;
	bool xt, begun;
	int rc;

	if (target) {
		op = op_get(&env, target->l, &row);
		if (!op)
			return PTL_NO_SPACE;
	} else {
		gptl_enter(&env);
	}
	rc = p3l_get_begin(&env, ni->l, r, &xt);
	if (rc == PTL_OK && xt)
		p3l_get_sent(&env, ni->l, r->md, r->off, r->mlength, h, op ? PTL_NI_OK : PTL_NI_FAIL);
	if (rc != PTL_OK || !op) {
		if (op)
			p3_store_rel(&op->state, P3L_OP_IDLE);
		gptl_leave();
		return rc;			/* nobody there: no reply ever comes */
	}
	h->rlength = r->rlength = r->mlength;
	h->md = r->md.idx;
	h->md_gen = r->md.gen;
	r->target_slot = target->slot;
	if (p3l_target_begin(&env, target->l, h, op, false) != P3L_MATCHED) {
		gptl_leave();
		return PTL_OK;
	}
	r->mlength = op->mlength;
	op->gets++;
	op->get_length += op->mlength;
	begun = p3l_reply_begin(&env, ni->l, r);
	if (begun) {
		struct region t = { op->start, op->iov, op->moff, op->iov_n };
		struct region o = { r->start, r->iov, r->off, r->iov_n };
		u32 md = op->md;

		gptl_leave();
		fail = fail_of(move_bytes(target, md, ni, false, &t, &o, r->mlength));
		gptl_enter(&env);
	}
	op_end(&env, target, op, row, fail);
	if (begun)
		p3l_reply_end(&env, ni->l, r, fail);
	gptl_leave();
	gptl_wake(target);
	return PTL_OK;
}

/* ---- exchange and atomic operations ---- */

/* Bytes of ours between @buf and region @o. */
static int own_bytes(struct gptl_ni *ni, const struct region *o, u8 *buf, u64 n, bool to)
{
	struct p3l_walk w;
	u64 at, len;

	if (!p3l_walk_start(ni->l, o->start, o->iov, o->iov_n, o->off, n, &w))
		return -EFAULT;
	while (n && p3l_walk_next(&w, &at, &len)) {
		if (to ? copy_to_user(u64_to_user_ptr(at), buf, len) : copy_from_user(buf, u64_to_user_ptr(at), len))
			return -EFAULT;
		buf += len;
		n -= len;
	}
	return n ? -EFAULT : 0;
}

/* The target's bytes in pieces within a page each. How many, or -errno. */
static int pieces_get(struct gptl_ni *target, const struct region *t, u64 n, struct gptl_piece *p)
{
	struct p3l_walk w;
	u64 at, len;
	int k = 0, rc = -EFAULT;

	if (!p3l_walk_start(target->l, t->start, t->iov, t->iov_n, t->off, n, &w))
		return -EFAULT;
	while (n && p3l_walk_next(&w, &at, &len)) {
		while (len) {
			u32 part = (u32)min_t(u64, len, PAGE_SIZE - (at & ~PAGE_MASK));

			rc = gptl_piece_get(target, at, part, &p[k]);
			if (rc)
				goto err;
			k++;
			at += part, len -= part, n -= part;
		}
	}
	if (!n)
		return k;
	rc = -EFAULT;
err:
	while (k > 0)
		gptl_piece_put(&p[--k]);
	return rc;
}

/* One step on the target's bytes: what is in @buf, exchanged for what was there. */
static int step(struct gptl_ni *target, const struct p3l_op *op, u8 *buf)
{
	struct region t = { op->start, op->iov, op->moff, op->iov_n };
	struct gptl_piece p[P3L_MAX_GETPUT];
	struct p3l_env env = { 0 };
	struct p3l_swap held;
	u64 n = op->mlength, whole = op->rlength;
	bool good = true;
	int i, k = n ? pieces_get(target, &t, n, p) : 0;

	if (k < 0)
		return k;
	gptl_enter(&env);
	p3l_swap_lock(&env, target->l, t.start + t.off, n, t.iov, &held);
	for (i = 0; i < k && good; i++) {
		good = p3l_step(op->type, p[i].at, buf, p[i].len, whole, op->hdr_data);
		buf += p[i].len;
	}
	p3l_swap_unlock(target->l, &held);
	gptl_leave();
	while (k > 0)
		gptl_piece_put(&p[--k]);
	return good ? 0 : -EFAULT;
}

bool gptl_own_bytes(struct gptl_ni *ni, u64 start, u64 iov, u32 iov_n, u64 off, u8 *buf, u64 n, bool to)
{
	struct region o = { start, iov, off, iov_n };

	return !own_bytes(ni, &o, buf, n, to);
}

static long at_target(struct gptl_ni *ni, struct gptl_ni *target, struct p3l_env *env, struct p3l_op *op, u32 row,
		      struct p3l_send *s, struct p3l_reply *r)
{
	struct region o = { s->start, s->iov, s->loff, s->iov_n };
	u8 buf[P3L_MAX_GETPUT];
	u32 fail;
	bool begun;

	r->mlength = op->mlength;
	gptl_leave();
	fail = fail_of(own_bytes(ni, &o, buf, op->mlength, false));
	if (!fail)
		fail = fail_of(step(target, op, buf));
	gptl_enter(env);
	p3l_send_end(env, ni->l, s, fail);
	begun = p3l_reply_begin(env, ni->l, r);
	op_end(env, target, op, row, fail);
	if (begun) {
		o = (struct region){ r->start, r->iov, r->off, r->iov_n };
		gptl_leave();
		if (!fail)
			fail = fail_of(own_bytes(ni, &o, buf, r->mlength, true));
		gptl_enter(env);
		p3l_reply_end(env, ni->l, r, fail);
	}
	gptl_leave();
	gptl_wake(target);
	return PTL_OK;
}

/* May a reply of @len bytes go to @r? P3L_WHOLE: an exchange of all of a descriptor, which is cut. */
static int reply_ok(const struct p3l_env *env, struct gptl_ni *ni, const struct p3l_reply *r, u64 len)
{
	const struct p3l_md *md;
	u32 pt;
	int rc = p3l_md_lock(env, ni->l, r->md, &pt);

	if (rc != PTL_OK)
		return rc;
	md = p3l_md(ni->l, r->md.idx);
	if (md->threshold == 0 || (md->flags & P3L_MD_SPENT))
		rc = PTL_MD_INVALID;
	else if (len != P3L_WHOLE && (r->off > md->length || len > md->length - r->off))
		rc = PTL_MD_ILLEGAL;
	p3l_unlock(ni->l, pt);
	return rc;
}

/* How many bytes the exchange is about; checks both descriptors. */
static long swap_length(struct gptl_ni *ni, struct p3l_send *s, const struct p3l_reply *r, u64 len)
{
	struct p3l_env env = { 0 };
	const struct p3l_md *md;
	u32 pt;
	int rc;

	gptl_enter(&env);
	rc = reply_ok(&env, ni, r, len);
	if (rc == PTL_OK && len == P3L_WHOLE) {
		rc = p3l_md_lock(&env, ni->l, s->md, &pt);
		if (rc == PTL_OK) {
			md = p3l_md(ni->l, s->md.idx);
			len = md->length;
			p3l_unlock(ni->l, pt);
		}
	}
	gptl_leave();
	if (rc == PTL_OK && len > ni->max_getput)
		rc = PTL_MD_ILLEGAL;
	s->len = len;
	return rc;
}

static long exchange(struct gptl_ni *ni, struct gptl_ni *target, struct gptl_node *far, struct p3l_hdr *h,
		     struct p3l_send *s, struct p3l_reply *r, u64 len)
{
	struct p3l_env env = { 0 };
	struct p3l_op *op;
	long rc;
	u32 row;

	s->whole = len == P3L_WHOLE;
again:
	rc = swap_length(ni, s, r, len);
	if (rc)
		return rc;
	if (far) {
		rc = gptl_far_exchange(ni, far, h, s, r);
		if (rc == P3L_AGAIN)
			goto again;
		return rc;
	}
	if (!target)
		return put_nowhere(ni, s);
	op = op_get(&env, target->l, &row);
	if (!op)
		return PTL_NO_SPACE;
	rc = p3l_send_begin(&env, ni->l, s);
	if (rc != PTL_OK) {
		p3_store_rel(&op->state, P3L_OP_IDLE);
		gptl_leave();
		if (rc == P3L_AGAIN)
			goto again;
		return rc;
	}
	h->rlength = r->rlength = s->len;
	h->md = r->md.idx;
	h->md_gen = r->md.gen;
	r->target_slot = target->slot;
	if (p3l_target_begin(&env, target->l, h, op, false) == P3L_MATCHED)
		return at_target(ni, target, &env, op, row, s, r);
	p3l_send_end(&env, ni->l, s, PTL_NI_OK);
	gptl_leave();
	return PTL_OK;
}

static bool sane(const struct gptl_move *a)
{
	if (a->type < P3L_PUT || a->type > P3L_MSWAP || a->ack > 1 || a->put.gen > P3L_GEN_MASK ||
	    a->get.gen > P3L_GEN_MASK)
		return false;
	return !p3l_is_atomic(a->type) || a->len == 2 || a->len == 4 || a->len == 8;
}

/* What is no put between processes of this node. */
static noinline long other_move(struct gptl_ni *ni, const struct gptl_move *a, struct gptl_node *far)
{
	struct p3l_reply r = { .md = { a->get.idx, a->get.gen }, .off = a->get_off, .mlength = a->len,
			       .match_bits = a->bits, .pt = a->pt };
	struct p3l_send s = SEND_OF(a);
	struct p3l_hdr h = HDR_OF(ni, a);
	struct gptl_ni *target;
	long rc;

	target = far ? NULL : gptl_ni_get(ni, a->slot, a->nid, a->pid);
	if (a->type == P3L_PUT)
		rc = gptl_far_put(ni, far, &h, &s);
	else if (a->type == P3L_GET)
		rc = far ? gptl_far_get(ni, far, &h, &r) : get(ni, target, &h, &r);
	else
		rc = exchange(ni, target, far, &h, &s, &r, a->len);
	if (target)
		gptl_ni_put(target);
	gptl_wake(ni);
	return rc;
}

long gptl_move(struct gptl_ni *ni, const struct gptl_move *a)
{
	struct gptl_node *far;

	if (!sane(a))
		return -EINVAL;
	far = gptl_far_find(ni, a->slot, a->nid, a->pid);
	return far || a->type != P3L_PUT ? other_move(ni, a, far) : put(ni, a);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * reap.c - what a dead mover left half done is finished
 *
 * Every operation in progress has a record (struct p3l_op), written before each step. Two parties read the records of
 * the dead: whoever takes over the lock of a portal table entry (p3l_repair: what must be right before that lock is
 * used again), and the owner (p3l_reap: all the rest, then the record is free). By state of the record:
 *
 *	TAKEN	nothing changed
 *	PREP	died under the lock, anywhere between deciding and unlocking. repair charges the MD again from the values
 *		before the charge, posts START if it was not, and makes it MOVE. (An ack: taken back unless posted.)
 *	MOVE	matched; the data may be half there: END with PTL_NI_DIED_NP
 *	HAND	waits for us: the same, the source is gone
 *	END	END is posted unless its slot holds it already
 *	LEAVE	it has ended; its share of `pending` may be gone or not: counted anew from the records, under the lock.
 *		If it was the last of a spent MD: UNLINK. If it died while unlinking (P3L_MD_GOING, or an entry that is
 *		out of its list), repair goes on with that; entries lost between the list and the pool go back.
 *
 * Tickets. A ticket is recorded after it has been reserved and before anything is posted under it. So an event whose
 * ticket is not recorded was not posted, and gets a new ticket; and a ticket that nobody has recorded is lost: a void
 * event is put there, or the queue would stop at it for ever. To tell lost ones from those that a living mover has
 * just reserved, the owner notes the tails, then waits until each lock has been seen free and each unlocked window has
 * been seen shut; what is then neither posted nor recorded below the noted tail is lost. Where that would need waiting
 * for a stopped process, it is left to the next call (ni.holes).
 *
 * A record that was lent (P3L_LENT) is the guest's in all this, and not of the process in whose row it stands.
 *
 * Only the owner dies with its NI; then nobody needs this.
 */
#include "p3l.h"

#define LAPS	 64		/* of a queue that may be lost between two looks; n * LAPS must not wrap */
#define PATIENCE 20000		/* looks at something that a living mover is about to change */

/* Does he live whose operation it is? @op: of row @s */
static bool has_mover(const struct p3l_env *env, const struct p3l_ni *ni, const struct p3l_op *op, uint32_t s)
{
	return env->alive(p3l_lent(op) ? p3l_slots(ni) - 1 : s);
}

/* Where a peer has written nonsense over the queue's place there is nothing to post any more. */
static bool posted(const struct p3l_ni *ni, uint32_t eq, uint32_t ticket)
{
	const struct p3l_slot *s = p3l_eq_slot(ni, &ni->eq[eq], ticket);

	return !s || (int32_t)(p3_load_acq(&s->word) - (ticket << 1 | 1)) >= 0;
}

/* Could it be posted now? Only when the slot holds the lap before, or a dead writer's beginning of this one. */
static bool slot_is_due(const struct p3l_ni *ni, uint32_t eq, uint32_t ticket)
{
	const struct p3l_slot *s = p3l_eq_slot(ni, &ni->eq[eq], ticket);
	uint32_t n = 1u << (ni->eq[eq].log2 & 31), word = s ? p3_load_acq(&s->word) : ticket << 1 | 1;

	return word == ((ticket - n) << 1 | 1) || word == ticket << 1 || (int32_t)(word - (ticket << 1 | 1)) >= 0;
}

/* Post an event of a dead mover, unless it did. */
static void post_for(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq, uint32_t ticket,
		     const struct p3l_slot *ev)
{
	struct p3l_slot *s = p3l_eq_slot(ni, &ni->eq[eq], ticket);

	if (!s || posted(ni, eq, ticket))
		return;
	if (p3_load(&s->word) == ticket << 1)	/* it died filling it */
		p3_store_rel(&s->word, (ticket - (1u << (ni->eq[eq].log2 & 31))) << 1 | 1);
	p3l_eq_post(env, ni, eq, ticket, ev);
}

/* ---- under a lock taken over ---- */

/* Links back, tail and length, from the chain of `next`. */
static void relink(struct p3l_ni *ni, uint32_t pt)
{
	uint32_t i = ni->pt[pt].head, prev = 0, n = 0;

	while (i && i <= P3L_MAX_ME && n < P3L_MAX_ME) {
		p3l_me(ni, i - 1)->prev = prev;
		prev = i;
		i = p3l_me(ni, i - 1)->next;
		n++;
	}
	ni->pt[pt].tail = prev;
	p3_store(&ni->pt[pt].len, n);
}

static bool in_list(const struct p3l_ni *ni, uint32_t pt, uint32_t me)
{
	uint32_t i = ni->pt[pt].head, n = 0;

	for (; i && i <= P3L_MAX_ME && n < P3L_MAX_ME; n++) {
		if (i == me)
			return true;
		i = p3l_me(ni, i - 1)->next;
	}
	return false;
}

static void charge_again(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_op *op)
{
	struct p3l_md *md = p3l_md(ni, op->md);
	uint32_t flags = op->old_flags, quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	int eq = p3l_eq_of(ni, op->eq);
	bool start = !(op->options & PTL_MD_EVENT_START_DISABLE);
	struct p3l_slot ev;

	if (!(op->options & PTL_MD_MANAGE_REMOTE)) {
		md->offset = op->moff + op->mlength;
		if ((op->options & PTL_MD_MAX_SIZE) && md->length - md->offset < md->max_size)
			flags |= P3L_MD_SPENT;
	}
	if (op->old_threshold != PTL_MD_THRESH_INF) {
		md->threshold = (int32_t)((uint32_t)op->old_threshold - 1);	/* it may be anything */
		if (!md->threshold)
			flags |= P3L_MD_SPENT;
	}
	op->threshold = md->threshold;
	/* Perhaps it has been counted: finish() puts that right. If not, the next to leave would unlink before our END. */
	p3_fetch_add(&md->pending, 1);
	p3_store(&md->flags, flags);
	if (eq >= 0 && (op->options & quiet) != quiet) {
		if (!op->has_ticket) {
			op->link = op->ticket = p3l_eq_reserve(ni, (uint32_t)eq);
			p3_store_rel(&op->has_ticket, start ? P3L_TICKET_START : P3L_TICKET_END);
		}
		p3l_md_note(md, op->eq, op->link);
		if (start) {
			p3l_op_event(op, false, PTL_NI_OK, &ev);
			post_for(env, ni, (uint32_t)eq, op->link, &ev);
		}
	}
	if ((flags & P3L_MD_SPENT) && !(op->old_flags & P3L_MD_SPENT))
		md->spent_link = op->link;
	p3_store_rel(&op->state, P3L_OP_MOVE);
}

/* An ack is as good as one that never came, unless its event is there. */
static void ack_again(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_op *op)
{
	struct p3l_md *md = p3l_md(ni, op->md);
	int eq = p3l_eq_of(ni, op->eq);
	bool done = eq >= 0 && op->has_ticket && posted(ni, (uint32_t)eq, op->link);

	md->threshold = op->old_threshold;
	if (done && op->old_threshold != PTL_MD_THRESH_INF)
		md->threshold--;
	if (done && !md->threshold) {
		md->spent_link = op->link;
		p3_store(&md->flags, op->old_flags | P3L_MD_SPENT);
	} else {
		p3_store(&md->flags, op->old_flags);
	}
	p3_store_rel(&op->state, P3L_OP_LEAVE);
}

/* It died while it unlinked the MD, or after that and before the ME was free. */
static void go_again(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_op *op, uint32_t pt)
{
	struct p3l_md *md = p3l_md(ni, op->md);
	struct p3l_me *me = op->me && op->me <= P3L_MAX_ME ? p3l_me(ni, op->me - 1) : NULL;
	bool out = me && me->gen == op->me_gen && (me->flags & P3L_ME_USED) && me->pt == pt &&
		   !in_list(ni, pt, op->me);
	int eq = p3l_eq_of(ni, md->eq);

	if (md->gen == op->md_gen && (md->flags & P3L_MD_USED) && ((md->flags & P3L_MD_GOING) || out)) {
		if (eq >= 0 && (md->flags & P3L_MD_GOING)) {
			struct p3l_slot ev;

			p3l_op_event(op, true, PTL_NI_OK, &ev);
			ev.kind_fail = PTL_EVENT_UNLINK;
			ev.link = md->spent_link;
			post_for(env, ni, (uint32_t)eq, md->last_ticket, &ev);
		}
		if (out)
			p3_store(&md->me, 0);
		p3l_md_free_locked(ni, op->md);
	}
	if (out)
		p3l_me_free(ni, op->me - 1);
}

/* We hold the lock of @pt, which a dead mover held, or had taken over from another dead one. */
void p3l_repair(const struct p3l_env *env, struct p3l_ni *ni, uint32_t pt)
{
	if (pt < P3L_MAX_PT) {
		relink(ni, pt);
		p3l_index_drop(&ni->pt[pt]);
	}
	for (uint32_t s = 0; s < p3l_slots(ni); s++) {
		bool dead = s != env->self - 1 && !env->alive(s);

		for (uint32_t k = 0; k < P3L_OPS; k++) {
			struct p3l_op *op = &p3l_row(ni, s)->op[k];
			uint32_t state = p3_load_acq(&op->state);

			if (op->pt != pt || op->md >= P3L_MAX_MD || (p3l_lent(op) ? has_mover(env, ni, op, s) : !dead))
				continue;
			if (state == P3L_OP_PREP && op->type == P3L_ACK)
				ack_again(env, ni, op);
			else if (state == P3L_OP_PREP)
				charge_again(env, ni, op);
			else if (state == P3L_OP_LEAVE)
				go_again(env, ni, op, pt);
		}
	}
}

/* ---- the owner ---- */

/*
 * Count the low half of `pending` from the records. [lock]: nobody can begin meanwhile, so the word changes only by
 * those who leave, and the exchange fails. One that is just leaving may have left or not: false, if it does not go on.
 */
static bool recount(const struct p3l_env *env, struct p3l_ni *ni, uint32_t md)
{
	for (unsigned tries = 0; tries < PATIENCE; tries++) {
		uint32_t old = p3_load_acq(&p3l_md(ni, md)->pending), n = 0;
		bool moving = false;

		for (uint32_t s = 0; s < p3l_slots(ni); s++)
			for (uint32_t k = 0; k < P3L_OPS; k++) {
				const struct p3l_op *op = &p3l_row(ni, s)->op[k];
				uint32_t state = p3_load_acq(&op->state);

				if (op->md != md || state < P3L_OP_PREP)
					continue;
				n += state == P3L_OP_MOVE || state == P3L_OP_HAND || state == P3L_OP_END;
				moving |= state == P3L_OP_LEAVE && has_mover(env, ni, op, s);
			}
		if (!moving && p3_cas32(&p3l_md(ni, md)->pending, old, (old & ~(P3L_PEND_OWN - 1)) | n))
			return true;
		env->relax(tries + 1);
	}
	return false;
}

/*
 * A record was overwritten while it was in use: which MD it counted in is not known. So each that counts any is counted
 * anew, and one that only that operation has kept goes. false: not all of them now.
 */
static __attribute__((__noinline__)) bool count_anew(const struct p3l_env *env, struct p3l_ni *ni)
{
	bool all = true;

	for (uint32_t i = 0, n = p3_load(&ni->md_fresh); i < n && i < P3L_MAX_MD; i++) {
		struct p3l_md *md = p3l_md(ni, i);
		struct p3l_slot ev = { .md = (uint16_t)i, .initiator = (uint16_t)ni->slot };
		uint32_t pt;

		if (!(p3_load(&md->pending) & (P3L_PEND_OWN - 1)) ||
		    p3l_md_lock(env, ni, (struct p3l_ref){ i, p3_load(&md->gen) & P3L_GEN_MASK }, &pt) != PTL_OK)
			continue;
		if (!recount(env, ni, i)) {
			all = false;
		} else if (!p3_load_acq(&md->pending) &&
			   (md->flags & (P3L_MD_SPENT | P3L_MD_UNLINK)) == (P3L_MD_SPENT | P3L_MD_UNLINK)) {
			ev.md_gen = (uint16_t)md->gen;
			ev.threshold = md->threshold;
			ev.pt = (uint8_t)pt;
			p3l_md_go_locked(env, ni, i, &ev);
		}
		p3l_unlock(ni, pt);
	}
	return all;
}

static bool on_free_list(const struct p3l_ni *ni, bool md, uint32_t idx)
{
	const uint32_t max = md ? P3L_MAX_MD : P3L_MAX_ME, first[] = {
		p3_load_acq(md ? &ni->md_free : &ni->me_free), md ? ni->md_limbo : 0, md ? ni->md_spare : ni->me_spare
	};
	uint32_t n = 0;

	for (unsigned list = 0; list < sizeof(first) / sizeof(*first); list++) {
		uint32_t i = first[list];

		for (; i && i <= max && n <= 2 * max; n++) {
			if (i == idx + 1)
				return true;
			i = md ? p3l_md(ni, i - 1)->free_next : p3l_me(ni, i - 1)->free_next;
		}
	}
	return false;
}

/* What died between "free" and the free list. [own_lock: nobody takes from the pool; lock: nobody else frees these] */
static void to_the_pool(struct p3l_ni *ni, const struct p3l_op *op)
{
	struct p3l_md *md = p3l_md(ni, op->md);
	struct p3l_me *me = op->me && op->me <= P3L_MAX_ME ? p3l_me(ni, op->me - 1) : NULL;

	if (!p3_load_acq(&md->flags) && (md->gen == op->md_gen || md->gen == op->md_gen + 1) &&
	    !on_free_list(ni, true, op->md)) {
		p3_store_rel(&md->gen, op->md_gen + 1);
		p3l_md_push(ni, op->md);
	}
	if (me && !p3_load_acq(&me->flags) && (me->gen == op->me_gen || me->gen == op->me_gen + 1) &&
	    !on_free_list(ni, false, op->me - 1)) {
		p3_store_rel(&me->gen, op->me_gen + 1);
		p3l_me_push(ni, op->me - 1);
	}
}

/* Finish the operation of a dead mover. false: not now. */
static bool finish(const struct p3l_env *env, struct p3l_ni *ni, struct p3l_op *op)
{
	uint32_t state = p3_load_acq(&op->state);
	struct p3l_md *md = p3l_md(ni, op->md);
	struct p3l_slot ev;
	bool counted = true, last;
	int eq;

	p3l_lock(env, ni, op->pt);		/* if the dead one held it, this repairs */
	if (p3_load_acq(&op->state) == P3L_OP_PREP)
		p3l_repair(env, ni, op->pt);
	p3l_unlock(ni, op->pt);
	state = p3_load_acq(&op->state);
	eq = p3l_eq_of(ni, op->eq);
	if (state == P3L_OP_MOVE || state == P3L_OP_HAND || state == P3L_OP_END) {
		if (eq >= 0 && !(op->options & PTL_MD_EVENT_END_DISABLE)) {
			if (op->has_ticket != P3L_TICKET_END) {
				op->ticket = p3l_eq_reserve(ni, (uint32_t)eq);
				p3_store_rel(&op->has_ticket, P3L_TICKET_END);
				p3l_md_note(md, op->eq, op->ticket);
			}
			if (!slot_is_due(ni, (uint32_t)eq, op->ticket))
				return false;
			p3l_op_event(op, true, state == P3L_OP_END ? op->fail : PTL_NI_DIED_NP, &ev);
			post_for(env, ni, (uint32_t)eq, op->ticket, &ev);
		}
		p3_store_rel(&op->state, P3L_OP_LEAVE);
	}
	p3l_own_lock(env, ni);
	p3l_lock(env, ni, op->pt);
	if (md->gen == op->md_gen && (md->flags & P3L_MD_USED)) {
		counted = recount(env, ni, op->md);
		last = counted && !p3_load_acq(&md->pending) &&
		       (md->flags & (P3L_MD_SPENT | P3L_MD_UNLINK)) == (P3L_MD_SPENT | P3L_MD_UNLINK);
		if (last) {
			p3l_op_event(op, true, PTL_NI_OK, &ev);
			p3l_md_go_locked(env, ni, op->md, &ev);
		}
	}
	if (counted)
		to_the_pool(ni, op);
	p3l_unlock(ni, op->pt);
	p3l_own_unlock(env, ni);
	return counted;
}

/* Is the ticket in the record of an operation that will be posted under it? */
static bool recorded(const struct p3l_ni *ni, uint32_t eq, uint32_t t)
{
	for (uint32_t s = 0; s < p3l_slots(ni); s++)
		for (uint32_t k = 0; k < P3L_OPS; k++) {
			const struct p3l_op *op = &p3l_row(ni, s)->op[k];
			uint32_t state = p3_load_acq(&op->state);
			uint8_t has = p3_load_acq(&op->has_ticket);

			if (state < P3L_OP_PREP || state >= P3L_OP_LEAVE || p3l_eq_of(ni, op->eq) != (int)eq)
				continue;
			if ((has == P3L_TICKET_END && op->ticket == t) || (has == P3L_TICKET_START && op->link == t))
				return true;
		}
	return false;
}

/* Each send and reply of our own that was under way is over. */
static bool sends_over(const struct p3l_env *env, struct p3l_ni *ni)
{
	for (int turn = 0; turn < 2; turn++) {
		uint32_t was = p3_fetch_add(&ni->own_epoch, 1) & 1;

		for (unsigned n = 0; p3_load_acq(&ni->own_ops[was]);) {
			if (++n > PATIENCE)
				return false;
			env->relax(n);
		}
	}
	return true;
}

/* Each lock has been free, each ticket reserved without lock is in its record, each send that was under way is over. */
static bool grace(const struct p3l_env *env, struct p3l_ni *ni)
{
	for (uint32_t i = 0; i < P3L_MAX_PT + P3L_PT_STRIPES; i++)
		for (unsigned n = 0; p3_load_acq(&ni->pt[i].lock) != 0;) {
			uint32_t holder = p3_load(&ni->pt[i].lock);

			if (holder && holder != env->self && !env->alive(holder - 1)) {
				p3l_lock(env, ni, i);
				p3l_unlock(ni, i);
			}
			if (++n > PATIENCE)
				return false;
			env->relax(n);
		}
	for (uint32_t s = 0; s < p3l_slots(ni); s++)
		for (uint32_t k = 0; k < P3L_OPS; k++) {
			const struct p3l_op *op = &p3l_row(ni, s)->op[k];

			for (unsigned n = 0; p3_load_acq(&op->state) == P3L_OP_END &&
					     p3_load_acq(&op->has_ticket) != P3L_TICKET_END;) {
				if (!has_mover(env, ni, op, s) || ++n > PATIENCE)
					return false;	/* dead: first finished, then looked at again */
				env->relax(n);
			}
		}
	return sends_over(env, ni);
}

bool p3l_reap_hold(const struct p3l_env *env, struct p3l_ni *ni)
{
	for (unsigned n = 0; !p3_cas32(&ni->reap_lock, 0, env->self);) {
		if (++n > PATIENCE)
			return false;
		env->relax(n);
	}
	return true;
}

bool p3l_writers_out(const struct p3l_env *env, struct p3l_ni *ni)
{
	for (uint32_t i = 0; i < P3L_MAX_PT + P3L_PT_STRIPES; i++) {
		for (unsigned n = 0; !p3_cas32(&ni->pt[i].lock, 0, env->self);) {
			uint32_t holder = p3_load(&ni->pt[i].lock);

			if (holder && holder != env->self && !env->alive(holder - 1)) {
				p3l_lock(env, ni, i);	/* what it left half done may be an event */
				break;
			}
			if (++n > PATIENCE)
				return false;
			env->relax(n);
		}
		p3l_unlock(ni, i);
	}
	return env->single || sends_over(env, ni);
}

/* The first ticket of slot @i that is not posted; @tail or beyond: none that was reserved before that was noted. */
static uint32_t first_missing(const struct p3l_ni *ni, uint32_t eq, uint32_t i, uint32_t n, uint32_t tail)
{
	const struct p3l_slot *s = p3l_eq_slot(ni, &ni->eq[eq], i);
	uint32_t word = s ? p3_load_acq(&s->word) : tail << 1;	/* M:eq.holes-word */
	uint32_t ago = (tail - (word >> 1)) & (UINT32_MAX >> 1);	/* a word has no room for the highest bit */

	if (ago >= n * LAPS)			/* posted since, or a peer wrote nonsense there */
		return tail;
	return tail - ago + (word & 1 ? n : 0);
}

/*
 * Put void events where tickets were lost. Slot by slot, from the first that is missing there: the writer of a later lap
 * waits for it, even if the reader has passed it by long ago. false: some are left for the next time.
 */
static bool fill_queue(const struct p3l_env *env, struct p3l_ni *ni, uint32_t eq)
{
	static const struct p3l_slot none = { .kind_fail = P3L_VOID };
	struct p3l_eq *q = &ni->eq[eq];
	uint32_t tail = p3_load_acq(&q->tail), n = p3_load(&q->log2), i, t;	/* M:eq.holes-tail */
	bool all = true;

	if (n > 24 || !p3l_eq_slot(ni, q, 0))	/* nonsense, by a peer */
		return true;
	n = 1u << n;
	for (i = 0; i < n && (int32_t)(tail - first_missing(ni, eq, i, n, tail)) <= 0; i++)
		;
	if (i == n)
		return true;
	if (!grace(env, ni))
		return false;
	for (; i < n; i++) {
		bool behind = false;		/* of one that will be posted yet */

		for (t = first_missing(ni, eq, i, n, tail); (int32_t)(tail - t) > 0; t += n) {
			if (posted(ni, eq, t))
				continue;
			if (recorded(ni, eq, t)) {
				behind = true;
			} else if (posted(ni, eq, t)) {
				continue;
			} else if (behind) {
				all = false;
				break;
			} else {
				post_for(env, ni, eq, t, &none);
			}
		}
	}
	return all;
}

static void fill_holes(const struct p3l_env *env, struct p3l_ni *ni)
{
	bool left = false;

	p3_store(&ni->holes, 0);	/* M:eq.holes first: who sets it again meanwhile is looked at next time */
	p3_fence();			/* M:eq.holes-fence */
	for (uint32_t eq = 0; eq < P3L_MAX_EQ; eq++)
		if (p3_load_acq(&ni->eq[eq].flags) && !fill_queue(env, ni, eq))
			left = true;
	if (left)
		p3_store(&ni->holes, 1);	/* M:eq.left */
}

/* Owner: finish what dead movers began. Returns how many operations. */
unsigned p3l_reap(const struct p3l_env *env, struct p3l_ni *ni)
{
	unsigned done = 0, before;
	bool left;

	if (p3_likely(!p3_cas32(&ni->reap_lock, 0, env->self)))
		return 0;
	do {		/* in any order; but an event that has its slot behind another's waits for that */
		before = done;
		left = false;
		for (uint32_t s = 0; s < p3l_slots(ni); s++) {
			bool dead = false;

			if (s == env->self - 1)
				continue;
			for (uint32_t k = 0; k < P3L_OPS; k++) {
				struct p3l_op *op = &p3l_row(ni, s)->op[k];
				uint32_t state = p3_load_acq(&op->state);
				struct p3l_lane_hdr *lane;

				if (state == P3L_OP_IDLE)
					continue;
				if (p3l_lent(op) ? has_mover(env, ni, op, s) : !dead && env->alive(s))
					continue;
				if (!dead && !p3l_lent(op)) {	/* before its records go: they say how far it was in its lane */
					lane = p3l_lane(ni, s);
					if (p3_load(&lane->lock) == s + 1 && p3l_lane_lock(env, ni, lane, true))
						p3l_lane_unlock(lane);
				}
				dead |= !p3l_lent(op);
				if (state >= P3L_OP_MAX || op->md >= P3L_MAX_MD ||
				    op->pt >= P3L_MAX_PT + P3L_PT_STRIPES) {
					if (state != P3L_OP_TAKEN) {
						p3l_count(env, &p3l_row(ni, env->self - 1)->stats.corrupt, 1);
						p3l_op_spoilt(ni);
					}
				} else if (state >= P3L_OP_PREP && state < P3L_OP_DONE) {
					p3_store(&ni->holes, 1);
					if (!finish(env, ni, op)) {
						left = true;
						continue;
					}
				}
				p3_store_rel(&op->state, P3L_OP_IDLE);
				p3l_count(env, &p3l_row(ni, env->self - 1)->stats.reaped, 1);
				done++;
			}
		}
	} while (left && done != before);
	if (p3_unlikely(p3_load(&ni->spoilt)) && p3_xchg(&ni->spoilt, 0) && !count_anew(env, ni))
		p3_store(&ni->spoilt, 1);
	if (p3_unlikely(p3_load(&ni->holes)))	/* M:eq.reap */
		fill_holes(env, ni);
	p3_store_rel(&ni->reap_lock, 0);
	return done;
}

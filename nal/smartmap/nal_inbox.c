/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_inbox.c - taking messages from lanes, and when to look there
 *
 * Attention. The owner of a lane says in the word of its next line whether it is inside a polling call (POLL) or has
 * left (AWAY); the initiator puts its message there by an exchange and so learns which it was. POLL: the owner looks
 * at that word again, by compare-and-swap, before it leaves. Anything else: the initiator empties the lane itself,
 * but for AWAY gives the owner a moment first. Only lanes whose initiator has knocked are marked, at most HOT_MAX;
 * the other initiators match directly. Messages to polled entries need none of this: their owner has promised to
 * come back.
 *
 * Sleep. The sleeper writes a number of its own into l->sleeping, runs membarrier() in place of a fence on either
 * side, looks once more, and sleeps if the word still holds that number. Whoever has left a message or an event, other
 * threads included, looks at the word, clears it and wakes all.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nal_smap.h"
#include "p3l_line.h"

#define REAP_LOOKS	16384		/* empty looks between two at who has died */
#define POLLED_BATCH	16		/* messages of polled entries taken in one look */
#define HOT_IDLE	4096		/* polling calls without a message after which a lane is no longer marked */
#define UNMARKED	6		/* looks before we say that we look */
#define POLLED_PATIENCE	100000		/* looks at whether others are still in an entry that is to be ours alone */
#define STREAK		16		/* messages from one lane before all are looked at */

__attribute__((noinline)) void nal_wake_slow(struct p3l_ni *l)
{
	if (p3_xchg(&l->sleeping, 0)) {		/* M:sleep.clear */
		P3_PROBE1(wake, l);
		P3_TRACED(wake(l));
		syscall(SYS_futex, &l->sleeping, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);	/* M:sleep.wake */
	}
}


/*
 * To a vector, or to another process's memory: in one piece first. 0, -errno, or 1: handed to the owner. By itself,
 * since its stack would be touched by all others, too.
 */
static __attribute__((noinline)) int copy_far(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, struct p3l_op *op,
					      const struct p3l_data *data)
{
	char buf[P3L_LANE_MAX];
	struct region t = { op->start, op->iov, op->iov_n, op->moff };
	struct region o = { (uintptr_t)buf, 0, 0, 0 };
	uint64_t mlength = op->mlength;
	int rc;

	if (p3_unlikely(mlength > sizeof(buf)))		/* somebody wrote over the record */
		return -EFAULT;
	p3l_data_read(data, buf, mlength);
	rc = nal_move(ni, slot, l, true, &t, &o, mlength, op->mdflags & P3L_MD_DIRECT);
	return p3_unlikely(rc == -EAGAIN) && nal_hand_over(ni, slot, l, op, &o, NULL) ? 1 : rc;
}

/* Finish a lane message on NI @l, whose owner is process @slot. */
static void deliver(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, struct p3l_op *op, const struct p3l_data *data,
		    struct p3l_ni *src)
{
	uint64_t mlength = op->mlength, rlength = op->rlength, off = op->moff, bits = op->match_bits;
	struct p3l_ref md = { op->src_md, op->src_md_gen };
	uint32_t pt = op->pt;
	int rc = 0;

	if (p3_likely(slot == ni->l->slot && !op->iov)) {
		P3_TRACE_BEGAN(began);
		P3_PROBE3(copy, P3_WAY_INBOX, 1, mlength);
		p3l_data_read(data, (char *)(uintptr_t)(op->start + op->moff), mlength);
		P3_TRACED(copy(began, P3_WAY_INBOX, true, mlength));
	} else {
		rc = copy_far(ni, slot, l, op, data);
	}
	if (p3_unlikely(rc > 0))
		return;
	if (p3l_target_end(&ni->env, l, op, fail_of(rc)) && src) {
		p3l_ack(&ni->env, src, md, l->slot, pt, bits, off, rlength, mlength);
		wake(ni, src);
	}
}

/*
 * We have taken a message of our own: counted under the lock of the lane, or by its only user. Its event may be for
 * another thread of ours, which sleeps. (A peer's: flush_full().)
 */
static inline void taken(struct nal_ni *ni, struct p3l_lane_hdr *lane, uint64_t length)
{
	lane->long_count++;
	lane->long_length += length;
	if (!ni->env.single)
		wake(ni, ni->l);
}

/*
 * Take messages from lane @from of NI @l. As its owner: all of them, but of polled entries no more than a batch. As the
 * initiator: until the first for a polled entry. @locked: lane lock held; without it only those for entries where the
 * owner is alone. False: no record for the next one.
 */
bool nal_drain(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, struct p3l_lane_hdr *lane, uint32_t from,
	       struct p3l_sink *sink, bool locked)
{
	bool owner = slot == ni->l->slot;
	struct p3l_stats *stats = &p3l_row(l, ni->l->slot)->stats;
	unsigned polled = 0;
	struct p3l_data data;
	struct p3l_hdr h;
	int lines;

	h.src = (uint16_t)from;
	while ((lines = p3l_lane_peek(l, lane, &h, &data)) != 0) {
		struct p3l_ni *src = NULL;
		enum p3l_verdict v;
		struct p3l_op *op;
		bool promised;

		if (p3_unlikely(lines < 0)) {	/* nonsense: the lane cannot be read any further */
			p3l_count(&ni->env, &stats->corrupt, 1);
			p3l_count(&ni->env, &stats->drop_count, 1);
			P3_PROBE5(drop, l, from, 0, 0, P3_DROP_BROKEN);
			P3_TRACED(drop(l, 0, 0, 0, P3_DROP_BROKEN));
			p3l_lane_advance(l, lane, 1);
			continue;
		}
		promised = h.pt < P3L_MAX_PT && p3l_pt_polled(l, h.pt);	/* M:polled.promised */
		if (promised) {
			if (!owner || polled++ >= POLLED_BATCH || (sink && sink->got))
				break;		/* what is left can be handed over directly next time */
		}
		if (p3_unlikely(!locked && !(promised && p3l_pt_alone(&ni->env, h.pt))))
			break;
		h.nid = l->nid;
		h.pid = nal_id(ni, from).pid;
		h.uid = ni->uid;
		h.jid = ni->jid;
		if (h.ack) {
			struct nal_peer *p = peer_of(ni, from);

			src = p ? p->l : NULL;
		}
		if (p3_likely(owner && (h.rlength <= P3L_SHORT || p3l_pt_alone(&ni->env, h.pt)))) {
			struct p3l_short done;

			P3_TRACED(lane(l, from, lane->head));
			v = p3l_target_short(&ni->env, l, &h, &data, &done, sink);
			if (p3_unlikely(v == P3L_WAIT)) {
				P3_TRACED(pop());
				break;
			}
			if (p3_likely(v != P3L_OTHER)) {
				P3_PROBE3(inbox_take, l, from, lane->head);
				P3_TRACED(take(l));
				/* first: who finds his lane empty may put again, and have that acknowledged */
				if (p3_unlikely(v == P3L_MATCHED && src && done.ack)) {
					p3l_ack(&ni->env, src, (struct p3l_ref){ h.md, h.md_gen }, l->slot, h.pt,
						h.match_bits, done.off, h.rlength, done.mlength);
					wake(ni, src);
				}
				p3l_lane_advance(l, lane, (uint32_t)lines);
				p3l_lane_release(l, lane);
				taken(ni, lane, h.rlength);
				P3_TRACED(pop());
				continue;
			}
			P3_TRACED(pop());
		}
		op = p3l_op_get(&ni->env, l);
		if (p3_unlikely(!op) && p3_unlikely(!(op = nal_op_wait(ni, l))))
			return false;	/* eight copies wait for the owner: so does this message */
		op->lane = lane->head + 1;	/* should we die before we advance */
		P3_TRACED(lane(l, from, lane->head));
		v = p3l_target_begin(&ni->env, l, &h, op, promised);
		if (p3_unlikely(v == P3L_WAIT)) {
			P3_TRACED(pop());
			break;
		}
		P3_PROBE3(inbox_take, l, from, lane->head);
		P3_TRACED(take(l));
		p3l_lane_advance(l, lane, (uint32_t)lines);
		if (p3_likely(v == P3L_MATCHED)) {
			if (!owner) {
				stats->flush_count++;
				stats->flush_length += op->mlength;
			}
			deliver(ni, slot, l, op, &data, src);
		}
		P3_TRACED(pop());
		p3l_lane_release(l, lane);
		if (owner)
			taken(ni, lane, h.rlength);
	}
	return true;
}

/* Lanes of ours with something at the head. */
static inline bool any_lane(struct nal_ni *ni)
{
	const struct p3l_ni *l = ni->l;

	for (uint32_t w = 0; w * 64 < ni->n_peers; w++)
		for (uint64_t used = p3_load(&l->lanes_used[w]); used; used &= used - 1) {
			uint32_t s = w * 64 + (uint32_t)__builtin_ctzll(used);

			if (s < ni->n_peers && p3l_lane_ready(l, p3l_lane(l, s)))
				return true;
		}
	return false;
}

/*
 * Take what is in our lanes. No lock is needed for a message at the head of an entry where we are alone: an initiator
 * that empties its own lane stops there.
 */
static void drain_own(struct nal_ni *ni, struct p3l_sink *sink)
{
	struct p3l_ni *l = ni->l;

	for (uint32_t w = 0; w * 64 < ni->n_peers; w++)
		for (uint64_t used = p3_load(&l->lanes_used[w]); used; used &= used - 1) {
			uint32_t s = w * 64 + (uint32_t)__builtin_ctzll(used), pt;
			struct p3l_lane_hdr *lane;
			bool lock;

			if (p3_unlikely(s >= ni->n_peers))
				continue;
			lane = p3l_lane(l, s);
			if (!p3l_lane_ready(l, lane))
				continue;
			pt = p3l_lane_line(l, lane, lane->head)->pt;
			lock = pt >= P3L_MAX_PT || !p3l_pt_alone(&ni->env, pt);
			if (lock && !p3l_lane_lock(&ni->env, l, lane, false))
				continue;
			nal_drain(ni, l->slot, l, lane, s, sink, lock);
			priv_of(ni)->last_lane = s;
			priv_of(ni)->last = lane;
			if (lock)
				p3l_lane_unlock(lane);
		}
}

static inline void look_elsewhere(struct nal_ni *ni)
{
	struct priv *pv = priv_of(ni);

	if (p3_unlikely(p3_load(&ni->l->handed) != pv->handed_seen))
		nal_hands_serve(ni);
	if (p3_unlikely(pv->hands != NULL))
		nal_hands_collect(ni);
}

/* Initiators that would rather use the inbox: mark their lanes from now on, while there is room. */
static __attribute__((noinline)) void take_knocks(struct nal_ni *ni)
{
	struct priv *pv = priv_of(ni);
	struct p3l_ni *l = ni->l;

	lock_word(ni, &pv->hot_lock);
	for (uint32_t w = 0; w < (ni->n_peers + 63) / 64; w++) {
		uint64_t k = p3_load(&l->knock[w]) ? p3_xchg(&l->knock[w], 0) : 0;

		for (; k; k &= k - 1) {
			uint32_t s = w * 64 + (uint32_t)__builtin_ctzll(k), i;

			for (i = 0; i < pv->n_hot && pv->hot[i].slot != s; i++)
				;
			if (s >= ni->n_peers || i >= HOT_MAX)
				continue;
			if (i == pv->n_hot) {
				pv->hot[i].slot = s;
				pv->hot[i].lane = p3l_lane(l, s);
				pv->n_hot++;
			}
			pv->hot[i].idle = 0;
			p3_fetch_or(&l->lanes_used[w], (uint64_t)1 << (s & 63));
		}
	}
	unlock_word(ni, &pv->hot_lock);
}

static inline bool knocked(const struct nal_ni *ni)
{
	const struct p3l_ni *l = ni->l;
	uint64_t k = p3_load(&l->knock[0]);

	for (uint32_t w = 1; w < (ni->n_peers + 63) / 64; w++)
		k |= p3_load(&l->knock[w]);
	return k != 0;
}

/* Mark the hot lanes; true: one of them has a message. Leaving (AWAY), idle ones are dropped from the set. */
static inline bool mark_hot(struct nal_ni *ni, uint32_t state)
{
	struct priv *pv = priv_of(ni);
	bool news = false;

	lock_word(ni, &pv->hot_lock);
	for (uint32_t i = 0; i < pv->n_hot; i++) {
		if (!p3l_lane_mark(ni->l, pv->hot[i].lane, state)) {
			pv->hot[i].idle = 0;
			news = true;
		} else if (state == P3L_W_AWAY && p3_unlikely(++pv->hot[i].idle > HOT_IDLE)) {
			pv->hot[i--] = pv->hot[--pv->n_hot];
		}
	}
	unlock_word(ni, &pv->hot_lock);
	return news;
}

/*
 * Leave a polling call: AWAY on every hot lane. A message found instead is taken first. A lane that stays full is being
 * emptied by its initiator, or its head is for a polled entry: neither needs us now.
 */
static inline void leave(struct nal_ni *ni)
{
	for (int tries = 0; p3_unlikely(mark_hot(ni, P3L_W_AWAY)) && tries < 4; tries++)
		drain_own(ni, NULL);
}

/*
 * A message after a silence is often answered: fetch the line that an answer to it would take, while it is being read.
 * Where its owner marks lines, the next one is in its cache.
 */
static inline void expect_reply(struct nal_ni *ni, uint32_t slot)
{
	struct nal_peer *p = &ni->peer[slot];

	if (p->polls)
		p3_prefetchw(p3l_lane_line(p->l, p->lane, p->tx.tail));
}

/*
 * Loads behind this wait for those before. While it looks for a message the processor guesses how the look ends, and
 * reads on; when the message then comes it has to begin anew, which takes up to 40 ns, as the branch predictor has it.
 */
static inline void no_guess(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_lfence();
#endif
}

/*
 * The lane that gave the last message, straight: there may be more, and whoever waits in a call looks there often.
 * Every STREAK-th time the others have their turn.
 */
static inline bool look_there(struct nal_ni *ni, struct p3l_sink *sink, int looks)
{
	struct priv *pv = priv_of(ni);
	struct p3l_lane_hdr *lane = pv->last;

	if (!sink || p3_unlikely(!lane) || ++pv->streak % STREAK == 0)
		return false;
	while (!p3l_lane_ready(ni->l, lane)) {
		if (--looks <= 0)
			return false;
		no_guess();
	}
	if (!pv->burst) {
		no_guess();
		expect_reply(ni, pv->last_lane);
	}
	if (p3l_inbox_hot(&ni->env, ni->l, lane, pv->last_lane, sink, pv->burst > 2) <= 0)
		return false;
	pv->burst++;
	return true;
}

void nal_progress(struct nal_ni *ni, uint32_t eq, struct p3l_sink *sink)
{
	struct priv *pv = priv_of(ni);

	(void)eq;
	pv->calls++;
	/*
	 * What has come, or comes just now, needs no mark; one made now would take the line from an initiator who is
	 * about to write it.
	 */
	if (look_there(ni, sink, pv->n_hot && !pv->attending ? UNMARKED : 1)) {
		if (pv->n_hot && !pv->attending)
			leave(ni);
		return;
	}
	if (sink)
		p3l_inbox_prime(&ni->env, ni->l, sink);
	look_elsewhere(ni);
	if (p3_unlikely((++pv->looks & (REAP_LOOKS - 1)) == 0))
		p3l_reap(&ni->env, ni->l);	/* who only polls must see what the dead left, too */
	if (p3_unlikely(knocked(ni)))
		take_knocks(ni);
	if (pv->n_hot) {
		mark_hot(ni, P3L_W_POLL);
		if (look_there(ni, sink, pv->attending ? 32 : 8))	/* so that we are seldom found away */
			goto out;
	}
	drain_own(ni, sink);
	if (!sink || !sink->got)
		pv->burst = 0;
out:
	if (pv->n_hot && !pv->attending)
		leave(ni);
}

/* The message at the head of lane @slot, for whom @sink waits. As p3l_inbox_hot(). @late: it has come just now. */
static inline int take_from(struct nal_ni *ni, uint32_t slot, struct p3l_lane_hdr *lane, struct p3l_sink *sink,
			    bool late)
{
	struct priv *pv = priv_of(ni);
	int rc;

	if (late) {
		no_guess();
		expect_reply(ni, slot);
	}
	rc = p3l_inbox_hot(&ni->env, ni->l, lane, slot, sink, pv->burst > 2);
	if (p3_likely(rc > 0)) {
		pv->last = lane;
		pv->last_lane = slot;
		pv->burst++;
	}
	return rc;
}

/* The first of lanes @from to @end - 1 that gives its message. As nal_take(). */
static int take_first(struct nal_ni *ni, struct p3l_sink *sink, uint32_t from, uint32_t end)
{
	struct priv *pv = priv_of(ni);
	struct p3l_ni *l = ni->l;
	int rc = 0;

	for (uint32_t w = from / 64; w * 64 < end; w++)
		for (uint64_t used = p3_load(&l->lanes_used[w]); used; used &= used - 1) {
			uint32_t s = w * 64 + (uint32_t)__builtin_ctzll(used);
			int this;

			if (s < from || s >= end || !p3l_lane_ready(l, p3l_lane(l, s)))
				continue;
			this = take_from(ni, s, p3l_lane(l, s), sink, !pv->burst);
			if (this > 0)
				return this;
			rc = -1;
		}
	return rc;
}

/* Of whomever: the lane that gave the last message first; but now and then the others have their turn, one by one. */
static int take_any(struct nal_ni *ni, struct p3l_sink *sink)
{
	struct priv *pv = priv_of(ni);
	uint32_t next = pv->last ? pv->last_lane + 1 : 0;
	int rc, behind;

	if (p3_likely(pv->last != NULL) && p3_likely(++pv->streak % STREAK) && p3l_lane_ready(ni->l, pv->last)) {
		rc = take_from(ni, pv->last_lane, pv->last, sink, !pv->burst);
		if (p3_likely(rc > 0))
			return rc;
	}
	rc = take_first(ni, sink, next, ni->n_peers);
	if (rc > 0)
		return rc;
	behind = take_first(ni, sink, 0, next);
	return behind ? behind : rc;
}

int nal_take(struct nal_ni *ni, uint32_t slot, struct p3l_sink *sink, unsigned looks)
{
	struct priv *pv = priv_of(ni);
	struct p3l_lane_hdr *lane;
	const struct p3l_line *m;
	uint32_t head, mask;
	int rc;

	if (p3_unlikely(slot >= ni->n_peers)) {
		while (!(rc = take_any(ni, sink)) && looks > 1) {
			pv->burst = 0;
			looks--;
			no_guess();
		}
		return rc;
	}
	lane = p3_likely(slot == pv->last_lane) ? pv->last : NULL;
	if (p3_unlikely(!lane)) {
		if (!(p3_load(&ni->l->lanes_used[slot >> 6]) >> (slot & 63) & 1))
			return 0;		/* its lane has never been written: looking there would cost memory */
		lane = p3l_lane(ni->l, slot);
	}
	head = p3_load(&lane->head);
	mask = p3l_lane_mask(ni->l);
	m = &p3l_lane_lines(lane)[head & mask];
	while (p3_load_acq(&m->word) != p3l_word(P3L_W_FULL, head)) {
		pv->burst = 0;
		if (looks-- <= 1)
			return 0;
		no_guess();
	}
	if (!P3_TRACING) {
		if (!pv->burst) {
			no_guess();
			expect_reply(ni, slot);
		} else if (pv->burst > 2) {
			__builtin_prefetch(&p3l_lane_lines(lane)[(head + P3L_FETCH) & mask]);
		}
		rc = p3l_line_take(ni->l, lane, slot, head, m, sink);
		if (p3_likely(rc > 0)) {
			pv->last = lane;
			pv->last_lane = slot;
			pv->burst++;
			return rc;
		}
		if (rc < 0)
			return rc;
	}
	return take_from(ni, slot, lane, sink, !pv->burst);
}

void nal_attend(struct nal_ni *ni, bool on)
{
	struct priv *pv = priv_of(ni);
	int n = on ? 1 : -1;

	if (ni->env.single)
		n = pv->attending += n;
	else
		n += p3_fetch_add(&pv->attending, n);
	if (!n && pv->n_hot)
		leave(ni);
}

/*
 * Puts to @pt wait for us (@on), or no longer. Copies that others are making there end by themselves, or are ours
 * to make; the dead are cleared away. One that does not end, since its mover is stopped, costs us the locks until
 * the entry is switched again, nothing else.
 */
void nal_polled(struct nal_ni *ni, uint32_t pt, bool on)
{
	for (unsigned n = 0; !p3l_pt_polled_set(&ni->env, ni->l, pt, on) && n < POLLED_PATIENCE; n++) {
		nal_relax(n + 1);
		nal_progress(ni, NAL_EQ_GONE, NULL);
		if (n % 1024 == 1023)
			p3l_reap(&ni->env, ni->l);
	}
	if (on)
		return;
	if (!priv_of(ni)->fences)
		smartmap_membarrier();		/* M:polled.membarrier pairs with the second look in still_polled() */
	else
		p3_fence();			/* M:polled.off-fence */
	for (uint32_t s = 0; s < ni->n_peers; s++) {
		struct p3l_lane_hdr *lane = p3l_lane(ni->l, s);

		p3l_lane_lock(&ni->env, ni->l, lane, true);	/* who has it may have seen the promise, and left one */
		p3l_lane_unlock(lane);
	}
	drain_own(ni, NULL);			/* what was left for us with a plain store nobody else takes */
}

/* By a thread of ours. The fence pairs with the sleeper's membarrier(). */
void nal_wake(struct nal_ni *ni)
{
	p3_fence();
	if (p3_load(&ni->l->sleeping))
		nal_wake_slow(ni->l);
}

void nal_wait(struct nal_ni *ni, int64_t ns, bool (*ready)(void *), void *arg)
{
	struct priv *pv = priv_of(ni);
	struct p3l_ni *l = ni->l;
	struct timespec ts;
	int64_t slice = 100000000;		/* look at least ten times a second whether somebody has died */
	uint32_t mine;

	if (ns >= 0 && ns < slice)
		slice = ns;
	ts = (struct timespec){ slice / 1000000000, slice % 1000000000 };
	p3_fetch_add(&pv->sleepers, 1);		/* M:sleep.enter */
	/* A number of our own: a waker takes it away, then another thread may write its own, but nobody ours again. */
	mine = p3_fetch_add(&pv->naps, 2) | 1;	/* M:sleep.number */
	p3_store(&l->sleeping, mine);		/* M:sleep.word */
	smartmap_membarrier();			/* M:sleep.membarrier pairs with the look in wake() */
	look_elsewhere(ni);
	if (any_lane(ni))
		drain_own(ni, NULL);
	if (!any_lane(ni) && !ready(arg)) {	/* in this order: a message leaves its lane when its event is there */
		P3_TRACE_BEGAN(began);
		P3_PROBE2(sleep, l, ns);
		syscall(SYS_futex, &l->sleeping, FUTEX_WAIT, mine, &ts, NULL, 0);	/* M:sleep.futex */
		P3_PROBE1(woken, l);
		P3_TRACED(sleep(began));
	}
	if (p3_fetch_add(&pv->sleepers, -1) == 1)	/* M:sleep.leave another may sleep on: the word stays */
		p3_cas32(&l->sleeping, mine, 0);	/* M:sleep.last unless one has come meanwhile */
	p3l_reap(&ni->env, l);
}

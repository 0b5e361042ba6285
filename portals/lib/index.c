/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * index.c - long match lists: which entries can take these match bits at all
 *
 * A search that has walked past ni.index_from entries makes an index beside the chain, which then goes with it until
 * the list is short again. A list whose messages find their entry near its head, as where they come in the order in
 * which receives are posted, needs none, and pays for none. Entries are put into buckets by a hash of the bits that
 * most of them compare (pt.index_mask); those that ignore one of these bits stand in a list of their own,
 * the wild ones. Both kinds of chain are in list order, kept by a number in each entry (seq); a search merges the
 * bucket of the request with the wild ones by that number, so it meets the entries in the order of the list and
 * leaves out only such as cannot match. The plain walk is the reference: whatever the index finds, the walk would
 * have found.
 *
 * Everything here changes under the lock of the entry. The buckets' place is taken by the owner, once, for the
 * longest list that there can be; memory is touched as it is used. A mover that dies in here leaves an index that
 * nobody trusts: repair drops it (p3l_index_drop), and the next search that walks far makes a new one.
 */
#include "p3l.h"

#define GAP	((uint64_t)1 << 32)	/* between neighbours, when numbered anew */
#define STEP	((uint64_t)1 << 16)	/* for an entry between two: number() */
#define LOAD	2U		/* entries for each bucket before there are more buckets */
#define MAX_LOG2 16U		/* buckets for the longest list, whatever its limit says by now */
#define GROW	4		/* so many times the entries of today find room then */

struct bucket {
	uint32_t head, tail;		/* ME index + 1 */
};

static uint32_t sane(uint32_t i)
{
	return p3_likely(i <= P3L_MAX_ME) ? i : 0;
}

static struct p3l_me *entry(struct p3l_ni *ni, uint32_t i)
{
	return p3l_me(ni, i - 1);
}

static struct bucket *bucket_of(struct p3l_ni *ni, const struct p3l_pt *p, uint64_t bits, uint32_t log2)
{
	uint64_t off = p3_load(&p->index), hash = (bits & p->index_mask) * 0x9e3779b97f4a7c15ULL;
	struct bucket *b;

	if (p3_unlikely(log2 > 31 || off < P3L_LANE_OFF || off >= ni->size ||
			ni->size - off < (uint64_t)sizeof(*b) << log2 || off % sizeof(*b)))
		return NULL;
	b = (struct bucket *)((char *)ni + off);
	return &b[hash >> 32 >> (32 - log2)];
}

static bool is_wild(const struct p3l_pt *p, const struct p3l_me *me)
{
	return me->ignore_bits & p->index_mask;
}

/* The last of a chain that stands before number @seq, 0: none. From both ends at once: it is nearly always at one. */
static uint32_t before(struct p3l_ni *ni, uint32_t head, uint32_t tail, uint64_t seq)
{
	uint32_t left = 0, n = 0;

	while (head && tail && n++ < P3L_MAX_ME) {
		if (entry(ni, tail)->seq < seq)
			return tail;
		if (entry(ni, head)->seq > seq)
			return left;
		left = head;
		head = sane(entry(ni, head)->hnext);
		tail = sane(entry(ni, tail)->hprev);
	}
	return left;
}

static void chain_in(struct p3l_ni *ni, uint32_t *head, uint32_t *tail, uint32_t i, uint32_t prev)
{
	struct p3l_me *me = entry(ni, i);
	uint32_t next = sane(prev ? entry(ni, prev)->hnext : *head);

	me->hprev = prev;
	me->hnext = next;
	P3L_POINT("index in");
	if (prev)
		entry(ni, prev)->hnext = i;
	else
		*head = i;
	if (next)
		entry(ni, next)->hprev = i;
	else
		*tail = i;
}

static void chain_out(struct p3l_ni *ni, uint32_t *head, uint32_t *tail, struct p3l_me *me)
{
	uint32_t prev = sane(me->hprev), next = sane(me->hnext);

	if (prev)
		entry(ni, prev)->hnext = next;
	else
		*head = next;
	P3L_POINT("index out");
	if (next)
		entry(ni, next)->hprev = prev;
	else
		*tail = prev;
}

/* Do the two stand in the same chain? */
static bool together(const struct p3l_pt *p, const struct p3l_me *a, const struct p3l_me *b)
{
	bool wild = is_wild(p, a);

	return wild == is_wild(p, b) && (wild || !((a->match_bits ^ b->match_bits) & p->index_mask));
}

/* @last: nothing in the chains comes behind it. */
static void put_in(struct p3l_ni *ni, struct p3l_pt *p, uint32_t i, bool last)
{
	uint32_t *head = &p->wild_head, *tail = &p->wild_tail, prev;
	struct p3l_me *me = entry(ni, i);

	if (!is_wild(p, me)) {
		struct bucket *b = bucket_of(ni, p, me->match_bits, p->index_log2);

		if (p3_unlikely(!b)) {
			p3l_index_drop(p);
			return;
		}
		head = &b->head;
		tail = &b->tail;
	}
	prev = sane(me->prev);
	if (last)
		prev = sane(*tail);
	else if (!prev || !together(p, entry(ni, prev), me))
		prev = before(ni, sane(*head), sane(*tail), me->seq);
	chain_in(ni, head, tail, i, prev);
}

/* The bits that most entries compare: those that one more than half of them ignore do not count. */
static uint64_t common_mask(struct p3l_ni *ni, const struct p3l_pt *p)
{
	uint64_t ignore = 0;
	uint32_t votes = 0, n = 0;

	for (uint32_t i = sane(p->head); i && n++ < P3L_MAX_ME; i = sane(entry(ni, i)->next)) {
		uint64_t x = entry(ni, i)->ignore_bits;

		if (!votes)
			ignore = x;
		votes += x == ignore ? 1 : (uint32_t)-1;
	}
	return ~ignore;
}

/* All entries, numbered anew. */
static void build(struct p3l_ni *ni, struct p3l_pt *p)
{
	uint32_t log2 = 4, n = 0, room = p3_load_acq(&p->index_room);
	uint64_t seq = (uint64_t)1 << 63;
	struct bucket *b;

	p3l_index_drop(p);
	while (log2 < room && log2 < MAX_LOG2 && LOAD << log2 < GROW * p->len)
		log2++;
	p->index_mask = common_mask(ni, p);
	b = bucket_of(ni, p, 0, log2);
	if (!b || log2 > room)
		return;
	for (uint32_t k = 0; k < 1u << log2; k++)
		b[k] = (struct bucket){ 0, 0 };
	p->wild_head = p->wild_tail = 0;
	p->index_log2 = log2;
	for (uint32_t i = sane(p->head); i && n++ < P3L_MAX_ME && p->index_log2; i = sane(entry(ni, i)->next)) {
		entry(ni, i)->seq = seq += GAP;
		put_in(ni, p, i, true);
	}
}

/*
 * A number between those of the neighbours. Programs insert again and again before one entry, or behind one: the new
 * one is put beside its fellow of last time and leaves the rest of the gap to those to come. False: no room left.
 */
static bool number(struct p3l_ni *ni, struct p3l_me *me, ptl_ins_pos_t pos)
{
	uint32_t prev = sane(me->prev), next = sane(me->next);
	uint64_t lo, hi, step;

	if (!prev || !next) {
		me->seq = prev ? entry(ni, prev)->seq + GAP : next ? entry(ni, next)->seq - GAP : (uint64_t)1 << 63;
		return prev ? me->seq > entry(ni, prev)->seq : !next || me->seq < entry(ni, next)->seq;
	}
	lo = entry(ni, prev)->seq;
	hi = entry(ni, next)->seq;
	step = (hi - lo) / 2;
	if (step > STEP)
		step = STEP;
	me->seq = pos == PTL_INS_BEFORE ? lo + step : hi - step;
	return lo < me->seq && me->seq < hi;
}

void p3l_index_take_room(struct p3l_ni *ni, uint32_t pt)
{
	struct p3l_pt *p = &ni->pt[pt];
	uint32_t log2 = 4;
	uint64_t off;

	if (p3_likely(p->index_room))
		return;
	while (log2 < MAX_LOG2 && LOAD << log2 < ni->max_me_list)
		log2++;
	off = p3l_md_room(ni, log2 + 3);
	if (!off)
		return;			/* full: the list is walked */
	p3_store(&p->index, off);
	p3_store_rel(&p->index_room, log2);
}

bool p3l_index_make(struct p3l_ni *ni, uint32_t pt)
{
	struct p3l_pt *p = &ni->pt[pt];

	if (p3_load(&p->index_room) && p->len > ni->index_from)
		build(ni, p);
	return p->index_log2;
}

void p3l_index_in(struct p3l_ni *ni, uint32_t pt, uint32_t idx, ptl_ins_pos_t pos)
{
	struct p3l_pt *p = &ni->pt[pt];

	if ((p->len <= LOAD << (p->index_log2 & 31) || p->index_log2 >= p3_load(&p->index_room)) &&
	    number(ni, p3l_me(ni, idx), pos))
		put_in(ni, p, idx + 1, false);
	else
		build(ni, p);
}

void p3l_index_out(struct p3l_ni *ni, uint32_t pt, uint32_t idx)
{
	struct p3l_pt *p = &ni->pt[pt];
	struct p3l_me *me = p3l_me(ni, idx);
	struct bucket *b;

	if (p->len < ni->index_from / 2) {
		p3l_index_drop(p);	/* short again */
		return;
	}
	if (is_wild(p, me)) {
		chain_out(ni, &p->wild_head, &p->wild_tail, me);
		return;
	}
	b = bucket_of(ni, p, me->match_bits, p->index_log2);
	if (p3_likely(b))
		chain_out(ni, &b->head, &b->tail, me);
	else
		p3l_index_drop(p);
}

void p3l_index_start(struct p3l_ni *ni, uint32_t pt, uint64_t bits, struct p3l_among *a)
{
	const struct p3l_pt *p = &ni->pt[pt];
	const struct bucket *b = bucket_of(ni, p, bits, p->index_log2);

	a->same = b ? sane(p3_load(&b->head)) : 0;
	a->wild = sane(p3_load(&p->wild_head));
}

uint32_t p3l_index_next(struct p3l_ni *ni, struct p3l_among *a)
{
	uint32_t i;

	if (a->same && (!a->wild || entry(ni, a->same)->seq < entry(ni, a->wild)->seq)) {
		i = a->same;
		a->same = sane(p3_load(&entry(ni, i)->hnext));
	} else {
		i = a->wild;
		if (i)
			a->wild = sane(p3_load(&entry(ni, i)->hnext));
	}
	return i;
}

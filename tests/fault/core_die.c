/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_die.c - a mover dies at every point of every kind of operation; its owner then finds everything in order
 *
 *	core_die walk		each scenario, the mover ending at its 1st, 2nd, ... P3L_POINT by _exit()
 *	core_die stop		the same; stopped there first, while the owner goes on, and then killed
 *	core_die kill [N]	N movers killed at a random moment, while a second one works on (T_SEED)
 *
 * The core is compiled with P3_FAULT. "In order" is: locks free, records free, lists and pools whole, nothing pending,
 * each operation that was charged has its events once, the queue does not stop, and MDs can be unlinked.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../common/tap.h"
#include "../unit/core_env.h"

static struct p3l_ni *ni;
static struct p3l_env owner, mover, other;
static struct p3l_ref eq;

/* ---- dying ---- */

static int countdown;			/* points until the end; 0: never */
static bool stop_first;
static struct { char where[32]; } *said;	/* shared: where it died */

void p3l_point(const char *where)
{
	if (!countdown || --countdown)
		return;
	snprintf(said->where, sizeof(said->where), "%s", where);
	if (stop_first)
		raise(SIGSTOP);
	_exit(9);
}

/* ---- the owner's view ---- */

enum { SEEN_MAX = 4096 };
static struct seen {
	int starts[SEEN_MAX], ends[SEEN_MAX], acks, sends, unlinks, failed, other;
	uint64_t hdr[SEEN_MAX];
	int n_ends, n_starts;
} seen;

/* Of each MD of the killing: how it was posted, and what has been read of it. */
static struct account {
	int threshold, starts, ends, acks;
	unsigned options;
	uint32_t open[8];		/* links of STARTs without END */
	int n_open;
} account[64];
static bool killing;

static void book(const struct p3l_slot *ev)
{
	struct account *a = &account[ev->md % 64];
	int k;

	switch (ev->kind_fail & 15) {
	case PTL_EVENT_PUT_START:
	case PTL_EVENT_GET_START:
		a->starts++;
		a->open[a->n_open++ % 8] = ev->link;
		break;
	case PTL_EVENT_PUT_END:
	case PTL_EVENT_GET_END:
		a->ends++;
		for (k = 0; k < a->n_open && a->open[k] != ev->link; k++)
			;
		if (!(a->options & PTL_MD_EVENT_START_DISABLE))
			CHECK(k < a->n_open);
		if (k < a->n_open)
			a->open[k] = a->open[--a->n_open];
		break;
	case PTL_EVENT_ACK:
		a->acks++;
		break;
	case PTL_EVENT_UNLINK:		/* the last of its MD: now the sums must be right */
		if (!(a->options & PTL_MD_EVENT_START_DISABLE))
			CHECK_INT(a->starts + a->acks, a->threshold);
		if (!(a->options & PTL_MD_EVENT_END_DISABLE)) {
			CHECK_INT(a->ends + a->acks, a->threshold);
			CHECK_INT(a->n_open, 0);
		}
		*a = (struct account){ .threshold = -1 };
		seen.unlinks++;
		break;
	default:
		CHECK(!"no such event");
	}
}

static void read_all(void)
{
	struct p3l_slot ev;
	int rc;

	while ((rc = p3l_eq_read(&owner, ni, eq.idx, &ev, true))) {
		CHECK_INT(rc, 1);
		if (killing) {
			book(&ev);
			continue;
		}
		switch (ev.kind_fail & 15) {
		case PTL_EVENT_PUT_START:
		case PTL_EVENT_GET_START:
		case PTL_EVENT_GETPUT_START:
			seen.starts[ev.link % SEEN_MAX]++;
			seen.n_starts++;
			CHECK_INT(seen.unlinks, 0);
			break;
		case PTL_EVENT_PUT_END:
		case PTL_EVENT_GET_END:
		case PTL_EVENT_GETPUT_END:
			seen.ends[ev.link % SEEN_MAX]++;
			seen.failed += ev.kind_fail >> 4 == PTL_NI_DIED_NP;
			CHECK(ev.kind_fail >> 4 == PTL_NI_OK || ev.kind_fail >> 4 == PTL_NI_DIED_NP);
			seen.hdr[seen.n_ends++ % SEEN_MAX] = ev.hdr_data;
			CHECK_INT(seen.unlinks, 0);
			break;
		case PTL_EVENT_ACK: seen.acks++; break;
		case PTL_EVENT_UNLINK: seen.unlinks++; break;
		case PTL_EVENT_SEND_START: case PTL_EVENT_SEND_END: seen.sends++; break;
		default: seen.other++;
		}
	}
}

static void reap_all(void)
{
	for (int i = 0; i < 5; i++)
		p3l_reap(&owner, ni);
}

static void check_rest(uint32_t slot)
{
	for (uint32_t i = 0; i < P3L_MAX_PT + P3L_PT_STRIPES; i++)
		CHECK_INT(ni->pt[i].lock, 0);
	for (uint32_t k = 0; k < P3L_OPS; k++)
		CHECK_INT(p3l_row(ni, slot)->op[k].state, P3L_OP_IDLE);
	CHECK_INT(p3l_lane(ni, slot)->lock, 0);
	for (uint32_t pt = 0; pt < 4; pt++)
		CHECK(c_list_ok(ni, pt));
	CHECK(c_pools_ok(ni));
	CHECK_INT(ni->holes, 0);
	CHECK_INT(p3l_row(ni, 0)->stats.corrupt + p3l_row(ni, 0)->stats.eq_overruns, 0);
}

/* ---- scenarios ---- */

struct scenario {
	const char *name;
	unsigned options;
	int threshold;
	ptl_unlink_t me_op, md_op;
	int ops;			/* operations of the mover, all begun before the first ends */
	bool get, no_queue, lane, ack, companion;
	bool early;			/* the companion ends before the dead one's records are finished */
	bool getput;
	uint64_t max_size;
	bool indexed;			/* the list has an index */
};

#define START_OFF PTL_MD_EVENT_START_DISABLE
#define END_OFF PTL_MD_EVENT_END_DISABLE
static const struct scenario scenarios[] = {
	{ "put", 0, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1 },
	{ "put, another one in progress", 0, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1, .companion = true },
	{ "put, no START", START_OFF, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1, .companion = true },
	{ "put, no END", END_OFF, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1, .companion = true },
	{ "put, no START, no END", START_OFF | END_OFF, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1 },
	{ "put, no queue", 0, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1, .no_queue = true },
	{ "last put unlinks MD and ME", 0, 1, PTL_UNLINK, PTL_UNLINK, .ops = 1 },
	{ "last put unlinks MD and ME, no START", START_OFF, 1, PTL_UNLINK, PTL_UNLINK, .ops = 1 },
	{ "last put unlinks MD and ME, no queue", 0, 1, PTL_UNLINK, PTL_UNLINK, .ops = 1, .no_queue = true },
	{ "last put unlinks MD, keeps ME", 0, 1, PTL_RETAIN, PTL_UNLINK, .ops = 1 },
	{ "last put, another one in progress", 0, 2, PTL_UNLINK, PTL_UNLINK, .ops = 1, .companion = true },
	{ "last put, another one ends first", 0, 2, PTL_UNLINK, PTL_UNLINK, .ops = 1, .companion = true, .early = true },
	{ "last put, no START, another one ends first", START_OFF, 2, PTL_UNLINK, PTL_UNLINK, .ops = 1, .companion = true,
	  .early = true },
	{ "put, another one ends first", 0, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1, .companion = true, .early = true },
	{ "last put by size", PTL_MD_MAX_SIZE, PTL_MD_THRESH_INF, PTL_UNLINK, PTL_UNLINK, .ops = 1, .max_size = 60 },
	{ "three puts at once", 0, 9, PTL_RETAIN, PTL_RETAIN, .ops = 3, .companion = true },
	{ "three puts at once, no START", START_OFF, 9, PTL_RETAIN, PTL_RETAIN, .ops = 3, .companion = true },
	{ "three puts at once, the last", 0, 3, PTL_UNLINK, PTL_UNLINK, .ops = 3 },
	{ "get", 0, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1, .get = true, .companion = true },
	{ "last get", START_OFF, 1, PTL_UNLINK, PTL_UNLINK, .ops = 1, .get = true },
	{ "getput", 0, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1, .getput = true, .companion = true },
	{ "last getput", START_OFF, 1, PTL_UNLINK, PTL_UNLINK, .ops = 1, .getput = true },
	{ "last getput, another one ends first", 0, 2, PTL_UNLINK, PTL_UNLINK, .ops = 1, .getput = true, .companion = true,
	  .early = true },
	{ "last put, indexed", 0, 1, PTL_UNLINK, PTL_UNLINK, .ops = 1, .indexed = true },
	{ "last get, indexed, another one ends first", 0, 2, PTL_UNLINK, PTL_UNLINK, .ops = 1, .get = true,
	  .companion = true, .early = true, .indexed = true },
	{ "lane, the last unlinks, indexed", 0, 3, PTL_UNLINK, PTL_UNLINK, .ops = 3, .lane = true, .indexed = true },
	{ "lane", 0, 9, PTL_RETAIN, PTL_RETAIN, .ops = 3, .lane = true },
	{ "lane, no START", START_OFF, 9, PTL_RETAIN, PTL_RETAIN, .ops = 3, .lane = true },
	{ "lane, the last unlinks", 0, 3, PTL_UNLINK, PTL_UNLINK, .ops = 3, .lane = true },
	{ "ack", 0, 9, PTL_RETAIN, PTL_RETAIN, .ops = 1, .ack = true },
	{ "ack, the last", 0, 1, PTL_RETAIN, PTL_UNLINK, .ops = 1, .ack = true },
	{ "ack, the last, no queue", 0, 1, PTL_RETAIN, PTL_UNLINK, .ops = 1, .ack = true, .no_queue = true },
};

static struct p3l_ref me[3], md;
static struct p3l_lane_tx tx;

static void set_up(const struct scenario *s)
{
	struct p3l_setup setup = c_setup();
	ptl_md_t v = c_md(0x1000, 100, s->threshold, s->options | PTL_MD_OP_PUT | PTL_MD_OP_GET);
	struct p3l_md_args a;

	if (ni)
		c_free(ni);
	setup.max_me = setup.max_md = 8;
	if (s->indexed)
		setup.index_from = 1;
	ni = c_region(&setup);
	owner = c_env(0, false);
	mover = c_env(1, false);
	other = c_env(2, false);
	memset(&seen, 0, sizeof(seen));
	memset(c_dead, 0, sizeof(c_dead));
	tx = (struct p3l_lane_tx){ 0 };
	p3l_eq_alloc(&owner, ni, 32, &eq);
	v.max_size = s->max_size;
	a = c_args(&v, s->no_queue ? NULL : &eq);
	for (int i = 0; i < 3; i++)
		p3l_me_attach(&owner, ni, 0, C_ANY, i == 1 ? 5 : 6, 0, i == 1 ? s->me_op : PTL_RETAIN,
			      PTL_INS_AFTER, &me[i]);
	if (s->ack)
		p3l_md_bind(&owner, ni, &a, s->md_op, &md);
	else
		p3l_md_attach(&owner, ni, me[1], &a, s->md_op, &md);
	if (s->indexed)
		CHECK(p3l_index_make(ni, 0));
}

/* As nal_drain() does it, by the initiator. */
static void drain(const struct p3l_env *env, uint32_t from)
{
	struct p3l_lane_hdr *l = p3l_lane(ni, from);
	struct p3l_hdr h = c_hdr(P3L_PUT, from, 0, 0, 0);
	struct p3l_data data;
	int lines;

	if (!p3l_lane_lock(env, ni, l, true))
		return;
	P3L_POINT("lane locked");
	while ((lines = p3l_lane_peek(ni, l, &h, &data)) > 0) {
		struct p3l_op *op = p3l_op_get(env, ni);
		enum p3l_verdict v;

		if (!op)
			break;
		P3L_POINT("record taken");
		op->lane = l->head + 1;
		v = p3l_target_begin(env, ni, &h, op, false);
		P3L_POINT("lane begun");
		p3l_lane_advance(ni, l, (uint32_t)lines);
		P3L_POINT("lane advanced");
		if (v == P3L_MATCHED)
			p3l_target_end(env, ni, op, PTL_NI_OK);
		P3L_POINT("lane ended");
		p3l_lane_release(ni, l);
	}
	p3l_lane_unlock(l);
}

/* The target's bytes, which its owner and the dead one see; the locks are taken from the dead by whoever comes next. */
static char *swapped;

static void exchange(void)
{
	char buf[20] = "abcdefghijklmnopqrs";
	struct p3l_swap s;

	p3l_swap_lock(&mover, ni, 0x1000, sizeof(buf), false, &s);
	p3l_swap_bytes(swapped, buf, sizeof(buf));
	p3l_swap_unlock(ni, &s);
}

/* Another exchange of the same bytes goes through, and each of them is an old or a new one. */
static void check_exchange(void)
{
	static const char was[20] = "ABCDEFGHIJKLMNOPQRS", new[20] = "abcdefghijklmnopqrs";
	char buf[20] = "0123456789012345678";
	struct p3l_swap s;

	p3l_swap_lock(&owner, ni, 0x1000, sizeof(buf), false, &s);
	p3l_swap_bytes(swapped, buf, sizeof(buf));
	p3l_swap_unlock(ni, &s);
	for (unsigned i = 0; i < sizeof(buf); i++)
		CHECK(buf[i] == was[i] || buf[i] == new[i]);
	for (unsigned i = 0; i < P3L_SWAP_STRIPES; i++)
		CHECK_INT(ni->swap[i], 0);
}

static void work(const struct scenario *s)
{
	struct p3l_hdr h = c_hdr(s->getput ? P3L_GETPUT : s->get ? P3L_GET : P3L_PUT, 1, 0, 5, s->max_size ? 50 : 8);
	struct p3l_op *op[3];

	if (s->ack) {
		p3l_ack(&mover, ni, md, 1, 0, 5, 0, 8, 8);
		return;
	}
	if (s->lane) {
		for (int i = 0; i < s->ops; i++) {
			h.hdr_data = (uint64_t)i + 1;
			p3l_lane_put(ni, 1, &tx, &h, "12345678", true);
		}
		P3L_POINT("lane filled");
		drain(&mover, 1);
		return;
	}
	for (int i = 0; i < s->ops; i++) {
		h.hdr_data = (uint64_t)i + 1;
		op[i] = p3l_op_get(&mover, ni);
		P3L_POINT("taken");
		if (p3l_target_begin(&mover, ni, &h, op[i], false) != P3L_MATCHED)
			_exit(3);
	}
	if (s->getput)
		exchange();
	for (int i = s->ops - 1; i >= 0; i--)
		p3l_target_end(&mover, ni, op[i], PTL_NI_OK);
}

/* What the list has is in its index, in the same order. */
static void check_index(void)
{
	CHECK(ni->pt[0].index_log2);
	for (uint64_t bits = 5; bits < 8; bits++) {
		struct p3l_among a;
		uint32_t i, n = 0;

		p3l_index_start(ni, 0, bits, &a);
		for (i = ni->pt[0].head; i && n++ < 8; i = p3l_me(ni, i - 1)->next)
			if (p3l_me(ni, i - 1)->match_bits == bits)
				CHECK_INT(p3l_index_next(ni, &a), i);
		while ((i = p3l_index_next(ni, &a)) && n++ < 16)	/* others of the same bucket */
			CHECK(p3l_me(ni, i - 1)->match_bits != bits);
		CHECK(n < 16);
	}
}

/* One life. Returns whether the mover died before its end. */
static bool one(const struct scenario *s, int at)
{
	bool quiet = s->no_queue, start = !quiet && !(s->options & START_OFF), end = !quiet && !(s->options & END_OFF);
	struct p3l_hdr h = c_hdr(P3L_PUT, 2, 0, 5, 8);
	struct p3l_op *op = NULL;
	int status, charged, left, rc;
	struct p3l_ref x;
	pid_t pid;

	set_up(s);
	memcpy(swapped, "ABCDEFGHIJKLMNOPQRS", 20);
	if (s->companion) {
		h.hdr_data = 100;
		op = p3l_op_get(&other, ni);
		CHECK_INT(p3l_target_begin(&other, ni, &h, op, false), P3L_MATCHED);
	}
	pid = fork();
	if (!pid) {
		countdown = at;
		work(s);
		_exit(0);
	}
	waitpid(pid, &status, WUNTRACED);
	if (WIFSTOPPED(status)) {
		read_all();		/* whatever does not need its lock goes on */
		p3l_reap(&owner, ni);
		read_all();
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		status = 9 << 8;
	}
	c_dead[1] = true;
	CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9));

	CHECK_INT(p3l_me_attach(&owner, ni, 0, C_ANY, 7, 0, PTL_RETAIN, PTL_INS_AFTER, &x), PTL_OK);
	if (s->indexed) {
		if (!ni->pt[0].index_log2)		/* repair has dropped it */
			CHECK(p3l_index_make(ni, 0));
		check_index();
	}
	if (s->getput)
		check_exchange();
	if (s->early) {			/* what took the dead one's lock over has made it count */
		p3l_target_end(&other, ni, op, PTL_NI_OK);
		op = NULL;
		read_all();
	}
	reap_all();
	read_all();
	if (op) {
		CHECK_INT(p3l_md(ni, md.idx)->pending, 1);
		CHECK_INT(p3l_md_unlink(&owner, ni, md), PTL_MD_IN_USE);
		p3l_target_end(&other, ni, op, PTL_NI_OK);
		read_all();
	}
	if (s->lane) {			/* what is left of its messages counts */
		drain(&owner, 1);
		read_all();
	}
	check_rest(1);
	CHECK(p3l_eq_idle(ni, eq.idx));
	CHECK_INT(seen.other + seen.sends, 0);

	left = p3l_md_unlink(&owner, ni, md) == PTL_OK ? p3l_md(ni, md.idx)->threshold : 0;
	charged = s->threshold == PTL_MD_THRESH_INF ? seen.n_ends : s->threshold - left;
	if (s->ack) {
		CHECK_INT(seen.acks, quiet ? 0 : charged);
	} else {
		CHECK_INT(seen.n_starts, start ? charged : 0);
		CHECK_INT(seen.n_ends, end ? charged : 0);
		for (int i = 0; i < SEEN_MAX; i++)
			if (start && end)
				CHECK_INT(seen.starts[i], seen.ends[i]);
	}
	if (s->lane) {			/* exactly once */
		uint64_t mask = 0;

		for (int i = 0; i < seen.n_ends; i++) {
			CHECK(!(mask >> seen.hdr[i] & 1));
			mask |= 1u << seen.hdr[i];
		}
		CHECK(charged == 3 || !strcmp(said->where, ""));
	}
	CHECK_INT(seen.unlinks, !quiet && s->md_op == PTL_UNLINK && (s->max_size ? seen.n_ends : !left));
	rc = p3l_me_unlink(&owner, ni, me[1]);
	CHECK_INT(rc, s->me_op == PTL_UNLINK ? PTL_ME_INVALID : PTL_OK);
	for (int i = 0; i < 3; i += 2)
		CHECK_INT(p3l_me_unlink(&owner, ni, me[i]), PTL_OK);
	CHECK_INT(p3l_me_unlink(&owner, ni, x), PTL_OK);
	CHECK(c_pools_ok(ni));
	CHECK_INT(c_me_free_count(ni), 8);
	CHECK_INT(c_md_free_count(ni), 8);
	return WEXITSTATUS(status) == 9;
}

static int walk(void)
{
	int n = sizeof(scenarios) / sizeof(scenarios[0]), only = getenv("T_POINT") ? atoi(getenv("T_POINT")) : 0;

	plan(n);
	for (int i = 0; i < n; i++) {
		int at = only ? only : 1;

		if (getenv("T_ONLY") && strcmp(getenv("T_ONLY"), scenarios[i].name)) {
			skip(1, "not asked for");
			continue;
		}
		t_bad_ = 0;
		for (;; at++) {
			int bad = t_bad_;
			bool died = one(&scenarios[i], at);

			if (t_bad_ != bad)
				diag("%s: died at point %d, \"%s\"", scenarios[i].name, at, said->where);
			if (!died || only)
				break;
		}
		ok(!t_bad_ && at > 1, "%s: %d points", scenarios[i].name, at - 1);
	}
	return exit_status();
}

/* ---- killed at any moment ---- */

static struct { uint64_t begun[C_SLOTS]; uint32_t stop, dead[C_SLOTS]; } *shared;

/* As all processes see it: one that took a living mover for dead would take its locks. */
static bool alive(uint32_t slot)
{
	return slot < C_SLOTS && !p3_load(&shared->dead[slot]);
}

/* Puts, gets and lane messages for ever; what it does depends on the seed only. */
static void busy(const struct p3l_env *env, uint64_t seed)
{
	uint32_t slot = env->self - 1;
	struct p3l_lane_hdr *l = p3l_lane(ni, slot);
	struct p3l_hdr h = c_hdr(P3L_PUT, slot, 0, 0, 8);
	struct p3l_op *op;

	tx = (struct p3l_lane_tx){ .tail = l->head, .head_seen = l->head };
	for (uint32_t i = 0; i < ni->lane_lines; i++)	/* a new producer: nothing is left of the one before */
		p3l_lane_line(ni, l, tx.tail + i)->word = p3l_word(P3L_W_MORE, tx.tail + i - ni->lane_lines);
	p3_store(&shared->begun[slot], 1);
	while (!p3_load(&shared->stop)) {
		uint64_t r = c_random(&seed);

		h.pt = (uint32_t)(r >> 8) % 4;
		h.type = r >> 16 & 1 ? P3L_PUT : P3L_GET;
		h.hdr_data = r;
		if (r % 4 == 0) {
			p3l_ack(env, ni, (struct p3l_ref){ (uint32_t)(r >> 20) % 12, (uint32_t)(r >> 30) % 64 }, slot, 0, 0,
				0, 8, 8);
		} else if (r % 4 == 1 && p3l_lane_room(ni, slot, &tx, 8)) {
			h.type = P3L_PUT;
			p3l_lane_put(ni, slot, &tx, &h, "12345678", true);
			if (r >> 24 & 1)
				drain(env, slot);
		} else {
			op = p3l_op_get(env, ni);
			if (op && p3l_target_begin(env, ni, &h, op, false) == P3L_MATCHED)
				p3l_target_end(env, ni, op, PTL_NI_OK);
		}
	}
}

static struct p3l_ref base[4];
static uint64_t posted_mds;

/* The owner: keep MDs posted, read events. */
static void refill(uint64_t *seed, struct p3l_ref *mds, int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t r = c_random(seed);
		ptl_md_t v = c_md(0x1000, 1 << 20, 1 + (int)(r & 1 ? r >> 40 & 1 : r >> 40 & 63), PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_TRUNCATE |
				  (r >> 4 & 1 ? START_OFF : 0) | (r >> 5 & 3 ? 0 : END_OFF));
		struct p3l_md_args a = c_args(&v, &eq);
		struct p3l_ref m;

		if (p3l_md_update(&owner, ni, mds[i], NULL, NULL, 0, NULL, -1) == PTL_OK)
			continue;
		if (p3l_memd_post(&owner, ni, base[r >> 8 & 3], C_ANY, 0, ~0ULL, PTL_UNLINK, PTL_INS_BEFORE, &a,
				  PTL_UNLINK, -1, &m, &mds[i]) == PTL_OK) {
			posted_mds++;
			account[mds[i].idx].threshold = v.threshold;	/* no event of it has been read yet */
			account[mds[i].idx].options = v.options;
		}
	}
}

static int kills(int n)
{
	const char *s = getenv("T_SEED");
	uint64_t seed = s ? strtoull(s, NULL, 0) : (uint64_t)time(NULL) * 1000003, start = seed;
	struct p3l_setup setup = c_setup();
	struct p3l_ref mds[12] = { { 0, 0 } };
	struct timespec t0, t1;
	int done = 0, status;
	pid_t second;

	plan(1);
	killing = true;
	setup.max_me = 24;
	setup.max_md = 24;
	ni = c_region(&setup);
	owner = c_env(0, false);
	mover = c_env(1, false);
	other = c_env(2, false);
	owner.alive = mover.alive = other.alive = alive;
	p3l_eq_alloc(&owner, ni, 4096, &eq);
	for (uint32_t pt = 0; pt < 4; pt++)
		p3l_me_attach(&owner, ni, pt, C_ANY, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &base[pt]);
	for (int i = 0; i < 12; i++)
		mds[i] = (struct p3l_ref){ 99, 0 };
	second = fork();
	if (!second) {
		busy(&other, 99);
		_exit(0);
	}
	for (; done < n && !t_bad_; done++) {
		uint64_t ns = c_random(&seed) % 200000;
		pid_t pid;

		shared->begun[1] = 0;
		p3_store_rel(&shared->dead[1], 0);
		pid = fork();
		if (!pid) {
			busy(&mover, seed);
			_exit(0);
		}
		while (!p3_load(&shared->begun[1]))
			sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &t0);
		do {
			read_all();
			refill(&seed, mds, 12);
			clock_gettime(CLOCK_MONOTONIC, &t1);
		} while ((uint64_t)(t1.tv_sec - t0.tv_sec) * 1000000000 + (uint64_t)t1.tv_nsec - (uint64_t)t0.tv_nsec < ns);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		p3_store_rel(&shared->dead[1], 1);
		/* its slot gets a new process: whatever the old one held must be free before that */
		for (uint32_t i = 0; i < P3L_MAX_PT + P3L_PT_STRIPES; i++) {
			p3l_lock(&owner, ni, i);
			p3l_unlock(ni, i);
		}
		for (int i = 0; i < 5; i++) {
			p3l_reap(&owner, ni);
			drain(&owner, 1);
			drain(&owner, 2);
			read_all();
		}
		for (uint32_t k = 0; k < P3L_OPS; k++)
			CHECK_INT(p3l_row(ni, 1)->op[k].state, P3L_OP_IDLE);
		if (done % 50 == 49) {			/* the second one ends, too: now everything must be whole */
			p3_store(&shared->stop, 1);
			waitpid(second, &status, 0);
			CHECK(WIFEXITED(status));
			reap_all();
			drain(&owner, 2);
			read_all();
			CHECK(p3l_eq_idle(ni, eq.idx));
			check_rest(1);
			check_rest(2);
			for (uint32_t i = 0; i < ni->max_md; i++)
				CHECK(account[i].n_open == 0 || account[i].options & END_OFF);
			for (uint32_t i = 0; i < ni->max_md; i++)
				if (p3l_md(ni, i)->flags & P3L_MD_USED)
					CHECK_INT(p3l_md(ni, i)->pending, 0);
			p3_store(&shared->stop, 0);
			second = fork();
			if (!second) {
				busy(&other, seed);
				_exit(0);
			}
		}
	}
	kill(second, SIGKILL);
	waitpid(second, &status, 0);
	CHECK(seen.unlinks > done);
	diag("%llu MDs posted, %d used up, %llu locks taken over, %llu operations finished", (unsigned long long)posted_mds, seen.unlinks,
	     (unsigned long long)p3l_row(ni, 0)->stats.takeovers + p3l_row(ni, 2)->stats.takeovers,
	     (unsigned long long)p3l_row(ni, 0)->stats.reaped);
	ok(!t_bad_, "%d movers killed (T_SEED=%llu)", done, (unsigned long long)start);
	return exit_status();
}

int main(int argc, char **argv)
{
	said = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	swapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc > 1 && !strcmp(argv[1], "kill"))
		return kills(argc > 2 ? atoi(argv[2]) : 2000);
	stop_first = argc > 1 && !strcmp(argv[1], "stop");
	return walk();
}

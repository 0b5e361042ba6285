/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_corrupt.c - words of an interface's state are overwritten between calls: all calls come back, and nothing is
 * written outside the state and the memory of descriptors
 *
 *	core_corrupt [--seed N] [--rounds N] [--steps N]
 *
 * An owner and a peer, in one process, make random calls of the core: lists with an index, descriptors, queues, inbox,
 * operations begun, left to the owner and ended, acknowledgements, sends, replies, the repair after a third who is
 * dead. Between them any word of the state is changed that a peer's mistake could change, but for what ranks of a job
 * trust each other with (CAVEATS): lock words, the size of the state, places of queues over the pools, addresses and
 * lengths of memory. Around the state and around the memory of the descriptors nothing may be touched: pages without
 * access there, and marks. A round that crashes or does not end says its seed and step.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../common/tap.h"
#include "core_env.h"

enum { LISTS = 3, ENTRIES = 64, QUEUES = 6, OPS = 6, BUF = 512, GUARD = 1 << 20 };

static struct p3l_ni *ni;
static struct p3l_env owner, peer;
static struct p3l_lane_tx tx;
static struct p3l_ref me[ENTRIES], md[ENTRIES], bound[8], eq[QUEUES];
static struct p3l_op *op[OPS];
static struct p3l_known known;
static uint8_t *memory;			/* ENTRIES pieces of BUF, marks between them */
static uint64_t state, corrupted;
static unsigned steps = 3000;

static struct { uint32_t step; char what[32]; uint64_t corrupt, calls; } *said;	/* shared with the parent */

static uint64_t rnd(uint64_t n)
{
	return c_random(&state) % n;
}

static void relax(unsigned spins)
{
}

static void say(const char *what)
{
	snprintf(said->what, sizeof(said->what), "%s", what);
	said->calls++;
}
#define CALL(f, ...) (say(#f), f(__VA_ARGS__))

/* ---- overwriting ---- */

static void flip(uint32_t *w)
{
	corrupted++;
	switch (rnd(6)) {
	case 0: *w ^= 1u << rnd(32); break;
	case 1: *w = (uint32_t)c_random(&state); break;
	case 2: *w = 0xffffffff; break;
	case 3: *w = (uint32_t)rnd(ENTRIES + 2); break;
	case 4: *w = 0; break;
	default: *w += (uint32_t)rnd(256) - 128; break;
	}
}

/* A word of @p, @len bytes, but not of those at @but (offset and bytes, to an end of 0 bytes). */
static void flip_in(void *p, size_t len, const size_t (*but)[2])
{
	size_t at = rnd(len / 4) * 4;

	for (; but && (*but)[1]; but++)
		if (at + 4 > (*but)[0] && at < (*but)[0] + (*but)[1])
			return;
	flip((uint32_t *)((char *)p + at));
}
#define FIELD(type, f) { offsetof(struct type, f), sizeof(((struct type *)0)->f) }

static void overwrite(void)
{
	static const size_t trusted_md[][2] = { FIELD(p3l_md, start), FIELD(p3l_md, length), { 0, 0 } };
	static const size_t trusted_pt[][2] = { FIELD(p3l_pt, lock), { 0, 0 } };
	static const size_t trusted_eq[][2] = { FIELD(p3l_eq, rlock), { 0, 0 } };
	static const size_t trusted_lane[][2] = { FIELD(p3l_lane_hdr, lock), { 0, 0 } };
	static const size_t trusted_op[][2] = { FIELD(p3l_op, start), { 0, 0 } };
	/* the first word: a queue that was never made lies there, and its value is what keeps events out */
	static const size_t trusted_ni[][2] = { FIELD(p3l_ni, magic), FIELD(p3l_ni, size),
						FIELD(p3l_ni, own_lock), FIELD(p3l_ni, reap_lock),
						FIELD(p3l_ni, own_ops), FIELD(p3l_ni, swap), { 0, 0 } };
	uint32_t slot = (uint32_t)rnd(3);
	struct p3l_eq *q;
	uint64_t place;

	switch (rnd(12)) {
	case 0: case 1: flip_in(p3l_me(ni, (uint32_t)rnd(ENTRIES)), sizeof(struct p3l_me), NULL); break;
	case 2: flip_in(p3l_md(ni, (uint32_t)rnd(ENTRIES)), sizeof(struct p3l_md), trusted_md); break;
	case 3: flip_in(&ni->pt[rnd(LISTS)], sizeof(struct p3l_pt), trusted_pt); break;
	case 4:
		q = &ni->eq[rnd(QUEUES)];
		place = q->slots;
		flip_in(q, sizeof(*q), trusted_eq);
		if (q->slots < P3L_LANE_OFF)
			q->slots = place;
		break;
	case 5: flip_in(&p3l_row(ni, slot)->op[rnd(P3L_OPS)], sizeof(struct p3l_op), trusted_op); break;
	case 6: flip_in(p3l_lane(ni, 1), sizeof(struct p3l_lane_hdr), trusted_lane); break;
	case 7: flip_in(p3l_lane(ni, 1) + 1, 64 * P3L_LINE, NULL); break;
	case 8: flip_in(ni, offsetof(struct p3l_ni, pt), trusted_ni); break;
	case 9: flip_in((char *)ni + P3L_TREE_OFF, 1 << (4 + rnd(12)), NULL); break;
	default: flip_in((char *)ni + (ni->size - (1 << 20)), 1 << 16, NULL); break;	/* event slots, index */
	}
}

/* ---- calls ---- */

static struct p3l_ref *any(struct p3l_ref *r, unsigned n)
{
	return &r[rnd(n)];
}

static struct p3l_md_args args(ptl_md_t *v, unsigned i)
{
	*v = c_md((uintptr_t)memory + 2 * i * BUF, BUF, rnd(3) ? PTL_MD_THRESH_INF : (int)rnd(4) + 1,
		  PTL_MD_OP_PUT | PTL_MD_OP_GET | (unsigned)(rnd(2) ? PTL_MD_MANAGE_REMOTE : 0) |
		  (unsigned)(rnd(2) ? PTL_MD_TRUNCATE : 0) | (unsigned)(rnd(4) ? 0 : PTL_MD_EVENT_START_DISABLE));
	return c_args(v, rnd(4) ? any(eq, QUEUES) : NULL);
}

static void lists(void)
{
	uint32_t pt = (uint32_t)rnd(LISTS);
	unsigned i = (unsigned)rnd(ENTRIES);
	uint64_t bits = rnd(40), ignore = rnd(8) ? 0 : rnd(16);
	ptl_unlink_t un = rnd(2) ? PTL_UNLINK : PTL_RETAIN;
	ptl_ins_pos_t pos = rnd(2) ? PTL_INS_BEFORE : PTL_INS_AFTER;
	struct p3l_md_args a;
	ptl_md_t v, old;

	a = args(&v, i);
	switch (rnd(9)) {
	case 0: case 1: case 2:
		CALL(p3l_memd_attach, &owner, ni, pt, C_ANY, bits, ignore, un, pos, &a, un, &me[i], &md[i]);
		break;
	case 3: CALL(p3l_me_attach, &owner, ni, pt, C_ANY, bits, ignore, un, pos, &me[i]); break;
	case 4: CALL(p3l_me_insert, &owner, ni, *any(me, ENTRIES), C_ANY, bits, ignore, un, pos, &me[i]); break;
	case 5: CALL(p3l_md_attach, &owner, ni, *any(me, ENTRIES), &a, un, &md[i]); break;
	case 6: CALL(p3l_md_update, &owner, ni, md[i], &old, NULL, 0, &a, rnd(2) ? (int)eq[0].idx : -1); break;
	case 7: CALL(p3l_me_unlink, &owner, ni, me[i]); break;
	default: CALL(p3l_md_unlink, &owner, ni, md[i]); break;
	}
}

static void queues(void)
{
	struct p3l_slot ev;
	unsigned i = (unsigned)rnd(QUEUES);

	if (rnd(40) == 0)
		CALL(p3l_eq_free, &owner, ni, eq[i]);
	else if (rnd(8) == 0)
		CALL(p3l_eq_alloc, &owner, ni, 1 + rnd(16), &eq[i]);
	else
		for (int k = 0; k < 8 && CALL(p3l_eq_read, &owner, ni, eq[i].idx, &ev, true); k++)
			;
}

/* The peer's operation: matched, its bytes moved, ended; or left to the owner; or ended much later. */
static void operation(void)
{
	unsigned i = (unsigned)rnd(OPS);
	const struct p3l_env *who = rnd(3) ? &peer : &owner;
	struct p3l_hdr h = c_hdr(rnd(3) ? P3L_PUT : rnd(2) ? P3L_GET : P3L_GETPUT, who->self - 1,
				 (uint32_t)rnd(LISTS + 1), rnd(40), rnd(700));

	h.roffset = rnd(4) ? rnd(64) : c_random(&state);
	h.ack = (uint8_t)rnd(2);
	h.ac = (uint32_t)rnd(3);
	if (!op[i]) {
		op[i] = CALL(p3l_op_get, who, ni);
		if (op[i] && CALL(p3l_target_begin, who, ni, &h, op[i], rnd(4) == 0) != P3L_MATCHED)
			op[i] = NULL;
		/* what was matched lies in a descriptor, whatever the rest is */
		if (op[i] && !op[i]->iov && (op[i]->moff > BUF || op[i]->mlength > BUF - op[i]->moff))
			CHECK(!"a match within the descriptor");
		return;
	}
	CALL(p3l_target_end, rnd(8) ? who : &owner, ni, op[i], rnd(4) ? PTL_NI_OK : PTL_NI_FAIL);
	op[i] = NULL;
}

static void inbox(void)
{
	static const uint8_t bytes[1024];
	struct p3l_lane_hdr *l = p3l_lane(ni, 1);
	struct p3l_sink sink = c_sink(ni, eq[0].idx < P3L_MAX_EQ ? eq[0].idx : 0);
	struct p3l_hdr h = c_hdr(P3L_PUT, 1, (uint32_t)rnd(LISTS + 1), rnd(40), rnd(4) ? rnd(60) : rnd(900));

	h.hdr_data = rnd(2) ? c_random(&state) : 0;
	h.roffset = rnd(2) ? rnd(600) : 0;
	h.ack = (uint8_t)rnd(2);
	if (rnd(2)) {
		if (CALL(p3l_lane_room, ni, 1, &tx, h.rlength))
			CALL(p3l_lane_put, ni, 1, &tx, &h, bytes, rnd(2));
		return;
	}
	sink.known = rnd(2) ? &known : NULL;
	if (!CALL(p3l_lane_lock, &owner, ni, l, false))
		return;
	for (int k = 0; k < 20; k++) {
		struct p3l_short done;
		struct p3l_data data;
		struct p3l_op *o;
		int lines;

		if (rnd(2) && CALL(p3l_inbox_hot, &owner, ni, l, 1, &sink, rnd(2)))
			break;
		lines = CALL(p3l_lane_peek, ni, l, &h, &data);
		if (lines <= 0) {
			if (lines < 0)
				CALL(p3l_lane_advance, ni, l, 1);
			break;
		}
		h.src = 1;
		h.uid = C_UID;
		h.jid = C_JID;
		if (h.rlength <= P3L_SHORT &&
		    CALL(p3l_target_short, &owner, ni, &h, &data, &done, &sink) != P3L_OTHER) {
			CALL(p3l_lane_advance, ni, l, (uint32_t)lines);
			continue;
		}
		o = CALL(p3l_op_get, &owner, ni);
		if (o && CALL(p3l_target_begin, &owner, ni, &h, o, false) == P3L_MATCHED) {
			uint8_t to[P3L_LANE_MAX];

			if (CHECK(o->mlength <= sizeof(to)))
				p3l_data_read(&data, to, o->mlength);
			CALL(p3l_target_end, &owner, ni, o, PTL_NI_OK);
		}
		CALL(p3l_lane_advance, ni, l, (uint32_t)lines);
	}
	CALL(p3l_lane_release, ni, l);
	if (rnd(2))
		CALL(p3l_lane_mark, ni, l, rnd(2) ? P3L_W_POLL : P3L_W_AWAY);
	p3l_lane_unlock(l);
}

static void own_side(void)
{
	unsigned i = (unsigned)rnd(8);
	struct p3l_send s = { .md = bound[i], .len = rnd(2) ? P3L_WHOLE : rnd(BUF), .match_bits = 1 };
	struct p3l_reply r = { .md = bound[i], .mlength = rnd(600), .rlength = 600, .off = rnd(600) };
	struct p3l_md_args a;
	ptl_md_t v;

	switch (rnd(5)) {
	case 0:
		a = args(&v, 40 + i);
		CALL(p3l_md_unlink, &owner, ni, bound[i]);
		CALL(p3l_md_bind, &owner, ni, &a, rnd(2) ? PTL_UNLINK : PTL_RETAIN, &bound[i]);
		break;
	case 1:
		if (CALL(p3l_send_begin, &owner, ni, &s) == PTL_OK)
			CALL(p3l_send_end, &owner, ni, &s, PTL_NI_OK);
		break;
	case 2:
		if (CALL(p3l_reply_begin, &owner, ni, &r)) {
			CHECK(r.iov || !r.mlength || (r.off <= BUF && r.mlength <= BUF - r.off));
			CALL(p3l_reply_end, &owner, ni, &r, PTL_NI_OK);
		}
		break;
	case 3: CALL(p3l_ack, rnd(2) ? &peer : &owner, ni, bound[i], 1, 0, 0, 0, 8, 8); break;
	default:
		/* a third has died, and left a lock and records */
		if (rnd(2)) {
			uint32_t pt = (uint32_t)rnd(LISTS);

			ni->pt[pt].lock = 3;
			p3l_row(ni, 2)->op[rnd(P3L_OPS)].state = (uint32_t)rnd(P3L_OP_MAX);
			p3l_lock(&owner, ni, pt);
			p3l_unlock(ni, pt);
		}
		CALL(p3l_reap, &owner, ni);
	}
}

/* ---- rounds ---- */

static void *guarded(size_t len)
{
	char *p = mmap(NULL, len + 2 * (size_t)GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED || mprotect(p + GUARD, len, PROT_READ | PROT_WRITE))
		bail("no memory");
	return p + GUARD;
}

static int round_of(uint64_t seed)
{
	struct p3l_setup s = c_setup();
	uint64_t all = 0;

	state = seed;
	s.max_md = s.max_me = ENTRIES;
	s.max_me_list = ENTRIES;
	ni = guarded(p3l_ni_size(&s));
	p3l_ni_setup(ni, &s);
	memory = guarded(2 * ENTRIES * BUF);
	memset(memory, 0x5a, 2 * ENTRIES * BUF);
	owner = c_env(0, false);
	peer = c_env(1, false);
	owner.relax = peer.relax = relax;
	memset(c_dead, 0, sizeof(c_dead));
	c_dead[2] = true;
	known.pt = P3L_MAX_PT;
	for (int i = 0; i < QUEUES; i++)
		p3l_eq_alloc(&owner, ni, 16, &eq[i]);
	for (said->step = 0; said->step < steps && !t_bad_; said->step++) {
		/* at first all is well; then more and more is not */
		if (said->step > 200 && rnd(4) == 0)
			overwrite();
		alarm(20);
		switch (rnd(8)) {
		case 0: case 1: lists(); break;
		case 2: queues(); break;
		case 3: case 4: operation(); break;
		case 5: case 6: inbox(); break;
		default: own_side();
		}
	}
	for (int i = 0; i < ENTRIES; i++)
		for (int k = 0; k < BUF; k++)
			if (!CHECK_INT(memory[(2 * i + 1) * BUF + k], 0x5a))
				return 1;
	for (uint32_t k = 0; k < 3; k++)
		all += p3l_row(ni, k)->stats.corrupt;
	said->corrupt += all;
	return t_bad_ != 0;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, corrupt = 0, calls = 0;
	unsigned rounds = 100, bad = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--rounds"))
			rounds = (unsigned)atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--steps"))
			steps = (unsigned)atoi(argv[i + 1]);
	}
	said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (said == MAP_FAILED)
		bail("mmap");
	plan(1);
	if (rounds == 1) {			/* for a debugger */
		bad = (unsigned)round_of(seed);
		diag("step %u", said->step);
	}
	for (unsigned r = 0; rounds > 1 && r < rounds && bad < 5; r++) {
		pid_t pid;
		int st = 0;

		fflush(stdout);
		memset(said, 0, sizeof(*said));
		pid = fork();
		if (!pid)
			_exit(round_of(seed + r));
		waitpid(pid, &st, 0);
		if (st) {
			diag("--rounds 1 --seed %llu: %s %d at step %u, in %s", (unsigned long long)(seed + r),
			     WIFSIGNALED(st) ? (WTERMSIG(st) == SIGALRM ? "does not end, signal" : "signal") : "status",
			     WIFSIGNALED(st) ? WTERMSIG(st) : WEXITSTATUS(st), said->step, said->what);
			bad++;
		}
		corrupt += said->corrupt;
		calls += said->calls;
	}
	diag("%u rounds, %llu calls, %llu times nonsense", rounds, (unsigned long long)calls,
	     (unsigned long long)corrupt);
	ok(!bad && (rounds == 1 || corrupt > rounds), "t_overwritten_state_is_not_followed");
	return exit_status();
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * frame_heir.c - whoever runs two frame engines is killed after any instruction, and another one goes on
 *
 * A child makes one call and runs both ends of it, as movers that are not the owners, each with a log; stepped by
 * ptrace, and after the k-th step of a turn killed. All that it shared is shared with us. We inherit both ends, make
 * the connection anew, and run them to the end: each event is there once, all went well, each byte is in its place,
 * nothing is held. Only where the log says that it is torn nothing is said, and that is seldom.
 *
 * T_STRIDE: steps between two k (1: each instruction); T_CALL: number of the only call.
 */
#include <limits.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/tap.h"
#include "frame_env.h"

enum { LEN = 20000, KINDS = 16, STRIDE = 401, MOST = 40 };

/* What the child and we have in common. */
static struct shared {
	uint8_t a[LEN], b[LEN], call[FR_COPY];
	struct fr_engine e[2];
	struct fr_peer peer[2];
	struct fr_log log[2];
	uint32_t taken;			/* the call */
	uint8_t left;			/* its parts */
} *all;

static struct p3l_env owner[2];
static const struct loop_inject stream = { .delay_ns = 1000, .seed = 1, .stream = true };
static unsigned kills, torn;

static const struct call {
	const char *name;
	enum p3l_type type;
	uint32_t n;
	bool ack, nobody;
	int uses;			/* of the descriptor at the target */
} calls[] = {
	{ "a put of a word", P3L_PUT, 8, false, false, 5 },
	{ "a put with an ack", P3L_PUT, 8, true, false, 5 },
	{ "a put, the last one of its descriptor", P3L_PUT, 1000, true, false, 1 },
	{ "a put that nobody wants", P3L_PUT, 100, true, true, 5 },
	{ "a long put", P3L_PUT, 9000, true, false, 1 },
	{ "a get of a word", P3L_GET, 8, false, false, 5 },
	{ "a get that is copied", P3L_GET, 2000, false, false, 1 },
	{ "a long get", P3L_GET, 9000, false, false, 5 },
	{ "an exchange", P3L_GETPUT, 24, false, false, 1 },
	{ "an addition", P3L_ADD, 8, false, false, 5 },
};

static void count_end(void *arg, uint32_t token)
{
	struct fr_engine *e = arg;

	(void)token;
	fr_keep(e, &all->left, 1);
	all->left--;
}

static void start(void)
{
	nodes = 2;
	memset(all, 0, sizeof(*all));
	for (int i = 0; i < LEN; i++)
		all->a[i] = (uint8_t)(i * 37 >> 2 | 1);
	loop_init(&net, &stream);
	for (unsigned i = 0; i < 2; i++) {
		struct node *d = &node[i];
		struct p3l_setup s = c_setup();

		*d = (struct node){ .e = &all->e[i] };
		s.nid = 10 + i;
		s.pid = 100 + i;
		s.n_slots = 2;
		d->l = c_region(&s);
		d->env = owner[i] = c_env(0, false);
		if (p3l_eq_alloc(&d->env, d->l, 64, &d->eq_ref) != PTL_OK)
			bail("no queue");
		d->eq = d->eq_ref.idx;
		if (!i)
			d->e->ended = count_end;
		d->e->ended_arg = d->e;
		d->env = c_env(1, false);
		fr_init(d->e, d->l, &d->env, &loop_stream, &net, F_RTO, F_DELAY);
		d->env = owner[i];
		d->e->raw = true;
		d->e->bulk = f_bulk;
		d->e->copy = f_copy;
		d->e->log = &all->log[i];
		d->e->env.said = &all->log[i].acked;
		loop_attach(&net, d->e);
		d->peer[!i] = &all->peer[i];
		fr_open(d->e, d->peer[!i], f_id(!i), C_UID, C_JID, 1 + !i);
	}
	loop_join(&net, ends[0][1], node[0].e, node[0].peer[1], node[1].e, node[1].peer[0]);
}

static void end(void)
{
	loop_fini(&net);
	c_free(node[0].l);
	c_free(node[1].l);
}

static uint8_t *room(void *arg, uint64_t len)
{
	(void)arg, (void)len;
	return all->call;
}

/* At node 1, in a window: operations are made where the bytes are. */
static void post_there(const struct call *c)
{
	ptl_md_t md = c_md((uintptr_t)(c->type == P3L_GET ? all->a : all->b + LEN / 2), LEN / 2, c->uses,
			   PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
	struct p3l_md_args a = c_args(&md, &node[1].eq_ref);
	struct p3l_ref me, out;

	a.flags = P3L_MD_DIRECT;
	if (p3l_me_attach(&owner[1], node[1].l, F_PT, C_ANY, 42, 0, PTL_UNLINK, PTL_INS_AFTER, &me) != PTL_OK ||
	    p3l_md_attach(&owner[1], node[1].l, me, &a, PTL_UNLINK, &out) != PTL_OK)
		bail("no entry");
}

/* As the owner of node 0 does it. */
static struct fr_req begin(const struct call *c)
{
	uint8_t *at = c->type == P3L_PUT ? all->a : all->b;
	struct p3l_ref md = f_bind(0, at, LEN, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	struct p3l_ref put = f_bind(0, all->a, LEN, PTL_MD_THRESH_INF, 0, PTL_RETAIN, false);
	struct p3l_hdr h = f_hdr(0, c->type, F_PT, c->nobody ? 41 : 42);
	struct p3l_send s = { .md = c->type == P3L_PUT ? md : put, .len = c->n, .match_bits = 42, .pt = F_PT };
	struct p3l_reply r = { .md = md, .mlength = c->n, .match_bits = 42, .pt = F_PT, .target_slot = 2 };
	struct fr_req q = { 0 };
	int rc;

	h.ack = c->ack;
	h.md = md.idx;
	h.md_gen = md.gen;
	if (c->type == P3L_PUT)
		rc = fr_begin_put(&owner[0], node[0].l, &h, &s, room, NULL, &q);
	else if (c->type == P3L_GET)
		rc = fr_begin_get(&owner[0], node[0].l, &h, &r, &q);
	else
		rc = fr_begin_getput(&owner[0], node[0].l, &h, &s, &r, room, NULL, &q);
	if (rc != PTL_OK)
		bail("no call: %d", rc);
	post_there(c);
	return q;
}

/* The engine of node 0 takes it from its ring, once, and sends what it can. */
static void take(const struct fr_req *q)
{
	node[0].e->now = net.now;
	if (!all->taken) {
		fr_txn(node[0].e, node[0].peer[1]);
		all->left = (uint8_t)fr_parts(q);
		if (!fr_post(node[0].e, node[0].peer[1], q, 1))
			bail("no room");
		fr_keep(node[0].e, &all->taken, sizeof(all->taken));
		all->taken = 1;
		fr_done(node[0].e);
	}
	fr_go(node[0].e, node[0].peer[1]);
}

static void inherit(void)
{
	for (unsigned i = 0; i < 2; i++) {
		fr_inherit(node[i].e);
		node[i].e->env.relax = c_relax;
	}
	for (unsigned i = 0; i < 2; i++)
		fr_resume(node[i].e, node[i].peer[!i]);
}

/* Events of node @i are those of @want, each once, in any order, and went well. */
static bool events_are(unsigned i, const uint8_t want[KINDS])
{
	uint8_t seen[KINDS] = { 0 };
	struct p3l_slot ev;
	bool good = true;

	while (f_event(i, &ev)) {
		seen[ev.kind_fail & (KINDS - 1)]++;
		good &= !(ev.kind_fail >> 4);
	}
	for (int k = 0; k < KINDS; k++)
		if (seen[k] != want[k]) {
			diag("node %u: %u events of kind %d, want %u", i, seen[k], k, want[k]);
			good = false;
		}
	if (!good)
		diag("node %u: events are not what they should be", i);
	return good;
}

static bool is_held(unsigned i)
{
	const struct node *d = &node[i];
	bool held = f_free_msgs(i) != FR_MSGS || (i && f_free_bufs(i) != FR_BUFS) || d->e->ops || !c_pools_ok(d->l) ||
		    !fr_idle(d->peer[!i]);

	for (unsigned k = 0; k < P3L_OPS; k++)
		held |= p3l_row(d->l, 1)->op[k].state != P3L_OP_IDLE;
	for (uint32_t k = 0; k < d->l->max_md; k++)
		if ((p3l_md(d->l, k)->flags & P3L_MD_USED) && p3l_md(d->l, k)->pending) {
			diag("node %u: descriptor %u has %x operations", i, k, p3l_md(d->l, k)->pending);
			held = true;
		}
	for (uint32_t k = 0; k < P3L_MAX_PT + P3L_PT_STRIPES; k++)
		held |= d->l->pt[k].lock != 0;
	return held;
}

static bool as_it_should_be(const struct call *c)
{
	uint8_t mine[KINDS] = { 0 }, theirs[KINDS] = { 0 }, *to = all->b + LEN / 2;
	bool good = true, put = c->type == P3L_PUT, swap = c->type == P3L_GETPUT;
	uint64_t word = 0, operand;
	int first;

	mine[PTL_EVENT_SEND_START] = mine[PTL_EVENT_SEND_END] = put;
	mine[PTL_EVENT_ACK] = put && c->ack && !c->nobody;
	mine[PTL_EVENT_REPLY_START] = mine[PTL_EVENT_REPLY_END] = !put;
	first = put ? PTL_EVENT_PUT_START : c->type == P3L_GET ? PTL_EVENT_GET_START : PTL_EVENT_GETPUT_START;
	theirs[first] = theirs[first + 1] = !c->nobody;		/* END follows START in the enum */
	theirs[PTL_EVENT_UNLINK] = c->uses == 1;
	for (unsigned i = 0; i < 2; i++)
		p3l_reap(&owner[i], node[i].l);
	good &= events_are(0, mine);
	good &= events_are(1, theirs);
	memcpy(&operand, all->a, 8);
	memcpy(&word, to, 8);
	if (c->nobody)
		good &= !word;
	else if (c->type == P3L_ADD)
		good &= word == operand && !memcmp(all->b, &(uint64_t){ 0 }, 8);
	else
		good &= !memcmp(c->type == P3L_GET ? all->b : to, all->a, c->n) && !(swap && all->b[0]);
	if (all->left)
		diag("%u parts of the call have not ended", all->left);
	good &= !all->left;
	for (unsigned i = 0; i < 2; i++)
		if (is_held(i)) {
			const struct fr_peer *p = node[i].peer[!i];

			diag("node %u: something is held: %u records, %u messages, idle %d, pools %d; record 0 %u", i,
			     node[i].e->ops, FR_MSGS - f_free_msgs(i), fr_idle(p), c_pools_ok(node[i].l),
			     p3l_row(node[i].l, 1)->op[0].state);
			good = false;
		}
	return good;
}

/* The child: stops before turn @t (0: the call is taken; then those of the network), and after it. */
static void child(const struct fr_req *q, int t)
{
	bool more = true;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	for (int n = 0; more; n++) {
		if (n == t)
			raise(SIGSTOP);
		if (n)
			more = loop_step(&net);
		else
			take(q);
		if (n == t)
			raise(SIGSTOP);
	}
	_exit(0);
}

/* The signal that it has stopped for; 0: it has ended, with *@code. */
static int stopped(pid_t pid, int *code)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		bail("no child");
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* Killed after @k steps of turn @t: how many were made. -1: there is no such turn; -2: cannot. */
static int one(const struct call *c, int t, int k)
{
	struct fr_req q;
	int n = 0, code;
	pid_t pid;

	start();
	q = begin(c);
	pid = fork();
	if (!pid)
		child(&q, t);
	if (stopped(pid, &code) != SIGSTOP) {
		end();
		return code == 77 ? -2 : -1;
	}
	while (n < k && !ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) && stopped(pid, &code) == SIGTRAP)
		n++;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (fr_torn(&all->log[0]) || fr_torn(&all->log[1])) {
		torn++;
	} else {
		inherit();
		take(&q);
		if (!f_run())
			bail("it does not end");
		if (!as_it_should_be(c)) {
			diag("%s, killed in turn %d after %d steps", c->name, t, n);
			atomic_fetch_add(&t_bad_, 1);
		}
	}
	kills++;
	end();
	return n;
}

static void t_each_call_goes_on_after_any_instruction(void)
{
	int stride = getenv("T_STRIDE") ? atoi(getenv("T_STRIDE")) : STRIDE;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		unsigned before = kills, torn_before = torn;
		int t = 0, n, steps = 0;

		if (getenv("T_CALL") && atoi(getenv("T_CALL")) != (int)i)
			continue;
		for (; (n = one(&calls[i], t, INT_MAX)) >= 0; t++) {
			/* the most of a long turn is a copy */
			int by = stride == STRIDE && n / MOST > stride ? n / MOST : stride;

			steps += n;
			for (int k = (int)(getpid() % by); k < n && atomic_load(&t_bad_) < 20; k += by)
				one(&calls[i], t, k);
		}
		if (n == -2)
			SKIP("ptrace is refused here");
		diag("%s: %u times in %d steps of %d turns, %u of them torn", calls[i].name, kills - before, steps, t,
		     torn - torn_before);
	}
	CHECK(kills > 200 || getenv("T_CALL"));
	CHECK(torn * 8 < kills);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_each_call_goes_on_after_any_instruction), { 0 } };

	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		bail("no memory");
	return t_run(cases);
}

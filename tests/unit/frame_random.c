/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * frame_random.c - random traffic between three nodes, under each thing that a network does to frames
 *
 * What must hold whatever is injected: each put is matched once, in the order of the calls of its pair, with all its
 * bytes; each get is answered once with the right bytes; swaps lose no value; each send ends; and afterwards nothing
 * is held anywhere. With a cut: each send and each get ends all the same, and nothing is held.
 * Options: --seed N (printed), --calls N.
 */
#include "../common/tap.h"
#include "frame_env.h"

#define NODES 3
#define SLOTS 64			/* places for puts, per pair: more than can be matched and not yet looked at */
#define MOST 70000
#define OPS_MAX 256

static uint64_t seed = 1, state;
static unsigned calls = 1500;

static uint64_t rnd(uint64_t n)
{
	return c_random(&state) % n;
}

static uint8_t *target[NODES][NODES];	/* [to][from]: SLOTS of MOST */
static uint8_t source[MOST + 4096];	/* what is put; by length and number it starts elsewhere */
static uint8_t store[MOST];		/* what is got */
static uint64_t word[NODES];		/* what is swapped */

/* One call, by number: its user_ptr. */
struct call {
	uint8_t kind;			/* 'p' put, 'g' get, 's' swap */
	uint8_t from, to;
	bool ack;
	unsigned send_end, ack_seen, reply, failed;
	uint64_t len, off;
	uint8_t *into;
	struct p3l_ref md;
	uint64_t old, new;
};
static struct call *call;
static unsigned n_calls;
static uint64_t next_put[NODES][NODES], started[NODES][NODES], ended[NODES][NODES];
static uint64_t put_len[NODES][NODES][8192];
static bool cutting;

static const uint8_t *bytes_of(uint64_t number)
{
	return source + number % 4096;
}

static void look(unsigned i)
{
	struct p3l_slot ev;

	while (f_event(i, &ev)) {
		unsigned kind = ev.kind_fail & 15, fail = ev.kind_fail >> 4, from = ev.initiator - 1u;
		struct call *c = &call[p3l_md(node[i].l, ev.md)->user_ptr - 1];

		if (fail && !CHECK(cutting && (fail == PTL_NI_DIED_NP || fail == PTL_NI_FAIL)))
			return;
		switch (kind) {
		case PTL_EVENT_PUT_START:
			if (!CHECK(from < NODES && ev.hdr_data == started[i][from]))
				return;
			started[i][from]++;
			break;
		case PTL_EVENT_PUT_END:
			if (fail)
				break;
			CHECK_INT(ev.mlength, put_len[i][from][ev.hdr_data % 8192]);
			CHECK(!memcmp(target[i][from] + ev.hdr_data % SLOTS * MOST, bytes_of(ev.hdr_data), ev.mlength));
			ended[i][from]++;
			break;
		case PTL_EVENT_SEND_END:
			c->send_end++;
			c->failed |= fail;
			break;
		case PTL_EVENT_ACK:
			c->ack_seen++;
			CHECK(ev.mlength == (fail ? 0 : c->len) && ev.rlength == c->len);
			CHECK(!fail || (c->send_end && !c->failed));
			break;
		case PTL_EVENT_REPLY_END:
			c->reply++;
			c->failed |= fail;
			if (fail)
				break;
			if (c->kind == 'g') {
				CHECK_INT(ev.mlength, c->len);
				CHECK(!memcmp(c->into, store + c->off, c->len));
			}
			break;
		}
	}
}

static bool step(void)
{
	bool more = loop_step(&net);

	for (unsigned i = 0; i < NODES; i++)
		look(i);
	return more;
}

static struct p3l_ref descriptor(unsigned i, void *p, uint64_t len, int threshold, unsigned id)
{
	ptl_md_t md = c_md((uintptr_t)p, len, threshold, PTL_MD_EVENT_START_DISABLE);
	struct p3l_md_args a = c_args(&md, &node[i].eq_ref);
	struct p3l_ref out;

	md.user_ptr = (void *)(uintptr_t)(id + 1);
	while (p3l_md_bind(&node[i].env, node[i].l, &a, PTL_RETAIN, &out) != PTL_OK)
		if (!step())
			bail("no descriptor becomes free");
	return out;
}

static uint64_t length(void)
{
	static const uint64_t edge[] = { 0, 1, 256, 257, 8192, 8193, 32768, 32769, 65537 };

	switch (rnd(4)) {
	case 0: return rnd(64);
	case 1: return rnd(9000);
	case 2: return edge[rnd(9)];
	default: return rnd(8) ? rnd(300) : rnd(MOST);
	}
}

static void one_call(unsigned id)
{
	struct call *c = &call[id];
	int rc = FR_FULL;

	c->from = (uint8_t)rnd(NODES);
	c->to = (uint8_t)rnd(NODES);
	c->len = length();
	switch (rnd(4)) {
	default:
		c->kind = 'p';
		c->ack = rnd(2);
		while (started[c->to][c->from] + SLOTS / 2 < next_put[c->to][c->from] && step())
			;
		put_len[c->to][c->from][next_put[c->to][c->from] % 8192] = c->len;
		c->md = descriptor(c->from, (void *)(uintptr_t)bytes_of(next_put[c->to][c->from]), c->len,
				   PTL_MD_THRESH_INF, id);
		break;
	case 1:
		c->kind = 'g';
		c->off = rnd(MOST - c->len + 1);
		c->into = malloc(c->len + 1);
		c->md = descriptor(c->from, c->into, c->len, PTL_MD_THRESH_INF, id);
		break;
	case 2:
		c->kind = 's';
		c->new = id + 1000;
		c->md = descriptor(c->from, &c->old, 8, PTL_MD_THRESH_INF, id);
		break;
	}
	while (rc == FR_FULL) {
		if (c->kind == 'p') {
			uint64_t k = next_put[c->to][c->from];

			rc = f_put_at(c->from, c->to, c->md, 0, c->len, c->ack, F_PT, c->from, k, k % SLOTS * MOST);
			next_put[c->to][c->from] += rc == PTL_OK;
		} else if (c->kind == 'g') {
			rc = f_get(c->from, c->to, c->md, 0, c->len, 100, c->off);
		} else {
			struct p3l_ref put = descriptor(c->from, &c->new, 8, PTL_MD_THRESH_INF, id);

			p3l_md(node[c->from].l, put.idx)->eq = 0;	/* its sends are not counted */
			rc = f_getput(c->from, c->to, c->md, put, 8, 200, 0);
			CHECK_INT(p3l_md_unlink(&node[c->from].env, node[c->from].l, put), PTL_OK);
		}
		if (rc == FR_FULL && !step())
			bail("full, and nothing happens any more");
	}
	CHECK_INT(rc, PTL_OK);
}

static void free_descriptor(struct call *c)
{
	struct node *d = &node[c->from];

	if (c->md.idx != ~0u)
		CHECK_INT(p3l_md_unlink(&d->env, d->l, c->md), PTL_OK);
	c->md.idx = ~0u;
}

static bool over(const struct call *c)
{
	if (c->kind == 'p')
		return c->send_end && (!c->ack || c->ack_seen);
	return c->reply;
}

static void traffic(const struct loop_inject *inject, unsigned cut_at)
{
	unsigned sent = 0, bad = (unsigned)atomic_load(&t_bad_);
	struct loop_inject in = *inject;

	state = seed;
	in.seed = seed;
	in.delay_ns = 2000;
	cutting = false;
	call = calloc(calls, sizeof(*call));
	n_calls = calls;
	memset(next_put, 0, sizeof(next_put));
	memset(started, 0, sizeof(started));
	memset(ended, 0, sizeof(ended));
	f_start_size(NODES, &in, 4096);
	for (unsigned i = 0; i < NODES; i++) {
		word[i] = 1;
		for (unsigned j = 0; j < NODES; j++) {
			target[i][j] = calloc(SLOTS, MOST);
			f_post(i, j, target[i][j], (uint64_t)SLOTS * MOST, PTL_MD_THRESH_INF,
			       PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
		}
		f_post_at(i, F_PT, 100, store, MOST, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, false);
		f_post_at(i, F_PT, 200, &word[i], 8, PTL_MD_THRESH_INF,
			  PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, false);
	}
	for (sent = 0; sent < calls && (unsigned)atomic_load(&t_bad_) == bad; sent++) {
		one_call(sent);
		for (uint64_t k = rnd(6); k; k--)
			step();
		if (cut_at && sent == cut_at) {
			cutting = true;
			loop_cut(ends[0][1]);
		}
		for (unsigned i = sent > 400 ? sent - 400 : 0; i < sent; i++)
			if (over(&call[i]))
				free_descriptor(&call[i]);
	}
	for (unsigned long k = 0; step(); k++)
		if (!CHECK(k < 5000000))
			break;
	for (unsigned i = 0; i < sent; i++) {
		struct call *c = &call[i];
		bool dead = cutting && ((c->from == 0 && c->to == 1) || (c->from == 1 && c->to == 0));

		if (c->kind == 'p' && !CHECK(c->send_end == 1 && c->ack_seen <= c->ack && (dead ||
			c->ack_seen == c->ack)))
			diag("call %u: put of %llu from %u to %u: %u ends, %u acks", i, (unsigned long long)c->len,
				c->from,
			     c->to, c->send_end, c->ack_seen);
		if (c->kind != 'p' && !CHECK(c->reply == 1))
			diag("call %u: %c of %llu from %u to %u: %u replies", i, c->kind, (unsigned long long)c->len,
			     c->from, c->to, c->reply);
		free_descriptor(c);
		free(c->into);
	}
	for (unsigned i = 0; i < NODES; i++) {
		unsigned long long sum = 1, left = word[i];

		for (unsigned j = 0; j < NODES; j++)
			if (!cutting)
				CHECK(started[i][j] == next_put[i][j] && ended[i][j] == next_put[i][j]);
		for (unsigned k = 0; k < sent; k++)
			if (call[k].kind == 's' && call[k].to == i) {
				sum += call[k].new;
				left += call[k].old;
			}
		if (!cutting)
			CHECK(sum == left);		/* what was written came back, or is there */
		if (!CHECK(f_clean(i)))
			diag("node %u: %u messages, %u buffers free, %u records", i, f_free_msgs(i), f_free_bufs(i),
			     node[i].e->ops);
	}
	diag("%llu frames, %llu lost, %llu twice, %llu overtaken, %llu flipped; again %llu, timeouts %llu",
	     (unsigned long long)net.sent, (unsigned long long)net.lost, (unsigned long long)net.doubled,
	     (unsigned long long)net.overtaken, (unsigned long long)net.flipped,
	     (unsigned long long)(node[0].e->stats.again + node[1].e->stats.again + node[2].e->stats.again),
	     (unsigned long long)(node[0].e->stats.timeouts + node[1].e->stats.timeouts + node[2].e->stats.timeouts));
	CHECK(!!inject->loss == !!net.lost && !!inject->dup == !!net.doubled && !!inject->reorder == !!net.overtaken &&
	      !!inject->flip == !!net.flipped);
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned j = 0; j < NODES; j++)
			free(target[i][j]);
	f_end();
	free(call);
}

static void t_nothing_injected(void) { traffic(&(struct loop_inject){ 0 }, 0); }
static void t_loss(void) { traffic(&(struct loop_inject){ .loss = 50 }, 0); }
static void t_heavy_loss(void) { traffic(&(struct loop_inject){ .loss = 300 }, 0); }
static void t_duplicates(void) { traffic(&(struct loop_inject){ .dup = 200 }, 0); }
static void t_reordering(void) { traffic(&(struct loop_inject){ .reorder = 200 }, 0); }
static void t_flipped_bits(void) { traffic(&(struct loop_inject){ .flip = 50 }, 0); }
static void t_a_narrow_link(void) { traffic(&(struct loop_inject){ .room = 1 }, 0); }
static void t_everything(void)
{
	traffic(&(struct loop_inject){ .loss = 50, .dup = 50, .reorder = 100, .flip = 20, .room = 8 }, 0);
}
/* Frames of all lengths, in pieces of all lengths, between which anything may come. */
static void t_streams(void)
{
	traffic(&(struct loop_inject){ .stream = true }, 0);
	CHECK(net.pieces > net.placed && net.placed > 10);
}
static void t_narrow_streams(void)
{
	f_bulk = 20000;
	traffic(&(struct loop_inject){ .stream = true, .room = 2 }, 0);
	f_bulk = WIRE_BULK;
}
/* Connections end amid anything, and are made anew: nothing is lost, nothing comes twice. */
static void t_streams_that_break(void)
{
	traffic(&(struct loop_inject){ .stream = true, .reconnect = 30 }, 0);
	CHECK(net.cuts > 10);
	traffic(&(struct loop_inject){ .stream = true, .reconnect = 80, .room = 3 }, 0);
}
static void t_cut_streams(void) { traffic(&(struct loop_inject){ .stream = true, .room = 4 }, calls / 2); }
static void t_cut(void) { traffic(&(struct loop_inject){ 0 }, calls / 2); }
static void t_cut_and_everything(void)
{
	traffic(&(struct loop_inject){ .loss = 50, .dup = 50, .reorder = 100, .flip = 20, .room = 8 }, calls / 2);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		T(t_streams), T(t_narrow_streams), T(t_cut_streams), T(t_streams_that_break),
		T(t_nothing_injected), T(t_loss), T(t_heavy_loss), T(t_duplicates), T(t_reordering), T(t_flipped_bits),
		T(t_a_narrow_link), T(t_everything), T(t_cut), T(t_cut_and_everything), { 0 }
	};
	uint64_t s = 3;

	for (int i = 1; i + 1 < argc; i += 2)
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--calls"))
			calls = (unsigned)atoi(argv[i + 1]);
	if (getenv("T_SEED"))
		seed = strtoull(getenv("T_SEED"), NULL, 0);
	diag("seed %llu, %u calls", (unsigned long long)seed, calls);
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)c_random(&s);
	for (size_t i = 0; i < sizeof(store); i++)
		store[i] = (uint8_t)c_random(&s);
	return t_run(cases);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_index.c - long match lists: with the index as without it
 *
 * Two regions get the same entries at the same places of their lists, at random: one has an index, in the other
 * lists are walked, which is the reference. After each step some requests must be taken by the same entry in both.
 * Lists grow to hundreds and shrink again; entries ignore no bits, some, or all. Options: --seed N, --scripts N.
 */
#include <stdio.h>
#include "../common/tap.h"
#include "core_env.h"

#define PT	3
#define MOST	700

static uint64_t seed = 1, state;
static unsigned scripts = 60, longest, indexed, found, asked, in_place;

struct side {
	struct p3l_ni *ni;
	struct p3l_env env;
	struct p3l_ref eq;
};

static struct side side[2];
static struct p3l_ref live[MOST];	/* the same in both, since both have done the same */
static unsigned n_live;
static uint8_t buf[64];

static uint64_t rnd(uint64_t n)
{
	return c_random(&state) % n;
}

/* Few values, so that entries hide each other; in high bits as well as in low ones. */
static uint64_t some_bits(void)
{
	return rnd(40) | rnd(3) << 32 | rnd(2) << 63;
}

static bool insert(uint64_t ignore_one)
{
	static const uint64_t ignored[] = { ~(uint64_t)0, 0xff, (uint64_t)0xff << 32, 7 };
	uint64_t bits = some_bits(), ignore = rnd(4) ? ignore_one : rnd(2) ? 0 : ignored[rnd(4)];
	ptl_process_id_t from = rnd(8) ? C_ANY : (ptl_process_id_t){ C_NID, 100 + (uint32_t)rnd(4) };
	ptl_ins_pos_t pos = rnd(3) ? PTL_INS_AFTER : PTL_INS_BEFORE;
	ptl_md_t md = c_md((uint64_t)(uintptr_t)buf, sizeof(buf), rnd(6) ? PTL_MD_THRESH_INF : 1,
			   PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE);
	unsigned base = n_live && rnd(2) ? (unsigned)rnd(n_live) : MOST;
	struct p3l_ref me[2], out;
	int rc[2];

	if (n_live == MOST)
		return true;
	for (int k = 0; k < 2; k++) {
		struct side *d = &side[k];
		struct p3l_md_args a = c_args(&md, &d->eq);

		if (base < MOST)
			rc[k] = p3l_me_insert(&d->env, d->ni, live[base], from, bits, ignore, PTL_UNLINK, pos, &me[k]);
		else
			rc[k] = p3l_me_attach(&d->env, d->ni, PT, from, bits, ignore, PTL_UNLINK, pos, &me[k]);
		if (rc[k] == PTL_OK && p3l_md_attach(&d->env, d->ni, me[k], &a, PTL_UNLINK, &out) != PTL_OK)
			return false;
	}
	if (rc[0] != rc[1])
		return false;
	if (rc[0] == PTL_OK)
		live[n_live++] = me[0];
	return rc[0] != PTL_OK || (me[0].idx == me[1].idx && me[0].gen == me[1].gen);
}

static bool drop_one(void)
{
	unsigned i = (unsigned)rnd(n_live);
	int a = p3l_me_unlink(&side[0].env, side[0].ni, live[i]), b = p3l_me_unlink(&side[1].env, side[1].ni, live[i]);

	live[i] = live[--n_live];
	return a == b;		/* PTL_ME_INVALID where a message has used it up */
}

static bool ask(void)
{
	struct p3l_hdr h = c_hdr(P3L_PUT, (uint32_t)rnd(4), PT, some_bits(), rnd(8));
	struct p3l_data data = { .first = buf, .n_first = sizeof(buf) };
	struct p3l_short done;
	struct p3l_slot ev[2];
	int v[2], got[2];

	for (int k = 0; k < 2; k++) {
		struct side *d = &side[k];

		v[k] = p3l_target_short(&d->env, d->ni, &h, &data, &done, NULL);
		got[k] = p3l_eq_read(&d->env, d->ni, d->eq.idx, &ev[k], true);
		while (p3l_eq_read(&d->env, d->ni, d->eq.idx, &(struct p3l_slot){ 0 }, true))	/* UNLINK */
			;
	}
	asked++;
	found += v[0] == P3L_MATCHED;
	return v[0] == v[1] && got[0] == got[1] && (!got[0] || (ev[0].md == ev[1].md && ev[0].md_gen == ev[1].md_gen));
}

/* Each chain in list order, both ends right, every entry in exactly one. */
static bool whole(struct p3l_ni *ni)
{
	struct p3l_pt *p = &ni->pt[PT];
	struct p3l_among a;
	uint32_t n = 0, wild = 0;
	uint64_t seq = 0;

	if (!p->index_log2)
		return true;
	indexed++;
	for (uint32_t i = p->head; i; i = p3l_me(ni, i - 1)->next, n++) {
		struct p3l_me *me = p3l_me(ni, i - 1);
		uint32_t j;

		if (n && me->seq <= seq)
			return false;
		seq = me->seq;
		wild += (me->ignore_bits & p->index_mask) != 0;
		p3l_index_start(ni, PT, me->match_bits, &a);
		while ((j = p3l_index_next(ni, &a)) && j != i)
			;
		if (!j)
			return false;
		in_place++;
	}
	p3l_index_start(ni, PT, 0, &a);
	for (uint32_t i = a.wild; i; i = p3l_me(ni, i - 1)->hnext)
		wild--;
	return n == p->len && !wild;
}

static bool script(unsigned nth)
{
	uint64_t ignore = nth % 3 == 0 ? 0 : nth % 3 == 1 ? 0xf : ~(uint64_t)0;
	bool ok = true;

	n_live = 0;
	for (int k = 0; k < 2; k++) {
		struct p3l_setup s = c_setup();

		s.max_me = s.max_md = s.max_me_list = MOST + 8;
		s.index_from = k ? 0 : 1 + (uint32_t)(nth % 40);
		side[k].ni = c_region(&s);
		side[k].env = c_env(0, true);
		if (p3l_eq_alloc(&side[k].env, side[k].ni, 8, &side[k].eq) != PTL_OK)
			bail("no queue");
	}
	for (int phase = 0; phase < 6 && ok; phase++)
		for (int n = 0; n < 600 && ok; n++) {
			bool grow = phase % 2 ? rnd(5) == 0 : rnd(5) != 0;

			ok = (grow || !n_live ? insert(ignore) : drop_one()) && ask() && ask() &&
			     (n % 50 || whole(side[0].ni));
			if (side[0].ni->pt[PT].longest > longest)
				longest = side[0].ni->pt[PT].longest;
			if (ok && !rnd(2000))
				p3l_index_drop(&side[0].ni->pt[PT]);	/* as repair does */
		}
	ok = ok && side[0].ni->pt[PT].len == side[1].ni->pt[PT].len && !side[1].ni->pt[PT].index_log2;
	for (int k = 0; k < 2; k++)
		c_free(side[k].ni);
	return ok;
}

static void t_index_finds_what_the_walk_finds(void)
{
	for (unsigned i = 0; i < scripts; i++) {
		state = (seed + i) * 0x9e3779b97f4a7c15ULL | 1;
		if (!script((unsigned)(seed + i))) {
			diag("they differ: --seed %llu --scripts 1", (unsigned long long)(seed + i));
			CHECK(0);
			return;
		}
	}
	diag("seed %llu: %u requests, %u taken; lists of up to %u, %u entries found in %u indices",
	     (unsigned long long)seed, asked, found, longest, in_place, indexed);
	CHECK(indexed > scripts && found > asked / 10 && longest > 200);
}

/* Programs post before one entry, or behind one, for ever: numbers run out between the two, and are made anew. */
static void t_numbers_do_not_run_out(void)
{
	for (int behind = 0; behind < 2; behind++) {
		ptl_ins_pos_t pos = behind ? PTL_INS_AFTER : PTL_INS_BEFORE;
		struct p3l_setup s = c_setup();
		struct p3l_env env = c_env(0, true);
		struct p3l_ref base, other, me[8];
		struct p3l_ni *ni;

		s.max_me_list = 32;
		s.index_from = 2;
		ni = c_region(&s);
		REQUIRE(p3l_me_attach(&env, ni, PT, C_ANY, 1, 0, PTL_UNLINK, PTL_INS_AFTER, &base) == PTL_OK);
		REQUIRE(p3l_me_attach(&env, ni, PT, C_ANY, 2, 0, PTL_UNLINK, pos, &other) == PTL_OK);
		for (int n = 0; n < 200000; n++) {
			if (n == 8)
				CHECK(p3l_index_make(ni, PT));
			if (n >= 8 && p3l_me_unlink(&env, ni, me[n % 8]) != PTL_OK)
				bail("no unlink");
			if (p3l_me_insert(&env, ni, base, C_ANY, 3, 0, PTL_UNLINK, pos, &me[n % 8]) != PTL_OK)
				bail("no insertion");
			if ((n % 1000 == 0 || n > 199990) && !whole(ni)) {
				diag("after %d insertions %s one entry", n, behind ? "behind" : "before");
				CHECK(0);
				break;
			}
		}
		CHECK(ni->pt[PT].index_log2);
		c_free(ni);
	}
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		T(t_index_finds_what_the_walk_finds), T(t_numbers_do_not_run_out), { 0 }
	};

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		if (!strcmp(argv[i], "--scripts"))
			scripts = (unsigned)atoi(argv[i + 1]);
	}
	return t_run(cases);
}

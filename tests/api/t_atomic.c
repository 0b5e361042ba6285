/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * PtlAtomic_np: each operation on words of each size, what is no word, and that nothing is lost when the target's
 * processor works on the same word. The words are in memory that every mover reaches, or (argument: private) in the
 * program's own.
 */
#include <smartmap.h>
#include <stdbool.h>

#include "ptl.h"

#define BOTH	(PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE)
#define WORDS	8

static ptl_handle_eq_t geq;		/* events of the get MD */
static _Alignas(64) uint64_t private_words[WORDS];
static uint64_t *words;			/* the target's */

static int atomic(void *old, ptl_atomic_np_t op, const void *v, size_t len, ptl_size_t offset, uint64_t other)
{
	ptl_handle_md_t g, p;
	int rc = PtlMDBind(ni, p_md(old, 8, 1, PTL_MD_EVENT_START_DISABLE, geq), PTL_UNLINK, &g);

	if (!rc)
		rc = PtlMDBind(ni, p_md((void *)(uintptr_t)v, 8, 1, PTL_MD_EVENT_START_DISABLE, ieq), PTL_UNLINK, &p);
	return rc ? rc : PtlAtomic_np(g, 0, p, 0, op, len, peer, PT, 0, 7, offset, other);
}

static uint64_t expect(ptl_atomic_np_t op, uint64_t x, uint64_t v, uint64_t o, uint64_t mask)
{
	switch (op) {
	case PTL_ATOMIC_FETCH_NP: return x;
	case PTL_ATOMIC_SET_NP:
	case PTL_ATOMIC_SWAP_NP: return v;
	case PTL_ATOMIC_CSWAP_NP: return x == (o & mask) ? v : x;
	case PTL_ATOMIC_ADD_NP: return (x + v) & mask;
	case PTL_ATOMIC_AND_NP: return x & v;
	case PTL_ATOMIC_OR_NP: return x | v;
	case PTL_ATOMIC_XOR_NP: return x ^ v;
	case PTL_ATOMIC_MSWAP_NP: return ((x & ~o) | (v & o)) & mask;
	}
	return 0;
}

/* The first @len bytes of memory as a number, and a number there. */
static uint64_t word_at(const void *p, size_t len)
{
	uint16_t w2;
	uint32_t w4;
	uint64_t w8;

	memcpy(&w2, p, 2);
	memcpy(&w4, p, 4);
	memcpy(&w8, p, 8);
	return len == 2 ? w2 : len == 4 ? w4 : w8;
}

static void put_word(void *p, uint64_t v, size_t len)
{
	uint16_t w2 = (uint16_t)v;
	uint32_t w4 = (uint32_t)v;

	memcpy(p, len == 2 ? (void *)&w2 : len == 4 ? (void *)&w4 : (void *)&v, len);
}

static void one_operation(ptl_atomic_np_t op, size_t len, bool equal)
{
	uint64_t mask = len == 8 ? ~0ull : (1ull << 8 * len) - 1;
	uint64_t x = 0xf1e2d3c4b5a69788 & mask, v = 0x8877665544332211 & mask, old[2] = { 0xabababababababab, 0 };
	uint64_t o = op == PTL_ATOMIC_CSWAP_NP ? (equal ? x : x + 1) : 0x00ff0ff0f0f00f0f;
	unsigned char area[24], mine[8] = { 0 };
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_event_t ev[3];

	memset(area, 0x5a, sizeof(area));
	put_word(area + 8, x, len);
	TGT {
		memcpy(words, area, sizeof(area));
		NEED_OK(p_post(7, p_md(words, sizeof(area), 1, BOTH, teq), &me, &md));
	}
	p_step();
	INI {
		put_word(mine, v, len);
		OK(atomic(old, op, mine, len, 8, o));
		EVENTS(ieq, ev, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK);
		EVENTS(geq, ev, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK);
		CHECK_INT(ev[0].rlength, len);
		CHECK_INT(ev[0].mlength, len);
		CHECK(word_at(old, len) == x);
		CHECK(len == 8 || ((unsigned char *)old)[len] == 0xab);
	}
	p_step();
	TGT {
		EVENTS(teq, ev, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END);
		CHECK_INT(ev[1].mlength, len);
		CHECK_INT(ev[1].offset, 8);
		CHECK(ev[1].hdr_data == o);
		put_word(area + 8, expect(op, x, v, o, mask), len);
		if (!CHECK_MEM(words, area, sizeof(area)))
			diag("operation %d on %zu bytes", (int)op, len);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_each_operation_on_each_size(void)
{
	for (int op = PTL_ATOMIC_FETCH_NP; op <= PTL_ATOMIC_MSWAP_NP; op++)
		for (size_t len = 2; len <= 8; len *= 2) {
			one_operation((ptl_atomic_np_t)op, len, true);
			one_operation((ptl_atomic_np_t)op, len, false);
		}
}

/* One that is refused at the target: both hear of it, and nothing has changed. */
static void refused(ptl_md_t at, size_t len, ptl_size_t offset)
{
	uint64_t one = 1, old = 77, was[WORDS];
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_event_t ev;

	TGT {
		for (int i = 0; i < WORDS; i++)
			words[i] = was[i] = 0x0101010101010101u * (unsigned)i;
		NEED_OK(p_post(7, at, &me, &md));
	}
	p_step();
	INI {
		OK(atomic(&old, PTL_ATOMIC_ADD_NP, &one, len, offset, 0));
		CHECK_INT(p_get(ieq, &ev), PTL_OK);
		CHECK_INT(ev.type, PTL_EVENT_SEND_END);
		CHECK_INT(p_get(ieq, &ev), PTL_OK);
		CHECK_INT(p_get(geq, &ev), PTL_OK);
		CHECK_INT(ev.type, PTL_EVENT_REPLY_END);
		CHECK_INT(ev.ni_fail_type, PTL_NI_FAULT_NP);
		CHECK_INT(p_get(geq, &ev), PTL_OK);
	}
	p_step();
	TGT {
		CHECK_INT(p_get(teq, &ev), PTL_OK);
		CHECK_INT(ev.type, PTL_EVENT_GETPUT_START);
		CHECK_INT(p_get(teq, &ev), PTL_OK);
		CHECK_INT(ev.type, PTL_EVENT_GETPUT_END);
		CHECK_INT(ev.ni_fail_type, PTL_NI_FAULT_NP);
		CHECK_MEM(words, was, sizeof(was));
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_what_is_no_word_is_refused(void)
{
	ptl_md_iovec_t two[2] = { { words, 4 }, { words + 1, 12 } };

	refused(p_md(words, 64, 1, BOTH, teq), 8, 4);
	refused(p_md(words, 64, 1, BOTH, teq), 4, 2);
	refused(p_md(words, 64, 1, BOTH, teq), 2, 9);
	refused(p_md(words, 12, 1, BOTH | PTL_MD_TRUNCATE, teq), 8, 8);	/* 4 of 8 bytes: a word, but not this one */
	refused(p_md(two, 2, 1, BOTH | PTL_MD_IOVEC, teq), 8, 0);
}

/* In one piece of several it is one. */
static void t_a_piece_of_a_vector(void)
{
	ptl_md_iovec_t two[2] = { { words, 4 }, { words + 1, 12 } };
	uint64_t five = 5, old = 0;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_event_t ev[2];

	TGT {
		words[1] = 37;
		NEED_OK(p_post(7, p_md(two, 2, 1, BOTH | PTL_MD_IOVEC, PTL_EQ_NONE), &me, &md));
	}
	p_step();
	INI {
		OK(atomic(&old, PTL_ATOMIC_ADD_NP, &five, 8, 4, 0));
		EVENTS(ieq, ev, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK);
		EVENTS(geq, ev, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK);
		CHECK_INT(old, 37);
	}
	p_step();
	TGT {
		CHECK_INT(words[1], 42);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_bad_arguments(void)
{
	uint64_t word = 0;
	ptl_process_id_t bad = peer;
	ptl_handle_md_t h;

	INI {
		NEED_OK(PtlMDBind(ni, p_md(&word, 8, PTL_MD_THRESH_INF, 0, ieq), PTL_RETAIN, &h));
		for (size_t len = 0; len <= 64; len++)
			if (len != 2 && len != 4 && len != 8)
				CHECK_INT(PtlAtomic_np(h, 0, h, 0, PTL_ATOMIC_ADD_NP, len, peer, PT, 0, 7, 0, 0),
					  PTL_MD_ILLEGAL);
		CHECK_INT(PtlAtomic_np(h, 0, h, 0, (ptl_atomic_np_t)(PTL_ATOMIC_MSWAP_NP + 1), 8, peer, PT, 0, 7, 0, 0),
			  PTL_MD_ILLEGAL);
		CHECK_INT(PtlAtomic_np(h, 0, h, 0, (ptl_atomic_np_t)-1, 8, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlAtomic_np(h, 4, h, 0, PTL_ATOMIC_ADD_NP, 8, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlAtomic_np(h, 0, h, 4, PTL_ATOMIC_ADD_NP, 8, peer, PT, 0, 7, 0, 0), PTL_MD_ILLEGAL);
		CHECK_INT(PtlAtomic_np(PTL_INVALID_HANDLE, 0, h, 0, PTL_ATOMIC_ADD_NP, 8, peer, PT, 0, 7, 0, 0),
			  PTL_MD_INVALID);
		CHECK_INT(PtlAtomic_np(h, 0, ieq, 0, PTL_ATOMIC_ADD_NP, 8, peer, PT, 0, 7, 0, 0), PTL_MD_INVALID);
		bad.nid = PTL_NID_ANY;
		CHECK_INT(PtlAtomic_np(h, 0, h, 0, PTL_ATOMIC_ADD_NP, 8, bad, PT, 0, 7, 0, 0), PTL_PROCESS_INVALID);
		p_sync();
		NONE(ieq);
		OK(PtlMDUnlink(h));
	}
	p_step();
}

static ptl_md_t forever(uint64_t *word, ptl_handle_eq_t eq)
{
	return p_md(word, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq);
}

/* The target's processor adds to the same word meanwhile, and takes turns with a compare-and-swap on the next. */
static void t_nothing_is_lost(void)
{
	enum { N = 2000 };
	uint64_t one = 1, two = 2, old = 0, last = 0, seen = 0, tries = 0;
	ptl_handle_md_t g, p, q, md;
	ptl_handle_me_t me;
	ptl_event_t ev[2];

	TGT {
		words[0] = words[1] = 0;
		NEED_OK(p_post(7, p_md(words, 64, PTL_MD_THRESH_INF, BOTH, PTL_EQ_NONE), &me, &md));
	}
	INI {
		NEED_OK(PtlMDBind(ni, forever(&old, geq), PTL_RETAIN, &g));
		NEED_OK(PtlMDBind(ni, forever(&one, ieq), PTL_RETAIN, &p));
		NEED_OK(PtlMDBind(ni, forever(&two, ieq), PTL_RETAIN, &q));
	}
	p_step();
	if (t_size() > 1)
		TGT for (int i = 0; i < N; i++) {
			uint64_t v = __atomic_load_n(&words[1], __ATOMIC_RELAXED);

			__atomic_fetch_add(&words[0], 1, __ATOMIC_RELAXED);
			while (!__atomic_compare_exchange_n(&words[1], &v, v + 3, 0, __ATOMIC_RELAXED,
							    __ATOMIC_RELAXED))
				;
			if (i % 16 == 0)
				sched_yield();
		}
	INI for (int i = 0; i < N; i++) {
		OK(PtlAtomic_np(g, 0, p, 0, PTL_ATOMIC_ADD_NP, 8, peer, PT, 0, 7, 0, 0));
		EVENTS(ieq, ev, PTL_EVENT_SEND_END);
		EVENTS(geq, ev, PTL_EVENT_REPLY_END);
		if (!CHECK(i == 0 || old > last))
			break;
		last = old;
		for (;; tries++) {
			two = seen + 2;
			OK(PtlAtomic_np(g, 0, q, 0, PTL_ATOMIC_CSWAP_NP, 8, peer, PT, 0, 7, 8, seen));
			EVENTS(ieq, ev, PTL_EVENT_SEND_END);
			EVENTS(geq, ev, PTL_EVENT_REPLY_END);
			if (old == seen)
				break;
			seen = old;
			if (!CHECK(tries < 1000000))
				return;
		}
		seen += 2;
	}
	p_step();
	TGT {
		int own = t_size() > 1;

		CHECK_INT(words[0], N + own * N);
		CHECK_INT(words[1], 2 * N + own * 3 * N);
		OK(PtlMEUnlink(me));
	}
	INI {
		OK(PtlMDUnlink(g));
		OK(p_unlink_sent(p));
		OK(p_unlink_sent(q));
	}
	p_step();
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		T(t_each_operation_on_each_size), T(t_what_is_no_word_is_refused), T(t_a_piece_of_a_vector),
		T(t_bad_arguments), T(t_nothing_is_lost), { 0 }
	};
	int rc;

	p_init();
	words = argc > 1 ? NULL : smartmap_alloc(sizeof(private_words), 64);
	if (!words)			/* a process alone has no windows */
		words = private_words;
	if (PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &geq) != PTL_OK)
		bail("no memory");
	rc = t_run(cases);
	t_barrier();
	PtlFini();
	return rc;
}

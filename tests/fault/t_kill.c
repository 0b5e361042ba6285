/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_kill.c - the last rank is killed at any moment of all-to-all traffic: the others go on
 *
 * A timer with SIGKILL ends the last rank between any two of its instructions. What the others must see: no call
 * hangs; every START is followed by its END (perhaps with PTL_NI_DIED_NP); messages between the living are neither
 * lost nor out of order; what is sent to the dead fails or is silent; PtlFini returns.
 */
#include "../api/ptl.h"

#include <signal.h>

#define MAX_LEN 200000

static unsigned char src[MAX_LEN], dst[8][MAX_LEN], got[MAX_LEN];
static uint64_t word[1];		/* of exchanges */
static uint64_t seed, put_to[8], from_starts[8], from_ends[8], failed;
static ptl_handle_eq_t eq, geq;
static ptl_process_id_t id[8];
static int size, rank, victim;

static int rank_of(ptl_process_id_t p)
{
	for (int r = 0; r < size; r++)
		if (id[r].nid == p.nid && id[r].pid == p.pid)
			return r;
	return -1;
}

static void drain(void)
{
	ptl_event_t ev;
	int rc, r;

	while ((rc = PtlEQGet(eq, &ev)) == PTL_OK) {
		r = rank_of(ev.initiator);
		if (!CHECK(r >= 0))
			continue;
		if (ev.type == PTL_EVENT_PUT_START) {
			CHECK_INT(ev.hdr_data, from_starts[r]);
			from_starts[r]++;
		} else if (ev.type == PTL_EVENT_PUT_END) {
			from_ends[r]++;
			failed += ev.ni_fail_type != PTL_NI_OK;
			if (ev.ni_fail_type != PTL_NI_OK)
				CHECK_INT(r, victim);
		}
	}
	CHECK_INT(rc, PTL_EQ_EMPTY);
	while (PtlEQGet(geq, &ev) == PTL_OK)
		;
}

static void others(unsigned what, int to)
{
	static uint64_t give = 1;
	ptl_handle_md_t md, old;
	ptl_handle_me_t me;
	ptl_handle_eq_t q;
	ptl_md_t v;
	int rc;

	switch (what) {
	case 1:
		OK(PtlMDBind(ni, p_md(&give, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
		OK(PtlMDBind(ni, p_md(got, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &old));
		rc = PtlGetPutRegion(old, 0, md, 0, 8, id[to], PT + 2, 0, 0, 0, 0);
		CHECK(rc == PTL_OK || to == victim);
		PtlMDUnlink(md);	/* or a copy is left to its owner */
		PtlMDUnlink(old);
		break;
	case 2:
		v = p_md(got, 8, 1, PTL_MD_OP_PUT, PTL_EQ_NONE);
		OK(PtlMEAttach(ni, PT + 3, id[to], 1, 0, PTL_UNLINK, PTL_INS_BEFORE, &me));
		OK(PtlMDAttach(me, v, PTL_UNLINK, &md));
		v.length = 4;
		OK(PtlMDUpdate(md, NULL, &v, PTL_EQ_NONE));
		OK(PtlMEUnlink(me));
		break;
	case 3:
		OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &q));
		OK(PtlEQFree(q));
	}
}

static void traffic(uint64_t *r, ptl_handle_md_t md, ptl_handle_md_t gmd)
{
	uint64_t x = t_random(r);
	int to = (int)((x >> 8) % (unsigned)size), rc;
	size_t len = (x >> 16 & 7) ? (x >> 20) % 300 : (x >> 20) % MAX_LEN;

	if (to == rank)
		return;
	switch (x & 7) {
	case 0:
		rc = PtlGetRegion(gmd, 0, len, id[to], PT + 1, 0, 0, 0);
		CHECK(rc == PTL_OK || (to == victim && rc == PTL_PROCESS_INVALID));
		return;
	case 1:
	case 2:
		drain();
		return;
	case 3:
		if ((x >> 40 & 15) > 12)	/* an exchange; a list of our own that changes; a queue */
			others((unsigned)(x >> 40 & 3), to);
		if ((x >> 40 & 15) == 0)
			nanosleep(&(struct timespec){ 0, (long)(x >> 44 & 0x3ffff) }, NULL);
		return;
	}
	if (put_to[to] >= 4000)		/* queues are as long as this needs */
		return;
	rc = PtlPutRegion(md, 0, len, x >> 60 & 1 ? PTL_ACK_REQ : PTL_NO_ACK_REQ, id[to], PT, 0, 0, 0, put_to[to]);
	if (rc == PTL_OK)
		put_to[to]++;
	else
		CHECK(to == victim);
}

static void t_the_living_go_on(void)
{
	const char *at = getenv("T_KILL_US");
	long us = at ? atol(at) : (long)(seed % 100000);
	uint64_t r = seed + (uint64_t)rank;
	ptl_handle_md_t md, gmd;
	double until;

	OK(PtlEQAlloc(ni, 65536, PTL_EQ_HANDLER_NONE, &eq));
	OK(PtlEQAlloc(ni, 65536, PTL_EQ_HANDLER_NONE, &geq));
	for (int i = 0; i < size; i++) {
		ptl_handle_me_t me;

		id[i] = p_id(i);
		OK(PtlMEAttach(ni, PT, id[i], 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me));
		OK(PtlMDAttach(me, p_md(dst[i], MAX_LEN, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq),
			       PTL_RETAIN, NULL));
		OK(PtlMEAttach(ni, PT + 2, id[i], 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me));
		OK(PtlMDAttach(me, p_md(word, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
					PTL_MD_MANAGE_REMOTE, geq), PTL_RETAIN, NULL));
		OK(PtlMEAttach(ni, PT + 1, id[i], 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me));
		OK(PtlMDAttach(me, p_md(src, MAX_LEN, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, geq),
			       PTL_RETAIN, NULL));
	}
	OK(PtlMDBind(ni, p_md(src, MAX_LEN, PTL_MD_THRESH_INF, 0, geq), PTL_RETAIN, &md));
	OK(PtlMDBind(ni, p_md(got, MAX_LEN, PTL_MD_THRESH_INF, 0, geq), PTL_RETAIN, &gmd));
	t_barrier();
	if (rank == victim) {
		struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
		struct itimerspec when = { .it_value = { us / 1000000, us % 1000000 * 1000 + 1 } };
		timer_t timer;

		if (timer_create(CLOCK_MONOTONIC, &se, &timer) || timer_settime(timer, 0, &when, NULL))
			bail("timer");
		for (;;)
			traffic(&r, md, gmd);
	}
	until = t_now() + (double)us * 1e-6 + 0.3;
	while (t_now() < until)
		traffic(&r, md, gmd);
	/* the living are still in touch, with everything before the synchronising message matched */
	for (int i = 0; i < size; i++) {
		if (i == victim || i == rank)
			continue;
		p_sync_with(id[i]);
		atomic_store(t_word(16 + rank * 8 + i), put_to[i] + 1);
	}
	for (int i = 0; i < size; i++) {
		uint64_t want;

		if (i == rank || i == victim)
			continue;
		if (!CHECK(t_await(16 + i * 8 + rank, 1, 20)))
			continue;
		want = atomic_load(t_word(16 + i * 8 + rank)) - 1;
		until = t_now() + 10;
		while ((from_starts[i] < want || from_ends[i] < want) && t_now() < until)
			drain();
		CHECK_INT(from_starts[i], want);
		CHECK_INT(from_ends[i], want);
	}
	/* what the dead one had begun is finished for it */
	until = t_now() + 10;
	while (from_ends[victim] < from_starts[victim] && t_now() < until)
		drain();
	/* a place in the queue that it had reserved, and no more, becomes a failed END without START */
	CHECK(from_ends[victim] >= from_starts[victim] && from_ends[victim] - failed <= from_starts[victim]);
	if (failed)
		diag("rank %d: %llu operations of the dead were ended for it", rank, (unsigned long long)failed);
	/* leave together, as far as it goes: the others' copies must have ended */
	atomic_fetch_add(t_word(10), 1);
	while (atomic_load(t_word(10)) < (uint64_t)size - 1)
		drain();
}

int main(void)
{
	int rc;

	size = t_size();
	rank = t_rank();
	victim = size - 1;
	seed = t_seed();
	if (size < 3 || size > 8)
		bail("made for three to eight ranks");
	p_init();
	p_patience = 10;
	rc = t_run((const struct t_case[]){ T(t_the_living_go_on), { 0 } });
	PtlFini();
	return rc;
}

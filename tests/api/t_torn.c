/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_torn.c - a thread updates a descriptor while another puts from it: each put is of the one memory or of the other
 *
 * With a queue and without one. A rank alone sends to itself; a pair plays ping-pong, so that a polling target has its
 * messages by the inbox, which has room for what the descriptor was when somebody looked.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ptl.h"

enum { SHORT = 8, LONG = 3000 };

static char a[4096], b[4096], to[4096];
static ptl_handle_md_t md;
static ptl_handle_eq_t own_eq;
static atomic_int refused;
static atomic_bool stop;

static void *update(void *arg)
{
	ptl_md_t x = p_md(a, SHORT, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, own_eq), y = x;

	(void)arg;
	y.start = b;
	y.length = LONG;
	while (!atomic_load(&stop))
		for (int i = 0; i < 64; i++)
			if (PtlMDUpdate(md, NULL, i & 1 ? &x : &y, PTL_EQ_NONE) != PTL_OK)
				atomic_fetch_add(&refused, 1);
	return NULL;
}

static void puts_from(bool queue)
{
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;
	ptl_handle_md_t into;
	unsigned torn = 0;
	ptl_event_t ev;
	pthread_t th;
	unsigned puts = (unsigned)atoi(getenv("T_PUTS") ? getenv("T_PUTS") : "20000");

	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	own_eq = PTL_EQ_NONE;
	NEED_OK(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq));
	if (queue)
		NEED_OK(PtlEQAlloc(ni, 1 << 12, PTL_EQ_HANDLER_NONE, &own_eq));
	NEED_OK(PtlMEAttach(ni, PT, anyone, 0, ~0ULL, PTL_RETAIN, PTL_INS_AFTER, &me));
	NEED_OK(PtlMDAttach(me, p_md(to, sizeof(to), PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
				     PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &into));
	NEED_OK(PtlMDBind(ni, p_md(a, SHORT, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, own_eq), PTL_RETAIN, &md));
	t_barrier();
	atomic_store(&stop, false);
	NEED(!pthread_create(&th, NULL, update, NULL));
	for (unsigned i = 0; i < puts; i++) {
		INI { NEED_OK(PtlPut(md, PTL_NO_ACK_REQ, peer, PT, 0, 0, 0, i)); }
		NEED_OK(p_get(eq, &ev));
		torn += ev.mlength != (to[0] == 'a' ? SHORT : LONG) || to[ev.mlength - 1] != to[0];
		to[0] = to[SHORT - 1] = 0;
		if (!p_ini)
			NEED_OK(PtlPut(md, PTL_NO_ACK_REQ, peer, PT, 0, 0, 0, i));
		while (queue && PtlEQGet(own_eq, &ev) != PTL_EQ_EMPTY)
			;
	}
	atomic_store(&stop, true);
	pthread_join(th, NULL);
	CHECK_INT(torn, 0);
	CHECK_INT(refused, 0);
	t_barrier();
	OK(PtlMEUnlink(me));
	OK(p_unlink_sent(md));
	OK(PtlEQFree(eq));
	if (queue)
		OK(PtlEQFree(own_eq));
}

static void t_without_a_queue(void)
{
	puts_from(false);
}

static void t_with_a_queue(void)
{
	puts_from(true);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_without_a_queue), T(t_with_a_queue), { 0 } };

	return p_main(cases);
}

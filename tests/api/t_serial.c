/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_serial.c - PtlNISerial_np: calls of several threads that come one by one do as those of one thread; until another
 * library opens the interface
 *
 * T_REFUSED=1: where the interface has a thread of its own, the promise is refused. T_NO_TAKING=1: no messages are
 * taken there in any case (PtlMEMDTake_np).
 */
#include "ptl.h"

#include <pthread.h>
#include <stdatomic.h>

#define N 20000

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static atomic_int held, holds, wrong;
static int refused;

/* The lock by which this program's calls come one by one, as MPI's: who has it may ask for it again. */
static _Thread_local int mine;

static void enter(void)
{
	if (!mine++)
		pthread_mutex_lock(&turn);
}

static void leave(void)
{
	if (!--mine)
		pthread_mutex_unlock(&turn);
}

static void hold(int on)
{
	if (on) {
		enter();
		if (atomic_fetch_add(&held, 1))
			wrong++;
		holds++;
	} else {
		if (atomic_fetch_sub(&held, 1) != 1)
			wrong++;
		leave();
	}
}

static int promise(void)
{
	return PtlNISerial_np(ni, 1, hold);
}

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Can a message be taken without an entry? Only who leaves locks out can do that. */
static int takes(void)
{
	ptl_handle_me_t base;
	ptl_handle_eq_t eq;
	ptl_take_np_t t = { .match_id = self, .match_bits = 5, .ignore_hdr = ~0ull };
	int rc;

	OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &eq));
	OK(PtlPTPolled_np(ni, PT, 1));
	OK(PtlMEAttach(ni, PT, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &base));
	rc = PtlMEMDTake_np(base, eq, &t, 1);
	OK(PtlMEUnlink(base));
	OK(PtlPTPolled_np(ni, PT, 0));
	OK(PtlEQFree(eq));
	CHECK(rc == PTL_EQ_EMPTY || rc == PTL_MD_NO_UPDATE);
	return rc == PTL_EQ_EMPTY || getenv("T_NO_TAKING");
}

static void t_refused_where_nothing_is_gained(void)
{
	CHECK_INT(PtlNISerial_np(PTL_INVALID_HANDLE, 1, hold), PTL_NI_INVALID);
	CHECK_INT(promise(), refused ? PTL_FAIL : PTL_OK);
	CHECK_INT(PtlNISerial_np(ni, 0, NULL), PTL_OK);		/* whether or not it was given */
}

static void t_locks_are_left_out_for_as_long_as_it_holds(void)
{
	if (refused)
		SKIP("the promise is refused here");
	CHECK(!takes() || getenv("T_NO_TAKING"));
	OK(promise());
	CHECK(takes());
	OK(PtlNISerial_np(ni, 0, NULL));
	CHECK(!takes() || getenv("T_NO_TAKING"));
}

static void t_another_library_ends_it(void)
{
	ptl_handle_ni_t other;
	int before;

	if (refused)
		SKIP("the promise is refused here");
	OK(promise());
	before = holds;
	OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &other));
	CHECK_INT(holds, before + 1);
	CHECK_INT(held, 0);
	CHECK(!takes() || getenv("T_NO_TAKING"));
	CHECK_INT(promise(), PTL_FAIL);
	OK(PtlNIFini(other));
	CHECK(!takes() || getenv("T_NO_TAKING"));
	OK(promise());			/* who has it alone again may promise again */
	enter();			/* and its own calls may open it, too */
	OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &other));
	leave();
	OK(PtlNIFini(other));
	CHECK_INT(wrong, 0);
}

/* One thread of the sending side, one of the target's: each makes its call when it has the lock. */
static struct {
	ptl_handle_md_t md;
	ptl_handle_eq_t eq;
	uint64_t word;
	atomic_uint sent, got;
} w;

static void *sends(void *arg)
{
	for (int i = 0; i < N / 2; i++) {
		int rc;

		enter();
		if (mine != 1 || held)
			wrong++;
		w.word = w.sent + 1;
		rc = PtlPut(w.md, PTL_NO_ACK_REQ, peer, PT, 0, w.word, 0, w.word);
		if (rc == PTL_OK)
			w.sent++;
		else if (rc != PTL_NO_SPACE)
			wrong++;
		leave();
		if (rc != PTL_OK) {
			i--;
			sched_yield();
		}
	}
	return arg;
}

static void *receives(void *arg)
{
	double until = t_now() + 60;
	ptl_event_t ev;

	while (w.got < N && t_now() < until) {
		int rc;

		enter();
		rc = PtlEQGet(w.eq, &ev);
		if (rc == PTL_OK) {
			w.got++;
			if (ev.type != PTL_EVENT_PUT_END || ev.hdr_data != w.got || ev.match_bits != w.got ||
			    ev.mlength != 8 || *(uint64_t *)((char *)ev.md.start + ev.offset) != w.got)
				wrong++;
		} else if (rc != PTL_EQ_EMPTY) {
			wrong++;
		}
		leave();
		if (rc != PTL_OK)
			sched_yield();
	}
	return arg;
}

/* Another library begins and ends amid them, in a thread that knows nothing of their lock. */
static void *opens(void *arg)
{
	for (int i = 0; i < 200; i++) {
		ptl_handle_ni_t other;

		if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &other) != PTL_OK ||
		    PtlNIFini(other) != PTL_OK)
			wrong++;
		usleep(100);
		enter();
		if (promise() != (refused ? PTL_FAIL : PTL_OK))
			wrong++;
		leave();
	}
	return arg;
}

static void t_threads_in_turn(void)
{
	static uint64_t dst[N];
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	pthread_t th[5];
	int n = 0;

	w.sent = w.got = 0;
	if (!refused)
		OK(promise());
	TGT {
		OK(PtlEQAlloc(ni, 4096, PTL_EQ_HANDLER_NONE, &w.eq));
		OK(PtlPTPolled_np(ni, PT, 1));
		OK(p_post_at(PT, 0, ~0ull, PTL_RETAIN, p_md(dst, sizeof(dst), PTL_MD_THRESH_INF,
							    PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, w.eq),
			     PTL_RETAIN, &me, &md));
	}
	INI OK(PtlMDBind(ni, p_md(&w.word, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
				  PTL_EQ_NONE), PTL_RETAIN, &w.md));
	t_barrier();
	INI {
		NEED(!pthread_create(&th[n++], NULL, sends, NULL));
		NEED(!pthread_create(&th[n++], NULL, sends, NULL));
	}
	TGT {
		NEED(!pthread_create(&th[n++], NULL, receives, NULL));
		NEED(!pthread_create(&th[n++], NULL, receives, NULL));
	}
	NEED(!pthread_create(&th[n++], NULL, opens, NULL));
	while (n)
		pthread_join(th[--n], NULL);
	CHECK_INT(wrong, 0);
	INI CHECK_INT(w.sent, N);
	TGT CHECK_INT(w.got, N);
	t_barrier();
	TGT {
		NONE(w.eq);
		OK(PtlMEUnlink(me));
		OK(PtlPTPolled_np(ni, PT, 0));
		OK(PtlEQFree(w.eq));
	}
	INI OK(p_unlink_sent(w.md));
	PtlNISerial_np(ni, 0, NULL);
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_refused_where_nothing_is_gained), T(t_locks_are_left_out_for_as_long_as_it_holds),
		T(t_another_library_ends_it), T(t_threads_in_turn), { 0 }
	};
	pthread_t th;

	refused = getenv("T_REFUSED") != NULL;
	if (pthread_create(&th, NULL, sleeper, NULL))
		return 99;
	return p_main(cases);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_eq.c - event queues: order, overrun, waiting, polling, handlers (items 16, 17)
 */
#include "ptl.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned char src[64], dst[64];
static ptl_handle_me_t me;
static ptl_handle_md_t mdh;
static ptl_event_t ev[64];

static void post_inf(ptl_handle_eq_t eq, unsigned options)
{
	OK(p_post(1, p_md(dst, sizeof(dst), PTL_MD_THRESH_INF,
			  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE | options, eq), &me, &mdh));
}

static void send_n(int n)
{
	for (int i = 0; i < n; i++)
		OK(p_put_full(src, 8, PTL_NO_ACK_REQ, PT, 1, 0, (unsigned)i, PTL_EQ_NONE));
	p_sync();
}

static void t_empty_queue_leaves_the_event_alone(void)
{
	ptl_event_t e, f;

	memset(&e, 0x5a, sizeof(e));
	memset(&f, 0x5a, sizeof(f));
	CHECK_INT(PtlEQGet(teq, &e), PTL_EQ_EMPTY);
	CHECK(!memcmp(&e, &f, sizeof(e)));
	CHECK_INT(PtlEQPeek(teq, &e), PTL_EQ_EMPTY);
	p_step();
}

static void t_sequence_numbers_are_consecutive(void)
{
	ptl_handle_eq_t eq;
	ptl_seq_t last = 0;

	TGT {
		OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &eq));
		post_inf(eq, 0);
	}
	p_step();
	for (int round = 0; round < 10; round++) {	/* over the end of the ring */
		INI { send_n(5); }
		p_step();
		TGT {
			for (unsigned i = 0; i < 5; i++) {
				CHECK_INT(p_get(eq, ev), PTL_OK);
				CHECK_INT(ev->hdr_data, i);
				if (round || i)
					CHECK_INT((ptl_seq_t)(ev->sequence - last), 1);
				last = ev->sequence;
			}
			CHECK_INT(PtlEQGet(eq, ev), PTL_EQ_EMPTY);
		}
		p_step();
	}
	TGT {
		OK(PtlMEUnlink(me));
		OK(PtlEQFree(eq));
	}
	p_step();
}

/* A queue holds at least as many events as asked for, whatever the number. */
static void t_queue_holds_what_was_asked(void)
{
	static const int count[] = { 1, 2, 3, 5, 8, 33 };

	for (int k = 0; k < 6; k++) {
		ptl_handle_eq_t eq;

		TGT {
			OK(PtlEQAlloc(ni, (ptl_size_t)count[k], PTL_EQ_HANDLER_NONE, &eq));
			post_inf(eq, 0);
		}
		p_step();
		INI { send_n(count[k]); }
		p_step();
		TGT {
			for (int i = 0; i < count[k]; i++) {
				CHECK_INT(p_get(eq, ev), PTL_OK);
				CHECK_INT(ev->hdr_data, i);
			}
			CHECK_INT(PtlEQGet(eq, ev), PTL_EQ_EMPTY);
			OK(PtlMEUnlink(me));
			OK(PtlEQFree(eq));
		}
		p_step();
	}
}

/* item 16 */
static void t_overrun_is_told_once_then_order_goes_on(void)
{
	ptl_handle_eq_t eq;
	enum { SLOTS = 8, SENT = 21 };

	for (int round = 0; round < 3; round++) {
		TGT {
			if (!round) {
				OK(PtlEQAlloc(ni, SLOTS, PTL_EQ_HANDLER_NONE, &eq));
				post_inf(eq, 0);
			}
		}
		p_step();
		INI { send_n(SENT); }
		p_step();
		TGT {
			unsigned n = 0, next = 0;
			int rc;

			while ((rc = PtlEQGet(eq, ev)) != PTL_EQ_EMPTY) {
				CHECK_INT(rc, n ? PTL_OK : PTL_EQ_DROPPED);
				if (n)
					CHECK_INT(ev->hdr_data, next);
				next = (unsigned)ev->hdr_data + 1;
				if (++n > SENT)
					break;
			}
			CHECK_INT(next, SENT);			/* the newest is there */
			CHECK(n >= 1 && n <= SLOTS);
			CHECK(n >= SLOTS - 1);			/* and no more are lost than must be */
		}
		p_step();
	}
	INI { send_n(3); }		/* and afterwards all is as before */
	p_step();
	TGT {
		for (unsigned i = 0; i < 3; i++) {
			CHECK_INT(PtlEQGet(eq, ev), PTL_OK);
			CHECK_INT(ev->hdr_data, i);
		}
		CHECK_INT(PtlEQGet(eq, ev), PTL_EQ_EMPTY);
		OK(PtlMEUnlink(me));
		OK(PtlEQFree(eq));
	}
	p_step();
}

/* A full queue never turns a message away. */
static void t_full_queue_drops_no_message(void)
{
	ptl_handle_eq_t eq;

	TGT {
		OK(PtlEQAlloc(ni, 2, PTL_EQ_HANDLER_NONE, &eq));
		memset(dst, 0, sizeof(dst));
		post_inf(eq, 0);
	}
	p_step();
	INI {
		for (int i = 0; i < 50; i++) {
			src[0] = (unsigned char)(i + 1);
			OK(p_put(src, 1, 1));
		}
		p_sync();
	}
	p_step();
	TGT {
		CHECK_INT(dst[0], 50);
		CHECK_INT(PtlEQGet(eq, ev), PTL_EQ_DROPPED);
		OK(PtlMEUnlink(me));
		OK(PtlEQFree(eq));
	}
	p_step();
}

static void t_peek_leaves_the_event(void)
{
	ptl_event_t e;

	TGT { post_inf(teq, 0); }
	p_step();
	INI { send_n(2); }
	p_step();
	TGT {
		OK(PtlEQPeek(teq, &e));
		OK(PtlEQPeek(teq, ev));
		CHECK_INT(e.hdr_data, 0);
		CHECK_INT(ev->hdr_data, 0);
		OK(PtlEQGet(teq, ev));
		CHECK_INT(ev->hdr_data, 0);
		OK(PtlEQGet(teq, ev));
		CHECK_INT(ev->hdr_data, 1);
		NONE(teq);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

/* item 17 */
static void t_poll_says_which_queue(void)
{
	ptl_handle_eq_t eqs[3];
	int which;

	TGT {
		for (int i = 0; i < 3; i++)
			OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eqs[i]));
	}
	for (int i = 0; i < 3; i++) {
		TGT { post_inf(eqs[i], 0); }
		p_step();
		INI { send_n(1); }
		p_step();
		TGT {
			which = -1;
			OK(PtlEQPoll(eqs, 3, i == 1 ? PTL_TIME_FOREVER : 1000, ev, &which));
			CHECK_INT(which, i);
			CHECK_INT(PtlEQPoll(eqs, 3, 0, ev, &which), PTL_EQ_EMPTY);
			OK(PtlMEUnlink(me));
		}
		p_step();
	}
	TGT {
		for (int i = 0; i < 3; i++)
			OK(PtlEQFree(eqs[i]));
	}
	p_step();
}

static void t_poll_tells_of_an_overrun(void)
{
	ptl_handle_eq_t eqs[2];
	int which = -1;

	TGT {
		OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eqs[0]));
		OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eqs[1]));
		post_inf(eqs[1], 0);
	}
	p_step();
	INI { send_n(11); }
	p_step();
	TGT {
		CHECK_INT(PtlEQPoll(eqs, 2, 0, ev, &which), PTL_EQ_DROPPED);
		CHECK_INT(which, 1);
		OK(PtlMEUnlink(me));
		OK(PtlEQFree(eqs[0]));
		OK(PtlEQFree(eqs[1]));
	}
	p_step();
}

static void t_poll_waits_at_least_its_time(void)
{
	static const ptl_time_t ms[] = { 0, 1, 5, 20, 100 };
	ptl_handle_eq_t eq;

	OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq));
	for (int i = 0; i < 5; i++) {
		double t = t_now(), took;
		int which = 0;

		CHECK_INT(PtlEQPoll(&eq, 1, ms[i], ev, &which), PTL_EQ_EMPTY);
		took = (t_now() - t) * 1000;
		CHECK(took >= ms[i]);
		CHECK(took < ms[i] + 2000);	/* loose: the machine may be busy */
	}
	OK(PtlEQFree(eq));
	p_step();
}

/* The library's calls come here. */
static int yields;
__attribute__((visibility("default"))) int sched_yield(void);

int sched_yield(void)
{
	yields++;
	return (int)syscall(SYS_sched_yield);
}

/* Who polls again and again for a moment sleeps all the time, but for the first. */
static void t_pieces_of_a_wait_sleep_at_once(void)
{
	int quiet = 0, which = 0;
	ptl_handle_eq_t eq;

	OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq));
	for (int i = 0; i < 50; i++) {
		int before = yields;

		CHECK_INT(PtlEQPoll(&eq, 1, 2, ev, &which), PTL_EQ_EMPTY);
		quiet += yields == before;
	}
	CHECK(quiet >= 12);	/* all but one, unless the machine is busy: a pause makes it another wait */
	OK(PtlEQFree(eq));
	p_step();
}

/* Of a set polled in turn with another one, a queue that always has an event does not keep the next from being seen. */
static void t_poll_is_fair_to_sets_in_turn(void)
{
	ptl_handle_eq_t q[2][2];
	ptl_handle_md_t h[2];
	ptl_event_t e;
	int which, i;

	for (i = 0; i < 4; i++)
		NEED_OK(PtlEQAlloc(ni, 256, PTL_EQ_HANDLER_NONE, &q[i / 2][i % 2]));
	for (i = 0; i < 2; i++)
		NEED_OK(PtlMDBind(ni, p_md(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, q[0][i]), PTL_RETAIN,
				  &h[i]));
	for (int odd = 0; odd < 2; odd++) {
		OK(PtlPut(h[1], PTL_NO_ACK_REQ, self, PT + 1, 0, 0, 0, 0));
		for (which = i = 0; i < 100 && which != 1; i++) {
			OK(PtlPut(h[0], PTL_NO_ACK_REQ, self, PT + 1, 0, 0, 0, 0));
			CHECK_INT(PtlEQPoll(q[0], 2, 1000, &e, &which), PTL_OK);
			PtlEQPoll(q[1], 2, 0, &e, &(int){ 0 });
		}
		CHECK_INT(which, 1);
		PtlEQPoll(q[1], 2, 0, &e, &which);
	}
	for (i = 0; i < 2; i++)
		OK(PtlMDUnlink(h[i]));
	for (i = 0; i < 4; i++)
		OK(PtlEQFree(q[i / 2][i % 2]));
}

static void t_poll_refuses_bad_arguments(void)
{
	ptl_handle_eq_t eqs[3] = { ieq, PTL_INVALID_HANDLE, teq };
	int which = -1;

	CHECK_INT(PtlEQPoll(eqs, 3, 0, ev, &which), PTL_EQ_INVALID);
	CHECK_INT(which, 1);
	CHECK_INT(PtlEQPoll(eqs, 0, 0, ev, &which), PTL_EQ_INVALID);
	CHECK_INT(PtlEQPoll(eqs, -1, 0, ev, &which), PTL_EQ_INVALID);
	CHECK_INT(PtlEQPoll(NULL, 1, 0, ev, &which), PTL_SEGV);
	CHECK_INT(PtlEQPoll(eqs, 1, 0, NULL, &which), PTL_SEGV);
	CHECK_INT(PtlEQPoll(eqs, 1, 0, ev, NULL), PTL_SEGV);
	p_step();
}

/* Waiting: the target sits in PtlEQWait or PtlEQPoll before anything is sent, long enough to have gone to sleep. */
static void t_waiter_wakes_up(void)
{
	for (int round = 0; round < 20; round++) {
		TGT {
			if (!round)
				post_inf(teq, 0);
		}
		t_barrier();
		INI {
			if (p_tgt) {	/* alone nobody else could send: the event is there before */
				send_n(1);
			} else {
				nanosleep(&(struct timespec){ 0, round * 2000000 }, NULL);	/* whatever it is, it must end */
				send_n(1);
			}
		}
		TGT {
			int which = -1;

			if (round % 2)
				OK(PtlEQWait(teq, ev));
			else
				OK(PtlEQPoll(&teq, 1, PTL_TIME_FOREVER, ev, &which));
			CHECK_INT(ev->type, PTL_EVENT_PUT_END);
			CHECK_INT(ev->mlength, 8);
		}
		t_barrier();
	}
	TGT { OK(PtlMEUnlink(me)); }
	p_step();
}

static void *waiter(void *arg)
{
	ptl_event_t e;
	int rc = PtlEQWait(*(ptl_handle_eq_t *)arg, &e);

	return (void *)(intptr_t)(rc == PTL_OK && e.type == PTL_EVENT_PUT_END);
}

/* An event of the own process wakes another thread; each event wakes exactly one. */
static void t_event_wakes_exactly_one_thread(void)
{
	pthread_t t[3];
	ptl_handle_eq_t eq;

	if (t_size() > 1)
		SKIP("needs one process only");
	OK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &eq));
	post_inf(eq, 0);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, waiter, &eq);
	nanosleep(&(struct timespec){ 0, 30000000 }, NULL);	/* only so that they may be asleep */
	for (int i = 0; i < 3; i++)
		OK(p_put(src, 8, 1));
	for (int i = 0; i < 3; i++) {
		void *good = NULL;

		pthread_join(t[i], &good);
		CHECK(good);
	}
	NONE(eq);
	OK(PtlMEUnlink(me));
	OK(PtlEQFree(eq));
}

static int handled;
static ptl_hdr_data_t handled_data;

static void handler(ptl_event_t *e)
{
	handled++;
	handled_data = e->hdr_data;
}

/* 2.6.6: once per event, in the thread that fetches it */
static void t_handler_runs_once_for_each_event(void)
{
	ptl_handle_eq_t eq;

	TGT {
		OK(PtlEQAlloc(ni, 16, handler, &eq));
		post_inf(eq, 0);
		handled = 0;
	}
	p_step();
	INI { send_n(3); }
	p_step();
	TGT {
		for (int i = 0; i < 3; i++) {
			OK(PtlEQGet(eq, ev));
			CHECK_INT(handled, i + 1);
			CHECK_INT(handled_data, i);
		}
		CHECK_INT(PtlEQGet(eq, ev), PTL_EQ_EMPTY);
		CHECK_INT(handled, 3);
		OK(PtlMEUnlink(me));
		OK(PtlEQFree(eq));
	}
	p_step();
}

static void t_queue_of_no_events(void)
{
	ptl_handle_eq_t eq = 0;

	OK(PtlEQAlloc(ni, 0, PTL_EQ_HANDLER_NONE, &eq));
	CHECK_INT(eq, PTL_EQ_NONE);
	CHECK_INT(PtlEQAlloc(ni, 1ull << 32, PTL_EQ_HANDLER_NONE, &eq), PTL_NO_SPACE);
	CHECK_INT(PtlEQAlloc(ni, ~0ull, PTL_EQ_HANDLER_NONE, &eq), PTL_NO_SPACE);
	CHECK_INT(eq, PTL_EQ_NONE);
	p_step();
}

/* item 23, first part: descriptors that name a freed queue log nothing, and messages still arrive */
static void t_freed_queue_is_not_written(void)
{
	ptl_handle_eq_t eq, eq2;

	TGT {
		memset(dst, 0, sizeof(dst));
		OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq));
		post_inf(eq, 0);
		OK(PtlEQFree(eq));
		CHECK_INT(PtlEQGet(eq, ev), PTL_EQ_INVALID);
		CHECK_INT(PtlEQFree(eq), PTL_EQ_INVALID);
		OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq2));	/* likely in the same place */
		CHECK(eq2 != eq);
	}
	p_step();
	INI {
		memset(src, 0x21, sizeof(src));
		send_n(3);
	}
	p_step();
	TGT {
		CHECK_INT(PtlEQGet(eq2, ev), PTL_EQ_EMPTY);
		CHECK_INT(dst[7], 0x21);
		OK(PtlMEUnlink(me));
		OK(PtlEQFree(eq2));
	}
	p_step();
}

static void t_queues_run_out_and_come_back(void)
{
	int n = 0, max = lim.max_eqs < 100000 ? lim.max_eqs : 100000;
	ptl_handle_eq_t *q = calloc((size_t)max + 1, sizeof(*q));

	NEED(q);
	while (n <= max && PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &q[n]) == PTL_OK)
		n++;
	CHECK(n > 8);
	CHECK(n <= lim.max_eqs);
	if (n <= max)
		CHECK_INT(PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &q[n]), PTL_NO_SPACE);
	for (int i = 0; i < n; i++)
		OK(PtlEQFree(q[i]));
	for (int i = 0; i < n; i++)
		if (!OK(PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &q[i])))
			break;
	for (int i = 0; i < n; i++)
		PtlEQFree(q[i]);
	free(q);
	p_step();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_empty_queue_leaves_the_event_alone), T(t_sequence_numbers_are_consecutive),
		T(t_queue_holds_what_was_asked), T(t_overrun_is_told_once_then_order_goes_on),
		T(t_full_queue_drops_no_message), T(t_peek_leaves_the_event), T(t_poll_says_which_queue),
		T(t_poll_tells_of_an_overrun), T(t_poll_waits_at_least_its_time), T(t_pieces_of_a_wait_sleep_at_once),
		T(t_poll_is_fair_to_sets_in_turn), T(t_poll_refuses_bad_arguments),
		T(t_waiter_wakes_up), T(t_event_wakes_exactly_one_thread), T(t_handler_runs_once_for_each_event),
		T(t_queue_of_no_events), T(t_freed_queue_is_not_written), T(t_queues_run_out_and_come_back), { 0 }
	};

	return p_main(cases);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_waiters.c - two threads of one process wait, each in its own event queue: a message wakes the one it is for at once
 *
 * Both sleep on one word. Whoever leaves must not take it from the other, which would then sleep until it looks by
 * itself, a tenth of a second later. One thread leaves (a time limit, or an event of its own); then comes the message
 * for the other.
 */
#include <pthread.h>

#include "ptl.h"

enum { ROUNDS = 30, ABOUT_TO_WAIT = 1, FIRST_LEFT, SECOND_WOKEN, FIRST_ASLEEP };

static ptl_handle_eq_t eq[2];
static double late[ROUNDS];
static int second_rc;

static int64_t now_ns(void)
{
	return (int64_t)(t_now() * 1e9);
}

static void *second(void *arg)
{
	ptl_event_t ev;

	for (uint64_t i = 0; i < ROUNDS && !second_rc; i++) {
		atomic_store(t_word(ABOUT_TO_WAIT), i + 1);
		second_rc = PtlEQWait(eq[1], &ev);
		late[i] = (double)(now_ns() - (int64_t)ev.hdr_data) * 1e-6;
		atomic_store(t_word(SECOND_WOKEN), i + 1);
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void nap_ms(int ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000L }, NULL);
}

/* @by_event: the first thread is woken by a message; else it leaves by its time limit. */
static void two_waiters(int by_event)
{
	ptl_handle_me_t me[2];
	static char buf[8];
	pthread_t th;
	ptl_event_t ev;
	int which;

	if (t_size() == 1)
		SKIP("needs a peer that sends");
	for (int i = ABOUT_TO_WAIT; i <= FIRST_ASLEEP; i++)
		atomic_store(t_word(i), 0);
	TGT {
		for (unsigned i = 0; i < 2; i++) {
			NEED_OK(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq[i]));
			NEED_OK(p_post_at(PT, i, 0, PTL_RETAIN,
					  p_md(buf, 8, PTL_MD_THRESH_INF,
					       PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
					       eq[i]),
					  PTL_RETAIN, &me[i], NULL));
		}
	}
	t_barrier();
	TGT {
		second_rc = 0;
		NEED(!pthread_create(&th, NULL, second, NULL));
	}
	for (uint64_t i = 0; i < ROUNDS; i++) {
		TGT {
			NEED(t_await(ABOUT_TO_WAIT, i + 1, 20));
			nap_ms(5);		/* so that it is asleep, most times */
			if (by_event) {
				atomic_store(t_word(FIRST_ASLEEP), i + 1);
				CHECK_INT(PtlEQWait(eq[0], &ev), PTL_OK);
			} else {
				CHECK_INT(PtlEQPoll(&eq[0], 1, 3, &ev, &which), PTL_EQ_EMPTY);
			}
			atomic_store(t_word(FIRST_LEFT), i + 1);
			NEED(t_await(SECOND_WOKEN, i + 1, 20));
		}
		INI {
			if (by_event) {
				NEED(t_await(FIRST_ASLEEP, i + 1, 20));
				nap_ms(3);
				OK(p_put_full(buf, 8, PTL_NO_ACK_REQ, PT, 0, 0, 0, PTL_EQ_NONE));
			}
			NEED(t_await(FIRST_LEFT, i + 1, 20));
			if (by_event)
				nap_ms(3);	/* the second was woken as well, and sleeps again */
			OK(p_put_full(buf, 8, PTL_NO_ACK_REQ, PT, 1, 0, (ptl_hdr_data_t)now_ns(), PTL_EQ_NONE));
		}
	}
	TGT {
		pthread_join(th, NULL);
		CHECK_INT(second_rc, PTL_OK);
		qsort(late, ROUNDS, sizeof(*late), by_size);
		diag("woken after %.3f ms in the median, %.3f in three of four, %.3f at most", late[ROUNDS / 2],
		     late[ROUNDS * 3 / 4], late[ROUNDS - 1]);
		CHECK(late[ROUNDS / 2] < 20);	/* some tens of microseconds; who looks by itself needs some 90 ms */
		CHECK(late[ROUNDS * 3 / 4] < 60);
		for (int i = 0; i < 2; i++) {
			OK(PtlMEUnlink(me[i]));
			OK(PtlEQFree(eq[i]));
		}
	}
	t_barrier();
}

static void t_a_thread_whose_time_is_up_lets_the_other_be_woken(void)
{
	two_waiters(0);
}

static void t_a_thread_that_got_its_event_lets_the_other_be_woken(void)
{
	two_waiters(1);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_a_thread_whose_time_is_up_lets_the_other_be_woken),
					       T(t_a_thread_that_got_its_event_lets_the_other_be_woken), { 0 } };

	return p_main(cases);
}

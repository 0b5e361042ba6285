/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_home.c - threads that wait in PtlEQWait and PtlEQPoll while another frees their queue, or closes the interface:
 * they get PTL_EQ_INVALID, soon, whether they spin, yield or sleep, and nobody touches what is gone. And threads that
 * ask for a portal of their own.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "multi.h"
#include "tap.h"

#include <portals3.h>

enum { THREADS = 3, ROUNDS = 40, PATIENCE = 10, PORTALS = 10000 };

static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq[THREADS];
static atomic_uint about, left;
static struct waiter {
	unsigned me;
	int rc, which;
} waiter[THREADS];

static void *wait_for_nothing(void *arg)
{
	struct waiter *w = arg;
	ptl_handle_eq_t set[2] = { eq[(w->me + 1) % THREADS], eq[w->me] };
	ptl_event_t ev;

	atomic_fetch_add(&about, 1);
	if (!w->me)
		w->rc = PtlEQWait(eq[0], &ev);
	else
		w->rc = PtlEQPoll(set + (w->me == 1), 1 + (w->me == 2), w->me == 1 ? PTL_TIME_FOREVER : 60000, &ev,
				  &w->which);
	atomic_fetch_add(&left, 1);
	return NULL;
}

static void nap_us(long us)
{
	nanosleep(&(struct timespec){ 0, us * 1000 }, NULL);
}

static void open_all(void)
{
	int max;

	REQUIRE_INT(PtlInit(&max), PTL_OK);
	REQUIRE_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
}

/* How it ends: each queue by itself, the interface, or the library. */
static void rounds(int how)
{
	for (unsigned r = 0; r < ROUNDS && !t_bad_; r++) {
		pthread_t th[THREADS];
		double until;

		open_all();
		atomic_store(&about, 0);
		atomic_store(&left, 0);
		for (unsigned i = 0; i < THREADS; i++)
			REQUIRE_INT(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq[i]), PTL_OK);
		for (unsigned i = 0; i < THREADS; i++) {
			waiter[i] = (struct waiter){ i, -1, -1 };
			REQUIRE_INT(pthread_create(&th[i], NULL, wait_for_nothing, &waiter[i]), 0);
		}
		while (atomic_load(&about) < THREADS)
			sched_yield();
		nap_us(r % 4 == 3 ? 20000 : (long)r * 20);	/* they spin, yield, sleep */
		if (!how) {
			for (unsigned i = 0; i < THREADS; i++)
				CHECK_INT(PtlEQFree(eq[i]), PTL_OK);
			for (until = t_now() + PATIENCE; atomic_load(&left) < THREADS && t_now() < until;)
				sched_yield();
			CHECK_INT(atomic_load(&left), THREADS);
		}
		if (how < 2)
			CHECK_INT(PtlNIFini(ni), PTL_OK);
		PtlFini();
		for (unsigned i = 0; i < THREADS; i++) {
			pthread_join(th[i], NULL);
			CHECK_INT(waiter[i].rc, PTL_EQ_INVALID);
		}
		CHECK_INT(waiter[1].which, 0);
		CHECK(waiter[2].which == 0 || waiter[2].which == 1);
		t_barrier();
	}
}

static void t_queues_are_freed(void)
{
	rounds(0);
}

static void t_the_interface_is_closed(void)
{
	rounds(1);
}

static void t_the_library_is_closed(void)
{
	rounds(2);
}

static atomic_int turn, done;
static ptl_pt_index_t got[2];
static ptl_handle_me_t me[2];

static void ask(int k, int round)
{
	static const ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };

	for (unsigned n = 1; atomic_load(&turn) < round; n++)
		if (n % 4096 == 0)
			sched_yield();
	CHECK_INT(PtlMEAttachAny(ni, &got[k], any, 1, 0, PTL_RETAIN, &me[k]), PTL_OK);
	atomic_fetch_add(&done, 1);
}

static void *asks(void *unused)
{
	for (int i = 1; i <= PORTALS; i++)
		ask(1, i);
	return unused;
}

static void t_portals_of_their_own(void)
{
	pthread_t th;

	open_all();
	REQUIRE_INT(pthread_create(&th, NULL, asks, NULL), 0);
	for (int i = 1; i <= PORTALS; i++) {
		atomic_store(&turn, i);
		ask(0, i);
		while (atomic_load(&done) < 2 * i)
			sched_yield();
		CHECK(got[0] != got[1]);
		CHECK_INT(PtlMEUnlink(me[0]), PTL_OK);
		CHECK_INT(PtlMEUnlink(me[1]), PTL_OK);
	}
	pthread_join(th, NULL);
	PtlFini();
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = { T(t_queues_are_freed), T(t_the_interface_is_closed),
					       T(t_the_library_is_closed), T(t_portals_of_their_own), { 0 } };

	return t_run(cases);
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * sync.c - what is under way: syncids, nbi operations of each thread, waiting
 *
 * A syncid is a place in a table and the number of its use: odd while it is out. Free places are a stack whose head
 * has a count beside it, so that no thread takes a place that another has taken and given back meanwhile. An
 * operation that is complete when its call returns has a syncid all the same: so one that is never waited for is
 * missed on one node as on several.
 *
 * Each thread has one waiter for its nbi operations, in a list that only grows: gsync goes over it.
 */
#include <sched.h>
#include <stdlib.h>

#include "dmappi.h"

struct slot {
	struct shmemi_waiter w;
	uint32_t use;			/* odd: out */
	uint32_t next;			/* free: place + 1 of the next */
};

static struct slot *slots;
static uint32_t n_slots;
static uint64_t head;			/* count of changes << 32 | place + 1 of the first free one */
static __thread struct dmappi_thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t registered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* registered, callbacks */

/* ---- threads ---- */

static void thread_ends(void *arg)
{
	struct dmappi_thread *t = arg;

	if (__atomic_exchange_n(&t->registered, false, __ATOMIC_ACQ_REL))
		__atomic_sub_fetch(&registered, 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&t->used, false, __ATOMIC_RELEASE);	/* what it has under way is still in the list */
}

static void make_key(void)
{
	pthread_key_create(&key, thread_ends);
}

static struct dmappi_thread *claim(void)
{
	struct dmappi_thread *t;
	bool free_one = false;

	pthread_once(&once, make_key);
	for (t = __atomic_load_n(&dmappi.threads, __ATOMIC_ACQUIRE); t; t = t->next, free_one = false)
		if (__atomic_compare_exchange_n(&t->used, &free_one, true, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			break;
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return NULL;
		t->used = t->nbi.tolerant = true;
		t->next = __atomic_load_n(&dmappi.threads, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&dmappi.threads, &t->next, t, 0, __ATOMIC_RELEASE,
						    __ATOMIC_RELAXED))
			;
	}
	t->threshold = dmappi.attrs.offload_threshold;
	pthread_setspecific(key, t);
	return self = t;
}

struct dmappi_thread *dmappi_self(void)
{
	return __builtin_expect(self != NULL, 1) ? self : claim();
}

dmapp_return_t dmapp_thread_register(void)
{
	struct dmappi_thread *t = dmappi_self();
	dmapp_return_t rc = DMAPP_RC_SUCCESS;

	if (!dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	if (!t)
		return DMAPP_RC_NO_SPACE;
	pthread_mutex_lock(&lock);
	if (t->registered)
		rc = DMAPP_RC_BUSY;
	else if (__atomic_load_n(&registered, __ATOMIC_ACQUIRE) >= dmappi.attrs.max_concurrency)
		rc = DMAPP_RC_RESOURCE_ERROR;
	if (rc == DMAPP_RC_SUCCESS) {
		t->registered = true;
		__atomic_add_fetch(&registered, 1, __ATOMIC_ACQ_REL);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

dmapp_return_t dmapp_thread_unregister(void)
{
	struct dmappi_thread *t = dmappi_self();
	dmapp_return_t rc;

	if (!dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	if (!t || !t->registered)
		return DMAPP_RC_NOT_FOUND;
	rc = dmapp_thread_gsync_wait();
	t->registered = false;
	__atomic_sub_fetch(&registered, 1, __ATOMIC_ACQ_REL);
	return rc;
}

/* ---- waiting ---- */

static uint32_t left_in(const struct shmemi_waiter *w)
{
	return __atomic_load_n(&w->left, __ATOMIC_ACQUIRE);
}

/* Look once at what has come. */
static void look(void)
{
	if (JOB->net)
		L->net_progress();
	dmappi_queue_progress();
}

/* Until no more than @most are left in @w. */
static void wait_below(struct shmemi_waiter *w, uint32_t most)
{
	struct shmemi_wait step = { 0 };
	unsigned n = 0;

	while (left_in(w) > most) {
		dmappi_queue_progress();
		if (JOB->net)
			L->net_step(&step);
		else if (++n < 200 && !JOB->impatient)
			shmemi_pause();
		else
			sched_yield();
	}
}

dmapp_return_t dmappi_verdict(struct shmemi_waiter *w)
{
	uint32_t refused, unreachable, failed;

	if (__builtin_expect(!(w->refused | w->unreachable | w->failed), 1))
		return DMAPP_RC_SUCCESS;
	refused = __atomic_exchange_n(&w->refused, 0, __ATOMIC_RELAXED);
	unreachable = __atomic_exchange_n(&w->unreachable, 0, __ATOMIC_RELAXED);
	failed = __atomic_exchange_n(&w->failed, 0, __ATOMIC_RELAXED);
	return failed ? DMAPP_RC_TRANSACTION_ERROR : unreachable ? DMAPP_RC_PERMISSION_ERROR :
		refused ? DMAPP_RC_NOT_FOUND : DMAPP_RC_SUCCESS;
}

dmapp_return_t dmappi_wait(struct shmemi_waiter *w)
{
	wait_below(w, 0);
	return dmappi_verdict(w);
}

void dmappi_step(struct dmappi_step *s)
{
	dmappi_queue_progress();
	if (s->steps++ > 100)
		L->wait_step(&s->w);
	else
		shmemi_pause();
}

/* ---- syncids ---- */

int dmappi_sync_start(void)
{
	n_slots = dmappi.attrs.max_outstanding_nb;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return -1;
	for (uint32_t i = 0; i < n_slots; i++) {
		slots[i].w.tolerant = true;
		slots[i].next = i + 1 < n_slots ? i + 2 : 0;
	}
	head = 1;
	registered = 0;
	for (struct dmappi_thread *t = dmappi.threads; t; t = t->next) {
		t->threshold = dmappi.attrs.offload_threshold;
		t->registered = false;
	}
	return dmapp_thread_register() == DMAPP_RC_SUCCESS ? 0 : -1;
}

void dmappi_sync_last(void)
{
	dmapp_gsync_wait();
	for (uint32_t i = 0; i < n_slots; i++)
		wait_below(&slots[i].w, 0);
}

void dmappi_sync_end(void)
{
	free(slots);
	slots = NULL;
	n_slots = 0;
}

dmapp_return_t dmappi_syncid_take(dmapp_syncid_handle_t *id, struct shmemi_waiter **w)
{
	uint64_t old = __atomic_load_n(&head, __ATOMIC_ACQUIRE), new;
	struct slot *s;

	if (!id)
		return DMAPP_RC_INVALID_PARAM;
	do {
		if (!(uint32_t)old)
			return DMAPP_RC_RESOURCE_ERROR;
		s = &slots[(uint32_t)old - 1];
		new = ((old >> 32) + 1) << 32 | __atomic_load_n(&s->next, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&head, &old, new, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	s->w.left = s->w.refused = s->w.unreachable = s->w.failed = 0;
	__atomic_store_n(&s->use, s->use + 1, __ATOMIC_RELEASE);
	*id = (uint64_t)s->use << 32 | (uint32_t)old;
	*w = &s->w;
	return DMAPP_RC_SUCCESS;
}

/* Its use ends: one of several threads that try does it. */
static bool release(dmapp_syncid_handle_t id)
{
	uint32_t i = (uint32_t)id, use = (uint32_t)(id >> 32);
	struct slot *s = &slots[i - 1];
	uint64_t old = __atomic_load_n(&head, __ATOMIC_ACQUIRE);

	if (!__atomic_compare_exchange_n(&s->use, &use, use + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	do
		__atomic_store_n(&s->next, (uint32_t)old, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&head, &old, ((old >> 32) + 1) << 32 | i, 1, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE));
	return true;
}

void dmappi_syncid_release(dmapp_syncid_handle_t id)
{
	release(id);
}

static struct slot *slot_of(const dmapp_syncid_handle_t *id)
{
	uint32_t i = (uint32_t)*id, use = (uint32_t)(*id >> 32);

	if (!i || i > n_slots || !(use & 1) || __atomic_load_n(&slots[i - 1].use, __ATOMIC_ACQUIRE) != use)
		return NULL;
	return &slots[i - 1];
}

static dmapp_return_t syncid(dmapp_syncid_handle_t *id, int *flag)
{
	struct slot *s;
	dmapp_return_t rc;

	if (!id || !dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	s = slot_of(id);
	if (!s)
		return DMAPP_RC_NOT_FOUND;
	if (!flag) {
		wait_below(&s->w, 0);
	} else {
		if (left_in(&s->w))
			look();
		*flag = !left_in(&s->w);
		if (!*flag)
			return DMAPP_RC_SUCCESS;
	}
	rc = dmappi_verdict(&s->w);
	if (!release(*id))
		return DMAPP_RC_NOT_FOUND;
	dmappi_fence();
	return rc;
}

dmapp_return_t dmapp_syncid_test(dmapp_syncid_handle_t *id, int *flag)
{
	return flag ? syncid(id, flag) : DMAPP_RC_INVALID_PARAM;
}

dmapp_return_t dmapp_syncid_wait(dmapp_syncid_handle_t *id)
{
	return syncid(id, NULL);
}

/* ---- an operation, from its begin to what the call says ---- */

dmapp_return_t dmappi_begin(struct dmappi_op *op, enum dmappi_mode mode, dmapp_syncid_handle_t *id)
{
	struct dmappi_thread *t;

	op->mode = mode;
	op->id = id;
	switch (mode) {
	case DMAPPI_BLOCK:
		op->own = (struct shmemi_waiter){ .tolerant = true };
		op->w = &op->own;
		return DMAPP_RC_SUCCESS;
	case DMAPPI_NB:
		return dmappi_syncid_take(id, &op->w);
	default:
		t = dmappi_self();
		if (!t)
			return DMAPP_RC_NO_SPACE;
		op->w = &t->nbi;
		return DMAPP_RC_SUCCESS;
	}
}

dmapp_return_t dmappi_done(struct dmappi_op *op, dmapp_return_t rc)
{
	dmapp_return_t end;

	switch (op->mode) {
	case DMAPPI_BLOCK:
		end = dmappi_wait(op->w);
		dmappi_fence();
		return rc == DMAPP_RC_SUCCESS ? end : rc;
	case DMAPPI_NB:
		if (rc != DMAPP_RC_SUCCESS) {
			dmappi_wait(op->w);
			dmappi_syncid_release(*op->id);
		}
		return rc;
	default:
		if (left_in(op->w) > dmappi.attrs.max_outstanding_nb)
			wait_below(op->w, dmappi.attrs.max_outstanding_nb);
		return rc;
	}
}

/* ---- all of them ---- */

/* Of thread @only, NULL: of all. @flag as above. */
static dmapp_return_t gsync(struct dmappi_thread *only, int *flag)
{
	dmapp_return_t rc = DMAPP_RC_SUCCESS, one;
	struct dmappi_thread *t;
	uint32_t left = 0;

	if (!dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	if (flag)
		look();
	for (t = __atomic_load_n(&dmappi.threads, __ATOMIC_ACQUIRE); t; t = t->next) {
		if (only && t != only)
			continue;
		if (!flag)
			wait_below(&t->nbi, 0);
		left += left_in(&t->nbi);
	}
	if (flag) {
		*flag = !left;
		if (left)
			return DMAPP_RC_SUCCESS;
	}
	for (t = __atomic_load_n(&dmappi.threads, __ATOMIC_ACQUIRE); t; t = t->next) {
		one = only && t != only ? DMAPP_RC_SUCCESS : dmappi_verdict(&t->nbi);
		if (one != DMAPP_RC_SUCCESS)
			rc = one;
	}
	dmappi_fence();
	return rc;
}

dmapp_return_t dmapp_gsync_test(int *flag)
{
	return flag ? gsync(NULL, flag) : DMAPP_RC_INVALID_PARAM;
}

dmapp_return_t dmapp_gsync_wait(void)
{
	return gsync(NULL, NULL);
}

dmapp_return_t dmapp_thread_gsync_test(int *flag)
{
	struct dmappi_thread *t = dmappi_self();

	return flag && t ? gsync(t, flag) : DMAPP_RC_INVALID_PARAM;
}

dmapp_return_t dmapp_thread_gsync_wait(void)
{
	struct dmappi_thread *t = dmappi_self();

	return t ? gsync(t, NULL) : DMAPP_RC_NO_SPACE;
}

/* ---- progress ---- */

#define CALLBACKS	16

static struct {
	dmapp_progress_cb_t *cb;
	void *context;
} callback[CALLBACKS];

dmapp_return_t dmapp_progress(void)
{
	if (!dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	look();
	L->looked();			/* who calls this again and again waits */
	for (int i = 0; i < CALLBACKS; i++) {
		dmapp_progress_cb_t *cb;
		void *context;

		pthread_mutex_lock(&lock);
		cb = callback[i].cb;
		context = callback[i].context;
		pthread_mutex_unlock(&lock);
		if (cb)
			cb(context);
	}
	return DMAPP_RC_SUCCESS;
}

/* The place of @cb with @context, or of nobody, or -1. [lock] */
static int place_of(dmapp_progress_cb_t *cb, void *context)
{
	for (int i = 0; i < CALLBACKS; i++)
		if (callback[i].cb == cb && (!cb || callback[i].context == context))
			return i;
	return -1;
}

dmapp_return_t dmapp_register_progress_cb(dmapp_progress_cb_t *cb, void *context)
{
	dmapp_return_t rc = DMAPP_RC_SUCCESS;
	int i;

	if (!cb || !dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	pthread_mutex_lock(&lock);
	i = place_of(NULL, NULL);
	if (place_of(cb, context) >= 0)
		rc = DMAPP_RC_BUSY;
	else if (i < 0)
		rc = DMAPP_RC_NO_SPACE;
	if (rc == DMAPP_RC_SUCCESS) {
		callback[i].cb = cb;
		callback[i].context = context;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

dmapp_return_t dmapp_deregister_progress_cb(dmapp_progress_cb_t *cb, void *context)
{
	int i;

	if (!cb || !dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	pthread_mutex_lock(&lock);
	i = place_of(cb, context);
	if (i >= 0)
		callback[i].cb = NULL;
	pthread_mutex_unlock(&lock);
	return i < 0 ? DMAPP_RC_NOT_FOUND : DMAPP_RC_SUCCESS;
}

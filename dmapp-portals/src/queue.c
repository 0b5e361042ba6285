/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * queue.c - queues: an inbox of each PE, into which all write and from which its owner's callback is called
 *
 * A ring of messages in the owner's work area. Message number t goes to place t % depth. The word `state' of a place
 * says for whom it is: 2 * (t / depth) for the writer of t, one more for the reader. A writer takes number t by
 * compare-and-swap on `tail' after it has seen that the place is its own; writes; then says so. The reader gives it
 * back likewise, with the number of the next lap. So a queue that is full is seen before anything is written, and
 * nobody waits.
 *
 * Callbacks run in whoever makes progress, one thread at a time, or in a thread of their own, which looks more and more
 * seldom (up to once in a millisecond) while nothing comes.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "dmappi.h"

struct message {
	uint64_t state;
	uint32_t len;
	int32_t from;
	uint64_t unused[2];
	char data[];
};
_Static_assert(sizeof(struct message) == 32, "dmapp.h: 32 + 16 * nelems bytes");

static struct queue {
	dmapp_queue_cb_t *cb;		/* NULL: free */
	void *context;
	uint64_t head;			/* number of the next message to be read [reading] */
	bool async;
	char *copy;			/* of the message that is handed out [reading] */
} queues[DMAPPI_QUEUES];
static int attached, polled;		/* all; those that whoever makes progress reads */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* queues come and go */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
static __thread bool inside;		/* a callback */
static pthread_t thread;
static bool runs, stop;

static size_t bytes_of_place(void)
{
	return sizeof(struct message) + 16 * (size_t)dmappi.attrs.queue_nelems;
}

static struct message *place(int q, uint64_t number)
{
	size_t at = number % dmappi.attrs.queue_depth * bytes_of_place();

	return (struct message *)(void *)&dmappi.work->queue[q].slots[at];
}

static uint64_t lap(uint64_t number)
{
	return 2 * (number / dmappi.attrs.queue_depth);
}

/* Hand out what is there. How many. [reading] */
static unsigned read_queue(int q)
{
	struct queue *own = &queues[q];
	unsigned n = 0;

	for (; own->cb; n++, own->head++) {
		struct message *m = place(q, own->head);
		uint32_t len;

		if (__atomic_load_n(&m->state, __ATOMIC_ACQUIRE) != lap(own->head) + 1)
			break;
		len = m->len <= 16 * dmappi.attrs.queue_nelems ? m->len : 0;
		memcpy(own->copy, m->data, len);
		inside = true;
		own->cb(own->context, own->copy, len, m->from);
		inside = false;
		__atomic_store_n(&m->state, lap(own->head) + 2, __ATOMIC_RELEASE);
	}
	return n;
}

static unsigned read_all(bool async)
{
	unsigned n = 0;

	if (inside || (async ? pthread_mutex_lock(&reading) : pthread_mutex_trylock(&reading)))
		return 0;
	for (int q = 0; q < DMAPPI_QUEUES; q++)
		if (queues[q].async == async)
			n += read_queue(q);
	pthread_mutex_unlock(&reading);
	return n;
}

void dmappi_queue_progress(void)
{
	if (__builtin_expect(__atomic_load_n(&polled, __ATOMIC_RELAXED), 0))
		read_all(false);
}

static void *run(void *arg)
{
	unsigned idle = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		idle = read_all(true) ? 0 : idle + 1;
		if (idle)
			nanosleep(&(struct timespec){ 0, idle < 100 ? 10000 : idle < 1000 ? 100000 : 1000000 }, NULL);
	}
	return NULL;
}

dmapp_return_t dmapp_queue_attach(dmapp_queue_cb_t *cb, void *context, uint64_t flags, dmapp_queue_handle_t *queue)
{
	dmapp_return_t rc = DMAPP_RC_SUCCESS;
	char *copy;
	int q = 0;

	if (!dmappi.npes || !cb || !queue || flags & ~(uint64_t)DMAPP_QUEUE_ASYNC_PROGRESS)
		return DMAPP_RC_INVALID_PARAM;
	if (inside)
		return DMAPP_RC_BUSY;
	copy = malloc(16 * (size_t)dmappi.attrs.queue_nelems);
	pthread_mutex_lock(&lock);
	while (q < DMAPPI_QUEUES && queues[q].cb)
		q++;
	flags |= dmappi.attrs.queue_flags;
	if (!copy || q == DMAPPI_QUEUES)
		rc = DMAPP_RC_NO_SPACE;
	else if (flags && !runs && !(runs = dmappi_thread(&thread, run)))
		rc = DMAPP_RC_NO_SPACE;
	if (rc == DMAPP_RC_SUCCESS) {
		pthread_mutex_lock(&reading);
		queues[q] = (struct queue){ cb, context, queues[q].head, flags != 0, copy };
		pthread_mutex_unlock(&reading);
		__atomic_add_fetch(&attached, 1, __ATOMIC_ACQ_REL);
		__atomic_add_fetch(&polled, !flags, __ATOMIC_ACQ_REL);
		__atomic_store_n(&dmappi.work->queue[q].open, 1, __ATOMIC_RELEASE);
		*queue = (uint32_t)q + 1;
	} else {
		free(copy);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static bool is_attached(dmapp_queue_handle_t queue)
{
	return queue && queue <= DMAPPI_QUEUES && queues[queue - 1].cb;
}

/* The number of the own message, whose place is free. */
static dmapp_return_t take_number(int q, dmapp_pe_t pe, uint64_t *number)
{
	uint64_t *tail = &dmappi.work->queue[q].tail, old, open, state;
	dmapp_return_t rc = dmappi_get(&open, &dmappi.work->queue[q].open, DMAPPI_WORK_SEG, pe, 8);

	if (rc == DMAPP_RC_SUCCESS && !open)
		rc = DMAPP_RC_NOT_FOUND;
	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_get(&old, tail, DMAPPI_WORK_SEG, pe, 8);
	while (rc == DMAPP_RC_SUCCESS) {
		*number = old;
		rc = dmappi_get(&state, &place(q, old)->state, DMAPPI_WORK_SEG, pe, 8);
		if (rc == DMAPP_RC_SUCCESS && state < lap(old)) {
			L->looked();
			return DMAPP_RC_RESOURCE_ERROR;
		}
		if (rc == DMAPP_RC_SUCCESS)	/* where the place is ahead, so is tail, and this does not succeed */
			rc = dmappi_amo(SHMEMI_AMO_CSWAP, tail, DMAPPI_WORK_SEG, pe, old + 1, old, &old);
		if (old == *number)
			break;
	}
	return rc;
}

dmapp_return_t dmapp_queue_put(dmapp_queue_handle_t queue, void *source, uint32_t nelems, dmapp_type_t type,
			       dmapp_pe_t pe, uint64_t flags)
{
	struct message *m, head = { 0 };
	dmapp_return_t rc;
	uint64_t number;

	if (!dmappi.npes || flags || (nelems && !source) || dmappi_bad_type(type) ||
	    nelems > dmappi.attrs.queue_nelems || (uint32_t)pe >= dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	if (!is_attached(queue))
		return DMAPP_RC_NOT_FOUND;
	rc = take_number((int)queue - 1, pe, &number);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	m = place((int)queue - 1, number);
	head.len = nelems << type;
	head.from = dmappi.pe;
	rc = dmappi_put(&m->len, DMAPPI_WORK_SEG, pe, &head.len, 8);
	if (rc == DMAPP_RC_SUCCESS && nelems)
		rc = dmappi_put(m->data, DMAPPI_WORK_SEG, pe, source, head.len);
	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_put_word(&m->state, DMAPPI_WORK_SEG, pe, lap(number) + 1);
	return rc;
}

dmapp_return_t dmapp_queue_detach(dmapp_queue_handle_t queue, uint64_t flags)
{
	struct queue *own;

	if (!dmappi.npes || flags)
		return DMAPP_RC_INVALID_PARAM;
	if (inside)
		return DMAPP_RC_BUSY;
	pthread_mutex_lock(&lock);
	if (!is_attached(queue)) {
		pthread_mutex_unlock(&lock);
		return DMAPP_RC_NOT_FOUND;
	}
	own = &queues[queue - 1];
	__atomic_store_n(&dmappi.work->queue[queue - 1].open, 0, __ATOMIC_RELEASE);
	pthread_mutex_lock(&reading);
	read_queue((int)queue - 1);
	own->cb = NULL;
	free(own->copy);
	own->copy = NULL;
	pthread_mutex_unlock(&reading);
	__atomic_sub_fetch(&attached, 1, __ATOMIC_ACQ_REL);
	__atomic_sub_fetch(&polled, !own->async, __ATOMIC_ACQ_REL);
	pthread_mutex_unlock(&lock);
	return DMAPP_RC_SUCCESS;
}

bool dmappi_queue_any(void)
{
	return __atomic_load_n(&attached, __ATOMIC_ACQUIRE);
}

int dmappi_queue_start(void)
{
	for (int q = 0; q < DMAPPI_QUEUES; q++)
		queues[q].head = 0;
	stop = false;
	return 0;
}

void dmappi_queue_end(void)
{
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	if (runs)
		pthread_join(thread, NULL);
	runs = false;
}

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lock.c - locks: tickets in one word of the host PE
 *
 * The high half counts who has come, the low half whose turn it is. acquire adds 1 to the high half and waits until
 * the low half is what the high one was; try takes the ticket only if its turn is now; release adds 1 to the low
 * half, which nobody but the holder changes, and takes care that it does not carry. Locks that this PE holds are in a
 * table of DMAPP_MAX_LOCKS places; a handle is a place and the number of its use.
 */
#include <stdlib.h>

#include "dmappi.h"

struct held {
	dmapp_lock_desc_t *addr;	/* NULL: free */
	dmapp_seg_desc_t seg;
	dmapp_pe_t pe;
	uint32_t use;
};

static struct held *held;
static uint32_t n_held;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int dmappi_lock_start(void)
{
	n_held = dmappi.env.locks;
	held = calloc(n_held, sizeof(*held));
	return held ? 0 : -1;
}

void dmappi_lock_end(void)
{
	free(held);
	held = NULL;
	n_held = 0;
}

/* A place, or -1. */
static int take(dmapp_lock_desc_t *addr, const dmapp_seg_desc_t *seg, dmapp_pe_t pe)
{
	int place = -1;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_held && place < 0; i++)
		if (!held[i].addr)
			place = (int)i;
	if (place >= 0)
		held[place] = (struct held){ addr, *seg, pe, held[place].use + 1 };
	pthread_mutex_unlock(&lock);
	return place;
}

static void give(int place)
{
	pthread_mutex_lock(&lock);
	held[place].addr = NULL;
	pthread_mutex_unlock(&lock);
}

/* NOT_DONE: look again. */
static dmapp_return_t our_turn(uint64_t *word, dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint32_t ticket)
{
	uint64_t now;
	dmapp_return_t rc = dmappi_get(&now, word, seg, pe, 8);

	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	return (uint32_t)now == ticket ? DMAPP_RC_SUCCESS : DMAPP_RC_NOT_DONE;
}

static dmapp_return_t acquire(uint64_t *word, dmapp_seg_desc_t *seg, dmapp_pe_t pe)
{
	struct dmappi_step step = { 0 };
	uint64_t old;
	dmapp_return_t rc = dmappi_amo(SHMEMI_AMO_ADD, word, seg, pe, UINT64_C(1) << 32, 0, &old);
	uint32_t ticket;

	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	ticket = (uint32_t)(old >> 32);
	if ((uint32_t)old == ticket)
		return DMAPP_RC_SUCCESS;
	while ((rc = our_turn(word, seg, pe, ticket)) == DMAPP_RC_NOT_DONE)
		dmappi_step(&step);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return rc;
}

static dmapp_return_t try(uint64_t *word, dmapp_seg_desc_t *seg, dmapp_pe_t pe)
{
	uint64_t now, old;
	dmapp_return_t rc = dmappi_get(&now, word, seg, pe, 8);

	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	if ((uint32_t)now != (uint32_t)(now >> 32)) {
		L->looked();
		return DMAPP_RC_BUSY;
	}
	rc = dmappi_amo(SHMEMI_AMO_CSWAP, word, seg, pe, now + (UINT64_C(1) << 32), now, &old);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	return old == now ? DMAPP_RC_SUCCESS : DMAPP_RC_BUSY;
}

typedef dmapp_return_t how(uint64_t *word, dmapp_seg_desc_t *seg, dmapp_pe_t pe);

static dmapp_return_t get_lock(how *get, dmapp_lock_desc_t *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint64_t flags,
			       dmapp_lock_handle_t *handle)
{
	dmapp_return_t rc = dmappi_symmetric(seg);
	struct dmappi_at at;
	int place;

	if (rc == DMAPP_RC_SUCCESS)
		rc = flags || !handle ? DMAPP_RC_INVALID_PARAM : dmappi_find(addr, seg, sizeof(*addr), pe, &at);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	if ((uintptr_t)addr & 7)
		return DMAPP_RC_ALIGNMENT_ERROR;
	place = take(addr, seg, pe);
	if (place < 0)
		return DMAPP_RC_NO_SPACE;
	rc = get(&addr->word, seg, pe);
	if (rc == DMAPP_RC_SUCCESS)
		*handle = (uint64_t)held[place].use << 32 | (uint32_t)(place + 1);
	else
		give(place);
	return rc;
}

dmapp_return_t dmapp_lock_acquire(dmapp_lock_desc_t *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint64_t flags,
				  dmapp_lock_handle_t *handle)
{
	return get_lock(acquire, addr, seg, pe, flags, handle);
}

dmapp_return_t dmapp_lock_try(dmapp_lock_desc_t *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint64_t flags,
			      dmapp_lock_handle_t *handle)
{
	return get_lock(try, addr, seg, pe, flags, handle);
}

/* [its holder] */
static dmapp_return_t put_back(struct held h, int place)
{
	uint64_t old, one = 1;
	dmapp_return_t rc = dmapp_gsync_wait();		/* what was done under the lock is seen by the next */

	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_get(&old, &h.addr->word, &h.seg, h.pe, 8);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	if ((uint32_t)old == UINT32_MAX)
		one = 0 - (uint64_t)UINT32_MAX;		/* to 0, and no carry */
	give(place);
	return dmappi_amo(SHMEMI_AMO_ADD, &h.addr->word, &h.seg, h.pe, one, 0, &old);
}

dmapp_return_t dmapp_lock_release(dmapp_lock_handle_t handle, uint64_t flags)
{
	uint32_t i = (uint32_t)handle;
	struct held h;

	if (!dmappi.npes || flags)
		return DMAPP_RC_INVALID_PARAM;
	if (!i || i > n_held)
		return DMAPP_RC_NOT_FOUND;
	pthread_mutex_lock(&lock);
	h = held[i - 1];
	pthread_mutex_unlock(&lock);
	if (!h.addr || h.use != (uint32_t)(handle >> 32))
		return DMAPP_RC_NOT_FOUND;
	return put_back(h, (int)i - 1);
}

dmapp_return_t dmapp_lock_release_addr(dmapp_lock_desc_t *addr, dmapp_pe_t pe, uint64_t flags)
{
	struct held h = { 0 };
	int place = -1;

	if (!dmappi.npes || flags || !addr)
		return DMAPP_RC_INVALID_PARAM;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_held && place < 0; i++)
		if (held[i].addr == addr && held[i].pe == pe) {
			place = (int)i;
			h = held[i];
		}
	pthread_mutex_unlock(&lock);
	return place < 0 ? DMAPP_RC_NOT_FOUND : put_back(h, place);
}

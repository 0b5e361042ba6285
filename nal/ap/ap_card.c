/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* ap_card.c - the card: its memory, its lock, and what both sides do with it; see ap.h */
#include "config.h"

#include "ap.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define SETTLE_NS 200000000
#define PAGES(n) (((n) + 4095ull) & ~4095ull)

uint64_t ap_card_size(uint32_t n_local, uint32_t n_far, uint32_t nodes)
{
	uint64_t pairs = (uint64_t)n_local * n_far;

	return PAGES(sizeof(struct ap_card) + 4096) + n_local * (sizeof(struct ap_rank) + PAGES(FR_POST_SIZE)) +
	       n_far * (sizeof(struct ap_far) + 8 * sizeof(uint32_t)) +
	       nodes * (sizeof(struct tcp_place) + sizeof(struct model_link)) +
	       4096 + (uint64_t)nodes * n_local + tcp_room(nodes) +
	       pairs * (sizeof(struct fr_peer) + sizeof(struct fr_peer *) + 64) +
	       n_local * ((uint64_t)2 * AP_PARK + AP_OPS * sizeof(struct fr_msg) + (uint64_t)4 * FR_BLOCK);
}

/* ---- one address in all processes ---- */

/*
 * Where nothing else is, as a rule: above images that are not PIE and their heap, below the slot of PIE ones; the
 * second for sanitizers, whose shadow is in the first. Windows take whole slots of 2^39, found by what is free, so they
 * may have either of a process that came later: then it says so.
 */
static const uint64_t places[] = {
	UINT64_C(0x3e00000000), UINT64_C(0x2e0000000000), UINT64_C(0x3a0000000000), UINT64_C(0x1800000000),
	UINT64_C(0x1a0000000000), UINT64_C(0x0c00000000),
};

/* Map the shared memory that is at @here at @va as well. 0 or -errno. */
static int map_at(void *here, uint64_t size, uint64_t va)
{
	void *at = mmap((void *)(uintptr_t)va, size, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	if ((uintptr_t)at != va) {		/* a kernel that does not know the flag */
		munmap(at, size);
		return -EEXIST;
	}
	if (mremap(here, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) {
		int err = errno;

		munmap(at, size);
		return -err;
	}
	madvise(at, size, MADV_DONTFORK);	/* a child is in no job */
	madvise(at, size, MADV_DONTDUMP);
	return 0;
}

struct ap_card *ap_card_make(void *here, uint64_t size, uint32_t n_local, uint32_t n_far, uint32_t nodes)
{
	pthread_mutexattr_t a;
	struct ap_card *c;
	int rc = -ENOMEM;

	for (size_t i = 0; rc && i < sizeof(places) / sizeof(*places); i++) {
		rc = map_at(here, size, places[i]);
		c = (struct ap_card *)(uintptr_t)places[i];
	}
	if (rc) {
		errno = -rc;
		return NULL;
	}
	c->size = size;
	c->va = (uintptr_t)c;
	c->n_local = n_local;
	c->n_far = n_far;
	c->nodes = nodes;
	c->turns = 1;
	c->used = PAGES(sizeof(*c));
	c->rank = ap_card_get(c, n_local * sizeof(*c->rank));
	c->far = ap_card_get(c, n_far * sizeof(*c->far));
	c->place = ap_card_get(c, nodes * sizeof(*c->place));
	c->bye = ap_card_get(c, (uint64_t)nodes * n_local);
	for (c->far_mask = 15; c->far_mask + 1 < 4 * n_far;)
		c->far_mask = 2 * c->far_mask + 1;
	c->far_hash = ap_card_get(c, (c->far_mask + 1) * sizeof(*c->far_hash));
	for (uint32_t i = 0; i < n_local; i++) {
		struct ap_rank *r = &c->rank[i];

		r->e = ap_card_get(c, FR_POST_SIZE);
		r->peer = ap_card_get(c, n_far * sizeof(*r->peer));
		r->park_end = &r->park;
	}
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	rc = pthread_mutex_init(&c->lock, &a);
	pthread_mutexattr_destroy(&a);
	if (rc) {
		ap_card_unmap(c);
		errno = rc;
		return NULL;
	}
	c->version = AP_VERSION;
	c->magic = AP_MAGIC;
	return c;
}

struct ap_card *ap_card_map(void *here, uint64_t room)
{
	const struct ap_card *c = here;
	uint64_t size, va;
	int rc;

	if (room < sizeof(*c) || c->magic != AP_MAGIC || c->version != AP_VERSION || c->size > room) {
		errno = EPROTO;
		return NULL;
	}
	size = c->size;
	va = c->va;
	rc = map_at(here, size, va);
	errno = -rc;
	return rc ? NULL : (struct ap_card *)(uintptr_t)va;
}

void ap_card_unmap(struct ap_card *c)
{
	munmap(c, c->size);
}

void *ap_card_get(struct ap_card *c, uint64_t n)
{
	uint64_t at = c->used;

	n = (n + P3L_LINE - 1) & ~(uint64_t)(P3L_LINE - 1);
	if (n > c->size - at)
		return NULL;
	c->used = at + n;
	return (char *)c + at;
}

/* ---- names ---- */

static uint32_t hash_of(ptl_process_id_t id)
{
	return (uint32_t)((((uint64_t)id.nid << 32 | id.pid) * 0x9e3779b97f4a7c15u) >> 32);
}

void ap_far_enter(struct ap_card *c, uint32_t index)
{
	uint32_t i = hash_of(c->far[index].id);

	while (c->far_hash[i & c->far_mask])
		i++;
	c->far_hash[i & c->far_mask] = index + 1;
}

int ap_far_find(const struct ap_card *c, ptl_process_id_t id)
{
	for (uint32_t i = hash_of(id);; i++) {
		uint32_t k = c->far_hash[i & c->far_mask];

		if (!k)
			return -1;
		if (c->far[k - 1].id.nid == id.nid && c->far[k - 1].id.pid == id.pid)
			return (int)k - 1;
	}
}

/* ---- lock ---- */

/* What pthread_mutex_lock() has said, or the like: 0, 1 */
static int locked(struct ap_card *c, int rc)
{
	if (rc == EOWNERDEAD) {
		if (c->inside)
			c->victim = c->inside;
		else
			p3_store(&c->broken, 1);
		c->inside = 0;
		rc = pthread_mutex_consistent(&c->lock);
	}
	if (!rc && p3_load(&c->broken)) {
		pthread_mutex_unlock(&c->lock);
		rc = EOWNERDEAD;
	}
	return rc != 0;
}

int ap_card_lock(struct ap_card *c)
{
	return locked(c, pthread_mutex_lock(&c->lock));
}

int ap_card_enter(struct ap_card *c, uint32_t i, bool wait)
{
	int rc = wait ? pthread_mutex_lock(&c->lock) : pthread_mutex_trylock(&c->lock);

	if (rc == EBUSY)
		return -1;
	if (locked(c, rc))
		return 1;
	if (c->victim) {
		pthread_mutex_unlock(&c->lock);
		return -1;
	}
	c->inside = i + 1;
	return 0;
}

bool ap_card_torn(struct ap_card *c)
{
	int rc = pthread_mutex_trylock(&c->lock);

	if (rc == EBUSY)
		return p3_load(&c->broken);
	if (locked(c, rc))
		return true;
	ap_card_unlock(c);
	return false;
}

int ap_card_settle(struct ap_card *c)
{
	struct timespec t;
	int rc;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += SETTLE_NS;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	rc = pthread_mutex_timedlock(&c->lock, &t);
	if (rc == ETIMEDOUT)
		return 0;
	if (locked(c, rc))
		return 1;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

void ap_card_unlock(struct ap_card *c)
{
	c->inside = 0;
	pthread_mutex_unlock(&c->lock);
}

/* ---- peers, parked frames, ends ---- */

struct fr_peer *ap_card_peer(struct ap_card *c, uint32_t i, uint32_t far)
{
	struct ap_rank *r = &c->rank[i];
	const struct ap_far *f = &c->far[far];
	struct fr_peer *p = r->peer[far];

	if (p)
		return p;
	p = r->peer[far] = ap_card_get(c, sizeof(*p));
	if (!p)
		return NULL;
	p->link = &c->far[far];
	fr_open(r->e, p, f->id, f->uid, f->jid, c->n_local + 1 + far);
	if (f->id.pid == PTL_PID_ANY)
		p->open = false;		/* it never was */
	if (!p->open || p3_load(&f->gone))
		fr_gone(r->e, p);
	return p;
}

bool ap_park(struct ap_card *c, uint32_t i, struct fr_peer *p, const uint8_t *frame, uint32_t n)
{
	struct ap_rank *r = &c->rank[i];
	struct ap_park **from = n <= AP_SMALL ? &c->free_small : &c->free_large, *k = *from;

	if (r->parked_bytes + n > AP_PARK)
		return false;
	if (k)
		*from = k->next;
	else
		k = ap_card_get(c, n <= AP_SMALL ? offsetof(struct ap_park, bytes) + AP_SMALL : sizeof(*k));
	if (!k || n > sizeof(k->bytes))
		return false;
	k->next = NULL;
	k->peer = p;
	k->n = n;
	memcpy(k->bytes, frame, n);
	*r->park_end = k;
	r->park_end = &k->next;
	r->parked_bytes += n;
	p3_store_rel(&r->parked, r->parked + 1);
	return true;
}

void ap_park_free(struct ap_card *c, struct ap_park *k)
{
	struct ap_park **to = k->n <= AP_SMALL ? &c->free_small : &c->free_large;

	k->next = *to;
	*to = k;
}

void ap_ended(struct ap_ring *r, uint32_t op)
{
	struct ap_op *o;

	if (op >= AP_OPS)
		return;
	o = &r->op[op];
	if (!o->parts || --o->parts)
		return;
	r->back[r->back_tail % AP_OPS] = op;
	p3_store_rel(&r->back_tail, r->back_tail + 1);
}

/* ---- words that are waited for ---- */

void ap_wait(uint32_t *word, uint32_t is, int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	if (p3_load_acq(word) == is)
		syscall(SYS_futex, word, FUTEX_WAIT, is, &t, NULL, 0);
}

void ap_tell(uint32_t *word, uint32_t value)
{
	p3_store_rel(word, value);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

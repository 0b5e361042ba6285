/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_window.c - windows on peers, what may be touched through them, and the brackets that hold a range
 *
 * enter/withdraw, a store-then-load race on two lines (Dekker):
 *
 *	mover:  inside[mover]++ (full fence); look in the registry; use the range; inside[mover]--
 *	owner:  take the range out of the registry; (full fence); wait until inside[] of every live peer is 0
 *
 * Either the mover sees the new registry, or the owner sees the mover inside. The mover's fence is the locked
 * instruction, or, where it has one thread and all of the job have membarrier(2), nothing but program order: the owner
 * then fences for it. A mover that enters for another range makes the owner wait a little longer, no more. A dead
 * mover's word is passed over: its liveness word says so.
 */
#include "smap_window.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef HAVE_SYS_SINGLE_THREADED_H
#include <sys/single_threaded.h>
#endif

#include "smap_maps.h"
#include "smap_own.h"
#include "smap_sync.h"

SMAP_EXPORT struct smartmap_view smartmap_view_;

static uint32_t hint[SMARTMAP_MAX_PEERS];	/* last range found in each peer's registry: only a guess */

int smap_window_attach_fd(int peer, int fd)
{
	uintptr_t w = smap_window_map(fd, smap.bits);
	struct smap_ctl *c = (struct smap_ctl *)w;

	if (!w)
		return -ENOMEM;
	if (c->magic != SMAP_MAGIC || c->version != SMAP_VERSION || c->bits != (uint32_t)smap.bits) {
		munmap((void *)w, SMAP_SIZE(smap.bits));
		return -EPERM;
	}
	/* Pairs with the plain load in smartmap_remote(): the data dependency orders what is read through it. */
	__atomic_store_n(&smartmap_view_.window[peer], w, __ATOMIC_RELEASE);
	return 0;
}

SMAP_EXPORT int smartmap_attach(int peer)
{
	int ret = 0, fd;

	if (peer < 0 || peer >= smap.size)
		return -EINVAL;
	if (peer == smap.rank || __atomic_load_n(&smartmap_view_.window[peer], __ATOMIC_ACQUIRE))
		return 0;
	smap_lock();
	if (!smartmap_view_.window[peer]) {
		fd = smap.mailbox >= 0 ? smap_box_get(smap.mailbox, peer) : -ESRCH;
		if (fd == -EMFILE) {	/* the program has many files open, or a low limit */
			struct rlimit r;

			if (!getrlimit(RLIMIT_NOFILE, &r) &&
			    smap_nofile_raise((uint32_t)(r.rlim_cur + (rlim_t)smap.size + 16), &r)) {
				fd = smap_box_get(smap.mailbox, peer);
				setrlimit(RLIMIT_NOFILE, &r);
			}
		}
		ret = fd;
		if (fd >= 0) {
			ret = smap_window_attach_fd(peer, fd);
			close(fd);
		} else if (fd == -EMFILE) {
			ret = -ENOMEM;
		}
	}
	smap_unlock();
	return ret;
}

SMAP_EXPORT void *smartmap_remote_slow_(int peer, const volatile void *addr)
{
	if (peer == smap.rank)
		return (void *)(uintptr_t)addr;
	if (smartmap_attach(peer))
		return NULL;
	return (void *)(smartmap_view_.window[peer] | ((uintptr_t)addr & smartmap_view_.mask));
}

void smap_windows_drop(void)
{
	int i;

	for (i = 0; i < SMARTMAP_MAX_PEERS; i++) {
		uintptr_t w = smartmap_view_.window[i];

		smartmap_view_.window[i] = 0;
		if (w)
			munmap((void *)w, SMAP_SIZE(smap.bits));
	}
}

SMAP_EXPORT int smartmap_reachable(int peer, const void *addr, size_t len)
{
	uintptr_t lo = (uintptr_t)addr, hi, w;

	if ((unsigned)peer >= (unsigned)smap.size || __builtin_add_overflow(lo, len, &hi))
		return 0;
	w = smartmap_view_.window[peer];
	if (__builtin_expect(!w, 0)) {		/* the own rank, or not attached yet */
		if (peer == smap.rank)
			return 1;
		if (smartmap_attach(peer))
			return 0;
		w = smartmap_view_.window[peer];
	}
	return smap_registry_has((struct smap_ctl *)w, &hint[peer], lo, hi, smap.mask);
}

SMAP_EXPORT int smartmap_adopted(const void *addr, size_t len)
{
	static uint32_t own_hint;
	uintptr_t lo = (uintptr_t)addr, hi;

	if (!smap.inits || __builtin_add_overflow(lo, len, &hi))
		return 0;
	return smap_registry_has(smap.ctl, &own_hint, lo, hi, smap.mask);
}

static inline int one_thread(void)
{
#ifdef HAVE_SYS_SINGLE_THREADED_H
	return __libc_single_threaded && smap_mb_all;
#else
	return 0;
#endif
}

static inline void inside_add(_Atomic uint32_t *w, int d)
{
	if (one_thread()) {	/* pairs with the owner's smartmap_membarrier() */
		atomic_store_explicit(w, atomic_load_explicit(w, memory_order_relaxed) + (uint32_t)d,
				      d < 0 ? memory_order_release : memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
	} else {		/* pairs with the owner's full fence */
		atomic_fetch_add_explicit(w, (uint32_t)d, memory_order_seq_cst);
	}
}

/* Does [lo, hi), offsets in a window, lie in a range of addresses [from, to)? */
static int offsets_in(uintptr_t lo, uintptr_t hi, uintptr_t from, uintptr_t to)
{
	return to > from && lo >= (from & smap.mask) && hi <= (from & smap.mask) + (to - from);
}

uint64_t smap_window_stamp(int peer, uintptr_t at, size_t len)
{
	const struct smap_ctl *c = smap_peer_ctl(peer);
	uintptr_t lo = at & smap.mask, hi = lo + len;
	uint64_t seq = atomic_load_explicit(&c->seq, memory_order_acquire);
	uint32_t n = atomic_load_explicit(&c->nranges, memory_order_relaxed);
	int yes;

	if ((seq & 1) || hi < lo)
		return 0;
	yes = offsets_in(lo, hi, atomic_load_explicit(&c->arena_lo, memory_order_relaxed),
			 atomic_load_explicit(&c->arena_hi, memory_order_relaxed));
	for (uint32_t i = 0; !yes && i < n && i < SMAP_RANGES; i++)
		yes = offsets_in(lo, hi, atomic_load_explicit(&c->range[i].lo, memory_order_relaxed),
				 atomic_load_explicit(&c->range[i].hi, memory_order_relaxed));
	atomic_thread_fence(memory_order_acquire);	/* pairs with the release fence of smap_ranges_publish() */
	if (!yes || atomic_load_explicit(&c->seq, memory_order_relaxed) != seq)
		return 0;
	return seq + 1;
}

SMAP_EXPORT int smartmap_enter(int peer, const void *addr, size_t len)
{
	uintptr_t lo = (uintptr_t)addr, hi;
	struct smap_ctl *c;

	if ((unsigned)peer >= (unsigned)smap.size || __builtin_add_overflow(lo, len, &hi))
		return 0;
	if (__builtin_expect(!smartmap_view_.window[peer], 0)) {
		if (peer == smap.rank)
			return 1;
		if (smartmap_attach(peer))
			return 0;
	}
	c = (struct smap_ctl *)smartmap_view_.window[peer];
	inside_add(&c->inside[smap.rank].count, 1);
	if (smap_registry_has(c, &hint[peer], lo, hi, smap.mask))
		return 1;
	inside_add(&c->inside[smap.rank].count, -1);
	return 0;
}

SMAP_EXPORT void smartmap_leave(int peer)
{
	uintptr_t w;

	if ((unsigned)peer >= (unsigned)smap.size)
		return;
	w = smartmap_view_.window[peer];	/* 0 for the own rank */
	if (w)
		inside_add(&((struct smap_ctl *)w)->inside[smap.rank].count, -1);
}

SMAP_EXPORT void smartmap_withdraw(void *addr, size_t len)
{
	uintptr_t lo = (uintptr_t)addr, hi;
	int i, spins, changed;

	if (!smap.ctl || !len || __builtin_add_overflow(lo, len, &hi))
		return;
	smap_lock();
	changed = smap_ranges_hide(lo, hi);
	if (changed)
		smap_ranges_publish();
	smap_unlock();
	if (!changed || !smap.inits)
		return;
	atomic_thread_fence(memory_order_seq_cst);	/* pairs with inside_add() of movers with threads */
	smartmap_membarrier();				/* and of those without */
	for (i = 0; i < smap.size + smap.guests; i++) {
		if (i == smap.rank)
			continue;
		for (spins = 0; atomic_load_explicit(&smap.ctl->inside[i].count, memory_order_acquire); spins++) {
			if (spins < 100) {
				smap_pause();
			} else if (spins < 200) {
				sched_yield();
			} else {
				struct timespec ts = { 0, 200000 };

				if (!smartmap_alive(i))
					break;
				nanosleep(&ts, NULL);
			}
		}
	}
}

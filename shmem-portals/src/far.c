/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * far.c - put, get and atomic operations on what is not in a window
 *
 * PEs of other nodes are reached by Portals: net.c.
 *
 * Static data of a PE of this node that could not be adopted goes by the kernel, in one copy. The kernel's copies are
 * not atomic, so there are no atomic operations on it.
 */
#include <smartmap.h>
#include <string.h>

#include "far.h"
#include "net.h"
#include "shmemi.h"

static void copied(const char *routine, int rc, int pe)
{
	if (rc)
		shmemi_fatal("%s: static data of PE %d cannot be reached: %s; nor by the kernel: %s. "
			     "Objects of the symmetric heap always can", routine, pe,
			     smartmap_why(SMARTMAP_F_DATA),
			     *smartmap_why(SMARTMAP_F_CMA) ? smartmap_why(SMARTMAP_F_CMA) : strerror(-rc));
}

void shmemi_far_put(const char *routine, void *sym, const void *own, size_t n, int pe)
{
	int local = shmemi.peer[pe].local;

	if (shmemi_by_net(pe)) {
		shmemi_net_put(routine, sym, own, n, pe, false);
		return;
	}
	copied(routine, smartmap_write(local, smartmap_symmetric(local, sym), own, n), pe);
}

void shmemi_far_get(const char *routine, void *own, const void *sym, size_t n, int pe)
{
	int local = shmemi.peer[pe].local;

	if (shmemi_by_net(pe)) {
		shmemi_net_get(routine, own, sym, n, pe, false);
		return;
	}
	copied(routine, smartmap_read(local, own, smartmap_symmetric(local, sym), n), pe);
}

void shmemi_far_put_nbi(const char *routine, void *sym, const void *own, size_t n, int pe)
{
	if (shmemi_by_net(pe))
		shmemi_net_put(routine, sym, own, n, pe, true);
	else
		shmemi_far_put(routine, sym, own, n, pe);
}

void shmemi_far_get_nbi(const char *routine, void *own, const void *sym, size_t n, int pe)
{
	if (shmemi_by_net(pe))
		shmemi_net_get(routine, own, sym, n, pe, true);
	else
		shmemi_far_get(routine, own, sym, n, pe);
}

uint64_t shmemi_far_amo(const char *routine, enum shmemi_amo op, void *sym, unsigned size, uint64_t value,
			uint64_t cond, int pe)
{
	if (shmemi_by_net(pe))
		return shmemi_net_amo(routine, op, sym, size, value, cond, pe);
	shmemi_fatal("%s: static data of PE %d is not in its window (%s), so there are no atomic operations on it; "
		     "take the symmetric heap", routine, pe, smartmap_why(SMARTMAP_F_DATA));
}

void shmemi_far_amo_nbi(const char *routine, enum shmemi_amo op, void *sym, unsigned size, uint64_t value,
			uint64_t cond, int pe, void *fetch)
{
	if (shmemi_by_net(pe))
		shmemi_net_amo_nbi(routine, op, sym, size, value, cond, pe, fetch);
	else
		shmemi_far_amo(routine, op, sym, size, value, cond, pe);	/* says why not */
}

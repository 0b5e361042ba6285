/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * iov.c - the pieces of memory behind a range of an MD
 *
 * Addresses are the owner's. Nothing here is believed beyond the limits of the region: a vector that lies about its
 * place or length ends the walk early, and the caller sees bytes left over.
 */
#include "p3l.h"

bool p3l_walk_start(const struct p3l_ni *ni, uint64_t start, uint64_t iov, uint32_t n, uint64_t off, uint64_t len,
		    struct p3l_walk *w)
{
	w->left = len;
	w->skip = off;
	if (!iov) {
		w->flat = (struct p3l_iov){ start, off + len };
		w->iov = &w->flat;
		w->n = 1;
		return true;
	}
	if (n > P3L_MAX_IOV || iov >= ni->size || ni->size - iov < (uint64_t)n * sizeof(struct p3l_iov))
		return false;
	w->iov = (const struct p3l_iov *)((const char *)ni + iov);
	w->n = n;
	return true;
}

bool p3l_walk_next(struct p3l_walk *w, uint64_t *addr, uint64_t *len)
{
	while (w->left && w->n) {
		struct p3l_iov v = *w->iov++;

		w->n--;
		if (w->skip >= v.len) {
			w->skip -= v.len;
			continue;
		}
		*addr = v.base + w->skip;
		*len = v.len - w->skip < w->left ? v.len - w->skip : w->left;
		w->skip = 0;
		w->left -= *len;
		return true;
	}
	return false;
}

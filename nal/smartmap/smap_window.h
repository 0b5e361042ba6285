/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_window.h - peers' windows; what the files of libsmartmap share about them */
#ifndef SMAP_WINDOW_H
#define SMAP_WINDOW_H

#include "smap_int.h"

static inline struct smap_ctl *smap_peer_ctl(int peer)	/* after a successful smartmap_attach() */
{
	return peer == smap.rank ? smap.ctl : (struct smap_ctl *)smartmap_view_.window[peer];
}

int smap_window_attach_fd(int peer, int fd);	/* map it now; 0 or -errno. Takes no ownership of @fd. */
void smap_windows_drop(void);

/*
 * For whoever keeps pages of @peer: nonzero while [at, at + len) of its window is adopted, and another number once any
 * range of the peer has been withdrawn or adopted since. 0: it is not adopted now, or that cannot be told.
 */
uint64_t smap_window_stamp(int peer, uintptr_t at, size_t len);

#endif

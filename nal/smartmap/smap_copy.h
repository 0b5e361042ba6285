/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_copy.h - is the kernel's copy between processes allowed? */
#ifndef SMAP_COPY_H
#define SMAP_COPY_H

#include "smap_int.h"

void smap_cma_setup(void);	/* after the exchange: probes one peer, the others on first use */
int smap_cma_ok(int peer);

#endif

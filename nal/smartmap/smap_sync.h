/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_sync.h - barrier, liveness, membarrier: what smap_init.c needs of them */
#ifndef SMAP_SYNC_H
#define SMAP_SYNC_H

#include "smap_int.h"

extern int smap_mb_all __attribute__((visibility("hidden")));	/* as smartmap_membarrier_ok() */
int smap_membarrier_setup(void);		/* 1: registered here */
void smap_membarrier_all(int all);		/* what all ranks said */
int smap_live_init(struct smap_ctl *ctl0, int size);	/* rank 0, before its file is handed out */
int smap_live_hold(void);			/* once, by the thread that starts; 0 or -errno */
int smap_live_take(void);
int smap_live_drop(void);

#endif
